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

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import CATALOGUE, declared, in_order, lookup
from senseprobe.evaluate.estimands.base import Estimand, why_no_interval
from senseprobe.evaluate.estimands.equivalence import CONFIDENCE as OF_EQUIVALENCE
from senseprobe.evaluate.estimands.equivalence import Margin, verdict
from senseprobe.evaluate.estimands.inference_rows import compact
from senseprobe.evaluate.estimands.kernel import KernelRows, Tally, factor_columns, fixed_slots
from senseprobe.evaluate.estimands.multiple_testing import COMPARISONS, corrected
from senseprobe.evaluate.estimands.relative import IncomparableError
from senseprobe.evaluate.estimands.sense_contrast import (
    Side,
    contrast_neutral,
    contrast_sides,
    difference_of,
    matched_fixed,
    missing_sides,
    project_difference,
    side_difference,
)
from senseprobe.evaluate.units import KINDS
from senseprobe.records import Contrast, Design
from senseprobe.statistics import (
    CONFIDENCE,
    Ends,
    FloatArray,
    Interval,
    Projection,
    Scale,
    comparison_test,
    difference_interval,
    difference_intervals,
    difference_p,
    share_intervals,
    sign_flips,
)

ALIKE = "the two models answer every row alike"
CONSTANT = "the two models differ by the same amount in every row, so no interval can be estimated"


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

    - `a`, `b`: the two figures, in points; `difference` in points, from -100 to 100, with a 95 % interval; of figures
      that are no preferences in their own measure.
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
    if not _has_rows(design):
        kinds = [name for name, kind in KINDS.items() if not kind.tests]
        raise ResultError(f"two models cannot be compared on {design.kind} rows, only on {' and '.join(kinds)}")
    a, b = a.reset_index(drop=True), b.reset_index(drop=True)
    if not a["id"].equals(b["id"]):
        if not a["id"].is_unique or len(a) != len(b) or set(a["id"]) != set(b["id"]):
            raise ResultError("the two results have different rows: score both models on one release")
        b = b.set_index("id").loc[a["id"]].reset_index()
    # Which not all figures need: a third sentence's score, and a chat model's content.
    columns = ("unrelated_score", *(estimand.column for estimand in CATALOGUE.values() if estimand.column))
    others = [[name] for name in columns if name in a or name in b]
    for names in (list(KINDS[design.kind].numbers), *others):
        scores = [table.reindex(columns=names) for table in (a, b)]
        scored = np.isfinite(pd.concat(scores, axis=1).to_numpy(dtype=np.float64)).all(axis=1)
        a, b = (
            table.assign(**{name: numbers[name].where(scored) for name in names})
            for table, numbers in zip((a, b), scores, strict=True)
        )
    return a, b


def _has_rows(design: Design) -> bool:
    """Return whether models are compared row by row; on association tests it is word by word."""
    return design.kind in KINDS and not KINDS[design.kind].tests


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
        if config in a and config in b and _has_rows(design):
            results += compare(a[config], b[config], design, config, margin=margin, seed=seed, scale=scale)
    for contrast in contrasts:
        names = (contrast.a, contrast.b)
        if contrast.matched and all(name in a and name in b for name in names):
            of_a, of_b = ([rows[name] for name in names] for rows in (a, b))
            both = [designs[name] for name in names]
            results += compare_contrast(contrast, of_a, of_b, both, margin=margin, seed=seed, scale=scale)
    row_sets: list[Hashable] = []  # of which those of two configs can be the same
    for result in results:
        table = a.get(result.config)
        rows = None if table is None else lookup(result.estimand).row_set(table)
        row_sets.append(rows or (result.config, result.estimand, result.group))
    return corrected(results, COMPARISONS, row_sets)


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
    a, b = (compact(table, design) for table in both_scored(a, b, design))
    estimands = [lookup(name) for name in in_order(a, design, scale)]
    comparisons = []
    # A plug-in computes figures, and says nothing of the rows that a test of two models is over.
    ours = (estimand for estimand in estimands if estimand.figures is None)
    for estimand in [estimand for estimand in ours if estimand.has_interval and estimand.applies_to(a)]:
        of_a, of_b = (estimand.compared_rows(table, design, scale) for table in (a, b))
        comparisons += [
            compare_kernels(estimand, rows, of_b[group], design, config, group, margin=margin, seed=seed)
            for group, rows in of_a.items()
        ]
    return comparisons


def compare_kernels(
    estimand: Estimand,
    a: KernelRows,
    b: KernelRows,
    design: Design,
    config: str,
    group: str | None = None,
    *,
    margin: Margin | None = None,
    seed: int = 0,
) -> Comparison:
    """Compare two models on an estimand of the interval rule; raise ResultError where the rows are not the same."""
    margin = None if estimand.neutral_value(a, design) is None or estimand.unit != "points" else margin
    return _pair(estimand, a, b, design, group).compare(config, estimand.id, group, margin=margin, seed=seed)


def paired_difference(
    estimand: Estimand, a: KernelRows, b: KernelRows, design: Design, confidence: float
) -> tuple[float, Ends | None]:
    """Return an estimand of model A minus that of B over a whole config, in points, with its interval if it has one.

    Raises ResultError where the rows are not the same, and where there are none.
    """
    pair = _pair(estimand, a, b, design, None)
    if pair.missing:
        raise ResultError(pair.missing)
    return pair.difference, pair.interval(confidence)


def _pair(estimand: Estimand, a: KernelRows, b: KernelRows, design: Design, group: str | None) -> "_Pair":
    """Return the two models' figure with its rule; raise ResultError where the rows are not the same."""
    missing = next((rows.tally.missing for rows in (a, b) if not len(rows.kernel)), "")
    if missing:  # also where the other model has rows, as of a ratio to which this one adds nothing
        a = b = next((rows for rows in (a, b) if not len(rows.kernel)), a)
    _require_same_rows(a, b)
    design = estimand.rule_design(design)
    rule, about = a.project(design), [str(design.group)] if group is not None else []
    listed = [factor.name for factor in design.factors]
    kernels, shares = np.stack([a.kernel, b.kernel]), np.array([a.share, b.share], dtype=np.float64)
    width = estimand.range[1] - estimand.range[0]
    is_share = width == estimand.per_share  # a gap is the difference of two shares, and none itself
    return _Pair(
        rule=rule,
        kernels=kernels,
        values=[estimand.points(rows.share) for rows in (a, b)],
        missing=missing,
        limit=100 * width / estimand.per_share,
        scale=estimand.per_share / 100,
        points=(100 * shares - 50).tolist(),
        intervals=partial(share_intervals, rule, kernels, shares, by_blocks=a.by_blocks) if is_share else None,
        independent=a.is_independent(design) and np.ptp(a.weights) == 0,
        fixed=(*rule.fixed, *fixed_slots(design, [*listed, *factor_columns(design), *about])),
        tally=a.tally,
    )


def _require_same_rows(a: KernelRows, b: KernelRows) -> None:
    """Raise ResultError where two models' rows are not the same, or not weighted alike."""
    same = len(a.kernel) == len(b.kernel) and np.array_equal(a.weights, b.weights) and a.variables == b.variables
    if same and "id" in a.table and "id" in b.table:
        same = a.table["id"].tolist() == b.table["id"].tolist()
    if not same:
        raise ResultError("two models are compared on the rows that both scored: see `both_scored`")


def compare_contrast(
    contrast: Contrast,
    a: Sequence[pd.DataFrame],
    b: Sequence[pd.DataFrame],
    designs: Sequence[Design],
    *,
    margin: Margin | None = None,
    seed: int = 0,
    scale: Scale = "log",
) -> list[Comparison]:
    """Return a matched sense contrast of model A minus that of model B, or of each group that it is of.

    `a` and `b` hold a model's rows of the contrast's two configs, `designs` the designs of these. Raises ResultError
    where the contrast is not matched, or the rows are not the same.
    """
    if not contrast.matched:
        raise ResultError(f"{contrast.name} is not matched: it has no interval, so models cannot be compared on it")
    scored = zip(*(both_scored(*three) for three in zip(a, b, designs, strict=True)), strict=True)
    estimand, difference = declared(contrast.estimand, designs[0]), difference_of(contrast)
    scale_of_points = estimand.per_share / 100
    try:
        of_a, of_b = (
            contrast_sides(contrast, estimand, list(zip(tables, designs, strict=True)), scale) for tables in scored
        )
    except IncomparableError:  # which the figure says
        return []
    results = []
    for group, sides in of_a.items():
        pair = _sense_pair(sides, of_b[group], scale_of_points)
        applicable_margin = None if contrast_neutral(estimand, sides) is None else margin
        results.append(pair.compare(contrast.name, difference.id, group, margin=applicable_margin, seed=seed))
    return results


def _sense_pair(of_a: Sequence[Side], of_b: Sequence[Side], scale: float) -> "_Pair":
    """Return the two models' difference of two senses; raise ResultError where the rows are not the same."""
    for side, other in zip(of_a, of_b, strict=True):
        _require_same_rows(side.rows, other.rows)
    rule, differences = project_difference(*of_a), [side_difference(of_a), side_difference(of_b)]
    kernels = np.stack([np.concatenate([side.rows.kernel for side in sides]) for sides in (of_a, of_b)])
    points, by_blocks = np.array(differences, dtype=np.float64), any(side.rows.by_blocks for side in of_a)
    return _Pair(
        rule=rule,
        kernels=kernels,
        values=[None if number is None else round(scale * number, 10) for number in differences],
        missing=missing_sides(of_a),
        limit=200.0,
        scale=scale,
        points=points.tolist(),
        intervals=partial(difference_intervals, rule, kernels, points, by_blocks=by_blocks),
        fixed=matched_fixed(of_a, rule),
        tally=of_a[0].rows.tally + of_a[1].rows.tally,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pair:
    """A figure of two models: the same rows and rule, two kernels, of shape (2, N).

    - `values`: in points, as they are printed; None where no row was used, and `missing` says why.
    - `scale`: the points of the figure for each of a share, times 100, in which all that follows is.
    - `limit`: the largest difference.
    - `intervals`: those of both figures by themselves, at a confidence, around `points`; None: the boundary rule has
      none for them.
    - `independent`: whether the rows are.
    """

    rule: Projection
    kernels: FloatArray
    values: Sequence[float | None]
    missing: str
    scale: float = 1.0
    limit: float
    points: Sequence[float]
    intervals: Callable[[float], Sequence[Interval | None]] | None
    independent: bool = False
    fixed: tuple[str, ...]
    tally: Tally

    @property
    def kernel(self) -> FloatArray:
        """The kernel of the difference, shape (N,)."""
        return np.asarray(self.kernels[0] - self.kernels[1])

    @property
    def difference(self) -> float:
        """The difference in points."""
        return round(self.scale * self._difference, 10)

    @property
    def _difference(self) -> float:
        return round(100 * float(self.rule.weights @ self.kernel), 10)

    def interval(self, confidence: float) -> Ends | None:
        """Return the interval of the difference in points at a confidence, by the boundary rule where it applies."""
        if boundary := self._boundary_test(confidence):
            return self.scale * boundary[0].low, self.scale * boundary[0].high
        variance = float(self.rule.variance(self.kernel))
        ends = difference_interval(self._difference, variance, self.rule.df, confidence, limit=self.limit)
        return ends and (self.scale * ends[0], self.scale * ends[1])

    def compare(
        self, config: str, estimand: str, group: str | None = None, *, margin: Margin | None, seed: int
    ) -> Comparison:
        """Return the comparison, with p-values before correction; a `margin` is that of the figure's equivalence."""
        return Comparison(
            config=config,
            estimand=estimand,
            group=group,
            a=self.values[0],
            b=self.values[1],
            fixed=self.fixed,
            rows=self.tally.rows,
            scored=self.tally.scored,
            unscored=self.tally.unscored,
            **({"note": self.missing} if self.missing else self._tests(margin, seed)),
        )

    def _tests(self, margin: Margin | None, seed: int) -> dict[str, Any]:
        """Return the fields of a `Comparison` that tests fill."""
        kernel, difference, boundary = self.kernel, self.difference, self._boundary_test(CONFIDENCE)
        ends, narrow = self.interval(CONFIDENCE), self.interval(OF_EQUIVALENCE)
        p, test = difference_p(self._difference, float(self.rule.variance(kernel)), self.rule.df), "projection"
        if boundary:
            p, test = boundary[1], "boundary"
        factors = []
        for name, contributions in self.rule.contributions(kernel).items():
            flips = sign_flips(contributions, seed)
            results = {field: getattr(flips, field) for field in ("levels", "p", "smallest", "exact")}
            factors.append(FactorTest(factor=name, of=len(contributions), **results))
        fields = {
            "difference": difference,
            "factors": tuple(factors),
            "levels": self.rule.levels,
            "equivalent": verdict(narrow, 0.0, margin) if margin else None,
        }
        if ends is None:
            differs = np.ptp(kernel) > 0 or self.rule.too_few
            fields |= {"note": why_no_interval(self.rule) if differs else CONSTANT if kernel.any() else ALIKE}
        else:  # what is beyond the ninth decimal depends on the order of the rows
            fields |= {"low": round(ends[0], 9), "high": round(ends[1], 9), "p": p, "test": test}
        return fields | (_independent_test(kernel, seed) if self.independent and not self.rule.too_few else {})

    def _boundary_test(self, confidence: float) -> tuple[Interval, float] | None:
        """Return interval and p where a model answers all rows of a cell alike, or the models differ by a constant.

        None elsewhere, and where they answer every row alike.
        """
        if self.intervals is None or not self.kernel.any():
            return None
        return comparison_test(self.rule, self.kernels, self.intervals, self.points, confidence, limit=self.limit)


def _independent_test(kernel: FloatArray, seed: int) -> dict[str, Any]:
    """Return McNemar's exact test of independent rows; where ties count as halves, flips of each row's sign."""
    only_a, only_b = int((kernel > 0).sum()), int((kernel < 0).sum())
    counts = {"only_a": only_a, "only_b": only_b}
    if np.isin(kernel, (-1.0, 0.0, 1.0)).all():
        from scipy.stats import binomtest  # 25 MB that `score` does without

        p = float(binomtest(only_a, only_a + only_b).pvalue) if only_a + only_b else 1.0
        return {**counts, "p": p, "test": "mcnemar"}
    return {**counts, "p": sign_flips(kernel, seed).p, "test": "sign flips"}
