"""Plug-ins: the example of docs/plugins.md the whole way, and every way in which one can be of no use to anybody else.

Distributions are made on the spot: a folder on the path with modules, and what pip would write beside them.
"""

import json
import logging
import os
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from huggingface_hub import constants as hub_constants
from tests.commands import typing
from tests.tiny_release import write_release

from senseprobe import api
from senseprobe.errors import ModelError, ResultError, SenseprobeError
from senseprobe.evaluate import models
from senseprobe.evaluate.cache import Store
from senseprobe.evaluate.declaration import Declaration
from senseprobe.evaluate.estimands import CATALOGUE, Estimand, check_additional, figures
from senseprobe.evaluate.models import FAMILIES
from senseprobe.evaluate.models.registry import answers_of
from senseprobe.evaluate.scorers import SCORERS, get
from senseprobe.evaluate.units import Unit
from senseprobe.records import Design

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "tests/fixtures/plugin"
MASKED = ROOT / "tests/fixtures/plugin-masked"
EARLIER = ROOT / "tests/fixtures/plugin-0.2"
Install = Callable[..., None]

SCORER = """
from senseprobe.evaluate.scorers import Scorer

def score(model, units, done):
    yield [(unit, (float(len(unit.text)),)) for unit in units if unit not in done]

COMMON = dict(title="t", ability="masked", range=(0, 1e9), direction="higher: more", unit="letters", source="none",
              equation="|S|", says="Letters.", score=score)
"""
ESTIMAND = """
from dataclasses import fields, replace
import numpy as np
from senseprobe.evaluate.estimands import Estimand
from senseprobe.records import Figure

def figure(name, config, **told):
    counts = dict(rows=1, scored=1, unscored=0, ties=0)
    return Figure(**{**dict(config=config, sense_type="", estimand=name, value=1.0), **counts, **told})

COMMON = dict(title="t", range=(0, 100), direction="above 0: more", source="none", says="More.", cannot_say="")
"""
FAMILY = """
from types import SimpleNamespace
from senseprobe.evaluate.models import Family

PARTS = ("weights", "config", "tokenizer", "dtype")

def load(spec, **how):
    return SimpleNamespace(ability="counting", identity=dict.fromkeys(PARTS, "1"), how=how)
"""
SLOTS = """
class Slots:
    __slots__ = ("identity",)
    ability = "counting"

def load(spec, **how):
    made = Slots()
    made.identity = dict.fromkeys(PARTS, "1")
    return made
"""
FRESH = """
class Fresh:
    ability = "counting"
    identity = property(lambda self: dict.fromkeys(PARTS, "1"))

def load(spec, **how):
    return Fresh()
"""


def write_distribution(
    folder: Path, name: str, entries: Mapping[str, Mapping[str, str]], files: Mapping[str, str]
) -> None:
    """Put into `folder` what pip does: modules, and the metadata of the distribution."""
    for file, text in files.items():
        (folder / file).write_text(text)
    about = folder / f"{name.replace('-', '_')}-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    lines = [f"[{group}]\n" + "".join(f"{key} = {to}\n" for key, to in held.items()) for group, held in entries.items()]
    (about / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs into this process, for the test: `install(distribution, group, {entry: target}, {file: text})`."""
    known = {*sys.modules}

    def put(name: str, group: str, entries: Mapping[str, str], files: Mapping[str, str]) -> None:
        folder = tmp_path / name
        folder.mkdir()
        write_distribution(folder, name, {f"senseprobe.{group}": entries}, files)
        monkeypatch.syspath_prepend(folder)

    for catalogue in (SCORERS, CATALOGUE, FAMILIES):  # what another test's plug-in of the same name led to
        monkeypatch.setattr(catalogue, "_loaded", {})
        monkeypatch.setattr(catalogue, "_logged", set())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield put
    for module in {*sys.modules} - known:
        if module.startswith("plugged_"):
            del sys.modules[module]


# --- the example ------------------------------------------------------------------------------------------------------

InstallExample = Callable[[Path], None]


@pytest.fixture
def install_example(
    install: Install, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InstallExample]:
    """Installs an example of the docs into this process, for the test; its module is forgotten after it."""
    assert install is not None, "which has catalogues without a memory"
    put: list[str] = []

    def install_source(source: Path) -> None:
        folder = tmp_path_factory.mktemp("installed")
        told = tomllib.loads((source / "pyproject.toml").read_text())["project"]
        (module,) = source.glob("*.py")
        write_distribution(folder, told["name"], told["entry-points"], {module.name: module.read_text()})
        monkeypatch.syspath_prepend(folder)
        put.append(module.stem)

    yield install_source
    for module in put:
        sys.modules.pop(module, None)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command prints, in an empty folder; it must complain of nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub_constants, "HF_HUB_OFFLINE", True)
    typed = typing(monkeypatch, capfd)

    def run_command(*words: str) -> str:
        done = typed(*words)
        assert (done.code, done.err) == (0, "")
        return done.out

    return run_command


def test_the_example_of_the_docs(install_example: InstallExample, run: Callable[..., str], tmp_path: Path) -> None:
    """Installed, scored, listed and replayed through the command; the figures are those of a count by hand."""
    assert "shortness" not in run("explain")
    install_example(EXAMPLE)
    told = run("score", "abc", "sssb@1.0.1:race", "--estimand", "ties", "--json")
    (result,) = json.loads(told)
    rows = api.load("sssb@1.0.1").table("race")
    longer = [len(stereo) - len(anti) for stereo, anti in zip(rows["stereo"], rows["anti"], strict=True)]
    found = {figure["estimand"]: figure for figure in result["figures"]}
    assert found["ties"]["value"] == pytest.approx(100 * longer.count(0) / len(longer))
    assert found["preference"]["value"] == pytest.approx(100 * sum(n < 0 for n in longer) / len(longer) - 50)
    assert result["scorer"] == "shortness"
    assert result["model"]["family"] == "counter"
    assert result["libraries"]["senseprobe-shortness"] == "0.1.0"
    assert "family=counter" in result["signature"]

    listed = run("explain")
    assert "shortness" in listed
    assert "Pairs as long" in listed
    assert "Plug-in: senseprobe-shortness." in run("explain", "shortness")
    assert "shortness" in run("explain", "--markdown")
    (written,) = (tmp_path / "results").rglob("*.json")
    assert "\nthe same: " in "\n" + run("replay", str(written))
    run("report", str(written), "--out", "page.md")
    assert "ties" in (tmp_path / "page.md").read_text()


def test_a_plugin_with_the_old_names_of_fields(
    install_example: InstallExample, run: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    """The example as it was in 0.2 declares the same and scores, with one notice of each declaration."""
    install_example(EARLIER)
    (result,) = json.loads(run("score", "abc", "sssb@1.0.1:race", "--estimand", "ties", "--json"))
    assert "ties" in {figure["estimand"] for figure in result["figures"]}
    assert sorted(caplog.messages) == [
        "the Estimand ties has old names of fields, which still work: `low`, `high` is now `range`",
        (
            "the Scorer shortness has old names of fields, which still work: `measure` is now `unit`, `paper` is now "
            "`source`, `description` is now `says`"
        ),
    ]
    today = runpy.run_path(str(EXAMPLE / "shortness.py"))
    for earlier, new in ((SCORERS["shortness"], today["SHORTNESS"]), (CATALOGUE["ties"], today["TIES"])):
        names = [field.name for field in fields(Declaration) if field.name != "origin"]
        assert [getattr(earlier, name) for name in names] == [getattr(new, name) for name in names]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"low": 0}, "Estimand has low: declare `range` in its place"),
        ({"low": 0, "high": 1, "range": (0, 1)}, "Estimand has low: declare `range` in its place"),
    ],
)
def test_old_and_new_names_of_a_field(declared: dict[str, Any], message: str) -> None:
    """Half a range, or two, is an error that names the field."""
    common: dict[str, Any] = {"id": "x", "title": "t", "direction": "d", "source": "s", "says": "s"}
    with pytest.raises(TypeError, match=message):
        Estimand(**common, **declared)


@pytest.mark.slow
def test_a_command_a_section_and_a_measure_of_the_docs(tmp_path: Path) -> None:
    """The module that docs/plugins.md shows is installed: its command runs, its section is in reports, its name listed.

    The longest sentence is counted by hand from the release's table.
    """
    page = (ROOT / "docs/plugins.md").read_text(encoding="utf-8")
    module = next(block for block in re.findall(r"```python\n(.*?)```", page, re.S) if "AddedCommand" in block)
    entries = next(block for block in re.findall(r"```toml\n(.*?)```", page, re.S) if "widths:" in block)
    example = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    groups = tomllib.loads(entries)["project"]["entry-points"] | example["entry-points"]
    files = {"widths.py": module, "shortness.py": (EXAMPLE / "shortness.py").read_text()}
    (tmp_path / "installed").mkdir()
    write_distribution(tmp_path / "installed", "senseprobe-widths", groups, files)
    path = os.pathsep.join(filter(None, [str(tmp_path / "installed"), os.environ.get("PYTHONPATH")]))
    environment = {"PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}

    def run(*words: str) -> str:
        command = [sys.executable, "-P", "-m", "senseprobe", *words]
        ran = subprocess.run(
            command, cwd=tmp_path, env=os.environ | environment, capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout

    longest = max(map(len, api.load("sssb@1.0.1").table("race")["stereo"]))
    assert json.loads(run("study", "width", "sssb@1.0.1", "--json"))["race"] == longest
    assert f"race: {longest} letters\n" in run("study", "width", "sssb@1.0.1")
    assert "senseprobe study width sssb@1.1.0 --json" in run("study", "width", "--help")
    assert "Plug-in: senseprobe-widths." in run("explain", "width")
    assert "abc: " in run("score", "abc", "sssb@1.0.1:race", "--estimand", "ties").partition("How many figures")[2]
    run("report", "results", "-o", "page.md")
    assert "## How many figures" in (tmp_path / "page.md").read_text(encoding="utf-8")


COMMANDS = """
from senseprobe.cli.command import AddedCommand, Command, as_it_is
from senseprobe.cli.console import print_line

def letters() -> str:
    \"\"\"Print letters.\"\"\"
    return "abc"

LETTERS = AddedCommand(id="letters", group="words", command=Command(letters, print_line, as_it_is))
LOST = AddedCommand(id="lost", group="wrods", command=Command(letters, print_line, as_it_is))
"""


def test_a_command_whose_group_does_not_exist(tmp_path: Path) -> None:
    """It is named in a notice, with the groups that exist; one in a group of any panel runs."""
    entries = {"senseprobe.commands": {"letters": "plugged_letters:LETTERS", "lost": "plugged_letters:LOST"}}
    write_distribution(tmp_path, "acme-words", entries, {"plugged_letters.py": COMMANDS})
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "senseprobe", "words", "letters"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "abc\n")
    notice = (
        "the command lost of acme-words is ignored: there is no group 'wrods': did you mean 'words'? there is words, "
    )
    assert ran.stderr.startswith(f"{notice}annotate, model, study")
    assert len(ran.stderr.splitlines()) == 1


def test_the_example_of_the_docs_in_a_process_of_its_own(tmp_path: Path) -> None:
    """What is on the path of a new interpreter is found, and is what scored; without it, nothing is."""
    told = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    (tmp_path / "installed").mkdir()
    write_distribution(
        tmp_path / "installed",
        told["name"],
        told["entry-points"],
        {"shortness.py": (EXAMPLE / "shortness.py").read_text()},
    )
    path = os.pathsep.join(filter(None, [str(tmp_path / "installed"), os.environ.get("PYTHONPATH")]))
    for environment, code in (({"PYTHONPATH": path}, 0), ({}, 2)):
        ran = subprocess.run(
            [sys.executable, "-m", "senseprobe", "score", "abc", "sssb@1.0.1:race", "--estimand", "ties", "--json"],
            cwd=tmp_path,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1", **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code
        assert (ran.stderr == "") == (code == 0)
        assert ("senseprobe-shortness" in ran.stdout) == (code == 0)


def test_the_masked_example_of_the_docs(
    install_example: InstallExample, run: Callable[..., str], tiny_models: dict[str, Path], tmp_path: Path
) -> None:
    """Its numbers are those of transformers alone, a token at a time; what its figure leaves out is counted."""
    install_example(MASKED)
    words = ("--scorer", "rarest", "--estimand", "likelier", "--json")
    (result,) = json.loads(run("score", str(tiny_models["bert"]), "sssb@1.0.1:noun", *words))
    rows = api.load("sssb@1.0.1").table("noun")
    found = {figure["estimand"]: figure for figure in result["figures"]}["likelier"]
    # CHANGELOG and templates/sssb/README.md: 186 pairs, of which four are contested; all are labelled.
    assert (found["rows"], found["scored"], found["left_out"]) == (182, 182, {"contested": 4, "unlabelled": 0})
    (written,) = (path for path in (tmp_path / "results").rglob("*.parquet") if ".tokens" not in path.suffixes)
    numbers = pd.read_parquet(written)
    least = _least(tiny_models["bert"], [*rows["stereo"], *rows["anti"]])
    for role in ("stereo", "anti"):
        np.testing.assert_allclose(numbers[f"{role}_score"], [least[text] for text in rows[role]], rtol=1e-5)
    ahead = (numbers["stereo_score"] > numbers["anti_score"]).to_numpy()[~rows["contested"].to_numpy()]
    assert found["value"] == pytest.approx(100 * ahead.sum() / 182)

    model = str(tiny_models["bert"])
    (result,) = json.loads(run("score", model, "sssb@1.0.1:race-groups", *words))
    found = {figure["estimand"]: figure for figure in result["figures"]}["likelier"]
    assert (found["rows"], found["left_out"]) == (108, {"contested": 0, "unlabelled": 432})


def _least(folder: Path, texts: Iterable[str]) -> dict[str, float]:
    """The lowest log-probability of a token, that token masked, of each text."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForMaskedLM.from_pretrained(folder).eval()
    least = {}
    for text in dict.fromkeys(texts):
        ids = tokenizer(text, return_tensors="pt")["input_ids"][0]
        places = torch.arange(1, len(ids) - 1)  # between [CLS] and [SEP]
        masked = ids.repeat(len(places), 1)
        masked[torch.arange(len(places)), places] = tokenizer.mask_token_id
        with torch.inference_mode():
            logits = model(input_ids=masked).logits.double()
        told = logits.log_softmax(-1)[torch.arange(len(places)), places, ids[places]]
        least[text] = float(told.min())
    return least


@pytest.mark.parametrize(("source", "name"), [(EXAMPLE, "shortness.py"), (MASKED, "rarest.py")])
def test_the_docs_show_the_example(source: Path, name: str) -> None:
    """The blocks of the page are the files that the test installs, and the module has under 40 lines."""
    page = (ROOT / "docs/plugins.md").read_text()
    module, project = ((source / file).read_text() for file in (name, "pyproject.toml"))
    assert f"```python\n{module}```" in page
    assert f"```toml\n{project}```" in page
    assert len(module.splitlines()) < 40


# --- what is left out, and that nothing else is -----------------------------------------------------------------------

OURS = [name for name in SCORERS if not SCORERS[name].origin]
BROKEN: list[tuple[str, str, str, str]] = [
    ("raises", "1 / 0", "X", "its import failed with ZeroDivisionError: division by zero"),
    ("leaves", "raise SystemExit('bye')", "X", "its import failed with SystemExit: bye"),
    ("absent", "", "X", "its import failed with AttributeError: module 'plugged_absent' has no attribute 'X'"),
    ("lacks", f"{SCORER}\nX = Scorer(id='lacks')", "X", "its import failed with TypeError"),
    ("wrong", "X = 'a text'", "X", "its entry point leads to a str, not to a Scorer"),
    ("renamed", f"{SCORER}\nX = Scorer(id='other', **COMMON)", "X", "named renamed, but the object's id is other"),
    ("textless", f"{SCORER}\nX = Scorer(id='textless', **{{**COMMON, 'source': 1}})", "X", "its source is not text"),
    ("wide", f"{SCORER}\nX = Scorer(id='wide', columns=('a', 'b'), **COMMON)", "X", "its columns are a, b, but"),
    ("rows", f"{SCORER}\nX = Scorer(id='rows', rows='all', **COMMON)", "X", "its rows are all, but"),
    ("reader", f"{SCORER}\nX = Scorer(id='reader', reads=('frame',), **COMMON)", "X", "it reads frame, but"),
    ("still", f"{SCORER}\nX = Scorer(id='still', **{{**COMMON, 'score': 1}})", "X", "its score is not a function"),
    (
        "reversed",
        f"{SCORER}\nX = Scorer(id='reversed', **{{**COMMON, 'range': (1, 0)}})",
        "X",
        "its range is not a lower",
    ),
    ("lettered", f"{SCORER}\nX = Scorer(id='lettered', **{{**COMMON, 'range': (0, 'a')}})", "X", "its range is not"),
    ("endless", f"{SCORER}\nX = Scorer(id='endless', **{{**COMMON, 'range': (0, 10**400)}})", "X", "OverflowError"),
    ("bare", f"{SCORER}\nX = Scorer(id='bare', columns=None, **COMMON)", "X", "its columns are None, but figures"),
    ("counted", f"{SCORER}\nX = Scorer(id='counted', reads=5, **COMMON)", "X", "it reads 5, but can read only text"),
    (
        "nested",
        f"{SCORER}\nX = Scorer(id='nested', reads=[[1]], **COMMON)",
        "X",
        "it reads [1], but can read only text",
    ),
    (
        "partial",
        f"{SCORER}\nX = Scorer(id='partial', basis='ll', **COMMON)",
        "X",
        "it declares basis, parts or combine",
    ),
    ("a/b", f"{SCORER}\nX = Scorer(id='a/b', **COMMON)", "X", "its id may contain only letters, digits and .-_@+"),
    ("quits", "class Quit(BaseException): pass\nraise Quit('x')", "X", "its import failed with Quit: x"),
    (
        "dumb",
        "class Dumb(Exception):\n    __str__ = None\nraise Dumb",
        "X",
        "import failed with Dumb: without a message",
    ),
    ("open", "raise OSError('403 of hf_' + 'Q' * 34)", "X", "its import failed with OSError: 403 of hf_…"),
    (
        "hidden",
        f"{SCORER}\nclass Hidden(Scorer):\n    version = property(lambda self: 1 / 0)\nX = object.__new__(Hidden)",
        "X",
        "inspecting it failed with AttributeError",
    ),
    ("point", f"{SCORER}\nX = Scorer(id='point', **{{**COMMON, 'range': 1}})", "X", "its range is not a lower"),
]


@pytest.mark.parametrize(("name", "text", "target", "reason"), BROKEN, ids=[each[0] for each in BROKEN])
def test_what_is_of_no_use(
    name: str, text: str, target: str, reason: str, install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    """Who asks for it hears why, in a sentence that names the distribution; a listing says so once and has the rest."""
    module = f"plugged_{name.replace('/', '_')}"
    files = {f"{module}.py": text, "plugged_good.py": f"{SCORER}\nGOOD = Scorer(id='good', **COMMON)"}
    install("acme-bias", "scorers", {name: f"{module}:{target}", "good": "plugged_good:GOOD"}, files)
    with pytest.raises(SenseprobeError, match=f"the scorer {name} of acme-bias is ignored: ") as refused:
        get(name)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)
    assert name not in SCORERS
    with caplog.at_level(logging.WARNING, "senseprobe"):
        assert [*SCORERS] == [*OURS, "good"]
        assert [*SCORERS] == [*OURS, "good"]
    assert [record.getMessage() for record in caplog.records] == [str(refused.value)]
    assert get("good").origin == "acme-bias"


def test_a_name_that_is_taken(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    """Ours stays ours, without the other's being imported; who asks for it hears that there is another."""
    install("acme-bias", "scorers", {"aul": "plugged_taken:X"}, {"plugged_taken.py": "1 / 0"})
    ours = SCORERS["aul"]
    assert not caplog.records
    assert get("aul") is ours
    assert [record.getMessage() for record in caplog.records] == [
        "the scorer aul of acme-bias is ignored: senseprobe has one of that name"
    ]
    assert [*SCORERS] == OURS
    assert "plugged_taken" not in sys.modules


def test_two_of_one_name(install: Install) -> None:
    """Neither is used: whose numbers these are must not depend on the order of a folder."""
    for number, name in enumerate(("acme-bias", "other-bias")):
        files = {f"plugged_two{number}.py": f"{SCORER}\nX = Scorer(id='two', **COMMON)"}
        install(name, "scorers", {"two": f"plugged_two{number}:X"}, files)
    with pytest.raises(SenseprobeError, match="acme-bias and other-bias both bring one of that name; uninstall one"):
        get("two")
    assert [*SCORERS] == OURS


def test_an_unknown_name_lists_plug_ins_too(install: Install) -> None:
    """What there is to choose from includes what is installed."""
    install(
        "acme-bias",
        "scorers",
        {"own": "plugged_own:X"},
        {"plugged_own.py": f"{SCORER}\nX = Scorer(id='own', **COMMON)"},
    )
    with pytest.raises(SenseprobeError, match=r"unknown scorer owm: did you mean 'own'\? there is aul, .*, own$"):
        get("owm")


def test_nothing_is_imported_before_it_is_asked_for(tmp_path: Path) -> None:
    """Neither help, nor the catalogues, nor one of ours imports a plug-in."""
    groups = {f"senseprobe.{group}": {"x": "plugged_noisy:X"} for group in ("scorers", "estimands", "models")}
    write_distribution(tmp_path, "noisy", groups, {"plugged_noisy.py": "print('imported')"})
    program = (
        "from senseprobe.cli.application import app\n"
        "from senseprobe.evaluate.scorers import SCORERS, get\n"
        "from senseprobe.evaluate.estimands import CATALOGUE\n"
        "from senseprobe.evaluate.models import FAMILIES, title_of\n"
        "get('aul'), SCORERS['pll'], CATALOGUE['nn'], FAMILIES['masked'], title_of('causal'), 'nli' in SCORERS\n"
        "try:\n    app(['score', '--help'])\nexcept SystemExit:\n    pass\n"
        "import sys; assert 'plugged_noisy' not in sys.modules and 'torch' not in sys.modules\n"
        "list(FAMILIES)\nassert 'plugged_noisy' in sys.modules"
    )
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)


# --- scorers ----------------------------------------------------------------------------------------------------------


def test_a_scorer_on_our_models(install: Install, tiny_models: dict[str, Path]) -> None:
    """It is asked for distinct sentences, and its numbers are kept by its version and its distribution."""
    text = f"{SCORER}\nX = Scorer(id='letters', **COMMON)"
    install("acme-bias", "scorers", {"letters": "plugged_letters:X"}, {"plugged_letters.py": text})
    (result,) = api.score(str(tiny_models["bert"]), "sssb@1.0.1:race", ["letters"])
    rows = api.load("sssb@1.0.1").table("race")
    assert result.rows is not None
    assert result.rows["stereo_score"].tolist() == [float(len(text)) for text in rows["stereo"]]
    assert result.libraries["acme-bias"] == "0.1.0"

    model, unit = models.load(str(tiny_models["bert"])), Unit(rows["stereo"].iloc[0])
    ours = get("letters")
    known = {}
    for other in (ours, replace(ours, version=2), replace(ours, origin="other-bias"), replace(ours, origin="")):
        with Store(model.identity, other, pytest.fail) as store:
            known[other.version, other.origin] = store.load([unit])
    assert known == {
        (1, "acme-bias"): {unit: (float(len(unit.text)),)},
        (2, "acme-bias"): {},
        (1, "other-bias"): {},
        (1, ""): {},
    }


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a release of two pairs."""
    folder = tmp_path_factory.mktemp("tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_release(folder)
    return str(folder / "releases" / "tiny" / "1.0.0")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise KeyError('lost')", "the scorer odd, a plug-in, failed with KeyError: 'lost'"),
        ("yield [(unit, (1.0, 2.0)) for unit in units]", "2 numbers instead of 1"),
        ("yield [(next(iter(units))._replace(text='else'), (1.0,))]", "returned a unit that was not requested"),
        ("yield [(unit, ('many',)) for unit in units]", "the scorer odd, a plug-in, failed with ValueError"),
        ("return None", "the scorer odd, a plug-in, failed with TypeError"),
        ("return 5", "the scorer odd, a plug-in, failed with TypeError"),
        ("yield None", "the scorer odd, a plug-in, failed with TypeError"),
        ("import sys; sys.exit(0); yield", "the scorer odd, a plug-in, failed with SystemExit: 0"),
        ("raise GeneratorExit; yield", "the scorer odd, a plug-in, failed with GeneratorExit"),
        ("raise type('E', (BaseException,), {})('x'); yield", "the scorer odd, a plug-in, failed with E: x"),
        ("raise RuntimeError('token hf_' + 'S' * 34); yield", "RuntimeError: token hf_…"),
        ("yield [(unit, (-0.5,)) for unit in units]", "a plug-in, returned -0.5, outside its range 0 to 1e+09"),
        ("yield [(unit, (float('inf'),)) for unit in units]", "a plug-in, returned inf, outside its range 0 to 1e+09"),
    ],
)
def test_a_scorer_that_fails(body: str, reason: str, install: Install, tiny_models: dict[str, Path], tiny: str) -> None:
    """Whatever it does while it scores is one message, and not a traceback."""
    text = f"{SCORER}\ndef odd(model, units, done):\n    {body}\nX = Scorer(id='odd', **{{**COMMON, 'score': odd}})"
    install("acme-bias", "scorers", {"odd": "plugged_odd:X"}, {"plugged_odd.py": text})
    with pytest.raises(SenseprobeError) as failed:
        api.score(str(tiny_models["bert"]), tiny, ["odd"], limit=4)
    assert reason in str(failed.value)


def test_interrupting_a_scorer(install: Install, tiny_models: dict[str, Path], tiny: str) -> None:
    """Ctrl-C is nobody's mistake, and stops all."""
    text = f"{SCORER}\ndef odd(*_):\n    raise KeyboardInterrupt\nX = Scorer(id='odd', **{{**COMMON, 'score': odd}})"
    install("acme-bias", "scorers", {"odd": "plugged_odd:X"}, {"plugged_odd.py": text})
    with pytest.raises(KeyboardInterrupt):
        api.score(str(tiny_models["bert"]), tiny, ["odd"], limit=4)


def test_a_number_that_is_infinite(install: Install) -> None:
    """Within a range without an end it is a number that is not there; what computing adds to an end is let pass."""
    body = "yield [(unit, (float('-inf') if unit.text == 'a' else 1e-9,)) for unit in units]"
    told = "'score': odd, 'range': (float('-inf'), 0)"
    text = f"{SCORER}\ndef odd(model, units, done):\n    {body}\nX = Scorer(id='odd', **{{**COMMON, {told}}})"
    install("acme-bias", "scorers", {"odd": "plugged_odd:X"}, {"plugged_odd.py": text})
    numbers = get("odd").numbers(None, [Unit("a"), Unit("b")])
    assert np.isnan(numbers[0, 0])
    assert numbers[1, 0] == 1e-9


# --- estimands --------------------------------------------------------------------------------------------------------

ROWS = pd.DataFrame({"stereo_score": [1.0], "anti_score": [0.0]})
DESIGN = Design(kind="contrast", sense_type="", bias_type="", slots=(), roles={}, factors=(), estimands=("own",))


def put_estimand(install: Install, body: str, **told: object) -> None:
    """Install an estimand whose function has a body of one line."""
    text = f"{ESTIMAND}\ndef own(rows, design, config, seed):\n    {body}\n"
    text += f"X = Estimand(id='own', **{{**COMMON, 'figures': own, **{told!r}}})"
    install("acme-bias", "estimands", {"own": "plugged_figure:X"}, {"plugged_figure.py": text})


def test_an_estimand_is_computed_where_it_is_asked_for(install: Install) -> None:
    """It gets rows of its own, the config and the seed; whatever it does to the rows, ours are as they were."""
    put_estimand(
        install,
        "rows['stereo_score'] = seed; return [figure('own', config, value=float(seed + rows['stereo_score'][0]))]",
    )
    (made,) = figures(ROWS, DESIGN, "race", seed=7)
    assert (made.value, made.config, made.estimand) == (14.0, "race", "own")
    assert ROWS["stereo_score"].tolist() == [1.0]
    assert CATALOGUE["own"].origin == "acme-bias"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return [1 / 0]", "the estimand own of acme-bias failed on race with ZeroDivisionError"),
        ("return 5", "the estimand own of acme-bias failed on race with TypeError"),
        ("return ['text']", "returned, for race, a str, not a Figure"),
        ("return [figure('preference', config)]", "returned, for race, a figure preference of race"),
        ("return [figure('own', 'verb')]", "returned, for race, a figure own of verb"),
        ("return [figure('own', config, value=100.5)]", "a figure of 100.5, outside its range"),
        ("return [figure('own', config, value=float('nan'))]", "a figure that no file can hold"),
        ("return [figure('own', config, rows=np.int64(4))]", "a figure that no file can hold"),
        ("return [figure('own', config, group=5)]", "a figure whose group is amiss (Input should be a valid string)"),
        ("return [figure('own', config, rows=1.5)]", "a figure whose rows is amiss"),
        ("return [figure('own', config, note=None)]", "a figure whose note is amiss"),
        ("return [figure('own', config, levels=[1])]", "a figure whose levels is amiss"),
        ("return [figure('own', config, left_out=None)]", "a figure whose left_out is amiss"),
        ("return [figure('own', config, fixed='abc')]", "a figure whose fixed is amiss"),
        ("return [figure('own', config, p='x')]", "a figure whose p is amiss"),
        ("return [figure('own', config, value='x')]", "a figure whose value is amiss"),
        ("return [figure('own', config, value=True)]", "a figure whose value is amiss"),
        ("return [figure('own', config, p=-3.0)]", "returned, for race, a p-value outside 0 to 1"),
        ("return [figure('own', config, rows=-3)]", "a figure whose rows are not those that are scored"),
        ("return [figure('own', config, scored=9)]", "a figure whose rows are not those that are scored"),
        ("return [figure('own', config, low=90.0, high=10.0)]", "returned, for race, a figure outside its interval"),
        ("return [figure('own', config, low=2.0)]", "returned, for race, a figure outside its interval"),
        ("return [figure('own', config), figure('own', config)]", "returned, for race, a figure twice"),
        ("return [object.__new__(Figure)]", "the estimand own of acme-bias failed on race with AttributeError"),
        ("import sys; sys.exit(0)", "the estimand own of acme-bias failed on race with SystemExit: 0"),
    ],
)
def test_an_estimand_that_fails(body: str, reason: str, install: Install) -> None:
    """Whatever it does is one message that names it."""
    put_estimand(install, body)
    with pytest.raises(ResultError) as failed:
        figures(ROWS, DESIGN, "race")
    assert reason in str(failed.value)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"figures": None}, "its `figures` is not a function"),
        ({"kind": "association"}, "it takes association rows"),
        ({"range": ("none", 100)}, "its range is not two finite numbers"),
        ({"range": (True, 100)}, "its range is not two finite numbers"),
        ({"range": 100}, "its range is not two finite numbers"),
        ({"range": (100, 100)}, "its range is not a lower and an upper end"),
        ({"kind": ["contrast"]}, "its kind is not text"),
    ],
)
def test_an_estimand_of_no_use(told: dict[str, object], reason: str, install: Install) -> None:
    """What is declared amiss is left out."""
    put_estimand(install, "return []", **told)
    with pytest.raises(SenseprobeError, match=reason):
        CATALOGUE.find("own")


def test_only_plug_ins_are_asked_for_by_name(install: Install, tiny_models: dict[str, Path]) -> None:
    """Ours are a release's to ask for; one that is unknown, or over other rows, is told before a model is loaded."""
    put_estimand(install, "return []", kind="inference")
    with pytest.raises(SenseprobeError, match="preference is not from a plug-in"):
        check_additional(["preference"], ["contrast"])
    for name, reason in (
        ("owm", "unknown estimand owm"),
        ("own", "own takes inference rows, and these are contrast"),
    ):
        with pytest.raises(SenseprobeError, match=reason):
            api.score("no/such-model", "sssb@1.0.1:race", estimands=[name])


def test_added_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process can have one of its own that no distribution brings."""
    own = Estimand(
        id="own", title="t", range=(0, 1), direction="d", source="s", says="s", cannot_say="", figures=lambda *_: [1],
    )  # fmt: skip
    monkeypatch.setitem(CATALOGUE, "own", own)
    assert CATALOGUE.find("own") is own
    with pytest.raises(ResultError, match="the estimand own of this process returned, for race, a int, not a Figure"):
        figures(ROWS, DESIGN, "race")


# --- models -----------------------------------------------------------------------------------------------------------


def put_family(install: Install, name: str = "odd", rest: str = "", **told: str) -> None:
    """Install a family that claims any model whose config.json says ``"kind": NAME``; `told` are expressions."""
    fields = {
        "id": repr(name), "ability": "'counting'", "title": "'an odd model'", "load": "load",
        "claims": f"lambda spec, config: config.get('kind') == {name!r}", **told,
    }  # fmt: skip
    declared = ", ".join(f"{key}={value}" for key, value in fields.items())
    text = f"{FAMILY}\n{rest}\nX = Family({declared})"
    install(f"acme-{name}", "models", {name: f"plugged_{name}:X"}, {f"plugged_{name}.py": text})


@pytest.fixture
def odd(tmp_path: Path) -> str:
    """A folder with a config.json that transformers would not understand."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text('{"kind": "odd"}')
    return str(tmp_path / "model")


def test_a_family_claims_by_config(install: Install, odd: str, tiny_models: dict[str, Path]) -> None:
    """What it claims it loads, with what loading is told; all others are loaded as ever."""
    put_family(install)
    assert models.ability_of(odd) == "counting"
    model = models.load(odd, dtype="float64", batch_tokens=7)
    told = {"device": "auto", "dtype": "float64", "allow_pickle": False, "batch_tokens": 7}
    assert (model.how, model.identity["family"]) == (told, "odd")  # type: ignore[attr-defined]
    assert models.ability_of(str(tiny_models["bert"])) == "masked"
    assert "family" not in models.load(str(tiny_models["bert"])).identity
    assert models.title_of("counting") == "an odd model"
    with pytest.raises(ModelError, match="no scorer works with an odd model"):
        api.score(odd, "sssb@1.0.1:race")
    with pytest.raises(ModelError, match=r"the scorer aul needs a masked language model, but .* is an odd model"):
        api.score(odd, "sssb@1.0.1:race", ["aul"])


def test_two_families_claim_a_model(install: Install, odd: str) -> None:
    """Which of them is right nobody knows."""
    put_family(install)
    put_family(install, "even", claims="lambda spec, config: True")
    with pytest.raises(ModelError, match="even of acme-even and odd of acme-odd both claim it"):
        models.ability_of(odd)


@pytest.mark.parametrize(
    ("told", "rest", "reason"),
    [
        ({}, "def load(spec, **how): raise OSError('gone')", "odd of acme-odd failed with OSError: gone"),
        ({}, "def load(spec, **how): return None", "odd of acme-odd failed with AttributeError"),
        ({"ability": "'masked'"}, "", "odd of acme-odd made one with the ability counting, not masked"),
        (
            {},
            "load = lambda spec, **_: SimpleNamespace(ability='counting', identity={})",
            "odd of acme-odd gives a weights that is not one line of text",
        ),
        (
            {},
            "load = lambda s, **_: SimpleNamespace(ability='counting', identity=dict.fromkeys(PARTS, 1))",
            "odd of acme-odd gives a weights that is not one line of text",
        ),
        (
            {},
            FRESH,
            "odd of acme-odd makes a new identity each time",
        ),
        ({}, "def load(*_, **how): raise SystemExit(0)", "odd of acme-odd failed with SystemExit: 0"),
        (
            {},
            "load = lambda s, **_: SimpleNamespace(ability='counting', identity=dict.fromkeys(PARTS, '1|2'))",
            "odd of acme-odd gives a weights that is not one line of text without |",
        ),
        (
            {},
            "load = lambda s, **_: SimpleNamespace(ability='counting', identity=dict.fromkeys([*PARTS, 'name'], '1'))",
            "odd of acme-odd gives a name, a name that senseprobe uses itself",
        ),
        (
            {},
            SLOTS,
            "odd of acme-odd failed with AttributeError: 'Slots' object has no attribute 'name'",
        ),
    ],
)
def test_a_family_that_fails(told: dict[str, str], rest: str, reason: str, install: Install, odd: str) -> None:
    """Whatever it does is one message that names it."""
    put_family(install, rest=rest, **told)
    with pytest.raises(ModelError, match="cannot load the model ") as failed:
        models.load(odd)
    assert reason in str(failed.value)


def test_a_family_that_cannot_say(
    install: Install, tiny_models: dict[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    """One that fails when it is asked is told, and models of ours do not need it; one without functions is left out."""
    put_family(install, claims="lambda spec, config: config['no such key']")
    put_family(install, "mute", claims="None")
    put_family(install, "gone", claims="lambda spec, config: exit(0)")
    assert models.load(str(tiny_models["bert"])).ability == "masked"
    told = " ".join(record.getMessage() for record in caplog.records)
    assert "the family of models odd of acme-odd is ignored: asked about" in told
    assert "failed with KeyError: 'no such key'" in told
    assert "the family of models gone of acme-gone is ignored: asked about" in told
    assert "failed with SystemExit: 0" in told
    assert "the family of models mute of acme-mute is ignored: its `load` or `claims` is not a function" in told


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("", "'types.SimpleNamespace' object has no attribute 'encode'"),
        ("def encode(text): raise RuntimeError('boom')", "RuntimeError: boom"),
        ("def encode(text): exit(0)", "SystemExit: 0"),
        ("def encode(text): return 5", "TypeError: "),
    ],
)
def test_a_model_that_fails_in_a_scorer_of_ours(rest: str, reason: str, install: Install, odd: str) -> None:
    """It says it can do what ours can, and cannot: a message that names the family, not a traceback."""
    more = ", encode=encode" if rest else ""
    made = f"SimpleNamespace(ability='masked', identity=dict.fromkeys(PARTS, '1'){more})"
    put_family(install, rest=f"{rest}\ndef load(s, **_):\n    return {made}", ability="'masked'")
    model = models.load(odd)
    with pytest.raises(ModelError, match=f"the model {odd} of the family odd, a plug-in, failed with ") as failed:
        list(answers_of(model, get("aul").score(model, {Unit("She is here.")}, ())))
    assert reason in str(failed.value)


def test_numbers_of_a_family_are_its_own(
    install: Install, tiny_models: dict[str, Path], tiny: str, tmp_path: Path
) -> None:
    """Another way to compute, with the same weights and scorer: nothing stored is taken for it, nor for ours."""
    spec = str(tiny_models["bert"])
    (ours,) = api.score(spec, tiny)
    rest = (
        "import senseprobe.evaluate.models.masked as masked\n"
        "class Twice(masked.MaskedLM):\n"
        "    def log_probabilities(self, queries):\n"
        "        return [2 * each for each in super().log_probabilities(queries)]\n"
        "def load(spec, **how):\n"
        "    model = masked.load(spec, **how)\n"
        "    model.__class__ = Twice\n"
        "    return model\n"
    )
    put_family(install, rest=rest, ability="'masked'", claims="lambda spec, config: config.get('model_type') == 'bert'")
    (twice,) = api.score(spec, tiny, out=tmp_path / "out")
    (stored,) = api.score(spec, tiny)
    assert ours.rows is not None
    assert twice.rows is not None
    assert stored.rows is not None
    np.testing.assert_allclose(twice.rows["stereo_score"], 2 * ours.rows["stereo_score"], rtol=1e-6)
    assert stored.rows.equals(twice.rows)
    (written,) = (tmp_path / "out").rglob("*.json")
    assert api.replay(written, release=tiny).differences == ()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [place for place in sys.path if not place.endswith("acme-odd")])
        assert api.replay(written, release=tiny).differences == ("model, family: odd -> ours",)


def test_a_model_that_nobody_can_load(odd: str) -> None:
    """Where no plug-in claims it, an ability of none of ours is told."""
    with pytest.raises(ModelError, match="no plug-in can load it as a model with the ability counting"):
        models.load(odd, ability="counting")
