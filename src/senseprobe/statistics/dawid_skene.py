"""Estimate the true labels of items that several people labelled, each with their own mistakes (Dawid & Skene 1979).

The model: an item has one true label; a person answers l for an item with label j with a probability of their own,
whatever the item and the answers of others. The most likely labels and mistakes are estimated together, by EM.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import logsumexp

from senseprobe.statistics.intervals import FloatArray

SMOOTHING = 1.0
"""The number of prior answers of each person to items of each true label: half of them right, the others at random.
They keep a person with few answers from being estimated as never, or as always, wrong."""

MOST_STEPS = 1_000
CLOSE = 1e-7


@dataclass(frozen=True, kw_only=True, slots=True)
class DawidSkene:
    """The estimates of the model for answers to I items by R people with L labels.

    - `posterior`: shape (I, L), the probability of each label to be the true one.
    - `prevalence`: shape (L,), the share of items with each true label.
    - `confusion`: shape (R, L, L), the probability of each person to answer l (last axis) for an item with true label
      j; nan where there is no such item, without smoothing.
    - `log_likelihood`: of the answers, after each step; with smoothing, of answers and prior answers.
    - `converged`: whether the last step moved no posterior by more than 1e-7.
    """

    posterior: FloatArray
    prevalence: FloatArray
    confusion: FloatArray
    log_likelihood: tuple[float, ...]
    converged: bool

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.log_likelihood)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Answers:
    """The number of answers by item, person and label: `often` has shape (I, R · L)."""

    often: sparse.csr_array
    people: int
    labels: int

    def votes(self) -> FloatArray:
        """Return the share of each label in an item's answers: shape (I, L)."""
        counts = self.often @ np.tile(np.eye(self.labels), (self.people, 1))
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def confusion(self, posterior: FloatArray, prior_counts: FloatArray) -> FloatArray:
        """Estimate the probability of each person's answers by true label, with `prior_counts`: shape (R, L, L)."""
        totals_by_label = np.asarray(self.often.T @ posterior).reshape(self.people, self.labels, self.labels)
        counts = totals_by_label.transpose(0, 2, 1) + prior_counts
        totals = counts.sum(axis=2, keepdims=True)
        return np.asarray(np.divide(counts, totals, out=np.full(counts.shape, np.nan), where=totals > 0))

    def log_joint(self, prevalence: FloatArray, confusion: FloatArray) -> FloatArray:
        """Return the logarithm of the probability of each true label and all answers to an item: shape (I, L)."""
        logs = _log_share(confusion).transpose(0, 2, 1).reshape(self.people * self.labels, self.labels)
        return np.asarray(self.often @ logs + _log_share(prevalence))


def _log_share(share: FloatArray) -> FloatArray:
    """Return the logarithm; -inf for 0 and for nan."""
    return np.log(share, out=np.full(share.shape, -np.inf), where=share > 0)


def dawid_skene(
    items: ArrayLike, people: ArrayLike, labels: ArrayLike, *, smoothing: float = SMOOTHING, most: int = MOST_STEPS
) -> DawidSkene:
    """Estimate true labels and mistakes from N answers: item, person and label of each, numbered from 0 without gaps.

    The first posterior is the share of votes of each label, so the same answers, in whatever order, give the same
    estimate. With a `smoothing` of 0 it is the estimate of the paper; SMOOTHING describes a larger one. It ends after
    `most` steps where it has not converged.

    >>> answers = dawid_skene(items=[0, 0, 0, 1, 1, 1], people=[0, 1, 2, 0, 1, 2], labels=[1, 1, 0, 0, 0, 0])
    >>> answers.posterior.round(2).tolist()
    [[0.04, 0.96], [0.98, 0.02]]
    """
    answers = _count_answers(items, people, labels)
    size = answers.labels
    prior_counts = smoothing * (np.eye(size) + 1 / size) / 2
    posterior, converged = answers.votes(), False
    log_likelihood: list[float] = []
    while not converged and len(log_likelihood) < most:
        counts = posterior.sum(axis=0) + smoothing / size
        prevalence, confusion = counts / counts.sum(), answers.confusion(posterior, prior_counts)
        joint = answers.log_joint(prevalence, confusion)
        evidence = logsumexp(joint, axis=1, keepdims=True)
        before, posterior = posterior, np.exp(joint - evidence)
        converged = bool(np.abs(posterior - before).max() <= CLOSE)
        prior = (
            smoothing / size * np.log(prevalence).sum() + (prior_counts * np.log(confusion)).sum() if smoothing else 0.0
        )
        log_likelihood.append(float(evidence.sum() + prior))
    return DawidSkene(
        posterior=posterior,
        prevalence=prevalence,
        confusion=confusion,
        log_likelihood=tuple(log_likelihood),
        converged=converged,
    )


def _count_answers(items: ArrayLike, people: ArrayLike, labels: ArrayLike) -> _Answers:
    """Count the answers, in an order that does not depend on that of the arguments."""
    item, person, label = (np.asarray(column, dtype=np.intp) for column in (items, people, labels))
    sizes = int(item.max()) + 1, int(person.max()) + 1, int(label.max()) + 1
    cells = item, person * sizes[2] + label
    often = sparse.coo_array((np.ones(len(item)), cells), shape=(sizes[0], sizes[1] * sizes[2])).tocsr()
    often.sum_duplicates()
    return _Answers(often=often, people=sizes[1], labels=sizes[2])
