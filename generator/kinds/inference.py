"""Rows that are a premise, a hypothesis, and the label of a right answer."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from senseprobe.generator.config import Config, reference
from senseprobe.generator.kinds.base import ReferenceChecker, RowExpansion
from senseprobe.generator.schema import Binding, Expect, Front
from senseprobe.generator.yaml_source import Model
from senseprobe.messages import nearest
from senseprobe.records import Design, LevelPair

_GOLD = ("entailment", "neutral", "contradiction")


class GapSpec(Model):
    """Two levels that are compared: of a slot, or of a column that the template adds; `pair` names another of these."""

    column: str
    first: str
    second: str
    pair: str | None = None


_SIDES = ("first", "second")


class InferenceFront(Front):
    """The front matter of a block of premises and hypotheses; `gold` is a label or a reference to a column of them."""

    kind: Literal["inference"]
    roles: dict[Literal["premise", "hypothesis"], dict[str, Binding]]
    gold: str
    gap: dict[Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$")], GapSpec] = Field(default_factory=dict)
    expect: Expect | None = None

    def cells(self, column: str) -> tuple[str, str]:
        """Return the slot and the column of its list that a column of the rows is made of."""
        slot, _, cell = self.columns.get(column, column).partition(".")
        return slot, cell or "word"


class InferenceExpansion(RowExpansion[InferenceFront]):
    """Premises and hypotheses."""

    front_type = InferenceFront
    distinctive_key = "gold"
    roles = ("premise", "hypothesis")

    def check_references(self, front: InferenceFront, checker: ReferenceChecker) -> None:
        """Check that `gold` is a label or a column of labels."""
        if reference(front.gold, checker.slots):
            checker.check_values(front.gold, ("gold",), _GOLD)
        elif front.gold not in _GOLD:
            hint = f"write one of {', '.join(_GOLD)}, or slot.column"
            checker.add(("gold",), "E105", f"gold is {front.gold!r}", hint)
        if front.gap and front.gold != "neutral":
            checker.add(("gap",), "E102", "a gap needs rows with `gold: neutral`")
        for name, spec in front.gap.items():
            self._check_gap(name, spec, front, checker)

    def _check_gap(self, name: str, spec: GapSpec, front: InferenceFront, checker: ReferenceChecker) -> None:
        """Check that the columns of a gap are of one slot, and that two levels of it are compared."""
        names = {*front.slots, *front.columns}
        missing = [(key, text) for key in ("column", "pair") if (text := getattr(spec, key)) and text not in names]
        for key, text in missing:
            checker.add(("gap", name, key), "E105", f"unknown slot or column {text!r}", nearest(text, names))
        slot, column = front.cells(spec.column)
        if missing or slot not in checker.slots or column not in checker.slots[slot][0].columns:
            return  # an unknown cell is a finding of `columns`
        if spec.pair and front.cells(spec.pair)[0] != slot:
            checker.add(
                ("gap", name, "pair"), "E102", f"{spec.pair!r} must belong to the slot {slot!r}, like {spec.column!r}"
            )
        words = checker.slots[slot]
        levels = {cell for word in words if isinstance(cell := word.columns[column], str)}  # no booleans
        for key in _SIDES:
            if (level := getattr(spec, key)) not in levels:
                checker.add(
                    ("gap", name, key),
                    "E111",
                    f"{spec.column} does not have the value {level!r}",
                    nearest(level, levels),
                )
        if spec.first == spec.second:
            checker.add(("gap", name), "E102", f"{spec.first!r} is compared with itself")
        pair = front.cells(spec.pair or "")[1]
        sides = [{word.columns.get(pair) for word in words if word.has(column, getattr(spec, key))} for key in _SIDES]
        if spec.pair and all(sides) and not sides[0] & sides[1]:
            message = f"{spec.first!r} and {spec.second!r} do not have a {spec.pair!r} in common"
            checker.add(("gap", name, "pair"), "E102", message)

    def complete_design(self, design: Design, config: Config) -> Design:
        """Return the design with its estimands."""
        # A model should answer `neutral` where only the groups differ: the neutral rates measure that. Controls, whose
        # gold label is another one or differs from row to row, have an accuracy.
        front = self.front(config.blocks[0])
        if front.gold != "neutral":
            return replace(design, estimands=("accuracy",))
        gaps = {name: LevelPair(slot=front.cells(gap.column)[0], **gap.model_dump()) for name, gap in front.gap.items()}
        by_gender = ("gap",) if not gaps and {"gender", "pair"} <= config.columns.keys() else ()
        estimands = ("nn", "fn", "t@0.5", "t@0.7", *by_gender, *(f"gap:{name}" for name in gaps))
        return replace(design, estimands=estimands, gaps=gaps)
