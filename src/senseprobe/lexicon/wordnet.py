"""WordNet, read from its files: words with their forms and senses (`Vocabulary`), and checked sense keys (`Lexicon`).

NLTK, which takes seconds to start, is not needed. Nothing is cached between runs: the files are sorted (wndb(5WN)), so
that a word is found by bisection, and reading them takes less time than checking a cache would.

A sense key is ``lemma%ss_type:lex_filenum:lex_id:head_word:head_id`` (senseidx(5WN)); the last two are empty unless
ss_type is 5, a satellite adjective. ``index.sense`` is not used: it lacks eight keys whose lemmas differ in case only
(one of *earth*, *sun*, *moon* …). Instead every sense of the key's lemma is read from the data files, and the key must
be letter for letter one of theirs.
"""

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, takewhile
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from senseprobe.errors import LexiconError
from senseprobe.lexicon.install import DATA_FILES, LEXICOGRAPHER_FILES, VERSION, damage, wordnet_in

LEXICONS = ("wordnet-3.0",)

Pos = Literal["noun", "verb", "adj", "adv"]

POS: tuple[Pos, ...] = ("noun", "verb", "adj", "adv")

# morphy(7WN): endings of inflected forms, and the endings of their base forms.
_ENDINGS: Mapping[Pos, tuple[tuple[str, str], ...]] = {
    "noun": (
        ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
        ("men", "man"), ("ies", "y"),
    ),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip


_SS_TYPES = {"n": 1, "v": 2, "a": 3, "r": 4, "s": 5}
"""The number of each letter of a data file's third cell in sense keys (senseidx(5WN)); s is a satellite adjective."""

_EXAMPLE = re.compile(r'".*?"')


class Sense(NamedTuple):
    """A sense: its word with capitals, and the number of its lexicographer file (18 is noun.person)."""

    word: str
    file: int


class SenseEntry(NamedTuple):
    """A sense in WordNet: its key, definition and lexicographer file (noun.person), and the words of its synset."""

    key: str
    pos: Pos
    file: str
    gloss: str
    lemmas: tuple[str, ...]


class _Entry(NamedTuple):
    """A line of an index file: the offsets of the word's synsets in the data file, and how many senses were tagged."""

    offsets: tuple[int, ...] = ()
    tagged: int = 0

    @classmethod
    def parse(cls, cells: list[bytes]) -> "_Entry":
        return cls(tuple(map(int, cells[-int(cells[2]) :])), int(cells[5 + int(cells[3])]))


_NO_ENTRY = _Entry()


@dataclass(frozen=True)
class Vocabulary:
    """The words of the WordNet in a folder; a word is given in lower case, with underscores for blanks."""

    wordnet: Path
    _entries: dict[tuple[str, Pos], _Entry] = field(default_factory=dict, repr=False)
    _knows: dict[str, bool] = field(default_factory=dict, repr=False)
    _data: dict[Pos, bytes] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, folder: Path | None = None) -> "Vocabulary":
        """Open what `prepare` has put into the NLTK data folder `folder`, by default senseprobe's own.

        Raise LexiconError where the folder is not a whole WordNet.
        """
        _, wordnet = wordnet_in(folder)
        if why := damage(wordnet):
            raise LexiconError(f"wordnet-{VERSION} is not prepared in {wordnet} ({why}): run `senseprobe wordnet`")
        return cls(wordnet)

    def has(self, word: str, pos: Pos) -> bool:
        """Return whether the word itself, not a form of it, is in WordNet as this part of speech."""
        return self._entry(word, pos) is not _NO_ENTRY

    def bases(self, word: str, pos: Pos) -> tuple[str, ...]:
        """Return the words of which this may be a form, itself included, by the rules of WordNet's morphy."""
        candidates = [word, *self._exceptions[pos].get(word, ())]
        if len(candidates) == 1:  # a form that is listed follows no rule
            stems = ((word.removesuffix(ending), put) for ending, put in _ENDINGS[pos] if word.endswith(ending))
            candidates += [stem + put for stem, put in stems]
        return tuple(dict.fromkeys(base for base in candidates if self.has(base, pos)))

    def knows(self, word: str) -> bool:
        """Return whether the word is in WordNet, in any form and as any part of speech."""
        if word not in self._knows:
            self._knows[word] = any(self.bases(word, pos) for pos in POS)
        return self._knows[word]

    def senses(self, word: str, *poses: Pos) -> Iterator[Sense]:
        """Yield the senses of every word of which this is a form, in WordNet's order; by default any part of speech."""
        lemmas = ((base, pos) for pos in poses or POS for base in self.bases(word, pos))
        synsets = chain.from_iterable(self._spelled(base, pos) for base, pos in lemmas)
        return (Sense(written, int(cells[1])) for cells, _, written, _ in synsets)

    def definitions(self, word: str, pos: Pos) -> dict[str, str]:
        """Return the definitions of the word itself, without quoted examples, by sense key, in WordNet's order.

        Raise LexiconError where a file of WordNet is damaged.
        """
        return {entry.key: entry.gloss for entry in self.entries(word, pos)}

    def entries(self, word: str, pos: Pos) -> Iterator[SenseEntry]:
        """Yield the senses of the word itself in WordNet's order; their glosses are without quoted examples."""
        for cells, gloss, _, lex_id in self._spelled(word, pos):
            yield self._sense_of(word, pos, cells, gloss, lex_id)

    def _sense_of(self, word: str, pos: Pos, cells: list[str], gloss: str, lex_id: str) -> SenseEntry:
        """Return the sense that a word, in lower case, has in the synset of a line of a data file."""
        head = ":"
        if cells[2] == "s":  # a satellite has the head of its first similar synset
            similar, _ = self._synset(pos, int(cells[cells.index("&") + 1]))
            written, head_id = next(_spellings(similar))
            head = f"{written.lower()}:{head_id}"
        key = f"{word}%{_SS_TYPES[cells[2]]}:{cells[1]}:{lex_id}:{head}"
        lemmas = tuple(spelled.replace("_", " ") for spelled, _ in _spellings(cells))
        return SenseEntry(key, pos, LEXICOGRAPHER_FILES[int(cells[1])], _EXAMPLE.sub("", gloss).strip("; "), lemmas)

    def every_sense(self) -> Iterator[tuple[SenseEntry, str, tuple[str, ...]]]:
        """Yield all senses of the data files, 206,949 of WordNet 3.0: each with its word as spelled, and its examples.

        ``index.sense`` lacks eight of them, whose words differ in capitals only. Nouns come first. Definitions are
        without the sources of quotations.
        """
        for pos in POS:
            self._load(pos)
            for line in self._data[pos].splitlines():
                if line.startswith(b"  "):  # the licence
                    continue
                left, _, text = line.decode("latin-1").partition(" | ")
                cells, gloss = left.split(), text.strip()
                examples = tuple(example.strip('"') for example in _EXAMPLE.findall(gloss))
                for word, lex_id in _spellings(cells):
                    entry = self._sense_of(word.lower(), pos, cells, gloss, lex_id)
                    yield (
                        entry._replace(gloss=_without_source(entry.gloss).rstrip("; ")),
                        word.replace("_", " "),
                        examples,
                    )

    @cached_property
    def keys(self) -> frozenset[str]:
        """The sense keys of all words, which take seconds to read."""
        return frozenset(entry.key for entry, _, _ in self.every_sense())

    def has_key(self, key: str) -> bool:
        """Return whether a sense has this key. Almost all are in ``index.sense``; the others are looked up."""
        lemma, pos = _parse(key)
        return key in self.indexed_keys or (bool(pos) and key in self.definitions(lemma, _POS[pos]))

    @cached_property
    def indexed_keys(self) -> frozenset[str]:
        """The sense keys of ``index.sense``, 206,941 of WordNet 3.0."""
        lines = (self.wordnet / "index.sense").read_text("latin-1").splitlines()
        return frozenset(line.partition(" ")[0] for line in lines)

    def _spelled(self, word: str, pos: Pos) -> Iterator[tuple[list[str], str, str, str]]:
        """Yield the cells and the gloss of each synset of a word, and how it spells the word, with its lex_id."""
        for offset in self._entry(word, pos).offsets:
            cells, gloss = self._synset(pos, offset)
            yield from ((cells, gloss, *spelling) for spelling in _spellings(cells) if spelling[0].lower() == word)

    def irregular(self, word: str, pos: Pos) -> bool:
        """Return whether the word is listed as an irregular form: saw of see, children of child."""
        return word in self._exceptions[pos]

    def tagged(self, word: str) -> int:
        """Count the senses of a word in the texts that WordNet's makers tagged, a rough measure of how common it is."""
        return max((self._entry(base, pos).tagged for pos in POS for base in self.bases(word, pos)), default=0)

    def _synset(self, pos: Pos, offset: int) -> tuple[list[str], str]:
        """Return the cells of a line of a data file, and its gloss."""
        self._load(pos)
        data = self._data[pos]
        cells, _, gloss = data[offset : data.find(b"\n", offset)].decode("latin-1").partition(" | ")
        return cells.split(), gloss.strip()

    def _load(self, pos: Pos) -> None:
        if pos not in self._data:
            self._data[pos] = (self.wordnet / f"data.{pos}").read_bytes()

    def _entry(self, word: str, pos: Pos) -> _Entry:
        """Return the entry of a word, which is empty where it is not in WordNet."""
        if (word, pos) not in self._entries:
            cells = _find_line(self._index[pos], word.encode("latin-1", "replace")).split()
            try:
                self._entries[word, pos] = _Entry.parse(cells) if cells else _NO_ENTRY
            except (ValueError, IndexError):
                path = self.wordnet / f"index.{pos}"
                message = f"{path} cannot be read (damaged at {word!r}): remove its folder and run `senseprobe wordnet`"
                raise LexiconError(message) from None
        return self._entries[word, pos]

    @cached_property
    def _index(self) -> dict[Pos, list[bytes]]:
        return {pos: (self.wordnet / f"index.{pos}").read_bytes().splitlines() for pos in POS}

    @cached_property
    def _exceptions(self) -> dict[Pos, dict[str, list[str]]]:
        lines = {pos: (self.wordnet / f"{pos}.exc").read_text("latin-1").splitlines() for pos in POS}
        return {pos: {form: bases for form, *bases in map(str.split, lines[pos])} for pos in POS}


def _spellings(cells: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the words of a synset as they are spelled, without an adjective's position marker, and their lex_ids."""
    fields = cells[4 : 4 + 2 * int(cells[3], 16)]
    for word, lex_id in zip(fields[::2], fields[1::2], strict=True):
        yield word.partition("(")[0], f"{int(lex_id, 16):02d}"


def _find_line(index: list[bytes], word: bytes) -> bytes:
    """Return the line of a sorted file that begins with `word` and a blank; empty where there is none."""
    start = word + b" "
    position = bisect_left(index, start)  # lines of the licence begin with a blank, and no word has one
    line = index[position] if word and b" " not in word and position < len(index) else b""
    return line if line.startswith(start) else b""


# ---- Sense keys ----

_POS: Mapping[str, Pos] = {"noun": "noun", "verb": "verb", "adjective": "adj", "adverb": "adv"}
"""WordNet's files by part of speech; satellites are among the adjectives."""

PARTS_OF_SPEECH = tuple(_POS)
"""As `part_of_speech` names them."""

_POS_OF_TYPE = {"1": "noun", "2": "verb", "3": "adjective", "4": "adverb", "5": "adjective"}

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
        """Return WordNet's definition of a sense, without examples; empty where there is no such sense."""
        return self._senses(*_parse(key)).get(key, "")

    def another_gloss(self, key: str) -> str:
        """Return the definition of the word's first sense that is of another kind of thing; empty where there is none.

        The kinds are WordNet's lexicographer files, the second number of a key: the people ``japanese%1:18:00::`` and
        the language ``japanese%1:10:00::``. Nearly all adjectives are in one, so that they have none.
        """
        senses = self._senses(*_parse(key))
        others = (gloss for other, gloss in senses.items() if other.split(":")[1] != key.split(":")[1])
        return next(others, "") if key in senses else ""

    def _senses(self, lemma: str, pos: str) -> dict[str, str]:
        """Return the definitions of a lemma as one part of speech, by sense key, in WordNet's order."""
        definitions = self._reader.definitions(lemma, _POS[pos]) if pos in _POS else {}
        return {key: _without_source(definition) for key, definition in definitions.items()}

    def _mistakes(self, key: str, lemma: str, pos: str) -> Iterator[SenseKeyFinding]:
        key_lemma, key_pos = _parse(key)
        if not key_lemma:
            repaired = _as_lemma(key)
            exists = repaired in self._senses(*_parse(repaired))
            hint = f"did you mean {repaired}" if exists else "a key looks like dog%1:05:00::, in lower case"
            yield SenseKeyFinding("malformed", f"{key!r} is not a sense key", hint)
            return
        gloss = self.gloss(key)
        if not gloss:
            poses = sorted(_POS, key=lambda other: other != key_pos)
            hints = (self._hint(word, other, near=key) for word in (key_lemma, lemma) for other in poses)
            hint = next(filter(None, hints), f"it has no word {key_lemma}")
            yield SenseKeyFinding("missing", f"{self.name} has no sense {key}", hint)
        if key_pos != pos:
            message = f"{key} is {_article(key_pos)}{_in_brackets(gloss)}, not {_article(pos)}"
            yield SenseKeyFinding("pos", message, self._hint(key_lemma, pos, near=key))
        if key_lemma != lemma:
            message = f"{key}{_in_brackets(gloss)} is a sense of {key_lemma}, not of {lemma}"
            yield SenseKeyFinding("lemma", message, self._hint(lemma, pos, near=key))

    def _hint(self, lemma: str, pos: str, *, near: str) -> str:
        """List the senses of a lemma, those first that begin like the key `near`; empty where there are none."""
        senses = self._senses(lemma, pos)
        keys = sorted(senses, key=lambda key: -_shared_fields(key, near))
        named = [f"{key} ({senses[key]})" for key in keys[:_MOST_HINTS]]
        more = f" and {len(keys) - len(named)} more" if len(keys) > len(named) else ""
        return f"{lemma} as {_article(pos)}: {', '.join(named)}{more}" if named else ""


def look_up(word: str, folder: Path | None = None) -> list[SenseEntry]:
    """Return the senses of each word of which this may be a form, nouns first, in the order of WordNet in `folder`.

    Raise LexiconError where there are none, or where the folder is not a whole WordNet.
    """
    entries = senses_of(Vocabulary.open(folder), word)
    if not entries:
        raise LexiconError(
            f"wordnet-{VERSION} does not contain {word!r}, nor a word of which it is a form: check its spelling"
        )
    return [entry._replace(gloss=_without_source(entry.gloss)) for entry in entries]


def senses_of(vocabulary: Vocabulary, word: str, *, exact: bool = False) -> tuple[SenseEntry, ...]:
    """Return the senses of each word of which this may be a form, as `look_up`; empty where there are none.

    `exact`: of the word itself alone, so that *depressed* has none of *depress*.
    """
    lemma = _as_lemma(word)
    bases = ((base, pos) for pos in POS for base in ((lemma,) if exact else vocabulary.bases(lemma, pos)))
    return tuple(entry for base, pos in bases for entry in vocabulary.entries(base, pos))


def part_of_speech(key: str) -> str:
    """Return the part of speech of a sense key; empty where it is not of a key's form.

    >>> part_of_speech("japanese%1:18:00::"), part_of_speech("cold%3:00:01::"), part_of_speech("cold")
    ('noun', 'adjective', '')
    """
    return _parse(key)[1]


def _parse(key: str) -> tuple[str, str]:
    """Return the lemma and the part of speech of a sense key; both are empty where it is not of a key's form."""
    form = _FORM.fullmatch(key)
    return (form["lemma"], _POS_OF_TYPE[form["ss_type"]]) if form else ("", "")


def _as_lemma(text: str) -> str:
    return text.strip().lower().replace(" ", "_")


def _shared_fields(key: str, other: str) -> int:
    pairs = zip(key.split(":"), other.split(":"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _article(pos: str) -> str:
    return f"{'an' if pos.startswith('a') else 'a'} {pos}"


def _without_source(definition: str) -> str:
    return _ATTRIBUTION.sub("", definition).rstrip(" ,")


def _in_brackets(gloss: str) -> str:
    return f" ({gloss})" if gloss else ""
