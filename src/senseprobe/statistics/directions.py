"""Directions in a space of vectors that pairs of opposite words span, such as man and woman."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from senseprobe.statistics.association import unit_vectors
from senseprobe.statistics.intervals import FloatArray


def difference_direction(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """Return the mean of first - second over pairs, shape (pairs, D) each: shape (D,).

    That is g of Zhou, Kaneko & Bollegala (2022), equation 8, where the first of each pair is the male word: what has a
    positive cosine with it lies on the side of the first words. Raise ValueError without pairs, and where a number is
    not finite.

    >>> difference_direction([[1, 0], [3, 0]], [[0, 0], [0, 2]]).tolist()
    [2.0, -1.0]
    """
    sides = _check_pairs(first, second)
    return np.asarray((sides[0] - sides[1]).mean(axis=0))


class PrincipalDirection(NamedTuple):
    """The first principal component of pairs of words.

    - `direction`: of length 1, shape (D,); the first words of pairs have the larger dot product with it on average.
    - `shares`: of the variance, what each component explains, largest first; their sum is 1.
    """

    direction: FloatArray
    shares: FloatArray

    @property
    def is_doubtful(self) -> bool:
        """Whether the second component explains more than half of what the first does: the axis may be another."""
        return len(self.shares) > 1 and bool(self.shares[1] > self.shares[0] / 2)


def principal_direction(first: ArrayLike, second: ArrayLike, *, centring: str = "pairs") -> PrincipalDirection:
    """Return the first principal component of pairs, shape (pairs, D) each, as Bolukbasi et al. (2016) compute it.

    Vectors are made length 1; of each pair the mean is subtracted, so that there are two half differences of a pair.
    The sign, which a principal component has not, is that of the mean of first - second. `centring` is ``pairs``:
    another deletes the axis, since the mean of the differences is the axis that is looked for. Raise ValueError for
    another, without pairs, and where pairs have no common direction.
    """
    if centring != "pairs":
        raise ValueError(f"centring over {centring} would delete the axis, which is the mean of the differences")
    halves = np.subtract(*map(unit_vectors, _check_pairs(first, second))) / 2
    if not np.isfinite(halves).all():
        raise ValueError("a vector is zero: it has no direction")
    _, sizes, components = np.linalg.svd(np.concatenate([halves, -halves]), full_matrices=False)
    variance = sizes**2
    if not variance.sum() > 0:
        raise ValueError("the two words of each pair have the same vector")
    along = float(components[0] @ halves.mean(axis=0))
    if abs(along) < 1e-9:
        raise ValueError("the pairs point in opposite directions, so they do not have a common axis")
    return PrincipalDirection(np.asarray(components[0] * np.sign(along)), variance / variance.sum())


def leave_out_pairs(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """Return the principal directions without each pair in turn: shape (pairs, D); no rows for fewer than two pairs."""
    sides = _check_pairs(first, second)
    count = len(sides[0])
    left = (np.arange(count) != index for index in range(count if count > 1 else 0))
    directions = [principal_direction(sides[0][rows], sides[1][rows]).direction for rows in left]
    return np.asarray(directions, dtype=np.float64).reshape(-1, sides[0].shape[1])


def _check_pairs(first: ArrayLike, second: ArrayLike) -> tuple[FloatArray, FloatArray]:
    sides = (np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))
    if sides[0].shape != sides[1].shape or sides[0].ndim != 2 or not len(sides[0]):
        raise ValueError("a direction needs at least one pair, with vectors of equal length")
    if not all(np.isfinite(side).all() for side in sides):
        raise ValueError("a number is not finite")
    return sides
