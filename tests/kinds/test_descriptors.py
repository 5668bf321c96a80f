"""Rows of descriptors from their template to their page, and the scorers of sentences that take them as they are."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.commands import Typed, typing
from tests.conformance import causal_models
from tests.kinds.people import DESCRIPTORS, FRAMES, FRONT, write_people

from senseprobe import api
from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.scorers import SCORERS, Unit, get
from senseprobe.generator.checks import lint_paths

ALONE = ("ll", "ll-mean", "ll-no-start", "pll", "aul")
"""Scorers of a sentence that need no other one."""


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project of descriptors, which is the current folder; nothing is built yet."""
    folder = tmp_path / "project"
    write_people(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """What runs a command line."""
    return typing(monkeypatch, capfd)


def test_rows(people: Path) -> None:
    """By hand: 6 descriptors, 6 frames and 6 nouns; the article is no part of the span."""
    assert lint_paths([people / "templates"]).findings == ()
    api.build("people", "1.0.0")
    rows = api.load("people@1.0.0").to_pandas("people")
    assert len(rows) == 216
    (row,) = rows[(rows["sentence"] == "I am an old woman.")].to_dict("records")
    assert (row["descriptor"], row["noun"], row["axis"], row["group"]) == ("old", "woman", "age", "old")
    assert row["sentence"][row["sentence_span"]["start"] : row["sentence_span"]["end"]] == "old"


@pytest.mark.parametrize("scorer", [None, "pll", "aul"])
def test_masked_models_score_them(people: Path, tiny_models: dict[str, Path], scorer: str | None) -> None:
    """The numbers are those of the sentences as they are, whoever asks for them."""
    api.build("people", "1.0.0")
    (result,) = api.score(str(tiny_models["bert"]), "people@1.0.0", [scorer] if scorer else ())
    assert result.kind == "descriptor"
    assert result.scorer == (scorer or "aul")
    assert {figure.estimand for figure in result.figures} == {"descriptor-differences", "descriptor-spread"}
    rows = api.load("people@1.0.0").to_pandas("people").merge(result.rows_of("people"), on="id")
    from senseprobe.evaluate.models import masked

    model = masked.load(str(tiny_models["bert"]), device="cpu")
    numbers = get(result.scorer).numbers(model, [Unit(text) for text in rows["sentence"][:5]])
    np.testing.assert_allclose(rows["score"][:5], numbers[:, 0], rtol=1e-6)


@pytest.mark.parametrize("scorer", [None, "ll", "ll-mean"])
def test_causal_models_score_them(people: Path, scorer: str | None) -> None:
    """As masked ones do; the numbers are those of the same scorer on sentences of pairs."""
    api.build("people", "1.0.0")
    model_path = causal_models.build(people / "causal")["gpt2"]
    (result,) = api.score(str(model_path), "people@1.0.0", [scorer] if scorer else ())
    assert (result.kind, result.scorer) == ("descriptor", scorer or "ll")
    rows = api.load("people@1.0.0").to_pandas("people").merge(result.rows_of("people"), on="id")
    from senseprobe.evaluate.models import causal

    model = causal.load(str(model_path), device="cpu")
    numbers = get(result.scorer).numbers(model, [Unit(text) for text in rows["sentence"][:5]])
    np.testing.assert_allclose(rows["score"][:5], numbers[:, 0], rtol=1e-5)


def test_scorers_that_fit() -> None:
    """What scores a sentence by itself takes descriptors; what needs the other sentence of a pair does not."""
    for scorer in SCORERS.ours.values():
        taken = scorer.taking(["descriptor"])
        alone = scorer.kind == "contrast" and {*scorer.reads} <= {"text", "span"} and scorer.columns == ("score",)
        alone = alone and not (scorer.of_pairs or scorer.level or scorer.roles)
        assert (taken.kind == "descriptor") == alone
        assert scorer.taking(["descriptor", "contrast"]) is scorer
    assert all(SCORERS[name].taking(["descriptor"]).kind == "descriptor" for name in ALONE)


def test_scorers_of_pairs_are_refused(people: Path, tiny_models: dict[str, Path]) -> None:
    """The message names scorers that take these rows."""
    api.build("people", "1.0.0")
    with pytest.raises(SenseprobeError, match=r"has descriptor rows, which need a scorer such as aul \(masked\)"):
        api.score(str(tiny_models["bert"]), "people@1.0.0", ["cps"])


def read_scores(people: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The scores of the only result, in the order of the release's rows."""
    (path,) = (people / "results").rglob("aul.parquet")
    table = pd.read_parquet(path)
    return table["score"].to_numpy(dtype=np.float64)


def test_page(people: Path, tiny_models: dict[str, Path], typed: Typed) -> None:
    """A page is made of a result, and figures are computed again from its rows."""
    api.build("people", "1.0.0")
    api.score(str(tiny_models["bert"]), "people@1.0.0", ["aul"], out=people / "results")
    assert typed("report", "results", "--out", "page.html").code == 0
    page = (people / "page.html").read_text()
    assert "how far descriptors are apart, by axis" in page
    assert "people, age: mean scores" in page
    assert typed("report", "results", "--out", "page.md").code == 0
    (line,) = [line for line in (people / "page.md").read_text().splitlines() if line.startswith("| height |")]
    rows = api.load("people@1.0.0").to_pandas("people").assign(score=read_scores(people))
    height = rows[rows["axis"] == "height"]
    means = height.groupby("descriptor")["score"].mean() - height["score"].mean()
    ordered = means.sort_values(ascending=False)
    highest = ", ".join(f"{name} {mean:+.2f}" for name, mean in ordered.items())
    assert f"| 3 | {highest} |" in line
    replayed = typed("replay", *map(str, (people / "results").rglob("aul.json")))
    assert replayed.code == 0, replayed.err


@pytest.mark.parametrize(
    ("change", "code", "place"),
    [
        (("  descriptor: {list", "  word: {list"), "E102", "slots"),
        (("target: descriptor", "target: noun"), "E102", "target"),
        (("axis: descriptor.axis", "axis: descriptor.axle"), "E104", "axis"),
        (("group: descriptor.bucket", "group: descriptor.pail"), "E104", "group"),
    ],
)
def test_what_a_template_gets_wrong(people: Path, change: tuple[str, str], code: str, place: str) -> None:
    """Each mistake is found at its key."""
    template = (FRONT + FRAMES).replace(*change)
    (people / "templates/people/people.j2").write_text(template)
    found = [finding for finding in lint_paths([people / "templates"]).findings if finding.code == code]
    lines = template.splitlines()
    assert any(lines[finding.line - 1].strip().startswith(f"{place}:") for finding in found)


def findings(folder: Path) -> dict[str, str]:
    """The codes of what is found, each with its message."""
    return {finding.code: finding.message for finding in lint_paths([folder / "templates"]).findings}


def test_planted_defects(people: Path) -> None:
    """A descriptor in two axes, an axis with one descriptor, and one that others have more sentences than."""
    more = (*DESCRIPTORS, "bald,hair,bald")
    write_people(people, (FRONT + FRAMES).replace("216", "252"), more)
    assert findings(people) == {"WDES02": "a single descriptor in 'hair'"}
    package = (people / "wordlists/datapackage.yaml").read_text()
    package = package.replace("bucket, type: string}", "bucket, type: string}, {name: slug, type: string}")
    package = package.replace(
        "schema: {fields: [{name: word, type: string}, {",
        "schema: {primaryKey: [slug], fields: [{name: word, type: string}, {",
    )
    (people / "wordlists/datapackage.yaml").write_text(package)
    rows = [f"{row},{number}" for number, row in enumerate((*DESCRIPTORS, "tall,age,old"))]
    (people / "wordlists/people_descriptors.csv").write_text("\n".join(["word,axis,bucket,slug", *rows, ""]))
    assert findings(people) == {"WDES01": "in more than one axis: 'tall'"}


def test_a_descriptor_with_fewer_nouns(people: Path) -> None:
    """A second block has three descriptors with one noun only."""
    first = FRONT.replace("{list: people_descriptors}", "{list: people_descriptors, where: {axis: height}}")
    second = """---
slots:
  descriptor: {list: people_descriptors, where: {axis: age, bucket: old}}
  noun: {list: people_nouns, where: {word: woman}}
---
---
slots: {descriptor: {list: people_descriptors, where: {axis: age, bucket: young}}}
---
"""
    write_people(people, first.replace("216", "156") + FRAMES + second)
    assert findings(people) == {"WDES03": "age: 'old', 'elderly' in fewer templates or with fewer nouns than others"}
