"""Whether a result could mean what it is said to mean: what is declared, and over what it can be generalised."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from senseprobe.generator import yamlfile
from senseprobe.generator.blocks import Bound, Config, ResolvedBlock
from senseprobe.generator.checks.reading import finding
from senseprobe.generator.checks.registry import Published, Subject, on_config, on_dataset
from senseprobe.generator.declarations import ContrastFront
from senseprobe.generator.design import design_of, levels_of
from senseprobe.generator.wordlists import Word, show
from senseprobe.records import Finding
from senseprobe.wording import counted

FEWEST_WORDS = 3
"""Words that it takes to say what is measured, or who could be harmed."""

FEWEST_LEVELS = 5
"""Levels of a factor from which a result generalises over it; ESTIMANDS, "One interval rule"."""

_PLACEHOLDER = re.compile(
    r"(?i)\W*(?:tba|tbd|to ?do|to be \w+|fix ?me|n/?a|none|nobody|nothing|unknown|x{2,})\b.{0,12}|\W+"
)
_ANGLES = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\$\w+\$")


@on_dataset("W501")
def undeclared(published: Published) -> Iterator[Finding]:
    """What is measured, of which groups, or who could be harmed is not declared in `dataset.yaml`.

    Without `construct`, `groups` and `who_could_be_harmed` nobody can tell what a score is evidence of, or for whom a
    wrong conclusion would be dangerous: the commonest fault of the benchmarks that Blodgett et al. (2021) looked at
    (PEERS 5.9). `construct` and `who_could_be_harmed` take a phrase of three words at least, `groups` a list of names.
    """
    path = published.dataset.folder / "dataset.yaml"
    shown, card = show(path), published.dataset.card
    data = yamlfile.parse(yamlfile.read_text(path, shown), shown)
    mistakes = {
        "construct": _says_nothing(card.measured),
        "groups": next(filter(None, map(_is_placeholder, card.groups)), "" if card.groups else "is not declared"),
        "who_could_be_harmed": _says_nothing(card.who_could_be_harmed),
    }
    hints = {
        "construct": "say what is measured, and of whom",
        "groups": "groups: [women, men]",
        "who_could_be_harmed": "say for whom a wrong reading would be dangerous",
    }
    for key, mistake in mistakes.items():
        if mistake:
            line, column = yamlfile.place([data], (key,))
            message = f"{key} {mistake}"
            yield Finding(path=shown, line=line, column=column, code="W501", message=message, hint=hints[key])


def _says_nothing(text: str) -> str:
    if not text.strip():
        return "is not declared"
    few = len(text.split()) < FEWEST_WORDS
    return _is_placeholder(text) or (f"says too little: {text.strip()!r}" if few else "")


def _is_placeholder(text: str) -> str:
    text = text.strip()
    held = _PLACEHOLDER.fullmatch(text) or _ANGLES.search(text)
    return f"is a placeholder: {text!r}" if held else ""


@on_config("W506")
def few_levels(subject: Subject) -> Iterator[Finding]:
    """A factor of `generalise` has fewer than five levels.

    A result cannot be generalised over so few frames, words or groups: the spread between them is not known well
    enough, so the interval treats them as fixed and the report says so (ESTIMANDS, "One interval rule"). Levels are
    counted within each class where `valence` or `stereotype` make classes. Add levels, or take the factor out of
    `generalise` and claim nothing beyond the words at hand.
    """
    block = subject.config.template.blocks[0]
    for factor, levels in levels_of(subject.config).items():
        if levels < FEWEST_LEVELS:
            name, _, stratum = factor.partition(" (")
            place = block.place("generalise", block.front.generalise.index(name))
            of = f" that is {stratum.rstrip(')')}" if stratum else ""
            message = f"{name} has {counted(levels, 'level')}{of}: results cannot be generalised over it"
            yield finding(subject.config, place, "W506", message, f"it takes {FEWEST_LEVELS}")


@on_config("W507")
def nothing_to_compare(subject: Subject) -> Iterator[Finding]:
    """A group's attributes are said of no other group, so that nothing can be compared.

    A model may prefer *bad* to *good* of whomever it is said: only the same words, said of another group or of nobody,
    show what the group adds (PEERS 5.9; ESTIMANDS, "Relative"). Give all groups the same attributes, or add a block
    with reference groups and `label_basis: none`, or one that is `unmarked`.
    """
    config = subject.config
    blocks = [block for block in config.blocks if _said_of_groups(block)]
    first: dict[str, ResolvedBlock] = {}
    for block in blocks:
        for word in block.slots[str(block.block.front.target)]:
            first.setdefault(str(word), block)
    if len(first) == 1 and design_of(config).differs == "evaluative" and not _unmarked(config):
        (group, block), *_ = first.items()
        message = f"{group!r} is the only group: what is said of it is compared with nothing"
        place, hint = _place(block, str(block.block.front.target)), "add reference groups, or an unmarked block"
        yield finding(config, place, "W507", message, hint)
    for group, (role, name) in unshared_attributes([_attributes(block) for block in blocks]):
        message = f"no other group has any of the words of {name!r} in {role} that {group!r} has"
        place = _place(first[group], first[group].roles[role][name], role, name)
        yield finding(config, place, "W507", message, "give all groups the same words")


Attribute = tuple[str, str]
"""A role, and the name of what it binds."""


def unshared_attributes(
    blocks: Sequence[tuple[Collection[str], Mapping[Attribute, Collection[str]]]],
) -> Iterator[tuple[str, Attribute]]:
    """Each group and attribute of which no word is said of another group; nothing where there is one group only.

    A block is its groups, and the words of each attribute that it says of all of them. Each word is looked at twice,
    however many groups there are: a block of several groups shares all that it says.
    """
    holder: dict[tuple[Attribute, str], str | None] = {}  # of a word the only group that has it, None where several do
    own: dict[tuple[str, Attribute], list[Collection[str]]] = {}
    groups = {group for names, _ in blocks for group in names}
    for names, attributes in blocks:
        only = next(iter(names)) if len({*names}) == 1 else None
        for attribute, words in attributes.items():
            for word in words:
                key = attribute, word
                holder[key] = only if holder.get(key, only) == only else None
            for group in names:
                own.setdefault((group, attribute), []).append(words)
    for (group, attribute), sets in own.items():
        if len(groups) > 1 and all(holder[attribute, word] == group for words in sets for word in words):
            yield group, attribute


def _attributes(block: ResolvedBlock) -> tuple[Collection[str], Mapping[Attribute, Collection[str]]]:
    """The groups of a block, and the words that each role and binding says of them."""
    groups = dict.fromkeys(map(str, block.slots[str(block.block.front.target)]))
    said = {(role, name): block.words(role, name) for role, names in block.roles.items() for name in names}
    return groups, said


def _said_of_groups(block: ResolvedBlock) -> bool:
    """Whether roles bind attributes; groups and pronouns, if these are what is bound, are compared within a pair."""
    target = block.block.front.target
    if target not in block.slots or not isinstance(block.block.front, ContrastFront):
        return False
    bound = [bound for names in block.roles.values() for bound in names.values()]
    words = [word for role, names in block.roles.items() for name in names for word in block.words(role, name)[:1]]
    slots = all(not isinstance(one, Word) and one != target for one in bound)
    return slots or any("polarity" in word.columns for word in words)


def _unmarked(config: Config) -> bool:
    return any(getattr(block.block.front, "unmarked", False) for block in config.blocks)


def _place(block: ResolvedBlock, bound: Bound, *location: str) -> tuple[int, int]:
    return block.block.place("roles", *location) if isinstance(bound, Word) else block.block.place("slots", bound)
