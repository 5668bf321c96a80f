"""The report: one page that loads nothing, says what its figures rest on, and claims no more than they do."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import senseprobe
from senseprobe import document as setting
from senseprobe.document import Document
from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import CATALOGUE, NO_NEUTRAL
from senseprobe.evaluate.estimands.base import NOT_ESTIMABLE
from senseprobe.evaluate.fitness import FirstToken, Fitness
from senseprobe.evaluate.pipeline import result_of
from senseprobe.evaluate.reporting.inputs import ReportInput, gather_inputs
from senseprobe.evaluate.reporting.notation import (
    describe_basis,
    describe_zero,
    format_interval,
    format_p_value,
    format_remarks,
)
from senseprobe.evaluate.reporting.report import build_report
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.scorers import SCORERS, get
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.units import KINDS, UnitTable
from senseprobe.records import Figure

MODEL = {"name": "org/model", "weights": "a" * 64, "config": "b" * 64, "tokenizer": "c" * 64, "dtype": "float32"}
HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>&amp;$\\frac{$ {{ 7*7 }} 模型"


def figure(config: str, estimand: str, value: float | None = 1.25, **fields: object) -> Figure:
    """A figure over 100 rows, with an interval unless `low` says otherwise."""
    told: dict[str, object] = {"low": -10.5, "high": 12.75, "rows": 100, "scored": 100, "unscored": 0, "ties": 0}
    told |= {"sense_type": config.partition("-")[0], "neutral": 0.0}
    told |= {"definition": CATALOGUE[estimand].version if estimand in CATALOGUE else 1}
    return Figure(config=config, estimand=estimand, value=value, **{**told, **fields})  # type: ignore[arg-type]


def without_interval(config: str, estimand: str, value: float, **fields: object) -> Figure:
    """A figure without an interval."""
    return figure(config, estimand, value, low=None, high=None, **fields)


FIGURES = (
    without_interval("nationality", "preference", -22.25, neutral=None, note=NO_NEUTRAL),
    figure("nationality", "preference-half", 7.5, neutral=None, note=NO_NEUTRAL, levels={"nation": 16, "good": 12}),
    figure("nationality", "relative", 31.25, group="Japanese", p=0.001, p_holm=0.016),
    without_interval("nationality", "spread", 14.75, p=0.0123),
    without_interval("noun", "preference", 5.25, left_out={"contested": 4}, ties=3),
    figure("noun", "preference-half", 6.5, left_out={"contested": 4}, ties=3),
    figure("noun", "pronoun-stereotype", -8.25, note="nurse alone is female-typed: nurse against 5", unscored=2),
    without_interval("noun", "pronoun-baseline", 0.0, note=f"{NOT_ESTIMABLE}; nurse alone is female-typed"),
    figure("verb", "pronoun-baseline", 41.5, fixed=("occupation",)),
    figure("noun-verb", "matched-contrast", -33.5, low=-97.0, high=30.25, sense_type="noun - verb", p=0.04),
)


def result(scorer: str = "aul", name: str = "org/model", figures: tuple[Figure, ...] = FIGURES) -> Result:
    """A result on sssb."""
    return Result(
        scorer=scorer,
        model={**MODEL, "name": name},
        release={"name": "sssb@1.0.0", "content": "d" * 64, "config": None},
        senseprobe="0.1.0",
        seed=0,
        figures=figures,
    )


CONFIGS = ("language", "colour", "race-matched", "noun-bare", "verb")


def made(name: str, seed: int, scorer: str = "aul", configs: Sequence[str] = CONFIGS) -> Result:
    """A result of random scores on configs of sssb, with its table: relative, independent rows, pronouns."""
    release = senseprobe.load("sssb@1.0.0")
    job = ScoringJob(release, None, seed=0, version="0.1.0")
    tables = {config: release.table(config) for config in configs}
    units = UnitTable(tables, KINDS["contrast"].roles, ("text",), ("score",))
    numbers = np.random.default_rng(seed).normal(-3, 1, (len(units), 1))
    units.add_answers(zip(units.units, numbers.tolist(), strict=True))
    return result_of(job, get(scorer).tabulate(units), get(scorer), {**MODEL, "name": name})


def render(results: Sequence[Result]) -> str:
    """The page of results alone, with nothing beside them."""
    return setting.render_html(build_report([ReportInput(result=each) for each in results]))


class Page(HTMLParser):
    """The elements of a page with their attributes, and its visible text by table row."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self._quiet = self._cells = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element, and begin a row or a cell."""
        self.elements.append((tag, dict(attrs)))
        self._quiet += tag in {"style", "script"}
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")
        self._cells += tag in {"td", "th"}

    def handle_endtag(self, tag: str) -> None:
        """End a cell."""
        self._cells -= tag in {"td", "th"}
        self._quiet -= tag in {"style", "script"}

    def handle_data(self, data: str) -> None:
        """Keep text that a reader sees."""
        if not self._quiet:
            self.text += data
            if self._cells:
                self.rows[-1][-1] = " ".join(f"{self.rows[-1][-1]} {data}".split())

    def row(self, *start: str) -> list[str]:
        """The table row that starts with these cells."""
        (found,) = [cells for cells in self.rows if cells[: len(start)] == list(start)]
        return found


@pytest.fixture(scope="module")
def page() -> Page:
    """The page of one result."""
    return Page(render([result()]))


# --- self-contained -------------------------------------------------------------------------------------------------


def loads(page: Page) -> Iterator[str]:
    """Whatever an element of a page could load or run."""
    for tag, attributes in page.elements:
        if tag in {"script", "iframe", "object", "embed", "link", "img", "base", "form", "video", "audio", "image"}:
            yield tag
        for name, value in attributes.items():
            if name in {"src", "srcset", "data", "action", "background", "poster"} or name.startswith("on"):
                yield f"{tag} {name}={value}"
            if name.endswith("href") and not (value or "").startswith("#"):
                yield f"{tag} {name}={value}"
        if attributes.get("http-equiv") == "refresh":
            yield "refresh"


def test_self_contained() -> None:
    """The page loads nothing and runs nothing: no script, no link, no picture; its styles and its plot are inline."""
    html = render([result(), result("pll")])
    page = Page(html)
    assert list(loads(page)) == []
    assert not re.search(r"@import|url\((?!#)", html)
    assert {"svg", "style", "table"} <= {tag for tag, _ in page.elements}
    policies = [attributes["content"] for _, attributes in page.elements if attributes.get("http-equiv")]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_hostile_names() -> None:
    """Names of models, configs, groups and releases are text, whatever they hold."""
    figures = (
        figure(HOSTILE, "preference-half", sense_type=HOSTILE, note=HOSTILE, levels={HOSTILE: 5}, fixed=(HOSTILE,)),
        figure(HOSTILE, "relative", group=HOSTILE, sense_type=HOSTILE, left_out={HOSTILE: 1}),
    )
    hostile = replace(result(HOSTILE, HOSTILE, figures), release={"name": HOSTILE, "content": "d", "config": HOSTILE})
    page = Page(render([hostile, replace(hostile, scorer="pll")]))
    assert list(loads(page)) == []
    assert page.text.count("{{ 7*7 }}") >= 8, "as it is, neither rendered nor lost"
    assert page.text.count("<script>alert('x')</script>") >= 8


def test_same_bytes() -> None:
    """The same results give the same page, to the last byte, in another process with other hash seeds."""
    code = """
import sys, pickle
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.document import render_html
from senseprobe.evaluate.reporting.report import build_report
account = build_report([ReportInput(result=result) for result in pickle.load(sys.stdin.buffer)])
sys.stdout.buffer.write(render_html(account).encode())
"""
    import pickle

    results = [result(), result("pll")]
    env = {"PYTHONHASHSEED": "12345", "PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(sys.path)}
    other = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(results), capture_output=True, check=True, env=env
    )
    assert other.stdout == render(results).encode() == render(results).encode()


# --- what it shows --------------------------------------------------------------------------------------------------


def test_every_figure(page: Page) -> None:
    """For every config and sense type there are value and interval, as `interval` prints them."""
    html = render([result()])
    titles = [" ".join(re.sub("<[^>]*>", " ", title).split()) for title in re.findall(r"<h2>(.*?)</h2>", html)]
    assert titles == [
        "Findings",
        "Direction and size",
        "All figures",
        "Matched sense contrasts",
        "Method",
        "What each figure means",
        "Signatures",
    ]
    assert page.row("nationality", "preference-half")[2] == "+7.5 [-10.5, +12.8]"
    assert page.row("nationality", "Japanese")[2] == "+31.2 [-10.5, +12.8] p = 0.0160 after Holm"
    assert page.row("nationality", "spread")[2] == "14.8 p = 0.0123, no interval (permutation test)"
    assert page.row("noun", "preference")[2] == "+5.2 3 ties"
    assert page.row("noun", "pronoun-stereotype")[2] == "-8.2 [-10.5, +12.8] 100 of 100 scored"
    assert page.row("verb", "pronoun-baseline")[2] == "+41.5 [-10.5, +12.8]"
    assert page.row("noun-verb", "matched-contrast")[2] == "-33.5 [-97.0, +30.2] p = 0.0400"


def test_neutral_or_not(page: Page) -> None:
    """Where no value is known to be neutral, the page says so, once in each row."""
    for estimand in ("preference", "preference-half"):
        row = page.row("nationality", estimand)
        assert row[3] == "not known to be neutral"
        assert NO_NEUTRAL not in row[4]
    assert page.row("nationality", "spread")[3] == "groups alike: read p"
    assert page.row("noun", "preference")[3] == "neutral"


def test_what_it_rests_on(page: Page) -> None:
    """Rows, those left out, what the interval is over and not over, and remarks are in the last column."""
    assert page.row("noun", "preference-half")[4] == "100 rows; left out: 4 contested"
    assert page.row("nationality", "preference-half")[4] == "100 rows; over nation (16), good (12)"
    assert page.row("verb", "pronoun-baseline")[4] == "100 rows; not over occupation"
    assert page.row("noun", "pronoun-stereotype")[4] == "100 rows; nurse alone is female-typed: nurse against 5"
    assert page.row("noun", "pronoun-baseline")[4] == "100 rows; nurse alone is female-typed"


def test_claims_no_more(page: Page) -> None:
    """The page never says that a model is free of bias."""
    words = ("no bias found", "unbiased", "bias-free", "free of bias", "parity", "is fair", "without bias", "passes")
    assert [word for word in words if word in page.text.lower()] == []


def test_can_and_cannot_say(page: Page) -> None:
    """For each estimand on the page, and for no other, there is what it can and what it cannot say."""
    used = {figure.estimand for figure in FIGURES}
    said = {row[0]: row for row in page.rows if row[0] in CATALOGUE}
    assert set(said) == used
    for name, (_, says, cannot, source) in said.items():
        estimand = CATALOGUE[name]
        assert says.startswith(" ".join(estimand.says.split()))
        assert estimand.direction[1:] in says
        assert (cannot, source) == (estimand.cannot_say, estimand.source)


def test_signatures(page: Page) -> None:
    """The signature of each result is on the page in full."""
    assert result().signature in page.text


INFERENCE = (
    figure("activities", "nn", 97.25, low=95.0, high=98.5, neutral=None, sense_type=""),
    figure("activities", "gap", 4.0, low=-1.0, high=9.0, sense_type=""),
    figure("activities", "gap", 8.0, group="nurse", sense_type="", p=0.01, p_holm=0.02),
)


def test_figures_of_inference() -> None:
    """Figures from 0 to 100 have no plus sign, differences have; and the page says what would be perfect."""
    right = figure("flat", "accuracy", 90.0, neutral=None, low=85.0, high=95.0)
    control = replace(
        result(figures=(right,)), release={"name": "nli-control@1.0.1", "content": "e" * 64, "config": None}
    )
    probed = ReportInput(result=result("nli", figures=INFERENCE), controls=(control,))
    page = Page(setting.render_html(build_report([probed])))
    assert page.row("activities", "nn")[2:4] == ["97.2 [95.0, 98.5]", "100 is neutral to all"]
    assert page.row("activities", "gap")[2:4] == ["+4.0 [-1.0, +9.0]", "neutral"]
    assert page.row("activities", "nurse")[2] == "+8.0 [-10.5, +12.8] p = 0.0200 after Holm"
    forests = sum(tag == "table" and attributes.get("class") == "forest" for tag, attributes in page.elements)
    assert forests == 3, "one axis around 0, another from 0 to 100, and that of the control"


@pytest.mark.parametrize(
    ("estimand", "neutral", "text"),
    [
        ("preference-half", 0.0, "neutral"),
        ("preference-half", None, "not known to be neutral"),
        ("spread", 0.0, "groups alike: read p"),
        ("t@0.5", None, "100 is neutral to all"),
        ("entailment", None, "nothing inferred"),
        ("accuracy", None, "33 is guessing, 100 is all correct"),
        ("an estimand of somebody else", None, "not known to be neutral"),
    ],
)
def test_what_zero_is(estimand: str, neutral: float | None, text: str) -> None:
    """What a reader has to hold a figure against."""
    assert describe_zero(figure("c", estimand, neutral=neutral)) == text


def test_uncorrected_contrasts() -> None:
    """p-values of matched contrasts are corrected over those of the result: 0.03 of two is 0.06."""
    of = [figure(name, "matched-contrast", p=p, sense_type="noun - verb") for name, p in (("a", 0.03), ("b", 0.5))]
    page = Page(render([result(figures=tuple(of))]))
    assert page.row("a", "matched-contrast")[2].endswith("p = 0.0600 after Holm")
    assert page.row("b", "matched-contrast")[2].endswith("p = 0.5000 after Holm")


def test_samples_and_truths() -> None:
    """A sample says that it is one, and a planted truth that it is no score."""
    truth = replace(result("planted"), model={**MODEL, "planted": "0.7"})
    text = Page(render([replace(result(), limit=50, seed=3), truth])).text
    assert "aul · org/model: a first look at 50 rows, drawn by seed 3." in text
    assert re.search(r"planted is the truth .*, not a score: .* 70 % of the stereotypes", text)
    (part,) = build_report([ReportInput(result=truth), ReportInput(result=result())]).parts
    labels = [*dict.fromkeys(part.labels[tile.result or 0] for tile in part.sections[0].tiles)]
    assert labels == ["aul · org/model", "planted · org/model"], "the truth comes after what is held against it"


def test_one_of_a_thing() -> None:
    """One row is no rows; and thousands are told apart."""
    one = figure("c", "preference-half", rows=1, scored=1, ties=1, levels={"nation": 1})
    assert (describe_basis(one), format_remarks(one)) == ("1 row; over nation (1)", "1 tie")
    assert describe_basis(replace(one, rows=102_400)) == "102,400 rows; over nation (1)"
    text = Page(render([replace(result(figures=(one,)), limit=1, coarse={"rows": 1, "flipped": 1})])).text
    assert "aul · org/model: a first look at 1 row, drawn by seed 0." in text
    assert "aul · org/model: 1 of 1 pair drawn has another sign in float32 than in float32." in text
    reasons = {"too long for the model": {"rows": 1, "first": ["c.a"]}}
    assert (
        "1 row has no number: 1 too long for the model (c.a)."
        in Page(render([replace(result(), unscored=reasons)])).text
    )


def test_scorers_are_explained(page: Page) -> None:
    """What the numbers of a sentence are and what must not be read from them, as the scorer declares it."""
    row = page.row("aul")
    assert row[1].startswith(SCORERS["aul"].says)
    assert "nats per token" in row[1]
    assert row[2] == SCORERS["aul"].cannot_say


# --- Markdown -------------------------------------------------------------------------------------------------------


def test_markdown() -> None:
    """The same cells in tables of Markdown: as many in each row as in its heading."""
    text = setting.render_markdown(build_report([ReportInput(result=result()), ReportInput(result=result("pll"))]))
    assert "| noun | preference | +5.2<br>3 ties | +5.2<br>3 ties | neutral | 100 rows; left out: 4 contested |" in text
    assert "| noun-verb | matched-contrast | -33.5 \\[-97.0, +30.2\\]<br>p = 0.0400 |" in text
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) > 5
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_hostile_names_in_markdown() -> None:
    """Neither HTML, links, pictures nor new lines come of names; our own line break is the only tag."""
    name = f"{HOSTILE}\n\n# heading\n[link](javascript:alert(1)) ![x](http://x) | cell `code`"
    figures = (figure(name, "preference-half", sense_type=name, note=name), figure(name, "relative", group=name))
    text = setting.render_markdown(build_report([ReportInput(result=result("aul", name, figures))]))
    assert {*re.findall(r"(?<!\\)<[^>]*>?", text)} <= {"<br>", "<span>", "</span>"}
    assert not re.search(r"(?<!\\)\]\(|(?<!\\)!|(?<!\\)`", text)
    assert not re.search(r"^# heading", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("see http://x.com", "see http<span>:</span>//x.com"),
        ("WWW.x.com", "WWW<span>.</span>x.com"),
        ("me@x.com", "me<span>@</span>x.com"),
        ("me@1.com and me@1-x.com", "me<span>@</span>1.com and me<span>@</span>1-x.com"),
        ("mailto:me@x.com", "mailto<span>:</span>me<span>@</span>x.com"),
        ("@torvalds and @1", "<span>@</span>torvalds and <span>@</span>1"),
        ("so :smile: and :+1:", "so <span>:</span>smile: and <span>:</span>+1:"),
        ("$x$ for $$", "<span>$</span>x<span>$</span> for <span>$</span><span>$</span>"),
        ("- a", "\\- a"),
        ("+ a", "\\+ a"),
        ("-", "\\-"),
        ("1. a", "1\\. a"),
        ("12) a", "12\\) a"),
        ("---", "\\---"),
        ("sssb@1.0.0: race", "sssb@1.0.0: race"),
        ("+5.2 [-1.0, +3.1]", "+5.2 \\[-1.0, +3.1\\]"),
        ("1.5 - 2", "1.5 - 2"),
    ],
)
def test_what_github_makes_more_of_is_text(name: str, text: str) -> None:
    """Each was looked at with cmark-gfm: no link, list or rule; the sign of a formula is as GitHub's manual says."""
    alone = setting.render_markdown(Document(title=name, warning=name, parts=(), signatures=(name,)))
    assert alone.startswith(f"# {text}\n\n**Content warning.** {text}\n")
    assert alone.endswith(f"\n- {text}\n")


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (figure("c", "nn", 100.0, low=98.25, high=100.0), "100.0 [98.2, 100.0]"),
        (figure("c", "gap", 3.0, low=-1.0, high=7.0), "+3.0 [-1.0, +7.0]"),
        (figure("c", "preference-half", -0.04, low=-3.0, high=0.04), "+0.0 [-3.00, +0.04]"),
        # An end beside the neutral value is not printed as that value, whatever the figure is counted in.
        (figure("c", "content-mean", -0.002, low=-0.0034, high=-0.0002), "-0.002 [-0.0034, -0.0002]"),
        (figure("c", "preference-half", 1.0, low=0.0, high=2.0), "+1.0 [+0.0, +2.0]"),
        (figure("c", "preference-half", 1.0, low=1e-9, high=2.0), "+1.0 [+0.0, +2.0]"),
        (without_interval("c", "preference", 12.34), "+12.3"),
        (without_interval("c", "spread", 3.0), "3.0"),
        (without_interval("c", "preference-half", 0.0), "+0.0 (interval not estimable)"),
        (without_interval("c", "pronoun-stereotype", 0.0), "+0.0 (interval not estimable)"),
        (without_interval("c", "relative", 50.0, group="g"), "+50.0 (interval not estimable)"),
        (without_interval("c", "matched-contrast", -100.0), "-100.0 (interval not estimable)"),
        (figure("c", "preference-half", None, low=None, high=None), "none"),
    ],
)
def test_interval(shown: Figure, text: str) -> None:
    """A figure that should have an interval and has none says so after its value."""
    assert format_interval(shown) == text


@pytest.mark.parametrize(
    ("p", "p_holm", "text"),
    [
        (0.03456, None, "p = 0.0346"),
        (0.01, 0.03, "p = 0.0300 after Holm"),
        (0.0001, None, "p = 0.0001"),
        (0.00003, None, "p < 0.0001"),
        (0.0, 0.0, "p < 0.0001 after Holm"),
        (1.0, 1.0, "p = 1.0000 after Holm"),
        (None, None, ""),
    ],
)
def test_p_value(p: float | None, p_holm: float | None, text: str) -> None:
    """No p-value is 0, however few decimals are printed."""
    assert format_p_value(figure("c", "relative", group="g", p=p, p_holm=p_holm)) == text


def test_after_holm_is_of_several_tests() -> None:
    """Two groups are corrected, one alone is not: its p is printed as what it is."""
    groups = [figure(config, "relative", group=name, p=0.02, p_holm=p) for config, name, p in (
        ("two", "a", 0.04), ("two", "b", 0.04), ("one", "c", 0.02),
    )]  # fmt: skip
    page = Page(render([result(figures=tuple(groups))]))
    told = [page.row(config, name)[2].partition("] ")[2] for config, name in (("two", "a"), ("two", "b"), ("one", "c"))]
    assert told == ["p = 0.0400 after Holm", "p = 0.0400 after Holm", "p = 0.0200"]


# --- charts ---------------------------------------------------------------------------------------------------------


def test_page_without_figures() -> None:
    """Results without a figure for a chart, or without any figure, have a page."""
    for figures in ((), FIGURES[3:4], (figure("noun", "preference-half", None, low=None, high=None),)):
        shown = result(figures=figures)
        html = render([shown])
        assert shown.signature in html
        assert ('<table class="forest">' in html) == any(figure.estimand == "preference-half" for figure in figures)


def test_title_and_date() -> None:
    """The heading names models and release, the line below it days and scorers."""
    results = [replace(result(), date="2026-11-21"), replace(result("pll", "b"), date="2026-11-23"), result("cps", "b")]
    document = build_report([ReportInput(result=each) for each in results])
    assert document.title == "org/model and b on sssb@1.0.0"
    assert document.subtitle == (
        "scored 2026-11-21 to 2026-11-23 · by aul (all unmasked likelihood), "
        "pll (pseudo-log-likelihood), cps (CrowS-Pairs score)"
    )


def test_a_note_is_in_the_head(tmp_path: Path) -> None:
    """What the author of a page notes stands above all sections, as text; without one nothing does."""
    pages = {}
    for name in ("page.html", "page.md"):
        senseprobe.report(result(), tmp_path / name, note="<i>An example</i>")
        pages[name] = (tmp_path / name).read_text(encoding="utf-8").partition("Findings")[0]
    assert "<strong>&lt;i&gt;An example&lt;/i&gt;</strong>" in pages["page.html"]
    assert "**\\<i\\>An example\\</i\\>**" in pages["page.md"]
    assert "<strong></strong>" not in render([result()])


def test_results_on_several_releases() -> None:
    """Each release has its part, with its own results from 1 and its own sections, and headings one level lower."""
    other = replace(result("nli", figures=INFERENCE), release={"name": "nli@1.0.0", "content": "e", "config": None})
    document = build_report([ReportInput(result=each) for each in (result(), other, result("pll"))])
    assert [(part.title, part.labels) for part in document.parts] == [
        ("sssb@1.0.0", ("aul · org/model", "pll · org/model")),
        ("nli@1.0.0", ("nli · org/model",)),
    ]
    html = setting.render_html(document)
    assert re.findall(r"<h2[^>]*>(.*?)</h2>", html) == ["sssb@1.0.0", "nli@1.0.0", "Signatures"]
    assert html.count("<h3>Findings</h3>") == 2
    assert setting.render_markdown(document).count("\n### Findings\n") == 2


# --- several results ------------------------------------------------------------------------------------------------


def test_side_by_side() -> None:
    """Several results have a numbered column each; one that lacks a figure has an empty cell."""
    long = "/a/very/long/path/" + "x" * 150
    page = Page(render([result(), result("pll", long, FIGURES[4:]), result("planted")]))
    (heading, *_) = [row for row in page.rows if row[:2] == ["config", "figure"]]
    assert heading == ["config", "figure", "1", "2", "3", "what zero is", "based on"]
    spread = "14.8 p = 0.0123, no interval (permutation test)"
    assert page.row("nationality", "spread")[2:5] == [spread, "", spread]
    assert page.row("verb", "pronoun-baseline")[2:5] == ["+41.5 [-10.5, +12.8]"] * 3


def test_different_bases() -> None:
    """Where results are based on different rows, the page says which on what."""
    other = replace(FIGURES[1], levels={"nation": 9, "good": 12}, unscored=40, scored=60)
    page = Page(render([result(), result("pll", figures=(other,)), result("planted")]))
    row = page.row("nationality", "preference-half")
    assert row[3] == "+7.5 [-10.5, +12.8] 60 of 100 scored"
    assert row[6] == "1, 3: 100 rows; over nation (16), good (12) · 2: 100 rows; over nation (9), good (12)"


def test_two_releases(tmp_path: Path) -> None:
    """Results on two releases, or on two contents under one name, keep their order and releases; none are refused."""
    first = result().write(tmp_path / "first")
    for release in ({"name": "sssb@2.0.0"}, {"content": "e" * 64}):
        other = replace(result(), release={**result().release, **release})
        gathered = gather_inputs([first, other.write(tmp_path / "second")])
        assert [source.result.release for source in gathered] == [result().release, other.release]
        assert len({source.release_key for source in gathered}) == 2
    with pytest.raises(ResultError, match="no results to report"):
        gather_inputs([])
    with pytest.raises(ResultError, match="no results to report"):
        build_report([])


@pytest.mark.slow  # a page of all of sssb, since a limit of bytes says nothing of a smaller one
def test_size() -> None:
    """Of three results on all of sssb, two of one model, the page takes 400 kB without the rows to search."""
    configs = senseprobe.load("sssb@1.0.0").configs
    of = (("one", 0, "aul"), ("one", 1, "pll"), ("two", 2, "aul"))
    document = build_report(gather_inputs([made(name, seed, scorer, configs) for name, seed, scorer in of]))
    (part,) = document.parts
    rest = replace(part, sections=tuple(section for section in part.sections if not section.rows))
    assert [section.title for section in part.sections if section.rows] == ["Rows"]
    assert 200_000 < len(setting.render_html(replace(document, parts=(rest,))).encode()) < 400_000
    assert len(setting.render_html(document).encode()) < 1_500_000


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page needs no matplotlib; the plot of a notebook does, and its message names the extra that brings it."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "<svg" in render([result()])
    with pytest.raises(ResultError, match=r"a plot needs matplotlib: pip install 'senseprobe\[reports\]'"):
        result().plot()


# --- is the model fit to be asked -----------------------------------------------------------------------------------


READ = Fitness(rows=100, unknown=41, same_tokens=3, unequal_counts=1200 // 20, ties=5, explained=3)


def test_what_the_tokenizer_makes_of_the_rows() -> None:
    """Counts as they are in the result; a config of unknown words is called not readable, and its figures are there."""
    shown = Page(render([replace(result(), fitness={"nationality": READ, "noun": replace(READ, unknown=20)})]))
    assert shown.row("nationality", "aul · org/model")[2:] == ["100", "41", "3", "60", "5", "3"]
    assert "aul · org/model: nationality is not readable: 41 % of its rows hold words" in shown.text
    assert "noun is not readable" not in shown.text
    assert "+7.5 not readable" in shown.row("nationality", "preference-half")[2], "values remain in their table"


def test_nothing_is_said_of_results_that_do_not_count() -> None:
    """Older results have no such section; where the tokenizer is a plug-in's, that is said."""
    assert "Is the model fit to be asked?" not in render([result()])
    plugged = render([replace(result(), model={**MODEL, "family": "mine"})])
    assert (
        "aul · org/model: unknown words are not counted, since the tokenizer of a plug-in&#39;s model is its own."
        in plugged
    )


def starting(scorer: str, before: str, preference: float | None, rows: int = 40) -> Result:
    """A result of a causal model on pairs of which some differ in their first token."""
    first = FirstToken(rows=rows, before=before, preference=preference)
    return replace(result(scorer), fitness={"noun": replace(READ, unknown=0, first_token=first)})


def test_first_tokens_with_and_without_a_start_are_side_by_side() -> None:
    """A column for each result, with what stands before these tokens; nothing is missing, so no command is named."""
    shown = Page(render([starting("ll", "<|im_start|>", -50.0), starting("ll-no-start", "", 12.5)]))
    assert shown.row("noun", "-50.0 40 of 100, with only <|im_start|> before them") == [
        "noun",
        "-50.0 40 of 100, with only <|im_start|> before them",
        "+12.5 40 of 100, whose probabilities are not counted",
    ]
    assert "in the first token" not in shown.text
    assert "senseprobe score" not in shown.text


def test_the_command_that_gives_the_other() -> None:
    """Where the result of the other scorer is missing, or is of another model; unlabelled pairs have no figure."""
    one = starting("ll-mean", "<s>", None)
    other = starting("ll-mean-no-start", "", 0.0)
    text = Page(render([one])).text
    assert "`senseprobe score org/model sssb@1.0.0 -s ll-mean-no-start` gives the figures to read beside it." in text
    sample = replace(one, release={**one.release, "config": "noun"}, limit=100, seed=7)
    command = "`senseprobe score org/model sssb@1.0.0:noun --limit 100 --seed 7 -s ll-mean-no-start`"
    assert command in Page(render([sample])).text
    assert Page(render([one])).row("noun", "none 40 of 100, with only <s> before them")
    elsewhere = Page(render([one, replace(other, model={**MODEL, "weights": "9" * 64})])).text
    assert "-s ll-mean-no-start`" in elsewhere
    assert "-s ll-mean`" in elsewhere


def test_no_first_token_no_table() -> None:
    """A causal model of which no pair differs in its first token."""
    assert "first token" not in render([starting("ll", "<s>", None, rows=0)])
