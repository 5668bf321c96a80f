"""Figures of several results side by side: by sense type, by bias type, by group, by contrast."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from senseprobe.evaluate.estimands import FAMILIES, lookup
from senseprobe.evaluate.estimands.base import Presentation
from senseprobe.evaluate.estimands.multiple_testing import corrected, without_single
from senseprobe.evaluate.estimands.sense_contrast import CONTRASTS
from senseprobe.evaluate.fitness import Fitness, unreadable
from senseprobe.evaluate.reporting import notation, plots
from senseprobe.evaluate.reporting.document import Cell, Plot, Section, Table, name_cells
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.messages import counted
from senseprobe.records import Figure

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")

MOST_GROUPS = 400
MOST_PLOTTED = 60


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

    @property
    def bases(self) -> list[tuple[str, list[int]]]:
        """What the cells are based on: each basis once, with the numbers (from 1) of its results."""
        numbers: dict[str, list[int]] = {}
        for number, cell in enumerate(self.cells, start=1):
            if cell is not None:
                numbers.setdefault(notation.describe_basis(cell), []).append(number)
        return list(numbers.items())


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
        return Cell(text="", kind="number")
    return Cell(text=notation.format_interval(figure), note=notation.format_remarks(figure), kind="number")


def _build_basis_cell(row: FigureRow) -> Cell:
    """Return what a row is based on, by result where they differ."""
    bases = row.bases
    texts = (f"{', '.join(map(str, numbers))}: {basis}" if len(bases) > 1 else basis for basis, numbers in bases)
    return Cell(text=" · ".join(texts), kind="quiet")


def _build_row(row: FigureRow) -> tuple[Cell, ...]:
    zero = Cell(text=notation.describe_zero(row.first), kind="quiet")
    return (*name_cells(row.config, row.estimand), *map(build_figure_cell, row.cells), zero, _build_basis_cell(row))


def _build_table(rows: Sequence[FigureRow], caption: str) -> Table:
    headings = ("config", "figure", *range(len(rows[0].cells)), "what zero is", "based on")
    return Table(caption=caption, headings=headings, rows=tuple(map(_build_row, rows)))


def plot_overview(rows: Sequence[FigureRow]) -> Iterator[Plot]:
    """Yield forest plots of figures over whole configs: those around 0, and those from 0 to 100."""
    plotted = [row for row in rows if row.group is None and row.presentation.plotted]
    for from_zero in (False, True):
        part = [row for row in plotted if lookup(row.estimand).from_zero == from_zero]
        if part:
            first = part[:MOST_PLOTTED]
            omission = f", the first {len(first)} of {len(part)}" if len(part) > len(first) else ""
            title = f"Figures {'from 0 to 100' if from_zero else 'around 0'}, with intervals{omission}"
            bars = [(f"{row.config}: {row.estimand}", row.cells) for row in first]
            yield Plot(title=title, svg=plots.draw_forest(bars, from_zero))


def build_sense_sections(rows: Sequence[FigureRow], biases: Mapping[str, str]) -> Iterator[Section]:
    """Yield a section for each sense type (for rows without senses, for each kind of bias), with its groups.

    `biases` is the kind of bias of each config that is about any.
    """
    by_title: dict[str, list[FigureRow]] = {}
    for row in rows:
        if not row.presentation.contrasts:
            title = row.first.sense_type or ": ".join(filter(None, ("Without senses", biases.get(row.config))))
            by_title.setdefault(title, []).append(row)
    for title, members in by_title.items():
        kinds = dict.fromkeys(biases[row.config] for row in members if biases.get(row.config))
        whole = [row for row in members if row.group is None]
        grouped = [row for row in members if row.group is not None]
        yield Section(
            title=title,
            paragraphs=(f"Bias type: {', '.join(kinds)}.",) if kinds else (),
            tables=(*([_build_table(whole, title)] if whole else []), *_build_group_tables(grouped)),
            plots=tuple(_plot_groups(grouped)),
        )


def _split_by_figure(rows: Sequence[FigureRow]) -> dict[tuple[str, str], list[FigureRow]]:
    parts: dict[tuple[str, str], list[FigureRow]] = {}
    for row in rows:
        parts.setdefault((row.config, row.estimand), []).append(row)
    return parts


def _plot_groups(rows: Sequence[FigureRow]) -> Iterator[Plot]:
    """Yield a collapsed plot of the groups of each figure, from the lowest to the highest of the first result."""
    for (config, estimand), groups in _split_by_figure(rows).items():
        if not lookup(estimand).presentation.plotted or len(groups) < 2:
            continue
        order = sorted(groups, key=lambda row: (row.first.value or 0.0, row.group or ""))
        half, omission = MOST_PLOTTED // 2, ""
        if len(order) > MOST_PLOTTED:
            omission = f", the {half} lowest and the {half} highest of {len(order)}"
            order = order[:half] + order[-half:]
        svg = plots.draw_forest([(row.group or "", row.cells) for row in order], lookup(estimand).from_zero)
        yield Plot(title=f"{config}: {estimand} by group, with intervals{omission}", svg=svg, closed=True)


def _build_group_tables(rows: Sequence[FigureRow]) -> Iterator[Table]:
    """Yield a collapsed table of the groups of each figure."""
    for (config, estimand), groups in _split_by_figure(rows).items():
        omitted = len(groups) - MOST_GROUPS
        table_rows = tuple(
            (*name_cells(row.config, row.group or ""), *map(build_figure_cell, row.cells))
            for row in groups[:MOST_GROUPS]
        )
        yield Table(
            caption=f"{config}: {lookup(estimand).presentation.groups or estimand} ({len(groups)})",
            headings=("config", "group", *range(len(groups[0].cells))),
            rows=table_rows,
            note=f"{counted(omitted, 'more group')} in the JSON." if omitted > 0 else "",
            closed=True,
        )


def find_headlines(rows: Sequence[FigureRow]) -> list[FigureRow]:
    """Return the main figure of each config, over all its rows.

    Where no value of `preference` is neutral, that is `pronoun-stereotype`, if there is one.
    """
    configs: dict[str, list[FigureRow]] = {}
    for row in rows:
        if row.group is None:
            configs.setdefault(row.config, []).append(row)
    return [headline for figures in configs.values() if (headline := _find_headline(figures)) is not None]


def _find_headline(rows: Sequence[FigureRow]) -> FigureRow | None:
    ranked = [row for row in rows if row.presentation.rank]
    first = min(ranked, key=lambda row: row.presentation.rank, default=None)
    if first is None or first.presentation.rank > 1 or first.first.neutral is not None:
        return first
    return next((row for row in rows if row.presentation.leads_without_neutral), first)


def _build_headline_cell(figure: Figure | None, fitness: Fitness | None) -> Cell:
    """Return the main figure of a config, or why its rows are not readable."""
    reason = "" if figure is None else unreadable(fitness)
    return Cell(text="not readable", note=reason, kind="number") if reason else build_figure_cell(figure)


def build_bias_section(
    rows: Sequence[FigureRow], biases: Mapping[str, str], fitness: Sequence[Mapping[str, Fitness]]
) -> Section:
    """Return the main figure of each config, by the kind of bias that the release declares (`biases`, by config).

    `fitness` is that of each result: a config that is not readable has the reason in place of a figure.
    """
    headlines = [row for row in find_headlines(rows) if biases.get(row.config)]
    table_rows = tuple(
        (
            *name_cells(biases[row.config], row.config, row.estimand),
            *(_build_headline_cell(cell, of.get(row.config)) for cell, of in zip(row.cells, fitness, strict=True)),
            Cell(text=notation.describe_zero(row.first), kind="quiet"),
        )
        for row in sorted(headlines, key=lambda row: biases[row.config])
    )
    if not table_rows:
        return Section(title="By bias type")
    headings = ("bias type", "config", "figure", *range(len(rows[0].cells)), "what zero is")
    return Section(title="By bias type", tables=(Table(caption="By bias type", headings=headings, rows=table_rows),))


def build_contrast_section(rows: Sequence[FigureRow]) -> Section:
    """Return the section of figures in two senses of a word, where the words that both share cancel out."""
    title = "Matched sense contrasts"
    contrasts = [row for row in rows if row.presentation.contrasts]
    if not contrasts:
        return Section(title=title)
    text = (
        "One sense of a word less another. In a matched contrast the words that both senses share cancel out; an "
        "unmatched difference is the paper's own, of figures over different words, without interval or p-value."
    )
    return Section(title=title, paragraphs=(text,), tables=(_build_table(contrasts, title),))
