"""Releases that were damaged or forged: each file is named, each difference is explained, and memory is bounded."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from senseprobe import api
from senseprobe.errors import ReleaseError
from senseprobe.release.hashing import combine
from senseprobe.release.manifest import Manifest
from senseprobe.tables import memory_cap

TINY = Path(__file__).parents[1] / "fixtures" / "releases" / "form-2"
NAME = "guess/test-00000-of-00001.parquet"
WORDS = "words/test-00000-of-00001.parquet"
GIGABYTE = 1_000_000  # in kB

# ru_maxrss would do on other systems, but a child's begins with what its parent held.
VERIFY = """
import json, re, sys
from pathlib import Path
from senseprobe import api
found = [
    [(finding.path, finding.code, finding.message) for finding in api.verify(folder)] for folder in sys.argv[1:]
]
(peak,) = re.findall(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(json.dumps([found, int(peak)]))
"""


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release that may be damaged. Its paths are relative, and so the same in all tests: YAML is parsed once."""
    monkeypatch.chdir(tmp_path)
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


def _findings(folder: Path, rebuild: bool = False) -> list[tuple[str, str]]:
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
    assert _findings(copy) == found


def test_a_rebuild_says_which_row_a_damaged_file_has_wrong(copy: Path) -> None:
    """A file with other bytes is told first; then, from the recipe, the first row and column that differ, and how."""
    table = pq.read_table(copy / NAME, partitioning=None)
    gold = pa.array(["neutral", "neutral", "entailment", *["neutral"] * 3])
    pq.write_table(table.set_column(table.schema.get_field_index("gold"), "gold", gold), copy / NAME)
    row = table["id"][2].as_py()
    told = f"the recipe makes different rows: row {row}, column gold: 'neutral' instead of 'entailment'"
    first, second = api.verify(str(copy), rebuild=True)
    assert (first.path, first.code) == (NAME, "E404")
    assert (second.path, second.code, second.message) == ("guess", "E408", told)
    _seal(copy)
    assert _findings(copy, rebuild=True) == [("guess", "E405"), ("guess", "E408")]


def test_a_rebuild_needs_a_recipe_that_is_whole(copy: Path) -> None:
    """What was changed in the recipe is told, and nothing is made from it."""
    path = copy / "recipe" / "wordlists" / "islands.csv"
    path.write_text(path.read_text().replace("Laputan", "Laputian"))
    assert _findings(copy, rebuild=True) == [("recipe/wordlists/islands.csv", "E404")]


def test_levels_that_the_recipe_does_not_have_are_reported(copy: Path) -> None:
    """The manifest says over how many words a result generalises; the recipe has two islands and three manners."""
    _seal(copy, levels={"island": 200, "quality": 3})
    assert _findings(copy) == []
    (finding,) = api.verify(str(copy), rebuild=True)
    message = "the levels in the recipe differ from those in the manifest: 2 of island instead of 200"
    assert (finding.path, finding.code, finding.message) == ("guess", "E408", message)


def _verified(*folders: Path) -> tuple[list[list[list[str]]], int]:
    """What `verify` finds in each, in one process of its own, and the most kB that it held."""
    done = subprocess.run([sys.executable, "-c", VERIFY, *folders], capture_output=True, text=True, check=False)
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
    """550 rows of 2 MB that are all the same, each written as nothing more than the one before: 1.1 GB."""
    table = pq.read_table(path, partitioning=None).slice(0, 1)
    index = table.schema.get_field_index("premise")
    part = table.set_column(index, table.schema.field("premise"), pa.array(["x" * 2_000_000])).take([0] * 50)
    coded = {"use_dictionary": False, "column_encoding": {"premise": "DELTA_BYTE_ARRAY"}, "store_schema": False}
    with pq.ParquetWriter(path, table.schema, compression="zstd", **coded) as writer:
        for _ in range(11):
            writer.write_table(part)
    return 550


def _long_texts(path: Path) -> int:
    """30 rows of 10 MB, less than a row group may have."""
    texts = pa.array(["x" * 10_000_000] * 30)
    _with_premise(path, texts, 30, use_dictionary=False, store_schema=False, write_statistics=False)
    return 30


# They take seconds to write, as a file must unfold to gigabytes.
BOMBS = [_one_word_in_a_dictionary, _what_differs_from_the_row_before, _long_texts]


@pytest.mark.slow
def test_what_unfolds_is_not_unfolded(tmp_path: Path) -> None:
    """Files of a few kB with gigabytes of rows, all counts right: told, and less than a gigabyte held.

    The card's size category, which the forger did not raise, is the other finding where there are more rows.
    """
    copies = []
    for bomb in BOMBS:
        copies.append(Path(shutil.copytree(TINY, tmp_path / bomb.__name__.strip("_"))))
        rows = bomb(copies[-1] / NAME)
        assert (copies[-1] / NAME).stat().st_size < 100_000
        _seal(copies[-1], rows=rows)
    each, peak = _verified(*copies)
    for copy, found in zip(copies, each, strict=True):
        assert [finding for finding in found if finding[0] != "README.md"] == [
            [NAME, "E404", "takes more than 512 MiB of memory to read"]
        ], copy.name
    assert peak < GIGABYTE


def test_a_footer_that_claims_gigabytes_is_not_read(copy: Path) -> None:
    """The last eight bytes of a file say how long its footer is: 4 GB here, of a file that is as long (and empty)."""
    with (copy / NAME).open("r+b") as file:
        file.truncate(2**20)
        file.seek(-8, 2)
        file.write(b"\xff\xff\xff\xffPAR1")
    _seal(copy)
    message = "cannot be read as Parquet: it has a footer of 4294967295 bytes, more than 1048576"
    assert [(finding.path, finding.message) for finding in api.verify(str(copy))] == [(NAME, message)]


def test_a_footer_of_records_without_end(copy: Path) -> None:
    """A footer of a megabyte of the smallest records that Thrift has: a finding, and less than a gigabyte held."""
    # Thrift's compact form: a struct whose field 4 is a list of a million empty structs, each one byte.
    footer = b"\x49\xfc" + _varint(1_000_000) + bytes(1_000_000) + b"\0"
    (copy / NAME).write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    _seal(copy)
    (found,), peak = _verified(copy)
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


def test_metadata_that_renames_columns_is_reported(copy: Path) -> None:
    """Pandas takes a column for another one where a key of its own says so; the rows themselves are as they were."""
    path = copy / NAME
    table = pq.read_table(path)
    renamed = json.dumps({"columns": [{"field_name": "premise", "name": "hypothesis"}]})
    pq.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), "pandas": renamed}), path)
    _seal(copy)
    (finding,) = api.verify(str(copy))
    assert (finding.path, finding.code) == (NAME, "E407")
    assert "b'pandas'" in finding.message


def _write(path: Path, schema: pa.Schema, **how: Any) -> None:  # noqa: ANN401 - any setting
    """Write the rows of a file again, the keys of the file as they were, beside `schema` as Arrow keeps it."""
    file = pq.ParquetFile(path)
    table, keys = file.read().replace_schema_metadata(None), file.metadata.metadata
    stored = {b"ARROW:schema": base64.b64encode(schema.serialize().to_pybytes()), **keys}
    with pq.ParquetWriter(path, table.schema, store_schema=False, compression="zstd", **how) as writer:
        writer.add_key_value_metadata(stored if schema.metadata or how.get("write_statistics") is False else keys)
        writer.write_table(table)


def test_metadata_inside_arrows_schema_is_reported(copy: Path) -> None:
    """Arrow unpacks the schema that it keeps, and pandas takes columns for others by what is in there."""
    path = copy / NAME
    schema = pq.read_schema(path).remove_metadata()
    other = {"premise": "hypothesis", "hypothesis": "premise"}
    columns = [
        {"name": other.get(n, n), "field_name": n, "pandas_type": "unicode", "numpy_type": "object", "metadata": None}
        for n in schema.names
    ]
    index = [{**columns[0], "name": None, "field_name": None}]
    facts = {"index_columns": [], "column_indexes": index, "columns": columns, "pandas_version": "2.0"}
    was = pd.read_parquet(path)["premise"][0]
    _write(path, schema.with_metadata({"pandas": json.dumps(facts)}), write_statistics=False)
    assert pd.read_parquet(path)["hypothesis"][0] == was
    _seal(copy)
    assert _findings(copy) == [(NAME, "E407")]


def test_metadata_of_a_column_is_reported(copy: Path) -> None:
    """By it Arrow makes values of other types: those of extensions."""
    path = copy / NAME
    schema = pq.read_schema(path).remove_metadata()
    _write(path, schema.set(0, schema.field(0).with_metadata({"x": "y"})), write_statistics=False)
    _seal(copy)
    assert _findings(copy) == [(NAME, "E407")]


@pytest.mark.parametrize("column", ["gold", "premise"])
def test_statistics_are_those_of_the_rows(copy: Path, column: str) -> None:
    """Readers skip the rows that a false least or greatest value rules out; true ones, as form 1 has them, may stay."""
    path = copy / NAME
    _write(path, pq.read_schema(path).remove_metadata(), write_statistics=True)
    _seal(copy)
    assert _findings(copy) == []
    value = pq.read_table(path)[column].to_pylist()[0].encode()
    data = path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = data[start:-8]
    assert value in footer
    path.write_bytes(data[:start] + footer.replace(value, b"\x01" * len(value)) + data[-8:])
    _seal(copy)
    assert _findings(copy) == [(NAME, "E407")]


def test_indexes_of_values_are_reported(copy: Path) -> None:
    """They tell readers what to skip as statistics do, page by page."""
    path = copy / NAME
    _write(path, pq.read_schema(path).remove_metadata(), write_statistics=True, write_page_index=True)
    _seal(copy)
    assert _findings(copy) == [(NAME, "E407")]


@pytest.mark.parametrize(
    "place",
    [
        ".cache/x.parquet",
        ".git/x.parquet",
        "guess/.git/x",
        "guess/.cache/test-00000-of-00001.parquet",
        ".DS_Store/a/b.parquet",
    ],
)
def test_rows_below_foreign_names_are_reported(copy: Path, place: str) -> None:
    """Queries as docs/loading.md has them would take these for rows of the release."""
    (copy / place).parent.mkdir(parents=True)
    shutil.copyfile(copy / NAME, copy / place)
    assert _findings(copy) == [(place, "E403")]


@pytest.mark.parametrize("name", [".DS_Store", "guess/.DS_Store", ".gitattributes", ".cache/huggingface/x", ".git"])
@pytest.mark.parametrize("kind", ["Parquet", "Arrow", "large", "link", "pipe"])
def test_foreign_names_hold_no_rows(copy: Path, name: str, kind: str) -> None:
    """Readers of all files of a folder look at what a file begins with, and not at its name."""
    path = copy / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "link":
        path.symlink_to(copy / NAME)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes({"Parquet": b"PAR1", "Arrow": b"ARROW1\0\0", "large": b"\0" * (2**22 + 1)}[kind])
    assert _findings(copy) == [(name, "E403")]


@pytest.mark.parametrize("name", [NAME, "restored.json", "release.json"])
@pytest.mark.parametrize("rebuild", [False, True])
def test_a_pipe_is_not_waited_for(copy: Path, name: str, rebuild: bool) -> None:
    """Nothing would ever come out of it."""
    (copy / name).unlink(missing_ok=True)
    os.mkfifo(copy / name)
    expected = {NAME: (NAME, "E402"), "restored.json": None, "release.json": ("release.json", "E401")}[name]
    assert _findings(copy, rebuild) == ([expected] if expected else [])


def test_rows_without_end_are_not_counted_out(copy: Path) -> None:
    """A note of restored files beside a manifest that claims ten million million rows: 40 million names of files."""
    (copy / "restored.json").write_text('{"files": {}}')
    _seal(copy, rows=10**13)
    (found,), peak = _verified(copy)
    assert [(path, code) for path, code, _ in found] == [("README.md", "E409"), ("guess", "E405")]
    assert peak < GIGABYTE


@pytest.mark.parametrize(
    "design", [{"kind": "foo"}, {"columns": [["x", "int32"]]}, {"estimands": None}, {"slots": "abc"}, {"roles": []}]
)
def test_a_design_of_no_rows_is_refused(copy: Path, design: dict[str, Any]) -> None:
    """It is told as damage of the manifest, and by name."""
    facts = json.loads((copy / "release.json").read_bytes())
    _seal(copy, design={**facts["configs"]["guess"]["design"], **design})
    (finding,) = api.verify(str(copy))
    assert (finding.path, finding.code) == ("release.json", "E401")
    assert "configs.guess.design" in finding.message


def _sealed(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    facts = json.loads((folder / "release.json").read_bytes())
    change(facts)
    facts.pop("digest")
    (folder / "release.json").write_bytes(Manifest.of(facts).dump())


@pytest.mark.parametrize(
    ("change", "named", "documents"),
    [
        (lambda facts: facts.update(order=facts["order"][::-1]), "order", ["README.md"]),
        (lambda facts: facts["card"].update(license="MIT"), "card, license", ["README.md"]),
        (lambda facts: facts["card"].update(equivalence={"margin": 50.0, "reason": "none"}), "card, equivalence", []),
        (lambda facts: facts["configs"]["guess"].update(description="Another."), "guess, description", []),
        (lambda facts: facts["configs"]["guess"]["expect"].update(published=7), "guess, expect", []),
    ],
)
def test_a_rebuild_holds_the_facts_against_the_recipe(
    copy: Path, change: Callable[[dict[str, Any]], None], named: str, documents: list[str]
) -> None:
    """What a model is judged by, and a release cited by, is in the recipe too; what libraries read, in the card."""
    assert api.verify(str(copy), rebuild=True) == []
    _sealed(copy, change)
    assert [each.path for each in api.verify(str(copy))] == documents
    *_, finding = api.verify(str(copy), rebuild=True)
    assert (finding.path, finding.code) == ("release.json", "E408")
    assert finding.message.endswith(f": {named}")


def test_a_config_that_was_left_out_is_reported(copy: Path) -> None:
    """By what the recipe makes."""

    def leave_out(facts: dict[str, Any]) -> None:
        facts["order"].remove("words")
        del facts["configs"]["words"], facts["files"][WORDS]
        contents = {name: each["content"] for name, each in facts["configs"].items()}
        facts["content"] = combine(contents)

    shutil.rmtree(copy / "words")
    _sealed(copy, leave_out)
    assert _findings(copy) == [("README.md", "E409")]
    findings = api.verify(str(copy), rebuild=True)
    assert findings[1].message == "lacks configs that the recipe makes: words"


def test_rows_that_are_not_here_are_rebuilt_and_hashed(copy: Path) -> None:
    """Of a release that keeps none, a rebuild still tells whether its recipe makes the rows of the content hash."""
    shutil.rmtree(copy / "guess")
    assert _findings(copy, rebuild=True) == [("guess", "E402")]

    def other(facts: dict[str, Any]) -> None:
        facts["configs"]["guess"]["content"] = "0" * 64
        facts["content"] = combine({name: each["content"] for name, each in facts["configs"].items()})

    _sealed(copy, other)
    assert ("guess", "E408") in _findings(copy, rebuild=True)


def test_the_hash_that_a_paper_cites(copy: Path) -> None:
    """Whoever forged the manifest as well is found by it alone."""
    content = api.load(str(copy)).manifest.content
    assert api.verify(str(copy), content=content) == api.verify(str(copy), content=content[:12].upper()) == []
    (finding,) = api.verify(str(copy), content="0" * 12)
    assert (finding.code, finding.message) == (
        "E405",
        f"the content hash is {content}, not 000000000000",
    )
    with pytest.raises(ReleaseError, match="not a content hash"):
        api.verify(str(copy), content="abc")
