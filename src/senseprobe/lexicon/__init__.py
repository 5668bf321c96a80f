"""Sense keys against a named lexicon: `prepare` puts WordNet 3.0 where NLTK takes it from, `Lexicon` checks with it."""

from senseprobe.lexicon.install import PreparedWordNet, prepare
from senseprobe.lexicon.wordnet import Lexicon, SenseKeyFinding

__all__ = ["Lexicon", "PreparedWordNet", "SenseKeyFinding", "prepare"]
