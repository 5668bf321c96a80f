"""Makes the project on Label Studio that asks people what a plan says, and sends its tasks."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from senseprobe.annotation.instructions import warning
from senseprobe.annotation.interface import interface, what_differs
from senseprobe.annotation.planfile import check_project
from senseprobe.annotation.records import Plan
from senseprobe.annotation.sending import SETTLE, Progress, Sending
from senseprobe.annotation.server import Project, Server, Unanswered
from senseprobe.annotation.tasks import MODEL_VERSION, tasks
from senseprobe.errors import AnnotationError
from senseprobe.wording import listed, printable


@dataclass(frozen=True, kw_only=True, slots=True)
class Pushed:
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
) -> Pushed:
    """Make the plan's project, unless it is there, and add the tasks that it lacks.

    `folder` is the project's own, where a request under way is noted; `settle` is how many seconds tasks that were sent
    without an answer may take to appear. Raises AnnotationError where the project has another interface, or tasks that
    are not the plan's (nothing is changed then), where the server refuses, and where this folder is being pushed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        project, created = _project(server, plan)
        sending = Sending(server, project.id, folder, _by_row(plan), settle)
        known = sending.look()
        sending.wait_for_earlier()
        sent = sending.send_missing(progress or (lambda done, total: None))
        duplicates = sending.duplicates()
        return Pushed(
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


def fitting(server: Server, plan: Plan, folder: Path) -> None:
    """AnnotationError where there is a project of the plan's name that asks other things, or of other rows."""
    if project := _asking_the_same(server, plan):
        Sending(server, project.id, folder, _by_row(plan)).look()


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
