"""What commands share: options, tables for people, JSON with stable keys for programs, progress and error messages."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON with stable keys.")]
ReleasesFolder = Annotated[
    Path | None, typer.Option(help="Folder of releases.", show_default="the project's releases/")
]
MOST_ROWS = 20
"""Most entries of a long list that are printed; --json has all."""

_out = Console(highlight=False, emoji=False, soft_wrap=True)
_err = Console(highlight=False, emoji=False, stderr=True, soft_wrap=True)


def complain(message: str) -> None:
    """Print one message on standard error."""
    _err.print(_safe(message), style="red")


def print_line(message: str) -> None:
    """Print one line on standard output."""
    _out.print(_safe(message))


def print_note(message: str) -> None:
    """Print one line on standard error: what is good to know, and not part of what a program reads."""
    _err.print(_safe(message))


def print_json(data: object) -> None:
    """Print JSON on standard output; keys keep the order in which the record declares them."""
    _out.out(json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False))


def print_findings(findings: Sequence[object]) -> None:
    """Print a line for each finding: path:line:column: CODE message (hint)."""
    for finding in findings:
        print_line(str(finding))


def print_table(columns: Mapping[str, str], rows: Sequence[Sequence[object]], title: str = "") -> None:
    """Print a table; `columns` maps a heading to how it is justified (left or right)."""
    table = Table(title=_safe(title) or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for heading, justify in columns.items():
        table.add_column(heading, justify="right" if justify == "right" else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(_safe("" if cell is None else str(cell)) for cell in row))
    console = _out if _out.is_terminal else Console(highlight=False, emoji=False, width=200)
    console.print(table)


def unreadable_last(rows: Sequence[Sequence[object]], reasons: Mapping[str, str], at: int) -> list[Sequence[object]]:
    """Return rows of a table with those of unreadable configs last, each config after a line with its reason.

    `reasons` are by config, the first cell of a row; a reason stands in column `at`.
    """
    ordered = [row for row in rows if row[0] not in reasons]
    for config, why in reasons.items():
        if unreadable := [row for row in rows if row[0] == config]:
            blank = [""] * len(unreadable[0])
            ordered += [[config, "not readable", *blank[2:at], why, *blank[at + 1 :]], *unreadable]
    return ordered


def _safe(text: str) -> str:
    """Return the text without rich's markup and without control sequences of a terminal.

    Names in releases and models are not ours.
    """
    return escape("".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text))


@contextmanager
def progress(label: str, total: float | None) -> Iterator["Step"]:
    """Show a progress bar on standard error, if that is a terminal, for work that may take longer than a second."""
    description = TextColumn("{task.description}", markup=False)
    columns = (description, BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=_err, transient=True, disable=not _err.is_terminal) as bar:
        yield Step(bar, bar.add_task(label, total=total))


class _Rate(ProgressColumn):
    """How much was done per second lately."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s")


class Step:
    """A progress callback: work calls it to say how much more is done; `done` and `total` are the last state."""

    def __init__(self, bar: Progress, task: Any) -> None:  # noqa: ANN401 - rich's own id type
        self._bar, self._task = bar, task
        self.done, self.total = 0, 0

    def __call__(self, amount: int = 1) -> None:
        """Advance by an amount."""
        self._bar.update(self._task, advance=amount)

    def at(self, done: int, total: int) -> None:
        """Set how much is done of how much. What the first call reports was done before, and counts for no rate."""
        if total != self.total or done < self.done:
            self._bar.reset(self._task, total=total, completed=done)
        else:
            self._bar.update(self._task, completed=done)
        self.done, self.total = done, total
