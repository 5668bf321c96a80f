"""Sense embeddings as models: vectors of senses by WordNet's keys, and of words as the mean of their senses'."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from senseprobe.arrays import explained
from senseprobe.errors import ModelError
from senseprobe.evaluate.models.encodings import DEFAULT_ENCODING, Encoding, EncodingOptions, VectorModel, compare_words
from senseprobe.evaluate.models.registry import Family
from senseprobe.evaluate.models.vector_files import (
    MOST_NAMED,
    FileSummary,
    VectorAnswers,
    cover_sets,
    describe_table,
    identify_table,
    name_some,
    path_of,
    wrap_table,
)
from senseprobe.evaluate.reporting.word_senses import WordSenses
from senseprobe.evaluate.senses.files import check_keys, open_senses
from senseprobe.evaluate.units import Unit
from senseprobe.lexicon.wordnet import LEXICONS, PARTS_OF_SPEECH, Vocabulary, part_of_speech, senses_of
from senseprobe.messages import counted
from senseprobe.statistics import FloatArray
from senseprobe.tables import read_json
from senseprobe.word_vectors import VectorTable

_BLOCK = 500  # words whose cosines are in memory at once
_REFUSED: Mapping[str, str] = {
    "name": "WordNet's entries of names are other persons and things: john is a toilet",
    **dict.fromkeys(
        ("pronoun-subject", "pronoun-object", "pronoun-possessive"), "WordNet has no pronouns: he is helium"
    ),
}


class SenseFile:
    """Vectors of senses in a file, or from Python, by WordNet 3.0's sense keys.

    `unknown` are keys of the file that WordNet 3.0 does not have; they are no sense of any word.
    """

    ability: ClassVar[str] = "vectors"
    reads_wordnet: ClassVar[bool] = True
    levels = ("word", "sense")

    def __init__(
        self, name: str, table: VectorTable, unknown: Sequence[str], wordnet: Vocabulary, options: EncodingOptions
    ) -> None:
        other = (options.layer, options.start, options.lower)
        if any(option is not None for option in other) or options.pooling not in (None, "mean"):
            raise ModelError(
                f"{name} has vectors of senses: a word's vector is their mean, so leave the options of "
                "pooling and layers out"
            )
        self.name, self.table, self.dimensions, self.unknown = name, table, table.dimensions, tuple(unknown)
        if options.reading_parts and not table.files:
            raise ModelError(f"{name} is not a file of senses: leave --header and --skip-bad out")
        self.remarks, self._read_as = table.remarks, options.reading_parts
        self.unit, self.exact_lemma = bool(options.unit), bool(options.exact_lemma)
        self._wordnet = wordnet
        self._senses: dict[str, tuple[str, ...]] = {}
        self._vectors: dict[str, FloatArray] = {}  # those that were read

    @classmethod
    def load(cls, spec: str, options: EncodingOptions = DEFAULT_ENCODING) -> Self:
        """Look through the file that ``senses:FILE`` names.

        Raises ModelError where it cannot be used, LexiconError where WordNet is not prepared.
        """
        wordnet = Vocabulary.open()
        opened = open_senses(path_of(spec), wordnet.has_key, header=options.header, skip_bad=options.skip_bad)
        return cls(spec, *opened, wordnet, options)

    @classmethod
    def wrap(
        cls,
        name: str,
        vectors: Mapping[str, NDArray[np.floating]] | tuple[Sequence[str], NDArray[np.floating]],
        options: EncodingOptions = DEFAULT_ENCODING,
    ) -> Self:
        """Wrap vectors by key, or keys with an array of shape (keys, dimensions). Raises as `load` does."""
        wordnet, table = Vocabulary.open(), wrap_table(name, vectors)
        with explained(Path(name)):
            unknown = check_keys(table.vocabulary, wordnet.has_key)
        return cls(name, table, unknown, wordnet, options)

    @cached_property
    def identity(self) -> dict[str, str]:
        """As of a `VectorFile`; ``config`` has the form, and whether vectors are made one long."""
        exact = ["exact lemma"] if self.exact_lemma else []
        return identify_table(self.table, [self.table.format, self.dimensions, self.unit, *LEXICONS, *exact])

    def encoding(self, level: str) -> Encoding:
        """Return how senses are looked up at a level. Raises ModelError where there is no such level."""
        if level not in self.levels:
            raise ModelError(f"{self.name} does not have vectors at the level {level}: use {' or '.join(self.levels)}")
        pooling = (("pooling", "mean"),) if level == "word" else ()
        unit, size = ("unit", "yes" if self.unit else "no"), ("dimensions", str(self.dimensions))
        lemma = (("lemma", "exact"),) if self.exact_lemma else ()
        return Encoding(
            level, (("senses", "all"), *lemma, *pooling, unit, size, ("lexicon", LEXICONS[0]), *self._read_as)
        )

    def width(self, level: str) -> int:
        """Return the numbers of a unit: those of a vector, and at the level ``sense`` how many senses there are."""
        return self.dimensions if level == "word" else 1

    def senses(self, word: str) -> tuple[str, ...]:
        """Return the keys of a word that the file has, in WordNet's order.

        Those of words of which it is a form, too, by WordNet's morphology, unless `exact_lemma`: *depressed* has those
        of *depress*.
        """
        if word not in self._senses:
            keys = dict.fromkeys(entry.key for entry in senses_of(self._wordnet, word, exact=self.exact_lemma))
            self._senses[word] = tuple(key for key in keys if key in self.table.vocabulary.rows)
        return self._senses[word]

    def vectors(self, keys: Sequence[str]) -> FloatArray:
        """Return vectors of shape (keys, dimensions); NaN throughout for a key that the file lacks."""
        rows = self.table.vocabulary.rows
        unread = sorted((rows[key], key) for key in {*keys} - self._vectors.keys() if key in rows)
        if unread:
            read = self.table.read([row for row, _ in unread])
            if self.unit:
                read = read / np.maximum(np.linalg.norm(read, axis=1, keepdims=True), np.finfo(np.float64).tiny)
            self._vectors.update(zip((key for _, key in unread), read, strict=True))
        nothing = np.full(self.dimensions, np.nan)
        return np.array([self._vectors.get(key, nothing) for key in keys]).reshape(-1, self.dimensions)

    def word_vector(self, word: str) -> FloatArray:
        """Return the mean of the vectors of a word's senses (Zhou et al. 2022, equation 7); NaN where it has none."""
        keys = self.senses(word)
        mean: FloatArray = self.vectors(keys).mean(axis=0) if keys else np.full(self.dimensions, np.nan)
        return mean

    def encode(self, level: str, units: Iterable[Unit], done: Container[Unit] = ()) -> Iterator[VectorAnswers]:
        """Yield units with their vectors; at the level ``sense`` with the number of their senses, NaN for none."""
        self.encoding(level)
        for unit in units:
            if unit not in done:
                count = np.array([len(self.senses(unit.text)) or np.nan])
                numbers = self.word_vector(unit.text) if level == "word" else count
                numbers = numbers if numbers.any() else np.full(self.width(level), np.nan)
                yield [(unit, numbers.astype(np.float32))]

    def compare_words(self, level: str, words: Sequence[str], others: Sequence[str]) -> FloatArray:
        """Return the cosine of each word with each of the others, shape (words, others).

        At the level ``sense`` it is max_ij cos(s_i, a_j) over the senses of both.
        """
        if level == "word":
            return compare_words(cast("VectorModel", self), level, words, others)
        from senseprobe.evaluate.senses.scorers import nearest_senses

        second = self._vectors_of_senses(others)
        blocks = (words[start : start + _BLOCK] for start in range(0, len(words), _BLOCK))
        return np.concatenate([nearest_senses(self._vectors_of_senses(block), second).cosines for block in blocks])

    def _vectors_of_senses(self, words: Sequence[str]) -> list[FloatArray]:
        """Return the vectors of the senses of each word, shape (senses, dimensions), read at once."""
        keys = [self.senses(word) for word in words]
        return np.split(self.vectors([*chain.from_iterable(keys)]), np.cumsum([*map(len, keys)])[:-1])

    def locate_senses(self, word: WordSenses, nearest: int) -> WordSenses:
        """Return the senses of a word with their cosine with gender's direction, and the `nearest` others of each.

        Raises SenseprobeError where the file has none of them, or `nearest` is not from 0 to 100.
        """
        from senseprobe.evaluate.senses.placement import locate_senses, read_blocks
        from senseprobe.evaluate.senses.scorers import read_gender_pairs

        pairs = [*read_gender_pairs("sense_noun").values()]
        return locate_senses(word, self, read_blocks(self.table), pairs, nearest)

    def reasons(self, level: str, units: Sequence[Unit]) -> Iterator[str]:
        """Yield why units have no vector."""
        for unit in units:
            if self.senses(unit.text):
                yield "a vector of zeros"
            else:
                senses = senses_of(self._wordnet, unit.text, exact=self.exact_lemma)
                yield "no sense in the file" if senses else "no word of WordNet"

    def lacks(self, word: str) -> bool:
        """Return whether the file has no sense of a word."""
        return not self.senses(word)

    def refuses(self, word_class: str) -> str:
        """Return why words of a class cannot be looked up among senses; empty where they can."""
        return _REFUSED.get(word_class, "")

    def summarize(self, release: str, sets: Mapping[tuple[str, str], Sequence[str]]) -> "SenseSummary":
        """Read the whole file, and return what it is; `sets` are words, or sense keys, of tests and roles of a release.

        Raises ModelError where one of its numbers is none.
        """
        rows, described = self.table.vocabulary.rows, describe_table(self.table, self.remarks)
        words_of_sets = {word for words in sets.values() for word in words}
        parts = Counter(map(part_of_speech, rows))
        lexicons = {"data files": self._wordnet.keys, "index.sense": self._wordnet.indexed_keys}
        metadata = _read_metadata(self.table.header)
        return SenseSummary(
            **described | ({"header": ""} if metadata else {}),
            release=release,
            coverage=cover_sets(sets, {word for word in words_of_sets if word not in rows and self.lacks(word)}),
            metadata=metadata,
            parts={part: parts[part] for part in PARTS_OF_SPEECH},
            satellites=sum("%5:" in key for key in rows),
            wordnet={name: (len(keys & rows.keys()), len(keys)) for name, keys in lexicons.items()},
            unknown=len(self.unknown),
            unknown_keys=self.unknown[:MOST_NAMED],
        )


@dataclass(frozen=True, slots=True, repr=False)
class SenseSummary(FileSummary):
    """What a file of senses is.

    - `metadata`: what a file of ``study senses build`` says of how it was made; empty of others.
    - `parts`: how many senses there are of each part of speech; `satellites` are some of the adjectives.
    - `wordnet`: of the keys of WordNet's data files, and of its ``index.sense``, how many the file has, of how many.
    - `unknown`: how many keys WordNet 3.0 does not have; the first of them.
    """

    metadata: Mapping[str, str]
    parts: Mapping[str, int]
    satellites: int
    wordnet: Mapping[str, tuple[int, int]]
    unknown: int
    unknown_keys: tuple[str, ...]

    def paragraphs(self) -> Iterator[str]:
        """Yield what the file is."""
        yield from FileSummary.paragraphs(self)
        yield from (f"{name.replace('_', ' ')}: {value}" for name, value in self.metadata.items())
        parts = {part: f"{counted(count, part)}" for part, count in self.parts.items()}
        parts["adjective"] += f" ({self.satellites:,} of them satellites)"
        yield f"senses of {', '.join(parts.values())}"
        shares = (f"{common:,} of {count:,} in its {name}" for name, (common, count) in self.wordnet.items())
        yield f"{LEXICONS[0]}'s senses: {', '.join(shares)}; unknown: {name_some(self.unknown, self.unknown_keys)}"


def _read_metadata(header: str) -> dict[str, str]:
    """Return what our own files say of themselves; empty of another file's header."""
    try:
        metadata = read_json(header)
    except ValueError:
        return {}
    return {str(name): str(value) for name, value in metadata.items()} if isinstance(metadata, dict) else {}


FAMILIES = (
    Family(
        id="sense-vectors",
        ability=SenseFile.ability,
        title="a file of vectors of senses",
        path=f"{__name__}:SenseFile",
        prefix="senses:",
    ),
)
