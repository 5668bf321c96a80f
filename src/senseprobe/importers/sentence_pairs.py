"""Where a word is in a sentence, by the forms that English gives it.

Two sentences as a row: in which words they differ, what they share, where the target is.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from senseprobe.records import Design, Factor

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


Span = dict[str, int]
Row = dict[str, Any]

_TOKEN = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*|[^\w\s]|_")

MALE = frozenset({"he", "him", "his", "himself"})
FEMALE = frozenset({"she", "her", "hers", "herself"})
PRONOUNS = MALE | FEMALE | {"they", "them", "their", "theirs", "themself", "themselves"}
MOSTLY = 0.9
"""A config whose pairs differ in pronouns in at least this share of its rows is one of pronouns."""


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


def differ(stereo: str, anti: str) -> Difference:
    """In what two sentences differ."""
    left, right = list(_TOKEN.finditer(stereo)), list(_TOKEN.finditer(anti))
    words, others = [m.group() for m in left], [m.group() for m in right]
    if len(left) == len(right):
        at = [index for index, (one, other) in enumerate(zip(words, others, strict=True)) if one != other]
        shared = ["_" if one != other else one for one, other in zip(words, others, strict=True)]
        runs = sum(1 for index in at if index - 1 not in at) if len(at) < 100 else len(at)
        return Difference(tuple(left[i] for i in at), tuple(right[i] for i in at), " ".join(shared), runs)
    start = _common(words, others)
    end = _common(words[start:][::-1], others[start:][::-1])
    shared = [*words[:start], "_", *words[len(words) - end :]]
    return Difference(tuple(left[start : len(left) - end]), tuple(right[start : len(right) - end]), " ".join(shared), 1)


def _common(words: Sequence[str], others: Sequence[str]) -> int:
    """How many words two sequences share at their beginnings."""
    pairs = enumerate(zip(words, others, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(words), len(others)))


def frame_code(shared: str) -> str:
    """Six hexadecimal digits for what sentences share."""
    return hashlib.sha256(shared.encode()).hexdigest()[:6]


def span(place: tuple[int, int] | None) -> Span | None:
    """A place as rows hold it."""
    return {"start": place[0], "end": place[1]} if place else None


def pair_row(stereo: str, anti: str, difference: Difference, **told: object) -> Row:
    """A row of a contrast config; spans are those of an unbroken run of differing words, unless `told` has others."""
    one_run = difference.runs == 1
    return {
        "frame": frame_code(difference.shared),
        "stereo": stereo,
        "anti": anti,
        "stereo_span": span(_extent(difference.stereo)) if one_run else None,
        "anti_span": span(_extent(difference.anti)) if one_run else None,
        "contested": False,
        "stereo_value": _joined(difference.stereo),
        "anti_value": _joined(difference.anti),
        "minimal": one_run,
        **told,
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
    **told: Any,  # noqa: ANN401
) -> Design:
    """The design of an imported contrast config; `factors` maps a name to the column of its levels.

    Zero is known to be neutral only where pronouns are all that differs.
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
    return Design(**{**base, **told})
