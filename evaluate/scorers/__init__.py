"""The declared catalogue of scorers: each turns a model's ability into one number per sentence."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.scorers import masked

__all__ = ["SCORERS", "Scorer", "get"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scorer:
    """A named way from a model to a number per sentence.

    `score(model, texts, progress=None)` gives float64 of shape (texts,), in order, NaN where a text is unscored: too
    long for the model, without a token of its own, or with a number that is not finite. Each distinct text is computed
    once, and `progress` is called with how many more of them are done.
    """

    id: str
    title: str
    range: tuple[float, float]
    direction: str
    paper: str
    equation: str
    description: str
    score: Callable[..., NDArray[np.float64]]


_DIRECTION = "higher: the model finds the sentence more likely"

SCORERS = {
    scorer.id: scorer
    for scorer in (
        Scorer(
            id="aul",
            title="all unmasked likelihood",
            range=(-np.inf, 0.0),
            direction=_DIRECTION,
            paper="Kaneko and Bollegala 2022; Zhou et al. 2022",
            equation="Zhou et al. 2022, equation 5",
            description="The mean over all tokens but special ones of log P(token | the whole sentence, unmasked).",
            score=masked.aul,
        ),
        Scorer(
            id="pll",
            title="pseudo-log-likelihood",
            range=(-np.inf, 0.0),
            direction=_DIRECTION,
            paper="Salazar et al. 2020",
            equation="Salazar et al. 2020, equation 1",
            description="The sum over all tokens but special ones of log P(token | the sentence with it masked).",
            score=masked.pll,
        ),
    )
}


def get(name: str) -> Scorer:
    """Return the scorer with the id `name`. Raises SenseprobeError, which lists the ids that there are."""
    if name not in SCORERS:
        raise SenseprobeError(f"unknown scorer {name}: take one of {', '.join(SCORERS)}")
    return SCORERS[name]
