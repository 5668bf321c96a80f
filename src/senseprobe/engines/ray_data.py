"""Ray as an engine: Ray Data deals the numbers of pieces to a pool of actors, on this machine or a cluster.

Ray runs in processes of its own (ray_driver.py). To the actors go texts and numbers, and from them come reports as
texts; an actor keeps what it opened for all its pieces. Where an actor ends, Ray starts another and repeats its piece.
"""

import os
import secrets
import selectors
import shutil
import socket
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from senseprobe.engines.child_process import ChildProcess
from senseprobe.engines.processes import environment_of
from senseprobe.engines.work import Engine, Work, WorkerOptions, failure_of, threads_of_run
from senseprobe.errors import FindingsError, SenseprobeError

_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing leaves the machine
    "RAY_worker_niceness": "0",  # else 15: any other program would have the machine
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
}
_PREFIX = "senseprobe-ray-"
_KEPT = "what is done is kept, and the same command continues there"


def run_ray(work: Work, options: WorkerOptions, progress: Callable[[int], None] | None = None) -> None:
    """Do pieces of work on Ray: see `Engine`."""
    if find_spec("ray") is None:
        raise SenseprobeError("--engine ray needs Ray: run pip install 'senseprobe[ray]'")
    # Where Ray does not start it has one more try: it gives itself 30 s, however busy the machine is.
    for is_last in (bool(options.address), True):
        with _private_folder() as folder, _noted(work, options, folder) as notes:
            child = _start(work, options, folder, notes)
            try:
                if _follow(child, work, progress, is_last=is_last):
                    return
            finally:
                child.end()


def _start(work: Work, options: WorkerOptions, folder: Path, notes: str) -> ChildProcess:
    """Start the process that drives Ray, which keeps its files in a folder."""
    environment = _worker_environment(options)
    order = {
        "worker": work.worker,
        "argument": work.argument,
        "numbers": work.numbers,
        "notes": notes,
        "count": None if options.count is None else min(options.count, len(work.numbers)),
        "cpus": options.cpus or 1,
        "gpus": options.gpus,
        "address": options.address,
        "folder": str(folder),
        "environment": environment,
    }
    return ChildProcess("senseprobe.engines.ray_driver", order, {**environment, **_SETTINGS}, leads=True)


def _worker_environment(options: WorkerOptions) -> dict[str, str]:
    """Return the variables of a worker, which imports what this process can import, and has its number of threads."""
    library = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    folders = [Path(__file__).parents[2], *(Path(folder).absolute() for folder in sys.path)]
    path = dict.fromkeys(str(folder) for folder in folders if folder.is_dir() and str(folder) not in library)
    threads = options.cpus or threads_of_run() or 1
    return {**environment_of(threads), "PYTHONPATH": os.pathsep.join(path)}


def _follow(child: ChildProcess, work: Work, progress: Callable[[int], None] | None, *, is_last: bool) -> bool:
    """Return whether all pieces were done, once the process has said what came of each; False if Ray did not start.

    Raises SenseprobeError as a worker did, and where Ray ended, or `is_last` and it did not start.
    """
    is_ready = False
    with selectors.DefaultSelector() as selector:
        for pipe in (child.reports, child.printed):
            selector.register(pipe, selectors.EVENT_READ)
        while True:
            selector.select(timeout=0.5)
            child.keep_printed()
            has_ended = child.has_ended  # before its last reports are read, and none comes after them
            for report in child.read_reports():
                is_ready = is_ready or "ready" in report
                if "failed" in report and not is_ready and not is_last:
                    return False
                if "failed" in report:
                    raise _error_of(report, work)
                if "finished" in report:
                    child.stop()
                    return True
                if progress and "units" in report:
                    progress(int(report["units"]))
            if has_ended and (is_ready or is_last):
                raise SenseprobeError(f"Ray ended before the work did, with {child.describe_end()}; {_KEPT}")
            if has_ended:
                return False


def _error_of(report: Mapping[str, Any], work: Work) -> SenseprobeError:
    """Return what a report says, which names its piece unless it is of ours; and its machine, unless it is this one."""
    piece = f"{work.title} {report['number']}" if "number" in report else "Ray ended before the work did"
    error = failure_of(report["failed"], piece)
    if not isinstance(error, FindingsError):
        (message,) = error.args
        message = f"{piece}: {message}" if report.get("ended_often") else message
        elsewhere = report.get("host", socket.gethostname()) != socket.gethostname()
        error.args = (f"{message} (on {report['host']})" if elsewhere else message,)
    return error


@contextmanager
def _private_folder() -> Iterator[Path]:
    """Provide a folder for the files of Ray, which is removed in the end, as are those of processes that were killed.

    Its path is short: that of a socket has at most 107 bytes, of which Ray takes 60.
    """
    home = Path("/tmp" if os.access("/tmp", os.W_OK) else tempfile.gettempdir())  # noqa: S108
    for left in home.glob(f"{_PREFIX}*"):
        with suppress(OSError, ValueError):
            process = int(left.name.removeprefix(_PREFIX).partition("-")[0])
            if not Path(f"/proc/{process}").exists() and Path("/proc/self").exists():
                shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=home))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _noted(work: Work, options: WorkerOptions, folder: Path) -> Iterator[str]:
    """Provide the name of a folder for the notes of actors, where all of them can write; empty where there is none."""
    if not work.folder and options.address:
        yield ""
        return
    notes = Path(work.folder or folder).absolute() / f".ray-{secrets.token_hex(8)}"
    notes.mkdir()
    try:
        yield str(notes)
    finally:
        shutil.rmtree(notes, ignore_errors=True)


ENGINES = (
    Engine(
        id="ray",
        title="Ray, on this machine or a cluster",
        run=run_ray,
        takes=("address", "gpus", "cpus"),
    ),
)
