"""Mistakes in the text of frames and cells, and sentences that do not read like sentences.

Blanks too many or too few, conditions that no word fulfils or that decide nothing, words that stand twice in a
sentence, and sentences without a capital or a full stop.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, islice, pairwise
from math import prod

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.generator.checks.base import (
    ConfigSubject,
    FrameSubject,
    Position,
    check,
    first_words,
    mask_tags,
)
from senseprobe.generator.checks.orthography import FUNCTION_WORDS, WORDS
from senseprobe.generator.english.inflection import word_set
from senseprobe.generator.kinds import EXPANSIONS
from senseprobe.generator.kinds.contrast import ContrastFront
from senseprobe.generator.schema import Block, Front
from senseprobe.generator.segments import Segment
from senseprobe.messages import nearest
from senseprobe.records import Finding

# ---- Blanks ----

# By whether sentences are English: French has a blank before high punctuation.
_BLANK_MISTAKE = {
    english: rf"\s\s|\s[{marks}](?:\s|$)|(?:^|[^.])\.\.$" for english, marks in {True: ".,;:!?", False: ".,"}.items()
}
_TWO_STOPS = "two full stops"
_LAST, _FIRST = re.compile(r"[^\W_]+$"), re.compile(r"[^\W_]+")

# Pieces that make one word with what they touch.
_PREFIXES, _ENDINGS = word_set(WORDS["prefixes"]), word_set(WORDS["endings"])


@check("E117")
def check_blanks(subject: ConfigSubject) -> Iterator[Finding]:
    """A space is missing or superfluous: two in a row, one at an end or before punctuation, or none between words.

    Tokenizers turn spaces into tokens, so such a sentence is unusual text for a model. Dev et al. have a space
    before every full stop. If an `{% if %}` can print nothing, put the space inside it. Two full stops at an end
    are reported too. In English, the check also looks at the text right after a slot, as in `The{{ slot }}`.
    Endings such as `{{ slot }}s`, prefixes such as *un* and second halves of words such as *man* are allowed.
    """
    seen: set[Position] = set()
    for frame in subject.frames:
        findings = []
        for start, message in find_blank_mistakes(mask_tags(frame.source, "\x00"), english=subject.is_english):
            hint = "write one full stop, or three for an ellipsis" if message == _TWO_STOPS else "remove it"
            findings.append(frame.finding("E117", message, hint, frame.position[1] + start))
        findings = findings or [*_blanks_in_sentences(frame), *_missing_blanks(frame)]
        yield from (finding for finding in findings if (finding.line, finding.column) not in seen)
        seen |= {(finding.line, finding.column) for finding in findings}


def find_blank_mistakes(text: str, *, english: bool) -> Iterator[tuple[int, str]]:
    """Yield the position of each blank too many, and of two full stops at the end, with what is wrong there."""
    for match in re.finditer(_BLANK_MISTAKE[english], text):
        if match[0].endswith(".."):
            yield match.end() - 2, _TWO_STOPS
        else:
            yield match.start(), "two spaces in a row" if match[0].isspace() else "a space before punctuation"


def _blanks_in_sentences(frame: FrameSubject) -> Iterator[Finding]:
    """Yield the first mistake that comes of what slots and conditions print."""
    pattern = rf"{_BLANK_MISTAKE[frame.config_subject.is_english]}|^\s|\s$"
    for role in frame.block.roles:
        texts = frame.side(role).text
        for text in texts.filter(pc.match_substring_regex(texts, pattern)).slice(0, 1).to_pylist():
            message, hint = "a superfluous space in", "put the space inside the condition"
            if text.endswith("..") and not text.endswith("..."):
                message, hint = "two full stops at the end of", "print the last word without its full stop"
            yield frame.finding("E117", f"{message} {text!r}", hint)
            return


def _missing_blanks(frame: FrameSubject) -> Iterator[Finding]:
    """Yield the first two words of each position that run together, since a slot is printed right behind a word."""
    if not frame.config_subject.is_english:
        return  # there may be no blanks at all, or other prefixes and endings
    for (at, before), (_, after) in pairwise(enumerate(frame.segments)):
        if after.block or not after.prints:
            continue  # what the frame itself says behind an output is an ending
        for role in frame.block.roles:
            left, right = (piece.row_texts for piece in frame.side(role).pieces[at : at + 2])
            if joined := _run_together(left, right, before):
                message, hint = f"a missing space in {joined!r}", "put one before the output"
                yield frame.finding("E117", message, hint, frame.columns[at + 1])
                break


def _run_together(left: pa.Array, right: pa.Array, before: Segment) -> str:
    """Return the first two words that touch and are not a compound; an empty text where there are none."""
    for first, second in dict.fromkeys(zip(left.to_pylist(), right.to_pylist(), strict=True)):
        ends, begins = _LAST.search(first), _FIRST.match(second)
        if not ends or not begins:
            continue
        end, begin = ends[0], begins[0]
        ending = begin in _ENDINGS and end.lower() not in FUNCTION_WORDS  # wait and ress
        prefix = end.lower() in _PREFIXES and begin[0].islower()  # un and kind
        number = (end.isupper() and begin.isdigit()) or (end.isdigit() and not before.prints)  # B and 12
        if not (ending or prefix or number):
            return end + begin
    return ""


# ---- Conditions ----

Location = tuple[str | int, ...]


@check("E121")
def check_condition_values(subject: ConfigSubject) -> Iterator[Finding]:
    """A value in `flip`, `contested` or `where` does not occur in the list.

    A misspelt value selects nothing, without a message: labels are not flipped, or a word is missing. Write true
    and false without quotes; in quotes they are words. The check looks at the whole list, because a later block may
    select other words.
    """
    blocks = subject.config.template.blocks
    # A block that inherits a condition has it in the same place.
    yield from dict.fromkeys(finding for block in blocks for finding in _unmatched_values(subject, block))


def _unmatched_values(subject: ConfigSubject, block: Block) -> Iterator[Finding]:
    for location, slot, column, value in _condition_values(block.front):
        words = subject.lists.get(block.front.slots[slot].list)
        cells = {str(cell): cell for word in words.words for cell in [word.columns[column]]} if words else {}
        if words and value not in cells.values():
            message = f"{words.resource.name} does not have a word with {column} {value!r}"
            hint = nearest(str(value), {*cells} - {"None"})
            yield subject.finding(block.locate(*location), "E121", message, hint)


def _condition_values(front: Front) -> Iterator[tuple[Location, str, str, object]]:
    """Yield every value of a condition with its location, and the slot and column that it is compared with."""
    conditions: list[tuple[Location, str, str, object]] = [
        (("slots", slot, "where", column), slot, column, value)
        for slot, spec in front.slots.items()
        for column, value in spec.where.items()
        if isinstance(
            value, list
        )  # a value alone that fits nothing leaves no words, which is a mistake of its own (E111)
    ]
    for key in ("flip", "contested") if isinstance(front, ContrastFront) else ():
        for number, condition in enumerate(getattr(front, key)):
            for name, value in condition.items():
                slot, _, column = name.partition(".")
                conditions.append(((key, number, name), slot, column or "word", value))
    for location, slot, column, value in conditions:
        if isinstance(value, list):
            yield from (((*location, at), slot, column, single) for at, single in enumerate(value))
        else:
            yield location, slot, column, value


@check("E122")
def check_flip(subject: ConfigSubject) -> Iterator[Finding]:
    """`flip` is used with `label_basis: none`.

    Without a basis, neither sentence is the stereotype, so there is nothing to flip. If the labels mean something,
    set the basis to `occupation`, `trait` or `both`; otherwise remove `flip`. A block that only inherits `flip` is
    not reported: it may put the sentences into the order of the other blocks.
    """
    for block in subject.config.template.blocks:
        front, declared = block.front, block.sources[0]
        if isinstance(front, ContrastFront) and front.label_basis == "none" and declared.get("flip"):
            message = "label_basis is none, so there is not a label to flip"
            yield subject.finding(block.locate("flip"), "E122", message, "name the basis, or remove flip")


# ---- Sentences ----


@check("W511")
def check_repeated_words(subject: ConfigSubject) -> Iterator[Finding]:
    """A sentence contains the same word twice, because two slots share it.

    "The captain befriended a captain" tests nothing that "The captain befriended a judge" does not, and reads
    oddly. Dev et al. have 160 such premises. Narrow one of the slots with `where`, or accept the warning with the
    reason for keeping the rows.
    """
    rows: Counter[tuple[Position, Slots]] = Counter()
    words: dict[tuple[Position, Slots], dict[str, None]] = {}
    for frame in subject.frames:
        for (column, slots), shared in _shared_words(frame).items():
            key = (frame.position[0], column), slots
            rows[key] += frame.block.product * len(shared) // prod(len(frame.block.slots[slot]) for slot in slots)
            words.setdefault(key, {}).update(dict.fromkeys(shared))
    for (position, slots), count in rows.items():
        text = first_words([*words[position, slots]])
        message = f"the same word twice in {count} rows: {' and '.join(slots)} share {text}"
        yield subject.finding(position, "W511", message, "narrow one of the slots with `where`")


Slots = tuple[str, str]


def _shared_words(frame: FrameSubject) -> dict[tuple[int, Slots], list[str]]:
    """Return by the column of the second, and by two slots that one sentence prints, words that both print alike."""
    block = frame.block
    repeated: dict[tuple[int, Slots], list[str]] = {}
    for role in block.roles:
        printing: dict[str, Segment] = {}
        for segment, column in zip(frame.segments, frame.columns, strict=True):
            slots = block.reads(role, segment.prints)
            if len(slots) != 1 or segment.block or block.reads(role, segment.reads) != slots:
                continue
            for earlier, other in printing.items():
                segments = {earlier: other, slots[0]: segment}
                if earlier != slots[0] and (shared := _identical_words(frame, role, segments)):
                    repeated.setdefault((column, (earlier, slots[0])), shared)
            printing.setdefault(slots[0], segment)
    return repeated


def _identical_words(frame: FrameSubject, role: str, printing: Mapping[str, Segment]) -> list[str]:
    """Return the words that two slots have in common and that their segments print alike, articles aside."""
    first, second = ({word.lower(): word for word in frame.block.slots[slot]} for slot in printing)
    alike = []
    for word in first.keys() & second.keys():
        words = zip(printing.items(), (first[word], second[word]), strict=True)
        texts = [frame.render(role, segment, {slot: value}) for (slot, segment), value in words]
        if len({text.lower() for _, text in filter(None, texts)}) == 1:
            alike.append(word)
    return sorted(alike)


_OPENING = "\"'([\u00a1\u00bf\u2018\u201c\u00ab"
_CLOSING = "\"')]\u2019\u201d\u00bb"
_STOPS = (*".!?:;", "\u2026", "\u3002", "\uff01", "\uff1f", "\u0964")


@check("W514")
def check_sentence_ends(subject: ConfigSubject) -> Iterator[Finding]:
    """A sentence begins without a capital or digit, or ends without a full stop although others have one.

    Models learn from text with capitals and full stops. Other sentences are unusual text, and frames that differ in
    this respect are not comparable. Write the first output with `upfirst`, and end all frames of a config with the
    same punctuation.
    """
    lower_case: dict[Position, dict[str, None]] = {}
    open_: dict[int, int] = {}
    closed = 0
    fragments = EXPANSIONS[subject.config.kind].fragments
    for frame in (frame for frame in subject.frames if frame.resolved.frame.code not in fragments):
        for text in _beginnings(frame):
            word = (text.lstrip(_OPENING).split() or [""])[0]
            if word[:1].islower() and word.lower() == word:  # iPhone may begin a sentence
                lower_case.setdefault(frame.position, {})[text.strip()] = None
        if all(ends_in_punctuation(text) for text in _beginnings(frame, from_end=True)):
            closed += 1
        else:
            open_.setdefault(*frame.position)
    for position, texts in lower_case.items():
        message = f"the sentence does not begin with a capital: {first_words([*texts])}"
        yield subject.finding(position, "W514", message, "write a capital, or use `| upfirst`")
    message = "the frame does not end in punctuation" + (", but others do" if closed else "")
    if len(open_) > 1 and not closed:
        message = "none of the frames ends in punctuation"
    for position in islice(open_.items(), None if closed else 1):
        yield subject.finding(position, "W514", message, "end it with a full stop")


def ends_in_punctuation(text: str) -> bool:
    """Return whether a text ends in punctuation, before what closes a quotation or a bracket.

    >>> ends_in_punctuation('He said "no."'), ends_in_punctuation("He said")
    (True, False)
    """
    return text.rstrip().rstrip(_CLOSING).endswith(_STOPS)


def _beginnings(frame: FrameSubject, from_end: bool = False) -> Iterator[str]:
    """Yield what sentences begin with, or end with: as few segments as always print something."""
    for role in frame.block.roles:
        for n in range(1, len(frame.segments) + 1):
            segments = frame.segments[-n:] if from_end else frame.segments[:n]
            slots = frame.block.reads(role, [name for segment in segments for name in segment.reads])
            rows = frame.combinations(slots)
            printed = ([frame.render(role, segment, chosen) or () for segment in segments] for chosen in rows)
            texts = ["".join(chain.from_iterable(pieces)).strip() for pieces in printed]
            if all(texts):
                yield from texts
                break
