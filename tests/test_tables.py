"""The readers of strangers' files: what they read by hand-made files, and what hostile ones may cost."""

import json
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
    read_json,
    read_json_lines,
    split_lines,
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
