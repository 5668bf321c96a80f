"""The rules by which answers become decisions: a majority, or the model of Dawid & Skene (1979).

The model weighs every annotator by their mistakes, and gives the probability of each answer to each item.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from senseprobe.annotation.answers import Table, tabulate
from senseprobe.annotation.questions import QUESTIONS
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.errors import AnnotationError
from senseprobe.statistics import SMOOTHING, DawidSkene, dawid_skene

RULES: Mapping[str, tuple[float, str, str]] = {
    "majority": (0.5, "share of answers", "the choice with more than half of the answers to a question wins"),
    "dawid-skene": (
        0.8, "posterior probability", "the choice that is likely enough by the model of Dawid and Skene (1979) wins"
    ),
}  # fmt: skip
"""Each rule with its default threshold, what that is of, and what it says."""

_REPORTED = "rows that annotators of the targeted group do not want to be used"

_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """How answers are decided on.

    - `name`: ``majority``: the choice of more than half of the answers; ``dawid-skene``: the choice that is likely
      enough when every annotator is weighed by what Dawid and Skene's model makes of them.
    - `least`: how many answers a question needs; with fewer, nothing is decided.
    - `threshold`: the share of answers, or the posterior probability, that a choice needs at least: 0.5 to 1.
    - `thresholds`: the same for single questions, by their ids.
    - `keep_reported`: whether a row that annotators of the targeted group would rather not have used may stay.
    """

    name: str = "majority"
    least: int = 2
    threshold: float = 0.5
    thresholds: Mapping[str, float] = field(default_factory=dict)
    keep_reported: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        *,
        least: int = 2,
        threshold: float | None = None,
        thresholds: Mapping[str, float] | None = None,
        keep_reported: bool = False,
    ) -> "Rule":
        """Return the rule with these settings; raise AnnotationError for an unknown rule or an impossible number."""
        if name not in RULES:
            raise AnnotationError(f"unknown rule {name!r}: expected {' or '.join(RULES)}")
        if least < 1:
            raise AnnotationError(f"{least} answers cannot decide anything: give at least 1")
        chosen = RULES[name][0] if threshold is None else threshold
        single = dict(sorted((thresholds or {}).items()))
        decided = [name for name, question in QUESTIONS.items() if question.choices]
        if unknown := [question for question in single if question not in decided]:
            raise AnnotationError(f"rules do not decide on {unknown[0]!r}: expected one of {', '.join(decided)}")
        for value in (chosen, *single.values()):
            if not 0.5 <= value <= 1:
                raise AnnotationError(
                    f"{value:g} is not a threshold: expected 0.5 to 1, so that only one choice passes"
                )
        return cls(name=name, least=least, threshold=chosen, thresholds=single, keep_reported=keep_reported)

    def threshold_of(self, question: str) -> float:
        """Return the threshold of a question."""
        return self.thresholds.get(question, self.threshold)

    def numbers(self) -> dict[str, float]:
        """Return the numbers that decisions are based on, by name."""
        return {"fewest answers": float(self.least), RULES[self.name][1]: self.threshold, **self.thresholds}

    def __str__(self) -> str:
        """Return what the rule is, without its numbers."""
        fate = "may stay, and are counted" if self.keep_reported else "are rejected, whatever others say"
        return f"{self.name}: {RULES[self.name][2]}; {_REPORTED} {fate}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What people make of one question of one row.

    `choice` is empty where nothing is decided, and `detail` then says why; else it says how clear it is: ``2 of 3``.
    """

    choice: str = ""
    detail: str = ""
    answers: int = 0


def by_majority(answers: Iterable[str], rule: Rule, question: str) -> Outcome:
    """Return the choice of more than half of the answers, and of no fewer than the threshold; a tie decides nothing.

    >>> by_majority(["yes", "no", "yes"], Rule(), "natural")
    Outcome(choice='yes', detail='2 of 3', answers=3)
    >>> by_majority(["yes", "no"], Rule(), "natural").detail
    'a tie: no 1, yes 1'
    """
    counts = Counter(answers)
    total = counts.total()
    if total < rule.least:
        return Outcome(detail=f"{total} of at least {rule.least} answers", answers=total)
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    choice, most = ordered[0]
    if 2 * most > total and most >= rule.threshold_of(question) * total - _ROUNDING:
        return Outcome(choice=choice, detail=f"{most} of {total}", answers=total)
    tie = len(ordered) > 1 and ordered[1][1] == most
    listed = ", ".join(f"{name} {count}" for name, count in ordered)
    return Outcome(detail=f"{'a tie' if tie else 'no majority'}: {listed}", answers=total)


def by_posterior(posterior: Mapping[str, float], answers: int, rule: Rule, question: str) -> Outcome:
    """Return the choice whose probability is no less than the threshold and above one half.

    >>> by_posterior({"yes": 0.93, "no": 0.07}, 3, Rule.of("dawid-skene"), "natural")
    Outcome(choice='yes', detail='p = 0.93', answers=3)
    """
    if answers < rule.least:
        return Outcome(detail=f"{answers} of at least {rule.least} answers", answers=answers)
    choice, probability = max(sorted(posterior.items()), key=lambda entry: entry[1], default=("", 0.0))
    if probability > 0.5 + _ROUNDING and probability >= rule.threshold_of(question) - _ROUNDING:
        return Outcome(choice=choice, detail=f"p = {probability:.2f}", answers=answers)
    return Outcome(detail=f"not likely enough: {choice} p = {probability:.2f}", answers=answers)


@dataclass(frozen=True, slots=True)
class Truth:
    """What the model makes of the answers to one question, over all its sentences."""

    table: Table
    estimate: DawidSkene

    def __str__(self) -> str:
        question, steps = self.table.question, self.estimate.steps
        if self.estimate.converged:
            return f"{question}: Dawid-Skene converged in {steps} steps (smoothing {SMOOTHING:g})"
        return f"{question}: Dawid-Skene did not converge in {steps} steps: its probabilities are rough"


def estimate_truths(plan: Plan, annotations: Iterable[Annotation]) -> list[Truth]:
    """Return the truth of each question with choices that somebody answered; ``unsure`` is an answer as any other.

    An annotator makes the same mistakes in all sentences, whatever their role, which they do not know either.
    """
    return [Truth(table, dawid_skene(table.unit, table.person, table.label)) for table in tabulate(plan, annotations)]


def collect_posteriors(truths: Iterable[Truth]) -> dict[tuple[str, str], Mapping[str, float]]:
    """Return how likely each answer is the true one, by row and question key, over all questions."""
    return {
        unit: dict(zip(truth.table.labels, shares, strict=True))
        for truth in truths
        for unit, shares in zip(truth.table.units, truth.estimate.posterior.tolist(), strict=True)
    }
