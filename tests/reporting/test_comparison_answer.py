"""The answer that a comparison begins with, on differences that are made up and on models that are made by hand."""

import pytest
from tests.reporting.medium import printed
from tests.reporting.test_comparison_section import compared, source
from tests.reporting.test_gate import result

import senseprobe
from senseprobe import document
from senseprobe.evaluate.estimands.comparison import Comparison
from senseprobe.evaluate.fitness import Fitness
from senseprobe.evaluate.reporting.comparison_answer import Answer, answer_pair, describe_answers, name_both
from senseprobe.evaluate.reporting.inputs import ReportInput, gather_inputs
from senseprobe.evaluate.reporting.report import build_report
from senseprobe.evaluate.reporting.scope import ModelComparison
from senseprobe.evaluate.reporting.significance import compare_results
from senseprobe.records import Figure
from senseprobe.release.release import Release

NAMES = ("a", "b")


@pytest.fixture(scope="module")
def sssb() -> Release:
    return senseprobe.load("sssb@1.0.2")


def answers(*rows: Comparison, inputs: tuple[ReportInput, ...] = ()) -> list[Answer]:
    """The answers of models a and b."""
    return answer_pair(ModelComparison(a=1, b=2, comparisons=rows), inputs or (source("a"), source("b")))


def told(*rows: Comparison, inputs: tuple[ReportInput, ...] = ()) -> str:
    return describe_answers(answers(*rows, inputs=inputs), NAMES, "5 points")


def found(config: str, low: float, high: float, **fields: object) -> Comparison:
    """A difference that its interval and p show."""
    return compared(config, low, high, p=0.001, p_holm=0.004, **fields)


def half(config: str, neutral: float | None) -> Figure:
    """A figure of a model, whose neutral value is known or not."""
    return Figure(
        config=config,
        sense_type="",
        estimand="preference-half",
        value=1.0,
        neutral=neutral,
        rows=1,
        scored=1,
        unscored=0,
        ties=0,
    )


# ---- In words, by hand ----


def test_no_value_means_unbiased() -> None:
    """Then the answer says which model is higher, never which is closer; either sign is told of the higher one."""
    (answer,) = answers(found("noun", 6.0, 30.0))
    assert (answer.code, answer.growth) == ("shown", None)
    more, less = told(found("noun", 6.0, 30.0)), told(found("noun", -30.0, -6.0))
    assert more.startswith("a is 18 points higher than b on noun, ")
    assert less.startswith("b is 18 points higher than a on noun, ")
    assert "closer" not in more


def test_without_rows_it_is_not_known_which_model_is_closer() -> None:
    """A figure with a neutral value is higher; how far both are from it needs the rows of both."""
    inputs = (source("a", half("noun", 0.0)), source("b", half("noun", 0.0)))
    (answer,) = answers(found("noun", 6.0, 30.0), inputs=inputs)
    text = told(found("noun", 6.0, 30.0), inputs=inputs)

    assert answer.growth is None
    assert text.startswith("a is 18 points higher than b on noun, and ")
    assert "undecided" in text


def test_several_are_told_by_winner_and_the_rest_is_counted() -> None:
    """Those found first, with their sizes; up to three others by name, more as a number."""
    rows = [found("c1", 6.0, 30.0), found("c2", -22.0, -2.0), found("c3", 1.0, 3.0)]
    few = told(*rows, compared("d1", -4.0, 9.0))
    many = told(*rows, *(compared(f"d{n}", -4.0, 9.0) for n in range(4)))

    assert "a is higher than b on c1 (by 18 points) and c3 (by 2.0 points)" in few
    assert "b is 12 points higher than a on c2" in few
    assert few.endswith("; d1 is undecided.")
    assert many.endswith("; the other 4 are undecided.")


def test_what_is_undecided_has_a_bound() -> None:
    """Nothing was found: the largest difference that an interval allows is named, rounded away from 0."""
    text = told(compared("noun", -4.0, 12.3), compared("verb", -33.2, 4.0))
    assert "34 points" in text
    assert "(verb)" in text
    assert "higher" not in text
    (one,) = answers(compared("noun", -4.0, 12.3))
    assert one.code == "not_shown"
    assert "13 points" in told(compared("noun", -4.0, 12.3))


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (found("x", 6.0, 30.0), "shown"),
        (compared("x", 6.0, 30.0, p=0.01, p_holm=0.2), "not_shown"),  # the interval alone is not enough
        (compared("x", -6.0, 30.0, p=0.01, p_holm=0.01), "not_shown"),  # nor is p
        (compared("x", 6.0, 30.0, p=None, p_holm=None, test="none"), "not_shown"),
        (compared("x", -1.0, 2.0, equivalent="equivalent within 5 points"), "small"),
        (found("x", 0.5, 2.5, equivalent="equivalent within 5 points"), "small"),
        (compared("x", -1.0, 9.0, equivalent="not shown"), "not_shown"),
        (compared("x", None, None, p=None, note="alike"), "not_shown"),
    ],
)
def test_codes(row: Comparison, code: str) -> None:
    """A difference is found where interval and corrected p say so; it is small where the margin holds."""
    (answer,) = answers(row)
    assert answer.code == code


def test_small_and_not_readable() -> None:
    """Both have their own words, with the margin and the name of the config."""
    inputs = (source("a", fitness={"verb": Fitness(rows=10, unknown=5)}), source("b"))
    small = compared("noun", -1.0, 2.0, equivalent="equivalent within 5 points")
    text = told(found("verb", 6.0, 30.0), small, inputs=inputs)

    assert [answer.code for answer in answers(found("verb", 6.0, 30.0), small, inputs=inputs)] == [
        "small",
        "unreadable",
    ]
    assert "noun, within 5 points" in text
    assert text.endswith("verb is not readable.")
    assert "points higher" not in text


def test_a_config_has_one_answer() -> None:
    """Of two leading figures the one with a neutral value is told, unless only the other was found."""
    stand_in = Figure(
        config="x",
        sense_type="",
        estimand="pronoun-stereotype",
        value=1.0,
        neutral=0.0,
        rows=1,
        scored=1,
        unscored=0,
        ties=0,
    )
    inputs = (source("a", half("x", None), stand_in), source("b", half("x", None), stand_in))
    neutral = {"estimand": "pronoun-stereotype"}

    def of(*rows: Comparison) -> list[str]:
        return [answer.difference.comparison.estimand for answer in answers(*rows, inputs=inputs)]

    assert of(found("x", 6.0, 30.0), found("x", 6.0, 30.0, **neutral)) == ["pronoun-stereotype"]
    assert of(compared("x", -6.0, 30.0), compared("x", -6.0, 30.0, **neutral)) == ["pronoun-stereotype"]


# ---- Closer to neutral, on the rows of a release ----


def test_the_model_that_is_closer(sssb: Release) -> None:
    """One always says what is typical (+50), one half of the time (about 0): how much closer is their difference."""
    inputs = gather_inputs([result(sssb, "org/always", 1.0), result(sssb, "org/half", 0.5)])
    own, other = (next(f for f in i.result.figures if f.estimand == "pronoun-stereotype") for i in inputs)
    assert own.value == pytest.approx(50)
    amount = f"{50 - abs(other.value or 0.0):.0f} points"
    text = printed(build_report(inputs, compare_results(inputs), "brief"))
    turned = inputs[::-1]
    again = printed(build_report(turned, compare_results(turned), "brief"))

    expected = f"org/half is {amount} closer to neutral than org/always on verb"
    assert text.lstrip().startswith(expected)
    assert again.lstrip().startswith(expected)


def test_two_models_on_either_side_are_not_ranked(sssb: Release) -> None:
    """One always says what is typical, the other never: 100 points apart, and as far from neutral as each other."""
    inputs = gather_inputs([result(sssb, "org/always", 1.0), result(sssb, "org/never", 0.0)])
    text = printed(build_report(inputs, compare_results(inputs), "brief")).lstrip()

    assert text.startswith("org/always is 100 points higher than org/never on verb, and it is undecided which")
    assert "closer to neutral than" not in text


def test_page_terminal_and_markdown_have_one_answer(sssb: Release) -> None:
    """The page has it above the findings, each with its badge, both figures and the interval."""
    inputs = gather_inputs([result(sssb, f"org/{share}", share, "verb", "noun-bare") for share in (1.0, 0.5)])
    pairs = compare_results(inputs)
    whole, brief = build_report(inputs, pairs), build_report(inputs, pairs, "brief")
    (answer,) = brief.parts[0].sections[0].lead
    section = whole.parts[0].sections[0]
    first = section.tiles[0]

    assert section.lead == (answer,)
    assert answer in document.render_markdown(whole)
    assert answer in document.render_html(whole)
    assert first.badge == "found"
    assert {tile.about for tile in section.tiles} >= {"verb", "noun-bare"}
    assert "+50.0" in first.sentence
    assert first.mark is not None
    assert first.axis is not None
    assert first.axis.low <= (first.mark.low or 0.0) <= (first.mark.high or 0.0) <= first.axis.high
    assert {tile.badge for tile in section.tiles} <= {"found", "undecided"}
    assert all("may be up to" in tile.outlook for tile in section.tiles if tile.badge == "undecided")


def test_three_models_have_an_answer_for_each_pair(sssb: Release) -> None:
    """In a sentence each: six tiles are of one pair."""
    inputs = gather_inputs([result(sssb, f"org/{share}", share) for share in (1.0, 0.5, 0.0)])
    section = build_report(inputs, compare_results(inputs)).parts[0].sections[0]
    assert (len(section.lead), section.tiles) == (3, ())


# ---- Names ----


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["a/" * 15 + "first", "a/" * 15 + "second"], ["first", "second"]),
        (["a/" * 15 + "same", "b/" * 15 + "same"], ["a/" * 15 + "same", "b/" * 15 + "same"]),
        (["first", "first"], ["first (1)", "first (2)"]),
        (["smollm2", "b"], ["SmolLM2", "b"]),
    ],
)
def test_names_are_those_of_the_page_and_never_ambiguous(names: list[str], short: list[str]) -> None:
    assert name_both([source(name) for name in names]) == short
