"""Tables of a project: CSV as spreadsheets write it, and no cell of ours that they take for a formula."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from senseprobe.atomic_files import read_plain, write_whole
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable
from senseprobe.tables import CsvRow, UnreadableError, read_csv_file

MAX_BYTES = 64 * 2**20  # a hundred thousand rows of some 600 bytes

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")


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


def read_cells(path: Path, most: int = MAX_BYTES) -> list[CsvRow]:
    """Return the rows of a CSV file that hold something; comma, semicolon or tab between cells, as in its first row."""
    try:
        rows = read_csv_file(path, most)
    except UnreadableError as error:
        raise AnnotationError(error.at(path)) from None
    for row in rows:
        row.cells[:] = [
            cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell for cell in row.cells
        ]
    return rows
