"""Rows in parts: each part's words become categories, whose codes mean the same word in every part of a config."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.evaluate.erased_rows import ERASED, READ_AS
from senseprobe.evaluate.estimands.inference_rows import LABELS
from senseprobe.evaluate.estimands.kernel import factor_columns
from senseprobe.evaluate.units import KINDS
from senseprobe.records import Design


class WordCodes:
    """The words of a column, by codes from 0 in the order in which parts bring them."""

    def __init__(self) -> None:
        self._codes: dict[object, int] = {}
        self._categories: pd.Index[Any] = pd.Index([], dtype=object)
        self._known: tuple[object, NDArray[np.intp]] = (None, np.zeros(0, dtype=np.intp))

    def encode(self, column: "pd.Series[Any]") -> pd.Categorical:
        """Return a column as categories: all words so far; its codes are those of earlier parts."""
        if isinstance(column.dtype, pd.CategoricalDtype):
            codes, words = column.cat.codes.to_numpy(), column.cat.categories
        else:
            codes, words = pd.factorize(column)
        if words is not self._known[0]:
            numbers = [self._codes.setdefault(word, len(self._codes)) for word in words]
            self._known = (words, np.array([*numbers, -1], dtype=np.intp))  # the last is that of a missing word
        if len(self._codes) > len(self._categories):
            self._categories = pd.Index([*self._codes], dtype=object)
        return pd.Categorical.from_codes(self._known[1][codes], categories=self._categories, validate=False)


_NUMBERS = (*LABELS, "stereo_score", "anti_score", "unrelated_score", "contested", "minimal", ERASED, READ_AS)
"""Columns that are not words: numbers, marks and truths."""


class PartCoder:
    """What estimands read of the parts of a config: columns of words as categories, and numbers as they are.

    - `names`: the columns of words, and of truths, that estimands of its kind read, where rows have them.
    """

    def __init__(self, design: Design) -> None:
        self._codes: dict[str, WordCodes] = {}
        kind = KINDS[design.kind]
        compared = (name for gap in design.gaps.values() for name in (gap.column, gap.pair or gap.column))
        words = ("gender", "pair", "gold", *kind.cells, "stereo_value", "anti_value", "bias_type", "direction")
        names = dict.fromkeys(
            ["frame", *design.slots, *factor_columns(design), *design.strata, *compared, *words, "contested", "minimal"]
        )
        self.names = tuple(name for name in names if name not in kind.texts)

    def encode(self, part: pd.DataFrame) -> pd.DataFrame:
        """Return a part with the columns that are read."""
        words = [name for name in self.names if name in part and name not in _NUMBERS]
        encoded = {name: self._codes.setdefault(name, WordCodes()).encode(part[name]) for name in words}
        return pd.DataFrame({**encoded, **{name: part[name].to_numpy() for name in _NUMBERS if name in part}})


def concatenate_parts(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return encoded parts as one table, whose categories are those of the last."""
    last = parts[-1]
    columns: dict[Any, Any] = {}
    for name in last:
        values = [part[name] for part in parts]
        if isinstance(last[name].dtype, pd.CategoricalDtype):
            codes = np.concatenate([column.cat.codes.to_numpy() for column in values])
            columns[name] = pd.Categorical.from_codes(codes, categories=last[name].cat.categories)
        else:
            columns[name] = np.concatenate([column.to_numpy() for column in values])
    return pd.DataFrame(columns)
