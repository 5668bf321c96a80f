"""Pairs of sentences as rows: the words in which two sentences differ, and where a word stands in any of its forms."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from senseprobe.records import Design, Factor

_SHORTEST = 3
"""Letters of the shortest word that is inflected: `bed` is not a form of `be`."""

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

The first rule that matches is applied. `-er` is not among the endings: a cooker is not who cooks.
"""


def inflected_forms(word: str) -> set[str]:
    """Return a word and its inflected forms.

    >>> sorted(inflected_forms("guide")), sorted(inflected_forms("spy"))
    (['guide', 'guided', 'guides', 'guiding'], ['spied', 'spies', 'spy', 'spying'])
    """
    return plural_forms(word) | _inflect(word, _VERBAL)


def plural_forms(word: str) -> set[str]:
    """Return a word and its possible plurals.

    >>> sorted(plural_forms("coach"))
    ['coach', 'coaches', 'coachs']
    """
    return {word} | _inflect(word, _PLURAL)


def _inflect(word: str, which: int) -> set[str]:
    last = word.rpartition(" ")[2].lower()
    if len(last) < _SHORTEST:
        return set()
    dropped, endings = next(((n, endings) for ends, n, endings in _RULES if ends.search(last)), (0, ([], [])))
    stem = word[: len(word) - dropped]
    return {f"{stem}{ending.replace('+', stem[-1])}" for ending in endings[which]}


def find_word(sentence: str, word: str) -> tuple[int, int] | None:
    """Return start and end of a word in any case and form; None where it is not in the sentence once only.

    A part of another word, or of a word with a hyphen, does not count.

    >>> find_word("She is nursing.", "nurse"), find_word("The nurse nursed.", "nurse"), find_word("A mall.", "male")
    ((7, 14), None, None)
    """
    if not word.strip():
        return None
    spans = [match.span() for match in _pattern(word.strip()).finditer(sentence)]
    return spans[0] if len(spans) == 1 else None


@lru_cache(maxsize=1_000)
def _pattern(word: str) -> re.Pattern[str]:
    either = "|".join(re.escape(form) for form in sorted(inflected_forms(word), key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?<!\w-)(?:{either})(?!-?\w)", re.IGNORECASE)


Span = dict[str, int]
Row = dict[str, Any]

_TOKEN = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*|[^\w\s]|_")

MALE = frozenset({"he", "him", "his", "himself"})
FEMALE = frozenset({"she", "her", "hers", "herself"})
PRONOUNS = MALE | FEMALE | {"they", "them", "their", "theirs", "themself", "themselves"}
MOSTLY = 0.9
"""The share of rows that differ in pronouns from which on a config is taken for one of pronouns."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The words that two sentences do not share, and what they share, with `_` for them.

    Sentences of equally many words are compared word by word; others are taken to differ in all that lies between what
    they have in common at their beginnings and at their ends. `runs` counts unbroken runs of differing words.
    """

    stereo: tuple[re.Match[str], ...]
    anti: tuple[re.Match[str], ...]
    shared: str
    runs: int

    @property
    def pronouns(self) -> bool:
        """Whether all differing words are pronouns."""
        words = [match.group().lower() for match in (*self.stereo, *self.anti)]
        return bool(words) and set(words) <= PRONOUNS


def find_difference(stereo: str, anti: str) -> Difference:
    """Return the words in which two sentences differ, and what they share."""
    left, right = list(_TOKEN.finditer(stereo)), list(_TOKEN.finditer(anti))
    words, others = [m.group() for m in left], [m.group() for m in right]
    if len(left) == len(right):
        at = [
            index
            for index, (left_word, right_word) in enumerate(zip(words, others, strict=True))
            if left_word != right_word
        ]
        shared = [
            "_" if left_word != right_word else left_word for left_word, right_word in zip(words, others, strict=True)
        ]
        runs = sum(1 for index in at if index - 1 not in at) if len(at) < 100 else len(at)
        return Difference(tuple(left[i] for i in at), tuple(right[i] for i in at), " ".join(shared), runs)
    start = _common(words, others)
    end = _common(words[start:][::-1], others[start:][::-1])
    shared = [*words[:start], "_", *words[len(words) - end :]]
    return Difference(tuple(left[start : len(left) - end]), tuple(right[start : len(right) - end]), " ".join(shared), 1)


def _common(words: Sequence[str], others: Sequence[str]) -> int:
    """Count the words that two sequences share at their beginnings."""
    pairs = enumerate(zip(words, others, strict=False))
    return next((at for at, (word, counterpart) in pairs if word != counterpart), min(len(words), len(others)))


def frame_code(shared: str) -> str:
    """Return six hexadecimal digits that stand for the shared words of two sentences."""
    return hashlib.sha256(shared.encode()).hexdigest()[:6]


def as_span(position: tuple[int, int] | None) -> Span | None:
    """Return start and end as a row stores them."""
    return {"start": position[0], "end": position[1]} if position else None


def pair_row(stereo: str, anti: str, difference: Difference, **columns: object) -> Row:
    """Build a row of a contrast config; spans are the single run of differing words, unless `columns` has others."""
    minimal = difference.runs == 1
    return {
        "frame": frame_code(difference.shared),
        "stereo": stereo,
        "anti": anti,
        "stereo_span": as_span(_extent(difference.stereo)) if minimal else None,
        "anti_span": as_span(_extent(difference.anti)) if minimal else None,
        "contested": False,
        "stereo_value": _joined(difference.stereo),
        "anti_value": _joined(difference.anti),
        "minimal": minimal,
        **columns,
    }


def _extent(words: Sequence[re.Match[str]]) -> tuple[int, int] | None:
    return (words[0].start(), words[-1].end()) if words else None


def _joined(words: Iterable[re.Match[str]]) -> str | None:
    return " ".join(match.group() for match in words) or None


def contrast_design(
    bias_type: str,
    factors: Mapping[str, str],
    columns: Sequence[str],
    differs: str,
    **fields: Any,  # noqa: ANN401
) -> Design:
    """Build the design of an imported contrast config; `factors` maps a factor to the column of its levels.

    `fields` replaces fields of the design. Zero is the neutral value only where pronouns are all that differs.
    """
    base: dict[str, Any] = {
        "kind": "contrast",
        "sense_type": "",
        "bias_type": bias_type,
        "slots": (),
        "roles": {"stereo": {}, "anti": {}},
        "factors": tuple(Factor(name=name, columns=(column,)) for name, column in factors.items()),
        "differs": differs,
        "columns": tuple((column, "string") for column in columns),
        "estimands": ("preference", "preference-half"),
        "neutral": 0.0 if differs == "pronoun" else None,
    }
    return Design(**{**base, **fields})
