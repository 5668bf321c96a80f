"""What was to be filled in, and was not."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from senseprobe.generator.blocks import ResolvedBlock
from senseprobe.generator.cells import Cells
from senseprobe.generator.checks.conditions import Location
from senseprobe.generator.checks.reading import finding, masked
from senseprobe.generator.checks.registry import Subject, on_config, on_list
from senseprobe.generator.wordlists import WordList
from senseprobe.records import Finding

_PLACEHOLDER = re.compile(
    r"""\$[A-Za-z][\w-]*\$ | \{[\w .|]*\} | <[A-Za-z][\w -]*> | \[[A-Z][A-Z_]*\] | _{3,}  # $GENDER$ {} <word> [MASK]
    | \b(?:TODO|FIXME|TBD|XXX+)\b""",
    re.VERBOSE,
)
# %s and %(word)s, which a frame may have as text and a word may not.
_FORMAT = re.compile(r"(?<![\w%])%(?:\(\w+\))?[sdifr](?!\w)")
# Template syntax, which a frame may have and a word may not.
_SYNTAX = re.compile(r"\{[{%#](?:.*?[}%#]\})?|[}%#]\}")
# What other tools write in the place of {{ slot }}: with the name of a slot or binding, it was meant for one.
_FOREIGN = re.compile(r"\{\s*(\w+)([\w\s.|]*)\}|\$(\w+)\$?|<(\w+)>|\[(\w+)\]|%(\w+)%")
_REST = 2  # the group that holds filters
_HINT = "fill it in: it would be printed as it is"


@on_config("E115")
def in_a_config(subject: Subject) -> Iterator[Finding]:
    """A placeholder was left over in a frame, in front matter, or in a cell of a list.

    What looks like `$SENSE-ID$`, `$GENDER$`, `{}`, `<word>`, `[MASK]`, `___` or `TODO` was to be filled in by a tool or
    a person, and so was `%s` or template syntax in a cell, as `{% raw %}`, which is printed as it is. A published pair
    has one in the place of its sense (UPSTREAM 1.5), and was scored with it. Slots are written `{{ slot }}`, with two
    braces: `{slot}` and `$slot` are text.
    """
    for resolved in subject.config.blocks:
        block, names = resolved.block, names_of(resolved)
        for frame in block.frames:
            for at, text, hint in _left_over(frame.source, names):
                place = frame.line, frame.column + at
                yield finding(subject.config, place, "E115", f"{text!r} is a placeholder", hint)
        for location, text in _texts(block.sources[0]):
            if held := _PLACEHOLDER.search(text):
                message = f"{'.'.join(map(str, location))} holds a placeholder: {held[0]!r}"
                yield finding(subject.config, block.place(*location), "E115", message, "fill it in")


def names_of(block: ResolvedBlock) -> frozenset[str]:
    """The names that the frames of a block may print: of its slots, and of what its roles bind."""
    return frozenset(name for role in block.roles for name in block.names(role))


def unfilled(source: str, names: Collection[str]) -> Iterator[tuple[re.Match[str], str]]:
    """What a frame has in the place of an output, as `{slot}` and `$slot`; with the name."""
    for found in _FOREIGN.finditer(masked(source, "\n")):
        name = next(group for number, group in enumerate(found.groups(), 1) if group and number != _REST)
        if name in names:
            yield found, name


def _left_over(source: str, names: Collection[str]) -> Iterator[tuple[int, str, str]]:
    """The placeholders of a frame: place from 0, text and hint."""
    end = 0
    meant = {found.start(): (found, name) for found, name in unfilled(source, names)}
    others = {found.start(): (found, "") for found in _PLACEHOLDER.finditer(masked(source, "\n"))}
    for start, (found, name) in sorted({**others, **meant}.items()):
        if start >= end:
            end = found.end()
            slot = f"{name}{(found[_REST] or '').rstrip()}" if name else ""
            yield start, found[0], f"write {{{{ {slot} }}}}: this is printed as it is" if name else _HINT


@on_list("E115")
def in_a_list(words: WordList) -> Iterator[Finding]:
    """A placeholder, or template syntax, was left over in a cell."""
    cells = Cells(words)
    for word in words.words:
        for name, cell in word.columns.items():
            if isinstance(cell, str) and (found := _in_a_cell(cell)):
                place = word.line, cells.column(word, name)
                message = f"{name} holds a placeholder: {found[0]!r}"
                yield Finding(
                    path=words.shown, line=place[0], column=place[1], code="E115", message=message, hint="fill it in"
                )


def _in_a_cell(text: str) -> re.Match[str] | None:
    return _SYNTAX.search(text) or _FORMAT.search(text) or _PLACEHOLDER.search(text)


def _texts(data: object, location: Location = ()) -> Iterator[tuple[Location, str]]:
    """Every text of front matter, with its place."""
    if isinstance(data, str):
        yield location, data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from _texts(value, (*location, str(key)))
    elif isinstance(data, Sequence):
        for number, value in enumerate(data):
            yield from _texts(value, (*location, number))
