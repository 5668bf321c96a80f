"""Words that are misspelt, in lists and in frames, and names without their capital."""

import re
from collections.abc import Iterator
from functools import cache, partial
from itertools import islice

from senseprobe.errors import DeclarationError
from senseprobe.generator.checks.english_words import (
    NO_SUGGESTION,
    WORDNET,
    find_words,
    is_word,
    load_vocabulary,
    spelling_hint,
)
from senseprobe.generator.checks.frame_text import TAG, mask_tags
from senseprobe.generator.checks.registry import on_config, on_list
from senseprobe.generator.checks.subjects import ConfigSubject, Position, cell_finding
from senseprobe.generator.english.library import word_set
from senseprobe.generator.word_lists import Cells, Word, WordList, WordLists
from senseprobe.lexicon.vocabulary import Vocabulary
from senseprobe.records import Finding

MOST_WORDS = 20_000
"""Words of a list that are looked at."""

MOST_FINDINGS = 50
"""Misspelt words that are reported of one list or template: with more, it is not the English that WordNet knows."""

# lexnames(5WN): adjectives that pertain to something, groups, places, persons and times. WordNet writes many plants,
# dishes and wares with a capital that others write without.
_NAMED = frozenset({1, 14, 15, 18, 28})

# WordNet has these with a capital only, other dictionaries without or both.
_ALSO_SMALL = word_set(
    """
    blackshirt brownshirt casanova converso freemason jihadist junker kaiser khedive lothario luddite maquis mick milady
    milquetoast minuteman moonie mountie mullah nimby pharaoh realtor redskin shah sherpa svengali tartufe tartuffe
    viking vip zealander
    """
)

_FIRST = re.compile(r"\W*([A-Z][a-z]+)(?![\w'\u2019])")
_TEXT_IN_TAG = re.compile(r"""(==|!=|\bin|[\[(,])?\s*(?P<quote>["'])(?P<text>.*?)(?P=quote)(\s*[=!]=)?""")


@on_list("W401", lexicon=WORDNET)
def check_list_spelling(words: WordList) -> Iterator[Finding]:
    """A word of a list is none that WordNet knows, in any form, so that it is probably misspelt.

    A misspelt word is rare or unknown to a model, which then answers to the spelling and not to the meaning; Dev et al.
    have *ingelligent* and *unprofesional* (UPSTREAM 3.1). Looked at are words, and parts of phrases, in lower case from
    a to z: names are no business of this check. A word that is right and that WordNet lacks is taken with `accept`.
    """
    vocabulary, cells = load_vocabulary(), Cells(words)
    misspelt = ((word, *mistake) for word in _distinct(words) for mistake in _misspelt_words(word, vocabulary))
    for word, start, part, hint in islice(misspelt, MOST_FINDINGS):
        yield _finding(cells, word, start, "W401", f"{part!r} is no word that WordNet knows", hint)


@on_list("W402", lexicon=WORDNET)
def check_capitals(words: WordList) -> Iterator[Finding]:
    """A word of a list is written small, and WordNet has it with a capital only.

    Models whose vocabulary has cases read *iraqi* as pieces and *Iraqi* as a word, so a list that mixes the two
    measures spelling. Dev et al. lower-case every sentence (UPSTREAM 3.3). Write names with their capital in the list:
    what is scored may still be lower-cased for a model that knows no capitals.
    """
    only_proper, cells = cache(partial(_only_proper, vocabulary=load_vocabulary())), Cells(words)
    for word in _distinct(words):
        named = {part: (start, proper) for start, part in find_words(word) if (proper := only_proper(part))}
        for part, (start, proper) in named.items():
            message = f"{part!r} is written without a capital, WordNet has {' and '.join(proper)} only"
            yield _finding(cells, word, start, "W402", message, f"did you mean {proper[0]!r}?")


@on_config("W512", lexicon=WORDNET)
def check_frame_spelling(subject: ConfigSubject) -> Iterator[Finding]:
    """A word that a frame says itself is none that WordNet, English grammar or any list knows.

    A frame is repeated in as many pairs as it has words, and a misspelling in one member of a pair alone decides it;
    SSSB has *matrials*, *staris* and *explaning* (UPSTREAM 1.5). Looked at are words in lower case from a to z, and the
    first word of a frame where it is a letter away from a word, since names begin frames too. A word that is right may
    be put in a list of the project, else the warning is taken with `accept`.
    """
    misspelt = _misspelt_frame_words(subject, load_vocabulary()) if subject.is_english else ()
    for position, part, hint in islice(misspelt, MOST_FINDINGS):
        message = f"{part!r} is no word that WordNet or a list knows"
        yield subject.finding(position, "W512", message, hint)


def _misspelt_frame_words(subject: ConfigSubject, vocabulary: Vocabulary) -> Iterator[tuple[Position, str, str]]:
    """Yield the misspelt words of frames, with their positions and hints."""
    listed: frozenset[str] | None = None
    for frame in subject.sources():
        own = [*_frame_words(frame.source)]
        for number, (start, part) in enumerate(own):
            if is_word(part, vocabulary) or _is_in_phrase(own, number, vocabulary):
                continue
            listed = _list_words(subject.lists) if listed is None else listed  # takes longer than all else here
            hint = spelling_hint(part, vocabulary, listed)
            if hint and (hint != NO_SUGGESTION or frame.source[start : start + 1].islower()):
                yield (frame.line, frame.column + start), part, hint


def _distinct(words: WordList) -> list[Word]:
    return [*dict.fromkeys(words.words)][:MOST_WORDS]


def _misspelt_words(phrase: str, vocabulary: Vocabulary) -> Iterator[tuple[int, str, str]]:
    """Yield the misspelt words of a phrase, with their offsets and hints; nothing where WordNet has the phrase."""
    unknown = [(start, part) for start, part in find_words(phrase) if not is_word(part, vocabulary)]
    if unknown and not any(vocabulary.knows(phrase.replace(" ", join)) for join in ("_", "-", "")):
        yield from ((start, part, hint) for start, part in unknown if (hint := spelling_hint(part, vocabulary)))


def _is_in_phrase(own: list[tuple[int, str]], number: int, vocabulary: Vocabulary) -> bool:
    """Return whether WordNet has a word together with the one before or after it: ad hoc, pell-mell."""
    word = own[number][1]
    pairs = [(own[number - 1][1], word)] if number else []
    pairs += [(word, after) for _, after in own[number + 1 : number + 2]]
    return any(vocabulary.knows(join.join(pair)) for pair in pairs for join in ("_", "-"))


def _only_proper(word: str, vocabulary: Vocabulary) -> list[str]:
    """Return how a word is written that WordNet always writes with a capital; empty where it does not always."""
    if word in _ALSO_SMALL or any(sense.word.islower() for sense in vocabulary.senses(word)):
        return []  # most words leave at their first sense
    senses = [*vocabulary.senses(word)]
    return sorted({sense.word for sense in senses}) if any(sense.file in _NAMED for sense in senses) else []


def _finding(cells: Cells, word: Word, start: int, code: str, message: str, hint: str) -> Finding:
    # In a cell with quotation marks, which stand around a comma, offsets are not counted.
    at = 0 if {",", '"'} & {*word} else start
    return cell_finding(cells, word, "word", code, message, hint, at)


def _list_words(lists: WordLists) -> frozenset[str]:
    """Return every word of every list in sight, and every text in their other columns."""
    words = (word for name in lists.names() for word in _words_of_list(lists, name))
    cells = {cell for word in words for cell in word.columns.values()}
    return frozenset(part for cell in cells if isinstance(cell, str) for _, part in find_words(cell))


def _words_of_list(lists: WordLists, name: str) -> tuple[Word, ...]:
    try:
        words = lists.get(name)
    except DeclarationError:
        return ()  # a finding of the list itself
    return words.words if words else ()


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
                yield from ((start + offset, part) for offset, part in find_words(text["text"]))
