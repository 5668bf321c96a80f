"""Parts of a result: figures of the rows with some words, and the words with the largest probabilities."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.fillers import extremes
from senseprobe.evaluate.estimands.slices import NoRowError, slice_figures, slice_rows
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.messages import counted
from senseprobe.records import Design, Figure

Slice = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultSlice:
    """What was found for the rows of a config that have some words.

    - `named`: the words, as ``quality=rude, demonym=Iraqi``; empty for all rows.
    - `largest`: words with their mean probabilities in [0, 1] and rows, largest first; empty where nobody asked.
    """

    config: str
    named: str
    figures: tuple[Figure, ...]
    largest: tuple[dict[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The part with the stable keys of ``--json``."""
        figures = [figure.as_dict() for figure in self.figures]
        return {"config": self.config, "slice": self.named, "figures": figures, "largest": list(self.largest)}


def compute_slices(
    evidence: ReportInput, wanted: Slice, *, largest: str | None = None, by: tuple[str, ...] = (), count: int = 6
) -> list[ResultSlice]:
    """What there is in each config that has the columns of `wanted`, and of `by`.

    `largest` is the label of which the largest means are wanted, averaged within the columns `by`. Raises ResultError
    where the result is of no inference, its rows or its release are not at hand, and where no config has such rows.
    """
    if evidence.kind != "inference":
        raise ResultError(f"{evidence.result.scorer} is no scorer of inference: only its results can be sliced")
    if not evidence.tables or evidence.release is None:
        raise ResultError(" ".join(evidence.missing) or "the rows of the result are not at hand")
    found, refused = [], []
    for config, table in evidence.tables.items():
        design = evidence.release.design(config)
        try:
            figures = tuple(slice_figures(table, design, config, wanted))
            rows = () if largest is None else _largest(slice_rows(table, design, wanted), design, largest, by, count)
        except ResultError as reason:
            refused.append(reason)
        else:
            found.append(ResultSlice(config=config, named=figures[0].group or "", figures=figures, largest=tuple(rows)))
    if not found:
        raise _refusal(refused, evidence)
    return found


def _refusal(refused: Sequence[ResultError], evidence: ReportInput) -> ResultError:
    """Why there is nothing: of a sample, a word that was not drawn may be in the release all the same."""
    reason = next((each for each in refused if isinstance(each, NoRowError)), refused[0])
    if evidence.result.limit is None or evidence.release is None or not isinstance(reason, NoRowError):
        return reason
    drawn = sum(len(table) for table in evidence.tables.values())
    there = sum(evidence.release.manifest.data["configs"][name]["rows"] for name in evidence.tables)
    return NoRowError(reason.what, f"none of the {counted(drawn, 'row')} drawn (of {there:,})")


def _largest(
    rows: pd.DataFrame, design: Design, label: str, by: tuple[str, ...], count: int
) -> Iterator[dict[str, Any]]:
    for row in extremes(rows, design, label, by=by, count=count).to_dict("records"):
        yield {str(name): _plain(value) for name, value in row.items()}


def _plain(value: object) -> object:
    """A word, a mean or a count as JSON has it; None for a word that is not there."""
    if isinstance(value, float):
        return None if isnan(value) else value
    return value if value is None or isinstance(value, str | int) else str(value)
