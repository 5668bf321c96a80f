"""Cosines, effect sizes of association tests and correlations, with intervals from the jackknife.

A test has two sets of targets, X and Y, and two of attributes, A and B. The association of a target is its mean cosine
with the words of A minus that with those of B, and the effect size is a standardised difference of their means over X
and over Y (Caliskan, Bryson & Narayanan 2017; May et al. 2019).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from senseprobe.statistics.intervals import CONFIDENCE, FEWEST_LEVELS, Ends, FloatArray, t_quantile

EQUAL = 1e-12
"""Associations are equal that differ by at most this, times the largest magnitude."""


def pairwise_cosines(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """Return the cosine of each vector of the first, shape (N, D), with each of the second, (M, D): shape (N, M).

    NaN where one of the two is zero or not finite.

    >>> pairwise_cosines([[1, 0], [0, 2]], [[3, 0], [1, 1]]).round(3).tolist()
    [[1.0, 0.707], [0.0, 0.707]]
    """
    vectors = [np.asarray(side, dtype=np.float64) for side in (first, second)]
    lengths = [np.sqrt(np.einsum("nd,nd->n", side, side)) for side in vectors]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(vectors[0] @ vectors[1].T / lengths[0][:, None] / lengths[1])


def unit_vectors(vectors: ArrayLike) -> FloatArray:
    """Return vectors, shape (N, D), with length 1; NaN for one that is zero, which has no direction, or not finite."""
    array = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    unit: FloatArray = np.divide(array, lengths, out=np.full_like(array, np.nan), where=lengths > 0)
    return unit


def effect_size(x: ArrayLike, y: ArrayLike, *, population: bool = False) -> float | None:
    """Return d, the difference of the means of x and y, shapes (n_x,) and (n_y,), over the standard deviation of both.

    The deviation is that of all values around their common mean, with n - 1 in its denominator, or n for `population`.
    With sets of equal size n, d lies in ±2 · √((2n - 1)/2n), and in ±2 for `population`. None where all values are
    equal. Raise ValueError where a set is empty or a value is not finite.

    >>> round(effect_size([0.3, 0.2, 0.4], [0.1, 0.0, -0.1]), 3)
    1.604
    """
    first, second = (np.sort(np.asarray(side, dtype=np.float64).ravel()) for side in (x, y))
    every = np.sort(np.concatenate([first, second]))  # the order of the words changes nothing
    if not (len(first) and len(second) and np.isfinite(every).all()):
        raise ValueError("a set is empty or has a value that is not finite")
    if every[-1] - every[0] <= EQUAL * np.abs(every).max():
        return None
    return float((first.mean() - second.mean()) / every.std(ddof=0 if population else 1))


def effect_interval(
    cosines: ArrayLike, n_x: int, n_a: int, confidence: float = CONFIDENCE, *, population: bool = False
) -> Ends | None:
    """Return the interval of d over lists of this length, from cosines of shape (n_x + n_y, n_a + n_b).

    Rows are targets, those of X first, columns attributes, those of A first. As r = d · √(n_x · n_y)/N, with d for
    `population` and N targets, is a correlation, z = atanh r is shifted by ± t · √V. V is the jackknife's: the sum over
    the four sets of (n - 1)/n · Σ (z without a word - their mean)². t has the degrees of freedom of the smallest set.

    None where a set has fewer than five words, the correlation is ±1, or no word makes a difference. Raise ValueError
    where a cosine is not finite.
    """
    table = np.asarray(cosines, dtype=np.float64)
    if not np.isfinite(table).all():
        raise ValueError("a cosine is not finite")
    targets, attributes = table.shape
    sizes = (n_x, targets - n_x, n_a, attributes - n_a)
    if min(sizes) < FEWEST_LEVELS:
        return None
    with_a, with_b = table[:, :n_a].sum(axis=1)[:, None], table[:, n_a:].sum(axis=1)[:, None]
    associations = with_a / n_a - with_b / sizes[3]
    without_a = (with_a - table[:, :n_a]) / (n_a - 1) - with_b / sizes[3]
    without_b = with_a / n_a - (with_b - table[:, n_a:]) / (sizes[3] - 1)
    everyone = np.ones((targets, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        others = [_fisher_z(without, everyone, n_x) for without in (without_a, without_b)]
    return _effect_ends(associations, n_x, others, min(sizes) - 1, confidence, population=population)


def _effect_ends(
    associations: FloatArray,
    n_x: int,
    others: Sequence[FloatArray],
    degrees: int,
    confidence: float,
    *,
    population: bool = False,
) -> Ends | None:
    """Return the interval of d of associations, (N, 1); `others` are z without each word that is not among them."""
    count = len(associations)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = float(_fisher_z(associations, np.ones((count, 1)), n_x)[0])
        jackknifed = np.split(_fisher_z(associations, 1 - np.eye(count), n_x), [n_x])
        ends = _jackknife_ends(z, [*jackknifed, *others], degrees, confidence)
    if ends is None or not abs(math.tanh(z)) < 1 - EQUAL:
        return None
    scale = count / math.sqrt(n_x * (count - n_x)) * (1 if population else math.sqrt((count - 1) / count))
    return scale * math.tanh(ends[0]), scale * math.tanh(ends[1])


def _jackknife_ends(value: float, jackknifed: Iterable[FloatArray], degrees: int, confidence: float) -> Ends | None:
    """Return value ± t · √V; None where V, the jackknife's variance, is zero or not finite.

    `jackknifed`: for each set of n words, the value without each word in turn. V = Σ (n - 1)/n · Σ (value - mean)².
    """
    variance = sum((1 - 1 / len(values)) * float(((values - values.mean()) ** 2).sum()) for values in jackknifed)
    if not (math.isfinite(variance) and variance > 0):
        return None
    reach = t_quantile(degrees, confidence) * math.sqrt(variance)
    return value - reach, value + reach


def single_category_interval(a: ArrayLike, b: ArrayLike, confidence: float = CONFIDENCE) -> Ends | None:
    """Return the interval of `effect_size` of one target's cosines with A and B, over attributes like these.

    That is d(w) of equations 2 and 3 of Zhou et al. (2022) for a single target, with the interval of `effect_interval`.
    None where a set has fewer than five words, or A and B are told apart completely. ValueError where a cosine is not
    finite.
    """
    first, second = (np.asarray(side, dtype=np.float64).ravel() for side in (a, b))
    values, smallest = np.concatenate([first, second])[:, None], min(len(first), len(second))
    if not np.isfinite(values).all():
        raise ValueError("a cosine is not finite")
    return None if smallest < FEWEST_LEVELS else _effect_ends(values, len(first), (), smallest - 1, confidence)


def mean_effect_interval(cosines: ArrayLike, n_a: int, confidence: float = CONFIDENCE) -> Ends | None:
    """Return the interval of the mean of d(w) over words, from cosines of shape (words, n_a + n_b).

    The jackknife's over words, A and B, whose variances add up, on the scale of `effect_interval`: of the mean of d/s,
    where s is the largest d of as many attributes. None where there are fewer than five of one of the three, or A and
    B are told apart completely.
    """
    table = np.asarray(cosines, dtype=np.float64)
    words, attributes = table.shape
    sizes = (words, n_a, attributes - n_a)
    if min(sizes) < FEWEST_LEVELS or not np.isfinite(table).all():
        return None
    effects = _row_effects(table, n_a) / _largest_effect(n_a, sizes[2])
    sizes_left = ((n_a - (n < n_a), sizes[2] - (n >= n_a)) for n in range(attributes))
    without = zip(_effects_without(table, n_a), sizes_left, strict=True)
    left = np.array([effects_left.mean() / _largest_effect(*sets) for effects_left, sets in without])
    with np.errstate(divide="ignore", invalid="ignore"):
        z = float(np.arctanh(effects.mean()))
        jackknifed = map(np.arctanh, ((effects.sum() - effects) / (words - 1), *np.split(left, [n_a])))
        ends = _jackknife_ends(z, jackknifed, min(sizes) - 1, confidence)
    if ends is None or not abs(math.tanh(z)) < 1 - EQUAL:
        return None
    largest = _largest_effect(n_a, sizes[2])
    return largest * math.tanh(ends[0]), largest * math.tanh(ends[1])


def _largest_effect(n_a: int, n_b: int) -> float:
    """Return the largest d of sets of these sizes: that of A told apart from B completely."""
    count = n_a + n_b
    return math.sqrt(count * (count - 1) / (n_a * n_b))


def _row_effects(cosines: FloatArray, n_a: int) -> FloatArray:
    """Return d(w) of each word, from cosines of shape (words, n_a + n_b)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        differences = cosines[:, :n_a].mean(axis=1) - cosines[:, n_a:].mean(axis=1)
        return np.asarray(differences / cosines.std(axis=1, ddof=1))


def _effects_without(table: FloatArray, n_a: int) -> Iterator[FloatArray]:
    """Yield d(w) of each word without each attribute in turn."""
    return (_row_effects(np.delete(table, n, axis=1), n_a - (n < n_a)) for n in range(table.shape[1]))


def shared_effect_difference(
    first: ArrayLike, second: ArrayLike, n_a: int, confidence: float = CONFIDENCE
) -> tuple[float, Ends | None]:
    """Return d(w) of one word less that of another, from their cosines with the same attributes.

    The interval is the jackknife's over A and B, each left out for both words; None with fewer than five in one,
    or where no attribute makes a difference.
    """
    table = np.array([first, second], dtype=np.float64)
    smallest, effects = min(n_a, table.shape[1] - n_a), _row_effects(table, n_a)
    value = float(effects[0] - effects[1])
    if smallest < FEWEST_LEVELS:
        return value, None
    left = np.array([effects_left[0] - effects_left[1] for effects_left in _effects_without(table, n_a)])
    return value, _jackknife_ends(value, np.split(left, [n_a]), smallest - 1, confidence)


def mean_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> Ends | None:
    """Return the t interval of the mean of values, shape (n,); None of fewer than five, or of equal ones.

    >>> low, high = mean_interval([1, 2, 3, 4, 5])
    >>> round(low, 2), round(high, 2)
    (1.04, 4.96)
    """
    sample = np.asarray(values, dtype=np.float64)
    if len(sample) < FEWEST_LEVELS or not (deviation := float(sample.std(ddof=1))) > 0:
        return None
    reach = t_quantile(len(sample) - 1, confidence) * deviation / math.sqrt(len(sample))
    return float(sample.mean()) - reach, float(sample.mean()) + reach


def mean_difference_interval(first: ArrayLike, second: ArrayLike, confidence: float = CONFIDENCE) -> Ends | None:
    """Return the t interval of the mean of first less that of second, with the degrees of freedom of the smaller.

    None of fewer than five values in both together, or where neither side varies.
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (first, second)]
    error = math.sqrt(sum(float(side.var(ddof=1)) / len(side) for side in sides))
    if sum(map(len, sides)) < FEWEST_LEVELS or not error > 0:
        return None
    value, reach = float(sides[0].mean() - sides[1].mean()), t_quantile(min(map(len, sides)) - 1, confidence) * error
    return value - reach, value + reach


def _fisher_z(associations: FloatArray, counts: FloatArray, n_x: int) -> FloatArray:
    """Return atanh r of M versions of a test, shape (M,): associations and the targets kept, (N, M) or (N, 1) each."""
    ours, others = counts[:n_x].sum(axis=0), counts[n_x:].sum(axis=0)
    count = ours + others
    centred = associations - (associations * counts).sum(axis=0) / count
    difference = (centred * counts)[:n_x].sum(axis=0) / ours - (centred * counts)[n_x:].sum(axis=0) / others
    deviation = np.sqrt((centred**2 * counts).sum(axis=0) / count)
    return np.asarray(np.arctanh(difference / deviation * np.sqrt(ours * others) / count))


# --- Correlations -----------------------------------------------------------------------------------------------------


class Correlation(NamedTuple):
    """A correlation of `pairs` pairs: `value` in [-1, 1], and its interval; None where it cannot be estimated."""

    value: float | None
    low: float | None
    high: float | None
    pairs: int

    @property
    def excludes_zero(self) -> bool:
        """Whether there is an interval, and 0 is not in it."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def correlate(x: ArrayLike, y: ArrayLike, confidence: float = CONFIDENCE) -> Correlation:
    """Return Pearson's correlation of x and y, shape (n,) each, over the pairs of which both are finite.

    The interval is z ± t · √V, back from z = atanh r, with n - 1 degrees of freedom; V is the jackknife's over pairs,
    (n - 1)/n · Σ (z without a pair - their mean)², which assumes no normal distribution. None below five pairs, where
    a side does not vary, and where r is ±1, also without one of the pairs.

    >>> result = correlate([1, 2, 3, 4, 5, 6], [1, 2, 2, 4, 5, 7])
    >>> round(result.value, 2), round(result.low, 2), round(result.high, 2)
    (0.97, 0.69, 1.0)
    """
    first, second = (np.asarray(side, dtype=np.float64).ravel() for side in (x, y))
    both = np.isfinite(first) & np.isfinite(second)
    first, second = first[both], second[both]
    count = len(first)
    if count < 2 or not (np.ptp(first) > 0 and np.ptp(second) > 0):
        return Correlation(None, None, None, count)
    value = float(np.clip(np.corrcoef(first, second)[0, 1], -1, 1))
    if count < FEWEST_LEVELS or abs(value) >= 1:
        return Correlation(value, None, None, count)
    z = math.atanh(value)
    ends = _jackknife_ends(z, [np.arctanh(_jackknife_correlations(first, second))], count - 1, confidence)
    low, high = map(math.tanh, ends) if ends else (None, None)
    return Correlation(value, low, high, count)


def _jackknife_correlations(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the correlation without each pair in turn, shape (n,); NaN where the others have none or ±1."""
    n = len(x)
    x, y = x - x.mean(), y - y.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        # Of the other pairs, the sums around their own means: x sums to 0 over all.
        shared = n / (n - 1)
        xy, xx, yy = (float((a * b).sum()) - shared * a * b for a, b in ((x, y), (x, x), (y, y)))
        values = xy / np.sqrt(np.maximum(xx, 0) * np.maximum(yy, 0))
        return np.where(np.abs(values) < 1 - 1e-12, values, np.nan)
