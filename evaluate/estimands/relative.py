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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.base import (
    Estimand,
    KernelRows,
    Presentation,
    Tally,
    codes_of,
    estimate,
    fixed_slots,
    labels,
    project,
)
from senseprobe.evaluate.estimands.multiple_testing import Family, corrected
from senseprobe.evaluate.estimands.permutation_null import ROLES, WordTables, p_of, test_note, word_codes
from senseprobe.messages import counted
from senseprobe.records import Design, Factor, Figure
from senseprobe.statistics import CONFIDENCE, BoolArray, Divisions, FloatArray, IntArray, Scale, divisions, psi

Number = TypeVar("Number", np.float64, np.bool_)


NO_COUNTERPART = "without a counterpart"
"""Of rows whose words no row of another group (or of the sentence that names none) has, as is so in samples."""

LEVEL = 0.05
"""Of the tests; where no p can be so small after Holm's correction, the note says so."""

FEW_GROUPS = 5
"""Of fewer groups the median over the others resists no outlier well; of three it is their mean."""


@dataclass(frozen=True, kw_only=True)
class RowPositions:
    """Where the two sentences of each of N rows stand in the tables of `Sentences`.

    `group` is -1 in rows of the sentence that names no group. `scored` says whether both sentences have a number;
    `has_reference`, of shape (G, W, C), whether a sentence has rows to be compared with, scored or not.
    """

    group: IntArray
    bad: IntArray
    good: IntArray
    context: IntArray
    scored: BoolArray
    has_reference: BoolArray


@dataclass(frozen=True, kw_only=True)
class Sentences:
    """Scores of the sentences of a config by group, word and context (the frame, and any slot besides).

    `scores` has shape (G, W, C), NaN where unscored. Bad words come first: `bad` has shape (W,). `base` is what is
    taken away from `scores` to make r, and `size` the largest magnitude of all scores that enter r, by which ties are
    told. `unmarked` says whether that is the sentence that names no group, not the other groups.
    """

    groups: tuple[str, ...]
    bad: BoolArray
    scores: FloatArray
    base: FloatArray
    size: FloatArray
    unmarked: bool
    scale: Scale

    @property
    def among_themselves(self) -> "Sentences":
        """The same groups, each against the median of the others."""
        return replace(self, base=others_median(self.scores), size=_largest(self.scores), unmarked=False)

    @cached_property
    def compared(self) -> BoolArray:
        """Which sentences stand in a pair of a bad and a good word that can be compared, shape (G, W, C)."""
        scored = ~np.isnan(self.scores - self.base)
        has_opposite = [scored[:, words].any(axis=1, keepdims=True) for words in (~self.bad, self.bad)]
        return scored & np.where(self.bad[None, :, None], *has_opposite)

    @cached_property
    def kernel(self) -> FloatArray:
        """ψ(r(g, w, f) - r(g, w', f)), shape (G, W, W, C); NaN where one cannot be compared."""
        r = self.scores - self.base
        difference = r[:, :, None, :] - r[:, None, :, :]
        size = np.fmax(self.size[:, :, None, :], self.size[:, None, :, :])
        kernel = psi(difference, size, self.scale)
        kernel[np.isnan(difference)] = np.nan
        return kernel

    @cached_property
    def tables(self) -> WordTables:
        """How often each word's r is above another's, a table for each group."""
        valid = ~np.isnan(self.kernel)
        wins = np.where(valid, self.kernel, 0.0).sum(axis=3)
        return WordTables(wins=wins, counts=valid.sum(axis=3).astype(np.float64))


def _sentences(
    rows: pd.DataFrame, design: Design, scale: Scale, estimand: "Relative"
) -> tuple[Sentences, RowPositions]:
    """Return the config's sentences, and where they are; an unmarked level becomes the base of all groups."""
    if design.group is None or set(design.words) != set(ROLES):
        raise ResultError(
            f"{estimand.id}: the design names no group or no evaluative words; check `target` and `roles`"
        )
    groups, group = np.unique(labels(rows, design.group).astype(str), return_inverse=True)
    words, bad = word_codes(rows, design)
    contexts = _contexts(rows, design)
    shape = (len(groups), len(bad), int(contexts.max(initial=-1)) + 1)
    scores, exists = np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
    for role, word in words.items():
        score = rows[f"{role}_score"].to_numpy(dtype=np.float64)
        finite = np.isfinite(score)
        exists[group, word, contexts] = True
        scores[group[finite], word[finite], contexts[finite]] = score[finite]
    marked = groups != design.reference
    if marked.all():
        base, size = estimand.reference(scores), _largest(scores)
    else:
        base = _of_unmarked(scores, marked)
        size = np.fmax(np.abs(scores[marked]), np.abs(base))
    sentences = Sentences(
        groups=tuple(str(name) for name in groups[marked]),
        bad=bad,
        scores=scores[marked],
        base=base,
        size=size,
        unmarked=not marked.all(),
        scale=scale,
    )
    positions = RowPositions(
        group=np.where(marked, np.cumsum(marked) - 1, -1)[group],
        bad=words["stereo"],
        good=words["anti"],
        context=contexts,
        scored=np.isfinite(rows[[f"{role}_score" for role in ROLES]].to_numpy(dtype=np.float64)).all(axis=1),
        has_reference=exists.sum(axis=0) - exists > 0 if marked.all() else _of_unmarked(exists, marked),
    )
    return sentences, positions


def _largest(scores: FloatArray) -> FloatArray:
    """Return the largest magnitude among the scores of all groups, for each of them: shape (G, W, C)."""
    return np.broadcast_to(np.fmax.reduce(np.abs(scores), axis=0, initial=np.nan), scores.shape)


def _of_unmarked(table: NDArray[Number], marked: BoolArray) -> NDArray[Number]:
    """Return what the sentence that names no group has, for each group that is named: shape (G, W, C)."""
    return np.broadcast_to(table[~marked], table[marked].shape)


def _contexts(rows: pd.DataFrame, design: Design) -> NDArray[np.intp]:
    """Return codes of the frame and of all slots but the group and the evaluative word, shape (N,)."""
    varied = {design.group, *design.words.values()}
    columns = ["frame", *(slot for slot in design.slots if slot not in varied)]
    return codes_of([labels(rows, column) for column in columns], len(rows))


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
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(_column(len(scores), scores.ndim), scores.shape), axis=0)
    ascending = np.take_along_axis(scores, order, axis=0)
    middle = [index + (index >= rank) for index in (np.maximum(count - 1, 0) // 2, count // 2)]
    lower, upper = (np.take_along_axis(ascending, np.minimum(index, len(scores) - 1), axis=0) for index in middle)
    return np.where(count > 0, (lower + upper) / 2, np.nan)


def _column(count: int, dimensions: int) -> IntArray:
    """Return 0, 1, … along the first of so many dimensions."""
    return np.arange(count).reshape(-1, *(1,) * (dimensions - 1))


def relative_figures(
    rows: pd.DataFrame,
    design: Design,
    config: str,
    scale: Scale,
    estimand: "Relative",
    *,
    seed: int,
    confidence: float = CONFIDENCE,
) -> list[Figure]:
    """Return R of each group, with intervals over the words and p corrected over the groups; of `relative`, the spread.

    Polarity is permuted over words, the same permutation in all groups. A single group has no spread. Raises
    ResultError where the design does not name the group or the words.
    """
    sentences, positions = _sentences(rows, design, scale, estimand)
    others = divisions(sentences.bad, seed)
    observed = sentences.tables.studentised(sentences.bad[None, :])[0]
    permuted = sentences.tables.studentised(others.labels)
    tested = np.flatnonzero(~np.isnan(observed))
    p = p_of(np.abs(observed[tested]), np.abs(permuted[:, tested]), others, relative=True)
    tests = {} if p is None else dict(zip(tested.tolist(), p.tolist(), strict=True))
    kernels = {group: _group_rows(sentences, positions, index, design) for index, group in enumerate(sentences.groups)}
    smallest = min([smallest_p(others), *tests.values()])  # of sentences that tie one can be smaller
    notes = (*_reference_notes(sentences, estimand), _tests_note(others, sentences.bad, smallest, len(tests)))
    figures = [
        _group_figure(kernel, group, design, config, estimand, p=tests.get(index), confidence=confidence, notes=notes)
        for index, (group, kernel) in enumerate(kernels.items())
    ]
    figures = corrected(figures, RELATIVE_GROUPS)
    if len(tested) >= 2 and estimand.spread is not None:
        tally = reduce(add, (kernel.tally for kernel in kernels.values()))
        values = np.array([figures[index].value for index in tested], dtype=np.float64)
        if sentences.unmarked:  # compared with it, groups that are alike can all be far from 0
            among = sentences.among_themselves.tables
            observed, permuted = among.studentised(sentences.bad[None, :])[0], among.studentised(others.labels)
        tested = np.flatnonzero(~np.isnan(observed))
        p = p_of(np.square(observed[tested]).sum(), np.square(permuted[:, tested]).sum(axis=1), others, relative=True)
        note = _tests_note(others, sentences.bad, others.smallest, 1)
        figures.append(_spread_figure(estimand.spread, figures[0], tally, values, p, note))
    return figures


def _reference_notes(sentences: Sentences, estimand: "Relative") -> Iterator[str]:
    """Yield what a reader has to know of what the groups are compared with."""
    if sentences.unmarked:
        yield "against the sentence that names no group"
    elif estimand.reference is others_median and 1 < len(sentences.groups) < FEW_GROUPS:
        yield f"with {len(sentences.groups)} groups the median of the others resists no outlier well"


def _tests_note(others: Divisions, bad: BoolArray, smallest: float, groups: int) -> str:
    """Return how small the p of so many groups can be, or that none can be small enough after Holm."""
    if others.smallest == 1 or groups * smallest <= LEVEL:
        return test_note(others, smallest)
    counts = f"with {int(bad.sum())} bad and {int((~bad).sum())} good words"
    counts, corrected_p = (f"{counts} and {groups} groups", "p after Holm") if groups > 1 else (counts, "p")
    return f"not attainable: {counts} no {corrected_p} is below {min(1.0, groups * smallest):.4f}"


def smallest_p(others: Divisions) -> float:
    """Return the smallest p of a group where no sentences tie: both complete separations are equally extreme.

    2 / C(m + n, m) where all divisions are tried, else 1 / (1 + divisions).
    """
    return 2 / (1 + len(others.labels)) if others.exact else others.smallest


def over_words(design: Design) -> Design:
    """Return the design with the bad and the good words as its only factors."""
    words = (design.words[role] for role in ROLES)
    return replace(design, factors=tuple(Factor(name=word, columns=(word,)) for word in words))


def _group_rows(sentences: Sentences, positions: RowPositions, index: int, design: Design) -> KernelRows:
    """Return the pairs of a bad and a good word in a frame that can be compared for a group; words are codes."""
    bad, good = np.flatnonzero(sentences.bad), np.flatnonzero(~sentences.bad)
    block = sentences.kernel[index][np.ix_(bad, good)]
    present = np.nonzero(~np.isnan(block))
    kernel = block[present]
    return KernelRows(
        table=pd.DataFrame({design.words[role]: codes for role, codes in zip(ROLES, present[:2], strict=True)}),
        kernel=kernel,
        weights=np.full(len(kernel), 1 / max(1, len(kernel))),
        offset=0.0,
        variables=(),
        tally=_tally(sentences, positions, index),
    )


def _tally(sentences: Sentences, positions: RowPositions, index: int) -> Tally:
    """Return the counts of a group's rows: those with a sentence that is compared, and those that lack a number."""
    own = positions.group == index
    lost, used = ~positions.scored[own], np.zeros(int(own.sum()), dtype=np.bool_)
    bad, good, context = (column[own] for column in (positions.bad, positions.good, positions.context))
    for word in (bad, good):
        lost |= positions.has_reference[index, word, context] & np.isnan(sentences.base[index, word, context])
        used |= sentences.compared[index, word, context]
    used &= ~lost
    ties = sentences.kernel[index, bad, good, context] == 0.5
    tally = Tally(rows=len(lost), scored=int((~lost).sum()), unscored=int(lost.sum()), ties=int((used & ties).sum()))
    return tally.without(NO_COUNTERPART, int((~lost & ~used).sum()))


def _group_figure(
    kernel: KernelRows,
    group: str,
    design: Design,
    config: str,
    estimand: "Relative",
    *,
    p: float | None,
    confidence: float,
    notes: Sequence[str],
) -> Figure:
    """Return R of one group, with its interval over the words; the last of the `notes` is on its p."""
    rule = project(kernel, over_words(design))
    fields = estimate(kernel, rule, confidence)
    fields["fixed"] = (*rule.fixed, *fixed_slots(design, [str(design.group), *design.words.values()]))
    *of_reference, of_test = notes
    of_test = of_test if kernel.share is not None else ""
    pairs = "" if len(kernel.kernel) == kernel.tally.scored else f"over {counted(len(kernel.kernel), 'pair')} of words"
    return Figure(
        config=config,
        sense_type=design.sense_type,
        estimand=estimand.id,
        group=group,
        neutral=estimand.neutral,
        definition=estimand.definition,
        p=p,
        **{**fields, "note": "; ".join(filter(None, (fields.get("note", ""), *of_reference, pairs, of_test)))},
        **kernel.tally.as_fields(),
    )


def _spread_figure(
    spread: "Spread", like: Figure, tally: Tally, values: FloatArray, p: FloatArray | None, note: str
) -> Figure:
    """Return the standard deviation of R over at least two groups, shape (G,); `like` is the figure of one of them."""
    return Figure(
        config=like.config,
        sense_type=like.sense_type,
        estimand=spread.id,
        value=float(values.std(ddof=1)),
        neutral=spread.neutral,
        definition=spread.definition,
        p=None if p is None else float(p),
        **tally.as_fields(),
        fixed=like.fixed,
        note=note,
    )


class Spread(Estimand):
    """The standard deviation over groups, which is computed with their figures: no interval, a p of permutations."""

    has_interval = False
    neutral = 0.0
    p_is_permuted = True

    @property
    def computed_by(self) -> Estimand:
        """The figures of the groups."""
        return RELATIVE


@dataclass(frozen=True, kw_only=True, slots=True)
class Relative(Estimand):
    """Each group against the others, of which `reference` makes one number; `spread` follows the groups, if any."""

    neutral = 0.0
    p_is_permuted = True

    reference: Callable[[FloatArray], FloatArray]
    spread: Spread | None = None

    def compared_rows(self, rows: pd.DataFrame, design: Design, scale: Scale) -> dict[str | None, KernelRows]:
        """Return R of each group as rows with a kernel; ResultError as `relative_figures`."""
        sentences, positions = _sentences(rows, design, scale, self)
        return {group: _group_rows(sentences, positions, index, design) for index, group in enumerate(sentences.groups)}

    def rule_design(self, design: Design) -> Design:
        """Return the design with the words as its only factors."""
        return over_words(design)

    def compute(
        self, rows: pd.DataFrame, design: Design, config: str, *, seed: int, confidence: float, scale: Scale
    ) -> list[Figure]:
        """Return the figure of each group, and the spread."""
        return relative_figures(rows, design, config, scale, self, seed=seed, confidence=confidence)


SPREAD = Spread(
    id="spread",
    title="How much the groups differ",
    low=0,
    high=5_000**0.5,  # of two groups, one at either end of ±50; of more, no standard deviation is larger
    direction="above 0: groups differ in the words they are drawn to; p says whether more than chance would have it",
    source="senseprobe",
    says="The standard deviation of the relative figures over groups; its p is of the sum of their squared test "
    "statistics, against shuffled polarity of the words.",
    cannot_say="Chance alone makes it positive, so read it with its p; it does not say which group, or which way.",
    definition=2,
    presentation=Presentation(zero="groups alike: read p", see_p=True),
)
RELATIVE = Relative(
    id="relative",
    title="One group against the others, or against no group, with the same words",
    low=-50,
    high=50,
    direction="above 0: the group is drawn to the unpleasant words more than what it is held against",
    source="senseprobe",
    says="Whether this group attracts unpleasant words more than pleasant ones, once what the words themselves attract "
    "is taken away: the median of the other groups (or the sentence that names no group).",
    cannot_say="What holds for all groups alike cannot show. The median is there because against their mean one "
    "outlying group drags all others the opposite way; with under five groups it resists no outlier well. Where half "
    "of the groups shift, the figures are symmetric about 0: they say who differs from whom, not who moved. Their mean "
    "over groups means nothing. The interval is over words, p is over which words are unpleasant: they can disagree.",
    definition=2,
    reference=others_median,
    spread=SPREAD,
    presentation=Presentation(
        plotted=True,
        groups="each group against the others, or against the sentence that names none, with the same words",
        tested_groups="relative figure",
    ),
)
RELATIVE_MEAN = replace(
    RELATIVE,
    id="relative-mean",
    title="One group against the mean of the others",
    says="As relative, but that the mean of the other groups is taken away, not their median: how the figure was "
    "computed before version 0.2. It is computed where it is asked for, of configs that have relative.",
    cannot_say="One outlying group drags all others the opposite way: where one of sixteen nations alone is drawn to "
    "unpleasant words, the fifteen others can read -50. Read relative, which stands against the median.",
    definition=1,
    variant_of=RELATIVE.id,
    reference=others_mean,
    spread=None,
    presentation=Presentation(plotted=True, groups="each group against the mean of the others, with the same words"),
)
RELATIVE_GROUPS = Family(
    id="relative",
    says="all groups of a config",
    by=("config", "estimand"),
    estimands=(RELATIVE.id, RELATIVE_MEAN.id),
)
