"""Holds what front matter refers to (slots, columns, bindings, labels) against what there is."""

from dataclasses import dataclass

from senseprobe.generator.blocks import ResolvedBlock, reference
from senseprobe.generator.declarations import AssociationFront, Condition, ContrastFront, InferenceFront
from senseprobe.generator.segments import Mistake
from senseprobe.generator.templates import Block, Frame, Template
from senseprobe.records import Finding
from senseprobe.release.schema import KINDS, row_schema
from senseprobe.wording import nearest

_JINJA = frozenset({"and", "elif", "else", "false", "if", "in", "is", "none", "not", "or", "self", "true"})
_RESERVED = {kind: frozenset(row_schema(kind, ()).names) | {"stereo_score", "anti_score"} for kind in KINDS}
_GOLD = ("entailment", "neutral", "contradiction")
_SETS = ("X", "Y", "A", "B")

Location = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Complaints:
    """Where the mistakes of a block go; `findings` is shared by the blocks of a file."""

    template: Template
    block: Block
    findings: list[Finding]

    def find(self, location: Location, code: str, message: str, hint: str = "") -> None:
        """A mistake at a key of the front matter."""
        line, column = self.block.place(*location)
        self._add(line, column, code, message, hint)

    def find_in(self, frame: Frame, mistake: Mistake) -> None:
        """A mistake in a frame."""
        self._add(frame.line, frame.column + mistake.column - 1, mistake.code, str(mistake), mistake.hint)

    def _add(self, line: int, column: int, code: str, message: str, hint: str) -> None:
        path = self.template.shown
        self.findings.append(Finding(path=path, line=line, column=column, code=code, message=message, hint=hint))


def check_names(complaints: Complaints) -> None:
    """Whether roles, slots, bindings and columns have names that they may have."""
    front, find = complaints.block.front, complaints.find
    _check_roles(complaints)
    reserved = _RESERVED[front.kind]
    for name in front.slots:
        if name in reserved:
            find(("slots", name), "E102", f"{name!r} cannot be the name of a slot", "rows have a column of it")
        elif not _is_name(name) or name in _JINJA:
            find(("slots", name), "E102", f"{name!r} cannot be the name of a slot", "letters of ASCII, digits and _")
    for role, bindings in front.roles.items():
        for name in bindings:
            if name in front.slots:
                find(("roles", role, name), "E102", f"{name!r} is a slot already", "give the binding a name")
            elif not _is_name(name) or name in {"frame", *_JINJA}:
                find(("roles", role, name), "E102", f"{name!r} cannot be the name of a binding")
    for name in front.columns:
        if name in reserved or name in front.slots or not _is_name(name):
            hint = "letters of ASCII, digits and _, and no column that rows have already"
            find(("columns", name), "E102", f"{name!r} cannot be the name of a column", hint)


def _is_name(name: str) -> bool:
    """Python takes some letters for others, as one ligature for two letters: names keep to those that it does not."""
    return name.isidentifier() and name.isascii()


def _check_roles(complaints: Complaints) -> None:
    front = complaints.block.front
    if isinstance(front, AssociationFront):
        return
    expected = ("stereo", "anti") if isinstance(front, ContrastFront) else ("premise", "hypothesis")
    bindings = {frozenset(names) for names in front.roles.values()}
    if set(front.roles) != set(expected) or len(bindings) != 1 or not all(front.roles.values()):
        message = "roles are `{}` and `{}`, with the same bindings in both, one at least".format(*expected)
        complaints.find(("roles",), "E102", message)


def check_references(complaints: Complaints, draft: ResolvedBlock) -> None:
    """Whether every slot, column and binding that front matter names is there, and every label is one."""
    front, find = complaints.block.front, complaints.find
    known = {*front.slots, *next(iter(front.roles.values()))}
    for number, name in enumerate(front.generalise):
        if name in front.generalise[:number]:
            find(("generalise", number), "E102", f"{name!r} is there twice")
        if name not in known | {"frame"}:
            find(("generalise", number), "E105", f"no slot or binding {name!r}", nearest(name, known))
    if front.target is not None and front.target not in known:
        find(("target",), "E105", f"no slot or binding {front.target!r}", nearest(front.target, known))
    if front.target is None and not (isinstance(front, ContrastFront) and front.unmarked):
        find(("target",), "E112", "only an unmarked block has no target")
    check = _References(complaints, draft)
    for name, text in front.columns.items():
        check.column_of(text, ("columns", name))
    match front:
        case ContrastFront():
            check.contrast(front)
        case InferenceFront():
            check.gold(front.gold)
        case AssociationFront():
            check.association(front)


@dataclass(frozen=True, slots=True)
class _References:
    complaints: Complaints
    draft: ResolvedBlock

    def contrast(self, front: ContrastFront) -> None:
        for key, text in (("valence", front.valence), ("stereotype", front.stereotype)):
            if text is not None:
                self.column_of(text, (key,))
        for key, text in (("key", front.sense.key), ("token", front.sense.token)):
            if text is not None and reference(text, self.draft.slots):
                self.column_of(text, ("sense", key))
            elif text is not None and front.sense.lexicon is None:
                hint = "lexicon: wordnet-3.0"
                self.complaints.find(("sense", key), "E113", "a literal sense key needs `lexicon`", hint)
        for key, conditions in (("flip", front.flip), ("contested", front.contested)):
            for number, condition in enumerate(conditions):
                self._condition(condition, (key, number))

    def gold(self, text: str) -> None:
        if reference(text, self.draft.slots):
            self._values(text, ("gold",), _GOLD)
        elif text not in _GOLD:
            self.complaints.find(("gold",), "E105", f"gold is {text!r}", f"one of {', '.join(_GOLD)}, or slot.column")

    def association(self, front: AssociationFront) -> None:
        for key, text in (("test", front.test), ("word", front.word), ("word_class", front.word_class)):
            self.column_of(text, (key,))
        self._values(front.role, ("role",), _SETS)

    def column_of(self, text: str, location: Location) -> bool:
        """Whether `text` is a reference to a column that there is."""
        found = reference(text, self.draft.slots)
        if found is None:
            hint = nearest(text.partition(".")[0], self.draft.slots)
            self.complaints.find(location, "E105", f"{text!r} is no slot.column", hint)
            return False
        return self._column(*found, location)

    def _values(self, text: str, location: Location, allowed: tuple[str, ...]) -> None:
        """Whether every cell of a column is one of the values allowed."""
        found = reference(text, self.draft.slots)
        if self.column_of(text, location) and found:
            cells = {str(word.columns[found[1]]) for word in self.draft.slots[found[0]]}
            for value in sorted(cells - {*allowed}):
                self.complaints.find(location, "E102", f"{text} holds {value!r}", f"one of {', '.join(allowed)}")

    def _column(self, slot: str, column: str, location: Location) -> bool:
        columns = self.draft.slots[slot][0].columns
        if column not in columns:
            self.complaints.find(location, "E104", f"{slot} has no column {column!r}", nearest(column, columns))
        return column in columns

    def _condition(self, condition: Condition, location: Location) -> None:
        for key in condition:
            slot, _, column = key.partition(".")
            if slot not in self.draft.slots:
                self.complaints.find((*location, key), "E105", f"no slot {slot!r}", nearest(slot, self.draft.slots))
            else:
                self._column(slot, column or "word", (*location, key))
