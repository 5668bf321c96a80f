"""Several files are written, or none."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from senseprobe.files import write_whole


def write_all(files: Mapping[Path, str]) -> None:
    """Write texts in order; where one fails, what was there before comes back, and what was made is removed.

    Raises OSError.
    """
    before = {path: path.read_bytes() if path.exists() else None for path in files}
    folders = [*_missing(files)]
    try:
        for path, text in files.items():
            write_whole(path, text.encode())
    except BaseException:
        _undo(before, folders)
        raise


def _missing(files: Iterable[Path]) -> Iterable[Path]:
    """Folders that have to be made, the innermost first."""
    folders = {folder for path in files for folder in path.parents if not folder.exists()}
    return sorted(folders, key=lambda folder: len(folder.parts), reverse=True)


def _undo(before: Mapping[Path, bytes | None], folders: Iterable[Path]) -> None:
    for path, data in before.items():
        # Whatever cannot be undone must not hide why it had to be.
        with suppress(OSError):
            path.unlink(missing_ok=True) if data is None else write_whole(path, data)
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
