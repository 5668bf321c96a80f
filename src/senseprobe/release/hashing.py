"""The three identities of a release: bytes of files, logical rows, recipe. docs/content-hash.md specifies them.

`memory_bytes` counts how many bytes rows take in memory, which the card states.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from senseprobe.errors import ReleaseError
from senseprobe.records import Finding

ROWS_AT_ONCE = 32_768
"""The rows that are hashed together: their texts are written out, which must not take much memory."""

LEAF_ROWS = 262_144
"""The most rows of a leaf of the content hash: those of a full file before verdicts."""

FIRST_ROWS = 4_096
"""Rows among which most columns have all their texts, so that others need not be looked at."""

MAX_TEXT = 256
"""Characters of a text that is kept while a leaf is hashed."""


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes, as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_entry(path: Path) -> tuple[int, str]:
    """Return a file's size in bytes and its sha256."""
    return path.stat().st_size, file_sha256(path)


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


Buffer: TypeAlias = bytes | memoryview


class RowHash(Protocol):
    """A hash that is fed rows in order: a `ContentHash`, or a `TreeHash`."""

    def update(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch."""

    def hexdigest(self) -> str:
        """Return the content hash."""


class ContentHash:
    """A hash of logical rows in order, which no writer, compression, chunking or dictionary can change.

    Feed it batches; each column, and each field of a struct, is three streams, each hashed on its own: validity,
    lengths and bytes. Of a leaf of a tree (`of_leaf`), which is hashed whole, every text but the ids is in the streams
    once, and each row has its number there: that is a fifth of the bytes.
    """

    def __init__(self, schema: pa.Schema, *, of_leaf: bool = False) -> None:
        self._schema = schema
        self._rows = 0
        self._columns: dict[str, _Plain | _Coded] = {
            path: _Coded() if of_leaf and kind == "string" and path != "id" else _Plain(kind)
            for path, kind in _columns(schema)
        }

    def update(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch, in order; ReleaseError where its columns are not those of the schema."""
        if dict(_columns(batch.schema)) != {path: column.kind for path, column in self._columns.items()}:
            raise ReleaseError("the rows have other columns than their design")
        self._rows += batch.num_rows
        for path, array in flat(batch.schema, batch.columns):
            self._columns[path].update(array)

    def hexdigest(self) -> str:
        """Return the content hash, as 64 hexadecimal digits."""
        columns = [[path, column.kind, *column.hexdigests()] for path, column in self._columns.items()]
        return _hash_json({"columns": columns, "rows": self._rows})


def _hash_json(facts: Mapping[str, Any]) -> str:
    text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


class _Plain:
    """The streams of a column whose values are written out, row by row."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._streams = tuple(hashlib.sha256() for _ in range(3))
        self._valid = 0  # rows at the start without null: of most columns all, so that their stream is hashed once
        self._has_nulls = False

    def update(self, array: pa.Array) -> None:
        validity, *streams = self._streams
        for start in range(0, len(array), ROWS_AT_ONCE):
            part = array.slice(start, ROWS_AT_ONCE)
            if pa.types.is_dictionary(part.type):
                part = part.cast(part.type.value_type)  # its dictionary may have null, too
            for stream, data in zip(streams, _streams(part, self.kind), strict=True):
                stream.update(data)
            if part.null_count and not self._has_nulls:
                self._has_nulls = True
                for first in range(0, self._valid, ROWS_AT_ONCE):
                    validity.update(b"\1" * min(ROWS_AT_ONCE, self._valid - first))
            if self._has_nulls:
                validity.update(pc.is_valid(part).cast(pa.uint8()).to_numpy(zero_copy_only=False).data)
            else:
                self._valid += len(part)

    def hexdigests(self) -> Iterator[str]:
        validity, *streams = self._streams
        yield validity.hexdigest() if self._has_nulls else _hash_valid(self._valid)
        yield from (stream.hexdigest() for stream in streams)


@lru_cache(maxsize=16)
def _hash_valid(rows: int) -> str:
    """Return the hash of the validity of rows without null."""
    digest = hashlib.sha256()
    for first in range(0, rows, ROWS_AT_ONCE):
        digest.update(b"\1" * min(ROWS_AT_ONCE, rows - first))
    return digest.hexdigest()


class _Coded:
    """The streams of a column of texts that are numbered as they first occur, from 1; a row has its text's number."""

    kind = "string"

    def __init__(self) -> None:
        self._first: pa.Array | None = None  # the texts of the first batch: mostly it is the whole leaf
        self._numbers: dict[str | bytes, int] = {}  # of the texts of all batches, where there are several
        self._rows: list[pa.Array] = []
        self._texts = _Plain("string")
        self._count = 0

    def update(self, array: pa.Array) -> None:
        if not len(array):
            return
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        codes = coded.indices[:FIRST_ROWS].unique().drop_null()  # in the order in which they first occur
        if len(codes) < len(coded.dictionary):
            codes = coded.indices.unique().drop_null()
        texts = coded.dictionary.take(codes)
        numbers = self._number_first(texts) if self._first is None else self._number_more(texts)
        by_code = np.zeros(len(coded.dictionary), dtype=_width(self._count))
        by_code[codes.to_numpy(zero_copy_only=False)] = numbers
        if not len(by_code):
            rows = pa.nulls(len(array), pa.uint8())
        else:
            rows = pc.take(pa.array(by_code), coded.indices, boundscheck=False)
        self._rows.append(pc.fill_null(rows, 0) if rows.null_count else rows)

    def _number_first(self, texts: pa.Array) -> NDArray[np.int64]:
        coded = texts.dictionary_encode()  # a dictionary may have a text twice, and null
        self._first = coded.dictionary
        self._add(coded.dictionary)
        numbers: NDArray[np.int64] = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
        return numbers

    def _number_more(self, texts: pa.Array) -> NDArray[np.int64]:
        if self._first is not None and not self._numbers:
            self._numbers = {_key(text): at for at, text in enumerate(self._first.to_pylist(), 1)}
        numbers, found, new = self._numbers, np.zeros(len(texts), dtype=np.int64), list[bool]()
        known = len(numbers)
        for at, text in enumerate(texts.to_pylist()):
            if text is not None:
                found[at] = numbers.setdefault(_key(text), len(numbers) + 1)
            new.append(len(numbers) > known)
            known = len(numbers)
        self._add(texts.filter(pa.array(new, pa.bool_())))
        return found

    def _add(self, texts: pa.Array) -> None:
        self._texts.update(texts)
        self._count += len(texts)

    def hexdigests(self) -> Iterator[str]:
        rows, width = hashlib.sha256(), _width(self._count)
        for numbers in self._rows:
            rows.update(numbers.to_numpy(zero_copy_only=False).astype(width, copy=False).data)
        _, *streams = self._texts.hexdigests()
        return iter([rows.hexdigest(), *streams])


def _width(texts: int) -> str:
    """Return the type of the numbers of so many texts."""
    return "<u1" if texts < 2**8 else "<u2" if texts < 2**16 else "<u4"


def _key(text: str) -> str | bytes:
    """Return what stands for a text in memory: a long one by its hash, since a stranger's may be of any length."""
    return text if len(text) <= MAX_TEXT else hashlib.sha256(text.encode()).digest()


# --- trees -----------------------------------------------------------------------------------------------------------


class Leaf(NamedTuple):
    """A range of a config's rows: how many it has, and their hash."""

    rows: int
    content: str


def hash_tree(leaves: Sequence[Leaf]) -> str:
    """Return the content hash of a config that is cut into leaves.

    >>> hash_tree([Leaf(2, "0a"), Leaf(1, "0b")]) == hash_tree([Leaf(1, "0a"), Leaf(2, "0b")])
    False
    """
    return _hash_json({"leaves": [[*leaf] for leaf in leaves], "rows": sum(leaf.rows for leaf in leaves)})


def hash_leaves(leaves: Sequence[Leaf], schema: pa.Schema) -> str:
    """Return the content hash of a config of its leaves: of a single one that of its rows, which is no leaf's."""
    if len(leaves) > 1:
        return hash_tree(leaves)
    return leaves[0].content if leaves else ContentHash(schema).hexdigest()


class TreeHash:
    """The content hash of rows that are cut into leaves of `counts` rows each, whatever the batches.

    Rows beyond them make another hash, and take no memory.
    """

    def __init__(self, schema: pa.Schema, counts: Sequence[int]) -> None:
        self._schema, self._counts = schema, counts
        self.leaves: list[Leaf] = []
        self._leaf, self._rows, self._beyond = ContentHash(schema, of_leaf=True), 0, 0

    def update(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch, in order; ReleaseError where its columns are not those of the schema."""
        while batch.num_rows:
            self._close()
            if len(self.leaves) == len(self._counts):
                self._beyond += batch.num_rows
                return
            part = batch.slice(0, self._counts[len(self.leaves)] - self._rows)
            self._leaf.update(part)
            self._rows += part.num_rows
            batch = batch.slice(part.num_rows)

    def _close(self) -> None:
        """Close the leaves that have all their rows."""
        while len(self.leaves) < len(self._counts) and self._rows == self._counts[len(self.leaves)]:
            self.leaves.append(Leaf(self._rows, self._leaf.hexdigest()))
            self._leaf, self._rows = ContentHash(self._schema, of_leaf=True), 0

    def hexdigest(self) -> str:
        """Return the content hash, as 64 hexadecimal digits."""
        self._close()
        rest = [Leaf(self._rows + self._beyond, self._leaf.hexdigest())] if self._rows or self._beyond else []
        return hash_tree([*self.leaves, *rest])


def _columns(fields: Iterable[pa.Field], prefix: str = "") -> Iterator[tuple[str, str]]:
    for field in fields:
        path = f"{prefix}{field.name}"
        if pa.types.is_struct(field.type):
            yield path, "struct"
            yield from _columns(field.type, f"{path}.")
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


def _streams(array: pa.Array, kind: str) -> tuple[Buffer, Buffer]:
    """Return lengths and data of a column without dictionary."""
    if kind == "struct":
        return b"", b""
    if kind == "string":
        filled = (pc.fill_null(array, "") if array.null_count else array).cast(pa.large_string())
        _, offsets, data = filled.buffers()
        if data is None:
            return bytes(4 * len(array)), b""
        bounds = np.frombuffer(offsets, dtype=np.int64)[filled.offset : filled.offset + len(filled) + 1]
        return np.diff(bounds).astype("<i4").data, memoryview(data)[bounds[0] : bounds[-1]]
    filled = pc.fill_null(array, 0 if kind == "int32" else False) if array.null_count else array
    numbers = filled.cast(pa.int32())
    return b"", numbers.to_numpy(zero_copy_only=False).astype("<i4", copy=False).data


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
    lengths = pc.binary_length(array.dictionary if is_coded else array)
    total = pc.sum(pc.take(lengths, array.indices, boundscheck=False) if is_coded else lengths).as_py()
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
