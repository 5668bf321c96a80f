"""Whether the Bias Score of sentences predicts which sentence of a pair a model prefers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.texts.bias_score import SentenceScore
from senseprobe.records import Design
from senseprobe.statistics import Correlation, correlate

SIDES = ("stereo", "anti")
QUANTITIES = ("balance", "absolute")
"""Of a sentence, what may predict its score: where it leans to, or how far, to either end."""


@dataclass(frozen=True, slots=True)
class FactorCorrelation:
    """The correlation over the words of a factor, each with the mean of its pairs: pairs of one word are no sample."""

    factor: str
    correlation: Correlation


@dataclass(frozen=True, slots=True)
class Prediction:
    """How a difference in Bias Score goes with the difference of a model's scores, stereo less anti, in a config.

    - `pairs` that both scored; `over_pairs`: their correlation, without interval, since they share words.
    - `factors`: the correlation over the words of each, with interval where there are five words or more.
    - `compared`: pairs of which neither difference is 0; `same_sign`: the share of them with one sign; None without.
    """

    config: str
    quantity: str
    pairs: int
    over_pairs: float | None
    factors: tuple[FactorCorrelation, ...]
    compared: int
    same_sign: float | None

    @property
    def widest(self) -> FactorCorrelation | None:
        """The factor with the widest interval, by which to judge; None where no factor has one."""
        widths = {
            part.factor: part.correlation.high - part.correlation.low
            for part in self.factors
            if part.correlation.low is not None and part.correlation.high is not None
        }
        return max((f for f in self.factors if f.factor in widths), key=lambda f: widths[f.factor], default=None)

    @property
    def excludes_zero(self) -> bool:
        """Whether the widest interval excludes 0."""
        return self.widest is not None and self.widest.correlation.excludes_zero

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if self.over_pairs is None:
            return "the Bias Score is the same for both sentences of each pair"
        if self.widest is None:
            return "too few words for an interval"
        if not self.excludes_zero:
            return "undecided: the widest interval includes 0"
        rises = (self.widest.correlation.value or 0) > 0
        return f"the model's preference {'rises' if rises else 'falls'} with it: the widest interval excludes 0"


def predict_preferences(
    config: str, design: Design, rows: pd.DataFrame, scores: pd.DataFrame, by_text: Mapping[str, SentenceScore]
) -> Iterator[Prediction]:
    """Yield the predictions of a config of contrasts by each quantity.

    `rows` are those of the release, `scores` those of a result (``id``, ``stereo_score``, ``anti_score``), `by_text`
    the Bias Score of every sentence. Raise ResultError where the result has no rows of the config.
    """
    table = rows.merge(scores[["id", "stereo_score", "anti_score"]], on="id", validate="one_to_one")
    if table.empty:
        raise ResultError(f"the result has no scores for the rows of {config}: choose a result on this release")
    preference = (table["stereo_score"] - table["anti_score"]).to_numpy(dtype=np.float64)
    for quantity in QUANTITIES:
        stereo, anti = (np.array([getattr(by_text[text], quantity) for text in table[side]]) for side in SIDES)
        x = np.round(stereo - anti, 12)  # sentences of the same words differ by no more than the order of sums
        both = np.isfinite(x) & np.isfinite(preference)
        untied = both & (x != 0) & (preference != 0)
        frame = table[both].assign(x=x[both], y=preference[both])
        levels = (frame.groupby([*factor.columns], sort=True, dropna=False) for factor in design.factors)
        means_by_factor = [level[["x", "y"]].mean() for level in levels]
        yield Prediction(
            config=config,
            quantity=quantity,
            pairs=int(both.sum()),
            over_pairs=correlate(x, preference).value,
            factors=tuple(
                FactorCorrelation(factor.name, correlate(means["x"].round(12), means["y"]))
                for factor, means in zip(design.factors, means_by_factor, strict=True)
            ),
            compared=int(untied.sum()),
            same_sign=float((np.sign(x) == np.sign(preference))[untied].mean()) if untied.any() else None,
        )
