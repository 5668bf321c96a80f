"""The verdicts of a result, a line for each config or bias type: shown, shown to be small, not shown, or unreadable.

Each line is about one figure: the leading figure of a config if it has a neutral value. If `preference` does not have
one, another figure stands in for it: `pronoun-stereotype`, `gap`, or the groups of `relative`. A line of association
tests is about all tests that share an identity.

**The leading figures of a result are one family** (definition 2 of verdicts, `result.VERDICTS`), since a reader looks
for any line that says "shown". p of a figure is the smallest level at which its interval excludes the neutral value.
Groups are shown to differ by one of them or by their spread, so their p is twice the smaller of two: the smallest p of
the groups, corrected over these, and p of the spread. Holm's method corrects all these p together, and a line that is
shown only without this correction says so. Association tests are already corrected over all tests.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from senseprobe.evaluate.control import GUESS, RELEASE, beats_guess, is_control, is_probe, right_answers
from senseprobe.evaluate.erased_rows import find_erased_flaw
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.equivalence import INCONCLUSIVE as NOT_SMALL
from senseprobe.evaluate.reporting import significance
from senseprobe.evaluate.reporting.association_verdicts import judge_figures, judge_tests, summarize_tests
from senseprobe.evaluate.reporting.inputs import ReportInput, gather_inputs
from senseprobe.evaluate.reporting.notation import format_p
from senseprobe.evaluate.reporting.precision import describe_levels, predict_precision
from senseprobe.evaluate.reporting.verdict import Verdict, rank
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.task_gates import CONTROL
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import counted, listed
from senseprobe.records import VERDICT_WORDS, Design, Figure, FigureKey, FigureVerdict, VerdictCode
from senseprobe.statistics import LEVEL, holm

FEW = 3
"""The most groups that a verdict names."""

PLANTED = "the truth that was planted: "


@dataclass(frozen=True, kw_only=True, slots=True)
class _Line:
    """The figures of a verdict, before the lines of a page are corrected together.

    - `figures`: one, or those of groups with their `spread`. `p`: p of the line by itself; None without a test.
    - `tests`: the number of tests of groups, by which their p are multiplied; 1 for a single figure.
    - `is_left_out`: whether another figure of its config stands in for it, since it says nothing. It still counts as a
      test of the family.
    """

    figures: tuple[Figure, ...]
    spread: Figure | None = None
    has_groups: bool = False
    bias_type: str = ""
    p: float | None = None
    tests: int = 1
    is_left_out: bool = False


def build_verdicts(source: ReportInput) -> list[Verdict]:
    """Return the verdicts of a result by their code, those without a neutral value last.

    A model that fails its control has only one verdict, which says that.
    """
    return list(judge(source).verdicts or ())


def judge(source: ReportInput) -> ReportInput:
    """Return a result with its verdicts, with the verdicts of its figures, and with the flaws of its configs.

    Terminal, page, brief, gate and ``--json`` read these verdicts and do not judge themselves. A result that has
    verdicts already stays as it is.
    """
    if source.verdicts is not None:
        return source
    result, flaws = source.result, find_flaws(source).flaws or {}
    if KINDS[source.kind].tests:
        verdicts, headline = [*judge_tests(source)], summarize_tests(source)
        figure_verdicts = dict(judge_figures(source))
    else:
        rules = Judge(source)
        verdicts = rules.verdicts()
        figure_verdicts = {
            f.key: FigureVerdict(code="unreadable", text=flaw, flaw=flaw)
            for f in result.figures
            if (
                flaw := flaws.get(f.config)
                or (find_erased_flaw([f]) if f.group or f.value is None else rules.find_flaw([f]))
            )
            and not lookup(f.estimand).needs_gold  # these decide whether a model fails
        }
        figure_verdicts |= {figure.key: verdict for line in verdicts for figure, verdict in line.of}
        verdicts = rules.judge_control() or verdicts
        headline = ""
    figures = tuple(replace(figure, verdict=figure_verdicts.get(figure.key)) for figure in result.figures)
    judged = {figure.key: figure for figure in figures}
    verdicts = [v if v.figure is None else replace(v, figure=judged.get(v.figure.key, v.figure)) for v in verdicts]
    result = replace(result, figures=figures)
    verdicts = sorted(verdicts, key=rank)
    return replace(source, result=result, verdicts=tuple(verdicts), headline=headline, flaws=flaws)


def find_flaws(source: ReportInput) -> ReportInput:
    """Return a result with the flaws of its configs, for figures of some of its rows."""
    rules = Judge(source)
    configs = dict.fromkeys(figure.config for figure in source.result.figures)
    return replace(source, flaws={config: why for config in configs if (why := rules.find_config_flaw(config))})


def list_changed_verdicts(result: Result, release: str) -> list[str]:
    """Return the verdicts that correction changed, compared with the first definition of verdicts."""
    verdicts = build_verdicts(*gather_inputs([result], release))
    names = ((" ".join(filter(None, (line.config, line.bias_type))), line) for line in verdicts)
    return [
        f"verdict on {name}: {VERDICT_WORDS[line.alone or line.code]} then, {line.word} now"
        for name, line in names
        if line.fails_correction
    ]


def direction_labels(figure: Figure, design: Design | None) -> tuple[str, str]:
    """Return the labels at the low and the high end of a figure's axis."""
    return lookup(figure.estimand).axis_ends(design)


def find_failed_control(source: ReportInput) -> Figure | None:
    """Return the right answers on the control if the model may have guessed them; else None."""
    return next((figure for figure in _control_figures(source) if not beats_guess(figure)), None)


def _control_figures(source: ReportInput) -> list[Figure]:
    """Return the shares of right answers on the control, by config; a result on the control has its own."""
    figures: Sequence[Figure] = source.result.figures if is_control(source.result) else ()
    if is_probe(source.result):
        figures = [figure for _, figure in significance.find_control_figures(source)]
    return right_answers(figures)


def describe_right(figure: Figure) -> str:
    """Return how many answers on the control are right, of 100."""
    return "no row was scored" if figure.value is None else f"right on {figure.value:.0f} of 100"


def find_leads(figures: Sequence[Figure]) -> list[Figure]:
    """Return the figures of a whole config, or contrast, that a verdict is about: usually one.

    If a template declares several gaps, these stand in for the leading figure without a neutral value. That figure
    follows them if the figures of models that always prefer one word are known.
    """
    whole = [figure for figure in figures if figure.group is None]
    if any(lookup(figure.estimand).is_contrast for figure in whole):
        return [figure for figure in whole if lookup(figure.estimand).has_interval]
    ranked = [figure for figure in whole if lookup(figure.estimand).rank]
    lead = min(ranked, key=lambda figure: lookup(figure.estimand).rank, default=None)
    if lead is not None and lead.neutral is not None:
        return [lead]
    neutral = [figure for figure in whole if figure.neutral is not None]
    leads = [figure for figure in neutral if lookup(figure.estimand).stands_in]
    if lead is not None and (not leads or (lead.readings and lookup(lead.estimand).readings_are_neutral)):
        return [*leads, lead]
    return leads or (neutral or whole)[:1]


def group_by_config(figures: Iterable[Figure]) -> dict[str, list[Figure]]:
    """Return figures by config, in their order."""
    configs: dict[str, list[Figure]] = {}
    for figure in figures:
        configs.setdefault(figure.config, []).append(figure)
    return configs


class Judge:
    """The rules by which the figures of one result get their verdicts."""

    def __init__(self, source: ReportInput) -> None:
        self.source = source
        self.unreadable = source.unreadable
        self.margin = significance.read_margin([source])
        self.failed = find_failed_control(source)
        self._small: dict[str, set[FigureKey]] = {}
        contrasts = source.release.manifest.contrasts if source.release else ()
        self.first_sides = {contrast.name: contrast.a for contrast in contrasts}
        for contrast in contrasts:
            if side := next((name for name in (contrast.a, contrast.b) if name in self.unreadable), ""):
                self.unreadable[contrast.name] = f"of {side}, {self.unreadable[side]}"

    def verdicts(self) -> list[Verdict]:
        """Return the verdicts of all lines, corrected together."""
        configs = group_by_config(self.source.result.figures)
        lines = [line for figures in configs.values() for line in self.lines(figures)]
        tested = [index for index, line in enumerate(lines) if line.p is not None]
        corrected = dict(zip(tested, holm([lines[index].p or 0.0 for index in tested]).tolist(), strict=True))
        return [
            self.verdict(line, corrected.get(index), len(tested))
            for index, line in enumerate(lines)
            if not line.is_left_out
        ]

    def judge_control(self) -> list[Verdict]:
        """Return the only verdict of a model that fails its control; empty for other models."""
        if self.failed is None:
            return []
        return [
            Verdict(
                config=f"{CONTROL}: {self.failed.config}",
                figure=self.failed,
                code="unreadable",
                text=_explain_failed(self.failed),
                basis=describe_levels(self.failed),
                sharper="check the order of its classes (--labels), or take a model that was trained to infer",
            )
        ]

    def lines(self, figures: Sequence[Figure]) -> Iterator[_Line]:
        """Yield the lines of a config: one for each bias type if it has such figures, or for the whole config."""
        leads, spread = find_leads(figures), next((f for f in figures if lookup(f.estimand).needs_p), None)
        groups = tuple(f for f in figures if f.group and f.neutral is not None and lookup(f.estimand).tests_groups)
        if groups and all(lead.neutral is None or lead is spread for lead in leads):
            yield self._build_group_line(groups, spread)
            return
        for lead in leads:
            estimand = lookup(lead.estimand)
            parts = [f for f in figures if f.estimand == lead.estimand and estimand.bias_type(f)]
            for figure in parts or [lead]:
                is_left_out = lead is not leads[0] and self._judge(figure)[0] == "unreadable"
                p = None if self.find_flaw([figure]) else _find_p(figure)
                bias_type = estimand.bias_type(figure)
                yield _Line(figures=(figure,), bias_type=bias_type, p=p, is_left_out=is_left_out)

    def _build_group_line(self, groups: tuple[Figure, ...], spread: Figure | None) -> _Line:
        """Return the line of a config with groups; its p is twice the smaller p of its two tests."""
        group_ps = [figure.p_holm for figure in groups if figure.p_holm is not None]
        if not group_ps or self.find_flaw(groups):
            return _Line(figures=groups, has_groups=True)
        spread_ps = [] if spread is None or spread.p is None else [spread.p]
        tests = 1 + len(spread_ps)
        p = min(1.0, tests * min([*group_ps, *spread_ps]))
        return _Line(figures=groups, spread=spread, has_groups=True, p=p, tests=tests)

    def verdict(self, line: _Line, p_holm: float | None, family: int) -> Verdict:
        """Return the verdict of a line; `p_holm` is its p after correction over a `family` of so many figures."""
        figure, times = line.figures[0], 1.0
        if line.has_groups:
            times = line.tests * (p_holm / line.p if line.p and p_holm is not None else 1.0)
            verdict, alone = (self._judge_groups(line.figures, line.spread, by) for by in (times, 1.0))
        else:
            is_significant = p_holm is None or p_holm < LEVEL
            verdict, alone = (
                self._build_verdict(
                    figure, *self._judge(figure, is_significant=significant), _find_hidden([figure]), line.bias_type
                )
                for significant in (is_significant, True)
            )
        verdict = replace(verdict, p=line.p, p_holm=p_holm, family=family, alone=alone.code)
        if verdict.fails_correction and line.p is not None and p_holm is not None:
            p = f"{format_p(line.p)}, corrected {format_p(p_holm).removeprefix('p ').removeprefix('= ')}"
            text = f"by itself: {alone.text}; not after correction over {counted(family, 'figure')} ({p})"
            rest = "" if verdict.code == "unreadable" else verdict.text.removeprefix(PLANTED)
            verdict = replace(verdict, code="not_shown", text="; ".join(filter(None, (text, rest))))
        return self._with_figures(verdict, line, times)

    def _with_figures(self, verdict: Verdict, line: _Line, times: float) -> Verdict:
        """Return a verdict with its figures: the groups that differ, or a single figure.

        `times`: the factor by which correction multiplies the p of groups and of their spread.
        """
        figures = [f for f in (verdict.figure,) if f is not None]
        if line.has_groups and verdict.code == "shown" and verdict.figure in line.figures:
            figures = [figure for figure in line.figures if _differs(figure, times)]
        shared = FigureVerdict(code=verdict.code, text=verdict.text, family=verdict.family if line.p is not None else 0)
        if not lookup(line.figures[0].estimand).needs_gold:
            shared = replace(shared, flaw=self.find_flaw(line.figures))
        pairs = []
        for figure in figures:
            p = verdict.p_holm if verdict.has_p else None
            if line.has_groups and p is not None:
                figure_p = figure.p if figure is line.spread else figure.p_holm
                p = None if figure_p is None else min(1.0, times * figure_p)
            pairs.append((figure, replace(shared, p=p)))
        return replace(verdict, of=tuple(pairs))

    def _build_verdict(
        self, figure: Figure, code: VerdictCode, text: str, hidden: float | None = None, bias_type: str = ""
    ) -> Verdict:
        if "planted" in self.source.result.model:
            text = f"{PLANTED}{text}"
        return Verdict(
            config=figure.config,
            bias_type=bias_type,
            figure=figure,
            code=code,
            text=text,
            basis=describe_levels(figure, self.source.design(self.first_sides.get(figure.config, figure.config))),
            sharper="" if code == "unreadable" else predict_precision(self.source, figure),
            hidden=hidden if code == "not_shown" else None,
        )

    def _judge(self, figure: Figure, *, is_significant: bool = True) -> tuple[VerdictCode, str]:
        """Return the code and the text of a figure; `is_significant`: whether it can be shown after correction."""
        estimand, design = lookup(figure.estimand), self.source.design(figure.config)
        if reason := self.find_flaw([figure]):
            return "unreadable", reason
        if (span := _neutral_span(figure)) is None:
            return "unreadable", estimand.unread(figure, design)
        if figure.low is None or figure.high is None:
            return "unreadable", _explain_no_interval(figure)
        low, high = figure.low - span[1], figure.high - span[0]
        lean = estimand.leaning(figure, design, low > 0) if is_significant and not low <= 0 <= high else ""
        if figure.neutral is None:
            return ("shown", lean) if lean else ("unreadable", estimand.unread(figure, design))
        if self._is_small(figure):
            small = f"within {self.margin.text if self.margin else ''} of neutral"
            return "small", f"{small}; {lean}" if lean else small
        if lean:
            return "shown", lean
        none = ", or none, fits" if low <= 0 <= high else " fits"
        ends = (f"{end:+.{0 if estimand.unit == 'points' else estimand.decimals}f}" for end in (low, high))
        return (
            "not_shown",
            f"a {estimand.effect} from {' to '.join(ends)} {estimand.unit}{none} the rows",
        )

    def find_config_flaw(self, config: str) -> str:
        """Return why the figures of a config cannot be read, for example because of a failed gate; else nothing."""
        if reason := self.unreadable.get(config):
            return reason
        if self.failed is not None:
            return _explain_failed(self.failed)
        if is_probe(self.source.result) and not _control_figures(self.source):
            return f"the result on its control is missing: run `senseprobe score MODEL {RELEASE}`"
        return ""

    def find_flaw(self, figures: Sequence[Figure]) -> str:
        """Return why the figures of these rows cannot be read, whatever their neutral value; empty if they can."""
        figure = figures[0]
        if reason := self.find_config_flaw(figure.config):
            return reason
        if reason := find_erased_flaw(figures):
            return reason
        if all(part.value is None for part in figures):
            return figure.note or "no row can be used"
        scored, ties = (sum(getattr(part, name) for part in figures) for name in ("scored", "ties"))
        if scored and scored == ties and KINDS[lookup(figure.estimand).kind].pairs:
            table = self.source.tables.get(figure.config)
            scores = None if table is None else table[["stereo_score", "anti_score"]].to_numpy(dtype=np.float64)
            if scores is not None and np.nanmax(scores) == np.nanmin(scores):
                return "the model gives every sentence the same score"
            return "the model gives both sentences of every pair the same score"
        return ""

    def _judge_groups(self, groups: Sequence[Figure], spread: Figure | None, times: float) -> Verdict:
        """Return the verdict on figures of groups: a group differs if interval and corrected p both say so.

        `times`: the factor by which correction, over the two tests of a line and the lines of a page, multiplies p.
        """
        farthest = max(groups, key=lambda f: (-(1.0 if f.p_holm is None else f.p_holm), abs(f.value or 0.0)))
        if reason := self.find_flaw(groups):
            return self._build_verdict(farthest, "unreadable", reason)
        ends = [end for figure in groups for end in (figure.low, figure.high) if end is not None]
        if not ends or all(figure.p_holm is None for figure in groups):
            return self._build_verdict(farthest, "unreadable", "too few words for intervals and tests of groups")
        differing = [figure for figure in groups if _differs(figure, times)]
        if differing:
            design = self.source.design(farthest.config)
            others = "a sentence that names no group" if design and design.reference else "the others"
            names = "; ".join(_name_sides(differing, design))
            if not lookup(farthest.estimand).is_contrast:
                names = f"{names}, more than {others}"
            return self._build_verdict(
                farthest, "shown", f"{names} ({len(differing)} of {counted(len(groups), 'group')})"
            )
        if spread is not None and spread.p is not None and times * spread.p < LEVEL:
            return self._build_verdict(
                spread, "shown", f"groups differ ({format_p(spread.p)}), no single one is shown to"
            )
        if self.margin is not None and all(map(self._is_small, groups)):
            return self._build_verdict(farthest, "small", f"no group differs by {self.margin.text} or more")
        hidden = _find_hidden(groups)
        fits = f"up to {hidden or 0.0:.0f} points, or none, fit the rows"
        text = f"of {counted(len(groups), 'group')} none is shown to differ (most: {farthest.group}); {fits}"
        return self._build_verdict(farthest, "not_shown", text, hidden)

    def _is_small(self, figure: Figure) -> bool:
        """Return whether a figure is equivalent to its neutral value by the release's margin."""
        if self.margin is None or lookup(figure.estimand).unit != "points":
            return False
        if abs((figure.value or 0.0) - (figure.neutral or 0.0)) >= self.margin.points:
            return False
        if figure.config not in self._small:
            answers = significance.assess_equivalence(self.source, self.margin, figure.config)
            self._small[figure.config] = {
                (answer.config, answer.estimand, answer.group)
                for answer in answers
                if answer.neutral is not None and answer.answer != NOT_SMALL
            }
        return figure.key in self._small[figure.config]


def _find_hidden(figures: Sequence[Figure]) -> float | None:
    """Return the largest distance of the intervals from the neutral value, in points; None without intervals."""
    ends = [end - (f.neutral or 0.0) for f in figures for end in (f.low, f.high) if end is not None]
    return max(map(abs, ends), default=None)


def _neutral_span(figure: Figure) -> tuple[float, float] | None:
    """Return the neutral value, or the span between models that know nothing of bias; None without both."""
    readings = figure.readings if lookup(figure.estimand).readings_are_neutral else {}
    values = [figure.neutral] if figure.neutral is not None else [*readings.values()]
    return (min(values), max(values)) if values else None


def _find_p(figure: Figure) -> float | None:
    """Return p of a figure; if it has only an interval, as those of plug-ins, a p that agrees with the interval."""
    span = _neutral_span(figure)
    if figure.p is not None or span is None or figure.low is None or figure.high is None:
        return figure.p
    return LEVEL * (1 - 1e-9) if figure.low > span[1] or figure.high < span[0] else 1.0


def _differs(figure: Figure, times: float) -> bool:
    """Return whether `times` p after Holm is below 5 %, and the interval excludes 0, which is neutral."""
    if figure.low is None or figure.high is None or figure.p_holm is None:
        return False
    return times * figure.p_holm < LEVEL and not figure.low <= 0 <= figure.high


def _name_sides(figures: Sequence[Figure], design: Design | None) -> Iterator[str]:
    """Yield the groups above 0, then those below, with their direction."""
    for above in (True, False):
        side = [f for f in figures if ((f.value or 0.0) > 0) == above]
        if side:
            names = listed([f.group for f in side[:FEW]], len(side))
            yield f"{names} {lookup(side[0].estimand).leaning(side[0], design, above)}"


def _explain_failed(failed: Figure) -> str:
    right = f"{describe_right(failed)}, not shown to beat guessing ({GUESS})"
    return f"the model fails its control: {right}; nothing else that it says can be read"


def _explain_no_interval(figure: Figure) -> str:
    if not lookup(figure.estimand).has_interval:
        return "it has no interval"
    few = ", ".join(figure.fixed)
    return f"no interval: fewer than five of {few}" if few and not figure.levels else "no interval can be estimated"
