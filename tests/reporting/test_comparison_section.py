"""What is said of differences between models: order, words and p, for comparisons that are made up."""

import math
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reporting.medium import printed

from senseprobe.evaluate.estimands import CATALOGUE, lookup
from senseprobe.evaluate.estimands.comparison import Comparison
from senseprobe.evaluate.fitness import Fitness
from senseprobe.evaluate.reporting.comparison_section import (
    MOST_PLOTTED,
    Difference,
    comparison_sections,
    describe_difference,
    describe_differences,
    describe_reading,
    explain_disagreement,
    explain_without_neutral,
    rank_differences,
    summarize_differences,
)
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.report import build_report
from senseprobe.evaluate.reporting.scope import ModelComparison, ReportScope
from senseprobe.evaluate.result import Result
from senseprobe.records import Figure


def source(name: str, *figures: Figure, **fields: object) -> ReportInput:
    """A result of a model without rows and without its release."""
    model = {"name": name, "weights": name.encode().hex(), "config": "b", "tokenizer": "c", "dtype": "float32"}
    release = {"name": "sssb@1.0.0", "content": "d" * 64, "config": None}
    result = Result(scorer="aul", model=model, release=release, senseprobe="0", seed=0, figures=figures)
    return ReportInput(result=replace(result, **fields))  # type: ignore[arg-type]


def compared(config: str, low: float | None, high: float | None, **fields: object) -> Comparison:
    """A comparison whose difference is in the middle of its interval."""
    middle = None if low is None or high is None else (low + high) / 2
    own: dict[str, object] = {"estimand": "preference-half", "difference": middle, "p": 0.5, "test": "projection"}
    own |= {"rows": 100, "scored": 100, "unscored": 0, "low": low, "high": high, **fields}
    return Comparison(config=config, **own)  # type: ignore[arg-type]


def ranked(*rows: Comparison, inputs: tuple[ReportInput, ...] = ()) -> list[Difference]:
    """The differences of models a and b, as they are listed."""
    pair = ModelComparison(a=1, b=2, comparisons=rows)
    return rank_differences(pair, inputs or (source("a"), source("b")))


# --- words, by hand -------------------------------------------------------------------------------------------------


def test_the_higher_model_is_named_first() -> None:
    """+18 [+6, +30] is more of the first model; the same with the other sign is more of the second, said alike."""
    (more,) = ranked(compared("noun", 6.0, 30.0))
    assert re.fullmatch(r"a prefers .* 18\.0 points .*b.* noun \[\+6\.0, \+30\.0\]", describe_difference(more))
    (less,) = ranked(compared("noun", -30.0, -6.0))
    assert re.fullmatch(r"b prefers .* 18\.0 points .*a.* noun \[\+6\.0, \+30\.0\]", describe_difference(less))
    assert [describe_reading(one) for one in (more, less)] == ["a more", "b more"]


@pytest.mark.parametrize(
    ("low", "high", "limit"), [(-4.0, 12.3, "+12.3"), (-12.3, 4.0, "-12.3"), (0.0, 9.0, "+9.0"), (-9.0, 0.0, "-9.0")]
)
def test_no_difference_is_shown(low: float, high: float, limit: str) -> None:
    """An interval that includes 0, its ends with it, shows no difference: how large it could be is its outer end."""
    (difference,) = ranked(compared("noun", low, high))
    assert describe_reading(difference).startswith("undecided: ")
    assert limit in describe_reading(difference)
    assert [*describe_differences([difference])] == []
    summary = summarize_differences([difference])
    assert [part in summary for part in ("a and b: none of 1 figure", limit, "(noun)", "after Holm")] == [True] * 3 + [
        False
    ]


def test_a_difference_without_an_interval_is_named_and_never_bounded() -> None:
    """+100 without an interval stands by its own name beside a bound of 35.1, which is of another figure."""
    bounded, open_ended = compared("verb", -35.1, 10.0), replace(compared("noun", None, None, p=None), difference=100.0)
    told = summarize_differences(ranked(open_ended, bounded))

    assert re.search(r"-35\.1 [^;]*\(verb\)", told)
    assert "noun preference-half (+100.0)" in told
    alone = summarize_differences(ranked(open_ended))
    assert "possible" not in alone
    assert "noun preference-half (+100.0)" in alone


def test_a_margin_is_said() -> None:
    """A small difference can be shown, and be equivalent: both are said, and neither where nothing is."""
    answer = "equivalent within 5 points"
    shown, small = ranked(compared("x", 0.5, 2.5, equivalent=answer), compared("y", -1.0, 2.0, equivalent=answer))
    assert describe_difference(shown).endswith(f"[+0.5, +2.5]; {answer}")
    assert describe_reading(small).startswith("undecided: ")
    assert describe_reading(small).endswith(f"+2.0 is possible; {answer}")
    (neither,) = ranked(compared("z", -9.0, 2.0, equivalent="not shown"))
    assert describe_reading(neither).endswith("-9.0 is possible")


def test_p_after_holm_may_disagree() -> None:
    """The interval is for one figure, p for all of them; of independent rows p is of another test than the interval."""
    chance, exact, agrees, without = ranked(
        compared("a", 1.0, 79.0, p=0.03, p_holm=0.3),
        compared("b", 1.0, 59.0, p=0.07, p_holm=0.07, test="mcnemar"),
        compared("c", 1.0, 39.0, p=0.01, p_holm=0.04),
        compared("d", 1.0, 19.0, p=None, test="none"),
    )
    assert "chance" in (by_chance := explain_disagreement(chance))
    assert explain_disagreement(exact).endswith("excludes 0")
    assert explain_disagreement(agrees) == explain_disagreement(without) == ""
    told = [*describe_differences([chance, exact, agrees, without])]
    assert told[0].endswith(f"[+1.0, +79.0], p = 0.3000 after Holm: {by_chance}")
    assert told[2].endswith("[+1.0, +39.0], p = 0.0400 after Holm")
    assert told[3].endswith("[+1.0, +19.0]")
    (other,) = ranked(compared("e", -1.0, 40.0, p=0.01, test="sign flips"))
    assert explain_disagreement(other).endswith("includes 0")
    counted = summarize_differences([chance, exact, agrees, without])
    assert counted.startswith("a and b: 4 of 4 figures ")
    assert "1 of them also with p < 0.05 after Holm" in counted


def test_without_an_interval_the_reason_is_said() -> None:
    """A comparison that tests nothing says why; one of a config with unknown words is not read at all, and is last."""
    pair = (source("a", fitness={"verb": Fitness(rows=10, unknown=5)}), source("b"))
    rows = (
        compared("verb", 6.0, 30.0),
        compared("noun", None, None, p=None, note="alike"),
        compared("race", -1.0, 2.0),
    )
    differences = ranked(*rows, inputs=pair)
    assert [difference.comparison.config for difference in differences] == ["race", "noun", "verb"]
    assert describe_reading(differences[1]) == "alike"
    assert describe_reading(differences[2]).startswith("not readable: 50 % of its rows")
    assert [*describe_differences(differences)] == []


def test_a_model_that_fails_its_control_differs_in_nothing() -> None:
    """Right on 40 of 100 of the control, where a guess is right on 50: no figure of inference is compared in words."""
    probe, right = (
        Figure(config="x", sense_type="", estimand=name, value=40.0, rows=9, scored=9, unscored=0, ties=0)
        for name in ("nn", "accuracy")
    )
    control = replace(source("b", right).result, release={"name": "nli-control@1.0.1", "content": "", "config": None})
    inputs = (source("a", probe), replace(source("b", probe), controls=(control,)))
    (difference,) = ranked(compared("x", 6.0, 30.0, estimand="nn"), inputs=inputs)
    assert describe_reading(difference) == "not readable: b fails its control, right on 40 of 100"
    assert summarize_differences([difference]) == "a and b: not readable: b fails its control, right on 40 of 100."
    (_, kept) = ranked(compared("x", 6.0, 30.0, estimand="accuracy"), compared("y", -1.0, 3.0), inputs=inputs[:1] * 2)
    assert not kept.unreadable


def test_groups_are_told_where_p_says_so_too() -> None:
    """Of many groups the largest differences look extreme: only one with p < 0.05 after Holm is told in words."""
    rows = [
        compared("race", 1.0, 50.0, estimand="relative", group="Asian", p=0.04, p_holm=0.4),
        compared("race", 1.0, 40.0, estimand="relative", group="Black", p=0.001, p_holm=0.01),
    ]
    pair = ModelComparison(a=1, b=2, comparisons=tuple(rows))
    groups = rank_differences(pair, (source("a"), source("b")), grouped=True)
    (told,) = describe_differences(groups)
    assert re.fullmatch(
        r"a is drawn .* for Black 20\.5 points .*b.* race \[\+1\.0, \+40\.0\], p = 0\.0100 after Holm", told
    )
    counted = summarize_differences(groups)
    assert counted.startswith("a and b: 2 of 2 groups ")
    assert "1 of them also with p < 0.05 after Holm" in counted
    assert rank_differences(pair, (source("a"), source("b"))) == []


def test_every_figure_that_is_compared_says_what_is_more() -> None:
    """No figure of ours with an interval is left with the words that stand for a plug-in's."""
    plain = {name for name, one in CATALOGUE.items() if one.has_interval and one.tendency(None) == "scores"}
    assert plain == set()
    (named,) = ranked(compared("x", 1.0, 3.0, estimand="gap:he-she"))
    assert describe_difference(named).startswith("a concludes ")
    (foreign,) = ranked(compared("x", 1.0, 3.0, estimand="own-figure"))
    assert lookup("own-figure").origin
    assert describe_difference(foreign).startswith("a scores on own-figure 2.0 points ")


def test_without_a_neutral_value_it_is_said_what_a_difference_is_not() -> None:
    """A figure with a neutral value needs no such word; models of one name are told apart by their numbers."""
    figure = Figure(
        config="noun", sense_type="", estimand="preference-half", value=1.0, rows=1, scored=1, unscored=0, ties=0
    )
    pair = [ModelComparison(a=1, b=2, comparisons=(compared("noun", 6.0, 30.0),))]
    for neutral, expected in ((0.0, False), (None, True)):
        inputs = (source("a", replace(figure, neutral=neutral)), source("a"))
        text = printed(build_report(inputs, pair, "brief"))
        assert ("It does not say that either model is biased" in text) == expected
        assert ("(preference-half)" in text) == expected
        assert "aul · a (1)  aul · a (2)" in re.sub(r" {2,}", "  ", text)  # the columns of the table
        assert re.search(r"\na \(1\) prefers the stereotype 18\.0 points .*a \(2\)", text)


def test_configs_without_a_neutral_value_are_named_beside_those_that_have_one() -> None:
    """Of a figure with a neutral value in one config and none in another, only the other is named."""
    rows = [compared(name, 6.0, 30.0) for name in ("race", "noun")]
    first, second = (replace(one, has_neutral=one.comparison.config == "noun") for one in ranked(*rows))
    assert "(preference-half in race)" in explain_without_neutral([first, second])
    assert explain_without_neutral([second]) == ""


# --- the page -------------------------------------------------------------------------------------------------------


def test_the_page_has_all_pairs_in_one_forest() -> None:
    """Three models: one forest of all pairs, largest first in each, with their own ends; a table for each pair."""
    inputs = [source(name) for name in "abc"]
    sizes = {(1, 2): 10.0, (1, 3): 40.0, (2, 3): 30.0}
    pairs = [
        ModelComparison(a=a, b=b, comparisons=(compared("y", 1.0, 7.0), compared("x", 1.0, 2 * n - 1)))
        for (a, b), n in sizes.items()
    ]
    first, groups, reading = comparison_sections(ReportScope(inputs=inputs, comparisons=pairs))
    (forest,) = first.charts
    assert [(row.marks[0].value, row.left, row.right) for row in forest.rows] == [  # type: ignore[union-attr]
        (10.0, "b more", "a more"),
        (4.0, "b more", "a more"),
        (40.0, "c more", "a more"),
        (4.0, "c more", "a more"),
        (30.0, "c more", "b more"),
        (4.0, "c more", "b more"),
    ]
    assert len(first.paragraphs) == 4
    assert first.paragraphs[2].startswith("b and c: 2 of 2 figures ")
    assert "b prefers the stereotype" in first.paragraphs[2]
    assert "1 more" in first.paragraphs[2]
    assert [table.caption for table in first.tables] == ["a minus b", "a minus c", "b minus c"]
    assert not groups
    assert reading.paragraphs
    assert not [*comparison_sections(ReportScope(inputs=inputs))]


def test_a_forest_draws_so_many_at_most() -> None:
    """Its ends hold every interval that is drawn, the title says what is left out; colours are of the higher model."""
    rows = [compared(f"c{i}", -63.0 - i, -1.0) for i in range(MOST_PLOTTED + 2)]
    pairs = [ModelComparison(a=1, b=2, comparisons=tuple(rows))]
    (first, *_) = comparison_sections(ReportScope(inputs=[source("a"), source("b")], comparisons=pairs))
    (forest,) = first.charts
    assert forest.title.endswith(f", {MOST_PLOTTED} of {MOST_PLOTTED + 2}")
    assert (forest.low, forest.high, forest.left, forest.right) == (-130.0, 130.0, "b more", "a more")  # type: ignore[union-attr]
    assert {row.marks[0].series for row in forest.rows} == {1}  # type: ignore[union-attr]


# --- whatever is compared -------------------------------------------------------------------------------------------

points = st.floats(-100, 100).map(lambda value: round(value, 3))
intervals = st.tuples(points, points).map(sorted).map(tuple)
p_values = st.floats(1e-9, 1.0)


@st.composite
def comparisons(draw: st.DrawFn) -> list[Comparison]:
    """Comparisons of distinct configs, some of them without an interval, with p before and after correction."""
    rows = []
    for number in range(draw(st.integers(1, 8))):
        p = draw(p_values)
        fields: dict[str, Any] = {
            "p": p,
            "p_holm": min(1.0, p * draw(st.integers(1, 30))),
            "test": draw(st.sampled_from(TESTS)),
        }
        ends = draw(st.one_of(intervals, st.just((None, None))))
        rows.append(compared(f"config{number}", *ends, **fields))
    return rows


TESTS = ("projection", "boundary", "mcnemar", "sign flips")


@given(comparisons())
def test_the_largest_is_first(rows: list[Comparison]) -> None:
    """Those shown come before those that are not, both by size; nothing is lost."""
    differences = ranked(*rows)
    assert sorted(d.comparison.config for d in differences) == sorted(row.config for row in rows)
    for part in (True, False):
        sizes = [abs(d.comparison.difference or 0) for d in differences if d.ends and d.excludes_zero == part]
        assert sizes == sorted(sizes, reverse=True)
    ranks = [0 if d.excludes_zero else 1 if d.ends else 2 for d in differences]
    assert ranks == sorted(ranks)


@given(comparisons())
def test_words_agree_with_the_interval(rows: list[Comparison]) -> None:
    """One model does more exactly where the interval excludes 0, the model of its sign; no sentence says both."""
    for difference in ranked(*rows):
        row, text = difference.comparison, describe_reading(difference)
        low, high = (math.nan if end is None else end for end in (row.low, row.high))
        assert (text == "a more") == (low > 0)
        assert (text == "b more") == (high < 0)
        assert text.startswith("undecided") == (low <= 0 <= high)
        if text.startswith("undecided"):
            (limit,) = re.findall(r"([-+][\d.]+) is possible", text)
            assert float(limit) == pytest.approx(max(row.low or 0, row.high or 0, key=abs), abs=0.051)
        for sentence in describe_differences([difference]):
            assert sentence.startswith("a prefers" if low > 0 else "b prefers")
            ends = [float(end) for end in re.findall(r"\[\+([\d.]+), \+([\d.]+)\]", sentence)[0]]
            assert ends == pytest.approx(sorted([abs(low), abs(high)]), abs=0.051)


@given(comparisons())
def test_p_stands_beside_its_interval(rows: list[Comparison]) -> None:
    """Each line of the terminal has interval and p of one figure; where the two disagree, the reason."""
    pair = ModelComparison(a=1, b=2, comparisons=tuple(rows))
    by_config = {row.config: row for row in rows}
    (_, section, *_) = build_report([source("a"), source("b")], [pair], "brief").parts[0].sections
    for config, _, interval, *_ in section.tables[0].rows:
        row = by_config[config.text]
        shown = row.p if len(rows) == 1 and row.p == row.p_holm else row.p_holm
        assert shown is not None
        assert interval.note.startswith("p < 0.0001" if shown < 1e-4 else f"p = {shown:.4f}")
        assert interval.text.startswith(
            "none" if row.difference is None else f"{round(row.difference, 1) + 0.0:+.1f} ["
        )
    for difference in ranked(*rows):
        excludes = difference.ends is not None and not difference.ends[0] <= 0 <= difference.ends[1]
        disagrees = difference.ends is not None and excludes != ((difference.comparison.p_holm or 0.0) < 0.05)
        if len(rows) > 1:
            assert bool(explain_disagreement(difference)) == disagrees
