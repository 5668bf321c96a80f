"""Ranges of the product of slots, without making the product: which word each row has in each slot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from senseprobe.generator.config import ResolvedBlock

Indices = npt.NDArray[np.signedinteger]
Flags = npt.NDArray[np.bool_]

FEW, FEW_OF = 256, 16  # up to FEW combinations, or one for FEW_OF rows, are all made instead of searched


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Some rows of a product: `at` maps each slot to the index of the word that each of the `n` rows has."""

    at: Mapping[str, Indices]
    n: int
    start: int | None = None  # the number of the first row, where the rows follow one another
    cache: dict[tuple[str, ...], tuple["RowSelection", Indices]] = field(
        default_factory=dict, compare=False, repr=False
    )  # results of `distinct` by slots
    columns: dict[tuple[int, ...], pa.Array] = field(default_factory=dict, compare=False, repr=False)
    """Columns that frames with these rows have in common, kept by whoever makes them."""

    @classmethod
    def rows(cls, block: ResolvedBlock, start: int, stop: int) -> "RowSelection":
        """Return rows `start` to `stop` of the product of a block's slots; numbers may be larger than 64 bits."""
        stride, at = block.product, {}
        for slot, words in block.slots.items():
            stride //= len(words)
            at[slot] = _cycle(len(words), stride, start, stop - start)
        return cls(at, stop - start, start)

    def distinct(self, slots: Sequence[str], block: ResolvedBlock) -> tuple["RowSelection", Indices]:
        """Return the distinct combinations of words in `slots` (all, if they are few), and which each row has."""
        if (key := tuple(slots)) not in self.cache:
            self.cache[key] = self._distinct(key, block)
        return self.cache[key]

    def _distinct(self, slots: tuple[str, ...], block: ResolvedBlock) -> tuple["RowSelection", Indices]:
        sizes = [len(block.slots[slot]) for slot in slots]
        if prod(sizes) >= 2**62:  # too many for numpy's integers: every row counts as distinct
            return RowSelection({slot: self.at[slot] for slot in slots}, self.n), np.arange(self.n)
        if self.start is not None and slots == tuple(block.slots)[: len(slots)] and prod(sizes) > min(FEW, self.n):
            stay = block.product // prod(sizes)  # so many rows in succession have the same words in the first slots
            before = self.start // stay
            rows = _cycle((self.start + self.n - 1) // stay - before + 1, stay, self.start - before * stay, self.n)
            distinct = np.arange(int(rows[-1]) + 1) + before
        else:
            first, *others = zip(slots, sizes, strict=True) if slots else [("", 1)]
            kind: type[np.signedinteger] = np.int32 if prod(sizes) < 2**31 else np.int64
            codes: Indices = self.at[first[0]].astype(kind, copy=False) if slots else np.zeros(self.n, dtype=kind)
            for slot, size in others:
                codes = codes * size + self.at[slot] if size > 1 else codes
            distinct, rows = (np.arange(prod(sizes)), codes) if prod(sizes) <= min(FEW, self.n) else _distinct(codes)
        return RowSelection(digits(distinct, slots, sizes), len(distinct)), rows


def digits(codes: Indices, slots: Sequence[str], sizes: Sequence[int]) -> dict[str, Indices]:
    """Return the words that codes stand for; as ``np.unravel_index``, which is limited to 64 slots.

    >>> {slot: at.tolist() for slot, at in digits(np.arange(4), ["noun", "verb"], [2, 3]).items()}
    {'verb': [0, 1, 2, 0], 'noun': [0, 0, 0, 1]}
    """
    at = {}
    for slot, size in zip(reversed(slots), reversed(sizes), strict=True):
        codes, at[slot] = np.divmod(codes, size)
    return at


def _cycle(length: int, stride: int, start: int, n: int) -> Indices:
    """Return which of `length` words rows `start` to ``start + n`` have, if each in turn stays for `stride` rows."""
    offset = start % (length * stride)
    if length * stride <= n:
        turn = np.repeat(np.arange(length, dtype=np.int32), stride)
        return np.tile(turn, n // len(turn) + 2)[offset : offset + n]
    # A stride may be too large for numpy, but no word stays for longer than there are rows.
    first, stay = min(stride - offset % stride, n), min(stride, max(n, 1))
    words = np.arange((n - first) // stay + 2, dtype=np.int32)
    words = ((words + offset // stride) % length).astype(np.int32)
    return np.concatenate([np.full(first, words[0]), np.repeat(words[1:], stay)[: n - first]])


def _distinct(codes: Indices) -> tuple[Indices, Indices]:
    """Return what ``np.unique`` returns with its inverse, but count: neighbouring rows have neighbouring codes."""
    low, high = (int(codes.min()), int(codes.max())) if len(codes) else (0, 0)
    span = high - low + 1
    if span <= len(codes) // FEW_OF:  # nearly all of them occur
        return np.arange(low, high + 1), codes - low
    if span > 4 * len(codes) + 1:
        distinct, rows = np.unique(codes, return_inverse=True)
        return distinct, rows
    seen = np.zeros(span, dtype=np.bool_)
    seen[codes - low] = True
    ranks = np.cumsum(seen, dtype=np.int32) - 1
    return np.flatnonzero(seen) + low, ranks[codes - low]
