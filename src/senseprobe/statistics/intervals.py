"""Intervals of a figure from its variance, exact ones for independent rows, and the p-value of a difference."""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]


CONFIDENCE = 0.95
"""The confidence of printed intervals; equivalence is tested with one of 0.9."""

# A variance below this is rounding of floating-point sums: one row among two million changes it by 1e-13.
NO_VARIANCE = 1e-24


@cache
def _quantile(df: int, confidence: float) -> float:
    """Return the two-sided quantile of Student's t at the confidence level."""
    return float(special.stdtrit(df, (1 + confidence) / 2))


def bounded_interval(
    share: float, variance: float, df: int | None, confidence: float = CONFIDENCE
) -> tuple[float, float] | None:
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
    centre, reach = math.log(share / (1 - share)), _quantile(df, confidence) * math.sqrt(variance) / spread
    return 100 * float(special.expit(centre - reach)) - 50, 100 * float(special.expit(centre + reach)) - 50


def difference_interval(
    difference: float, variance: float, df: int | None, confidence: float = CONFIDENCE, *, limit: float = 100.0
) -> tuple[float, float] | None:
    """Return the interval of a difference of two figures, in points from -`limit` to `limit`; None if not estimable.

    `difference` is in points, `variance` on the scale of [0, 1]; the difference of two differences goes up to 200.
    """
    if df is None or variance <= NO_VARIANCE:
        return None
    reach = 100 * _quantile(df, confidence) * math.sqrt(variance)
    return max(-limit, difference - reach), min(limit, difference + reach)


def difference_p(difference: float, variance: float, df: int | None) -> float | None:
    """Return the two-sided p-value of a difference, in points, against 0; None where there is no interval.

    It is below 0.05 exactly where `difference_interval` excludes 0: both are Student's t with `df` degrees. It has nine
    digits, which the order of the rows does not change.
    """
    if df is None or variance <= NO_VARIANCE:
        return None
    return float(f"{2 * special.stdtr(df, -abs(difference) / (100 * math.sqrt(variance))):.9g}")


@cache
def clopper_pearson(hits: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the exact interval of a share of independent rows, in points from -50 to 50 (Clopper & Pearson 1934)."""
    from scipy.stats import binomtest  # 25 MB that most figures do without

    exact = binomtest(hits, trials).proportion_ci(confidence, method="exact")
    return 100 * float(exact.low) - 50, 100 * float(exact.high) - 50
