"""Size: how often a test at 5 % rejects a null that is true, over a grid of designs and mixes.

Two models that are as good as one another, words whose polarity means nothing, a figure that lies exactly on the edge
of the margin of equivalence. Every test but one, which is there to show why it is not used, has to stay at 5 %.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats

from senseprobe.evaluate.estimands.equivalence import CONFIDENCE, Margin, verdict
from senseprobe.evaluate.estimands.null import WordTables
from senseprobe.evaluate.estimands.relative import Sentences, others_mean
from senseprobe.evaluate.simulation import models, tables
from senseprobe.evaluate.simulation.coverage import AT_ONCE, Compared, Study
from senseprobe.evaluate.simulation.models import MIXES, Effects, Mix, PairedEffects, won
from senseprobe.statistics import (
    BoolArray,
    FloatArray,
    difference_p,
    divisions,
    holm,
    permutation_p,
    psi,
    sign_flips,
)

__all__ = ["LEVEL", "SizeCell", "sizes"]

LEVEL = 0.05
WORDS = {"race": (12, 9), "colour": (5, 5)}
GROUPS = 6
# A permutation test is as exact with 999 divisions as with 9,999, and this many are drawn in every simulated model.
DIVISIONS = 999
MARGIN = Margin(points=20.0, reason="wide enough for a design of few words to show anything")


@dataclass(frozen=True)
class SizeCell:
    """How often a test rejected a true null; `bound` says whether it must not do so in more than 5 %."""

    test: str
    design: str
    mix: str
    rejected: float
    draws: int
    bound: bool = True

    @property
    def error(self) -> float:
        """Monte-Carlo standard error of a size of 5 % from as many draws."""
        return math.sqrt(LEVEL * (1 - LEVEL) / self.draws)

    @property
    def holds(self) -> bool:
        """Whether the size is at most 5 %, three standard errors allowed."""
        return not self.bound or self.rejected <= LEVEL + 3 * self.error


Rejections = Callable[[np.random.Generator, int, Mix], BoolArray]
"""Whether the test rejects in each of D draws from a mix."""


@dataclass(frozen=True)
class Test:
    """A test on a design, and how it is simulated."""

    name: str
    design: str
    rejections: Rejections
    bound: bool = True


def sizes(draws: int, seed: int = 0) -> Iterator[SizeCell]:
    """Cells of every test, design and mix, each with a random stream of its own."""
    for number, test in enumerate(_tests()):
        for which, mix in enumerate(MIXES):
            rng = np.random.default_rng([seed, number, which])
            parts = [test.rejections(rng, min(AT_ONCE, draws - start), mix) for start in range(0, draws, AT_ONCE)]
            rejected = float(np.mean(np.concatenate(parts)))
            yield SizeCell(test.name, test.design, mix.name, rejected, draws, test.bound)


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
        Test("two models, largest p of the factors (not used)", "three factors alike", _largest, bound=False),
        *(Test("polarity", name, _polarity(*count)) for name, count in WORDS.items()),
        Test("relative, any of the groups", "six groups", _relative(spread=False)),
        Test("spread", "six groups", _relative(spread=True)),
        *(Test("equivalence at the edge", study.name, _edge(study)) for study in (nationality, race)),
        Test("equivalence at the edge", "verb, ten times the frames", _edge(verb, centred=True)),
    ]


def _projection(study: Study) -> Rejections:
    """The interval rule's p of two models of the same truth."""

    def rejections(rng: np.random.Generator, draws: int, mix: Mix) -> BoolArray:
        pair = Compared(study)
        kernel, _ = pair.kernels(pair.effects(rng, draws), 0.5, mix)
        rule = study.rule
        numbers = zip((100 * (kernel @ rule.weights)).tolist(), rule.variance(kernel).tolist(), strict=True)
        p = [difference_p(difference, variance, rule.df) for difference, variance in numbers]
        return np.array([value is not None and value <= LEVEL for value in p])

    return rejections


def _largest(rng: np.random.Generator, draws: int, mix: Mix) -> BoolArray:
    """The largest p of three factors whose levels matter alike; each p forgets the other two factors."""
    study = Study("", "preference-half", tables.nationality(10, 10, 10), tables.NATIONALITY, models.nationality_model)
    rows, effects = study.kernel.table, PairedEffects(rng, draws, 0.5)
    latent = effects.of(mix.rest, rows, "nation", "good", "bad")
    for factor in ("nation", "good", "bad"):
        latent = latent + effects.of(mix.level, rows, factor)
    a, b = np.split(won(latent), 2)
    factors = (study.rule.contributions(one).values() for one in a - b)
    return np.array([max(sign_flips(each).p for each in levels) <= LEVEL for levels in factors])


def _nations_alone(rng: np.random.Generator, draws: int, mix: Mix) -> BoolArray:
    """Two models with the same words and other nations: what the signs of the nations assume, and no more."""
    study = Study("", "preference-half", tables.nationality(16, 6, 6), tables.NATIONALITY, models.nationality_model)
    rows = study.kernel.table
    words, own = PairedEffects(rng, draws, 1.0), PairedEffects(rng, draws, 0.0)
    latent = own.of(mix.level, rows, "nation") + own.of(mix.rest, rows, "nation", "good", "bad")
    for word in ("bad", "good"):
        latent = latent + words.of(mix.level, rows, word)
    a, b = np.split(won(latent), 2)
    return np.array([sign_flips(study.rule.contributions(one)["nation"]).p <= LEVEL for one in a - b])


def _mcnemar(rng: np.random.Generator, draws: int, mix: Mix) -> BoolArray:
    """Frames of fixed occupations, in which two models win as often."""
    rows = tables.verb()
    centre = PairedEffects(rng, draws, 1.0).of(mix.level, rows, "occupation")
    noise = PairedEffects(rng, draws, 0.5).levels(mix.rest, len(rows))
    a, b = np.split(won(centre + noise), 2)
    counts = zip((a > b).sum(axis=1).tolist(), (a < b).sum(axis=1).tolist(), strict=True)
    return np.array([x + y > 0 and stats.binomtest(x, x + y).pvalue <= LEVEL for x, y in counts])


def _polarity(good: int, bad: int) -> Rejections:
    """One group, whose words have scores that know nothing of polarity."""

    def rejections(rng: np.random.Generator, draws: int, mix: Mix) -> BoolArray:
        labels = np.arange(good + bad) < bad
        others = divisions(labels, int(rng.integers(2**32)), DIVISIONS).labels
        scores = Effects(rng, draws).levels(math.hypot(mix.level, mix.rest), len(labels))
        return np.array([_p(_one_table(one), labels, others) <= LEVEL for one in scores])

    return rejections


def _one_table(scores: FloatArray) -> WordTables:
    wins = psi(scores[:, None] - scores[None, :], 1.0)
    return WordTables(wins=wins[None], counts=np.ones_like(wins)[None])


def _p(table: WordTables, labels: BoolArray, others: BoolArray) -> float:
    observed, permuted = table.points(labels[None, :])[0, 0], table.points(others)[:, 0]
    return float(permutation_p(abs(observed), np.abs(permuted)))


def _relative(*, spread: bool) -> Rejections:
    """Groups that draw some words more than others do, whatever their polarity."""

    def rejections(rng: np.random.Generator, draws: int, mix: Mix) -> BoolArray:
        labels = np.arange(21) < 9
        others = divisions(labels, int(rng.integers(2**32)), DIVISIONS).labels
        words, groups = Effects(rng, draws).levels(mix.level, 21), Effects(rng, draws).levels(mix.rest, 21 * GROUPS)
        scores = words[:, None, :] + groups.reshape(draws, GROUPS, 21)
        return np.array([_relative_p(one[:, :, None], labels, others, spread=spread) <= LEVEL for one in scores])

    return rejections


def _relative_p(scores: FloatArray, labels: BoolArray, others: BoolArray, *, spread: bool) -> float:
    """Smallest p of the groups after Holm's correction, or that of their spread."""
    sentences = Sentences(
        slot="group",
        groups=tuple(map(str, range(GROUPS))),
        bad=labels,
        scores=scores,
        base=others_mean(scores),
    )
    observed, permuted = sentences.tables.points(labels[None, :])[0], sentences.tables.points(others)
    if spread:
        return float(permutation_p(observed.std(ddof=1), permuted.std(axis=1, ddof=1)))
    return float(holm(permutation_p(np.abs(observed), np.abs(permuted))).min())


def _edge(study: Study, *, centred: bool = False) -> Rejections:
    """Equivalence is claimed of a figure that lies on the edge of the margin, above.

    `centred` is for a design whose factors but one are fixed: their effects are left out, so that every draw has the
    same truth.
    """

    def rejections(rng: np.random.Generator, draws: int, mix: Mix) -> BoolArray:
        truth = 0.5 + MARGIN.points / 100
        if centred:
            mix = Mix(mix.name, 0.0, mix.rest)
        made, _ = study.intervals(Effects(rng, draws), truth, mix, CONFIDENCE)
        return np.array([verdict(interval, 0.0, MARGIN).startswith("equivalent") for interval in made])

    return rejections
