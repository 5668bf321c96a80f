"""Texts of others, numbers and lists, as messages tell them."""

import json
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

__all__ = ["SHOWN", "counted", "listed", "meant", "nearest", "offered", "printable", "shortened"]

SHOWN = 5
"""How many of many things are named."""


def printable(text: str) -> str:
    r"""The text as it is safe to print: names and values of others may hold what steers a terminal.

    >>> printable("noun/a.csv"), printable("a\x1b[2J")
    ('noun/a.csv', "'a\\x1b[2J'")
    """
    return text if text.isprintable() else ascii(text)


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
