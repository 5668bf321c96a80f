"""How well annotators agree: on each question, and in it by sentence, stratum, annotator, word and group."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from senseprobe.annotation.annotators import Accuracy, Pair, accuracies, fleiss, pairs
from senseprobe.annotation.answer_table import Table, tabulate
from senseprobe.annotation.cells import write_file
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable
from senseprobe.statistics import DRAWS, FEWEST_ITEMS, AgreementEstimate, IntArray, agreement_between, agreement_within

BY = ("all", "sentence", "stratum", "annotator", "word", "group", "groups")
"""What a figure is about: everything; one role; one stratum; one annotator against the others; one target word; those
of a group among themselves; those of one group against those of another."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """Agreement on a question, in all or in a part of the answers.

    - `by`: one of BY; `level`: which, empty for all.
    - `measure`: ``alpha`` (Krippendorff's, nominal), or ``cross-kappa`` of one set of annotators against another.
    - `value`, `low`, `high`: the measure and its interval; `same`, `same_low`, `same_high`: the share of pairs of
      answers that are equal; None where `why` says so.
    - `items`, `units`, `answers`, `annotators`: what it is based on; `alone`: units that one person answered, left out.
    """

    question: str
    by: str
    level: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    same: float | None
    same_low: float | None
    same_high: float | None
    items: int
    units: int
    answers: int
    annotators: int
    alone: int
    why: str = ""

    def __str__(self) -> str:
        subject = printable(f"{self.question}{f' · {self.by} {self.level}' if self.level else ''}")
        value = "none" if self.value is None else f"{self.value:.3f}{_interval(self.low, self.high)}"
        same = "" if self.same is None else f", {100 * self.same:.1f} % the same"
        return f"{subject}: {self.measure} {value}{same}; {self.items:,} items{f' ({self.why})' if self.why else ''}"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"


@dataclass(frozen=True, kw_only=True, slots=True)
class FleissKappa:
    """Fleiss' kappa on a question, over the units that `answers` people answered, as most were; None: `why`."""

    question: str
    value: float | None
    units: int
    answers: int
    why: str = ""


NAME = "agreement.json"

SMALLEST_GROUP = 5
"""Fewest annotators of a group with figures: figures of fewer would tell who they are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """All figures of agreement; `draws` and `seed` are those of the intervals.

    `withheld`: how many groups have no figures, as they have fewer than `smallest_group` annotators.
    """

    figures: tuple[Figure, ...]
    fleiss: tuple[FleissKappa, ...]
    pairs: tuple[Pair, ...]
    gold: tuple[Accuracy, ...]
    draws: int
    seed: int
    smallest_group: int
    withheld: int

    fewest_items: ClassVar[int] = FEWEST_ITEMS
    """Figures of fewer rows have no interval."""

    def by(self, what: str) -> list[Figure]:
        """Return the figures about one of BY, in order."""
        return [figure for figure in self.figures if figure.by == what]

    def as_dict(self) -> dict[str, Any]:
        """Return the figures with stable keys, as `agreement.json` has it."""
        return {
            "draws": self.draws,
            "seed": self.seed,
            "smallest_group": self.smallest_group,
            "withheld_groups": self.withheld,
            "figures": [asdict(figure) for figure in self.figures],
            "fleiss": [asdict(kappa) for kappa in self.fleiss],
            "pairs": [asdict(pair) for pair in self.pairs],
            "gold": [asdict(accuracy) for accuracy in self.gold],
        }


def agreement(
    plan: Plan,
    annotations: Iterable[Annotation],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    smallest_group: int = SMALLEST_GROUP,
) -> Agreement:
    """Return agreement on every question with choices; ``unsure`` is an answer as any other, free text is not compared.

    Intervals are those between the 2.5 % and 97.5 % quantiles over resampled items, all sentences of an item together:
    what other items would give of the same annotators.
    """
    answered = [*annotations]
    groups = _groups(answered)
    large = {name: people for name, people in groups.items() if len(people) >= max(2, smallest_group)}
    tables = tabulate(plan, answered)
    measuring = _Measurement(draws=draws, seed=seed, groups=large, smallest=smallest_group)
    return Agreement(
        figures=tuple(figure for table in tables for figure in measuring.figures(table)),
        fleiss=tuple(_fleiss(table) for table in tables),
        pairs=tuple(pair for table in tables for pair in pairs(table)),
        gold=tuple(accuracy for table in tables for accuracy in accuracies(table)),
        draws=draws,
        seed=seed,
        smallest_group=smallest_group,
        withheld=len(groups) - len(large),
    )


def _groups(annotations: Iterable[Annotation]) -> dict[str, frozenset[str]]:
    """Return the annotators who named each group of themselves, in any annotation and whatever case."""
    groups: dict[str, set[str]] = {}
    for annotation in annotations:
        for group in annotation.groups:
            groups.setdefault(" ".join(group.casefold().split()), set()).add(annotation.annotator)
    return {name: frozenset(people) for name, people in sorted(groups.items()) if name}


def _fleiss(table: Table) -> FleissKappa:
    counts = table.counts()
    labels = [[label for label, often in zip(table.labels, row, strict=True) for _ in range(often)] for row in counts]
    kappa = fleiss(labels)
    return FleissKappa(
        question=table.question, value=kappa.value, units=kappa.items, answers=kappa.answers, why=kappa.why
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Measurement:
    draws: int
    seed: int
    groups: Mapping[str, frozenset[str]]
    smallest: int

    def figures(self, table: Table) -> Iterator[Figure]:
        """Yield all figures of a question, in the order of BY."""
        counts = table.counts()
        yield self._within(table, "all", "", counts, np.arange(len(table.units)), table.people)
        yield from self._parts(table, "sentence", [key.partition(".")[2] for _, key in table.units])
        yield from self._parts(table, "stratum", self._of_items(table, "stratum"))
        for person in table.people:
            yield self._across(table, "annotator", person, {person}, {*table.people} - {person})
        yield from self._parts(table, "word", self._of_items(table, "target"))
        yield from self._groups(table)

    def _of_items(self, table: Table, field: str) -> list[str]:
        return [getattr(table.items[number], field) for number in table.item]

    def _parts(self, table: Table, by: str, levels: list[str]) -> Iterator[Figure]:
        """Yield a figure for each level of the units, where there is more than one; what has no level has no figure."""
        if len(set(levels)) < 2:
            return
        counts, sequence = table.counts(), np.array(levels, dtype=object)
        for level in sorted({*levels} - {""}):
            units = np.flatnonzero(sequence == level)
            people = {table.people[person] for person in table.person[np.isin(table.unit, units)]}
            yield self._within(table, by, level, counts[units], units, people)

    def _groups(self, table: Table) -> Iterator[Figure]:
        """Yield figures of groups; of two groups those are left out who belong to both."""
        here = {name: people & {*table.people} for name, people in self.groups.items()}
        for name, people in here.items():
            if len(people) >= max(2, self.smallest):
                units = np.arange(len(table.units))
                yield self._within(table, "group", name, table.counts(table.by(people)), units, people)
        for first, second in combinations(here, 2):
            own, others = here[first] - here[second], here[second] - here[first]
            if min(len(own), len(others)) >= max(1, self.smallest):
                yield self._across(table, "groups", f"{first} / {second}", own, others)

    def _within(
        self, table: Table, by: str, level: str, counts: IntArray, units: IntArray, people: Collection[str]
    ) -> Figure:
        result = agreement_within(counts, table.item[units], seed=self.seed, draws=self.draws)
        return _figure(table, by, level, "alpha", result, len(people))

    def _across(self, table: Table, by: str, level: str, own: Collection[str], others: Collection[str]) -> Figure:
        counts = table.counts(table.by(own)), table.counts(table.by(others))
        result = agreement_between(*counts, table.item, seed=self.seed, draws=self.draws)
        return _figure(table, by, level, "cross-kappa", result, len({*own, *others}))


def _figure(table: Table, by: str, level: str, measure: str, result: AgreementEstimate, annotators: int) -> Figure:
    """Return a figure, rounded to nine decimals, on which all processors agree."""
    value, low, high, same, same_low, same_high = (
        None if number is None else round(number, 9)
        for estimate in (result.corrected, result.percent)
        for number in (estimate.value, *(estimate.interval or (None, None)))
    )
    return Figure(
        question=table.question,
        by=by,
        level=level,
        measure=measure,
        value=value,
        low=low,
        high=high,
        same=same,
        same_low=same_low,
        same_high=same_high,
        items=result.items,
        units=result.units,
        answers=result.answers,
        annotators=annotators,
        alone=result.alone,
        why=result.corrected.why,
    )


def measure_agreement(plan: Plan, folder: Path, annotations: Sequence[Annotation]) -> Agreement:
    """Return how well annotators of a project agree, and write it as `agreement.json` into the project's folder.

    Raises AnnotationError where nobody has answered, or the file cannot be written.
    """
    if not any(annotation.status == "submitted" for annotation in annotations):
        message = "`annotate pull` or `annotate import` brings answers"
        raise AnnotationError(f"nobody has answered {plan.project} yet: {message}")
    result = agreement(plan, annotations)
    write_agreement(folder, result)
    return result


def write_agreement(folder: Path, result: Agreement) -> None:
    """Write `agreement.json` into a folder, canonical JSON; raise AnnotationError where it cannot be written."""
    text = json.dumps(result.as_dict(), ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
    write_file(folder / NAME, f"{text}\n".encode())
