"""What differs from one kind of rows to another, and the check of what front matter refers to."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa

from senseprobe.generator.config import Config, ResolvedBlock, reference
from senseprobe.generator.product import RowSelection
from senseprobe.generator.render import FrameRows
from senseprobe.generator.schema import Block, Condition, Front, Template
from senseprobe.generator.word_lists import Word, WordLists
from senseprobe.messages import nearest
from senseprobe.records import Design, Edit, Finding
from senseprobe.release.kinds import KINDS

FrontT = TypeVar("FrontT", bound=Front)

Location = tuple[str | int, ...]  # the keys that lead to a value of the front matter


@dataclass(slots=True)
class ReferenceChecker:
    """Collects the mistakes of a block in `findings`, which the blocks of a file share; `slots` are its words."""

    template: Template
    block: Block
    findings: list[Finding]
    slots: Mapping[str, tuple[Word, ...]] = field(default_factory=dict)

    def add(self, location: Location, code: str, message: str, hint: str = "") -> None:
        """Add a mistake at a key of the front matter."""
        self.add_at(*self.block.locate(*location), code, message, hint)

    def add_at(self, line: int, column: int, code: str, message: str, hint: str, fix: Edit | None = None) -> None:
        """Add a mistake at a line and column of the file."""
        path = self.template.display_path
        self.findings.append(
            Finding(path=path, line=line, column=column, code=code, message=message, hint=hint, fix=fix)
        )

    def check_column(self, text: str, location: Location) -> bool:
        """Return whether `text` refers to a column that exists; add a finding where it does not."""
        if parts := reference(text, self.slots):
            return self._check_column_of(*parts, location)
        self.add(
            location,
            "E105",
            f"{text!r} does not have the form slot.column",
            nearest(text.partition(".")[0], self.slots),
        )
        return False

    def check_values(self, text: str, location: Location, allowed: tuple[str, ...]) -> None:
        """Check that `text` refers to a column of which every cell is one of the values `allowed`."""
        if self.check_column(text, location):
            slot, _, column = text.partition(".")
            for value in sorted({str(word.columns[column]) for word in self.slots[slot]} - {*allowed}):
                self.add(location, "E102", f"{text} has the value {value!r}", f"expected one of {', '.join(allowed)}")

    def check_condition(self, condition: Condition, location: Location) -> None:
        """Check that the slots and columns of a condition exist."""
        for key in condition:
            slot, _, column = key.partition(".")
            if slot in self.slots:
                self._check_column_of(slot, column or "word", (*location, key))
            else:
                self.add((*location, key), "E105", f"unknown slot {slot!r}", nearest(slot, self.slots))

    def _check_column_of(self, slot: str, column: str, location: Location) -> bool:
        columns = self.slots[slot][0].columns
        if column not in columns:
            self.add(location, "E104", f"{slot} does not have a column {column!r}", nearest(column, columns))
        return column in columns


class RowExpansion(Generic[FrontT]):
    """How rows of a kind are made of front matter.

    - `front_type`: the form of that; `distinctive_key`: a key that only this form has.
    - `roles`: the sentences of a row whose words it must bind; none: a row has one, `sentence`, which binds nothing.
    - `estimands`: the ids of the figures that a release lists, in order of print.
    - `contrasts`: the ids of those of which `contrasts` of a dataset may compare two senses.
    - `fragments`: the ids of lines that are no sentences.
    """

    front_type: type[FrontT]
    distinctive_key: ClassVar[str] = ""
    roles: ClassVar[tuple[str, ...]] = ()
    estimands: ClassVar[tuple[str, ...]] = ()
    contrasts: ClassVar[tuple[str, ...]] = ()
    fragments: ClassVar[frozenset[str]] = frozenset()

    def front(self, block: ResolvedBlock) -> FrontT:
        """Return the front matter of a block of this kind."""
        front = block.block.front
        assert isinstance(front, self.front_type)  # noqa: S101 - chosen by kind
        return front

    def is_likely(self, keys: Mapping[str, Any]) -> bool:
        """Return whether front matter that does not name its kind looks like this one."""
        roles = keys.get("roles")
        binds = isinstance(roles, Mapping) and any(role in roles for role in self.roles[:1])
        return self.distinctive_key in keys or binds

    def check_references(self, front: FrontT, checker: ReferenceChecker) -> None:
        """Check that what only front matter of this kind refers to exists: nothing, unless overridden."""

    def compose(self, block: ResolvedBlock) -> tuple[ResolvedBlock, ...]:
        """Return the blocks whose frames make rows, of one whose frames are lines of a template: itself by default.

        A kind whose rows are put together of several lines overrides it; `written` of a block keeps the lines.
        """
        return (block,)

    def unprinted(self, front: FrontT) -> Container[str]:
        """Return the slots whose words are in columns of a row without being printed by its frame: none by default."""
        return ()

    def columns(self, rows: FrameRows, selection: RowSelection, lists: WordLists) -> dict[str, pa.Array]:
        """Return the columns that only rows of this kind have, for a selection of a frame's rows.

        Unless overridden: each sentence with the span of the target, ``sentence`` and ``sentence_span``, and of each
        key of front matter that has the name of a column what it refers to, as ``slot.column``, or its text.
        """
        front = self.front(rows.block)
        names = {name for name, _, _ in KINDS[front.kind].columns}
        texts = {name: getattr(front, name) for name in type(front).model_fields if name in names}
        return rows.cells(selection, texts) | rows.sentences(selection, front.bindings)

    def complete_design(self, design: Design, config: Config) -> Design:
        """Return the design with what only rows of this kind have: their estimands, unless overridden."""
        return replace(design, estimands=self.estimands)
