"""The growth of a distance from neutral: by hand where both models are on one side, else by simulation.

Student's quantiles are from a printed table (Fisher & Yates 1938, table III): 2.776 at 4 degrees of freedom, 2.262
at 9.
"""

import numpy as np
import pandas as pd
import pytest
from tests.profiles import examples

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.kernel import KernelRows, Tally
from senseprobe.evaluate.reporting.gate import Growth, distance_growth
from senseprobe.records import Design, Factor
from senseprobe.statistics import FactorLevels, FloatArray, Projection, difference_interval

HALF = lookup("preference-half")


def design_of(*factors: str) -> Design:
    """A design whose factors are columns of the same name."""
    listed = tuple(Factor(name=name, columns=(name,)) for name in factors)
    return Design(kind="contrast", sense_type="", bias_type="none", slots=(), roles={}, factors=listed)


def rows_of(kernel: FloatArray, levels: int) -> KernelRows:
    """Rows of equal weight in `levels` words, in the order of the words."""
    table = pd.DataFrame({"word": np.repeat(np.arange(levels), len(kernel) // levels).astype(str)})
    return KernelRows.mean(table, kernel, Tally(rows=len(kernel), scored=len(kernel), unscored=0))


def growth(new: FloatArray, old: FloatArray, levels: int, confidence: float = 0.95) -> Growth:
    """The growth of `preference-half`."""
    found = distance_growth(HALF, rows_of(new, levels), rows_of(old, levels), design_of("word"), 0.0, confidence)
    assert found is not None
    return found


def test_on_one_side_it_is_the_paired_difference() -> None:
    """Five words, each of two rows; the models differ by 10, 20, 30, 20 and 20 points of 100, on average by 20.

    S² of the differences is (100 + 0 + 100 + 0 + 0) / 4 = 50, so that half of the interval is
    2.776 · √(50 / 5) = 8.78 points. Below the neutral value distances grow as figures fall.
    """
    old = np.repeat([0.60, 0.60, 0.60, 0.60, 0.62], 2)
    new = old + np.repeat([0.10, 0.20, 0.30, 0.20, 0.20], 2)
    found = growth(new, old, 5)
    assert (found.low, found.value, found.high) == pytest.approx((20 - 8.78, 20, 20 + 8.78), abs=0.01)
    assert growth(1 - new, 1 - old, 5).low == pytest.approx(20 - 8.78, abs=0.01)
    assert growth(old, new, 5).value == pytest.approx(-20)


def test_from_one_side_to_the_other_it_is_what_the_distances_say() -> None:
    """+30 before and -32 now: the figures differ by 62 points, the distances by 2."""
    old = np.repeat([0.80, 0.82, 0.78, 0.80, 0.80], 2)
    new = np.repeat([0.18, 0.20, 0.16, 0.18, 0.18], 2)[::-1]
    found = growth(new, old, 5)
    assert found.value == pytest.approx(2)
    assert found.low < 2 < found.high < 10


def test_the_same_answers_are_no_growth() -> None:
    """Exactly none, though no interval can be made of no difference."""
    kernel = np.repeat([0.0, 1.0, 1.0, 0.5, 1.0], 2)
    assert growth(kernel, kernel, 5) == Growth(0.0, 0.0, 0.0)


def test_without_a_mirror_image_there_is_none() -> None:
    """Net neutral goes from 0 to 100: nobody says what the opposite of a model would read."""
    rows = rows_of(np.repeat([0.1, 0.2, 0.3, 0.4, 0.5], 2), 5)
    with pytest.raises(ResultError, match="no mirror image"):
        distance_growth(lookup("nn"), rows, rows, design_of("word"), 100.0, 0.95)


@pytest.mark.parametrize(("old", "new"), [(10.0, 15.0), (-10.0, 15.0), (0.0, 5.0), (2.0, -7.0), (0.0, 0.0)], ids=str)
def test_a_model_that_grew_by_no_more_than_the_margin_seldom_fails(old: float, new: float) -> None:
    """Of many samples of 20 words at most 5 % fail a margin of 5 points that the truth does not exceed.

    Both models' words scatter by 15 points, correlated at one half. 5 % of 500 are 25; with a binomial standard
    deviation of 4.87 it is 40 or fewer in 99.9 % of simulations; of 100, it is 12. From -10 to +15 the figures differ
    by 25.
    """
    random, failed, samples = np.random.default_rng(20261123), 0, examples(500, few=100)
    for _ in range(samples):
        shared, *own = random.normal(0, 0.15 / np.sqrt(2), (3, 20))
        kernels = [
            np.clip(0.5 + mean / 100 + shared + scatter, 0, 1) for mean, scatter in zip((new, old), own, strict=True)
        ]
        failed += growth(kernels[0], kernels[1], 20).low > 5
    assert failed <= {500: 40, 100: 12}[samples]


def test_a_model_that_grew_by_more_fails() -> None:
    """From +5 to -40: 35 points farther, where half an interval is some 8."""
    random = np.random.default_rng(1)
    old, new = (0.5 + mean / 100 + random.normal(0, 0.1, 20) for mean in (5, -40))
    assert growth(np.clip(new, 0, 1), old, 20).low > 5


# --- What more words would give (Projection.with_more_levels) -------------------------------------------------------


def projection(words: int) -> Projection:
    """The rule over rows of equal weight, two of each word."""
    codes = np.repeat(np.arange(words), 2)[np.newaxis]
    factor = FactorLevels(name="word", codes=codes, strata=("",) * words)
    return Projection(np.full(2 * words, 1 / (2 * words)), np.zeros(2 * words, dtype=np.intp), [factor])


def test_more_levels_by_hand() -> None:
    """Means of 20, 40, 50, 60 and 80 of 100: S² = 500, so V = 100 with 4 degrees of freedom: ±2.776 · 10 points.

    With five more words that vary alike V = 50 and there are 9 degrees: ±2.262 · √50 = ±15.99.
    """
    kernel, rule = np.repeat([0.2, 0.4, 0.5, 0.6, 0.8], 2), projection(5)
    halves = []
    for each in (rule, rule.with_more_levels("word", "", 5)):
        ends = difference_interval(0.0, float(each.variance(kernel)), each.df)
        assert ends is not None
        halves.append(ends[1])
    assert halves == [pytest.approx(27.76, abs=0.01), pytest.approx(15.99, abs=0.01)]
    assert rule.strata == {("word", ""): 5}


def test_more_levels_are_what_more_words_give() -> None:
    """Over 400 samples of words the variance predicted from 6 words is on average that of 12, within 4 errors."""
    random = np.random.default_rng(16)
    few, many = projection(6).with_more_levels("word", "", 6), projection(12)
    draws = random.normal(0.5, 0.1, (400, 18))
    predicted = few.variance(np.repeat(draws[:, :6], 2, axis=1))
    actual = many.variance(np.repeat(draws[:, 6:], 2, axis=1))
    error = np.hypot(predicted.std(), actual.std()) / np.sqrt(400)
    assert abs(predicted.mean() - actual.mean()) < 4 * error
