"""The declared catalogue of scorers: each turns a model's ability into one number per sentence, or a few."""

from senseprobe.evaluate.plugins import Registry
from senseprobe.evaluate.scorers import causal, masked, nli
from senseprobe.evaluate.scorers.base import Answers, Scorer
from senseprobe.evaluate.scorers.registry import admit
from senseprobe.evaluate.units import Unit

__all__ = ["SCORERS", "Answers", "Scorer", "Unit", "counterpart", "get"]

SCORERS = Registry("senseprobe.scorers", Scorer, "scorer", (*masked.SCORERS, *causal.SCORERS, *nli.SCORERS), admit)
"""All scorers by id: ours, then those of plug-ins."""


def get(name: str) -> Scorer:
    """Return the scorer with the id `name`. Raises SenseprobeError, which lists the ids that there are."""
    return SCORERS.find(name)


def counterpart(name: str) -> str:
    """Return the id of the scorer that differs from `name` in the start token alone; empty where there is none."""
    scorer = SCORERS.get(name)
    if scorer is None or scorer.without_start:
        return scorer.without_start if scorer else ""
    return next((each.id for each in SCORERS.values() if each.without_start == name), "")
