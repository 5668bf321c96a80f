"""How a model makes vectors of words and sentences: what a user asks for, and what a result states."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from senseprobe.errors import ModelError
from senseprobe.evaluate.units import Unit
from senseprobe.statistics import FloatArray, pairwise_cosines

LEVELS = ("word", "sent", "cword")
"""What models of texts have vectors of: a word alone, a sentence, a word in its sentence (Tan and Celis 2019, 3.1)."""

STARTS = ("own", "bos", "eos", "off")
"""What stands before a text: what the tokenizer puts there, a token put there since it puts none, or nothing."""


@dataclass(frozen=True, slots=True)
class EncodingOptions:
    """What a user asks of vectors; None is the model's own way.

    - `pooling`: of tokens, ``cls``, ``mean``, ``max`` or ``last`` of a sentence; ``mean``, ``first``, ``last`` or
      ``head`` (the first token of its last word, as in Tan and Celis' code) of a word in its sentence; ``model`` of a
      word alone, as the model makes the vector of a sentence, special tokens and all.
    - `layer`: of hidden states; 0 is the table of tokens, and negative numbers count from the last.
    - `start`: ``off`` puts no token before a text where the tokenizer of a decoder puts none itself.
    - `lower`: whether words are looked up in lower case in a file of vectors.
    - `unit`: whether each vector of a sense is made one of length 1 when it is read.
    - `exact_lemma`: whether a word has its own senses alone, and not those of words of which it may be a form.
    - `header`: whether the first line of a file of vectors is a header; None: what the lines below it tell.
    - `skip_bad`: whether lines of such a file that are no word with its numbers are passed over.
    """

    pooling: str | None = None
    layer: int | None = None
    start: str | None = None
    lower: bool | None = None
    unit: bool | None = None
    exact_lemma: bool | None = None
    header: bool | None = None
    skip_bad: bool = False

    @property
    def reading_parts(self) -> tuple[tuple[str, str], ...]:
        """What is stated of how a file is read, as parts of an encoding; none where nothing is."""
        header = () if self.header is None else (("header", "yes" if self.header else "no"),)
        return (*header, *((("bad", "skipped"),) if self.skip_bad else ()))

    @classmethod
    def of_text(cls, text: str) -> Self:
        """Return options that ask for an encoding, as `Encoding.text` states it. ModelError where it states none.

        >>> EncodingOptions.of_text("pooling=mean;layer=-1").layer
        -1
        """
        parts = dict(part.split("=", 1) for part in text.split(";") if "=" in part)
        lower, layer, start = parts.get("lower"), parts.get("layer"), parts.get("start")
        unit, header = parts.get("unit"), parts.get("header")
        try:
            return cls(
                pooling=parts.get("pooling"),
                layer=None if layer is None else int(layer),
                start="off" if start == "off" else None,
                lower=None if lower is None else lower == "yes",
                unit=None if unit is None else unit == "yes",
                exact_lemma=True if parts.get("lemma") == "exact" else None,
                header=None if header is None else header == "yes",
                skip_bad=parts.get("bad") == "skipped",
            )
        except ValueError:
            raise ModelError(f"{text!r} is not an encoding of words") from None


DEFAULT_ENCODING = EncodingOptions()
"""As a model makes its vectors itself."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a model makes the vectors of a level, all of it resolved: names and what they are, in order."""

    level: str
    parts: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """The encoding as a signature states it: ``level=cword;pooling=mean;check=last;layer=12;start=bos``."""
        return ";".join(f"{name}={part}" for name, part in (("level", self.level), *self.parts))


class VectorModel(Protocol):
    """A model with the ability ``vectors``: of words, sentences, or words in sentences, as `levels` says.

    - `encoding(level)`: how it makes them. ModelError where it has no such level, or cannot do what was asked.
    - `width(level)`: numbers of a unit: its `dimensions`, and at the level ``cword`` twice as many, since the vector by
      another pooling follows, which is the check of the first.
    - `encode(level, units, done)`: as `Scorer.score`; an answer is a vector of float32, all NaN where there is none.
    - `reasons(level, units)`: why a unit has none, in a few words.
    - `lacks(word)`: whether it knows nothing of a word, so that a sentence about that word says nothing of it.
    """

    name: str
    ability: str
    levels: tuple[str, ...]
    dimensions: int

    @property
    def identity(self) -> dict[str, str]:
        """As of every model."""

    def encoding(self, level: str) -> Encoding:
        """Return how it makes the vectors of a level."""

    def width(self, level: str) -> int:
        """Return how many numbers a unit has."""

    def encode(self, level: str, units: Iterable[Unit], done: Container[Unit]) -> Iterator[Any]:
        """Yield the vectors of units, a forward pass at a time."""

    def reasons(self, level: str, units: Sequence[Unit]) -> Iterator[str]:
        """Yield why a unit has no vector."""

    def lacks(self, word: str) -> bool:
        """Return whether it knows nothing of a word."""


def compare_words(model: VectorModel, level: str, words: Sequence[str], others: Sequence[str]) -> FloatArray:
    """Return the cosine of each word with each of the others, shape (words, others); NaN where a vector is missing.

    >>> from senseprobe.evaluate.models.vector_files import VectorFile
    >>> model = VectorFile.wrap("mine", {"rose": [1.0, 0.0], "kind": [0.5, 0.5]})
    >>> compare_words(model, "word", ["rose"], ["kind"]).round(3)
    array([[0.707]])
    """
    units = [Unit(word) for word in dict.fromkeys((*words, *others))]
    vectors = {unit.text: vector for answers in model.encode(level, units, ()) for unit, vector in answers}
    first, second = (np.array([vectors[word] for word in side], dtype=np.float64) for side in (words, others))
    return pairwise_cosines(first, second)
