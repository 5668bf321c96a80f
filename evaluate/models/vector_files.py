"""Files of vectors, and vectors from Python, as models: of words, and of sentences as the mean of their words'.

That mean is what May et al. (2019) call CBoW, the baseline of their sentence encoders.
"""

import hashlib
import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from senseprobe.arrays import Unusable, explained
from senseprobe.document import Section, Table
from senseprobe.errors import ModelError
from senseprobe.evaluate.models.encodings import Encoding, EncodingOptions
from senseprobe.evaluate.models.packages import find_fetched
from senseprobe.evaluate.models.vector_tables import open_vectors
from senseprobe.evaluate.units import Unit
from senseprobe.messages import counted, listed, printable
from senseprobe.word_vectors import VectorTable, Vocabulary, check_finite

PREFIX = "vectors:"
"""Before the path of a file of vectors, or the name of one that was fetched, where a model is named."""

VectorAnswers: TypeAlias = list[tuple[Unit, NDArray[np.float32]]]

_WINDOW = 4_096
_ANY = EncodingOptions()
# Of a file whose words are all in lower case, at most so many are not: signs, or what was overlooked.
_MOST_CAPITALS = 0.001
# A word of a sentence may have hyphens and apostrophes inside; where it has no vector, its parts: "Adam" and "'s", and
# as the corpora of published vectors were split, "do" and "n't".
_WORDS = re.compile(r"\w+(?:[-'\u2019]\w+)*")
_TOKENS = re.compile(rf"{_WORDS.pattern}|[^\w\s]")
_NOT = r"(?i:n)['\u2019](?i:t)\b"
_PARTS = re.compile(rf"\w+(?={_NOT})|{_NOT}|['\u2019]?\w+")
_SENTENCE = re.compile(r"\S+\s.*[.!?]", re.DOTALL)


def path_of(spec: str) -> Path:
    """Return the path in ``vectors:FILE`` or ``senses:FILE``: a file or folder, or vectors fetched by this name."""
    name = spec.partition(":")[2]
    path = Path(name)
    return path if path.expanduser().exists() else find_fetched(name) or path


class VectorFile:
    """Vectors of words in a file, or from Python; sentences are means of their words.

    How words are looked up is the same at all levels:

    - in lower case where at most one word in a thousand of the file has a capital letter, else as they are written;
    - a word of several is one with ``_`` where the file has that, else the mean of its words, all of which it needs;
    - static vectors of tokens (model2vec) are asked for by their own tokenizer instead.

    `levels` are ``word`` and ``sent``, and ``cword`` too where keys from Python are whole sentences, which count first.
    """

    ability: ClassVar[str] = "vectors"
    reads_wordnet: ClassVar[bool] = False

    def __init__(self, name: str, table: VectorTable, options: EncodingOptions = _ANY) -> None:
        if options.layer is not None or options.start is not None or options.pooling not in (None, "mean"):
            raise ModelError(
                f"{name} has vectors of words, so it has neither layers nor start tokens, and only mean pooling"
            )
        if options.unit is not None or options.exact_lemma is not None:
            raise ModelError(
                f"{name} has vectors of words: --unit and --exact-lemma apply to files of senses (senses:FILE)"
            )
        if options.reading_parts and not table.files:
            raise ModelError(f"{name} is not a file of vectors: leave --header and --skip-bad out")
        if table.tokens and options.lower is not None:
            raise ModelError(f"{name} has its own tokenizer, which decides about lower case")
        self.name, self.table, self.dimensions, self.options = name, table, table.dimensions, options
        self._has_sentences = not table.files and any(map(_SENTENCE.fullmatch, table.vocabulary.rows))
        self.levels = ("word", "sent", "cword") if self._has_sentences else ("word", "sent")
        self.lower = is_lower(table.vocabulary) if options.lower is None else options.lower
        self._vectors: dict[int, NDArray[np.float64]] = {}  # those that were read

    @classmethod
    def load(cls, spec: str, options: EncodingOptions = _ANY) -> Self:
        """Look through the file that ``vectors:FILE`` names. Raises ModelError where it cannot be used."""
        return cls(spec, open_vectors(path_of(spec), header=options.header, skip_bad=options.skip_bad), options)

    @classmethod
    def wrap(
        cls,
        name: str,
        vectors: Mapping[str, NDArray[np.floating]] | tuple[Sequence[str], NDArray[np.floating]],
        options: EncodingOptions = _ANY,
    ) -> Self:
        """Wrap vectors from Python: a dict, or texts with an array of shape (texts, dimensions).

        Keys are words, or whole sentences. Raises ModelError where they do not fit, or a number is not finite.
        """
        return cls(name, wrap_table(name, vectors), options)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is odd about the words, a sentence each: also of lines that were passed over."""
        repeated = [word for word in self.table.vocabulary.duplicates if word.strip()]
        repeats = f"words that occur again, of which the first counts: {name_some(len(repeated), repeated)}"
        return (*self._odd_words(), *([repeats] if repeated else []))

    def _odd_words(self) -> tuple[str, ...]:
        rows = self.table.vocabulary.rows
        sample = [word for word in islice(rows, _WINDOW) if word.startswith("/c/")]
        if 2 * len(sample) <= min(len(rows), _WINDOW):
            return self.table.remarks
        hint = f"words are written as in ConceptNet Numberbatch ({printable(sample[0])}), so no word of a text is found"
        return (*self.table.remarks, f"{hint}: use its English file, or remove /c/en/ and omit other languages")

    @cached_property
    def identity(self) -> dict[str, str]:
        """sha256 of the files (``weights``), of format and options (``config``) and of the words (``tokenizer``)."""
        table = self.table
        return identify_table(table, [table.format, table.dimensions, "own" if table.tokens else self.lower])

    def encoding(self, level: str) -> Encoding:
        """Return how words are looked up at a level. Raises ModelError where there is no such level."""
        if level not in self.levels:
            why = (
                ("it is not a file of senses (senses:FILE)")
                if level == "sense"
                else "a word has the same vector in all sentences"
            )
            raise ModelError(f"{self.name} does not have vectors at the level {level}: {why}")
        if self.table.tokens:
            return Encoding(level, (("tokens", "own"), ("pooling", "mean")))
        lower = ("lower", "yes" if self.lower else "no")
        if level == "cword":
            return Encoding(level, (("key", "sentence"), ("check", "none")))
        several = (("multiword", "_,mean"),) if level == "word" else (("tokens", "words,n't"), ("pooling", "mean"))
        key = (("key", "sentence"),) if self._has_sentences and level == "sent" else ()
        return Encoding(level, (*key, lower, *several, *self.options.reading_parts))

    def width(self, level: str) -> int:
        """Return the numbers of a unit; at ``cword`` its vector stands there twice, since nothing else checks it."""
        return self.dimensions * (2 if level == "cword" else 1)

    def encode(self, level: str, units: Iterable[Unit], done: Container[Unit] = ()) -> Iterator[VectorAnswers]:
        """Yield units with their vectors, float32 of shape (width,), some thousand at a time; NaN where there is none.

        Raises ModelError where the file has something else than numbers for a word, or was changed meanwhile.
        """
        self.encoding(level)
        rows_of = {unit: self.look_up(level, unit.text)[0] for unit in units if unit not in done}
        unread = sorted({row for rows in rows_of.values() for row in rows} - self._vectors.keys())
        self._vectors.update(zip(unread, self.table.read(unread) if unread else (), strict=True))
        left = iter(rows_of.items())
        while window := [*islice(left, _WINDOW)]:
            yield [(unit, self._pool(level, rows)) for unit, rows in window]

    def _pool(self, level: str, rows: Sequence[int]) -> NDArray[np.float32]:
        """Return the mean of the vectors of rows, which were read; NaN where there is none, or it is zero."""
        mean = np.mean([self._vectors[row] for row in rows], axis=0) if rows else np.zeros(self.dimensions)
        if self.table.normalized and mean.any():
            mean = mean / np.linalg.norm(mean)
        vector = mean.astype(np.float32)
        vector = vector if vector.any() else np.full(self.dimensions, np.nan, dtype=np.float32)
        return np.concatenate([vector, vector]) if level == "cword" else vector

    def reasons(self, level: str, units: Sequence[Unit]) -> Iterator[str]:
        """Yield why units have no vector: ``no vector of gladiola``, or one of zeros."""
        for unit in units:
            rows, missing = self.look_up(level, unit.text)
            if rows:
                yield f"a vector of zeros for {unit.text}" if level == "word" else "a vector of zeros"
            else:
                yield f"no vector of {missing[0]}" if level == "word" and missing else "no word that has a vector"

    def lacks(self, word: str) -> bool:
        """Return whether a word has no vector, and is no sentence that has one."""
        return not self.find(word)[0] and not self._has_sentences

    def summarize(self, release: str, sets: Mapping[tuple[str, str], Sequence[str]]) -> "VectorSummary":
        """Read the whole file, and return what it is; `sets` are the words of each test and role of a release.

        Raises ModelError where one of its numbers is none.
        """
        vocabulary, described = self.table.vocabulary, describe_table(self.table, self._odd_words())
        units = dict.fromkeys(Unit(word) for words in sets.values() for word in words)
        answers = (answer for answers in self.encode("word", units) for answer in answers)
        return VectorSummary(
            **described,
            release=release,
            coverage=cover_sets(sets, {unit.text for unit, vector in answers if np.isnan(vector).all()}),
            capitals=capitals(vocabulary),
            lower=None if self.table.tokens else self.lower,
            duplicates=len(vocabulary.duplicates),
            duplicate_words=tuple(vocabulary.duplicates[:MOST_NAMED]),
            not_utf8=vocabulary.not_utf8,
        )

    def find(self, word: str) -> tuple[list[int], list[str]]:
        """Return the rows of which the mean is the vector of a word, none where it has none; and the missing words.

        >>> model = VectorFile.wrap("mine", {"rose": [1.0, 0.0], "bush": [0.5, 0.5]})
        >>> model.find("rose bush")
        ([0, 1], [])
        >>> model.find("rose hip")
        ([], ['hip'])
        """
        if self.table.tokens:
            rows = self.table.tokens(word)
            return rows, [] if rows else [word]
        for spelling in (word, word.replace(" ", "_")):
            if (row := self._row(spelling)) is not None:
                return [row], []
        parts = [(part, self._row(part)) for part in word.split()]
        missing = [part for part, row in parts if row is None]
        return [] if missing else [row for _, row in parts if row is not None], missing

    def _row(self, word: str) -> int | None:
        rows, word = self.table.vocabulary.rows, word.lower() if self.lower else word
        return rows.get(word, rows.get(word.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")))

    def look_up(self, level: str, text: str) -> tuple[list[int], list[str]]:
        """Return the rows of a text at a level, and the words of it that have none."""
        if level == "word" or self.table.tokens:
            return self.find(text)
        if (row := self.table.vocabulary.rows.get(text)) is not None:
            return [row], []
        words = [] if level == "cword" else [(word, self._row(word)) for _, word in self.split(text)]
        return [row for _, row in words if row is not None], [word for word, row in words if row is None]

    def split(self, sentence: str, *, signs: bool = False) -> Iterator[tuple[int, str]]:
        """Yield the words of a sentence, each with its first character's place; with `signs` punctuation marks, too.

        A word with ``'`` or ``-`` that has no vector is its parts; *don't* is *do* and *n't*.
        """
        for match in (_TOKENS if signs else _WORDS).finditer(sentence):
            word, start = match.group(), match.start()
            parts = [] if word.isalnum() or self.find(word)[0] else [*_PARTS.finditer(word)]
            yield from [(start + part.start(), part.group()) for part in parts] or [(start, word)]


def wrap_table(
    name: str, vectors: Mapping[str, NDArray[np.floating]] | tuple[Sequence[str], NDArray[np.floating]]
) -> VectorTable:
    """Return the table of vectors from Python; see `VectorFile.wrap`."""
    words, rows = ([*vectors], [*vectors.values()]) if isinstance(vectors, Mapping) else vectors
    with explained(Path(name)):
        odd = next((index for index, row in enumerate(rows) if np.size(row) != np.size(rows[0])), 0)
        if odd:
            lengths = (f"{words[index]!r} has {np.size(rows[index])} numbers" for index in (odd, 0))
            raise Unusable(f"{', and '.join(lengths)}: give all vectors one length")
        matrix = np.asarray(rows)
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiu" or 0 in matrix.shape or len(words) != len(matrix):
            raise Unusable(f"{len(words)} texts, and numbers of shape {matrix.shape}: each text needs a vector")
        if not all(isinstance(word, str) for word in words):
            raise Unusable("some of its keys are not text")
        finite = np.isfinite(matrix).all(axis=1)
        if not finite.all():
            raise Unusable(f"the vector of {words[int(finite.argmin())]!r} has a number that is not finite")
        matrix = check_finite(matrix, range(len(matrix)))
    return VectorTable(
        "from Python", (), Vocabulary.of(words), matrix.shape[1], str(matrix.dtype), lambda rows: matrix[[*rows]]
    )


def identify_table(table: VectorTable, config: Sequence[object]) -> dict[str, str]:
    """Return the identity of a model whose vectors are in a table; `config` is all else that they depend on."""
    weights = hashlib.sha256()
    for path in table.files:
        with explained(path), path.open("rb") as file:
            weights.update(hashlib.file_digest(file, "sha256").digest())
    if not table.files:
        weights.update(table.read(range(table.vocabulary.count)).tobytes())
    return {
        "weights": weights.hexdigest(),
        "config": hashlib.sha256(json.dumps(config).encode()).hexdigest(),
        "tokenizer": hashlib.sha256(json.dumps([*table.vocabulary.rows]).encode()).hexdigest(),
        "dtype": "float32",  # of the answers, whatever the file has
    }


def is_lower(vocabulary: Vocabulary) -> bool:
    """Return whether words are to be looked up in lower case: at most one in a thousand has a capital letter."""
    return capitals(vocabulary) <= _MOST_CAPITALS * len(vocabulary.rows)


def capitals(vocabulary: Vocabulary) -> int:
    """Return how many words have a capital letter."""
    return sum(word != word.lower() for word in vocabulary.rows)


# --- what a file is -------------------------------------------------------------------------------------------------

# So many numbers are in memory at once, as objects of Python where they are read from text.
_NUMBERS = 1_000_000
MOST_NAMED = 100
"""Names of words in a summary, at most."""


@dataclass(frozen=True, slots=True)
class SetCoverage:
    """How many of the `words` of a set of a test have a vector, and the names of the missing ones, in order."""

    test: str
    role: str
    words: int
    missing: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.words - len(self.missing)} of {self.words}"


@dataclass(frozen=True, slots=True, repr=False)
class FileSummary:
    """What a file of vectors is, of words or of senses; `print` shows it as `model vectors` does.

    - `files`, `format`, `header` (what it says of itself, empty without), `dtype`, `count` of rows and `dimensions`.
    - `zeros`: how many vectors are zero; the first of their names.
    - `norms`: the smallest and the largest length of a vector.
    - `release` and `coverage`: of its tests each set.
    - `remarks`: what was read otherwise than it stands there, or passed over.
    """

    files: tuple[Path, ...]
    format: str
    header: str
    dtype: str
    count: int
    dimensions: int
    zeros: int
    zero_words: tuple[str, ...]
    norms: tuple[float, float]
    release: str
    coverage: tuple[SetCoverage, ...]
    remarks: tuple[str, ...]

    def __str__(self) -> str:
        return str(self.section())

    def __repr__(self) -> str:
        """Return the files and their size in a line, with how many words of the release's tests they have."""
        size = f"{counted(self.count, 'vector')} of {self.dimensions} dimensions"
        words = sum(part.words for part in self.coverage)
        there = words - sum(len(part.missing) for part in self.coverage)
        of_release = f"; {there:,} of {words:,} words of {self.release}" if words else ""
        return f"<{type(self).__name__} {' and '.join(map(str, self.files))}: {size}{of_release}>"

    def as_dict(self) -> dict[str, Any]:
        """Return it with what JSON has."""
        return {**asdict(self), "files": [str(path) for path in self.files]}

    def section(self) -> Section:
        """Return what people read of the file: what it is, and how many words of each set of a test have a vector."""
        tests: dict[str, dict[str, SetCoverage]] = {}
        for part in self.coverage:
            tests.setdefault(part.test, {})[part.role] = part
        roles = [*dict.fromkeys(part.role for part in self.coverage)]
        columns = {"test": "name", **dict.fromkeys(roles, "number"), "without a vector": "words"}
        rows = (
            (
                test,
                *(str(sets.get(role, "")) for role in roles),
                listed(word for part in sets.values() for word in part.missing),
            )
            for test, sets in tests.items()
        )
        table = Table.of_texts(columns, rows, f"words of {self.release}")
        return Section("", (*self.paragraphs(),), tables=(table,) if tests else ())

    def paragraphs(self) -> Iterator[str]:
        """Yield what the file is."""
        header = f", its header says {self.header}" if self.header else ""
        yield f"{' and '.join(map(str, self.files))}: {self.format}{header}"
        yield f"{counted(self.count, 'vector')} of {self.dimensions} dimensions, {self.dtype}"
        low, high = self.norms
        yield f"lengths from {low:.4g} to {high:.4g}; zero: {name_some(self.zeros, self.zero_words)}"
        yield from self.remarks


@dataclass(frozen=True, slots=True, repr=False)
class VectorSummary(FileSummary):
    """What a file of vectors of words is.

    - `capitals`: words with a capital letter; `lower`: whether words are therefore looked up in lower case; None for
      vectors of tokens, whose tokenizer decides.
    - `duplicates`: how many words stand there again; the first of their names.
    - `not_utf8`: words that no text can name.
    """

    capitals: int
    lower: bool | None
    duplicates: int
    duplicate_words: tuple[str, ...]
    not_utf8: int

    def paragraphs(self) -> Iterator[str]:
        """Yield what the file is."""
        yield from FileSummary.paragraphs(self)
        repeated = name_some(self.duplicates, self.duplicate_words)
        yield f"words that occur again, of which the first counts: {repeated}; not UTF-8: {self.not_utf8:,}"
        looked_up = {None: "by its own tokenizer", True: "in lower case", False: "as written"}[self.lower]
        yield f"words with a capital letter: {self.capitals:,}, so words are looked up {looked_up}"


def name_some(count: int, names: Sequence[str]) -> str:
    """Return how many there are with the first of their names, or none."""
    return f"{count:,} ({listed(names, count)})" if count else "none"


def describe_table(table: VectorTable, remarks: tuple[str, ...]) -> dict[str, Any]:
    """Return what a summary has of a table, all of whose vectors are read for it, with `remarks`.

    Raises ModelError where one of its numbers is none.
    """
    count, rows = table.vocabulary.count, max(1, _NUMBERS // table.dimensions)
    parts = (table.read(range(start, min(start + rows, count))) for start in range(0, count, rows))
    norms = np.concatenate([np.linalg.norm(part, axis=1) for part in parts])
    zeros = {int(row) for row in np.flatnonzero(norms == 0)}
    return {
        "files": table.files,
        "format": table.format,
        "header": table.header,
        "dtype": table.dtype,
        "count": count,
        "dimensions": table.dimensions,
        "zeros": len(zeros),
        "zero_words": tuple(word for word, row in table.vocabulary.rows.items() if row in zeros)[:MOST_NAMED],
        "norms": (float(norms.min()), float(norms.max())),
        "remarks": remarks,
    }


def cover_sets(sets: Mapping[tuple[str, str], Sequence[str]], missing: Container[str]) -> tuple[SetCoverage, ...]:
    """Return of each set, by test and role, how many words it has, and which of them are `missing`."""
    distinct = {name: dict.fromkeys(words) for name, words in sets.items()}
    return tuple(
        SetCoverage(test, role, len(words), tuple(word for word in words if word in missing))
        for (test, role), words in distinct.items()
    )
