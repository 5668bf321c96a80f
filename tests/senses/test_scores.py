"""Association tests on senses: by hand, planted vectors, and loops of their own."""

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from senseprobe.evaluate.scorers.association import refused_tests
from senseprobe.evaluate.senses.scorers import compare_senses, nearest_senses
from senseprobe.statistics import (
    FloatArray,
    division_p,
    effect_size,
    single_category_interval,
)

A, B = np.array([1.0, 0, 0]), np.array([0, 1.0, 0])
ELSEWHERE = np.array([0, 0, 1.0])


class Planted:
    """A sense embedding in memory: senses are called word%0, word%1 and so on."""

    name = "planted"

    def __init__(self, words: Mapping[str, list[FloatArray]]) -> None:
        self.words = words

    def senses(self, word: str) -> tuple[str, ...]:
        """Return the keys of a word."""
        return tuple(f"{word}%{number}" for number in range(len(self.words.get(word, ()))))

    def vectors(self, keys: Sequence[str]) -> FloatArray:
        """Return vectors of keys."""
        named = [key.rsplit("%", 1) for key in keys]
        return np.array([self.words[word][int(number)] for word, number in named]).reshape(len(keys), 3)

    def refuses(self, word_class: str) -> str:
        """Return why names are refused."""
        return "its names are other things in WordNet" if word_class == "name" else ""


def rows_of(words: str) -> pd.DataFrame:
    return pd.DataFrame([{"test": "t", "role": word[0].upper(), "word": word, "word_class": "thing"} for word in words])


def test_one_biased_sense_is_missed_by_the_mean_and_found_by_the_largest_cosine() -> None:
    # x has a sense at A, and one that takes the mean back to where y's is; by hand, cos(x, A) is 1 and cos(y, A) 0.
    model = Planted({"x": [A, -A + ELSEWHERE], "y": [ELSEWHERE], "a": [A], "b": [B]})
    means = {word: np.mean(vectors, axis=0) for word, vectors in model.words.items()}
    assert means["x"] @ A == means["y"] @ A == 0
    found = compare_senses(rows_of("xyab"), model).set_index(["target", "attribute"])
    assert found["cosine"].to_dict() == {("x", "a"): 1, ("x", "b"): 0, ("y", "a"): 0, ("y", "b"): 0}
    senses = found[["target_sense", "target_senses"]].to_dict("index")
    assert senses["x", "a"] == {"target_sense": "x%0", "target_senses": 2}


def test_the_largest_may_be_negative_and_the_first_of_equal_pairs_counts() -> None:
    # Upstream starts from 0 and would take the senses of the pair before.
    nearest = nearest_senses([np.array([-A, -A])], [np.array([A]), np.array([B, B])])
    assert nearest.cosines.tolist() == [[-1, 0]]
    assert nearest.first.tolist() == nearest.second.tolist() == [[0, 0]]


def test_a_word_without_senses_has_a_row_without_a_number() -> None:
    found = compare_senses(rows_of("xyab"), Planted({"x": [A], "a": [A], "b": [B]}))
    assert found["target"].tolist() == ["x", "x", "y", "y"]
    assert found["cosine"].isna().tolist() == [False, False, True, True]
    assert found["target_senses"].tolist() == [1, 1, 0, 0]


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 100))
def test_it_is_what_a_loop_finds_however_long_the_vectors_are(seed: int, length: float) -> None:
    rng = np.random.default_rng(seed)
    words = [[rng.normal(size=(rng.integers(1, 4), 3)) for _ in range(3)] for _ in range(2)]
    found = nearest_senses([length * senses for senses in words[0]], words[1])
    for row, column in itertools.product(range(3), repeat=2):
        pairs = itertools.product(words[0][row], words[1][column])
        naive = max(sum(s * a) / math.sqrt(sum(s * s)) / math.sqrt(sum(a * a)) for s, a in pairs)
        assert found.cosines[row, column] == pytest.approx(naive, abs=1e-9)


def test_tests_with_names_are_refused_by_name() -> None:
    rows = rows_of("xyab").assign(word_class=pd.Series(["name", "name", "thing", None], dtype=object))
    assert refused_tests(rows, Planted({})) == {"t": "its names are other things in WordNet"}


def test_a_single_category_by_hand() -> None:
    # mean(.5, .3) - mean(.1, -.1) = .4; deviations of .5, .3, .1, -.1 around .2: .09 + .01 + .01 + .09 = .2, over 3.
    assert effect_size([0.5, 0.3], [0.1, -0.1]) == pytest.approx(0.4 / math.sqrt(0.2 / 3))


def test_p_is_that_of_all_divisions_of_the_attributes() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.normal(0.3, 0.2, 5), rng.normal(0, 0.2, 6)
    exact = stats.permutation_test((a, b), lambda x, y: np.mean(x) - np.mean(y))
    every = np.concatenate([a, b])
    observed, count = abs(a.mean() - b.mean()), 0
    for chosen in itertools.combinations(range(11), 5):
        others = np.delete(every, chosen)
        count += abs(every[[*chosen]].mean() - others.mean()) >= observed - 1e-12
    p = division_p(a, b, two_sided=True).high
    assert p == pytest.approx(count / math.comb(11, 5))
    assert exact.pvalue == pytest.approx(2 * division_p(a, b).high)  # scipy doubles the smaller tail


def test_the_interval_needs_five_words_and_holds_the_effect() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.2, 0.2, 12), rng.normal(0, 0.2, 12)
    ends, effect = single_category_interval(a, b), effect_size(a, b)
    assert ends is not None
    assert effect is not None
    assert ends[0] < effect < ends[1]
    assert single_category_interval(a[:4], b) is None
