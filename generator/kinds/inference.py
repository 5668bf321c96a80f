"""Rows that are a premise, a hypothesis, and the label of a right answer."""

import pyarrow as pa

from senseprobe.generator.blocks import reference
from senseprobe.generator.declarations import InferenceFront
from senseprobe.generator.product import Picked
from senseprobe.generator.sentences import FrameRows
from senseprobe.generator.wordlists import WordLists


def columns(rows: FrameRows, picked: Picked, lists: WordLists) -> dict[str, pa.Array]:
    """The columns of an inference config."""
    front = rows.block.block.front
    assert isinstance(front, InferenceFront)  # noqa: S101 - chosen by kind
    found = reference(front.gold, rows.block.slots)
    made = rows.gather(picked, found[:1] if found else (), lambda one: {"gold": rows.cell(front.gold, one)})
    for role in front.roles:
        made |= rows.gather(picked, rows.reads(role), lambda one, role=role: rows.sentence(role, one))  # type: ignore[misc]
    return made
