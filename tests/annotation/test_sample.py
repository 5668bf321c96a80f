"""Which rows are drawn: shares of strata, chance that hangs on nothing but seed and id, and queries."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.annotation.given import SSSB, Given, contrast
from tests.profiles import examples

from senseprobe import api
from senseprobe.annotation.sample import SampledRow, allot, allot_equally, draw
from senseprobe.errors import AnnotationError
from senseprobe.records import Design
from senseprobe.release.release import open_release

LEVELS = st.lists(st.tuples(st.sampled_from(["nice", "rude", "odd"]), st.sampled_from(["x", "y", None])), min_size=1)


def _rows(levels: Sequence[tuple[str, str | None]], config: str = "c") -> list[dict[str, Any]]:
    return [contrast(f"{config}{n}", quality=quality, target=target) for n, (quality, target) in enumerate(levels)]


def _ids(drawn: Sequence[SampledRow]) -> list[str]:
    return [each.values["id"] for each in drawn]


@pytest.mark.parametrize(
    ("sizes", "n", "shares"),
    [
        ([41, 29, 17, 13], 10, [4, 3, 2, 1]),  # 4.1, 2.9, 1.7, 1.3: whole parts 4 2 1 1, then .9 and .7
        ([53, 24, 23], 10, [5, 3, 2]),  # 5.3, 2.4, 2.3: the tenth goes to .4
        ([90, 9, 1], 10, [8, 1, 1]),  # 9, 0.9, 0.1: two are raised to one, and eight are left for the first
        ([5, 5, 5, 5], 2, [1, 1, 0, 0]),  # fewer than strata: equal remainders, the first come first
        ([1, 2, 3], 6, [1, 2, 3]),
        ([7], 3, [3]),
    ],
)
def test_shares_by_the_largest_remainder(sizes: list[int], n: int, shares: list[int]) -> None:
    """By hand, after Hamilton: whole quotas, then one each for the largest remainders."""
    assert allot(sizes, n) == shares


@pytest.mark.parametrize("way", [allot, allot_equally])
@settings(max_examples=examples(100))
@given(st.lists(st.integers(0, 50), min_size=1, max_size=12), st.data())
def test_shares_that_grow_never_shrink(way: Callable[..., list[int]], sizes: list[int], data: st.DataObject) -> None:
    """Largest remainders alone may take a row back (Alabama, 1880: 8 of 299 seats, 7 of 300): what was drawn stays."""
    sizes = [*sizes, 1]
    small = data.draw(st.integers(1, sum(sizes)))
    large = data.draw(st.integers(small, sum(sizes)))
    before = way(sizes, small)
    after = way(sizes, large, before)
    assert (sum(before), sum(after)) == (small, large)
    assert all(old <= new <= size for old, new, size in zip(before, after, sizes, strict=True))
    assert way(sizes, small, before) == before


@settings(max_examples=examples(100))
@given(st.lists(st.integers(1, 500), min_size=1, max_size=30), st.data())
def test_shares_add_up(sizes: list[int], data: st.DataObject) -> None:
    """The sample has its size, no stratum gives more than it has, and none is left out where all can be in."""
    n = data.draw(st.integers(1, sum(sizes)))
    shares = allot(sizes, n)
    assert sum(shares) == n
    assert all(0 <= share <= size for share, size in zip(shares, sizes, strict=True))
    assert min(shares) >= 1 or n < len(sizes)
    if all(n * size >= sum(sizes) for size in sizes):  # no stratum had to be raised: each within one of its quota
        assert all(abs(share - n * size / sum(sizes)) < 1 for share, size in zip(shares, sizes, strict=True))


@settings(max_examples=examples(30))
@given(LEVELS, LEVELS, st.integers(1, 40), st.integers(0, 5), st.integers(1, 9), st.randoms())
def test_how_rows_lie_makes_no_difference(
    first: list[tuple[str, str | None]],
    second: list[tuple[str, str | None]],
    n: int,
    seed: int,
    cut: int,
    random: Random,
) -> None:
    """Rows and configs in another order, in other batches: the same ids in the same order, with the same strata."""
    tables = {"a": _rows(first, "a"), "b": _rows(second, "b")}
    turned = {name: random.sample(rows, len(rows)) for name, rows in reversed(tables.items())}
    how: dict[str, Any] = {"n": n, "seed": seed, "strata": ["config", "quality", "target"]}
    one, two = draw(Given(tables), **how), draw(Given(turned, cut=cut), **how)
    assert [(each.values["id"], each.stratum) for each in one] == [(each.values["id"], each.stratum) for each in two]
    assert len(one) == min(n, len(first) + len(second))
    sizes = Counter(("a", *level) for level in first) + Counter(("b", *level) for level in second)
    if n >= len(sizes):
        assert {each.stratum for each in one} == {
            f"config={config}, quality={quality}, target={target or ''}" for config, quality, target in sizes
        }


def test_every_row_has_the_same_chance() -> None:
    """Without strata, over many seeds: a row is drawn as often as another, and no oftener first."""
    release = Given({"a": _rows([("nice", "x")] * 5, "a"), "b": _rows([("rude", "y")] * 15, "b")}, cut=50)
    drawn = [_ids(draw(release, n=5, seed=seed)) for seed in range(300)]
    counts, firsts = Counter(id_ for ids in drawn for id_ in ids), Counter(ids[0] for ids in drawn)
    # 300 draws with a chance of 5 / 20: 75 with a standard deviation of 7.5; of 1 / 20: 15 with 3.8; five of these.
    assert all(abs(counts[f"c.{id_}"] - 75) < 38 for id_ in [f"a{n}" for n in range(5)] + [f"b{n}" for n in range(15)])
    assert all(abs(count - 15) < 19 for count in firsts.values()), firsts


def test_a_release_that_ships() -> None:
    """A hundred of sssb over its nine configs: shares as their rows, and the smallest is there."""
    release = open_release(SSSB)
    sizes = {name: int(release.manifest.config(name)["rows"]) for name in release.configs}
    counts = Counter(each.config for each in draw(release, n=100, seed=1, strata=["config"]))
    assert counts.total() == 100
    assert set(counts) == set(sizes)
    assert all(abs(counts[name] - 100 * size / sum(sizes.values())) <= 1.5 for name, size in sizes.items()), counts
    assert _ids(draw(release, n=100, seed=1, strata=["config"])) == _ids(
        draw(release, n=100, seed=1, strata=["config"])
    )
    assert draw(release, n=5, configs=["race"], strata=["target"])[0].stratum.startswith("target=")


def test_rows_by_a_query() -> None:
    """Columns are ANDed, values of one column ORed; without a number, all that there are."""
    release = Given({"a": _rows([("nice", "x"), ("rude", "x"), ("odd", None)], "a"), "b": _rows([("nice", "y")], "b")})
    found = {
        "quality=nice": {"c.a0", "c.b0"},
        "quality=nice quality=odd config=a": {"c.a0", "c.a2"},
        "target=": {"c.a2"},
        "id=c.b0": {"c.b0"},
        "contested=false target=x": {"c.a0", "c.a1"},
    }
    for query, ids in found.items():
        assert set(_ids(draw(release, n=None, where=query.split()))) == ids, query
    assert len(draw(release, n=1, where=["quality=nice"])) == 1


def test_named_rows_are_added() -> None:
    """Whatever the query says, and once where they were drawn already; which are not there is for others to tell."""
    release = Given({"a": _rows([("nice", "x")] * 4 + [("rude", "x")], "a")})
    assert set(_ids(draw(release, n=4, where=["quality=nice"], also=["c.a4", "c.a0", "c.a9"]))) == {
        f"c.a{number}" for number in range(5)
    }


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"n": 0}, "at least 1 row, not 0"),
        ({"n": None}, "give a number of rows"),
        ({"n": 3, "strata": ["qualty"]}, "strata: rows do not have a column 'qualty': did you mean 'quality'\\?"),
        ({"n": 3, "strata": ["stereo_span"]}, "rows do not have a column 'stereo_span'"),
        ({"n": 3, "where": ["nice"]}, "'nice' is not a query: expected COLUMN=VALUE"),
        ({"n": 3, "where": ["zzz=nice"]}, "query: rows do not have a column 'zzz': expected config, id,"),
        ({"n": 3, "where": ["quality=nicer"]}, "rows do not have quality=nicer: did you mean 'nice'\\?"),
        ({"n": 3, "where": ["quality=zzz"]}, "rows do not have quality=zzz: expected nice, rude"),
        ({"n": 3, "where": ["quality=\x1b[2J"]}, r"rows do not have quality='\\x1b\[2J'"),
        ({"n": 3, "where": ["config=a", "quality=rude"]}, "does not have rows with config=a, quality=rude"),
    ],
)
def test_what_cannot_be_drawn_is_named(told: dict[str, Any], message: str) -> None:
    release = Given({"a": _rows([("nice", "x")], "a"), "b": _rows([("rude", "y")], "b")})
    with pytest.raises(AnnotationError, match=message):
        draw(release, **told)


def test_rows_of_two_kinds_are_not_mixed() -> None:
    """One interface cannot ask of both; one of the configs can be named."""

    class Mixed(Given):
        def design(self, config: str) -> Design:
            return replace(super().design(config), kind={"a": "contrast", "b": "inference"}[config])

    release = Mixed({"a": _rows([("nice", "x")], "a"), "b": []})
    with pytest.raises(
        AnnotationError, match=r"rows of one kind: name configs of one kind from a \(contrast\), b \(inf"
    ):
        draw(release, n=1)
    assert len(draw(release, n=1, configs=["a"])) == 1


def test_too_many_rows_are_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("senseprobe.annotation.sample.MAX_ITEMS", 2)
    with pytest.raises(AnnotationError, match="3 rows; the limit is 2"):
        draw(Given({"a": _rows([("nice", "x")] * 3, "a")}), n=3)


# Draws by strata and by a query; the megabytes that the process took at most beside what it had with its libraries.
PROGRAM = """
import resource, sys
from pathlib import Path
from senseprobe.annotation.sample import draw
from senseprobe.release.release import open_release
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
release = open_release(Path(sys.argv[1]))
assert len(draw(release, n=500, strata=["occupation", "gender"])) == 500
assert len(draw(release, n=500, where=["occupation=doctor"])) == 500
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.soak
def test_two_million_rows_take_little_memory(tmp_path: Path) -> None:
    """The release of 1,936,512 rows: batches pass through, and what stays of a row are three numbers."""
    release = api.restore("nli-occupation@1.0.1", tmp_path)
    ran = subprocess.run([sys.executable, "-c", PROGRAM, release.folder], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 500
