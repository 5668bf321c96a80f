"""Releases that were damaged or forged: each file is named, each difference is explained, and memory is bounded."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from senseprobe import api
from senseprobe.release.memory import memory_cap

TINY = Path(__file__).parent / "fixtures" / "releases" / "form-2"
NAME = "guess/test-00000-of-00001.parquet"
WORDS = "words/test-00000-of-00001.parquet"
GIGABYTE = 1_000_000  # in kB

# ru_maxrss would do on other systems, but a child's begins with what its parent held.
VERIFY = """
import json, re, sys
from pathlib import Path
from senseprobe import api
found = [(finding.path, finding.code, finding.message) for finding in api.verify(sys.argv[1])]
(peak,) = re.findall(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(json.dumps([found, int(peak)]))
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A release that may be damaged."""
    return Path(shutil.copytree(TINY, tmp_path / "tiny"))


def _seal(folder: Path, **changes: Any) -> None:  # noqa: ANN401 - any JSON
    """What a forger does who knows docs/content-hash.md: digests are right again, facts of `guess` changed."""
    facts = json.loads((folder / "release.json").read_bytes())
    data = (folder / NAME).read_bytes()
    facts["files"][NAME] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    facts["configs"]["guess"] |= changes
    bare = {key: value for key, value in facts.items() if key != "digest"}
    text = json.dumps(bare, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    sealed = {**bare, "digest": hashlib.sha256(text.encode()).hexdigest()}
    told = json.dumps(sealed, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    (folder / "release.json").write_text(told, encoding="utf-8")


def _found(folder: Path, rebuild: bool = False) -> list[tuple[str, str]]:
    return [(finding.path, finding.code) for finding in api.verify(str(folder), rebuild)]


def _truncate(folder: Path) -> None:
    (folder / NAME).write_bytes((folder / NAME).read_bytes()[:-1])


def _append(folder: Path) -> None:
    (folder / NAME).write_bytes((folder / NAME).read_bytes() + b"\0")


def _rename(folder: Path) -> None:
    (folder / NAME).rename(folder / "guess" / "test-00001-of-00002.parquet")


def _swap(folder: Path) -> None:
    own, other = folder / NAME, folder / WORDS
    data = own.read_bytes()
    own.write_bytes(other.read_bytes())
    other.write_bytes(data)


def _copy_over(folder: Path) -> None:
    shutil.copy(folder / "recipe" / "wordlists" / "islands.csv", folder / "recipe" / "english.csv")


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (_truncate, [(NAME, "E404")]),
        (_append, [(NAME, "E404")]),
        (_rename, [(NAME, "E402"), ("guess/test-00001-of-00002.parquet", "E403")]),
        (_swap, [(NAME, "E404"), (WORDS, "E404")]),
        (_copy_over, [("recipe/english.csv", "E404")]),
    ],
)
def test_a_damaged_file_is_named(copy: Path, damage: Callable[[Path], None], found: list[tuple[str, str]]) -> None:
    """One byte less or more, another name, the contents of another file: those files, and no others."""
    damage(copy)
    assert _found(copy) == found


def test_a_rebuild_says_which_row_a_damaged_file_has_wrong(copy: Path) -> None:
    """A file with other bytes is told first; then, from the recipe, the first row and column that differ, and how."""
    table = pq.read_table(copy / NAME, partitioning=None)
    gold = pa.array(["neutral", "neutral", "entailment", *["neutral"] * 3])
    pq.write_table(table.set_column(table.schema.get_field_index("gold"), "gold", gold), copy / NAME)
    row = table["id"][2].as_py()
    told = f"the recipe makes other rows: row {row}, column gold: 'neutral' instead of 'entailment'"
    first, second = api.verify(str(copy), rebuild=True)
    assert (first.path, first.code) == (NAME, "E404")
    assert (second.path, second.code, second.message) == ("guess", "E408", told)
    _seal(copy)
    assert _found(copy, rebuild=True) == [("guess", "E405"), ("guess", "E408")]


def test_a_rebuild_needs_a_recipe_that_is_whole(copy: Path) -> None:
    """What was changed in the recipe is told, and nothing is made from it."""
    path = copy / "recipe" / "wordlists" / "islands.csv"
    path.write_text(path.read_text().replace("Laputan", "Laputian"))
    assert _found(copy, rebuild=True) == [("recipe/wordlists/islands.csv", "E404")]


def test_levels_that_the_recipe_does_not_have_are_found(copy: Path) -> None:
    """The manifest says over how many words a result generalises; the recipe has two islands and three manners."""
    _seal(copy, levels={"island": 200, "quality": 3})
    assert _found(copy) == []
    (finding,) = api.verify(str(copy), rebuild=True)
    told = "the recipe has other levels than the manifest holds: 2 of island instead of 200"
    assert (finding.path, finding.code, finding.message) == ("guess", "E408", told)


def _verified(folder: Path) -> tuple[list[list[str]], int]:
    """What `verify` finds in a process of its own, and the most kB that it held."""
    done = subprocess.run([sys.executable, "-c", VERIFY, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found, peak = json.loads(done.stdout.splitlines()[-1])
    return found, peak


def _with_premise(path: Path, premise: Any, rows: int, **how: Any) -> None:  # noqa: ANN401 - Arrow's arrays have no types
    """Write the first row `rows` times, with another premise."""
    table = pq.read_table(path, partitioning=None).slice(0, 1)
    table = table.take([0] * rows)
    columns = [premise if name == "premise" else table[name] for name in table.column_names]
    pq.write_table(pa.table(columns, names=table.column_names), path, compression="zstd", **how)


def _one_word_in_a_dictionary(path: Path) -> int:
    """100,000 rows of one word of 4 MB: 400 GB, of which the file holds the word once."""
    word = pa.array(["x" * 4_000_000])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000, pa.int32()), word)
    _with_premise(path, column, 100_000, store_schema=False)
    return 100_000


def _what_differs_from_the_row_before(path: Path) -> int:
    """2,000 rows of 2 MB that are all the same, each written as nothing more than the one before: 4 GB."""
    table = pq.read_table(path, partitioning=None).slice(0, 1)
    place = table.schema.get_field_index("premise")
    part = table.set_column(place, table.schema.field("premise"), pa.array(["x" * 2_000_000])).take([0] * 50)
    coded = {"use_dictionary": False, "column_encoding": {"premise": "DELTA_BYTE_ARRAY"}, "store_schema": False}
    with pq.ParquetWriter(path, table.schema, compression="zstd", **coded) as writer:
        for _ in range(40):
            writer.write_table(part)
    return 2_000


def _long_texts(path: Path) -> int:
    """30 rows of 10 MB, less than a row group may have."""
    texts = pa.array(["x" * 10_000_000] * 30)
    _with_premise(path, texts, 30, use_dictionary=False, store_schema=False, write_statistics=False)
    return 30


BOMBS = [_one_word_in_a_dictionary, _what_differs_from_the_row_before, _long_texts]


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.__name__.strip("_"))
def test_what_unfolds_is_not_unfolded(copy: Path, bomb: Callable[[Path], int]) -> None:
    """Files of a few kB with gigabytes of rows, all counts right: one finding, and less than a gigabyte held."""
    rows = bomb(copy / NAME)
    assert (copy / NAME).stat().st_size < 100_000
    _seal(copy, rows=rows)
    found, peak = _verified(copy)
    assert found == [[NAME, "E404", "takes more than 512 MiB of memory to read"]]
    assert peak < GIGABYTE


def test_a_footer_that_claims_gigabytes_is_not_read(copy: Path) -> None:
    """The last eight bytes of a file say how long its footer is: 4 GB here, of a file that is as long (and empty)."""
    with (copy / NAME).open("r+b") as file:
        file.truncate(2**20)
        file.seek(-8, 2)
        file.write(b"\xff\xff\xff\xffPAR1")
    _seal(copy)
    told = "has a footer of 4294967295 bytes, more than 1048576"
    assert [(finding.path, finding.message) for finding in api.verify(str(copy))] == [(NAME, told)]


def test_a_footer_of_records_without_end(copy: Path) -> None:
    """A footer of a megabyte of the smallest records that Thrift has: a finding, and less than a gigabyte held."""
    # Thrift's compact form: a struct whose field 4 is a list of a million empty structs, each one byte.
    footer = b"\x49\xfc" + _varint(1_000_000) + bytes(1_000_000) + b"\0"
    (copy / NAME).write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    _seal(copy)
    found, peak = _verified(copy)
    assert [(path, code) for path, code, _ in found] == [(NAME, "E404")]
    assert peak < GIGABYTE


def _varint(number: int) -> bytes:
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])


def test_the_cap_is_lifted_afterwards() -> None:
    """What a block may not have, the process may have again after it, also where the block failed."""
    with pytest.raises(MemoryError), memory_cap(2**20):
        bytearray(2**28)
    assert len(bytearray(2**28)) == 2**28
