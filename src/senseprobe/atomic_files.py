"""Write files and folders so that they appear whole or not at all; never overwrite a folder."""

import errno
import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from senseprobe.errors import SenseprobeError

# In a container every process may have the same id: the token marks what this process writes.
_TOKEN = secrets.token_hex(4)


@contextmanager
def whole_folder(final: Path) -> Iterator[Path]:
    """Provide a folder to fill, which gets its final name when the block ends, and is removed if the block fails.

    What killed processes left behind is removed first. Raise FileExistsError if `final` exists, before the block or
    after it, and OSError, which names what is below `final`.
    """
    if final.exists():
        raise _exists_error(final)
    with new_folders(final.parent):
        partial = _partial_path(final)
        with _naming(final, partial):
            partial.mkdir()
            with _advisory_lock(partial):
                try:
                    yield partial
                    for path in (*partial.rglob("*"), partial):
                        _sync(path)
                    _rename_new(partial, final)
                except BaseException:
                    shutil.rmtree(partial, ignore_errors=True)
                    raise
    _sync(final.parent)


@contextmanager
def new_folder(final: Path) -> Iterator[Path]:
    """Provide a folder as `whole_folder` does; raise SenseprobeError where it exists or cannot be written."""
    try:
        with whole_folder(final) as partial:
            yield partial
    except OSError as error:
        if isinstance(error, FileExistsError) and final.exists():
            raise SenseprobeError(f"{final} exists and is not overwritten: choose a new folder with --out") from None
        raise SenseprobeError(f"cannot write {final}: {error.strerror or error}; nothing was changed") from error


def write_new_folder(final: Path, files: Mapping[str, bytes]) -> None:
    """Write files, by path below it, into a new folder, as a whole or not at all: see `new_folder`."""
    with new_folder(final) as partial:
        for name, data in files.items():
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            (partial / name).write_bytes(data)


def write_whole(path: Path, data: bytes, *, follow: bool = True) -> None:
    """Write a file so that readers see the old one or the new one; where OSError is raised the old one stays.

    Where the path is a link its target is written, whether it exists or not; with `follow` false, as for folders of
    others, a link is refused. Folders, pipes and devices are always refused.
    """
    with whole_file(path, follow=follow) as partial:
        partial.write_bytes(data)


@contextmanager
def whole_file(path: Path, *, follow: bool = True) -> Iterator[Path]:
    """Provide an empty file to write, which gets its final name when the block ends, and is removed if it fails.

    Else as `write_whole`: it is for what does not fit into memory.
    """
    given, path = path, Path(os.path.realpath(path)) if follow else path
    if given.is_dir() and not path.is_symlink():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(given))
    if path.is_symlink() or (given.exists() and not given.is_file()):  # where links lead in a circle, one is left
        raise _not_plain_error(given)
    with new_folders(path.parent):
        partial = _partial_path(path)
        with _naming(path, partial):
            try:
                partial.touch()
                with _advisory_lock(partial):
                    yield partial
                    _sync(partial)
                    partial.replace(path)
                    _sync(path.parent)  # else the name may be lost where the power is, and not what has it
            except BaseException:
                partial.unlink(missing_ok=True)
                raise


@contextmanager
def new_folders(folder: Path) -> Iterator[None]:
    """Make a folder, and the parents that it lacks; where the block fails, those of them that are empty are removed."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for path in missing:
            with suppress(OSError):
                path.rmdir()
        raise


@contextmanager
def new_files(paths: Iterable[Path]) -> Iterator[None]:
    """Where the block fails, remove those of some files that were not there before it."""
    absent = [path for path in paths if not os.path.lexists(path)]
    try:
        yield
    except BaseException:
        for path in absent:
            with suppress(OSError):
                path.unlink()
        raise


def check_space(folder: Path, size: int) -> None:
    """Raise OSError where a file of `size` bytes cannot be written into a folder: no rights, no space. None stays."""
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except (AttributeError, OSError) as error:  # macOS has none, and not each file system
            if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            for _ in range(0, size, 2**20):
                file.write(bytes(2**20))


def read_plain(path: Path, most: int) -> bytes:
    """Read a file of others; raise OSError where it is not a plain file, or has more than `most` bytes.

    A link could lead out of a folder, and a pipe or a device could have no end.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise _not_plain_error(path)
    if path.stat().st_size > most:
        raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB", str(path))
    return path.read_bytes()


@contextmanager
def _naming(final: Path, partial: Path) -> Iterator[None]:
    """Let an error of the system name what is written: one of a full disk names nothing, others name the part of it."""
    try:
        yield
    except OSError as error:
        named = str(error.filename or partial)
        if error.errno is not None and named.startswith(str(partial)):
            error.filename = f"{final}{named.removeprefix(str(partial))}"
        raise


def _not_plain_error(path: Path) -> OSError:
    return OSError(errno.EINVAL, "is not a plain file", str(path))


def _partial_path(final: Path) -> Path:
    """Return the path at which this process writes `final`; remove what dead processes left of it."""
    prefix = f".{final.name}.partial-"
    partial = final.with_name(f"{prefix}{_TOKEN}-{os.getpid()}")
    for leftover in final.parent.iterdir():
        if leftover.name.startswith(prefix) and leftover != partial and not _is_in_use(leftover):
            shutil.rmtree(leftover, ignore_errors=True) if leftover.is_dir() else leftover.unlink(missing_ok=True)
    return partial


@contextmanager
def _advisory_lock(path: Path) -> Iterator[None]:
    """Lock what is being written, for processes in other containers or hosts, which cannot see this one's id.

    File systems without locks are accepted.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


@contextmanager
def locked(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Lock a folder for this process while the block runs; the folder is made if it does not exist.

    Where another process has the lock, wait for it, or raise BlockingIOError. A process that ends, however it ends,
    releases the lock. File systems without locks are accepted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            pass
        yield
    finally:
        os.close(handle)


def _is_in_use(leftover: Path) -> bool:
    """Return whether a process still writes a path: the one whose id is in its name, or one that has its lock."""
    if _is_running(leftover.name.rpartition("-")[2]):
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


def _is_running(process_id: str) -> bool:
    if process_id == str(os.getpid()):
        return False
    try:
        os.kill(int(process_id), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _rename_new(partial: Path, final: Path) -> None:
    try:
        partial.rename(final)
    except OSError as error:
        # Another process made it meanwhile: a folder that is not empty is never replaced.
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise _exists_error(final) from None
        raise


def _exists_error(final: Path) -> FileExistsError:
    return FileExistsError(errno.EEXIST, "exists", str(final))


def _sync(path: Path) -> None:
    """Write a file, or the names in a folder, through to the disk; some file systems refuse that for folders."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        if not path.is_dir():
            raise
    finally:
        os.close(handle)
