"""Resolves a template against word lists: names become words, frames are compiled, and nothing is expanded yet.

All mistakes of a file are reported at once.
"""

from collections import Counter
from collections.abc import Iterator

import jinja2

from senseprobe.errors import DeclarationError
from senseprobe.generator.config import Config, ResolvedBinding, ResolvedBlock, ResolvedFrame, reference
from senseprobe.generator.kinds import KINDS
from senseprobe.generator.references import FindingCollector, Location, ReferenceChecker
from senseprobe.generator.schema import Binding, Fixed, Frame, Slot, Template, Text
from senseprobe.generator.segments import CompiledFrame, FrameError, Segment, compile_frame
from senseprobe.generator.word_lists import Word, WordLists
from senseprobe.messages import nearest
from senseprobe.records import Finding
from senseprobe.release.schema import FULL, row_schema

_JINJA = frozenset({"and", "elif", "else", "false", "if", "in", "is", "none", "not", "or", "self", "true"})
_RESERVED = {kind: frozenset(row_schema(kind, ()).names) | {"stereo_score", "anti_score"} for kind in KINDS}


def resolve(template: Template, lists: WordLists, env: jinja2.Environment) -> Config:
    """Return the config of a template; raise DeclarationError with every mistake of the file."""
    findings: list[Finding] = []
    resolvers = [_Resolver(FindingCollector(template, block, findings), lists) for block in template.blocks]
    blocks = tuple(block for resolver in resolvers if (block := resolver.resolve_block(env)))
    first = template.blocks[0].front
    for resolver in resolvers:
        front, add = resolver.front, resolver.collector.add
        if list(front.slots) != list(first.slots):
            add(("slots",), "E102", "every block has the slots of the first one")
        if front.kind != first.kind:
            add(("kind",), "E102", "every block is of the kind of the first one")
        if list(front.columns) != list(first.columns):
            add(("columns",), "E102", "every block has the columns of the first one")
        elif resolver.columns() != resolvers[0].columns():
            add(("columns",), "E102", "every block has columns of the types that those of the first one have")
    if not findings:
        findings.extend(_repeated_ids(template, blocks))
    if findings:
        raise DeclarationError(findings)
    return Config(template.config, template, blocks, resolvers[0].columns(), _full(blocks))


def _full(blocks: tuple[ResolvedBlock, ...]) -> frozenset[str]:
    front = blocks[0].block.front
    own = {name for name, text in front.columns.items() if all(_is_full(block, text) for block in blocks)}
    return FULL[front.kind] | {"id", "frame", *front.slots} | own


def _is_full(block: ResolvedBlock, text: str) -> bool:
    parts = reference(text, block.slots)
    return parts is not None and all(word.columns[parts[1]] is not None for word in block.slots[parts[0]])


def _repeated_ids(template: Template, blocks: tuple[ResolvedBlock, ...]) -> Iterator[Finding]:
    """Yield a finding where two frames with one code and words in common would give two rows one id."""
    seen: dict[str, list[tuple[int, list[set[str]]]]] = {}
    for block in blocks:
        slugs = [{word.slug for word in words} for words in block.slots.values()]
        for resolved in block.frames:
            frame, others = resolved.frame, seen.setdefault(resolved.frame.code, [])
            for line, theirs in others:
                if all(mine & other for mine, other in zip(slugs, theirs, strict=True)):
                    message = f"the frame on line {line} makes the same ids ({frame.code})"
                    yield Finding(path=template.display_path, line=frame.line, column=1, code="E114", message=message)
                    break
            others.append((frame.line, slugs))


class _Resolver:
    """Resolves one block."""

    def __init__(self, collector: FindingCollector, lists: WordLists) -> None:
        self.collector, self.lists = collector, lists
        self.block, self.front = collector.block, collector.block.front

    def resolve_block(self, env: jinja2.Environment) -> ResolvedBlock | None:
        """Return the block, or None where something that frames depend on is missing."""
        before = len(self.collector.findings)
        slots = {name: self._slot(name, slot) for name, slot in self.front.slots.items()}
        roles = {
            role: {name: self._binding(role, name, value) for name, value in bindings.items()}
            for role, bindings in self.front.bindings.items()
        }
        _check_names(self.collector)
        if len(self.collector.findings) > before:
            return None
        resolved: dict[str, dict[str, ResolvedBinding]] = {
            role: {name: bound for name, bound in names.items() if bound is not None} for role, names in roles.items()
        }
        draft = ResolvedBlock(self.block, slots, resolved, ())
        _check_references(self.collector, draft)
        self._check_columns(draft)
        frames = tuple(frame for source in self.block.frames if (frame := self._frame(draft, source, env)))
        return ResolvedBlock(self.block, slots, resolved, frames)

    def columns(self) -> dict[str, str]:
        """Return the types of the columns that the template adds, once the block is resolved."""
        return {name: self._type(text) for name, text in self.front.columns.items()}

    def _type(self, text: str) -> str:
        parts = reference(text, self.front.slots)
        words = self.lists.get(self.front.slots[parts[0]].list) if parts else None
        spec = words.columns.get(parts[1]) if parts and words else None
        return spec.type if spec else ""

    def _check_columns(self, draft: ResolvedBlock) -> None:
        for name, text in self.front.columns.items():
            parts = reference(text, draft.slots)
            exists = parts and parts[1] in draft.slots[parts[0]][0].columns
            if exists and (type_ := self._type(text)) not in ("string", "boolean"):
                message = f"{text} is of type {type_}: a row's own columns are string or boolean"
                self.collector.add(("columns", name), "E102", message)

    def _words(self, name: str, location: Location) -> tuple[Word, ...]:
        table = self.lists.get(name)
        if table is None:
            self.collector.add(location, "E110", f"no word list {name!r}", nearest(name, self.lists.names()))
        elif not table.words:
            self.collector.add(location, "E111", f"{name} has no words")
        return table.words if table else ()

    def _slot(self, name: str, slot: Slot) -> tuple[Word, ...]:
        add, location = self.collector.add, ("slots", name, "list")
        words = self._words(slot.list, location)
        if not words:
            return ()
        for column in slot.where:
            if column not in words[0].columns:
                hint = nearest(column, words[0].columns)
                add(("slots", name, "where", column), "E104", f"{slot.list} has no column {column!r}", hint)
                return words
        matches = tuple(word for word in words if all(word.has(c, v) for c, v in slot.where.items()))
        if not matches:
            add(("slots", name, "where"), "E111", *_unmatched(slot, words))
        slugs = Counter(word.slug for word in matches)
        for twice in sorted(slug for slug, times in slugs.items() if times > 1):
            add(location, "E114", f"{twice!r} would name two rows", "narrow `where`, or give the list a `slug`")
        return matches

    def _binding(self, role: str, name: str, value: Binding) -> ResolvedBinding | None:
        location: Location = ("roles", role, name)
        if isinstance(value, Text):
            return Word.of({"word": value.text})
        if isinstance(value, str):
            if value not in self.front.slots:
                self.collector.add(location, "E105", f"no slot {value!r}", nearest(value, self.front.slots))
                return None
            return value
        assert isinstance(value, Fixed)  # noqa: S101 - the form has no fourth kind of binding
        words = self._words(value.list, location)
        match = next((word for word in words if word == value.word), None)
        if words and match is None:
            message = f"{value.list} has no word {value.word!r}"
            self.collector.add(location, "E111", message, nearest(value.word, words))
        return match

    def _frame(self, draft: ResolvedBlock, frame: Frame, env: jinja2.Environment) -> ResolvedFrame | None:
        try:
            compiled = compile_frame(env, frame.source)
        except FrameError as error:
            self.collector.add_in_frame(frame, error)
            return None
        errors = [*_unknown_names(draft, compiled)]
        target = None
        if not errors and self.front.target in {None, *draft.names(next(iter(draft.roles)))}:
            target, more = _target(self.front.target, compiled)
            errors.extend(more)
        for mistake in errors:
            self.collector.add_in_frame(frame, mistake)
        return None if errors else ResolvedFrame(frame, compiled, target)


def _check_names(collector: FindingCollector) -> None:
    """Check that the names of roles, slots, bindings and columns are allowed."""
    front, add = collector.block.front, collector.add
    _check_roles(collector)
    reserved = _RESERVED[front.kind]
    for name in front.slots:
        if name in reserved:
            add(("slots", name), "E102", f"{name!r} cannot be the name of a slot", "rows have a column of it")
        elif not _is_name(name) or name in _JINJA:
            add(("slots", name), "E102", f"{name!r} cannot be the name of a slot", "letters of ASCII, digits and _")
    for role, bindings in front.bindings.items():
        for name in bindings:
            if name in front.slots:
                add(("roles", role, name), "E102", f"{name!r} is a slot already", "give the binding a name")
            elif not _is_name(name) or name in {"frame", *_JINJA}:
                add(("roles", role, name), "E102", f"{name!r} cannot be the name of a binding")
    for name in front.columns:
        if name in reserved or name in front.slots or not _is_name(name):
            hint = "letters of ASCII, digits and _, and no column that rows have already"
            add(("columns", name), "E102", f"{name!r} cannot be the name of a column", hint)


def _is_name(name: str) -> bool:
    # Python normalizes some letters of other scripts to others; names keep to ASCII, where it does not.
    return name.isidentifier() and name.isascii()


def _check_roles(collector: FindingCollector) -> None:
    front = collector.block.front
    expected = KINDS[front.kind].roles
    bindings = {frozenset(names) for names in front.bindings.values()}
    if expected and (set(front.bindings) != set(expected) or len(bindings) != 1 or not all(front.bindings.values())):
        message = "roles are `{}` and `{}`, with the same bindings in both, one at least".format(*expected)
        collector.add(("roles",), "E102", message)


def _check_references(collector: FindingCollector, draft: ResolvedBlock) -> None:
    """Check that every slot, column and binding that front matter names exists, and that labels are valid."""
    front, add = collector.block.front, collector.add
    names = {*front.slots, *next(iter(front.bindings.values()))}
    for number, name in enumerate(front.generalise):
        if name in front.generalise[:number]:
            add(("generalise", number), "E102", f"{name!r} is there twice")
        if name not in names | {"frame"}:
            add(("generalise", number), "E105", f"no slot or binding {name!r}", nearest(name, names))
    if front.target is not None and front.target not in names:
        add(("target",), "E105", f"no slot or binding {front.target!r}", nearest(front.target, names))
    if front.target is None and front.needs_target:
        add(("target",), "E112", "only an unmarked block has no target")
    checker = ReferenceChecker(collector, draft)
    for name, text in front.columns.items():
        checker.check_column(text, ("columns", name))
    KINDS[front.kind].check_references(front, checker)


def _unmatched(slot: Slot, words: tuple[Word, ...]) -> tuple[str, str]:
    """Return a message on the values of `where` that no word of the list has, and a hint."""
    conditions = [(c, v) for c, v in slot.where.items() if not any(word.has(c, v) for word in words)]
    missing = [(c, value) for c, v in conditions for value in (v if isinstance(v, list) else [v])]
    if not missing:
        return f"no word of {slot.list} fits all of {dict(slot.where)}", "each fits some word"
    column, value = missing[0]
    cells = {str(word.columns[column]) for word in words if word.columns[column] is not None}
    values = ", ".join(f"{column} {value!r}" for column, value in missing)
    return f"no word of {slot.list} fits {values}", nearest(str(value), cells)


def _unknown_names(draft: ResolvedBlock, compiled: CompiledFrame) -> Iterator[FrameError]:
    for name, column, position in compiled.references:
        for role in draft.roles:
            names = draft.names(role)
            if name not in names:
                yield FrameError("E105", f"{name!r} is not defined", position, nearest(name, names))
                break
            bound = names[name]
            columns = (bound if isinstance(bound, Word) else draft.slots[bound][0]).columns
            if column is not None and column not in columns:
                yield FrameError("E104", f"{name} has no column {column!r}", position, nearest(column, columns))
                break


def _target(name: str | None, compiled: CompiledFrame) -> tuple[Segment | None, list[FrameError]]:
    if name is None:
        return None, []
    printing = [segment for segment in compiled.segments if name in segment.prints]
    if len(printing) != 1:
        times = "not printed" if not printing else f"printed {len(printing)} times"
        return None, [FrameError("E112", f"target {name!r} is {times}", hint="a frame prints its target once")]
    if printing[0].block:
        hint = "an `{% if %}` may print more than the target: use an inline if"
        return None, [FrameError("E112", f"target {name!r} is printed inside an if", hint=hint)]
    return printing[0], []
