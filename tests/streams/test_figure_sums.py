"""Figures of rows in parts against those of all rows at once, on random designs and on those of built-in releases."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.streams.same_figures import assert_same_figures, cut, stream_config

from senseprobe import api
from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import figures
from senseprobe.evaluate.estimands.inference_rows import LABELS
from senseprobe.evaluate.figures import figures_of
from senseprobe.evaluate.streams import gathered
from senseprobe.evaluate.streams.figure_sums import stream_figures
from senseprobe.evaluate.units import ScoredRows
from senseprobe.records import Design, Factor, LevelPair
from senseprobe.statistics import Scale

PROPERTY = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.generate],
)

Rows = pd.DataFrame


def check_same(rows: Rows, design: Design, size: int, scale: Scale = "probability") -> None:
    """Check that the figures of rows in parts of `size` are those of all rows."""
    whole = figures(rows, design, "config", seed=3, scale=scale)
    assert_same_figures(stream_config(rows, design, size, seed=3, scale=scale), whole)


# --- inference ------------------------------------------------------------------------------------------------------


def inference_design(estimands: tuple[str, ...], *, gaps: bool = False, drawn: bool = False) -> Design:
    """The design of premises about jobs and hypotheses about persons, with objects within verbs."""
    pairs = {
        "he-she": LevelPair(slot="person", column="person", first="man", second="woman"),
        "he-they": LevelPair(slot="person", column="person", first="man", second="person"),
    }
    names = ("job", "person", "verb", "object")
    return Design(
        kind="inference",
        sense_type="",
        bias_type="gender",
        slots=("verb", "object", "job", "person"),
        roles={"premise": {"subject": "job"}, "hypothesis": {"subject": "person"}},
        factors=tuple(Factor(name=name, columns=(name,)) for name in names),
        estimands=estimands,
        gaps=pairs if gaps else {},
        drawn_from={"job": 40, "verb": 3, "object": 9} if drawn else None,
    )


@st.composite
def inference_rows(draw: st.DrawFn) -> Rows:
    """Rows of the design: a product, of which some are missing, unscored or unlabelled, with few or many numbers."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    jobs, verbs, objects, pairs = (draw(st.integers(1, most)) for most in (8, 7, 3, 3))
    people: list[tuple[str, str | None, str | None]] = [
        (word, gender, str(pair)) for pair in range(pairs) for word, gender in _couple(pair)
    ]
    people += [("person", None, None)] if draw(st.booleans()) else []
    rows = [
        ("f", f"v{verb}", f"o{verb}.{thing}", f"j{job}", *person)
        for verb, thing, job, person in product(range(verbs), range(objects), range(jobs), people)
    ]
    table = pd.DataFrame(rows, columns=["frame", "verb", "object", "job", "person", "gender", "pair"])
    table = table.astype({"gender": object, "pair": object})
    kept = rng.random(len(table)) < draw(st.sampled_from([1.0, 1.0, 0.9, 0.3]))
    table = table[kept].reset_index(drop=True)
    if draw(st.booleans()):
        table = table.sample(frac=1, random_state=seed % 1000).reset_index(drop=True)
    numbers = rng.dirichlet([1, 2, 1], len(table)).round(draw(st.sampled_from([1, 2, 6])))
    if draw(st.integers(0, 3)) == 0:
        numbers[:] = [0.1, 0.8, 0.1]  # a model that says the same of every row
    numbers[rng.random(len(table)) < draw(st.sampled_from([0, 0, 0.1, 0.8]))] = np.nan
    gold = rng.choice(np.array(["entailment", "neutral", "contradiction", None], dtype=object), len(table))
    return table.assign(gold=gold, **dict(zip(LABELS, numbers.T, strict=True)))


def _couple(pair: int) -> list[tuple[str, str]]:
    names = ("man", "woman") if pair == 0 else (f"man{pair}", f"woman{pair}")
    return [(names[0], "male"), (names[1], "female")]


MEANS = ("nn", "fn", "t@0.5", "t@0.7", "entailment", "contradiction", "accuracy")


@PROPERTY
@given(rows=inference_rows(), size=st.integers(1, 400), drawn=st.booleans())
def test_means_of_parts_are_those_of_all_rows(rows: Rows, size: int, drawn: bool) -> None:
    check_same(rows, inference_design(MEANS, drawn=drawn), size)


@PROPERTY
@given(rows=inference_rows(), size=st.integers(1, 400))
def test_gaps_of_parts_are_those_of_all_rows(rows: Rows, size: int) -> None:
    design = inference_design(("gap", "nn"))
    try:
        whole = figures(rows, design, "config")
    except ResultError:  # no slot's words each have one gender: of parts as of all rows
        with pytest.raises(ResultError, match="no slot's words"):
            stream_config(rows, design, size)
    else:
        assert_same_figures(stream_config(rows, design, size), whole)


@PROPERTY
@given(rows=inference_rows(), size=st.integers(1, 400))
def test_declared_gaps_of_parts_are_those_of_all_rows(rows: Rows, size: int) -> None:
    check_same(rows, inference_design(("gap:he-she", "gap:he-they"), gaps=True), size)


# --- contrasts ------------------------------------------------------------------------------------------------------


def contrast_design(estimands: tuple[str, ...], differs: str) -> Design:
    """The design of pairs of pronouns about jobs, with a noun that either sentence has its own of."""
    factors = (
        Factor(name="job", columns=("job",)),
        Factor(name="noun", columns=("noun_stereo", "noun_anti")),
        Factor(name="frame", columns=("frame",)),
    )
    return Design(
        kind="contrast",
        sense_type="noun",
        bias_type="gender",
        slots=("job", "noun_stereo", "noun_anti"),
        roles={"stereo": {"noun": "noun_stereo"}, "anti": {"noun": "noun_anti"}},
        factors=factors,
        differs=differs,
        strata={"stereotype": "job", "valence": "noun"},
        estimands=estimands,
    )


@st.composite
def contrast_rows(draw: st.DrawFn) -> Rows:
    """Rows of that design, labelled or not, of one or more bias types, with ties, and with numbers or without."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    jobs, nouns, frames = (draw(st.integers(1, most)) for most in (12, 6, 6))
    count = draw(st.integers(1, 250))
    job, first, second = (
        rng.integers(jobs, size=count),
        rng.integers(nouns, size=count),
        rng.integers(nouns, size=count),
    )
    if draw(st.booleans()):
        second = first  # the noun was drawn once
    classes = np.array(["male", "female", None][: draw(st.integers(1, 3))], dtype=object)
    valences = np.array([["pleasant", "unpleasant"], ["pleasant", None], [None, None]][draw(st.integers(0, 2))])
    he = rng.random(count) < 0.5
    scores = rng.normal(-10, 3, (count, 2)).round(draw(st.sampled_from([0, 1, 5])))
    if draw(st.integers(0, 3)) == 0:
        scores[:, 1] = scores[:, 0] - 1
    scores[rng.random(count) < draw(st.sampled_from([0, 0, 0.2])), 0] = np.nan
    return pd.DataFrame(
        {
            "frame": [f"f{number}" for number in rng.integers(frames, size=count)],
            "job": [f"j{number}" for number in job],
            "noun_stereo": [f"n{number}" for number in first],
            "noun_anti": [f"n{number}" for number in second],
            "stereo_value": np.where(he, "he", "she"),
            "anti_value": np.where(he, "she", "he"),
            "label_basis": rng.choice(np.array(["published", "none"] if draw(st.booleans()) else ["x"]), count),
            "contested": rng.random(count) < draw(st.sampled_from([0, 0.2])),
            "stereotype": classes[job % len(classes)],
            "valence": valences[first % 2],
            "bias_type": rng.choice(np.array(["gender", "race"] if draw(st.booleans()) else ["gender"]), count),
            "minimal": True,
            "stereo_score": scores[:, 0],
            "anti_score": scores[:, 1],
        }
    )


@PROPERTY
@given(rows=contrast_rows(), size=st.integers(1, 300), differs=st.sampled_from(["pronoun", "evaluative"]))
def test_preferences_of_parts_are_those_of_all_rows(rows: Rows, size: int, differs: str) -> None:
    check_same(rows, contrast_design(("preference", "preference-half"), differs), size, "log")


@PROPERTY
@given(rows=contrast_rows(), size=st.integers(1, 300))
def test_pronouns_of_parts_are_those_of_all_rows(rows: Rows, size: int) -> None:
    estimands = ("preference-half", "pronoun-stereotype", "pronoun-baseline", "pronoun-interaction")
    check_same(rows, contrast_design(estimands, "pronoun"), size, "log")


def test_independent_rows_of_parts_have_an_exact_interval() -> None:
    count = 30
    rows = pd.DataFrame({"frame": [f"f{number}" for number in range(count)], "label_basis": "published"})
    rows = rows.assign(contested=False, stereo_score=-1.0, anti_score=[-2.0, 0.0, -3.0] * 10)
    factors = (Factor(name="frame", columns=("frame",)),)
    parts: dict[str, Any] = {"kind": "contrast", "sense_type": "", "bias_type": "none", "slots": (), "roles": {}}
    design = Design(**parts, factors=factors, estimands=("preference-half",))
    check_same(rows, design, 7, "log")
    (figure,) = stream_config(rows, design, 4)
    assert figure.method == "clopper-pearson"
    assert figure.value == pytest.approx(100 * 20 / 30 - 50)


# --- built-in releases ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agree", [False, True])
@pytest.mark.parametrize("size", [97, 10_000])
def test_figures_of_sssb_in_parts_are_those_of_all_rows(size: int, agree: bool) -> None:
    release = api.load("sssb")
    rng = np.random.default_rng(size)
    tables = {}
    for name in release.designs:
        table = release.table(name)
        scores = rng.normal(-20, 4, (len(table), 2)).round(2)
        scores[:, 1] = scores[:, 0] - 1 if agree else scores[:, 1]
        tables[name] = table.assign(stereo_score=scores[:, 0], anti_score=scores[:, 1])
    whole = figures_of(release, ScoredRows(tables=tables), seed=1, scale="log")
    streamed = stream_figures(release, cut(tables, size), None, 1, "log", configs=[*tables])
    assert_same_figures(streamed, whole)


def test_figures_of_nli_control_in_parts_are_those_of_all_rows() -> None:
    release = api.load("nli-control")
    rng = np.random.default_rng(5)
    tables = {}
    for name in release.designs:
        table = release.table(name).iloc[:20_000]
        numbers = dict(
            zip(("entailment", "neutral", "contradiction"), rng.dirichlet([1, 1, 1], len(table)).T, strict=True)
        )
        tables[name] = table.assign(**numbers)
    whole = figures_of(release, ScoredRows(tables=tables), seed=1, scale="probability")
    streamed = stream_figures(release, cut(tables, 7_001), None, 1, "probability", configs=[*tables])
    assert_same_figures(streamed, whole)


@pytest.mark.parametrize("config", ["activities", "pronouns"])
def test_figures_of_nli_occupations_design_in_parts_are_those_of_all_rows(config: str) -> None:
    design = api.load("nli-occupation").design(config)
    people = [("man", "male", "man"), ("woman", "female", "man"), ("boy", "male", "boy"), ("girl", "female", "boy")]
    pronouns = [("he", "male", ""), ("she", "female", ""), ("they", None, "")]
    words, slot = (people, "person") if config == "activities" else (pronouns, "pronoun")
    rows = [
        ("f", f"v{thing % 7}", f"o{thing}", f"j{job}", *word)
        for thing, job, word in product(range(12), range(9), words)
    ]
    table = pd.DataFrame(rows, columns=["frame", "verb", "object", "occupation", slot, "gender", "pair"])
    numbers = np.random.default_rng(2).dirichlet([1, 2, 1], len(table)).T
    table = table.assign(**dict(zip(LABELS, numbers, strict=True)))
    check_same(table, design, 50)
    check_same(table.drop(columns=[] if config == "activities" else ["pair"]).iloc[:-1], design, 33)


# --- what needs all rows --------------------------------------------------------------------------------------------


def test_estimands_that_need_all_rows_are_refused_by_name_beyond_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    release = api.load("sssb")
    tables = {"language": release.table("language").assign(stereo_score=-1.0, anti_score=-2.0)}
    monkeypatch.setattr(gathered, "MOST_BYTES", 10_000)
    read = cut(tables, 100)
    with pytest.raises(ResultError) as refused:
        stream_figures(release, read, None, 0, "log", configs=["language"])
    text = str(refused.value)
    assert "relative of language need all of its 576 rows at once" in text
    assert "join the parts with --without relative" in text
    left = stream_figures(release, read, None, 0, "log", configs=["language"], without=["relative", "spread"])
    assert [figure.estimand for figure in left] == ["preference", "preference-half"]
