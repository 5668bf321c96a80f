"""Figures of sense embeddings and of vectors on contrasts: single-category association tests.

Nothing here is a preference: cosines say how near a word lies to words of praise and blame.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands.association import compute_effect, with_corrected
from senseprobe.evaluate.estimands.base import NO_NEUTRAL, NOT_ESTIMABLE, Estimand, Presentation, Scope, joined
from senseprobe.records import Figure
from senseprobe.statistics import FloatArray, division_p, single_category_interval


@dataclass(frozen=True, kw_only=True, slots=True)
class SingleCategory(Estimand):
    """How much nearer a word lies to unpleasant attributes, A, than to pleasant ones, B."""

    p_is_permuted: ClassVar[bool] = True
    measure: ClassVar[str] = "standard deviations"
    decimals: ClassVar[int] = 2
    replay_tolerance: ClassVar[float] = 1e-3

    def compute(self, rows: pd.DataFrame, scope: Scope) -> Iterable[Figure]:
        """Return the figure of a config, and one for each of its words, from their cosines (`Scope.words`)."""
        if scope.words is None or scope.words.empty:
            return []
        groups = scope.words.groupby("target", sort=True)
        words = with_corrected([self._word(str(name), own, scope) for name, own in groups])
        return [self._config(words, scope), *words]

    def _word(self, name: str, table: pd.DataFrame, scope: Scope) -> Figure:
        """Return d(w), the effect of equations 2 and 3 of Zhou et al. (2022) for one word, with interval and p."""
        has = np.isfinite(table["cosine"].to_numpy(dtype=np.float64))
        sides = {side: table["attribute_role"] == side for side in "AB"}
        a, b = (table.loc[own & has, "cosine"].to_numpy(dtype=np.float64) for own in sides.values())
        missing = {side: tuple(table.loc[own & ~has, "attribute"]) for side, own in sides.items()}
        value = compute_effect(a, b) if len(a) and len(b) else None
        figure = Figure(
            config=scope.config,
            sense_type=scope.design.sense_type,
            estimand=self.id,
            group=name,
            value=value,
            rows=len(table),
            scored=int(has.sum()),
            unscored=int((~has).sum()),
            ties=0,
            levels={"A": len(a), "B": len(b)},
            missing={side: own for side, own in missing.items() if own},
            definition=self.definition,
        )
        return figure if value is None else self._tested(figure, a, b, scope)

    def _tested(self, figure: Figure, a: FloatArray, b: FloatArray, scope: Scope) -> Figure:
        """Return the figure of a word with its interval over attributes, and the p of divided attributes."""
        ends = single_category_interval(a, b, scope.confidence)
        tested = division_p(a, b, two_sided=True)
        interval: dict[str, Any] = {"low": ends[0], "high": ends[1], "method": "jackknife"} if ends else {}
        p_low = None if tested.low == tested.high else tested.low
        fields: dict[str, Any] = {"p": tested.high, "p_low": p_low, "p_least": tested.least, **interval}
        return replace(figure, note="" if ends else NOT_ESTIMABLE, **fields)

    def _config(self, words: list[Figure], scope: Scope) -> Figure:
        """Return the mean over the words that have an effect."""
        values = [figure.value for figure in words if figure.value is not None]
        counts = {name: sum(getattr(figure, name) for figure in words) for name in ("rows", "scored", "unscored")}
        return Figure(
            config=scope.config,
            sense_type=scope.design.sense_type,
            estimand=self.id,
            value=float(np.mean(values)) if values else None,
            ties=0,
            levels={"words": len(values)},
            note=joined(NOT_ESTIMABLE, NO_NEUTRAL),
            definition=self.definition,
            **counts,
        )


SINGLE_CATEGORY = SingleCategory(
    id="sc-weat",
    title="nearness of words to praise and blame",
    low=-2.0,
    high=2.0,
    direction="higher: a word lies nearer to the unpleasant attributes than to the pleasant ones",
    source="Zhou, Kaneko & Bollegala 2022, equations 2 and 3 for a single target; exact p: senseprobe",
    says="The mean cosine with unpleasant words less that with pleasant ones, in standard deviations of both.",
    cannot_say="Nearness of vectors is no behaviour, and nobody knows how near a word lies to praise anyway.",
    presentation=Presentation(groups="words", tested_groups="word", effect="association"),
)
