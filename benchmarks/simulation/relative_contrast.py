"""`relative` in one sense against another: coverage of the interval, and size of its tests, where the truth is known.

What a word has with a group in a sense is normal; of words that both senses share, the two senses have half of the
variance in common. A figure of +30 is a group whose bad words are raised until one beats a good one in 80 of 100 pairs.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from senseprobe.evaluate.estimands.group_scores import others_median
from senseprobe.evaluate.estimands.kernel import KernelRows, Tally
from senseprobe.evaluate.estimands.sense_contrast import Side, project_difference
from senseprobe.statistics import CONFIDENCE, FloatArray, Projection, difference_intervals, psi
from simulation import tables
from simulation.coverage import Cell
from simulation.markdown import Section, coverage_table, size_row
from simulation.size import SizeCell

WORDS = ((9, 12), (6, 6), (5, 5))
GROUPS = (1, 4, 16)
TRUTHS = (0.0, 30.0)
"""Of a group in the first sense; what it is in the second is one or the other."""
BATCH = 200
ONE, FAMILY = 0.05, 0.07

TEXT = """## Relative figures in two senses

This is the difference of a group's `relative` between two senses, R(A) - R(B), with {draws} draws each. Either both
senses share words, and with them half of the variance of their effects, or each sense has its own words. Coverage is
for one group without others (against a sentence that names no group), with R(A) in the columns. Required: at least
93 %, minus three standard errors.

{coverage}

The table shows how often the test at 5 % rejects if a group has the same figure in both senses: nothing (0 / 0), or a
preference for unpleasant words (+30 / +30; of several groups, the first). "Any group" is after Holm's correction.
Required: at most {one:.0f} % for one group and {family:.0f} % for the family, plus three standard errors.

| words | groups | R in both senses | one group | any group |
|---|---|---|---|---|
{sizes}
"""


@dataclass(frozen=True)
class Design:
    """So many bad and good words in either sense, `shared` or not, of so many groups."""

    bad: int
    good: int
    groups: int
    shared: bool

    @property
    def name(self) -> str:
        """As a table has it."""
        return f"{self.bad} by {self.good} {'shared' if self.shared else 'own'} words"

    @cached_property
    def rule(self) -> Projection:
        """The interval rule of the difference."""
        sides = [self._side(name, "" if self.shared else name) for name in "ab"]
        return project_difference(*sides)

    def _side(self, config: str, prefix: str) -> Side:
        rows = tables.product(bad=tables.words(f"{prefix}bad", self.bad), good=tables.words(f"{prefix}good", self.good))
        plan = tables.design("bad", "good", slots=("bad", "good"))
        kernel = KernelRows.mean(rows, np.zeros(len(rows)), Tally(rows=len(rows), scored=len(rows), unscored=0))
        return Side(config=config, design=plan, rows=kernel)

    def draw(self, rng: np.random.Generator, draws: int, shifts: tuple[float, float]) -> FloatArray:
        """Return kernels of the difference of each group in each draw, shape (D, G, 2 · bad · good)."""
        shape, sides = (self.groups, self.bad + self.good, draws), []
        common = rng.normal(size=shape)
        for shift in shifts:
            scores = (common + rng.normal(size=shape)) / 2**0.5 if self.shared else rng.normal(size=shape)
            scores[0, : self.bad] += shift
            r = scores - others_median(scores) if self.groups > 1 else scores
            won = psi(r[:, : self.bad, None] - r[:, None, self.bad :], 1.0, "log")
            sides.append(won.reshape(self.groups, self.bad * self.good, draws))
        return np.concatenate(sides, axis=1).transpose(2, 0, 1)


def _intervals(design: Design, kernels: FloatArray, confidence: float) -> FloatArray:
    """Return the ends of the interval of each group in each draw, shape (D, G, 2), in points."""
    flat = kernels.reshape(-1, kernels.shape[-1])
    found = difference_intervals(design.rule, flat, np.round(100 * (flat @ design.rule.weights), 10), confidence)
    ends = np.array([(-100.0, 100.0) if each is None else (each.low, each.high) for each in found])
    return ends.reshape(*kernels.shape[:2], 2)


def _shift(figure: float) -> float:
    """Return by how much bad words are raised for a figure, against scores of one group without others."""
    return float(2**0.5 * ndtri(0.5 + figure / 100))


def _batches(design: Design, figures: tuple[float, float], draws: int, seed: int, number: int) -> Iterator[FloatArray]:
    rng = np.random.default_rng([seed, 500, number])
    shifts = (_shift(figures[0]), _shift(figures[1]))
    for start in range(0, draws, BATCH):
        yield design.draw(rng, min(BATCH, draws - start), shifts)


def simulate_coverage(draws: int, seed: int = 0) -> Iterator[Cell]:
    """Yield how often the interval of one group holds the truth, by words and what it is in either sense."""
    numbers = itertools.count()
    for (bad, good), shared, second in itertools.product(WORDS, (True, False), TRUTHS):
        design = Design(bad, good, 1, shared)
        for first in TRUTHS:
            number, truth = next(numbers), first - second
            batches = _batches(design, (first, second), draws, seed, number)
            ends = np.concatenate([_intervals(design, kernels, CONFIDENCE)[:, 0] for kernels in batches])
            yield Cell(
                design=design.name,
                estimand="relative-contrast",
                mix=f"R(B) = {second:+g}",
                truth=first,
                covered=float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean()),
                estimable=len(ends),
                not_estimable=0,
                half_width=float(np.median(ends[:, 1] - ends[:, 0]) / 2),
                bound=True,
            )


def simulate_sizes(draws: int, seed: int = 0) -> Iterator[tuple[SizeCell, SizeCell]]:
    """Yield how often one group, and any of the groups, is said to differ between senses that are alike."""
    designs = itertools.product(WORDS, (True, False), GROUPS, TRUTHS)
    for number, ((bad, good), shared, groups, figure) in enumerate(designs, 1_000):
        design = Design(bad, good, groups, shared)
        rejected = []
        for kernels in _batches(design, (figure, figure), draws, seed, number):
            one = _excludes_zero(_intervals(design, kernels, CONFIDENCE))
            family = _excludes_zero(_intervals(design, kernels, 1 - (1 - CONFIDENCE) / groups))
            rejected.append((one[:, 0].mean(), family.any(axis=1).mean(), len(kernels)))
        shares = np.array([part[:2] for part in rejected])
        single, family_size = np.average(shares, axis=0, weights=[part[2] for part in rejected]).tolist()
        names = (f"{design.name}, {groups} groups", f"{figure:+g} / {figure:+g}")
        yield (
            SizeCell("relative-contrast, one group", *names, single, draws, ONE),
            SizeCell("relative-contrast, any group", *names, family_size, draws, FAMILY),
        )


def _excludes_zero(ends: FloatArray) -> FloatArray:
    return np.asarray((ends[..., 0] > 0) | (ends[..., 1] < 0))


def section(draws: int, seed: int) -> Section:
    """Simulate, and return the section of the page."""
    cells, pairs, rows = [*simulate_coverage(draws, seed)], [*simulate_sizes(draws, seed)], []
    for one, family in pairs:
        words, _, groups = one.design.partition(", ")
        rows.append(size_row(words, groups.removesuffix(" groups"), one.mix, one, family))
    text = TEXT.format(
        draws=draws,
        coverage=coverage_table(cells, TRUTHS),
        sizes="\n".join(rows),
        one=100 * ONE,
        family=100 * FAMILY,
    )
    return Section(text, [*cells, *itertools.chain.from_iterable(pairs)])
