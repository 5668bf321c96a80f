"""Everything that a frame's segments can say: a row fails where one of its segments does, or where it is too long."""

from math import prod

import numpy as np

from senseprobe.generator.blocks import ResolvedBlock, ResolvedFrame
from senseprobe.generator.product import Indices, Picked, digits
from senseprobe.generator.segments import MAX_SENTENCE
from senseprobe.generator.sentences import FrameRows, Side

MOST_COMBINATIONS = 20_000
"""Combinations of words that are tried of one segment; of more, so many that each word is among them."""


def too_long(rows: FrameRows, role: str, side: Side, picked: Picked) -> None:
    """DeclarationError (E108) where the longest sentence is; `side` is that of the rows that `covering` picked."""
    if sum(int(piece.lengths.max()) for piece in side.pieces) > MAX_SENTENCE:
        rows.side(role, _longest_row(rows, role, picked, side))


def covering(block: ResolvedBlock, frame: ResolvedFrame, role: str) -> Picked:
    """Rows in which each segment of a frame says all that it can in a role; slots that it does not read stand still.

    There are as many as the segments have combinations of words, whatever the product of all slots.
    """
    reads = dict.fromkeys(block.reads(role, segment.reads) for segment in frame.compiled.segments)
    parts = [_combinations(block, slots) for slots in reads if slots] or [({}, 1)]
    n = sum(length for _, length in parts)
    at: dict[str, Indices] = {slot: np.zeros(n, dtype=np.int64) for slot in block.slots}
    start = 0
    for places, length in parts:
        for slot, indices in places.items():
            at[slot][start : start + length] = indices
        start += length
    return Picked(at, n)


def _combinations(block: ResolvedBlock, slots: tuple[str, ...]) -> tuple[dict[str, Indices], int]:
    sizes = [len(block.slots[slot]) for slot in slots]
    if prod(sizes) <= MOST_COMBINATIONS:
        n = prod(sizes)
        return digits(np.arange(n), slots, sizes), n
    n = max(MOST_COMBINATIONS, *sizes)
    return {slot: np.arange(n) % size for slot, size in zip(slots, sizes, strict=True)}, n


def _longest_row(rows: FrameRows, role: str, picked: Picked, side: Side) -> Picked:
    """A row in which the segments, the longest first, say the longest that they can, as far as they agree on words."""
    at: dict[str, Indices] = {}
    found = zip(side.pieces, rows.frame.compiled.segments, strict=True)
    for piece, segment in sorted(found, key=lambda each: -int(each[0].lengths.max())):
        row = int(piece.lengths.argmax())
        for slot in rows.block.reads(role, segment.reads):
            at.setdefault(slot, picked.at[slot][row : row + 1])
    return Picked({slot: at.get(slot, np.zeros(1, dtype=np.int64)) for slot in rows.block.slots}, 1)
