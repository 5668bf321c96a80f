"""Notes on what is not in a file as its format requires: what is left out, and what is there nevertheless."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from senseprobe.atomic_files import read_plain
from senseprobe.errors import ReleaseError
from senseprobe.importers.sources import MAX_FILE, Row, Source
from senseprobe.messages import counted, unprintable
from senseprobe.tables import csv_objects, decode, read_csv, split_lines

MAX_NOTES = 50_000
"""A file with more notes than this is taken to be of another format."""
MAX_TEXT = 2_000
"""Characters of a sentence, or of a value about one."""
MAX_ROWS = 200_000
"""Rows of a config: the largest of sssb has 1,728."""


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


class LeftOut(Exception):
    """Raised where a line makes no row, with the reason."""


def check_sentence(text: str, item: str = "") -> None:
    """Raise LeftOut where a text cannot be a sentence of a row; `item` names it in the reason."""
    if not text.strip():
        raise LeftOut(f"{item}an empty sentence")
    if len(text) > MAX_TEXT:
        raise LeftOut(f"{item}a sentence of more than {MAX_TEXT} characters")
    if unprintable(text) is not None:
        raise LeftOut(f"{item}a sentence with characters that do not print")


def check_count(rows: int, what: str) -> None:
    """Raise ReleaseError where there are more rows than a config may have."""
    if rows > MAX_ROWS:
        raise ReleaseError(f"{what}: makes more than {MAX_ROWS} pairs, which is too many for this format")


@dataclass(slots=True)
class Notes:
    """The notes on the files of an import, `listed`, and `facts`, a sentence for each file."""

    listed: list[Note] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)

    def leave_out(self, source: Source, line: int, reason: str) -> None:
        """Note that a line is not in the release."""
        self._add(Note(source.name, line, kept=False, reason=reason))

    @contextmanager
    def leaving_out(self, source: Source, line: int, item: str = "") -> Iterator[None]:
        """Note that a line is not in the release where the block raises LeftOut; `item` names what stands on it."""
        try:
            yield
        except LeftOut as reason:
            self.leave_out(source, line, f"{item}{reason}")

    def keep(self, source: Source, line: int, reason: str) -> None:
        """Note that a line is in the release, though something in it is not as the format requires."""
        self._add(Note(source.name, line, kept=True, reason=reason))

    def _add(self, note: Note) -> None:
        if len(self.listed) >= MAX_NOTES:
            raise ReleaseError(f"{note.file}: more than {MAX_NOTES} errors: is it another format?")
        self.listed.append(note)

    def keep_spaces(self, source: Source) -> None:
        """Note, at the first of them, the spaces of a file for which its rows have plain ones."""
        if source.spaces:
            reason = f"here is the first of {counted(len(source.spaces), 'no-break or other space')} read as plain ones"
            self.keep(source, min(source.spaces), reason)

    def add_fact(self, source: Source, fact: str) -> None:
        """Add a sentence about the contents of a file."""
        self.facts.append(f"{source.name}: {fact}")

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
        file, line = (row.get(f"{side}_{key}") or row[f"source_{key}"] for key in ("file", "line"))
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
