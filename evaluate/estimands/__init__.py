"""Estimands: from a table of scores per sentence to the figures that are reported, with intervals.

::

    preference            figure of the paper, strict                     preference.py
    preference-half       ties as halves, carries the interval            preference.py
    relative, spread      each group against the others, same words       relative.py
    relative-mean         the same against their mean; only if asked for  relative.py
    pronoun-stereotype, pronoun-baseline, pronoun-interaction             pronoun.py
    matched-contrast      one figure in two senses                        sense_contrast.py
    lms, ss, icat         of StereoSet, over target terms or over pairs   stereoset.py
    nn, fn, t, accuracy   of rows of inference                            nli.py
    gap                   of rows of inference with gendered words        gap.py

A table has the columns of a contrast config (`id`, `frame`, a column per slot, `label_basis`, `contested`,
`stereo_value`, `anti_value`, `valence`, `stereotype`, `minimal`) and `stereo_score`, `anti_score`. A score that is not
a finite number leaves its row unscored.
"""

from collections.abc import Mapping

import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.base import NO_NEUTRAL, NOUNS, Estimand, Scope
from senseprobe.evaluate.estimands.kernel import KernelRows
from senseprobe.evaluate.estimands.nli import compact
from senseprobe.evaluate.estimands.preference import PREFERENCE
from senseprobe.evaluate.estimands.registry import CATALOGUE, lookup, plugin_figures
from senseprobe.evaluate.estimands.sense_contrast import MATCHED_CONTRAST, UNMATCHED
from senseprobe.records import Contrast, Design, Figure
from senseprobe.statistics import CONFIDENCE, Scale

__all__ = [
    "CATALOGUE",
    "NO_NEUTRAL",
    "Estimand",
    "contrast_figure",
    "figures",
    "in_order",
    "kernel_rows",
    "lookup",
    "of_sample",
]


def figures(
    rows: pd.DataFrame,
    design: Design,
    config: str,
    *,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    scale: Scale = "log",
) -> list[Figure]:
    """Return every figure that the design asks for, in its order; `rows` are one config's, with scores.

    `relative` gives a figure per group and the `spread`, those of StereoSet one per bias type, too. Pronoun estimands
    that need praise and blame are left out of a config without them. `seed` draws the permutations, `confidence` is
    that of the intervals, `scale` that of the scores (`Scorer.scale`), by which ties are recognised.

    Where no value of `preference` is neutral and there is `pronoun-stereotype`, which is balanced, that comes first;
    those of plug-ins come last. Raises ResultError for an estimand that is not in the catalogue.
    """
    estimands = {name: _declared(name, design) for name in in_order(rows, design, scale)}
    plugged = [estimand for estimand in estimands.values() if estimand.figures is not None]
    ours = (estimand for estimand in estimands.values() if estimand.figures is None)
    computed = {estimand.id: estimand for one in ours for estimand in one.computed_with(design)}
    scope = Scope(design=design, config=config, seed=seed, confidence=confidence, scale=scale)
    table = compact(rows, design)
    results = [
        figure
        for estimand in computed.values()
        if estimand.variant_of in ("", *computed) and estimand.applies_to(table)
        for figure in estimand.compute(table, scope)
    ]
    return [*results, *(figure for added in plugged for figure in plugin_figures(added, rows, design, config, seed))]


def _declared(name: str, design: Design) -> Estimand:
    """Return the estimand with an id; ResultError where none over rows of the design's kind has it."""
    estimand = CATALOGUE.get(name)
    if estimand is None or estimand.kind != design.kind:
        noun = NOUNS.get(design.kind, design.kind)
        raise ResultError(f"no estimand {name!r} for rows of {noun}; there are {', '.join(CATALOGUE)}")
    return estimand


def in_order(rows: pd.DataFrame, design: Design, scale: Scale) -> tuple[str, ...]:
    """Return the design's estimands with the one first that leads: `rows` are one config's, with scores."""
    leading = [name for name in design.estimands if lookup(name).presentation.leads_without_neutral]
    if not leading or PREFERENCE.neutral_value(PREFERENCE.kernel_rows(rows, design, scale), design) is not None:
        return design.estimands
    return tuple(dict.fromkeys([*leading, *design.estimands]))


def kernel_rows(rows: pd.DataFrame, design: Design, estimand: str, scale: Scale = "log") -> KernelRows:
    """Return the rows, kernel and weights of an estimand of the interval rule.

    Raises ResultError where it is not one: `relative` has its own sentences, `spread` and `icat` have no interval.
    """
    return _declared(estimand, design).kernel_rows(rows, design, scale)


def of_sample(figure: Figure, levels: Mapping[str, int]) -> Figure:
    """Return a figure of drawn rows with what it can say of the release: see `Estimand.of_sample`."""
    return lookup(figure.estimand).of_sample(figure, levels)


def contrast_figure(
    contrast: Contrast,
    a: pd.DataFrame,
    a_design: Design,
    b: pd.DataFrame,
    b_design: Design,
    *,
    seed: int = 0,  # as of `figures`; no estimand that can be contrasted draws anything
    confidence: float = CONFIDENCE,
    scale: Scale = "log",
) -> Figure:
    """Return figure `contrast.estimand` of the rows `a` minus that of the rows `b`, in points from -100 to 100.

    Neutral is 0 where it is for both sides, else unknown. Raises ResultError where the estimand is not one over rows of
    pairs.
    """
    tables = ((a, a_design), (b, b_design))
    if not contrast.matched:
        return UNMATCHED.contrast_figure(contrast, tables, scale)
    estimand = _declared(contrast.estimand, a_design)
    return MATCHED_CONTRAST.contrast_figure(contrast, estimand, tables, scale, confidence)
