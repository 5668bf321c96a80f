"""The readers of strangers' files: what they read by hand-made files, and what hostile ones may cost."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from tests.table_bombs import FILES, FINE

from senseprobe.tables import (
    CsvRow,
    UnreadableError,
    csv_objects,
    decode,
    read_csv,
    read_csv_file,
    read_json,
    read_json_lines,
    read_lines,
    split_lines,
    table_objects,
)

ROOT = Path(__file__).parent.parent


@cache
def _measured(kind: str) -> dict[str, tuple[int, str, int, float]]:
    """Return bytes, message, megabytes and seconds of each file of a format, which another process makes and reads."""
    command = [sys.executable, "-m", "tests.table_bombs", kind]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {name: tuple(rest) for name, *rest in map(json.loads, ran.stdout.splitlines())}


DOCUMENTS = {"json", "result", "stereoset", "answer", "sheet"}  # held as a whole, not streamed
HOSTILE = [pytest.param(kind, name, id=f"{kind}: {name}") for kind, files in FILES.items() for name in files]
LARGE = [pytest.param(kind, name, id=f"{kind}: {name}") for kind, files in FINE.items() for name in files]


# It takes longer than five seconds: files of 60 MB are made and read, by the process of the first test of a format.
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), HOSTILE)
def test_hostile_files_are_refused(kind: str, name: str) -> None:
    """One message, in 20 seconds of the processor, and with 300 MB (of one document, and ten bytes for each of its)."""
    size, message, megabytes, seconds = _measured(kind)[name]
    error, _, text = message.partition(": ")
    assert error in {"SenseprobeError", "ResultError", "AnnotationError", "ReleaseError", "UnreadableError"}
    assert "\n" not in text
    assert megabytes <= 300 + (10 * size // 10**6 if kind in DOCUMENTS else 0)
    assert seconds <= 60  # 9 at most on a busy machine, where 20 are the aim: what is quadratic takes far longer


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), LARGE)
def test_large_files_are_read(kind: str, name: str) -> None:
    """Files that are as they should be are read with no more memory than that."""
    size, message, megabytes, _ = _measured(kind)[name]
    assert message == ""
    assert megabytes <= 300 + (10 * size // 10**6 if kind in DOCUMENTS else 0)


BLOCK = 2**20  # bytes that are read at once


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"\xef\xbb\xbfa\r\nb\rc\n", ["a\r\n", "b\r", "c\n"]),
        (b"x" * (BLOCK - 1) + "é\n".encode() + b"y", ["x" * (BLOCK - 1) + "é\n", "y"]),  # é lies in two blocks
        (b"x" * (BLOCK - 1) + b"\r\ny", ["x" * (BLOCK - 1) + "\r\n", "y"]),
        (b"", []),
    ],
)
def test_lines_of_a_file(data: bytes, lines: list[str], tmp_path: Path) -> None:
    """Without a byte-order mark, also where a letter or an end of line is cut by the end of a block."""
    (tmp_path / "a").write_bytes(data)
    assert [*read_lines(tmp_path / "a")] == lines


@pytest.mark.parametrize(
    ("data", "message"),
    [
        # Latin-1's é is the byte E9, the third byte (number 2) of the file, and the last one of the second block.
        (b"a\n\xe9\n", "a:2: is not UTF-8 (byte 2): save it as UTF-8"),
        (b"\xef\xbb\xbfa\n\xe9\n", "a:2: is not UTF-8 (byte 5): save it as UTF-8"),
        (b"x\n" * BLOCK + b"\xe9", f"a:{BLOCK + 1}: is not UTF-8 (byte {2 * BLOCK}): save it as UTF-8"),
    ],
)
def test_lines_that_are_not_utf8(data: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are named with the line and the byte from 0, whatever block they are in."""
    monkeypatch.chdir(tmp_path)
    Path("a").write_bytes(data)
    for read in (lambda: [*read_lines(Path("a"))], lambda: decode(data)):
        with pytest.raises(UnreadableError) as error:
            read()
        assert error.value.at("a") == message


def test_what_is_no_file(tmp_path: Path) -> None:
    """A pipe that nobody writes to is not waited for; a folder, and what is not there, are named."""
    os.mkfifo(tmp_path / "pipe")
    for name, message in (("pipe", "is not a plain file"), (".", "is not a plain file"), ("none", "No such file")):
        with pytest.raises(UnreadableError, match=message):
            [*read_lines(tmp_path / name)]
        with pytest.raises(UnreadableError, match=message):
            read_csv_file(tmp_path / name, 100)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("b,a\n1,2\n,,\n", "3: 3 cells, expected 2"),
        ("b,a\n1,2\n\n3\n", "4: 1 cells, expected 2"),
        ("a,b,c\n1,2,3\n", [{"a": "1", "b": "2", "c": "3"}]),
        ("b,a\n1,2\n", [{"a": "2", "b": "1"}]),
        ("a,a,b\n", "1: columns are not a, b and optionally c"),
        ("a,b,d\n", "1: columns are not a, b and optionally c"),
        ("a\n", "1: columns are not a, b and optionally c"),
        ("", "1: columns are not a, b and optionally c"),
    ],
)
def test_tables_of_known_columns(text: str, found: list[dict[str, str]] | str, tmp_path: Path) -> None:
    """Columns come in any order, each once, the optional one or not; each row has a cell for each."""
    rows = [row for row in read_csv(split_lines(text)) if row.cells]
    if isinstance(found, list):
        assert [cells for _, cells in table_objects(rows, "ab", "c")] == found
        return
    with pytest.raises(UnreadableError) as error:
        [*table_objects(rows, "ab", "c")]
    assert f"{error.value.line}: {error.value}" == found


def test_a_csv_file_is_bounded(tmp_path: Path) -> None:
    """By its bytes; rows of nothing but blanks are left out."""
    (tmp_path / "a.csv").write_bytes(b"a,b\n ,\n\n1,2\n")
    assert read_csv_file(tmp_path / "a.csv", 12) == [CsvRow(1, 1, ["a", "b"]), CsvRow(4, 4, ["1", "2"])]
    with pytest.raises(UnreadableError, match="larger than"):
        read_csv_file(tmp_path / "a.csv", 11)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\n1,2\n", [(1, 1, ["a", "b"]), (2, 2, ["1", "2"])]),
        ("a;b\r\n1,5;2\r\n", [(1, 1, ["a", "b"]), (2, 2, ["1,5", "2"])]),
        ("a\tb\r1\t2", [(1, 1, ["a", "b"]), (2, 2, ["1", "2"])]),
        ("sep=;\na,x;b\n1;2\n", [(2, 2, ["a,x", "b"]), (3, 3, ["1", "2"])]),
        ('"a,x";b\n', [(1, 1, ["a,x", "b"])]),
        ('a\n"1\n2"\n\n3\n', [(1, 1, ["a"]), (2, 3, ["1\n2"]), (4, 4, []), (5, 5, ["3"])]),
        ("", []),
    ],
)
def test_rows_of_csv(text: str, rows: list[tuple[int, int, list[str]]]) -> None:
    """Delimiters, line ends, a line for spreadsheets, and the lines of each row, counted by hand."""
    assert [*read_csv(split_lines(text))] == [CsvRow(*row) for row in rows]


def test_two_columns_of_one_name_are_refused() -> None:
    """Which of them is meant, nobody knows; empty names, as spreadsheets leave them, are none."""
    assert [*csv_objects(read_csv(split_lines("a,,\n1,2,3\n")))] == [(2, {"a": "1", "": "3"})]
    with pytest.raises(UnreadableError, match="two columns are called 'text'"):
        [*csv_objects(read_csv(split_lines("text,text\n1,2\n")))]


def test_columns_of_csv() -> None:
    """A blank line is no row; a short one lacks the last column."""
    rows = read_csv(split_lines("\na,b\n1,2\n\n3\n"))
    assert [*csv_objects(rows)] == [(3, {"a": "1", "b": "2"}), (5, {"a": "3"})]


@pytest.mark.parametrize(
    ("data", "line", "why"),
    [
        (b'a,b\n"1"x,2\n', 2, "CSV"),
        (b'a\n1\n"2\n3\n', 3, "CSV"),
        (b"a\n\xff\n", 2, "UTF-8"),
        (b"\xef\xbb\xbfa\n\xe9\n", 2, "UTF-8"),
    ],
)
def test_what_is_no_csv_is_told_with_its_line(data: bytes, line: int, why: str) -> None:
    """The line on which the row begins that cannot be read."""
    with pytest.raises(UnreadableError, match=why) as caught:
        list(read_csv(split_lines(decode(data))))
    assert caught.value.line == line


def test_blocks_are_lines() -> None:
    """Wherever a text is cut into two blocks, its lines are the same; a carriage return and its line feed are one."""
    text = "a\r\nb\n\rc"
    cuts = [[*split_lines([text[:at], text[at:]])] for at in range(len(text) + 1)]
    assert cuts == [["a\r\n", "b\n", "\r", "c"]] * len(cuts)


@pytest.mark.parametrize(
    ("text", "line"),
    [('{"a": 1}\n\n{"a": }\n', 3), ("[1]\n", 1), ("{}\n" + "[" * 99_999, 2), ('{"a": ' + "9" * 9_999 + "}", 1)],
)
def test_what_is_no_object_is_told_with_its_line(text: str, line: int) -> None:
    """A value that is none, a list, depth, and a number that Python does not read."""
    with pytest.raises(UnreadableError, match="JSON") as caught:
        list(read_json_lines(split_lines(text)))
    assert caught.value.line == line


def test_a_document_with_a_mark_is_read() -> None:
    """A byte-order mark is no part of JSON; a mistake has its line."""
    assert read_json(b'\xef\xbb\xbf{"a": [1]}') == {"a": [1]}
    with pytest.raises(UnreadableError) as caught:
        read_json(b'{"a":\n1,}')
    assert caught.value.line == 2
