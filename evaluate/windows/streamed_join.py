"""Results of very many rows from parts: rows are read in order, and no table of them is made (evaluate/streams)."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from senseprobe.evaluate.cache import Store
from senseprobe.evaluate.pipeline import Check
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.scorers.base import Scorer
from senseprobe.evaluate.scoring import RunOptions
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.streams.streamed_results import stream_result, why_not_streamed
from senseprobe.evaluate.windows.joining import JoinedParts, JoinOptions
from senseprobe.evaluate.windows.row_numbers import RowStream, find_job

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model

MOST_ROWS = 4_000_000
"""Rows of a job up to which all are in a table: more are read in parts."""


class PartReader:
    """Reads the rows of a job with the numbers of a scorer, as often as they are needed."""

    def __init__(self, parts: JoinedParts, job: ScoringJob, scorer: Scorer) -> None:
        self._parts, self._job, self._scorer = parts, job, scorer
        self._unscored: Mapping[str, Mapping[str, object]] = {}
        roles = parts.plan.plan.jobs[find_job(parts, job, scorer)].roles
        prefixes = [f"{role}_" if len(roles) > 1 else "" for role in roles]
        self.numbers = [f"{prefix}{column}" for prefix in prefixes for column in scorer.columns]

    def read(self, columns: Collection[str] | None) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield the name of a config and the next of its rows, with the columns that are asked for; None: all."""
        stream = RowStream(self._parts, self._job, self._scorer, columns)
        yield from stream
        self._unscored = stream.unscored()

    def unscored(self) -> Mapping[str, Mapping[str, object]]:
        """Return by reason the rows without a number, once all were read."""
        return self._unscored


@dataclass(frozen=True, slots=True)
class StreamOptions(JoinOptions):
    """Options of a run whose answers are in parts, and whose rows may be too many for a table.

    - `without`: estimands, and contrasts of senses, that are left out where rows come in parts.
    """

    without: tuple[str, ...] = ()

    def run(
        self, job: ScoringJob, model: "Model", scorer: Scorer, store: Store | None, check: Check | None = None
    ) -> Result:
        """Return the result of one job: of very many rows without a table of them."""
        rows = sum(int(job.release.manifest.config(name)["rows"]) for name in job.configs(scorer))
        fits = rows <= MOST_ROWS or not hasattr(model, "stored_reasons") or check is not None
        if self.parts is None or fits or why_not_streamed(job, model, scorer):
            return RunOptions.run(self, job, model, scorer, store, check)
        reader = PartReader(self.parts, job, scorer)
        return stream_result(
            job, model, scorer, reader.read, reader.numbers, reader.unscored, warn=self.warn, without=self.without
        )
