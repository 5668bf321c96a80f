"""The interval rule, exact intervals, permutation p and Holm's correction, against values from elsewhere."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from senseprobe.statistics import (
    FactorLevels,
    Projection,
    block_interval,
    bounded_interval,
    clopper_pearson,
    difference_interval,
    difference_intervals,
    difference_p,
    divisions,
    holm,
    permutation_p,
    psi,
    share_intervals,
    sign_flips,
    studentised,
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
    ("difference", "size", "expected"),
    [
        (0.0, 0.0, 0.5),
        (1e-6, 0.3, 0.5),  # scores below 1 in size: the tolerance is 1e-6 itself
        (1.1e-6, 0.3, 1.0),
        (-1.1e-6, 0.3, 0.0),
        (9e-5, 100.0, 0.5),  # 1e-6 * 100
        (-1.1e-4, 100.0, 0.0),
    ],
)
def test_psi_takes_differences_within_the_tolerance_for_ties(difference: float, size: float, expected: float) -> None:
    """On a log scale a tie is a difference of at most 1e-6 times the larger score, and at least 1e-6."""
    assert psi(difference, size, "log") == expected


@pytest.mark.parametrize(
    ("difference", "size", "expected"),
    [
        (0.0, 0.0, 0.5),
        (1e-12, 1e-9, 1.0),  # a thousandth of a probability of 1e-9: no tie, however small both are
        (-1e-12, 1e-9, 0.0),
        (1e-15, 1e-9, 0.5),  # 1e-6 * 1e-9
        (1.1e-15, 1e-9, 1.0),
        (9e-7, 0.9, 0.5),
        (1.1e-6, 0.9, 1.0),
    ],
)
def test_ties_of_probabilities_are_relative(difference: float, size: float, expected: float) -> None:
    """On a probability scale a tie is a difference of at most 1e-6 times the larger one, however small (ESTIMANDS)."""
    assert psi(difference, size, "probability") == expected


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


# --- other confidences, and the p-value of a difference --------------------------------------------------------------


def test_intervals_of_ninety_per_cent_by_hand() -> None:
    """Student's t with 4 degrees leaves 5 % above 2.132; 2.132 · 0.1 / 0.25 = 0.8527, and expit(0.8527) = 0.7011."""
    assert bounded_interval(0.5, 0.01, 4, 0.9) == pytest.approx((-20.11, 20.11), abs=0.01)
    assert difference_interval(10.0, 0.01, 4, 0.9) == pytest.approx((-11.32, 31.32), abs=0.01)
    # Of 20 rows none: the upper end leaves 5 %, so (1 - p)^20 = 0.05, and p = 1 - 0.05^(1/20) = 0.13911.
    assert clopper_pearson(0, 20, 0.9) == pytest.approx((-50, -36.089), abs=0.001)


def test_a_difference_of_differences_goes_further() -> None:
    """150 ± 27.76, which a difference of two figures would clip at 100."""
    assert difference_interval(150.0, 0.01, 4, limit=200) == pytest.approx((122.24, 177.76), abs=0.01)
    assert difference_interval(190.0, 0.01, 4, limit=200) == pytest.approx((162.24, 200.0), abs=0.01)


def test_difference_p_by_hand() -> None:
    """Of Student's t with 4 degrees 2.776 leaves 5 % on both sides, 2.132 leaves 10 %, and 0 leaves everything."""
    assert difference_p(27.76445, 0.01, 4) == pytest.approx(0.05, abs=1e-6)
    assert difference_p(-21.31847, 0.01, 4) == pytest.approx(0.1, abs=1e-6)
    assert difference_p(0.0, 0.01, 4) == 1
    assert difference_p(10.0, 0.0, 4) is None
    assert difference_p(10.0, 0.01, None) is None


@given(difference=st.floats(-99, 99), variance=st.floats(1e-6, 0.5), df=st.integers(4, 100))
def test_p_is_below_a_level_where_the_interval_leaves_zero_out(difference: float, variance: float, df: int) -> None:
    """For 95 % and for 90 %."""
    p = difference_p(difference, variance, df)
    assert p is not None
    for confidence in (0.95, 0.9):
        interval = difference_interval(difference, variance, df, confidence)
        assert interval is not None
        if abs(p - (1 - confidence)) > 1e-9:
            assert (p < 1 - confidence) == (not interval[0] <= 0 <= interval[1])


# --- what levels contribute -----------------------------------------------------------------------------------------


def test_contributions_are_the_totals_of_levels() -> None:
    """Rows 1, 0 | 1, 1 | 0, 0 | 0, 1 | 1, 1 of five words, each weighing 1/10."""
    projection = rule([levels("word", [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])])
    result = projection.contributions(np.array([1.0, 0, 1, 1, 0, 0, 0, 1, 1, 1]))

    assert result["word"] == pytest.approx([0.1, 0.2, 0, 0.1, 0.2])


def test_a_factor_with_a_fixed_level_has_no_contributions() -> None:
    """Four levels are fixed: what the five others add is not the figure. Nor is it where a row has no level."""
    strata = ("male",) * 5 + ("female",) * 4
    projection = rule([levels("occupation", list(range(9)), strata), levels("race", [0] * 9)])
    gap = rule([levels("frame", [0, 1, 2, 3, 4, -1, 0, 1, 2])])

    assert projection.contributions(np.ones(9)) == gap.contributions(np.ones(9)) == {}


def test_contributions_that_cancel_are_zero() -> None:
    """0.1 + 0.2 - 0.3 is 5.6e-17 in floating point, and nothing: a level with it does not differ."""
    projection = rule([levels("word", [0, 0, 0, *range(1, 6)])])
    kernel = np.array([0.1, 0.2, -0.3, 1.0, 0, 0, 0, 0])
    assert (kernel[:3] / 8).sum() != 0

    assert projection.contributions(kernel)["word"].tolist() == [0, 1 / 8, 0, 0, 0, 0]


def test_a_level_in_two_roles_contributes_once() -> None:
    """Five nouns against five: totals count each pair twice, so their sum, 2, is lowered by 1/5 each to the figure."""
    first, second = np.divmod(np.arange(25), 5)
    noun = FactorLevels(name="noun", codes=np.stack([first, second]).astype(np.intp), strata=("",) * 5)
    kernel = np.where(first == 0, 1.0, 0.5)
    result = rule([noun]).contributions(kernel)["noun"]
    table = kernel.reshape(5, 5) / 25
    by_hand = table.sum(axis=0) + table.sum(axis=1) - kernel.mean() / 5

    assert result == pytest.approx(by_hand)
    assert result.sum() == pytest.approx(kernel.mean())


# --- signs ----------------------------------------------------------------------------------------------------------


def enumerated(values: NDArray[np.float64]) -> float:
    """Share of all sign vectors whose sum is as far out, one after the other."""
    observed = abs(math.fsum(values))
    sums = [abs(math.fsum(s * v for s, v in zip(signs, values, strict=True))) for signs in signs_of(len(values))]
    return sum(total >= observed - 1e-9 for total in sums) / len(sums)


def signs_of(count: int) -> list[tuple[int, ...]]:
    """All vectors of signs."""
    return list(itertools.product((1, -1), repeat=count))


@given(st.lists(st.floats(-1, 1).map(lambda value: round(value, 2)), min_size=1, max_size=9))
def test_sign_flips_are_an_enumeration(values: list[float]) -> None:
    """Every sign vector tried in turn."""
    result = sign_flips(values)

    assert result.exact
    assert result.p == pytest.approx(enumerated(np.array(values)), abs=1e-12)
    assert result.levels == np.count_nonzero(values)
    assert result.smallest == 2.0 ** (1 - result.levels) if result.levels else result.p == result.smallest == 1


def test_sign_flips_are_those_of_scipy() -> None:
    """`scipy.stats.permutation_test` with paired samples enumerates the same vectors."""
    values = np.random.default_rng(5).normal(0.4, 1, 11)
    theirs = stats.permutation_test(
        (values,),
        lambda sample, axis: np.abs(sample.sum(axis=axis)),
        permutation_type="samples",
        alternative="greater",
        n_resamples=2**11,
    )

    assert sign_flips(values).p == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize(
    # statsmodels 0.15.0, stats.contingency_tables.mcnemar(exact=True) on [[10, b], [c, 20]].
    ("only_a", "only_b", "p"),
    [(14, 15, 1.0), (3, 12, 0.03515625), (0, 5, 0.0625), (25, 9, 0.00904118549078703), (1, 30, 2.9802322387695312e-08)],
)
def test_sign_flips_of_rows_won_and_lost_are_mcnemars(only_a: int, only_b: int, p: float) -> None:
    """Rows in which the two agree say nothing."""
    result = sign_flips(np.repeat([1.0, -1.0, 0.0], [only_a, only_b, 30]))

    assert result.exact
    assert result.p == pytest.approx(p, rel=1e-9)


def test_five_levels_that_agree_cannot_say_more() -> None:
    """Two of 32 sign vectors, the observed one and its mirror image."""
    result = sign_flips([0.3, 0.1, 0.2, 0.4, 0.2])

    assert (result.p, result.smallest, result.levels) == (1 / 16, 1 / 16, 5)


def test_many_levels_are_sampled() -> None:
    """41 values near 1 or -1, 27 of them positive: p is the binomial's for 27 of 41 (scipy), but for sampling."""
    rng = np.random.default_rng(2)
    values = np.repeat([1.0, -1.0], [27, 14]) + rng.normal(0, 1e-3, 41)
    result = sign_flips(values, seed=1)
    # Sums of 13 are no ties any more: about half of them are as far out as the observed one.
    closest = stats.binom.sf(27, 41, 0.5) + 0.5 * stats.binom.pmf(27, 41, 0.5)

    assert (result.exact, result.levels, result.smallest) == (False, 41, 1e-4)
    assert result.p == pytest.approx(2 * closest, abs=5 * math.sqrt(0.05 / 10_000))
    assert result == sign_flips(rng.permutation(values), seed=1)
    assert result.p != sign_flips(values, seed=2).p


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.floats(0.001, 1000))
def test_sign_flips_know_no_scale_and_no_order(values: list[float], scale: float) -> None:
    """Nor which of the two models came first."""
    result = sign_flips(values)

    assert sign_flips([-scale * value for value in reversed(values)]).p == pytest.approx(result.p, rel=1e-6)
    assert 0 < result.p <= 1


# --- divisions ------------------------------------------------------------------------------------------------------


def test_few_divisions_are_all_tried() -> None:
    """Of 7 words 3 are bad: 35 divisions, the observed one and 34 others."""
    labels = np.array([1, 1, 0, 0, 1, 0, 0], dtype=np.bool_)
    result = divisions(labels, seed=0)
    chosen = {tuple(np.flatnonzero(row)) for row in result.labels}

    assert result.exact
    assert chosen | {(0, 1, 4)} == set(itertools.combinations(range(7), 3))
    assert len(result.labels) == len(chosen) == 34
    assert result.smallest == 1 / 35


def test_the_mirror_image_of_as_many_good_as_bad_words_is_always_as_far_out() -> None:
    """Of 252 divisions of five and five words, two are the observed one and its mirror image."""
    assert divisions(np.arange(10) < 5, seed=0).smallest == 2 / 252


def test_many_divisions_are_drawn_without_replacement() -> None:
    """C(21, 9) = 293,930: as many as asked for, each once, not the observed one, the same ones for a seed."""
    labels = np.arange(21) < 9
    result, repeated, other = (divisions(labels, seed=seed, most=2_000) for seed in (3, 3, 4))

    assert not result.exact
    assert result.labels.shape == (2_000, 21)
    assert set(result.labels.sum(axis=1)) == {9}
    assert len({row.tobytes() for row in result.labels} | {labels.tobytes()}) == 2_001
    assert np.array_equal(result.labels, repeated.labels)
    assert not np.array_equal(result.labels, other.labels)
    # Each word is bad in 9 of 21: a thousandth or so of 2,000 draws has a standard error of 0.011.
    assert result.labels.mean(axis=0) == pytest.approx(np.full(21, 9 / 21), abs=0.055)


def test_as_many_as_there_are_but_one_are_still_drawn() -> None:
    """Of 34 others 33 are asked for: drawn until 33 different ones are found."""
    result = divisions(np.arange(7) < 3, seed=0, most=33)

    assert not result.exact
    assert len({row.tobytes() for row in result.labels}) == 33


def test_divisions_give_the_p_of_scipy() -> None:
    """`scipy.stats.permutation_test` of two independent samples, all 462 of them."""
    values = np.random.default_rng(8).normal(0, 1, 11) + np.repeat([0.8, 0.0], [5, 6])
    labels = np.arange(11) < 5

    def gap(bad: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.asarray(np.abs((values * bad).sum(axis=-1) / 5 - (values * ~bad).sum(axis=-1) / 6))

    theirs = stats.permutation_test(
        (values[:5], values[5:]),
        lambda x, y, axis: np.abs(x.mean(axis=axis) - y.mean(axis=axis)),
        alternative="greater",
        n_resamples=10_000,
    )

    assert float(permutation_p(gap(labels), gap(divisions(labels, 0).labels))) == pytest.approx(theirs.pvalue)


# --- the studentised share -------------------------------------------------------------------------------------------


def beaten(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often each value is above each other one, ties as halves: shape (1, W, W)."""
    return np.asarray((np.sign(values[:, None] - values[None, :]) + 1) / 2)[None]


def t_of(share: float, variance: float) -> float:
    """T by its formula."""
    return math.log(share / (1 - share)) * share * (1 - share) / math.sqrt(variance)


@pytest.mark.parametrize("digits", [0, 9])
@pytest.mark.parametrize(("marked", "others"), [(9, 12), (5, 5), (3, 4)])
def test_the_studentised_share_is_that_of_scipy(marked: int, others: int, digits: int) -> None:
    """`scipy.stats.brunnermunzel` divides the share less one half by the same √V; rounded values have ties."""
    rng = np.random.default_rng(marked)
    values = (2 * rng.normal(size=marked + others)).round(digits)
    labels = np.array([rng.permutation(marked + others) < marked for _ in range(40)])
    result = studentised(beaten(values), np.ones((len(values), len(values))), labels)[:, 0]
    compared = 0
    for t, division in zip(result, labels, strict=True):
        share = float(np.mean(beaten(values)[0][np.ix_(division, ~division)]))
        if share not in {0.0, 0.5, 1.0} and min(share, 1 - share) >= 1 / (2 * marked * others):
            theirs = -stats.brunnermunzel(
                values[division], values[~division]
            ).statistic  # positive where marked ones are above
            assert t == pytest.approx(t_of(share, ((share - 0.5) / theirs) ** 2))
            compared += 1
    assert compared >= 30


@pytest.mark.parametrize(("marked", "others"), [(5, 5), (4, 6), (2, 3), (1, 4), (9, 12)])
def test_complete_separation_counts_as_if_one_pair_tied(marked: int, others: int) -> None:
    """By hand: of 1 - 1/2mn, √V is 1/(√2 mn), which is what the means of one tied pair's two things have."""
    values = np.arange(marked + others, 0, -1.0)
    labels = np.arange(marked + others) < marked
    tied = values.copy()
    tied[marked] = tied[marked - 1]
    ours, with_tie = (
        float(studentised(beaten(table), np.ones((len(values), len(values))), labels[None])[0, 0])
        for table in (values, tied)
    )

    pairs = marked * others
    assert ours == pytest.approx(t_of(1 - 1 / (2 * pairs), 1 / (2 * pairs**2)))
    if marked > 1:
        assert with_tie == pytest.approx(ours)


@pytest.mark.parametrize(("marked", "others"), [(5, 5), (4, 6), (3, 4), (2, 5), (6, 6)])
@pytest.mark.parametrize("tie", [False, True])
def test_no_division_is_further_out_than_complete_separation(marked: int, others: int, tie: bool) -> None:
    """Of all divisions two are as far out, that which marks the values at one end and that which marks the others.

    Ties among the marked ones change nothing in that.
    """
    values = np.arange(marked + others, 0, -1.0)
    values[0] = values[1] if tie else values[0]
    labels = np.arange(marked + others) < marked
    every = np.array([labels, *divisions(labels, 0).labels])
    size = np.abs(studentised(beaten(values), np.ones((len(values), len(values))), every)[:, 0])

    assert (size >= size[0] * (1 - 1e-9)).sum() == 2
    assert size.max() == pytest.approx(size[0])


def test_the_studentised_share_of_what_all_ties_is_zero() -> None:
    """Then every division is as far out, and p is 1; a division without a pair has no T."""
    labels = np.array([[1, 1, 0, 0, 0], [0, 1, 0, 1, 0]], dtype=np.bool_)
    assert studentised(np.full((2, 5, 5), 0.5), np.ones((5, 5)), labels).tolist() == [[0, 0], [0, 0]]
    none = np.zeros((5, 5))
    assert np.isnan(studentised(none[None], none, labels)).all()


def test_the_studentised_share_of_pairs_that_are_missing_is_the_interval_rule() -> None:
    """Two tables in blocks of a few divisions: V of `Projection` over the pairs that there are, five things or more."""
    rng = np.random.default_rng(4)
    values, met = rng.normal(size=(2, 12)), np.ones((12, 12))
    removed = rng.integers(0, 12, (9, 2))
    met[removed[:, 0], removed[:, 1]] = met[removed[:, 1], removed[:, 0]] = 0
    labels = np.array([rng.permutation(12) < 6 for _ in range(5)])
    wins = np.concatenate([beaten(table) for table in values]) * met
    result = studentised(wins, met, labels)
    for (division, table), t in np.ndenumerate(result):
        pairs = [(i, j) for i, j in itertools.permutations(range(12), 2) if met[i, j]]
        pairs = [(i, j) for i, j in pairs if labels[division, i] and not labels[division, j]]
        codes = [np.unique(column, return_inverse=True)[1] for column in zip(*pairs, strict=True)]
        kernel = np.array([wins[table, i, j] for i, j in pairs])
        variance = float(rule([levels("marked", codes[0]), levels("others", codes[1])]).variance(kernel))
        assert t == pytest.approx(t_of(float(kernel.mean()), variance))


def test_holm_is_that_of_statsmodels() -> None:
    """As computed by statsmodels 0.15.0, stats.multitest.multipletests(method="holm")."""
    assert holm([0.012, 0.04, 0.03, 0.005, 0.2, 0.0009]) == pytest.approx([0.048, 0.09, 0.09, 0.025, 0.2, 0.0054])


# --- the boundary rule ----------------------------------------------------------------------------------------------


def test_block_intervals_by_hand() -> None:
    """0.025^(1/5) = 0.478176: at an end, inside without variance (over the root of four cells), and held."""
    assert block_interval(1.0, 0.0, 2, 5, 0.95) == pytest.approx((0.478176, 1), abs=1e-6)
    assert block_interval(0.0, 0.0, 2, 5, 0.95) == pytest.approx((0, 0.521824), abs=1e-6)
    assert block_interval(0.5, 0.0, 4, 5, 0.95) == pytest.approx((0.239088, 0.760912), abs=1e-6)
    assert block_interval(0.9, 0.0, 1, 5, 0.95) == pytest.approx((0.378176, 1), abs=1e-6)
    assert block_interval(0.9, 0.0, 1, None, 0.95) == (0.9, 0.9)
    # logit 0.5 = 0, t with 4 degrees 2.776, √0.01 / 0.25 = 0.4: expit(±1.1106), as of a whole figure.
    assert block_interval(0.5, 0.01, 1, 5, 0.95) == pytest.approx((0.2478, 0.7522), abs=1e-4)


def test_mover_by_hand() -> None:
    """M = 1 over five levels less F = 1 over ten: the root of one square each way, Zou & Donner 2008, equation 3."""
    codes = np.repeat(np.arange(15), 2)
    cells = (codes >= 5).astype(np.intp)
    strata = ("m",) * 5 + ("f",) * 10
    factor = FactorLevels(name="word", codes=codes[None].astype(np.intp), strata=strata)
    rule = Projection(np.where(cells == 0, 0.5 / 10, -0.5 / 20), cells, [factor])
    ones = np.ones((1, 30))
    (result,) = share_intervals(rule, ones, np.array([0.5]), by_blocks=True)

    assert result is not None
    assert [(round(block.coefficient, 12), block.size, block.levels) for block in rule.blocks] == [
        (0.5, 1, 5),
        (-0.5, 1, 10),
    ]
    assert (result.low, result.high) == pytest.approx((-50 * 0.521824, 50 * 0.308497), abs=1e-3)
    assert result.method == "boundary"
    (wide,) = difference_intervals(rule, ones, np.array([0.0]))
    assert wide is not None
    assert (wide.low, wide.high) == pytest.approx((result.low, result.high))


@given(
    share=st.floats(0, 1),
    variance=st.floats(0, 0.25),
    cells=st.integers(1, 4),
    levels=st.one_of(st.none(), st.integers(1, 40)),
    confidence=st.sampled_from([0.8, 0.9, 0.95, 0.999]),
)
def test_properties_of_block_intervals(
    share: float, variance: float, cells: int, levels: int | None, confidence: float
) -> None:
    """A block's interval is within [0, 1], holds its mean, and mirrors; more confidence makes it no narrower."""
    share = round(share, 12)
    variance = min(variance, share * (1 - share))
    low, high = block_interval(share, variance, cells, levels, confidence)
    mirrored = block_interval(round(1 - share, 12), variance, cells, levels, confidence)
    wider = block_interval(share, variance, cells, levels, 0.9999)

    assert 0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1
    assert (levels is None) == (low == high)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)
    assert wider[0] <= low + 1e-12
    assert high <= wider[1] + 1e-12
