"""Commands in processes of their own that are killed, interrupted or raced, and that need no start of an interpreter.

They are forked from one that has loaded what `build` and `import` load, and so they begin to work at once.
"""

import multiprocessing
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    [
        "inflect",
        "pandas",
        *(f"senseprobe.{name}" for name in ("api", "cli", "recipes", "importers.plan", "evaluate.estimands.headline")),
        *(f"senseprobe.generator.{name}" for name in ("checks", "dataset", "version_check")),
    ]
)

# A text, as the process cannot import the tests.
RUN = """
import os, resource, sys, time
while after is not None and not after.exists():
    time.sleep(0.001)
if env is not None:
    os.environ.clear()
    os.environ.update(env)
from senseprobe.cli.application import main
for stream, path in ((sys.stdout, out), (sys.stderr, err)):
    os.dup2(os.open(path, os.O_WRONLY), stream.fileno())
if most is not None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
sys.argv = ["senseprobe", *words]
main()
"""


@dataclass(frozen=True)
class Child:
    """A command that runs: what it prints goes to files."""

    process: BaseProcess
    out: Path
    err: Path

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self.process.is_alive()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process, if it runs."""
        if self.runs and self.process.pid:
            os.kill(self.process.pid, number)

    def end(self) -> tuple[int, str, str]:
        """Wait for it: exit code (less than 0 where a signal ended it), and what it printed."""
        self.process.join()
        assert self.process.exitcode is not None
        return self.process.exitcode, self.out.read_text(), self.err.read_text()


def start(
    folder: Path,
    *words: str,
    most: int | None = None,
    after: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Child:
    """Start a command line in the current folder; `folder` is for what it prints.

    No file gets larger than `most` bytes; the command begins when the file `after` is there; `env` stands for the
    environment.
    """
    number = len([*folder.iterdir()])
    out, err = (folder / f"{number}.{name}" for name in ("out", "err"))
    for path in (out, err):
        path.touch()
    names = {"words": words, "out": out, "err": err, "most": most, "after": after, "env": env}
    process = SERVER.Process(target=exec, args=(RUN, names))
    process.start()
    return Child(process, out, err)
