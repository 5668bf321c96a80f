"""Figures of drawn rows (`--limit`): how often there is an interval, and how often it holds the truth of the release.

Models are those of the whole release; a few of its rows are drawn anew for every 25 models.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from senseprobe.evaluate.estimands import kernel_rows
from senseprobe.statistics import CONFIDENCE, IntArray, share_intervals
from simulation import models, tables
from simulation.coverage import Cell, Intervals, Study, ends_of, simulate_cells
from simulation.markdown import Section, coverage_table, printed
from simulation.models import Effects, Mix

TEXT = """## Drawn rows

`--limit` draws the named number of rows of a config. The table shows how often the interval contains the truth of the
whole release, in per cent of those of {draws} draws that have an interval. In brackets are its median half-width, and
how often there is none because fewer than five levels of a sampled factor were drawn. Required: at least 93 %, minus
three standard errors.

{intervals}
"""

SAMPLE_TRUTHS = (0.5, 0.75, 0.9)
FIRST = 300
"""Number of the first study in the random streams, behind those of the other grids."""

MODELS = 25
"""Models that are held against one sample."""


@dataclass(frozen=True)
class SampleStudy(Study):
    """One figure of `size` rows that are drawn of a config, in proportion to class and valence where it has them."""

    size: int = 0

    def intervals(self, effects: Effects, truth: float, mix: Mix, confidence: float = CONFIDENCE) -> Intervals:
        """Return the intervals of as many drawn rows, and the truths of the release, of D draws."""
        kernel, truths = self.model(self.kernel.table, effects, truth, mix)
        design = replace(self.design, drawn_from=tables.levels_of(self.rows, self.design))
        found = []
        for start in range(0, len(kernel), MODELS):
            drawn = self._draw(effects.rng)
            sample = kernel_rows(self.rows.iloc[drawn], self.design, self.estimand)
            own = kernel[start : start + MODELS, self.kernel.table.index.get_indexer(sample.table.index)]
            shares = np.round(sample.offset + own @ sample.weights, 12)
            found += share_intervals(sample.project(design), own, shares, confidence, by_blocks=sample.by_blocks)
        return ends_of(found), 100 * truths - 50

    def _draw(self, rng: np.random.Generator) -> IntArray:
        """Return the positions of drawn rows: of each class and valence as many as its share of them, up or down."""
        cells = self.rows.fillna({"stereotype": "", "valence": ""}).groupby(["stereotype", "valence"])
        order = rng.permutation(len(self.rows))
        ranks = self.rows.assign(order=order).groupby(cells.ngroup())["order"].rank().to_numpy()
        keys = (ranks - rng.random(cells.ngroups)[cells.ngroup()]) / cells["frame"].transform("size")
        return np.argsort(keys.to_numpy())[: self.size]


def simulate_samples(draws: int, seed: int = 0, truths: Sequence[float] = SAMPLE_TRUTHS) -> Iterator[Cell]:
    """Yield cells of figures of drawn rows."""
    noun, nationality = (tables.noun(), tables.NOUN), (tables.nationality(), tables.NATIONALITY)
    grid = (
        ("noun", "pronoun-stereotype", *noun, models.pronoun_model, (20, 40, 80, 120)),
        ("noun", "preference-half", *noun, models.noun_model, (20, 40, 80, 120)),
        ("nationality", "preference-half", *nationality, models.nationality_model, (20, 60, 200)),
    )
    studies = [
        SampleStudy(f"{name}, {size} of {len(rows):,} rows", estimand, rows, design, model, size)
        for name, estimand, rows, design, model, sizes in grid
        for size in sizes
    ]
    yield from simulate_cells([*enumerate(studies, FIRST)], truths, SAMPLE_TRUTHS, draws, seed)


def section(draws: int, seed: int) -> Section:
    """Simulate, and return the section of the page."""
    cells = [*printed(simulate_samples(draws, seed))]
    return Section(TEXT.format(draws=draws, intervals=coverage_table(cells, SAMPLE_TRUTHS)), cells)
