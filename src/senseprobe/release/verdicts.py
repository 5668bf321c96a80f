"""`verdicts.csv`: decisions on single rows; the next release omits rejected rows.

An omitted row keeps its id: a later version may restore it, with the verdict `keep` or without a verdict.
`read_id_table` also reads the other small CSV file of a dataset that names rows by their ids, that of retired ids.
"""

import csv
import errno
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from senseprobe.atomic_files import read_plain, write_whole
from senseprobe.errors import DeclarationError, ReleaseError
from senseprobe.messages import printable
from senseprobe.records import Finding
from senseprobe.release.manifest import VERSION
from senseprobe.tables import UnreadableError, decode, header_cells, read_csv, split_lines, table_objects

_LONGEST_ROW = 2**17


def read_id_table(
    text: str, display_path: str, needed: Collection[str], optional: Sequence[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line and cells of each row of a CSV file of these columns; raise DeclarationError (E202) for any other."""
    try:
        for row, cells in table_objects(read_csv(split_lines(text), ",", longest=_LONGEST_ROW), needed, optional):
            yield row.last, cells
    except UnreadableError as error:
        mistake = Finding(path=display_path, line=error.line, column=1, code="E202", message=str(error))
        raise DeclarationError([mistake]) from None


VERDICTS = "verdicts.csv"
REJECT, KEEP = "reject", "keep"

MAX_BYTES = 16 * 2**20
"""Enough for some 100,000 verdicts."""

LONGEST = {"id": 1_000, "rule": 200, "source": 200, "reason": 1_000}
"""The most characters of a cell, by column."""

MOST_MISTAKES = 1_000
"""The most mistakes of a file that are reported: more are one mistake, made in every line."""

FIRST = 10
"""How many rows of a group are listed."""

_COLUMNS = ("id", "verdict", "rule", "source", "reason")
_REPORTED = "reported"
"""An optional column, of releases of form 4; it is written only where a row was reported."""

_FLAGS = {False: "", True: "true"}
_REPORTED_IN_REASON = "reported as harmful by annotators of the targeted group"
"""What the reason of a reported row says in files from before there was the column, which state it nowhere else."""

_SOURCE = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,99}}@{VERSION.pattern}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The decision on the row `id`: ``reject`` or ``keep``.

    - `rule`: how answers became the verdict (``majority``), or what else led to it (``dispute``).
    - `source`: the release whose row people looked at, as ``NAME@VERSION``.
    - `reason`: why, in a sentence; may be empty.
    - `reported`: whether people of the group that the row is about would rather not have it used.
    - `line`: where it stands in its file, from 1; 0 where it was not read from one.
    """

    id: str
    verdict: str
    rule: str
    source: str
    reason: str = ""
    reported: bool = False
    line: int = field(default=0, compare=False)

    @property
    def as_written(self) -> "Verdict":
        """The verdict as it is read back: its reason in one line of LONGEST characters at most."""
        line, most = " ".join("".join(c if c.isprintable() else " " for c in self.reason).split()), LONGEST["reason"]
        return replace(self, reason=line if len(line) <= most else f"{line[: most - 1]}…")

    def __str__(self) -> str:
        """Return rule, source and reason as text that is safe to print."""
        return printable(f"{self.rule}, {self.source}{': ' if self.reason else ''}{self.reason}")[:200]


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictGroup:
    """Rows with verdicts of one rule and source: how many, and the first of them by id, each with its reason."""

    rule: str
    source: str
    rows: int
    first: Mapping[str, str]


def group_verdicts(verdicts: Iterable[Verdict]) -> tuple[VerdictGroup, ...]:
    """Group verdicts by rule and source, sorted by these; within a group in the order given."""
    key = attrgetter("rule", "source")
    groups = [(*names, [*group]) for names, group in groupby(sorted(verdicts, key=key), key)]
    return tuple(
        VerdictGroup(rule=rule, source=source, rows=len(group), first={row.id: row.reason for row in group[:FIRST]})
        for rule, source, group in groups
    )


def read_verdicts(path: Path, display_path: str = "") -> dict[str, Verdict]:
    """Return the verdicts of a file by id, none where there is no file; raise DeclarationError with every mistake."""
    display_path = display_path or str(path)
    if not path.exists() and not path.is_symlink():
        return {}
    verdicts: dict[str, Verdict] = {}
    findings: list[Finding] = []
    for line, row in read_id_table(_text(path, display_path), display_path, _COLUMNS[:4], [*_COLUMNS[4:], _REPORTED]):
        if message := _mistake(row, verdicts):
            findings.append(Finding(path=display_path, line=line, column=1, code="E202", message=printable(message)))
        cells = {column: row[column] for column in _COLUMNS if column in row}
        # Without the column `reported`, the reason's text says whether the row was reported.
        flag = _FLAGS[_REPORTED_IN_REASON in row.get("reason", "")]
        reported = row.get(_REPORTED, flag) == _FLAGS[True]
        verdicts.setdefault(row["id"], Verdict(**cells, reported=reported, line=line))
        if len(findings) == MOST_MISTAKES:
            break
    if findings:
        raise DeclarationError(findings)
    return verdicts


def has_reported(path: Path) -> bool:
    """Return whether a file of verdicts has the column `reported`, which readers of forms before 4 refuse."""
    return path.exists() and _REPORTED in header_cells(_text(path, str(path)).partition("\n")[0], ",")


def write_verdicts(path: Path, verdicts: Iterable[Verdict], *, reported: bool = False) -> None:
    """Write verdicts, sorted by id; raise ReleaseError where one could not be read again, or the file not written.

    `reported`: with the column of that name even where no row was.
    """
    ordered = [verdict.as_written for verdict in sorted(verdicts, key=lambda verdict: verdict.id)]
    columns = (*_COLUMNS, _REPORTED) if reported or any(verdict.reported for verdict in ordered) else _COLUMNS
    rows: list[dict[str, str]] = []
    before: dict[str, Verdict] = {}
    for verdict in ordered:
        row = {**{column: getattr(verdict, column) for column in _COLUMNS}, _REPORTED: _FLAGS[verdict.reported]}
        if message := _mistake(row, before):
            raise ReleaseError(f"cannot write {path}: {printable(message)}")
        before[verdict.id] = verdict
        rows.append(row)
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    data = text.getvalue().encode()
    if len(data) > MAX_BYTES:
        raise ReleaseError(f"cannot write {path}: {len(rows)} verdicts take more than {MAX_BYTES >> 20} MiB")
    try:
        write_whole(path, data)
    except OSError as error:
        raise ReleaseError(f"cannot write {path}: {error.strerror}") from None


def _text(path: Path, display_path: str) -> str:
    try:
        return decode(read_declaration(path, display_path, MAX_BYTES))
    except UnreadableError as error:
        raise DeclarationError([Finding(path=display_path, line=error.line, code="E100", message=str(error))]) from None


def read_declaration(path: Path, display_path: str, most: int) -> bytes:
    """Return a file's bytes; raise DeclarationError (E100) where it is not a plain file of at most `most` bytes."""
    try:
        return read_plain(path, most)
    except OSError as error:
        refused = error.errno in (errno.EINVAL, errno.EFBIG)
        message = str(error.strerror) if refused else f"cannot be read: {error.strerror}"
        raise DeclarationError([Finding(path=display_path, code="E100", message=message)]) from None


def _mistake(row: Mapping[str, str], before: Mapping[str, Verdict]) -> str | None:
    """Return the first mistake of a verdict, after the verdicts `before` it; None where it has none."""
    name = row["id"]
    if not name:
        return "the row has an empty id"
    for column, most in LONGEST.items():
        cell = row.get(column, "")
        if len(cell) > most:
            return f"{column} of {name[:80]!r} has {len(cell)} characters, at most {most}"
        if cell != cell.strip() or not cell.isprintable():
            return f"{column} {cell[:80]!r} begins or ends with a space, or contains a control character"
    if row["verdict"] not in (REJECT, KEEP):
        return f"verdict of {name!r} is {row['verdict'][:80]!r}, expected {REJECT} or {KEEP}"
    if not row["rule"]:
        return f"verdict of {name!r} lacks a rule"
    if not _SOURCE.fullmatch(row["source"]):
        return f"source of {name!r} is {row['source']!r}, expected the release that people judged, as NAME@VERSION"
    if (flag := row.get(_REPORTED, "")) not in _FLAGS.values():
        return f"{_REPORTED} of {name!r} is {flag[:80]!r}, expected {_FLAGS[True]} or an empty cell"
    if (first := before.get(name)) is None:
        return None
    line = f" in line {first.line}" if first.line else ""
    if first.verdict != row["verdict"]:
        return f"{name!r} has two verdicts: {first.verdict}{line}, and {row['verdict']}"
    return f"{name!r} already has the verdict {first.verdict}{line}"
