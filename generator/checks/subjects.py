"""What checks look at: a config, a dataset or a folder of word lists; and how a finding in one of them is made.

A config is rendered once for all checks, in rows that show everything that each segment of a frame can print.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from senseprobe.generator import yaml_source
from senseprobe.generator.config import Config, ResolvedBlock, ResolvedFrame
from senseprobe.generator.english import English
from senseprobe.generator.product import Indices, RowSelection, digits
from senseprobe.generator.render import FrameRows, Side
from senseprobe.generator.schema import Dataset, Frame
from senseprobe.generator.segments import MAX_SENTENCE
from senseprobe.generator.word_lists import DESCRIPTOR, Cells, Word, WordList, WordLists
from senseprobe.records import Finding

MOST_COMBINATIONS = 20_000
"""Combinations of words that are tried of one segment; of more, so many that each word is among them."""

Position = tuple[int, int]
"""A line and a column, both from 1."""


@dataclass(frozen=True, slots=True)
class ConfigSubject:
    """A config in its dataset, with the lists that it sees; `english` answers checks, not frames."""

    dataset: Dataset
    config: Config
    lists: WordLists
    english: English = field(default_factory=English)
    labelled: dict[int, Any] = field(default_factory=dict)
    """By the id of a block its rows with labels, which `labels.labelled_rows` makes once for several checks."""
    _sides: dict[tuple[int, int, str], Side] = field(default_factory=dict)

    @property
    def is_english(self) -> bool:
        """Return whether the dataset declares that its sentences are English: en, en-GB."""
        return any(language.lower().partition("-")[0] == "en" for language in self.dataset.card.languages)

    def frames(self) -> Iterator[tuple[ResolvedBlock, ResolvedFrame]]:
        """Yield every frame with its block."""
        yield from ((block, frame) for block in self.config.blocks for frame in block.frames)

    def sources(self) -> dict[Frame, None]:
        """Return the frames as they are written, each once, though several blocks may have it."""
        return dict.fromkeys(frame for block in self.config.template.blocks for frame in block.frames)

    def side(self, block: ResolvedBlock, frame: ResolvedFrame, role: str) -> Side:
        """Return sentences of a role in which each segment of the frame prints everything that it can.

        There are as many as the segments have combinations of words, whatever the product of all slots. Raises
        DeclarationError where one cannot be rendered or is too long.
        """
        key = id(block), id(frame), role
        if key not in self._sides:
            rows, picked = FrameRows(self.config, block, frame), _covering_rows(block, frame, role)
            side = self._sides[key] = rows.side(role, picked)
            if sum(int(piece.lengths.max()) for piece in side.pieces) > MAX_SENTENCE:
                rows.side(role, _longest_row(rows, role, picked, side))  # raises E108 where it is too long
        return self._sides[key]

    def finding(self, position: Position, code: str, message: str, hint: str = "") -> Finding:
        """Return a finding at a position of the config's template."""
        line, column = position
        return Finding(
            path=self.config.template.display_path, line=line, column=column, code=code, message=message, hint=hint
        )


@dataclass(frozen=True, slots=True)
class DatasetSubject:
    """A dataset, with the lists that it sees."""

    dataset: Dataset
    lists: WordLists


@dataclass(frozen=True, slots=True)
class FolderSubject:
    """A folder of word lists; `declared` are the files that its descriptor names, as messages print them."""

    path: Path
    declared: frozenset[str]


def _covering_rows(block: ResolvedBlock, frame: ResolvedFrame, role: str) -> RowSelection:
    """Pick rows with all that each segment can print; a slot that a segment does not read keeps its first word."""
    reads = dict.fromkeys(block.reads(role, segment.reads) for segment in frame.compiled.segments)
    parts = [_combinations(block, slots) for slots in reads if slots] or [({}, 1)]
    n = sum(length for _, length in parts)
    at: dict[str, Indices] = {slot: np.zeros(n, dtype=np.int64) for slot in block.slots}
    start = 0
    for columns, length in parts:
        for slot, indices in columns.items():
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
    """Pick a row in which the segments, the longest first, print their longest text, as far as they share words."""
    at: dict[str, Indices] = {}
    pieces = zip(side.pieces, rows.frame.compiled.segments, strict=True)
    for piece, segment in sorted(pieces, key=lambda pair: -int(pair[0].lengths.max())):
        row = int(piece.lengths.argmax())
        for slot in rows.block.reads(role, segment.reads):
            at.setdefault(slot, picked.at[slot][row : row + 1])
    return RowSelection({slot: at.get(slot, np.zeros(1, dtype=np.int64)) for slot in rows.block.slots}, 1)


# ---- Findings ----


def cell_finding(cells: Cells, word: Word, field_name: str, code: str, message: str, hint: str, at: int = 0) -> Finding:
    """Return a finding in the cell of a list that a word has in a field, `at` characters after its beginning."""
    column = cells.column(word, field_name) + at
    return Finding(path=cells.words.display_path, line=word.line, column=column, code=code, message=message, hint=hint)


def yaml_position(path: Path, *location: str | int) -> Position:
    """Return where a key of a YAML or JSON file stands, or what is nearest to it where it is not there."""
    return yaml_source.locate([yaml_source.read_mapping(path)], location)


def resource_position(words: WordList, *location: str | int) -> Position:
    """Return where a key of a list's resource stands in `datapackage.yaml`."""
    path = words.path.with_name(DESCRIPTOR)
    data = yaml_source.read_mapping(path)
    number = [resource["name"] for resource in data["resources"]].index(words.resource.name)
    return yaml_source.locate([data], ("resources", number, *location))


def first_words(words: Sequence[str], most: int = 3) -> str:
    """Return the first words in quotation marks, and how many more there are.

    >>> first_words(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    text = ", ".join(repr(str(word)) for word in words[:most])
    return f"{text} and {len(words) - most} more" if len(words) > most else text
