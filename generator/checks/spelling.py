"""Words that are misspelt, in lists and in frames, and names without their capital."""

import re
from collections.abc import Iterator
from functools import cache, partial
from itertools import islice

from senseprobe.errors import DeclarationError
from senseprobe.generator.checks.context import TAG, finding, masked
from senseprobe.generator.checks.registry import Subject, on_config, on_list
from senseprobe.generator.checks.words import (
    NOTHING_NEAR,
    WORDNET,
    is_english,
    is_word,
    misspelt,
    parts,
    vocabulary,
)
from senseprobe.generator.english.library import word_set
from senseprobe.generator.word_lists import Cells, Word, WordList, WordLists
from senseprobe.lexicon.vocabulary import Vocabulary
from senseprobe.records import Finding

MOST_WORDS = 20_000
"""Words of a list that are looked at."""

MOST_TOLD = 50
"""Misspelt words that are told of one list or template: who has more does not write the English that WordNet knows."""

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
def misspelt_in_a_list(words: WordList) -> Iterator[Finding]:
    """A word of a list is none that WordNet knows, in any form, so that it is probably misspelt.

    A misspelt word is rare or unknown to a model, which then answers to the spelling and not to the meaning; Dev et al.
    have *ingelligent* and *unprofesional* (UPSTREAM 3.1). Looked at are words, and parts of phrases, in lower case from
    a to z: names are no business of this check. A word that is right and that WordNet lacks is taken with `accept`.
    """
    known, cells = vocabulary(), Cells(words)
    found = ((word, *each) for word in _distinct(words) for each in _misspelt(word, known))
    for word, place, part, hint in islice(found, MOST_TOLD):
        yield _at(cells, word, place, "W401", f"{part!r} is no word that WordNet knows", hint)


@on_list("W402", lexicon=WORDNET)
def name_without_capital(words: WordList) -> Iterator[Finding]:
    """A word of a list is written small, and WordNet has it with a capital only.

    Models whose vocabulary has cases read *iraqi* as pieces and *Iraqi* as a word, so a list that mixes the two
    measures spelling. Dev et al. lower-case every sentence (UPSTREAM 3.3). Write names with their capital in the list:
    what is scored may still be lower-cased for a model that knows no capitals.
    """
    only_proper, cells = cache(partial(_only_proper, known=vocabulary())), Cells(words)
    for word in _distinct(words):
        named = {part: (place, proper) for place, part in parts(word) if (proper := only_proper(part))}
        for part, (place, proper) in named.items():
            message = f"{part!r} is written without a capital, WordNet has {' and '.join(proper)} only"
            yield _at(cells, word, place, "W402", message, f"did you mean {proper[0]!r}?")


@on_config("W512", lexicon=WORDNET)
def misspelt_in_a_frame(subject: Subject) -> Iterator[Finding]:
    """A word that a frame says itself is none that WordNet, English grammar or any list knows.

    A frame is repeated in as many pairs as it has words, and a misspelling in one member of a pair alone decides it;
    SSSB has *matrials*, *staris* and *explaning* (UPSTREAM 1.5). Looked at are words in lower case from a to z, and the
    first word of a frame where it is a letter away from a word, since names begin frames too. A word that is right may
    be put in a list of the project, else the warning is taken with `accept`.
    """
    found = _misspelt_in_frames(subject, vocabulary()) if is_english(subject.dataset.card.languages) else ()
    for place, part, hint in islice(found, MOST_TOLD):
        message = f"{part!r} is no word that WordNet or a list knows"
        yield finding(subject.config, place, "W512", message, hint)


def _misspelt_in_frames(subject: Subject, known: Vocabulary) -> Iterator[tuple[tuple[int, int], str, str]]:
    """The words of frames that are none, with their places and hints."""
    listed: frozenset[str] | None = None
    for frame in dict.fromkeys(frame for block in subject.config.template.blocks for frame in block.frames):
        own = [*_own_words(frame.source)]
        for number, (place, part) in enumerate(own):
            if is_word(part, known) or _in_phrase(own, number, known):
                continue
            listed = _listed(subject.lists) if listed is None else listed  # takes longer than all else here
            hint = misspelt(part, known, listed)
            if hint and (hint != NOTHING_NEAR or frame.source[place : place + 1].islower()):
                yield (frame.line, frame.column + place), part, hint


def _distinct(words: WordList) -> list[Word]:
    return [*dict.fromkeys(words.words)][:MOST_WORDS]


def _misspelt(phrase: str, known: Vocabulary) -> Iterator[tuple[int, str, str]]:
    """The parts of a phrase that are no words, with their places and hints; none where WordNet has the phrase."""
    unknown = [(place, part) for place, part in parts(phrase) if not is_word(part, known)]
    if unknown and not any(known.knows(phrase.replace(" ", join)) for join in ("_", "-", "")):
        yield from ((place, part, hint) for place, part in unknown if (hint := misspelt(part, known)))


def _in_phrase(own: list[tuple[int, str]], number: int, known: Vocabulary) -> bool:
    """Whether WordNet has a word with the one before or after it: ad hoc, pell-mell."""
    word = own[number][1]
    pairs = [(own[number - 1][1], word)] if number else []
    pairs += [(word, after) for _, after in own[number + 1 : number + 2]]
    return any(known.knows(join.join(pair)) for pair in pairs for join in ("_", "-"))


def _only_proper(word: str, known: Vocabulary) -> list[str]:
    """How a word is written that WordNet always writes with a capital; empty where it does not always."""
    if word in _ALSO_SMALL or any(sense.word.islower() for sense in known.senses(word)):
        return []  # most words leave at their first sense
    senses = [*known.senses(word)]
    return sorted({sense.word for sense in senses}) if any(sense.file in _NAMED for sense in senses) else []


def _at(cells: Cells, word: Word, place: int, code: str, message: str, hint: str) -> Finding:
    # Inside quotation marks, which stand around a comma, places are not counted.
    column = cells.column(word, "word") + (0 if {",", '"'} & {*word} else place)
    path = cells.words.display_path
    return Finding(path=path, line=word.line, column=column, code=code, message=message, hint=hint)


def _listed(lists: WordLists) -> frozenset[str]:
    """Every word of every list in sight, and every text that their other columns hold."""
    words = (word for name in lists.names() for word in _words(lists, name))
    cells = {cell for word in words for cell in word.columns.values()}
    return frozenset(part for cell in cells if isinstance(cell, str) for _, part in parts(cell))


def _words(lists: WordLists, name: str) -> tuple[Word, ...]:
    try:
        found = lists.get(name)
    except DeclarationError:
        return ()  # what is wrong with a list is said of the list
    return found.words if found else ()


def _own_words(source: str) -> Iterator[tuple[int, str]]:
    """The words that a frame itself prints, outside tags and as texts in them, with their places from 0."""
    outside = masked(source, "_")  # a word that touches a tag is a piece of one
    if first := _FIRST.match(outside):
        outside = outside[: first.start(1)] + first[1].lower() + outside[first.end(1) :]
    yield from parts(outside)
    for tag in TAG.finditer(source):
        for text in _TEXT_IN_TAG.finditer(tag[0]):
            if not text[1] and not text[4]:  # else it is compared, and not printed
                start = tag.start() + text.start("text")
                yield from ((start + place, part) for place, part in parts(text["text"]))
