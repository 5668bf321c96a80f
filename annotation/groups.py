"""Groups that annotators say they belong to; and rows that people of the targeted group report as harmful.

A majority must not overrule those reports silently.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence

from senseprobe.annotation.records import Annotation
from senseprobe.release.annotation_record import FEWEST_IN_GROUP

QUESTION = "withhold"
HARMFUL = "yes"

MOST_GROUPS, LONGEST_GROUP = 20, 100
"""How many groups somebody may name of themselves in one annotation, and of how many characters each."""

_NOT = set("anti aren ex former formerly isn neither never no non nor not".split())  # noqa: SIM905 - read as one

# The ends of English plurals, what stands for them, and the letters that such a word has at least; "fe" is of the word
# alone, so that wife is as wives is.
_ENDS = [("children", "child", 8), ("men", "man", 3), ("ies", "y", 5), ("ves", "f", 5), ("fe", "f", 4), ("ss", "ss", 2)]
_ENDS += [*((f"{end}es", end, 5) for end in ("ss", "ch", "sh", "x", "z")), ("s", "", 4)]


def named_groups(text: str) -> tuple[tuple[str, ...], int]:
    """Return the groups of a text with commas between them, lower case, sorted, once each; and how many it leaves out.

    It leaves out what is longer than a name, and all behind the first twenty.

    >>> named_groups("Women,  Japanese american ,women")
    (('japanese american', 'women'), 0)
    """
    parts = (" ".join(part.split()).casefold() for part in re.split("[,;\n]", text))
    named = [part for part in dict.fromkeys(parts) if part]
    allowed = [part for part in named if len(part) <= LONGEST_GROUP][:MOST_GROUPS]
    return tuple(sorted(allowed)), len(named) - len(allowed)


def groups_of(annotations: Iterable[Annotation]) -> dict[str, frozenset[str]]:
    """Return the groups that each annotator named of themselves, in any of their annotations."""
    named: dict[str, set[str]] = {}
    for annotation in annotations:
        named.setdefault(annotation.annotator, set()).update(annotation.groups)
    return {annotator: frozenset(groups) for annotator, groups in named.items()}


def people_by_group(annotations: Iterable[Annotation]) -> dict[str, frozenset[str]]:
    """Return the annotators who named each group of themselves, sorted by group: lower case, at most 200 characters."""
    people: dict[str, set[str]] = {}
    for annotator, groups in groups_of(annotations).items():
        for group in groups:
            signs = "".join(sign if sign.isprintable() else " " for sign in group.casefold())
            people.setdefault(" ".join(signs.split())[:200].strip(), set()).add(annotator)
    return {group: frozenset(named) for group, named in sorted(people.items()) if group}


def count_groups(annotations: Iterable[Annotation]) -> dict[str, int]:
    """Return how many annotators named each group, in whatever case, where they are five or more."""
    counts = {group: len(people) for group, people in people_by_group(annotations).items()}
    return {group: count for group, count in counts.items() if count >= FEWEST_IN_GROUP}


def find_reported(
    answered: Mapping[str, Sequence[Annotation]], targets: Mapping[str, Collection[str]]
) -> frozenset[str]:
    """Return the rows that an annotator of the targeted group would rather not have used.

    - `answered`: the annotations of each row, one per annotator.
    - `targets`: the words for the group that each row is about.

    How many report a row is not stated: beside single answers it would say who is of the group.
    """
    objections = _objections(answered)
    return frozenset(row for row, groups in objections if belongs(groups, targets.get(row, ())))


def unmatched_groups(answered: Mapping[str, Sequence[Annotation]], targets: Mapping[str, Collection[str]]) -> list[str]:
    """Return the groups of annotators who object to rows that no row is about; arguments as of `find_reported`."""
    words = {word for names in targets.values() for word in names}
    named = {group for _, groups in _objections(answered) for group in groups}
    return sorted(group for group in named if not belongs([group], words))


def _objections(answered: Mapping[str, Sequence[Annotation]]) -> list[tuple[str, frozenset[str]]]:
    """Return each row that somebody would rather not have used, with the groups of that annotator."""
    groups = groups_of(annotation for annotations in answered.values() for annotation in annotations)
    return [
        (row, groups[annotation.annotator])
        for row, annotations in answered.items()
        for annotation in annotations
        if annotation.answers.get(QUESTION) == HARMFUL
    ]


def belongs(groups: Iterable[str], targets: Collection[str]) -> bool:
    """Return whether one of the groups has all words of a target, in whatever case and number, and no word as *not*.

    >>> belongs(["Japanese American"], ["japanese"]), belongs(["Japan"], ["japanese"])
    (True, False)
    >>> belongs(["women who cycle"], ["woman"]), belongs(["non-Japanese"], ["japanese"])
    (True, False)
    """
    target_words = [words for words in map(_words, targets) if words]
    group_words = [words for words in map(_words, groups) if not words & _NOT]
    return any(target <= group for group in group_words for target in target_words)


def _words(text: str) -> frozenset[str]:
    """Return the words of a text, each in the form that stands for singular and plural."""
    return frozenset(map(_singular, re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())))


def _singular(word: str) -> str:
    """Return the word without the end of an English plural: of any word, so that both numbers become the same."""
    for end, single, least in _ENDS:
        if word.endswith(end) and len(word) >= least:
            return f"{word.removesuffix(end)}{single}"
    return word
