"""How fast the flat nationality product becomes Parquet, against Jinja, DuckDB and Polars, all in one run.

Everybody writes the same columns of the same 2,052,000 pairs as zstd Parquet; that the rows are the same is checked
first, and the script exits 1 where they are not. The lists are in memory before the clock starts, and the rivals are
given the articles, spans and slugs of words as ready columns. All take turns; each runs three times in a row, of which
the last run counts, so that nobody pays for the memory and the caches that another one left. Rates are medians, and so
are ratios, which are taken within each round: the machine's speed may drift.

    pip install -c constraints.txt -e '.[bench]'
    python benchmarks/expand.py [--rounds 5] [--jinja-pairs 100000] [--memory] [--shards MILLIONS]

Jinja renders the first pairs only (it would take minutes), and its rate is that of those. With --memory, `build` of 1
and of 20 million pairs is run in a process of its own each, and the most memory that it held is printed.

With --shards 20, 20 million pairs are built by one process and by two, whose shards are joined, and the release is
verified. Beside seconds stand CPU seconds, of which the ratio is that of a machine with nothing beside it: where others
use its processors, two processes wait for each other.
"""

import argparse
import gc
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice, product
from pathlib import Path
from statistics import median
from typing import NamedTuple

import duckdb
import jinja2
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from senseprobe.api import open_catalogue
from senseprobe.generator.dataset import ResolvedDataset
from senseprobe.generator.word_lists import Word
from senseprobe.release.hashing import Leaf, hash_leaves
from senseprobe.release.parquet import ROWS_PER_FILE, write_rows
from senseprobe.release.schema import design_schema

CONFIG = "nli-nationality/flat"
Words = Mapping[str, object]
Lists = Mapping[str, list[Words]]
Own = Mapping[str, tuple[str, str]]

# The sentence: The <filler> person <verb> <object with its article>. The filler begins after "The ".
START = 4


def lists_of(catalogue: ResolvedDataset) -> Lists:
    """The words of each slot with what rivals need of them: print, slug, article phrase, end of the filler's span."""
    slots = catalogue.configs[0].blocks[0].slots
    return {slot: [_facts(catalogue, word) for word in words] for slot, words in slots.items()}


def _facts(catalogue: ResolvedDataset, word: Word) -> Words:
    phrase = catalogue.english.a(word).replace("\x1f", "")
    return {**word.columns, "word": str(word), "slug": word.slug, "phrase": phrase, "end": START + len(word)}


def own_columns(catalogue: ResolvedDataset) -> dict[str, tuple[str, str]]:
    """The columns that the template adds: name to slot and column."""
    columns = catalogue.configs[0].blocks[0].block.front.columns
    return {name: (text.partition(".")[0], text.partition(".")[2]) for name, text in columns.items()}


def senseprobe(catalogue: ResolvedDataset, folder: Path, *, hashed: bool = False) -> None:
    """As `build` writes a config's rows; `hashed` also computes the content hash, as `build` does."""
    config = catalogue.configs[0]
    schema = design_schema(catalogue.design(config)).with_metadata({"release": "benchmark"})
    folder.mkdir()
    leaves: list[Leaf] = []
    rows = partial(catalogue.rows, config)
    write_rows(folder, schema, config.size, rows, lambda file: leaves.append(file.leaf), hashed=hashed)
    if hashed:
        hash_leaves(leaves, schema)


def duck(code: str, lists: Lists, own: Own, folder: Path) -> None:
    """A cross join and COPY, in DuckDB's own threads."""
    folder.mkdir()
    extra = "".join(f", {slot}.{column} AS {name}" for name, (slot, column) in own.items())
    with duckdb.connect() as connection:
        for slot, rows in lists.items():
            connection.register(slot, pa.Table.from_pylist(rows))
        connection.execute(f"""
            COPY (SELECT
                concat_ws('.', 'flat.{code}', verb.slug, object.slug, quality.slug, demonym.slug) AS id,
                '{code}' AS frame,
                verb.word AS verb, object.word AS object, quality.word AS quality, demonym.word AS demonym,
                'The ' || quality.word || ' person ' || verb.word || ' ' || object.phrase || '.' AS premise,
                'The ' || demonym.word || ' person ' || verb.word || ' ' || object.phrase || '.' AS hypothesis,
                {{'start': {START}::INTEGER, 'end': quality."end"::INTEGER}} AS premise_span,
                {{'start': {START}::INTEGER, 'end': demonym."end"::INTEGER}} AS hypothesis_span,
                'neutral' AS gold{extra}
                FROM verb CROSS JOIN object CROSS JOIN quality CROSS JOIN demonym)
            TO '{folder / "rows.parquet"}' (FORMAT parquet, COMPRESSION zstd)""")  # noqa: S608 - our own words


def polar(code: str, lists: Lists, own: Own, folder: Path) -> None:
    """A lazy cross join and sink_parquet, in Polars' own threads."""
    folder.mkdir()
    frames = {slot: pl.LazyFrame(rows).rename(lambda name, s=slot: f"{s}_{name}") for slot, rows in lists.items()}
    verb, *others = frames.values()
    for other in others:
        verb = verb.join(other, how="cross")
    word = {slot: pl.col(f"{slot}_word") for slot in lists}

    def sentence(filler: str) -> pl.Expr:
        parts = [pl.lit("The "), word[filler], pl.lit(" person "), word["verb"], pl.lit(" "), pl.col("object_phrase")]
        return pl.concat_str([*parts, pl.lit(".")])

    def span(filler: str) -> pl.Expr:
        end = pl.col(f"{filler}_end").cast(pl.Int32).alias("end")
        return pl.struct(pl.lit(START, pl.Int32).alias("start"), end)

    slugs = [pl.col(f"{slot}_slug") for slot in lists]
    verb.select(
        pl.concat_str([pl.lit(f"flat.{code}"), *slugs], separator=".").alias("id"),
        pl.lit(code).alias("frame"),
        *(word[slot].alias(slot) for slot in lists),
        sentence("quality").alias("premise"),
        sentence("demonym").alias("hypothesis"),
        span("quality").alias("premise_span"),
        span("demonym").alias("hypothesis_span"),
        pl.lit("neutral").alias("gold"),
        *(pl.col(f"{slot}_{column}").alias(name) for name, (slot, column) in own.items()),
    ).sink_parquet(folder / "rows.parquet", compression="zstd")


def jinja(code: str, lists: Lists, own: Own, folder: Path, *, pairs: int, schema: pa.Schema) -> None:
    """Two renders a pair of a template that was compiled once; rows are written by pyarrow, a group at a time."""
    folder.mkdir()
    env = jinja2.Environment(autoescape=False)  # noqa: S701 - sentences, not HTML
    template = env.from_string("The {{ filler }} person {{ verb }} {{ object }}.")
    combinations = islice(product(*lists.values()), pairs)
    with pq.ParquetWriter(folder / "rows.parquet", schema, compression="zstd") as writer:
        while rows := [
            _rendered(code, template, own, dict(zip(lists, w, strict=True)))
            for w in islice(combinations, ROWS_PER_FILE)
        ]:
            writer.write_batch(pa.RecordBatch.from_pylist(rows, schema))


def _rendered(code: str, template: jinja2.Template, own: Own, words: Mapping[str, Words]) -> Words:
    fillers = {"premise": words["quality"], "hypothesis": words["demonym"]}
    said = {"verb": words["verb"]["word"], "object": words["object"]["phrase"]}
    return {
        "id": ".".join([f"flat.{code}", *(str(each["slug"]) for each in words.values())]),
        "frame": code,
        **{slot: each["word"] for slot, each in words.items()},
        **{role: template.render(filler=filler["word"], **said) for role, filler in fillers.items()},
        **{f"{role}_span": {"start": START, "end": filler["end"]} for role, filler in fillers.items()},
        "gold": "neutral",
        **{name: words[slot][column] for name, (slot, column) in own.items()},
    }


def checksum(folder: Path, names: list[str], pairs: int | None = None) -> tuple[object, ...]:
    """Number of rows, and a hash of all of them that does not depend on their order."""
    columns = ", ".join(f'"{name}"' for name in names)
    limit = f" LIMIT {pairs}" if pairs else ""
    told = duckdb.sql(f"SELECT count(*), bit_xor(hash({columns})) FROM (FROM '{folder}/*.parquet'{limit})").fetchall()  # noqa: S608
    return tuple(told[0])


def size(folder: Path) -> int:
    """Bytes of all files of a folder."""
    return sum(path.stat().st_size for path in folder.iterdir())


def timed(run: Callable[[Path], None], folder: Path) -> float:
    """Seconds that a run takes."""
    gc.collect()
    start = time.perf_counter()
    run(folder)
    return time.perf_counter() - start


def compare(rounds: int, jinja_pairs: int) -> int:
    """Run everybody in turn; returns the exit code."""
    catalogue = open_catalogue(CONFIG)
    config = catalogue.configs[0]
    code, lists = config.blocks[0].frames[0].frame.code, lists_of(catalogue)
    schema, own = design_schema(catalogue.design(config)), own_columns(catalogue)
    runs: dict[str, Callable[[Path], None]] = {
        "senseprobe": partial(senseprobe, catalogue),
        "Polars": partial(polar, code, lists, own),
        "DuckDB": partial(duck, code, lists, own),
        "senseprobe, hashed": partial(senseprobe, catalogue, hashed=True),
        "Jinja": partial(jinja, code, lists, own, pairs=jinja_pairs, schema=schema),
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    sizes, sums = {}, {}
    for _ in range(rounds):
        for name, run in runs.items():
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch) / "rows"
                for warm in ("first", "second"):
                    run(Path(scratch) / warm)
                seconds[name].append(timed(run, folder))
                sizes[name] = size(folder)
                sums[name] = checksum(folder, schema.names)
                if name == "senseprobe":
                    sums["Jinja, expected"] = checksum(folder, schema.names, jinja_pairs)
    pairs = dict.fromkeys(runs, config.size) | {"Jinja": jinja_pairs}
    for name, spent in seconds.items():
        rounds_of = zip(spent, seconds["senseprobe"], strict=True)
        ratio = median((theirs / pairs[name]) / (ours / config.size) for theirs, ours in rounds_of)
        spread = " ".join(f"{each:.2f}" for each in spent)
        rate = pairs[name] / median(spent) / 1e6
        print(f"{name:20} {rate:7.3f} M pairs/s  {ratio:6.1f} x  {sizes[name] / 1e6:6.2f} MB  ({spread} s)")
    best = min(sizes[name] for name in ("DuckDB", "Polars"))
    print(f"file size: {sizes['senseprobe'] / best:.2f} of the smallest of DuckDB's and Polars'")
    same = sums["senseprobe"] == sums["DuckDB"] == sums["Polars"] and sums["Jinja"] == sums["Jinja, expected"]
    print("all wrote the same rows" if same else "THE ROWS DIFFER")
    return 0 if same else 1


PROJECT = """---
kind: inference
bias_type: none
construct: a benchmark of speed and memory
description: A flat product of made-up words.
source: nobody
slots: {verb: {list: a}, object: {list: b}, quality: {list: c}, demonym: {list: d}}
roles: {premise: {filler: quality}, hypothesis: {filler: demonym}}
target: filler
gold: neutral
generalise: [verb, object, quality, demonym]
expect: {pairs: PAIRS}
---
The {{ filler }} person {{ verb }} {{ object }}.
"""


def lay_out(root: Path, millions: int) -> None:
    """A project whose dataset `big` has two configs of so many million pairs each."""
    (root / "wordlists").mkdir()
    shutil.copytree(Path(__file__).parent.parent / "templates" / "nli-nationality", root / "templates" / "big")
    (root / "senseprobe.toml").touch()
    resources = []
    for name, count in zip("abcd", (20, 50, 20 * millions, 50), strict=True):
        (root / "wordlists" / f"{name}.csv").write_text("word\n" + "".join(f"{name}word{n}\n" for n in range(count)))
        schema = "{fields: [{name: word, type: string}]}"
        resources.append(f"  - {{name: {name}, path: {name}.csv, sources: [], licenses: [], schema: {schema}}}\n")
    (root / "wordlists" / "datapackage.yaml").write_text("name: big\nresources:\n" + "".join(resources))
    for template in (root / "templates" / "big").glob("*.j2"):
        template.write_text(PROJECT.replace("PAIRS", str(millions * 1_000_000)))


def peak(millions: int) -> float:
    """The most memory, in MB, that `senseprobe build` of so many million pairs holds."""
    with tempfile.TemporaryDirectory() as scratch:
        lay_out(Path(scratch), millions)
        command = [sys.executable, "-c", CHILD, "build", "big", "1.0.0"]
        told = subprocess.run(command, cwd=scratch, check=True, capture_output=True, text=True).stderr
    return int(told.split()[-1]) / (1024 if sys.platform == "linux" else 2**20)


class Spent(NamedTuple):
    """Seconds, and CPU seconds, of the slowest of some processes; they add up for steps one after another."""

    wall: float
    cpu: float

    def then(self, other: "Spent") -> "Spent":
        """This step and another one."""
        return Spent(self.wall + other.wall, self.cpu + other.cpu)

    def over(self, other: "Spent") -> "Spent":
        """How much faster the other is."""
        return Spent(self.wall / other.wall, self.cpu / other.cpu)


def run(root: Path, *commands: str, processors: int | None = None) -> Spent:
    """What commands take side by side, the import of senseprobe apart; each on one of some processors."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", TIMED, str(number % processors if processors else -1), *command.split()],
            cwd=root,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for number, command in enumerate(commands)
    ]
    told = [child.communicate()[0] for child in children]
    if any(child.returncode for child in children):
        raise RuntimeError(f"failed: {commands}")
    spent = [[float(number) for number in text.split()[-2:]] for text in told]
    return Spent(*(max(column) for column in zip(*spent, strict=True)))


def compare_shards(millions: int, rounds: int) -> int:
    """Build so many million pairs by one process and by two that are joined, and verify them; returns the exit code."""
    ratios: dict[str, list[Spent]] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as scratch:
            root = Path(scratch)
            lay_out(root, millions // 2)
            shards = [f"build big 1.0.0 --out parts --shards 2 --shard {shard}" for shard in range(2)]
            parts = [f"verify joined/big/1.0.0 --shards 2 --shard {shard}" for shard in range(2)]
            seconds = {
                "one process": run(root, "build big 1.0.0 --out one"),
                "one processor": run(root, "build big 1.0.0 --out single", processors=1),
                "two processors, a shard each": run(root, *shards, processors=2),
                "join": run(root, "build big 1.0.0 --join parts --out joined"),
                "verify": run(root, "verify joined/big/1.0.0"),
                "verify, one processor": run(root, "verify joined/big/1.0.0", processors=1),
                "verify, two processors, a part each": run(root, *parts, processors=2),
            }
            manifests = [(root / out / "big/1.0.0/release.json").read_bytes() for out in ("one", "single", "joined")]
            files = len([*(root / "joined").rglob("*.parquet")])
        both = seconds["two processors, a shard each"].then(seconds["join"])
        told = {
            "built and joined by two processors, against one": seconds["one processor"].over(both),
            "verified by two processors, against one": seconds["verify, one processor"].over(
                seconds["verify, two processors, a part each"]
            ),
        }
        for name, ratio in told.items():
            ratios.setdefault(name, []).append(ratio)
        print("; ".join(f"{name} {spent.wall:.2f} s (CPU {spent.cpu:.2f})" for name, spent in seconds.items()))
        print(f"release.json: {len(manifests[0]):,} bytes for {files} files")
        if len({*manifests}) > 1:
            print("THE RELEASES DIFFER")
            return 1
    for name, each in ratios.items():
        walls, cpus = ([getattr(ratio, what) for ratio in each] for what in ("wall", "cpu"))
        print(
            f"{name}: {median(walls):.2f} x ({' '.join(f'{wall:.2f}' for wall in walls)}), of CPU {median(cpus):.2f} x"
        )
    return 0


TIMED = """
import os, sys, time
processor = int(sys.argv.pop(1))
if processor >= 0:
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[processor]})
from senseprobe.cli.application import main
from senseprobe.recipes import plan_of
from senseprobe.release import parquet
if processor >= 0:
    parquet.THREADS = 1
start, used = time.perf_counter(), time.process_time()
try:
    main()
finally:
    print()
    print(time.perf_counter() - start, time.process_time() - used)
"""

CHILD = """
import resource, sys
from senseprobe.cli.application import main
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def main() -> int:
    """Read the options, run, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jinja-pairs", type=int, default=100_000)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--shards", type=int, metavar="MILLIONS")
    options = parser.parse_args()
    if options.memory:
        for millions in (1, 20):
            print(f"build of {millions} million pairs in each of two configs: {peak(millions):.0f} MB at most")
        return 0
    if options.shards:
        return compare_shards(options.shards, options.rounds)
    return compare(options.rounds, options.jinja_pairs)


if __name__ == "__main__":
    sys.exit(main())
