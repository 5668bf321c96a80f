"""A Hub that refuses, breaks off, is away or is none: one clear line, without the token, and the next run completes."""

import re
from pathlib import Path

import pytest
from huggingface_hub import close_session, constants
from tests.commands import typing
from tests.hub.client import REPO, assert_published, refusal
from tests.hub.server import Hub
from tests.hub.state import OWNER_TOKEN, Answer

from senseprobe import api

# The Hub's client hands bytes to httpx2 in a way that httpx2 does not want any more.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


# Route, what happens there, and words of the message; None where the client tries again by itself and succeeds.
FAULTS: list[tuple[str, int | str, int, str | None]] = [
    ("info", 401, 1, "rejects the token"),
    ("info", 429, 1, "wait a few minutes"),
    ("info", "cut", 1, "connection was cut"),
    ("create", 401, 1, "rejects the token"),
    ("create", 403, 1, "write access"),
    ("create", 500, 1, "the Hub failed"),
    ("create", 503, 1, "wait a little"),
    ("create", "cut-after", 1, "run the same command again"),
    ("settings", 403, 1, "write access"),
    ("preupload", 403, 1, "write access"),
    ("preupload", 503, 99, "wait a little"),
    ("object", "cut", 1, None),
    ("object", "cut", 99, "connection was cut"),
    ("commit", 412, 1, "somebody else has changed it"),
    ("commit", 413, 1, "files of this size"),
    ("commit", 429, 1, "wait a few minutes"),
    ("commit", 503, 1, "wait a little"),
    ("commit", "cut", 1, "connection was cut"),
    ("commit", "cut-after", 1, "connection was cut"),
    ("tag", 429, 1, "wait a few minutes"),
    ("tag", 500, 1, "the Hub failed"),
    ("tag", "cut-after", 1, "connection was cut"),
    ("resolve", "cut", 99, "connection was cut"),
]


@pytest.mark.parametrize(("route", "what", "times", "words"), FAULTS)
def test_a_failure_is_told_and_the_next_run_completes(
    hub: Hub, project: Path, route: str, what: int | str, times: int, words: str | None
) -> None:
    """One line that says what to do; then the same command publishes, with one commit in all."""
    hub.fail(route, what, times)
    if words is None:
        api.publish("example@0.1.0", REPO)
    else:
        message = refusal(lambda: api.publish("example@0.1.0", REPO))
        assert re.search(words, message), message
        assert not (project / "releases" / "example" / "published.csv").exists()
        hub.faults.clear()
        api.publish("example@0.1.0", REPO)

    assert_published(hub, project)


def test_a_hub_that_is_away_is_told(hub: Hub, project: Path) -> None:
    """For publish and pull; nothing is left behind by either."""
    hub.stop()

    assert "the Hub cannot be reached" in refusal(lambda: api.publish("example@0.1.0", REPO))
    assert "the Hub cannot be reached" in refusal(lambda: api.pull(f"{REPO}@0.3.0"))
    assert "the Hub cannot be reached" in refusal(lambda: api.load(f"hf://{REPO}@0.3.0"))
    assert sorted(path.name for path in (project / "releases" / "example").iterdir()) == ["0.1.0", "0.2.0"]


def test_the_clients_offline_switch_is_named(hub: Hub, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has set HF_HUB_OFFLINE is told so, and not that the Hub is away."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    close_session()
    assert "HF_HUB_OFFLINE is set" in refusal(lambda: api.pull(f"{REPO}@0.1.0"))
    close_session()


def test_a_token_that_is_missing_wrong_or_broken_is_told(
    hub: Hub, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each in its own words, and none shows it."""
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.setattr(constants, "HF_STORED_TOKENS_PATH", str(tmp_path / "none"))
    monkeypatch.delenv("HF_TOKEN")
    assert "hf auth login" in refusal(lambda: api.publish("example@0.1.0", REPO))
    assert hub.log == []
    for token, words in (("hf_wrongSecret", "rejects the token"), ("hf_ö secret", "contains spaces or letters")):
        monkeypatch.setenv("HF_TOKEN", token)
        message = refusal(lambda: api.publish("example@0.1.0", REPO))
        assert words in message
        assert token not in message
    assert hub.repos == {}


def test_the_token_is_in_no_message_even_if_the_hub_says_it(
    hub: Hub, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What a server says is shown without the token, without control characters, and cut."""
    hub.fail("create", 403, 1, f"{OWNER_TOKEN} may not; nor hf_{'Ab1' * 8}, but hf_names may " + "x" * 1000)
    message = refusal(lambda: api.publish("example@0.1.0", REPO))
    assert "*** may not; nor ***, but hf_names may xxx" in message
    assert len(message) < 600

    typed = typing(monkeypatch, capfd)
    for route, what in (("commit", 503), ("none", 200)):
        hub.fail(route, what)
        ran = typed("publish", "example@0.1.0", REPO)
        assert OWNER_TOKEN not in ran.out + ran.err
        assert "Traceback" not in ran.err
        assert ran.code == (0 if route == "none" else 2)
        assert len(ran.err.splitlines()) == (0 if route == "none" else 1), ran.err
    assert_published(hub, project)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ALL_PROXY", "socks5://jane:secret@127.0.0.1:9"),  # needs a package that few have
        ("HTTP_PROXY", "http://jane:secret@127.0.0.1:::"),
        ("HTTPS_PROXY", "gopher://jane:secret@127.0.0.1"),
        ("SSL_CERT_FILE", "/secret/none.pem"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_told(
    hub: Hub, project: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    """The variables are named, but not what they say, which may hold a password."""
    close_session()  # the client reads the environment once
    monkeypatch.setenv(variable, value)
    for work in (lambda: api.publish("example@0.1.0", REPO), lambda: api.pull(f"{REPO}@0.1.0")):
        message = refusal(work)
        assert variable in message
        assert "secret" not in message
    assert hub.log == []


def test_a_proxy_that_is_away_is_a_hub_that_is_away(hub: Hub, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens on port 9; the proxy's name and password are not shown."""
    close_session()
    monkeypatch.setenv("HTTP_PROXY", "http://jane:secret@127.0.0.1:9")
    message = refusal(lambda: api.pull(f"{REPO}@0.1.0"))
    close_session()

    assert "the Hub cannot be reached" in message
    assert "secret" not in message


def test_a_token_file_that_cannot_be_read_is_told(
    hub: Hub, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One with a byte that is no text, and a folder in its place."""
    path = tmp_path / "token"
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(path))
    path.write_bytes(OWNER_TOKEN.encode() + b"\xff\n")
    for work in (lambda: api.publish("example@0.1.0", REPO), lambda: api.pull(f"{REPO}@0.1.0")):
        assert f"token in {path} cannot be read" in refusal(work)
    path.unlink()
    path.mkdir()
    assert f"token in {path} cannot be read" in refusal(lambda: api.pull(f"{REPO}@0.1.0"))
    assert hub.log == []


PAGES = {
    "HTML": Answer(200, b"<html>Please log in</html>", {"Content-Type": "text/html"}),
    "a list": Answer(200, [5]),
    "other JSON": Answer(200, {"hello": "world"}),
    "nothing": Answer(200, None),
}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("route", ["info", "refs", "tree", "resolve"])
def test_what_is_no_hub_is_told(hub: Hub, project: Path, tmp_path: Path, route: str, page: str) -> None:
    """A login page, or another service: nothing of Python or of JSON's columns."""
    api.publish("example@0.1.0", REPO)
    hub.instead[route] = lambda answer: PAGES[page]
    reason = "not a Hub: check HF_ENDPOINT"
    if route != "refs":
        assert reason in refusal(lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out"))
    assert reason in refusal(lambda: api.publish("example@0.1.0", REPO))


@pytest.mark.parametrize("endpoint", ["http://jane:secret@127.0.0.1:::", "http://jane:secret@[::"])
def test_an_endpoint_that_is_no_address_is_told(
    hub: Hub, project: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    """Its password is not shown."""
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    for work in (lambda: api.publish("example@0.1.0", REPO), lambda: api.pull(f"{REPO}@0.1.0")):
        message = refusal(work)
        assert "check HF_ENDPOINT" in message
        assert "secret" not in message


def test_a_commit_that_is_none_is_no_hub(hub: Hub, project: Path) -> None:
    """An id that would lead elsewhere, or none."""
    api.publish("example@0.1.0", REPO)
    for sha in ("../../x", None, 5):
        hub.instead["info"] = lambda answer, sha=sha: Answer(200, {**answer.body, "sha": sha})  # type: ignore[misc]
        message = refusal(lambda: api.pull(f"{REPO}@0.1.0"))
        assert message.startswith(f"cannot fetch {REPO}@0.1.0: the server is not a Hub: check HF_ENDPOINT")
