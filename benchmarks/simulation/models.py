"""Random models whose true figure is known: a crossed random-effects probit.

Every level of every factor has a normal effect, and a pair is won where the sum of its effects is positive, so the true
figure is a normal integral in closed form.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from senseprobe.evaluate.estimands.sense_contrast import Side
from senseprobe.statistics import FloatArray


@dataclass(frozen=True)
class Mix:
    """Standard deviations of the effects of levels, and of what is left (interactions and noise)."""

    name: str
    level: float
    rest: float


MIXES = (Mix("levels", 1.0, 0.4), Mix("rest", 0.4, 1.0))
"""Variance components: the words decide, or their combinations and noise do."""

Draw = tuple[FloatArray, FloatArray]
"""Kernel, shape (D, N), and the true figure on [0, 1], shape (D,); of contents, both in nats."""


class Effects:
    """Random effects of the levels in the rows of a table, independent in each of D draws."""

    def __init__(self, rng: np.random.Generator, draws: int) -> None:
        self.rng = rng
        self.draws = draws

    def levels(self, deviation: float, count: int) -> FloatArray:
        """Draw effects of some levels, shape (D, count)."""
        return self.rng.normal(0, deviation, (self.draws, count))

    def of(self, deviation: float, rows: pd.DataFrame, *columns: str) -> FloatArray:
        """Draw effects of the combinations of levels in the columns, for each row: shape (D, N)."""
        codes = rows.groupby(list(columns), sort=True).ngroup().to_numpy()
        return self.levels(deviation, int(codes.max()) + 1)[:, codes]


class PairedEffects(Effects):
    """Effects of two models in each of D draws, of which they share a part: 2D draws, first those of model A.

    `shared` is the share of each effect's variance that both models have in common.
    """

    def __init__(self, rng: np.random.Generator, draws: int, shared: float) -> None:
        super().__init__(rng, 2 * draws)
        self._shared = shared

    def levels(self, deviation: float, count: int) -> FloatArray:
        """Draw effects of some levels, shape (2D, count)."""
        common = np.tile(self.rng.normal(0, deviation, (self.draws // 2, count)), (2, 1))
        own = self.rng.normal(0, deviation, (self.draws, count))
        return np.asarray(math.sqrt(self._shared) * common + math.sqrt(1 - self._shared) * own)


def won(latent: FloatArray) -> FloatArray:
    """Return the kernel of latent differences: 1 where positive."""
    return (latent > 0).astype(np.float64)


def nationality_model(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """Every sentence (nation, word) has its score; a pair is a difference of two and has no noise of its own."""
    latent = effects.of(mix.level / 2, rows, "nation")
    for word in ("bad", "good"):
        latent = latent + effects.of(mix.level, rows, word) + effects.of(mix.rest, rows, "nation", word)
    deviation = math.sqrt(2.25 * mix.level**2 + 2 * mix.rest**2)
    return won(latent + deviation * ndtri(truth)), np.full(effects.draws, truth)


def race_model(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """One group, which is fixed: a pair is won where the bad word's score is above the good word's."""
    latent = effects.of(mix.level, rows, "bad") + effects.of(mix.level, rows, "good")
    return won(latent + math.sqrt(2) * mix.level * ndtri(truth)), np.full(effects.draws, truth)


def colour_model(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """Nouns' own effects cancel in a pair of the same noun, so the truth mixes a fifth and four fifths of the pairs."""
    stereo, anti = (rows[f"noun_{role}"].str[4:].astype(int).to_numpy() for role in ("stereo", "anti"))
    own = effects.levels(mix.level, 5)
    latent = own[:, stereo] - own[:, anti]
    for noun, word in (("noun_stereo", "bad"), ("noun_anti", "good")):
        latent = latent + effects.of(mix.level, rows, word) + effects.of(mix.rest, rows, noun, word)
        latent = latent + effects.of(mix.level / 2, rows, noun)
    same = math.sqrt(2.5 * mix.level**2 + 2 * mix.rest**2)
    crossed = math.sqrt(same**2 + 2 * mix.level**2)
    shift = brentq(lambda mu: ndtr(mu / same) / 5 + 4 * ndtr(mu / crossed) / 5 - truth, -20, 20)
    return won(latent + shift), np.full(effects.draws, truth)


def verb_model(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """Occupations are fixed, so the truth is that of the six that were drawn."""
    centre = effects.of(mix.level, rows, "occupation") + math.hypot(mix.level, mix.rest) * ndtri(truth)
    latent = centre + effects.levels(mix.rest, len(rows))
    return won(latent), np.asarray(ndtr(centre / mix.rest)).mean(axis=1)


def nationality_contents(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """Contents of a chat model's choices, in nats, of which every word and every combination has its part."""
    latent = effects.of(mix.level / 2, rows, "nation")
    for word in ("bad", "good"):
        latent = latent + effects.of(mix.level, rows, word) + effects.of(mix.rest, rows, "nation", word)
    return latent + truth, np.full(effects.draws, truth)


def noun_contents(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """As nationality's; nurse is fixed, so that the truth has her own effects."""
    row = Occupational(rows, effects, mix, "quality")
    return row.latent + truth, truth + np.where(row.nurse, row.centre, 0).mean(axis=1)


def verb_contents(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """As nationality's; every occupation is fixed."""
    centre = effects.of(mix.level, rows, "occupation") + truth
    return centre + effects.levels(mix.rest, len(rows)), centre.mean(axis=1)


def noun_model(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """Nurse is fixed with the effects that she has, the male-typed occupations and the qualities are samples."""
    row = Occupational(rows, effects, mix, "quality")
    deviation = row.deviation * ndtri(truth)
    nurse = row.nurse.mean()
    of_nurse = ndtr((deviation + row.centre) / row.inner)[:, row.nurse].mean(axis=1)
    return won(row.latent + deviation), (1 - nurse) * truth + nurse * of_nurse


def pronoun_model(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """As much preference for 'he' in male-typed occupations as for 'she' with nurse, but for nurse's own effects."""
    column = "quality" if "quality" in rows else "frame"
    return Occupational(rows, effects, mix, column).pronoun(truth)


class Occupational:
    """Latent effects of an occupation (and its praise and blame), of what it is combined with, and of each pair."""

    def __init__(
        self, rows: pd.DataFrame, effects: Effects, mix: Mix, column: str, shared: FloatArray | None = None
    ) -> None:
        own = effects.of(mix.level, rows, "occupation") if shared is None else shared
        valence = effects.of(mix.rest, rows.fillna({"valence": ""}), "occupation", "valence")
        self.nurse = rows["occupation"].eq("nurse").to_numpy()
        self.centre = own + valence
        self.inner = math.hypot(mix.level, mix.rest)
        self.deviation = math.sqrt(2 * mix.level**2 + 2 * mix.rest**2)
        self.latent = self.centre + effects.of(mix.level, rows, column) + effects.levels(mix.rest, len(rows))
        self.pleasant = rows["valence"].ne("unpleasant").to_numpy()

    def pronoun(self, truth: float) -> Draw:
        """Return kernel H, and the truth of `pronoun-stereotype` given the effects of nurse."""
        shift = self.deviation * ndtri(truth)
        halves = [self.nurse & half for half in (self.pleasant, ~self.pleasant) if half.any()]
        centres = [self.centre[:, np.flatnonzero(half)[0]] for half in halves]
        nurse = np.mean([ndtr((centre - shift) / self.inner) for centre in centres], axis=0)
        return won(self.latent + np.where(self.nurse, -shift, shift)), 0.5 + 0.5 * (truth - nurse)


def race_colour_model(sides: Sequence[Side], effects: Effects, truth: float, mix: Mix) -> tuple[Draw, Draw]:
    """Words have an effect that both senses share and one of each sense; the second sense stands at one half."""
    race, colour = (side.rows.table for side in sides)
    both = pd.concat([race, colour], ignore_index=True)
    shared = effects.of(mix.level, both, "bad") + effects.of(mix.level, both, "good")
    own = [effects.of(mix.rest, rows, "bad") + effects.of(mix.rest, rows, "good") for rows in (race, colour)]
    nouns = effects.of(mix.level / 2, colour, "noun_stereo") + effects.levels(mix.rest, len(colour))
    deviation = math.sqrt(2 * mix.level**2 + 2 * mix.rest**2)
    first = won(shared[:, : len(race)] + own[0] + deviation * ndtri(truth))
    second = won(shared[:, len(race) :] + own[1] + nouns)
    return (first, np.full(effects.draws, truth)), (second, np.full(effects.draws, 0.5))


def noun_verb_model(sides: Sequence[Side], effects: Effects, truth: float, mix: Mix) -> tuple[Draw, Draw]:
    """Occupations have an effect that both senses share and one of each sense; the second sense stands at one half."""
    noun, verb = (side.rows.table for side in sides)
    both = effects.of(mix.level, pd.concat([noun, verb], ignore_index=True), "occupation")
    first = Occupational(noun, effects, mix, "frame", shared=both[:, : len(noun)]).pronoun(truth)
    second = Occupational(verb, effects, mix, "frame", shared=both[:, len(noun) :]).pronoun(0.5)
    return first, second


def fixed_pronoun_model(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """All occupations are fixed: the truth is that of the six that were drawn, and frames alone are a sample."""
    sign = np.where(rows["occupation"].eq("nurse"), -1.0, 1.0)
    centre = effects.of(mix.level, rows, "occupation") + sign * math.hypot(mix.level, mix.rest) * ndtri(truth)
    share = pd.DataFrame(np.asarray(ndtr(centre / mix.rest)).T).groupby(rows["occupation"]).first()
    male = share.drop("nurse").mean().to_numpy()
    kernel = won(centre + effects.levels(mix.rest, len(rows)))
    return kernel, 0.5 + 0.5 * (male - share.loc["nurse"].to_numpy())


def inference_model(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """Return the share of rows that are neutral: a row is where its latent effects and its own noise are above 0."""
    centre, truths = _draw_centre(rows, effects, truth, mix)
    return won(centre + effects.levels(mix.rest, len(rows))), truths


def soft_inference_model(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """Return the mean probability of neutral, which has the same truth: noise stays in the probability."""
    centre, truths = _draw_centre(rows, effects, truth, mix)
    return np.asarray(ndtr(centre / mix.rest)), truths


def _draw_centre(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """Return latent effects without noise, and the truth given the effects of the persons, who are fixed."""
    person = effects.of(mix.rest, rows, "person")
    random = effects.of(mix.rest, rows, "occupation", "person")
    for factor in ("verb", "object", "occupation"):
        random = random + effects.of(mix.level, rows, factor)
    inner = math.sqrt(3 * mix.level**2 + 2 * mix.rest**2)
    shift = math.hypot(inner, mix.rest) * ndtri(truth)
    alone = person[:, np.unique(rows["person"], return_index=True)[1]]
    return person + random + shift, np.asarray(ndtr((shift + alone) / inner)).mean(axis=1)


Model = Callable[[pd.DataFrame, Effects, float, Mix], Draw]
PairModel = Callable[[Sequence[Side], Effects, float, Mix], tuple[Draw, Draw]]
