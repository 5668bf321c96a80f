"""Files and folders appear whole or not at all, and a folder that exists is never overwritten."""

import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# In a container every process may have the same id: the token tells what this process writes from what a dead one left.
_TOKEN = secrets.token_hex(4)


@contextmanager
def whole_folder(final: Path) -> Iterator[Path]:
    """A folder to fill, which gets its final name when the block ends, and is removed if the block fails.

    What a killed process left behind is removed on the way in. Raises FileExistsError if `final` exists, or is there
    when the block ends, and OSError.
    """
    if final.exists():
        raise _exists(final)
    final.parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(final)
    partial.mkdir()
    with _held(partial):
        try:
            yield partial
            _sync_below(partial)
            _give_name(partial, final)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    _sync(final.parent)


def write_whole(path: Path, data: bytes, *, follow: bool = True) -> None:
    """Write a file so that readers see the old one or the new one; OSError leaves the old one.

    A link stays one: what it leads to is written, there already or not, unless `follow` is false, as for what lies in a
    folder of somebody else's: then it is refused. So are folders, pipes and devices, which are never replaced.
    """
    path = _plain(path, follow=follow)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(path)
    try:
        partial.touch()
        with _held(partial):
            partial.write_bytes(data)
            _sync(partial)
            partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def read_plain(path: Path, most: int) -> bytes:
    """The bytes of a file that somebody else wrote; OSError where it is no plain file, or has more than `most` bytes.

    A link may lead out of a folder, and a pipe or a device never end.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise _no_plain_file(path)
    if path.stat().st_size > most:
        raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB", str(path))
    return path.read_bytes()


def _plain(path: Path, *, follow: bool) -> Path:
    """Where a file is to be written, beyond links; OSError where something else is there."""
    real = Path(os.path.realpath(path)) if follow else path
    if path.is_dir() and not real.is_symlink():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if real.is_symlink() or (path.exists() and not path.is_file()):  # where links lead in a circle, one is left
        raise _no_plain_file(path)
    return real


def _no_plain_file(path: Path) -> OSError:
    return OSError(errno.EINVAL, "is no plain file", str(path))


def _partial(final: Path) -> Path:
    """The name under which this process writes `final`, after what dead processes left of it was removed."""
    prefix = f".{final.name}.partial-"
    own = final.with_name(f"{prefix}{_TOKEN}-{os.getpid()}")
    for leftover in final.parent.iterdir():
        if leftover.name.startswith(prefix) and leftover != own and not _in_use(leftover):
            shutil.rmtree(leftover, ignore_errors=True) if leftover.is_dir() else leftover.unlink(missing_ok=True)
    return own


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold a lock on what is being written, for processes that cannot see this one, in other containers or hosts.

    Where a file system knows no locks, there is none.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process alone while the block runs; the folder is made if it is not there.

    BlockingIOError where another process holds it, and OSError. A process that ends, however it ends, lets go. Where a
    file system knows no locks, there is none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            pass
        yield
    finally:
        os.close(handle)


def _in_use(leftover: Path) -> bool:
    """Whether a process still writes what lies there: one with the id in its name, or one that holds its lock."""
    if _alive(leftover.name.rpartition("-")[2]):
        return True
    try:
        handle = os.open(leftover, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def _alive(process: str) -> bool:
    """Whether another process with this id is running."""
    if process == str(os.getpid()):
        return False
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _give_name(partial: Path, final: Path) -> None:
    try:
        partial.rename(final)
    except OSError as error:
        # Somebody else made it meanwhile: a folder that is not empty is never replaced.
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise _exists(final) from None
        raise


def _exists(final: Path) -> FileExistsError:
    return FileExistsError(errno.EEXIST, "exists", str(final))


def _sync_below(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        _sync(path)


def _sync(path: Path) -> None:
    """Have the disk hold a file, or the names in a folder; some file systems refuse that for folders."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        if not path.is_dir():
            raise
    finally:
        os.close(handle)
