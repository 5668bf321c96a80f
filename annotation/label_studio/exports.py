"""Answers as Label Studio exports them: untrusted JSON; what does not fit the plan is counted and named."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from senseprobe.annotation.annotators import groups_of, named_groups
from senseprobe.annotation.label_studio.interface import tasks as planned
from senseprobe.annotation.questions import CONSENT, GROUPS, controls, keys, question_of
from senseprobe.annotation.records import MAX_TEXT, Annotation, Item, Plan, clean, latest, parse_time
from senseprobe.errors import AnnotationError
from senseprobe.messages import MAX_LISTED, counted, listed, printable, shortened
from senseprobe.tables import UnreadableError, read_json

T = TypeVar("T")

NameOf = Callable[[str], str]
"""From an account of the platform (an id, or else an address) to the name that answers have."""

MAX_BYTES = 2**30  # an export of 20,000 tasks with three annotations each has some 150 MB

KINDS = {
    "task": "entries that are not tasks (omitted)",
    "unnamed": "tasks without a row id (`ext_id`), from another project (omitted)",
    "unknown": "tasks with rows that are not in this project (omitted)",
    "changed": "tasks whose text differs from the plan (omitted)",
    "annotation": "entries that are not annotations (omitted)",
    "nobody": "annotations without an annotator (omitted)",
    "repeated": "annotations with the id of another one (omitted)",
    "duplicate": "annotations that the same annotator replaced later (omitted)",
    "empty": "annotations without any answer (omitted)",
    "control": "answers to questions that the interface does not have (omitted)",
    "unasked": "answers to a question that the row does not have (omitted)",
    "label": "answers that the interface does not offer (omitted)",
    "several": "several answers instead of one (omitted)",
    "malformed": "values of a wrong type (omitted)",
    "cut": "answers longer than 10,000 characters (shortened)",
    "consent": "groups without consent (omitted)",
    "groups": "groups after the first 20 of an annotation, or longer than 100 characters (omitted)",
    "unfinished": "annotations without an answer to a required question (kept)",
    "draft": "drafts that were not submitted (omitted)",
}
"""The kinds of findings, in the order of messages."""


@dataclass(slots=True)
class AnswerFinding:
    """A kind of KINDS, how often it occurred, and the first examples, safe to print."""

    kind: str
    count: int = 0
    examples: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        named = f" ({listed(self.examples, self.count)})" if self.examples else ""
        return f"{KINDS[self.kind]}: {self.count:,}{named}"


class FindingCollector:
    """Collects findings; however many there are, only the first examples of each kind are stored.

    >>> findings = FindingCollector()
    >>> findings.note("label", "sense: maybe")
    >>> print(*findings)
    answers that the interface does not offer (omitted): 1 (sense: maybe)
    """

    def __init__(self) -> None:
        self._findings = {kind: AnswerFinding(kind) for kind in KINDS}

    def note(self, kind: str, example: str, count: int = 1) -> None:
        """Count a finding of a kind; an empty example is not stored."""
        finding, text = self._findings[kind], printable(shortened(example))
        finding.count += count
        if text and len(finding.examples) < MAX_LISTED and text not in finding.examples:
            finding.examples.append(text)

    def __iter__(self) -> Iterator[AnswerFinding]:
        return (finding for finding in self._findings.values() if finding.count)


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedExport:
    """The annotations of an export, one of each row by each person; what is odd; how many tasks are the plan's."""

    annotations: tuple[Annotation, ...]
    findings: tuple[AnswerFinding, ...]
    tasks: int


def parse_export(raw: bytes, plan: Plan, name_of: NameOf) -> ParsedExport:
    """Return what an export (JSON, not JSON_MIN) holds of a plan.

    Raises AnnotationError also where none of its tasks is of this project: it must not replace the answers of this one.
    """
    findings = FindingCollector()
    tasks = _parse_json(raw, findings)
    if not isinstance(tasks, list):
        raise AnnotationError("the export is not a list of tasks: export the project as JSON")
    first = tasks[0] if tasks and isinstance(tasks[0], dict) else {}
    if "data" not in first and {"annotation_id", "annotator"} <= {*first}:
        raise AnnotationError("the export is JSON-MIN, which lacks the questions: export the project as JSON")
    if tasks and not any(isinstance(task, dict) and "annotations" in task for task in tasks):
        raise AnnotationError("the file has tasks without annotations: export the answers from Label Studio as JSON")
    item_tasks = [*_planned_tasks(tasks, plan, findings)]
    if tasks and not item_tasks:
        raise AnnotationError(
            f"none of {counted(len(tasks), 'task')} belongs to this project: {'; '.join(map(str, findings))}"
        )
    reader = _Reader(plan, findings, name_of)
    parsed = [annotation for item, task in item_tasks for annotation in reader.annotations(task, item)]
    counting = [annotation for annotation in parsed if annotation.status != "submitted" or annotation.answers]
    last, dropped = latest(_distinct(counting, findings))
    groups = groups_of(parsed)  # also of annotations that do not count
    last = [replace(annotation, groups=tuple(sorted(groups[annotation.annotator]))) for annotation in last]
    for annotation in dropped:
        findings.note("duplicate", f"{annotation.id} of {annotation.row}")
    return ParsedExport(annotations=tuple(last), findings=tuple(findings), tasks=len(item_tasks))


def _parse_json(raw: bytes, findings: FindingCollector) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the JSON value; raise AnnotationError where it is none. A repeated key is noted."""
    if len(raw) > MAX_BYTES:
        raise AnnotationError(f"the export is larger than {MAX_BYTES >> 20} MiB: export it in parts")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            repeated = next(key for key, count in counts.items() if count > 1)
            findings.note("malformed", f"key twice in one object: {repeated}")
        return result

    try:
        return read_json(raw, object_pairs_hook=unique)
    except UnreadableError as error:
        raise AnnotationError(f"the export {error}{f' (line {error.line})' if error.line else ''}") from None


def _planned_tasks(
    tasks: Iterable[Any], plan: Plan, findings: FindingCollector
) -> Iterator[tuple[Item, Mapping[str, Any]]]:
    items = {item.row: item for item in plan.items}
    texts_of = {  # with the hash of what is shown, which stays where somebody changes a text by hand
        task["data"]["ext_id"]: [(name, text) for name, text in task["data"].items() if isinstance(text, str)]
        for task in planned(plan)
    }
    for number, task in enumerate(tasks, 1):
        if not isinstance(task, dict) or not isinstance(data := task.get("data"), dict):
            findings.note("task", f"entry {number}")
            continue
        row = data.get("ext_id")
        if not isinstance(row, str) or not row:
            findings.note("unnamed", f"task {_identity(task.get('id'))}")
        elif row not in items:
            findings.note("unknown", row)
        elif "content" not in data or any(data.get(name, text) != text for name, text in texts_of[row]):
            findings.note("changed", row)
        else:
            yield items[row], task


def _distinct(annotations: Iterable[Annotation], findings: FindingCollector) -> Iterator[Annotation]:
    """Yield annotations with distinct ids; one that was exported twice counts once."""

    def order(annotation: Annotation) -> tuple[int, str, str, str, str]:
        return len(annotation.id), annotation.id, annotation.row, annotation.annotator, annotation.updated

    seen: set[str] = set()
    for annotation in sorted(annotations, key=order):
        if annotation.id in seen:
            findings.note("repeated", f"{annotation.id} of {annotation.row}")
        else:
            seen.add(annotation.id)
            yield annotation


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the annotations of a plan's items, and notes what is odd in them; `position` names an annotation."""

    plan: Plan
    findings: FindingCollector
    name_of: NameOf

    def annotations(self, task: Mapping[str, Any], item: Item) -> Iterator[Annotation]:
        entries = task.get("annotations", [])
        if not isinstance(entries, list):
            self.findings.note("malformed", f"annotations of {item.row}")
            entries = []
        if isinstance(drafts := task.get("drafts"), list) and drafts:
            self.findings.note("draft", item.row, len(drafts))
        for entry in entries:
            id_ = _identity(entry.get("id")) if isinstance(entry, dict) else ""
            if not id_:
                self.findings.note("annotation", f"of {item.row}")
            elif not (account := _account(entry.get("completed_by"))):
                self.findings.note("nobody", f"{id_} of {item.row}")
            else:
                yield self._annotation(entry, id_, self.name_of(account), item)

    def _annotation(self, entry: Mapping[str, Any], id_: str, annotator: str, item: Item) -> Annotation:
        """Return an annotation of an item, perhaps without any answer; of one that was skipped only groups count."""
        skipped, position = entry.get("was_cancelled") is True, f"{id_} of {item.row}"
        texts = self._texts(entry.get("result"), item, position, skipped=skipped)
        groups = self._groups(texts.pop(CONSENT, []), texts.pop(GROUPS, []), position)
        answers = {} if skipped else self._answers(texts, item, position)
        if not skipped and not answers:
            self.findings.note("empty", position)
        return Annotation(
            id=id_,
            row=item.row,
            content=item.content,
            annotator=annotator,
            answers=answers,
            groups=groups,
            status="skipped" if skipped else "submitted",
            created=self._optional(parse_time, entry, "created_at", position) or "",
            updated=self._optional(parse_time, entry, "updated_at", position) or "",
            seconds=self._optional(_parse_seconds, entry, "lead_time", position),
        )

    def _texts(self, results: Any, item: Item, position: str, *, skipped: bool) -> dict[str, list[str]]:  # noqa: ANN401
        names = controls(self.plan, item) | ({CONSENT: CONSENT, GROUPS: GROUPS} if self.plan.groups else {})
        if not isinstance(results, list):
            if not skipped:
                self.findings.note("malformed", f"result of {position}")
            return {}
        if skipped:
            names = {name: name for name in (CONSENT, GROUPS) if name in names}
            results = [result for result in results if isinstance(result, dict) and result.get("from_name") in [*names]]
        texts: dict[str, list[str]] = {}
        for result in results:
            name = result.get("from_name") if isinstance(result, dict) else None
            key = names.get(name) if isinstance(name, str) else None
            if key is None:
                self.findings.note("control", f"{name} in {position}" if isinstance(name, str) else position)
                continue
            free = key == GROUPS or (key != CONSENT and not question_of(key).choices)
            values = _values(result.get("value"), "text" if free else "choices")
            if values is None:
                self.findings.note("malformed", f"{name} of {position}")
            for text in filter(None, map(clean, values or [])):
                texts.setdefault(key, []).append(text)
        return texts

    def _answers(self, texts: Mapping[str, Sequence[str]], item: Item, position: str) -> dict[str, str]:
        item_keys = keys(self.plan, item)
        for key in sorted(texts.keys() - {*item_keys}):
            self.findings.note("unasked", f"{key} in {position}")
        answers = {
            key: answer for key in item_keys if key in texts and (answer := self._answer(key, texts[key], position))
        }
        missing = [key for key in item_keys if key not in answers and question_of(key).required]
        if answers and missing:
            self.findings.note("unfinished", f"{missing[0]} of {position}")
        return answers

    def _answer(self, key: str, texts: Sequence[str], position: str) -> str:
        """Return the answer to a question; empty where none counts."""
        choices = question_of(key).choices
        if not choices:
            text = "\n".join(dict.fromkeys(texts))
            if len(text) > MAX_TEXT:
                self.findings.note("cut", f"{key} of {position}")
            return text[:MAX_TEXT].strip()
        offered = {text for text in texts if text in choices}
        if unexpected := sorted(set(texts) - offered):
            self.findings.note("label", f"{key}: {unexpected[0]} in {position}", len(unexpected))
        if len(offered) > 1:
            self.findings.note("several", f"{key} of {position}")
        return offered.pop() if len(offered) == 1 else ""

    def _groups(self, consent: Sequence[str], groups: Sequence[str], position: str) -> tuple[str, ...]:
        """Return the groups that the annotator named, if they agreed to have them kept."""
        if groups and consent != ["yes"]:
            self.findings.note("consent", position)
            return ()
        named, left_out = named_groups(",".join(groups))
        if left_out:
            self.findings.note("groups", position, left_out)
        return named

    def _optional(
        self, parse: Callable[[object], T | None], entry: Mapping[str, Any], name: str, position: str
    ) -> T | None:
        """Return a value of an entry; None where it is not there or of another form."""
        parsed = parse(entry.get(name))
        if entry.get(name) is not None and parsed is None:
            self.findings.note("malformed", f"{name} of {position}")
        return parsed


def _identity(value: object) -> str:
    """Return a number or a short text that names something; empty where it is neither."""
    if type(value) is int and 0 <= value < 2**63:
        return str(value)
    return clean(value) if isinstance(value, str) and len(value) <= 200 else ""


def _account(value: object) -> str:
    """Return the id of an annotation's author, or else their address; empty where it names nobody."""
    if isinstance(value, dict):
        address = value.get("email")
        return _identity(value.get("id")) or (_identity(address).lower() if isinstance(address, str) else "")
    return _identity(value)


def _parse_seconds(value: object) -> float | None:
    """Return how long something took, to a thousandth of a second; None where it is no such number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return round(float(value), 3) if 0 <= value <= 1e9 and math.isfinite(value) else None


def _values(value: Any, kind: str) -> list[str] | None:  # noqa: ANN401 - whatever JSON holds
    """Return the texts that a result's value has under `kind`; None where it is of another form."""
    texts = value.get(kind) if isinstance(value, dict) else None
    if isinstance(texts, str) and kind == "text":
        return [texts]
    return texts if isinstance(texts, list) and all(isinstance(text, str) for text in texts) else None
