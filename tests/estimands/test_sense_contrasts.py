"""Tests of matched sense contrasts: where there is one, and what Holm's correction makes of it in a result.

Expected values are worked out by hand: the variances of shared words, Student's t from scipy, Holm's method in a loop.
"""

import math
import random
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import senseprobe
from senseprobe.evaluate.estimands import contrast_figures
from senseprobe.evaluate.pipeline import run
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.evaluate.scorers.base import Answers
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.units import Unit
from senseprobe.records import Contrast, Design, Factor
from senseprobe.release.release import Release

WORDS = 6


def side(neutral: float | None, seed: int) -> tuple[pd.DataFrame, Design]:
    """Six pleasant by six unpleasant words; in some rows the stereotype is preferred, in others not.

    Where 0 is to be neutral, either word is the stereotype's in half of the rows.
    """
    hits = np.random.default_rng(seed).random(WORDS * WORDS) < 0.6
    first = ["y" if neutral is not None and row % 2 else "x" for row in range(WORDS * WORDS)]
    rows = pd.DataFrame(
        {
            "good": [f"good{i}" for i in range(WORDS) for _ in range(WORDS)],
            "bad": [f"bad{i}" for _ in range(WORDS) for i in range(WORDS)],
            "frame": "f0",
            "label_basis": "trait",
            "contested": False,
            "stereo_value": first,
            "anti_value": ["y" if word == "x" else "x" for word in first],
            "valence": None,
            "stereotype": None,
            "minimal": True,
            "stereo_score": hits.astype(float),
            "anti_score": 0.5,
        }
    )
    design = Design(
        kind="contrast",
        sense_type="sense",
        bias_type="bias",
        slots=("good", "bad"),
        roles={},
        differs="pronoun",
        factors=tuple(Factor(name=name, columns=(name,)) for name in ("good", "bad")),
    )
    return rows, design


@pytest.mark.parametrize("neutrals", [(0.0, 0.0), (None, None), (None, 0.0), (0.0, None)])
def test_a_contrast_is_held_against_zero_only_where_zero_is_neutral(
    neutrals: tuple[float | None, float | None],
) -> None:
    """Where a side has no neutral value there is an interval, but no p; else p is that of Student's t."""
    (a, a_design), (b, b_design) = side(neutrals[0], 1), side(neutrals[1], 2)
    contrast = Contrast(name="a-b", estimand="preference-half", a="a", b="b")
    (made,) = contrast_figures(contrast, a, a_design, b, b_design)

    # By hand: both sides share all words, so the differences by word are what varies; s²/5 of each factor.
    h = (a["stereo_score"] - b["stereo_score"]).to_numpy().reshape(WORDS, WORDS)
    variance = sum(float(np.var(h.mean(axis), ddof=1)) / WORDS for axis in (0, 1))
    value = float(h.mean())
    reach = float(stats.t.ppf(0.975, WORDS - 1)) * math.sqrt(variance)
    assert value != 0
    assert made.value == pytest.approx(100 * value)
    assert made.low == pytest.approx(100 * (value - reach))
    assert made.high == pytest.approx(100 * (value + reach))
    if None in neutrals:
        assert (made.neutral, made.p) == (None, None)
    else:
        assert made.neutral == 0
        assert made.p == pytest.approx(2 * stats.t.sf(abs(value) / math.sqrt(variance), WORDS - 1))


class Uneven:
    """A model that prefers what it likes: a number for each sentence, drawn by its text."""

    name = "uneven"
    ability = "masked"
    identity = {"weights": "w" * 64, "config": "c" * 64, "tokenizer": "t" * 64, "dtype": "float32"}  # noqa: RUF012


def uneven(_model: Uneven, units: Iterable[Unit], done: Container[Unit]) -> Iterator[Answers]:
    """The scorer of such models."""
    for unit in units:
        if unit not in done:
            yield [(unit, (random.Random(unit.text).uniform(-5, 0),))]  # noqa: S311 - a known answer, no secret


CONTRASTS = [
    Contrast(name=name, estimand=estimand, a=a, b=b)
    for name, estimand, a, b in (
        ("one", "pronoun-stereotype", "noun-bare", "verb"),
        ("two", "pronoun-baseline", "noun-bare", "verb"),
        ("three", "pronoun-stereotype", "verb", "noun-bare"),
    )
]


def test_contrasts_of_a_release_are_corrected_as_one_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the result's JSON p_holm of three contrasts is Holm's, and nothing else has it that is no family's."""
    release = senseprobe.load("sssb@1.0.0")
    shown = SimpleNamespace(
        configs=("noun-bare", "verb"),
        manifest=SimpleNamespace(
            name="sssb@1.0.0",
            content=release.manifest.content,
            config=release.manifest.config,
            contrasts=[*CONTRASTS, replace(CONTRASTS[0], name="four", matched=False)],
        ),
        design=release.design,
        table=release.table,
    )
    ours = replace(SCORERS["aul"], id="uneven", range=(-np.inf, np.inf), score=uneven, why=None)
    monkeypatch.setitem(SCORERS, "uneven", ours)
    job = ScoringJob(cast("Release", shown), None, seed=0, version="0")
    figures: list[dict[str, Any]] = run(job, cast("Any", Uneven()), "uneven").as_dict()["figures"]

    tested = [figure for figure in figures if figure["estimand"] == "matched-contrast"]
    assert [figure["config"] for figure in tested] == ["one", "two", "three"]
    # By hand, Holm 1979: the smallest p times 3, the next times 2, the last times 1; none below the one before it.
    least = 0.0
    for left, figure in zip((3, 2, 1), sorted(tested, key=lambda figure: float(figure["p"])), strict=True):
        least = min(1.0, max(least, left * figure["p"]))
        assert figure["p_holm"] == pytest.approx(least, abs=1e-12)
    assert any(figure["p_holm"] > figure["p"] for figure in tested)
    assert {figure["p_holm"] for figure in figures if figure not in tested} == {None}
