"""Pearson's correlation with an interval that holds where values are not normally distributed."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from senseprobe.statistics.intervals import CONFIDENCE, FEWEST_LEVELS, FloatArray


class Correlation(NamedTuple):
    """A correlation of `pairs` pairs: `value` in [-1, 1], and its interval; None where it cannot be estimated."""

    value: float | None
    low: float | None
    high: float | None
    pairs: int


def correlate(x: ArrayLike, y: ArrayLike, confidence: float = CONFIDENCE) -> Correlation:
    """Return Pearson's correlation of x and y, shape (n,) each, over the pairs of which both are finite.

    The interval is z ± t · √V, back from z = atanh r, with n - 1 degrees of freedom; V is the jackknife's over pairs,
    (n - 1)/n · Σ (z without a pair - their mean)², which assumes no normal distribution. None below five pairs, where
    a side does not vary, and where r is ±1, also without one of the pairs.
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
    without = np.arctanh(_without_each(first, second))
    variance = (count - 1) / count * float(((without - without.mean()) ** 2).sum())
    if not (math.isfinite(variance) and variance > 0):
        return Correlation(value, None, None, count)
    reach = float(special.stdtrit(count - 1, (1 + confidence) / 2)) * math.sqrt(variance)
    z = math.atanh(value)
    return Correlation(value, math.tanh(z - reach), math.tanh(z + reach), count)


def _without_each(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the correlation without each pair in turn, shape (n,); NaN where the others have none or ±1."""
    n = len(x)
    x, y = x - x.mean(), y - y.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        # Of the other pairs, the sums around their own means: x sums to 0 over all.
        shared = n / (n - 1)
        xy, xx, yy = (float((a * b).sum()) - shared * a * b for a, b in ((x, y), (x, x), (y, y)))
        values = xy / np.sqrt(np.maximum(xx, 0) * np.maximum(yy, 0))
        return np.where(np.abs(values) < 1 - 1e-12, values, np.nan)
