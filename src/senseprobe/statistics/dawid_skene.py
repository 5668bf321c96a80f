"""What is true of items that several people labelled, each with mistakes of their own (Dawid & Skene 1979).

The model: an item has one true label; a person who meets an item whose label is j says l with a probability that is
theirs, whatever the item and whatever others say. The most likely labels and mistakes are found together, by EM.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import logsumexp

from senseprobe.statistics.intervals import FloatArray

SMOOTHING = 1.0
"""Answers that each person is taken to have given beforehand to items of each true label: half of them right, the
others at random. So who answered little is taken neither for infallible nor for one who always says the opposite."""

MOST_STEPS = 1_000
CLOSE = 1e-7


@dataclass(frozen=True, kw_only=True, slots=True)
class DawidSkene:
    """What the model makes of the answers to I items by R people with L labels.

    - `posterior`: shape (I, L), how likely each label is the true one.
    - `prevalence`: shape (L,), how common each true label is.
    - `confusion`: shape (R, L, L), how likely each person says l (last axis) of an item whose true label is j; nan
      where nothing is known of it, without smoothing.
    - `log_likelihood`: of the answers, after each step; with smoothing, of answers and of those taken for given.
    - `converged`: whether the last step moved no posterior by more than 1e-7.
    """

    posterior: FloatArray
    prevalence: FloatArray
    confusion: FloatArray
    log_likelihood: tuple[float, ...]
    converged: bool

    @property
    def steps(self) -> int:
        """How many steps were made."""
        return len(self.log_likelihood)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Answers:
    """How often each item was given each label by each person: `often` has shape (I, R · L)."""

    often: sparse.csr_array
    people: int
    labels: int

    def votes(self) -> FloatArray:
        """The share of an item's answers that each label has: shape (I, L)."""
        counts = self.often @ np.tile(np.eye(self.labels), (self.people, 1))
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def confusion(self, posterior: FloatArray, given: FloatArray) -> FloatArray:
        """How likely each person says each label of items of each true label, beside `given`: shape (R, L, L)."""
        said = np.asarray(self.often.T @ posterior).reshape(self.people, self.labels, self.labels)
        counts = said.transpose(0, 2, 1) + given
        totals = counts.sum(axis=2, keepdims=True)
        return np.asarray(np.divide(counts, totals, out=np.full(counts.shape, np.nan), where=totals > 0))

    def log_joint(self, prevalence: FloatArray, confusion: FloatArray) -> FloatArray:
        """The logarithm of the probability of each true label and all answers to an item: shape (I, L)."""
        logs = _log(confusion).transpose(0, 2, 1).reshape(self.people * self.labels, self.labels)
        return np.asarray(self.often @ logs + _log(prevalence))


def _log(share: FloatArray) -> FloatArray:
    """The logarithm; that of what is not known is that of nothing."""
    return np.log(share, out=np.full(share.shape, -np.inf), where=share > 0)


def dawid_skene(
    items: ArrayLike, people: ArrayLike, labels: ArrayLike, *, smoothing: float = SMOOTHING, most: int = MOST_STEPS
) -> DawidSkene:
    """Estimate true labels and mistakes from N answers: item, person and label of each, numbered from 0 without gaps.

    It begins with the share of the votes that each label of an item has, so the same answers, in whatever order, give
    the same estimate. With a `smoothing` of 0 it is the estimate of the paper; SMOOTHING says what a larger one does.
    It ends after `most` steps where it has not converged.
    """
    answers = _answers(items, people, labels)
    size = answers.labels
    given = smoothing * (np.eye(size) + 1 / size) / 2
    posterior, converged = answers.votes(), False
    told: list[float] = []
    while not converged and len(told) < most:
        counts = posterior.sum(axis=0) + smoothing / size
        prevalence, confusion = counts / counts.sum(), answers.confusion(posterior, given)
        joint = answers.log_joint(prevalence, confusion)
        evidence = logsumexp(joint, axis=1, keepdims=True)
        before, posterior = posterior, np.exp(joint - evidence)
        converged = bool(np.abs(posterior - before).max() <= CLOSE)
        prior = smoothing / size * np.log(prevalence).sum() + (given * np.log(confusion)).sum() if smoothing else 0.0
        told.append(float(evidence.sum() + prior))
    return DawidSkene(
        posterior=posterior,
        prevalence=prevalence,
        confusion=confusion,
        log_likelihood=tuple(told),
        converged=converged,
    )


def _answers(items: ArrayLike, people: ArrayLike, labels: ArrayLike) -> _Answers:
    """The answers as counts, summed in one order whatever the order in which they came."""
    item, person, label = (np.asarray(each, dtype=np.intp) for each in (items, people, labels))
    sizes = int(item.max()) + 1, int(person.max()) + 1, int(label.max()) + 1
    cells = item, person * sizes[2] + label
    often = sparse.coo_array((np.ones(len(item)), cells), shape=(sizes[0], sizes[1] * sizes[2])).tocsr()
    often.sum_duplicates()
    return _Answers(often=often, people=sizes[1], labels=sizes[2])
