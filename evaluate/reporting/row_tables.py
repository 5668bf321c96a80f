"""Parts of a result: fillers, a figure for each word and frame, and figures of the rows with some words.

They need the result's table of scores; sentences, words and frames also need its release. The figures of single words
are not tests, so p-values are not printed: the largest of fifty figures is large by chance.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.document import Cell, Section, Table, name_cells, table_section
from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import additional, contrast_figures, kernel_rows, lookup
from senseprobe.evaluate.estimands.inference_rows import LABELS, compact, fillers
from senseprobe.evaluate.estimands.kernel import labels
from senseprobe.evaluate.estimands.relative import RELATIVE
from senseprobe.evaluate.estimands.slices import (
    NoRowError,
    Part,
    extremes,
    part_figures,
    sliced_estimands,
    split_rows,
)
from senseprobe.evaluate.reporting.figure_tables import build_figure_cell
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.notation import format_interval, name_measure
from senseprobe.evaluate.reporting.scope import ReportScope, align, align_figures
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import counted
from senseprobe.records import Design, Figure
from senseprobe.release.release import Release
from senseprobe.statistics import Scale

WITHIN = (
    "These figures count pairs within each group. The verdict rests on `relative`, which compares groups with "
    "each other, so the two can point in opposite directions."
)

MOST_ROWS = 6
"""The most rows of each kind on the page."""

MOST_TEXT = 300
"""The most characters of a sentence on the page."""

MOST_LEVELS = 40
"""The most levels of a slot on the page: the lowest half and the highest half. The others are counted."""


def shorten(text: object) -> str:
    """Return a text, or its beginning if it is too long for a table.

    >>> shorten("short"), len(shorten("long " * 100))
    ('short', 301)
    """
    return str(text) if len(str(text)) <= MOST_TEXT else f"{str(text)[:MOST_TEXT]}…"


# --- Fillers with the largest probabilities -------------------------------------------------------------------------


def filler_section(scope: ReportScope) -> Section:
    """Return the fillers with the largest mean entailment and contradiction (Dev et al. 2020)."""
    text = (
        "Means over all sentences with these two words, in points; they are the largest of all pairs of words, and "
        "look extreme for that alone."
    )
    tables = (
        replace(table, caption=f"{source.label}, {table.caption}")
        for source in scope.inputs
        if source.release is not None and KINDS[source.kind].infers
        for table in build_filler_tables(source.tables, source.release)
    )
    return table_section("Words with the largest entailment and contradiction", [text], tables)


def build_filler_tables(
    tables: Mapping[str, pd.DataFrame], release: Release, count: int = MOST_ROWS
) -> Iterator[Table]:
    """Yield the fillers with the largest entailment and contradiction (Dev et al. 2020, tables 2, 4, 6), by config.

    Configs with gold labels other than neutral are left out, because a large probability may be right there.
    """
    for config, table in tables.items():
        design = release.design(config)
        if not KINDS[design.kind].infers or any(lookup(name).needs_gold for name in design.estimands):
            continue
        slots = [slot for side in fillers(design) for slot in side]
        for label in ("entailment", "contradiction") if slots else ():
            means = extremes(table, design, label, count=count).to_dict("records")
            rows = tuple(
                (
                    *name_cells(*(shorten(row[slot]) for slot in slots)),
                    *(Cell.number(f"{100 * row[name]:.1f}") for name in LABELS),
                    Cell.quiet(str(row["rows"])),
                )
                for row in means
            )
            yield Table(caption=f"{config}: largest {label}", headings=(*slots, *LABELS, "rows"), rows=rows)


# --- A figure for each word and frame -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelFigures:
    """The figures of words in a slot (or of frames), lowest first; `words` counts all words of the slot."""

    config: str
    slot: str
    estimand: str
    figures: tuple[Figure, ...]
    words: int


def word_section(scope: ReportScope) -> Section:
    """Return a collapsed section with a figure for each word and frame, the lowest of the first result first."""
    text = (
        "The figure of the rows with a word (or a frame), with an interval over the other words. Many are shown at "
        "once: the largest of them is large by chance, too, and no p-value is printed."
    )
    words: dict[str, dict[str, tuple[str, ...]]] = {}
    results = []
    for source in scope.inputs:
        slots = list(_compute_levels(source, words))
        results.append([((levels.config, levels.slot, levels.estimand), levels) for levels in slots])
        for levels in slots:
            names = tuple(figure.group or "" for figure in levels.figures)
            words.setdefault(levels.config, {}).setdefault(levels.slot, names)
    tables = (_build_level_table(*key, levels, scope.inputs) for key, levels in align(results).items())
    texts = [text, *explain_counts(scope.inputs)]
    return replace(table_section("By word and frame", texts, tables), closed=True)


def explain_counts(inputs: Sequence[ReportInput]) -> tuple[str, ...]:
    """Return a note that figures of words count within a group, if the verdict compares groups; else nothing."""
    configs = [config for source in inputs for config in source.tables]
    designs = [design for source in inputs for config in configs if (design := source.design(config)) is not None]
    return (WITHIN,) if any(RELATIVE.id in design.estimands for design in designs) else ()


def _compute_levels(source: ReportInput, words: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterator[LevelFigures]:
    """Yield the levels of one result; `words` are the words of an earlier result, by config and slot."""
    if source.release is None:
        return
    for config, table in source.tables.items():
        design = source.scored_design(config, source.release)
        for levels in compute_level_figures(table, design, config, words.get(config), source.result.scale):
            yield replace(levels, figures=tuple(source.mark(figure, config) for figure in levels.figures))


def compute_level_figures(
    rows: pd.DataFrame,
    design: Design,
    config: str,
    words: Mapping[str, Sequence[str]] | None = None,
    scale: Scale = "log",
) -> Iterator[LevelFigures]:
    """Yield the figures of each word of each slot, and of each frame, by the first estimand that has figures by word.

    `rows` are the rows of one config, with scores on the `scale` of their scorer. A slot with one word is left out.
    `words` are the words to take of each slot, if another model's figures have chosen them.
    """
    estimand = next((name for name in design.estimands if lookup(name).by_word), None)
    if estimand is None or not len(rows):
        return
    table = compact(rows, design)
    scored = kernel_rows(table, design, estimand, scale)
    for slot in (*design.slots, "frame"):
        means = pd.Series(np.round(scored.kernel, 12)).groupby(labels(scored.table, slot).astype(str)).mean()
        if len(means) < 2:
            continue
        # Words with equal means are sorted by name, so the order of the rows does not matter.
        order = [str(word) for word in means.round(9).sort_index().sort_values(kind="stable").index]
        ends = order if len(order) <= MOST_LEVELS else order[: MOST_LEVELS // 2] + order[-MOST_LEVELS // 2 :]
        column = labels(table, slot).astype(str)
        figures = tuple(
            lookup(estimand).word_figure(table[column == word], design, config, slot, word, scale)
            for word in (words or {}).get(slot) or ends
        )
        yield LevelFigures(config=config, slot=slot, estimand=estimand, figures=figures, words=len(order))


def _build_level_table(
    config: str, slot: str, estimand: str, results: Sequence[LevelFigures | None], inputs: Sequence[ReportInput]
) -> Table:
    figure_rows = align_figures([() if levels is None else levels.figures for levels in results])
    rows = tuple(
        (
            _build_word_cell(config, slot, row.group or "", inputs),
            *map(build_figure_cell, row.cells),
            Cell.quiet(str(row.first.rows)),
        )
        for row in figure_rows
    )
    words = max(levels.words for levels in results if levels is not None)
    omitted = words - len(rows)
    return Table(
        caption=f"{config}, {slot}: {estimand} ({words})",
        headings=(slot, *range(len(results)), "rows"),
        rows=rows,
        note=f"Those in the middle are left out: {omitted} of them." if omitted > 0 else "",
        closed=True,
    )


def _build_word_cell(config: str, slot: str, word: str, inputs: Sequence[ReportInput]) -> Cell:
    """Return the cell of a word; a frame has its first sentence, since its name explains nothing to readers."""
    if slot != "frame":
        return Cell(shorten(word), kind="name")
    table = next(source.tables[config] for source in inputs if config in source.tables)
    sentences = table["stereo" if "stereo" in table else "premise"].to_numpy(dtype=object)
    return Cell(word, f"as in “{shorten(sentences[np.argmax(table['frame'].to_numpy() == word)])}”")


# --- Slices: the rows with some words (`senseprobe study slice`) ----------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultSlice:
    """The figures of the rows of a config (or a sense contrast) with some words.

    - `config`: the name of the config or of the contrast.
    - `words`: as ``quality=rude, demonym=Iraqi``; empty for all rows.
    - `largest`: words with their mean probabilities in [0, 1] and rows, largest first; empty if not requested.
    - `left_out`: estimands without a figure in the slice, each with the reason.
    """

    config: str
    words: str
    figures: tuple[Figure, ...]
    largest: tuple[dict[str, Any], ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the slice with the stable keys of ``--json``."""
        figures = [figure.as_dict() for figure in self.figures]
        record = {"config": self.config, "slice": self.words, "figures": figures, "largest": list(self.largest)}
        return {**record, "left_out": dict(self.left_out)}


def compute_slices(
    source: ReportInput,
    words: Mapping[str, tuple[str, ...]],
    *,
    largest: str | None = None,
    by: tuple[str, ...] = (),
    count: int = 6,
) -> list[ResultSlice]:
    """Return the slices of each config that has the columns of `words` and `by`: one, or one for each level of `by`.

    With `largest`, a label of inference, a config has one slice, with the words that have the largest means of the
    label, averaged within the columns `by`. Sense contrasts follow if both of their configs have the same slice. Raises
    ResultError if the result lacks its rows or its release, or if no config has such rows.
    """
    if largest is not None and not KINDS[source.kind].infers:
        raise ResultError(f"{source.result.scorer} is not a scorer of inference: only its results have a largest label")
    if KINDS[source.kind].tests:
        raise ResultError("an association test needs all its words, so it cannot be sliced: the report has its words")
    if not source.tables or source.release is None:
        raise ResultError(" ".join(source.missing) or "the rows of the result are not available")
    parts: dict[str, dict[str, Part]] = {}
    chosen = {name.partition(".")[0] for name in (*words, *by)}
    slices, errors = [], []
    for config, table in source.tables.items():
        design = _sliced_design(source, config, chosen)
        try:
            divided = [*split_rows(table, design, words, () if largest is not None else by)]
            means = () if largest is None else _largest_means(divided[0].rows, design, largest, by, count)
        except ResultError as error:
            errors.append(error)
            continue
        parts[config] = {part.words: part for part in divided}
        for part in divided:
            figures = part_figures(part, table, design, config, seed=source.result.seed, scale=source.result.scale)
            given = {figure.estimand for figure in figures}
            left_out = {e.id: e.missing_slice for e in sliced_estimands(design) if e.id not in given}
            slices.append(
                ResultSlice(config=config, words=part.words, figures=tuple(figures), largest=means, left_out=left_out)
            )
    slices += _slice_contrasts(source, parts, chosen)
    # Several slices are not tests, so they have no p.
    for number, result_slice in enumerate(slices):
        figures = [replace(figure, p=None, p_holm=None) if by else figure for figure in result_slice.figures]
        slices[number] = replace(
            result_slice, figures=tuple(source.mark(figure, result_slice.config) for figure in figures)
        )
    if slices:
        return slices
    reason = next((error for error in errors if isinstance(error, NoRowError)), errors[0])
    if source.result.limit is not None and isinstance(reason, NoRowError):  # a missing word may be in the release
        sampled = sum(map(len, source.tables.values()))
        total = sum(source.release.manifest.data["configs"][name]["rows"] for name in source.tables)
        raise NoRowError(reason.what, f"none of the {counted(sampled, 'row')} drawn (of {total:,})")
    raise reason


def _sliced_design(source: ReportInput, config: str, chosen: Container[str]) -> Design:
    """Return the design of a config, with the additional estimands that were requested of the result.

    The words of the `chosen` slots do not count as a sample.
    """
    assert source.release is not None  # noqa: S101 - `compute_slices` has checked it
    design = source.scored_design(config, source.release)
    more = [f.estimand for f in source.result.figures if lookup(f.estimand).kind == design.kind]
    levels = design.drawn_from
    if levels is not None:
        levels = {name: count for name, count in levels.items() if name.partition(" (")[0] not in chosen}
    return replace(design, estimands=tuple(dict.fromkeys([*design.estimands, *additional(more)])), drawn_from=levels)


def _slice_contrasts(
    source: ReportInput, parts: Mapping[str, Mapping[str, Part]], chosen: Container[str]
) -> Iterator[ResultSlice]:
    """Yield the sense contrasts between the same slices of two configs."""
    assert source.release is not None  # noqa: S101 - `compute_slices` has checked it
    for contrast in source.release.manifest.contrasts:
        first, second = (parts.get(name, {}) for name in (contrast.a, contrast.b))
        for words in (words for words in first if words in second):
            a, b = (_sliced_design(source, name, chosen) for name in (contrast.a, contrast.b))
            sides = (first[words].rows, a, second[words].rows, b)
            differences = contrast_figures(contrast, *sides, scale=source.result.scale)
            if figures := tuple(
                replace(figure, group=", ".join(filter(None, (words, figure.group))) or None)
                for figure in differences
                if figure.rows
            ):
                yield ResultSlice(config=contrast.name, words=words, figures=figures)
            else:
                left_out = {differences[0].estimand: "no row of the slice can be used in both configs"}
                yield ResultSlice(config=contrast.name, words=words, figures=(), left_out=left_out)


def _largest_means(
    rows: pd.DataFrame, design: Design, label: str, by: tuple[str, ...], count: int
) -> tuple[dict[str, Any], ...]:
    means = extremes(rows, design, label, by=by, count=count).astype(object)
    records = means.where(means.notna(), None).to_dict("records")
    return tuple({str(name): value for name, value in record.items()} for record in records)


def slice_sections(slices: Sequence[ResultSlice], source: ReportInput) -> Iterator[Section]:
    """Yield the figures of each slice of a result, and the words with the largest means if they were requested.

    Several slices of a config share a table.
    """
    counts = Counter(part.config for part in slices)
    for config in dict.fromkeys(part.config for part in slices if counts[part.config] > 1):
        figures = [(f.group or part.words, f) for part in slices if part.config == config for f in part.figures]
        yield _build_slice_section(config, figures)
    if len(counts) < len(slices):
        text = "levels are no tests of one another: the largest of many is large by chance, and no p is printed"
        yield Section("", (text,))
    for part in (part for part in slices if counts[part.config] == 1):
        several = len({figure.group for figure in part.figures}) > 1  # each group of a figure, in the slice
        figures = [(figure.group or "" if several else "", figure) for figure in part.figures]
        yield _build_slice_section(", ".join(filter(None, (part.config, part.words))), figures)
        if part.largest:
            numbers = {name for name, value in part.largest[0].items() if not isinstance(value, str)}
            columns = {name: "number" if name in numbers else "words" for name in part.largest[0]}
            means = ([f"{v:.3f}" if isinstance(v, float) else v for v in row.values()] for row in part.largest)
            note = "the largest of many look extreme for that alone, and the fewer their rows, the more so"
            yield Section("", tables=(Table.of_texts(columns, means, "largest means", note),))
    left_out = list_notes((f"left out: {why}", name) for part in slices for name, why in part.left_out.items())
    limit = source.result.limit
    looks = () if limit is None else (f"a first look: these are of {counted(limit, 'row')} that were drawn",)
    yield Section("", (*left_out, *looks))


def _build_slice_section(caption: str, figures: Sequence[tuple[str, Figure]]) -> Section:
    """Return a table of figures, each after the words of its rows, and notes on them."""
    names = ("rows",) if any(words for words, _ in figures) else ()
    value = f"{name_measure(figure for _, figure in figures)} [95 %]"
    columns = dict.fromkeys((*names, "figure"), "name") | {value: "words", "neutral": "words", "scored": "number"}
    rows = (
        (
            *[words] * len(names),
            figure.estimand,
            format_interval(figure),
            "none known" if figure.neutral is None else "0",
            f"{figure.scored}/{figure.rows}",
        )
        for words, figure in figures
    )
    notes = "; ".join(list_notes((figure.note, figure.estimand) for _, figure in figures))
    return table_section("", (), [Table.of_texts(columns, rows, caption, notes)])


def list_notes(named: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield each note once, after the names of the figures that have it.

    >>> [*list_notes([("too few words", "gap"), ("", "preference"), ("too few words", "relative")])]
    ['gap, relative: too few words']
    """
    notes: dict[str, dict[str, None]] = {}
    for note, name in named:
        notes.setdefault(note, {})[name] = None
    yield from (f"{', '.join(names)}: {note}" for note, names in notes.items() if note)
