<<<<<<< HEAD
"""Files and servers of people as they are, with what a careful user expects of each (tests/cases)."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

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


CASES: dict[str, Case] = {
    "12-probe-table-cut": probe_in_a_pipe,
}


def test_every_folder_is_a_case() -> None:
    """No input lies there that nothing reads."""
    assert {path.name for path in FOLDER.iterdir()} == {*CASES}


@pytest.mark.parametrize("name", CASES)
def test_a_case(name: str, tmp_path: Path) -> None:
    """What a careful user expects is what happens."""
    CASES[name](FOLDER / name, tmp_path)
=======
"""Files of people as they are: each folder of `tests/cases` has one, and what a careful user expects of it."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.annotation import world
from tests.commands import Typed, typing

from senseprobe import api

CASES = Path(__file__).parent / "cases"


def _nothing(typed: Typed, folder: Path) -> None:
    """A case that needs no more than its files."""


def _annotation_project(typed: Typed, folder: Path) -> None:
    """A project with a release of eight rows, about which people are asked in `check`."""
    world.make(folder)
    api.build("tiny", "1.0.0")
    assert typed("annotate", "export", "tiny@1.0.0", "--project", "check", "--annotators", "2").code == 0


class Case(NamedTuple):
    """A command in a folder with the files of a case: its exit code, and words of what it prints.

    `words` are from the `expected.txt` of the case, which says where it is from.
    """

    name: str
    command: str
    code: int
    words: tuple[str, ...]
    prepare: Callable[[Typed, Path], None] = _nothing


_TABLE = (
    Case(
        "14-label-studio-csv-export",
        "annotate import check ls-export.csv",
        2,
        ("ls-export.csv", "Label Studio's CSV export", "as JSON"),
        _annotation_project,
    ),
)


@pytest.mark.parametrize("case", _TABLE, ids=lambda case: case.name)
def test_case(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """The exit code, and the words that matter, in what is printed."""
    monkeypatch.chdir(tmp_path)
    typed = typing(monkeypatch, capfd)
    case.prepare(typed, tmp_path)
    shutil.copytree(CASES / case.name, tmp_path, dirs_exist_ok=True)
    told = typed(*case.command.split())
    printed = " ".join((told.out + told.err).split())
    assert told.code == case.code, printed
    assert "Traceback" not in printed
    assert [word for word in case.words if word not in printed] == [], printed
>>>>>>> 3670208 (A refused cell leaves the earlier answer standing, import takes the project's own sheets, two annotators are enough, and Label Studio's CSV is told from a sheet)
