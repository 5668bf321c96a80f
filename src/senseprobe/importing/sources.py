"""The files that are imported, read within limits, and the notes of what in them is not as it should be."""

import csv
import hashlib
import io
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from senseprobe.errors import ReleaseError
from senseprobe.release.verify import FOREIGN
from senseprobe.wording import printable

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
