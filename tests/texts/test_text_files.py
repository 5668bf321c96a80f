"""Texts of each format, read by hand-made files; damaged ones are one message."""

import csv
import gzip
import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.texts.text_files import Document, read_documents, read_lines, split_sentences


@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_paragraphs_and_lines(tmp_path: Path, packing: str) -> None:
    """Two paragraphs of three lines, whatever they are packed in; a byte that is no UTF-8 is counted."""
    data = b"One.\r\nTwo.\n \nThree \xff.\n\n"
    packs: dict[str, Callable[[bytes], bytes]] = {
        "": bytes,
        ".gz": gzip.compress,
        ".zst": lambda raw: pa.compress(raw, "zstd", asbytes=True),
    }
    path = tmp_path / f"a.txt{packing}"
    path.write_bytes(packs[packing](data))
    documents = [*read_documents([str(path)])]
    assert [document.text for document in documents] == ["One.\nTwo.", "Three \ufffd."]
    assert [document.replaced for document in documents] == [1, 0]
    assert len([*read_lines([str(path)])]) == 3


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.zst"])
def test_truncated_files_are_named(tmp_path: Path, name: str) -> None:
    """A packed file that is cut off is an error that names it."""
    raw = b"hello world\n" * 9999
    data = gzip.compress(raw) if name.endswith("gz") else pa.compress(raw, "zstd", asbytes=True)
    (tmp_path / name).write_bytes(data[:-9])
    with pytest.raises(SenseprobeError, match=name):
        list(read_documents([str(tmp_path / name)]))


def test_sentences() -> None:
    """Neither initials nor titles end a sentence; a blank line does."""
    text = 'Mr. Smith met J. Jones. "Hi!" She left\n\n3 men.'
    assert [*split_sentences(text)] == ["Mr. Smith met J. Jones.", '"Hi!"', "She left", "3 men."]


ROWS = [{"id": "a", "text": "She left.\n\nHe stayed."}, {"id": "b", "text": "They, too."}]


def _write_table(folder: Path, kind: str, rows: Sequence[dict[str, str]] = ROWS) -> Path:
    path = folder / f"rows.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["id", "text"], delimiter="\t" if kind == "tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_rows_of_tables_are_documents(tmp_path: Path, kind: str) -> None:
    """A row is a document, also where its text has blank lines; the column is ``text``, or the one that is named."""
    path = str(_write_table(tmp_path, kind))
    assert [document.text for document in read_documents([path])] == [row["text"] for row in ROWS]
    assert [document.name for document in read_documents([path])] == [f"{path}:1", f"{path}:2"]
    assert [document.text for document in read_documents([path], "id")] == ["a", "b"]
    with pytest.raises(SenseprobeError, match="no text column 'body'; choose one with --column: there is id, text"):
        list(read_documents([path], "body"))


def test_folders_are_their_files_sorted(tmp_path: Path) -> None:
    """Files of all kinds, also in folders below, in order of their paths; hidden ones are left out."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.txt").write_text("two")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"text": "one"}\n'))
    (tmp_path / ".hidden").write_text("no")
    assert [document.text for document in read_documents([str(tmp_path)])] == ["one", "two"]
    (tmp_path / "none").mkdir()
    with pytest.raises(SenseprobeError, match="the folder is empty"):
        list(read_documents([str(tmp_path / "none")]))


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_concatenated_members_are_all_read(tmp_path: Path, ending: str) -> None:
    """``cat a.zst b.zst`` is one file of two frames: nothing of the second is lost."""
    parts = [f"part {number}\n\n".encode() * 200_000 for number in (1, 2)]
    pack = gzip.compress if ending == ".gz" else lambda raw: pa.compress(raw, "zstd", asbytes=True)
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(b"".join(map(pack, parts)))
    assert sum(1 for _ in read_documents([str(path)])) == 400_000


def test_progress_is_of_bytes_of_files(tmp_path: Path) -> None:
    """What is told adds up to the size of the file, of a packed one too."""
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(random.Random(0).randbytes(3_000_000).hex().encode()))  # noqa: S311 - a test
    told: list[int] = []
    list(read_documents([str(path)], progress=told.append))
    assert sum(told) == path.stat().st_size
    assert len(told) > 2


def test_damaged_files_are_messages(tmp_path: Path) -> None:
    """Cut and changed bytes of every format give documents or one message with the file's name, never another error."""
    draw = random.Random(3)  # noqa: S311 - a test
    files = [_write_table(tmp_path, kind) for kind in ("csv", "tsv", "jsonl", "parquet")]
    for name, pack in (("t.txt.gz", gzip.compress), ("t.txt.zst", lambda raw: pa.compress(raw, "zstd", asbytes=True))):
        files.append(tmp_path / name)
        files[-1].write_bytes(pack(b"She left.\n\nHe stayed.\n" * 50))
    messages: list[str] = []
    for path in files:
        whole = path.read_bytes()
        for _ in range(150):
            data = bytearray(whole[: draw.randint(0, len(whole))])
            for _ in range(draw.randint(0, 3) if data else 0):
                data[draw.randrange(len(data))] = draw.randrange(256)
            path.write_bytes(data)
            try:
                list(read_documents([str(path)]))
            except SenseprobeError as error:
                messages.append(str(error))
    assert len(messages) > 300
    assert all(message.startswith(str(tmp_path)) and message.isprintable() for message in messages)


def test_rows_before_the_first_text_do_not_decide_its_column(tmp_path: Path) -> None:
    """A first row without a text, or with a null, has another column of texts; the next has the one that is meant."""
    (tmp_path / "a.jsonl").write_text('{"id": "1"}\n{"id": "2", "text": null}\n{"id": "3", "text": "She sat."}\n')
    assert [document.text for document in read_documents([str(tmp_path / "a.jsonl")])] == ["She sat."]
    assert [d.text for d in read_documents([str(tmp_path / "a.jsonl")], "text")] == ["She sat."]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("read", [read_documents, read_lines])
def test_blank_rows_are_no_documents(
    tmp_path: Path, kind: str, read: Callable[[list[str]], Iterator[Document]]
) -> None:
    """Nor null ones: four rows with one text are one document, which keeps the number of its row."""
    rows = [
        {"id": "a", "text": ""},
        {"id": "b", "text": " \n "},
        {"id": "c", "text": "She sat."},
        {"id": "d", "text": ""},
    ]
    if kind in {"jsonl", "parquet"}:
        rows.append({"id": "e", "text": None})  # type: ignore[dict-item]
    path = _write_table(tmp_path, kind, rows)
    assert [(document.text, document.name) for document in read([str(path)])] == [("She sat.", f"{path}:3")]


def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    """A pipe without a writer would be waited for, for ever."""
    os.mkfifo(tmp_path / "pipe")
    for source in (str(tmp_path / "pipe"), os.devnull):
        with pytest.raises(SenseprobeError, match="a pipe or a device"):
            next(read_documents([source]))


def test_a_small_table_that_unfolds_is_one_message(tmp_path: Path) -> None:
    """20,000 rows of one text of a megabyte, which the file holds once: 20 GB in some 300 bytes."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), pa.array(["x" * 1_000_000]))
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": column}), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 1_000
    with pytest.raises(SenseprobeError, match=r"a\.parquet: .*MiB"):
        list(read_documents([str(path)]))


def test_a_table_of_a_spreadsheet_is_read(tmp_path: Path) -> None:
    """Its first line says what stands between cells, or the header shows it."""
    for head in ("sep=;\n", ""):
        (tmp_path / "a.csv").write_text(f"{head}id;text\n1;Yes, she left.\n")
        assert [document.text for document in read_documents([str(tmp_path / "a.csv")])] == ["Yes, she left."]


def test_parquet_with_views_of_strings_and_two_columns_of_one_name(tmp_path: Path) -> None:
    """Texts are texts in each of Arrow's forms; of two columns of one name, nobody knows which is meant."""
    pq.write_table(pa.table({"text": pa.array(["A cat.", "A dog."], pa.string_view())}), tmp_path / "view.parquet")
    assert [document.text for document in read_lines([str(tmp_path / "view.parquet")])] == ["A cat.", "A dog."]
    twice = pa.Table.from_arrays([pa.array(["A cat."]), pa.array(["A dog."])], ["text", "text"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(SenseprobeError, match="two columns are called 'text'"):
        [*read_lines([str(tmp_path / "twice.parquet")])]
