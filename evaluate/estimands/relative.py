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
from functools import reduce
from operator import add

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.base import (
    Estimand,
    KernelRows,
    Presentation,
    Tally,
    estimate,
    fixed_slots,
    project,
)
from senseprobe.evaluate.estimands.group_scores import (
    GroupScores,
    RowPositions,
    group_scores,
    group_tally,
    others_mean,
    others_median,
)
from senseprobe.evaluate.estimands.multiple_testing import Family, corrected
from senseprobe.evaluate.estimands.permutation_null import ROLES, p_of, test_note
from senseprobe.messages import counted
from senseprobe.records import Design, Factor, Figure
from senseprobe.statistics import CONFIDENCE, BoolArray, Divisions, FloatArray, Scale, divisions

LEVEL = 0.05
"""Of the tests; where no p can be so small after Holm's correction, the note says so."""

FEW_GROUPS = 5
"""Of fewer groups the median over the others resists no outlier well; of three it is their mean."""


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
    scores, positions = _scores_of(rows, design, scale, estimand)
    others = divisions(scores.bad, seed)
    observed = scores.tables.studentised(scores.bad[None, :])[0]
    permuted = scores.tables.studentised(others.labels)
    tested = np.flatnonzero(~np.isnan(observed))
    p = p_of(np.abs(observed[tested]), np.abs(permuted[:, tested]), others, relative=True)
    tests = {} if p is None else dict(zip(tested.tolist(), p.tolist(), strict=True))
    kernels = {group: _group_rows(scores, positions, index, design) for index, group in enumerate(scores.groups)}
    smallest = min([smallest_p(others), *tests.values()])  # of sentences that tie one can be smaller
    notes = (*_reference_notes(scores, estimand), _tests_note(others, scores.bad, smallest, len(tests)))
    figures = [
        _group_figure(kernel, group, design, config, estimand, p=tests.get(index), confidence=confidence, notes=notes)
        for index, (group, kernel) in enumerate(kernels.items())
    ]
    figures = corrected(figures, RELATIVE_GROUPS)
    if len(tested) >= 2 and estimand.spread is not None:
        tally = reduce(add, (kernel.tally for kernel in kernels.values()))
        values = np.array([figures[index].value for index in tested], dtype=np.float64)
        if scores.unmarked:  # compared with it, groups that are alike can all be far from 0
            among = scores.among_themselves.tables
            observed, permuted = among.studentised(scores.bad[None, :])[0], among.studentised(others.labels)
        tested = np.flatnonzero(~np.isnan(observed))
        p = p_of(np.square(observed[tested]).sum(), np.square(permuted[:, tested]).sum(axis=1), others, relative=True)
        note = _tests_note(others, scores.bad, others.smallest, 1)
        figures.append(_spread_figure(estimand.spread, figures[0], tally, values, p, note))
    return figures


def _scores_of(
    rows: pd.DataFrame, design: Design, scale: Scale, estimand: "Relative"
) -> tuple[GroupScores, RowPositions]:
    """Return the scores of the config's groups; ResultError where the design does not name the group or the words."""
    if design.group is None or set(design.words) != set(ROLES):
        raise ResultError(
            f"{estimand.id}: the design names no group or no evaluative words; check `target` and `roles`"
        )
    return group_scores(rows, design, scale, estimand.reference)


def _reference_notes(scores: GroupScores, estimand: "Relative") -> Iterator[str]:
    """Yield what a reader has to know of what the groups are compared with."""
    if scores.unmarked:
        yield "against the sentence that names no group"
    elif estimand.reference is others_median and 1 < len(scores.groups) < FEW_GROUPS:
        yield f"with {len(scores.groups)} groups the median of the others resists no outlier well"


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


def _group_rows(scores: GroupScores, positions: RowPositions, index: int, design: Design) -> KernelRows:
    """Return the pairs of a bad and a good word in a frame that can be compared for a group; words are codes."""
    bad, good = np.flatnonzero(scores.bad), np.flatnonzero(~scores.bad)
    block = scores.kernel[index][np.ix_(bad, good)]
    present = np.nonzero(~np.isnan(block))
    kernel = block[present]
    return KernelRows(
        table=pd.DataFrame({design.words[role]: codes for role, codes in zip(ROLES, present[:2], strict=True)}),
        kernel=kernel,
        weights=np.full(len(kernel), 1 / max(1, len(kernel))),
        offset=0.0,
        variables=(),
        tally=group_tally(scores, positions, index),
    )


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
        scores, positions = _scores_of(rows, design, scale, self)
        return {group: _group_rows(scores, positions, index, design) for index, group in enumerate(scores.groups)}

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
RELATIVE_ESTIMANDS = (RELATIVE, RELATIVE_MEAN, SPREAD)
