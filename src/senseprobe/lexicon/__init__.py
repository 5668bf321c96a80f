"""Check sense keys with WordNet: `prepare` puts WordNet 3.0 where NLTK finds it, `Lexicon` reads it."""

from senseprobe.lexicon.install import PreparedWordNet, prepare, prepare_local
from senseprobe.lexicon.wordnet import Lexicon, SenseEntry, SenseKeyFinding, look_up

__all__ = ["Lexicon", "PreparedWordNet", "SenseEntry", "SenseKeyFinding", "look_up", "prepare", "prepare_local"]
