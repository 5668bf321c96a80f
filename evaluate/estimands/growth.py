"""How much farther from its neutral value a figure of one model is than that of another, on the same rows.

With a and b the true distances of the two models, with their signs, the growth |a| - |b| exceeds g exactly where, for
a sign s of + or -, both s · (a - b) and s · (a + b) exceed it: for s the side of a, they are |a| less b and |a| plus b.
Each is a figure of the interval rule: the first is the paired difference, the second the difference to the mirror image
of the other model, which prefers the one sentence wherever that prefers the other. So

    low = max over s of min(low end of s · (a - b), low end of s · (a + b))

is above the true growth only where one of two intervals misses: an intersection-union test for each s (Berger 1982),
in at most 2.5 % of samples for either side, thus 5 %, and where the side of a is clear 2.5 %. Where both models lie
clearly on one side of neutral it is the end of the paired difference; where they may lie on two, it is lower, never
higher. The high end is the low end of the growth from the first model to the other, with its sign turned.
"""

from dataclasses import dataclass, replace

import numpy as np

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.base import Estimand
from senseprobe.evaluate.estimands.comparison import paired_difference
from senseprobe.evaluate.estimands.kernel import KernelRows
from senseprobe.records import Design


@dataclass(frozen=True, slots=True)
class Growth:
    """By how many points the distance from the neutral value grew, with its interval; negative where it shrank."""

    value: float
    low: float
    high: float


def distance_growth(
    estimand: Estimand, new: KernelRows, old: KernelRows, design: Design, neutral: float, confidence: float
) -> Growth | None:
    """Return the growth of the distance from `neutral` (in points), over the same rows of two models.

    None where no interval can be estimated. Raises ResultError where the rows are not the same, and for an estimand
    whose range is not symmetric, so that no model has a mirror image.
    """
    if estimand.low != -estimand.high:
        raise ResultError(f"{estimand.id} has no mirror image: its range is {estimand.low:g} to {estimand.high:g}")
    if np.array_equal(new.kernel, old.kernel):
        return Growth(0.0, 0.0, 0.0)
    mirrored = replace(old, kernel=1 - old.kernel)
    difference, apart = paired_difference(estimand, new, old, design, confidence)
    total, together = paired_difference(estimand, new, mirrored, design, confidence)
    if apart is None or together is None:
        return None
    together = (together[0] - 2 * neutral, together[1] - 2 * neutral)
    a, b = (difference + total) / 2 - neutral, (total - difference) / 2 - neutral
    low, reverse = (
        max(min(ends[0], together[0]), min(-ends[1], -together[1])) for ends in (apart, (-apart[1], -apart[0]))
    )
    most = estimand.high + abs(neutral)  # no distance is larger, so that none grows by more
    low, high = max(low, -most), min(-reverse, most)
    return Growth(*(round(number, 9) + 0.0 for number in (abs(a) - abs(b), low, high)))
