"""The words of BBQ's templates: its two vocabularies, and lists in the cells of templates."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.importers.contents import delimited_rows
from senseprobe.importers.notes import Notes
from senseprobe.importers.sources import Source
from senseprobe.tables import UnreadableError, read_json

WORDS, NAMES = "vocabulary.csv", "vocabulary_proper_names.csv"

_LIST = re.compile(r"\s*(?:\{\{)?((?:NAME|WORD)[12])(?:\}\})?\s*:\s*\[([^\[\]]*)\]\s*(?:;|$)")
_GENDERS = {"man": "M", "boy": "M", "woman": "F", "girl": "F"}
"""The gender of BBQ's nouns, which its vocabulary does not state."""


@dataclass(frozen=True, slots=True)
class VocabularyWord:
    """A word for a person; `group` is its gender, or the status that `Info` states, or else the word itself."""

    word: str
    category: str
    subcategory: str
    group: str


@dataclass(frozen=True, slots=True)
class ProperName:
    """A name; `part` is first, last or first_only (that is of no ethnicity), `gender` F, M or empty."""

    name: str
    part: str
    gender: str
    ethnicity: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Both vocabularies, in the order of their files, each entry once."""

    words: tuple[VocabularyWord, ...]
    names: tuple[ProperName, ...]

    def select(self, category: str, subcategory: str = "") -> list[VocabularyWord]:
        """Return the words of a category, or of one subcategory."""
        return [word for word in self.words if word.category == category and subcategory in ("", word.subcategory)]

    def first_names(self, gender: str) -> list[str]:
        """Return first names of a gender which are of no ethnicity."""
        return [name.name for name in self.names if name.part == "first_only" and name.gender == gender]

    def ethnicities(self) -> list[str]:
        """Return the ethnicities of names."""
        return [*dict.fromkeys(name.ethnicity for name in self.names if name.ethnicity)]

    def full_names(self, ethnicity: str, gender: str) -> list[str]:
        """Return full names of an ethnicity and gender: each first name with one last name, the next for the next.

        Names of men begin in the middle of the last names, so that all of these occur.
        """
        some = [name for name in self.names if name.ethnicity == ethnicity]
        first = [name.name for name in some if name.part == "first" and name.gender == gender]
        last = [name.name for name in some if name.part == "last"]
        start = len(last) // 2 if gender == "M" else 0
        return [f"{name} {last[(start + number) % len(last)]}" for number, name in enumerate(first) if last]


def read_vocabulary(sources: Sequence[Source], notes: Notes) -> Vocabulary:
    """Return the vocabularies among some files, without words that ``Pilot_include`` excludes, as BBQ is.

    Raise ReleaseError where one is missing or lacks a column.
    """
    files = {source.name: source for source in sources}
    if lacking := [name for name in (WORDS, NAMES) if name not in files]:
        raise ReleaseError(f"the folder lacks {lacking[0]}, from which templates take their words")
    words = [*_read_words(files[WORDS], notes)]
    names = [
        ProperName(*(row[column].strip() for column in ("Name", "First_last", "gender", "ethnicity")))
        for _, row in delimited_rows(files[NAMES], ",", ["Name", "First_last", "gender", "ethnicity"], notes)
    ]
    return Vocabulary(tuple(dict.fromkeys(words)), tuple(dict.fromkeys(names)))


def _read_words(source: Source, notes: Notes) -> Iterator[VocabularyWord]:
    columns = ["Category", "Pilot_include", "SubCat", "Name", "Info"]
    for line, row in delimited_rows(source, ",", columns, notes):
        category, pilot, subcategory, word, info = (row[column].strip() for column in columns)
        if pilot == "No":
            notes.leave_out(source, line, f"{word}: its Pilot_include is No, and BBQ does not use it")
        elif word:
            group = _GENDERS.get(word, "") if category == "Gender_identity" else info if category == "SES" else word
            yield VocabularyWord(word, category, subcategory, group or word)


def read_lists(cell: str) -> tuple[dict[str, tuple[str, ...]], str]:
    """Return lists by placeholder, as a cell ``NAME1: [a, b]; NAME2: [c]`` has them, and what is odd in it, if it is.

    >>> read_lists("{{WORD1}}: [bar, club]; WORD2: [cup]")
    ({'WORD1': ('bar', 'club'), 'WORD2': ('cup',)}, '')
    """
    lists, end, odd = dict[str, tuple[str, ...]](), 0, ""
    while match := _LIST.match(cell, end):
        items = [*filter(None, (" ".join(item.split()) for item in re.split("[,;]", match[2])))]
        if ";" in match[2]:
            odd = "a semicolon within a list is read as a comma; BBQ stops at it"
        if match[1] in lists or not items:
            return {}, f"the list of {match[1]} is empty, or there twice"
        lists[match[1]] = tuple(dict.fromkeys(items))
        end = match.end()
    if cell[end:].strip():
        return {}, f"not a list such as NAME1: [one, other]: {cell[end:].strip()[:40]}"
    if [*lists] != sorted(lists):
        odd = "the second list stands before the first; BBQ then takes it to be empty"
    return lists, odd


def read_texts(cell: str) -> list[Any]:
    """Return a JSON list of texts, or of lists of texts; empty where the cell is neither.

    >>> read_texts('["man", "woman"]'), read_texts("man")
    (['man', 'woman'], [])
    """
    try:
        value = read_json(cell)
    except UnreadableError:
        return []
    if not isinstance(value, list):
        return []
    is_texts = all(isinstance(item, str) for item in value)
    is_lists = all(isinstance(item, list) and item and all(isinstance(text, str) for text in item) for item in value)
    return value if is_texts or is_lists else []


def rotate(items: Sequence[str], start: int, most: int) -> tuple[str, ...]:
    """Return `most` of some items, or all if they are fewer, beginning with number `start` and then around.

    >>> rotate("abcd", 3, 2)
    ('d', 'a')
    """
    return tuple(items[(start + number) % len(items)] for number in range(min(most, len(items))))


def in_turns(lists: Iterable[Sequence[str]]) -> list[str]:
    """Return the items of some lists in turns: the first of each, then the second of each.

    >>> in_turns(["ab", "c"])
    ['a', 'c', 'b']
    """
    columns = [*lists]
    longest = max(map(len, columns), default=0)
    return [items[number] for number in range(longest) for items in columns if number < len(items)]
