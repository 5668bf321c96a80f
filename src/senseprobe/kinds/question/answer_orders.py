"""In which orders, and under which labels, three answers are shown, and what the answers of a model come to.

A model may prefer a place (the first), a label (A), or a label at a place, whatever the answers are. So the questions
of a row are in two parts, and in each of them the labels are always at the same places: A B C in their order, and 2 3 1
shifted by one place. All six orders of the answers, or the three cyclic ones, have each answer as often at each place.
So each answer has had the same places, labels and both together, and what is left of the means of log P(its label) are
the answers themselves. Place and label are told apart by the shift: see `read_choice`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TypeAlias

import numpy as np

from senseprobe.evaluate.served.conversation import LabelQuestion, LabelWeights
from senseprobe.kinds.question.columns import ANSWERS, PLACES, SCORES
from senseprobe.kinds.question.units import split_unit
from senseprobe.statistics import FloatArray

Order: TypeAlias = tuple[int, ...]
"""The answer at each place, by its number in `ANSWERS`."""

ORDERS: tuple[Order, ...] = tuple(permutations(range(3)))
CYCLIC: tuple[Order, ...] = ((0, 1, 2), (1, 2, 0), (2, 0, 1))

DUST = 1e-6
"""Nats within which two labels are as likely: a share of a likeliest place is split between them."""


@dataclass(frozen=True, slots=True)
class Part:
    """Questions whose labels are at the same places; `shift`: by how many places labels stand too early."""

    labels: tuple[str, str, str]
    shift: int
    orders: tuple[Order, ...]

    @property
    def name(self) -> str:
        """Its labels, place by place."""
        return "".join(self.labels)


def _parts(orders: tuple[Order, ...]) -> tuple[Part, Part]:
    return Part(("A", "B", "C"), 0, orders), Part(("2", "3", "1"), 1, orders)


ALL_PARTS, CYCLIC_PARTS = _parts(ORDERS), _parts(CYCLIC)
"""Twelve questions of a row, and the six of these that have a cyclic order."""

TEXT_PARTS, CYCLIC_TEXT_PARTS = ALL_PARTS[:1], CYCLIC_PARTS[:1]
"""Those for whole answers, which cost more: a label is always at its own place."""


def ask(text: str, beside: str, parts: Sequence[Part]) -> list[LabelQuestion]:
    r"""Return the questions of a unit; what all of them share comes first.

    >>> print(ask("Ann met Bo.\nWho sang?", "Ann.\nBo.\nUnknown.", ALL_PARTS)[6].prompt)
    Ann met Bo.
    Who sang?
    Answer with one number, 1, 2 or 3.
    2. Ann.
    3. Bo.
    1. Unknown.
    """
    unit = split_unit(text, beside)
    answers = [*unit.answers, *[""] * (len(ANSWERS) - len(unit.answers))]
    questions = []
    for part in parts:
        kind = "number" if part.labels[0].isdigit() else "letter"
        first, second, third = sorted(part.labels)
        head = f"{unit.context}\n{unit.question}\nAnswer with one {kind}, {first}, {second} or {third}."
        for order in part.orders:
            lines = (f"{label}. {answers[number]}" for label, number in zip(part.labels, order, strict=True))
            questions.append(LabelQuestion("\n".join([head, *lines]), part.labels))
    return questions


def choice_columns(parts: Sequence[Part]) -> tuple[str, ...]:
    """Return the names of the numbers of `read_choice`, in nats but for shares, masses and ``censored``."""
    return (
        *SCORES,
        *PLACES,
        *(f"label_{rank}" for rank in (1, 2, 3)),
        *("position", "prior"),
        *(f"{answer}_{part.name}" for part in parts for answer in ANSWERS),
        *("mass", "mass_least", "censored"),
    )


def read_choice(weights: Sequence[LabelWeights], parts: Sequence[Part]) -> tuple[float, ...]:
    """Return the numbers of a unit, of what a model gives to the labels of each question, as `choice_columns` names.

    The content of an answer in a part is the mean over orders of log P(its label), less the mean of the three answers;
    its score is the mean of both parts. Then the share of questions whose likeliest label is at each place, and is the
    first, second or third of its alphabet. With u and v the means of log P by place with labels in order, and shifted
    by one place, both less their mean, the effect of label k is l(k) = [u(k) - v(k) - u(k-1) + v(k-1)] / 3, and that of
    place k is u(k) - l(k), if A counts as 1 does. ``position`` and ``prior`` are the largest less the smallest.
    Then the contents in each part, median and least mass, and how many labels are censored.

    >>> by_place = [LabelWeights((-0.5, -1.5, -2.5), (False,) * 3, 0.9)] * 12
    >>> numbers = dict(zip(choice_columns(ALL_PARTS), read_choice(by_place, ALL_PARTS)))
    >>> numbers["stereo_score"], numbers["place_1"], numbers["position"], numbers["prior"]
    (0.0, 1.0, 2.0, 0.0)
    """
    logs = np.array([weight.log_probs for weight in weights], dtype=np.float64).reshape(len(parts), -1, len(ANSWERS))
    logs = logs - logs.mean(axis=2, keepdims=True)
    orders = np.array([part.orders for part in parts])
    by_answer = np.take_along_axis(logs, np.argsort(orders, axis=2), axis=2).mean(axis=1)
    likeliest = logs >= logs.max(axis=2, keepdims=True) - DUST
    share = likeliest / likeliest.sum(axis=2, keepdims=True)
    by_label = [np.roll(share[number], part.shift, axis=1) for number, part in enumerate(parts)]
    position, prior = _effects(logs.mean(axis=1), np.array([part.shift for part in parts]))
    masses = [weight.mass for weight in weights]
    return (
        *(by_answer.mean(axis=0) + 0.0).tolist(),
        *share.mean(axis=(0, 1)).tolist(),
        *np.mean(by_label, axis=(0, 1)).tolist(),
        *(position, prior),
        *by_answer.ravel().tolist(),
        *(float(np.median(masses)), float(np.min(masses))),
        float(sum(sum(weight.censored) for weight in weights)),
    )


def _effects(by_place: FloatArray, shifts: FloatArray) -> tuple[float, float]:
    """Return how far places, and labels, are apart, of means of log P by part and place."""
    ordered, shifted = (by_place[shifts == shift].mean(axis=0) for shift in (0, 1))
    difference = ordered - shifted
    label = (difference - np.roll(difference, 1)) / len(ANSWERS)
    place = ordered - label
    return float(np.ptp(place)), float(np.ptp(label))
