"""Figures of agreement: what each is about, and what it rests on."""

from dataclasses import asdict, dataclass
from typing import Any

from senseprobe.wording import printable

BY = ("all", "sentence", "stratum", "annotator", "word", "group", "groups")
"""What a figure is about: everything; one role; one stratum; one annotator against the others; one target word; those
of a group among themselves; those of one group against those of another."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """Agreement on a question, in all or in a part of the answers.

    - `by`: one of BY; `level`: which, empty for all.
    - `measure`: ``alpha`` (Krippendorff's, nominal), or ``cross-kappa`` of one set of annotators against another.
    - `value`, `low`, `high`: the measure and its interval; `same`, `same_low`, `same_high`: the share of pairs of
      answers that are equal; None where `why` says so.
    - `items`, `units`, `answers`, `annotators`: what it rests on; `alone`: units that nobody else answered, left out.
    """

    question: str
    by: str
    level: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    same: float | None
    same_low: float | None
    same_high: float | None
    items: int
    units: int
    answers: int
    annotators: int
    alone: int
    why: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The figure with stable keys."""
        return asdict(self)

    def __str__(self) -> str:
        what = printable(f"{self.question}{f' · {self.by} {self.level}' if self.level else ''}")
        told = "none" if self.value is None else f"{self.value:.3f}{_shown(self.low, self.high)}"
        same = "" if self.same is None else f", {100 * self.same:.1f} % the same"
        return f"{what}: {self.measure} {told}{same}; {self.items:,} items{f' ({self.why})' if self.why else ''}"


def _shown(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"


@dataclass(frozen=True, kw_only=True, slots=True)
class FleissKappa:
    """Fleiss' kappa on a question, over the units that `answers` people answered, as most were; None: `why`."""

    question: str
    value: float | None
    units: int
    answers: int
    why: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The kappa with stable keys."""
        return asdict(self)
