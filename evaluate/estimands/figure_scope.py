"""What a figure is of: a config, or a group of its rows."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from senseprobe.evaluate.units import NO_ROWS, ScoredRows
from senseprobe.records import Design
from senseprobe.statistics import CONFIDENCE, Projection, Scale


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """What a figure is of: a config, or a group of its rows, which is named in words; and how it is computed.

    `about` are the columns that say what the group is: each holds one word, and the figure is not generalised over it.
    `leads`: whether a verdict can be about the group, as it is about a config, and its figure is tested.
    `scored` has the words of association tests, of all configs.
    `rules` holds interval rules that several estimands share, and `streams` sums of rows that come in parts.
    """

    design: Design
    config: str
    seed: int = 0
    confidence: float = CONFIDENCE
    scale: Scale = "log"
    group: str | None = None
    about: tuple[str, ...] = ()
    leads: bool = False
    scored: ScoredRows = NO_ROWS
    rules: dict[str, Projection] = field(init=False, default_factory=dict)
    streams: dict[str, Any] = field(init=False, default_factory=dict)


@dataclass(frozen=True, slots=True)
class LabelGroups:
    """The groups of rows with a label in a column, which have figures of their own where there are several.

    - `prefix`: what stands before a label in the name of its group; `names`: the labels that count, in order of print;
      empty: all, sorted.
    - `is_about`: whether a group is about its label, and a verdict can be about the group.
    """

    column: str
    prefix: str = ""
    names: tuple[str, ...] = ()
    is_about: bool = True

    def in_order(self, labels: Iterable[str]) -> list[str]:
        """Return the labels that groups have, in order of print: none where there is a single one."""
        there = {*labels}
        names = [name for name in self.names or sorted(there) if name in there]
        return names if len(names) > 1 else []

    def scope_of(self, name: str, scope: Scope) -> Scope:
        """Return the scope of the rows with a label, within that of a config."""
        named = replace(scope, group=f"{self.prefix}{name}")
        return replace(named, about=(self.column,), leads=True) if self.is_about else named
