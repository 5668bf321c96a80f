"""The interval rule: the variance of a figure over rows that share words, and the intervals that follow from it.

A figure is a weighted sum of a kernel over rows, and the rows of a cross product share words: they are not independent.
The levels of factors (words, nations, frames) were sampled. Each level has a projection, the sum of the weighted,
centred kernel over its rows, and the variance of the figure is a sum of their squares.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, special

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
Ends = tuple[float, float]

CONFIDENCE = 0.95
"""The confidence of printed intervals; equivalence is tested with one of 0.9."""

LEVEL = 0.05
"""The level of tests: a p below it is small."""

# A variance below this is rounding of floating-point sums: one row among two million changes it by 1e-13.
NO_VARIANCE = 1e-24

FEWEST_LEVELS = 5
"""A stratum with fewer levels is fixed: a variance from four or fewer is too uncertain."""

TIE = 1e-6

Scale: TypeAlias = Literal["log", "probability"]
"""The numbers of a scorer: logarithms, whose float noise is absolute, or probabilities, of any size."""

SCALES: tuple[Scale, ...] = get_args(Scale)


def psi(difference: ArrayLike, size: ArrayLike, scale: Scale) -> FloatArray:
    """Return 1 where a difference of two scores is positive, 0 where negative, ½ at a tie; any shape, in [0, 1].

    `size` is the larger magnitude of the two scores. On a ``log`` scale a tie is a difference of at most
    1e-6 · max(1, `size`), since the float noise of a log-softmax is absolute; on a ``probability`` scale of at most
    1e-6 · `size`, since models with real vocabularies give 1e-7 and less all the time.
    """
    d = np.asarray(difference, dtype=np.float64)
    magnitude = np.abs(np.asarray(size, dtype=np.float64))
    tie = np.abs(d) <= TIE * (np.maximum(1.0, magnitude) if scale == "log" else magnitude)
    return np.where(tie, 0.5, (d > 0).astype(np.float64))


def psi_between(first: ArrayLike, second: ArrayLike, scale: Scale) -> FloatArray:
    """Return ψ of two scores, any shapes that fit: 1 where the first is above the second, 0 where below, ½ at a tie.

    >>> psi_between([-1.0, -2.0, -3.0], [-2.0, -1.0, -3.0], "log").tolist()
    [1.0, 0.0, 0.5]
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    return psi(a - b, np.fmax(np.abs(a), np.abs(b)), scale)


@dataclass(frozen=True, kw_only=True)
class Levels(ABC):
    """The levels of one factor, in strata, and in which rows they are.

    - `strata`: for each of L levels, the name of its stratum; "" where the factor has one stratum only.
    - `population`: of drawn rows, for each level how many its stratum has in the release, of which a few may be left.
    """

    name: str
    strata: tuple[str, ...]
    population: tuple[int, ...] = ()

    @property
    @abstractmethod
    def incidence(self) -> sparse.csr_array:
        """How often a row has a level: shape (N, L), values 0 to C."""

    @abstractmethod
    def outer_levels(self, other: "Levels") -> IntArray | None:
        """Return the level of `other` with which each level occurs, shape (L,); None if not one level each."""

    @cached_property
    def stratum_sizes(self) -> IntArray:
        """For each level, the number of levels in its stratum: shape (L,)."""
        _, which, sizes = np.unique(np.array(self.strata, dtype=object), return_inverse=True, return_counts=True)
        return sizes[which].astype(np.intp)

    @property
    def sampled(self) -> BoolArray:
        """For each level, whether its stratum, or that which it was drawn of, has enough to generalise over: (L,)."""
        sizes = self.stratum_sizes
        return np.maximum(sizes, self.population or sizes) >= FEWEST_LEVELS

    def fixed(self) -> tuple[str, ...]:
        """Return the name of the factor where all strata are fixed, else name and stratum of each that is."""
        if not self.sampled.any():
            return (self.name,)
        small = {stratum for stratum, sampled in zip(self.strata, self.sampled, strict=True) if not sampled}
        return tuple(f"{self.name} ({stratum})" for stratum in sorted(small))


@dataclass(frozen=True, kw_only=True)
class FactorLevels(Levels):
    """The levels of one factor in rows that are at hand.

    - `codes`: shape (C, N), the level of each of N rows in each of C columns; -1 where a row has none. C is 2 where
      both members of a pair draw from the factor.
    """

    codes: IntArray

    @cached_property
    def incidence(self) -> sparse.csr_array:
        """How often a row has a level: shape (N, L), values 0 to C."""
        columns, rows = np.nonzero(self.codes >= 0)
        levels = self.codes[columns, rows]
        shape = (self.codes.shape[1], len(self.strata))
        return sparse.csr_array((np.ones(len(rows)), (rows, levels)), shape=shape)

    def outer_levels(self, other: Levels) -> IntArray | None:
        """Return the level of `other` with which each level occurs, shape (L,); None if not one level each."""
        together = (self.incidence.T @ other.incidence).tocsr()
        nested = len(other.strata) < len(self.strata) and bool(np.all(np.diff(together.indptr) == 1))
        return together.indices.astype(np.intp) if nested else None


@dataclass(frozen=True)
class _CountedLevels:
    """The levels of a factor that a variance counts, with their strata.

    - `incidence`: how often a row has a level, shape (N, L); `counts`: which levels count, shape (L,).
    - `strata`: code of each level's stratum, shape (L,).
    - `more`: how many more levels its stratum is taken to have than there are, shape (L,): 0 but in a prediction.
    """

    incidence: sparse.csr_array
    counts: BoolArray
    strata: IntArray
    more: IntArray

    @classmethod
    def of(cls, factor: Levels, factors: Sequence[Levels], more: Mapping[str, int]) -> "_CountedLevels":
        """Return the levels of one of the factors that the variance of a whole figure counts; `more` is by stratum."""
        _, strata = np.unique(np.array(factor.strata, dtype=object), return_inverse=True)
        added = np.array([more.get(stratum, 0) for stratum in factor.strata], dtype=np.intp)
        counts = factor.sampled.copy()
        for other in factors:
            outer = factor.outer_levels(other) if other is not factor else None
            if outer is not None:  # the levels of a sampled outer level add nothing
                counts &= ~other.sampled[outer]
        return cls(factor.incidence, counts, strata.astype(np.intp), added)

    def among(self, rows: IntArray) -> "_CountedLevels":
        """Return the same for some of the rows; levels that none of them has do not count."""
        incidence = self.incidence[rows]
        return _CountedLevels(incidence, self.counts & (incidence.sum(axis=0) > 0), self.strata, self.more)

    @property
    def in_rows(self) -> BoolArray:
        """Whether each row has a level that counts: shape (N,)."""
        return np.asarray(self.incidence @ self.counts.astype(np.float64) > 0)

    @property
    def sizes(self) -> IntArray:
        """For each level that counts, the number of such levels in its stratum."""
        strata = self.strata[self.counts]
        return np.bincount(strata)[strata] if len(strata) else strata

    @property
    def are_few(self) -> bool:
        """Whether a stratum has fewer levels in the rows than a variance needs, as happens to drawn rows."""
        return bool((self.sizes < FEWEST_LEVELS).any())

    @property
    def scale(self) -> FloatArray:
        """The weight of the square of each level's projection, Bessel's correction n / (n - 1): shape (L,).

        Of n + k levels whose means vary as those of n do, a stratum adds n / (n + k) of the variance.
        """
        scale, n = np.zeros(len(self.counts)), self.sizes
        scale[self.counts] = np.divide(n, n - 1, out=np.zeros(len(n)), where=n > 1)  # n = 1 never contributes
        scale[self.counts] *= n / (n + self.more[self.counts])
        return scale


def _fewest_levels(factors: Iterable[_CountedLevels]) -> int | None:
    """Return the number of levels of the smallest stratum that counts; None where none does."""
    sizes = (factor.sizes + factor.more[factor.counts] for factor in factors if factor.counts.any())
    return min((int(size.min()) for size in sizes), default=None)


class _Sum:
    """A weighted sum of a kernel, Σ wᵢ Kᵢ, with its variance."""

    def __init__(self, weights: FloatArray, cells: IntArray, factors: Sequence[_CountedLevels]) -> None:
        self.weights = weights
        self.cells = cells
        shape = (len(cells), int(cells.max(initial=-1)) + 1)
        self._members = sparse.csr_array((weights, (np.arange(len(cells)), cells)), shape=shape)
        self._cell_weights = np.bincount(cells, weights)
        self._factors = [(factor.incidence, factor.scale) for factor in factors]

    def projections(self, kernel: FloatArray) -> Iterator[FloatArray]:
        """Yield e_fj of each factor, what its levels add to the centred sum: shape (L,), or (D, L)."""
        means = _totals(kernel, self._members) / self._cell_weights
        centred = (kernel - means[..., self.cells]) * self.weights
        return (_totals(centred, incidence) for incidence, _ in self._factors)

    def variance(self, kernel: FloatArray) -> FloatArray:
        """Return the variance of the sum; `kernel` has shape (N,), or (D, N) for D draws at once."""
        scales = (scale for _, scale in self._factors)
        variances = [np.square(totals) @ scale for totals, scale in zip(self.projections(kernel), scales, strict=True)]
        return np.asarray(sum(variances, start=np.zeros(kernel.shape[:-1])))


class Block(_Sum):
    """Cells whose means enter a figure with the same sign: their mean is a share with a variance of its own.

    - `rows`: the rows of the block; `coefficient`: the weight of the block's mean in the figure.
    - `size`: the number of cells; `levels`: the number of levels, in these rows, of the smallest sampled stratum; None
      where no stratum was sampled, so that the mean is known.
    """

    def __init__(self, whole: _Sum, factors: Sequence[_CountedLevels], rows: IntArray) -> None:
        counted = [factor.among(rows) for factor in factors]
        self.rows = rows
        self.coefficient = float(whole.weights[rows].sum())
        _, cells = np.unique(whole.cells[rows], return_inverse=True)
        super().__init__(whole.weights[rows] / self.coefficient, cells.astype(np.intp), counted)
        self.size = int(cells.max()) + 1
        self.levels = _fewest_levels(counted)

    def shares(self, kernel: FloatArray) -> FloatArray:
        """Return the mean of the block; `kernel` is that of the figure, shape (N,) or (D, N)."""
        # Rounded, so that the mean of ones is 1.
        return np.round(kernel[..., self.rows] @ self.weights, 12)

    def variances(self, kernel: FloatArray) -> FloatArray:
        """Return the variance of that mean."""
        return self.variance(kernel[..., self.rows])


class Projection(_Sum):
    """The interval rule for the figure Σ wᵢ Kᵢ, as far as it does not depend on the values of the kernel K.

    For level j of factor f, e_fj = Σ over rows i that have j of wᵢ (Kᵢ - weighted mean of K in i's cell). The variance
    is Σ over strata h with n_h ≥ 5 levels of n_h / (n_h - 1) · Σ_{j in h} e_fj², summed over factors; a factor nested
    in another one adds only where the outer one is fixed.

    - `weights`: shape (N,), so that Σ w K is the figure on [0, 1] but for a constant; may be negative.
    - `cells`: shape (N,), codes from 0; no cell's weights may sum to zero.
    - `blocks`: shape (N,), codes from 0 of sets of cells whose weights share one sign; None: each cell is a block.
    - `df`: degrees of freedom, the smallest n_h - 1 of the strata that contribute; None where none does.
    - `levels`: the number of levels of each contributing factor over which the variance generalises.
    - `fixed`: the factors, or strata of them, that add nothing because they have too few levels.
    - `too_few`: the factors of which too few levels were drawn for an interval, though the release samples them: `df`
      is None then. Where `by_blocks`, whether the interval is made of those of the blocks, each needs enough.
    - `more`: by factor and stratum, how many more levels the variance is to be of: see `with_more_levels`.
    """

    def __init__(
        self,
        weights: FloatArray,
        cells: IntArray,
        factors: Sequence[Levels],
        blocks: IntArray | None = None,
        more: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
        *,
        by_blocks: bool = False,
    ) -> None:
        counted_levels = {f.name: _CountedLevels.of(f, factors, more.get(f.name, {})) for f in factors}
        super().__init__(weights, cells, [*counted_levels.values()])
        self.factors = tuple(factors)
        self._counted_levels = counted_levels
        self._block_codes = cells if blocks is None else blocks
        self._by_blocks = by_blocks
        block_rows = _groups(self._block_codes) if by_blocks else []
        self.too_few: tuple[str, ...] = tuple(
            factor.name
            for factor, counted in zip(factors, counted_levels.values(), strict=True)
            if factor.population and any(levels.are_few for levels in (counted, *map(counted.among, block_rows)))
        )
        fewest = _fewest_levels(counted_levels.values())
        self.df: int | None = None if fewest is None or self.too_few else fewest - 1
        level_counts = {name: int(factor.counts.sum()) for name, factor in counted_levels.items()}
        self.levels: Mapping[str, int] = {name: count for name, count in level_counts.items() if count}
        self.fixed: tuple[str, ...] = tuple(name for factor in factors for name in factor.fixed())

    @property
    def strata(self) -> dict[tuple[str, str], int]:
        """The number of levels of each stratum that contributes, by factor and stratum."""
        counts: Counter[tuple[str, str]] = Counter()
        for factor in self.factors:
            names = zip(factor.strata, self._counted_levels[factor.name].counts, strict=True)
            counts.update((factor.name, stratum) for stratum, adds in names if adds)
        return dict(counts)

    def with_more_levels(self, factor: str, stratum: str, count: int) -> "Projection":
        """Return the rule as it would be if a stratum had `count` more levels whose means vary as those there do.

        Its part of the variance shrinks from 1 / n to 1 / (n + count), and the degrees of freedom grow where it is the
        smallest; what other factors add is taken to stay, although more levels would average some of that out, too.
        """
        blocks = None if self._block_codes is self.cells else self._block_codes
        more = {factor: {stratum: count}}
        return Projection(self.weights, self.cells, self.factors, blocks, more, by_blocks=self._by_blocks)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of the figure, whose means times their coefficients sum to Σ w K."""
        return tuple(self._block([*self._counted_levels.values()], rows) for rows in _groups(self._block_codes))

    def _block(self, factors: Sequence[_CountedLevels], rows: IntArray) -> Block:
        return Block(self, factors, rows)

    @cached_property
    def _sampled_cells(self) -> tuple[IntArray, ...]:
        """Rows of each cell in which a sampled factor varies: the mean of any other cell is known."""
        sampled = np.any(
            [np.zeros(len(self.cells), np.bool_), *(factor.in_rows for factor in self._counted_levels.values())], axis=0
        )
        return tuple(rows for rows in _groups(self.cells) if sampled[rows].any())

    def has_unanimous_cell(self, kernel: FloatArray) -> BoolArray:
        """Return whether all rows of some cell, of unknown mean, have the same kernel: shape () or (D,)."""
        agree = [np.ptp(kernel[..., rows], axis=-1) == 0 for rows in self._sampled_cells]
        return np.asarray(np.any([np.zeros(kernel.shape[:-1], np.bool_), *agree], axis=0))

    def contributions(self, kernel: FloatArray) -> dict[str, FloatArray]:
        """Return what each level of a factor adds to Σ w K, by factor; `kernel` has shape (N,), not centred.

        They sum to the figure: the excess of rows with two levels is taken from all alike. So a factor has them only if
        each of its levels contributes and each row has one: without nurse the sum is no figure. Rounding is 0.
        """
        values, contributions = kernel * self.weights, {}
        for name, factor in self._counted_levels.items():
            if factor.counts.all() and factor.in_rows.all():
                totals, size = _totals(values, factor.incidence), _totals(np.abs(values), factor.incidence).max()
                totals -= (totals.sum() - values.sum()) / len(totals)
                contributions[name] = np.where(np.abs(totals) > 1e-9 * size, totals, 0.0)
        return contributions


def _groups(codes: IntArray) -> list[IntArray]:
    """Return the rows of each code."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes))[:-1]) if len(codes) else []


def _totals(values: FloatArray, members: sparse.csr_array) -> FloatArray:
    """Sum values, shape (N,) or (D, N), over the members of L sets, an (N, L) matrix: shape (L,) or (D, L)."""
    return np.asarray((members.T @ values.T).T, dtype=np.float64)


# --- Intervals from a variance --------------------------------------------------------------------------------------


@cache
def t_quantile(df: int, confidence: float) -> float:
    """Return the two-sided quantile of Student's t at the confidence level.

    >>> round(t_quantile(10, 0.95), 3), round(t_quantile(10_000, 0.95), 3)
    (2.228, 1.96)
    """
    return float(special.stdtrit(df, (1 + confidence) / 2))


def bounded_interval(share: float, variance: float, df: int | None, confidence: float = CONFIDENCE) -> Ends | None:
    """Return the interval of a figure on [0, 1], in points from -50 to 50; None where it cannot be estimated.

    It is computed on the logit scale. At a share of exactly 1 (or 0) the lower (upper) end is the smallest share under
    which df + 1 independent levels would all agree once in forty times (at a confidence of 0.95).
    """
    if df is None:
        return None
    if share in (0.0, 1.0):
        end = 100 * ((1 - confidence) / 2) ** (1 / (df + 1)) - 50
        return (end, 50.0) if share else (-50.0, -end)
    if variance <= NO_VARIANCE:
        return None
    spread = share * (1 - share)
    centre, reach = math.log(share / (1 - share)), t_quantile(df, confidence) * math.sqrt(variance) / spread
    return 100 * float(special.expit(centre - reach)) - 50, 100 * float(special.expit(centre + reach)) - 50


LEVEL_DEVIATION = 0.25
"""How far the mean of a level (a word, a frame) lies from those of others, as a standard deviation, before it is known.

It is that of the mix `levels` of `docs/coverage.md`, whose half-widths `planned_half_width` comes near to.
"""


def planned_half_width(factors: Iterable[Sequence[int]], rows: int) -> float | None:
    """Return about the half-width, in points, of the interval of a share of 0.5 over so many rows, none of them scored.

    `factors` has the numbers of levels of the strata of each factor. A row is 0 or 1, and the levels of each factor
    differ by LEVEL_DEVIATION. None where every stratum is fixed. Nearer to 0 and 1 intervals are narrower.
    """
    variance, sampled, between = 0.0, [], LEVEL_DEVIATION**2
    for strata in factors:
        whole = sum(strata)
        within = (0.25 - between) * min(1.0, whole / rows) if rows else 0.0
        for levels in (levels for levels in strata if levels >= FEWEST_LEVELS):
            sampled.append(levels)
            variance += (levels / whole) ** 2 * (between + within) / levels
    ends = bounded_interval(0.5, variance, min(sampled) - 1) if sampled else None
    return ends and ends[1]


def difference_interval(
    difference: float, variance: float, df: int | None, confidence: float = CONFIDENCE, *, limit: float = 100.0
) -> Ends | None:
    """Return the interval of a difference of two figures, in points from -`limit` to `limit`; None if not estimable.

    `difference` is in points, `variance` on the scale of [0, 1]; the difference of two differences goes up to 200.
    """
    if df is None or variance <= NO_VARIANCE:
        return None
    reach = 100 * t_quantile(df, confidence) * math.sqrt(variance)
    return max(-limit, difference - reach), min(limit, difference + reach)


def difference_p(difference: float, variance: float, df: int | None) -> float | None:
    """Return the two-sided p-value of a difference, in points, against 0; None where there is no interval.

    It is below 0.05 exactly where `difference_interval` excludes 0: both are Student's t with `df` degrees. It has nine
    digits, which the order of the rows does not change.
    """
    if df is None or variance <= NO_VARIANCE:
        return None
    return float(f"{2 * special.stdtr(df, -abs(difference) / (100 * math.sqrt(variance))):.9g}")
