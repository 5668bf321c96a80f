"""Results on several releases, and on releases that are elsewhere: what a page shows of them, and what a command says.

Expected texts are the sentences of the releases themselves, and names that the tests gave.
"""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.commands import Typed, typing

import senseprobe
from senseprobe.errors import ResultError
from senseprobe.evaluate.figures import figures_of
from senseprobe.evaluate.reporting.inputs import gather_inputs
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.units import ScoredRows

MODEL = {"name": "org/model", "weights": "a" * 64, "config": "b" * 64, "tokenizer": "c" * 64, "dtype": "float32"}


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Typed:
    """What runs a command line in an empty project."""
    monkeypatch.chdir(tmp_path)
    return typing(monkeypatch, capfd)


def write(folder: Path, release: str, config: str, name: str) -> Path:
    """A result on a config of a built-in release, which is called `name` where it was scored."""
    opened = senseprobe.load(release)
    shares = ("entailment", "neutral", "contradiction")
    numbers = dict.fromkeys(shares, 1 / 3) if release.startswith("nli") else {"stereo_score": -1.0, "anti_score": -2.0}
    scored = ScoredRows.from_tables({config: opened.table(config).assign(**numbers)}, [*numbers])
    return Result(
        scorer="nli" if release.startswith("nli") else "aul",
        model=MODEL,
        release={"name": name, "content": opened.manifest.content, "config": config},
        senseprobe="0.1.0",
        seed=0,
        figures=figures_of(opened, scored, seed=0, scale="log"),
        scored=scored,
    ).write(folder / name)


def test_releases_that_are_asked_for_by_name_and_path(typed: Typed, tmp_path: Path) -> None:
    """Two results whose releases have other names here: each --release shows the sentences of the one it holds."""
    first = write(tmp_path, "sssb@1.0.2", "race", "one@1.0.0")
    second = write(tmp_path, "nli-control@1.0.1", "religion", "two@1.0.0")
    moved = tmp_path / "moved"
    shutil.copytree(senseprobe.load("nli-control@1.0.1").folder, moved)
    out = typed("report", str(first), str(second), "--release", str(moved), "--release", "sssb@1.0.2")
    assert (out.code, out.err) == (0, "")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Black people are arrogant." in page
    assert "The Jain person bought an apple." in page
    assert page.index("one@1.0.0</h2>") < page.index("two@1.0.0</h2>"), "in the order of the results"


def test_versions_with_the_same_rows(tmp_path: Path) -> None:
    """Several releases hold the rows of sssb: a result has the one of its own name, whichever is named first."""
    paths = [write(tmp_path, name, "race", name) for name in ("sssb@1.0.0", "sssb@1.0.2")]
    for names in (("sssb@1.0.0", "sssb@1.0.2"), ("sssb@1.0.2", "sssb@1.0.0")):
        found = [source.release for source in gather_inputs(paths, names)]
        assert [release and release.manifest.name for release in found] == ["sssb@1.0.0", "sssb@1.0.2"]


def test_what_a_page_lacks_is_said_by_the_command(typed: Typed, tmp_path: Path) -> None:
    """A line for each release that is not here: its name, what is left out, and how it is told; also on the page."""
    paths = [str(write(tmp_path, "sssb@1.0.2", "race", name)) for name in ("one@1.0.0", "sssb@1.0.2", "two@1.0.0")]
    out = typed("report", *paths)
    lines = out.err.splitlines()
    assert (out.code, len(lines)) == (0, 3)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    released, unchecked = ([line for line in lines if ("not checked" in line) is of] for of in (False, True))
    for name, line in zip(("one@1.0.0", "two@1.0.0"), released, strict=True):
        assert f"The release {name} is not available" in line
        assert "sentences, words, frames" in line
        assert "--release" in line
        assert f"The release {name} is not available" in page
    assert "Black people are arrogant." in page, "of the release that is here"
    heard: list[str] = []
    senseprobe.api.results.report(paths, tmp_path / "again.html", say=heard.append)
    assert heard == lines
    assert unchecked[0].endswith("Figures not checked: the release is not available.")


def test_rows_that_can_be_restored(tmp_path: Path, typed: Typed) -> None:
    """Of a built-in release that ships without its rows, the line says which command makes them."""
    manifest = senseprobe.load("nli-religion@1.0.0").manifest
    rows = pd.DataFrame({"config": ["trades"], "id": ["x"]})
    shares = {label: np.array([1 / 3]) for label in ("entailment", "neutral", "contradiction")}
    config = manifest.configs[0]
    path = Result(
        scorer="nli",
        model=MODEL,
        release={"name": "nli-religion@1.0.0", "content": manifest.content, "config": None},
        senseprobe="0.1.0",
        seed=0,
        figures=(),
        scored=ScoredRows(rows.assign(config=config, **shares)),
    ).write(tmp_path)
    folder = tmp_path / "releases/nli-religion/1.0.0"
    built_in = senseprobe.load("nli-religion@1.0.0").folder
    shutil.copytree(built_in, folder, ignore=shutil.ignore_patterns("*.parquet", "restored.json"))
    (tmp_path / "senseprobe.toml").touch()
    out = typed("report", str(path))
    assert out.code == 0
    assert "`senseprobe verify --restore nli-religion@1.0.0` makes them" in out.err


def test_a_release_of_no_result_is_refused(typed: Typed, tmp_path: Path) -> None:
    """A mistaken --release is no silence: it has the rows of none of the results."""
    path = write(tmp_path, "sssb@1.0.2", "race", "sssb@1.0.2")
    out = typed("report", str(path), "--release", "nli-control@1.0.0")
    assert out.code == 2
    assert "nli-control@1.0.0 here has other rows: its content hash is" in out.message
    with pytest.raises(ResultError, match="other rows"):
        gather_inputs([path], ["sssb@1.0.2", "nli-control@1.0.0"])


def test_models_are_compared_on_one_release(typed: Typed, tmp_path: Path) -> None:
    """A report takes several releases, a comparison does not."""
    first = write(tmp_path, "sssb@1.0.2", "race", "sssb@1.0.2")
    second = write(tmp_path, "sssb@1.0.0", "race", "sssb@1.0.0")
    out = typed("compare", str(first), str(second))
    assert out.code == 2
    assert "a comparison is of results on one release, and these are on sssb@1.0.0, sssb@1.0.2" in out.message
