"""Progress: a bar on a terminal, a line each minute in a file, one for work within work, none beside a callback."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from senseprobe import api, progress
from senseprobe.progress import Step, expect, progress_bar, with_progress


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


# ---- How long is left, by a clock that we set ----


class Clock:
    """Seconds that pass where we say so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_file_gets_a_line_each_minute(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """Ten of 100 each 20 seconds: after a minute 30 are done, at 0.5 a second, and 140 seconds are left."""
    lines = []
    with progress_bar("scoring a\nb", clock) as step:
        for done in range(0, 101, 10):
            step(done, 100)
            if text := capsys.readouterr().err:
                lines.append((clock.now, text))
            clock.now += 20

    assert [when for when, _ in lines] == [60, 120, 180]
    assert lines[0][1].splitlines() == ["scoring a b: 30 of 100, 0.5/s, 0:02:20 left"]
    assert lines[2][1].splitlines() == ["scoring a b: 90 of 100, 0.5/s, 0:00:20 left"]


def test_short_work_writes_nothing(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("scoring", clock) as step:
        step(0, 10)
        clock.now = 59
        step(10, 10)

    assert capsys.readouterr().err == ""


def test_without_a_total_nothing_is_promised(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """What is done, and how fast; steps that are minutes apart have a rate, too."""
    with progress_bar("reading", clock) as step:
        for _ in range(3):
            step(2)
            clock.now += 120
        capsys.readouterr()
        step(2)
    told = capsys.readouterr().err

    assert "left" not in told
    assert "1.0/min" in told
    assert "8" in told


def test_what_is_expected_has_a_remaining_time(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """Callbacks that hear amounts alone, as those of `build`, are told the total; those of a caller are not."""
    heard: list[int] = []
    expect(heard.append, 5)
    expect(None, 5)
    with progress_bar("building", clock) as step:
        expect(step, 400)
        for _ in range(10):
            clock.now += 10
            step(10)

    assert heard == []
    assert (step.done, step.total) == (100, 400)
    assert "0:05:40 left" in capsys.readouterr().err.splitlines()[0]  # 60 of 400 after a minute, at 1/s


def test_building_says_how_long_is_left(labels: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The rows of all configs are expected before the first of them is made: 4,002 of sssb."""
    states: list[tuple[int, int]] = []

    @contextmanager
    def bar(label: str) -> Iterator[Step]:
        class Bar:
            def update(self, task: int, **state: int) -> None:
                states.append((step.done, step.total))

            reset = update

        step = Step(Bar(), 0)  # type: ignore[arg-type]
        yield step
        states.append((step.done, step.total))

    monkeypatch.setattr(progress, "progress_bar", bar)
    release = api.build("sssb", "9.0.0", tmp_path)
    rows = sum(release.manifest.config(name)["rows"] for name in release.configs)

    assert states[1][1] == rows
    assert states[-1] == (rows, rows)
