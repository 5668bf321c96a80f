"""How rows lie in Parquet: small files, small dictionaries, ids that share their beginnings."""

import os
import sys
from collections import deque
from collections.abc import Callable, Container, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from senseprobe.errors import DamagedRelease
from senseprobe.records import Finding
from senseprobe.release.form import printable
from senseprobe.release.schema import plain

__all__ = ["ROWS_PER_FILE", "ROWS_PER_GROUP", "Rows", "Told", "file_names", "read_rows", "write_rows"]

ROWS_PER_GROUP = 131_072
ROWS_PER_FILE = 2 * ROWS_PER_GROUP

MAX_GROUP_BYTES = 2**30
"""A row group of 131,072 rows has some 40 MB; one that claims to hold more than this is not read."""

THREADS = min(os.cpu_count() or 1, 4)  # each takes some 30 MB

Batches = Iterator[pa.RecordBatch]
Rows = Callable[[int, int], Batches]
"""Makes the rows of a half-open range of their numbers."""

Told = Callable[[pa.RecordBatch], None]


def file_names(size: int) -> list[str]:
    """The names of the files of a config with so many rows, in the order of its rows."""
    files = -(-size // ROWS_PER_FILE)
    return [f"test-{number:05d}-of-{files:05d}.parquet" for number in range(files)]


def write_rows(
    folder: Path, schema: pa.Schema, size: int, rows: Rows, told: Told | None = None, only: Container[str] | None = None
) -> None:
    """Write the `size` rows of a config as files of ROWS_PER_FILE into `folder`; `only` names the files to write.

    `rows` makes a range of rows, in several threads at once; `told` hears of each group of them, in order and in this
    thread. Files are written side by side, and few are ahead of what was told, so that memory does not grow with size.
    """
    waiting: deque[Future[list[pa.RecordBatch]]] = deque()
    with _quick_switches(), ThreadPoolExecutor(THREADS) as pool:
        for number, name in enumerate(file_names(size)):
            if only is None or name in only:
                start = number * ROWS_PER_FILE
                made = partial(rows, start, min(start + ROWS_PER_FILE, size))
                waiting.append(pool.submit(_write_file, folder / name, schema, made, keep=told is not None))
            if len(waiting) > THREADS:
                _tell(waiting.popleft(), told)
        while waiting:
            _tell(waiting.popleft(), told)


@contextmanager
def _quick_switches() -> Iterator[None]:
    """Threads that come back from Arrow wait for the interpreter no longer than its calls take: 10 to 25 % faster."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(0.0001)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def _write_file(path: Path, schema: pa.Schema, rows: Callable[[], Batches], *, keep: bool) -> list[pa.RecordBatch]:
    """Write one file; its groups, if they are to be kept."""
    kept = []
    with _writer(path, schema) as writer:
        writer.add_key_value_metadata(schema.metadata or {})  # which goes with the schema that is not stored
        for group in _groups(rows()):
            for part in _parts(_coded(group, schema)):
                writer.write_batch(part)
            if keep:
                kept.append(group)
    return kept


def _tell(written: Future[list[pa.RecordBatch]], told: Told | None) -> None:
    for group in written.result():
        if told:
            told(group)


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """Texts are written from their dictionaries, so the file must not claim that readers should see dictionaries.

    Ids are all different: what they share are their beginnings, so each is written as what differs from the one before.
    """
    coded = [leaf for leaf in _leaves(schema) if leaf != "id"]
    return pq.ParquetWriter(
        path,
        _coded_schema(schema),
        compression="zstd",
        use_dictionary=coded,
        column_encoding={"id": "DELTA_BYTE_ARRAY"},
        store_schema=False,
        write_statistics=False,  # they cost more than all else, and within a group there is every word of most slots
    )


def _leaves(schema: pa.Schema) -> Iterator[str]:
    for field in schema:
        if pa.types.is_struct(field.type):
            yield from (f"{field.name}.{child.name}" for child in field.type)
        elif not pa.types.is_boolean(field.type):  # Parquet has no dictionaries of these
            yield field.name


def _coded_type(field: pa.Field) -> pa.DataType:
    coded = pa.types.is_string(field.type) and field.name != "id"
    return pa.dictionary(pa.int32(), field.type) if coded else field.type


def _coded_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(field.name, _coded_type(field)) for field in schema], schema.metadata)


def _coded(group: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The group with texts as dictionaries, whichever way they came."""
    wanted = _coded_schema(schema)
    columns = [_as(column, field.type) for column, field in zip(group.columns, wanted, strict=True)]
    return pa.record_batch(columns, schema=wanted)


def _as(column: Any, kind: pa.DataType) -> Any:  # noqa: ANN401 - Arrow's arrays have no types of their own
    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(column.type):
        return column.dictionary_encode()
    return column


def _groups(batches: Batches) -> Batches:
    """The rows in groups of ROWS_PER_GROUP, however they came: bytes must not depend on how rows were made."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        while sum(part.num_rows for part in waiting) + batch.num_rows >= ROWS_PER_GROUP:
            room = ROWS_PER_GROUP - sum(part.num_rows for part in waiting)
            yield _joined([*waiting, batch.slice(0, room)])
            waiting, batch = [], batch.slice(room)
        if batch.num_rows:
            waiting.append(batch)
    if waiting:
        yield _joined(waiting)


def _parts(group: pa.RecordBatch) -> Batches:
    """A group in parts that readers take: sentences may be long."""
    rows = max(group.num_rows * (MAX_GROUP_BYTES // 4) // max(group.nbytes, 1), 1)
    yield from (group.slice(start, rows) for start in range(0, group.num_rows, rows))


def _joined(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    """One batch of several, each of which has dictionaries of its own."""
    return parts[0] if len(parts) == 1 else pa.concat_batches([plain(part) for part in parts])


def read_rows(path: Path, schema: pa.Schema, shown: str, most: int) -> Batches:
    """The rows of a file, `shown` in messages; DamagedRelease where it is not Parquet of these columns.

    Sizes and counts, of which there may be `most`, are compared with what is allowed before rows are read.
    """
    try:
        with pq.ParquetFile(path) as file:
            _check(file, schema, most, shown)
            for batch in file.iter_batches():
                batch.validate(full=True)  # a column of text may hold what is no UTF-8
                yield batch
    except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: names that are no UTF-8
        reason = printable(str(error).partition("\n")[0])
        raise _damaged(shown, "E404", f"cannot be read as Parquet: {reason}") from None


def _check(file: pq.ParquetFile, schema: pa.Schema, most: int, shown: str) -> None:
    if file.schema_arrow.remove_metadata() != schema.remove_metadata():
        raise _damaged(shown, "E407", "its columns are not those of the config")
    if (rows := file.metadata.num_rows) > most:
        raise _damaged(shown, "E405", f"has {rows - most} rows more than the manifest says")
    groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
    if any(group.total_byte_size > MAX_GROUP_BYTES for group in groups):
        raise _damaged(shown, "E404", f"has a row group of more than {MAX_GROUP_BYTES >> 20} MiB")


def _damaged(path: str, code: str, message: str) -> DamagedRelease:
    return DamagedRelease([Finding(path=path, code=code, message=message)])
