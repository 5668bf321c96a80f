"""A Hub that is never silent and never done, that asks to be waited for, or whose answers unpack to too much.

No test asserts a time: without the clock the command would not end, and pytest-timeout would say so.
"""

import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session, constants
from tests.commands import typing
from tests.hub.client import REPO, refusal
from tests.hub.server import Handler, Hub
from tests.hub.state import OWNER_TOKEN, Answer
from tests.slow_server import ENDLESS, SlowServer, bomb

from senseprobe import api
from senseprobe.hub import publish

pytestmark = [
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
    pytest.mark.timeout(150),
]
LATE = "does not answer in time"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A user of the Hub with a token and an empty cache, whose client has no connection open."""
    monkeypatch.setenv("HF_TOKEN", OWNER_TOKEN)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    close_session()
    yield
    close_session()


def answers_with(monkeypatch: pytest.MonkeyPatch, server: SlowServer) -> None:
    """The Hub is this server."""
    monkeypatch.setattr(constants, "ENDPOINT", server.origin)


@pytest.mark.parametrize("part", ENDLESS)
def test_an_answer_that_never_ends_is_given_up(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No part of an answer of the API keeps `pull`, though no single read is late."""
    with SlowServer(*ENDLESS[part]) as slow:
        answers_with(monkeypatch, slow)
        assert LATE in refusal(lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out", timeout=1))


def test_pull_as_it_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The command ends with its message and nothing in the folder; so does `publish`, which sends nothing then."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "senseprobe.toml").touch()
    with SlowServer(*ENDLESS["header lines"]) as slow:
        answers_with(monkeypatch, slow)
        done = typing(monkeypatch, capfd)("pull", f"{REPO}@0.1.0", "--timeout", "1")
    assert (done.code, LATE in done.message) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["senseprobe.toml"]


def test_publish_is_under_a_clock_too(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A longer one, since the Hub makes a commit of all files at once."""
    monkeypatch.setattr(publish, "ANSWER", 1.0)
    with SlowServer(*ENDLESS["1xx answers"]) as slow:
        answers_with(monkeypatch, slow)
        assert LATE in refusal(lambda: api.publish("example@0.1.0", REPO))
    assert all(head.startswith(b"GET") for head in slow.heads)


def test_the_clock_outlives_a_connection_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Hub's library makes another client then; the clock is on that one, too."""
    with SlowServer(*ENDLESS["body"]) as slow:
        answers_with(monkeypatch, slow)
        for _ in range(2):
            assert LATE in refusal(lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out", timeout=1))
            close_session()  # as the library does


def test_a_small_answer_that_unpacks_to_a_large_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A megabyte of gzip holds a gigabyte, of which no more is unpacked than may be."""
    answer = bomb(2**30)
    assert len(answer) < 2**21
    tracemalloc.start()
    try:
        with SlowServer(answer) as slow:
            answers_with(monkeypatch, slow)
            assert "is not a Hub" in refusal(lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out", timeout=60))
        # 64 MiB may be; the buffer and what is unpacked of one read stand beside each other.
        assert tracemalloc.get_traced_memory()[1] < 300 * 2**20
    finally:
        tracemalloc.stop()


def test_a_listing_that_never_ends_is_given_up(
    hub: Hub, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each page names the next one, and none has a file."""
    api.publish("example@0.1.0", REPO)
    again = {"Link": f'<{hub.url}/api/datasets/{REPO}/tree/main?again=1>; rel="next"'}
    hub.instead["tree"] = lambda answer: Answer(200, [], again)
    assert LATE in refusal(lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out", timeout=0.1))


@pytest.mark.parametrize("header", [{"Retry-After": "1000000"}, {"RateLimit": '"api";r=0;t=1000000'}])
def test_a_hub_that_wants_to_be_left_alone_is_not_waited_for(
    hub: Hub, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: dict[str, str]
) -> None:
    """The client would sleep as long as it is told to: these tests' client counts its seconds instead."""
    api.publish("example@0.1.0", REPO)
    slept: list[float] = []
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", slept.append)
    hub.instead["tree"] = lambda answer: Answer(429, {"error": "slow down"}, header)
    assert "fewer requests" in refusal(lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out", timeout=5))
    assert slept
    assert max(slept) < 60


def test_a_long_file_that_makes_progress_is_not_cut_off(
    hub: Hub, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes longer than --timeout, in parts of which each is in time, and more than the least rate."""
    api.publish("example@0.1.0", REPO)
    parts: list[int] = []

    def slowly(handler: Handler, data: bytes) -> None:
        # The rows, in twenty parts, take twice the time-out; their 4 kB a second are more than the least rate of 1 kB.
        size = -(-len(data) // 20) if handler.path.endswith(".parquet") else len(data)
        for start in range(0, len(data), size):
            handler.wfile.write(data[start : start + size])
            handler.wfile.flush()
            parts.append(start)
            time.sleep(0.1 if size < len(data) else 0)

    hub.sends["resolve"] = slowly
    assert api.pull(f"{REPO}@0.1.0", tmp_path / "out", timeout=1)[0].manifest.name == "example@0.1.0"
    assert len(parts) >= 20


def test_cookies_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the Hub sets does not come back with the next request."""
    body = b'{"sha": "' + b"a" * 40 + b'", "id": "jane/example"}'
    head = f"HTTP/1.1 200 OK\r\nset-cookie: who=you; path=/\r\ncontent-length: {len(body)}\r\n\r\n"
    with SlowServer(head.encode() + body) as slow:
        answers_with(monkeypatch, slow)
        refusal(lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out", timeout=5))
    assert len(slow.heads) >= 2
    assert not any(b"\r\ncookie:" in sent.lower() for sent in slow.heads)
