"""Memory and time of planning windows: millions of synthetic units through the external merge.

    python benchmarks/window_merge.py 4000000

Prints the places and distinct units, seconds, and the largest resident memory of the process in MB. Two in three units
are distinct, of 60 to 75 characters; they come in no order.
"""

import argparse
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.evaluate.windows.sorted_units import write_windows
from senseprobe.evaluate.windows.unit_columns import PLACED

AT_ONCE = 65_536
WINDOW = 65_536


def make_places(count: int) -> Iterator[pa.Table]:
    """Yield so many places of units, some of which are the same."""
    generator = np.random.default_rng(0)
    for start in range(0, count, AT_ONCE):
        size = min(AT_ONCE, count - start)
        numbers = pa.array(generator.integers(0, count, size)).cast(pa.string())
        text = pc.binary_join_element_wise("The person with the number", numbers, "is an engineer and likes tea.", " ")
        none = pa.array(np.full(size, -1))
        yield pa.table(
            [
                text,
                pa.array([""] * size),
                none,
                none,
                pa.array(np.zeros(size, dtype=bool)),
                pa.array(range(start, start + size)),
            ],
            PLACED,
        )


def main() -> None:
    """Write the windows, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("places", type=int)
    count = parser.parse_args().places
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        windows = write_windows(make_places(count), Path(folder), WINDOW, 0)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
    units = sum(window.units for window in windows)
    if sum(window.rows for window in windows) != count:
        raise SystemExit("places are missing")
    seconds, most = perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{count:,} places, {units:,} units in {len(windows)} windows, {size / 1e6:,.0f} MB: {seconds:,.0f} s, "
        f"{count / seconds:,.0f} a second, {most / 1e3:,.0f} MB of memory ({before / 1e3:,.0f} MB before)"
    )


if __name__ == "__main__":
    main()
