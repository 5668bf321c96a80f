"""What is answered to the questions of a table: the share of each answer, by a model or by a fixed rule.

A table has the columns of a config of questions, and the three numbers of its rows (`SCORES`). Shares have shape
(N, 3), in the order of `ANSWERS`, and those of a row sum to 1.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.kernel import labels
from senseprobe.kinds.question.columns import ANSWERS, PLACES, SCORES
from senseprobe.statistics import BoolArray, FloatArray, IntArray, Scale, psi_between

OF_ONE = 1e-6
"""By how much the shares of a row may miss 1."""


def scores_of(table: pd.DataFrame) -> FloatArray:
    """Return the three numbers of each row, shape (N, 3)."""
    return table[[*SCORES]].to_numpy(dtype=np.float64)


def are_scored(table: pd.DataFrame) -> BoolArray:
    """Return whether the three numbers of each row are finite."""
    return np.asarray(np.isfinite(scores_of(table)).all(axis=1), dtype=np.bool_)


def share_answers(table: pd.DataFrame, scale: Scale) -> tuple[FloatArray, BoolArray]:
    """Return the share of each answer in rows with three finite numbers, and which rows are ties.

    On a ``log`` scale the answer with the largest number is chosen, and answers that tie with it share the row. On a
    ``probability`` scale the numbers are shares already. Raises ResultError where those do not sum to 1.

    >>> numbers = {"stereo_score": [-1.0, -2.0], "anti_score": [-3.0, -2.0], "unknown_score": [-4.0, -5.0]}
    >>> shares, ties = share_answers(pd.DataFrame(numbers), "log")
    >>> shares.tolist(), ties.tolist()
    ([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], [False, True])
    """
    numbers = scores_of(table)
    if scale == "log":
        chosen = (psi_between(numbers.max(axis=1, keepdims=True), numbers, scale) == 0.5).astype(np.float64)
        count = chosen.sum(axis=1)
        return chosen / count[:, np.newaxis], np.asarray(count > 1)
    if len(numbers) and (numbers.min() < 0 or np.abs(numbers.sum(axis=1) - 1).max() > OF_ONE):
        raise ResultError("the three numbers of a question are no shares: each has to be 0 or more, and their sum 1")
    return numbers, np.zeros(len(numbers), dtype=np.bool_)


def answer_codes(table: pd.DataFrame, column: str) -> IntArray:
    """Return which answer a column names, by its number in `ANSWERS`; -1 where it names none."""
    return np.asarray(pd.Index(ANSWERS).get_indexer(pd.Index(labels(table, column))), dtype=np.intp)


def first_codes(table: pd.DataFrame) -> IntArray:
    """Return which answer stands first, by its number in `ANSWERS`; -1 where nothing says it."""
    orders, names = pd.factorize(labels(table, "order"))
    firsts = pd.Index(ANSWERS).get_indexer(pd.Index([str(name).partition(" ")[0] for name in names]))
    return np.append(firsts, -1)[orders].astype(np.intp)  # a missing order has the code -1


def _only(answer: str) -> Callable[[pd.DataFrame], FloatArray]:
    def share(table: pd.DataFrame) -> FloatArray:
        return np.tile(np.eye(3)[ANSWERS.index(answer)], (len(table), 1))

    return share


def _at_random(table: pd.DataFrame) -> FloatArray:
    return np.full((len(table), 3), 1 / 3)


def _by_code(codes: IntArray) -> FloatArray:
    return np.where(codes[:, np.newaxis] < 0, 1 / 3, np.eye(3)[codes])


def _first(table: pd.DataFrame) -> FloatArray:
    if PLACES[0] in table:  # each answer stood in each place as often
        return _at_random(table)
    return _by_code(first_codes(table))


def _right(table: pd.DataFrame) -> FloatArray:
    return _by_code(answer_codes(table, "gold"))


REFERENCES: Mapping[str, Callable[[pd.DataFrame], FloatArray]] = {
    "unknown": _only("unknown"),
    "the stereotype": _only("stereo"),
    "first": _first,
    "at random": _at_random,
    "right": _right,
}
"""Rules by which anybody could answer, from rows to shares, by what they always answer."""
