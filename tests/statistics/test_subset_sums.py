"""p over all divisions, against enumeration, scipy and closed forms; the two ends of a grid against exact counts."""

import itertools
import math
import os
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.profiles import examples

from senseprobe.errors import ResultError
from senseprobe.statistics import EnclosedP, division_p, monte_carlo_p, subset_sums

SIZES = [(n_x, n_y) for n_x in range(1, 8) for n_y in range(1, 8)]


def enumerated_p(x: Sequence[float], y: Sequence[float], *, two_sided: bool = False) -> float:
    """Every division in turn, with fractions, so that nothing is rounded and ties are ties."""
    values = [Fraction(value) for value in (*x, *y)]
    total = sum(values, Fraction(0))

    def difference(chosen: Sequence[int]) -> Fraction:
        ours = sum((values[index] for index in chosen), Fraction(0))
        return ours / len(x) - (total - ours) / len(y)

    observed = difference(range(len(x)))
    every = [difference(chosen) for chosen in itertools.combinations(range(len(values)), len(x))]
    hits = sum(abs(other) >= abs(observed) if two_sided else other >= observed for other in every)
    return hits / len(every)


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize(("n_x", "n_y"), SIZES)
def test_p_is_the_share_of_all_divisions(n_x: int, n_y: int, two_sided: bool) -> None:
    """All sizes up to 7 + 7, unequal ones too: of eighths with many ties, and of values that differ."""
    rng = np.random.default_rng(10 * n_x + n_y)
    for values in (rng.integers(-3, 4, n_x + n_y) / 8, rng.normal(size=n_x + n_y), np.full(n_x + n_y, 0.1)):
        x, y = values[:n_x].tolist(), values[n_x:].tolist()
        p = division_p(x, y, two_sided=two_sided)

        assert p.low == p.high == pytest.approx(enumerated_p(x, y, two_sided=two_sided), rel=1e-14)
        assert p.least <= p.high


@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
def test_p_is_that_of_scipy(alternative: Literal["greater", "two-sided"]) -> None:
    """`scipy.stats.permutation_test`, exact.

    Its two-sided p is twice the smaller tail: another definition, but the same where the sets are equal in size.
    """
    rng = np.random.default_rng(4)
    for n in (4, 6, 8):
        x, y = rng.normal(0.4, 1, n), rng.normal(0, 1, n)
        theirs = stats.permutation_test(
            (x, y),
            lambda a, b, axis: np.mean(a, axis=axis) - np.mean(b, axis=axis),
            permutation_type="independent",
            alternative=alternative,
            n_resamples=20_000,  # more than C(16, 8)
            vectorized=True,
        )
        ours = division_p(x, y, two_sided=alternative == "two-sided")

        assert ours.high == pytest.approx(theirs.pvalue, rel=1e-12)


def test_ties_that_differ_in_the_last_bit_are_ties() -> None:
    """UPSTREAM 4: with tenths that repeat, sums differ in the last bit, and the published code misses half of its ties.

    x and y hold the same values, so that each division and its mirror image are as likely: p is (1 + P(tie))/2.
    """
    tenths = [0.1, 0.2, 0.3, 0.7, 0.1, 0.2, 0.3, 0.7]
    whole = [1, 2, 3, 7, 1, 2, 3, 7]

    assert division_p(tenths, tenths).high == enumerated_p(whole, whole)


def test_the_smallest_p_is_one_division() -> None:
    """1/C(n_x + n_y, n_x); two-sided, the mirror image of the observed division counts where the sizes are equal."""
    x, y = [5.0, 6.0, 7.0], [1.0, 2.0, 4.0]

    assert division_p(x, y) == (1 / 20, 1 / 20, 1 / 20)
    assert division_p(x, y, two_sided=True) == (2 / 20, 2 / 20, 2 / 20)
    assert division_p(x, y[:2], two_sided=True).least == 1 / 10
    assert division_p(y, x).high == 1


@pytest.mark.parametrize("n", [4, 13, 20])
def test_one_value_apart_has_a_closed_form(n: int) -> None:
    """One value is 1 and the others are 0: it lies in X in half of the divisions."""
    assert division_p([1] + [0] * (n - 1), [0] * n).high == 0.5
    assert division_p([0] * n, [0] * (n - 1) + [1]).high == 1


@pytest.mark.parametrize(("n_x", "n_y"), [(15, 25), (20, 20), (33, 7), (60, 60), (5, 200), (500, 500)])
def test_ranked_halves_have_the_hypergeometric_p(n_x: int, n_y: int) -> None:
    """Values 0 and 1 alone: the sum of X is hypergeometric, exactly, whatever the number of values."""
    ones = (n_x + n_y) // 3
    for of_x in (0, 1, n_x // 3, min(n_x, ones)):
        x = [1] * of_x + [0] * (n_x - of_x)
        y = [1] * (ones - of_x) + [0] * (n_y - ones + of_x)
        p = division_p(x, y)

        assert p.low == p.high
        assert p.high == pytest.approx(float(stats.hypergeom.sf(of_x - 1, n_x + n_y, ones, n_x)), rel=1e-9)


@given(
    st.lists(st.integers(-30, 30), min_size=1, max_size=6),
    st.lists(st.integers(-30, 30), min_size=1, max_size=6),
    st.integers(-60, 60),
    st.randoms(use_true_random=False),
)
def test_p_is_invariant(x: list[int], y: list[int], power: int, random: object) -> None:
    """A power of two and the order change nothing; the p of X and Y and of Y and X add up to 1 + P(tie)."""
    shuffled = [*x]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    scaled = [[math.ldexp(value / 10, power) for value in side] for side in (shuffled, y)]
    ours, theirs = division_p(*scaled), division_p(*scaled[::-1])
    ties = sum(sum(chosen) == sum(x) for chosen in itertools.combinations([*x, *y], len(x)))

    assert ours == division_p([value / 10 for value in x], [value / 10 for value in y])
    assert ours.high == enumerated_p(x, y)
    assert ours.high + theirs.high == pytest.approx(1 + ties / math.comb(len(x) + len(y), len(x)), rel=1e-14)


@pytest.mark.parametrize(("x", "y"), [([], [1.0]), ([1.0], []), ([math.nan], [1.0]), ([1.0], [math.inf])])
@pytest.mark.parametrize("test", [division_p, lambda x, y: monte_carlo_p(x, y, seed=0)])
def test_what_has_no_p_is_an_error(test: Callable[..., EnclosedP], x: list[float], y: list[float]) -> None:
    """An empty set, a word without a vector."""
    with pytest.raises(ValueError, match="a set is empty or has a value that is not finite"):
        test(x, y)


# --- more than 40 values ----------------------------------------------------------------------------------------------


@pytest.fixture(params=["followed", "on a grid"])
def uncounted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Few values are treated as many are: their sums are followed, or enclosed on a grid of some steps."""
    monkeypatch.setattr(subset_sums, "EXACT_VALUES", 0)
    monkeypatch.setattr(subset_sums, "MOST_STATES", -1 if request.param == "on a grid" else 2**20)
    monkeypatch.setattr(subset_sums, "FEWEST_STEPS", 40)
    return str(request.param)


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("n", [8, 9, 10, 11, 12, 13, 14])
def test_the_ends_enclose_the_exact_p(uncounted: str, n: int, two_sided: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes that can be counted exactly, n and n or fewer, from no effect to almost complete separation."""
    rng = np.random.default_rng(n)
    for shift in (0.0, 0.5, 1.0, 1.5):
        x, y = rng.normal(shift, 1, n), rng.normal(0, 1, n - n % 3)
        p = division_p(x, y, two_sided=two_sided)
        with monkeypatch.context() as counted:
            counted.setattr(subset_sums, "EXACT_VALUES", 40)
            exact = division_p(x, y, two_sided=two_sided)

        assert exact.low == exact.high
        assert p.low * (1 - 1e-12) <= exact.high <= p.high * (1 + 1e-12)
        assert p.least == exact.least
        assert uncounted == "on a grid" or p.high == pytest.approx(exact.high, rel=1e-12)
        assert p.high - p.low <= 0.05 * p.high or p.high < 100 * p.least


@pytest.mark.parametrize("n", [15, 16, 17, *(pytest.param(n, marks=pytest.mark.slow) for n in (18, 19, 20))])
def test_the_ends_of_larger_sets_enclose_the_exact_p(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same up to 20 and 20, as it is done where there are more: followed while that is possible, then on a grid."""
    rng = np.random.default_rng(n)
    for shift in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0):
        x, y = rng.normal(shift, 1, n), rng.normal(0, 1, n - n % 3)
        exact = division_p(x, y)
        with monkeypatch.context() as uncounted:
            uncounted.setattr(subset_sums, "EXACT_VALUES", 0)
            p = division_p(x, y)

        assert p.low * (1 - 1e-12) <= exact.high <= p.high * (1 + 1e-12)
        assert p.high - p.low <= 0.05 * p.high


@given(st.lists(st.integers(0, 12), min_size=2, max_size=14), st.data())
@settings(max_examples=examples(40))
def test_the_ends_enclose_p_with_ties(values: list[int], data: st.DataObject) -> None:
    """Values that repeat, as multiples of 0.7: enumerated, and enclosed on a grid of a few steps."""
    n_x = data.draw(st.integers(1, len(values) - 1))
    x, y = values[:n_x], values[n_x:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subset_sums, "EXACT_VALUES", 0)
        patch.setattr(subset_sums, "MOST_STATES", -1)
        patch.setattr(subset_sums, "FEWEST_STEPS", 5)
        p = division_p([0.7 * value for value in x], [0.7 * value for value in y])

    assert p.low * (1 - 1e-12) <= enumerated_p(x, y) <= p.high * (1 + 1e-12)


@pytest.mark.parametrize("n", [25, 32])
@pytest.mark.parametrize("shift", [0.0, 0.3, 0.7, 1.5, 3.0, 8.0])
def test_the_ends_of_real_sizes_are_close(n: int, shift: float) -> None:
    """At most 5 % of the upper end, and p in the order of a normal approximation where that holds."""
    rng = np.random.default_rng(n)
    x, y = rng.normal(shift, 1, n), rng.normal(0, 1, n)
    p = division_p(x, y)
    values = np.concatenate([x, y])
    z = (x.mean() - y.mean()) / (values.std(ddof=1) * math.sqrt(2 / n))

    assert p.least == 1 / math.comb(2 * n, n)
    assert p.least <= p.low <= p.high
    assert p.high - p.low <= 0.05 * p.high
    assert p.high == pytest.approx(float(stats.norm.sf(z)), rel=0.1) or z > 2.5


def test_complete_separation_of_many_values_is_one_division() -> None:
    """X above Y everywhere: one of C(64, 32) divisions, and mirrored all of them."""
    values = np.linspace(-1, 1, 64) ** 3
    one = 1 / math.comb(64, 32)

    assert division_p(values[32:], values[:32]) == pytest.approx((one, one, one), rel=1e-12)
    assert division_p(values[:32], values[32:]).low == pytest.approx(1, rel=1e-12)
    assert division_p([2.0] * 32, [2.0] * 32) == (1, 1, one)


def test_more_values_than_a_grid_has_place_for_have_ends() -> None:
    """C(2200, 1100) is above 1e600: Serfling's bound alone, between 0 and 1, and smaller where values are apart."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 1100))
    near, far = division_p(x + 0.1, y), division_p(x + 1, y)

    assert 0 <= near.low <= near.high <= 1
    assert 0 <= far.low < far.high < 1e-6 < near.high
    assert division_p(x * 0, y * 0).high == 1


@pytest.mark.parametrize("most_states", [2**15, -1])
def test_counts_beyond_floating_point_have_ends(most_states: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """C(1160, 580) is above 1e340: one value is 2 among zeros and ones, which a grid of two steps has exactly.

    By hand: X has the 2 and 290 of 580 ones, 292 in all. It is as high with the 2 and at least 290 ones among its 579
    other values, or without it and with at least 292 ones among 580.
    """
    monkeypatch.setattr(subset_sums, "MOST_STATES", most_states)
    p = division_p([2.0, *[1.0] * 290, *[0.0] * 289], [0.0, 1.0] * 290)
    with_it, without = stats.hypergeom(1159, 580, 579), stats.hypergeom(1159, 580, 580)

    assert p.low == pytest.approx(p.high, rel=1e-11)
    assert p.high == pytest.approx(0.5 * float(with_it.sf(289)) + 0.5 * float(without.sf(291)), rel=1e-9)


@pytest.mark.parametrize("n_x", [30, *(pytest.param(n, marks=pytest.mark.slow) for n in (26, 12))])
def test_an_exact_p_lies_between_the_ends(n_x: int) -> None:
    """Of 44 values, which `exact` counts by halves of 22, and the grid encloses."""
    rng = np.random.default_rng(n_x)
    x, y = np.split(rng.normal(size=44), [n_x])
    exact, enclosed = division_p(x, y, exact=True), division_p(x, y)

    assert exact.low == exact.high
    assert enclosed.low <= exact.high <= enclosed.high
    assert enclosed.low < enclosed.high


def test_an_exact_p_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """50 values have 2 · 2^25 sums of 8 bytes in their halves: 0.54 GB, and some for blocks."""
    values = np.arange(54.0)
    with pytest.raises(ResultError, match="an exact p of 54 targets: the maximum is 52"):
        division_p(values[:27], values[27:], exact=True)
    monkeypatch.setattr(subset_sums, "available_memory", lambda: 500_000_000)
    with pytest.raises(ResultError, match=r"50 targets needs 0\.6 GB of memory, but 0\.5 GB are free"):
        division_p(values[:25], values[25:50], exact=True)
    assert division_p(values[20:40], values[:20], exact=True).high == 1 / math.comb(40, 20)


def test_memory_is_some_and_no_more_than_the_machine_has() -> None:
    """`sysconf` is the other source."""
    assert 10_000_000 < subset_sums.available_memory() <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_divisions_of_sentences_are_drawn_with_a_seed() -> None:
    """Exact up to 40; beyond, near the exact p, the same with the same seed, and never 0."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(0.3, 1, 60), rng.normal(0, 1, 50)
    drawn, enclosed = monte_carlo_p(x, y, seed=1), division_p(x, y)
    error = 5 * math.sqrt(enclosed.high / 100_000)

    assert enclosed.low - error <= drawn.high <= enclosed.high + error
    assert drawn == monte_carlo_p(x[::-1], y, seed=1) != monte_carlo_p(x, y, seed=2)
    assert monte_carlo_p(x + 9, y, seed=1, draws=999) == (1 / 1000, 1 / 1000, 1 / 1000)
    assert monte_carlo_p(x[:20], y[:20], seed=1) == division_p(x[:20], y[:20])
