"""The three identities of a release: bytes of files, logical rows, recipe. docs/content-hash.md specifies them.

`memory_bytes` counts how many bytes rows take in memory, which the card states.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.errors import ReleaseError
from senseprobe.records import Finding

ROWS_AT_ONCE = 32_768
"""The rows that are hashed together: their texts are written out, which must not take much memory."""


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes, as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def combine(digests: Mapping[str, str]) -> str:
    """Return one digest of named digests: sha256 over lines ``name NUL digest LF``, sorted by the bytes of the name.

    >>> combine({"a": "1", "b": "2"}) == combine({"b": "2", "a": "1"})
    True
    """
    lines = sorted(f"{name}\0{digest}\n".encode() for name, digest in digests.items())
    return hashlib.sha256(b"".join(lines)).hexdigest()


def text_type(kind: pa.DataType) -> str:
    """Return the name of a column's type in the content hash; raise TypeError for a type that rows do not have."""
    if pa.types.is_dictionary(kind):
        return text_type(kind.value_type)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "string"
    if pa.types.is_boolean(kind):
        return "bool"
    if pa.types.is_int32(kind):
        return "int32"
    raise TypeError(f"rows have no columns of type {kind}")


class ContentHash:
    """A hash of logical rows in order, which no writer, compression, chunking or dictionary can change.

    Feed it batches; each column, and each field of a struct, is three streams (validity, lengths, bytes), each hashed
    on its own.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._rows = 0
        self._columns = {path: (kind, tuple(hashlib.sha256() for _ in range(3))) for path, kind in _leaves(schema)}

    def update(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch, in order; ReleaseError where its columns are not those of the schema."""
        if dict(_leaves(batch.schema)) != {path: kind for path, (kind, _) in self._columns.items()}:
            raise ReleaseError("the rows have other columns than their design")
        self._rows += batch.num_rows
        for start in range(0, batch.num_rows, ROWS_AT_ONCE):
            for path, array in flat(batch.schema, batch.slice(start, ROWS_AT_ONCE).columns):
                kind, streams = self._columns[path]
                for stream, data in zip(streams, _streams(array, kind), strict=True):
                    stream.update(data)

    def hexdigest(self) -> str:
        """Return the content hash, as 64 hexadecimal digits."""
        columns = [[p, kind, *(s.hexdigest() for s in streams)] for p, (kind, streams) in self._columns.items()]
        facts: dict[str, Any] = {"columns": columns, "rows": self._rows}
        text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def _leaves(fields: Iterable[pa.Field], prefix: str = "") -> Iterator[tuple[str, str]]:
    for field in fields:
        path = f"{prefix}{field.name}"
        if pa.types.is_struct(field.type):
            yield path, "struct"
            yield from _leaves(field.type, f"{path}.")
        else:
            yield path, text_type(field.type)


def flat(fields: Iterable[pa.Field], arrays: Iterable[pa.Array], prefix: str = "") -> Iterator[tuple[str, pa.Array]]:
    """Yield each column by its path, a struct before its fields."""
    for field, array in zip(fields, arrays, strict=True):
        path = f"{prefix}{field.name}"
        yield path, array
        if pa.types.is_struct(field.type):
            # flatten() gives children that are null where their parent is.
            yield from flat(field.type, array.flatten(), f"{path}.")


def _streams(array: pa.Array, kind: str) -> tuple[bytes, bytes, bytes]:
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    validity = pc.is_valid(array).cast(pa.uint8()).to_numpy(zero_copy_only=False).tobytes()
    if kind == "struct":
        return validity, b"", b""
    if kind == "string":
        filled = pc.fill_null(array, "").cast(pa.large_string())
        lengths = pc.binary_length(filled).cast(pa.int32()).to_numpy().astype("<i4").tobytes()
        _, offsets, data = filled.buffers()
        if data is None:
            return validity, lengths, b""
        bounds = np.frombuffer(offsets, dtype=np.int64)[filled.offset : filled.offset + len(filled) + 1]
        return validity, lengths, bytes(memoryview(data)[bounds[0] : bounds[-1]])
    numbers = pc.fill_null(array, 0 if kind == "int32" else False).cast(pa.int32())
    return validity, b"", numbers.to_numpy(zero_copy_only=False).astype("<i4").tobytes()


def memory_bytes(batch: pa.RecordBatch) -> int:
    """Return the bytes of a batch's values in Arrow, without padding: 4 for the offset of a text, 1 for a flag.

    Dictionaries count as written out, so that the sum over batches does not depend on where the rows are cut.
    """
    return sum(_array_bytes(column) for column in batch.columns)


def _array_bytes(array: pa.Array) -> int:
    if pa.types.is_struct(array.type):
        return sum(_array_bytes(child) for child in array.flatten())
    if pa.types.is_boolean(array.type):
        return len(array)
    if pa.types.is_integer(array.type):
        return 4 * len(array)
    is_coded = pa.types.is_dictionary(array.type)
    lengths = pc.binary_length(array.dictionary if is_coded else array).cast(pa.int64())
    total = pc.sum(pc.take(lengths, array.indices) if is_coded else lengths).as_py()
    return 4 * len(array) + int(total or 0)


def file_finding(folder: Path, name: str, size: int, sha256: str) -> Finding | None:
    """Return a finding where a file is missing, not a plain file, or not of this size and sha256; else None."""
    path = folder / name
    # A link on the way would lead out of the folder.
    below = [path, *path.parents][: name.count("/") + 1]
    if any(parent.is_symlink() for parent in below) or not path.is_file():
        message = "is not a plain file" if path.exists() or path.is_symlink() else "is missing"
        return Finding(path=name, code="E402", message=message)
    try:
        if (actual := path.stat().st_size) != size:
            message = f"has {actual} bytes, the manifest says {size}"
        elif file_sha256(path) != sha256:
            message = "differs from the frozen file (sha256)"
        else:
            return None
    except OSError as error:
        message = f"cannot be read ({error.strerror})"
    return Finding(path=name, code="E404", message=message)
