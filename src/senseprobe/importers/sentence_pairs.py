"""Pairs of sentences as rows: the words in which two sentences differ, and where a word stands in any of its forms."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Any
from unicodedata import category

from senseprobe.errors import SenseprobeError
from senseprobe.importers.notes import Notes
from senseprobe.importers.sources import Row, Source, excerpt
from senseprobe.records import Design, Factor

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,6}")
_SHORTEST = 3
"""Letters of the shortest word that is inflected: `bed` is not a form of `be`."""

_RULES = (
    (r"[^aeiou]y", 1, "ies", "ied ying"),
    (r"ie", 2, "ies", "ied ying"),
    (r"[eoy]e", 0, "s", "ing"),  # no d: `seed` is not `see`
    (r"e", 1, "es", "ed ing"),
    (r"ch|o", 0, "s es", "ed ing"),
    (r"s|x|z|sh", 0, "es", "ed ing"),
    (r"\A[^aeiou]*[aeiou][^aeiouwxy]", 0, "s", "+ed +ing"),  # one syllable: `hoped` is not `hop`
    (r"[^aeiou][aeiou][^aeiouwxy]", 0, "s", "ed ing +ed +ing"),
    (r"[a-z]", 0, "s", "ed ing"),
    (r"", 0, "", ""),
)
"""How a word ends, the letters that are dropped, and endings of nouns and of verbs; `+` doubles the last letter.

The first rule that matches is applied. `-er` is not among the endings: a cooker is not who cooks.
"""


def check_language(tag: str) -> str:
    """Return a language tag of BCP 47 by its form, as ``fr`` or ``pt-BR``; raise SenseprobeError where it is none.

    Its language is in small letters, as the Hub has them.

    >>> check_language("pt-BR"), check_language("FR")
    ('pt-BR', 'fr')
    """
    if not _LANGUAGE.fullmatch(tag):
        raise SenseprobeError(f"{excerpt(tag)!r} is not a language tag: expected one such as fr or pt-BR (--language)")
    language, hyphen, rest = tag.partition("-")
    return f"{language.lower()}{hyphen}{rest}"


def is_english(language: str) -> bool:
    """Return whether a language tag is of English, whose word endings and pronouns are known here.

    >>> is_english("en-GB"), is_english("fr")
    (True, False)
    """
    return language.lower().partition("-")[0] == "en"


def inflected_forms(word: str, *, verbal: bool = True) -> set[str]:
    """Return a word, its possible plurals and, where `verbal`, its forms as a verb.

    >>> sorted(inflected_forms("guide")), sorted(inflected_forms("spy"))
    (['guide', 'guided', 'guides', 'guiding'], ['spied', 'spies', 'spy', 'spying'])
    >>> sorted(inflected_forms("coach", verbal=False))
    ['coach', 'coaches', 'coachs']
    """
    last = word.rpartition(" ")[2].lower()
    if len(last) < _SHORTEST:
        return {word}
    _, dropped, plural, verb = next(rule for rule in _RULES if re.search(rf"(?:{rule[0]})\Z", last))
    stem = word[: len(word) - dropped]
    endings = f"{plural} {verb if verbal else ''}".split()
    return {word, *(f"{stem}{ending.replace('+', stem[-1])}" for ending in endings)}


def find_word(sentence: str, word: str, language: str = "en") -> tuple[int, int] | None:
    """Return start and end of a word in any case and form; None where it is not in the sentence once only.

    A part of another word, or of a word with a hyphen, does not count; nor, in another language than English, a form.

    >>> find_word("She is nursing.", "nurse"), find_word("The nurse nursed.", "nurse"), find_word("A mall.", "male")
    ((7, 14), None, None)
    """
    if not word.strip():
        return None
    pattern = _pattern(word.strip(), inflects=is_english(language))
    spans = [match.span() for match in pattern.finditer(sentence)]
    return spans[0] if len(spans) == 1 else None


@lru_cache(maxsize=1_000)
def _pattern(word: str, *, inflects: bool) -> re.Pattern[str]:
    forms = inflected_forms(word) if inflects else {word}
    either = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    return re.compile(rf"(?<!{WORD_SIGN})(?<!{WORD_SIGN}-)(?:{either})(?!-?{WORD_SIGN})", re.IGNORECASE)


_MARKS = "\u200c\u200d" + "".join(
    f"{chr(codes[0])}-{chr(codes[-1])}"  # as ranges: patterns with two thousand signs take long to compile
    for is_mark, run in groupby(range(0x300, 0x20000), key=lambda code: category(chr(code))[0] == "M")
    if is_mark and (codes := [*run])
)
"""Joiners, and marks as the vowels of Hindi: parts of words, though no letters, which `\\w` is of `re`."""
WORD_SIGN = rf"[\w{_MARKS}]"
_WORD = rf"[^\W_]+(?:[{_MARKS}]+[^\W_]*)*"
_NOT = r"(?i:n)['\u2019](?i:t)\b"
# "do" and "don't" differ by "n't", which is a word of its own, as in the treebanks.
_TOKEN = re.compile(rf"[^\W_]+(?={_NOT})|{_NOT}|{_WORD}(?:['\u2019-]{_WORD})*|[^\w\s]|_")

MALE = frozenset({"he", "him", "his", "himself"})
FEMALE = frozenset({"she", "her", "hers", "herself"})
PRONOUNS = MALE | FEMALE | {"they", "them", "their", "theirs", "themself", "themselves"}
MOSTLY = 0.9


@dataclass(frozen=True, slots=True)
class Difference:
    """The words that two sentences do not share, by an alignment that shares as many as possible.

    `shared` is what they share, with `_` for each unbroken run of other words, of which there are `runs`.
    """

    stereo: tuple[re.Match[str], ...]
    anti: tuple[re.Match[str], ...]
    shared: str
    runs: int

    @property
    def pronouns(self) -> bool:
        """Whether all differing words are English pronouns."""
        words = {match.group().lower() for match in (*self.stereo, *self.anti)}
        return bool(words) and words <= PRONOUNS


def differ_in_pronouns(differences: Sequence[Difference]) -> bool:
    """Return whether so many pairs differ in pronouns alone that their config is taken for one of pronouns."""
    return sum(difference.pronouns for difference in differences) >= MOSTLY * len(differences)


def find_difference(stereo: str, anti: str) -> Difference:
    """Return the words in which two sentences differ, and what they share; the same for either order of the two.

    >>> find_difference("He is a nurse.", "She is a nurse.").shared
    '_ is a nurse .'
    """
    left, right = tuple(_TOKEN.finditer(stereo)), tuple(_TOKEN.finditer(anti))
    words, others = [match.group() for match in left], [match.group() for match in right]
    # Of several longest alignments one is chosen by the order of their words, whichever sentence is `stereo`.
    pairs = align_words(words, others) if words <= others else [(i, j) for j, i in align_words(others, words)]
    shared, runs = [], 0
    for (i, j), (k, m) in pairwise([(-1, -1), *pairs, (len(words), len(others))]):
        if (k, m) != (i + 1, j + 1):
            shared.append("_")
            runs += 1
        shared += words[k : k + 1]
    in_left, in_right = {i for i, _ in pairs}, {j for _, j in pairs}
    stereo_words = tuple(match for at, match in enumerate(left) if at not in in_left)
    anti_words = tuple(match for at, match in enumerate(right) if at not in in_right)
    return Difference(stereo_words, anti_words, " ".join(shared), runs)


def align_words(words: Sequence[str], others: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of a longest common subsequence of two sentences, in order.

    What they have in common at their beginnings comes first, then at their ends: so what differs is a single run
    wherever that is possible without sharing fewer words. Between these, words of `others` are passed over first,
    from the end.

    >>> align_words("a b c".split(), "a c d".split())
    [(0, 0), (2, 1)]
    """
    start = _count_common(words, others)
    end = _count_common(words[start:][::-1], others[start:][::-1])
    i, j = len(words) - end, len(others) - end
    tail = list(zip(range(i, len(words)), range(j, len(others)), strict=True))
    unmatched = _unmatched_columns(words[start:i], others[start:j])
    middle = []
    while i > start and j > start:
        column = 1 << j - start - 1
        if unmatched[i - start] & column:
            j -= 1
        elif not unmatched[i - start - 1] & column:
            i -= 1
        else:
            i, j = i - 1, j - 1
            middle.append((i, j))
    return [*((at, at) for at in range(start)), *middle[::-1], *tail]


def _unmatched_columns(words: Sequence[str], others: Sequence[str]) -> list[int]:
    """Return, for each number of first words, a bit for each word of `others` by which nothing more is in common.

    So a row of the table of lengths is an integer (Hyyrö 2004, "Bit-parallel LCS-length computation revisited"), and
    two thousand words are aligned with two thousand in milliseconds.
    """
    positions: dict[str, int] = {}
    for at, word in enumerate(others):
        positions[word] = positions.get(word, 0) | 1 << at
    row = every = (1 << len(others)) - 1
    rows = [row]
    for word in words:
        matches = row & positions.get(word, 0)
        row = (row + matches | row - matches) & every
        rows.append(row)
    return rows


def _count_common(words: Sequence[str], others: Sequence[str]) -> int:
    """Count the words that two sequences share at their beginnings."""
    pairs = enumerate(zip(words, others, strict=False))
    return next((at for at, (word, other) in pairs if word != other), min(len(words), len(others)))


def frame_code(shared: str) -> str:
    """Return six hexadecimal digits that stand for the shared words of two sentences."""
    return hashlib.sha256(shared.encode()).hexdigest()[:6]


def as_span(position: tuple[int, int] | None) -> dict[str, int] | None:
    """Return start and end as a row stores them."""
    return {"start": position[0], "end": position[1]} if position else None


def pair_row(
    stereo: str,
    anti: str,
    source: Source,
    line: int,
    difference: Difference | None = None,
    target: str | None = None,
    **columns: object,
) -> Row:
    """Build a row of a contrast config, with `columns`, which may replace its own.

    Its spans are those of the target where there is one, else those of the differing words if they are a single run.
    """
    difference = difference or find_difference(stereo, anti)
    minimal = difference.runs == 1
    row: Row = {"stereo": stereo, "anti": anti, "source_file": source.name, "source_line": str(line), "target": target}
    row |= {"frame": frame_code(difference.shared), "contested": False, "minimal": minimal}
    for role, text, words in (("stereo", stereo, difference.stereo), ("anti", anti, difference.anti)):
        run = (words[0].start(), words[-1].end()) if minimal and words else None
        row[f"{role}_span"] = as_span(run if target is None else find_word(text, target, source.language))
        row[f"{role}_value"] = " ".join(match.group() for match in words) or None
    return row | columns


def keep_unlike_words(rows: Iterable[Row], notes: Notes) -> None:
    """Note each pair of a config of pronouns that differs in other words, too: `mad` for `made`, or a word missing."""
    for row in rows:
        difference = find_difference(row["stereo"], row["anti"])
        if not difference.pronouns:
            words = (" ".join(match.group() for match in matches) for matches in (difference.stereo, difference.anti))
            reason = "its sentences differ in more than pronouns: {!r} against {!r}".format(*words)
            notes.keep(Source(row["source_file"], b""), int(row["source_line"]), reason)


def list_bias_types(rows: Iterable[Row]) -> str:
    """Return the kinds of bias of rows, the first twenty in alphabetical order."""
    kinds = {"-".join(re.findall(_WORD, row["bias_type"][:60].lower())) or "other" for row in rows}
    return ", ".join(sorted(kinds)[:20])


def contrast_design(
    bias_type: str,
    factors: Mapping[str, str],
    columns: Sequence[str],
    differs: str,
    stereotyped: str | None = None,
    **fields: Any,  # noqa: ANN401
) -> Design:
    """Build the design of an imported contrast config; `factors` maps a factor to the column of its levels.

    `stereotyped` is the column whose levels `stereotype` is about, for the pronoun figures; `fields` replaces fields of
    the design. Zero is the neutral value only where pronouns are all that differs.
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
    if stereotyped:
        base["strata"] = {"stereotype": stereotyped}
        base["estimands"] += ("pronoun-stereotype", "pronoun-baseline")
    return Design(**{**base, **fields})
