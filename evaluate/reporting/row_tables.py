"""Sections about parts of a result: single rows, fillers, and a figure for each word and frame.

They need the result's table of scores, and for sentences, words and frames its release. The levels of a slot are not
tests of one another, and no p-value is printed: the largest of fifty is large by chance.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands import kernel_rows, lookup, of_sample
from senseprobe.evaluate.estimands.kernel import labels
from senseprobe.evaluate.estimands.nli import LABELS, compact, fillers
from senseprobe.evaluate.estimands.slices import extremes
from senseprobe.evaluate.reporting.document import Cell, Section, Table, name_cells
from senseprobe.evaluate.reporting.figure_tables import align, align_figures, build_figure_cell
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.records import Design, Figure
from senseprobe.release.release import Release
from senseprobe.statistics import FloatArray, Scale

MOST_ROWS = 6
"""Rows of each kind on the page."""

MOST_TEXT = 300
"""Characters of a sentence on the page."""

MOST_LEVELS = 40
"""Levels of a slot on the page: half of them the lowest, half the highest. The rest is counted."""


def shorten(text: str) -> str:
    """Return the text, or its beginning where it is too long for a table."""
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"


# --- Rows with the largest differences ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredRow:
    """A row with its sentences (none without the release) and its numbers by name."""

    config: str
    id: str
    sentences: tuple[str, ...]
    numbers: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class RowGroup:
    """Rows with something in common, which the title says; largest first."""

    title: str
    rows: tuple[ScoredRow, ...]


def build_row_section(inputs: Sequence[ReportInput], warning: str) -> Section:
    """Return the section of each result's rows with the largest differences, collapsed and after the `warning`."""
    tables = tuple(
        _build_row_table(source, group)
        for source in inputs
        if source.rows is not None
        for group in find_largest_rows(source.rows, source.tables)
        if group.rows
    )
    text = (
        "Single rows say least of all: they are here to see what the figures are made of, and the largest of some "
        "thousand numbers is large by chance, too. Differences are in the scorer's own unit."
    )
    paragraphs = (warning, text) if tables else ()
    return Section(title="Rows with the largest differences", paragraphs=paragraphs, tables=tables)


def find_largest_rows(
    rows: pd.DataFrame, tables: Mapping[str, pd.DataFrame], count: int = MOST_ROWS
) -> Iterator[RowGroup]:
    """Yield the rows with the largest preferences, either way; of inference, with the largest p of a wrong label.

    `rows` is the table of scores (`config`, `id`, scores), `tables` the release's rows by config, where available. Rows
    without a number are left out; ties are in order of configs and ids.
    """
    if "stereo_score" in rows:
        differences = rows["stereo_score"].to_numpy(dtype=np.float64) - rows["anti_score"].to_numpy(dtype=np.float64)
        yield _take_largest("The first sentence, the stereotype, scores higher", rows, differences, tables, count)
        yield _take_largest("The second sentence scores higher", rows, -differences, tables, count)
        return
    labelled = _with_gold(tables) if tables else rows.assign(gold="")
    for label in ("entailment", "contradiction"):
        part = labelled[labelled["gold"] != label]
        p = part[label].to_numpy(dtype=np.float64)
        yield _take_largest(f"Surest of {label}, where it is wrong", part.drop(columns="gold"), p, tables, count)


def _with_gold(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the table of scores with the correct label, which is in the release only."""
    parts = [table[["id", "gold", *LABELS]].assign(config=name) for name, table in tables.items()]
    return pd.concat(parts, ignore_index=True)


def _take_largest(
    title: str, rows: pd.DataFrame, sizes: FloatArray, tables: Mapping[str, pd.DataFrame], count: int
) -> RowGroup:
    positive = np.flatnonzero(np.isfinite(sizes) & (sizes > 0))
    rounded = np.round(sizes, 9)
    if len(positive) > count:  # no need to sort millions of rows
        positive = positive[rounded[positive] >= np.partition(rounded[positive], -count)[-count]]
    ordered = rows.iloc[positive].assign(_size=-rounded[positive]).sort_values(["_size", "config", "id"])
    return RowGroup(title=title, rows=tuple(_read_row(row, tables) for row in ordered[:count].to_dict("records")))


def _read_row(row: Mapping[Hashable, object], tables: Mapping[str, pd.DataFrame]) -> ScoredRow:
    config, name = str(row["config"]), str(row["id"])
    numbers = {str(key): float(value) for key, value in row.items() if isinstance(value, float) and key != "_size"}
    sentences = _find_sentences(tables.get(config), name)
    return ScoredRow(config=config, id=name[:MOST_TEXT], sentences=sentences, numbers=numbers)


def _find_sentences(table: pd.DataFrame | None, name: str) -> tuple[str, ...]:
    if table is None:
        return ()
    row = table.iloc[int(np.argmax((table["id"] == name).to_numpy()))]
    roles = ("stereo", "anti") if "stereo" in table else ("premise", "hypothesis")
    return tuple(shorten(str(row[role])) for role in roles)


def _build_row_table(source: ReportInput, group: RowGroup) -> Table:
    names = tuple(name.removesuffix("_score") for name in group.rows[0].numbers)
    return Table(
        caption=f"{source.label}: {group.title}",
        headings=("row", "sentences", *names, *(("difference",) if "stereo" in names else ())),
        rows=tuple(map(_build_row, group.rows)),
        note="" if group.rows[0].sentences else "The sentences are in the release, which is not at hand.",
        closed=True,
    )


def _build_row(row: ScoredRow) -> tuple[Cell, ...]:
    numbers = [*row.numbers.values()]
    if "stereo_score" in row.numbers:
        numbers.append(row.numbers["stereo_score"] - row.numbers["anti_score"])
    first, second = row.sentences or ("", "")
    return (
        Cell(text=row.id, kind="quiet"),
        Cell(text=first, note=second),
        *(Cell(text="none" if isnan(number) else f"{number:.3f}", kind="number") for number in numbers),
    )


# --- Fillers with the largest probabilities -------------------------------------------------------------------------


FillerMean = tuple[tuple[str, ...], tuple[float, ...], int]
"""Words, three mean probabilities in [0, 1] in the order of `LABELS`, and how many rows they are of."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FillerMeans:
    """The fillers with the largest mean probability of a label, in the columns of these slots."""

    config: str
    label: str
    columns: tuple[str, ...]
    rows: tuple[FillerMean, ...]


def build_filler_section(inputs: Sequence[ReportInput]) -> Section:
    """Return the section of fillers with the largest mean entailment and contradiction (Dev et al. 2020)."""
    tables = tuple(
        _build_filler_table(source, means)
        for source in inputs
        if source.release is not None and source.kind == "inference"
        for means in find_largest_fillers(source.tables, source.release)
    )
    text = (
        "Means over all sentences with these two words, in points; they are the largest of all pairs of words, and "
        "look extreme for that alone."
    )
    title = "Words with the largest entailment and contradiction"
    return Section(title=title, paragraphs=(text,) if tables else (), tables=tables)


def find_largest_fillers(
    tables: Mapping[str, pd.DataFrame], release: Release, count: int = MOST_ROWS
) -> Iterator[FillerMeans]:
    """Yield the fillers with the largest entailment and contradiction (Dev et al. 2020, tables 2, 4, 6), by config.

    Configs with gold labels other than neutral are left out: there a large probability may be right.
    """
    for config, table in tables.items():
        design = release.design(config)
        if _is_probe(design):
            columns = tuple(slot for side in fillers(design) for slot in side)
            for label in ("entailment", "contradiction"):
                means = extremes(table, design, label, count=count)
                yield FillerMeans(config=config, label=label, columns=columns, rows=tuple(_read_means(means, columns)))


def _is_probe(design: Design) -> bool:
    has_answers = any(lookup(name).needs_gold for name in design.estimands)
    return design.kind == "inference" and not has_answers and any(fillers(design))


def _read_means(means: pd.DataFrame, columns: tuple[str, ...]) -> Iterator[FillerMean]:
    for row in means.to_dict("records"):
        words = tuple(shorten(str(row[column])) for column in columns)
        yield words, tuple(float(row[label]) for label in LABELS), int(row["rows"])


def _build_filler_table(source: ReportInput, means: FillerMeans) -> Table:
    rows = tuple(
        (*name_cells(*words), *(Cell(text=f"{100 * mean:.1f}", kind="number") for mean in values), _count_cell(count))
        for words, values, count in means.rows
    )
    return Table(
        caption=f"{source.label}, {means.config}: largest {means.label}",
        headings=(*means.columns, *LABELS, "rows"),
        rows=rows,
    )


def _count_cell(count: int) -> Cell:
    return Cell(text=str(count), kind="quiet")


# --- A figure for each word and frame -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelFigures:
    """The figures of words in a slot (or of frames), lowest first; `words` is how many words there are."""

    config: str
    slot: str
    estimand: str
    figures: tuple[Figure, ...]
    words: int


def build_word_section(inputs: Sequence[ReportInput]) -> Section:
    """Return the section of a figure for each word and frame, collapsed, the lowest of the first result first."""
    title = "By word and frame"
    words: dict[str, dict[str, tuple[str, ...]]] = {}
    results = []
    for source in inputs:
        slots = list(_compute_input_levels(source, words))
        results.append([((levels.config, levels.slot, levels.estimand), levels) for levels in slots])
        for levels in slots:
            names = tuple(figure.group or "" for figure in levels.figures)
            words.setdefault(levels.config, {}).setdefault(levels.slot, names)
    tables = tuple(_build_level_table(*key, levels, inputs) for key, levels in align(results).items())
    text = (
        "The figure of the rows with a word (or a frame), with an interval over the other words. Many are shown at "
        "once: the largest of them is large by chance, too, and no p-value is printed."
    )
    return Section(title=title, paragraphs=(text,) if tables else (), tables=tables)


def _compute_input_levels(
    source: ReportInput, words: Mapping[str, Mapping[str, Sequence[str]]]
) -> Iterator[LevelFigures]:
    """Yield the levels of one result; `words` are those of an earlier result, by config and slot."""
    if source.release is None:
        return
    for config, table in source.tables.items():
        design, totals = source.release.design(config), source.release_levels(config)
        for levels in compute_level_figures(table, design, config, words.get(config), source.result.scale):
            if totals is None:
                yield levels
            else:
                yield replace(levels, figures=tuple(of_sample(figure, totals) for figure in levels.figures))


def compute_level_figures(
    rows: pd.DataFrame,
    design: Design,
    config: str,
    words: Mapping[str, Sequence[str]] | None = None,
    scale: Scale = "log",
) -> Iterator[LevelFigures]:
    """Yield the design's first estimand that has figures by word, for each word of each slot and each frame.

    `rows` are one config's, with scores on the `scale` of their scorer. A slot with one word is left out. `words` are
    those to take of each slot, where another model's figures have chosen them.
    """
    estimand = next((name for name in design.estimands if lookup(name).presentation.by_word), None)
    if estimand is None or not len(rows):
        return
    table = compact(rows, design)
    scored = kernel_rows(table, design, estimand, scale)
    for slot in (*design.slots, "frame"):
        means = pd.Series(np.round(scored.kernel, 12)).groupby(labels(scored.table, slot).astype(str)).mean()
        if len(means) < 2:
            continue
        # In order of words where means are equal, whatever the order of the rows.
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
            _count_cell(row.first.rows),
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
    if slot != "frame":
        return Cell(text=shorten(word), kind="name")
    table = next(source.tables[config] for source in inputs if config in source.tables)
    return Cell(text=word, note=f"as in “{shorten(find_example(table, word))}”")


def find_example(rows: pd.DataFrame, frame: str) -> str:
    """Return the first sentence of a frame, whose own name explains nothing to readers."""
    role = "stereo" if "stereo" in rows else "premise"
    sentence: str = rows[role].to_numpy(dtype=object)[np.argmax(rows["frame"].to_numpy() == frame)]
    return sentence
