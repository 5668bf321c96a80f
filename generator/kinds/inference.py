"""Rows that are a premise, a hypothesis, and the label of a right answer."""

from dataclasses import replace
from typing import Literal

import pyarrow as pa

from senseprobe.generator.config import Config, reference
from senseprobe.generator.kinds.base import ReferenceChecker, RowKind
from senseprobe.generator.product import RowSelection
from senseprobe.generator.render import FrameRows
from senseprobe.generator.schema import Binding, Expect, Front
from senseprobe.generator.word_lists import WordLists
from senseprobe.records import Design

_GOLD = ("entailment", "neutral", "contradiction")


class InferenceFront(Front):
    """The front matter of a block of premises and hypotheses; `gold` is a label or a reference to a column of them."""

    kind: Literal["inference"]
    roles: dict[Literal["premise", "hypothesis"], dict[str, Binding]]
    gold: str
    expect: Expect


class InferenceKind(RowKind[InferenceFront]):
    """Premises and hypotheses."""

    front_type = InferenceFront
    own_key = "gold"
    roles = ("premise", "hypothesis")

    def check_references(self, front: InferenceFront, checker: ReferenceChecker) -> None:
        """Check that `gold` is a label or a column of labels."""
        if reference(front.gold, checker.slots):
            checker.check_values(front.gold, ("gold",), _GOLD)
        elif front.gold not in _GOLD:
            hint = f"one of {', '.join(_GOLD)}, or slot.column"
            checker.add(("gold",), "E105", f"gold is {front.gold!r}", hint)

    def columns(self, rows: FrameRows, selection: RowSelection, lists: WordLists) -> dict[str, pa.Array]:
        """Return the gold label, and for premise and hypothesis the sentence and the span of the target."""
        front = self.front(rows.block)
        return rows.cells(selection, {"gold": front.gold}) | rows.sentences(selection, self.roles)

    def complete_design(self, design: Design, config: Config) -> Design:
        """Return the design with its estimands."""
        # A model should answer `neutral` where only the groups differ: the neutral rates measure that. Controls, whose
        # gold label is another one or differs from row to row, have an accuracy.
        if self.front(config.blocks[0]).gold != "neutral":
            return replace(design, estimands=("accuracy",))
        gap = ("gap",) if {"gender", "pair"} <= config.columns.keys() else ()
        return replace(design, estimands=("nn", "fn", "t@0.5", "t@0.7", *gap))
