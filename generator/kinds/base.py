"""What differs from one kind of rows to another."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa

from senseprobe.generator.config import Config, ResolvedBlock, reference
from senseprobe.generator.product import RowSelection
from senseprobe.generator.references import ReferenceChecker
from senseprobe.generator.render import FrameRows
from senseprobe.generator.schema import Front
from senseprobe.generator.word_lists import WordLists
from senseprobe.records import Design

FrontT = TypeVar("FrontT", bound=Front)


class RowKind(ABC, Generic[FrontT]):
    """A kind of rows.

    `front_type` is the form of its front matter, `own_key` a key that only this form has, and `roles` are those that it
    must bind, none where it binds nothing.
    """

    front_type: type[FrontT]
    own_key: ClassVar[str]
    roles: ClassVar[tuple[str, ...]] = ()

    def front(self, block: ResolvedBlock) -> FrontT:
        """Return the front matter of a block of this kind."""
        front = block.block.front
        assert isinstance(front, self.front_type)  # noqa: S101 - chosen by kind
        return front

    def is_likely(self, keys: Mapping[str, Any]) -> bool:
        """Return whether front matter that does not name its kind looks like this one."""
        roles = keys.get("roles")
        return self.own_key in keys or (isinstance(roles, Mapping) and any(role in roles for role in self.roles[:1]))

    @abstractmethod
    def check_references(self, front: FrontT, checker: ReferenceChecker) -> None:
        """Check that what only front matter of this kind refers to exists."""

    @abstractmethod
    def columns(self, rows: FrameRows, selection: RowSelection, lists: WordLists) -> dict[str, pa.Array]:
        """Return the columns that only rows of this kind have, for a selection of a frame's rows."""

    def complete_design(self, design: Design, config: Config) -> Design:
        """Return the design with what only rows of this kind have, as their estimands: nothing, unless overridden."""
        return design


def cell_columns(rows: FrameRows, selection: RowSelection, texts: Mapping[str, str | None]) -> dict[str, pa.Array]:
    """Return columns by name, each of a literal or of what it refers to as ``slot.column``."""
    columns: dict[str, pa.Array] = {}
    for name, text in texts.items():
        parts = reference(text, rows.block.slots)
        slots = parts[:1] if parts else ()
        columns |= rows.gather(selection, slots, lambda some, n=name, t=text: {n: rows.cell(t, some)})  # type: ignore[misc]
    return columns


def sentence_columns(rows: FrameRows, selection: RowSelection, roles: Iterable[str]) -> dict[str, pa.Array]:
    """Return the sentences of roles and the spans of the target in them, each from the slots that it reads."""
    columns: dict[str, pa.Array] = {}
    for role in roles:
        columns |= rows.gather(selection, rows.reads(role), lambda some, role=role: rows.sentence(role, some))  # type: ignore[misc]
    return columns
