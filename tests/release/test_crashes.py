"""Builds that are killed, interrupted, raced, or that run out of disk: a release is whole or absent."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.commands import Typed, typing
from tests.forks import Child, start

from senseprobe import api
from senseprobe.release.manifest import read_manifest


@pytest.fixture(scope="module", autouse=True)
def _here(small_project: Path) -> Iterator[None]:
    """The project is the current folder, here and of the processes that are started."""
    with chdir(small_project):
        yield


@pytest.fixture(scope="module")
def releases(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an earlier release, 1.0.0, which no crash may touch."""
    out = tmp_path_factory.mktemp("releases")
    shutil.copytree(small, out / "sssb" / "1.0.0")
    return out


def _digest(folder: Path) -> str:
    """One digest of all names and bytes below a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(f"{path.relative_to(folder)}\0".encode() + (path.read_bytes() if path.is_file() else b""))
    return digest.hexdigest()


@contextmanager
def _earlier_intact(releases: Path) -> Iterator[None]:
    before = _digest(releases / "sssb" / "1.0.0")
    yield
    assert _digest(releases / "sssb" / "1.0.0") == before


def _names(releases: Path) -> set[str]:
    return {path.name for path in (releases / "sssb").iterdir()}


Start = Callable[..., Child]


@pytest.fixture(scope="module")
def build(releases: Path, tmp_path_factory: pytest.TempPathFactory) -> Start:
    """Starts to build a version of sssb beside the earlier release."""
    told = tmp_path_factory.mktemp("told")

    def run(version: str, most: int | None = None, after: Path | None = None) -> Child:
        return start(told, "build", "sssb", version, "--out", str(releases), most=most, after=after)

    return run


def _after_size(output: str, version: str) -> list[str]:
    """The lines of stderr after what a build states: sizes, that there are no glosses, that all is as before."""
    size, *rest = output.strip().splitlines()
    rows = r"[0-9,]+ rows, an estimated [0-9.,]+ [kMG]B"
    assert re.fullmatch(rf"sssb {re.escape(version)}: {rows}; [0-9.,]+ (?:bytes|[kMGTP]B) are free in .+", size), output
    return [line for line in rest if "has the same rows" not in line and not line.startswith("WordNet is not ")]


def _writing(child: Child, releases: Path, version: str) -> bool:
    """Wait until the build begins to write; False where it has ended before we looked."""
    while child.runs:
        if any((releases / "sssb").glob(f".{version}.partial-*")):
            return True
        time.sleep(0.001)
    return False


@pytest.fixture(scope="module")
def seconds(releases: Path, build: Start) -> float:
    """How long a build writes, from the first folder to the last name: moments are drawn from a little more."""
    child = build("0.0.1")
    assert _writing(child, releases, "0.0.1")
    start = time.monotonic()
    child.end()
    return 1.1 * (time.monotonic() - start)


def _assert_whole_or_absent(releases: Path, version: str) -> bool:
    """Whether the release is there; it verifies if it is."""
    folder = releases / "sssb" / version
    there = folder.exists()
    assert not there or api.verify(str(folder)) == []
    return there


def _assert_rerun_completes(releases: Path, version: str) -> None:
    """A rerun makes the same rows, and removes what was left."""
    if not (releases / "sssb" / version).exists():
        api.build("sssb", version, releases)
    assert api.verify(str(releases / "sssb" / version)) == []
    content = [read_manifest(releases / "sssb" / each).content for each in ("1.0.0", version)]
    assert content[0] == content[1]
    assert not any(name.startswith(f".{version}.") for name in _names(releases))


def _moments(seconds: float, count: int) -> list[float]:
    """Seconds after writing began: at once, then at random."""
    return [0.0, *np.random.default_rng(20220526).uniform(0, seconds, count - 1).tolist()]


def _kill(releases: Path, build: Start, moments: list[float], major: int) -> None:
    for number, moment in enumerate(moments):
        version = f"{major}.{number}.0"
        with _earlier_intact(releases):
            child = build(version)
            if _writing(child, releases, version):
                time.sleep(moment)
            child.send(signal.SIGKILL)
            code, _, _ = child.end()
            there = _assert_whole_or_absent(releases, version)
            assert there or code == -signal.SIGKILL
            _assert_rerun_completes(releases, version)


def _interrupt(releases: Path, build: Start, moments: list[float], major: int) -> None:
    for number, moment in enumerate(moments):
        version = f"{major}.{number}.0"
        with _earlier_intact(releases):
            child = build(version)
            if _writing(child, releases, version):
                time.sleep(moment)
            child.send(signal.SIGINT)
            code, _, output = child.end()
            if _assert_whole_or_absent(releases, version):
                continue
            assert not any(name.startswith(f".{version}.") for name in _names(releases))
            assert code == 2
            assert _after_size(output, version) == ["interrupted; nothing was left half-written"]
            _assert_rerun_completes(releases, version)


# Takes long: ten builds that are killed, each with one that completes it.
def test_a_killed_build_leaves_no_half_release(releases: Path, build: Start, seconds: float) -> None:
    """Kill -9 at ten moments: earlier releases intact, whole or absent, and a rerun makes the same rows."""
    _kill(releases, build, _moments(seconds, 10), 1_001)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_killed_build_never_leaves_a_half_release(releases: Path, build: Start, seconds: float) -> None:
    """Kill -9 at a hundred moments."""
    _kill(releases, build, _moments(seconds, 100), 1_002)


def test_an_interrupted_build_leaves_nothing(releases: Path, build: Start, seconds: float) -> None:
    """Ctrl-C at three moments: one message, exit code 2, nothing left, and a rerun completes."""
    _interrupt(releases, build, _moments(seconds, 3), 1_003)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_an_interrupted_build_never_leaves_anything(releases: Path, build: Start, seconds: float) -> None:
    """Ctrl-C at thirty moments."""
    _interrupt(releases, build, _moments(seconds, 30), 1_004)


def test_of_two_builds_at_once_one_wins(releases: Path, build: Start, tmp_path: Path) -> None:
    """Two processes build one version: one release, whole, and the slower one says that it exists."""
    with _earlier_intact(releases):
        children = [build("2.0.0", after=tmp_path / "go") for _ in range(2)]
        (tmp_path / "go").touch()
        ends = {code: err for code, _, err in (child.end() for child in children)}
    assert sorted(ends) == [0, 2]
    folder = releases / "sssb" / "2.0.0"
    exists = f"sssb 2.0.0 exists in {folder}: a release is never overwritten, raise the version"
    # On a busy machine the slower one may look when the other has ended, and states no size then.
    assert ends[2] == f"{exists}\n" or _after_size(ends[2], "2.0.0") == [exists]
    assert api.verify(str(folder)) == []
    assert not any(name.startswith(".2.0.0.") for name in _names(releases))


def _assert_refused(code: int, out: str, err: str, version: str, message: str) -> None:
    assert (code, out) == (2, "")
    (line,) = _after_size(err, version)
    assert message in line


def test_a_full_disk_leaves_nothing(releases: Path, build: Start) -> None:
    """The system refuses to write past 10,000 bytes of a file: one message, earlier releases intact, nothing left."""
    with _earlier_intact(releases):
        names = _names(releases)
        code, out, err = build("3.0.0", most=10_000).end()
        _assert_refused(code, out, err, "3.0.0", f"cannot write {releases / 'sssb' / '3.0.0'}: ")
        assert "File too large" in err
        assert "nothing was changed" in err
        assert _names(releases) == names


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Runs a command line in this process."""
    return typing(monkeypatch, capfd)


@pytest.mark.system
def test_a_disk_that_is_really_full(tmp_path: Path, typed: Typed) -> None:
    """A file system of 64 kB takes no release of 150 kB: it is as empty afterwards as it was before."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=True)
    try:
        done = typed("build", "sssb", "1.0.0", "--out", str(disk), "--force")
        _assert_refused(done.code, done.out, done.err, "1.0.0", "No space left on device")
        assert not (disk / "sssb").exists()
        assert os.statvfs(disk).f_bavail == os.statvfs(disk).f_blocks
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_an_output_that_cannot_be_written_is_reported(tmp_path: Path, typed: Typed) -> None:
    """A file in the way, and a place where nothing can be made: one message each, and the file stays."""
    (tmp_path / "file").write_text("mine")
    file, nowhere = tmp_path / "file", "/proc/nowhere"
    for force, out in (([], file), (["--force"], nowhere)):
        done = typed("build", "sssb", "1.0.0", "--out", str(out), *force)
        _assert_refused(done.code, done.out, done.err, "1.0.0", f"cannot write {out}/sssb/1.0.0: ")
    unforced = typed("build", "sssb", "1.0.0", "--out", nowhere)  # where nothing is free
    assert unforced.code == 2
    assert "the rows do not fit on the disk; nothing was written" in unforced.message
    assert (tmp_path / "file").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
