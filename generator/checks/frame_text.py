"""What checks read of a frame: where its segments stand, which words they take, and what they print with them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod

import jinja2
import numpy as np

from senseprobe.generator.config import ResolvedBlock, ResolvedFrame
from senseprobe.generator.product import Indices, RowSelection, digits
from senseprobe.generator.segments import Segment
from senseprobe.generator.word_lists import Word

MOST_ROWS = 5_000
"""Combinations of words that a check looks at; of more, it looks at so many that hold each word."""

TAG = re.compile(r"\{(?:\{[^{}]*\}|%[-+]?\s*(?P<word>\w++)[^{}]*%)\}")
"""An output or a statement of a frame. Braces end the search, which would else go on to the end from every brace."""


def mask_tags(source: str, mark: str) -> str:
    """Return a frame with a mark for each character of its tags, so that positions stay what they are."""
    return TAG.sub(lambda tag: mark * len(tag[0]), source)


def segment_columns(frame: ResolvedFrame) -> tuple[int, ...]:
    """Return the column of the line, from 1, at which each segment begins."""
    starts = tuple(_starts(frame.frame.source))
    if len(starts) != len(frame.compiled.segments):
        starts = (0,) * len(frame.compiled.segments)  # signs as `{{-` swallow blanks, and segments with them
    return tuple(frame.frame.column + start for start in starts)


def _starts(source: str) -> Iterator[int]:
    end = depth = 0
    for tag in TAG.finditer(source):
        if not depth and tag.start() > end:
            yield end
        if not depth:
            yield tag.start()
        depth += {"if": 1, "endif": -1}.get(tag["word"] or "", 0)
        end = tag.end()
    if end < len(source):
        yield end


def pick_rows(block: ResolvedBlock, slots: Sequence[str]) -> RowSelection:
    """Pick all combinations of the words of these slots, or MOST_ROWS of them."""
    sizes = [len(block.slots[slot]) for slot in slots]
    n = prod(sizes)
    if n <= MOST_ROWS:
        return RowSelection(digits(np.arange(n), slots, sizes), n)
    draw = np.random.default_rng(0)
    at: dict[str, Indices] = {
        slot: draw.permutation(np.arange(MOST_ROWS) % size) for slot, size in zip(slots, sizes, strict=True)
    }
    return RowSelection(at, MOST_ROWS)


def combinations(block: ResolvedBlock, slots: Sequence[str]) -> Iterator[dict[str, Word]]:
    """Yield the words of each of these combinations, by slot."""
    picked = pick_rows(block, slots)
    columns = [picked.at[slot].tolist() for slot in slots]
    for row in range(picked.n):
        yield {slot: block.slots[slot][column[row]] for slot, column in zip(slots, columns, strict=True)}


def render_segment(
    block: ResolvedBlock, role: str, segment: Segment, chosen: Mapping[str, Word]
) -> tuple[str, str] | None:
    """Return the article that a segment prints in a role, and the text after it; None where rendering fails (E105).

    `chosen` gives the words of the slots on which the segment depends.
    """
    names = block.names(role)
    values = {name: bound if isinstance(bound := names[name], Word) else chosen[bound] for name in segment.reads}
    try:
        text, article = segment.render(values)
    except (jinja2.TemplateError, TypeError):
        return None
    return text[:article], text[article:]


def printable_names(block: ResolvedBlock) -> frozenset[str]:
    """Return the names that the frames of a block may print: of its slots, and of what its roles bind."""
    return frozenset(name for role in block.roles for name in block.names(role))
