"""Files and servers of people as they are, with what a careful user expects of each (tests/cases)."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest
from tests.annotation import world

import senseprobe
import senseprobe.api
from senseprobe.evaluate.models.vector_files import VectorFile
from senseprobe.evaluate.units import Unit

FOLDER = Path(__file__).parent / "cases"

Case = Callable[[Path, Path], None]
"""What holds of the files of a folder; the second folder is empty."""


STUB = FOLDER / "08-server-token-spelling" / "stub.py"


@contextmanager
def stub(mode: str, folder: Path) -> Iterator[str]:
    """The address of a model behind a server with the habits that a mode names; it logs into the folder."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}/v1"
    with subprocess.Popen([sys.executable, str(STUB), mode, str(port)], cwd=folder) as server:
        try:
            for _ in range(600):
                try:
                    httpx.get(f"{address}/models", trust_env=False)
                    break
                except httpx.ConnectError:
                    assert server.poll() is None
                    time.sleep(0.05)
            yield address
        finally:
            server.kill()


def spelling_of_tokens(_: Path, folder: Path) -> None:
    """The figures are the same: the server gives the same answers, spelt otherwise."""
    told = []
    for mode in ("plain", "lmdeploy"):
        with stub(mode, folder) as address:
            spec = f"openai:{address}#tiny"
            (result,) = senseprobe.score(spec, "sssb@1.1.0:noun-bare", "choice-likely", limit=6, store=False, say=print)
        assert all(task.does_task for task in result.tasks.values())
        told.append([(figure.estimand, figure.value) for figure in result.figures])
    assert told[0] == told[1]
    assert all(value is not None for _, value in told[0])


def five_log_probabilities(_: Path, folder: Path) -> None:
    """What the server complained of is told, and that 20 are needed; texts can be scored."""
    with stub("azure5", folder) as address:
        done = typed_in(folder, "model", "check", address)
    assert done.returncode == 0
    first = done.stdout.splitlines()[0]
    assert "Invalid value for 'top_logprobs': must be less than or equal to 5" in first
    assert "the server returns at most 5, and 20 are needed" in first
    assert "supported: text-likely" in " ".join(done.stdout.split())


def a_fixed_temperature(_: Path, folder: Path) -> None:
    """One line has the true cause, and nothing of likelihoods, logs and templates."""
    with stub("gpt5", folder) as address:
        done = typed_in(folder, "model", "check", address)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    (line,) = done.stderr.splitlines()
    assert "any scorer: this model fixes the temperature, so answers cannot be repeated" in line
    assert "'temperature' does not support 0" in line
    assert [word for word in ("echo", "llama.cpp", "log and", "template") if word in line] == []


def probe_in_a_pipe(_: Path, folder: Path) -> None:
    """Names of scorers, and whether each check passed, are whole; by the stub: echo answers with one new token."""
    environment = {**os.environ, "COLUMNS": "80", "XDG_CACHE_HOME": str(folder)}
    with stub("llama-echo", folder) as address:
        typed = [sys.executable, "-P", "-m", "senseprobe", "model", "check", address]
        done = subprocess.run(typed, cwd=folder, env=environment, capture_output=True, text=True, check=True)
        told = json.loads(subprocess.run([*typed, "--json"], env=environment, capture_output=True, check=True).stdout)
    lines = done.stdout.splitlines()
    for check in told["checks"]:
        cells = f"{re.escape(check['title'])} +{check['state']} +{re.escape(check['read'])}"
        assert any(re.fullmatch(cells, line) for line in lines)
    for name in told["scorers"]:
        assert any(name in re.split("[ ,:]+", line) for line in lines)
    assert told["scorers"]["choice-likely"]["can"]
    assert not told["scorers"]["ll-mean"]["can"]


def typed_in(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What a command line comes to that is typed in a folder."""
    command = [sys.executable, "-P", "-m", "senseprobe", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def csv_of_label_studio(files: Path, folder: Path) -> None:
    """It is called by its name, and what to export instead: no sheet that lacks a column."""
    world.make(folder)
    assert typed_in(folder, "build", "tiny", "1.0.0").returncode == 0
    exported = typed_in(folder, "annotate", "export", "tiny@1.0.0", "--project", "check", "--annotators", "2")
    assert exported.returncode == 0, exported.stderr
    shutil.copy(files / "ls-export.csv", folder)
    told = typed_in(folder, "annotate", "import", "check", "ls-export.csv")
    (message,) = told.stderr.splitlines()
    assert (told.returncode, told.stdout, "Traceback" in message) == (2, "", False)
    assert [word for word in ("ls-export.csv", "CSV export of Label Studio", "as JSON") if word not in message] == []


def words_in_two_sets(files: Path, _: Path) -> None:
    """By the file: *war* is in A and B, *fly* in X and Y, and twice in X, which has three words then."""
    words = pd.read_csv(files / "words.csv")
    vectors = {word: np.eye(11)[number] + 0.1 for number, word in enumerate(words["word"].unique())}
    (result,) = senseprobe.score(vectors, words, store=False)
    (figure,) = result.as_dict()["figures"]
    assert figure["levels"] == {"X": 3, "Y": 3, "A": 3, "B": 3}
    for told in (
        "A and B (which cancel out): war",
        "X and Y (which cancel out): fly",
        "twice in X (counted once): fly",
    ):
        assert told in figure["note"]


def words_of_vectors(files: Path, _: Path) -> None:
    """All 18 words have the numbers that end their lines; a header, or a blank word, is remarked."""
    for path in files.iterdir():
        lines = path.read_text("utf-8-sig").splitlines()
        fields = [line.split() for line in lines]
        expected = {word: [*map(float, numbers)] for word, *numbers in fields if len(numbers) == 4}
        file = VectorFile.load(f"vectors:{path}")
        ((*answers,),) = file.encode("word", map(Unit, expected))
        assert len(expected) == 18
        assert {unit.text: vector.tolist() for unit, vector in answers} == {
            word: pytest.approx(numbers) for word, numbers in expected.items()
        }
        remarks = senseprobe.vectors(path).describe(None).remarks
        odd = [number for number, line in enumerate(lines, 1) if line[0] == " "]
        told = [f"line {number}" for number in odd] or ["line 1 says 19"] * (path.name == "words.vec")
        assert [part in remark for part, remark in zip(told, remarks, strict=True)] == [True] * len(told)


def labels_of_the_hub(files: Path, folder: Path) -> None:
    """Bias types by the list in the schema (6 is age); of CSV it is said that these are the Hub's integers."""
    columns = {"stereo": "sent_more", "anti": "sent_less", "bias_type": "bias_type"}
    release, _ = senseprobe.import_release(
        "parquet", [files / "pairs.parquet"], "x", "1.0.0", None, folder, columns=columns
    )
    kinds = [*release.to_pandas("rows")["bias_type"]]
    assert kinds == ["age", "gender", "socioeconomic", "physical-appearance", "gender", "religion"]
    named = ("--name", "y", "--version", "1.0.0", "--dry-run")
    told = typed_in(folder, "import", "crows-pairs", str(files / "pairs.csv"), *named)
    assert (told.returncode, told.stdout, "Hub's copy" in told.stderr) == (2, "", True)


def lines_of_the_hub(files: Path, folder: Path) -> None:
    """It is called the Hub's form, and what to take is named."""
    named = ("--name", "x", "--version", "1.0.0", "--dry-run")
    told = typed_in(folder, "import", "stereoset", str(files / "items.json"), *named)
    assert (told.returncode, told.stdout) == (2, "")
    assert [
        word for word in ("items.json", "Hub's form", "one object per line", "dev.json") if word not in told.stderr
    ] == []


CASES: dict[str, Case] = {
    "01-header-off-by-one": words_of_vectors,
    "02-space-token-first": words_of_vectors,
    "04-byte-order-mark": words_of_vectors,
    "05-hub-class-labels": labels_of_the_hub,
    "06-hub-stereoset-lines": lines_of_the_hub,
    "08-server-token-spelling": spelling_of_tokens,
    "10-server-five-top-logprobs": five_log_probabilities,
    "11-server-fixed-temperature": a_fixed_temperature,
    "12-probe-table-cut": probe_in_a_pipe,
    "14-label-studio-csv-export": csv_of_label_studio,
    "15-words-in-two-sets": words_in_two_sets,
}


def test_every_folder_is_a_case() -> None:
    """No input lies there that nothing reads."""
    assert {path.name for path in FOLDER.iterdir()} == {*CASES}


@pytest.mark.parametrize("name", CASES)
def test_a_case(name: str, tmp_path: Path) -> None:
    """What a careful user expects is what happens."""
    CASES[name](FOLDER / name, tmp_path)
