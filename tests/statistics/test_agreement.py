"""Agreement beyond chance, against the papers' worked examples, the `krippendorff` package, and by hand."""

import math
from itertools import combinations

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.profiles import examples

from senseprobe.annotation.agreement import cohen, fleiss
from senseprobe.statistics import FEWEST_ITEMS, AgreementEstimate, agreement_between, agreement_within

Counts = NDArray[np.intp]

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability": section A (binary, two observers, alpha 0.095),
# B (nominal, two observers, 0.692), C (four observers, twelve units, data missing, 0.743).
BINARY = ["0100000010", "1110010000"]
TWO = ["aabbdcccedda", "babbbccceddd"]
FOUR = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
# The three coders of Wikipedia's article on alpha, and of the package's manual: 0.691.
THREE = [".....34121133.3", "1.213343.......", "..21344.21133.4"]

# Fleiss (1971), table 1: 30 patients, each diagnosed by 6 psychiatrists, in five categories. Kappa is 0.430.
FLEISS = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
""".split()  # noqa: SIM905 - a table is read as one


def counted(observers: list[str]) -> Counts:
    """How often each unit was given each label; a dot is no answer."""
    labels = sorted({label for row in observers for label in row} - {"."})
    return np.array([[unit.count(label) for label in labels] for unit in zip(*observers, strict=True)], dtype=np.intp)


def alpha(counts: Counts, **chance: int) -> AgreementEstimate:
    """Agreement where each unit is an item."""
    return agreement_within(counts, np.arange(len(counts)), **chance)


@pytest.mark.parametrize(("observers", "expected"), [(BINARY, 0.095), (TWO, 0.692), (FOUR, 0.743), (THREE, 0.691)])
def test_alpha_is_that_of_krippendorffs_examples(observers: list[str], expected: float) -> None:
    assert alpha(counted(observers)).corrected.value == pytest.approx(expected, abs=5e-4)


def test_units_with_one_answer_are_left_out_and_counted() -> None:
    """Of the four observers' twelve units, the last has one answer only; 40 values can be paired (his section C)."""
    estimate = alpha(counted(FOUR))
    assert (estimate.items, estimate.units, estimate.answers, estimate.alone) == (11, 11, 40, 1)


def test_the_table_of_fleiss_is_as_he_printed_it() -> None:
    """Its margins are in the paper: 0.144, 0.144, 0.167, 0.306, 0.239; mean agreement 0.556."""
    counts = np.array([[int(digit) for digit in row] for row in FLEISS])
    assert (counts.sum(axis=1) == 6).all()
    assert counts.shape == (30, 5)
    assert np.round(counts.sum(axis=0) / 180, 3).tolist() == [0.144, 0.144, 0.167, 0.306, 0.239]
    assert alpha(counts).percent.value == pytest.approx(0.556, abs=5e-4)


def test_fleiss_kappa_is_that_of_his_paper() -> None:
    estimate = fleiss([[str(label) for label, often in enumerate(row) for _ in range(int(often))] for row in FLEISS])
    assert estimate.value == pytest.approx(0.430, abs=5e-4)
    assert (estimate.units, estimate.answers) == (30, 6)


def test_fleiss_kappa_is_of_items_answered_as_often_as_most() -> None:
    """(a, a), (a, b), (b, b): agreement 2/3, by chance 1/2, kappa 1/3; one item has three answers, one has one."""
    answers = [["a", "a"], ["a", "b"], ["b", "b"], ["a", "a", "b"], ["a"]]
    estimate = fleiss(answers)
    assert estimate.value == pytest.approx(1 / 3)
    assert (estimate.units, estimate.answers) == (3, 2)
    assert fleiss([["a"], []]).why == "items have only one answer each"


def test_cohens_kappa_by_hand() -> None:
    """20 both yes, 5 yes-no, 10 no-yes, 15 both no: agreement 0.7, by chance 0.5 · 0.6 + 0.5 · 0.4 = 0.5, so 0.4."""
    pairs = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    assert cohen(pairs).value == pytest.approx(0.4)
    assert cohen([("yes", "yes")] * 3).why == "all answers are the same"
    assert cohen([]).why == "they did not answer the same items"


TABLES = st.integers(2, 5).flatmap(
    lambda people: st.lists(
        st.lists(st.sampled_from([None, None, 0, 1, 2]), min_size=people, max_size=people), min_size=2, max_size=25
    )
)


def table_counts(rows: list[list[int | None]]) -> Counts:
    return np.array([[row.count(label) for label in range(3)] for row in rows], dtype=np.intp)


@settings(max_examples=examples(300))
@given(rows=TABLES)
def test_alpha_is_that_of_the_krippendorff_package(rows: list[list[int | None]]) -> None:
    """On tables with missing answers. The package refuses tables with one label, or with no pair; ours says why."""
    counts = table_counts(rows)
    estimate = alpha(counts)
    paired = counts[counts.sum(axis=1) >= 2]
    if (paired.sum(axis=0) > 0).sum() < 2:
        assert estimate.corrected.value is None
        assert estimate.corrected.why == (
            "all answers are the same" if len(paired) else "items have only one answer each"
        )
        return
    ratings = np.array([[math.nan if label is None else label for label in row] for row in rows]).T
    expected = krippendorff.alpha(reliability_data=ratings, level_of_measurement="nominal")
    assert estimate.corrected.value == pytest.approx(expected, abs=1e-9)


@settings(max_examples=examples(100))
@given(rows=TABLES)
def test_the_same_answers_are_the_share_of_equal_pairs(rows: list[list[int | None]]) -> None:
    """Counted one by one."""
    pairs = [
        (left, other) for row in rows for left, other in combinations([label for label in row if label is not None], 2)
    ]
    estimate = alpha(table_counts(rows)).percent
    expected = sum(left == other for left, other in pairs) / len(pairs) if pairs else None
    assert estimate.value == (None if expected is None else pytest.approx(expected))


def one_hot(labels: list[int | None]) -> Counts:
    """The counts of one person's labels."""
    return np.array([[int(label == code) for code in range(3)] for label in labels], dtype=np.intp)


@settings(max_examples=examples(150))
@given(rows=st.lists(st.tuples(*[st.sampled_from([None, 0, 1, 2])] * 2), min_size=1, max_size=20))
def test_agreement_across_two_people_is_cohens_kappa(rows: list[tuple[int | None, int | None]]) -> None:
    """NLTK's, on what both answered."""
    both = [(str(left), str(other)) for left, other in rows if left is not None and other is not None]
    estimate = agreement_between(
        one_hot([left for left, _ in rows]), one_hot([two for _, two in rows]), np.arange(len(rows))
    )
    assert estimate.units == len(both)
    expected = cohen(both).value
    assert estimate.corrected.value == (None if expected is None else pytest.approx(expected, abs=1e-9))


@settings(max_examples=examples(100))
@given(rows=TABLES, cut=st.integers(1, 3))
def test_agreement_across_sets_is_that_of_all_pairs_across(rows: list[list[int | None]], cut: int) -> None:
    """Wong, Paritosh and Aroyo (2021), written out: each unit's pairs across; all pairs of units by chance."""
    units = [([x for x in row[:cut] if x is not None], [x for x in row[cut:] if x is not None]) for row in rows]
    units = [(own, others) for own, others in units if own and others]
    assume(units)
    observed = np.mean([np.mean([x != y for x in own for y in others]) for own, others in units])
    chance = np.mean([np.mean([x != y for x in own for y in others]) for own, _ in units for _, others in units])
    assume(chance > 0)
    estimate = agreement_between(
        table_counts([row[:cut] for row in rows]), table_counts([row[cut:] for row in rows]), np.arange(len(rows))
    )
    assert estimate.percent.value == pytest.approx(1 - observed)
    assert estimate.corrected.value == pytest.approx(1 - observed / chance)


def people(rng: np.random.Generator, items: int, right: float = 0.8, raters: int = 3, labels: int = 3) -> Counts:
    """Counts where each rater gives the true label (0.5, 0.3, 0.2) with probability `right`, else any label."""
    truth = rng.choice(labels, size=items, p=[0.5, 0.3, 0.2])
    answers = np.where(rng.random((raters, items)) < right, truth, rng.integers(0, labels, (raters, items)))
    return np.stack([(answers == label).sum(axis=0) for label in range(labels)], axis=1).astype(np.intp)


def test_the_interval_is_that_of_items_resampled_one_by_one() -> None:
    """The quantiles over items drawn with replacement, alpha each time by the package: to 0.01 from 2,000 draws."""
    counts = people(np.random.default_rng(5), 80)
    rng = np.random.default_rng(6)
    resampled = [
        krippendorff.alpha(value_counts=counts[rng.integers(0, 80, 80)], level_of_measurement="nominal")
        for _ in range(1_000)
    ]
    interval = alpha(counts, draws=20_000).corrected.interval
    assert interval == pytest.approx(tuple(np.quantile(resampled, [0.025, 0.975])), abs=0.02)


def test_sentences_of_an_item_are_resampled_together() -> None:
    """Two sentences that are answered alike tell no more than one: the interval is that of half as many units."""
    counts = people(np.random.default_rng(7), 60)
    once = alpha(counts)
    twice = agreement_within(np.repeat(counts, 2, axis=0), np.repeat(np.arange(60), 2))
    apart = alpha(np.repeat(counts, 2, axis=0))

    assert (twice.items, twice.units) == (60, 120)
    for estimate, same in ((twice, True), (apart, False)):
        assert once.corrected.interval is not None
        assert estimate.corrected.interval is not None
        width = np.diff(estimate.corrected.interval) / np.diff(once.corrected.interval)
        assert width == pytest.approx(1 if same else math.sqrt(0.5), abs=0.1)


def test_the_order_of_items_does_not_matter_and_the_seed_does() -> None:
    counts = people(np.random.default_rng(8), 70)
    mixed = counts[np.random.default_rng(9).permutation(70)]
    assert alpha(counts) == alpha(mixed) == alpha(counts, seed=0)
    assert alpha(counts).corrected.interval != alpha(counts, seed=1).corrected.interval


def test_one_label_has_no_alpha() -> None:
    """All agree, and so they would by chance: nothing is measured."""
    estimate = alpha(np.array([[3, 0]] * 30))
    assert (estimate.corrected.value, estimate.corrected.why) == (None, "all answers are the same")
    assert estimate.percent.value == 1


def test_perfect_agreement_has_a_lower_end_below_one() -> None:
    """40 items on which all agree happen once in forty times where 0.025^(1/40) = 0.9119 of all items are so."""
    estimate = alpha(np.array([[3, 0]] * 20 + [[0, 3]] * 20))
    share = 0.025 ** (1 / 40)
    assert estimate.percent.interval == pytest.approx((share, 1))
    chance = 2 * 60 * 60 / (120 * 119)  # pairs of different labels among all 120 answers
    assert estimate.corrected.interval == pytest.approx((1 - (1 - share) / chance, 1))


def test_few_items_have_no_interval() -> None:
    few = people(np.random.default_rng(10), FEWEST_ITEMS - 1)
    estimate = alpha(few)
    assert estimate.corrected.value is not None
    assert (estimate.corrected.interval, estimate.corrected.why) == (
        None,
        f"no interval from fewer than {FEWEST_ITEMS} items",
    )


def test_a_label_that_is_too_rare_gives_no_interval() -> None:
    """One item in forty has another label: e^-1 = 37 % of the draws lack it."""
    estimate = alpha(np.array([[3, 0]] * 39 + [[2, 1]]))
    assert estimate.corrected.value is not None
    assert (estimate.corrected.interval, estimate.corrected.why) == (
        None,
        "no interval: a second label is too rare to resample",
    )
    assert estimate.percent.interval is not None


def alpha_of_people(right: float) -> float:
    """What infinitely many items would give: two answers are alike with P, and answers to any two items with E."""
    other = (1 - right) / 3
    alike = (right + other) ** 2 + 2 * other**2
    by_chance = sum((right * share + other) ** 2 for share in (0.5, 0.3, 0.2))
    return (alike - by_chance) / (1 - by_chance)


def test_alpha_of_very_many_items_is_that_of_their_people() -> None:
    """To 0.02, which is five standard errors of 20,000 items."""
    for right in (0.4, 0.7, 0.9):
        measured = alpha(people(np.random.default_rng(12), 20_000, right), draws=1).corrected.value
        assert measured == pytest.approx(alpha_of_people(right), abs=0.02)


def covered(items: int, right: float, times: int, seed: int, draws: int) -> float:
    """How often the interval holds what very many items would give of the same people."""
    rng = np.random.default_rng(seed)
    truth, covered = alpha_of_people(right), 0
    for number in range(times):
        interval = alpha(people(rng, items, right), draws=draws, seed=number).corrected.interval
        covered += interval is not None and interval[0] <= truth <= interval[1]
    return covered / times


@pytest.mark.parametrize(("items", "right"), [(FEWEST_ITEMS, 0.7), (200, 0.9)])
def test_intervals_hold_the_truth_about_as_often_as_they_say(items: int, right: float) -> None:
    """500 times: 95 % nominal; percentile intervals of few items are a little narrow."""
    assert 0.90 <= covered(items, right, times=500, seed=items, draws=400) <= 0.98


@pytest.mark.soak
@pytest.mark.parametrize("right", [0.4, 0.7, 0.9])
@pytest.mark.parametrize("items", [FEWEST_ITEMS, 50, 200, 1_000])
def test_coverage_over_many_draws(items: int, right: float) -> None:
    """5,000 times each, so to ±0.6 points."""
    assert 0.90 <= covered(items, right, times=5_000, seed=items, draws=1_000) <= 0.97
