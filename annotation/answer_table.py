"""The answers to a question as arrays, from which agreement and truth are counted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from senseprobe.annotation.questions import Question, keys, questions_of
from senseprobe.annotation.records import Annotation, Item, Plan, latest_submitted
from senseprobe.statistics import BoolArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """N answers to one question, each to a unit: a row, or a sentence of one where it is asked of each.

    - `unit`, `person`, `label`: shape (N,), indices into `units` (row and key), `people` and `labels`.
    - `item`: shape (U,), index into `items` of the row that each unit belongs to.
    """

    question: str
    units: tuple[tuple[str, str], ...]
    items: tuple[Item, ...]
    people: tuple[str, ...]
    labels: tuple[str, ...]
    item: IntArray
    unit: IntArray
    person: IntArray
    label: IntArray

    def counts(self, among: BoolArray | None = None) -> IntArray:
        """Return how often each unit was given each label, by all or by some of the answers: shape (U, C)."""
        cells = self.unit * len(self.labels) + self.label
        width = len(self.units) * len(self.labels)
        counted = np.bincount(cells if among is None else cells[among], minlength=width)
        return counted.reshape(len(self.units), len(self.labels)).astype(np.intp)

    def by(self, people: Iterable[str]) -> BoolArray:
        """Return which answers are by one of these people: shape (N,)."""
        names = set(people)
        return np.array([name in names for name in self.people], dtype=np.bool_)[self.person]


def tabulate(plan: Plan, annotations: Iterable[Annotation]) -> list[Table]:
    """Return a table for each question with choices that somebody answered, in the order in which they are asked.

    The last annotation of a row by each person counts; none that was skipped, that is of other words than the plan's,
    or of a row that it does not have.
    """
    items = {item.row: item for item in plan.items}
    contents = {item.row: item.content for item in plan.items}
    valid = [a for a in latest_submitted(annotations) if contents.get(a.row) == a.content]
    keys_of = {row: keys(plan, item) for row, item in items.items()}
    tables = (_table(question, items, keys_of, valid) for question in questions_of(plan) if question.choices)
    return [table for table in tables if len(table.unit)]


def _table(
    question: Question,
    items: Mapping[str, Item],
    keys_of: Mapping[str, Sequence[str]],
    annotations: Sequence[Annotation],
) -> Table:
    answers = [
        (annotation.row, key, annotation.annotator, value)
        for annotation in annotations
        for key in keys_of[annotation.row]
        if key.partition(".")[0] == question.id and (value := annotation.answers.get(key, "")) in question.choices
    ]
    units = sorted({(row, key) for row, key, _, _ in answers})
    rows, people = sorted({row for row, _ in units}), sorted({person for _, _, person, _ in answers})
    labels = [label for label in question.choices if any(value == label for _, _, _, value in answers)]
    return Table(
        question=question.id,
        units=tuple(units),
        items=tuple(items[row] for row in rows),
        people=tuple(people),
        labels=tuple(labels),
        item=_indices(rows, (row for row, _ in units)),
        unit=_indices(units, ((row, key) for row, key, _, _ in answers)),
        person=_indices(people, (person for _, _, person, _ in answers)),
        label=_indices(labels, (value for _, _, _, value in answers)),
    )


def _indices(names: Sequence[object], values: Iterable[object]) -> IntArray:
    where = {name: number for number, name in enumerate(names)}
    return np.array([where[value] for value in values], dtype=np.intp)
