"""Rows that pass by in parts: what figures need of them is summed by level of a factor and cell, and then they may go.

The columns of words are categories whose codes mean the same in every part (evaluate/streams/parts.py): what is summed
has one place for each level in each cell, however many rows there are. Of an estimand's parts `RowSums` makes
`SummedRows`, of which its figure is made as of `KernelRows`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.kernel import (
    KernelRows,
    Tally,
    strata_in_release,
    stratum_names,
)
from senseprobe.messages import sized
from senseprobe.records import Design, Factor
from senseprobe.statistics import BoolArray, FloatArray, IntArray, Projection, SumLayout, SummedLevels, SummedProjection

MOST_BYTES = 2**31
"""Of the sums of an estimand: a design of more levels in more groups is refused."""

Values: TypeAlias = tuple[object, ...]
Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class LevelSums:
    """The sums of a factor's levels in cells: `counts` and `weights` have shape (L, C), `start` is their place.

    - `outer`: by the columns of each factor in which it is nested, the level with which each of its own occurs.
    - `in_columns`: how many levels each of its columns has.
    """

    counts: IntArray
    weights: FloatArray
    start: int
    outer: Mapping[tuple[str, ...], IntArray]
    in_columns: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SummedRows(KernelRows):
    """The rows of an estimand that were summed: `table` is empty, `weights` are those of cells, `kernel` is its sums.

    - `size`, `hits`: how many rows there were, and how many with a kernel of 1.
    - `cells`: by variable the value of each cell; `factors`: by their columns the sums of factors.
    - `combinations`: by columns the sum of the weights of each combination of values.
    """

    size: int
    hits: int
    cells: Mapping[str, Values]
    factors: Mapping[tuple[str, ...], LevelSums]
    combinations: Mapping[tuple[str, ...], Mapping[tuple[str | None, ...], float]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of rows."""
        return self.size

    @property
    def ones(self) -> int:
        """The number of rows whose kernel is 1."""
        return self.hits

    @property
    def share(self) -> float | None:
        """The figure on [0, 1], None without rows."""
        total = SumLayout(len(self.weights)).totals(self.kernel).sum()
        return round(self.offset + float(total), 12) if self.size else None

    def level_counts(self, columns: Iterable[str]) -> list[int]:
        """Return how many values the rows have in each of some columns of factors."""
        counts = {
            column: count
            for names, sums in self.factors.items()
            for column, count in zip(names, sums.in_columns, strict=True)
        }
        return [counts[column] for column in columns]

    def weights_by(self, columns: Sequence[str]) -> dict[tuple[str | None, ...], float]:
        """Return the sum of the weights of the rows with each combination of values in columns; None is missing."""
        return {**self.combinations[tuple(columns)]}

    def project(self, design: Design) -> Projection:
        """Return the interval rule for the rows, over the factors of the design."""
        names = {factor.columns: factor.name for factor in design.factors}
        factors = [self._levels(factor, names, design.drawn_from) for factor in design.factors]
        blocks = _codes_of_cells([self.cells[column] for column in self.block_columns], len(self.weights))
        return SummedProjection(self.weights, factors, blocks, by_blocks=self.by_blocks)

    def _levels(
        self, factor: Factor, names: Mapping[tuple[str, ...], str], release_levels: Mapping[str, int] | None
    ) -> SummedLevels:
        sums = self.factors[factor.columns]
        constant = [
            level_values
            for values in self.cells.values()
            if (level_values := _find_level_values(sums.counts > 0, values)) is not None
        ]
        strata = stratum_names([*zip(*constant, strict=True)], len(sums.counts))
        return SummedLevels(
            name=factor.name,
            strata=strata,
            population=strata_in_release(factor.name, strata, release_levels),
            counts=sums.counts,
            weights=sums.weights,
            start=sums.start,
            outer={names[columns]: levels for columns, levels in sums.outer.items() if columns in names},
        )


def _codes_of_cells(columns: Sequence[Values], count: int) -> IntArray:
    numbers: dict[Values, int] = {}
    rows = zip(*columns, strict=True) if columns else iter([()] * count)
    return np.array([numbers.setdefault(values, len(numbers)) for values in rows], dtype=np.intp)


def _find_level_values(present: BoolArray, values: Values) -> list[object] | None:
    """Return the one value of a variable in the cells of each level; None where a level has two, or none has any."""
    distinct = list(dict.fromkeys(value for value in values if value is not None))
    codes = np.array([-1 if value is None else distinct.index(value) for value in values], dtype=np.intp)
    has = np.array([present[:, codes == code].any(axis=1) for code in range(len(distinct))])
    if not distinct or has.sum(axis=0).max(initial=0) != 1:
        return None
    return [distinct[column.argmax()] if column.any() else None for column in has.T]


def codes_in(table: pd.DataFrame, column: str) -> IntArray:
    """Return the codes of a column of categories: -1 where a value is missing."""
    return table[column].cat.codes.to_numpy().astype(np.intp)


class Combinations:
    """The combinations of values that rows have in columns of categories, by numbers from 0 that stay theirs."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self._numbers: dict[tuple[int, ...], int] = {}
        self._categories: dict[str, pd.Index] = {}

    def __len__(self) -> int:
        return len(self._numbers) if self.columns else 1

    def number(self, table: pd.DataFrame) -> IntArray:
        """Return the number of the combination of each row: shape (N,)."""
        rows = np.zeros(len(table), dtype=np.intp)
        if not self.columns or not len(table):
            return rows
        known: list[tuple[int, ...]] = [()]
        for column in self.columns:
            self._categories[column] = table[column].cat.categories
            width = len(self._categories[column]) + 1
            rows, distinct = pd.factorize(rows * width + codes_in(table, column) + 1)
            known = [(*known[key // width], key % width - 1) for key in distinct.tolist()]
        numbers = [self._numbers.setdefault(codes, len(self._numbers)) for codes in known]
        return np.array(numbers, dtype=np.intp)[rows]

    def list_values(self) -> list[tuple[str | None, ...]]:
        """Return the values of each combination, in the order of numbers."""
        if not self.columns:
            return [()]
        lists = [self._categories[column] for column in self.columns if column in self._categories]
        return [
            tuple(None if code < 0 else words[code] for code, words in zip(codes, lists, strict=True))
            for codes in self._numbers
        ]


class _FactorSums:
    """The sums of one factor, by column, group, level and cell; grown as levels, groups and cells come."""

    def __init__(self, factor: Factor, kernels: int) -> None:
        self.columns = factor.columns
        self._levels: dict[object, int] = {}
        self._level_of = [np.empty(0, dtype=np.intp) for _ in self.columns]  # by the codes of a column
        shape = (len(self.columns), 0, 0, 0)
        self.counts = np.zeros(shape, dtype=np.int64)
        self.weights = np.zeros(shape)
        self.shifted = np.zeros((kernels, *shape))
        self.are_equal = True  # so far, of two columns

    def number(self, table: pd.DataFrame) -> list[IntArray]:
        """Return the level of each row in each column: -1 where it has none."""
        numbers = []
        for index, column in enumerate(self.columns):
            words, level_of = table[column].cat.categories, self._level_of[index]
            if len(words) > len(level_of):
                new = [self._levels.setdefault(word, len(self._levels)) for word in words[len(level_of) :]]
                level_of = self._level_of[index] = np.concatenate([level_of, np.array(new, dtype=np.intp)])
            codes = codes_in(table, column)
            numbers.append(np.where(codes >= 0, np.append(level_of, -1)[codes], -1))
        return numbers

    def grow(self, groups: int, cells: int) -> None:
        """Make place for so many groups and cells, and for all levels."""
        shape = (len(self.columns), groups, len(self._levels), cells)
        self.counts, self.weights = grown(self.counts, shape), grown(self.weights, shape)
        self.shifted = grown(self.shifted, (len(self.shifted), *shape))

    def add(
        self, levels: Sequence[IntArray], places: IntArray, cells: int, shifted: FloatArray, weights: FloatArray | None
    ) -> None:
        """Add rows, whose group and cell are one number: group * `cells` + cell."""
        group, cell = places // cells, places % cells
        for index, codes in enumerate(levels):
            there = codes >= 0
            keep = slice(None) if there.all() else there
            keys = (group[keep] * len(self._levels) + codes[keep]) * cells + cell[keep]
            add_at(self.counts[index].reshape(-1), keys)
            if weights is not None:
                add_at(self.weights[index].reshape(-1), keys, weights[keep])
            for kernel, values in enumerate(shifted):
                add_at(self.shifted[kernel, index].reshape(-1), keys, values[keep])
        self.are_equal &= all(np.array_equal(levels[0], other) for other in levels[1:])

    def summed(self, name: str, group: int) -> Array:
        """Return counts, weights or shifted sums of a group over the columns: shape (..., L, C)."""
        whole = getattr(self, name)[..., group, :, :]
        # Where both members of every pair have the same noun, the noun was drawn once, not twice.
        return np.asarray(whole[..., 0, :, :] if self.are_equal else whole.sum(axis=-3))


class _Nesting:
    """With which level of an outer factor each level of an inner one occurs, by group, as long as it is one."""

    def __init__(self) -> None:
        self._outer = np.full((0, 0), -1, dtype=np.intp)
        self._broken = np.zeros(0, dtype=np.bool_)

    def add(
        self, groups: IntArray, inner: Sequence[IntArray], outer: Sequence[IntArray], shape: tuple[int, int]
    ) -> None:
        """Add rows, of groups and levels that `shape` counts."""
        if len(self._broken) == shape[0] and self._broken.all():
            return
        self._outer = grown(self._outer, shape, -1)
        self._broken = grown(self._broken, shape[:1])
        flat = self._outer.reshape(-1)
        for inner_codes in inner:
            for outer_codes in outer:
                there = (inner_codes >= 0) & (outer_codes >= 0) & ~self._broken[groups]
                keys, levels, group = groups[there] * shape[1] + inner_codes[there], outer_codes[there], groups[there]
                new = flat[keys] < 0
                flat[keys[new]] = levels[new]
                self._broken[group[flat[keys] != levels]] = True

    def levels(self, group: int) -> IntArray | None:
        """Return the outer level of each inner one in a group: -1 where there is none; None if not one each."""
        return None if group >= len(self._broken) or self._broken[group] else self._outer[group]


def grown(array: Array, shape: Sequence[int], fill: float = 0) -> Array:
    """Return an array with a larger shape, the new places filled; the same array where it has that shape."""
    if array.shape == tuple(shape):
        return array
    larger = np.full(shape, fill, dtype=array.dtype)
    larger[tuple(slice(0, length) for length in array.shape)] = array
    return larger


def add_at(sums: Array, places: IntArray, values: FloatArray | None = None) -> None:
    """Add values, or 1, to places of a flat array; a place may come more than once."""
    if sums.size > 4 * len(places):
        np.add.at(sums, places, 1 if values is None else values)
    else:
        sums += np.bincount(places, values, minlength=sums.size)


class RowSums:
    """The sums of rows that come in parts, of one or more `kernels` of the same rows, and by group where there are.

    - `factors`: all that an interval rule over the rows may take; `variables`: those of cells.
    - `combined`: columns whose combinations of values are asked for (`KernelRows.weights_by`).
    """

    def __init__(
        self,
        factors: Sequence[Factor],
        variables: Sequence[str] = (),
        *,
        kernels: int = 1,
        combined: Sequence[Sequence[str]] = (),
        name: str = "",
    ) -> None:
        self._cells = Combinations(variables)
        self._factors = {factor.columns: _FactorSums(factor, kernels) for factor in factors}
        self._nesting = {pair: _Nesting() for pair in permutations(self._factors, 2)}
        self._combined = {tuple(columns): Combinations(columns) for columns in combined}
        self._weights_of = {columns: np.zeros(0) for columns in self._combined}
        self._name = name
        of_cells = (0, 0)
        self._counts, self._weights = np.zeros(of_cells, dtype=np.int64), np.zeros(of_cells)
        self._first, self._least, self._most, self._shifted = (np.zeros((kernels, *of_cells)) for _ in range(4))
        self._ones = np.zeros((kernels, 0), dtype=np.int64)

    def add(
        self,
        table: pd.DataFrame,
        kernels: FloatArray,
        weights: FloatArray | None = None,
        groups: IntArray | None = None,
        group_count: int = 1,
    ) -> None:
        """Add rows: their kernels, of shape (D, N), their weights (None: 1 each), and their groups (None: one)."""
        cell, cells = self._cells.number(table), len(self._cells)
        groups = np.zeros(len(table), dtype=np.intp) if groups is None else groups
        levels = {columns: factor.number(table) for columns, factor in self._factors.items()}
        self._grow(group_count, cells)
        if not len(table):
            return
        places = groups * cells + cell
        self._note_cells(kernels, places)
        first = self._first.reshape(len(kernels), -1)[:, places]
        shifted = kernels - first if weights is None else (kernels - first) * weights
        add_at(self._counts.reshape(-1), places)
        if weights is not None:
            add_at(self._weights.reshape(-1), places, weights)
        for kernel, values in enumerate(kernels):
            add_at(self._shifted[kernel].reshape(-1), places, shifted[kernel])
            self._ones[kernel] += np.bincount(groups, values == 1, minlength=group_count).astype(np.int64)
        for columns, factor in self._factors.items():
            factor.add(levels[columns], places, cells, shifted, weights)
        for (inner, outer), nesting in self._nesting.items():
            shape = (group_count, self._factors[inner].counts.shape[2])
            nesting.add(groups, levels[inner], levels[outer], shape)
        for columns, combinations in self._combined.items():
            codes = combinations.number(table)
            self._weights_of[columns] = grown(self._weights_of[columns], (len(combinations),))
            add_at(self._weights_of[columns], codes, weights)

    def _grow(self, groups: int, cells: int) -> None:
        for factor in self._factors.values():
            factor.grow(groups, cells)
        bytes_ = sum(factor.shifted.nbytes + 2 * factor.counts.nbytes for factor in self._factors.values())
        if bytes_ > MOST_BYTES:
            raise ResultError(f"{self._name} takes more than {sized(MOST_BYTES)}: its design has too many levels")
        shape = (groups, cells)
        self._counts, self._weights = grown(self._counts, shape), grown(self._weights, shape)
        first, least, most = ((self._first, np.nan), (self._least, np.inf), (self._most, -np.inf))
        self._first, self._least, self._most = (
            grown(array, (len(array), *shape), fill) for array, fill in (first, least, most)
        )
        self._shifted = grown(self._shifted, (len(self._shifted), *shape))
        self._ones = grown(self._ones, (len(self._ones), groups))

    def _note_cells(self, kernels: FloatArray, places: IntArray) -> None:
        """Note the first, the least and the greatest kernel of each cell."""
        small = places.astype(np.uint16) if self._counts.size <= 2**16 else places  # sorted in linear time
        order = np.argsort(small, kind="stable") if self._counts.size > 1 else np.arange(len(places))
        present, starts = np.unique(places[order], return_index=True)
        for kernel, values in enumerate(kernels[:, order]):
            first, least, most = (array[kernel].reshape(-1) for array in (self._first, self._least, self._most))
            first[present] = np.where(np.isnan(first[present]), values[starts], first[present])
            least[present] = np.minimum(least[present], np.minimum.reduceat(values, starts))
            most[present] = np.maximum(most[present], np.maximum.reduceat(values, starts))

    def count(self, group: int = 0) -> int:
        """Return the number of rows of a group."""
        return int(self._counts[group].sum()) if group < len(self._counts) else 0

    def rows(
        self,
        tally: Tally,
        *,
        kernel: int = 0,
        group: int = 0,
        scale: float | None = None,
        offset: float = 0.0,
        block_variables: tuple[str, ...] | None = None,
        by_blocks: bool = False,
    ) -> SummedRows:
        """Return the rows of a group with one of the kernels; their weights times `scale`: None if all weigh alike."""
        self._grow(max(group + 1, len(self._counts)), len(self._cells))
        size, uniform = self.count(group), scale is None
        scale = 1 / max(1, size) if scale is None else scale
        there = np.flatnonzero(self._counts[group])
        weights = (self._counts if uniform else self._weights)[group, there] * scale
        first, least, most = (array[kernel, group, there] for array in (self._first, self._least, self._most))
        shifted = self._shifted[kernel, group, there] * scale
        parts, factors = [shifted + first * weights, least, most, shifted], {}
        start, kept = SumLayout(len(there)).start, {}
        for columns, factor in self._factors.items():
            counts = factor.summed("counts", group)[:, there]
            kept[columns] = np.flatnonzero(counts.sum(axis=1))
            of_levels = counts[kept[columns]]
            level_weights = factor.summed("weights", group)[kept[columns]][:, there] * scale
            parts.append((factor.summed("shifted", group)[kernel][kept[columns]][:, there] * scale).reshape(-1))
            in_columns = (factor.counts[:, group].sum(axis=-1) > 0).sum(axis=-1)
            factors[columns] = LevelSums(
                counts=of_levels,
                weights=of_levels * scale if uniform else level_weights,
                start=start,
                outer={},
                in_columns=tuple(in_columns.tolist()),
            )
            start += of_levels.size
        values = self._cells.list_values()
        return SummedRows(
            table=pd.DataFrame(),
            kernel=np.concatenate(parts),
            weights=weights,
            offset=offset,
            variables=self._cells.columns,
            tally=tally,
            block_variables=block_variables,
            by_blocks=by_blocks,
            size=size,
            hits=int(self._ones[kernel, group]),
            cells={
                column: tuple(values[cell][index] for cell in there) for index, column in enumerate(self._cells.columns)
            },
            factors={columns: self._with_outer(columns, sums, kept, group) for columns, sums in factors.items()},
            combinations={
                columns: dict(zip(combined.list_values(), (self._weights_of[columns] * scale).tolist(), strict=True))
                for columns, combined in self._combined.items()
            },
        )

    def _with_outer(
        self, columns: tuple[str, ...], sums: LevelSums, kept: Mapping[tuple[str, ...], IntArray], group: int
    ) -> LevelSums:
        """Return the sums of a factor with those in which it is nested."""
        outer = {}
        for other in self._factors:
            if other == columns or len(kept[other]) >= len(kept[columns]):
                continue
            levels = self._nesting[columns, other].levels(group)
            levels = None if levels is None else levels[kept[columns]]
            if levels is not None and (levels >= 0).all():
                outer[other] = np.searchsorted(kept[other], levels)
        return LevelSums(sums.counts, sums.weights, sums.start, outer, sums.in_columns)
