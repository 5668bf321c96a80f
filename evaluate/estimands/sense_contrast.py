"""One figure in two senses of a word: matched, the words that both share cancel out of the variance."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands.base import Estimand, Tables, difference_fields
from senseprobe.evaluate.estimands.kernel import (
    KernelRows,
    Tally,
    Words,
    codes_of,
    factor_levels,
    fixed_slots,
    labels,
    level_columns,
)
from senseprobe.evaluate.estimands.multiple_testing import Family
from senseprobe.evaluate.estimands.preference import PREFERENCE, strict_share
from senseprobe.evaluate.estimands.relative import RELATIVE, IncomparableError
from senseprobe.records import Contrast, Design, Figure
from senseprobe.statistics import FactorLevels, Projection, Scale


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


def contrast_sides(
    contrast: Contrast, estimand: Estimand, tables: Tables, scale: Scale
) -> dict[str | None, tuple[Side, Side]]:
    """Return the two sides of a contrast of an estimand, by group; None is the whole of both configs.

    They are of all rows, or of those that differ in one binding alone.
    """
    minimal = [(minimal_rows(rows, contrast), design) for rows, design in tables]
    (a_design, a_rows), (b_design, b_rows) = estimand.compared_senses(contrast, minimal, scale)
    return {
        group: (
            Side(config=contrast.a, design=a_design, rows=a_rows[group]),
            Side(config=contrast.b, design=b_design, rows=b_rows[group]),
        )
        for group in a_rows
    }


def minimal_rows(rows: pd.DataFrame, contrast: Contrast) -> pd.DataFrame:
    """Return the rows that a contrast compares."""
    return rows[rows["minimal"].to_numpy(dtype=np.bool_)] if contrast.minimal_only else rows


def project_difference(a: Side, b: Side) -> Projection:
    """Return the interval rule for the figure of `a` minus that of `b`: rows of both, weights of `b` negative.

    A factor of which both sides share a level is one factor, so the projections of `b` are subtracted from those of `a`
    before they are squared, also where only one side lists it. Factors that share no level stay apart.
    """
    sides = (a, b)
    weights = np.concatenate([a.rows.weights, -b.rows.weights])
    variables = _stack_named([side.rows.variables for side in sides], sides)
    blocks = _stack_named([side.rows.block_columns for side in sides], sides)
    names = dict.fromkeys(factor.name for side in sides for factor in side.design.factors)
    factors = [levels for name in names for levels in _factors(name, variables, sides)]
    side_of_row = np.repeat(np.array(["a", "b"], dtype=object), [len(side.rows.kernel) for side in sides])
    cells, blocks_of_rows = (codes_of([side_of_row, *columns], len(weights)) for columns in (variables, blocks))
    return Projection(weights, cells, factors, blocks_of_rows, by_blocks=any(side.rows.by_blocks for side in sides))


def _factors(name: str, variables: Sequence[Words], sides: Sequence[Side]) -> Iterator[FactorLevels]:
    """Yield one factor where the sides share a level or only one lists it, else one for each side."""
    columns_of = [side.level_columns(name) for side in sides]
    levels = [{word for column in columns for word in column} for columns in columns_of]
    if levels[0] & levels[1]:
        yield factor_levels(name, _stack(columns_of, sides), variables, _release_levels(sides))
        return
    both = all(side.lists(name) for side in sides)
    for index, side in enumerate(sides):
        if side.lists(name):
            alone = [columns if index == other else [] for other, columns in enumerate(columns_of)]
            factor = factor_levels(name, _stack(alone, sides), variables, _release_levels([side]))
            yield replace(factor, name=f"{name} ({side.config})") if both else factor


def _release_levels(sides: Sequence[Side]) -> dict[str, int] | None:
    """Return the levels of the release that drawn rows of the sides are of, the more where both have a factor."""
    levels: dict[str, int] = {}
    for side in sides:
        levels |= {name: max(count, levels.get(name, 0)) for name, count in (side.design.drawn_from or {}).items()}
    return None if all(side.design.drawn_from is None for side in sides) else levels


def _stack(columns_of: Sequence[Sequence[Words | None]], sides: Sequence[Side]) -> list[Words]:
    """Return the columns of both sides one below the other; None where a side lacks one."""
    missing = [np.full(len(side.rows.table), None, dtype=object) for side in sides]
    return [
        np.concatenate([none if column is None else column for column, none in zip(columns, missing, strict=True)])
        for columns in zip_longest(*columns_of)
    ]


def _stack_named(names_of: Sequence[Sequence[str]], sides: Sequence[Side]) -> list[Words]:
    """Return the columns of these names of either side one below the other."""
    names = dict.fromkeys(name for names in names_of for name in names)
    return _stack(
        [
            [labels(side.rows.table, name) if name in side_names else None for name in names]
            for side_names, side in zip(names_of, sides, strict=True)
        ],
        sides,
    )


def side_difference(sides: Sequence[Side]) -> float | None:
    """Return the share of the first side minus that of the second, times 100; None where a side has no row."""
    a, b = (side.rows.share for side in sides)
    return None if a is None or b is None else round(100 * (a - b), 10)


def missing_sides(sides: Sequence[Side]) -> str:
    """Return why there is no figure of two configs, naming each without a row that was used; empty where none is."""
    return "; ".join(f"{side.config}: {side.rows.tally.missing}" for side in sides if side.rows.share is None)


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


def difference_of(contrast: Contrast) -> "MatchedContrast":
    """Return what a matched contrast makes: of groups figures of another name, which are a family of their own."""
    return RELATIVE_CONTRAST if contrast.estimand == RELATIVE.id else MATCHED_CONTRAST


class UnmatchedDifference(Estimand):
    """The difference of the paper's figures: its value alone, since words and frames differ, too."""

    has_interval = False
    is_contrast = True
    ends = ("higher in the second", "higher in the first")

    def contrast_figure(self, contrast: Contrast, tables: Tables, scale: Scale) -> Figure:
        """Return the figure of a contrast's two configs."""
        sides = contrast_sides(replace(contrast, minimal_only=False), PREFERENCE, tables, scale)[None]
        shares = [share for side in sides if (share := strict_share(side.rows)) is not None]
        note = missing_sides(sides)
        return Figure(
            config=contrast.name,
            sense_type=" - ".join(side.design.sense_type for side in sides),
            estimand=self.id,
            definition=self.version,
            value=None if note else round(100 * (shares[0] - shares[1]), 10),
            note=note,
            **asdict(sides[0].rows.tally + sides[1].rows.tally),
        )


CONTRASTS = Family(
    id="contrasts", says="all matched sense contrasts of the release", by=(), estimands=("matched-contrast",)
)
RELATIVE_CONTRASTS = Family(
    id="relative contrasts",
    says="all groups of a sense contrast of relative",
    by=("config",),
    estimands=("relative-contrast",),
)


class MatchedContrast(Estimand):
    """The difference of one estimand between two configs, in points from -100 to 100."""

    family = CONTRASTS
    prints_p = True
    is_contrast = True
    plotted = True
    ends = ("higher in the second", "higher in the first")
    zero_label = "both senses alike"
    point = "(1 = 1 of 100 pairs)"
    leanings = ("is higher in the second of the two senses", "is higher in the first of the two senses")
    higher = "sets the first sense above the second"
    effect = "difference of the two senses"

    def fact(self, figure: Figure, design: Design | None, names: Mapping[str, str]) -> str:
        """Return by how many of 100 pairs the two senses differ."""
        value, first, second = figure.value or 0.0, names.get("first", "the first"), names.get("second", "the second")
        rows = names.get("rows", "pairs")
        does = f"links {figure.group} to unpleasant words" if figure.group else names.get("tendency", "scores")
        more = "more" if value >= 0 else "fewer"
        return f"{does} in {abs(value):.0f} {more} of 100 {rows} for the sense {first} than for {second}"

    def contrast_figures(
        self, contrast: Contrast, estimand: Estimand, tables: Tables, scale: Scale, confidence: float
    ) -> list[Figure]:
        """Return the figure of an estimand in a contrast's two configs, or of each group that it is of.

        Where the two cannot be compared there is one without a value, which says why.
        """
        try:
            sides_of = contrast_sides(contrast, estimand, tables, scale)
        except IncomparableError as error:
            nothing = Tally(rows=0, scored=0, unscored=0)
            return [self._figure(contrast, tables, {"value": None, "note": str(error)}, nothing)]
        others = sum(len(rows) - len(minimal_rows(rows, contrast)) for rows, _ in tables)
        figures = []
        for group, sides in sides_of.items():
            rule, value, neutral = project_difference(*sides), side_difference(sides), contrast_neutral(estimand, sides)
            if value is None:
                fields: dict[str, Any] = {"value": None, "note": missing_sides(sides)}
            else:
                kernel = np.concatenate([side.rows.kernel for side in sides])
                by_blocks = any(side.rows.by_blocks for side in sides)
                per_share = estimand.per_share
                fields = difference_fields(rule, kernel, value, confidence, by_blocks=by_blocks, per_share=per_share)
            if neutral is None:  # a p-value is of a test against 0, which says something only where 0 is neutral
                fields["p"] = None
            tally = sides[0].rows.tally + sides[1].rows.tally
            if others:
                tally = replace(tally, left_out={**tally.left_out, "not minimal": others})
            about = [str(design.group) for _, design in tables] if group is not None else []
            fixed = tuple(name for name in matched_fixed(sides, rule) if name not in about)
            fields |= {"group": group, "neutral": neutral, "fixed": fixed}
            figures.append(self._figure(contrast, tables, fields, tally))
        return figures

    def _figure(self, contrast: Contrast, tables: Tables, fields: Mapping[str, Any], tally: Tally) -> Figure:
        return Figure(
            config=contrast.name,
            sense_type=" - ".join(design.sense_type for _, design in tables),
            estimand=self.id,
            definition=self.version,
            **fields,
            **asdict(tally),
        )


class RelativeContrast(MatchedContrast):
    """The difference of the relative figures of each group between two configs."""

    family = RELATIVE_CONTRASTS
    tests_groups = True
    caption = "each group in the first sense minus the same group in the second"
    ends = ("more in the second", "more in the first")
    point = ""
    leanings = (
        "drawn to unpleasant words more in the second sense",
        "drawn to unpleasant words more in the first sense",
    )
    higher = "is drawn to unpleasant words more in the first sense"


MATCHED_CONTRAST = MatchedContrast(
    id="matched-contrast",
    title="Difference between two senses of a word, matched",
    range=(-100, 100),
    direction="above 0: the first config's figure is higher than the second's",
    source="senseprobe",
    says="A figure in one sense minus the same figure in the other. Words that both senses share cancel out.",
    cannot_say="The two senses still occur in different frames, and differences between the frames remain in "
    "the figure. The interval of a contrast of pronoun-stereotype combines those of its four classes, where "
    "shared words do not cancel.",
    version=2,
)
RELATIVE_CONTRAST = RelativeContrast(
    id="relative-contrast",
    title="Relative preference: difference between two senses",
    range=(-100, 100),
    direction="above 0: the group attracts unpleasant words more in the first sense than in the second",
    source="senseprobe",
    says="The relative figure of a group in one sense minus its figure in the other. Words that both senses "
    "share cancel out. It shows, for example, whether the model is harsher on these people than on these "
    "things. 0 means that the group attracts unpleasant words equally in both senses.",
    cannot_say="A relative figure counts the pairs of words in which the unpleasant word is ahead, not by "
    "how much. More scatter of the words in one sense, or a figure near its limit of 50, can therefore move "
    "the difference when the senses do not differ. It generalises over words of praise and blame, for these "
    "frames and carriers only.",
)
UNMATCHED = UnmatchedDifference(
    id="unmatched-difference",
    version=2,
    title="Difference between two senses of a word, as in the paper",
    range=(-100, 100),
    direction="above 0: the first config's preference is higher than the second's",
    source="Zhou, Kaneko & Bollegala 2022, table 4",
    says="The difference between the paper's figures for the two senses.",
    cannot_say="The senses occur in different frames with different words, and these may cause the "
    "difference. It has no interval and no p-value, and no value is known to mean an absence of bias.",
)
CONTRAST_ESTIMANDS = (MATCHED_CONTRAST, RELATIVE_CONTRAST, UNMATCHED)
