"""What several checks need: places in a frame, what its segments say, and the rows whose labels count."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import jinja2
import numpy as np

from senseprobe.errors import DeclarationError
from senseprobe.generator.checks.registry import Subject
from senseprobe.generator.config import Config, ResolvedBlock, ResolvedFrame
from senseprobe.generator.kinds import KINDS
from senseprobe.generator.kinds.contrast import ContrastFront
from senseprobe.generator.product import Indices, RowSelection, digits
from senseprobe.generator.render import FrameRows
from senseprobe.generator.segments import Segment
from senseprobe.generator.word_lists import Word
from senseprobe.records import Finding

MOST_ROWS = 5_000
"""Combinations of words that a check looks at; of more, it looks at so many that hold each word."""


@dataclass(frozen=True, slots=True)
class Row:
    """What the label of a row says: its words by slot, the target's word, and the words that differ, by role."""

    words: tuple[str, ...]
    target: str | None
    stereo: str
    anti: str


def finding(config: Config, place: tuple[int, int], code: str, message: str, hint: str = "") -> Finding:
    """A finding at a line and column of a config's template."""
    line, column = place
    return Finding(path=config.template.display_path, line=line, column=column, code=code, message=message, hint=hint)


def some(words: Sequence[str], most: int = 3) -> str:
    """The first words in quotation marks, and how many more there are.

    >>> some(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(str(word)) for word in words[:most])
    return f"{shown} and {len(words) - most} more" if len(words) > most else shown


# ---- Places ----

TAG = re.compile(r"\{(?:\{[^{}]*\}|%[-+]?\s*(?P<word>\w++)[^{}]*%)\}")
"""An output or a statement of a frame. Braces end the search, which would else go on to the end from every brace."""


def masked(source: str, mark: str) -> str:
    """A frame with marks in the place of its tags, so that places stay what they are."""
    return TAG.sub(lambda tag: mark * len(tag[0]), source)


def columns_of(frame: ResolvedFrame) -> tuple[int, ...]:
    """The column of the line, from 1, at which each segment begins."""
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


# ---- Words ----


def spread(block: ResolvedBlock, slots: Sequence[str]) -> RowSelection:
    """All combinations of the words of these slots, or MOST_ROWS of them."""
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
    """The words of each of these combinations by slot."""
    picked = spread(block, slots)
    columns = [picked.at[slot].tolist() for slot in slots]
    for row in range(picked.n):
        yield {slot: block.slots[slot][column[row]] for slot, column in zip(slots, columns, strict=True)}


def said(block: ResolvedBlock, role: str, segment: Segment, chosen: Mapping[str, Word]) -> tuple[str, str] | None:
    """The article that a segment prints in a role, and the text after it; None where it cannot be rendered.

    `chosen` gives the words of the slots on which the segment depends.
    """
    names = block.names(role)
    values = {name: bound if isinstance(bound := names[name], Word) else chosen[bound] for name in segment.reads}
    try:
        text, article = segment.render(values)
    except (jinja2.TemplateError, TypeError):
        return None  # which is a finding of its own, E105
    return text[:article], text[article:]


# ---- Labels ----


def labelled(subject: Subject) -> Iterator[tuple[ResolvedBlock, list[Row]]]:
    """Each block of a contrast whose pairs have labels, with rows of its first frame: labels are the same in all.

    Contested rows are left out.
    """
    for block in subject.config.blocks:
        front = block.block.front
        if isinstance(front, ContrastFront) and front.label_basis != "none":
            if id(block) not in subject.labelled:
                subject.labelled[id(block)] = _rows(subject, block)
            yield block, subject.labelled[id(block)]


def _rows(subject: Subject, block: ResolvedBlock) -> list[Row]:
    rows, picked = FrameRows(subject.config, block, block.frames[0]), spread(block, tuple(block.slots))
    try:
        made = KINDS[subject.config.kind].columns(rows, picked, subject.lists)
    except DeclarationError:
        return []  # a sentence that cannot be made is a finding of its own, E105
    words = zip(*(rows.words(slot, picked).to_pylist() for slot in block.slots), strict=True)
    names = ("target", "stereo_value", "anti_value", "contested")
    columns = zip(words, *(made[name].to_pylist() for name in names), strict=True)
    return [Row(key, target, stereo, anti) for key, target, stereo, anti, contested in columns if not contested]
