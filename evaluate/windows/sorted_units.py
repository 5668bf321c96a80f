"""Distinct units in the order of their texts, and where they occur, whatever their number: an external merge sort.

    places of units -> runs that fit into memory, each sorted, in files -> merged, as many at a time as fit -> windows

Arrow sorts texts by their bytes in UTF-8, which is the order of their code points, and so that of Python's tuples.
"""

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from senseprobe.evaluate.windows.plan_form import Window, rows_file, units_file
from senseprobe.evaluate.windows.unit_columns import PLACED, UNIT

_ORDER = [(name, "ascending") for name in PLACED.names]
PLACES = pa.schema([("unit", pa.int32()), ("place", pa.int64())])
"""Where units occur: the position of a unit in its window, and a place as in `unit_columns.PLACED`."""


@dataclass(frozen=True, slots=True)
class SortLimits:
    """How much of a sort is in memory: tests set less.

    - `rows`, `bytes`: of a run, whichever is reached first. Sorting takes three times as much meanwhile.
    - `step_rows`, `step_bytes`: of a batch of a run in its file, two of which are in memory while runs are merged.
    - `runs`: how many are merged at a time.
    """

    rows: int = 1_000_000
    bytes: int = 2**27
    step_rows: int = 16_384
    step_bytes: int = 2**21
    runs: int = 32


LIMITS = SortLimits()


def sort_places(batches: Iterable[pa.Table], folder: Path, limits: SortLimits) -> Iterator[pa.Table]:
    """Yield the places of units, sorted by unit and place, in tables of bounded size; runs are in `folder` meanwhile.

    Raises OSError where they cannot be written.
    """
    runs: list[Path] = []
    pending: list[pa.Table] = []
    for batch in batches:
        pending.append(batch)
        if sum(map(len, pending)) >= limits.rows or sum(part.nbytes for part in pending) >= limits.bytes:
            runs.append(_write_run([_sorted(pending)], folder / f"run-{len(runs)}", limits))
            pending = []
    if not runs:
        yield _sorted(pending or [PLACED.empty_table()])
        return
    if pending:
        runs.append(_write_run([_sorted(pending)], folder / f"run-{len(runs)}", limits))
    number = len(runs)
    while len(runs) > limits.runs:
        merged = []
        for start in range(0, len(runs), limits.runs):
            group = runs[start : start + limits.runs]
            merged.append(_write_run(_merge(group), folder / f"run-{number}", limits))
            number += 1
            for path in group:
                path.unlink()
        runs = merged
    yield from _merge(runs)


def _sorted(tables: Sequence[pa.Table]) -> pa.Table:
    table = pa.concat_tables(tables).combine_chunks()
    return table.take(pc.sort_indices(table, sort_keys=_ORDER))


def _write_run(tables: Iterable[pa.Table], path: Path, limits: SortLimits) -> Path:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, PLACED, options=options) as writer:
        for table in tables:
            rows = min(limits.step_rows, max(1, len(table) * limits.step_bytes // max(1, table.nbytes)))
            writer.write_table(table, max_chunksize=rows)
    return path


class _Run:
    """A sorted run in its file, of which the next two batches are in memory."""

    def __init__(self, path: Path) -> None:
        self._file = pa.OSFile(str(path))
        self._reader = pa.ipc.open_stream(self._file)
        self._batches: list[pa.RecordBatch] = []
        self._ended = False

    def fill(self) -> bool:
        """Read until two batches are in memory; return whether there are any."""
        while len(self._batches) < 2 and not self._ended:
            try:
                batch = self._reader.read_next_batch()
            except StopIteration:
                self._ended = True
                self._file.close()
                break
            if batch.num_rows:
                self._batches.append(batch)
        return bool(self._batches)

    @property
    def bound(self) -> tuple[Any, ...] | None:
        """The last unit in memory, where the file has more."""
        return None if self._ended else _key(self._batches[-1], self._batches[-1].num_rows - 1)

    def take(self, bound: tuple[Any, ...] | None) -> Iterator[pa.RecordBatch]:
        """Yield what is in memory up to a unit and its place, and that itself; all where there is no bound."""
        while self._batches:
            batch = self._batches[0]
            end = batch.num_rows if bound is None else _position_after(batch, bound)
            if end:
                yield batch.slice(0, end)
            if end < batch.num_rows:
                self._batches[0] = batch.slice(end)
                return
            del self._batches[0]


def _key(batch: pa.RecordBatch, row: int) -> tuple[Any, ...]:
    return tuple(column[row].as_py() for column in batch.columns)


def _position_after(batch: pa.RecordBatch, bound: tuple[Any, ...]) -> int:
    low, high = 0, batch.num_rows
    while low < high:
        middle = (low + high) // 2
        if _key(batch, middle) <= bound:
            low = middle + 1
        else:
            high = middle
    return low


def _merge(paths: Sequence[Path]) -> Iterator[pa.Table]:
    """Yield runs merged: each time all that is known to come before what is not in memory."""
    runs = [_Run(path) for path in paths]
    while runs := [run for run in runs if run.fill()]:
        bounds = [bound for run in runs if (bound := run.bound) is not None]
        bound = min(bounds) if bounds else None
        batches = [batch for run in runs for batch in run.take(bound)]
        yield _sorted([pa.Table.from_batches(batches)])


# --- windows ----------------------------------------------------------------------------------------------------------


class WindowWriter:
    """Writes sorted places as windows of `size` distinct units into a folder, from window `first` on."""

    def __init__(self, folder: Path, size: int, first: int) -> None:
        self.windows: list[Window] = []
        self._folder, self._size, self._first = folder, size, first
        self._units: list[pa.Table] = []
        self._rows: pq.ParquetWriter | None = None
        self._counts = [0, 0]  # of the window that is being written: units, rows
        self._last: tuple[Any, ...] | None = None

    def add(self, table: pa.Table) -> None:
        """Write the next places, which may begin with more places of the last unit."""
        if not len(table):
            return
        new = _first_places(table, self._last)
        self._last = tuple(table[name][-1].as_py() for name in UNIT.names)
        numbers = np.cumsum(new) + self._counts[0] - 1  # of units, from the first of the open window
        starts = np.searchsorted(numbers, np.arange(0, numbers[-1] + 1, self._size))
        for number, start in enumerate(starts):
            end = starts[number + 1] if number + 1 < len(starts) else len(numbers)
            if number:
                self.close()
            if end > start:
                self._write(table[start:end], new[start:end], numbers[start:end] - number * self._size)

    def _write(self, table: pa.Table, new: NDArray[np.bool_], numbers: NDArray[np.int64]) -> None:
        window = self._first + len(self.windows)
        if self._rows is None:
            self._rows = pq.ParquetWriter(self._folder / rows_file(window), PLACES, compression="zstd")
        self._units.append(table.select(UNIT.names).filter(pa.array(new)))
        self._rows.write_table(pa.table([pa.array(numbers, pa.int32()), table["place"]], PLACES))
        self._counts = [int(numbers[-1]) + 1, self._counts[1] + len(table)]

    def close(self) -> None:
        """Write the window that is open, if there is one."""
        if self._rows is None:
            return
        window = self._first + len(self.windows)
        self._rows.close()
        paths = [self._folder / name(window) for name in (units_file, rows_file)]
        pq.write_table(pa.concat_tables(self._units).combine_chunks(), paths[0], compression="zstd")
        units_sha256, rows_sha256 = map(_file_digest, paths)
        units, rows = self._counts
        self.windows.append(Window(units=units, rows=rows, units_sha256=units_sha256, rows_sha256=rows_sha256))
        self._rows, self._units, self._counts = None, [], [0, 0]


def write_windows(
    batches: Iterable[pa.Table], folder: Path, size: int, first: int, limits: SortLimits | None = None
) -> tuple[Window, ...]:
    """Write the distinct units of places as windows of `size` into a folder, from window `first` on, and return them.

    At most some 800 MB are in memory, however many there are. Raises OSError where they cannot be written.
    """
    runs = folder / "runs"
    runs.mkdir()
    writer = WindowWriter(folder, size, first)
    for table in sort_places(batches, runs, limits or LIMITS):
        writer.add(table)
    writer.close()
    shutil.rmtree(runs)
    return tuple(writer.windows)


def _first_places(table: pa.Table, last: tuple[Any, ...] | None) -> NDArray[np.bool_]:
    """Return of each place whether it is the first of its unit; `last` is the unit before the first."""
    new = np.zeros(len(table), dtype=np.bool_)
    new[0] = tuple(table[name][0].as_py() for name in UNIT.names) != last
    for name in UNIT.names:
        column = table[name]
        new[1:] |= pc.not_equal(column[1:], column[:-1]).to_numpy()
    return new


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
