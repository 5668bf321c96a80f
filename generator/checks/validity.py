"""Whether a result could mean what it is said to mean.

Compared words and sets are of equal size, what is measured is declared, factors have enough levels to generalise over,
and groups have the same attributes.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import comb
from statistics import fmean

from senseprobe.generator.checks.base import ConfigSubject, DatasetSubject, Position, check, finding_at, yaml_position
from senseprobe.generator.checks.placeholders import is_unfilled
from senseprobe.generator.config import Config, ResolvedBinding, ResolvedBlock, reference
from senseprobe.generator.dataset import count_levels, derive_design
from senseprobe.generator.kinds.association import SETS, AssociationFront
from senseprobe.generator.kinds.contrast import ContrastFront
from senseprobe.generator.kinds.inference import InferenceFront
from senseprobe.generator.word_lists import Word
from senseprobe.generator.yaml_source import format_path
from senseprobe.messages import counted
from senseprobe.records import Finding

MOST_WORDS_APART = 0.5
"""Words that the two roles' bound words may differ in on average: one in every second pair."""

MOST_LETTERS_APART = 2.0
"""Characters that they may differ in on average: *man* and *woman* do."""


@check("W503")
def check_lengths(subject: ConfigSubject) -> Iterator[Finding]:
    """The words that one role binds are longer on average than those of the other role.

    Longer and rarer words have more tokens, and most scorers add up tokens, so a score could measure length. The
    check reports averages over all labelled pairs (after `flip`) that differ by half a word, or by more than two
    characters. Choose words of similar length, or compare scorers that treat length differently.
    """
    pairs = [(row.stereo, row.anti) for _, rows in subject.labelled for row in rows]
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
    position = subject.config.template.blocks[0].locate("roles")
    yield subject.finding(position, "W503", message, "choose words of similar length")


@check("W505")
def check_sizes(subject: ConfigSubject) -> Iterator[Finding]:
    """Groups, or the word sets of the two roles, differ in size.

    With twelve pleasant and nine unpleasant words, or five occupations of men and one of women, one side rests on
    fewer words, and pooled scores count the larger side more. The check looks at the slots that the two roles bind,
    at the classes of `valence` and `stereotype` and of the columns `gender` and `group`, and at the sets X and Y, A
    and B of each association test.
    """
    match subject.config.blocks[0].block.front:
        case ContrastFront() as front:
            yield from _unequal_roles(subject)
            yield from _unequal_classes(subject, {"valence": front.valence, "stereotype": front.stereotype})
        case InferenceFront() as front:
            columns = {name: column for name, column in front.columns.items() if name in ("gender", "group")}
            yield from _unequal_classes(subject, columns, "columns")
        case AssociationFront():
            position = subject.config.blocks[0].block.locate("role")
            for test, sets in _association_sets(subject.config).items():
                for pair in (pair for pair in ("XY", "AB") if all(sets[role] for role in pair)):  # else W518
                    sizes = {role: len(sets[role]) for role in pair}
                    yield from _unequal(subject, position, f"sets of {test} are", sizes)


def _unequal_roles(subject: ConfigSubject) -> Iterator[Finding]:
    block = subject.config.blocks[0]
    for name in block.roles["stereo"]:
        slots = [block.roles[role][name] for role in ("stereo", "anti")]
        if slots[0] == slots[1] or any(isinstance(slot, Word) for slot in slots):
            continue
        sizes = {str(slot): len({*_words(subject.config, str(slot))}) for slot in slots}
        what = f"the two roles choose {name!r} from sets"
        yield from _unequal(subject, block.block.locate("roles", "stereo", name), what, sizes)


def _unequal_classes(subject: ConfigSubject, columns: Mapping[str, str | None], *under: str) -> Iterator[Finding]:
    block = subject.config.blocks[0]
    for key, text in columns.items():
        if match := reference(text, block.slots):
            slot, column = match
            words = [word for word in _words(subject.config, slot) if word.columns[column] is not None]
            sizes = Counter(name for name, _ in dict.fromkeys((str(word.columns[column]), str(word)) for word in words))
            what = f"the words of {slot!r} are in classes"
            yield from _unequal(subject, block.block.locate(*under, key), what, sizes)


def _unequal(subject: ConfigSubject, position: Position, what: str, sizes: Mapping[str, int]) -> Iterator[Finding]:
    """Yield W505 where the sizes are not all the same."""
    if len({*sizes.values()}) > 1:
        text = ", ".join(f"{name} {size}" for name, size in sizes.items())
        yield subject.finding(position, "W505", f"{what} of unequal size: {text}")


def _words(config: Config, slot: str) -> Iterator[Word]:
    """Yield the words of a slot in the blocks that have labels, or in all blocks of a config without labels."""
    for block in config.blocks:
        if block.block.front.has_labels:
            yield from block.slots[slot]


def _association_sets(config: Config) -> dict[str, dict[str, dict[str, None]]]:
    """Return the words of each association test of a config by role, all four of them, each word once."""
    tests: dict[str, dict[str, dict[str, None]]] = {}
    for block in config.blocks:
        for role in SETS:
            for test, word in _set_words(block, role):
                tests.setdefault(test, {name: {} for name in SETS})[role][word] = None
    return tests


def _set_words(block: ResolvedBlock, role: str) -> Iterator[tuple[str, str]]:
    """Yield test and word of each member of a block that stands in a set."""
    if isinstance(front := block.block.front, AssociationFront):
        for member in block.slots[next(iter(block.slots))]:
            if _cell(front.role, block.slots, member) == role:
                yield _cell(front.test, block.slots, member), _cell(front.word, block.slots, member)


@check("W518")
def check_sets_present(subject: ConfigSubject) -> Iterator[Finding]:
    """An association test lacks one of its four sets.

    Its effect compares how much nearer X is to A than to B, and the same for Y. Without one of the four sets it
    does not exist, and `score` omits the test. The words of a set can be in several blocks of one template, but not
    in different configs, which have tests of their own. Give each class of words a block, and check that `where`
    does not exclude one.
    """
    position = subject.config.blocks[0].block.locate("role")
    for test, sets in _association_sets(subject.config).items():
        if missing := [role for role in SETS if not sets[role]]:
            message = f"{test} lacks words of {' and '.join(missing)}, so it cannot be scored"
            yield subject.finding(position, "W518", message, "give each class of words a block")


@check("W519")
def check_sets_disjoint(subject: ConfigSubject) -> Iterator[Finding]:
    """A word is in two sets of an association test, or twice in one set.

    A word in both X and Y, or in both A and B, is on both sides of its own comparison and pulls the effect to zero.
    A target that is also an attribute has the cosine 1 with itself in every model. A word that is twice in a set
    counts once, so the set is smaller than it looks. For vectors of lower-cased words, words that differ only in
    capitals are the same word. Keep the word in one set, once.
    """
    position = subject.config.blocks[0].block.locate("word")
    for (test, _), sets in _count_in_sets(subject.config).items():
        word = next(iter(next(iter(sets.values()))))
        for role, spellings in sets.items():
            if (times := sum(spellings.values())) > 1:
                named = " and ".join(map(repr, spellings))
                message = f"{role} of {test} has {named} {'twice' if times == 2 else f'{times} times'}"
                yield subject.finding(position, "W519", message, "keep one of them")
        if len(sets) > 1:
            message = f"{word!r} is in {' and '.join(sets)} of {test}"
            yield subject.finding(position, "W519", message, "keep it in one set")


def _count_in_sets(config: Config) -> dict[tuple[str, str], dict[str, Counter[str]]]:
    """Count by test and word in lower case, then by set and spelling, how often a block of the set has the word.

    Several blocks may have a word, in other sentences.
    """
    counts: dict[tuple[str, str], dict[str, Counter[str]]] = {}
    for role in SETS:
        for block in config.blocks:
            for (test, word), times in Counter(_set_words(block, role)).items():
                spellings = counts.setdefault((test, word.casefold()), {}).setdefault(role, Counter())
                spellings[word] = max(spellings[word], times)
    return counts


@check("W520")
def check_sets_large_enough(subject: ConfigSubject) -> Iterator[Finding]:
    """A set of an association test has fewer than five words.

    Then the effect does not have an interval: so few words do not show how the effect would vary with other words.
    The p-value counts the ways to divide the targets into X and Y that give as large an effect. With four words in
    each set, it cannot be below 1 in 70; with three, it cannot be below 1 in 20, so never below .05. Add words, or
    accept the warning with the reason.
    """
    position = subject.config.blocks[0].block.locate("role")
    for test, sets in _association_sets(subject.config).items():
        few = [f"{role} {len(words)}" for role, words in sets.items() if 0 < len(words) < FEWEST_LEVELS]
        ways = comb(len(sets["X"]) + len(sets["Y"]), len(sets["X"]))
        if few:
            unreachable = (
                f", and p cannot be below {LARGEST_P:g} (the smallest is 1 in {ways})" if ways * LARGEST_P <= 1 else ""
            )
            message = f"sets of {test} are small ({', '.join(few)}): the effect lacks an interval{unreachable}"
            yield subject.finding(position, "W520", message, f"use at least {FEWEST_LEVELS} words")


def _cell(text: str, slots: Iterable[str], word: Word) -> str:
    match = reference(text, slots)
    return str(word.columns[match[1]]) if match else text


LARGEST_P = 0.05
"""What the smallest p of an association test should be below."""

FEWEST_WORDS = 3
"""Words that it takes to say what is measured, or who could be harmed."""

FEWEST_LEVELS = 5
"""Levels of a factor from which a result generalises over it; ESTIMANDS, "One interval rule"."""

_PLACEHOLDER = re.compile(
    r"(?i)\W*(?:tba|tbd|to ?do|to be \w+|fix ?me|n/?a|none|nobody|nothing|unknown|x{2,})\b.{0,12}|\W+"
)
_ANGLES = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\$\w+\$")


@check("W501")
def check_declarations(subject: DatasetSubject) -> Iterator[Finding]:
    """`dataset.yaml` does not declare what is measured, for which groups, or who could be harmed.

    Without `construct`, `groups` and `who_could_be_harmed`, nobody can tell what a score shows, or for whom a wrong
    conclusion would be dangerous. Blodgett et al. (2021) found this fault more often than any other. Write at least
    three words for `construct` and `who_could_be_harmed`, and a list of names for `groups`.
    """
    path, card = subject.dataset.folder / "dataset.yaml", subject.dataset.card
    groups = next(filter(None, map(_placeholder_mistake, card.groups)), "") if card.groups else "is not declared"
    harm = _text_mistake(card.who_could_be_harmed)
    mistakes = {
        "construct": (_text_mistake(card.measured), "describe what is measured, and for whom"),
        "groups": (groups, "groups: [women, men]"),
        "who_could_be_harmed": (harm, "name the people for whom a wrong reading would be dangerous"),
    }
    for key, (mistake, hint) in mistakes.items():
        if mistake:
            yield finding_at(format_path(path), yaml_position(path, key), "W501", f"{key} {mistake}", hint)


def _text_mistake(text: str) -> str:
    if not text.strip():
        return "is not declared"
    few = f"is too short: {text.strip()!r}" if len(text.split()) < FEWEST_WORDS and not is_unfilled(text) else ""
    return _placeholder_mistake(text) or few


def _placeholder_mistake(text: str) -> str:
    text = text.strip()
    is_placeholder = not is_unfilled(text) and (_PLACEHOLDER.fullmatch(text) or _ANGLES.search(text))  # else E115
    return f"is a placeholder: {text!r}" if is_placeholder else ""


@check("W506")
def check_levels(subject: ConfigSubject) -> Iterator[Finding]:
    """A factor of `generalise` has fewer than five levels.

    A result cannot be generalised over so few frames, words or groups, because the spread between them is not known
    well enough. The interval treats them as fixed, and the report says so. If `valence` or `stereotype` make
    classes, levels are counted within each class. Add levels, or remove the factor from `generalise` and claim
    nothing beyond these words.
    """
    block = subject.config.template.blocks[0]
    for factor, levels in count_levels(subject.config).items():
        if levels < FEWEST_LEVELS:
            name, _, stratum = factor.partition(" (")
            position = block.locate("generalise", block.front.generalise.index(name))
            of = f" that is {stratum.rstrip(')')}" if stratum else ""
            message = f"{name} has {counted(levels, 'level')}{of}: results cannot be generalised over it"
            remedy = f"list {FEWEST_LEVELS} or more, or remove it from generalise"
            yield subject.finding(position, "W506", message, remedy)


@check("W507")
def check_comparisons(subject: ConfigSubject) -> Iterator[Finding]:
    """A group's attributes are not used with any other group, so nothing can be compared.

    A model may prefer *bad* to *good* for everybody. Only the same words, used with another group or without a
    group, show the effect of the group. Give all groups the same attributes. Or add a block with reference groups
    and `label_basis: none`, or an `unmarked` block. A frame is compared with the unmarked frame of the same id, so
    give both the same name: `{# id: NAME #}`.
    """
    config = subject.config
    blocks = [block for block in config.blocks if _binds_attributes(block)]
    first: dict[str, ResolvedBlock] = {}
    for block in blocks:
        for word in block.slots[str(block.block.front.target)]:
            first.setdefault(str(word), block)
    unmarked = [block for block in config.blocks if getattr(block.block.front, "unmarked", False)]
    evaluative = derive_design(config).differs == "evaluative"
    if evaluative and unmarked:
        codes = {resolved.frame.code for block in unmarked for resolved in block.frames}
        for frame in dict.fromkeys(resolved.frame for block in blocks for resolved in block.frames):
            if frame.code not in codes:
                message = f"there is not an unmarked frame with the id {frame.code!r}, so this frame cannot be compared"
                hint = "give the two the same name, {# id: NAME #}"
                yield subject.finding((frame.line, frame.column), "W507", message, hint)
    if len(first) == 1 and evaluative and not unmarked:
        (group, block), *_ = first.items()
        message = f"{group!r} is the only group, so it cannot be compared"
        position = _binding_position(block, str(block.block.front.target))
        yield subject.finding(position, "W507", message, "add reference groups, or an unmarked block")
    for group, (role, name) in unshared_attributes([_attributes(block) for block in blocks]):
        message = f"other groups have none of the words of {name!r} in {role} that {group!r} has"
        position = _binding_position(first[group], first[group].roles[role][name], role, name)
        yield subject.finding(position, "W507", message, "give all groups the same words")


Attribute = tuple[str, str]
"""A role, and the name of what it binds."""


def unshared_attributes(
    blocks: Sequence[tuple[Collection[str], Mapping[Attribute, Collection[str]]]],
) -> Iterator[tuple[str, Attribute]]:
    """Yield each group and attribute of which no word is said of another group; nothing where there is only one group.

    A block is its groups, and the words of each attribute that it says of all of them. Each word is looked at twice,
    however many groups there are: a block of several groups shares all that it says.
    """
    holder: dict[tuple[Attribute, str], str | None] = {}  # of a word the only group that has it, None where several do
    sets_of_words: dict[tuple[str, Attribute], list[Collection[str]]] = {}
    groups = {group for names, _ in blocks for group in names}
    for names, attributes in blocks:
        only = next(iter(names)) if len({*names}) == 1 else None
        for attribute, words in attributes.items():
            for word in words:
                key = attribute, word
                holder[key] = only if holder.get(key, only) == only else None
            for group in names:
                sets_of_words.setdefault((group, attribute), []).append(words)
    for (group, attribute), sets in sets_of_words.items():
        if len(groups) > 1 and all(holder[attribute, word] == group for words in sets for word in words):
            yield group, attribute


def _attributes(block: ResolvedBlock) -> tuple[Collection[str], Mapping[Attribute, Collection[str]]]:
    """Return the groups of a block, and the words that each role and binding says of them."""
    groups = dict.fromkeys(map(str, block.slots[str(block.block.front.target)]))
    words = {(role, name): block.words(role, name) for role, names in block.roles.items() for name in names}
    return groups, words


def _binds_attributes(block: ResolvedBlock) -> bool:
    """Return whether roles bind attributes; bound groups and pronouns are compared within a pair."""
    target = block.block.front.target
    if target not in block.slots or not isinstance(block.block.front, ContrastFront):
        return False
    bindings = [bound for names in block.roles.values() for bound in names.values()]
    words = [word for role, names in block.roles.items() for name in names for word in block.words(role, name)[:1]]
    slots = all(not isinstance(bound, Word) and bound != target for bound in bindings)
    return slots or any("polarity" in word.columns for word in words)


def _binding_position(block: ResolvedBlock, bound: ResolvedBinding, *location: str) -> Position:
    return block.block.locate("roles", *location) if isinstance(bound, Word) else block.block.locate("slots", bound)
