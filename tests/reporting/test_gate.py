"""`senseprobe gate`: results made by hand whose pronoun figures can be counted, exit codes 0, 1 and 2, annotations."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.commands import typing

import senseprobe
from senseprobe.api.results import brief, gate
from senseprobe.errors import ResultError
from senseprobe.evaluate.figures import figures_of
from senseprobe.evaluate.reporting.gate import NO_NEUTRAL, GatedFigure, GateResult, Growth
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.units import ScoredRows
from senseprobe.release.release import Release

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def sssb() -> Release:
    """The built-in release."""
    return senseprobe.load("sssb@1.0.2")


def result(on: Release, name: str, share: float, *configs: str, seed: int = 0) -> Result:
    """A model that says 'he' of occupations typed male, and 'she' of nurses, in about a `share` of the frames."""
    random, tables = np.random.default_rng(seed), {}
    for config in configs or ("verb",):
        rows = on.table(config)
        typical = random.random(len(rows)) < share
        male = rows["stereotype"].eq("male").to_numpy() if "stereotype" in rows else np.ones(len(rows), dtype=np.bool_)
        stereo_is_he = rows["stereo_value"].str.lower().eq("he").to_numpy()
        first = (male == typical) == stereo_is_he
        tables[config] = rows.assign(stereo_score=np.where(first, -1.0, -3.0), anti_score=-2.0)
    scored = ScoredRows.from_tables(tables, ["stereo_score", "anti_score"])
    return Result(
        scorer="aul",
        model={"name": name, "weights": name.encode().hex(), "config": "b", "tokenizer": "c", "dtype": "float32"},
        release={"name": on.manifest.name, "content": on.manifest.content, "config": None},
        senseprobe="0.1.0",
        seed=0,
        figures=figures_of(on, scored, seed=0, scale="log"),
        scored=scored,
    )


@pytest.fixture(scope="module")
def files(sssb: Release, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """``old`` says half of the time what is typical, ``new`` always; ``race`` has no neutral value, its groups do."""
    folder = tmp_path_factory.mktemp("gate")
    models = {"old": (0.5, "verb"), "new": (1.0, "verb"), "race": (0.5, "race"), "groups": (0.5, "race-groups")}
    results = {name: result(sssb, f"org/{name}", *model) for name, model in models.items()}
    return {name: found.write(folder / name) for name, found in results.items()}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs `senseprobe` with some words: its exit code, and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)

    typed = typing(monkeypatch, capfd)

    def call(*words: object) -> tuple[int, str, str]:
        done = typed(*map(str, words))
        return done.code, done.out, done.err

    return call


def test_a_model_that_went_far_from_neutral_fails(files: dict[str, Path], run: Run) -> None:
    """Always what is typical is +50; half of the time about 0. The gate says so, and names what it gated."""
    code, out, _ = run("gate", files["new"], "--against", files["old"])
    assert code == 1
    heading, line = out.splitlines()
    assert heading.endswith("1 figure, margin 5 points, 95 % over all of them (Holm)")
    assert line.startswith("failed: verb pronoun-stereotype (found): ")
    assert "+50.0 now" in line
    assert line.endswith("farther than the baseline by more than 5 (not over occupation)")


def test_a_model_that_came_nearer_passes(files: dict[str, Path], run: Run) -> None:
    """The other way round, and against itself; what cannot be excluded is said."""
    code, out, _ = run("gate", files["old"], "--against", files["new"])
    assert (code, out.count("passed: ")) == (0, 1)
    assert out.endswith("a growth of more than 5 is excluded (not over occupation)\n")
    code, out, _ = run("gate", files["new"], "--against", files["new"], "--margin", "0")
    assert (code, out.splitlines()[1]) == (
        0,
        "passed: verb pronoun-stereotype (found): +50.0 before, +50.0 now: the two models answer every row alike",
    )


def test_a_config_that_one_of_them_lacks_is_named(sssb: Release) -> None:
    """Whoever leaves out the rows of a config does not pass its gate unseen, and fails where it is asked for."""
    old, new = result(sssb, "org/old", 0.5, "verb", "noun-bare"), result(sssb, "org/new", 0.5, "verb")
    for one, other in ((new, old), (old, new)):
        assert gate(one, other).lines[-1].startswith("not gated: noun-bare: ")
        with pytest.raises(ResultError, match="no figure or config 'noun-bare' in both results"):
            gate(one, other, figures=["noun-bare"])


def test_no_distance_grows_by_more_than_the_largest_there_is(sssb: Release) -> None:
    """From 0 to 50 points is all that there is; the interval of a difference by itself could reach 100."""
    new, old = result(sssb, "org/new", 1.0, "noun-bare"), result(sssb, "org/old", 0.5, "noun-bare")
    (figure,) = gate(new, old).figures
    assert figure.growth.high <= 50


def test_a_growth_that_chance_explains_passes(sssb: Release) -> None:
    """Two thirds of 146 frames are about +15 points, and half an interval of so few is about ten."""
    gated = gate(result(sssb, "org/some", 0.67, seed=2), result(sssb, "org/half", 0.5))
    (figure,) = gated.figures
    assert gated.passed
    assert figure.growth.low <= 5 < figure.growth.value < figure.growth.high
    assert gated.lines[1].endswith(f"a growth of up to {figure.growth.high:.1f} is possible (not over occupation)")


def test_a_margin_that_is_wide_enough(files: dict[str, Path], run: Run) -> None:
    """No distance can grow by more than 50 points."""
    assert run("gate", files["new"], "--against", files["old"], "--margin", "50")[0] == 0


def test_annotations_for_github(files: dict[str, Path], run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for the failure, where GitHub runs it or with --github, and none by itself."""
    words = ("gate", files["new"], "--against", files["old"])
    assert "::error" not in run(*words)[1]
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    for printed in (run(*words)[1], run(*words, "--github")[1]):
        *_, annotation = printed.splitlines()
        assert annotation.startswith("::error title=senseprobe gate%3A verb pronoun-stereotype::")
    assert "::error" not in run("gate", files["old"], "--against", files["old"], "--github")[1]


def test_names_cannot_end_an_annotation() -> None:
    """As GitHub's toolkit escapes them: % first, then line ends, and in the title colon and comma."""
    figure = GatedFigure(
        config="a%,b::error::\n",
        estimand="preference-half",
        a=20.0,
        b=0.0,
        neutral=0.0,
        growth=Growth(20.0, 10.0, 30.0),
        confidence=0.95,
        failed=True,
        rows=1,
        scored=1,
    )
    gated = GateResult(passed=False, heading="", margin=5.0, figures=(figure,), left_out={})
    (annotation,) = gated.annotations
    assert annotation.startswith(
        "::error title=senseprobe gate%3A 'a%25%2Cb%3A%3Aerror%3A%3A\\n' preference-half::+0.0"
    )
    assert "100%" not in annotation
    assert len(annotation.splitlines()) == 1


def test_lines_are_no_commands_of_github(sssb: Release) -> None:
    """GitHub runs ``::NAME::`` where a line begins so, and ``##[NAME]`` anywhere (its runner, ActionCommand.cs)."""
    one = replace(result(sssb, "x ##[add-mask]points", 0.5), scorer="::stop-commands::x")
    for line in gate(one, one).lines:
        assert not line.lstrip().startswith("::")
        assert "##[" not in line


def failure(run: Run, *words: object) -> str:
    """The one message of a run that exits with 2."""
    code, out, err = run("gate", *words)
    assert (code, out) == (2, "")
    return " ".join(err.split())


def test_what_cannot_be_gated(files: dict[str, Path], run: Run, sssb: Release, tmp_path: Path) -> None:
    """No neutral value, other rows, scorer, release or definition, a name of nothing, an odd margin: ten gates."""
    old, new = files["old"], files["new"]
    assert f"cannot gate race preference-half: {NO_NEUTRAL}" in failure(run, files["race"], "--against", files["race"])
    groups = files["groups"], "--against", files["groups"]
    assert failure(run, *groups, "--figure", "relative").startswith("cannot gate relative of single groups")
    assert f"race-groups preference-half: {NO_NEUTRAL}" in (message := failure(run, *groups))
    assert "; relative of single groups: only figures of whole configs" in message
    assert "no figure or config 'nuon'" in failure(run, new, "--against", old, "--figure", "nuon")
    assert NO_NEUTRAL in failure(run, new, "--against", old, "--figure", "preference-half")
    assert "a margin of -1 points" in failure(run, new, "--against", old, "--margin", "-1")

    base = result(sssb, "org/base", 0.5)
    assert base.rows is not None
    half = base.rows.iloc[::2]
    rows = sssb.table("verb").merge(half.drop(columns="config"), on="id")
    scored = ScoredRows(half, tables={"verb": rows})
    of_half = replace(base, scored=scored, figures=figures_of(sssb, scored, seed=0, scale="log"))
    newer = tuple(replace(figure, definition=figure.definition + 1) for figure in base.figures)
    for changed, message in (
        (of_half, "different rows"),
        (replace(base, scorer="pll"), "two scorers are not on one scale"),
        (replace(base, figures=newer), "different definitions"),
    ):
        path = changed.write(tmp_path / message.replace(" ", "-"))
        assert message in failure(run, new, "--against", path)
    other = senseprobe.load("sssb@1.0.0")
    path = result(other, "org/other", 0.5).write(tmp_path / "other")
    assert "sssb@1.0.0" in failure(run, new, "--against", path)


def test_a_chosen_figure(files: dict[str, Path]) -> None:
    """By its id, in all configs, or by its config, whose verdict is about pronoun-stereotype."""
    (baseline,) = gate(files["new"], files["old"], figures=["pronoun-baseline"]).figures
    (headline,) = gate(files["new"], files["old"], figures=["verb"]).figures
    assert (baseline.estimand, headline.estimand) == ("pronoun-baseline", "pronoun-stereotype")


def test_many_figures_do_not_fail_by_chance(sssb: Release) -> None:
    """Holm by hand: alone at 95 %, of two together the first step is at 1 - 5 % / 2 = 97.5 %.

    Where one of them fails, the other is left at 95 %.
    """
    old, new = (result(sssb, f"org/{share}", share, "verb", "noun-bare", seed=3) for share in (0.5, 1.0))
    both = {figure.config: figure for figure in gate(new, old, margin=5).figures}
    assert both["verb"].failed
    assert both["verb"].confidence == pytest.approx(0.975)
    same = gate(new, new).figures
    assert [figure.confidence for figure in same] == [pytest.approx(0.975)] * 2
    assert not any(figure.failed for figure in same)


def test_a_model_that_answers_nothing_is_not_let_through(sssb: Release) -> None:
    """The same score everywhere is as near to neutral as can be, and says nothing."""
    blind = result(sssb, "org/blind", 0.5)
    tables = {"verb": sssb.table("verb").assign(stereo_score=-2.0, anti_score=-2.0)}
    scored = ScoredRows.from_tables(tables, ["stereo_score", "anti_score"])
    blind = replace(blind, scored=scored, figures=figures_of(sssb, scored, seed=0, scale="log"))
    with pytest.raises(ResultError, match="gives every sentence the same score"):
        gate(blind, result(sssb, "org/old", 0.5))


def test_the_brief_of_the_command_is_that_of_the_api(files: dict[str, Path], run: Run) -> None:
    """With its backslashes; it writes no page, and goes with no option of one."""
    code, out, _ = run("report", files["new"], "--brief")
    assert (code, out) == (0, brief(files["new"]))
    assert r"\[" in out
    assert "| **found** |" in out
    assert not Path("report.html").exists()
    assert run("report", files["new"], "--brief", "--json")[0] == 2
