"""Intervals of slices: a slot that is narrowed to five words or more is generalised over as before.

Expected values come from the rule of docs/uncertainty.md written out in loops here; it shares no code with senseprobe.
"""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from senseprobe.evaluate.estimands.slices import slice_figures
from senseprobe.records import Design, Factor

NATIONS = ("Iraqi", "Welsh", "Polish", "Thai", "Irish", "Dutch", "Greek")
VERBS = ("ate", "drove", "cooked", "bought", "sold", "saw")
SLOTS = ("demonym", "verb", "quality")


def probes() -> tuple[pd.DataFrame, Design]:
    """Seven nations, six verbs, two qualities; every word has an effect of its own."""
    rows = pd.DataFrame(list(itertools.product(NATIONS, VERBS, ("rude", "wise"))), columns=list(SLOTS), dtype=object)
    rng = np.random.default_rng(20)
    logits = rng.normal(size=(len(rows), 3))
    for slot in SLOTS:
        codes, words = pd.factorize(rows[slot])
        logits += rng.normal(size=(len(words), 3))[codes]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    rows["frame"], rows["gold"] = "f0", "neutral"
    rows[["entailment", "neutral", "contradiction"]] = p
    design = Design(
        kind="inference",
        sense_type="",
        bias_type="bias",
        slots=SLOTS,
        roles={"premise": {"subject": "quality"}, "hypothesis": {"subject": "demonym"}},
        factors=tuple(Factor(name=slot, columns=(slot,)) for slot in SLOTS),
        estimands=("nn",),
    )
    return rows, design


def by_loops(rows: list[dict[Any, Any]], column: str, factors: tuple[str, ...]) -> tuple[float, float, float]:
    """Mean and ends of its interval in points: level by level, and Student's t on the logit scale."""
    mean = sum(row[column] for row in rows) / len(rows)
    variance, fewest = 0.0, math.inf
    for factor in factors:
        levels = sorted({row[factor] for row in rows})
        squares = 0.0
        for level in levels:
            squares += sum((row[column] - mean) / len(rows) for row in rows if row[factor] == level) ** 2
        variance += len(levels) / (len(levels) - 1) * squares
        fewest = min(fewest, len(levels))
    reach = float(stats.t.ppf(0.975, fewest - 1)) * math.sqrt(variance) / (mean * (1 - mean))
    low, high = (1 / (1 + math.exp(-(math.log(mean / (1 - mean)) + sign * reach))) for sign in (-1, 1))
    return 100 * mean, 100 * low, 100 * high


@pytest.mark.parametrize("count", [5, 6])
@pytest.mark.parametrize(("estimand", "column"), [("entailment", "entailment"), ("nn", "neutral")])
def test_a_slice_by_five_words_or_more_keeps_their_variance(estimand: str, column: str, count: int) -> None:
    """The nations that are left are a sample of nations still, and add to the variance beside the verbs."""
    rows, design = probes()
    wanted = NATIONS[:count]
    made = slice_figures(rows, design, "c", {"demonym": wanted})
    (figure,) = (one for one in made if one.estimand == estimand)
    part = [row for row in rows.to_dict("records") if row["demonym"] in wanted]
    assert (figure.value, figure.low, figure.high) == pytest.approx(by_loops(part, column, ("demonym", "verb")))
    assert figure.levels == {"demonym": count, "verb": 6}
    assert figure.fixed == ("quality", "frame")


def test_a_slice_by_one_word_is_about_that_word() -> None:
    """Of a single nation nothing is generalised over but the verbs, and it is not told as fixed."""
    rows, design = probes()
    made = slice_figures(rows, design, "c", {"demonym": ("Thai",)})
    part = [row for row in rows.to_dict("records") if row["demonym"] == "Thai"]
    figure = made[0]
    assert (figure.value, figure.low, figure.high) == pytest.approx(by_loops(part, "entailment", ("verb",)))
    assert figure.levels == {"verb": 6}
    assert figure.fixed == ("quality", "frame")
