"""Equivalence: whether a figure lies near its neutral value, which "not significant" never says.

Two one-sided tests at 5 % (TOST, Schuirmann 1987): a figure is shown to be equivalent where its 90 % interval lies
within the margin around the neutral value. The margin, and the reason for it, are the release's, stated before scoring.
Without a neutral value there is nothing to be near.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from senseprobe.evaluate.estimands import figures, lookup
from senseprobe.records import Design, Figure
from senseprobe.statistics import Scale

CONFIDENCE = 0.9
NOT_APPLICABLE = "not applicable: no neutral value"
INCONCLUSIVE = "not shown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Margin:
    """What counts as no difference: `points` either way, above 0, and the release's `reason` for so much."""

    points: float
    reason: str

    @classmethod
    def of(cls, card: Mapping[str, Any]) -> "Margin | None":
        """Return the margin that a release's card declares under `equivalence`; None where it declares none.

        >>> Margin.of({"equivalence": {"margin": 5, "reason": "Half of the smallest published effect."}}).text
        '5 points'
        """
        declared = card.get("equivalence") or {}
        points = declared.get("margin")
        if isinstance(points, bool) or not isinstance(points, int | float) or not 0 < points < 100:
            return None
        return cls(points=float(points), reason=str(declared.get("reason", "")))

    @property
    def text(self) -> str:
        """The margin in words: ``5 points``."""
        return f"{self.points:g} {'point' if self.points == 1 else 'points'}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Equivalence:
    """Whether a figure is shown to lie near its neutral value.

    - `answer`: ``equivalent within 5 points``, ``not shown``, or ``not applicable: no neutral value``.
    - `low`, `high`: the 90 % interval in points; None where it cannot be estimated, and then nothing is shown.
    - `margin`, `reason`: as the release states them.
    """

    config: str
    estimand: str
    group: str | None = None
    answer: str
    neutral: float | None
    low: float | None
    high: float | None
    margin: float
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Return the record with stable keys, as JSON has it."""
        return asdict(self)


def verdict(interval: tuple[float, float] | None, neutral: float | None, margin: Margin) -> str:
    """Return the answer for a 90 % interval in points, None where not estimable; an end on the margin is outside.

    >>> margin = Margin(points=5, reason="")
    >>> verdict((-1.0, 2.0), 0.0, margin), verdict((-1.0, 7.0), 0.0, margin)
    ('equivalent within 5 points', 'not shown')
    """
    if neutral is None:
        return NOT_APPLICABLE
    if interval is None:
        return INCONCLUSIVE
    inside = neutral - margin.points < interval[0] and interval[1] < neutral + margin.points
    return f"equivalent within {margin.text}" if inside else INCONCLUSIVE


def equivalence(figure: Figure, margin: Margin) -> Equivalence:
    """Return the answer for a figure whose interval is one of 90 %, as `figures` computes with that `confidence`."""
    interval = None if figure.low is None or figure.high is None else (figure.low, figure.high)
    names = ("config", "estimand", "group", "neutral", "low", "high")
    return Equivalence(
        **{name: getattr(figure, name) for name in names},
        answer=verdict(interval, figure.neutral, margin),
        margin=margin.points,
        reason=margin.reason,
    )


def equivalences(
    rows: pd.DataFrame,
    design: Design,
    config: str,
    margin: Margin,
    *,
    seed: int = 0,
    scale: Scale = "log",
) -> list[Equivalence]:
    """Return the answer for every figure of a config that can have an interval, in order of print."""
    results = figures(rows, design, config, seed=seed, confidence=CONFIDENCE, scale=scale)
    return [equivalence(figure, margin) for figure in results if lookup(figure.estimand).has_interval]
