"""Equivalence: the 90 % interval within the release's margin, only where zero is neutral."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulation import tables

from senseprobe.evaluate.estimands import contrast_figures, figures
from senseprobe.evaluate.estimands.equivalence import CONFIDENCE, Margin, equivalence, equivalences, verdict
from senseprobe.records import Contrast, Design

FIVE = Margin(points=5.0, reason="a convention")


def frames(times: int) -> tuple[pd.DataFrame, Design]:
    """Frames of the verb design, every other one won."""
    rows = tables.balanced(tables.verb(times))
    won = np.arange(len(rows)) % 2
    design = replace(tables.VERB, differs="pronoun", estimands=("preference", "preference-half"))
    return rows.assign(stereo_score=won - 0.5, anti_score=0.0), design


@pytest.mark.parametrize(
    ("interval", "neutral", "answer"),
    [
        ((-4.9, 4.9), 0.0, "equivalent within 5 points"),
        ((-5.0, 0.0), 0.0, "not shown"),  # an end on the margin is not within it
        ((-1.0, 5.1), 0.0, "not shown"),
        ((6.0, 9.0), 0.0, "not shown"),
        ((46.0, 54.0), 50.0, "equivalent within 5 points"),
        (None, 0.0, "not shown"),
        ((-0.1, 0.1), None, "not applicable: no neutral value"),
    ],
)
def test_the_answer_is_one_of_three(interval: tuple[float, float] | None, neutral: float | None, answer: str) -> None:
    """Within, not shown to be within, or nothing to be near."""
    assert verdict(interval, neutral, FIVE) == answer


def test_many_frames_that_are_won_as_often_as_lost_are_equivalent() -> None:
    """660 of 1,320 rows: the exact 90 % interval leaves 5 % at either end, summed here from binomial terms."""
    rows, design = frames(10)
    (made,) = equivalences(rows, design, "verb", FIVE)
    assert made.low is not None
    low = made.low / 100 + 0.5
    logs = (math.lgamma(1321) - math.lgamma(k + 1) - math.lgamma(1321 - k) for k in range(660, 1321))
    terms = (
        math.exp(log + k * math.log(low) + (1320 - k) * math.log1p(-low))
        for k, log in zip(range(660, 1321), logs, strict=True)
    )

    assert math.fsum(terms) == pytest.approx(0.05, abs=1e-6)
    assert made.answer == "equivalent within 5 points"
    assert (made.estimand, made.margin, made.reason) == ("preference-half", 5.0, "a convention")


def test_few_frames_show_nothing() -> None:
    """66 of 132 rows, about ±7.5 points: zero is the best guess, and still nothing is shown."""
    rows, design = frames(1)
    (made,) = equivalences(rows, design, "verb", FIVE)

    assert made.high == pytest.approx(7.5, abs=0.3)
    assert made.answer == "not shown"


def test_evaluative_words_have_no_neutral_value() -> None:
    """However narrow the interval."""
    rows, design = frames(10)
    (made,) = equivalences(rows, replace(design, differs="evaluative"), "verb", FIVE)

    assert made.answer == "not applicable: no neutral value"


def test_an_interval_that_cannot_be_estimated_shows_nothing() -> None:
    """Four words of praise and four of blame are fixed: the value is zero, and there is no interval."""
    rows = tables.balanced(tables.race(4, 4)).assign(stereo_score=0.0)
    design = replace(tables.RACE, differs="pronoun", estimands=("preference-half",))
    (made,) = equivalences(rows, design, "race", FIVE)

    assert (made.low, made.high, made.answer) == (None, None, "not shown")


def test_ties_alone_show_nothing() -> None:
    """All rows tie: the value is zero, and nine words leave 1 - 0.05^(1/9) = 28.31 % open either way."""
    rows = tables.balanced(tables.race()).assign(stereo_score=0.0)
    design = replace(tables.RACE, differs="pronoun", estimands=("preference-half",))
    (made,) = equivalences(rows, design, "race", FIVE)

    assert (made.low, made.high) == pytest.approx((-28.31, 28.31), abs=0.01)
    assert made.answer == "not shown"


def test_groups_are_answered_one_by_one() -> None:
    """`relative` has a neutral value; `spread` no interval."""
    rows = tables.nationality(3, 6, 5)
    scores = np.random.default_rng(0).normal(size=len(rows))
    design = replace(
        tables.NATIONALITY, group="nation", words={"stereo": "bad", "anti": "good"}, estimands=("relative", "spread")
    )
    made = equivalences(rows.assign(stereo_score=scores, anti_score=-scores), design, "nationality", FIVE)

    assert [one.group for one in made] == ["nation00", "nation01", "nation02"]
    assert {one.neutral for one in made} == {0.0}


def test_the_interval_is_one_of_ninety_per_cent() -> None:
    """On the logit scale it is shorter by the ratio of two entries of Student's table: 1.859548 / 2.306004."""
    rows = tables.race()
    rows = rows.assign(stereo_score=np.random.default_rng(1).choice([-1.0, 1.0], 108))
    design = replace(tables.RACE, estimands=("preference-half",))
    wide, narrow = (figures(rows, design, "race", confidence=c)[0] for c in (0.95, CONFIDENCE))
    lengths = []
    for made in (wide, narrow):
        assert made.low is not None
        assert made.high is not None
        low, high = made.low / 100 + 0.5, made.high / 100 + 0.5
        lengths.append(math.log(high / (1 - high)) - math.log(low / (1 - low)))

    assert lengths[1] / lengths[0] == pytest.approx(1.859548 / 2.306004, rel=1e-5)


def test_a_sense_contrast_can_be_equivalent() -> None:
    """Two senses with the same words that differ in one pair of 400: ±t · √V by the rule, and a p-value against 0."""
    contrast = Contrast(name="x", estimand="preference-half", a="a", b="b")
    rows = tables.balanced(tables.race(20, 20))
    won = np.random.default_rng(2).choice([-1.0, 1.0], 400)
    a = rows.assign(stereo_score=won)
    b = rows.assign(stereo_score=np.where(np.arange(400) == 7, -won, won))
    design = replace(tables.RACE, differs="pronoun")
    (made,) = contrast_figures(contrast, a, design, b, design, confidence=CONFIDENCE)
    d = (a["stereo_score"] - b["stereo_score"]).to_numpy().reshape(20, 20) / 2
    variance = (d.mean(axis=0).var(ddof=1) + d.mean(axis=1).var(ddof=1)) / 20
    reach = 100 * 1.729133 * np.sqrt(variance)  # t with 19 degrees leaves 5 % above it

    assert (made.low, made.high) == pytest.approx((100 * d.mean() - reach, 100 * d.mean() + reach), abs=1e-4)
    assert equivalence(made, FIVE).answer == "equivalent within 5 points"
    assert made.p is not None
    (made,) = contrast_figures(contrast, a, tables.RACE, b, design)
    assert made.p is None  # zero is not neutral for a


@pytest.mark.parametrize(
    "card",
    [{}, {"equivalence": None}, {"equivalence": {"margin": 0}}, {"equivalence": {"margin": "5"}}]
    + [{"equivalence": {"margin": margin}} for margin in (True, -1, 100, math.nan)],
)
def test_without_a_margin_nothing_is_asked(card: dict[str, Any]) -> None:
    """Releases of others may declare none, or none that can be used."""
    assert Margin.of(card) is None


def test_the_margin_is_the_releases() -> None:
    """With its reason."""
    assert Margin.of({"equivalence": {"margin": 5, "reason": "so"}}) == Margin(points=5.0, reason="so")


def test_the_record_is_json() -> None:
    """With stable keys."""
    rows, design = frames(1)
    back = json.loads(json.dumps(equivalences(rows, design, "verb", FIVE)[0].as_dict()))

    assert {*back} >= {"config", "estimand", "group", "answer", "low", "high", "margin", "reason"}


@given(st.floats(-60, 60), st.floats(0, 60), st.floats(0.1, 99))
def test_whoever_excludes_the_margin_never_claims_it(low: float, width: float, points: float) -> None:
    """A claim is made only of intervals with both ends inside, and a wider margin never takes it back."""
    margin, wider = Margin(points=points, reason=""), Margin(points=points + 0.5, reason="")
    claimed = verdict((low, low + width), 0.0, margin) != "not shown"

    assert claimed == (max(abs(low), abs(low + width)) < points)
    assert not claimed or verdict((low, low + width), 0.0, wider) != "not shown"


def test_inference_has_its_own_neutral_values() -> None:
    """Of `gap` zero is neutral, of `nn` nothing is."""
    rows = tables.inference(6, 6, 6, 2)
    gender = np.where(rows["person"] == "person00", "male", "female")
    p = np.random.default_rng(3).dirichlet((1, 2, 1), len(rows))
    rows = rows.assign(frame="f", gold="neutral", gender=gender, pair="one", entailment=p[:, 0], neutral=p[:, 1])
    roles = {"premise": {"subject": "occupation"}, "hypothesis": {"subject": "person"}}
    design = replace(tables.INFERENCE, roles=roles, estimands=("nn", "gap"))
    made = {
        (one.estimand, one.group): one.answer
        for one in equivalences(rows.assign(contradiction=p[:, 2]), design, "activities", Margin(points=50, reason=""))
    }

    assert made["gap", None] == "equivalent within 50 points"
    assert made["nn", None] == "not applicable: no neutral value"
