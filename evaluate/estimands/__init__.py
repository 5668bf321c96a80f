"""Estimands: from a table of scores per sentence to the figures that are reported, with intervals.

::

    preference            figure of the paper, strict                     preference.py
    preference-half       ties as halves, carries the interval            preference.py
    relative, spread      each group against the others, same words       relative.py
    relative-mean         the same against their mean; only if asked for  relative.py
    pronoun-stereotype, pronoun-baseline, pronoun-interaction             pronoun.py
    matched-contrast      one figure in two senses                        matched.py
    lms, ss, icat         of StereoSet, over target terms or over pairs   stereoset.py
    nn, fn, t, gap, accuracy                   of rows of inference       inference.py

A table has the columns of a contrast config (`id`, `frame`, a column per slot, `label_basis`, `contested`,
`stereo_value`, `anti_value`, `valence`, `stereotype`, `minimal`) and `stereo_score`, `anti_score`. A score that is no
finite number leaves its row unscored.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.catalogue import CATALOGUE, Estimand
from senseprobe.evaluate.estimands.kernel_rows import (
    NO_NEUTRAL,
    NOT_ESTIMABLE,
    OF_LABELS,
    KernelRows,
    estimate,
    fixed_slots,
    none_of,
    project,
)
from senseprobe.evaluate.estimands.nli import inference_figures, inference_rows
from senseprobe.evaluate.estimands.plugin_figures import of_plugins, plugged_figures
from senseprobe.evaluate.estimands.preference import (
    exact_hits,
    neutral_value,
    preference_rows,
    readings,
    strict_share,
)
from senseprobe.evaluate.estimands.pronoun import SIGNS, has_valence, pronoun_note, pronoun_rows
from senseprobe.evaluate.estimands.relative import VARIANTS, relative_figures
from senseprobe.evaluate.estimands.sense_contrast import Side, project_difference
from senseprobe.evaluate.estimands.stereoset import ICATS, SHARES, stereoset_figures, stereoset_rows
from senseprobe.records import Contrast, Design, Figure
from senseprobe.statistics import (
    CONFIDENCE,
    BoolArray,
    Projection,
    Scale,
    clopper_pearson,
    difference_test,
)

__all__ = [
    "CATALOGUE",
    "LEADING",
    "NO_NEUTRAL",
    "Estimand",
    "contrast_figure",
    "contrast_neutral",
    "figures",
    "in_order",
    "kernel_rows",
]

LEADING = "pronoun-stereotype"
"""The estimand that leads where no value of `preference` is neutral, since its own 0 is whatever the labels."""


def figures(
    rows: pd.DataFrame,
    design: Design,
    config: str,
    *,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    scale: Scale = "log",
) -> list[Figure]:
    """Every figure that the design asks for, in its order; `rows` are one config's, with scores.

    `relative` gives a figure per group and the `spread`, those of StereoSet one per bias type, too. Pronoun estimands
    that need praise and blame are left out of a config without them. `seed` draws the permutations, `confidence` is
    that of the intervals, `scale` that of the scores (`Scorer.scale`), by which ties are told.

    Where no value of `preference` is neutral and there is `pronoun-stereotype`, which is balanced, that comes first;
    those of plug-ins come last. Raises ResultError for an estimand that is not in the catalogue.
    """
    plugged = of_plugins(design.estimands)
    ordered = in_order(rows, design, scale)
    ours = replace(design, estimands=tuple(name for name in ordered if name not in plugged))
    made = _ours(rows, ours, config, seed, confidence, scale)
    made = [replace(figure, definition=CATALOGUE[figure.estimand].definition) for figure in made]
    return [*made, *(figure for name in plugged for figure in plugged_figures(name, rows, design, config, seed))]


def in_order(rows: pd.DataFrame, design: Design, scale: Scale) -> tuple[str, ...]:
    """Return the design's estimands with the one first that leads: `rows` are one config's, with scores."""
    if LEADING not in design.estimands or neutral_value(preference_rows(rows, design, scale), design) is not None:
        return design.estimands
    return tuple(dict.fromkeys([LEADING, *design.estimands]))


def _ours(rows: pd.DataFrame, design: Design, config: str, seed: int, confidence: float, scale: Scale) -> list[Figure]:
    if design.kind == "inference":
        return inference_figures(rows, design, config, confidence=confidence)
    made: list[Figure] = []
    for estimand in _computed(design):
        if estimand in VARIANTS:
            made += relative_figures(rows, design, config, scale, estimand, seed=seed, confidence=confidence)
        elif estimand in {*SHARES, *ICATS}:
            made += stereoset_figures(rows, design, config, estimand, scale, confidence)
        elif estimand != "pronoun-interaction" or has_valence(rows):
            made.append(_figure(rows, design, config, estimand, scale, confidence))
    return made


def _computed(design: Design) -> list[str]:
    """Return what is computed, in order: `relative` brings `spread`, and a variant needs what it is a variant of."""
    listed = dict.fromkeys("relative" if name == "spread" else name for name in design.estimands)
    return [name for name in listed if name not in CATALOGUE or CATALOGUE[name].variant_of in ("", *listed)]


def kernel_rows(rows: pd.DataFrame, design: Design, estimand: str, scale: Scale = "log") -> KernelRows:
    """Rows, kernel and weights of an estimand of the interval rule.

    Raises ResultError where the estimand is none: `relative` has its own sentences, `spread` and `icat` no interval.
    """
    if design.kind == "inference":
        return inference_rows(rows, design, estimand)
    if estimand in OF_LABELS:
        return preference_rows(rows, design, scale)
    if estimand in SIGNS:
        return pronoun_rows(rows, design, estimand, scale)
    if estimand in SHARES:
        return stereoset_rows(rows, estimand, scale)
    raise ResultError(f"no estimand {estimand!r} for rows of pairs; there are {', '.join(CATALOGUE)}")


def _figure(rows: pd.DataFrame, design: Design, config: str, estimand: str, scale: Scale, confidence: float) -> Figure:
    """Figure of an estimand over the rows of one config."""
    kernel = kernel_rows(rows, design, estimand, scale)
    fields = _strict(kernel) if estimand == "preference" else _interval(kernel, design, estimand, confidence)
    if estimand in SIGNS:
        neutral: float | None = 0.0
        notes = [fields.get("note", ""), pronoun_note(kernel, design)]
    else:
        neutral = neutral_value(kernel, design)
        notes = [fields.get("note", ""), "" if neutral is not None else NO_NEUTRAL]
        fields["readings"] = readings(kernel, design)
    fields["note"] = "; ".join(filter(None, notes))
    return Figure(
        config=config,
        sense_type=design.sense_type,
        estimand=estimand,
        neutral=neutral,
        **fields,
        **kernel.tally.as_fields(),
    )


def _strict(kernel: KernelRows) -> dict[str, Any]:
    """Value of `preference`, which has no interval: `preference-half` carries it."""
    share = strict_share(kernel)
    return {"value": None, "note": kernel.tally.none} if share is None else {"value": 100 * share - 50}


def _interval(kernel: KernelRows, design: Design, estimand: str, confidence: float) -> dict[str, Any]:
    """Value and interval of any other figure over rows of pairs."""
    rule = project(kernel, design)
    fields = estimate(kernel, rule, confidence)
    hits = exact_hits(kernel, design) if estimand == "preference-half" else None
    if hits is not None and rule.df is not None:
        low, high = clopper_pearson(hits, len(kernel.kernel), confidence)
        levels = {factor.name: len(kernel.kernel) for factor in design.factors}
        fields = {"value": fields["value"], "low": low, "high": high, "method": "clopper-pearson", "levels": levels}
    listed = [column for factor in design.factors for column in factor.columns]
    return {**fields, "fixed": (*fields.get("fixed", ()), *fixed_slots(design, listed))}


def contrast_figure(
    contrast: Contrast,
    a: pd.DataFrame,
    a_design: Design,
    b: pd.DataFrame,
    b_design: Design,
    *,
    seed: int = 0,  # part of the signature of every figure; no estimand that can be contrasted draws anything
    confidence: float = CONFIDENCE,
    scale: Scale = "log",
) -> Figure:
    """Figure `contrast.estimand` of the rows `a` minus that of the rows `b`, in points from -100 to 100.

    Neutral is 0 where it is for both sides, else unknown. Raises ResultError where the estimand is not one over rows of
    pairs.
    """
    if not contrast.matched:
        return _unmatched(contrast, a, a_design, b, b_design, scale)
    sides = [
        Side(config=config, design=design, rows=kernel_rows(_kept(rows, contrast), design, contrast.estimand, scale))
        for config, rows, design in ((contrast.a, a, a_design), (contrast.b, b, b_design))
    ]
    rule = project_difference(*sides)
    # Shared words cancel, but not how well they fit the two frames: where they are words of praise or blame, a model
    # that knows nothing of the group can be far from 0.
    neutral = contrast_neutral(contrast, sides)
    tally = sides[0].rows.tally + sides[1].rows.tally
    if contrast.minimal_only:
        tally = tally.also_left_out("not minimal", sum(int((~_minimal(rows)).sum()) for rows in (a, b)))
    return Figure(
        config=contrast.name,
        sense_type=f"{a_design.sense_type} - {b_design.sense_type}",
        estimand="matched-contrast",
        neutral=neutral,
        fixed=_fixed(sides, rule),
        definition=CATALOGUE["matched-contrast"].definition,
        # A p-value is held against 0, which says something only where 0 is neutral.
        **{**_difference(sides, rule, confidence), **({"p": None} if neutral is None else {})},
        **tally.as_fields(),
    )


def contrast_neutral(contrast: Contrast, sides: Sequence[Side]) -> float | None:
    """Return 0.0 where 0 is neutral for the contrast's estimand on both sides, else None."""
    if contrast.estimand in SIGNS:
        return 0.0
    known = all(neutral_value(side.rows, side.design) is not None for side in sides)
    return 0.0 if known and contrast.estimand in OF_LABELS else None


def _unmatched(
    contrast: Contrast, a: pd.DataFrame, a_design: Design, b: pd.DataFrame, b_design: Design, scale: Scale
) -> Figure:
    """Difference of the paper's figures: value only, since words and frames differ too."""
    sides = [preference_rows(rows, design, scale) for rows, design in ((a, a_design), (b, b_design))]
    known = [share for side in sides if (share := strict_share(side)) is not None]
    none = none_of(zip((contrast.a, contrast.b), sides, strict=True))
    return Figure(
        config=contrast.name,
        sense_type=f"{a_design.sense_type} - {b_design.sense_type}",
        estimand="unmatched-difference",
        definition=CATALOGUE["unmatched-difference"].definition,
        value=None if none else round(100 * (known[0] - known[1]), 10),
        note=none,
        **(sides[0].tally + sides[1].tally).as_fields(),
    )


def _minimal(rows: pd.DataFrame) -> BoolArray:
    """Whether the sentences of each row differ in one binding and nothing else."""
    return rows["minimal"].to_numpy(dtype=np.bool_)


def _kept(rows: pd.DataFrame, contrast: Contrast) -> pd.DataFrame:
    """Rows that the contrast compares."""
    return rows[_minimal(rows)] if contrast.minimal_only else rows


def _difference(sides: Sequence[Side], rule: Projection, confidence: float) -> dict[str, Any]:
    """Value and interval of a contrast."""
    shares = [side.rows.share for side in sides]
    if shares[0] is None or shares[1] is None:
        return {"value": None, "note": none_of((side.config, side.rows) for side in sides)}
    value = round(100 * (shares[0] - shares[1]), 10)
    kernel = np.concatenate([side.rows.kernel for side in sides])
    tested = difference_test(rule, kernel, value, confidence, by_blocks=any(side.rows.by_blocks for side in sides))
    if tested is None:
        return {"value": value, "levels": rule.levels, "note": NOT_ESTIMABLE}
    interval, p = tested
    ends = {"low": interval.low, "high": interval.high, "method": interval.method, "p": p}
    return {"value": value, **ends, "levels": rule.levels}


def _fixed(sides: Sequence[Side], rule: Projection) -> tuple[str, ...]:
    """Names of what neither side generalises over."""
    listed = [name for side in sides for factor in side.design.factors for name in (factor.name, *factor.columns)]
    slots = [slot for side in sides for slot in fixed_slots(side.design, listed)]
    return tuple(dict.fromkeys([*rule.fixed, *slots]))
