"""`senseprobe score` and `senseprobe report`, as they are typed: what they write, print, and say of bad input."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sized
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from huggingface_hub import constants as hub_constants
from rich.progress import Progress
from safetensors.numpy import load_file, save_file
from tests.commands import Outcome, Typed, fill_in, typing
from typer.core import TyperOption

import senseprobe
from senseprobe.cli.application import app
from senseprobe.cli.score import show_scored
from senseprobe.evaluate import models
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.fitness import FirstToken, Fitness
from senseprobe.evaluate.result import Result, read_result
from senseprobe.progress import Step
from senseprobe.records import Figure


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory, tiny_models: dict[str, Path]) -> Path:
    """An empty project that has the release `sssb@1.0.0` and the model `bert`; nobody writes to it."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "senseprobe.toml").touch()
    senseprobe.build("sssb", "1.0.0", out=folder / "releases")
    shutil.copytree(tiny_models["bert"], folder / "bert")
    return folder


# Distinct ones of sssb:race: its 108 pairs are twelve good qualities with nine bad ones (Zhou et al. 2022).
SENTENCES = 21


def score_once(project: Path, folder: Path, config: str | None) -> Path:
    """The folder, after a run of `bert` on `sssb@1.0.0` in the project: `results`, and `.cache` with their numbers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        patch.setenv("XDG_CACHE_HOME", str(folder / ".cache"))
        senseprobe.score("bert", "sssb@1.0.0", "aul", config=config, out=folder / "results")
    return folder


@pytest.fixture(scope="session")
def race(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run on `sssb@1.0.0:race` leaves."""
    return score_once(project, tmp_path_factory.mktemp("race"), "race")


@pytest.fixture(scope="session")
def whole(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run on all of `sssb@1.0.0` leaves."""
    return score_once(project, tmp_path_factory.mktemp("whole"), None)


@pytest.fixture
def typed(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Runs a command line in a copy of the project."""
    shutil.copytree(project, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub_constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    return typing(monkeypatch, capfd)


@pytest.fixture
def scored(typed: Typed, race: Path, tmp_path: Path) -> Typed:
    """The same, after `score bert sssb@1.0.0:race`."""
    shutil.copytree(race, tmp_path, dirs_exist_ok=True)
    return typed


HALF = lookup("preference-half").version
"""Today's: of an older one the neutral value is not known without the labels of rows."""


def redraw(folder: Path) -> None:
    """Give the model in a folder other weights."""
    import torch
    from transformers import BertForMaskedLM

    model = BertForMaskedLM.from_pretrained(folder)
    torch.nn.init.normal_(model.get_input_embeddings().weight)
    model.save_pretrained(folder)


def files_below(folder: Path) -> dict[str, bytes]:
    """What a folder holds, by path, but for the user's cache."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".cache" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


# --- what it writes and prints --------------------------------------------------------------------------------------


# Takes long: sssb@1.1.2, the largest, is verified twice.
def test_score_of_a_name_takes_the_newest_release_and_says_which(typed: Typed, tmp_path: Path) -> None:
    """1.0.0 is the project's, 1.1.0 is built in; the API says it by its `say`."""
    done = typed("score", "bert", "sssb:race", "-m", "aul", "--limit", "10")
    note = "sssb:race does not name a version: scoring sssb@1.1.2:race, the newest on this machine"
    assert (done.code, done.err.strip()) == (0, note)
    assert "scorer=aul|release=sssb@1.1.2:race|" in done.out
    heard: list[str] = []
    (result,) = senseprobe.score("bert", "sssb", "aul", config="race", limit=10, say=heard.append)
    assert result.release["name"] == "sssb@1.1.2"
    assert heard == ["sssb does not name a version: scoring sssb@1.1.2, the newest on this machine"]


def test_score(typed: Typed, tmp_path: Path) -> None:
    """Results and tables of scores are written under release and model, and a table is printed for each scorer."""
    done = typed("score", "bert", "sssb@1.0.0:race", "-m", "aul", "-m", "pll")
    assert (done.code, done.err.strip()) == (0, "")
    assert sorted(files_below(tmp_path / "results")) == [
        f"sssb@1.0.0/bert/{scorer}.race.{kind}"
        for scorer in ("aul", "pll")
        for kind in ("json", "parquet", "tokens.parquet")
    ]
    for scorer in ("aul", "pll"):
        assert f"scorer={scorer}|release=sssb@1.0.0:race|" in done.out
    rows = [re.split(r" {2,}", line) for line in done.out.splitlines() if line.startswith("race ")]
    # 108 rows (Zhou, Kaneko & Bollegala 2022, Table 1); they differ in an evaluative word: no value is neutral.
    assert [(row[1], *row[4:]) for row in rows] == [
        (name, "none known", "108 rows") for name in ("preference", "preference-half")
    ]
    assert all(row[2] != row[3] for row in rows[:1])  # a column for each scorer
    assert str(tmp_path) not in done.out


def test_rows_that_could_not_be_scored(typed: Typed, tmp_path: Path) -> None:
    """Each is counted with its reason, and the first are named: here in a model that takes few tokens, by a count.

    The second run has its numbers from the first, and says the same; so does the report.
    """
    import torch
    from transformers import AutoTokenizer, BertForMaskedLM

    folder = tmp_path / "bert"
    config = json.loads((folder / "config.json").read_bytes())
    tokens = AutoTokenizer.from_pretrained(folder)
    table = senseprobe.load("sssb@1.0.0").table("race")
    lengths = {text: len(tokens(text)["input_ids"]) for text in (*table["stereo"], *table["anti"])}
    most = sorted(lengths.values())[len(lengths) // 2]
    model = BertForMaskedLM.from_pretrained(folder)
    model.bert.embeddings.position_embeddings = torch.nn.Embedding(most, config["hidden_size"])
    model.bert.embeddings.position_ids = torch.arange(most)[None]
    model.bert.embeddings.token_type_ids = torch.zeros((1, most), dtype=torch.long)
    model.config.max_position_embeddings = most
    model.save_pretrained(folder)
    long = [row["id"] for row in table.to_dict("records") if max(lengths[row["stereo"]], lengths[row["anti"]]) > most]
    assert 3 < len(long) < 108, "or else this test shows little"
    for _ in range(2):
        done = typed("score", "bert", "sssb@1.0.0:race")
        assert (done.code, done.err.strip()) == (0, "")
        told = f"{len(long)} too long for the model ({', '.join(long[:3])} and {len(long) - 3} more)"
        assert f"{len(long)} rows have no number: {told}.\n" in done.out
        path = tmp_path / "results/sssb@1.0.0/bert/aul.race.json"
        (reason,) = json.loads(path.read_bytes())["unscored"].items()
        assert reason == ("too long for the model", {"rows": len(long), "first": long[:3]})
    assert typed("report", str(path), "-o", "page.md").code == 0
    assert f"{len(long)} rows have no number: {len(long)} too long" in (tmp_path / "page.md").read_text()


# Takes long: all of sssb, with its permutations.
def test_score_on_all_configs(typed: Typed, whole: Path, tmp_path: Path) -> None:
    """Without a config all are scored: every config and both matched contrasts are in the table."""
    shutil.copytree(whole / ".cache", tmp_path / ".cache")
    done = typed("score", "bert", "sssb@1.0.0")
    assert done.code == 0
    shown = {line.split()[0] for line in done.out.splitlines() if line.strip()}
    # DESIGN section 8 and the dataset's own declaration.
    configs = "nationality language race race-matched race-groups colour noun noun-bare verb"
    configs += " race-colour noun-verb nationality-language"
    assert set(configs.split()) <= shown
    assert files_below(tmp_path / "results") == files_below(whole / "results")


def test_json(typed: Typed, tmp_path: Path) -> None:
    """With --json the results are printed as they are written, each figure with its verdict, and nothing else."""
    done = typed("score", "bert", "sssb@1.0.0:race", "--json", "--out", "elsewhere")
    assert done.code == 0
    (printed,) = json.loads(done.out)
    # Words of praise and blame have no neutral value, so that nobody reads the preference of all of race.
    codes = {figure["estimand"]: figure.pop("verdict", {}).get("code") for figure in printed["figures"]}
    assert codes == {"preference-half": "unreadable", "preference": None}
    assert printed == json.loads((tmp_path / "elsewhere/sssb@1.0.0/bert/aul.race.json").read_bytes())
    # Published keys, written down by hand.
    assert " ".join(printed) == (
        "schema signature scorer scorer_version scale verdicts model release senseprobe libraries seed limit date "
        "fitness figures"
    )
    assert printed["model"]["name"] == "bert"
    assert printed["release"]["config"] == "race"


@pytest.mark.slow  # a process with torch; that of association tests, without it, is in `make test`
def test_in_other_circumstances(scored: Typed, tmp_path: Path) -> None:
    """Another process, folder, hash seed, locale, time zone, number of threads and batch size: the same result.

    And no path of the machine is in it.
    """
    before = files_below(tmp_path / "results")
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    for name in ("senseprobe.toml", "releases", "bert"):
        (elsewhere / name).symlink_to(tmp_path / name)
    others = {"PYTHONHASHSEED": "12345", "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu"}
    others |= {"OMP_NUM_THREADS": "3", "PYTHONUTF8": "0", "COLUMNS": "30"}
    again = [
        sys.executable,
        "-m",
        "senseprobe",
        "score",
        "bert",
        "sssb@1.0.0:race",
        "--no-store",
        "--batch-tokens",
        "70",
    ]
    subprocess.run(again, cwd=elsewhere, env={**os.environ, **others}, check=True, capture_output=True)
    after = files_below(elsewhere / "results")
    name = "sssb@1.0.0/bert/aul.race"
    assert after[f"{name}.json"] == before[f"{name}.json"]
    first, second = (pq.read_table(pa.BufferReader(files[f"{name}.parquet"])) for files in (before, after))
    assert first.drop_columns(["stereo_score", "anti_score"]) == second.drop_columns(["stereo_score", "anti_score"])
    for column in ("stereo_score", "anti_score"):
        np.testing.assert_allclose(first[column].to_numpy(), second[column].to_numpy(), rtol=0, atol=1e-6)
    assert not any(str(tmp_path).encode() in content for content in before.values())


def test_report(typed: Typed, tmp_path: Path) -> None:
    """`report` writes one page of several results, and says where."""
    assert typed("score", "bert", "sssb@1.0.0:race", "-m", "aul", "-m", "pll").code == 0
    done = typed("report", *(f"results/sssb@1.0.0/bert/{scorer}.race.json" for scorer in ("aul", "pll")))
    assert (done.code, done.out) == (0, f"report in {tmp_path / 'report.html'}\n")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "aul · bert" in page
    assert "pll · bert" in page
    assert "<svg" in page


def test_report_for_programs(typed: Typed, whole: Path) -> None:
    """`--json` has the figures of the result file, and what they are held against, with the release's own margin."""
    path = whole / "results/sssb@1.0.0/bert/aul.json"
    done = typed("report", str(path), "--json")
    (told,) = json.loads(done.out)
    written = json.loads(path.read_bytes())
    assert done.code == 0
    judged = {figure["config"] for figure in told["figures"] if figure.pop("verdict", None)}
    assert {key: told[key] for key in written} == written
    evaluative = {"nationality", "language", "race", "race-matched", "race-groups", "colour"}
    assert judged >= evaluative | {"noun", "noun-bare", "verb"}, "each config has a verdict"
    assert {null["config"] for null in told["nulls"]} == evaluative, "a pronoun has no polarity"
    assert {answer["margin"] for answer in told["equivalences"]} == {5.0}
    assert not Path("report.html").exists()


def test_name_with_markup(typed: Typed, tmp_path: Path) -> None:
    """A model's name is text, even where it looks like the markup of our terminal library."""
    shutil.move(tmp_path / "bert", tmp_path / "[bold]bert[/italic]")
    done = typed("score", "[bold]bert[/italic]", "sssb@1.0.0:race")
    assert done.code == 0, done.err
    assert "aul · [bold]bert[/italic]" in done.out


@pytest.mark.parametrize("command", ["score", "report", "compare", "study slice", "replay", "model plant"])
def test_each_option_says_what_it_takes(command: str) -> None:
    """FILE, DIR, NAME or the like, and not only that it is text; flags take nothing."""
    found: Any = typer.main.get_group(app)
    for name in command.split():
        found = found.commands[name]
    options = [
        each for each in found.params if isinstance(each, TyperOption) and not each.is_flag and each.name != "help"
    ]
    assert options
    assert [option.name for option in options if not option.metavar] == []


# --- bad input ------------------------------------------------------------------------------------------------------


def test_a_model_that_can_be_fetched_is_suggested(typed: Typed) -> None:
    """Where neither a folder nor a model in the Hub's cache has a name that is nearly that of one."""
    done = typed("score", "smolm2", "sssb@1.0.0:race")
    assert (done.code, done.message.rstrip().endswith("; did you mean 'smollm2'?")) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("score bert sssb@1.0.0 -m bleu", "unknown scorer bleu: there is aul, "),
        ("score bert sssb@1.0.0 -m ppl", "unknown scorer ppl: did you mean 'pll'? there is aul, "),
        ("score bert sssb@1.0.0 -e tie", "unknown estimand tie: there is "),
        ("score bert association@1.0.0 -m aul", "association@1.0.0 has association rows, which need a scorer such as "),
        (
            "score bert nli-control@1.0.0:nationality",
            "nli-control@1.0.0:nationality has inference rows, which need a scorer such as",
        ),
        ("score bert sssb@1.0.0:race --revision main", "bert is a folder, and revisions exist only on the Hub"),
        ("score nobody/nothing sssb@1.0.0:race --revision main", "cannot load the model nobody/nothing@main: "),
        ("replay nothing.json", "nothing.json cannot be read: No such file or directory"),
        ("replay bert/config.json", "bert/config.json is not a result of senseprobe"),
        ("score bert sssb@1.0.0:people", "sssb@1.0.0:people has no config 'people': there is nationality, language,"),
        (
            "score bert sssb@9.9.9",
            "unknown release 'sssb@9.9.9': did you mean 'sssb@1.1.2'? there is sssb@1.0.0",
        ),
        (
            "score bert ssbs@1.0.0",
            "unknown release 'ssbs@1.0.0': did you mean 'sssb@1.0.0'? there is sssb@1.0.0",
        ),
        ("score bert sssb@1.0.0:rase", "sssb@1.0.0:rase has no config 'rase': did you mean 'race'? there is nation"),
        ("score bert nowhere/at/all", "'nowhere/at/all' is not a release folder"),
        ("score nobody/nothing sssb@1.0.0:race", "cannot load the model nobody/nothing: "),
        ("score releases sssb@1.0.0:race", "cannot load the model releases: "),
        ("score bert sssb@1.0.0:race --device abacus", "cannot use the device abacus: "),
        ("score bert sssb@1.0.0:race --dtype int4", "unknown number format int4: use one of float32, "),
        ("report nothing.json", "nothing.json cannot be read: No such file or directory"),
        ("report bert/config.json", "bert/config.json is not a result of senseprobe"),
    ],
)
def test_bad_input(words: str, message: str, typed: Typed, tmp_path: Path) -> None:
    """Each mistake gets one message, exit code 2, and leaves nothing behind."""
    before = files_below(tmp_path)
    done = typed(*words.split())
    assert done.message.startswith(message)
    assert done.code == 2
    assert files_below(tmp_path) == before


def test_damaged_model(typed: Typed, tmp_path: Path) -> None:
    """A model folder whose weights are cut off, or whose config is no JSON, gets one message."""
    weights = tmp_path / "bert" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    done = typed("score", "bert", "sssb@1.0.0:race")
    assert (done.code, done.message.startswith("cannot load the model bert: ")) == (2, True)
    (tmp_path / "bert" / "config.json").write_text("{")
    done = typed("score", "bert", "sssb@1.0.0:race")
    assert (done.code, done.message) == (2, "cannot load the model bert: its config.json is not valid JSON")


def test_damaged_release(scored: Typed, tmp_path: Path) -> None:
    """A release with a flipped byte is refused with the name of its file and exit code 1; results stay as they were."""
    before = files_below(tmp_path / "results")
    victim = next((tmp_path / "releases/sssb/1.0.0/race").glob("*.parquet"))
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    done = scored("score", "bert", "sssb@1.0.0:race")
    assert (done.code, done.message.startswith("race/test-00000-of-00001.parquet: E4")) == (1, True)
    assert files_below(tmp_path / "results") == before


def test_unwritable_output(scored: Typed, tmp_path: Path) -> None:
    """A file in the way of the results, or a folder in the way of the report, is told; earlier results stay."""
    before = files_below(tmp_path)
    done = scored("score", "bert", "sssb@1.0.0:race", "--out", "senseprobe.toml")
    assert done.message == (
        "cannot write results to senseprobe.toml/sssb@1.0.0/bert: senseprobe.toml is not a folder that you can write to"
    )
    assert done.code == 2
    done = scored("report", "results/sssb@1.0.0/bert/aul.race.json", "-o", "results")
    assert (done.code, done.message) == (2, "cannot write results: Is a directory")
    assert files_below(tmp_path) == before


INTERRUPTIONS = [
    (0, [], "interrupted with 0 of 21 numbers computed; they are kept, .*"),
    (2, [], r"interrupted with [1-9]\d* of 21 numbers computed; they are kept, .*"),
    (2, ["--no-store"], r"interrupted with [1-9]\d* of 21 numbers computed; none are kept, because of --no-store"),
]
BATCHES = ["score", "bert", "sssb@1.0.0:race", "--batch-tokens", "40"]


@pytest.mark.parametrize(("passes", "options", "message"), INTERRUPTIONS)
def test_interrupted(
    passes: int, options: list[str], message: str, scored: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while scoring is one message and exit code 2, and earlier results stay as they were."""
    from transformers import BertForMaskedLM

    forward, load, left = BertForMaskedLM.forward, models.load, [1000]

    def loaded(*words: str, **told: Any) -> models.Model:  # noqa: ANN401 - those of `load`
        model = load(*words, **told)
        left[0] = passes
        return model

    def interrupt(*words: object, **told: object) -> object:
        left[0] -= 1
        if left[0] < 0:
            signal.raise_signal(signal.SIGINT)
        return forward(*words, **told)

    monkeypatch.setattr("senseprobe.evaluate.models.source.load", loaded)
    monkeypatch.setattr(BertForMaskedLM, "forward", interrupt)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another" / ".cache"))
    before = files_below(tmp_path)
    done = scored(*BATCHES, *options)
    assert re.fullmatch(message, done.message), done.message
    assert done.code == 2
    assert files_below(tmp_path) == before


# The command line, with a model that, once it is loaded, answers so many times and then never again.
INTERRUPTED = """
import os, time
from transformers import BertForMaskedLM
from senseprobe.evaluate import models
from senseprobe.evaluate.models import source

forward, load, left = BertForMaskedLM.forward, models.load, [1000]

def loaded(*words, **options):
    model = load(*words, **options)
    left[0] = int(os.environ["PASSES"])
    return model

source.load = loaded

def wait(self, *args, **kwargs):
    left[0] -= 1
    if left[0] < 0:
        print("scoring", flush=True)
        for _ in range(6000):  # a signal that comes before a single long sleep has begun would wait for its end
            time.sleep(0.01)
    return forward(self, *args, **kwargs)

BertForMaskedLM.forward = wait
from senseprobe.cli.application import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("passes", "options", "message"), INTERRUPTIONS)
def test_an_interrupted_process(passes: int, options: list[str], message: str, scored: Typed, tmp_path: Path) -> None:
    """The same of a process that waits for its model and gets a signal from outside."""
    assert scored is not None
    before = files_below(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, *BATCHES, *options],
        cwd=tmp_path,
        env={**os.environ, "PASSES": str(passes), "XDG_CACHE_HOME": str(tmp_path / "another" / ".cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "scoring\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    done = Outcome(process.returncode, out, err)
    assert re.fullmatch(message, done.message), done.message
    assert done.code == 2
    assert files_below(tmp_path) == before


@pytest.mark.parametrize("missing", [["torch"], ["torch", "transformers"]])
def test_without_models_extra(
    missing: list[str], typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where torch is not installed, the message names the extra that brings it."""
    for module in missing:
        monkeypatch.setitem(sys.modules, module, None)  # what makes find_spec and import see none
    done = typed("score", "bert", "sssb@1.0.0:race")
    assert done.code == 2
    assert done.message == f"{', '.join(missing)}: not installed; run pip install 'senseprobe[models]'"
    assert not (tmp_path / "results").exists()


def test_without_reports_extra(typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where matplotlib is not installed, scoring and reports work."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert typed("score", "bert", "sssb@1.0.0:race").code == 0
    assert typed("report", "results/sssb@1.0.0/bert/aul.race.json").code == 0
    assert (tmp_path / "report.html").is_file()


def test_a_negative_seed_is_misuse(typed: Typed) -> None:
    """A seed below 0 is told before anything is scored."""
    assert typed("score", "bert", "sssb@1.0.0:race", "--seed", "-1").code == 2


def test_a_report_never_replaces_a_result(typed: Typed, tmp_path: Path) -> None:
    """A page cannot be written over a result."""
    result = tmp_path / "aul.json"
    result.write_text("{}")
    done = typed("report", str(result), "-o", str(result))
    assert done.code == 2
    assert "is the name of a result" in done.err
    assert result.read_text() == "{}"


def test_verify_of_a_config_that_is_not_there(typed: Typed) -> None:
    """`verify` of an unknown config is an error, and not "as it was frozen"."""
    done = typed("verify", "sssb@1.0.0:nope")
    assert done.code == 2
    assert "no config 'nope'" in done.err


# --- numbers that are stored ----------------------------------------------------------------------------------------


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts went through the tiny BERT in each forward pass; those do not count that loading it may take."""
    from transformers import BertForMaskedLM

    forward, load, seen = BertForMaskedLM.forward, models.load, list[int]()

    def counted(self: BertForMaskedLM, input_ids: Sized, **inputs: object) -> object:
        seen.append(len(input_ids))
        return forward(self, input_ids, **inputs)

    def loaded(*words: str, **options: Any) -> models.Model:  # noqa: ANN401 - those of `load`
        before = len(seen)
        model = load(*words, **options)
        del seen[before:]
        return model

    monkeypatch.setattr(BertForMaskedLM, "forward", counted)
    monkeypatch.setattr("senseprobe.evaluate.models.source.load", loaded)
    return seen


# Takes long: five runs, each of which verifies sssb.
def test_nothing_is_computed_twice(typed: Typed, passes: list[int], tmp_path: Path) -> None:
    """A second run, and a config after the whole release, asks the model nothing, and writes the same bytes."""
    assert typed("score", "bert", "sssb@1.0.0:race").code == 0
    before, first = files_below(tmp_path), sum(passes)
    assert first == SENTENCES
    assert typed("score", "bert", "sssb@1.0.0:race").code == 0
    assert (sum(passes), files_below(tmp_path)) == (first, before)
    assert typed("score", "bert", "sssb@1.0.0:race", "--no-store").code == 0
    assert sum(passes) == 2 * first
    assert typed("score", "bert", "sssb@1.0.0", "--limit", "50").code == 0
    more = sum(passes) - 2 * first
    assert 0 < more < 100
    assert typed("score", "bert", "sssb@1.0.0", "--limit", "50").code == 0
    assert sum(passes) == 2 * first + more


def test_weights_that_change_under_one_path(scored: Typed, passes: list[int], tmp_path: Path) -> None:
    """Another model in the same folder is asked everything, and its result lies beside the first one's."""
    import torch
    from transformers import BertForMaskedLM

    model = BertForMaskedLM.from_pretrained(tmp_path / "bert")
    with torch.no_grad():
        model.get_input_embeddings().weight[0, 0] += 1e-3  # of one number
    model.save_pretrained(tmp_path / "bert")
    assert scored("score", "bert", "sssb@1.0.0:race").code == 0
    assert sum(passes) == SENTENCES
    assert len(list((tmp_path / "results/sssb@1.0.0/bert").glob("*.json"))) == 2


def test_store_that_is_damaged(scored: Typed, tmp_path: Path) -> None:
    """A damaged store is told, set aside, and the result is the same."""
    before = files_below(tmp_path)
    (file,) = (tmp_path / ".cache/senseprobe/scores").iterdir()
    file.write_bytes(file.read_bytes()[:-100] + b"x" * 100)
    done = scored("score", "bert", "sssb@1.0.0:race")
    assert done.code == 0
    assert "are not used: the file is damaged" in done.err
    assert files_below(tmp_path) == before
    assert scored("score", "bert", "sssb@1.0.0:race").err == ""


def test_cache_that_cannot_be(scored: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there can be no cache, this is said once for each scorer, and the result is the same."""
    before = files_below(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "senseprobe.toml"))
    done = scored("score", "bert", "sssb@1.0.0:race")
    assert (done.code, done.err.strip()) == (0, "scores cannot be stored for the next run: Not a directory")
    assert files_below(tmp_path) == before
    assert scored("score", "bert", "sssb@1.0.0:race", "--no-store").err == ""


# --- options --------------------------------------------------------------------------------------------------------


# Takes long: all of sssb is scored.
def test_limit(typed: Typed, whole: Path, tmp_path: Path) -> None:
    """So many rows are scored, of all configs; the signature says so, and the result of all rows is kept beside it."""
    shutil.copytree(whole / "results", tmp_path / "results")
    assert typed("score", "bert", "sssb@1.0.0", "--limit", "400").code == 0
    limited, every_row = sorted(
        (tmp_path / "results/sssb@1.0.0/bert").glob("*.json"), key=lambda path: "limit=400" not in path.read_text()
    )
    assert "|seed=0|limit=400|" in json.loads(limited.read_bytes())["signature"]
    assert json.loads(every_row.read_bytes())["limit"] is None
    drawn, every = (pq.read_table(path.with_suffix(".parquet")).to_pandas() for path in (limited, every_row))
    assert (len(drawn), len(every)) == (400, 3994)
    # By hand: 400 of 3,994 rows is a tenth; a config of n rows gets n / 10, up to rounding in each of its cells.
    for config, rows in every.groupby("config"):
        assert abs((drawn["config"] == config).sum() - len(rows) * 400 / 3994) < 8, config
    both = drawn.merge(every, on=["config", "id"], suffixes=("", "_of_all"))
    assert len(both) == 400
    np.testing.assert_allclose(both["stereo_score"], both["stereo_score_of_all"], rtol=0, atol=1e-5)


# Takes long: a forward pass for each of many texts.
def test_batch_size(scored: Typed, passes: list[int], tmp_path: Path) -> None:
    """A forward pass has so many tokens at most, or a single text; the JSON is the same."""
    folder = tmp_path / "results/sssb@1.0.0/bert"
    before = (folder / "aul.race.json").read_bytes()
    assert scored("score", "bert", "sssb@1.0.0:race", "--no-store", "--batch-tokens", "1").code == 0
    assert (folder / "aul.race.json").read_bytes() == before
    assert passes == [1] * SENTENCES
    written = []
    # By hand: a text of this config has eight tokens at least, with the special ones, and no two are the same.
    for tokens, most in (("64", 8), ("auto", 128)):
        passes.clear()
        assert scored("score", "bert", "sssb@1.0.0:noun", "--no-store", "--batch-tokens", tokens).code == 0
        written.append((folder / "aul.noun.json").read_bytes())
        assert max(passes) <= most
        assert sum(passes) == 186 * 2
    assert written[0] == written[1]


def test_a_limit_of_all_rows_is_none(typed: Typed, tmp_path: Path) -> None:
    """All were scored: the result is that of the whole, under its name."""
    assert typed("score", "bert", "sssb@1.0.0:language", "--limit", "100000").code == 0
    folder = tmp_path / "results/sssb@1.0.0/bert"
    files = ["aul.language.json", "aul.language.parquet", "aul.language.tokens.parquet"]
    assert sorted(path.name for path in folder.iterdir()) == files
    result = json.loads((folder / "aul.language.json").read_bytes())
    assert (result["limit"], "limit" in result["signature"]) == (None, False)


def test_options_of_02_work_with_a_notice(typed: Typed) -> None:
    """What follows is the message on the figure that --exact is, and no row of pairs has: they were read."""
    done = typed("score", "nowhere", "sssb@1.0.0:race", "--batch-size", "7", "--no-bos", "--exact")
    assert done.code == 2
    assert all(name in done.err for name in ("--batch-tokens", "--start/--no-start", "weat-exact"))
    assert "contrast rows" in done.err.splitlines()[-1]
    assert "--batch-size" not in typed("score", "--help").out
    both = typed("score", "nowhere", "sssb@1.0.0:race", "--batch-size", "7", "--batch-tokens", "9")
    assert (both.code, "old name" in both.err) == (2, True)


@pytest.mark.parametrize("words", ["--batch-tokens 0", "--batch-tokens -1", "--batch-tokens many", "--limit 0"])
def test_options_that_cannot_be(words: str, typed: Typed, tmp_path: Path) -> None:
    """A number that is none is misuse."""
    done = typed("score", "bert", "sssb@1.0.0:race", *words.split())
    assert done.code == 2
    assert words.split(maxsplit=1)[0] in done.err
    assert not (tmp_path / "results").exists()


def test_rows_of_several_kinds(typed: Typed, tmp_path: Path) -> None:
    """Of a release with rows of several kinds, those that fit are scored, and the others are named."""
    for kind in ("contrast", "inference", "association"):
        assert typed("new", f"mixed/{kind}", "--kind", kind).code == 0
    fill_in(tmp_path)
    assert typed("build", "mixed", "1.0.0").code == 0
    done = typed("score", "bert", "mixed@1.0.0")
    assert done.code == 0
    assert done.err.splitlines() == [
        "inference is skipped: aul takes no inference rows",
        "association is skipped: aul takes no association rows",
    ]
    table = pq.read_table(tmp_path / "results/mixed@1.0.0/bert/aul.parquet")
    assert set(table["config"].to_pylist()) == {"contrast"}
    one = typed("score", "bert", "mixed@1.0.0:contrast")
    assert (one.code, one.err) == (0, "")


def test_models_of_another_family(typed: Typed, tmp_path: Path) -> None:
    """A scorer that asks for what a model has not is refused, with what there is for the model."""
    config = json.loads((tmp_path / "bert/config.json").read_bytes())
    for architecture, title in (
        ("BertForSequenceClassification", "an NLI model"),
        ("BertLMHeadModel", "a causal language model"),
    ):
        (tmp_path / "bert/config.json").write_text(json.dumps({**config, "architectures": [architecture]}))
        done = typed("score", "bert", "sssb@1.0.0:race", "-m", "aul")
        assert done.code == 2
        assert done.message.startswith(f"the scorer aul needs a masked language model, but bert is {title}: use one")
    (tmp_path / "bert/config.json").write_text(
        json.dumps({**config, "model_type": "vit", "architectures": ["ViTModel"]})
    )
    done = typed("score", "bert", "sssb@1.0.0:race")
    assert done.message.startswith(
        "cannot tell what kind of model bert is: its config.json names the architecture ViTM"
    )


# --- the Hub --------------------------------------------------------------------------------------------------------

COMMITS = ("1" * 40, "2" * 40)


@pytest.fixture
def hub_cache(typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The Hub client's cache, in which org/bert is: main is the first commit, v2 the second, which has other weights.

    Laid out as huggingface_hub documents it (blobs apart).
    """
    assert typed is not None
    place = tmp_path / "hub" / "models--org--bert"
    (place / "refs").mkdir(parents=True)
    for name, commit in zip(("main", "v2"), COMMITS, strict=True):
        shutil.copytree(tmp_path / "bert", place / "snapshots" / commit)
        (place / "refs" / name).write_text(commit)
    redraw(place / "snapshots" / COMMITS[1])
    monkeypatch.setattr(hub_constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return place


# Takes long: five runs.
def test_revisions(hub_cache: Path, typed: Typed) -> None:
    """A name without a revision becomes a commit, in identity and signature; a branch, tag or commit is that commit."""
    found = {}
    for revision in (None, "v2", COMMITS[1]):
        options = ["--revision", revision] if revision else []
        done = typed("score", "org/bert", "sssb@1.0.0:race", "--json", "--out", f"out-{revision}", *options)
        assert done.code == 0, done.err
        (found[revision],) = done.told
    assert [result["model"]["revision"] for result in found.values()] == [COMMITS[0], COMMITS[1], COMMITS[1]]
    assert {result["model"]["name"] for result in found.values()} == {"org/bert"}
    assert f"|model=org/bert|revision={'1' * 12}|weights=" in found[None]["signature"]
    assert found["v2"] == found[COMMITS[1]]
    assert found[None]["model"]["weights"] != found["v2"]["model"]["weights"]
    # What moves the branch does not move the replay.
    (hub_cache / "refs/main").write_text(COMMITS[1])
    done = typed("replay", f"out-{None}/sssb@1.0.0/org--bert/aul.race.json")
    assert (done.code, "the same: " in done.out) == (0, True), done.out + done.err
    done = typed("score", "org/bert", "sssb@1.0.0:race", "--revision", "v3")
    assert done.code == 2
    assert done.message.startswith("cannot load the model org/bert@v3: ")


# --- replay ---------------------------------------------------------------------------------------------------------

RESULT = "results/sssb@1.0.0/bert/aul.race.json"


def test_replay(scored: Typed, passes: list[int], tmp_path: Path) -> None:
    """A result is computed again, without what is stored, and is the same; nothing is written."""
    before = files_below(tmp_path)
    done = scored("replay", RESULT)
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(r"the same: 2 figures, 108 rows, largest difference of a score \S+\n", done.out)
    assert sum(passes) == SENTENCES
    assert files_below(tmp_path) == before


def test_replay_of_a_drawn_part(typed: Typed) -> None:
    """What `--limit` and a seed drew is drawn again."""
    assert typed("score", "bert", "sssb@1.0.0:language", "--limit", "60", "--seed", "5").code == 0
    done = typed("replay", "results/sssb@1.0.0/bert/aul.language.limit60.json", "--batch-tokens", "64")
    assert (done.code, ", 60 rows," in done.out) == (0, True)


def as_older(path: Path, **changed: object) -> None:
    """Make a result file one of form 2, in which scorers and figures had no versions; every figure is another."""
    data = {**json.loads(path.read_bytes()), "schema": 2, **changed}
    for key in ("scorer_version", "scale", "fitness", "verdicts"):
        data.pop(key, None)
    for figure in data["figures"]:
        for key in ("definition", "readings"):
            del figure[key]
        figure["value"] = 1.25
    path.write_text(json.dumps(data))
    beside = path.with_suffix(".parquet")
    table = pq.read_table(beside).replace_schema_metadata({"signature": read_result(path).signature})
    pq.write_table(table, beside)


def test_replay_of_older_definitions(scored: Typed, tmp_path: Path) -> None:
    """A result from before a definition changed is not wrong: what changed is listed, and the exit code is 0."""
    as_older(tmp_path / RESULT)
    done = scored("replay", RESULT)
    lines = done.out.splitlines()
    assert done.code == 0
    assert lines[:3] == [
        "preference has a different definition: 1 then, 2 now",
        "preference-half has a different definition: 1 then, 3 now",
        "a verdict has a different definition: 1 then, 2 now",
    ]
    assert lines[3].startswith("the same except for new definitions: 2 figures, 108 rows, ")

    data = json.loads((tmp_path / RESULT).read_bytes())
    newer = [{**figure, "definition": 9, "readings": {}} for figure in data["figures"]]
    shown = {**data, "schema": 3, "scorer_version": 1, "scale": "log", "fitness": {}, "figures": newer}
    (tmp_path / "newer.json").write_text(json.dumps(shown))
    refused = scored("replay", "newer.json")
    assert refused.code == 2
    assert "newer definitions of preference, preference-half than this senseprobe" in refused.message

    table = pq.read_table((tmp_path / RESULT).with_suffix(".parquet")).to_pandas()
    table.loc[4, "anti_score"] += 0.001
    metadata = pq.read_schema((tmp_path / RESULT).with_suffix(".parquet")).metadata
    changed = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(metadata)
    pq.write_table(changed, (tmp_path / RESULT).with_suffix(".parquet"))
    done = scored("replay", RESULT)
    assert (done.code, "not the same: " in done.out) == (1, True)


def test_replay_of_other_figures(scored: Typed, tmp_path: Path) -> None:
    """A figure or a score that is not what the model gives is named, before and after, and the exit code is 1."""
    path = tmp_path / RESULT
    data = json.loads(path.read_bytes())
    ties = data["figures"][1]["ties"]  # None or one: processors round differently
    data["figures"][0]["value"] += 0.5
    data["figures"][1]["ties"] = ties + 3
    data["libraries"]["torch"] = "1.0"
    path.write_text(json.dumps(data))
    table = pq.read_table(path.with_suffix(".parquet")).to_pandas()
    table.loc[4, "anti_score"] += 0.001
    table.loc[5, "stereo_score"] = np.nan
    metadata = pq.read_schema(path.with_suffix(".parquet")).metadata
    changed = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(metadata)
    pq.write_table(changed, path.with_suffix(".parquet"))
    done = scored("replay", RESULT)
    lines = done.out.splitlines()
    assert done.code == 1
    assert lines[0].startswith("race preference, value: ")
    assert lines[1] == f"race preference-half, ties: {ties + 3} -> {ties}"
    assert lines[2].startswith(f"row {table['id'][4]}, anti_score: ")
    assert lines[3].startswith(f"row {table['id'][5]}, stereo_score: nan -> ")
    assert lines[4].startswith("not the same: ")
    assert lines[5].startswith("the result was computed with torch 1.0, now ")
    assert len(lines) == 6


def test_replay_with_another_model(scored: Typed, passes: list[int], tmp_path: Path) -> None:
    """Where the model is another, this is the difference, and nothing is computed; it may have moved."""
    shutil.move(tmp_path / "bert", tmp_path / "moved")
    assert "bert, is not on this machine: give its place with --model" in scored("replay", RESULT).message
    assert scored("replay", RESULT, "--model", "moved").code == 0
    assert sum(passes) == SENTENCES
    redraw(tmp_path / "moved")
    done = scored("replay", RESULT, "--model", "moved")
    assert done.code == 1
    assert done.out.startswith("model, weights: ")
    assert done.out.splitlines()[1:] == ["this is another model: nothing was computed"]
    assert sum(passes) == SENTENCES


def test_replay_on_another_release(scored: Typed, tmp_path: Path) -> None:
    """A release of the same name with other rows is refused; where the right one is can be said."""
    shutil.move(tmp_path / "releases" / "sssb", tmp_path / "elsewhere")
    data = json.loads((tmp_path / RESULT).read_bytes())
    data["release"]["content"] = "0" * 64
    other = tmp_path / "other.json"
    other.write_text(json.dumps(data))
    done = scored("replay", "other.json", "--release", "elsewhere/1.0.0")
    assert done.code == 2
    assert done.message.startswith("sssb@1.0.0 is not the release of the result: its content hash is ")
    done = scored("replay", RESULT, "--release", "elsewhere/1.0.0")
    assert (done.code, done.out.startswith("the same: ")) == (0, True)


def test_replay_without_a_table(scored: Typed, tmp_path: Path) -> None:
    """Without the table beside a result its figures are compared, and this is said."""
    (tmp_path / RESULT).with_suffix(".parquet").unlink()
    done = scored("replay", RESULT)
    assert (done.code, "without a table of rows" in done.out) == (0, True)


def test_replay_of_a_planted_truth(scored: Typed, tmp_path: Path) -> None:
    """A truth that was planted is no score of a model."""
    data = json.loads((tmp_path / RESULT).read_bytes())
    data["model"]["planted"] = "0.7"
    (tmp_path / "planted.json").write_text(json.dumps(data))
    done = scored("replay", "planted.json")
    assert (done.code, done.message.startswith("a planted truth is not a model's score")) == (2, True)


# --- progress -------------------------------------------------------------------------------------------------------


def test_rate_of_what_is_computed() -> None:
    """The rate, and so the time left, is of what this run computes: what was stored took no time."""
    now = [0.0]
    bar = Progress(get_time=lambda: now[0], disable=True)
    task = bar.add_task("scoring", total=None)
    step = Step(bar, task)
    step(900, 1000)
    for second in range(1, 6):
        now[0] = float(second)
        step(900 + 10 * second, 1000)
    # By hand: ten a second, so that the fifty that are left take five.
    assert (bar.tasks[0].completed, bar.tasks[0].total) == (950, 1000)
    assert bar.tasks[0].speed == 10
    assert bar.tasks[0].time_remaining == 5
    assert (step.done, step.total) == (950, 1000)
    step(0, 20)  # the next scorer
    assert (bar.tasks[0].completed, bar.tasks[0].total) == (0, 20)
    assert bar.tasks[0].speed is None


# --- p-values, number formats, folders that are called like a release ------------------------------------------------


def test_corrected_p_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    """Where a p-value was corrected, it is the corrected one that is shown; beside them are figures of verdicts."""
    figure = Figure(
        config="race", sense_type="race", estimand="relative", value=1.0, p=0.0123, p_holm=0.3456,
        rows=4, scored=4, unscored=0, ties=0,
    )  # fmt: skip
    lead = replace(figure, estimand="preference-half", neutral=0.0, p=None, p_holm=None, definition=HALF)
    second = replace(figure, config="colour", p=0.0456, p_holm=None)
    figures = (figure, second, lead, replace(lead, config="colour"))
    made = Result(
        scorer="aul",
        model={"name": "bert", "weights": "a", "config": "b", "tokenizer": "c", "dtype": "float32"},
        release={"name": "sssb@1.0.0", "content": "d", "config": None},
        senseprobe="0",
        seed=0,
        figures=figures,
    )
    show_scored([made], Path("results"), "sssb@1.0.0")
    out = capfd.readouterr().out
    assert "p = 0.3456" in out
    assert "0.0123" not in out
    assert "p = 0.0456" in out


# Takes long: three runs in two formats.
def test_coarse_number_format(typed: Typed, tmp_path: Path) -> None:
    """What float32 turns around is counted: here of all 186 pairs, by hand from scores in both formats."""
    # A constant on all logits changes no probability; beside 40, bfloat16 has steps of 1/4, which turn many pairs.
    weights = load_file(tmp_path / "bert/model.safetensors")
    weights["cls.predictions.bias"] += 40
    save_file(weights, tmp_path / "bert/model.safetensors", {"format": "pt"})
    done = typed("score", "bert", "sssb@1.0.0:noun", "--dtype", "bfloat16", "--out", "coarse")
    assert done.code == 0
    assert typed("score", "bert", "sssb@1.0.0:noun", "--out", "fine").code == 0
    paths = [tmp_path / name / "sssb@1.0.0/bert/aul.noun.json" for name in ("coarse", "fine")]
    tables = [pq.read_table(path.with_suffix(".parquet")).to_pandas() for path in paths]
    before, after = ((table["stereo_score"] - table["anti_score"]).to_numpy() for table in tables)
    # docs/running.md: less than 1e-6, of scores above 1 that much of the larger one, is a tie.
    sizes = [np.maximum(1, table[["stereo_score", "anti_score"]].abs().max(axis=1)) for table in tables]
    signs = [
        np.where(np.abs(difference) <= 1e-6 * size, 0, np.sign(difference))
        for difference, size in zip((before, after), sizes, strict=True)
    ]
    flipped = int((signs[0] != signs[1]).sum())
    results = [json.loads(path.read_bytes()) for path in paths]
    assert results[0]["coarse"] == {"rows": 186, "flipped": flipped}
    assert flipped > 0, "or else this test shows nothing"
    verb = "has" if flipped == 1 else "have"
    assert f"{flipped} of 186 pairs drawn {verb} another sign in float32 than in bfloat16" in done.out
    assert "coarse" not in results[1]
    done = typed("replay", "coarse/sssb@1.0.0/bert/aul.noun.json")
    assert (done.code, done.out.startswith("the same: ")) == (0, True)


def test_coarse_is_counted_on_a_sample(typed: Typed, tmp_path: Path) -> None:
    """Of more than 200 rows 200 are drawn; what was drawn already is not made more."""
    words = ["score", "bert", "sssb@1.0.0:race-groups", "--dtype", "float16"]  # 540 rows
    for limit, rows in ((None, 200), (30, 30)):
        options, name = ([], "race-groups") if limit is None else (["--limit", str(limit)], f"race-groups.limit{limit}")
        assert typed(*words, "--out", str(rows), *options).code == 0
        told = json.loads((tmp_path / f"{rows}/sssb@1.0.0/bert/aul.{name}.json").read_bytes())
        assert told["coarse"]["rows"] == rows


def test_coarse_without_float32(typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the model does not fit in float32, its result is there all the same, and one line says what is missing."""
    import torch

    load = models.load

    def loaded(*words: Any, **options: Any) -> Any:  # noqa: ANN401 - as the loader
        if options["dtype"] == "float32":
            raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate 9 GiB")
        return load(*words, **options)

    monkeypatch.setattr("senseprobe.evaluate.models.source.load", loaded)
    done = typed("score", "bert", "sssb@1.0.0:race", "--dtype", "bfloat16")
    assert done.code == 0
    assert done.err.strip() == "the rows that bfloat16 turns around are not counted: CUDA out of memory."
    assert "coarse" not in json.loads((tmp_path / RESULT).read_bytes())


# Takes long: each run verifies sssb.
def test_results_in_a_folder_called_like_the_release(typed: Typed, tmp_path: Path) -> None:
    """With `--out .` the results lie in ./sssb@1.0.0, and the release is found as before."""
    for _ in range(2):
        assert typed("score", "bert", "sssb@1.0.0:race", "--out", ".").code == 0
    assert typed("verify", "sssb@1.0.0").out == "sssb@1.0.0: unchanged\n"
    assert typed("verify", "sssb@1.0.0:race").out == "sssb@1.0.0:race: unchanged\n"
    (tmp_path / "sssb@9.9.9").mkdir()
    assert typed("verify", "sssb@9.9.9").message.startswith("unknown release 'sssb@9.9.9': did you mean ")
    assert "release.json" in typed("score", "bert", "bert").message
    # A folder that holds a release is one, whatever it is called.
    shutil.copytree(tmp_path / "releases/sssb/1.0.0", tmp_path / "mine@2")
    assert typed("score", "bert", "mine@2:race", "--out", "mine").code == 0


@pytest.mark.parametrize("spec", ["", "x" * 3000, "x" * 3000 + "@1", ":race"])
def test_a_name_that_no_release_can_have(spec: str, typed: Typed) -> None:
    """It is told like any other that is not there."""
    done = typed("score", "bert", spec)
    assert (done.code, "NAME@VERSION" in done.message or "unknown release" in done.message) == (2, True)


def test_a_page_is_not_written_over_what_is_no_page(scored: Typed, tmp_path: Path) -> None:
    """A pipe, a folder and a link to a result are refused with one message each; a link to a page stays one."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link.html").symlink_to(RESULT)
    before = (tmp_path / RESULT).read_bytes()
    assert scored("report", RESULT, "-o", "pipe").message == "cannot write pipe: is not a plain file"
    assert scored("report", RESULT, "-o", "").message == "cannot write .: Is a directory"
    assert scored("report", RESULT, "-o", "link.html").message.startswith("link.html is the name of a result")
    assert (tmp_path / RESULT).read_bytes() == before
    (tmp_path / "page.html").symlink_to("real.html")
    assert scored("report", RESULT, "-o", "page.html").code == 0
    assert (tmp_path / "page.html").is_symlink()
    assert (tmp_path / "real.html").read_text().startswith("<!doctype html>")


def test_restore_writes_through_no_link(typed: Typed, tmp_path: Path) -> None:
    """Where rows are restored to may be a folder of somebody else's, whose links lead anywhere."""
    (tmp_path / "precious").write_text("mine")
    link = tmp_path / "out/sssb/1.0.0/CITATION.cff"
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "precious")
    done = typed("verify", "--restore", "sssb@1.0.0", "--out", "out")
    assert (done.code, done.message) == (2, "out/sssb/1.0.0/CITATION.cff: is not a plain file")
    assert (tmp_path / "precious").read_text() == "mine"


# --- is the model fit to be asked -----------------------------------------------------------------------------------


def result_of(**changes: Any) -> Result:  # noqa: ANN401
    """A result with a figure on each of two configs."""
    figures = tuple(
        Figure(config=name, sense_type="", estimand="preference-half", value=7.5, low=1.0, high=9.0, neutral=0.0,
               rows=100, scored=100, unscored=0, ties=0, definition=HALF)
        for name in ("race", "noun")
    )  # fmt: skip
    model = {"name": "m", **dict.fromkeys(("weights", "config", "tokenizer", "dtype"), "x")}
    release = {"name": "sssb@1.0.0", "content": "d" * 64, "config": None}
    made = Result(scorer="ll", model=model, release=release, senseprobe="0", seed=0, figures=figures)
    return replace(made, **changes)


def test_a_config_that_is_not_readable_comes_last_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    """41 of 100 rows hold unknown words: its verdict follows the others', with the reason."""
    read = {"race": Fitness(rows=100, unknown=41), "noun": Fitness(rows=100, unknown=0)}
    show_scored([result_of(fitness=read)], Path("results"), "sssb@1.0.0")
    out = capsys.readouterr().out
    first, last = [line for line in out.splitlines() if line.startswith(("found", "undecided", "not readable"))]
    assert [line.split("  ")[:1] for line in (first, last)] == [["found"], ["not readable"]]
    assert ["41 % of its rows hold words" in line for line in (first, last)] == [False, True]
    # The interval of the other config stands with its verdict and its figure.
    figures = [line for line in out.splitlines() if line.startswith(("race", "noun"))]
    assert ["[" in line for line in (first, last, *figures)] == [True, False, False, True]
    assert "race: 41 of 100 rows with words that the tokenizer does not know." in out


def test_first_tokens_name_the_other_scorer(capsys: pytest.CaptureFixture[str]) -> None:
    """What stands before them is told, and what to score with, too; of a plug-in's model nothing is counted."""
    first = FirstToken(rows=60, before="<|im_start|>", preference=-50.0)
    show_scored([result_of(fitness={"noun": Fitness(rows=60, unknown=0, first_token=first)})], Path(), "sssb@1.0.0")
    out = capsys.readouterr().out
    assert "noun: 60 pairs with different first tokens" in out
    assert "-s ll-no-start` gives the figures to read beside it" in out
    both = [result_of(scorer=name, fitness={"noun": Fitness(rows=60, unknown=0, first_token=first)})
            for name in ("ll", "ll-no-start")]  # fmt: skip
    show_scored(both, Path(), "sssb@1.0.0")
    assert "to read beside it" not in capsys.readouterr().out
    plugged = result_of()
    show_scored([replace(plugged, model={**plugged.model, "family": "mine"})], Path(), "sssb@1.0.0")
    assert "unknown words are not counted, since the tokenizer of a plug-in's" in capsys.readouterr().out


def test_what_the_tokenizer_makes_of_a_release(typed: Typed, tmp_path: Path) -> None:
    """From a command to the file: the counts are those of the tokenizer's own pieces."""
    from transformers import AutoTokenizer

    done = typed("score", "bert", "sssb@1.0.0:race", "--json")
    pieces = AutoTokenizer.from_pretrained(tmp_path / "bert").tokenize
    rows = senseprobe.load("sssb@1.0.0").table("race")
    sides = [[pieces(text) for text in rows[role]] for role in ("stereo", "anti")]
    (printed,) = json.loads(done.out)
    read = printed["fitness"]["race"]
    assert read["rows"] == 108
    assert read["unknown"] == sum("[UNK]" in (*a, *b) for a, b in zip(*sides, strict=True))
    assert read["same_tokens"] == sum(a == b for a, b in zip(*sides, strict=True))
    assert read["unequal_counts"] == sum(len(a) != len(b) for a, b in zip(*sides, strict=True)) > 0
    assert "first_token" not in read


def test_threads_that_wait_sleep_unless_the_user_says_otherwise(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """By OpenMP's own variable, which torch reads as it is loaded: see docs/performance.md for what spinning costs."""
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert typed("--version").code == 0
    assert os.environ["OMP_WAIT_POLICY"] == "passive"
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    typed("--version")
    assert os.environ["OMP_WAIT_POLICY"] == "active"
