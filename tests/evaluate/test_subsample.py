"""`--limit`: which rows are drawn, and that nothing but seed, config and id decides it."""

import hashlib
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles import examples
from tests.tiny import FRONT, lay_out

from senseprobe import api
from senseprobe.evaluate import subsample
from senseprobe.evaluate.pipeline import rows_of
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.subsample import sample as sample_parts
from senseprobe.evaluate.units import KINDS
from senseprobe.records import Design
from senseprobe.release.schema import design_schema

DESIGN = Design(kind="contrast", sense_type="", bias_type="", slots=("a",), roles={}, factors=())
INFERENCE = Design(
    kind="inference",
    sense_type="",
    bias_type="",
    slots=("verb", "occupation", "person"),
    roles={"premise": {"subject": "occupation"}, "hypothesis": {"subject": "person"}},
    factors=(),
)
CELLS = st.lists(st.tuples(st.sampled_from(["nice", "rude"]), st.sampled_from(["x", "y", "z", None])), min_size=1)


def table(cells: Sequence[tuple[str, str | None]], name: str) -> pd.DataFrame:
    """Rows with two columns that make cells, and one that does not."""
    rows = [(f"{name}.{number}", *cell, number) for number, cell in enumerate(cells)]
    return pd.DataFrame(rows, columns=["id", "valence", "target", "other"])


def sample(
    tables: Mapping[str, pd.DataFrame], designs: Mapping[str, Design], limit: int, seed: int, rows: int = 7
) -> dict[str, pd.DataFrame]:
    """The rows that are drawn of tables, which are read in parts of so many rows."""
    parts = {name: partial(_parts, table, rows) for name, table in tables.items()}
    drawn = sample_parts(parts, {name: cell_columns(design) for name, design in designs.items()}, limit, seed)
    return {name: tables[name].iloc[numbers] for name, numbers in drawn.items()}


def _parts(table: pd.DataFrame, rows: int) -> Iterator[pa.RecordBatch]:
    batch = pa.RecordBatch.from_pandas(table, preserve_index=False)
    yield from (batch.slice(start, rows) for start in range(0, len(table), rows))


def cell_columns(design: Design) -> list[str]:
    """What divides the rows of a config into cells."""
    return KINDS[design.kind].cell_columns(design, design_schema(design).names)


def drawn_at_once(
    tables: Mapping[str, pd.DataFrame], designs: Mapping[str, Design], limit: int, seed: int
) -> dict[str, list[str]]:
    """The ids that senseprobe 0.1.0 drew, by config: its code, which held all rows (evaluate/subsample.py there)."""
    keys = []
    for name, rows in tables.items():
        columns = [column for column in cell_columns(designs[name]) if column in rows]
        cells = rows[columns].astype("string").fillna("").assign(config=name)
        number = cells.groupby([*cells], sort=False).ngroup().to_numpy()
        own = np.array([_lot(seed, *cell) for cell in cells.drop_duplicates().itertuples(index=False)])
        lots = np.array([_lot(seed, name, id_) for id_ in rows["id"]])
        order, sizes = np.lexsort((lots, number)), np.bincount(number, minlength=len(own))
        ranks = np.empty(len(rows))
        ranks[order] = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        keys.append((ranks + own[number]) / sizes[number])
    mask = np.zeros(sum(map(len, keys)), dtype=np.bool_)
    mask[np.argsort(np.concatenate(keys))[:limit]] = True
    parts = np.split(mask, np.cumsum([len(key) for key in keys])[:-1])
    return {name: list(tables[name]["id"][part]) for name, part in zip(tables, parts, strict=True)}


def _lot(seed: int, *what: str) -> float:
    told = "\0".join([str(seed), *what]).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(told, digest_size=6).digest()) / 2**48


@settings(max_examples=examples(100))
@given(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), CELLS, min_size=1, max_size=3),
    st.integers(1, 60),
    st.integers(0, 9),
    st.integers(1, 9),
)
def test_results_replay(configs: dict[str, list[tuple[str, str | None]]], limit: int, seed: int, rows: int) -> None:
    """The rows that are drawn are those of 0.1.0, in their order, however they are read."""
    tables = {name: table(cells, name) for name, cells in configs.items()}
    designs = dict.fromkeys(tables, DESIGN)
    drawn = sample(tables, designs, limit, seed, rows)
    assert {name: list(part["id"]) for name, part in drawn.items()} == drawn_at_once(tables, designs, limit, seed)


@pytest.mark.parametrize("limit", [1, 99, 2_000, 20_000, 10**30])
def test_rows_that_are_let_go_of_are_not_missed(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 15,000 rows, more than are kept beside those drawn, the same are drawn as when all are held."""
    monkeypatch.setattr(subsample, "_SPARE", 6_500)
    cells = [("nice" if number % 7 else "rude", "xyz"[number % 3]) for number in range(15_000)]
    tables = {"a": table(cells, "a")}
    drawn = sample(tables, {"a": DESIGN}, limit, 3, 819)
    assert list(drawn["a"]["id"]) == drawn_at_once(tables, {"a": DESIGN}, limit, 3)["a"]


@pytest.fixture(scope="module", params=[60, pytest.param(600, marks=pytest.mark.slow)])
def square(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of so many jobs on as many days; where there are 600, in two files."""
    project, count = tmp_path_factory.mktemp("square"), int(request.param)
    slots = FRONT.replace("PAIRS", str(count**2)).replace("job: {list: jobs}", "job: {list: jobs}\n  day: {list: days}")
    lay_out(
        project,
        slots.replace("[job]", "[job, day]") + "{{ pronoun.subject | upfirst }} is the {{ job }} on {{ day }}.\n",
    )
    entry = "  - {name: NAME, path: NAME.csv, sources: [{title: nobody}], licenses: [{name: MIT}], schema: FIELDS}\n"
    entry = entry.replace("FIELDS", "{fields: [{name: word, type: string}]}")
    described = "name: mine\nresources:\n" + "".join(entry.replace("NAME", name) for name in ("jobs", "days"))
    (project / "wordlists" / "datapackage.yaml").write_text(described)
    for name in ("jobs", "days"):
        words = [f"{name[:-1]}{number}" for number in range(count)]
        (project / "wordlists" / f"{name}.csv").write_text("\n".join(["word", *words]) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        return api.build("tiny", "1.0.0").folder


def test_a_limit_draws_the_same_rows_of_a_release(square: Path) -> None:
    """All columns of a drawn row are those of the whole table, at the same row numbers."""
    release = api.load(str(square))
    whole = release.table("job")
    drawn = rows_of(ScoringJob(release, None, 5, "0", 300), get("log-odds"))["job"]
    assert list(drawn["id"]) == drawn_at_once({"job": whole}, {"job": release.design("job")}, 300, 5)["job"]
    pd.testing.assert_frame_equal(drawn, whole.loc[drawn.index])


DRAW = """
import resource, sys
from pathlib import Path
from senseprobe.evaluate.pipeline import rows_of
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.scorers import get
from senseprobe.release.release import open_release
release = open_release(Path(sys.argv[1]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows = rows_of(ScoringJob(release, None, 0, "0", 100), get("aul"))["job"]
print(len(rows), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("square", [600], indirect=True)
def test_a_limit_holds_what_it_draws(square: Path) -> None:
    """100 rows of 360,000 take less than 120 MiB, by what one file unfolds into; the code that held all took 242."""
    run = subprocess.run([sys.executable, "-c", DRAW, square], capture_output=True, text=True, check=True)
    rows, kib = map(int, run.stdout.split())
    assert rows == 100
    assert kib < 120 * 1024


@settings(max_examples=examples(100))
@given(st.dictionaries(st.text(max_size=3), CELLS, min_size=1, max_size=3), st.integers(1, 60), st.integers(0, 9))
def test_each_cell_gets_its_share(configs: dict[str, list[tuple[str, str | None]]], limit: int, seed: int) -> None:
    """So many rows are drawn, and one rate serves all cells: each has that share of its rows, up or down to a row."""
    tables = {name: table(cells, name) for name, cells in configs.items()}
    drawn = sample(tables, dict.fromkeys(tables, DESIGN), limit, seed)
    assert sum(map(len, drawn.values())) == min(limit, sum(map(len, tables.values())))
    sizes = Counter((name, *cell) for name, cells in configs.items() for cell in cells)
    got = Counter(
        (name, valence, target if isinstance(target, str) else None)
        for name, rows in drawn.items()
        for valence, target in zip(rows["valence"], rows["target"], strict=True)
    )
    # By hand: m of n rows are the whole number below or above t * n for any t between (m - 1) / n and (m + 1) / n.
    assert max((got[cell] - 1) / n for cell, n in sizes.items()) < min((got[cell] + 1) / n for cell, n in sizes.items())


@settings(max_examples=examples(50))
@given(CELLS, CELLS, st.integers(1, 60), st.randoms())
def test_order_does_not_matter(
    first: list[tuple[str, str | None]], second: list[tuple[str, str | None]], limit: int, random: object
) -> None:
    """Rows and configs in another order draw the same ids, in the order in which they are given."""
    tables = {"a": table(first, "a"), "b": table(second, "b")}
    shuffled = {
        name: rows.sample(frac=1, random_state=random.randrange(10**6))  # type: ignore[attr-defined]
        for name, rows in reversed(tables.items())
    }
    one, two = (sample(given, dict.fromkeys(given, DESIGN), limit, 0) for given in (tables, shuffled))
    for name, rows in tables.items():
        assert set(one[name]["id"]) == set(two[name]["id"])
        assert list(one[name]["id"]) == [id_ for id_ in rows["id"] if id_ in set(one[name]["id"])]


def test_more_holds_less() -> None:
    """A larger limit draws what a smaller one did, so that no score was in vain; another seed draws others."""
    tables = {"a": table([("nice", "x"), ("rude", "y")] * 50, "a")}
    drawn = [set(sample(tables, {"a": DESIGN}, limit, 0)["a"]["id"]) for limit in (10, 30, 100, 1000)]
    assert [len(ids) for ids in drawn] == [10, 30, 100, 100]
    assert drawn[0] < drawn[1] < drawn[2] == drawn[3]
    assert set(sample(tables, {"a": DESIGN}, 10, 1)["a"]["id"]) != drawn[0]


def test_every_row_has_the_same_chance() -> None:
    """Over many seeds, a row of a small cell is drawn as often as one of a large one."""
    tables = {"a": table([("nice", "x")] * 3 + [("rude", "y")] * 27, "a")}
    counts = Counter(id_ for seed in range(600) for id_ in sample(tables, {"a": DESIGN}, 6, seed)["a"]["id"])
    # 600 draws with a chance of 6 / 30: 120 with a standard deviation of 9.8; five of these.
    assert all(abs(counts[f"a.{number}"] - 120) < 49 for number in range(30)), counts
    small = sum(counts[f"a.{number}"] for number in range(3))
    assert small == pytest.approx(360, abs=5 * 17)


def test_cells_of_the_kinds() -> None:
    """Contrasts have cells of labels and target; inference of gold and the slots that the two sentences differ in."""
    assert cell_columns(DESIGN) == ["label_basis", "contested", "stereotype", "valence", "target"]
    assert cell_columns(INFERENCE) == ["gold", "occupation", "person"]
