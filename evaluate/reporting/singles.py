"""Sections of single words, frames, rows and fillers, for which a result's table and its release have to be at hand."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan

from senseprobe.evaluate.estimands.kernels import of_sample
from senseprobe.evaluate.reporting.account import Cell, Section, Table
from senseprobe.evaluate.reporting.evidence import Evidence
from senseprobe.evaluate.reporting.extremes import Row, Rows, Words, largest, largest_fillers, shortened
from senseprobe.evaluate.reporting.levels import Levels, example, levels
from senseprobe.evaluate.reporting.lines import figure_cell, side_by_side


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
        rows=tuple(map(_row, rows.rows)),
        note="" if rows.rows[0].sentences else "The sentences are in the release, which is not at hand.",
        closed=True,
    )


def _row(row: Row) -> tuple[Cell, ...]:
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
