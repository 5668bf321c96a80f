"""Score models on a frozen release: what is wrapped round the runs of pipeline.py.

Models are opened and closed, numbers stored, controls of inference scored, coarse number formats held against float32,
and results written.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from senseprobe.errors import ModelError, ResultError, SenseprobeError
from senseprobe.evaluate import caveats, models
from senseprobe.evaluate.cache import Store
from senseprobe.evaluate.control import CHAT_ROWS, is_probe, sufficient_controls
from senseprobe.evaluate.models.source import ModelSource
from senseprobe.evaluate.pipeline import Check, Progress, answer_units, run, units_of_job
from senseprobe.evaluate.result import Result, check_writable, folder_of
from senseprobe.evaluate.result_form import SEPARATOR
from senseprobe.evaluate.scorers import SCORERS, Scorer, get
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.task_gates import CONTROL, GATES, accuracy_read
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import printable

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model

VECTORS = "vectors"
"""The ability that every model of texts has, beside its own."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The folder of results (`out`), whether numbers are `stored`, and callbacks for warnings and progress.

    `show_failing`: whether figures have values, too, of a chat model that does not do the task.
    """

    out: Path | None
    stored: bool
    warn: Callable[[str], None]
    progress: Progress | None
    show_failing: bool = False

    def store(self, model: "Model", scorer: Scorer) -> AbstractContextManager[Store | None]:
        """Open the store of the numbers that a scorer makes with a model; None where none is, or it keeps answers."""
        if not self.stored or getattr(model, "keeps_answers", False):
            return nullcontext()
        return Store(scorer.identity(model), scorer, self.warn, width=scorer.width(model))

    def run(
        self, job: ScoringJob, model: "Model", scorer: Scorer, store: Store | None, check: Check | None = None
    ) -> Result:
        """Return the result of one job."""
        return run(job, model, scorer.id, store=store, progress=self.progress, warn=self.warn, check=check)


class RunResult(NamedTuple):
    """A result, and the job that made it; None where the result was there already."""

    result: Result
    job: ScoringJob | None


def score(
    job: ScoringJob,
    source: ModelSource,
    scorers: Sequence[str],
    options: RunOptions,
    control: Callable[[], ScoringJob] | None = None,
) -> list[Result]:
    """Return a result for each scorer, written below `options.out`; no scorers: the default ones.

    With `control`, a result that says nothing without the control of inference is followed by the model's results
    on that: those below `out`, or else one of the job that it makes; a warning says where that fails. In a number
    format coarser than float32, a sample is scored in float32, too. What cannot be scored is said before a model is
    loaded. Raises as `ScoringJob.configs` and `models.load` do, and ModelError where a scorer does not fit the model.
    """
    fitting = scorers_of_run(job, source, scorers, options.warn)
    runs: list[RunResult] = []
    for _, scorers_of_ability in groupby(fitting, key=attrgetter("ability")):
        runs += _run_ability(job, source, [*scorers_of_ability], options, control)
    return _with_flipped(runs, source, options)


# --- scorers and models ---------------------------------------------------------------------------------------------


def scorers_of_run(
    job: ScoringJob, source: ModelSource, scorers: Sequence[str], warn: Callable[[str], None]
) -> Sequence[Scorer]:
    """Return the scorers of a run by ability, those that are named or else the default ones, for the rows of a job.

    `warn` hears of configs whose rows none of them takes. Raises as `score` does, before a model is loaded.
    """
    kinds = job.kinds.values()
    requested = [get(name, kinds) for name in dict.fromkeys(scorers)]
    job.check_estimands()
    _check_abilities(job, source)
    fitting = fitting_scorers(source, requested) if requested else default_scorers(source, kinds)
    scored = {name for scorer in fitting for name in job.configs(scorer)}
    takers = f"{' and '.join(scorer.id for scorer in fitting)} {'takes' if len(fitting) == 1 else 'take'}"
    for name, kind in job.kinds.items():
        if name not in scored:
            warn(f"{name} is skipped: {takers} no {kind} rows")
    return fitting


def fitting_scorers(source: ModelSource, requested: Sequence[Scorer]) -> Sequence[Scorer]:
    """Return the scorers by ability. ModelError where one asks for what the model does not have.

    Every model of texts has vectors: whether of what is requested, it says itself once it is loaded.
    """
    others = [scorer for scorer in requested if not scorer.level]
    abilities = source.abilities if others else ()
    for scorer in others:
        if scorer.ability not in abilities:
            fitting = ", ".join(scorer.id for scorer in SCORERS.values() if scorer.ability in abilities) or "none"
            raise ModelError(
                f"the scorer {scorer.id} needs {models.title_of(scorer.ability)}, but {source.name} is "
                f"{models.title_of(abilities[0])}: use one of {fitting}"
            )
    others.sort(key=lambda scorer: abilities.index(scorer.ability))
    return [*others, *(scorer for scorer in requested if scorer.level)]


def default_scorers(source: ModelSource, kinds: Collection[str]) -> list[Scorer]:
    """Return the first scorer that takes rows of `kinds` and asks for what a model has, of vectors all of them.

    Where none takes these rows it is the first that fits the model. ModelError where no scorer asks for what it has.
    """
    takers = [scorer for each in SCORERS.values() if (scorer := each.taking(kinds)).kind in kinds]
    are_of_vectors = {scorer.ability for scorer in takers} == {VECTORS}  # which every model of texts has
    abilities = (VECTORS,) if are_of_vectors else (*source.abilities, VECTORS)
    if not any(scorer.ability == abilities[0] for scorer in SCORERS.values()):
        raise ModelError(f"no scorer works with {models.title_of(abilities[0])}")
    for ability in abilities:
        if fitting := [scorer for scorer in takers if scorer.ability == ability]:
            return fitting if fitting[0].level else fitting[:1]
    return [next(scorer for scorer in SCORERS.values() if scorer.ability == abilities[0])]


def _check_abilities(job: ScoringJob, source: ModelSource) -> None:
    """Raise ModelError where no scorer of a job's rows asks for what a model has, whichever scorer is requested."""
    kinds = job.kinds.values()
    abilities = {scorer.ability for scorer in SCORERS.values() if scorer.taking(kinds).kind in kinds}
    if abilities and VECTORS not in abilities and abilities.isdisjoint(source.abilities):
        raise ModelError(f"{job.describe_takers()}; {source.name} is {models.title_of(source.abilities[0])}")


@contextmanager
def opened_model(source: ModelSource, ability: str) -> "Iterator[Model]":
    """Open a model, and release what it holds in the end."""
    model = source.open(ability)
    try:
        yield model
    finally:
        source.close(model)


def _run_ability(
    job: ScoringJob,
    source: ModelSource,
    scorers: Sequence[Scorer],
    options: RunOptions,
    control: Callable[[], ScoringJob] | None,
) -> list[RunResult]:
    """Return the results of scorers of one ability; the model is released on return."""
    with opened_model(source, scorers[0].ability) as model:
        for remark in getattr(model, "remarks", ()):
            options.warn(f"{model.name}: {remark}")
        return _run_scorers(job, model, scorers, options, control)


def _run_scorers(
    job: ScoringJob,
    model: "Model",
    scorers: Sequence[Scorer],
    options: RunOptions,
    control: Callable[[], ScoringJob] | None,
) -> list[RunResult]:
    """Return a result for each scorer, each probe with its controls."""
    runs: list[RunResult] = []
    levels = getattr(model, "levels", ())
    offered = [scorer for scorer in scorers if job.levels or not scorer.level or scorer.level in levels]
    offered = offered or [*scorers]  # of levels that it does not have, so that it refuses
    for scorer in offered:  # before one of them has computed anything: ModelError where options do not fit a level
        scorer.identity(model)
    for scorer in offered:
        with options.store(model, scorer) as store:
            run_job = partial(_run_job, model=model, scorer=scorer, store=store, options=options)
            if control is None or not KINDS[scorer.kind].infers:
                runs.append(run_job(job))
            else:
                runs += _run_with_control(job, run_job, scorer, options, control)
    return runs


def _run_job(
    job: ScoringJob,
    model: "Model",
    scorer: Scorer,
    store: Store | None,
    options: RunOptions,
    accuracy: float | None = None,
) -> RunResult:
    """Return the result of one job, written; `accuracy` is the model's on the control of inference, for its gate."""
    check = scorer.check(model, accuracy=accuracy, show=options.show_failing)
    result = options.run(job, model, scorer, store, check)
    return RunResult(write(result, options.out), job)


def reads_control(job: ScoringJob, scorer: Scorer) -> bool:
    """Return whether a gate of a scorer reads the control of inference, which is not what is scored itself."""
    return _has_control_gate(scorer) and not job.is_of(CONTROL)


def _has_control_gate(scorer: Scorer) -> bool:
    return any(GATES[gate].reads_control for gate in scorer.gates)


def _run_with_control(
    job: ScoringJob,
    run_job: Callable[..., RunResult],
    scorer: Scorer,
    options: RunOptions,
    control: Callable[[], ScoringJob],
) -> list[RunResult]:
    """Return the result of a job of inference, and those on the control: asked before where a gate reads it."""
    if _has_control_gate(scorer):
        controls = _run_control(run_job, control, options, CHAT_ROWS) if reads_control(job, scorer) else []
        accuracy = accuracy_read(controls[0].result.tasks.values()) if controls else None
        return [run_job(job, accuracy=accuracy), *controls]
    probe = run_job(job)
    if not is_probe(probe.result):
        return [probe]
    stored = [RunResult(result, None) for result in sufficient_controls(options.out, probe.result)]
    return [probe, *(stored or _run_control(run_job, control, options))]


def _run_control(
    run_job: Callable[..., RunResult],
    control: Callable[[], ScoringJob],
    options: RunOptions,
    limit: int | None = None,
) -> list[RunResult]:
    """Return the result on the control, of `limit` rows of it; a warning says where that fails."""
    try:
        job = control()
        return [run_job(replace(job, limit=limit or job.limit))]
    except SenseprobeError as error:
        options.warn(f"the accuracy on the control is missing: {_first_line(error)}")
        return []


# --- what a coarse number format turns around -----------------------------------------------------------------------


def _with_flipped(runs: Sequence[RunResult], source: ModelSource, options: RunOptions) -> list[Result]:
    """Return the results; new ones in a coarse format say what float32 turns around, and are written once more."""
    results = [result for result, _ in runs]
    coarse = [result for result, job in runs if job is not None and caveats.is_coarse(result)]
    if not coarse or not source.is_local:  # what a server calls its format is not ours to change
        return results
    revision = coarse[0].model.get("revision") or source.revision
    try:
        fine = replace(source, dtype="float32", revision=revision).open(get(coarse[0].scorer).ability)
        for number, (result, job) in enumerate(runs):
            if job is not None and caveats.is_coarse(result):
                results[number] = write(replace(result, coarse=_flipped(job, result, fine, options)), options.out)
    except (SenseprobeError, MemoryError, RuntimeError) as error:  # torch's for too little memory is a RuntimeError
        options.warn(f"the rows that {coarse[0].model['dtype']} turns around are not counted: {_first_line(error)}")
    return results


def _flipped(job: ScoringJob, result: Result, fine: "Model", options: RunOptions) -> dict[str, int]:
    """Count how many of a sample of the rows of a result read otherwise with the same model in float32."""
    scorer = get(result.scorer, (result.kind,))
    # A row of an association test has a number among all words of its test only.
    limit = None if scorer.level else min(caveats.ROWS, job.limit or caveats.ROWS)
    with options.store(fine, scorer) as store:
        units, _ = units_of_job(replace(job, limit=limit), fine, scorer)
        answer_units(units, fine, scorer, store, options.progress)
    sampled = scorer.tabulate(units, fine).rows
    if sampled is None or (rows := result.scored.rows_with([*sampled["id"]])) is None:
        raise ResultError("a result without its rows")
    return caveats.count_flipped(rows, sampled, KINDS[result.kind].numbers, result.scale)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


# --- where results go -----------------------------------------------------------------------------------------------


def check_out(job: ScoringJob, model: str, out: Path | None) -> None:
    """Raise ResultError for a name that no model may have, and where results could not be written below `out`.

    Better before an hour of scoring than after.
    """
    if SEPARATOR in model:
        raise ResultError(
            f"the model {printable(model)!r} has a {SEPARATOR} in its name, which separates the parts of a "
            "signature: rename its folder or file, or give a model in memory another name"
        )
    if out is not None:
        rows = sum(int(job.release.manifest.config(name)["rows"]) for name in job.kinds)
        check_writable(folder_of(out, job.release.manifest.name, model), min(rows, job.limit or rows))


def write(result: Result, out: Path | None) -> Result:
    """Write a result into its folder below `out`, if that is given, and return it."""
    if out is not None:
        result.write(folder_of(out, str(result.release["name"]), result.model["name"]))
    return result
