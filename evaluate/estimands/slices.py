"""Figures of parts of the rows, such as all that have rude and Iraqi (Dev et al. 2020, discussion); and extremes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import declared, plugin_figures
from senseprobe.evaluate.estimands.base import Estimand
from senseprobe.evaluate.estimands.figure_scope import Scope
from senseprobe.evaluate.estimands.inference_rows import LABELS, WITHOUT_DUST, compact, filler_slots, first_rows
from senseprobe.evaluate.estimands.kernel import row_codes
from senseprobe.evaluate.estimands.nli import CONTRADICTION, ENTAILMENT, RowMean
from senseprobe.messages import meant, offered
from senseprobe.records import Design, Figure
from senseprobe.release.kinds import KINDS
from senseprobe.release.schema import COLUMN_TYPES
from senseprobe.statistics import CONFIDENCE, Scale

MOST_PARTS = 2_000
"""Slices of a config at once: each has its figures."""


class NoRowError(ResultError):
    """No row has the requested words: `what` says which, and what may have been meant."""

    def __init__(self, what: str, none: str = "no row") -> None:
        super().__init__(f"{none} has {what}")
        self.what = what


Slice = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Rows with some words, in words as ``quality=rude``; `about` are the slots, and the frame, with one word left."""

    rows: pd.DataFrame
    words: str
    about: tuple[str, ...]


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


def slice_columns(rows: pd.DataFrame, design: Design) -> list[str]:
    """Return the columns by which rows can be sliced: of words, of the template, of the kind, and of lists.

    Those of lists are called ``slot.column``.
    """
    roles, plain = {*design.roles}, (*COLUMN_TYPES.values(),)
    kind_columns = [name for name, type_, _ in KINDS[design.kind].columns if type_ in plain and name not in roles]
    lists = [str(name) for name in rows if "." in str(name)]
    names = dict.fromkeys([*design.slots, *(name for name, _ in design.columns), "frame", *kind_columns, *lists])
    return [name for name in names if name in rows and name not in LABELS]


def slice_rows(rows: pd.DataFrame, design: Design, selection: Slice) -> pd.DataFrame:
    """Return the rows that have, in every column of `selection`, one of its words; in any case, where none is spelt so.

    Raises ResultError, with a suggestion, for an unknown column (`slice_columns`); NoRowError for an unknown word, and
    where no row has them all.
    """
    stays = np.ones(len(rows), dtype=np.bool_)
    _check_columns(selection, rows, design)
    for column, words in selection.items():
        codes, levels = pd.factorize(rows[column])
        stays &= np.isin(codes, [code for word in words for code in _matches([*map(str, levels)], column, word)])
    if not stays.any():
        raise NoRowError(_words(selection))
    return rows[stays]


def _check_columns(columns: Iterable[str], rows: pd.DataFrame, design: Design) -> None:
    names = slice_columns(rows, design)
    if unknown := [column for column in columns if column not in names]:
        raise ResultError(f"cannot slice by {unknown[0]!r}: {offered(unknown[0], names)}")


def split_rows(rows: pd.DataFrame, design: Design, selection: Slice, by: Sequence[str]) -> Iterator[Part]:
    """Yield the rows of a selection, in parts that have the same words in the columns `by`, in order of these.

    Raises ResultError as `slice_rows` does, and for more than MOST_PARTS parts.
    """
    table = slice_rows(rows, design, selection)
    _check_columns(by, rows, design)
    codes = row_codes(table, by)
    if (count := int(codes.max()) + 1) > MOST_PARTS:
        raise ResultError(
            f"{count:,} slices by {' and '.join(by)}, more than the {MOST_PARTS:,} allowed: choose some of the words"
        )
    groups = table.groupby(codes) if by else [(0, table)]
    firsts = ((part.iloc[0], part) for _, part in groups)
    parts = [(tuple("none" if pd.isna(row[name]) else str(row[name]) for name in by), part) for row, part in firsts]
    for words, part in sorted(parts, key=lambda named: named[0]):
        chosen = {**selection, **{name: (word,) for name, word in zip(by, words, strict=True)}}
        about = tuple(name for name in chosen if name in {*design.slots, "frame"} and len({*part[name]}) == 1)
        yield Part(rows=part, words=_words(chosen), about=about)


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
    rows: pd.DataFrame,
    design: Design,
    config: str,
    selection: Slice,
    *,
    confidence: float = CONFIDENCE,
    scale: Scale = "log",
) -> list[Figure]:
    """Return the figures of the rows with some words, as `part_figures` does; `selection` has words by column."""
    (part,) = split_rows(rows, design, selection, ())
    return part_figures(part, rows, design, config, confidence=confidence, scale=scale)


def part_figures(
    part: Part,
    rows: pd.DataFrame,
    design: Design,
    config: str,
    *,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    scale: Scale = "log",
) -> list[Figure]:
    """Return the design's own estimands over a part of the rows, of inference also mean entailment and contradiction.

    `rows` are one config's, with scores. A slot with one word left is what the figures are about, and is not
    generalised over; where too few levels of the others are left, there is no interval. An estimand without the rows
    that it needs is left out (`Estimand.missing_slice`). Raises ResultError as `slice_rows` does.
    """
    table = compact(part.rows, design)
    scope = Scope(
        design=design,
        config=config,
        seed=seed,
        confidence=confidence,
        scale=scale,
        group=part.words or None,
        about=part.about,
    )
    results: list[Figure] = []
    for estimand in sliced_estimands(design):
        if estimand.figures is None:
            results += estimand.slice_figures(table, rows, scope)
        else:
            computed = plugin_figures(estimand, part.rows, design, config, seed)
            results += (replace(f, group=", ".join(filter(None, [part.words, f.group])) or None) for f in computed)
    return results


def sliced_estimands(design: Design) -> list[Estimand]:
    """Return the estimands of a slice of a config, plain means first."""
    means = (ENTAILMENT, CONTRADICTION) if design.kind == ENTAILMENT.kind else ()
    estimands = [*means, *(declared(name, design) for name in design.estimands)]
    return sorted(estimands, key=lambda estimand: not isinstance(estimand, RowMean))


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
        raise ResultError(f"unknown label {label!r}: it can be {', '.join(LABELS)}")
    scored = rows[np.isfinite(rows[list(LABELS)].to_numpy(dtype=np.float64)).all(axis=1)]
    codes = row_codes(scored, columns)
    sizes = np.bincount(codes)
    means = {name: np.bincount(codes, scored[name].to_numpy(dtype=np.float64)) / sizes for name in LABELS}
    words = first_rows(scored, codes)[columns].astype(object).reset_index(drop=True)
    table = words.assign(**{name: np.round(mean, WITHOUT_DUST) for name, mean in means.items()}, rows=sizes)
    largest: pd.DataFrame = table.sort_values([label, *columns], ascending=[False, *(True for _ in columns)])
    return largest[:count].reset_index(drop=True)
