"""Size: how often a test at 5 % rejects a null that is true, over a grid of designs and mixes.

Two models that are as good as one another, words whose polarity means nothing, a figure that lies exactly on the edge
of the margin of equivalence. Every test but one, which is there to show why it is not used, has to stay at 5 %.

The tests of `relative` and `spread` are separate: groups are alike, and the bad words scatter by group up to three
times as much as the good ones, or a third of it. They may reject a little more often, and `SCATTERS` says how often.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from senseprobe.evaluate.estimands.equivalence import CONFIDENCE, Margin, verdict
from senseprobe.evaluate.estimands.group_scores import others_median
from senseprobe.evaluate.estimands.permutation_null import WordTables
from senseprobe.evaluate.estimands.relative import smallest_p
from senseprobe.statistics import (
    LEVEL,
    BoolArray,
    Divisions,
    FloatArray,
    difference_p,
    divisions,
    permutation_p,
    psi,
    sign_flips,
    studentised,
)
from simulation import models, tables
from simulation.coverage import BATCH, ComparisonStudy, Study
from simulation.models import MIXES, Effects, Mix, PairedEffects, won

WORDS = {"race": (12, 9), "colour": (5, 5)}
# A permutation test is as exact with 999 divisions as with 9,999, and this many are drawn in every simulated model.
DIVISIONS = 999
MARGIN = Margin(points=20.0, reason="wide enough for a design of few words to show anything")


RELATIVE_WORDS = ((9, 12), (6, 6), (5, 5))
RELATIVE_GROUPS = (4, 6, 16)
RELATIVE_DIVISIONS = 1_999
"""Divisions drawn where there are more: an exact test keeps its size with any number of them, and 1,999 suffice."""

RELATIVE_BATCH = 100
"""Draws of all groups whose divisions are in memory at a time."""


@dataclass(frozen=True)
class SizeCell:
    """How often a test rejected a true null, and how often it may: `limit`, None where that is only measured.

    `attainable` is false where the test cannot reject, whatever the numbers, because no p is so small.
    """

    test: str
    design: str
    mix: str
    rejected: float
    draws: int
    limit: float | None = LEVEL
    attainable: bool = True

    @property
    def error(self) -> float:
        """Monte-Carlo standard error of a size at the limit from as many draws."""
        size = LEVEL if self.limit is None else self.limit
        return math.sqrt(size * (1 - size) / self.draws)

    @property
    def holds(self) -> bool:
        """Whether the size is at most the limit, three standard errors allowed."""
        return self.limit is None or self.rejected <= self.limit + 3 * self.error


@dataclass(frozen=True)
class Scatter:
    """How much bad and good words scatter by group, and how often a test at 5 % may reject.

    - `single`: the test of one group; `family`: any of the groups after Holm's correction, and `spread`.
    """

    bad: float
    good: float
    single: float
    family: float

    @property
    def name(self) -> str:
        """Bad to good: ``3:1``."""
        return f"{self.bad:g}:{self.good:g}"


SCATTERS = (
    Scatter(1, 3, single=0.06, family=0.10),
    Scatter(1, 2, single=0.06, family=0.07),
    Scatter(1, 1, single=LEVEL, family=LEVEL),
    Scatter(2, 1, single=0.06, family=0.07),
    Scatter(3, 1, single=0.06, family=0.10),
)
SINGLE_GROUP = "relative, one group"
RELATIVE_TESTS = (SINGLE_GROUP, "relative, any of the groups after Holm", "spread")


Rejections = Callable[[np.random.Generator, int, Mix], BoolArray]
"""A function that returns whether the test rejects in each of D draws from a mix."""


@dataclass(frozen=True)
class Test:
    """A test on a design, and how it is simulated."""

    name: str
    design: str
    rejections: Rejections
    limit: float | None = LEVEL


def simulate_sizes(draws: int, seed: int = 0) -> Iterator[SizeCell]:
    """Yield cells of every test, design and mix, each with a random stream of its own."""
    for number, test in enumerate(_tests()):
        for which, mix in enumerate(MIXES):
            rng = np.random.default_rng([seed, number, which])
            parts = [test.rejections(rng, min(BATCH, draws - start), mix) for start in range(0, draws, BATCH)]
            rejected = float(np.mean(np.concatenate(parts)))
            yield SizeCell(test.name, test.design, mix.name, rejected, draws, test.limit)


def simulate_relative_sizes(draws: int, seed: int = 0, scatters: Sequence[Scatter] = SCATTERS) -> Iterator[SizeCell]:
    """Yield cells of the three tests of groups, by numbers of words and groups, each with its own random stream."""
    for which, (words, groups) in enumerate(itertools.product(RELATIVE_WORDS, RELATIVE_GROUPS)):
        for scatter in scatters:
            rng = np.random.default_rng([seed, 1_000 + which, SCATTERS.index(scatter)])
            starts = range(0, draws, RELATIVE_BATCH)
            parts = [_relative(rng, min(RELATIVE_BATCH, draws - start), words, groups, scatter) for start in starts]
            rejected = np.mean(np.concatenate(parts, axis=1), axis=1).tolist()
            smallest = smallest_p(_divisions(words, 0))
            design = f"{words[0]} by {words[1]} words, {groups} groups"
            for test, share, family in zip(RELATIVE_TESTS, rejected, (1, groups, 1), strict=True):
                limit = scatter.single if test == SINGLE_GROUP else scatter.family
                yield SizeCell(test, design, scatter.name, share, draws, limit, attainable=family * smallest <= LEVEL)


def _divisions(words: tuple[int, int], seed: int) -> Divisions:
    return divisions(np.arange(sum(words)) < words[0], seed, RELATIVE_DIVISIONS)


def _relative(rng: np.random.Generator, draws: int, words: tuple[int, int], groups: int, scatter: Scatter) -> BoolArray:
    """Return whether the three tests reject in each of D draws, shape (3, D); effects that groups share cancel."""
    bad = np.arange(sum(words)) < words[0]
    labels = np.vstack([bad[None], _divisions(words, int(rng.integers(2**32))).labels])
    scores = rng.normal(size=(groups, len(bad), draws)) * np.where(bad, scatter.bad, scatter.good)[:, None]
    r = (scores - others_median(scores)).transpose(2, 0, 1).reshape(draws * groups, len(bad))
    wins = psi(r[:, :, None] - r[:, None, :], 1.0, "log")
    t = studentised(wins, np.ones((len(bad), len(bad))), labels).reshape(len(labels), draws, groups)
    p = permutation_p(np.abs(t[0]), np.abs(t[1:]), relative=True)
    squares = np.square(t).sum(axis=2)
    spread = permutation_p(squares[0], squares[1:], relative=True)
    return np.array([p[:, 0] <= LEVEL, groups * p.min(axis=1) <= LEVEL, spread <= LEVEL])


def _tests() -> list[Test]:
    half = "preference-half"
    nationality = Study("nationality", half, tables.nationality(), tables.NATIONALITY, models.nationality_model)
    race = Study("race", half, tables.race(), tables.RACE, models.race_model)
    colour = Study("colour", half, tables.colour(), tables.COLOUR, models.colour_model)
    verb = Study("verb", half, tables.verb(times=10), tables.VERB, models.verb_model)
    return [
        *(Test("two models", study.name, _projection(study)) for study in (nationality, race, colour)),
        Test("two models, McNemar", "verb", _mcnemar),
        Test("two models, one factor's signs", "nations alone differ", _nations_alone),
        Test("two models, largest p of the factors (not used)", "three factors alike", _largest, limit=None),
        *(Test("polarity", name, _polarity(*count)) for name, count in WORDS.items()),
        *(Test("equivalence at the edge", study.name, _edge(study)) for study in (nationality, race)),
        Test("equivalence at the edge", "verb, ten times the frames", _edge(verb, centred=True)),
    ]


def _projection(study: Study) -> Rejections:
    """Return a test by the interval rule's p of two models of the same truth."""

    def rejections(rng: np.random.Generator, draws: int, mix: Mix) -> BoolArray:
        pair = ComparisonStudy(study)
        kernel, _ = pair.kernels(pair.effects(rng, draws), 0.5, mix)
        rule = study.rule
        numbers = zip((100 * (kernel @ rule.weights)).tolist(), rule.variance(kernel).tolist(), strict=True)
        p = [difference_p(difference, variance, rule.df) for difference, variance in numbers]
        return np.array([value is not None and value <= LEVEL for value in p])

    return rejections


def _largest(rng: np.random.Generator, draws: int, mix: Mix) -> BoolArray:
    """Test by the largest p of three factors whose levels matter alike; each p ignores the other two factors."""
    study = Study("", "preference-half", tables.nationality(10, 10, 10), tables.NATIONALITY, models.nationality_model)
    rows, effects = study.kernel.table, PairedEffects(rng, draws, 0.5)
    latent = effects.of(mix.rest, rows, "nation", "good", "bad")
    for factor in ("nation", "good", "bad"):
        latent = latent + effects.of(mix.level, rows, factor)
    a, b = np.split(won(latent), 2)
    factors = (study.rule.contributions(difference).values() for difference in a - b)
    return np.array([max(sign_flips(levels).p for levels in draw) <= LEVEL for draw in factors])


def _nations_alone(rng: np.random.Generator, draws: int, mix: Mix) -> BoolArray:
    """Test two models with the same words and other nations: what the signs of the nations assume, and no more."""
    study = Study("", "preference-half", tables.nationality(16, 6, 6), tables.NATIONALITY, models.nationality_model)
    rows = study.kernel.table
    words, own = PairedEffects(rng, draws, 1.0), PairedEffects(rng, draws, 0.0)
    latent = own.of(mix.level, rows, "nation") + own.of(mix.rest, rows, "nation", "good", "bad")
    for word in ("bad", "good"):
        latent = latent + words.of(mix.level, rows, word)
    a, b = np.split(won(latent), 2)
    nations = (study.rule.contributions(difference)["nation"] for difference in a - b)
    return np.array([sign_flips(levels).p <= LEVEL for levels in nations])


def _mcnemar(rng: np.random.Generator, draws: int, mix: Mix) -> BoolArray:
    """Test frames of fixed occupations, in which two models win as often."""
    rows = tables.verb()
    centre = PairedEffects(rng, draws, 1.0).of(mix.level, rows, "occupation")
    noise = PairedEffects(rng, draws, 0.5).levels(mix.rest, len(rows))
    a, b = np.split(won(centre + noise), 2)
    counts = zip((a > b).sum(axis=1).tolist(), (a < b).sum(axis=1).tolist(), strict=True)
    return np.array([x + y > 0 and stats.binomtest(x, x + y).pvalue <= LEVEL for x, y in counts])


def _polarity(good: int, bad: int) -> Rejections:
    """Return a test of one group, whose words have scores that do not depend on polarity."""

    def rejections(rng: np.random.Generator, draws: int, mix: Mix) -> BoolArray:
        labels = np.arange(good + bad) < bad
        others = divisions(labels, int(rng.integers(2**32)), DIVISIONS).labels
        scores = Effects(rng, draws).levels(math.hypot(mix.level, mix.rest), len(labels))
        return np.array([_permute(_build_table(words), labels, others) <= LEVEL for words in scores])

    return rejections


def _build_table(scores: FloatArray) -> WordTables:
    wins = psi(scores[:, None] - scores[None, :], 1.0, "log")
    return WordTables(wins=wins[None], counts=np.ones_like(wins)[None])


def _permute(table: WordTables, labels: BoolArray, others: BoolArray) -> float:
    observed, permuted = table.points(labels[None, :])[0, 0], table.points(others)[:, 0]
    return float(permutation_p(abs(observed), np.abs(permuted)))


def _edge(study: Study, *, centred: bool = False) -> Rejections:
    """Return a test of equivalence for a figure on the upper edge of the margin.

    `centred` is for a design whose factors but one are fixed: their effects are left out, so that every draw has the
    same truth.
    """

    def rejections(rng: np.random.Generator, draws: int, mix: Mix) -> BoolArray:
        truth = 0.5 + MARGIN.points / 100
        if centred:
            mix = Mix(mix.name, 0.0, mix.rest)
        intervals, _ = study.intervals(Effects(rng, draws), truth, mix, CONFIDENCE)
        return np.array([verdict(interval, 0.0, MARGIN).startswith("equivalent") for interval in intervals])

    return rejections
