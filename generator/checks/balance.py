"""Whether what is compared is of equal size: words of roles, groups, sets, lengths."""

from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean

from senseprobe.generator.blocks import Config, reference
from senseprobe.generator.checks.reading import finding, labelled
from senseprobe.generator.checks.registry import Subject, on_config
from senseprobe.generator.declarations import AssociationFront, ContrastFront, InferenceFront
from senseprobe.generator.wordlists import Word
from senseprobe.records import Finding

MOST_WORDS_APART = 0.5
"""Words that the two roles' bound words may differ in on average: one in every second pair."""

MOST_LETTERS_APART = 2.0
"""Characters that they may differ in on average: *man* and *woman* do."""

_GROUP_COLUMNS = ("gender", "group")


@on_config("W503")
def unequal_lengths(subject: Subject) -> Iterator[Finding]:
    """The words that one role binds are on average longer than those of the other.

    Longer and rarer words come in more pieces, and most scorers count pieces, so a score would tell length from length
    (PEERS 5.11). Reported where the averages over all labelled pairs, taken as labels stand after `flip`, differ by
    half a word, or by more than two characters. Choose words of like length, or compare scorers that differ in how
    they treat length.
    """
    pairs = [(row.stereo, row.anti) for _, rows in labelled(subject) for row in rows]
    if not pairs:
        return
    words = [fmean(len(text.split()) for text in side) for side in zip(*pairs, strict=True)]
    letters = [fmean(map(len, side)) for side in zip(*pairs, strict=True)]
    if abs(words[0] - words[1]) >= MOST_WORDS_APART:
        message = f"the words of stereo are {words[0]:.1f} words long on average, those of anti {words[1]:.1f}"
    elif abs(letters[0] - letters[1]) > MOST_LETTERS_APART:
        message = f"the words of stereo have {letters[0]:.1f} characters on average, those of anti {letters[1]:.1f}"
    else:
        return
    place = subject.config.template.blocks[0].place("roles")
    yield finding(subject.config, place, "W503", message, "choose words of like length")


@on_config("W505")
def unequal_sizes(subject: Subject) -> Iterator[Finding]:
    """Groups, or the word sets of the two roles, are of unequal size.

    Where twelve pleasant words stand against nine unpleasant ones, or five occupations of men against one of women,
    one side rests on fewer words than the other, and a figure that pools rows counts the larger side more (PEERS 5.9).
    Looked at are the slots that the two roles bind, the classes that `valence`, `stereotype`, and the columns `gender`
    and `group` make, and the sets X and Y, A and B of each association test.
    """
    match subject.config.blocks[0].block.front:
        case ContrastFront() as front:
            yield from _roles(subject)
            yield from _classes(subject.config, {"valence": front.valence, "stereotype": front.stereotype})
        case InferenceFront() as front:
            columns = {name: front.columns[name] for name in _GROUP_COLUMNS if name in front.columns}
            yield from _classes(subject.config, columns, "columns")
        case AssociationFront():
            yield from _sets(subject.config)


def _roles(subject: Subject) -> Iterator[Finding]:
    block = subject.config.blocks[0]
    for name in block.roles["stereo"]:
        slots = [block.roles[role][name] for role in ("stereo", "anti")]
        if slots[0] == slots[1] or any(isinstance(slot, Word) for slot in slots):
            continue
        sizes = {slot: len({*_words(subject.config, str(slot))}) for slot in slots}
        if len({*sizes.values()}) > 1:
            message = f"the two roles choose {name!r} from sets of unequal size: {_sizes(sizes)}"
            yield finding(subject.config, block.block.place("roles", "stereo", name), "W505", message)


def _classes(config: Config, columns: Mapping[str, str | None], *under: str) -> Iterator[Finding]:
    block = config.blocks[0]
    for key, text in columns.items():
        found = reference(text, block.slots)
        if found is None:
            continue
        slot, column = found
        classes: dict[str, set[str]] = {}
        for word in _words(config, slot):
            if word.columns[column] is not None:
                classes.setdefault(str(word.columns[column]), set()).add(str(word))
        sizes = {name: len(words) for name, words in classes.items()}
        if len({*sizes.values()}) > 1:
            message = f"the words of {slot!r} are in classes of unequal size: {_sizes(sizes)}"
            yield finding(config, block.block.place(*under, key), "W505", message)


def _words(config: Config, slot: str) -> Iterator[Word]:
    """The words of a slot in the blocks that have labels, or in all of them where labels are no matter."""
    for block in config.blocks:
        if getattr(block.block.front, "label_basis", "") != "none":
            yield from block.slots[slot]


def _sets(config: Config) -> Iterator[Finding]:
    sets = _members(config)
    place = config.blocks[0].block.place("role")
    for test in dict.fromkeys(test for test, _ in sets):
        for pair in ("XY", "AB"):
            sizes = {role: len(sets.get((test, role), ())) for role in pair}
            if sizes[pair[0]] != sizes[pair[1]]:
                message = f"sets of {test} are of unequal size: {_sizes(sizes)}"
                yield finding(config, place, "W505", message)


def _members(config: Config) -> dict[tuple[str, str], set[str]]:
    """The distinct words of each test's sets."""
    found: dict[tuple[str, str], set[str]] = {}
    for block in config.blocks:
        front = block.block.front
        if isinstance(front, AssociationFront):
            for member in block.slots[next(iter(block.slots))]:
                test, role, word = (_cell(text, block.slots, member) for text in (front.test, front.role, front.word))
                found.setdefault((test, role), set()).add(word)
    return found


def _cell(text: str, slots: Iterable[str], word: Word) -> str:
    found = reference(text, slots)
    return str(word.columns[found[1]]) if found else text


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {size}" for name, size in sizes.items())
