"""`content-mean` against hand calculations and other programs, and how often its interval covers what is planted."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.profiles import examples

import senseprobe
from senseprobe.evaluate.estimands import CATALOGUE, figures
from senseprobe.evaluate.estimands.comparison import paired_difference
from senseprobe.evaluate.estimands.figure_scope import Scope
from senseprobe.evaluate.served.content import CONTENT_MEAN
from senseprobe.records import Design, Factor, Figure

WORDS = ("engineer", "carpenter", "guide", "mentor", "judge", "nurse", "clerk", "cook", "tailor", "baker")


def design(*factors: str, differs: str = "pronoun") -> Design:
    """A design of he against she, over words and whatever else is listed."""
    return Design(
        kind="contrast",
        sense_type="noun",
        bias_type="gender",
        slots=("word", "place"),
        roles={},
        differs=differs,
        factors=tuple(Factor(name=name, columns=(name,)) for name in factors),
        estimands=("preference-half", "content-mean"),
    )


def pairs(contents: list[float], words: tuple[str, ...] = WORDS, **columns: Any) -> pd.DataFrame:  # noqa: ANN401
    """A row for each content, of one word each, he and she as the stereotype in turns."""
    n = len(contents)
    he = ["he" if number % 2 else "she" for number in range(n)]
    return pd.DataFrame(
        {
            "id": [f"x.{number}" for number in range(n)],
            "frame": "f",
            "word": [words[number % len(words)] for number in range(n)],
            "place": [f"place {number % 7}" for number in range(n)],
            "label_basis": "lexicon",
            "contested": False,
            "stereo_value": he,
            "anti_value": ["she" if word == "he" else "he" for word in he],
            "valence": None,
            "stereotype": None,
            "minimal": True,
            "content": contents,
            "stereo_score": [content / 2 for content in contents],
            "anti_score": [-content / 2 for content in contents],
            **columns,
        }
    )


def mean_of(rows: pd.DataFrame, plan: Design) -> Figure:
    """The figure of a whole config."""
    return next(made for made in figures(rows, plan, "config") if made.estimand == "content-mean" and not made.group)


def test_the_mean_by_hand() -> None:
    """(2 - 1 + .5 + 4 - .5 + 1) / 6 = 1; a contested row, one without a label and one without a number are left."""
    rows = pairs([2.0, -1.0, 0.5, 4.0, -0.5, 1.0, 9.0, 9.0, math.nan])
    rows.loc[6, "contested"] = True
    rows.loc[7, "label_basis"] = "none"
    made = mean_of(rows, design("word"))

    assert made.value == pytest.approx(1.0)
    assert (made.rows, made.scored, made.unscored) == (7, 6, 1)
    assert made.left_out == {"contested": 1, "unlabelled": 1}


def test_one_row_a_word_has_students_interval() -> None:
    """By scipy: the interval of a mean of ten independent numbers, with nine degrees of freedom."""
    contents = [1.3, -0.2, 0.9, 2.2, -1.1, 0.4, 0.0, 3.1, -0.7, 1.6]
    made = mean_of(pairs(contents), design("word"))
    low, high = stats.t.interval(0.95, 9, np.mean(contents), stats.sem(contents))

    assert made.value == pytest.approx(np.mean(contents))
    assert (made.low, made.high) == pytest.approx((low, high), abs=1e-9)
    assert (made.method, made.levels) == ("projection", {"word": 10})
    assert made.p == pytest.approx(stats.ttest_1samp(contents, 0).pvalue)


def test_rows_of_a_word_are_no_rows_of_their_own() -> None:
    """Three rows of each word: the interval is that of the ten means of words, in equal numbers, by scipy."""
    generator = np.random.default_rng(2)
    contents = generator.normal(0.5, 2.0, 30)
    made = mean_of(pairs(contents.tolist()), design("word"))
    means = contents.reshape(3, 10).mean(axis=0)
    low, high = stats.t.interval(0.95, 9, means.mean(), stats.sem(means))

    assert (made.low, made.high) == pytest.approx((low, high), abs=1e-9)


def test_few_words_have_no_interval() -> None:
    made = mean_of(pairs([1.0, 2.0, 3.0, 4.0], WORDS[:4]), design("word"))
    assert (made.value, made.low, made.high, made.fixed) == (2.5, None, None, ("word", "place", "frame"))


@pytest.mark.parametrize(
    ("differs", "contents", "neutral"),
    [("pronoun", [1.0] * 10, 0.0), ("pronoun", [1.0] * 9, None), ("evaluative", [1.0] * 10, None)],
)
def test_its_neutral_value_is_that_of_the_preference(
    differs: str, contents: list[float], neutral: float | None
) -> None:
    """0 where he is the stereotype as often as she; not of nine rows, and never of praise and blame."""
    made = {one.estimand: one for one in figures(pairs(contents), design("word", differs=differs), "config")}

    assert made["content-mean"].neutral == neutral == made["preference-half"].neutral
    assert made["content-mean"].readings == {}


def test_size_counts_where_signs_do_not() -> None:
    """Nine contents of .02 and one of -2: the preference reads +40, the mean -.182."""
    made = {one.estimand: one for one in figures(pairs([0.02] * 9 + [-2.0]), design("word"), "config")}

    assert made["preference-half"].value == pytest.approx(40)
    assert made["content-mean"].value == pytest.approx(-0.182)


def test_a_figure_for_each_bias_type() -> None:
    rows = pairs([1.0, 2.0, 3.0, 4.0], bias_type=["age", "age", "sex", "sex"])
    made = [one for one in figures(rows, design("word"), "config") if one.estimand == "content-mean"]

    assert [one.group for one in made] == [None, "age", "sex"]
    assert [one.value for one in made] == pytest.approx([2.5, 1.5, 3.5])
    assert [CONTENT_MEAN.bias_type(one) for one in made] == ["", "age", "sex"]


def test_rows_without_contents_have_none() -> None:
    """Scores of sentences, or text, are no contents: nothing is computed of them."""
    rows = pairs([1.0] * 10).drop(columns="content")
    assert [one.estimand for one in figures(rows, design("word"), "config")] == ["preference-half"]


def test_no_release_lists_it() -> None:
    """It is of what scores the rows, not of the rows."""
    release = senseprobe.load("sssb@1.0.1")
    assert all("content-mean" not in release.design(name).estimands for name in release.configs)
    assert [name for name, estimand in CATALOGUE.items() if estimand.column] == ["content-mean"]


RUNS = examples(250, few=125)


@pytest.mark.parametrize("levels", [8, 20])
def test_the_interval_covers_the_planted_mean(levels: int) -> None:
    """Words drawn anew, contents that vary between and within them: 95 % cover, within what so many runs can tell.

    Of a binomial with p = .95 and 250 trials, all but one in a thousand lie between .9 and .988 (scipy).
    """
    generator = np.random.default_rng(levels)
    words = tuple(f"word {number}" for number in range(levels))
    covered, truth = 0, 0.4
    for _ in range(RUNS):
        of_words = generator.normal(truth, 1.0, levels)
        contents = generator.normal(np.tile(of_words, 3), 0.7)
        plan = design("word")
        made = CONTENT_MEAN.figure_of(pairs(contents.tolist(), words), Scope(design=plan, config="config"))
        assert made.low is not None
        assert made.high is not None
        covered += made.low <= truth <= made.high
    least, most = (stats.binom.ppf(tail, RUNS, 0.95) / RUNS for tail in (0.0005, 0.9995))

    assert least <= covered / RUNS <= most


def test_two_models_are_compared_by_their_contents() -> None:
    """The mean of the differences, with Student's interval over ten words, by scipy's paired test."""
    generator = np.random.default_rng(4)
    contents = generator.normal(0.5, 1.0, (2, 10))
    plan = design("word")
    rows = [CONTENT_MEAN.kernel_rows(pairs(own.tolist()), plan, "log") for own in contents]
    difference, ends = paired_difference(CONTENT_MEAN, rows[0], rows[1], plan, 0.95)
    expected = stats.ttest_rel(contents[0], contents[1])

    assert difference == pytest.approx(contents[0].mean() - contents[1].mean())
    assert ends == pytest.approx(tuple(expected.confidence_interval(0.95)))


def test_the_mirror_image_of_a_model_has_the_opposite_mean() -> None:
    """As gates on growth take it: one less the kernel."""
    rows = CONTENT_MEAN.kernel_rows(pairs([1.0, 2.0, 4.5]), design("word"), "log")
    mirrored = replace(rows, kernel=1 - rows.kernel)

    assert [100 * (one.share or 0.0) - 50 for one in (rows, mirrored)] == pytest.approx([2.5, -2.5])
