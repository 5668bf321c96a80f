"""Command lines as they are typed: exit code, and what was printed."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from senseprobe.cli.application import main


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


def fill_in(project: Path) -> None:
    """Fill in what `senseprobe new` leaves to the author, and state another source of the example's words."""
    lists = project / "wordlists"
    for path in (*(project / "templates").glob("*/*"), lists / "datapackage.yaml"):
        text = re.sub(r'(citation|source): "TODO: [^"]*"', r"\1: own", path.read_text())
        text = re.sub(r'TODO: [^"\n]*', "words of a test, and true of it", text)
        path.write_text(text.replace("senseprobe-example", "own"))
    with (lists / "references.bib").open("a") as bibliography:
        bibliography.write("\n@misc{own,\n  author = {Own, Jane},\n  title = {Words},\n}\n")
