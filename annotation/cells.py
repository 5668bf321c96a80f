"""Tables of a project: CSV as spreadsheets write it, and no cell of ours that they take for a formula."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from senseprobe.atomic_files import read_plain, write_whole
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable

MAX_BYTES = 64 * 2**20  # a hundred thousand rows of some 600 bytes

# A line of its own in which Excel says what stands between cells.
_SEPARATOR_LINE = re.compile(r'"?sep=([^"\r\n])"?[,;\t|]*\r?\n', re.IGNORECASE)
_FIRST_CELL = re.compile(r"""\s*(?:"[^"]*"|[^",;\t\n]*)([,;\t])""")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")


@dataclass(frozen=True, slots=True)
class Line:
    """The cells of a row, and the line of the file on which it begins, from 1."""

    number: int
    cells: tuple[str, ...]

    def cell(self, column: int) -> str:
        """Return a cell, from 0, without blanks around it; empty where the row is too short."""
        return self.cells[column].strip() if column < len(self.cells) else ""


def csv_bytes(rows: Iterable[Sequence[str]]) -> bytes:
    r"""Return the rows as spreadsheets open them: UTF-8 with a mark, a comma between cells, nothing that is a formula.

    >>> csv_bytes([["a", "=1+1"]])
    b"\xef\xbb\xbfa,'=1+1\r\n"
    """
    out = io.StringIO()
    csv.writer(out).writerows([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in row] for row in rows)
    return out.getvalue().encode("utf-8-sig", "surrogatepass")


def write_file(path: Path, data: bytes) -> Path:
    """Write a file of a project, whole or not at all, and return its path; raise AnnotationError where that fails."""
    try:
        write_whole(path, data)
    except OSError as error:
        raise AnnotationError(f"{printable(str(path))} cannot be written: {error.strerror}") from None
    return path


def read_file(path: Path, most: int) -> bytes:
    """Return the bytes of a file; raise AnnotationError where it cannot be read, or has more than `most`."""
    try:
        return read_plain(path, most)
    except OSError as error:
        raise AnnotationError(f"{printable(str(path))} cannot be read: {error.strerror}") from None


def read_cells(path: Path, most: int = MAX_BYTES) -> list[Line]:
    """Return the rows of a CSV file that hold something; comma, semicolon or tab between cells, as in its first row."""
    display_path = printable(str(path))
    try:
        text = read_file(path, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise AnnotationError(f'{display_path}:{line}: is not UTF-8: save it as "CSV UTF-8"') from None
    separator, first = _SEPARATOR_LINE.match(text), _FIRST_CELL.match(text)
    skipped = 1 if separator else 0
    delimiter = separator[1] if separator else first[1] if first else ","  # sheets of some countries have semicolons
    reader = csv.reader(
        io.StringIO(text[separator.end() :] if separator else text, newline=""), delimiter=delimiter, strict=True
    )
    lines, start = [], skipped + 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                lines.append(Line(start, tuple(map(_unguarded, cells))))
            start = skipped + reader.line_num + 1
    except csv.Error as error:
        raise AnnotationError(f"{display_path}:{start}: malformed CSV: {printable(str(error))}") from None
    return lines


def _unguarded(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell
