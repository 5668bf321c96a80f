"""Pearson's correlation: its value by scipy, its interval by a jackknife that recomputes, and its coverage."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from senseprobe.statistics import Correlation, correlate

Floats = NDArray[np.float64]


def naive_interval(x: Floats, y: Floats) -> tuple[float, float]:
    """The jackknife of atanh r over pairs, each left out in turn."""
    n = len(x)
    without = [math.atanh(stats.pearsonr(np.delete(x, k), np.delete(y, k))[0]) for k in range(n)]
    mean = sum(without) / n
    spread = math.sqrt((n - 1) / n * sum((value - mean) ** 2 for value in without))
    z, reach = math.atanh(stats.pearsonr(x, y)[0]), stats.t.ppf(0.975, n - 1) * spread
    return math.tanh(z - reach), math.tanh(z + reach)


@given(st.integers(0, 10_000), st.integers(5, 30))
def test_value_and_interval_are_those_of_naive_code(seed: int, n: int) -> None:
    """Any two samples; scipy has the value."""
    x, noise = np.random.default_rng(seed).normal(size=(2, n))
    y = x / 2 + noise
    found = correlate(x, y)
    assert found.value == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-12)
    assert (found.low, found.high) == pytest.approx(naive_interval(x, y), abs=1e-9)


def test_by_hand() -> None:
    """Deviations of x are -1, 0, 1, of y -1, 1, 0: products sum to 1, squares to 2 each; three pairs, no interval."""
    found = correlate([1, 2, 3], [4, 6, 5])
    assert found.value == pytest.approx(0.5, abs=1e-15)
    assert found[1:] == (None, None, 3)


def test_pairs_that_are_not_finite_are_left_out() -> None:
    """Two of five have a side that is not there."""
    nan, inf = math.nan, math.inf
    assert correlate([1, nan, 2, 3, 4], [4, 1, 6, 5, inf]) == correlate([1, 2, 3], [4, 6, 5])


@pytest.mark.parametrize("y", [[], [1], [2, 2, 2, 2, 2, 2]])
def test_what_does_not_vary_has_no_correlation(y: list[float]) -> None:
    """One pair, none, or a side that is constant."""
    assert correlate(range(len(y)), y) == Correlation(None, None, None, len(y))


def test_a_perfect_correlation_has_no_interval() -> None:
    """Its z is infinite."""
    assert correlate(range(9), range(9))[1:] == (None, None, 9)


def test_one_that_is_perfect_without_a_pair_has_no_interval() -> None:
    """By hand: without the last pair r is 1; with it Σxy = 10, Σx² = 17.2, Σy² = 6. A warning would be an error."""
    found = correlate([0, 0, 1, 1, 5], [0, 0, 1, 1, 3])
    assert found[1:] == (None, None, 5)
    assert found.value == pytest.approx(10 / math.sqrt(17.2 * 6))


@pytest.mark.parametrize("shape", ["normal", "heavy tails", "skewed"])
@pytest.mark.parametrize(("rho", "n"), [(0.0, 25), (0.5, 50), (0.8, 200)])
def test_coverage(shape: str, rho: float, n: int) -> None:
    """Of 600 samples nominal 95 % intervals include the correlation of the population in 90 % or more.

    x and e are independent with variance 1 and y is rho x + √(1 - rho²) e, so that the correlation is rho. The
    simulation's own standard error is 1 point.
    """
    generator = np.random.default_rng(7)
    samples: Floats = generator.normal(size=(600, 2, n))
    if shape == "heavy tails":
        samples = generator.standard_t(6, size=(600, 2, n)) / math.sqrt(1.5)
    elif shape == "skewed":
        samples = generator.exponential(size=(600, 2, n)) - 1
    inside = 0
    for x, noise in samples:
        found = correlate(x, rho * x + math.sqrt(1 - rho**2) * noise)
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= rho <= found.high
    assert inside / 600 >= 0.90
