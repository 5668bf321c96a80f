"""The report: one page that loads nothing, says what its figures rest on, and claims no more than they do."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import CATALOGUE, NO_NEUTRAL
from senseprobe.evaluate.estimands.kernels import NOT_ESTIMABLE
from senseprobe.evaluate.report import interval, render
from senseprobe.evaluate.result import Result
from senseprobe.records import Figure

MODEL = {"name": "org/model", "weights": "a" * 64, "config": "b" * 64, "tokenizer": "c" * 64, "dtype": "float32"}
HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>&amp;$\\frac{$ {{ 7*7 }} 模型"


def figure(config: str, estimand: str, value: float | None = 1.25, **fields: object) -> Figure:
    """A figure over 100 rows, with an interval unless `low` says otherwise."""
    told: dict[str, object] = {"low": -10.5, "high": 12.75, "rows": 100, "scored": 100, "unscored": 0, "ties": 0}
    told |= {"sense_type": config.partition("-")[0], "neutral": 0.0}
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
    figure("noun-verb", "matched-contrast", -33.5, low=-97.0, high=30.25, sense_type="noun - verb"),
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
    """The same results give the same page, to the last byte, in another process with other hash seeds and styles."""
    code = """
import sys, pickle
import matplotlib
matplotlib.rcParams.update({"font.size": 20, "axes.grid": True, "svg.fonttype": "path"})
from senseprobe.evaluate.report import render
sys.stdout.buffer.write(render(pickle.load(sys.stdin.buffer)).encode())
"""
    import pickle

    results = [result(), result("pll")]
    env = {"PYTHONHASHSEED": "12345", "PATH": "/usr/bin:/bin"}
    other = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(results), capture_output=True, check=True, env=env
    )
    assert other.stdout == render(results).encode() == render(results).encode()


# --- what it shows --------------------------------------------------------------------------------------------------


def test_every_figure(page: Page) -> None:
    """For every config and sense type there are value and interval, as `interval` prints them."""
    headings = [attributes for tag, attributes in page.elements if tag == "h2"]
    assert len(headings) == 4 + 2, "nationality, noun, verb, noun - verb; what figures say; signatures"
    assert page.row("nationality", "preference-half")[2] == "+7.5 [-10.5, +12.8]"
    assert page.row("nationality", "Japanese")[2] == "+31.2 [-10.5, +12.8] p = 0.0160 after Holm"
    assert page.row("nationality", "spread")[2] == "+14.8 p = 0.0123"
    assert page.row("noun", "preference")[2] == "+5.2 3 ties"
    assert page.row("noun", "pronoun-stereotype")[2] == "-8.2 [-10.5, +12.8] 100 of 100 scored"
    assert page.row("verb", "pronoun-baseline")[2] == "+41.5 [-10.5, +12.8]"
    assert page.row("noun-verb", "matched-contrast")[2] == "-33.5 [-97.0, +30.2]"


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
    assert page.row("noun", "preference-half")[4] == "100 rows, 4 contested"
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


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (figure("c", "preference-half", -0.04, low=-3.0, high=0.04), "+0.0 [-3.0, +0.0]"),
        (without_interval("c", "preference", 12.34), "+12.3"),
        (without_interval("c", "spread", 3.0), "+3.0"),
        (without_interval("c", "preference-half", 0.0), "+0.0 (interval not estimable)"),
        (without_interval("c", "pronoun-stereotype", 0.0), "+0.0 (interval not estimable)"),
        (without_interval("c", "relative", 50.0, group="g"), "+50.0 (interval not estimable)"),
        (without_interval("c", "matched-contrast", -100.0), "-100.0 (interval not estimable)"),
        (figure("c", "preference-half", None, low=None, high=None), "none"),
    ],
)
def test_interval(shown: Figure, text: str) -> None:
    """A figure that should have an interval and has none says so after its value."""
    assert interval(shown) == text


# --- the plot -------------------------------------------------------------------------------------------------------


def ticks(page: Page) -> list[float]:
    """Numbers along the axis of the plot: matplotlib writes minus as U+2212."""
    plot = page.text[: page.text.index("points; hollow")]
    return [float(tick.replace("\N{MINUS SIGN}", "-")) for tick in re.findall(r"^\s*([−]?\d+)\s*$", plot, re.MULTILINE)]  # noqa: RUF001


def test_plot_holds_matched_contrasts(page: Page) -> None:
    """The axis is as wide as the widest contrast, and ±52 points where nothing is wider."""
    assert min(ticks(page)) <= -75 <= 75 <= max(ticks(page)), "room for -97"
    narrow = ticks(Page(render([result(figures=FIGURES[:2])])))
    assert (min(narrow), max(narrow)) == (-40.0, 40.0)
    wild = figure("noun", "matched-contrast", 1e300, low=-1e300, high=1e300)
    assert max(ticks(Page(render([result(figures=(wild,))])))) == 100.0


def test_plot_of_nothing() -> None:
    """Results without a figure for the plot, or without any figure, have a page."""
    for figures in ((), FIGURES[3:4], (figure("noun", "preference-half", None, low=None, high=None),)):
        html = render([result(figures=figures)])
        assert result().signature in html
        assert ("<svg" in html) == any(figure.estimand == "preference-half" for figure in figures)


# --- several results ------------------------------------------------------------------------------------------------


def test_side_by_side() -> None:
    """Several results have a numbered column each; one that lacks a figure has an empty cell."""
    long = "/a/very/long/path/" + "x" * 150
    page = Page(render([result(), result("pll", long, FIGURES[4:]), result("planted")]))
    (heading, *_) = [row for row in page.rows if row[:2] == ["config", "figure"]]
    assert heading == ["config", "figure", "1", "2", "3", "zero", "rests on"]
    assert page.text.count(f"pll · {long}") == 1, "the long name is in the list above the plot only"
    assert page.row("nationality", "spread")[2:5] == ["+14.8 p = 0.0123", "", "+14.8 p = 0.0123"]
    assert page.row("verb", "pronoun-baseline")[2:5] == ["+41.5 [-10.5, +12.8]"] * 3


def test_different_bases() -> None:
    """Where results rest on different rows, the page says which rests on what."""
    other = replace(FIGURES[1], levels={"nation": 9, "good": 12}, unscored=40, scored=60)
    page = Page(render([result(), result("pll", figures=(other,)), result("planted")]))
    row = page.row("nationality", "preference-half")
    assert row[3] == "+7.5 [-10.5, +12.8] 60 of 100 scored"
    assert row[6] == "1, 3: 100 rows; over nation (16), good (12) 2: 100 rows; over nation (9), good (12)"


def test_two_releases() -> None:
    """Results on two releases, or on two contents under one name, are refused; so are no results."""
    for release in ({"name": "sssb@2.0.0"}, {"content": "e" * 64}):
        other = replace(result(), release={**result().release, **release})
        with pytest.raises(ResultError, match="a report is of results on one release"):
            render([result(), other])
    with pytest.raises(ResultError, match="no results to report"):
        render([])


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where matplotlib is not installed, the message names the extra that brings it."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ResultError, match=r"a report needs matplotlib: pip install 'senseprobe\[reports\]'"):
        render([result()])


# --- in a browser ---------------------------------------------------------------------------------------------------


@pytest.mark.system
def test_in_chromium(tmp_path: Path) -> None:
    """A browser shows the tables and the plot, runs nothing of hostile names, and has no complaint of the page."""
    path = tmp_path / "report.html"
    path.write_text(render([result(), result("pll", HOSTILE)]), encoding="utf-8")
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
    flags += " --disable-component-update --disable-sync --disable-quic --enable-logging=stderr --dump-dom"
    shown = subprocess.run(
        ["chromium", *flags.split(), f"--user-data-dir={tmp_path / 'profile'}", path.as_uri()],
        capture_output=True,
        check=True,
        timeout=120,
        text=True,
    )
    page = Page(shown.stdout)
    assert list(loads(page)) == []
    assert sum(tag == "svg" for tag, _ in page.elements) == 1
    assert sum(tag == "table" for tag, _ in page.elements) == 6, "four senses, one of groups, one of estimands"
    assert page.row("noun-verb", "matched-contrast")[2:4] == ["-33.5 [-97.0, +30.2]"] * 2
    assert "noun-verb: matched-contrast" in page.text, "a label of the plot"
    assert "CONSOLE" not in shown.stderr, "neither errors nor what the policy refused"
