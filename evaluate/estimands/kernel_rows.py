"""Rows with a kernel and weights: what every estimand is made into, and how the interval rule reads its factors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.records import Design, Figure
from senseprobe.statistics import CONFIDENCE, FEWEST_LEVELS, FactorLevels, FloatArray, Projection, share_intervals

Words = NDArray[np.object_]

NO_NEUTRAL = "no value is known to mean no bias"
NO_ROWS = "no row was scored"
NONE_USABLE = "no row can be used"
NOT_ESTIMABLE = "interval not estimable"

OF_LABELS = frozenset({"preference", "preference-half"})
"""The estimands whose neutral value follows from the labels."""

SPLIT = frozenset({"accuracy", "gap"})
"""The estimands whose cells (gold labels, genders) split factors into strata that a release does not count."""

PERMUTED = frozenset({"relative", "relative-mean", "spread"})
"""The estimands whose p is not made of their interval."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """How many rows an estimand may use, used, and left; the fields of `Figure` with the same names."""

    rows: int
    scored: int
    unscored: int
    ties: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: "Tally") -> "Tally":
        reasons = list(dict.fromkeys([*self.left_out, *other.left_out]))
        return Tally(
            rows=self.rows + other.rows,
            scored=self.scored + other.scored,
            unscored=self.unscored + other.unscored,
            ties=self.ties + other.ties,
            left_out={reason: self.left_out.get(reason, 0) + other.left_out.get(reason, 0) for reason in reasons},
        )

    def with_ties(self, kernel: FloatArray) -> "Tally":
        """Copy with the ties of a kernel counted."""
        return replace(self, ties=int((kernel == 0.5).sum()))

    def also_left_out(self, reason: str, count: int) -> "Tally":
        """Copy with `count` more rows that were left out for a reason."""
        return replace(self, left_out={**self.left_out, reason: count}) if count else self

    def without(self, reason: str, count: int) -> "Tally":
        """Copy with `count` of its scored rows left out for a reason."""
        return replace(self, rows=self.rows - count, scored=self.scored - count).also_left_out(reason, count)

    @property
    def none(self) -> str:
        """Why there is no figure where no row was used: none has a number, or none is of use to the estimand."""
        return NO_ROWS if self.unscored else NONE_USABLE

    def as_fields(self) -> dict[str, Any]:
        """Keyword arguments for a `Figure`."""
        return {name: getattr(self, name) for name in ("rows", "scored", "unscored", "ties", "left_out")}


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelRows:
    """The scored rows of an estimand, so that the figure on [0, 1] is `offset` + Σ weights · kernel.

    - `table`: the rows, N of them; `kernel` and `weights` have shape (N,), the kernel is in [0, 1].
    - `variables`: the columns whose combined values are the cells of the interval rule.
    - `block_variables`: those of them whose combined values are the blocks of the boundary rule, cells that count in
      the figure with one sign; None: each cell is a block.
    - `by_blocks`: whether the interval is always made of theirs, by MOVER, as that of a difference of two shares is.
    """

    table: pd.DataFrame
    kernel: FloatArray
    weights: FloatArray
    offset: float
    variables: tuple[str, ...]
    tally: Tally
    block_variables: tuple[str, ...] | None = None
    by_blocks: bool = False

    @property
    def block_columns(self) -> tuple[str, ...]:
        """The columns whose combined values are the blocks."""
        return self.variables if self.block_variables is None else self.block_variables

    @property
    def share(self) -> float | None:
        """The figure on [0, 1], None without rows; rounded so that neither row order nor its dust moves the ends."""
        return round(self.offset + float(self.weights @ self.kernel), 12) if len(self.kernel) else None


def none_of(sides: Iterable[tuple[str, KernelRows]]) -> str:
    """Why there is no figure of two configs, by the name of each without a row that was used; empty where none is."""
    return "; ".join(f"{name}: {rows.tally.none}" for name, rows in sides if rows.share is None)


def select(
    rows: pd.DataFrame,
    reasons: Mapping[str, NDArray[np.bool_]],
    columns: Sequence[str] = ("stereo_score", "anti_score"),
) -> tuple[pd.DataFrame, Tally]:
    """Rows that may be used and have finite scores in all `columns`, and the count of all.

    A row leaves for its first reason.
    """
    stays = np.ones(len(rows), dtype=np.bool_)
    left_out = {}
    for reason, leaves in reasons.items():
        left_out[reason] = int((stays & leaves).sum())
        stays &= ~leaves
    scores = rows[list(columns)].to_numpy(dtype=np.float64)
    scored = stays & np.isfinite(scores).all(axis=1)
    counts = (int(stays.sum()), int(scored.sum()))
    left_out = {reason: count for reason, count in left_out.items() if count}
    return rows[scored], Tally(rows=counts[0], scored=counts[1], unscored=counts[0] - counts[1], left_out=left_out)


def labels(rows: pd.DataFrame, column: str) -> Words:
    """Column as an object array with None where a value is missing."""
    values: Words = rows[column].to_numpy(dtype=object, copy=True)
    values[rows[column].isna().to_numpy()] = None
    return values


def codes_of(columns: Iterable[Words], count: int) -> NDArray[np.intp]:
    """Codes from 0 for the combinations of values in columns of length `count`; all 0 without columns."""
    codes = np.zeros(count, dtype=np.intp)
    for column in columns:
        values, uniques = pd.factorize(column, use_na_sentinel=False)
        codes, _ = pd.factorize(codes * len(uniques) + values)
    return codes


def levels_held(table: pd.DataFrame, columns: Sequence[str]) -> list[Words]:
    """Columns that hold a factor's levels, each once."""
    held = [labels(table, column) for column in columns]
    # Where both members of every pair have the same noun, the noun was drawn once, not twice.
    return held[:1] if all(np.array_equal(held[0], other) for other in held) else held


def factor_levels(name: str, held: Sequence[Words], variables: Sequence[Words]) -> FactorLevels:
    """Levels of a factor in columns of N words, in strata: the values of the cell variables that are constant in each.

    `variables` are the cell variables, each of N values; a None in `held` is a row without the factor.
    """
    codes, uniques = pd.factorize(np.concatenate(held))
    present = codes >= 0
    known = [pd.Series(np.tile(values, len(held))[present]).groupby(codes[present]) for values in variables]
    constant = [values.first() for values in known if values.nunique().max() == 1]
    strata = [", ".join(str(value) for value in level if value is not None) for level in zip(*constant, strict=True)]
    return FactorLevels(
        name=name, codes=codes.reshape(len(held), -1).astype(np.intp), strata=tuple(strata) or ("",) * len(uniques)
    )


def fixed_slots(design: Design, listed: Iterable[str]) -> tuple[str, ...]:
    """Slots, and the frame, that are no factor: over them nothing can be generalised."""
    columns = set(listed)
    return tuple(slot for slot in (*design.slots, "frame") if slot not in columns)


def of_sample(figure: Figure, levels: Mapping[str, int]) -> Figure:
    """Return a figure of drawn rows as far as it can be told of the release that they were drawn from.

    `levels` says how many levels each factor, or stratum of one (``occupation (male)``), has in the release. What has
    five and more there is a sample, also where fewer were drawn: then there is no interval, and no p made of it.
    Labels that are balanced in the drawn rows by chance make no value neutral.
    """
    few = drawn_too_few(figure.estimand, figure.fixed, levels)
    if figure.estimand in OF_LABELS:
        figure = replace(figure, neutral=None)
    if figure.low is None or not few:
        return figure
    note = "; ".join(filter(None, (few, figure.note)))
    figure = replace(figure, low=None, high=None, method="none", note=note)
    return figure if figure.estimand in PERMUTED else replace(figure, p=None, p_holm=None)


def drawn_too_few(estimand: str, fixed: Iterable[str], levels: Mapping[str, int]) -> str:
    """Say why there is no interval: of what is `fixed` in drawn rows the release has levels enough. Empty elsewhere."""
    few = [name for name in fixed if _levels_of(name, levels) >= FEWEST_LEVELS]
    return f"{NOT_ESTIMABLE}; too few drawn of {', '.join(few)}" if few and estimand not in SPLIT else ""


def _levels_of(name: str, levels: Mapping[str, int]) -> int:
    """The levels of a factor or stratum in the release; of a factor that has strata only, the most of theirs."""
    return levels.get(name, max((n for key, n in levels.items() if key.partition(" (")[0] == name), default=0))


def project(rows: KernelRows, design: Design) -> Projection:
    """Interval rule for the rows, over the factors of the design."""
    variables = [labels(rows.table, variable) for variable in rows.variables]
    factors = [
        factor_levels(factor.name, levels_held(rows.table, factor.columns), variables) for factor in design.factors
    ]
    blocks = [labels(rows.table, variable) for variable in rows.block_columns]
    cells, blocks_of_rows = (codes_of(columns, len(rows.table)) for columns in (variables, blocks))
    return Projection(rows.weights, cells, factors, blocks_of_rows)


def estimate(rows: KernelRows, rule: Projection, confidence: float = CONFIDENCE) -> dict[str, Any]:
    """Fields of a `Figure` that the interval rule fills, in points from -50 to 50."""
    if (share := rows.share) is None:
        return {"value": None, "note": rows.tally.none, "fixed": rule.fixed}
    fields = {"value": 100 * share - 50, "levels": rule.levels, "fixed": rule.fixed}
    (interval,) = share_intervals(
        rule, rows.kernel[np.newaxis], np.array([share]), confidence, by_blocks=rows.by_blocks
    )
    if interval is None:
        return {**fields, "note": NOT_ESTIMABLE}
    return {**fields, "low": interval.low, "high": interval.high, "method": interval.method}
