"""Agreement of single annotators: kappas (by NLTK), who disagrees with whom, who is right where the answer is known."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

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
    """Return Cohen's kappa (1960) of what two people said of the same items.

    >>> cohen([("yes", "yes"), ("no", "no"), ("yes", "no"), ("no", "no")])
    Kappa(value=0.5, items=4, answers=2, why='')
    """
    items = [*pairs]
    return _kappa(items, "kappa_pairwise", ("0", "1"))


def fleiss(items: Iterable[Sequence[str]]) -> Kappa:
    """Return Fleiss' kappa (1971) of items that so many people answered as most items were; the others are left out.

    Items with one answer do not count. Where two numbers are as frequent, the larger counts.
    """
    answered = [tuple(sorted(answers)) for answers in items if len(answers) > 1]
    if not answered:
        return Kappa(value=None, items=0, answers=0, why="no item was answered twice")
    sizes = Counter(map(len, answered))
    size = max(sizes, key=lambda number: (sizes[number], number))
    return _kappa([answers for answers in answered if len(answers) == size], "pi")


def _kappa(items: Sequence[tuple[str, ...]], name: str, people: tuple[str, ...] = ()) -> Kappa:
    """Return a coefficient of NLTK's AnnotationTask over items that have the same number of answers."""
    size = len(items[0]) if items else 0
    if not items or len({label for answers in items for label in answers}) == 1:
        return Kappa(value=None, items=len(items), answers=size, why=ALIKE if items else "no item was answered by both")
    from nltk.metrics.agreement import AnnotationTask

    task = AnnotationTask(
        [(str(person), number, label) for number, answers in enumerate(items) for person, label in enumerate(answers)]
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


def pairs(table: Table) -> list[Pair]:
    """Return all pairs of annotators who answered the same, those who differ most often first."""
    labels: dict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
    for answers in _by_unit(table):
        for (first, code), (second, other_code) in combinations(sorted(answers), 2):
            labels[first, second].append((table.labels[code], table.labels[other_code]))
    results = [_pair(table, first, second, answers_of_both) for (first, second), answers_of_both in labels.items()]
    return sorted(results, key=lambda pair: (-pair.different, -pair.share, pair.first, pair.second))


def _by_unit(table: Table) -> Iterator[list[tuple[int, int]]]:
    """Return who gave which label to each unit."""
    given: list[list[tuple[int, int]]] = [[] for _ in table.units]
    for unit, person, label in zip(table.unit.tolist(), table.person.tolist(), table.label.tolist(), strict=True):
        given[unit].append((person, label))
    yield from given


def _pair(table: Table, first: int, second: int, answers: list[tuple[str, str]]) -> Pair:
    differ = Counter(labels for labels in answers if labels[0] != labels[1])
    (labels, count), *_ = sorted(differ.items(), key=lambda entry: (-entry[1], entry[0])) or [(("", ""), 0)]
    kappa = cohen(answers)
    return Pair(
        question=table.question,
        first=table.people[first],
        second=table.people[second],
        units=len(answers),
        different=differ.total(),
        share=differ.total() / len(answers),
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


def accuracies(table: Table) -> list[Accuracy]:
    """Return how often each annotator said what was expected, those who were wrong most often first."""
    gold = {(item.row, key): label for item in table.items for key, label in item.gold.items()}
    answered: Counter[int] = Counter()
    right: Counter[int] = Counter()
    for unit, person, label in zip(table.unit.tolist(), table.person.tolist(), table.label.tolist(), strict=True):
        if expected := gold.get(table.units[unit]):
            answered[person] += 1
            right[person] += table.labels[label] == expected
    results = [_accuracy(table, person, right[person], count) for person, count in answered.items()]
    return sorted(results, key=lambda accuracy: (accuracy.share, accuracy.annotator))


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
