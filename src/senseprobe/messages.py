"""Texts of others, numbers and lists, as messages tell them."""

import json
import re
import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

SHOWN = 5
"""How many of many things are named."""

# Scripts that write words with joiners, U+200C and U+200D (Unicode Standard Annex 31, table 4 and section 2.3).
_JOINED_SCRIPTS = re.compile(
    "(ARABIC|SYRIAC|MONGOLIAN|NKO|DEVANAGARI|BENGALI|GURMUKHI|GUJARATI|ORIYA|TAMIL|TELUGU|KANNADA|MALAYALAM|SINHALA"
    "|KHMER|MYANMAR) "
)


def printable(text: str) -> str:
    r"""The text as it is safe to print: names and values of others may hold what steers a terminal.

    >>> printable("noun/a.csv"), printable("a\x1b[2J")
    ('noun/a.csv', "'a\\x1b[2J'")
    """
    return text if text.isprintable() else ascii(text)


def unprintable(text: str) -> int | None:
    r"""Return the place, from 0, of the first character of a text that does not print; None where there is none.

    A blank other than U+0020 does not print, and neither does a joiner (U+200C, U+200D), but between letters of a
    script that writes words with joiners, as Persian and Hindi do.

    >>> unprintable("a b"), unprintable("a\xa0b"), unprintable("a\u200cb"), unprintable("नी\u200cनी")
    (None, 1, 1, None)
    """
    if text.isprintable():
        return None
    odd = (at for at, sign in enumerate(text) if not sign.isprintable() and not _joins(text, at))
    return next(odd, None)


def _joins(text: str, at: int) -> bool:
    """Whether the character is a joiner between two letters, or marks, of scripts that need joiners."""
    beside = (text[max(at - 1, 0) : at], text[at + 1 : at + 2])
    return text[at] in "\u200c\u200d" and all(map(_may_join, beside))


def _may_join(letter: str) -> bool:
    """Whether it is a letter, or mark, of a script that needs joiners; the empty text is none."""
    name = unicodedata.name(letter, "") if letter else ""
    return bool(_JOINED_SCRIPTS.match(name)) and unicodedata.category(letter)[0] in "LM"


def listed(items: Any, count: int | None = None) -> str:  # noqa: ANN401 - any iterable of texts
    """The first items, and how many more there are of `count` (default: of the items)."""
    told = list(items)
    more = (len(told) if count is None else count) - len(told[:SHOWN])
    return ", ".join(told[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def counted(number: int, noun: str, several: str = "") -> str:
    """A number with its noun; `several` where the plural is not the noun with an ``s``.

    >>> counted(1, "row"), counted(2000, "row"), counted(0, "person", "people")
    ('1 row', '2,000 rows', '0 people')
    """
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"


def sized(number: int) -> str:
    """A number of bytes in units of a thousand, to three digits.

    >>> sized(999), sized(12_345), sized(4_200_000_000_000_000)
    ('999 bytes', '12.3 kB', '4,200 TB')
    """
    if number < 1_000:
        return counted(number, "byte")
    power = min((len(str(number)) - 1) // 3, 4)
    value = number / 1_000**power
    return f"{value:,.{max(0, 2 - len(str(int(value))) + 1)}f} {('kB', 'MB', 'GB', 'TB')[power - 1]}"


def meant(name: str, known: Iterable[str]) -> str:
    """The question whether the known name that is most like `name` was meant; empty where none is like it.

    >>> meant("ppl", ["aul", "pll"]), meant("x", ["aul"])
    ("did you mean 'pll'?", '')
    """
    near = get_close_matches(name, [*known], n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint: the known name that is most like `name`, or else the first twenty of all, in alphabetical order."""
    names = sorted(known)
    return meant(name, names) or f"there is {', '.join(names[:20]) or 'none'}"


def offered(name: str, known: Iterable[str], like: Iterable[str] | None = None) -> str:
    """What may have been meant, of the names `like` (default: all), and all known ones in their order: where they fit.

    >>> offered("ppl", ["aul", "pll"]), offered("x", [])
    ("did you mean 'pll'? there is aul, pll", 'there is none')
    """
    names = [*known]
    return f"{meant(name, names if like is None else like)} there is {', '.join(names) or 'none'}".lstrip()


def shortened(value: object) -> str:
    """A value of a manifest or a row, in one line of at most 200 signs."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else f"{text[:200]}…"
