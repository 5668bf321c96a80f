"""Whether a result could mean what it is said to mean: what is declared, and over what it can be generalised."""

import re
from collections.abc import Iterator

from senseprobe.generator import yamlfile
from senseprobe.generator.blocks import Bound, Config, ResolvedBlock
from senseprobe.generator.checks.reading import finding
from senseprobe.generator.checks.registry import Subject, on_config, on_dataset
from senseprobe.generator.declarations import ContrastFront
from senseprobe.generator.design import design_of, levels_of
from senseprobe.generator.templates import Dataset
from senseprobe.generator.wordlists import Word, show
from senseprobe.records import Finding
from senseprobe.wording import counted

__all__ = ["few_levels", "nothing_to_compare", "undeclared"]

FEWEST_WORDS = 3
"""Words that it takes to say what is measured, or who could be harmed."""

FEWEST_LEVELS = 5
"""Levels of a factor from which a result generalises over it; ESTIMANDS, "One interval rule"."""

_PLACEHOLDER = re.compile(
    r"(?i)\W*(?:tba|tbd|to ?do|to be \w+|fix ?me|n/?a|none|nobody|nothing|unknown|x{2,})\b.{0,12}|\W+"
)
_ANGLES = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\$\w+\$")


@on_dataset("W501")
def undeclared(dataset: Dataset) -> Iterator[Finding]:
    """What is measured, of which groups, or who could be harmed is not declared in `dataset.yaml`.

    Without `construct`, `groups` and `who_could_be_harmed` nobody can tell what a score is evidence of, or for whom a
    wrong conclusion would be dangerous: the commonest fault of the benchmarks that Blodgett et al. (2021) looked at
    (PEERS 5.9). `construct` and `who_could_be_harmed` take a phrase of three words at least, `groups` a list of names.
    """
    path = dataset.folder / "dataset.yaml"
    shown, card = show(path), dataset.card
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
    groups = _groups(config)
    if len(groups) == 1 and design_of(config).differs == "evaluative" and not _unmarked(config):
        (group, (block, _)), *_ = groups.items()
        message = f"{group!r} is the only group: what is said of it is compared with nothing"
        yield finding(
            config,
            _place(block, str(block.block.front.target)),
            "W507",
            message,
            "add reference groups, or an unmarked block",
        )
    for group, (block, attributes) in groups.items():
        for (role, name), own in attributes.items():
            others = [theirs.get((role, name), set()) for other, (_, theirs) in groups.items() if other != group]
            if others and not own & set().union(*others):
                message = f"no other group has any of the words of {name!r} in {role} that {group!r} has"
                hint = "give all groups the same words"
                yield finding(config, _place(block, block.roles[role][name], role, name), "W507", message, hint)


Attributes = dict[tuple[str, str], set[str]]


def _groups(config: Config) -> dict[str, tuple[ResolvedBlock, Attributes]]:
    """Each group with the first block that has it, and the words that each role and binding says of it."""
    found: dict[str, tuple[ResolvedBlock, Attributes]] = {}
    for block in config.blocks:
        target = block.block.front.target
        if target is None or target not in block.slots or not _said_of_groups(block, target):
            continue
        for group in block.slots[target]:
            _, attributes = found.setdefault(str(group), (block, {}))
            for role, names in block.roles.items():
                for name in names:
                    attributes.setdefault((role, name), set()).update(map(str, block.words(role, name)))
    return found


def _said_of_groups(block: ResolvedBlock, target: str) -> bool:
    """Whether roles bind attributes; groups and pronouns, if these are what is bound, are compared within a pair."""
    if not isinstance(block.block.front, ContrastFront):
        return False
    bound = [bound for names in block.roles.values() for bound in names.values()]
    words = [word for role, names in block.roles.items() for name in names for word in block.words(role, name)[:1]]
    slots = all(not isinstance(one, Word) and one != target for one in bound)
    return slots or any("polarity" in word.columns for word in words)


def _unmarked(config: Config) -> bool:
    return any(getattr(block.block.front, "unmarked", False) for block in config.blocks)


def _place(block: ResolvedBlock, bound: Bound, *location: str) -> tuple[int, int]:
    return block.block.place("roles", *location) if isinstance(bound, Word) else block.block.place("slots", bound)
