"""What a format makes of files: tables of rows, each a config of the release."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.importing.sources import Notes, Source
from senseprobe.records import Design

__all__ = ["MAX_ROWS", "Format", "Row", "Table", "bounded", "check_count", "note_repeats"]

Row = dict[str, Any]

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


@dataclass(frozen=True, slots=True)
class Format:
    """A published format: how its files are read, and what is said of it on the card."""

    title: str
    authors: tuple[str, ...]
    paper: str
    measured: str
    read: Callable[[Sequence[Source], Notes], list[Table]]


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
    """Note every pair of sentences that was there before."""
    first: dict[tuple[str, str], str] = {}
    for row in rows:
        earlier = first.setdefault((row["stereo"], row["anti"]), row["source_line"])
        if earlier != row["source_line"]:
            notes.keep(sources[row["source_file"]], int(row["source_line"]), f"the same pair as in line {earlier}")
