r"""How fast senseprobe scores, against the ways that people have now, and against the model's bare forward pass.

Each work is done in all ways in one run, with the same random weights and the same sentences. Before anything is timed,
and again in every round, the numbers are held against ours: where they are further apart than 1e-4 and a millionth of
them, the script ends with 1. All ways take turns, another first in each round; rates are medians, and so are ratios,
which are taken within each round. Ways that do one sentence or one mask at a time are timed on some pairs of each
length, those of inference on every eighth 32 pairs, ours on all. Other tools get the batch size that is best for them,
of those that were tried.

So does the bare forward pass: that is the model on exactly the inputs that are needed, each once, those of one length
together, with all logits made and none looked at; on a CPU once as transformers make it, and once with its linear
layers laid out as senseprobe has them, which is the roof. For `ll` it is counted twice: every sentence read whole; and
as many tokens as the sentences have distinct beginnings, which is what `ll` reads.

    python benchmarks/score.py [--only aul] [--sample 100] [--rounds 5] [--rivals PYTHON] [--write docs/performance.md]

minicons and lm-eval are run from an environment of their own, which can borrow torch from this one:

    python -m venv /tmp/rivals
    python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
        "$(/tmp/rivals/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/ours.pth"
    /tmp/rivals/bin/pip install lm_eval==0.4.13 minicons==0.3.39
    python benchmarks/score.py --rivals /tmp/rivals/bin/python

With --short MODEL it measures another thing: the seconds of the processor, and of the clock, that the whole command
takes to score 60 pairs by `ll`, nothing stored, where most is not answering. It measures the package that Python finds,
so that PYTHONPATH=CHECKOUT/src measures another one.

    senseprobe fetch smollm2 && python benchmarks/score.py --short smollm2 [--rounds 3]

Exits 1 where numbers differ, where a ratio is below what is asked for, and where a rival could not be run. With --small
the models are tiny and ratios mean nothing: it tries out the script, and only numbers that differ make it fail.
"""

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import numpy as np
import torch
from rivals import page
from rivals.passes import Numbers
from rivals.rows import ROWS, Row, Setting, Way

TOLERANCE = 1e-4
RELATIVE = 1e-6  # single precision has seven digits
TRIED_FIRST = 8  # items whose numbers are compared before anything is timed


@dataclass(frozen=True)
class Taken:
    """A way and its seconds for each round; `rates` are items a second."""

    way: Way
    seconds: list[float] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        """Items a second, by round."""
        return [len(self.way.part) / seconds for seconds in self.seconds]


class Differs(Exception):
    """A rival's number is not ours."""


def main() -> int:
    """Time what is asked for, print tables, write them where asked, and return the exit status."""
    options = _options()
    if options.short:
        return time_short_run(options.short, options.rounds)
    torch.set_num_threads(options.threads)
    if options.device == "cuda":
        machine = f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    else:
        machine = f"{_processor()}, threads: {options.threads}, torch {torch.__version__}"
    print(f"{machine}; float32; {options.rounds} rounds" + ("; tiny models: ratios mean nothing" * options.small))
    lines, failed = [], []
    for name in options.only or ROWS:
        with ExitStack() as opened:
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
            row = ROWS[name](_setting(options, folder, opened))
            try:
                ours, others, worst = time_row(row, options.rounds)
            except Differs as difference:
                print(f"\n{row.work}: {difference}")
                return 1
        print(f"\n{row.work}\nlargest difference {worst:.0e} of what is allowed")
        print(f"  senseprobe: {median(ours.rates):.1f} {row.counted}/s")
        for other in others:
            ratio = ratio_of(ours, other)
            print(f"  {other.way.name}: {told(row, other, ratio)}")
            failed += [other.way.name] if ratio is None or ratio < (other.way.least or 0) else []
            lines.append(line(row, ours, other, ratio, options.device, f"{machine}; {_today()}{options.note}"))
    if options.write:
        page.merge(options.write, lines)
    print(f"\n{len(lines) - len(failed)} of {len(lines)} as fast as asked for")
    return 0 if options.small or not failed else 1


def time_row(row: Row, rounds: int) -> tuple[Taken, list[Taken], float]:
    """Our seconds, those of the others, and the largest difference, as a part of what is allowed. Raises Differs."""
    ways = [row.ours, *row.others]
    taken = [Taken(way) for way in ways]
    for way in row.others:  # also warms up
        _compare(way, _run(row.ours, way.part[:TRIED_FIRST]), _run(way, way.part[:TRIED_FIRST]))
    worst = 0.0
    for turn in range(rounds):
        values: dict[int, Numbers | None] = {}
        for number in np.roll(range(len(ways)), -turn).tolist():
            if (run := ways[number].run) is not None:
                values[number], seconds = run(ways[number].part)
                taken[number].seconds.append(seconds)
        ours = np.asarray(values[0])
        differences = [_compare(way, ours[list(way.part)], values.get(i)) for i, way in enumerate(ways)]
        worst = max(worst, *differences)
    return taken[0], taken[1:], worst


def time_short_run(model: str, rounds: int) -> int:
    """Print what the command takes to score 60 pairs, round by round; return its exit status where it fails."""
    words = ("score", model, "sssb@1.1.1:nationality", "-m", "ll", "--limit", "60", "--no-store")
    command = [sys.executable, "-P", "-m", "senseprobe", *words]
    for number in range(1, rounds + 1):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([*command, "--out", folder], stdout=subprocess.DEVNULL, check=False)
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            return done.returncode
        user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
        print(f"round {number}: {user:.1f} s user, {system:.1f} s system, {wall:.1f} s by the clock")
    return 0


def _run(way: Way, items: Sequence[int]) -> Numbers | None:
    return way.run(items)[0] if way.run else None


def _compare(way: Way, ours: Numbers | None, theirs: Numbers | None) -> float:
    """The largest difference as a part of what is allowed; 0 where there are no numbers. Raises Differs."""
    if ours is None or theirs is None:
        return 0.0
    if ours.shape != theirs.shape:
        raise Differs(f"{way.name} gives {theirs.shape} numbers, senseprobe {ours.shape}")
    worst = float((np.abs(ours - theirs) / (TOLERANCE + RELATIVE * np.abs(ours))).max())
    if not worst <= 1:
        raise Differs(f"{way.name} gives other numbers than senseprobe, up to {np.abs(ours - theirs).max():.1e} apart")
    return worst


def ratio_of(ours: Taken, other: Taken) -> float | None:
    """How many times as fast ours is: the median of what each round gave; None where the other could not be run."""
    if not other.seconds:
        return None
    return median(mine / theirs for mine, theirs in zip(ours.rates, other.rates, strict=True))


def told(row: Row, other: Taken, ratio: float | None) -> str:
    """A way's rate and ratio, or why it could not be run."""
    if ratio is None:
        return f"could not be run ({other.way.note})"
    note = f" ({other.way.note})" if other.way.note else ""
    part = f", timed on {len(other.way.part)}"
    return (
        f"{median(other.rates):.1f} {row.counted}/s{part}{note}; senseprobe is {ratio:.2f} times as fast"
        f" (at least {other.way.least:g} asked)"
    )


def line(row: Row, ours: Taken, other: Taken, ratio: float | None, device: str, machine: str) -> dict[str, str]:
    """Cells of the table in docs/performance.md."""
    measured = ratio is not None
    return {
        "work": row.work,
        "against": other.way.name,
        "on": device,
        "ours /s": f"{median(ours.rates):.4g} {row.counted}",
        "theirs /s": f"{median(other.rates):.4g}" if measured else "not run",
        "times as fast": f"{ratio:.2f}" if measured else "not run",
        "at least": f"{other.way.least:g}",
        "machine": machine,
    }


def _setting(options: argparse.Namespace, folder: Path, opened: ExitStack) -> Setting:
    return Setting(
        folder=folder,
        device=options.device,
        threads=options.threads,
        small=options.small,
        sample=options.sample,
        python=options.rivals,
        batch_tokens=options.batch_tokens,
        open=opened,
    )


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _processor() -> str:
    """What the processor calls itself, and how many of its cores there are."""
    about = Path("/proc/cpuinfo")
    named = [text.partition(":")[2].strip() for text in about.read_text().splitlines() if text.startswith("model name")]
    return f"{(named or [platform.machine()])[0]} ({os.cpu_count()} cores)"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=[*ROWS], metavar="ROW", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--sample", type=int, metavar="N", help="so many items of each work (aul: of its slow rival)")
    parser.add_argument("--rounds", type=int, default=3, help="all ways in turn, so often (default: 3)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="(default: %(default)s)")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="(default: cpu)")
    parser.add_argument("--batch-tokens", type=int, help="of our forward passes (default: what suits the device)")
    parser.add_argument("--small", action="store_true", help="tiny models, to try out the script")
    parser.add_argument("--rivals", metavar="PYTHON", help="an interpreter that has minicons and lm-eval")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the figures into the table of this page")
    parser.add_argument("--short", metavar="MODEL", help="what the command takes to score 60 pairs with a causal model")
    parser.add_argument("--note", default="", type=lambda text: f"; {text}", help="said of the machine in that table")
    options = parser.parse_args()
    if options.write and options.small:
        parser.error("--small gives no figures for a page")
    return options


if __name__ == "__main__":
    sys.exit(main())
