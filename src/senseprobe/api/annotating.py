"""Asking people about a release, and taking their answers, as researchers and commands call for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from senseprobe import project as places
from senseprobe.api.releases import verified
from senseprobe.errors import AnnotationError
from senseprobe.wording import counted

if TYPE_CHECKING:
    from senseprobe.annotation.importing import Taken
    from senseprobe.annotation.pulling import Pulled
    from senseprobe.annotation.pushing import Pushed
    from senseprobe.annotation.records import Plan
    from senseprobe.annotation.status import Status


Steps = Callable[[int, int], None]
"""Hears how much is done, of how much."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What is asked of which rows, as `annotation.plan.make_plan` takes it; `n` None: all that `where` finds."""

    n: int | None = 500
    overlap: int = 3
    seed: int = 0
    strata: Sequence[str] = ()
    where: Sequence[str] = ()
    config: str | None = None
    gold: Path | None = None
    questions: Sequence[str] = ()
    prefill: bool = False
    groups: bool = False


def folder_of(project: str, folder: Path | None = None) -> Path:
    """The folder of an annotation project: `folder`, or the one in ``annotations/`` of the user's project.

    AnnotationError where there is no project to have it.
    """
    from senseprobe.annotation.folders import slug

    if folder is not None:
        return folder
    layer = places.user_layer()
    if layer is None:
        raise AnnotationError(f"no project here (no {places.MARKER} in a parent folder): say where with --folder DIR")
    return layer.root / "annotations" / slug(project)


def draw(release: str, project: str, asked: Asked, folder: Path | None = None) -> tuple[Plan, Path]:
    """The plan that asks people about rows of a release, which is verified first; and the folder where it belongs.

    Nothing is written. AnnotationError where it cannot be asked so.
    """
    from senseprobe.annotation.plan import make_plan
    from senseprobe.annotation.planfile import check_project

    check_project(project)
    place = folder_of(project, folder)
    opened, config = verified(release)
    if config is not None and asked.config not in (None, config):
        raise AnnotationError(f"{release} names config {config}, and --config {asked.config}: only one of them")
    plan = make_plan(
        opened,
        project=project,
        n=asked.n,
        overlap=asked.overlap,
        seed=asked.seed,
        strata=asked.strata,
        where=asked.where,
        config=asked.config or config,
        gold=asked.gold,
        questions=asked.questions,
        prefill=asked.prefill,
        groups=asked.groups,
    )
    return plan, place


def push(
    release: str, project: str, asked: Asked, folder: Path | None = None, progress: Steps | None = None
) -> tuple[Plan, Pushed]:
    """Put rows of a release to Label Studio; what is there already is not sent again.

    The server and its token are those of LABEL_STUDIO_URL and LABEL_STUDIO_API_KEY. AnnotationError where it refuses,
    or the project has another plan already.
    """
    from senseprobe.annotation.folders import write_asked
    from senseprobe.annotation.planfile import NAME
    from senseprobe.annotation.pushing import fitting
    from senseprobe.annotation.pushing import push as send
    from senseprobe.annotation.server import connect

    server = connect()  # before rows are drawn, which may take a while
    plan, place = draw(release, project, asked, folder)
    if not (place / NAME).exists():  # which stays, so that a push that cannot be must not leave it
        fitting(server, plan, place)
    write_asked(place, plan)
    return plan, send(server, plan, place, progress)


def status(project: str, folder: Path | None = None) -> Status:
    """How far the annotation of a project is on Label Studio."""
    from senseprobe.annotation.server import connect
    from senseprobe.annotation.status import status as look

    return look(connect(), project_of(project, folder)[0])


def pull(project: str, folder: Path | None = None, *, names: bool = False) -> tuple[Pulled, Taken]:
    """Fetch all answers from Label Studio, and take them into the project's tables.

    Annotators get pseudonyms, or with `names` keep their addresses. AnnotationError where the server refuses.
    """
    from senseprobe.annotation.importing import take
    from senseprobe.annotation.pseudonyms import pseudonyms
    from senseprobe.annotation.pulling import pull as fetch
    from senseprobe.annotation.server import connect

    plan, place = project_of(project, folder)
    server = connect()
    own = pseudonyms(place)  # in any case, and first: it keeps from git what is fetched
    pulled = fetch(server, plan, place)
    return pulled, take(place, plan, pulled.raw, (lambda who: pulled.people.get(who) or who) if names else own)


def export(
    release: str, project: str, asked: Asked, annotators: int, folder: Path | None = None
) -> tuple[Plan, list[Path]]:
    """The same without a server: plan, interface and tasks, and a sheet for each of so many annotators; all files."""
    from senseprobe.annotation.folders import INTERFACE, TASKS, write_asked, write_sheets
    from senseprobe.annotation.planfile import NAME

    if 0 < annotators < asked.overlap:  # before there is a plan, which stays
        people, answers = counted(annotators, "annotator"), counted(asked.overlap, "answer")
        raise AnnotationError(f"{people} cannot give {answers} to each item")
    plan, place = draw(release, project, asked, folder)
    write_asked(place, plan)
    sheets = write_sheets(place, plan, annotators) if annotators else []
    return plan, [*(place / name for name in (NAME, INTERFACE, TASKS)), *sheets]


def import_answers(project: str, files: Sequence[Path], folder: Path | None = None, *, names: bool = False) -> Taken:
    """Take JSON exports of Label Studio and filled-in sheets into the project's tables.

    Annotators get pseudonyms; with `names` they keep the ids of the export, and the names of their sheets.
    """
    from senseprobe.annotation.importing import take_files
    from senseprobe.annotation.pseudonyms import pseudonyms

    plan, place = project_of(project, folder)
    return take_files(place, plan, files, pseudonyms(place), names=names)


def project_of(project: str, folder: Path | None = None) -> tuple[Plan, Path]:
    """The plan of an annotation project, and its folder; AnnotationError where there is none."""
    from senseprobe.annotation.folders import open_plan

    place = folder_of(project, folder)
    if folder is None and not place.exists():
        there = ", ".join(sorted(path.name for path in place.parent.glob("*/"))) or "none"
        raise AnnotationError(f"no annotation project {project!r}: there is {there}")
    return open_plan(place, project), place
