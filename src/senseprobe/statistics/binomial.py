"""The exact interval of a share of independent rows, and its test (Clopper & Pearson 1934)."""

from functools import cache

from scipy import special

from senseprobe.statistics.intervals import CONFIDENCE, Ends


@cache
def clopper_pearson(hits: int, trials: int, confidence: float = CONFIDENCE) -> Ends:
    """Return the exact interval of a share of independent rows, in points from -50 to 50 (Clopper & Pearson 1934).

    >>> low, high = clopper_pearson(8, 10)
    >>> round(low, 1), round(high, 1)
    (-5.6, 47.5)
    """
    from scipy.stats import binomtest  # 25 MB that most figures do without

    exact = binomtest(hits, trials).proportion_ci(confidence, method="exact")
    return 100 * float(exact.low) - 50, 100 * float(exact.high) - 50


def clopper_pearson_p(hits: int, trials: int, neutral: Ends) -> float:
    """Return the smallest level at which that interval excludes all shares from one end to another, in points."""
    low, high = (0.5 + end / 100 for end in neutral)
    if hits > trials * high:
        return min(1.0, 2 * float(special.bdtrc(hits - 1, trials, high))) if hits else 1.0
    return min(1.0, 2 * float(special.bdtr(hits, trials, low))) if hits < trials * low else 1.0
