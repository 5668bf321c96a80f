"""The table of scores beside a result, read with bounds: a small file can be made to unfold into more than there is."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from senseprobe.errors import ResultError
from senseprobe.release.memory import memory_cap

__all__ = ["read_scores"]

MAX_ROWS = 2**24
MAX_FOOTER_BYTES = 2**20
MAX_PART_BYTES = 2**29
"""That a part of the table may take while it is read."""

MAX_TABLE_BYTES = 2**31
"""Two million rows have 200 MB."""

ROWS_AT_ONCE = 8_192
_TEXTS = ("config", "id")
_MAY_BE = "unrelated_score"
"""Of the third sentence that StereoSet has."""


def read_scores(path: Path, numbers: Sequence[str], signature: str) -> pd.DataFrame:
    """The columns ``config``, ``id`` and `numbers` of the table in a file, and the score of a third sentence, if any.

    ResultError where it is not the table with that signature, or holds more than a table of scores does.
    """
    try:
        with _opened(path) as file:
            _check(file, path, numbers)
            if (file.metadata.metadata or {}).get(b"signature") != signature.encode("utf-8", "surrogatepass"):
                raise ResultError(f"{path} is not the table of its result: its signature is another")
            schema = file.schema_arrow.remove_metadata()
            table: pd.DataFrame = pa.Table.from_batches(_batches(file, path), schema).to_pandas()
    except MemoryError:
        raise ResultError(f"{path} takes more memory to read than a table of scores does") from None
    except (OSError, ValueError, pa.ArrowException) as error:
        raise ResultError(f"{path} cannot be read: {str(error).partition(chr(10))[0]}") from None
    return table


def _opened(path: Path) -> pq.ParquetFile:
    if path.is_symlink() or not path.is_file():
        raise ResultError(f"{path} is no plain file")
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 8, 0))
        if int.from_bytes(file.read(4), "little") > MAX_FOOTER_BYTES:
            raise ResultError(f"{path} is no table of scores: its footer is too large")
    limits = {"thrift_string_size_limit": MAX_FOOTER_BYTES, "thrift_container_size_limit": MAX_FOOTER_BYTES // 100}
    with memory_cap(MAX_PART_BYTES):
        return pq.ParquetFile(path, pre_buffer=False, **limits)


def _check(file: pq.ParquetFile, path: Path, numbers: Sequence[str]) -> None:
    """ResultError where columns, or how many rows there are, are not those of a table of scores."""
    expected = [*_TEXTS, *numbers]
    names = [field.name for field in file.schema_arrow]
    if names != expected and names != [*expected, _MAY_BE]:
        raise ResultError(f"{path} is no table of scores: expected the columns {', '.join(expected)}")
    for field in file.schema_arrow:
        is_text = pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        if not (is_text if field.name in _TEXTS else field.type == pa.float64()):
            raise ResultError(f"{path} is no table of scores: its column {field.name} is of the kind {field.type}")
    if file.metadata.num_rows > MAX_ROWS:
        raise ResultError(f"{path} has {file.metadata.num_rows} rows, more than {MAX_ROWS}")


def _batches(file: pq.ParquetFile, path: Path) -> Iterator[pa.RecordBatch]:
    parts, size = file.iter_batches(ROWS_AT_ONCE, use_threads=False), 0
    while True:
        with memory_cap(MAX_PART_BYTES):
            batch = next(parts, None)
        if batch is None:
            return
        batch.validate(full=True)  # a column of text may hold what is no UTF-8
        size += batch.nbytes
        if size > MAX_TABLE_BYTES:
            raise ResultError(f"{path} holds more than {MAX_TABLE_BYTES >> 20} MiB")
        yield batch
