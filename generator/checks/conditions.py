"""Conditions of front matter that never hold, or that decide nothing."""

from collections.abc import Iterator

from senseprobe.generator.checks.reading import finding
from senseprobe.generator.checks.registry import Subject, on_config
from senseprobe.generator.declarations import Condition, ContrastFront
from senseprobe.generator.templates import AnyFront, Block
from senseprobe.generator.wordlists import WordLists
from senseprobe.records import Finding
from senseprobe.wording import nearest

Location = tuple[str | int, ...]


@on_config("E121")
def value_of_no_word(subject: Subject) -> Iterator[Finding]:
    """A value in `flip`, `contested` or `where` that no word of the list has.

    A misspelt value selects nothing and says nothing: labels that should be flipped are not, or a word is missing. true
    and false have no quotes, or they are words. Looked at is the whole list, since a later block may choose other words
    of it.
    """
    told = set()
    for block in subject.config.template.blocks:
        for place, message, hint in _unknown(block, subject.lists):
            if (place, message) not in told:  # a block that inherits it has the same place
                told.add((place, message))
                yield finding(subject.config, place, "E121", message, hint)


def _unknown(block: Block, lists: WordLists) -> Iterator[tuple[tuple[int, int], str, str]]:
    for location, slot, column, value in _asked(block.front):
        words = lists.get(block.front.slots[slot].list)
        cells = {str(cell): cell for word in words.words for cell in [word.columns[column]]} if words else {}
        if words and value not in cells.values():
            message = f"no word of {words.resource.name} has {column} {value!r}"
            yield block.place(*location), message, nearest(str(value), {*cells} - {"None"})


def _asked(front: AnyFront) -> Iterator[tuple[Location, str, str, object]]:
    """Every value of a condition with its place, and the slot and column that it is held against."""
    for slot, spec in front.slots.items():
        for column, value in spec.where.items():
            # A value alone that fits nothing leaves no words, which is a mistake of its own (E111).
            for number, one in enumerate(value if isinstance(value, list) else []):
                yield ("slots", slot, "where", column, number), slot, column, one
    if isinstance(front, ContrastFront):
        yield from _conditions("flip", front.flip)
        yield from _conditions("contested", front.contested)


def _conditions(key: str, conditions: list[Condition]) -> Iterator[tuple[Location, str, str, object]]:
    for number, condition in enumerate(conditions):
        for name, value in condition.items():
            slot, _, column = name.partition(".")
            for at, one in enumerate(value if isinstance(value, list) else [value]):
                place = (key, number, name, at) if isinstance(value, list) else (key, number, name)
                yield place, slot, column or "word", one


@on_config("E122")
def flip_without_label(subject: Subject) -> Iterator[Finding]:
    """`flip` beside `label_basis: none`.

    Without a basis neither sentence is the stereotype, so there is nothing to turn round: either the labels mean
    something, and the basis is `occupation`, `trait` or `both`, or `flip` has to go. A block that only inherits `flip`
    is left alone: it may set the sentences in the order of the other blocks.
    """
    for block in subject.config.template.blocks:
        front, own = block.front, block.sources[0]
        if isinstance(front, ContrastFront) and front.label_basis == "none" and own.get("flip"):
            message = "label_basis is none, so there is no label to flip"
            yield finding(subject.config, block.place("flip"), "E122", message, "name the basis, or leave flip out")
