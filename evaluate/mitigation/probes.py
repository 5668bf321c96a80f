"""Probes: what classifiers read of labels in vectors of words that they were not fitted to.

A linear probe is a multinomial logistic regression, a non-linear one a ridge regression of the classes with a Gaussian
kernel. Both are fitted to four fifths of the words, five times, so that each word is held out once.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import logsumexp

from senseprobe.messages import counted
from senseprobe.statistics import clopper_pearson
from senseprobe.statistics.intervals import FloatArray, IntArray

REGULARISATION = 0.01
"""Of the squared weights, in units of the vectors' root mean square: half of it times their sum adds to the loss."""

TEST_SHARE = 0.3
"""The share of words of each class that INLP holds out."""

LEAST_WORDS = 40
"""With fewer words nothing is probed: the interval of one half would be wider than from .34 to .66."""

MOST_WORDS = 2_000
"""Of more words so many are drawn: the kernel compares each with each."""

FOLDS = 5
RIDGE = 0.1
"""Of the kernel regression: added to the kernel of a word with itself, which is 1."""


@dataclass(frozen=True, slots=True)
class ProbeAccuracy:
    """The accuracy of a probe on words that it was not fitted to.

    - `hits` of `words` were right; `low` and `high` are the ends of the exact 95 % interval of that share.
    - `majority`: the share of the largest class among these words, which a probe reaches that reads nothing.

    >>> read = ProbeAccuracy.of(9, 10, 0.5)
    >>> read.accuracy, round(read.low, 3), read.is_at_chance
    (0.9, 0.555, False)
    """

    hits: int
    words: int
    low: float
    high: float
    majority: float

    @classmethod
    def of(cls, hits: int, words: int, majority: float) -> "ProbeAccuracy":
        """Return the accuracy of `hits` among `words`, with its interval."""
        low, high = ((end + 50) / 100 for end in clopper_pearson(hits, words))
        return cls(hits, words, low, high, majority)

    @property
    def accuracy(self) -> float:
        """The share that was right."""
        return self.hits / self.words

    @property
    def is_at_chance(self) -> bool:
        """Whether the interval is not above the share of the largest class."""
        return self.low <= self.majority


def code_labels(labels: Sequence[Hashable]) -> tuple[IntArray, list[Hashable]]:
    """Return the code of each label, shape (N,), and the labels in the order of their first words."""
    classes = [*dict.fromkeys(labels)]
    code = {label: number for number, label in enumerate(classes)}
    return np.array([code[label] for label in labels], dtype=np.intp), classes


def split_words(codes: IntArray, seed: int) -> tuple[IntArray, IntArray]:
    """Return which words a probe is fitted to, and which are held out: three tenths of each class, at least one.

    Raises ValueError for a class of one word.
    """
    order = draw_order(len(codes), seed)
    tested = np.zeros(len(codes), dtype=np.bool_)
    for code, count in Counter(codes.tolist()).items():
        if count < 2:
            raise ValueError("a label has one word only: a probe needs words to fit, and others to be measured on")
        tested[order[codes[order] == code][: max(1, round(TEST_SHARE * count))]] = True
    return np.flatnonzero(~tested), np.flatnonzero(tested)


@dataclass(frozen=True, slots=True)
class Probes:
    """What a linear and a non-linear probe read of labels; None with `unprobed`, why they were not fitted."""

    linear: ProbeAccuracy | None = None
    nonlinear: ProbeAccuracy | None = None
    unprobed: str = ""


def probe_labels(vectors: ArrayLike, labels: Sequence[Hashable], *, seed: int = 0) -> Probes:
    """Return what probes read of the labels of vectors, shape (N, D): of words that the map was not fitted to.

    A draw by `seed` divides the words of each class into five parts, each of which is held out once. Of more than 2,000
    words so many are drawn. The interval takes the words as independent.
    """
    codes, classes = code_labels(labels)
    if len(codes) < LEAST_WORDS:
        return Probes(unprobed=f"{counted(len(codes), 'word')} with a label, fewer than {LEAST_WORDS}")
    if len(classes) < 2:
        return Probes(unprobed=f"all words are {classes[0]}")
    order = draw_order(len(codes), seed)[:MOST_WORDS]
    x, codes = np.asarray(vectors, dtype=np.float64)[order], codes[order]
    folds = np.empty(len(codes), dtype=np.intp)
    for code in range(len(classes)):
        folds[codes == code] = np.arange(np.sum(codes == code)) % FOLDS
    linear, nonlinear = np.empty_like(codes), np.empty_like(codes)
    for fold in range(FOLDS):
        fitted, tested = folds != fold, folds == fold
        weights, intercepts = fit_logistic(x[fitted], codes[fitted], len(classes), REGULARISATION)
        linear[tested] = np.argmax(x[tested] @ weights + intercepts, axis=1)
        nonlinear[tested] = np.argmax(predict_by_kernel(x[fitted], codes[fitted], len(classes), x[tested]), axis=1)
    return Probes(measure_accuracy(linear, codes), measure_accuracy(nonlinear, codes))


def predict_by_kernel(vectors: FloatArray, codes: IntArray, classes: int, others: FloatArray) -> FloatArray:
    """Return the scores of other vectors, shape (M, classes), by a ridge regression on a Gaussian kernel.

    The kernel of two vectors is exp(-|x - y|² / s), where s is the median squared distance of two vectors of the fit.
    """
    one_hot = np.eye(classes)[codes]
    distances = _squared_distances(vectors, vectors)
    scale = float(np.median(distances[np.triu_indices(len(vectors), 1)])) or 1.0
    kernel = np.exp(-distances / scale) + RIDGE * np.eye(len(vectors))
    mean = one_hot.mean(axis=0)
    solved = np.linalg.solve(kernel, one_hot - mean)
    return np.asarray(np.exp(-_squared_distances(others, vectors) / scale) @ solved + mean)


def _squared_distances(first: FloatArray, second: FloatArray) -> FloatArray:
    lengths = np.sum(first**2, axis=1)[:, None] + np.sum(second**2, axis=1)
    return np.asarray(np.maximum(lengths - 2 * first @ second.T, 0))


def draw_steps(shape: tuple[int, ...], seed: int) -> FloatArray:
    """Return whole numbers below 2⁵³ by chance, float64 of a shape, the same for a seed everywhere.

    They are the bits of PCG64, whose stream numpy promises to keep, which it does not of `random`.
    """
    return np.asarray((np.random.PCG64(seed).random_raw(shape) >> np.uint64(11)).astype(np.float64))


def draw_order(count: int, seed: int) -> IntArray:
    """Return numbers below `count` in an order by chance, the same for a seed everywhere."""
    return np.asarray(np.argsort(np.random.PCG64(seed).random_raw(count), kind="stable"))


def measure_accuracy(predicted: IntArray, codes: IntArray) -> ProbeAccuracy:
    """Return the accuracy of predicted classes."""
    largest = max(Counter(codes.tolist()).values())
    return ProbeAccuracy.of(int(np.sum(predicted == codes)), len(codes), largest / len(codes))


def fit_logistic(
    vectors: ArrayLike, codes: IntArray, classes: int, regularisation: float
) -> tuple[FloatArray, FloatArray]:
    """Return weights, shape (D, classes), and intercepts, shape (classes,), of a multinomial logistic regression.

    The mean cross-entropy is least, with half the `regularisation` times the squared weights, in which vectors have a
    root mean square of 1 about their mean: so it means the same at all scales. Intercepts are free.
    """
    x = np.asarray(vectors, dtype=np.float64)
    mean = x.mean(axis=0)
    scale = float(np.sqrt(np.mean((x - mean) ** 2))) or 1.0
    z = (x - mean) / scale
    one_hot = np.eye(classes)[codes]
    shape = (x.shape[1] + 1, classes)

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        weights = flat.reshape(shape)
        logits = z @ weights[:-1] + weights[-1]
        log_shares = logits - logsumexp(logits, axis=1, keepdims=True)
        errors = (np.exp(log_shares) - one_hot) / len(z)
        slope = np.concatenate([z.T @ errors + regularisation * weights[:-1], errors.sum(axis=0, keepdims=True)])
        value = -np.mean(np.sum(log_shares * one_hot, axis=1)) + regularisation / 2 * np.sum(weights[:-1] ** 2)
        return float(value), slope.ravel()

    best = minimize(
        loss,
        np.zeros(shape).ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 2_000, "gtol": 1e-9, "ftol": 1e-14},
    )
    weights = best.x.reshape(shape)
    return np.asarray(weights[:-1] / scale), np.asarray(weights[-1] - mean @ weights[:-1] / scale)
