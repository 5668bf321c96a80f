"""A query for rows, as `quality=rude`: items are ANDed, and values of one column ORed.

Rows whose right answers are known, asked among the others to see how well people answer.

A CSV file: the column `id`, then one column for each question key, as `sense` or `stereotype.stereo`; an empty cell
expects nothing.

Which rows people are asked about: a sample that is like the whole, stratum by stratum, or what a query finds.

Chance is a hash of seed, config and id, so that it depends neither on the order of rows nor on how files are cut.
Rows are read twice, in batches: once to count the strata and draw, once to fetch what was drawn.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from senseprobe.annotation.cells import Line, read_cells
from senseprobe.annotation.questions import Question
from senseprobe.errors import AnnotationError
from senseprobe.messages import listed, meant, printable, shortened
from senseprobe.release.release import Release
from senseprobe.release.schema import design_schema
from senseprobe.statistics.permutation import hash_draw

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


@dataclass(frozen=True, slots=True)
class Gold:
    """What is expected of a row, by question key; and the place where that is written, ``gold.csv:3``."""

    place: str
    expected: Mapping[str, str]


def read_gold(path: Path, questions: Mapping[str, Question]) -> dict[str, Gold]:
    """The expected answers by row id; `questions` are those that have choices, by key.

    AnnotationError with the first mistakes, each with its line: an unknown question or choice, an id twice or none, a
    row that expects nothing.
    """
    shown, lines = printable(str(path)), read_cells(path)
    if not lines:
        raise AnnotationError(f"{shown}: is empty: expected the column id, then one for each question")
    columns = _columns(lines[0], questions, shown)
    found: dict[str, Gold] = {}
    wrong: list[str] = []
    for line in lines[1:]:
        expected = {key: line.cell(number) for number, key in enumerate(columns) if number and line.cell(number)}
        place = f"{shown}:{line.number}"
        wrong += [f"{place}: {message}" for message in _mistakes(line, expected, questions, len(columns), found)]
        found.setdefault(line.cell(0), Gold(place, {key: text.lower() for key, text in expected.items()}))
    if wrong:
        raise AnnotationError(listed(wrong))
    return found


def _columns(header: Line, questions: Mapping[str, Question], shown: str) -> list[str]:
    columns = [header.cell(number) for number in range(len(header.cells))]
    place = f"{shown}:{header.number}"
    if columns[0] != "id" or len(set(columns)) < len(columns):
        raise AnnotationError(f"{place}: columns are not id, then question keys, each once: {', '.join(questions)}")
    for column in columns[1:]:
        if column not in questions:
            hint = meant(column, questions) or f"there is {', '.join(questions)}"
            raise AnnotationError(f"{place}: no question {_short(column)!r} has expected answers: {hint}")
    return columns


def _mistakes(
    line: Line, expected: Mapping[str, str], questions: Mapping[str, Question], width: int, found: Collection[str]
) -> Sequence[str]:
    id_ = line.cell(0)
    wrong = [] if len(line.cells) <= width else [f"{len(line.cells)} cells, expected {width}"]
    if not id_:
        wrong.append("a row without an id")
    elif id_ in found:
        wrong.append(f"{_short(id_)} is there twice")
    if not expected:
        wrong.append("expects no answer")
    for key, text in expected.items():
        if text.lower() not in (choices := questions[key].choices):
            wrong.append(f"{_short(text)!r} is no answer to {key}: expected {', '.join(choices)}")
    return wrong


MAX_ITEMS = 100_000
"""Rows of a sample: a platform takes a hundred seconds to take so many, and three people some years to answer."""


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """A row that was drawn: its config, the levels of its strata as text, and its values by column."""

    config: str
    stratum: str
    row: Mapping[str, Any]


@dataclass(slots=True)
class _Scan:
    """What a first reading finds: rows that may be drawn, by number over all configs, with lot and stratum."""

    strata: dict[tuple[str, ...], int] = field(default_factory=dict)
    numbers: list[NDArray[np.int64]] = field(default_factory=list)
    lots: list[NDArray[np.uint64]] = field(default_factory=list)
    codes: list[NDArray[np.int64]] = field(default_factory=list)
    named: set[int] = field(default_factory=set)


def draw(
    release: Release,
    *,
    n: int | None,
    seed: int = 0,
    strata: Sequence[str] = (),
    where: Sequence[str] = (),
    config: str | None = None,
    also: Collection[str] = (),
) -> list[DrawnRow]:
    """The rows that are drawn, in an order that is drawn too.

    - `n`: how many, of those that `where` asks for; None: all of these.
    - `strata`: columns, or ``config``, of whose levels each gets its share, and at least one row where `n` allows.
    - `also`: ids of rows that are added to the sample, whatever `where` says; those that are not there are not told.

    Raises AnnotationError where a column or a value is unknown, nothing is found, or the sample is too large.
    """
    configs = [config] if config else list(release.configs)
    kind_of(release, configs)
    query = Query(where)
    if n is None and not where:
        raise AnnotationError("how many rows? give a number, or a query for rows as config=race")
    if n is not None and n < 1:
        raise AnnotationError(f"a sample of {n} rows: at least 1 is needed")
    _check_columns(release, configs, strata, query)
    scan = _scan(release, configs, seed, strata, query, frozenset(also))
    chosen = _chosen(scan, n, seed) | scan.named
    if len(chosen) > MAX_ITEMS:
        raise AnnotationError(f"{len(chosen)} rows, at most {MAX_ITEMS} can be asked about: draw fewer")
    drawn = list(_fetched(release, configs, strata, chosen))
    return sorted(drawn, key=lambda each: hash_draw(seed, "order", each.config, each.row["id"]))


def kind_of(release: Release, configs: Sequence[str]) -> str:
    """The kind that rows of these configs are of; AnnotationError where they are of several."""
    kinds = {name: release.design(name).kind for name in configs}
    if len(set(kinds.values())) > 1:
        told = ", ".join(f"{name} ({kind})" for name, kind in kinds.items())
        raise AnnotationError(f"people cannot be asked of rows of several kinds at once: name one config of {told}")
    return next(iter(kinds.values()))


def _check_columns(release: Release, configs: Sequence[str], strata: Sequence[str], query: Query) -> None:
    fields = [each for name in configs for each in design_schema(release.design(name))]
    known = [CONFIG, *dict.fromkeys(each.name for each in fields if not pa.types.is_struct(each.type))]
    for name in strata:
        check_column(name, known, "strata")
    for name in query.columns:
        check_column(name, known, "query")


def _scan(
    release: Release, configs: Sequence[str], seed: int, strata: Sequence[str], query: Query, also: frozenset[str]
) -> _Scan:
    """Read all rows once; AnnotationError where none is what the query asks for."""
    scan, names = _Scan(), pa.array(sorted(also), pa.string())
    for config, start, batch in _batches(release, configs):
        columns = _texts(batch, config, {*strata, *query.columns})
        found = np.flatnonzero(query.holds(columns, batch.num_rows).to_numpy(zero_copy_only=False))
        scan.numbers.append(found + start)
        scan.lots.append(_lots(seed, config, batch["id"].take(pa.array(found)).to_pylist()))
        scan.codes.append(_codes(scan.strata, [columns[name].take(pa.array(found)) for name in strata], len(found)))
        if also:
            there = pc.is_in(batch["id"], value_set=names).to_numpy(zero_copy_only=False)
            scan.named.update(int(number) + start for number in np.flatnonzero(there))
    query.check()
    if not sum(map(len, scan.numbers)):
        told = f"no row has {printable(str(query))} at once" if query.columns else "no rows"
        raise AnnotationError(f"{told} in {release.manifest.name}")
    return scan


def _batches(release: Release, configs: Sequence[str]) -> Iterator[tuple[str, int, pa.RecordBatch]]:
    """The batches of rows, each with its config and the number of its first row over all of these configs."""
    start = 0
    for config in configs:
        for batch in release.batches(config):
            yield config, start, batch
            start += batch.num_rows


def _texts(batch: pa.RecordBatch, config: str, names: Collection[str]) -> dict[str, pa.Array]:
    """Columns of a batch as texts; empty where this config has no such column."""
    made = {CONFIG: config}
    lacking = {name: pa.array([made.get(name, "")] * batch.num_rows, pa.string()) for name in names}
    return {name: as_text(batch[name]) if name in batch.schema.names else lacking[name] for name in names}


def _codes(known: dict[tuple[str, ...], int], columns: Sequence[pa.Array], rows: int) -> NDArray[np.int64]:
    """The number of each row's stratum; new ones get the next."""
    levels = zip(*(column.to_pylist() for column in columns), strict=True) if columns else [()] * rows
    return np.fromiter((known.setdefault(level, len(known)) for level in levels), np.int64, rows)


def _lots(seed: int, config: str, ids: Sequence[str]) -> NDArray[np.uint64]:
    return np.fromiter((hash_draw(seed, "row", config, id_) for id_ in ids), np.uint64, len(ids))


def _chosen(scan: _Scan, n: int | None, seed: int) -> set[int]:
    """The numbers of the rows with the lowest lots of each stratum, as many as are its share."""
    numbers, lots, codes = (np.concatenate(parts) for parts in (scan.numbers, scan.lots, scan.codes))
    if n is None or n >= len(numbers):
        return {int(number) for number in numbers}
    sizes = np.bincount(codes, minlength=len(scan.strata)).tolist()
    order = sorted(scan.strata, key=lambda level: hash_draw(seed, "stratum", *level))
    shares = allot([sizes[scan.strata[level]] for level in order], n)
    share = np.zeros(len(sizes), np.int64)
    share[[scan.strata[level] for level in order]] = shares
    ranked = np.lexsort((lots, codes))
    rank = np.arange(len(ranked)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return {int(number) for number in numbers[ranked[rank < share[codes[ranked]]]]}


def allot(sizes: Sequence[int], n: int) -> list[int]:
    """How many of `n` each stratum gets, by the largest remainder; of equal remainders, the first comes first.

    Every stratum gets one where `n` is no smaller than their number: what is less than one is raised to it, and the
    others share the rest. `n` is at most the sum of the sizes, and no stratum gets more than it has.

    >>> allot([50, 30, 20], 10), allot([97, 2, 1], 10), allot([5, 5, 5], 2)
    ([5, 3, 2], [8, 1, 1], [1, 1, 0])
    """
    shares = dict.fromkeys(range(len(sizes)), 0)
    left, rest = [number for number in shares if sizes[number]], n
    while n >= sum(map(bool, sizes)) and (small := _below_one(sizes, left, rest)):
        shares |= dict.fromkeys(small, 1)
        left, rest = [number for number in left if number not in small], rest - len(small)
    shares |= _by_remainder({number: sizes[number] for number in left}, rest)
    return [*shares.values()]


def _below_one(sizes: Sequence[int], left: Sequence[int], rest: int) -> set[int]:
    total = sum(sizes[number] for number in left)
    return {number for number in left if rest * sizes[number] < total}


def _by_remainder(sizes: Mapping[int, int], n: int) -> dict[int, int]:
    """Shares by Hamilton's method: whole quotas, and what is left goes to the largest remainders."""
    total = sum(sizes.values()) or 1
    shares = {number: n * size // total for number, size in sizes.items()}
    remainders = sorted(sizes, key=lambda number: -(n * sizes[number] % total))
    for number in remainders[: n - sum(shares.values())]:
        shares[number] += 1
    return shares


def _fetched(
    release: Release, configs: Sequence[str], strata: Sequence[str], chosen: Collection[int]
) -> Iterator[DrawnRow]:
    """The chosen rows, in the order of the release; what comes after the last of them is not read."""
    wanted = np.array(sorted(chosen), np.int64)
    for config, start, batch in _batches(release, configs):
        here = wanted[(wanted >= start) & (wanted < start + batch.num_rows)] - start
        rows = batch.take(pa.array(here))
        levels = _texts(rows, config, strata)
        told = zip(*(levels[name].to_pylist() for name in strata), strict=True) if strata else [()] * len(here)
        for row, level in zip(rows.to_pylist(), told, strict=True):
            yield DrawnRow(config, ", ".join(f"{name}={value}" for name, value in zip(strata, level, strict=True)), row)
        if not len(wanted) or wanted[-1] < start + batch.num_rows:
            return
