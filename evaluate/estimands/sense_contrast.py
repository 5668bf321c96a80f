"""One figure in two senses of a word: matched, the words that both share cancel out of the variance."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands.base import (
    NOT_ESTIMABLE,
    Estimand,
    KernelRows,
    Presentation,
    Words,
    codes_of,
    factor_levels,
    fixed_slots,
    labels,
    level_columns,
    missing_sides,
)
from senseprobe.evaluate.estimands.multiple_testing import Family
from senseprobe.evaluate.estimands.preference import preference_rows, strict_share
from senseprobe.records import Contrast, Design, Figure
from senseprobe.statistics import BoolArray, FactorLevels, Projection, Scale, difference_test


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of a contrast: a config, its design, and the rows of the estimand."""

    config: str
    design: Design
    rows: KernelRows

    def lists(self, factor: str) -> bool:
        """Return whether the side generalises over the factor."""
        return any(listed.name == factor for listed in self.design.factors)

    def level_columns(self, factor: str) -> list[Words]:
        """Return the columns that hold the factor, whether or not the side lists it; none where it has no such."""
        for listed in self.design.factors:
            if listed.name == factor:
                return level_columns(self.rows.table, listed.columns)
        return [labels(self.rows.table, factor)] if factor in (*self.design.slots, "frame") else []


def project_difference(a: Side, b: Side) -> Projection:
    """Return the interval rule for the figure of `a` minus that of `b`: rows of both, weights of `b` negative.

    A factor of which both sides share a level is one factor, so the projections of `b` are subtracted from those of `a`
    before they are squared, also where only one side lists it. Factors that share no level stay apart.
    """
    sides = (a, b)
    weights = np.concatenate([a.rows.weights, -b.rows.weights])
    names = dict.fromkeys(factor.name for side in sides for factor in side.design.factors)
    factors = [levels for name in names for levels in _factors(name, sides)]
    names_of_sides = np.repeat(np.array(["a", "b"], dtype=object), [len(a.rows.kernel), len(b.rows.kernel)])
    cells = codes_of([names_of_sides, *_variables(sides)], len(weights))
    block_columns = _stacked_columns([(side, side.rows.block_columns) for side in sides])
    blocks = codes_of([names_of_sides, *block_columns], len(weights))
    return Projection(weights, cells, factors, blocks)


def _variables(sides: Sequence[Side]) -> list[Words]:
    """Return the cell variables of either side."""
    return _stacked_columns([(side, side.rows.variables) for side in sides])


def _stacked_columns(sides: Sequence[tuple[Side, tuple[str, ...]]]) -> list[Words]:
    """Return the columns of either side one below the other, None on a side that does not have the column."""
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
    """Yield one factor where the sides share a level or only one lists it, else one for each side."""
    columns_of = [side.level_columns(name) for side in sides]
    levels = [{word for column in columns for word in column} for columns in columns_of]
    if levels[0] & levels[1]:
        yield factor_levels(name, _stacked(columns_of, sides), _variables(sides))
        return
    both = all(side.lists(name) for side in sides)
    for index, side in enumerate(sides):
        if side.lists(name):
            alone = [columns if index == other else [] for other, columns in enumerate(columns_of)]
            label = f"{name} ({side.config})" if both else name
            yield factor_levels(label, _stacked(alone, sides), _variables(sides))


def _stacked(columns_of: Sequence[list[Words]], sides: Sequence[Side]) -> list[Words]:
    """Return the columns of both sides one below the other; None where a side has fewer columns."""
    return [
        np.concatenate(
            [
                columns[i] if i < len(columns) else _none(len(side.rows.table))
                for columns, side in zip(columns_of, sides, strict=True)
            ]
        )
        for i in range(max(map(len, columns_of)))
    ]


def _none(count: int) -> Words:
    return np.full(count, None, dtype=object)


def minimal_rows(rows: pd.DataFrame, contrast: Contrast) -> pd.DataFrame:
    """Return the rows that a contrast compares: all, or those whose sentences differ in one binding alone."""
    return rows[_is_minimal(rows)] if contrast.minimal_only else rows


def _is_minimal(rows: pd.DataFrame) -> BoolArray:
    return rows["minimal"].to_numpy(dtype=np.bool_)


def contrast_neutral(estimand: Estimand, sides: Sequence[Side]) -> float | None:
    """Return 0.0 where the estimand has a neutral value on both sides, else None.

    Shared words cancel, but not how well they fit the two frames: where they are words of praise or blame, a model that
    knows nothing of the group can be far from 0.
    """
    neutral = [estimand.neutral_value(side.rows, side.design) for side in sides]
    return None if None in neutral else 0.0


def matched_fixed(sides: Sequence[Side], rule: Projection) -> tuple[str, ...]:
    """Return the names of what neither side generalises over."""
    listed = [name for side in sides for factor in side.design.factors for name in (factor.name, *factor.columns)]
    slots = [slot for side in sides for slot in fixed_slots(side.design, listed)]
    return tuple(dict.fromkeys([*rule.fixed, *slots]))


class UnmatchedDifference(Estimand):
    """The difference of the paper's figures: its value alone, since words and frames differ, too."""

    has_interval = False

    def figure(self, contrast: Contrast, tables: Sequence[tuple[pd.DataFrame, Design]], scale: Scale) -> Figure:
        """Return the figure of a contrast's two configs, `tables` with their designs."""
        sides = [preference_rows(rows, design, scale) for rows, design in tables]
        shares = [share for side in sides if (share := strict_share(side)) is not None]
        note = missing_sides(zip((contrast.a, contrast.b), sides, strict=True))
        return Figure(
            config=contrast.name,
            sense_type=" - ".join(design.sense_type for _, design in tables),
            estimand=self.id,
            definition=self.definition,
            value=None if note else round(100 * (shares[0] - shares[1]), 10),
            note=note,
            **(sides[0].tally + sides[1].tally).as_fields(),
        )


class MatchedContrast(Estimand):
    """The difference of one estimand between two configs, in points from -100 to 100."""

    def figure(
        self,
        contrast: Contrast,
        estimand: Estimand,
        tables: Sequence[tuple[pd.DataFrame, Design]],
        scale: Scale,
        confidence: float,
    ) -> Figure:
        """Return the figure of an estimand in a contrast's two configs, `tables` with their designs."""
        sides = [
            Side(config=name, design=design, rows=estimand.kernel_rows(minimal_rows(rows, contrast), design, scale))
            for name, (rows, design) in zip((contrast.a, contrast.b), tables, strict=True)
        ]
        rule = project_difference(*sides)
        neutral = contrast_neutral(estimand, sides)
        tally = sides[0].rows.tally + sides[1].rows.tally
        if contrast.minimal_only:
            tally = tally.also_left_out("not minimal", sum(int((~_is_minimal(rows)).sum()) for rows, _ in tables))
        return Figure(
            config=contrast.name,
            sense_type=" - ".join(design.sense_type for _, design in tables),
            estimand=self.id,
            neutral=neutral,
            fixed=matched_fixed(sides, rule),
            definition=self.definition,
            # A p-value is of a test against 0, which says something only where 0 is neutral.
            **{**_interval(sides, rule, confidence), **({"p": None} if neutral is None else {})},
            **tally.as_fields(),
        )


def _interval(sides: Sequence[Side], rule: Projection, confidence: float) -> dict[str, Any]:
    """Return value and interval of a matched contrast."""
    shares = [side.rows.share for side in sides]
    if shares[0] is None or shares[1] is None:
        return {"value": None, "note": missing_sides((side.config, side.rows) for side in sides)}
    value = round(100 * (shares[0] - shares[1]), 10)
    kernel = np.concatenate([side.rows.kernel for side in sides])
    tested = difference_test(rule, kernel, value, confidence, by_blocks=any(side.rows.by_blocks for side in sides))
    if tested is None:
        return {"value": value, "levels": rule.levels, "note": NOT_ESTIMABLE}
    interval, p = tested
    ends = {"low": interval.low, "high": interval.high, "method": interval.method, "p": p}
    return {"value": value, **ends, "levels": rule.levels}


MATCHED_CONTRAST = MatchedContrast(
    id="matched-contrast",
    title="One sense of a word against another, like with like",
    low=-100,
    high=100,
    direction="above 0: the first config's figure is higher than the second's",
    source="senseprobe",
    says="The difference between the same figure in two senses, with the words that both share cancelled out.",
    cannot_say="The two senses still stand in different frames, and what differs between the frames is in the figure. "
    "The interval of a contrast of pronoun-stereotype is made of those of its four classes, in which shared words do "
    "not cancel.",
    definition=2,
    presentation=Presentation(plotted=True, contrasts=True),
)
UNMATCHED = UnmatchedDifference(
    id="unmatched-difference",
    definition=2,
    title="One sense of a word against another, as the paper has it",
    low=-100,
    high=100,
    direction="above 0: the first config's preference is higher than the second's",
    source="Zhou, Kaneko & Bollegala 2022, table 4",
    says="The difference between the paper's figures of two senses.",
    cannot_say="The senses stand in other frames with other words, and the difference may be theirs: it has no "
    "interval, no p-value, and no value that is known to mean no bias.",
    presentation=Presentation(contrasts=True),
)
CONTRASTS = Family(
    id="contrasts", says="all matched sense contrasts of the release", by=(), estimands=(MATCHED_CONTRAST.id,)
)
