"""Which rows people are asked about: a stratified sample, rows that a query selects, and rows with known answers.

Chance is a hash of seed, config and id, so that it depends neither on the order of rows nor on how files are cut.
Rows are read twice, in batches: once to count the strata and draw, once to fetch the drawn rows.
"""

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, nsmallest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.annotation.cells import read_cells
from senseprobe.annotation.questions import Question
from senseprobe.errors import AnnotationError
from senseprobe.messages import listed, meant, printable, shortened
from senseprobe.release.release import Release
from senseprobe.release.schema import QUESTIONS, design_schema
from senseprobe.statistics.permutation import hash_draw
from senseprobe.tables import CsvRow

CONFIG = "config"  # not a column of rows, but queried like one

_MOST_SEEN = 2_000  # values of a column that are remembered, to name those that come near to one that no row has


class Query:
    """A query for rows: items are ANDed, values of one column ORed.

    >>> Query(["quality=rude", "quality=nice", "target=black"]).columns
    ('quality', 'target')
    """

    def __init__(self, items: Sequence[str]) -> None:
        self._values: dict[str, set[str]] = {}
        for item in items:
            column, equals, value = item.partition("=")
            if not equals or not column.strip():
                raise AnnotationError(
                    f"{shortened(printable(item))!r} is not a query: expected COLUMN=VALUE, such as config=race"
                )
            self._values.setdefault(column.strip(), set()).add(value.strip())
        self._seen: dict[str, set[str]] = {column: set() for column in self._values}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the query, `config` among them."""
        return tuple(self._values)

    def __str__(self) -> str:
        return ", ".join(f"{column}={value}" for column, values in self._values.items() for value in sorted(values))

    def holds(self, columns: Mapping[str, pa.Array], rows: int) -> pa.Array:
        """Return which of so many rows the query selects; `columns` has their values as texts."""
        mask = pa.array([True] * rows, pa.bool_())
        for column, values in self._values.items():
            seen = self._seen[column]
            seen.update(v for v in pc.unique(columns[column]).to_pylist() if v in values or len(seen) < _MOST_SEEN)
            mask = pc.and_(mask, pc.is_in(columns[column], value_set=pa.array(sorted(values), pa.string())))
        return mask

    def check(self) -> None:
        """Raise AnnotationError for a value that no row had."""
        for column, values in self._values.items():
            for value in sorted(values - self._seen[column]):
                names = sorted(self._seen[column] - {""})
                hint = meant(value, names) or f"expected {listed(map(_short, names)) or 'none'}"
                raise AnnotationError(f"rows do not have {printable(column)}={_short(value)}: {hint}")


def _short(text: str) -> str:
    return printable(shortened(text))


@dataclass(frozen=True, slots=True)
class Gold:
    """What is expected of a row, by question key; and where that is written, ``gold.csv:3``."""

    position: str
    expected: Mapping[str, str]


def read_gold(path: Path, questions: Mapping[str, Question]) -> dict[str, Gold]:
    """Return the expected answers by row id; `questions` are those that have choices, by key.

    The file is a CSV: `id`, then a column for each question key, as `stereotype.stereo`; empty cells expect nothing.
    """
    display_path, lines = printable(str(path)), read_cells(path)
    if not lines:
        raise AnnotationError(f"{display_path} is empty: expected the column id, then one for each question")
    columns = _columns(lines[0], questions, display_path)
    gold: dict[str, Gold] = {}
    errors: list[str] = []
    for line in lines[1:]:
        expected = {key: line.cell(number) for number, key in enumerate(columns) if number and line.cell(number)}
        position = f"{display_path}:{line.line}"
        errors += [f"{position}: {message}" for message in _mistakes(line, expected, questions, len(columns), gold)]
        choices = {key: questions[key].find_choice(text) for key, text in expected.items()}
        gold.setdefault(line.cell(0), Gold(position, choices))
    if errors:
        raise AnnotationError(listed(errors))
    return gold


def _columns(header: CsvRow, questions: Mapping[str, Question], display_path: str) -> list[str]:
    columns = [header.cell(number) for number in range(len(header.cells))]
    position = f"{display_path}:{header.line}"
    if columns[0] != "id" or len(set(columns)) < len(columns):
        raise AnnotationError(f"{position}: expected the column id, then questions, each once: {', '.join(questions)}")
    for column in columns[1:]:
        if column not in questions:
            hint = meant(column, questions) or f"expected {', '.join(questions)}"
            raise AnnotationError(f"{position}: unknown question {_short(column)!r}: {hint}")
    return columns


def _mistakes(
    line: CsvRow, expected: Mapping[str, str], questions: Mapping[str, Question], width: int, previous: Collection[str]
) -> Iterator[str]:
    id_ = line.cell(0)
    if len(line.cells) > width:
        yield f"the row has {len(line.cells)} cells, expected {width}"
    if not id_ or id_ in previous:
        yield f"{_short(id_)} occurs twice" if id_ else "the row has an empty id"
    if not expected:
        yield "the row lacks an expected answer"
    for key, text in expected.items():
        if not questions[key].find_choice(text):
            yield f"{_short(text)!r} is not an answer to {key}: expected {', '.join(questions[key].choices)}"


MAX_ITEMS = 100_000
"""Rows of a sample: a platform takes a hundred seconds to take so many, and three people some years to answer."""


@dataclass(frozen=True, slots=True)
class SampledRow:
    """A row that was drawn: its config, the levels of its strata as text, and its values by column."""

    config: str
    stratum: str
    values: Mapping[str, Any]


Candidates = dict[tuple[str, ...], tuple["array[int]", "array[int]"]]
"""The hash draws of the rows that may be drawn, and their numbers over all configs, by stratum."""


def draw(
    release: Release,
    *,
    n: int | None,
    seed: int = 0,
    strata: Sequence[str] = (),
    allocation: str = "proportional",
    where: Sequence[str] = (),
    configs: Sequence[str] = (),
    also: Collection[str] = (),
    excluded: Collection[str] = (),
    previous: Collection[str] = (),
) -> list[SampledRow]:
    """Return a sample of the rows of a release, in random order.

    - `n`: how many, of those that `where` selects; None: all of these.
    - `strata`: columns, or ``config``, of whose levels each gets its share, and at least one row where `n` allows; its
      share is ``proportional`` to its size, or ``equal`` to that of the others.
    - `configs`: only rows of these; default: of all.
    - `also`: ids of rows that are added to the sample, whatever `where` says; those that do not exist are ignored.
    - `excluded`: ids of rows that are not drawn; `previous`: of those that a smaller `n` drew, which are again.

    Raises AnnotationError where a column or a value is unknown, nothing is found, or the sample is too large.
    """
    configs = [*(dict.fromkeys(configs) or release.configs)]
    kind_of(release, configs)
    query = Query(where)
    if n is None and not where:
        raise AnnotationError("give a number of rows, or a query such as config=race")
    if n is not None and n < 1:
        raise AnnotationError(f"a sample needs at least 1 row, not {n}")
    fields = [field for name in configs for field in design_schema(release.design(name))]
    names = [CONFIG, *dict.fromkeys(field.name for field in fields if not pa.types.is_struct(field.type))]
    for purpose, column in [*(("strata", name) for name in strata), *(("query", name) for name in query.columns)]:
        if column not in names:
            hint = meant(column, names) or f"expected {', '.join(names)}"
            raise AnnotationError(f"{purpose}: rows do not have a column {_short(column)!r}: {hint}")
    if allocation not in ALLOCATIONS or (allocation == "equal" and not strata):
        raise AnnotationError(f"allocation {allocation!r}: expected proportional, or equal (with strata)")
    candidates, named = _scan(release, configs, seed, strata, query, frozenset(also), frozenset(excluded))
    hashes = {hash_draw(seed, "row", config, id_) for config in configs for id_ in previous}
    chosen = _choose(candidates, n, seed, allocation, hashes) | named
    if len(chosen) > MAX_ITEMS:
        raise AnnotationError(f"{len(chosen)} rows; the limit is {MAX_ITEMS}: draw fewer")
    rows = list(_fetched(release, configs, strata, chosen))
    return sorted(rows, key=lambda row: hash_draw(seed, "order", row.config, row.values["id"]))


def kind_of(release: Release, configs: Sequence[str]) -> str:
    """Return the kind of the rows of these configs; raise AnnotationError where they are of several."""
    kinds = {name: release.design(name).kind for name in configs}
    if len(set(kinds.values())) > 1:
        names = ", ".join(f"{name} ({kind})" for name, kind in kinds.items())
        raise AnnotationError(f"a project needs rows of one kind: name configs of one kind from {names}")
    kind = next(iter(kinds.values()))
    if kind not in QUESTIONS:
        raise AnnotationError(f"people cannot be asked about {kind} rows, only about {', '.join(QUESTIONS)} rows")
    return kind


def _scan(
    release: Release,
    configs: Sequence[str],
    seed: int,
    strata: Sequence[str],
    query: Query,
    also: frozenset[str],
    excluded: frozenset[str],
) -> tuple[Candidates, set[int]]:
    """Read all rows once, and return which may be drawn, and the numbers of those with an id of `also`."""
    excluded_ids = pa.array(sorted(excluded), pa.string())
    candidates: Candidates = {}
    named: set[int] = set()
    for config, start, batch in _batches(release, configs):
        columns = column_texts(batch, config, {*strata, *query.columns})
        mask = query.holds(columns, batch.num_rows)
        if excluded:
            mask = pc.and_not(mask, pc.is_in(batch["id"], value_set=excluded_ids))
        ids = batch["id"].filter(mask).to_pylist()
        matches = np.flatnonzero(mask.to_numpy(zero_copy_only=False)).tolist()
        levels = _levels([columns[name].filter(mask) for name in strata], len(ids))
        for id_, match, level in zip(ids, matches, levels, strict=True):
            draws, numbers = candidates.setdefault(level, (array("Q"), array("q")))
            draws.append(hash_draw(seed, "row", config, id_))
            numbers.append(start + match)
        if also:
            named |= {number for number, id_ in enumerate(batch["id"].to_pylist(), start) if id_ in also}
    query.check()
    if not candidates:
        what = f"with {printable(str(query))}" if query.columns else ""
        what += ", apart from rows that were drawn before" if excluded else ""
        raise AnnotationError(f"{release.manifest.name} does not have rows {what}".rstrip())
    return candidates, named


def _batches(release: Release, configs: Sequence[str]) -> Iterator[tuple[str, int, pa.RecordBatch]]:
    """Yield the batches of rows, each with its config and the number of its first row over all of these configs."""
    start = 0
    for config in configs:
        for batch in release.batches(config):
            yield config, start, batch
            start += batch.num_rows


def column_texts(batch: pa.RecordBatch, config: str, names: Collection[str]) -> dict[str, pa.Array]:
    """Return columns of texts or flags as texts; empty for null, and where this config has no such column."""
    return {
        name: pc.fill_null(batch[name].cast(pa.string()), "")
        if name in batch.schema.names
        else pa.array([config if name == CONFIG else ""] * batch.num_rows, pa.string())
        for name in names
    }


def _levels(columns: Sequence[pa.Array], rows: int) -> Iterable[tuple[str, ...]]:
    """Return the levels of each of so many rows; there may be no column."""
    return zip(*(column.to_pylist() for column in columns), strict=True) if columns else [()] * rows


def level_texts(strata: Sequence[str], columns: Sequence[pa.Array], rows: int) -> Iterator[str]:
    """Return the stratum of each of so many rows: the levels of these columns, as ``config=race, target=black``."""
    return (", ".join(map("=".join, zip(strata, level, strict=True))) for level in _levels(columns, rows))


def _choose(candidates: Candidates, n: int | None, seed: int, allocation: str, previous: Collection[int]) -> set[int]:
    """Return the numbers of the rows with the lowest draws of each stratum, as many as are its share.

    Of the rows whose draws are in `previous` each is chosen again, and with it all that have lower ones.
    """
    order = sorted(candidates, key=lambda level: hash_draw(seed, "stratum", *level))
    draws = [candidates[level][0] for level in order]
    sizes, last = [*map(len, draws)], [max((draw for draw in of if draw in previous), default=-1) for of in draws]
    least = [sum(draw <= end for draw in of) if end >= 0 else 0 for of, end in zip(draws, last, strict=True)]
    if n is not None and n < sum(least):
        raise AnnotationError(f"{sum(least)} rows were drawn before, and a plan can only grow: draw at least as many")
    shares = sizes if n is None or n >= sum(sizes) else ALLOCATIONS[allocation](sizes, n, least)
    return {
        number
        for level, share in zip(order, shares, strict=True)
        for _, number in nsmallest(share, zip(*candidates[level], strict=True))
    }


def allot(sizes: Sequence[int], n: int, least: Sequence[int] = ()) -> list[int]:
    """Return how many of `n` each stratum gets, by the largest remainder; of equal remainders, the first comes first.

    Every stratum gets one where `n` is no smaller than their number, and as many as `least` says: what is less is
    raised to that, and the others share the rest. `n` is at most the sum of the sizes, and no stratum gets more than it
    has.

    >>> allot([50, 30, 20], 10), allot([97, 2, 1], 10), allot([5, 5, 5], 2)
    ([5, 3, 2], [8, 1, 1], [1, 1, 0])
    >>> allot([6, 6, 2], 10), allot([6, 6, 2], 11), allot([6, 6, 2], 11, [4, 4, 2])
    ([4, 4, 2], [5, 5, 1], [5, 4, 2])
    """
    shares, rest = dict.fromkeys(range(len(sizes)), 0), {number: size for number, size in enumerate(sizes) if size}
    floors, total = [*(least or shares.values())], sum(sizes)
    if sum(max(floors[number], 1) for number in rest) <= n:
        floors = [max(floor, 1) for floor in floors]
    while small := [number for number, size in rest.items() if n * size < floors[number] * total]:
        shares |= {number: floors[number] for number in small}
        total -= sum(rest.pop(number) for number in small)
        n -= sum(floors[number] for number in small)
    quotas = {number: n * size // total for number, size in rest.items()}
    remainders = sorted(rest, key=lambda number: -(n * rest[number] % total))
    for number in remainders[: n - sum(quotas.values())]:
        quotas[number] += 1
    return [*(shares | quotas).values()]


def allot_equally(sizes: Sequence[int], n: int, least: Sequence[int] = ()) -> list[int]:
    """Return how many of `n` each stratum gets: as many as the others, or all that it has; and what is in `least`.

    >>> allot_equally([50, 30, 2], 10), allot_equally([5, 5, 5], 4), allot_equally([9, 9], 6, [4, 0])
    ([4, 4, 2], [2, 1, 1], [4, 2])
    """
    shares = [*(least or [0] * len(sizes))]
    heap = [(share, number) for number, share in enumerate(shares) if share < sizes[number]]
    heapify(heap)
    for _ in range(n - sum(shares)):
        share, number = heappop(heap)
        shares[number] = share + 1
        if shares[number] < sizes[number]:
            heappush(heap, (shares[number], number))
    return shares


ALLOCATIONS: Mapping[str, Callable[[Sequence[int], int, Sequence[int]], list[int]]] = {
    "proportional": allot,
    "equal": allot_equally,
}


def _fetched(
    release: Release, configs: Sequence[str], strata: Sequence[str], chosen: Collection[int]
) -> Iterator[SampledRow]:
    """Yield the chosen rows, in the order of the release; what comes after the last of them is not read."""
    chosen_numbers = np.array(sorted(chosen), np.int64)
    for config, start, batch in _batches(release, configs):
        here = chosen_numbers[(chosen_numbers >= start) & (chosen_numbers < start + batch.num_rows)] - start
        rows = batch.take(pa.array(here))
        levels = level_texts(strata, [*column_texts(rows, config, strata).values()], len(here))
        for row, level in zip(rows.to_pylist(), levels, strict=True):
            yield SampledRow(config, level, row)
        if not len(chosen_numbers) or chosen_numbers[-1] < start + batch.num_rows:
            return
