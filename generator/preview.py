"""A sample of a config's rows, made alone, as pieces that say which slot they come from and what was guessed."""

import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from senseprobe.generator.config import Config, ResolvedBlock
from senseprobe.generator.dataset import ResolvedDataset
from senseprobe.generator.english import English
from senseprobe.generator.expand import expand
from senseprobe.generator.product import RowSelection
from senseprobe.generator.segments import Segment
from senseprobe.generator.word_lists import Word


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a sentence.

    `slot` is the slot whose word it prints, or the binding where that is always the same word; joined by ``+`` where
    there are several, and None for what the frame itself says, and for articles. `guessed` says that it is an article,
    or holds a plural or a verb form, which no list states.
    """

    text: str
    slot: str | None
    guessed: bool


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """A row: its number from 0, its id, and its sentences by role; `left_out` where a verdict leaves it out."""

    row: int
    id: str
    sentences: Mapping[str, tuple[Piece, ...]]
    left_out: bool = False


def preview(catalogue: ResolvedDataset, config: Config, n: int, seed: int) -> Iterator[PreviewRow]:
    """`n` rows of a config (all, where it has no more), drawn with a seed, in order of their numbers.

    Only these rows are made, among them those that verdicts leave out. Raises DeclarationError where a frame cannot be
    rendered.
    """
    out = {*catalogue.excluded_rows(config).numbers}
    for number in _drawn(config.size, n, seed):
        yield replace(_shown(catalogue, _alone(config, number), number), left_out=number in out)


def _drawn(size: int, n: int, seed: int) -> list[int]:
    """Numbers of `n` rows, sorted."""
    if n >= size:
        return [*range(size)]
    source = random.Random(seed)  # noqa: S311 - the same rows for everybody, not secret ones
    if size <= sys.maxsize:
        return sorted(source.sample(range(size), n))
    drawn: set[int] = set()
    while len(drawn) < n:  # a range of this length is no sequence to Python
        drawn.add(source.randrange(size))
    return sorted(drawn)


def _alone(config: Config, number: int) -> Config:
    """A config of one row: the one with this number."""
    for block in config.blocks:
        for frame in block.frames:
            if number < block.product:
                at = RowSelection.rows(block, number, number + 1).at
                slots = {slot: (words[int(at[slot][0])],) for slot, words in block.slots.items()}
                return replace(config, blocks=(replace(block, slots=slots, frames=(replace(frame, rendered={}),)),))
            number -= block.product
    raise IndexError(number)


def _shown(catalogue: ResolvedDataset, alone: Config, number: int) -> PreviewRow:
    (row,) = next(expand(alone, catalogue.lists)).to_pylist()
    block = alone.blocks[0]
    made = {role: tuple(_pieces(catalogue.english, block, role)) for role in block.roles}
    # Where labels are swapped, a role's sentence is the one that the other role's bindings made.
    sentences = {role: next(pieces for pieces in made.values() if _text(pieces) == row[role]) for role in made}
    return PreviewRow(number, row["id"], sentences)


def _text(pieces: tuple[Piece, ...]) -> str:
    return "".join(piece.text for piece in pieces)


def _pieces(english: English, block: ResolvedBlock, role: str) -> Iterator[Piece]:
    bound = {name: b if isinstance(b, Word) else block.slots[b][0] for name, b in block.names(role).items()}
    for segment in block.frames[0].compiled.segments:
        (text, article), asked = _rendered(english, segment, bound)
        if article:
            yield Piece(text[:article], None, guessed="a" in asked)
        yield Piece(text[article:], _slot(block, role, segment), guessed=bool(asked - {"a"}))


def _rendered(english: English, segment: Segment, bound: Mapping[str, Word]) -> tuple[tuple[str, int], set[str]]:
    """The text of a segment, the length of its article, and the kinds of guesses that it needed."""
    before = dict(english.guesses)
    english.guesses.clear()  # what has been guessed once is not noted again
    made = segment.render({name: bound[name] for name in segment.reads})
    asked = {kind for kind, _ in english.guesses}
    english.guesses.update(before)
    return made, asked


def _slot(block: ResolvedBlock, role: str, segment: Segment) -> str | None:
    names = block.names(role)
    found = {name if isinstance(names[name], Word) else str(names[name]) for name in segment.prints}
    order = [*block.slots, *block.roles[role]]
    return "+".join(sorted(found, key=order.index)) or None
