"""The declared catalogue of scorers: each turns a model's ability into one number per sentence."""

import numpy as np

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.scorers import masked
from senseprobe.evaluate.scorers.declaring import Scorer

__all__ = ["SCORERS", "Scorer", "get"]

_DIRECTION = "higher: the model finds the sentence more likely"

SCORERS = {
    scorer.id: scorer
    for scorer in (
        Scorer(
            id="aul",
            title="all unmasked likelihood",
            ability="masked",
            measure="nats per token",
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
            ability="masked",
            measure="nats",
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
