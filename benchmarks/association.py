"""How fast association tests are, against the loop of the field, all in one run.

The loop is ours, in the way of sent-bias (May et al. 2019), whose code Tan and Celis use as well: a cosine for each
pair of words in two Python loops; the exact p by `itertools.combinations` and a sum for each division; where there are
more than 100,000, 99,999 shuffles. Both sides take turns in each round; printed are the medians of processor seconds
(of all threads), and the median of the ratios within rounds, since the machine's speed may drift. That both give the
same numbers is checked first.

    python benchmarks/association.py [--rounds 5] [--vectors FILE] [--encoders MODEL…] [--wefe PYTHON]

Both have one thread. `--vectors` opens a file and runs its 30 tests, by the clock and once all is imported;
`--encoders` holds encoding against the bare forward pass (association_encoding.py has more options).
`--wefe` names the Python of an environment with wefe 1.0.1, which draws 10,000 times with replacement and has no exact
p: its seconds are printed beside. Exits 1 where a target is missed.
"""

import argparse
import itertools
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np
import pandas as pd

import senseprobe
from senseprobe.statistics import FloatArray, division_p, pairwise_cosines

WORDS, DIMENSIONS = 300, {300: 50.0, 1024: 20.0}
"""The sides of a table of cosines, and how many times as fast a product of matrices has to be, by dimensions."""

PART, SHUFFLES = 20_000, 99_999
MOST_SECONDS, MOST_FILE_SECONDS = 0.5, 3

WEFE = """
import sys, time, warnings
import numpy as np
from gensim.models import KeyedVectors
from wefe.metrics import WEAT
from wefe.query import Query
from wefe.word_embedding_model import WordEmbeddingModel
warnings.simplefilter("ignore")
n, dimensions = map(int, sys.argv[1:])
sets = [[f"{name}{number}" for number in range(n)] for name in "xyab"]
vectors = KeyedVectors(dimensions)
words = sum(sets, [])
vectors.add_vectors(words, np.random.default_rng(0).normal(size=(len(words), dimensions)).astype("float32"))
query, model = Query(sets[:2], sets[2:]), WordEmbeddingModel(vectors, "random")
began = time.process_time()
WEAT().run_query(query, model, calculate_p_value=True, p_value_iterations=500)
print((time.process_time() - began) * 20)
"""


@dataclass(frozen=True)
class Result:
    """One line: seconds of the loop and of ours, their ratio, and its target; or that of our seconds."""

    name: str
    loop: float
    ours: float
    ratio: float
    least: float | None = None
    seconds: float | None = None
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the target is reached, if there is one."""
        return self.ratio >= (self.least or 0) and self.ours <= (self.seconds or math.inf)

    def __str__(self) -> str:
        target = f"at least {self.least:,.0f}" if self.least else f"under {self.seconds} s"
        verdict = "" if self.holds else " MISSED"
        return (
            f"{self.name:38} loop {self.loop:9.4f} s, ours {self.ours:9.6f} s, {self.ratio:,.1f} times as fast "
            f"(asked for: {target}{verdict}) {self.note}"
        ).rstrip()


def main() -> int:
    """Run every section, and print."""
    if "OMP_NUM_THREADS" not in os.environ:  # which is read when NumPy is imported
        one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.run([sys.executable, *sys.argv], env=one_thread, check=False).returncode
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--vectors", metavar="FILE", help="such as glove, once fetched")
    parser.add_argument("--encoders", nargs="*", default=[], metavar="MODEL")
    parser.add_argument("--wefe", metavar="PYTHON", help="the Python of an environment with wefe 1.0.1")
    options = parser.parse_args()
    missed = 0
    for result in itertools.chain(measure_cosines(options.rounds), measure_p(options.rounds)):
        print(result, flush=True)
        missed += not result.holds
    if options.vectors:
        missed += not report_vectors(options.vectors)
    for model in options.encoders:
        from association_encoding import LEAST, measure_encoding, read_units  # torch, which others do without

        for line, ratio in measure_encoding(model, "cpu", "cword", read_units("cword", 8), options.rounds):
            print(line, flush=True)
            missed += ratio < LEAST
    if options.wefe:
        for n in (8, 13, 25, 32):
            print(
                f"wefe, 10,000 draws, n = {n}: {_wefe_seconds(options.wefe, n):.1f} s (500 draws, times 20)", flush=True
            )
    print("all targets are reached" if not missed else f"{missed} targets are missed")
    return 1 if missed else 0


def measure_cosines(rounds: int) -> Iterator[Result]:
    """Yield cosines of 300 by 300 words."""
    for dimensions, least in DIMENSIONS.items():
        x, y = np.random.default_rng(dimensions).normal(size=(2, WORDS, dimensions))
        _check(np.allclose(loop_cosines(x, y), pairwise_cosines(x, y)))
        yield _race(
            f"cosines 300 x 300, {dimensions:,} dimensions",
            partial(loop_cosines, x, y),
            partial(pairwise_cosines, x, y),
            rounds,
            least=least,
        )


def measure_p(rounds: int) -> Iterator[Result]:
    """Yield p of 8 and 13 words a side, which are exact, and of 25 and 32, which are enclosed."""
    rng = np.random.default_rng(0)
    for n, least in ((8, 50.0), (13, 1_000.0)):
        x, y = rng.normal(0.5, 1, n), rng.normal(0, 1, n)
        divisions = math.comb(2 * n, n)
        part = min(PART, divisions)
        if part == divisions:
            _check(loop_hits(x, y, part) / divisions == division_p(x, y).high)
        note = "" if part == divisions else f"(loop: {part:,} of {divisions:,} divisions, extrapolated)"
        yield _race(
            f"exact p, n = {n}",
            partial(loop_hits, x, y, part),
            partial(division_p, x, y),
            rounds,
            least=least,
            times=divisions / part,
            note=note,
        )
    for n in (25, 32):
        x, y = rng.normal(0.5, 1, n), rng.normal(0, 1, n)
        p, drawn = division_p(x, y), loop_shuffles(x, y)
        _check(abs(drawn - p.high) <= 5 * math.sqrt(p.high / SHUFFLES) + 0.05 * p.high)
        yield _race(
            f"p enclosed, n = {n}, for 99,999 shuffles",
            partial(loop_shuffles, x, y),
            partial(division_p, x, y),
            rounds,
            seconds=MOST_SECONDS,
            note=f"(p from {p.low:.6f} to {p.high:.6f}, drawn {drawn:.6f})",
        )


def report_vectors(file: str) -> bool:
    """Print how long a file of vectors and its 30 tests take once all is imported; return whether it is in time."""
    release = senseprobe.load("association")
    rows = pd.DataFrame({"test": "t", "role": [*"XXYYAABB"], "word": [*"abcdefgh"]})
    senseprobe.score(np.random.default_rng(0).normal(size=(8, 4)), rows, "weat-word", store=False)  # imports all
    began = time.perf_counter()
    (result,) = senseprobe.score(f"vectors:{file}", release.folder, "weat", level="word", store=False)
    seconds = time.perf_counter() - began
    verdict = "" if seconds < MOST_FILE_SECONDS else " MISSED"
    print(
        f"{file}: opened, {len(result.figures)} tests, {seconds:.2f} s (asked for: under {MOST_FILE_SECONDS}{verdict})"
    )
    return not verdict


def _race(
    name: str,
    loop: Callable[[], object],
    ours: Callable[[], object],
    rounds: int,
    *,
    least: float | None = None,
    seconds: float | None = None,
    times: float = 1,
    note: str = "",
) -> Result:
    """Time both in turns; the loop's seconds are multiplied by `times`."""
    ours()
    pairs = [(times * _seconds(loop), _seconds(ours)) for _ in range(rounds)]
    first, second = (median(side) for side in zip(*pairs, strict=True))
    return Result(name, first, second, median(one / other for one, other in pairs), least, seconds, note)


def _seconds(run: Callable[[], object]) -> float:
    """Seconds of one run, as the mean of as many runs as take a twentieth of a second."""
    began, runs = time.process_time(), 0
    while (spent := time.process_time() - began) < 0.05:
        run()
        runs += 1
    return spent / runs


def _check(holds: bool) -> None:
    if not holds:
        raise SystemExit("the loop and ours do not agree")


# --- the loop of the field -------------------------------------------------------------------------------------------


def loop_cosines(x: FloatArray, y: FloatArray) -> FloatArray:
    """Cosines of all pairs, one after the other."""
    cosines = np.zeros((len(x), len(y)))
    for row, first in enumerate(x):
        for column, second in enumerate(y):
            cosines[row, column] = np.dot(first, second) / math.sqrt(np.dot(first, first) * np.dot(second, second))
    return cosines


def loop_hits(x: FloatArray, y: FloatArray, most: int) -> int:
    """How many of the first divisions have a sum at least as high as the observed one."""
    values, observed, hits = np.concatenate([x, y]), x.sum(), 0
    for chosen in itertools.islice(itertools.combinations(range(len(values)), len(x)), most):
        total = values[np.array(chosen, dtype=int)].sum()
        hits += bool(total > observed or math.isclose(total, observed, rel_tol=1e-12))
    return hits


def loop_shuffles(x: FloatArray, y: FloatArray) -> float:
    """The share of shuffles, and one added hit, with a sum at least as high as the observed one."""
    values, observed, hits = np.concatenate([x, y]), x.sum(), 1
    rng, order = np.random.default_rng(1), np.arange(len(x) + len(y))
    for _ in range(SHUFFLES):
        rng.shuffle(order)
        hits += bool(values[order[: len(x)]].sum() >= observed)
    return hits / (SHUFFLES + 1)


def _wefe_seconds(python: str, n: int) -> float:
    """Seconds of wefe's 10,000 draws for sets of n words of 50 dimensions."""
    run = subprocess.run([python, "-c", WEFE, str(n), "50"], capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(run.stderr)
    return float(run.stdout.split()[-1])


if __name__ == "__main__":
    sys.exit(main())
