"""The gate of a pull request: whether a model is farther from neutral than before, beyond chance and a margin.

The gate checks the headline figures of whole configs that have a neutral value. A figure fails if the interval of the
growth of its distance (`distance_growth`) lies wholly above the margin. The intervals are as wide as Holm's method
requires: over all figures together, a model that is nowhere farther than the margin fails by chance in at most 5 % of
samples of words, and in 2.5 % if the side of neutral is clear.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Literal

import numpy as np

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.base import NOT_ESTIMABLE, Estimand
from senseprobe.evaluate.estimands.comparison import both_scored, paired_difference
from senseprobe.evaluate.estimands.inference_rows import compact
from senseprobe.evaluate.estimands.kernel import KernelRows
from senseprobe.evaluate.figure_check import describe_unchecked
from senseprobe.evaluate.reporting.inputs import ReportInput, list_removals
from senseprobe.evaluate.reporting.significance import require_comparable
from senseprobe.evaluate.reporting.verdict_table import find_failed_control, find_leads, judge
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import counted, nearest, printable
from senseprobe.records import VERDICT_WORDS, Design, Figure, VerdictCode
from senseprobe.statistics import CONFIDENCE

NO_NEUTRAL = "its neutral value is not known"
_OF_GROUPS = "only figures of whole configs can be gated; `compare` has the differences of groups"
_OF_TESTS = (
    "association tests cannot be gated: an effect is not in points, and its growth does not have an interval; "
    "`compare` lists the tests in which two models differ"
)
TITLE = "senseprobe gate"


@dataclass(frozen=True, slots=True)
class Growth:
    """By how many points the distance from the neutral value grew, with its interval; negative where it shrank."""

    value: float
    low: float
    high: float


def distance_growth(
    estimand: Estimand, new: KernelRows, old: KernelRows, design: Design, neutral: float, confidence: float
) -> Growth | None:
    """Return the growth of the distance from `neutral` (in points), over the same rows of two models.

    None if an interval cannot be estimated. Raises ResultError if the rows are not the same, and for an estimand whose
    range is not symmetric, so that models do not have a mirror image.

    With a and b the true distances of the two models, with their signs, the growth |a| - |b| exceeds g exactly
    where, for a sign s of + or -, both s · (a - b) and s · (a + b) exceed it: for s the side of a, they are |a|
    less b and |a| plus b. Each is a figure of the interval rule: the first is the paired difference, the second the
    difference to the mirror image of the other model, which prefers the one sentence wherever that prefers the
    other. So

        low = max over s of min(low end of s · (a - b), low end of s · (a + b))

    is above the true growth only where one of two intervals misses: an intersection-union test for each s (Berger
    1982), in at most 2.5 % of samples for either side, thus 5 %, and where the side of a is clear 2.5 %. Where both
    models lie clearly on one side of neutral it is the end of the paired difference; where they may lie on two, it
    is lower, never higher. The high end is the low end of the growth from the first model to the other, with its
    sign turned.
    """
    lowest, highest = estimand.range
    if lowest != -highest:
        raise ResultError(f"{estimand.id} has no mirror image: its range is {lowest:g} to {highest:g}")
    if np.array_equal(new.kernel, old.kernel):
        return Growth(0.0, 0.0, 0.0)
    mirrored = replace(old, kernel=1 - old.kernel)
    difference, apart = paired_difference(estimand, new, old, design, confidence)
    total, together = paired_difference(estimand, new, mirrored, design, confidence)
    if apart is None or together is None:
        return None
    together = (together[0] - 2 * neutral, together[1] - 2 * neutral)
    a, b = (difference + total) / 2 - neutral, (total - difference) / 2 - neutral
    low, reverse = (
        max(min(ends[0], together[0]), min(-ends[1], -together[1])) for ends in (apart, (-apart[1], -apart[0]))
    )
    most = highest + abs(neutral)  # the largest distance, so the most that one can grow
    low, high = max(low, -most), min(-reverse, most)
    return Growth(*(round(number, 9) + 0.0 for number in (abs(a) - abs(b), low, high)))


@dataclass(frozen=True, kw_only=True, slots=True)
class GatedFigure:
    """A figure whose distance from its neutral value was compared with the baseline's.

    - `a`, `b`: the figures of the new model and of the baseline, in points; `growth` of the distance from `neutral`,
      with the interval at `confidence`, the widest that Holm's method required.
    - `rows`, `scored`: the rows of the config that it may use, and those that both models scored.
    - `fixed`: the slots over which the interval does not generalise, since their words are few or all there are.
    - `verdict`: the code of the verdict on the new model's figure; empty without a verdict.
    """

    config: str
    estimand: str
    a: float
    b: float
    neutral: float
    growth: Growth
    confidence: float
    failed: bool
    rows: int
    scored: int
    fixed: tuple[str, ...] = ()
    verdict: VerdictCode | Literal[""] = ""

    def describe(self, margin: float) -> str:
        """Return how far the distance grew, compared with the margin."""
        growth, points = self.growth, f"{self.b:+.1f} before, {self.a:+.1f} now"
        text = f"the distance from {self.neutral:g} changed by {growth.value:+.1f} points"
        text = f"{text} [{growth.low:+.1f}, {growth.high:+.1f}]"
        partial = f", over {self.scored:,} of {self.rows:,} rows" if self.scored < self.rows else ""
        if growth.low == growth.high:
            return f"{points}: the two models answer every row alike{partial}"
        if self.failed:
            end = f"farther than the baseline by more than {margin:g}"
        elif growth.high <= margin:
            end = f"a growth of more than {margin:g} is excluded"
        else:
            end = f"a growth of up to {growth.high:.1f} is possible"
        fixed = f" (not over {printable(', '.join(self.fixed))})" if self.fixed else ""
        return f"{points}: {text}{partial}; {end}{fixed}"


@dataclass(frozen=True, kw_only=True, slots=True)
class GateResult:
    """The result of the gate: `passed`, the `figures` with their growth, and figures left out with the reason.

    `unchecked`: by result, clauses on figures that were not compared with its table of scores.
    """

    passed: bool
    heading: str
    margin: float
    figures: tuple[GatedFigure, ...]
    left_out: Mapping[str, str]
    unchecked: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each result with unchecked figures."""
        return tuple(describe_unchecked(clauses, printable(name)) for name, clauses in self.unchecked.items())

    @property
    def lines(self) -> tuple[str, ...]:
        """What a terminal shows."""
        figures = (
            f"{'failed' if figure.failed else 'passed'}: {_name_figure(figure)}"
            f"{f' ({VERDICT_WORDS[figure.verdict]})' if figure.verdict else ''}: {figure.describe(self.margin)}"
            for figure in self.figures
        )
        rest = (f"not gated: {printable(name)}: {printable(reason)}" for name, reason in self.left_out.items())
        warnings = (f"warning: {line}" for line in self.warnings)
        # GitHub runs a command after ##[ anywhere in a line, and names come from others.
        return tuple(line.replace("##[", "## [") for line in (self.heading, *figures, *rest, *warnings))

    @property
    def annotations(self) -> tuple[str, ...]:
        """Failures and warnings as workflow commands; GitHub shows them on the pull request."""
        warnings = (f"::warning title={_escape_property(TITLE)}::{_escape_data(line)}" for line in self.warnings)
        failures = (
            f"::error title={_escape_property(f'{TITLE}: {_name_figure(figure)}')}::"
            f"{_escape_data(figure.describe(self.margin))}"
            for figure in self.figures
            if figure.failed
        )
        return (*failures, *warnings)


def _name_figure(figure: Figure | GatedFigure) -> str:
    return f"{printable(figure.config)} {printable(figure.estimand)}"


def _escape_data(text: str) -> str:
    """Return the message of a workflow command (GitHub's toolkit, packages/core/src/command.ts)."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    """Return a property of a workflow command; a colon and a comma would end it."""
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A figure of both models over the same rows."""

    figure: Figure
    new: KernelRows
    old: KernelRows
    design: Design

    def growth(self, confidence: float) -> Growth | None:
        """Return the growth of its distance from the neutral value; None without an interval."""
        neutral = self.figure.neutral or 0.0
        return distance_growth(lookup(self.figure.estimand), self.new, self.old, self.design, neutral, confidence)

    def tested(self, confidence: float, margin: float) -> GatedFigure:
        """Return whether the whole interval of the growth at a confidence is above the margin."""
        growth, estimand = self.growth(confidence) or Growth(0.0, 0.0, 0.0), lookup(self.figure.estimand)
        a, b = (estimand.points(rows.share or 0.0) or 0.0 for rows in (self.new, self.old))
        return GatedFigure(
            config=self.figure.config,
            estimand=self.figure.estimand,
            a=a,
            b=b,
            neutral=self.figure.neutral or 0.0,
            growth=growth,
            confidence=confidence,
            failed=growth.low > margin,
            rows=self.new.tally.rows,
            scored=self.new.tally.scored,
            fixed=self.figure.fixed,
            verdict=self.figure.verdict.code if self.figure.verdict else "",
        )


def check_gate(new: ReportInput, old: ReportInput, margin: float = 5.0, names: Sequence[str] = ()) -> GateResult:
    """Return whether a result passes against a baseline; `names` choose configs or estimands, by default headlines.

    `margin` is in points, 0 or more. Raises ResultError if the two cannot be compared, if a model fails its control,
    and if not one figure (or one of the named figures) has a neutral value and an interval.
    """
    if not (isfinite(margin) and margin >= 0):
        raise ResultError(f"a margin of {margin:g} points: expected 0 or more")
    if any(KINDS[source.kind].tests for source in (new, old)):
        raise ResultError(_OF_TESTS)
    require_comparable([new, old])
    new, old = judge(new), judge(old)
    for source in (new, old):
        if find_failed_control(source) is not None:
            raise ResultError(
                f"{source.label} fails its control, so its figures cannot be gated: {VERDICT_WORDS['unreadable']}"
            )
    candidates: list[_Candidate] = []
    left_out: dict[str, str] = {}
    for figure in _choose_figures(new, old, names):
        candidate = _pair_rows(new, old, figure)
        if isinstance(candidate, str):
            left_out[_name_figure(figure)] = candidate
        else:
            candidates.append(candidate)
    if left_out and (names or not candidates):
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        groups = _group_estimands(new)
        compared = f"; {' and '.join(groups)} of single groups: {_OF_GROUPS}" if groups and not candidates else ""
        raise ResultError(f"cannot gate {reasons}{compared}")
    if not candidates:
        raise ResultError("nothing to gate: the two results do not share a figure of a whole config")
    if not names:
        scored = {figure.config for source in (new, old) for figure in source.result.figures}
        missing = (config for config in (new.release.configs if new.release else ()) if config in scored)
        missing = (config for config in missing if not (config in new.tables and config in old.tables))
        left_out |= dict.fromkeys(missing, "the rows of one result are missing")
    gated = _test_candidates(candidates, margin)
    release = printable(str(new.result.release["name"]))
    heading = (
        f"{TITLE}: {printable(new.label)} against {printable(old.label)} on {release}: "
        f"{counted(len(gated), 'figure')}, margin {margin:g} points, 95 % over all of them (Holm)"
    )
    heading = "; ".join((heading, *list_removals((new, old))))
    passed = not any(figure.failed for figure in gated)
    unchecked = {f"{side} ({source.label})": source.unchecked for side, source in (("new", new), ("baseline", old))}
    return GateResult(
        passed=passed,
        heading=heading,
        margin=margin,
        figures=tuple(gated),
        left_out=left_out,
        unchecked={name: clauses for name, clauses in unchecked.items() if clauses},
    )


def find_farther(a: ReportInput, b: ReportInput) -> dict[tuple[str, str], Growth]:
    """Return by how much the first of two judged results is farther from neutral, by config and estimand.

    It has the headline figures in which one of the two is farther beyond chance, over all of them. The growth is
    negative if the second one is farther.
    """
    farther: dict[tuple[str, str], Growth] = {}
    for sign, new, old in ((1, a, b), (-1, b, a)):
        pairs = [_pair_rows(new, old, figure) for figure in _choose_figures(new, old, ())]
        for figure in _test_candidates([pair for pair in pairs if not isinstance(pair, str)], 0.0):
            if figure.failed:
                ends = sorted((sign * figure.growth.low, sign * figure.growth.high))
                farther[figure.config, figure.estimand] = Growth(sign * figure.growth.value, *ends)
    return farther


def _choose_figures(new: ReportInput, old: ReportInput, names: Sequence[str]) -> list[Figure]:
    """Return the figures of whole configs to gate; raise ResultError for an unknown name.

    The name of a config means the figures of its verdict, the name of an estimand its figures in all configs.
    """
    configs: dict[str, list[Figure]] = {}
    for figure in new.result.figures:
        if figure.group is None and figure.config in new.tables and figure.config in old.tables:
            configs.setdefault(figure.config, []).append(figure)
    leads = {config: find_leads(figures) for config, figures in configs.items()}
    # Without a neutral value the first figure stays, so that the result has the reason why it is not gated.
    leads = {
        config: [figure for figure in figures if figure.neutral is not None] or figures[:1]
        for config, figures in leads.items()
    }
    if not names:
        return [figure for figures in leads.values() for figure in figures]
    whole = [figure for figures in configs.values() for figure in figures]
    by_name = {figure.estimand: [other for other in whole if other.estimand == figure.estimand] for figure in whole}
    by_name |= leads
    if unknown := [name for name in names if name not in by_name]:
        if unknown[0] in _group_estimands(new):
            raise ResultError(f"cannot gate {unknown[0]} of single groups: {_OF_GROUPS}")
        raise ResultError(f"no figure or config {unknown[0]!r} in both results: {nearest(unknown[0], by_name)}")
    return [*{figure.key: figure for name in names for figure in by_name[name]}.values()]


def _group_estimands(source: ReportInput) -> list[str]:
    """Return the names of the estimands whose figures of single groups have a neutral value."""
    figures = source.result.figures
    return [*dict.fromkeys(f.estimand for f in figures if f.group is not None and f.neutral is not None)]


def _pair_rows(new: ReportInput, old: ReportInput, figure: Figure) -> _Candidate | str:
    """Return a figure of both models over the rows that both scored, or why the two cannot be compared."""
    estimand, release = lookup(figure.estimand), new.release
    before = next((f for f in old.result.figures if f.key == figure.key), None)
    if estimand.unit != "points":
        return f"it is in {estimand.unit}, but the margin is in points"
    if figure.neutral is None or before is None or before.neutral is None or release is None:
        return NO_NEUTRAL
    flaws = (
        f"{VERDICT_WORDS['unreadable']}: {compared.verdict.flaw}"
        for compared in (figure, before)
        if compared.verdict and compared.verdict.flaw
    )
    if reason := next(flaws, ""):
        return reason
    if None in (figure.low, figure.high, before.low, before.high) or not estimand.has_interval:
        return NOT_ESTIMABLE
    design, scale = new.scored_design(figure.config, release), new.result.scale
    tables = both_scored(new.tables[figure.config], old.tables[figure.config], design)
    rows = [estimand.kernel_rows(compact(table, design), design, scale) for table in tables]
    if any(estimand.neutral_value(part, design) is None for part in rows):
        return f"{NO_NEUTRAL} for the rows that both scored"
    candidate = _Candidate(figure, rows[0], rows[1], design)
    return NOT_ESTIMABLE if candidate.growth(CONFIDENCE) is None else candidate


def _test_candidates(candidates: Sequence[_Candidate], margin: float) -> list[GatedFigure]:
    """Return the candidates in their order, tested by Holm's method.

    Its steps, by intervals: of m figures, those above the margin at 1 - 5 % / m fail; then, of the m' others, those
    above it at 1 - 5 % / m'; and so on until none fails.
    """
    tested: dict[int, GatedFigure] = {}
    while left := [index for index in range(len(candidates)) if index not in tested or not tested[index].failed]:
        confidence = 1 - (1 - CONFIDENCE) / len(left)
        tested |= {index: candidates[index].tested(confidence, margin) for index in left}
        if not any(tested[index].failed for index in left):
            break
    return [tested[index] for index in range(len(candidates))]
