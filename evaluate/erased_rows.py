"""Rows whose sentences are one to a model by construction, since something was removed from its vectors.

With he - she removed from the input, *he* and *she* become one vector: pairs that differ in that token alone tie, and a
figure of ties reads as no bias. Who altered a model marks its rows (models/alteration.py); figures count the marks.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from senseprobe.records import Figure

ERASED = "erased_by_construction"
"""The column of the marks: `WHOLE`, `INPUT` or 0 of each row; absent where nothing was removed from a model."""

INPUT = 1
"""The sentences of a row are one in what the model reads, but what it predicts of them differs: its head's."""

WHOLE = 2
"""They are one in all that the scorer reads."""

MOST_ERASED = 0.2
"""The share of a figure's rows above which it is not readable."""

READ_AS = "read_as"
"""A column of numbers, equal in rows that are one to the model: of inference, whose figures compare two rows."""

HEADS = "the difference that is left is the head's"


def count_erased(table: pd.DataFrame) -> dict[str, int]:
    """Return how many rows are marked: ``rows``, so many there are; ``whole`` and ``input``. Empty without a mark.

    >>> count_erased(pd.DataFrame({"id": ["a", "b", "c"], ERASED: [WHOLE, 0, INPUT]}))
    {'rows': 3, 'whole': 1, 'input': 1}
    >>> count_erased(pd.DataFrame({"id": ["a"]}))
    {}
    """
    marks = table[ERASED].to_numpy() if ERASED in table else np.zeros(0, dtype=np.int8)
    counts = {"whole": int((marks == WHOLE).sum()), "input": int((marks == INPUT).sum())}
    return {"rows": len(marks), **counts} if any(counts.values()) else {}


def count_alike(table: pd.DataFrame, first: "NDArray[np.bool_]") -> dict[str, int]:
    """Return how many rows of two sides are one to the model with a row of the other side; `first` says of which.

    >>> table = pd.DataFrame({READ_AS: [7, 7, 8, 9]})
    >>> count_alike(table, np.array([True, False, True, False]))
    {'rows': 4, 'whole': 2, 'input': 0}
    """
    if READ_AS not in table:
        return {}
    codes = table[READ_AS].to_numpy()
    alike = np.isin(codes, np.intersect1d(codes[first], codes[~first]))
    return {"rows": len(codes), "whole": int(alike.sum()), "input": 0} if alike.any() else {}


def add_erased(first: Mapping[str, int], second: Mapping[str, int], rows: Sequence[int]) -> dict[str, int]:
    """Return the counts of two sets of rows together; `rows` are those of either, marked or not."""
    if not (first or second):
        return {}
    return {"rows": sum(rows), **{name: first.get(name, 0) + second.get(name, 0) for name in ("whole", "input")}}


def find_erased_flaw(figures: Iterable["Figure"]) -> str:
    """Return why figures together cannot be read, ``100 % of its rows are erased …``; empty where they can."""
    whole, rows = _sum(figures, "whole")
    if whole <= MOST_ERASED * rows:
        return ""
    return f"{100 * whole / rows:.0f} % of its rows are erased by construction: what differs in them became one vector"


def describe_erased_input(figure: "Figure") -> str:
    """Return what is left in a figure where the input alone is erased in too many of its rows; empty of others."""
    whole, rows = _sum([figure], "whole")
    erased, _ = _sum([figure], "input")
    if not erased or whole + erased <= MOST_ERASED * rows or find_erased_flaw([figure]):
        return ""
    return f"the input is erased by construction in {100 * (whole + erased) / rows:.0f} % of its rows: {HEADS}"


def find_erased_configs(figures: Iterable["Figure"]) -> dict[str, str]:
    """Return the configs of which no figure can be read, each with the reason."""
    by_config: dict[str, list[Figure]] = {}
    for figure in figures:
        by_config.setdefault(figure.config, []).append(figure)
    flaws = {}
    for config, members in by_config.items():
        reasons = [find_erased_flaw([figure]) for figure in members if figure.rows]
        if reasons and all(reasons):
            flaws[config] = reasons[0]
    return flaws


def _sum(figures: Iterable["Figure"], name: str) -> tuple[int, int]:
    """Return how many rows of figures have a mark, of how many."""
    counts = [(figure.erased.get(name, 0), figure.erased.get("rows", figure.scored)) for figure in figures]
    return sum(count for count, _ in counts), sum(rows for _, rows in counts)
