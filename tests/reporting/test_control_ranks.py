"""`senseprobe compare --control`: the rank of a change among controls, by results whose changes are counted by hand."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands import typing
from tests.reporting.test_compare import first, known, result, with_figures
from tests.tiny import lay_out
from tests.tiny_release import PACKAGE

import senseprobe
from senseprobe.api.results import compare
from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.control_rank import FEWEST, ControlRank
from senseprobe.evaluate.figures import figures_of
from senseprobe.evaluate.reporting.control_ranks import rank_changes, rank_sections
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.scope import ReportScope
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.units import ScoredRows
from senseprobe.records import Figure
from senseprobe.release.release import Release


@pytest.fixture(scope="module")
def sssb() -> Release:
    """The built-in release."""
    return senseprobe.load("sssb@1.0.0")


@pytest.fixture
def write(sssb: Release, tmp_path: Path) -> Callable[[str, int], Path]:
    """Writes the result of a model that prefers the stereotype in so many rows of verb."""

    def write(name: str, count: int) -> Path:
        return with_figures(result(sssb, name, first(count)), sssb).write(tmp_path / name)

    return write


def rank(change: float, *controls: float) -> ControlRank:
    """A rank of a figure that changed, beside controls that changed it."""
    return ControlRank(config="c", estimand="gap", before=0.0, after=change, change=change, controls=controls)


# --- numbers --------------------------------------------------------------------------------------------------------


def test_ranks_by_hand() -> None:
    """(1 + controls as large) / (1 + controls), whichever way they go; the p of the paper's eight is 1/9 at least."""
    assert (rank(-3.0, 1.0, 3.0, -2.0).extreme, rank(-3.0, 1.0, 3.0, -2.0).p) == (1, 2 / 4)
    eight = rank(9.0, *range(8))
    assert eight.extreme == 0
    assert eight.p == pytest.approx(1 / 9)
    assert eight.reading == "outside all 8 controls: not shown"
    assert rank(9.0, *[1.0] * 39).reading == "outside all 39 controls: shown"
    assert rank(9.0, *[1.0] * (FEWEST - 1)).reading == "outside all 19 controls: not shown"
    assert rank(9.0, *[1.0] * FEWEST).reading == "outside all 20 controls: shown"
    assert rank(9.0, 9.0, *[1.0] * 38).reading == "1 of 39 controls moves it as far: not shown"
    assert rank(9.0, 9.0, *[1.0] * 78).reading == "1 of 79 controls moves it as far: shown"


@given(st.floats(-100, 100), st.lists(st.floats(-100, 100), min_size=1, max_size=60))
def test_a_rank_is_a_probability(change: float, controls: list[float]) -> None:
    """It lies between 1/(K + 1) and 1, is blind to signs, and too few controls never show anything."""
    made = rank(change, *controls)
    assert 1 / (len(controls) + 1) <= made.p <= 1
    assert made.p == rank(-change, *(-control for control in controls)).p
    assert len(controls) >= FEWEST or made.reading.endswith(": not shown")


def test_changes_are_those_of_figures(sssb: Release, write: Callable[[str, int], Path]) -> None:
    """40 rows before, 20 after; controls of 45, 41 and 10 rows: the change is -20 rows, and one control goes as far."""
    before, after = write("a/before", 40), write("a/after", 20)
    controls = [write(f"c/{count}", count) for count in (45, 41, 10)]
    made = compare(before, after, control=controls)
    (half,) = (each for each in made.ranks if each.estimand == "preference-half")
    rows = len(known(sssb.table("verb")))
    assert half.change == pytest.approx(-100 * 20 / rows)
    assert half.controls == pytest.approx([100 * 5 / rows, 100 * 1 / rows, -100 * 30 / rows])
    assert (half.extreme, half.p) == (1, 2 / 4)
    assert half.low is not None
    assert half.low < half.change
    assert made.as_dict()["ranks"][0]["controls"] == list(made.ranks[0].controls)
    assert "ranks" not in compare(before, after).as_dict()


# --- words ----------------------------------------------------------------------------------------------------------


def test_terminal_and_page(
    write: Callable[[str, int], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Both say the rank, the spread of controls with the paper's mean beside, and that three can show nothing."""
    monkeypatch.chdir(tmp_path)
    run = typing(monkeypatch, capfd)
    before, after = write("a/before", 40), write("a/after", 20)
    write("c/one", 41), write("c/two", 45), write("c/three", 38)
    done = run("compare", str(before), str(after), "--control", "c", "--out", "page.html")
    assert done.code == 0, done.err
    page = (tmp_path / "page.html").read_text()
    for text in (done.out, page):
        words = " ".join(text.split())
        assert "3 controls can show nothing: their smallest p is 0.25" in words
        assert "0 of 3 figures changed by more than controls do" in words
        assert "mean of controls" in words
        assert "outside all" in words
    printed = run("compare", str(before), str(after), "--control", "c", "--json")
    assert {rank["p"] for rank in json.loads(printed.out)["ranks"]} == {0.25}


# --- inference ------------------------------------------------------------------------------------------------------

PROBES = """---
kind: inference
bias_type: gender
construct: gender of a job
description: A job, and he or she.
source: nobody
slots:
  job:     {list: jobs}
  pronoun: {list: pronouns, where: {gender: [male, female]}}
roles:
  premise:    {who: job}
  hypothesis: {who: pronoun}
target: who
gold: neutral
gap:
  he-she: {column: pronoun, first: he, second: she}
generalise: [job]
expect: {pairs: 10}
accept: {W502: pronouns have no article}
---
{{ who | the | upfirst }} slept.
"""


@pytest.fixture
def probes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Release:
    """A release of five jobs with he and she, in a project of its own."""
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, PROBES)
    (tmp_path / "wordlists" / "datapackage.yaml").write_text(PACKAGE)
    (tmp_path / "wordlists" / "jobs.csv").write_text("word\nbaker\nlawyer\nnurse\npilot\nwelder\n")
    senseprobe.build("tiny", "1.0.0")
    return senseprobe.load("tiny@1.0.0")


def infer(on: Release, name: str, for_he: float, right: float) -> ReportInput:
    """A model that infers he, but not she, from a job with a probability; on the control so many of 100 are right."""
    rows = on.table("job")
    entailment = np.where(rows["pronoun"] == "he", for_he, 0.1) + 0.01 * np.arange(len(rows))
    rows = rows.assign(entailment=entailment, neutral=0.9 - entailment, contradiction=0.1)
    about = {"name": name, "weights": name.encode().hex(), "config": "b", "tokenizer": "c", "dtype": "float32"}
    release = {"name": on.manifest.name, "content": on.manifest.content, "config": None}
    scored = ScoredRows(tables={"job": rows})
    made = Result(
        scorer="nli",
        scale="probability",
        model=about,
        release=release,
        senseprobe="0",
        seed=0,
        figures=figures_of(on, scored, seed=0, scale="probability"),
        scored=scored,
    )
    of_kind = {"config": "occupation", "sense_type": "", "estimand": "accuracy", "rows": 9, "scored": 9}
    accuracy = (
        Figure(value=right, unscored=0, ties=0, **of_kind),  # type: ignore[arg-type]
        Figure(value=right - 1, group="entailment", unscored=0, ties=0, **of_kind),  # type: ignore[arg-type]
    )
    control = replace(made, release={**release, "name": "nli-control@1.0.2"}, figures=accuracy, scored=ScoredRows())
    return ReportInput(result=made, release=on, controls=(control,))


def test_of_inference_the_gap_leads_and_right_answers_stand_beside(probes: Release) -> None:
    """The gap of he and she comes first, with why the others are no measure of gender bias; then the control."""
    before, after = infer(probes, "before", 0.6, 95.0), infer(probes, "after", 0.1, 61.0)
    ranks = rank_changes(before, after, [infer(probes, "random", 0.5, 94.0)])

    assert ranks[0].estimand == "gap:he-she"
    assert {rank.estimand for rank in ranks[1:]} >= {"nn", "fn"}
    # The difference of the two means of entailment falls from 50 to 0 points, and by 10 with the control.
    assert ranks[0].change == pytest.approx(-50.0)
    assert ranks[0].controls == pytest.approx([-10.0])

    ranked, accuracy = rank_sections(ReportScope(inputs=[before, after], ranks=ranks))
    assert "by themselves they are no measure of gender bias" in " ".join(ranked.paragraphs)
    assert [[cell.text for cell in row] for row in accuracy.tables[0].rows] == [
        ["occupation", "accuracy", "", "95.0", "61.0"],
        ["occupation", "accuracy", "entailment", "94.0", "60.0"],
    ]
    assert "broken" in accuracy.paragraphs[0]


# --- bad input ------------------------------------------------------------------------------------------------------


def test_what_is_no_control_is_refused(sssb: Release, write: Callable[[str, int], Path]) -> None:
    """The model itself, a control twice, three results, and a control on other rows: one message each."""
    before, after, other = write("a/before", 40), write("a/after", 20), write("c/one", 41)
    with pytest.raises(ResultError, match=r"control 1, .*, is the same model as the first result"):
        compare(before, after, control=[before])
    twin = with_figures(result(sssb, "c/one", first(41)), sssb).write(other.parent / "copy")
    with pytest.raises(ResultError, match=r"control 2, .*, is the same model as control 1"):
        compare(before, after, control=[other, twin])
    with pytest.raises(ResultError, match="give two, not 3"):
        compare(before, after, other, control=[other])
    on_noun = with_figures(result(sssb, "d/noun", first(3), "noun"), sssb).write(other.parent)
    with pytest.raises(ResultError, match="has no value of verb"):
        compare(before, after, control=[on_noun])
