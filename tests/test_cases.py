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

FOLDER = Path(__file__).parent / "cases"

Case = Callable[[Path, Path], None]
"""What holds of the files of a folder; the second folder is empty."""


@contextmanager
def stub(script: Path, mode: str, folder: Path) -> Iterator[str]:
    """The address of a model behind a server that a case brings along; it logs into the folder."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}/v1"
    with subprocess.Popen([sys.executable, str(script), mode, str(port)], cwd=folder) as server:
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


def probe_in_a_pipe(files: Path, folder: Path) -> None:
    """Names of scorers, and whether each check passed, are whole; by the stub: echo answers with one new token."""
    environment = {**os.environ, "COLUMNS": "80", "XDG_CACHE_HOME": str(folder)}
    with stub(files / "stub.py", "llama-echo", folder) as address:
        typed = [sys.executable, "-P", "-m", "senseprobe", "probe", address]
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
    assert [word for word in ("ls-export.csv", "Label Studio's CSV export", "as JSON") if word not in message] == []


def words_in_two_sets(files: Path, _: Path) -> None:
    """By the file: *war* is in A and B, *fly* in X and Y, and twice in X, which has three words then."""
    words = pd.read_csv(files / "words.csv")
    vectors = {word: np.eye(11)[number] + 0.1 for number, word in enumerate(words["word"].unique())}
    (result,) = senseprobe.score(vectors, words, stored=False)
    (figure,) = result.as_dict()["figures"]
    assert figure["levels"] == {"X": 3, "Y": 3, "A": 3, "B": 3}
    for told in (
        "A and B (which cancel out): war",
        "X and Y (which cancel out): fly",
        "twice in X (counted once): fly",
    ):
        assert told in figure["note"]


CASES: dict[str, Case] = {
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
