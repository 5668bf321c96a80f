"""Figures of several results side by side: by sense type, by bias type, by group, by contrast."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.base import Presentation
from senseprobe.evaluate.estimands.multiple_testing import corrected, without_single
from senseprobe.evaluate.estimands.registry import FAMILIES
from senseprobe.evaluate.estimands.sense_contrast import CONTRASTS
from senseprobe.evaluate.fitness import Fitness, unreadable
from senseprobe.evaluate.reporting import notation, plots
from senseprobe.evaluate.reporting.document import Cell, Plot, Section, Table
from senseprobe.evaluate.reporting.inputs import Evidence
from senseprobe.messages import counted
from senseprobe.records import Figure

MOST_GROUPS = 400
MOST_PLOTTED = 60


@dataclass(frozen=True, slots=True)
class Line:
    """A figure of several results: one cell for each, in their order; None where a result does not have it."""

    config: str
    estimand: str
    group: str | None
    cells: tuple[Figure | None, ...]

    @property
    def first(self) -> Figure:
        """The figure of the first result that has one."""
        return next(cell for cell in self.cells if cell is not None)

    @property
    def presentation(self) -> Presentation:
        """How its estimand is shown."""
        return lookup(self.estimand).presentation

    @property
    def bases(self) -> list[tuple[str, list[int]]]:
        """What the cells rest on, each basis once, with the numbers (from 1) of the results that rest on it."""
        found: dict[str, list[int]] = {}
        for number, cell in enumerate(self.cells, start=1):
            if cell is not None:
                found.setdefault(notation.basis(cell), []).append(number)
        return list(found.items())


def side_by_side(results: Sequence[Iterable[Figure]]) -> list[Line]:
    """A line for each config, estimand and group, in the order in which the results bring them."""
    found: dict[tuple[str, str, str | None], list[Figure | None]] = {}
    for number, figures in enumerate(results):
        for figure in figures:
            key = (figure.config, figure.estimand, figure.group)
            found.setdefault(key, [None] * len(results))[number] = figure
    return [Line(*key, tuple(cells)) for key, cells in found.items()]


def lines_of(evidence: Sequence[Evidence]) -> list[Line]:
    """The lines of results; p-values of contrasts are corrected over all of a result."""
    results = (corrected(each.result.figures, CONTRASTS) for each in evidence)
    return side_by_side([without_single(figures, *FAMILIES) for figures in results])


def figure_cell(figure: Figure | None) -> Cell:
    """Value, interval, and what else is to be known of a figure; an empty cell where there is none."""
    if figure is None:
        return Cell(text="", kind="number")
    return Cell(text=notation.interval(figure), note=notation.remarks(figure), kind="number")


def bases_cell(line: Line) -> Cell:
    """What a line rests on: for each result, where they rest on different rows."""
    bases = line.bases
    told = (f"{', '.join(map(str, numbers))}: {basis}" if len(bases) > 1 else basis for basis, numbers in bases)
    return Cell(text=" · ".join(told), kind="quiet")


def _row(line: Line) -> tuple[Cell, ...]:
    named = (Cell(text=name, kind="name") for name in (line.config, line.estimand))
    figures = (figure_cell(cell) for cell in line.cells)
    return (*named, *figures, Cell(text=notation.zero(line.first), kind="quiet"), bases_cell(line))


def _table(lines: Sequence[Line], caption: str) -> Table:
    results = range(len(lines[0].cells))
    headings = ("config", "figure", *results, "what zero is", "rests on")
    return Table(caption=caption, headings=headings, rows=tuple(map(_row, lines)))


def overview(lines: Sequence[Line]) -> Iterator[Plot]:
    """Forest plots of all figures with an interval: those around 0, and those from 0 to 100."""
    shown = [line for line in lines if line.group is None and line.presentation.plotted]
    for from_zero in (False, True):
        part = [line for line in shown if lookup(line.estimand).from_zero == from_zero]
        if part:
            held = part[:MOST_PLOTTED]
            left = f", the first {len(held)} of {len(part)}" if len(part) > len(held) else ""
            title = f"Figures {'from 0 to 100' if from_zero else 'around 0'}, with intervals{left}"
            rows = [(f"{line.config}: {line.estimand}", line.cells) for line in held]
            yield Plot(title=title, svg=plots.forest(rows, from_zero))


def by_sense(lines: Sequence[Line], biases: Mapping[str, str]) -> Iterator[Section]:
    """A section for each sense type (for rows without senses, for each kind of bias), with its groups."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        if not line.presentation.contrasts:
            title = line.first.sense_type or ": ".join(filter(None, ("Without senses", biases.get(line.config))))
            found.setdefault(title, []).append(line)
    for title, held in found.items():
        told = list(dict.fromkeys(biases[line.config] for line in held if biases.get(line.config)))
        whole, grouped = ([line for line in held if (line.group is None) == want] for want in (True, False))
        tables = [_table(whole, title)] if whole else []
        yield Section(
            title=title,
            paragraphs=(f"Bias type: {', '.join(told)}.",) if told else (),
            tables=(*tables, *_groups(grouped)),
            plots=tuple(_group_plots(grouped)),
        )


def _by_config(lines: Sequence[Line]) -> dict[tuple[str, str], list[Line]]:
    found: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        found.setdefault((line.config, line.estimand), []).append(line)
    return found


def _group_plots(lines: Sequence[Line]) -> Iterator[Plot]:
    """A plot of the groups of each figure, on demand, from the lowest to the highest of the first result."""
    for (config, estimand), held in _by_config(lines).items():
        if not lookup(estimand).presentation.plotted or len(held) < 2:
            continue
        order = sorted(held, key=lambda line: (line.first.value or 0.0, line.group or ""))
        half, left = MOST_PLOTTED // 2, ""
        if len(order) > MOST_PLOTTED:
            order, left = order[:half] + order[-half:], f", the {half} lowest and the {half} highest of {len(order)}"
        svg = plots.forest([(line.group or "", line.cells) for line in order], lookup(estimand).from_zero)
        yield Plot(title=f"{config}: {estimand} by group, with intervals{left}", svg=svg, closed=True)


def _groups(lines: Sequence[Line]) -> Iterator[Table]:
    """A table of the groups of each figure, on demand."""
    for (config, estimand), held in _by_config(lines).items():
        left = len(held) - MOST_GROUPS
        note = f"{counted(left, 'more group')} in the JSON." if left > 0 else ""
        rows = (
            (
                Cell(text=line.config, kind="name"),
                Cell(text=line.group or "", kind="name"),
                *map(figure_cell, line.cells),
            )
            for line in held[:MOST_GROUPS]
        )
        yield Table(
            caption=f"{config}: {lookup(estimand).presentation.groups or estimand} ({len(held)})",
            headings=("config", "group", *range(len(held[0].cells))),
            rows=tuple(rows),
            note=note,
            closed=True,
        )


def headlines(lines: Sequence[Line]) -> list[Line]:
    """Return the figure of each config, over all its rows, that leads.

    Where no value of `preference` is neutral, that is `pronoun-stereotype`, if there is one.
    """
    whole: dict[str, dict[str, Line]] = {}
    for line in lines:
        if line.group is None:
            whole.setdefault(line.config, {})[line.estimand] = line
    return [leading for of_config in whole.values() if (leading := _leading(of_config)) is not None]


def _leading(lines: Mapping[str, Line]) -> Line | None:
    ranked = sorted(
        (line for line in lines.values() if line.presentation.rank), key=lambda line: line.presentation.rank
    )
    first = ranked[0] if ranked else None
    balanced = next((line for line in lines.values() if line.presentation.leads_without_neutral), None)
    if first is not None and first.presentation.rank == 1 and first.first.neutral is None:
        return balanced or first
    return first


def _lead_cell(figure: Figure | None, of: Fitness | None) -> Cell:
    """The figure that leads a config; why none does where its rows are not readable."""
    why = "" if figure is None else unreadable(of)
    return Cell(text="not readable", note=why, kind="number") if why else figure_cell(figure)


def by_bias(lines: Sequence[Line], biases: Mapping[str, str], fitness: Sequence[Mapping[str, Fitness]]) -> Section:
    """The first figure of each config, by the kind of bias that the release says it is about.

    `fitness` is that of each result: a config that is not readable is led by no figure.
    """
    firsts = [line for line in headlines(lines) if biases.get(line.config)]
    rows = tuple(
        (
            *(Cell(text=name, kind="name") for name in (biases[line.config], line.config, line.estimand)),
            *(_lead_cell(cell, of.get(line.config)) for cell, of in zip(line.cells, fitness, strict=True)),
            Cell(text=notation.zero(line.first), kind="quiet"),
        )
        for line in sorted(firsts, key=lambda line: biases[line.config])
    )
    if not rows:
        return Section(title="By bias type")
    headings = ("bias type", "config", "figure", *range(len(lines[0].cells)), "what zero is")
    return Section(title="By bias type", tables=(Table(caption="By bias type", headings=headings, rows=rows),))


def contrasts(lines: Sequence[Line]) -> Section:
    """The same figure in two senses of a word, with the words that both share cancelled out."""
    held = [line for line in lines if line.presentation.contrasts]
    if not held:
        return Section(title="Matched sense contrasts")
    told = (
        "One sense of a word less another. In a matched contrast the words that both senses share cancel out; an "
        "unmatched difference is the paper's own, of figures over different words, without interval or p-value."
    )
    table = _table(held, "Matched sense contrasts")
    return Section(title="Matched sense contrasts", paragraphs=(told,), tables=(table,))
