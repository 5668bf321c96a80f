"""How certain a figure is: one interval rule for every figure, exact intervals, permutation tests, Holm's correction.

::

    agreeing.py     how far people agree beyond chance, with intervals from resampled items
    dawidskene.py   what is true of items that several people labelled, each with mistakes of their own
    projecting.py   the variance of a figure from the levels of its factors
    intervals.py    intervals from that variance, exact ones, the p-value of a difference
    permuting.py    labels dealt out anew, signs flipped, and p-values corrected

Nothing here knows of models, tables or datasets; everything works on numpy arrays.
"""

from senseprobe.statistics.agreeing import (
    DRAWS,
    FEWEST_ITEMS,
    Agreeing,
    Estimate,
    agreement_between,
    agreement_within,
)
from senseprobe.statistics.arrays import BoolArray, FloatArray, IntArray
from senseprobe.statistics.dawidskene import SMOOTHING, DawidSkene, dawid_skene
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
    "DRAWS",
    "FEWEST_ITEMS",
    "FEWEST_LEVELS",
    "PERMUTATIONS",
    "SMOOTHING",
    "Agreeing",
    "BoolArray",
    "DawidSkene",
    "Divisions",
    "Estimate",
    "FactorLevels",
    "FloatArray",
    "IntArray",
    "Projection",
    "SignFlips",
    "agreement_between",
    "agreement_within",
    "bounded_interval",
    "clopper_pearson",
    "dawid_skene",
    "difference_interval",
    "difference_p",
    "divisions",
    "holm",
    "permutation_p",
    "psi",
    "sign_flips",
]
