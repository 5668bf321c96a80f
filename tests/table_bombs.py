"""Hostile tables and documents, made and read in a process of its own, which prints what each reader took.

`python -m tests.table_bombs FORMAT` prints a line of JSON for each file: name, bytes, message, and megabytes beyond
what the process had and seconds of processor time while it was read.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

M = 10**6


def _repeated(rows: int, size: int, texts: int = 1) -> Callable[[Path], None]:
    """Return what writes a table of rows that are all the first of some long texts, which the file holds once."""

    def write(path: Path) -> None:
        words = pa.array(["x" * size] * texts)
        column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), words)
        pq.write_table(pa.table({"text": column}), path, compression="zstd", store_schema=False)

    return write


def _bytes(*parts: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(b"".join(parts))

    return write


def _keys(number: int) -> bytes:
    return ("{" + ",".join(f'"{key:x}":1' for key in range(number)) + "}").encode()


_RESULT = (
    b'{"schema":3,"signature":"","scorer":"ll","scorer_version":1,"scale":"log","model":{},"release":{},'
    b'"senseprobe":"1","libraries":{},"seed":0,"limit":null,'
)

FILES: dict[str, dict[str, Callable[[Path], None]]] = {
    "parquet": {
        "20,000 rows of 1 MB": _repeated(20_000, M),
        "a million rows of 30 kB": _repeated(M, 30_000),
        "eight million rows of 10 bytes": _repeated(8 * M, 10),
        "a dictionary of 300 MB": _repeated(100, 10 * M, 30),
        "a text of 100 MB": _repeated(3, 100 * M),
        "a footer of 4 GB": _bytes(b"PAR1", b"\xff\xff\xff\xffPAR1"),
    },
    "csv": {
        "a header of 30 MB of commas": _bytes(b"," * (30 * M), b"\n1,2\n"),
        "a header of 8 MB of cells": _bytes(b"ab," * (8 * M // 3), b"\n1,2\n"),
        "a line of 60 MB": _bytes(b"text\n", b"a" * (60 * M)),
        "a quotation mark that stays open": _bytes(b'text\n"', b"a,b\n" * (15 * M)),
        "cells with line feeds": _bytes(b"text\n", b'"a\n",' * (10 * M)),
    },
    "jsonl": {
        "a line of 60 MB": _bytes(b'{"text":"', b"a" * (60 * M), b'"}\n'),
        "empty lists": _bytes(b'{"text":[', b"[]," * 2_600_000, b"[]]}\n"),
        "keys": _bytes(*[_keys(800_000), b"\n"] * 4),
        "depth": _bytes(b"[" * 7 * M),
        "digits": _bytes(b'{"text":', b"9" * 8 * M, b"}\n"),
    },
    "result": {
        "figures": _bytes(_RESULT, b'"figures":[', b"0," * (15 * M), b"0]}"),
        "libraries": _bytes(_RESULT, b'"libraries":', _keys(3 * M // 2), b"}"),
    },
    "sheet": {
        "short rows": _bytes(b"a,b\n" * (15 * M)),
        "a line of 60 MB": _bytes(b"x" * (60 * M)),
    },
    "stereoset": {
        "numbers": _bytes(b"[", b"1," * (15 * M), b"1]"),
        "short texts": _bytes(b"[", b'"ab",' * (6 * M), b"1]"),
        "empty lists": _bytes(b"[", b"[]," * (10 * M), b"[]]"),
    },
    "crows-pairs": {
        "a header of 30 MB of commas": _bytes(b"," * (30 * M)),
        "a row of 30 MB of commas": _bytes(b"sent_more,sent_less,stereo_antistereo,bias_type\n", b"," * (30 * M)),
    },
    "answer": {"empty lists": _bytes(b"[", b"[]," * (21 * M), b"[]]")},
    "json": {
        "empty lists": _bytes(b"[", b"[]," * (21 * M), b"[]]"),
        "objects": _bytes(b"[", b'{"a":1},' * (8 * M), b"1]"),
        "short texts": _bytes(b"[", b'"ab",' * (12 * M), b"1]"),
        "depth": _bytes(b"[" * 60 * M),
        "depth of objects": _bytes(b'{"a":' * (12 * M)),
        "digits": _bytes(b"9" * 60 * M),
    },
}
"""By format, what no reader may take: files of up to 64 MB, the values of which would take gigabytes, or hours."""

FINE: dict[str, dict[str, Callable[[Path], None]]] = {
    "csv": {"60 MB of rows": _bytes(b"id,text\n", b"1,She sat on the chair.\n" * (5 * M // 2))},
    "jsonl": {"60 MB of rows": _bytes(b'{"id":1,"text":"She sat on the chair."}\n' * (3 * M // 2))},
    "json": {
        "numbers": _bytes(b"[", b"1.5," * (16 * M), b"1]"),
        "distinct keys": _bytes(_keys(5 * M)),
        "brackets in a text": _bytes(b'["', b'[]{},:\\"' * (7 * M), b'"]'),
        "a wide text": _bytes(b'["', b"a" * (60 * M), "😀".encode(), b'"]'),
    },
}
"""Large files that are as they should be."""


def _resident(field: str) -> int:
    """Return megabytes of this process by proc(5): ``VmRSS``, those now, or ``VmHWM``, the most since the reset."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition(f"{field}:")[2].split()[0]) // 1_000


def _measure(name: str, path: Path, read: Callable[[Path], object]) -> None:
    Path("/proc/self/clear_refs").write_text("5")
    before, start, message = _resident("VmRSS"), time.process_time(), ""
    try:
        read(path)
    except Exception as error:  # noqa: BLE001 - the test looks at which it is
        message = f"{type(error).__name__}: {error}"
    spent = _resident("VmHWM") - before, time.process_time() - start
    sys.stdout.write(json.dumps([name, path.stat().st_size, message, *spent]) + "\n")


def main(kind: str) -> None:
    """Make and read the files of a format."""
    from senseprobe.annotation.cells import read_cells
    from senseprobe.evaluate.result import read_result
    from senseprobe.evaluate.served import json_values
    from senseprobe.evaluate.texts.text_files import read_documents
    from senseprobe.importers.plan import read_import
    from senseprobe.tables import read_json

    def read_corpus(path: Path) -> None:
        for _ in read_documents([str(path)]):
            pass

    read: Callable[[Path], object] = {
        "json": lambda path: read_json(path.read_bytes()),
        "result": read_result,
        "sheet": read_cells,
        "answer": lambda path: json_values.read_json(path.read_bytes()),
        **dict.fromkeys(("stereoset", "crows-pairs"), lambda path: read_import(kind, [path])),
    }.get(kind, read_corpus)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a.{kind}"
        for name, write in {**FILES[kind], **FINE.get(kind, {})}.items():
            write(path)
            _measure(name, path, read)


if __name__ == "__main__":
    main(sys.argv[1])
