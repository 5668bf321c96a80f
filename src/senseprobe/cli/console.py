"""What commands share: options, tables for people, JSON with stable keys for programs, error messages."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from senseprobe.messages import visible

if TYPE_CHECKING:
    from senseprobe.document import Document, Section


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
Header = Annotated[
    str | None,
    typer.Option(
        metavar="yes|no",
        help="Of vectors as text: whether line 1 is a header, whatever it says. Default: what the lines tell.",
    ),
]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Of vectors as text: pass over lines that are none, and list them.")
]
MOST_ROWS = 20
"""Most entries of a long list that are printed; --json has all."""

_out = Console(highlight=False, emoji=False, soft_wrap=True)
_err = Console(highlight=False, emoji=False, stderr=True, soft_wrap=True)


def read_header(text: str | None) -> bool | None:
    """Return what --header says; None where it is not given."""
    if text not in (None, "yes", "no"):
        raise typer.BadParameter(f"{text}: expected yes or no", param_hint="--header")
    return None if text is None else text == "yes"


def complain(message: str) -> None:
    """Print one message on standard error."""
    _err.print(_safe(message), style="red")


def print_line(message: str) -> None:
    """Print one line on standard output."""
    _out.print(_safe(message))


def print_markdown(text: str) -> None:
    """Print Markdown on standard output with its backslashes and brackets, which rich's markup would take away."""
    _out.out(visible(text), end="")


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


def print_document(document: "Document") -> None:
    """Print the sections of a report, and the signatures of its results."""
    for part in document.parts:
        print_sections(part.sections, part.labels)
    for signature in document.signatures:
        print_line(signature)


def print_sections(sections: "Iterable[Section | str]", labels: Sequence[str] = ()) -> None:
    """Print sections, and lines between them, as they come; `labels` are the names of the results in headings.

    In a terminal tables are as wide as that is. Elsewhere a row is one line, as programs read it.
    """
    from senseprobe.document import render_terminal

    for section in sections:
        if isinstance(section, str):
            print_line(section)
            continue
        for line in render_terminal(section, labels, _out.width if _out.is_terminal else None):
            _out.print(line)


def _safe(text: str) -> str:
    """Return the text without rich's markup and without control sequences of a terminal."""
    return escape(visible(text))
