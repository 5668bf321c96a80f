"""The interval rule: the variance of a figure over rows that share words, from the levels of its factors.

A figure is a weighted sum of a kernel over rows, and the rows of a cross product share words, so they are no sample.
What was sampled are the levels of factors (words, nations, frames). Each level has a projection, the sum of the
weighted, centred kernel over the rows that hold it, and the variance of the figure is made of their squares.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from senseprobe.statistics.arrays import BoolArray, FloatArray, IntArray

__all__ = ["FEWEST_LEVELS", "FactorLevels", "Projection", "psi"]

FEWEST_LEVELS = 5
"""A stratum with fewer levels is fixed: a variance from four or fewer says too little."""

TIE = 1e-6


def psi(difference: ArrayLike, scale: ArrayLike) -> FloatArray:
    """1 where a difference of two scores is positive, 0 where negative, ½ at a tie; any shape, in [0, 1].

    A tie is a difference of at most 1e-6 · max(1, `scale`); `scale` is the larger magnitude of the two scores.
    """
    d = np.asarray(difference, dtype=np.float64)
    tie = np.abs(d) <= TIE * np.maximum(1.0, np.abs(scale))
    return np.where(tie, 0.5, (d > 0).astype(np.float64))


@dataclass(frozen=True, kw_only=True)
class FactorLevels:
    """The levels of one factor that the rows hold.

    - `codes`: shape (C, N), the level of each of N rows in each of C columns; -1 where a row holds none. C is 2 where
      both members of a pair draw from the factor.
    - `strata`: for each of L levels, the name of its stratum; "" where the factor has one stratum only.
    """

    name: str
    codes: IntArray
    strata: tuple[str, ...]

    @cached_property
    def incidence(self) -> sparse.csr_array:
        """How often a row holds a level: shape (N, L), values 0 to C."""
        columns, rows = np.nonzero(self.codes >= 0)
        levels = self.codes[columns, rows]
        shape = (self.codes.shape[1], len(self.strata))
        return sparse.csr_array((np.ones(len(rows)), (rows, levels)), shape=shape)

    @cached_property
    def stratum_sizes(self) -> IntArray:
        """For each level, how many levels its stratum has: shape (L,)."""
        _, which, sizes = np.unique(np.array(self.strata, dtype=object), return_inverse=True, return_counts=True)
        return sizes[which].astype(np.intp)

    @property
    def sampled(self) -> BoolArray:
        """For each level, whether its stratum has levels enough to generalise over: shape (L,)."""
        return self.stratum_sizes >= FEWEST_LEVELS

    def outer_levels(self, other: "FactorLevels") -> IntArray | None:
        """Level of `other` with which each level occurs, shape (L,); None where this factor is not nested in it."""
        together = (self.incidence.T @ other.incidence).tocsr()
        nested = len(other.strata) < len(self.strata) and bool(np.all(np.diff(together.indptr) == 1))
        return together.indices.astype(np.intp) if nested else None

    def fixed(self) -> tuple[str, ...]:
        """Name of the factor where no stratum can be generalised over, else name and stratum of each that cannot."""
        if not self.sampled.any():
            return (self.name,)
        small = {stratum for stratum, sampled in zip(self.strata, self.sampled, strict=True) if not sampled}
        return tuple(f"{self.name} ({stratum})" for stratum in sorted(small))


def _contributing(factor: FactorLevels, factors: Sequence[FactorLevels]) -> BoolArray:
    """Which levels add to the variance: in a large enough stratum, and inside no sampled level of an outer factor."""
    adds = factor.sampled.copy()
    for other in factors:
        outer = factor.outer_levels(other) if other is not factor else None
        if outer is not None:
            adds &= ~other.sampled[outer]
    return adds


class Projection:
    """The interval rule for the figure Σ wᵢ Kᵢ, as far as it does not depend on the values of the kernel K.

    For level j of factor f, e_fj = Σ over rows i that hold j of wᵢ (Kᵢ - weighted mean of K in i's cell). The variance
    is Σ over strata h with n_h ≥ 5 levels of n_h / (n_h - 1) · Σ_{j in h} e_fj², summed over factors; a factor nested
    in another one adds only where the outer one is fixed.

    - `weights`: shape (N,), so that Σ w K is the figure on [0, 1] but for a constant; may be negative.
    - `cells`: shape (N,), codes from 0; no cell's weights may sum to zero.
    - `df`: degrees of freedom, the smallest n_h - 1 of the strata that contribute; None where none does.
    - `levels`: how many levels of each contributing factor the variance generalises over.
    - `fixed`: the factors, or strata of them, that add nothing because they have too few levels.
    """

    def __init__(self, weights: FloatArray, cells: IntArray, factors: Sequence[FactorLevels]) -> None:
        self.weights = weights
        self._cells = cells
        shape = (len(cells), int(cells.max(initial=-1)) + 1)
        self._members = sparse.csr_array((weights, (np.arange(len(cells)), cells)), shape=shape)
        self._cell_weights = np.bincount(cells, weights)
        adds = {factor.name: _contributing(factor, factors) for factor in factors}
        sizes = [factor.stratum_sizes[adds[factor.name]] for factor in factors]
        self._factors = [
            (factor.incidence, np.where(adds[factor.name], _bessel(factor.stratum_sizes), 0.0)) for factor in factors
        ]
        self._sampled = {
            factor.name: factor.incidence[:, np.flatnonzero(adds[factor.name])]
            for factor in factors
            if adds[factor.name].any()
        }
        self.df: int | None = min((int(n.min()) - 1 for n in sizes if len(n)), default=None)
        self.levels: Mapping[str, int] = {f.name: len(n) for f, n in zip(factors, sizes, strict=True) if len(n)}
        self.fixed: tuple[str, ...] = tuple(name for factor in factors for name in factor.fixed())

    def variance(self, kernel: FloatArray) -> FloatArray:
        """Variance of the figure on [0, 1]; `kernel` has shape (N,), or (D, N) for D draws at once."""
        means = _totals(kernel, self._members) / self._cell_weights
        centred = (kernel - means[..., self._cells]) * self.weights
        parts = [np.square(_totals(centred, incidence)) @ scale for incidence, scale in self._factors]
        return np.asarray(sum(parts, start=np.zeros(kernel.shape[:-1])))

    def contributions(self, kernel: FloatArray) -> dict[str, FloatArray]:
        """What each level of each contributing factor adds to Σ w K; `kernel` has shape (N,), not centred.

        A factor's contributions sum to what the rows that hold one of its levels add. Where a row holds two levels, the
        totals of the levels count it twice: what is too much is taken from all of them alike.
        """
        return {name: _shared_out(kernel * self.weights, held) for name, held in self._sampled.items()}


def _totals(values: FloatArray, members: sparse.csr_array) -> FloatArray:
    """Totals of values, shape (N,) or (D, N), over the members of L sets, an (N, L) matrix: shape (L,) or (D, L)."""
    return np.asarray((members.T @ values.T).T, dtype=np.float64)


def _shared_out(values: FloatArray, held: sparse.csr_array) -> FloatArray:
    """Totals over levels, shape (L,), lowered alike so that they sum to the total over the rows that hold any."""
    totals = _totals(values, held)
    carried = values[held.sum(axis=1) > 0].sum()
    return np.asarray(totals - (totals.sum() - carried) / len(totals))


def _bessel(sizes: IntArray) -> FloatArray:
    """Bessel's correction n / (n - 1) for each n; 0 for n = 1, which never contributes."""
    return np.divide(sizes, sizes - 1, out=np.zeros(len(sizes)), where=sizes > 1)
