"""`senseprobe compare`: models on the same rows, by hand-made scores whose differences can be counted."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.commands import typing

import senseprobe
from senseprobe import document
from senseprobe.api.results import load_result
from senseprobe.errors import ResultError
from senseprobe.evaluate.figures import figures_of
from senseprobe.evaluate.fitness import Fitness
from senseprobe.evaluate.reporting.comparison_section import BY_DIFFERENCE
from senseprobe.evaluate.reporting.inputs import ReportInput, gather_inputs
from senseprobe.evaluate.reporting.report import build_report
from senseprobe.evaluate.reporting.significance import MAX_MODELS, compare_results
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.units import ScoredRows
from senseprobe.records import Figure
from senseprobe.release.release import Release

Typed = Callable[..., tuple[int, str, str]]
Prefers = Callable[[pd.DataFrame], "np.ndarray[tuple[int], np.dtype[np.bool_]]"]


@pytest.fixture(scope="module")
def sssb() -> Release:
    """The built-in release."""
    return senseprobe.load("sssb@1.0.0")


def known(rows: pd.DataFrame) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
    """The places of rows that a preference may use: neither contested nor without a label."""
    return np.flatnonzero(~rows["contested"] & (rows["label_basis"] != "none"))


def first(count: int, start: int = 0) -> Prefers:
    """A model that prefers the stereotype in `count` of the usable rows, from `start` on."""

    def prefers(rows: pd.DataFrame) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        chosen = np.zeros(len(rows), dtype=np.bool_)
        chosen[known(rows)[start : start + count]] = True
        return chosen

    return prefers


def result(on: Release, name: str, prefers: Prefers, config: str = "verb", **fields: object) -> Result:
    """A result on one config."""
    rows = on.table(config)
    rows = rows.assign(config=config, stereo_score=np.where(prefers(rows), -1.0, -3.0), anti_score=-2.0)
    digits = name.encode().hex()
    told: dict[str, object] = {
        "scorer": "aul",
        "model": {"name": name, "weights": digits, "config": "b", "tokenizer": "c", "dtype": "float32"},
        "release": {"name": on.manifest.name, "content": on.manifest.content, "config": None},
        "senseprobe": "0.1.0",
        "seed": 0,
        "figures": (),
        "scored": ScoredRows(rows[["config", "id", "stereo_score", "anti_score"]]),
    }
    return Result(**{**told, **fields})  # type: ignore[arg-type]


def with_figures(found: Result, on: Release) -> Result:
    """The result with the figures of its rows, against which commands hold them."""
    assert found.rows is not None
    tables = {
        str(config): on.table(str(config)).merge(rows.drop(columns="config"), on="id")
        for config, rows in found.rows.groupby("config")
    }
    return replace(found, figures=figures_of(on, ScoredRows(tables=tables), seed=found.seed, scale=found.scale))


@pytest.fixture
def written(sssb: Release, tmp_path: Path) -> list[Path]:
    """Two models: the first alone prefers the stereotype in 8 verb frames, the second alone in 2, both in 30."""
    a = result(sssb, "a/first", first(38))
    b = result(sssb, "b/second", lambda rows: first(30)(rows) | first(2, 38)(rows))
    return [each.write(tmp_path / each.model["name"]) for each in (a, b)]


@pytest.fixture
def files(written: list[Path], sssb: Release) -> list[Path]:
    """The same with the figures of their rows, as commands ask for."""
    return [with_figures(load_result(path), sssb).write(path.parent) for path in written]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Typed:
    """Runs `senseprobe compare` with some words: its exit code, and what it printed."""
    monkeypatch.chdir(tmp_path)

    run = typing(monkeypatch, capfd)

    def compare_typed(*words: object) -> tuple[int, str, str]:
        done = run("compare", *map(str, words))
        return done.code, done.out, done.err

    return compare_typed


# --- numbers --------------------------------------------------------------------------------------------------------


def test_mcnemar_by_hand(written: list[Path], sssb: Release) -> None:
    """8 rows against 2: the exact p is 2 · (C(10,0) + C(10,1) + C(10,2)) / 2^10 = 112 / 1024."""
    (found,) = compare_results(gather_inputs(written))
    (half,) = (each for each in found.comparisons if each.estimand == "preference-half")
    rows = len(known(sssb.table("verb")))
    assert (found.a, found.b, half.config, half.estimand) == (1, 2, "verb", "preference-half")
    assert (half.only_a, half.only_b, half.test, half.rows) == (8, 2, "mcnemar", rows)
    assert half.difference == pytest.approx(100 * 6 / rows)
    assert half.p == half.p_holm == pytest.approx(2 * sum(comb(10, k) for k in range(3)) / 1024) == 112 / 1024


def test_every_pair(sssb: Release, tmp_path: Path) -> None:
    """Three models have three pairs, in order; the differences of two pairs add up to that of the third."""
    models = {"one": 20, "two": 35, "three": 41}
    paths = [result(sssb, name, first(count)).write(tmp_path / name) for name, count in models.items()]
    found = compare_results(gather_inputs(paths))
    assert [(each.a, each.b) for each in found] == [(1, 2), (1, 3), (2, 3)]
    halves = [{one.estimand: one for one in each.comparisons}["preference-half"] for each in found]
    one_two, one_three, two_three = (half.difference for half in halves)
    assert one_three == pytest.approx((one_two or 0) + (two_three or 0))
    assert one_three == pytest.approx(100 * (20 - 41) / len(known(sssb.table("verb"))))


def test_page(written: list[Path], sssb: Release) -> None:
    """The page has the differences beside all that a report has, and the model's own figures in points."""
    evidence = gather_inputs(written)
    rows = len(known(sssb.table("verb")))
    text = document.render_markdown(build_report(evidence, compare_results(evidence)))
    assert re.findall("^## .+", text, re.MULTILINE)[:2] == ["## What differs", "## Differences between the models"]
    own = " | ".join(f"{100 * count / rows - 50:+.1f}" for count in (38, 32))
    (row,) = re.findall(r"^\| verb \| preference-half \| .+", text, re.MULTILINE)
    assert row.startswith(f"| verb | preference-half | {100 * 6 / rows:+.1f} \\[")
    assert f"| {own} |" in row
    assert "p = 0.1094 (McNemar's exact test, rows independent)" in text
    assert "undecided: a difference of +" in row
    assert "rows are independent (8 only the first, 2 only the second): McNemar's exact test" in text
    assert "## By word and frame" in text


def test_a_model_against_itself(written: list[Path]) -> None:
    """Two results that answer alike differ by nothing, and no interval is made up."""
    (one, _) = gather_inputs(written)
    (found,) = compare_results([one, one])
    assert {each.difference for each in found.comparisons} == {0.0}
    assert {each.low for each in found.comparisons} == {None}


# --- what is refused ------------------------------------------------------------------------------------------------


def refused(results: list[Result], folder: Path) -> str:
    """The message of a comparison that is refused."""
    paths = [each.write(folder / str(number)) for number, each in enumerate(results)]
    with pytest.raises(ResultError) as caught:
        compare_results(gather_inputs(paths))
    return str(caught.value)


def test_what_is_refused(sssb: Release, tmp_path: Path) -> None:
    """Other releases, other contents, other scorers, other rows, a single one, too many."""
    a, b = result(sssb, "a", first(10)), result(sssb, "b", first(20))
    other = {**a.release, "content": "0" * 64}
    told = "a comparison is of results on one release, and these are on {}: leave out the others"
    one_name = told.format("several that are called sssb@1.0.0")
    assert refused([a, replace(b, release=other)], tmp_path / "content") == one_name
    other = {**a.release, "name": "sssb@1.0.1"}
    assert refused([a, replace(b, release=other)], tmp_path / "name") == told.format("sssb@1.0.0, sssb@1.0.1")
    told = refused([a, replace(b, scorer="pll")], tmp_path / "scorer")
    assert "aul and pll" in told
    told = refused([a, replace(b, limit=50)], tmp_path / "limit")
    assert "--limit" in told
    assert b.rows is not None
    told = refused([a, replace(b, scored=ScoredRows(b.rows[:-1]))], tmp_path / "rows")
    assert told == "the two results have different rows: score both models on one release"
    assert refused([a], tmp_path / "one").startswith(f"1 result on the release: expected 2 to {MAX_MODELS}")
    many = [result(sssb, f"m{number}", first(number)) for number in range(MAX_MODELS + 1)]
    assert refused(many, tmp_path / "many").startswith(f"{MAX_MODELS + 1} results on the release")


def test_definitions_are_not_mixed(sssb: Release, tmp_path: Path) -> None:
    """One name with two definitions is no scale to compare models on, be it the scorer's or a figure's."""
    old, new = (
        result(sssb, f"{name}/model", first(38), scorer_version=version) for name, version in (("a", 1), ("b", 2))
    )
    evidence = gather_inputs([each.write(tmp_path / each.model["name"]) for each in (old, new)])
    message = "the results have different definitions of aul (1 in aul · a/model, 2 in aul · b/model): score the models"
    with pytest.raises(ResultError, match=re.escape(message)):
        compare_results(evidence)
    same = [replace(one, result=replace(one.result, scorer_version=1)) for one in evidence]
    scales = [same[0], replace(same[1], result=replace(same[1].result, scale="probability"))]
    with pytest.raises(ResultError, match="numbers on different scales"):
        compare_results(scales)
    figure = Figure(config="x", sense_type="", estimand="own", value=1.0, rows=1, scored=1, unscored=0, ties=0)
    mixed = [
        replace(one, result=replace(one.result, figures=(replace(figure, definition=definition),)))
        for one, definition in zip(same, (1, 2), strict=True)
    ]
    with pytest.raises(ResultError, match="different definitions of own"):
        compare_results(mixed)


def test_without_rows(sssb: Release, tmp_path: Path) -> None:
    """Figures alone are not compared: what words have in common is not in them."""
    a, b = result(sssb, "a", first(10)), result(sssb, "b", first(20), scored=ScoredRows())
    assert refused([a, b], tmp_path).startswith("cannot compare aul · b: There is no table of scores")
    with pytest.raises(ResultError, match="it has no rows"):
        compare_results([ReportInput(result=a), ReportInput(result=b)])


# --- as it is typed -------------------------------------------------------------------------------------------------


def test_text(typed: Typed, files: list[Path]) -> None:
    """How many differ, then a table for each pair, and how to compare."""
    code, out, err = typed(*files)
    assert (code, err) == (0, "")
    assert re.search(r"a/first and b/second: none of 3 figures .* \+\d", out)
    assert BY_DIFFERENCE in out
    assert "significan" not in out
    assert "a/first minus b/second" in out
    assert "p = 0.1094 (McNemar's exact test, rows independent)" in out


def test_a_config_that_one_model_cannot_read_gets_no_words(sssb: Release, typed: Typed, tmp_path: Path) -> None:
    """Half of the rows hold words that the second model's tokenizer does not know: the reason stands for them."""
    a = result(sssb, "a/first", first(38), fitness={"verb": Fitness(rows=140, unknown=0)})
    b = result(sssb, "b/second", first(30), fitness={"verb": Fitness(rows=140, unknown=70)})
    code, out, _ = typed(*(with_figures(each, sssb).write(tmp_path / each.model["name"]) for each in (a, b)))
    assert code == 0
    lines = [line.rstrip() for line in out.splitlines() if line.startswith("verb  ")]
    assert [line.split()[1] for line in lines[:2]] == ["preference-half", "pronoun-stereotype"]
    reason = "not readable: 50 % of its rows hold words that the tokenizer does not know"
    assert all(reason in line for line in lines[:2])
    assert f"\na/first and b/second: {reason}" in out


def test_json(typed: Typed, files: list[Path]) -> None:
    """Stable keys, files down by hand."""
    code, out, _ = typed(*files, "--json")
    told = json.loads(out)
    assert code == 0
    assert [*told] == ["results", "differences"]
    assert [each["model"]["name"] for each in told["results"]] == ["a/first", "b/second"]
    (pair,) = told["differences"]
    assert [*pair] == ["a", "b", "comparisons"]
    assert [each["p"] for each in pair["comparisons"] if each["estimand"] == "preference-half"] == [112 / 1024]
    assert {*pair["comparisons"][0]} >= {"config", "estimand", "group", "a", "b", "difference", "low", "high", "p_holm"}


def test_pages(typed: Typed, files: list[Path], tmp_path: Path) -> None:
    """--out writes a page, whose suffix says which; never over a result or its table."""
    for name, start in (("both.html", "<!doctype html>"), ("both.md", "# a/first and b/second on sssb@1.0.0")):
        code, out, _ = typed(*files, "--out", name)
        assert code == 0
        assert out.endswith(f"report in {tmp_path / name}\n")
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    for taken in (files[0], files[0].with_suffix(".parquet")):
        before = taken.read_bytes()
        code, out, err = typed(*files, "--out", taken)
        assert (code, out, err) == (2, "", f"{taken} is the name of a result: use a name that ends in .html or .md\n")
        assert taken.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing.json", "no.json"), "nothing.json cannot be read: No such file or directory"),
        (("nothing.json", "no.json", "--markdown"), "--markdown writes a page: name it with --out"),
    ],
)
def test_bad_input(words: tuple[str, ...], message: str, typed: Typed) -> None:
    """One message, exit code 2."""
    assert typed(*words) == (2, "", f"{message}\n")
