"""Figures of very many rows in parts: rows a second, and the most memory that the process takes.

    python benchmarks/streams.py [ROWS] [PART]

The rows are like those of nli-occupation, as many as are asked for (default: ten million), with numbers drawn at
random; words come as Arrow dictionaries do, so that what is measured is the arithmetic and not the reading of files.
Nothing is written.
"""

import resource
import sys
import time
from collections.abc import Iterator

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands.inference_rows import LABELS
from senseprobe.evaluate.streams.figure_sums import ConfigFigures
from senseprobe.records import Design, Factor

VERBS, OBJECTS, ACTIVITIES, PAIRS = 27, 184, 1968, 3
ESTIMANDS = ("nn", "fn", "t@0.5", "t@0.7", "gap")


def occupation_design() -> Design:
    """Return the design of the config `activities` of nli-occupation."""
    names = ("occupation", "person", "verb", "object")
    return Design(
        kind="inference",
        sense_type="occupation",
        bias_type="gender",
        slots=("verb", "object", "occupation", "person"),
        roles={"premise": {"subject": "occupation"}, "hypothesis": {"subject": "person"}},
        factors=tuple(Factor(name=name, columns=(name,)) for name in names),
        estimands=ESTIMANDS,
    )


def occupation_parts(rows: int, size: int) -> Iterator[pd.DataFrame]:
    """Yield parts of a product of activities (a verb and an object), occupations and persons, the last fastest."""
    people, rng = 2 * PAIRS, np.random.default_rng(0)
    occupations = max(5, rows // (ACTIVITIES * people))
    words = {"occupation": occupations, "person": people, "verb": VERBS, "object": OBJECTS, "gender": 2, "pair": PAIRS}
    texts = {
        name: pd.Index([f"{name} {number}" for number in range(count)], dtype=object) for name, count in words.items()
    }
    texts["frame"] = pd.Index(["frame"], dtype=object)
    texts["gender"] = pd.Index(["male", "female"], dtype=object)
    for start in range(0, rows, size):
        row = np.arange(start, min(rows, start + size))
        person, thing = row % people, row // (people * occupations) % ACTIVITIES
        codes = {
            "occupation": row // people % occupations,
            "person": person,
            "verb": thing % VERBS,
            "object": thing % OBJECTS,
        }
        codes |= {"gender": person % 2, "pair": person // 2}
        columns = {name: pd.Categorical.from_codes(code, categories=texts[name]) for name, code in codes.items()}
        numbers = rng.random((len(row), 3))
        numbers /= numbers.sum(axis=1, keepdims=True)
        frame = pd.Categorical.from_codes(
            np.zeros(len(row), dtype=np.int8), categories=pd.Index(["frame"], dtype=object)
        )
        yield pd.DataFrame({"frame": frame, **columns, **dict(zip(LABELS, numbers.T, strict=True))})


def main() -> None:
    """Print what the figures of so many rows take."""
    rows, size = (int(argument) for argument in [*sys.argv[1:], *("10000000", "262144")[len(sys.argv) - 1 :]])
    config = ConfigFigures(occupation_design(), "activities", rows, 0, "probability")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.process_time()
    for turn in range(config.surveys):
        for part in occupation_parts(rows, size):
            config.survey(part, turn)
    surveyed = time.process_time() - start
    for part in occupation_parts(rows, size):
        config.add(part)
    figures = config.figures()
    seconds, most = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{rows:,} rows in parts of {size:,}: {len(figures)} figures of {', '.join(ESTIMANDS)}")
    rate = f"{rows / seconds:,.0f} rows a second"
    print(f"  {seconds:.1f} CPU s, {surveyed:.1f} of them in {config.surveys} surveys: {rate}")
    print(f"  most memory {most:,.0f} MB, of which {before:,.0f} MB before the first row")


if __name__ == "__main__":
    main()
