"""How rows lie in Parquet: small files, small dictionaries, ids that share their beginnings."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from senseprobe.release.schema import plain

__all__ = ["ROWS_PER_FILE", "ROWS_PER_GROUP", "file_names", "write_rows"]

ROWS_PER_GROUP = 65_536
ROWS_PER_FILE = 4 * ROWS_PER_GROUP

Rows = Iterator[pa.RecordBatch]


def file_names(size: int) -> list[str]:
    """The names of the files of a config with so many rows, in the order of its rows."""
    files = -(-size // ROWS_PER_FILE)
    return [f"test-{number:05d}-of-{files:05d}.parquet" for number in range(files)]


def write_rows(
    folder: Path, schema: pa.Schema, size: int, rows: Rows, told: Callable[[pa.RecordBatch], None] | None = None
) -> None:
    """Write the `size` rows of a config as files of ROWS_PER_FILE; `told` hears of each group that was written."""
    folder.mkdir()
    groups = _groups(rows)
    for name in file_names(size):
        with _writer(folder / name, schema) as writer:
            writer.add_key_value_metadata(schema.metadata)  # which goes with the schema that is not stored
            for group in islice(groups, ROWS_PER_FILE // ROWS_PER_GROUP):
                writer.write_batch(_coded(group, schema))
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


def _groups(batches: Rows) -> Rows:
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


def _joined(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    """One batch of several, each of which has dictionaries of its own."""
    return parts[0] if len(parts) == 1 else pa.concat_batches([plain(part) for part in parts])
