"""What is removed from vectors: directions, by a map that is affine and of low rank.

x -> x - left @ (right.T @ (x - mean)): for a projection, `left` and `right` are the same orthonormal columns and the
mean is zero; for LEACE they differ, and the mean is that of the words that it was fitted to.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from senseprobe.statistics.intervals import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Erasure:
    """A map of vectors that removes directions.

    - `left` and `right`: float64 of shape (dimensions, rank); `right.T @ left` is the identity, so that the map is the
      same applied twice.
    - `mean`: float64 of shape (dimensions,), which the map leaves as it is.

    >>> erasure = Erasure.onto([[2.0], [0.0]])
    >>> erasure.apply([[3.0, 4.0]]).tolist()
    [[0.0, 4.0]]
    """

    left: FloatArray
    right: FloatArray
    mean: FloatArray

    @classmethod
    def onto(cls, directions: ArrayLike) -> Self:
        """Return the orthogonal projection that removes directions, shape (dimensions, count), which need not be unit.

        Raises ValueError where they do not span as many dimensions as there are, or a number is not finite.
        """
        columns = np.asarray(directions, dtype=np.float64)
        if columns.ndim != 2 or not np.isfinite(columns).all():
            raise ValueError("directions need one column each, of finite numbers")
        if np.linalg.matrix_rank(columns) < columns.shape[1]:
            raise ValueError("one of the directions is zero, or lies in the span of the others")
        basis, _ = np.linalg.qr(columns)
        return cls(basis, basis, np.zeros(len(columns)))

    @property
    def rank(self) -> int:
        """How many dimensions are removed."""
        return int(self.left.shape[1])

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return int(self.left.shape[0])

    def read(self, vectors: ArrayLike) -> FloatArray:
        """Return what would be removed: coordinates of shape (N, rank) of vectors of shape (N, dimensions)."""
        return np.asarray((np.asarray(vectors, dtype=np.float64) - self.mean) @ self.right)

    def apply(self, vectors: ArrayLike) -> FloatArray:
        """Return vectors of shape (N, dimensions) without the directions, float64."""
        return np.asarray(np.asarray(vectors, dtype=np.float64) - self.read(vectors) @ self.left.T)
