"""minicons and lm-eval, asked in a process of their own: they need an environment that has them."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rivals.passes import Timed

__all__ = ["Absent", "Foreign"]

WORKER = Path(__file__).parent / "worker.py"
TRIAL = 64  # texts that batch sizes are tried on


class Absent(Exception):
    """A rival cannot be run; the message says why."""


class Foreign:
    """A rival with the weights in a folder. It computes nothing while others have their turn.

    `python` is an interpreter that has it; None: the one that runs this, if it has. Raises Absent where it has not.
    """

    def __init__(self, python: str | None, rival: str, folder: Path, *, device: str, threads: int) -> None:
        library = rival.partition(" ")[0].replace("-", "_")
        if python is None and find_spec(library) is None:
            raise Absent(f"{library} is not installed: --help tells how to get it")
        outside = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment = {**outside, "OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
        self._complaints = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - as long as the process
        try:
            self._process = subprocess.Popen(
                [python or sys.executable, WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                env=environment,
                text=True,
            )
        except OSError as error:
            raise Absent(f"{python}: {error.strerror}") from error
        self.batch_size = 1
        self.tried: dict[int, float] = {}
        question = {"rival": rival, "folder": str(folder), "device": device, "threads": threads}
        self.named: str = self._ask(question)["named"]

    def choose(self, texts: Sequence[str], batch_sizes: Sequence[int]) -> None:
        """Take the batch size with which a part of the texts is fastest; `tried` are texts a second by batch size."""
        part = texts[:: max(1, len(texts) // TRIAL)]
        self.score(part[:4], 4)  # the first passes are slow
        self.tried = {size: len(part) / self.score(part, size)[1] for size in batch_sizes}
        self.batch_size = max(batch_sizes, key=lambda size: self.tried[size])

    def score(self, texts: Sequence[str], batch_size: int | None = None) -> Timed:
        """The numbers of texts, shape (texts, 1), and the seconds that the rival itself took."""
        answer = self._ask({"texts": list(texts), "batch_size": batch_size or self.batch_size})
        return np.array(answer["values"])[:, None], answer["seconds"]

    def close(self) -> None:
        """Let the process end."""
        self._process.stdin.close()  # type: ignore[union-attr]
        self._process.wait()
        self._process.stdout.close()  # type: ignore[union-attr]
        self._complaints.close()

    def _ask(self, question: object) -> Any:  # noqa: ANN401 - JSON
        assert self._process.stdin and self._process.stdout  # noqa: S101, PT018 - they are pipes
        try:
            print(json.dumps(question), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._process.wait()
            self._complaints.seek(0)
            raise Absent((self._complaints.read().strip().splitlines() or ["it ended without a word"])[-1])
        return json.loads(line)
