"""The boundary rule: what interval a figure has where a model says the same of every row of a cell.

Expected values are worked out by hand from the rule in words, with the counts of sssb 1.0.1: noun has five male-typed
occupations and nurse, 14 pleasant and 17 unpleasant qualities; noun-bare ten frames; verb 117 and 29 frames. END[n] is
0.025^(1/n), the share under which n independent levels all agree once in forty times, from a pocket calculator.
"""

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.profiles import examples

import senseprobe
from senseprobe.evaluate.estimands import CATALOGUE, contrast_figures, figures
from senseprobe.records import Contrast, Design, Factor, Figure
from senseprobe.statistics import clopper_pearson_p

RELEASE = Path(__file__).parents[2] / "releases" / "sssb" / "1.0.1"
END = {5: 0.478176, 10: 0.691503, 12: 0.735352, 14: 0.768364, 15: 0.781981, 17: 0.804936, 29: 0.880555}
LEFT = {levels: 1 - end for levels, end in END.items()}
"""How far a block of so many levels reaches from its end of [0, 1]."""


@cache
def release(config: str) -> tuple[pd.DataFrame, Design]:
    """Rows and design of a config of sssb 1.0.1."""
    release = senseprobe.load(str(RELEASE))
    return release.table(config), release.design(config)


def he_scores(config: str, ahead: object) -> tuple[pd.DataFrame, Design]:
    """Rows with scores: 'he' above 'she' where `ahead` is 1, below where 0, a tie at ½; one value or one by row."""
    rows, design = release(config)
    difference = np.broadcast_to(np.asarray(ahead, dtype=np.float64), len(rows)) - 0.5
    sign = np.where(rows["stereo_value"].str.lower().isin(["he", "his", "him"]), 1.0, -1.0)
    return rows.assign(stereo_score=sign * difference, anti_score=0.0), design


def figure(rows: pd.DataFrame, design: Design, estimand: str, confidence: float = 0.95) -> Figure:
    """The only figure of an estimand."""
    (result,) = figures(rows, replace(design, estimands=(estimand,)), "config", confidence=confidence)
    return result


def assert_ends(result: Figure, low: float, high: float, method: str = "boundary") -> None:
    """The interval is as worked out, to a thousandth of a point."""
    assert (result.low, result.high) == pytest.approx((low, high), abs=1e-3)
    assert result.method == method
    assert "not estimable" not in result.note


@pytest.mark.parametrize("ahead", [1, 0])
def test_a_model_that_always_says_one_pronoun_has_an_interval_of_every_figure(ahead: int) -> None:
    """M and F at one end: M may be off by what five occupations leave open, F by what 14 qualities do."""
    rows, design = he_scores("noun", ahead)
    off_male, off_nurse = 50 * LEFT[5], 50 * LEFT[14]
    ends = (-off_male, off_nurse) if ahead else (-off_nurse, off_male)
    assert_ends(figure(rows, design, "pronoun-stereotype"), *ends)  # always 'he': [-26.1, +11.6]

    baseline = figure(rows, design, "pronoun-baseline")
    inner = 100 * END[5] - 50  # the one rule's own end at a share of 1, which is beyond MOVER's 50 - √(26.1² + 11.6²)
    assert baseline.value == (50 if ahead else -50)
    assert_ends(baseline, *((inner, 50) if ahead else (-50, -inner)))

    # The sign of a class changes with valence, so each cell is a block: M+, F- count positive, M-, F+ negative.
    male, praise, blame = (25 * LEFT[levels] for levels in (5, 14, 17))
    ends = (-math.hypot(male, blame), math.hypot(male, praise))
    assert_ends(figure(rows, design, "pronoun-interaction"), *(ends if ahead else (-ends[1], -ends[0])))


def test_an_always_he_model_has_an_interval_of_preference() -> None:
    """Cells are blocks: of 182 labelled rows 70 (male, praise) and 15 (nurse, blame) win, 85 and 12 lose."""
    rows, design = he_scores("noun", 1)
    result = figure(rows, design, "preference-half")
    down = 100 / 182 * math.hypot(70 * LEFT[5], 15 * LEFT[15])
    up = 100 / 182 * math.hypot(85 * LEFT[5], 12 * LEFT[12])

    value = 100 * 85 / 182 - 50
    assert result.value == pytest.approx(value)
    assert_ends(result, value - down, value + up)  # [-23.4, +21.1]


def test_noun_bare_and_verb_by_hand() -> None:
    """Ten frames for nurse, five occupations; on verb the occupations are held, and 117 and 29 frames were drawn."""
    rows, design = he_scores("noun-bare", 1)
    assert_ends(figure(rows, design, "pronoun-stereotype"), -50 * LEFT[5], 50 * LEFT[10])
    rows, design = he_scores("verb", 1)
    left = 1 - 0.025 ** (1 / 117)
    assert_ends(figure(rows, design, "pronoun-stereotype"), -50 * left, 50 * LEFT[29])


def test_intervals_of_ninety_per_cent_take_one_twentieth() -> None:
    """The smallest share under which five levels all agree once in twenty times: 0.05^(1/5) = 0.549280."""
    rows, design = he_scores("noun", 1)
    low, high = -50 * (1 - 0.549280), 50 * (1 - 0.807364)  # 0.05^(1/14)
    assert_ends(figure(rows, design, "pronoun-stereotype", confidence=0.9), low, high)


def test_one_dissenting_row_does_not_make_a_figure_sure() -> None:
    """Beside the boundary the interval was [-1.6, +1.0]; M's own is that of the rule on the logit scale, by hand."""
    rows, _ = release("noun")
    ahead = np.ones(len(rows))
    ahead[np.flatnonzero((rows["stereotype"] == "male") & (rows["valence"] == "pleasant"))[0]] = 0
    rows, design = he_scores("noun", ahead)
    result = figure(rows, design, "pronoun-stereotype")
    # One of 70 praised rows: M = 1 - 1/140. Its occupation is off by -1/140 · 4/5, four others by 1/140 · 1/5 (times
    # 5/4); its quality by -1/140 · 13/14, thirteen others by 1/140 · 1/14 (times 14/13). t with 4 degrees: 2.776445.
    male = 1 - 1 / 140
    variance = (5 / 4 * (0.8**2 + 4 * 0.2**2) + 14 / 13 * ((13 / 14) ** 2 + 13 / 14**2)) / 140**2
    logit, reach = math.log(male / (1 - male)), 2.776445 * math.sqrt(variance) / (male * (1 - male))
    lower, upper = (1 / (1 + math.exp(-(logit + sign * reach))) for sign in (-1, 1))

    value = 50 * (male - 1)
    assert result.value == pytest.approx(value)
    assert_ends(result, value - 50 * (male - lower), value + 50 * math.hypot(upper - male, LEFT[14]))  # [-13.6, +11.2]


def test_praise_against_blame_in_every_row() -> None:
    """'He' with praise, 'she' with blame: M = F = ½ without variance, each ± what its levels leave open over √2."""
    rows, _ = release("noun")
    rows, design = he_scores("noun", (rows["valence"] == "pleasant").to_numpy(dtype=np.float64))
    reach = 50 * math.hypot(LEFT[5], LEFT[14]) / math.sqrt(2)
    assert_ends(figure(rows, design, "pronoun-stereotype"), -reach, reach)


def test_a_cell_that_agrees_beside_cells_that_do_not() -> None:
    """Both rules are worked out, and the lower low and the higher high are printed: of two classes in noun-bare."""
    rows, _ = release("noun-bare")
    frames = sorted(set(rows["frame"]))
    nurse = (rows["stereotype"] == "female").to_numpy()
    ahead = np.where(nurse, rows["frame"].isin(frames[:5]), 1.0)
    rows, design = he_scores("noun-bare", ahead)
    result = figure(rows, design, "pronoun-baseline")
    # One rule: F = ½ over ten frames, s² = 10/9 · ¼ / 10, half of it in the figure; π = ¾, t with 4 degrees.
    reach = 2.776445 * 0.5 * math.sqrt(0.25 / 9) / (0.75 * 0.25)
    alone = [100 / (1 + math.exp(-(math.log(3) + sign * reach))) - 50 for sign in (-1, 1)]
    # MOVER: M in [0.478176, 1], F in expit(± 2.262157 · √(0.25 / 9) · 4), t with 9 degrees.
    upper = 1 / (1 + math.exp(-2.262157 * math.sqrt(0.25 / 9) * 4))
    ends = (25 - 50 * math.hypot(LEFT[5], upper - 0.5), 25 + 50 * (upper - 0.5))

    assert result.value == 25
    assert_ends(result, min(alone[0], ends[0]), max(alone[1], ends[1]))


def test_a_fixed_class_is_held() -> None:
    """Frames are no factor and nurse stands alone, so her share is known: M alone leaves something open."""
    rows, design = he_scores("noun-bare", 1)
    only = replace(design, factors=tuple(factor for factor in design.factors if factor.name == "occupation"))
    assert_ends(figure(rows, only, "pronoun-stereotype"), -50 * LEFT[5], 0)


def test_known_cells_that_agree_are_no_boundary() -> None:
    """Nurse is known to be at ½ or at 1, which changes nothing in how M is read."""
    rows, _ = release("noun-bare")
    male = (rows["stereotype"] == "male").to_numpy()
    mixed = np.where(rows["occupation"].isin(["engineer", "carpenter"]), 0.0, 1.0)
    rows, design = he_scores("noun-bare", np.where(male, mixed, 1.0))
    only = replace(design, factors=tuple(factor for factor in design.factors if factor.name == "occupation"))

    assert figure(rows, only, "pronoun-baseline").method == "projection"


@pytest.mark.parametrize("estimand", ["preference-half", "pronoun-stereotype", "pronoun-baseline"])
def test_a_config_whose_factors_are_all_fixed_has_no_interval(estimand: str) -> None:
    """One occupation and nurse in one frame: nothing was drawn that another draw could change."""
    rows, design = he_scores("noun-bare", 1)
    rows = rows[rows["occupation"].isin(["engineer", "nurse"]) & (rows["frame"] == rows["frame"].iloc[0])]
    result = figure(rows, design, estimand)

    assert result.value is not None
    assert (result.low, result.high, result.method) == (None, None, "none")
    assert "interval not estimable" in result.note


def test_factors_of_one_level_give_no_interval_to_independent_rows_either() -> None:
    """A single row is a level of its own in every factor, and no sample: Clopper and Pearson do not speak of it."""
    rows, design = he_scores("verb", 1)
    result = figure(rows[rows["label_basis"] != "none"].head(1), design, "preference-half")

    assert (result.value, result.low, result.high, result.method) == (50, None, None, "none")
    assert "interval not estimable" in result.note
    assert result.fixed == ("frame", "occupation")


def test_all_ties_have_an_interval() -> None:
    """Of five by five words every pair is a tie: ½ ± what five levels leave open."""
    rows = pd.DataFrame(
        [(f"good{i}", f"bad{j}") for i in range(5) for j in range(5)], columns=["good", "bad"], dtype=object
    ).assign(frame="f", label_basis="trait", contested=False, stereo_score=0.0, anti_score=0.0)
    factors = tuple(Factor(name=name, columns=(name,)) for name in ("good", "bad"))
    design = Design(
        kind="contrast", sense_type="s", bias_type="b", slots=("good", "bad"), roles={}, differs="", factors=factors
    )
    result = figure(rows, replace(design, neutral=0.0), "preference-half")

    assert (result.low, result.high) == pytest.approx((-50, 50))  # 52.2 either way
    assert result.method == "boundary"


def test_the_contrast_of_an_always_he_model_has_an_interval() -> None:
    """Four blocks: M and F of noun-bare and of verb, where five occupations are shared and nurse is held."""
    contrast = Contrast(name="noun-verb", estimand="pronoun-stereotype", a="noun-bare", b="verb")
    (result,) = contrast_figures(contrast, *he_scores("noun-bare", 1), *he_scores("verb", 1))
    low, high = 50 * math.hypot(LEFT[5], LEFT[29]), 50 * math.hypot(LEFT[10], LEFT[5])

    assert result.value == 0
    assert_ends(result, -low, high)
    assert result.p == 1


def test_a_contrast_rejects_zero_exactly_where_its_interval_leaves_it_out() -> None:
    """The p-value is the level at which an end of the interval comes to lie on 0."""
    rows, _ = release("noun-bare")
    follows = (rows["stereotype"] == "male").to_numpy(dtype=np.float64)
    contrast = Contrast(name="noun-verb", estimand="pronoun-stereotype", a="noun-bare", b="verb")
    first, second = he_scores("noun-bare", follows), he_scores("verb", 1)
    (result,) = contrast_figures(contrast, *first, *second)
    assert result.p is not None
    assert 0 < result.p < 1
    (edge,) = contrast_figures(contrast, *first, *second, confidence=1 - result.p)

    assert result.value == 50
    assert edge.low == pytest.approx(0, abs=1e-5)
    assert (result.p < 0.05) == (result.low is not None and result.low > 0)


@settings(max_examples=examples(160))
@given(
    seed=st.integers(0, 10_000),
    shares=st.tuples(*[st.sampled_from([0.0, 0.02, 0.5, 0.98, 1.0])] * 4),
    config=st.sampled_from(["noun", "noun-bare", "verb"]),
    place=st.integers(0, 3),
    confidence=st.sampled_from([0.9, 0.95]),
)
def test_properties_of_intervals_at_the_boundary(
    seed: int, shares: tuple[float, ...], config: str, place: int, confidence: float
) -> None:
    """The value is inside, no end is out of range, no interval has no width; the order of rows changes nothing."""
    rows, design = release(config)
    cell = 2 * (rows["stereotype"] == "male").to_numpy() + (rows["valence"] == "pleasant").to_numpy()
    ahead = np.random.default_rng(seed).random(len(rows)) < np.array(shares)[cell.astype(int)]
    rows, design = he_scores(config, ahead)
    rows = rows[np.random.default_rng(seed).random(len(rows)) < 0.9]
    shuffled = rows.sample(frac=1, random_state=seed)
    wanted = ("preference-half", "pronoun-stereotype", "pronoun-baseline", "pronoun-interaction")
    there = [name for name in wanted if name in design.estimands]
    name = there[place % len(there)]
    result, reordered = (figure(table, design, name, confidence) for table in (rows, shuffled))
    narrow = figure(rows, design, name, 0.8)
    assert result.low is not None
    assert result.high is not None
    assert result.value is not None
    assert -50 <= result.low <= result.value <= result.high <= 50
    assert result.high - result.low > 0.1
    assert (reordered.low, reordered.high) == pytest.approx((result.low, result.high), abs=1e-6)
    assert narrow.low is not None
    assert narrow.high is not None
    assert result.low - 1e-9 <= narrow.low <= narrow.high <= result.high + 1e-9


@settings(max_examples=examples(100))
@given(seed=st.integers(0, 10_000), share=st.sampled_from([0.0, 0.3, 0.5, 0.7, 0.97, 1.0]))
def test_p_is_the_level_at_which_the_interval_excludes_the_neutral_value(seed: int, share: float) -> None:
    """Of shares and of differences of shares: at 1 - p an end lies on 0, and p < .05 where that of 95 % has no 0."""
    rows, design = he_scores("noun", np.random.default_rng(seed).random(len(release("noun")[0])) < share)
    for name in ("pronoun-baseline", "pronoun-stereotype"):
        found = figure(rows, design, name)
        assert None not in (found.p, found.low, found.high, found.value)
        assert (found.p < 0.05) == (not found.low <= 0 <= found.high)  # type: ignore[operator]
        if 1e-12 < found.p < 0.999:  # type: ignore[operator]
            edge = figure(rows, design, name, 1 - found.p)  # type: ignore[operator]
            assert (edge.low if found.value > 0 else edge.high) == pytest.approx(0, abs=1e-4)  # type: ignore[operator]


def test_p_of_words_that_all_agree() -> None:
    """Ten frames of noun-bare, five occupations: n* = 5, and .5^5 is half of p = .0625, by hand."""
    rows, design = he_scores("noun-bare", 1)

    found = figure(rows, design, "pronoun-baseline")
    assert found.p == pytest.approx(2 * 0.5**5, rel=1e-6)
    assert "5 levels of occupation (male)" in found.note  # why 60 of 60 rows show nothing


def test_p_of_independent_rows_is_that_of_the_binomial() -> None:
    """23 of 30 independent rows: twice the tail of 23 and more, scipy's, and twice that of 7 and fewer the same."""
    by_scipy = 2 * float(stats.binom.sf(22, 30, 0.5))

    assert clopper_pearson_p(23, 30, (0.0, 0.0)) == pytest.approx(by_scipy)
    assert clopper_pearson_p(7, 30, (0.0, 0.0)) == pytest.approx(by_scipy)
    assert clopper_pearson_p(16, 30, (-10.0, 10.0)) == 1.0


def test_what_the_rule_changed_has_another_definition() -> None:
    """Figures whose interval can be another on the same scores; some have since had a p, too."""
    pronouns = {"pronoun-stereotype", "pronoun-baseline", "pronoun-interaction"}
    inference = {name for name, estimand in CATALOGUE.items() if estimand.kind == "inference"}
    changed = {"matched-contrast", "lms", "ss", "lms-micro", "ss-micro", *inference}

    assert {CATALOGUE[name].version for name in changed} == {2}
    assert {CATALOGUE[name].version for name in ("preference-half", *pronouns)} == {3}
