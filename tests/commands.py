"""Command lines as they are typed: exit code, and what was printed."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from senseprobe.cli import main


class Outcome:
    """Exit code and what a command printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def told(self) -> Any:  # noqa: ANN401 - JSON
        """What --json printed."""
        return json.loads(self.out)

    @property
    def message(self) -> str:
        """The one message of a command that failed; checks that there is one, in one clause, and nothing else."""
        assert self.out == ""
        assert "Traceback" not in self.err
        lines = [line for line in self.err.splitlines() if line.strip()]
        assert len(lines) == 1, self.err
        return lines[0]


Typed = Callable[..., Outcome]


def typing(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """What runs a command line, as it is typed."""

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
