"""The files that are imported, read within limits, and the notes of what in them is not as it should be.

What a format makes of files: tables of rows, each a config of the release.

JSON whose strings know where they stand, so that rows can name their line.
"""

import bisect
import csv
import hashlib
import io
import json
import json.decoder
import json.scanner
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.messages import printable
from senseprobe.records import Design
from senseprobe.release.verify import FOREIGN

MAX_FILE = 32 * 2**20
MAX_FILES = 200
MAX_LINES = 500_000
MAX_NOTES = 50_000
"""A file with more mistakes than this is of another format."""
MAX_TEXT = 2_000
"""Characters of a sentence, or of what is said of one."""

_NAME = re.compile(r"[^\x00-\x1f\x7f/\\:]{1,150}")
_PART = re.compile(r"[a-z0-9][a-z0-9_+-]{0,59}")
_DELIMITED = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Note:
    """Something that is not as the format says: in which file and line (0: the whole file), and what was done.

    `kept` tells whether what stands there is in the release nevertheless.
    """

    file: str
    line: int
    kept: bool
    reason: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {'kept' if self.kept else 'left out'}: {self.reason}"


@dataclass(slots=True)
class Notes:
    """What a reader of files has to tell: `listed`, and `facts`, a sentence for each file."""

    listed: list[Note] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)

    def leave_out(self, source: "Source", line: int, reason: str) -> None:
        """Note that a line is not in the release."""
        self._note(source, line, reason, kept=False)

    def keep(self, source: "Source", line: int, reason: str) -> None:
        """Note that a line is in the release, though something is wrong with it."""
        self._note(source, line, reason, kept=True)

    def _note(self, source: "Source", line: int, reason: str, *, kept: bool) -> None:
        if len(self.listed) >= MAX_NOTES:
            raise ReleaseError(f"{source.name}: more than {MAX_NOTES} mistakes: is it another format?")
        self.listed.append(Note(source.name, line, kept=kept, reason=reason))

    def settle(self) -> None:
        """Forget what was remarked of lines that were left out in the end: for formats with one sentence on a line."""
        left_out = {(note.file, note.line) for note in self.listed if not note.kept}
        self.listed = [note for note in self.listed if not (note.kept and (note.file, note.line) in left_out)]

    def tell(self, source: "Source", fact: str) -> None:
        """Say what was found in a file."""
        self.facts.append(f"{source.name}: {fact}")

    def sentence(self, source: "Source", line: int, text: str, of: str = "") -> bool:
        """Whether a text can be a sentence of a row; a note that it, `of` some item, is left out where it cannot."""
        wrong = _wrong(text)
        if wrong:
            self.leave_out(source, line, f"{of}{wrong}")
        return not wrong


def _wrong(text: str) -> str:
    if not text.strip():
        return "an empty sentence"
    if len(text) > MAX_TEXT:
        return f"a sentence of more than {MAX_TEXT} characters"
    return "" if text.isprintable() else "a sentence with characters that do not print"


@dataclass(frozen=True)
class Source:
    """A file under the name that it has in the release."""

    name: str
    data: bytes

    @cached_property
    def text(self) -> str:
        """Its text; ReleaseError where it is no UTF-8."""
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.data[: error.start].count(b"\n") + 1
            raise ReleaseError(f"{self.name}:{line}: is not UTF-8; save it as UTF-8 and import it again") from None

    @cached_property
    def lines(self) -> list[str]:
        """Its lines, without their ends."""
        return [line.removesuffix("\r") for line in self.text.split("\n")]

    @property
    def stem(self) -> str:
        """Its name up to the first dot."""
        return self.name.lstrip(".").partition(".")[0]


def read_sources(paths: Sequence[Path]) -> list[Source]:
    """The files by their names, so that their order is no part of a release.

    ReleaseError where one cannot be read, is too large, or two have one name.
    """
    if len(paths) > MAX_FILES:
        raise ReleaseError(f"{len(paths)} files: at most {MAX_FILES} are imported at once")
    sources = [Source(_name(path), _read(path)) for path in paths]
    names = [source.name.casefold() for source in sources]
    if twice := [source.name for source in sources if names.count(source.name.casefold()) > 1]:
        raise ReleaseError(f"two files are called {twice[0]}: rename one of them")
    return sorted(sources, key=lambda source: source.name.casefold())


def _name(path: Path) -> str:
    name = path.name
    if not _NAME.fullmatch(name) or not name.isprintable() or name in {".", ".."} or len(os.fsencode(name)) > 200:
        raise ReleaseError(f"{printable(name)[:200]}: no file of a release can have this name; rename it")
    if name in FOREIGN:
        raise ReleaseError(f"{name}: is a name that other tools leave in folders, which no release has; rename it")
    return name


def _read(path: Path) -> bytes:
    shown_path = printable(str(path))
    try:
        if not path.is_file():
            raise ReleaseError(f"{shown_path}: {'is no plain file' if path.exists() else 'no such file'}")
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{shown_path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if len(data) > MAX_FILE:
        raise ReleaseError(f"{shown_path}: is larger than {MAX_FILE >> 20} MiB, as no file of these formats is")
    if data.count(b"\n") > MAX_LINES:
        raise ReleaseError(f"{shown_path}: has more than {MAX_LINES} lines, as no file of these formats has")
    return data


def delimited_rows(source: Source, delimiter: str, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str] | str]]:
    """The rows of a table with a header: the line on which each begins, and its cells by column, or what is wrong.

    A row that spans lines is wrong: no sentence does, and a quotation mark that is never closed joins any number of
    rows. Raises ReleaseError where the header is no fit one, or where the table cannot be read on.
    """
    lines = iter([f"{line}\n" for line in (source.lines if source.lines[-1] else source.lines[:-1])])
    quoted = delimiter == ","
    reader = csv.reader(lines) if quoted else csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    header: list[str] | None = None
    line = 1
    try:
        for row in reader:
            here, line = line, reader.line_num + 1
            if header is None:
                header = _header(source, row, needed)
            elif line - here > 1:
                yield here, f"lines {here} to {line - 1} ({line - here} lines) are one row, by their quotation marks"
            elif row:
                wrong = f"{len(row)} cells, not {len(header)}"
                yield here, dict(zip(header, row, strict=True)) if len(row) == len(header) else wrong
    except csv.Error as error:
        long = "field limit" in str(error)
        why = "a cell without an end: is a quotation mark never closed?" if long else "a carriage return within a line"
        raise ReleaseError(f"{source.name}:{line}: cannot be read as a table: {why}") from None
    if header is None:
        _header(source, [], needed)


def _header(source: Source, row: list[str], needed: Sequence[str]) -> list[str]:
    header = [cell.strip() for cell in row]
    if missing := [name for name in needed if name not in header]:
        raise ReleaseError(f"{source.name}: has no column {missing[0]!r}: is it another format?")
    if twice := [name for name, number in Counter(header).items() if number > 1]:
        raise ReleaseError(f"{source.name}: has two columns {shown(twice[0])!r}: rename or remove one of them")
    return header


def shown(text: str) -> str:
    """The beginning of a text of others, as it is safe to print."""
    return printable(text[:60])


def slug(text: str, otherwise: str) -> str:
    """A name made of a text: letters a to z, digits, and single hyphens.

    >>> slug("Race / Colour", "x"), slug("?", "x")
    ('race-colour', 'x')
    """
    made = _DELIMITED.sub("-", text[:200].lower()).strip("-")[:60].strip("-")
    return made or otherwise


def id_part(text: str) -> str:
    """What stands for a text of others in an id, another for each text.

    It is the text itself, or if that has other signs than small letters, digits and ``_+-``, its slug and a code of it.

    >>> id_part("head-nurse"), id_part("head nurse")
    ('head-nurse', 'head-nurse-ee9790')
    """
    if _PART.fullmatch(text):
        return text
    return f"{slug(text, 'x')}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:6]}"


def csv_text(rows: Sequence[Sequence[object]]) -> bytes:
    """Rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(islice(rows, MAX_LINES))
    return text.getvalue().encode()


Row = dict[str, Any]
"""Values by column; `item` is no column, but what notes call a row of a file that may be a single line."""

MAX_ROWS = 200_000
"""Of a config: sssb, the largest that pairs sentences with each other, has 1,728."""


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a config, in order; what they are, and what evaluation needs to know of them."""

    name: str
    description: str
    design: Design
    rows: Sequence[Row]

    def levels(self) -> dict[str, int]:
        """How many levels each factor has."""
        return {
            factor.name: len({row[column] for row in self.rows for column in factor.columns if row.get(column)})
            for factor in self.design.factors
        }


def check_count(rows: int, what: str) -> None:
    """ReleaseError where there are more rows than a config may have."""
    if rows > MAX_ROWS:
        raise ReleaseError(f"{what}: makes more than {MAX_ROWS} pairs, as no published file does")


def bounded(rows: Iterable[Row | None], what: str) -> Iterator[Row]:
    """The rows that there are; ReleaseError where there are more than a config may have."""
    for number, row in enumerate((row for row in rows if row), start=1):
        check_count(number, what)
        yield row


def note_repeats(rows: Sequence[Row], sources: Mapping[str, Source], notes: Notes) -> None:
    """Note every pair of sentences that was there before, in whatever file."""
    first: dict[tuple[str, str], Row] = {}
    for row in rows:
        earlier = first.setdefault((row["stereo"], row["anti"]), row)
        if earlier is not row:
            own = f"{row['item']}: " if "item" in row else ""
            reason = f"{own}the same pair as in {_place(earlier, row)}"
            notes.keep(sources[row["source_file"]], int(row["source_line"]), reason)


def _place(row: Row, beside: Row) -> str:
    """Where a row is, as one beside it names it."""
    place = row.get("item") or f"line {row['source_line']}"
    return str(place) if row["source_file"] == beside["source_file"] else f"{place} of {row['source_file']}"


class Placed(str):
    """A string of a JSON text, with the offset at which it begins."""

    __slots__ = ("at",)
    at: int


class Lines:
    """From offsets to numbers of lines."""

    def __init__(self, text: str) -> None:
        self._ends = [at for at, letter in enumerate(text) if letter == "\n"]

    def of(self, value: object, otherwise: int = 0) -> int:
        """The line on which a string begins, from 1."""
        return bisect.bisect_left(self._ends, value.at) + 1 if isinstance(value, Placed) else otherwise


def parse(source: Source) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The one JSON value of a file; its strings are `Placed`. ReleaseError where it is none, or has a key twice."""
    decoder = json.JSONDecoder(object_pairs_hook=partial(_object, source))
    decoder.parse_string = _placed  # type: ignore[attr-defined]
    decoder.parse_object = json.decoder.JSONObject  # type: ignore[attr-defined]
    decoder.scan_once = json.scanner.py_make_scanner(decoder)  # type: ignore[attr-defined]
    try:
        return decoder.decode(source.text)
    except json.JSONDecodeError as error:
        raise ReleaseError(f"{source.name}:{error.lineno}: is not JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise ReleaseError(f"{source.name}: is not JSON that can be read (too deep, or a number too long)") from None


def _object(source: Source, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; ReleaseError where a key stands in it twice, as the first value would be lost."""
    found = dict(pairs)
    if len(found) != len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        line = Lines(source.text).of(_first_text(found), otherwise=1)
        raise ReleaseError(f"{source.name}:{line}: an object has the key {shown(twice)!r} twice: remove one of them")
    return found


def _first_text(value: object) -> object:
    """The first string that a value holds."""
    inner = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return value if isinstance(value, Placed) else next((text for each in inner if (text := _first_text(each))), None)


def _placed(text: str, begin: int, strict: bool = True) -> tuple[Placed, int]:
    value, end = json.decoder.scanstring(text, begin, strict)  # type: ignore[attr-defined]
    placed = Placed(value)
    placed.at = begin
    return placed, end
