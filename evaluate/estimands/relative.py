"""`relative`, each group against the others with the same words, and `spread`, how much the groups differ.

S(g, w, f) is the score of the sentence of group g with word w in frame f, and r(g, w, f) is S less the mean over the
other groups, or less the sentence that names no group. R_g = 100 · mean over frames, bad and good words of
ψ(r(g, bad, f) - r(g, good, f)) - 50. What the words themselves attract, whatever the group, cancels.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.kernels import Tally, codes_of, estimate, fixed_slots, labels
from senseprobe.records import Design, Figure
from senseprobe.statistics import (
    BoolArray,
    FactorLevels,
    FloatArray,
    Projection,
    holm,
    permutation_p,
    psi,
)

__all__ = ["PERMUTATIONS", "Sentences", "relative_figures"]

PERMUTATIONS = 9_999


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

    def relative(self, bad: FloatArray) -> FloatArray:
        """R_g in points, shape (P, G), for P divisions of the words: `bad`, shape (P, W), is 1 for bad, 0 for good."""
        valid = ~np.isnan(self.kernel)
        wins = np.where(valid, self.kernel, 0.0).sum(axis=3)
        sums, counts = (
            np.stack([((bad @ table) * (1 - bad)).sum(axis=1) for table in tables], axis=1)
            for tables in (wins, valid.sum(axis=3).astype(np.float64))
        )
        share = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
        return np.asarray(100 * np.round(share, 12) - 50)


def _sentences(rows: pd.DataFrame, design: Design) -> Sentences:
    """Gather the config's sentences; the unmarked level, where there is one, becomes the base of all groups."""
    if design.group is None or set(design.words) != {"stereo", "anti"}:
        raise ResultError("relative: the design names no group or no evaluative words; check `target` and `roles`")
    groups, group = np.unique(labels(rows, design.group).astype(str), return_inverse=True)
    words = [np.unique(labels(rows, design.words[role]).astype(str)) for role in ("stereo", "anti")]
    contexts = _contexts(rows, design)
    shape = (len(groups), sum(map(len, words)), int(contexts.max(initial=-1)) + 1)
    scores, exists = np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
    for role, known, offset in (("stereo", words[0], 0), ("anti", words[1], len(words[0]))):
        word = offset + np.searchsorted(known, labels(rows, design.words[role]).astype(str))
        score = rows[f"{role}_score"].to_numpy(dtype=np.float64)
        finite = np.isfinite(score)
        exists[group, word, contexts] = True
        scores[group[finite], word[finite], contexts[finite]] = score[finite]
    marked = groups != design.reference
    return Sentences(
        slot=design.group,
        groups=tuple(str(name) for name in groups[marked]),
        bad=np.arange(shape[1]) < len(words[0]),
        scores=scores[marked],
        base=_others(scores) if marked.all() else np.broadcast_to(scores[~marked], scores[marked].shape),
        exists=exists[marked],
    )


def _contexts(rows: pd.DataFrame, design: Design) -> NDArray[np.intp]:
    """Code of what a sentence has besides its group and its evaluative word: frame and other slots, shape (N,)."""
    besides = {design.group, *design.words.values()}
    columns = ["frame", *(slot for slot in design.slots if slot not in besides)]
    return codes_of([labels(rows, column) for column in columns], len(rows))


def _others(scores: FloatArray) -> FloatArray:
    """Mean over the other groups that were scored, NaN where there are none; same shape as `scores`."""
    scored = ~np.isnan(scores)
    count = scored.sum(axis=0) - scored
    total = np.nansum(scores, axis=0) - np.where(scored, scores, 0.0)
    return np.asarray(np.divide(total, count, out=np.full_like(scores, np.nan), where=count > 0))


def relative_figures(rows: pd.DataFrame, design: Design, config: str, *, seed: int) -> list[Figure]:
    """R of each group, with intervals over the words and p-values corrected over the groups; then their spread.

    Polarity is permuted over words, the same permutation in all groups. A single group has no spread. Raises
    ResultError where the design does not name the group or the words.
    """
    sentences = _sentences(rows, design)
    observed = sentences.relative(sentences.bad[None, :].astype(np.float64))[0]
    permuted = sentences.relative(_permutations(sentences.bad, seed))
    known = np.flatnonzero(~np.isnan(observed))
    p = permutation_p(np.abs(observed[known]), np.abs(permuted[:, known]))
    tests = dict(zip(known.tolist(), zip(p.tolist(), holm(p).tolist(), strict=True), strict=True))
    figures = []
    for index in range(len(observed)):
        raw, corrected = tests.get(index, (None, None))
        figures.append(_group_figure(sentences, index, design, config, p=raw, p_holm=corrected))
    if len(known) >= 2:
        figures.append(_spread_figure(figures, observed[known], permuted[:, known]))
    return figures


def _permutations(bad: BoolArray, seed: int) -> FloatArray:
    """Random divisions of the words into as many bad and good ones, shape (P, W)."""
    divisions = np.tile(bad.astype(np.float64), (PERMUTATIONS, 1))
    return np.random.default_rng(seed).permuted(divisions, axis=1)


def _group_figure(
    sentences: Sentences, index: int, design: Design, config: str, *, p: float | None, p_holm: float | None
) -> Figure:
    """R of one group; its rows are the pairs of a bad and a good word in a frame that the config has for it."""
    bad, good = np.flatnonzero(sentences.bad), np.flatnonzero(~sentences.bad)
    block = sentences.kernel[index][np.ix_(bad, good)]
    exists = sentences.exists[index]
    pairs = int((exists[bad][:, None, :] & exists[good][None, :, :]).sum())
    held = np.array(np.nonzero(~np.isnan(block)), dtype=np.intp)
    kernel = block[tuple(held)]
    words = dict(zip((design.words["stereo"], design.words["anti"]), held[:2], strict=True))
    levels = [_word_levels(name, codes) for name, codes in words.items()]
    rule = Projection(np.full(len(kernel), 1 / max(1, len(kernel))), np.zeros(len(kernel), dtype=np.intp), levels)
    fields = estimate(round(float(kernel.mean()), 12) if len(kernel) else None, rule, kernel)
    fields["fixed"] = (*rule.fixed, *fixed_slots(design, [sentences.slot, *words]))
    against = "against the sentence that names no group" if design.reference else ""
    tally = Tally(rows=pairs, scored=len(kernel), unscored=pairs - len(kernel)).with_ties(kernel)
    return Figure(
        config=config,
        sense_type=design.sense_type,
        estimand="relative",
        group=sentences.groups[index],
        neutral=0.0,
        p=p,
        p_holm=p_holm,
        **{**fields, "note": "; ".join(filter(None, (fields.get("note", ""), against)))},
        **tally.as_fields(),
    )


def _spread_figure(groups: list[Figure], observed: FloatArray, permuted: FloatArray) -> Figure:
    """Spread of R over at least two groups, shape (G,), against the spreads of (P, G) permuted ones."""
    spread = observed.std(ddof=1)
    return Figure(
        config=groups[0].config,
        sense_type=groups[0].sense_type,
        estimand="spread",
        value=float(spread),
        neutral=0.0,
        p=float(permutation_p(spread, permuted.std(axis=1, ddof=1))),
        rows=sum(figure.rows for figure in groups),
        scored=sum(figure.scored for figure in groups),
        unscored=sum(figure.unscored for figure in groups),
        ties=sum(figure.ties for figure in groups),
        fixed=groups[0].fixed,
    )


def _word_levels(name: str, codes: NDArray[np.intp]) -> FactorLevels:
    """Words as the levels of a factor of one stratum; words without a scored pair are no levels."""
    _, dense = np.unique(codes, return_inverse=True)
    return FactorLevels(
        name=name, codes=dense[None, :].astype(np.intp), strata=("",) * (int(dense.max(initial=-1)) + 1)
    )
