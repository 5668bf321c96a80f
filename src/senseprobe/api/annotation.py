"""Asking people about a release, and taking their answers, as researchers and commands call for it.

Making decisions of people's answers, as researchers and commands call for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from senseprobe import project as places
from senseprobe.api.releases import load, verified
from senseprobe.errors import AnnotationError, ReleaseError
from senseprobe.messages import counted, listed, printable

if TYPE_CHECKING:
    from senseprobe.annotation.adjudication import Claim, Decision
    from senseprobe.annotation.agreement import Agreement
    from senseprobe.annotation.ingest import Taken
    from senseprobe.annotation.label_studio.pull import Pulled, Status
    from senseprobe.annotation.label_studio.push import Pushed
    from senseprobe.annotation.publication import Published
    from senseprobe.annotation.records import Annotation, Plan
    from senseprobe.annotation.rules import Rule
    from senseprobe.release.annotation_record import AgreementFact, Round
    from senseprobe.release.release import Release

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
    from senseprobe.annotation.project_folder import slug

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
    from senseprobe.annotation.plan_file import check_project

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
    from senseprobe.annotation.label_studio.client import connect
    from senseprobe.annotation.label_studio.push import fitting
    from senseprobe.annotation.label_studio.push import push as send
    from senseprobe.annotation.plan_file import NAME
    from senseprobe.annotation.project_folder import write_asked

    server = connect()  # before rows are drawn, which may take a while
    plan, place = draw(release, project, asked, folder)
    if not (place / NAME).exists():  # which stays, so that a push that cannot be must not leave it
        fitting(server, plan, place)
    write_asked(place, plan)
    return plan, send(server, plan, place, progress)


def status(project: str, folder: Path | None = None) -> Status:
    """How far the annotation of a project is on Label Studio."""
    from senseprobe.annotation.label_studio.client import connect
    from senseprobe.annotation.label_studio.pull import status as look

    return look(connect(), project_of(project, folder)[0])


def pull(project: str, folder: Path | None = None, *, names: bool = False) -> tuple[Pulled, Taken]:
    """Fetch all answers from Label Studio, and take them into the project's tables.

    Annotators get pseudonyms, or with `names` keep their addresses. AnnotationError where the server refuses.
    """
    from senseprobe.annotation.ingest import take
    from senseprobe.annotation.label_studio.client import connect
    from senseprobe.annotation.label_studio.pull import pull as fetch
    from senseprobe.annotation.pseudonyms import pseudonyms

    plan, place = project_of(project, folder)
    server = connect()
    own = pseudonyms(place)  # in any case, and first: it keeps from git what is fetched
    pulled = fetch(server, plan, place)
    return pulled, take(place, plan, pulled.raw, (lambda who: pulled.people.get(who) or who) if names else own)


def export(
    release: str, project: str, asked: Asked, annotators: int, folder: Path | None = None
) -> tuple[Plan, list[Path]]:
    """The same without a server: plan, interface and tasks, and a sheet for each of so many annotators; all files."""
    from senseprobe.annotation.plan_file import NAME
    from senseprobe.annotation.project_folder import INTERFACE, TASKS, write_asked, write_sheets

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
    from senseprobe.annotation.ingest import take_files
    from senseprobe.annotation.pseudonyms import pseudonyms

    plan, place = project_of(project, folder)
    return take_files(place, plan, files, pseudonyms(place), names=names)


def project_of(project: str, folder: Path | None = None) -> tuple[Plan, Path]:
    """The plan of an annotation project, and its folder; AnnotationError where there is none."""
    from senseprobe.annotation.project_folder import open_plan

    place = folder_of(project, folder)
    if folder is None and not place.exists():
        there = ", ".join(sorted(path.name for path in place.parent.glob("*/"))) or "none"
        raise AnnotationError(f"no annotation project {project!r}: there is {there}")
    return open_plan(place, project), place


@dataclass(frozen=True, kw_only=True, slots=True)
class Applied:
    """What answers led to.

    - `decisions`: what becomes of each row, in the order of the plan; `facts`: what `annotation.json` says of it.
    - `verdicts`: the file of verdicts, which has `total` now; `why_here` says why it is no file of a dataset, if so.
    - `changed`: how many verdicts are ``new``, ``turned`` and ``gone`` against the file as it was.
    - `notes`: what is to be known of a model that did not settle, and of groups that match no row.
    """

    decisions: tuple[Decision, ...]
    facts: Round
    verdicts: Path
    total: int
    changed: Mapping[str, int]
    why_here: str = ""
    notes: tuple[str, ...] = ()


def _answers(project: str, folder: Path | None) -> tuple[Plan, Path, list[Annotation]]:
    from senseprobe.annotation.answers import answers_to

    plan, place = project_of(project, folder)
    return plan, place, answers_to(plan, place)


def agree(project: str, folder: Path | None = None) -> Agreement:
    """How well annotators agree, also written to `agreement.json`; AnnotationError where nobody answered."""
    from senseprobe.annotation.agreement import agreement, write_agreement

    plan, place, annotations = _answers(project, folder)
    if not any(each.status == "submitted" for each in annotations):
        raise AnnotationError(f"nobody has answered {project} yet: `annotate pull` or `annotate import` brings answers")
    told = agreement(plan, annotations)
    write_agreement(place, told)
    return told


def apply(project: str, rule: Rule, folder: Path | None = None, release: str | None = None) -> Applied:
    """Make verdicts of answers, in the dataset's `verdicts.csv`, with `annotation.json` beside it.

    `release` is where the release of the plan is, if not in the project. Raises AnnotationError where it is another,
    DeclarationError where a verdict of another source or project says the opposite (nothing is written then), and
    ReleaseError.
    """
    from senseprobe.annotation.adjudication import STANDING, claims_of, decide, verdicts_of
    from senseprobe.annotation.decisions import differing, merged, read_decisions, round_of, write_decisions
    from senseprobe.annotation.ingest import platform_of
    from senseprobe.annotation.pseudonyms import is_pseudonym
    from senseprobe.annotation.rules import posteriors, truths
    from senseprobe.generator.yaml_source import format_path
    from senseprobe.release.annotation_record import ANNOTATION, read_annotation, write_annotation
    from senseprobe.release.verdicts import VERDICTS, read_verdicts, write_verdicts

    plan, place, annotations = _answers(project, folder)
    if strange := sorted(set(rule.thresholds) - set(plan.questions)):
        raise AnnotationError(f"{project} does not ask {strange[0]}: there is {', '.join(plan.questions)}")
    opened = _release(plan, release)
    found = truths(plan, annotations) if rule.name == "dawid-skene" else []
    claims = claims_of(opened, plan)
    decisions = decide(plan, annotations, rule, claims, posteriors(found))
    facts = round_of(
        plan,
        annotations,
        decisions,
        rule,
        platform=platform_of(annotations),
        pseudonyms=all(is_pseudonym(each.annotator) for each in annotations),
        agreement=_agreement_facts(agree(project, folder)),
    )
    home, why = _home(opened, place)
    path = home / VERDICTS
    there, own = read_verdicts(path), read_decisions(place, plan.release).verdicts
    new = merged(there, verdicts_of(decisions, plan, rule), own, format_path(path))
    read_annotation(home / ANNOTATION)  # what cannot be read is told before anything is written
    write_verdicts(path, new.verdicts)
    write_annotation(home / ANNOTATION, facts)
    write_decisions(place, decisions, new.put, rule.name)
    return Applied(
        decisions=tuple(decisions),
        facts=facts,
        verdicts=path,
        total=len(new.verdicts),
        changed=differing(there, new.verdicts),
        why_here=why,
        notes=(
            *(str(each) for each in found if not each.converged),
            *_group_notes(annotations, claims),
            *_other_notes([each for each in decisions if each.row in new.others and each.state not in STANDING]),
        ),
    )


def _other_notes(open_: Sequence[Decision]) -> Iterator[str]:
    """What is to be known of rows that this project does not decide, and on which a verdict stands."""
    if open_:
        rows = listed(printable(each.row) for each in open_)
        yield (
            f"verdicts stand on {counted(len(open_), 'row')} that these answers leave open ({rows}): of other projects "
            "or releases, disputes, or of this project if its decisions.csv was lost"
        )


def _group_notes(annotations: Sequence[Annotation], claims: Mapping[str, Claim]) -> Iterator[str]:
    """What is to be known of groups that no row is about."""
    from senseprobe.annotation.adjudication import by_row
    from senseprobe.annotation.harm import unmatched

    if groups := unmatched(by_row(annotations), {row: claim.targets for row, claim in claims.items()}):
        yield (
            f"annotators who object to rows belong to groups that no row names ({listed(map(printable, groups))}): "
            "their objections count as anybody's"
        )


def _release(plan: Plan, spec: str | None) -> Release:
    """The release that a plan asks about; AnnotationError where what was named is another one."""
    try:
        opened = load(spec or plan.release)
    except ReleaseError as error:
        raise (
            error if spec else AnnotationError(f"{error}; if it is elsewhere, say where with --release PATH")
        ) from None
    if opened.manifest.name != plan.release:
        raise AnnotationError(f"people were asked about {plan.release}, and not about {opened.manifest.name}")
    return opened


def _agreement_facts(told: Agreement) -> list[AgreementFact]:
    """What is told of each question, over all sentences and of each alone: they may differ much."""
    from senseprobe.release.annotation_record import AgreementFact

    return [
        AgreementFact(
            question=f"{figure.question}.{figure.level}" if figure.level else figure.question,
            alpha=figure.value,
            low=figure.low,
            high=figure.high,
            same=figure.same,
            items=figure.items,
            answers=figure.answers,
        )
        for figure in (*told.by("all"), *told.by("sentence"))
    ]


def _home(release: Release, place: Path) -> tuple[Path, str]:
    """Where verdicts on a release go; and why, where that is not the folder of its dataset's templates."""
    dataset = str(release.manifest.data["dataset"])
    layer = places.user_layer()
    if layer is not None and dataset in layer.datasets():
        return layer.templates / dataset, ""
    if release.manifest.data["card"].get("imported"):
        return place, f"{dataset} was imported: it is not rebuilt, so both files lie in the annotation folder"
    where = f"copy templates/{dataset} into your project, and both files into it, to build without the rejected rows"
    return place, f"{dataset} is no dataset of this project, so both files lie in the annotation folder: {where}"


def release_answers(
    project: str, out: Path, folder: Path | None = None, release: str | None = None, *, free_text: bool = False
) -> Published:
    """Write all single answers, as they may be published, into the folder `out`, which must not exist."""
    from senseprobe.annotation.adjudication import by_row, claims_of, reported_by
    from senseprobe.annotation.decisions import read_decisions
    from senseprobe.annotation.harm import reported
    from senseprobe.annotation.pseudonyms import pseudonyms
    from senseprobe.annotation.publication import publish
    from senseprobe.release.verdicts import VERDICTS, read_verdicts

    plan, place, annotations = _answers(project, folder)
    opened = _release(plan, release)
    claims = claims_of(opened, plan)
    harmful = reported(by_row(annotations), {row: claim.targets for row, claim in claims.items()})
    harmful |= read_decisions(place, plan.release).reported  # also by those who took their groups back
    harmful |= reported_by(read_verdicts(_home(opened, place)[0] / VERDICTS).values(), plan.release)
    return publish(
        out,
        plan,
        annotations,
        licence=str(opened.manifest.data["card"].get("license") or ""),
        reported=bool(harmful),
        name_of=pseudonyms(place),
        free_text=free_text,
    )
