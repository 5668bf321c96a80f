"""Kernels of inference: what each row adds to a figure, from e, n and c, its three probabilities."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.fillers import LABELS, filler_means, filler_shares
from senseprobe.evaluate.estimands.gap import gap_rows
from senseprobe.evaluate.estimands.kernels import KernelRows, labels, select
from senseprobe.records import Design
from senseprobe.statistics import BoolArray, FloatArray


def _largest(p: FloatArray) -> BoolArray:
    return np.asarray(p[:, 1] == p.max(axis=1))


def _above(p: FloatArray, threshold: float) -> BoolArray:
    return np.asarray(p[:, 1] > threshold)


MEANS: Mapping[str, Callable[[FloatArray], FloatArray | BoolArray]] = {
    "entailment": lambda p: p[:, 0],
    "contradiction": lambda p: p[:, 2],
    "nn": lambda p: p[:, 1],
    "fn": _largest,
    "t@0.5": partial(_above, threshold=0.5),
    "t@0.7": partial(_above, threshold=0.7),
}
"""Estimands that are means over rows, with what each makes of probabilities of shape (N, 3): values in [0, 1]."""

PROBES = ("nn", "fn", "t@0.5", "t@0.7")
"""The figures that are 100 for a model that infers nothing."""

THRESHOLDS = {"t@0.5-filler": 0.5, "t@0.7-filler": 0.7}
AS_RELEASED = {"nn": "nn-filler", "t@0.5": "t@0.5-filler", "t@0.7": "t@0.7-filler"}
"""The estimands that the released code computes otherwise, with the names of what it makes of them."""


def compact(rows: pd.DataFrame, design: Design) -> pd.DataFrame:
    """The columns that estimands read, words as categories: two million rows take 60 MB."""
    factors = [column for factor in design.factors for column in factor.columns]
    words = [
        name for name in dict.fromkeys(("frame", *design.slots, *factors, "gender", "pair", "gold")) if name in rows
    ]
    columns: dict[str, Any] = {name: _categories(rows[name]) for name in words}
    return pd.DataFrame(columns | {name: rows[name] for name in LABELS})


def _categories(column: "pd.Series[str]") -> pd.Categorical:
    codes, words = pd.factorize(column)
    return pd.Categorical.from_codes(codes, categories=pd.Index(words, dtype=object))  # objects, which rows can share


def inference_rows(rows: pd.DataFrame, design: Design, estimand: str) -> KernelRows:
    """Rows, kernel and weights of an estimand over rows of inference; ResultError where it is none."""
    if estimand == "gap":
        return gap_rows(rows, design)
    if estimand == "accuracy":
        return accuracy_rows(rows)
    if estimand not in {*MEANS, *AS_RELEASED.values()}:
        raise ResultError(f"no estimand {estimand!r} for rows of inference")
    scored, tally = select(rows, {}, LABELS)
    if estimand == "nn-filler":
        return filler_means(scored, design, tally)
    if estimand in THRESHOLDS:
        return filler_shares(scored, design, tally, THRESHOLDS[estimand])
    p = _probabilities(scored)
    kernel = np.asarray(MEANS[estimand](p), dtype=np.float64)
    weights = np.full(len(p), 1 / max(1, len(p)))
    ties = int((_largest(p) & (_ties(p) > 1)).sum()) if estimand == "fn" else 0
    return KernelRows(
        table=scored, kernel=kernel, weights=weights, offset=0.0, variables=(), tally=replace(tally, ties=ties)
    )


def _probabilities(scored: pd.DataFrame) -> FloatArray:
    return scored[list(LABELS)].to_numpy(dtype=np.float64)


def _ties(p: FloatArray) -> FloatArray:
    """How many of the three probabilities of each row are the largest."""
    return np.asarray((p == p.max(axis=1, keepdims=True)).sum(axis=1, dtype=np.float64))


def accuracy_rows(rows: pd.DataFrame) -> KernelRows:
    """Rows with kernel 1 where the gold label has the largest probability: among k largest, 1 / k, as a guess would.

    The cells are the gold labels: words that belong to one of them are levels beside words of the same.
    """
    golden = rows["gold"].isin(LABELS).to_numpy(dtype=np.bool_)
    scored, tally = select(rows, {"unlabelled": ~golden}, LABELS)
    p = _probabilities(scored)
    gold = np.array([LABELS.index(label) for label in labels(scored, "gold")], dtype=np.intp)
    hit = p[np.arange(len(p)), gold] == p.max(axis=1, initial=0.0)
    weights = np.full(len(p), 1 / max(1, len(p)))
    return KernelRows(
        table=scored,
        kernel=hit / _ties(p),
        weights=weights,
        offset=0.0,
        variables=("gold",),
        tally=replace(tally, ties=int((hit & (_ties(p) > 1)).sum())),
    )
