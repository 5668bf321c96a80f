"""Time-outs, bounds, progress, and what goes on after a cut: with a Hub that is slow, stalls, cuts or sends more."""

import shutil
import socket
import time
from collections import namedtuple
from contextlib import suppress
from pathlib import Path

import pytest
from tests.hub.client import REPO, refusal, repo_of
from tests.hub.server import Handler, Hub
from tests.hub.state import Answer

from senseprobe import api
from senseprobe.errors import DamagedRelease
from senseprobe.hub import download

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
SLOW = 0.2
"""Seconds in which this small Hub sends a file even on a busy machine, in one attempt of five."""


@pytest.fixture
def published(hub: Hub, project: Path) -> Path:
    """The release example@0.1.0, which is on the Hub."""
    api.publish("example@0.1.0", REPO)
    hub.log.clear()
    return project / "releases" / "example" / "0.1.0"


def _fetched(hub: Hub) -> list[str]:
    """The files that were asked for."""
    return [line.rpartition("/resolve/")[2].partition("/")[2] for route, line in hub.log if route == "resolve"]


def _stall(handler: Handler, data: bytes) -> None:
    """Half of the bytes, and then nothing for as long as the client waits."""
    handler.wfile.write(data[: len(data) // 2])
    handler.wfile.flush()
    _until_closed(handler)


def _write(handler: Handler, data: bytes) -> None:
    handler.wfile.write(data)


def _stall_rows(handler: Handler, data: bytes) -> None:
    """Stall in the middle of the rows, and nowhere else; of the rest not a byte comes."""
    if handler.path.endswith(".parquet"):
        _stall(handler, b"" if handler.headers.get("Range") else data)
    else:
        _write(handler, data)


def _until_closed(handler: Handler) -> None:
    handler.close_connection = True
    handler.connection.settimeout(20)
    try:
        while handler.connection.recv(1):
            pass
    except OSError:
        return


def _drip(handler: Handler, data: bytes) -> None:
    """A byte each twentieth of a second: never silent, and never done."""
    try:
        for number in range(len(data)):
            handler.wfile.write(data[number : number + 1])
            handler.wfile.flush()
            time.sleep(0.05)
    except OSError:
        handler.close_connection = True


def _pour(handler: Handler, data: bytes) -> None:
    """More and more, whatever length was told."""
    try:
        for _ in range(10**6):
            handler.wfile.write(b"x" * 2**16)
    except OSError:
        handler.close_connection = True


@pytest.mark.parametrize("sends", [_stall, _drip])
# Takes long: a time-out has to pass, at each attempt.
def test_a_hub_that_stalls_is_given_up(hub: Hub, published: Path, tmp_path: Path, sends: object) -> None:
    """It would be waited for without end: the message names --timeout, and nothing half-done is in the project."""
    hub.sends["resolve"] = sends  # type: ignore[assignment]
    message = refusal(lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out", timeout=SLOW / 2))
    assert message.startswith(f"cannot fetch {REPO}@0.1.0: the Hub does not answer in time, or is very slow")
    assert "--timeout SECONDS" in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("route", ["info", "tree"])
def test_a_hub_that_never_answers_is_given_up(hub: Hub, published: Path, tmp_path: Path, route: str) -> None:
    """A listing is waited for no longer than a file."""

    def silent(answer: Answer) -> Answer:
        time.sleep(SLOW)
        return answer

    hub.instead[route] = silent
    message = refusal(lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out", timeout=SLOW / 2))
    assert "the Hub does not answer in time" in message
    del hub.instead[route]
    assert api.pull(f"{REPO}@0.1.0", tmp_path / "out", timeout=60)[0].manifest.name == "example@0.1.0"


@pytest.mark.parametrize("name", ["release.json", "README.md", "hobbies/test-00000-of-00001.parquet"])
def test_more_bytes_than_a_file_has_are_not_taken(
    hub: Hub, published: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Hub says nothing of a length, and does not stop: no file gets longer than it was frozen with."""
    size = (published / name).stat().st_size

    def endless(answer: Answer) -> Answer:
        if isinstance(answer.body, bytes) and len(answer.body) == size:
            answer.headers.update({"Content-Length": str(10**12)})
        return answer

    hub.instead["resolve"] = endless
    hub.sends["resolve"] = lambda handler, data: (_pour if len(data) == size else _write)(handler, data)
    longest: list[int] = []
    opened = Path.open

    def counting(path: Path, *args: object, **how: object) -> object:
        for part in path.parent.glob("*.part"):
            with suppress(FileNotFoundError):  # it was whole, and got its name
                longest.append(part.stat().st_size)
        return opened(path, *args, **how)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", counting)
    message = refusal(lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out", timeout=20))
    assert message == f"cannot fetch {REPO}@0.1.0: the Hub sends more bytes of {name} than it has"
    assert not (tmp_path / "out").exists()
    assert max(longest, default=0) <= max(path.stat().st_size for path in published.rglob("*") if path.is_file())


def test_a_release_that_does_not_fit_is_not_begun(
    hub: Hub, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred bytes are free."""
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, 100))
    message = refusal(lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out"))
    assert ", but only 100 bytes are free in " in message
    assert _fetched(hub) == ["release.json"]


def test_a_pull_that_was_cut_goes_on(hub: Hub, published: Path, tmp_path: Path) -> None:
    """Whole files are not fetched again, and half of one is not: the rest is asked for by its range."""
    rows = "hobbies/test-00000-of-00001.parquet"
    half = (published / rows).stat().st_size // 2
    ranges: list[str | None] = []

    def cut(handler: Handler, data: bytes) -> None:
        if not handler.path.endswith(rows):
            handler.wfile.write(data)
            return
        ranges.append(handler.headers.get("Range"))
        if len(ranges) == 1:
            handler.wfile.write(data[:half])
        handler.wfile.flush()
        handler.cut()

    hub.sends["resolve"] = cut
    message = refusal(lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out"))
    assert "the connection was cut" in message
    assert ranges[0] is None
    assert {*ranges[1:]} == {f"bytes={half}-"}
    assert not (tmp_path / "out").exists()

    hub.sends.clear()
    hub.log.clear()
    heard: list[tuple[int, int]] = []
    release, _ = api.pull(f"{REPO}@0.1.0", tmp_path / "out", progress=lambda *counts: heard.append(counts))
    assert {*_fetched(hub)} == {"release.json", rows}  # the manifest says what is whole
    assert api.verify(str(release.folder)) == []
    total = sum(path.stat().st_size for path in published.rglob("*") if path.is_file())
    assert heard[-1] == (total, total)
    assert not [*(tmp_path / "cache").rglob("*.begun")]


def test_a_short_cut_is_mended_by_itself(hub: Hub, published: Path, tmp_path: Path) -> None:
    """One connection is cut in the middle of the rows: the same run goes on."""
    cut: list[str] = []

    def once(handler: Handler, data: bytes) -> None:
        if handler.path.endswith(".parquet") and not cut:
            cut.append(handler.path)
            handler.wfile.write(data[:100])
            handler.wfile.flush()
            handler.cut()
        else:
            handler.wfile.write(data)

    hub.sends["resolve"] = once
    assert api.verify(str(api.pull(f"{REPO}@0.1.0", tmp_path / "out")[0].folder)) == []
    assert cut


def test_half_a_file_of_other_bytes_is_not_believed(hub: Hub, published: Path, tmp_path: Path) -> None:
    """What was kept of a cut was changed meanwhile: the release is refused, and the next run begins anew."""
    hub.sends["resolve"] = _stall_rows
    refusal(lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out", timeout=SLOW))
    (part,) = (tmp_path / "cache").rglob("*.part")
    part.write_bytes(b"x" * part.stat().st_size)
    hub.sends.clear()
    with pytest.raises(DamagedRelease, match=r"parquet: E404 differs from the frozen file"):
        api.pull(f"{REPO}@0.1.0", tmp_path / "out")
    assert not [*(tmp_path / "cache").rglob("*.part")]
    assert api.verify(str(api.pull(f"{REPO}@0.1.0", tmp_path / "out")[0].folder)) == []


def test_a_hub_that_knows_no_ranges_sends_all_again(hub: Hub, published: Path, tmp_path: Path) -> None:
    """It answers 200 with the whole file where the rest was asked for."""
    hub.sends["resolve"] = _stall_rows
    refusal(lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out", timeout=SLOW))
    hub.sends.clear()
    tree = repo_of(hub).commits[repo_of(hub).tags["v0.1.0"]].tree
    rows = tree["hobbies/test-00000-of-00001.parquet"].data

    def whole(answer: Answer) -> Answer:
        return Answer(200, rows, {"X-Repo-Commit": "x"}) if answer.status == 206 else answer

    hub.instead["resolve"] = whole
    heard: list[tuple[int, int]] = []
    assert api.pull(f"{REPO}@0.1.0", tmp_path / "out", progress=lambda *counts: heard.append(counts))[0].folder.is_dir()
    assert heard[-1][0] == heard[-1][1]


def test_two_pulls_at_once_do_not_mix(
    hub: Hub, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another process holds the folder of what was begun, this one has its own."""
    from senseprobe.hub import pull

    monkeypatch.setattr(pull, "_lock", lambda folder: None)
    assert api.verify(str(api.pull(f"{REPO}@0.1.0", tmp_path / "out")[0].folder)) == []


def test_a_time_out_is_some_seconds(hub: Hub, published: Path) -> None:
    """Nothing is asked of the Hub without one."""
    assert "timeout 0: expected more than 0 seconds" in refusal(lambda: api.pull(f"{REPO}@0.1.0", timeout=0))
    assert download.TIMEOUT == 30
    assert hub.log == []
    assert socket.getdefaulttimeout() is None
