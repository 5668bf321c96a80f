"""`annotation.json`: how people looked at a dataset's rows, for the card's section and Croissant's fields.

A file has a round for each annotation project whose verdicts were taken: who was asked what, how well people agreed,
and what was decided. It is part of a release's recipe, so whoever reads it may have it from anybody.

What rounds of annotation were, in sentences: plain text, for the card, which escapes it, and for Croissant.
"""

import errno
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from senseprobe.atomic_files import read_plain, write_whole
from senseprobe.errors import DeclarationError, ReleaseError
from senseprobe.messages import counted, printable
from senseprobe.records import Finding

ANNOTATION = "annotation.json"

MAX_BYTES = 2**20
"""A round has some kilobytes."""

FEWEST_IN_GROUP = 5
"""Annotators of a group from which their number is told: fewer could be known again."""

REPORTED = "reported by the targeted group"
STAYED = "reported, and not rejected"
"""What rows are counted under a second time, beside their state."""


def _line(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("begins or ends with a blank, or holds a control character")
    return text


_Line = Annotated[str, Field(max_length=1_000), AfterValidator(_line)]
_Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_line)]
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Statistic = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Number = Annotated[float, Field(allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class QuestionFact(_Strict):
    """A question as annotators read it: its id (`sense`), its text, and the answers to choose from; none: free text."""

    id: _Name
    text: _Line
    choices: Annotated[list[_Name], Field(max_length=50)] = []


class Protocol(_Strict):
    """Who was asked what, as it was planned.

    - `items`: rows that people were asked about, `overlap`: how many people each; `gold`: rows with known answers.
    - `seed`, `strata`, `where`: how the rows were drawn; `where` is the query that chose them, empty without one.
    - `prefill`: whether the release's own labels were shown as answers.
    - `rule`: how answers became verdicts, in a sentence; `thresholds`: the numbers that it rests on, by name.
    """

    questions: Annotated[list[QuestionFact], Field(max_length=50)]
    items: _Count
    overlap: _Count
    gold: _Count = 0
    seed: _Count
    strata: Annotated[list[_Name], Field(max_length=50)] = []
    where: _Line = ""
    prefill: bool = False
    rule: _Line
    thresholds: Annotated[dict[_Name, _Number], Field(max_length=50)] = {}


class AnnotatorFacts(_Strict):
    """Who answered: how many people, and of them by group that they said to belong to, where there are enough."""

    count: _Count
    pseudonyms: bool = True
    groups: Annotated[dict[_Name, Annotated[int, Field(ge=FEWEST_IN_GROUP)]], Field(max_length=200)] = {}


class AgreementFact(_Strict):
    """How well people agreed on a question.

    - `alpha`: Krippendorff's, nominal, with the interval `low` to `high`; None: not estimable.
    - `same`: the share of pairs of answers to one item that are the same.
    - `items`, `answers`: what these rest on.
    """

    question: _Name
    alpha: _Statistic | None = None
    low: _Statistic | None = None
    high: _Statistic | None = None
    same: _Share | None = None
    items: _Count
    answers: _Count


class Round(_Strict):
    """One annotation project.

    - `platform`: with what people were asked, as `Label Studio` or `CSV files`; `project`: its name there.
    - `release`: the rows that they saw, as ``NAME@VERSION``.
    - `answered`: items with an answer; `annotations`: answers of one person to one item, of which each item has `least`
      to `most`; `skipped`: how many were skipped.
    - `verdicts`: how many rows became what (``reject``, ``keep``, ``undecided``, …); REPORTED and STAYED count again.
    """

    platform: _Name
    project: _Name
    release: _Name
    protocol: Protocol
    answered: _Count
    annotations: _Count
    least: _Count
    most: _Count
    skipped: _Count = 0
    annotators: AnnotatorFacts
    agreement: Annotated[list[AgreementFact], Field(max_length=200)] = []
    verdicts: Annotated[dict[_Name, _Count], Field(max_length=20)] = {}

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.least > self.most:
            raise ValueError("`least` is more than `most`")
        return self

    @property
    def per_item(self) -> str:
        """How many answers an item has: ``3``, or ``2 to 3``."""
        return str(self.most) if self.least == self.most else f"{self.least} to {self.most}"


class _File(_Strict):
    form: Literal[1] = 1
    rounds: Annotated[list[Round], Field(max_length=100)]

    @model_validator(mode="after")
    def _once(self) -> Self:
        if len({_key(each) for each in self.rounds}) < len(self.rounds):
            raise ValueError("two rounds of one project")
        return self


def _key(told: Round) -> tuple[str, str]:
    return told.project, told.release


def read_annotation(path: Path, shown: str = "") -> tuple[Round, ...]:
    """The rounds of a file, in its order; none where there is no file.

    `shown` is what messages call it. Raises DeclarationError where it is not of this form.
    """
    shown = shown or str(path)
    if not path.exists() and not path.is_symlink():
        return ()
    try:
        return tuple(_File.model_validate_json(read_plain(path, MAX_BYTES)).rounds)
    except ValidationError as error:
        findings = [_mistake(shown, place, message) for place, message in _mistakes(error)]
    except OSError as error:
        known = error.errno in (errno.EINVAL, errno.EFBIG)
        message = str(error.strerror) if known else f"cannot be read: {error.strerror}"
        findings = [Finding(path=shown, code="E100", message=message)]
    raise DeclarationError(findings)


def _mistakes(error: ValidationError) -> Iterator[tuple[str, str]]:
    for each in error.errors(include_url=False, include_input=False, include_context=False)[:20]:
        yield ".".join(map(str, each["loc"])), each["msg"]


def _mistake(shown: str, place: str, message: str) -> Finding:
    told = f"{place[:200]}: {message}" if place else message
    hint = "`senseprobe annotate apply` writes this file: let it write it again"
    return Finding(path=shown, code="E202", message=printable(told), hint=hint)


def write_annotation(path: Path, told: Round) -> None:
    """Put a round into a file, in the place of an earlier one of the same project and release.

    Raises ReleaseError where the file cannot be written, and DeclarationError where the one there cannot be read.
    """
    others = [each for each in read_annotation(path) if _key(each) != _key(told)]
    try:
        write_whole(path, dumped([*others, told]))
    except OSError as error:
        raise ReleaseError(f"cannot write {path}: {error.strerror}") from None


def dumped(rounds: Sequence[Round]) -> bytes:
    """Canonical JSON of the rounds, in the order of their releases and projects."""
    listed = sorted(rounds, key=lambda each: (each.release, each.project))
    told = {"form": 1, "rounds": [each.model_dump(mode="json") for each in listed]}
    return (json.dumps(told, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False) + "\n").encode()


def describe_sample(told: Round) -> str:
    """How rows were chosen, and how many people looked at each."""
    protocol = told.protocol
    chosen = f" where {protocol.where}" if protocol.where else ""
    chosen += f", stratified by {', '.join(protocol.strata)}" if protocol.strata else ""
    gold = f"; {counted(protocol.gold, 'row')} with known answers" if protocol.gold else ""
    shown = "shown to annotators as answers" if protocol.prefill else "not shown to annotators"
    return (
        f"{counted(protocol.items, 'row')} of {told.release}{chosen}, drawn with seed {protocol.seed}, for "
        f"{counted(protocol.overlap, 'annotator')} each{gold}; sentences in an order drawn for each row, the release's "
        f"labels {shown}"
    )


def describe_rule(told: Round) -> str:
    """The rule that made verdicts of answers, with its numbers."""
    numbers = ", ".join(f"{name} {_number(value)}" for name, value in sorted(told.protocol.thresholds.items()))
    return f"{told.protocol.rule}{f' ({numbers})' if numbers else ''}"


def describe_annotators(told: Round) -> str:
    """Who answered, as far as that may be told."""
    people = counted(told.annotators.count, "annotator")
    named = "under pseudonyms" if told.annotators.pseudonyms else "under their names"
    groups = ", ".join(f"{group} ({count})" for group, count in sorted(told.annotators.groups.items()))
    said = f"groups that they said to belong to, of {FEWEST_IN_GROUP} people or more: {groups}"
    return f"{people}, {named}; {said if groups else 'nothing is told of their groups'}"


def describe_answers(told: Round) -> str:
    """How many answers there are."""
    skipped = f", {told.skipped} skipped" if told.skipped else ""
    return f"{told.annotations} of {counted(told.answered, 'row')}, {told.per_item} for each{skipped}"


def describe_agreement(fact: AgreementFact) -> str:
    """How well people agreed on a question."""
    alpha = "not estimable" if fact.alpha is None else f"{fact.alpha:.2f}"
    if fact.alpha is not None and fact.low is not None and fact.high is not None:
        alpha += f" (95 % interval {fact.low:.2f} to {fact.high:.2f})"
    same = "" if fact.same is None else f", {fact.same:.0%} of pairs of answers the same"
    return f"Krippendorff's alpha {alpha}{same}, from {fact.answers} answers on {counted(fact.items, 'row')}"


def describe_decisions(told: Round) -> str:
    """How many rows became what, and how many of these were reported."""
    again = {name: told.verdicts[name] for name in (REPORTED, STAYED) if name in told.verdicts}
    states = ", ".join(f"{name} {count}" for name, count in sorted(told.verdicts.items()) if name not in again)
    of_them = ", ".join(f"{name}: {count}" for name, count in again.items())
    return f"{states or 'nothing'}{f' (of these, {of_them})' if of_them else ''}"


def croissant_fields(rounds: Sequence[Round]) -> dict[str, Any]:
    """Croissant's RAI fields on annotation; none without a round."""
    if not rounds:
        return {}
    several = len(rounds) > 1
    per_item = [f"{told.project}: {told.per_item}" if several else told.per_item for told in rounds]
    tools = [f"{told.project}: the release's own labels, shown as answers" for told in rounds if told.protocol.prefill]
    return {
        "rai:dataAnnotationPlatform": list(dict.fromkeys(told.platform for told in rounds)),
        "rai:dataAnnotationProtocol": [_protocol(told) for told in rounds],
        "rai:annotationsPerItem": "; ".join(per_item),
        "rai:annotatorDemographics": [f"{told.project}: {describe_annotators(told)}" for told in rounds],
        "rai:dataAnnotationAnalysis": [text for told in rounds for text in _analysis(told)],
        **({"rai:machineAnnotationTools": tools} if tools else {}),
    }


def _protocol(told: Round) -> str:
    questions = "; ".join(f"{each.id}: {each.text}{_choices(each.choices)}" for each in told.protocol.questions)
    return f"{told.project}: {describe_sample(told)}. Questions: {questions}. Verdicts by {describe_rule(told)}."


def _choices(choices: Sequence[str]) -> str:
    return f" ({', '.join(choices)})" if choices else ""


def _analysis(told: Round) -> Iterator[str]:
    yield f"{told.project}: answers: {describe_answers(told)}; decided: {describe_decisions(told)}"
    yield from (f"{told.project}, {fact.question}: {describe_agreement(fact)}" for fact in told.agreement)


def _number(value: float) -> str:
    return f"{value:g}"
