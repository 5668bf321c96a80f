"""Figures of descriptors: by hand, against loops that are written anew, and against scipy, pair by pair."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from senseprobe.evaluate.estimands import figures
from senseprobe.kinds.descriptor.differences import compare_pairs, draw_swaps, published_tests
from senseprobe.kinds.descriptor.spread import AxisSpread, pooled_spread, squared_spread
from senseprobe.kinds.descriptor.tables import AxisScores, axes_of
from senseprobe.records import Design, Factor, Figure
from senseprobe.statistics import FloatArray

FACTORS = (Factor(name="frame", columns=("frame",)), Factor(name="noun", columns=("noun",)))
ESTIMANDS = ("descriptor-differences", "descriptor-spread")


def design(factors: tuple[Factor, ...] = FACTORS, estimands: tuple[str, ...] = ESTIMANDS) -> Design:
    """The design of a config of descriptors."""
    return Design(
        kind="descriptor",
        sense_type="",
        bias_type="people",
        slots=("descriptor", "noun"),
        roles={},
        factors=factors,
        estimands=estimands,
    )


def rows_of(scores: FloatArray, axis: str = "height") -> pd.DataFrame:
    """A row for each sentence of scores of shape (descriptors, templates, nouns)."""
    columns: list[dict[str, Any]] = [
        {"id": f"{axis}{d}.{t}.{n}", "axis": axis, "descriptor": f"d{d:02}", "frame": f"t{t:02}", "noun": f"n{n:02}"}
        for d, t, n in np.ndindex(scores.shape)
    ]
    return pd.DataFrame(columns).assign(score=scores.ravel())


def axis_of(scores: FloatArray) -> AxisScores:
    """The scores as an axis, whose templates and nouns are drawn."""
    (table,) = axes_of(rows_of(scores), design())
    return table


def scatter(seed: int, shape: tuple[int, int, int], own: float = 1.0) -> FloatArray:
    """Scores with effects of descriptors, templates, nouns, their combinations and noise."""
    rng = np.random.default_rng(seed)
    d, t, n = shape
    scores = own * rng.normal(size=(d, 1, 1)) + rng.normal(size=(1, t, 1)) + rng.normal(size=(1, 1, n))
    scores = scores + 0.4 * rng.normal(size=(d, t, 1)) + 0.4 * rng.normal(size=(d, 1, n)) + 0.3 * rng.normal(size=shape)
    return np.asarray(scores)


def only(found: list[Figure], estimand: str, group: str | None = None) -> Figure:
    """The figure of an estimand and a group."""
    (figure,) = [each for each in found if (each.estimand, each.group) == (estimand, group)]
    return figure


# --- spread -----------------------------------------------------------------------------------------------------------


def naive_spread(scores: FloatArray) -> float:
    """σ² by loops over sentences, from the sums of squares of a textbook's three-way table without replicates."""
    d_count, t_count, n_count = scores.shape
    total, cells = scores.sum(), scores.size

    def over(*keys: int) -> float:
        """Sum of squares of the totals of a margin, less the correction, by loops."""
        squares, per = 0.0, cells
        for fixed in itertools.product(*(range(scores.shape[key]) for key in keys)):
            part = 0.0
            for index in np.ndindex(scores.shape):
                if all(index[key] == at for key, at in zip(keys, fixed, strict=True)):
                    part += float(scores[index])
            squares += part**2
        for key in keys:
            per //= scores.shape[key]
        return float(squares / per - total**2 / cells)

    own, templates, nouns = over(0), over(1), over(2)
    with_templates = over(0, 1) - own - templates
    with_nouns = over(0, 2) - own - nouns
    rest = over(0, 1, 2) - own - templates - nouns - with_templates - with_nouns - (over(1, 2) - templates - nouns)
    mean_own = own / (d_count - 1)
    mean_templates = with_templates / ((d_count - 1) * (t_count - 1))
    mean_nouns = with_nouns / ((d_count - 1) * (n_count - 1))
    mean_rest = rest / ((d_count - 1) * (t_count - 1) * (n_count - 1))
    return float((mean_own - mean_templates - mean_nouns + mean_rest) / (t_count * n_count))


@pytest.mark.parametrize("seed", range(3))
def test_spread_is_that_of_the_mean_squares(seed: int) -> None:
    """Expected mean squares of a two-way table with random interactions (Scheffé 1959), by another route."""
    scores = scatter(seed, (4, 3, 5))
    assert squared_spread(scores, (True, True)) == pytest.approx(naive_spread(scores), rel=1e-9)


def test_spread_by_hand() -> None:
    """Two descriptors that are 2 apart everywhere: means ±1 around 0, variance 2; nothing is taken away."""
    scores = np.zeros((2, 5, 6)) + np.array([0.0, 2.0])[:, None, None] + np.arange(5.0)[None, :, None]
    figure = only(figures(rows_of(scores), design(), "people"), "descriptor-spread")
    assert figure.value == pytest.approx(math.sqrt(2), abs=1e-9)
    assert (figure.low, figure.note.split(";")[0]) == (None, "interval not estimable")
    assert (figure.rows, figure.scored, figure.unscored) == (60, 60, 0)


def test_spread_has_the_right_expectation() -> None:
    """Over 4,000 draws with a true σ² of 0.25 the mean is it, within four standard errors; the naive one is above."""
    rng = np.random.default_rng(1)
    own = np.array([-1.0, 0.0, 1.0]) * 0.5
    draws = []
    naive = []
    for _ in range(4_000):
        scores = own[:, None, None] + rng.normal(size=(3, 5, 1)) + 0.7 * rng.normal(size=(3, 1, 6))
        scores = scores + rng.normal(size=(1, 5, 6)) + 0.5 * rng.normal(size=(3, 5, 6))
        draws.append(squared_spread(scores, (True, True)))
        naive.append(float(scores.mean(axis=(1, 2)).var(ddof=1)))
    error = np.std(draws) / math.sqrt(len(draws))
    assert abs(np.mean(draws) - 0.25) < 4 * error
    assert np.mean(naive) > 0.25 + 20 * error / 4


def test_interval_is_the_jackknife() -> None:
    """σ² without each template and each noun, by a loop; t of 4 degrees of freedom at 97.5 % is 2.776."""
    scores = scatter(5, (6, 5, 7))
    variance = 0.0
    for axis in (1, 2):
        n = scores.shape[axis]
        without = [naive_spread(np.delete(scores, j, axis=axis)) for j in range(n)]
        variance += (n - 1) / n * sum((each - sum(without) / n) ** 2 for each in without)
    squared, reach = naive_spread(scores), 2.7764451 * math.sqrt(variance)
    fields = pooled_spread([AxisSpread.of(axis_of(scores))], 0.95)
    assert fields["value"] == pytest.approx(math.sqrt(squared), rel=1e-9)
    assert fields["low"] == pytest.approx(math.sqrt(max(0.0, squared - reach)), rel=1e-6)
    assert fields["high"] == pytest.approx(math.sqrt(squared + reach), rel=1e-6)
    assert fields["levels"] == {"frame": 5, "noun": 7}


def test_fixed_factors_are_held() -> None:
    """Four templates are fixed: nothing is taken away for them, and the interval is over nouns."""
    scores = scatter(2, (5, 4, 6))
    figure = only(figures(rows_of(scores), design(), "people"), "descriptor-spread")
    means = scores.mean(axis=1)  # over the templates that there are: by descriptor and noun
    table = means - means.mean(axis=0)
    own = table.mean(axis=1)
    left = sum((table[d, n] - own[d]) ** 2 for d in range(5) for n in range(6)) / (4 * 5 * 6)
    assert figure.value == pytest.approx(math.sqrt(own.var(ddof=1) - left), abs=1e-8)
    assert (figure.fixed, dict(figure.levels)) == (("frame",), {"noun": 6})


def test_axes_are_pooled() -> None:
    """Two axes of three and of five descriptors: σ² is weighted by 2 and 4."""
    a, b = scatter(3, (3, 6, 6)), scatter(4, (5, 6, 6), own=2.0)
    found = figures(pd.concat([rows_of(a), rows_of(b, "age")]), design(), "people")
    expected = math.sqrt((2 * naive_spread(a) + 4 * naive_spread(b)) / 6)
    assert only(found, "descriptor-spread").value == pytest.approx(expected, rel=1e-8)
    assert only(found, "descriptor-spread", "age").value == pytest.approx(math.sqrt(naive_spread(b)), rel=1e-8)


def test_incomplete_descriptors_leave_the_spread() -> None:
    """One without a noun and one without a number leave, and their rows are counted."""
    scores = scatter(6, (6, 5, 6))
    rows = rows_of(scores)
    rows = rows[~((rows["descriptor"] == "d00") & (rows["noun"] == "n00"))]
    rows.loc[(rows["descriptor"] == "d01") & (rows["noun"] == "n01") & (rows["frame"] == "t01"), "score"] = np.nan
    figure = only(figures(rows, design(), "people"), "descriptor-spread")
    assert figure.value == pytest.approx(math.sqrt(naive_spread(scores[2:])), rel=1e-8)
    assert (figure.rows, figure.scored, figure.unscored) == (4 * 30 + 1, 4 * 30, 1)
    assert dict(figure.left_out) == {"without all templates and nouns": 25 + 29}


@given(shift=st.floats(-50, 50), seed=st.integers(0, 99))
def test_templates_and_nouns_alone_change_nothing(shift: float, seed: int) -> None:
    """What all descriptors share cancels, in the order of rows, too."""
    scores = scatter(seed, (3, 5, 5))
    moved = scores + shift * np.arange(25.0).reshape(1, 5, 5)
    assert squared_spread(moved, (True, True)) == pytest.approx(squared_spread(scores, (True, True)), abs=1e-6)
    shuffled = figures(rows_of(scores).sample(frac=1, random_state=seed), design(), "people")
    assert shuffled == figures(rows_of(scores), design(), "people")


# --- differences ------------------------------------------------------------------------------------------------------


def naive_p(scores: FloatArray, swaps: list[FloatArray]) -> list[float]:
    """The p of pairs by loops: |T| of each pair and swap, Westfall and Young's steps, the larger of two factors."""
    pairs = list(itertools.combinations(range(len(scores)), 2))

    def sums(a: int, b: int, factor: int) -> list[float]:
        apart = scores[a] - scores[b]
        lines = apart if factor == 0 else apart.T
        return [float(sum(line)) / apart.size for line in lines]

    def variance(values: list[float]) -> float:
        n = len(values)
        return n / (n - 1) * (sum(each**2 for each in values) - sum(values) ** 2 / n)

    observed = [
        abs(sum(sums(a, b, 0))) / math.sqrt(variance(sums(a, b, 0)) + variance(sums(a, b, 1))) for a, b in pairs
    ]
    order = sorted(range(len(pairs)), key=lambda at: -observed[at])
    of_factors = []
    for factor, signs in enumerate(swaps):
        p: dict[int, float] = {}
        for rank, at in enumerate(order):
            hits = 0
            for swap in signs:
                largest = 0.0
                for other in order[rank:]:
                    swapped = [s * each for s, each in zip(swap, sums(*pairs[other], factor), strict=True)]
                    largest = max(largest, abs(sum(swapped)) / math.sqrt(variance(swapped)))
                hits += largest >= observed[at] * (1 - 1e-9)
            p[at] = max((1 + hits) / (1 + len(signs)), max(p.values(), default=0.0))
        of_factors.append(p)
    return [max(p[at] for p in of_factors) for at in range(len(pairs))]


@pytest.mark.parametrize("own", [0.0, 0.6, 2.0])
def test_differences_by_loops(own: float) -> None:
    """All 31 and 63 swaps of 6 templates and 7 nouns, which are every pattern of signs but the observed one."""
    scores = scatter(7, (4, 6, 7), own)
    swaps = [draw_swaps(6, 0), draw_swaps(7, 0)]
    patterns = {tuple(row) for row in swaps[0]}
    assert patterns == {(1.0, *rest) for rest in itertools.product((1.0, -1.0), repeat=5)} - {(1.0,) * 6}
    np.testing.assert_allclose(compare_pairs(axis_of(scores), "log", 0), naive_p(scores, swaps), rtol=1e-9)


def test_differences_by_hand() -> None:
    """Two that are far apart and two that are alike: of 6 pairs, the four between them differ; 1/32 is the least p."""
    rng = np.random.default_rng(0)
    scores = np.array([0.0, 0.0, 9.0, 9.0])[:, None, None] + 0.1 * rng.normal(size=(4, 6, 6))
    scores[1], scores[3] = scores[0], scores[2]
    figure = only(figures(rows_of(scores), design(), "people"), "descriptor-differences")
    assert figure.value == pytest.approx(100 * 4 / 6)
    assert figure.note == "6 pairs of descriptors within an axis"
    assert sorted(compare_pairs(axis_of(scores), "log", 0)) == [1 / 32] * 4 + [1.0] * 2


def test_too_few_levels() -> None:
    """With five templates, 2^4 patterns: no p is below 1/16, and there is no value; four are fixed, so nouns decide."""
    few = only(figures(rows_of(scatter(1, (3, 5, 8))), design(), "people"), "descriptor-differences")
    assert few.value is None
    assert few.note.endswith("not attainable: with 5 frames, 8 nouns p cannot be below 0.0625")
    held = only(figures(rows_of(scatter(1, (3, 4, 8), 9.0)), design(), "people"), "descriptor-differences")
    assert (held.value, held.fixed) == (100.0, ("frame",))


def test_pairs_compare_what_they_share() -> None:
    """A descriptor with eight of twelve nouns is compared over these; one that shares four with it is not."""
    scores = scatter(8, (3, 6, 12), 5.0)
    scores[0, :, 8:], scores[1, :, :4] = np.nan, np.nan
    p = compare_pairs(axis_of(scores), "log", 0)
    assert np.isnan(p).tolist() == [True, False, False]
    assert only(figures(rows_of(scores), design(), "people"), "descriptor-differences").note == (
        "2 pairs of descriptors within an axis; 1 pair with too few templates and nouns in common"
    )


@pytest.mark.parametrize("shape", [(4, 3, 12), (4, 3, 6), (3, 2, 9)])
def test_published_pair_by_pair(shape: tuple[int, int, int]) -> None:
    """Scipy's test of each pair in each template, one after another; with ties, and with samples of unequal sizes."""
    scores = np.round(scatter(9, shape), 1)
    scores[0, :, -1] = np.nan
    expected = sorted(
        bool(mannwhitneyu(*(row[np.isfinite(row)] for row in (template[a], template[b]))).pvalue < 0.05)
        for template in np.swapaxes(scores, 0, 1)
        for a, b in itertools.combinations(range(len(template)), 2)
    )
    assert sorted(published_tests(scores).tolist()) == expected
    as_published = design(estimands=(*ESTIMANDS, "descriptor-differences-as-published"))
    figure = only(figures(rows_of(scores), as_published, "people"), "descriptor-differences-as-published")
    assert figure.value == pytest.approx(100 * sum(expected) / len(expected))


def test_published_u_by_hand() -> None:
    """Ten against ten that are all above: U = 0, z = (0 + .5 - 50) / 13.23 = -3.74; the same ten twice: p = 1."""
    low, high = np.arange(10.0), np.arange(10.0) + 100
    assert published_tests(np.array([[low], [high], [low]])).tolist() == [True, False, True]


def test_exchangeable_descriptors() -> None:
    """Descriptors that differ in single templates only: as published half of the pairs differ, ours show hardly any."""
    rng = np.random.default_rng(3)
    ours, published = [], []
    for seed in range(20):
        scores = (
            0.5 * rng.normal(size=(6, 12, 1)) + 0.1 * rng.normal(size=(6, 1, 12)) + 0.2 * rng.normal(size=(6, 12, 12))
        )
        ours.append(bool((compare_pairs(axis_of(scores), "log", seed) <= 0.05).any()))
        published.append(float(published_tests(scores).mean()))
    assert sum(ours) <= 4  # of 20 at 5 %: five or more happen once in 400 times
    assert np.mean(published) > 0.3
