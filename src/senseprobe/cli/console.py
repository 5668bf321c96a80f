"""What commands share: options, tables for people, JSON with stable keys for programs, error messages."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table


def complete_dataset(incomplete: str) -> list[str]:
    """Return what a shell offers for the beginning of a dataset's name."""
    from senseprobe.api.author import names_beginning

    return names_beginning(incomplete)


def complete_release(incomplete: str) -> list[str]:
    """Return what a shell offers for the beginning of a release's name."""
    from senseprobe.api.author import names_beginning

    return names_beginning(incomplete, releases=True)


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON with stable keys.")]
RELEASE_HELP = "NAME@VERSION, hf://USER/NAME@VERSION, or a path; without @VERSION it is the newest release."
Release = Annotated[str, typer.Argument(metavar="RELEASE", help=RELEASE_HELP, autocompletion=complete_release)]
ReleaseOrConfig = Annotated[
    str, typer.Argument(metavar="RELEASE[:CONFIG]", help=RELEASE_HELP, autocompletion=complete_release)
]
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


def print_markdown(text: str) -> None:
    """Print Markdown on standard output with its backslashes and brackets, which rich's markup would take away."""
    _out.out("".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text), end="")


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


def print_summary(parts: Iterable[tuple[Mapping[str, str], Sequence[Sequence[object]], str] | str]) -> None:
    """Print tables, and lines between them, as they come."""
    for part in parts:
        print_line(part) if isinstance(part, str) else print_table(*part)


def _safe(text: str) -> str:
    """Return the text without rich's markup and without control sequences of a terminal.

    Names in releases and models are not ours.
    """
    return escape("".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text))
