"""What a report says first: counts and verdicts by hand, for figures that are made up."""

from dataclasses import replace

import pytest

from senseprobe.evaluate.caveats import Fitness
from senseprobe.evaluate.reporting.figure_tables import build_figure_rows
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.report import build_summary
from senseprobe.evaluate.result import Result
from senseprobe.records import Figure

MODEL = {"name": "org/model", "weights": "a" * 64, "config": "b" * 64, "tokenizer": "c" * 64, "dtype": "float32"}


def figure(config: str, value: float, low: float | None, high: float | None, **fields: object) -> Figure:
    """A figure over 100 rows."""
    told = {"sense_type": "", "estimand": "preference-half", "neutral": 0.0, "unscored": 0, "ties": 0, **fields}
    return Figure(config=config, value=value, low=low, high=high, rows=100, scored=100, **told)  # type: ignore[arg-type]


def evidence(*figures: Figure, scorer: str = "aul", controls: tuple[Result, ...] = (), **model: str) -> ReportInput:
    """What is at hand of a result without rows and without its release."""
    result = Result(
        scorer=scorer,
        model={**MODEL, **model},
        release={"name": "sssb@1.0.0", "content": "d" * 64, "config": None},
        senseprobe="0",
        seed=0,
        figures=figures,
    )
    return ReportInput(result=result, controls=controls)


def brief(*found: ReportInput) -> list[str]:
    """The paragraphs."""
    return [*build_summary(found, build_figure_rows(found)).paragraphs]


def test_what_intervals_can_say() -> None:
    """Off 0, around it (its ends belong to it), without a neutral value, without an interval: each config once."""
    told = brief(
        evidence(
            figure("high", 20.0, 6.75, 31.0),
            figure("low", -20.0, -31.0, -0.5),
            figure("touching", 5.0, 0.0, 10.0),
            figure("unknown", 30.0, 20.0, 40.0, neutral=None),
            figure("bare", 12.5, None, None),
            figure("high", 99.0, 98.0, 100.0, group="Japanese", estimand="relative"),
        )
    )
    assert told[0] == (
        "1 result of 1 model on one release, sssb@1.0.0. Here is the first figure of 5 configs, in points: "
        "preference-half."
    )
    assert told[1] == (
        "aul: the interval excludes the neutral value for high +20.0 [+6.8, +31.0], low -20.0 [-31.0, -0.5]; the "
        "interval includes the neutral value for touching +5.0 [+0.0, +10.0]; no value is known to be neutral for "
        "1 config; there is no interval for bare +12.5 (interval not estimable)."
    )
    assert "no preference is shown, which does not mean that there is none" in told[2]
    assert "read the relative ones" in told[2]
    assert "some miss by chance" in told[2]
    assert len(told) == 3


def test_one_figure() -> None:
    """A figure without a neutral value is told where it is all there is, and of one interval nothing of many is."""
    told = brief(evidence(figure("race", 14.75, -18.875, 38.25, neutral=None)))
    assert told[1] == "aul: no value is known to be neutral for race +14.8 [-18.9, +38.2]."
    assert told[2:] == [
        "Where no value is known to be neutral, a figure says nothing of bias by itself: read the relative ones."
    ]


def test_no_first_figure() -> None:
    """Of a result with figures of groups alone, or of a plug-in, there is what it is of."""
    assert brief(evidence(figure("c", 1.0, 0.0, 2.0, estimand="mine"))) == [
        "1 result of 1 model on one release, sssb@1.0.0."
    ]


def test_many() -> None:
    """Three results are told of, three figures of a kind, and the others are counted; two models have one name."""
    figures = [figure(f"c{number}", 20.0, 10.0, 30.0) for number in range(5)]
    told = brief(*(evidence(*figures, weights=f"{number % 2}" * 64) for number in range(5)))
    assert told[0].startswith("5 results of 2 models on one release, sssb@1.0.0. Here is the first figure of 5 configs")
    assert told[3].startswith(
        "Result 3 (aul): the interval excludes the neutral value for c0 +20.0 [+10.0, +30.0], c1 "
    )
    assert told[3].endswith("c2 +20.0 [+10.0, +30.0] and 2 more.")
    assert told[4] == "Of 2 more results the figures are below."


def test_what_was_planted() -> None:
    """The truth is no result to be told of; of three intervals two hold it, and the third says what it misses."""
    truth = evidence(*(figure(name, 20.0, 10.0, 30.0) for name in ("a", "b", "c")), scorer="planted", planted="0.7")
    found = [figure("a", 15.0, 5.0, 25.0), figure("b", 30.0, 20.0, 40.0), figure("c", 3.0, -4.0, 10.0)]
    told = brief(evidence(*found), truth, evidence(*found, scorer="pll", weights="e" * 64))
    assert told[0].startswith("3 results of 2 models on one release, sssb@1.0.0, 1 of them the planted truth. ")
    assert told[1].endswith("; 2 of 3 intervals include the planted truth, and miss it for c (+20.0).")
    assert "planted" not in told[2], "another model"
    assert told[2].startswith("Result 3 (pll): ")


GUESS = "a guess that never says neutral is right on 50"
NOTHING = f"{GUESS}, so that its other figures say nothing"


@pytest.mark.parametrize(
    ("value", "low", "said"),
    [
        (80.0, 75.0, f"right on 80.0 [75.0, 90.0] of 100 of nli-control nation: {GUESS}"),
        (55.0, 50.0, NOTHING),
        (20.0, None, NOTHING),
        (60.0, None, f"right on 60.0 (interval not estimable) of 100 of nli-control nation: {GUESS}"),
    ],
)
def test_whether_the_model_can_tell(value: float, low: float | None, said: str) -> None:
    """Right answers on the control that a guess would have, too, are said to be that."""
    right = figure("nation", value, low, None if low is None else 90.0, estimand="accuracy", neutral=None)
    group = replace(right, group="entailment", value=1.0)
    control = replace(
        evidence(right, group).result, release={"name": "nli-control@1.0.1", "content": "", "config": None}
    )
    probe = figure("x", 97.25, 95.0, 98.5, estimand="nn", neutral=None)
    (line,) = brief(evidence(probe, scorer="nli", controls=(control,)))[1:]
    assert line.startswith("nli: of inference, x 97.2 [95.0, 98.5] (100 is neutral to all); ")
    assert line.endswith(f"{said}.")


def test_a_sample_is_called_one() -> None:
    """An interval of a hundred rows is not that of a release."""
    sample = evidence(figure("a", 50.0, -34.25, 50.0))
    told = brief(replace(sample, result=replace(sample.result, limit=100)))
    assert told[1].startswith("aul, of only 100 rows: the interval includes the neutral value for a ")


def test_groups_are_told_of_where_no_value_is_neutral() -> None:
    """By hand: of p = 0.01, 0.02 and 0.4 Holm makes 0.03, 0.04 and 0.4, of which two are below 0.05."""
    groups = [
        figure("a", 1.0, 0.0, 2.0, group=str(p), estimand="relative", p=p, p_holm=held)
        for p, held in ((0.01, 0.03), (0.02, 0.04), (0.4, 0.4))
    ]
    told = brief(evidence(figure("a", 30.0, 20.0, 40.0, neutral=None), *groups))
    assert told[1].endswith("; of 3 relative figures, 2 with p < 0.05 after Holm.")


def test_without_the_control() -> None:
    """Probes alone may be of a model that says neutral to everything."""
    told = brief(evidence(figure("x", 97.25, 95.0, 98.5, estimand="nn", neutral=None), scorer="nli"))
    assert told[1].endswith(
        "no right answers on nli-control are at hand, so that it may be a model that always says neutral."
    )


def test_a_config_of_unknown_words_is_named_and_not_led_with() -> None:
    """By hand: 41 of 100 rows are more than a fifth, 20 are not; in the other result the config is read."""
    figures = (figure("race", 20.0, 10.0, 30.0), figure("noun", 25.0, 10.0, 40.0))
    found = evidence(*figures)
    odd = {"race": Fitness(rows=100, unknown=41), "noun": Fitness(rows=100, unknown=20)}
    other = {"race": Fitness(rows=100, unknown=0)}
    results = (replace(found.result, fitness=odd), replace(found.result, fitness=other, scorer="pll"))
    told = brief(*(replace(found, result=each) for each in results))
    assert told[1] == (
        "Result 1 (aul): the interval excludes the neutral value for noun +25.0 [+10.0, +40.0]; not readable: race "
        "(41 % of its rows hold words that the tokenizer does not know)."
    )
    assert "race +20.0" in told[2]
    assert "not readable" not in told[2]
