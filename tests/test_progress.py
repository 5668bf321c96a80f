"""Progress bars: on a terminal, none in a file, one for work within work, and none beside a callback of the caller."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from senseprobe import progress
from senseprobe.progress import Step, with_progress


def stderr_of(program: str, *, terminal: bool) -> str:
    """What a program writes on standard error, where that is a terminal or a file."""
    command = [sys.executable, "-P", "-c", program]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    if not terminal:
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stderr
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL, env=environment) as running:
        os.close(theirs)
        text = b""
        while part := _read(ours):
            text += part
        assert running.wait() == 0
    os.close(ours)
    return text.decode()


def _read(file: int) -> bytes:
    try:
        return os.read(file, 65_536)
    except OSError:  # Linux: the other end is closed
        return b""


def test_python_shows_what_commands_show() -> None:
    """The same call has a bar on a terminal, and writes nothing into a file. Each takes a start of Python."""
    program = "import senseprobe; assert senseprobe.verify('sssb@1.0.1') == []"

    assert "verifying sssb@1.0.1" in stderr_of(program, terminal=True)
    assert stderr_of(program, terminal=False) == ""


def test_a_name_does_not_act_on_the_terminal() -> None:
    """Rich prints the label of a bar as it is."""
    program = r"from senseprobe.progress import progress_bar as bar; bar('of a\x1b[5m\nb//me:secret@host').__enter__()"

    assert r"of a\x1b[5m b…host" in stderr_of(program, terminal=True)


@pytest.fixture
def labels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The labels of the bars that are shown."""
    shown: list[str] = []

    @contextmanager
    def bar(label: str) -> Iterator[Callable[[int], None]]:
        shown.append(label)
        token = progress._busy.set(True)
        yield lambda amount: None
        progress._busy.reset(token)

    monkeypatch.setattr(progress, "progress_bar", bar)
    return shown


@with_progress("inner {name}")
def inner(name: object, progress: Callable[[int], None] | None = None) -> bool:
    """Whether it was given something to report to."""
    return progress is not None


@with_progress("outer")
def outer(name: str) -> bool:
    """Work that calls other work."""
    return inner(name)


def test_one_bar_for_work_within_work(labels: list[str]) -> None:
    """The outer work has a bar, the inner none; a long argument is cut to its first line."""
    assert (outer("a"), inner("b\nc"), inner("x" * 200)) == (False, True, True)
    assert labels == ["outer", "inner b", f"inner {'x' * 80}"]


def test_a_callback_of_the_caller_hears_alone(labels: list[str]) -> None:
    """Who has a callback sees no bar."""
    assert inner("a", progress=lambda amount: None)
    assert labels == []


def test_notebooks_need_widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a notebook there is a bar if ipywidgets is there, which rich draws with; else nothing, and no warning."""
    from rich.console import Console

    notebook = Console(force_jupyter=True)
    found = {"ipywidgets": object()}
    monkeypatch.setattr(progress, "find_spec", found.get)
    with_widgets = progress._is_watched(notebook)
    found.clear()

    assert with_widgets
    assert not progress._is_watched(notebook)


def test_a_step_takes_an_amount_or_a_state() -> None:
    """Both callbacks of the API are one: so much more, or so much of so much."""

    class Bar:
        def update(self, task: int, **state: int) -> None:
            states.append(state)

        reset = update

    states: list[dict[str, int]] = []
    step = Step(Bar(), 0)  # type: ignore[arg-type]
    step(3)
    step(4)
    assert (step.done, step.total, states) == (7, 0, [{"advance": 3}, {"advance": 4}])
    step(5, 10)
    step(6, 10)
    assert (step.done, step.total) == (6, 10)
    assert states[2:] == [{"total": 10, "completed": 5}, {"completed": 6}]
