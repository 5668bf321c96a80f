"""What a change of a model shows beside those of controls, and whether the model still does its task."""

from collections.abc import Iterator, Sequence
from math import ceil

from senseprobe.charts import Forest, ForestRow, Mark
from senseprobe.document import Cell, Section, Table, name_cells
from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.comparison import Comparison
from senseprobe.evaluate.estimands.control_rank import FEWEST, USUAL, ControlRank
from senseprobe.evaluate.reporting import notation
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.scope import ReportScope
from senseprobe.evaluate.reporting.significance import compare_pair, find_control_figures, require_comparable
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import counted, listed
from senseprobe.records import Figure
from senseprobe.statistics import LEVEL

MOST_OPEN = 24
"""Rows of the table up to which it is not collapsed."""

MOST_PLOTTED = 24
"""Changes in a chart."""

HEADINGS = ("controls", "mean of controls", "p", "in words")
MOST = 999
"""Controls of one comparison."""

TITLE = "More than controls at random?"
ABOUT = (
    "A control is the same model with something at random done to it. p is the rank of the change among them, by size, "
    "whichever way it goes: (1 + controls at least as extreme) / (1 + controls). It is not corrected for the number of "
    "figures."
)
OF_NEUTRAL = (
    "gap leads. nn, fn and t say how often a model infers anything, and a random direction can move them as far as one "
    "of gender does: by themselves they are no measure of gender bias."
)
BROKEN = (
    "Right answers on nli-control, before and after: a model that is broken infers nothing, and looks unbiased for it."
)


def rank_changes(before: ReportInput, after: ReportInput, controls: Sequence[ReportInput]) -> list[ControlRank]:
    """Return each figure that two results are compared on with its rank among controls; of gender `gap` comes first.

    Raises ResultError where the results are not on the same rows by one scorer, where a control is one of the two or
    occurs twice, lacks a figure, or scored another number of rows.
    """
    if not 1 <= len(controls) <= MOST:
        raise ResultError(f"{counted(len(controls), 'control')}: give 1 to {MOST}")
    require_comparable([before, after, *controls])
    seen = {_identity(before): "the first result", _identity(after): "the second result"}
    if len(seen) == 1:
        raise ResultError(f"{before.label} is compared with itself: give the model before and after")
    for number, control in enumerate(controls, start=1):
        if (identity := _identity(control)) in seen:
            raise ResultError(f"control {number}, {control.label}, is the same model as {seen[identity]}: leave it out")
        seen[identity] = f"control {number}"
    tables = [{_key(figure): figure for figure in source.result.figures} for source in (before, *controls)]
    ranks = [_rank(row, tables, controls) for row in compare_pair(after, before) if row.difference is not None]
    return sorted(ranks, key=lambda rank: (not _leads(rank), rank.p, -abs(rank.change)))


def _leads(rank: ControlRank) -> bool:
    """Return whether a figure of inference compares two words: the others say how often a model infers anything."""
    estimand = lookup(rank.estimand)
    return estimand.stands_in and KINDS[estimand.kind].infers


def _identity(source: ReportInput) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((part, text) for part, text in source.result.model.items() if part != "name"))


def _key(figure: Figure | Comparison) -> tuple[str, str, str]:
    return figure.config, figure.estimand, figure.group or ""


def _rank(
    row: Comparison, tables: Sequence[dict[tuple[str, str, str], Figure]], controls: Sequence[ReportInput]
) -> ControlRank:
    first, *others = (table.get(_key(row)) for table in tables)
    values = []
    for figure, control in zip(others, controls, strict=True):
        if first is None or first.value is None or figure is None or figure.value is None:
            name = " ".join(filter(None, _key(row)))
            raise ResultError(f"the control {control.label} has no value of {name}: score it on the same rows")
        if figure.scored != first.scored:
            raise ResultError(
                f"the control {control.label} scored {counted(figure.scored, 'row')} of {row.config}, and the model "
                f"before {first.scored:,}: what differs is not what was done to it"
            )
        values.append(round(figure.value - first.value, 9) + 0.0)
    return ControlRank(
        config=row.config,
        estimand=row.estimand,
        group=row.group,
        before=row.b,
        after=row.a,
        change=row.difference or 0.0,
        low=row.low,
        high=row.high,
        controls=tuple(values),
    )


# --- Sections -------------------------------------------------------------------------------------------------------


def rank_sections(scope: ReportScope) -> Iterator[Section]:
    """Yield what a change shows beside controls, and whether the model still does its task; none without controls."""
    if not scope.ranks:
        return
    count = len(scope.ranks[0].controls)
    whole = [rank for rank in scope.ranks if rank.group is None or not lookup(rank.estimand).compared_with_interval]
    beyond = [_name(rank) for rank in whole if rank.p < LEVEL]
    summary = f"{len(beyond)} of {counted(len(whole), 'figure')} changed by more than controls do"
    summary = f"{summary}: {listed(beyond)}." if beyond else f"{summary}."
    few = (
        f"{counted(count, 'control')} can show nothing: their smallest p is {1 / (count + 1):.2g}. {FEWEST} are the "
        f"fewest that can, {USUAL} are usual where only scoring is repeated."
        if count < FEWEST
        else ""
    )
    gendered = any(map(_leads, scope.ranks))
    notes = (summary, few, ABOUT, OF_NEUTRAL if gendered else "")
    printed = [rank for rank in scope.ranks if not scope.is_brief or rank in whole]
    charts = () if scope.is_brief else (_plot_changes(whole),)
    headings = (*("config", "figure", "group", "before", "after", "change"), *HEADINGS)
    rows = tuple(_build_row(rank) for rank in printed)
    tables = (Table(TITLE, headings, rows, closed=len(rows) > MOST_OPEN),)
    yield Section(TITLE, tuple(filter(None, notes)), charts=charts, tables=tables)
    table = _build_accuracy_table(scope)
    if table.rows:
        yield Section("Does it still infer?", (BROKEN,), tables=(table,))


def _name(rank: ControlRank) -> str:
    """Return the name of a figure, or of an association test."""
    return f"{rank.config}: {rank.group or rank.estimand}"


def _plot_changes(ranks: Sequence[ControlRank]) -> Forest:
    """Return the changes of figures of one unit, each beside the range of those of controls."""
    unit = lookup(ranks[0].estimand).unit
    plotted = [rank for rank in ranks if lookup(rank.estimand).unit == unit][:MOST_PLOTTED]
    numbers = [n for rank in plotted for n in (rank.change, rank.low, rank.high, *rank.controls) if n is not None]
    step = 10.0 if unit == "points" else 0.1
    end = step * max(1, ceil(max(map(abs, numbers)) / step))
    rows = []
    for rank in plotted:
        low, high = rank.ends
        texts = [notation.format_points(value, rank.estimand) for value in (rank.change, low, high)]
        marks = (
            Mark(series=1, value=rank.change, low=rank.low, high=rank.high, text=texts[0]),
            Mark(series=2, value=rank.mean, low=low, high=high, hollow=True, text=f"controls {texts[1]} to {texts[2]}"),
        )
        rows.append(ForestRow(label=_name(rank), marks=marks, note=rank.reading))
    title = f"Changes, in {unit}, each above the range and the mean of {counted(len(plotted[0].controls), 'control')}"
    return Forest(title=title, rows=tuple(rows), low=-end, high=end, left="lower than before", right="higher")


def _build_row(rank: ControlRank) -> tuple[Cell, ...]:
    points = [notation.format_points(value, rank.estimand) for value in rank.ends]
    ends = notation.format_ends(rank.low, rank.high, rank.estimand)
    values = ("none" if v is None else notation.format_points(v, rank.estimand) for v in (rank.before, rank.after))
    return (
        *name_cells(rank.config, rank.estimand, rank.group or ""),
        *map(Cell.number, values),
        Cell.number(notation.format_points(rank.change, rank.estimand), ends),
        Cell.number(f"{points[0]} to {points[1]}", counted(len(rank.controls), "control")),
        Cell.number(notation.format_points(rank.mean, rank.estimand)),
        Cell.number(notation.format_p(rank.p)),
        Cell(rank.reading),
    )


def _build_accuracy_table(scope: ReportScope) -> Table:
    """Return the right answers on the control of inference before and after, by kind of pair."""
    sides = [{_key(figure): figure for _, figure in find_control_figures(source)} for source in scope.inputs[:2]]
    rows = tuple(
        (
            *name_cells(*key),
            *(
                Cell.number("" if (f := side.get(key)) is None or f.value is None else f"{f.value:.1f}")
                for side in sides
            ),
        )
        for key in dict.fromkeys(key for side in sides for key in side)
    )
    return Table("right answers of 100", ("config", "figure", "group", "before", "after"), rows)
