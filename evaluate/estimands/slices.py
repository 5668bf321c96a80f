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
    """No row has the words that were asked for: `what` says which, and what may have been meant."""

    def __init__(self, what: str, none: str = "no row") -> None:
        super().__init__(f"{none} has {what}")
        self.what = what


Slice = Mapping[str, tuple[str, ...]]


def parse_slice(asked: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Words by column, from items such as ``quality=rude``: a column that is named twice takes either word.

    Raises ResultError where an item is no ``column=word``.

    >>> parse_slice(["quality=rude", "demonym=Iraqi", "demonym=Iranian"])
    {'quality': ('rude',), 'demonym': ('Iraqi', 'Iranian')}
    """
    wanted: dict[str, tuple[str, ...]] = {}
    for item in asked:
        column, equals, word = (part.strip() for part in item.partition("="))
        if not (column and equals and word):
            raise ResultError(f"cannot slice by {item!r}: write slot=word, as in quality=rude")
        wanted[column] = (*wanted.get(column, ()), word)
    return wanted


def slice_rows(rows: pd.DataFrame, design: Design, wanted: Slice) -> pd.DataFrame:
    """The rows that hold, in every column of `wanted`, one of its words; in any case, where none is spelt so.

    Columns are the design's slots, what its template adds, and ``gold``. Raises ResultError, with what it may have
    meant, for a column that there is not; NoRowError for a word that there is not, and where no row holds them all.
    """
    stays = np.ones(len(rows), dtype=np.bool_)
    for column, words in wanted.items():
        known = [*design.slots, *(name for name, _ in design.columns), "frame", "gold"]
        if column not in known or column not in rows:
            raise ResultError(
                f"cannot slice by {column!r}: {offered(column, [name for name in known if name in rows])}"
            )
        stays &= _holds(rows[column], column, words)
    if not stays.any():
        raise NoRowError(_words(wanted))
    return rows[stays]


def _holds(values: "pd.Series[str]", column: str, words: Iterable[str]) -> BoolArray:
    """Whether each row has one of the words."""
    codes, levels = pd.factorize(values)
    known = [str(level) for level in levels]
    found = [code for word in words for code in _levels(known, column, word)]
    return np.isin(codes, found)


def _levels(known: list[str], column: str, word: str) -> list[int]:
    exact = [code for code, level in enumerate(known) if level == word]
    if found := exact or [code for code, level in enumerate(known) if level.casefold() == word.casefold()]:
        return found
    near = meant(word, known)
    raise NoRowError(f"{column}={word}{f': {near}' if near else ''}")


def _words(wanted: Slice) -> str:
    return ", ".join(f"{column}={'|'.join(words)}" for column, words in wanted.items())


def slice_figures(
    rows: pd.DataFrame, design: Design, config: str, wanted: Slice, *, confidence: float = CONFIDENCE
) -> list[Figure]:
    """Mean `entailment` and `contradiction` of a slice, and the design's own estimands, with the interval rule.

    `rows` are one config's, with probabilities; `wanted` has words by column. A slot of which one word is left is what
    the figures are about, and is generalised over no more; where too few levels of the others are left, there is no
    interval. `gap` is left out of a slice without both genders. Raises ResultError as `slice_rows` does.
    """
    part = compact(slice_rows(rows, design, wanted), design)
    about = tuple(name for name in wanted if name in {*design.slots, "frame"} and len({*part[name]}) == 1)
    scope = Scope(design=design, config=config, confidence=confidence, group=_words(wanted) or None, about=about)
    listed = [ENTAILMENT, CONTRADICTION, *(lookup(name) for name in design.estimands)]
    estimands = [estimand for estimand in listed if isinstance(estimand, InferenceEstimand)]
    means = scoped_figures(part, scope, [estimand for estimand in estimands if isinstance(estimand, RowMean)])
    return [*means, *(figure for estimand in estimands for figure in estimand.slice_figures(part, rows, scope))]
