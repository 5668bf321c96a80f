"""Single rows on a page: which, with what, how large, and what the script makes of them in a browser.

Expected rows are worked out by hand from scores that follow a rule; the browser is Chromium, driven as people do.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.annotation.label_studio.browser import Browser

import senseprobe
from senseprobe import document
from senseprobe.document import Section
from senseprobe.evaluate.reporting.inputs import ReportInput, gather_inputs
from senseprobe.evaluate.reporting.report import build_report
from senseprobe.evaluate.reporting.row_browser import mark_differences, row_section
from senseprobe.evaluate.reporting.scope import ReportScope
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.units import ScoredRows
from senseprobe.release.release import Release

MODEL = {"name": "org/model", "weights": "a" * 64, "config": "b" * 64, "tokenizer": "c" * 64, "dtype": "float32"}
HOSTILE = (
    "</script><script>document.title = 'run'</script><img src=x onerror=alert(1)> \u202e\u05e9\u05dc & \u2028 {{ 7*7 }}"
)
LABELS = ("entailment", "neutral", "contradiction")


@pytest.fixture(scope="module")
def sssb() -> Release:
    """The built-in release."""
    return senseprobe.load("sssb@1.0.2")


def result(release: Release, rows: pd.DataFrame | None = None, **fields: Any) -> Result:  # noqa: ANN401 - fields of a result
    """A result with these rows, and no figures."""
    told: dict[str, Any] = {
        "scorer": "aul",
        "model": MODEL,
        "release": {"name": release.manifest.name, "content": release.manifest.content, "config": None},
        "senseprobe": "0.1.0",
        "seed": 0,
        "figures": (),
        "scored": ScoredRows(rows),
    }
    return Result(**{**told, **fields})


def numbered(release: Release, *configs: str) -> pd.DataFrame:
    """Scores of pairs: of the n-th row (from 1) of all configs, the difference is n, and minus n where n is even."""
    rows = pd.concat([release.table(name)[["id"]].assign(config=name) for name in configs], ignore_index=True)
    number = np.arange(1.0, len(rows) + 1)
    difference = np.where(number % 2 == 0, -number, number)
    return rows[["config", "id"]].assign(stereo_score=difference - 1000.0, anti_score=-1000.0)


def spelt(release: Release, config: str) -> pa.Table:
    """Tokens of pairs: their words, of which the last is not known."""
    rows = release.table(config)
    texts = {role: [[*text.split()[:-1], None] for text in rows[role]] for role in ("stereo", "anti")}
    return pa.table({"config": [config] * len(rows), "id": rows["id"], **texts})


def read(section: Section) -> Any:  # noqa: ANN401 - JSON
    """The data of the script."""
    return json.loads(section.rows)


# --- data -----------------------------------------------------------------------------------------------------------


def test_rows_with_what_the_release_has(sssb: Release) -> None:
    """Sentences, the words in which they differ, group, label and tokens stand beside the scores."""
    (source,) = gather_inputs(
        [replace(result(sssb, numbered(sssb, "race-matched")), tokens=spelt(sssb, "race-matched"))]
    )
    data = read(row_section(ReportScope(inputs=[source])))
    (rows,), (found,), texts = data["sets"], data["results"], data["strings"]
    first = sssb.table("race-matched").iloc[0]
    assert (rows["id"][0], texts[rows["first"][0]], texts[rows["second"][0]]) == (
        first["id"],
        first["stereo"],
        first["anti"],
    )
    start, end = data["marks"][rows["firstMarks"][0]]
    assert first["stereo"][start:end] == first["stereo_value"]
    assert {texts[number] for number in rows["words"][0]} == {first["race"], first["good"], first["bad"]}
    assert (texts[rows["label"][0]], data["sides"][rows["sides"][0]]) == ("trait", ["stereotype", "counterpart"])
    tokens = [None if number == -1 else texts[number] for number in data["tokens"][0][str(rows["first"][0])]]
    assert tokens == [*first["stereo"].split()[:-1], None]
    assert found["columns"] == ["stereo", "anti", "difference"]
    assert [column[:3] for column in found["numbers"]] == [[-999, -1002, -997], [-1000] * 3, [1, -2, 3]]
    assert found["rows"] == list(range(25))


def test_the_fifty_largest_stand_without_a_script(sssb: Release) -> None:
    """Of 108 pairs of race and 25 of race-matched, numbers 133 down to 84 are the largest, either way."""
    (source,) = gather_inputs([result(sssb, numbered(sssb, "race", "race-matched"))])
    section = row_section(ReportScope(inputs=[source]))
    (table,) = section.tables
    assert section.paragraphs[0] == sssb.manifest.data["card"]["content_warning"]
    assert [float(cells[-1].text) for cells in table.rows] == [n if n % 2 else -n for n in range(133, 83, -1)]
    last = sssb.table("race-matched").iloc[-1]
    name, sentences, *_ = table.rows[0]
    assert (name.text, sentences.text, sentences.note) == (last["id"], last["stereo"], last["anti"])
    assert f"| {last['stereo']}<br>{last['anti']} |" in document.render_markdown(build_report([source]))


def test_a_third_sentence_and_rows_without_a_number(sssb: Release) -> None:
    """The score of an unrelated sentence stands with the others; without a number, a row has no difference."""
    scores = numbered(sssb, "race-matched").assign(unrelated_score=-7.0)
    scores.loc[0, "stereo_score"] = np.nan
    (source,) = gather_inputs([result(sssb, scores)])
    section = row_section(ReportScope(inputs=[source]))
    (found,) = read(section)["results"]
    assert found["columns"] == ["stereo", "anti", "unrelated", "difference"]
    assert [column[0] for column in found["numbers"]] == [None, -1000.0, -7.0, None]
    assert len(section.tables[0].rows) == 24


def test_rows_without_their_release(sssb: Release) -> None:
    """Ids and scores are there, sentences are not, and the page says so."""
    gone = {"name": "gone@1.0.0", "content": "0" * 64, "config": None}
    (source,) = gather_inputs([replace(result(sssb, numbered(sssb, "race-matched")), release=gone)])
    section = row_section(ReportScope(inputs=[source]))
    data = read(section)
    assert sorted(data["sets"][0]["id"]) == sorted(sssb.table("race-matched")["id"])
    assert {data["strings"][number] for number in data["sets"][0]["first"]} == {""}
    assert section.tables[0].note == "The sentences are in the release, which is not available."


def control_scores(release: Release) -> pd.DataFrame:
    """Probabilities of the 10,880 pairs of the control's religion: sure of entailment, more and more."""
    rows = release.table("religion", spans=False)
    sure = np.linspace(0.5, 1.0, len(rows))
    shares = dict(zip(LABELS, (sure, (1 - sure) / 2, (1 - sure) / 2), strict=True))
    return rows[["id"]].assign(config="religion", **shares)[["config", "id", *LABELS]]


@pytest.fixture(scope="module")
def control() -> ReportInput:
    """A result on the control with more rows than a page shows."""
    release = senseprobe.load("nli-control@1.0.1")
    (source,) = gather_inputs([result(release, control_scores(release), scorer="nli")])
    return source


def test_rows_of_the_control(control: ReportInput) -> None:
    """5,000 rows at most, by premise, hypothesis and gold label; where entailment is right, it is no mistake."""
    section = row_section(ReportScope(inputs=[control]))
    data = read(section)
    (rows,), (found,) = data["sets"], data["results"]
    assert 4_950 <= len(rows["id"]) <= 5_000
    assert found["total"] == 10_880
    assert f"{len(rows['id']):,} of 10,880 rows are here, the 50 with the largest differences" in section.paragraphs[-1]
    assert "All are in nli.parquet." in section.paragraphs[-1]
    assert data["sides"] == [["premise", "hypothesis"]]
    assert found["columns"] == [*LABELS, "largest wrong label"]
    assert "stereo" not in section.rows
    gold = {data["strings"][number] for number in rows["label"]}
    assert gold == {"entailment", "contradiction"} or gold == {*LABELS}
    table = control.tables["religion"]
    wrong = table[table["gold"] != "entailment"].sort_values("entailment")["id"][-50:]
    assert [cells[0].text for cells in section.tables[0].rows] == [*wrong[::-1]]


def test_several_releases_on_a_page(sssb: Release, control: ReportInput) -> None:
    """Each release has a part of its own, with its rows; the control's are not called stereotypes."""
    (pairs,) = gather_inputs([result(sssb, numbered(sssb, "race-matched"))])
    page = document.render_html(build_report([pairs, control]))
    first, second = re.findall(r'<script type="application/json">(.*?)</script>', page)
    assert "stereotype" in first
    assert "premise" in second
    assert "stereotype" not in second
    assert page.count("<script>") == 1


def test_hostile_texts_are_data(sssb: Release) -> None:
    """No text ends the script's data, whatever it holds; the page's policy names the hash of our script alone."""
    table = sssb.table("race-matched", spans=False).assign(
        stereo=HOSTILE, bad=HOSTILE, stereo_score=-1.0, anti_score=-2.0
    )
    scored = ScoredRows.from_tables({"race-matched": table}, ["stereo_score", "anti_score"])
    source = ReportInput(result=result(sssb, scored=scored), release=sssb)
    section = row_section(ReportScope(inputs=[source]))
    assert not {*"<>&\u2028\u2029"} & {*section.rows}
    assert HOSTILE in read(section)["strings"]
    page = document.render_html(build_report([source]))
    assert page.count("<script") == page.count("</script>") == 2
    assert re.search(r"script-src 'sha256-[\w+/]{43}='\"", page)
    without = document.render_html(build_report([ReportInput(result=replace(source.result, scored=ScoredRows()))]))
    assert "script" not in without.replace("description", "")


# Takes long: three results on all of sssb.
def test_sizes(sssb: Release) -> None:
    """Three results on sssb, with tokens: the rows take less than the 1.1 MB that are left of 1.5 MB."""
    sources = []
    for seed in range(3):
        tokens = pa.concat_tables([spelt(sssb, name) for name in sssb.configs])
        scores = numbered(sssb, *sssb.configs)
        scores["stereo_score"] = np.random.default_rng(seed).normal(-3, 1, len(scores))
        model = {**MODEL, "tokenizer": str(seed) * 64}
        sources.append(replace(result(sssb, scores, model=model), tokens=tokens))
    section = row_section(ReportScope(inputs=gather_inputs(sources)))
    assert len(read(section)["sets"][0]["id"]) == 3_994
    assert len(section.rows.encode()) < 1_000_000


@pytest.mark.parametrize(
    ("first", "second", "marked"),
    [
        ("The lazy nurse.", "The kind nurse.", (["lazy"], ["kind"])),
        ("She is here.", "She is not here.", ([], ["not"])),
        ("A man bought an apple.", "A person sold an apple!", (["man bought", "."], ["person sold", "!"])),
        ("\U0001d4b3 \U0001d4b4 z", "\U0001d4b3 q z", (["\U0001d4b4"], ["q"])),
        ("same", "same", ([], [])),
        ("", "all", ([], ["all"])),
    ],
)
def test_marks(first: str, second: str, marked: tuple[list[str], list[str]]) -> None:
    """The words that one text has and the other has not, as a reader would mark them; counted in code points."""
    found = mark_differences(first, second)
    for text, bounds, words in zip((first, second), found, marked, strict=True):
        assert [text[a:b] for a, b in zip(bounds[::2], bounds[1::2], strict=True)] == words


# --- in a browser ---------------------------------------------------------------------------------------------------

ITEMS = "[...document.querySelectorAll('.row-list > li')]"
STATUS = "document.querySelector('.row-status').textContent"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium."""
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        still = [{"name": "prefers-reduced-motion", "value": "reduce"}]  # what scrolls smoothly is hard to click
        opened.do("Emulation.setEmulatedMedia", features=still)
        yield opened


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Callable[..., Browser]:
    """A browser on the page of some results."""

    def show(*sources: ReportInput) -> Browser:
        path = tmp_path / "report.html"
        path.write_text(document.render_html(build_report(sources)), encoding="utf-8")
        browser.open(path.as_uri())
        browser.wait(f"location.href === {json.dumps(path.as_uri())} && document.readyState === 'complete'")
        return browser

    return show


def choose(browser: Browser, name: str, text: str) -> None:
    """Choose an option by its text, as the keyboard or a finger does."""
    browser.ask(
        f"""(() => {{
          const select = document.querySelector('[name="{name}"]');
          select.value = [...select.options].find((option) => option.textContent.startsWith({json.dumps(text)})).value;
          select.dispatchEvent(new Event("change", {{bubbles: true}}));
        }})()"""
    )


@pytest.mark.system
def test_searching(opened: Callable[..., Browser], sssb: Release) -> None:
    """Search, filters, order and pages change what is shown, and say how many rows match."""
    one, two = (
        result(sssb, numbered(sssb, "race", "race-matched"), model={**MODEL, "name": name}) for name in ("one", "two")
    )
    sources = gather_inputs([replace(one, tokens=spelt(sssb, "race-matched")), two])
    page = opened(*sources)
    assert [table.closed for table in row_section(ReportScope(inputs=sources)).tables] == [False, True]
    assert page.ask("document.querySelector('.row-browser').nextElementSibling.hidden")
    assert page.ask(STATUS) == "133 of 133 rows match; 1 to 50 are shown."
    last = sssb.table("race-matched").iloc[-1]
    top = page.ask(f"{ITEMS}[0].innerText")
    assert last["stereo"] in top
    assert last["anti"] in top
    assert "difference: +133.000" in top
    assert "[UNK]" in top
    assert page.ask(f"[...{ITEMS}[0].querySelectorAll('mark')].map((mark) => mark.textContent)") == [
        last["stereo_value"],
        last["anti_value"],
    ]
    page.click("document.querySelector('[name=next]')")
    assert page.wait(STATUS).endswith("51 to 100 are shown.")
    assert "difference: +83.000" in page.ask(f"{ITEMS}[0].innerText")
    choose(page, "config", "race-matched")
    assert page.ask(STATUS) == "25 of 133 rows match; 1 to 25 are shown."
    choose(page, "order", "counterpart scores higher")
    assert "difference: \u2212132.000" in page.ask(f"{ITEMS}[0].innerText")
    choose(page, "word", "awful")
    assert page.ask(STATUS) == "5 of 133 rows match; 1 to 5 are shown."
    choose(page, "word", "all")
    page.write("document.querySelector('[name=text]')", str(last["id"]).upper())
    assert page.wait(f"{STATUS}.startsWith('1 of') && {STATUS}") == "1 of 133 rows match; 1 to 1 are shown."
    page.ask("document.querySelector('[name=text]').value = 'no such words'")
    page.ask("document.querySelector('[name=text]').dispatchEvent(new Event('input'))")
    assert page.wait(f"{STATUS}.startsWith('0 of') && {STATUS}") == "0 of 133 rows match."
    choose(page, "result", "aul · two")
    assert page.ask(f"{ITEMS}.length") == 0, "what was searched for stays"


@pytest.mark.system
def test_many_rows_in_a_browser(opened: Callable[..., Browser], control: ReportInput) -> None:
    """Of 10,880 rows some 5,000 are there, and the page says of how many; no part of it is wider than a phone."""
    page = opened(control)
    status = page.ask(STATUS)
    assert re.fullmatch(r"(4,9\d\d) of \1 rows here, of 10,880 of the result match; 1 to 50 are shown\.", status)
    choose(page, "label", "contradiction")
    facts = page.ask(f"{ITEMS}.map((item) => item.innerText)")
    assert all("label: contradiction" in text and "entailment: " in text for text in facts)
    page.resize(390, 800)
    wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    try:
        assert page.ask(wide)
        outside = page.ask(f"{ITEMS}.filter((item) => item.scrollWidth > item.clientWidth).length")
        assert outside == 0
    finally:
        page.do("Emulation.clearDeviceMetricsOverride")


@pytest.mark.system
def test_hostile_texts_in_a_browser(opened: Callable[..., Browser], sssb: Release) -> None:
    """They are shown as they are: nothing of them runs, and nothing becomes an element."""
    table = sssb.table("race-matched", spans=False).assign(
        stereo=HOSTILE, bad=HOSTILE, frame=HOSTILE, stereo_score=-1.0, anti_score=-2.0
    )
    scored = ScoredRows.from_tables({"race-matched": table}, ["stereo_score", "anti_score"])
    tokens = pa.table({"config": ["race-matched"], "id": [table["id"][0]], "stereo": [[HOSTILE]], "anti": [["x"]]})
    named = result(sssb, scored=scored, model={**MODEL, "name": HOSTILE}, tokens=tokens)
    source = ReportInput(result=named, release=sssb)
    page = opened(source, source)
    assert "run" not in page.ask("document.title").split()
    assert page.ask("document.querySelectorAll('img, .row-list script').length") == 0
    assert page.ask(f"{ITEMS}[0].querySelector('.row-sentence bdi').textContent") == HOSTILE
    assert page.ask(f"{ITEMS}[0].querySelector('.row-tokens').textContent") == HOSTILE


@pytest.mark.system
def test_without_a_script(opened: Callable[..., Browser], browser: Browser, sssb: Release) -> None:
    """Where scripts are turned off, the table stands there, and no controls that would do nothing."""
    sources = gather_inputs([result(sssb, numbered(sssb, "race-matched"))])
    browser.do("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page = opened(*sources)
        assert page.ask("document.querySelector('.row-browser').hidden")
        shown = page.ask("document.querySelector('.row-browser').nextElementSibling.innerText")
        assert str(sssb.table("race-matched")["stereo"].iloc[-1]) in shown
        assert "25.000" in shown
    finally:
        browser.do("Emulation.setScriptExecutionDisabled", value=False)
