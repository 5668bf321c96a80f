"""Format texts of others, numbers, lists and suggestions for messages."""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

MAX_LISTED = 5
"""The most items of a list that a message names."""

# Scripts that write words with joiners, U+200C and U+200D (Unicode Standard Annex 31, table 4 and section 2.3).
_JOINED_SCRIPTS = re.compile(
    "(ARABIC|SYRIAC|MONGOLIAN|NKO|DEVANAGARI|BENGALI|GURMUKHI|GUJARATI|ORIYA|TAMIL|TELUGU|KANNADA|MALAYALAM|SINHALA"
    "|KHMER|MYANMAR) "
)


def printable(text: str) -> str:
    r"""Return a text that is safe to print: names and values of others may have sequences that control a terminal.

    >>> printable("noun/a.csv"), printable("a\x1b[2J")
    ('noun/a.csv', "'a\\x1b[2J'")
    """
    return text if text.isprintable() else ascii(text)


def visible(text: str) -> str:
    r"""Return a text of several lines without control sequences of a terminal: each such character is escaped.

    >>> visible("a\x1b[2J\nb")
    'a\\x1b[2J\nb'
    """
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def unprintable(text: str) -> int | None:
    r"""Return the position, from 0, of the first character of a text that does not print; None where all print.

    A blank other than U+0020 does not print. A joiner (U+200C, U+200D) prints only between letters of a script that
    writes words with joiners, as those of Persian and Hindi.

    >>> unprintable("a b"), unprintable("a\xa0b"), unprintable("a\u200cb"), unprintable("नी\u200cनी")
    (None, 1, 1, None)
    """
    if text.isprintable():
        return None
    positions = (
        position for position, sign in enumerate(text) if not sign.isprintable() and not _joins(text, position)
    )
    return next(positions, None)


def _joins(text: str, position: int) -> bool:
    """Return whether the character is a joiner between two letters, or marks, of scripts that need joiners."""
    neighbours = (text[max(position - 1, 0) : position], text[position + 1 : position + 2])
    return text[position] in "\u200c\u200d" and all(map(_may_join, neighbours))


def _may_join(letter: str) -> bool:
    """Return whether this is a letter, or mark, of a script that needs joiners; the empty text is not."""
    name = unicodedata.name(letter, "") if letter else ""
    return bool(_JOINED_SCRIPTS.match(name)) and unicodedata.category(letter)[0] in "LM"


def listed(items: Any, count: int | None = None) -> str:  # noqa: ANN401 - any iterable of texts
    """Join the first items, and say how many more there are of `count` (default: of the items).

    >>> listed(["a", "b"]), listed(["a", "b"], 5)
    ('a, b', 'a, b and 3 more')
    """
    texts = list(items)
    more = (len(texts) if count is None else count) - len(texts[:MAX_LISTED])
    return ", ".join(texts[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def conjoined(names: Sequence[str]) -> str:
    """Return names in a list with ``and``: ``noun, verb and race``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def capitalized(text: str) -> str:
    """Return a text whose first letter is a capital."""
    return text[:1].upper() + text[1:]


def as_sentence(text: str) -> str:
    """Return a clause with a capital and a full stop, unless it ends like a sentence; empty of nothing.

    >>> as_sentence("the file is damaged")
    'The file is damaged.'
    """
    return capitalized(text) + ("" if text.endswith((".", "?")) else ".") if text else ""


def as_paragraph(*sentences: str) -> str:
    """Return sentences one after the other, without those that are empty."""
    return " ".join(filter(None, sentences))


def counted(number: int, noun: str, several: str = "") -> str:
    """Return a number with its noun; `several` is the plural where that is not the noun with an ``s``.

    >>> counted(1, "row"), counted(2000, "row"), counted(0, "person", "people")
    ('1 row', '2,000 rows', '0 people')
    """
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"


def sized(number: int) -> str:
    """Return a number of bytes in units of a thousand, to three digits.

    >>> sized(999), sized(12_345), sized(4_200_000_000_000_000)
    ('999 bytes', '12.3 kB', '4,200 TB')
    """
    if number < 1_000:
        return counted(number, "byte")
    power = min((len(str(number)) - 1) // 3, 4)
    value = number / 1_000**power
    return f"{value:,.{max(0, 2 - len(str(int(value))) + 1)}f} {('kB', 'MB', 'GB', 'TB')[power - 1]}"


def meant(name: str, names: Iterable[str]) -> str:
    """Return the question whether the most similar of `names` was meant; empty where none is similar.

    >>> meant("ppl", ["aul", "pll"]), meant("x", ["aul"])
    ("did you mean 'pll'?", '')
    """
    near = get_close_matches(name, [*names], n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a hint: the most similar of `names`, or else the first twenty of them in alphabetical order.

    >>> nearest("raec", ["race", "colour"])
    "did you mean 'race'?"
    """
    all_names = sorted(names)
    return meant(name, all_names) or f"there is {', '.join(all_names[:20]) or 'none'}"


def offered(name: str, names: Iterable[str], like: Iterable[str] | None = None) -> str:
    """Return the most similar name of `like` (default: of `names`), and the list of all `names` in their order.

    >>> offered("ppl", ["aul", "pll"]), offered("x", [])
    ("did you mean 'pll'? there is aul, pll", 'there is none')
    """
    all_names = [*names]
    return f"{meant(name, all_names if like is None else like)} there is {', '.join(all_names) or 'none'}".lstrip()


def shortened(value: object) -> str:
    """Return a value of a manifest or a row in one line of at most 200 characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else f"{text[:200]}…"
