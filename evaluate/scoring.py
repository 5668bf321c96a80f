"""One command's worth of scoring: which scorers, which model, what is stored, where results go."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from senseprobe.errors import ModelError
from senseprobe.evaluate import models
from senseprobe.evaluate.control import beside, is_probe
from senseprobe.evaluate.result import Result, check_writable, folder_of
from senseprobe.evaluate.run import Job, Progress
from senseprobe.evaluate.scorers import SCORERS, Scorer, get
from senseprobe.evaluate.store import Store

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model

__all__ = ["Opening", "check_out", "default_scorer", "open_model", "score", "write"]

Say = Callable[[str], None]


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
    on that: those below `out`, or else one of the job that it makes. What cannot be is told before a model is loaded,
    let alone run. Raises as `Job.configs` and `models.load` do, and ModelError where a scorer asks for what the model
    has not.
    """
    asked = [get(name) for name in dict.fromkeys(scorers)]
    job.check_estimands()
    check_out(job, opening.name, out)
    using = _fitting(opening, asked)
    for ability in dict.fromkeys(scorer.ability for scorer in using):
        job.configs(ability)
        for name, kind in job.left(ability).items():
            say(f"{name} is left out: {ability} models score no {kind} rows")
    model = open_model(opening, using[0].ability)
    results = []
    for scorer in using:
        with Store(model.identity, scorer, say) if stored else nullcontext() as store:
            results.append(write(job.run(model, scorer.id, store=store, progress=progress), out))
            if is_probe(results[-1]):
                results += _controls(results[-1], model, controlled_by, out, store, progress)
    return results


def _controls(
    of: Result,
    model: "Model",
    controlled_by: Callable[[], Job] | None,
    out: Path | None,
    store: Store | None,
    progress: Progress | None,
) -> list[Result]:
    """The results of a model on the control: those that there are, else a new one."""
    if controlled_by is None:
        return []
    folder = None if out is None else folder_of(out, str(of.release["name"]), of.model["name"])
    found = [] if folder is None else beside(folder, of)
    return found or [write(controlled_by().run(model, of.scorer, store=store, progress=progress), out)]


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
