"""The matched sense contrast: one figure in two senses, the words that both share cancelled out of the variance."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from senseprobe.evaluate.estimands.kernel_rows import KernelRows, Words, codes_of, factor_levels, labels, levels_held
from senseprobe.records import Design
from senseprobe.statistics import FactorLevels, Projection


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of a contrast: a config, its design, and the rows of the estimand."""

    config: str
    design: Design
    rows: KernelRows

    def lists(self, factor: str) -> bool:
        """Whether the side generalises over the factor."""
        return any(listed.name == factor for listed in self.design.factors)

    def held(self, factor: str) -> list[Words]:
        """Columns that hold the factor, whether or not the side lists it; none where it has no such column."""
        for listed in self.design.factors:
            if listed.name == factor:
                return levels_held(self.rows.table, listed.columns)
        return [labels(self.rows.table, factor)] if factor in (*self.design.slots, "frame") else []


def project_difference(a: Side, b: Side) -> Projection:
    """Interval rule for the figure of `a` minus that of `b`: rows one below the other, weights of `b` negative.

    A factor of which both sides share a level is one factor, so the projections of `b` are subtracted from those of `a`
    before they are squared, also where only one side lists it. Factors that share no level stay apart.
    """
    sides = (a, b)
    weights = np.concatenate([a.rows.weights, -b.rows.weights])
    names = dict.fromkeys(factor.name for side in sides for factor in side.design.factors)
    factors = [levels for name in names for levels in _factors(name, sides)]
    side = np.repeat(np.array(["a", "b"], dtype=object), [len(a.rows.kernel), len(b.rows.kernel)])
    cells = codes_of([side, *_variables(sides)], len(weights))
    blocks = codes_of([side, *_stacked_columns([(one, one.rows.block_columns) for one in sides])], len(weights))
    return Projection(weights, cells, factors, blocks)


def _variables(sides: Sequence[Side]) -> list[Words]:
    """Cell variables of either side."""
    return _stacked_columns([(side, side.rows.variables) for side in sides])


def _stacked_columns(sides: Sequence[tuple[Side, tuple[str, ...]]]) -> list[Words]:
    """Columns of either side one below the other, None on a side that does not have the column."""
    names = dict.fromkeys(name for _, columns in sides for name in columns)
    return [
        np.concatenate(
            [
                labels(side.rows.table, name) if name in columns else _none(len(side.rows.table))
                for side, columns in sides
            ]
        )
        for name in names
    ]


def _factors(name: str, sides: Sequence[Side]) -> Iterator[FactorLevels]:
    """One factor where the sides share a level or only one lists it, else one for each side."""
    held = [side.held(name) for side in sides]
    levels = [{word for column in columns for word in column} for columns in held]
    if levels[0] & levels[1]:
        yield factor_levels(name, _stacked(held, sides), _variables(sides))
        return
    both = all(side.lists(name) for side in sides)
    for index, side in enumerate(sides):
        if side.lists(name):
            alone = [columns if index == other else [] for other, columns in enumerate(held)]
            label = f"{name} ({side.config})" if both else name
            yield factor_levels(label, _stacked(alone, sides), _variables(sides))


def _stacked(held: Sequence[list[Words]], sides: Sequence[Side]) -> list[Words]:
    """Columns of both sides one below the other; None where a side has fewer columns."""
    return [
        np.concatenate(
            [
                columns[i] if i < len(columns) else _none(len(side.rows.table))
                for columns, side in zip(held, sides, strict=True)
            ]
        )
        for i in range(max(map(len, held)))
    ]


def _none(count: int) -> Words:
    return np.full(count, None, dtype=object)
