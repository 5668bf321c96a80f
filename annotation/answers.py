"""The tables of a project: `answers.csv`, a line for each answer, `skipped.csv` and `groups.csv`.

All individual answers can be published so, without who belongs to which group; `groups.csv` is kept from git.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from senseprobe.annotation.cells import csv_bytes, read_cells, write_file
from senseprobe.annotation.harm import groups_of
from senseprobe.annotation.label_studio.results import parse_time
from senseprobe.annotation.questions import keys, question_of
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.errors import AnnotationError
from senseprobe.messages import listed, printable, shortened

ANSWERS, SKIPPED, GROUPS = "answers.csv", "skipped.csv", "groups.csv"

MAX_BYTES = 2**29
"""Some 2.5 million answers."""

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    ANSWERS: ("row", "content", "question", "role", "annotator", "value", "annotation", "updated", "seconds"),
    SKIPPED: ("row", "content", "annotator", "annotation", "updated", "seconds"),
    GROUPS: ("annotator", "group"),
}


def write_answers(folder: Path, annotations: Iterable[Annotation]) -> None:
    """Write the three tables of a project, sorted: the same bytes for the same annotations in whatever order.

    One after the other, the answers first: a later run makes whole what was cut off between them.
    `groups.csv` is written only where somebody named a group, or it exists. Raises AnnotationError where one cannot be.
    """
    rows = [*annotations]
    groups = sorted({(annotation.annotator, group) for annotation in rows for group in annotation.groups})
    tables: dict[str, Sequence[Sequence[str]]] = {
        ANSWERS: sorted(line for annotation in rows if annotation.status == "submitted" for line in _lines(annotation)),
        SKIPPED: sorted(_skipped(annotation) for annotation in rows if annotation.status == "skipped"),
        GROUPS: groups,
    }
    for name, lines in tables.items():
        path = folder / name
        if lines or name != GROUPS or path.exists():
            write_file(path, csv_bytes([_COLUMNS[name], *lines]))


def _lines(annotation: Annotation) -> Iterator[tuple[str, ...]]:
    """Yield a line for each answer."""
    for key, value in annotation.answers.items():
        question, _, role = key.partition(".")
        start = annotation.row, annotation.content, question, role, annotation.annotator
        yield *start, value, annotation.id, annotation.updated, _number(annotation.seconds)


def _skipped(annotation: Annotation) -> tuple[str, ...]:
    start = annotation.row, annotation.content, annotation.annotator, annotation.id
    return *start, annotation.updated, _number(annotation.seconds)


def _number(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.3f}"


def read_answers(folder: Path) -> list[Annotation]:
    """Return the annotations that the tables of a project hold, sorted by row and annotator.

    Raises AnnotationError, with file and line, for the first mistake of a table. The time of creation is not stored. An
    annotation in two tables was submitted after it was skipped, and its writing cut off.
    """
    groups: dict[str, list[str]] = {}
    for _, cells in _read(folder / GROUPS):
        groups.setdefault(cells["annotator"], []).append(cells["group"])
    skipped = _annotations(_read(folder / SKIPPED), "skipped", groups)
    submitted = _annotations(_read(folder / ANSWERS), "submitted", groups)
    return sorted(
        (skipped | submitted).values(), key=lambda annotation: (annotation.row, annotation.annotator, annotation.id)
    )


def read_checked_answers(plan: Plan, folder: Path) -> list[Annotation]:
    """Return the answers of a project; raise AnnotationError where they do not fit the plan: it was edited."""
    annotations = read_answers(folder)
    keys_of = {item.row: keys(plan, item) for item in plan.items}
    unexpected = [message for annotation in annotations for message in _unexpected(annotation, keys_of)]
    if unexpected:
        path = printable(str(folder / ANSWERS))
        raise AnnotationError(
            f"{path}: {listed(unexpected)}; `annotate pull` or `annotate import` writes the table again"
        )
    return annotations


def _unexpected(annotation: Annotation, keys_of: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield what an annotation answers that was not asked, or not offered."""
    row = printable(shortened(annotation.row))
    if annotation.row not in keys_of:
        yield f"the plan has no row {row}"
        return
    for key, value in annotation.answers.items():
        if key not in keys_of[annotation.row]:
            yield f"{printable(shortened(key))} was not asked of {row}"
        elif (choices := question_of(key).choices) and value not in choices:
            yield f"{printable(shortened(value))} is not an answer to {key} ({row})"


_Lines = Iterable[tuple[str, Mapping[str, str]]]
"""Lines of a table, each with its place."""


def _read(path: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the lines of one of the tables by column, each with its place; none where it is not there."""
    if not path.is_symlink() and not path.exists():
        return
    columns, display_path = _COLUMNS[path.name], printable(str(path))
    lines = read_cells(path, MAX_BYTES)
    if not lines or lines[0].cells != columns:
        raise AnnotationError(f"{display_path}:1: columns are not {','.join(columns)}")
    for line in lines[1:]:
        position = f"{display_path}:{line.number}"
        if len(line.cells) != len(columns):
            raise AnnotationError(f"{position}: {len(line.cells)} cells, expected {len(columns)}")
        yield position, dict(zip(columns, line.cells, strict=True))


def _annotations(lines: _Lines, status: str, groups: Mapping[str, Collection[str]]) -> dict[str, Annotation]:
    """Return the annotations of a table by id; lines of one annotation differ in question, role and value only."""
    facts: dict[str, tuple[str, ...]] = {}
    answers: dict[str, dict[str, str]] = {}
    for position, cells in lines:
        name = cells["annotation"]
        values = tuple(cells[column] for column in ("row", "content", "annotator", "updated", "seconds"))
        if mistake := _mistake(cells) or ("differs from a line above" if facts.get(name, values) != values else ""):
            raise AnnotationError(f"{position}: annotation {printable(shortened(name))}: {mistake}")
        facts[name] = values
        key = ".".join(filter(None, (cells.get("question"), cells.get("role"))))
        if key in answers.setdefault(name, {}) or (status == "skipped" and not key and "" in answers[name]):
            raise AnnotationError(f"{position}: annotation {printable(shortened(name))}: {key or 'it'} is there twice")
        answers[name][key] = cells.get("value", "")
    return {name: _annotation(name, values, answers[name], status, groups) for name, values in facts.items()}


def _mistake(cells: Mapping[str, str]) -> str:
    """Return what is wrong with a line; empty where nothing is."""
    needed = [name for name in cells if name not in ("role", "updated", "seconds")]
    if empty := [name for name in needed if not cells[name]]:
        return f"no {empty[0]}"
    if cells["updated"] and parse_time(cells["updated"]) != cells["updated"]:
        return f"{printable(shortened(cells['updated']))} is not a time as 2026-11-21T21:18:00.000000Z"
    if cells["seconds"] and _seconds(cells["seconds"]) is None:
        return f"{printable(shortened(cells['seconds']))} is not a number of seconds"
    return ""


def _seconds(text: str) -> float | None:
    whole, _, part = text.partition(".")
    digits = whole.isascii() and part.isascii() and whole.isdigit() and part.isdigit()
    return float(text) if digits and len(text) <= 20 else None


def _annotation(
    name: str, values: tuple[str, ...], answers: Mapping[str, str], status: str, groups: Mapping[str, Collection[str]]
) -> Annotation:
    row, content, annotator, updated, seconds = values
    return Annotation(
        id=name,
        row=row,
        content=content,
        annotator=annotator,
        answers={} if status == "skipped" else answers,
        groups=tuple(sorted(groups.get(annotator, ()))),
        status=status,
        updated=updated,
        seconds=_seconds(seconds),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """Ids of annotations that came, changed or went between two pulls, sorted.

    `regrouped`: annotators who said to belong to other groups than before, as when they took that back.
    """

    new: tuple[str, ...]
    edited: tuple[str, ...]
    deleted: tuple[str, ...]
    regrouped: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.new or self.edited or self.deleted or self.regrouped)

    def __str__(self) -> str:
        parts = [("new", self.new), ("edited", self.edited), ("deleted", self.deleted)]
        parts += [("of other groups than before", self.regrouped)] if self.regrouped else []
        return ", ".join(
            f"{len(ids):,} {what}" + (f" ({listed(map(printable, ids))})" if ids and what != "new" else "")
            for what, ids in parts
        )


def changes(old: Iterable[Annotation], new: Iterable[Annotation]) -> Changes:
    """Return how annotations changed since an earlier pull; one is edited where its answers, row or state are others.

    >>> first = Annotation(id="1", row="r", content="c", annotator="a", answers={"natural": "yes"})
    >>> print(changes([first], []))
    0 new, 0 edited, 1 deleted (1)
    """
    before, now = ({annotation.id: annotation for annotation in annotations} for annotations in (old, new))
    groups, named = groups_of(before.values()), groups_of(now.values())
    return Changes(
        new=_sorted(now.keys() - before.keys()),
        edited=_sorted(name for name in now.keys() & before.keys() if _content(now[name]) != _content(before[name])),
        deleted=_sorted(before.keys() - now.keys()),
        regrouped=tuple(sorted(who for who, of in groups.items() if named.get(who, frozenset()) != of)),
    )


def _content(annotation: Annotation) -> tuple[object, ...]:
    answers = tuple(sorted(annotation.answers.items())) if annotation.status == "submitted" else ()
    return annotation.row, annotation.content, annotation.annotator, annotation.status, answers


def _sorted(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(ids, key=lambda name: (len(name), name)))
