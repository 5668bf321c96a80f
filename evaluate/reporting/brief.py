"""Verdicts of results as one Markdown table, short enough for a pull request."""

from collections.abc import Iterable, Sequence

from senseprobe.document import Cell, Table, name_cells, render_table
from senseprobe.evaluate.estimands.base import joined
from senseprobe.evaluate.figure_check import describe_unchecked
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.notation import format_interval
from senseprobe.evaluate.reporting.verdict import EFFECTS, NOT_NONE, ORDER, POINTS, Verdict, describe_family, rank
from senseprobe.evaluate.reporting.verdict_table import build_verdicts
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import counted, listed

MOST_ROWS = 30
"""Verdicts in the table: with caption, headings and note it is shorter than 40 lines."""


def build_brief(inputs: Sequence[ReportInput]) -> str:
    """Return the verdicts of results as Markdown; where they are many, the last line counts those left out."""
    rows = [(source, verdict) for source in inputs for verdict in build_verdicts(source)]
    important = sorted(range(len(rows)), key=lambda index: rank(rows[index][1]))[:MOST_ROWS]
    shown = [rows[index] for index in sorted(important)]
    omitted = [verdict.kind for index, (_, verdict) in enumerate(rows) if index not in important]
    several = len(inputs) > 1
    kinds = {KINDS[source.kind].tests for source in inputs}
    measure = " or ".join("effect" if tests else "points" for tests in sorted(kinds))
    headings = (*(("result",) if several else ()), "config", "", "verdict", f"{measure}, 95 %", "based on", "sharper")
    table_rows = tuple(
        (*(name_cells(source.label) if several else ()), *_build_cells(verdict)) for source, verdict in shown
    )
    releases = listed(dict.fromkeys(str(source.result.release["name"]) for source in inputs))
    names = counted(len(inputs), "result") if several else inputs[0].label
    notes = (*(note for tests, note in ((False, POINTS), (True, EFFECTS)) if tests in kinds), NOT_NONE)
    unchecked = (
        f"{describe_unchecked(source.unchecked, source.label if several else '')}."
        for source in inputs
        if source.unchecked
    )
    rest = " ".join(filter(None, (*notes, _count_omitted(omitted), *unchecked)))
    return render_table(Table(f"senseprobe: {names} on {releases}", headings, table_rows, note=rest))


def _build_cells(verdict: Verdict) -> tuple[Cell, ...]:
    figure, name = verdict.figure, " ".join(filter(None, (verdict.config, verdict.bias_type)))
    under = "" if figure is None else " ".join(filter(None, (figure.estimand, figure.group)))
    points = ("",) if figure is None else (format_interval(figure), joined(under, describe_family(verdict)))
    return (
        *name_cells(name, verdict.kind),
        Cell(verdict.text),
        Cell.number(*points),
        Cell.quiet(verdict.basis),
        Cell.quiet(verdict.sharper),
    )


def _count_omitted(kinds: Iterable[str]) -> str:
    """Return how many verdicts of each kind are not in the table; empty without any."""
    kinds = list(kinds)
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ORDER if kind in kinds)
    return f"Left out here: {counts}; senseprobe report has all." if counts else ""
