"""The registry of scorers: each turns what a model can be asked into one number per sentence, or a few."""

from senseprobe.evaluate.scorers.base import Answers, Scorer
from senseprobe.evaluate.scorers.registry import SCORERS, counterpart, get
from senseprobe.evaluate.units import Unit

__all__ = ["SCORERS", "Answers", "Scorer", "Unit", "counterpart", "get"]
