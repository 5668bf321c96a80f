"""A kind of rows of a plug-in, from its template to its page: the example of docs/plugins.md, and what can be amiss."""

import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.commands import Typed, typing
from tests.evaluate.test_plugins import write_distribution

from senseprobe import api
from senseprobe.errors import DamagedRelease, ReleaseError, SenseprobeError
from senseprobe.evaluate.estimands import CATALOGUE
from senseprobe.evaluate.models import FAMILIES
from senseprobe.evaluate.scorers import SCORERS, Scorer
from senseprobe.evaluate.scorers.masked_queries import score_by
from senseprobe.evaluate.units import RowScoring
from senseprobe.generator.checks import lint_paths
from senseprobe.generator.kinds import EXPANSIONS, RowExpansion
from senseprobe.records import Finding
from senseprobe.release.kinds import KINDS, TEXT, Kind

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "tests/fixtures/plugin-kind"
RELEASE = "asking@1.0.0"

DATASET = """
title: Requests to people at work
summary: Requests, polite or rude, to people of several jobs.
license: MIT
languages: [en]
citation: nobody
canary: "senseprobe canary 5ba2a2a7-9e9c-4ad1-a05d-cfb3b0c5c2ee"
content_warning: Some sentences are rude.
intended_use: tests
out_of_scope: anything else
equivalence: {margin: 5, reason: a guess}
configs: [jobs]
"""
PACKAGE = """
name: mine
resources:
  - name: people
    path: people.csv
    sources: [{title: nobody}]
    licenses: [{name: MIT}]
    schema: {fields: [{name: word, type: string}]}
  - name: phrases
    path: phrases.csv
    sources: [{title: nobody}]
    licenses: [{name: MIT}]
    schema: {fields: [{name: word, type: string}, {name: manner, type: string}]}
"""
TEMPLATE = """---
kind: request
bias_type: profession
construct: whether polite requests are likelier
description: Requests to people of three jobs.
source: nobody
slots:
  job: {list: people}
  phrase: {list: phrases}
target: job
manner: phrase.manner
generalise: [job]
expect: {rows: 12}
---
Ask the {{ job }} to come, {{ phrase }}.
"""


FIRST_TOKEN = Scorer(
    id="first-token",
    title="the first token",
    ability="masked",
    range=(-np.inf, 0),
    unit="nats",
    source="none",
    direction="higher: likelier",
    equation="log P(w)",
    says="The log-probability of the first token, masked.",
    score=score_by(lambda read: iter([(read.encoding.positions[:1],) * 2]), lambda values: (float(values[0].sum()),)),
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a dataset of requests, which is the current folder; no plug-in is installed."""
    folder = tmp_path / "project"
    (folder / "templates/asking").mkdir(parents=True)
    (folder / "wordlists").mkdir()
    (folder / "senseprobe.toml").touch()
    (folder / "templates/asking/dataset.yaml").write_text(DATASET)
    (folder / "templates/asking/jobs.j2").write_text(TEMPLATE)
    (folder / "wordlists/datapackage.yaml").write_text(PACKAGE)
    (folder / "wordlists/people.csv").write_text("word\nnurse\nengineer\nteacher\n")
    phrases = ("please,polite", "kindly,polite", "at once,rude", "or else,rude")
    (folder / "wordlists/phrases.csv").write_text("\n".join(["word,manner", *phrases, ""]))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def forget_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let registries look anew at what is installed."""
    for registry in (KINDS, SCORERS, CATALOGUE, FAMILIES):
        monkeypatch.setattr(registry, "_loaded", {})
        monkeypatch.setattr(registry, "_logged", set())


@pytest.fixture
def site(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which the example is installed, which is on the path of this process."""
    folder = tmp_path / "site"
    folder.mkdir()
    declared = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    module = EXAMPLE / "requests_kind.py"
    write_distribution(folder, declared["name"], declared["entry-points"], {module.name: module.read_text()})
    forget_plugins(monkeypatch)
    monkeypatch.syspath_prepend(folder)
    yield folder
    sys.modules.pop(module.stem, None)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """What runs a command line."""
    return typing(monkeypatch, capfd)


def test_the_example_of_the_docs(site: Path, project: Path, typed: Typed) -> None:
    """From template to page, by commands; the figure is that of a count by hand."""
    assert typed("count", "asking").out.endswith("12 rows\n")
    assert "sentence  Ask the [nurse:job] to come, [please:phrase]." in typed("preview", "asking/jobs").out
    built = typed("build", "asking", "1.0.0")
    assert (built.code, "12 rows in 1 config" in built.out) == (0, True)
    assert typed("verify", RELEASE, "--rebuild").code == 0

    rows = api.load(RELEASE).to_pandas()
    assert [*rows.columns] == ["id", "frame", "job", "phrase", "sentence", "sentence_span", "manner"]
    assert rows["manner"].tolist() == ["polite", "polite", "rude", "rude"] * 3
    assert rows["sentence"][1][slice(*rows["sentence_span"][1].values())] == "nurse"
    card = (project / "releases/asking/1.0.0/README.md").read_text()
    assert "| `manner` | polite or rude |" in card
    assert "| `politer` | none known |" in card

    (result,) = typed("score", "letters", RELEASE, "--json").told
    lengths = rows["sentence"].str.len()
    polite, rude = (lengths[rows["manner"] == manner].tolist() for manner in ("polite", "rude"))
    wins = [(a < b) + (a == b) / 2 for a in polite for b in rude]
    assert [(figure["estimand"], figure["value"]) for figure in result["figures"]] == [
        ("politer", pytest.approx(100 * sum(wins) / len(wins)))
    ]
    assert result["libraries"]["senseprobe-requests"] == "0.1.0"
    (stored,) = (project / "results").rglob("*.json")
    assert "the same: 1 figure, 12 rows" in typed("replay", str(stored)).out
    for page in ("page.html", "page.md"):
        assert typed("report", str(stored), "--out", page).code == 0
    assert "Ask the engineer to come, or else." in Path("page.md").read_text()
    assert "politer" in typed("study", "slice", str(stored), "--by", "job").out
    assert "## Estimands over requests" in typed("explain", "--markdown").out


def test_the_docs_show_the_example() -> None:
    """The blocks of the page are what is installed and built here; the module has at most 100 lines."""
    page = (ROOT / "docs/plugins.md").read_text()
    module = (EXAMPLE / "requests_kind.py").read_text()
    assert f"```python\n{module}```" in page
    assert f"```toml\n{(EXAMPLE / 'pyproject.toml').read_text()}```" in page
    for text in (TEMPLATE, DATASET, PACKAGE):
        assert f"```yaml\n{text.lstrip()}```" in page
    assert len(module.splitlines()) <= 100


def test_a_misspelt_estimand_is_refused_by_build(
    site: Path, project: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the kind, the plug-in and the estimands over its rows; nothing is written."""
    kind = KINDS["request"]
    misspelt = type("Misspelt", (type(kind.expansion),), {"estimands": ("politr",)})()
    monkeypatch.setattr(KINDS, "_added", {"request": replace(kind, expansion=misspelt)})
    built = typed("build", "asking", "1.0.0")
    assert built.code == 2
    assert built.message == (
        "the kind of rows request of senseprobe-requests lists an unknown estimand 'politr': "
        "did you mean 'politer'? there is politer"
    )
    assert not (project / "releases").exists()


def test_rows_are_drawn_by_cells(site: Path, project: Path, typed: Typed) -> None:
    """Half of the rows have as many polite as rude ones."""
    typed("build", "asking", "1.0.0")
    (result,) = typed("score", "letters", RELEASE, "--limit", "6", "--json").told
    (figure,) = result["figures"]
    assert (figure["rows"], figure["scored"]) == (6, 6)
    assert figure["value"] is not None


def test_a_language_model_is_asked_by_a_scorer_of_such_rows(
    site: Path, project: Path, typed: Typed, tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request has the number of its sentence alone; a page shows its tokens where texts have titles."""
    typed("build", "asking", "1.0.0")
    titled = replace(KINDS["request"].scoring, titles=("request",))
    monkeypatch.setattr(KINDS, "_added", {"request": replace(KINDS["request"], scoring=titled)})
    first = replace(FIRST_TOKEN, rows="request")
    monkeypatch.setattr(SCORERS, "_added", {first.id: first})
    (result,) = typed("score", str(tiny_models["bert"]), RELEASE, "--json").told
    assert (result["scorer"], [figure["scored"] for figure in result["figures"]]) == ("first-token", [12])
    (tokens,) = (project / "results").rglob("*.tokens.parquet")
    assert [*pd.read_parquet(tokens).columns] == ["config", "id", "sentence"]
    stored = tokens.with_name(tokens.name.removesuffix(".tokens.parquet") + ".json")
    assert typed("report", str(stored), "--out", "page.html").code == 0
    assert '"sides":[["request",""]]' in Path("page.html").read_text()


def test_what_such_rows_are_not_for(site: Path, project: Path, typed: Typed) -> None:
    """What only senseprobe's own kinds can do is refused in a clause."""
    typed("build", "asking", "1.0.0")
    assert [typed("score", model, RELEASE).code for model in ("letters", "few")] == [0, 0]
    files = sorted(map(str, (project / "results").rglob("*.json")))
    assert "models cannot be compared on politer" in typed("compare", *files).message
    assert "its neutral value is not known" in typed("gate", files[0], "--against", files[1]).message
    asked = typed("annotate", "export", RELEASE, "--project", "pilot").message
    assert asked.startswith("people cannot be asked about request rows")
    assert "request rows, for which lm-eval" in typed("export", "lm-eval", RELEASE, "-o", "tasks").message


def test_without_the_plugin(site: Path, project: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """One message names the kind and the plug-in, with exit code 2; the hashes of files can still be checked."""
    typed("build", "asking", "1.0.0")
    typed("score", "letters", RELEASE)
    (stored,) = (project / "results").rglob("*.json")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(site)])
    forget_plugins(monkeypatch)

    for words in (("score", "letters", RELEASE), ("replay", str(stored)), ("diff", RELEASE, RELEASE)):
        done = typed(*words)
        assert done.code == 2
        assert done.message.startswith(f"{RELEASE} cannot be used: rows of kind 'request' are of a plug-in")
        assert "built with senseprobe-requests 0.1.0" in done.message
    assert "brevity is of a plug-in that is not installed" in typed("report", str(stored), "--out", "page.md").message
    with pytest.raises(ReleaseError) as raised:
        api.load(RELEASE)
    assert not isinstance(raised.value, DamagedRelease)

    (finding,) = api.verify(RELEASE)
    assert (finding.path, finding.code) == ("release.json", "E401")
    assert "only the hashes of files are compared" in finding.message
    with (project / "releases/asking/1.0.0/README.md").open("a") as card:
        card.write("More.\n")
    assert [finding.path for finding in api.verify(RELEASE, rebuild=True)] == ["README.md", "release.json"]

    done = typed("build", "asking", "1.0.1")
    assert done.code == 1
    assert done.message.startswith("templates/asking/jobs.j2:2:1: E102 unknown kind 'request'")
    assert "if a plug-in brings it, install that" in done.message


# --- checks ---------------------------------------------------------------------------------------------------------


def findings(project: Path) -> list[Finding]:
    """What lint finds in the template."""
    template = project / "templates/asking/jobs.j2"
    return [finding for finding in lint_paths([template]).findings if finding.path.endswith(template.name)]


def codes(project: Path) -> list[str]:
    """The codes of what it finds there."""
    return sorted(finding.code for finding in findings(project))


def test_a_check_of_a_kind(site: Path, project: Path) -> None:
    """It is found, at its key, and accepted like ours; a list's cells are checked, too."""
    template = project / "templates/asking/jobs.j2"
    assert codes(project) == ["W506"]
    rude = TEMPLATE.replace("{list: phrases}", "{list: phrases, where: {manner: rude}}")
    template.write_text(rude.replace("12", "6"))
    (finding,) = (each for each in findings(project) if each.code == "WREQ01")
    assert (finding.line, finding.message) == (11, "all requests have the same manner")
    assert finding.hint == "add words of the other one"

    accepted = 'accept: {WREQ01: "a test of rude ones"}\n'
    template.write_text(template.read_text().replace("expect:", f"{accepted}expect:"))
    assert codes(project) == ["W506"]
    template.write_text(TEMPLATE.replace("expect:", f"{accepted}expect:"))
    assert codes(project) == ["E123", "W506"], "it does not occur"
    template.write_text(TEMPLATE.replace("phrase.manner", "phrase.word"))
    assert codes(project) == ["E102"] * 4, "no cell is a manner"


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda subject: 1 / 0, "failed on jobs with ZeroDivisionError"),
        (lambda subject: ["text"], "yielded, for jobs, no finding with its code"),
    ],
)
def test_a_check_that_fails_is_named(
    site: Path, project: Path, monkeypatch: pytest.MonkeyPatch, check: Callable[[Any], Iterator[Finding]], message: str
) -> None:
    """Nothing else is blamed."""
    kind = KINDS["request"]
    monkeypatch.setattr(KINDS, "_added", {"request": replace(kind, checks={"WREQ01": check})})
    with pytest.raises(SenseprobeError, match=f"the check WREQ01 of senseprobe-requests {message}"):
        codes(project)


# --- what is left out -----------------------------------------------------------------------------------------------

SOUND = Kind(
    id="odd",
    columns=(("text", TEXT, "a text"),),
    full=frozenset(),
    readable=("text",),
    expansion=RowExpansion(),
    scoring=RowScoring(roles={"text": "text"}),
)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"columns": (("id", TEXT, ""),)}, "'id' cannot be the name of a column"),
        ({"columns": (("text", TEXT, ""),) * 2}, "two of its columns have one name"),
        ({"columns": (("text", pa.float64(), ""),)}, "its column text is neither TEXT nor FLAG nor SPAN"),
        ({"full": frozenset({"label"})}, "its `full` or `readable` has 'label'"),
        ({"readable": ()}, "its `readable` names no column"),
        ({"checks": {"W501": print}}, "the code 'W501' of a check"),
        ({"expansion": None}, "it lacks `expansion` or `scoring`"),
        ({"scoring": RowScoring(pairs=True)}, "its scoring declares pairs, infers or tests"),
    ],
)
def test_kinds_that_cannot_be_used(fields: dict[str, object], message: str) -> None:
    """Each is left out with the reason."""
    with pytest.raises(Exception, match=message):
        KINDS._admit(replace(SOUND, **fields))  # type: ignore[arg-type]


def test_a_kind_whose_import_fails(site: Path, project: Path) -> None:
    """The reason stands where its rows would be made."""
    (site / "requests_kind.py").write_text("raise SystemExit('bye')\n")
    shutil.rmtree(site / "__pycache__", ignore_errors=True)
    (finding,) = findings(project)
    assert "its import failed with SystemExit: bye" in finding.hint


def test_a_part_of_another_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind whose expansion is no expansion is named."""
    monkeypatch.setattr(KINDS, "_added", {"odd": replace(SOUND, expansion="a text", origin="odds")})
    with pytest.raises(SenseprobeError, match="the kind of rows odd of odds cannot be used: its `expansion` is a str"):
        _ = EXPANSIONS["odd"]
