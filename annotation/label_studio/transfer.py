"""A plan's project on Label Studio: make it, send its tasks, see how far it is, and fetch all answers.

The server stores whatever it is sent, twice if sent twice. So before each request we look at what is new there since
the last look, and repeat no request before we saw that its tasks are not there. The rows of a request are noted in the
folder first: a server goes on with an import when the program that sent it is killed.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from senseprobe.annotation.guidelines import instruction
from senseprobe.annotation.ingest import store
from senseprobe.annotation.label_studio.client import NoProject, Project, Server, Task, Unanswered
from senseprobe.annotation.label_studio.interface import MODEL_VERSION, find_difference, tasks
from senseprobe.annotation.plan_file import NAME, check_project, read_plan, write_plan
from senseprobe.annotation.project_folder import read_interface
from senseprobe.annotation.records import Plan
from senseprobe.atomic_files import locked, read_plain, write_whole
from senseprobe.document import Section, Table
from senseprobe.errors import AnnotationError
from senseprobe.messages import MAX_LISTED, listed, printable
from senseprobe.tables import UnreadableError, read_json

Progress = Callable[[int, int], None]
"""Called with how many tasks are done of how many."""

CHUNK = 1000  # tasks in a request: more are no faster, and a request that fails is sent again whole
SETTLE = 30.0
"""Seconds in which tasks of a request without an answer may still appear: the server takes one for 1,000 of them."""
NOTE = ".sending.json"  # the file that says what is being sent
QUEUE = "queue-"  # what folders of queues are called, before their number
PROJECT = ".project.json"  # the file that says which project of which server is ours, whatever it is called there

_ATTEMPTS = 3


@dataclass(slots=True)
class _TaskUpload:
    """Tasks by row on their way to a project; `seen` are the ids of those that were there, up to task `last`."""

    server: Server
    project: int
    folder: Path
    tasks: Mapping[str, Mapping[str, Any]]
    settle: float = SETTLE
    last: int = 0
    seen: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, server: Server, project: Project, folder: Path, plan: Plan, settle: float = SETTLE) -> "_TaskUpload":
        return cls(server, project.id, folder, {task["data"]["ext_id"]: task for task in tasks(plan)}, settle)

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
        changed = [t for t in page if t.row in self.tasks and t.content != self.tasks[t.row]["data"]["content"]]
        if unexpected or changed:
            rows = listed(printable(task.row or f"task {task.id}") for task in unexpected or changed)
            why = "that are not in this plan" if unexpected else "whose text differs from the release of this plan"
            raise AnnotationError(
                f"the project on the server has tasks {why} ({rows}); nothing was added: push with its original "
                "options, or as another --project"
            )

    def missing(self, rows: Sequence[str] | None = None) -> list[str]:
        """Return the rows, of `rows` or of all, that were not seen; in their order."""
        return [row for row in (self.tasks if rows is None else rows) if row not in self.seen]

    def count(self) -> int:
        """Return how many tasks were seen."""
        return sum(map(len, self.seen.values()))

    def duplicates(self) -> tuple[str, ...]:
        """Return the rows that are there more than once; look at all again where the server's count is another."""
        if self.server.project(self.project).tasks != self.count():
            self.last, self.seen = 0, {}
            self.look()
        return tuple(row for row, ids in self.seen.items() if len(ids) > 1)

    def wait_for_earlier(self) -> None:
        """Wait for the tasks that an earlier push was sending when it was cut off, as long as they may still appear."""
        note, rows, age = self.folder / NOTE, [], 0.0
        with suppress(OSError, ValueError, KeyError, TypeError):  # a note that cannot be used is none
            noted, age = read_json(read_plain(note, 1 << 25)), max(0.0, time.time() - note.stat().st_mtime)
            if (noted["url"], noted["project"]) == (self.server.url, self.project):
                rows = [row for row in noted["rows"] if row in self.tasks]
        self._await(rows, self.settle - age)
        note.unlink(missing_ok=True)

    def _await(self, rows: Sequence[str], seconds: float) -> None:
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
                raise AnnotationError("Label Studio accepted the tasks but does not list them: check the server")
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
    """What a push did; `known` tasks were there; `duplicates` are rows there more than once, as by two pushes."""

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

    `folder` is the project's own; `settle` is how many seconds tasks that were sent without an answer may take to
    appear. Raises AnnotationError where the project has another interface, or tasks that are not the plan's (nothing is
    changed then), and where this folder is being pushed.
    """
    try:
        with locked(folder):
            return _push(server, plan, folder, progress or (lambda done, total: None), settle)
    except BlockingIOError:
        raise AnnotationError(f"{folder}: another push of this project is running") from None


def _push(server: Server, plan: Plan, folder: Path, progress: Progress, settle: float) -> PushResult:
    check_project(plan.project)
    xml = read_interface(folder, plan)
    existing = _matching_project(server, plan, folder, xml)
    project = existing or _create(server, plan, xml)
    write_whole(folder / PROJECT, json.dumps(_identify(server, project)).encode())
    upload = _TaskUpload.of(server, project, folder, plan, settle)
    uploaded = upload.look()
    upload.wait_for_earlier()
    sent = upload.send_missing(progress)
    duplicates = upload.duplicates()
    note = f"the project asks for {project.overlap} answers per task, but the plan for {plan.overlap}"
    return PushResult(
        project=project.id,
        title=project.title,
        url=server.link(project),
        tasks=upload.count(),
        sent=sent,
        known=uploaded,
        created=existing is None,
        duplicates=duplicates,
        notes=(note,) if project.overlap != plan.overlap else (),
    )


def check_server_project(server: Server, plan: Plan, folder: Path) -> None:
    """Raise AnnotationError where the server has a project of this name with other questions or other rows."""
    if project := _matching_project(server, plan, folder, read_interface(folder, plan)):
        _TaskUpload.of(server, project, folder, plan).look()


def _find_project(server: Server, plan: Plan, folder: Path) -> Project | None:
    """Return the plan's project on the server, None without one; raise AnnotationError where there are several.

    One that was renamed there is found by its number, which the last push noted.
    """
    numbers = server.projects(plan.project)
    if len(numbers) < 2 and (renamed := _find_noted_project(server, folder)):
        return renamed
    return _only_project(server, plan, numbers) if numbers else None


def _only_project(server: Server, plan: Plan, numbers: Sequence[int]) -> Project:
    """Return the project of this number; raise AnnotationError where several have the plan's name."""
    if len(numbers) > 1:  # somebody else may have made one of that name at the same time
        ids, name = listed(map(str, numbers)), printable(plan.project)
        raise AnnotationError(f"{len(numbers)} projects are named {name!r} ({ids}): rename or delete all but one")
    return server.project(numbers[0])


def _identify(server: Server, project: Project) -> dict[str, Any]:
    return {"url": server.url, "project": project.id, "created": project.created}


def _find_noted_project(server: Server, folder: Path) -> Project | None:
    """Return the project that a push of this folder noted; None where it noted none, or that one is gone."""
    with suppress(OSError, ValueError, TypeError, KeyError, NoProject):  # a note that cannot be used is none
        noted = read_json(read_plain(folder / PROJECT, 10_000))
        if noted["url"] == server.url and type(noted["project"]) is int:
            project = server.project(noted["project"])
            return project if _identify(server, project) == noted else None
    return None


def _matching_project(server: Server, plan: Plan, folder: Path, xml: str) -> Project | None:
    """Return the plan's project as `_find_project`; raise AnnotationError where its interface is not `xml`."""
    project = _find_project(server, plan, folder)
    if project and (differs := find_difference(xml, project.interface)):
        raise AnnotationError(
            f"project {plan.project!r} has another interface on the server ({differs}); nothing was changed: push with "
            "its original options, or as another --project"
        )
    return project


def _create(server: Server, plan: Plan, xml: str) -> Project:
    settings = {
        "description": f"Made by senseprobe for {plan.release}, content {plan.content[:12]}.",
        "maximum_annotations": plan.overlap,
        "sampling": "Uniform sampling",  # everybody has an order of their own
        "show_skip_button": True,
        "enable_empty_annotation": False,
        "expert_instruction": instruction(plan),
        "show_instruction": True,
        "show_collab_predictions": plan.prefill,
        **({"model_version": MODEL_VERSION} if plan.prefill else {}),  # of no chosen one no predictions are shown
    }
    try:
        server.create(plan.project, xml, **settings)
    except Unanswered:
        if not server.projects(plan.project):
            raise
    numbers = server.projects(plan.project)
    if not numbers:
        raise AnnotationError(f"project {plan.project!r} was made but is missing: check the server")
    return _only_project(server, plan, numbers)


@dataclass(frozen=True, kw_only=True, slots=True)
class PullResult:
    """All tasks of a project as received, stored in `path` (`new`: only now); `people`: e-mail addresses by user id."""

    path: Path
    new: bool
    raw: bytes
    tasks: int
    people: Mapping[str, str]


def push_queue(server: Server, plan: Plan, folder: Path, rows: Collection[str]) -> PushResult:
    """Put some rows of a plan to one more person: as a project of its own, since Label Studio hides done tasks.

    It has a folder in the plan's, `queue-1`; one in which tasks are left is used again, if it is of the same rows.
    """
    items = tuple(item for item in plan.items if item.row in rows)
    for number in count(1):
        path = folder / f"{QUEUE}{number}"
        queued = replace(plan, project=f"{plan.project[:38]}, queue {number}", items=items, overlap=1, parts=())
        is_new = not (path / NAME).exists()
        if is_new or (read_plan(path) == queued and read_status(server, queued, path).done < len(items)):
            break
    if is_new:
        check_server_project(server, queued, path)
    write_plan(path, queued)
    return push(server, queued, path)


def pull(server: Server, plan: Plan, folder: Path) -> PullResult:
    """Fetch all answers to a plan and its queues, and store them.

    Raises AnnotationError where the server gives less than all.
    """
    exports = [_export(server, plan, folder)]
    exports += [_export(server, read_plan(path), path) for path in sorted(folder.glob(f"{QUEUE}*/")) if path.is_dir()]
    tasks = [task for raw in exports for task in read_json(raw)] if len(exports) > 1 else []
    raw = json.dumps(tasks, ensure_ascii=False).encode() if tasks else exports[0]
    people = {str(number): email for number, email in server.people().items()}
    path, new = store(folder, raw)
    return PullResult(path=path, new=new, raw=raw, tasks=len(tasks or read_json(raw)), people=people)


def _export(server: Server, plan: Plan, folder: Path) -> bytes:
    project = _require_project(server, plan, folder)
    for _ in range(_ATTEMPTS):
        raw = server.export(project.id)
        exported, there = _count_tasks(raw, project), server.project(project.id).tasks
        if exported == there:
            return raw
    raise AnnotationError(
        f"project {printable(plan.project)!r} has {there} tasks, but the server exports {exported}: somebody is "
        "changing it, or it is damaged; nothing was stored"
    )


def _require_project(server: Server, plan: Plan, folder: Path) -> Project:
    """Return the plan's project; raise NoProject, saying what to do, where there is none."""
    if project := _find_project(server, plan, folder):
        return project
    raise NoProject(
        f"{server} does not have the project {printable(plan.project)!r}: it was renamed, deleted or never pushed; "
        "`senseprobe annotate push` makes it, and earlier answers are in exports/"
    )


def _count_tasks(raw: bytes, project: Project) -> int:
    """Return how many tasks an export has; raise AnnotationError where it is none."""
    with suppress(UnreadableError):
        if isinstance(exported := read_json(raw), list):
            return len(exported)
    raise AnnotationError(f"the server did not send an export of Label Studio for project {project.id}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """What a project has.

    - `tasks`: how many there are; `planned`: how many the plan has; `overlap`: how many answers each shall get.
    - `answered`: number of answers → number of tasks with so many; `skips`: how often a task was skipped.
    - `annotators`: e-mail address → tasks that this person answered or skipped.
    - `seconds`: how long an answer takes: the median over tasks of their mean; None without answers. `slowest`: the
      rows whose answers took longest, with their means.
    """

    project: int
    title: str
    url: str
    tasks: int
    planned: int
    overlap: int
    answered: Mapping[int, int]
    skips: int
    annotators: Mapping[str, int]
    seconds: float | None = None
    slowest: Mapping[str, float] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """Tasks that have all the answers that they shall get."""
        return sum(tasks for answers, tasks in self.answered.items() if answers >= self.overlap)

    def as_dict(self) -> dict[str, Any]:
        """Return the record with stable keys."""
        return {**asdict(self), "done": self.done}

    def section(self) -> Section:
        """Return it for people to read."""
        done = f"{self.done} have all {self.overlap} answers"
        texts = [f"{self.title}: {self.tasks} of {self.planned} rows are on the server, {done}"]
        if self.seconds is not None:
            slowest = listed(f"{printable(row)} {seconds:.0f} s" for row, seconds in self.slowest.items())
            texts.append(f"{self.seconds:.0f} s per row (median of rows' means); longest: {slowest}")
        texts.append(f"{self.skips} skipped; {self.url}")
        answered = Table.of_texts({"answers": "name", "rows": "number"}, self.answered.items())
        annotators = Table.of_texts({"annotator": "name", "rows": "number"}, self.annotators.items())
        return Section("", tuple(texts), tables=tuple(table for table in (answered, annotators) if table.rows))


def read_status(server: Server, plan: Plan, folder: Path) -> Status:
    """Return how far a plan's project is; raise AnnotationError where it has none, or the server refuses."""
    project = _require_project(server, plan, folder)
    tasks = [task for page in server.tasks(project.id, people=True) for task in page]
    people = server.people()
    seconds = {task.row: round(task.seconds, 1) for task in tasks if task.seconds is not None}
    slowest = sorted(seconds.items(), key=lambda row: (-row[1], row[0]))[:MAX_LISTED]
    by_person = Counter(people.get(person, f"user {person}") for task in tasks for person in task.people)
    return Status(
        project=project.id,
        title=project.title,
        url=server.link(project),
        tasks=len(tasks),
        planned=len(plan.items),
        overlap=plan.overlap,
        answered=dict(sorted(Counter(task.answers for task in tasks).items())),
        skips=sum(task.skips for task in tasks),
        annotators=dict(sorted(by_person.items())),
        seconds=round(median(seconds.values()), 1) if seconds else None,
        slowest=dict(slowest),
    )
