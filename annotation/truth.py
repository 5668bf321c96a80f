"""What is likely to be true of each item when every annotator is weighed by their mistakes (Dawid & Skene 1979)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from senseprobe.annotation.records import Annotation, Plan
from senseprobe.annotation.tabulating import Table, tabulated
from senseprobe.statistics import SMOOTHING, dawid_skene


@dataclass(frozen=True, kw_only=True, slots=True)
class Truth:
    """What the model makes of the answers to one question, over all its sentences.

    - `posterior`: how likely each answer is the true one, by row and question key, of all that somebody answered.
    - `prevalence`: how common each true answer is.
    - `confusion`: how likely an annotator says an answer (inner key) where another is true (outer key), by annotator.
    - `answers`: how many answers each annotator gave.
    - `converged`: whether `steps` were enough; `smoothing`: answers that each annotator is taken to have given
      beforehand where each answer is true, half of them right, the others at random.
    """

    question: str
    posterior: Mapping[tuple[str, str], Mapping[str, float]]
    prevalence: Mapping[str, float]
    confusion: Mapping[str, Mapping[str, Mapping[str, float]]]
    answers: Mapping[str, int]
    steps: int
    converged: bool
    smoothing: float

    def as_dict(self) -> dict[str, Any]:
        """What is told of annotators, with stable keys; posteriors are not among it, as there is one for each item."""
        return {
            "question": self.question,
            "prevalence": dict(self.prevalence),
            "confusion": {
                who: {true: dict(said) for true, said in rows.items()} for who, rows in self.confusion.items()
            },
            "answers": dict(self.answers),
            "steps": self.steps,
            "converged": self.converged,
            "smoothing": self.smoothing,
        }

    def __str__(self) -> str:
        if self.converged:
            return f"{self.question}: Dawid-Skene converged in {self.steps} steps (smoothing {self.smoothing:g})"
        return f"{self.question}: Dawid-Skene has not converged in {self.steps} steps: its probabilities are rough"


def truths(plan: Plan, annotations: Iterable[Annotation], *, smoothing: float = SMOOTHING) -> list[Truth]:
    """The truth of each question with choices that somebody answered; ``unsure`` is an answer as any other.

    An annotator makes the same mistakes in all sentences, whatever their role, which they were not told either.
    """
    return [_truth(table, smoothing) for table in tabulated(plan, annotations)]


def _truth(table: Table, smoothing: float) -> Truth:
    found = dawid_skene(table.unit, table.person, table.label, smoothing=smoothing)
    given = np.bincount(table.person, minlength=len(table.people))
    return Truth(
        question=table.question,
        posterior={unit: _named(table, shares) for unit, shares in zip(table.units, found.posterior, strict=True)},
        prevalence=_named(table, found.prevalence),
        confusion={
            who: {true: _named(table, row) for true, row in zip(table.labels, rows, strict=True)}
            for who, rows in zip(table.people, found.confusion, strict=True)
        },
        answers=dict(zip(table.people, given.tolist(), strict=True)),
        steps=found.steps,
        converged=found.converged,
        smoothing=smoothing,
    )


def _named(table: Table, shares: np.ndarray[Any, Any]) -> dict[str, float]:
    """Shares by label; those that are not known are left out."""
    return {label: float(share) for label, share in zip(table.labels, shares, strict=True) if not np.isnan(share)}


def posteriors(found: Iterable[Truth]) -> dict[tuple[str, str], Mapping[str, float]]:
    """How likely each answer is the true one, by row and question key, over all questions."""
    return {place: shares for truth in found for place, shares in truth.posterior.items()}
