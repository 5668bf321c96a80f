"""Texts that look alike and are not: the same after normalisation, or written with letters of another script."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise

from senseprobe.generator.cells import Cells
from senseprobe.generator.checks.reading import finding, masked
from senseprobe.generator.checks.registry import Subject, on_config, on_list
from senseprobe.generator.checks.words import is_english
from senseprobe.generator.wordlists import WordList
from senseprobe.records import Finding

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
            path=words.shown, line=word.line, column=column, code="W517", message=message, hint="type it again"
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
