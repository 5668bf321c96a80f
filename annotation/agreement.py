"""How well annotators agree: on each question, and in it by sentence, stratum, annotator, word and group.

And single annotators: kappas (by NLTK), who disagrees with whom, and who is right where the answer is known.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from senseprobe.annotation.agreement_figures import Accuracy, Agreement, Figure, Kappa, Pair
from senseprobe.annotation.annotators import people_by_group
from senseprobe.annotation.answers import Table, tabulate
from senseprobe.annotation.cells import write_file
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.errors import AnnotationError
from senseprobe.statistics import IntArray, clopper_pearson
from senseprobe.statistics.agreement import DRAWS, AgreementEstimate, agreement_between, agreement_within

NAME = "agreement.json"

_SEED = 0
SMALLEST_GROUP = 5  # fewest annotators of a group with figures: figures of fewer would tell who they are


def agreement(plan: Plan, annotations: Iterable[Annotation], *, smallest_group: int = SMALLEST_GROUP) -> Agreement:
    """Return agreement on every question with choices; ``unsure`` is an answer as any other, free text is not compared.

    Intervals are quantiles over resampled items, all sentences of an item together: what other items would give.
    """
    answered = [*annotations]
    groups = people_by_group(answered)
    large = {name: people for name, people in groups.items() if len(people) >= max(2, smallest_group)}
    tables = tabulate(plan, answered)
    return Agreement(
        figures=tuple(figure for table in tables for figure in _Measurement(table, large, smallest_group).figures()),
        fleiss=tuple(replace(fleiss(_labels(table)), question=table.question) for table in tables),
        pairs=tuple(pair for table in tables for pair in pairs(table)),
        gold=tuple(accuracy for table in tables for accuracy in accuracies(table)),
        draws=DRAWS,
        seed=_SEED,
        smallest_group=smallest_group,
        withheld=len(groups) - len(large),
    )


def measure_agreement(plan: Plan, folder: Path, annotations: Sequence[Annotation]) -> Agreement:
    """Return how well annotators agree, also written as `agreement.json`; raise AnnotationError without answers."""
    if not any(annotation.status == "submitted" for annotation in annotations):
        message = "fetch answers with `annotate pull` or `annotate import`"
        raise AnnotationError(f"nobody has answered {plan.project} yet: {message}")
    result = agreement(plan, annotations)
    write_agreement(folder, result)
    return result


def write_agreement(folder: Path, result: Agreement) -> None:
    """Write `agreement.json` into a folder, canonical JSON; raise AnnotationError where it cannot be written."""
    text = json.dumps(result.as_dict(), ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
    write_file(folder / NAME, f"{text}\n".encode())


@dataclass(frozen=True, slots=True)
class _Measurement:
    """How the figures of a question are measured; `groups` have their annotators, of which `smallest` are needed."""

    table: Table
    groups: Mapping[str, frozenset[str]]
    smallest: int

    def figures(self) -> Iterator[Figure]:
        """Yield all figures, in the order of BY; of two groups those are left out who belong to both."""
        table, people = self.table, {*self.table.people}
        units = np.arange(len(table.units))
        yield self._within("all", "", table.counts(), units, people)
        yield from self._parts("sentence", [key.partition(".")[2] for _, key in table.units])
        yield from self._parts("stratum", [table.items[number].stratum for number in table.item])
        for person in table.people:
            yield self._across("annotator", person, {person}, people - {person})
        yield from self._parts("word", [table.items[number].target for number in table.item])
        groups = {name: members & people for name, members in self.groups.items()}
        for name, members in groups.items():
            if len(members) >= max(2, self.smallest):
                yield self._within("group", name, table.counts(table.by(members)), units, members)
        for first, second in combinations(groups, 2):
            only_first, only_second = groups[first] - groups[second], groups[second] - groups[first]
            if min(len(only_first), len(only_second)) >= max(1, self.smallest):
                yield self._across("groups", f"{first} / {second}", only_first, only_second)

    def _parts(self, by: str, levels: list[str]) -> Iterator[Figure]:
        """Yield a figure for each level of the units, where there is more than one; what has no level has no figure."""
        table, counts, levels_of = self.table, self.table.counts(), np.array(levels, dtype=object)
        for level in sorted({*levels} - {""}) if len({*levels}) > 1 else []:
            units = np.flatnonzero(levels_of == level)
            people = {table.people[person] for person in table.person[np.isin(table.unit, units)]}
            yield self._within(by, level, counts[units], units, people)

    def _within(self, by: str, level: str, counts: IntArray, units: IntArray, people: Collection[str]) -> Figure:
        result = agreement_within(counts, self.table.item[units], seed=_SEED)
        return self._figure(by, level, "alpha", result, len(people))

    def _across(self, by: str, level: str, people: Collection[str], others: Collection[str]) -> Figure:
        counts = self.table.counts(self.table.by(people)), self.table.counts(self.table.by(others))
        result = agreement_between(*counts, self.table.item, seed=_SEED)
        return self._figure(by, level, "cross-kappa", result, len({*people, *others}))

    def _figure(self, by: str, level: str, measure: str, result: AgreementEstimate, annotators: int) -> Figure:
        """Return a figure, rounded to nine decimals, on which all processors agree."""
        numbers = [
            None if number is None else round(number, 9)
            for estimate in (result.corrected, result.percent)
            for number in (estimate.value, *(estimate.interval or (None, None)))
        ]
        return Figure(
            question=self.table.question,
            by=by,
            level=level,
            measure=measure,
            **dict(zip(("value", "low", "high", "same", "same_low", "same_high"), numbers, strict=True)),
            items=result.items,
            units=result.units,
            answers=result.answers,
            annotators=annotators,
            alone=result.alone,
            why=result.corrected.why,
        )


def cohen(pairs: Iterable[tuple[str, str]]) -> Kappa:
    """Return Cohen's kappa (1960) of what two people said of the same items.

    >>> cohen([("yes", "yes"), ("no", "no"), ("yes", "no"), ("no", "no")]).value
    0.5
    """
    return _kappa([*pairs], "kappa_pairwise", ("0", "1"))


def fleiss(items: Iterable[Sequence[str]]) -> Kappa:
    """Return Fleiss' kappa (1971) of items that so many people answered as most items were; the others are left out.

    Items with one answer do not count. Where two numbers are as frequent, the larger counts.
    """
    answered = [tuple(sorted(answers)) for answers in items if len(answers) > 1]
    if not answered:
        return Kappa(value=None, units=0, answers=0, why="items have only one answer each")
    sizes = Counter(map(len, answered))
    size = max(sizes, key=lambda number: (sizes[number], number))
    return _kappa([answers for answers in answered if len(answers) == size], "pi")


def _kappa(items: Sequence[tuple[str, ...]], name: str, people: tuple[str, ...] = ()) -> Kappa:
    """Return a coefficient of NLTK's AnnotationTask over items that have the same number of answers."""
    size = len(items[0]) if items else 0
    if len({label for answers in items for label in answers}) < 2:
        why = "all answers are the same" if items else "they did not answer the same items"
        return Kappa(value=None, units=len(items), answers=size, why=why)
    from nltk.metrics.agreement import AnnotationTask

    task = AnnotationTask(
        [(str(person), number, label) for number, answers in enumerate(items) for person, label in enumerate(answers)]
    )
    return Kappa(value=round(float(getattr(task, name)(*people)), 12), units=len(items), answers=size)


def _labels(table: Table) -> list[list[str]]:
    """Return the labels of each unit, one for each answer."""
    return [[*Counter(dict(zip(table.labels, row, strict=True))).elements()] for row in table.counts().tolist()]


def pairs(table: Table) -> list[Pair]:
    """Return all pairs of annotators who answered the same, those who differ most often first."""
    codes: list[list[tuple[int, int]]] = [[] for _ in table.units]
    for unit, person, code in zip(table.unit.tolist(), table.person.tolist(), table.label.tolist(), strict=True):
        codes[unit].append((person, code))
    labels: dict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
    for answers in codes:
        for (first, code), (second, other_code) in combinations(sorted(answers), 2):
            labels[first, second].append((table.labels[code], table.labels[other_code]))
    results = []
    for (first, second), answers_of_both in labels.items():
        differ = Counter(both for both in answers_of_both if both[0] != both[1])
        most = min(differ.items(), key=lambda entry: (-entry[1], entry[0]), default=None)
        kappa = cohen(answers_of_both)
        results.append(
            Pair(
                question=table.question,
                first=table.people[first],
                second=table.people[second],
                units=len(answers_of_both),
                different=differ.total(),
                share=differ.total() / len(answers_of_both),
                kappa=kappa.value,
                why=kappa.why,
                most=(*most[0], most[1]) if most else None,
            )
        )
    return sorted(results, key=lambda pair: (-pair.different, -pair.share, pair.first, pair.second))


def accuracies(table: Table) -> list[Accuracy]:
    """Return how often each annotator said what was expected, those who were wrong most often first."""
    gold = {(item.row, key): label for item in table.items for key, label in item.gold.items()}
    answers: dict[str, list[bool]] = defaultdict(list)
    for unit, person, label in zip(table.unit, table.person, table.label, strict=True):
        if expected := gold.get(table.units[unit]):
            answers[table.people[person]].append(table.labels[label] == expected)
    results = []
    for annotator, correct in answers.items():
        right, answered = sum(correct), len(correct)
        low, high = ((50 + bound) / 100 for bound in clopper_pearson(right, answered))
        results.append(
            Accuracy(
                question=table.question,
                annotator=annotator,
                right=right,
                answered=answered,
                share=right / answered,
                low=low,
                high=high,
            )
        )
    return sorted(results, key=lambda accuracy: (accuracy.share, accuracy.annotator))
