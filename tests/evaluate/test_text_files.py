"""Texts of each format, read by hand-made files; damaged ones are one message."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.text_files import read_documents, read_lines, split_sentences


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
