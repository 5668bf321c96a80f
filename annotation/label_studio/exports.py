"""Answers as Label Studio exports them, compared with the plan; whatever does not fit is counted and named."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from senseprobe.annotation.findings import AnswerFinding, FindingCollector
from senseprobe.annotation.harm import groups_of
from senseprobe.annotation.label_studio.interface import tasks as planned
from senseprobe.annotation.label_studio.results import (
    ParsedAnswers,
    Reader,
    identity,
    parse_json,
    parse_seconds,
    parse_time,
)
from senseprobe.annotation.records import Annotation, Item, Plan, latest
from senseprobe.errors import AnnotationError
from senseprobe.messages import counted

T = TypeVar("T")

NameOf = Callable[[str], str]
"""From an account of the platform (an id, or else an address) to the name that answers have."""

_JSON_MIN_KEYS = ("annotation_id", "annotator")


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedExport:
    """The annotations of an export, and what is odd about them.

    - `annotations`: one of each row by each person, sorted by row and person; those that were skipped are among them,
      with their `status` and without answers.
    - `tasks`: how many tasks of the project the export has.
    """

    annotations: tuple[Annotation, ...]
    findings: tuple[AnswerFinding, ...]
    tasks: int


def parse_export(raw: bytes, plan: Plan, name_of: NameOf) -> ParsedExport:
    """Return what an export (JSON, not JSON_MIN) holds of a plan.

    Raises AnnotationError where it is no export, or where none of its tasks is of this project: then it is
    the export of another one, and must not replace the answers of this one.
    """
    findings = FindingCollector()
    tasks = parse_json(raw, lambda key: findings.note("malformed", f"key twice in one object: {key}"))
    if not isinstance(tasks, list):
        raise AnnotationError("the export is not a list of tasks: export the project as JSON")
    if any(isinstance(task, dict) and "data" not in task and set(_JSON_MIN_KEYS) <= set(task) for task in tasks[:1]):
        raise AnnotationError("the export is JSON-MIN, which leaves out what was asked: export the project as JSON")
    if tasks and not any(isinstance(task, dict) and "annotations" in task for task in tasks):
        raise AnnotationError("the file has no annotations: it is what was sent, and not what came back")
    item_tasks = [*_planned_tasks(tasks, plan, findings)]
    if tasks and not item_tasks:
        raise AnnotationError(
            f"none of {counted(len(tasks), 'task')} is of this project: {'; '.join(map(str, findings))}"
        )
    reader = Reader(plan, findings)
    parsed = [annotation for item, task in item_tasks for annotation in _annotations(task, item, reader, name_of)]
    counting = [annotation for annotation in parsed if annotation.status != "submitted" or annotation.answers]
    last, dropped = latest(_distinct(counting, findings))
    groups = groups_of(parsed)  # also of annotations that do not count
    last = [replace(annotation, groups=tuple(sorted(groups[annotation.annotator]))) for annotation in last]
    for annotation in dropped:
        findings.note("duplicate", f"{annotation.id} of {annotation.row}")
    return ParsedExport(annotations=tuple(last), findings=tuple(findings), tasks=len(item_tasks))


def _planned_tasks(
    tasks: Iterable[Any], plan: Plan, findings: FindingCollector
) -> Iterator[tuple[Item, Mapping[str, Any]]]:
    """Yield the tasks that are as planned, with their items."""
    items = {item.row: item for item in plan.items}
    data_by_row = {task["data"]["ext_id"]: task["data"] for task in planned(plan)}
    for number, task in enumerate(tasks, 1):
        if not isinstance(task, dict) or not isinstance(data := task.get("data"), dict):
            findings.note("task", f"entry {number}")
            continue
        row = data.get("ext_id")
        item = items.get(row) if isinstance(row, str) else None
        if not isinstance(row, str) or not row:
            findings.note("unnamed", f"task {identity(task.get('id'))}")
        elif item is None:
            findings.note("unknown", row)
        elif data.get("content") != item.content or _is_edited(data, data_by_row[row]):
            findings.note("changed", row)
        else:
            yield item, task


def _is_edited(data: Mapping[str, Any], planned_data: Mapping[str, Any]) -> bool:
    """Return whether a text of a task was changed by hand, which leaves its hash as it was."""
    return any(isinstance(text, str) and data.get(name, text) != text for name, text in planned_data.items())


def _annotations(task: Mapping[str, Any], item: Item, reader: Reader, name_of: NameOf) -> Iterator[Annotation]:
    findings = reader.findings
    entries = task.get("annotations", [])
    if not isinstance(entries, list):
        findings.note("malformed", f"annotations of {item.row}")
        entries = []
    if isinstance(drafts := task.get("drafts"), list) and drafts:
        findings.note("draft", item.row, len(drafts))
    for entry in entries:
        name = identity(entry.get("id")) if isinstance(entry, dict) else ""
        if not name:
            findings.note("annotation", f"of {item.row}")
        elif not (account := _annotator(entry.get("completed_by"))):
            findings.note("nobody", f"{name} of {item.row}")
        else:
            yield _annotation(entry, name, name_of(account), item, reader)


def _annotator(value: object) -> str:
    """Return the id of an annotation's author, or else their address; empty where it names nobody."""
    if isinstance(value, dict):
        address = value.get("email")
        return identity(value.get("id")) or (identity(address).lower() if isinstance(address, str) else "")
    return identity(value)


def _annotation(entry: Mapping[str, Any], name: str, annotator: str, item: Item, reader: Reader) -> Annotation:
    """Return an annotation of an item, perhaps without any answer."""
    skipped, position = entry.get("was_cancelled") is True, f"{name} of {item.row}"
    results = entry.get("result")
    parsed = ParsedAnswers({}, reader.groups(results, position)) if skipped else reader.answers(results, item, position)
    if not skipped and not parsed.answers:
        reader.findings.note("empty", position)
    return Annotation(
        id=name,
        row=item.row,
        content=item.content,
        annotator=annotator,
        answers=parsed.answers,
        groups=parsed.groups,
        status="skipped" if skipped else "submitted",
        created=_optional(parse_time, entry.get("created_at"), f"created_at of {position}", reader.findings) or "",
        updated=_optional(parse_time, entry.get("updated_at"), f"updated_at of {position}", reader.findings) or "",
        seconds=_optional(parse_seconds, entry.get("lead_time"), f"lead_time of {position}", reader.findings),
    )


def _optional(form: Callable[[object], T | None], value: object, name: str, findings: FindingCollector) -> T | None:
    """Return a value of a form; None where it is not there or of another form."""
    parsed = form(value)
    if value is not None and parsed is None:
        findings.note("malformed", name)
    return parsed


def _distinct(annotations: Iterable[Annotation], findings: FindingCollector) -> Iterator[Annotation]:
    """Yield annotations with distinct ids; one that was exported twice counts once."""
    seen: dict[str, Annotation] = {}
    for annotation in sorted(
        annotations,
        key=lambda annotation: (
            len(annotation.id),
            annotation.id,
            annotation.row,
            annotation.annotator,
            annotation.updated,
        ),
    ):
        if seen.setdefault(annotation.id, annotation) is annotation:
            yield annotation
        else:
            findings.note("repeated", f"{annotation.id} of {annotation.row}")
