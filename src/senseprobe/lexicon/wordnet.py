"""Sense keys, checked against WordNet's data files.

A sense key is ``lemma%ss_type:lex_filenum:lex_id:head_word:head_id`` (senseidx(5WN)); the last two are empty unless
ss_type is 5, a satellite adjective. ``index.sense`` is not used: it lacks eight keys whose lemmas differ in case only
(one of *earth*, *sun*, *moon* …). Instead every sense of the key's lemma is read from the data files, and the key must
be letter for letter one of theirs.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Literal, Protocol

from senseprobe.errors import LexiconError
from senseprobe.lexicon.install import DATA_FILES
from senseprobe.lexicon.vocabulary import Pos, Vocabulary

LEXICONS = ("wordnet-3.0",)

_POS: Mapping[str, Pos] = {"noun": "noun", "verb": "verb", "adjective": "adj", "adverb": "adv"}
"""WordNet's files by part of speech; satellites are among the adjectives."""

_SS_TYPES = {"1": "noun", "2": "verb", "3": "adjective", "4": "adverb", "5": "adjective"}

_FORM = re.compile(r"(?P<lemma>[^\s%:A-Z]+)%(?P<ss_type>[1-5]):[0-9]{2}:[0-9]{2}:[^\s%:A-Z]*:(?:[0-9]{2})?")

# The vocabulary removes quoted examples from a definition; this is what stood between and behind them.
_ATTRIBUTION = re.compile(r"\s*;\s*[;-].*")

# More would hide the message; no word of the lists needs more to find its sense.
_MOST_HINTS = 4


@dataclass(frozen=True, slots=True)
class SenseKeyFinding:
    """A mistake in a sense key, with a hint.

    `kind`: ``malformed`` (not of a key's form), ``missing`` (no such sense), ``pos`` (another part of speech than
    requested) or ``lemma`` (another word than requested).
    """

    kind: Literal["malformed", "missing", "pos", "lemma"]
    message: str
    hint: str = ""


class Reader(Protocol):
    """Reads a lexicon, as `Vocabulary` does."""

    def definitions(self, word: str, pos: Pos) -> Mapping[str, str]:
        """Return the definitions of a word by sense key."""


class Lexicon:
    """A lexicon that is open for reading; `name` is that of the lexicon (``wordnet-3.0``)."""

    def __init__(self, name: str, wordnet: Path, reader: Reader) -> None:
        self.name = name
        self._wordnet = wordnet
        self._reader = reader

    @classmethod
    def open(cls, name: str, folder: Path | None = None) -> "Lexicon":
        """Open a lexicon that `prepare` has put into the NLTK data folder `folder`, by default senseprobe's own.

        Raise LexiconError where the name is unknown, or the folder is not a whole lexicon.
        """
        if name not in LEXICONS:
            raise LexiconError(f"unknown lexicon {name!r}: known are {', '.join(LEXICONS)}")
        vocabulary = Vocabulary.open(folder)
        return cls(name, vocabulary.wordnet, vocabulary)

    @cached_property
    def identity(self) -> str:
        """The sha256, in hexadecimal, of the four data files one after the other: adjectives, adverbs, nouns, verbs."""
        digest = hashlib.sha256()
        for name in DATA_FILES:
            digest.update((self._wordnet / name).read_bytes())
        return digest.hexdigest()

    def check(self, key: str, *, lemma: str, pos: str) -> tuple[SenseKeyFinding, ...]:
        """Return every mistake in a sense key; empty where there is none.

        `lemma` is compared in lower case with spaces as underscores. `pos` is noun, verb, adjective or adverb;
        satellite adjectives are adjectives. Any text is accepted: nothing is raised.
        """
        return tuple(self._mistakes(key, _as_lemma(lemma), pos))

    def gloss(self, key: str) -> str:
        """Return WordNet's definition of a sense, without examples; raise LexiconError where there is no such sense."""
        senses = self._senses(*_parse(key))
        if key not in senses:
            raise LexiconError(f"{self.name} has no sense {key!r}")
        return senses[key]

    def _senses(self, lemma: str, pos: str) -> dict[str, str]:
        """Return the definitions of a lemma as one part of speech, by sense key, in WordNet's order."""
        definitions = self._reader.definitions(lemma, _POS[pos]) if pos in _POS else {}
        return {key: _ATTRIBUTION.sub("", definition) for key, definition in definitions.items()}

    def _mistakes(self, key: str, lemma: str, pos: str) -> Iterator[SenseKeyFinding]:
        own_lemma, own_pos = _parse(key)
        if not own_lemma:
            repaired = _as_lemma(key)
            exists = repaired in self._senses(*_parse(repaired))
            hint = f"did you mean {repaired}" if exists else "a key looks like dog%1:05:00::, in lower case"
            yield SenseKeyFinding("malformed", f"{key!r} is no sense key", hint)
            return
        if key not in self._senses(own_lemma, own_pos):
            poses = sorted(_POS, key=lambda other: other != own_pos)
            hints = (self._hint(word, other, near=key) for word in (own_lemma, lemma) for other in poses)
            hint = next(filter(None, hints), f"it has no word {own_lemma}")
            yield SenseKeyFinding("missing", f"{self.name} has no sense {key}", hint)
        if own_pos != pos:
            message = f"{key} is {_article(own_pos)}, not {_article(pos)}"
            yield SenseKeyFinding("pos", message, self._hint(own_lemma, pos, near=key))
        if own_lemma != lemma:
            message = f"{key} is a sense of {own_lemma}, not of {lemma}"
            yield SenseKeyFinding("lemma", message, self._hint(lemma, pos, near=key))

    def _hint(self, lemma: str, pos: str, *, near: str) -> str:
        """List the senses of a lemma, those first that begin like the key `near`; empty where there are none."""
        senses = self._senses(lemma, pos)
        keys = sorted(senses, key=lambda key: -_shared_fields(key, near))
        named = [f"{key} ({senses[key]})" for key in keys[:_MOST_HINTS]]
        more = f" and {len(keys) - len(named)} more" if len(keys) > len(named) else ""
        return f"{lemma} as {_article(pos)}: {', '.join(named)}{more}" if named else ""


def _parse(key: str) -> tuple[str, str]:
    """Return the lemma and the part of speech of a sense key; both are empty where it is not of a key's form."""
    form = _FORM.fullmatch(key)
    return (form["lemma"], _SS_TYPES[form["ss_type"]]) if form else ("", "")


def _as_lemma(text: str) -> str:
    return text.strip().lower().replace(" ", "_")


def _shared_fields(key: str, other: str) -> int:
    pairs = zip(key.split(":"), other.split(":"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _article(pos: str) -> str:
    return f"{'an' if pos.startswith('a') else 'a'} {pos}"
