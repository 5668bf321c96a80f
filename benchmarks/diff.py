"""How long `senseprobe diff` takes over two million rows against two million, and the most memory that it holds.

The older release is the flat nationality product, 2,052,000 rows. The newer ones are made of its rows: `shuffled` has
them in random order, one in a hundred with another gold label, one in forty gone and as many new; `edited` has another
hypothesis in every row; `same` is equal, and its rows need not be read. What is told must be these numbers: the
script exits 1 where it is not, or where a run takes more than 20 s or 2 GB.

    python benchmarks/diff.py
"""

import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from senseprobe import api
from senseprobe.release.freeze import ConfigPlan, Plan, freeze
from senseprobe.release.parquet import write_rows
from senseprobe.release.release import Release

ROOT = Path(__file__).parent.parent
SECONDS, MEGABYTES = 20, 2000


def older(root: Path) -> Release:
    """The flat product alone, built in a project of its own."""
    templates = root / "templates" / "flat"
    templates.mkdir(parents=True)
    source = ROOT / "templates" / "nli-nationality"
    shutil.copy(source / "flat.j2", templates)
    card = (source / "dataset.yaml").read_text(encoding="utf-8")
    (templates / "dataset.yaml").write_text(re.sub(r"(?m)^configs:.*$", "configs: [flat]", card), encoding="utf-8")
    (root / "senseprobe.toml").touch()
    command = [sys.executable, "-m", "senseprobe", "build", "flat", "1.0.0"]
    subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)
    return api.load(str(root / "releases" / "flat" / "1.0.0"))


def newer(old: Release, version: str, table: pa.Table) -> Path:
    """A release with these rows, and all else as the old one has it."""
    facts = old.manifest.config("flat")

    def write(folder: Path, schema: pa.Schema, told: object) -> None:
        write_rows(folder, schema, table.num_rows, lambda start, stop: iter([_batch(table, start, stop)]), told)  # type: ignore[arg-type]

    config = ConfigPlan(
        name="flat",
        size=table.num_rows,
        schema=table.schema,
        write=write,
        design=old.design("flat"),
        **{key: facts[key] for key in ("levels", "description", "expect", "accept")},
    )
    recipe = {path.relative_to(old.folder / "recipe"): path for path in (old.folder / "recipe").rglob("*.*")}
    plan = Plan(
        dataset="flat",
        version=version,
        card=old.manifest.data["card"],
        configs=(config,),
        contrasts=(),
        recipe=lambda: {name.as_posix(): path.read_bytes() for name, path in recipe.items() if path.is_file()},
        senseprobe="0",
    )
    folder = old.folder.with_name(version)
    freeze(plan, folder)
    return folder


def _batch(table: pa.Table, start: int, stop: int) -> pa.RecordBatch:
    return table.slice(start, stop - start).combine_chunks().to_batches()[0]


def replaced(table: pa.Table, name: str, where: pa.Array, values: pa.Array) -> pa.Table:
    """The table with other values of a column in some rows."""
    column = pc.if_else(where, values, table[name])
    return table.set_column(table.schema.get_field_index(name), name, column)


def shuffled(table: pa.Table) -> tuple[pa.Table, dict[str, int]]:
    """Rows edited, removed and added, all in random order; and how many of each."""
    chance, rows = np.random.default_rng(7), table.num_rows
    order = pa.array(chance.permutation(rows))
    kept, other = table.take(order[rows // 40 :]), table.take(order[: rows // 40])
    new = replaced(other, "id", pa.scalar(True), pc.binary_join_element_wise(other["id"], "again", "."))
    edited = np.zeros(kept.num_rows, dtype=bool)
    edited[: rows // 100] = True
    both = pa.concat_tables([replaced(kept, "gold", pa.array(edited), pa.scalar("entailment")), new])
    counts = {"added": rows // 40, "removed": rows // 40, "edited": rows // 100}
    return both.take(pa.array(chance.permutation(rows))), counts


def every(table: pa.Table) -> tuple[pa.Table, dict[str, int]]:
    """Every row edited."""
    text = pc.binary_join_element_wise(table["hypothesis"], "Indeed.", " ")
    told = {"added": 0, "removed": 0, "edited": table.num_rows}
    return replaced(table, "hypothesis", pa.scalar(True), text), told


CHILD = """
import resource, sys
from pathlib import Path
from senseprobe.cli.application import main
try:
    main()
finally:
    if sys.platform == "linux":  # ru_maxrss would be at least what this script held when it started the process
        peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(peak, file=sys.stderr)
"""


def measure(name: str, old: Path, new: Path, counts: dict[str, int]) -> bool:
    """Run `senseprobe diff` in a process of its own and print time and memory; whether all is as it should be."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", CHILD, "diff", str(old), str(new), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = float(done.stderr.split()[-1])
    configs = json.loads(done.stdout)["configs"]
    told = {key: configs[0][key] for key in counts} if configs else {}
    print(f"{name:10} {seconds:5.1f} s ({busy:4.1f} s of processor time)  {peak:6.0f} MB  {told or 'nothing changed'}")
    return told == counts and seconds < SECONDS and peak < MEGABYTES


def main() -> int:
    """Make the releases, and measure."""
    with tempfile.TemporaryDirectory() as scratch:
        old = older(Path(scratch))
        table = pa.Table.from_batches(old.batches("flat"))
        print(f"{table.num_rows} rows")
        (other, moved), (others, edited) = shuffled(table), every(table)
        runs = {"same": (newer(old, "1.0.1", table), dict[str, int]())}
        runs["shuffled"] = newer(old, "2.0.0", other), moved
        runs["edited"] = newer(old, "3.0.0", others), edited
        del table, other, others
        good = [measure(name, old.folder, folder, counts) for name, (folder, counts) in runs.items()]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
