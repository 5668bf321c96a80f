"""Association tests from cosines of words: effects, p, corrections and wordings, by hand and by scipy."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import stats

from senseprobe.evaluate.estimands.association import WEAT, WEAT_ESTIMANDS, Weat
from senseprobe.evaluate.estimands.figure_scope import Scope
from senseprobe.evaluate.units import ScoredRows
from senseprobe.records import Design, Figure
from senseprobe.statistics import subset_sums

Floats = NDArray[np.float64]
Cosines = Mapping[str, Sequence[float | None] | Floats]

BY_ID: Mapping[str, Weat] = {estimand.id: estimand for estimand in WEAT_ESTIMANDS}
DESIGN = Design(
    kind="association",
    sense_type="",
    bias_type="",
    slots=(),
    roles={"sentence": {}},
    factors=(),
    columns=(),
    estimands=("weat",),
)


def table_of(cosines: Cosines, a: int = 1, test: str = "t", check: Cosines | None = None) -> pd.DataFrame:
    """The cosines of targets (``X1``, ``Y2``) with attributes, of which the first `a` are of A; None: no vector."""
    rows = [
        {"config": "c", "test": test, "identity": "race", "target": target, "target_role": target[0]}
        | {"attribute": f"{'A' if column < a else 'B'}{column}", "attribute_role": "A" if column < a else "B"}
        | {"cosine": value, "check": check[target][column] if check else None}
        for target, values in cosines.items()
        for column, value in enumerate(values)
    ]
    return pd.DataFrame(rows).astype({"cosine": float, "check": float})


def of_associations(x: Sequence[float], y: Sequence[float], a: int = 1, b: int = 1) -> dict[str, list[float | None]]:
    """Cosines of targets that have these associations: with each word of A, and 0 with each of B."""
    numbered: dict[str, float] = {
        f"{side}{number}": value for side, all_ in (("X", x), ("Y", y)) for number, value in enumerate(all_)
    }
    return {target: [*[value] * a, *[0.0] * b] for target, value in numbered.items()}


def rows_of(words: pd.DataFrame, lacking: Sequence[str] = ()) -> pd.DataFrame:
    """The rows of words with cosines, of which those `lacking` have no vector."""
    sides = [
        words[["test", "identity", f"{side}_role", side]].set_axis(["test", "identity", "role", "word"], axis=1)
        for side in ("target", "attribute")
    ]
    rows = pd.concat(sides).drop_duplicates()
    return rows.assign(sentence=None, has_vector=~rows["word"].isin(lacking))


def scope_of(words: pd.DataFrame) -> Scope:
    """A config with these words."""
    scored = ScoredRows(words=pa.Table.from_pandas(words.assign(config="c"), preserve_index=False))
    return Scope(design=DESIGN, config="c", scored=scored)


def computed(*tables: pd.DataFrame, estimand: str = "weat", lacking: Sequence[str] = ()) -> list[Figure]:
    """The figures of tests."""
    words = pd.concat(tables, ignore_index=True)
    return [*BY_ID[estimand].compute(rows_of(words, lacking), scope_of(words))]


def only(table: pd.DataFrame, estimand: str = "weat", lacking: Sequence[str] = ()) -> Figure:
    """The figure of the only test."""
    (figure,) = computed(table, estimand=estimand, lacking=lacking)
    return figure


# --- by hand --------------------------------------------------------------------------------------------------------

# X has .3 and .1, Y -.1 and -.3: means of .2 and -.2, squares of .09 + .01 + .01 + .09 = .2. Of the six divisions into
# two and two one has a difference as high, and one more is as far from 0.
FOUR = table_of(of_associations([0.3, 0.1], [-0.1, -0.3]))


@pytest.mark.parametrize(
    ("estimand", "value", "p"),
    [
        ("weat", 0.4 / math.sqrt(0.2 / 3), 1 / 6),
        ("weat-pop", 0.4 / math.sqrt(0.2 / 4), 1 / 6),
        ("weat-two-sided", 0.4 / math.sqrt(0.2 / 3), 2 / 6),
        ("weat-exact", 0.4 / math.sqrt(0.2 / 3), 1 / 6),
    ],
)
def test_effect_and_p_by_hand(estimand: str, value: float, p: float) -> None:
    """Of four targets, with the sample's or the population's deviation, to one side or both."""
    figure = only(FOUR, estimand)

    assert figure.value == pytest.approx(value, rel=1e-12)
    assert (figure.p, figure.p_low, figure.p_least) == (p, None, p)
    assert (figure.group, figure.identity, figure.neutral) == ("t", "race", 0.0)
    assert (figure.rows, figure.scored, figure.unscored) == (6, 6, 0)
    assert figure.levels == {"X": 2, "Y": 2, "A": 1, "B": 1}
    assert figure.note == "interval not estimable with fewer than 5 words in a set"


def test_an_association_is_a_difference_of_means() -> None:
    """Sets of three and one attributes by hand: (.9 + .3 + .6)/3 - .2 is .4, and -.2 - .2 of the other target."""
    figure = only(table_of({"X1": [0.9, 0.3, 0.6, 0.2], "Y1": [-0.2, -0.2, -0.2, 0.2]}, a=3))
    assert figure.value == pytest.approx(0.8 / math.sqrt((0.4**2 + 0.4**2) / 1), rel=1e-12)


@pytest.mark.parametrize(("x", "y"), [(5, 7), (8, 8), (3, 9)])
@pytest.mark.parametrize("two_sided", [False, True])
def test_p_is_that_of_scipy(x: int, y: int, two_sided: bool) -> None:
    """Every division is counted by scipy's permutation test; its two-sided p is here enumerated instead."""
    rng = np.random.default_rng(x)
    cosines = rng.normal(0, 0.2, (x + y, 6))
    cosines[:x, :3] += 0.1
    targets = [f"X{i}" for i in range(x)] + [f"Y{i}" for i in range(y)]
    figure = only(table_of(dict(zip(targets, cosines, strict=True)), a=3), "weat-two-sided" if two_sided else "weat")
    s = [sum(row[:3]) / 3 - sum(row[3:]) / 3 for row in cosines.tolist()]
    if two_sided:
        divisions = [{*chosen} for chosen in combinations(range(x + y), x)]
        differences = [
            sum(s[i] for i in own) / x - sum(s[i] for i in range(x + y) if i not in own) / y for own in divisions
        ]
        observed = abs(sum(s[:x]) / x - sum(s[x:]) / y)
        p = sum(abs(difference) >= observed - 1e-12 for difference in differences) / len(differences)
    else:
        p = stats.permutation_test(
            (s[:x], s[x:]), lambda a, b: float(np.mean(a) - np.mean(b)), alternative="greater", n_resamples=10**9
        ).pvalue

    assert figure.p == pytest.approx(p, rel=1e-12)
    assert figure.value == pytest.approx((np.mean(s[:x]) - np.mean(s[x:])) / np.std(s, ddof=1), rel=1e-12)


def test_p_of_many_targets_is_enclosed_unless_it_is_to_be_exact() -> None:
    """Of 42 targets `weat` has two ends, with the exact p between them: that of a t distribution is near."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(0.6, 1, 21), rng.normal(0, 1, 21)
    table = table_of(of_associations(list(x), list(y)))
    enclosed, exact = only(table), only(table, "weat-exact")

    assert enclosed.p_low is not None
    assert enclosed.p is not None
    assert exact.p is not None
    assert enclosed.p_low <= exact.p <= enclosed.p <= 1.053 * enclosed.p_low
    assert exact.p_low is None
    assert exact.p == pytest.approx(stats.ttest_ind(x, y, alternative="greater").pvalue, rel=0.1)


def test_an_exact_p_that_cannot_be_had_is_enclosed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many targets, or too little memory: the test says so, and the other tests have theirs."""
    rng = np.random.default_rng(3)
    most, many = (
        table_of(of_associations(list(rng.normal(0, 1, n)), list(rng.normal(0, 1, n))), test=str(n)) for n in (21, 27)
    )
    exact, enclosed = computed(most, many, estimand="weat-exact")
    assert (exact.p_low, exact.p_holm is None) == (None, False)
    assert enclosed.note.endswith("; p is given as bounds only: an exact p of 54 targets: the maximum is 52")
    assert (enclosed.p_low, enclosed.p) == (only(many).p_low, only(many).p)

    monkeypatch.setattr(subset_sums, "available_memory", lambda: 1000)
    assert "p is given as bounds only: an exact p of 42 targets needs 0.1 GB of memory" in only(most, "weat-exact").note


# --- words without a vector -------------------------------------------------------------------------------------------


def test_sets_may_be_unequal_where_words_are_missing() -> None:
    """X has .6 left, Y .1, .2 and .3: deviations of .3, -.2, -.1 and 0 from .3; of four ways one is as high."""
    cosines = of_associations([0.6, 0, 0], [0.1, 0.2, 0.3])
    cosines |= {"X1": [None, None], "X2": [None, None]}
    figure = only(table_of(cosines))

    assert figure.value == pytest.approx(0.4 / math.sqrt(0.14 / 3), rel=1e-12)
    assert figure.p == pytest.approx(1 / 4)
    assert figure.missing == {"X": ("X1", "X2")}
    assert figure.levels == {"X": 1, "Y": 3, "A": 1, "B": 1}
    assert (figure.rows, figure.scored, figure.unscored) == (8, 6, 2)


def test_an_attribute_may_be_missing() -> None:
    """The mean is then over the others: .5 and .1, and not .5 and half of .2."""
    cosines: Cosines = {"X1": [0.5, None, 0.0], "X2": [0.1, None, 0.0], "Y1": [0.1, None, 0.0], "Y2": [0.0, None, 0.0]}
    figure = only(table_of(cosines, a=2))

    assert figure.value == pytest.approx(0.25 / math.sqrt((0.325**2 + 2 * 0.075**2 + 0.175**2) / 3), rel=1e-12)
    assert figure.missing == {"A": ("A1",)}


@pytest.mark.parametrize(("lost", "too_many"), [(0, False), (1, False), (2, True)])
def test_more_than_a_fifth_of_a_set_is_too_much(lost: int, too_many: bool) -> None:
    """Of five words one is a fifth."""
    cosines = of_associations([0.1, 0.2, 0.3, 0.4, 0.5], [0.0, 0.1, 0.2, 0.3, 0.4])
    cosines |= {f"Y{number}": [None, None] for number in range(lost)}
    assert WEAT.lost_too_many(only(table_of(cosines))) is too_many


@pytest.mark.parametrize(
    ("cosines", "missing", "note"),
    [
        ({"X1": [None, None], "Y1": [0.1, 0.2]}, {"X": ("X1",)}, "no word of X has a vector"),
        ({"X1": [0.1, None], "Y1": [0.1, None]}, {"B": ("B1",)}, "no word of B has a vector"),
        ({"X1": [None, None], "Y1": [None, None]}, {"X": ("X1",), "Y": ("Y1",)}, "no word of X and Y has a vector"),
        ({"X1": [None, None], "Y1": [None, None]}, {"A": ("A0",), "B": ("B1",)}, "no word of A and B has a vector"),
        ({"X1": [0.1, 0.2], "Y1": [0.3, 0.4]}, {}, "all targets have the same association"),
    ],
)
def test_a_test_without_an_effect_says_why(cosines: Cosines, missing: Mapping[str, tuple[str]], note: str) -> None:
    """There is neither an effect nor p, and no wording but that; what has a vector is not called missing."""
    figure = only(table_of(cosines), lacking=[word for words in missing.values() for word in words])
    assert (figure.value, figure.p, figure.p_holm, figure.note) == (None, None, None, note)
    assert figure.missing == missing
    assert WEAT.judge(figure).code == "unreadable"


def test_a_test_without_attributes_is_not_lost() -> None:
    """Where only its targets have a sentence there are no cosines, and yet there is a line that says so."""
    words = table_of(of_associations([0.3, 0.1], [-0.1, -0.3]))
    rows = rows_of(words)
    bare = rows[rows["role"].isin(["X", "Y"])].assign(test="t2")
    figures = [*WEAT.compute(pd.concat([rows, bare]), scope_of(words))]
    assert [(figure.group, figure.value is None) for figure in figures] == [("t", False), ("t2", True)]
    assert (figures[1].note, figures[1].identity) == ("no word of A and B has a vector", "race")


# --- corrections and wordings -----------------------------------------------------------------------------------------


def test_tests_of_a_config_are_corrected_together() -> None:
    """By hand: 1 and 2 of 252 divisions of five and five are as high; 1 of 6 cannot be below .05, and leaves.

    Two are left, so Holm gives 2 · 1/252, and the larger of that and 1 · 2/252.
    """
    apart = table_of(of_associations([0.5, 0.4, 0.3, 0.2, 0.1], [0, -0.1, -0.2, -0.3, -0.4]), test="apart")
    nearly = table_of(of_associations([0.5, 0.4, 0.3, 0.2, 0.05], [0.1, 0, -0.1, -0.2, -0.3]), test="nearly")
    figures = computed(apart, FOUR, nearly)

    assert [figure.group for figure in figures] == ["apart", "nearly", "t"]
    assert [figure.p for figure in figures] == pytest.approx([1 / 252, 2 / 252, 1 / 6])
    assert [figure.p_holm for figure in figures] == [pytest.approx(2 / 252), pytest.approx(2 / 252), None]
    assert [figure.p_least for figure in figures] == pytest.approx([1 / 252, 1 / 252, 1 / 6])
    assert WEAT.judge(figures[2]).text == "cannot reach"


@pytest.mark.parametrize("estimand", ["weat", "weat-sentence"])
def test_tests_are_in_the_order_of_their_numbers(estimand: str) -> None:
    """Digits of ASCII alone are numbers: others are text, as letters are."""
    names = ["weat10", "weat2b", "²", "weat2", "7", "٣", "1²", "weat", "10"]
    words = pd.concat([FOUR.assign(test=name) for name in names])
    rows = rows_of(words).assign(score=0.1)
    figures = BY_ID[estimand].compute(rows, scope_of(words))
    assert [figure.group for figure in figures] == ["1²", "7", "10", "weat", "weat2", "weat2b", "weat10", "²", "٣"]


def worded(effects: Sequence[float], targets: int = 8, estimand: str = "weat") -> tuple[str, Figure]:
    """The wording of a test whose words of A have these effects on X, with some scatter of all cosines."""
    count = len(effects)
    cosines = np.random.default_rng(1).normal(0, 0.03, (2 * targets, 2 * count))
    cosines[:targets, :count] += effects
    names = [f"{side}{number}" for side in "XY" for number in range(targets)]
    figure = only(table_of(dict(zip(names, cosines, strict=True)), a=count), estimand)
    return WEAT.judge(figure).text, figure


def test_wordings() -> None:
    """An effect of all attribute words, of one of eight alone, of none, and of too few words for an interval."""
    said, shown = worded([0.2] * 8)
    assert (said, shown.p, shown.method) == ("found", 1 / 12870, "jackknife")
    assert shown.low is not None
    assert 0 < shown.low < (shown.value or 0)

    said, one = worded([0.9] + [0.0] * 7)
    assert (said, one.p) == ("these words only", 1 / 12870)
    assert one.low is not None
    assert one.low < 0

    assert worded([0.0] * 8)[0] == "undecided"
    said, few = worded([0.2] * 4)
    assert (said, few.p, few.low, few.note) == (
        "not estimable",
        1 / 12870,
        None,
        "interval not estimable with fewer than 5 words in a set",
    )


def test_complete_separation_has_no_interval_and_says_so() -> None:
    """All X the same, all Y the same: the correlation is 1, whatever the number of words."""
    figure = only(table_of(of_associations([0.5] * 6, [0.0] * 6, 6, 6), a=6))
    assert (figure.low, figure.note) == (None, "interval not estimable because the words do not vary")
    assert WEAT.judge(figure).text == "not estimable"


def test_the_other_way_round_is_shown_by_two_sides_alone() -> None:
    """An effect below 0 has a p near 1 to one side, and a small one to two."""
    assert worded([-0.2] * 8)[0] == "undecided"
    said, figure = worded([-0.2] * 8, estimand="weat-two-sided")
    assert (said, figure.p) == ("found", 2 / 12870)
    assert figure.high is not None
    assert figure.high < 0


def test_the_order_of_rows_changes_nothing() -> None:
    """Of the table of words: p not in a bit, the effect and its interval not before the last."""
    cosines = np.random.default_rng(5).normal(0, 0.2, (14, 13))
    names = [f"{side}{number}" for side in "XY" for number in range(7)]
    table = table_of(dict(zip(names, cosines, strict=True)), a=6)
    for seed in range(5):
        shuffled = only(table.sample(frac=1, random_state=seed))
        assert shuffled.p == only(table).p
        numbers = [(figure.value, figure.low, figure.high) for figure in (shuffled, only(table))]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-12)


TURNED = "with the other pooling (check), the effect has the opposite sign:"

# --- poolings and sentences -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "note"),
    [
        # by hand the same effect with the other sign: -1.549
        (of_associations([-0.3, -0.1], [0.1, 0.3]), f"; {TURNED} -1.55"),
        (of_associations([0.3, 0.1], [0.1, 0.2]), ""),
        (None, ""),
    ],
)  # fmt: skip
def test_a_sign_that_depends_on_the_pooling_is_noted(check: Cosines | None, note: str) -> None:
    """Where the check has the other sign, with its effect; where it has the same, or there is none, nothing is said."""
    figure = only(table_of(of_associations([0.3, 0.1], [-0.1, -0.3]), check=check))
    assert figure.note == f"interval not estimable with fewer than 5 words in a set{note}"
    assert figure.value == only(FOUR).value


def test_the_published_test_permutes_sentences() -> None:
    """Each word in two sentences with one number: 1 of 70 divisions of eight sentences, where words have 1 of 6.

    The effect by hand: squares of 2 · .2 over seven; a sentence without a number is left out, and counted.
    """
    scores = np.repeat([0.3, 0.1, -0.1, -0.3], 2)
    rows = pd.DataFrame({"test": "t", "identity": "race", "role": [*"XXXXYYYY"], "score": scores})
    attributes = pd.DataFrame({"test": "t", "identity": "race", "role": [*"ABX"], "score": [0.1, 0.1, np.nan]})
    both = pd.concat([rows, attributes], ignore_index=True)
    (figure,) = BY_ID["weat-sentence"].compute(both, Scope(design=DESIGN, config="c"))

    assert figure.value == pytest.approx(0.4 / math.sqrt(0.4 / 7), rel=1e-12)
    assert (figure.p, figure.p_least, figure.low) == (1 / 70, 1 / 70, None)
    assert (figure.levels, figure.rows, figure.unscored) == ({"X": 4, "Y": 4, "A": 1, "B": 1}, 11, 1)
    assert only(FOUR).p == pytest.approx(1 / 6)


@pytest.mark.parametrize("scores", [[np.nan, 0.1], [0.1, 0.1]])
def test_sentences_without_an_effect(scores: list[float]) -> None:
    """No sentence of X has a number, or all have the same."""
    rows = pd.DataFrame({"test": "t", "identity": "", "role": ["X", "Y"], "score": scores})
    (figure,) = BY_ID["weat-sentence"].compute(rows, Scope(design=DESIGN, config="c"))
    assert (figure.value, figure.p, figure.note) == (None, None, "no effect can be computed")
