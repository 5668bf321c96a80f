"""Checks what front matter refers to (slots, columns, labels) against the words that there are."""

from dataclasses import dataclass

from senseprobe.generator.config import ResolvedBlock, reference
from senseprobe.generator.schema import Block, Condition, Frame, Template
from senseprobe.generator.segments import FrameError
from senseprobe.messages import nearest
from senseprobe.records import Finding

Location = tuple[str | int, ...]
"""The keys that lead to a value of the front matter."""


@dataclass(frozen=True, slots=True)
class FindingCollector:
    """Collects the mistakes of a block; `findings` is shared by the blocks of a file."""

    template: Template
    block: Block
    findings: list[Finding]

    def add(self, location: Location, code: str, message: str, hint: str = "") -> None:
        """Add a mistake at a key of the front matter."""
        line, column = self.block.locate(*location)
        self._add(line, column, code, message, hint)

    def add_in_frame(self, frame: Frame, error: FrameError) -> None:
        """Add a mistake in a frame."""
        self._add(frame.line, frame.column + error.column - 1, error.code, str(error), error.hint)

    def _add(self, line: int, column: int, code: str, message: str, hint: str) -> None:
        path = self.template.display_path
        self.findings.append(Finding(path=path, line=line, column=column, code=code, message=message, hint=hint))


@dataclass(frozen=True, slots=True)
class ReferenceChecker:
    """Checks the references of one block; `draft` has its slots and roles, and no frames yet."""

    collector: FindingCollector
    draft: ResolvedBlock

    def check_column(self, text: str, location: Location) -> bool:
        """Return whether `text` refers to a column that exists; add a finding where it does not."""
        parts = reference(text, self.draft.slots)
        if parts is None:
            hint = nearest(text.partition(".")[0], self.draft.slots)
            self.collector.add(location, "E105", f"{text!r} is not slot.column", hint)
            return False
        return self._check_column_of(*parts, location)

    def check_values(self, text: str, location: Location, allowed: tuple[str, ...]) -> None:
        """Check that `text` refers to a column of which every cell is one of the values `allowed`."""
        parts = reference(text, self.draft.slots)
        if self.check_column(text, location) and parts:
            cells = {str(word.columns[parts[1]]) for word in self.draft.slots[parts[0]]}
            for value in sorted(cells - {*allowed}):
                self.collector.add(location, "E102", f"{text} holds {value!r}", f"one of {', '.join(allowed)}")

    def check_condition(self, condition: Condition, location: Location) -> None:
        """Check that the slots and columns of a condition exist."""
        for key in condition:
            slot, _, column = key.partition(".")
            if slot not in self.draft.slots:
                self.collector.add((*location, key), "E105", f"no slot {slot!r}", nearest(slot, self.draft.slots))
            else:
                self._check_column_of(slot, column or "word", (*location, key))

    def _check_column_of(self, slot: str, column: str, location: Location) -> bool:
        columns = self.draft.slots[slot][0].columns
        if column not in columns:
            self.collector.add(location, "E104", f"{slot} has no column {column!r}", nearest(column, columns))
        return column in columns
