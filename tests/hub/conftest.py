"""A project with two releases, and an empty Hub."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub import constants
from tests.hub.server import Hub
from tests.hub.state import OWNER_TOKEN

from senseprobe import api, scaffold


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with releases 0.1.0 and 0.2.0 of a small dataset; the second has a word more, and so more rows."""
    folder = tmp_path_factory.mktemp("made") / "project"
    scaffold.start(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        api.build("example", "0.1.0")
        with (folder / "wordlists" / "hobbyists.csv").open("a", encoding="utf-8") as words:
            words.write("weaver\n")
        template = folder / "templates" / "example" / "hobbies.j2"
        text = template.read_text(encoding="utf-8").replace("pairs: 750", "pairs: 875")
        template.write_text(text, encoding="utf-8")
        api.build("example", "0.2.0")
    return folder


@pytest.fixture
def project(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project, ours to change, and the working directory."""
    folder = Path(shutil.copytree(built, tmp_path / "project"))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """An empty Hub, that this process's clients ask as jane; they wait for nothing between attempts."""
    server = Hub()
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    at_once = SimpleNamespace(sleep=lambda seconds: None, time=time.time, monotonic=time.monotonic)
    for waits in ("huggingface_hub.utils._http", "senseprobe.hub.download"):
        monkeypatch.setattr(f"{waits}.time", at_once)
    monkeypatch.setenv("HF_TOKEN", OWNER_TOKEN)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield server
    server.stop()
