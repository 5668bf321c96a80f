"""`senseprobe score` and `senseprobe report`, as they are typed: what they write, print, and say of bad input."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import constants as hub_constants

import senseprobe
from senseprobe.cli import main

Typed = Callable[..., "Outcome"]


class Outcome:
    """Exit code and what a command printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def message(self) -> str:
        """The one message of a command that failed; checks that there is one, in one clause, and nothing else."""
        assert self.out == ""
        assert "Traceback" not in self.err
        lines = [line for line in self.err.splitlines() if line.strip()]
        assert len(lines) == 1, self.err
        return lines[0]


@pytest.fixture(scope="session")
def sssb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of sssb, built once."""
    return senseprobe.build("sssb", "1.0.0", out=tmp_path_factory.mktemp("releases")).folder


@pytest.fixture
def typed(
    sssb: Path,
    tiny_models: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Typed:
    """Runs a command line in an empty project that has the release `sssb@1.0.0` and the model `bert`."""
    (tmp_path / "senseprobe.toml").touch()
    (tmp_path / "releases").mkdir()
    shutil.copytree(sssb.parent, tmp_path / "releases" / "sssb")
    shutil.copytree(tiny_models["bert"], tmp_path / "bert")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub_constants, "HF_HUB_OFFLINE", True)

    def run(*words: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["senseprobe", *words])
        capfd.readouterr()
        code: object = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        out, err = capfd.readouterr()
        return Outcome(int(str(code or 0)), out, err)

    return run


def files_below(folder: Path) -> dict[str, bytes]:
    """What a folder holds, by path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- what it writes and prints --------------------------------------------------------------------------------------


def test_score(typed: Typed, tmp_path: Path) -> None:
    """Results and tables of scores are written under release and model, and a table is printed for each scorer."""
    done = typed("score", "bert", "sssb@1.0.0:race", "-m", "aul", "-m", "pll")
    assert (done.code, done.err.strip()) == (0, "")
    assert sorted(files_below(tmp_path / "results")) == [
        f"sssb@1.0.0/bert/{scorer}.race.{kind}" for scorer in ("aul", "pll") for kind in ("json", "parquet")
    ]
    for scorer in ("aul", "pll"):
        assert f"{scorer} of bert" in done.out
        assert f"scorer={scorer}|release=sssb@1.0.0:race|" in done.out
    rows = [line.split() for line in done.out.splitlines() if line.startswith("race ")]
    # 108 rows (Zhou, Kaneko & Bollegala 2022, Table 1); they differ in an evaluative word: no value is neutral.
    assert [(row[1], row[-2]) for row in rows] == [("preference", "108/108"), ("preference-half", "108/108")] * 2
    assert all("none known" in " ".join(row) for row in rows)
    assert str(tmp_path) not in done.out


def test_score_on_all_configs(typed: Typed) -> None:
    """Without a config all are scored: every config and both matched contrasts are in the table."""
    done = typed("score", "bert", "sssb@1.0.0")
    assert done.code == 0
    shown = {line.split()[0] for line in done.out.splitlines() if line.strip()}
    # DESIGN section 8 and the dataset's own declaration.
    configs = "nationality language race race-matched race-groups colour noun noun-bare verb"
    configs += " race-colour noun-verb nationality-language"
    assert set(configs.split()) <= shown


def test_json(typed: Typed, tmp_path: Path) -> None:
    """With --json the results are printed as they are written, and nothing else."""
    done = typed("score", "bert", "sssb@1.0.0:race", "--json", "--out", "elsewhere")
    assert done.code == 0
    (printed,) = json.loads(done.out)
    assert printed == json.loads((tmp_path / "elsewhere/sssb@1.0.0/bert/aul.race.json").read_bytes())
    # Published keys, written down by hand.
    assert " ".join(printed) == "schema signature scorer model release senseprobe seed figures"
    assert printed["model"]["name"] == "bert"
    assert printed["release"]["config"] == "race"


def test_twice(typed: Typed, tmp_path: Path) -> None:
    """Scoring again, in another process with another hash seed, writes the same, and no path of the machine."""
    assert typed("score", "bert", "sssb@1.0.0:race").code == 0
    before = files_below(tmp_path / "results")
    env = {**os.environ, "PYTHONHASHSEED": "12345"}
    again = [sys.executable, "-m", "senseprobe", "score", "bert", "sssb@1.0.0:race"]
    subprocess.run(again, cwd=tmp_path, env=env, check=True, capture_output=True)
    after = files_below(tmp_path / "results")
    name = "sssb@1.0.0/bert/aul.race"
    assert after[f"{name}.json"] == before[f"{name}.json"]
    first, second = (pq.read_table(pa.BufferReader(files[f"{name}.parquet"])) for files in (before, after))
    assert first.drop_columns(["stereo_score", "anti_score"]) == second.drop_columns(["stereo_score", "anti_score"])
    for column in ("stereo_score", "anti_score"):
        # Sums of float32 end otherwise where memory is aligned otherwise; issue 2 asks for 1e-5.
        np.testing.assert_allclose(first[column].to_numpy(), second[column].to_numpy(), rtol=0, atol=1e-5)
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


def test_name_with_markup(typed: Typed, tmp_path: Path) -> None:
    """A model's name is text, even where it looks like the markup of our terminal library."""
    shutil.move(tmp_path / "bert", tmp_path / "[bold]bert[/italic]")
    done = typed("score", "[bold]bert[/italic]", "sssb@1.0.0:race")
    assert done.code == 0, done.err
    assert "aul of [bold]bert[/italic]" in done.out


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("score bert sssb@1.0.0 -m bleu", "unknown scorer bleu: take one of aul, pll"),
        ("score bert sssb@1.0.0:people", "sssb@1.0.0:people has no config 'people': there is nationality, language,"),
        ("score bert sssb@9.9.9", "no release 'sssb@9.9.9': there is association@1.0.0"),
        ("score bert nowhere/at/all", "no release folder 'nowhere/at/all'"),
        ("score nobody/nothing sssb@1.0.0:race", "cannot load the model nobody/nothing: "),
        ("score releases sssb@1.0.0:race", "cannot load the model releases: "),
        ("score bert sssb@1.0.0:race --device abacus", "cannot use the device abacus: "),
        ("score bert sssb@1.0.0:race --dtype int4", "unknown number format int4: take one of float32, "),
        ("report nothing.json", "nothing.json cannot be read: No such file or directory"),
        ("report bert/config.json", "bert/config.json is no result of senseprobe"),
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


def test_damaged_release(typed: Typed, tmp_path: Path) -> None:
    """A release with a flipped byte is refused with the name of its file and exit code 1; results stay as they were."""
    assert typed("score", "bert", "sssb@1.0.0:race").code == 0
    before = files_below(tmp_path / "results")
    victim = next((tmp_path / "releases/sssb/1.0.0/race").glob("*.parquet"))
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    done = typed("score", "bert", "sssb@1.0.0:race")
    assert (done.code, done.message.startswith("race/test-00000-of-00001.parquet: E4")) == (1, True)
    assert files_below(tmp_path / "results") == before


def test_unwritable_output(typed: Typed, tmp_path: Path) -> None:
    """A file in the way of the results, or a folder in the way of the report, is told; earlier results stay."""
    assert typed("score", "bert", "sssb@1.0.0:race").code == 0
    before = files_below(tmp_path)
    done = typed("score", "bert", "sssb@1.0.0:race", "--out", "senseprobe.toml")
    assert done.message == (
        "cannot write results to senseprobe.toml/sssb@1.0.0/bert: senseprobe.toml is no folder that you may write to"
    )
    assert done.code == 2
    done = typed("report", "results/sssb@1.0.0/bert/aul.race.json", "-o", "results")
    assert (done.code, done.message) == (2, "cannot write results: Is a directory")
    assert files_below(tmp_path) == before


INTERRUPTED = """
import sys, time
from senseprobe.evaluate.models import MaskedLM

def wait(self, queries):
    print("scoring", flush=True)
    time.sleep(60)

MaskedLM.log_probabilities = wait
from senseprobe.cli import main
sys.argv = ["senseprobe", "score", "bert", "sssb@1.0.0:race"]
main()
"""


def test_interrupted(typed: Typed, tmp_path: Path) -> None:
    """Ctrl-C while scoring is one message and exit code 2, and earlier results stay as they were."""
    assert typed("score", "bert", "sssb@1.0.0:race").code == 0
    before = files_below(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "scoring\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    done = Outcome(process.returncode, out, err)
    assert (done.code, done.message) == (2, "interrupted; nothing was left half-written")
    assert files_below(tmp_path) == before


@pytest.mark.parametrize("missing", [["torch"], ["torch", "transformers"]])
def test_without_models_extra(
    missing: list[str], typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where torch is not installed, the message names the extra that brings it."""
    for module in missing:
        monkeypatch.setitem(sys.modules, module, None)  # what makes find_spec and import see none
    done = typed("score", "bert", "sssb@1.0.0:race")
    assert (done.code, done.message) == (2, f"{', '.join(missing)} not installed: pip install 'senseprobe[models]'")
    assert not (tmp_path / "results").exists()


def test_without_reports_extra(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where matplotlib is not installed, scoring works, and the report names the extra that brings it."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert typed("score", "bert", "sssb@1.0.0:race").code == 0
    done = typed("report", "results/sssb@1.0.0/bert/aul.race.json")
    assert (done.code, done.message) == (2, "a report needs matplotlib: pip install 'senseprobe[reports]'")


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
