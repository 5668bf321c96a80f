"""Brings tasks to a project, each once, however often it is run and wherever it was cut off.

The server keeps whatever it is sent, twice if sent twice. So before each request we look at what came to be there since
the last look, and no request is repeated before it was seen that its tasks are not there. What is being sent is noted
in the folder first: a server goes on with an import when the program that asked for it is killed.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from senseprobe.annotation.server import Server, Task, Unanswered
from senseprobe.errors import AnnotationError
from senseprobe.files import read_plain, write_whole
from senseprobe.wording import listed, printable

Progress = Callable[[int, int], None]
"""Called with how many tasks are done of how many."""

CHUNK = 1000
"""Tasks in a request: more are no faster, and a request that fails is sent again whole."""
SETTLE = 30.0
"""Seconds in which tasks of a request without an answer may still appear: the server takes one for 1,000 of them."""
NOTE = ".sending.json"
"""The file that says what is being sent."""

_ATTEMPTS = 3


@dataclass(slots=True)
class Sending:
    """Tasks by row on their way to a project; `seen` are the ids of those that were there, up to task `last`."""

    server: Server
    project: int
    folder: Path
    wanted: Mapping[str, Mapping[str, Any]]
    settle: float = SETTLE
    last: int = 0
    seen: dict[str, list[int]] = field(default_factory=dict)

    def look(self) -> int:
        """Take in the tasks that came since the last look, and count them; AnnotationError where some are not ours."""
        count = 0
        for page in self.server.tasks(self.project, self.last):
            self._check(page)
            for task in page:
                self.seen.setdefault(task.row, []).append(task.id)
            self.last, count = page[-1].id, count + len(page)
        return count

    def _check(self, page: Sequence[Task]) -> None:
        """AnnotationError where tasks are of other rows, or of other words than the plan's."""
        strange = [task for task in page if task.row not in self.wanted]
        other = [task for task in page if task.row in self.wanted and task.content != self._content(task.row)]
        if strange or other:
            rows = listed(printable(task.row or f"task {task.id}") for task in strange or other)
            why = "that are not in this plan" if strange else "whose words are not those of this plan's release"
            raise AnnotationError(
                f"the project on the server has tasks {why} ({rows}); none was added: push with the options that it "
                "was made with, or as another --project"
            )

    def _content(self, row: str) -> str:
        return str(self.wanted[row]["data"].get("content", ""))

    def missing(self, rows: Sequence[str] | None = None) -> list[str]:
        """The rows, of `rows` or of all, that were not seen; in their order."""
        return [row for row in (self.wanted if rows is None else rows) if row not in self.seen]

    def count(self) -> int:
        """How many tasks were seen."""
        return sum(len(ids) for ids in self.seen.values())

    def duplicates(self) -> tuple[str, ...]:
        """The rows that are there more than once; all are looked at again where the server's count is another."""
        if self.server.project(self.project).tasks != self.count():
            self.last, self.seen = 0, {}
            self.look()
        return tuple(row for row, ids in self.seen.items() if len(ids) > 1)

    def wait_for_earlier(self) -> None:
        """Wait for the tasks that an earlier push was sending when it was cut off, as long as they may still appear."""
        note = self.folder / NOTE
        self._await(*self._noted(note))
        note.unlink(missing_ok=True)

    def _noted(self, note: Path) -> tuple[list[str], float]:
        """The rows that were being sent, and the seconds that are left to them; none where nothing usable is noted."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            told, age = json.loads(read_plain(note, 1 << 25)), max(0.0, time.time() - note.stat().st_mtime)
            if (told["url"], told["project"]) == (self.server.url, self.project):
                return [row for row in told["rows"] if row in self.wanted], self.settle - age
        return [], 0.0

    def _await(self, rows: Sequence[str], seconds: float) -> None:
        """Look until the rows are there, or the time is over."""
        until = time.monotonic() + seconds
        while self.missing(rows) and (left := until - time.monotonic()) > 0:
            time.sleep(min(1.0, left))
            with suppress(Unanswered):
                self.look()

    def send_missing(self, progress: Progress) -> int:
        """Send what is missing, in chunks; how many rows came to be there by that."""
        before = len(self.seen)
        progress(before, len(self.wanted))
        while missing := self.missing():
            self._send(missing[:CHUNK])
            progress(len(self.seen), len(self.wanted))
        return len(self.seen) - before

    def _send(self, rows: Sequence[str]) -> None:
        """Send these rows, and again only those that were not there when we had waited for them."""
        for attempt in range(1, _ATTEMPTS + 1):
            self.look()
            if not (missing := self.missing(rows)):
                return
            lost = self._send_once(missing)
            if not self.missing(missing):
                return
            if lost is None:
                raise AnnotationError("Label Studio took the tasks, and does not list them: look at the server")
            if attempt == _ATTEMPTS:
                raise lost

    def _send_once(self, rows: Sequence[str]) -> Unanswered | None:
        """Send these rows and look at what is there; the error if there was no answer, though they may be there."""
        note, lost = self.folder / NOTE, None
        write_whole(note, json.dumps({"url": self.server.url, "project": self.project, "rows": [*rows]}).encode())
        try:
            self.server.send(self.project, [self.wanted[row] for row in rows])
        except Unanswered as error:
            lost = error
        except AnnotationError:
            note.unlink(missing_ok=True)  # they were refused, or nobody was there to take them
            raise
        self._await(rows, self.settle) if lost else self.look()
        note.unlink(missing_ok=True)
        return lost
