"""A run that was killed goes on where it was: the same result to the last byte, and next to nothing computed twice."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.tiny import lay_out
from tests.tiny_release import PACKAGE, TEMPLATE

from senseprobe import api

# He and she of each: so many sentences that a run takes more than forty forward passes of 32 tokens.
JOBS = [
    f"{quality} {job}"
    for quality in ("nice", "kind", "clever", "uppish", "unfriendly", "arrogant", "talented", "beautiful", "black")
    for job in ("engineer", "judge", "dress", "horse", "fair", "German", "Arabic", "French", "Chinese", "English")
]

# Imports once what takes seconds, and runs each command line that it is told in a process of its own. In these, every
# forward pass of a model that is loaded leaves a line in a file, before it begins, with what is asked: a count of its
# own, none of ours.
RUNNER = """
import hashlib, json, os, sys
import torch
from transformers import BertForMaskedLM
import senseprobe.evaluate.scoring, senseprobe.evaluate.models.masked
from senseprobe.evaluate import models
from senseprobe.evaluate.models import source
from senseprobe.cli.application import main

torch.set_num_threads(1)
forward, load = BertForMaskedLM.forward, models.load

def counted(self, input_ids, **inputs):
    line = hashlib.sha256(str(input_ids.tolist()).encode()).hexdigest()
    os.write(counter, line.encode() + b"\\n")
    return forward(self, input_ids, **inputs)

def loaded(*words, **options):
    model = load(*words, **options)
    BertForMaskedLM.forward = counted
    return model

source.load = loaded
for line in sys.stdin:
    words, name = json.loads(line)
    child = os.fork()
    if child == 0:
        os.environ["XDG_CACHE_HOME"] = os.path.abspath(name + "/cache")
        counter = os.open(name + "/passes", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what it prints is not for the test
        sys.argv = ["senseprobe", *words]
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        os._exit(code or 0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Runner:
    """Runs `senseprobe score` on a release, in processes that can be killed."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self._process = subprocess.Popen(
            [sys.executable, "-c", RUNNER], cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, name: str, *options: str) -> int:
        """Begin a run with a cache, a folder of results and a count of passes that are called `name`; its process."""
        words = ["score", "bert", "tiny@1.0.0", "--batch-tokens", "32", "--out", f"{name}/results", *options]
        (self.project / name / "cache").mkdir(parents=True, exist_ok=True)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([words, name]) + "\n")
        self._process.stdin.flush()
        return self._line()

    def wait(self) -> int:
        """How the run ended: what `waitpid` says, 0 where it was done."""
        return self._line()

    def _line(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def passes(self, name: str) -> list[str]:
        """The forward passes that runs called `name` began."""
        counter = self.project / name / "passes"
        return counter.read_text().splitlines() if counter.exists() else []

    def results(self, name: str) -> dict[str, bytes]:
        """The files of their results; each is whole."""
        files = list((self.project / name).rglob("aul*.json")) + list((self.project / name).rglob("aul*.parquet"))
        for path in files:
            assert json.loads(path.read_bytes()) if path.suffix == ".json" else pq.read_table(path)
        return {path.name: path.read_bytes() for path in files}

    def close(self) -> None:
        """End the runner."""
        with self._process:
            self._process.kill()


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory, tiny_models: dict[str, Path]) -> Iterator[Runner]:
    """Runs commands in a project with a release and a tiny BERT; a run called ``whole`` was never interrupted."""
    project = tmp_path_factory.mktemp("project")
    lay_out(project, TEMPLATE.replace("pairs: 2", f"pairs: {len(JOBS)}"))
    (project / "wordlists" / "datapackage.yaml").write_text(PACKAGE)
    (project / "wordlists" / "jobs.csv").write_text("\n".join(["word", *JOBS, ""]))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        api.build("tiny", "1.0.0")
    shutil.copytree(tiny_models["bert"], project / "bert")
    made = Runner(project)
    made.start("whole", "--no-store")
    assert made.wait() == 0
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
# Takes long: a process that imports torch, and seven runs.
def test_killed_and_run_again(seed: int, runner: Runner) -> None:
    """SIGKILL at random moments, again and again; the last run writes the bytes of one that was never interrupted."""
    name, expected, whole = f"killed {seed}", runner.results("whole"), runner.passes("whole")
    assert len(expected) == 3, "figures, scores and tokens"
    assert len(whole) > 40
    lot, kills, ended = random.Random(seed), 0, -1  # noqa: S311 - moments, no secret
    while ended != 0:
        moment = len(runner.passes(name)) + lot.randrange(20)
        child = runner.start(name)
        if kills < 6:
            with suppress(ProcessLookupError):  # it was done before the moment came
                while len(runner.passes(name)) < moment:
                    os.kill(child, 0)
                    time.sleep(0.001)
                time.sleep(lot.random() * 0.01)
                os.kill(child, signal.SIGKILL)
            kills += 1
        ended = runner.wait()
        assert ended in {0, signal.SIGKILL}
        assert runner.results(name).items() <= expected.items()
    assert runner.results(name) == expected
    counted = Counter(runner.passes(name))
    assert set(counted) == set(whole)
    assert sum(counted.values()) <= len(whole) + kills, "of each run that was killed, one pass at most was in vain"
