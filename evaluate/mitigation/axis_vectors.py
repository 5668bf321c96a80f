"""The vectors of an axis's words, in a file of vectors; those of a model's tokens are in `token_vectors`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from senseprobe.evaluate.models.vector_files import VectorFile
from senseprobe.evaluate.units import Unit
from senseprobe.statistics.intervals import FloatArray

Item: TypeAlias = tuple[str, ...]
"""A word, or a pair of words."""


@dataclass(frozen=True, slots=True)
class ItemVectors:
    """The vectors of items: of shape (1 or 2, dimensions) each, in the order of the items that have them.

    `missing`: words without a vector; `form`: the form of words that was looked up, such as ``␣word``; empty where
    words have one form.
    """

    vectors: Mapping[Item, FloatArray]
    missing: tuple[str, ...]
    form: str = ""


class AxisVectors(Protocol):
    """Vectors of words; `dimensions` is how many numbers one has."""

    dimensions: int

    def find(self, items: Sequence[Item]) -> ItemVectors:
        """Return the vectors of words, or of pairs."""


class FileVectors:
    """The vectors of words in a file of vectors; words of several are means, as the file's model makes them."""

    def __init__(self, model: VectorFile) -> None:
        self.model, self.dimensions = model, model.dimensions

    def find(self, items: Sequence[Item]) -> ItemVectors:
        """Return the vectors of words, or of pairs; a vector of zeros is none."""
        words = dict.fromkeys(word for item in items for word in item)
        answers = (answer for answers in self.model.encode("word", map(Unit, words)) for answer in answers)
        vectors = {unit.text: vector.astype(np.float64) for unit, vector in answers if np.isfinite(vector).all()}
        return ItemVectors(stack_items(items, vectors), tuple(word for word in words if word not in vectors))


def stack_items(items: Sequence[Item], vectors: Mapping[str, FloatArray]) -> dict[Item, FloatArray]:
    """Return the vectors of the items of which each word has one."""
    complete = (item for item in items if all(word in vectors for word in item))
    return {item: np.array([vectors[word] for word in item]) for item in complete}
