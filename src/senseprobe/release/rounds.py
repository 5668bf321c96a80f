"""What rounds of annotation were, in sentences: plain text, for the card, which escapes it, and for Croissant."""

from collections.abc import Iterator, Sequence
from typing import Any

from senseprobe.release.annotated import FEWEST_IN_GROUP, REPORTED, STAYED, AgreementFact, Round
from senseprobe.wording import counted


def design(told: Round) -> str:
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


def thresholds(told: Round) -> str:
    """The rule that made verdicts of answers, with its numbers."""
    numbers = ", ".join(f"{name} {_number(value)}" for name, value in sorted(told.protocol.thresholds.items()))
    return f"{told.protocol.rule}{f' ({numbers})' if numbers else ''}"


def annotators(told: Round) -> str:
    """Who answered, as far as that may be told."""
    people = counted(told.annotators.count, "annotator")
    named = "under pseudonyms" if told.annotators.pseudonyms else "under their names"
    groups = ", ".join(f"{group} ({count})" for group, count in sorted(told.annotators.groups.items()))
    said = f"groups that they said to belong to, of {FEWEST_IN_GROUP} people or more: {groups}"
    return f"{people}, {named}; {said if groups else 'nothing is told of their groups'}"


def answers(told: Round) -> str:
    """How many answers there are."""
    skipped = f", {told.skipped} skipped" if told.skipped else ""
    return f"{told.annotations} of {counted(told.answered, 'row')}, {told.per_item} for each{skipped}"


def agreement(fact: AgreementFact) -> str:
    """How well people agreed on a question."""
    alpha = "not estimable" if fact.alpha is None else f"{fact.alpha:.2f}"
    if fact.alpha is not None and fact.low is not None and fact.high is not None:
        alpha += f" (95 % interval {fact.low:.2f} to {fact.high:.2f})"
    same = "" if fact.same is None else f", {fact.same:.0%} of pairs of answers the same"
    return f"Krippendorff's alpha {alpha}{same}, from {fact.answers} answers on {counted(fact.items, 'row')}"


def decided(told: Round) -> str:
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
        "rai:annotatorDemographics": [f"{told.project}: {annotators(told)}" for told in rounds],
        "rai:dataAnnotationAnalysis": [text for told in rounds for text in _analysis(told)],
        **({"rai:machineAnnotationTools": tools} if tools else {}),
    }


def _protocol(told: Round) -> str:
    questions = "; ".join(f"{each.id}: {each.text}{_choices(each.choices)}" for each in told.protocol.questions)
    return f"{told.project}: {design(told)}. Questions: {questions}. Verdicts by {thresholds(told)}."


def _choices(choices: Sequence[str]) -> str:
    return f" ({', '.join(choices)})" if choices else ""


def _analysis(told: Round) -> Iterator[str]:
    yield f"{told.project}: answers: {answers(told)}; decided: {decided(told)}"
    yield from (f"{told.project}, {fact.question}: {agreement(fact)}" for fact in told.agreement)


def _number(value: float) -> str:
    return f"{value:g}"
