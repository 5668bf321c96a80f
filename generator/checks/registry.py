"""Everything that a frame's segments can say: a row fails where one of its segments does, or where it is too long.

The checks of `senseprobe lint`, by their codes: a function for each, whose docstring says what is wrong and why.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from senseprobe.generator.config import Config, ResolvedBlock, ResolvedFrame
from senseprobe.generator.english import English
from senseprobe.generator.product import Indices, RowSelection, digits
from senseprobe.generator.render import FrameRows, Side
from senseprobe.generator.schema import Dataset
from senseprobe.generator.segments import MAX_SENTENCE
from senseprobe.generator.word_lists import WordList, WordLists
from senseprobe.records import Finding

MOST_COMBINATIONS = 20_000
"""Combinations of words that are tried of one segment; of more, so many that each word is among them."""


def too_long(rows: FrameRows, role: str, side: Side, picked: RowSelection) -> None:
    """DeclarationError (E108) where the longest sentence is; `side` is that of the rows that `covering` picked."""
    if sum(int(piece.lengths.max()) for piece in side.pieces) > MAX_SENTENCE:
        rows.side(role, _longest_row(rows, role, picked, side))


def covering(block: ResolvedBlock, frame: ResolvedFrame, role: str) -> RowSelection:
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
    return RowSelection(at, n)


def _combinations(block: ResolvedBlock, slots: tuple[str, ...]) -> tuple[dict[str, Indices], int]:
    sizes = [len(block.slots[slot]) for slot in slots]
    if prod(sizes) <= MOST_COMBINATIONS:
        n = prod(sizes)
        return digits(np.arange(n), slots, sizes), n
    n = max(MOST_COMBINATIONS, *sizes)
    return {slot: np.arange(n) % size for slot, size in zip(slots, sizes, strict=True)}, n


def _longest_row(rows: FrameRows, role: str, picked: RowSelection, side: Side) -> RowSelection:
    """A row in which the segments, the longest first, say the longest that they can, as far as they agree on words."""
    at: dict[str, Indices] = {}
    found = zip(side.pieces, rows.frame.compiled.segments, strict=True)
    for piece, segment in sorted(found, key=lambda each: -int(each[0].lengths.max())):
        row = int(piece.lengths.argmax())
        for slot in rows.block.reads(role, segment.reads):
            at.setdefault(slot, picked.at[slot][row : row + 1])
    return RowSelection({slot: at.get(slot, np.zeros(1, dtype=np.int64)) for slot in rows.block.slots}, 1)


Kind = Literal["folder", "list", "config", "dataset"]


@dataclass(frozen=True, slots=True)
class Subject:
    """A config in its dataset, with the lists that it sees; `english` answers what a check asks, not what frames do."""

    dataset: Dataset
    config: Config
    lists: WordLists
    english: English = field(default_factory=English)
    labelled: dict[int, Any] = field(default_factory=dict)
    """By block the rows that several checks of labels read; `reading.labelled` makes them when first asked."""
    _sides: dict[tuple[int, int, str], Side] = field(default_factory=dict)

    def side(self, block: ResolvedBlock, frame: ResolvedFrame, role: str) -> Side:
        """Sentences of a role in which each segment of the frame says all that it can; `covering` says which rows.

        Raises DeclarationError where one cannot be made.
        """
        key = id(block), id(frame), role
        if key not in self._sides:
            rows, picked = FrameRows(self.config, block, frame), covering(block, frame, role)
            self._sides[key] = rows.side(role, picked)
            too_long(rows, role, self._sides[key], picked)
        return self._sides[key]


@dataclass(frozen=True, slots=True)
class Published:
    """A dataset, with the lists that it sees."""

    dataset: Dataset
    lists: WordLists


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of word lists; `declared` are the files that its descriptor names, as messages show them."""

    path: Path
    declared: frozenset[str]


FolderCheck = Callable[[Folder], Iterator[Finding]]
ListCheck = Callable[[WordList], Iterator[Finding]]
ConfigCheck = Callable[[Subject], Iterator[Finding]]
DatasetCheck = Callable[[Published], Iterator[Finding]]
RunT = TypeVar("RunT", bound=Callable[..., Iterator[Finding]])


@dataclass(frozen=True, slots=True)
class Check:
    """A code, and the function that finds it; its docstring is what the page of codes says.

    `lexicon` names the lexicon without which the check cannot run.
    """

    code: str
    on: Kind
    run: Callable[..., Iterator[Finding]]
    lexicon: str = ""


_CHECKS: dict[tuple[str, Kind], Check] = {}


def _register(code: str, on: Kind, lexicon: str = "") -> Callable[[RunT], RunT]:
    def decorate(run: RunT) -> RunT:
        if (code, on) in _CHECKS:
            raise ValueError(f"two checks with code {code}")
        _CHECKS[code, on] = Check(code, on, run, lexicon)
        return run

    return decorate


def on_folder(code: str) -> Callable[[FolderCheck], FolderCheck]:
    """Register a check of a folder of word lists."""
    return _register(code, "folder")


def on_list(code: str, lexicon: str = "") -> Callable[[ListCheck], ListCheck]:
    """Register a check of a word list; one that needs a lexicon is not run without it, and remembered by its list."""
    return _register(code, "list", lexicon)


def on_config(code: str, lexicon: str = "") -> Callable[[ConfigCheck], ConfigCheck]:
    """Register a check of a config; one that needs a lexicon is not run without it, and remembered by what it reads."""
    return _register(code, "config", lexicon)


def on_dataset(code: str) -> Callable[[DatasetCheck], DatasetCheck]:
    """Register a check of `dataset.yaml`."""
    return _register(code, "dataset")


def checks(on: Kind | None = None) -> Iterator[Check]:
    """The checks of one kind of subject, or all, by code."""
    yield from (check for _, check in sorted(_CHECKS.items()) if on in (None, check.on))
