"""Cohen's and Fleiss' kappa, as NLTK computes them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
