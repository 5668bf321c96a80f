"""Who reports a row as harmful to a group that is their own: a majority must not overrule them without a word."""

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
    """The groups that each annotator named of themselves, in any of their annotations."""
    named: dict[str, set[str]] = {}
    for each in annotations:
        named.setdefault(each.annotator, set()).update(each.groups)
    return {annotator: frozenset(groups) for annotator, groups in named.items()}


def belongs(groups: Iterable[str], targets: Collection[str]) -> bool:
    """Whether one of the groups is the target: its words hold all words of a target, in whatever case and number.

    >>> belongs(["Japanese American"], ["japanese"]), belongs(["Japan"], ["japanese"])
    (True, False)
    >>> belongs(["women who cycle"], ["woman"]), belongs(["non-Japanese"], ["japanese"])
    (True, False)
    """
    wanted = [words for words in map(_words, targets) if words]
    return any(words <= held for held in map(_words, groups) if not held & _NOT for words in wanted)


def unmatched(answered: Mapping[str, Sequence[Annotation]], targets: Mapping[str, Collection[str]]) -> list[str]:
    """The groups, as annotators who object to rows name them, that no row is about; as in `reported`."""
    groups = groups_of(each for annotations in answered.values() for each in annotations)
    told = {each.annotator for said in answered.values() for each in said if each.answers.get(QUESTION) == HARMFUL}
    everybody = {word for words in targets.values() for word in words}
    named = {group for who in told for group in groups[who]}
    return sorted(group for group in named if not belongs([group], everybody))


def _words(text: str) -> frozenset[str]:
    """The words of a text, each in the form that stands for singular and plural."""
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
    return frozenset(map(_singular, words))


def _singular(word: str) -> str:
    """The word without the end of an English plural: of any word, so that both numbers become the same."""
    for end, single, least in _ENDS:
        if word.endswith(end) and len(word) >= least:
            return f"{word.removesuffix(end)}{single}"
    return word


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
