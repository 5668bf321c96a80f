"""Mistakes in the text of templates and cells.

Blanks too many or too few, conditions that no word fulfils or that decide nothing, and placeholders left over.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.generator.checks.english_words import FUNCTION_WORDS
from senseprobe.generator.checks.frame_text import mask_tags, printable_names, segment_columns
from senseprobe.generator.checks.registry import on_config, on_list
from senseprobe.generator.checks.subjects import ConfigSubject, Position, cell_finding
from senseprobe.generator.config import ResolvedBlock, ResolvedFrame
from senseprobe.generator.english.library import word_set
from senseprobe.generator.kinds.contrast import ContrastFront
from senseprobe.generator.schema import Block, Condition, Front
from senseprobe.generator.segments import Segment
from senseprobe.generator.word_lists import Cells, WordList, WordLists
from senseprobe.messages import nearest
from senseprobe.records import Finding

_BLANK_MISTAKE = r"\s\s|\s[.,;:!?](?:\s|$)|(?:^|[^.])\.\.$"
# French has a blank before high punctuation.
_BLANK_MISTAKE_ANYWHERE = r"\s\s|\s[.,](?:\s|$)|(?:^|[^.])\.\.$"

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
def check_blanks(subject: ConfigSubject) -> Iterator[Finding]:
    """A blank too many or too few: two in a row, one at an end or before punctuation, or none between two words.

    Tokenizers make tokens of blanks, so such a sentence is scored as text that nobody writes; Dev et al. have a blank
    before every full stop (UPSTREAM 3.3). Where an `{% if %}` prints nothing, put the blank beside it inside. Two
    full stops at an end are found too. Looked for in English is what a slot prints right behind a word, as in
    `The{{ slot }}`; endings as in `{{ slot }}s`, and prefixes and second halves of words as *un* and *man*, may stand
    there.
    """
    seen: set[tuple[int, int]] = set()
    for block, frame in subject.frames():
        findings = [*_blanks_in_frame(subject, frame)] or [
            *_blanks_in_sentences(subject, block, frame),
            *_missing_blanks(subject, block, frame),
        ]
        yield from (finding for finding in findings if (finding.line, finding.column) not in seen)
        seen |= {(finding.line, finding.column) for finding in findings}


def _blank_pattern(subject: ConfigSubject) -> str:
    return _BLANK_MISTAKE if subject.is_english else _BLANK_MISTAKE_ANYWHERE


def _blanks_in_frame(subject: ConfigSubject, frame: ResolvedFrame) -> Iterator[Finding]:
    """Yield the mistakes that the source of the frame has itself."""
    for match in re.finditer(_blank_pattern(subject), mask_tags(frame.frame.source, "\x00")):
        start, message, hint = match.start(), "a blank before punctuation", "remove it"
        if match[0].endswith(".."):
            start, message, hint = match.end() - 2, "two full stops", "write one, or three for an ellipsis"
        elif match[0].isspace():
            message = "two blanks in a row"
        yield subject.finding((frame.frame.line, frame.frame.column + start), "E117", message, hint)


def _blanks_in_sentences(subject: ConfigSubject, block: ResolvedBlock, frame: ResolvedFrame) -> Iterator[Finding]:
    """Yield the first mistake that comes of what slots and conditions print."""
    pattern = rf"{_blank_pattern(subject)}|^\s|\s$"
    for role in block.roles:
        texts = subject.side(block, frame, role).text
        for text in texts.filter(pc.match_substring_regex(texts, pattern)).slice(0, 1).to_pylist():
            message, hint = "a blank too many in", "put the blank inside the condition"
            if text.endswith("..") and not text.endswith("..."):
                message, hint = "two full stops at the end of", "print the last word without its own"
            yield subject.finding((frame.frame.line, frame.frame.column), "E117", f"{message} {text!r}", hint)
            return


def _missing_blanks(subject: ConfigSubject, block: ResolvedBlock, frame: ResolvedFrame) -> Iterator[Finding]:
    """Yield the first two words of each position that run together, since a slot is printed right behind a word."""
    if not subject.is_english:
        return  # there may be no blanks at all, or other prefixes and endings
    for (at, before), (_, after) in pairwise(enumerate(frame.compiled.segments)):
        if after.block or not after.prints:
            continue  # what the frame itself says behind an output is an ending
        for role in block.roles:
            pieces = subject.side(block, frame, role).pieces
            if joined := _run_together(pieces[at].row_texts, pieces[at + 1].row_texts, before):
                position = frame.frame.line, segment_columns(frame)[at + 1]
                yield subject.finding(position, "E117", f"no blank in {joined!r}", "put one before the output")
                break


def _run_together(left: pa.Array, right: pa.Array, before: Segment) -> str:
    """Return the first two words that touch and are not a compound; an empty text where there are none."""
    for first, second in dict.fromkeys(zip(left.to_pylist(), right.to_pylist(), strict=True)):
        ends, begins = _LAST.search(first), _FIRST.match(second)
        if ends and begins and not (_affixed(ends[0], begins[0]) or (ends[0].isdigit() and not before.prints)):
            return ends[0] + begins[0]
    return ""


def _affixed(first: str, second: str) -> bool:
    """Return whether two pieces may be one word, as un and kind, wait and ress, B and 12."""
    ending = second in _ENDINGS and first.lower() not in FUNCTION_WORDS
    prefix = first.lower() in _PREFIXES and second[0].islower()
    return ending or prefix or (first.isupper() and second.isdigit())


Location = tuple[str | int, ...]


@on_config("E121")
def check_condition_values(subject: ConfigSubject) -> Iterator[Finding]:
    """A value in `flip`, `contested` or `where` that no word of the list has.

    A misspelt value selects nothing and says nothing: labels that should be flipped are not, or a word is missing. true
    and false have no quotes, or they are words. Looked at is the whole list, since a later block may choose other words
    of it.
    """
    reported = set()
    for block in subject.config.template.blocks:
        for position, message, hint in _unmatched_values(block, subject.lists):
            if (position, message) not in reported:  # a block that inherits it has the same place
                reported.add((position, message))
                yield subject.finding(position, "E121", message, hint)


def _unmatched_values(block: Block, lists: WordLists) -> Iterator[tuple[Position, str, str]]:
    for location, slot, column, value in _condition_values(block.front):
        words = lists.get(block.front.slots[slot].list)
        cells = {str(cell): cell for word in words.words for cell in [word.columns[column]]} if words else {}
        if words and value not in cells.values():
            message = f"no word of {words.resource.name} has {column} {value!r}"
            yield block.locate(*location), message, nearest(str(value), {*cells} - {"None"})


def _condition_values(front: Front) -> Iterator[tuple[Location, str, str, object]]:
    """Yield every value of a condition with its location, and the slot and column that it is compared with."""
    for slot, spec in front.slots.items():
        for column, value in spec.where.items():
            # A value alone that fits nothing leaves no words, which is a mistake of its own (E111).
            for number, single in enumerate(value if isinstance(value, list) else []):
                yield ("slots", slot, "where", column, number), slot, column, single
    if isinstance(front, ContrastFront):
        yield from _values_of("flip", front.flip)
        yield from _values_of("contested", front.contested)


def _values_of(key: str, conditions: list[Condition]) -> Iterator[tuple[Location, str, str, object]]:
    for number, condition in enumerate(conditions):
        for name, value in condition.items():
            slot, _, column = name.partition(".")
            for at, single in enumerate(value if isinstance(value, list) else [value]):
                location = (key, number, name, at) if isinstance(value, list) else (key, number, name)
                yield location, slot, column or "word", single


@on_config("E122")
def check_flip(subject: ConfigSubject) -> Iterator[Finding]:
    """`flip` beside `label_basis: none`.

    Without a basis neither sentence is the stereotype, so there is nothing to turn round: either the labels mean
    something, and the basis is `occupation`, `trait` or `both`, or `flip` has to go. A block that only inherits `flip`
    is left alone: it may set the sentences in the order of the other blocks.
    """
    for block in subject.config.template.blocks:
        front, own = block.front, block.sources[0]
        if isinstance(front, ContrastFront) and front.label_basis == "none" and own.get("flip"):
            message = "label_basis is none, so there is no label to flip"
            yield subject.finding(block.locate("flip"), "E122", message, "name the basis, or leave flip out")


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
_OTHER_SYNTAX = re.compile(r"\{\s*(\w+)([\w\s.|]*)\}|\$(\w+)\$?|<(\w+)>|\[(\w+)\]|%(\w+)%")
_REST = 2  # the group that holds filters
_HINT = "fill it in: it would be printed as it is"


@on_config("E115")
def check_template_placeholders(subject: ConfigSubject) -> Iterator[Finding]:
    """A placeholder was left over in a frame, in front matter, or in a cell of a list.

    What looks like `$SENSE-ID$`, `$GENDER$`, `{}`, `<word>`, `[MASK]`, `___` or `TODO` was to be filled in by a tool or
    a person, and so was `%s` or template syntax in a cell, as `{% raw %}`, which is printed as it is. A published pair
    has one in the place of its sense (UPSTREAM 1.5), and was scored with it. Slots are written `{{ slot }}`, with two
    braces: `{slot}` and `$slot` are text.
    """
    for resolved in subject.config.blocks:
        block, names = resolved.block, printable_names(resolved)
        for frame in block.frames:
            for at, text, hint in _placeholders(frame.source, names):
                position = frame.line, frame.column + at
                yield subject.finding(position, "E115", f"{text!r} is a placeholder", hint)
        for location, text in _texts(block.sources[0]):
            if match := _PLACEHOLDER.search(text):
                message = f"{'.'.join(map(str, location))} holds a placeholder: {match[0]!r}"
                yield subject.finding(block.locate(*location), "E115", message, "fill it in")


def find_unfilled(source: str, names: Collection[str]) -> Iterator[tuple[re.Match[str], str]]:
    """Yield what a frame has in the place of an output, as `{slot}` and `$slot`, with the name."""
    for match in _OTHER_SYNTAX.finditer(mask_tags(source, "\n")):
        name = next(group for number, group in enumerate(match.groups(), 1) if group and number != _REST)
        if name in names:
            yield match, name


def _placeholders(source: str, names: Collection[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the placeholders of a frame: offset from 0, text and hint."""
    end = 0
    meant = {match.start(): (match, name) for match, name in find_unfilled(source, names)}
    others = {match.start(): (match, "") for match in _PLACEHOLDER.finditer(mask_tags(source, "\n"))}
    for start, (match, name) in sorted({**others, **meant}.items()):
        if start >= end:
            end = match.end()
            slot = f"{name}{(match[_REST] or '').rstrip()}" if name else ""
            yield start, match[0], f"write {{{{ {slot} }}}}: this is printed as it is" if name else _HINT


@on_list("E115")
def check_cell_placeholders(words: WordList) -> Iterator[Finding]:
    """A placeholder, or template syntax, was left over in a cell."""
    cells = Cells(words)
    for word in words.words:
        for name, cell in word.columns.items():
            if isinstance(cell, str) and (match := _cell_placeholder(cell)):
                message = f"{name} holds a placeholder: {match[0]!r}"
                yield cell_finding(cells, word, name, "E115", message, "fill it in")


def _cell_placeholder(text: str) -> re.Match[str] | None:
    return _SYNTAX.search(text) or _FORMAT.search(text) or _PLACEHOLDER.search(text)


def _texts(data: object, location: Location = ()) -> Iterator[tuple[Location, str]]:
    """Yield every text of front matter, with its location."""
    if isinstance(data, str):
        yield location, data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from _texts(value, (*location, str(key)))
    elif isinstance(data, Sequence):
        for number, value in enumerate(data):
            yield from _texts(value, (*location, number))
