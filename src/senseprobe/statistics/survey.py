"""Rows that nobody judged, estimated from a stratified sample of them that people did judge."""

import math

import numpy as np
from scipy import special

from senseprobe.statistics.intervals import CONFIDENCE, NO_VARIANCE, TIE, BoolArray, FloatArray, IntArray


def estimate_rest(
    hits: BoolArray, domain: BoolArray, strata: IntArray, sizes: IntArray, rest: IntArray
) -> tuple[float, int, int] | None:
    """Return how many of the rows of a domain that nobody judged would be hits, with an interval.

    - `hits`, `domain`: whether each judged row is a hit, and of the domain: shape (N,).
    - `strata`: from which stratum, of `sizes` rows, it was drawn by chance: shape (N,).
    - `rest`: how many rows of the domain nobody judged in each stratum: shape (S,), as `sizes`.

    A judged row stands for those of its stratum that nobody judged, (size - judged) / judged of them. The interval is
    Clopper & Pearson's (1934) at the effective number of rows, share · (1 - share) / variance (Korn & Graubard 1998,
    Survey Methodology 24), which is no larger than Kish's (1965) for these weights, as they came out and as they would
    on average: chance may have missed the domain in a large stratum. The variance is that of a ratio in a stratified
    sample without replacement, and of the rest itself; strata of one judged row are pooled for it. The ends are whole
    rows, rounded outwards. None where no row of the domain stands for others.

    >>> hits = np.array([True, False, False, False])
    >>> rows = np.zeros(4, dtype=int)  # all of one stratum, of 20 rows
    >>> estimate_rest(hits, rows == 0, rows, sizes=np.array([20]), rest=np.array([16]))
    (4.0, 0, 15)
    """
    if not (open_rows := int(rest.sum())):
        return 0.0, 0, 0
    judged = np.bincount(strata, minlength=len(sizes))
    expansion = np.divide(sizes - judged, judged, out=np.zeros(len(sizes)), where=judged > 0)
    weights = expansion[strata] * domain
    total = weights.sum()
    if not total:
        return None
    share = float(np.clip(weights @ hits / total, 0, 1))
    # By how much unequal weights lower the number of rows, as they would on average.
    factors, rows = expansion[expansion > 0], rest[expansion > 0]
    effect = (rows / factors).sum() * (rows * factors).sum() / rows.sum() ** 2 if rows.any() else 1.0
    inverse = max(np.square(weights).sum() / total**2, float(effect) / np.count_nonzero(weights))
    effective = 1 / (inverse + 1 / open_rows)
    groups = np.where(judged[strata] > 1, strata, len(sizes))
    variance = _rest_variance(weights * (hits - share) / total, groups, sizes[strata] / judged[strata])
    if variance > NO_VARIANCE:
        effective = min(effective, share * (1 - share) / variance)
    count, tail = share * effective, (1 - CONFIDENCE) / 2
    low = special.betaincinv(count, effective - count + 1, tail) if share > 0 else 0.0
    high = special.betaincinv(count + 1, effective - count, 1 - tail) if share < 1 else 1.0
    return share * open_rows, math.floor(low * open_rows + TIE), math.ceil(high * open_rows - TIE)


def _rest_variance(residuals: FloatArray, groups: IntArray, expansion: FloatArray) -> float:
    """Return the variance of a weighted mean of the rest; `expansion`: rows of the stratum for each judged one."""
    variance = 0.0
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        size, factor = len(rows), float(expansion[rows].mean())
        if size > 1 and factor > 1:
            spread = float(np.square(residuals[rows] - residuals[rows].mean()).sum())
            variance += size / (size - 1) * spread * factor / (factor - 1)
    return variance
