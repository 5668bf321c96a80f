"""Figures of several results side by side: by sense type, by group, by contrast."""

from collections import Counter
from collections.abc import Iterator, Sequence

from senseprobe.document import Cell, Section, Table, name_cells, table_section
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.reporting import notation
from senseprobe.evaluate.reporting.inputs import find_design
from senseprobe.evaluate.reporting.scope import FigureRow, ReportScope
from senseprobe.evaluate.task_gates import find_verdict
from senseprobe.messages import counted
from senseprobe.records import Figure, FigureKey

MOST_GROUPS = 400
FEW_GROUPS = 5
"""The most groups of a figure that a brief shows."""


def build_figure_cell(figure: Figure | None) -> Cell:
    """Return a cell with value, interval and remarks; an empty cell without a figure."""
    if figure is None:
        return Cell.number("")
    return Cell.number(notation.format_interval(figure), notation.format_remarks(figure))


def _build_table(rows: Sequence[FigureRow], caption: str, note: str = "", *, brief: bool = False) -> Table:
    """Return a table of figures with the meaning of zero and their rows and factors, by result if these differ."""
    table_rows = []
    for row in rows:
        bases: dict[str, list[str]] = {}
        for number, cell in enumerate(row.cells, start=1):
            if cell is not None:
                bases.setdefault(notation.describe_basis(cell, brief=brief), []).append(str(number))
        texts = (f"{', '.join(numbers)}: {basis}" if len(bases) > 1 else basis for basis, numbers in bases.items())
        zero = notation.describe_neutral(row.first) if brief else notation.describe_zero(row.first)
        name = " ".join(filter(None, (row.estimand, row.group)))
        figures = (*map(build_figure_cell, row.cells), Cell.quiet(zero), Cell.quiet(" · ".join(texts)))
        table_rows.append((*name_cells(row.config, name), *figures))
    results = range(len(rows[0].cells) if rows else 0)
    headings = ("config", "figure", *results, "neutral" if brief else "what zero is", "based on")
    return Table(caption, headings, tuple(table_rows), note)


def figure_section(scope: ReportScope) -> Section:
    """Return all figures of configs by sense type (without senses, by kind of bias), and by group.

    A brief has one table, with whole configs and the few groups that verdicts are about.
    """
    units = {row.estimand: lookup(row.estimand).unit for row in scope.rows}
    others = [f"{name} in {unit}" for name, unit in units.items() if unit != "points"]
    rest = "the others in points" if len(others) < len(units) else "no preferences"
    note = f"values: {', '.join(others)}; {rest}" if others else ""
    if scope.is_brief:
        listed = _list_brief(scope)
        table = _build_table(listed, "figures", note, brief=True)
        return table_section("", _count_groups(scope, listed), [table])
    by_title: dict[str, list[FigureRow]] = {}
    for row in scope.rows:
        if not row.declaration.is_contrast:
            names = (row.first.sense_type or "without senses", f"bias type {scope.biases.get(row.config, '')}")
            by_title.setdefault(", ".join(names if row.config in scope.biases else names[:1]), []).append(row)
    tables = []
    for title, members in by_title.items():
        groups: dict[tuple[str, str], list[FigureRow]] = {}
        for row in members:
            if row.group is not None:
                groups.setdefault((row.config, row.estimand), []).append(row)
        tables += [_build_table([row for row in members if row.group is None], title, note)]
        tables += (_build_group_table(members, scope) for members in groups.values())
    return table_section("All figures", (), tables)


def _list_brief(scope: ReportScope) -> list[FigureRow]:
    """Return the rows of whole configs, of groups that verdicts are about, and of contrasts with few groups."""
    about: set[FigureKey] = set()
    for source in scope.inputs:
        about |= {figure.key for verdict in source.verdicts or () for figure, _ in verdict.of[:FEW_GROUPS]}
    counts = Counter((row.config, row.estimand) for row in scope.rows)
    return [
        row
        for row in scope.rows
        if row.group is None
        or row.first.key in about
        or (row.declaration.is_contrast and counts[row.config, row.estimand] <= FEW_GROUPS)
    ]


def _count_groups(scope: ReportScope, listed: Sequence[FigureRow]) -> Iterator[str]:
    """Yield the number of groups' figures that a brief leaves out, and why some of them lack a value."""
    rest = [row for row in scope.rows if row not in listed]
    if rest:
        yield f"{counted(len(rest), 'figure')} of single groups: in the report, and in --json"
    # Withheld figures have a sentence on the whole config.
    cells = (f for row in rest for f in row.cells if f is not None and f.value is None and not find_verdict(f))
    for (config, estimand, note), count in Counter((f.config, f.estimand, f.note) for f in cells).items():
        yield f"no value of {estimand} in {config}, of {counted(count, 'group')}: {note}"


def _build_group_table(rows: Sequence[FigureRow], scope: ReportScope) -> Table:
    """Return a collapsed table of the groups of a figure."""
    groups = lookup(rows[0].estimand).groups_caption(find_design(scope.inputs, rows[0].config))
    omitted = len(rows) - MOST_GROUPS
    return Table(
        caption=f"{rows[0].config}: {groups} ({len(rows)})",
        headings=("config", "group", *range(len(rows[0].cells))),
        rows=tuple(
            (*name_cells(row.config, row.group or ""), *map(build_figure_cell, row.cells)) for row in rows[:MOST_GROUPS]
        ),
        note=f"{counted(omitted, 'more group')} in the JSON." if omitted > 0 else "",
        closed=True,
    )


def contrast_section(scope: ReportScope) -> Section:
    """Return the contrasts between two senses of a word."""
    title = "Matched sense contrasts"
    text = (
        "The figure of one sense of a word minus that of another. In a matched contrast, the words that both senses "
        "share cancel out. An unmatched difference is the paper's own: its words differ, so it has no interval."
    )
    return table_section(
        title, [text], [_build_table([row for row in scope.rows if row.declaration.is_contrast], title)]
    )
