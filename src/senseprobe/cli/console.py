"""How commands print: tables for people, JSON with stable keys for programs, progress and complaints beside them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

_out = Console(highlight=False, emoji=False, soft_wrap=True)
_err = Console(highlight=False, emoji=False, stderr=True, soft_wrap=True)


def complain(message: str) -> None:
    """One message on standard error."""
    _err.print(_safe(message), style="red")


def print_line(message: str) -> None:
    """One line on standard output."""
    _out.print(_safe(message))


def print_note(message: str) -> None:
    """One line on standard error: what is good to know, and no part of what a program reads."""
    _err.print(_safe(message))


def print_json(data: object) -> None:
    """JSON on standard output; keys keep the order in which the record declares them."""
    _out.out(json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False))


def print_findings(findings: Sequence[object]) -> None:
    """A line for each finding: path:line:column: CODE message (hint)."""
    for finding in findings:
        print_line(str(finding))


def print_table(columns: Mapping[str, str], rows: Sequence[Sequence[object]], title: str = "") -> None:
    """A table; `columns` maps a heading to how it is justified (left or right)."""
    table = Table(title=_safe(title) or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for heading, justify in columns.items():
        table.add_column(heading, justify="right" if justify == "right" else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(_safe("" if cell is None else str(cell)) for cell in row))
    console = _out if _out.is_terminal else Console(highlight=False, emoji=False, width=200)
    console.print(table)


def named_last(rows: Sequence[Sequence[object]], reasons: Mapping[str, str], at: int) -> list[Sequence[object]]:
    """Return rows of a table with those of configs that are not readable last, each config led by its reason.

    `reasons` are by config, the first cell of a row; a reason stands in column `at`.
    """
    found = [row for row in rows if row[0] not in reasons]
    for config, why in reasons.items():
        if own := [row for row in rows if row[0] == config]:
            blank = [""] * len(own[0])
            found += [[config, "not readable", *blank[2:at], why, *blank[at + 1 :]], *own]
    return found


def _safe(text: str) -> str:
    """The text without rich's markup, and without what steers a terminal: names in releases and models are not ours."""
    return escape("".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text))


@contextmanager
def progress(label: str, total: float | None) -> Iterator["Step"]:
    """A progress bar on standard error, where that is a terminal, for work that may take longer than a second."""
    told = TextColumn("{task.description}", markup=False)
    columns = (told, BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=_err, transient=True, disable=not _err.is_terminal) as bar:
        yield Step(bar, bar.add_task(label, total=total))


class _Rate(ProgressColumn):
    """How much is done in a second, of late."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s")


class Step:
    """What work calls to say how much more of it is done; `done` and `total` are what it last said."""

    def __init__(self, bar: Progress, task: Any) -> None:  # noqa: ANN401 - rich's own id type
        self._bar, self._task = bar, task
        self.done, self.total = 0, 0

    def __call__(self, amount: int = 1) -> None:
        """Go on by an amount."""
        self._bar.update(self._task, advance=amount)

    def at(self, done: int, total: int) -> None:
        """Say how much is done of how much. What the first call has was done before: it counts for no rate."""
        if total != self.total or done < self.done:
            self._bar.reset(self._task, total=total, completed=done)
        else:
            self._bar.update(self._task, completed=done)
        self.done, self.total = done, total
