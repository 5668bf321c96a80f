"""Fillers, the words that differ between premise and hypothesis, and figures that first average over their pairs.

The code that was released with Dev et al. (2020) rounds probabilities to 4 decimals, averages them over templates for
each pair of fillers, and makes NN and T of these means. The paper defines both over sentence pairs, and prints figures
that its own definition cannot give (T:0.5 above FN, tables 3, 5 and 9). Both are computed, under names of their own.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.base import KernelRows, Tally, codes_of, labels
from senseprobe.messages import offered
from senseprobe.records import Design
from senseprobe.statistics import BoolArray, FloatArray, IntArray

LABELS = ("entailment", "neutral", "contradiction")
"""The columns of probabilities."""

DECIMALS = 4
# Decimals of a mean of numbers that have four: those after the tenth depend on the order of the sum.
_WITHOUT_DUST = 10


def fillers(design: Design) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the slots that only the premise has, and those that only the hypothesis has; either may be empty."""
    premise, hypothesis = (
        dict.fromkeys(slot for slot in design.roles.get(role, {}).values() if slot in design.slots)
        for role in ("premise", "hypothesis")
    )
    return tuple(slot for slot in premise if slot not in hypothesis), tuple(
        slot for slot in hypothesis if slot not in premise
    )


def filler_design(design: Design) -> Design:
    """Return the design with no factors but the fillers: verbs and objects are averaged over."""
    columns = {*_columns(design)}
    return replace(design, factors=tuple(factor for factor in design.factors if columns.issuperset(factor.columns)))


def filler_means(scored: pd.DataFrame, design: Design, tally: Tally) -> KernelRows:
    """Return rows with kernel n, rounded, weighted so that each pair of fillers counts alike."""
    kernel, pairs = _rounded(scored), _codes(scored, _columns(design))
    sizes = np.bincount(pairs).astype(np.float64)
    weights = 1 / (max(1, len(sizes)) * sizes[pairs])
    return KernelRows(table=scored, kernel=kernel, weights=weights, offset=0.0, variables=(), tally=tally)


def filler_shares(scored: pd.DataFrame, design: Design, tally: Tally, threshold: float) -> KernelRows:
    """Return one row for each pair of fillers, with kernel 1 where the mean of n, rounded, is above the threshold."""
    pairs = _codes(scored, _columns(design))
    means = np.round(np.bincount(pairs, _rounded(scored)) / np.bincount(pairs), _WITHOUT_DUST)
    return KernelRows(
        table=scored[_first(pairs)],
        kernel=(means > threshold).astype(np.float64),
        weights=np.full(len(means), 1 / max(1, len(means))),
        offset=0.0,
        variables=(),
        tally=tally,
    )


def _rounded(scored: pd.DataFrame) -> FloatArray:
    return np.round(scored["neutral"].to_numpy(dtype=np.float64), DECIMALS)


def _columns(design: Design) -> list[str]:
    return [slot for side in fillers(design) for slot in side]


def _codes(table: pd.DataFrame, columns: list[str]) -> IntArray:
    """Return the combination of words of each row: codes from 0, in the order in which they first occur."""
    return codes_of([labels(table, column) for column in columns], len(table))


def _first(codes: IntArray) -> BoolArray:
    """Return whether each row is the first of its code; in the order of the rows, that is the order of the codes."""
    return np.asarray(~pd.Series(codes).duplicated())


def extremes(
    rows: pd.DataFrame, design: Design, label: str = "entailment", *, by: tuple[str, ...] = (), count: int = 3
) -> pd.DataFrame:
    """Return the fillers with the largest mean probability of a label (Dev et al. 2020, tables 2, 4 and 6).

    `by` names the columns within which rows are averaged: by default the fillers of both sentences; all slots of the
    design give single pairs of sentences, as the paper prints them. Returns `count` rows, largest first, in order of
    words where means are equal: the columns of `by`, the means ``entailment``, ``neutral`` and ``contradiction`` in
    [0, 1], and ``rows``, how many were averaged. Raises ResultError for an unknown column or label.
    """
    columns = list(dict.fromkeys(by)) or _columns(design)
    if unknown := [name for name in columns if name not in rows or name in {*LABELS, "rows"}]:
        names = [*design.slots, *(name for name, _ in design.columns if name not in LABELS), "frame", "gold"]
        hint = offered(unknown[0], [name for name in names if name in rows])
        raise ResultError(f"cannot average by {unknown[0]!r}: {hint}")
    if label not in LABELS:
        raise ResultError(f"no label {label!r}; take one of {', '.join(LABELS)}")
    scored = rows[np.isfinite(rows[list(LABELS)].to_numpy(dtype=np.float64)).all(axis=1)]
    codes = _codes(scored, columns)
    sizes = np.bincount(codes)
    means = {name: np.bincount(codes, scored[name].to_numpy(dtype=np.float64)) / sizes for name in LABELS}
    words = scored.loc[_first(codes), columns].astype(object).reset_index(drop=True)
    table = words.assign(**{name: np.round(mean, _WITHOUT_DUST) for name, mean in means.items()}, rows=sizes)
    largest: pd.DataFrame = table.sort_values([label, *columns], ascending=[False, *(True for _ in columns)])
    return largest[:count].reset_index(drop=True)
