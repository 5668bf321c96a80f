"""A sample of a config's rows, as pieces that name the slot they come from and whether they were guessed."""

import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from senseprobe.generator.config import Config, ResolvedBlock
from senseprobe.generator.dataset import ResolvedDataset
from senseprobe.generator.english import English
from senseprobe.generator.expand import expand
from senseprobe.generator.product import RowSelection
from senseprobe.generator.senses import WordSense, find_senses, open_glosses
from senseprobe.generator.word_lists import Word
from senseprobe.release.kinds import KINDS


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a sentence.

    `slot` is the slot whose word it prints, or the binding where that is always the same word; several are joined by
    ``+``; it is None for the frame's own text and for articles. `guessed` is true for an article, a plural or a verb
    form that no list states.
    """

    text: str
    slot: str | None
    guessed: bool


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """A row: its number from 0, its id, sentences by role, and senses; `left_out` where a verdict leaves it out.

    Of rows that are put together of several lines, `cells` are the other columns that readers need, by name.
    """

    row: int
    id: str
    sentences: Mapping[str, tuple[Piece, ...]]
    left_out: bool = False
    senses: tuple[WordSense, ...] = ()
    cells: Mapping[str, str] = field(default_factory=dict)


def preview(dataset: ResolvedDataset, config: Config, n: int, seed: int) -> Iterator[PreviewRow]:
    """Yield `n` rows of a config (all, where it has fewer), sampled with a seed, in order; no other row is made."""
    excluded, gloss = {*dataset.excluded_rows(config).numbers}, open_glosses()
    for number in _sample_numbers(config.size, n, seed):
        single = _single_row(config, number)
        (row,) = next(expand(single, dataset.lists)).to_pylist()
        block = single.blocks[0]
        rendered = [tuple(_pieces(dataset.english, block, role)) for role in block.roles]
        by_text = {"".join(piece.text for piece in pieces): pieces for pieces in reversed(rendered)}
        # Where labels are swapped, a role's sentence is the one that the other role's bindings made. A kind of a
        # plug-in may put a sentence into a column of another name.
        sentences = {role: by_text.get(row.get(role), text) for role, text in zip(block.roles, rendered, strict=True)}
        senses = tuple(find_senses(single, dataset.lists, gloss))
        printed = "\n".join("".join(piece.text for piece in pieces) for pieces in sentences.values())
        names = KINDS[config.kind].readable if block.written else ()
        cells = {name: str(row[name]) for name in names if str(row[name]) not in printed}
        yield PreviewRow(number, row["id"], sentences, left_out=number in excluded, senses=senses, cells=cells)


def _sample_numbers(size: int, n: int, seed: int) -> list[int]:
    if n >= size:
        return [*range(size)]
    source = random.Random(seed)  # noqa: S311 - the same rows for everybody, not secret ones
    if size <= sys.maxsize:
        return sorted(source.sample(range(size), n))
    numbers: set[int] = set()
    while len(numbers) < n:  # Python cannot sample a range of this length
        numbers.add(source.randrange(size))
    return sorted(numbers)


def _single_row(config: Config, number: int) -> Config:
    for block in config.blocks:
        for frame in block.frames:
            if number < block.product:
                at = RowSelection.rows(block, number, number + 1).at
                slots = {slot: (words[int(at[slot][0])],) for slot, words in block.slots.items()}
                return replace(config, blocks=(replace(block, slots=slots, frames=(replace(frame, rendered={}),)),))
            number -= block.product
    raise IndexError(number)


def _pieces(english: English, block: ResolvedBlock, role: str) -> Iterator[Piece]:
    names = block.names(role)
    words = {name: bound if isinstance(bound, Word) else block.slots[bound][0] for name, bound in names.items()}
    order = [*block.slots, *block.roles[role]]
    for segment in block.frames[0].compiled.segments:
        recorded = dict(english.guesses)
        english.guesses.clear()  # a guess is recorded only the first time
        text, article = segment.render({name: words[name] for name in segment.reads})
        guessed = {kind for kind, _ in english.guesses}
        english.guesses.update(recorded)
        if article:
            yield Piece(text[:article], None, guessed="a" in guessed)
        slots = {name if isinstance(names[name], Word) else str(names[name]) for name in segment.prints}
        slot = "+".join(sorted(slots, key=order.index)) or None
        yield Piece(text[article:], slot, guessed=bool(guessed - {"a"}))
