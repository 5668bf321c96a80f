"""`plan.json`, the plan of an annotation project: canonical JSON, which somebody may have edited.

So everything in it is checked: answers are compared with what was shown.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from senseprobe.annotation.cells import write_file
from senseprobe.annotation.questions import ROLES, keys, question_of, questions_of, questions_of_config
from senseprobe.annotation.records import FORM, Item, Plan
from senseprobe.atomic_files import read_plain
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable, shortened

NAME = "plan.json"
_SINCE_2 = {"configs": (), "allocation": "proportional", "exclude": (), "excluded": (), "parts": (), "guidelines": ""}
_SINCE_2 |= {"language": "en"}

MAX_BYTES = 256 * 2**20  # a hundred thousand items of 2.5 kB


_PLAN = TypeAdapter(Plan)


class _Form(BaseModel):
    model_config = ConfigDict(strict=True)

    form: Annotated[int, Field(ge=1)]


def check_project(project: str) -> None:
    """Raise AnnotationError for a name that the platform does not take: titles have 3 to 50 characters."""
    if not 3 <= len(project) <= 50 or project != project.strip() or not project.isprintable():
        raise AnnotationError(f"{project[:80]!r} cannot name a project: use 3 to 50 characters")


def hash_item(item: Item) -> str:
    """Return sha256, in hexadecimal, of the canonical JSON of what is shown of an item, in the order of the screen."""
    content = {
        "gloss": item.gloss,
        "labels": dict(item.labels),
        "sentences": [[sentence.text, sentence.span] for sentence in item.sentences],
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def dump(plan: Plan) -> bytes:
    """Return canonical JSON: sorted keys, UTF-8, two blanks of indent, one line feed at the end.

    It is of form 1 or 2, which older readers take, where the plan has nothing that they do not know.
    """
    facts = {"form": FORM, **asdict(plan)}
    if not plan.asks:
        facts = {name: value for name, value in facts.items() if name != "asks"} | {"form": 2}
    if not plan.asks and all(facts[name] == value for name, value in _SINCE_2.items()):
        facts = {name: value for name, value in facts.items() if name not in _SINCE_2} | {"form": 1}
    return (json.dumps(facts, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()


def write_plan(folder: Path, plan: Plan) -> Path:
    """Write `plan.json` into a folder, and return its path; raise AnnotationError where another plan is there.

    The same plan with more items takes its place.
    The guidelines of the first stay, in its language: another version of senseprobe words them otherwise, and asks the
    same.
    """
    path = folder / NAME
    if not path.is_symlink() and not path.exists():
        return write_file(path, dump(plan))
    stored = read_plan(folder)
    plan = replace(plan, guidelines=stored.guidelines, language=stored.language)
    # What may be added to a plan: items behind its own, excluded rows, configs where none were named.
    has_grown = plan.parts == (*stored.parts, len(stored.items)) and plan.items[: len(stored.items)] == stored.items
    items, parts = (plan.items, plan.parts) if has_grown else (stored.items, stored.parts)
    configs = stored.configs or plan.configs
    if replace(stored, items=items, parts=parts, excluded=plan.excluded, configs=configs) == plan:
        return write_file(path, dump(plan)) if plan != stored else path
    names = [field.name for field in fields(plan) if getattr(stored, field.name) != getattr(plan, field.name)]
    options = [
        f"{name} {'none' if (value := getattr(stored, name)) in ('', ()) else printable(shortened(value))}"
        for name in names
        if name not in {"items", "content", "excluded", "parts"}
    ]
    if names:
        differs = f"it has {', '.join(options)}" if options else "its rows differ (--n, --config, --gold)"
        raise AnnotationError(
            f"{printable(str(path))} is another plan: {differs}; use the same options, or another project"
        )
    return path


def open_plan(folder: Path, project: str) -> Plan:
    """Return the plan of a project in its folder; raise AnnotationError where it has none, or another plan."""
    plan = read_plan(folder)
    if plan.project != project:
        raise AnnotationError(f"{folder} is the folder of {printable(plan.project)!r}, not of {printable(project)!r}")
    return plan


def read_plan(folder: Path) -> Plan:
    """Return the plan in a folder; raise AnnotationError with the first mistake.

    Answers are compared with what was shown, so a plan that was edited by hand is refused where it would mislead.
    """
    path = folder / NAME
    display_path = printable(str(path))
    try:
        raw = read_plain(path, MAX_BYTES)
    except OSError as error:
        raise AnnotationError(f"the plan {display_path} cannot be read ({error.strerror})") from None
    try:
        if (form := _Form.model_validate_json(raw).form) > FORM:
            newer = f"form {form}, but this senseprobe reads forms up to {FORM}: upgrade senseprobe"
            raise AnnotationError(f"{display_path} has {newer}")
        plan = _PLAN.validate_json(raw)
        mistake = next(_mistakes(plan), "")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        location = printable(".".join(map(str, first["loc"])))[:200]
        mistake = f"{location}: {first['msg']}" if location else first["msg"]
    if mistake:
        raise AnnotationError(f"{display_path}: {printable(mistake)}; do not edit this file: remove it and draw again")
    return plan


def _mistakes(plan: Plan) -> Iterator[str]:
    """Yield what makes a plan impossible, though each value alone might be right."""
    try:
        check_project(plan.project)
        questions_of(plan)
    except AnnotationError as error:
        yield str(error)
        return
    if silent := next((item.config for item in plan.items if not questions_of_config(plan, item.config)), ""):
        yield f"config {silent} does not have questions"
    if len(set(plan.questions)) < len(plan.questions):
        yield "a question is asked twice"
    if list(plan.parts) != sorted({*plan.parts}) or not all(0 < part < len(plan.items) for part in plan.parts):
        yield "its parts must be increasing numbers of items"
    rows = Counter(item.row for item in plan.items)
    yield from (f"row {row[:200]} occurs twice" for row, count in rows.items() if count > 1)
    for item in plan.items:
        yield from (f"row {item.row[:200]}: {mistake}" for mistake in _item_mistakes(plan, item))


def _item_mistakes(plan: Plan, item: Item) -> Iterator[str]:
    if sorted(sentence.role for sentence in item.sentences) != sorted(ROLES[plan.kind]):
        yield f"its sentences are not {' and '.join(ROLES[plan.kind])}"
    for sentence in item.sentences:
        if sentence.span and not 0 <= sentence.span[0] < sentence.span[1] <= len(sentence.text):
            yield f"the span of {sentence.role} is outside its text"
    names = keys(plan, item)
    for key, answer in [*item.gold.items(), *item.labels.items()]:
        if key not in names:
            yield f"{key!r} is not one of its questions: {', '.join(names)}"
        elif answer not in (choices := question_of(key).choices):
            yield f"{answer[:200]!r} is not an answer to {key}: expected {', '.join(choices) or 'none in advance'}"
    if item.content != hash_item(item):
        yield "its content hash does not match the text that is shown"
