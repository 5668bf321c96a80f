"""`annotation.json`: how people judged a dataset's rows, for the card's section and Croissant's fields.

A file has a round for each annotation project whose verdicts were applied: annotators, questions, agreement and
decisions. It is part of a release's recipe, so it may come from a stranger. The sentences that describe a round are
plain text: the card escapes them, Croissant takes them as they are.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from senseprobe.atomic_files import write_whole
from senseprobe.errors import DeclarationError, ReleaseError
from senseprobe.messages import counted, printable
from senseprobe.records import Finding
from senseprobe.release.verdicts import read_declaration

ANNOTATION = "annotation.json"

MAX_BYTES = 2**20
"""A round has some kilobytes."""

FEWEST_IN_GROUP = 5
"""The smallest group of annotators whose size is published: people of a smaller one could be recognised."""

FEWEST_JUDGED = 10
"""The fewest judged rows of which an estimate is told elsewhere than in a release's own documents."""

REPORTED, STAYED = "reported by the targeted group", "reported, and not rejected"
"""States under which rows are counted a second time."""


def _line(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("begins or ends with a space, or contains a control character")
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
    """The questions and the sample, as they were planned.

    - `items`: rows that people were asked about, `overlap`: how many people each; `gold`: rows with known answers.
    - `seed`, `strata`, `where`: how the rows were drawn; `where` is the query that chose them, empty without one.
    - `allocation`: ``equal`` where each stratum gave as many rows; `exclude`: projects whose rows were left out.
    - `prefill`: whether the release's own labels were shown as answers.
    - `rule`: how answers became verdicts, in a sentence; `thresholds`: the numbers that it is based on, by name.
    """

    questions: Annotated[list[QuestionFact], Field(max_length=50)]
    items: _Count
    overlap: _Count
    gold: _Count = 0
    seed: _Count
    strata: Annotated[list[_Name], Field(max_length=50)] = []
    where: _Line = ""
    allocation: _Line = ""
    exclude: Annotated[list[_Name], Field(max_length=100)] = []
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
    - `items`, `answers`: what these are based on.
    """

    question: _Name
    alpha: _Statistic | None = None
    low: _Statistic | None = None
    high: _Statistic | None = None
    same: _Share | None = None
    items: _Count
    answers: _Count


class RejectionEstimate(_Strict):
    """What decisions on some rows of a config say of the others; of a word or frame of it, where `slot` names one.

    - `judged`: rows that were drawn by chance and answered; `rejected`: how many of them people reject.
    - `rest`: rows that could have been drawn and were not judged; `estimate`: how many of them people would reject,
      with the interval `low` to `high`; None: not estimable.
    """

    config: _Name
    slot: Annotated[str, Field(max_length=200), AfterValidator(_line)] = ""
    level: Annotated[str, Field(max_length=1_000), AfterValidator(_line)] = ""
    judged: _Count
    rejected: _Count
    rest: _Count
    estimate: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    low: _Count | None = None
    high: _Count | None = None

    columns: ClassVar = (
        "rows of",
        "judged",
        "rejected",
        "share of all [95 %]",
        "not judged",
        "of these, rejected [95 %]",
    )
    """The heads of a table of `cells`."""

    @property
    def name(self) -> str:
        """What it is about: ``race``, or ``race, quality=rude``."""
        return f"{self.config}, {self.slot}={self.level}" if self.slot else self.config

    @property
    def has_few_judged(self) -> bool:
        """Whether so few rows were judged that hundreds of others should not be foretold by them."""
        return self.judged < FEWEST_JUDGED

    @property
    def shares(self) -> tuple[float, float, float] | None:
        """The share of all rows, judged or not, that is rejected, and the ends of its interval; None without one."""
        if self.estimate is None or self.low is None or self.high is None:
            return None
        value, low, high = (
            (self.rejected + count) / (self.judged + self.rest) for count in (self.estimate, self.low, self.high)
        )
        return value, low, high

    def cells(self) -> tuple[str, str, str, str, str, str]:
        """Return the estimate as the cells of a table with `columns` as its heads."""
        share = "{:.0%} [{:.0%}, {:.0%}]".format(*self.shares) if self.shares else "not estimable"
        rest_rejected = (
            f"about {self.estimate:.0f} [{self.low}, {self.high}]" if self.estimate is not None else "not estimable"
        )
        judged, rejected, rest = (f"{number:,}" for number in (self.judged, self.rejected, self.rest))
        return self.name, judged, rejected, share, rest, rest_rejected if self.rest else ""


MOST_ESTIMATES = 300
"""How many estimates of a round are stored: those of configs, and of words and frames of which most was rejected."""


class Round(_Strict):
    """One annotation project.

    - `platform`: with what people were asked, as `Label Studio` or `CSV files`; `project`: its name there.
    - `release`: the rows that they saw, as ``NAME@VERSION``.
    - `answered`: items with an answer; `annotations`: answers of one person to one item, of which each item has `least`
      to `most`; `skipped`: how many were skipped.
    - `verdicts`: how many rows became what (``reject``, ``keep``, ``undecided``, …); REPORTED and STAYED count again.
    - `estimates`: what that says of the rows that nobody judged.
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
    estimates: Annotated[list[RejectionEstimate], Field(max_length=1_000)] = []

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
        if len({_key(round_) for round_ in self.rounds}) < len(self.rounds):
            raise ValueError("two rounds of one project")
        return self


def _key(round_: Round) -> tuple[str, str]:
    return round_.project, round_.release


def read_annotation(path: Path, display_path: str = "") -> tuple[Round, ...]:
    """Return the rounds of a file, in its order, or none without a file; DeclarationError for another form."""
    display_path = display_path or str(path)
    if not path.exists() and not path.is_symlink():
        return ()
    try:
        return tuple(_File.model_validate_json(read_declaration(path, display_path, MAX_BYTES)).rounds)
    except ValidationError as error:
        hint, findings = "run `senseprobe annotate apply`, which writes this file, again", []
        for details in error.errors(include_url=False, include_input=False, include_context=False)[:20]:
            location, message = ".".join(map(str, details["loc"]))[:200], details["msg"]
            message = printable(f"{location}: {message}" if location else message)
            findings.append(Finding(path=display_path, code="E202", message=message, hint=hint))
        raise DeclarationError(findings) from None


def write_annotation(path: Path, round_: Round) -> None:
    """Put a round into a file, in the place of an earlier one of the same project and release."""
    others = [other for other in read_annotation(path) if _key(other) != _key(round_)]
    ordered = sorted([*others, round_], key=lambda round_: (round_.release, round_.project))
    data = {"form": 1, "rounds": [_dump(round_) for round_ in ordered]}
    text = json.dumps(data, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False) + "\n"
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise ReleaseError(f"cannot write {path}: {error.strerror}") from None


def _dump(round_: Round) -> dict[str, Any]:
    """Return a round as JSON has it; without what older readers do not know, where there is none."""
    data = round_.model_dump(mode="json")
    for facts, names in ((data, ["estimates"]), (data["protocol"], ["allocation", "exclude"])):
        for name in names:
            if not facts[name]:
                del facts[name]
    return data


def describe_sample(round_: Round) -> str:
    """Describe how rows were chosen, and how many people looked at each."""
    protocol = round_.protocol
    chosen = f" where {protocol.where}" if protocol.where else ""
    chosen += f", stratified by {', '.join(protocol.strata)}" if protocol.strata else ""
    chosen += f" with {protocol.allocation} shares" if protocol.allocation else ""
    chosen += f", excluding the rows of {', '.join(protocol.exclude)}" if protocol.exclude else ""
    gold = f"; {counted(protocol.gold, 'row')} with known answers" if protocol.gold else ""
    labels = (
        "saw the release's labels as pre-filled answers" if protocol.prefill else "did not see the release's labels"
    )
    return (
        f"{counted(protocol.items, 'row')} of {round_.release}{chosen}, drawn with seed {protocol.seed}, for "
        f"{counted(protocol.overlap, 'annotator')} each{gold}; the order of the sentences is random for each row; "
        f"annotators {labels}"
    )


def describe_rule(round_: Round) -> str:
    """Describe the rule that made verdicts of answers, with its numbers."""
    numbers = ", ".join(f"{name} {value:g}" for name, value in sorted(round_.protocol.thresholds.items()))
    return f"{round_.protocol.rule}{f' ({numbers})' if numbers else ''}"


def describe_annotators(round_: Round) -> str:
    """Describe who answered, as far as that may be published."""
    people = counted(round_.annotators.count, "annotator")
    named = "under pseudonyms" if round_.annotators.pseudonyms else "under their names"
    groups = ", ".join(f"{group} ({count})" for group, count in sorted(round_.annotators.groups.items()))
    groups_text = f"self-reported groups of at least {FEWEST_IN_GROUP} people: {groups}"
    return f"{people}, {named}; {groups_text if groups else 'their groups are not published'}"


def describe_answers(round_: Round) -> str:
    """Describe how many answers there are."""
    skipped = f", {round_.skipped} skipped" if round_.skipped else ""
    answers = counted(round_.annotations, "answer")
    return f"{answers} to {counted(round_.answered, 'row')}, {round_.per_item} per row{skipped}"


def describe_agreement(fact: AgreementFact) -> str:
    """Describe how well people agreed on a question."""
    alpha = "not estimable" if fact.alpha is None else f"{fact.alpha:z.2f}"
    if fact.alpha is not None and fact.low is not None and fact.high is not None:
        alpha += f" (95 % interval {fact.low:z.2f} to {fact.high:z.2f})"
    same = "" if fact.same is None else f", {fact.same:.0%} of answer pairs agree"
    return f"Krippendorff's alpha {alpha}{same}; {counted(fact.answers, 'answer')} to {counted(fact.items, 'row')}"


def describe_decisions(round_: Round) -> str:
    """Describe how many rows became what, and how many of these were reported."""
    reported = {name: round_.verdicts[name] for name in (REPORTED, STAYED) if name in round_.verdicts}
    states = ", ".join(f"{name} {count}" for name, count in sorted(round_.verdicts.items()) if name not in reported)
    counts = ", ".join(f"{name}: {count}" for name, count in reported.items())
    return f"{states or 'nothing'}{f' (of these, {counts})' if counts else ''}"


def describe_estimate(fact: RejectionEstimate) -> str:
    """Describe what decisions on some rows say of the others."""
    name, judged, rejected, share, rest, rest_rejected = fact.cells()
    end = f"; of {rest} unjudged rows: {rest_rejected}" if fact.rest else ""
    return f"{name}: {rejected} of {judged} judged rows rejected; of all rows: {share}{end}"


def describe_round(round_: Round, most: int) -> Iterator[str]:
    """Yield the size of the sample and the decisions, then at most `most` estimates for the unjudged rows.

    Only the card has estimates from fewer than FEWEST_JUDGED rows: here a config has counts, a word is omitted.
    """
    yield f"{counted(round_.protocol.items, 'row')} of {round_.release} in the sample: {describe_decisions(round_)}"
    facts = [fact for fact in round_.estimates if not fact.slot or (fact.rejected and not fact.has_few_judged)]
    for fact in facts[:most]:
        counts = f"{fact.name}: {fact.rejected} of {fact.judged} judged rows rejected; the card has an estimate"
        yield counts if fact.has_few_judged else describe_estimate(fact)
    if len(facts) > most:
        yield f"… and {len(facts) - most} more words and frames (see the card)"


def croissant_fields(rounds: Sequence[Round]) -> dict[str, Any]:
    """Return Croissant's RAI fields on annotation; none without a round."""
    if not rounds:
        return {}
    protocols, analysis = [], []
    for round_ in rounds:
        facts = round_.protocol.questions
        choices = [f" ({', '.join(fact.choices)})" if fact.choices else "" for fact in facts]
        questions = "; ".join(f"{fact.id}: {fact.text}{answers}" for fact, answers in zip(facts, choices, strict=True))
        rule = describe_rule(round_)
        protocols.append(f"{round_.project}: {describe_sample(round_)}. Questions: {questions}. Rule: {rule}.")
        decisions = describe_decisions(round_)
        analysis.append(f"{round_.project}: {describe_answers(round_)}; decisions: {decisions}")
        analysis += [f"{round_.project}, {fact.question}: {describe_agreement(fact)}" for fact in round_.agreement]
        analysis += [f"{round_.project}, {describe_estimate(fact)}" for fact in round_.estimates if not fact.slot]
    several, prefilled = len(rounds) > 1, [round_ for round_ in rounds if round_.protocol.prefill]
    per_item = [f"{round_.project}: {round_.per_item}" if several else round_.per_item for round_ in rounds]
    tools = [f"{round_.project}: the release's labels, shown as pre-filled answers" for round_ in prefilled]
    return {
        "rai:dataAnnotationPlatform": list(dict.fromkeys(round_.platform for round_ in rounds)),
        "rai:dataAnnotationProtocol": protocols,
        "rai:annotationsPerItem": "; ".join(per_item),
        "rai:annotatorDemographics": [f"{round_.project}: {describe_annotators(round_)}" for round_ in rounds],
        "rai:dataAnnotationAnalysis": analysis,
        **({"rai:machineAnnotationTools": tools} if tools else {}),
    }
