"""What was to be filled in, and was not."""

import re
from collections.abc import Iterator, Mapping, Sequence

from senseprobe.generator.cells import Cells
from senseprobe.generator.checks.reading import finding
from senseprobe.generator.checks.registry import Subject, on_config, on_list
from senseprobe.generator.wordlists import WordList
from senseprobe.records import Finding

__all__ = ["in_a_config", "in_a_list"]

_PLACEHOLDER = re.compile(
    r"""\$[A-Za-z][\w-]*\$ | \{[\w ]*\} | <[A-Za-z][\w -]*> | \[[A-Z][A-Z_]*\] | _{3,}  # $GENDER$ {} <word> [MASK] ___
    | \b(?:TODO|FIXME|TBD|XXX+)\b""",
    re.VERBOSE,
)
_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}")
_HINT = "fill it in: it would be printed as it is"


@on_config("E115")
def in_a_config(subject: Subject) -> Iterator[Finding]:
    """A placeholder was left over in a frame, in front matter, or in a cell of a list.

    What looks like `$SENSE-ID$`, `$GENDER$`, `{}`, `<word>`, `[MASK]`, `___` or `TODO` was to be filled in by a tool or
    a person. A published pair has one in the place of its sense (UPSTREAM 1.5), and was scored with it. Slots are
    written `{{ slot }}`.
    """
    template = subject.config.template
    for block in template.blocks:
        for frame in block.frames:
            outside = _TAG.sub(lambda tag: "\n" * len(tag[0]), frame.source)
            for found in _PLACEHOLDER.finditer(outside):
                place = frame.line, frame.column + found.start()
                yield finding(subject.config, place, "E115", f"{found[0]!r} is a placeholder", _HINT)
        for location, text in _texts(block.sources[0]):
            if held := _PLACEHOLDER.search(text):
                message = f"{'.'.join(map(str, location))} holds a placeholder: {held[0]!r}"
                yield finding(subject.config, block.place(*location), "E115", message, "fill it in")


@on_list("E115")
def in_a_list(words: WordList) -> Iterator[Finding]:
    """A placeholder was left over in a cell."""
    cells = Cells(words)
    for word in words.words:
        for name, cell in word.columns.items():
            if isinstance(cell, str) and (found := _PLACEHOLDER.search(cell)):
                place = word.line, cells.column(word, name)
                message = f"{name} holds a placeholder: {found[0]!r}"
                yield Finding(
                    path=words.shown, line=place[0], column=place[1], code="E115", message=message, hint="fill it in"
                )


Location = tuple[str | int, ...]


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
