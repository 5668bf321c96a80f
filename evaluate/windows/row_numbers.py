"""The rows of a release with their numbers, in order, from parts: a stream, of which no table of all rows is made.

parts -> the numbers of each place -> files by ranges of rows -> a range at a time, with the rows of the release
"""

import hashlib
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from senseprobe import parquet_files
from senseprobe.errors import ResultError
from senseprobe.evaluate.caveats import FIRST, order_reasons
from senseprobe.evaluate.pipeline import rows_of
from senseprobe.evaluate.scorers.base import NO_REASON, Scorer, select_all
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.windows.joining import JoinedParts
from senseprobe.evaluate.windows.parts import Part
from senseprobe.evaluate.windows.places import local_file
from senseprobe.evaluate.windows.plan_form import PLAN, Job, PlannedConfig, rows_file
from senseprobe.evaluate.windows.sorted_units import PLACES
from senseprobe.release.schema import design_schema
from senseprobe.tables import UnreadableError

RANGE = 2_000_000
"""Rows of a range: so many numbers are in memory at a time."""

ROWS_AT_ONCE = 65_536
_FLUSH = 2**25  # bytes of records that are in memory before they are written to the files of their ranges


def find_job(joined: JoinedParts, job: ScoringJob, scorer: Scorer) -> int:
    """Return the number of the job of a plan that has the rows of `job` for a scorer. ResultError where none has."""
    asked = (job.release.manifest.content, job.config, job.seed, job.limit)
    for number, planned in enumerate(joined.plan.plan.jobs):
        there = (planned.release.content, planned.release.config, planned.seed, planned.limit)
        if there == asked and scorer.id in planned.scorers:
            return number
    raise ResultError(f"the parts in {joined.plan.folder} were planned without these rows for {scorer.id}")


class RowStream:
    """The rows of a job with the numbers of a scorer, in the order of the release: by config, a frame at a time.

    A frame has the `columns` of the release that are asked for (default: all but spans), and numbers as
    `UnitTable.tables` has them; its index is the number of the row in its config. `rows` are those of a range. It can
    be read once, and needs so much space for temporary files as the numbers of all rows. Raises ResultError where the
    parts are of other rows.
    """

    def __init__(
        self,
        joined: JoinedParts,
        job: ScoringJob,
        scorer: Scorer,
        columns: Collection[str] | None = None,
        rows: int = RANGE,
    ) -> None:
        self._joined, self._job, self._scorer, self._columns, self._range = joined, job, scorer, columns, rows
        self._number = find_job(joined, job, scorer)
        self._planned: Job = joined.plan.plan.jobs[self._number]
        places = sum(config.rows * len(config.roles) for config in self._planned.configs)
        if places != sum(window.rows for window in self._planned.windows):
            raise ResultError(
                f"{joined.plan.folder} has a plan whose windows do not have the places of its rows: plan again"
            )
        record = [("place", "<i8"), ("reason", "<i4"), ("numbers", "<f8", (len(scorer.columns),))]
        self._record = np.dtype(record)
        self._reasons: dict[str, int] = {}
        self._unscored: dict[str, tuple[int, list[str]]] = {}

    def __iter__(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield the name of a config and the next of its rows. ResultError where parts or rows are not as planned."""
        with tempfile.TemporaryDirectory(prefix="senseprobe-rows-") as folder:
            self._sort_by_range(Path(folder))
            numbers = _Ranges(Path(folder), self._record, self._planned, self._range)
            for config in self._planned.configs:
                start = 0
                for frame in self._frames(config):
                    if start + len(frame) > config.rows:
                        break
                    values, reasons = numbers.take(len(frame))
                    self._count_unscored(frame, config, values, reasons)
                    yield config.name, frame.assign(**self._named(config, values))
                    start += len(frame)
                if start != config.rows:
                    raise ResultError(f"{config.name} does not have the {config.rows:,} rows that were planned")

    def unscored(self) -> Mapping[str, Mapping[str, object]]:
        """Return by reason the rows without a number, of those that were read, as `caveats.unscored_rows` does."""
        return order_reasons(self._unscored)

    # --- the release --------------------------------------------------------------------------------------------------

    def _frames(self, config: PlannedConfig) -> Iterator[pd.DataFrame]:
        """Yield the rows of a config, at most `ROWS_AT_ONCE` at a time."""
        if self._job.limit is not None or self._scorer.select is not select_all:
            table = rows_of(self._job, self._scorer)[config.name]
            table = table[[name for name in table if self._columns is None or name in {*self._columns, "id"}]]
            yield from (table.iloc[start : start + ROWS_AT_ONCE] for start in range(0, len(table), ROWS_AT_ONCE))
            return
        schema, start = design_schema(self._job.release.design(config.name)), 0
        plain = [field.name for field in schema if not pa.types.is_struct(field.type)]
        wanted = plain if self._columns is None else [n for n in schema.names if n in {*self._columns, "id"}]
        for batch in self._job.release.batches(config.name, wanted):
            for first in range(0, batch.num_rows, ROWS_AT_ONCE):
                frame: pd.DataFrame = batch.slice(first, ROWS_AT_ONCE).to_pandas(integer_object_nulls=True)
                yield frame.set_axis(range(start, start + len(frame)))
                start += len(frame)

    def _named(self, config: PlannedConfig, values: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        roles = self._planned.roles
        return {
            f"{f'{role}_' if len(roles) > 1 else ''}{column}": values[:, roles.index(role), number]
            for role in config.roles
            for number, column in enumerate(self._scorer.columns)
        }

    def _count_unscored(
        self, frame: pd.DataFrame, config: PlannedConfig, values: NDArray[np.float64], reasons: NDArray[np.int32]
    ) -> None:
        places = [self._planned.roles.index(role) for role in config.roles]
        lacking: NDArray[np.bool_] = np.asarray(~np.isfinite(values[:, places]).all(axis=2))
        texts, ids, rows = [*self._reasons], frame["id"].to_numpy(), np.flatnonzero(lacking.any(axis=1))
        firsts = np.array(places)[lacking[rows].argmax(axis=1)]
        for row, code in zip(rows.tolist(), reasons[rows, firsts].tolist(), strict=True):
            reason = texts[code]
            count, first = self._unscored.get(reason, (0, []))
            self._unscored[reason] = count + 1, [*first, str(ids[row])] if len(first) < FIRST else first

    # --- the parts ----------------------------------------------------------------------------------------------------

    def _sort_by_range(self, folder: Path) -> None:
        """Write the numbers of each place to the file of its range of rows."""
        pending: list[NDArray[np.void]] = []
        for number, part in zip(
            self._joined.plan.numbers_of(self._number), self._joined.answers(self._number), strict=True
        ):
            numbers, reasons = self._finished(part)
            for unit, place in self._places_of(number, len(part.digests)):
                records = np.empty(len(unit), dtype=self._record)
                records["place"], records["reason"], records["numbers"] = place, reasons[unit], numbers[unit]
                pending.append(records)
                if sum(part.nbytes for part in pending) >= _FLUSH:
                    self._flush(folder, pending)
                    pending = []
        self._flush(folder, pending)

    def _finished(self, part: Part) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return the numbers of units, and why they have none, as positions in `_reasons`."""
        made = self._scorer.finish([(None, numbers) for numbers in map(tuple, part.numbers.tolist())])  # type: ignore[misc]
        numbers = np.array([values for _, values in made], dtype=np.float64).reshape(len(made), -1)
        reasons = np.zeros(len(made), dtype=np.int32)
        for row in np.flatnonzero(~np.isfinite(numbers).all(axis=1)).tolist():
            reasons[row] = self._reasons.setdefault(part.reasons.get(row, NO_REASON), len(self._reasons))
        return numbers, reasons

    def _places_of(self, number: int, units: int) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int64]]]:
        """Yield the units of a window, by position, and where each occurs. ResultError where that is damaged."""
        path, window = self._joined.plan.folder / PLAN / rows_file(number), self._joined.plan.windows[number][1]
        again = f"delete {self._joined.plan.folder} and plan again"
        most = len(self._planned.roles) * self._planned.rows
        try:
            with local_file(path) as copy, copy.open("rb") as data:
                if hashlib.file_digest(data, "sha256").hexdigest() != window.rows_sha256:
                    raise ResultError(f"{path} is damaged: its bytes do not have the hash that the plan says; {again}")
            with local_file(path) as copy, parquet_files.bounded_parquet(copy, footer=2**26) as file:
                if file.schema_arrow.remove_metadata() != PLACES or file.metadata.num_rows != window.rows:
                    raise ResultError(f"{path} does not say where units occur: {again}")
                for batch in parquet_files.read_batches(file, None, 2**18):
                    unit, place = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
                    sound = all(column.null_count == 0 for column in batch.columns) and len(unit)
                    if not sound or not (
                        0 <= unit.min() <= unit.max() < units and 0 <= place.min() <= place.max() < most
                    ):
                        raise ResultError(f"{path} does not say where units occur: {again}")
                    yield unit, place
        except (OSError, ValueError, MemoryError, UnreadableError, pa.ArrowException) as error:
            raise ResultError(f"{path} cannot be read: {str(error).partition(chr(10))[0]}; {again}") from None

    def _flush(self, folder: Path, pending: list[NDArray[np.void]]) -> None:
        if not pending:
            return
        records = np.concatenate(pending)
        ranges = records["place"] // (len(self._planned.roles) * self._range)
        order = np.argsort(ranges, kind="stable")
        numbers, starts = np.unique(ranges[order], return_index=True)
        for number, part in zip(numbers.tolist(), np.split(records[order], starts[1:]), strict=True):
            with (folder / str(number)).open("ab") as file:
                file.write(part.tobytes())


class _Ranges:
    """The numbers of rows, in order, from the files of their ranges: float64 of shape (rows, roles, numbers)."""

    def __init__(self, folder: Path, record: np.dtype[np.void], job: Job, rows: int) -> None:
        self._folder, self._record, self._job, self._rows = folder, record, job, rows
        self._next = 0  # row
        self._values: NDArray[np.float64] = np.empty((0, 0, 0))
        self._reasons: NDArray[np.int32] = np.empty((0, 0), dtype=np.int32)

    def take(self, rows: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return the numbers of the next rows, and why there are none, of shape (rows, roles)."""
        values, reasons = [], []
        while rows:
            at = self._next % self._rows
            if at == 0:
                self._load(self._next // self._rows)
            count = min(rows, self._rows - at)
            values.append(self._values[at : at + count])
            reasons.append(self._reasons[at : at + count])
            self._next, rows = self._next + count, rows - count
        return np.concatenate(values), np.concatenate(reasons)

    def _load(self, number: int) -> None:
        roles, first = len(self._job.roles), number * self._rows
        rows = min(self._rows, self._job.rows - first)
        shape = self._record["numbers"].shape
        self._values = np.full((rows * roles, *shape), np.nan)
        self._reasons = np.zeros(rows * roles, dtype=np.int32)
        path = self._folder / str(number)
        records = np.frombuffer(path.read_bytes() if path.exists() else b"", dtype=self._record)
        places = records["place"] - first * roles
        self._values[places], self._reasons[places] = records["numbers"], records["reason"]
        self._values, self._reasons = self._values.reshape(rows, roles, *shape), self._reasons.reshape(rows, roles)
        path.unlink(missing_ok=True)
