"""Fetch all answers from Label Studio, stored as received; and how far the annotation of a project is."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from senseprobe.annotation.ingest import store
from senseprobe.annotation.label_studio.client import NoProject, Project, Server
from senseprobe.annotation.label_studio.push import find_project
from senseprobe.annotation.records import Plan
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable

_ATTEMPTS = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class PullResult:
    """All tasks of a project with their annotations, as they were received.

    - `path`: the file that holds `raw`; `new`: whether it was written now, as something had changed.
    - `tasks`: how many there are.
    - `people`: the e-mail addresses of the server's users, by the ids that annotations name.
    """

    path: Path
    new: bool
    raw: bytes
    tasks: int
    people: Mapping[str, str]


def pull(server: Server, plan: Plan, folder: Path) -> PullResult:
    """Fetch all answers to a plan; the file ``exports/NUMBER-SHA.json`` of `folder` appears whole or not at all.

    Raises AnnotationError where there is no such project (any more), and where the server gives less than all.
    """
    project = require_project(server, plan)
    for _ in range(_ATTEMPTS):
        raw = server.export(project.id)
        given, there = _count(raw, project), server.project(project.id).tasks
        if given == there:
            people = {str(number): email for number, email in server.people().items()}
            path, new = store(folder, raw)
            return PullResult(path=path, new=new, raw=raw, tasks=given, people=people)
    raise AnnotationError(
        f"project {printable(plan.project)!r} has {there} tasks, and the server gives {given}: somebody changes it at "
        "this moment, or it is damaged; nothing was kept"
    )


def require_project(server: Server, plan: Plan) -> Project:
    """Return the plan's project; raise NoProject, saying what to do, where there is none."""
    if project := find_project(server, plan):
        return project
    raise NoProject(
        f"no project {printable(plan.project)!r} at {server}: it was renamed, deleted or never pushed; "
        "`senseprobe annotate push` makes it, and earlier answers are in the folder's exports/"
    )


def _count(raw: bytes, project: Project) -> int:
    """Return how many tasks an export has; raise AnnotationError where it is none."""
    try:
        tasks = json.loads(raw)
    except (ValueError, RecursionError):
        tasks = None
    if not isinstance(tasks, list):
        raise AnnotationError(f"what the server gives for project {project.id} is not an export of Label Studio")
    return len(tasks)


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """What a project has.

    - `tasks`: how many there are; `planned`: how many the plan has; `overlap`: how many answers each shall get.
    - `answered`: number of answers → number of tasks with so many; `skips`: how often a task was skipped.
    - `annotators`: e-mail address → tasks that this person answered or skipped.
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

    @property
    def done(self) -> int:
        """Tasks that have all the answers that they shall get."""
        return sum(tasks for answers, tasks in self.answered.items() if answers >= self.overlap)

    def as_dict(self) -> dict[str, Any]:
        """Return the record with stable keys."""
        return {**asdict(self), "done": self.done}


def read_status(server: Server, plan: Plan) -> Status:
    """Return how far a plan's project is; raise AnnotationError where it has none, or the server refuses."""
    project = require_project(server, plan)
    tasks = [task for page in server.tasks(project.id, people=True) for task in page]
    people = server.people()
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
    )
