"""Figures of a part of the rows, such as all that have rude and Iraqi (Dev et al. 2020, discussion)."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.nli import (
    CONTRADICTION,
    ENTAILMENT,
    InferenceEstimand,
    RowMean,
    Scope,
    compact,
    scoped_figures,
)
from senseprobe.evaluate.estimands.registry import lookup
from senseprobe.messages import meant, offered
from senseprobe.records import Design, Figure
from senseprobe.statistics import CONFIDENCE, BoolArray


class NoRowError(ResultError):
    """No row has the requested words: `what` says which, and what may have been meant."""

    def __init__(self, what: str, none: str = "no row") -> None:
        super().__init__(f"{none} has {what}")
        self.what = what


Slice = Mapping[str, tuple[str, ...]]


def parse_slice(items: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return words by column, from items such as ``quality=rude``: a column that is named twice takes either word.

    Raises ResultError where an item is not ``column=word``.

    >>> parse_slice(["quality=rude", "demonym=Iraqi", "demonym=Iranian"])
    {'quality': ('rude',), 'demonym': ('Iraqi', 'Iranian')}
    """
    selection: dict[str, tuple[str, ...]] = {}
    for item in items:
        column, equals, word = (part.strip() for part in item.partition("="))
        if not (column and equals and word):
            raise ResultError(f"cannot slice by {item!r}: write slot=word, as in quality=rude")
        selection[column] = (*selection.get(column, ()), word)
    return selection


def slice_rows(rows: pd.DataFrame, design: Design, selection: Slice) -> pd.DataFrame:
    """Return the rows that have, in every column of `selection`, one of its words; in any case, where none is spelt so.

    Columns are the design's slots, those that its template adds, and ``gold``. Raises ResultError, with a suggestion,
    for an unknown column; NoRowError for an unknown word, and where no row has them all.
    """
    stays = np.ones(len(rows), dtype=np.bool_)
    for column, words in selection.items():
        names = [*design.slots, *(name for name, _ in design.columns), "frame", "gold"]
        names = [name for name in names if name in rows]
        if column not in names:
            raise ResultError(f"cannot slice by {column!r}: {offered(column, names)}")
        stays &= _has_word(rows[column], column, words)
    if not stays.any():
        raise NoRowError(_words(selection))
    return rows[stays]


def _has_word(values: "pd.Series[str]", column: str, words: Iterable[str]) -> BoolArray:
    """Return, for each row, whether it has one of the words."""
    codes, uniques = pd.factorize(values)
    levels = [str(level) for level in uniques]
    return np.isin(codes, [code for word in words for code in _matches(levels, column, word)])


def _matches(levels: list[str], column: str, word: str) -> list[int]:
    """Return the codes of the levels that are a word, or are so in another case; NoRowError where none is."""
    exact = [code for code, level in enumerate(levels) if level == word]
    if matches := exact or [code for code, level in enumerate(levels) if level.casefold() == word.casefold()]:
        return matches
    near = meant(word, levels)
    raise NoRowError(f"{column}={word}{f': {near}' if near else ''}")


def _words(selection: Slice) -> str:
    return ", ".join(f"{column}={'|'.join(words)}" for column, words in selection.items())


def slice_figures(
    rows: pd.DataFrame, design: Design, config: str, selection: Slice, *, confidence: float = CONFIDENCE
) -> list[Figure]:
    """Return mean `entailment` and `contradiction` of a slice, and the design's own estimands, with intervals.

    `rows` are one config's, with probabilities; `selection` has words by column. A slot with one word left is what the
    figures are about, and is not generalised over; where too few levels of the others are left, there is no interval.
    `gap` is left out of a slice without both genders. Raises ResultError as `slice_rows` does.
    """
    part = compact(slice_rows(rows, design, selection), design)
    about = tuple(name for name in selection if name in {*design.slots, "frame"} and len({*part[name]}) == 1)
    scope = Scope(design=design, config=config, confidence=confidence, group=_words(selection) or None, about=about)
    listed = [ENTAILMENT, CONTRADICTION, *(lookup(name) for name in design.estimands)]
    estimands = [estimand for estimand in listed if isinstance(estimand, InferenceEstimand)]
    means = scoped_figures(part, scope, [estimand for estimand in estimands if isinstance(estimand, RowMean)])
    return [*means, *(figure for estimand in estimands for figure in estimand.slice_figures(part, rows, scope))]
