"""Rows that are words of an association test, each in a sentence."""

import pyarrow as pa

from senseprobe.generator.declarations import AssociationFront
from senseprobe.generator.product import Picked
from senseprobe.generator.sentences import FrameRows
from senseprobe.generator.wordlists import WordLists


def columns(rows: FrameRows, picked: Picked, lists: WordLists) -> dict[str, pa.Array]:
    """The columns of an association config."""
    front = rows.block.block.front
    assert isinstance(front, AssociationFront)  # noqa: S101 - chosen by kind
    told = {"test": front.test, "role": front.role, "word": front.word, "word_class": front.word_class}

    def make(one: Picked) -> dict[str, pa.Array]:
        side = rows.side("sentence", one)
        cells = {name: rows.cell(text, one) for name, text in told.items()}
        return {**cells, "sentence": side.text, "span": rows.spans(side)}

    return rows.gather(picked, tuple(rows.block.slots), make)
