"""The declared catalogue of scorers: each turns a model's ability into one number per sentence, or a few."""

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.scorers import causal, inference, masked
from senseprobe.evaluate.scorers.declaring import Scorer

__all__ = ["SCORERS", "Scorer", "get"]

SCORERS = {scorer.id: scorer for scorer in (*masked.SCORERS, *causal.SCORERS, *inference.SCORERS)}


def get(name: str) -> Scorer:
    """Return the scorer with the id `name`. Raises SenseprobeError, which lists the ids that there are."""
    if name not in SCORERS:
        raise SenseprobeError(f"unknown scorer {name}: take one of {', '.join(SCORERS)}")
    return SCORERS[name]
