"""Figures of single-category tests, by hand."""

import math

import pandas as pd
import pytest

from senseprobe.evaluate.estimands.base import Scope
from senseprobe.evaluate.estimands.senses import SINGLE_CATEGORY
from senseprobe.records import Design, Figure

DESIGN = Design(kind="contrast", sense_type="", bias_type="", slots=(), roles={}, factors=())


def figures_of(cosines: dict[str, list[float | None]]) -> dict[str | None, Figure]:
    """Return the figures of words by name, of which the first half of the cosines is with A."""
    rows = [
        {"target": word, "attribute": f"a{place}", "attribute_role": "A" if 2 * place < len(values) else "B"}
        | {"cosine": value}
        for word, values in cosines.items()
        for place, value in enumerate(values)
    ]
    words = pd.DataFrame(rows).astype({"cosine": float}).assign(target_sense=None, attribute_sense=None)
    figures = SINGLE_CATEGORY.compute(pd.DataFrame(), Scope(design=DESIGN, config="c", words=words))
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
