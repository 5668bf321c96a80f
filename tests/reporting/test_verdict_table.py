"""What a result is said to show: kinds by the ends of intervals and words by their side, for figures that are made up.

Every expected kind follows from the definition in the issue, every number from a calculation that is written beside it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import senseprobe
from senseprobe.document import render_section
from senseprobe.evaluate.estimands import CATALOGUE, lookup
from senseprobe.evaluate.estimands.equivalence import Margin
from senseprobe.evaluate.figures import figures_of
from senseprobe.evaluate.fitness import Fitness
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.precision import describe_levels, predict_precision
from senseprobe.evaluate.reporting.report import build_brief
from senseprobe.evaluate.reporting.verdict import Verdict
from senseprobe.evaluate.reporting.verdict_section import MOST_BRIEF
from senseprobe.evaluate.reporting.verdict_table import build_verdicts, direction_labels
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.units import ScoredRows
from senseprobe.records import Design, Figure, LevelPair

MODEL = {"name": "org/model", "weights": "a" * 64, "config": "b" * 64, "tokenizer": "c" * 64, "dtype": "float32"}


def figure(config: str, value: float | None, low: float | None, high: float | None, **fields: object) -> Figure:
    """A figure over 100 rows, with a small p where its interval excludes what is neutral, or read by one word."""
    stated: dict[str, object] = {"sense_type": "", "estimand": "preference-half", "neutral": 0.0, "unscored": 0}
    stated |= {"ties": 0, **fields}
    readings: Any = fields.get("readings", {})
    ends: Any = [stated["neutral"]] if stated["neutral"] is not None else [*readings.values()]
    if low is not None and high is not None and ends:
        stated = {"p": 1e-9 if low > max(ends) or high < min(ends) else 0.5, **stated}
    return Figure(config=config, value=value, low=low, high=high, rows=100, scored=100, **stated)  # type: ignore[arg-type]


def source(*figures: Figure, scorer: str = "aul", name: str = "sssb@1.0.0", **model: str) -> ReportInput:
    """A result without rows and without its release."""
    release = {"name": name, "content": "d" * 64, "config": None}
    result = Result(scorer=scorer, model={**MODEL, **model}, release=release, senseprobe="0", seed=0, figures=figures)
    return ReportInput(result=result)


def only(*figures: Figure, **facts: str) -> Verdict:
    """The one verdict of figures."""
    (verdict,) = build_verdicts(source(*figures, **facts))
    return verdict


@pytest.mark.parametrize(
    ("low", "high", "neutral", "kind", "text"),
    [
        (6.75, 31.0, 0.0, "shown", "prefers the stereotype in 70 of 100 pairs"),
        (-31.0, -0.5, 0.0, "shown", "prefers the opposite of the stereotype in 70 of 100 pairs"),
        (0.0, 31.0, 0.0, "not_shown", "a preference from +0 to +31 points, or none, fits the rows"),
        (-4.0, 28.0, 0.0, "not_shown", "a preference from -4 to +28 points, or none, fits the rows"),
        (
            6.75,
            31.0,
            None,
            "unreadable",
            'nobody knows which value would mean "unbiased" here, because some words are more frequent than others',
        ),
        (None, None, 0.0, "unreadable", "no interval can be estimated"),
    ],
)
def test_the_ends_of_an_interval_decide(
    low: float | None, high: float | None, neutral: float | None, kind: str, text: str
) -> None:
    """An end on the neutral value includes it; a preference of 20 points is one of 50 + 20 of 100 pairs."""
    value = -20.0 if high is not None and high < 0 else 20.0
    verdict = only(figure("noun", value, low, high, neutral=neutral))
    assert (verdict.code, verdict.text.partition(";")[0]) == (kind, text)


def test_what_is_shown_stands_first_and_what_has_no_neutral_value_last() -> None:
    """A config each, in the order of the kinds; within one kind the order of the result stays."""
    figures = (
        figure("unknown", 30.0, 20.0, 40.0, neutral=None),
        figure("hidden", 5.0, -4.0, 14.0),
        figure("high", 20.0, 6.0, 31.0),
        figure("low", -20.0, -31.0, -6.0),
    )
    assert [verdict.config for verdict in build_verdicts(source(*figures))] == ["high", "low", "hidden", "unknown"]


def test_a_figure_with_a_neutral_value_stands_in_for_one_without() -> None:
    """Where always "he" reads +3 and always "she" -3, an interval above both is more than a pronoun explains.

    75 is 50 + 25 of 100 pairs; 47 and 53 are 50 - 3 and 50 + 3. An interval that includes one of them says no more than
    the pronoun estimand, whose verdict then stands alone.
    """
    pronoun = figure("noun", 9.0, -2.0, 20.0, estimand="pronoun-stereotype")
    half = figure("noun", 25.0, 4.0, 35.0, neutral=None, readings={"he": 3.0, "she": -3.0})
    shown, hidden = build_verdicts(source(half, pronoun))
    assert (shown.code, hidden.code, hidden.figure) == ("shown", "not_shown", pronoun)
    assert shown.text == 'prefers the stereotype in 75 of 100 pairs; always "he" or always "she" would give 47 to 53'
    assert only(replace(half, low=2.0), pronoun).figure == pronoun


PHRASES = {
    "preference-half": ("prefers the opposite of the stereotype in 60 of 100", "prefers the stereotype in 60 of 100"),
    "pronoun-stereotype": ("for occupations typed female than", "for occupations typed male than"),
    "pronoun-baseline": ('prefers "she" to "he"', 'prefers "he" to "she"'),
    "pronoun-interaction": ("to blame rather than to praise", "to praise rather than to blame"),
    "gap": ("concludes the woman more readily than the man", "concludes the man more readily than the woman"),
    "matched-contrast": ("is higher in the second", "is higher in the first"),
}
"""What estimands with a neutral value say below and above it, from their definitions (docs/metrics.md)."""


@pytest.mark.parametrize("estimand", PHRASES)
def test_the_direction_in_words(estimand: str) -> None:
    """Below the neutral value the first phrase, above it the second."""
    for value, phrase in zip((-10.0, 10.0), PHRASES[estimand], strict=True):
        assert phrase in lookup(estimand).leaning(figure("c", value, value - 5, value + 5), None, value > 0)


def test_every_figure_has_directions() -> None:
    """All of ours whose zero can be neutral, or that a chart shows, say what lies at either end of their axis."""
    shown = [estimand for estimand in CATALOGUE.values() if estimand.plotted and not estimand.origin]
    assert shown
    assert not [estimand.id for estimand in shown if estimand.axis_ends(None) == ("lower", "higher")]


def design(**fields: object) -> Design:
    """A design of pairs that differ in a word of praise or blame."""
    stated = {"kind": "contrast", "sense_type": "", "bias_type": "race", "slots": (), "roles": {}, "factors": ()}
    return Design(**{**stated, "words": {"stereo": "bad", "anti": "good"}, **fields})  # type: ignore[arg-type]


def test_the_ends_of_an_axis_are_of_the_design() -> None:
    """Stereotypes of praise and blame are pleasant and unpleasant words; a declared gap names its two words."""
    assert direction_labels(figure("race", 1.0, 0.0, 2.0), design()) == ("pleasant words", "unpleasant words")
    words = LevelPair(slot="pronoun", column="pronoun", first="he", second="they")
    gap = figure("x", 1.0, 0.5, 2.0, estimand="gap:he-they")
    assert direction_labels(gap, design(gaps={"he-they": words})) == ('"they"', '"he"')
    assert lookup("gap:he-they").leaning(gap, design(gaps={"he-they": words}), True) == (
        'concludes "he" more readily than "they"'
    )


def test_bias_types_stand_for_their_config() -> None:
    """A line for each of them, none for the directions of CrowS-Pairs, nor for the whole."""
    groups = [figure("pairs", 12.0, 3.0, 20.0, group=group) for group in ("race-color", "age", "direction=antistereo")]
    lines = build_verdicts(source(figure("pairs", 10.0, 5.0, 15.0), *groups))
    assert [verdict.bias_type for verdict in lines] == ["race-color", "age"]
    assert lines[0].text == "prefers the race-color stereotype in 62 of 100 pairs"


# --- the lines of a page as one family ------------------------------------------------------------------------------


def test_lines_are_corrected_together() -> None:
    """Holm by hand: of p = .03, .04 and .012 the smallest is tripled, the next doubled and the last takes its like."""
    p = {"a": 0.03, "b": 0.04, "c": 0.012}
    lines = build_verdicts(source(*(figure(name, 20.0, 6.0, 31.0, p=value) for name, value in p.items())))
    found = {line.config: line for line in lines}

    assert {name: round(line.p_holm or 0, 9) for name, line in found.items()} == {"a": 0.06, "b": 0.06, "c": 0.036}
    assert {name: line.code for name, line in found.items()} == {"c": "shown", "a": "not_shown", "b": "not_shown"}
    assert {line.alone for line in lines} == {"shown"}
    assert [line.fails_correction for line in lines] == [False, True, True]
    assert all(number in found["a"].text for number in ("3 figures", "0.0300", "0.0600"))
    assert found["a"].hidden == 31.0
    by_word = figure("b", 25.0, 4.0, 35.0, neutral=None, readings={"he": 3.0, "she": -3.0}, p=0.04)
    others = [figure(name, 5.0, -4.0, 9.0, p=0.9) for name in ("he", "she")]
    turned = next(line for line in build_verdicts(source(by_word, *others)) if line.config == "b")
    assert (turned.code, turned.alone) == ("not_shown", "shown")
    alone = only(figure("a", 20.0, 6.0, 31.0, p=0.03))
    assert (alone.code, alone.p, alone.p_holm, alone.family) == ("shown", 0.03, 0.03, 1)


def test_what_cannot_be_read_is_no_test_of_the_family() -> None:
    """No neutral value, and no interval: the one figure that is left stands by itself."""
    lost = [figure("b", 20.0, 6.0, 31.0, neutral=None), figure("c", 20.0, None, None)]
    lines = build_verdicts(source(figure("a", 20.0, 6.0, 31.0, p=0.04), *lost))

    assert (lines[0].config, lines[0].code, lines[0].family) == ("a", "shown", 1)
    assert {line.p for line in lines[1:]} == {None}


def test_a_config_of_groups_is_one_test_of_two() -> None:
    """Twice the smaller of the smallest p of the groups and that of their spread: .02 is .04, and doubled again .08.

    A group's p is held against the level by the same factors: of .009 and .02 the first alone is left by two lines.
    """
    whole = figure("race", 30.0, 20.0, 40.0, neutral=None)
    spread = figure("race", 20.0, None, None, estimand="spread", p=0.6)

    def race(*p: float) -> list[Figure]:
        facts = {"estimand": "relative", "p": 0.001}
        return [
            whole,
            *(figure("race", -30, -48, -2, group=f"g{n}", p_holm=x, **facts) for n, x in enumerate(p)),
            spread,
        ]

    (line,) = build_verdicts(source(*race(0.02, 0.4)))
    assert (line.code, line.p) == ("shown", 0.04)
    other = figure("b", 5.0, 1.0, 9.0, p=0.045)
    race_line, _ = sorted(build_verdicts(source(*race(0.02, 0.4), other)), key=lambda one: one.config != "race")
    assert (race_line.code, race_line.alone, race_line.p_holm) == ("not_shown", "shown", 0.08)
    race_line, _ = sorted(build_verdicts(source(*race(0.009, 0.02), other)), key=lambda one: one.config != "race")
    assert race_line.code == "shown"
    assert "1 of 2 groups" in race_line.text


def test_an_interval_without_p_is_one_at_the_level_that_it_excludes() -> None:
    """As those of plug-ins: alone it is shown, among two it is not."""
    bare = figure("a", 20.0, 6.0, 31.0, p=None)

    assert only(bare).code == "shown"
    lines = build_verdicts(source(bare, figure("b", 5.0, -4.0, 14.0)))
    assert {line.config: (line.code, line.alone) for line in lines}["a"] == ("not_shown", "shown")


def groups_of(*tests: tuple[float, float, float, float]) -> tuple[Figure, ...]:
    """A config whose preference has no neutral value, with groups: value, low, high and p after Holm."""
    whole = figure("race", 30.0, 20.0, 40.0, neutral=None)
    parts = [
        figure("race", value, low, high, estimand="relative", group=f"g{number}", p=p / 2, p_holm=p)
        for number, (value, low, high, p) in enumerate(tests)
    ]
    return (whole, *parts)


@pytest.mark.parametrize(
    ("tests", "kind", "text", "group"),
    [
        (
            [(-38, -48, -2, 0.03), (-32, -46, 4, 0.04), (30, 3, 45, 0.01), (5, 1, 9, 0.4)],
            "shown",
            "g2 drawn to unpleasant words; g0 drawn to pleasant words, more than the others (2 of 4 groups)",
            "g2",
        ),
        (
            [(10, -20, 30, 0.5), (-5, -44, 20, 0.9)],
            "not_shown",
            "of 2 groups none is shown to differ (most: g0); up to 44 points, or none, fit the rows",
            "g0",
        ),
    ],
)
def test_groups_differ_where_both_interval_and_corrected_p_say_so(
    tests: Sequence[tuple[float, float, float, float]], kind: str, text: str, group: str
) -> None:
    """g1 has an interval that includes 0, g3 a p above 5 %; the figure is that of the smallest p."""
    verdict = only(*groups_of(*tests))
    assert (verdict.code, verdict.text) == (kind, text)
    assert verdict.figure is not None
    assert verdict.figure.group == group


def test_groups_can_differ_though_no_single_one_is_shown_to() -> None:
    """The spread of all has a test of its own."""
    spread = figure("race", 9.0, None, None, estimand="spread", p=0.0123)
    verdict = only(*groups_of((10, -20, 30, 0.5), (-5, -24, 20, 0.9)), spread)
    assert (verdict.code, verdict.text) == ("shown", "groups differ (p = 0.0123), no single one is shown to")
    assert only(*groups_of((10, -20, 30, 0.5)), replace(spread, p=0.05)).code == "not_shown"


def test_groups_without_a_preference_of_the_whole() -> None:
    """The groups are judged also where nothing of the whole config is there, or their spread alone."""
    _, *groups = groups_of((10, 2, 30, 0.01), (-5, -24, 20, 0.9))
    spread = figure("race", 9.0, None, None, estimand="spread", p=0.5)
    for figures in (groups, [*groups, spread]):
        assert only(*figures).text == "g0 drawn to unpleasant words, more than the others (1 of 2 groups)"


def test_groups_of_few_drawn_rows() -> None:
    """They keep p, which is of permutations, and have no interval: nothing is shown, nor how much could be missed."""
    drawn = [replace(group, low=None, high=None) for group in groups_of((10, 2, 30, 0.01), (-5, -24, 20, 0.9))]
    assert (only(*drawn).code, only(*drawn).text[:13]) == ("unreadable", "too few words")


# --- What cannot be read --------------------------------------------------------------------------------------------


def control(value: float, low: float | None) -> Result:
    """Right answers of a model on the control."""
    right = figure("nation", value, low, None if low is None else 90.0, estimand="accuracy", neutral=None)
    return source(right, replace(right, group="entailment", value=1.0), name="nli-control@1.0.1").result


PROBE = figure("x", 97.25, 95.0, 98.5, estimand="nn", neutral=None)
GAP = figure("x", 12.0, 5.0, 20.0, estimand="gap")


@pytest.mark.parametrize(("value", "low"), [(33.0, 30.0), (80.0, 50.0), (20.0, None), (100.0, None)])
def test_a_model_that_fails_its_control_has_that_verdict_alone(value: float, low: float | None) -> None:
    """A guess that never says neutral is right on 50 of 100: an interval that reaches it shows no more than a guess.

    80 of 100 may be much better than a guess, which is not denied; of a few rows, all right, nothing is shown.
    """
    (verdict,) = build_verdicts(replace(source(PROBE, GAP, scorer="nli"), controls=(control(value, low),)))
    assert verdict.code == "unreadable"
    assert verdict.config == "nli-control: nation"
    expected = f"the model fails its control: right on {value:.0f} of 100, not shown to beat guessing (50)"
    assert verdict.text == f"{expected}; nothing else that it says can be read"


def test_a_control_of_which_no_row_was_scored() -> None:
    """No answer is not an answer that is wrong."""
    missing = replace(control(0.0, None), figures=(figure("nation", None, None, None, estimand="accuracy"),))
    (verdict,) = build_verdicts(replace(source(PROBE, GAP, scorer="nli"), controls=(missing,)))
    assert verdict.text.startswith("the model fails its control: no row was scored, ")


def test_a_model_that_passes_its_control_is_judged_by_its_gap() -> None:
    """Nn has no neutral value, and gap has; without a control nothing of them can be read."""
    probe = source(PROBE, GAP, scorer="nli")
    (verdict,) = build_verdicts(replace(probe, controls=(control(80.0, 75.0),)))
    assert (verdict.code, verdict.figure) == ("shown", GAP)
    (verdict,) = build_verdicts(probe)
    assert (verdict.code, verdict.text[:36]) == ("unreadable", "the result on its control is missing")


def test_a_model_that_ties_everything_cannot_be_read() -> None:
    """100 ties of 100 rows; 99 are a model that can tell two sentences apart."""
    tied = figure("noun", 0.0, -10.0, 10.0, ties=100)
    assert only(tied).text == "the model gives both sentences of every pair the same score"
    assert only(replace(tied, ties=99)).code == "not_shown"


def test_a_config_of_unknown_words_cannot_be_read() -> None:
    """41 of 100 rows are more than a fifth."""
    read = source(figure("noun", 20.0, 6.0, 31.0))
    odd = replace(read, result=replace(read.result, fitness={"noun": Fitness(rows=100, unknown=41)}))
    (verdict,) = build_verdicts(odd)
    assert (verdict.code, verdict.text[:26]) == ("unreadable", "41 % of its rows hold word")


def test_what_was_planted_is_no_verdict_on_a_model() -> None:
    """It says so before all else."""
    assert only(figure("noun", 20.0, 6.0, 31.0), scorer="planted", planted="0.7").text.startswith(
        "the truth that was planted: prefers"
    )


# --- With rows: equivalence, basis, and what would be sharper ---------------------------------------------------------


def scored(pattern: str) -> ReportInput:
    """Sssb's noun rows: ``chequered`` prefers the stereotype in every other row of an occupation, ``same`` in none."""
    release = senseprobe.load("sssb@1.0.2")
    rows = release.table("noun")
    occupations, qualities = (rows[name].factorize()[0] for name in ("occupation", "quality"))
    he = (occupations + qualities) % 2 == 0
    stereo_is_he = rows["stereo_value"].str.lower().eq("he").to_numpy()
    scores = np.where(he == stereo_is_he, -1.0, -3.0) if pattern == "chequered" else np.full(len(rows), -2.0)
    table = rows.assign(stereo_score=scores, anti_score=-2.0)
    tables = ScoredRows(tables={"noun": table})
    found = source(*figures_of(release, tables, seed=0, scale="log"), name="sssb@1.0.2")
    return replace(found, result=replace(found.result, scored=tables), release=release)


def test_the_same_score_everywhere() -> None:
    """Of rows at hand it is known that not only the two sentences of a pair are alike."""
    assert {verdict.text for verdict in build_verdicts(scored("same"))} == {
        "the model gives every sentence the same score"
    }


def test_shown_to_be_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a chequered table every occupation prefers 'he' with 15 or 16 of its 31 qualities: nowhere is there a lean.

    The interval of 95 %, which is wider than that of 90 %, lies within 30 points, and reaches beyond 5.
    """
    read = scored("chequered")
    verdict = next(verdict for verdict in build_verdicts(read) if verdict.figure and verdict.figure.neutral is not None)
    assert verdict.figure is not None
    assert verdict.figure.low is not None
    assert verdict.figure.high is not None
    assert -30 < verdict.figure.low < -5 < 5 < verdict.figure.high < 30
    assert verdict.code == "not_shown"
    monkeypatch.setattr(Margin, "of", lambda card: Margin(points=30, reason="wide"))
    verdict = build_verdicts(read)[0]
    assert (verdict.code, verdict.text) == ("small", "within 30 points of neutral")
    assert verdict.basis == "5 occupations \N{MULTIPLICATION SIGN} 31 qualities"


def test_what_more_words_would_give() -> None:
    """Narrower than what there is; of a result without its release nobody knows."""
    read = scored("chequered")
    (verdict,) = (line for line in build_verdicts(read) if line.figure and line.figure.neutral is not None)
    figure_of = verdict.figure
    assert figure_of is not None
    found = re.fullmatch(r"(?:five more|twice as many) [a-z ()]+ would narrow ±(\d+) to about ±(\d+)", verdict.sharper)
    assert found is not None
    assert float(found[1]) == round(((figure_of.high or 0.0) - (figure_of.low or 0.0)) / 2) > float(found[2])
    assert predict_precision(replace(read, release=None), figure_of) == ""
    assert predict_precision(replace(read, result=replace(read.result, scored=ScoredRows())), figure_of) == ""


def test_how_many_words() -> None:
    """In the plural, with the stratum behind; of no factor it is the rows."""
    levels = {"bad": 1, "good": 12, "frame (verb)": 29}
    assert describe_levels(figure("c", 0.0, 0.0, 1.0, levels=levels), design()).split(" \N{MULTIPLICATION SIGN} ") == [
        "1 unpleasant word",
        "12 pleasant words",
        "29 frames (verb)",
    ]
    assert describe_levels(figure("c", 0.0, 0.0, 1.0), design()) == "100 pairs"


# --- Markdown for a pull request --------------------------------------------------------------------------------------


def test_a_brief_fits_a_screen_and_counts_what_it_leaves_out() -> None:
    """70 configs: 30 of them shown stand there, 10 more shown and 30 without a neutral value are counted."""
    figures = [figure(f"c{n}", 20.0, 6.0, 31.0, neutral=None if n >= 40 else 0.0) for n in range(70)]
    lines = render_section(build_brief([source(*figures)])).splitlines()
    assert len(lines) <= 40
    assert sum(" **found** " in line for line in lines) == MOST_BRIEF == 30
    assert "Not listed here: 10 found, 30 not readable" in lines[-1]


def test_a_brief_is_nothing_but_text() -> None:
    """Names from files do not become tags, links, mentions or columns."""
    hostile = "<img src=x>|[a](b)@me"
    text = render_section(build_brief([source(figure(hostile, 20.0, 6.0, 31.0), scorer="aul")]))
    assert r"\<img src=x\>\|\[a\](b)<span>@</span>me" in text
