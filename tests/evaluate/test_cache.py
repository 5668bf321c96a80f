"""The store of scores: what was kept is found again, to the last bit, and nothing else ever is."""

import json
import math
import os
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from senseprobe.evaluate import cache as module
from senseprobe.evaluate.cache import Store
from senseprobe.evaluate.scorers import Scorer, get
from senseprobe.evaluate.units import Unit
from senseprobe.project import cache_folder

IDENTITY = {"weights": "w" * 64, "config": "c" * 64, "tokenizer": "t" * 64, "dtype": "float32"}
Numbers = Mapping[Unit, tuple[float, ...]]


def scorer(id_: str = "aul", version: int = 1, columns: tuple[str, ...] = ("score",)) -> Scorer:
    """A scorer that is never run."""
    return replace(get("aul"), id=id_, version=version, columns=columns)


def opened(folder: Path, said: list[str] | None = None, using: Scorer | None = None, **other: str) -> Store:
    """A store in `folder` that says nothing, or says it into `said`."""
    told = [] if said is None else said
    return Store({**IDENTITY, **other}, using or scorer(), told.append, folder)


def bits(numbers: Numbers) -> dict[Unit, bytes]:
    """Numbers as bytes: NaN equals itself, and -0.0 is not 0.0."""
    return {unit: struct.pack(f"<{len(values)}d", *values) for unit, values in numbers.items()}


UNITS = st.builds(Unit, st.text(), st.text(), st.integers(-1, 99), st.integers(-1, 99))
FLOATS = st.floats() | st.just(math.nan)


@settings(max_examples=examples(100))
@given(st.lists(st.dictionaries(UNITS, st.tuples(FLOATS, FLOATS, FLOATS), max_size=6), max_size=4), st.sets(UNITS))
def test_what_was_kept_is_found(batches: list[dict[Unit, tuple[float, ...]]], others: set[Unit]) -> None:
    """Every bit of every number comes back, of the first answer for a unit, and nothing for other units."""
    first: dict[Unit, tuple[float, ...]] = {}
    for batch in batches:
        first = {**batch, **first}
    three = scorer(columns=("entailment", "neutral", "contradiction"))
    with tempfile.TemporaryDirectory() as name:
        for batch in batches:  # each in a run of its own
            with opened(Path(name), using=three) as store:
                store.add(list(batch.items()))
        with opened(Path(name), using=three) as store:
            assert bits(store.load({*first, *others})) == bits(first)
            assert store.load(others - {*first}) == {}


def test_unscored_is_known(tmp_path: Path) -> None:
    """NaN, of a unit that cannot be scored, is kept: it is not asked again, and is no zero."""
    with opened(tmp_path) as store:
        store.add([(Unit("too long"), (math.nan,))])
    with opened(tmp_path) as store:
        (numbers,) = store.load([Unit("too long")]).values()
    assert math.isnan(numbers[0])


def test_units_are_told_apart(tmp_path: Path) -> None:
    """Where a sentence ends and its counterpart begins, and which part is marked, makes another unit."""
    units = [Unit("ab", "c"), Unit("a", "bc"), Unit("abc"), Unit("", "abc"), Unit("abc", "", 1, 2), Unit("abc", "", 12)]
    with opened(tmp_path) as store:
        store.add([(unit, (float(number),)) for number, unit in enumerate(units)])
        assert store.load(units) == {unit: (float(number),) for number, unit in enumerate(units)}


CHANGED: dict[str, Callable[[Path], Store]] = {
    "weights": lambda folder: opened(folder, weights="other"),
    "config": lambda folder: opened(folder, config="other"),
    "tokenizer": lambda folder: opened(folder, tokenizer="other"),
    "dtype": lambda folder: opened(folder, dtype="bfloat16"),
    "scorer": lambda folder: opened(folder, using=scorer("pll")),
    "version": lambda folder: opened(folder, using=scorer(version=2)),
    "columns": lambda folder: opened(folder, using=scorer(columns=("other",))),
}


@pytest.mark.parametrize("change", CHANGED)
def test_another_key_is_no_hit(change: str, tmp_path: Path) -> None:
    """With other weights, config, tokenizer, number format or definition, nothing is known; and both are kept."""
    unit = Unit("People are kind.")
    with opened(tmp_path) as store:
        store.add([(unit, (-1.0,))])
    with CHANGED[change](tmp_path) as store:
        assert store.load([unit]) == {}
        store.add([(unit, (-2.0,))])
    with opened(tmp_path) as first, CHANGED[change](tmp_path) as second:
        assert (first.load([unit]), second.load([unit])) == ({unit: (-1.0,)}, {unit: (-2.0,)})


def test_revision_is_no_key(tmp_path: Path) -> None:
    """The same weights under another commit are the same weights."""
    with opened(tmp_path, revision="a" * 40) as store:
        store.add([(Unit("a"), (-1.0,))])
    with opened(tmp_path, revision="b" * 40) as store:
        assert store.load([Unit("a")]) == {Unit("a"): (-1.0,)}


# --- files that are not as they were written ------------------------------------------------------------------------

KEPT = {Unit(f"sentence {number}"): (-number / 7,) for number in range(200)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one file of a store with 200 numbers, closed."""
    folder = tmp_path_factory.mktemp("scores")
    with opened(folder) as store:
        for start in range(0, 200, 20):
            store.add(list(KEPT.items())[start : start + 20])
    (file,) = folder.iterdir()
    return file


def read(name: str, content: bytes) -> tuple[Numbers, list[str], list[str]]:
    """What a store finds in a file of this content, what it says, and what lies there afterwards.

    It has to be of use then: what is kept is found.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(content)
        said: list[str] = []
        with opened(Path(folder), said) as store:
            found = store.load(KEPT)
            store.add([(Unit("new"), (-0.5,))])
        with opened(Path(folder), said) as store:
            assert store.load([Unit("new")]) == {Unit("new"): (-0.5,)}, said
        return found, said, sorted(path.name for path in Path(folder).iterdir())


def test_whole_file(whole: Path) -> None:
    """A file as it was written gives all its numbers, and nothing is said."""
    assert read(whole.name, whole.read_bytes()) == (KEPT, [], [whole.name])


@settings(max_examples=examples(150))
@given(data=st.data())
def test_flipped_bits(whole: Path, data: st.DataObject) -> None:
    """Whatever bits are flipped, no number comes out that was not put in; what is not whole is set aside, and told."""
    content = bytearray(whole.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4)):
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    _check_flipped(whole, content)


def test_flipped_header(whole: Path) -> None:
    """Byte 18 says which versions may write the file: a higher one makes it read-only."""
    for place in range(100):
        content = bytearray(whole.read_bytes())
        content[place] ^= 4
        _check_flipped(whole, content)


def _check_flipped(whole: Path, content: bytearray) -> None:
    found, said, left = read(whole.name, bytes(content))
    assert found.items() <= KEPT.items()
    assert len(said) <= 1
    if said:
        assert "are not used: the file" in said[0]
        assert left == [whole.name, f"{whole.name}.aside-1"]


@settings(max_examples=examples(40))
@given(st.data())
def test_cut_off(whole: Path, data: st.DataObject) -> None:
    """A file that was cut off, or has something after its end, gives no wrong number."""
    content = whole.read_bytes()
    cut = content[: data.draw(st.integers(0, len(content)))] + data.draw(st.binary(max_size=5000))
    found, _, _ = read(whole.name, cut)
    assert found.items() <= KEPT.items()


def _database(*statements: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        db = sqlite3.connect(Path(folder) / "db")
        for statement in statements:
            db.execute(statement)
        db.commit()
        db.close()
        return (Path(folder) / "db").read_bytes()


FOREIGN = {
    "text": b"scores, scores, scores",
    "another program's database": _database("CREATE TABLE bookmarks (url TEXT)"),
    "the same tables without a key": _database(
        "CREATE TABLE key (text TEXT)", "CREATE TABLE scores (number, unit, numbers, checksum)"
    ),
    "the same tables with other columns": _database("CREATE TABLE key (name TEXT)", "CREATE TABLE scores (a, b)"),
    "a view in the place of a table": _database(
        "CREATE TABLE key (text TEXT)", "CREATE VIEW scores AS SELECT 1 AS number, 2 AS unit"
    ),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_foreign_file(case: str, whole: Path) -> None:
    """What somebody else put there is set aside as it is, and told."""
    found, said, left = read(whole.name, FOREIGN[case])
    assert found == {}
    assert len(said) == 1
    assert f"renamed to {whole.name}.aside-1" in said[0]
    assert left == [whole.name, f"{whole.name}.aside-1"]


def test_store_under_another_name(whole: Path, tmp_path: Path) -> None:
    """The store of one model in the place of another's: the name is not believed, and neither are its rows."""
    with opened(tmp_path, weights="other") as other:
        other.add([(unit, (-9.0,)) for unit in KEPT])
    (file,) = tmp_path.iterdir()
    found, said, _ = read(whole.name, file.read_bytes())
    assert found == {}
    assert "belongs to other weights or another scorer" in said[0]


def test_rows_of_another_store(whole: Path, tmp_path: Path) -> None:
    """Rows that were copied from another model's store into this one are no hit either."""
    with opened(tmp_path, weights="other") as other:
        other.add([(unit, (-9.0,)) for unit in KEPT])
    (theirs,) = tmp_path.iterdir()
    ours = tmp_path / "ours"
    ours.write_bytes(whole.read_bytes())
    db = sqlite3.connect(ours)
    db.execute("ATTACH ? AS other", (str(theirs),))
    db.execute("DELETE FROM scores")
    db.execute("INSERT INTO scores SELECT * FROM other.scores")
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    found, said, _ = read(whole.name, ours.read_bytes())
    assert found == {}
    assert "is damaged" in said[0]


def test_set_aside_twice(tmp_path: Path, whole: Path) -> None:
    """A file that was set aside before stays where it is."""
    for number in (1, 2):
        (tmp_path / whole.name).write_bytes(f"damage {number}".encode() * 100)
        with opened(tmp_path):
            pass
    names = [f"{whole.name}.aside-{number}" for number in (1, 2)]
    assert [(tmp_path / name).read_bytes()[:8] for name in names] == [b"damage 1", b"damage 2"]


# --- a store that cannot be used ------------------------------------------------------------------------------------


def test_folder_that_cannot_be(tmp_path: Path) -> None:
    """Where the cache cannot be a folder, this is said once, and all goes on without it."""
    (tmp_path / "file").touch()
    said: list[str] = []
    with opened(tmp_path / "file" / "scores", said) as store:
        store.add([(Unit("a"), (-1.0,))])
        assert store.load([Unit("a")]) == {}
        store.add([(Unit("b"), (-1.0,))])
    assert said == ["scores cannot be stored for the next run: Not a directory"]


def test_folder_in_the_place_of_the_file(tmp_path: Path, whole: Path) -> None:
    """The same where the file's name is taken by a folder."""
    (tmp_path / whole.name).mkdir()
    said: list[str] = []
    with opened(tmp_path, said) as store:
        store.add([(Unit("a"), (-1.0,))])
        assert store.load([Unit("a")]) == {}
    assert [message.partition(":")[0] for message in said] == ["scores cannot be stored for the next run"]


def test_full_disk(tmp_path: Path) -> None:
    """Where no more can be written, what is there stays and is found; the rest goes on without."""
    said: list[str] = []
    with opened(tmp_path, said) as store:
        store.add(list(KEPT.items()))
        assert store._db is not None
        store._db.execute("PRAGMA max_page_count=1")  # SQLite's own way to have a full disk
        for number in range(1000):
            store.add([(Unit(f"more {number}"), (-1.0,))])
    assert said == ["scores cannot be stored for the next run: database or disk is full"]
    with opened(tmp_path, said) as store:
        assert store.load(KEPT) == KEPT
    assert len(said) == 1


def test_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that writes without end makes others go on without, after a while."""
    monkeypatch.setattr(module, "WAIT", 0.05)
    said: list[str] = []
    with opened(tmp_path) as first, opened(tmp_path, said) as second:
        assert first._db is not None
        first._db.execute("BEGIN IMMEDIATE")
        second.add([(Unit("a"), (-1.0,))])
        first._db.rollback()
    assert said == ["scores cannot be stored for the next run: database is locked"]


def test_the_folder_of_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In `$XDG_CACHE_HOME`, where that is an absolute path (the XDG specification ignores others), else in ~/.cache."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for value, expected in (("", "home/.cache"), ("cache", "home/.cache"), (str(tmp_path / "xdg"), "xdg")):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert cache_folder("scores") == tmp_path / expected / "senseprobe" / "scores"


# --- several processes ----------------------------------------------------------------------------------------------

WRITER = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_cache import opened
from senseprobe.evaluate.units import Unit

folder, name, count, said = Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), []
print("ready", flush=True)
sys.stdin.readline()
with opened(folder, said) as store:
    for start in range(0, count, 10):
        numbers = range(start, start + 10)
        own = [(Unit(f"{name} {i}"), (-i / 3,)) for i in numbers]
        store.add(own + [(Unit(f"both {i}"), (-i / 7,)) for i in numbers])
        print(start + 10, flush=True)
print(json.dumps(said))
"""


def writer(folder: Path, name: str, count: int) -> "subprocess.Popen[str]":
    """A process that waits for a line, and then keeps `count` numbers of its own and as many that both keep."""
    words = [sys.executable, "-c", WRITER, str(Path(__file__).parent), str(folder), name, str(count)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def begin(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.slow
# Takes long: two processes that import pandas.
def test_two_processes_at_once(tmp_path: Path) -> None:
    """Two that begin at the same moment, with no file there yet, keep everything that either found."""
    processes = [writer(tmp_path, name, 500) for name in ("one", "two")]
    for process in processes:
        begin(process)
    for process in processes:
        out, _ = process.communicate(timeout=60)
        assert (process.returncode, json.loads(out.splitlines()[-1])) == (0, [])
    expected = {Unit(f"{name} {i}"): (-i / 3,) for name in ("one", "two") for i in range(500)}
    expected |= {Unit(f"both {i}"): (-i / 7,) for i in range(500)}
    said: list[str] = []
    with opened(tmp_path, said) as store:
        assert store.load(expected) == expected
    assert said == []


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_killed(seed: int, tmp_path: Path) -> None:
    """After SIGKILL at any moment every batch that was kept is there, whole, and no half of one."""
    wanted = random.Random(seed).randrange(10, 2000, 10)  # noqa: S311 - a moment, no secret
    with writer(tmp_path, "one", 20_000) as process:
        begin(process)
        assert process.stdout is not None
        next(line for line in process.stdout if int(line) >= wanted)
        process.kill()
        last = max(wanted, *map(int, process.stdout.read().split("\n")[:-1]), 0)
    units = [Unit(f"one {i}") for i in range(20_000)]
    said: list[str] = []
    with opened(tmp_path, said) as store:
        found = store.load(units)
    assert said == []
    # What it printed was committed; the batch after that may have been, if it died before it could print.
    assert len(found) in {last, last + 10}
    assert found == {unit: (-i / 3,) for i, unit in enumerate(units[: len(found)])}


def test_nothing_of_the_texts(tmp_path: Path) -> None:
    """The file has no sentence in it: whose release is not to be shared can share the machine."""
    with opened(tmp_path) as store:
        store.add([(Unit("a secret sentence", "and another one"), (-1.0,))])
    (file,) = tmp_path.iterdir()
    assert b"secret" not in file.read_bytes()
    assert os.listdir(tmp_path) == [file.name]  # noqa: PTH208 - neither log nor lock is left
