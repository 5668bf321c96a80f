"""`--limit`: which rows are drawn, and that nothing but seed, config and id decides it."""

from collections import Counter
from collections.abc import Sequence

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senseprobe.evaluate.sampling import cell_columns, sample
from senseprobe.records import Design

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


@settings(max_examples=100, deadline=None)
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


@settings(max_examples=50, deadline=None)
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
