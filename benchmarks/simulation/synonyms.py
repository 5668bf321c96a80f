"""Words that go together: what tests and intervals of `relative` make of synonyms, word by word and by clusters.

What a word has with a group is normal; words of one cluster have a share of its variance in common. No group differs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from senseprobe.evaluate.estimands.group_scores import others_median
from senseprobe.evaluate.estimands.word_correlation import correlate_words
from senseprobe.statistics import (
    LEVEL,
    BoolArray,
    FactorLevels,
    FloatArray,
    IntArray,
    Projection,
    divisions,
    permutation_p,
    psi,
    share_intervals,
    studentised,
)
from simulation.markdown import Section, size_row
from simulation.size import RELATIVE_DIVISIONS, SizeCell

GROUPS = 8
SHARES = (0.0, 0.2, 0.5, 0.8)
BATCH = 50
MOST_DRAWS = 2_000
MOST = 0.07
"""What may be rejected by clusters of unlike sizes, which are not exactly exchangeable."""

TEXT = """## Synonyms

The table shows how often `relative` finds a group that does not differ, in {draws} draws with {groups} groups. The
words of a cluster share part of their variance. By words, each word is its own level, as by default. By clusters
(`generalise: [nation, good.cluster, bad.cluster]`), tests divide clusters whole. "Interval" is how often that of one
group misses its true 0, at nominal 5 %. "Noted" is how often the page says that words go together. Required by
clusters: at most {most:.0f} %, plus three standard errors. By words it is only measured, to show the effect of
synonyms. "Not attainable": so few clusters have no p below 5 %.

| clusters of bad and good words | in common | levels | one group | any after Holm | spread | interval | noted |
|---|---|---|---|---|---|---|---|
{rows}
"""


@dataclass(frozen=True)
class Clusters:
    """The sizes of clusters of bad and of good words."""

    name: str
    bad: tuple[int, ...]
    good: tuple[int, ...]

    @cached_property
    def of_word(self) -> IntArray:
        """The cluster of each word, the bad ones first."""
        sizes = (*self.bad, *self.good)
        return np.repeat(np.arange(len(sizes)), sizes)

    @cached_property
    def is_bad(self) -> BoolArray:
        """Whether each word is bad."""
        return self.of_word < len(self.bad)

    def draw(self, rng: np.random.Generator, draws: int, share: float) -> FloatArray:
        """Return scores, shape (G, W, D)."""
        own = rng.normal(size=(GROUPS, len(self.of_word), draws))
        common = rng.normal(size=(GROUPS, len(self.bad) + len(self.good), draws))[:, self.of_word]
        return np.asarray(np.sqrt(share) * common + np.sqrt(1 - share) * own)


DESIGNS = (
    Clusters("9 by 12 in threes", (3,) * 3, (3,) * 4),
    Clusters("18 by 24 in threes", (3,) * 6, (3,) * 8),
    Clusters("9 by 12 in 1, 1, 1, 2, 4 and 1, 1, 1, 1, 2, 2, 4", (1, 1, 1, 2, 4), (1, 1, 1, 1, 2, 2, 4)),
    Clusters("9 by 12 in 1 to 5 and 1 to 6", (1, 1, 1, 1, 5), (1, 1, 1, 1, 2, 6)),
)


@dataclass(frozen=True)
class Sizes:
    """How often the tests reject, and the interval misses, by words or by clusters; how often the page says so."""

    clusters: Clusters
    share: float
    level: str
    rejected: tuple[float, float, float]
    missed: float
    noted: float
    attainable: bool

    def cells(self, draws: int) -> list[SizeCell]:
        """The cells that the page is held to."""
        limit = MOST if self.level == "cluster" else None
        names = (*(f"synonyms, {test}" for test in ("one group", "any group", "spread")), "synonyms, interval")
        where = (f"{self.clusters.name}, by {self.level}", f"{self.share:g}")
        return [SizeCell(n, *where, r, draws, limit) for n, r in zip(names, (*self.rejected, self.missed), strict=True)]

    def row(self, draws: int) -> str:
        """A row of the table."""
        cells: list[str | SizeCell] = [*self.cells(draws)]
        if not self.attainable:
            cells[:3] = ["not attainable"] * 3
        noted = f"{100 * self.noted:.1f}"
        return size_row(self.clusters.name, f"{self.share:g}", f"{self.level}s", *cells, noted)


def simulate(draws: int, seed: int = 0) -> Iterator[Sizes]:
    """Yield sizes by words and by clusters."""
    for number, clusters in enumerate(DESIGNS):
        for place, share in enumerate(SHARES):
            for level in ("word", "cluster"):
                rng = np.random.default_rng([seed, 600, number, place])
                yield _simulate(clusters, share, level, draws, rng)


def _simulate(clusters: Clusters, share: float, level: str, draws: int, rng: np.random.Generator) -> Sizes:
    of_word = clusters.of_word if level == "cluster" else np.arange(len(clusters.of_word))
    bad = np.array([clusters.is_bad[of_word == code][0] for code in range(int(of_word.max()) + 1)])
    members = (of_word[:, None] == np.arange(len(bad))).astype(np.float64)
    counts, rule = members.T @ np.ones((len(of_word),) * 2) @ members, _rule(clusters, of_word)
    rejected, missed, noted = np.zeros(3), 0, 0.0
    for start in range(0, draws, BATCH):
        size = min(BATCH, draws - start)
        scores = clusters.draw(rng, size, share)
        r = (scores - others_median(scores)).transpose(2, 0, 1).reshape(size * GROUPS, len(of_word))
        wins = psi(r[:, :, None] - r[:, None, :], 1.0, "log")
        others = divisions(bad, int(rng.integers(2**32)), RELATIVE_DIVISIONS)
        labels = np.vstack([bad[None], others.labels])
        t = studentised(members.T @ wins @ members, counts, labels).reshape(len(labels), size, GROUPS)
        p = permutation_p(np.abs(t[0]), np.abs(t[1:]), relative=True)
        squares = np.square(t).sum(axis=2)
        spread = permutation_p(squares[0], squares[1:], relative=True)
        tests = (p[:, 0] <= LEVEL, GROUPS * p.min(axis=1) <= LEVEL, spread <= LEVEL)
        rejected += [test.sum() for test in tests]
        first = wins[::GROUPS][:, clusters.is_bad][:, :, ~clusters.is_bad].reshape(size, -1)
        ends = share_intervals(rule, first, np.round(first.mean(axis=1), 12))
        missed += sum(not each.low <= 0 <= each.high for each in ends if each is not None)
        found = (correlate_words(scores[..., draw], clusters.is_bad, start + draw) for draw in range(min(size, 10)))
        noted += sum(each is not None and bool(each.note) for each in found) * size / min(size, 10)
    smallest = 2 / (1 + len(others.labels)) if others.exact else others.smallest
    return Sizes(
        clusters=clusters,
        share=share,
        level=level,
        rejected=tuple((rejected / draws).tolist()),
        missed=missed / draws,
        noted=noted / draws,
        attainable=smallest <= LEVEL,
    )


def _rule(clusters: Clusters, of_word: IntArray) -> Projection:
    """Return the interval rule of one group, over words or clusters."""
    rows = np.array([(b, g) for b in np.flatnonzero(clusters.is_bad) for g in np.flatnonzero(~clusters.is_bad)])
    factors = []
    for name, column in zip(("bad", "good"), rows.T, strict=True):
        codes = np.unique(of_word[column], return_inverse=True)[1].astype(np.intp)
        factors.append(FactorLevels(name=name, codes=codes[None], strata=("",) * (int(codes.max()) + 1)))
    return Projection(np.full(len(rows), 1 / len(rows)), np.zeros(len(rows), dtype=np.intp), factors)


def section(draws: int, seed: int) -> Section:
    """Simulate, and return the section of the page."""
    rows: list[str] = []
    cells: Sequence[SizeCell] = []
    draws = min(draws, MOST_DRAWS)
    for sizes in simulate(draws, seed):
        rows.append(sizes.row(draws))
        cells = [*cells, *sizes.cells(draws)]
        print(rows[-1], flush=True)
    text = TEXT.format(draws=draws, groups=GROUPS, most=100 * MOST, rows="\n".join(rows))
    return Section(text, cells)
