"""Worker processes on this machine: one is started for each worker, and gets one piece at a time."""

import selectors
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any

from senseprobe.engines.child_process import ChildProcess
from senseprobe.engines.work import (
    THREADS,
    TRIES,
    Engine,
    Work,
    WorkerOptions,
    count_processors,
    count_threads,
    failure_of,
)
from senseprobe.errors import SenseprobeError


def run_processes(work: Work, options: WorkerOptions, progress: Callable[[int], None] | None = None) -> None:
    """Do pieces of work in processes of this machine: see `Engine`."""
    count = min(count_workers(options), len(work.numbers))
    environment = environment_of(count_threads(options, count))
    with _Pool(work, count, options.devices, environment) as pool:
        pool.do_all(progress)


def count_workers(options: WorkerOptions) -> int:
    """Return how many processes there are: as many as requested, or one a device, or one for the threads of each."""
    if options.count is not None:
        return options.count
    return len(options.devices) or max(1, count_processors() // count_threads(options, count_processors()))


def environment_of(threads: int) -> dict[str, str]:
    """Return the variables of a worker that computes with so many threads."""
    return {THREADS: str(threads), "RAYON_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}


class _Worker(ChildProcess):
    """A process, and the piece that it is at; `slot` numbers the workers of a work."""

    def __init__(self, slot: int, work: Work, device: str | None, environment: Mapping[str, str]) -> None:
        self.slot = slot
        self.piece: int | None = None
        self.is_ready = False
        order = {"worker": work.worker, "argument": work.argument, "device": device}
        super().__init__("senseprobe.engines.worker_process", order, environment)

    def take(self, number: int) -> None:
        """Let it do the piece of a number."""
        self.piece = number
        self.tell({"do": number})


class _Pool:
    """The workers of a work, which are ended when the block is."""

    def __init__(self, work: Work, count: int, devices: tuple[str, ...], environment: Mapping[str, str]) -> None:
        self._work, self._environment, self._count = work, environment, count
        self._devices = devices or (None,)
        self._to_do, self._left = deque(work.numbers), len(work.numbers)
        self._tries: Counter[str] = Counter()
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> "_Pool":
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.end()
        self._selector.close()

    def do_all(self, progress: Callable[[int], None] | None) -> None:
        """Return when all pieces are done."""
        for slot in range(self._count):
            self._start(slot)
        while self._left:
            # A pipe whose other end is closed can be read at once: it is taken out where its worker is seen to.
            for key, _ in self._selector.select(timeout=0.5):
                if key.fd == key.data.printed:
                    key.data.keep_printed()
            for worker in [*self._workers]:
                has_ended = worker.has_ended  # before its last reports are read, and none comes after them
                for report in worker.read_reports():
                    self._hear(worker, report, progress)
                if has_ended and self._left:
                    self._replace(worker)
        for worker in self._workers:
            if worker.is_ready:
                worker.stop()

    def _start(self, slot: int) -> None:
        worker = _Worker(slot, self._work, self._devices[slot % len(self._devices)], self._environment)
        self._workers.append(worker)
        for pipe in (worker.reports, worker.printed):
            self._selector.register(pipe, selectors.EVENT_READ, worker)

    def _remove(self, worker: _Worker) -> _Worker:
        self._workers.remove(worker)
        for pipe in (worker.reports, worker.printed):
            self._selector.unregister(pipe)
        return worker

    def _hear(self, worker: _Worker, report: Mapping[str, Any], progress: Callable[[int], None] | None) -> None:
        """Act on a report of a worker, and give it the next piece."""
        if "failed" in report:
            raise failure_of(report["failed"], self._name(worker))
        self._tries[self._name(worker)] = 0
        worker.is_ready, worker.piece = True, None
        if "done" in report:
            self._left -= 1
            if progress:
                progress(int(report["units"]))
        if self._to_do:
            worker.take(self._to_do.popleft())

    def _replace(self, worker: _Worker) -> None:
        """Start another process for one that has ended, and let its piece be done again, unless both were in vain."""
        how, name = worker.describe_end(), self._name(worker)
        self._remove(worker).end()
        if worker.piece is not None or not worker.is_ready:
            self._tries[name] += 1
        if self._tries[name] >= TRIES:
            raise SenseprobeError(
                f"{name}: its process ended {TRIES} times, the last time with {how}; what is done is kept, and the "
                "same command, with fewer workers if memory was short, goes on there"
            )
        if worker.piece is not None:
            self._to_do.appendleft(worker.piece)
        if self._to_do:
            self._start(worker.slot)

    def _name(self, worker: _Worker) -> str:
        """Return what messages call what a worker is at."""
        return f"worker {worker.slot}" if worker.piece is None else f"{self._work.title} {worker.piece}"


ENGINES = (
    Engine(
        id="processes",
        title="processes of this machine",
        run=run_processes,
        takes=("devices", "cpus"),
    ),
)
