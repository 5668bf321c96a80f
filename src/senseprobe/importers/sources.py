"""Read the files of an import within limits, as tables or as JSON, and note what is not as their format requires.

A format makes a `Table` of rows for each config of the release.
"""

import bisect
import hashlib
import json
import json.decoder
import json.scanner
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

from senseprobe.atomic_files import read_plain
from senseprobe.errors import ReleaseError
from senseprobe.messages import counted, printable, unprintable
from senseprobe.records import Design
from senseprobe.release.verify import FOREIGN
from senseprobe.tables import (
    CsvRow,
    UnreadableError,
    csv_objects,
    declared_delimiter,
    decode,
    header_cells,
    read_csv,
    read_json,
    split_lines,
)

MAX_FILE = 32 * 2**20
MAX_FILES = 200
MAX_LINES = 500_000
MAX_VALUES = 2_000_000  # of a JSON file; that of StereoSet has 200,000
MAX_NOTES = 50_000
"""A file with more notes than this is taken to be of another format."""
MAX_TEXT = 2_000
"""Characters of a sentence, or of a value about one."""
MAX_ROWS = 200_000
"""Rows of a config: the largest of sssb has 1,728."""

Row = dict[str, Any]
"""Values by column. `item` is not a column: it is how notes name a row of a file that may have a single line."""

MAX_JOINED = 10
"""Lines of a row whose quoted cells hold line feeds."""
LONGEST_ROW = 2**20
"""Characters of a row of CSV, which has a few sentences."""

SPACES = re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
"""Unicode's spaces but the plain one: those that do not break, and thin and wide ones."""

_NAME = re.compile(r"[^\x00-\x1f\x7f/\\:]{1,150}")
_PART = re.compile(r"[a-z0-9][a-z0-9_+-]{0,59}")


@dataclass(frozen=True)
class Source:
    """A file under the name that it has in the release, and the language of its sentences.

    `spaces` are the lines of the other spaces for which its rows have plain ones, as far as it was read.
    """

    name: str
    data: bytes
    language: str = "en"
    spaces: list[int] = field(default_factory=list, compare=False)

    @cached_property
    def text(self) -> str:
        """The text, with plain spaces; ReleaseError where it is not UTF-8."""
        try:
            lines = enumerate(decode(self.data).split("\n"), start=1)
        except UnreadableError as error:
            message = f"{self.name}:{error.line}: is not UTF-8; save it as UTF-8 and import it again"
            raise ReleaseError(message) from None
        return "\n".join(self.with_plain_spaces(text, line) for line, text in lines)

    def with_plain_spaces(self, text: str, line: int) -> str:
        """Return a text of a line with plain spaces for Unicode's others, which are noted."""
        plain, number = SPACES.subn(" ", text)
        self.spaces.extend([line] * number)
        return plain

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        return [line.removesuffix("\r") for line in self.text.split("\n")]

    @property
    def stem(self) -> str:
        """The name up to the first dot."""
        return self.name.lstrip(".").partition(".")[0]


def read_sources(paths: Sequence[Path], language: str = "en") -> list[Source]:
    """Return the files, sorted by name, so that the order of `paths` does not matter.

    Raise ReleaseError where a file cannot be read or is too large, or two have the same name.
    """
    if len(paths) > MAX_FILES:
        raise ReleaseError(f"{len(paths)} files: at most {MAX_FILES} are imported at once")
    for name in (path.name for path in paths):
        if not _NAME.fullmatch(name) or not name.isprintable() or name in {".", ".."} or len(os.fsencode(name)) > 200:
            raise ReleaseError(f"{printable(name)[:200]}: no file of a release can have this name; rename it")
        if name in FOREIGN:
            raise ReleaseError(f"{name}: is a name that other tools leave in folders, which no release has; rename it")
    sources = [Source(path.name, _read(path), language) for path in paths]
    names = Counter(source.name.casefold() for source in sources)
    if twice := [source.name for source in sources if names[source.name.casefold()] > 1]:
        raise ReleaseError(f"two files are called {twice[0]}: rename one of them")
    return sorted(sources, key=lambda source: source.name.casefold())


def _read(path: Path) -> bytes:
    path_text = printable(str(path))
    try:
        if not path.is_file():
            raise ReleaseError(f"{path_text}: {'is no plain file' if path.exists() else 'no such file'}")
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{path_text}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if len(data) > MAX_FILE:
        raise ReleaseError(f"{path_text}: is larger than {MAX_FILE >> 20} MiB, as no file of these formats is")
    if data.count(b"\n") > MAX_LINES:
        raise ReleaseError(f"{path_text}: has more than {MAX_LINES} lines, as no file of these formats has")
    return data


# --- Notes ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Note:
    """Something in a file that is not as the format requires; line 0 is the whole file.

    `kept`: whether the line is in the release nevertheless. `code`: that of the check of lint which found it, if any.
    """

    file: str
    line: int
    kept: bool
    reason: str
    code: str = ""

    @property
    def outcome(self) -> str:
        """What became of the line."""
        return "kept" if self.kept else "left out"

    def __str__(self) -> str:
        location = f"{self.file}:{self.line}" if self.line else self.file
        return f"{location}: {self.outcome}: {self.code}{' ' if self.code else ''}{self.reason}"


@dataclass(slots=True)
class Notes:
    """The notes on the files of an import, `listed`, and `facts`, a sentence for each file."""

    listed: list[Note] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)

    def leave_out(self, source: Source, line: int, reason: str) -> None:
        """Note that a line is not in the release."""
        self._add(Note(source.name, line, kept=False, reason=reason))

    def keep(self, source: Source, line: int, reason: str) -> None:
        """Note that a line is in the release, though something in it is not as the format requires."""
        self._add(Note(source.name, line, kept=True, reason=reason))

    def _add(self, note: Note) -> None:
        if len(self.listed) >= MAX_NOTES:
            raise ReleaseError(f"{note.file}: more than {MAX_NOTES} mistakes: is it another format?")
        self.listed.append(note)

    def keep_spaces(self, source: Source) -> None:
        """Note, at the first of them, the spaces of a file for which its rows have plain ones."""
        if source.spaces:
            reason = f"here is the first of {counted(len(source.spaces), 'no-break or other space')} read as plain ones"
            self.keep(source, min(source.spaces), reason)

    def add_fact(self, source: Source, fact: str) -> None:
        """Add a sentence about the contents of a file."""
        self.facts.append(f"{source.name}: {fact}")

    def check_sentence(self, source: Source, line: int, text: str, item: str = "") -> bool:
        """Return whether a text can be a sentence of a row; note that it is left out where it cannot.

        `item` names the item of the file in the note.
        """
        error = ""
        if not text.strip():
            error = "an empty sentence"
        elif len(text) > MAX_TEXT:
            error = f"a sentence of more than {MAX_TEXT} characters"
        elif unprintable(text) is not None:
            error = "a sentence with characters that do not print"
        if error:
            self.leave_out(source, line, f"{item}{error}")
        return not error

    def keep_repeats(self, rows: Iterable[Row]) -> None:
        """Note each pair of sentences that an earlier row has, of the same or another file."""
        first: dict[tuple[str, str], Row] = {}
        for row in rows:
            earlier = first.setdefault((row["stereo"], row["anti"]), row)
            if earlier is not row:
                location = earlier.get("item") or f"line {earlier['source_line']}"
                if earlier["source_file"] != row["source_file"]:
                    location = f"{location} of {earlier['source_file']}"
                item = f"{row['item']}: " if "item" in row else ""
                reason = f"{item}the same pair as in {location}"
                self._add(Note(row["source_file"], int(row["source_line"]), kept=True, reason=reason))

    def drop_remarks_on_left_out_lines(self) -> None:
        """Drop the remarks on lines that were left out later: for formats with one sentence on a line."""
        left_out = {(note.file, note.line) for note in self.listed if not note.kept}
        self.listed = [note for note in self.listed if not (note.kept and (note.file, note.line) in left_out)]


MAX_REMARKS = 10_000
"""Remarks of a check: that a table has more of them is no reason to refuse it."""


def note_remarks(remarks: Iterable[tuple[Mapping[str, Any], str, str, str]]) -> Iterator[Note]:
    """Yield a note for each remark, once for each line; a remark is a row, a column of it, a code and a message."""
    counts: Counter[str] = Counter()
    seen: set[Note] = set()
    for row, column, code, message in remarks:
        side = "anti" if column == "anti" else "source"
        file, line = (row.get(f"{side}_{part}") or row[f"source_{part}"] for part in ("file", "line"))
        item = f"{row['item']}: " if "item" in row else ""
        note = Note(file, int(line), kept=True, reason=f"{item}{message}", code=code)
        if note not in seen and counts[code] < MAX_REMARKS:
            counts[code] += 1
            seen.add(note)
            yield note


def read_remarks(path: Path) -> list[Note]:
    """Return the remarks of checks as they are frozen: later checks, or another WordNet, may say otherwise."""
    try:
        rows = csv_objects(read_csv(split_lines(decode(read_plain(path, MAX_FILE)))))
        return [
            Note(row["file"], int(row["line"]), kept=True, reason=row["reason"], code=row["code"])
            for _, row in rows
            if row["code"]
        ]
    except (OSError, ValueError, KeyError):
        raise ReleaseError(f"{path} cannot be read: fetch the release again") from None


# --- Tables ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Table:
    """A config of the release: its rows, which are `unit`s, in order, and the design by which they are evaluated."""

    name: str
    description: str
    design: Design
    rows: Sequence[Row]
    unit: str = "pairs"

    def levels(self) -> dict[str, int]:
        """Count the levels of each factor."""
        return {
            factor.name: len({row[column] for row in self.rows for column in factor.columns if row.get(column)})
            for factor in self.design.factors
        }


def check_count(rows: int, what: str) -> None:
    """Raise ReleaseError where there are more rows than a config may have."""
    if rows > MAX_ROWS:
        raise ReleaseError(f"{what}: makes more than {MAX_ROWS} pairs, as no published file does")


def limit_rows(rows: Iterable[Row | None], source: Source, before: int) -> Iterator[Row]:
    """Yield the rows that are not None; raise ReleaseError where a config, with those `before`, has too many."""
    for count, row in enumerate(filter(None, rows), start=before + 1):
        check_count(count, source.name)
        yield row


def find_header(source: Source, wanted: Collection[str], *, quoted_tabs: bool = True) -> tuple[str, list[str]]:
    """Return which of comma, semicolon and TAB stands between most columns that are wanted, and all columns then.

    Where a first line ``sep=;`` says what does, that is it.
    """
    if declared := declared_delimiter(source.lines[0]):
        line, quoted = "".join(source.lines[1:2])[:LONGEST_ROW], quoted_tabs or declared != "\t"
        header = header_cells(line, declared, quoted=quoted)
        return declared, [cell.strip() for cell in header]
    first = source.lines[0][:LONGEST_ROW]
    headers = {sign: header_cells(first, sign, quoted=quoted_tabs or sign != "\t") for sign in ",;\t"}
    sign, cells = max(headers.items(), key=lambda item: (len({*wanted} & {*map(str.strip, item[1])}), len(item[1])))
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
        header = _check_header(source, next(rows, CsvRow(1, 1, [])).cells, needed)
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


def _check_header(source: Source, row: Sequence[str], needed: Sequence[str]) -> list[str]:
    header = [cell.strip() for cell in row]
    if missing := [name for name in needed if name not in header]:
        raise ReleaseError(f"{source.name}: has no column {missing[0]!r}: is it another format?")
    if twice := [name for name, number in Counter(header).items() if number > 1]:
        raise ReleaseError(f"{source.name}: has two columns {excerpt(twice[0])!r}: rename or remove one of them")
    return header


# --- Texts ----------------------------------------------------------------------------------------------------------


def excerpt(text: str) -> str:
    """Return the beginning of a text from a file, made safe to print."""
    return printable(text[:60])


def slug(text: str, otherwise: str) -> str:
    """Return a name made from a text: letters a to z, digits, and single hyphens; `otherwise` where nothing remains.

    >>> slug("Race / Colour", "x"), slug("?", "x")
    ('race-colour', 'x')
    """
    return re.sub(r"[^a-z0-9]+", "-", text[:200].lower()).strip("-")[:60].strip("-") or otherwise


def id_part(text: str) -> str:
    """Return the part of an id that stands for a text, different for different texts.

    It is the text itself, or its slug and a hash where it has characters besides a to z, digits and ``_+-``.

    >>> id_part("head-nurse"), id_part("head nurse")
    ('head-nurse', 'head-nurse-ee9790')
    """
    if _PART.fullmatch(text):
        return text
    return f"{slug(text, 'x')}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:6]}"


def sentences_id(*sentences: str) -> str:
    """Return ten digits that name a row without an id of its own: one that moved in the file keeps them."""
    return hashlib.sha256("\0".join(sentences).encode()).hexdigest()[:10]


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
