"""The p-value of a difference of means over all divisions of the values: exact, or enclosed between two numbers.

Divided without replacement into sets of the observed sizes, the values of X and Y have a difference of means that rises
with the sum of X alone. So p is the share of the subsets of n_x values whose sum is as high as the observed one.
`division_p` draws nothing at random:

- up to 40 values, subsets of either half of the values are counted by size and sum, and matched ("meet in the middle");
- where few divisions are as extreme, or values repeat, sums are followed value by value and equal ones are merged;
- else values are rounded to a grid, subsets are counted by rounded sum, and the threshold is moved by the smallest and
  the largest rounding error that so many values can have. The two numbers enclose p; a finer grid brings them closer.

Sums are of integers: values are rounded to 50 binary digits of the largest (to fewer where the smaller set has more
than 31 values). So the order of values, the number of threads and a power of two that scales them change nothing.
"""

import math
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from senseprobe.errors import ResultError
from senseprobe.statistics.intervals import FloatArray

Integers = NDArray[np.int64]

TIE = 1e-12
"""Sums tie that differ by at most this, times the sum of the values' magnitudes."""

WIDTH = 0.05
"""The grid is refined until the two ends differ by at most this share of the upper one."""

DRAWS = 100_000
"""Divisions drawn by `monte_carlo_p` where there are too many to count."""

EXACT_VALUES, EXACT_VALUES_ON_REQUEST = 40, 52
FEWEST_STEPS = 1024  # of the first grid
MOST_WORK = 2_000_000_000  # additions of counts on one grid: about a second
MOST_CELLS = 2**25  # counts of one grid: 256 MB
MOST_ROWS = 2**20  # additions of rows of counts; so few keep the number of divisions below 2 to the power of 2000
MOST_STATES = 2**15  # different sums that are followed value by value
BLOCK = 2**20


class EnclosedP(NamedTuple):
    """A p-value between two numbers, in [0, 1].

    - `low`, `high`: equal where p is exact. The upper end is the one to print.
    - `least`: the smallest p that sets of these sizes can have.
    """

    low: float
    high: float
    least: float


def division_p(x: ArrayLike, y: ArrayLike, *, two_sided: bool = False, exact: bool = False) -> EnclosedP:
    """Return p of mean(x) - mean(y), shapes (n_x,) and (n_y,), over all divisions into sets of these sizes.

    One-sided: the share of divisions, the observed one among them, whose difference is as high; `two_sided`: as far
    from 0. It is exact for up to 40 values, and with `exact` for up to 52; else the ends differ by at most 5 % of the
    upper one, or by more where counting on a finer grid would take longer than some seconds (beyond about 150 values).

    Raise ValueError where a set is empty or a value not finite; ResultError where `exact` is beyond what is possible.

    >>> division_p([3, 4, 5], [0, 1, 2])
    EnclosedP(low=0.05, high=0.05, least=0.05)
    """
    values, n_x, tie = _to_integers(x, y)
    count = len(values)
    if exact:
        _check_exact(count)
    divisions = math.comb(count, n_x)
    least = (1 + (two_sided and 2 * n_x == count)) / divisions
    total, observed = sum(values.tolist()), sum(values[:n_x].tolist())
    values = np.sort(values)
    if not two_sided:
        low, high = _upper_tail(values, n_x, observed - tie, exact=exact)
    elif (distance := abs(count * observed - n_x * total) - count * tie) <= 0:
        low = high = 1.0
    else:  # |count · sum - n_x · total| ≥ distance, in integers
        upper = _upper_tail(values, n_x, -((-distance - n_x * total) // count), exact=exact)
        lower = _upper_tail(-values[::-1], n_x, -((n_x * total - distance) // count), exact=exact)
        low, high = upper[0] + lower[0], upper[1] + lower[1]
    return EnclosedP(min(1.0, max(low, least)), min(1.0, max(high, least)), least)


def monte_carlo_p(x: ArrayLike, y: ArrayLike, *, seed: int, draws: int = DRAWS) -> EnclosedP:
    """Return the one-sided p of mean(x) - mean(y): exact for up to 40 values, else (1 + hits) / (1 + draws).

    For hundreds of sentences, where a grid fine enough takes too long. Raise ValueError as `division_p` does.
    """
    values, n_x, tie = _to_integers(x, y)
    if len(values) <= EXACT_VALUES:
        return division_p(x, y)
    threshold = int(values[:n_x].sum()) - tie
    rng, hits, values = np.random.default_rng(seed), 0, np.sort(values)
    rows = max(1, BLOCK // len(values))
    for start in range(0, draws, rows):
        block = np.tile(values, (min(rows, draws - start), 1))
        hits += int((rng.permuted(block, axis=1, out=block)[:, :n_x].sum(axis=1) >= threshold).sum())
    p = (1 + hits) / (1 + draws)
    return EnclosedP(p, p, 1 / (1 + draws))


def _to_integers(x: ArrayLike, y: ArrayLike) -> tuple[Integers, int, int]:
    """Return the values of x and y on one grid of integers, how many are of x, and by how much sums may differ and tie.

    The sum of as many values as the smaller set has, and its size, fit into 62 bits: see `_shift`.
    """
    sets = [np.asarray(side, dtype=np.float64).ravel() for side in (x, y)]
    if not all(len(side) and np.isfinite(side).all() for side in sets):
        raise ValueError("a set is empty or has a value that is not finite")
    values = np.concatenate(sets)
    digits = 60 - 2 * _size_bits(min(map(len, sets)))
    exponent = digits - math.frexp(float(np.abs(values).max()))[1]
    whole = np.rint(np.ldexp(values, exponent)).astype(np.int64)
    return whole, len(sets[0]), int(TIE * sum(np.abs(whole).tolist()))


def _size_bits(size: int) -> int:
    """Return the bits of the size of a subset; every half of 52 values has them too."""
    return max(size, EXACT_VALUES_ON_REQUEST // 2).bit_length()


def _shift(size: int) -> int:
    """Return the bit from which on a key has the size of a subset; its sum, of values from 0, is below."""
    return 62 - _size_bits(size)


def _upper_tail(values: Integers, size: int, threshold: int, *, exact: bool) -> tuple[float, float]:
    """Return two ends of the share of subsets of a size whose sum is at least the threshold; values ascend."""
    if 2 * size > len(values):  # the sum of the others is then at most the total less the threshold
        size, threshold, values = len(values) - size, threshold - sum(values.tolist()), -values[::-1]
    least = int(values[0])
    values, threshold = values - least, threshold - size * least  # from 0
    if threshold <= 0:
        return 1.0, 1.0
    if threshold > sum(values[len(values) - size :].tolist()):
        return 0.0, 0.0
    if exact or len(values) <= EXACT_VALUES:
        p = _count_by_halves(values, size, threshold) / math.comb(len(values), size)
        return p, p
    followed = _follow_sums(values, size, threshold)
    return _enclose(values, size, threshold) if followed is None else (followed, followed)


# --- exactly ----------------------------------------------------------------------------------------------------------


def _count_by_halves(values: Integers, size: int, threshold: int) -> int:
    """Count the subsets of a size whose sum is at least the threshold, by matching subsets of two halves."""
    shift = _shift(size)
    first, second = (_sum_subsets(half, shift) for half in (values[::2], values[1::2]))
    # By size of a subset of the second half, where it begins among the sorted keys.
    starts = np.searchsorted(second, np.arange(size + 2, dtype=np.int64) << shift)
    ends = [max(0, size - len(values) // 2) << shift, (size + 1) << shift]
    first = first[slice(*np.searchsorted(first, ends))]
    hits = 0
    for begin in range(0, len(first), BLOCK):
        keys = first[begin : begin + BLOCK]
        others = size - (keys >> shift)
        reached = np.searchsorted(second, (size << shift) + threshold - keys)
        hits += int((starts[others + 1] - np.clip(reached, starts[others], starts[others + 1])).sum())
    return hits


def _sum_subsets(values: Integers, shift: int) -> Integers:
    """Return a key of each subset, ascending: its size from bit `shift` on, its sum below."""
    keys = np.zeros(1 << len(values), dtype=np.int64)
    for index, value in enumerate(values.tolist()):
        np.add(keys[: 1 << index], value + (1 << shift), out=keys[1 << index : 2 << index])
    keys.sort()
    return keys


def _check_exact(count: int) -> None:
    """Raise ResultError where an exact count is beyond what is possible, or beyond the memory there is."""
    if count > EXACT_VALUES_ON_REQUEST:
        raise ResultError(f"an exact p of {count} targets: the maximum is {EXACT_VALUES_ON_REQUEST}")
    needed = 8 * 2 * 2 ** -(-count // 2) + 64 * BLOCK
    if needed > (free := available_memory()):
        raise ResultError(
            f"an exact p of {count} targets needs {needed / 1e9:.1f} GB of memory, but {free / 1e9:.1f} GB are free"
        )


def available_memory() -> int:
    """Return the bytes of memory that are free for this process, as far as the system says."""
    free = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    lines = _read(Path("/proc/meminfo")).splitlines()
    free += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    limit, used = (_read(Path("/sys/fs/cgroup") / name).strip() for name in ("memory.max", "memory.current"))
    if limit.isdigit() and used.isdigit():
        free.append(int(limit) - int(used))
    return min(free)


def _read(path: Path) -> str:
    """Return the text of a file of the system; empty where there is none."""
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""


# --- value by value ---------------------------------------------------------------------------------------------------


def _follow_sums(values: Integers, size: int, threshold: int) -> float | None:
    """Return the share of subsets that reach the threshold; None where too many different sums are undecided.

    Value after value is taken or left, with the probability that a random subset does; equal sums are merged. A sum is
    decided, and leaves, where the best that can follow stays below the threshold, or the worst reaches it.
    """
    shift, count = _shift(size), len(values)
    # The most extreme values first, so that few sums stay undecided.
    ordered = values[np.argsort(-np.abs(values - values[count // 2]), kind="stable")]
    keys: Integers = np.zeros(1, dtype=np.int64)
    shares: FloatArray = np.ones(1)
    p = 0.0
    for index, value in enumerate(ordered.tolist()):
        taken = (size - (keys >> shift)) / (count - index)
        both = np.concatenate([shares * (1 - taken), shares * taken])
        possible = both > 0
        keys, which = np.unique(np.concatenate([keys, keys + (value + (1 << shift))])[possible], return_inverse=True)
        shares = np.bincount(which, both[possible]).astype(np.float64)
        rest = np.sort(ordered[index + 1 :])
        worst, best = (np.concatenate([[0], np.cumsum(side[:size])]) for side in (rest, rest[::-1]))
        needed, sums = size - (keys >> shift), keys & ((1 << shift) - 1)
        reached = sums + worst[needed] >= threshold
        p += float(shares[reached].sum())
        undecided = ~reached & (sums + best[needed] >= threshold)
        keys, shares = keys[undecided], shares[undecided]
        if len(keys) > MOST_STATES:
            return None
    return p


# --- on a grid --------------------------------------------------------------------------------------------------------


def _enclose(values: Integers, size: int, threshold: int) -> tuple[float, float]:
    """Return two ends of the share of subsets that reach the threshold, on finer and finer grids."""
    # Serfling's (1974) bound of the share, which holds for any number of values.
    excess = max(0.0, (threshold / size - float(values.mean())) / float(values[-1]))
    low, high = 0.0, math.exp(-2 * size * excess**2 / (1 - (size - 1) / len(values)))
    if len(values) * size > MOST_ROWS:
        return low, high
    span = int(values[-1])
    sums = np.cumsum(np.concatenate([[0.0], values[::-1][:size] - values[:size]])) / span
    cells = float(sums.sum())  # of a grid of one step
    most = max(1, int(min(MOST_WORK / (cells * len(values) / 2), MOST_CELLS / cells, span)))
    steps = min(FEWEST_STEPS, most)
    while True:
        ends = _enclose_on_grid(values, size, threshold, _choose_grid(values, size, steps))
        low, high = max(low, ends[0]), min(high, ends[1])
        if high - low <= WIDTH * high or steps == most:
            return low, high
        finer = 1.2 * (high - low) / (WIDTH * high)
        steps = min(most, int(steps * min(16.0, max(2.0, finer))))


def _choose_grid(values: Integers, size: int, steps: int) -> int:
    """Return the width of a grid of at most so many steps on which the sum of the rounding errors varies least.

    On values that are multiples of something, a grid of few steps has no errors at all.
    """
    most = max(1, BLOCK // len(values))
    candidates = np.unique(np.linspace(1 if steps <= FEWEST_STEPS else steps // 2, steps, min(steps, most)).astype(int))
    widths = np.maximum(1, values[-1] // candidates)
    errors = np.sort(values - _round(values, widths[:, None]) * widths[:, None], axis=1)
    return int(widths[np.argmin((errors[:, len(values) - size :] - errors[:, :size]).sum(axis=1))])


def _round(values: Integers, width: int | Integers) -> Integers:
    """Return the steps of a grid that are nearest to values from 0."""
    return np.asarray((values + width // 2) // width)


def _enclose_on_grid(values: Integers, size: int, threshold: int, width: int) -> tuple[float, float]:
    """Return two ends of the share of subsets that reach the threshold, by their sums on a grid."""
    rounded = _round(values, width)
    errors = np.sort(values - rounded * width)
    counts, least, scale = _count_on_grid(rounded.tolist(), size)
    divisions = math.comb(len(values), size) / 2**scale
    ends = []
    for error in (sum(errors[:size].tolist()), sum(errors[len(errors) - size :].tolist())):
        first = -((error - threshold) // width) - least  # the first sum that reaches the threshold with such an error
        ends.append(float(counts[max(0, first) :].sum()) / divisions)
    rounding = 4 * len(values) * 2.0**-52  # of sums of counts, all positive
    return ends[0] * (1 - rounding), min(1.0, ends[1] * (1 + rounding))


def _count_on_grid(rounded: list[int], size: int) -> tuple[FloatArray, int, int]:
    """Return how many subsets of a size have each sum, the smallest sum, and the power of 2 that divides the counts.

    `rounded` ascends from 0, so that sums of the values before are as low and as close together as can be.
    """
    count = len(rounded)
    lowest = [sum(rounded[:taken]) for taken in range(size + 1)]
    highest = [sum(rounded[count - taken :]) for taken in range(size + 1)]
    rows = [np.zeros(high - low + 1) for low, high in zip(lowest, highest, strict=True)]
    scale = max(0, math.comb(count, size).bit_length() - 1000)
    rows[0][0] = 2.0**-scale
    reach = list(lowest)  # the highest sum so far
    for index, step in enumerate(rounded):
        for taken in range(min(index + 1, size), max(1, size - (count - index - 1)) - 1, -1):
            width = reach[taken - 1] - lowest[taken - 1] + 1
            start = lowest[taken - 1] + step - lowest[taken]
            rows[taken][start : start + width] += rows[taken - 1][:width]
            reach[taken] = max(reach[taken], reach[taken - 1] + step)
    return rows[size], lowest[size], scale
