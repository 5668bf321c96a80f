"""Words that are misspelt, names without their capital, and words and frames that look like others.

A word in lower case is one where WordNet or English grammar has it, in any form, or where it is derived by rule. Texts
look alike that are the same after normalisation, or that have letters of another script.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from importlib.resources import files
from itertools import islice, pairwise
from pathlib import Path

from senseprobe.errors import DeclarationError
from senseprobe.generator.checks.base import TAG, ConfigSubject, cell_finding, check, mask_tags
from senseprobe.generator.english.inflection import word_set
from senseprobe.generator.word_lists import Cells, Word, WordList, WordLists
from senseprobe.lexicon.install import wordnet_in
from senseprobe.lexicon.wordnet import POS, Pos, Vocabulary
from senseprobe.records import Finding

# ---- English words ----

WORDNET = "wordnet-3.0"
"""The lexicon whose words these are."""

WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
"""A word of a text, with the hyphens and apostrophes inside it."""

WORDS = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))

FUNCTION_WORDS = word_set(WORDS["function"])
"""Words of the closed classes, which WordNet leaves out."""

_PREFIXES = ("non", "re", "un")
_SHORTEST_REST = 5  # shorter ones make words of mistakes: un-till
_SUFFIXES: tuple[tuple[str, str, Pos], ...] = (
    ("ably", "able", "adj"), ("ibly", "ible", "adj"), ("ied", "y", "verb"), ("ily", "y", "adj"), ("less", "", "noun"),
    ("like", "", "noun"), ("ly", "", "adj"), ("y", "", "noun"),
)  # fmt: skip
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
        neighbours = text[max(match.start() - 1, 0) : match.start()] + text[match.end() : match.end() + 1]
        if match[0].replace("\u2019", "'") in FUNCTION_WORDS or any(c.isdigit() or c == "_" for c in neighbours):
            continue
        start = match.start()
        for token in _ENCLITIC.sub("", match[0]).split("-"):
            if _PLAIN.fullmatch(token) and len(token) > 1:
                yield start, token
            start += len(token) + 1


def is_word(word: str, vocabulary: Vocabulary) -> bool:
    """Return whether a word in lower case is one, of any class and form, or derived by rule from a listed one."""
    if word in FUNCTION_WORDS or vocabulary.knows(word):
        return True
    return any(vocabulary.knows(base) for base in _bases(word, vocabulary))


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
    candidates = []
    for edit in dict.fromkeys(_edits(word)):
        # Morphy takes disabilitys for a word, and one letter is rarely meant.
        is_regular = len(edit) > 2 and not _OVERREGULAR.search(edit)
        if edit in extra or (is_regular and (edit in FUNCTION_WORDS or vocabulary.knows(edit))):
            candidates.append(edit)
    frequency = {edit: _HIGHEST_FREQUENCY if edit in FUNCTION_WORDS else vocabulary.tagged(edit) for edit in candidates}
    cuts = ((word[:at], word[at:]) for at in range(3, len(word) - 2))
    is_compound = any(any(vocabulary.has(a, pos) for pos in POS) and vocabulary.bases(b, "noun") for a, b in cuts)
    if is_compound and not any(frequency.values()):
        return None

    # Common words go first, then two neighbours swapped, then what begins with the same letter.
    def rank(edit: str) -> tuple[bool, bool, bool, int]:
        return frequency[edit] > 0, sorted(edit) == sorted(word), edit[0] == word[0], frequency[edit]

    return f"did you mean {max(candidates, key=rank)!r}?" if candidates else NO_SUGGESTION


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


# ---- Spelling ----

MOST_WORDS = 20_000
"""Words of a list that are looked at."""

MOST_FINDINGS = 50
"""Misspelt words that are reported of one list or template: with more, it is not the English that WordNet knows."""

# lexnames(5WN): adjectives that pertain to something, groups, places, persons and times. WordNet writes many plants,
# dishes and wares with a capital that others write without.
_NAMED = frozenset({1, 14, 15, 18, 28})

_ALSO_SMALL = WORDS["capital_or_small"].split()

_FIRST = re.compile(r"\W*([A-Z][a-z]+)(?![\w'\u2019])")
_TEXT_IN_TAG = re.compile(r"""(==|!=|\bin|[\[(,])?\s*(?P<quote>["'])(?P<text>.*?)(?P=quote)(\s*[=!]=)?""")


@check("W401", lexicon=WORDNET)
def check_list_spelling(words: WordList) -> Iterator[Finding]:
    """WordNet does not know a word of the list in any form, so it is probably misspelt.

    A misspelt word is rare or unknown to a model, which then reacts to the spelling, not the meaning. Dev et al.
    have *ingelligent* and *unprofesional*. The check looks at words, and parts of phrases, in lower case from a to
    z; it ignores names. If a word is correct, accept the warning with `accept`.
    """
    vocabulary, cells = load_vocabulary(), Cells(words)
    distinct = islice(dict.fromkeys(words.words), MOST_WORDS)
    misspelt = ((word, *mistake) for word in distinct for mistake in _misspelt_words(word, vocabulary))
    for word, start, token, hint in islice(misspelt, MOST_FINDINGS):
        yield _word_finding(cells, word, start, "W401", f"WordNet does not know {token!r}", hint)


@check("W402", lexicon=WORDNET)
def check_capitals(words: WordList) -> Iterator[Finding]:
    """A word of the list is in lower case, but WordNet has it only with a capital.

    A cased model reads *iraqi* as pieces and *Iraqi* as one word, so a list with both forms measures spelling. Dev
    et al. write every sentence in lower case. Write names with their capital in the list: for an uncased model,
    sentences can still be lower-cased.
    """
    only_proper, cells = cache(partial(_only_proper, vocabulary=load_vocabulary())), Cells(words)
    for word in islice(dict.fromkeys(words.words), MOST_WORDS):
        named = {token: (start, proper) for start, token in find_words(word) if (proper := only_proper(token))}
        for token, (start, proper) in named.items():
            message = f"{token!r} is in lower case, but WordNet only has {' and '.join(proper)}"
            yield _word_finding(cells, word, start, "W402", message, f"did you mean {proper[0]!r}?")


@check("W512", lexicon=WORDNET)
def check_frame_spelling(subject: ConfigSubject) -> Iterator[Finding]:
    """WordNet, English grammar and the lists do not know a word of a frame.

    A frame is repeated in as many pairs as it has words, and a misspelling in one sentence of a pair can decide the
    pair. SSSB has *matrials*, *staris* and *explaning*. The check looks at words in lower case from a to z, and at
    the first word of a frame if it is one letter away from a known word. If a word is correct, add it to a list of
    the project, or accept the warning with `accept`.
    """
    if subject.is_english:
        yield from islice(_misspelt_in_frames(subject, load_vocabulary()), MOST_FINDINGS)


def _misspelt_in_frames(subject: ConfigSubject, vocabulary: Vocabulary) -> Iterator[Finding]:
    list_words = cache(partial(_list_words, subject.lists))  # takes longer than all else here
    for frame in subject.sources():
        frame_words = [*_frame_words(frame.source)]
        for number, (start, token) in enumerate(frame_words):
            if is_word(token, vocabulary):
                continue
            pairs = pairwise(word for _, word in frame_words[max(number - 1, 0) : number + 2])
            if any(vocabulary.knows(join.join(pair)) for pair in pairs for join in ("_", "-")):  # ad hoc, pell-mell
                continue
            hint = spelling_hint(token, vocabulary, list_words())
            if hint and (hint != NO_SUGGESTION or frame.source[start : start + 1].islower()):
                message = f"WordNet and the lists do not know {token!r}"
                yield subject.finding((frame.line, frame.column + start), "W512", message, hint)


def _misspelt_words(phrase: str, vocabulary: Vocabulary) -> Iterator[tuple[int, str, str]]:
    """Yield the misspelt words of a phrase, with their offsets and hints; nothing where WordNet has the phrase."""
    unknown = [(start, token) for start, token in find_words(phrase) if not is_word(token, vocabulary)]
    if unknown and not any(vocabulary.knows(phrase.replace(" ", join)) for join in ("_", "-", "")):
        yield from ((start, token, hint) for start, token in unknown if (hint := spelling_hint(token, vocabulary)))


def _only_proper(word: str, vocabulary: Vocabulary) -> list[str]:
    """Return how a word is written that WordNet always writes with a capital; empty where it does not always."""
    if word in _ALSO_SMALL or any(sense.word.islower() for sense in vocabulary.senses(word)):
        return []  # most words leave at their first sense
    senses = [*vocabulary.senses(word)]
    return sorted({sense.word for sense in senses}) if any(sense.file in _NAMED for sense in senses) else []


def _word_finding(cells: Cells, word: Word, start: int, code: str, message: str, hint: str) -> Finding:
    # In a cell with quotation marks, which stand around a comma, offsets are not counted.
    return cell_finding(cells, word, "word", code, message, hint, at=0 if {",", '"'} & {*word} else start)


def _list_words(lists: WordLists) -> frozenset[str]:
    """Return every word of every list in sight, and every text in their other columns."""
    cells: set[object] = set()
    for name in lists.names():
        with suppress(DeclarationError):  # a finding of the list itself
            words = lists.get(name)
            cells.update(cell for word in (words.words if words else ()) for cell in word.columns.values())
    return frozenset(token for cell in cells if isinstance(cell, str) for _, token in find_words(cell))


def _frame_words(source: str) -> Iterator[tuple[int, str]]:
    """Yield the words that a frame itself prints, outside tags and as texts in them, with their offsets from 0."""
    outside = mask_tags(source, "_")  # a word that touches a tag is a piece of one
    if first := _FIRST.match(outside):
        outside = outside[: first.start(1)] + first[1].lower() + outside[first.end(1) :]
    yield from find_words(outside)
    for tag in TAG.finditer(source):
        for text in _TEXT_IN_TAG.finditer(tag[0]):
            if not text[1] and not text[4]:  # else it is compared, and not printed
                start = tag.start() + text.start("text")
                yield from ((start + offset, token) for offset, token in find_words(text["text"]))


# ---- Letters that look alike ----

_LATIN = {int(code, 16): letter for code, letter in map(str.split, WORDS["look_alikes"])}

# Greek letters that are written as signs in Latin text: μm, kΩ, NFκB. Alpha, gamma, rho and sigma look like Latin ones:
# they are signs only where no small letter of Latin is in the word, as in the TNF that ends with an alpha. The other
# letters of Greek look the same as Latin ones, or are not used as signs.
_SIGNS = frozenset("βδεζηθκλμπτφχψωΓΔΘΛΞΠΣΦΨΩ")
_ALL_SIGNS = _SIGNS | frozenset("\u03b1\u03b3\u03c1\u03c3")

_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK")
_WORD = re.compile(r"[^\W\d_]+")


def skeleton(text: str) -> str:
    r"""Return what a text looks like: after NFKC, with Latin letters for those of Cyrillic and Greek that look alike.

    Two texts with one skeleton can hardly be told apart by eye (UTS 39, section 4).

    >>> skeleton("p\u0430y") == skeleton("pay")  # the second letter is Cyrillic
    True
    """
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_LATIN)


def _script(letter: str) -> str:
    """Return the script of a letter if it is one that is looked at, else an empty text."""
    name = unicodedata.name(letter, "").partition(" ")[0]
    return name if name in _SCRIPTS else ""


def _mixed_scripts(text: str, *, latin: bool) -> Iterator[tuple[int, str, str]]:
    """Yield words that mix scripts, with their offsets from 0 and the letters that are not Latin.

    In `latin` text also those that have no Latin letter, and look as if they had no other.
    """
    for word in () if text.isascii() else _WORD.finditer(text):
        scripts = {_script(letter) for letter in word[0]} - {""}
        hidden = latin and "LATIN" not in scripts and skeleton(word[0]).isascii() and not word[0].isascii()
        if (len(scripts) > 1 or hidden) and not _has_only_signs(word[0]):
            yield word.start(), word[0], "".join(dict.fromkeys(c for c in word[0] if _script(c) in _SCRIPTS[1:]))


def _has_only_signs(word: str) -> bool:
    """Return whether all letters of a word that are not Latin are Greek signs, each of which is alone."""
    latin = [_script(letter) == "LATIN" for letter in word]
    signs = _SIGNS if any(at and letter.islower() for at, letter in zip(latin, word, strict=True)) else _ALL_SIGNS
    alone = all(first or second for first, second in pairwise(latin))
    return alone and all(at or letter in signs for at, letter in zip(latin, word, strict=True))


def _letter_names(letters: Iterable[str]) -> str:
    """Return letters by their numbers and names, as they cannot be told apart otherwise."""
    return ", ".join(f"U+{ord(letter):04X} {unicodedata.name(letter, '').lower()}".rstrip() for letter in letters)


def _differing_letters(first: str, second: str) -> str:
    """Return the letters of the second text that the first one does not have, else how the two differ."""
    return _letter_names(dict.fromkeys(c for c in second if c not in first)) or "in another order or form"


@check("W517")
def check_confusable_words(words: WordList) -> Iterator[Finding]:
    """Two words or two frames look the same but differ, or a word mixes scripts.

    Readers and annotators do not see a Cyrillic or Greek letter in the place of a Latin one, a ligature, or a
    letter of double width. A model reads other tokens, so the word is rare or unknown to it, and its rows stand
    next to those of its twin. The check finds words that are equal after NFKC and after replacing look-alike
    letters of Latin, Cyrillic and Greek (UTS 39), words with letters of two of these scripts, and words in English
    frames that only look Latin. A single Greek letter that is a sign in Latin text (μm, kΩ, NFκB) is allowed. Type
    the word again.
    """
    cells, seen = Cells(words), dict[str, str]()
    for word in words.words:
        text = str(word)
        twin = seen.setdefault(skeleton(text), text)
        mixed = next(_mixed_scripts(text, latin=False), None)
        if twin != text:
            message = f"{text!r} looks like {twin!r}: {_differing_letters(twin, text)}"
        elif mixed:
            message = f"{mixed[1]!r} mixes scripts: {_letter_names(mixed[2])}"
        else:
            continue
        yield cell_finding(cells, word, "word", "W517", message, "type it again")


@check("W517")
def check_confusable_frames(subject: ConfigSubject) -> Iterator[Finding]:
    """Two frames look the same but differ, or a word of a frame only looks like its script."""
    seen = dict[str, tuple[str, int]]()
    for frame in subject.sources():
        twin, line = seen.setdefault(skeleton(frame.source), (frame.source, frame.line))
        if twin != frame.source:
            message = f"the frame looks like the one on line {line}: {_differing_letters(twin, frame.source)}"
            yield subject.finding((frame.line, frame.column), "W517", message, "remove one of the two")
            continue
        for at, word, letters in _mixed_scripts(mask_tags(frame.source, " "), latin=subject.is_english):
            message = f"{word!r} contains look-alike letters: {_letter_names(letters)}"
            yield subject.finding((frame.line, frame.column + at), "W517", message, "type it again")
