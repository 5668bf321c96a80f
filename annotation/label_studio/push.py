"""Make a plan's project on Label Studio, and send its tasks: each once, however often and wherever that was cut off.

The server stores whatever it is sent, twice if sent twice. So before each request we look at what is new there since
the last look, and repeat no request before we saw that its tasks are not there. The rows of a request are noted in the
folder first: a server goes on with an import when the program that sent it is killed.
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
from senseprobe.annotation.label_studio.interface import MODEL_VERSION, find_difference, interface, tasks
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
    tasks: Mapping[str, Mapping[str, Any]]
    settle: float = SETTLE
    last: int = 0
    seen: dict[str, list[int]] = field(default_factory=dict)

    def look(self) -> int:
        """Note the tasks that came since the last look, and count them; raise AnnotationError where one is not ours."""
        count = 0
        for page in self.server.tasks(self.project, self.last):
            self._check(page)
            for task in page:
                self.seen.setdefault(task.row, []).append(task.id)
            self.last, count = page[-1].id, count + len(page)
        return count

    def _check(self, page: Sequence[Task]) -> None:
        """Raise AnnotationError where tasks are of other rows, or of other words than the plan's."""
        unexpected = [task for task in page if task.row not in self.tasks]
        other = [task for task in page if task.row in self.tasks and task.content != self._content(task.row)]
        if unexpected or other:
            rows = listed(printable(task.row or f"task {task.id}") for task in unexpected or other)
            why = "that are not in this plan" if unexpected else "whose words are not those of this plan's release"
            raise AnnotationError(
                f"the project on the server has tasks {why} ({rows}); none was added: push with the options that it "
                "was made with, or as another --project"
            )

    def _content(self, row: str) -> str:
        return str(self.tasks[row]["data"].get("content", ""))

    def missing(self, rows: Sequence[str] | None = None) -> list[str]:
        """Return the rows, of `rows` or of all, that were not seen; in their order."""
        return [row for row in (self.tasks if rows is None else rows) if row not in self.seen]

    def count(self) -> int:
        """Return how many tasks were seen."""
        return sum(len(ids) for ids in self.seen.values())

    def duplicates(self) -> tuple[str, ...]:
        """Return the rows that are there more than once; look at all again where the server's count is another."""
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
        """Return the rows that were being sent, and the seconds that are left to them; none where no note is usable."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            noted, age = json.loads(read_plain(note, 1 << 25)), max(0.0, time.time() - note.stat().st_mtime)
            if (noted["url"], noted["project"]) == (self.server.url, self.project):
                return [row for row in noted["rows"] if row in self.tasks], self.settle - age
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
        progress(before, len(self.tasks))
        while missing := self.missing():
            self._send(missing[:CHUNK])
            progress(len(self.seen), len(self.tasks))
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
            self.server.send(self.project, [self.tasks[row] for row in rows])
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
        """Return the record with stable keys."""
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
        project, created = _ensure_project(server, plan)
        upload = TaskUpload(server, project.id, folder, _by_row(plan), settle)
        existing = upload.look()
        upload.wait_for_earlier()
        sent = upload.send_missing(progress or (lambda done, total: None))
        duplicates = upload.duplicates()
        return PushResult(
            project=project.id,
            title=project.title,
            url=server.link(project),
            tasks=upload.count(),
            sent=sent,
            known=existing,
            created=created,
            duplicates=duplicates,
            notes=_notes(project, plan),
        )


def find_project(server: Server, plan: Plan) -> Project | None:
    """Return the plan's project on the server, None without one; raise AnnotationError where there are several."""
    numbers = server.projects(plan.project)
    if len(numbers) > 1:
        ids = listed(map(str, numbers))
        name = printable(plan.project)
        raise AnnotationError(f"{len(numbers)} projects are called {name!r} ({ids}): rename or delete all but one")
    return server.project(numbers[0]) if numbers else None


def check_server_project(server: Server, plan: Plan, folder: Path) -> None:
    """Raise AnnotationError where the server has a project of this name with other questions or other rows."""
    if project := _matching_project(server, plan):
        TaskUpload(server, project.id, folder, _by_row(plan)).look()


def _by_row(plan: Plan) -> dict[str, dict[str, Any]]:
    return {str(task["data"]["ext_id"]): task for task in tasks(plan)}


def _matching_project(server: Server, plan: Plan) -> Project | None:
    """Return the plan's project as `find_project`; raise AnnotationError where its interface is another."""
    project = find_project(server, plan)
    if project and (differs := find_difference(interface(plan), project.interface)):
        raise AnnotationError(
            f"project {plan.project!r} has another interface on the server ({differs}); nothing was changed: push with "
            "the options that it was made with, or as another --project"
        )
    return project


def _ensure_project(server: Server, plan: Plan) -> tuple[Project, bool]:
    """Return the plan's project, and whether it was made."""
    check_project(plan.project)
    if project := _matching_project(server, plan):
        return project, False
    return _create(server, plan, interface(plan)), True


def _create(server: Server, plan: Plan, xml: str) -> Project:
    """Make the project with the plan's settings, and return it."""
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
        server.create(plan.project, xml, **settings)
    except Unanswered:
        if not server.projects(plan.project):
            raise
    project = find_project(server, plan)  # somebody else may have made one of that name at the same time
    if project is None:
        raise AnnotationError(f"project {plan.project!r} was made, and is not there: look at the server")
    return project


def _notes(project: Project, plan: Plan) -> tuple[str, ...]:
    if project.overlap == plan.overlap:
        return ()
    return (f"the project asks for {project.overlap} answers per task, the plan for {plan.overlap}",)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the folder; raise AnnotationError where another process has it. The system unlocks it if we die."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AnnotationError(f"{folder}: another push of this project is running") from None
        yield
    finally:
        os.close(handle)
