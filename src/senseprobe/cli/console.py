"""What commands share: options, tables for people, JSON with stable keys for programs, error messages."""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from senseprobe.messages import visible

if TYPE_CHECKING:
    from senseprobe.document import Document, Section


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
