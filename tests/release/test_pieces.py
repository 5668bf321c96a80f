"""Releases that are built and restored in pieces, in any order, by whoever does a piece first."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from senseprobe import api
from senseprobe.api import pieces as work
from senseprobe.engines.work import open_worker
from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.records import Finding
from senseprobe.release import parquet
from senseprobe.release.hashing import file_sha256
from senseprobe.release_pieces import Pieces

FORM_5 = Path(__file__).parents[1] / "fixtures" / "releases" / "form-5"
"""A release in files of three rows, whose hash has no leaves."""

PIECES = 7  # by hand: 8, 6 and 4 rows, three in a file


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project of form 5, in files of three rows."""
    root = tmp_path / "project"
    shutil.copytree(FORM_5 / "recipe", root)
    (root / "english.csv").unlink()
    (root / "senseprobe.toml").touch()
    monkeypatch.chdir(root)
    monkeypatch.setattr(parquet, "ROWS_PER_FILE", 3)
    return root


def _do(pieces: Pieces, *numbers: int) -> list[int]:
    with open_worker(pieces.worker, pieces.argument, None) as do:
        return [do(number) for number in numbers]


def test_a_release_is_built_in_pieces(project: Path, tmp_path: Path) -> None:
    """By three workers, one of whom does again what others did: the bytes of one process, and nothing else is left."""
    whole = api.build("tiny", "5.0.0", tmp_path / "whole").folder
    pieces = work.start_build("tiny", "5.0.0", tmp_path / "out")
    assert (pieces.count, pieces.numbers, pieces.units) == (PIECES, tuple(range(PIECES)), 18)
    assert _do(pieces, 6, 0, 2) == [1, 3, 2]
    assert pieces.numbers == (1, 3, 4, 5)
    again = work.start_build("tiny", "5.0.0", tmp_path / "out")
    assert again == pieces
    before = {path: path.stat().st_mtime_ns for path in pieces.folder.rglob("*.parquet")}
    assert sum(_do(again, *range(PIECES))) == 18
    assert {path: path.stat().st_mtime_ns for path in before} == before
    release = work.finish_build(pieces)
    assert _bytes(release.folder) == _bytes(whole)
    assert [path.name for path in release.folder.parent.iterdir()] == ["5.0.0"]
    with pytest.raises(ReleaseError, match=r"exists in .*: a release is never overwritten"):
        work.start_build("tiny", "5.0.0", tmp_path / "out")


def test_pieces_that_are_missing_or_damaged_are_named_and_stay(project: Path, tmp_path: Path) -> None:
    """Nothing is written; the piece is made again once its folder is gone."""
    pieces = work.start_build("tiny", "5.0.0", tmp_path / "out")
    _do(pieces, *range(1, PIECES))
    with pytest.raises(ReleaseError, match="shard-00000-of-00007 is not a shard"):
        work.finish_build(pieces)
    _do(pieces, 0)
    (path,) = pieces.marker_of(3).parent.glob("*/*.parquet")
    data = path.read_bytes()
    path.write_bytes(data[:50] + bytes([data[50] ^ 1]) + data[51:])
    with pytest.raises(ReleaseError, match=f"{path} differs from the file that was written: make shard 3 again"):
        work.finish_build(pieces)
    assert [folder.name for folder in pieces.folder.parent.iterdir()] == ["5.0.0.parts"]
    shutil.rmtree(path.parents[1])
    assert pieces.numbers == (3,)
    _do(pieces, 3)
    assert api.verify(str(work.finish_build(pieces).folder), rebuild=True) == []


def test_pieces_of_another_recipe_are_not_continued(project: Path, tmp_path: Path) -> None:
    """A word was added meanwhile; and a worker of another senseprobe makes nothing."""
    pieces = work.start_build("tiny", "5.0.0", tmp_path / "out")
    path = project / "templates" / "tiny" / "island.j2"
    path.write_text(path.read_text().replace("are {{", "seem {{"))
    with pytest.raises(ReleaseError, match=r"5\.0\.0\.parts has pieces of another recipe, .*: remove the folder"):
        work.start_build("tiny", "5.0.0", tmp_path / "out")
    told = json.loads((pieces.folder / "pieces.json").read_text())
    (pieces.folder / "pieces.json").write_text(json.dumps({**told, "senseprobe": "0.0.1"}))
    with pytest.raises(ReleaseError, match=r"pieces of senseprobe 0\.0\.1, but this worker has"):
        _do(pieces, 0)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"pieces": 1e400}', '{"sizes": {"../x": 1}}'])
def test_odd_files_of_pieces(project: Path, tmp_path: Path, text: str) -> None:
    """One message, no traceback."""
    pieces = work.start_build("tiny", "5.0.0", tmp_path / "out")
    (pieces.folder / "pieces.json").write_text(text)
    with pytest.raises(ReleaseError, match=r"pieces\.json"):
        _do(pieces, 0)


@pytest.mark.parametrize("form", [5, 6])
def test_a_release_is_restored_in_pieces(form: int, project: Path, tmp_path: Path) -> None:
    """Of either form, and of one config alone: the bytes that were frozen."""
    folder = tmp_path / "out" / "tiny" / "5.0.0"
    if form == 5:
        shutil.copytree(FORM_5, folder)
    else:
        api.build("tiny", "5.0.0", tmp_path / "out")
    before = _bytes(folder)
    assert work.start_restore(str(folder)) is None
    for away in (("island", "guess", "words"), ("guess",)):
        for config in away:
            shutil.rmtree(folder / config)
        pieces = work.start_restore(str(folder))
        assert pieces
        assert pieces.count == (PIECES if len(away) == 3 else 2)
        _do(pieces, *reversed(pieces.numbers))
        work.finish_restore(str(folder), pieces=pieces)
        assert _bytes(folder) == before
        assert [path.name for path in folder.parent.iterdir()] == ["5.0.0"]


def test_restored_pieces_of_other_rows_are_refused(project: Path, tmp_path: Path) -> None:
    """A worker whose recipe makes other rows, or fewer: the content hash of the release decides."""
    folder = Path(shutil.copytree(FORM_5, tmp_path / "out" / "tiny" / "5.0.0"))
    shutil.rmtree(folder / "island")
    pieces = work.start_restore(str(folder))
    assert pieces
    template = folder / "recipe" / "templates" / "tiny" / "island.j2"
    text = template.read_text()
    template.write_text(text.replace("are {{", "seem {{"))
    _do(pieces, *pieces.numbers)
    template.write_text(text)
    with pytest.raises(DamagedRelease, match="makes rows that differ from the frozen ones"):
        work.finish_restore(str(folder), pieces=pieces)
    assert not (folder / "island").exists()


@pytest.mark.parametrize("form", [5, 6])
def test_a_release_is_verified_in_pieces(form: int, project: Path, tmp_path: Path) -> None:
    """As by one process: unchanged, and with the same findings where files, rows and a document are others."""
    folder = tmp_path / "out" / "tiny" / "5.0.0"
    if form == 5:
        shutil.copytree(FORM_5, folder)
    else:
        api.build("tiny", "5.0.0", tmp_path / "out")

    def verify(records: str, *, rebuild: bool = False) -> list[Finding]:
        pieces = work.start_verify(str(folder), tmp_path / records)
        assert pieces.count == PIECES
        assert sum(_do(pieces, *reversed(pieces.numbers))) == pieces.units
        assert pieces.numbers == ()
        return work.finish_verify(str(folder), pieces, rebuild=rebuild)

    assert verify("first", rebuild=True) == []
    name = "island/test-00001-of-00003.parquet"
    table = pq.read_table(folder / name)
    column = table.schema.names.index("stereo")
    pq.write_table(table.set_column(column, table.schema.field(column), table["anti"]), folder / name)
    (folder / "guess" / "test-00000-of-00002.parquet").unlink()
    (folder / "README.md").write_text("x")
    assert verify("second") == api.verify(str(folder))
    note = {"files": {name: {"bytes": (folder / name).stat().st_size, "sha256": file_sha256(folder / name)}}}
    (folder / "restored.json").write_text(json.dumps(note))
    found = verify("third")
    assert found == api.verify(str(folder))
    assert ("island", "E405") in [(finding.path, finding.code) for finding in found]


def test_a_file_that_was_not_checked_is_named(project: Path, tmp_path: Path) -> None:
    """By its path in the release; what was found of another release is not taken for it."""
    folder = api.build("tiny", "5.0.0", tmp_path / "out").folder
    pieces = work.start_verify(str(folder), tmp_path / "records")
    _do(pieces, *range(1, PIECES))
    with pytest.raises(ReleaseError, match=r"island/test-00000-of-00003\.parquet was not checked"):
        work.finish_verify(str(folder), pieces)
    pieces.marker_of(0).write_bytes(pieces.marker_of(1).read_bytes())
    with pytest.raises(ReleaseError, match=r"json is of island/test-00001-.*, not of island/test-00000-"):
        work.finish_verify(str(folder), pieces)
    other = work.start_verify(str(FORM_5), tmp_path / "records")
    assert other.numbers == tuple(range(PIECES))
