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
from senseprobe.release.memory import memory_cap
from senseprobe.release.schema import loose, plain
from senseprobe.wording import printable

__all__ = [
    "ROWS_PER_FILE",
    "Rows",
    "Told",
    "bounded_parquet",
    "file_names",
    "files_of",
    "is_file_name",
    "read_rows",
    "write_rows",
]

ROWS_PER_FILE = 262_144
"""Also the rows of a group, of which a file has one: each group has dictionaries of its own."""

MAX_GROUP_BYTES = 2**30
"""The row group of a full file has some 80 MB; one that claims to hold more than this is not read."""

MAX_FOOTER_BYTES = 2**20
"""A footer has some 2 kB for each row group. It unfolds into records of ours when a file is opened."""

MAX_MEMORY = 2**29
"""That a part of a file may take beside what is held already, however small the file is."""

ROWS_AT_ONCE = 8_192
"""That are read at once: of rows of 60 kB each, they still fit into MAX_MEMORY."""

THREADS = min(os.cpu_count() or 1, 4)
"""That write files, each with some 60 MB; one where somebody hears of the rows, since hashing them takes longer."""

_KEYS = {b"canary", b"release", b"ARROW:schema"}
"""What a file says beside its rows; the last of them Arrow's own, in files of the first form."""

Batches = Iterator[pa.RecordBatch]
Rows = Callable[[int, int], Batches]
"""Makes the rows of a half-open range of their numbers."""

Told = Callable[[pa.RecordBatch], None]


def file_names(size: int) -> list[str]:
    """The names of the files of a config with so many rows, in the order of its rows."""
    files = files_of(size)
    return [_file_name(number, files) for number in range(files)]


def files_of(size: int) -> int:
    """How many files so many rows are written in."""
    return -(-size // ROWS_PER_FILE)


def is_file_name(name: str, size: int) -> bool:
    """Whether a file of a config with so many rows is called so."""
    files, number = files_of(size), name.partition("-")[2].partition("-")[0]
    return number.isdecimal() and len(number) < 20 and int(number) < files and name == _file_name(int(number), files)


def _file_name(number: int, files: int) -> str:
    return f"test-{number:05d}-of-{files:05d}.parquet"


def write_rows(
    folder: Path, schema: pa.Schema, size: int, rows: Rows, told: Told | None = None, only: Container[str] | None = None
) -> None:
    """Write the `size` rows of a config as files of ROWS_PER_FILE into `folder`; `only` names the files to write.

    `rows` makes a range of rows, in several threads at once; `told` hears of each file's, in order and in this thread.
    Files are written side by side, and few are ahead of what was told, so that memory does not grow with size.
    """
    waiting: deque[Future[pa.RecordBatch | None]] = deque()
    threads = 1 if told else THREADS
    with _tuned(), ThreadPoolExecutor(threads) as pool:
        for number, name in enumerate(file_names(size)):
            if only is None or name in only:
                start = number * ROWS_PER_FILE
                made = partial(rows, start, min(start + ROWS_PER_FILE, size))
                waiting.append(pool.submit(_write_file, folder / name, schema, made, keep=told is not None))
            if len(waiting) > threads:
                _tell(waiting.popleft(), told)
        while waiting:
            _tell(waiting.popleft(), told)


@contextmanager
def _tuned() -> Iterator[None]:
    """Threads that come back from Arrow wait for the interpreter no longer than its calls take: 10 to 25 % faster.

    Arrow's own allocator gives large blocks back at once, to ask for them again for the next file: another 10 %.
    """
    switches, pool = sys.getswitchinterval(), pa.default_memory_pool()
    sys.setswitchinterval(0.0001)
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        sys.setswitchinterval(switches)
        pa.set_memory_pool(pool)


def _write_file(path: Path, schema: pa.Schema, rows: Callable[[], Batches], *, keep: bool) -> pa.RecordBatch | None:
    """Write one file; its rows, if they are to be kept."""
    parts = [*rows()]
    group = _joined(parts)
    coded = _coded(group, required={field.name for field in parts[0].schema if not field.nullable})
    with _writer(path, coded.schema) as writer:
        writer.add_key_value_metadata(schema.metadata or {})  # which goes with the schema that is not stored
        for part in _parts(coded):
            writer.write_batch(part)
    return group if keep else None


def _tell(written: Future[pa.RecordBatch | None], told: Told | None) -> None:
    group = written.result()
    if told and group is not None:
        told(group)


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """Texts are written from their dictionaries, so the file must not claim that readers should see dictionaries.

    Numbers are few and come again in turn: compression alone makes them as small, in half the time. Ids are all
    different: what they share are their beginnings, so each is written as what differs from the one before.
    """
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=[field.name for field in schema if pa.types.is_dictionary(field.type)],
        column_encoding={"id": "DELTA_BYTE_ARRAY"},
        store_schema=False,
        write_batch_size=ROWS_PER_FILE,
        write_statistics=False,  # they cost more than all else, and within a group there is every word of most slots
    )


def _coded(group: pa.RecordBatch, required: Container[str]) -> pa.RecordBatch:
    """The group with texts but ids as dictionaries; columns that say that they are required are written faster."""
    columns = {name: _coded_column(group[name], name, required) for name in group.schema.names}
    fields = [pa.field(name, column.type, name not in required) for name, column in columns.items()]
    return pa.record_batch([*columns.values()], schema=pa.schema(fields))


def _coded_column(column: Any, name: str, required: Container[str]) -> Any:  # noqa: ANN401 - Arrow's arrays have no types
    if pa.types.is_struct(column.type):
        return column.cast(pa.struct([child.with_nullable(name not in required) for child in column.type]))
    return column.dictionary_encode() if pa.types.is_string(column.type) and name != "id" else column


def _parts(group: pa.RecordBatch) -> Batches:
    """A group in parts that readers take: sentences may be long."""
    rows = max(group.num_rows * (MAX_GROUP_BYTES // 4) // max(group.nbytes, 1), 1)
    yield from (group.slice(start, rows) for start in range(0, group.num_rows, rows))


def _joined(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    """One batch of several, each of which has dictionaries of its own."""
    return parts[0] if len(parts) == 1 else pa.concat_batches([plain(part) for part in parts])


def read_rows(path: Path, schema: pa.Schema, shown: str, most: int) -> Batches:
    """The rows of a file, `shown` in messages; DamagedRelease where it is not Parquet of these columns.

    Sizes and counts, of which there may be `most`, are compared with what is allowed before rows are read; and what
    rows unfold into has a cap, since nothing that a file says of itself bounds it.
    """
    if path.is_symlink() or not path.is_file():
        raise _damaged(shown, "E402", "is no plain file" if path.exists() else "is missing")
    try:
        with bounded_parquet(path, MAX_MEMORY) as file:
            _check(file, schema, most, shown)
            parts = file.iter_batches(ROWS_AT_ONCE, use_threads=False)  # threads would need memory of their own
            while (batch := _next(parts)) is not None:
                yield batch
    except MemoryError:
        raise _damaged(shown, "E404", f"takes more than {MAX_MEMORY >> 20} MiB of memory to read") from None
    except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: names that are no UTF-8
        reason = printable(str(error).partition("\n")[0])
        raise _damaged(shown, "E404", f"cannot be read as Parquet: {reason}") from None


def _next(parts: Batches) -> pa.RecordBatch | None:
    with memory_cap(MAX_MEMORY):
        if (batch := next(parts, None)) is None:
            return None
        batch.validate(full=True)  # a column of text may hold what is no UTF-8
        return plain(batch)


def bounded_parquet(path: Path, memory: int) -> pq.ParquetFile:
    """A Parquet file whose footer, a length and its mark at the end, is of a size that can be trusted.

    It is opened with at most so many more bytes of memory. Raises ValueError, OSError, ArrowException and MemoryError.
    """
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 8, 0))
        if (footer := int.from_bytes(file.read(4), "little")) > MAX_FOOTER_BYTES:
            raise ValueError(f"it has a footer of {footer} bytes, more than {MAX_FOOTER_BYTES}")
    limits = {"thrift_string_size_limit": MAX_FOOTER_BYTES, "thrift_container_size_limit": MAX_FOOTER_BYTES // 100}
    with memory_cap(memory):
        return pq.ParquetFile(path, pre_buffer=False, **limits)


def _check(file: pq.ParquetFile, schema: pa.Schema, most: int, shown: str) -> None:
    # pandas takes columns for others where a key of its own says so.
    if strange := sorted({*(file.metadata.metadata or {})} - _KEYS):
        raise _damaged(shown, "E407", f"has metadata that no release has: {printable(repr(strange[0]))[:80]}")
    if loose(file.schema_arrow) != schema.remove_metadata():
        raise _damaged(shown, "E407", "its columns are not those of the config")
    if (rows := file.metadata.num_rows) > most:
        raise _damaged(shown, "E405", f"has {rows - most} rows more than the manifest says")
    groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
    if any(group.total_byte_size > MAX_GROUP_BYTES for group in groups):
        raise _damaged(shown, "E404", f"has a row group of more than {MAX_GROUP_BYTES >> 20} MiB")


def _damaged(path: str, code: str, message: str) -> DamagedRelease:
    return DamagedRelease([Finding(path=path, code=code, message=message)])
