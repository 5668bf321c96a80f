"""Blanks where a sentence has none, none where it needs one, and a full stop too many.

Conditions of front matter that never hold, or that decide nothing.

What was to be filled in, and was not.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.generator.checks.context import columns_of, finding, masked
from senseprobe.generator.checks.registry import Subject, on_config, on_list
from senseprobe.generator.checks.words import FUNCTION_WORDS, is_english
from senseprobe.generator.config import ResolvedBlock, ResolvedFrame
from senseprobe.generator.english.library import word_set
from senseprobe.generator.kinds.contrast import ContrastFront
from senseprobe.generator.schema import Block, Condition, Front
from senseprobe.generator.segments import Segment
from senseprobe.generator.word_lists import Cells, WordList, WordLists
from senseprobe.messages import nearest
from senseprobe.records import Finding

_WRONG = r"\s\s|\s[.,;:!?](?:\s|$)|(?:^|[^.])\.\.$"
# French has a blank before high punctuation.
_WRONG_ANYWHERE = r"\s\s|\s[.,](?:\s|$)|(?:^|[^.])\.\.$"

_LAST, _FIRST = re.compile(r"[^\W_]+$"), re.compile(r"[^\W_]+")

# Pieces that make one word with what they touch: unkind, postman, waitress.
_PREFIXES = word_set("anti bi co de dis ex fore im in inter ir il mega micro mid mis multi neo non out over pan post")
_PREFIXES |= word_set("pre pro pseudo re semi step sub super trans tri ultra un under")
_ENDINGS = word_set(
    "s es ies d ed ied ing er r or ress ess tress ly y en n ness ish ism ist less ful like t th st nd rd"
)
_ENDINGS |= word_set(
    "man men woman women person people wife wives maid boy boys girl girls lady ladies master mistress"
)
_ENDINGS |= word_set("folk self selves father mother brother sister son daughter mate worker")


@on_config("E117")
def blanks(subject: Subject) -> Iterator[Finding]:
    """A blank too many or too few: two in a row, one at an end or before punctuation, or none between two words.

    Tokenizers make tokens of blanks, so such a sentence is scored as text that nobody writes; Dev et al. have a blank
    before every full stop (UPSTREAM 3.3). Where an `{% if %}` prints nothing, put the blank beside it inside. Two
    full stops at an end are found too. Looked for in English is what a slot prints right behind a word, as in
    `The{{ slot }}`; endings as in `{{ slot }}s`, and prefixes and second halves of words as *un* and *man*, may stand
    there.
    """
    seen: set[tuple[int, int]] = set()
    for block in subject.config.blocks:
        for frame in block.frames:
            found = [*_typed(subject, frame)] or [
                *_made(subject, block, frame),
                *_missing(subject, block, frame),
            ]
            yield from (each for each in found if (each.line, each.column) not in seen)
            seen |= {(each.line, each.column) for each in found}


def _wrong(subject: Subject) -> str:
    return _WRONG if is_english(subject.dataset.card.languages) else _WRONG_ANYWHERE


def _typed(subject: Subject, frame: ResolvedFrame) -> Iterator[Finding]:
    """Those that stand in the frame itself."""
    outside = masked(frame.frame.source, "\x00")
    for found in re.finditer(_wrong(subject), outside):
        stops = found[0].endswith("..")
        at = found.end() - 2 if stops else found.start()
        said = (
            "two full stops" if stops else "two blanks in a row" if found[0].isspace() else "a blank before punctuation"
        )
        place = frame.frame.line, frame.frame.column + at
        yield finding(
            subject.config, place, "E117", said, "write one, or three for an ellipsis" if stops else "remove it"
        )


def _made(subject: Subject, block: ResolvedBlock, frame: ResolvedFrame) -> Iterator[Finding]:
    """The first that comes of what slots and conditions print."""
    for role in block.roles:
        texts = subject.side(block, frame, role).text
        for text in (
            texts.filter(pc.match_substring_regex(texts, rf"{_wrong(subject)}|^\s|\s$")).slice(0, 1).to_pylist()
        ):
            place, hint = (frame.frame.line, frame.frame.column), "put the blank inside the condition"
            if text.endswith("..") and not text.endswith("..."):
                said, hint = "two full stops at the end of", "print the last word without its own"
            else:
                said = "a blank too many in"
            yield finding(subject.config, place, "E117", f"{said} {text!r}", hint)
            return


def _missing(subject: Subject, block: ResolvedBlock, frame: ResolvedFrame) -> Iterator[Finding]:
    """The first two words of each place that run together, since a slot is printed right behind a word."""
    if not is_english(subject.dataset.card.languages):
        return  # there may be no blanks at all, or other prefixes and endings
    for (at, before), (_, after) in pairwise(enumerate(frame.compiled.segments)):
        if after.block or not after.prints:
            continue  # what the frame itself says behind an output is an ending
        for role in block.roles:
            pieces = subject.side(block, frame, role).pieces
            if joined := _run_together(pieces[at].row_texts, pieces[at + 1].row_texts, before):
                place = frame.frame.line, columns_of(frame)[at + 1]
                yield finding(subject.config, place, "E117", f"no blank in {joined!r}", "put one before the output")
                break


def _run_together(left: pa.Array, right: pa.Array, before: Segment) -> str:
    """The first two words that touch and are no compound; empty where there are none."""
    for first, second in dict.fromkeys(zip(left.to_pylist(), right.to_pylist(), strict=True)):
        ends, begins = _LAST.search(first), _FIRST.match(second)
        if ends and begins and not (_affixed(ends[0], begins[0]) or (ends[0].isdigit() and not before.prints)):
            return ends[0] + begins[0]
    return ""


def _affixed(first: str, second: str) -> bool:
    """Whether two pieces may be one word, as un and kind, wait and ress, B and 12."""
    ending = second in _ENDINGS and first.lower() not in FUNCTION_WORDS
    prefix = first.lower() in _PREFIXES and second[0].islower()
    return ending or prefix or (first.isupper() and second.isdigit())


Location = tuple[str | int, ...]


@on_config("E121")
def value_of_no_word(subject: Subject) -> Iterator[Finding]:
    """A value in `flip`, `contested` or `where` that no word of the list has.

    A misspelt value selects nothing and says nothing: labels that should be flipped are not, or a word is missing. true
    and false have no quotes, or they are words. Looked at is the whole list, since a later block may choose other words
    of it.
    """
    told = set()
    for block in subject.config.template.blocks:
        for place, message, hint in _unknown(block, subject.lists):
            if (place, message) not in told:  # a block that inherits it has the same place
                told.add((place, message))
                yield finding(subject.config, place, "E121", message, hint)


def _unknown(block: Block, lists: WordLists) -> Iterator[tuple[tuple[int, int], str, str]]:
    for location, slot, column, value in _asked(block.front):
        words = lists.get(block.front.slots[slot].list)
        cells = {str(cell): cell for word in words.words for cell in [word.columns[column]]} if words else {}
        if words and value not in cells.values():
            message = f"no word of {words.resource.name} has {column} {value!r}"
            yield block.locate(*location), message, nearest(str(value), {*cells} - {"None"})


def _asked(front: Front) -> Iterator[tuple[Location, str, str, object]]:
    """Every value of a condition with its place, and the slot and column that it is held against."""
    for slot, spec in front.slots.items():
        for column, value in spec.where.items():
            # A value alone that fits nothing leaves no words, which is a mistake of its own (E111).
            for number, one in enumerate(value if isinstance(value, list) else []):
                yield ("slots", slot, "where", column, number), slot, column, one
    if isinstance(front, ContrastFront):
        yield from _conditions("flip", front.flip)
        yield from _conditions("contested", front.contested)


def _conditions(key: str, conditions: list[Condition]) -> Iterator[tuple[Location, str, str, object]]:
    for number, condition in enumerate(conditions):
        for name, value in condition.items():
            slot, _, column = name.partition(".")
            for at, one in enumerate(value if isinstance(value, list) else [value]):
                place = (key, number, name, at) if isinstance(value, list) else (key, number, name)
                yield place, slot, column or "word", one


@on_config("E122")
def flip_without_label(subject: Subject) -> Iterator[Finding]:
    """`flip` beside `label_basis: none`.

    Without a basis neither sentence is the stereotype, so there is nothing to turn round: either the labels mean
    something, and the basis is `occupation`, `trait` or `both`, or `flip` has to go. A block that only inherits `flip`
    is left alone: it may set the sentences in the order of the other blocks.
    """
    for block in subject.config.template.blocks:
        front, own = block.front, block.sources[0]
        if isinstance(front, ContrastFront) and front.label_basis == "none" and own.get("flip"):
            message = "label_basis is none, so there is no label to flip"
            yield finding(subject.config, block.locate("flip"), "E122", message, "name the basis, or leave flip out")


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
                yield finding(subject.config, block.locate(*location), "E115", message, "fill it in")


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
                    path=words.display_path,
                    line=place[0],
                    column=place[1],
                    code="E115",
                    message=message,
                    hint="fill it in",
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
