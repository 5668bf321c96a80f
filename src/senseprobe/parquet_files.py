"""Parquet of strangers, read within bounds: a small file can be made to unfold into more memory than there is."""

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from senseprobe.tables import UnreadableError, memory_cap

MAX_FOOTER_BYTES = 2**20
"""A footer has some 2 kB for each row group. It unfolds into Python objects when a file is opened."""

MAX_MEMORY = 2**29
"""Bytes that a part of a file may take beside those that the process has, however small the file is."""


@contextmanager
def _capped_pool(more: int) -> Iterator[None]:
    """Cap the memory for Arrow, too, whose own allocator has a gigabyte in reserve that no limit counts again."""
    with memory_cap(more):
        pool = pa.default_memory_pool()
        pa.set_memory_pool(pa.system_memory_pool())
        try:
            yield
        finally:
            pa.set_memory_pool(pool)


def bounded_parquet(
    source: Path | bytes, memory: int = MAX_MEMORY, footer: int | None = None, buffer: int = 0
) -> pq.ParquetFile:
    """Open a Parquet file, or its bytes, with at most `memory` further bytes and a footer of `footer` at most.

    That is MAX_FOOTER_BYTES by default. With a `buffer`, so many bytes of a column are read at once, without one all
    of a row group's. Raises ValueError, OSError, ArrowException and MemoryError.
    """
    most = MAX_FOOTER_BYTES if footer is None else footer
    file = pa.BufferReader(source) if isinstance(source, bytes) else pa.OSFile(os.fsencode(source))
    file.seek(max(file.size() - 8, 0))
    if (footer_size := int.from_bytes(file.read(4), "little")) > most:
        raise UnreadableError(f"it has a footer of {footer_size} bytes, more than {most}")
    file.seek(0)
    limits = {"thrift_string_size_limit": most, "thrift_container_size_limit": most // 100}
    with _capped_pool(memory):
        return pq.ParquetFile(file, pre_buffer=False, buffer_size=buffer, **limits)


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with every dictionary written out, and columns that may hold nulls."""
    columns = [column.cast(plain_type(column.type)) for column in batch.columns]
    return pa.record_batch(columns, names=batch.schema.names)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column as `plain` has it."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(child.name, child.type) for child in kind])
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def read_batches(
    file: pq.ParquetFile,
    columns: Sequence[str] | None,
    rows: int,
    most: float = math.inf,
    memory: int = MAX_MEMORY,
    *,
    groups: Sequence[int] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the columns as `plain` in batches of `rows`, each with at most `memory` further bytes.

    All columns by default, of all `groups` of rows. Raises UnreadableError where all batches together unfold into more
    than `most` bytes, MemoryError, and what Arrow raises.
    """
    names = None if columns is None else [*columns]
    batches = file.iter_batches(rows, row_groups=groups, columns=names, use_threads=False)  # threads need memory, too
    size = 0
    while True:
        with _capped_pool(memory):
            if (batch := next(batches, None)) is None:
                return
            batch.validate(full=True)  # a column of text may hold bytes that are not UTF-8
            batch = plain(batch)
        if (size := size + batch.nbytes) > most:
            raise UnreadableError(f"holds more than {int(most) >> 20} MiB")
        yield batch if names is None else batch.select(names)
