"""What is said of refusals: a line each, that says what to do, and never holds a token or a cookie."""

import base64
import json
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senseprobe.annotation.label_studio import client as asking
from senseprobe.annotation.label_studio.client import (
    NoProject,
    Server,
    Unanswered,
    Unreachable,
    check_address,
    check_key,
    clean,
    connect,
    explain_no_answer,
    explain_refusal,
)
from senseprobe.errors import AnnotationError

URL = "http://127.0.0.1:8080/"
LEGACY = "0123456789abcdef0123456789abcdef01234567"
YEAR_2200 = 7_258_118_400


def token(signature: str = "s" * 43, **claims: object) -> str:
    """A JSON web token (RFC 7519), not signed by anybody."""
    parts = ({"alg": "HS256", "typ": "JWT"}, {"token_type": "refresh", "exp": YEAR_2200, **claims})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, signature])


@pytest.mark.parametrize(
    ("key", "body", "reason"),
    [
        (LEGACY, {"detail": "Invalid token."}, "Invalid token."),
        (
            LEGACY,
            {"detail": "legacy token authentication has been disabled for this organization"},
            "legacy token authentication has been disabled",
        ),
        (token(), {"detail": "Token is blacklisted"}, "blacklisted"),
        (token()[:-20], None, "incomplete"),
        ("secret-words", "<html>", "incomplete"),
    ],
)
def test_an_unknown_token_is_explained(key: str, body: object, reason: str) -> None:
    """What to do whatever is wrong with it, and what the server says of it; never the token."""
    told = explain_refusal(401, body, URL, key)

    assert "LABEL_STUDIO_API_KEY" in told
    assert "make a new one" in told
    assert reason in told
    assert key not in told
    assert "\n" not in told


@pytest.mark.parametrize(
    ("status", "body", "word"),
    [
        (200, "<html><title>Router</title>", "is not Label Studio"),
        (302, "", "the address is redirected"),
        (404, "<html>" * 40_000, "is not Label Studio"),
        (404, {"detail": "Not found."}, "HTTP 404: Not found."),
        (403, {"detail": "You do not have permission"}, "not allowed"),
        (413, "<html>", "20 MB"),
        (429, {}, "fewer requests"),
        (500, {"detail": "database is locked"}, "HTTP 500: database is locked"),
        (502, "<html>Bad gateway", "same command again (HTTP 502)"),
        (400, {"detail": "Validation error", "validation_errors": {"title": ["too short"]}}, "title: too short"),
        (400, ["one", "two"], '["one", "two"]'),
        (None, None, "is not Label Studio"),
    ],
)
def test_other_refusals_are_explained(status: int | None, body: object, word: str) -> None:
    told = explain_refusal(status, body, URL, LEGACY)

    assert word in told
    assert "<html" not in told
    assert len(told) < 500


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("ConnectError", "make label-studio"),
        ("ReadTimeout", "within 3 s"),
        ("RemoteProtocolError", "was cut"),
        ("ProxyError", "HTTP_PROXY"),
        ("DecodingError", "is not Label Studio"),
    ],
)
def test_servers_that_do_not_answer_are_explained(kind: str, word: str) -> None:
    assert word in explain_no_answer(kind, URL, 3)


def test_a_token_that_comes_back_is_not_shown() -> None:
    """Proxies show what they were sent: the token as it is, or quoted, or that of somebody else."""
    own = "my own/token"
    others = (token(), "f" * 40)
    body = f"sent {own} and my%20own%2Ftoken, Token {others[1]}, {others[0]}; Set-Cookie: sessionid=abc123"
    told = explain_refusal(500, {"detail": body}, f"http://host/{own}/", own)

    assert "***" in told
    for secret in (own, "my%20own%2Ftoken", *others, "abc123"):
        assert secret not in told


@given(st.text(max_size=60), st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=8))
def test_what_servers_say_is_one_printable_line(text: str, key: str) -> None:
    """Whatever a server says is told in one printable line of bounded length, without the token."""
    told = clean(f"{text} {key} {text}", key)

    assert told.isprintable()
    assert len(told) < 2000
    assert key not in told or key in "***" * 20 + text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://localhost:8080", "http://localhost:8080/"),
        (" https://label.example.org/studio/ ", "https://label.example.org/studio/"),
        ("http://[::1]:8080", "http://[::1]:8080/"),
    ],
)
def test_an_address_ends_with_a_slash(url: str, shown: str) -> None:
    assert check_address(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        *("localhost:8080", "ftp://host", "http://", "http://host:port", "http://host:99999", "http://a b"),
        *("http://h\x1b[2J", f"http://{LEGACY}@host", f"http://user:{LEGACY}@host", f"http://host?token={LEGACY}"),
        f"http://host#{LEGACY}",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(AnnotationError, match="LABEL_STUDIO_URL") as told:
        check_address(url)

    assert LEGACY not in str(told.value)


@pytest.mark.parametrize("key", ["", "  ", "to ken", "tökén", "a\nb"])
def test_what_is_no_token_is_refused(key: str) -> None:
    with pytest.raises(AnnotationError, match="LABEL_STUDIO_API_KEY") as told:
        check_key(key)

    assert not key.strip() or key not in str(told.value)


def test_without_the_client_the_install_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "label_studio_sdk.client", None)
    with pytest.raises(AnnotationError, match=r"pip install 'senseprobe\[annotation\]'"):
        connect(URL, LEGACY)


def test_without_an_address_or_a_token_both_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LABEL_STUDIO_URL", raising=False)
    monkeypatch.delenv("LABEL_STUDIO_API_KEY", raising=False)
    with pytest.raises(AnnotationError, match="LABEL_STUDIO_URL"):
        connect()
    with pytest.raises(AnnotationError, match="LABEL_STUDIO_API_KEY"):
        connect(URL)


class ApiError(Exception):
    """As the client's own: its text holds the headers."""

    def __init__(self, status_code: int | None, body: object) -> None:
        self.status_code, self.body = status_code, body
        super().__init__(f"headers: set-cookie: sessionid=abc, body: {body}")


class HTTPError(Exception):
    """As httpx's."""


class ConnectError(HTTPError):
    """As httpx's."""


class ReadTimeout(HTTPError):
    """As httpx's."""


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The classes of the client that errors are told apart by; the client itself is not in this environment."""
    httpx, errors = types.ModuleType("httpx"), types.ModuleType("label_studio_sdk.core.api_error")
    vars(httpx).update(HTTPError=HTTPError, InvalidURL=HTTPError, StreamError=HTTPError, PoolTimeout=ConnectError)
    vars(httpx).update(ConnectError=ConnectError, ConnectTimeout=ConnectError)
    vars(errors).update(ApiError=ApiError)
    for name, module in {"httpx": httpx, errors.__name__: errors}.items():
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("label_studio_sdk", "label_studio_sdk.core"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    return iter(())


class Failing:
    """A client whose every call raises; it is its own users, projects and so on."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever is asked for
        return self

    def __call__(self, *_: object, **__: object) -> object:
        """Fail."""
        raise self.error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ApiError(404, {"detail": "Not found."}), NoProject),
        (ApiError(404, "<html>"), AnnotationError),
        (ApiError(401, {"detail": LEGACY}), AnnotationError),
        (ApiError(500, {"detail": LEGACY}), AnnotationError),
        (ApiError(502, f"<html>{LEGACY}"), Unanswered),
        (ApiError(400, {"detail": f"Token {LEGACY}"}), AnnotationError),
        (ConnectError(LEGACY), Unreachable),
        (ReadTimeout(LEGACY), Unanswered),
        (HTTPError(LEGACY), Unanswered),
        (ValueError(LEGACY), AnnotationError),
        (AttributeError(LEGACY), AnnotationError),
    ],
)
@pytest.mark.usefixtures("library")
def test_each_failure_has_its_class_and_shows_no_secret(error: Exception, kind: type[AnnotationError]) -> None:
    """Sending, listing, exporting: what is raised is ours, of the right kind, one line, without token or cookie."""
    server = Server(Failing(error), URL, LEGACY, {"ask": 1, "send": 1, "export": 1})
    for call in (lambda: server.send(3, [{}]), lambda: next(server.tasks(3)), lambda: server.export(3)):
        with pytest.raises(AnnotationError) as told:
            call()

        assert type(told.value) is kind
        assert str(told.value).startswith("cannot ")
        assert not any(secret in str(told.value) for secret in (LEGACY, "abc", "\n"))
        assert told.value.__cause__ is None
        assert told.value.__suppress_context__


@pytest.mark.usefixtures("library")
def test_a_list_that_does_not_go_on_is_no_endless_loop() -> None:
    """A server that takes no notice of the filter would give the first page for ever."""

    class Tasks:
        def list(self, **_: object) -> object:
            """The same page, whatever is asked for."""
            task = types.SimpleNamespace(id=1, data={"ext_id": "a"}, annotators=[])
            vars(task).update(total_annotations=0, cancelled_annotations=0)
            return types.SimpleNamespace(items=[task])

    server = Server(types.SimpleNamespace(tasks=Tasks()), URL, LEGACY, asking._SECONDS)
    with pytest.raises(AnnotationError, match=r"version 1\.23"):
        list(server.tasks(1))
