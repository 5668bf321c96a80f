"""The charts of a report: their numbers by hand, and whether their colours can be told apart."""

import re
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from tests.reporting.test_report import INFERENCE, figure, result

import senseprobe
from senseprobe import document as setting
from senseprobe.charts import Forest, ForestRow, HeatMap, Histogram, Mark, percent_along
from senseprobe.document import Document, Part, Section
from senseprobe.evaluate.reporting import figure_charts
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.scope import align_figures
from senseprobe.evaluate.reporting.verdict import Verdict
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.units import ScoredRows
from senseprobe.records import Figure
from senseprobe.statistics import FloatArray

CSS = (files("senseprobe") / "page.css").read_text("utf-8")

# --- colours --------------------------------------------------------------------------------------------------------

# Machado, Oliveira and Fernandes 2009, table 1, deuteranomaly of severity 1.0, which is deuteranopia: of linear RGB.
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
# IEC 61966-2-1 (sRGB): linear RGB to XYZ, whose second row is the luminance, and the white point D65.
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(colour: str) -> FloatArray:
    """Linear RGB of a colour such as #1a56b0."""
    shares = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def lab(rgb: FloatArray) -> FloatArray:
    """CIE L*a*b* of linear RGB."""
    ratios = TO_XYZ @ rgb / WHITE
    x, y, z = np.where(ratios > 216 / 24389, np.cbrt(ratios), (24389 / 27 * ratios + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(first: str, second: str) -> float:
    """The contrast of two colours, from 1 to 21, as WCAG 2.2 defines it."""
    lighter, darker = sorted((float(TO_XYZ[1] @ linear(colour)) for colour in (first, second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def schemes() -> list[dict[str, str]]:
    """The colours of the light and of the dark scheme, by name."""
    light, dark = (dict(re.findall(r"--([\w]+): (#\w{6})", rule)) for rule in re.findall(r":root \{(.*?)\}", CSS, re.S))
    return [light, dark]


def test_lab_is_that_of_others() -> None:
    """White, and sRGB's red as colour tables have it: L* 53.2, a* 80.1, b* 67.2."""
    assert lab(linear("#ffffff")) == pytest.approx([100, 0, 0], abs=0.05)
    assert lab(linear("#ff0000")) == pytest.approx([53.2, 80.1, 67.2], abs=0.1)
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("number", [0, 1])
def test_palette(number: int) -> None:
    """Results differ by 25 in CIE76 with deuteranopia and without (2.3 is just noticeable), and stand out by 3 to 1."""
    scheme = schemes()[number]
    colours = [linear(scheme[f"s{series}"]) for series in range(6)]
    for seen in (colours, [np.clip(DEUTERANOPIA @ colour, 0, 1) for colour in colours]):
        distances = [np.linalg.norm(lab(a) - lab(b)) for i, a in enumerate(seen) for b in seen[:i]]
        assert min(distances) > 25
    # WCAG 2.2, 1.4.11: graphics 3 to 1; 1.4.3: text 4.5 to 1.
    assert min(contrast(scheme[f"s{series}"], scheme["page"]) for series in range(6)) > 3
    assert min(contrast(scheme[name], scheme["page"]) for name in ("text", "soft", "link")) > 4.5


@pytest.mark.parametrize("number", [0, 1])
def test_ends_of_heat_maps(number: int) -> None:
    """The two ends of the scale differ with deuteranopia, too."""
    low, high = (linear(schemes()[number][name]) for name in ("low", "high"))
    assert np.linalg.norm(lab(np.clip(DEUTERANOPIA @ low, 0, 1)) - lab(np.clip(DEUTERANOPIA @ high, 0, 1))) > 60


# --- axes and forests -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "percent"), [(-50, "0%"), (0, "50%"), (25, "75%"), (1e300, "100%"), (-51, "0%"), (12.34, "62.34%")]
)
def test_percent_along(value: float, percent: str) -> None:
    """Of an axis from -50 to 50; what is beyond an end is at it."""
    assert percent_along(value, -50, 50) == percent


def around(*ends: float) -> Figure:
    """A figure with an interval."""
    return figure("noun", "matched-contrast", ends[0], low=ends[1], high=ends[2])


def test_axis_holds_intervals() -> None:
    """The axis goes to 50 points at least, else to the next 25, and to 100 at most."""
    assert figure_charts.find_limit([around(1, -10, 12)]) == 50
    assert figure_charts.find_limit([around(1, -51, 12), None]) == 75
    assert figure_charts.find_limit([around(-33, -97, 30)]) == 100
    assert figure_charts.find_limit([around(1e300, -1e300, 1e300)]) == 100


def test_groups_from_the_highest() -> None:
    """Groups go from the highest to the lowest of the first result; of very many both ends, and the title says so."""
    groups = [figure("noun", "relative", float(value), group=f"g{value:02}") for value in range(1, 71)]
    (forest,) = figure_charts.plot_groups([ReportInput(result=result())], align_figures([groups]))
    assert [row.label for row in forest.rows] == [f"g{value:02}" for value in (*range(70, 40, -1), *range(30, 0, -1))]
    assert "; the 30 highest and the 30 lowest of 70" in forest.title
    assert (forest.low, forest.neutral, forest.high) == (-75, 0, 75), "70 is beyond 50"


def test_headlines_and_the_rest() -> None:
    """Figures of verdicts and those that lead a config without one are open, the others collapsed; hollow ones last."""
    figures = (
        figure("nationality", "preference-half", 7.5, neutral=None),
        figure("noun", "preference-half", 6.5),
        figure("noun", "pronoun-stereotype", -8.25),
        figure("noun", "pronoun-baseline", 41.5),
    )
    verdicts = [
        Verdict(config="noun", figure=figures[2], code="not_shown", text=""),
        Verdict(config="nationality", figure=None, code="unreadable", text=""),
    ]
    shown = ReportInput(result=result(figures=figures))
    forests = [*figure_charts.plot_headlines([shown], align_figures([figures]), verdicts)]
    first, rest = ([row for each in forests if each.closed == closed for row in each.rows] for closed in (False, True))
    assert {(row.label, row.note) for row in first} == {
        ("noun", "pronoun-stereotype"),
        ("nationality", "preference-half"),
    }
    assert {row.note: row.marks[0].hollow for row in first} == {"pronoun-stereotype": False, "preference-half": True}
    assert {row.note for row in rest} == {"preference-half", "pronoun-baseline"}
    zeros = {each.title.partition("0 means: ")[2] for each in forests}
    assert zeros == {"half of the pairs", "both kinds of jobs alike", "both as often"}, "one chart for each"
    failed = Verdict(config="occupation", figure=None, code="unreadable", text="fails its control")
    alone = [*figure_charts.plot_headlines([shown], align_figures([figures]), [failed])]
    assert (sum(len(each.rows) for each in alone), {each.closed for each in alone}) == (4, {True})


def test_right_answers_on_the_control() -> None:
    """Right answers of the control of the same words are on an axis from 0 to 100, where a guess has 50."""
    accuracy = figure("occupation", "accuracy", 33.0, low=30.0, high=36.0, neutral=None, sense_type="")
    probe = replace(
        result("nli", figures=INFERENCE), release={"name": "nli-occupation@1.0.1", "content": "", "config": ""}
    )
    control = replace(probe, release={**probe.release, "name": "nli-control@1.0.1"}, figures=(accuracy,))
    (forest,) = figure_charts.plot_control([ReportInput(result=probe, controls=(control,))])
    assert (forest.low, forest.neutral, forest.high) == (0, 50, 100)
    assert [(row.label, row.marks[0].text) for row in forest.rows] == [("occupation", "33.0 [30.0, 36.0]")]


def rendered(*charts: Forest | HeatMap | Histogram, labels: tuple[str, ...] = ()) -> str:
    """The page of charts."""
    part = Part(title="", sections=(Section("charts", charts=charts),), labels=labels)
    return setting.render_html(Document(title="", warning="", parts=(part,)))


def test_marks_are_where_their_numbers_are() -> None:
    """Of -50 to 50, -25 is at a quarter, 0 in the middle; without a value there is no mark; a second result its own."""
    marks = (Mark(series=0, value=-25, low=-50, high=0, text="a"), Mark(series=1, value=None, text="none"))
    row = ForestRow(label="<b>", marks=(*marks, Mark(series=2, value=40, hollow=True, text="c")), left="L", right="R")
    html = rendered(Forest(title="T", rows=(row,), low=-50, high=50, left="", right=""), labels=("x", "y", "z"))
    assert '<line x1="0%" x2="50%" y1="13" y2="13"/><use href="#m0" x="25%" y="13"/>' in html
    assert '<use href="#m2" x="90%" y="49" class="hollow"/>' in html
    assert 'class="s1"><line' not in html
    assert "&lt;b&gt;" in html
    assert "← L" in html
    assert "R →" in html
    assert html.count('<tr class="ends">') == 1


# --- words, classes and scores --------------------------------------------------------------------------------------


def on_nationality(wins: set[tuple[str, str]]) -> ReportInput:
    """A result in which the unpleasant sentence wins for these pairs of nation and unpleasant word, else it loses."""
    release = senseprobe.load("sssb@1.0.0")
    table = release.table("nationality", spans=False)
    won = [pair in wins for pair in zip(table["nation"], table["bad"], strict=True)]
    table = table.assign(stereo_score=np.where(won, 1.0, -1.0), anti_score=0.0)
    scored = ScoredRows.from_tables({"nationality": table}, ["stereo_score", "anti_score"])
    about = {"name": release.manifest.name, "content": "", "config": None}
    return ReportInput(result=replace(result(), release=about, scored=scored), release=release)


def test_heat_map_by_hand() -> None:
    """Of the 12 pairs of each nation and word (there are 12 pleasant words) all are won, +50, or none, -50."""
    (chart,) = figure_charts.plot_words(
        [on_nationality({("Arabic", "rude"), ("Arabic", "silly"), ("German", "silly")})]
    )
    assert (len(chart.rows), len(chart.columns)) == (16, 9), "nations and unpleasant words of the paper"
    assert chart.rows[:2] == ("Arabic", "German")
    assert chart.columns[0] == "silly"
    assert [row[0] for row in chart.texts[:3]] == ["+50 12 of 12", "+50 12 of 12", "-50 0 of 12"]
    html = rendered(chart)
    assert '<td class="h5">+50<small>12 of 12</small></td>' in html
    assert '<td class="h-5">-50<small>0 of 12</small></td>' in html


def test_heat_map_needs_two_of_each() -> None:
    """Of race-matched, in which one group stands, there is none."""
    source = on_nationality(set())
    one = ScoredRows(tables={"nationality": source.tables["nationality"].query("nation == 'Arabic'")})
    assert [*figure_charts.plot_words([replace(source, result=replace(source.result, scored=one))])] == []


def test_histogram_by_hand() -> None:
    """Of ten differences seven are 2, two are -1, and one is no number; the axis goes from -2 to 2 in 41 steps."""
    differences = [2.0] * 7 + [-1.0] * 2 + [np.nan]
    rows = pd.DataFrame({"config": "c", "id": [f"{i}" for i in range(10)], "stereo_score": differences})
    (chart,) = figure_charts.plot_differences(
        [ReportInput(result=replace(result(), scored=ScoredRows(rows.assign(anti_score=0.0))))]
    )
    assert (chart.edges[0], chart.edges[-1], len(chart.edges)) == (-2, 2, 42)
    assert {i: n for i, n in enumerate(chart.counts) if n} == {10: 2, 40: 7}, "(-1 + 2) / (4 / 41) = 10.25"
    assert chart.title == "aul · org/model: differences in 9 pairs, in nats per token"
    # The second bar is at 40/41, as high as the chart, and the first, of 2 of 7, at 10/41.
    html = rendered(chart)
    assert '<rect x="24.39%" width="2.244%" y="71.43%" height="28.57%"/>' in html
    assert '<rect x="97.56%" width="2.244%" y="0%" height="100%"/>' in html


def test_scatter_by_hand() -> None:
    """Two scorers of one model agree in the sign of two of three pairs; other models are not set against each other."""
    rows = pd.DataFrame({"config": "c", "id": ["a", "b", "c"], "anti_score": 0.0})
    one = ReportInput(result=replace(result(), scored=ScoredRows(rows.assign(stereo_score=[1.0, -1.0, 1.0]))))
    two = ReportInput(result=replace(result("pll"), scored=ScoredRows(rows.assign(stereo_score=[2.0, -2.0, -2.0]))))
    (chart,) = figure_charts.plot_scorers([one, two])
    assert chart.title == "aul and pll prefer the same sentence in 67 % of 3 pairs"
    assert chart.points == ((0, 0), (1000, 0), (1000, 1000))
    other = replace(two, result=replace(two.result, model={**two.result.model, "weights": "9"}))
    assert [*figure_charts.plot_scorers([one, other])] == []


def inference(name: str, config: str, **columns: object) -> ReportInput:
    """A result of inference on four rows of a config."""
    release = senseprobe.load(name)
    table = pd.DataFrame({**columns, "entailment": [1, 0.5, 0, 0], "neutral": [0, 0.5, 1, 0.5]})
    scored = ScoredRows(tables={config: table.assign(contradiction=[0.0, 0.0, 0.0, 0.5])})
    answered: Result = replace(result("nli", figures=INFERENCE), scored=scored)
    return ReportInput(result=answered, release=release)


def test_class_shares_by_hand() -> None:
    """Means of two rows each: woman (1 + .5) / 2 = .75, 0.25, 0; man 0, (1 + .5) / 2, .25; the least neutral first."""
    people = {"occupation": "nurse", "person": ["woman", "woman", "man", "man"]}
    (chart,) = figure_charts.plot_classes([inference("nli-occupation@1.0.1", "activities", **people)])
    assert chart.rows == (("woman", (0.75, 0.25, 0.0)), ("man", (0.0, 0.75, 0.25)))
    assert chart.row_heading == "person"
    html = setting.render_html(
        Document(title="", warning="", parts=(Part(title="", sections=(Section("s", charts=(chart,)),)),))
    )
    assert '<rect class="c2" x="75%" width="25%" height="100%"/>' in html


def test_class_shares_of_the_control() -> None:
    """Where right answers are of several labels, probabilities are by them."""
    gold = {"gold": ["entailment", "entailment", "contradiction", "contradiction"]}
    (chart,) = figure_charts.plot_classes([inference("nli-control@1.0.1", "occupation", **gold)])
    assert chart.row_heading == "right answer"
    assert [label for label, _ in chart.rows] == ["entailment", "contradiction"]
