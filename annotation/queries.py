"""A query for rows, as `quality=rude`: items are ANDed, and values of one column ORed."""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.errors import AnnotationError
from senseprobe.wording import listed, meant, printable, shortened

CONFIG = "config"
"""Not a column of rows, but asked for like one."""

_MOST_SEEN = 2_000
"""Values of a column that are remembered, to name those that come near to one that no row has."""


class Query:
    """A query, which remembers what values it saw, so that one that no row has is named with what comes near to it.

    >>> Query(["quality=rude", "quality=nice", "target=black"]).columns
    ('quality', 'target')
    """

    def __init__(self, items: Sequence[str]) -> None:
        self._wanted: dict[str, set[str]] = {}
        for item in items:
            column, equals, value = item.partition("=")
            if not equals or not column.strip():
                raise AnnotationError(
                    f"{shortened(printable(item))!r} is no query: expected COLUMN=VALUE, as config=race"
                )
            self._wanted.setdefault(column.strip(), set()).add(value.strip())
        self._seen: dict[str, set[str]] = {column: set() for column in self._wanted}
        self._found: dict[str, set[str]] = {column: set() for column in self._wanted}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are asked about, `config` among them."""
        return tuple(self._wanted)

    def __str__(self) -> str:
        return ", ".join(f"{column}={value}" for column, values in self._wanted.items() for value in sorted(values))

    def holds(self, columns: Mapping[str, pa.Array], rows: int) -> pa.Array:
        """Which of so many rows are wanted; `columns` has their values as texts."""
        mask = pa.array([True] * rows, pa.bool_())
        for column, wanted in self._wanted.items():
            self._note(column, pc.unique(columns[column]).to_pylist())
            mask = pc.and_(mask, pc.is_in(columns[column], value_set=pa.array(sorted(wanted), pa.string())))
        return mask

    def _note(self, column: str, values: Iterable[str]) -> None:
        for value in values:
            if value in self._wanted[column]:
                self._found[column].add(value)
            elif len(self._seen[column]) < _MOST_SEEN:
                self._seen[column].add(value)

    def check(self) -> None:
        """AnnotationError for a value that no row had."""
        for column, wanted in self._wanted.items():
            for value in sorted(wanted - self._found[column]):
                known = sorted((self._seen[column] | self._found[column]) - {""})
                hint = meant(value, known) or f"there is {listed(map(_short, known)) or 'none'}"
                raise AnnotationError(f"no row has {printable(column)}={_short(value)}: {hint}")


def check_column(name: str, known: Sequence[str], what: str) -> None:
    """AnnotationError where the rows have no such column; `what` says what it was asked for."""
    if name not in known:
        hint = meant(name, known) or f"there is {', '.join(known)}"
        raise AnnotationError(f"{what}: rows have no column {_short(name)!r}: {hint}")


def as_text(column: pa.Array) -> pa.Array:
    """A column of texts or flags as texts; what is null is the empty text."""
    return pc.fill_null(column.cast(pa.string()), "")


def _short(text: str) -> str:
    return printable(shortened(text))
