"""`descriptor-spread`: how far the descriptors of an axis are apart, net of templates and nouns.

Of D descriptors, T templates and N nouns, R is the score less the mean of its cell (a template with a noun) over the
descriptors. A descriptor's m_d is the mean of its R. Their variance s² = Σ m_d² / (D - 1) is too large, since m_d holds
what a descriptor has with just these templates and nouns. With the mean squares of these, divided by the number of
sentences,

    A = Σ (R_dt. - m_d)² / ((D - 1)(T - 1) T)        what descriptors have with templates
    B = Σ (R_d.n - m_d)² / ((D - 1)(N - 1) N)        what they have with nouns
    E = Σ (R_dtn - R_dt. - R_d.n + m_d)² / ((D - 1)(T - 1)(N - 1) T N)

σ² = s² - A - B + E has the right expectation (two-way analysis of variance, both factors random), and the figure is
√max(0, σ²). Of a factor that is fixed nothing is taken away: with templates alone σ² = s² - A, with nouns s² - B.

**Interval.** σ² is computed without each template, and without each noun. V is the sum over both factors of
(n - 1) / n · Σ (σ²₍ⱼ₎ - mean)² (the jackknife). The interval is σ² ± t · √V, with the fewest levels less 1 degrees of
freedom, and then the root of both ends, none of which is below 0. Several axes are pooled: σ² is weighted by D - 1, and
so is what a level changes.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from senseprobe.evaluate.estimands.base import NOT_ESTIMABLE, joined
from senseprobe.evaluate.estimands.figure_scope import Scope
from senseprobe.kinds.descriptor.tables import AxisEstimand, AxisScores
from senseprobe.messages import counted
from senseprobe.records import Design, Figure
from senseprobe.statistics import FloatArray, difference_interval

MOST = 1e6
"""Beyond any spread of scores."""

Sampled = tuple[bool, bool]


def net_scores(scores: FloatArray) -> FloatArray:
    """Return scores less the mean of their cell over descriptors, shape (D, T, N)."""
    return np.asarray(scores - scores.mean(axis=0))


def squared_spread(scores: FloatArray, sampled: Sampled) -> float:
    """Return σ² of D >= 2 descriptors, which can be below 0; `scores` has shape (D, T, N), without a gap.

    >>> round(squared_spread(np.array([[[1.0, 2.0]], [[3.0, 4.0]]]), (False, False)), 9)
    2.0
    """
    d, t, n = scores.shape
    net = net_scores(scores)
    means = net.mean(axis=(1, 2))
    by_template, by_noun = net.mean(axis=2) - means[:, None], net.mean(axis=1) - means[:, None]
    squared: float = float(np.square(means).sum()) / (d - 1)
    if sampled[0]:
        squared -= float(np.square(by_template).sum()) / ((d - 1) * (t - 1) * t)
    if sampled[1]:
        squared -= float(np.square(by_noun).sum()) / ((d - 1) * (n - 1) * n)
    if all(sampled):
        left = net - by_template[:, :, None] - by_noun[:, None, :] - means[:, None, None]
        squared += float(np.square(left).sum()) / ((d - 1) * (t - 1) * (n - 1) * t * n)
    return squared


def changes_of_levels(scores: FloatArray, sampled: Sampled) -> list[FloatArray]:
    """Return by how much σ² without a level is above the mean of all these: for each factor that is sampled, (L,)."""
    changes = []
    for axis in (1, 2):
        if sampled[axis - 1]:
            without = [squared_spread(np.delete(scores, j, axis=axis), sampled) for j in range(scores.shape[axis])]
            changes.append(np.array(without) - np.mean(without))
    return changes


def jackknife_variance(changes: Iterable[FloatArray]) -> float:
    """Return V of what each level of a factor changes, summed over factors."""
    parts = [(len(change) - 1) / len(change) * float(np.square(change).sum()) for change in changes]
    return math.fsum(parts)


def root(squared: float) -> float:
    """Return the root of what is not below 0."""
    return math.sqrt(max(0.0, squared))


class AxisSpread(NamedTuple):
    """σ² of an axis of two descriptors or more without a gap, and by how much each level changes it."""

    table: AxisScores
    squared: float
    changes: list[FloatArray]

    @classmethod
    def of(cls, table: AxisScores) -> "AxisSpread":
        """Return that of an axis."""
        scores, sampled = table.scores, table.sampled
        return cls(table, squared_spread(scores, sampled), changes_of_levels(scores, sampled))


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread(AxisEstimand[AxisSpread | None]):
    """The standard deviation of descriptors' means within an axis."""

    ends: ClassVar[tuple[str, str]] = ("descriptors alike", "descriptors differ")
    higher: ClassVar[str] = "scores descriptors more differently"
    caption: ClassVar[str] = "how far descriptors are apart, by axis"
    compared_with_interval = False

    def measure(self, table: AxisScores, scope: Scope) -> tuple[AxisScores, AxisSpread | None]:
        """Return the spread of the descriptors that have the same templates and nouns."""
        table = table.complete()
        return table, AxisSpread.of(table) if len(table.scores) > 1 else None

    def pool(self, measured: Sequence[tuple[AxisScores, AxisSpread | None]], scope: Scope) -> Mapping[str, Any]:
        """Return the pooled spread of some axes."""
        return pooled_spread([spread for _, spread in measured if spread], scope.confidence)

    def fact(self, figure: Figure, design: Design | None, names: Mapping[str, str]) -> str:
        """Return how far descriptors are apart: a clause that follows the model's name."""
        return f"scores descriptors of an axis {figure.value or 0.0:.{self.decimals}f} {self.unit} apart"


def pooled_spread(spreads: Sequence[AxisSpread], confidence: float) -> dict[str, Any]:
    """Return the fields of a figure with the spread of axes."""
    if not spreads:
        return {"value": None, "note": f"{NOT_ESTIMABLE}; no two descriptors have the same templates and nouns"}
    tables = [spread.table for spread in spreads]
    weights = np.array([len(table.scores) - 1.0 for table in tables])
    weights /= weights.sum()
    squared = float(weights @ [spread.squared for spread in spreads])
    note = counted(sum(len(table.scores) for table in tables), "descriptor")
    if len(tables) > 1:
        note = f"{note} in {counted(len(tables), 'axis', 'axes')}, pooled"
    fields: dict[str, Any] = {"value": root(squared), "note": note, "fixed": tables[0].fixed}
    changes = _pooled_changes(spreads, weights)
    fewest = min((len(change) for change in changes), default=0)
    variance = jackknife_variance(changes) / 100**2  # on the scale that differences of shares have
    ends = difference_interval(squared, variance, fewest - 1 if changes else None, confidence, limit=MOST**2)
    if ends is None:
        return {**fields, "note": joined(NOT_ESTIMABLE, note)}
    levels = {name: count for table in tables for name, count in table.levels.items()}
    return {**fields, "low": root(ends[0]), "high": root(ends[1]), "method": "projection", "levels": levels}


def _pooled_changes(spreads: Sequence[AxisSpread], weights: FloatArray) -> list[FloatArray]:
    """Return what each level changes in the pooled σ², by factor; axes share levels of one name."""
    by_factor: dict[str, dict[str, float]] = {}
    for (table, _, of_axis), weight in zip(spreads, weights.tolist(), strict=True):
        changes = iter(of_axis)
        for name, names, is_sampled in zip(table.names, (table.templates, table.nouns), table.sampled, strict=True):
            if is_sampled:
                of_factor = by_factor.setdefault(name, {})
                for level, change in zip(names, next(changes).tolist(), strict=True):
                    of_factor[level] = of_factor.get(level, 0.0) + weight * change
    return [np.array([*of_factor.values()]) for of_factor in by_factor.values()]


SPREAD = Spread(
    id="descriptor-spread",
    title="How far descriptors are apart",
    kind="descriptor",
    range=(0, MOST),
    unit="nats",
    direction="higher: the mean scores of the descriptors of an axis are farther apart",
    source="senseprobe",
    equation="sqrt(s^2(m_d) - A - B + E)",
    says="The standard deviation of the descriptors' mean scores within an axis, net of templates and nouns: what two "
    "descriptors have with the very templates and nouns of this dataset is taken away. The interval is over templates "
    "and nouns; the descriptors are those of the list.",
    cannot_say="No value means an absence of bias: how frequent a word is, and how many tokens it has, moves its "
    "scores in every sentence. A score that is a sum over tokens spreads more than a mean. It does not show which "
    "descriptor is favoured, or that any is.",
)
