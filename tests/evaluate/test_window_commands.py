"""Scoring in parts as it is typed: the lines of docs/running.md, and what bad input gets."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands import Typed, typing
from tests.docs.pages import DOCS, blocks_of

from senseprobe import api
from senseprobe.evaluate.result import read_result

RELEASE = "sssb@1.0.2:noun-bare"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """What runs a command line."""
    return typing(monkeypatch, capfd)


@pytest.fixture
def shell(tmp_path: Path, tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a shell in a folder that has `my-model`, with senseprobe on its path."""
    shutil.copytree(tiny_models["bert"], tmp_path / "my-model")
    command = tmp_path / "bin" / "senseprobe"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m senseprobe "$@"\n')
    command.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    path = os.pathsep.join([str(command.parent), os.environ["PATH"]])
    python = os.pathsep.join(part for part in sys.path if part)
    return {**os.environ, "PATH": path, "PYTHONPATH": python, "OMP_NUM_THREADS": "1"}


def lines_of(word: str) -> str:
    """The block of the page, in the language of a shell, that has a word."""
    (block,) = (each for each in blocks_of(DOCS / "running.md") if each.language == "bash" and word in each.text)
    return block.text


@pytest.mark.parametrize("way", ["SLURM", "xargs"])
def test_the_lines_of_the_page_answer_all_windows(way: str, shell: dict[str, str]) -> None:
    """As an array of jobs, each in a shell of its own, and by xargs, two at a time; the result is one process's."""
    script = lines_of(way)
    jobs = range(4) if way == "SLURM" else range(1)
    for job in jobs:
        run = ["bash", "-c", script]
        subprocess.run(run, env=shell | {"SLURM_ARRAY_TASK_ID": str(job)}, check=True, timeout=300, capture_output=True)
    (joined,) = api.join_scores("parts")
    (whole,) = api.score("my-model", RELEASE, store=False)
    assert (joined.signature, joined.figures) == (whole.signature, whole.figures)


def test_steps_print_what_is_left_and_results(typed: Typed, shell: dict[str, str]) -> None:
    """In sentences, or as JSON; a shard without a window says so, and is fine."""
    planned = typed("score", "my-model", RELEASE, "--plan", "parts", "--json")
    assert (planned.code, planned.told) == (0, {"parts": "parts", "windows": 1, "units": 120})
    idle = typed("score", "my-model", RELEASE, "--shards", "2", "--shard", "1", "--out", "parts")
    assert idle.out == "shard 1 of 2 has no window: there are fewer windows than shards\n"
    missing = typed("score", "--join", "parts")
    assert "of 1 window, 1 have no part in parts: window 0" in missing.message
    done = typed("score", "--shards", "2", "--shard", "0", "--out", "parts", "--json")
    facts = {"parts": "parts", "shard": 0, "shards": 2, "windows": 1, "answered": 1, "missing": 0}
    assert (done.code, done.told) == (0, facts)
    again = typed("score", "my-model", RELEASE, "--shards", "2", "--shard", "0", "--out", "parts")
    assert again.out == "shard 0 of 2: 0 windows answered (1 part there already); no window is left in parts\n"
    joined = typed("score", "--join", "parts", "--out", "joined", "--json")
    (path,) = Path("joined").rglob("*.json")
    assert joined.told[0]["signature"] == read_result(path).signature


BAD = [
    (("--shards", "2"), "--shards N and --shard I go together"),
    (("--without", "relative"), "--without goes with --join FOLDER: what to score is chosen with -e and -s"),
    (("--shards", "2", "--shard", "0"), "--shards needs --out FOLDER: one that all shards can read and write"),
    (("--shards", "2", "--shard", "2", "--out", "parts"), "there is no shard 2 of 2: shards are numbered 0 to 1"),
    (("--plan", "parts", "--join", "parts"), "--plan and --join are steps of their own: leave out one of them"),
    (("--plan", "parts", "--dry-run"), "--dry-run is for scoring as a whole: leave it out"),
    (("--plan", "parts", "--level", "word"), "--level is for scoring as a whole: leave it out"),
    (("--plan", "parts", "-s", "weat-word"), "weat-word compares the vectors of a few words: score it as a whole"),
    (("--join", "nowhere"), "nowhere has no plan: `senseprobe score MODEL RELEASE --plan nowhere` writes it"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_options_that_do_not_go_together_get_one_message(
    options: tuple[str, ...], message: str, typed: Typed, shell: dict[str, str]
) -> None:
    """Exit code 2; nothing is written."""
    release = "association@1.1.1" if "weat-word" in options else RELEASE
    outcome = typed("score", "my-model", release, *options)
    assert (outcome.code, outcome.message) == (2, message)
    assert not any(path.name.startswith("part-") for path in Path().rglob("*"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("score",), "MODEL is missing: name a folder, a fetched model, or one on the Hugging Face Hub"),
        (
            ("score", "--plan", "parts"),
            "MODEL is missing: name a folder, a fetched model, or one on the Hugging Face Hub",
        ),
        (("score", "--shards", "2", "--shard", "0", "--out", "parts"), "parts has no plan: "),
    ],
)
def test_what_is_missing_is_said(words: tuple[str, ...], message: str, typed: Typed, shell: dict[str, str]) -> None:
    """Of a line without a model."""
    outcome = typed(*words)
    assert (outcome.code, outcome.message[: len(message)]) == (2, message)


def test_served_models_and_vectors_are_scored_as_a_whole(typed: Typed, shell: dict[str, str]) -> None:
    """One sentence each."""
    served = typed("score", "openai:http://127.0.0.1:9#m", RELEASE, "--plan", "parts")
    assert served.code == 2
    assert "is behind a server, which answers many requests at once: score it as a whole" in served.message
    Path("vectors.txt").write_text("he 1 0\nshe 0 1\n")
    vectors = typed("score", "vectors:vectors.txt", "association@1.1.1", "--plan", "parts")
    assert vectors.code == 2
    assert "compares the vectors of a few words: score it as a whole" in vectors.message
