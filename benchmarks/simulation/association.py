"""Association tests on simulated cosines: intervals of d against the truth, and tests under a true null.

A cosine is the sum of an effect of the group of its target (X or Y) with the side of its attribute (A or B), and of
normal effects of the target with the side, of the attribute with the group, and of the pair. Attributes' effects are
what a permutation of targets does not see: on GloVe they scatter 0.5 to 3.4 times as much as targets do within a group.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from senseprobe.statistics import FloatArray, division_p, effect_interval, monte_carlo_p
from simulation.coverage import Cell
from simulation.size import SizeCell

INTERVAL_SIZES = (5, 8, 16, 32)
EFFECTS = (0.0, 0.5, 1.0, 1.6)
TEST_SIZES = (8, 13)
LEVELS = (0.05, 0.01)
SENTENCES, SENTENCE_DRAWS = 8, 999
WORD_SHARES = (0.0, 0.2, 0.5, 0.9)
"""Shares of the variance of sentences that their word has: 0 where sentences are independent."""


@dataclass(frozen=True)
class CosineScatter:
    """Standard deviations of the effects of targets, of attributes and of pairs of both."""

    name: str
    targets: float
    attributes: float
    pairs: float

    def within(self, n: int) -> float:
        """Return the standard deviation of associations within a group, with n words in each set."""
        return math.hypot(self.targets, self.pairs * math.sqrt(2 / n))

    def draw_cosines(self, rng: np.random.Generator, n: int, d: float, *, held: bool = False) -> FloatArray:
        """Draw cosines of n words in each set, shape (2n, 2n), where d is the effect size of lists of this length.

        Where attributes are `held`, d is that with these very attributes: their effects cancel on either side.
        """
        r = d / 2 * math.sqrt(2 * n / (2 * n - 1))
        side = np.repeat([0.5, -0.5], n)
        attributes = rng.normal(0, self.attributes, (2, n))
        attributes -= held * attributes.mean(axis=1, keepdims=True)
        effect = 2 * r / math.sqrt(1 - r * r) * self.within(n)
        table = side[:, None] * (side * effect + attributes.ravel()) + rng.normal(0, self.targets, (2 * n, 1)) * side
        return np.asarray(table + rng.normal(0, self.pairs, (2 * n, 2 * n)))


COSINE_SCATTERS = (
    CosineScatter("targets", targets=1, attributes=0, pairs=0.5),
    CosineScatter("pairs", targets=0.3, attributes=0, pairs=2),
    CosineScatter("attributes", targets=1, attributes=1, pairs=1.5),
    CosineScatter("attributes, strong", targets=1, attributes=2.3, pairs=2),
)


def simulate_effect_intervals(draws: int, seed: int = 0, sizes: tuple[int, ...] = INTERVAL_SIZES) -> Iterator[Cell]:
    """Yield how often the interval of d holds the truth: a cell for each size, scatter and effect."""
    for n in sizes:
        for row, scatter in enumerate(COSINE_SCATTERS):
            for column, d in enumerate(EFFECTS):
                rng = np.random.default_rng([seed, 101, n, row, column])
                found = [effect_interval(scatter.draw_cosines(rng, n, d), n, n) for _ in range(draws)]
                ends = np.array([pair for pair in found if pair is not None])
                yield Cell(
                    design=f"{n} words",
                    estimand="weat",
                    mix=scatter.name,
                    truth=d,
                    covered=float(((ends[:, 0] <= d) & (d <= ends[:, 1])).mean()),
                    estimable=len(ends),
                    not_estimable=draws - len(ends),
                    half_width=float(np.median(ends[:, 1] - ends[:, 0]) / 2),
                    bound=True,
                )


def simulate_word_sizes(draws: int, seed: int = 0) -> Iterator[SizeCell]:
    """Yield how often `weat` rejects where X and Y do not differ: a cell for each size, scatter and level."""
    for n in TEST_SIZES:
        for row, scatter in enumerate(COSINE_SCATTERS):
            for held in (True, False) if scatter.attributes else (True,):
                rng = np.random.default_rng([seed, 102, n, row, held])
                p = [_null_p(scatter.draw_cosines(rng, n, 0.0, held=held), n) for _ in range(draws)]
                test = f"`weat`, attributes {'held' if held else 'drawn'}"
                yield from _sizes(test, f"{n} words", scatter.name, p, bound=held)


def simulate_sentence_sizes(draws: int, seed: int = 0) -> Iterator[SizeCell]:
    """Yield how often `weat-sentence` rejects where X and Y do not differ: a cell for each size, share and level."""
    for n in TEST_SIZES:
        for row, share in enumerate(WORD_SHARES):
            rng = np.random.default_rng([seed, 103, n, row])
            p = [_sentence_p(rng, n, share) for _ in range(draws)]
            design = f"{n} words of {SENTENCES} sentences"
            yield from _sizes("`weat-sentence`", design, f"{100 * share:.0f} %", p, bound=share == 0)


def _sizes(test: str, design: str, mix: str, p: list[float], *, bound: bool) -> Iterator[SizeCell]:
    """Yield how often p is at most each level; bound to the level, or only measured."""
    for level in LEVELS:
        rejected = float((np.array(p) <= level).mean())
        yield SizeCell(test, design, mix, rejected, len(p), limit=level if bound else None)


def _null_p(cosines: FloatArray, n: int) -> float:
    """Return p of cosines with n words in each set."""
    associations = cosines[:, :n].mean(axis=1) - cosines[:, n:].mean(axis=1)
    return division_p(associations[:n], associations[n:]).high


def _sentence_p(rng: np.random.Generator, n: int, share: float) -> float:
    """Return p over divisions of sentences, of which each word has some."""
    words = rng.normal(0, math.sqrt(share), (2 * n, 1))
    sentences = words + rng.normal(0, math.sqrt(1 - share), (2 * n, SENTENCES))
    return monte_carlo_p(sentences[:n], sentences[n:], seed=int(rng.integers(2**32)), draws=SENTENCE_DRAWS).high
