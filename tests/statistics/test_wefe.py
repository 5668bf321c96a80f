"""Effect sizes and p against WEFE 1.0.1 on GloVe 6B 50d: where they are equal, and why they are not elsewhere.

`fixtures/wefe.json` was recorded by `peers/wefe_association.py`, with WEFE's own associations of all 30 tests.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senseprobe.statistics import division_p, effect_size

RECORDED: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "wefe.json").read_text(encoding="utf-8")
)
DRAWN = [name for name, test in RECORDED.items() if test["p"] is not None]


def share_with_replacement(x: list[float], y: list[float]) -> float:
    """The share of draws with replacement whose sum of X less that of Y is higher: of 100,000."""
    chosen = np.random.default_rng(0).choice([*x, *y], size=(100_000, len(x) + len(y)))
    scores = chosen[:, : len(x)].sum(axis=1) - chosen[:, len(x) :].sum(axis=1)
    return float((scores > sum(x) - sum(y)).mean())


def test_all_tests_are_recorded() -> None:
    """Thirty tests; gladiola and unliked (twice) have no vector on GloVe, so that sets are unequal."""
    assert len(RECORDED) == 30
    assert len(DRAWN) >= 12
    assert (len(RECORDED["weat1"]["x"]), len(RECORDED["weat1"]["y"])) == (24, 25)


@pytest.mark.parametrize("name", RECORDED)
def test_effect_sizes_are_those_of_wefe(name: str) -> None:
    """Its standard deviation is a population's: our variant `weat-pop`, and √((N - 1)/N) times that is `weat`."""
    x, y, theirs = (RECORDED[name][key] for key in ("x", "y", "effect_size"))
    n = len(x) + len(y)

    assert effect_size(x, y, population=True) == pytest.approx(theirs, rel=1e-8)
    assert effect_size(x, y) == pytest.approx(theirs * math.sqrt((n - 1) / n), rel=1e-8)
    # Its score is a difference of sums, which is none of means where the sets are unequal.
    assert RECORDED[name]["score"] == pytest.approx(sum(x) - sum(y), abs=1e-9)


@pytest.mark.parametrize("name", DRAWN)
def test_p_of_wefe_draws_words_with_replacement(name: str) -> None:
    """Its code calls `choice` without `replace=False`: a drawn division has words twice, and others not at all.

    That is no permutation test: its p is that of such draws, within five standard errors of its 1,000.
    """
    x, y, theirs = (RECORDED[name][key] for key in ("x", "y", "p"))
    expected = share_with_replacement(x, y)

    assert theirs == pytest.approx(expected, abs=5 * math.sqrt(expected * (1 - expected) / 1_000) + 0.002)


def test_p_of_wefe_is_near_the_exact_one_but_not_it() -> None:
    """Young and old people's names (weat10): 130 of 12,870 divisions, .0101, are as high, and .022 of such draws."""
    exact = {name: division_p(RECORDED[name]["x"], RECORDED[name]["y"]).high for name in DRAWN}
    replaced = {name: share_with_replacement(RECORDED[name]["x"], RECORDED[name]["y"]) for name in DRAWN}

    assert max(abs(replaced[name] - exact[name]) for name in DRAWN) < 0.02
    assert exact["weat10"] == 130 / 12_870
    assert replaced["weat10"] > 2 * exact["weat10"]


def test_p_of_wefe_has_no_smaller_value_than_its_draws() -> None:
    """Of 12,870 divisions of the names of weat6 only the observed one is as high: 1/12,870, and not 1/1,001."""
    assert division_p(RECORDED["weat6"]["x"], RECORDED["weat6"]["y"]).high == 1 / 12_870
    assert RECORDED["weat6"]["p"] >= 1 / 1_001
