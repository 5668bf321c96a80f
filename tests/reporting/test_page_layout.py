"""The layout of pages in a browser, in both schemes and in print: what no reader of their HTML would see."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.annotation.label_studio.browser import Browser
from tests.reporting.test_association_report import INTERSECTIONS, pair, source
from tests.reporting.test_association_report import result as levelled
from tests.reporting.test_report import HOSTILE, INFERENCE, Page, loads, made, render, result
from tests.senses.test_page import NATIONS, on_tests, placed

import senseprobe
import senseprobe.api
from senseprobe import document as setting
from senseprobe.evaluate.reporting.inputs import ReportInput, gather_inputs
from senseprobe.evaluate.reporting.report import build_report
from senseprobe.evaluate.reporting.significance import compare_results
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.senses.page import build_sense_page
from senseprobe.evaluate.texts import api as texts
from senseprobe.evaluate.units import ScoredRows

pytestmark = pytest.mark.system

RELEASE = "sssb@1.0.0"
WIDTHS = (390, 768, 1280, 1600)
SCHEMES = ("light", "dark")
PACKAGES = Path(__file__).parents[1] / "browser"

LOOK = (PACKAGES / "layout.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for all tests of this file."""
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        opened.do("Page.enable")
        yield opened


def probe() -> ReportInput:
    """A result of inference with three hundred rows of random probabilities, so that there are shares of classes."""
    release = senseprobe.load("nli-control@1.0.1")
    table = release.table("occupation", spans=False)[:300]
    shares = np.random.default_rng(5).dirichlet((1, 1, 1), len(table))
    scored = table.assign(**dict(zip(("entailment", "neutral", "contradiction"), shares.T, strict=True)))
    name = {"name": release.manifest.name, "content": release.manifest.content, "config": None}
    rows = ScoredRows.from_tables({"occupation": scored}, ["entailment", "neutral", "contradiction"])
    answered = Result(**{**_fields(result("nli", figures=INFERENCE)), "release": name, "scored": rows})
    return ReportInput(result=answered, release=release)


def _fields(of: Result) -> dict[str, Any]:
    return {name: getattr(of, name) for name in of.__dataclass_fields__}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of hostile names, of scores with all that lies beside them, of two releases and inference, and of tests."""
    folder = tmp_path_factory.mktemp("pages")
    tested = [*pair(), source(levelled("cword", name=HOSTILE)), source(levelled("sent", *INTERSECTIONS))]
    scored = gather_inputs([made(name, seed).write(folder / name) for seed, name in enumerate(("one", "two"))])
    documents = {
        "whole": build_report(scored, compare_results(scored)),
        "releases": build_report([scored[0], probe()]),
    }
    texts = {name: setting.render_html(document) for name, document in documents.items()}
    texts["hostile"] = render([result(), result("pll", HOSTILE * 3)])
    texts["tests"] = setting.render_html(build_report(tested, compare_results(tested[:2])))
    model = gather_inputs([made("one", 0, "ll", ("nationality", "noun")).write(folder / "nations")])
    senses = [on_tests(), placed(), placed({HOSTILE: 0.5, **NATIONS}, name=HOSTILE), *model]
    texts["senses"] = setting.render_html(build_sense_page(senses))
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    write_text_pages(folder, next((folder / "nations").rglob("ll.json")))
    return {name: folder / f"{name}.html" for name in (*texts, "bias-score", "corpus")}


def write_text_pages(folder: Path, result: Path) -> None:
    """Write pages of a release's sentences: their Bias Scores on random vectors beside a result, and their mentions.

    Some of what is counted has a hostile name.
    """
    sentences = senseprobe.load(RELEASE).table("nationality", spans=False)["stereo"]
    words = sorted({word.strip(".").lower() for text in sentences for word in text.split()} | {"she", "he"})
    rows = np.random.default_rng(3).normal(size=(len(words), 4)).round(3)
    lines = (f"{word} {' '.join(map(str, row))}" for word, row in zip(words, rows, strict=True))
    (folder / "vectors.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "pairs.csv").write_text("female,male\nshe,he\n", encoding="utf-8")
    vectors, pairs, page = folder / "vectors.txt", folder / "pairs.csv", folder / "bias-score.html"
    texts.bias_score(RELEASE, vectors, pairs=pairs, beside=result, page=page)
    text, groups = folder / f"{'no-break-in-it-' * 6}.txt", folder / "groups.csv"
    text.write_text("She is a nurse, and he is one, too.\n\n" * 9, encoding="utf-8")
    pd.DataFrame({"word": ["she", "he"], "group": [HOSTILE, "male"]}).to_csv(groups, index=False)
    texts.corpus(text, groups=groups, out=[folder / "corpus.html"])


def show(browser: Browser, page: Path, width: int, scheme: str = "light", *, opened: bool = False) -> None:
    """Go to a page in a window of a width, all of it unfolded where it is `opened`."""
    browser.do("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    browser.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.open("about:blank")
    browser.open(page.as_uri())
    browser.wait(f"location.href === {json.dumps(page.as_uri())} && document.readyState === 'complete'")
    if opened:
        browser.ask("for (const part of document.querySelectorAll('details')) part.open = true")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["hostile", "whole", "releases", "tests", "senses", "bias-score", "corpus"])
def test_layout(browser: Browser, pages: dict[str, Path], name: str, width: int) -> None:
    """Folded or not, no text overlaps another, is cut off, too small or outside the page, and nothing is asked for."""
    for opened in (False, True):
        show(browser, pages[name], width, opened=opened)
        seen = json.loads(browser.ask(LOOK))
        assert seen.pop("texts") > 100, "it was looked at"
        assert seen.pop("wide") <= 0, "the page does not scroll sideways"
        assert {what: found[:3] for what, found in seen.items() if found} == {}


BAD = """<!doctype html><meta charset="utf-8"><style>body { margin: 0; width: 300px } p { margin: 0 }</style>
<p>over</p><p style="margin-top: -1.2em">lapping</p>
<p style="width: 20px; overflow-wrap: anywhere">letters</p>
<p style="width: 40px; overflow: hidden; white-space: nowrap">clipped, since there is no room</p>
<p style="font-size: 10px">small</p>
<p style="position: absolute; left: 380px">outside</p>"""


def test_what_is_looked_for_is_seen(browser: Browser, tmp_path: Path) -> None:
    """A page with one mistake of each kind has each of them found, and nothing else."""
    (tmp_path / "bad.html").write_text(BAD, encoding="utf-8")
    show(browser, tmp_path / "bad.html", 390)
    seen = json.loads(browser.ask(LOOK))
    assert [[re.sub("<[^>]*>", "", part) for part in pair] for pair in seen["overlaps"]] == [["lapping", "over"]]
    assert [word for word, _ in seen["broken"]] == ["letters"]
    texts = {kind: [re.sub("<[^>]*>", "", part) for part in seen[kind]] for kind in ("clipped", "small", "outside")}
    assert texts == {"clipped": ["clipped, since there is no room"], "small": ["small"], "outside": ["outside"]}
    assert seen["wide"] > 0


def test_what_hostile_names_become(browser: Browser, pages: dict[str, Path]) -> None:
    """In a browser, too, they are text: no element of theirs, and the tables are whole."""
    show(browser, pages["hostile"], 1280)
    page = Page(browser.ask("document.documentElement.outerHTML"))
    assert list(loads(page)) == []
    assert page.row("noun-verb", "matched-contrast")[2:4] == ["-33.5 [-97.0, +30.2] p = 0.0400"] * 2


def test_print_unfolds(browser: Browser, pages: dict[str, Path]) -> None:
    """What is folded on a screen stands on paper, where nobody can open it, and paper is white in any scheme."""
    show(browser, pages["whole"], 1280, "dark")
    cells = "[...document.querySelectorAll('main details td:not([hidden] td)')].filter((cell) => cell.textContent)"
    hidden = f"{cells}.filter((cell) => !cell.checkVisibility())"
    assert browser.ask(f"{hidden}.length") > 100
    browser.do("Emulation.setEmulatedMedia", media="print")
    assert browser.ask(f"{hidden}.length") == 0
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(browser.do("Page.printToPDF")["data"]) > 10_000
    browser.do("Emulation.setEmulatedMedia", media="")


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core, fetched by npm into a folder of its own."""
    folder = tmp_path_factory.mktemp("axe")
    for file in PACKAGES.glob("package*.json"):
        shutil.copy(file, folder)
    npm = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", f"--cache={folder / 'cache'}"]
    subprocess.run(npm, cwd=folder, check=True, capture_output=True, timeout=120)
    return (folder / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["hostile", "whole", "releases", "tests", "senses", "bias-score", "corpus"])
def test_accessibility(browser: Browser, pages: dict[str, Path], axe: str, name: str, scheme: str) -> None:
    """axe-core has nothing to object to, on a phone and on a desk, with all unfolded."""
    for width in (390, 1280):
        show(browser, pages[name], width, scheme, opened=True)
        browser.ask(f"{axe}; null")
        found = json.loads(
            browser.ask(
                "axe.run(document).then((found) => JSON.stringify({passes: found.passes.length, violations: "
                "found.violations.map((each) => [each.id, each.nodes.slice(0, 3).map((node) => node.html)])}))"
            )
        )
        assert found["violations"] == []
        assert found["passes"] > 10, "it was looked at"


def test_reached_by_keyboard(browser: Browser, pages: dict[str, Path]) -> None:
    """The tab key goes through the contents, and each link leads to a section that is there."""
    show(browser, pages["whole"], 1600)
    reached = set()
    for _ in range(12):
        for kind in ("keyDown", "keyUp"):
            browser.do("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        reached.add(browser.ask("document.activeElement.getAttribute('href')"))
    links = browser.ask("[...document.querySelectorAll('nav a')].map((link) => link.getAttribute('href'))")
    assert {*links[:8]} <= reached
    assert browser.ask("[...document.querySelectorAll('nav a')].every((link) => document.querySelector(link.hash))")
