"""Score in parts, on machines or processes that share a folder: plan, answer, join."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from senseprobe.api.models import source_of, warn
from senseprobe.api.scoring_jobs import control_job, make_job, resolve_release
from senseprobe.errors import FindingsError, ReleaseError, ResultError, SenseprobeError
from senseprobe.messages import counted
from senseprobe.options import Option
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.api.releases import ReleaseSpec
    from senseprobe.evaluate.models import ModelSource
    from senseprobe.evaluate.result import Result
    from senseprobe.evaluate.scoring_job import ScoringJob
    from senseprobe.evaluate.windows.places import Place
    from senseprobe.evaluate.windows.plan_form import OpenPlan

MAX_SHARDS = 100_000
"""The most shards of a scoring."""


@dataclass(frozen=True, slots=True)
class ScorePlan:
    """The plan of a scoring in parts, in the folder `parts`: so many `windows`, of so many distinct `units`."""

    parts: Place
    windows: int
    units: int

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {"parts": str(self.parts), "windows": self.windows, "units": self.units}

    def __str__(self) -> str:
        """Return how many windows there are, and how they are answered."""
        return (
            f"{counted(self.windows, 'window')} of {counted(self.units, 'distinct unit')} planned in {self.parts}: "
            f"answer them with --shards N --shard I --out {self.parts}, then --join {self.parts}"
        )


@dataclass(frozen=True, slots=True)
class ShardSummary:
    """What a shard did: `answered` windows of its `windows`; the others had a part. `missing`: in all shards, then."""

    parts: Place
    shard: int
    shards: int
    windows: int
    answered: int
    missing: int

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON has it."""
        names = ("shard", "shards", "windows", "answered", "missing")
        return {"parts": str(self.parts), **{name: getattr(self, name) for name in names}}

    def __str__(self) -> str:
        """Return what the shard did, and what is left."""
        if not self.windows:
            return f"shard {self.shard} of {self.shards} has no window: there are fewer windows than shards"
        left = f"{counted(self.missing, 'window')} still without a part" if self.missing else "no window is left"
        there = self.windows - self.answered
        again = f" ({counted(there, 'part')} there already)" if there else ""
        return (
            f"shard {self.shard} of {self.shards}: {counted(self.answered, 'window')} answered{again}; {left} in "
            f"{self.parts}"
        )


@with_progress("planning {model}")
def plan_scores(
    model: str | Path | ModelSource,
    release: str | Path,
    scorers: str | Sequence[str] = (),
    *,
    parts: str | Path,
    estimands: Sequence[str] = (),
    config: str | None = None,
    map: Mapping[str, str] | None = None,  # noqa: A002 - as of `score`
    seed: int = 0,
    limit: int | None = None,
    control: bool = True,
    say: Callable[[str], None] = warn,
    progress: Callable[[int], None] | None = None,
) -> ScorePlan:
    """Plan `score` with the same arguments in parts: write the distinct units of its rows as windows to `parts`/plan.

    Where the same scoring was planned there already, that plan is kept, and of several processes that plan at once one
    writes it. Then `score_shard` answers the windows, and `join_scores` makes the results. Raises ModelError for a
    served model, one in memory, and scorers of vectors or of chat, which are scored as a whole; ResultError where
    `parts` has another plan or cannot be written, and as `score` does before a model is loaded.
    """
    from senseprobe.evaluate.windows.places import place_of
    from senseprobe.evaluate.windows.plan_form import has_plan
    from senseprobe.evaluate.windows.planning import Request, write_plan

    source = source_of(model)
    if not isinstance(release, str | Path):
        raise SenseprobeError("a table in memory cannot be read by other processes: save it, and name its file")
    resolved = resolve_release(release, say, columns=map, level_named=False)
    is_planned = has_plan(place_of(parts))  # by another shard: the rows are not read again
    job = make_job(resolved, seed, limit, estimands, config, source.libraries, check_rows=not is_planned)
    spec = str(resolved) if isinstance(resolved, str | Path) else str(job.release.folder.resolve())
    names = (scorers,) if isinstance(scorers, str) else tuple(scorers)
    request = Request(job, spec, source, names, _named_control(source, seed) if control else None, say)
    return _summarize(write_plan(request, place_of(parts), progress))


def _named_control(source: ModelSource, seed: int) -> Callable[[], tuple[ScoringJob, str]]:
    from senseprobe.evaluate.control import RELEASE

    make = control_job(source, seed)
    return lambda: (make(), RELEASE)


def _summarize(plan: OpenPlan) -> ScorePlan:
    return ScorePlan(plan.folder, len(plan.windows), sum(window.units for _, window in plan.windows))


@with_progress("shard {shard} of {shards}")
def score_shard(
    parts: str | Path,
    shard: Annotated[int, Option(least=0, default=None, metavar="I", help="Answer part I, from 0, of --shards.")],
    shards: Annotated[
        int, Option(least=1, default=None, metavar="N", help="Score in this many parts, which write to --out.")
    ],
    *,
    model: str | Path | ModelSource | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ShardSummary:
    """Answer windows `shard`, `shard` + `shards`, … of a plan, each of which is written to `parts` once it is whole.

    Windows with a part are left out, so that the same call continues where it was interrupted. `model` is where the
    model is, with the options of the plan; by default the plan says it, on any device. Raises ResultError where a part
    that is there was made otherwise, where a window is damaged, or where a part cannot be written, and ModelError.
    """
    from senseprobe.evaluate.windows.places import place_of
    from senseprobe.evaluate.windows.plan_form import read_plan
    from senseprobe.evaluate.windows.worker import missing_windows, opened_windows

    if not 0 <= shard < shards:
        raise SenseprobeError(f"there is no shard {shard} of {shards}: shards are numbered 0 to {shards - 1}")
    if shards > MAX_SHARDS:
        raise SenseprobeError(f"{shards:,} shards are too many: at most {MAX_SHARDS:,}")
    folder = place_of(parts)
    plan = read_plan(folder)
    mine = range(shard, len(plan.windows), shards)
    missing = [number for number in missing_windows(folder) if number in mine]
    total = sum(plan.windows[number][1].units for number in mine)
    done = total - sum(plan.windows[number][1].units for number in missing)
    step = progress or (lambda _done, _total: None)
    step(done, total)
    with opened_windows(folder, _source_of_plan(plan, model)) as worker:
        for number in missing:

            def count(units: int) -> None:
                nonlocal done
                done += units
                step(done, total)

            worker.answer(number, count)
    return ShardSummary(folder, shard, shards, len(mine), len(missing), len(missing_windows(folder)))


def _source_of_plan(plan: OpenPlan, model: str | Path | ModelSource | None) -> ModelSource:
    """Return the source of the model of a plan; what a name stands for has the options of the plan."""
    planned = plan.plan.model
    if model is not None and not isinstance(model, str | Path):
        return source_of(model)
    options = planned.model_dump(exclude={"name"})
    return source_of(planned.name if model is None else str(model), **options)


@with_progress("joining {parts}")
def join_scores(
    parts: str | Path,
    *,
    model: str | Path | ModelSource | None = None,
    release: ReleaseSpec | None = None,
    out: str | Path | None = None,
    without: Annotated[
        Sequence[str],
        Option(metavar="ESTIMAND", help="With --join, of millions of rows: leave out what needs them all at once."),
    ] = (),
    say: Callable[[str], None] = warn,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Make the results of a scoring in parts: those that one process would have made, written to `out`.

    More than four million rows are read in parts, and their scores are in the written file alone. An estimand, or a
    contrast of senses, that needs all of them at once is refused by name where they take more than 2 GB, unless it is
    left out with `without`.

    Of the model its config and tokenizer are read, no weights; `model` and `release` say where they are, if not where
    the plan does. Raises ResultError where parts are missing, doubled, damaged, of another plan, or not made alike:
    with other weights, another number format, scorer, library, number of threads or kind of device; and as `score`
    does.
    """
    from senseprobe.evaluate import scoring
    from senseprobe.evaluate.windows.joining import JoinedSource, join_parts
    from senseprobe.evaluate.windows.places import place_of
    from senseprobe.evaluate.windows.streamed_join import StreamOptions

    joined = join_parts(place_of(parts))
    plan = joined.plan.plan
    source = JoinedSource.of(_source_of_plan(joined.plan, model), joined)
    job = _planned_job(joined.plan, release, source)
    job = replace(job, libraries=joined.libraries)
    folder = None if out is None else Path(out)
    scoring.check_out(job, source.name, folder)
    options = StreamOptions(folder, False, say, progress, parts=joined, without=tuple(without))
    control = control_job(source, plan.seed) if plan.control else None
    return scoring.score(job, source, plan.scorers, options, control)


def planned_release(parts: str | Path) -> str:
    """Return what the release of a scoring in parts was called when it was planned."""
    from senseprobe.evaluate.windows.places import place_of
    from senseprobe.evaluate.windows.plan_form import read_plan

    return read_plan(place_of(parts)).plan.release.spec


def _planned_job(opened: OpenPlan, release: ReleaseSpec | None, source: ModelSource) -> ScoringJob:
    """Return the job of a plan. ResultError where its release is not there, or is another one now."""
    plan, where = opened.plan, release or opened.plan.release.spec
    try:
        job = make_job(where, plan.seed, plan.limit, plan.estimands, plan.release.config, source.libraries)
    except ReleaseError as error:
        if release is not None or isinstance(error, FindingsError):
            raise
        raise ResultError(f"the release of {opened.folder}, {plan.release.name}, is not here: {error}") from None
    manifest = job.release.manifest
    if manifest.content != plan.release.content:
        raise ResultError(
            f"{opened.folder} is of {plan.release.name} with content {plan.release.content[:12]}, and {manifest.name} "
            f"here has {manifest.content[:12]}: name the release that was planned"
        )
    return job
