"""A project with a release to ask about, what stands for a server, and where the files of a round are."""

from pathlib import Path

import pytest
from tests.annotation import world
from tests.commands import Typed, typing

from senseprobe import api
from senseprobe.annotation.label_studio import client


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Runs a command line in a project whose `tiny@1.0.0` has 36 rows of people and 12 of tourists, of two nations."""
    world.make_larger(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("LABEL_STUDIO_URL", raising=False)
    api.build("tiny", "1.0.0")
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
