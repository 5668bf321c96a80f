"""Answers as Label Studio exports them, read against what was asked; whatever does not fit is counted and named."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from senseprobe.annotation.findings import AnswerFinding, FindingCollector
from senseprobe.annotation.harm import groups_of
from senseprobe.annotation.label_studio.interface import tasks as planned
from senseprobe.annotation.label_studio.results import ParsedAnswers, Reader, identity, parse, seconds, time
from senseprobe.annotation.records import Annotation, Item, Plan, latest
from senseprobe.errors import AnnotationError
from senseprobe.messages import counted

T = TypeVar("T")

NameOf = Callable[[str], str]
"""From what the platform calls somebody (an id, or else an address) to the name that goes with answers."""

_MIN = ("annotation_id", "annotator")


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedExport:
    """What people said, and what is odd about it.

    - `annotations`: one of each row by each person, sorted by row and person; those that were skipped are among them,
      with their `status` and without answers.
    - `tasks`: how many tasks of the project the export has.
    """

    annotations: tuple[Annotation, ...]
    faults: tuple[AnswerFinding, ...]
    tasks: int


def read(raw: bytes, plan: Plan, name_of: NameOf) -> ParsedExport:
    """What an export (JSON, not JSON_MIN) holds of a plan.

    AnnotationError where it is no export, or where it has tasks and none of them is of this project: then it is the
    export of another one, and its answers are not to take the place of those that are there.
    """
    faults = FindingCollector()
    tasks = parse(raw, lambda key: faults.note("malformed", f"key twice in one object: {key}"))
    if not isinstance(tasks, list):
        raise AnnotationError("the export is no list of tasks: export the project as JSON")
    if any(isinstance(task, dict) and "data" not in task and set(_MIN) <= set(task) for task in tasks[:1]):
        raise AnnotationError("the export is JSON-MIN, which leaves out what was asked: export the project as JSON")
    if tasks and not any(isinstance(task, dict) and "annotations" in task for task in tasks):
        raise AnnotationError("the file has no annotations: it is what was sent, and not what came back")
    known = [*_known(tasks, plan, faults)]
    if tasks and not known:
        raise AnnotationError(
            f"none of {counted(len(tasks), 'task')} is of this project: {'; '.join(map(str, faults))}"
        )
    reader = Reader(plan, faults)
    told = [each for item, task in known for each in _annotations(task, item, reader, name_of)]
    found = [each for each in told if each.status != "submitted" or each.answers]
    kept, dropped = latest(_distinct(found, faults))
    groups = groups_of(told)  # also of annotations that do not count
    kept = [replace(each, groups=tuple(sorted(groups[each.annotator]))) for each in kept]
    for each in dropped:
        faults.note("duplicate", f"{each.id} of {each.row}")
    return ParsedExport(annotations=tuple(kept), faults=tuple(faults), tasks=len(known))


def _known(tasks: Iterable[Any], plan: Plan, faults: FindingCollector) -> Iterator[tuple[Item, Mapping[str, Any]]]:
    """The tasks that ask what was planned, with their items."""
    items = {item.row: item for item in plan.items}
    shown = {task["data"]["ext_id"]: task["data"] for task in planned(plan)}
    for number, task in enumerate(tasks, 1):
        if not isinstance(task, dict) or not isinstance(data := task.get("data"), dict):
            faults.note("task", f"entry {number}")
            continue
        row = data.get("ext_id")
        item = items.get(row) if isinstance(row, str) else None
        if not isinstance(row, str) or not row:
            faults.note("unnamed", f"task {identity(task.get('id'))}")
        elif item is None:
            faults.note("unknown", row)
        elif data.get("content") != item.content or _reads_otherwise(data, shown[row]):
            faults.note("changed", row)
        else:
            yield item, task


def _reads_otherwise(data: Mapping[str, Any], shown: Mapping[str, Any]) -> bool:
    """Whether a text of a task was changed by hand, which leaves its hash as it was."""
    return any(isinstance(text, str) and data.get(name, text) != text for name, text in shown.items())


def _annotations(task: Mapping[str, Any], item: Item, reader: Reader, name_of: NameOf) -> Iterator[Annotation]:
    faults = reader.faults
    told = task.get("annotations", [])
    if not isinstance(told, list):
        faults.note("malformed", f"annotations of {item.row}")
        told = []
    if isinstance(drafts := task.get("drafts"), list) and drafts:
        faults.note("draft", item.row, len(drafts))
    for one in told:
        name = identity(one.get("id")) if isinstance(one, dict) else ""
        if not name:
            faults.note("annotation", f"of {item.row}")
        elif not (who := _who(one.get("completed_by"))):
            faults.note("nobody", f"{name} of {item.row}")
        else:
            yield _annotation(one, name, name_of(who), item, reader)


def _who(value: object) -> str:
    """Whose an annotation is: their id, or where there is none their address; empty where it does not say."""
    if isinstance(value, dict):
        address = value.get("email")
        return identity(value.get("id")) or (identity(address).lower() if isinstance(address, str) else "")
    return identity(value)


def _annotation(one: Mapping[str, Any], name: str, annotator: str, item: Item, reader: Reader) -> Annotation:
    """One annotation of an item, perhaps without any answer."""
    skipped, place = one.get("was_cancelled") is True, f"{name} of {item.row}"
    results = one.get("result")
    said = ParsedAnswers({}, reader.groups(results, place)) if skipped else reader.answers(results, item, place)
    if not skipped and not said.answers:
        reader.faults.note("empty", place)
    return Annotation(
        id=name,
        row=item.row,
        content=item.content,
        annotator=annotator,
        answers=said.answers,
        groups=said.groups,
        status="skipped" if skipped else "submitted",
        created=_optional(time, one.get("created_at"), f"created_at of {place}", reader.faults) or "",
        updated=_optional(time, one.get("updated_at"), f"updated_at of {place}", reader.faults) or "",
        seconds=_optional(seconds, one.get("lead_time"), f"lead_time of {place}", reader.faults),
    )


def _optional(form: Callable[[object], T | None], value: object, what: str, faults: FindingCollector) -> T | None:
    """A value of a form; None where it is not there or of another form."""
    told = form(value)
    if value is not None and told is None:
        faults.note("malformed", what)
    return told


def _distinct(annotations: Iterable[Annotation], faults: FindingCollector) -> Iterator[Annotation]:
    """Annotations with an id of their own each; the same one, exported twice, counts once."""
    seen: dict[str, Annotation] = {}
    for each in sorted(annotations, key=lambda one: (len(one.id), one.id, one.row, one.annotator, one.updated)):
        if seen.setdefault(each.id, each) is each:
            yield each
        else:
            faults.note("repeated", f"{each.id} of {each.row}")
