"""The uncertainty of figures: one interval rule for all, exact intervals, permutation tests, Holm's correction.

::

    agreement.py    agreement of people beyond chance, with intervals from resampled items
    association.py  cosines, effect sizes of association tests and correlations, with intervals from the jackknife
    dawid_skene.py  the true labels of items that several people labelled, each with mistakes of their own
    directions.py   directions that pairs of opposite words span
    intervals.py    the variance of a figure from the levels of its factors, and intervals
    sums.py         the same of sums by level and cell, where the rows are no longer there
    binomial.py     exact intervals of shares of independent rows
    boundary.py     intervals where a model decides all rows of a cell alike
    permutation.py  permutations of labels and of signs, and the correction of p-values
    subset_sums.py  p of a difference of means over all divisions, without drawing any
    survey.py       rows that nobody judged, estimated from a sample of them that people judged

Everything here works on numpy arrays, without models, tables or datasets.
"""

from senseprobe.statistics.agreement import (
    DRAWS,
    FEWEST_ITEMS,
    AgreementEstimate,
    Estimate,
    agreement_between,
    agreement_within,
)
from senseprobe.statistics.association import (
    Correlation,
    correlate,
    effect_interval,
    effect_size,
    mean_difference_interval,
    mean_effect_interval,
    mean_interval,
    pairwise_cosines,
    shared_effect_difference,
    single_category_interval,
    unit_vectors,
)
from senseprobe.statistics.binomial import clopper_pearson, clopper_pearson_p
from senseprobe.statistics.boundary import (
    Interval,
    block_interval,
    comparison_test,
    difference_intervals,
    difference_test,
    share_intervals,
    share_test,
)
from senseprobe.statistics.dawid_skene import SMOOTHING, DawidSkene, dawid_skene
from senseprobe.statistics.directions import difference_direction, leave_out_pairs, principal_direction
from senseprobe.statistics.intervals import (
    CONFIDENCE,
    FEWEST_LEVELS,
    LEVEL,
    SCALES,
    BoolArray,
    Ends,
    FactorLevels,
    FloatArray,
    IntArray,
    Projection,
    Scale,
    bounded_interval,
    difference_interval,
    difference_p,
    planned_half_width,
    psi,
    psi_between,
)
from senseprobe.statistics.permutation import (
    PERMUTATIONS,
    Divisions,
    SignFlips,
    divisions,
    holm,
    permutation_p,
    sign_flips,
    studentised,
    tarone_holm,
)
from senseprobe.statistics.subset_sums import EnclosedP, division_p, monte_carlo_p
from senseprobe.statistics.sums import SumLayout, SummedLevels, SummedProjection
from senseprobe.statistics.survey import estimate_rest

__all__ = [
    "CONFIDENCE",
    "DRAWS",
    "FEWEST_ITEMS",
    "FEWEST_LEVELS",
    "LEVEL",
    "PERMUTATIONS",
    "SCALES",
    "SMOOTHING",
    "AgreementEstimate",
    "BoolArray",
    "Correlation",
    "DawidSkene",
    "Divisions",
    "EnclosedP",
    "Ends",
    "Estimate",
    "FactorLevels",
    "FloatArray",
    "IntArray",
    "Interval",
    "Projection",
    "Scale",
    "SignFlips",
    "SumLayout",
    "SummedLevels",
    "SummedProjection",
    "agreement_between",
    "agreement_within",
    "block_interval",
    "bounded_interval",
    "clopper_pearson",
    "clopper_pearson_p",
    "comparison_test",
    "correlate",
    "dawid_skene",
    "difference_direction",
    "difference_interval",
    "difference_intervals",
    "difference_p",
    "difference_test",
    "division_p",
    "divisions",
    "effect_interval",
    "effect_size",
    "estimate_rest",
    "holm",
    "leave_out_pairs",
    "mean_difference_interval",
    "mean_effect_interval",
    "mean_interval",
    "monte_carlo_p",
    "pairwise_cosines",
    "permutation_p",
    "planned_half_width",
    "principal_direction",
    "psi",
    "psi_between",
    "share_intervals",
    "share_test",
    "shared_effect_difference",
    "sign_flips",
    "single_category_interval",
    "studentised",
    "tarone_holm",
    "unit_vectors",
]
