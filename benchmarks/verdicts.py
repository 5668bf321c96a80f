"""What verdicts cost: the rows of the largest config of nli-occupation are written with 2,000 rejected, and with none.

    python benchmarks/verdicts.py [--rounds 7]

Both take turns in one run; seconds are processor time, the best of all rounds.
"""

import argparse
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time

from senseprobe import api
from senseprobe.generator.dataset import ResolvedDataset
from senseprobe.generator.exclusions import ExcludedRows
from senseprobe.release import parquet
from senseprobe.release.schema import design_schema

REJECTED = 2_000


def main() -> None:
    """Time both and print a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    plain = api.open_catalogue("nli-occupation")
    config = max(plain.configs, key=lambda each: each.size)
    out = ExcludedRows(tuple(range(0, config.size, config.size // REJECTED)), ("",))
    filtered = replace(plain, exclusions={config.name: out})
    taken = [(seconds(filtered), seconds(plain)) for _ in range(rounds)]
    with_verdicts, without = (min(times) for times in zip(*taken, strict=True))
    ratio = with_verdicts / without
    print(f"{config.size:,} rows: {without:.2f} s, with {REJECTED:,} rejected {with_verdicts:.2f} s, {ratio:.3f} of it")


def seconds(catalogue: ResolvedDataset) -> float:
    """Processor time that it takes to write the rows of the largest config."""
    config = max(catalogue.configs, key=lambda each: each.size)
    with tempfile.TemporaryDirectory() as folder:
        start = process_time()
        rows = partial(catalogue.rows, config)
        parquet.write_rows(Path(folder), design_schema(catalogue.design(config)), config.size, rows)
        return process_time() - start


if __name__ == "__main__":
    main()
