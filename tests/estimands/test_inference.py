"""Estimands of inference against hand calculations, the interval rule written out by loops, and known models."""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from tests.profiles import examples

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import CATALOGUE, figures, kernel_rows, lookup
from senseprobe.evaluate.estimands.comparison import compare
from senseprobe.evaluate.estimands.inference_rows import fillers
from senseprobe.evaluate.estimands.slices import extremes, parse_slice, slice_figures, slice_rows
from senseprobe.records import Design, Factor, Figure, LevelPair
from senseprobe.release.release import open_release

Array = NDArray[np.float64]
RELEASES = Path(__file__).parents[2] / "releases"
LABELS = ["entailment", "neutral", "contradiction"]
PEOPLE = {
    "man": ("male", "man-woman"),
    "woman": ("female", "man-woman"),
    "guy": ("male", "guy-girl"),
    "girl": ("female", "guy-girl"),
    "gentleman": ("male", "gentleman-lady"),
    "lady": ("female", "gentleman-lady"),
}
# Objects of a verb, as in Dev et al.: who eats takes food, who drives takes vehicles.
ACTIVITIES = [(verb, thing) for verb in ("ate", "cooked", "bought") for thing in ("apple", "soup", "cake")]
ACTIVITIES += [(verb, thing) for verb in ("drove", "crashed", "bought") for thing in ("car", "van", "bus")]


# --- tables ---------------------------------------------------------------------------------------------------------


def occupations(count: int = 6, people: Sequence[str] = tuple(PEOPLE)) -> tuple[pd.DataFrame, Design]:
    """Occupations against gendered words, each in 18 activities, as in nli-occupation."""
    cells = itertools.product(ACTIVITIES, [f"job{i}" for i in range(count)], people)
    rows = pd.DataFrame([(*act, job, who, *PEOPLE[who]) for act, job, who in cells], dtype=object)
    rows.columns = pd.Index(["verb", "object", "occupation", "person", "gender", "pair"])
    rows["frame"], rows["gold"] = np.where(rows["object"].isin(["car", "van", "bus"]), "f1", "f0"), "neutral"
    roles = {"premise": {"subject": "occupation"}, "hypothesis": {"subject": "person"}}
    return rows, design(("occupation", "person", "verb", "object"), roles, ("nn", "fn", "t@0.5", "t@0.7", "gap"))


def controls(count: int = 6) -> tuple[pd.DataFrame, Design]:
    """Occupations against claims that follow or cannot be, as in nli-control."""
    claims = {
        "A person": "entailment",
        "Someone": "entailment",
        "No person": "contradiction",
        "Nobody": "contradiction",
    }
    cells = itertools.product(ACTIVITIES, [f"job{i}" for i in range(count)], claims)
    rows = pd.DataFrame([(*act, job, claim, claims[claim]) for act, job, claim in cells], dtype=object)
    rows.columns = pd.Index(["verb", "object", "occupation", "claim", "gold"])
    rows["frame"] = "f0"
    roles = {"premise": {"opening": "text/The ", "subject": "occupation"}, "hypothesis": {"subject": "claim"}}
    return rows, design(("occupation", "claim", "verb", "object"), roles, ("accuracy",))


def design(factors: Sequence[str], roles: Mapping[str, Mapping[str, str]], estimands: tuple[str, ...]) -> Design:
    """An inference design whose slots are its factors."""
    return Design(
        kind="inference",
        sense_type="",
        bias_type="bias",
        slots=tuple(factors),
        roles=roles,
        factors=tuple(Factor(name=name, columns=(name,)) for name in factors),
        columns=(("gender", "string"), ("pair", "string")),
        estimands=estimands,
    )


def scored(rows: pd.DataFrame, p: Array) -> pd.DataFrame:
    """The rows with probabilities of shape (N, 3)."""
    return rows.assign(**dict(zip(LABELS, p.T, strict=True)))


def random_model(rows: pd.DataFrame, seed: int = 0, spread: float = 1.0) -> pd.DataFrame:
    """Probabilities with effects of each word, and of each row."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(len(rows), 3)) * spread
    for column in ("verb", "object", rows.columns[2], rows.columns[3]):
        codes, words = pd.factorize(rows[column])
        logits += spread * rng.normal(size=(len(words), 3))[codes]
    odds = np.exp(logits)
    return scored(rows, odds / odds.sum(axis=1, keepdims=True))


def one(made: Sequence[Figure], estimand: str, group: str | None = None) -> Figure:
    """The one figure so called."""
    (found,) = (figure for figure in made if (figure.estimand, figure.group) == (estimand, group))
    return found


def assert_ends(figure: Figure, low: float | None, high: float | None) -> None:
    """Its interval is from `low` to `high`."""
    assert figure.low == pytest.approx(low, abs=1e-9)
    assert figure.high == pytest.approx(high, abs=1e-9)


# --- by hand --------------------------------------------------------------------------------------------------------


def by_hand() -> tuple[pd.DataFrame, Design]:
    """Two occupations, one pair of words, two activities: eight rows, one of them unscored."""
    rows, plan = occupations(2, ("man", "woman"))
    rows = rows[rows["verb"].isin(["ate", "drove"]) & rows["object"].isin(["apple", "car"])].reset_index(drop=True)
    assert rows[["verb", "occupation", "person"]].agg(" ".join, axis=1).tolist() == [
        *("ate job0 man", "ate job0 woman", "ate job1 man", "ate job1 woman"),
        *("drove job0 man", "drove job0 woman", "drove job1 man", "drove job1 woman"),
    ]
    p = [
        *((0.40, 0.40, 0.20), (0.10, 0.80, 0.10), (0.30, 0.50, 0.20), (0.25, 0.50, 0.25)),
        *((0.60, 0.30, 0.10), (0.20, 0.70, 0.10), (0.10, 0.75, 0.15), (math.nan, 0.90, 0.10)),
    ]
    return scored(rows, np.array(p)), plan


def test_figures_by_hand() -> None:
    """Ties count as neutral, thresholds are strict, and a row without all three probabilities is counted out."""
    made = figures(*by_hand(), "activities")
    # n: .4 .8 .5 .5 .3 .7 .75, the eighth row is unscored.
    assert one(made, "nn").value == pytest.approx(100 * 3.95 / 7)
    # All but the fifth row (.6 on entailment); the first is a tie.
    assert one(made, "fn").value == pytest.approx(100 * 6 / 7)
    assert one(made, "fn").ties == 1
    # .8 .7 .75, not .5
    assert one(made, "t@0.5").value == pytest.approx(100 * 3 / 7)
    # .8 .75, not .7
    assert one(made, "t@0.7").value == pytest.approx(100 * 2 / 7)
    # Pairs of fillers: job0 man .35, job0 woman .75, job1 man .625, job1 woman .5.
    assert one(made, "nn-filler").value == pytest.approx(100 * (0.35 + 0.75 + 0.625 + 0.5) / 4)
    assert one(made, "t@0.5-filler").value == pytest.approx(50)
    assert one(made, "t@0.7-filler").value == pytest.approx(25)
    # Man less woman: job0 .3 (ate) and .4 (drove), job1 .05 (ate); of job1 drove the woman is unscored.
    assert one(made, "gap").value == pytest.approx(100 * (0.3 + 0.4 + 0.05) / 3)
    assert one(made, "gap", "job0").value == pytest.approx(35)
    assert one(made, "gap", "job1").value == pytest.approx(5)
    for estimand in ("nn", "fn", "t@0.5", "nn-filler", "t@0.7-filler"):
        figure = one(made, estimand)
        assert (figure.rows, figure.scored, figure.unscored) == (8, 7, 1)
    gap = one(made, "gap")
    assert (gap.rows, gap.scored, gap.unscored) == (7, 6, 1)
    assert gap.left_out == {"without a scored counterpart": 1}
    assert [figure.estimand for figure in made[:8]] == [
        *("nn", "nn-filler", "fn", "t@0.5", "t@0.5-filler", "t@0.7", "t@0.7-filler", "gap"),
    ]


def test_accuracy_by_hand() -> None:
    """The gold label is to be the most probable; of k most probable labels, each is right with 1 / k."""
    rows, plan = controls(1)
    gold = ("entailment", "entailment", "contradiction", "contradiction", None)
    rows = rows[:5].assign(gold=pd.Series(gold, dtype=object))
    p = [(0.8, 0.1, 0.1), (0.4, 0.4, 0.2), (1 / 3, 1 / 3, 1 / 3), (0.1, 0.8, 0.1), (0.8, 0.1, 0.1)]
    made = figures(scored(rows, np.array(p)), plan, "occupation")
    assert one(made, "accuracy").value == pytest.approx(100 * (1 + 1 / 2 + 1 / 3 + 0) / 4)
    assert one(made, "accuracy", "entailment").value == pytest.approx(75)
    assert one(made, "accuracy", "contradiction").value == pytest.approx(100 / 6)
    assert (one(made, "accuracy").ties, one(made, "accuracy").left_out) == (2, {"unlabelled": 1})


def test_the_released_code_can_print_more_above_a_half_than_are_neutral() -> None:
    """T:0.5 above FN, as in tables 3, 5 and 9: impossible by the paper's definition, not by its code."""
    rows, plan = occupations(1, ("man", "woman"))
    n = np.where(rows["verb"].isin(["ate", "drove"]), 0.97, 0.4)
    made = figures(scored(rows, np.stack([1 - n, n, 0 * n], axis=1)), plan, "activities")
    # By hand: 6 of the 18 activities are neutral; the mean of n is (6 · .97 + 12 · .4) / 18 = .59 for each pair.
    assert one(made, "fn").value == one(made, "t@0.5").value == pytest.approx(100 / 3)
    assert one(made, "t@0.5-filler").value == 100


def test_the_released_code_rounds_first() -> None:
    """Probabilities are rounded to 4 decimals before the threshold: 0.50004 is not above a half, 0.50006 is."""
    rows, plan = occupations(1, ("man", "woman"))
    n = np.where(rows["person"] == "man", 0.50004, 0.50006)
    made = figures(scored(rows, np.stack([1 - n, n, 0 * n], axis=1)), plan, "activities")
    assert one(made, "t@0.5").value == 100
    assert one(made, "t@0.5-filler").value == 50
    assert one(made, "nn-filler").value == pytest.approx(100 * (0.5 + 0.5001) / 2)


def test_gap_takes_pairs_of_sentences_alike() -> None:
    """Each pair of sentences counts once, however many words of a gender it has; others than the two genders none."""
    rows, plan = occupations(1, ("man", "woman", "guy", "girl"))
    rows = rows[(rows["verb"] == "ate") & (rows["object"] == "apple")]
    more = rows[rows["person"] == "man"].assign(person="bloke")
    other = rows[rows["person"] == "man"].assign(person="person", gender=None, pair=None)
    rows = pd.concat([rows, more, other], ignore_index=True)
    assert rows["person"].tolist() == ["man", "woman", "guy", "girl", "bloke", "person"]
    e = np.array([0.5, 0.1, 0.2, 0.3, 0.9, 1.0])
    made = figures(scored(rows, np.stack([e, 1 - e, 0 * e], axis=1)), plan, "activities")
    # By hand: man and bloke .7 less woman .1 is .6; guy .2 less girl .3 is -.1; their mean is .25.
    assert one(made, "gap").value == pytest.approx(25)
    assert one(made, "gap").left_out == {"of no gender": 1}


def test_gap_finds_the_gendered_words_in_the_premise_too() -> None:
    """Which sentence has the gendered word is told by its columns; groups are the fillers of the other one."""
    rows, plan = occupations(3)
    rows = random_model(rows)
    there = figures(rows, plan, "activities")
    turned = replace(plan, roles={"premise": plan.roles["hypothesis"], "hypothesis": plan.roles["premise"]})
    assert figures(rows, turned, "activities") == there
    assert [figure.group for figure in there if figure.estimand == "gap"] == [None, "job0", "job1", "job2"]


@pytest.mark.parametrize(
    ("change", "told"),
    [({"gender": None}, "no column 'gender'"), ({"pair": None}, "no column 'pair'")],
)
def test_gap_needs_its_columns(change: dict[str, None], told: str) -> None:
    """Without a column that says which words are gendered there is no gap."""
    rows, plan = occupations(2)
    with pytest.raises(ResultError, match=told):
        figures(random_model(rows).drop(columns=list(change)), plan, "activities")


def test_gap_needs_words_that_are_gendered() -> None:
    """Where no slot's words have one gender each, nothing can be set against anything."""
    rows, plan = occupations(2)
    rows = rows.assign(gender=np.resize(["male"] * 6 + ["female"] * 7, len(rows)))
    with pytest.raises(ResultError, match="no slot's words each belong to one gender"):
        figures(random_model(rows), plan, "activities")


@pytest.mark.parametrize("count", [1, 2, 5, 10, 20, 40, 80, 160])
def test_gap_of_a_sample_is_of_true_pairs(count: int) -> None:
    """In few rows other words stand with one gender by chance; pairs are sentences alike in all but the person."""
    rows, plan = occupations(6)
    rows, plan = random_model(rows, seed=count), replace(plan, estimands=("gap",))
    for seed in range(examples(20, few=5)):  # each finds its pairs anew
        drawn = rows.sample(count, random_state=seed)
        alike = drawn.groupby(["frame", "verb", "object", "occupation", "pair"])
        apart = [
            part.loc[part["gender"] == "male", "entailment"].mean()
            - part.loc[part["gender"] == "female", "entailment"].mean()
            for _, part in alike
            if {*part["gender"]} == {"male", "female"}
        ]
        gap = one(figures(drawn, plan, "activities"), "gap")
        if apart:
            assert gap.value == pytest.approx(100 * sum(apart) / len(apart))
        else:
            assert (gap.value, gap.low, gap.p) == (None, None, None)
            assert gap.note.startswith("no sentence was scored together with its counterpart of the other gender")
            assert gap.left_out == {"without a scored counterpart": count}


def test_gap_of_two_sentences_that_differ_in_their_objects() -> None:
    """The nurse and an apple, the nurse and a cake: a man's sentence and a woman's, and no pair."""
    rows, plan = occupations(1, ("man", "woman"))
    ate = rows["verb"] == "ate"
    man = rows[ate & (rows["person"] == "man") & (rows["object"] == "apple")]
    woman = rows[ate & (rows["person"] == "woman") & (rows["object"] == "cake")]
    drawn = scored(pd.concat([man, woman]), np.array([(0.9, 0.05, 0.05), (0.1, 0.8, 0.1)]))
    assert one(figures(drawn, plan, "activities"), "gap").value is None


def pronouns() -> tuple[pd.DataFrame, Design]:
    """Occupations against he, she and they, as nli-occupation's pronouns, with gaps of words and of a column."""
    rows, plan = occupations(3, ("man", "woman", "guy"))
    rows = rows.assign(person=rows["person"].map({"man": "he", "woman": "she", "guy": "they"}), pair="all")
    rows["gender"] = rows["person"].map({"he": "named", "she": "named", "they": "none"})
    gaps = {
        "he-they": LevelPair(slot="person", column="person", first="he", second="they"),
        "named": LevelPair(slot="person", column="gender", first="named", second="none", pair="pair"),
    }
    estimands = ("nn", "gap:he-they", "gap:named")
    return rows, replace(plan, gaps=gaps, estimands=estimands)


def test_gaps_that_a_template_declares_are_of_its_words() -> None:
    """By hand: he .5, she .2, they .1 everywhere, but .4 for they and job0: he less they .4, and of job0 .1."""
    rows, plan = pronouns()
    e = rows["person"].map({"he": 0.5, "she": 0.2, "they": 0.1}).to_numpy(dtype=float)
    e = np.where((rows["person"] == "they") & (rows["occupation"] == "job0"), 0.4, e)
    made = figures(scored(rows, np.stack([e, 1 - e, 0 * e], axis=1)), plan, "pronouns")
    assert one(made, "gap:he-they").value == pytest.approx(100 * (0.1 + 0.4 + 0.4) / 3)
    assert one(made, "gap:he-they", "job0").value == pytest.approx(10)
    assert one(made, "gap:he-they").left_out == {"of another person": 54}  # she, in 18 activities of three jobs
    # he and she are .35 on average, they .1 or .4: -.05 for job0, else .25.
    assert one(made, "gap:named").value == pytest.approx(100 * (-0.05 + 0.25 + 0.25) / 3)
    assert one(made, "gap:named", "job0").value == pytest.approx(-5)
    assert one(made, "gap:named").left_out == {}
    assert [figure.group for figure in made if figure.estimand == "gap:named"] == [None, "job0", "job1", "job2"]


def test_a_declared_gap_is_that_of_a_naive_loop() -> None:
    """Mean over sentences alike of e(he) - e(they); its rule is that of `gap` on the same two words."""
    rows, plan = pronouns()
    rows = random_model(rows, 3)
    table = rows.pivot_table(index=["verb", "object", "occupation"], columns="person", values="entailment")
    made = figures(rows, plan, "a")
    assert one(made, "gap:he-they").value == pytest.approx(100 * float((table["he"] - table["they"]).mean()))
    two = rows[rows["person"] != "she"].assign(gender=rows["person"].map({"he": "male", "they": "female"}))
    alone = one(figures(two, replace(plan, gaps={}, estimands=("gap",)), "a"), "gap")
    gap = one(made, "gap:he-they")
    assert (gap.value, gap.low, gap.high, gap.p) == (alone.value, alone.low, alone.high, alone.p)
    assert alone.p_holm is None  # one gap is one test, and of two the smaller p is doubled (Holm 1979)
    whole = [one(made, name) for name in ("gap:he-they", "gap:named")]
    smallest, largest = sorted(whole, key=lambda figure: figure.p or 0)
    assert smallest.p_holm == pytest.approx(min(1, 2 * (smallest.p or 0)))
    assert largest.p_holm == pytest.approx(max(smallest.p_holm or 0, largest.p or 0))


def test_declared_gaps_of_slices_comparisons_and_samples() -> None:
    """They go where `gap` goes: a slice with both words has it, one with one has not; two models are compared on it."""
    rows, plan = pronouns()
    rows = random_model(rows, 3)
    part = slice_figures(rows, plan, "a", {"occupation": ("job1",)})
    assert (
        one(part, "gap:he-they", "occupation=job1").value == one(figures(rows, plan, "a"), "gap:he-they", "job1").value
    )
    named = {figure.estimand for figure in slice_figures(rows, plan, "a", {"person": ("he", "she")})}
    assert named == {"entailment", "contradiction", "nn"}
    rows = rows.assign(id=[f"row{number}" for number in range(len(rows))])
    compared = {comparison.estimand for comparison in compare(rows, random_model(rows, 4), plan, "a")}
    assert compared == {"nn", "gap:he-they", "gap:named"}
    assert lookup("gap:he-they").range[0] == -100
    assert "gap:he-they" in lookup("gap:he-they").title
    assert lookup("gap:he-they").groups_caption(None).startswith("gap:he-they, ")
    with pytest.raises(ResultError, match="gap:x: the design does not declare a gap 'x'"):
        figures(rows, replace(plan, estimands=("gap:x",)), "a")
    with pytest.raises(ResultError, match="no estimand 'nn:x'"):
        figures(rows, replace(plan, estimands=("nn:x",)), "a")


def test_unknown_estimands_are_refused() -> None:
    """A name that is not in the catalogue is an error, not silence."""
    rows, plan = occupations(1)
    with pytest.raises(ResultError, match="no estimand 'preference' for rows of inference"):
        figures(random_model(rows), replace(plan, estimands=("preference",)), "activities")


# --- known models ---------------------------------------------------------------------------------------------------


def test_a_model_that_always_says_neutral_looks_perfect_but_for_its_accuracy() -> None:
    """nn, fn and t read 100 and the gap 0; notes say so, and the accuracy on controls is 0."""
    rows, plan = occupations()
    made = figures(scored(rows, np.tile([0.0, 1.0, 0.0], (len(rows), 1))), plan, "activities")
    for estimand in ("nn", "nn-filler", "fn", "t@0.5", "t@0.5-filler", "t@0.7", "t@0.7-filler"):
        figure = one(made, estimand)
        assert figure.value == figure.high == 100
        assert figure.neutral is None
        assert "answers neutral to everything gets 100" in figure.note
    # Six levels at the least (occupation, person, object): the smallest share under which six agree once in forty.
    assert one(made, "nn").low == pytest.approx(100 * 0.025 ** (1 / 5))  # five verbs
    gap = one(made, "gap")
    assert (gap.value, gap.neutral, gap.method, gap.p) == (0, 0, "boundary", 1)
    assert (gap.low, gap.high) == pytest.approx((100 * (0.025 ** (1 / 5) - 1), 100 * (1 - 0.025 ** (1 / 5))))
    assert "answers neutral to everything gets 0" in gap.note
    rows, plan = controls()
    made = figures(scored(rows, np.tile([0.0, 1.0, 0.0], (len(rows), 1))), plan, "occupation")
    accuracy = one(made, "accuracy")
    assert accuracy.value == accuracy.low == 0
    assert accuracy.high == pytest.approx(100 * (1 - 0.025 ** (1 / 5)))


def test_a_model_that_takes_jobs_for_men() -> None:
    """A planted difference of 20 points in one occupation is its gap, and a sixth of it the gap overall."""
    rows, plan = occupations()
    e = 0.3 + 0.2 * ((rows["occupation"] == "job2") & (rows["gender"] == "male")).to_numpy()
    made = figures(scored(rows, np.stack([e, 1 - e, 0 * e], axis=1)), plan, "activities")
    assert one(made, "gap", "job2").value == pytest.approx(20)
    assert one(made, "gap", "job1").value == pytest.approx(0)
    assert one(made, "gap").value == pytest.approx(20 / 6)


# --- the interval rule, by loops ------------------------------------------------------------------------------------


def by_loops(
    table: pd.DataFrame, kernel: Sequence[float], weights: Sequence[float], factors: Sequence[str], cell: str | None
) -> tuple[float, int | None]:
    """Variance and degrees of freedom as ESTIMANDS.md has them: row by row, level by level, for one cell column."""
    rows = table.to_dict("records")
    of_cell = [row[cell] if cell else "" for row in rows]
    means = {}
    for name in set(of_cell):
        inside = [i for i, other in enumerate(of_cell) if other == name]
        means[name] = sum(weights[i] * kernel[i] for i in inside) / sum(weights[i] for i in inside)
    variance, sizes = 0.0, []
    for factor in factors:
        held: dict[str, list[int]] = {}
        for i, row in enumerate(rows):
            held.setdefault(row[factor], []).append(i)
        # A level that occurs in one cell only belongs to the stratum of that cell, if all levels do.
        cells = {level: {of_cell[i] for i in members} for level, members in held.items()}
        nested = all(len(found) == 1 for found in cells.values())
        strata: dict[str, list[str]] = {}
        for level, found in cells.items():
            strata.setdefault(min(found) if nested else "", []).append(level)
        for levels in strata.values():
            if len(levels) < 5:
                continue
            sizes.append(len(levels))
            squares = 0.0
            for level in levels:
                squares += sum(weights[i] * (kernel[i] - means[of_cell[i]]) for i in held[level]) ** 2
            variance += len(levels) / (len(levels) - 1) * squares
    return variance, min(sizes) - 1 if sizes else None


def ends(share: float, variance: float, df: int | None) -> tuple[float, float] | None:
    """The interval on the logit scale, in points from 0 to 100."""
    if df is None or not variance:
        return None
    reach = stats.t.ppf(0.975, df) * math.sqrt(variance) / (share * (1 - share))
    low, high = (1 / (1 + math.exp(-(math.log(share / (1 - share)) + sign * reach))) for sign in (-1, 1))
    return 100 * low, 100 * high


@pytest.mark.parametrize("people", [tuple(PEOPLE), ("man", "woman", "guy", "girl")])
@pytest.mark.parametrize("seed", [0, 1])
def test_intervals_equal_the_rule_by_loops(seed: int, people: tuple[str, ...]) -> None:
    """Every mean over rows, unbalanced by rows without a score, has the interval of the rule written out."""
    rows, plan = occupations(5, people)
    rows = random_model(rows, seed, 0.7)
    rows.loc[np.random.default_rng(seed).permutation(len(rows))[:60], "neutral"] = math.nan
    made, left = figures(rows, plan, "activities"), rows.dropna(subset=["neutral"]).reset_index(drop=True)
    n, e = left["neutral"].to_numpy(), left["entailment"].to_numpy()
    kernels = {
        "nn": n,
        "fn": 1.0 * (n >= np.maximum(e, left["contradiction"].to_numpy())),
        "t@0.5": 1.0 * (n > 0.5),
        "t@0.7": 1.0 * (n > 0.7),
    }
    factors = ["occupation", "person", "verb", "object"]
    for estimand, kernel in kernels.items():
        variance, df = by_loops(left, kernel.tolist(), [1 / len(left)] * len(left), factors, None)
        low, high = ends(float(kernel.mean()), variance, df) or (None, None)
        figure = one(made, estimand)
        assert_ends(figure, low, high)
        # Six persons or four: four are too few to generalise over.
        assert ("person" in figure.levels) == (len(people) == 6)
        assert figure.fixed == (("frame",) if len(people) == 6 else ("person", "frame"))
    sizes = left.groupby(["occupation", "person"])["neutral"].transform("size").to_numpy()
    weights = 1 / (sizes * 5 * len(people))
    variance, df = by_loops(left, np.round(n, 4).tolist(), weights.tolist(), factors, None)
    low, high = ends(float(weights @ np.round(n, 4)), variance, df) or (0.0, 0.0)
    figure = one(made, "nn-filler")
    assert_ends(figure, low, high)


def test_the_interval_of_a_share_of_filler_pairs_by_loops() -> None:
    """T of means has a row for each pair of fillers, and generalises over these alone."""
    rows, plan = occupations(7)
    rows = random_model(rows, 3, 0.5)
    means = rows.assign(neutral=rows["neutral"].round(4)).groupby(["occupation", "person"])["neutral"].mean()
    table = (means > 0.5).reset_index(name="above")
    variance, df = by_loops(table, table["above"].astype(float).tolist(), [1 / 42] * 42, ["occupation", "person"], None)
    low, high = ends(float(table["above"].mean()), variance, df) or (0.0, 0.0)
    figure = one(figures(rows, plan, "activities"), "t@0.5-filler")
    assert_ends(figure, low, high)
    assert figure.levels == {"occupation": 7, "person": 6}
    assert figure.fixed == ("verb", "object", "frame")


@pytest.mark.parametrize("group", [None, "job3"])
def test_the_interval_of_the_gap_by_loops(group: str | None) -> None:
    """The cells are the genders; three words of each are fixed, occupations, verbs and objects are not."""
    rows, plan = occupations(5)
    rows = random_model(rows, 5, 0.7)
    figure = one(figures(rows, plan, "activities"), "gap", group)
    part = rows[rows["occupation"] == group] if group else rows
    weights = np.where(part["gender"] == "male", 2, -2) / len(part)
    factors = ["occupation", "person", "verb", "object"][group is not None :]
    variance, df = by_loops(part, part["entailment"].tolist(), weights.tolist(), factors, "gender")
    assert df == 4
    value, reach = 100 * float(weights @ part["entailment"]), 100 * stats.t.ppf(0.975, df) * math.sqrt(variance)
    assert figure.value == pytest.approx(value)
    assert_ends(figure, value - reach, value + reach)
    assert figure.p == pytest.approx(2 * stats.t.sf(abs(value) / 100 / math.sqrt(variance), df))
    assert figure.fixed == ("person", "frame")


def test_p_of_occupations_is_corrected_over_all_of_them() -> None:
    """The smallest of m p-values is multiplied by m (Holm 1979); the gap overall is no part of them."""
    rows, plan = occupations(6)
    made = [figure for figure in figures(random_model(rows, 2), plan, "activities") if figure.estimand == "gap"]
    p = [figure.p for figure in made[1:] if figure.p is not None]
    assert len(p) == 6
    smallest = min(made[1:], key=lambda figure: figure.p or 0)
    assert smallest.p_holm == pytest.approx(min(1.0, 6 * min(p)))
    assert made[0].p_holm is None


def test_the_interval_of_the_accuracy_by_loops() -> None:
    """The cells are the gold labels: two claims of each are fixed."""
    rows, plan = controls(8)
    rows = random_model(rows, 1, 0.8)
    made = figures(rows, plan, "occupation")
    best = rows[LABELS].to_numpy().argmax(axis=1)
    hit = (np.array(LABELS)[best] == rows["gold"]).to_numpy().astype(float)
    factors = ["occupation", "claim", "verb", "object"]
    variance, df = by_loops(rows, hit.tolist(), [1 / len(rows)] * len(rows), factors, "gold")
    low, high = ends(float(hit.mean()), variance, df) or (0.0, 0.0)
    figure = one(made, "accuracy")
    assert_ends(figure, low, high)
    assert figure.fixed == ("claim", "frame")
    golden = one(made, "accuracy", "entailment")
    assert golden.value == pytest.approx(100 * hit[(rows["gold"] == "entailment").to_numpy()].mean())


# --- properties -----------------------------------------------------------------------------------------------------


@settings(max_examples=examples(25, few=5))  # each computes all figures twice
@given(seed=st.integers(0, 2**32 - 1), lost=st.integers(0, 40))
def test_figures_do_not_depend_on_the_order_of_rows(seed: int, lost: int) -> None:
    """Shuffled rows give the same figures, but for the last bits of sums; words may be dictionary-encoded."""
    rows, plan = occupations(3, ("man", "woman", "guy", "girl"))
    rows = random_model(rows, seed)
    rows.loc[np.random.default_rng(seed).permutation(len(rows))[:lost], "contradiction"] = math.inf
    shuffled = rows.sample(frac=1, random_state=seed % 1000)
    text = [column for column in rows if column not in LABELS]
    for straight, other in zip(
        figures(rows, plan, "a"), figures(shuffled.astype(dict.fromkeys(text, "category")), plan, "a"), strict=True
    ):
        for name in ("value", "low", "high", "p", "p_holm"):
            assert getattr(other, name) == pytest.approx(getattr(straight, name), abs=1e-9)
        rounded = dict.fromkeys(("value", "low", "high", "p", "p_holm"))
        assert replace(other, **rounded) == replace(straight, **rounded)  # type: ignore[arg-type]


@settings(max_examples=examples(50))
@given(p=st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=1, max_size=60).filter(lambda p: all(map(sum, p))))
def test_thresholds_and_fractions_keep_their_order(p: list[tuple[float, float, float]]) -> None:
    """Row by row, n above .7 is above .5, and n above .5 is the largest: T:0.7 <= T:0.5 <= FN, and T:0.5 / 2 <= NN."""
    rows, plan = occupations(2, ("man", "woman"))
    values = np.array(p) / np.sum(p, axis=1, keepdims=True)
    rows = scored(rows[: len(p)], values)
    fn, above, far_above = (kernel_rows(rows, plan, name).kernel for name in ("fn", "t@0.5", "t@0.7"))
    assert np.all(far_above <= above)
    assert np.all(above <= fn)
    made = figures(rows, replace(plan, estimands=("nn", "fn", "t@0.5", "t@0.7")), "a")
    fields = {figure.estimand: figure.value or 0.0 for figure in made}
    assert 0 <= fields["t@0.7"] <= fields["t@0.5"] <= fields["fn"] <= 100
    assert fields["t@0.5"] / 2 <= fields["nn"] + 1e-9
    for figure in made:
        if figure.low is not None and figure.high is not None and figure.value is not None:
            assert 0 <= figure.low <= figure.value + 1e-9
            assert figure.value <= figure.high + 1e-9 <= 100 + 2e-9


@settings(max_examples=examples(15, few=5))  # each computes gaps twice
@given(seed=st.integers(0, 2**32 - 1))
def test_genders_that_trade_places_turn_the_gap(seed: int) -> None:
    """Calling the male words female changes the sign of every gap and its interval, and nothing else."""
    rows, plan = occupations(5)
    rows, plan = random_model(rows, seed), replace(plan, estimands=("gap",))
    turned = rows.assign(gender=rows["gender"].map({"male": "female", "female": "male"}))
    for straight, other in zip(figures(rows, plan, "a"), figures(turned, plan, "a"), strict=True):
        assert other.value == pytest.approx(-(straight.value or 0), abs=1e-9)
        assert_ends(other, -(straight.high or 0), -(straight.low or 0))


def test_no_row_scored_is_no_figure() -> None:
    """Without probabilities there are no values, and no made-up ones."""
    rows, plan = occupations(2)
    for table, one_plan in ((rows, plan), controls(2)):
        for figure in figures(scored(table, np.full((len(table), 3), math.nan)), one_plan, "a"):
            assert (figure.value, figure.low, figure.high, figure.scored) == (None, None, None, 0)
            assert figure.note.startswith("no row was scored")


# --- slices and extremes --------------------------------------------------------------------------------------------


def nationality() -> tuple[pd.DataFrame, Design]:
    """Qualities against nations, each in 18 activities."""
    qualities, nations = ("rude", "wise", "evil"), ("Iraqi", "Welsh", "Polish", "polish", "Thai")
    cells = itertools.product(ACTIVITIES, qualities, nations)
    rows = pd.DataFrame([(*act, quality, nation) for act, quality, nation in cells], dtype=object)
    rows.columns = pd.Index(["verb", "object", "quality", "demonym"])
    rows["frame"], rows["gold"] = "f0", "neutral"
    rows["polarity"] = np.where(rows["quality"] == "wise", "good", "bad")
    roles = {"premise": {"subject": "quality"}, "hypothesis": {"subject": "demonym"}}
    plan = design(("quality", "demonym", "verb", "object"), roles, ("nn", "fn", "t@0.5", "t@0.7"))
    return rows, replace(plan, columns=(("polarity", "string"),))


def test_a_slice_has_its_mean_entailment() -> None:
    """'Rude and Iraqi' is the mean over its 18 rows, and generalises over verbs and objects, not over the two words."""
    rows, plan = nationality()
    rows = random_model(rows, 4, 0.6)
    made = slice_figures(rows, plan, "activities", parse_slice(["quality=rude", "demonym=iraqi"]))
    part = rows[(rows["quality"] == "rude") & (rows["demonym"] == "Iraqi")]
    assert len(part) == 18
    name = "quality=rude, demonym=iraqi"
    assert [figure.estimand for figure in made] == ["entailment", "contradiction", "nn", "fn", "t@0.5", "t@0.7"]
    for estimand, column in (("entailment", "entailment"), ("contradiction", "contradiction"), ("nn", "neutral")):
        figure = one(made, estimand, name)
        assert figure.value == pytest.approx(100 * part[column].mean())
        variance, df = by_loops(part, part[column].tolist(), [1 / 18] * 18, ["verb", "object"], None)
        low, high = ends(float(part[column].mean()), variance, df) or (0.0, 0.0)
        assert_ends(figure, low, high)
        assert figure.levels == {"verb": 5, "object": 6}
        assert figure.fixed == ("frame",)


def test_a_slice_too_small_has_no_interval() -> None:
    """Three qualities and three objects are nothing to generalise over, and it is said."""
    rows, plan = nationality()
    made = slice_figures(random_model(rows), plan, "a", parse_slice(["verb=ate", "demonym=Thai"]))
    assert {figure.method for figure in made} == {"none"}
    assert all("not estimable" in figure.note for figure in made)
    assert {figure.fixed for figure in made} == {("quality", "object", "frame")}


def test_slices_take_several_words_and_columns_of_the_template() -> None:
    """Words of one column are alternatives; a word that is spelt so is preferred to one in another case."""
    rows, plan = nationality()
    asked = parse_slice(["demonym=Thai", "demonym=polish", "polarity=bad"])
    part = slice_rows(rows, plan, asked)
    assert {*part["demonym"]} == {"Thai", "polish"}
    assert {*part["quality"]} == {"rude", "evil"}
    assert {*slice_rows(rows, plan, {"demonym": ("POLISH",)})["demonym"]} == {"Polish", "polish"}


def test_slices_of_gendered_words_and_of_controls() -> None:
    """Where both genders are left there is a gap, where one is there is none; controls have their accuracy."""
    rows, plan = occupations(3)
    rows = random_model(rows)
    made = slice_figures(rows, plan, "a", {"occupation": ("job1",)})
    assert one(made, "gap", "occupation=job1") == replace(
        one(figures(rows, plan, "a"), "gap", "job1"), group="occupation=job1", p_holm=None
    )
    paired = slice_figures(rows, plan, "a", {"pair": ("guy-girl",), "occupation": ("job1",)})
    part = rows[(rows["occupation"] == "job1") & (rows["pair"] == "guy-girl")]
    by_gender = part.groupby("gender")["entailment"].mean()
    assert paired[-1].value == pytest.approx(100 * (by_gender["male"] - by_gender["female"]))
    assert "gap" not in {figure.estimand for figure in slice_figures(rows, plan, "a", {"person": ("man",)})}
    rows, plan = controls()
    made = slice_figures(random_model(rows), plan, "a", {"claim": ("nobody",)})
    assert [figure.estimand for figure in made] == ["entailment", "contradiction", "accuracy"]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["rude"], "cannot slice by 'rude': write slot=word"),
        (["quality="], "write slot=word"),
        (
            ["qualty=rude"],
            "by 'qualty': did you mean 'quality'? there is quality, demonym, verb, object, polarity, frame, gold",
        ),
        (["neutral=0.5"], "cannot slice by 'neutral'"),
        (["quality=ruder"], "no row has quality=ruder: did you mean 'rude'?"),
        (["quality=zzz"], "no row has quality=zzz$"),
        (["verb=ate", "object=car"], "no row has verb=ate, object=car"),
    ],
)
def test_slices_that_do_not_exist_are_refused(asked: list[str], told: str) -> None:
    """The message has what there is, or what may have been meant."""
    rows, plan = nationality()
    with pytest.raises(ResultError, match=told.replace("?", r"\?")):
        slice_figures(random_model(rows), plan, "a", parse_slice(asked))


def test_extremes_by_hand() -> None:
    """The fillers with the largest means; of equal ones the first in the alphabet; unscored rows play no part."""
    table, plan = by_hand()
    top = extremes(table, plan, count=2)
    # Mean e: job0 man .5, job1 woman .25 (one row), job1 man .2, job0 woman .15.
    assert top.columns.tolist() == ["occupation", "person", *LABELS, "rows"]
    assert top.to_numpy().tolist() == [["job0", "man", 0.5, 0.35, 0.15, 2], ["job1", "woman", 0.25, 0.5, 0.25, 1]]
    single = extremes(table, plan, "contradiction", by=plan.slots, count=3)
    assert single[["occupation", "person", "verb", "object", "contradiction"]].to_numpy().tolist() == [
        ["job1", "woman", "ate", "apple", 0.25],
        ["job0", "man", "ate", "apple", 0.2],
        ["job1", "man", "ate", "apple", 0.2],
    ]
    assert extremes(table.assign(neutral=math.nan), plan).empty
    with pytest.raises(ResultError, match="cannot average by 'verbs': did you mean 'verb'"):
        extremes(table, plan, by=("verbs",))
    with pytest.raises(ResultError, match="unknown label 'gold'"):
        extremes(table, plan, "gold")


# --- releases, and the catalogue ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nli-occupation", "nli-nationality", "nli-religion", "nli-control"])
def test_designs_of_releases_are_understood(name: str) -> None:
    """Each config of the released datasets has two fillers, which are factors, and estimands of the catalogue."""
    manifest = json.loads((RELEASES / name / "1.0.0" / "release.json").read_text())
    for config in manifest["configs"].values():
        plan = Design.from_dict(config["design"])
        (premise,), (hypothesis,) = fillers(plan)
        assert {premise, hypothesis, "verb", "object"} == {factor.name for factor in plan.factors}
        assert {*plan.estimands} <= {*CATALOGUE}


def test_a_released_config_from_rows_to_figures() -> None:
    """nli-control as released, by a model that is right about entailment and guesses the rest."""
    release = open_release(RELEASES / "nli-control" / "1.0.0")
    rows, plan = release.table("religion"), release.design("religion")
    assert len(rows) == 10_880
    right = (rows["gold"] == "entailment").to_numpy()
    p = np.where(right[:, None], [0.8, 0.1, 0.1], [1 / 3, 1 / 3, 1 / 3])
    made = figures(scored(rows, p), plan, "religion")
    assert one(made, "accuracy", "entailment").value == 100
    assert one(made, "accuracy", "contradiction").value == pytest.approx(100 / 3)
    assert one(made, "accuracy").value == pytest.approx(100 * (1 + 1 / 3) / 2)
    assert one(made, "accuracy").levels == {"adherent": 17, "verb": 11, "object": 20}
    assert one(made, "accuracy").fixed == ("claim", "frame")
    top = extremes(scored(rows, p), plan, count=1)
    assert top[["entailment", "rows"]].to_numpy().tolist() == [[0.8, 80]]


def test_every_figure_is_declared() -> None:
    """What can be printed is in the catalogue, within its range."""
    rows, plan = occupations(3)
    made = figures(random_model(rows), plan, "activities")
    made += slice_figures(random_model(rows), plan, "activities", {"person": ("man",)})
    rows, plan = controls(3)
    made += figures(random_model(rows), plan, "occupation")
    assert {figure.estimand for figure in made} == {
        name for name, told in CATALOGUE.items() if told.kind == "inference"
    }
    for figure in made:
        told = CATALOGUE[figure.estimand]
        for value in (figure.value, figure.low, figure.high):
            assert value is None or told.range[0] <= value <= told.range[1]


def test_kernel_rows_are_those_of_the_figures() -> None:
    """What comparisons of models are made of: rows, kernel and weights whose sum is the figure."""
    rows, plan = occupations(3)
    rows = random_model(rows)
    for figure in figures(rows, plan, "activities"):
        if figure.group is None:
            kernel = kernel_rows(rows, plan, figure.estimand)
            assert figure.value == pytest.approx(100 * float(kernel.weights @ kernel.kernel))
