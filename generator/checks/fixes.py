"""Mends what is certain: makes the edits that findings carry, and says what changed."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from senseprobe.atomic_files import write_whole
from senseprobe.records import Edit, Finding

BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Change:
    """A file, named as findings name it, before and after its edits."""

    path: str
    before: str
    after: str

    @property
    def diff(self) -> str:
        """The change as a unified diff, without a line of context: its hunks say which lines they are of."""
        before, after = (text.replace("\r", "").splitlines(keepends=True) for text in (self.before, self.after))
        return "".join(unified_diff(before, after, self.path, self.path, n=0))


def make_edits(findings: Iterable[Finding], root: Path) -> list[Change]:
    """Write the edits of findings into the files below `root`, and return the files that changed. Raises OSError."""
    edits: defaultdict[str, set[Edit]] = defaultdict(set)
    for finding in findings:
        if finding.fix is not None and Path(finding.path).resolve().is_relative_to(root.resolve()):
            edits[finding.path].add(finding.fix)
    changes = []
    for path, file_edits in sorted(edits.items()):
        before = Path(path).read_bytes().decode()
        after = edited(before, file_edits)
        if after != before:
            write_whole(Path(path), after.encode())
            changes.append(Change(path, before, after))
    return changes


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with edits; one whose place has other text by now is left out.

    >>> edited("{ a } b", [Edit(line=1, column=1, was="{ a }", now="{{ a }}")])
    '{{ a }} b'
    """
    mark = BOM if text.startswith(BOM) else ""
    lines = text.removeprefix(BOM).split("\n")
    for edit in sorted(edits, key=lambda edit: (edit.line, edit.column), reverse=True):
        line, start = lines[edit.line - 1], edit.column - 1
        if line.startswith(edit.was, start):
            lines[edit.line - 1] = line[:start] + edit.now + line[start + len(edit.was) :]
    return mark + "\n".join(lines)
