"""Estimands against hand calculations, closed forms and models whose answer is known."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import senseprobe
from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import CATALOGUE, contrast_figures, figures, kernel_rows
from senseprobe.evaluate.estimands.sense_contrast import Side, project_difference
from senseprobe.evaluate.estimands.stereoset import StereoSetEstimand
from senseprobe.evaluate.figures import figures_of
from senseprobe.evaluate.reporting.notation import format_interval
from senseprobe.evaluate.senses.estimands import ESTIMANDS
from senseprobe.evaluate.served.content import CONTENT_MEAN
from senseprobe.evaluate.units import ScoredRows
from senseprobe.records import Contrast, Design, Factor, Figure

Array = NDArray[np.float64]
CLASSES = {
    "engineer": "male",
    "carpenter": "male",
    "guide": "male",
    "mentor": "male",
    "judge": "male",
    "nurse": "female",
}
OCCUPATION = {"stereotype": "occupation"}


# --- where 0 is neutral ---------------------------------------------------------------------------------------------


def always_he(config: str) -> list[Figure]:
    """Figures of a model that always prefers *he* and knows no occupation, on a config of the built-in release."""
    release = senseprobe.load("sssb@1.0.1")
    rows = release.table(config)
    he = rows["stereo_value"] == "he"
    rows = rows.assign(stereo_score=np.where(he, -1.0, -2.0), anti_score=np.where(he, -2.0, -1.0))
    return figures(rows, release.design(config), config)


@pytest.mark.parametrize(
    ("config", "he", "labelled"),
    [("verb", 117, 140), ("noun-bare", 50, 60), ("noun", 85, 182)],  # counted in the published rows with grep
)
def test_unbalanced_labels_have_no_neutral_value(config: str, he: int, labelled: int) -> None:
    """What an always-he model reads says nothing of occupations: it is printed, and the balanced figure leads.

    100 · 117 / 140 - 50 = 33.571, 100 · 50 / 60 - 50 = 33.333, 100 · 85 / 182 - 50 = -3.297.
    """
    made = {figure.estimand: figure for figure in always_he(config)}
    reading = 100 * he / labelled - 50
    for estimand in ("preference", "preference-half"):
        assert made[estimand].neutral is None
        assert made[estimand].value == pytest.approx(reading)
        assert made[estimand].readings == pytest.approx({"he": reading, "she": -reading})
    assert next(iter(made)) == "pronoun-stereotype"
    assert made["pronoun-stereotype"].value == pytest.approx(0)
    assert made["pronoun-stereotype"].neutral == 0
    assert made["pronoun-stereotype"].readings == {}
    assert made["pronoun-baseline"].value == pytest.approx(50)


def test_evaluative_words_are_never_neutral() -> None:
    """However balanced they are: words differ in frequency. There are no readings, for a word is no answer there."""
    rows, plan = race(2, 2)
    swapped = rows.assign(stereo_value=rows["anti_value"], anti_value=rows["stereo_value"])
    balanced = pd.concat([rows, swapped], ignore_index=True)
    both = figure(balanced, plan, "preference-half")
    assert (both.neutral, both.readings) == (None, {})
    assert figure(balanced, replace(plan, differs="pronoun"), "preference").neutral == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=8))
def test_neutral_is_what_every_model_of_words_alone_reads(bound: list[tuple[str, str]]) -> None:
    """0 is neutral just where every model that prefers one word of each two, whatever the sentence, reads 0.

    All such models are enumerated: one of two words for each of the three pairs, 2^3 models; a row whose two words are
    the same is a tie.
    """
    rows, _ = race(1, 1)
    rows = pd.concat([rows] * len(bound), ignore_index=True)
    rows["stereo_value"], rows["anti_value"] = zip(*bound, strict=True)
    plan = replace(design("good", slots=("good",)), differs="pronoun")
    readings = []
    for preferred in itertools.product((0, 1), repeat=3):
        wins = dict(zip(itertools.combinations("abc", 2), preferred, strict=True))
        psi = [0.5 if u == v else float((wins[u, v] == 0) if (u, v) in wins else wins[v, u] == 1) for u, v in bound]
        readings.append(100 * sum(psi) / len(psi) - 50)
    only = figure(rows, plan, "preference-half")
    assert (only.neutral == 0) == all(abs(reading) < 1e-9 for reading in readings)
    assert set(np.round([*only.readings.values()], 6)) <= set(np.round(readings, 6))


# --- drawn rows -----------------------------------------------------------------------------------------------------


def test_words_that_were_not_drawn_are_no_known_words() -> None:
    """Of 16 nations three were drawn: nobody knows the others, so there is no interval, and no value is neutral.

    In the release four words of a kind are fixed: there the interval stays.
    """
    rows, plan = nationality(3, 6, 6)
    rows = rows.assign(stereo_score=np.arange(len(rows)) % 3 - 1.0)
    plan = replace(plan, estimands=())
    whole = figure(rows, plan, "preference-half")
    assert None not in (whole.low, whole.high)
    assert "nation" in whole.fixed

    drawn = figure(rows, replace(plan, drawn_from={"nation": 16, "good": 12, "bad": 9}), "preference-half")
    assert (drawn.low, drawn.high, drawn.method, drawn.neutral) == (None, None, "none", None)
    assert drawn.value == whole.value
    assert "too few levels of nation" in drawn.note
    fixed = figure(rows, replace(plan, drawn_from={"nation": 3, "good": 12, "bad": 9}), "preference-half")
    assert (fixed.low, fixed.high, fixed.fixed) == (whole.low, whole.high, whole.fixed)


@pytest.mark.parametrize("estimand", ["pronoun-stereotype", "pronoun-baseline", "preference-half"])
def test_a_few_drawn_rows_of_a_class_are_not_known(estimand: str) -> None:
    """Two of nurse's 31 rows were drawn, each with a quality of its own: a class of two words has no interval.

    `preference-half`, whose cells are class by valence, has one that knows nothing of nurse.
    """
    release = senseprobe.load("sssb@1.0.1")
    table = release.table("noun")
    nurse, others = ((table["occupation"] == "nurse") == is_nurse for is_nurse in (True, False))
    two = table[nurse].iloc[[0, -1]]
    rest = table[others & ~table["quality"].isin(two["quality"])].iloc[::7]
    rows = pd.concat([two, rest]).reset_index(drop=True)
    scored = rows.assign(stereo_score=np.where(rows["stereo_value"] == "he", -1.0, -2.0), anti_score=-1.5)
    made = figures_of(release, ScoredRows(tables={"noun": scored}), seed=0, scale="log", sampled=True)
    found = next(one for one in made if one.estimand == estimand and one.group is None)

    assert found.value is not None
    assert (found.low, found.high) == (None, None)
    assert "too few levels of quality" in found.note


def test_groups_that_are_alike_have_no_spread_also_against_no_group() -> None:
    """Four groups scored alike, and all unlike the sentence that names none: they do not differ, and p is 1."""
    groups = ["Asian", "Black", "White", "people"]
    rows = product(race=groups, good=words("good", 6), bad=words("bad", 6))
    named = rows["race"] != "people"
    rows = rows.assign(stereo_score=np.where(named, -5.0, -1.0), anti_score=np.where(named, -1.0, -5.0))
    plan = replace(
        design("good", "bad", slots=("race", "good", "bad"), group="race", estimands=("relative", "spread")),
        reference="people",
    )
    made = {(each.estimand, each.group): each for each in figures(rows, plan, "race")}
    assert [made["relative", name].value for name in groups[:3]] == [-50, -50, -50]
    assert (made["spread", None].value, made["spread", None].p) == (0, 1)


# --- tables of pairs, shaped as sssb's ------------------------------------------------------------------------------


def product(**slots: Sequence[str]) -> pd.DataFrame:
    """Cross product of slots, the last varying fastest, with the columns of a contrast config, scores all alike."""
    return pairs(pd.DataFrame(list(itertools.product(*slots.values())), columns=list(slots), dtype=object))


def pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """Columns of a contrast config where the rows do not have them."""
    given: dict[str, Any] = {
        "frame": "f0",
        "label_basis": "trait",
        "contested": False,
        "stereo_value": "he",
        "anti_value": "she",
        "valence": None,
        "stereotype": None,
        "minimal": True,
        "stereo_score": 0.0,
        "anti_score": 0.0,
    }
    missing = {column: [value] * len(rows) for column, value in given.items() if column not in rows}
    return pd.concat([rows, pd.DataFrame(missing, index=rows.index)], axis=1)


def words(prefix: str, count: int) -> list[str]:
    """Invented words."""
    return [f"{prefix}{i}" for i in range(count)]


def design(
    *factors: str,
    slots: Sequence[str],
    group: str | None = None,
    strata: Mapping[str, str] | None = None,
    estimands: tuple[str, ...] = (),
    neutral: float | None = None,
) -> Design:
    """Contrast design; `noun` is the factor of both members of a pair."""
    columns = {"noun": ("noun_stereo", "noun_anti")}
    return Design(
        kind="contrast",
        sense_type="sense",
        bias_type="bias",
        slots=tuple(slots),
        roles={},
        differs="evaluative",
        factors=tuple(Factor(name=name, columns=columns.get(name, (name,))) for name in factors),
        group=group,
        words={"stereo": "bad", "anti": "good"} if group else {},
        strata=strata or {},
        estimands=estimands,
        neutral=neutral,
    )


def nationality(nations: int = 16, good: int = 12, bad: int = 9) -> tuple[pd.DataFrame, Design]:
    """Nations with pleasant and unpleasant words."""
    slots = ("nation", "good", "bad")
    rows = product(nation=words("nation", nations), good=words("good", good), bad=words("bad", bad))
    return rows, design(*slots, slots=slots, group="nation", estimands=("relative", "spread"))


def race(good: int = 12, bad: int = 9) -> tuple[pd.DataFrame, Design]:
    """One group with pleasant and unpleasant words."""
    rows = product(race=["Black"], good=words("good", good), bad=words("bad", bad))
    return rows, design("good", "bad", slots=("race", "good", "bad"))


def colour() -> tuple[pd.DataFrame, Design]:
    """Every noun of one member with every noun of the other; `minimal` where they are the same."""
    nouns = words("noun", 5)
    rows = product(noun_stereo=nouns, noun_anti=nouns, good=words("good", 5), bad=words("bad", 5))
    rows["minimal"] = rows["noun_stereo"] == rows["noun_anti"]
    return rows, design("noun", "good", "bad", slots=("noun_stereo", "noun_anti", "good", "bad"))


def noun() -> tuple[pd.DataFrame, Design]:
    """Six occupations with 14 pleasant and 17 unpleasant qualities; labels flip with class and with valence."""
    rows = product(occupation=list(CLASSES), quality=words("good", 14) + words("bad", 17))
    rows["stereotype"] = rows["occupation"].map(CLASSES)
    rows["valence"] = np.where(rows["quality"].str.startswith("good"), "pleasant", "unpleasant")
    he = (rows["stereotype"] == "male") == (rows["valence"] == "pleasant")
    rows["stereo_value"], rows["anti_value"] = np.where(he, "he", "she"), np.where(he, "she", "he")
    strata = {"stereotype": "occupation", "valence": "quality"}
    return rows, design("occupation", "quality", slots=("occupation", "quality"), strata=strata, neutral=0.0)


def typed(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the class of the occupation, whose pronoun the stereotypical sentence has."""
    he = rows["occupation"].map(CLASSES) == "male"
    pronouns = {"stereo_value": np.where(he, "he", "she"), "anti_value": np.where(he, "she", "he")}
    return rows.assign(stereotype=rows["occupation"].map(CLASSES), **pronouns)


def bare() -> tuple[pd.DataFrame, Design]:
    """Six occupations in ten frames that say nothing of quality."""
    rows = typed(product(occupation=list(CLASSES), frame=words("frame", 10)))
    return rows, design("occupation", "frame", slots=("occupation",), strata=OCCUPATION, neutral=0.0)


def verb() -> tuple[pd.DataFrame, Design]:
    """132 frames, 22 for each occupation."""
    held = [(occupation, f"{occupation}{i}") for occupation in CLASSES for i in range(22)]
    rows = typed(pairs(pd.DataFrame(held, columns=["occupation", "frame"], dtype=object)))
    return rows, design("frame", slots=("occupation",), strata=OCCUPATION, neutral=0.0)


def scored(rows: pd.DataFrame, kernel: NDArray[Any]) -> pd.DataFrame:
    """Scores that give each row its ψ: 1, ½ or 0."""
    return rows.assign(stereo_score=np.asarray(kernel, dtype=np.float64) - 0.5, anti_score=0.0)


def he_scored(rows: pd.DataFrame, kernel: NDArray[Any]) -> pd.DataFrame:
    """Scores that give each row its H, whatever the label."""
    difference = np.asarray(kernel, dtype=np.float64) - 0.5
    return rows.assign(stereo_score=np.where(rows["stereo_value"] == "he", difference, -difference), anti_score=0.0)


def coin(count: int, seed: int = 0) -> Array:
    """Random kernel of zeros, ones and some ties."""
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0], count, p=[0.4, 0.1, 0.5])


def figure(rows: pd.DataFrame, plan: Design, estimand: str) -> Figure:
    """Only figure of an estimand."""
    (only,) = figures(rows, replace(plan, estimands=(estimand,)), "config")
    return only


def variance(rows: pd.DataFrame, plan: Design, estimand: str = "preference-half") -> float:
    """V of the rule."""
    kernel = kernel_rows(rows, plan, estimand)
    return float(kernel.project(plan).variance(kernel.kernel))


def s2(means: Array) -> float:
    """Variance of level means over how many there are."""
    return float(means.var(ddof=1)) / len(means)


# --- closed forms of the interval rule (ESTIMANDS, "With h_x ..."), computed on the array of ψ ----------------------


@pytest.mark.parametrize("seed", range(3))
def test_variance_on_nationality_is_the_sum_over_three_factors(seed: int) -> None:
    """s²(h_nation)/G + s²(h_good)/m + s²(h_bad)/n."""
    rows, plan = nationality()
    cube = coin(len(rows), seed).reshape(16, 12, 9)
    expected = s2(cube.mean(axis=(1, 2))) + s2(cube.mean(axis=(0, 2))) + s2(cube.mean(axis=(0, 1)))

    assert variance(scored(rows, cube.ravel()), plan) == pytest.approx(expected, abs=1e-12)


def test_variance_on_race_has_the_words_only() -> None:
    """s²(h_good)/m + s²(h_bad)/n, and the one group is fixed."""
    rows, plan = race()
    table = coin(len(rows)).reshape(12, 9)
    made = figure(scored(rows, table.ravel()), plan, "preference-half")

    assert variance(scored(rows, table.ravel()), plan) == pytest.approx(
        s2(table.mean(1)) + s2(table.mean(0)), abs=1e-12
    )
    assert made.fixed == ("race", "frame")
    assert made.levels == {"good": 12, "bad": 9}


def test_variance_on_colour_takes_a_noun_in_both_roles() -> None:
    """s²(M_j. + M_.j)/5 + s²(h_good)/5 + s²(h_bad)/5."""
    rows, plan = colour()
    cube = coin(len(rows)).reshape(5, 5, 5, 5)
    m = cube.mean(axis=(2, 3))
    expected = s2(m.mean(axis=1) + m.mean(axis=0)) + s2(cube.mean(axis=(0, 1, 3))) + s2(cube.mean(axis=(0, 1, 2)))

    assert variance(scored(rows, cube.ravel()), plan) == pytest.approx(expected, abs=1e-12)


def test_the_same_noun_on_both_sides_is_one_draw() -> None:
    """Colour's same-noun pairs are a plain cross of nouns and words: s²(h_noun)/5, not four times that."""
    rows, plan = colour()
    rows = rows[rows["minimal"]]
    cube = coin(len(rows)).reshape(5, 5, 5)
    expected = s2(cube.mean(axis=(1, 2))) + s2(cube.mean(axis=(0, 2))) + s2(cube.mean(axis=(0, 1)))

    assert variance(scored(rows, cube.ravel()), plan) == pytest.approx(expected, abs=1e-12)


def test_variance_on_verb_is_that_of_independent_frames() -> None:
    """s²(ψ)/n over frames."""
    rows, plan = verb()
    kernel = coin(len(rows))

    assert variance(scored(rows, kernel), plan) == pytest.approx(s2(kernel), abs=1e-12)


def test_variance_on_noun_is_within_class_and_valence() -> None:
    """Cells class x valence; five male-typed occupations, and the qualities of each valence, are strata."""
    rows, plan = noun()
    table = coin(len(rows)).reshape(6, 31)
    centred = table.copy()
    for half in (slice(0, 14), slice(14, 31)):
        centred[:5, half] -= table[:5, half].mean()
        centred[5:, half] -= table[5:, half].mean()
    centred /= table.size
    by_occupation, by_quality = centred.sum(axis=1)[:5], centred.sum(axis=0)
    expected = 5 / 4 * (by_occupation**2).sum()
    expected += 14 / 13 * (by_quality[:14] ** 2).sum() + 17 / 16 * (by_quality[14:] ** 2).sum()
    made = figure(scored(rows, table.ravel()), plan, "preference-half")

    assert variance(scored(rows, table.ravel()), plan) == pytest.approx(expected, abs=1e-12)
    assert made.fixed == ("occupation (female)", "frame")
    assert made.levels == {"occupation": 5, "quality": 31}


def test_variance_of_the_pronoun_figure_on_noun() -> None:
    """The rule written out: p_o of the male-typed occupations vary, and qualities in both classes together."""
    rows, plan = noun()
    table = coin(len(rows)).reshape(6, 31)
    by_occupation, by_quality = np.zeros(5), []
    for half in (slice(0, 14), slice(14, 31)):
        male, nurse = table[:5, half], table[5, half]
        by_occupation += (male.mean(axis=1) - male.mean()) / 20  # ½ · 1/5 · ½
        count = male.shape[1]
        by_quality.append(((male.mean(axis=0) - male.mean()) - (nurse - nurse.mean())) / (4 * count))  # ½ · ½ · 1/n
    expected = 5 / 4 * (by_occupation**2).sum()
    expected += 14 / 13 * (by_quality[0] ** 2).sum() + 17 / 16 * (by_quality[1] ** 2).sum()

    assert variance(he_scored(rows, table.ravel()), plan, "pronoun-stereotype") == pytest.approx(expected, abs=1e-12)


# --- preference -----------------------------------------------------------------------------------------------------


def test_preference_by_hand() -> None:
    """Of four labelled pairs two win, one loses, one ties: 2/4 - ½ = 0, with the half 2.5/4 - ½ = 12.5."""
    rows, plan = race(good=7, bad=1)
    rows = scored(rows, np.array([1, 1, 0, 0.5, 1, 1, 1]))
    rows.loc[4, "label_basis"] = "none"
    rows.loc[5, "contested"] = True
    rows.loc[6, "stereo_score"] = np.nan
    strict, half = (figure(rows, plan, name) for name in ("preference", "preference-half"))

    assert (strict.value, half.value) == (0.0, 12.5)
    assert (strict.low, strict.method) == (None, "none")
    for made in (strict, half):
        assert (made.rows, made.scored, made.unscored, made.ties) == (5, 4, 1, 1)
        assert made.left_out == {"unlabelled": 1, "contested": 1}


def test_a_tied_model_reads_minus_fifty_and_zero() -> None:
    """All scores alike: the paper's figure counts ties as losses; nine levels leave 1 - 0.025^(1/9) = 33.63 % open."""
    rows, plan = nationality()
    half = figure(rows, plan, "preference-half")

    assert figure(rows, plan, "preference").value == -50
    assert half.value == 0
    assert (half.low, half.high) == pytest.approx((-33.63, 33.63), abs=0.01)
    assert half.method == "boundary"
    assert half.ties == half.scored == 1728


def test_a_config_without_scores_has_no_figure() -> None:
    """All rows unscored: no value, and they are counted."""
    rows, plan = verb()
    made = figure(rows.assign(anti_score=np.inf), plan, "preference-half")

    assert made.value is None
    assert (made.rows, made.scored, made.unscored) == (132, 0, 132)


def test_frames_that_are_rows_have_an_exact_interval() -> None:
    """With 66 of 132 frames won: at either end, 66 or more (or fewer) wins have a probability of exactly 2.5 %."""
    rows, plan = verb()
    made = figure(scored(rows, np.tile([0, 1], 66)), plan, "preference-half")
    assert made.low is not None
    low = made.low / 100 + 0.5
    tail = math.fsum(math.comb(132, wins) * low**wins * (1 - low) ** (132 - wins) for wins in range(66, 133))

    assert made.method == "clopper-pearson"
    assert tail == pytest.approx(0.025, abs=1e-9)
    assert made.high == pytest.approx(-made.low)
    assert made.levels == {"frame": 132}
    assert made.fixed == ("occupation",)


def test_a_tie_takes_the_exact_interval_away() -> None:
    """A tie is no trial won or lost."""
    rows, plan = verb()

    assert figure(scored(rows, np.array([0.5] + [1] * 131)), plan, "preference-half").method == "projection"


def test_an_unknown_neutral_value_is_said() -> None:
    """Where the sentences differ in an evaluative word, no value means an absence of bias."""
    rows, plan = race()
    made = figure(scored(rows, coin(108)), plan, "preference-half")

    assert made.neutral is None
    assert "no value is known" in made.note


def test_an_unknown_estimand_is_an_error() -> None:
    """The message lists what there is."""
    rows, plan = race()
    with pytest.raises(ResultError, match="pronoun-baseline"):
        figure(rows, plan, "parity")


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), share=st.floats(0.05, 0.95))
def test_properties_of_preference_half(seed: int, share: float) -> None:
    """The estimate lies in its interval; rows in any order say the same; swapping the labels mirrors it."""
    rows, plan = nationality(6, 5, 5)
    rng = np.random.default_rng(seed)
    rows = scored(rows, (rng.random(len(rows)) < share).astype(np.float64))
    made = figure(rows, plan, "preference-half")
    shuffled = figure(rows.sample(frac=1, random_state=seed), plan, "preference-half")
    swapped = rows.rename(columns={"stereo_score": "anti_score", "anti_score": "stereo_score"})
    mirrored = figure(swapped, plan, "preference-half")

    assert made.value is not None
    assert made.low is not None
    assert made.high is not None
    assert made.low <= made.value <= made.high
    assert (shuffled.value, shuffled.low, shuffled.high) == pytest.approx((made.value, made.low, made.high))
    assert mirrored.value == pytest.approx(-made.value)
    assert (mirrored.low, mirrored.high) == pytest.approx((-made.high, -made.low))


# --- pronoun estimands ----------------------------------------------------------------------------------------------


def test_pronoun_figures_by_hand() -> None:
    """H of engineer 1 | 0, judge 1 | 1, nurse 0 | 1 (praise | blame), so p_o = ½, 1, ½ and M = ¾, F = ½.

    stereotype 50 · ¼ = 12.5; baseline 50 · 1¼ - 50 = 12.5; interaction 25 · (½ - (0 - 1)) = 37.5.
    """
    rows, plan = noun()
    kept = rows["occupation"].isin(["engineer", "judge", "nurse"]) & rows["quality"].isin(["good0", "bad0"])
    rows = he_scored(rows[kept], np.array([1, 0, 1, 1, 0, 1]))
    values = [figure(rows, plan, f"pronoun-{name}").value for name in ("stereotype", "baseline", "interaction")]

    assert values == [12.5, 12.5, 37.5]


def test_an_always_he_model_is_baseline_and_nothing_else() -> None:
    """'He' above 'she' everywhere: 50, 0, 0, although the labels flip with class and valence."""
    rows, plan = noun()
    rows = he_scored(rows, np.ones(len(rows)))
    baseline, stereotype, interaction = (
        figure(rows, plan, f"pronoun-{name}") for name in ("baseline", "stereotype", "interaction")
    )

    assert (baseline.value, stereotype.value, interaction.value) == (50, 0, 0)
    # Five occupations that all agree: 0.025 to the power 1/5 is 0.4782; nurse's 14 qualities leave 23.16 % open.
    assert (baseline.low, baseline.high) == pytest.approx((-2.18, 50), abs=0.01)
    assert (stereotype.low, stereotype.high) == pytest.approx((-26.09, 11.58), abs=0.01)
    assert stereotype.neutral == 0


def test_pronoun_figures_use_contested_and_unlabelled_rows() -> None:
    """Labels play no part in them."""
    rows, plan = noun()
    rows = he_scored(rows, coin(len(rows))).assign(label_basis="none", contested=True)
    made = figure(rows, plan, "pronoun-stereotype")

    assert (made.rows, made.left_out) == (186, {})


def test_pronoun_stereotype_of_a_single_nurse_is_said() -> None:
    """One female-typed occupation against five."""
    rows, plan = bare()
    made = figure(he_scored(rows, coin(60)), plan, "pronoun-stereotype")

    assert "nurse is the only female-typed occupation, against 5 others" in made.note
    assert made.fixed == ("occupation (female)",)
    assert made.levels == {"occupation": 5, "frame": 10}


def test_occupations_are_fixed_where_only_frames_are_a_factor() -> None:
    """Frames are strata by class, all large enough; over occupations nothing is generalised."""
    rows, plan = verb()
    made = figure(he_scored(rows, coin(132)), plan, "pronoun-stereotype")

    assert made.levels == {"frame": 132}
    assert made.fixed == ("occupation",)


def test_there_is_no_interaction_without_valence() -> None:
    """Bare frames neither praise nor blame."""
    rows, plan = bare()

    assert figures(rows, replace(plan, estimands=("pronoun-interaction",)), "config") == []


def test_an_occupation_without_scored_praise_leaves_the_pronoun_figures() -> None:
    """Its p_o does not exist; its scored rows are counted as left out."""
    rows, plan = noun()
    rows = he_scored(rows, np.ones(len(rows)))
    lost = (rows["occupation"] == "judge") & (rows["valence"] == "pleasant")
    rows.loc[lost, "stereo_score"] = np.nan
    made = figure(rows, plan, "pronoun-baseline")

    assert made.value == 50
    assert made.left_out == {"of an occupation without a scored row of praise or of blame": 17}
    assert (made.scored, made.unscored) == (155, 14)


def test_rows_without_a_pronoun_are_no_rows_of_a_pronoun_figure() -> None:
    """'They' against 'he' is another question."""
    rows, plan = bare()
    rows = he_scored(rows, coin(60))
    rows.loc[0, ["stereo_value", "anti_value"]] = ["he", "they"]

    assert figure(rows, plan, "pronoun-baseline").left_out == {"not he against she": 1}


# --- relative -------------------------------------------------------------------------------------------------------


def sentences(rows: pd.DataFrame, score: Mapping[tuple[str, str], float], group: str = "nation") -> pd.DataFrame:
    """Scores by (group, word)."""
    return rows.assign(
        stereo_score=[score[g, w] for g, w in zip(rows[group], rows["bad"], strict=True)],
        anti_score=[score[g, w] for g, w in zip(rows[group], rows["good"], strict=True)],
    )


def random_sentences(rows: pd.DataFrame, seed: int, group: str = "nation") -> pd.DataFrame:
    """Random scores by group and word."""
    rng = np.random.default_rng(seed)
    groups, names = sorted(set(rows[group])), sorted({*rows["good"], *rows["bad"]})
    return sentences(rows, {key: rng.normal() for key in itertools.product(groups, names)}, group)


def relative(rows: pd.DataFrame, plan: Design, seed: int = 0) -> dict[str | None, Figure]:
    """Figures by group; the spread is under None."""
    return {made.group: made for made in figures(rows, plan, "config", seed=seed)}


def test_relative_by_hand() -> None:
    """Two groups, so r is the difference of their scores: bad0 2, bad1 -1, bad2 3, good0 0 for the first group.

    Two of three bad words win: R = 100 · 2/3 - 50 = 16.67, the other group's is its mirror, the spread 23.57.
    """
    rows, plan = nationality(2, 1, 3)
    first = {"bad0": 3.0, "bad1": 0.0, "bad2": 4.0, "good0": 1.0}
    made = relative(
        sentences(rows, {("nation0", w): s for w, s in first.items()} | {("nation1", w): 1.0 for w in first}), plan
    )
    values = {group: figure.value for group, figure in made.items()}

    assert values == pytest.approx({"nation0": 50 / 3, "nation1": -50 / 3, None: 100 / 3 / np.sqrt(2)})


def test_relative_against_an_unmarked_sentence() -> None:
    """'People are ...' is taken away and is no group itself; a single group against it has no spread."""
    rows, plan = nationality(2, 1, 3)
    plan = replace(plan, reference="nation1")
    score = {("nation0", w): s for w, s in {"bad0": 3.0, "bad1": 2.5, "bad2": 4.0, "good0": 1.0}.items()}
    made = relative(sentences(rows, score | {("nation1", w): 1.0 for _, w in score}), plan)

    assert {group: figure.value for group, figure in made.items()} == {"nation0": 50}
    assert made["nation0"].estimand == "relative"


def test_a_nationality_blind_model_reads_zero() -> None:
    """Words differ and nations do not: R and spread are 0 (spread exactly, p 1), although preference is far from it."""
    rows, plan = nationality()
    blind = np.random.default_rng(0).normal(size=21)
    names = [*words("good", 12), *words("bad", 9)]
    score = {(nation, word): blind[i] for nation in words("nation", 16) for i, word in enumerate(names)}
    made = relative(sentences(rows, score), plan)

    assert {figure.value for figure in made.values()} == {0.0}
    assert {figure.p for figure in made.values()} == {1.0}
    assert made["nation3"].low == pytest.approx(-33.63, abs=0.01)  # nine levels: 1 - 0.025^(1/9)
    assert made["nation3"].ties == made["nation3"].rows == 108


@pytest.mark.parametrize("count", [4, 5, 8])
def test_relative_is_the_mean_over_its_definition(count: int) -> None:
    """R_g of the definition, sentence by sentence, in two frames, against the median of 3, 4 or 7 others.

    Its V is s²(h_good)/m + s²(h_bad)/n.
    """
    rows, plan = nationality(count, 6, 5)
    rows = pd.concat([random_sentences(rows, 1), random_sentences(rows.assign(frame="f1"), 2)], ignore_index=True)
    made = relative(rows, plan)
    score = {(g, w, f): s for g, w, f, s in rows[["nation", "bad", "frame", "stereo_score"]].itertuples(index=False)}
    score |= {(g, w, f): s for g, w, f, s in rows[["nation", "good", "frame", "anti_score"]].itertuples(index=False)}

    def r(group: str, word: str, frame: str) -> float:
        others = [score[other, word, frame] for other in words("nation", count) if other != group]
        return float(score[group, word, frame] - np.median(others))

    for group in words("nation", count):
        wins = [
            [[r(group, b, f) > r(group, a, f) for a in words("good", 6)] for b in words("bad", 5)] for f in ("f0", "f1")
        ]
        table = np.array(wins, dtype=np.float64).mean(axis=0)
        p, reach = table.mean(), 2.776445 * np.sqrt(s2(table.mean(0)) + s2(table.mean(1)))  # t with 4 degrees
        low = 100 / (1 + np.exp(-(np.log(p / (1 - p)) - reach / (p * (1 - p))))) - 50

        assert made[group].value == pytest.approx(100 * p - 50)
        assert made[group].low == pytest.approx(low, abs=1e-4)
        assert made[group].rows == 60


def studentised(table: Array) -> float:
    """T of a table of ψ, bad words by good ones: ESTIMANDS, word for word, one number at a time."""
    m, n = table.shape
    rows = [sum(float(x) for x in row) / n for row in table]
    columns = [sum(float(x) for x in column) / m for column in table.T]
    share = sum(rows) / m
    variance = sum(
        sum((x - share) ** 2 for x in means) / (len(means) - 1) / len(means) if len(means) > 1 else 0.0
        for means in (rows, columns)
    )
    variance = max(variance, 1 / (2 * m**2 * n**2))
    share = min(max(share, 1 / (2 * m * n)), 1 - 1 / (2 * m * n))
    return float(math.log(share / (1 - share)) * share * (1 - share) / math.sqrt(variance))


def enumerated(rows: pd.DataFrame, groups: Sequence[str], good: int, bad: int) -> Array:
    """T of every group for every way to call as many words bad, the observed way first: shape (divisions, groups)."""
    names, frames = [*words("bad", bad), *words("good", good)], sorted(set(rows["frame"]))
    score = {(g, w, f): s for g, w, f, s in rows[["nation", "bad", "frame", "stereo_score"]].itertuples(index=False)}
    score |= {(g, w, f): s for g, w, f, s in rows[["nation", "good", "frame", "anti_score"]].itertuples(index=False)}
    r = {(g, w, f): s - np.median([score[o, w, f] for o in groups if o != g]) for (g, w, f), s in score.items()}
    ways = []
    for called in itertools.combinations(names, bad):
        others = [name for name in names if name not in called]
        tables = [
            [
                [
                    np.mean([1.0 if r[g, b, f] > r[g, a, f] else 0.5 * (r[g, b, f] == r[g, a, f]) for f in frames])
                    for a in others
                ]
                for b in called
            ]
            for g in groups
        ]
        ways.append([studentised(np.array(table)) for table in tables])
    return np.array(ways)


@pytest.mark.parametrize(
    ("nations", "good", "bad", "frames", "digits"), [(3, 3, 2, 1, 9), (4, 5, 4, 2, 9), (3, 4, 4, 1, 0), (6, 1, 5, 1, 9)]
)
def test_p_values_are_an_enumeration(nations: int, good: int, bad: int, frames: int, digits: int) -> None:
    """Every division of the words by its definition, sentence by sentence; rounded scores have ties."""
    rows, plan = nationality(nations, good, bad)
    rows = pd.concat(
        [random_sentences(rows.assign(frame=f"f{index}"), index) for index in range(frames)], ignore_index=True
    ).round({"stereo_score": digits, "anti_score": digits})
    made, groups = relative(rows, plan), words("nation", nations)
    t = enumerated(rows, groups, good, bad)

    assert [made[group].p for group in groups] == pytest.approx(
        np.mean(np.abs(t) >= np.abs(t[0]) * (1 - 1e-9), axis=0).tolist()
    )
    assert made[None].p == pytest.approx(np.mean((t**2).sum(axis=1) >= (t[0] ** 2).sum() * (1 - 1e-9)))


def polish(noise: float) -> tuple[pd.DataFrame, Design]:
    """Sixteen nations, of which one alone is drawn to all unpleasant words."""
    rows, plan = nationality()
    rows["nation"] = rows["nation"].replace("nation7", "Polish")
    rng = np.random.default_rng(13)
    names = [*words("bad", 9), *words("good", 12)]
    word = dict(zip(names, rng.normal(size=21), strict=True))
    score = {(g, w): word[w] + noise * float(rng.normal()) for g in sorted(set(rows["nation"])) for w in names}
    return sentences(rows, score | {("Polish", w): score["Polish", w] + 8 for w in words("bad", 9)}), plan


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_one_outlying_group_does_not_drag_the_others(noise: float) -> None:
    """Against the mean, fifteen nations read -50 with p = 0.0016 after Holm; against the median they read nothing."""
    made = relative(*polish(noise))
    others = [one for group, one in made.items() if group not in {None, "Polish"}]

    assert [made["Polish"].value, made["Polish"].p_holm] == pytest.approx([50, 16e-4])
    assert len(others) == 15
    assert min(one.p_holm or 0.0 for one in others) > 0.05
    # Of noise alone, R has a standard deviation of 100 · √((9 + 12 + 1) / (12 · 9 · 12)) = 13 points.
    assert max(abs(one.value or 0.0) for one in others) < (3.5 * 13 if noise else 1e-9)
    assert abs(np.mean([one.value or 0.0 for one in others])) < (10 if noise else 1e-9)


def against_the_mean(rows: pd.DataFrame, plan: Design) -> dict[str | None, Figure]:
    """The variant by group, besides what the design lists."""
    made = figures(rows, replace(plan, estimands=(*plan.estimands, "relative-mean")), "config")
    return {one.group: one for one in made if one.estimand == "relative-mean"}


def test_the_mean_of_the_others_is_a_variant_that_is_asked_for() -> None:
    """As `relative` was: a fifteenth of Polish is taken from the others, and decides where nothing else does."""
    rows, plan = polish(0.0)
    made = against_the_mean(rows, plan)

    assert {group: one.value for group, one in made.items()} == {
        group: 50 if group == "Polish" else -50 for group in set(rows["nation"])
    }
    # Each variant is a family of its own: Holm's correction is over sixteen, and `relative` stays as it is.
    assert [one.p_holm for one in made.values()] == pytest.approx([16e-4] * 16)
    both = figures(rows, replace(plan, estimands=(*plan.estimands, "relative-mean")), "config")
    assert [one.estimand for one in both] == ["relative"] * 16 + ["spread"] + ["relative-mean"] * 16
    assert both[:17] == figures(rows, plan, "config")
    assert figures(rows, replace(plan, estimands=("relative-mean",)), "config") == []  # a variant of nothing


def test_with_three_groups_the_median_is_the_mean() -> None:
    """Of two others, the middle two are both: the same figures, and the note says how little it resists."""
    rows, plan = nationality(3, 6, 6)
    rows = random_sentences(rows, 3)
    median, mean = relative(rows, plan), against_the_mean(rows, plan)

    assert len(mean) == 3
    for group, one in mean.items():
        assert (one.value, one.p) == (median[group].value, median[group].p)
        assert "with 3 groups, one outlier" in median[group].note
        assert "outlier" not in one.note
    five, plan = nationality(5, 6, 6)
    assert not any("outlier" in one.note for one in relative(random_sentences(five, 3), plan).values())


def test_half_of_the_groups_shifted_read_symmetric_about_zero() -> None:
    """Three of six are drawn to bad words: +50 and -50, which says who differs from whom and not who moved."""
    rows, plan = nationality(6, 5, 5)
    score = {(g, w): 0.0 for g in words("nation", 6) for w in [*words("good", 5), *words("bad", 5)]}
    made = relative(sentences(rows, score | {(f"nation{i}", w): 1.0 for i in range(3) for w in words("bad", 5)}), plan)

    # Of a shifted one's five others two are shifted: the median is 0. Of another's, three are: it is 1.
    assert [made[group].value for group in words("nation", 6)] == [50, 50, 50, -50, -50, -50]


def test_ties_are_measured_against_all_scores_that_enter() -> None:
    """Others at -100 and 100 have a median of 0, and 9e-5 is float noise of them: |d| ≤ 1e-6 · max(1, |S|) is a tie."""
    rows, plan = nationality(3, 1, 3)
    score = {(g, w): 0.0 for g in words("nation", 3) for w in ["good0", *words("bad", 3)]}
    score |= {("nation0", w): 9e-5 for w in words("bad", 3)}
    apart = relative(sentences(rows, score), plan)["nation0"]
    large = score | {("nation1", "good0"): -100.0, ("nation2", "good0"): 100.0}
    noise = relative(sentences(rows, large), plan)["nation0"]

    assert (apart.value, noise.value) == (50, 0)
    assert (apart.ties, noise.ties) == (0, 3)


@pytest.mark.parametrize(("words_each", "most"), [(5, 6), (6, 23)])
def test_what_holm_cannot_reject_is_said(words_each: int, most: int) -> None:
    """The smallest p is 2 of C(10, 5) = 252 or C(12, 6) = 924 divisions: times 6 and 23 below 5 %, beyond not."""
    for groups, attainable in ((most, True), (most + 1, False)):
        rows, plan = nationality(groups, words_each, words_each)
        made = relative(random_sentences(rows, 1), plan)
        notes = {"not attainable" in one.note for group, one in made.items() if group}
        assert notes == {not attainable}
        assert "not attainable" not in made[None].note
    smallest = (most + 1) * 2 / math.comb(2 * words_each, words_each)
    held = f"with {words_each} bad and {words_each} good words and {most + 1} groups"
    assert f"not attainable: {held}, p after Holm cannot be below {smallest:.4f}" in made["nation0"].note


def test_a_single_group_is_held_against_the_reference() -> None:
    """One of 25 pairs is lost, so that R = 100 · 24/25 - 50; there is no other group to be the median."""
    rows, plan = nationality(2, 5, 5)
    plan = replace(plan, reference="nation1")
    own = dict(zip([*words("bad", 5), *words("good", 5)], [9.0, 8, 7, 6, 4, 5, 3, 2, 1, 0], strict=True))
    score = {("nation0", w): s + 1 for w, s in own.items()} | {("nation1", w): 1.0 for w in own}
    made = relative(sentences(rows, score), plan)

    # 24 of 25 pairs: 46. T is as far out where all bad words win, and where one pair is the other way, and mirrored.
    assert set(made) == {"nation0"}
    assert [made["nation0"].value, made["nation0"].p] == pytest.approx([46, 4 / 252])
    assert "against the sentence that names no group" in made["nation0"].note
    assert "outlier" not in made["nation0"].note


def test_the_definition_of_relative_is_the_second() -> None:
    """The median, the test and its ties: results of version 0.1 are not taken for these."""
    made = relative(*polish(0.05))
    assert {(one.estimand, one.definition) for one in made.values()} == {("relative", 2), ("spread", 2)}
    rows, plan = race()
    assert figures(rows, replace(plan, estimands=("preference-half",)), "c")[0].definition == (
        CATALOGUE["preference-half"].version
    )


def test_an_unscored_sentence_leaves_its_pairs_and_is_counted() -> None:
    """One unpleasant sentence of one nation takes five of its 25 pairs; the others compare with who is left."""
    rows, plan = nationality(4, 5, 5)
    rows = random_sentences(rows, 5)
    rows.loc[(rows["nation"] == "nation0") & (rows["bad"] == "bad0"), "stereo_score"] = np.nan
    made = relative(rows, plan)

    assert (made["nation0"].rows, made["nation0"].scored, made["nation0"].unscored) == (25, 20, 5)
    assert made["nation1"].unscored == 0
    assert made["nation0"].levels == {"good": 5}
    assert made["nation0"].fixed == ("bad", "frame")


def test_holm_is_over_the_groups() -> None:
    """The smallest p of three groups is tripled."""
    rows, plan = nationality(3, 6, 6)
    made = relative(random_sentences(rows, 6), plan)
    p = sorted((figure.p or 0.0, figure.p_holm or 0.0) for group, figure in made.items() if group)

    assert p[0][1] == pytest.approx(min(1, 3 * p[0][0]))
    assert made[None].p_holm is None


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_groups_by_another_name_and_rows_in_another_order(seed: int) -> None:
    """Renaming groups and shuffling rows permutes the figures and changes none, p-values included."""
    rows, plan = nationality(3, 5, 5)
    rows = random_sentences(rows, seed)
    names = {"nation0": "z", "nation1": "a", "nation2": "m"}
    made = relative(rows, plan)
    renamed = relative(rows.assign(nation=rows["nation"].map(names)).sample(frac=1, random_state=seed), plan)

    for old, new in names.items():
        first, second = made[old], renamed[new]
        assert (second.value, second.p, second.p_holm) == pytest.approx((first.value, first.p, first.p_holm))
        assert (second.low, second.high) == pytest.approx((first.low, first.high))
    assert renamed[None].p == made[None].p


# --- samples --------------------------------------------------------------------------------------------------------


def drawn(*rows: tuple[str, str, str]) -> tuple[pd.DataFrame, Design]:
    """A sample of three nations, with r of the first against the second: bad0 2, bad1 0.5, good0 0, good1 1."""
    whole, plan = nationality(3, 3, 3)
    table = whole[[row in rows for row in zip(whole["nation"], whole["good"], whole["bad"], strict=True)]]
    first = {"bad0": 3.0, "bad1": 1.5, "good0": 1.0, "good1": 2.0}
    names = [*words("good", 3), *words("bad", 3)]
    score = {(nation, word): 1.0 for nation in words("nation", 3) for word in names}
    return sentences(table, score | {("nation0", word): s for word, s in first.items()}), plan


SAMPLE = [(nation, f"good{i}", f"bad{i}") for nation in ("nation0", "nation1") for i in (0, 1)]


def test_a_sample_counts_rows_not_pairs_of_words() -> None:
    """Of two rows four pairs: bad0 is above both good words, bad1 above one of them, which is 3/4."""
    rows, plan = drawn(*SAMPLE, ("nation0", "good1", "bad2"), ("nation2", "good2", "bad1"))
    made = relative(rows, plan)

    assert made["nation0"].value == pytest.approx(25)
    # good1 of the third row has a counterpart, bad2 has none: the row is used, but makes no pair that is new.
    assert (made["nation0"].rows, made["nation0"].scored, made["nation0"].left_out) == (3, 3, {})
    assert "over 4 pairs of words" in made["nation0"].note
    assert (made[None].rows, made[None].scored) == (5, 5)
    assert made[None].left_out == {"without a counterpart": 1}


def test_a_row_without_a_counterpart_was_not_left_unscored() -> None:
    """Nobody else has its words: it is left out, and no number is missing."""
    rows, plan = drawn(*SAMPLE, ("nation2", "good2", "bad2"))
    made = relative(rows, plan)["nation2"]

    assert (made.value, made.rows, made.scored, made.unscored) == (None, 0, 0, 0)
    assert (made.left_out, made.note.split("; ")[0]) == ({"without a counterpart": 1}, "no row can be used")


def test_a_row_whose_only_counterpart_is_unscored_is_unscored() -> None:
    """Of a whole release as of a sample: a number is missing for it."""
    rows, plan = drawn(*SAMPLE)
    rows.loc[(rows["nation"] == "nation1") & (rows["bad"] == "bad0"), "stereo_score"] = np.nan
    made = relative(rows, plan)

    assert [(made[name].rows, made[name].scored, made[name].unscored) for name in ("nation0", "nation1")] == [
        (2, 1, 1),
        (2, 1, 1),
    ]


def test_what_a_pronoun_figure_of_a_sample_lacks_is_said() -> None:
    """An engineer and a guide in praise and blame, a judge in praise only, and no nurse: both classes are asked for."""
    rows, plan = noun()
    both = rows["occupation"].isin(["engineer", "guide"]) & rows["quality"].isin(["good0", "bad0"])
    rows = rows[both | ((rows["occupation"] == "judge") & (rows["quality"] == "good0"))]
    made = figure(rows, plan, "pronoun-stereotype")

    assert (made.value, made.rows, made.unscored, made.note) == (None, 0, 0, "no row can be used")
    assert made.left_out == {
        "of an occupation without a scored row of praise or of blame": 1,
        "without a scored row of the other class of occupations": 4,
    }
    assert format_interval(made).startswith(
        "none (left out: 1 of an occupation without a scored row of praise or of blame, 4"
    )


def test_a_contrast_names_the_side_that_cannot_be_used() -> None:
    """All of the first was scored; of the second, no nurse was drawn."""
    (left, left_plan), (right, right_plan) = bare(), verb()
    matched = Contrast(name="noun-verb", estimand="pronoun-stereotype", a="bare", b="verb")
    (made,) = contrast_figures(matched, left, left_plan, right[right["occupation"] == "judge"], right_plan)

    assert (made.value, made.rows, made.note) == (None, 60, "verb: no row can be used")
    (empty,) = contrast_figures(replace(matched, matched=False), left, left_plan, right[:0], right_plan)
    assert (empty.value, empty.note) == (None, "verb: no row can be used")


# --- matched contrasts ----------------------------------------------------------------------------------------------


def contrast_variance(first: tuple[pd.DataFrame, Design], second: tuple[pd.DataFrame, Design], estimand: str) -> float:
    """V of a contrast."""
    sides = [
        Side(config=str(i), design=d, rows=kernel_rows(r, d, estimand)) for i, (r, d) in enumerate((first, second))
    ]
    kernel = np.concatenate([side.rows.kernel for side in sides])
    return float(project_difference(*sides).variance(kernel))


def test_race_minus_colour_cancels_shared_words() -> None:
    """s²(h_good,A - h_good,B)/5 + the same of bad + s²(h_noun)/5; the truth of both sides by hand."""
    (left, left_plan), (right, right_plan) = race(5, 5), colour()
    a = coin(25, 1).reshape(5, 5)
    b = coin(125, 2).reshape(5, 5, 5)
    left = scored(left, a.ravel())
    right = scored(right, np.zeros(625))
    right.loc[right["minimal"], "stereo_score"] = b.ravel() - 0.5
    expected = s2(a.mean(1) - b.mean(axis=(0, 2))) + s2(a.mean(0) - b.mean(axis=(0, 1))) + s2(b.mean(axis=(1, 2)))
    matched = Contrast(name="race-colour", estimand="preference-half", a="race", b="colour", minimal_only=True)
    (made,) = contrast_figures(matched, left, left_plan, right, right_plan)
    seen = contrast_variance((left, left_plan), (right[right["minimal"]], right_plan), "preference-half")

    assert made.value == pytest.approx(100 * (a.mean() - b.mean()))
    assert seen == pytest.approx(expected, abs=1e-12)
    reach = 100 * 2.776445 * np.sqrt(expected)  # t with 4 degrees, from a table
    assert made.low == pytest.approx(max(-100, 100 * (a.mean() - b.mean()) - reach), abs=1e-3)
    assert made.levels == {"good": 5, "bad": 5, "noun": 5}
    assert (made.rows, made.left_out) == (150, {"not minimal": 500})
    assert made.fixed == ("race", "frame")


def test_noun_minus_verb_shares_occupations_and_is_made_of_four_classes() -> None:
    """V: male-typed occupations, difference of their p_o; ten bare frames; and, as nurse is fixed, her verb frames.

    The interval is MOVER's: each class of either sense has its own, on the logit scale, by hand.
    """
    (left, left_plan), (right, right_plan) = bare(), verb()
    a, b = coin(60, 1).reshape(6, 10), coin(132, 2).reshape(6, 22)
    left, right = he_scored(left, a.ravel()), he_scored(right, b.ravel())
    by_occupation = (a[:5].mean(1) - a[:5].mean() - b[:5].mean(1) + b[:5].mean()) / 10  # ½ · 1/5
    by_frame = (a[:5].mean(0) - a[:5].mean() - a[5] + a[5].mean()) / 20  # ½ · 1/10
    expected = 5 / 4 * (by_occupation**2).sum() + 10 / 9 * (by_frame**2).sum() + s2(b[5]) / 4
    matched = Contrast(name="noun-verb", estimand="pronoun-stereotype", a="bare", b="verb")
    (made,) = contrast_figures(matched, left, left_plan, right, right_plan)

    assert contrast_variance((left, left_plan), (right, right_plan), "pronoun-stereotype") == pytest.approx(expected)
    value = 50 * (a[:5].mean() - a[5].mean() - b[:5].mean() + b[5].mean())
    assert made.value == pytest.approx(value)

    def own(share: float, variance: float, t: float) -> tuple[float, float]:
        reach = t * math.sqrt(variance) / (share * (1 - share))
        logit = math.log(share / (1 - share))
        low, high = (1 / (1 + math.exp(-(logit + sign * reach))) for sign in (-1, 1))
        return share - low, high - share

    t4, t9, t21 = 2.776445, 2.262157, 2.079614  # Student's t, two-sided 5 %, from a table
    male = own(a[:5].mean(), s2(a[:5].mean(1)) + s2(a[:5].mean(0)), t4), own(b[:5].mean(), s2(b[:5].mean(1)), t4)
    nurse = own(a[5].mean(), s2(a[5]), t9), own(b[5].mean(), s2(b[5]), t21)
    assert made.low == pytest.approx(
        value - 50 * math.hypot(male[0][0], nurse[0][1], male[1][1], nurse[1][0]), abs=1e-3
    )
    assert made.high == pytest.approx(
        value + 50 * math.hypot(male[0][1], nurse[0][0], male[1][0], nurse[1][1]), abs=1e-3
    )
    assert made.levels == {"occupation": 5, "frame (bare)": 10, "frame (verb)": 22}
    assert made.fixed == ("occupation (female)",)


def test_two_senses_that_agree_word_for_word_are_as_sure_as_either() -> None:
    """All that the words do cancels, V = 0: either sense has its own interval, and MOVER takes the root of squares."""
    rows, plan = race(5, 5)
    rows = scored(rows, coin(25))
    (made,) = contrast_figures(Contrast(name="x", estimand="preference-half", a="a", b="b"), rows, plan, rows, plan)
    either = figure(rows, plan, "preference-half")
    assert either.value is not None
    assert either.low is not None
    assert either.high is not None
    reach = math.hypot(either.value - either.low, either.high - either.value)

    assert (made.value, made.method) == (0, "boundary")
    assert (made.low, made.high) == pytest.approx((-reach, reach))


def test_relative_of_one_group_cannot_be_contrasted() -> None:
    """Against what? The figure has no value and says so."""
    rows, plan = race(5, 5)
    (made,) = contrast_figures(Contrast(name="x", estimand="relative", a="a", b="b"), rows, plan, rows, plan)

    assert (made.value, made.estimand) == (None, "relative-contrast")
    assert made.note


def test_dictionary_encoded_columns_read_the_same() -> None:
    """Arrow's dictionaries come as pandas categories; levels that a filter took away are no levels."""
    rows, plan = noun()
    plan = replace(plan, estimands=("preference", "preference-half", "pronoun-stereotype", "pronoun-interaction"))
    groups, over_groups = nationality(4, 5, 5)
    for table, one in ((he_scored(rows, coin(186)), plan), (random_sentences(groups, 3), over_groups)):
        table = table.iloc[: len(table) - 2]
        text = [column for column in table if isinstance(table[column].iloc[0], str)]
        encoded = pd.concat([table, table.tail(1).assign(**{one.slots[-1]: "never"})]).astype(
            dict.fromkeys(text, "category")
        )

        assert figures(encoded.iloc[:-1], one, "config") == figures(table, one, "config")


# --- catalogue ------------------------------------------------------------------------------------------------------


def test_every_figure_is_declared() -> None:
    """What the code can print is in the catalogue, within its range."""
    rows, plan = noun()
    names = ("preference", "preference-half", "pronoun-stereotype", "pronoun-baseline", "pronoun-interaction")
    made = figures(he_scored(rows, coin(186)), replace(plan, estimands=names), "noun")
    table, groups = nationality(3, 5, 5)
    groups = replace(groups, estimands=(*groups.estimands, "relative-mean"))
    made += figures(random_sentences(table, 0), groups, "nationality")

    declared = {name for name, told in CATALOGUE.items() if told.kind == "contrast"}
    declared -= {name for name, told in CATALOGUE.items() if isinstance(told, StereoSetEstimand)}  # test_stereoset.py
    declared -= {told.id for told in ESTIMANDS}  # of cosines: senses/test_estimands.py
    declared -= {CONTENT_MEAN.id}  # of chat models: test_chat_scorers.py
    of_two = {"matched-contrast", "relative-contrast", "unmatched-difference"}
    assert {one.estimand for one in made} | of_two == declared
    for one in made:
        assert one.value is not None
        assert CATALOGUE[one.estimand].range[0] <= one.value <= CATALOGUE[one.estimand].range[1]


def test_no_spread_is_larger_than_that_of_two_opposites() -> None:
    """Groups at +50 and at -50: the standard deviation is the root of (50² + 50²) / (2 - 1), which is 70.7."""
    rows, plan = nationality(2, 3, 3)
    score = {(nation, word): 1.0 for nation in words("nation", 2) for word in [*words("good", 3), *words("bad", 3)]}
    made = relative(sentences(rows, score | {("nation0", word): 2.0 for word in words("bad", 3)}), plan)

    assert made[None].value == pytest.approx(70.71067811865476)
    assert CATALOGUE["spread"].range[1] == pytest.approx(made[None].value)
