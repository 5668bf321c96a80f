"""What a format makes of files: tables of rows, each a config of the release."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.importing.sources import Notes, Source
from senseprobe.records import Design

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


@dataclass(frozen=True, slots=True)
class Format:
    """A published format: how its files are read, and what is said of it on the card; `paper` is a key of `papers`."""

    title: str
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
