"""Figures of the rows with some words, and the words with the largest mean probabilities (`senseprobe slice`)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.slices import NoRowError, extremes, slice_figures, slice_rows
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.messages import counted
from senseprobe.records import Design, Figure

Slice = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultSlice:
    """The figures of a config's rows with some words.

    - `words`: as ``quality=rude, demonym=Iraqi``; empty for all rows.
    - `largest`: words with their mean probabilities in [0, 1] and rows, largest first; empty where not requested.
    """

    config: str
    words: str
    figures: tuple[Figure, ...]
    largest: tuple[dict[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the slice with the stable keys of ``--json``."""
        figures = [figure.as_dict() for figure in self.figures]
        return {"config": self.config, "slice": self.words, "figures": figures, "largest": list(self.largest)}


def compute_slices(
    source: ReportInput, words: Slice, *, largest: str | None = None, by: tuple[str, ...] = (), count: int = 6
) -> list[ResultSlice]:
    """Return a slice of each config that has the columns of `words`, and of `by`.

    `largest` is a label: the words with its largest means are added, averaged within the columns `by`. Raises
    ResultError for a result without inference, without its rows or its release, and where no config has such rows.
    """
    if source.kind != "inference":
        raise ResultError(f"{source.result.scorer} is not a scorer of inference: only its results can be sliced")
    if not source.tables or source.release is None:
        raise ResultError(" ".join(source.missing) or "the rows of the result are not at hand")
    slices, errors = [], []
    for config, table in source.tables.items():
        design = source.release.design(config)
        try:
            figures = tuple(slice_figures(table, design, config, words))
            means = (
                () if largest is None else _find_largest(slice_rows(table, design, words), design, largest, by, count)
            )
        except ResultError as error:
            errors.append(error)
        else:
            text = figures[0].group or ""
            slices.append(ResultSlice(config=config, words=text, figures=figures, largest=tuple(means)))
    if not slices:
        raise _explain(errors, source)
    return slices


def _explain(errors: Sequence[ResultError], source: ReportInput) -> ResultError:
    """Return why there is no slice; for a sample, a missing word may still be in the release."""
    error = next((error for error in errors if isinstance(error, NoRowError)), errors[0])
    if source.result.limit is None or source.release is None or not isinstance(error, NoRowError):
        return error
    sampled = sum(len(table) for table in source.tables.values())
    total = sum(source.release.manifest.data["configs"][name]["rows"] for name in source.tables)
    return NoRowError(error.what, f"none of the {counted(sampled, 'row')} drawn (of {total:,})")


def _find_largest(
    rows: pd.DataFrame, design: Design, label: str, by: tuple[str, ...], count: int
) -> Iterator[dict[str, Any]]:
    for row in extremes(rows, design, label, by=by, count=count).to_dict("records"):
        yield {str(name): _as_json(value) for name, value in row.items()}


def _as_json(value: object) -> object:
    """Return a word, a mean or a count for JSON; None for a missing word."""
    if isinstance(value, float):
        return None if isnan(value) else value
    return value if value is None or isinstance(value, str | int) else str(value)
