"""Answers as tables: `answers.csv`, a line for each answer; `skipped.csv` and `groups.csv`, apart from it.

All individual answers can be published so, without who belongs to which group; `groups.csv` is kept from git.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from senseprobe.annotation.cells import csv_bytes, read_cells
from senseprobe.annotation.harm import groups_of
from senseprobe.annotation.label_studio.results import time
from senseprobe.annotation.questions import keys, question_of
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.atomic_files import write_whole
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
    `groups.csv` is written only where somebody named a group, or it is there. AnnotationError where one cannot be.
    """
    told = [*annotations]
    groups = sorted({(each.annotator, group) for each in told for group in each.groups})
    tables: dict[str, Sequence[Sequence[str]]] = {
        ANSWERS: sorted(line for each in told if each.status == "submitted" for line in _lines(each)),
        SKIPPED: sorted(_skipped(each) for each in told if each.status == "skipped"),
        GROUPS: groups,
    }
    for name, lines in tables.items():
        path = folder / name
        if lines or name != GROUPS or path.exists():
            try:
                write_whole(path, csv_bytes([_COLUMNS[name], *lines]))
            except OSError as error:
                raise AnnotationError(f"{printable(str(path))} cannot be written: {error.strerror}") from None


def _lines(annotation: Annotation) -> Iterator[tuple[str, ...]]:
    """A line for each answer."""
    for key, value in annotation.answers.items():
        question, _, role = key.partition(".")
        who = annotation.row, annotation.content, question, role, annotation.annotator
        yield *who, value, annotation.id, annotation.updated, _shown(annotation.seconds)


def _skipped(annotation: Annotation) -> tuple[str, ...]:
    told = annotation.row, annotation.content, annotation.annotator, annotation.id
    return *told, annotation.updated, _shown(annotation.seconds)


def _shown(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.3f}"


def read_answers(folder: Path) -> list[Annotation]:
    """The annotations that the tables of a project hold, sorted by row and annotator; none where there are none.

    AnnotationError, with file and line, for the first mistakes of a table. When they were made is not among them. One
    that is in two tables was submitted since it was skipped, and its writing cut off.
    """
    groups: dict[str, list[str]] = {}
    for _, cells in _read(folder / GROUPS):
        groups.setdefault(cells["annotator"], []).append(cells["group"])
    skipped = _annotations(_read(folder / SKIPPED), "skipped", groups)
    submitted = _annotations(_read(folder / ANSWERS), "submitted", groups)
    return sorted((skipped | submitted).values(), key=lambda each: (each.row, each.annotator, each.id))


def answers_to(plan: Plan, folder: Path) -> list[Annotation]:
    """What `read_answers` finds; AnnotationError where that is not what the plan asks: somebody wrote into it."""
    found = read_answers(folder)
    wanted = {item.row: keys(plan, item) for item in plan.items}
    strange = [told for each in found for told in _strange(each, wanted)]
    if strange:
        place = printable(str(folder / ANSWERS))
        raise AnnotationError(
            f"{place}: {listed(strange)}; `annotate pull` or `annotate import` writes the table again"
        )
    return found


def _strange(annotation: Annotation, wanted: Mapping[str, Collection[str]]) -> Iterator[str]:
    """What an annotation says that was not asked, or not offered."""
    row = printable(shortened(annotation.row))
    if annotation.row not in wanted:
        yield f"the plan has no row {row}"
        return
    for key, value in annotation.answers.items():
        if key not in wanted[annotation.row]:
            yield f"{printable(shortened(key))} was not asked of {row}"
        elif (choices := question_of(key).choices) and value not in choices:
            yield f"{printable(shortened(value))} is no answer to {key} ({row})"


_Lines = Iterable[tuple[str, Mapping[str, str]]]
"""Lines of a table, each with its place."""


def _read(path: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The lines of one of the tables by column, each with its place; none where it is not there."""
    if not path.is_symlink() and not path.exists():
        return
    columns, shown = _COLUMNS[path.name], printable(str(path))
    lines = read_cells(path, MAX_BYTES)
    if not lines or lines[0].cells != columns:
        raise AnnotationError(f"{shown}:1: columns are not {','.join(columns)}")
    for line in lines[1:]:
        place = f"{shown}:{line.number}"
        if len(line.cells) != len(columns):
            raise AnnotationError(f"{place}: {len(line.cells)} cells, expected {len(columns)}")
        yield place, dict(zip(columns, line.cells, strict=True))


def _annotations(lines: _Lines, status: str, groups: Mapping[str, Collection[str]]) -> dict[str, Annotation]:
    """The annotations of a table by id; lines of one annotation differ in question, role and value only."""
    facts: dict[str, tuple[str, ...]] = {}
    answers: dict[str, dict[str, str]] = {}
    for place, cells in lines:
        name = cells["annotation"]
        told = tuple(cells[column] for column in ("row", "content", "annotator", "updated", "seconds"))
        if mistake := _mistake(cells) or ("differs from a line above" if facts.get(name, told) != told else ""):
            raise AnnotationError(f"{place}: annotation {printable(shortened(name))}: {mistake}")
        facts[name] = told
        key = ".".join(filter(None, (cells.get("question"), cells.get("role"))))
        if key in answers.setdefault(name, {}) or (status == "skipped" and not key and "" in answers[name]):
            raise AnnotationError(f"{place}: annotation {printable(shortened(name))}: {key or 'it'} is there twice")
        answers[name][key] = cells.get("value", "")
    return {name: _annotation(name, told, answers[name], status, groups) for name, told in facts.items()}


def _mistake(cells: Mapping[str, str]) -> str:
    """What is wrong with a line; empty where nothing is."""
    needed = [name for name in cells if name not in ("role", "updated", "seconds")]
    if empty := [name for name in needed if not cells[name]]:
        return f"no {empty[0]}"
    if cells["updated"] and time(cells["updated"]) != cells["updated"]:
        return f"{printable(shortened(cells['updated']))} is no time as 2026-11-21T21:18:00.000000Z"
    if cells["seconds"] and _seconds(cells["seconds"]) is None:
        return f"{printable(shortened(cells['seconds']))} is no number of seconds"
    return ""


def _seconds(text: str) -> float | None:
    whole, _, part = text.partition(".")
    digits = whole.isascii() and part.isascii() and whole.isdigit() and part.isdigit()
    return float(text) if digits and len(text) <= 20 else None


def _annotation(
    name: str, told: tuple[str, ...], answers: Mapping[str, str], status: str, groups: Mapping[str, Collection[str]]
) -> Annotation:
    row, content, annotator, updated, seconds = told
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
        told = [("new", self.new), ("edited", self.edited), ("deleted", self.deleted)]
        told += [("of other groups than before", self.regrouped)] if self.regrouped else []
        return ", ".join(
            f"{len(ids):,} {what}" + (f" ({listed(map(printable, ids))})" if ids and what != "new" else "")
            for what, ids in told
        )


def changes(old: Iterable[Annotation], new: Iterable[Annotation]) -> Changes:
    """What became of annotations since an earlier pull; one is edited where its answers, row or state are others.

    >>> first = Annotation(id="1", row="r", content="c", annotator="a", answers={"natural": "yes"})
    >>> print(changes([first], []))
    0 new, 0 edited, 1 deleted (1)
    """
    before, now = ({each.id: each for each in annotations} for annotations in (old, new))
    groups, named = groups_of(before.values()), groups_of(now.values())
    return Changes(
        new=_sorted(now.keys() - before.keys()),
        edited=_sorted(name for name in now.keys() & before.keys() if _said(now[name]) != _said(before[name])),
        deleted=_sorted(before.keys() - now.keys()),
        regrouped=tuple(sorted(who for who, of in groups.items() if named.get(who, frozenset()) != of)),
    )


def _said(annotation: Annotation) -> tuple[object, ...]:
    answers = tuple(sorted(annotation.answers.items())) if annotation.status == "submitted" else ()
    return annotation.row, annotation.content, annotation.annotator, annotation.status, answers


def _sorted(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(ids, key=lambda name: (len(name), name)))
