"""Fetches all that was answered on Label Studio, and keeps it as it was received."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from senseprobe.annotation.keeping import keep
from senseprobe.annotation.pushing import find
from senseprobe.annotation.records import Plan
from senseprobe.annotation.server import NoProject, Project, Server
from senseprobe.errors import AnnotationError
from senseprobe.wording import printable

_ATTEMPTS = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Pulled:
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


def pull(server: Server, plan: Plan, folder: Path) -> Pulled:
    """Fetch all answers to a plan; the file ``exports/NUMBER-SHA.json`` of `folder` appears whole or not at all.

    Raises AnnotationError where there is no such project (any more), and where the server gives less than all.
    """
    project = wanted(server, plan)
    for _ in range(_ATTEMPTS):
        raw = server.export(project.id)
        given, there = _count(raw, project), server.project(project.id).tasks
        if given == there:
            people = {str(number): email for number, email in server.people().items()}
            path, new = keep(folder, raw)
            return Pulled(path=path, new=new, raw=raw, tasks=given, people=people)
    raise AnnotationError(
        f"project {printable(plan.project)!r} has {there} tasks, and the server gives {given}: somebody changes it at "
        "this moment, or it is damaged; nothing was kept"
    )


def wanted(server: Server, plan: Plan) -> Project:
    """The plan's project; NoProject, saying what to do, where there is none."""
    if project := find(server, plan):
        return project
    raise NoProject(
        f"no project {printable(plan.project)!r} at {server}: it was renamed, deleted or never pushed; "
        "`senseprobe annotate push` makes it, and earlier answers are in the folder's exports/"
    )


def _count(raw: bytes, project: Project) -> int:
    """How many tasks an export has; AnnotationError where it is none."""
    try:
        tasks = json.loads(raw)
    except (ValueError, RecursionError):
        tasks = None
    if not isinstance(tasks, list):
        raise AnnotationError(f"what the server gives for project {project.id} is no export of Label Studio")
    return len(tasks)
