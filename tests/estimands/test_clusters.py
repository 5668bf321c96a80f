"""Clusters of words as levels: by words that were doubled, by hand, and by correlations that numpy computes."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.profiles import examples

from senseprobe.evaluate.estimands import contrast_figures, figures
from senseprobe.evaluate.estimands.permutation_null import polarity_null
from senseprobe.evaluate.estimands.word_correlation import correlate_words
from senseprobe.evaluate.reporting.precision import name_levels
from senseprobe.records import Contrast, Design, Factor, Figure

Array = NDArray[np.float64]
GROUPS = ["Dane", "Finn", "Greek", "Turk", "Swede"]
CLUSTERED = tuple(Factor(name=f"{slot}.cluster", columns=(f"{slot}_cluster",)) for slot in ("good", "bad"))
WORDS = tuple(Factor(name=slot, columns=(slot,)) for slot in ("good", "bad"))


def design(factors: tuple[Factor, ...]) -> Design:
    """Of nations with words of praise and blame."""
    return Design(
        kind="contrast",
        sense_type="simulated",
        bias_type="simulated",
        slots=("nation", "good", "bad"),
        roles={},
        differs="evaluative",
        factors=factors,
        group="nation",
        words={"stereo": "bad", "anti": "good"},
        estimands=("preference-half", "relative", "spread"),
    )


def rows(scores: Array, bad: list[str], good: list[str]) -> pd.DataFrame:
    """Every nation with every pair of words; `scores` are of nations and words, bad ones first; clusters by letters."""
    place = {word: number for number, word in enumerate([*bad, *good])}
    table = pd.DataFrame([*itertools.product(GROUPS, good, bad)], columns=["nation", "good", "bad"], dtype=object)
    for role, slot in (("stereo", "bad"), ("anti", "good")):
        pairs = zip(table["nation"], table[slot], strict=True)
        table[f"{role}_score"] = [float(scores[GROUPS.index(nation), place[word]]) for nation, word in pairs]
        table[f"{role}_value"] = table[slot]
        table[f"{slot}_cluster"] = table[slot].str.rstrip("0123456789")
    table["id"] = table["nation"] + "." + table["good"] + "." + table["bad"]
    return table.assign(frame="f", label_basis="trait", contested=False, valence=None, stereotype=None, minimal=True)


BAD, GOOD = [f"b{letter}" for letter in "abcdef"], [f"g{letter}" for letter in "abcdefg"]


def alike(one: Figure, other: Figure) -> None:
    """Value, interval and p are the same."""
    for part in ("value", "low", "high", "p", "p_holm"):
        assert getattr(one, part) == pytest.approx(getattr(other, part), abs=1e-9), part


@settings(max_examples=examples(40))
@given(seed=st.integers(0, 10_000), times=st.integers(2, 3))
def test_words_that_stand_several_times_count_once_by_clusters(seed: int, times: int) -> None:
    """Each word two or three times, scored alike: by clusters every figure is that of the words once."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(5, 13))
    many = [[f"{word}{number}" for word in words for number in range(times)] for words in (BAD, GOOD)]
    repeated = rows(np.repeat(scores, times, axis=1), *many)
    once, clustered = rows(scores, BAD, GOOD), design(CLUSTERED)

    plain = figures(once, design(WORDS), "x", seed=1)
    for one, other in zip(figures(repeated, clustered, "x", seed=1), plain, strict=True):
        alike(one, other)
    nulls = [polarity_null(repeated, clustered, "x"), polarity_null(once, design(WORDS), "x")]
    assert nulls[0] is not None
    assert nulls[1] is not None
    assert (nulls[0].value, nulls[0].p) == pytest.approx((nulls[1].value, nulls[1].p))
    contrast = Contrast(name="c", estimand="relative", a="a", b="b")
    other_sense = rows(rng.normal(size=(5, 13)), BAD, GOOD)
    twice = rows(np.repeat(_scores(other_sense), times, axis=1), *many)
    for one, other in zip(
        contrast_figures(contrast, repeated, clustered, twice, clustered),
        contrast_figures(contrast, once, design(WORDS), other_sense, design(WORDS)),
        strict=True,
    ):
        alike(one, other)


def _scores(table: pd.DataFrame) -> Array:
    """The scores of nations and words, bad ones first."""
    found = {**dict(zip(zip(table["nation"], table["bad"], strict=True), table["stereo_score"], strict=True))}
    found |= dict(zip(zip(table["nation"], table["good"], strict=True), table["anti_score"], strict=True))
    return np.array([[found[nation, word] for word in [*BAD, *GOOD]] for nation in GROUPS])


def test_the_interval_is_over_clusters_by_hand() -> None:
    """Five bad words alone and five good ones, of which one cluster has two: projections of words of it are added."""
    rng = np.random.default_rng(5)
    bad, good = [f"b{letter}" for letter in "abcde"], ["ga1", "ga2", "gb", "gc", "gd", "ge"]
    table = rows(rng.normal(size=(5, 11)), bad, good)
    (found,) = [one for one in figures(table, design(CLUSTERED), "x") if one.estimand == "preference-half"]
    kernel = (table["stereo_score"] > table["anti_score"]).astype(float)
    share, variance = kernel.mean(), 0.0
    for column in ("good_cluster", "bad_cluster"):
        sums = ((kernel - share) / len(table)).groupby(table[column]).sum()
        variance += 5 / 4 * float(np.square(sums).sum())
    reach = 2.7764451051977987 * math.sqrt(variance) / (share * (1 - share))  # t with 4 degrees of freedom
    logit = math.log(share / (1 - share))

    ends = [100 / (1 + math.exp(-(logit + sign * reach))) - 50 for sign in (-1, 1)]
    assert (found.low, found.high) == pytest.approx(ends)
    assert (found.levels, found.fixed) == ({"good.cluster": 5, "bad.cluster": 5}, ("nation", "frame"))
    assert name_levels("good.cluster", 5, design(CLUSTERED)) == "5 pleasant word clusters"


def test_clusters_are_dealt_out_whole() -> None:
    """Twelve words in two and two clusters: p is one of six divisions; word by word it is one of 924."""
    names = [[f"{side}{cluster}{n}" for cluster in "xy" for n in range(3)] for side in "bg"]
    table = rows(np.random.default_rng(1).normal(size=(5, 12)), *names)
    by_clusters, by_words = (
        [one.p or 0.0 for one in figures(table, design(factors), "x") if one.estimand == "relative"]
        for factors in (CLUSTERED, WORDS)
    )

    assert [p * 6 for p in by_clusters] == pytest.approx([round(p * 6) for p in by_clusters])
    assert [p * 924 for p in by_words] == pytest.approx([round(p * 924) for p in by_words])
    assert any(abs(p * 6 - round(p * 6)) > 0.01 for p in by_words)


def test_how_words_go_together_is_the_mean_square_of_correlations() -> None:
    """Of residuals over groups and words, by numpy's correlations."""
    scores, bad = np.random.default_rng(3).normal(size=(8, 9)), np.arange(9) < 4
    squares = []
    for side in (scores[:, bad], scores[:, ~bad]):
        left = side - side.mean(axis=1, keepdims=True) - side.mean(axis=0) + side.mean()
        table = np.corrcoef(left, rowvar=False)
        squares += [table[i, j] ** 2 for i, j in itertools.combinations(range(len(table)), 2)]
    found = correlate_words(scores, bad, 0)

    assert found is not None
    assert found.value == pytest.approx(math.sqrt(np.mean(squares)))
    assert found.note == ""


def test_synonyms_are_noted_and_clusters_are_not() -> None:
    """Words in threes that share most of what they have with a group; where clusters are levels nothing is said."""
    rng = np.random.default_rng(7)
    common = np.repeat(rng.normal(size=(5, 5)), 3, axis=1) + 0.3 * rng.normal(size=(5, 15))
    names = [f"{kind}{number}" for kind in ("bx", "by", "gx", "gy", "gz") for number in range(3)]
    table = rows(common, names[:6], names[6:])
    by_words, by_clusters = (figures(table, design(factors), "x") for factors in (WORDS, CLUSTERED))

    assert all("(correlation " in one.note for one in by_words if one.estimand in {"relative", "spread"})
    assert not any("(correlation " in one.note for one in by_clusters)
    assert correlate_words(common[:3], np.arange(15) < 6, 0) is None
