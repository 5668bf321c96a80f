"""Estimands over rows of inference: e, n and c are the probabilities of entailment, neutral and contradiction.

::

    nn              mean of n                                                     neutrality.py
    fn              share of rows whose n is the largest, ties included           neutrality.py
    t@0.5, t@0.7    share of rows whose n is above the threshold                  neutrality.py
    …-filler        nn and t as the released code computes them                   fillers.py
    gap             e of the male word less e of the female one                   gap.py
    accuracy        share of rows whose gold label has the largest probability    neutrality.py

A table has the columns of an inference config (`frame`, a column per slot, `gold`) and the three probabilities. A row
with one that is no finite number is unscored. Figures are in points: 0 to 100, and `gap` -100 to 100.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands.catalogue import CATALOGUE
from senseprobe.evaluate.estimands.families import GAPS, corrected
from senseprobe.evaluate.estimands.fillers import LABELS, filler_design, fillers
from senseprobe.evaluate.estimands.gap import NO_COUNTERPART, NO_PAIRS, gap_rows, gap_sides, gap_tables
from senseprobe.evaluate.estimands.kernels import NOT_ESTIMABLE, KernelRows, estimate, fixed_slots, project
from senseprobe.evaluate.estimands.neutrality import (
    AS_RELEASED,
    MEANS,
    PROBES,
    THRESHOLDS,
    accuracy_rows,
    compact,
    inference_rows,
)
from senseprobe.records import Design, Figure
from senseprobe.statistics import CONFIDENCE, Projection, difference_test

# What a model reads that answers neutral to everything.
_BLIND = dict.fromkeys((*PROBES, *AS_RELEASED.values()), 100)
_BLIND |= dict.fromkeys(("gap", "entailment", "contradiction"), 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """What a figure is of: a config, or a group of its rows, which is named in words.

    `held` are the columns that say what the group is: each holds one word, so the figure does not generalise over them.
    """

    design: Design
    config: str
    confidence: float = CONFIDENCE
    group: str | None = None
    held: tuple[str, ...] = ()

    def project(self, rows: KernelRows, estimand: str) -> Projection:
        """The interval rule over the factors that are left once those of the group are taken away."""
        # A threshold on means over verbs and objects is no sum over rows that have them.
        design = filler_design(self.design) if estimand in THRESHOLDS else self.design
        factors = tuple(factor for factor in design.factors if not {*factor.columns} <= {*self.held})
        return project(rows, replace(design, factors=factors))

    def fixed(self, estimand: str) -> tuple[str, ...]:
        """Slots that are no factor of an estimand, and not what the figure is about either."""
        design = filler_design(self.design) if estimand in THRESHOLDS else self.design
        return fixed_slots(design, [*self.held, *(column for factor in design.factors for column in factor.columns)])


def inference_figures(
    rows: pd.DataFrame, design: Design, config: str, *, confidence: float = CONFIDENCE
) -> list[Figure]:
    """Every figure that the design asks for, in its order; `rows` are one config's, with probabilities.

    `nn` and `t` are followed by what the released code makes of them, `gap` by a figure for each occupation, `accuracy`
    by one for each gold label. Raises ResultError for an estimand that is not in the catalogue.
    """
    scope = Scope(design=design, config=config, confidence=confidence)
    table, asked = compact(rows, design), _asked(design)
    made = {figure.estimand: [figure] for figure in mean_figures(table, scope, asked)}
    for estimand in asked:
        if estimand not in made:
            made[estimand] = [figure_of(inference_rows(table, design, estimand), scope, estimand)]
    for estimand, groups in (("gap", _gaps), ("accuracy", _accuracies)):
        if estimand in made:
            made[estimand] += groups(table, scope)
    return [figure for estimand in asked for figure in made[estimand]]


def _asked(design: Design) -> list[str]:
    """The estimands of the design, each with the variant of the released code where the sentences have fillers."""
    variants = AS_RELEASED if any(fillers(design)) else {}
    listed = [(name, variants.get(name)) for name in design.estimands]
    return list(dict.fromkeys(name for names in listed for name in names if name))


def mean_figures(table: pd.DataFrame, scope: Scope, estimands: Sequence[str]) -> Iterator[Figure]:
    """Figures of those of the estimands that are plain means over rows: they have one interval rule."""
    rule = None
    for estimand in estimands:
        if estimand in MEANS:
            rows = inference_rows(table, scope.design, estimand)
            rule = rule or scope.project(rows, estimand)
            yield figure_of(rows, scope, estimand, rule)


def figure_of(rows: KernelRows, scope: Scope, estimand: str, rule: Projection | None = None) -> Figure:
    """Figure of an estimand over its rows; `rule` is theirs, if it is known already."""
    rule = rule or scope.project(rows, estimand)
    fields = (_difference if estimand == "gap" else _mean)(rows, rule, scope.confidence)
    notes = [fields.pop("note", ""), *(_notes(estimand) if scope.group is None else ())]
    return Figure(
        config=scope.config,
        sense_type=scope.design.sense_type,
        estimand=estimand,
        group=scope.group,
        neutral=0.0 if estimand == "gap" else None,
        definition=CATALOGUE[estimand].definition,
        fixed=(*rule.fixed, *scope.fixed(estimand)),
        note="; ".join(filter(None, notes)),
        **fields,
        **rows.tally.as_fields(),
    )


def _mean(rows: KernelRows, rule: Projection, confidence: float) -> dict[str, Any]:
    """Value and interval of a figure on [0, 1], in points from 0 to 100."""
    fields = estimate(rows, rule, confidence)
    points = {key: round(fields[key] + 50, 10) for key in ("value", "low", "high") if fields.get(key) is not None}
    return {key: value for key, value in fields.items() if key != "fixed"} | points


def _difference(rows: KernelRows, rule: Projection, confidence: float) -> dict[str, Any]:
    """Value, interval and p-value of a difference of two means, in points from -100 to 100."""
    if rows.share is None:
        return {"value": None, "note": NO_PAIRS if rows.tally.left_out.get(NO_COUNTERPART) else rows.tally.none}
    value = round(100 * rows.share, 10)
    tested = difference_test(rule, rows.kernel, value, confidence)
    if tested is None:
        return {"value": value, "levels": rule.levels, "note": NOT_ESTIMABLE}
    interval, p = tested
    ends = {"low": interval.low, "high": interval.high, "method": interval.method, "p": p}
    return {"value": value, **ends, "levels": rule.levels}


def _notes(estimand: str) -> Iterator[str]:
    """What a figure does not say of itself."""
    if estimand in AS_RELEASED.values():
        yield "as the released code has it: rounded to 4 decimals, then averaged for each pair of fillers"
    if estimand in _BLIND:
        yield (
            f"a model that answers neutral to everything reads {_BLIND[estimand]}: "
            "read it beside the accuracy on nli-control"
        )


def _gaps(table: pd.DataFrame, scope: Scope) -> list[Figure]:
    """The gap of each level of the other sentence's filler (of each occupation), p corrected over all of them."""
    gendered, columns = gap_sides(table, scope.design)
    return corrected(
        [
            figure_of(gap_rows(part, scope.design, gendered), replace(scope, group=name, held=columns), "gap")
            for name, part in (gap_tables(table, columns) if columns else ())
        ],
        GAPS,
    )


def _accuracies(table: pd.DataFrame, scope: Scope) -> list[Figure]:
    """The accuracy on the rows of each gold label, where there are several."""
    gold = table["gold"].to_numpy(dtype=object)
    found = [label for label in LABELS if np.any(gold == label)]
    return [
        figure_of(accuracy_rows(table[gold == label]), replace(scope, group=label), "accuracy")
        for label in (found if len(found) > 1 else ())
    ]
