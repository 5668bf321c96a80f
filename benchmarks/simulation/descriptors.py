"""Descriptors of an axis on simulated scores: intervals of their spread, and how often exchangeable ones differ.

A score is the sum of normal effects of its template, its noun, its descriptor, of the descriptor with the template and
with the noun, and of the sentence.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from senseprobe.evaluate.estimands.kernel import Tally
from senseprobe.kinds.descriptor.differences import compare_pairs, published_tests
from senseprobe.kinds.descriptor.spread import AxisSpread, pooled_spread
from senseprobe.kinds.descriptor.tables import AxisScores
from senseprobe.statistics import LEVEL, FloatArray
from simulation.coverage import Cell
from simulation.markdown import Section, coverage_table, printed, size
from simulation.size import SizeCell

SPREADS = (0.0, 0.1, 0.25, 0.5, 1.0)
SHAPES = ((8, 26, 32), (8, 8, 8), (20, 6, 10))
"""Of descriptors, templates and nouns: the smallest axis of HolisticBias, and smaller designs."""
MOST_DRAWS = 1_000
PUBLISHED_DRAWS = 100
"""Of which the published tests are made, too: they take long, and their share is large."""

TEXT = """## Descriptors

`descriptor-spread` and `descriptor-differences` on {draws:,} draws of axes: descriptors in every template with every
noun. Templates and nouns have normal effects of 1. Descriptors have effects of their own, and others with each template
and each noun, as the mix says; "sentences" has noise alone. The truth is the standard deviation of their own effects,
in the unit of the scores. Required: at least 93 %, minus three standard errors; at 0 it is only measured.

{coverage}

The next table has exchangeable descriptors: none has an effect of its own, whatever it has with single templates and
nouns. It shows the share of pairs that differ, in per cent: as published (Mann and Whitney within a template, on
{published} of the draws) and ours; and how often ours shows any pair to differ. Required of the last: at most
5 %, plus three standard errors.

| design | mix | pairs, as published | pairs, ours | any pair, ours |
|---|---|---|---|---|
{nulls}
"""


@dataclass(frozen=True)
class DescriptorScatter:
    """Standard deviations of what descriptors have with templates, and with nouns, and of sentences."""

    name: str
    templates: float
    nouns: float
    sentences: float

    def draw(self, rng: np.random.Generator, own: FloatArray, t: int, n: int) -> FloatArray:
        """Draw scores of descriptors with such effects, shape (D,), as (D, T, N)."""
        d = len(own)
        cells = rng.normal(0, 1, (1, t, 1)) + rng.normal(0, 1, (1, 1, n))
        with_templates, with_nouns = rng.normal(0, self.templates, (d, t, 1)), rng.normal(0, self.nouns, (d, 1, n))
        return np.asarray(
            own[:, None, None] + cells + with_templates + with_nouns + rng.normal(0, self.sentences, (d, t, n))
        )


SCATTERS = (
    DescriptorScatter("sentences", 0.0, 0.0, 0.5),
    DescriptorScatter("templates", 0.5, 0.1, 0.3),
    DescriptorScatter("nouns", 0.1, 0.5, 0.3),
    DescriptorScatter("both", 0.4, 0.4, 0.3),
)


def table_of(scores: FloatArray) -> AxisScores:
    """Return scores as those of an axis, whose templates and nouns are both drawn."""
    names = (tuple(map(str, range(count))) for count in scores.shape)
    descriptors, templates, nouns = names
    return AxisScores(
        axis="axis",
        scores=scores,
        descriptors=descriptors,
        templates=templates,
        nouns=nouns,
        drawn=(True, True),
        names=("frame", "noun"),
        tally=Tally(rows=scores.size, scored=scores.size, unscored=0),
    )


def simulate_spreads(draws: int, seed: int = 0) -> Iterator[Cell]:
    """Yield how often the interval holds the standard deviation of the descriptors' own effects."""
    for d, t, n in SHAPES:
        for row, scatter in enumerate(SCATTERS):
            for column, spread in enumerate(SPREADS):
                rng = np.random.default_rng([seed, 401, d, t, n, row, column])
                ends, covered = [], 0
                for _ in range(draws):
                    own = rng.normal(0, 1, d)
                    own = (own - own.mean()) / own.std(ddof=1) * spread
                    fields = pooled_spread([AxisSpread.of(table_of(scatter.draw(rng, own, t, n)))], 0.95)
                    ends.append((fields["low"], fields["high"]))
                    covered += fields["low"] <= spread + 1e-12 and spread <= fields["high"] + 1e-12
                widths = np.array([high - low for low, high in ends])
                yield Cell(
                    design=f"{d} descriptors, {t} templates, {n} nouns",
                    estimand="descriptor-spread",
                    mix=scatter.name,
                    truth=spread,
                    covered=covered / draws,
                    estimable=draws,
                    not_estimable=0,
                    half_width=float(np.median(widths) / 2),
                    bound=spread > 0,
                )


def simulate_nulls(draws: int, seed: int = 0) -> Iterator[tuple[str, SizeCell]]:
    """Yield the line of a design and a scatter, and how often ours shows any pair to differ."""
    for d, t, n in SHAPES:
        for row, scatter in enumerate(SCATTERS):
            rng = np.random.default_rng([seed, 402, d, t, n, row])
            ours, published = [], []
            for draw in range(draws):
                scores = scatter.draw(rng, np.zeros(d), t, n)
                ours.append(float((compare_pairs(table_of(scores), "log", draw) <= LEVEL).mean()))
                if draw < PUBLISHED_DRAWS:
                    published.append(float(published_tests(scores).mean()))
            cell = SizeCell(
                test="any pair of descriptors",
                design=f"{d} descriptors, {t} templates, {n} nouns",
                mix=scatter.name,
                rejected=float(np.mean(np.array(ours) > 0)),
                draws=draws,
            )
            shares = (f"{100 * float(np.mean(each)):.1f}" for each in (published, ours))
            yield f"| {cell.design} | {cell.mix} | {' | '.join(shares)} | {size(cell)} |", cell


def section(draws: int, seed: int) -> Section:
    """Simulate, and return the section of the page."""
    draws = min(draws, MOST_DRAWS)
    spreads = list(printed(simulate_spreads(draws, seed)))
    nulls = list(simulate_nulls(draws, seed))
    text = TEXT.format(
        draws=draws,
        published=min(draws, PUBLISHED_DRAWS),
        coverage=coverage_table(spreads, SPREADS, 2),
        nulls="\n".join(line for line, _ in nulls),
    )
    return Section(text, [*spreads, *(cell for _, cell in nulls)])
