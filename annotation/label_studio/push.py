"""Brings tasks to a project, each once, however often it is run and wherever it was cut off.

The server keeps whatever it is sent, twice if sent twice. So before each request we look at what came to be there since
the last look, and no request is repeated before it was seen that its tasks are not there. What is being sent is noted
in the folder first: a server goes on with an import when the program that asked for it is killed.

Makes the project on Label Studio that asks people what a plan says, and sends its tasks.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from senseprobe.annotation.label_studio.client import Project, Server, Task, Unanswered
from senseprobe.annotation.label_studio.interface import MODEL_VERSION, interface, tasks, what_differs
from senseprobe.annotation.plan_file import check_project
from senseprobe.annotation.questions import warning
from senseprobe.annotation.records import Plan
from senseprobe.atomic_files import read_plain, write_whole
from senseprobe.errors import AnnotationError
from senseprobe.messages import listed, printable

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
class TaskUpload:
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


@dataclass(frozen=True, kw_only=True, slots=True)
class PushResult:
    """What a push did: `sent` tasks were added, `known` were there; `tasks` is how many the project has now.

    `created` says whether the project was made; `duplicates` are rows that are there more than once, as when two people
    push at once; `notes` say what is not as the plan has it.
    """

    project: int
    title: str
    url: str
    tasks: int
    sent: int
    known: int
    created: bool
    duplicates: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The record with stable keys."""
        return asdict(self)


def push(
    server: Server, plan: Plan, folder: Path, progress: Progress | None = None, *, settle: float = SETTLE
) -> PushResult:
    """Make the plan's project, unless it is there, and add the tasks that it lacks.

    `folder` is the project's own, where a request under way is noted; `settle` is how many seconds tasks that were sent
    without an answer may take to appear. Raises AnnotationError where the project has another interface, or tasks that
    are not the plan's (nothing is changed then), where the server refuses, and where this folder is being pushed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        project, created = _project(server, plan)
        sending = TaskUpload(server, project.id, folder, _by_row(plan), settle)
        known = sending.look()
        sending.wait_for_earlier()
        sent = sending.send_missing(progress or (lambda done, total: None))
        duplicates = sending.duplicates()
        return PushResult(
            project=project.id,
            title=project.title,
            url=server.link(project),
            tasks=sending.count(),
            sent=sent,
            known=known,
            created=created,
            duplicates=duplicates,
            notes=_notes(project, plan),
        )


def find(server: Server, plan: Plan) -> Project | None:
    """The plan's project on the server, None where there is none; AnnotationError where there are several."""
    found = server.projects(plan.project)
    if len(found) > 1:
        ids = listed(str(number) for number in found)
        name = printable(plan.project)
        raise AnnotationError(f"{len(found)} projects are called {name!r} ({ids}): rename or delete all but one")
    return server.project(found[0]) if found else None


def check_server_project(server: Server, plan: Plan, folder: Path) -> None:
    """AnnotationError where there is a project of the plan's name that asks other things, or of other rows."""
    if project := _asking_the_same(server, plan):
        TaskUpload(server, project.id, folder, _by_row(plan)).look()


def _by_row(plan: Plan) -> dict[str, dict[str, Any]]:
    return {str(task["data"]["ext_id"]): task for task in tasks(plan)}


def _asking_the_same(server: Server, plan: Plan) -> Project | None:
    """As `find`; AnnotationError where the project asks other things."""
    project = find(server, plan)
    if project and (differs := what_differs(interface(plan), project.interface)):
        raise AnnotationError(
            f"project {plan.project!r} has another interface on the server ({differs}); nothing was changed: push with "
            "the options that it was made with, or as another --project"
        )
    return project


def _project(server: Server, plan: Plan) -> tuple[Project, bool]:
    """The plan's project, and whether it was made."""
    check_project(plan.project)
    if project := _asking_the_same(server, plan):
        return project, False
    return _made(server, plan, interface(plan)), True


def _made(server: Server, plan: Plan, wanted: str) -> Project:
    """The project, made with the plan's settings."""
    settings = {
        "description": f"Made by senseprobe for {plan.release}, content {plan.content[:12]}.",
        "maximum_annotations": plan.overlap,
        "sampling": "Uniform sampling",  # everybody has an order of their own
        "show_skip_button": True,
        "enable_empty_annotation": False,
        "expert_instruction": warning(),
        "show_instruction": True,
        "show_collab_predictions": plan.prefill,
        **({"model_version": MODEL_VERSION} if plan.prefill else {}),  # of no chosen one no predictions are shown
    }
    try:
        server.create(plan.project, wanted, **settings)
    except Unanswered:
        if not server.projects(plan.project):
            raise
    project = find(server, plan)  # somebody else may have made one of that name at the same time
    if project is None:
        raise AnnotationError(f"project {plan.project!r} was made, and is not there: look at the server")
    return project


def _notes(project: Project, plan: Plan) -> tuple[str, ...]:
    if project.overlap == plan.overlap:
        return ()
    return (f"the project asks for {project.overlap} answers per task, the plan for {plan.overlap}",)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder; AnnotationError where another process does. The system lets go if we die."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AnnotationError(f"{folder}: another push of this project is running") from None
        yield
    finally:
        os.close(handle)
