"""What a card says of an annotation project: who was asked what, how many answered, what was decided."""

from collections import Counter
from collections.abc import Iterable, Sequence

from senseprobe.annotation.deciding import Decision, states
from senseprobe.annotation.questions import asked
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.annotation.rules import Rule
from senseprobe.release.annotated import (
    FEWEST_IN_GROUP,
    REPORTED,
    STAYED,
    AgreementFact,
    AnnotatorFacts,
    Protocol,
    QuestionFact,
    Round,
)
from senseprobe.wording import printable, shortened


def round_of(
    plan: Plan,
    annotations: Sequence[Annotation],
    decisions: Sequence[Decision],
    rule: Rule,
    *,
    platform: str,
    pseudonyms: bool = True,
    agreement: Sequence[AgreementFact] = (),
) -> Round:
    """The facts of a project for `annotation.json`; no name, no free text, and no group of fewer than five."""
    submitted = [each for each in annotations if each.status == "submitted"]
    people = {each.annotator for each in submitted}
    per_row = Counter(row for row, _ in {(each.row, each.annotator) for each in submitted})
    return Round(
        platform=platform,
        project=plan.project,
        release=plan.release,
        protocol=_protocol(plan, rule),
        answered=len(per_row),
        annotations=per_row.total(),
        least=min(per_row.values(), default=0),
        most=max(per_row.values(), default=0),
        skipped=sum(each.status == "skipped" for each in annotations),
        annotators=AnnotatorFacts(count=len(people), pseudonyms=pseudonyms, groups=group_counts(submitted)),
        agreement=list(agreement),
        verdicts=_verdicts(decisions),
    )


def _protocol(plan: Plan, rule: Rule) -> Protocol:
    questions = [QuestionFact(id=each.id, text=each.text, choices=list(each.choices)) for each in asked(plan)]
    return Protocol(
        questions=questions,
        items=len(plan.items),
        overlap=plan.overlap,
        gold=sum(bool(item.gold) for item in plan.items),
        seed=plan.seed,
        strata=list(map(printable, plan.strata)),
        where=printable(shortened(plan.where)).strip(),
        prefill=plan.prefill,
        rule=str(rule),
        thresholds=rule.numbers(),
    )


def _verdicts(decisions: Iterable[Decision]) -> dict[str, int]:
    """How many rows became what; those that the targeted group reported are counted again, under their own names."""
    told = [*decisions]
    reported = [each for each in told if each.reported]
    counts = {state: count for state, count in states(told).items() if count or state in {"reject", "keep"}}
    again = {REPORTED: len(reported), STAYED: sum(each.state != "reject" for each in reported)}
    return counts | {what: count for what, count in again.items() if count}


def group_counts(annotations: Iterable[Annotation]) -> dict[str, int]:
    """How many annotators named each group, in whatever case, where they are five or more."""
    named = {(each.annotator, _plain(group)) for each in annotations for group in each.groups}
    counts = Counter(group for _, group in sorted(named) if group)
    return {group: count for group, count in sorted(counts.items()) if count >= FEWEST_IN_GROUP}


def _plain(group: str) -> str:
    """The name of a group in lower case, in one line of 200 characters at most."""
    signs = "".join(sign if sign.isprintable() else " " for sign in group.casefold())
    return " ".join(signs.split())[:200].strip()
