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

from senseprobe.release.hashing import (
    ContentHash,
    Leaf,
    TreeHash,
    combine,
    file_sha256,
    hash_leaves,
    hash_tree,
    text_type,
)

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


TREE_EXAMPLE: list[Row] = [
    *EXAMPLE[:2],
    {**EXAMPLE[2], "group": "naïve"},
    {**EXAMPLE[2], "id": "a.4"},
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


def _coded_streams(values: list[str | None]) -> list[bytes]:
    """Of a column of texts in a leaf: each row's number of its text, and the texts, once each."""
    texts = list(dict.fromkeys(value for value in values if value is not None))
    size = 1 if len(texts) <= 255 else 2 if len(texts) <= 65_535 else 4
    numbers = [0 if value is None else texts.index(value) + 1 for value in values]
    encoded = [text.encode("utf-8") for text in texts]
    lengths = b"".join(len(text).to_bytes(4, "little") for text in encoded)
    return [b"".join(number.to_bytes(size, "little") for number in numbers), lengths, b"".join(encoded)]


def _described_rows(
    columns: dict[str, Kind], rows: list[Row], *, leaf: bool = False
) -> list[tuple[str, str, list[bytes]]]:
    """Path, kind and streams of every column, one row and one value at a time."""
    told = []
    for name, kind in columns.items():
        values = [row[name] for row in rows]
        told.append((name, kind if isinstance(kind, str) else "struct", values))
        if isinstance(kind, dict):
            for field, inner in kind.items():
                told.append((f"{name}.{field}", inner, [None if v is None else v[field] for v in values]))
    return [
        (path, kind, _coded_streams(values) if leaf and kind == "string" and path != "id" else _streams(values, kind))
        for path, kind, values in told
    ]


def _text(columns: dict[str, Kind], rows: list[Row], *, leaf: bool = False) -> str:
    described = _described_rows(columns, rows, leaf=leaf)
    entries = [[path, kind, *(_sha256(s) for s in streams)] for path, kind, streams in described]
    return json.dumps({"columns": entries, "rows": len(rows)}, ensure_ascii=False, separators=(",", ":"))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _naive(columns: dict[str, Kind], rows: list[Row]) -> str:
    return _sha256(_text(columns, rows).encode())


def _naive_leaf(columns: dict[str, Kind], rows: list[Row]) -> str:
    return _sha256(_text(columns, rows, leaf=True).encode())


def _tree_text(leaves: list[tuple[int, str]]) -> str:
    return json.dumps({"leaves": leaves, "rows": sum(rows for rows, _ in leaves)}, separators=(",", ":"))


def _naive_tree(columns: dict[str, Kind], parts: list[list[Row]]) -> str:
    return _sha256(_tree_text([(len(part), _naive_leaf(columns, part)) for part in parts]).encode())


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


# --- trees -----------------------------------------------------------------------------------------------------------


def _leaf(batches: list[pa.RecordBatch], schema: pa.Schema) -> str:
    content = ContentHash(schema, of_leaf=True)
    for batch in batches:
        content.update(batch)
    return content.hexdigest()


def _tree(batches: list[pa.RecordBatch], schema: pa.Schema, counts: list[int]) -> str:
    content = TreeHash(schema, counts)
    for batch in batches:
        content.update(batch)
    return content.hexdigest()


@given(tables(), st.data())
def test_a_tree_is_the_documented_one_whatever_the_batches(
    table: tuple[dict[str, Kind], list[Row]], data: st.DataObject
) -> None:
    """Leaves are where the counts say, not where batches end; dictionaries and empty batches are no part of it."""
    columns, rows = table
    bounds = sorted(data.draw(st.lists(st.integers(0, len(rows)), min_size=1, max_size=3)))
    parts = [rows[a:b] for a, b in zip([0, *bounds], [*bounds, len(rows)], strict=True)]
    counts, expected = [len(part) for part in parts], _naive_tree(columns, parts)
    whole = _table(columns, rows)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    pieces = pa.concat_tables([whole.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)])
    for held in (whole, pieces, _encoded(whole), _encoded(pieces)):
        assert _tree(held.to_batches(), whole.schema, counts) == expected
    leaves = [Leaf(len(part), _leaf(_table(columns, part).to_batches(), whole.schema)) for part in parts]
    assert hash_tree(leaves) == hash_leaves(leaves, whole.schema) == expected


@given(tables(min_rows=2), st.data())
def test_rows_that_a_tree_does_not_count_change_it(
    table: tuple[dict[str, Kind], list[Row]], data: st.DataObject
) -> None:
    """A row more, a row less, another value, and another cut are other trees."""
    columns, rows = table
    cut = data.draw(st.integers(1, len(rows) - 1))
    counts, whole = [cut, len(rows) - cut], _table(columns, rows)
    expected = _tree(whole.to_batches(), whole.schema, counts)
    more = _table(columns, [*rows, rows[-1]])
    assert _tree(more.to_batches(), whole.schema, counts) != expected
    assert _tree(whole.slice(0, len(rows) - 1).to_batches(), whole.schema, counts) != expected
    assert _tree(whole.to_batches(), whole.schema, [cut - 1, len(rows) - cut + 1]) != expected
    name, at = data.draw(st.sampled_from(sorted(columns))), data.draw(st.integers(0, len(rows) - 1))
    value = data.draw(_value(columns[name]))
    assume(value != rows[at][name])
    other = _table(columns, [{**row, name: value} if n == at else row for n, row in enumerate(rows)])
    assert _tree(other.to_batches(), whole.schema, counts) != expected


@pytest.mark.parametrize("texts", [255, 256, 65_535, 65_536])
def test_the_numbers_of_texts_are_as_wide_as_they_must_be(texts: int) -> None:
    """One byte up to 255 texts, two up to 65,535, else four; long ones are kept as their hash, and are different."""
    values = [f"{'x' * 300 if number < 2 else ''}{number}" for number in range(texts)]
    size = 1 if texts == 255 else 2 if texts < 65_536 else 4
    numbers = b"".join(number.to_bytes(size, "little") for number in [*range(1, texts + 1), 1, 0])
    lengths = b"".join(len(value).to_bytes(4, "little") for value in values)
    streams = [_sha256(stream) for stream in (numbers, lengths, "".join(values).encode())]
    described = {"columns": [["word", "string", *streams]], "rows": texts + 2}
    expected = _sha256(json.dumps(described, separators=(",", ":")).encode())
    table = pa.table({"word": pa.array([*values, values[0], None])})
    for rows in (1000, 10_000, None):  # in one batch, some texts first occur after thousands of rows
        assert _leaf(table.to_batches(max_chunksize=rows), table.schema) == expected


def test_dictionaries_are_no_part_of_a_hash() -> None:
    """One that has a text twice, null, and texts that no row has: the rows are what counts, in a leaf and without."""
    rows: list[Row] = [{"id": text, "word": text} for text in ["b", None, "a", "b", None, "c"]]
    dictionary = pa.array(["a", "b", "x", None, "b", "c"])
    column = pa.DictionaryArray.from_arrays(pa.array([1, 3, 0, 4, None, 5]), dictionary)
    coded = pa.table({"id": column, "word": column})
    columns: dict[str, Kind] = {"id": "string", "word": "string"}
    for batches in (coded.to_batches(), coded.to_batches(max_chunksize=2)):
        assert _leaf(batches, coded.schema) == _naive_leaf(columns, rows)
        assert _fast(pa.Table.from_batches(batches)) == _naive(columns, rows)


def test_a_config_of_one_leaf_has_the_hash_of_its_rows() -> None:
    """So that no release of one file a config has another hash than before there were trees; without rows, too."""
    table = _table(EXAMPLE_COLUMNS, EXAMPLE)
    digest = _naive(EXAMPLE_COLUMNS, EXAMPLE)
    assert hash_leaves([Leaf(3, digest)], table.schema) == digest
    assert hash_leaves([], table.schema) == _naive(EXAMPLE_COLUMNS, [])


def test_the_worked_example_of_a_tree_is_right() -> None:
    """What the document prints of two leaves is what the naive implementation makes of them."""
    text = DOC.read_text(encoding="utf-8")
    parts = [TREE_EXAMPLE[:3], TREE_EXAMPLE[3:]]
    for path, kind, streams in _described_rows(EXAMPLE_COLUMNS, parts[0], leaf=True):
        if path == "group":
            cells = " | ".join(f"`{stream.hex(' ')}`" for stream in streams)
            assert f"| `{path}` | {kind} | {cells} |" in text
    leaves = [(len(part), _naive_leaf(EXAMPLE_COLUMNS, part)) for part in parts]
    assert _tree_text(leaves) in text.replace("\n", "")
    digest = _naive_tree(EXAMPLE_COLUMNS, parts)
    assert f"`{digest}`" in text
    table = _table(EXAMPLE_COLUMNS, TREE_EXAMPLE)
    assert _tree(table.to_batches(), table.schema, [3, 1]) == digest


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
