"""What an answer says against a row, or leaves open, seen beside what the release claims of it.

What a release says of the rows that people were asked about, and whether they still read as people saw them.

From answers to decisions: which rows people reject, which they keep, and which they leave open.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.annotation.harm import reported
from senseprobe.annotation.questions import keys, question_of
from senseprobe.annotation.records import Annotation, Item, Plan, latest
from senseprobe.annotation.rules import Outcome, Rule, by_majority, by_posterior
from senseprobe.messages import counted
from senseprobe.records import Design
from senseprobe.release.release import Release
from senseprobe.release.verdicts import Verdict

_AGAINST: Mapping[tuple[str, str], str] = {
    ("sense", "no"): "not used in the sense shown",
    ("natural", "no"): "not natural English",
    ("withhold", "yes"): "people would rather not have it used",
}

_OTHER_WAY = "contested: people see the stereotype in the other sentence"
_UNSURE = "unsure"


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """What a release says of a row, as far as people can deny it.

    - `kind`: contrast or inference; `labelled`: whether a contrast says which of its sentences is the stereotype.
    - `gold`: the right answer of a row of inference.
    - `targets`: the words for the group that the row is about.
    """

    kind: str = "contrast"
    labelled: bool = True
    gold: str = ""
    targets: tuple[str, ...] = ()

    def asks(self, key: str) -> bool:
        """Whether the answer to a question can speak against the row."""
        question, _, role = key.partition(".")
        if question == "stereotype":
            return self.kind == "contrast" and self.labelled and role in {"stereo", "anti"}
        return question in {"sense", "natural", "withhold"} or (question == "inference" and bool(self.gold))


def objections(outcomes: Mapping[str, Outcome], claim: Claim) -> tuple[list[str], bool]:
    """What speaks against a row, in the order of the questions; and whether the sentences are the other way round."""
    found = [
        f"{key}: {outcome.choice}, {why} ({outcome.told})"
        for key, outcome in outcomes.items()
        if claim.asks(key) and (why := _why(key, outcome.choice, claim))
    ]
    way = _other_way(outcomes) if claim.asks("stereotype.stereo") else ""
    return [*found, *([way] if way else [])], bool(way)


def _why(key: str, choice: str, claim: Claim) -> str:
    """Why the choice speaks against the row; empty where it does not."""
    question = key.partition(".")[0]
    if question == "inference":
        return f"and the release says {claim.gold}" if choice not in {"", _UNSURE, claim.gold} else ""
    if key == "stereotype.stereo" and choice == "neither":
        return "no stereotype where the annotators live"
    return _AGAINST.get((question, choice), "")


def _other_way(outcomes: Mapping[str, Outcome]) -> str:
    """The reason where people see the stereotype in the sentence that the release has as its counterpart."""
    stereo, anti = (outcomes.get(f"stereotype.{role}", Outcome()) for role in ("stereo", "anti"))
    told = [f"stereotype.stereo: anti-stereotype ({stereo.told})"] if stereo.choice == "anti-stereotype" else []
    if anti.choice == "stereotype" and stereo.choice != "stereotype":
        told.append(f"stereotype.anti: stereotype ({anti.told})")
    return f"{_OTHER_WAY}: {', '.join(told)}" if told else ""


def doubt(key: str, outcome: Outcome, claim: Claim) -> str:
    """What an outcome leaves open of a row; empty where it leaves nothing.

    `stereotype.anti` alone leaves nothing open: whatever people call the counterpart, the row stands. Nor does
    `withhold` where nobody answered it: it is an offer, and not a question that must be answered.
    """
    if not claim.asks(key) or key == "stereotype.anti" or (key == "withhold" and not outcome.answers):
        return ""
    if not outcome.choice:
        return f"{key}: {outcome.told}"
    return f"{key}: unsure ({outcome.told})" if outcome.choice == _UNSURE else ""


def claims_of(release: Release, plan: Plan) -> dict[str, Claim]:
    """What the release says of the plan's rows, by id; without those that it lacks, or whose sentences are others.

    ReleaseError where its rows cannot be read.
    """
    items = {item.row: item for item in plan.items}
    found: dict[str, Claim] = {}
    for config in dict.fromkeys(item.config for item in plan.items):
        if config in release.configs:
            design = release.design(config)
            rows = _rows(release, config, [row for row, item in items.items() if item.config == config])
            there = ((row, items[row["id"]]) for row in rows)
            found |= {item.row: _claim(row, design, item) for row, item in there if _reads_as(row, item)}
    return found


def _rows(release: Release, config: str, wanted: list[str]) -> Iterator[Mapping[str, Any]]:
    names = pa.array(wanted, pa.string())
    for batch in release.batches(config):
        yield from batch.filter(pc.is_in(batch["id"], value_set=names)).to_pylist()


def _reads_as(row: Mapping[str, Any], item: Item) -> bool:
    return all(row.get(sentence.role) == sentence.text for sentence in item.sentences)


def _claim(row: Mapping[str, Any], design: Design, item: Item) -> Claim:
    """What a row says.

    The words for its group are its target, that of the slot whose groups are compared, and those that are marked: a row
    of inference has its target in its sentences alone.
    """
    marked = (each.text[each.span[0] : each.span[1]] for each in item.sentences if each.span)
    named = (row.get("target"), row.get(design.group) if design.group else None, *marked)
    return Claim(
        kind=design.kind,
        labelled=row.get("label_basis") not in (None, "none"),
        gold=row.get("gold") or "",
        targets=tuple(dict.fromkeys(str(word) for word in named if word)),
    )


STATES = ("reject", "keep", "undecided", "changed", "unanswered")
"""What becomes of a row; ``changed``: the answers are to other words than those of the release."""

STANDING = ("reject", "keep")
"""States that are verdicts."""

_REPORTED = "reported as harmful by annotators of the targeted group"

Posteriors = Mapping[tuple[str, str], Mapping[str, float]]
"""The probability of each choice, by row and question key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What becomes of a row, and why.

    - `state`: one of STATES; only those of STANDING become verdicts.
    - `reason`: what speaks against the row, or what is open.
    - `answers`: how many people answered.
    - `reported`: whether somebody of the targeted group would rather not have it used.
    - `contested`: whether people see the stereotype in the other sentence.
    """

    row: str
    state: str
    reason: str
    answers: int = 0
    reported: bool = False
    contested: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The decision with stable keys."""
        return asdict(self)


def decide(
    plan: Plan,
    annotations: Iterable[Annotation],
    rule: Rule,
    claims: Mapping[str, Claim],
    posteriors: Posteriors | None = None,
) -> list[Decision]:
    """What becomes of each row of the plan, in its order.

    - `claims`: what the release says of each row, by its id; a row that is not there reads otherwise in the release.
    - `posteriors`: for the rule ``dawid-skene``, what its model makes of the answers.

    Annotations that were skipped or are drafts do not count, nor any but the last of a person on a row. A row with
    answers to other words than those of plan and release is not decided.
    """
    answered = by_row(annotations)
    harmful = reported(answered, {row: claim.targets for row, claim in claims.items()})
    return [
        _early(item, answered.get(item.row, ()), claims)
        or _decision(
            item.row, answered[item.row], _Judging(plan, item, rule, claims[item.row], posteriors or {}), harmful
        )
        for item in plan.items
    ]


def by_row(annotations: Iterable[Annotation]) -> dict[str, list[Annotation]]:
    """The annotations that were submitted, the last of each person, by row."""
    found: dict[str, list[Annotation]] = {}
    for each in latest(annotations)[0]:
        if each.status == "submitted":
            found.setdefault(each.row, []).append(each)
    return found


def _early(item: Item, annotations: Sequence[Annotation], claims: Mapping[str, Claim]) -> Decision | None:
    """What becomes of a row without a look at the answers; None where they count."""
    if item.row not in claims:
        return Decision(row=item.row, state="changed", reason="reads otherwise in the release than people saw it")
    if not annotations:
        return Decision(row=item.row, state="unanswered", reason="nobody answered")
    if any(each.content != item.content for each in annotations):
        return Decision(row=item.row, state="changed", reason="answers to other words than the plan's")
    return None


@dataclass(frozen=True, slots=True)
class _Judging:
    """What a row's answers are held against."""

    plan: Plan
    item: Item
    rule: Rule
    claim: Claim
    posteriors: Posteriors

    def outcomes(self, annotations: Sequence[Annotation]) -> dict[str, Outcome]:
        """What people make of each question of the row, by its key."""
        return {key: self._outcome(key, annotations) for key in keys(self.plan, self.item)}

    def _outcome(self, key: str, annotations: Sequence[Annotation]) -> Outcome:
        question = question_of(key)
        answers = [said for each in annotations if (said := each.answers.get(key, "")) in question.choices]
        if self.rule.name == "majority":
            return by_majority(answers, self.rule, question.id)
        return by_posterior(self.posteriors.get((self.item.row, key), {}), len(answers), self.rule, question.id)


def _decision(row: str, annotations: Sequence[Annotation], judging: _Judging, harmful: Collection[str]) -> Decision:
    outcomes, is_reported = judging.outcomes(annotations), row in harmful
    against, contested = objections(outcomes, judging.claim)
    left = [told for key, outcome in outcomes.items() if (told := doubt(key, outcome, judging.claim))]
    state, reasons = _state(against, left, judging.rule, is_reported=is_reported)
    return Decision(
        row=row,
        state=state,
        reason="; ".join(reasons) or counted(len(annotations), "answer"),
        answers=len(annotations),
        reported=is_reported,
        contested=contested,
    )


def _state(against: Sequence[str], left: Sequence[str], rule: Rule, *, is_reported: bool) -> tuple[str, list[str]]:
    """The state of a row that people answered, and the reasons."""
    told = [_REPORTED] if is_reported else []
    if against or (is_reported and not rule.keep_reported):
        return "reject", [*told, *against]
    kept = [f"{_REPORTED}, and not rejected because --keep-reported was asked for"] if is_reported else []
    return ("undecided", [*kept, *left]) if left else ("keep", kept)


def verdicts_of(decisions: Iterable[Decision], plan: Plan, rule: Rule) -> Iterator[Verdict]:
    """The verdicts that the decisions make: those of rows that are rejected or kept, and no others."""
    for each in decisions:
        if each.state in STANDING:
            yield Verdict(id=each.row, verdict=each.state, rule=rule.name, source=plan.release, reason=each.reason)


def reported_by(verdicts: Iterable[Verdict], source: str) -> frozenset[str]:
    """The rows of the release `source` of which a verdict says that the targeted group reported them."""
    return frozenset(each.id for each in verdicts if each.source == source and _REPORTED in each.reason)


def states(decisions: Iterable[Decision]) -> dict[str, int]:
    """How many rows are in each state."""
    counts = Counter(each.state for each in decisions)
    return {state: counts[state] for state in STATES}
