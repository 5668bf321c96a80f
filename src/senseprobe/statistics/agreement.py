"""Agreement of people on nominal labels, and agreement beyond chance, with intervals from resampled items.

`agreement_within` is for the answers of one set of people: Krippendorff's alpha (2011, "Computing Krippendorff's
Alpha-Reliability"). `agreement_between` is for two sets, of which only answers across count: the cross-kappa of Wong,
Paritosh and Aroyo (2021, "Cross-replication Reliability"), which for one person in each set is Cohen's kappa.

A unit is what gets a label (a sentence); an item is what was sampled (a row), and has one or more units.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from senseprobe.statistics.intervals import CONFIDENCE, BoolArray, FloatArray, IntArray

DRAWS = 2_000
"""The number of times that items are resampled."""

FEWEST_ITEMS = 20
"""With fewer items there is no interval. Intervals from 20 items include the true value 91 times in 100, from 50 items
94 times, from 200 items 95 times: simulated with three people (tests/statistics/test_agreement.py)."""

MOST_UNDEFINED = 0.05
"""The largest share of draws without a figure (all their answers are one label) with which there is an interval."""

_BLOCK = 2**22
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A figure with its interval; `why` is the reason where one of them is None."""

    value: float | None
    interval: tuple[float, float] | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgreementEstimate:
    """Agreement on the units that can be compared.

    - `percent`: the share of pairs of answers to the same unit that are equal; between two sets, its mean over units.
    - `corrected`: agreement beyond chance: alpha, or cross-kappa; at most 1, and 0 where it is as expected by chance.
    - `items`, `units`, `answers`: how many were compared; `alone`: the number of answered units that were not.
    """

    percent: Estimate
    corrected: Estimate
    items: int
    units: int
    answers: int
    alone: int


Figures = Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]
"""Of totals, shape (D, K): agreement, chance-corrected agreement (nan where undefined), disagreement by chance."""


def agreement_within(
    counts: IntArray, items: IntArray, *, seed: int = 0, draws: int = DRAWS, confidence: float = CONFIDENCE
) -> AgreementEstimate:
    """Estimate agreement among the answers of one set of people.

    - `counts`: shape (U, C), how often each of C labels was given to each of U units. Units with fewer than two answers
      are left out, and counted.
    - `items`: shape (U,), the item that each unit belongs to; items are resampled, `draws` times with `seed`.

    >>> counts, items = np.array([[3, 0], [0, 3], [2, 1]]), np.array([0, 1, 2])
    >>> estimate = agreement_within(counts, items)
    >>> round(estimate.percent.value, 2), round(estimate.corrected.value, 2), estimate.corrected.why
    (0.78, 0.6, 'no interval from fewer than 20 items')
    """
    answered = counts.sum(axis=1)
    compared = answered >= 2
    label_counts, answer_counts = counts[compared].astype(np.float64), answered[compared].astype(np.float64)
    equal, pairs = (label_counts * (label_counts - 1)).sum(axis=1), answer_counts * (answer_counts - 1)
    columns = np.column_stack([(pairs - equal) / (answer_counts - 1), equal, pairs, label_counts])
    percent, corrected = _estimates(columns, items[compared], _alpha, seed, draws, confidence)
    return _agreement_estimate(percent, corrected, compared, answered, items)


def agreement_between(
    answers: IntArray, others: IntArray, items: IntArray, *, seed: int = 0, draws: int = DRAWS,
    confidence: float = CONFIDENCE,
) -> AgreementEstimate:  # fmt: skip
    """Estimate agreement of one set of people with another, by answers across only; see `agreement_within`.

    A unit has the same weight however many answered it. Units that one set did not answer are left out, and counted.
    """
    sizes = np.column_stack([answers.sum(axis=1), others.sum(axis=1)])
    compared = np.asarray((sizes > 0).all(axis=1))
    shares = answers[compared] / sizes[compared, :1], others[compared] / sizes[compared, 1:]
    columns = np.column_stack([(shares[0] * shares[1]).sum(axis=1), np.ones(int(compared.sum())), *shares])
    percent, corrected = _estimates(columns, items[compared], _cross_kappa, seed, draws, confidence)
    return _agreement_estimate(percent, corrected, compared, sizes.sum(axis=1), items)


def _agreement_estimate(
    percent: Estimate, corrected: Estimate, compared: BoolArray, answered: IntArray, items: IntArray
) -> AgreementEstimate:
    return AgreementEstimate(
        percent=percent,
        corrected=corrected,
        items=len(np.unique(items[compared])),
        units=int(compared.sum()),
        answers=int(answered[compared].sum()),
        alone=int((answered > 0).sum() - compared.sum()),
    )


def _alpha(totals: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """1 - Do / De of totals: disagreement Σ m Do, equal pairs, pairs, and how often each label was given."""
    labels = totals[:, 3:]
    given = labels.sum(axis=1)
    chance = _ratio(given**2 - np.square(labels).sum(axis=1), given * (given - 1))
    return _ratio(totals[:, 1], totals[:, 2]), 1 - _ratio(_ratio(totals[:, 0], given), chance), chance


def _cross_kappa(totals: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """1 - do / de of totals: agreement, units, and the shares of each label in one set and in the other."""
    units = totals[:, 1]
    first, second = np.split(totals[:, 2:] / units[:, None], 2, axis=1)
    equal, chance = totals[:, 0] / units, 1 - (first * second).sum(axis=1)
    return equal, 1 - _ratio(1 - equal, chance), chance


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide a part by its whole; nan where the whole is 0."""
    return np.asarray(
        np.divide(numerator, denominator, out=np.full(len(denominator), np.nan), where=denominator > _ROUNDING)
    )


def _estimates(
    columns: FloatArray, items: IntArray, figures: Figures, seed: int, draws: int, confidence: float
) -> tuple[Estimate, Estimate]:
    """Estimate agreement and chance-corrected agreement; `figures` computes them from totals of the columns."""
    if not len(columns):
        nothing = Estimate(value=None, why="items have only one answer each")
        return nothing, nothing
    codes = np.unique(items, return_inverse=True)[1]
    totals = np.zeros((int(codes.max()) + 1, columns.shape[1]))
    np.add.at(totals, codes, columns)
    # Few items differ in their totals, as items are answered in few ways.
    _, first, counts = np.unique(np.round(totals, 9), axis=0, return_index=True, return_counts=True)
    patterns, frequencies = totals[first], counts.astype(np.intp)
    (percent,), (corrected,), (chance,) = (array.tolist() for array in figures((frequencies @ patterns)[None]))
    size = int(frequencies.sum())
    samples = np.empty((2, 0))
    if size >= FEWEST_ITEMS:
        blocks = [np.stack(figures(totals)[:2]) for totals in _resampled(patterns, frequencies, seed, draws)]
        samples = np.concatenate(blocks, axis=1)
    return (
        _estimate(percent, samples[0], 1.0, percent, size, confidence),
        _estimate(corrected, samples[1], chance, percent, size, confidence),
    )


def _resampled(patterns: FloatArray, frequencies: IntArray, seed: int, draws: int) -> Iterator[FloatArray]:
    """Yield totals over as many items, drawn with replacement: blocks of shape (D, K), `draws` rows in all."""
    rng, items = np.random.default_rng(seed), int(frequencies.sum())
    block = max(1, _BLOCK // len(frequencies))
    for begin in range(0, draws, block):
        yield rng.multinomial(items, frequencies / items, size=min(block, draws - begin)) @ patterns


def _estimate(value: float, draws: FloatArray, scale: float, percent: float, items: int, confidence: float) -> Estimate:
    """Return the figure with the interval between the quantiles of the draws.

    Where all agree (or nobody does: `percent`) draws do not differ. The lower end is then the smallest share of items
    under which so many would all agree once in forty times (at 0.95), and its disagreement is divided by `scale`.
    """
    if np.isnan(value):
        return Estimate(value=None, why="all answers are the same")
    if items < FEWEST_ITEMS:
        return Estimate(value=value, why=f"no interval from fewer than {FEWEST_ITEMS} items")
    tail = (1 - confidence) / 2
    defined = draws[~np.isnan(draws)]
    if len(defined) < (1 - MOST_UNDEFINED) * len(draws):
        return Estimate(value=value, why="no interval: a second label is too rare to resample")
    low, high = (float(end) for end in np.quantile(defined, [tail, 1 - tail]))
    reach = (1 - tail ** (1 / items)) / scale
    if percent >= 1 - _ROUNDING:
        low = value - reach
    if percent <= _ROUNDING:
        high = value + reach
    if high - low < _ROUNDING:
        return Estimate(value=value, why="no interval: all items agree equally")
    return Estimate(value=value, interval=(max(-1.0, low), min(1.0, high)))
