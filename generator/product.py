"""Ranges of a product of words, without making the product: which word each row has in each slot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from senseprobe.generator.blocks import ResolvedBlock

__all__ = ["Flags", "Indices", "Picked"]

Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Picked:
    """Some rows of a product: `at` maps each slot to the index of the word that each of the `n` rows has."""

    at: Mapping[str, Indices]
    n: int

    @classmethod
    def rows(cls, block: ResolvedBlock, start: int, stop: int) -> "Picked":
        """Rows `start` to `stop` of the product of a block's slots; numbers may be as large as they like."""
        stride, at = block.product, {}
        steps = np.arange(stop - start)
        for slot, words in block.slots.items():
            stride //= len(words)
            quotient, rest = divmod(start, stride)
            # A stride that is longer than the range is crossed once at most, and may be no number that numpy has.
            crossed = steps >= stride - rest if stride >= stop - start else (steps + rest) // stride
            at[slot] = (crossed + quotient % len(words)) % len(words)
        return cls(at, stop - start)

    def distinct(self, slots: Sequence[str], block: ResolvedBlock) -> tuple["Picked", Indices]:
        """The distinct combinations of the words in `slots`, and for each row which of them it has."""
        codes, sizes = np.zeros(self.n, dtype=np.int64), [len(block.slots[slot]) for slot in slots]
        for slot, size in zip(slots, sizes, strict=True):
            codes = codes * size + self.at[slot]
        found, rows = _distinct(codes)
        at = dict(zip(slots, np.unravel_index(found, sizes), strict=True)) if slots else {}
        return Picked(at, len(found)), rows


def _distinct(codes: Indices) -> tuple[Indices, Indices]:
    """As ``np.unique`` with its inverse; neighbouring rows have neighbouring codes, so that counting beats sorting."""
    low, high = (int(codes.min()), int(codes.max())) if len(codes) else (0, 0)
    span = high - low + 1
    if span > 4 * len(codes) + 1:
        found, rows = np.unique(codes, return_inverse=True)
        return found, rows
    seen = np.zeros(span, dtype=np.bool_)
    seen[codes - low] = True
    ranks = np.cumsum(seen) - 1
    return np.flatnonzero(seen) + low, ranks[codes - low]
