"""Scores of a config's sentences by group, word and context, each group beside what it is compared with."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.evaluate.estimands.base import Tally, codes_of, labels
from senseprobe.evaluate.estimands.permutation_null import ROLES, WordTables, word_codes
from senseprobe.records import Design
from senseprobe.statistics import BoolArray, FloatArray, IntArray, Scale, psi

Number = TypeVar("Number", np.float64, np.bool_)

NO_COUNTERPART = "without a counterpart"
"""Of rows whose words no row of another group (or of the sentence that names none) has, as happens in samples."""


@dataclass(frozen=True, kw_only=True)
class RowPositions:
    """Where the two sentences of each of N rows stand in the tables of `GroupScores`.

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
class GroupScores:
    """Scores of the sentences of a config by group, word and context (the frame, and any slot besides).

    `scores` has shape (G, W, C), NaN where unscored. Bad words come first: `bad` has shape (W,). `base` is what is
    taken away from `scores` to make r, and `size` the largest magnitude of all scores that enter r, by which ties are
    recognised. `unmarked` says whether that is the sentence that names no group, not the other groups.
    """

    groups: tuple[str, ...]
    bad: BoolArray
    scores: FloatArray
    base: FloatArray
    size: FloatArray
    unmarked: bool
    scale: Scale

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
        size = np.fmax(self.size[:, :, None, :], self.size[:, None, :, :])
        kernel = psi(difference, size, self.scale)
        kernel[np.isnan(difference)] = np.nan
        return kernel

    @cached_property
    def tables(self) -> WordTables:
        """Counts of how often each word's r is above another's, a table for each group."""
        valid = ~np.isnan(self.kernel)
        wins = np.where(valid, self.kernel, 0.0).sum(axis=3)
        return WordTables(wins=wins, counts=valid.sum(axis=3).astype(np.float64))


def group_scores(
    rows: pd.DataFrame, design: Design, scale: Scale, reference: Callable[[FloatArray], FloatArray]
) -> tuple[GroupScores, RowPositions]:
    """Return the scores of a config's sentences, and where its rows have them.

    `reference` makes one number of those of the other groups; an unmarked level becomes the base of all instead.
    """
    groups, group = np.unique(labels(rows, str(design.group)).astype(str), return_inverse=True)
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
        base, size = reference(scores), _largest(scores)
    else:
        base = _of_unmarked(scores, marked)
        size = np.fmax(np.abs(scores[marked]), np.abs(base))
    sentences = GroupScores(
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


def group_tally(scores: GroupScores, positions: RowPositions, index: int) -> Tally:
    """Return the counts of a group's rows: those with a sentence that is compared, and those that lack a number."""
    own = positions.group == index
    lost, used = ~positions.scored[own], np.zeros(int(own.sum()), dtype=np.bool_)
    bad, good, context = (column[own] for column in (positions.bad, positions.good, positions.context))
    for word in (bad, good):
        lost |= positions.has_reference[index, word, context] & np.isnan(scores.base[index, word, context])
        used |= scores.compared[index, word, context]
    used &= ~lost
    ties = scores.kernel[index, bad, good, context] == 0.5
    tally = Tally(rows=len(lost), scored=int((~lost).sum()), unscored=int(lost.sum()), ties=int((used & ties).sum()))
    return tally.without(NO_COUNTERPART, int((~lost & ~used).sum()))
