"""A work for tests of engines: a piece is a file with its square, and some pieces go wrong.

Workers import this module by name, so that its folder is on the path of who starts them.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from senseprobe.engines.work import Work
from senseprobe.errors import DamagedRelease, ModelError
from senseprobe.records import Finding


def make_work(folder: Path, count: int, **behaviour: Any) -> Work:  # noqa: ANN401
    """Return the work of `count` pieces whose files are not there; `behaviour` says what goes wrong: see `_Pieces`."""
    folder.mkdir(exist_ok=True)
    argument = json.dumps({"folder": str(folder), **behaviour})
    numbers = tuple(number for number in range(count) if not (folder / f"{number}").exists())
    return Work("numbered_pieces:open_pieces", argument, numbers, "window")


def squares(folder: Path) -> dict[int, int]:
    """Return what the files of pieces hold, by number."""
    found = folder.iterdir() if folder.is_dir() else ()
    return {int(path.name): int(path.read_text()) for path in found if path.name.isdecimal()}


def begun(folder: Path) -> list[int]:
    """Return the numbers of pieces in the order in which they were begun, each as often as that was."""
    log = folder / "begun"
    return [int(line.split()[0]) for line in log.read_text().splitlines()] if log.exists() else []


def workers_of(folder: Path) -> set[int]:
    """Return the ids of the processes that opened the work."""
    opened = folder / "opened"
    return {int(line) for line in opened.read_text().splitlines()} if opened.exists() else set()


@contextmanager
def open_pieces(argument: str, device: str | None) -> Iterator[Callable[[int], int]]:
    """Open the work: what a worker does before its first piece."""
    given = json.loads(argument)
    folder = Path(given["folder"])
    _append(folder / "opened", f"{os.getpid()}")
    _append(folder / "devices", f"{device} {os.environ.get('OMP_NUM_THREADS')}")
    if given.get("unopened") == "model":
        raise ModelError("no-such-model: no such folder")
    if given.get("unopened") == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdout.write("a worker prints what it likes\n")
    yield _Pieces(folder, given).do
    _append(folder / "closed", f"{os.getpid()}")


class _Pieces:
    def __init__(self, folder: Path, given: dict[str, Any]) -> None:
        self.folder, self.given = folder, given

    def do(self, number: int) -> int:
        """Write the square of a number; ten units."""
        _append(self.folder / "begun", f"{number}")
        times = begun(self.folder).count(number)
        if times <= self.given.get("kills", {}).get(str(number), 0):
            os.kill(os.getpid(), signal.SIGKILL)
        if number in self.given.get("exits", []):
            sys.stderr.write("the library is not of this processor\n")
            os._exit(7)
        if number in self.given.get("stops", []):
            raise DamagedRelease([Finding(path="a.parquet", line=number, code="M001", message="is damaged")])
        if number in self.given.get("faults", []):
            raise ZeroDivisionError("a fault of somebody's code")
        if number in self.given.get("floods", []):
            sys.stdout.write("x" * 1_000_000)
        while len(workers_of(self.folder)) < self.given.get("together", 0):
            time.sleep(0.01)
        time.sleep(self.given.get("seconds", 0))
        part = self.folder / f".{number}.{os.getpid()}"
        part.write_text(str(number * number))
        part.replace(self.folder / f"{number}")
        return 10


def _append(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(f"{line}\n")
