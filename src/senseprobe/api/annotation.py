"""Annotation: ask people about the rows of a release, and decide by their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from senseprobe import project as places
from senseprobe.annotation import plan_options
from senseprobe.api.releases import load, verified
from senseprobe.errors import AnnotationError, ReleaseError
from senseprobe.options import RELEASE, Argument, Option
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.annotation.adjudication import VerdictFolder
    from senseprobe.annotation.agreement_figures import Agreement
    from senseprobe.annotation.decisions import Adjudication
    from senseprobe.annotation.ingest import IngestResult
    from senseprobe.annotation.label_studio.transfer import PullResult, PushResult, Status
    from senseprobe.annotation.publication import Publication
    from senseprobe.annotation.records import Annotation, Plan
    from senseprobe.annotation.rules import Rule
    from senseprobe.api.releases import ReleaseSpec
    from senseprobe.release.release import Release

SHEET_GUIDE = plan_options.READ_FIRST
"""The name of the file that is sent to annotators with their sheet."""

PlanOptions = plan_options.PlanOptions

PROJECT = Argument(metavar="PROJECT", help="Name of the annotation project.")
NEW_PROJECT = Option("--project", help="Name of the annotation project.", shown_default="")
FOLDER = Option(help="Folder of the annotation project.", shown_default="annotations/PROJECT in your project")
WHERE_RELEASE = Option("--release", help="Read the release from here, if it is not in your project.")
NAMES = Option("--names", help="Keep the annotators' names instead of pseudonyms.")

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
        raise AnnotationError(
            f"not in a project (no parent folder has a {places.MARKER}): name the folder with --folder DIR"
        )
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
        raise AnnotationError(
            f"{release} names config {config}, but --config names {', '.join(configs)}: use only one of them"
        )
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
        raise AnnotationError(f"{plan.project} cannot exclude its own rows: name another project with --exclude")
    return plan


@with_progress("pushing {project}")
def push(
    release: Annotated[ReleaseSpec, RELEASE],
    project: Annotated[str, NEW_PROJECT],
    options: PlanOptions,
    folder: Annotated[str | Path | None, FOLDER] = None,
    progress: Progress | None = None,
) -> tuple[Plan, PushResult]:
    """Draw rows of a release and send them to Label Studio; rows that are there are not sent again.

    LABEL_STUDIO_URL and LABEL_STUDIO_API_KEY name the server and its token. Raises AnnotationError if the server
    refuses, or if the project already has another plan.
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
    release: Annotated[ReleaseSpec, RELEASE],
    project: Annotated[str, NEW_PROJECT],
    options: PlanOptions,
    annotators: Annotated[int, Option(least=0, most=100, help="Write a CSV for each of this many annotators.")] = 0,
    folder: Annotated[str | Path | None, FOLDER] = None,
) -> tuple[Plan, list[Path]]:
    """Write the annotation plan, interface and tasks as files, with a CSV per annotator; no server is needed.

    Raises DamagedRelease, and SenseprobeError if none of the configs has labelled pairs, or if `out` exists.
    """
    from senseprobe.annotation.project_folder import write_project

    plan, path = _draw_plan(release, project, options, folder, annotators)
    return plan, write_project(path, plan, annotators)


# --- answers --------------------------------------------------------------------------------------------------------


@with_progress("asking about {project}")
def status(project: Annotated[str, PROJECT], folder: Annotated[str | Path | None, FOLDER] = None) -> Status:
    """Show the progress on Label Studio: answers per row and per annotator."""
    from senseprobe.annotation.label_studio.client import connect
    from senseprobe.annotation.label_studio.transfer import read_status

    return read_status(connect(), *_open_project(project, folder))


@with_progress("pulling {project}")
def pull(
    project: Annotated[str, PROJECT],
    folder: Annotated[str | Path | None, FOLDER] = None,
    *,
    names: Annotated[bool, NAMES] = False,
) -> tuple[PullResult, IngestResult]:
    """Fetch all answers from Label Studio under pseudonyms, and keep the raw export.

    The answers also go into the project's tables. Raises AnnotationError if the server refuses.
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
    project: Annotated[str, PROJECT],
    files: Annotated[
        Sequence[str | Path],
        Argument(
            metavar="FILE...",
            help="A JSON export of Label Studio, or CSV files with answers.",
            shown_default="the project's own sheets",
        ),
    ] = (),
    folder: Annotated[str | Path | None, FOLDER] = None,
    *,
    names: Annotated[bool, NAMES] = False,
) -> IngestResult:
    """Import answers from files; each CSV is named after its annotator.

    With `names`, the names are the ids of the export and the names of the sheets.
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
def agreement(project: Annotated[str, PROJECT], folder: Annotated[str | Path | None, FOLDER] = None) -> Agreement:
    """Measure agreement on each question, with intervals; also by stratum, annotator, word and group.

    Also writes `agreement.json`. Raises AnnotationError if there are no answers.
    """
    from senseprobe.annotation.agreement import measure_agreement

    return measure_agreement(*_open_answers(project, folder))


@with_progress("deciding on {project}")
def adjudicate(
    project: Annotated[str, PROJECT],
    rule: Annotated[
        Rule | str,
        Option(
            type=Literal["majority", "dawid-skene"],
            help="Combine answers by this rule; see docs/annotation.md.",
        ),
    ] = "majority",
    folder: Annotated[str | Path | None, FOLDER] = None,
    release: Annotated[ReleaseSpec | None, WHERE_RELEASE] = None,
    *,
    least: Annotated[int, Option(least=1, help="Number of answers that a question needs.")] = 2,
    threshold: Annotated[
        float | None,
        Option(
            type=list[str],
            metavar="[QUESTION=]SHARE",
            help="Share of answers, or probability, that a choice needs; may be repeated for single questions.",
            shown_default="0.5 and more than half; dawid-skene 0.8",
        ),
    ] = None,
    thresholds: Mapping[str, float] | None = None,
    keep_reported: Annotated[
        bool, Option("--keep-reported", help="Keep rows that annotators of the targeted group report.")
    ] = False,
    propose: Annotated[
        bool, Option("--propose", help="Write the rows of words and frames that annotators reject in all rows.")
    ] = False,
) -> Adjudication:
    """Turn answers into verdicts; the next build omits the rejected rows.

    Verdicts go into the dataset's `verdicts.csv`, with `annotation.json` next to it. Proposals for unjudged rows go
    into `proposed-verdicts.csv` in the annotation folder. `thresholds` are by question; a `Rule` combines all
    settings. Raises AnnotationError for an unknown rule, DeclarationError if a verdict from another source or
    project says the opposite (nothing is written then), and ReleaseError.
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
def queue(
    project: Annotated[str, PROJECT],
    folder: Annotated[str | Path | None, FOLDER] = None,
    *,
    push: Annotated[
        bool, Option("--push", help="Send them to Label Studio, as a separate project, instead of writing a CSV.")
    ] = False,
) -> tuple[int, Path | str | None]:
    """Ask one more person about the undecided rows, in a CSV or on Label Studio.

    Returns the number of these rows, and their place: the path of a sheet (import it with `ingest` once it is
    filled in), or with `push` the address of a project on Label Studio (`pull` fetches its answers with the
    others), or None without rows. Raises AnnotationError if nothing was decided yet, and with `push` the same
    errors as `push`.
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
def report(
    project: Annotated[str, PROJECT],
    out: Annotated[
        str | Path | None,
        Option(
            "--out -o", metavar="FILE", help="Write this page.", shown_default="report.html in the project's folder"
        ),
    ] = None,
    folder: Annotated[str | Path | None, FOLDER] = None,
) -> Path:
    """Write one HTML page about an annotation round: progress, agreement, annotators, disputes and decisions.

    Returns its path. Annotators have pseudonyms on it. Raises AnnotationError if there are no answers, or if the
    page cannot be written.
    """
    from senseprobe.annotation.report import write_report

    plan, path, annotations = _open_answers(project, folder)
    return write_report(plan, path, annotations, None if out is None else Path(out))


@with_progress("releasing answers to {project}")
def publish_answers(
    project: Annotated[str, PROJECT],
    out: Annotated[str | Path, Argument(metavar="OUT", help="Write to this new folder.")],
    folder: Annotated[str | Path | None, FOLDER] = None,
    release: Annotated[ReleaseSpec | None, WHERE_RELEASE] = None,
    *,
    free_text: Annotated[
        bool, Option("--free-text", help="Include comments in the annotators' own words; read them first.")
    ] = False,
) -> Publication:
    """Write all single answers under pseudonyms, to be published with the release."""
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
            error if spec else AnnotationError(f"{error}; if it is elsewhere, name its folder with --release PATH")
        ) from None
    if opened.manifest.name != plan.release:
        raise AnnotationError(f"this annotation project is about {plan.release}, not about {opened.manifest.name}")
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
        reason = f"{dataset} was imported and cannot be rebuilt, so both files are in the annotation folder"
    else:
        reason = (
            f"{dataset} is not a dataset of this project, so both files are in the annotation folder: copy "
            f"templates/{dataset} into your project and both files into that folder, to build without the rejected rows"
        )
    return VerdictFolder(path=folder, display_path=format_path(folder / VERDICTS), reason=reason)
