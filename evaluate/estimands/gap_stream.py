"""`gap` over rows that come in parts: which sentences have a counterpart is known before the rows are added.

Surveys come first: which slot's words each have one gender and one pair, where the design does not say which words
it compares; and how many rows each sentence has with the first and with the second word. That is a number for each
sentence, of one byte where there are many: the most that is kept of rows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.figure_scope import Scope
from senseprobe.evaluate.estimands.inference_rows import LABELS
from senseprobe.evaluate.estimands.kernel import KernelRows, Tally
from senseprobe.evaluate.estimands.kernel_sums import MOST_BYTES, Combinations, RowSums, add_at, grown
from senseprobe.evaluate.estimands.streams import Stream
from senseprobe.messages import sized
from senseprobe.records import Design, Figure
from senseprobe.statistics import BoolArray, IntArray

SMALL = 2**22
"""Sentences up to which their rows are counted in eight bytes."""

NAMES = ("rows", "compared", "scored", "alone")
"""What is counted of the rows of each group: all, those of either side, those with numbers, without a counterpart."""


NO_COUNTERPART = "without a scored counterpart"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """What is compared: the rows whose `column` is `first` with those of `second`, alike in `pair` and all but `slots`.

    `others` are the filler slots of the other sentence.
    """

    column: str
    first: str
    second: str
    pair: str | None
    slots: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why rows of neither side are left out."""
        return "of no gender" if self.column == "gender" else f"of another {self.column}"


class GapEstimand(Protocol):
    """What `gap` has that its stream asks it for."""

    @property
    def id(self) -> str:
        """Its id."""

    def check_columns(self, rows: pd.DataFrame, design: Design) -> None:
        """Raise ResultError where rows lack the columns that tell the words of both genders apart."""

    def sides_among(self, design: Design, find_gendered: Callable[[Sequence[str]], tuple[str, ...]]) -> Sides:
        """Return what is compared."""

    def alike_columns(self, design: Design, sides: Sides) -> tuple[str, ...]:
        """Return the columns in which two sentences that are compared are alike."""

    def figure(self, rows: KernelRows, scope: Scope) -> Figure:
        """Return its figure over rows in a scope."""

    def corrected_groups(self, figures: Sequence[Figure]) -> list[Figure]:
        """Return figures of groups, their p corrected."""


class SentenceCounts:
    """How many rows each sentence has on either side, by its context and its group: shape (contexts, groups)."""

    def __init__(self) -> None:
        self._sides = [np.zeros((0, 0), dtype=np.int64) for _ in range(2)]
        self._contexts = self._added = 0

    def add(self, first: BoolArray, contexts: IntArray, groups: IntArray, shape: tuple[int, int]) -> None:
        """Add rows, of the first side or not; `shape` counts contexts and groups."""
        self._grow(shape)
        for side, rows in enumerate((~first, first)):
            counts = self._sides[side]
            add_at(counts.reshape(-1), contexts[rows] * counts.shape[1] + groups[rows])
        self._added += len(first)

    def _grow(self, shape: tuple[int, int]) -> None:
        """Make place, for as many contexts again where they no longer suffice: they come with the rows."""
        self._contexts = max(self._contexts, shape[0])
        held = self._sides[0]
        if shape[0] > held.shape[0] or shape[1] > held.shape[1]:
            most = max(shape[0] + shape[0] // 4, held.shape[0]) if shape[0] > held.shape[0] else held.shape[0]
            wanted = (most, max(shape[1], held.shape[1]))
            narrow = wanted[0] * wanted[1] > SMALL
            if 2 * wanted[0] * wanted[1] > MOST_BYTES:
                raise ResultError(
                    f"gap has {wanted[0] * wanted[1]:,} sentences to compare, which takes more than {sized(MOST_BYTES)}"
                )
            self._sides = [grown(_narrowed(side) if narrow else side, wanted) for side in self._sides]

    def close(self) -> None:
        """Raise ResultError where a sentence has more rows than were counted."""
        if sum(int(side.sum(dtype=np.int64)) for side in self._sides) != self._added:
            raise ResultError("gap: more than 255 rows have one sentence, which is more than can be counted")

    def of(self, first: BoolArray, contexts: IntArray, groups: IntArray) -> tuple[IntArray, BoolArray]:
        """Return of rows how many their sentence has on their side, and whether it has any on the other."""
        places = contexts * self._sides[0].shape[1] + groups
        none, some = (side.reshape(-1)[places].astype(np.intp) for side in self._sides)
        return np.where(first, some, none), np.asarray((none > 0) & (some > 0))

    def whole(self) -> IntArray:
        """Return by group how many sentences have rows on both sides: shape (groups,)."""
        groups, counts = self._sides[0].shape[1], []
        for start in range(0, self._contexts, 65_536):
            none, some = (side[start : start + 65_536] for side in self._sides)
            counts.append(((none > 0) & (some > 0)).sum(axis=0))
        return np.sum(counts, axis=0, dtype=np.intp) if counts else np.zeros(groups, dtype=np.intp)


def _narrowed(counts: NDArray[Any]) -> NDArray[Any]:
    if counts.max(initial=0) > 255:
        raise ResultError("gap: more than 255 rows have one sentence, which is more than can be counted")
    return counts.astype(np.uint8, copy=False)


class GenderedSlots:
    """Which slots have words that stand with one gender and one pair each, of rows in parts."""

    def __init__(self, slots: Sequence[str]) -> None:
        self._alone = {slot: Combinations((slot,)) for slot in slots}
        self._together = {slot: Combinations((slot, "gender", "pair")) for slot in slots}

    def add(self, rows: pd.DataFrame) -> None:
        """Add a part of the rows."""
        for slot in [*self._alone]:
            self._alone[slot].number(rows)
            self._together[slot].number(rows)
            if len(self._alone[slot]) < len(self._together[slot]):  # and so it stays
                del self._alone[slot]

    def among(self, slots: Sequence[str]) -> tuple[str, ...]:
        """Return those of some slots that are so."""
        return tuple(slot for slot in slots if slot in self._alone)


class GapStream(Stream):
    """The gap of a config, and of each level of the filler of the other sentence.

    `slots`: among which the one is to be found whose words are compared; empty where the design says it.
    """

    def __init__(self, estimand: GapEstimand, scope: Scope, slots: Sequence[str]) -> None:
        self.surveys = 2 if slots else 1
        self._estimand, self._scope = estimand, scope
        self._gendered = GenderedSlots(slots)
        self._counts = SentenceCounts()
        self._tally = np.zeros((len(NAMES), 0), dtype=np.int64)
        self._sides: Sides | None = None

    def survey(self, rows: pd.DataFrame, turn: int) -> None:
        """Find what is compared, then count the rows of each sentence."""
        if turn < self.surveys - 1:
            self._estimand.check_columns(rows, self._scope.design)
            self._gendered.add(rows)
            return
        sides = self._begin()
        _, scored, first = self._masks(rows, sides)
        chosen = rows[scored]
        contexts, groups = self._contexts.number(chosen), self._groups.number(chosen)
        self._groups.number(rows)  # a group may have no scored row
        self._counts.add(first[scored], contexts, groups, (len(self._contexts), len(self._groups)))

    def _begin(self) -> Sides:
        """Return what is compared, which all rows have shown."""
        if self._sides is None:
            sides = self._sides = self._estimand.sides_among(self._scope.design, self._gendered.among)
            alike = self._estimand.alike_columns(self._scope.design, sides)
            self._contexts = Combinations([column for column in alike if column not in sides.others])
            self._groups = Combinations(sides.others)
            factors = self._scope.design.factors
            inner = [factor for factor in factors if not {*factor.columns} <= {*sides.others}]
            self._whole = RowSums(factors, (sides.column,), name=self._estimand.id)
            self._parts = (
                RowSums(inner, (sides.column,), name=f"{self._estimand.id} of groups") if sides.others else None
            )
        return self._sides

    def _masks(self, rows: pd.DataFrame, sides: Sides) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Return which rows are of either side, which of these have numbers, and which are of the first."""
        compared = rows[sides.column].isin((sides.first, sides.second)).to_numpy(dtype=np.bool_)
        finite = np.isfinite(rows[[*LABELS]].to_numpy(dtype=np.float64)).all(axis=1)
        return compared, compared & finite, (rows[sides.column] == sides.first).to_numpy(dtype=np.bool_)

    def add(self, rows: pd.DataFrame) -> None:
        """Add a part of the rows: a sentence weighs one on either side, however many rows it has there."""
        sides = self._begin()
        compared, scored, first = self._masks(rows, sides)
        groups, chosen, first = self._groups.number(rows), rows[scored], first[scored]
        sizes, stays = self._counts.of(first, self._contexts.number(chosen), groups[scored])
        number = len(self._groups)
        self._tally = grown(self._tally, (len(NAMES), number))
        alone = np.zeros(len(rows), dtype=np.bool_)
        alone[np.flatnonzero(scored)[~stays]] = True
        for counts, mask in zip(self._tally, (np.ones_like(scored), compared, scored, alone), strict=True):
            counts += np.bincount(groups[mask], minlength=number)
        weights = (np.where(first, 1.0, -1.0) / np.maximum(sizes, 1))[stays]
        chosen, of_rows = chosen[stays], groups[scored][stays]
        kernel = chosen["entailment"].to_numpy(dtype=np.float64)[np.newaxis]
        self._whole.add(chosen, kernel, weights)
        if self._parts is not None:
            self._parts.add(chosen, kernel, weights, of_rows, number)

    def figures(self) -> Iterator[Figure]:
        """Yield the gap of the config, then those of its groups."""
        sides, whole = self._begin(), self._counts.whole()
        self._counts.close()
        make, scope = self._estimand.figure, self._scope
        tally = self._tally_of(self._tally.sum(axis=1), sides)
        yield make(self._whole.rows(tally, scale=1 / max(1, int(whole.sum()))), scope)
        if self._parts is None:
            return
        figures = {}
        for group, words in enumerate(self._groups.list_values()):
            name, count = " / ".join(str(word) for word in words), int(whole[group]) if group < len(whole) else 0
            rows = self._parts.rows(self._tally_of(self._tally[:, group], sides), group=group, scale=1 / max(1, count))
            figures[name] = make(rows, replace(scope, group=name, about=sides.others))
        yield from self._estimand.corrected_groups([figures[name] for name in sorted(figures)])

    def _tally_of(self, counts: IntArray, sides: Sides) -> Tally:
        """Return the counts of a group's rows."""
        rows, compared, scored, alone = counts.tolist()
        left_out = {sides.reason: rows - compared} if rows > compared else {}
        tally = Tally(rows=compared, scored=scored, unscored=compared - scored, left_out=left_out)
        return tally.without(NO_COUNTERPART, alone)
