"""The interval rule, exact intervals, permutation p and Holm's correction, against values from elsewhere."""

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from senseprobe.statistics import (
    FactorLevels,
    Projection,
    bounded_interval,
    clopper_pearson,
    difference_interval,
    holm,
    permutation_p,
    psi,
)


def levels(name: str, codes: list[int] | NDArray[np.intp], strata: tuple[str, ...] = ()) -> FactorLevels:
    """One column of levels, in one stratum unless told otherwise."""
    array = np.asarray(codes, dtype=np.intp)
    return FactorLevels(name=name, codes=array[None, :], strata=strata or ("",) * (int(array.max()) + 1))


def rule(factors: list[FactorLevels], weights: NDArray[np.float64] | None = None) -> Projection:
    """Rule for rows of one cell, weighted alike."""
    count = factors[0].codes.shape[1]
    return Projection(
        np.full(count, 1 / count) if weights is None else weights, np.zeros(count, dtype=np.intp), factors
    )


@pytest.mark.parametrize(
    ("difference", "scale", "expected"),
    [
        (0.0, 0.0, 0.5),
        (1e-6, 0.3, 0.5),  # scores below 1 in size: the tolerance is 1e-6 itself
        (1.1e-6, 0.3, 1.0),
        (-1.1e-6, 0.3, 0.0),
        (9e-5, 100.0, 0.5),  # 1e-6 * 100
        (-1.1e-4, 100.0, 0.0),
    ],
)
def test_psi_takes_differences_within_the_tolerance_for_ties(difference: float, scale: float, expected: float) -> None:
    """A tie is a difference of at most 1e-6 times the larger score, and at least 1e-6."""
    assert psi(difference, scale) == expected


def test_a_single_factor_gives_the_variance_of_a_mean() -> None:
    """Rows that are their own levels: V is s² / n, as in any textbook."""
    kernel = np.array([1.0, 0.0, 1.0, 1.0, 0.5, 0.0])

    assert float(rule([levels("frame", [0, 1, 2, 3, 4, 5])]).variance(kernel)) == pytest.approx(kernel.var(ddof=1) / 6)


def test_a_case_by_hand() -> None:
    """Five levels of two rows: level means 1, 1, 1, 0, 1/2 about 0.7 give 5/4 · (0.3²·3 + 0.7² + 0.2²) / 25 = 0.04."""
    kernel = np.array([1, 1, 1, 1, 1, 1, 0, 0, 1, 0], dtype=np.float64)
    projection = rule([levels("word", [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])])

    assert float(projection.variance(kernel)) == pytest.approx(0.04)
    assert projection.df == 4
    assert projection.levels == {"word": 5}


def test_a_stratum_of_four_levels_is_fixed_and_said() -> None:
    """Fewer than five levels add nothing: neither to the variance nor to the degrees of freedom."""
    strata = ("male",) * 5 + ("female",) * 4
    projection = rule([levels("occupation", list(range(9)), strata)])
    kernel = np.array([0.5] * 5 + [1, 0, 1, 0])

    assert projection.fixed == ("occupation (female)",)
    assert projection.levels == {"occupation": 5}
    # Only the constant male half contributes: each of its rows lies 0 from 0.5, the cell's mean.
    assert float(projection.variance(kernel)) == pytest.approx(0.0)


def test_a_factor_without_a_large_stratum_is_fixed_whole() -> None:
    """No stratum, no degrees of freedom, no interval."""
    projection = rule([levels("race", [0, 0, 1, 1])])

    assert projection.fixed == ("race",)
    assert projection.df is None
    assert projection.levels == {}


def test_a_nested_factor_adds_only_where_the_outer_one_is_fixed() -> None:
    """Frames of five sampled occupations add nothing, frames of the fixed sixth add their variance."""
    occupation = np.repeat(np.arange(6), 6)
    strata = ("male",) * 5 + ("female",)
    outer = levels("occupation", occupation, strata)
    inner = levels("frame", np.arange(36), tuple(strata[o] for o in occupation))
    projection = rule([outer, inner])
    kernel = np.random.default_rng(3).integers(0, 2, 36).astype(np.float64)
    centred = (kernel - kernel.mean()) / 36
    sums = centred.reshape(6, 6).sum(axis=1)
    by_hand = 5 / 4 * (sums[:5] ** 2).sum() + 6 / 5 * (centred[30:] ** 2).sum()

    assert projection.levels == {"occupation": 5, "frame": 6}
    assert projection.df == 4
    assert float(projection.variance(kernel)) == pytest.approx(by_hand)


def test_crossed_factors_are_not_nested() -> None:
    """Each word with each nation: both add."""
    nation, word = np.divmod(np.arange(30), 5)

    assert rule([levels("nation", nation), levels("word", word)]).levels == {"nation": 6, "word": 5}


def test_a_row_that_holds_a_level_twice_counts_twice() -> None:
    """Two columns with the same five levels double each projection, so V is four times that of one column."""
    codes = np.arange(5, dtype=np.intp)
    kernel = np.array([1.0, 0.0, 0.0, 1.0, 1.0])
    twice = FactorLevels(name="noun", codes=np.stack([codes, codes]), strata=("",) * 5)

    assert float(rule([twice]).variance(kernel)) == pytest.approx(4 * kernel.var(ddof=1) / 5)


def test_cells_take_away_their_own_mean() -> None:
    """A difference between cells is no variance of levels: within each cell nothing varies, so V is 0."""
    projection = Projection(np.full(10, 0.1), np.repeat([0, 1], 5).astype(np.intp), [levels("word", list(range(10)))])

    assert float(projection.variance(np.repeat([0.0, 1.0], 5))) == 0


def test_draws_at_once_are_the_draws_one_by_one() -> None:
    """A kernel of shape (D, N) gives the D variances of its rows."""
    nation, word = np.divmod(np.arange(30), 5)
    projection = rule([levels("nation", nation), levels("word", word)])
    kernel = np.random.default_rng(1).random((4, 30))

    assert projection.variance(kernel) == pytest.approx([float(projection.variance(row)) for row in kernel])


def test_bounded_interval_by_hand() -> None:
    """Student's t with 4 degrees is 2.776 in any table; 2.776 · 0.1 / 0.25 = 1.1106, and expit(1.1106) = 0.7522."""
    assert bounded_interval(0.5, 0.01, 4) == pytest.approx((-25.22, 25.22), abs=0.01)


def test_the_ends_of_the_range_have_one_sided_intervals() -> None:
    """0.025 to the power 1/9 is 0.66373 (exp of -3.688879 / 9), whatever the variance."""
    assert bounded_interval(1.0, 0.0, 8) == pytest.approx((16.373, 50.0), abs=0.001)
    assert bounded_interval(0.0, 0.0, 8) == pytest.approx((-50.0, -16.373), abs=0.001)


@pytest.mark.parametrize(("share", "variance", "df"), [(0.5, 0.0, 4), (0.5, 0.01, None), (1.0, 0.0, None)])
def test_without_variance_or_levels_there_is_no_interval(share: float, variance: float, df: int | None) -> None:
    """Never an interval of no width."""
    assert bounded_interval(share, variance, df) is None


def test_difference_interval_by_hand_and_clipped() -> None:
    """10 ± 2.776 · 0.1 · 100 = (-17.76, 37.76); a wide one ends at 100."""
    assert difference_interval(10.0, 0.01, 4) == pytest.approx((-17.76, 37.76), abs=0.01)
    assert difference_interval(90.0, 0.01, 4) == pytest.approx((62.24, 100.0), abs=0.01)
    assert difference_interval(-90.0, 0.01, 4) == pytest.approx((-100.0, -62.24), abs=0.01)
    assert difference_interval(0.0, 0.0, 4) is None
    assert difference_interval(0.0, 0.1, None) is None


@pytest.mark.parametrize(
    # Newcombe 1998, Statistics in Medicine 17, table I, method 5 (Clopper-Pearson).
    ("hits", "trials", "low", "high"),
    [(81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (0, 20, 0.0, 0.1684), (1, 29, 0.0009, 0.1776)],
)
def test_clopper_pearson_is_as_published(hits: int, trials: int, low: float, high: float) -> None:
    """The four examples of Newcombe's comparison of intervals for a proportion."""
    assert clopper_pearson(hits, trials) == pytest.approx((100 * low - 50, 100 * high - 50), abs=0.005)


def test_holm_by_hand() -> None:
    """Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1 is 0.02, 0.03, 0.06, 0.04; the last is raised to 0.06."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])
    assert len(holm([])) == 0


def test_permutation_p_counts_the_observed_one_and_ties() -> None:
    """Of 4 permutations 2 reach 0.3 (one of them a last bit below): p = 3 / 5."""
    assert float(permutation_p(0.3, [0.1 + 0.2, 0.3 - 1e-12, 0.2, 0.0])) == 3 / 5


@given(share=st.floats(0.001, 0.999), variance=st.floats(1e-9, 0.25), df=st.integers(4, 100))
def test_an_interval_holds_its_estimate(share: float, variance: float, df: int) -> None:
    """The estimate lies inside, the interval inside the range, and the mirrored share has the mirrored interval."""
    interval = bounded_interval(share, variance, df)
    mirrored = bounded_interval(1 - share, variance, df)

    assert interval is not None
    assert mirrored is not None
    assert -50 <= interval[0] <= 100 * share - 50 + 1e-9
    assert 100 * share - 50 - 1e-9 <= interval[1] <= 50
    assert mirrored == pytest.approx((-interval[1], -interval[0]), abs=1e-6)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_p_value_and_keeps_their_order(p: list[float]) -> None:
    """Corrected values are at least the raw ones, at most 1, and in the same order."""
    corrected = holm(p)
    order = np.argsort(p, kind="stable")

    assert np.all(corrected >= np.minimum(1, p))
    assert np.all(corrected <= 1)
    assert np.all(np.diff(corrected[order]) >= 0)


def coverage_benchmark() -> ModuleType:
    """Benchmark as a module: it is a script, not part of the package."""
    path = Path(__file__).parents[1] / "benchmarks" / "coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def assert_covers(draws: int, seed: int) -> None:
    """Every cell whose truth is in [0.1, 0.9] covers at least 93 %, less three Monte-Carlo standard errors."""
    asked = [cell for cell in coverage_benchmark().simulate(draws, seed) if 0.1 <= cell.truth <= 0.9]
    bounds = [0.93 - 3 * math.sqrt(0.93 * 0.07 / cell.estimable) for cell in asked]

    assert {cell.design for cell in asked} >= {"nationality", "race", "colour", "noun", "verb"}
    assert [cell for cell, bound in zip(asked, bounds, strict=True) if not cell.covered >= bound] == []


def test_intervals_cover_the_truth() -> None:
    """Simulated models with a known truth, a few hundred per cell."""
    assert_covers(300, seed=1)


@pytest.mark.soak
def test_intervals_cover_the_truth_in_full() -> None:
    """Simulated models with a known truth, with a seed other than that of the published table."""
    assert_covers(5_000, seed=2)
