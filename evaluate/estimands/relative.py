"""`relative`, each group against the others with the same words, and `spread`, how much the groups differ.

S(g, w, f) is the score of the sentence of group g with word w in frame f, and r(g, w, f) is S less the mean over the
other groups, or less the sentence that names no group. R_g = 100 · mean over frames, bad and good words of
ψ(r(g, bad, f) - r(g, good, f)) - 50. What the words themselves attract, whatever the group, cancels.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.families import RELATIVE, corrected
from senseprobe.evaluate.estimands.kernels import (
    KernelRows,
    Tally,
    codes_of,
    estimate,
    fixed_slots,
    labels,
    project,
)
from senseprobe.evaluate.estimands.null import ROLES, WordTables, of_test, p_of, word_codes
from senseprobe.records import Design, Factor, Figure
from senseprobe.statistics import CONFIDENCE, BoolArray, Divisions, FloatArray, divisions, psi

__all__ = ["Sentences", "others_mean", "over_words", "relative_figures", "relative_rows"]


@dataclass(frozen=True, kw_only=True)
class Sentences:
    """Scores of the sentences of a config by group, word and context (the frame, and any slot besides).

    `scores` has shape (G, W, C), NaN where unscored; `exists` says which sentences the config has. Bad words come
    first: `bad` has shape (W,). `slot` holds the groups. `base` is what is taken away from `scores` to make r.
    """

    slot: str
    groups: tuple[str, ...]
    bad: BoolArray
    scores: FloatArray
    base: FloatArray
    exists: BoolArray

    @cached_property
    def kernel(self) -> FloatArray:
        """ψ(r(g, w, f) - r(g, w', f)), shape (G, W, W, C); NaN where one cannot be compared."""
        r = self.scores - self.base
        difference = r[:, :, None, :] - r[:, None, :, :]
        size = np.abs(self.scores)
        kernel = psi(difference, np.fmax(size[:, :, None, :], size[:, None, :, :]))
        kernel[np.isnan(difference)] = np.nan
        return kernel

    @cached_property
    def tables(self) -> WordTables:
        """How often each word's r is above another's, a table for each group."""
        valid = ~np.isnan(self.kernel)
        wins = np.where(valid, self.kernel, 0.0).sum(axis=3)
        return WordTables(wins=wins, counts=valid.sum(axis=3).astype(np.float64))


def _sentences(rows: pd.DataFrame, design: Design) -> Sentences:
    """Gather the config's sentences; the unmarked level, where there is one, becomes the base of all groups."""
    if design.group is None or set(design.words) != set(ROLES):
        raise ResultError("relative: the design names no group or no evaluative words; check `target` and `roles`")
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
    return Sentences(
        slot=design.group,
        groups=tuple(str(name) for name in groups[marked]),
        bad=bad,
        scores=scores[marked],
        base=others_mean(scores) if marked.all() else np.broadcast_to(scores[~marked], scores[marked].shape),
        exists=exists[marked],
    )


def _contexts(rows: pd.DataFrame, design: Design) -> NDArray[np.intp]:
    """Code of what a sentence has besides its group and its evaluative word: frame and other slots, shape (N,)."""
    besides = {design.group, *design.words.values()}
    columns = ["frame", *(slot for slot in design.slots if slot not in besides)]
    return codes_of([labels(rows, column) for column in columns], len(rows))


def others_mean(scores: FloatArray) -> FloatArray:
    """Mean over the other groups that were scored, NaN where there are none; same shape as `scores`."""
    scored = ~np.isnan(scores)
    count = scored.sum(axis=0) - scored
    total = np.nansum(scores, axis=0) - np.where(scored, scores, 0.0)
    return np.asarray(np.divide(total, count, out=np.full_like(scores, np.nan), where=count > 0))


def relative_figures(
    rows: pd.DataFrame, design: Design, config: str, *, seed: int, confidence: float = CONFIDENCE
) -> list[Figure]:
    """R of each group, with intervals over the words and p-values corrected over the groups; then their spread.

    Polarity is permuted over words, the same permutation in all groups. A single group has no spread. Raises
    ResultError where the design does not name the group or the words.
    """
    sentences = _sentences(rows, design)
    others = divisions(sentences.bad, seed)
    observed = sentences.tables.points(sentences.bad[None, :])[0]
    permuted = sentences.tables.points(others.labels)
    known = np.flatnonzero(~np.isnan(observed))
    p = p_of(np.abs(observed[known]), np.abs(permuted[:, known]), others)
    tests = {} if p is None else dict(zip(known.tolist(), p.tolist(), strict=True))
    figures = [
        _group_figure(sentences, index, design, config, p=tests.get(index), confidence=confidence, told=of_test(others))
        for index in range(len(observed))
    ]
    figures = corrected(figures, RELATIVE)
    if len(known) >= 2:
        figures.append(_spread_figure(figures, observed[known], permuted[:, known], others))
    return figures


def relative_rows(rows: pd.DataFrame, design: Design) -> dict[str, KernelRows]:
    """R of each group as rows with a kernel, for the interval rule over the words: `over_words` of the design.

    Raises ResultError where the design does not name the group or the words.
    """
    sentences = _sentences(rows, design)
    return {group: _group_rows(sentences, index, design) for index, group in enumerate(sentences.groups)}


def over_words(design: Design) -> Design:
    """The design with the bad and the good words as its only factors."""
    words = (design.words[role] for role in ROLES)
    return replace(design, factors=tuple(Factor(name=word, columns=(word,)) for word in words))


def _group_rows(sentences: Sentences, index: int, design: Design) -> KernelRows:
    """Pairs of a bad and a good word in a frame that the config has for a group; words are told by their codes."""
    bad, good = np.flatnonzero(sentences.bad), np.flatnonzero(~sentences.bad)
    block = sentences.kernel[index][np.ix_(bad, good)]
    exists = sentences.exists[index]
    pairs = int((exists[bad][:, None, :] & exists[good][None, :, :]).sum())
    held = np.nonzero(~np.isnan(block))
    kernel = block[held]
    return KernelRows(
        table=pd.DataFrame({design.words[role]: codes for role, codes in zip(ROLES, held[:2], strict=True)}),
        kernel=kernel,
        weights=np.full(len(kernel), 1 / max(1, len(kernel))),
        offset=0.0,
        variables=(),
        tally=Tally(rows=pairs, scored=len(kernel), unscored=pairs - len(kernel)).with_ties(kernel),
    )


def _group_figure(
    sentences: Sentences, index: int, design: Design, config: str, *, p: float | None, confidence: float, told: str
) -> Figure:
    """R of one group, its interval over the words; `told` is to be known of its p."""
    kernel = _group_rows(sentences, index, design)
    rule = project(kernel, over_words(design))
    fields = estimate(kernel.share, rule, kernel.kernel, confidence)
    fields["fixed"] = (*rule.fixed, *fixed_slots(design, [sentences.slot, *design.words.values()]))
    against = "against the sentence that names no group" if design.reference else ""
    told = told if kernel.share is not None else ""
    return Figure(
        config=config,
        sense_type=design.sense_type,
        estimand="relative",
        group=sentences.groups[index],
        neutral=0.0,
        p=p,
        **{**fields, "note": "; ".join(filter(None, (fields.get("note", ""), against, told)))},
        **kernel.tally.as_fields(),
    )


def _spread_figure(groups: list[Figure], observed: FloatArray, permuted: FloatArray, others: Divisions) -> Figure:
    """Spread of R over at least two groups, shape (G,), against the spreads of (P, G) permuted ones."""
    spread = observed.std(ddof=1)
    p = p_of(spread, permuted.std(axis=1, ddof=1), others)
    return Figure(
        config=groups[0].config,
        sense_type=groups[0].sense_type,
        estimand="spread",
        value=float(spread),
        neutral=0.0,
        p=None if p is None else float(p),
        rows=sum(figure.rows for figure in groups),
        scored=sum(figure.scored for figure in groups),
        unscored=sum(figure.unscored for figure in groups),
        ties=sum(figure.ties for figure in groups),
        fixed=groups[0].fixed,
        note=of_test(others),
    )
