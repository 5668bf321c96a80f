"""Files and folders appear whole or not at all, and a folder that exists is never overwritten."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["whole_folder", "write_whole"]


@contextmanager
def whole_folder(final: Path) -> Iterator[Path]:
    """A folder to fill, which gets its final name when the block ends, and is removed if the block fails.

    What a killed process left behind is removed on the way in. Raises FileExistsError if `final` exists, and OSError.
    """
    if final.exists():
        raise FileExistsError(f"{final} exists")
    final.parent.mkdir(parents=True, exist_ok=True)
    for leftover in final.parent.glob(f".{final.name}.partial-*"):
        if not _alive(leftover.name.rpartition("-")[2]):
            shutil.rmtree(leftover, ignore_errors=True)
    partial = final.parent / f".{final.name}.partial-{os.getpid()}"
    partial.mkdir()
    try:
        yield partial
        _sync(partial)
        partial.rename(final)  # fails if somebody else made it meanwhile, as a folder that is not empty
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that readers see the old one or the new one; OSError leaves the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _sync(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
