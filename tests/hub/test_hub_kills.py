"""Kills and others at the same time: a version is whole or absent, and the rerun completes."""

import shutil
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tests.forks import Child, start
from tests.hub.client import REPO, assert_published, environment, refusal, repo_of
from tests.hub.server import Hub

from senseprobe import api
from senseprobe.errors import SenseprobeError
from senseprobe.hub.publish import publish, read_published

# The Hub's client hands bytes to httpx2 in a way that httpx2 does not want any more.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


def test_of_two_at_once_one_commit_remains(hub: Hub, project: Path) -> None:
    """Two publish the same release: each succeeds or says that somebody else was faster; one commit, one tag."""
    folder = project / "releases" / "example" / "0.1.0"

    def publish_message() -> str:
        try:
            publish(folder, REPO)
        except SenseprobeError as error:
            return str(error)
        return ""

    hub.delay = 0.01
    with ThreadPoolExecutor(2) as pool:
        messages = [future.result() for future in [pool.submit(publish_message), pool.submit(publish_message)]]
    assert "" in messages
    assert all("somebody else" in message or not message for message in messages)
    api.publish("example@0.1.0", REPO)
    assert_published(hub, project)


def _started(hub: Hub, child: Child) -> bool:
    """Wait until the Hub is asked; False where the process has ended before we looked."""
    while child.runs:
        if hub.log:
            return True
        time.sleep(0.001)
    return False


def _start(hub: Hub, home: Path, *arguments: str) -> Child:
    hub.log.clear()
    told = home / "told"
    told.mkdir(exist_ok=True)
    return start(told, *arguments, env=environment(hub, home))


def _seconds(work: Callable[[], object]) -> float:
    """About how long a new process takes from its first question to its end: it has more to load than this one."""
    start = time.monotonic()
    work()
    return 2 * (time.monotonic() - start)


def _kill_publish(hub: Hub, project: Path, home: Path, moments: int, seed: int) -> None:
    seconds = _seconds(lambda: api.publish("example@0.1.0", REPO))
    noted_in = project / "releases" / "example" / "published.csv"
    for moment in np.random.default_rng(seed).uniform(0, seconds, moments):
        hub.repos.clear()
        hub.objects.clear()
        noted_in.unlink(missing_ok=True)
        child = _start(hub, home, "publish", "example@0.1.0", REPO)
        if _started(hub, child):
            time.sleep(moment)
        child.send(signal.SIGKILL)
        child.end()
        repo = hub.repos.get(REPO)
        assert repo is None or len(repo.commits) <= 2
        assert repo is None or all("release.json" in repo.commits[oid].tree for oid in repo.tags.values())
        assert not noted_in.exists() or len(read_published(noted_in)) == 1
        api.publish("example@0.1.0", REPO)
        assert_published(hub, project)
        assert api.verify("example@0.1.0") == []


@pytest.mark.slow
def test_a_killed_publish_is_completed_by_the_next(hub: Hub, project: Path, tmp_path: Path) -> None:
    """Kill -9 at three moments: at most one commit, never a tag without it, and the rerun completes."""
    _kill_publish(hub, project, tmp_path, 3, 20220526)


@pytest.mark.soak
def test_a_killed_publish_is_always_completed_by_the_next(hub: Hub, project: Path, tmp_path: Path) -> None:
    """Kill -9 at a hundred moments."""
    _kill_publish(hub, project, tmp_path, 100, 20220527)


def _kill_pull(hub: Hub, project: Path, home: Path, moments: int, seed: int) -> None:
    api.publish("example@0.1.0", REPO)
    out = home / "out"
    arguments = ("pull", f"{REPO}@0.1.0", "--out", str(out))
    seconds = _seconds(lambda: api.pull(f"{REPO}@0.1.0", out))
    for moment in np.random.default_rng(seed).uniform(0, seconds, moments):
        shutil.rmtree(out, ignore_errors=True)
        child = _start(hub, home, *arguments)
        if _started(hub, child):
            time.sleep(moment)
        child.send(signal.SIGKILL)
        child.end()
        there = out / "example" / "0.1.0"
        assert not there.exists() or api.verify(str(there)) == []
        api.pull(f"{REPO}@0.1.0", out)
        assert [path.name for path in (out / "example").iterdir()] == ["0.1.0"]


# Takes long: two processes, and what they left is pulled again.
def test_a_killed_pull_leaves_no_half_release(hub: Hub, project: Path, tmp_path: Path) -> None:
    """Kill -9 at two moments: whole or absent, and the rerun removes what was left."""
    _kill_pull(hub, project, tmp_path, 2, 20220528)


@pytest.mark.soak
def test_a_killed_pull_never_leaves_a_half_release(hub: Hub, project: Path, tmp_path: Path) -> None:
    """Kill -9 at a hundred moments."""
    _kill_pull(hub, project, tmp_path, 100, 20220529)


@pytest.mark.parametrize(("first", "second"), [("0.2.0", "0.1.0"), ("0.1.0", "0.2.0")])
def test_of_two_versions_at_once_none_is_lost(hub: Hub, project: Path, first: str, second: str) -> None:
    """While one is on its way, the other is published whole: the first is told, and its rerun says how things stand."""
    hub.before["commit"] = lambda: api.publish(f"example@{second}", REPO)
    assert "somebody else has changed it" in refusal(lambda: api.publish(f"example@{first}", REPO))
    assert_published(hub, project, second)

    if first == "0.2.0":
        api.publish("example@0.2.0", REPO)
        assert_published(hub, project, "0.1.0", commits=3)
        assert_published(hub, project, "0.2.0", commits=3)
    else:
        assert f"{REPO} contains example@0.2.0" in refusal(lambda: api.publish("example@0.1.0", REPO))
        assert list(repo_of(hub).tags) == ["v0.2.0"]
