"""From answers to verdicts, step by step: what the release says, what people object to, the decisions, the files."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.annotation import rules
from senseprobe.annotation.agreement import measure_agreement
from senseprobe.annotation.annotators import find_reported, unmatched_groups
from senseprobe.annotation.decisions import (
    STANDING,
    Adjudication,
    Decision,
    count_changes,
    merge_verdicts,
    read_decisions,
    summarise_round,
    write_decisions,
)
from senseprobe.annotation.estimates import (
    PROPOSED,
    Sample,
    find_proposals,
    read_population,
    write_proposals,
)
from senseprobe.annotation.questions import keys, question_of
from senseprobe.annotation.records import Annotation, Item, Plan, latest_submitted
from senseprobe.annotation.rules import Outcome, Rule, Truth
from senseprobe.errors import AnnotationError
from senseprobe.messages import counted, listed, printable
from senseprobe.records import Design
from senseprobe.release.annotation_record import (
    ANNOTATION,
    read_annotation,
    write_annotation,
)
from senseprobe.release.release import Release
from senseprobe.release.verdicts import VERDICTS, Verdict, read_verdicts, write_verdicts


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictFolder:
    """Where `verdicts.csv` goes, what messages call it, and why that is no folder of a dataset's templates, if so."""

    path: Path
    display_path: str
    reason: str = ""


def adjudicate(
    plan: Plan,
    folder: Path,
    annotations: Sequence[Annotation],
    rule: Rule,
    release: Release,
    target: VerdictFolder,
    *,
    propose: bool = False,
) -> Adjudication:
    """Make verdicts of the answers to a plan, in the file of `target`, with `annotation.json` beside it.

    `folder` is the project's, in which agreement and decisions are written; and with `propose` the rows that nobody
    judged of words and frames that people reject throughout. Raises AnnotationError where nobody
    answered, or the rule has a threshold of a question that was not asked; DeclarationError where a verdict of another
    source or project says the opposite (no verdict is written then); and ReleaseError.
    """
    if unexpected := sorted(set(rule.thresholds) - set(plan.questions)):
        raise AnnotationError(f"{plan.project} does not ask {unexpected[0]}: it asks {', '.join(plan.questions)}")
    truths = rules.estimate_truths(plan, annotations) if rule.name == "dawid-skene" else []
    claims = read_claims(release, plan)
    decisions = decide(plan, annotations, rule, claims, rules.collect_posteriors(truths))
    agreement = measure_agreement(plan, folder, annotations)
    sample, unknown = None, list[str]()
    try:
        sample = Sample.of(read_population(release, plan), plan, decisions)
    except AnnotationError as error:
        unknown.append(f"the unjudged rows have no estimates: {error}")
    estimates, proposals = (sample.estimates(), find_proposals(sample)) if sample else ([], [])
    facts = summarise_round(plan, annotations, decisions, rule, agreement, estimates)

    path = target.path / VERDICTS
    before, (ours, _) = read_verdicts(path), read_decisions(folder, plan.release)
    merged = merge_verdicts(before, make_verdicts(decisions, plan, rule), ours, target.display_path)
    read_annotation(target.path / ANNOTATION)  # a file that cannot be read is refused before anything is written
    write_verdicts(path, merged.verdicts)
    write_annotation(target.path / ANNOTATION, facts)
    write_decisions(folder, decisions, merged.ours, rule.name)
    if propose:
        proposals = write_proposals(folder, release, plan, proposals, merged.verdicts)

    others = [
        decision.row for decision in decisions if decision.row in merged.others and decision.state not in STANDING
    ]
    return Adjudication(
        decisions=tuple(decisions),
        facts=facts,
        verdicts=path,
        total=len(merged.verdicts),
        changed=count_changes(before, merged.verdicts),
        reason=target.reason,
        estimates=tuple(estimates),
        proposals=tuple(proposals),
        proposed=folder / PROPOSED if propose else None,
        notes=(*_notes(truths, annotations, claims, others), *unknown),
    )


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

    def can_be_denied(self, key: str) -> bool:
        """Return whether the answer to a question can speak against the row."""
        question, _, role = key.partition(".")
        if question == "stereotype":
            return self.kind == "contrast" and self.labelled and role in {"stereo", "anti"}
        return question in {"sense", "natural", "withhold"} or (question == "inference" and bool(self.gold))


def read_claims(release: Release, plan: Plan) -> dict[str, Claim]:
    """Return what the release says of the plan's rows, by id; not of rows that it lacks or has with other sentences."""
    items = {item.row: item for item in plan.items}
    claims: dict[str, Claim] = {}
    for config in dict.fromkeys(item.config for item in plan.items):
        if config not in release.configs:
            continue
        design = release.design(config)
        ids = pa.array([row for row, item in items.items() if item.config == config], pa.string())
        for batch in release.batches(config):
            for row in batch.filter(pc.is_in(batch["id"], value_set=ids)).to_pylist():
                item = items[row["id"]]
                if all(row.get(sentence.role) == sentence.text for sentence in item.sentences):
                    claims[item.row] = _claim(row, design, item)
    return claims


def _claim(row: Mapping[str, Any], design: Design, item: Item) -> Claim:
    """Return what a row says; a row of inference has the words for its group in its sentences alone, marked."""
    marked = (sentence.text[slice(*sentence.span)] for sentence in item.sentences if sentence.span)
    declared = [name.strip() for name in str(row.get(TARGET_GROUP) or "").split(";")]
    targets = (row.get("target"), row.get(design.group) if design.group else None, *marked, *declared)
    return Claim(
        kind=design.kind,
        labelled=row.get("label_basis") not in (None, "none"),
        gold=row.get("gold") or "",
        targets=tuple(dict.fromkeys(str(word) for word in targets if word)),
    )


TARGET_GROUP = "target_group"
"""The column in which a template says, by a column of a list, what people of the target call themselves: ``a; b``."""


def _targets(claims: Mapping[str, Claim]) -> dict[str, tuple[str, ...]]:
    return {row: claim.targets for row, claim in claims.items()}


_REPORTED = "reported as harmful by annotators of the targeted group"

Posteriors = Mapping[tuple[str, str], Mapping[str, float]]
"""The probability of each choice, by row and question key."""


def decide(
    plan: Plan,
    annotations: Iterable[Annotation],
    rule: Rule,
    claims: Mapping[str, Claim],
    posteriors: Posteriors | None = None,
) -> list[Decision]:
    """Return what becomes of each row of the plan, in its order.

    - `claims`: what the release says of each row, by its id; a row that is not there reads otherwise in the release.
    - `posteriors`: for the rule ``dawid-skene``, what its model makes of the answers.

    Annotations that were skipped or are drafts do not count, nor any but the last of a person on a row. A row with
    answers to other words than those of plan and release is not decided.
    """
    answered = group_by_row(annotations)
    reported = find_reported(answered, _targets(claims))
    decisions = []
    for item in plan.items:
        of_row, claim = answered.get(item.row, []), claims.get(item.row)
        if claim is None:
            reason = "differs in the release from the row that people saw"
            decisions.append(Decision(row=item.row, state="changed", reason=reason))
        elif not of_row:
            decisions.append(Decision(row=item.row, state="unanswered", reason="nobody answered"))
        elif any(annotation.content != item.content for annotation in of_row):
            decisions.append(
                Decision(row=item.row, state="changed", reason="the answers are to other words than the plan's")
            )
        else:
            outcomes = _outcomes(plan, item, of_row, rule, posteriors or {})
            decisions.append(_decision(item.row, outcomes, claim, rule, len(of_row), reported=item.row in reported))
    return decisions


def group_by_row(annotations: Iterable[Annotation]) -> dict[str, list[Annotation]]:
    """Return the annotations that were submitted, the last of each person, by row."""
    groups: dict[str, list[Annotation]] = {}
    for annotation in latest_submitted(annotations):
        groups.setdefault(annotation.row, []).append(annotation)
    return groups


def _outcomes(
    plan: Plan, item: Item, annotations: Sequence[Annotation], rule: Rule, posteriors: Posteriors
) -> dict[str, Outcome]:
    outcomes = {}
    for key in keys(plan, item):
        question = question_of(key)
        texts = (annotation.answers.get(key, "") for annotation in annotations)
        answers = [text for text in texts if text in question.choices]
        if rule.name == "majority":
            outcomes[key] = rules.by_majority(answers, rule, question.id)
        else:
            outcomes[key] = rules.by_posterior(posteriors.get((item.row, key), {}), len(answers), rule, question.id)
    return outcomes


def _decision(
    row: str, outcomes: Mapping[str, Outcome], claim: Claim, rule: Rule, answers: int, *, reported: bool
) -> Decision:
    objections, contested = find_objections(outcomes, claim)
    doubts = [doubt for key, outcome in outcomes.items() if (doubt := describe_doubt(key, outcome, claim))]
    if objections or (reported and not rule.keep_reported):
        state, reasons = "reject", [_REPORTED] * reported + objections
    else:
        state = "undecided" if doubts else "keep"
        reasons = [f"{_REPORTED}, but kept because of --keep-reported"] * reported + doubts
    return Decision(
        row=row,
        state=state,
        reason="; ".join(reasons) or counted(answers, "answer"),
        answers=answers,
        reported=reported,
        contested=contested,
    )


_OBJECTIONS: Mapping[tuple[str, str], str] = {
    ("sense", "no"): "not used in the meaning shown",
    ("natural", "no"): "not natural",
    ("withhold", "yes"): "people do not want it to be used",
}
_CONTESTED = "contested: people see the stereotype in the other sentence"
_UNSURE = "unsure"


def find_objections(outcomes: Mapping[str, Outcome], claim: Claim) -> tuple[list[str], bool]:
    """Return what speaks against a row, in the order of the questions; and whether its sentences are contested."""
    objections = [
        f"{key}: {outcome.choice}, {objection} ({outcome.detail})"
        for key, outcome in outcomes.items()
        if claim.can_be_denied(key) and (objection := _objection(key, outcome.choice, claim))
    ]
    reasons = []  # the answers by which people see the stereotype in the sentence that is the release's counterpart
    if claim.can_be_denied("stereotype.stereo"):
        stereo, anti = (outcomes.get(f"stereotype.{role}", Outcome()) for role in ("stereo", "anti"))
        if stereo.choice == "anti-stereotype":
            reasons.append(f"stereotype.stereo: anti-stereotype ({stereo.detail})")
        if anti.choice == "stereotype" and stereo.choice != "stereotype":
            reasons.append(f"stereotype.anti: stereotype ({anti.detail})")
    contested = [f"{_CONTESTED}: {', '.join(reasons)}"] if reasons else []
    return [*objections, *contested], bool(contested)


def _objection(key: str, choice: str, claim: Claim) -> str:
    """Return why the choice speaks against the row; empty where it does not."""
    question = key.partition(".")[0]
    if question == "inference":
        return f"but the release says {claim.gold}" if choice not in {"", _UNSURE, claim.gold} else ""
    if key == "stereotype.stereo" and choice == "neither":
        return "not a stereotype where the annotators live"
    return _OBJECTIONS.get((question, choice), "")


def describe_doubt(key: str, outcome: Outcome, claim: Claim) -> str:
    """Return what an outcome leaves open of a row; empty where it leaves nothing.

    `stereotype.anti` alone leaves nothing open: whatever people call the counterpart, the row stands. Nor does
    `withhold` where nobody answered it: it is an offer, and not a question that must be answered.
    """
    if not claim.can_be_denied(key) or key == "stereotype.anti" or (key == "withhold" and not outcome.answers):
        return ""
    if not outcome.choice:
        return f"{key}: {outcome.detail}"
    return f"{key}: unsure ({outcome.detail})" if outcome.choice == _UNSURE else ""


def make_verdicts(decisions: Iterable[Decision], plan: Plan, rule: Rule) -> Iterator[Verdict]:
    """Yield the verdicts that the decisions make: those of rows that are rejected or kept, and no others."""
    for decision in decisions:
        if decision.state in STANDING:
            yield Verdict(
                id=decision.row,
                verdict=decision.state,
                rule=rule.name,
                source=plan.release,
                reason=decision.reason,
                reported=decision.reported,
            )


def _notes(
    truths: Iterable[Truth], annotations: Sequence[Annotation], claims: Mapping[str, Claim], others: Collection[str]
) -> Iterator[str]:
    """Yield what readers should know; `others` are rows that stay open here, and on which others' verdicts stand."""
    yield from (str(truth) for truth in truths if not truth.estimate.converged)
    if groups := unmatched_groups(group_by_row(annotations), _targets(claims)):
        yield (
            f"annotators who object to rows belong to other groups than the rows ({listed(map(printable, groups))}): "
            "their objections count like any other answer"
        )
    if others:
        yield (
            f"{counted(len(others), 'row')} without a decision here keep their earlier verdicts "
            f"({listed(map(printable, others))}): from other projects or releases, from disputes, or from this project "
            "if its decisions.csv was lost"
        )


def has_reports(
    plan: Plan, folder: Path, annotations: Sequence[Annotation], release: Release, target: VerdictFolder
) -> bool:
    """Return whether an annotator of a targeted group has ever reported a row, even if they withdrew their group."""
    _, reported = read_decisions(folder, plan.release)
    verdicts = read_verdicts(target.path / VERDICTS).values()
    return bool(
        find_reported(group_by_row(annotations), _targets(read_claims(release, plan)))
        or reported
        or any(verdict.reported and verdict.source == plan.release for verdict in verdicts)
    )
