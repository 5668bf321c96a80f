"""Projects with a release to ask about, what stands for a server, and where the files of a round are."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.annotation import world
from tests.commands import Typed, typing

from senseprobe import api
from senseprobe.annotation.label_studio import client


def _built(folder: Path, make: Callable[[Path], None]) -> Path:
    """A project in which `tiny@1.0.0` was built: tests take copies of it."""
    make(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        api.build("tiny", "1.0.0")
    return folder


@pytest.fixture(scope="session")
def small_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose `tiny@1.0.0` has eight rows, which no test changes."""
    return _built(tmp_path_factory.mktemp("small"), world.make)


@pytest.fixture(scope="session")
def larger_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose `tiny@1.0.0` has 36 rows of people and 12 of tourists, of two nations, which no test changes."""
    return _built(tmp_path_factory.mktemp("larger"), world.make_larger)


@pytest.fixture
def typed(
    larger_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Typed:
    """Runs a command line in a copy of the larger project."""
    shutil.copytree(larger_project, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("LABEL_STUDIO_URL", raising=False)
    return typing(monkeypatch, capfd)


@pytest.fixture
def studio(monkeypatch: pytest.MonkeyPatch) -> world.Studio:
    """What stands for a server here; tests/annotation/label_studio has a real one."""
    made = world.Studio()
    monkeypatch.setattr(client, "connect", lambda: made)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the files of the annotation project are."""
    return tmp_path / "annotations" / "first-check"
