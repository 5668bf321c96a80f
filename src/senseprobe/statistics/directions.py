"""Directions in a space of vectors that pairs of opposite words span, such as man and woman."""

import numpy as np
from numpy.typing import ArrayLike

from senseprobe.statistics.intervals import FloatArray


def difference_direction(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """Return the mean of first - second over pairs, shape (pairs, D) each: shape (D,).

    That is g of Zhou, Kaneko & Bollegala (2022), equation 8, where the first of each pair is the male word: what has a
    positive cosine with it lies on the side of the first words. Raise ValueError without pairs, and where a number is
    not finite.
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (first, second)]
    if sides[0].shape != sides[1].shape or sides[0].ndim != 2 or not len(sides[0]):
        raise ValueError("a direction takes one pair or more, with vectors of one length")
    direction = np.asarray((sides[0] - sides[1]).mean(axis=0))
    if not np.isfinite(direction).all():
        raise ValueError("a number is not finite")
    return direction
