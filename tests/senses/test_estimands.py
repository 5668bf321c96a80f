"""Figures of single-category tests, by hand."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from senseprobe.evaluate.estimands.figure_scope import Scope
from senseprobe.evaluate.senses.estimands import GENDER_DIRECTION, SENSE_DIFFERENCE, SINGLE_CATEGORY
from senseprobe.evaluate.units import ScoredRows
from senseprobe.records import Contrast, Design, Figure
from senseprobe.statistics import effect_size, mean_effect_interval, shared_effect_difference

DESIGN = Design(kind="contrast", sense_type="", bias_type="", slots=(), roles={}, factors=())


def scored_words(words: pd.DataFrame) -> ScoredRows:
    """A table of words."""
    return ScoredRows(words=pa.Table.from_pandas(words, preserve_index=False))


def scope_of(words: pd.DataFrame) -> Scope:
    """A config with these words."""
    return Scope(design=DESIGN, config="c", scored=scored_words(words.assign(config="c")))


def figures_of(cosines: dict[str, list[float | None]]) -> dict[str | None, Figure]:
    """Return the figures of words by name, of which the first half of the cosines is with A."""
    rows = [
        {"target": word, "attribute": f"a{place}", "attribute_role": "A" if 2 * place < len(values) else "B"}
        | {"cosine": value}
        for word, values in cosines.items()
        for place, value in enumerate(values)
    ]
    words = pd.DataFrame(rows).astype({"cosine": float}).assign(target_sense=None, attribute_sense=None)
    figures = SINGLE_CATEGORY.compute(pd.DataFrame(), scope_of(words))
    return {figure.group: figure for figure in figures}


def test_words_and_their_mean_by_hand() -> None:
    """D is .4 over the root of .2/3, turned around for v; of 6 divisions 2 are as far from 0: p is 1/3."""
    found = figures_of({"w": [0.5, 0.3, 0.1, -0.1], "v": [0.1, -0.1, 0.5, 0.3]})
    effect = 0.4 / math.sqrt(0.2 / 3)
    assert found["w"].value == pytest.approx(effect)
    assert found["v"].value == pytest.approx(-effect)
    assert found[None].value == pytest.approx(0)
    assert found["w"].p == pytest.approx(1 / 3)
    assert found["w"].p_holm is None  # 1/3, the smallest p of 2 and 2 words, cannot reach the threshold
    assert found["w"].low is None


def test_a_missing_attribute_is_named() -> None:
    """The word has no number with a3."""
    found = figures_of({"w": [0.5, 0.3, 0.1, None]})["w"]
    assert (found.missing, found.unscored, found.levels) == ({"B": ("a3",)}, 1, {"A": 2, "B": 1})


def gender_figures(cosines: dict[str, tuple[float, str]]) -> dict[str | None, Figure]:
    """Return the figures of words by name, each with its cosine with the direction and its stereotype."""
    words = pd.DataFrame(
        {"target": [*cosines], "attribute": "gender direction", "attribute_role": "A"}
        | {"cosine": [value for value, _ in cosines.values()], "target_sense": None, "attribute_sense": None}
    )
    rows = pd.DataFrame({"target": [*cosines], "stereotype": [typed for _, typed in cosines.values()]})
    figures = GENDER_DIRECTION.compute(rows, scope_of(words))
    return {figure.group: figure for figure in figures}


def test_male_typed_words_less_female_typed_ones() -> None:
    """By hand: .3 less .1; the interval is t's with 1 degree of freedom, of variances .02/3 and .02/2."""
    words = {"a": (0.2, "male"), "b": (0.4, "male"), "c": (0.3, "male"), "d": (0.0, "female"), "e": (0.2, "female")}
    found = gender_figures(words)
    reach = stats.t.ppf(0.975, 1) * math.sqrt(0.01 / 3 + 0.02 / 2)
    assert found[None].value == pytest.approx(0.2)
    assert (found[None].low, found[None].high) == pytest.approx((0.2 - reach, 0.2 + reach))
    assert found["e"].value == pytest.approx(0.2)
    assert gender_figures({name: words[name] for name in "abde"})[None].low is None


def test_one_female_typed_word_turns_the_figure_into_nearness_to_the_stereotype() -> None:
    """By hand: .2, .4 and -(.3) are .1 on average."""
    found = gender_figures({"a": (0.2, "male"), "b": (0.4, "male"), "c": (0.3, "female")})[None]
    assert found.value == pytest.approx(0.1)
    assert "side of the word's stereotype" in found.note


def test_the_interval_of_a_mean_is_the_jackknife_over_words_and_both_sets() -> None:
    """A loop of its own that leaves out a word, or an attribute, at a time, of atanh of the mean over the largest d.

    Of n_a and n_b attributes that are told apart completely, +√(n_b/n_a) and -√(n_a/n_b), n - 1 in the deviation.
    """
    table = np.random.default_rng(2).normal(size=(6, 11))
    table[:, :5] += 0.4

    def largest(n_a: int, n_b: int) -> float:
        a, b = math.sqrt(n_b / n_a), -math.sqrt(n_a / n_b)
        return (a - b) / float(np.std([a] * n_a + [b] * n_b, ddof=1))

    def mean_effect(cosines: list[list[float]], n_a: int) -> float:
        effects = [effect_size(row[:n_a], row[n_a:]) or 0.0 for row in cosines]
        return math.atanh(float(np.mean(effects)) / largest(n_a, len(cosines[0]) - n_a))

    rows = table.tolist()
    variance = 0.0
    for part in (
        [mean_effect(rows[:n] + rows[n + 1 :], 5) for n in range(6)],
        [mean_effect([row[:n] + row[n + 1 :] for row in rows], 4) for n in range(5)],
        [mean_effect([row[:n] + row[n + 1 :] for row in rows], 5) for n in range(5, 11)],
    ):
        variance += float((1 - 1 / len(part)) * sum((value - np.mean(part)) ** 2 for value in part))
    reach = stats.t.ppf(0.975, 4) * math.sqrt(variance)
    value = mean_effect(rows, 5)
    ends = [largest(5, 6) * math.tanh(value + sign * reach) for sign in (-1, 1)]
    assert mean_effect_interval(table, 5) == pytest.approx(ends)
    assert mean_effect_interval(table[:4], 5) is None


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 100), st.floats(-5, 5))
def test_effects_know_neither_unit_nor_origin(seed: int, unit: float, origin: float) -> None:
    """Of cosines times a number, plus another, they are the same; and turned around where the words are exchanged."""
    first, second = np.random.default_rng(seed).normal(size=(2, 12))
    value, ends = shared_effect_difference(first, second, 6)
    again, others = shared_effect_difference(unit * first + origin, unit * second + origin, 6)
    turned, _ = shared_effect_difference(second, first, 6)
    assert ends is not None
    assert others is not None
    assert (again, *others) == pytest.approx((value, *ends), abs=1e-6)
    assert turned == pytest.approx(-value)


def test_a_difference_is_over_the_words_that_both_senses_have() -> None:
    """By hand: 5 words differ by 1, 2, 3, 4, 5; a sixth is in one sense only. The interval is scipy's."""
    figures = [
        Figure(
            config=config,
            sense_type=config,
            estimand="sc-weat",
            group=f"w{n}",
            value=value,
            rows=1,
            scored=1,
            unscored=0,
            ties=0,
        )
        for config, values in (("a", [1, 2, 3, 4, 5, 9]), ("b", [0, 0, 0, 0, 0]))
        for n, value in enumerate(values)
    ]
    contrasts = [
        Contrast(name=name, estimand="preference", a="a", b="b", matched=name == "both") for name in ("late", "both")
    ]
    scored = ScoredRows(tables={name: pd.DataFrame({"target": []}) for name in "ab"})
    (found,) = SENSE_DIFFERENCE.compare_words(contrasts, figures, scored)
    ends = stats.t.interval(0.95, 4, 3, stats.sem([1, 2, 3, 4, 5]))
    assert (found.config, found.sense_type, found.value) == ("both", "a - b", 3)
    assert (found.low, found.high) == pytest.approx(ends)
    assert "are held" not in found.note
    words = scored_words(pd.DataFrame({"config": ["a"], "attribute_role": ["B"]}))
    (of_values,) = SENSE_DIFFERENCE.compare_words(contrasts, figures, replace(words, tables=scored.tables))
    assert (of_values.low, of_values.high) == pytest.approx(ends)
    assert "the words that each sense is compared with are fixed" in of_values.note
