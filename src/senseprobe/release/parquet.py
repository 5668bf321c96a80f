"""The rows of releases in Parquet: written as small files with small dictionaries, and read with a cap on memory.

The cap is for strangers' files: a small one can be made to unfold into more memory than there is.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from senseprobe.errors import DamagedRelease
from senseprobe.messages import printable
from senseprobe.parquet_files import MAX_MEMORY, bounded_parquet, plain, read_batches
from senseprobe.records import Finding
from senseprobe.release.hashing import LEAF_ROWS, ContentHash, Leaf, file_entry, flat, memory_bytes
from senseprobe.release.schema import loose

ROWS_PER_FILE = LEAF_ROWS
"""Also the rows of a row group, of which a file has one: each group has its own dictionaries."""

MAX_GROUP_BYTES = 2**30
"""The row group of a full file has some 80 MB; one that claims to hold more than this is not read."""

ROWS_AT_ONCE = 8_192
"""Rows that are read at once: of 60 kB each, they still fit into MAX_MEMORY."""

THREADS = min(os.cpu_count() or 1, 4)
"""Threads that make, write and hash files, each with some 60 MB."""

_KEYS = {b"canary", b"release", b"ARROW:schema"}
"""The keys of a file's metadata; the last of them is Arrow's own, in files of the first form."""

Batches = Iterator[pa.RecordBatch]
Rows = Callable[[int, int], Batches]
"""Makes the rows of a half-open range of their numbers, from 0."""

BatchCallback = Callable[[pa.RecordBatch], None]


class WrittenFile(NamedTuple):
    """A file of a config's rows: its name, how many rows it has with their hash, their bytes in memory, and the rows.

    The hash is that of a leaf of the config's content hash, or where the config has one file the content hash itself.
    Where it was not asked for it is empty, memory is 0, and `entry` None, which is the file's size in bytes and sha256.
    Rows that another process made are not there.
    """

    name: str
    leaf: Leaf
    memory: int
    entry: tuple[int, str] | None = None
    group: pa.RecordBatch | None = None


FileCallback = Callable[[WrittenFile], None]


def file_names(size: int) -> list[str]:
    """Return the names of the files of a config of `size` rows, in the order of its rows.

    >>> file_names(400_000)
    ['test-00000-of-00002.parquet', 'test-00001-of-00002.parquet']
    """
    return [_file_name(number, files_of(size)) for number in range(files_of(size))]


def files_of(size: int) -> int:
    """Return how many files `size` rows are written in.

    >>> files_of(0), files_of(10), files_of(10**7)
    (0, 1, 39)
    """
    return -(-size // ROWS_PER_FILE)


def rows_in_files(size: int, numbers: range) -> int:
    """Return how many rows of a config of `size` rows are in the files of these numbers, all of which it has."""
    short = files_of(size) * ROWS_PER_FILE - size
    return len(numbers) * ROWS_PER_FILE - (short if files_of(size) - 1 in numbers else 0)


def is_file_name(name: str, size: int) -> bool:
    """Return whether a config of `size` rows has a file of this name."""
    files, number = files_of(size), name.partition("-")[2].partition("-")[0]
    return number.isdecimal() and len(number) < 20 and int(number) < files and name == _file_name(int(number), files)


def _file_name(number: int, files: int) -> str:
    return f"test-{number:05d}-of-{files:05d}.parquet"


def write_rows(
    folder: Path,
    schema: pa.Schema,
    size: int,
    rows: Rows,
    on_file: FileCallback | None = None,
    only: Container[str] | None = None,
    *,
    hashed: bool = True,
) -> None:
    """Write the `size` rows of a config as files of ROWS_PER_FILE into `folder`; `only` names the files to write.

    `rows` makes a range of rows, in several threads at once; `on_file` is called with each file's, in order and in
    this thread. Files are written and `hashed` side by side, and few ahead of the calls, so that memory does not grow
    with size.
    """
    waiting: deque[Future[WrittenFile]] = deque()
    content = partial(ContentHash, schema, of_leaf=files_of(size) > 1) if on_file and hashed else None

    def report() -> None:
        written = waiting.popleft().result()
        if on_file:
            on_file(written)

    with _tuned(), ThreadPoolExecutor(THREADS) as pool:
        for number, name in enumerate(file_names(size)):
            if only is None or name in only:
                start = number * ROWS_PER_FILE
                make_rows = partial(rows, start, min(start + ROWS_PER_FILE, size))
                waiting.append(pool.submit(_write_file, folder / name, schema, make_rows, content))
            if len(waiting) > THREADS:
                report()
        while waiting:
            report()


Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield what a function returns for each item, in order; where it raises, what has not begun is not done."""
    pool = ThreadPoolExecutor(THREADS)
    try:
        yield from pool.map(function, items)
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _tuned() -> Iterator[None]:
    """Set the switch interval and the allocator for writing within the block.

    With a short interval, threads that return from Arrow wait less for the interpreter: 10 to 25 % faster. Arrow's own
    allocator gives large blocks back at once, and requests them again for the next file: another 10 %.
    """
    switches, pool = sys.getswitchinterval(), pa.default_memory_pool()
    sys.setswitchinterval(0.0001)
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        sys.setswitchinterval(switches)
        pa.set_memory_pool(pool)


def _write_file(
    where: Path | pa.NativeFile,
    schema: pa.Schema,
    rows: Callable[[], Batches],
    content: Callable[[], ContentHash] | None = None,
) -> WrittenFile:
    """Write a file of one group of rows; return them with their hash, if `content` makes one."""
    batches = [*rows()]
    group = batches[0] if len(batches) == 1 else pa.concat_batches([plain(batch) for batch in batches])
    coded = _coded(group, required={field.name for field in batches[0].schema if not field.nullable})
    # Named by its bytes: pyarrow takes names as UTF-8, and those of folders need not be.
    sink = nullcontext(where) if isinstance(where, pa.NativeFile) else pa.OSFile(os.fsencode(where), "wb")
    with sink as file, _writer(file, coded.schema) as writer:
        writer.add_key_value_metadata(schema.metadata or {})  # which goes with the schema that is not stored
        # Readers refuse large groups, and sentences may be long.
        step = max(coded.num_rows * (MAX_GROUP_BYTES // 4) // max(coded.nbytes, 1), 1)
        for start in range(0, coded.num_rows, step):
            writer.write_batch(coded.slice(start, step))
    name = where.name if isinstance(where, Path) else ""
    if content is None:
        return WrittenFile(name, Leaf(group.num_rows, ""), 0, group=group)
    rows_hash = content()
    rows_hash.update(coded)
    entry = file_entry(where) if isinstance(where, Path) else None
    return WrittenFile(name, Leaf(group.num_rows, rows_hash.hexdigest()), memory_bytes(coded), entry, group)


def sample_bytes(schema: pa.Schema, rows: Batches) -> int:
    """Return how many bytes a file of these rows has, at least one batch; nothing is written to disk."""
    written = pa.BufferOutputStream()
    _write_file(written, schema, lambda: rows)
    return int(written.getvalue().size)


def _writer(where: pa.NativeFile, schema: pa.Schema) -> pq.ParquetWriter:
    """Return a writer of texts from dictionaries, without Arrow's schema, by which readers would see dictionaries.

    Numbers are few and repeat: compression alone makes them as small, in half the time. Ids are all different and share
    their beginnings, so each is written as its difference from the one before.
    """
    return pq.ParquetWriter(
        where,
        schema,
        compression="zstd",
        use_dictionary=[field.name for field in schema if pa.types.is_dictionary(field.type)],
        column_encoding={"id": "DELTA_BYTE_ARRAY"},
        store_schema=False,
        write_batch_size=ROWS_PER_FILE,
        write_statistics=False,  # they cost more than all else and help little: a group has every word of most slots
    )


def _coded(group: pa.RecordBatch, required: Container[str]) -> pa.RecordBatch:
    """Return the group with all texts but ids as dictionaries; columns that are `required` are written faster."""
    fields, columns = [], []
    for name, column in zip(group.schema.names, group.columns, strict=True):
        if pa.types.is_struct(column.type):
            column = column.cast(pa.struct([child.with_nullable(name not in required) for child in column.type]))
        elif pa.types.is_string(column.type) and name != "id":
            column = column.dictionary_encode()
        fields.append(pa.field(name, column.type, name not in required))
        columns.append(column)
    return pa.record_batch(columns, schema=pa.schema(fields))


def read_rows(
    path: Path, schema: pa.Schema, display_path: str, most: int, columns: Sequence[str] | None = None
) -> Batches:
    """Yield the rows of a file; raise DamagedRelease, naming `display_path`, where it is not Parquet of these columns.

    `columns` names those to be read (default: all). Sizes and counts, `most` rows, are compared with what is allowed
    before rows are read. The memory that rows unfold into has a cap, since no figure in the file bounds it.
    """
    if path.is_symlink() or not path.is_file():
        raise _damaged(display_path, "E402", "is not a plain file" if path.exists() else "is missing")
    try:
        with bounded_parquet(path, MAX_MEMORY) as file:
            _check(file, schema, most, display_path)
            yield from read_batches(file, columns, ROWS_AT_ONCE)
            # Last: reading the statistics of a column that cannot be read would end the process.
            if columns is None:
                _check_statistics(file, display_path)
    except MemoryError:
        raise _damaged(display_path, "E404", f"takes more than {MAX_MEMORY >> 20} MiB of memory to read") from None
    except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: names that are not UTF-8
        reason = printable(str(error).partition("\n")[0])
        raise _damaged(display_path, "E404", f"cannot be read as Parquet: {reason}") from None


def _check(file: pq.ParquetFile, schema: pa.Schema, most: int, display_path: str) -> None:
    # pandas renames or converts columns where a key of its own says so.
    if unexpected := sorted({*(file.metadata.metadata or {})} - _KEYS):
        raise _damaged(
            display_path, "E407", f"has metadata that releases do not have: {printable(repr(unexpected[0]))[:80]}"
        )
    # The stored Arrow schema, which Arrow reads, may hold such keys too, and other types for a column.
    arrow = file.schema_arrow
    inner = {key for field in arrow for leaf in (field, *field.flatten()) for key in leaf.metadata or {}}
    if unexpected := sorted({*(arrow.metadata or {})} - _KEYS | inner):
        message = f"has metadata in its Arrow schema that releases do not have: {printable(repr(unexpected[0]))[:80]}"
        raise _damaged(display_path, "E407", message)
    if loose(arrow) != schema.remove_metadata():
        raise _damaged(display_path, "E407", "its columns do not match the config")
    if (rows := file.metadata.num_rows) > most:
        raise _damaged(display_path, "E405", f"has {rows - most} more rows than the manifest says")
    groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
    if any(group.total_byte_size > MAX_GROUP_BYTES for group in groups):
        raise _damaged(display_path, "E404", f"has a row group of more than {MAX_GROUP_BYTES >> 20} MiB")


def _check_statistics(file: pq.ParquetFile, display_path: str) -> None:
    """Raise DamagedRelease where the statistics of a file are not those of its rows, so that readers would skip rows.

    Files of the first form have the least and the greatest value of each column, and how many are null. No release has
    indexes of pages or Bloom filters, so a file with these is damaged.
    """
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        columns = [group.column(index) for index in range(group.num_columns)]
        # Reading the statistics of a column whose type is not the schema's would end the process.
        types = [file.schema.column(index).physical_type for index in range(group.num_columns)]
        if [column.physical_type for column in columns] != types:
            raise _damaged(display_path, "E407", "has a column of another type than its schema says")
        if any(c.has_column_index or getattr(c, "bloom_filter_offset", None) is not None for c in columns):
            raise _damaged(display_path, "E407", "has an index of its values, which releases do not have")
        statistics = {c.path_in_schema: _read_facts(c.statistics) for c in columns if c.is_stats_set}
        actual = _ranges(file, number) if statistics else {}
        for name, facts in statistics.items():
            ranges = actual.get(name)  # None: there is no such column
            if ranges is None or any(
                fact not in (None, actual_fact) for fact, actual_fact in zip(facts, ranges, strict=True)
            ):
                message = f"its statistics of {printable(name)} do not match its rows, so readers would skip rows"
                raise _damaged(display_path, "E407", message)


def _read_facts(statistics: Any) -> tuple[object, ...]:  # noqa: ANN401 - Arrow's statistics have no types
    """Return the least value, the greatest and the number of nulls, each None where the statistics lack it."""
    least, greatest = (statistics.min, statistics.max) if statistics.has_min_max else (None, None)
    return least, greatest, statistics.null_count if statistics.has_null_count else None


def _ranges(file: pq.ParquetFile, group: int) -> dict[str, tuple[Any, Any, int]]:
    """Return the same as `_read_facts` for each column of a group of rows, by its path in the schema."""
    ranges: dict[str, tuple[Any, Any, int]] = {}
    for batch in read_batches(file, None, ROWS_AT_ONCE, groups=[group]):
        for name, column in flat(batch.schema, batch.columns):
            if pa.types.is_struct(column.type):
                continue  # Parquet stores its parts, as columns of their own
            least, greatest = pc.min_max(column).as_py().values()
            before = ranges.get(name, (None, None, 0))
            low = [value for value in (least, before[0]) if value is not None]
            high = [value for value in (greatest, before[1]) if value is not None]
            nulls = before[2] + column.null_count
            ranges[name] = min(low, default=None), max(high, default=None), nulls
    return ranges


def _damaged(path: str, code: str, message: str) -> DamagedRelease:
    return DamagedRelease([Finding(path=path, code=code, message=message)])
