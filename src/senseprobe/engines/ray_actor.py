"""What an actor of Ray does: it opens what it needs for its first piece, and says of each what came of it, as text."""

import json
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from senseprobe.engines.work import TRIES, Do, describe_failure, open_worker
from senseprobe.errors import SenseprobeError


class PieceActor:
    """Does a piece at a time.

    `notes` is a folder that whoever started the work has made: that it is here shows that both see the same folders,
    and it holds how often each piece was begun. Without a name nothing is checked or counted. `device` is what it opens
    that on; None: its own choice.
    """

    def __init__(self, worker: str, argument: str, notes: str, device: str | None = None) -> None:
        self._worker, self._argument, self._device = worker, argument, device
        self._notes = Path(notes) if notes else None
        self._do: Do | None = None
        self._opened = ExitStack()

    def __call__(self, batch: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
        """Return the reports of pieces, each as JSON."""
        return {"report": [json.dumps(self._report(int(number))) for number in batch["number"]]}

    def _report(self, number: int) -> dict[str, Any]:
        report: dict[str, Any] = {"number": number, "host": socket.gethostname()}
        try:
            if self._notes is not None:
                _count_try(self._notes, number)
            if self._do is None:
                self._do = self._opened.enter_context(open_worker(self._worker, self._argument, self._device))
            return {**report, "units": int(self._do(number))}
        except BaseException as error:  # noqa: BLE001 - of whatever kind: it is raised where the work was started
            return {**report, "failed": describe_failure(error), "ended_often": isinstance(error, EndedOftenError)}


class EndedOftenError(SenseprobeError):
    """A piece was begun so often that it is given up; its name is put before the message elsewhere."""


def _count_try(notes: Path, number: int) -> None:
    """Note that a piece is begun. SenseprobeError where it was too often, or where the folder is not the shared one."""
    if not notes.is_dir():
        raise SenseprobeError(
            f"{notes.parent} on {socket.gethostname()} is not the folder of that name where the work was started: "
            "name one that all machines share"
        )
    note = notes / f"{number}"
    with note.open("ab") as file:
        file.write(b".")
    if note.stat().st_size > TRIES:
        raise EndedOftenError(
            f"its process ended {TRIES} times, as where memory runs out; what is done is kept, and the same command, "
            "with fewer workers if memory was short, goes on there"
        )
