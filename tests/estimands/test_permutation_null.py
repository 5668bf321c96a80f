"""The null of `preference-half` by dealing polarity out anew, against enumerations that go row by row."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import senseprobe
from senseprobe.evaluate.estimands import figures
from senseprobe.evaluate.estimands.multiple_testing import NULLS, corrected
from senseprobe.evaluate.estimands.permutation_null import polarity_null
from senseprobe.evaluate.estimands.preference import labelled_pairs
from senseprobe.evaluate.reporting.notation import format_null as words_of
from senseprobe.records import Design

NATION = Design(
    kind="contrast",
    sense_type="sense",
    bias_type="bias",
    slots=("nation", "good", "bad"),
    roles={"stereo": {"quality": "bad"}, "anti": {"quality": "good"}},
    differs="evaluative",
    factors=(),
    group="nation",
    words={"stereo": "bad", "anti": "good"},
    estimands=("preference-half",),
)
COLOUR = replace(
    NATION,
    slots=("colour", "noun_stereo", "noun_anti", "good", "bad"),
    roles={"stereo": {"noun": "noun_stereo", "quality": "bad"}, "anti": {"noun": "noun_anti", "quality": "good"}},
    group=None,
)


def words(prefix: str, count: int) -> list[str]:
    """Invented words."""
    return [f"{prefix}{i}" for i in range(count)]


def scored(
    rows: Sequence[Mapping[Any, str]], sentences: dict[tuple[str, str], float], nouns: bool = False
) -> pd.DataFrame:
    """Rows with the scores of their sentences, told by what they hold besides the word, and the word."""
    table = pd.DataFrame(rows, dtype=object).assign(frame="f", label_basis="trait", contested=False)
    held = {
        "stereo": ("noun_stereo" if nouns else "nation", "bad"),
        "anti": ("noun_anti" if nouns else "nation", "good"),
    }
    for role, columns in held.items():
        keys = zip(*(table[column] for column in columns), strict=True)
        table[f"{role}_score"] = [sentences[key] for key in keys]
    return table


def nations(count: int, good: int, bad: int, seed: int) -> tuple[pd.DataFrame, dict[tuple[str, str], float]]:
    """Every nation with every pair of words, and the scores of the sentences (whole numbers, so that some tie)."""
    rng = np.random.default_rng(seed)
    lists = words("nation", count), words("good", good), words("bad", bad)
    sentences = {(n, w): float(rng.integers(0, 9)) for n in lists[0] for w in [*lists[1], *lists[2]]}
    rows = [{"nation": n, "good": g, "bad": b} for n, g, b in itertools.product(*lists)]
    return scored(rows, sentences), sentences


def colours(
    seed: int, nouns: int = 3, good: int = 4, bad: int = 3
) -> tuple[pd.DataFrame, dict[tuple[str, str], float]]:
    """Every noun of one sentence with every noun of the other, and every pair of words."""
    rng = np.random.default_rng(seed)
    lists = words("noun", nouns), words("noun", nouns), words("good", good), words("bad", bad)
    sentences = {(n, w): float(rng.integers(0, 9)) for n in lists[0] for w in [*lists[2], *lists[3]]}
    rows = [
        {"colour": "black", "noun_stereo": s, "noun_anti": a, "good": g, "bad": b}
        for s, a, g, b in itertools.product(*lists)
    ]
    return scored(rows, sentences, nouns=True), sentences


def naive(
    sentences: dict[tuple[str, str], float], places: Sequence[tuple[str, str]], bad: Sequence[str]
) -> Iterator[float]:
    """The figure for every way to call as many words bad, the observed one among them; no array in sight."""
    known = sorted({word for _, word in sentences})
    for called in itertools.combinations(known, len(bad)):
        wins = [
            1.0 if a > b else 0.5 if a == b else 0.0
            for first, second in places
            for one in called
            for other in known
            if other not in called
            for a, b in [(sentences[first, one], sentences[second, other])]
        ]
        yield 100 * sum(wins) / len(wins) - 50


def test_one_set_of_rows_is_one_test() -> None:
    """Race and the labelled part of race-groups are the same pairs: Holm counts them once.

    By hand, Holm 1979 over two tests and not three: 0.01 doubled, 0.04 as it is.
    """
    rows, _ = nations(4, 4, 3, 0)
    null = polarity_null(rows, NATION, "nationality")
    assert null is not None
    tests = [replace(null, config=name, p=p) for name, p in (("a", 0.01), ("b", 0.04), ("c", 0.01))]
    assert [test.p_holm for test in corrected(tests, NULLS, ["x", "y", "x"])] == pytest.approx([0.02, 0.04, 0.02])
    assert [test.p_holm for test in corrected(tests, NULLS)] == pytest.approx([0.03, 0.04, 0.03])

    release = senseprobe.load("sssb@1.0.1")
    sets = {config: labelled_pairs(release.table(config)) for config in ("race", "race-groups", "race-matched")}
    assert sets["race"] == sets["race-groups"] != sets["race-matched"]


@pytest.mark.parametrize("seed", range(4))
def test_the_null_is_an_enumeration_on_nationality(seed: int) -> None:
    """Of 7 words 3 are bad: 35 divisions, the same one for all four nations."""
    rows, sentences = nations(4, 4, 3, seed)
    made = polarity_null(rows, NATION, "nationality")
    every = list(naive(sentences, [(n, n) for n in words("nation", 4)], words("bad", 3)))
    printed = figures(rows, NATION, "nationality")[0].value

    assert made is not None
    assert (made.exact, made.divisions, made.smallest) == (True, 34, 1 / 35)
    assert made.value == pytest.approx(printed)
    assert made.p == pytest.approx(sum(abs(one) >= abs(made.value) - 1e-9 for one in every) / 35)
    # Of 35 figures a fortieth lies below the smallest or above the largest: the ends are these.
    assert (made.low, made.high) == pytest.approx((min(every), max(every)))
    assert made.words == {"bad": 3, "good": 4}


@pytest.mark.parametrize("seed", range(3))
def test_the_null_is_an_enumeration_on_colour(seed: int) -> None:
    """Every noun meets every noun, whichever of the two has the bad word."""
    rows, sentences = colours(seed)
    made = polarity_null(rows, COLOUR, "colour")
    pairs = [(stereo, anti) for stereo in words("noun", 3) for anti in words("noun", 3)]
    every = list(naive(sentences, pairs, words("bad", 3)))

    assert made is not None
    assert made.value == pytest.approx(figures(rows, COLOUR, "colour")[0].value)
    assert made.p == pytest.approx(sum(abs(one) >= abs(made.value) - 1e-9 for one in every) / 35)
    assert "no row" not in made.note


def test_a_model_that_dislikes_every_bad_word_is_far_out() -> None:
    """The observed division alone reaches 50 points, and of five and five words its mirror image."""
    rows, sentences = nations(2, 5, 5, 0)
    rows = scored(
        rows[["nation", "good", "bad"]].to_dict("records"),
        {(n, w): float(w.startswith("bad")) for n, w in sentences},
    )
    made = polarity_null(rows, NATION, "nationality")

    assert made is not None
    assert (made.value, made.p, made.smallest) == (50, 2 / 252, 2 / 252)


def test_many_divisions_are_drawn_and_the_seed_is_theirs() -> None:
    """Of 21 words 9: 9,999 of 293,929 others; p is a multiple of 1 / 10,000, and rows in any order say the same."""
    rows, _ = nations(5, 12, 9, 3)
    first, again = (polarity_null(table, NATION, "c", seed=1) for table in (rows, rows.sample(frac=1, random_state=2)))
    other = polarity_null(rows, NATION, "c", seed=2)

    assert first is not None
    assert other is not None
    assert first.p is not None
    assert (first.exact, first.divisions, first.smallest) == (False, 9_999, 1e-4)
    assert first.p * 10_000 == pytest.approx(round(first.p * 10_000))
    assert first == again
    assert (first.value, first.p) != (other.value, other.p)
    # Two samples of 9,999: p differs by five standard errors at most.
    assert first.p == pytest.approx(other.p, abs=5 * np.sqrt(2 * 0.25 / 10_000))


def test_the_null_is_centred_where_every_pair_is_there() -> None:
    """Whoever wins against a word loses where the two change sides: the mean over all divisions is 0."""
    rows, sentences = nations(3, 3, 3, 5)
    every = list(naive(sentences, [(n, n) for n in words("nation", 3)], words("bad", 3)))
    made = polarity_null(rows, NATION, "c")

    assert made is not None
    assert np.mean(every) == pytest.approx(0)
    assert (made.low, made.high) == pytest.approx((-made.high, -made.low))


def test_rows_that_the_figure_leaves_are_left() -> None:
    """Contested, unlabelled and unscored rows: a nation without other rows takes no part."""
    rows, _ = nations(4, 4, 3, 1)
    rows.loc[rows["nation"] == "nation0", "contested"] = True
    rows.loc[rows["nation"] == "nation1", "label_basis"] = "none"
    rows.loc[rows["nation"] == "nation2", "anti_score"] = np.nan
    made, alone = (polarity_null(table, NATION, "c") for table in (rows, rows[rows["nation"] == "nation3"]))

    assert made == alone
    assert made is not None


def test_pairs_that_are_no_rows_are_told() -> None:
    """A verdict took one pair; its sentences stand in other pairs, and dealt out anew they meet again."""
    rows, _ = nations(2, 3, 3, 6)
    made = polarity_null(rows.iloc[1:], NATION, "c")

    assert made is not None
    assert "not rows of the release" in made.note


def test_there_is_no_polarity_where_pronouns_differ() -> None:
    """Nor where nothing was scored."""
    rows, _ = nations(2, 3, 3, 0)

    assert polarity_null(rows, replace(NATION, words={}, differs="pronoun"), "noun") is None
    assert polarity_null(rows.assign(stereo_score=np.nan), NATION, "c") is None


def test_the_record_is_json() -> None:
    """With the keys that it is read by."""
    rows, _ = nations(2, 3, 3, 0)
    made = polarity_null(rows, NATION, "c")

    assert made is not None
    assert json.loads(json.dumps(made.as_dict()))["words"] == {"bad": 3, "good": 3}
    assert made.as_dict()["p_holm"] is None


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("seed", range(6))
def test_few_rows_are_no_error(count: int, seed: int) -> None:
    """A sample can lack words, groups, or all but the sentences of no group: a figure, then, without p, and a note."""
    rows, _ = nations(3, 3, 3, seed)
    drawn = rows.sample(count, random_state=seed)
    for reference in (None, "nation0"):
        design = replace(NATION, reference=reference, estimands=("preference-half", "relative", "spread"))
        told = figures(drawn, design, "c")
        null = polarity_null(drawn, design, "c")
        assert null is not None
        json.dumps([null.as_dict(), *(figure.as_dict() for figure in told)], allow_nan=False)
        assert {figure.group for figure in told if figure.estimand == "relative"} == {*drawn["nation"]} - {reference}
        assert all(p is None or 0 < p <= 1 for p in (null.p, *(figure.p for figure in told)))


def test_two_words_are_no_test() -> None:
    """One bad and one good word can be dealt out in two ways, as far from 0: p would be 1 whatever is found."""
    rows, _ = nations(3, 1, 1, seed=2)
    design = replace(NATION, estimands=("relative", "spread"))
    null, told = polarity_null(rows, design, "c"), figures(rows, design, "c")
    assert null is not None
    assert (null.p, null.divisions) == (None, 1)
    assert null.note.startswith("There is no p-value: too few words")
    assert {figure.p for figure in told} == {None}
    assert {"no p: too few words" in figure.note for figure in told} == {True}


def test_the_smallest_p_is_told_where_it_is_large() -> None:
    """Of 3 bad words and 4 good ones there are 35 divisions: no p is below 1/35, of a group without ties below 2/35.

    The three words at the other end are as far out; times three groups that is 0.1714, which is no 5 %.
    """
    rows, _ = nations(3, 4, 3, seed=1)
    told = figures(rows, replace(NATION, estimands=("relative", "spread")), "c")
    assert len(told) == 4
    held = "with 3 bad and 4 good words and 3 groups"
    assert all(f"not attainable: {held}, p after Holm cannot be below 0.1714" in figure.note for figure in told[:3])
    assert "the smallest possible p is 0.0286" in told[3].note
    null = polarity_null(rows, NATION, "c")
    assert null is not None
    assert "smallest possible p 0.0286 (all 34 divisions)" in words_of(null)
