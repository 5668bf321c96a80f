"""Making decisions of people's answers, as researchers and commands call for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from senseprobe import project as places
from senseprobe.api.annotating import project_of
from senseprobe.api.releases import load
from senseprobe.errors import AnnotationError, ReleaseError
from senseprobe.wording import counted, listed, printable

if TYPE_CHECKING:
    from senseprobe.annotation.agreement import Agreement
    from senseprobe.annotation.deciding import Decision
    from senseprobe.annotation.objections import Claim
    from senseprobe.annotation.publishing import Published
    from senseprobe.annotation.records import Annotation, Plan
    from senseprobe.annotation.rules import Rule
    from senseprobe.release.annotated import AgreementFact, Round
    from senseprobe.release.reading import Release


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
    from senseprobe.annotation.claims import claims_of
    from senseprobe.annotation.decided import read_decisions, write_decisions
    from senseprobe.annotation.deciding import STANDING, decide, verdicts_of
    from senseprobe.annotation.importing import platform_of
    from senseprobe.annotation.merging import differing, merged
    from senseprobe.annotation.pseudonyms import is_pseudonym
    from senseprobe.annotation.summary import round_of
    from senseprobe.annotation.truth import posteriors, truths
    from senseprobe.generator.wordlists import show
    from senseprobe.release.annotated import ANNOTATION, read_annotation, write_annotation
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
    new = merged(there, verdicts_of(decisions, plan, rule), own, show(path))
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
    from senseprobe.annotation.deciding import by_row
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
    from senseprobe.release.annotated import AgreementFact

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
    from senseprobe.annotation.claims import claims_of
    from senseprobe.annotation.decided import read_decisions
    from senseprobe.annotation.deciding import by_row, reported_by
    from senseprobe.annotation.harm import reported
    from senseprobe.annotation.pseudonyms import pseudonyms
    from senseprobe.annotation.publishing import publish
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
