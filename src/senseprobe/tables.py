"""Tables and documents of strangers, one reader a format, all of them bounded: CSV, JSON, JSON lines.

A small file can be made to unfold into more memory than there is, and a large one to take hours. What is beyond bounds
is an UnreadableError, which callers raise as an error of their own, with the file's name.
"""

import codecs
import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from senseprobe.atomic_files import read_plain
from senseprobe.messages import printable

LONGEST = 2**23
"""Characters of a line of JSON, or of a row of CSV on any number of lines: as many as the books of a corpus have."""

MOST_CELLS = 2**16
"""Cells of a row of CSV, and keys of the object on a line of JSON."""


class UnreadableError(ValueError):
    """Raised where a file is not of its format, or is beyond the bounds; the text says why.

    `line` is where, from 1; 0 where no line is to blame.
    """

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.line = line

    def at(self, path: Path | str) -> str:
        """Return what is wrong with the file of this name, and in which line."""
        return f"{printable(str(path))}:{f'{self.line}:' if self.line else ''} {printable(str(self))}"


class DepthError(UnreadableError):
    """Raised where a document is nested more deeply than it may be."""


# --- Text -------------------------------------------------------------------------------------------------------------


def decode(data: bytes, form: str = "UTF-8") -> str:
    """Return a text in UTF-8 without its byte-order mark; raise UnreadableError with the line that is not UTF-8.

    `form`: as what programs save it so.
    """
    return "".join([*filter(None, _decoded([data], form))])  # one text is not copied


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file in UTF-8 as `split_lines` does, however large it is, without its byte-order mark.

    Raise UnreadableError where it cannot be read, or with the line that is not UTF-8, or too long.
    """
    if path.exists() and not path.is_file():
        raise UnreadableError("is not a plain file")  # a pipe is read once, and may have no end
    with _opened(), path.open("rb") as file:
        yield from split_lines(_decoded(iter(lambda: file.read(_BLOCK), b"")))


@contextmanager
def _opened() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror}") from None


def _decoded(blocks: Iterable[bytes], form: str = "UTF-8") -> Iterator[str]:
    decoder, size, lines = codecs.getincrementaldecoder("utf-8-sig")(), 0, 0
    for block in chain(blocks, [b""]):
        try:
            yield decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:  # its object begins with what was left of the block before
            at, line = size + len(block) - len(error.object) + error.start, error.object.count(b"\n", 0, error.start)
            raise UnreadableError(f"is not UTF-8 (byte {at}): save it as {form}", lines + line + 1) from None
        size, lines = size + len(block), lines + block.count(b"\n")


_BLOCK = 2**20
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)")


def split_lines(text: str | Iterable[str]) -> Iterator[str]:
    r"""Yield the lines of a text, or of its blocks, with their ends, which are ``\n``, ``\r\n`` or ``\r``.

    Raise UnreadableError for a line of more than LONGEST characters, as soon as they are read.

    >>> [*split_lines("a\r\nb\x85c")], [*split_lines(["a\nb", "\r", "\n"])]
    (['a\r\n', 'b\x85c'], ['a\n', 'b\r\n'])
    """
    rest, number = "", 1
    starts = range(0, len(text), _BLOCK) if isinstance(text, str) else ()
    for block in (text[start : start + _BLOCK] for start in starts) if isinstance(text, str) else text:
        whole = rest + block
        size = len(whole) - whole.endswith("\r")  # the line feed that belongs to it may come with the next block
        end = max(whole.rfind("\n", 0, size), whole.rfind("\r", 0, size)) + 1
        lines = _LINE.findall(whole, 0, end)
        yield from lines
        rest, number = whole[end:], number + len(lines)
        if len(rest) > LONGEST:
            raise UnreadableError(f"a line of more than {LONGEST:,} characters", number)
    if rest:
        yield rest


# --- CSV --------------------------------------------------------------------------------------------------------------


class CsvRow(NamedTuple):
    """The cells of a row, and the first and the last of its lines, from 1."""

    line: int
    last: int
    cells: list[str]

    def cell(self, column: int) -> str:
        """Return a cell, from 0, without blanks around it; empty where the row is too short."""
        return self.cells[column].strip() if column < len(self.cells) else ""


def read_csv(
    lines: Iterable[str],
    delimiter: str | None = None,
    *,
    quoted: bool = True,
    strict: bool = True,
    longest: int = LONGEST,
) -> Iterator[CsvRow]:
    """Yield the rows of CSV, the header first, of lines with their ends; blank lines are rows without cells.

    Between cells stands the `delimiter`; where it is None, what a first line ``sep=;`` says, which is no row then, or
    the comma, semicolon or TAB that ends the first cell. `quoted`: whether quotation marks surround cells. `strict`: a
    mark within a cell is a mistake. Raise UnreadableError with a line, for a row of more than `longest` characters or
    MOST_CELLS cells, too.

    >>> [row.cells for row in read_csv(["sep=;", "word;slug", "nurse;n"], None)]
    [['word', 'slug'], ['nurse', 'n']]
    """
    rest = iter(lines)
    first, skipped, size = next(rest, ""), 0, 0
    if delimiter is None:
        declared, first_cell = declared_delimiter(first), _FIRST_CELL.match(first)
        skipped = 1 if declared else 0
        delimiter = declared or (first_cell[1] if first_cell else ",")
    start = skipped + 1

    def measured() -> Iterator[str]:
        nonlocal size
        for line in rest if skipped else chain([first] if first else [], rest):
            size += len(line)
            if size > longest:
                raise UnreadableError(
                    f"a row of more than {longest:,} characters: is there an unclosed quotation mark?", start
                )
            yield line

    csv.field_size_limit(LONGEST)  # of the whole process; the bound of a row is the tighter one
    reader = csv.reader(
        measured(), delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE, strict=strict
    )
    try:
        for cells in reader:
            if len(cells) > MOST_CELLS:
                raise UnreadableError(f"a row of more than {MOST_CELLS:,} cells", start)
            yield CsvRow(start, reader.line_num + skipped, cells)
            start, size = reader.line_num + skipped + 1, 0
    except csv.Error as error:
        raise UnreadableError(f"malformed CSV: {error}", start) from None


def read_csv_file(path: Path, most: int, delimiter: str | None = None) -> list[CsvRow]:
    """Return the rows of a CSV file of at most `most` bytes in which something is written, as `read_csv` has them.

    Raise UnreadableError, also where they take more memory than MEMORY and nine bytes for each of the file's.
    """
    with _opened():
        data = read_plain(path, most)
    rows, left = list[CsvRow](), MEMORY + 9 * len(data)
    for row in read_csv(split_lines(decode(data, '"CSV UTF-8"')), delimiter):
        if (left := left - 200 - 60 * len(row.cells)) < 0:  # bytes of a row, and of a cell beside its text
            raise UnreadableError("more rows than fit into memory: split the file", row.line)
        if any(map(str.strip, row.cells)):
            rows.append(row)
    return rows


def csv_objects(rows: Iterable[CsvRow]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line of each row but blank ones, and its cells by column; the first row names the columns.

    A short row lacks the last columns; cells beyond the columns are left out. Raise UnreadableError where two columns
    have one name.
    """
    filled = (row for row in rows if row.cells)
    if header := next(filled, None):
        if twice := next((name for name, times in Counter(header.cells).items() if name and times > 1), None):
            raise UnreadableError(f"two columns are called {twice[:80]!r}", header.line)
        yield from ((row.line, dict(zip(header.cells, row.cells, strict=False))) for row in filled)


def table_objects(
    rows: Iterable[CsvRow], needed: Collection[str], optional: Sequence[str] = ()
) -> Iterator[tuple[CsvRow, dict[str, str]]]:
    """Yield each row of a table of just these columns, in any order, and its cells by column.

    Raise UnreadableError where the first row names others, or a row has not one cell for each.
    """
    rest = iter(rows)
    header = next((row.cells for row in rest), [])
    if not {*needed} <= {*header} <= {*needed, *optional} or len({*header}) < len(header):
        more = f" and optionally {' and '.join(optional)}" if optional else ""
        raise UnreadableError(f"columns are not {', '.join(needed)}{more}", 1)
    for row in rest:
        if len(row.cells) != len(header):
            raise UnreadableError(f"{len(row.cells)} cells, expected {len(header)}", row.last)
        yield row, dict(zip(header, row.cells, strict=True))


def header_cells(line: str, delimiter: str, *, quoted: bool = True) -> list[str]:
    """Return the cells of the first line of CSV; none where it cannot be read, which who reads the rows says.

    >>> header_cells('word,"a, b"', ",")
    ['word', 'a, b']
    """
    try:
        return next((row.cells for row in read_csv([line], delimiter, quoted=quoted, strict=False)), [])
    except UnreadableError:
        return []


_FIRST_CELL = re.compile(r"""\s*(?:"[^"]*"|[^",;\t\n]*)([,;\t])""")
_SEPARATOR_LINE = re.compile(r'"?sep=([^"\r\n])"?[,;\t|]*\r?\n?', re.IGNORECASE)


def declared_delimiter(line: str) -> str:
    r"""Return what stands between cells by a first line for spreadsheets, ``sep=;``; empty of any other line.

    >>> declared_delimiter("sep=;\n"), declared_delimiter("word,sep")
    (';', '')
    """
    match = _SEPARATOR_LINE.fullmatch(line)
    return match[1] if match else ""


# --- JSON -------------------------------------------------------------------------------------------------------------

MEMORY = 250 * 10**6
"""Bytes that the values of a document may take, beside ten for each of its own."""

_SMALL = 2**22
"""Characters of a document that fits into MEMORY, whatever it holds: short keys take 29 bytes for each of their own."""

_LEAST = {"[": 64, "{": 72, ",": 8, ":": 24}
"""The fewest bytes of memory for each of these signs outside of strings."""

_VALUES = {"[": 1, "{": 1, ",": 1}
"""Signs of which there are at least as many as values, but for one."""


def read_json(
    data: bytes | str,
    *,
    memory: int = MEMORY,
    values: int | None = None,
    loads: Callable[..., Any] = json.loads,
    **how: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return what a document of JSON holds; raise UnreadableError where it is none, or takes too much memory.

    It takes at most `memory` and ten bytes for each of its own: values are counted before it is parsed, and on Linux
    the process has a cap meanwhile. `values`: how many it may have. `loads` parses it, with the parameters `how`.
    """
    text = decode(data) if isinstance(data, bytes) else data
    if values is not None and _weigh(text, _VALUES, values) > values:
        raise UnreadableError(f"has more than {values:,} values")
    if len(text) <= _SMALL:
        return _parse(text, loads, how)
    most = memory + 10 * len(data) - sys.getsizeof(text)
    much = f"has more values than fit into {most // 10**6} MB of memory"
    if _weigh(text, _LEAST, most) > most:
        raise UnreadableError(much)
    try:
        with memory_cap(most):
            return _parse(text, loads, how)
    except MemoryError:
        raise UnreadableError(much) from None


def _parse(text: str, loads: Callable[..., Any], how: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever JSON holds
    try:
        return loads(text, **how)
    except UnreadableError:
        raise
    except json.JSONDecodeError as error:
        raise UnreadableError(f"is not JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        raise DepthError("is not readable JSON: nested too deeply") from None
    except ValueError:
        raise UnreadableError("is not readable JSON: is a number too long?") from None


def read_json_lines(lines: Iterable[str], **how: Any) -> Iterator[tuple[int, dict[str, Any]]]:  # noqa: ANN401
    """Yield the number, from 1, and the object of each line that is not blank; UnreadableError where one has none.

    `how`: as for `read_json`.

    >>> [*read_json_lines(['{"a": 1}', "", '{"a": 2}'])]
    [(1, {'a': 1}), (3, {'a': 2})]
    """
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST:
            raise UnreadableError(f"a line of more than {LONGEST:,} characters", number)
        if not line.strip():
            continue
        try:
            value = read_json(line, memory=MEMORY // 4, **how)
        except UnreadableError as error:
            raise UnreadableError(str(error), number) from None
        if not isinstance(value, dict) or len(value) > MOST_CELLS:
            raise UnreadableError(
                f"is not a JSON object (with at most {MOST_CELLS:,} keys), which each line must be", number
            )
        yield number, value


def _weigh(text: str, weights: Mapping[str, int], enough: int) -> int:
    """Return the sum of the weights of signs outside of strings; those within may count if it is at most `enough`."""
    rough = sum(size * text.count(sign) for sign, size in weights.items())
    if rough <= enough:
        return rough
    data = text.encode("utf-8", "surrogatepass")
    if b"\\" in data:  # marks that a string holds do not end it
        data = data.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    counts, inside = np.zeros(256, dtype=np.int64), 0
    for start in range(0, len(data), _SMALL):
        block = np.frombuffer(data, np.uint8, min(_SMALL, len(data) - start), start)
        marks = np.cumsum(block == ord('"'), dtype=np.uint8) + np.uint8(inside) & 1
        counts += np.bincount(block[marks == 0], minlength=256)
        inside = int(marks[-1])
    return sum(size * int(counts[ord(sign)]) for sign, size in weights.items())


# --- memory -----------------------------------------------------------------------------------------------------------

_CAP_LOCK = Lock()
"""The limit is the whole process's: of two threads, the later would restore the limit that the earlier had set."""


@contextmanager
def memory_cap(more: int) -> Iterator[None]:
    """Let this process take at most `more` further bytes within the block; beyond that there is a MemoryError.

    Only Linux enforces the limit. It is for short blocks: other threads are limited too, and a second cap waits.
    """
    if sys.platform != "linux" or not _used_memory():
        yield
        return
    import resource

    with _CAP_LOCK:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        tighter = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_DATA, (min([_used_memory() + more, *tighter]), hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _used_memory() -> int:
    """Return the bytes of this process that its limit counts, by proc(5); 0 where the system has no figure (gVisor)."""
    import resource

    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()
