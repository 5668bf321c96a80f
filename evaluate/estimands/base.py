"""What an estimand is, and the rows with a kernel and weights that each is made of.

An `Estimand` knows its texts, its rows, its figures with their intervals, its neutral value, what a sample can say of
it, how two models are compared on it, and where a report puts it. Nothing outside compares its name.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.errors import ResultError
from senseprobe.records import Design, Factor, Figure
from senseprobe.statistics import (
    CONFIDENCE,
    FEWEST_LEVELS,
    FactorLevels,
    FloatArray,
    Projection,
    Scale,
    share_intervals,
)

Words: TypeAlias = NDArray[np.object_]
Compute: TypeAlias = Callable[[Any, Design, str, int], Iterable[Figure]]
"""From a config's rows with scores (a DataFrame), its design, its name and a seed to figures."""

NO_NEUTRAL = "no value is known to mean no bias"
NO_ROWS = "no row was scored"
NONE_USABLE = "no row can be used"
NOT_ESTIMABLE = "interval not estimable"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """Counts of the rows that an estimand may use, used, and left; the fields of `Figure` with the same names."""

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
        """Return a copy with the ties of a kernel counted."""
        return replace(self, ties=int((kernel == 0.5).sum()))

    def also_left_out(self, reason: str, count: int) -> "Tally":
        """Return a copy with `count` more rows that were left out for a reason."""
        return replace(self, left_out={**self.left_out, reason: count}) if count else self

    def without(self, reason: str, count: int) -> "Tally":
        """Return a copy with `count` of its scored rows left out for a reason."""
        return replace(self, rows=self.rows - count, scored=self.scored - count).also_left_out(reason, count)

    @property
    def missing(self) -> str:
        """The reason why there is no figure where no row was used: none has a number, or none is of use."""
        return NO_ROWS if self.unscored else NONE_USABLE

    def as_fields(self) -> dict[str, Any]:
        """Return keyword arguments for a `Figure`."""
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


def missing_sides(sides: Iterable[tuple[str, KernelRows]]) -> str:
    """Return why there is no figure of two configs, naming each without a row that was used; empty where none is."""
    return "; ".join(f"{name}: {rows.tally.missing}" for name, rows in sides if rows.share is None)


def select(
    rows: pd.DataFrame,
    reasons: Mapping[str, NDArray[np.bool_]],
    columns: Sequence[str] = ("stereo_score", "anti_score"),
) -> tuple[pd.DataFrame, Tally]:
    """Return the rows that may be used and have finite scores in all `columns`, and the count of all.

    `reasons` holds masks of the rows that leave; a row leaves for its first reason.
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
    """Return a column as an object array with None where a value is missing."""
    values: Words = rows[column].to_numpy(dtype=object, copy=True)
    values[rows[column].isna().to_numpy()] = None
    return values


def codes_of(columns: Iterable[Words], count: int) -> NDArray[np.intp]:
    """Return codes from 0 for the combinations of values in columns of length `count`; all 0 without columns."""
    codes = np.zeros(count, dtype=np.intp)
    for column in columns:
        values, uniques = pd.factorize(column, use_na_sentinel=False)
        codes, _ = pd.factorize(codes * len(uniques) + values)
    return codes


def level_columns(table: pd.DataFrame, columns: Sequence[str]) -> list[Words]:
    """Return the columns that hold a factor's levels, equal ones once."""
    levels = [labels(table, column) for column in columns]
    # Where both members of every pair have the same noun, the noun was drawn once, not twice.
    return levels[:1] if all(np.array_equal(levels[0], other) for other in levels) else levels


def factor_levels(name: str, columns: Sequence[Words], variables: Sequence[Words]) -> FactorLevels:
    """Return the levels of a factor, in strata: the values of the cell variables that are constant in each level.

    `columns` hold its levels and `variables` are the cell variables, each of N values; a None in `columns` is a row
    without the factor.
    """
    codes, uniques = pd.factorize(np.concatenate(columns))
    present = codes >= 0
    by_level = [pd.Series(np.tile(values, len(columns))[present]).groupby(codes[present]) for values in variables]
    constant = [values.first() for values in by_level if values.nunique().max() == 1]
    strata = [", ".join(str(value) for value in level if value is not None) for level in zip(*constant, strict=True)]
    return FactorLevels(
        name=name, codes=codes.reshape(len(columns), -1).astype(np.intp), strata=tuple(strata) or ("",) * len(uniques)
    )


def fixed_slots(design: Design, listed: Iterable[str]) -> tuple[str, ...]:
    """Return the slots, and the frame, that are not `listed` as factors: over them nothing can be generalised."""
    columns = set(listed)
    return tuple(slot for slot in (*design.slots, "frame") if slot not in columns)


def factor_columns(design: Design) -> list[str]:
    """Return the columns of all factors of a design."""
    return [column for factor in design.factors for column in factor.columns]


def project(rows: KernelRows, design: Design) -> Projection:
    """Return the interval rule for the rows, over the factors of the design."""
    variables = [labels(rows.table, variable) for variable in rows.variables]
    factors = [
        factor_levels(factor.name, level_columns(rows.table, factor.columns), variables) for factor in design.factors
    ]
    blocks = [labels(rows.table, variable) for variable in rows.block_columns]
    cells, blocks_of_rows = (codes_of(columns, len(rows.table)) for columns in (variables, blocks))
    return Projection(rows.weights, cells, factors, blocks_of_rows)


def estimate(rows: KernelRows, rule: Projection, confidence: float = CONFIDENCE) -> dict[str, Any]:
    """Return the fields of a `Figure` that the interval rule fills, in points from -50 to 50."""
    if (share := rows.share) is None:
        return {"value": None, "note": rows.tally.missing, "fixed": rule.fixed}
    fields = {"value": 100 * share - 50, "levels": rule.levels, "fixed": rule.fixed}
    (interval,) = share_intervals(
        rule, rows.kernel[np.newaxis], np.array([share]), confidence, by_blocks=rows.by_blocks
    )
    if interval is None:
        return {**fields, "note": NOT_ESTIMABLE}
    return {**fields, "low": interval.low, "high": interval.high, "method": interval.method}


@dataclass(frozen=True, kw_only=True, slots=True)
class Presentation:
    """How reports show the figures of an estimand.

    - `rank`: among those that can lead a config, of which the lowest does, from 1; 0: it leads none.
    - `leads_without_neutral`: whether it leads where no value of `preference` is neutral, since its own 0 is.
    - `plotted`, `by_word`: whether plots show it, and whether tables give it for each word and frame.
    - `contrasts`: whether it is of two configs, and in the section of contrasts.
    - `zero`: what the value to compare it with means; empty where that is its neutral value, or none is known.
    - `see_p`: whether its neutral value means something only beside its p.
    - `groups`: the caption of the table of its groups; empty: its id.
    - `tested_groups`: what the summary calls a group's figure that was tested; empty: the summary counts none.
    """

    rank: int = 0
    leads_without_neutral: bool = False
    plotted: bool = False
    by_word: bool = False
    contrasts: bool = False
    zero: str = ""
    see_p: bool = False
    groups: str = ""
    tested_groups: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimand:
    """A figure that can be asked for: what it declares of itself, and how it is computed, compared and shown.

    - `low`, `high`: its range, in points; `kind`: of the rows that it is computed from.
    - `direction`: what a figure above its neutral value means.
    - `source`: the paper and equation that it comes from, or ``senseprobe``.
    - `says`, `cannot_say`: a sentence each, for reports.
    - `definition`: the version of its definition; it goes up when a figure, its interval, test or neutral value
      changes on the same scores, so that figures of two definitions are never taken for one another.
    - `variant_of`: of a variant that no release lists, the estimand that a config has to have for this one to be asked
      for besides; empty for the others.
    - `figures`: of a plug-in, the function that computes it; `origin`: its distribution. None and empty for ours.
    - `presentation`: how reports show it.

    Ours are instances of subclasses that say what else is so of them.
    """

    id: str
    title: str
    low: float
    high: float
    direction: str
    source: str
    says: str
    cannot_say: str
    kind: str = "contrast"
    definition: int = 1
    variant_of: str = ""
    figures: Compute | None = None
    origin: str = ""
    presentation: Presentation = Presentation()

    has_interval: ClassVar[bool] = True
    """Whether its figures can have an interval, and two models can be compared on it."""

    neutral: ClassVar[float | None] = None
    """The value that means no bias, whatever the rows; None where none is known, or it follows from the rows."""

    neutral_from_labels: ClassVar[bool] = False
    """Whether its neutral value follows from the labels of the rows."""

    zero_share: ClassVar[float] = -50.0
    """What a share of 0 reads, in points."""

    cells_split_factors: ClassVar[bool] = False
    """Whether its cells (gold labels, genders) split factors into strata that a release does not count."""

    p_is_permuted: ClassVar[bool] = False
    """Whether its p is of permutations, not of its interval."""

    reads_unrelated: ClassVar[bool] = False
    """Whether it needs the scores of the unrelated sentences that StereoSet has."""

    needs_control: ClassVar[bool] = False
    """Whether it says nothing without right answers on the control: it is 100 for a model that infers nothing."""

    needs_gold: ClassVar[bool] = False
    """Whether it is the share of right answers, and so needs pairs whose label is not always neutral."""

    @property
    def from_zero(self) -> bool:
        """Whether no figure is below 0, so that a plus sign would say nothing."""
        return self.low >= 0

    @property
    def promises_interval(self) -> bool:
        """Whether a figure without an interval needs a word: neither of a plug-in nor where there never is one."""
        return self.has_interval and not self.origin

    @property
    def computed_by(self) -> "Estimand":
        """The estimand whose computation has this one's figures among its own: itself, but for `spread`."""
        return self

    def applies_to(self, rows: pd.DataFrame) -> bool:
        """Return whether the rows of a config have what it needs."""
        return True

    def kernel_rows(self, rows: pd.DataFrame, design: Design, scale: Scale) -> KernelRows:
        """Return its rows with kernel and weights; ResultError where it is no weighted mean over rows."""
        raise ResultError(f"no estimand {self.id!r} for rows of {'inference' if self.kind == 'inference' else 'pairs'}")

    def compared_rows(self, rows: pd.DataFrame, design: Design, scale: Scale) -> dict[str | None, KernelRows]:
        """Return the rows on which two models are compared, by group; None is the whole config."""
        return {None: self.kernel_rows(rows, design, scale)}

    def rule_design(self, design: Design) -> Design:
        """Return the design with the factors of its interval rule."""
        return design

    def row_set(self, table: pd.DataFrame) -> Hashable:
        """Return the set of rows that a test of it is over, where that of another config can be the same; else None."""
        return None

    def neutral_value(self, rows: KernelRows, design: Design) -> float | None:
        """Return the value that means no bias for these rows; None where none is known."""
        return self.neutral

    def readings(self, rows: KernelRows, design: Design) -> dict[str, float]:
        """Return what models read, in points, that always prefer one word, by word; empty where that says nothing."""
        return {}

    def notes(self, rows: KernelRows, design: Design) -> Iterator[str]:
        """Yield what a figure of these rows does not say of itself."""
        if self.neutral_value(rows, design) is None:
            yield NO_NEUTRAL

    def interval(self, rows: KernelRows, design: Design, confidence: float) -> dict[str, Any]:
        """Return the fields of a `Figure` with its value and interval."""
        fields = estimate(rows, project(rows, self.rule_design(design)), confidence)
        return {**fields, "fixed": (*fields["fixed"], *fixed_slots(design, factor_columns(design)))}

    def compute(
        self, rows: pd.DataFrame, design: Design, config: str, *, seed: int, confidence: float, scale: Scale
    ) -> Iterable[Figure]:
        """Return its figures over the rows of a config, with scores."""
        kernel = self.kernel_rows(rows, design, scale)
        fields = self.interval(kernel, design, confidence)
        return [self._figure(kernel, design, config, fields, self.notes(kernel, design))]

    def word_figure(
        self, part: pd.DataFrame, design: Design, config: str, slot: str, word: str, scale: Scale
    ) -> Figure:
        """Return the figure of the rows that hold a word in a slot; it does not generalise over that slot."""
        rest = replace(design, factors=tuple(_without(design.factors, slot)))
        rows = self.kernel_rows(part, rest, scale)
        fields = estimate(rows, project(rows, rest))
        fields["fixed"] = (*fields["fixed"], *fixed_slots(design, [slot, *factor_columns(rest)]))
        return self._figure(rows, design, config, fields, group=word)

    def _figure(
        self,
        rows: KernelRows,
        design: Design,
        config: str,
        fields: Mapping[str, Any],
        notes: Iterable[str] = (),
        group: str | None = None,
    ) -> Figure:
        """Return a figure of rows, of which `fields` are value, interval and a first note."""
        note = "; ".join(filter(None, (fields.get("note", ""), *notes)))
        return Figure(
            config=config,
            sense_type=design.sense_type,
            estimand=self.id,
            group=group,
            neutral=self.neutral_value(rows, design),
            readings=self.readings(rows, design),
            definition=self.definition,
            **{**fields, "note": note},
            **rows.tally.as_fields(),
        )

    def of_sample(self, figure: Figure, levels: Mapping[str, int]) -> Figure:
        """Return a figure of drawn rows with what it can say of the release that they were drawn from.

        `levels` says how many levels each factor, or stratum of one (``occupation (male)``), has in the release. What
        has five and more there is a sample, also where fewer were drawn: then there is no interval, and no p made of
        it. Labels that are balanced in the drawn rows by chance make no value neutral.
        """
        if self.neutral_from_labels:
            figure = replace(figure, neutral=None)
        few = self.drawn_too_few(figure.fixed, levels)
        if figure.low is None or not few:
            return figure
        note = "; ".join(filter(None, (few, figure.note)))
        figure = replace(figure, low=None, high=None, method="none", note=note)
        return figure if self.p_is_permuted else replace(figure, p=None, p_holm=None)

    def drawn_too_few(self, fixed: Iterable[str], levels: Mapping[str, int]) -> str:
        """Return why there is no interval: the release has levels enough of what is `fixed` in drawn rows; or empty."""
        few = [name for name in fixed if _levels_of(name, levels) >= FEWEST_LEVELS]
        few = [] if self.cells_split_factors else few
        return f"{NOT_ESTIMABLE}; too few drawn of {', '.join(few)}" if few else ""


def _levels_of(name: str, levels: Mapping[str, int]) -> int:
    """Return the levels of a factor or stratum in the release; of a factor with strata only, the most of theirs."""
    return levels.get(name, max((n for key, n in levels.items() if key.partition(" (")[0] == name), default=0))


def _without(factors: tuple[Factor, ...], slot: str) -> Iterator[Factor]:
    """Yield the factors without a column; a factor that had no other is left out."""
    for factor in factors:
        columns = tuple(column for column in factor.columns if column != slot)
        if columns:
            yield replace(factor, columns=columns)
