r"""How much faster two workers score than one, and what Ray takes beside the work, in one run.

BERT-base with random weights answers pairs of premise and hypothesis of nli-occupation by `nli`, in windows of a given
size, with one thread each. The same windows are answered by one worker, by two, and by two that Ray started; that all
parts are the same bytes is checked, and the script exits 1 where they are not. Each window is timed where it is
answered. What comes before a worker has answered its first, for which it loads the model, is a start and printed apart.

    python benchmarks/scale.py [--windows 14] [--window 512] [--rounds 3] [--ray] [--small]

With --ray this Python needs Ray (`pip install 'senseprobe[ray]'`). Beside the ratio of seconds stands that of CPU
seconds, which is the one of a machine with nothing beside it. Builds have a script of their own:
`benchmarks/expand.py --shards 20`.
"""

import argparse
import csv
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from statistics import median

LOG = "SENSEPROBE_BENCHMARK_LOG"


@dataclass(frozen=True)
class Taken:
    """What a window took in the worker that answered it: its process, start, end, and seconds of CPU."""

    worker: int
    start: float
    end: float
    cpu: float


@contextmanager
def open_timed(argument: str, device: str | None) -> Iterator[Callable[[int], int]]:
    """Open the worker of windows; each window leaves a line in a log."""
    from senseprobe.evaluate.windows.worker import open_worker

    given = json.loads(argument)
    with open_worker(given["argument"], device) as do:

        def do_timed(number: int) -> int:
            start, cpu = time.time(), time.process_time()
            units = do(number)
            line = json.dumps([os.getpid(), start, time.time(), time.process_time() - cpu])
            with Path(given["log"]).open("a") as log:
                log.write(f"{line}\n")
            return units

        yield do_timed


def main() -> int:
    """Print ratios; return the exit code."""
    options = _options()
    os.environ["OMP_NUM_THREADS"] = "1"
    engines = {"one worker": ("processes", 1), "two workers": ("processes", 2)}
    if options.ray:
        engines["two workers of Ray"] = ("ray", 2)
    ratios: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        model = lay_out(folder, options.windows * options.window, small=options.small)
        for _ in range(options.rounds):
            taken, starts, parts = {}, {}, {}
            for name, (engine, count) in engines.items():
                began = time.time()
                taken[name], parts[name] = answer(folder, model, engine, count, options.window)
                starts[name] = min(window.end for window in taken[name]) - began
            if any(part != parts["one worker"] for part in parts.values()):
                print("THE PARTS DIFFER")
                return 1
            for name, windows in taken.items():
                print(
                    f"{name}: {span(windows):.2f} s a window (CPU {slowest_cpu(windows):.2f} s), after "
                    f"{starts[name]:.1f} s until the first, with the model; between two windows {gap(windows):.2f} s"
                )
            for what, ratio in compare(taken).items():
                ratios.setdefault(what, []).append(ratio)
    for what, each in ratios.items():
        print(f"{what}: {median(each):.2f} ({' '.join(f'{ratio:.2f}' for ratio in each)})")
    return 0


def lay_out(folder: Path, units: int, *, small: bool) -> Path:
    """Write a table of so many pairs, and a model that reads them; return the model's folder."""
    from rivals import random_models

    pairs = choose_pairs(units)
    random_models.save(folder / "model", "inference", sorted({*chain.from_iterable(pairs)}), small=small)
    with (folder / "pairs.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("premise", "hypothesis"), *pairs])
    return folder / "model"


def choose_pairs(count: int) -> list[tuple[str, str]]:
    """Return so many distinct premises with their hypotheses, from all over nli-occupation."""
    from senseprobe.api import open_catalogue

    catalogue = open_catalogue("nli-occupation")
    every = max(1, sum(config.size for config in catalogue.configs) // (2 * count))
    chosen = dict[tuple[str, str], None]()
    for config in catalogue.configs:
        for batch in catalogue.rows(config):
            columns = [batch[name].to_pylist()[::every] for name in ("premise", "hypothesis")]
            chosen.update(dict.fromkeys(zip(*columns, strict=True)))
    return sorted(chosen)[:: max(1, len(chosen) // count)][:count]


def answer(folder: Path, model: Path, engine: str, count: int, window: int) -> tuple[Sequence[Taken], dict[str, bytes]]:
    """Let workers answer all windows of the table; return what each took, and the parts."""
    from senseprobe.api import model as model_of
    from senseprobe.api.windows import plan_scores
    from senseprobe.engines.work import Work, WorkerOptions, run_work
    from senseprobe.evaluate.scorers import base
    from senseprobe.evaluate.windows.worker import missing_windows, worker_argument

    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        parts, log, source = Path(scratch) / "parts", Path(scratch) / "log", model_of(model, batch_tokens=None)
        base.WINDOW = window
        plan_scores(source, folder / "pairs.csv", "nli", parts=parts, control=False, say=lambda _: None)
        sys.path.insert(0, str(Path(__file__).parent))
        argument = json.dumps({"argument": worker_argument(parts, source), "log": str(log)})
        work = Work("scale:open_timed", argument, missing_windows(parts), "window", str(parts))
        run_work(work, replace(WorkerOptions(), count=count, engine=engine))
        taken = [Taken(*json.loads(line)) for line in log.read_text().splitlines()]
        return taken, {path.name: path.read_bytes() for path in parts.glob("part-*")}


def span(windows: Sequence[Taken]) -> float:
    """Seconds a window, from the end of the first window, for which the model is loaded, to the end of the last."""
    later = later_windows(windows)
    begin = min(window.end for window in windows)
    return (max(window.end for window in windows) - begin) / len(later)


def slowest_cpu(windows: Sequence[Taken]) -> float:
    """Seconds of CPU a window, where the worker that has most of them is the last to end."""
    later = later_windows(windows)
    workers = {window.worker for window in later}
    return max(sum(window.cpu for window in later if window.worker == worker) for worker in workers) / len(later)


def later_windows(windows: Sequence[Taken]) -> Sequence[Taken]:
    """Return the windows of workers that had one before."""
    first = {worker: min(w.start for w in windows if w.worker == worker) for worker in {w.worker for w in windows}}
    return [window for window in windows if window.start > first[window.worker]]


def gap(windows: Sequence[Taken]) -> float:
    """Seconds between two windows of a worker, in the mean."""
    gaps = [
        later.start - earlier.end
        for worker in {window.worker for window in windows}
        for earlier, later in pairwise(sorted((w for w in windows if w.worker == worker), key=lambda w: w.start))
    ]
    return sum(gaps) / max(1, len(gaps))


def compare(taken: dict[str, Sequence[Taken]]) -> dict[str, float]:
    """Return the ratios of a round."""
    one, two = taken["one worker"], taken["two workers"]
    ratios = {
        "two workers against one": span(one) / span(two),
        "two workers against one, of CPU": slowest_cpu(one) / slowest_cpu(two),
    }
    if ray := taken.get("two workers of Ray"):
        work = sum(window.end - window.start for window in ray) / len(ray)
        ratios["Ray's overhead, as a share of the work"] = span(ray) / span(two) - 1
        ratios["Ray's overhead, of CPU"] = slowest_cpu(ray) / slowest_cpu(two) - 1
        ratios["Ray's overhead, as what lies between windows"] = (gap(ray) - gap(two)) / work
    return ratios


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--windows", type=int, default=14)
    parser.add_argument("--window", type=int, default=512, metavar="UNITS")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--small", action="store_true", help="a tiny model: ratios mean nothing")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
