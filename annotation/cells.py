"""Tables that people fill in: CSV as spreadsheets write it, and no cell of ours that they take for a formula."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from senseprobe.atomic_files import read_plain
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable

MAX_BYTES = 64 * 2**20
"""A hundred thousand rows of some 600 bytes."""

# A line of its own in which Excel says what stands between cells.
_TOLD = re.compile(r'"?sep=([^"\r\n])"?[,;\t|]*\r?\n', re.IGNORECASE)
_FIRST = re.compile(r"""\s*(?:"[^"]*"|[^",;\t\n]*)([,;\t])""")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")


@dataclass(frozen=True, slots=True)
class Line:
    """The cells of a row, and the line of the file on which it begins, from 1."""

    number: int
    cells: tuple[str, ...]

    def cell(self, column: int) -> str:
        """A cell, from 0, without blanks around it; empty where the row is too short."""
        return self.cells[column].strip() if column < len(self.cells) else ""


def csv_bytes(rows: Iterable[Sequence[str]]) -> bytes:
    r"""The rows as spreadsheets open them: UTF-8 with a mark, a comma between cells, nothing that is a formula.

    >>> csv_bytes([["a", "=1+1"]])
    b"\xef\xbb\xbfa,'=1+1\r\n"
    """
    out = io.StringIO()
    csv.writer(out).writerows([_guarded(cell) for cell in row] for row in rows)
    return out.getvalue().encode("utf-8-sig", "surrogatepass")


def _guarded(text: str) -> str:
    """The text, behind an apostrophe where a spreadsheet would run it, or has an apostrophe that would be lost."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def read_cells(path: Path, most: int = MAX_BYTES) -> list[Line]:
    """The rows of a CSV file that hold something; comma, semicolon or tab between cells, as its first row has them.

    AnnotationError where the file cannot be read, has more than `most` bytes or is no CSV in UTF-8.
    """
    shown = printable(str(path))
    try:
        text = read_plain(path, most).decode("utf-8-sig")
    except OSError as error:
        raise AnnotationError(f"{shown} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise AnnotationError(f'{shown}:{line}: is not UTF-8: save it as "CSV UTF-8"') from None
    return list(_lines(text, shown))


def _lines(text: str, shown: str) -> Iterator[Line]:
    told = _TOLD.match(text)
    above = 1 if told else 0
    rows = io.StringIO(text[told.end() :] if told else text, newline="")
    reader = csv.reader(rows, delimiter=told[1] if told else _delimiter(text), strict=True)
    start = above + 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield Line(start, tuple(map(_unguarded, cells)))
            start = above + reader.line_num + 1
    except csv.Error as error:
        raise AnnotationError(f"{shown}:{start}: malformed CSV: {printable(str(error))}") from None


def _delimiter(text: str) -> str:
    """What stands behind the first cell: sheets of some countries have semicolons."""
    found = _FIRST.match(text)
    return found[1] if found else ","


def _unguarded(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell
