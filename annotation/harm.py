"""Who reports a row as harmful to a group that is their own: a majority must not overrule them without a word."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from senseprobe.annotation.records import Annotation

__all__ = ["QUESTION", "belongs", "groups_of", "reported"]

QUESTION = "withhold"
HARMFUL = "yes"


def groups_of(annotations: Iterable[Annotation]) -> dict[str, frozenset[str]]:
    """The groups that each annotator named of themselves, in any of their annotations."""
    named: dict[str, set[str]] = {}
    for each in annotations:
        named.setdefault(each.annotator, set()).update(each.groups)
    return {annotator: frozenset(groups) for annotator, groups in named.items()}


def belongs(groups: Iterable[str], targets: Collection[str]) -> bool:
    """Whether one of the groups is the target: its words hold all words of a target, in whatever case.

    >>> belongs(["Japanese American"], ["japanese"]), belongs(["Japan"], ["japanese"])
    (True, False)
    """
    wanted = [words for words in map(_words, targets) if words]
    return any(words <= _words(group) for group in groups for words in wanted)


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))


def reported(answered: Mapping[str, Sequence[Annotation]], targets: Mapping[str, Collection[str]]) -> frozenset[str]:
    """The rows that an annotator of the targeted group would rather not have used.

    - `answered`: the annotations of each row, one per annotator.
    - `targets`: the words for the group that each row is about.

    How many report a row is not told: beside single answers it would say who is of the group.
    """
    groups = groups_of(each for annotations in answered.values() for each in annotations)
    return frozenset(
        row
        for row, annotations in answered.items()
        for each in annotations
        if each.answers.get(QUESTION) == HARMFUL and belongs(groups[each.annotator], targets.get(row, ()))
    )
