"""What is removed from vectors: directions, by a map that is affine and of low rank.

x -> x - left @ (right.T @ (x - mean)): for a projection, `left` and `right` are the same orthonormal columns and the
mean is zero; for LEACE they differ, and the mean is that of the words that it was fitted to.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from senseprobe.evaluate.mitigation.probes import (
    REGULARISATION,
    ProbeAccuracy,
    code_labels,
    draw_steps,
    fit_logistic,
    measure_accuracy,
    split_words,
)
from senseprobe.statistics.intervals import FloatArray, IntArray

LEAST_CORRELATION = 1e-9
"""A direction counts where its canonical correlation with the classes is above this: below it is rounding."""


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


def divide_lengths(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return lengths of vectors as parts of others, of the same shape; 1 where the other is 0.

    >>> divide_lengths(np.array([1.0, 3.0]), np.array([2.0, 0.0])).tolist()
    [0.5, 1.0]
    """
    return np.divide(first, second, out=np.ones_like(second), where=second > 0)


def random_directions(dimensions: int, rank: int, seed: int) -> FloatArray:
    """Return `rank` orthonormal directions, shape (dimensions, rank), uniform over all; the same for a seed everywhere.

    The first of several directions is that of `rank` 1.
    """
    if not 0 < rank <= dimensions:
        raise ValueError(f"{rank} directions in {dimensions} dimensions: there are from 1 to {dimensions}")
    normal = ndtri((draw_steps((rank, dimensions), seed) + 0.5) * 2.0**-53)
    basis, triangle = np.linalg.qr(normal.T)
    return np.asarray(basis * np.where(np.diag(triangle) < 0, -1.0, 1.0))


def fit_leace(vectors: ArrayLike, labels: Sequence[Hashable]) -> Erasure:
    """Return the least map after which no linear probe reads the labels of vectors, shape (N, D), one label each.

    That is LEACE of Belrose et al. (2023), theorem 4.3, in closed form: x - W⁺ P W (x - μ), where W is the square root
    of the pseudo-inverse of the covariance, and P the orthogonal projection onto the columns of W Σ_xz, the whitened
    cross-covariance with the classes in one-hot form. Its rank is at most the number of classes less one.

    Raises ValueError below 2 · D vectors, for one class alone, and where the classes have the same mean.

    >>> vectors = [[1.0, 2.0], [1.0, -2.0], [-1.0, 2.0], [-1.0, -2.0]]
    >>> fit_leace(vectors, ["female", "female", "male", "male"]).apply([[3.0, 4.0]]).round(12).tolist()
    [[0.0, 4.0]]
    """
    x, codes, classes = _check_classes(vectors, labels)
    count, dimensions = x.shape
    if count < 2 * dimensions:
        raise ValueError(
            f"LEACE needs at least two words for each dimension, {2 * dimensions:,} for {dimensions:,} dimensions: "
            f"{count:,} have a label"
        )
    mean = x.mean(axis=0)
    centred = x - mean
    one_hot = np.eye(len(classes))[codes]
    values, axes = np.linalg.eigh(centred.T @ centred / count)
    has = values > values[-1] * dimensions * np.finfo(np.float64).eps
    if not has.any():
        raise ValueError("all vectors are the same")
    sizes = np.sqrt(values[has])
    across = (axes[:, has] / sizes).T @ (centred.T @ (one_hot - one_hot.mean(axis=0)) / count)
    columns, correlations, _ = np.linalg.svd(across, full_matrices=False)
    counted = columns[:, : len(classes) - 1][:, correlations[: len(classes) - 1] > LEAST_CORRELATION]
    if not counted.shape[1]:
        raise ValueError("the classes have the same mean, so no linear probe reads them: there is nothing to remove")
    return Erasure((axes[:, has] * sizes) @ counted, (axes[:, has] / sizes) @ counted, mean)


@dataclass(frozen=True, slots=True)
class InlpRounds:
    """The rounds of a fit by INLP.

    - `rounds`: what a linear probe read before each removal, and last after all: the dimensions that were removed by
      then, and the accuracy on words that were held out.
    - `at_chance`: whether the last interval holds the share of the largest class; else the limit ended it.
    """

    rounds: tuple[tuple[int, ProbeAccuracy], ...]
    at_chance: bool
    seed: int
    regularisation: float


def fit_inlp(
    vectors: ArrayLike,
    labels: Sequence[Hashable],
    *,
    seed: int,
    regularisation: float = REGULARISATION,
    most: int | None = None,
    words: Sequence[Hashable] | None = None,
) -> tuple[Erasure, InlpRounds]:
    """Return the projection after which a linear probe is at chance on held-out words, and the rounds.

    That is INLP of Ravfogel et al. (2020): a logistic regression of the labels, its weights projected out, again, until
    the 95 % interval of the held-out accuracy is not above the share of the largest class, or the next round would
    remove more than `most` dimensions (default: a quarter of them). Three tenths of each class are held out; where
    `words` says of which word each vector is, words are, with all their vectors.

    Raises ValueError for fewer than two classes, a class of one word, and where the first probe is at chance.
    """
    x, codes, classes = _check_classes(vectors, labels)
    fitted, tested = split_words(codes, seed) if words is None else _split_by_word(codes, words, seed)
    limit = x.shape[1] // 4 if most is None else most
    basis = np.zeros((x.shape[1], 0))
    rounds = list[tuple[int, ProbeAccuracy]]()
    while True:
        left = x - x @ basis @ basis.T
        weights, intercepts = fit_logistic(left[fitted], codes[fitted], len(classes), regularisation)
        read = measure_accuracy(np.argmax(left[tested] @ weights + intercepts, axis=1), codes[tested])
        rounds.append((basis.shape[1], read))
        apart = weights - weights.mean(axis=1, keepdims=True)
        axes, sizes, _ = np.linalg.svd(apart - basis @ (basis.T @ apart), full_matrices=False)
        directions = axes[:, : len(classes) - 1][:, sizes[: len(classes) - 1] > 1e-6 * max(sizes[0], 1e-6)]
        if read.is_at_chance or not directions.shape[1] or basis.shape[1] + directions.shape[1] > limit:
            break
        basis = np.concatenate([basis, directions], axis=1)
    if not basis.shape[1]:
        why = (
            "a linear probe does not read the labels of held-out words"
            if read.is_at_chance
            else (f"one round removes {directions.shape[1]} dimensions, more than the limit of {limit}")
        )
        raise ValueError(f"INLP has nothing to remove: {why}")
    return Erasure.onto(basis), InlpRounds(tuple(rounds), read.is_at_chance, seed, regularisation)


def _split_by_word(codes: IntArray, words: Sequence[Hashable], seed: int) -> tuple[IntArray, IntArray]:
    """Return which vectors a probe is fitted to, and which are held out: those of a word are on one side."""
    numbers, _ = code_labels(words)
    _, first = np.unique(numbers, return_index=True)
    _, tested = split_words(codes[first], seed)
    is_tested = np.isin(numbers, tested)
    return np.flatnonzero(~is_tested), np.flatnonzero(is_tested)


def _check_classes(vectors: ArrayLike, labels: Sequence[Hashable]) -> tuple[FloatArray, IntArray, list[Hashable]]:
    """Return vectors, the code of each one's class, and the classes. Raise ValueError where they do not fit."""
    x = np.asarray(vectors, dtype=np.float64)
    if x.ndim != 2 or len(x) != len(labels) or not np.isfinite(x).all():
        raise ValueError("each vector needs one label, and finite numbers")
    codes, classes = code_labels(labels)
    if len(classes) < 2:
        raise ValueError("all words have the same label: there is nothing to tell apart")
    return x, codes, classes
