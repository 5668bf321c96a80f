"""The records of annotation: what is asked for, plans with items, and annotations; what their texts and times are."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import InitVar, dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints

from senseprobe.release.manifest import Name, Sha256

MAX_TEXT = 10_000  # characters of an answer in words
MAX_OVERLAP = 100
FORM = 3  # version of the form of `plan.json`; readers accept every older one

# What files may hold: the bounds of fields hold where a record is read, and are not looked at where one is made.
_Short = Annotated[str, StringConstraints(max_length=1_000)]
_Text = Annotated[str, StringConstraints(max_length=100_000)]
_Row = Annotated[str, StringConstraints(min_length=1, max_length=10_000)]
_Release = Annotated[str, StringConstraints(pattern=r"^[^@]+@[0-9.]+$", max_length=200)]
_Column = Annotated[str, StringConstraints(pattern=r"^\S(?:.*\S)?$", max_length=200)]
_Kind = Annotated[str, StringConstraints(pattern="^(contrast|inference|association)$")]
_Allocation = Annotated[str, StringConstraints(pattern="^(proportional|equal)$")]
_Answers = Annotated[Mapping[_Short, _Short], Field(max_length=100)]
_Names = Annotated[tuple[_Short, ...], Field(max_length=100)]
_STRICT = ConfigDict(strict=True, extra="forbid")

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A sentence of a row, in its role (`stereo`, `premise`, …), with the span of the target where it has one."""

    __pydantic_config__ = _STRICT

    role: _Short
    text: _Text
    span: tuple[int, int] | None = None

    def marked(self, left: str, right: str, form: Callable[[str], str] = str) -> str:
        """Return the text with marks around its target, where it has one; `form` is applied to each part of it."""
        if self.span is None:
            return form(self.text)
        start, end = self.span
        return f"{form(self.text[:start])}{left}{form(self.text[start:end])}{right}{form(self.text[end:])}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """A row that people are asked about.

    - `row`: its id in the release; `content`: sha256 of all that is shown, so that answers to other words are noticed.
    - `sentences`: in the order in which they are shown, which is drawn so that it does not tell the role.
    - `gloss`: what the lexicon says of `sense_key`; both are empty where the question of the sense is not asked.
    - `stratum`: the levels of the sample's strata, as ``config=race, target=black``; empty without strata.
    - `gold`: expected answers, by question key; empty where none are known.
    - `labels`: what the release itself says, by question key; only where a plan shows it (`prefill`).
    """

    __pydantic_config__ = _STRICT

    row: _Row
    config: Name
    content: Sha256
    sentences: Annotated[tuple[Sentence, ...], Field(max_length=2)]
    target: _Text = ""
    sense_key: _Short = ""
    gloss: _Text = ""
    stratum: _Text = ""
    gold: _Answers = field(default_factory=dict)
    labels: _Answers = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Who is asked what: all that is needed to ask again and to read the answers; `plan.json` has these fields.

    - `project`: the name that it has on the platform; `release`: ``NAME@VERSION``, with its `content` hash and `kind`.
    - `overlap`: how many people shall answer each item; `seed`: all chance.
    - `strata`, `allocation`, `where`, `configs`: how rows were chosen; no `configs`: all. `exclude` names the projects
      whose rows were left out, `excluded` has the ids of these rows.
    - `parts`: how many items there were each time before the plan grew; new items are behind the old ones.
    - `questions`: ids of questions.py, in the order in which they are asked.
    - `asks`: of configs that are asked some of these only, their ids.
    - `prefill`: whether the release's own labels are shown as answers; `groups`: whether annotators are asked for
      groups that they belong to.
    - `guidelines`: what annotators read first of definitions and examples; empty in plans of before there were any.
    - `language`: of the sentences, as a tag.
    - `form`: of the file that is read; the fields of a plan decide in which form it is written (`plan_file.dump`).
    """

    __pydantic_config__ = _STRICT

    project: _Short
    release: _Release
    content: Sha256
    kind: _Kind
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    overlap: Annotated[int, Field(ge=1, le=MAX_OVERLAP)]
    strata: Annotated[tuple[_Column, ...], Field(max_length=50)] = ()
    where: _Text = ""
    questions: _Names = ()
    prefill: bool = False
    groups: bool = False
    guidelines: _Text = ""
    language: _Short = "en"
    items: tuple[Item, ...] = ()
    configs: Annotated[tuple[Name, ...], Field(max_length=1_000)] = ()
    allocation: _Allocation = "proportional"
    exclude: _Names = ()
    excluded: tuple[_Row, ...] = ()
    parts: Annotated[tuple[int, ...], Field(max_length=1_000)] = ()
    asks: Annotated[Mapping[Name, _Names], Field(max_length=1_000)] = field(default_factory=dict)
    form: InitVar[Literal[1, 2, 3]] = FORM

    @property
    def part_sizes(self) -> tuple[int, ...]:
        """How many items were drawn each time."""
        return tuple(end - start for start, end in pairwise((0, *self.parts, len(self.items))))

    def part_of(self, number: int) -> int:
        """Return in which part of the plan an item is, from 0: what somebody was given at once."""
        return bisect_right(self.parts, number)


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation:
    """What one person said of one item, at one time.

    - `id`: the platform's id of it, unique in a project.
    - `annotator`: a pseudonym, or the name on request (`--names`).
    - `answers`: by question key: ``sense``, or ``natural.stereo`` where a question is asked of each sentence; a missing
      key was not answered. `groups`: what the annotator said of themselves in this annotation, if asked.
    - `status`: ``submitted``, ``skipped`` (cancelled by the annotator) or ``draft``.
    - `created`, `updated`: ISO 8601 in UTC, empty where unknown; `seconds`: how long it took, None where unknown.
    """

    id: str
    row: str
    content: str
    annotator: str
    answers: Mapping[str, str]
    groups: tuple[str, ...] = ()
    status: str = "submitted"
    created: str = ""
    updated: str = ""
    seconds: float | None = None

    @property
    def of_sheet(self) -> bool:
        """Whether it came in a sheet: its id is made of annotator and row."""
        return self.id == f"{self.annotator}/{self.row}"


def latest(annotations: Iterable[Annotation]) -> tuple[list[Annotation], list[Annotation]]:
    """Return the last annotation of each row by each person, sorted by row and person; and those that are not the last.

    One that was submitted counts before one that was skipped, whenever that was; then the one that was changed last.
    """

    def order(annotation: Annotation) -> tuple[bool, str, int, str]:
        changed = annotation.updated or annotation.created
        return annotation.status == "submitted", changed, len(annotation.id), annotation.id

    last: dict[tuple[str, str], Annotation] = {}
    dropped = []
    for annotation in sorted(annotations, key=order):
        key = annotation.row, annotation.annotator
        if key in last:
            dropped.append(last[key])
        last[key] = annotation
    return [last[key] for key in sorted(last)], dropped


def latest_submitted(annotations: Iterable[Annotation]) -> list[Annotation]:
    """Return the last annotation of each row by each person, without those that were skipped or are drafts."""
    return [annotation for annotation in latest(annotations)[0] if annotation.status == "submitted"]


def clean(text: str) -> str:
    r"""Return a text without blanks around it, with plain ends of lines, and without what no file can hold.

    >>> clean(" a\r\nb\x00 ")
    'a\nb�'
    """
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def parse_time(value: object) -> str | None:
    """Return a time of ISO 8601 in UTC, with as many digits as any other; None where it is no time.

    >>> parse_time("2026-11-21T22:18:00+01:00")
    '2026-11-21T21:18:00.000000Z'
    """
    if not isinstance(value, str) or len(value) > 40:
        return None
    try:
        parsed = datetime.fromisoformat(value)
        parsed = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return f"{parsed.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
