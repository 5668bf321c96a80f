"""What commands share: options, tables for people, JSON with stable keys for programs, error messages."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Annotated

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.text import Text


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

_GAP = 2  # blanks between columns
_SHORT = 24  # width up to which a cell of a table stays on one line, if there is room; else as near to it as there is

# What a line of a cell is not broken in: an interval, a p, a word.
_WORD = re.compile(r"\[[^\]\s]+,? [^\]\s]+\]\S*|p [=<>≤≥] \S+|\S+")

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
    """Print a table; `columns` maps a heading to how it is justified (left or right).

    No cell is cut. In a terminal a cell may go on below itself, at a blank, the widest columns first; columns for which
    there is still no room go on in a line below. Elsewhere a row is one line, as programs read it.
    """
    if title:
        _out.print(Text(_visible(title), style="italic"))
    table = [[*columns], *([_visible("" if cell is None else str(cell)) for cell in row] for row in rows)]
    right = [justify == "right" for justify in columns.values()]
    width = _out.width if _out.is_terminal else None
    for number, lines in enumerate(lay_out(table, right, width)):
        for line in lines:
            _out.print(Text(line, style="" if number else "bold"))


def lay_out(table: Sequence[Sequence[str]], right: Sequence[bool], width: int | None) -> Iterator[list[str]]:
    """Yield the lines of each row of a table, where a terminal has `width` cells, or one line where it is None.

    `right`: whether a column is justified right. Lines are longer than `width` only where one word is.
    """
    widths = [max(map(cell_len, "\n".join(cells).split("\n"))) for cells in zip(*table, strict=True)]
    if width is not None:
        widths = _fit_columns(table, widths, width)
    bands: list[list[int]] = [[]]
    used = 0
    for column, size in enumerate(widths):
        if width is not None and bands[-1] and used + size > width:
            bands.append([])
            used = _GAP
        bands[-1].append(column)
        used += size + _GAP
    for row in table:
        cells = [_wrap(cell, size) for cell, size in zip(row, widths, strict=True)]
        lines = []
        for band in bands:
            for parts in zip_longest(*(cells[column] for column in band), fillvalue=""):
                spaces = [" " * (widths[column] - cell_len(part)) for column, part in zip(band, parts, strict=True)]
                padded = [
                    space + part if right[column] else part + space
                    for column, part, space in zip(band, parts, spaces, strict=True)
                ]
                lines.append((" " * _GAP * (band is not bands[0]) + (" " * _GAP).join(padded)).rstrip())
        yield lines


def _fit_columns(table: Sequence[Sequence[str]], widths: Sequence[int], width: int) -> list[int]:
    """Return the widths of columns in a terminal of `width` cells: the widest give way, down to their longest word.

    Short cells stay on one line as far as there is room.
    """
    room = width - _GAP * (len(widths) - 1)
    for short in range(_SHORT, -1, -1):
        floor = _least_widths(table, short)
        for most in range(min(room, max(widths)), -1, -1):
            fitted = [max(least, min(size, most)) for least, size in zip(floor, widths, strict=True)]
            if sum(fitted) <= room:
                return fitted
    return _least_widths(table, _SHORT)


def _least_widths(table: Sequence[Sequence[str]], short: int) -> list[int]:
    """Return how wide columns must be for their longest word, and for cells of at most `short` on one line."""
    return [
        max(
            cell_len(line) if cell_len(line) <= short else max(map(cell_len, _WORD.findall(line)))
            for cell in cells
            for line in cell.split("\n")
        )
        for cells in zip(*table, strict=True)
    ]


def _wrap(cell: str, size: int) -> list[str]:
    """Return a cell as lines of at most `size` cells, broken at blanks; a longer word is a line."""
    lines = []
    for line in cell.split("\n"):
        if cell_len(line) <= size:
            lines.append(line)
            continue
        words = _WORD.findall(line)
        lines.append(words[0])
        for word in words[1:]:
            joined = f"{lines[-1]} {word}"
            if cell_len(joined) <= size:
                lines[-1] = joined
            else:
                lines.append(word)
    return lines


def print_summary(parts: Iterable[tuple[Mapping[str, str], Sequence[Sequence[object]], str] | str]) -> None:
    """Print tables, and lines between them, as they come."""
    for part in parts:
        print_line(part) if isinstance(part, str) else print_table(*part)


def _safe(text: str) -> str:
    """Return the text without rich's markup and without control sequences of a terminal."""
    return escape(_visible(text))


def _visible(text: str) -> str:
    """Return the text without control sequences of a terminal: names in releases and models are not ours."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
