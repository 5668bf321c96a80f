"""Sense keys against a named lexicon: `prepare` puts WordNet 3.0 where NLTK takes it from, `Lexicon` checks with it."""

from senseprobe.lexicon.install import Prepared, prepare
from senseprobe.lexicon.wordnet import Lexicon, Problem

__all__ = ["Lexicon", "Prepared", "Problem", "prepare"]
