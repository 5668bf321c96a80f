"""Score by several workers: the windows of a scoring are dealt to them, and their parts are joined."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING

from senseprobe import project
from senseprobe.api.windows import join_scores, plan_scores
from senseprobe.api.workers import do_work
from senseprobe.atomic_files import locked
from senseprobe.engines.work import Work, WorkerOptions, count_processors, count_threads
from senseprobe.errors import ResultError, SenseprobeError

if TYPE_CHECKING:
    from senseprobe.api.releases import ReleaseSpec
    from senseprobe.evaluate.models import ModelSource
    from senseprobe.evaluate.result import Result
    from senseprobe.evaluate.windows.places import Place
    from senseprobe.importers.draft import RowTable

KEPT = 30 * 86_400
"""Seconds for which the parts of a scoring that was not ended are kept in the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What `score` was asked for, but the model, and who is told of it; the names are those of its parameters."""

    release: ReleaseSpec | RowTable
    scorers: Sequence[str]
    estimands: Sequence[str]
    config: str | None
    map: Mapping[str, str] | None
    seed: int
    limit: int | None
    control: bool


def score_with_workers(
    source: ModelSource,
    request: Request,
    options: WorkerOptions,
    out: Path | None,
    say: Callable[[str], None],
    progress: Callable[[int, int], None] | None,
) -> list[Result]:
    """Return the results of a scoring whose windows workers have answered: those that one process would have made.

    The parts of windows are in the folder that `options` name, or else in one of the cache, which is removed at the
    end; a call that was stopped goes on there. Raises as `plan_scores`, `join_scores` and engines do.
    """
    from senseprobe.evaluate.result import check_writable, folder_of
    from senseprobe.evaluate.scorers.association import WEAT
    from senseprobe.evaluate.windows.plan_form import read_plan

    if WEAT in ([request.scorers] if isinstance(request.scorers, str) else request.scorers):
        raise SenseprobeError(f"{WEAT} compares the vectors of a few words: score it as a whole, without --workers")
    with _parts_folder(source, request, options) as folder:
        _plan(source, request, folder, say, is_ours=not options.parts)
        if out is not None:  # better before an hour of scoring than after
            plan = read_plan(folder).plan
            check_writable(folder_of(out, plan.release.name, source.name), sum(job.rows for job in plan.jobs))
        _answer(source, folder, options, say, progress)
        return join_scores(str(folder), model=source, out=out, say=say)


def _plan(source: ModelSource, request: Request, folder: Place, say: Callable[[str], None], *, is_ours: bool) -> None:
    """Write the plan of a scoring into a folder, or take the one that is there; `is_ours`: replace it if it differs."""
    from senseprobe.release.release import Release

    release = request.release.folder if isinstance(request.release, Release) else request.release
    for may_differ in (is_ours, False):
        try:
            plan_scores(
                source,
                release,  # type: ignore[arg-type] # tables in memory are refused there
                request.scorers,
                parts=str(folder),
                estimands=request.estimands,
                config=request.config,
                map=request.map,
                seed=request.seed,
                limit=request.limit,
                control=request.control,
                say=say,
            )
        except ResultError:
            if not may_differ or not isinstance(folder, Path) or not any(folder.iterdir()):
                raise
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        else:
            return


def _answer(
    source: ModelSource,
    folder: Place,
    options: WorkerOptions,
    say: Callable[[str], None],
    progress: Callable[[int, int], None] | None,
) -> None:
    """Let workers answer the windows that have no part; `progress` hears how many units are answered, of how many."""
    from senseprobe.evaluate.windows.plan_form import read_plan
    from senseprobe.evaluate.windows.worker import missing_windows, worker_argument

    windows, missing = read_plan(folder).windows, missing_windows(folder)
    total = sum(window.units for _, window in windows)
    done = total - sum(windows[number][1].units for number in missing)

    def count(units: int) -> None:
        nonlocal done
        done += units
        if progress:
            progress(done, total)

    count(0)
    shared = ""  # of an address nothing is seen on a disk
    if isinstance(folder, Path):
        folder = folder.resolve()
        shared = str(folder)
    worker, argument = "senseprobe.evaluate.windows.worker:open_worker", worker_argument(folder, source)
    do_work(Work(worker, argument, missing, "window", shared), options, say, count)


@contextmanager
def _parts_folder(source: ModelSource, request: Request, options: WorkerOptions) -> Iterator[Place]:
    """Provide the place of parts that the options name, or a folder of the cache, which is removed if nothing fails.

    That of the cache is the same for the same call, as long as the files of the model are the same. SenseprobeError
    where another process is at it.
    """
    from senseprobe.evaluate.windows.places import place_of

    if options.parts:
        place = place_of(options.parts)
        if isinstance(place, Path):
            place.mkdir(parents=True, exist_ok=True)
        yield place
        return
    try:
        home = project.cache_folder("parts")
    except RuntimeError as error:
        raise SenseprobeError(f"no folder for parts ({error}): name one with --parts DIR") from error
    folder = home / _key_of(source, request, options)
    try:
        _remove_old(home)
        with locked(folder):
            yield folder
            shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        raise SenseprobeError(f"another process does the same, in {folder}: wait for it") from None


def _key_of(source: ModelSource, request: Request, options: WorkerOptions) -> str:
    """Return the name of the folder of a call: other files of a model, or another number of threads, have another."""
    model = Path(source.name)
    files = sorted(model.rglob("*")) if model.is_dir() else []
    stats = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files if path.is_file()]
    asked = {name: getattr(request, name) for name in request.__slots__ if name != "release"}
    workers = options.count or count_processors()
    made = [installed_version("senseprobe"), count_threads(options, workers), options.devices]
    key = [repr(source), str(model.absolute()), stats, str(request.release), str(Path.cwd()), asked, made]
    return hashlib.sha256(json.dumps(key, default=str).encode()).hexdigest()[:32]


def _remove_old(home: Path) -> None:
    """Remove folders of calls that nobody has continued for long."""
    for folder in home.iterdir() if home.is_dir() else ():
        with suppress(OSError):
            if folder.stat().st_mtime < time.time() - KEPT:
                with locked(folder):
                    shutil.rmtree(folder, ignore_errors=True)
