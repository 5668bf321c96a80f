"""What stands in the files of an import: rows of CSV and values of JSON, with the lines on which they begin."""

import bisect
import json
import json.decoder
import json.scanner
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.importers.notes import Notes
from senseprobe.importers.sources import Source, excerpt
from senseprobe.tables import CsvRow, UnreadableError, declared_delimiter, header_cells, read_csv, read_json

MAX_VALUES = 2_000_000  # of a JSON file; that of StereoSet has 200,000
MAX_JOINED = 10
"""Lines of a row whose quoted cells hold line feeds."""
LONGEST_ROW = 2**20
"""Characters of a row of CSV, which has a few sentences."""


def find_header(source: Source, names: Collection[str], *, quoted_tabs: bool = True) -> tuple[str, list[str]]:
    """Return which of comma, semicolon and TAB stands between most columns that are wanted, and all columns then.

    Where a first line ``sep=;`` says what does, that is it.
    """
    if declared := declared_delimiter(source.lines[0]):
        line, quoted = "".join(source.lines[1:2])[:LONGEST_ROW], quoted_tabs or declared != "\t"
        header = header_cells(line, declared, quoted=quoted)
        return declared, [cell.strip() for cell in header]
    first = source.lines[0][:LONGEST_ROW]
    headers = {sign: header_cells(first, sign, quoted=quoted_tabs or sign != "\t") for sign in ",;\t"}
    sign, cells = max(headers.items(), key=lambda item: (len({*names} & {*map(str.strip, item[1])}), len(item[1])))
    return sign, [cell.strip() for cell in cells]


def delimited_rows(
    source: Source, delimiter: str, needed: Sequence[str], notes: Notes, reason: str = "", *, quoted: bool = True
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the rows of a table with a header: the line on which a row begins, and its cells by column.

    What is no row is left out, for the `reason` if there is one. A line feed in a quoted cell is a blank; but a
    quotation mark that is never closed joins any number of rows, which are none then. Raise ReleaseError where a column
    of `needed` is missing or stands twice, or the table cannot be read on.
    """
    lines: Iterator[str] = (f"{line}\n" for line in (source.lines if source.lines[-1] else source.lines[:-1]))
    is_declared = declared_delimiter(source.lines[0]) != ""
    if is_declared:  # a blank line in its place, so that the others keep their numbers
        lines = chain(["\n"], islice(lines, 1, None))
    rows = read_csv(lines, delimiter, quoted=quoted, strict=False, longest=LONGEST_ROW)
    try:
        if is_declared:
            next(rows)
        header = [cell.strip() for cell in next(rows, CsvRow(1, 1, [])).cells]
        if missing := [name for name in needed if name not in header]:
            raise ReleaseError(f"{source.name}: lacks the column {missing[0]!r}: is it another format?")
        if twice := [name for name, number in Counter(header).items() if number > 1]:
            raise ReleaseError(
                f"{source.name}: has the column {excerpt(twice[0])!r} twice: rename or remove one of them"
            )
        for start, last, row in rows:
            joined = last > start
            if joined and (len(row) != len(header) or _are_rows(source.lines[start - 1 : last], delimiter, header)):
                error = f"lines {start} to {last} ({last - start + 1} lines) are one row, by their quotation marks"
                notes.leave_out(source, start, reason or error)
            elif len(row) == len(header):
                if joined:
                    notes.keep(source, start, "a line feed in a quoted cell is read as a blank")
                yield start, dict(zip(header, (re.sub(r"\s*\n\s*", " ", cell) for cell in row), strict=True))
            elif row:
                notes.leave_out(source, start, reason or f"{len(row)} cells, not {len(header)}")
    except UnreadableError as error:
        raise ReleaseError(f"{source.name}:{error.line}: cannot be read as a table: {error}") from None


def _are_rows(lines: Sequence[str], delimiter: str, header: Sequence[str]) -> bool:
    """Return whether lines that quotation marks join seem to be rows, one of which has a mark that is never closed.

    The first of them has all its cells without that mark, or a later one has, with its own marks closed.
    """

    def count_cells(line: str) -> int:
        return len(header_cells(line, delimiter))

    *before, opened = header_cells(lines[0], delimiter)
    whole = any(line.count('"') % 2 == 0 and count_cells(line) == len(header) for line in lines[1:])
    return whole or len(lines) > MAX_JOINED or len(before) + count_cells(opened) >= len(header)


# --- JSON -----------------------------------------------------------------------------------------------------------


class LocatedText(str):
    """A string of a JSON file, with the line on which it begins."""

    __slots__ = ("line",)
    line: int


def line_of(value: object) -> int:
    """Return the line, from 1, on which a text of a JSON file begins; 0 for any other value."""
    return value.line if isinstance(value, LocatedText) else 0


def parse_json(source: Source) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Parse a JSON file; its strings are `LocatedText`. Raise ReleaseError where it is not JSON or repeats a key."""
    ends = [at for at, letter in enumerate(source.text) if letter == "\n"]

    def parse_string(text: str, begin: int, strict: bool = True) -> tuple[LocatedText, int]:
        value, end = json.decoder.scanstring(text, begin, strict)  # type: ignore[attr-defined]
        line = bisect.bisect_left(ends, begin) + 1
        located = LocatedText(source.with_plain_spaces(value, line))
        located.line = line
        return located, end

    def build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Build an object; raise ReleaseError where a key stands in it twice, as the first value would be lost."""
        result = dict(pairs)
        if len(result) != len(pairs):
            ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
            location = f"{source.name}:{_first_line(result) or 1}"
            raise ReleaseError(f"{location}: an object has the key {excerpt(twice)!r} twice: remove one of them")
        return result

    decoder = json.JSONDecoder(object_pairs_hook=build_object)
    decoder.parse_string = parse_string  # type: ignore[attr-defined]
    decoder.parse_object = json.decoder.JSONObject  # type: ignore[attr-defined]
    decoder.scan_once = json.scanner.py_make_scanner(decoder)  # type: ignore[attr-defined]
    try:
        return read_json(source.text, values=MAX_VALUES, loads=decoder.decode)
    except UnreadableError as error:
        location = f"{source.name}:{error.line}" if error.line else source.name
        raise ReleaseError(f"{location}: {error}") from None


def _first_line(value: object) -> int:
    """Return the line of the first text in a value; 0 where there is none."""
    inner = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return line_of(value) or next(filter(None, map(_first_line, inner)), 0)
