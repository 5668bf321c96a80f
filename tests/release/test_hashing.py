"""The content hash: a second, naive implementation of docs/content-hash.md, and what must and must not change it."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from senseprobe.release.hashing import ContentHash, combine, file_sha256, text_type

DOC = Path(__file__).parents[2] / "docs" / "content-hash.md"

Row = dict[str, Any]
Kind = str | dict[str, str]
"""A column's type in the words of the document; a struct is its fields."""

SPAN = {"start": "int32", "end": "int32"}

EXAMPLE_COLUMNS: dict[str, Kind] = {"id": "string", "group": "string", "span": SPAN, "minimal": "bool"}
EXAMPLE: list[Row] = [
    {"id": "a.1", "group": "naïve", "span": {"start": 0, "end": 5}, "minimal": True},
    {"id": "a.2", "group": "", "span": None, "minimal": False},
    {"id": "a.3", "group": None, "span": {"start": 258, "end": None}, "minimal": None},
]


def _streams(values: list[Any], kind: str) -> list[bytes]:
    validity, lengths, data = bytearray(), bytearray(), bytearray()
    for value in values:
        validity += b"\1" if value is not None else b"\0"
        if kind == "string":
            text = (value or "").encode("utf-8")
            lengths += len(text).to_bytes(4, "little", signed=True)
            data += text
        elif kind in ("bool", "int32"):
            data += int(value or 0).to_bytes(4, "little", signed=True)
    return [bytes(validity), bytes(lengths), bytes(data)]


def _described_rows(columns: dict[str, Kind], rows: list[Row]) -> list[tuple[str, str, list[bytes]]]:
    """Path, kind and streams of every column, one row and one value at a time."""
    told = []
    for name, kind in columns.items():
        values = [row[name] for row in rows]
        told.append((name, kind if isinstance(kind, str) else "struct", values))
        if isinstance(kind, dict):
            for field, inner in kind.items():
                told.append((f"{name}.{field}", inner, [None if v is None else v[field] for v in values]))
    return [(path, kind, _streams(values, kind)) for path, kind, values in told]


def _text(columns: dict[str, Kind], rows: list[Row]) -> str:
    entries = [[path, kind, *(_sha256(s) for s in streams)] for path, kind, streams in _described_rows(columns, rows)]
    return json.dumps({"columns": entries, "rows": len(rows)}, ensure_ascii=False, separators=(",", ":"))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _naive(columns: dict[str, Kind], rows: list[Row]) -> str:
    return _sha256(_text(columns, rows).encode())


def _type(kind: Kind) -> pa.DataType:
    if isinstance(kind, dict):
        return pa.struct([pa.field(name, _type(inner)) for name, inner in kind.items()])
    return {"string": pa.string(), "bool": pa.bool_(), "int32": pa.int32()}[kind]


def _table(columns: dict[str, Kind], rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, pa.schema([pa.field(name, _type(kind)) for name, kind in columns.items()]))


def _fast(table: pa.Table) -> str:
    content = ContentHash(table.schema)
    for batch in table.to_batches():
        content.update(batch)
    return content.hexdigest()


# Text is any Unicode that UTF-8 can hold, with what JSON escapes and what normal forms would change.
_text_value = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["é", "e\u0301", "\0", '"']
)
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.none() | _text_value,
    "bool": st.none() | st.booleans(),
    "int32": st.none() | st.integers(-(2**31), 2**31 - 1),
}
_NAMES = st.sampled_from(["id", "stereo", "größe", "a b", "q'\"\\", "\u2028", "x\t", "🂡"])


def _value(kind: Kind) -> st.SearchStrategy[Any]:
    if isinstance(kind, dict):
        return st.none() | st.fixed_dictionaries({name: _VALUES[inner] for name, inner in kind.items()})
    return _VALUES[kind]


_KIND: st.SearchStrategy[Kind] = st.sampled_from(["string", "bool", "int32", SPAN, {"a": "string", "b": "bool"}])


@st.composite
def tables(draw: st.DrawFn, min_rows: int = 0) -> tuple[dict[str, Kind], list[Row]]:
    """Columns of every type that rows have, and rows."""
    columns = draw(st.dictionaries(_NAMES, _KIND, min_size=1, max_size=4))
    row = st.fixed_dictionaries({name: _value(kind) for name, kind in columns.items()})
    return columns, draw(st.lists(row, min_size=min_rows, max_size=6))


@given(tables())
def test_the_fast_hash_is_the_documented_one(table: tuple[dict[str, Kind], list[Row]]) -> None:
    """Two implementations of one document agree on tables with nulls, structs and any Unicode."""
    assert _fast(_table(*table)) == _naive(*table)


@given(tables(), st.data())
def test_no_way_of_holding_the_rows_changes_it(table: tuple[dict[str, Kind], list[Row]], data: st.DataObject) -> None:
    """Chunks, empty chunks, slices of larger tables and dictionary encoding are no part of the rows."""
    columns, rows = table
    expected, whole = _naive(columns, rows), _table(columns, rows)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    pieces = [whole.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    assert _fast(pa.concat_tables(pieces)) == expected
    wider = pa.concat_tables([whole.slice(0, 1), whole, whole]).combine_chunks()
    assert _fast(wider.slice(min(1, len(rows)), len(rows))) == expected
    assert _fast(_encoded(whole)) == expected


def _encoded(table: pa.Table) -> pa.Table:
    for at, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(at, field.name, table[field.name].dictionary_encode())
    return table


@given(tables(), st.sampled_from(["none", "snappy", "zstd"]), st.integers(1, 4), st.booleans())
def test_no_writer_changes_it(
    table: tuple[dict[str, Kind], list[Row]], compression: str, group: int, dictionary: bool
) -> None:
    """Compression, row-group size, encoding and what a writer notes in the file are no part of the rows."""
    file = io.BytesIO()
    whole = _table(*table).replace_schema_metadata({"canary": "x"})
    pq.write_table(whole, file, compression=compression, row_group_size=group, use_dictionary=dictionary)
    assert _fast(pq.read_table(file)) == _naive(*table)


@given(tables(min_rows=1), st.data())
def test_any_other_value_changes_it(table: tuple[dict[str, Kind], list[Row]], data: st.DataObject) -> None:
    """One other value is another table: null and empty text differ, and so do a null struct and one of nulls."""
    columns, rows = table
    name = data.draw(st.sampled_from(sorted(columns)))
    at = data.draw(st.integers(0, len(rows) - 1))
    value = data.draw(_value(columns[name]))
    assume(value != rows[at][name])
    other = [{**row, name: value} if n == at else row for n, row in enumerate(rows)]
    assert _fast(_table(columns, other)) != _fast(_table(columns, rows))


@given(tables(min_rows=2))
def test_another_order_of_rows_or_columns_changes_it(table: tuple[dict[str, Kind], list[Row]]) -> None:
    """Rows and columns are in order, and a row more is another table."""
    columns, rows = table
    expected = _fast(_table(columns, rows))
    for shuffled in (rows[::-1], rows[1:] + rows[:1]):
        assert (_fast(_table(columns, shuffled)) == expected) == (shuffled == rows)
    reversed_columns = dict(reversed(columns.items()))
    assert (_fast(_table(reversed_columns, rows)) == expected) == (len(columns) == 1)
    assert _fast(_table(columns, [*rows, rows[-1]])) != expected


@given(tables(), st.data())
def test_another_name_or_type_of_a_column_changes_it(
    table: tuple[dict[str, Kind], list[Row]], data: st.DataObject
) -> None:
    """The name and the type of a column are part of it, also where there are no rows."""
    columns, rows = table
    name = data.draw(st.sampled_from(sorted(columns)))
    renamed = {f"{name}2" if key == name else key: kind for key, kind in columns.items()}
    as_renamed = [{f"{name}2" if key == name else key: value for key, value in row.items()} for row in rows]
    assert _fast(_table(renamed, as_renamed)) != _fast(_table(columns, rows))
    empty = [dict.fromkeys(row) for row in rows]
    retyped = {**columns, name: "bool" if columns[name] == "int32" else "int32"}
    assert _fast(_table(retyped, empty)) != _fast(_table(columns, empty))


@given(st.text("ab", min_size=1, max_size=4), st.text("ab", max_size=4))
def test_a_character_cannot_move_between_cells(left: str, right: str) -> None:
    """Moving a character to the next row or to the next column changes the hash, though all bytes are the same."""
    moved = (left[:-1], left[-1] + right)
    down: dict[str, Kind] = {"a": "string"}
    assert _fast(_table(down, [{"a": left}, {"a": right}])) != _fast(_table(down, [{"a": text} for text in moved]))
    across: dict[str, Kind] = {"a": "string", "b": "string"}
    before, after = ({"a": pair[0], "b": pair[1]} for pair in ((left, right), moved))
    assert _fast(_table(across, [before])) != _fast(_table(across, [after]))


def test_the_worked_example_is_right() -> None:
    """Streams, JSON text and digests that the document prints are those of the naive implementation."""
    text = DOC.read_text(encoding="utf-8")
    for path, kind, streams in _described_rows(EXAMPLE_COLUMNS, EXAMPLE):
        cells = " | ".join(f"`{stream.hex(' ')}`" if stream else "\N{EN DASH}" for stream in streams)
        assert f"| `{path}` | {kind} | {cells} |" in text
    assert _text(EXAMPLE_COLUMNS, EXAMPLE) in text.replace("\n", "")
    digest = _naive(EXAMPLE_COLUMNS, EXAMPLE)
    assert f"`{digest}`" in text
    assert _fast(_table(EXAMPLE_COLUMNS, EXAMPLE)) == digest
    lines = f"noun\0{digest}\nverb\0{digest}\n".encode()
    assert f"`{_sha256(lines)}`" in text
    assert combine({"verb": digest, "noun": digest}) == _sha256(lines)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), st.text("0f")))
def test_digests_combine_by_the_bytes_of_their_names(parts: dict[str, str]) -> None:
    """The combined digest is that of the documented lines, whatever the order of the parts."""
    names = sorted(parts, key=lambda name: name.encode())
    expected = _sha256(b"".join(name.encode() + b"\0" + parts[name].encode() + b"\n" for name in names))
    assert combine(parts) == combine(dict(reversed(parts.items()))) == expected


def test_file_sha256_is_that_of_the_bytes(tmp_path: Path) -> None:
    """The example of FIPS 180-2, appendix B.1."""
    path = tmp_path / "abc"
    path.write_bytes(b"abc")
    assert file_sha256(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize("kind", [pa.float64(), pa.int64(), pa.list_(pa.string()), pa.timestamp("s")])
def test_other_types_have_no_hash(kind: pa.DataType) -> None:
    """A column of a type that no row schema has is refused, not hashed in a way that nobody specified."""
    with pytest.raises(TypeError, match="rows have no columns of type"):
        text_type(kind)
