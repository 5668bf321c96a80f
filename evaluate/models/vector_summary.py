"""What a file of vectors is: its form, its words and its numbers, and which words of tests it has."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from senseprobe.evaluate.models.vector_files import VectorFile, capitals
from senseprobe.evaluate.units import Unit

# So many vectors are in memory at once.
_ROWS = 10_000
_MOST_NAMED = 100


@dataclass(frozen=True, slots=True)
class SetCoverage:
    """How many of the `words` of a set of a test have a vector, and the names of the missing ones, in order."""

    test: str
    role: str
    words: int
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VectorSummary:
    """What a file of vectors is.

    - `files`, `format`, `header` (what it says of itself, empty without), `dtype`, `count` of rows and `dimensions`.
    - `capitals`: words with a capital letter; `lower`: whether words are therefore looked up in lower case; None for
      vectors of tokens, whose tokenizer decides.
    - `duplicates`, `zeros`: how many words stand there again, and how many vectors are zero; the first of their names.
    - `not_utf8`: words that no text can name. `norms`: the smallest and the largest length of a vector.
    - `release` and `coverage`: of its tests each set.
    """

    files: tuple[Path, ...]
    format: str
    header: str
    dtype: str
    count: int
    dimensions: int
    capitals: int
    lower: bool | None
    duplicates: int
    duplicate_words: tuple[str, ...]
    not_utf8: int
    zeros: int
    zero_words: tuple[str, ...]
    norms: tuple[float, float]
    release: str
    coverage: tuple[SetCoverage, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it with what JSON has."""
        return {**asdict(self), "files": [str(path) for path in self.files]}


def summarize_vectors(
    spec: str, release: str = "", sets: Mapping[tuple[str, str], Sequence[str]] | None = None
) -> VectorSummary:
    """Read a whole file of vectors, and return what it is; `sets` are the words of each test and role of a release.

    Raises ModelError where the file cannot be used, or one of its numbers is none.
    """
    file = VectorFile.load(spec)
    table, vocabulary = file.table, file.table.vocabulary
    norms = _norms(file)
    zeros = {int(row) for row in np.flatnonzero(norms == 0)}
    return VectorSummary(
        files=table.files,
        format=table.format,
        header=table.header,
        dtype=table.dtype,
        count=vocabulary.count,
        dimensions=table.dimensions,
        capitals=capitals(vocabulary),
        lower=None if table.tokens else file.lower,
        duplicates=len(vocabulary.duplicates),
        duplicate_words=tuple(vocabulary.duplicates[:_MOST_NAMED]),
        not_utf8=vocabulary.not_utf8,
        zeros=len(zeros),
        zero_words=tuple(word for word, row in vocabulary.rows.items() if row in zeros)[:_MOST_NAMED],
        norms=(float(norms.min()), float(norms.max())),
        release=release,
        coverage=tuple(_coverages(file, sets or {})),
    )


def _norms(file: VectorFile) -> NDArray[np.float64]:
    """Return the length of each vector."""
    count = file.table.vocabulary.count
    parts = (file.table.read(range(start, min(start + _ROWS, count))) for start in range(0, count, _ROWS))
    return np.concatenate([np.linalg.norm(part, axis=1) for part in parts])


def _coverages(file: VectorFile, sets: Mapping[tuple[str, str], Sequence[str]]) -> Iterator[SetCoverage]:
    units = dict.fromkeys(Unit(word) for words in sets.values() for word in words)
    answers = (answer for answers in file.encode("word", units) for answer in answers)
    missing = {unit.text for unit, vector in answers if np.isnan(vector).all()}
    for (test, role), words in sets.items():
        distinct = dict.fromkeys(words)
        yield SetCoverage(test, role, len(distinct), tuple(word for word in distinct if word in missing))
