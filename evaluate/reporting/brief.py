"""The verdicts of results in a table for a pull request, no longer than a screen."""

from collections.abc import Iterable, Sequence

from senseprobe.document import Cell, Table, name_cells, render_table
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.notation import format_interval
from senseprobe.evaluate.reporting.verdicts import ORDER, Verdict, build_verdicts, rank
from senseprobe.messages import counted, listed

MOST_ROWS = 30
"""Verdicts in the table: with caption, headings and note it is shorter than 40 lines."""

NOTE = (
    "In points: 0 is neutral, and a preference of +20 is 70 of 100 pairs. Shown: the 95 % interval excludes the "
    "neutral value. Not shown does not mean that there is none."
)


def build_brief(inputs: Sequence[ReportInput]) -> str:
    """Return the verdicts of results as Markdown; where they are many, the last line counts those left out."""
    rows = [(source, verdict) for source in inputs for verdict in build_verdicts(source)]
    important = sorted(range(len(rows)), key=lambda index: rank(rows[index][1]))[:MOST_ROWS]
    shown = [rows[index] for index in sorted(important)]
    omitted = [verdict.kind for index, (_, verdict) in enumerate(rows) if index not in important]
    several = len(inputs) > 1
    headings = (*(("result",) if several else ()), "config", "", "verdict", "points, 95 %", "based on", "sharper")
    table_rows = tuple(
        (*(name_cells(source.label) if several else ()), *_build_cells(verdict)) for source, verdict in shown
    )
    releases = listed(dict.fromkeys(str(source.result.release["name"]) for source in inputs))
    names = counted(len(inputs), "result") if several else inputs[0].label
    rest = f"{NOTE} {_count_omitted(omitted)}".rstrip()
    return render_table(Table(f"senseprobe: {names} on {releases}", headings, table_rows, note=rest))


def _build_cells(verdict: Verdict) -> tuple[Cell, ...]:
    figure, name = verdict.figure, " ".join(filter(None, (verdict.config, verdict.bias_type)))
    points = ("",) if figure is None else (format_interval(figure), f"{figure.estimand} {figure.group or ''}".rstrip())
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
