"""What checks ask of English words: whether one is known, how it is written, what may have been meant."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from senseprobe.generator.english.library import word_set
from senseprobe.lexicon.install import wordnet_in
from senseprobe.lexicon.vocabulary import POS, Pos, Vocabulary

WORDNET = "wordnet-3.0"
"""The lexicon whose words these are."""

WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
"""A word of a text, with the hyphens and apostrophes inside it."""

# WordNet has nouns, verbs, adjectives and adverbs only; these are the words of the closed classes that it leaves out,
# or has in another sense alone (WHO, an Ohm).
FUNCTION_WORDS = word_set(
    """
    a an the this that these those my your his her its our their mine yours hers ours theirs whose
    i you he she it we they me him us them who whom which what one ones
    myself yourself himself herself itself ourselves yourselves themselves oneself
    someone somebody something anyone anybody anything everyone everybody everything nobody nothing none
    each every either neither both all any some such no many much few several other others another same
    and or but nor so yet if unless until till because since while whilst whereas although though whether than as once
    about above across after against along alongside amid among amongst around at before behind below beneath beside
    besides between beyond by despite down during except for from in inside into like near of off on onto out outside
    over past per through throughout to toward towards under underneath unlike up upon versus via with within without
    when where why how whenever wherever whatever whoever whichever however
    am is are was were be been being do does did done doing have has had having
    can could will would shall should may might must ought cannot
    not never there here then too also only even just else etc fro unto wherein
    """
)

_PREFIXES = ("non", "re", "un")
_SHORTEST_REST = 5  # shorter ones make words of mistakes: un-till
_SUFFIXES: tuple[tuple[str, str, Pos], ...] = (
    ("ably", "able", "adj"),
    ("ibly", "ible", "adj"),
    ("ied", "y", "verb"),
    ("ily", "y", "adj"),
    ("less", "", "noun"),
    ("like", "", "noun"),
    ("ly", "", "adj"),
    ("y", "", "noun"),
)
_DOUBLED = re.compile(r"(?:re)?(\w*([bdfgklmnprt]))\2(?:ed|ing)")
_OVERREGULAR = re.compile(r"[^aeiou]y(?:s|ed)$")

_LONGEST = 30  # letters: a longer one has nothing near, which would take long to find
NOTHING_NEAR = "check its spelling; a name begins with a capital"
"""The hint of a word that is like no other."""
_MOST_COMMON = 1_000  # no word has as many senses

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PLAIN = re.compile(r"[a-z]+")
_ENCLITIC = re.compile(r"(?:n['\u2019]t|['\u2019](?:s|re|ve|ll|d|m)?)$")


def is_english(languages: Iterable[str]) -> bool:
    """Whether a dataset says that its sentences are English: en, en-GB."""
    return any(language.lower().partition("-")[0] == "en" for language in languages)


def vocabulary() -> Vocabulary:
    """WordNet's words; LexiconError where it is not prepared."""
    return _opened(wordnet_in(None)[0])


@cache
def _opened(home: Path) -> Vocabulary:
    return Vocabulary.open(home)


def parts(text: str) -> Iterator[tuple[int, str]]:
    """The words of a text that can be misspelt, each with its place from 0: in lower case from a to z throughout.

    Hyphens part words, and endings as n't and 's are left out. A word with a capital, a digit or another letter may be
    a name, which no lexicon has, so it is none of these.
    """
    for found in WORD.finditer(text):
        if found[0] in FUNCTION_WORDS or _touches_digit(text, found):
            continue
        place = found.start()
        for part in _ENCLITIC.sub("", found[0]).split("-"):
            if _PLAIN.fullmatch(part) and len(part) > 1:
                yield place, part
            place += len(part) + 1


def _touches_digit(text: str, found: re.Match[str]) -> bool:
    around = text[max(found.start() - 1, 0) : found.start()] + text[found.end() : found.end() + 1]
    return any(c.isdigit() or c == "_" for c in around)


def is_word(word: str, known: Vocabulary) -> bool:
    """Whether a word in lower case is one, of any class, in any form, and derived by rule from one that is listed."""
    return word in FUNCTION_WORDS or known.knows(word) or any(known.knows(base) for base in _bases(word, known))


def _bases(word: str, known: Vocabulary) -> Iterator[str]:
    """What a word may be derived from, since WordNet lists few of the many that are: unliked, rabidly, readmitted."""
    for prefix in _PREFIXES:
        if word.startswith(prefix) and len(word) - len(prefix) >= _SHORTEST_REST:
            yield word.removeprefix(prefix)
    for ending, put, pos in _SUFFIXES:
        if word.endswith(ending) and known.has(word.removesuffix(ending) + put, pos):
            yield word.removesuffix(ending) + put
    if doubled := _DOUBLED.fullmatch(word):
        yield doubled[1]


def misspelt(word: str, known: Vocabulary, also: frozenset[str] = frozenset()) -> str | None:
    """None where a word in lower case is one, or is in `also`; else a hint of what it may have been.

    A compound of two words, as zookeeper, is one too, unless it is a letter away from a common word, as mat-rials is.
    """
    if word in also or is_word(word, known):
        return None
    if len(word) > _LONGEST:
        return NOTHING_NEAR
    found = [near for near in dict.fromkeys(_near(word)) if near in also or _is_plain(near, known)]
    if _compound(word, known) and not any(_common(near, known) for near in found):
        return None
    # Common words go first, then two neighbours swapped, then what begins with the same letter.
    best = max(found, default="", key=lambda near: _likelihood(word, near, _common(near, known)))
    return f"did you mean {best!r}?" if best else NOTHING_NEAR


def _compound(word: str, known: Vocabulary) -> bool:
    cuts = ((word[:at], word[at:]) for at in range(3, len(word) - 2))
    return any(any(known.has(first, pos) for pos in POS) and known.bases(second, "noun") for first, second in cuts)


def _common(word: str, known: Vocabulary) -> int:
    return _MOST_COMMON if word in FUNCTION_WORDS else known.tagged(word)


def _likelihood(word: str, near: str, common: int) -> tuple[bool, bool, bool, int]:
    return common > 0, sorted(near) == sorted(word), near[0] == word[0], common


def _is_plain(word: str, known: Vocabulary) -> bool:
    """Whether a word may be suggested: morphy takes disabilitys for a word, and one letter is rarely meant."""
    return len(word) > 2 and not _OVERREGULAR.search(word) and (word in FUNCTION_WORDS or known.knows(word))


def _near(word: str) -> Iterator[str]:
    """Every text that is one letter away from a word, or has two neighbours of it swapped."""
    for at in range(len(word) + 1):
        left, right = word[:at], word[at:]
        if len(right) > 1:
            yield left + right[1] + right[0] + right[2:]
        if right:
            yield left + right[1:]
            yield from (left + letter + right[1:] for letter in _LETTERS)
        yield from (left + letter + right for letter in _LETTERS)
