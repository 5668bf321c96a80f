"""Coverage: how often the 95 % interval of a figure includes the truth, over a grid of designs, mixes and truths."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands import kernel_rows, lookup
from senseprobe.evaluate.estimands.kernel import KernelRows
from senseprobe.evaluate.estimands.preference import HalfPreference, exact_hits
from senseprobe.evaluate.estimands.sense_contrast import Side, project_difference
from senseprobe.evaluate.served.content import CONTENT_MEAN, MOST
from senseprobe.records import Design
from senseprobe.statistics import (
    CONFIDENCE,
    FloatArray,
    Interval,
    Projection,
    clopper_pearson,
    difference_interval,
    difference_intervals,
    share_intervals,
)
from simulation import models, tables
from simulation.models import MIXES, Effects, Mix, Model, PairedEffects, PairModel

CONTENTS = (0.0, 0.5)
"""Nats: of a mean every truth is covered alike."""
TRUTHS = (0.1, 0.25, 0.5, 0.6, 0.75, 0.9, 0.96)
REQUIRED, REQUIRED_RANGE = 0.93, (0.1, 0.9)
BATCH = 250
"""Draws whose kernels are in memory at a time."""

Intervals = tuple[list[tuple[float, float] | None], FloatArray]
"""Intervals and truths in points, one per draw."""


@dataclass(frozen=True)
class Cell:
    """The coverage on one design at one truth."""

    design: str
    estimand: str
    mix: str
    truth: float
    covered: float
    estimable: int
    not_estimable: int
    half_width: float
    bound: bool | None = None
    """Whether the coverage is required at this truth; None: where it lies in the range."""

    @property
    def error(self) -> float:
        """Monte-Carlo standard error of a coverage of 93 % from as many intervals."""
        return math.sqrt(REQUIRED * (1 - REQUIRED) / max(1, self.estimable))

    @property
    def required(self) -> bool:
        """Whether the truth lies where the coverage is required."""
        return REQUIRED_RANGE[0] <= self.truth <= REQUIRED_RANGE[1] if self.bound is None else self.bound

    @property
    def holds(self) -> bool:
        """Whether the coverage is what is required, less three standard errors."""
        return not self.required or self.covered >= REQUIRED - 3 * self.error


@dataclass(frozen=True)
class Study:
    """One figure of one config."""

    name: str
    estimand: str
    rows: pd.DataFrame
    design: Design
    model: Model

    @cached_property
    def kernel(self) -> KernelRows:
        """The rows of the estimand, with their weights."""
        return kernel_rows(self.rows, self.design, self.estimand)

    @cached_property
    def rule(self) -> Projection:
        """The interval rule of the figure."""
        return self.kernel.project(self.design)

    def effects(self, rng: np.random.Generator, draws: int) -> Effects:
        """Return effects of one model for each draw."""
        return Effects(rng, draws)

    def intervals(self, effects: Effects, truth: float, mix: Mix, confidence: float = CONFIDENCE) -> Intervals:
        """Return the intervals and truths of D draws."""
        kernel, truths = self.model(self.kernel.table, effects, truth, mix)
        is_half = isinstance(lookup(self.estimand), HalfPreference)
        if is_half and exact_hits(self.kernel, self.design) is not None:
            exact = [clopper_pearson(int(hits), kernel.shape[1], confidence) for hits in kernel.sum(axis=1)]
            return list(exact), 100 * truths - 50
        shares = np.round(self.kernel.offset + kernel @ self.kernel.weights, 12)
        intervals = share_intervals(self.rule, kernel, shares, confidence, by_blocks=self.kernel.by_blocks)
        return ends_of(intervals), 100 * truths - 50


@dataclass(frozen=True)
class ContentStudy(Study):
    """The mean content of a chat model's choices on one config, in nats."""

    def intervals(self, effects: Effects, truth: float, mix: Mix, confidence: float = CONFIDENCE) -> Intervals:
        """Return the intervals and truths of D draws."""
        contents, truths = self.model(self.kernel.table, effects, truth, mix)
        values, variances = contents @ self.rule.weights, self.rule.variance(contents / 100)
        pairs = zip(values.tolist(), variances.tolist(), strict=True)
        return [difference_interval(*pair, self.rule.df, confidence, limit=MOST) for pair in pairs], truths


@dataclass(frozen=True)
class ContrastStudy:
    """One figure in two senses."""

    name: str
    estimand: str
    sides: Sequence[tuple[pd.DataFrame, Design]]
    model: PairModel

    @cached_property
    def prepared(self) -> tuple[Side, Side]:
        """Either sense, with the rows of the estimand."""
        first, second = (
            Side(config=str(i), design=design, rows=kernel_rows(rows, design, self.estimand))
            for i, (rows, design) in enumerate(self.sides)
        )
        return first, second

    @cached_property
    def rule(self) -> Projection:
        """The interval rule of the difference."""
        return project_difference(*self.prepared)

    def effects(self, rng: np.random.Generator, draws: int) -> Effects:
        """Return effects of one model for each draw."""
        return Effects(rng, draws)

    def intervals(self, effects: Effects, truth: float, mix: Mix) -> Intervals:
        """Return the intervals and truths of D draws."""
        (first, first_truth), (second, second_truth) = self.model(self.prepared, effects, truth, mix)
        offset = self.prepared[0].rows.offset - self.prepared[1].rows.offset
        kernel = np.concatenate([first, second], axis=1)
        differences = 100 * (kernel @ self.rule.weights + offset)
        by_blocks = any(side.rows.by_blocks for side in self.prepared)
        intervals = difference_intervals(self.rule, kernel, differences, by_blocks=by_blocks)
        return ends_of(intervals), 100 * (first_truth - second_truth)


@dataclass(frozen=True)
class ComparisonStudy:
    """One figure of two models, both at the truth, which share half of the variance of every effect."""

    study: Study
    shared: float = 0.5

    @property
    def name(self) -> str:
        """The design, marked as a comparison."""
        return f"{self.study.name}, A - B"

    @property
    def estimand(self) -> str:
        """The figure that is compared."""
        return self.study.estimand

    def effects(self, rng: np.random.Generator, draws: int) -> Effects:
        """Return effects of two models for each draw."""
        return PairedEffects(rng, draws, self.shared)

    def kernels(self, effects: Effects, truth: float, mix: Mix) -> tuple[FloatArray, FloatArray]:
        """Return differences of the two kernels, shape (D, N), and of the truths, shape (D,)."""
        (a, b), (truth_a, truth_b) = (
            np.split(values, 2) for values in self.study.model(self.study.kernel.table, effects, truth, mix)
        )
        return a - b, truth_a - truth_b

    def intervals(self, effects: Effects, truth: float, mix: Mix) -> Intervals:
        """Return the intervals and truths of D draws."""
        kernel, truths = self.kernels(effects, truth, mix)
        rule = self.study.rule
        pairs = zip((100 * (kernel @ rule.weights)).tolist(), rule.variance(kernel).tolist(), strict=True)
        return [difference_interval(*pair, rule.df) for pair in pairs], 100 * truths


AnyStudy = Study | ContrastStudy | ComparisonStudy


def ends_of(intervals: Sequence[Interval | None]) -> list[tuple[float, float] | None]:
    """Return the ends of each interval."""
    return [None if interval is None else (interval.low, interval.high) for interval in intervals]


def build_studies() -> list[AnyStudy]:
    """Return the published grid: designs as in sssb and nli-occupation, with figures, contrasts and comparisons."""
    half = "preference-half"
    nationality = Study("nationality", half, tables.nationality(), tables.NATIONALITY, models.nationality_model)
    language = Study("language", half, tables.nationality(16, 6, 6), tables.NATIONALITY, models.nationality_model)
    race = Study("race", half, tables.race(), tables.RACE, models.race_model)
    colour = Study("colour", half, tables.colour(), tables.COLOUR, models.colour_model)
    noun = Study("noun", half, tables.noun(), tables.NOUN, models.noun_model)
    verb = Study("verb", half, tables.verb(), tables.VERB, models.verb_model)
    he = Study("noun", "pronoun-stereotype", tables.noun(), tables.NOUN, models.pronoun_model)
    he_verb = Study("verb", "pronoun-stereotype", tables.verb(), tables.VERB, models.fixed_pronoun_model)
    nn, fn = (
        Study("inference", estimand, tables.inference(), tables.INFERENCE, model)
        for estimand, model in (("nn", models.soft_inference_model), ("fn", models.inference_model))
    )
    matched, bare = (tables.race(5, 5), tables.RACE), (tables.bare(), tables.BARE)
    same_noun, frames = (tables.colour(same_noun=True), tables.COLOUR), (tables.verb(), tables.VERB)
    return [
        *(nationality, language, race, colour, noun, verb, he, he_verb, nn, fn),
        ContrastStudy("race - colour", half, [matched, same_noun], models.race_colour_model),
        ContrastStudy("noun - verb", "pronoun-stereotype", [bare, frames], models.noun_verb_model),
        *(ComparisonStudy(study) for study in (nationality, race, colour, noun, verb, he, he_verb, fn)),
    ]


def simulate_contents(draws: int, seed: int = 0, truths: Sequence[float] = CONTENTS) -> Iterator[Cell]:
    """Yield cells of the mean contents of planted chat models; what they prefer is covered as any preference is."""
    designs = (
        ("nationality", tables.nationality(), tables.NATIONALITY, models.nationality_contents),
        ("noun", tables.noun(), tables.NOUN, models.noun_contents),
        ("verb", tables.verb(), tables.VERB, models.verb_contents),
    )
    studies = [
        ContentStudy(name, CONTENT_MEAN.id, rows.assign(content=0.0), design, model)
        for name, rows, design, model in designs
    ]
    yield from simulate_cells([*enumerate(studies)], truths, CONTENTS, draws, seed, bound=True)


def simulate(draws: int, seed: int = 0, truths: Sequence[float] = TRUTHS, only: str | None = None) -> Iterator[Cell]:
    """Yield cells of every design, mix and truth, each with a random stream of its own; `only` names one design."""
    chosen = [(number, study) for number, study in enumerate(build_studies()) if only in (None, study.name)]
    yield from simulate_cells(chosen, truths, TRUTHS, draws, seed)


def simulate_cells(
    numbered: Sequence[tuple[int, AnyStudy]],
    truths: Sequence[float],
    grid: Sequence[float],
    draws: int,
    seed: int,
    *,
    bound: bool = False,
) -> Iterator[Cell]:
    """Yield cells of numbered studies at some truths of a grid: number, mix and truth choose the random stream."""
    for number, study in numbered:
        for mix, truth in itertools.product(MIXES, truths):
            stream = [seed, number, MIXES.index(mix), grid.index(truth)]
            yield replace(_simulate_cell(study, mix, truth, np.random.default_rng(stream), draws), bound=bound)


def _simulate_cell(study: AnyStudy, mix: Mix, truth: float, rng: np.random.Generator, draws: int) -> Cell:
    """Return the coverage in as many draws, computed in batches."""
    estimated: list[tuple[tuple[float, float], float]] = []
    for start in range(0, draws, BATCH):
        intervals, truths = study.intervals(study.effects(rng, min(BATCH, draws - start)), truth, mix)
        estimated += [(pair, value) for pair, value in zip(intervals, truths.tolist(), strict=True) if pair is not None]
    return Cell(
        design=study.name,
        estimand=study.estimand,
        mix=mix.name,
        truth=truth,
        covered=float(np.mean([low <= value <= high for (low, high), value in estimated])) if estimated else math.nan,
        estimable=len(estimated),
        not_estimable=draws - len(estimated),
        half_width=float(np.median([(high - low) / 2 for (low, high), _ in estimated])) if estimated else math.nan,
    )
