"""Two models on one release: closed forms, exact tests by enumeration, values of statsmodels; families of tests."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from simulation import tables

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import contrast_figures, figures, lookup
from senseprobe.evaluate.estimands.comparison import (
    Comparison,
    both_scored,
    compare,
    compare_all,
    compare_contrast,
    compare_kernels,
)
from senseprobe.evaluate.estimands.equivalence import Margin
from senseprobe.evaluate.estimands.kernel import KernelRows, Tally
from senseprobe.evaluate.estimands.multiple_testing import COMPARISONS, corrected
from senseprobe.evaluate.estimands.relative import RELATIVE_GROUPS
from senseprobe.evaluate.estimands.sense_contrast import CONTRASTS
from senseprobe.evaluate.reporting.notation import describe_factors
from senseprobe.records import Contrast, Design, Factor
from senseprobe.release.release import open_release

Array = NDArray[np.float64]
T4 = 2.776445  # Student's t with 4 degrees of freedom leaves 2.5 % above it, from a table
HALF = ("preference-half",)


def given_ids(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with ids."""
    return rows.assign(id=[f"row{i}" for i in range(len(rows))])


def scored(rows: pd.DataFrame, kernel: NDArray[Any]) -> pd.DataFrame:
    """Scores that give each row its ψ: 1, ½ or 0."""
    return given_ids(rows).assign(stereo_score=np.asarray(kernel, dtype=np.float64).ravel() - 0.5, anti_score=0.0)


def coin(count: int, seed: int) -> Array:
    """Random kernel of zeros, ones and some ties."""
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0], count, p=[0.4, 0.1, 0.5])


def s2(means: Array) -> float:
    """Variance of level means over how many there are."""
    return float(means.var(ddof=1)) / len(means)


def only(
    a: pd.DataFrame,
    b: pd.DataFrame,
    design: Design,
    estimand: str = "preference-half",
    margin: Margin | None = None,
) -> Comparison:
    """The comparison of one estimand."""
    (made,) = compare(a, b, replace(design, estimands=(estimand,)), "config", margin=margin)
    return made


def two(rows: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores of two models."""
    return scored(rows, coin(len(rows), seed)), scored(rows, coin(len(rows), seed + 100))


# --- the difference and its interval ----------------------------------------------------------------------------------


def test_the_variance_on_nationality_is_that_of_paired_level_means() -> None:
    """s²(h_nation,A - h_nation,B)/16 and the same of the words; t with the eight degrees of nine bad words, 2.306."""
    a, b = (coin(1728, seed).reshape(16, 12, 9) for seed in (1, 2))
    rows = tables.nationality()
    made = only(scored(rows, a), scored(rows, b), tables.NATIONALITY)
    d = a - b
    variance = s2(d.mean(axis=(1, 2))) + s2(d.mean(axis=(0, 2))) + s2(d.mean(axis=(0, 1)))
    value, reach = 100 * d.mean(), 100 * 2.306004 * np.sqrt(variance)

    assert made.difference == pytest.approx(value)
    assert (made.low, made.high) == pytest.approx((value - reach, value + reach), abs=1e-4)
    assert (made.a, made.b) == pytest.approx((100 * a.mean() - 50, 100 * b.mean() - 50))
    assert (made.test, made.levels) == ("projection", {"nation": 16, "good": 12, "bad": 9})
    assert (made.rows, made.scored, made.unscored, made.fixed) == (1728, 1728, 0, ("frame",))


def test_words_that_move_both_models_alike_cancel() -> None:
    """Alone each model's interval is as wide as its words differ; the difference is in a few rows and narrow."""
    rows = tables.nationality(8, 6, 6)
    easy = rows["bad"].isin(["bad00", "bad01", "bad02"]).to_numpy(dtype=np.float64)
    other = np.where(np.arange(len(rows)) % 29 == 0, 1 - easy, easy)
    design = replace(tables.NATIONALITY, estimands=HALF)
    alone = figures(scored(rows, easy), design, "c")[0]
    made = only(scored(rows, easy), scored(rows, other), design)

    assert None not in (alone.low, alone.high, made.low, made.high)
    assert (made.high or 0) - (made.low or 0) < 0.3 * ((alone.high or 0) - (alone.low or 0))


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_the_other_way_round_is_the_mirror_image(seed: int) -> None:
    """B less A: the same p-values, the interval mirrored; rows in another order say the same."""
    a, b = two(tables.nationality(6, 5, 5), seed)
    made, back = only(a, b, tables.NATIONALITY), only(b, a, tables.NATIONALITY)
    shuffled = only(a.sample(frac=1, random_state=seed), b, tables.NATIONALITY)

    assert (back.difference, back.low, back.high) == pytest.approx((-made.difference, -made.high, -made.low))  # type: ignore[operator]
    assert back.p == pytest.approx(made.p)
    assert [factor.p for factor in back.factors] == pytest.approx([factor.p for factor in made.factors])
    assert shuffled.as_dict() == made.as_dict()
    assert made.low is not None
    assert made.high is not None
    assert (made.p is not None and made.p < 0.05) == (made.low > 0 or made.high < 0)


def test_a_model_and_itself_are_alike() -> None:
    """No interval, no p-value, and it is said why."""
    a, _ = two(tables.balanced(tables.nationality(6, 5, 5)), 0)
    made = only(a, a, replace(tables.NATIONALITY, differs="pronoun"), margin=Margin(points=5, reason=""))

    assert (made.difference, made.low, made.high, made.p, made.test) == (0, None, None, None, "none")
    assert made.note == "the two models answer every row alike"
    assert made.equivalent == "not shown"
    assert [factor.p for factor in made.factors] == [1, 1, 1]


def test_rows_that_one_model_lacks_leave_both() -> None:
    """Three rows that A lacks and two that B lacks: 103 of 108, and both figures are over these."""
    a, b = two(tables.race(), 3)
    a.loc[[0, 1, 2], "anti_score"] = np.nan
    b.loc[[50, 51], "stereo_score"] = np.inf
    made = only(a, b, tables.RACE)
    kept = a.drop(index=[0, 1, 2, 50, 51])

    assert (made.rows, made.scored, made.unscored) == (108, 103, 5)
    assert made.a == pytest.approx(100 * (kept["stereo_score"] + 0.5).mean() - 50)
    assert made.fixed == ("race", "frame")


def test_rows_are_matched_by_id() -> None:
    """B's rows in another order are the same rows; other ids are not."""
    a, b = two(tables.race(), 4)
    first, second = both_scored(a, b.sample(frac=1, random_state=0), tables.RACE)

    assert first["id"].tolist() == second["id"].tolist() == a["id"].tolist()
    assert second["stereo_score"].tolist() == b["stereo_score"].tolist()
    for other in (b.iloc[1:], b.assign(id="x" + b["id"])):
        with pytest.raises(ResultError, match="different rows"):
            compare(a, other, tables.RACE, "race")


def test_association_tests_are_not_rows_of_pairs() -> None:
    """They have tests of their own."""
    a, b = two(tables.race(), 4)
    with pytest.raises(ResultError, match="cannot be compared on association rows"):
        compare(a, b, replace(tables.RACE, kind="association"), "weat1")


def test_kernels_of_other_rows_are_refused() -> None:
    """A caller's own kernels have to be of the same rows."""
    rows = [
        KernelRows(
            table=scored(tables.race(5, count), np.ones(5 * count)),
            kernel=np.ones(5 * count),
            weights=np.full(5 * count, 1 / (5 * count)),
            offset=0.0,
            variables=(),
            tally=Tally(rows=5 * count, scored=5 * count, unscored=0),
        )
        for count in (5, 6)
    ]
    other = replace(rows[0], table=rows[0].table.assign(id="x"))
    for b in (rows[1], other):
        with pytest.raises(ResultError, match="rows that both scored"):
            compare_kernels(lookup("own"), rows[0], b, tables.RACE, "race")


def test_without_rows_there_is_no_difference() -> None:
    """All unscored."""
    a, b = two(tables.race(), 5)
    made = only(a.assign(stereo_score=np.nan), b, tables.RACE)

    assert (made.a, made.b, made.difference, made.p) == (None, None, None, None)
    assert made.note == "no row was scored"


def test_levels_that_do_not_differ_are_told_apart_from_those_that_there_are() -> None:
    """Of one of five bad words both models say the same: four signs are left, of which 2 in 16 are as far out."""
    rows = tables.race(5, 5)
    kernel = (rows["bad"] != rows["bad"].iloc[0]).to_numpy(dtype=np.float64)
    made = only(scored(rows, kernel), scored(rows, np.zeros(25)), tables.RACE)

    assert {each.factor: (each.levels, each.of) for each in made.factors} == {"good": (5, 5), "bad": (4, 5)}
    assert sorted(describe_factors(made)) == [
        "only over bad (5 levels, of which 4 differ): p = 0.1250, smallest possible p 0.1250",
        "only over good (5 levels): p = 0.0625, smallest possible p 0.0625",
    ]


# --- one p for each factor --------------------------------------------------------------------------------------------


def test_signs_of_a_factor_are_flipped_level_by_level() -> None:
    """Enumerated: 2^6 sign vectors of the six nations' differences, 2^5 of the words'."""
    a, b = (coin(150, seed).reshape(6, 5, 5) for seed in (7, 8))
    rows = tables.nationality(6, 5, 5)
    made = only(scored(rows, a), scored(rows, b), tables.NATIONALITY)
    d = a - b
    means = {"nation": d.mean(axis=(1, 2)), "good": d.mean(axis=(0, 2)), "bad": d.mean(axis=(0, 1))}
    for factor in made.factors:
        levels = means[factor.factor]
        sums = [abs(np.dot(signs, levels)) for signs in itertools.product((1, -1), repeat=len(levels))]
        assert factor.p == pytest.approx(np.mean([total >= abs(levels.sum()) - 1e-9 for total in sums]))
        assert factor.exact
        assert factor.smallest == 2.0 ** (1 - np.count_nonzero(np.abs(levels) > 1e-12))
    assert [factor.factor for factor in made.factors] == ["nation", "good", "bad"]


def test_five_words_can_say_so_much_and_no_more() -> None:
    """All that A wins and B loses: 1/16 is the smallest p of five levels, and it is told."""
    rows = tables.race(5, 5)
    kernel = np.ones(25)
    kernel[::7] = 0
    made = only(scored(rows, kernel), scored(rows, np.zeros(25)), tables.RACE)

    assert [(factor.levels, factor.p, factor.smallest) for factor in made.factors] == [(5, 1 / 16, 1 / 16)] * 2


def test_a_factor_with_a_fixed_level_has_no_p() -> None:
    """Nurse is one of one: signs of the five others alone would test another figure. Qualities keep theirs."""
    made = only(*two(tables.noun(), 9), tables.NOUN)

    assert [factor.factor for factor in made.factors] == ["quality"]
    assert made.levels == {"occupation": 5, "quality": 31}
    assert made.fixed == ("occupation (female)", "frame")


# --- independent rows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    # statsmodels 0.15.0, stats.contingency_tables.mcnemar(exact=True) on [[10, b], [c, 20]].
    ("only_a", "only_b", "p"),
    [(14, 15, 1.0), (3, 12, 0.03515625), (0, 5, 0.0625), (25, 9, 0.00904118549078703), (1, 30, 2.9802322387695312e-08)],
)
def test_frames_that_are_rows_are_mcnemars(only_a: int, only_b: int, p: float) -> None:
    """Each of 132 frames is a level of its own: rows that one model alone wins."""
    a, b = np.zeros(132), np.zeros(132)
    a[:only_a], b[only_a : only_a + only_b] = 1, 1
    a[100:], b[100:] = 1, 1
    made = only(scored(tables.verb(), a), scored(tables.verb(), b), tables.VERB)

    assert made.p == pytest.approx(p, rel=1e-9)
    assert (made.test, made.only_a, made.only_b) == ("mcnemar", only_a, only_b)
    assert made.factors[0].p == pytest.approx(p, rel=1e-9)


def test_a_tie_takes_mcnemar_away() -> None:
    """Rows with a half: signs of ½, 1, -1, 1, enumerated. Of 16 sums 4 reach 1.5 (2.5 and 1.5 twice are -, +)."""
    a, b = np.zeros(132), np.zeros(132)
    a[[0, 1, 2]], b[3] = (0.5, 1, 1), 1
    made = only(scored(tables.verb(), a), scored(tables.verb(), b), tables.VERB)
    values = (0.5, 1, 1, -1)
    sums = [
        abs(sum(s * v for s, v in zip(signs, values, strict=True))) for signs in itertools.product((1, -1), repeat=4)
    ]

    assert made.p == np.mean([total >= 1.5 for total in sums])
    assert (made.test, made.only_a, made.only_b) == ("sign flips", 3, 1)


def test_rows_of_a_product_are_never_mcnemars() -> None:
    """108 pairs share 21 words; and where weights differ, rows are no trials alike."""
    assert only(*two(tables.race(), 1), tables.RACE).only_a is None
    he = tables.verb().assign(stereo_value="he", anti_value="she")
    assert only(*two(he, 1), tables.VERB, "pronoun-stereotype").test == "projection"


def test_models_that_differ_by_a_constant() -> None:
    """One always prefers the stereotype, one never does: no level differs from another, and MOVER has an interval.

    By hand, of 5 words: the lower end of an always-stereotype model is 100 * .025^(1/5) - 50 = -2.18, of the other it
    is mirrored; 100 - sqrt(52.18^2 + 52.18^2) = 26.20.
    """
    rows = tables.nationality(6, 5, 5)
    made = only(scored(rows, np.ones(len(rows))), scored(rows, np.zeros(len(rows))), tables.NATIONALITY)

    end = 100 - np.sqrt(2) * (100 - 100 * 0.025 ** (1 / 5))
    assert end == pytest.approx(26.20, abs=0.005)
    assert (made.difference, made.high, made.test, made.note) == (100, 100, "boundary", "")
    assert made.low == pytest.approx(end)
    assert made.p is not None
    assert 0 < made.p < 0.05
    assert [factor.p for factor in made.factors] == [2 / 2**6, 2 / 2**5, 2 / 2**5]  # all signs alike, or all turned


def test_a_constant_half_is_a_difference_too() -> None:
    """One ties in every row and one prefers the anti-stereotype: +50, with MOVER of [-50, +50] and the other's."""
    rows = tables.nationality(6, 5, 5)
    made = only(scored(rows, np.full(len(rows), 0.5)), scored(rows, np.zeros(len(rows))), tables.NATIONALITY)
    again = only(scored(rows, np.zeros(len(rows))), scored(rows, np.full(len(rows), 0.5)), tables.NATIONALITY)

    assert made.difference == 50
    assert (made.low, made.high) == (-again.high, -again.low)  # type: ignore[operator]
    assert made.low is not None
    assert made.low < 50 < made.high  # type: ignore[operator]
    assert made.p == again.p


def test_sums_that_cancel_are_no_effect() -> None:
    """Each nation is preferred in half of its rows, which floating-point sums turn into 1e-17: p is 1, of no levels."""
    rows = tables.nationality(30, 7, 7)
    kernel = np.random.default_rng(3).permuted(np.tile([0.0, 1.0], 25)[:49])
    differences = np.tile(kernel, 30) * 2 - 1
    differences[kernel.argmin() :: 49] = 0.0  # 24 and 24 of each nation's 49 rows
    a = scored(rows, np.where(differences > 0, 1.0, np.where(differences < 0, 0.0, 0.5)))
    made = only(a, scored(rows, np.full(len(rows), 0.5)), tables.NATIONALITY)

    nation = next(factor for factor in made.factors if factor.factor == "nation")
    assert made.difference == 0
    assert (nation.p, nation.levels, nation.of) == (1.0, 0, 30)


def test_two_models_at_the_boundary() -> None:
    """Both always prefer one answer but for one row: MOVER of their own intervals, by hand from those of `figures`.

    The one rule alone gives -1.0 to +1.8 or the like, from which "equivalent within 5 points" would follow.
    """
    rows = tables.balanced(tables.race(12, 10))
    always, but_one = np.ones(len(rows)), np.ones(len(rows))
    but_one[7] = 0.0
    models = scored(rows, always), scored(rows, but_one)
    design = replace(tables.RACE, differs="pronoun", estimands=HALF)
    made = only(*models, design, margin=Margin(points=5, reason=""))
    own = [figures(model, design, "c")[0] for model in models]
    assert all(None not in (one.value, one.low, one.high) for one in own)
    (va, la, ha), (vb, lb, hb) = ((one.value or 0, one.low or 0, one.high or 0) for one in own)
    difference = 100 / len(rows)

    assert made.difference == pytest.approx(difference)
    assert made.test == "boundary"
    assert made.low is not None
    assert made.high is not None
    assert made.low <= difference - np.hypot(va - la, hb - vb) + 1e-6
    assert made.high >= difference + np.hypot(ha - va, vb - lb) - 1e-6
    assert made.low < -10
    assert made.equivalent == "not shown"
    assert made.p is not None
    assert made.p > 0.05


# --- other estimands --------------------------------------------------------------------------------------------------


def test_every_estimand_with_an_interval_is_compared() -> None:
    """Differences are those of the figures; `preference` has no interval, and without valence no interaction exists."""
    a, b = two(tables.noun(), 2)
    names = ("preference", "preference-half", "pronoun-stereotype", "pronoun-baseline", "pronoun-interaction")
    design = replace(tables.NOUN, estimands=names)
    made = {one.estimand: one for one in compare(a, b, design, "noun")}
    values = [{one.estimand: one.value for one in figures(rows, design, "noun")} for rows in (a, b)]

    # All labels of these rows are *he*'s, so no value of preference is neutral and the balanced figure leads.
    assert list(made) == ["pronoun-stereotype", "preference-half", "pronoun-baseline", "pronoun-interaction"]
    for name, one in made.items():
        assert one.difference == pytest.approx(values[0][name] - values[1][name])  # type: ignore[operator]
        assert (one.a, one.b) == pytest.approx((values[0][name], values[1][name]))
    a, b = two(tables.bare(), 2)
    assert len(compare(a, b, replace(tables.BARE, estimands=names), "noun-bare")) == 3


def grouped(seed: int) -> tuple[pd.DataFrame, pd.DataFrame, Design]:
    """Two models' sentences about four nations, a score for each."""
    rows = tables.nationality(4, 6, 5)
    models = []
    for model in range(2):
        rng = np.random.default_rng([seed, model])
        score = {
            key: value
            for column in ("good", "bad")
            for key, value in zip(
                itertools.product(rows["nation"].unique(), rows[column].unique()),
                rng.normal(size=100).tolist(),
                strict=False,
            )
        }
        table = given_ids(rows)
        for role, column in (("stereo", "bad"), ("anti", "good")):
            table[f"{role}_score"] = [score[key] for key in zip(rows["nation"], rows[column], strict=True)]
        models.append(table)
    design = replace(
        tables.NATIONALITY, group="nation", words={"stereo": "bad", "anti": "good"}, estimands=("relative", "spread")
    )
    return models[0], models[1], design


def test_relative_is_compared_group_by_group() -> None:
    """Each R of A less that of B, over the words; the interval of 30 pairs by hand for one group."""
    a, b, design = grouped(0)
    made = compare(a, b, design, "nationality")
    figure = [{one.group: one.value for one in figures(rows, design, "nationality")} for rows in (a, b)]

    assert [one.group for one in made] == ["nation00", "nation01", "nation02", "nation03"]
    for one in made:
        assert one.difference == pytest.approx(figure[0][one.group] - figure[1][one.group])  # type: ignore[operator]
        assert one.levels == {"bad": 5, "good": 6}
        assert one.fixed == ("frame",)
    kernels = []
    for rows in (a, b):
        good = rows.pivot_table(index="nation", columns="good", values="anti_score")
        bad = rows.pivot_table(index="nation", columns="bad", values="stereo_score")
        r = [(table.loc["nation00"] - table.drop("nation00").median()).to_numpy() for table in (bad, good)]
        kernels.append((r[0][:, None] > r[1][None, :]).astype(float))
    d = kernels[0] - kernels[1]
    reach = 100 * T4 * np.sqrt(s2(d.mean(axis=0)) + s2(d.mean(axis=1)))
    ends = max(-100.0, 100 * d.mean() - reach), min(100.0, 100 * d.mean() + reach)
    assert (made[0].low, made[0].high) == pytest.approx(ends, abs=1e-3)
    assert (made[0].high or 100) < 100


def inferred(seed: int, rows: pd.DataFrame) -> pd.DataFrame:
    """Random probabilities."""
    p = np.random.default_rng(seed).dirichlet((1, 2, 1), len(rows))
    return given_ids(rows.assign(frame="f", gold="neutral")).assign(
        entailment=p[:, 0], neutral=p[:, 1], contradiction=p[:, 2]
    )


def test_inference_is_compared() -> None:
    """Differences are those of the figures, on 0 to 100; the variance of `nn` is that of paired level means."""
    rows = tables.inference(5, 6, 7, 2)
    design = replace(tables.INFERENCE, estimands=("nn", "fn", "t@0.5"), roles={})
    a, b = inferred(1, rows), inferred(2, rows)
    made = compare(a, b, design, "activities")
    values = [{one.estimand: one.value for one in figures(table, design, "c")} for table in (a, b)]
    d = (a["neutral"] - b["neutral"]).to_numpy().reshape(5, 6, 7, 2)
    variance = sum(s2(d.mean(axis=tuple({0, 1, 2, 3} - {axis}))) for axis in (0, 1, 2))
    reach = 100 * T4 * np.sqrt(variance)

    assert [one.estimand for one in made] == ["nn", "fn", "t@0.5"]
    for one in made:
        assert (one.a, one.b) == pytest.approx((values[0][one.estimand], values[1][one.estimand]))
        assert one.difference == pytest.approx(values[0][one.estimand] - values[1][one.estimand])  # type: ignore[operator]
    ends = max(-100.0, 100 * d.mean() - reach), min(100.0, 100 * d.mean() + reach)
    assert (made[0].low, made[0].high) == pytest.approx(ends, abs=1e-3)
    assert (made[0].high or 100) < 100
    assert made[0].fixed == ("person", "frame")


def test_a_difference_of_gaps_may_exceed_a_hundred_points() -> None:
    """A entails the man and never the woman, B the other way round: 100 less -100."""
    rows = tables.inference(5, 5, 5, 2)
    gender = np.where(rows["person"] == "person00", "male", "female")
    rows = rows.assign(gender=gender, pair="one")
    design = replace(
        tables.INFERENCE,
        estimands=("gap",),
        roles={"premise": {"subject": "occupation"}, "hypothesis": {"subject": "person"}},
    )
    noise = np.random.default_rng(0).uniform(0, 0.05, len(rows))
    male = np.abs((gender == "male") - noise)
    a, b = (given_ids(rows.assign(frame="f", entailment=e, neutral=1 - e, contradiction=0.0)) for e in (male, 1 - male))
    made = only(a, b, design, "gap")

    assert made.difference is not None
    assert made.high is not None
    assert 180 < made.difference < made.high <= 200
    assert made.difference == pytest.approx(made.a - made.b)  # type: ignore[operator]


def test_sense_contrasts_are_compared() -> None:
    """(race - colour) of A less that of B, the variance by hand: words that both senses share are subtracted first."""
    contrast = Contrast(name="race-colour", estimand="preference-half", a="race", b="colour", minimal_only=True)
    race, colour = tables.race(5, 5), tables.colour()
    colour["minimal"] = colour["noun_stereo"] == colour["noun_anti"]
    kernels = {
        (model, name): coin(n, 10 * model + n) for model in (0, 1) for name, n in (("race", 25), ("colour", 625))
    }
    models = [(scored(race, kernels[m, "race"]), scored(colour, kernels[m, "colour"])) for m in (0, 1)]
    designs = (tables.RACE, tables.COLOUR)
    (made,) = compare_contrast(contrast, models[0], models[1], designs)
    values = [contrast_figures(contrast, m[0], designs[0], m[1], designs[1])[0].value for m in models]
    left = (kernels[0, "race"] - kernels[1, "race"]).reshape(5, 5)
    minimal = colour["minimal"].to_numpy()
    right = (kernels[0, "colour"] - kernels[1, "colour"])[minimal].reshape(5, 5, 5)
    variance = s2(left.mean(1) - right.mean(axis=(0, 2))) + s2(left.mean(0) - right.mean(axis=(0, 1)))
    reach = 100 * T4 * np.sqrt(variance + s2(right.mean(axis=(1, 2))))

    assert (made.a, made.b) == pytest.approx(tuple(values))
    assert made.difference == pytest.approx((values[0] or 0) - (values[1] or 0))
    assert made.difference is not None
    assert (made.low, made.high) == pytest.approx((made.difference - reach, made.difference + reach), abs=1e-3)
    assert made.levels == {"good": 5, "bad": 5, "noun": 5}
    assert made.rows == 150
    with pytest.raises(ResultError, match="not matched"):
        compare_contrast(replace(contrast, matched=False), models[0], models[1], designs)
    with pytest.raises(ResultError, match="no estimand 'nn' for rows of pairs"):
        compare_contrast(replace(contrast, estimand="nn"), models[0], models[1], designs)


def test_a_release_is_compared_whole() -> None:
    """Configs that both have, then matched contrasts; the p-values of one estimand are one family, here of two."""
    rows = {"race": tables.race(5, 5), "colour": tables.colour(same_noun=True), "noun": tables.noun()}
    models: list[dict[str, pd.DataFrame]] = [
        {name: scored(table, coin(len(table), 7 * model + len(table))) for name, table in rows.items()}
        for model in (0, 1)
    ]
    del models[1]["noun"]
    for model in models:
        model["weat1"] = given_ids(rows["race"])
    designs = {"race": tables.RACE, "colour": tables.COLOUR, "noun": tables.NOUN}
    designs = {name: replace(design, estimands=HALF) for name, design in designs.items()}
    designs["weat1"] = replace(tables.RACE, kind="association")
    contrasts = [
        Contrast(name="race-colour", estimand="preference-half", a="race", b="colour"),
        Contrast(name="race-noun", estimand="preference-half", a="race", b="noun"),
        Contrast(name="unmatched", estimand="preference", a="race", b="colour", matched=False),
    ]
    made = compare_all(models[0], models[1], designs, contrasts, margin=Margin(points=5, reason=""))
    p = [one.p or 0.0 for one in made]

    assert [one.config for one in made] == ["race", "colour", "race-colour"]
    assert [one.p_holm for one in made] == pytest.approx([*sorted_holm(p[0], p[1]), p[2]])
    assert made[0] == replace(
        only(models[0]["race"], models[1]["race"], tables.RACE, margin=Margin(points=5, reason="")),
        config="race",
        p_holm=made[0].p_holm,
    )


def test_two_models_are_compared_on_sssb() -> None:
    """Every config of the frozen release: differences are those of the figures, and all is told as JSON."""
    release = open_release(Path(__file__).parents[2] / "releases" / "sssb" / "1.0.0")
    designs = {name: release.design(name) for name in release.configs}
    tables_of = {name: release.table(name) for name in release.configs}
    texts = sorted({text for table in tables_of.values() for role in ("stereo", "anti") for text in table[role]})
    models = []
    for seed in (1, 2):
        scores = dict(zip(texts, np.random.default_rng(seed).normal(size=len(texts)).tolist(), strict=True))
        models.append(
            {
                name: table.assign(**{f"{role}_score": table[role].map(scores) for role in ("stereo", "anti")})
                for name, table in tables_of.items()
            }
        )
    margin = Margin.of(release.manifest.data["card"])
    made = compare_all(models[0], models[1], designs, release.manifest.contrasts, margin=margin)
    values: list[dict[tuple[str, str, str | None], float | None]] = []
    for model in models:
        told = [one for name in designs for one in figures(model[name], designs[name], name)]
        for contrast in release.manifest.contrasts:
            sides = [(model[name], designs[name]) for name in (contrast.a, contrast.b)]
            told += contrast_figures(contrast, *sides[0], *sides[1])
        values.append({(one.config, one.estimand, one.group): one.value for one in told})

    assert {one.config for one in made} == {*designs, "race-colour", "noun-verb"}
    assert {one.config for one in made if one.test == "mcnemar"} == {"verb"}
    for one in made:
        key = (one.config, one.estimand, one.group)
        assert (one.a, one.b) == pytest.approx((values[0][key], values[1][key]))
        assert one.difference == pytest.approx(values[0][key] - values[1][key], abs=1e-8)  # type: ignore[operator]
        assert one.p is not None
        assert one.p_holm is not None
        assert one.p <= one.p_holm
        # A margin is around a neutral value: that of pairs which differ in a word of praise or blame is not known.
        has_one = (
            one.estimand == "relative" or one.estimand.startswith("pronoun") or one.config == "noun-verb"
        )  # the labels of noun (85 he, 97 she), noun-bare (50, 10) and verb (117, 23) are not balanced
        assert (one.equivalent in {"not shown", "equivalent within 5 points"}) == has_one
    json.dumps([one.as_dict() for one in made], allow_nan=False)


def sorted_holm(first: float, second: float) -> list[float]:
    """Two p-values corrected by hand: the smaller one doubled, the larger one at least that."""
    smaller = min(1, 2 * min(first, second))
    larger = max(smaller, first, second)
    return [smaller, larger] if first <= second else [larger, smaller]


# --- equivalence, families, JSON --------------------------------------------------------------------------------------


def test_a_margin_is_of_figures_with_a_neutral_value() -> None:
    """Of inference that is gap alone: the releases say themselves that theirs is no margin for nn, fn and t."""
    rows = tables.inference(5, 6, 7, 2)
    rows = rows.assign(gender=np.where(rows["person"] == "person00", "male", "female"), pair="one")
    roles = {"premise": {"subject": "occupation"}, "hypothesis": {"subject": "person"}}
    design = replace(tables.INFERENCE, estimands=("nn", "fn", "t@0.5", "gap"), roles=roles)
    margin = Margin(points=5, reason="")
    a, b = (inferred(seed, rows) for seed in (1, 2))
    told = {made.estimand: made.equivalent for made in compare(a, b, design, "activities", margin=margin)}
    assert {estimand for estimand, answer in told.items() if answer is not None} == {"gap"}


def test_two_models_are_equivalent_where_their_difference_is_small_and_sure() -> None:
    """Ten of 1,320 frames for A alone and ten for B: 0 ± 1.65 · 100 · √20 / 1320 = ±0.56 at 90 %."""
    rows = tables.balanced(tables.verb(times=10))
    a, b = np.arange(1320) % 2, np.arange(1320) % 2
    a, b = np.where(np.arange(1320) < 20, np.arange(1320) % 2, a), np.where(np.arange(1320) < 20, 1 - a, b)
    frames = scored(rows, a), scored(rows, b)
    verb = replace(tables.VERB, differs="pronoun")
    answers = [only(*frames, verb, margin=Margin(points=m, reason="")).equivalent for m in (5, 0.57, 0.55)]

    assert answers == ["equivalent within 5 points", "equivalent within 0.57 points", "not shown"]
    assert only(*frames, tables.VERB).equivalent is None


def a_test(p: float | None, config: str, estimand: str = "preference-half") -> Comparison:
    """A comparison with a p-value."""
    return Comparison(config=config, estimand=estimand, rows=1, scored=1, unscored=0, p=p)


def test_a_family_of_comparisons_is_all_configs_for_one_estimand() -> None:
    """0.01, 0.04 and 0.03 are one family of three: 0.03, 0.06, 0.06; another estimand is a family of its own."""
    made = corrected(
        [
            a_test(0.01, "a"),
            a_test(0.04, "b"),
            a_test(0.02, "a", "relative"),
            a_test(None, "c"),
            a_test(0.03, "d"),
        ],
        COMPARISONS,
    )

    assert [one.p_holm for one in made] == pytest.approx([0.03, 0.06, 0.02, None, 0.06])
    assert [one.config for one in made] == ["a", "b", "a", "c", "d"]


def test_a_family_of_groups_is_a_config() -> None:
    """Two configs of two groups each, doubled within each; another estimand is none of the family's."""
    names = [("a", 0.01), ("b", 0.02), ("a", 0.4), ("b", 0.5)]
    tests = [a_test(p, name, "relative") for name, p in names]
    made = corrected([*tests, a_test(0.03, "a")], RELATIVE_GROUPS)

    assert [one.p_holm for one in made] == [0.02, 0.04, 0.4, 0.5, None]
    assert corrected([], RELATIVE_GROUPS) == []


def test_contrasts_are_one_family_among_other_figures() -> None:
    """Of a result's figures the two contrasts that have a p-value are doubled, and nothing else is touched."""
    tests = [a_test(0.01, "a", "matched-contrast"), a_test(0.02, "a"), a_test(0.04, "b", "matched-contrast")]
    made = corrected([*tests, a_test(None, "c", "matched-contrast")], CONTRASTS)

    assert [one.p_holm for one in made] == [0.02, None, 0.04, None]


def test_the_record_is_json() -> None:
    """Factors too."""
    made = only(*two(tables.race(), 1), tables.RACE)
    back = json.loads(json.dumps(made.as_dict(), allow_nan=False))

    assert [factor["factor"] for factor in back["factors"]] == ["good", "bad"]
    assert back["p"] == made.p


def test_a_factor_of_two_columns_is_compared() -> None:
    """Colour's nouns: contributions count each pair once (enumerated over five nouns)."""
    rows = tables.colour()
    a, b = (coin(625, seed).reshape(5, 5, 5, 5) for seed in (1, 2))
    made = only(scored(rows, a), scored(rows, b), tables.COLOUR)
    table = (a - b).mean(axis=(2, 3)) / 25
    nouns = table.sum(axis=0) + table.sum(axis=1) - table.sum() / 5
    sums = [abs(np.dot(signs, nouns)) for signs in itertools.product((1, -1), repeat=5)]

    assert made.factors[0].p == pytest.approx(np.mean([one >= abs(table.sum()) - 1e-9 for one in sums]))
    assert made.difference == pytest.approx(100 * table.sum())


def test_a_design_without_factors_generalises_over_nothing() -> None:
    """No interval, no p-value, no test of a factor."""
    made = only(*two(tables.race(), 1), replace(tables.RACE, factors=(Factor(name="race", columns=("race",)),)))

    assert (made.p, made.low, made.factors, made.test) == (None, None, (), "none")
    assert "not estimable" in made.note
