"""Annotation as researchers and commands call for it: ask people about a release, and decide by their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from senseprobe import project as places
from senseprobe.annotation import project_folder, records
from senseprobe.api.releases import load, verified
from senseprobe.errors import AnnotationError, ReleaseError
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.annotation.adjudication import VerdictFolder
    from senseprobe.annotation.agreement import Agreement
    from senseprobe.annotation.decisions import Adjudication
    from senseprobe.annotation.ingest import IngestResult
    from senseprobe.annotation.label_studio.transfer import PullResult, PushResult, Status
    from senseprobe.annotation.publication import Publication
    from senseprobe.annotation.records import Annotation, Plan
    from senseprobe.annotation.rules import Rule
    from senseprobe.api.releases import ReleaseSpec
    from senseprobe.release.release import Release

SHEET_GUIDE = project_folder.READ_FIRST
"""The name of the file that is sent to annotators with their sheet."""

PlanOptions = records.PlanOptions

Progress = Callable[[int, int], None]
"""Hears how many steps are done, of how many."""


def _project_folder(project: str, folder: str | Path | None = None) -> Path:
    """Return the folder of an annotation project: `folder`, or the one in ``annotations/`` of the user's project.

    Raises AnnotationError where the user has no project.
    """
    from senseprobe.annotation.project_folder import slug

    if folder is not None:
        return Path(folder)
    layer = places.user_layer()
    if layer is None:
        raise AnnotationError(f"no project here (no {places.MARKER} in a parent folder): say where with --folder DIR")
    return layer.root / "annotations" / slug(project)


def _open_project(project: str, folder: str | Path | None = None) -> tuple[Plan, Path]:
    """Return the plan of an annotation project, and its folder; raise AnnotationError where there is none."""
    from senseprobe.annotation.plan_file import open_plan

    path = _project_folder(project, folder)
    if folder is None and not path.exists():
        names = ", ".join(sorted(neighbour.name for neighbour in path.parent.glob("*/"))) or "none"
        raise AnnotationError(f"no annotation project {project!r}: there is {names}")
    return open_plan(path, project), path


# --- asking ---------------------------------------------------------------------------------------------------------


def _draw_plan(
    release: ReleaseSpec, project: str, options: PlanOptions, folder: str | Path | None, annotators: int = 0
) -> tuple[Plan, Path]:
    """Return the plan that asks people about rows of a release, which is verified first; and the folder for it.

    Where the folder has a plan with the same options but `n`, it is that plan with more rows. Nothing is written.
    """
    from senseprobe.annotation.plan import OVERLAP, make_plan
    from senseprobe.annotation.plan_file import NAME, check_project, read_plan

    check_project(project)
    path = _project_folder(project, folder)
    opened, config = verified(release)
    configs = [options.config] if isinstance(options.config, str) else [*(options.config or ())]
    if config is not None and {config, *configs} != {config}:
        raise AnnotationError(f"{release} names config {config}, and --config {', '.join(configs)}: only one of them")
    stored = read_plan(path) if (path / NAME).exists() else None
    if options.overlap is None and not stored:
        options = replace(options, overlap=min(OVERLAP, annotators or OVERLAP))
    excluded = [_open_other(other, path) for other in options.exclude]
    return make_plan(opened, project, replace(options, config=configs or config), exclude=excluded, stored=stored), path


def _open_other(project: str | Path, folder: Path) -> Plan:
    """Return the plan of another project, by its name or its folder; raise AnnotationError where it is `folder`."""
    from senseprobe.annotation.plan_file import NAME, read_plan

    by_path = (Path(project) / NAME).is_file()
    plan, path = (read_plan(Path(project)), Path(project)) if by_path else _open_project(str(project))
    if path.absolute() == folder.absolute():
        raise AnnotationError(f"{plan.project} cannot leave out its own rows: --exclude names another project")
    return plan


@with_progress("pushing {project}")
def push(
    release: ReleaseSpec,
    project: str,
    options: PlanOptions,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> tuple[Plan, PushResult]:
    """Put rows of a release to Label Studio; what is there already is not sent again.

    The server and its token are those of LABEL_STUDIO_URL and LABEL_STUDIO_API_KEY. Raises AnnotationError where the
    server refuses, or the project has another plan already.
    """
    from senseprobe.annotation.label_studio.client import connect
    from senseprobe.annotation.label_studio.transfer import check_server_project
    from senseprobe.annotation.label_studio.transfer import push as push_plan
    from senseprobe.annotation.plan_file import NAME
    from senseprobe.annotation.project_folder import write_project

    server = connect()  # before rows are drawn, which may take a while
    plan, path = _draw_plan(release, project, options, folder)
    if not (path / NAME).exists():  # a plan stays, so that a push that cannot be must not leave one
        check_server_project(server, plan, path)
    write_project(path, plan)
    return plan, push_plan(server, plan, path, progress)


@with_progress("drawing {project}")
def export(
    release: ReleaseSpec, project: str, options: PlanOptions, annotators: int, folder: str | Path | None = None
) -> tuple[Plan, list[Path]]:
    """Write plan, interface, tasks and a sheet for each of so many annotators, without a server; return the files."""
    from senseprobe.annotation.project_folder import write_project

    plan, path = _draw_plan(release, project, options, folder, annotators)
    return plan, write_project(path, plan, annotators)


# --- answers --------------------------------------------------------------------------------------------------------


@with_progress("asking about {project}")
def status(project: str, folder: str | Path | None = None) -> Status:
    """Return how far the annotation of a project is on Label Studio."""
    from senseprobe.annotation.label_studio.client import connect
    from senseprobe.annotation.label_studio.transfer import read_status

    return read_status(connect(), *_open_project(project, folder))


@with_progress("pulling {project}")
def pull(project: str, folder: str | Path | None = None, *, names: bool = False) -> tuple[PullResult, IngestResult]:
    """Fetch all answers from Label Studio, and take them into the project's tables.

    Annotators get pseudonyms, or with `names` keep their addresses. Raises AnnotationError where the server refuses.
    """
    from senseprobe.annotation.annotators import pseudonyms
    from senseprobe.annotation.ingest import ingest_export
    from senseprobe.annotation.label_studio.client import connect
    from senseprobe.annotation.label_studio.transfer import pull as pull_export

    plan, path = _open_project(project, folder)
    server = connect()
    pseudonym_of = pseudonyms(path)  # in any case, and first: it keeps from git what is fetched
    pulled = pull_export(server, plan, path)
    name_of = (lambda who: pulled.people.get(who) or who) if names else pseudonym_of
    return pulled, ingest_export(path, plan, pulled.raw, name_of)


@with_progress("importing answers to {project}")
def ingest(
    project: str, files: Sequence[str | Path] = (), folder: str | Path | None = None, *, names: bool = False
) -> IngestResult:
    """Take JSON exports of Label Studio and filled-in sheets into the project's tables; by default its own sheets.

    Annotators get pseudonyms; with `names` they keep the ids of the export, and the names of their sheets.
    """
    from senseprobe.annotation.annotators import pseudonyms
    from senseprobe.annotation.ingest import ingest_files

    plan, path = _open_project(project, folder)
    return ingest_files(path, plan, [Path(file) for file in files], pseudonyms(path), names=names)


def _open_answers(project: str, folder: str | Path | None) -> tuple[Plan, Path, list[Annotation]]:
    from senseprobe.annotation.answers import read_checked_answers

    plan, path = _open_project(project, folder)
    return plan, path, read_checked_answers(plan, path)


# --- deciding -------------------------------------------------------------------------------------------------------


@with_progress("comparing answers to {project}")
def agreement(project: str, folder: str | Path | None = None) -> Agreement:
    """Return how well annotators agree, also written to `agreement.json`.

    Raises AnnotationError where nobody has answered.
    """
    from senseprobe.annotation.agreement import measure_agreement

    return measure_agreement(*_open_answers(project, folder))


@with_progress("deciding on {project}")
def adjudicate(
    project: str,
    rule: Rule | str = "majority",
    folder: str | Path | None = None,
    release: ReleaseSpec | None = None,
    *,
    least: int = 2,
    threshold: float | None = None,
    thresholds: Mapping[str, float] | None = None,
    keep_reported: bool = False,
    propose: bool = False,
) -> Adjudication:
    """Make verdicts of answers, in the dataset's `verdicts.csv`, with `annotation.json` beside it.

    `rule` is ``majority`` or ``dawid-skene``, with the fewest answers that decide (`least`), the share or probability
    that a choice needs (`threshold`; `thresholds` by question), and whether rows that people of the targeted group
    report may stay (`keep_reported`); or a `Rule` with all of these. With `propose`, the rows that nobody judged of
    words and frames that people reject throughout are written to `proposed-verdicts.csv` in the annotation folder.
    `release` is where the release of the plan is, if not in the project. Raises AnnotationError where it is another,
    DeclarationError where a verdict of another source or project says the opposite (nothing is written then), and
    ReleaseError.
    """
    from senseprobe.annotation import adjudication
    from senseprobe.annotation.rules import Rule

    if isinstance(rule, str):
        rule = Rule.of(rule, least=least, threshold=threshold, thresholds=thresholds, keep_reported=keep_reported)
    plan, path, annotations = _open_answers(project, folder)
    opened = _open_release(plan, release)
    target = _verdict_folder(opened, path)
    return adjudication.adjudicate(plan, path, annotations, rule, opened, target, propose=propose)


@with_progress("queueing undecided rows of {project}")
def queue(project: str, folder: str | Path | None = None, *, push: bool = False) -> tuple[int, Path | str | None]:
    """Put the rows that the last `adjudicate` left undecided to one more annotator.

    Returns how many rows that are, and where: the path of a sheet, which `ingest` takes once it is filled in; with
    `push` the address of a project on Label Studio, whose answers `pull` fetches with the others; None without any row.
    Raises AnnotationError where nothing was decided yet, and with `push` as `push`.
    """
    from senseprobe.annotation.decisions import read_undecided

    plan, path = _open_project(project, folder)
    rows = read_undecided(path) & {item.row for item in plan.items}
    if not rows:
        return 0, None
    if push:
        from senseprobe.annotation.label_studio.client import connect
        from senseprobe.annotation.label_studio.transfer import push_queue

        return len(rows), push_queue(connect(), plan, path, rows).url
    from senseprobe.annotation.project_folder import write_queue

    return len(rows), write_queue(path, plan, rows)


@with_progress("reporting {project}")
def report(project: str, out: str | Path | None = None, folder: str | Path | None = None) -> Path:
    """Write one self-contained page of a round, ``report.html`` in the project's folder by default; return its path.

    Annotators have pseudonyms on it. Raises AnnotationError where nobody has answered, or it cannot be written.
    """
    from senseprobe.annotation.report import write_report

    plan, path, annotations = _open_answers(project, folder)
    return write_report(plan, path, annotations, None if out is None else Path(out))


@with_progress("releasing answers to {project}")
def publish_answers(
    project: str,
    out: str | Path,
    folder: str | Path | None = None,
    release: ReleaseSpec | None = None,
    *,
    free_text: bool = False,
) -> Publication:
    """Write all single answers, as they may be published, into the folder `out`, which must not exist."""
    from senseprobe.annotation.adjudication import has_reports
    from senseprobe.annotation.annotators import pseudonyms
    from senseprobe.annotation.publication import publish

    plan, path, annotations = _open_answers(project, folder)
    opened = _open_release(plan, release)
    return publish(
        Path(out),
        plan,
        annotations,
        licence=str(opened.manifest.data["card"].get("license") or ""),
        reported=has_reports(plan, path, annotations, opened, _verdict_folder(opened, path)),
        name_of=pseudonyms(path),
        free_text=free_text,
    )


def _open_release(plan: Plan, spec: ReleaseSpec | None) -> Release:
    """Return the release that a plan asks about; raise AnnotationError where `spec` is another one."""
    try:
        opened = load(spec or plan.release)
    except ReleaseError as error:
        raise (
            error if spec else AnnotationError(f"{error}; if it is elsewhere, say where with --release PATH")
        ) from None
    if opened.manifest.name != plan.release:
        raise AnnotationError(f"people were asked about {plan.release}, and not about {opened.manifest.name}")
    return opened


def _verdict_folder(release: Release, folder: Path) -> VerdictFolder:
    """Return where verdicts on a release go: the folder of its dataset's templates, or else the project's `folder`."""
    from senseprobe.annotation.adjudication import VerdictFolder
    from senseprobe.generator.yaml_source import format_path
    from senseprobe.release.verdicts import VERDICTS

    dataset = str(release.manifest.data["dataset"])
    layer = places.user_layer()
    if layer is not None and dataset in layer.datasets():
        path = layer.templates / dataset
        return VerdictFolder(path=path, display_path=format_path(path / VERDICTS))
    if release.manifest.data["card"].get("imported"):
        reason = f"{dataset} was imported: it is not rebuilt, so both files lie in the annotation folder"
    else:
        reason = (
            f"{dataset} is no dataset of this project, so both files lie in the annotation folder: copy "
            f"templates/{dataset} into your project, and both files into it, to build without the rejected rows"
        )
    return VerdictFolder(path=folder, display_path=format_path(folder / VERDICTS), reason=reason)
