"""What templates become when they are resolved: slots are words, bindings are slots or words, frames are segments."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod

from senseprobe.generator.schema import Block, Frame, Template
from senseprobe.generator.segments import CompiledFrame, Segment
from senseprobe.generator.word_lists import Word

ResolvedBinding = str | Word
"""What a name stands for in a role: the words of the slot with this name, or always the same word."""


@dataclass(frozen=True, slots=True)
class ResolvedFrame:
    """A frame, compiled; `target` is the segment that prints the block's target, None where the block has none.

    `rendered` caches the texts of segments: by segment and role (empty where all roles render alike), the text for each
    combination of the block's words, and the length of its article. With other words a frame needs an empty cache.
    """

    frame: Frame
    compiled: CompiledFrame
    target: Segment | None
    rendered: dict[tuple[int, str], dict[tuple[int, ...], tuple[str, int]]] = field(
        default_factory=dict, compare=False, repr=False
    )


@dataclass(frozen=True, slots=True)
class ResolvedBlock:
    """A block whose slots are words, in declared order.

    `written` are the lines of the template, where the kind of its rows makes other frames of these; else empty.
    """

    block: Block
    slots: Mapping[str, tuple[Word, ...]]
    roles: Mapping[str, Mapping[str, ResolvedBinding]]
    frames: tuple[ResolvedFrame, ...]
    written: tuple[ResolvedFrame, ...] = ()

    @property
    def product(self) -> int:
        """Combinations of words for one frame."""
        return prod(len(words) for words in self.slots.values())

    @property
    def size(self) -> int:
        """Rows of the block."""
        return self.product * len(self.frames)

    def names(self, role: str) -> dict[str, ResolvedBinding]:
        """Return what each name stands for in a role: bindings hide slots."""
        return {**{slot: slot for slot in self.slots}, **self.roles[role]}

    def words(self, role: str, name: str) -> tuple[Word, ...]:
        """Return every word that a name can stand for in a role."""
        bound = self.names(role)[name]
        return (bound,) if isinstance(bound, Word) else self.slots[bound]

    def reads(self, role: str, names: Iterable[str]) -> tuple[str, ...]:
        """Return the slots, in declared order, whose words the names stand for in a role."""
        bound = self.names(role)
        slots = {bound[name] for name in names if not isinstance(bound[name], Word)}
        return tuple(slot for slot in self.slots if slot in slots)


@dataclass(frozen=True, slots=True)
class Config:
    """The rows of a template, not expanded; `columns` are the types of those that it adds, `full` have no nulls."""

    name: str
    template: Template
    blocks: tuple[ResolvedBlock, ...]
    columns: Mapping[str, str]
    full: frozenset[str]

    @property
    def kind(self) -> str:
        """The kind of the rows."""
        return self.blocks[0].block.front.kind

    @property
    def size(self) -> int:
        """Rows, before verdicts."""
        return sum(block.size for block in self.blocks)


def reference(text: str | None, slots: Iterable[str]) -> tuple[str, str] | None:
    """Return the two parts of ``slot.column`` where the slot is declared; None where the text is a literal.

    >>> reference("job.gender", ["job"]), reference("a text", ["job"])
    (('job', 'gender'), None)
    """
    slot, dot, column = (text or "").partition(".")
    return (slot, column) if dot and slot in slots else None
