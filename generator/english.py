"""English in templates: articles, plurals and capitals. The row's own columns first, then a table, then a library.

Whatever was not stated by a row is a guess; guesses are recorded, and a release freezes them in its recipe, so that an
upgrade of the library cannot change it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol, cast

from senseprobe.generator.wordlists import Word

__all__ = ["MARK", "English", "Guess"]

MARK = "\x1f"
"""Stands between an article and its word until the sentence is whole: the target's span leaves the article out."""

# Spoken as letters, the first of which has a name that begins with a vowel: an HIV-positive person, an LGBT group.
_LETTERS = re.compile(r"[AEFHILMNORSX][A-Z0-9]*(?![a-z])")
_VOWEL_NUMERAL = re.compile(r"(?:8\d*|1[18](?:\d{3})*)(?!\d)")  # eight, eighty, eleven, eighteen, eleven thousand
_AN = ("heir", "honest", "hour", "usher")
_A = ("european", "nasa", "nato", "one-", "ukrainian", "university")

Guess = tuple[str, str]
"""What was asked (`a` or `plural`) and of which text."""


class _Inflect(Protocol):
    def a(self, text: str) -> str: ...

    def plural_noun(self, text: str) -> str | bool: ...


@cache
def _inflect() -> _Inflect:
    import inflect

    return cast("_Inflect", inflect.engine())


@dataclass(slots=True)
class English:
    """The filters of templates, and every guess that they made.

    `frozen` holds the guesses of a release: they win over table and library.
    """

    frozen: Mapping[Guess, str] = field(default_factory=dict)
    guesses: dict[Guess, str] = field(default_factory=dict)

    def filters(self) -> dict[str, Callable[[str], str]]:
        """The filters by the name that templates use."""
        return {"a": self.a, "plural": self.plural, "upfirst": self.upfirst}

    def a(self, text: str) -> str:
        """The text with its indefinite article; a row's column `article` (``a``, ``an`` or ``none``) overrides."""
        stated = text.columns.get("article") if isinstance(text, Word) else None
        article = str(stated) if stated else self._guess("a", text, _article)
        return text if article == "none" else f"{article}{MARK} {text}"

    def plural(self, text: str) -> str:
        """The plural of a noun; a row's column `plural` overrides."""
        stated = text.columns.get("plural") if isinstance(text, Word) else None
        return str(stated) if stated else self._guess("plural", text, _plural)

    def unfrozen(self) -> list[Guess]:
        """Guesses that were made although a release's answers were given, sorted."""
        return sorted(self.guesses.keys() - self.frozen.keys())

    @staticmethod
    def upfirst(text: str) -> str:
        """The text with its first letter in upper case and the others as they were.

        >>> English.upfirst("an Iraqi")
        'An Iraqi'
        """
        return text[:1].upper() + text[1:]

    def _guess(self, kind: str, text: str, rule: Callable[[str], str]) -> str:
        asked = (kind, str(text))
        if asked not in self.guesses:
            self.guesses[asked] = self.frozen.get(asked) or rule(str(text))
        return self.guesses[asked]


def _article(text: str) -> str:
    word = text.lower()
    if word.startswith(_A):
        return "a"
    if word.startswith(_AN) or _VOWEL_NUMERAL.match(text) or _LETTERS.match(text):
        return "an"
    if text[:1].isdigit():
        return "a"
    return _inflect().a(text).split(" ", 1)[0]


def _plural(text: str) -> str:
    return str(_inflect().plural_noun(text) or text)
