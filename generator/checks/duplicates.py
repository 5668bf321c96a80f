"""Sentences that are there more than once: in a pair, by a slot that changes nothing, or by a frame that is copied.

Texts that look alike and are not: the same after normalisation, or written with letters of another script.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import prod

import numpy as np
import pyarrow.compute as pc

from senseprobe.generator.checks.context import TAG, finding, masked, spread
from senseprobe.generator.checks.registry import Subject, on_config, on_list
from senseprobe.generator.checks.template_text import names_of, unfilled
from senseprobe.generator.checks.words import is_english
from senseprobe.generator.config import Config, ResolvedBlock, ResolvedFrame
from senseprobe.generator.english import MARK
from senseprobe.generator.product import RowSelection
from senseprobe.generator.render import FrameRows, flags, join
from senseprobe.generator.word_lists import Cells, Word, WordList
from senseprobe.records import Finding

# Blanks within a tag say nothing.


@on_config("E118")
def same_twice(subject: Subject) -> Iterator[Finding]:
    """Both sentences of a pair say the same.

    Such a pair has no answer: every model prefers neither, and it is counted as a tie. Print what the roles bind, and
    see that they bind different words.
    """
    seen = set()
    for block in subject.config.blocks:
        for frame in block.frames if len(block.roles) > 1 else ():
            place = frame.frame.line, frame.frame.column
            if any(unfilled(frame.frame.source, names_of(block))):
                continue  # said by E115: what differs was to be printed
            if place not in seen and (message := _same(subject.config, block, frame)):
                seen.add(place)
                yield finding(subject.config, place, "E118", message, "bind words that differ, and print them")


def _same(config: Config, block: ResolvedBlock, frame: ResolvedFrame) -> str:
    """What is wrong with the pairs that say the same; empty where there are none.

    Compared is what segments print that roles bind differently; the others are alike.
    """
    names = [block.names(role) for role in block.roles]
    differ = {name for name in names[0] if names[0][name] != names[1][name]}
    numbers = [at for at, segment in enumerate(frame.compiled.segments) if differ & {*segment.reads}]
    reads = [name for at in numbers for name in frame.compiled.segments[at].reads]
    slots = {slot for role in block.roles for slot in block.reads(role, reads)}
    picked = _all_slots(block, spread(block, [slot for slot in block.slots if slot in slots]))
    sides = [FrameRows(config, block, frame).side(role, picked) for role in block.roles]
    told = [join([side.pieces[at].row_texts for at in numbers] or [""], picked.n, MARK) for side in sides]
    same = flags(pc.equal(*told))
    if not same.any():
        return ""
    combinations = prod(len(block.slots[slot]) for slot in slots)
    share = "all" if same.all() else str(int(same.sum())) if combinations == picked.n else "some"
    said = f"both sentences are {sides[0].text[int(same.argmax())].as_py()!r}"
    return f"{said}: so are {share} of {combinations} combinations of words" if combinations > 1 else said


def _all_slots(block: ResolvedBlock, picked: RowSelection) -> RowSelection:
    still = np.zeros(picked.n, dtype=np.int64)
    return RowSelection({slot: picked.at.get(slot, still) for slot in block.slots}, picked.n)


@on_config("E119")
def unread_slot(subject: Subject) -> Iterator[Finding]:
    """A slot with several words changes no sentence, so that each sentence comes out several times.

    Repeated sentences count several times in every figure without adding evidence: the published data has 16 (UPSTREAM
    1.5). Print the slot, or give it one word in this block with `where`.
    """
    seen = set()
    for block in subject.config.blocks:
        read = {frame: {*_reads(block, frame)} for frame in block.frames}
        for slot, words in block.slots.items():
            without = [frame for frame in block.frames if slot not in read[frame]] if len(words) > 1 else []
            nowhere = without and len(without) == len(block.frames)
            for frame in without[:1] if nowhere else without:
                place = block.block.locate("slots", slot) if nowhere else (frame.frame.line, frame.frame.column)
                if (slot, place) not in seen:
                    seen.add((slot, place))
                    where = "no frame reads" if nowhere else "this frame does not read"
                    message = f"{where} {slot!r}: each sentence comes out {len(words)} times"
                    yield finding(subject.config, place, "E119", message, "print it, or give it one word with `where`")


def _reads(block: ResolvedBlock, frame: ResolvedFrame) -> Iterator[str]:
    """The slots that a frame reads in any role, and those that it was to read: `{slot}` is a finding of E115."""
    names = [name for segment in frame.compiled.segments for name in segment.reads]
    names += [name for _, name in unfilled(frame.frame.source, names_of(block))]
    for role in block.roles:
        yield from block.reads(role, names)


@on_config("E124")
def frame_twice(subject: Subject) -> Iterator[Finding]:
    """The same frame is there twice, under two names, for the same words, so that sentences come out several times.

    Another `{# id: name #}` makes other ids of the same sentences, which then count several times in every figure (see
    E119). Remove one of the frames, or give their blocks different words with `where`.
    """
    earlier: dict[str, list[tuple[ResolvedBlock, ResolvedFrame]]] = {}
    told = set()
    for block in subject.config.blocks:
        for frame in block.frames:
            others = earlier.setdefault(TAG.sub(lambda tag: "".join(tag[0].split()), frame.frame.source), [])
            same = next((theirs for their, theirs in others if _says_the_same(their, theirs, block, frame)), None)
            others.append((block, frame))
            place = frame.frame.line, frame.frame.column
            if same and place not in told:
                told.add(place)
                message = f"the frame on line {same.frame.line} says the same, with the same words"
                yield finding(subject.config, place, "E124", message, "remove one of the two")


def _says_the_same(one: ResolvedBlock, theirs: ResolvedFrame, other: ResolvedBlock, frame: ResolvedFrame) -> bool:
    """Whether two frames of one text print what is bound alike, of slots that share words; their codes differ."""
    names = {name for segment in frame.compiled.segments for name in segment.reads}
    bound = [
        {(role, name): _bound(block, role, name) for role in block.roles for name in names} for block in (one, other)
    ]
    slots = {slot for role in other.roles for slot in other.reads(role, names)}
    shared = all({*one.slots[slot]} & {*other.slots[slot]} for slot in slots)
    return theirs.frame.code != frame.frame.code and bound[0] == bound[1] and shared


def _bound(block: ResolvedBlock, role: str, name: str) -> object:
    """What a name stands for, as something that is equal to its like: a slot, or a word with its columns."""
    bound = block.names(role)[name]
    return (str(bound), dict(bound.columns)) if isinstance(bound, Word) else bound


# Unicode Technical Standard 39, confusables.txt: letters of Cyrillic and Greek that look like one of Latin in most
# fonts. Pairs within a script (I and l), of other scripts and of rare letters are left out: lists of words are not
# attacks, and what is here is what copying and keyboards mix up.
_CONFUSABLES = """
0391 A  0392 B  0395 E  0396 Z  0397 H  0399 I  039A K  039C M  039D N  039F O  03A1 P  03A4 T
03A5 Y  03A7 X  03B1 a  03B3 y  03B9 i  03BD v  03BF o  03C1 p  03C3 o  03C5 u  0405 S  0406 I
0408 J  0410 A  0412 B  0415 E  041A K  041C M  041D H  041E O  0420 P  0421 C  0422 T  0423 Y
0425 X  0430 a  0433 r  0435 e  043E o  0440 p  0441 c  0443 y  0445 x  0455 s  0456 i  0458 j
0474 V  0475 v  04BB h  04CF l  0501 d  051A Q  051B q  051C W  051D w
"""
_LATIN = {int(code, 16): letter for code, letter in (pair.split() for pair in re.split(r"  |\n", _CONFUSABLES.strip()))}

# Greek letters that are written as signs in Latin text: μm, kΩ, NFκB. Alpha, gamma, rho and sigma look like Latin ones:
# they are signs only where no small letter of Latin is in the word, as in the TNF that ends with an alpha. The other
# letters of Greek look the same as Latin ones, or are not used as signs.
_SIGNS = frozenset("βδεζηθκλμπτφχψωΓΔΘΛΞΠΣΦΨΩ")
_ALL_SIGNS = _SIGNS | frozenset("\u03b1\u03b3\u03c1\u03c3")

_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK")
_WORD = re.compile(r"[^\W\d_]+")


def skeleton(text: str) -> str:
    """What a text looks like: after NFKC, with Latin letters for those of Cyrillic and Greek that look like them.

    Two texts with one skeleton can hardly be told apart by eye (UTS 39, section 4).
    """
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_LATIN)


def _script(letter: str) -> str:
    """The script of a letter if it is one that is looked at, else empty."""
    name = unicodedata.name(letter, "").partition(" ")[0]
    return name if name in _SCRIPTS else ""


def _foreign(text: str, *, latin: bool) -> Iterator[tuple[int, str, str]]:
    """Words that mix scripts, with their places from 0 and the letters that are not Latin.

    In `latin` text also those that have no Latin letter, and look as if they had no other.
    """
    for word in () if text.isascii() else _WORD.finditer(text):
        scripts = {_script(letter) for letter in word[0]} - {""}
        hidden = latin and "LATIN" not in scripts and skeleton(word[0]).isascii() and not word[0].isascii()
        if (len(scripts) > 1 or hidden) and not _has_signs_only(word[0]):
            yield word.start(), word[0], "".join(dict.fromkeys(c for c in word[0] if _script(c) in _SCRIPTS[1:]))


def _has_signs_only(word: str) -> bool:
    """Whether all letters of a word that are not Latin are Greek signs, each of which stands alone."""
    latin = [_script(letter) == "LATIN" for letter in word]
    signs = _SIGNS if any(at and letter.islower() for at, letter in zip(latin, word, strict=True)) else _ALL_SIGNS
    alone = all(first or second for first, second in pairwise(latin))
    return alone and all(at or letter in signs for at, letter in zip(latin, word, strict=True))


def _codes(letters: Iterable[str]) -> str:
    """Letters by their numbers and names, as they cannot be told apart otherwise."""
    return ", ".join(f"U+{ord(letter):04X} {unicodedata.name(letter, '').lower()}".rstrip() for letter in letters)


def _apart(first: str, second: str) -> str:
    """The letters of the second text that the first one does not have, else all that are not plain."""
    return _codes(dict.fromkeys(c for c in second if c not in first)) or "in another order or form"


@on_list("W517")
def alike_in_a_list(words: WordList) -> Iterator[Finding]:
    """Two words, or two frames, look the same and are not; or a word mixes scripts.

    A Cyrillic or Greek letter in the place of a Latin one, a ligature or a letter of double width is invisible to
    readers and annotators, while a model reads other tokens: the word is rare or unknown to it, and its rows stand
    beside those of its twin. Looked for are words that are equal after NFKC with look-alike letters of Latin, Cyrillic
    and Greek taken for one another (UTS 39), words of letters from two of these scripts, and in English frames words
    that only look Latin. A single Greek letter that is a sign in Latin text (μm, kΩ, NFκB) is none of them. Type the
    word again.
    """
    cells, seen = Cells(words), dict[str, str]()
    for word in words.words:
        text = str(word)
        twin = seen.setdefault(skeleton(text), text)
        mixed = next(_foreign(text, latin=False), None)
        if twin != text:
            message = f"{text!r} looks like {twin!r}: {_apart(twin, text)}"
        elif mixed:
            message = f"{mixed[1]!r} mixes scripts: {_codes(mixed[2])}"
        else:
            continue
        column = cells.column(word, "word")
        yield Finding(
            path=words.display_path, line=word.line, column=column, code="W517", message=message, hint="type it again"
        )


@on_config("W517")
def alike_in_a_config(subject: Subject) -> Iterator[Finding]:
    """Two frames look the same and are not; or a word of a frame is not of the script that it seems to be of."""
    latin, seen = is_english(subject.dataset.card.languages), dict[str, tuple[str, int]]()
    for frame in dict.fromkeys(frame for block in subject.config.template.blocks for frame in block.frames):
        twin, line = seen.setdefault(skeleton(frame.source), (frame.source, frame.line))
        if twin != frame.source:
            message = f"the frame looks like that on line {line}: {_apart(twin, frame.source)}"
            yield finding(subject.config, (frame.line, frame.column), "W517", message, "remove one of the two")
            continue
        for at, word, letters in _foreign(masked(frame.source, " "), latin=latin):
            message = f"{word!r} is not what it looks like: {_codes(letters)}"
            yield finding(subject.config, (frame.line, frame.column + at), "W517", message, "type it again")
