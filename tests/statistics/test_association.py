"""Effect sizes of association tests, their intervals, and Tarone's correction, against values from elsewhere."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from senseprobe.statistics import effect_interval, effect_size, pairwise_cosines, tarone_holm

Floats = NDArray[np.float64]

associations = st.lists(st.integers(-50, 50).map(lambda value: value / 50), min_size=1, max_size=9)


def test_cosines_are_those_of_a_loop() -> None:
    """By hand for (3, 4) with (1, 0) and (0, -2): .6 and -.8; by math.hypot for others; none with a zero vector."""
    assert pairwise_cosines(np.array([[3, 4]]), np.array([[1, 0], [0, -2]])) == pytest.approx(
        np.array([[0.6, -0.8]]), rel=1e-15
    )
    first, second = np.random.default_rng(0).normal(size=(2, 5, 7))
    expected = [
        [
            sum(a * b for a, b in zip(one, other, strict=True)) / math.hypot(*one) / math.hypot(*other)
            for other in second
        ]
        for one in first
    ]
    assert pairwise_cosines(first, second) == pytest.approx(np.array(expected), abs=1e-15)
    assert np.isnan(pairwise_cosines(np.array([[0, 0], [math.nan, 1]]), np.array([[1, 0]]))).all()


def test_effect_size_is_a_hand_calculation() -> None:
    """X is 3, 5 and Y 1, 3: means 4 and 2; deviations from 3 are 0, 2, -2, 0; variance 8/3, or 8/4 of a population."""
    assert effect_size([3, 5], [1, 3]) == pytest.approx(2 / math.sqrt(8 / 3), rel=1e-15)
    assert effect_size([3, 5], [1, 3], population=True) == pytest.approx(2 / math.sqrt(2), rel=1e-15)


def test_sets_may_be_unequal() -> None:
    """X is 6 and Y 1, 2, 3: means 6 and 2; deviations from 3 are 3, -2, -1, 0, of squares 14."""
    assert effect_size([6], [1, 2, 3]) == pytest.approx(4 / math.sqrt(14 / 3), rel=1e-15)


def test_the_largest_effect_sizes_are_those_of_the_docstring() -> None:
    """X is all 1, Y all 0: the deviation is 1/2 in a population, so d is 2; with n - 1 it is less."""
    for n in (2, 8, 25):
        assert effect_size([1] * n, [0] * n, population=True) == pytest.approx(2, rel=1e-14)
        assert effect_size([1] * n, [0] * n) == pytest.approx(2 * math.sqrt((2 * n - 1) / (2 * n)), rel=1e-14)


def test_equal_associations_have_no_effect_size() -> None:
    """Nothing to divide by: not even the last bits of 0.1 + 0.2."""
    assert effect_size([0.3, 0.1 + 0.2], [0.3]) is None
    assert effect_size([0, 0], [0]) is None


@pytest.mark.parametrize(("x", "y"), [([], [1]), ([1], []), ([1, math.nan], [1]), ([1], [math.inf])])
def test_what_has_no_effect_size_is_an_error(x: list[float], y: list[float]) -> None:
    """An empty set, a word without a vector."""
    with pytest.raises(ValueError, match="a set is empty or has a value that is not finite"):
        effect_size(x, y)


@given(associations, associations, st.integers(-40, 40), st.randoms(use_true_random=False))
def test_effect_sizes_are_invariant(x: list[float], y: list[float], power: int, random: object) -> None:
    """A power of two and the order of words change no bit; X for Y changes the sign."""
    d = effect_size(x, y)
    shuffled = [*x]
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert effect_size([math.ldexp(value, power) for value in shuffled], [math.ldexp(value, power) for value in y]) == d
    assert effect_size(y, x) == (None if d is None else -d)


def cosines(seed: int, n_x: int, n_y: int, n_a: int, n_b: int, shift: float = 1.0) -> Floats:
    """Cosines with effects of targets, of attributes on either group, and of their combinations."""
    rng = np.random.default_rng(seed)
    table = rng.normal(0, 0.05, (n_x + n_y, n_a + n_b)) + rng.normal(0, 0.1, (n_x + n_y, 1))
    table[:, :n_a] += rng.normal(0, 0.1, (n_x + n_y, 1))
    table[:n_x] += rng.normal(0, 0.1, n_a + n_b)
    table[:n_x, :n_a] += 0.1 * shift
    return np.asarray(table, dtype=np.float64)


def naive_z(table: Floats, n_x: int, n_a: int) -> float:
    """The rule of VECTORS.md, by plain sums: atanh of d of the population times √(n_x n_y)/N."""
    s = [sum(row[:n_a]) / n_a - sum(row[n_a:]) / (len(row) - n_a) for row in table.tolist()]
    x, y = s[:n_x], s[n_x:]
    mean = sum(s) / len(s)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in s) / len(s))
    d = (sum(x) / len(x) - sum(y) / len(y)) / deviation
    return math.atanh(d * math.sqrt(len(x) * len(y)) / len(s))


def naive_interval(table: Floats, n_x: int, n_a: int) -> tuple[float, float]:
    """Delete one word after the other, of all four sets, and put the pieces together."""
    (count, width), z, variance = table.shape, naive_z(table, n_x, n_a), 0.0
    for words, axis in ((range(n_x), 0), (range(n_x, count), 0), (range(n_a), 1), (range(n_a, width), 1)):
        versions = [
            naive_z(np.delete(table, word, axis), n_x - (axis == 0 and word < n_x), n_a - (axis == 1 and word < n_a))
            for word in words
        ]
        mean, n = sum(versions) / len(versions), len(versions)
        variance += (n - 1) / n * sum((version - mean) ** 2 for version in versions)
    smallest = min(n_x, count - n_x, n_a, width - n_a)
    reach = float(stats.t.ppf(0.975, smallest - 1)) * math.sqrt(variance)
    scale = count / math.sqrt(n_x * (count - n_x)) * math.sqrt((count - 1) / count)
    return scale * math.tanh(z - reach), scale * math.tanh(z + reach)


@pytest.mark.parametrize("sizes", [(8, 8, 8, 8), (13, 12, 25, 25), (5, 9, 7, 6), (32, 32, 10, 10)])
@pytest.mark.parametrize("shift", [0.0, 1.0, -3.0])
def test_intervals_are_those_of_a_loop(sizes: tuple[int, int, int, int], shift: float) -> None:
    """Each word is left out in turn, by np.delete and sums of Python."""
    table = cosines(7, *sizes, shift)
    low, high = naive_interval(table, sizes[0], sizes[2])
    d = effect_size(*np.split(table[:, : sizes[2]].mean(axis=1) - table[:, sizes[2] :].mean(axis=1), [sizes[0]]))

    assert effect_interval(table, sizes[0], sizes[2]) == pytest.approx((low, high), rel=1e-9)
    assert d is not None
    assert low < d < high


def test_intervals_of_the_population_variant_are_scaled() -> None:
    """The two effect sizes differ by √((N - 1)/N), N = 16, and so do their intervals; less confidence is narrower."""
    table = cosines(3, 8, 8, 9, 7)
    sample, population = effect_interval(table, 8, 9), effect_interval(table, 8, 9, population=True)
    narrow = effect_interval(table, 8, 9, 0.9)

    assert sample is not None
    assert population is not None
    assert narrow is not None
    assert sample == pytest.approx(tuple(math.sqrt(15 / 16) * end for end in population), rel=1e-12)
    assert sample[0] < narrow[0] < narrow[1] < sample[1]


def test_intervals_turn_with_the_sets() -> None:
    """X for Y negates d, and A for B too: the ends change places and signs. A scale changes nothing."""
    table = cosines(5, 8, 7, 6, 9)
    ends = effect_interval(table, 8, 6)
    assert ends is not None
    mirrored = (-ends[1], -ends[0])

    assert effect_interval(np.roll(table, 7, axis=0), 7, 6) == pytest.approx(mirrored, rel=1e-9)
    assert effect_interval(np.roll(table, 9, axis=1), 8, 9) == pytest.approx(mirrored, rel=1e-9)
    assert effect_interval(4 * table, 8, 6) == ends


@pytest.mark.parametrize("sizes", [(4, 8, 8, 8), (8, 4, 8, 8), (8, 8, 4, 8), (8, 8, 8, 4)])
def test_four_words_are_too_few_for_an_interval(sizes: tuple[int, int, int, int]) -> None:
    """VECTORS.md: under five words in a set, not estimable."""
    assert effect_interval(cosines(1, *sizes), sizes[0], sizes[2]) is None
    assert (
        effect_interval(cosines(1, *(max(5, size) for size in sizes)), max(5, sizes[0]), max(5, sizes[2])) is not None
    )


def test_complete_separation_without_scatter_has_no_interval() -> None:
    """Where r is 1, atanh is infinite; and all cosines equal have no r."""
    apart = np.zeros((12, 10))
    apart[:6, :5] = 0.5

    assert effect_interval(apart, 6, 5) is None
    assert effect_interval(apart + np.random.default_rng(0).normal(0, 1e-15, apart.shape), 6, 5) is None
    assert effect_interval(np.full((12, 10), 0.25), 6, 5) is None
    with pytest.raises(ValueError, match="a cosine is not finite"):
        effect_interval(np.full((12, 10), np.nan), 6, 5)


def test_tests_that_cannot_reach_alpha_leave() -> None:
    """By hand: least are 1/70, 1/924, 1/12870 and 1/12870 at alpha .01.

    At k = 1, three tests can reach .01; at 2, three can reach .005; at 3, three can reach .0033: k is 3, and the test
    with 1/70 = .0143 leaves. Holm over three: .001 · 3, max(.003, .004 · 2), max(.008, .2).
    """
    corrected = tarone_holm([0.0143, 0.2, 0.004, 0.001], [1 / 70, 1 / 12870, 1 / 12870, 1 / 924], 0.01)

    assert corrected == pytest.approx([math.nan, 0.2, 0.008, 0.003], nan_ok=True)


def test_the_number_of_tests_that_count_is_the_smallest() -> None:
    """Tarone's idea by hand: least .001, .02 and .03 at .05. At k = 1 all three can; at 2 (.025) two can, so k is 2."""
    assert tarone_holm([0.001, 0.02, 0.03], [0.001, 0.02, 0.03], 0.05) == pytest.approx(
        [0.002, 0.02, math.nan], nan_ok=True
    )


def test_a_test_that_was_not_made_is_not_of_the_family() -> None:
    """A p of NaN, as of a test without an effect size; and where no test can reach alpha all leave."""
    assert tarone_holm([math.nan, 0.01], [1e-9, 1e-9], 0.05) == pytest.approx([math.nan, 0.01], nan_ok=True)
    assert np.isnan(tarone_holm([0.1, 0.2], [0.1, 0.1], 0.05)).all()
    assert tarone_holm([], [], 0.05).shape == (0,)
