"""Resolves a template against word lists: slots become words, bindings become slots or rows, frames become segments.

Everything that can be wrong with a template without expanding it is found here, all of a file at once.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

import jinja2

from senseprobe.errors import DeclarationError
from senseprobe.generator.segments import CompiledFrame, Mistake, Segment, compile_frame
from senseprobe.generator.templates import Block, Condition, Fixed, Frame, Slot, Template, Text
from senseprobe.generator.wordlists import Word, WordLists
from senseprobe.records import Finding
from senseprobe.release.schema import contrast_schema

__all__ = ["Config", "ResolvedBlock", "ResolvedFrame", "nearest", "reference", "resolve"]

_JINJA = frozenset({"and", "elif", "else", "false", "if", "in", "is", "none", "not", "or", "self", "true"})
_RESERVED = frozenset(contrast_schema(()).names) | {"stereo_score", "anti_score"}

Binding = str | Word
"""What a role puts in the place of a name: a slot's word, by the slot's name, or always the same word."""


@dataclass(frozen=True, slots=True)
class ResolvedFrame:
    """A frame, compiled; `target` is the segment that prints the block's target, None where the block has none."""

    frame: Frame
    compiled: CompiledFrame
    target: Segment | None


@dataclass(frozen=True, slots=True)
class ResolvedBlock:
    """A block whose slots are words, in declared order."""

    block: Block
    slots: Mapping[str, tuple[Word, ...]]
    roles: Mapping[str, Mapping[str, Binding]]
    frames: tuple[ResolvedFrame, ...]

    @property
    def product(self) -> int:
        """Combinations of words for one frame."""
        return prod(len(words) for words in self.slots.values())

    @property
    def size(self) -> int:
        """Rows of the block."""
        return self.product * len(self.frames)

    def names(self, role: str) -> dict[str, Binding]:
        """What each name stands for in a role: bindings hide slots."""
        return {**{slot: slot for slot in self.slots}, **self.roles[role]}


@dataclass(frozen=True, slots=True)
class Config:
    """One template file's rows, not yet expanded."""

    name: str
    template: Template
    blocks: tuple[ResolvedBlock, ...]

    @property
    def size(self) -> int:
        """Rows, before verdicts."""
        return sum(block.size for block in self.blocks)


def reference(text: str | None, slots: Iterable[str]) -> tuple[str, str] | None:
    """``slot.column`` of a declared slot as its two parts; None where the text is a literal."""
    slot, dot, column = (text or "").partition(".")
    return (slot, column) if dot and slot in slots else None


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint: the known name that is most like `name`, or all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"there is {', '.join(names[:20]) or 'none'}"


def resolve(template: Template, lists: WordLists, env: jinja2.Environment) -> Config:
    """The config of a template; DeclarationError with every mistake of the file."""
    findings: list[Finding] = []
    blocks = []
    for block in template.blocks:
        resolver = _Resolver(template, block, lists, findings)
        if resolved := resolver.block_of(env):
            blocks.append(resolved)
    order = [list(block.front.slots) for block in template.blocks]
    for block, names in zip(template.blocks, order, strict=True):
        if names != order[0]:
            findings.append(_at(template, block, ("slots",), "E102", "every block has the slots of the first one"))
    if not findings:
        findings.extend(_repeated_ids(template, blocks))
    if findings:
        raise DeclarationError(findings)
    return Config(template.config, template, tuple(blocks))


def _repeated_ids(template: Template, blocks: list[ResolvedBlock]) -> Iterator[Finding]:
    """Two frames with one code, whose slots have words in common, would give two rows one id."""
    seen: dict[str, list[tuple[int, list[set[str]]]]] = {}
    for block in blocks:
        slugs = [{word.slug for word in words} for words in block.slots.values()]
        for resolved in block.frames:
            frame, others = resolved.frame, seen.setdefault(resolved.frame.code, [])
            for line, theirs in others:
                if all(mine & other for mine, other in zip(slugs, theirs, strict=True)):
                    message = f"the frame on line {line} makes the same ids ({frame.code})"
                    yield Finding(path=template.shown, line=frame.line, column=1, code="E114", message=message)
                    break
            others.append((frame.line, slugs))


def _at(
    template: Template, block: Block, location: tuple[str | int, ...], code: str, message: str, hint: str = ""
) -> Finding:
    line, column = block.place(*location)
    return Finding(path=template.shown, line=line, column=column, code=code, message=message, hint=hint)


class _Resolver:
    """The work of resolving one block; mistakes go to `findings`."""

    def __init__(self, template: Template, block: Block, lists: WordLists, findings: list[Finding]) -> None:
        self.template, self.block, self.lists, self.findings = template, block, lists, findings
        self.front = block.front

    def block_of(self, env: jinja2.Environment) -> ResolvedBlock | None:
        """The block, or None where something that frames depend on is missing."""
        before = len(self.findings)
        slots = {name: self._slot(name, slot) for name, slot in self.front.slots.items()}
        roles = {
            role: {name: self._binding(role, name, value) for name, value in bindings.items()}
            for role, bindings in self.front.roles.items()
        }
        if (
            set(roles) != {"stereo", "anti"}
            or len({frozenset(names) for names in roles.values()}) != 1
            or not all(roles.values())
        ):
            self._find(
                ("roles",), "E102", "roles are `stereo` and `anti`, with the same bindings in both, one at least"
            )
        self._check_names()
        if len(self.findings) > before:
            return None
        resolved: dict[str, dict[str, Binding]] = {
            role: {name: bound for name, bound in names.items() if bound is not None} for role, names in roles.items()
        }
        draft = ResolvedBlock(self.block, slots, resolved, ())
        self._check_front(draft)
        frames = tuple(frame for source in self.block.frames if (frame := self._frame(draft, source, env)))
        return ResolvedBlock(self.block, slots, resolved, frames)

    def _find(self, location: tuple[str | int, ...], code: str, message: str, hint: str = "") -> None:
        self.findings.append(_at(self.template, self.block, location, code, message, hint))

    def _check_names(self) -> None:
        for name in self.front.slots:
            if name in _RESERVED:
                self._find(
                    ("slots", name), "E102", f"{name!r} cannot be the name of a slot", "rows have a column of it"
                )
            elif not name.isidentifier() or name in _JINJA:
                self._find(("slots", name), "E102", f"{name!r} cannot be the name of a slot", "letters, digits and _")
        for role, bindings in self.front.roles.items():
            for name in bindings:
                if name in self.front.slots:
                    self._find(("roles", role, name), "E102", f"{name!r} is a slot already", "give the binding a name")
                elif not name.isidentifier() or name in {"frame", *_JINJA}:
                    self._find(("roles", role, name), "E102", f"{name!r} cannot be the name of a binding")

    def _words(self, name: str, location: tuple[str | int, ...]) -> tuple[Word, ...]:
        found = self.lists.get(name)
        if found is None:
            self._find(location, "E110", f"no word list {name!r}", nearest(name, self.lists.names()))
        elif not found.words:
            self._find(location, "E111", f"{name} has no words")
        return found.words if found else ()

    def _slot(self, name: str, slot: Slot) -> tuple[Word, ...]:
        location: tuple[str | int, ...] = ("slots", name, "list")
        words = self._words(slot.list, location)
        if not words:
            return ()
        for column in slot.where:
            if column not in words[0].columns:
                hint = nearest(column, words[0].columns)
                self._find(("slots", name, "where", column), "E104", f"{slot.list} has no column {column!r}", hint)
                return words
        kept = tuple(word for word in words if all(_holds(word, c, v) for c, v in slot.where.items()))
        if not kept:
            self._find(("slots", name, "where"), "E111", f"no word of {slot.list} fits")
        slugs = [word.slug for word in kept]
        for twice in sorted({slug for slug in slugs if slugs.count(slug) > 1}):
            self._find(location, "E114", f"{twice!r} would name two rows", "narrow `where`, or give the list a `slug`")
        return kept

    def _binding(self, role: str, name: str, value: str | Fixed | Text) -> Binding | None:
        location: tuple[str | int, ...] = ("roles", role, name)
        if isinstance(value, Text):
            return Word.of({"word": value.text})
        if isinstance(value, str):
            if value not in self.front.slots:
                self._find(location, "E105", f"no slot {value!r}", nearest(value, self.front.slots))
                return None
            return value
        words = self._words(value.list, location)
        found = next((word for word in words if word == value.word), None)
        if words and found is None:
            self._find(location, "E111", f"{value.list} has no word {value.word!r}", nearest(value.word, words))
        return found

    def _check_front(self, draft: ResolvedBlock) -> None:
        front = self.front
        for key in ("valence", "stereotype"):
            self._check_reference(getattr(front, key), (key,), draft, literal=False)
        for key in ("key", "token"):
            self._check_reference(getattr(front.sense, key), ("sense", key), draft, literal=True)
        for key in ("flip", "contested"):
            for number, condition in enumerate(getattr(front, key)):
                self._check_condition(condition, (key, number), draft)
        bindings = set(front.roles["stereo"])
        known = {*front.slots, *bindings}
        for number, name in enumerate(front.generalise):
            if name in front.generalise[:number]:
                self._find(("generalise", number), "E102", f"{name!r} is there twice")
            if name not in known | {"frame"}:
                self._find(("generalise", number), "E105", f"no slot or binding {name!r}", nearest(name, known))
        if front.target is not None and front.target not in known:
            self._find(("target",), "E105", f"no slot or binding {front.target!r}", nearest(front.target, known))
        if front.target is None and not front.unmarked:
            self._find(("target",), "E112", "only an unmarked block has no target")

    def _check_reference(
        self, text: str | None, location: tuple[str | int, ...], draft: ResolvedBlock, *, literal: bool
    ) -> None:
        if text is None:
            return
        found = reference(text, draft.slots)
        if found is None:
            if not literal:
                self._find(location, "E105", f"{text!r} is no slot.column", nearest(text, draft.slots))
            elif self.front.sense.lexicon is None:
                self._find(location, "E113", "a literal sense key needs `lexicon`", "lexicon: wordnet-3.0")
            return
        self._check_column(*found, location, draft)

    def _check_column(self, slot: str, column: str, location: tuple[str | int, ...], draft: ResolvedBlock) -> None:
        columns = draft.slots[slot][0].columns
        if column not in columns:
            self._find(location, "E104", f"{slot} has no column {column!r}", nearest(column, columns))

    def _check_condition(self, condition: Condition, location: tuple[str | int, ...], draft: ResolvedBlock) -> None:
        for key in condition:
            slot, _, column = key.partition(".")
            if slot not in draft.slots:
                self._find((*location, key), "E105", f"no slot {slot!r}", nearest(slot, draft.slots))
            else:
                self._check_column(slot, column or "word", (*location, key), draft)

    def _frame(self, draft: ResolvedBlock, frame: Frame, env: jinja2.Environment) -> ResolvedFrame | None:
        try:
            compiled = compile_frame(env, frame.source)
        except Mistake as mistake:
            self._find_in(frame, mistake)
            return None
        mistakes = [*_unknown_names(draft, compiled)]
        target = None
        known = {None, *draft.names("stereo")}
        if not mistakes and self.front.target in known:
            target, more = _target(self.front.target, compiled)
            mistakes.extend(more)
        for each in mistakes:
            self._find_in(frame, each)
        return None if mistakes else ResolvedFrame(frame, compiled, target)

    def _find_in(self, frame: Frame, mistake: Mistake) -> None:
        path, line, column = self.template.shown, frame.line, frame.column + mistake.column - 1
        told = Finding(path=path, line=line, column=column, code=mistake.code, message=str(mistake), hint=mistake.hint)
        self.findings.append(told)


def _holds(word: Word, column: str, value: object) -> bool:
    wanted = value if isinstance(value, list) else [value]
    return word.columns[column] in wanted


def _unknown_names(draft: ResolvedBlock, compiled: CompiledFrame) -> Iterator[Mistake]:
    for name, column, position in compiled.references:
        for role in draft.roles:
            names = draft.names(role)
            if name not in names:
                yield Mistake("E105", f"{name!r} is not defined", position, nearest(name, names))
                break
            bound = names[name]
            columns = (bound if isinstance(bound, Word) else draft.slots[bound][0]).columns
            if column is not None and column not in columns:
                yield Mistake("E104", f"{name} has no column {column!r}", position, nearest(column, columns))
                break


def _target(name: str | None, compiled: CompiledFrame) -> tuple[Segment | None, list[Mistake]]:
    if name is None:
        return None, []
    printing = [segment for segment in compiled.segments if name in segment.prints]
    if len(printing) != 1:
        times = "not printed" if not printing else f"printed {len(printing)} times"
        return None, [Mistake("E112", f"target {name!r} is {times}", hint="a frame prints its target once")]
    if printing[0].block:
        hint = "an `{% if %}` may print more than the target: use an inline if"
        return None, [Mistake("E112", f"target {name!r} is printed inside an if", hint=hint)]
    return printing[0], []
