"""Without a room that registers itself the rest works: a dataset is built, a model scored, a page written."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.test_architecture import REGISTERED, SPINE

# A fresh interpreter types a few commands, as somebody does who has no more than the rest of the package.
SESSION = """
import os
import sys
import senseprobe
from senseprobe.cli.application import app

assert senseprobe.__file__.startswith(sys.argv[1])
model = sys.argv[2]
dir(senseprobe), senseprobe.score, senseprobe.model

def run(*words):
    try:
        app(words)
    except SystemExit as end:
        assert not end.code, words

run("--help")
run("init", "mine")
os.chdir("mine")
run("lint")
run("build", "example", "1.0.0")
run("score", model, "example@1.0.0", "-s", "aul", "--limit", "20", "--no-store")
run("report", "results", "--out", "page.html")
run("explain")
"""
NAMES = {"evaluate.served": "openai:http://127.0.0.1:9/v1#m", "evaluate.senses": "senses:vectors.txt"}
"""Of each room with models, what one of them is called."""


def _without(rooms: set[str], folder: Path) -> Path:
    """Return a folder for PYTHONPATH with links to all of the package but the rooms."""
    package = folder / "senseprobe"
    package.mkdir(parents=True)
    for entry in SPINE.iterdir():
        missing = {room.partition(".")[2] for room in rooms if room.partition(".")[0] == entry.name}
        if not missing:
            (package / entry.name).symlink_to(entry.resolve())
            continue
        (package / entry.name).mkdir()
        for inner in entry.iterdir():
            if inner.name not in {*missing, "__pycache__"}:
                (package / entry.name / inner.name).symlink_to(inner.resolve())
    return folder


@pytest.mark.parametrize(
    "rooms", [*({room} for room in sorted(REGISTERED)), REGISTERED], ids=lambda rooms: ", ".join(sorted(rooms))
)
def test_the_rest_works_without_a_room(
    rooms: set[str], tmp_path: Path, tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody deletes a folder, and everything else is as before; what was in it is refused in one message."""
    package = _without(rooms, tmp_path / "package")
    monkeypatch.setenv("PYTHONPATH", str(package))
    command = [sys.executable, "-P", "-c", SESSION, str(package), str(tiny_models["bert"])]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    assert (tmp_path / "mine" / "page.html").is_file()
    for name in (NAMES[room] for room in sorted(rooms & NAMES.keys())):
        words = ["score", name, "example@1.0.0", "--limit", "2"]
        asked = [sys.executable, "-P", "-m", "senseprobe", *words]
        refused = subprocess.run(asked, cwd=tmp_path / "mine", capture_output=True, text=True, check=False)
        assert refused.returncode == 2
        assert refused.stderr.splitlines() == [
            f"nothing in this installation of senseprobe opens models whose names begin with {name.partition(':')[0]}:"
        ]
