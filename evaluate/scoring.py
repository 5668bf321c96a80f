"""One command's worth of scoring: which scorers, which model, what is stored, where results go."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate import models
from senseprobe.evaluate.cache import Store
from senseprobe.evaluate.coarse import is_coarse, turned
from senseprobe.evaluate.control import ROWS, beside, is_probe, rows_drawn
from senseprobe.evaluate.result import Result, check_writable, folder_of
from senseprobe.evaluate.run import Job, Progress
from senseprobe.evaluate.scorers import SCORERS, Scorer, get

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model


Say = Callable[[str], None]
_Made: TypeAlias = tuple[Job | None, Result]
"""A result, and the job that it is of where it was computed just now."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A model to be opened, and how.

    `revision` is a branch, tag or commit of the Hub, `labels` the classes of a model that has no names for them.
    `device` and `batch_tokens` change the speed, and numbers by less than 1e-5; `dtype` changes the numbers.
    """

    name: str
    revision: str | None = None
    device: str = "auto"
    dtype: str = "float32"
    batch_tokens: int | None = None
    allow_pickle: bool = False
    labels: str | None = None

    @property
    def spec(self) -> str:
        """As loaders take it: ``NAME`` or ``NAME@REVISION``. ModelError where a folder shall have a revision."""
        if self.revision and Path(self.name).expanduser().is_dir():
            raise ModelError(f"{self.name} is a folder, which has no revisions")
        return f"{self.name}@{self.revision}" if self.revision else self.name


def score(
    job: Job,
    opening: Opening,
    scorers: Sequence[str],
    *,
    out: Path | None,
    stored: bool,
    say: Say,
    progress: Progress | None,
    controlled_by: Callable[[], Job] | None = None,
) -> list[Result]:
    """A result for each scorer, written below `out` if that is given; no scorers: the default of the model's family.

    With `controlled_by`, a result that says nothing without the control of inference is followed by the model's results
    on that: those below `out`, or else one of the job that it makes; `say` hears where that fails. In a number format
    coarser than float32, a sample is scored in float32, too. What cannot be is told before a model is loaded, let alone
    run. Raises as `Job.configs` and `models.load` do, and ModelError where a scorer asks for what the model has not.
    """
    asked = [get(name) for name in dict.fromkeys(scorers)]
    job.check_estimands()
    check_out(job, opening.name, out)
    using = _fitting(opening, asked)
    for ability in dict.fromkeys(scorer.ability for scorer in using):
        job.configs(ability)
        for name, kind in job.left(ability).items():
            say(f"{name} is left out: {ability} models score no {kind} rows")
    way = _Way(out, stored, say, progress)
    return _counted(_made(job, opening, using, controlled_by, way), opening, way)


@dataclass(frozen=True, slots=True)
class _Way:
    """Where results go, whether numbers are kept, and who hears of what."""

    out: Path | None
    stored: bool
    say: Say
    progress: Progress | None

    def store(self, model: "Model", scorer: Scorer) -> AbstractContextManager[Store | None]:
        """The store of the numbers of a scorer, or none."""
        return Store(model.identity, scorer, self.say) if self.stored else nullcontext()

    def run(self, job: Job, model: "Model", scorer: Scorer, store: Store | None) -> _Made:
        """A result, written, with the job that it is of."""
        return job, write(job.run(model, scorer.id, store=store, progress=self.progress), self.out)


def _made(
    job: Job, opening: Opening, using: Sequence[Scorer], controlled_by: Callable[[], Job] | None, way: _Way
) -> list[_Made]:
    """A result for each scorer, and what it is held against; the model is let go of on return."""
    model = open_model(opening, using[0].ability)
    made: list[_Made] = []
    for scorer in using:
        with way.store(model, scorer) as store:
            made.append(way.run(job, model, scorer, store))
            if controlled_by is not None and is_probe(made[-1][1]):
                run = partial(way.run, model=model, scorer=scorer, store=store)
                made += _controls(made[-1][1], controlled_by, run, way)
    return made


def _controls(of: Result, job: Callable[[], Job], run: Callable[[Job], _Made], way: _Way) -> list[_Made]:
    """The results of a model on the control: those of rows enough, else a new one; said where there can be none."""
    folder = None if way.out is None else folder_of(way.out, str(of.release["name"]), of.model["name"])
    there = [] if folder is None else beside(folder, of)
    if found := [each for each in there if each.scorer == of.scorer and rows_drawn(each) >= ROWS]:
        return [(None, each) for each in found]
    try:
        return [run(job())]
    except SenseprobeError as error:
        way.say(f"right answers on the control are missing: {_clause(error)}")
        return []


def _counted(made: Sequence[_Made], opening: Opening, way: _Way) -> list[Result]:
    """The results; those in a coarse number format say what float32 turns around, and are written once more."""
    coarse = [result for job, result in made if job is not None and is_coarse(result)]
    results = [result for _, result in made]
    if not coarse:
        return results
    revision = coarse[0].model.get("revision") or opening.revision
    try:
        fine = open_model(replace(opening, dtype="float32", revision=revision), get(coarse[0].scorer).ability)
        for number, (job, result) in enumerate(made):
            if job is not None and is_coarse(result):
                results[number] = _with_count(job, result, fine, way)
    except (SenseprobeError, MemoryError, RuntimeError) as error:  # torch's for too little memory is a RuntimeError
        way.say(f"what {coarse[0].model['dtype']} turns around is not counted: {_clause(error)}")
    return results


def _with_count(job: Job, result: Result, fine: "Model", way: _Way) -> Result:
    with way.store(fine, get(result.scorer)) as store:
        found = turned(job, result, fine, store=store, progress=way.progress)
    return write(replace(result, coarse=found), way.out)


def _clause(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def default_scorer(ability: str) -> Scorer:
    """The first that is declared for an ability. ModelError where none is."""
    fitting = (scorer for scorer in SCORERS.values() if scorer.ability == ability)
    if (first := next(fitting, None)) is None:
        raise ModelError(f"no scorer asks for {models.title_of(ability)}")
    return first


def _fitting(opening: Opening, asked: list[Scorer]) -> list[Scorer]:
    """The scorers, if the model has what they ask for."""
    ability = models.ability_of(opening.spec)
    for scorer in asked:
        if scorer.ability != ability:
            fitting = ", ".join(known.id for known in SCORERS.values() if known.ability == ability) or "none"
            raise ModelError(
                f"the scorer {scorer.id} asks for {models.title_of(scorer.ability)}, and {opening.name} is"
                f" {models.title_of(ability)}: take one of {fitting}"
            )
    return asked or [default_scorer(ability)]


def open_model(opening: Opening, ability: str) -> "Model":
    """The model, called by its name without a revision: that is in its identity, as a commit."""
    model = models.load(
        opening.spec,
        ability=ability,
        device=opening.device,
        dtype=opening.dtype,
        allow_pickle=opening.allow_pickle,
        batch_tokens=opening.batch_tokens,
        labels=opening.labels,
    )
    model.name = opening.name
    return model


def check_out(job: Job, model: str, out: Path | None) -> None:
    """ResultError where results could not be written below `out`: better told before an hour of scoring than after."""
    if out is not None:
        check_writable(folder_of(out, job.release.manifest.name, model))


def write(result: Result, out: Path | None) -> Result:
    """Write a result into its folder below `out`, if that is given; the result."""
    if out is not None:
        result.write(folder_of(out, str(result.release["name"]), result.model["name"]))
    return result
