"""Two models on the same rows of a release: how far a figure differs, and over what that can be generalised.

The difference of a figure is Σ w (K_A - K_B), a figure of the same rule: its kernel is the difference of the models'
kernels, row by row, so words that move both models alike cancel.

**The test** is the interval rule's own, Student's t of the difference over √V with the smallest degrees of freedom:
its p is below 0.05 exactly where 0 lies outside the interval (but for independent rows, below).

**One p for each factor** says what is left if only its levels were a sample, those of the others being as they are:
the sign of each level's contribution to the difference is flipped, which is to exchange the models' values at it. These
are exact, but each forgets the other factors, so none of them is the test, and the largest is none either: where three
crossed factors matter alike it rejects a true null more than twice as often as it may (docs/coverage.md).

**Where rows are independent**, each a level of its own, signs are flipped row by row: McNemar's exact test. Never on
rows of a product.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import in_order, kernel_rows, lookup
from senseprobe.evaluate.estimands.base import (
    NOT_ESTIMABLE,
    KernelRows,
    factor_columns,
    fixed_slots,
    missing_sides,
    project,
)
from senseprobe.evaluate.estimands.equivalence import CONFIDENCE as OF_EQUIVALENCE
from senseprobe.evaluate.estimands.equivalence import Margin, verdict
from senseprobe.evaluate.estimands.multiple_testing import COMPARISONS, corrected
from senseprobe.evaluate.estimands.nli import compact
from senseprobe.evaluate.estimands.preference import are_independent
from senseprobe.evaluate.estimands.sense_contrast import (
    MATCHED_CONTRAST,
    Side,
    contrast_neutral,
    matched_fixed,
    minimal_rows,
    project_difference,
)
from senseprobe.records import Contrast, Design
from senseprobe.statistics import (
    CONFIDENCE,
    FloatArray,
    Projection,
    Scale,
    comparison_test,
    difference_interval,
    difference_intervals,
    difference_p,
    share_intervals,
    sign_flips,
)

SCORES: Mapping[str, tuple[str, ...]] = {
    "contrast": ("stereo_score", "anti_score"),
    "inference": ("entailment", "neutral", "contradiction"),
}
ALIKE = "the two models answer every row alike"
CONSTANT = "the two models differ by the same in every row, so that no interval over words or frames can be estimated"


@dataclass(frozen=True, kw_only=True, slots=True)
class FactorTest:
    """Sign flips over the levels of one factor, the levels of the others as they are.

    - `levels`: how many levels differ between the models, of the `of` that there are: those that do not say nothing.
    - `smallest`: the smallest p that so many can give.
    - `exact`: whether all sign vectors were counted, or a sample of different ones.
    """

    factor: str
    levels: int
    of: int
    p: float
    smallest: float
    exact: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """A figure of model A minus that of model B, over the rows that both scored.

    - `a`, `b`: the two figures, in points; `difference` in points, from -100 to 100, with a 95 % interval.
    - `p`, `p_holm`: two-sided, and after Holm's correction over its family; None where no test was made.
    - `test`: ``projection``, ``boundary`` (a model says the same of every row of a cell), ``mcnemar``, ``sign flips``
      (of independent rows with ties) or ``none``.
    - `only_a`, `only_b`: of independent rows, in how many only A (only B) prefers the stereotype; None elsewhere.
    - `equivalent`: as `Equivalence.answer`, of the difference, where a margin was given and the figure has a neutral
      value: for others a release states none.
    - `rows` = `scored` + `unscored`, as in a `Figure`; scored by both models.
    """

    config: str
    estimand: str
    group: str | None = None
    a: float | None = None
    b: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    test: str = "none"
    factors: tuple[FactorTest, ...] = ()
    only_a: int | None = None
    only_b: int | None = None
    equivalent: str | None = None
    rows: int
    scored: int
    unscored: int
    levels: Mapping[str, int] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the record with stable keys, as JSON has it."""
        return asdict(self)


def both_scored(a: pd.DataFrame, b: pd.DataFrame, design: Design) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the two tables in the order of `a`, with NaN in every score of a row that either of them lacks.

    Raises ResultError where the tables do not hold the same rows, by `id`, or rows of a kind that has no such test.
    """
    if design.kind not in SCORES:
        raise ResultError(f"two models cannot be compared on {design.kind} rows, only on {' and '.join(SCORES)}")
    a, b = a.reset_index(drop=True), b.reset_index(drop=True)
    if not a["id"].equals(b["id"]):
        if not a["id"].is_unique or len(a) != len(b) or set(a["id"]) != set(b["id"]):
            raise ResultError("the two results are not of the same rows: score both models on one release")
        b = b.set_index("id").loc[a["id"]].reset_index()
    columns = list(SCORES[design.kind])
    scored = np.isfinite(pd.concat([a[columns], b[columns]], axis=1).to_numpy(dtype=np.float64)).all(axis=1)
    first, second = (table.assign(**{name: table[name].where(scored) for name in columns}) for table in (a, b))
    return _both_unrelated(first, second)


def _both_unrelated(a: pd.DataFrame, b: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables with NaN for an unrelated sentence that either lacks; not all figures need it."""
    name = "unrelated_score"
    if name not in a and name not in b:
        return a, b
    first, second = (table.get(name, pd.Series(np.nan, table.index)) for table in (a, b))
    both = np.isfinite(first.to_numpy(dtype=np.float64)) & np.isfinite(second.to_numpy(dtype=np.float64))
    return a.assign(**{name: first.where(both)}), b.assign(**{name: second.where(both)})


def compare_all(
    a: Mapping[str, pd.DataFrame],
    b: Mapping[str, pd.DataFrame],
    designs: Mapping[str, Design],
    contrasts: Sequence[Contrast] = (),
    *,
    margin: Margin | None = None,
    seed: int = 0,
    scale: Scale = "log",
) -> list[Comparison]:
    """Return everything in which two models can be compared on a release, with p-values corrected over their families.

    `a` and `b` hold each model's scored rows by config; configs that one of them lacks, and association tests, are left
    out. Then come the matched contrasts whose two configs are there. `scale` is that of the scores (`Scorer.scale`).
    Raises ResultError where the rows are not the same.
    """
    results: list[Comparison] = []
    for config, design in designs.items():
        if config in a and config in b and design.kind in SCORES:
            results += compare(a[config], b[config], design, config, margin=margin, seed=seed, scale=scale)
    for contrast in contrasts:
        names = (contrast.a, contrast.b)
        if contrast.matched and all(name in a and name in b for name in names):
            of_a, of_b = ([rows[name] for name in names] for rows in (a, b))
            both = [designs[name] for name in names]
            results.append(compare_contrast(contrast, of_a, of_b, both, margin=margin, seed=seed, scale=scale))
    return corrected(results, COMPARISONS, [_row_set(result, a) for result in results])


def _row_set(comparison: Comparison, tables: Mapping[str, pd.DataFrame]) -> Hashable:
    """Return the set of rows of a comparison, which that of another config can have, too."""
    table = tables.get(comparison.config)
    rows = None if table is None else lookup(comparison.estimand).row_set(table)
    return rows or (comparison.config, comparison.estimand, comparison.group)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """An estimand of two models: the same rows, weights and cells, two kernels.

    `design` names the factors. `lowest` is what a share of 0 reads, `limit` the largest difference, in points.
    `neutral` is the figure's neutral value, None where none is known: a margin says nothing of such a figure.
    """

    estimand: str
    a: KernelRows
    b: KernelRows
    design: Design
    group: str | None = None
    lowest: float = -50.0
    limit: float = 100.0
    neutral: float | None = 0.0


def compare(
    a: pd.DataFrame,
    b: pd.DataFrame,
    design: Design,
    config: str,
    *,
    margin: Margin | None = None,
    seed: int = 0,
    scale: Scale = "log",
) -> list[Comparison]:
    """Return every figure of a config that has an interval, of model A minus model B, in the design's order.

    `a` and `b` are the config's rows with each model's scores (or probabilities). `p_holm` is left to the
    caller that has all configs: `multiple_testing.corrected` over `COMPARISONS`. Raises ResultError where the rows are
    not the same.
    """
    pairs = _pairs(*both_scored(a, b, design), design, scale)
    return [compare_kernels(pair, config, margin=margin, seed=seed) for pair in pairs]


def _pairs(a: pd.DataFrame, b: pd.DataFrame, design: Design, scale: Scale) -> Iterator[Pair]:
    """Yield the estimands that two models can be compared on, `relative` for each group."""
    if design.kind == "inference":
        a, b = compact(a, design), compact(b, design)
    for name in in_order(a, design, scale):
        estimand = lookup(name)
        if not estimand.has_interval or not estimand.applies_to(a):
            continue
        rows_of_b = estimand.compared_rows(b, design, scale)
        for group, rows in estimand.compared_rows(a, design, scale).items():
            yield Pair(
                estimand=name,
                a=rows,
                b=rows_of_b[group],
                design=estimand.rule_design(design),
                group=group,
                lowest=estimand.zero_share,
                limit=float(estimand.high - estimand.low),  # a float in JSON
                neutral=estimand.neutral_value(rows, design),
            )


def compare_kernels(pair: Pair, config: str, *, margin: Margin | None = None, seed: int = 0) -> Comparison:
    """Compare two models on an estimand of the interval rule; raise ResultError where the rows are not the same."""
    a, b = pair.a, pair.b
    _check(a, b)
    rule = project(a, pair.design)
    names = [factor.name for factor in pair.design.factors]
    about = [pair.design.group] if pair.group is not None and pair.design.group else []
    test = _Test(margin=None if pair.neutral is None else margin, seed=seed, limit=pair.limit)
    fields = test.fields(rule, a.kernel - b.kernel) if len(a.kernel) else {"note": a.tally.missing}
    shares = [a.share, b.share]
    if None not in shares and pair.limit == 100.0:  # a gap is the difference of two shares, and none itself
        both, kernels = np.array(shares, dtype=np.float64), np.stack([a.kernel, b.kernel])
        own = partial(share_intervals, rule, kernels, both, by_blocks=a.by_blocks)
        fields |= test.at_boundary(rule, kernels, own, (100 * both - 50).tolist())
    if are_independent(a.table, pair.design) and np.ptp(a.weights) == 0:
        fields |= test.of_independent(a.kernel - b.kernel)
    return Comparison(
        config=config,
        estimand=pair.estimand,
        group=pair.group,
        a=None if a.share is None else round(100 * a.share + pair.lowest, 10),
        b=None if b.share is None else round(100 * b.share + pair.lowest, 10),
        fixed=(*rule.fixed, *fixed_slots(pair.design, [*names, *factor_columns(pair.design), *about])),
        rows=a.tally.rows,
        scored=a.tally.scored,
        unscored=a.tally.unscored,
        **fields,
    )


def _check(a: KernelRows, b: KernelRows) -> None:
    """Raise ResultError where two models' rows are not the same, or not weighted alike."""
    same = len(a.kernel) == len(b.kernel) and np.array_equal(a.weights, b.weights) and a.variables == b.variables
    if same and "id" in a.table and "id" in b.table:
        same = a.table["id"].tolist() == b.table["id"].tolist()
    if not same:
        raise ResultError("two models are compared on the rows that both scored: see `both_scored`")


def _missing_interval(kernel: FloatArray) -> str:
    """Return why differences between two models, by row, have no interval."""
    return NOT_ESTIMABLE if np.ptp(kernel) > 0 else CONSTANT if kernel.any() else ALIKE


@dataclass(frozen=True, kw_only=True, slots=True)
class _Test:
    """How two models are tested: the margin of equivalence, the seed of sampled signs, the largest difference."""

    margin: Margin | None
    seed: int
    limit: float

    def fields(self, rule: Projection, kernel: FloatArray) -> dict[str, Any]:
        """Return the fields of a `Comparison` from the difference of the kernels, each in [-1, 1]."""
        difference, variance = round(100 * float(rule.weights @ kernel), 10), float(rule.variance(kernel))
        interval, narrow = (
            difference_interval(difference, variance, rule.df, confidence, limit=self.limit)
            for confidence in (CONFIDENCE, OF_EQUIVALENCE)
        )
        fields = {
            "difference": difference,
            "factors": tuple(self.of_factors(rule, kernel)),
            "levels": rule.levels,
            "equivalent": verdict(narrow, 0.0, self.margin) if self.margin else None,
        }
        if interval is None:
            return {**fields, "note": _missing_interval(kernel)}
        low, high = (round(end, 9) for end in interval)  # what is beyond depends on the order of the rows
        return {
            **fields,
            "low": low,
            "high": high,
            "p": difference_p(difference, variance, rule.df),
            "test": "projection",
        }

    def at_boundary(
        self, rule: Projection, kernels: FloatArray, own: Callable[[float], Sequence[Any]], values: Sequence[float]
    ) -> dict[str, Any]:
        """Return the fields that change where a model answers all rows of a cell alike; `own` makes its intervals."""
        if np.ptp(kernels[0] - kernels[1]) == 0:
            return {}
        wide, narrow = (
            comparison_test(rule, kernels, own, values, confidence, limit=self.limit)
            for confidence in (CONFIDENCE, OF_EQUIVALENCE)
        )
        if wide is None or narrow is None:
            return {}
        equivalent = verdict((narrow[0].low, narrow[0].high), 0.0, self.margin) if self.margin else None
        low, high = round(wide[0].low, 9), round(wide[0].high, 9)
        return {"low": low, "high": high, "p": wide[1], "test": "boundary", "equivalent": equivalent, "note": ""}

    def of_factors(self, rule: Projection, kernel: FloatArray) -> Iterator[FactorTest]:
        """Yield the test of each factor by sign flips over its levels."""
        for name, contributions in rule.contributions(kernel).items():
            flips = sign_flips(contributions, self.seed)
            tested = {field: getattr(flips, field) for field in ("levels", "p", "smallest", "exact")}
            yield FactorTest(factor=name, of=len(contributions), **tested)

    def of_independent(self, kernel: FloatArray) -> dict[str, Any]:
        """Return McNemar's exact test of independent rows; where ties count as halves, flips of each row's sign."""
        only_a, only_b = int((kernel > 0).sum()), int((kernel < 0).sum())
        counts = {"only_a": only_a, "only_b": only_b}
        if np.isin(kernel, (-1.0, 0.0, 1.0)).all():
            from scipy.stats import binomtest  # 25 MB that `score` does without

            p = float(binomtest(only_a, only_a + only_b).pvalue) if only_a + only_b else 1.0
            return {**counts, "p": p, "test": "mcnemar"}
        return {**counts, "p": sign_flips(kernel, self.seed).p, "test": "sign flips"}


def compare_contrast(
    contrast: Contrast,
    a: Sequence[pd.DataFrame],
    b: Sequence[pd.DataFrame],
    designs: Sequence[Design],
    *,
    margin: Margin | None = None,
    seed: int = 0,
    scale: Scale = "log",
) -> Comparison:
    """Return a matched sense contrast of model A minus that of model B.

    `a` and `b` hold a model's rows of the contrast's two configs, `designs` the designs of these. Raises ResultError
    where the contrast is not matched, or the rows are not the same.
    """
    if not contrast.matched:
        raise ResultError(f"{contrast.name} is not matched: it has no interval, and models cannot be compared on it")
    sides = [_side(contrast, index, a[index], b[index], design, scale) for index, design in enumerate(designs)]
    of_a, of_b = ([side[model] for side in sides] for model in (0, 1))
    rule = project_difference(*of_a)
    kernels = [np.concatenate([side.rows.kernel for side in model]) for model in (of_a, of_b)]
    neutral = contrast_neutral(lookup(contrast.estimand), of_a)
    test = _Test(margin=None if neutral is None else margin, seed=seed, limit=200.0)
    missing = missing_sides((side.config, side.rows) for side in of_a)
    fields: dict[str, Any] = {"note": missing} if missing else test.fields(rule, kernels[0] - kernels[1])
    values = [_contrast_value(of_a), _contrast_value(of_b)]
    if None not in values:
        stacked, points = np.stack(kernels), np.array(values, dtype=np.float64)
        by_blocks = any(side.rows.by_blocks for side in of_a)
        own = partial(difference_intervals, rule, stacked, points, by_blocks=by_blocks)
        fields |= test.at_boundary(rule, stacked, own, points.tolist())
    tally = of_a[0].rows.tally + of_a[1].rows.tally
    return Comparison(
        config=contrast.name,
        estimand=MATCHED_CONTRAST.id,
        a=values[0],
        b=values[1],
        fixed=matched_fixed(of_a, rule),
        **fields,
        rows=tally.rows,
        scored=tally.scored,
        unscored=tally.unscored,
    )


def _side(
    contrast: Contrast, index: int, a: pd.DataFrame, b: pd.DataFrame, design: Design, scale: Scale
) -> tuple[Side, Side]:
    """Return one config of a contrast, for either model, with the rows that the contrast compares."""
    name = (contrast.a, contrast.b)[index]
    tables = [minimal_rows(table, contrast) for table in both_scored(a, b, design)]
    rows = [kernel_rows(table, design, contrast.estimand, scale) for table in tables]
    _check(*rows)
    return Side(config=name, design=design, rows=rows[0]), Side(config=name, design=design, rows=rows[1])


def _contrast_value(sides: Sequence[Side]) -> float | None:
    """Return a model's contrast, in points."""
    first, second = (side.rows.share for side in sides)
    return None if first is None or second is None else round(100 * (first - second), 10)
