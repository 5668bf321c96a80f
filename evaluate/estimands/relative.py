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
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.base import Estimand, Presentation, Scope, SenseRows, Tables, joined
from senseprobe.evaluate.estimands.kernel import KernelRows, Tally, Words, labels, row_codes
from senseprobe.evaluate.estimands.multiple_testing import Family, corrected
from senseprobe.evaluate.estimands.permutation_null import (
    ROLES,
    WordTables,
    cluster_columns,
    marks_bad,
    p_of,
    test_note,
    word_clusters,
    word_codes,
)
from senseprobe.evaluate.estimands.word_correlation import correlate_words
from senseprobe.messages import counted
from senseprobe.records import Contrast, Design, Factor, Figure
from senseprobe.statistics import BoolArray, Divisions, FloatArray, IntArray, Scale, divisions, psi

LEVEL = 0.05
"""Of the tests; where no p can be so small after Holm's correction, the note says so."""

FEW_GROUPS = 5
"""Of fewer groups the median over the others resists no outlier well; of three it is their mean."""

NO_COUNTERPART = "without a counterpart"
"""Of rows whose words no row of another group (or of the sentence that names none) has, as happens in samples."""


def others_mean(scores: FloatArray) -> FloatArray:
    """Return the mean over the other groups that were scored, NaN where there are none; same shape as `scores`."""
    scored = ~np.isnan(scores)
    count = scored.sum(axis=0) - scored
    total = np.nansum(scores, axis=0) - np.where(scored, scores, 0.0)
    return np.asarray(np.divide(total, count, out=np.full_like(scores, np.nan), where=count > 0))


def others_median(scores: FloatArray) -> FloatArray:
    """Return the median over the other scored groups, of an even count the mean of the middle two; as `others_mean`."""
    scored = ~np.isnan(scores)
    count = scored.sum(axis=0) - scored
    order = np.argsort(scores, axis=0, kind="stable")  # what was not scored comes last
    rank, ascending = np.argsort(order, axis=0), np.take_along_axis(scores, order, axis=0)
    middle = [index + (index >= rank) for index in (np.maximum(count - 1, 0) // 2, count // 2)]
    lower, upper = (np.take_along_axis(ascending, np.minimum(index, len(scores) - 1), axis=0) for index in middle)
    return np.where(count > 0, (lower + upper) / 2, np.nan)


class IncomparableError(ResultError):
    """Two configs whose groups cannot be compared, since too few are the same or they are held against other things."""


@dataclass(frozen=True, kw_only=True)
class GroupScores:
    """Scores of the sentences of a config by group, word and context (the frame, and any slot besides).

    - `scores`: shape (G, W, C), NaN where unscored. Bad words come first: `bad` has shape (W,).
    - `base`: what is taken away from `scores` to make r; `unmarked`: whether that is the sentence that names no group,
      not the other groups. `has_reference`: whether a sentence has rows to be compared with, scored or not.
    - `size`: the largest magnitude of all scores that enter r, by which ties are recognised.
    - `names`: the words by role, in the order of W; `clusters`: the cluster of each, by role.
    - `group`, `words` by role, `context`: where the two sentences of each of N rows stand in these tables; `group` is
      -1 in rows of the sentence that names no group. `scored`: whether both have a number.
    """

    groups: tuple[str, ...]
    bad: BoolArray
    scores: FloatArray
    base: FloatArray
    has_reference: BoolArray
    size: FloatArray
    unmarked: bool
    scale: Scale
    names: Mapping[str, Words]
    clusters: Mapping[str, Words]
    group: IntArray
    words: dict[str, IntArray]
    context: IntArray
    scored: BoolArray

    @property
    def among_themselves(self) -> "GroupScores":
        """The same groups, each against the median of the others."""
        return replace(self, base=others_median(self.scores), size=_largest(self.scores), unmarked=False)

    @cached_property
    def compared(self) -> BoolArray:
        """The sentences that stand in a pair of a bad and a good word that can be compared, shape (G, W, C)."""
        scored = ~np.isnan(self.scores - self.base)
        has_opposite = [scored[:, words].any(axis=1, keepdims=True) for words in (~self.bad, self.bad)]
        return scored & np.where(self.bad[None, :, None], *has_opposite)

    @cached_property
    def kernel(self) -> FloatArray:
        """ψ(r(g, w, f) - r(g, w', f)), shape (G, W, W, C); NaN where one cannot be compared."""
        r = self.scores - self.base
        difference = r[:, :, None, :] - r[:, None, :, :]
        kernel = psi(difference, np.fmax(self.size[:, :, None, :], self.size[:, None, :, :]), self.scale)
        kernel[np.isnan(difference)] = np.nan
        return kernel

    def studentised(self, others: Divisions) -> tuple[FloatArray, FloatArray]:
        """Return the studentised R of the groups, shape (G,), and with polarity dealt out anew, shape (P, G)."""
        valid = ~np.isnan(self.kernel)
        wins = np.where(valid, self.kernel, 0.0).sum(axis=3)
        tables = WordTables(wins=wins, counts=valid.sum(axis=3).astype(np.float64)).of_clusters(self.clusters)
        return tables.studentised(self.dealt[None, :])[0], tables.studentised(others.labels)

    def word_note(self, seed: int) -> str:
        """Return that words go together over groups, where they do and are taken one by one; else nothing."""
        if len(self.dealt) < len(self.bad):
            return ""
        counts = np.isfinite(self.scores).sum(axis=2)
        means = np.divide(np.nansum(self.scores, axis=2), counts, out=np.full(counts.shape, np.nan), where=counts > 0)
        found = correlate_words(means, self.bad, seed)
        return "" if found is None else found.note

    @property
    def dealt(self) -> BoolArray:
        """Whether each cluster of words, which is dealt out whole, is of bad ones: shape (C,)."""
        return marks_bad(self.clusters)

    def rows(self, design: Design) -> dict[str | None, KernelRows]:
        """Return the pairs of a bad and a good word in a frame that can be compared, by group."""
        rows: dict[str | None, KernelRows] = {}
        for index, group in enumerate(self.groups):
            block = self.kernel[index][np.ix_(self.bad, ~self.bad)]
            present = np.nonzero(~np.isnan(block))
            codes = dict(zip(ROLES, present[:2], strict=True))
            columns = {design.words[role]: self.names[role][codes[role]] for role in ROLES}
            columns |= {name: self.clusters[role][codes[role]] for role, name in cluster_columns(design).items()}
            table = pd.DataFrame(columns, dtype=object)
            rows[group] = KernelRows.mean(table, block[present], self._tally(index))
        return rows

    def _tally(self, index: int) -> Tally:
        """Return the counts of a group's rows: those with a sentence that is compared, and those that lack a number."""
        own = self.group == index
        bad, good, context = (column[own] for column in (*(self.words[role] for role in ROLES), self.context))
        lost, used = ~self.scored[own], np.zeros(int(own.sum()), dtype=np.bool_)
        for word in (bad, good):
            lost |= self.has_reference[index, word, context] & np.isnan(self.base[index, word, context])
            used |= self.compared[index, word, context]
        used &= ~lost
        ties = int((used & (self.kernel[index, bad, good, context] == 0.5)).sum())
        tally = Tally(rows=len(lost), scored=int((~lost).sum()), unscored=int(lost.sum()), ties=ties)
        return tally.without(NO_COUNTERPART, int((~lost & ~used).sum()))


def _largest(scores: FloatArray) -> FloatArray:
    """Return the largest magnitude among the scores of all groups, for each of them: shape (G, W, C)."""
    return np.broadcast_to(np.fmax.reduce(np.abs(scores), axis=0, initial=np.nan), scores.shape)


def group_scores(
    rows: pd.DataFrame, design: Design, scale: Scale, reference: Callable[[FloatArray], FloatArray]
) -> GroupScores:
    """Return the scores of a config's sentences.

    `reference` makes one number of those of the other groups; an unmarked level becomes the base of all instead.
    """
    groups, group = np.unique(labels(rows, str(design.group)).astype(str), return_inverse=True)
    words, names = word_codes(rows, design)
    bad = np.repeat([True, False], [len(names[role]) for role in ROLES])
    varied = {design.group, *design.words.values()}
    context = row_codes(rows, ("frame", *(slot for slot in design.slots if slot not in varied)))
    scores = np.full((len(groups), len(bad), int(context.max(initial=-1)) + 1), np.nan)
    exists, scored = np.zeros(scores.shape, dtype=np.bool_), np.ones(len(rows), dtype=np.bool_)
    for role, word in words.items():
        score = rows[f"{role}_score"].to_numpy(dtype=np.float64)
        finite = np.isfinite(score)
        scored &= finite
        exists[group, word, context] = True
        scores[group[finite], word[finite], context[finite]] = score[finite]
    marked = groups != design.reference
    named, unmarked = scores[marked], not marked.all()
    base = np.broadcast_to(scores[~marked], named.shape) if unmarked else reference(scores)
    compared = np.broadcast_to(exists[~marked], named.shape) if unmarked else exists.sum(axis=0) - exists > 0
    return GroupScores(
        groups=tuple(str(name) for name in groups[marked]),
        bad=bad,
        scores=named,
        base=base,
        has_reference=compared,
        size=np.fmax(np.abs(named), np.abs(base)) if unmarked else _largest(scores),
        unmarked=unmarked,
        scale=scale,
        names=names,
        clusters=word_clusters(rows, design, words, names),
        group=np.where(marked, np.cumsum(marked) - 1, -1)[group],
        words=words,
        context=context,
        scored=scored,
    )


class Spread(Estimand):
    """The standard deviation over groups, which is computed with their figures: no interval, a p of permutations."""

    has_interval = False
    neutral = 0.0
    prints_p = True
    no_parts = "it covers all groups and words of a config at once"

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Relative(Estimand):
    """Each group against the others, of which `reference` makes one number; `spread` follows the groups, if any."""

    neutral = 0.0
    prints_p = True

    reference: Callable[[FloatArray], FloatArray]
    spread: Spread | None = None

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
        kept, sides = levels[0] & levels[1], []
        for rows, design in tables:
            own = rows[[str(level) in kept or level == design.reference for level in labels(rows, str(design.group))]]
            levels_of = {**design.words, **cluster_columns(design)}
            factors = tuple(Factor(name=named[role], columns=(levels_of[role],)) for role in ROLES)
            sides.append((replace(design, factors=factors), self._scores(own, design, scale).rows(design)))
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
    presentation=Presentation(
        zero="groups alike: read p", see_p=True, ends=("groups alike", "groups differ"), effect="difference"
    ),
)
_TEXTS: Mapping[str, Any] = {
    "ends": ("pleasant words", "unpleasant words"),
    "leanings": ("drawn to pleasant words", "drawn to unpleasant words"),
    "tendency": "is drawn to unpleasant words",
    "effect": "difference",
    "fact": "links {group} to {side} more than {others}, in {away:.0f} of 100 comparisons",
    "unit": "from 50 of 100",
    "at_zero": "like {others}",
}
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
    presentation=Presentation(
        plotted=True,
        groups="each group compared with {others}, with the same words",
        tested_groups="relative figure",
        **_TEXTS,
    ),
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
    presentation=Presentation(
        plotted=True, groups="each group against the mean of the others, with the same words", **_TEXTS
    ),
)
RELATIVE_GROUPS = Family(
    id="relative",
    says="all groups of a config",
    by=("config", "estimand"),
    estimands=(RELATIVE.id, RELATIVE_MEAN.id),
)
RELATIVE_ESTIMANDS = (RELATIVE, RELATIVE_MEAN, SPREAD)
