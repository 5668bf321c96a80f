"""From answers to decisions: which rows people reject, which they keep, and which they leave open."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from senseprobe.annotation.duplicates import latest
from senseprobe.annotation.harm import reported
from senseprobe.annotation.objections import Claim, doubt, objections
from senseprobe.annotation.questions import keys, question_of
from senseprobe.annotation.records import Annotation, Item, Plan
from senseprobe.annotation.rules import Outcome, Rule, by_majority, by_posterior
from senseprobe.release.verdicts import Verdict
from senseprobe.wording import counted

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
