"""How the tests use the small Hub of server.py, as jane."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.hub.server import Hub
from tests.hub.state import OWNER_TOKEN, Blob, Repo

from senseprobe.errors import ReleaseError

REPO = "jane/example"
WRITES = {"create", "settings", "preupload", "batch", "object", "commit", "tag"}


def environment(hub: Hub, home: Path, token: str = OWNER_TOKEN) -> dict[str, str]:
    quiet = ("HF_HUB_DISABLE_XET", "HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_PROGRESS_BARS")
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "HF_HOME": str(home / "hf"), "HF_ENDPOINT": hub.url}
    return {**env, **dict.fromkeys(quiet, "1"), "HF_UPDATE_DOWNLOAD_COUNTS": "0", "HF_TOKEN": token}


def repo_of(hub: Hub) -> Repo:
    return hub.repos[REPO]


def assert_published(hub: Hub, folder: Path, version: str = "0.1.0", commits: int = 2) -> None:
    """The tag holds the release and nothing else, `commits` were made in all, and the project has noted it once."""
    repo, release = repo_of(hub), folder / "releases" / "example" / version
    assert len(repo.commits) == commits
    stored = repo.commits[repo.tags[f"v{version}"]].tree
    expected = {
        path.relative_to(release).as_posix(): path.read_bytes() for path in release.rglob("*") if path.is_file()
    }
    assert {name: blob.data for name, blob in stored.items() if name != ".gitattributes"} == expected
    lines = (release.parent / "published.csv").read_text(encoding="utf-8").splitlines()
    content = json.loads((release / "release.json").read_bytes())["content"]
    assert lines[0] == "version,repo,commit,content"
    assert lines.count(f"{version},{REPO},{repo.tags[f'v{version}']},{content}") == 1
    assert len(lines) == len(set(lines))


def refusal(work: Callable[[], object]) -> str:
    """What the user is told: one line, without the token."""
    with pytest.raises(ReleaseError) as raised:
        work()
    message = str(raised.value)
    assert "\n" not in message
    assert OWNER_TOKEN not in message
    return message


def damage(hub: Hub, name: str, data: bytes | None) -> None:
    """Have the last commit hold other bytes in a file, or not that file."""
    tree = repo_of(hub).commits[repo_of(hub).branches["main"]].tree
    tree.pop(name, None)
    if data is not None:
        tree[name] = Blob(data, lfs=name.endswith(".parquet"))
