"""Figures of a part of the rows, such as all that have rude and Iraqi (Dev et al. 2020, discussion); and extremes."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.base import Scope
from senseprobe.evaluate.estimands.kernel import row_codes
from senseprobe.evaluate.estimands.nli import (
    CONTRADICTION,
    ENTAILMENT,
    LABELS,
    WITHOUT_DUST,
    RowMean,
    compact,
    filler_slots,
    first_rows,
)
from senseprobe.messages import meant, offered
from senseprobe.records import Design, Figure
from senseprobe.statistics import CONFIDENCE


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
        codes, levels = pd.factorize(rows[column])
        stays &= np.isin(codes, [code for word in words for code in _matches([*map(str, levels)], column, word)])
    if not stays.any():
        raise NoRowError(_words(selection))
    return rows[stays]


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
    estimands = [ENTAILMENT, CONTRADICTION, *map(lookup, design.estimands)]
    means_first = sorted(estimands, key=lambda estimand: not isinstance(estimand, RowMean))
    return [figure for estimand in means_first for figure in estimand.slice_figures(part, rows, scope)]


def extremes(
    rows: pd.DataFrame, design: Design, label: str = "entailment", *, by: tuple[str, ...] = (), count: int = 3
) -> pd.DataFrame:
    """Return the fillers with the largest mean probability of a label (Dev et al. 2020, tables 2, 4 and 6).

    `by` names the columns within which rows are averaged: by default the fillers of both sentences; all slots of the
    design give single pairs of sentences, as the paper prints them. Returns `count` rows, largest first, in order of
    words where means are equal: the columns of `by`, the means ``entailment``, ``neutral`` and ``contradiction`` in
    [0, 1], and ``rows``, how many were averaged. Raises ResultError for an unknown column or label.
    """
    columns = list(dict.fromkeys(by)) or filler_slots(design)
    if unknown := [name for name in columns if name not in rows or name in {*LABELS, "rows"}]:
        names = [*design.slots, *(name for name, _ in design.columns if name not in LABELS), "frame", "gold"]
        hint = offered(unknown[0], [name for name in names if name in rows])
        raise ResultError(f"cannot average by {unknown[0]!r}: {hint}")
    if label not in LABELS:
        raise ResultError(f"no label {label!r}; take one of {', '.join(LABELS)}")
    scored = rows[np.isfinite(rows[list(LABELS)].to_numpy(dtype=np.float64)).all(axis=1)]
    codes = row_codes(scored, columns)
    sizes = np.bincount(codes)
    means = {name: np.bincount(codes, scored[name].to_numpy(dtype=np.float64)) / sizes for name in LABELS}
    words = first_rows(scored, codes)[columns].astype(object).reset_index(drop=True)
    table = words.assign(**{name: np.round(mean, WITHOUT_DUST) for name, mean in means.items()}, rows=sizes)
    largest: pd.DataFrame = table.sort_values([label, *columns], ascending=[False, *(True for _ in columns)])
    return largest[:count].reset_index(drop=True)
