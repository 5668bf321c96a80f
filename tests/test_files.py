"""Files and folders that are whole or absent."""

import errno
import fcntl
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands import typing

from senseprobe.atomic_files import whole_file, whole_folder, write_whole

# The limit is set by the child itself: forking a process that has threads is no longer allowed everywhere.
LIMITED = """
import resource, sys
from pathlib import Path
from senseprobe.atomic_files import write_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
write_whole(Path(sys.argv[1]), b"." * 5000)
"""


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _dead_process() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_folder_appears_when_it_is_whole(tmp_path: Path) -> None:
    """While it is filled nothing has its name; afterwards nothing else is there."""
    final = tmp_path / "a" / "1.0.0"
    with whole_folder(final) as partial:
        (partial / "rows").mkdir()
        (partial / "rows" / "x").write_text("x")
        assert not final.exists()
        assert partial.name.startswith(".1.0.0.partial-")
    assert (final / "rows" / "x").read_text() == "x"
    assert _names(final.parent) == ["1.0.0"]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt(), ValueError("wrong")])
def test_a_folder_that_fails_in_the_middle_is_absent(tmp_path: Path, error: BaseException) -> None:
    """Whatever ended the block, its neighbours are as before and nothing is left."""
    (tmp_path / "1.0.0").mkdir()

    def fill() -> None:
        with whole_folder(tmp_path / "1.1.0") as partial:
            (partial / "x").write_text("x")
            raise error

    with pytest.raises(type(error)):
        fill()
    assert _names(tmp_path) == ["1.0.0"]


def test_a_folder_that_exists_is_not_touched(tmp_path: Path) -> None:
    """A name that is taken, even by an empty folder or a file, is refused before anything is written."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("old")
    for name in ("empty", "file"):
        with pytest.raises(FileExistsError), whole_folder(tmp_path / name):
            pytest.fail("the block must not run")
    assert _names(tmp_path) == ["empty", "file"]
    assert (tmp_path / "file").read_text() == "old"


def test_who_is_later_does_not_replace_who_was_first(tmp_path: Path) -> None:
    """A folder that somebody else made meanwhile stays as it is, and the later one hears that it exists."""
    final = tmp_path / "1.0.0"

    def fill() -> None:
        with whole_folder(final) as partial:
            (partial / "x").write_text("second")
            final.mkdir()
            (final / "x").write_text("first")

    with pytest.raises(FileExistsError, match="exists"):
        fill()
    assert (final / "x").read_text() == "first"
    assert _names(tmp_path) == ["1.0.0"]


def test_a_folder_is_not_filled_twice_at_once(tmp_path: Path) -> None:
    """Two threads of one process do not write into each other's folder."""
    with whole_folder(tmp_path / "1.0.0") as partial:
        (partial / "x").write_text("x")
        with pytest.raises(FileExistsError), whole_folder(tmp_path / "1.0.0"):
            pytest.fail("the block must not run")
    assert _names(tmp_path / "1.0.0") == ["x"]


def test_what_dead_processes_left_is_removed(tmp_path: Path) -> None:
    """Leftovers of dead processes go, also of one that had our id (every process of a container may have id 1)."""
    dead = [f"ab12cd34-{_dead_process()}", f"ab12cd34-{os.getpid()}", "no-process", f"ab12cd34-{2**70}"]
    for end in dead:
        (tmp_path / f".1.0.0.partial-{end}" / "rows").mkdir(parents=True)
        (tmp_path / f".x.json.partial-{end}").write_text("half")
    with whole_folder(tmp_path / "1.0.0"):
        pass
    write_whole(tmp_path / "x.json", b"whole")
    assert _names(tmp_path) == ["1.0.0", "x.json"]


def test_what_the_living_write_is_kept(tmp_path: Path) -> None:
    """What another running process writes, and what belongs to another name, is not ours to remove."""
    # The process that started the tests lives as long as they do.
    others = [f".1.0.0.partial-ab12cd34-{os.getppid()}", ".1.0.1.partial-no-process", "1.0.0.partial-no-process"]
    for name in others:
        (tmp_path / name).mkdir()
    (tmp_path / f".x.json.partial-ab12cd34-{os.getppid()}").write_text("half")
    with whole_folder(tmp_path / "1.0.0"):
        pass
    write_whole(tmp_path / "x.json", b"whole")
    assert _names(tmp_path) == sorted([*others, f".x.json.partial-ab12cd34-{os.getppid()}", "1.0.0", "x.json"])


def test_names_are_not_patterns(tmp_path: Path) -> None:
    """A name with the signs of a glob pattern is a name like others."""
    (tmp_path / ".x.partial-no-process").mkdir()
    with whole_folder(tmp_path / "[x]*"):
        pass
    assert _names(tmp_path) == [".x.partial-no-process", "[x]*"]


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    """The new content takes the place of the old, and missing folders are made."""
    path = tmp_path / "results" / "x.json"
    write_whole(path, b"old")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert _names(path.parent) == ["x.json"]


def test_a_file_that_cannot_be_replaced_stays(tmp_path: Path) -> None:
    """Where the last step fails (here: a folder has the name) the old thing stays and no part of the new is left."""
    (tmp_path / "x.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_whole(tmp_path / "x.json", b"new")
    assert _names(tmp_path) == ["x.json"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """A write that the system breaks off after 1,000 bytes leaves the old content, and no part of the new."""
    path = tmp_path / "x.json"
    write_whole(path, b"old")
    done = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=False)
    assert "File too large" in done.stderr
    assert path.read_bytes() == b"old"
    assert _names(tmp_path) == ["x.json"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_folders_that_were_made_in_vain_are_removed(kind: str, tmp_path: Path) -> None:
    """Those above what failed go, unless they were there before, or somebody put something there meanwhile."""
    (tmp_path / "old").mkdir()

    def fail(final: Path) -> None:
        with whole_file(final) if kind == "file" else whole_folder(final):
            if final.parent.name == "shared":
                (final.parent / "theirs").touch()
            raise OSError(errno.ENOSPC, "No space left on device")

    for place in ("old/a/b/x", "new/a/x", "new/shared/x"):
        with pytest.raises(OSError, match="No space left") as caught:
            fail(tmp_path / place)
        assert caught.value.filename == str(tmp_path / place)
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")) == [
        *("new", "new/shared", "new/shared/theirs", "old"),
    ]


def test_init_names_the_path_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The system's error names no file: the file of the project is told, and of the project nothing stays."""
    write = Path.write_bytes

    def write_until_full(path: Path, data: bytes) -> int:
        if "README.md" in path.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", write_until_full)
    monkeypatch.chdir(tmp_path)
    done = typing(monkeypatch, capfd)("init", "deep/project")
    assert (done.code, done.message) == (2, f"{tmp_path}/deep/project/README.md: No space left on device")
    assert _names(tmp_path) == []


def test_what_another_container_writes_is_kept(tmp_path: Path) -> None:
    """Its processes cannot be seen from here, but the lock that they hold can; once it is gone, so is the writer."""
    theirs = tmp_path / f".final.partial-0-{_dead_process()}"
    theirs.mkdir()
    handle = os.open(theirs, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    write_whole(tmp_path / "final", b"x")
    assert theirs.is_dir()
    os.close(handle)
    write_whole(tmp_path / "final", b"y")
    assert not theirs.exists()


def test_a_link_stays_one(tmp_path: Path) -> None:
    """What a link leads to is written, whether it was there or not; the link is as before."""
    (tmp_path / "real.html").write_bytes(b"old")
    for name, target in (("link.html", "real.html"), ("dangling.html", "later/new.html")):
        (tmp_path / name).symlink_to(target)
        write_whole(tmp_path / name, b"new")
        assert (tmp_path / name).readlink() == Path(target)
        assert (tmp_path / target).read_bytes() == b"new"
    assert _names(tmp_path) == ["dangling.html", "later", "link.html", "real.html"]


def test_a_link_in_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    """It may lead to any file of the user's."""
    (tmp_path / "mine").write_bytes(b"old")
    (tmp_path / "link").symlink_to("mine")
    with pytest.raises(OSError, match="is not a plain file"):
        write_whole(tmp_path / "link", b"new", follow=False)
    assert (tmp_path / "mine").read_bytes() == b"old"


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    """A pipe, a link to one, a socket, and links that lead in a circle stay what they are."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "circle").symlink_to("circle")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        before = {path.name: path.lstat().st_mode for path in tmp_path.iterdir()}
        for name in before:
            with pytest.raises(OSError, match="is not a plain file"):
                write_whole(tmp_path / name, b"new")
        assert {path.name: path.lstat().st_mode for path in tmp_path.iterdir()} == before


def test_a_folder_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is called; an empty name is the folder in which we are."""
    monkeypatch.chdir(tmp_path)
    for name in ("", ".", "..", "/", str(tmp_path)):
        with pytest.raises(IsADirectoryError, match="Is a directory"):
            write_whole(Path(name), b"new")
    assert _names(tmp_path) == []
