"""Rows of inference: their probabilities, the columns that estimands read, and the fillers of their sentences."""

from typing import Any

import numpy as np
import pandas as pd

from senseprobe.evaluate.erased_rows import ERASED, READ_AS
from senseprobe.evaluate.estimands.kernel import factor_columns
from senseprobe.records import Design
from senseprobe.statistics import FloatArray, IntArray

LABELS = ("entailment", "neutral", "contradiction")
"""The columns of probabilities."""

DECIMALS = 4
# Decimals of a mean of numbers that have four: those after the tenth depend on the order of the sum.
WITHOUT_DUST = 10


def compact(rows: pd.DataFrame, design: Design) -> pd.DataFrame:
    """Return the columns that estimands of inference read, words as categories: two million rows take 60 MB.

    Rows without probabilities of the three labels are returned as they are.
    """
    if not {*LABELS} <= {*rows.columns}:
        return rows
    compared = (name for gap in design.gaps.values() for name in (gap.column, gap.pair or gap.column))
    names = ("frame", *design.slots, *factor_columns(design), "gender", "pair", *compared, "gold")
    columns: dict[str, Any] = {}
    for name in filter(rows.__contains__, dict.fromkeys(names)):
        codes, words = pd.factorize(rows[name])
        categories = pd.Index(words, dtype=object)  # objects, which rows can share
        columns[name] = pd.Categorical.from_codes(codes, categories=categories)
    return pd.DataFrame(columns | {name: rows[name] for name in (*LABELS, ERASED, READ_AS) if name in rows})


def fillers(design: Design) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the slots that only the premise has, and those that only the hypothesis has; either may be empty."""
    premise, hypothesis = (
        dict.fromkeys(slot for slot in design.roles.get(role, {}).values() if slot in design.slots)
        for role in ("premise", "hypothesis")
    )
    return tuple(slot for slot in premise if slot not in hypothesis), tuple(
        slot for slot in hypothesis if slot not in premise
    )


def filler_slots(design: Design) -> list[str]:
    """Return the slots that one of the two sentences has alone."""
    return [slot for side in fillers(design) for slot in side]


def first_rows(table: pd.DataFrame, codes: IntArray) -> pd.DataFrame:
    """Return the first row of each code, in the order of the codes, which is that of the rows."""
    return table[~pd.Series(codes).duplicated().to_numpy()]


def probabilities(scored: pd.DataFrame) -> FloatArray:
    """Return the probabilities of the labels: shape (N, 3)."""
    return scored[list(LABELS)].to_numpy(dtype=np.float64)


def rounded_neutral(scored: pd.DataFrame) -> FloatArray:
    """Return the probability of neutral as the released code rounds it: shape (N,)."""
    return np.asarray(np.round(scored["neutral"].to_numpy(dtype=np.float64), DECIMALS))
