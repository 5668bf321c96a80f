"""Whether words of one polarity go together over groups, as synonyms do, though they are taken as independent.

With eight groups and clusters of three words that correlate .8, the test of one group rejects a true null in over 20 %
and not in 5 (docs/coverage.md). What a word has with each group, once what it has with all and what the group has with
all words of its polarity is taken away, is correlated with the same of another word; over all pairs of words of one
polarity the root of the mean square of these correlations is held against that of words whose groups are shuffled, each
for itself.
"""

from dataclasses import dataclass

import numpy as np

from senseprobe.statistics import LEVEL, BoolArray, FloatArray, permutation_p

FEWEST_GROUPS = 4
"""Of fewer a correlation says nothing: two deviations from a mean are each other's opposite."""

FEWEST_WORDS = 3
SHUFFLES = 999


@dataclass(frozen=True, kw_only=True, slots=True)
class WordCorrelation:
    """How much words of one polarity go together over groups.

    - `value`: root of the mean square of the correlations of pairs of words, from 0 to 1; `expected`: the median of the
      same of independent words. `p`: how often these have as much, one-sided.
    """

    value: float
    expected: float
    p: float

    @property
    def note(self) -> str:
        """What is to be said beside a figure; empty where words go together no more than independent ones would."""
        if self.p > LEVEL:
            return ""
        return (
            f"words of one polarity behave alike across groups (correlation {self.value:.2f}, "
            f"{self.expected:.2f} if independent): interval and p are too optimistic unless `generalise` names "
            "clusters of words"
        )


def correlate_words(scores: FloatArray, bad: BoolArray, seed: int) -> WordCorrelation | None:
    """Return how much words of one polarity go together, by scores of groups and words, shape (G, W); None of too few.

    `bad` marks the bad words, shape (W,). Words without a score of every group are left out.
    """
    whole = np.isfinite(scores).all(axis=0)
    sides = [scores[:, whole & side] for side in (bad, ~bad)]
    parts = [_centred(side) for side in sides if side.shape[1] >= FEWEST_WORDS]
    parts = [part for part in parts if (np.abs(part).max(axis=0) > 1e-9 * max(1.0, float(np.abs(part).max()))).all()]
    if len(scores) < FEWEST_GROUPS or not parts:
        return None
    rng = np.random.default_rng(seed)
    shuffled = [_centred(rng.permuted(np.broadcast_to(part, (SHUFFLES, *part.shape)), axis=1)) for part in parts]
    value, others = (_root_mean_square(matrices) for matrices in (parts, shuffled))
    return WordCorrelation(
        value=float(value), expected=float(np.median(others)), p=float(permutation_p(value, np.atleast_1d(others)))
    )


def _centred(scores: FloatArray) -> FloatArray:
    """Take the means over words and over groups away, shape (..., G, W)."""
    centred = scores - scores.mean(axis=-1, keepdims=True)
    return np.asarray(centred - centred.mean(axis=-2, keepdims=True))


def _root_mean_square(parts: list[FloatArray]) -> FloatArray:
    """Return the root of the mean square of the correlations of words, over the pairs of all parts, shape (...)."""
    total, pairs = np.zeros(parts[0].shape[:-2]), 0
    for part in parts:
        norm = part / np.sqrt(np.square(part).sum(axis=-2, keepdims=True))
        squares = np.square(np.swapaxes(norm, -1, -2) @ norm)
        words = part.shape[-1]
        total = total + (squares.sum(axis=(-1, -2)) - words) / 2
        pairs += words * (words - 1) // 2
    return np.asarray(np.sqrt(np.maximum(total, 0.0) / pairs))
