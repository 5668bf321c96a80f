"""Permutation tests: other divisions of labels, and flipped signs, counted exactly where they are few enough.

`studentised` is the statistic of a test by labels that keeps its size where the variances of the labels differ.

`divisions` and `permutation_p` are for labels (which words are bad), `sign_flips` for paired values (two models on the
same levels). They use all permutations where these are few, else a number of different ones, drawn with a seed.
"""

import hashlib
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from senseprobe.statistics.intervals import BoolArray, FloatArray, IntArray

PERMUTATIONS = 9_999
"""The number of permutations drawn where there are more; with the observed one, 10,000."""

EQUAL = 1e-9
"""Statistics that differ by less are equal, so that the order of a sum does not matter."""

MAX_BLOCK = 2**17
"""The most numbers in an array of `studentised`, so that it stays in the processor's cache."""

MAX_SUMS = 2**18
"""The most distinct sums of half of the levels with which all signs are counted: enough for any 36 levels."""


def permutation_p(observed: ArrayLike, permuted: ArrayLike, *, relative: bool = False) -> FloatArray:
    """Return (1 + #{permuted ≥ observed}) / (1 + P) for P permutations along the first axis.

    Equal within 1e-9 counts; where `relative`, within 1e-9 of the observed statistic, which is then 0 or more.

    >>> float(permutation_p(2.0, [0.1, 1.0, 3.0]))
    0.5
    """
    draws, least = np.asarray(permuted, dtype=np.float64), np.asarray(observed, dtype=np.float64)
    hits = (draws >= (least * (1 - EQUAL) if relative else least - EQUAL)).sum(axis=0)
    return np.asarray((1 + hits) / (1 + len(draws)))


def studentised(wins: FloatArray, counts: IntArray | FloatArray, labels: BoolArray) -> FloatArray:
    """Return T of G tables of W things for P divisions of the things into marked and others: shape (P, G).

    Brunner and Munzel's statistic in the logit form (Neubert & Brunner 2007; Pauly, Asendorf & Konietschke 2016): of
    the share π of pairs of a marked thing and another one that the marked one wins, T = logit(π) · π(1 - π) / √V. V is
    the interval rule's variance of π with marked and other things as its factors, both counted, however few: of a
    complete table the variances of the things' means, s²(marked)/m + s²(others)/n. Among k pairs of things π is
    clipped to [1/(2k), 1 - 1/(2k)] and V is at least 1/(2k²), as if one pair tied: complete separation stays the most
    extreme division. NaN where a division has no pair.

    - `wins`: shape (G, W, W), how often the first thing wins against the second, ties as ½; it and its transpose add up
      to `counts`.
    - `counts`: shape (W, W), how often two things meet, the same in all tables; the diagonal is ignored.
    - `labels`: shape (P, W), which things are marked.
    """
    statistics = np.empty((len(labels), len(wins)))
    rows = max(1, MAX_BLOCK // max(1, labels.shape[1]))
    for start in range(0, len(labels), rows):
        marked = np.ascontiguousarray(labels[start : start + rows].T, dtype=np.float64)
        pairing, tables = _Pairing(counts, marked), max(1, MAX_BLOCK // max(1, marked.size))
        for first in range(0, len(wins), tables):
            block = pairing.statistics(wins[first : first + tables] - counts / 2)
            statistics[start : start + rows, first : first + tables] = block.T
    return statistics


class _Pairing:
    """Pairs of a marked thing and another one, for P divisions of W things: `marked` has shape (W, P).

    It has, for each thing, its pairs, and the weight of its squared projection, which is Bessel's correction.
    """

    def __init__(self, counts: IntArray | FloatArray, marked: FloatArray) -> None:
        met = np.where(np.eye(len(counts), dtype=np.bool_), 0.0, counts)
        others = 1 - marked
        with_marked = met @ marked
        pair_counts = np.where(marked > 0, met.sum(axis=1)[:, None] - with_marked, with_marked)
        sizes = [((pair_counts > 0) * group).sum(axis=0) for group in (marked, others)]
        weights = [np.divide(n, n - 1, out=np.zeros_like(n), where=n > 1) for n in sizes]
        self._marked = marked
        self._weights = marked * weights[0] + others * weights[1]
        self._pair_counts = pair_counts
        self._weighted = self._weights * pair_counts
        self._total = (pair_counts * marked).sum(axis=0)
        self._pairs = (((met > 0) @ marked) * others).sum(axis=0)

    def statistics(self, margins: FloatArray) -> FloatArray:
        """Return T of tables, shape (G, W, W), of wins minus half of the meetings: shape (G, P)."""
        ours = margins.sum(axis=2)
        # For another thing, its sum over the marked ones; for a marked one, over all minus over the marked ones. The
        # sums of the marked ones among themselves add up to 0.
        sums = (np.swapaxes(margins, 1, 2) + ours[:, :, None] * np.eye(margins.shape[1])) @ self._marked
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (ours @ self._marked) / self._total
            # Σ weight · (sum - share · pairs)², over all pairs squared.
            squares = np.einsum("gwp,gwp,wp->gp", sums, sums, self._weights)
            crossed = np.einsum("gwp,wp->gp", sums, self._weighted)
            squares += share * (share * (self._weighted * self._pair_counts).sum(axis=0) - 2 * crossed)
            least = 1 / (2 * self._pairs)
            variance = np.maximum(squares / self._total**2, 2 * least**2)
            share = np.clip(share, least - 0.5, 0.5 - least)
            return np.asarray(np.log((0.5 + share) / (0.5 - share)) * (0.25 - share**2) / np.sqrt(variance))


@dataclass(frozen=True, kw_only=True)
class Divisions:
    """Other ways to divide W things into as many of each label.

    - `labels`: shape (P, W), each once, the observed division not among them.
    - `exact`: whether these are all divisions.
    - `smallest`: the smallest p that a two-sided test over them can give. Where the mirror image of the observed
      division is among them, its statistic is always as extreme.
    """

    labels: BoolArray
    exact: bool
    smallest: float


def divisions(labels: BoolArray, seed: int, most: int = PERMUTATIONS) -> Divisions:
    """Return other divisions of `labels`, shape (W,): all if at most `most`, else so many, drawn with a seed.

    >>> divisions(np.array([True, True, False]), seed=0).labels.tolist()
    [[True, False, True], [False, True, True]]
    """
    exact = math.comb(len(labels), int(labels.sum())) - 1 <= most
    rng = np.random.default_rng(seed)
    if exact:
        marks = list(itertools.combinations(range(len(labels)), int(labels.sum())))  # in lexical order
        divided = np.zeros((len(marks), len(labels)), dtype=np.bool_)
        divided[np.arange(len(marks))[:, None], np.array(marks, dtype=np.intp)] = True
        others = np.asarray(divided[(divided != labels).any(axis=1)])
    else:
        others = _draw_distinct(lambda rows: rng.permuted(np.tile(labels, (rows, 1)), axis=1), labels, most)
    mirrored = bool((others == ~labels).all(axis=1).any())
    return Divisions(labels=others, exact=exact, smallest=(1 + mirrored) / (1 + len(others)))


def _draw_distinct(draw: Callable[[int], BoolArray], observed: BoolArray, count: int) -> BoolArray:
    """Draw `count` different rows, none of them the observed one, and return them in the order of the draws."""
    seen = {observed.tobytes()}
    distinct: list[BoolArray] = []
    while len(distinct) < count:
        for row in draw(count - len(distinct)):
            if (key := row.tobytes()) not in seen:
                seen.add(key)
                distinct.append(row)
    return np.array(distinct, dtype=np.bool_).reshape(count, len(observed))


@dataclass(frozen=True, kw_only=True, slots=True)
class SignFlips:
    """A two-sided test that paired values are symmetric about 0.

    - `p`: share of the sign vectors whose sum is as far from 0 as the observed one, which is counted.
    - `smallest`: the smallest p that so many values can give: 2 of 2ⁿ where none is 0.
    - `levels`: how many values are not 0; the others have no effect.
    - `exact`: whether all 2ⁿ sign vectors were counted, or a sample of different ones.
    """

    p: float
    smallest: float
    levels: int
    exact: bool


def sign_flips(values: ArrayLike, seed: int = 0) -> SignFlips:
    """Test that independent values, shape (n,), are symmetric about 0, by the signs that each could have had.

    Exact where the sums of either half of the values are few enough: for any 36 values, and for many more where they
    are equal in size. For values of -1, 0 and 1 this is McNemar's exact test.

    >>> sign_flips([1, 1, 1, 1, 1, -1])
    SignFlips(p=0.21875, smallest=0.03125, levels=6, exact=True)
    """
    given = np.asarray(values, dtype=np.float64)
    size = np.abs(given).sum()
    scaled = np.round(given / size, 12) if size else given[:0]
    scaled = scaled[np.abs(scaled) > EQUAL]
    scaled = scaled[np.lexsort((scaled, np.abs(scaled)))]  # the order of the levels must not matter
    if not len(scaled):
        return SignFlips(p=1.0, smallest=1.0, levels=0, exact=True)
    observed, lowest = abs(float(scaled.sum())), 2.0 ** (1 - len(scaled))
    halves = [_signed_sums(scaled[start::2]) for start in (0, 1)]
    if halves[0] is not None and halves[1] is not None:
        p = _tail_probability(*halves[0], *halves[1], observed)
        return SignFlips(p=p, smallest=lowest, levels=len(scaled), exact=True)
    rng, ones = np.random.default_rng(seed), np.ones(len(scaled), dtype=np.bool_)
    signs = _draw_distinct(lambda rows: rng.integers(0, 2, (rows, len(scaled))).astype(np.bool_), ones, PERMUTATIONS)
    p = float(permutation_p(observed, np.abs(np.where(signs, 1.0, -1.0) @ scaled)))
    return SignFlips(p=p, smallest=1 / (1 + PERMUTATIONS), levels=len(scaled), exact=False)


def _signed_sums(values: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the distinct sums of values with random signs, ascending, and their probabilities; None where too many."""
    sums: FloatArray = np.zeros(1)
    shares: FloatArray = np.ones(1)
    for value in values:
        # A grid of 1e-12 makes sums equal that differ by their rounding only; all of them lie in [-1, 1].
        doubled = np.round(np.concatenate([sums - value, sums + value]), 12)
        sums, which = np.unique(doubled, return_inverse=True)
        shares = np.bincount(which, np.tile(shares / 2, 2)).astype(np.float64)
        if len(sums) > MAX_SUMS:
            return None
    return sums, shares


def _tail_probability(
    a: FloatArray, a_shares: FloatArray, b: FloatArray, b_shares: FloatArray, observed: float
) -> float:
    """Return P(|A + B| ≥ observed) of two independent sums, by looking each sum of A up among those of B."""
    below = np.concatenate([[0.0], np.cumsum(b_shares)])
    above = np.concatenate([np.cumsum(b_shares[::-1])[::-1], [0.0]])
    reach = observed - EQUAL
    upper = above[np.searchsorted(b, reach - a, side="left")]
    lower = below[np.searchsorted(b, -reach - a, side="right")]
    return min(1.0, float(a_shares @ (upper + lower)))


def holm(p: ArrayLike) -> FloatArray:
    """Return p-values, shape (m,), after Holm's (1979) step-down correction over all of them, in the same order.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(1.0, stepped)
    return corrected


def tarone_holm(p: ArrayLike, least: ArrayLike, alpha: float) -> FloatArray:
    """Return p-values, shape (m,), after Holm's correction over the tests that can reach alpha; NaN of the others.

    `least` is the smallest p that each test can have. With k the smallest number such that at most k tests can reach
    alpha/k, the others leave: they could not be rejected, and cost the rest nothing (Tarone 1990). A test whose p is
    NaN was not made and leaves before.

    >>> tarone_holm([0.01, 0.04, 0.5], [0.001, 0.001, 0.25], alpha=0.05).tolist()
    [0.02, 0.04, nan]
    """
    values, smallest = np.asarray(p, dtype=np.float64), np.asarray(least, dtype=np.float64)
    tested = ~np.isnan(values)
    able = tested
    for k in range(1, int(tested.sum()) + 1):
        able = tested & (smallest <= alpha / k)
        if able.sum() <= k:
            break
    corrected = np.full(len(values), np.nan)
    corrected[able] = holm(values[able])
    return corrected


def hash_draw(seed: int, *words: str, size: int = 8) -> int:
    """Return a number of `size` bytes, from 0, for a seed and words such as a config and an id.

    It depends on nothing else: neither on the order of rows nor on how files are cut.

    >>> hash_draw(0, "race", "row", size=2), hash_draw(1, "race", "row", size=2)
    (57211, 53808)
    """
    text = "\0".join([str(seed), *words]).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=size).digest())
