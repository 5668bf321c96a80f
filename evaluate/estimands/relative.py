"""`relative`, each group against the others with the same words, and `spread`, how much the groups differ.

S(g, w, f) is the score of the sentence of group g with word w in frame f, and r(g, w, f) is S less the median over the
other groups, or less the sentence that names no group. R_g = 100 · mean over frames, bad and good words of
ψ(r(g, bad, f) - r(g, good, f)) - 50. What the words themselves attract, whatever the group, cancels. `relative-mean` is
the same with the mean over the other groups, which one outlying group drags: computed where it is asked for.

The mean is over every pair of a bad and a good word of which both sentences can be compared. Of a whole release these
are its rows; of a sample they can be more, as a sentence meets those of other rows. What is counted are rows all the
same.

**The tests** deal polarity out anew over the words, in all groups alike: of one group by its studentised R
(`statistics.studentised`), corrected over the groups by Holm's method, of `spread` by the sum of their squares, each
group held against the others, also where R stands against the sentence that names none. Words that scatter more than
others do not make groups differ, so both keep about their size (docs/coverage.md).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.base import Estimand, SenseRows, Tables, joined
from senseprobe.evaluate.estimands.figure_scope import Scope
from senseprobe.evaluate.estimands.group_scores import GroupScores, group_scores, others_mean, others_median
from senseprobe.evaluate.estimands.kernel import KernelRows, Tally, labels
from senseprobe.evaluate.estimands.multiple_testing import Family, corrected
from senseprobe.evaluate.estimands.permutation_null import (
    ROLES,
    cluster_columns,
    p_of,
    test_note,
)
from senseprobe.messages import counted
from senseprobe.records import Contrast, Design, Factor, Figure
from senseprobe.statistics import LEVEL, BoolArray, Divisions, FloatArray, Scale, divisions

FEW_GROUPS = 5
"""Of fewer groups the median over the others resists no outlier well; of three it is their mean."""


class IncomparableError(ResultError):
    """Two configs whose groups cannot be compared, since too few are the same or they are held against other things."""


class Spread(Estimand):
    """The standard deviation over groups, which is computed with their figures: no interval, a p of permutations."""

    has_interval = False
    neutral = 0.0
    prints_p = True
    needs_p = True
    zero_note = "groups alike: read p"
    ends = ("groups alike", "groups differ")
    effect = "difference"
    missing_slice = "it covers all groups and words of a config at once"

    def slice_figures(self, part: pd.DataFrame, rows: pd.DataFrame, scope: Scope) -> tuple[Figure, ...]:
        """Return nothing: a part has figures of its groups (`relative`), and their scatter is not tested."""
        return ()

    def computed_with(self, design: Design) -> tuple[Estimand, ...]:
        """Return the estimand of the groups."""
        return (RELATIVE,)

    def of_groups(self, like: Figure, tally: Tally, values: FloatArray, p: FloatArray | None, note: str) -> Figure:
        """Return the standard deviation of R over at least two groups, shape (G,); `like` is the figure of one."""
        return Figure(
            config=like.config,
            sense_type=like.sense_type,
            estimand=self.id,
            value=float(values.std(ddof=1)),
            neutral=self.neutral,
            definition=self.version,
            p=None if p is None else float(p),
            **asdict(tally),
            fixed=like.fixed,
            note=note,
        )


RELATIVE_GROUPS = Family(
    id="relative",
    says="all groups of a config",
    by=("config", "estimand"),
    estimands=("relative", "relative-mean"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Relative(Estimand):
    """Each group against the others, of which `reference` makes one number; `spread` follows the groups, if any."""

    family = RELATIVE_GROUPS
    neutral = 0.0
    prints_p = True
    plotted = True
    names_others = True
    ends = ("pleasant words", "unpleasant words")
    leanings = ("drawn to pleasant words", "drawn to unpleasant words")
    higher = "is drawn to unpleasant words"
    effect = "difference"
    point = "from 50 of 100"

    reference: Callable[[FloatArray], FloatArray]
    spread: Spread | None = None

    @property
    def tests_groups(self) -> bool:
        """Whether verdicts are about its groups: not where it is a variant, without a spread."""
        return self.spread is not None

    def groups_caption(self, design: Design | None) -> str:
        """Return the caption of its groups, which says what each is compared with."""
        if self.reference is others_mean:
            return "each group against the mean of the others, with the same words"
        return f"each group compared with {_name_others(design)}, with the same words"

    def zero_means(self, design: Design | None, others: str = "") -> str:
        """Return with what a group is alike."""
        return f"like {others or _name_others(design)}"

    def fact(self, figure: Figure, design: Design | None, names: Mapping[str, str]) -> str:
        """Return to which words a group is linked more than the others, in how many comparisons."""
        number, group = figure.value or 0.0, names.get("group", figure.group)
        more = f"{self.ends[number >= 0]} more than {names.get('others') or _name_others(design)}"
        return f"links {group} to {more}, in {50 + abs(number):.0f} of 100 comparisons"

    def compared_rows(self, rows: pd.DataFrame, design: Design, scale: Scale) -> dict[str | None, KernelRows]:
        """Return R of each group as rows with a kernel; ResultError where the design names no group or no words."""
        return self._scores(rows, design, scale).rows(design)

    def rule_design(self, design: Design) -> Design:
        """Return the design with the bad and the good words as its only factors."""
        clusters = {factor.slot: factor for factor in design.factors if factor.is_clustered}
        words = (design.words[role] for role in ROLES)
        factors = (clusters.get(word, Factor(name=word, columns=(word,))) for word in words)
        return replace(design, factors=tuple(factors))

    def compared_senses(self, contrast: Contrast, tables: Tables, scale: Scale) -> list[SenseRows]:
        """Return R of each group that both configs have; the others leave both before the median is taken.

        The factors are the bad and the good words, matched by what they are. Raises IncomparableError where the groups
        cannot be compared (`Contrast.why_without_groups`).
        """
        designs, named = [design for _, design in tables], tables[0][1].words
        levels = [
            {str(level) for level in labels(rows, design.group)} - {str(design.reference)} if design.group else set()
            for rows, design in tables
        ]
        if why := contrast.why_without_groups(designs, levels):
            raise IncomparableError(why)
        shared_groups, sides = levels[0] & levels[1], []
        for rows, design in tables:
            groups = labels(rows, str(design.group))
            shared_rows = rows[[str(group) in shared_groups or group == design.reference for group in groups]]
            levels_of = {**design.words, **cluster_columns(design)}
            factors = tuple(Factor(name=named[role], columns=(levels_of[role],)) for role in ROLES)
            sides.append((replace(design, factors=factors), self._scores(shared_rows, design, scale).rows(design)))
        return sides

    def compute(self, rows: pd.DataFrame, scope: Scope) -> list[Figure]:
        """Return R of each group, with intervals over the words and p corrected over the groups; then the spread.

        Polarity is permuted over words, the same permutation in all groups. A single group has no spread.
        """
        scores = self._scores(rows, scope.design, scope.scale)
        others = divisions(scores.dealt, scope.seed)
        observed, permuted = scores.studentised(others)
        tested = np.flatnonzero(~np.isnan(observed))
        p = p_of(np.abs(observed[tested]), np.abs(permuted[:, tested]), others, relative=True)
        tests = {} if p is None else dict(zip(tested.tolist(), p.tolist(), strict=True))
        smallest = min([smallest_p(others), *tests.values()])  # of sentences that tie one can be smaller
        kernels, together = scores.rows(scope.design), scores.word_note(scope.seed)
        note = joined(_tests_note(others, scores.dealt, smallest, len(tests)), together)
        figures = [
            replace(self._group_figure(kernel, group, scores, scope, note), p=tests.get(index))
            for index, (group, kernel) in enumerate(kernels.items())
        ]
        figures = corrected(figures, RELATIVE_GROUPS)
        if len(tested) >= 2 and self.spread is not None:
            values = np.array([figures[index].value for index in tested], dtype=np.float64)
            if scores.unmarked:  # compared with it, groups that are alike can all be far from 0
                observed, permuted = scores.among_themselves.studentised(others)
                tested = np.flatnonzero(~np.isnan(observed))
            squares = np.square(observed[tested]).sum(), np.square(permuted[:, tested]).sum(axis=1)
            p, tally = p_of(*squares, others, relative=True), reduce(add, (rows.tally for rows in kernels.values()))
            note = joined(_tests_note(others, scores.dealt, others.smallest, 1), together)
            figures.append(self.spread.of_groups(figures[0], tally, values, p, note))
        return figures

    def slice_figures(self, part: pd.DataFrame, rows: pd.DataFrame, scope: Scope) -> Iterator[Figure]:
        """Yield R of each group of a part, without p: against the other groups in the same words and frames."""
        design, name = scope.design, str(scope.design.group)
        shared = ["frame", *(slot for slot in design.slots if slot != name)]
        alike = pd.MultiIndex.from_frame(rows[shared]).isin(pd.MultiIndex.from_frame(part[shared]))
        scores = self._scores(rows[alike], design, scope.scale)
        groups = {*part[name].astype(str)}
        for group, kernel in scores.rows(design).items():
            if group in groups:
                figure = self._group_figure(kernel, group, scores, scope, "")
                label = ", ".join(filter(None, [scope.group, f"{name}={group}" if len(groups) > 1 else ""]))
                yield replace(figure, group=label or None)

    def _scores(self, rows: pd.DataFrame, design: Design, scale: Scale) -> GroupScores:
        if design.group is None or set(design.words) != set(ROLES):
            raise ResultError(f"{self.id}: the design lacks a group or evaluative words; check `target` and `roles`")
        return group_scores(rows, design, scale, self.reference)

    def _group_figure(
        self, kernel: KernelRows, group: str | None, scores: GroupScores, scope: Scope, of_test: str
    ) -> Figure:
        """Return R of one group, with its interval over the words; `of_test` is the note on its p."""
        notes = []
        if scores.unmarked:
            notes.append("against the sentence that names no group")
        elif self.reference is others_median and 1 < len(scores.groups) < FEW_GROUPS:
            notes.append(f"with {len(scores.groups)} groups, one outlier can move the median of the others")
        if len(kernel.kernel) != kernel.tally.scored:
            notes.append(f"over {counted(len(kernel.kernel), 'pair')} of words")
        if kernel.share is not None:
            notes.append(of_test)
        return self.figure(kernel, replace(scope, group=group, about=(str(scope.design.group),)), notes)


def _name_others(design: Design | None) -> str:
    """Return what a group is compared with: the sentence that names no group, where the design has one."""
    return "a sentence without a group" if design and design.reference else "the other groups"


def _tests_note(others: Divisions, bad: BoolArray, smallest: float, groups: int) -> str:
    """Return how small the p of so many groups can be, or that none can be small enough after Holm."""
    if others.smallest == 1 or groups * smallest <= LEVEL:
        return test_note(others, smallest)
    counts = f"with {int(bad.sum())} bad and {int((~bad).sum())} good words"
    counts, corrected_p = (f"{counts} and {groups} groups", "p after Holm") if groups > 1 else (counts, "p")
    return f"not attainable: {counts}, {corrected_p} cannot be below {min(1.0, groups * smallest):.4f}"


def smallest_p(others: Divisions) -> float:
    """Return the smallest p of a group where no sentences tie: both complete separations are equally extreme.

    2 / C(m + n, m) where all divisions are tried, else 1 / (1 + divisions).
    """
    return 2 / (1 + len(others.labels)) if others.exact else others.smallest


SPREAD = Spread(
    id="spread",
    title="How much the groups differ",
    range=(0, 5_000**0.5),  # of two groups, one at either end of ±50; of more, no standard deviation is larger
    direction="above 0: the groups attract different words; p shows whether they differ by more than chance",
    source="senseprobe",
    says="The standard deviation of the relative figures over groups. Its p shuffles the polarity of the words and "
    "uses the sum of squared test statistics, each group against the others, even if the figures are against the "
    "sentence that names no group.",
    cannot_say="Chance alone makes it positive, so read it with its p. It does not show which group differs, or in "
    "which direction.",
    version=2,
)
RELATIVE = Relative(
    id="relative",
    title="Relative preference: one group against the others, or against the sentence that names no group",
    range=(-50, 50),
    direction="above 0: the group attracts unpleasant words more than its reference does",
    source="senseprobe",
    says="Whether this group attracts unpleasant words more than its reference: the median of the other groups, or "
    "the sentence that names no group. This removes the effect of the words themselves. +20 means that the unpleasant "
    "word is ahead in 70 of 100 pairs of words.",
    cannot_say="An effect that all groups share does not appear. If half of the groups shift, the figures are "
    "symmetric about 0: they show which groups differ, not which one moved. With fewer than five groups, one outlier "
    "can move the median. The mean over groups has no meaning. The interval is over words, and p is about which words "
    "are unpleasant, so they can disagree. Both assume independent words and are too optimistic for synonyms.",
    version=2,
    reference=others_median,
    spread=SPREAD,
)
RELATIVE_MEAN = replace(
    RELATIVE,
    id="relative-mean",
    title="Relative preference: one group against the mean of the others",
    says="As relative, but the mean of the other groups is subtracted, not their median. This was the "
    "definition before version 0.2. It is computed on request, for configs that have relative.",
    cannot_say="One outlying group pushes all others the opposite way: if only one of sixteen nations "
    "attracts unpleasant words, the fifteen others can get -50. Use relative, which subtracts the median.",
    version=1,
    variant_of=RELATIVE.id,
    reference=others_mean,
    spread=None,
)
RELATIVE_ESTIMANDS = (RELATIVE, RELATIVE_MEAN, SPREAD)
