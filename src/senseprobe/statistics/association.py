"""Cosines and effect sizes of association tests, with intervals over the words of all four sets.

A test has two sets of targets, X and Y, and two of attributes, A and B. The association of a target is its mean cosine
with the words of A minus that with those of B, and the effect size is a standardised difference of their means over X
and over Y (Caliskan, Bryson & Narayanan 2017; May et al. 2019).
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from senseprobe.statistics.intervals import CONFIDENCE, FEWEST_LEVELS, Ends, FloatArray

EQUAL = 1e-12
"""Associations are equal that differ by at most this, times the largest magnitude."""


def pairwise_cosines(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """Return the cosine of each vector of the first, shape (N, D), with each of the second, (M, D): shape (N, M).

    NaN where one of the two is zero or not finite.
    """
    vectors = [np.asarray(side, dtype=np.float64) for side in (first, second)]
    lengths = [np.sqrt(np.einsum("nd,nd->n", side, side)) for side in vectors]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(vectors[0] @ vectors[1].T / lengths[0][:, None] / lengths[1])


def effect_size(x: ArrayLike, y: ArrayLike, *, population: bool = False) -> float | None:
    """Return d, the difference of the means of x and y, shapes (n_x,) and (n_y,), over the standard deviation of both.

    The deviation is that of all values around their common mean, with n - 1 in its denominator, or n for `population`.
    With sets of equal size n, d lies in ±2 · √((2n - 1)/2n), and in ±2 for `population`. None where all values are
    equal. Raise ValueError where a set is empty or a value is not finite.
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
    everyone = np.ones((targets, 1))
    with_a, with_b = table[:, :n_a].sum(axis=1)[:, None], table[:, n_a:].sum(axis=1)[:, None]
    associations = with_a / n_a - with_b / sizes[3]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = float(_fisher_z(associations, everyone, n_x)[0])
        without_a = (with_a - table[:, :n_a]) / (n_a - 1) - with_b / sizes[3]
        without_b = with_a / n_a - (with_b - table[:, n_a:]) / (sizes[3] - 1)
        jackknifed = [
            *np.split(_fisher_z(associations, 1 - np.eye(targets), n_x), [n_x]),
            _fisher_z(without_a, everyone, n_x),
            _fisher_z(without_b, everyone, n_x),
        ]
        variance = sum((1 - 1 / len(values)) * float(((values - values.mean()) ** 2).sum()) for values in jackknifed)
    if not (abs(math.tanh(z)) < 1 - EQUAL and math.isfinite(variance) and variance > 0):
        return None
    reach = float(special.stdtrit(min(sizes) - 1, (1 + confidence) / 2)) * math.sqrt(variance)
    scale = targets / math.sqrt(sizes[0] * sizes[1]) * (1 if population else math.sqrt((targets - 1) / targets))
    return scale * math.tanh(z - reach), scale * math.tanh(z + reach)


def single_category_effect(a: ArrayLike, b: ArrayLike) -> float | None:
    """Return d(w) of one target: the mean of its cosines with A less that with B, over their standard deviation.

    Cosines have shapes (n_a,) and (n_b,); the deviation is that of all of them, with n - 1 in its denominator
    (equations 2 and 3 of Zhou et al. 2022 for a single target). None where all are equal; ValueError as for a set.
    """
    return effect_size(a, b)


def single_category_interval(a: ArrayLike, b: ArrayLike, confidence: float = CONFIDENCE) -> Ends | None:
    """Return the interval of `single_category_effect` over attributes like these: that of `effect_interval`.

    None where a set has fewer than five words, or A and B are told apart completely. ValueError where a cosine is not
    finite.
    """
    first, second = (np.asarray(side, dtype=np.float64).ravel() for side in (a, b))
    values, n_a, n_b = np.concatenate([first, second])[:, None], len(first), len(second)
    if not np.isfinite(values).all():
        raise ValueError("a cosine is not finite")
    if min(n_a, n_b) < FEWEST_LEVELS:
        return None
    count = n_a + n_b
    with np.errstate(divide="ignore", invalid="ignore"):
        z = float(_fisher_z(values, np.ones((count, 1)), n_a)[0])
        parts = np.split(_fisher_z(values, 1 - np.eye(count), n_a), [n_a])
        variance = sum((1 - 1 / len(part)) * float(((part - part.mean()) ** 2).sum()) for part in parts)
    if not (abs(math.tanh(z)) < 1 - EQUAL and math.isfinite(variance) and variance > 0):
        return None
    reach = float(special.stdtrit(min(n_a, n_b) - 1, (1 + confidence) / 2)) * math.sqrt(variance)
    scale = _largest_effect(n_a, n_b)
    return scale * math.tanh(z - reach), scale * math.tanh(z + reach)


def mean_effect_interval(cosines: ArrayLike, n_a: int, confidence: float = CONFIDENCE) -> Ends | None:
    """Return the interval of the mean of `single_category_effect` over words, from cosines of shape (words, n_a + n_b).

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
    left = []
    for n in range(attributes):
        kept = n_a - (n < n_a), sizes[2] - (n >= n_a)
        left.append(_row_effects(np.delete(table, n, axis=1), kept[0]).mean() / _largest_effect(*kept))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = float(np.arctanh(effects.mean()))
        parts = map(np.arctanh, ((effects.sum() - effects) / (words - 1), *np.split(np.array(left), [n_a])))
        variance = sum((1 - 1 / len(part)) * float(((part - part.mean()) ** 2).sum()) for part in parts)
    if not (abs(math.tanh(z)) < 1 - EQUAL and math.isfinite(variance) and variance > 0):
        return None
    reach = float(special.stdtrit(min(sizes) - 1, (1 + confidence) / 2)) * math.sqrt(variance)
    largest = _largest_effect(n_a, sizes[2])
    return largest * math.tanh(z - reach), largest * math.tanh(z + reach)


def _largest_effect(n_a: int, n_b: int) -> float:
    """Return the largest d of sets of these sizes: that of A told apart from B completely."""
    count = n_a + n_b
    return math.sqrt(count * (count - 1) / (n_a * n_b))


def _row_effects(cosines: FloatArray, n_a: int) -> FloatArray:
    """Return `single_category_effect` of each word, from cosines of shape (words, n_a + n_b)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        differences = cosines[:, :n_a].mean(axis=1) - cosines[:, n_a:].mean(axis=1)
        return np.asarray(differences / cosines.std(axis=1, ddof=1))


def shared_effect_difference(
    first: ArrayLike, second: ArrayLike, n_a: int, confidence: float = CONFIDENCE
) -> tuple[float, Ends | None]:
    """Return `single_category_effect` of one word less that of another, with cosines with the same attributes.

    The interval is the jackknife's over A and B, each left out for both words; None with fewer than five in one,
    or where no attribute makes a difference.
    """
    table = np.array([first, second], dtype=np.float64)
    sizes = (n_a, table.shape[1] - n_a)

    def difference(cosines: FloatArray, count: int) -> float:
        effects = _row_effects(cosines, count)
        return float(effects[0] - effects[1])

    value = difference(table, n_a)
    if min(sizes) < FEWEST_LEVELS:
        return value, None
    left = [difference(np.delete(table, n, axis=1), n_a - (n < n_a)) for n in range(table.shape[1])]
    parts = np.split(np.array(left), [n_a])
    variance = sum((1 - 1 / len(part)) * float(((part - part.mean()) ** 2).sum()) for part in parts)
    if not (math.isfinite(variance) and variance > 0):
        return value, None
    reach = float(special.stdtrit(min(sizes) - 1, (1 + confidence) / 2)) * math.sqrt(variance)
    return value, (value - reach, value + reach)


def mean_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> Ends | None:
    """Return the t interval of the mean of values, shape (n,); None of fewer than five, or of equal ones."""
    sample = np.asarray(values, dtype=np.float64)
    if len(sample) < FEWEST_LEVELS or not (deviation := float(sample.std(ddof=1))) > 0:
        return None
    reach = float(special.stdtrit(len(sample) - 1, (1 + confidence) / 2)) * deviation / math.sqrt(len(sample))
    return float(sample.mean()) - reach, float(sample.mean()) + reach


def published_sense_effect(cosines: ArrayLike, n_x: int, n_a: int) -> float | None:
    """Return the effect as weat-sense.py of Zhou et al. (2022) computes it, of cosines as `effect_interval` has.

    It gives every word of X the one mean association of all of X, and likewise for Y, and divides by the deviation of
    the population: with sets of equal size that is +2 or -2, whatever the vectors. None where the two means are equal.
    """
    table = np.asarray(cosines, dtype=np.float64)
    associations = table[:, :n_a].mean(axis=1) - table[:, n_a:].mean(axis=1)
    means = associations[:n_x].mean(), associations[n_x:].mean()
    sides = [np.full(count, mean) for count, mean in zip((n_x, len(table) - n_x), means, strict=True)]
    return effect_size(*sides, population=True)


def _fisher_z(associations: FloatArray, kept: FloatArray, n_x: int) -> FloatArray:
    """Return atanh r of M versions of a test, shape (M,): associations and the targets kept, (N, M) or (N, 1) each."""
    ours, others = kept[:n_x].sum(axis=0), kept[n_x:].sum(axis=0)
    count = ours + others
    centred = associations - (associations * kept).sum(axis=0) / count
    difference = (centred * kept)[:n_x].sum(axis=0) / ours - (centred * kept)[n_x:].sum(axis=0) / others
    deviation = np.sqrt((centred**2 * kept).sum(axis=0) / count)
    return np.asarray(np.arctanh(difference / deviation * np.sqrt(ours * others) / count))
