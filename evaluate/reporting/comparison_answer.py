"""The answer that a comparison begins with: how two models differ and, if known, which is closer to neutral."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

from senseprobe.charts import Axis, Mark
from senseprobe.document import Section, Tile
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.display import NOBODY
from senseprobe.evaluate.estimands.equivalence import INCONCLUSIVE
from senseprobe.evaluate.reporting import notation
from senseprobe.evaluate.reporting.comparison_section import (
    Difference,
    agrees,
    describe_p,
    explain_disagreement,
    rank_differences,
)
from senseprobe.evaluate.reporting.comparison_section import name_models as name_in_full
from senseprobe.evaluate.reporting.finding import name_models
from senseprobe.evaluate.reporting.gate import Growth, find_farther
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.scope import ModelComparison, ReportScope
from senseprobe.evaluate.reporting.significance import read_margin
from senseprobe.evaluate.reporting.verdict import ORDER, TONES
from senseprobe.evaluate.reporting.verdict_table import find_leads, group_by_config
from senseprobe.messages import as_sentence, capitalized, conjoined, counted, listed
from senseprobe.records import VERDICT_WORDS, VerdictCode

TITLE = "What differs"
FEW = 3
"""The most questions that a sentence names; it counts the others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What the leading figure of a config, or an association test, says of two models.

    - `name`: the name of the question: the config, with the figure if a config has several.
    - `code`: ``shown`` if the two differ, by the interval and by p after correction; ``small`` if the release's margin
      holds; ``unreadable`` if a figure of either model says nothing; else ``not_shown``.
    - `growth`: by how much the first is farther from neutral than the second; None if this is unknown.
    """

    name: str
    difference: Difference
    code: VerdictCode
    growth: Growth | None = None

    @property
    def amount(self) -> str:
        """The size of the difference in its measure: ``12 points``, ``1.32 standard deviations``."""
        size = abs(self.growth.value if self.growth else self.difference.comparison.difference or 0.0)
        estimand = lookup(self.difference.comparison.estimand)
        if estimand.unit != "points":
            return f"{size:.{estimand.decimals}f} {estimand.unit}"
        whole = f"{size:.0f}" if size >= 9.5 else f"{size:.1f}"
        return f"{whole} point{'' if whole == '1' else 's'}"

    @property
    def order(self) -> tuple[int, bool]:
        """Its position: by its code; answers that name the model closer to neutral come first."""
        return ORDER.index(self.code), self.growth is None


def answer_pair(pair: ModelComparison, inputs: Sequence[ReportInput]) -> list[Answer]:
    """Return an answer for each config, or association test, of two compared models; differences come first."""
    first, second = inputs[pair.a - 1], inputs[pair.b - 1]
    leads = {
        (config, figure.estimand): None
        for config, figures in group_by_config(first.result.figures).items()
        for figure in find_leads(figures)
    }
    differences = rank_differences(pair, inputs)
    led_configs = {d.comparison.config for d in differences if (d.comparison.config, d.comparison.estimand) in leads}
    chosen: list[Difference] = []
    for difference in differences:
        row = difference.comparison
        chosen_configs = {choice.comparison.config for choice in chosen}
        if (
            not difference.has_interval
            or (row.config, row.estimand) in leads
            or row.config not in {*led_configs, *chosen_configs}
        ):
            chosen.append(difference)
    farther: Mapping[tuple[str, str], Growth] = {}
    if any(difference.has_neutral and agrees(difference) for difference in chosen):
        farther = find_farther(first, second)
    answers = _without_stand_ins([_build_answer(difference, farther) for difference in chosen])
    counts = Counter(answer.name for answer in answers)
    for number, answer in enumerate(answers):
        if counts[answer.name] > 1:
            row = answer.difference.comparison
            answers[number] = replace(answer, name=f"{answer.name} ({row.group or row.estimand})")
    return sorted(answers, key=lambda answer: answer.order)


def _without_stand_ins(answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers without those that another answer of their config replaces.

    If a config has a figure with a neutral value and one without, the first answers, unless only the second differs.
    """
    chosen: list[Answer] = []
    for answer in answers:
        alternatives = [other for other in answers if other.name == answer.name]
        has_neutral = any(other.difference.has_neutral for other in alternatives)
        decided = {other.difference.has_neutral for other in alternatives if other.code == "shown"}
        preferred = (
            {True}
            if has_neutral and decided != {False}
            else {False}
            if has_neutral
            else {answer.difference.has_neutral}
        )
        if answer.difference.has_neutral in preferred:
            chosen.append(answer)
    return chosen


def _build_answer(difference: Difference, farther: Mapping[tuple[str, str], Growth]) -> Answer:
    row = difference.comparison
    make = partial(Answer, name=row.config, difference=difference)
    if difference.unreadable:
        return make(code="unreadable")
    if row.equivalent not in {None, INCONCLUSIVE}:
        return make(code="small")
    if not agrees(difference):
        return make(code="not_shown")
    return make(code="shown", growth=farther.get((row.config, row.estimand)) if difference.has_neutral else None)


# --- In words -------------------------------------------------------------------------------------------------------


def describe_answers(answers: Sequence[Answer], names: tuple[str, str], margin: str = "") -> str:
    """Return the answers in one sentence, as ``B is 12 points closer to neutral than A on noun; verb is undecided``.

    `names` are the names of the first and the second model; small differences lie within the `margin`.
    """
    differing = [answer for answer in answers if answer.code == "shown"]
    parts: list[str] = []
    for winner in (0, 1):
        closer = [answer for answer in differing if answer.growth and (answer.growth.value > 0) == (winner == 1)]
        parts += _list_amounts(closer, names[winner], names[1 - winner], "closer to neutral than")
    parts += _describe_higher(differing, names)
    by_code = {code: [answer.name for answer in answers if answer.code == code] for code in ORDER}
    if small := by_code["small"]:
        parts.append(f"the two are alike on {_join(small)}{f', within {margin}' if margin else ''}")
    undecided, both = by_code["not_shown"], f"{names[0]} and {names[1]}"
    if undecided and parts:
        are = "is" if len(undecided) == 1 else "are"
        named = _join(undecided) if len(undecided) <= FEW else f"the other {len(undecided)}"
        parts.append(f"{named} {are} undecided")
    elif undecided:
        parts.append(f"it is undecided whether {both} differ{_describe_largest(answers)}")
    if unread := by_code["unreadable"]:
        named = _join(unread) if len(unread) <= FEW else f"{len(unread)} questions"
        parts.append(f"{named} {'is' if len(unread) == 1 else 'are'} not readable")
    text = "; ".join(parts)
    is_ours = text.startswith(("the two are", "it is undecided"))  # else it begins with a name
    return f"{capitalized(text) if is_ours else text}."


def _describe_higher(differing: Sequence[Answer], names: tuple[str, str]) -> Iterator[str]:
    """Yield the questions on which each model is higher if it is unknown which is closer to neutral, and why."""
    reasons = {False: f"but {NOBODY}", True: "and it is undecided which is closer to neutral"}
    for has_neutral, reason in reasons.items():
        others = [a for a in differing if a.growth is None and a.difference.has_neutral == has_neutral]
        clauses: list[str] = []
        for higher in (0, 1):
            more = [a for a in others if ((a.difference.comparison.difference or 0.0) >= 0) == (higher == 0)]
            clauses += _list_amounts(more, names[higher], names[1 - higher], "higher than")
        if clauses:
            has_interval = differing[0].difference.has_interval
            yield " and ".join(clauses) + (f", {reason}" if has_interval else "")


def _list_amounts(answers: Sequence[Answer], subject: str, other: str, relation: str) -> list[str]:
    """Return ``B is 12 points closer to neutral than A on noun``; several questions have an amount each."""
    if len(answers) == 1:
        (answer,) = answers
        return [f"{subject} is {answer.amount} {relation} {other} on {answer.name}"]
    if not answers:
        return []
    if len({answer.amount for answer in answers}) == 1:
        named = f"{_join([answer.name for answer in answers])} (by {answers[0].amount} each)"
    else:
        named = _join([f"{answer.name} (by {answer.amount})" for answer in answers])
    return [f"{subject} is {relation} {other} on {named}"]


def _describe_largest(answers: Sequence[Answer]) -> str:
    """Return how large a difference stays possible: `` on noun: up to 33 points are possible``; empty if not known."""
    bounded = [answer for answer in answers if answer.code == "not_shown" and answer.difference.ends]
    in_points = [answer for answer in bounded if answer.difference.in_points]
    if not in_points:
        return ""
    largest = max(in_points, key=lambda answer: abs(answer.difference.outer_end))
    limit = f"a difference of up to {ceil(abs(largest.difference.outer_end)):.0f} points is possible"
    return f": {limit} ({largest.name})" if len(answers) > 1 else f" on {largest.name}: {limit}"


def _join(names: Sequence[str]) -> str:
    """Return names in a list with ``and``; a long list has the first names and the number of the others."""
    if len(names) > 2 * FEW:
        return listed(names[:FEW], len(names))
    return conjoined(names)


def name_both(inputs: Sequence[ReportInput]) -> list[str]:
    """Return models' short names (`finding.name_models`), or full names if the short ones are alike."""
    short = name_models(inputs)
    return short if len({*short}) == len(short) else name_in_full(inputs)


# --- Sections -------------------------------------------------------------------------------------------------------


def compared_section(scope: ReportScope) -> Section:
    """Return a sentence with the answers on each pair of models; a single pair has tiles too, except in a brief."""
    names, margin = name_both(scope.inputs), read_margin(scope.inputs)
    lead: list[str] = []
    tiles: tuple[Tile, ...] = ()
    for pair in scope.comparisons:
        both = names[pair.a - 1], names[pair.b - 1]
        if answers := answer_pair(pair, scope.inputs):
            lead.append(describe_answers(answers, both, margin.text if margin else ""))
            tiles = tuple(_build_tiles(answers, both))
    if scope.is_brief:
        return Section("", lead=tuple(lead))
    return Section(TITLE, lead=tuple(lead), tiles=tiles if len(lead) == 1 else ())


def _build_tiles(answers: Sequence[Answer], names: tuple[str, str]) -> Iterator[Tile]:
    """Yield a tile for each question; the intervals of all have one axis."""
    ends = [end for answer in answers if answer.difference.in_points for end in answer.difference.ends or ()]
    limit = 10.0 * ceil(max([10.0, *map(abs, ends)]) / 10)
    axis = Axis(low=-limit, high=limit, neutral=0.0)
    for answer in answers:
        difference, row = answer.difference, answer.difference.comparison
        measure = lookup(row.estimand).unit
        text, mark = notation.format_difference(row), None
        if difference.in_points and difference.ends:
            series = difference.a if (row.difference or 0.0) >= 0 else difference.b
            mark = Mark(series=series, value=row.difference, low=row.low, high=row.high, text=text)
        figure = ", ".join(filter(None, (row.estimand, row.group)))
        yield Tile(
            about=answer.name,
            badge=VERDICT_WORDS[answer.code],
            tone=TONES[answer.code],
            sentence=_state_fact(answer, names),
            figure="" if row.difference is None else _state_difference(answer, names, text, measure),
            mark=mark,
            axis=axis,
            ends=(f"{names[1]} higher", "0: alike", f"{names[0]} higher"),
            outlook=_state_outlook(answer, names),
            basis=" \N{MIDDLE DOT} ".join(filter(None, (figure, counted(row.scored, "row"), describe_p(difference)))),
        )


def _state_difference(answer: Answer, names: tuple[str, str], text: str, measure: str) -> str:
    """Return a difference; if the models differ, without a sign: ``B higher by 17.1 [7.5, 26.7] points``."""
    row = answer.difference.comparison
    if not row.difference or row.low is None or row.high is None or answer.code != "shown":
        return f"{text} {measure}"
    is_negative = row.difference < 0
    value, low, high = (-row.difference, -row.high, -row.low) if is_negative else (row.difference, row.low, row.high)
    numbers = (notation.format_points(number, row.estimand).removeprefix("+") for number in (value, low, high))
    return "{3} higher by {0} [{1}, {2}] {4}".format(*numbers, names[is_negative], measure)


def _state_fact(answer: Answer, names: tuple[str, str]) -> str:
    """Return a sentence on the two models, with their figures."""
    difference, row = answer.difference, answer.difference.comparison
    if answer.code == "unreadable":
        return f"The answers say nothing here: {difference.unreadable}."
    if answer.code == "shown" and answer.growth is None:
        higher = (row.difference or 0.0) < 0
        return f"{names[higher]} {difference.tendency} {answer.amount} more than {names[not higher]}."
    values = ["none" if value is None else notation.format_points(value, row.estimand) for value in (row.a, row.b)]
    if answer.growth:
        closer = answer.growth.value > 0
        return (
            f"{names[closer]} is {answer.amount} closer to neutral than {names[not closer]} ({values[closer]} against"
            f" {values[not closer]})."
        )
    if answer.code == "small":
        return f"{names[0]} and {names[1]} are {row.equivalent}."
    return f"It is undecided which is higher: {names[0]} ({values[0]}) or {names[1]} ({values[1]})."


def _state_outlook(answer: Answer, names: tuple[str, str]) -> str:
    """Return how large a difference is still possible, or what the difference does not say."""
    difference, row = answer.difference, answer.difference.comparison
    if answer.code == "shown" and answer.growth is None and difference.has_interval:
        undecided = "It is undecided which of the two is closer to neutral."
        return undecided if difference.has_neutral else as_sentence(NOBODY)
    if answer.code != "not_shown":
        return ""
    if not difference.ends:
        return as_sentence(row.note)
    reason = explain_disagreement(difference)
    size = notation.format_points(abs(difference.outer_end), row.estimand).removeprefix("+")
    higher = names[difference.outer_end < 0]
    possible = f"{higher} may be up to {size} {lookup(row.estimand).unit} higher"
    return f"{possible}; {reason}." if reason else f"{possible}."
