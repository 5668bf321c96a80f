"""How certain a figure is: one interval rule for every figure, exact intervals, permutation tests, Holm's correction.

::

    projecting.py   the variance of a figure from the levels of its factors
    intervals.py    intervals from that variance, exact ones, the p-value of a difference
    permuting.py    labels dealt out anew, signs flipped, and p-values corrected

Nothing here knows of models, tables or datasets; everything works on numpy arrays.
"""

from senseprobe.statistics.arrays import BoolArray, FloatArray, IntArray
from senseprobe.statistics.intervals import (
    CONFIDENCE,
    bounded_interval,
    clopper_pearson,
    difference_interval,
    difference_p,
)
from senseprobe.statistics.permuting import (
    PERMUTATIONS,
    Divisions,
    SignFlips,
    divisions,
    holm,
    permutation_p,
    sign_flips,
)
from senseprobe.statistics.projecting import FEWEST_LEVELS, FactorLevels, Projection, psi

__all__ = [
    "CONFIDENCE",
    "FEWEST_LEVELS",
    "PERMUTATIONS",
    "BoolArray",
    "Divisions",
    "FactorLevels",
    "FloatArray",
    "IntArray",
    "Projection",
    "SignFlips",
    "bounded_interval",
    "clopper_pearson",
    "difference_interval",
    "difference_p",
    "divisions",
    "holm",
    "permutation_p",
    "psi",
    "sign_flips",
]
