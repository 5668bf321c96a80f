"""Plan a scoring in parts: which scorers, which rows, and the windows of their distinct units, in a folder."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import pyarrow as pa

from senseprobe.errors import ModelError, ResultError, SenseprobeError
from senseprobe.evaluate.estimands import listed_by, lookup
from senseprobe.evaluate.models.source import ModelSource
from senseprobe.evaluate.scorers import base
from senseprobe.evaluate.scorers.base import Scorer
from senseprobe.evaluate.scoring import scorers_of_run
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.units import KINDS
from senseprobe.evaluate.windows.places import Place, new_place
from senseprobe.evaluate.windows.plan_form import (
    NAME,
    PLAN,
    Job,
    OpenPlan,
    Plan,
    PlannedConfig,
    PlannedModel,
    PlannedRelease,
    Window,
    has_plan,
    read_plan,
    write_plan_form,
)
from senseprobe.evaluate.windows.sorted_units import write_windows
from senseprobe.evaluate.windows.unit_columns import UnitRows


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be scored in parts: the rows of `job`, by the scorers of these names, with the model of a source.

    - `spec`: what the release was called, so that whoever joins finds it.
    - `control`: makes the job of the control of inference and names its release; None: it is not scored.
    """

    job: ScoringJob
    spec: str
    source: ModelSource
    scorers: tuple[str, ...]
    control: Callable[[], tuple[ScoringJob, str]] | None
    warn: Callable[[str], None]


def write_plan(request: Request, folder: Place, progress: Callable[[int], None] | None = None) -> OpenPlan:
    """Write the plan of a request into a folder of parts, or check that the plan there is the same; return it.

    Of several processes that plan at once, one writes it, and the others use it. `progress` hears of rows. Raises
    ModelError and SenseprobeError where it cannot be scored in parts, and ResultError where another plan is there, or
    the folder cannot be written.
    """
    fitting = scorers_of_run(request.job, request.source, request.scorers, request.warn)
    check_plannable(request.source, fitting)
    if has_plan(folder):
        return _check_same(read_plan(folder), _plan_of(request, fitting, ()))
    try:
        with new_place(folder / PLAN, NAME) as partial:
            plan = _plan_of(request, fitting, _jobs_of(request, fitting, partial, progress))
            (partial / NAME).write_bytes(write_plan_form(plan))
    except FileExistsError as error:
        if not has_plan(folder):
            raise ResultError(f"cannot write {folder / PLAN}: it exists, without a plan; delete it") from error
        return _check_same(read_plan(folder), _plan_of(request, fitting, ()))
    except OSError as error:
        reason = error.strerror or str(error).partition("\n")[0]
        raise ResultError(f"cannot write {folder / PLAN}: {reason}; nothing was changed") from error
    return read_plan(folder)


def check_plannable(source: ModelSource, scorers: Sequence[Scorer]) -> None:
    """Raise ModelError where scoring in parts is not for a model or a scorer."""
    if not source.is_local:
        raise ModelError(f"{source.name} is behind a server, which answers many requests at once: score it as a whole")
    if source.model is not None:
        raise ModelError(
            f"{source.name} is in memory, where other processes cannot read it: save it, and name its folder"
        )
    for scorer in scorers:
        if scorer.level:
            raise ModelError(f"{scorer.id} compares the vectors of a few words: score it as a whole")
        if scorer.gates or scorer.task is not None:
            raise ModelError(f"{scorer.id} checks first whether a chat model does the task: score it as a whole")


def group_scorers(scorers: Sequence[Scorer]) -> list[list[Scorer]]:
    """Return scorers in groups that share their computation, each of which is asked of a model once."""
    groups: dict[tuple[object, ...], list[Scorer]] = {}
    for scorer in scorers:
        computed = scorer.basis or scorer.id
        key = (scorer.ability, scorer.kind, computed, scorer.version, scorer.why, scorer.reads, *scorer.texts.items())
        groups.setdefault(key, []).append(scorer)
    return [*groups.values()]


def _plan_of(request: Request, scorers: Sequence[Scorer], jobs: Sequence[Job]) -> Plan:
    job, source = request.job, request.source
    return Plan.model_construct(
        form=1,
        senseprobe=job.version,
        window=base.WINDOW,
        model=PlannedModel(
            name=source.name,
            revision=source.revision,
            dtype=source.dtype,
            labels=source.labels,
            batch_tokens=source.batch_tokens,
        ),
        abilities=tuple(source.abilities),
        release=_release_of(job, request.spec),
        scorers=tuple(scorer.id for scorer in scorers),
        seed=job.seed,
        limit=job.limit,
        estimands=job.estimands,
        control=request.control is not None,
        jobs=tuple(jobs),
    )


def _release_of(job: ScoringJob, spec: str) -> PlannedRelease:
    manifest = job.release.manifest
    return PlannedRelease(spec=spec, name=manifest.name, content=manifest.content, config=job.config)


def _check_same(there: OpenPlan, asked: Plan) -> OpenPlan:
    if difference := there.plan.difference(asked):
        raise ResultError(
            f"{there.folder} has the plan of another scoring: this one asks for {difference}; name another folder"
        )
    return there


def _jobs_of(
    request: Request, scorers: Sequence[Scorer], folder: Path, progress: Callable[[int], None] | None
) -> list[Job]:
    jobs: list[Job] = []
    for _, of_ability in groupby(scorers, key=attrgetter("ability")):
        for group in group_scorers([*of_ability]):
            jobs.append(_write_job(request.job, request.spec, group, folder, _count(jobs), progress))
            if control := _control_of(request, group[0]):
                jobs.append(_write_job(*control, group, folder, _count(jobs), progress))
    return jobs


def _count(jobs: Sequence[Job]) -> int:
    return sum(len(job.windows) for job in jobs)


def _control_of(request: Request, scorer: Scorer) -> tuple[ScoringJob, str] | None:
    """Return the job of the control of inference, where figures of a scorer say nothing without it."""
    job = request.job
    if request.control is None or not KINDS[scorer.kind].infers:
        return None
    listed = (name for config in job.configs(scorer) for name in listed_by(job.release.design(config)))
    if not any(lookup(name).needs_control for name in (*listed, *job.estimands)):
        return None
    try:
        return request.control()
    except SenseprobeError as error:
        request.warn(f"the accuracy on the control will be missing: {str(error).partition(chr(10))[0]}")
        return None


def _write_job(
    job: ScoringJob,
    spec: str,
    scorers: Sequence[Scorer],
    folder: Path,
    first: int,
    progress: Callable[[int], None] | None,
) -> Job:
    """Write the windows of a job, from window `first` on, into the folder of a plan, and return the job."""
    scorer, units = scorers[0], UnitRows(job, scorers[0])

    def counted() -> Iterator[pa.Table]:
        for table in units:
            if progress:
                progress(len(table))
            yield table

    windows: tuple[Window, ...] = write_windows(counted(), folder, base.WINDOW, first)
    return Job(
        ability=scorer.ability,
        scorers=tuple(each.id for each in scorers),
        kind=scorer.kind,
        scorer=scorer.basis or scorer.id,
        version=scorer.version,
        numbers=tuple(scorer.parts or scorer.columns),
        release=_release_of(job, spec),
        seed=job.seed,
        limit=job.limit,
        roles=units.all_roles,
        configs=tuple(
            PlannedConfig(name=name, rows=units.rows[name], roles=tuple(roles)) for name, roles in units.roles.items()
        ),
        windows=windows,
    )
