"""Figures of several results side by side: by sense type, by group, by contrast."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from senseprobe.document import Cell, Section, Table, name_cells, table_section
from senseprobe.evaluate.estimands import FAMILIES, lookup
from senseprobe.evaluate.estimands.base import Presentation
from senseprobe.evaluate.estimands.multiple_testing import corrected, without_single
from senseprobe.evaluate.estimands.sense_contrast import CONTRASTS
from senseprobe.evaluate.reporting import notation
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.messages import counted
from senseprobe.records import Figure

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")

MOST_GROUPS = 400


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A figure of several results, a row of a table: a cell for each result in order, None where it has none."""

    config: str
    estimand: str
    group: str | None
    cells: tuple[Figure | None, ...]

    @property
    def first(self) -> Figure:
        """The figure of the first result that has it."""
        return next(cell for cell in self.cells if cell is not None)

    @property
    def presentation(self) -> Presentation:
        """How a report presents its estimand."""
        return lookup(self.estimand).presentation


def align(results: Sequence[Iterable[tuple[KeyT, ValueT]]]) -> dict[KeyT, list[ValueT | None]]:
    """Return the values of several results by key, in order of first keys: one for each result, None without any."""
    values: dict[KeyT, list[ValueT | None]] = {}
    for number, pairs in enumerate(results):
        for key, value in pairs:
            values.setdefault(key, [None] * len(results))[number] = value
    return values


def align_figures(results: Sequence[Iterable[Figure]]) -> list[FigureRow]:
    """Return a row for each config, estimand and group, in order of their first figures."""
    rows = align([[((f.config, f.estimand, f.group), f) for f in figures] for figures in results])
    return [FigureRow(*key, tuple(cells)) for key, cells in rows.items()]


def build_figure_rows(inputs: Sequence[ReportInput]) -> list[FigureRow]:
    """Return the rows of results; p-values of contrasts are corrected over all of a result."""
    results = (corrected(source.result.figures, CONTRASTS) for source in inputs)
    return align_figures([without_single(figures, *FAMILIES) for figures in results])


def build_figure_cell(figure: Figure | None) -> Cell:
    """Return a cell with value, interval and remarks; an empty cell without a figure."""
    if figure is None:
        return Cell.number("")
    return Cell.number(notation.format_interval(figure), notation.format_remarks(figure))


def _build_zero_cell(row: FigureRow) -> Cell:
    return Cell.quiet(notation.describe_zero(row.first))


def _build_table(rows: Sequence[FigureRow], caption: str) -> Table:
    """Return a table of figures with what zero is, and what they are based on, by result where that differs."""
    table_rows = []
    for row in rows:
        bases: dict[str, list[str]] = {}
        for number, cell in enumerate(row.cells, start=1):
            if cell is not None:
                bases.setdefault(notation.describe_basis(cell), []).append(str(number))
        texts = (f"{', '.join(numbers)}: {basis}" if len(bases) > 1 else basis for basis, numbers in bases.items())
        figures = (*map(build_figure_cell, row.cells), _build_zero_cell(row), Cell.quiet(" · ".join(texts)))
        name = " ".join(filter(None, (row.estimand, row.group)))
        table_rows.append((*name_cells(row.config, name), *figures))
    results = range(len(rows[0].cells) if rows else 0)
    return Table(caption, ("config", "figure", *results, "what zero is", "based on"), tuple(table_rows))


def build_figure_section(rows: Sequence[FigureRow], biases: Mapping[str, str]) -> Section:
    """Return the section of all figures of configs by sense type (without senses, by kind of bias), and by group.

    `biases` is the kind of bias of each config that is about any.
    """
    by_title: dict[str, list[FigureRow]] = {}
    for row in rows:
        if not row.presentation.contrasts:
            names = (row.first.sense_type or "without senses", f"bias type {biases.get(row.config, '')}")
            by_title.setdefault(", ".join(names if row.config in biases else names[:1]), []).append(row)
    tables = []
    for title, members in by_title.items():
        groups: dict[tuple[str, str], list[FigureRow]] = {}
        for row in members:
            if row.group is not None:
                groups.setdefault((row.config, row.estimand), []).append(row)
        tables += [_build_table([row for row in members if row.group is None], title)]
        tables += map(_build_group_table, groups.values())
    return table_section("All figures", (), tables)


def _build_group_table(rows: Sequence[FigureRow]) -> Table:
    """Return a collapsed table of the groups of a figure."""
    omitted = len(rows) - MOST_GROUPS
    return Table(
        caption=f"{rows[0].config}: {rows[0].presentation.groups or rows[0].estimand} ({len(rows)})",
        headings=("config", "group", *range(len(rows[0].cells))),
        rows=tuple(
            (*name_cells(row.config, row.group or ""), *map(build_figure_cell, row.cells)) for row in rows[:MOST_GROUPS]
        ),
        note=f"{counted(omitted, 'more group')} in the JSON." if omitted > 0 else "",
        closed=True,
    )


def build_contrast_section(rows: Sequence[FigureRow]) -> Section:
    """Return the section of figures in two senses of a word, where the words that both share cancel out."""
    title = "Matched sense contrasts"
    text = (
        "One sense of a word less another. In a matched contrast the words that both senses share cancel out; an "
        "unmatched difference is the paper's own, of figures over different words, without interval or p-value."
    )
    return table_section(title, [text], [_build_table([row for row in rows if row.presentation.contrasts], title)])
