"""Cohen's and Fleiss' kappa, as NLTK computes them.

Who disagrees with whom, and who is right where the answer is known.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from senseprobe.annotation.answer_table import Table
from senseprobe.statistics import clopper_pearson

ALIKE = "all answers are one label"


@dataclass(frozen=True, kw_only=True, slots=True)
class Kappa:
    """A kappa over `items`, each answered `answers` times; `why` says why there is none."""

    value: float | None
    items: int
    answers: int
    why: str = ""


def cohen(pairs: Iterable[tuple[str, str]]) -> Kappa:
    """Cohen's kappa (1960) of what two people said of the same items.

    >>> cohen([("yes", "yes"), ("no", "no"), ("yes", "no"), ("no", "no")])
    Kappa(value=0.5, items=4, answers=2, why='')
    """
    told = [*pairs]
    return _kappa(told, "kappa_pairwise", ("0", "1"))


def fleiss(items: Iterable[Sequence[str]]) -> Kappa:
    """Fleiss' kappa (1971) of items that so many people answered as most items were; the others are left out.

    Of items with one answer there is none. Where two numbers are as frequent, the larger counts.
    """
    told = [tuple(sorted(answers)) for answers in items if len(answers) > 1]
    if not told:
        return Kappa(value=None, items=0, answers=0, why="no item was answered twice")
    many = Counter(map(len, told))
    size = max(many, key=lambda number: (many[number], number))
    return _kappa([answers for answers in told if len(answers) == size], "pi")


def _kappa(items: Sequence[tuple[str, ...]], name: str, people: tuple[str, ...] = ()) -> Kappa:
    """A coefficient of NLTK's AnnotationTask over items that have the same number of answers."""
    size = len(items[0]) if items else 0
    if not items or len({label for answers in items for label in answers}) == 1:
        return Kappa(value=None, items=len(items), answers=size, why=ALIKE if items else "no item was answered by both")
    from nltk.metrics.agreement import AnnotationTask

    task = AnnotationTask(
        [(str(who), number, label) for number, answers in enumerate(items) for who, label in enumerate(answers)]
    )
    value = float(getattr(task, name)(*people))
    return Kappa(value=round(value, 12), items=len(items), answers=size)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Two annotators on one question.

    - `units`: how many both answered, `different`: how many of them differently; `share`: of all.
    - `kappa`: Cohen's; None where `why` says so.
    - `most`: what the first and the second said most often where they differ, and how often; None where they never do.
    """

    question: str
    first: str
    second: str
    units: int
    different: int
    share: float
    kappa: float | None
    why: str = ""
    most: tuple[str, str, int] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The pair with stable keys."""
        return {**asdict(self), "most": list(self.most) if self.most else None}


def pairs(table: Table) -> list[Pair]:
    """All pairs of annotators who answered the same, those who differ most often first."""
    said: dict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
    for answers in _by_unit(table):
        for (first, label), (second, other) in combinations(sorted(answers), 2):
            said[first, second].append((table.labels[label], table.labels[other]))
    found = [_pair(table, first, second, told) for (first, second), told in said.items()]
    return sorted(found, key=lambda pair: (-pair.different, -pair.share, pair.first, pair.second))


def _by_unit(table: Table) -> Iterator[list[tuple[int, int]]]:
    """Who gave which label to each unit."""
    given: list[list[tuple[int, int]]] = [[] for _ in table.units]
    for unit, person, label in zip(table.unit.tolist(), table.person.tolist(), table.label.tolist(), strict=True):
        given[unit].append((person, label))
    yield from given


def _pair(table: Table, first: int, second: int, told: list[tuple[str, str]]) -> Pair:
    differ = Counter(labels for labels in told if labels[0] != labels[1])
    (labels, count), *_ = sorted(differ.items(), key=lambda each: (-each[1], each[0])) or [(("", ""), 0)]
    kappa = cohen(told)
    return Pair(
        question=table.question,
        first=table.people[first],
        second=table.people[second],
        units=len(told),
        different=differ.total(),
        share=differ.total() / len(told),
        kappa=kappa.value,
        why=kappa.why,
        most=(*labels, count) if count else None,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Accuracy:
    """How often an annotator said what was expected, of the `answered` units of which that is known.

    `low` and `high` are the exact interval (Clopper & Pearson 1934) at 95 %, for units that have nothing in common.
    """

    question: str
    annotator: str
    right: int
    answered: int
    share: float
    low: float
    high: float

    def as_dict(self) -> dict[str, Any]:
        """The accuracy with stable keys."""
        return asdict(self)


def accuracies(table: Table) -> list[Accuracy]:
    """How often each annotator said what was expected, those who were wrong most often first."""
    gold = {(item.row, key): label for item in table.items for key, label in item.gold.items()}
    answered: Counter[int] = Counter()
    right: Counter[int] = Counter()
    for unit, person, label in zip(table.unit.tolist(), table.person.tolist(), table.label.tolist(), strict=True):
        if expected := gold.get(table.units[unit]):
            answered[person] += 1
            right[person] += table.labels[label] == expected
    found = [_accuracy(table, person, right[person], count) for person, count in answered.items()]
    return sorted(found, key=lambda each: (each.share, each.annotator))


def _accuracy(table: Table, person: int, right: int, answered: int) -> Accuracy:
    low, high = clopper_pearson(right, answered)
    return Accuracy(
        question=table.question,
        annotator=table.people[person],
        right=right,
        answered=answered,
        share=right / answered,
        low=(50 + low) / 100,
        high=(50 + high) / 100,
    )
