"""A figure for each word and frame: the rows that hold it, with an interval over the other words.

The levels of one slot are no tests of one another, and no p-value is printed: the largest of fifty is large by chance.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands import CATALOGUE, kernel_rows
from senseprobe.evaluate.estimands.inference import Scope, figure_of
from senseprobe.evaluate.estimands.kernels import estimate, fixed_slots, labels, project
from senseprobe.evaluate.estimands.neutrality import MEANS, compact, inference_rows
from senseprobe.evaluate.estimands.preference import neutral_value, readings
from senseprobe.records import Design, Factor, Figure
from senseprobe.statistics import Scale

MOST = 40
"""Levels of a slot that are shown: half of them the lowest, half the highest. The rest is counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Levels:
    """The figures of words in a slot (or of frames), lowest first; `words` counts all that there are."""

    config: str
    slot: str
    estimand: str
    figures: tuple[Figure, ...]
    words: int


def levels(
    rows: pd.DataFrame,
    design: Design,
    config: str,
    words: Mapping[str, Sequence[str]] | None = None,
    scale: Scale = "log",
) -> Iterator[Levels]:
    """`preference-half`, or the design's first mean over rows of inference, for each word of each slot and each frame.

    `rows` are one config's, with scores. A slot with one word is left out. `words` are those to show of each slot,
    where they are chosen already, by another model's figures. `scale` is that of the scores (`Scorer.scale`).
    """
    estimand = _estimand(design)
    if estimand is None or not len(rows):
        return
    table = compact(rows, design) if design.kind == "inference" else rows
    scored = kernel_rows(table, design, estimand, scale)
    for slot in (*design.slots, "frame"):
        means = pd.Series(np.round(scored.kernel, 12)).groupby(labels(scored.table, slot).astype(str)).mean()
        if len(means) < 2:
            continue
        # In order of words where means are equal, whatever the order of the rows.
        order = [str(word) for word in means.round(9).sort_index().sort_values(kind="stable").index]
        shown = (words or {}).get(slot) or (order if len(order) <= MOST else order[: MOST // 2] + order[-MOST // 2 :])
        held = labels(table, slot).astype(str)
        figures = tuple(_figure(table[held == word], design, config, estimand, slot, word, scale) for word in shown)
        yield Levels(config=config, slot=slot, estimand=estimand, figures=figures, words=len(order))


def _estimand(design: Design) -> str | None:
    if design.kind == "contrast":
        return "preference-half" if "preference-half" in design.estimands else None
    return next((name for name in design.estimands if name in {*MEANS, "accuracy"}), None)


def _figure(
    part: pd.DataFrame, design: Design, config: str, estimand: str, slot: str, word: str, scale: Scale
) -> Figure:
    """The figure of the rows that hold a word; it does not generalise over what it is about."""
    if design.kind == "inference":
        scope = Scope(design=design, config=config, group=word, held=(slot,))
        return figure_of(inference_rows(part, design, estimand), scope, estimand)
    rest = replace(design, factors=tuple(_without(design.factors, slot)))
    rows = kernel_rows(part, rest, estimand, scale)
    rule = project(rows, rest)
    fields = estimate(rows, rule)
    listed = [slot, *(column for factor in rest.factors for column in factor.columns)]
    return Figure(
        config=config,
        sense_type=design.sense_type,
        estimand=estimand,
        group=word,
        neutral=neutral_value(rows, design),
        readings=readings(rows, design),
        definition=CATALOGUE[estimand].definition,
        **{**fields, "fixed": (*rule.fixed, *fixed_slots(design, listed))},
        **rows.tally.as_fields(),
    )


def _without(factors: tuple[Factor, ...], slot: str) -> Iterator[Factor]:
    """The factors without a column; a factor that had no other is gone."""
    for factor in factors:
        columns = tuple(column for column in factor.columns if column != slot)
        if columns:
            yield replace(factor, columns=columns)


def example(rows: pd.DataFrame, frame: str) -> str:
    """A sentence of a frame, whose own name tells nobody anything: the first of its rows."""
    role = "stereo" if "stereo" in rows else "premise"
    found: str = rows[role].to_numpy(dtype=object)[np.argmax(rows["frame"].to_numpy() == frame)]
    return found
