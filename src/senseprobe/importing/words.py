"""Where a word is in a sentence, by the forms that English gives it."""

import re
from functools import lru_cache

_SHORTEST = 3
"""Letters of the shortest word that is inflected: `be` and `bed` are two words."""

_PLURAL, _VERBAL = range(2)

_RULES = tuple(
    (re.compile(rf"(?:{ends})\Z"), dropped, (plural.split(), verbal.split()))
    for ends, dropped, plural, verbal in (
        (r"[^aeiou]y", 1, "ies", "ied ying"),
        (r"ie", 2, "ies", "ied ying"),
        (r"[eoy]e", 0, "s", "ing"),  # no d: `seed` is not `see`
        (r"e", 1, "es", "ed ing"),
        (r"ch|o", 0, "s es", "ed ing"),
        (r"s|x|z|sh", 0, "es", "ed ing"),
        (r"\A[^aeiou]*[aeiou][^aeiouwxy]", 0, "s", "+ed +ing"),  # one syllable: `hoped` is not `hop`
        (r"[^aeiou][aeiou][^aeiouwxy]", 0, "s", "ed ing +ed +ing"),
        (r"[a-z]", 0, "s", "ed ing"),
    )
)
"""How a word ends, the letters that are dropped, and endings of nouns and of verbs; `+` doubles the last letter.

The first rule that fits holds. `-er` is none of them: what cooks is no cooker.
"""


def forms(word: str) -> set[str]:
    """A word and its inflected forms.

    >>> sorted(forms("guide")), sorted(forms("spy"))
    (['guide', 'guided', 'guides', 'guiding'], ['spied', 'spies', 'spy', 'spying'])
    """
    return plurals(word) | _made(word, _VERBAL)


def plurals(word: str) -> set[str]:
    """A word and its plural.

    >>> sorted(plurals("coach"))
    ['coach', 'coaches', 'coachs']
    """
    return {word} | _made(word, _PLURAL)


def _made(word: str, which: int) -> set[str]:
    last = word.rpartition(" ")[2].lower()
    if len(last) < _SHORTEST:
        return set()
    dropped, endings = next(((n, told) for ends, n, told in _RULES if ends.search(last)), (0, ([], [])))
    stem = word[: len(word) - dropped]
    return {f"{stem}{ending.replace('+', stem[-1])}" for ending in endings[which]}


def find_word(sentence: str, word: str) -> tuple[int, int] | None:
    """Where a word is, in any case and form; None where it is not, or is there twice, or in two forms.

    A part of another word is none, nor one of a word with a hyphen.

    >>> find_word("She is nursing.", "nurse"), find_word("The nurse nursed.", "nurse"), find_word("A mall.", "male")
    ((7, 14), None, None)
    """
    if not word.strip():
        return None
    found = [match.span() for match in _pattern(word.strip()).finditer(sentence)]
    return found[0] if len(found) == 1 else None


@lru_cache(maxsize=1_000)
def _pattern(word: str) -> re.Pattern[str]:
    either = "|".join(re.escape(form) for form in sorted(forms(word), key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?<!\w-)(?:{either})(?!-?\w)", re.IGNORECASE)
