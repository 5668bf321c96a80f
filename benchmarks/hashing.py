"""How fast rows are hashed: MB of row data a second, of the flat nationality product.

Row data is what the content hash is made of: for each column a byte of validity a row, for text four bytes of length
and its UTF-8, for a number or a truth value four bytes (docs/content-hash.md). Compression and dictionaries, which make
files small, do not count. Four ways are timed, each several times, and medians are printed with all rounds:

- expanded: batches as the generator makes them while it builds, with dictionaries;
- plain: the same batches with every text written out, as a reader holds them;
- leaves: the batches of `expanded`, each as a leaf of the tree that configs of several files have;
- verified: a release's files, read as `senseprobe verify` reads them, with decompression and checks of UTF-8.

How much of the row data is text is printed too, and how fast sha256 alone is on one core, which is the most that there
can be. The script exits 1 where the hashes of the ways without leaves differ.

    python benchmarks/hashing.py [--rounds 5]
"""

import argparse
import hashlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.api import open_catalogue
from senseprobe.parquet_files import plain
from senseprobe.release.hashing import ContentHash, Leaf, hash_tree
from senseprobe.release.parquet import read_rows, write_rows
from senseprobe.release.schema import design_schema

CONFIG = "nli-nationality/flat"


def row_bytes(batch: pa.RecordBatch) -> int:
    """Bytes of the streams that a batch adds to the content hash."""
    return sum(_column_bytes(column) for column in plain(batch).columns)


def _column_bytes(column: pa.Array) -> int:
    if pa.types.is_struct(column.type):
        return len(column) + sum(_column_bytes(child) for child in column.flatten())
    return 5 * len(column) + _utf8_bytes(column)


def _utf8_bytes(column: pa.Array) -> int:
    return int(pc.sum(pc.binary_length(column)).as_py() or 0) if pa.types.is_string(column.type) else 0


def text_bytes(batch: pa.RecordBatch) -> int:
    """Bytes of UTF-8 in a batch without dictionaries."""
    return sum(map(_utf8_bytes, batch.columns))


def hashed(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> str:
    """The content hash of batches."""
    content = ContentHash(schema)
    for batch in batches:
        content.update(batch)
    return content.hexdigest()


def hashed_leaves(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> str:
    """The content hash of batches, each of which is a leaf."""
    leaves = []
    for batch in batches:
        content = ContentHash(schema, of_leaf=True)
        content.update(batch)
        leaves.append(Leaf(batch.num_rows, content.hexdigest()))
    return hash_tree(leaves)


def verified(schema: pa.Schema, folder: Path) -> str:
    """The content hash of files, as `verify` takes it."""
    files = sorted(folder.iterdir())
    return hashed(schema, (batch for path in files for batch in read_rows(path, schema, path.name, 10**9)))


def timed(runs: Mapping[str, Callable[[], str]], rounds: int) -> tuple[dict[str, list[float]], set[str]]:
    """Seconds of every round of every run, after one that does not count; and the hashes that came out."""
    digests = {run() for name, run in runs.items() if name != "leaves"}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return seconds, digests


def sha256_rate() -> float:
    """MB a second of sha256 alone, on one core."""
    data = bytes(64 * 2**20)
    start = time.perf_counter()
    hashlib.sha256(data).digest()
    return len(data) / 1e6 / (time.perf_counter() - start)


def main() -> int:
    """Read the options, run, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    catalogue = open_catalogue(CONFIG)
    config = catalogue.configs[0]
    schema = design_schema(catalogue.design(config))
    batches = [*catalogue.rows(config)]
    written_out = [plain(batch) for batch in batches]
    megabytes = sum(map(row_bytes, batches)) / 1e6
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_rows(folder, schema, config.size, partial(catalogue.rows, config))
        runs = {
            "expanded": partial(hashed, schema, batches),
            "leaves": partial(hashed_leaves, schema, batches),
            "plain": partial(hashed, schema, written_out),
            "verified": partial(verified, schema, folder),
        }
        seconds, digests = timed(runs, options.rounds)
    text = sum(map(text_bytes, written_out)) / 1e6
    print(f"{config.size:,} rows, {megabytes:,.0f} MB of row data, {text:,.0f} MB of it text")
    print(f"sha256 alone on one core: {sha256_rate():,.0f} MB/s")
    for name, spent in seconds.items():
        rates = " ".join(f"{megabytes / each:.0f}" for each in spent)
        print(f"{name:9} {megabytes / median(spent):6,.0f} MB/s  ({rates})")
    print("all hashes are the same" if len(digests) == 1 else "THE HASHES DIFFER")
    return 0 if len(digests) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
