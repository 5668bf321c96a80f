"""Scores of the sentences of a config by group, word and context, and what the other groups make one number of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands.kernel import KernelRows, Tally, Words, labels, row_codes
from senseprobe.evaluate.estimands.permutation_null import (
    ROLES,
    WordTables,
    cluster_columns,
    marks_bad,
    word_clusters,
    word_codes,
)
from senseprobe.evaluate.estimands.word_correlation import correlate_words
from senseprobe.records import Design
from senseprobe.statistics import BoolArray, Divisions, FloatArray, IntArray, Scale, psi

NO_COUNTERPART = "without a counterpart"
"""Of rows whose words no row of another group (or of the sentence that names none) has, as happens in samples."""


def others_mean(scores: FloatArray) -> FloatArray:
    """Return the mean over the other groups that were scored, NaN where there are none; same shape as `scores`.

    >>> others_mean(np.array([[1.0], [2.0], [6.0]])).ravel().tolist()
    [4.0, 3.5, 1.5]
    """
    scored = ~np.isnan(scores)
    count = scored.sum(axis=0) - scored
    total = np.nansum(scores, axis=0) - np.where(scored, scores, 0.0)
    return np.asarray(np.divide(total, count, out=np.full_like(scores, np.nan), where=count > 0))


def others_median(scores: FloatArray) -> FloatArray:
    """Return the median over the other scored groups, of an even count the mean of the middle two; as `others_mean`.

    >>> others_median(np.array([[1.0], [2.0], [6.0], [9.0]])).ravel().tolist()
    [6.0, 6.0, 2.0, 2.0]
    """
    scored = ~np.isnan(scores)
    count = scored.sum(axis=0) - scored
    order = np.argsort(scores, axis=0, kind="stable")  # what was not scored comes last
    rank, ascending = np.argsort(order, axis=0), np.take_along_axis(scores, order, axis=0)
    middle = [index + (index >= rank) for index in (np.maximum(count - 1, 0) // 2, count // 2)]
    lower, upper = (np.take_along_axis(ascending, np.minimum(index, len(scores) - 1), axis=0) for index in middle)
    return np.where(count > 0, (lower + upper) / 2, np.nan)


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
        correlation = correlate_words(means, self.bad, seed)
        return "" if correlation is None else correlation.note

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
        in_group = self.group == index
        bad, good, context = (column[in_group] for column in (*(self.words[role] for role in ROLES), self.context))
        lost, used = ~self.scored[in_group], np.zeros(int(in_group.sum()), dtype=np.bool_)
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
