"""English words: which WordNet or grammar knows, and which a misspelt one was probably meant to be."""

import re
from collections.abc import Iterator
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

_LONGEST_WORD = 30  # letters: a longer one has nothing near, which would take long to find
NO_SUGGESTION = "check its spelling; a name begins with a capital"
"""The hint of a word that is like no other."""
_HIGHEST_FREQUENCY = 1_000  # no word has as many senses

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PLAIN = re.compile(r"[a-z]+")
_ENCLITIC = re.compile(r"(?:n['\u2019]t|['\u2019](?:s|re|ve|ll|d|m)?)$")


def load_vocabulary() -> Vocabulary:
    """Return WordNet's words; raise LexiconError where it is not prepared."""
    return _open_vocabulary(wordnet_in(None)[0])


@cache
def _open_vocabulary(home: Path) -> Vocabulary:
    return Vocabulary.open(home)


def find_words(text: str) -> Iterator[tuple[int, str]]:
    """Yield the words of a text that can be misspelt, from a to z in lower case, each with its offset from 0.

    Hyphens separate words, and endings as n't and 's are left out. So are words with a capital, a digit or another
    letter, which may be names that no lexicon has.
    """
    for match in WORD.finditer(text):
        if match[0] in FUNCTION_WORDS or _touches_digit(text, match):
            continue
        start = match.start()
        for part in _ENCLITIC.sub("", match[0]).split("-"):
            if _PLAIN.fullmatch(part) and len(part) > 1:
                yield start, part
            start += len(part) + 1


def _touches_digit(text: str, match: re.Match[str]) -> bool:
    neighbours = text[max(match.start() - 1, 0) : match.start()] + text[match.end() : match.end() + 1]
    return any(c.isdigit() or c == "_" for c in neighbours)


def is_word(word: str, vocabulary: Vocabulary) -> bool:
    """Return whether a word in lower case is one, of any class and form, or derived by rule from a listed one."""
    return (
        word in FUNCTION_WORDS
        or vocabulary.knows(word)
        or any(vocabulary.knows(base) for base in _bases(word, vocabulary))
    )


def _bases(word: str, vocabulary: Vocabulary) -> Iterator[str]:
    """Yield what a word may be derived from, since WordNet lists few derivations: unliked, rabidly, readmitted."""
    for prefix in _PREFIXES:
        if word.startswith(prefix) and len(word) - len(prefix) >= _SHORTEST_REST:
            yield word.removeprefix(prefix)
    for ending, put, pos in _SUFFIXES:
        if word.endswith(ending) and vocabulary.has(word.removesuffix(ending) + put, pos):
            yield word.removesuffix(ending) + put
    if doubled := _DOUBLED.fullmatch(word):
        yield doubled[1]


def spelling_hint(word: str, vocabulary: Vocabulary, extra: frozenset[str] = frozenset()) -> str | None:
    """Return a hint of what a misspelt word in lower case was meant to be; None where it is a word, or is in `extra`.

    A compound of two words, as zookeeper, is one too, unless it is a letter away from a common word, as mat-rials is.
    """
    if word in extra or is_word(word, vocabulary):
        return None
    if len(word) > _LONGEST_WORD:
        return NO_SUGGESTION
    candidates = [
        candidate
        for candidate in dict.fromkeys(_edits(word))
        if candidate in extra or _is_suggestion(candidate, vocabulary)
    ]
    if _is_compound(word, vocabulary) and not any(_frequency(candidate, vocabulary) for candidate in candidates):
        return None
    # Common words go first, then two neighbours swapped, then what begins with the same letter.
    best = max(candidates, default="", key=lambda candidate: _rank(word, candidate, _frequency(candidate, vocabulary)))
    return f"did you mean {best!r}?" if best else NO_SUGGESTION


def _is_compound(word: str, vocabulary: Vocabulary) -> bool:
    cuts = ((word[:at], word[at:]) for at in range(3, len(word) - 2))
    return any(
        any(vocabulary.has(first, pos) for pos in POS) and vocabulary.bases(second, "noun") for first, second in cuts
    )


def _frequency(word: str, vocabulary: Vocabulary) -> int:
    return _HIGHEST_FREQUENCY if word in FUNCTION_WORDS else vocabulary.tagged(word)


def _rank(word: str, candidate: str, frequency: int) -> tuple[bool, bool, bool, int]:
    return frequency > 0, sorted(candidate) == sorted(word), candidate[0] == word[0], frequency


def _is_suggestion(word: str, vocabulary: Vocabulary) -> bool:
    """Return whether a word may be suggested: morphy takes disabilitys for a word, and one letter is rarely meant."""
    return len(word) > 2 and not _OVERREGULAR.search(word) and (word in FUNCTION_WORDS or vocabulary.knows(word))


def _edits(word: str) -> Iterator[str]:
    """Yield every text that is one letter away from a word, or has two neighbours of it swapped."""
    for at in range(len(word) + 1):
        left, right = word[:at], word[at:]
        if len(right) > 1:
            yield left + right[1] + right[0] + right[2:]
        if right:
            yield left + right[1:]
            yield from (left + letter + right[1:] for letter in _LETTERS)
        yield from (left + letter + right for letter in _LETTERS)
