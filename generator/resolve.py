"""Resolves a template against word lists: names become words, frames are compiled, and nothing is expanded yet."""

import re
from collections import Counter
from collections.abc import Container, Iterator

import jinja2

from senseprobe.errors import DeclarationError
from senseprobe.generator.config import Config, ResolvedBinding, ResolvedBlock, ResolvedFrame, reference
from senseprobe.generator.kinds import EXPANSIONS
from senseprobe.generator.kinds.base import Location, ReferenceChecker
from senseprobe.generator.schema import Binding, Frame, Front, Slot, Template, Text
from senseprobe.generator.segments import CompiledFrame, FrameError, Segment, compile_frame
from senseprobe.generator.word_lists import Word, WordList, WordLists, how_to_describe
from senseprobe.generator.yaml_source import format_path
from senseprobe.messages import listed, nearest
from senseprobe.records import Edit, Finding
from senseprobe.release.kinds import KINDS
from senseprobe.release.schema import QUESTIONS, row_schema

_JINJA = frozenset({"and", "elif", "else", "false", "if", "in", "is", "none", "not", "or", "self", "true"})


def resolve(template: Template, lists: WordLists, env: jinja2.Environment) -> Config:
    """Return the config of a template; raise DeclarationError with every mistake of its lists and of the file.

    Where lists are lenient, their mistakes are not raised; words that they lack for that reason are no mistakes either,
    but without them there is no config: the error has no findings then.
    """
    findings: list[Finding] = []
    resolvers = [_Resolver(ReferenceChecker(template, block, findings), lists) for block in template.blocks]
    resolved = [block for resolver in resolvers if (block := resolver.resolve_block(env))]
    first, columns = template.blocks[0].front, resolvers[0].columns()
    for resolver in resolvers:
        front, add = resolver.front, resolver.checker.add
        if list(front.slots) != list(first.slots):
            add(("slots",), "E102", "every block needs the slots of the first one")
        if front.kind != first.kind:
            add(("kind",), "E102", "every block needs the kind of the first one")
        if front.asks != first.asks:
            add(("asks",), "E102", "every block needs the questions (`asks`) of the first one")
        if list(front.added_columns) != list(first.added_columns):
            add(("columns",), "E102", "every block needs the columns of the first one")
        elif resolver.columns() != columns:
            add(("columns",), "E102", "every block needs columns of the same types as the first one")
    for name, text in () if findings else first.clusters.items():
        if not all(_is_full(block, text) for block in resolved):
            message, hint = f"{text} has empty cells", "write the word itself if it does not belong to a cluster"
            resolvers[0].checker.add(_column_location(first, name), "E102", message, hint)
    # Only lines without mistakes can be put together.
    blocks = () if findings else tuple(made for block in resolved for made in EXPANSIONS[first.kind].compose(block))
    findings = findings or [*_repeated_ids(template, blocks)]
    mistakes = dict.fromkeys(finding for resolver in resolvers for finding in resolver.list_mistakes)
    if findings := [*(() if lists.lenient else mistakes), *findings]:
        raise DeclarationError(findings)
    if len(resolved) < len(resolvers):
        raise DeclarationError([])
    full = {name for name, text in first.added_columns.items() if all(_is_full(block, text) for block in blocks)}
    full |= KINDS[first.kind].full | {"id", "frame", *first.slots}
    return Config(template.config, template, blocks, columns, frozenset(full))


def _is_full(block: ResolvedBlock, text: str) -> bool:
    source = reference(text, block.slots)
    return source is not None and all(word.columns[source[1]] is not None for word in block.slots[source[0]])


def _repeated_ids(template: Template, blocks: tuple[ResolvedBlock, ...]) -> Iterator[Finding]:
    """Yield a finding where two frames with one code and words in common would give two rows one id."""
    seen: dict[str, list[tuple[int, list[set[str]]]]] = {}
    for block in blocks:
        slugs = [{word.slug for word in words} for words in block.slots.values()]
        for frame in (resolved.frame for resolved in block.frames):
            others = seen.setdefault(frame.code, [])
            for line, theirs in others:
                if all(mine & other for mine, other in zip(slugs, theirs, strict=True)):
                    message = f"the frame on line {line} has the same ids ({frame.code})"
                    yield Finding(path=template.display_path, line=frame.line, column=1, code="E114", message=message)
                    break
            others.append((frame.line, slugs))


class _Resolver:
    def __init__(self, checker: ReferenceChecker, lists: WordLists) -> None:
        self.checker, self.lists = checker, lists
        self.block, self.front, self.add = checker.block, checker.block.front, checker.add
        self.list_mistakes: list[Finding] = []
        self.lacks_lists = self.lacks_words = False

    def resolve_block(self, env: jinja2.Environment) -> ResolvedBlock | None:
        """Return the block, or None where something that frames depend on is missing."""
        before = len(self.checker.findings)
        slots = {name: self._slot(name, slot) for name, slot in self.front.slots.items()}
        roles = {
            role: {name: self._binding(value, ("roles", role, name)) for name, value in bindings.items()}
            for role, bindings in self.front.bindings.items()
        }
        self._check_names()
        if len(self.checker.findings) > before or self.lacks_words:
            return None
        self.checker.slots = slots
        self._check_references()
        draft = ResolvedBlock(self.block, slots, roles, ())
        frames = tuple(resolved for frame in self.block.frames if (resolved := self._frame(draft, frame, env)))
        return ResolvedBlock(self.block, slots, roles, frames)

    def columns(self) -> dict[str, str]:
        """Return the types of the columns that the template adds, once the block is resolved."""
        return {name: self._type(text) for name, text in self.front.added_columns.items()}

    def _type(self, text: str) -> str:
        source = reference(text, self.front.slots)
        words = self._list(self.front.slots[source[0]].list) if source else None
        spec = words.columns.get(source[1]) if source and words else None
        return spec.type if spec else ""

    def _words(self, name: str, location: Location) -> WordList | None:
        table = self._list(name)
        if table and not table.words:
            self._add_lacking(table, location, f"{name} has no words")
        elif not table and not self.lacks_lists:
            file = self.lists.undescribed(name)
            hint = f"{format_path(file)} is there: {how_to_describe(file)}" if file else ""
            self.add(location, "E110", f"no word list {name!r}", hint or nearest(name, self.lists.names()))
        return table

    def _list(self, name: str) -> WordList | None:
        """Return a list as far as it can be read; its mistakes, and those of the descriptor, are the lists' own."""
        try:
            table = self.lists.read(name)
            self.list_mistakes += table.mistakes if table else ()
        except DeclarationError as error:
            table, self.lacks_lists, self.lacks_words = None, True, True
            self.list_mistakes += error.findings
        return table

    def _add_lacking(self, table: WordList, location: Location, message: str, hint: str = "") -> None:
        """Add E111 of words that a list does not have, unless they may be in rows that its mistakes leave out."""
        self.lacks_words = True
        if not table.mistakes:
            self.add(location, "E111", message, hint)

    def _slot(self, name: str, slot: Slot) -> tuple[Word, ...]:
        location = ("slots", name, "list")
        table = self._words(slot.list, location)
        if table is None or not (words := table.words):
            return ()
        for column in slot.where:
            if column not in words[0].columns:
                hint = nearest(column, words[0].columns)
                self.add(
                    ("slots", name, "where", column), "E104", f"{slot.list} does not have a column {column!r}", hint
                )
                return words
        matches = tuple(word for word in words if all(word.has(c, v) for c, v in slot.where.items()))
        if not matches:
            self._add_lacking(table, ("slots", name, "where"), *_unmatched(slot, words))
        slugs = Counter(word.slug for word in matches)
        if twice := sorted(slug for slug, times in slugs.items() if times > 1):
            names = f"{listed(map(repr, twice))} would {'each ' if len(twice) > 1 else ''}give two rows the same id"
            self.add(location, "E114", names, "narrow `where`, or give the list a column `slug` that tells them apart")
        return matches

    def _binding(self, value: Binding, location: Location) -> ResolvedBinding:
        if isinstance(value, Text):
            return Word.of({"word": value.text})
        if isinstance(value, str):
            if value not in self.front.slots:
                self.add(location, "E105", f"unknown slot {value!r}", nearest(value, self.front.slots))
            return value
        table = self._words(value.list, location)
        words = table.words if table else ()
        if table and words and value.word not in words:
            message = f"{value.list} does not have the word {value.word!r}"
            self._add_lacking(table, location, message, nearest(value.word, words))
        return next((word for word in words if word == value.word), value.word)

    def _check_names(self) -> None:
        """Check that the names of roles, slots, bindings and columns are allowed."""
        front, roles = self.front, EXPANSIONS[self.front.kind].roles
        reserved = {*row_schema(front.kind, ()).names, "stereo_score", "anti_score"}
        bindings = {frozenset(names) for names in front.bindings.values()}
        if roles and ({*front.bindings} != {*roles} or len(bindings) != 1 or not all(front.bindings.values())):
            quoted = " and ".join(f"`{role}`" for role in roles)
            message = f"roles must be {quoted}, with the same bindings in each, at least one"
            self.add(("roles",), "E102", message)
        for name in front.slots:
            hint = "rows have a column of this name" if name in reserved else "use ASCII letters, digits and _"
            if name in reserved or not _is_name(name, _JINJA):
                self.add(("slots", name), "E102", f"{name!r} cannot be the name of a slot", hint)
        for role, names in front.bindings.items():
            for name in names:
                if name in front.slots:
                    self.add(
                        ("roles", role, name), "E102", f"{name!r} is already a slot", "give the binding another name"
                    )
                elif not _is_name(name, {"frame", *_JINJA}):
                    self.add(("roles", role, name), "E102", f"{name!r} cannot be the name of a binding")
        for name, text in front.clusters.items():
            if front.columns.get(name, text) != text:
                hint = f"`generalise` makes {name} from {text}: rename this column"
                self.add(("columns", name), "E102", f"{name!r} occurs twice", hint)
        for name in front.added_columns:
            if not _is_name(name, {*reserved, *front.slots}):
                hint = "use ASCII letters, digits and _, and a name that rows do not have yet"
                self.add(_column_location(front, name), "E102", f"{name!r} cannot be the name of a column", hint)

    def _check_references(self) -> None:
        """Check that every slot, column and binding that front matter names exists, and that labels are valid."""
        front, add = self.front, self.add
        names = {*front.slots, *next(iter(front.bindings.values()))}
        for number, name in enumerate(front.generalise):
            if name in front.generalise[:number]:
                add(("generalise", number), "E102", f"{name!r} occurs twice")
            if name not in names | {"frame", *front.clusters.values()}:
                add(("generalise", number), "E105", f"unknown slot or binding {name!r}", nearest(name, names))
        if front.target is not None and front.target not in names:
            add(("target",), "E105", f"unknown slot or binding {front.target!r}", nearest(front.target, names))
        if front.target is None and not getattr(front, "unmarked", False):
            hint = "name the slot that the test is about, or add `unmarked: true`"
            add(("target",), "E112", "only an unmarked block can lack a target", hint)
        for name, text in front.added_columns.items():
            type_, location = self._type(text), _column_location(front, name)
            if self.checker.check_column(text, location) and type_ not in ("string", "boolean"):
                message = f"{text} has type {type_}: columns of rows are string or boolean"
                add(location, "E102", message, "for codes, write `type: string` in datapackage.yaml")
        self._check_questions()
        EXPANSIONS[front.kind].check_references(front, self.checker)

    def _check_questions(self) -> None:
        """Check that what people are asked are questions of the kind, each once; *of whom?* follows *stereotype?*."""
        asks, questions = self.front.asks or [], QUESTIONS.get(self.front.kind, ())
        for number, name in enumerate(asks):
            if name not in questions:
                hint = nearest(name, questions) or f"one of {', '.join(questions)}"
                self.add(("asks", number), "E105", f"{self.front.kind} rows do not have a question {name!r}", hint)
            elif name in asks[:number]:
                self.add(("asks", number), "E102", f"{name!r} occurs twice")
            elif name == "whom" and "stereotype" not in asks:
                self.add(
                    ("asks", number), "E102", "`whom` needs the question `stereotype`", "add `stereotype` to `asks`"
                )

    def _frame(self, draft: ResolvedBlock, frame: Frame, env: jinja2.Environment) -> ResolvedFrame | None:
        mistakes, target = [], None
        try:
            compiled = compile_frame(env, frame.source)
            mistakes = [*_unknown_names(draft, compiled)]
            if not mistakes and self.front.target in draft.names(next(iter(draft.roles))):
                target = _target(self.front, frame, compiled)
        except FrameError as error:
            mistakes = [error]
        for mistake in mistakes:
            column, fix = frame.column + mistake.column - 1, None
            if mistake.mends:
                fix = Edit(line=frame.line, column=column, was=mistake.mends[0], now=mistake.mends[1])
            self.checker.add_at(frame.line, column, mistake.code, str(mistake), mistake.hint, fix)
        return None if mistakes else ResolvedFrame(frame, compiled, target)


def _column_location(front: Front, name: str) -> Location:
    """Return where front matter declares a column: in `columns`, or by a key of the column's name."""
    if text := front.clusters.get(name):
        return ("generalise", front.generalise.index(text))
    return ("columns", name) if name in front.columns else (name,)


def _is_name(name: str, taken: Container[str]) -> bool:
    # Python normalizes some letters of other scripts to others; names keep to ASCII, where it does not.
    return name.isidentifier() and name.isascii() and name not in taken


def _unmatched(slot: Slot, words: tuple[Word, ...]) -> tuple[str, str]:
    """Return a message on the values of `where` that no word of the list has, and a hint."""
    conditions = [(c, v) for c, v in slot.where.items() if not any(word.has(c, v) for word in words)]
    missing = [(c, value) for c, v in conditions for value in (v if isinstance(v, list) else [v])]
    if not missing:
        return f"none of the words of {slot.list} match all of {dict(slot.where)}", "each condition matches some word"
    column, value = missing[0]
    cells = {str(word.columns[column]) for word in words if word.columns[column] is not None}
    values = ", ".join(f"{column} {value!r}" for column, value in missing)
    return f"none of the words of {slot.list} match {values}", nearest(str(value), cells)


def _unknown_names(draft: ResolvedBlock, compiled: CompiledFrame) -> Iterator[FrameError]:
    for name, column, position in compiled.references:
        for role in draft.roles:
            names = draft.names(role)
            if name not in names:
                yield FrameError("E105", f"{name!r} is not defined", position, nearest(name, names))
                break
            columns = draft.words(role, name)[0].columns
            if column is not None and column not in columns:
                yield FrameError(
                    "E104", f"{name} does not have a column {column!r}", position, nearest(column, columns)
                )
                break


def _target(front: Front, frame: Frame, compiled: CompiledFrame) -> Segment:
    """Return the segment that prints the target; raise FrameError where there is not one."""
    name = str(front.target)
    printing = [segment for segment in compiled.segments if name in segment.prints]
    if not printing:
        raise _unprinted(front, frame, {printed for segment in compiled.segments for printed in segment.prints})
    if len(printing) > 1:
        message = f"target {name!r} is printed {len(printing)} times"
        raise FrameError("E112", message, hint="a frame must print its target exactly once")
    if printing[0].block:
        hint = "an `{% if %}` can print more than the target: use an inline if"
        raise FrameError("E112", f"target {name!r} is printed inside an if", hint=hint)
    return printing[0]


def _unprinted(front: Front, frame: Frame, printed: Container[str]) -> FrameError:
    """Return the mistake of a frame that does not print its target, with what was probably meant."""
    message = f"target {front.target!r} is not printed"
    if match := re.search(rf"(?<!\{{)\{{\s*({front.target}\b[\w\s.|]*)\}}{{1,2}}", frame.source):
        output = f"{{{{ {match[1].rstrip()} }}}}"
        return FrameError("E112", message, match.start() + 1, f"write {output}, with two braces", (match[0], output))
    if getattr(front, "unmarked", False):
        return FrameError("E112", message, hint="an unmarked block does not have a target: write `target: null`")
    bindings = [*dict.fromkeys(item for names in front.bindings.values() for item in names.items())]
    for name, bound in bindings:
        if bound == front.target and name in printed:
            return FrameError("E112", message, hint=f"{name} prints it: write `target: {name}`")
    return FrameError("E112", message, hint="a frame must print its target exactly once")
