"""What `senseprobe lint` finds in templates of descriptors."""

from collections import Counter
from collections.abc import Iterator, Mapping

from senseprobe.kinds import ConfigSubject, Finding, reference
from senseprobe.messages import listed
from senseprobe.release.kinds import CheckFunction

_SHOWN = 5


def _axes(subject: ConfigSubject) -> Iterator[tuple[str, str, frozenset[tuple[str, str]]]]:
    """Yield the descriptors of each block of a config: the word, its axis, and the frames and nouns that it meets."""
    for block in subject.config.blocks:
        axis = str(getattr(block.block.front, "axis", ""))
        column = reference(axis, block.slots)
        nouns = [str(noun) for noun in block.slots.get("noun", ("",))]
        cells = frozenset((each.frame.code, noun) for each in block.frames for noun in nouns)
        for word in block.slots.get("descriptor", ()):
            yield str(word), str(word.columns[column[1]]) if column else axis, cells


def _first_of(words: list[str]) -> str:
    """Return the first of many words, for a message."""
    more = [f"{len(words) - _SHOWN:,} more"] if len(words) > _SHOWN else []
    return listed([*map(repr, words[:_SHOWN]), *more])


def _find_shared(subject: ConfigSubject) -> Iterator[Finding]:
    """Find descriptors in two axes: their sentences count in each of them, and are the same."""
    axes: dict[str, set[str]] = {}
    for word, axis, _ in _axes(subject):
        axes.setdefault(word, set()).add(axis)
    if shared := sorted(word for word, of_word in axes.items() if len(of_word) > 1):
        where = subject.config.blocks[0].block.locate("axis")
        message = f"in more than one axis: {_first_of(shared)}"
        yield subject.finding(where, "WDES01", message, "keep each in one axis, or accept that it counts in both")


def _find_single(subject: ConfigSubject) -> Iterator[Finding]:
    """Find axes with a single descriptor, which can be compared with no other."""
    axes = Counter(axis for _, axis in dict.fromkeys((word, axis) for word, axis, _ in _axes(subject)))
    if single := sorted(axis for axis, count in axes.items() if count == 1):
        where = subject.config.blocks[0].block.locate("axis")
        yield subject.finding(where, "WDES02", f"a single descriptor in {_first_of(single)}", "add others of its axis")


def _find_incomplete(subject: ConfigSubject) -> Iterator[Finding]:
    """Find descriptors that lack templates or nouns that others of their axis have: the spread leaves them out."""
    cells: dict[str, dict[str, set[tuple[str, str]]]] = {}
    for word, axis, of_word in _axes(subject):
        cells.setdefault(axis, {}).setdefault(word, set()).update(of_word)
    for axis, by_word in cells.items():
        most = max(map(len, by_word.values()))
        if fewer := [word for word, of_word in by_word.items() if len(of_word) < most]:
            message = f"{axis}: {_first_of(fewer)} in fewer templates or with fewer nouns than others"
            hint = "the spread leaves them out, and differences use what two descriptors share"
            yield subject.finding(subject.config.blocks[0].block.locate("slots"), "WDES03", message, hint)


CHECKS: Mapping[str, CheckFunction] = {"WDES01": _find_shared, "WDES02": _find_single, "WDES03": _find_incomplete}
