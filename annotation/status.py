"""How far the annotation of a project is: which tasks have how many answers, and from whom."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from senseprobe.annotation.pulling import wanted
from senseprobe.annotation.records import Plan
from senseprobe.annotation.server import Server


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
        """The record with stable keys."""
        return {**asdict(self), "done": self.done}


def status(server: Server, plan: Plan) -> Status:
    """How far a plan's project is; AnnotationError where there is none (any more), or the server refuses."""
    project = wanted(server, plan)
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
