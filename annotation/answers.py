"""The answers of a project: its tables `answers.csv`, `skipped.csv` and `groups.csv`, their changes, and as arrays.

All individual answers can be published so, without who belongs to which group; `groups.csv` is kept from git.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from senseprobe.annotation.annotators import groups_of
from senseprobe.annotation.cells import csv_bytes, read_cells, write_file
from senseprobe.annotation.questions import Question, keys, question_of, questions_of
from senseprobe.annotation.records import Annotation, Item, Plan, latest_submitted, parse_time
from senseprobe.errors import AnnotationError
from senseprobe.messages import listed, printable, shortened
from senseprobe.statistics import BoolArray, IntArray
from senseprobe.tables import UnreadableError, table_objects

ANSWERS, SKIPPED, GROUPS = "answers.csv", "skipped.csv", "groups.csv"

MAX_BYTES = 2**29  # some 2.5 million answers

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    ANSWERS: ("row", "content", "question", "role", "annotator", "value", "annotation", "updated", "seconds"),
    SKIPPED: ("row", "content", "annotator", "annotation", "updated", "seconds"),
    GROUPS: ("annotator", "group"),
}


def write_answers(folder: Path, annotations: Iterable[Annotation]) -> None:
    """Write the three tables of a project, sorted; `groups.csv` only where somebody named a group, or it exists.

    One after the other, the answers first: a later run makes whole what was cut off between them.
    """
    tables: dict[str, set[tuple[str, ...]]] = {ANSWERS: set(), SKIPPED: set(), GROUPS: set()}
    for annotation in annotations:
        seconds = "" if annotation.seconds is None else f"{annotation.seconds:.3f}"
        row, end = (annotation.row, annotation.content), (annotation.id, annotation.updated, seconds)
        tables[GROUPS] |= {(annotation.annotator, group) for group in annotation.groups}
        if annotation.status == "skipped":
            tables[SKIPPED].add((*row, annotation.annotator, *end))
        elif annotation.status == "submitted":
            for key, value in annotation.answers.items():
                question, _, role = key.partition(".")
                tables[ANSWERS].add((*row, question, role, annotation.annotator, value, *end))
    for name, lines in tables.items():
        if lines or name != GROUPS or (folder / name).exists():
            write_file(folder / name, csv_bytes([_COLUMNS[name], *sorted(lines)]))


def read_answers(folder: Path) -> list[Annotation]:
    """Return the annotations that the tables of a project hold, sorted by row and annotator; without time of creation.

    An annotation in two tables was submitted after it was skipped, and its writing cut off.
    """
    groups: dict[str, set[str]] = {}
    for _, cells in _read(folder / GROUPS):
        groups.setdefault(cells["annotator"], set()).add(cells["group"])
    skipped = _annotations(folder / SKIPPED, "skipped", groups)
    annotations = skipped | _annotations(folder / ANSWERS, "submitted", groups)
    return sorted(annotations.values(), key=lambda annotation: (annotation.row, annotation.annotator, annotation.id))


def read_checked_answers(plan: Plan, folder: Path) -> list[Annotation]:
    """Return the answers of a project; raise AnnotationError where they do not fit the plan: it was edited."""
    annotations, unexpected = read_answers(folder), []
    keys_of = {item.row: keys(plan, item) for item in plan.items}
    for annotation in annotations:
        row = printable(shortened(annotation.row))
        if annotation.row not in keys_of:
            unexpected.append(f"the plan does not have the row {row}")
            continue
        for key, value in annotation.answers.items():
            if key not in keys_of[annotation.row]:
                unexpected.append(f"{printable(shortened(key))} was not asked of {row}")
            elif (choices := question_of(key).choices) and value not in choices:
                unexpected.append(f"{printable(shortened(value))} is not an answer to {key} ({row})")
    if unexpected:
        path = printable(str(folder / ANSWERS))
        raise AnnotationError(
            f"{path}: {listed(unexpected)}; `annotate pull` or `annotate import` writes the table again"
        )
    return annotations


def _read(path: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the lines of one of the tables by column, each with its place; none where it is not there."""
    if not path.is_symlink() and not path.exists():
        return
    try:
        for row, cells in table_objects(read_cells(path, MAX_BYTES), _COLUMNS[path.name]):
            yield f"{printable(str(path))}:{row.line}", cells
    except UnreadableError as error:
        raise AnnotationError(error.at(path)) from None


def _annotations(path: Path, status: str, groups: Mapping[str, Collection[str]]) -> dict[str, Annotation]:
    """Return the annotations of a table by id; lines of one annotation differ in question, role and value only."""
    annotations: dict[str, Annotation] = {}
    for position, cells in _read(path):
        key = ".".join(filter(None, (cells.get("question"), cells.get("role"))))
        new = Annotation(
            id=cells["annotation"],
            row=cells["row"],
            content=cells["content"],
            annotator=cells["annotator"],
            answers={key: cells["value"]} if key else {},
            groups=tuple(sorted(groups.get(cells["annotator"], ()))),
            status=status,
            updated=cells["updated"],
            seconds=_seconds(cells["seconds"]),
        )
        above = annotations.get(new.id)
        mistake = _mistake(cells)
        if above and replace(above, answers=new.answers) != new:
            mistake = mistake or "differs from a line above"
        elif above and (not key or key in above.answers):
            mistake = mistake or f"{key or 'it'} occurs twice"
        if mistake:
            raise AnnotationError(f"{position}: annotation {printable(shortened(new.id))}: {mistake}")
        annotations[new.id] = replace(new, answers={**above.answers, **new.answers}) if above else new
    return annotations


def _mistake(cells: Mapping[str, str]) -> str:
    if empty := next((name for name in cells if name not in ("role", "updated", "seconds") and not cells[name]), ""):
        return f"no {empty}"
    if cells["updated"] and parse_time(cells["updated"]) != cells["updated"]:
        return f"{printable(shortened(cells['updated']))} is not a time such as 2026-11-21T21:18:00.000000Z"
    if cells["seconds"] and _seconds(cells["seconds"]) is None:
        return f"{printable(shortened(cells['seconds']))} is not a number of seconds"
    return ""


def _seconds(text: str) -> float | None:
    whole, _, part = text.partition(".")
    digits = whole.isascii() and part.isascii() and whole.isdigit() and part.isdigit()
    return float(text) if digits and len(text) <= 20 else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """Ids of annotations that came, changed or went between two pulls; `regrouped`: annotators of other groups now."""

    new: tuple[str, ...]
    edited: tuple[str, ...]
    deleted: tuple[str, ...]
    regrouped: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [("new", self.new), ("edited", self.edited), ("deleted", self.deleted)]
        parts += [("with changed groups", self.regrouped)] if self.regrouped else []
        return ", ".join(
            f"{len(ids):,} {what}" + (f" ({listed(map(printable, ids))})" if ids and what != "new" else "")
            for what, ids in parts
        )


def changes(old: Iterable[Annotation], new: Iterable[Annotation]) -> Changes:
    """Return how annotations changed since an earlier pull; one is edited where its answers, row or state are others.

    Annotators who have a name for their pseudonym now, or a pseudonym for their name, edited nothing.

    >>> first = Annotation(id="1", row="r", content="c", annotator="a", answers={"natural": "yes"})
    >>> print(changes([first], []))
    0 new, 0 edited, 1 deleted (1)
    """
    before, now = ({annotation.id: annotation for annotation in annotations} for annotations in (old, new))
    both = now.keys() & before.keys()
    # What annotators are called now, by what they were called; only where that is one name for one person.
    pairs = {(before[id_].annotator, now[id_].annotator) for id_ in both}
    old_names, new_names = Counter(name for name, _ in pairs), Counter(name for _, name in pairs)
    names = {name: new_name for name, new_name in pairs if old_names[name] == new_names[new_name] == 1}
    before = {id_: replace(was, annotator=names.get(was.annotator, was.annotator)) for id_, was in before.items()}
    groups, new_groups = groups_of(before.values()), groups_of(now.values())
    ids = {
        "new": now.keys() - before.keys(),
        "edited": {id_ for id_ in both if _content(now[id_]) != _content(before[id_])},
        "deleted": before.keys() - now.keys(),
    }
    return Changes(
        **{name: tuple(sorted(changed, key=lambda id_: (len(id_), id_))) for name, changed in ids.items()},
        regrouped=tuple(sorted(who for who, named in groups.items() if new_groups.get(who, frozenset()) != named)),
    )


def _content(annotation: Annotation) -> tuple[object, ...]:
    answers = annotation.answers if annotation.status == "submitted" else {}
    return annotation.row, annotation.content, annotation.annotator, annotation.status, answers


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
    """Return a table for each question with choices that has answers, of last annotations and the plan's words."""
    items = {item.row: item for item in plan.items}
    contents = {row: item.content for row, item in items.items()}
    valid = [a for a in latest_submitted(annotations) if contents.get(a.row) == a.content]
    keys_of = {row: keys(plan, item) for row, item in items.items()}
    answers = [
        (annotation.row, key, annotation.annotator, annotation.answers[key])
        for annotation in valid
        for key in keys_of[annotation.row]
        if annotation.answers.get(key, "") in question_of(key).choices
    ]
    return [
        _table(question, items, of_question)
        for question in questions_of(plan)
        if (of_question := [answer for answer in answers if question_of(answer[1]).id == question.id])
    ]


def _table(question: Question, items: Mapping[str, Item], answers: Sequence[tuple[str, str, str, str]]) -> Table:
    """Return the answers (row, key, annotator, choice) to a question."""
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
    positions = {name: number for number, name in enumerate(names)}
    return np.array([positions[value] for value in values], dtype=np.intp)
