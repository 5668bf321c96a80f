"""Figures of rows that come in parts: an estimand's stream hears of every part, and then has its figures.

What it keeps grows with the levels of a design's factors and not with the rows (kernel_sums.py). Figures are those of
all rows at once, but for the last bits of sums, which are rounded away.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands.figure_scope import LabelGroups, Scope
from senseprobe.evaluate.estimands.kernel import KernelRows, Tally
from senseprobe.evaluate.estimands.kernel_sums import RowSums, SummedRows, codes_in
from senseprobe.records import Design, Figure
from senseprobe.statistics import Scale


class Stream(ABC):
    """Figures of an estimand over the rows of a config, which come in parts whose words are categories.

    - `surveys`: how often it has to see all rows before they are added.
    """

    surveys: int = 0

    def survey(self, rows: pd.DataFrame, turn: int) -> None:  # noqa: B027 - most need none
        """Note what has to be known of all rows before they are added, in a turn from 0."""

    @abstractmethod
    def add(self, rows: pd.DataFrame) -> None:
        """Add a part of the rows."""

    @abstractmethod
    def figures(self) -> Iterator[Figure]:
        """Yield the figures of all rows that were added."""


class RowEstimand(Protocol):
    """What an estimand has that is summed row by row (`Estimand`)."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it leaves rows out, in the order in which it asks."""

    @property
    def label_groups(self) -> tuple[LabelGroups, ...]:
        """The columns by whose labels it has figures of groups."""

    def kernel_rows(self, rows: pd.DataFrame, design: Design, scale: Scale) -> KernelRows:
        """Return its rows with kernel and weights."""

    def rule_design(self, design: Design) -> Design:
        """Return the design with the factors of its interval rule."""

    def combined_columns(self, design: Design) -> list[tuple[str, ...]]:
        """Return the columns for whose combinations of values it asks its rows."""

    def figure(self, rows: KernelRows, scope: Scope) -> Figure:
        """Return its figure over rows in a scope."""


class TallySum:
    """The counts of rows in parts; their reasons are in the order in which an estimand leaves rows out."""

    def __init__(self, reasons: Sequence[str]) -> None:
        self._reasons = tuple(reasons)
        self.tally = Tally(rows=0, scored=0, unscored=0)

    def add(self, tally: Tally) -> None:
        """Add the counts of a part."""
        total = self.tally + tally
        known = {reason: total.left_out[reason] for reason in self._reasons if reason in total.left_out}
        self.tally = replace(total, left_out={**known, **total.left_out})


class _PartSums:
    """The sums of the rows with one label, or of all, of an estimand that is a mean over rows."""

    def __init__(self, estimand: RowEstimand, scope: Scope) -> None:
        self._estimand, self._scope = estimand, scope
        self._tally, self._sums = TallySum(estimand.reasons), RowSums(())
        self._like: KernelRows | None = None

    def add(self, rows: KernelRows) -> None:
        """Add the rows of a part."""
        self._tally.add(rows.tally)
        if self._like is None:
            self._like = replace(rows, table=rows.table[:0], kernel=rows.kernel[:0], weights=rows.weights[:0])
            factors = self._estimand.rule_design(self._scope.design).factors
            combined = self._estimand.combined_columns(self._scope.design)
            self._sums = RowSums(factors, rows.variables, combined=combined, name=self._estimand.id)
        self._sums.add(rows.table, rows.kernel[np.newaxis])

    def rows(self) -> SummedRows:
        """Return the rows that were added, of which there is at least one part."""
        if (like := self._like) is None:
            raise ValueError("no part was added")
        return self._sums.rows(
            self._tally.tally, block_variables=like.block_variables, by_blocks=like.by_blocks, offset=like.offset
        )


class RowStream(Stream):
    """Figures of an estimand whose rows all weigh alike, and which knows of each by itself what its kernel is."""

    def __init__(self, estimand: RowEstimand, scope: Scope) -> None:
        self._estimand, self._scope = estimand, scope
        self._whole = _PartSums(estimand, scope)
        self._by_label: list[tuple[LabelGroups, dict[str, _PartSums]]] = [
            (groups, {}) for groups in estimand.label_groups
        ]

    def add(self, rows: pd.DataFrame) -> None:
        """Add a part of the rows."""
        whole = self._kernel_rows(rows)
        self._whole.add(whole)
        for groups, parts in self._by_label:
            if groups.column not in rows:
                continue
            codes, words = codes_in(rows, groups.column), rows[groups.column].cat.categories
            for code in np.unique(codes[codes >= 0]).tolist():
                part, alike = parts.setdefault(str(words[code]), self._part_sums()), codes == code
                part.add(whole if alike.all() else self._kernel_rows(rows[alike]))

    def _part_sums(self) -> _PartSums:
        return _PartSums(self._estimand, self._scope)

    def _kernel_rows(self, rows: pd.DataFrame) -> KernelRows:
        return self._estimand.kernel_rows(rows, self._scope.design, self._scope.scale)

    def rows(self) -> SummedRows:
        """Return the rows of the config that were added."""
        return self._whole.rows()

    def figures(self) -> Iterator[Figure]:
        """Yield the figure of the config, then those of its labels where there are several."""
        yield self._estimand.figure(self.rows(), self._scope)
        for groups, parts in self._by_label:
            for name in groups.in_order(parts):
                yield self._estimand.figure(parts[name].rows(), groups.scope_of(name, self._scope))
