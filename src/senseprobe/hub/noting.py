"""`published.csv` of a dataset: which version went where on the Hub, as which commit."""

import csv
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from senseprobe.errors import ReleaseError
from senseprobe.files import write_whole

COLUMNS = ("version", "repo", "commit", "content")


def commits_of(path: Path, version: str, repo: str) -> list[str]:
    """The commits that the file names for a version in a repository; ReleaseError where it is another table."""
    return [line[2] for line in noted(path) if line[:2] == (version, repo)]


def noted(path: Path) -> list[tuple[str, ...]]:
    """The lines of the file in their order, none where there is no file; ReleaseError where it is another table."""
    if not os.path.lexists(path):
        return []
    try:
        rows = [tuple(row) for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8"))) if row]
    except (OSError, UnicodeDecodeError, csv.Error):
        rows = []
    if not rows or rows[0] != COLUMNS or any(len(row) != len(COLUMNS) for row in rows):
        raise ReleaseError(f"{path} is not a table of {', '.join(COLUMNS)}: mend it, or move it away")
    return rows[1:]


def note(path: Path, line: tuple[str, str, str, str]) -> bool:
    """Add a line unless it is there; whether it was added. The file is written whole, one process after the other.

    Raises ReleaseError where the version is noted as another commit of that repository.
    """
    with _alone(path.parent):
        lines = noted(path)
        if line in lines:
            return False
        if commits := commits_of(path, *line[:2]):
            raise ReleaseError(f"{path} has {line[0]} of {line[1]} as commit {commits[0]}, not {line[2]}: mend it")
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([COLUMNS, *lines, line])
        write_whole(path.resolve(), text.getvalue().encode())  # a link stays one
    return True


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold other processes back from the folder's notes until the block ends; the system lets go if we die."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
