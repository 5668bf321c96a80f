"""Two tables side by side: which ids both have, and where their values differ, as codes of shared dictionaries."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from senseprobe.errors import ReleaseError
from senseprobe.messages import printable

MOST = 100
"""How many kinds of label changes are reported of a column."""

Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LabelChange:
    """A label that became another one, in so many rows; None where there is no label."""

    was: str | bool | None
    now: str | bool | None
    rows: int


@dataclass(frozen=True, slots=True)
class Words:
    """Words that only one of two releases has, with the number of its rows that hold each; the most frequent first."""

    appeared: dict[str, int]
    vanished: dict[str, int]


@dataclass(slots=True)
class Table:
    """The ids of a config's rows, and its columns as dictionaries; a struct is a column for each field of it."""

    ids: pa.Array
    columns: dict[str, dict[str, list[pa.DictionaryArray]]]

    def compare(self, other: "Table", name: str) -> "Values":
        """Remove a column from both tables and return its values."""
        old, new = self.columns.pop(name, {}), other.columns.pop(name, {})
        return Values([_codes(old.get(leaf, []), new.get(leaf, [])) for leaf in {**old, **new}])


def build_table(batches: Iterable[pa.RecordBatch], names: Sequence[str], label: str) -> Table:
    """Return a table of some columns; raise ReleaseError, naming the `label`, where an id is missing or there twice."""
    ids: list[pa.Array] = []
    columns: dict[str, dict[str, list[pa.DictionaryArray]]] = {}
    for batch in batches:
        ids.append(batch["id"].cast(pa.large_string()))
        for name in names:
            leaves = [("", batch[name])]
            if pa.types.is_struct((struct := batch[name]).type):
                fields = zip([field.name for field in struct.type], struct.flatten(), strict=True)
                leaves = [("", pc.is_valid(struct)), *fields]
            for leaf, array in leaves:
                columns.setdefault(name, {}).setdefault(leaf, []).append(array.dictionary_encode())
    whole = pa.concat_arrays(ids) if ids else pa.array([], pa.large_string())
    if whole.null_count:
        raise ReleaseError(f"{label} has rows without an id")
    if pc.count_distinct(whole).as_py() < len(whole):
        counts = pc.value_counts(whole)
        twice = counts.filter(pc.greater(counts.field("counts"), 1))[0]["values"].as_py()
        raise ReleaseError(f"{label} has the id {printable(twice)[:200]} in more than one row")
    return Table(whole, columns)


@dataclass(frozen=True, slots=True)
class Pairs:
    """The rows that both tables have, in the order of the newer one, and the rows that only one has."""

    both_old: Rows
    both_new: Rows
    only_old: Rows
    only_new: Rows


def match_rows(old: Table, new: Table) -> Pairs:
    """Match two tables by their ids, each of which has every id once."""
    matches = _indices(new.ids, old.ids).astype(np.int64)
    both = np.flatnonzero(matches >= 0)
    alone = np.ones(len(old.ids), dtype=bool)
    alone[matches[both]] = False
    return Pairs(matches[both], both, np.flatnonzero(alone), np.flatnonzero(matches < 0))


def _indices(values: pa.Array, among: pa.Array) -> Codes:
    """Return where each value is among others; -1 where it is not."""
    indices: Codes = pc.index_in(values, value_set=among).fill_null(-1).to_numpy(zero_copy_only=False)
    return indices


def _codes(old: list[pa.DictionaryArray], new: list[pa.DictionaryArray]) -> tuple[Codes, Codes, pa.Array]:
    """Return the values of both as codes of one dictionary, and the dictionary; -1 where there is no value."""
    if not old and not new:
        return np.empty(0, np.int32), np.empty(0, np.int32), pa.array([], pa.string())
    chunks = pa.chunked_array([*old, *new]).unify_dictionaries().chunks
    codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in chunks]
    both = np.concatenate(codes).astype(np.int32, copy=False)
    end = sum(len(chunk) for chunk in old)
    return both[:end], both[end:], chunks[0].dictionary


@dataclass(frozen=True, slots=True)
class Values:
    """A column of two tables: for each field of it the codes of both, and their dictionary."""

    leaves: list[tuple[Codes, Codes, pa.Array]]

    def unlike(self, pairs: Pairs) -> Mask:
        """Return in which of the rows that both tables have the values differ."""
        unlike = np.zeros(len(pairs.both_new), dtype=bool)
        for old, new, _ in self.leaves:
            unlike |= old[pairs.both_old] != new[pairs.both_new]
        return unlike

    def changes(self, pairs: Pairs, unlike: Mask) -> tuple[LabelChange, ...]:
        """Count the changes from one value to another; the most frequent first."""
        old, new, words = self.leaves[0]
        size = len(words) + 1
        was, now = old[pairs.both_old][unlike] + 1, new[pairs.both_new][unlike] + 1
        kinds, counts = np.unique(was.astype(np.int64) * size + now, return_counts=True)
        values = [None, *words.to_pylist()]
        most = np.argsort(-counts, kind="stable")[:MOST]
        return tuple(LabelChange(values[kinds[n] // size], values[kinds[n] % size], int(counts[n])) for n in most)

    def sample(self, pairs: Pairs, unlike: Mask) -> tuple[str | None, str | None] | None:
        """Return the first value that differs, before and after; None for a column of several fields."""
        if len(self.leaves) != 1 or not unlike.any():
            return None
        old, new, words = self.leaves[0]
        row = int(unlike.argmax())
        codes = int(old[pairs.both_old[row]]), int(new[pairs.both_new[row]])
        was, now = (str(words[code].as_py()) if code >= 0 else None for code in codes)
        return was, now

    def words(self) -> Words | None:
        """Return the words that only one of both tables has; None where there are none."""
        if not self.leaves:
            return None
        old, new, words = self.leaves[0]
        was, now = (np.bincount(codes + 1, minlength=len(words) + 1)[1:] for codes in (old, new))
        only = []
        for here, there in ((now, was), (was, now)):
            codes = np.flatnonzero((here > 0) & (there == 0))
            counts = zip(words.take(pa.array(codes)).to_pylist(), here[codes].tolist(), strict=True)
            only.append(dict(sorted(counts, key=lambda pair: (-pair[1], pair[0]))))
        return Words(*only) if any(only) else None


def swapped(stereo: Values, anti: Values, pairs: Pairs) -> Mask:
    """Return which of the rows that both tables have differ only in that their two sentences are swapped."""
    (was, now, words), (was_anti, now_anti, words_anti) = stereo.leaves[0], anti.leaves[0]
    as_anti = _indices(words, words_anti)
    was, was_anti = was[pairs.both_old], was_anti[pairs.both_old]
    now, now_anti = now[pairs.both_new], now_anti[pairs.both_new]
    crossed: Mask = (was != now) & (as_anti[was] == now_anti) & (as_anti[now] == was_anti) & (now_anti >= 0)
    return crossed
