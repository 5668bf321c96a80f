"""Single rows: those with the largest differences, and the fillers with the largest probabilities.

A figure for each word and frame: the rows that hold it, with an interval over the other words.

The levels of one slot are no tests of one another, and no p-value is printed: the largest of fifty is large by chance.

Sections of single words, frames, rows and fillers, for which a result's table and its release have to be at hand.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands import kernel_rows, lookup, of_sample
from senseprobe.evaluate.estimands.base import labels
from senseprobe.evaluate.estimands.fillers import LABELS, extremes, fillers
from senseprobe.evaluate.estimands.nli import compact
from senseprobe.evaluate.reporting.document import Cell, Section, Table
from senseprobe.evaluate.reporting.figure_tables import figure_cell, side_by_side
from senseprobe.evaluate.reporting.inputs import Evidence
from senseprobe.records import Design, Figure
from senseprobe.release.release import Release
from senseprobe.statistics import FloatArray, Scale

MOST = 6
"""Rows of each kind that are shown."""

MOST_TEXT = 300
"""Characters of a sentence that are shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A row: where it is, its sentences (none where the release is not at hand), and its numbers by name."""

    config: str
    id: str
    sentences: tuple[str, ...]
    numbers: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """Rows that have something in common, in words; largest first."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """The pairs of fillers with the largest mean probability of a label: words, three means in [0, 1], and rows."""

    config: str
    label: str
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[float, ...], int], ...]


def largest(rows: pd.DataFrame, tables: Mapping[str, pd.DataFrame], count: int = MOST) -> Iterator[Rows]:
    """The rows in which a model prefers a sentence most, either way; of inference, those surest of a wrong label.

    `rows` is the table of scores (`config`, `id`, scores), `tables` the release's rows by config, where they are at
    hand. Rows without a number are left out; ties are in order of configs and ids.
    """
    if "stereo_score" in rows:
        apart = rows["stereo_score"].to_numpy(dtype=np.float64) - rows["anti_score"].to_numpy(dtype=np.float64)
        yield _rows("The first sentence, the stereotype, scores higher", rows, apart, tables, count)
        yield _rows("The second sentence scores higher", rows, -apart, tables, count)
        return
    known = _with_gold(tables) if tables else rows.assign(gold="")
    for label in ("entailment", "contradiction"):
        wrong = known[known["gold"] != label]
        p = wrong[label].to_numpy(dtype=np.float64)
        yield _rows(f"Surest of {label}, where it does not hold", wrong.drop(columns="gold"), p, tables, count)


def _with_gold(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The table of scores once more, with the label that holds: without the release nobody knows it."""
    parts = [table[["id", "gold", *LABELS]].assign(config=name) for name, table in tables.items()]
    return pd.concat(parts, ignore_index=True)


def _rows(title: str, rows: pd.DataFrame, size: FloatArray, tables: Mapping[str, pd.DataFrame], count: int) -> Rows:
    known = np.flatnonzero(np.isfinite(size) & (size > 0))
    rounded = np.round(size, 9)
    if len(known) > count:  # millions are not put in order to show six
        known = known[rounded[known] >= np.partition(rounded[known], -count)[-count]]
    down = rows.iloc[known].assign(_size=-rounded[known]).sort_values(["_size", "config", "id"])
    return Rows(title=title, rows=tuple(_row(row, tables) for row in down[:count].to_dict("records")))


def _row(row: Mapping[Hashable, object], tables: Mapping[str, pd.DataFrame]) -> Row:
    config, name = str(row["config"]), str(row["id"])
    numbers = {str(key): float(value) for key, value in row.items() if isinstance(value, float) and key != "_size"}
    return Row(config=config, id=name[:MOST_TEXT], sentences=_sentences(tables.get(config), name), numbers=numbers)


def _sentences(table: pd.DataFrame | None, name: str) -> tuple[str, ...]:
    if table is None:
        return ()
    row = table.iloc[int(np.argmax((table["id"] == name).to_numpy()))]
    roles = ("stereo", "anti") if "stereo" in table else ("premise", "hypothesis")
    return tuple(shortened(str(row[role])) for role in roles)


def shortened(text: str) -> str:
    """The text, or its beginning where it is longer than a table of sentences can hold."""
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"


def largest_fillers(tables: Mapping[str, pd.DataFrame], release: Release, count: int = MOST) -> Iterator[Words]:
    """The fillers with the largest entailment and contradiction (Dev et al. 2020, tables 2, 4, 6), for each config.

    Configs with gold labels other than neutral are left out: there a large probability may be right.
    """
    for config, table in tables.items():
        design = release.design(config)
        if _is_probe(design):
            for label in ("entailment", "contradiction"):
                found = extremes(table, design, label, count=count)
                columns = tuple(slot for side in fillers(design) for slot in side)
                yield Words(config=config, label=label, columns=columns, rows=tuple(_means(found, columns)))


def _is_probe(design: Design) -> bool:
    answers = any(lookup(name).needs_gold for name in design.estimands)
    return design.kind == "inference" and not answers and any(fillers(design))


def _means(found: pd.DataFrame, columns: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[float, ...], int]]:
    for row in found.to_dict("records"):
        words = tuple(shortened(str(row[column])) for column in columns)
        yield words, tuple(float(row[label]) for label in LABELS), int(row["rows"])


MOST_LEVELS = 40
"""Levels of a slot that are shown: half of them the lowest, half the highest. The rest is counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Levels:
    """The figures of words in a slot (or of frames), lowest first; `words` counts all that there are."""

    config: str
    slot: str
    estimand: str
    figures: tuple[Figure, ...]
    words: int


def levels(
    rows: pd.DataFrame,
    design: Design,
    config: str,
    words: Mapping[str, Sequence[str]] | None = None,
    scale: Scale = "log",
) -> Iterator[Levels]:
    """`preference-half`, or the design's first mean over rows of inference, for each word of each slot and each frame.

    `rows` are one config's, with scores. A slot with one word is left out. `words` are those to show of each slot,
    where they are chosen already, by another model's figures. `scale` is that of the scores (`Scorer.scale`).
    """
    estimand = next((name for name in design.estimands if lookup(name).presentation.by_word), None)
    if estimand is None or not len(rows):
        return
    table = compact(rows, design) if design.kind == "inference" else rows
    scored = kernel_rows(table, design, estimand, scale)
    for slot in (*design.slots, "frame"):
        means = pd.Series(np.round(scored.kernel, 12)).groupby(labels(scored.table, slot).astype(str)).mean()
        if len(means) < 2:
            continue
        # In order of words where means are equal, whatever the order of the rows.
        order = [str(word) for word in means.round(9).sort_index().sort_values(kind="stable").index]
        shown = (words or {}).get(slot) or (
            order if len(order) <= MOST_LEVELS else order[: MOST_LEVELS // 2] + order[-MOST_LEVELS // 2 :]
        )
        held = labels(table, slot).astype(str)
        parts = ((word, table[held == word]) for word in shown)
        figures = tuple(lookup(estimand).word_figure(part, design, config, slot, word, scale) for word, part in parts)
        yield Levels(config=config, slot=slot, estimand=estimand, figures=figures, words=len(order))


def example(rows: pd.DataFrame, frame: str) -> str:
    """A sentence of a frame, whose own name tells nobody anything: the first of its rows."""
    role = "stereo" if "stereo" in rows else "premise"
    found: str = rows[role].to_numpy(dtype=object)[np.argmax(rows["frame"].to_numpy() == frame)]
    return found


def by_word(evidence: Sequence[Evidence]) -> Section:
    """A figure for each word and frame of each config, on demand, the lowest of the first result first."""
    found: dict[tuple[str, str, str], list[Levels | None]] = {}
    words: dict[str, dict[str, tuple[str, ...]]] = {}
    for number, each in enumerate(evidence):
        for held in _levels(each, words):
            key = (held.config, held.slot, held.estimand)
            found.setdefault(key, [None] * len(evidence))[number] = held
            shown = tuple(figure.group or "" for figure in held.figures)
            words.setdefault(held.config, {}).setdefault(held.slot, shown)
    if not found:
        return Section(title="By word and frame")
    told = (
        "The figure of the rows that hold a word (or a frame), with an interval over the other words. Many are shown "
        "at once: the largest of them is large by chance, too, and no p-value is printed."
    )
    tables = tuple(_level_table(*key, held, evidence) for key, held in found.items())
    return Section(title="By word and frame", paragraphs=(told,), tables=tables)


def _levels(evidence: Evidence, words: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterator[Levels]:
    """Those of one result; `words` are those that were shown of another, by config and slot."""
    if evidence.release is not None:
        for config, table in evidence.tables.items():
            design, drawn_from = evidence.release.design(config), evidence.drawn_from(config)
            for found in levels(table, design, config, words.get(config), evidence.result.scale):
                figures = found.figures
                if drawn_from is not None:
                    figures = tuple(of_sample(figure, drawn_from) for figure in figures)
                yield replace(found, figures=figures)


def _level_table(
    config: str, slot: str, estimand: str, held: Sequence[Levels | None], evidence: Sequence[Evidence]
) -> Table:
    lines = side_by_side([() if each is None else each.figures for each in held])
    rows = tuple(
        (_word(config, slot, line.group or "", evidence), *map(figure_cell, line.cells), _rows_cell(line.first.rows))
        for line in lines
    )
    words = max(each.words for each in held if each is not None)
    left = max(0, words - len(rows))
    return Table(
        caption=f"{config}, {slot}: {estimand} ({words})",
        headings=(slot, *range(len(held)), "rows"),
        rows=rows,
        note=f"Those in the middle are left out: {left} of them." if left else "",
        closed=True,
    )


def _rows_cell(count: int) -> Cell:
    return Cell(text=str(count), kind="quiet")


def _word(config: str, slot: str, word: str, evidence: Sequence[Evidence]) -> Cell:
    if slot != "frame":
        return Cell(text=shortened(word), kind="name")
    tables = [each.tables[config] for each in evidence if config in each.tables]
    return Cell(text=word, note=f"as in “{shortened(example(tables[0], word))}”")


def rows_of(evidence: Sequence[Evidence], warning: str) -> Section:
    """The rows with the largest differences, of each result, on demand and after the `warning`."""
    tables = tuple(
        _row_table(each, rows)
        for each in evidence
        if each.rows is not None
        for rows in largest(each.rows, each.tables)
        if rows.rows
    )
    told = (
        "Single rows say least of all: they are here to see what the figures are made of, and the largest of some "
        "thousand numbers is large by chance, too. Differences are in the scorer's own unit."
    )
    paragraphs = (warning, told) if tables else ()
    return Section(title="Rows with the largest differences", paragraphs=paragraphs, tables=tables)


def _row_table(evidence: Evidence, rows: Rows) -> Table:
    names = tuple(name.removesuffix("_score") for name in rows.rows[0].numbers)
    return Table(
        caption=f"{evidence.label}: {rows.title}",
        headings=("row", "sentences", *names, *(("difference",) if "stereo" in names else ())),
        rows=tuple(map(_level_row, rows.rows)),
        note="" if rows.rows[0].sentences else "The sentences are in the release, which is not at hand.",
        closed=True,
    )


def _level_row(row: Row) -> tuple[Cell, ...]:
    numbers = [*row.numbers.values()]
    if "stereo_score" in row.numbers:
        numbers.append(row.numbers["stereo_score"] - row.numbers["anti_score"])
    first, second = row.sentences if row.sentences else ("", "")
    told = Cell(text=first, note=second)
    return (
        Cell(text=row.id, kind="quiet"),
        told,
        *(Cell(text="none" if isnan(number) else f"{number:.3f}", kind="number") for number in numbers),
    )


def fillers_of(evidence: Sequence[Evidence]) -> Section:
    """The fillers with the largest mean probability of entailment and of contradiction (Dev et al. 2020)."""
    tables = tuple(
        _words_table(each, found)
        for each in evidence
        if each.release is not None and each.kind == "inference"
        for found in largest_fillers(each.tables, each.release)
    )
    told = (
        "Means over all sentences with these two words, in points; they are the largest of all pairs of words, and "
        "look extreme for that alone."
    )
    title = "Words with the largest entailment and contradiction"
    return Section(title=title, paragraphs=(told,) if tables else (), tables=tables)


def _words_table(evidence: Evidence, found: Words) -> Table:
    rows = tuple(
        (
            *(Cell(text=word, kind="name") for word in words),
            *(Cell(text=f"{100 * mean:.1f}", kind="number") for mean in means),
            Cell(text=str(count), kind="quiet"),
        )
        for words, means, count in found.rows
    )
    return Table(
        caption=f"{evidence.label}, {found.config}: largest {found.label}",
        headings=(*found.columns, "entailment", "neutral", "contradiction", "rows"),
        rows=rows,
    )
