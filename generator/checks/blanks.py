"""Blanks where a sentence has none, none where it needs one, and a full stop too many."""

import re
from collections.abc import Iterator
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.generator.blocks import ResolvedBlock, ResolvedFrame
from senseprobe.generator.checks.reading import columns_of, finding, masked
from senseprobe.generator.checks.registry import Subject, on_config
from senseprobe.generator.checks.words import FUNCTION_WORDS, is_english
from senseprobe.generator.english.tables import word_set
from senseprobe.generator.segments import Segment
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
            if joined := _run_together(pieces[at].said, pieces[at + 1].said, before):
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
