"""Nearness of words to praise and blame on simulated cosines: intervals of single-category effects against the truth.

A cosine is the sum of the effect of its word on the side of its attribute (A or B), and of normal effects of the word
on the side, of the attribute with all words, and of the pair.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import optimize

from senseprobe.messages import counted
from senseprobe.statistics import (
    Ends,
    FloatArray,
    mean_effect_interval,
    mean_interval,
    shared_effect_difference,
    single_category_interval,
)
from simulation.coverage import Cell

NEARNESSES = (0.0, 0.5, 1.0, 1.5)
ATTRIBUTES = ((5, 5), (6, 6), (9, 12))
"""Of blame and of praise; those of sssb's language and nationality are the last two."""
WORDS = (5, 16)
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class NearnessScatter:
    """Standard deviations of the effects of words on a side, of attributes and of pairs."""

    name: str
    words: float
    attributes: float
    pairs: float

    def draw_cosines(self, rng: np.random.Generator, own: FloatArray, n_a: int, n_b: int) -> FloatArray:
        """Draw the cosines of words with such differences of A and B, shape (words,), as (words, n_a + n_b)."""
        count = n_a + n_b
        side = np.repeat([n_b / count, -n_a / count], [n_a, n_b])
        noise = rng.normal(0, self.attributes, count) + rng.normal(0, self.pairs, (len(own), count))
        return np.asarray(own[:, None] * side + noise)


@cache
def find_difference(scatter: NearnessScatter, d: float, n_a: int, n_b: int) -> float:
    """Return the difference of A and B with which words have the effect d on average."""
    deviation, count = math.hypot(scatter.attributes, scatter.pairs), n_a + n_b

    def effect(difference: float) -> float:
        own = difference + scatter.words * _NODES
        within = np.sqrt(deviation**2 + own**2 * n_a * n_b / count**2)
        return float(_WEIGHTS @ (own / within) * math.sqrt((count - 1) / count))

    return float(optimize.brentq(lambda difference: effect(difference) - d, -100, 1000))


NEARNESS_SCATTERS = (
    NearnessScatter("pairs", words=0.3, attributes=0, pairs=2),
    NearnessScatter("words", words=1, attributes=0.5, pairs=1),
    NearnessScatter("attributes", words=0.5, attributes=1, pairs=1.5),
    NearnessScatter("attributes, strong", words=0.5, attributes=2.3, pairs=1),
)


def simulate_nearness_intervals(draws: int, seed: int = 0) -> Iterator[Cell]:
    """Yield how often intervals hold the truth of a word, of the mean of words, and of one word in two senses."""
    one = (NearnessScatter("one word", words=0, attributes=0, pairs=1),)
    for words, scatters in ((1, one), *((words, NEARNESS_SCATTERS) for words in WORDS)):
        yield from _simulate("sc-weat", words, scatters, _draw_mean, (draws, seed), bound=True)
    still = [replace(scatter, words=0.0) for scatter in NEARNESS_SCATTERS if scatter.name != "words"]
    yield from _simulate("sense-difference", 1, still, _draw_shared, (draws, seed), bound=False)


def simulate_difference_intervals(draws: int, seed: int = 0) -> Iterator[Cell]:
    """Yield how often the interval over words holds the difference of two senses whose attributes are drawn, too."""
    for words in WORDS:
        yield from _simulate("sense-difference", words, NEARNESS_SCATTERS, _draw_difference, (draws, seed), bound=False)


Draw = Callable[[np.random.Generator, NearnessScatter, float, int, int, int], Ends | None]


def _simulate(
    estimand: str, words: int, scatters: Sequence[NearnessScatter], draw: Draw, run: tuple[int, int], *, bound: bool
) -> Iterator[Cell]:
    """Yield a cell for each number of attributes, scatter and effect; `run` is the number of draws and the seed."""
    for n_a, n_b in ATTRIBUTES:
        for row, scatter in enumerate(scatters):
            for column, d in enumerate(NEARNESSES):
                rng = np.random.default_rng([run[1], 201, words, bound, n_a, row, column])
                found = [draw(rng, scatter, d, words, n_a, n_b) for _ in range(run[0])]
                ends = np.array([pair for pair in found if pair is not None])
                yield Cell(
                    design=f"{counted(words, 'word')}, {n_a} + {n_b} attributes",
                    estimand=estimand,
                    mix=scatter.name,
                    truth=d,
                    covered=float(((ends[:, 0] <= d) & (d <= ends[:, 1])).mean()),
                    estimable=len(ends),
                    not_estimable=run[0] - len(ends),
                    half_width=float(np.median(ends[:, 1] - ends[:, 0]) / 2),
                    bound=bound,
                )


def _draw_mean(
    rng: np.random.Generator, scatter: NearnessScatter, d: float, words: int, n_a: int, n_b: int
) -> Ends | None:
    """Draw the interval of the mean effect of words, or of a single one."""
    own = rng.normal(find_difference(scatter, d, n_a, n_b), scatter.words, words)
    cosines = scatter.draw_cosines(rng, own, n_a, n_b)
    if words > 1:
        return mean_effect_interval(cosines, n_a)
    return single_category_interval(cosines[0, :n_a], cosines[0, n_a:])


def _draw_shared(
    rng: np.random.Generator, scatter: NearnessScatter, d: float, _words: int, n_a: int, n_b: int
) -> Ends | None:
    """Draw the interval of a word's effect in one sense less that in another, 0, with the same attributes."""
    own = np.array([find_difference(scatter, d, n_a, n_b), 0.0])
    first, second = scatter.draw_cosines(rng, own, n_a, n_b)
    return shared_effect_difference(first, second, n_a)[1]


def _draw_difference(
    rng: np.random.Generator, scatter: NearnessScatter, d: float, words: int, n_a: int, n_b: int
) -> Ends | None:
    """Draw the interval over words of their effects in one sense less those in another, with other attributes."""
    own = rng.normal(0, scatter.words, words)
    senses = (own + find_difference(scatter, effect, n_a, n_b) for effect in (d, 0.0))
    tables = (scatter.draw_cosines(rng, sense, n_a, n_b) for sense in senses)
    first, second = ((t[:, :n_a].mean(axis=1) - t[:, n_a:].mean(axis=1)) / t.std(axis=1, ddof=1) for t in tables)
    return mean_interval(first - second)
