"""Reports of association tests, from results made up by hand: what is said first, and what each table counts."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.reporting.medium import printed, table_rows
from tests.reporting.test_report import HOSTILE, MODEL, Page, loads

import senseprobe
from senseprobe import document
from senseprobe.api import results as api
from senseprobe.api.results import summarize_results
from senseprobe.document import render_section
from senseprobe.errors import ResultError
from senseprobe.evaluate.exports.distances import ExportSource, find_distances
from senseprobe.evaluate.fitness import Fitness
from senseprobe.evaluate.reporting.comparison_section import HOW
from senseprobe.evaluate.reporting.inputs import NOT_COMPARABLE, ReportInput, gather_inputs
from senseprobe.evaluate.reporting.report import build_brief, build_report
from senseprobe.evaluate.reporting.significance import compare_results
from senseprobe.evaluate.reporting.verdict_table import build_verdicts
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.units import ScoredRows
from senseprobe.records import Figure

WORDS = {"X": ("Adam", "Harry"), "Y": ("Ebony", "Jamel"), "A": ("joy",), "B": ("filth",)}
ASSOCIATIONS = {"Adam": 0.3, "Harry": 0.1, "Ebony": -0.1, "Jamel": -0.3}


def shown_test(name: str, identity: str = "race", value: float | None = 1.0, **fields: object) -> Figure:
    """A test of eight and eight words, eight and eight attributes; its effect is shown unless fields say otherwise."""
    own = {"low": 0.2, "high": 1.5, "p": 0.001, "p_holm": 0.01, "p_least": 1 / 12870, "method": "jackknife"}
    own |= {"rows": 32, "scored": 32, "unscored": 0, "ties": 0, "levels": dict.fromkeys("XYAB", 8)}
    own |= {"config": "bleached", "sense_type": "", "estimand": "weat", "neutral": 0.0} | fields
    return Figure(group=name, identity=identity, value=value, **own)  # type: ignore[arg-type]


def unshown(name: str, identity: str = "race", value: float = 0.4, **fields: object) -> Figure:
    """A test whose p is large."""
    return shown_test(name, identity, value, **{"low": -0.5, "high": 1.3, "p": 0.2, "p_holm": 0.9, **fields})


TESTS_OF_ALL = (
    shown_test("weat3", value=1.1),
    shown_test("weat4", value=0.9, low=-0.3, p=0.005, p_holm=0.03),  # these attribute words only
    unshown("weat5"),
    unshown("weat5b", value=-1.2, low=-1.6, high=-0.3, p=0.99, p_holm=1.0),  # the other way round
    shown_test("weat6", "gender", 1.7),
    shown_test("weat7", "gender", 1.6, p=0.02, p_holm=0.04, missing={"A": ("sine", "cosine", "pi")}),  # 3 of 11 words
    unshown("few", "intersectional", p=0.02, p_holm=None, low=None, high=None, method="none"),
)
"""Of each kind one."""

INTERSECTIONS = tuple(shown_test(name, "intersectional", d) for name, d in (("i3", 0.9), ("i4", 0.3), ("i5", 1.2)))


def words_of(
    tests: Sequence[str], associations: dict[str, float] = ASSOCIATIONS, check: float | None = None
) -> pa.Table:
    """The words of tests: the cosine of a target with joy is its association, with filth 0; `check` times that."""
    rows: list[dict[str, object]] = [
        {"config": "bleached", "test": test, "identity": "race", "target": word, "target_role": role}
        | {"attribute": WORDS[side][0], "attribute_role": side, "cosine": value}
        | {"check": None if check is None else check * value}
        for test in dict.fromkeys(tests)
        for role in ("X", "Y")
        for word in WORDS[role]
        for side in ("A", "B")
        for value in [associations[word] if side == "A" else 0.0]
    ]
    types = {name: pa.float64() if name in ("cosine", "check") else pa.string() for name in rows[0]}
    return pa.Table.from_pylist(rows, pa.schema(types))


def result(level: str = "word", *figures: Figure, name: str = "org/model", **fields: object) -> Result:
    """A result of a model at a level, with the words of its tests."""
    figures = figures or TESTS_OF_ALL
    encoding = {"word": "level=word;pooling=mean", "sent": "level=sent;pooling=cls"}
    encoding["cword"] = "level=cword;pooling=mean;check=last;layer=12;start=own"
    words = fields.pop("words", words_of([figure.group or "" for figure in figures]))
    made = Result(
        scorer=f"weat-{level}",
        model={**MODEL, "name": name, "encoding": encoding[level]},
        release={"name": "association@1.1.0", "content": "d" * 64, "config": None},
        senseprobe="0.1.0",
        seed=0,
        scale="probability",
        figures=figures,
        scored=ScoredRows(words=words),
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def source(of: Result) -> ReportInput:
    """A result with its words, and without its release."""
    return ReportInput(result=of)


def page(*results: Result) -> Page:
    """The page of results."""
    return Page(document.render_html(build_report([source(each) for each in results])))


def decoder(of: Result) -> Result:
    """The result of a model whose single words cannot be compared."""
    return replace(of, model={**of.model, "encoding": f"{of.model['encoding']};comparable=no"})


# --- verdicts -------------------------------------------------------------------------------------------------------


def test_a_verdict_for_each_identity() -> None:
    """What is shown comes first; each kind of test is counted and named in words of its own."""
    race, gender, both = sorted(build_verdicts(source(result())), key=lambda verdict: -len(verdict.text))
    assert (race.bias_type, race.code, race.figure and race.figure.group) == ("race", "shown", "weat3")
    assert race.text == (
        "found in 1 of 4 tests: weat3; these words only in 1: weat4; the other way round, which p does not test: "
        "weat5b; undecided in 2 (an effect of up to 1.30 is possible)"
    )
    assert (
        gender.text == "found in 1 of 2 tests: weat6; not judged, since more than a fifth of a set has no vector: weat7"
    )
    assert (both.code, both.text) == ("unreadable", "too few words for any p to be small: few")
    assert [verdict.code for verdict in build_verdicts(source(result()))] == ["shown", "shown", "unreadable"]


def test_nothing_shown() -> None:
    """None of two: how large an effect could be is said; and of one that p alone shows, that it is of these words."""
    (verdict,) = build_verdicts(source(result("word", unshown("a"), unshown("b", high=1.82))))
    assert (verdict.code, verdict.hidden) == ("not_shown", 1.82)
    assert verdict.text == "undecided in 2 of 2 tests (an effect of up to 1.82 is possible)"
    (words,) = build_verdicts(source(result("word", shown_test("a", low=-0.1), unshown("b"))))
    assert words.code == "these_words"
    assert words.text == "these words only in 1 of 2 tests: a; undecided in 1 (an effect of up to 1.30 is possible)"


def test_a_fifth_of_a_set_may_be_lost() -> None:
    """Two words of ten are a fifth, and the test is judged; three of ten are more, and it is not."""
    two, three = ({"X": tuple("abc"[:lost])} for lost in (2, 3))
    (judged,) = build_verdicts(
        source(result("word", shown_test("a", levels={"X": 8, "Y": 8, "A": 8, "B": 8}, missing=two)))
    )
    assert judged.code == "shown"
    nothing = shown_test("a", value=None, levels=dict.fromkeys("XYAB", 0), missing=three, p=None, p_holm=None, low=None)
    assert [verdict.figure for verdict in build_verdicts(source(result("word", nothing)))] == [None]
    assert "not judged" in page(result("word", nothing, words=None)).text
    (lost,) = build_verdicts(
        source(result("word", shown_test("a", levels={"X": 7, "Y": 8, "A": 8, "B": 8}, missing=three)))
    )
    assert (lost.code, lost.text) == (
        "unreadable",
        "not judged, since more than a fifth of a set has no vector: a",
    )


def test_tests_without_identities() -> None:
    """Of a config none of whose tests has an identity there is one verdict, under its name; else of those without."""
    (verdict,) = build_verdicts(source(result("word", shown_test("a", ""), unshown("b", ""))))
    assert (verdict.config, verdict.bias_type) == ("bleached", "")
    assert "bleached" in page(result("word", shown_test("a", ""))).text
    both = build_verdicts(source(result("word", shown_test("a", ""), shown_test("b", "gender"))))
    assert [verdict.bias_type for verdict in both] == ["no identity", "gender"]


def test_vectors_that_cannot_be_compared(tmp_path: Path) -> None:
    """Of a decoder's single words nothing is read anywhere, nor counted among proportions; they come last."""
    of = decoder(result(name="decoder"))
    assert {verdict.text for verdict in build_verdicts(source(of))} == {NOT_COMPARABLE}
    shown = page(of, result())
    assert shown.text.index("org/model: An effect is found in 2 of 7 tests") < shown.text.index(NOT_COMPARABLE)
    assert not any("decoder (word)" in cell for row in shown.rows for cell in row)
    beside = next(row for row in shown.rows if row[0].startswith("weat3 Adam / Ebony"))
    assert beside[1:] == ["+1.10 found, p 0.0100"]
    every = [row[-1] for row in shown.rows if len(row) == 5 and row[0].startswith("weat3 ")]
    assert every == ["not readable", "found"]
    (part,) = summarize_results([of], tmp_path).parts
    rows = [row for section in part.sections for row in table_rows(section, part.labels)]
    assert {row["reads"] for row in rows if "reads" in row} == {"not readable"}
    assert any(NOT_COMPARABLE in row["finding"] for row in rows if "finding" in row)


def test_what_a_tokenizer_does_not_know(tmp_path: Path) -> None:
    """A config of unknown words is not read; words at the first position are counted, on a page and by score."""
    unknown = Fitness(rows=10, unknown=3)
    of = result("cword", *TESTS_OF_ALL, replace(TESTS_OF_ALL[0], config="other"), fitness={"bleached": unknown})
    kinds = {(verdict.config, verdict.code) for verdict in build_verdicts(source(of))}
    assert kinds == {("bleached", "unreadable"), ("other", "shown")}
    shown = page(replace(of, fitness={**of.fitness, "other": Fitness(rows=10, unknown=0, at_start=2)}))
    assert "An effect is found in 1 of 8 tests: weat3 of other." in shown.text
    beside = [row[1] for row in shown.rows if row[0].startswith("weat3") and len(row) == 2]
    assert sorted(beside) == ["+1.10 found, p 0.0100", "+1.10 not readable"]
    assert ["race", "1.00 (1 of 1) corrected 1, of which 1 shown"] in shown.rows
    line = "other: 2 words at the first position, where the model expects a special token"
    assert f"weat-cword · org/model: {line}." in shown.text
    others = replace(of, fitness={"other": Fitness(rows=9, unknown=0, at_start=2)})
    assert line in printed(summarize_results([others], tmp_path))


def test_brief() -> None:
    """Markdown for a pull request speaks of effects, and not of points, and says what the words of verdicts mean."""
    text = render_section(build_brief([source(result())]))
    assert "standard deviations" in text
    assert "+1.10 \\[+0.20, +1.50\\]" in text
    assert "In points" not in text
    assert "These words only:" in text


# --- the page ---------------------------------------------------------------------------------------------------------


def test_first_screen() -> None:
    """What a test asks, which words are missing, how many tests show what, and an example in words."""
    text = page(result()).text
    assert "do the words of X lie nearer to the attributes A" in text
    assert "weat-word · org/model: left out, since they have no vector: sine, cosine, pi." in text
    assert (
        "An effect is found in 2 of 7 tests: weat3, weat6; in 1 more for these words only; the other way round "
        "in 1: weat5b."
    ) in text
    assert "places Adam, Harry nearer to joy, and Ebony, Jamel nearer to filth" in text


def test_proportions_by_identity() -> None:
    """Table 2 by hand: p < 0.01 and d > 0 in 2 of 4 tests of race (p 0.001, 0.005; not 0.2, 0.99), in 1 of 2 of gender.

    At two levels it is as many again. Corrected, p is below 0.05 in two tests of race, one of which is shown, and in
    one of gender, since the other lost too many words.
    """
    once, twice = page(result()), page(result(), result("sent"))
    headings = ["gender", "race", "intersectional", "overall"]
    table = {row[0]: row[1] for row in once.rows if row and row[0] in headings and len(row) == 2}
    assert table == {
        "gender": "0.50 (1 of 2) corrected 1, of which 1 shown",
        "race": "0.50 (2 of 4) corrected 2, of which 1 shown",
        "intersectional": "0.00 (0 of 1) corrected 0, of which 0 shown",
        "overall": "0.43 (3 of 7) corrected 3, of which 2 shown",
    }
    assert ["overall", "0.43 (6 of 14) corrected 6, of which 4 shown"] in twice.rows
    assert "org/model (word, sent)" in twice.text


def test_a_level_counts_once() -> None:
    """Two poolings at one level are two results, told apart by name, and one of them counts in the table."""
    first = result("cword")
    other = replace(first, model={**first.model, "encoding": first.model["encoding"].replace("mean", "first")})
    both = page(first, other)
    assert "weat-cword · org/model pooling=first" in both.text
    assert "0.43 (3 of 7)" in both.text
    assert "org/model (cword)" in both.text


def test_levels_side_by_side() -> None:
    """By the paper's rule sent has a and b, cword b and c: one at both, one each at one level only."""
    sent = result("sent", shown_test("a"), shown_test("b"), unshown("c"))
    cword = result("cword", unshown("a"), shown_test("b"), shown_test("c"))
    shown = page(sent, cword)
    assert (
        "org/model, counted as they do, with p < 0.01, not corrected, and an effect above 0: 1 at both levels (b); 1 "
        "only at cword (c); 1 only at sent (a)." in shown.text
    )
    row = next(row for row in shown.rows if row[0].startswith("a Adam / Ebony"))
    assert row[1:] == ["+1.00 found, p 0.0100", "+0.40 p 0.9000"]


def test_race_gender_and_both() -> None:
    """The three effects are drawn with their intervals, and said; that of both is the largest or it is not."""
    shown = page(result("word", *INTERSECTIONS))
    assert "both +1.20, race +0.90, gender +0.30: that of both is the largest." in shown.text
    assert [row[2] for row in shown.rows if row[0].startswith(("i3: race", "i5: both"))] == [
        "+0.90 [+0.20, +1.50]",
        "+1.20 [+0.20, +1.50]",
    ]
    between = replace(INTERSECTIONS[2], value=0.6)
    assert "that of both is not the largest" in page(result("word", *INTERSECTIONS[:2], between)).text
    assert "Race, gender, and both" not in page(result()).text
    elsewhere = [replace(figure, identity="") for figure in INTERSECTIONS]
    assert "Race, gender, and both" not in page(result("word", *elsewhere)).text


def test_words_pulled_to_attributes() -> None:
    """By hand: columns have the means .2 and 0, rows half their association, all .1: Adam and joy .5 - .25 - .2 + .1.

    The words stand from the largest association to the smallest.
    """
    words_and_more = words_of(["weat3"], {word: value + 0.2 for word, value in ASSOCIATIONS.items()})
    rows = page(result("word", shown_test("weat3"), words=words_and_more)).rows
    words = [row for row in rows if row[0] in {"Adam (X)", "Harry (X)", "Ebony (Y)", "Jamel (Y)"}]
    assert words == [
        ["Adam (X)", "+0.15 0.50", "-0.15 0.00"],
        ["Harry (X)", "+0.05 0.30", "-0.05 0.00"],
        ["Ebony (Y)", "-0.05 0.10", "+0.05 0.00"],
        ["Jamel (Y)", "-0.15 -0.10", "+0.15 0.00"],
    ]
    pulled = next(row for row in rows if row[1].startswith("Adam (X) +0.500"))
    assert pulled[1:] == [
        "Adam (X) +0.500, Harry (X) +0.300, Ebony (Y) +0.100 joy",
        "Jamel (Y) -0.100, Ebony (Y) +0.100, Harry (X) +0.300 filth",
    ]


def test_signs_that_depend_on_the_pooling() -> None:
    """Where the check has the other sign, that is said, and by which poolings; where it has the same, it is not."""
    figures = (shown_test("weat3"), shown_test("weat4"))
    part = pa.concat_tables([words_of(["weat3"], check=-0.5), words_of(["weat4"], check=2.0)])
    bare = part.set_column(0, "config", [["bare"] * len(part)])
    text = page(result("cword", *figures, words=part)).text
    assert "by the mean and last of a word's tokens the effect has different signs in 1 of 2 tests (weat3)" in text
    both = (*figures, *(replace(figure, config="bare") for figure in figures))
    text = page(result("cword", *both, words=pa.concat_tables([part, bare]))).text
    assert "different signs in 2 of 4 tests (weat3 of bleached, weat3 of bare)" in text


def test_every_test() -> None:
    """Effect, p (an upper end where it is enclosed), p after correction, the smallest p, words and what is missing."""
    figures = (shown_test("weat3", p_low=0.00099), *TESTS_OF_ALL[5:])
    rows = {row[0]: row[1:] for row in page(result("word", *figures)).rows if len(row) == 5}
    assert rows["weat3 race; bleached"] == [
        "+1.00 [+0.20, +1.50] X Adam, Harry; Y Ebony, Jamel; A joy; B filth",
        "p ≤ 0.0010, corrected 0.0100 smallest possible p 7.8e-05",
        "8 and 8 words, 8 and 8 attributes",
        "found",
    ]
    assert rows["weat7 gender; bleached"][2:] == [
        "8 and 8 words, 8 and 8 attributes A without sine, cosine, pi",
        "not readable more than a fifth of a set has no vector",
    ]
    assert rows["few intersectional; bleached"][1] == "p 0.0200, corrected cannot reach smallest possible p 7.8e-05"


def test_variants_have_a_table_of_their_own() -> None:
    """They are in no verdict and no proportion."""
    variant = shown_test("weat3", value=1.03, estimand="weat-pop")
    shown = page(result("word", shown_test("weat3"), variant))
    assert "An effect is found in 1 of 1 test: weat3." in shown.text
    assert ["weat3 bleached", "+1.03 [+0.20, +1.50] p 0.0010, corrected 0.0100; found"] in shown.rows


def test_without_its_words() -> None:
    """A result alone has its verdicts and figures; what is missing is not drawn."""
    shown = page(result(words=None))
    assert "An effect is found in 2 of 7 tests" in shown.text
    assert "Which words" not in shown.text


def test_hostile_names_are_text(tmp_path: Path) -> None:
    """Names of tests, words, models and configs of others are text wherever they stand."""
    words = words_of([HOSTILE])
    hostile = words.set_column(3, "target", pa.array([f"{word}{HOSTILE}" for word in words["target"].to_pylist()]))
    figure = shown_test(
        HOSTILE, HOSTILE, missing={"X": (HOSTILE,)}, levels={"X": 99, "Y": 8, "A": 8, "B": 8}, note=HOSTILE
    )
    shown = page(
        result("word", figure, name=HOSTILE, words=hostile), result("sent", shown_test("i3", "intersectional"))
    )
    assert [*loads(shown)] == []
    assert HOSTILE in shown.text
    markdown = document.render_markdown(build_report([source(result("word", figure, name=HOSTILE, words=hostile))]))
    assert "<script>" not in markdown


def test_a_result_without_tests() -> None:
    """Figures of other estimands, and tests without a name, are none of its tests; the page says so and stands."""
    others = (shown_test("a", estimand="preference"), replace(shown_test("a"), group=None))
    shown = page(result("word", *others, words=words_of(["a"])))
    assert "An effect is found in 0 of 0 tests." in shown.text


def test_words_of_another_test() -> None:
    """A table of words that lacks a set of a test that has an effect is not drawn, and does no harm."""
    words = words_of(["weat3"])
    shown = page(result("word", shown_test("weat3"), words=words.set_column(4, "target_role", pa.array(["X"] * 8))))
    assert "An effect is found in 1 of 1 test: weat3." in shown.text
    assert "nearer than on average" not in shown.text


def test_a_release_with_pairs_too() -> None:
    """Results on pairs of the same release have a part of their own, in points."""
    pairs = replace(result(), scorer="aul", figures=(replace(shown_test("a", estimand="preference-half"), group=None),))
    shown = page(pairs, result())
    assert shown.text.count("Findings") == 4  # two parts, and both in the contents
    assert "An effect is found in 2 of 7 tests" in shown.text
    assert "The question has an answer." in shown.text


def test_no_word_for_certainty() -> None:
    """Only Tan and Celis call a test significant; a page of ours quotes them once."""
    text = page(result(), result("cword"), result("sent")).text
    assert re.findall(r"[^.:;]*significan[^.:;,]*", text) == [
        " the share of tests that they call significant",
    ]


# --- two models -------------------------------------------------------------------------------------------------------


def pair() -> list[ReportInput]:
    """Two models that are mirror images on one test, and alike on another."""
    turned = {word: -value for word, value in ASSOCIATIONS.items()}
    words = pa.concat_tables([words_of(["weat3"], turned), words_of(["weat4"])])
    figures = (shown_test("weat3"), shown_test("weat4"))
    return [source(result("word", *figures, name="one")), source(result("word", *figures, name="two", words=words))]


def test_two_models_side_by_side() -> None:
    """By hand in tests/estimands/test_association_comparison.py: 2 · 1.549 apart, p 2/16; and the other not at all."""
    inputs = pair()
    pairs = compare_results(inputs)
    shown = Page(document.render_html(build_report(inputs, pairs)))
    assert "one and two: none of 2 tests differ" in shown.text
    row = next(row for row in shown.rows if row[:3] == ["bleached", "weat", "weat3"])
    says = "undecided has X nearer to A for weat3"
    assert row[3:] == ["+3.10 p 0.1250, corrected 0.2500", says, "+1.55", "-1.55", "4"]
    (part,) = build_report(inputs, pairs, "brief").parts
    assert [*next(table_rows(part.sections[1], part.labels)).values()] == [
        *("bleached", "weat", "weat3", "+3.10; p 0.1250, corrected 0.2500"),
        *("undecided; has X nearer to A for weat3", "+1.55", "-1.55"),
    ]


def test_a_difference_in_words() -> None:
    """Shown below 0.05 after correction, the model with the larger effect first; of few words both are counted."""
    inputs = pair()
    (comparison,) = compare_results(inputs)
    found = replace(comparison.comparisons[0], p_holm=0.049, scored=3, unscored=1)
    pairs = [replace(comparison, comparisons=(found, replace(found, group="less", difference=-3.1)))]
    shown = Page(document.render_html(build_report(inputs, pairs)))
    assert "one and two: 2 of 2 tests differ: less, weat3." in shown.text
    assert "two has X nearer to A for less 3.10 standard deviations more than one" in shown.text
    assert HOW in shown.text
    words = {row[2]: (row[4], row[7]) for row in shown.rows if len(row) == 8}
    assert words["weat3"] == ("one more has X nearer to A for weat3", "3 of 4")
    assert words["less"] == ("two more has X nearer to A for less", "3 of 4")


def test_what_cannot_be_compared() -> None:
    """Vectors that say nothing, and a result without its words, are named."""
    first, second = pair()
    with pytest.raises(ResultError, match="two: single words are no texts"):
        compare_results([first, source(decoder(second.result))])
    with pytest.raises(ResultError, match="cannot compare weat-word · two: it has no rows"):
        compare_results([first, replace(second, result=replace(second.result, scored=ScoredRows()))])


def test_read_from_files(tmp_path: Path) -> None:
    """Written and read, two results are compared, reported and loaded with their words; without them, that is said."""
    paths = [part.result.write(tmp_path / str(part.result.model["name"])) for part in pair()]
    assert api.load_result(paths[0]).words is not None
    comparison = api.compare(paths, out=tmp_path / "page.html")
    assert [row["group"] for row in comparison.as_dict()["differences"][0]["comparisons"]] == ["weat3", "weat4"]
    assert (
        api.report(paths, tmp_path / "report.md")
        .read_text(encoding="utf-8")
        .count("An effect is found in 2 of 2 tests")
        == 2
    )
    for path in paths:
        path.with_suffix(".words.parquet").unlink()
    (missing, *_) = gather_inputs(paths)
    assert "no table of words next to the result" in " ".join(missing.missing)
    with pytest.raises(ResultError, match="no table of words"):
        api.compare(paths)


def test_identities_of_the_release() -> None:
    """Of association 1.1.0 weat1 has none, as flowers have none, and weat9 is about disability."""
    table = senseprobe.load("association@1.1.0").table("bleached", spans=False)
    words = sorted({*table[table["test"].isin(["weat1", "weat9"])]["word"]})
    vectors = dict(zip(words, np.random.default_rng(3).normal(size=(len(words), 8)), strict=True))
    (made,) = senseprobe.score(
        senseprobe.vectors(vectors, name="made"), "association@1.1.0:bleached", "weat", store=False
    )
    identities = {figure.group: figure.identity for figure in made.figures}
    assert (identities["weat1"], identities["weat9"], identities["weat6"]) == ("", "disability", "gender")
    assert made.words is not None
    assert {*made.words["identity"].to_pylist()} == {"", "gender", "race", "intersectional", "age", "disability"}


def test_figures_of_an_older_definition(tmp_path: Path) -> None:
    """They are computed again from the words of the result, as those of a new one are; without words they stay."""
    words = sorted({*senseprobe.load("association@1.0.1").table("unbleached", spans=False)["word"]})
    vectors = dict(zip(words, np.random.default_rng(3).normal(size=(len(words), 8)), strict=True))
    (new,) = senseprobe.score(
        senseprobe.vectors(vectors, name="made"), "association@1.0.1:unbleached", "weat", store=False
    )
    older = replace(new, figures=tuple(replace(figure, definition=0, value=9.0) for figure in new.figures))
    path = older.write(tmp_path)
    (again,) = gather_inputs([path])
    assert len(new.figures) == 4
    assert again.result.figures == new.figures
    path.with_suffix(".words.parquet").unlink()
    (kept,) = gather_inputs([path])
    assert kept.result.figures == older.figures
    assert "Of an older definition, and not computed again: weat." in kept.missing


# --- elsewhere --------------------------------------------------------------------------------------------------------


def test_the_summary_of_score(tmp_path: Path) -> None:
    """A line for each test, after what p is corrected over."""
    (part,) = summarize_results([result()], tmp_path).parts
    (section,) = [section for section in part.sections if section.title == "Every test"]
    rows = [*table_rows(section)]
    assert [*rows[0].values()] == [
        *("weat3; race; bleached", "+1.10 [+0.20, +1.50]", "p 0.0010, corrected 0.0100; smallest possible p 7.8e-05"),
        *("8 and 8 words, 8 and 8 attributes", "found"),
    ]
    assert rows[5]["reads"] == "not readable; more than a fifth of a set has no vector"
    assert rows[5]["words"].endswith("A without sine, cosine, pi")
    assert "corrected over all tests of a config" in section.paragraphs[0]


def test_what_a_test_has_twice_stands_with_its_figure(tmp_path: Path) -> None:
    """The note of a test is in the summary of score and on the page, beside its name."""
    of = result("word", shown_test("weat3", note="words of both A and B: war"), shown_test("weat4"))
    assert "words of both A and B: war" in printed(summarize_results([of], tmp_path))
    every = {row[0]: row[-1] for row in page(of).rows if len(row) == 5}
    assert "words of both A and B: war" in next(text for name, text in every.items() if name.startswith("weat3"))


def test_the_published_test_says_what_it_is(tmp_path: Path) -> None:
    """It has no interval, so it reads nothing; that it takes sentences for draws stands below it."""
    sentences = shown_test("weat3", estimand="weat-sentence", low=None, high=None, method="none")
    (part,) = summarize_results([result("sent", shown_test("weat3"), sentences)], tmp_path).parts
    (section,) = [section for section in part.sections if section.title == "Every test"]
    (row,) = [row for row in table_rows(section) if "weat-sentence" in row]
    assert row["weat-sentence"].startswith("+1.00; p ")
    assert "shown" not in row["weat-sentence"]
    assert any("anti-conservative" in paragraph for paragraph in section.paragraphs)


def test_what_knows_no_tests() -> None:
    """The gate, exports and slices refuse them in a sentence each."""
    one, two = (part.result for part in pair())
    with pytest.raises(ResultError, match="association tests cannot be gated"):
        api.gate(one, two)
    with pytest.raises(ResultError, match="an association test needs all its words"):
        api.slice_result(one, by=["test"])
    found, (reason,) = find_distances(ExportSource(one))
    assert found == []
    assert "of association tests, whose effects are not distances" in reason


def test_a_plot_of_tests() -> None:
    """Each test is a line of it, in standard deviations."""
    (axes,) = (
        result("word", shown_test("weat3"), unshown("weat4"), shown_test("weat3", estimand="weat-pop")).plot().axes
    )
    assert [label.get_text() for label in axes.get_yticklabels()] == ["bleached: weat3", "bleached: weat4"]
    assert axes.get_xlabel().startswith("standard deviations")
    assert math.isclose(axes.get_ylim()[0], 1.5)
