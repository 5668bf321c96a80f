"""Numbered pieces of work, and the registry of the engines that do them.

What is done is named by texts, since these reach another process and another machine as they are. An engine starts
workers, and each of them opens what it needs once (a model, say) and then does one piece at a time. A piece that is
done leaves a marker behind, a file, so that to do it twice changes nothing: whoever makes a `Work` leaves out the
pieces whose markers are there, and work that was stopped goes on.
"""

import os
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, TypeAlias

from senseprobe import errors
from senseprobe.errors import FindingsError, SenseprobeError
from senseprobe.plugins import Registry, Unfit, describe_error
from senseprobe.records import Finding

Do: TypeAlias = Callable[[int], int]
"""Does the piece of a number; returns when its marker is there, with how many units that were."""

TRIES = 4
"""How often a piece is begun whose worker ends meanwhile, and a worker that does not get ready."""
THREADS = "OMP_NUM_THREADS"


@dataclass(frozen=True, slots=True)
class Work:
    """Pieces of work.

    - `worker`: ``module:function`` of a function of `argument` and of a device (or None), which returns a context
      manager of what does a piece, a `Do`. It is called once in each worker.
    - `argument`: what it needs, for every worker the same, as JSON.
    - `numbers`: those of the pieces that are to be done.
    - `title`: what messages call a piece, for example ``window``.
    - `folder`: the folder, if any, that all workers read and write, on whichever machine they are.
    """

    worker: str
    argument: str
    numbers: tuple[int, ...]
    title: str = "piece"
    folder: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerOptions:
    """How many workers do a work, and where; `senseprobe.api.workers` makes it.

    - `count`: how many at most; None: as many as there is room for.
    - `engine`: the id of what starts them.
    - `devices`: worker I gets number I of them, from the first again where there are fewer.
    - `address`: of a cluster; empty: this machine.
    - `gpus`, `cpus`: what each worker takes; a worker computes with `cpus` threads, None: see `count_threads`.
    - `parts`: a folder that all workers can write, for what is done; empty: one on this machine.
    """

    count: int | None = 1
    engine: str = "processes"
    devices: tuple[str, ...] = ()
    address: str = ""
    gpus: float = 0.0
    cpus: int | None = None
    parts: str = ""

    @property
    def is_one(self) -> bool:
        """Whether this process does all itself, since nothing else was requested."""
        return self == WorkerOptions()


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    """What does pieces of work.

    - `run(work, options, progress)`: does them. It returns when all are done, and calls `progress` with the units of
      each piece. Where a worker ends, it is started again, up to three times for a piece. Raises SenseprobeError that
      names the piece for which that was in vain; what a worker raises, with the same message. Ctrl-C, and each error,
      ends the workers, and keeps the pieces that are done.
    - `title`: what messages call it; `takes`: the fields of `WorkerOptions` besides `count` that it heeds.
    """

    id: str
    title: str
    run: Callable[[Work, WorkerOptions, Callable[[int], None] | None], None]
    takes: tuple[str, ...] = ()
    origin: str = ""


def _admit(engine: Engine) -> Engine:
    if not callable(engine.run):
        raise Unfit("its `run` is not a function")
    return engine


ENGINES = Registry("senseprobe.engines", Engine, "engine", (), _admit)
"""Our engines, then those of plug-ins, by id."""


def run_work(work: Work, options: WorkerOptions, progress: Callable[[int], None] | None = None) -> None:
    """Do pieces of work by the engine of the options; see `Engine`. Raises SenseprobeError for an unknown engine."""
    engine = ENGINES.find(options.engine)
    if work.numbers:
        engine.run(work, options, progress)


def open_worker(work: str, argument: str, device: str | None) -> AbstractContextManager[Do]:
    """Return what a worker opens: see `Work`."""
    module, _, name = work.partition(":")
    worker: AbstractContextManager[Do] = getattr(import_module(module), name)(argument, device)
    return worker


def count_threads(options: WorkerOptions, workers: int) -> int:
    """Return with how many threads each of some workers on this machine computes.

    These are the `cpus` of a worker, or else OMP_NUM_THREADS, or else the processors of this process, shared equally.
    Numbers can differ in their last bits between two numbers of threads.
    """
    return options.cpus or threads_of_run() or max(1, count_processors() // workers)


def threads_of_run() -> int | None:
    """Return the number of threads that OMP_NUM_THREADS sets; None where it sets none."""
    given = os.environ.get(THREADS, "").partition(",")[0]
    return int(given) if given.isdecimal() and int(given) else None


def count_processors() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


# --- errors of workers ----------------------------------------------------------------------------------------------


class WorkerTraceback(Exception):
    """Where in a worker an error was raised: the cause of the error here."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def describe_failure(error: BaseException) -> dict[str, Any]:
    """Return an error as JSON, which `failure_of` reads: a worker sends it."""
    findings = [asdict(finding) for finding in error.findings] if isinstance(error, FindingsError) else []
    ours = isinstance(error, SenseprobeError)
    return {
        "kind": type(error).__name__ if ours else "",
        "message": str(error) if ours else describe_error(error),
        "findings": [{**finding, "fix": None} for finding in findings],
        "traceback": "" if ours else "".join(traceback.format_exception(error)),
    }


def failure_of(described: Mapping[str, Any], piece: str) -> SenseprobeError:
    """Return the error of a worker, to be raised here; one that is none of senseprobe's names the `piece`."""
    kind = getattr(errors, described["kind"], SenseprobeError) if described["kind"] else None
    if kind is None:
        error = SenseprobeError(f"{piece}: {described['message']}")
        error.__cause__ = WorkerTraceback(described["traceback"])
        return error
    if issubclass(kind, FindingsError):
        return kind([Finding(**finding) for finding in described["findings"]])
    return kind(described["message"])
