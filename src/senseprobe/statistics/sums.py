"""The interval rule of a figure whose rows are no longer there: of sums by level of a factor and cell.

Σ wᵢ Kᵢ and its variance need the rows only in sums: for each level j of a factor and each cell c, how many rows hold
both, Σ w and Σ w K over them; and of each cell the least and the greatest kernel, which say whether its rows agree. So
rows may pass by in parts, and what stays in memory is as large as the design has levels and cells.

What stands for a kernel is a vector of its sums, `SumLayout`, and what stands for rows are the cells.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse

from senseprobe.statistics.intervals import (
    Block,
    BoolArray,
    FloatArray,
    IntArray,
    Levels,
    Projection,
    _CountedLevels,
)


@dataclass(frozen=True, kw_only=True)
class SummedLevels(Levels):
    """The levels of one factor, by the cells in which they are.

    - `counts`: shape (L, C), how many rows of a cell have a level; a row that has it twice counts twice.
    - `weights`: shape (L, C), the sum of their weights.
    - `start`: where its sums begin in the vector of a kernel (`SumLayout`).
    - `outer`: by the name of each other factor in which it is nested, the level with which each of its own occurs.
    """

    counts: IntArray
    weights: FloatArray
    start: int
    outer: Mapping[str, IntArray] = field(default_factory=dict)

    @cached_property
    def incidence(self) -> sparse.csr_array:
        """How often a cell has a level: shape (C, L)."""
        return sparse.csr_array(self.counts.T.astype(np.float64))

    def outer_levels(self, other: Levels) -> IntArray | None:
        """Return the level of `other` with which each level occurs, shape (L,); None if not one level each."""
        return self.outer.get(other.name)

    def totals(self, kernel: FloatArray) -> FloatArray:
        """Return the sums of a kernel by level and cell, as `SumLayout` has them: shape (L, C) or (D, L, C)."""
        end = self.start + self.counts.size
        return kernel[..., self.start : end].reshape(*kernel.shape[:-1], *self.counts.shape)


@dataclass(frozen=True, slots=True)
class SumLayout:
    """How the sums of a kernel K lie in a vector, given a number of `cells`.

    First Σ w K of each cell, then its least K, its greatest, and Σ w (K - its first K); then for each factor the last
    of these by level and cell, level by level. Sums of small numbers lose no digits that a variance needs, and the
    first K of a cell cancels out of it.
    """

    cells: int

    def totals(self, kernel: FloatArray) -> FloatArray:
        """Return Σ w K of each cell: shape (C,) or (D, C)."""
        return kernel[..., : self.cells]

    def agreeing(self, kernel: FloatArray) -> BoolArray:
        """Return whether all rows of a cell have the same kernel."""
        least, most = kernel[..., self.cells : 2 * self.cells], kernel[..., 2 * self.cells : 3 * self.cells]
        return np.asarray(least == most)

    def shifted(self, kernel: FloatArray) -> FloatArray:
        """Return Σ w (K - first K) of each cell."""
        return kernel[..., 3 * self.cells : 4 * self.cells]

    @property
    def start(self) -> int:
        """Where the sums of the first factor begin."""
        return 4 * self.cells


class SummedProjection(Projection):
    """The interval rule over sums: its figures are those of `Projection` over the rows that were summed.

    - `weights`: shape (C,), Σ w of each cell; `blocks`: shape (C,), codes from 0 of sets of cells; None: each is one.
    - Kernels are vectors of their sums, shape (M,), or (D, M) for D draws.
    """

    def __init__(
        self,
        weights: FloatArray,
        factors: Sequence[SummedLevels],
        blocks: IntArray | None = None,
        *,
        by_blocks: bool = False,
    ) -> None:
        super().__init__(weights, np.arange(len(weights)), factors, blocks, by_blocks=by_blocks)
        self.layout = SumLayout(len(weights))
        self._summed = tuple(factors)

    def projections_in(self, kernel: FloatArray, cells: IntArray) -> list[FloatArray]:
        """Return e_fj of each factor over the rows of some cells: shape (L,) or (D, L)."""
        means = (self.layout.shifted(kernel) / self.weights)[..., cells]
        return [
            factor.totals(kernel)[..., cells].sum(axis=-1) - means @ factor.weights[:, cells].T
            for factor in self._summed
        ]

    def projections(self, kernel: FloatArray) -> Iterator[FloatArray]:
        """Yield e_fj of each factor, what its levels add to the centred sum: shape (L,), or (D, L)."""
        yield from self.projections_in(kernel, self.cells)

    def has_unanimous_cell(self, kernel: FloatArray) -> BoolArray:
        """Return whether all rows of some cell, of unknown mean, have the same kernel: shape () or (D,)."""
        cells = np.array([cell for (cell,) in self._sampled_cells], dtype=np.intp)
        return np.asarray(self.layout.agreeing(kernel)[..., cells].any(axis=-1))

    def _block(self, factors: Sequence[_CountedLevels], rows: IntArray) -> Block:
        return _SummedBlock(self, factors, rows)


class _SummedBlock(Block):
    """Cells of a summed figure whose means enter it with the same sign."""

    def __init__(self, whole: SummedProjection, factors: Sequence[_CountedLevels], rows: IntArray) -> None:
        super().__init__(whole, factors, rows)
        self._whole = whole

    def shares(self, kernel: FloatArray) -> FloatArray:
        """Return the mean of the block; `kernel` is that of the figure, shape (M,) or (D, M)."""
        totals = self._whole.layout.totals(kernel)[..., self.rows].sum(axis=-1)
        return np.asarray(np.round(totals / self.coefficient, 12))

    def variances(self, kernel: FloatArray) -> FloatArray:
        """Return the variance of that mean."""
        return self.variance(kernel)

    def projections(self, kernel: FloatArray) -> Iterator[FloatArray]:
        """Yield e_fj of each factor over the rows of the block: shape (L,), or (D, L)."""
        yield from (totals / self.coefficient for totals in self._whole.projections_in(kernel, self.rows))
