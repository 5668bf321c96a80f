"""Models that nearly always say 'he': of male-typed occupations, and of nurse as well or not, hardly a row dissents.

A pair's latent difference has a constant part (nurse's own effects, those of fixed frames) and a random part whose
deviation is known, so the truth of every figure is the sum of its weights times normal integrals, one for each row.
"""

import itertools
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from senseprobe.evaluate.estimands import kernel_rows, lookup
from senseprobe.evaluate.estimands.kernel import KernelRows
from senseprobe.evaluate.estimands.sense_contrast import Side
from senseprobe.records import Design
from senseprobe.statistics import BoolArray, FloatArray
from simulation import tables
from simulation.coverage import AnyStudy, Cell, ContrastStudy, Study, simulate_cells
from simulation.models import Draw, Effects, Mix, won

BOUNDARY_TRUTHS = (0.9, 0.96, 0.99, 0.999)
"""How often a model says 'he' of male-typed occupations."""

OF_NURSE = (None, 0.5, 0.8)
"""How often it says so of nurse; None: as often as of the others."""

FIRST = 100
"""Number of the first study in the random streams, behind those of the other grid."""


def draw_latent(
    rows: pd.DataFrame, effects: Effects, mix: Mix, *, fixed: Sequence[str], shared: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Draw the constant and the random part of latent differences, (D, N) each, and the latter's deviation, (N,).

    An occupation has an effect of its own (`shared`, where another table has it too) and one in praise and in blame;
    so has what it is combined with. `fixed` names columns whose levels are constant; nurse is in any case.
    """
    nurse = rows["occupation"].eq("nurse").to_numpy() | ("occupation" in fixed)
    own = effects.of(mix.level, rows, "occupation") if shared is None else shared
    constant = np.where(nurse, own, 0.0)
    random = np.where(nurse, 0.0, own) + effects.levels(mix.rest, len(rows))
    variance = np.where(nurse, 0.0, mix.level**2) + mix.rest**2
    if "quality" in rows:
        by_valence = effects.of(mix.rest, rows, "occupation", "valence")
        constant = constant + np.where(nurse, by_valence, 0.0)
        random = random + np.where(nurse, 0.0, by_valence) + effects.of(mix.level, rows, "quality")
        variance = variance + np.where(nurse, 0.0, mix.rest**2) + mix.level**2
    if (rows["frame"] != rows["frame"].iloc[0]).any():
        deviation = mix.rest if "frame" in fixed else mix.level
        of_frame = effects.of(deviation, rows, "frame")
        if "frame" in fixed:
            constant = constant + of_frame
        else:
            random, variance = random + of_frame, variance + deviation**2
    return constant, random, np.sqrt(variance)


def _draw_he(
    rows: pd.DataFrame, parts: tuple[FloatArray, FloatArray, FloatArray], truths: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """Return H of each row and its expectation, shapes (D, N); `truths` are of male-typed occupations and of nurse."""
    constant, random, deviation = parts
    male = deviation[rows["occupation"].ne("nurse").to_numpy()].max()
    centre = constant + male * ndtri(np.where(rows["occupation"].eq("nurse"), truths[1], truths[0]))
    return won(centre + random), np.asarray(ndtr(centre / deviation))


def _is_stereotypical(rows: pd.DataFrame) -> BoolArray:
    """Return whether 'he' is the stereotype: praise of a male-typed or blame of the female-typed occupation."""
    male = rows["occupation"].ne("nurse").to_numpy()
    return np.asarray(male == rows["valence"].ne("unpleasant").to_numpy())


def _draw(
    rows: KernelRows, parts: tuple[FloatArray, FloatArray, FloatArray], truths: tuple[float, float], estimand: str
) -> Draw:
    """Return the kernel of the estimand and its truth, the weighted expectations of the rows."""
    kernel, expected = _draw_he(rows.table, parts, truths)
    if lookup(estimand).neutral_from_labels:
        he = _is_stereotypical(rows.table)
        kernel, expected = np.where(he, kernel, 1 - kernel), np.where(he, expected, 1 - expected)
    return kernel, rows.offset + expected @ rows.weights


def build_he_study(design: str, estimand: str, rows: pd.DataFrame, plan: Design, nurse: float | None) -> Study:
    """Return the study of a model that says 'he' of male-typed occupations at the truth, of nurse at `nurse`."""
    kernel = kernel_rows(rows, plan, estimand)
    listed = {factor.name for factor in plan.factors}
    fixed = [column for column in ("occupation", "frame") if column not in listed]

    def model(table: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
        truths = (truth, truth if nurse is None else nurse)
        return _draw(kernel, draw_latent(table, effects, mix, fixed=fixed), truths, estimand)

    return Study(_name(design, nurse), estimand, rows, plan, model)


def _name(design: str, nurse: float | None) -> str:
    return f"{design}, he of {'all' if nurse is None else f'nurse {nurse:g}'}"


def _build_contrast(nurse: float | None) -> ContrastStudy:
    """Return bare nouns less verbs, which share the occupations' effects; on verbs nurse is as the others."""

    def model(sides: Sequence[Side], effects: Effects, truth: float, mix: Mix) -> tuple[Draw, Draw]:
        bare, verb = (side.rows for side in sides)
        both = effects.of(mix.level, pd.concat([bare.table, verb.table], ignore_index=True), "occupation")
        own = (both[:, : len(bare.table)], both[:, len(bare.table) :])
        truths = ((truth, truth if nurse is None else nurse), (truth, truth))
        first, second = (
            _draw(rows, draw_latent(rows.table, effects, mix, fixed=(), shared=shared), pair, "pronoun-stereotype")
            for rows, shared, pair in zip((bare, verb), own, truths, strict=True)
        )
        return first, second

    sides = [(tables.bare(), tables.BARE), (tables.verb(), tables.VERB)]
    return ContrastStudy(_name("noun - verb", nurse), "pronoun-stereotype", sides, model)


@cache
def build_boundary_studies() -> tuple[AnyStudy, ...]:
    """Return the published grid: noun, bare nouns, verbs, noun in three fixed frames, the matched contrast."""
    frames = pd.concat([tables.noun().assign(frame=frame) for frame in ("f0", "f1", "f2")], ignore_index=True)
    designs = {
        "noun": (tables.noun(), tables.NOUN),
        "noun, three frames": (frames, tables.NOUN),
        "noun-bare": (tables.bare(), tables.BARE),
        "verb": (tables.verb(), tables.VERB),
    }
    estimands = ("pronoun-stereotype", "pronoun-baseline", "pronoun-interaction", "preference-half")
    studies: list[AnyStudy] = []
    for (name, table), nurse in itertools.product(designs.items(), OF_NURSE):
        # Praise and blame are in noun alone; the interval of verb's preference is Clopper and Pearson's.
        skipped = {"noun-bare": {"pronoun-interaction"}, "verb": {"pronoun-interaction", "preference-half"}}
        chosen = [estimand for estimand in estimands if estimand not in skipped.get(name, ())]
        studies += [build_he_study(name, estimand, *table, nurse) for estimand in chosen]
    return (*studies, *(_build_contrast(nurse) for nurse in OF_NURSE))


def simulate_boundary(draws: int, seed: int = 0, only: str | None = None) -> Iterator[Cell]:
    """Yield the cells at the boundary, of every design, mix and truth; `only` is how a design's name begins."""
    studies = [(FIRST + number, study) for number, study in enumerate(build_boundary_studies())]
    chosen = [(number, study) for number, study in studies if study.name.startswith(only or "")]
    yield from simulate_cells(chosen, BOUNDARY_TRUTHS, BOUNDARY_TRUTHS, draws, seed, bound=True)
