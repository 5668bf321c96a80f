"""What an estimand is, and what its figures are of.

An `Estimand` knows its texts, its rows, its figures with their intervals, its neutral value, what a sample can say of
it, how two models are compared on it, and where a report puts it. Nothing outside compares its name.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.declaration import accept_old_names
from senseprobe.evaluate.estimands.display import Display
from senseprobe.evaluate.estimands.figure_scope import LabelGroups, Scope
from senseprobe.evaluate.estimands.kernel import KernelRows, factor_columns, fixed_slots, labels, strata_sizes
from senseprobe.evaluate.estimands.multiple_testing import Family
from senseprobe.evaluate.estimands.streams import Stream
from senseprobe.evaluate.units import KINDS, ScoredRows
from senseprobe.records import Contrast, Design, Figure
from senseprobe.statistics import (
    CONFIDENCE,
    Ends,
    FloatArray,
    Projection,
    Scale,
    difference_test,
    planned_half_width,
    share_intervals,
    share_test,
)

Compute: TypeAlias = Callable[[Any, Design, str, int], Iterable[Figure]]
"""From a config's rows with scores (a DataFrame), its design, its name and a seed to figures."""

Tables: TypeAlias = Sequence[tuple[pd.DataFrame, Design]]
"""The scored rows of a contrast's two configs, with their designs."""

SenseRows: TypeAlias = tuple[Design, dict[str | None, KernelRows]]
"""Of a config, the design of the interval rule of a contrast, and rows by group; None is the whole config."""

NO_NEUTRAL = "no value is known to mean no bias"
NOT_ESTIMABLE = "interval not estimable"


@accept_old_names(low="range", high="range", definition="version")
@dataclass(frozen=True, kw_only=True, slots=True)
class Estimand(Display):
    """A figure that can be asked for: what it declares of itself, and how it is computed, compared and shown.

    - `direction`: what a figure above its neutral value means; `source`: the paper with its equation.
    - `version`: it goes up when a figure, its interval, test or neutral value changes on the same scores.
    - `kind`: of the rows that it is computed from.
    - `variant_of`: of a variant that no release lists, the estimand that a config has to have for this one to be asked
      for besides; empty for the others.
    - `figures`: of a plug-in, the function that computes it; None for ours.

    Ours are instances of subclasses that say what else is so of them.

    >>> ties = Estimand(
    ...     id="ties", title="Pairs of equal score", range=(0, 100), direction="100: no pair differs",
    ...     source="none", says="The share of pairs of equal score.",
    ... )
    >>> ties.unit, ties.kind, ties.has_interval
    ('points', 'contrast', True)
    """

    kind: str = "contrast"
    variant_of: str = ""
    figures: Compute | None = None

    @property
    def has_interval(self) -> bool:
        """Whether figures can have one, and two models can be compared on it."""
        return True

    @property
    def compared_with_interval(self) -> bool:
        """Whether the difference of two models has one."""
        return True

    @property
    def neutral(self) -> float | None:
        """What means no bias, whatever the rows; None where that is unknown, or follows from them."""
        return None

    @property
    def neutral_from_labels(self) -> bool:
        """Whether its neutral value follows from the labels of the rows."""
        return False

    @property
    def zero_share(self) -> float:
        """What a share of 0 reads, in points."""
        return -50.0

    @property
    def per_share(self) -> float:
        """By how many points a share of 1 lies above one of 0: 200 where the figure goes from -100 to 100."""
        return 100.0

    @property
    def readings_are_neutral(self) -> bool:
        """Whether models with one of its `readings` know nothing of bias: without a neutral value, all between are."""
        return True

    @property
    def of_pairs(self) -> bool:
        """Whether a number of each pair makes it, since it compares no sentences of two pairs."""
        return False

    @property
    def column(self) -> str:
        """The column of what chat models choose, of which it is the mean, and which no design lists; mostly none."""
        return ""

    @property
    def reads_unrelated(self) -> bool:
        """Whether it needs scores of the unrelated sentences that StereoSet has."""
        return False

    @property
    def needs_control(self) -> bool:
        """Whether it is 100 for a model that infers nothing, and so needs a control."""
        return False

    @property
    def needs_gold(self) -> bool:
        """Whether it is the share of right answers, of pairs that are not always neutral."""
        return False

    @property
    def label_groups(self) -> tuple[LabelGroups, ...]:
        """The columns by whose labels it has figures of groups."""
        return ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it leaves rows out, in the order in which it asks."""
        return ()

    @property
    def missing_slice(self) -> str:
        """Why a slice can be without it."""
        return "the slice lacks the rows that it needs"

    @property
    def family(self) -> Family | None:
        """The tests that are corrected together with those of its figures; None where nothing is corrected."""
        return None

    @property
    def replay_tolerance(self) -> float:
        """By how much its numbers may differ where scores are nearly the same: more where signs do not make them."""
        return 1e-6 if self.unit == "points" else 1e-3

    @property
    def promises_interval(self) -> bool:
        """Whether a figure without an interval needs a word: neither of a plug-in nor where there never is one."""
        return self.has_interval and not self.origin

    def named(self, name: str) -> "Estimand | None":
        """Return the estimand to which a design gives a name of its own (gap:he-she); None where it takes none."""
        return None

    def computed_with(self, design: Design) -> "tuple[Estimand, ...]":
        """Return the estimands that are computed where it is asked for: itself, but for `spread`."""
        return (self,)

    def applies_to(self, rows: pd.DataFrame) -> bool:
        """Return whether the rows of a config have what it needs."""
        return True

    def kernel_rows(self, rows: pd.DataFrame, design: Design, scale: Scale) -> KernelRows:
        """Return its rows with kernel and weights; ResultError where it is no weighted mean over rows."""
        raise ResultError(f"the estimand {self.id!r} does not apply to rows of {KINDS[self.kind].nouns}")

    def compared_rows(self, rows: pd.DataFrame, design: Design, scale: Scale) -> dict[str | None, KernelRows]:
        """Return the rows on which two models are compared, by group; None is the whole config."""
        return {None: self.kernel_rows(rows, design, scale)}

    def compared_senses(self, contrast: Contrast, tables: Tables, scale: Scale) -> list[SenseRows]:
        """Return its rows in the two configs of a contrast; raise ResultError where they cannot be compared."""
        return [(design, {None: self.kernel_rows(rows, design, scale)}) for rows, design in tables]

    def compare_words(
        self, contrasts: Sequence[Contrast], figures: Sequence[Figure], scored: ScoredRows
    ) -> list[Figure]:
        """Return its figures of two configs, made of the `figures` of their words; most estimands have none."""
        return []

    def rule_design(self, design: Design) -> Design:
        """Return the design with the factors of its interval rule."""
        return design

    def row_set(self, table: pd.DataFrame) -> Hashable:
        """Return the set of rows that a test of it is over, where that of another config can be the same; else None."""
        return None

    def neutral_value(self, rows: KernelRows, design: Design) -> float | None:
        """Return the value that means no bias for these rows; None where none is known."""
        return self.neutral

    def points(self, share: float | None) -> float | None:
        """Return a share, a figure on [0, 1], in its points."""
        return None if share is None else round(self.per_share * share + self.zero_share, 10)

    def readings(self, rows: KernelRows, design: Design) -> dict[str, float]:
        """Return what models read, in points, that always do one thing, by that; empty where that says nothing."""
        return {}

    def neutral_span(self, rows: KernelRows, scope: Scope) -> Ends | None:
        """Return the values that its figure is tested against: the neutral one, or all between its `readings`.

        None where neither is known, and of groups that no verdict is about.
        """
        if scope.group is not None and not scope.leads:
            return None
        neutral = self.neutral_value(rows, scope.design)
        readings = self.readings(rows, scope.design) if self.readings_are_neutral else {}
        values = [*readings.values()] if neutral is None else [neutral]
        return (min(values), max(values)) if values else None

    def notes(self, rows: KernelRows, design: Design) -> Iterator[str]:
        """Yield what a figure of these rows does not say of itself."""
        if self.neutral_value(rows, design) is None:
            yield NO_NEUTRAL

    def rule(self, rows: KernelRows, scope: Scope) -> Projection:
        """Return the interval rule over the factors that are left once those of the group are taken away."""
        design = self.rule_design(scope.design)
        factors = tuple(factor for factor in design.factors if not {*factor.columns} <= {*scope.about})
        return rows.project(replace(design, factors=factors))

    def interval(self, rows: KernelRows, rule: Projection, scope: Scope) -> dict[str, Any]:
        """Return the fields of a `Figure` with its value and interval, in points."""
        if (share := rows.share) is None:
            return {"value": None, "note": rows.tally.missing}
        zero, scale, span, p = self.zero_share, self.per_share / 100, self.neutral_span(rows, scope), {}
        if span is None:
            kernel = rows.kernel[np.newaxis]
            (ends,) = share_intervals(rule, kernel, np.array([share]), scope.confidence, by_blocks=rows.by_blocks)
        else:
            neutral = ((span[0] - zero) / scale - 50, (span[1] - zero) / scale - 50)
            tested = share_test(rule, rows.kernel, share, neutral, scope.confidence, by_blocks=rows.by_blocks)
            ends, p = (None, {}) if tested is None else (tested[0], {"p": tested[1]})
        points = {"value": 100 * share - 50} | ({} if ends is None else {"low": ends.low, "high": ends.high})
        if (zero, scale) != (-50, 1):
            points = {name: round(scale * (point + 50) + zero, 10) for name, point in points.items()}
        of_ends = {"note": why_no_interval(rule)} if ends is None else {"method": ends.method}
        if share in (0.0, 1.0) and p.get("p", 0.0) >= 1 - CONFIDENCE:
            of_ends["note"] = few_agree(rule)
        return {**points, **p, **of_ends, "levels": rule.levels}

    def figure(self, rows: KernelRows, scope: Scope, notes: Iterable[str] | None = None) -> Figure:
        """Return its figure over rows in a scope, with `notes`: by default those of a config, and none of a group."""
        rule, about = self.rule(rows, scope), [*scope.about, *factor_columns(self.rule_design(scope.design))]
        fixed = (*rule.fixed, *fixed_slots(scope.design, about))
        if notes is None:
            notes = () if scope.group else self.notes(rows, scope.design)
        return self.with_fields(rows, scope, {"fixed": fixed, **self.interval(rows, rule, scope)}, notes)

    def with_fields(
        self, rows: KernelRows, scope: Scope, fields: Mapping[str, Any], notes: Iterable[str] = ()
    ) -> Figure:
        """Return a figure of rows, of which `fields` are value, interval and a first note."""
        return Figure(
            config=scope.config,
            sense_type=scope.design.sense_type,
            estimand=self.id,
            group=scope.group,
            neutral=self.neutral_value(rows, scope.design),
            readings=self.readings(rows, scope.design),
            definition=self.version,
            **{**fields, "note": joined(fields.get("note", ""), *notes)},
            **asdict(rows.tally),
        )

    def figure_of(self, rows: pd.DataFrame, scope: Scope) -> Figure:
        """Return its figure over rows with scores."""
        return self.figure(self.kernel_rows(rows, scope.design, scope.scale), scope)

    def groups(self, rows: pd.DataFrame, scope: Scope) -> Iterable[Figure]:
        """Return its figures of groups, which follow that of a config: by default those of its `label_groups`."""
        for groups in self.label_groups:
            values = labels(rows, groups.column) if groups.column in rows else ()
            for name in groups.in_order({str(value) for value in values if value is not None}):
                part = rows[(rows[groups.column] == name).to_numpy(dtype=np.bool_)]
                yield self.figure_of(part, groups.scope_of(name, scope))

    def compute(self, rows: pd.DataFrame, scope: Scope) -> Iterable[Figure]:
        """Return its figures over the rows of a config, with scores."""
        return [self.figure_of(rows, scope), *self.groups(rows, scope)]

    def combined_columns(self, design: Design) -> list[tuple[str, ...]]:
        """Return the columns for whose combinations of values it asks its rows (`KernelRows.weights_by`)."""
        return []

    def stream(self, scope: Scope) -> Stream | None:
        """Return what makes its figures of rows that come in parts; None where it needs all rows at once."""
        return None

    def slice_figures(self, part: pd.DataFrame, rows: pd.DataFrame, scope: Scope) -> Iterable[Figure]:
        """Return its figures over a part of the rows of a config; none where it has none of parts (`missing_slice`)."""
        figures = [self.figure_of(part, scope)] if self.applies_to(part) else []
        return [figure for figure in figures if figure.rows]

    def word_figure(
        self, part: pd.DataFrame, design: Design, config: str, slot: str, word: str, scale: Scale
    ) -> Figure:
        """Return the figure of the rows that hold a word in a slot; it does not generalise over that slot."""
        design = self.without_slot(design, slot)
        return self.figure_of(part, Scope(design=design, config=config, scale=scale, group=word, about=(slot,)))

    def without_slot(self, design: Design, slot: str) -> Design:
        """Return the design with factors that lack the column of a slot; a factor that had no other is left out."""
        others = (factor for factor in design.factors if not (factor.is_clustered and factor.slot == slot))
        left = ((factor, tuple(column for column in factor.columns if column != slot)) for factor in others)
        return replace(design, factors=tuple(replace(factor, columns=columns) for factor, columns in left if columns))

    def planned_half_width(self, design: Design, levels: Mapping[str, int], rows: int) -> float | None:
        """Return about the points that its interval will reach to either side, from the levels of a config's factors.

        None where it has no interval, or every factor is fixed. `statistics.planned_half_width` says what is assumed.
        """
        if not self.has_interval:
            return None
        factors = (factor.name for factor in self.rule_design(design).factors)
        half_width = planned_half_width([[*strata_sizes(name, levels).values()] for name in factors], rows)
        return half_width and half_width * self.per_share / 100


def few_agree(rule: Projection) -> str:
    """Return why a figure at its end shows nothing: every row is alike, but so few levels agree by chance at times."""
    (factor, stratum), fewest = min(rule.strata.items(), key=lambda entry: entry[1])
    name = f"{factor} ({stratum})" if stratum else factor
    return f"all rows agree, but with only {fewest} levels of {name} that can happen by chance"


def why_no_interval(rule: Projection) -> str:
    """Return that there is no interval, and of what too few levels were drawn where that is why."""
    return f"{NOT_ESTIMABLE}; too few levels of {', '.join(rule.too_few)}" if rule.too_few else NOT_ESTIMABLE


def difference_fields(
    rule: Projection,
    kernel: FloatArray,
    difference: float,
    confidence: float,
    *,
    by_blocks: bool = False,
    per_share: float = 100.0,
) -> dict[str, Any]:
    """Return the fields of a `Figure` that is a difference: value, interval and p, in points.

    `difference` is that of two shares, from -100 to 100, and of a figure of more points than 100 `per_share` a part.
    """
    tested, scale = difference_test(rule, kernel, difference, confidence, by_blocks=by_blocks), per_share / 100
    value = difference if scale == 1 else round(scale * difference, 10)
    if tested is None:
        return {"value": value, "levels": rule.levels, "note": why_no_interval(rule)}
    ends, p = tested
    points = {"value": value, "low": scale * ends.low, "high": scale * ends.high}
    return {**points, "method": ends.method, "p": p, "levels": rule.levels}


def joined(*notes: str) -> str:
    """Return notes as one; those that are empty say nothing."""
    return "; ".join(filter(None, notes))
