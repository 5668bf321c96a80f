"""Releases made in parts and joined, and releases whose rows are made again."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.commands import typing

from senseprobe import api, project
from senseprobe.errors import DamagedRelease, ReleaseError, SenseprobeError
from senseprobe.release import parquet, shards

SHARDS = 4


@pytest.fixture(scope="module")
def made(small_project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sssb as one machine makes it, and its shards, each made on its own; in files of 100 rows. Not to be changed."""
    out = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(small_project)
        patch.setattr(parquet, "ROWS_PER_FILE", 100)
        api.build("sssb", "1.0.0", out / "whole")
        for shard in range(SHARDS):
            api.build_shard("sssb", "1.0.0", shard, SHARDS, out / f"machine-{shard}")
    return out


@pytest.fixture
def small_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of 100 rows, so that there are ten of them and a shard has some; paths that are the same in all tests."""
    monkeypatch.setattr(parquet, "ROWS_PER_FILE", 100)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def whole(made: Path, tmp_path: Path, small_files: None) -> Path:
    """Sssb as one machine makes it."""
    return Path(shutil.copytree(made / "whole", tmp_path / "whole")) / "sssb" / "1.0.0"


@pytest.fixture
def parts(made: Path, tmp_path: Path, small_files: None) -> list[Path]:
    """Its shards, in an order of their own."""
    order = [2, 0, 3, 1]
    machines = [Path(shutil.copytree(made / f"machine-{n}", tmp_path / f"machine-{n}")) for n in order]
    return [next(machine.glob("sssb/*")) for machine in machines]


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_shards_join_into_the_same_release(whole: Path, parts: list[Path], tmp_path: Path) -> None:
    """Every byte of it, whatever the order; and each shard holds a fair share of the files."""
    joined = api.join(parts, tmp_path / "joined")
    assert _bytes(joined.folder) == _bytes(whole)
    assert len([*whole.glob("*/*.parquet")]) == 10  # by hand: 2 + 6 + 2 files of 100 rows or less
    assert sorted(len([*part.glob("*/*.parquet")]) for part in parts) == [2, 2, 3, 3]
    assert api.verify(str(joined.folder), rebuild=True) == []


def test_build_joins_the_parts_in_folders_of_releases(
    whole: Path, parts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each is what `--out` of a part was; the old command, which names the parts, prints the same."""
    typed = typing(monkeypatch, capfd)
    folders = [word for part in parts for word in ("--join", str(part.parents[1]))]
    done = typed("build", "sssb", "1.0.0", *folders, "--out", "joined", "--json")
    assert (done.code, done.err) == (0, "")
    assert _bytes(tmp_path / "joined" / "sssb" / "1.0.0") == _bytes(whole)
    shutil.rmtree("joined")
    old = typed("join", *map(str, parts), "--out", "joined", "--json")
    assert (old.code, old.out) == (0, done.out)
    assert old.err == "`senseprobe join` is now `senseprobe build DATASET VERSION --join FOLDER`\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--join", "nowhere", "--out", "x"), "no part of sssb 1.0.1 in nowhere: .* sssb/1.0.1.shard-…"),
        (("--join", "x", "--shard", "0", "--shards", "2"), "leave out one of them"),
        (("--join", "nowhere"), "no part of sssb 1.0.1 in nowhere"),
    ],
)
def test_what_cannot_be_joined(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """One message, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    done = typing(monkeypatch, capfd)("build", "sssb", "1.0.1", *words)
    assert done.code == 2
    assert re.search(message, done.message)
    assert [*tmp_path.iterdir()] == []


def test_restoring_takes_its_own_options_alone(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Restored rows are checked, so nothing else is; where nothing is restored, nothing is written."""
    typed = typing(monkeypatch, capfd)
    for words in (("--restore", "--rebuild"), ("--restore", "--content", "0" * 12), ("--out", "x"), ("--force",)):
        done = typed("verify", "sssb@1.0.0", *words)
        assert (done.code, "--restore" in done.message) == (2, True)


def test_more_shards_than_files(small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has three files: the fourth shard is empty, and no harm is done."""
    monkeypatch.chdir(small_project)
    parts = [api.build_shard("sssb", "1.0.0", shard, 4, tmp_path) for shard in range(4)]
    assert [*parts[3].glob("*/*.parquet")] == []
    assert api.join(parts).folder == tmp_path / "sssb" / "1.0.0"
    assert api.verify(str(tmp_path / "sssb" / "1.0.0")) == []


def test_no_such_shard(tmp_path: Path) -> None:
    """Shards count from 0, and no more are begun than are joined."""
    with pytest.raises(SenseprobeError, match=r"no shard 4 of 4: .* 0 to 3"):
        api.build_shard("sssb", "1.0.0", 4, 4)
    with pytest.raises(SenseprobeError, match=r"100,001 shards .* at most 100,000"):
        api.build_shard("sssb", "1.0.0", 0, 100_001, tmp_path)


def test_a_missing_shard_is_named(parts: list[Path], tmp_path: Path) -> None:
    """And nothing is written."""
    left = [part for part in parts if "shard-00002" not in part.name]
    with pytest.raises(ReleaseError, match=r"of 4 shards.*: shard 2"):
        api.join(left, tmp_path / "joined")
    assert not (tmp_path / "joined").exists()


def test_a_shard_twice(parts: list[Path]) -> None:
    """The same shard may have been copied to two places."""
    with pytest.raises(ReleaseError, match="shard 2 was given twice"):
        api.join([*parts, parts[0]])


@pytest.mark.parametrize("what", ["flip", "cut", "add", "remove", "link"])
def test_a_damaged_shard_is_named(parts: list[Path], what: str) -> None:
    """A byte that flipped on the way, a file too many, a file too few, a link out of the folder."""
    file = sorted(parts[0].glob("*/*.parquet"))[0]
    data = file.read_bytes()
    match what:
        case "flip":
            file.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
        case "cut":
            file.write_bytes(data[:-1])
        case "add":
            (file.parent / "more.parquet").write_bytes(data)
        case "remove":
            file.unlink()
        case "link":
            file.unlink()
            file.symlink_to("/etc/passwd")
    with pytest.raises(ReleaseError, match=str(parts[0])):
        api.join(parts)


def test_shards_of_two_recipes(parts: list[Path], tmp_path: Path) -> None:
    """A template was edited between two machines: the rows would be of two minds."""
    template = parts[0] / "recipe" / "templates" / "sssb" / "race.j2"
    template.write_text(template.read_text() + "\n")
    facts = json.loads((parts[0] / "shard.json").read_text())
    with pytest.raises(ReleaseError, match="differs from the file that was written"):
        api.join(parts)
    facts["files"]["recipe/templates/sssb/race.j2"] = _entry(template)
    (parts[0] / "shard.json").write_text(json.dumps(facts))
    with pytest.raises(ReleaseError, match="was not made from its own recipe"):
        api.join(parts)
    facts["recipe"] = shards.hash_recipe({name: entry["sha256"] for name, entry in facts["files"].items()})
    (parts[0] / "shard.json").write_text(json.dumps(facts))
    with pytest.raises(ReleaseError, match="differ in release, senseprobe version or recipe"):
        api.join(parts)


@pytest.mark.parametrize(("key", "value"), [("shards", 10**11), ("senseprobe", "9.9 <img src=x>"), ("files", {})])
def test_forged_shards(parts: list[Path], key: str, value: object) -> None:
    """What a shard says of itself is of a form and a size."""
    facts = json.loads((parts[0] / "shard.json").read_text())
    (parts[0] / "shard.json").write_text(json.dumps({**facts, key: value}))
    with pytest.raises(ReleaseError, match=str(parts[0])):
        api.join(parts)


def test_shards_are_joined_from_inside_one(parts: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The release goes beside the shard, not into it."""
    first = next(part for part in parts if "shard-00000" in part.name)
    monkeypatch.chdir(first)
    assert api.join([Path(), *(part for part in parts if part != first)]).folder == first.with_name("1.0.0")


def test_shards_of_two_inflects(parts: list[Path]) -> None:
    """Two machines answered one question of English in two ways."""
    with_guesses = sorted(part for part in parts if len((part / "recipe" / "english.csv").read_text().splitlines()) > 1)
    english = with_guesses[0] / "recipe" / "english.csv"
    lines = english.read_text().splitlines()
    flipped = [line[:-1] + "an" if line.endswith(",a") else line for line in lines]
    english.write_text("\n".join(flipped) + "\n")
    facts = json.loads((with_guesses[0] / "shard.json").read_text())
    facts["files"]["recipe/english.csv"] = _entry(english)
    (with_guesses[0] / "shard.json").write_text(json.dumps(facts))
    with pytest.raises(ReleaseError, match="make the shards with one version of inflect"):
        api.join(parts)


def _entry(path: Path) -> dict[str, int | str]:
    return {"bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"shard": 1e400}', "\ud800", '{"files": {"../x": 1}}'])
def test_odd_shard_files(parts: list[Path], text: str) -> None:
    """One message, no traceback."""
    (parts[0] / "shard.json").write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(ReleaseError, match=r"shard\.json"):
        api.join(parts)


def test_rows_are_restored(whole: Path) -> None:
    """A release that keeps only manifest and recipe gets the same bytes back, here and elsewhere."""
    before = _bytes(whole)
    for folder in whole.iterdir():
        if folder.is_dir() and folder.name != "recipe":
            shutil.rmtree(folder)
    findings = api.verify(str(whole))
    assert {finding.code for finding in findings} == {"E402"}
    assert len(findings) == 3
    assert all("senseprobe verify --restore sssb@1.0.0" in finding.hint for finding in findings)
    elsewhere = api.restore(str(whole), whole.parent.parent / "elsewhere")
    assert _bytes(elsewhere.folder) == before
    assert _bytes(api.restore(str(whole)).folder) == before


WAITING = """
import sys
from senseprobe import api
def wait(rows):
    print("writing", flush=True)
    sys.stdin.readline()
api.restore(sys.argv[1], progress=wait)
"""


def test_of_two_processes_that_restore_at_once_one_says_so(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The first waits while it writes; the second ends with one message, changes nothing, and is content later."""
    whole = Path(shutil.copytree(small, tmp_path / "1.0.0"))
    before = _bytes(whole)
    for config in ("race", "noun"):
        shutil.rmtree(whole / config)
    typed = typing(monkeypatch, capfd)
    with subprocess.Popen(
        [sys.executable, "-c", WAITING, str(whole)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdin
        assert first.stdout
        assert first.stdout.readline() == "writing\n"
        there = [path.name for path in whole.iterdir()]
        second = typed("verify", "--restore", str(whole))
        assert second.code == 2
        told = f"another process is restoring sssb@1.0.0 in {whole}: wait until it ends"
        assert second.message.startswith(told)
        assert [path.name for path in whole.iterdir()] == there
        first.communicate("\n" * 1000)
    assert first.returncode == 0
    assert _bytes(whole) == before
    again = typed("verify", "--restore", str(whole))
    assert (again.code, again.err) == (0, "")
    assert _bytes(whole) == before


def test_a_folder_that_appears_while_it_is_restored_is_left_alone(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file system knows no locks: what the other process made stays, and the message says what to do."""
    shutil.rmtree(whole / "race")

    def appear(rows: int) -> None:
        (whole / "race").mkdir(exist_ok=True)
        (whole / "race" / "other").touch()

    told = rf"another process made {re.escape(str(whole / 'race'))} in the meantime: run again"
    with pytest.raises(ReleaseError, match=told):
        api.restore(str(whole), progress=appear)
    assert [path.name for path in (whole / "race").iterdir()] == ["other"]


def test_a_release_that_ships_with_us_is_restored_in_the_project(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed package is not written to; without a project, there is no place that anybody means."""
    shipped = tmp_path / "shipped" / "releases" / "sssb" / "1.0.0"
    shutil.copytree(whole, shipped, ignore=shutil.ignore_patterns("race"))
    monkeypatch.setattr(project, "built_in", lambda: project.Layer(tmp_path / "shipped"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SenseprobeError, match="not in a project"):
        api.restore("sssb@1.0.0")
    (tmp_path / "senseprobe.toml").touch()
    assert api.restore("sssb@1.0.0").folder == tmp_path / "releases" / "sssb" / "1.0.0"
    assert not (shipped / "race").exists()
    with pytest.raises(ReleaseError, match=r"the rows of race in .*: `senseprobe verify --restore sssb@1\.0\.0`"):
        api.load(str(shipped)).table("race")


def test_an_interrupted_restoration_goes_on(whole: Path) -> None:
    """Configs that are there are left alone."""
    shutil.rmtree(whole / "race")
    stamps = {path: path.stat().st_mtime_ns for path in whole.glob("*/*.parquet")}
    api.restore(str(whole))
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    assert api.verify(str(whole)) == []


def test_other_bytes_with_the_same_rows(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer makes other bytes: they are noted, and rows are still held against the content hash."""
    frozen = (whole / "race" / "test-00000-of-00002.parquet").read_bytes()
    shutil.rmtree(whole / "race")
    real = pq.ParquetWriter

    def other(*arguments: object, **options: object) -> pq.ParquetWriter:
        return real(*arguments, **{**options, "compression": "gzip"})

    monkeypatch.setattr(pq, "ParquetWriter", other)
    api.restore(str(whole))
    path = whole / "race" / "test-00000-of-00002.parquet"
    assert path.read_bytes() != frozen
    assert api.verify(str(whole)) == []
    data = path.read_bytes()
    path.write_bytes(data[:60] + bytes([data[60] ^ 1]) + data[61:])
    assert [(finding.path, finding.code) for finding in api.verify(str(whole))] == [
        ("race/test-00000-of-00002.parquet", "E404")
    ]


def test_a_note_does_not_excuse_other_rows(whole: Path) -> None:
    """Whoever edits rows and notes their bytes as restored is found by the content hash."""
    path = whole / "race" / "test-00000-of-00002.parquet"
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.schema.names.index("stereo"), "stereo", table["anti"]), path)
    note = {"files": {"race/test-00000-of-00002.parquet": _entry(path)}}
    (whole / "restored.json").write_text(json.dumps(note))
    assert {finding.code for finding in api.verify(str(whole))} == {"E405"}


def test_damaged_rows_are_not_taken_for_restored(whole: Path) -> None:
    """A byte too many is no other writer's doing."""
    path = sorted((whole / "race").iterdir())[0]
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(DamagedRelease, match="race"):
        api.restore(str(whole))
    assert not (whole / "restored.json").exists()


def test_another_release_is_not_overwritten(whole: Path, tmp_path: Path) -> None:
    """Restored into the place of another release of that name."""
    other = tmp_path / "other" / "sssb" / "1.0.0"
    other.mkdir(parents=True)
    (other / "release.json").write_text("{}")
    with pytest.raises(ReleaseError, match="contains another release"):
        api.restore(str(whole), tmp_path / "other")
    assert (other / "release.json").read_text() == "{}"


def test_a_recipe_that_was_changed_restores_nothing(whole: Path) -> None:
    """The message names the file."""
    shutil.rmtree(whole / "race")
    template = whole / "recipe" / "templates" / "sssb" / "race.j2"
    template.write_text(template.read_text() + "\n")
    with pytest.raises(DamagedRelease, match=r"recipe/templates/sssb/race\.j2"):
        api.restore(str(whole))
    assert not (whole / "race").exists()
