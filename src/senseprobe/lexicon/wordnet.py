"""Sense keys, checked against WordNet's data files.

A sense key is ``lemma%ss_type:lex_filenum:lex_id:head_word:head_id`` (senseidx(5WN)); the last two are empty unless
ss_type is 5, a satellite adjective. ``index.sense`` is not used: it lacks eight keys whose lemmas differ in case only
(one of *earth*, *sun*, *moon* …). Instead every sense of the key's lemma is read from the data files, and the key must
be letter for letter one of theirs.
"""

import hashlib
import re
from collections.abc import Mapping
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


@dataclass(frozen=True, slots=True)
class _Key:
    """A sense key of the right form, with its lemma and part of speech."""

    text: str
    lemma: str
    pos: str

    @classmethod
    def parse(cls, text: str) -> "_Key | None":
        form = _FORM.fullmatch(text)
        return cls(text, form["lemma"], _SS_TYPES[form["ss_type"]]) if form else None


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
        parsed = _Key.parse(key)
        if parsed is None:
            return (self._malformed(key),)
        requested = _as_lemma(lemma)
        findings = (
            self._missing(parsed, requested),
            self._other_pos(parsed, pos),
            self._other_lemma(parsed, requested, pos),
        )
        return tuple(problem for problem in findings if problem)

    def gloss(self, key: str) -> str:
        """Return WordNet's definition of a sense, without examples; raise LexiconError where there is no such sense."""
        parsed = _Key.parse(key)
        senses = self._senses(parsed.lemma, parsed.pos) if parsed else {}
        if key not in senses:
            raise LexiconError(f"{self.name} has no sense {key!r}")
        return senses[key]

    def _senses(self, lemma: str, pos: str) -> dict[str, str]:
        """Return the definitions of a lemma as one part of speech, by sense key, in WordNet's order."""
        definitions = self._reader.definitions(lemma, _POS[pos]) if pos in _POS else {}
        return {key: _ATTRIBUTION.sub("", definition) for key, definition in definitions.items()}

    def _malformed(self, key: str) -> SenseKeyFinding:
        repaired = _Key.parse(_as_lemma(key))
        exists = repaired is not None and repaired.text in self._senses(repaired.lemma, repaired.pos)
        hint = f"did you mean {_as_lemma(key)}" if exists else "a key looks like dog%1:05:00::, in lower case"
        return SenseKeyFinding("malformed", f"{key!r} is no sense key", hint)

    def _missing(self, key: _Key, requested: str) -> SenseKeyFinding | None:
        if key.text in self._senses(key.lemma, key.pos):
            return None
        poses = sorted(_POS, key=lambda pos: pos != key.pos)
        hints = (self._hint(lemma, pos, near=key.text) for lemma in (key.lemma, requested) for pos in poses)
        hint = next(filter(None, hints), f"it has no word {key.lemma}")
        return SenseKeyFinding("missing", f"{self.name} has no sense {key.text}", hint)

    def _other_pos(self, key: _Key, requested: str) -> SenseKeyFinding | None:
        if key.pos == requested:
            return None
        message = f"{key.text} is {_article(key.pos)}, not {_article(requested)}"
        return SenseKeyFinding("pos", message, self._hint(key.lemma, requested, near=key.text))

    def _other_lemma(self, key: _Key, requested: str, pos: str) -> SenseKeyFinding | None:
        if key.lemma == requested:
            return None
        message = f"{key.text} is a sense of {key.lemma}, not of {requested}"
        return SenseKeyFinding("lemma", message, self._hint(requested, pos, near=key.text))

    def _hint(self, lemma: str, pos: str, *, near: str) -> str:
        """List the senses of a lemma, those first that begin like the key `near`; empty where there are none."""
        senses = self._senses(lemma, pos)
        keys = sorted(senses, key=lambda key: -_shared_fields(key, near))
        named = [f"{key} ({senses[key]})" for key in keys[:_MOST_HINTS]]
        more = f" and {len(keys) - len(named)} more" if len(keys) > len(named) else ""
        return f"{lemma} as {_article(pos)}: {', '.join(named)}{more}" if named else ""


def _as_lemma(text: str) -> str:
    return text.strip().lower().replace(" ", "_")


def _shared_fields(key: str, other: str) -> int:
    pairs = zip(key.split(":"), other.split(":"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _article(pos: str) -> str:
    return f"{'an' if pos.startswith('a') else 'a'} {pos}"
