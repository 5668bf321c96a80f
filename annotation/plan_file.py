"""`plan.json`: canonical JSON, which somebody may have edited, so that everything in it is checked."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from senseprobe.annotation.questions import ROLES, keys, question_of, questions_of
from senseprobe.annotation.records import Item, Plan, Sentence
from senseprobe.atomic_files import read_plain
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable
from senseprobe.release.manifest import Name, Sha256

NAME = "plan.json"
FORM = 1
"""Version of the file's own form; readers accept every older one."""

MAX_OVERLAP = 100
MAX_BYTES = 256 * 2**20
"""A hundred thousand items of 2.5 kB."""

_Short = Annotated[str, StringConstraints(max_length=1_000)]
_Text = Annotated[str, StringConstraints(max_length=100_000)]
_Row = Annotated[str, StringConstraints(min_length=1, max_length=10_000)]
_Release = Annotated[str, StringConstraints(pattern=r"^[^@]+@[0-9.]+$", max_length=200)]
_Column = Annotated[str, StringConstraints(pattern=r"^\S(?:.*\S)?$", max_length=200)]
_Few = Annotated[tuple[_Short, ...], Field(max_length=100)]
_Answers = Annotated[dict[_Short, _Short], Field(max_length=100)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _Sentence(_Strict):
    role: _Short
    text: _Text
    span: tuple[int, int] | None


class _Item(_Strict):
    row: _Row
    config: Name
    content: Sha256
    sentences: Annotated[tuple[_Sentence, ...], Field(max_length=2)]
    target: _Text
    sense_key: _Short
    gloss: _Text
    stratum: _Text
    gold: _Answers
    labels: _Answers


class _Plan(_Strict):
    form: Literal[1]
    project: _Short
    release: _Release
    content: Sha256
    kind: Literal["contrast", "inference", "association"]
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    overlap: Annotated[int, Field(ge=1, le=MAX_OVERLAP)]
    strata: Annotated[tuple[_Column, ...], Field(max_length=50)]
    where: _Text
    questions: _Few
    prefill: bool
    groups: bool
    items: tuple[_Item, ...]


class _Form(BaseModel):
    model_config = ConfigDict(strict=True)

    form: Annotated[int, Field(ge=1)]


def check_project(project: str) -> None:
    """Raise AnnotationError for a name that the platform does not take: titles have 3 to 50 characters."""
    if not 3 <= len(project) <= 50 or project != project.strip() or not project.isprintable():
        raise AnnotationError(f"{project[:80]!r} is not a name of a project: expected 3 to 50 characters")


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
    """Return canonical JSON: sorted keys, UTF-8, two blanks of indent, one line feed at the end."""
    return (json.dumps({"form": FORM, **asdict(plan)}, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()


def read_plan(folder: Path) -> Plan:
    """Return the plan in a folder.

    Raises AnnotationError with the first mistake where it is missing or not as `write_plan` wrote it: answers are
    compared with what was shown, so a plan that was edited by hand is refused where it would mislead.
    """
    path = folder / NAME
    try:
        raw = read_plain(path, MAX_BYTES)
    except OSError as error:
        raise AnnotationError(f"no plan: {printable(str(path))} cannot be read ({error.strerror})") from None
    display_path = printable(str(path))
    try:
        if (form := _Form.model_validate_json(raw).form) > FORM:
            raise AnnotationError(f"{display_path} is of form {form}, this senseprobe reads up to {FORM}: upgrade it")
        plan = _record(_Plan.model_validate_json(raw))
    except ValidationError as error:
        raise AnnotationError(
            f"{display_path}: {_describe(error)}; it is not to be edited: remove it and draw again"
        ) from None
    if mistake := next(_mistakes(plan), None):
        raise AnnotationError(f"{display_path}: {printable(mistake)}; it is not to be edited: remove it and draw again")
    return plan


def _describe(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    path = printable(".".join(str(step) for step in first["loc"]))[:200]
    return f"{path}: {first['msg']}" if path else first["msg"]


def _record(read: _Plan) -> Plan:
    items = tuple(
        Item(
            **{
                **dict(item),
                "sentences": tuple(Sentence(role=s.role, text=s.text, span=s.span) for s in item.sentences),
            }
        )
        for item in read.items
    )
    return Plan(**{**{name: value for name, value in read if name != "form"}, "items": items})


def _mistakes(plan: Plan) -> Iterator[str]:
    """Yield what makes a plan impossible, though each value alone might be right."""
    try:
        check_project(plan.project)
        questions_of(plan)
    except AnnotationError as error:
        yield str(error)
        return
    if len(set(plan.questions)) < len(plan.questions):
        yield "a question is asked twice"
    seen: set[str] = set()
    for item in plan.items:
        if item.row in seen:
            yield f"row {item.row[:200]} is there twice"
        seen.add(item.row)
        if mistake := _item_mistake(plan, item):
            yield f"row {item.row[:200]}: {mistake}"


def _item_mistake(plan: Plan, item: Item) -> str | None:
    """Return what is wrong with an item; None where nothing is."""
    if sorted(sentence.role for sentence in item.sentences) != sorted(ROLES[plan.kind]):
        return f"its sentences are not {' and '.join(ROLES[plan.kind])}"
    for sentence in item.sentences:
        if sentence.span and not 0 <= sentence.span[0] < sentence.span[1] <= len(sentence.text):
            return f"the span of {sentence.role} is not in its text"
    names = keys(plan, item)
    return _answer_mistake(item.gold, names) or _answer_mistake(item.labels, names) or _hash_mistake(item)


def _answer_mistake(answers: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    for key, answer in answers.items():
        if key not in names:
            return f"is not asked {key!r}: there is {', '.join(names)}"
        if answer not in (choices := question_of(key).choices):
            return f"{answer[:200]!r} is not an answer to {key}: expected {', '.join(choices) or 'none in advance'}"
    return None


def _hash_mistake(item: Item) -> str | None:
    return "its content is not the hash of what is shown" if item.content != hash_item(item) else None
