"""How many workers do a work, and where they run: the options of `score`, `build`, `verify` and `restore`."""

from collections.abc import Callable, MutableMapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from senseprobe.engines.work import ENGINES, Work, WorkerOptions, run_work
from senseprobe.errors import SenseprobeError
from senseprobe.messages import counted
from senseprobe.options import Option, parameters_of


def _count(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise ValueError(f"{text}: expected auto, or a number from 1")


def _names(text: str) -> tuple[str, ...]:
    if names := tuple(name.strip() for name in text.split(",") if name.strip()):
        return names
    raise ValueError(f"{text!r}: expected names with commas between them, for example cuda:0,cuda:1")


def workers(
    workers: Annotated[
        int | Literal["auto"],
        Option(
            type=str,
            default="1",
            parse=_count,
            metavar="N|auto",
            help="Let this many processes do the work, each with its own model; auto: as many as there is room for.",
        ),
    ] = 1,
    *,
    engine: Annotated[
        str, Option(metavar="NAME", help="Start workers by processes (of this machine), or by ray (also on a cluster).")
    ] = "processes",
    devices: Annotated[
        Sequence[str],
        Option(
            type=str,
            default=None,
            parse=_names,
            metavar="NAME,…",
            help="Give each worker one of these devices in turn.",
        ),
    ] = (),
    address: Annotated[
        str, Option(metavar="ADDRESS", help="With --engine ray: join this cluster; auto finds one of this machine.")
    ] = "",
    gpus_per_worker: Annotated[
        float,
        Option(
            metavar="N",
            least=0,
            help="With --engine ray: give each worker this many GPUs; several share its model.",
        ),
    ] = 0.0,
    cpus_per_worker: Annotated[
        int | None,
        Option(
            metavar="N",
            least=1,
            help="Let each worker compute with this many threads. Default: OMP_NUM_THREADS, or all processors, shared.",
        ),
    ] = None,
    parts: Annotated[
        str | Path | None,
        Option(
            type=str,
            metavar="DIR",
            help="Keep what workers have done here, in a folder that all of them can write. Default: in the cache.",
        ),
    ] = None,
) -> WorkerOptions:
    """Say how many workers do a work, and where; `score`, `build`, `verify` and `restore` take it, or a number.

    `devices` go round: with two, workers 0, 2, … have the first. Raises SenseprobeError for an unknown `engine`, and
    for an option that it does not have.

    >>> from senseprobe.api import workers
    >>> workers(2).count
    2
    """
    if workers != "auto" and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise SenseprobeError(f"workers={workers!r}: expected a number from 1, or 'auto'")
    options = WorkerOptions(
        count=None if workers == "auto" else workers,
        engine=engine,
        devices=tuple(devices),
        address=address,
        gpus=gpus_per_worker,
        cpus=cpus_per_worker,
        parts="" if parts is None else str(parts),
    )
    if options.is_one:
        return options
    chosen = ENGINES.find(engine)
    given = {"devices": devices, "address": address, "gpus": gpus_per_worker, "cpus": cpus_per_worker}
    flags = {"devices": "--devices", "address": "--address", "gpus": "--gpus-per-worker", "cpus": "--cpus-per-worker"}
    if unfit := [flags[name] for name, value in given.items() if value and name not in chosen.takes]:
        raise SenseprobeError(f"--engine {engine} does not take {', '.join(unfit)}: leave it out")
    return options


def workers_of(given: int | WorkerOptions) -> WorkerOptions:
    """Return the options of workers that a function was given as a number, or as what `workers` made."""
    return given if isinstance(given, WorkerOptions) else workers(given)


def take_workers(options: MutableMapping[str, Any]) -> WorkerOptions:
    """Return the options of workers among those of a command, which are taken out."""
    names = [parameter.name for parameter in parameters_of(workers)]
    return workers(**{name: options.pop(name) for name in names if name in options})


def do_work(
    work: Work,
    options: WorkerOptions,
    say: Callable[[str], None] | None = None,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Do pieces of work by the workers of the options: see `Engine`.

    `say` hears where there are fewer pieces than workers, and `progress` of the units of each piece.
    """
    left = len(work.numbers)
    if say and options.count and 0 < left < options.count:
        say(f"{counted(left, work.title)} for {options.count} workers: {counted(left, 'worker')} will do")
    run_work(work, options, progress)
