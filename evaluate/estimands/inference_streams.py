"""Figures over rows of inference that come in parts: plain means, and those of the released code (nli.py)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands.figure_scope import Scope
from senseprobe.evaluate.estimands.inference_rows import LABELS, WITHOUT_DUST, probabilities, rounded_neutral
from senseprobe.evaluate.estimands.kernel import KernelRows, select
from senseprobe.evaluate.estimands.kernel_sums import Combinations, RowSums, add_at, grown
from senseprobe.evaluate.estimands.streams import Stream, TallySum
from senseprobe.records import Factor, Figure
from senseprobe.statistics import BoolArray, FloatArray, IntArray

MakeFigure: TypeAlias = Callable[[KernelRows, Scope], Figure]


class MeanSums:
    """The sums of several kernels of the same rows, which weigh alike: all plain means of a config."""

    def __init__(self, factors: Sequence[Factor]) -> None:
        self._factors = factors
        self._values: list[Callable[[FloatArray], FloatArray | BoolArray]] = []
        self._ties: list[Callable[[FloatArray], int]] = []
        self._tied: list[int] = []
        self._tally, self._sums = TallySum(()), RowSums(())

    def enter(self, values: Callable[[FloatArray], FloatArray | BoolArray], ties: Callable[[FloatArray], int]) -> int:
        """Take a kernel, which `values` makes of probabilities, before any row comes. Return its number."""
        self._values.append(values)
        self._ties.append(ties)
        self._tied.append(0)
        self._sums = RowSums(self._factors, kernels=len(self._values), name="the sums of means")
        return len(self._values) - 1

    def add(self, rows: pd.DataFrame) -> None:
        """Add a part of the rows."""
        scored, tally = select(rows, {}, LABELS)
        p = probabilities(scored)
        self._tally.add(tally)
        self._tied = [count + ties(p) for count, ties in zip(self._tied, self._ties, strict=True)]
        self._sums.add(scored, np.array([values(p) for values in self._values], dtype=np.float64))

    def rows(self, number: int) -> KernelRows:
        """Return the rows with the kernel of a number."""
        return self._sums.rows(replace(self._tally.tally, ties=self._tied[number]), kernel=number)


class MeanStream(Stream):
    """The figure of one of the kernels; the stream of the first adds the rows for all."""

    def __init__(self, means: MeanSums, number: int, make_figure: MakeFigure, scope: Scope) -> None:
        self._means, self._number, self._make_figure, self._scope = means, number, make_figure, scope

    def add(self, rows: pd.DataFrame) -> None:
        """Add a part of the rows."""
        if self._number == 0:
            self._means.add(rows)

    def figures(self) -> Iterator[Figure]:
        """Yield the figure."""
        yield self._make_figure(self._means.rows(self._number), self._scope)


class FillerSums:
    """Of each pair of fillers how many scored rows it has, and the sum of their rounded probabilities of neutral."""

    def __init__(self, slots: Sequence[str]) -> None:
        self.pairs = Combinations(slots)
        self.counts, self._sums = np.zeros(0, dtype=np.int64), np.zeros(0)
        self.tally = TallySum(())
        self._last: pd.DataFrame | None = None

    def survey(self, rows: pd.DataFrame) -> None:
        """Add a part of the rows; a part that was the last one already is not added again."""
        if rows is self._last:
            return
        self._last = rows
        scored, tally = select(rows, {}, LABELS)
        self.tally.add(tally)
        pairs, shape = self.pairs.number(scored), (len(self.pairs),)
        self.counts, self._sums = grown(self.counts, shape), grown(self._sums, shape)
        add_at(self.counts, pairs)
        add_at(self._sums, pairs, rounded_neutral(scored))

    @property
    def table(self) -> pd.DataFrame:
        """The fillers of each pair that has a row, in the order in which rows bring them."""
        return pd.DataFrame(self.pairs.list_values(), columns=[*self.pairs.columns], dtype=object)[self.counts > 0]

    @property
    def means(self) -> FloatArray:
        """The mean of each pair in that table."""
        there = self.counts > 0
        return np.asarray(np.round(self._sums[there] / self.counts[there], WITHOUT_DUST))


class FillerMeanStream(Stream):
    """The mean over pairs of fillers of their mean probability of neutral: a row weighs as its pair has rows."""

    surveys = 1

    def __init__(self, pairs: FillerSums, make_figure: MakeFigure, scope: Scope) -> None:
        self._pairs, self._make_figure, self._scope = pairs, make_figure, scope
        self._sums = RowSums(scope.design.factors, name="nn-filler")

    def survey(self, rows: pd.DataFrame, turn: int) -> None:
        """Count the rows of each pair."""
        self._pairs.survey(rows)

    def add(self, rows: pd.DataFrame) -> None:
        """Add a part of the rows, each with one over the rows of its pair as its weight."""
        scored, _ = select(rows, {}, LABELS)
        pairs: IntArray = self._pairs.pairs.number(scored)
        self._sums.add(scored, rounded_neutral(scored)[np.newaxis], 1 / self._pairs.counts[pairs])

    def figures(self) -> Iterator[Figure]:
        """Yield the figure."""
        scale = 1 / max(1, int((self._pairs.counts > 0).sum()))
        yield self._make_figure(self._sums.rows(self._pairs.tally.tally, scale=scale), self._scope)


class FillerShareStream(Stream):
    """The share of pairs of fillers whose mean probability of neutral is above a threshold."""

    surveys = 1

    def __init__(self, pairs: FillerSums, threshold: float, make_figure: MakeFigure, scope: Scope) -> None:
        self._pairs, self._threshold = pairs, threshold
        self._make_figure, self._scope = make_figure, scope

    def survey(self, rows: pd.DataFrame, turn: int) -> None:
        """Sum the probabilities of each pair."""
        self._pairs.survey(rows)

    def add(self, rows: pd.DataFrame) -> None:
        """Do nothing: the pairs are known."""

    def figures(self) -> Iterator[Figure]:
        """Yield the figure, of which each pair is a row."""
        rows = KernelRows.mean(self._pairs.table, self._pairs.means > self._threshold, self._pairs.tally.tally)
        yield self._make_figure(rows, self._scope)
