"""WordNet's words, read from its files: whether a word is one, of what kind, how it is written, and what it can mean.

NLTK, which takes seconds to start, is not needed, and nothing needs to be kept between runs: the files are sorted
(wndb(5WN)), so that a word is found by halving, and reading them takes less time than it would to tell whether
something kept is still true.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from senseprobe.errors import LexiconError
from senseprobe.lexicon.install import VERSION, damage, wordnet_in

Pos = Literal["noun", "verb", "adj", "adv"]

POS: tuple[Pos, ...] = ("noun", "verb", "adj", "adv")

# morphy(7WN): endings of inflected forms, and what stands in their place in the base form.
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
    """A sense: its word with capitals, and the number of the lexicographer file it is in (18 is noun.person)."""

    word: str
    file: int


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of an index file: where the word's synsets begin in the data file, and how many senses were tagged."""

    offsets: tuple[int, ...]
    tagged: int

    @classmethod
    def parse(cls, line: bytes) -> "_Entry":
        cells = line.split()
        count, pointers = int(cells[2]), int(cells[3])
        return cls(tuple(int(cell) for cell in cells[-count:]), int(cells[5 + pointers]))


@dataclass(frozen=True)
class Vocabulary:
    """The words of the WordNet in a folder; a word is given in lower case, with underscores for blanks."""

    wordnet: Path
    _found: dict[tuple[str, Pos], _Entry | None] = field(default_factory=dict, repr=False)
    _known: dict[str, bool] = field(default_factory=dict, repr=False)
    _data: dict[Pos, bytes] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, folder: Path | None = None) -> "Vocabulary":
        """Open what `prepare` has put into the NLTK data folder `folder`, by default senseprobe's own.

        LexiconError where the folder holds no whole WordNet.
        """
        _, wordnet = wordnet_in(folder)
        if why := damage(wordnet):
            raise LexiconError(f"wordnet-{VERSION} is not prepared in {wordnet} ({why}): run `senseprobe wordnet`")
        return cls(wordnet)

    def has(self, word: str, pos: Pos) -> bool:
        """Whether the word itself, not a form of it, is there as this part of speech."""
        return self._entry(word, pos) is not None

    def bases(self, word: str, pos: Pos) -> tuple[str, ...]:
        """What the word may be a form of, itself among them, as WordNet's own morphy finds it; empty where nothing."""
        candidates = [word, *self._exceptions[pos].get(word, ())]
        if len(candidates) == 1:  # a form that is listed follows no rule
            stems = ((word.removesuffix(ending), put) for ending, put in _ENDINGS[pos] if word.endswith(ending))
            candidates += [stem + put for stem, put in stems]
        return tuple(dict.fromkeys(base for base in candidates if self.has(base, pos)))

    def knows(self, word: str) -> bool:
        """Whether the word is there, in any form and as any part of speech."""
        if word not in self._known:
            self._known[word] = any(self.bases(word, pos) for pos in POS)
        return self._known[word]

    def senses(self, word: str, *poses: Pos) -> Iterator[Sense]:
        """The senses of every word of which this is a form, in WordNet's order; by default as any part of speech."""
        asked = ((pos, base) for pos in poses or POS for base in self.bases(word, pos))
        return (sense for pos, base in asked for sense in self._senses(base, pos))

    def definitions(self, word: str, pos: Pos) -> dict[str, str]:
        """The senses of the word itself, in WordNet's order: definition, without quoted examples, by sense key.

        LexiconError where a file of WordNet is damaged.
        """
        entry = self._entry(word, pos)
        return dict(pair for offset in (entry.offsets if entry else ()) for pair in self._defined(word, pos, offset))

    def _defined(self, word: str, pos: Pos, offset: int) -> Iterator[tuple[str, str]]:
        cells, gloss = self._synset(pos, offset)
        definition = _EXAMPLE.sub("", gloss).strip("; ")
        for written, lex_id in _written(cells):
            if written.lower() == word:
                yield f"{word}%{_SS_TYPES[cells[2]]}:{cells[1]}:{lex_id}:{self._head(pos, cells)}", definition

    def _head(self, pos: Pos, cells: list[str]) -> str:
        """The last two fields of a sense key: empty, but of a satellite the first word of its first similar synset."""
        if cells[2] != "s":
            return ":"
        head, _ = self._synset(pos, int(cells[cells.index("&") + 1]))
        written, lex_id = next(_written(head))
        return f"{written.lower()}:{lex_id}"

    def irregular(self, word: str, pos: Pos) -> bool:
        """Whether the word is listed as a form of another: saw of see, children of child."""
        return word in self._exceptions[pos]

    def tagged(self, word: str) -> int:
        """How many senses of a word were met in the texts that WordNet's makers tagged: how common it is, roughly."""
        entries = (self._entry(base, pos) for pos in POS for base in self.bases(word, pos))
        return max((entry.tagged for entry in entries if entry), default=0)

    def _senses(self, base: str, pos: Pos) -> Iterator[Sense]:
        entry = self._entry(base, pos)
        for offset in entry.offsets if entry else ():
            cells, _ = self._synset(pos, offset)
            yield from (Sense(word, int(cells[1])) for word, _ in _written(cells) if word.lower() == base)

    def _synset(self, pos: Pos, offset: int) -> tuple[list[str], str]:
        """The cells of a line of a data file, and its gloss."""
        if pos not in self._data:
            self._data[pos] = (self.wordnet / f"data.{pos}").read_bytes()
        data = self._data[pos]
        cells, _, gloss = data[offset : data.find(b"\n", offset)].decode("latin-1").partition(" | ")
        return cells.split(), gloss.strip()

    def _entry(self, word: str, pos: Pos) -> _Entry | None:
        if (word, pos) not in self._found:
            line = _line(self._index[pos], word.encode("latin-1", "replace"))
            try:
                self._found[word, pos] = _Entry.parse(line) if line else None
            except (ValueError, IndexError):
                path = self.wordnet / f"index.{pos}"
                message = f"{path} cannot be read (damaged at {word!r}): remove its folder and run `senseprobe wordnet`"
                raise LexiconError(message) from None
        return self._found[word, pos]

    @cached_property
    def _index(self) -> dict[Pos, list[bytes]]:
        return {pos: (self.wordnet / f"index.{pos}").read_bytes().splitlines() for pos in POS}

    @cached_property
    def _exceptions(self) -> dict[Pos, dict[str, list[str]]]:
        return {pos: dict(_irregular_forms(self.wordnet / f"{pos}.exc")) for pos in POS}


def _written(cells: list[str]) -> Iterator[tuple[str, str]]:
    """The words of a synset as they are written, without what says where an adjective stands, and their lex_ids."""
    fields = cells[4 : 4 + 2 * int(cells[3], 16)]
    for word, lex_id in zip(fields[::2], fields[1::2], strict=True):
        yield word.partition("(")[0], f"{int(lex_id, 16):02d}"


def _irregular_forms(path: Path) -> Iterator[tuple[str, list[str]]]:
    for line in path.read_text("latin-1").splitlines():
        form, *bases = line.split()
        yield form, bases


def _line(index: list[bytes], word: bytes) -> bytes:
    """The line of a sorted file that begins with `word` and a blank; empty where there is none."""
    start = word + b" "
    at = bisect_left(index, start)  # lines of the licence begin with a blank, and no word has one
    found = index[at] if word and b" " not in word and at < len(index) else b""
    return found if found.startswith(start) else b""
