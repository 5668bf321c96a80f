"""The figures of a result are held against its rows: no honest result is refused, and any other number is, by name."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from tests.commands import Typed, typing
from tests.imports.files import FILES
from tests.served.planted_chat import checked_run, planted

import senseprobe
from senseprobe import api
from senseprobe.errors import ResultError
from senseprobe.evaluate.pipeline import result_of, rows_of
from senseprobe.evaluate.reporting.inputs import ReportInput, gather_inputs
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.units import KINDS, ScoredRows

MODEL = {"name": "org/model", "weights": "a" * 64, "config": "b" * 64, "tokenizer": "c" * 64, "dtype": "float32"}
OTHERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("value", "high"), lambda number: number + 1e-5),
    "low": lambda number: number - 1e-5,
    **dict.fromkeys(("p", "p_holm"), lambda p: (p + 0.7) / 2),
    "neutral": lambda number: number + 0.5,
    "scored": lambda count: count - 1,
    "unscored": lambda count: count - 1 if count else 1,
    "rows": lambda count: count + 1,
    "ties": lambda count: 0 if count else 1,
    "levels": lambda levels: {name: count + 1 for name, count in levels.items()},
    "method": lambda method: f"{method}, or so",
}
"""By part of a figure, what makes another of it."""


def scored(release: str, scorer: str, seed: int = 0, **job: Any) -> Result:  # noqa: ANN401
    """A result of random numbers for the rows of a release, some of them none, some of them equal."""
    work = ScoringJob(senseprobe.load(release), job.pop("config", None), seed, "0", **job)
    draw, tables = np.random.default_rng(seed), {}
    for name, rows in rows_of(work, get(scorer)).items():
        columns = [*KINDS[get(scorer).kind].numbers, *(["unrelated_score"] if "unrelated" in rows else [])]
        if get(scorer).kind == "inference":
            numbers = draw.dirichlet([1, 2, 5], len(rows))
        else:
            numbers = draw.normal(size=(len(rows), len(columns))).round(1)
        numbers[draw.random(len(rows)) < 0.02] = np.nan
        tables[name] = rows.assign(**dict(zip(columns, numbers.T, strict=True)))
    return result_of(work, ScoredRows.from_tables(tables, columns), get(scorer), MODEL)


def of_import(format_: str, folder: Path) -> Result:
    """A result on a published benchmark, imported."""
    release = api.import_release(format_, FILES[format_], "mine", "1.0.0", "MIT", folder)[0]
    return scored(str(release.folder), "aul")


def of_chat(failing: str = "", *, shown: bool = False) -> Result:
    """A result of a chat model that does the task, but for a config in which the place of a sentence decides."""
    release = senseprobe.load("sssb@1.0.1")
    model = planted(release, release.configs)
    if failing:
        contents = cast("dict[tuple[str, str], float]", model.contents)
        table = release.table(failing)
        for pair in zip(table["stereo"], table["anti"], strict=True):
            for one in (pair, pair[::-1]):
                contents[one] /= 50
    return checked_run(ScoringJob(release, None, 0, "0"), model, "choice-likely", show_failing=shown)


def of_vectors(*scorers: str, without: str = "", estimands: tuple[str, ...] = ()) -> Result:
    """A result of association tests on random vectors, `without` those of a set of weat1's words."""
    release = senseprobe.load("association@1.1.0")
    table = release.table("bleached", spans=False)
    lost = {*table.loc[(table["test"] == "weat1") & (table["role"] == without), "word"]}
    words = sorted({*table["word"]} - lost)
    vectors = dict(zip(words, np.random.default_rng(3).normal(size=(len(words), 8)), strict=True))
    (made,) = senseprobe.score(
        senseprobe.vectors(vectors, name="made"),
        "association@1.1.0:bleached",
        [*scorers] or "weat",
        store=False,
        estimands=estimands,
    )
    return made


HONEST: dict[str, Callable[[Path], Result]] = {
    "pairs": lambda _: scored("sssb@1.1.0", "aul"),
    "one config": lambda _: scored("sssb@1.1.0", "aul", config="race-matched"),
    "a sample": lambda _: scored("sssb@1.1.0", "aul", limit=300),
    "another seed": lambda _: scored("sssb@1.1.0", "aul", seed=7),
    "a variant": lambda _: scored("sssb@1.1.0", "aul", estimands=("relative-mean",)),
    "planted": lambda _: replace(scored("sssb@1.1.0", "aul"), scorer="planted", model={**MODEL, "planted": "0.7"}),
    "inference": lambda _: scored("nli-control@1.0.1", "nli"),
    "inference, a sample": lambda _: scored("nli-control@1.0.1", "nli", limit=2_000),
    "association": lambda _: of_vectors(),
    "association, a set without vectors": lambda _: of_vectors(without="A"),
    "association, variants": lambda _: of_vectors(estimands=("weat-pop", "weat-two-sided", "weat-sentence")),
    "stereoset": lambda folder: of_import("stereoset", folder),
    "crows-pairs": lambda folder: of_import("crows-pairs", folder),
    "winobias": lambda folder: of_import("winobias", folder),
    "chat": lambda _: of_chat(),
    "chat that fails": lambda _: of_chat("verb", shown=True),
}


def gathered(result: Result, folder: Path) -> ReportInput:
    """A result that was written and is read as `report`, `compare` and `gate` read it."""
    path = result.write(folder / "result")
    release = folder / "mine" / "1.0.0"
    return gather_inputs([path], str(release) if release.exists() else None, checked=True)[0]


@pytest.mark.parametrize("kind", HONEST)
def test_honest_results_pass(kind: str, tmp_path: Path) -> None:
    """Computed again from the file, every figure is what it was: of all kinds of rows, figures and models."""
    result = HONEST[kind](tmp_path)
    source = gathered(result, tmp_path)
    assert source.unchecked == ()
    assert source.result.figures == result.figures
    assert any(figure.value is not None for figure in result.figures)


@pytest.fixture(scope="module")
def honest() -> dict[str, Result]:
    """A result of each kind of rows."""
    return {
        "pairs": scored("sssb@1.1.0", "aul", config="race-groups"),
        "inference": scored("nli-control@1.0.1", "nli", limit=500),
        "association": of_vectors(),
    }


def changed(result: Result, number: int, **parts: Any) -> Result:  # noqa: ANN401
    """A result of which one figure has other parts."""
    figures = [*result.figures]
    figures[number] = replace(figures[number], **parts)
    return replace(result, figures=tuple(figures))


@pytest.mark.parametrize("kind", ["pairs", "inference", "association"])
@pytest.mark.parametrize("part", OTHERS)
def test_another_number_is_refused_by_name(kind: str, part: str, honest: dict[str, Result], tmp_path: Path) -> None:
    """Whatever part of a figure is another, the message says of which figure, and what the rows make."""
    result = honest[kind]
    own = [(number, figure) for number, figure in enumerate(result.figures) if getattr(figure, part)]
    if not own:  # inference has no p, and an association test no ties
        own = [(0, result.figures[0])]
    number, figure = own[-1]
    then = getattr(figure, part)
    now = OTHERS[part](then or 0)
    with pytest.raises(ResultError) as refused:
        gathered(changed(result, number, **{part: now}), tmp_path)
    assert f"{' '.join(filter(None, figure.key))}, {part}: {now} -> {then}" in str(refused.value)
    assert ".json has figures that its table of scores does not make" in str(refused.value)


def test_a_figure_left_out_or_made_up_is_refused(honest: dict[str, Result], tmp_path: Path) -> None:
    """One that the rows make and the file has not, and one that no row makes."""
    result = honest["pairs"]
    last = result.figures[-1]
    name = " ".join(filter(None, last.key))
    with pytest.raises(ResultError, match=f"{name}: new"):
        gathered(replace(result, figures=result.figures[:-1]), tmp_path)
    with pytest.raises(ResultError, match="race-groups relative Martian: no longer there"):
        gathered(
            replace(result, figures=(*result.figures, replace(last, estimand="relative", group="Martian"))), tmp_path
        )


def test_scores_that_were_changed_are_refused(honest: dict[str, Result], tmp_path: Path) -> None:
    """The table is another than the figures are of: all scores of its sides exchanged turn every preference."""
    result = honest["pairs"]
    assert result.rows is not None
    turned = result.rows.rename(columns={"stereo_score": "anti_score", "anti_score": "stereo_score"})
    with pytest.raises(ResultError, match="race-groups preference-half, value: "):
        gathered(replace(result, scored=ScoredRows(turned[result.rows.columns])), tmp_path)


# --- what cannot be checked -------------------------------------------------------------------------------------------


def without_table(result: Result) -> Result:
    return replace(result, scored=ScoredRows(words=result.words))


UNCHECKED: dict[str, tuple[str, Callable[[Result], Result], str]] = {
    "no table": ("pairs", without_table, "there is no table of scores next to the result"),
    "no release": (
        "pairs",
        lambda result: replace(result, release={**result.release, "name": "gone@1.0.0"}),
        "the release is not available",
    ),
    "no words": (
        "association",
        lambda result: replace(result, scored=ScoredRows(result.rows)),
        "there is no table of words next to the result",
    ),
    "an older definition": (
        "pairs",
        lambda result: changed(result, 0, definition=0, value=9.0),
        "preference is of an older definition",
    ),
    "a newer definition": (
        "pairs",
        lambda result: changed(result, 0, definition=99, value=9.0),
        "preference is of a newer definition",
    ),
    "another scorer": (
        "pairs",
        lambda result: replace(result, scorer="of-a-plugin"),
        "the scorer of-a-plugin is not installed",
    ),
    "another version of the scorer": (
        "pairs",
        lambda result: replace(result, scorer_version=99),
        "the scores are of a newer definition of aul",
    ),
    "another estimand": (
        "pairs",
        lambda result: replace(
            result, figures=(*result.figures, replace(result.figures[0], estimand="of-a-plugin", value=9.0))
        ),
        "of-a-plugin is not installed",
    ),
}


@pytest.mark.parametrize("case", UNCHECKED)
def test_what_cannot_be_checked_is_said(case: str, honest: dict[str, Result], tmp_path: Path) -> None:
    """With the reason, on the page too; nothing is refused for it."""
    kind, change, reason = UNCHECKED[case]
    source = gathered(change(honest[kind]), tmp_path)
    assert source.unchecked == (reason,)
    assert f"Figures not checked: {reason}." in source.missing


def test_what_is_beside_an_older_definition_is_checked(honest: dict[str, Result], tmp_path: Path) -> None:
    """One estimand of an older definition does not spare the others."""
    result = changed(honest["pairs"], 0, definition=0)
    with pytest.raises(ResultError, match=f"{' '.join(filter(None, result.figures[1].key))}, value: "):
        gathered(changed(result, 1, value=49.0), tmp_path)


def test_withheld_figures_are_not_checked_and_the_others_are(tmp_path: Path) -> None:
    """Of a config that fails a gate, and of its contrast, there is no figure to check; those of others are checked."""
    result = of_chat("verb")
    assert {figure.value for figure in result.figures if figure.config in ("verb", "noun-verb")} == {None}
    assert gathered(result, tmp_path).unchecked == ("verb withheld",)
    number, figure = next((n, figure) for n, figure in enumerate(result.figures) if figure.config == "noun")
    with pytest.raises(ResultError, match=f"noun {figure.estimand}, value: "):
        gathered(changed(result, number, value=(figure.value or 0.0) + 1), tmp_path)


# --- the commands -----------------------------------------------------------------------------------------------------


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Typed:
    """Types `senseprobe` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return typing(monkeypatch, capfd)


def files(result: Result, folder: Path) -> tuple[str, str]:
    """The result, and that of another model of the same scores."""
    second = replace(result, model={**MODEL, "name": "org/other", "weights": "e" * 64})
    return str(result.write(folder / "one")), str(second.write(folder / "two"))


COMMANDS: dict[str, Callable[[str, str], tuple[str, ...]]] = {
    "report": lambda one, two: ("report", one, two),
    "brief": lambda one, two: ("report", one, two, "--brief"),
    "json": lambda one, two: ("report", one, two, "--json"),
    "compare": lambda one, two: ("compare", one, two),
    "gate": lambda one, two: ("gate", one, "--against", two),
    "gate, the baseline": lambda one, two: ("gate", two, "--against", one),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_refuse_what_differs(command: str, typed: Typed, tmp_path: Path) -> None:
    """A value that was typed over ends each command with code 2 and the name of the figure, and no page is written."""
    one, two = files(scored("sssb@1.1.0", "aul", config="verb"), tmp_path)
    assert typed(*COMMANDS[command](one, two)).code == 0
    (tmp_path / "report.html").unlink(missing_ok=True)
    data = json.loads(Path(one).read_bytes())
    data["figures"][0]["value"] += 0.01
    Path(one).write_text(json.dumps(data))
    done = typed(*COMMANDS[command](one, two))
    assert done.code == 2
    figure = data["figures"][0]
    assert f"verb {figure['estimand']}, value: {figure['value']}" in done.message
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_say_what_they_did_not_check(command: str, typed: Typed, tmp_path: Path) -> None:
    """A figure of an older definition is computed again, and each command says so and goes on."""
    result = scored("sssb@1.1.0", "aul", config="verb")
    one, two = files(changed(result, 0, definition=0), tmp_path)
    done = typed(*COMMANDS[command](one, two))
    said = f"{done.out} {done.err}"
    assert done.code == 0
    assert "not checked: " in said
    assert f"{result.figures[0].estimand} is of an older definition" in said


def test_a_gate_warns_on_github(typed: Typed, tmp_path: Path) -> None:
    """An annotation of its own, which does not fail the gate; without reason there is none."""
    result = scored("sssb@1.1.0", "aul", config="verb")
    one, two = files(changed(result, 0, definition=0), tmp_path)
    done = typed("gate", one, "--against", two, "--github")
    assert (done.code, done.out.count("::warning title=senseprobe gate::"), done.out.count("\nwarning: ")) == (0, 2, 2)
    one, two = files(result, tmp_path / "whole")
    assert "warning" not in typed("gate", one, "--against", two, "--github").out


def test_a_slice_is_of_rows_alone(honest: dict[str, Result], tmp_path: Path) -> None:
    """It has figures of its own, whatever the file says."""
    path = changed(honest["pairs"], 0, value=49.0).write(tmp_path)
    assert senseprobe.slice(path, by=["frame"])
