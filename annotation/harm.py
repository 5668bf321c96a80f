"""Rows that people of the targeted group report as harmful: a majority must not overrule them silently."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence

from senseprobe.annotation.records import Annotation

QUESTION = "withhold"
HARMFUL = "yes"

_NOT = set("anti aren ex former formerly isn neither never no non nor not".split())  # noqa: SIM905 - read as one

# The ends of English plurals, what stands for them, and the letters that such a word has at least; "fe" is of the word
# alone, so that wife is as wives is.
_ENDS = [("children", "child", 8), ("men", "man", 3), ("ies", "y", 5), ("ves", "f", 5), ("fe", "f", 4), ("ss", "ss", 2)]
_ENDS += [*((f"{end}es", end, 5) for end in ("ss", "ch", "sh", "x", "z")), ("s", "", 4)]


def groups_of(annotations: Iterable[Annotation]) -> dict[str, frozenset[str]]:
    """Return the groups that each annotator named of themselves, in any of their annotations."""
    named: dict[str, set[str]] = {}
    for annotation in annotations:
        named.setdefault(annotation.annotator, set()).update(annotation.groups)
    return {annotator: frozenset(groups) for annotator, groups in named.items()}


def find_reported(
    answered: Mapping[str, Sequence[Annotation]], targets: Mapping[str, Collection[str]]
) -> frozenset[str]:
    """Return the rows that an annotator of the targeted group would rather not have used.

    - `answered`: the annotations of each row, one per annotator.
    - `targets`: the words for the group that each row is about.

    How many report a row is not stated: beside single answers it would say who is of the group.
    """
    groups = groups_of(annotation for annotations in answered.values() for annotation in annotations)
    return frozenset(
        row
        for row, annotations in answered.items()
        for annotation in annotations
        if _objects(annotation) and belongs(groups[annotation.annotator], targets.get(row, ()))
    )


def unmatched_groups(answered: Mapping[str, Sequence[Annotation]], targets: Mapping[str, Collection[str]]) -> list[str]:
    """Return the groups of annotators who object to rows that no row is about; arguments as of `find_reported`."""
    groups = groups_of(annotation for annotations in answered.values() for annotation in annotations)
    objectors = {
        annotation.annotator for annotations in answered.values() for annotation in annotations if _objects(annotation)
    }
    words = {word for names in targets.values() for word in names}
    named = {group for annotator in objectors for group in groups[annotator]}
    return sorted(group for group in named if not belongs([group], words))


def _objects(annotation: Annotation) -> bool:
    return annotation.answers.get(QUESTION) == HARMFUL


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
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
    return frozenset(map(_singular, words))


def _singular(word: str) -> str:
    """Return the word without the end of an English plural: of any word, so that both numbers become the same."""
    for end, single, least in _ENDS:
        if word.endswith(end) and len(word) >= least:
            return f"{word.removesuffix(end)}{single}"
    return word
