"""The client of served models: what it asks again and what it does not, what it keeps, and what it believes.

The server is one of ours that sends bytes (`raw_server`); what is expected is RFC 9110 and section 6 of CHAT.md.
"""

import gzip
import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from tests.served.raw_server import SEED, RawServer, Request, http, later

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.served import client as module
from senseprobe.evaluate.served import transport
from senseprobe.evaluate.served.address import ServingOptions, parse
from senseprobe.evaluate.served.answer_store import AnswerStore
from senseprobe.evaluate.served.client import QUOTA, TRIES, Client

CHAT = "/v1/chat/completions"
Opened = Callable[..., Client]


@pytest.fixture
def server() -> Iterator[RawServer]:
    """A server that answers every request with 200."""
    with RawServer() as server:
        yield server


@pytest.fixture
def waits() -> list[float]:
    """Seconds that the client would have waited."""
    return []


@pytest.fixture
def said() -> list[str]:
    """What the client has said."""
    return []


@pytest.fixture
def opened(server: RawServer, waits: list[float], said: list[str]) -> Iterator[Opened]:
    """Open a client of the server that waits for nothing."""
    clients: list[Client] = []

    def open_client(store: AnswerStore | None = None, **options: Any) -> Client:  # noqa: ANN401 - of any option
        address = parse(f"openai:{server.origin}/v1#m")
        clients.append(
            Client(address, ServingOptions(**options), store=store, notify=said.append, sleep=waits.append),
        )
        return clients[-1]

    yield open_client
    for client in clients:
        client.close()


# --- what is asked again ---


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 504, 529])
def test_asked_again(status: int, server: RawServer, opened: Opened, waits: list[float]) -> None:
    """A server that is busy or broken is asked again, after one second, two and so on, less at most half of it."""
    server.script(http(status), http(status), http(status), http())
    assert opened().post(CHAT, {"a": 1}) == (200, SEED, "", False)
    assert len(server.requests) == 4
    assert [whole / 2 <= wait <= whole for wait, whole in zip(waits, (1, 2, 4), strict=True)] == [True] * 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501])
def test_not_asked_again(status: int, server: RawServer, opened: Opened) -> None:
    """What is wrong with the request stays wrong: the answer is the caller's to judge."""
    server.script(http(status, {"error": {"message": "no\x1b[2J"}}))
    client = opened()
    response = client.post(CHAT, {})
    assert (response.status, len(server.requests)) == (status, 1)
    assert client.reason(response) == f"HTTP {status}: 'no\\x1b[2J'"


CUT = http()[:-20]
STRANGE = {
    "nothing": b"",
    "cut": CUT,
    "no http": b"220 smtp ready\r\n\r\n",
    "headers without end": b"HTTP/1.1 200 OK\r\ncontent-le",
    "bad length": b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n{}",
    "html": http(200, b"<html>"),
    "empty": http(200, b""),
    "no utf-8": http(200, b'"\xff"'),
    "NaN": http(200, b'{"a": NaN}'),
    "infinity": http(200, b"[-Infinity]"),
    "infinity in digits": http(200, b"[1e999]"),
    "too many digits": http(200, b"9" * 5000),
    "more than a float holds": http(200, b"9" * 400),
    "no gzip": http(200, b"{}", content_encoding="gzip"),
    "error 503": http(200, {"error": {"code": 503, "message": "busy"}}),
    "error by name": http(200, {"error": {"type": "overloaded_error"}}),
    "error in a choice": http(200, {"choices": [{"error": {"code": 502}}]}),
}


@pytest.mark.parametrize("case", STRANGE)
def test_broken_answers_are_asked_again(case: str, server: RawServer, opened: Opened) -> None:
    """What cannot be read is asked for again; six tries are all, and what comes then is said in one line."""
    server.script(STRANGE[case], http())
    client = opened()
    assert client.post(CHAT, {}).body == SEED
    server.script(STRANGE[case])
    with pytest.raises(ModelError, match=f"in {TRIES} tries") as error:
        client.post(CHAT, {})
    assert len(server.requests) == 2 + TRIES
    assert str(error.value).isprintable()


def test_an_error_inside_200(server: RawServer, opened: Opened) -> None:
    """An error in an answer of status 200 is one of its own status, or 400; null and {} are no errors."""
    for error, status in (({"code": 403}, 403), ({"code": "context_length_exceeded"}, 400), ("no", 400), (None, 200)):
        server.script(http(200, {"error": error}))
        assert opened().post(CHAT, {}).status == status
    assert len(server.requests) == 4


@pytest.mark.parametrize("code", sorted(QUOTA))
@pytest.mark.parametrize("status", [200, 402, 429])
def test_a_quota_is_not_asked_again(code: str, status: int, server: RawServer, opened: Opened) -> None:
    """A quota that is spent stops the run at once, however it is said."""
    server.script(http(status, {"error": {"type": code} if status == 402 else {"code": code}}, retry_after="1"))
    with pytest.raises(ModelError, match=code):
        opened().post(CHAT, {})
    assert len(server.requests) == 1


def test_retry_after(server: RawServer, opened: Opened, waits: list[float], said: list[str]) -> None:
    """The server says how long, in seconds or by a date; ten minutes at most, and what is no time says nothing."""
    date = formatdate(time.time() + 100, usegmt=True)
    answers = [http(429, retry_after=text) for text in ("30", date, "1e9", "999999", "soon")]
    server.script(*answers, http())
    opened().post(CHAT, {})
    assert waits[0] == 30
    assert 95 < waits[1] <= 100
    assert waits[2] <= 4
    assert waits[3] == 600
    assert waits[4] <= 16
    assert "HTTP 429" in said[0]
    assert "30 s" in said[0]


def test_a_server_that_loads(
    server: RawServer, opened: Opened, waits: list[float], said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """503 without Retry-After, as llama.cpp sends it, is waited for, up to a limit that is said."""
    loading = http(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
    server.script(*[loading] * 20, http())
    client = opened()
    assert client.get("/props", retry=False).status == 200
    assert len(server.requests) == 21
    assert max(waits) <= 5
    assert [("Loading model" in text, "10 minutes" in text) for text in said] == [(True, True)]
    server.script(loading)
    monkeypatch.setattr(module, "LOADING", 30.0)
    waits.clear()
    with pytest.raises(ModelError, match="503"):
        client.post(CHAT, {})
    assert 30 <= sum(waits) <= 30 + 5 + 31


def test_one_request_without_retry(server: RawServer, opened: Opened) -> None:
    """Whoever asks what a server can do gets every status as it is, no JSON as None; a closed connection is opened."""
    for answer in (http(500), http(503), http(404, b"<html>"), http(200, b"ok")):
        server.script(answer)
        response = opened().get("/health", retry=False)
        assert response.status in (500, 503, 404, 200)
        assert response.body in (SEED, None)
    assert len(server.requests) == 4
    server.script(b"", http())
    assert opened().get("/health", retry=False).status == 200
    server.script(b"", b"")
    with pytest.raises(ModelError, match="in 2 tries"):
        opened().get("/health", retry=False)


def test_nobody_there(waits: list[float]) -> None:
    """Where nothing listens from the start, the port is likelier wrong than the server away."""
    with RawServer() as server:
        pass
    with (
        Client(parse(f"openai:{server.origin}/v1"), ServingOptions(), sleep=waits.append) as client,
        pytest.raises(ModelError, match="nothing answers at"),
    ):
        client.get("/v1/models")
    assert waits == []


def test_a_server_that_is_started_again() -> None:
    """A server that was there and is away is waited for like a busy one, and what it is asked is asked again."""
    servers = [RawServer()]
    address = parse(f"openai:{servers[0].origin}/v1#m")

    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            servers.append(RawServer(port=servers[0].port))

    with Client(address, ServingOptions(), sleep=sleep) as client:
        client.post(CHAT, {"a": 1})
        servers[0].__exit__()
        assert client.post(CHAT, {"a": 2}).status == 200
    assert [[request.body for request in server.requests] for server in servers] == [[{"a": 1}], [{"a": 2}]]
    servers[1].__exit__()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(status: int, server: RawServer, opened: Opened) -> None:
    """A redirect stops the run and is named: prompts and key would go where nobody sent them."""
    with RawServer() as other:
        server.script(http(status, location=f"{other.origin}/v1"))
        with pytest.raises(ModelError, match=other.origin):
            opened().post(CHAT, {})
        assert (len(server.requests), len(other.requests)) == (1, 0)


def test_what_a_server_may_not_do(server: RawServer, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies that are too large, unpack to too much, are nested too deeply or packed otherwise stop the run at once."""
    monkeypatch.setattr(transport, "LARGEST", 10_000)
    bomb = gzip.compress(b'"' + b"a" * 10_000_000 + b'"')
    bodies = {
        "larger": http(200, b'"' + b"a" * 10_000 + b'"'),
        "large": http(200, bomb, content_encoding="gzip"),
        "nested": http(200, b"[" * 65 + b"]" * 65),
        "deep": http(200, b"[" * 9_000),
        "packed": http(200, b"{}", content_encoding="br"),
    }
    for answer in bodies.values():
        server.script(answer)
        count = len(server.requests)
        with pytest.raises(ModelError):
            opened().post(CHAT, {})
        assert len(server.requests) == count + 1
    server.script(http(200, b"[" * 64 + b"]" * 64), http(200, gzip.compress(b"[1]"), content_encoding="gzip"))
    assert opened().post(CHAT, {}).status == 200
    assert opened().post(CHAT, {}).body == [1]


def test_slow_bodies(server: RawServer, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that does not come in time is none."""
    monkeypatch.setattr(transport, "READ", 0.2)
    server.answer = lambda request: later(0.5, http())
    with pytest.raises(ModelError, match=f"in {TRIES} tries: no answer within"):
        opened().post(CHAT, {})


# --- urls, keys of the store, many at a time ---


@pytest.mark.parametrize(
    ("base", "path", "expected"),
    [
        ("http://h/v1", "/v1/models", "http://h/v1/models"),
        ("http://h/v1", "/props", "http://h/props"),
        ("http://h", "/v1/models", "http://h/v1/models"),
        ("http://h", "/props", "http://h/props"),
        ("https://h/openai/v1", "/v1/models", "https://h/openai/v1/models"),
        ("https://h/v1beta/openai", "/v1/models", "https://h/v1beta/openai/models"),
    ],
)
def test_urls(base: str, path: str, expected: str) -> None:
    """Paths of the API are below the base, whatever it ends in; the server's own stand beside ``/v1``."""
    with Client(parse(f"openai:{base}#m"), ServingOptions()) as client:
        assert client.url(path) == expected


def test_what_is_sent(server: RawServer, opened: Opened) -> None:
    """The body is the JSON that was given, in its order, and no cookie goes back."""
    server.script(http(200, SEED, x_request_id="req-1", set_cookie="a=b"))
    client = opened()
    assert client.post(CHAT, {"b": "é", "a": [1]}).request_id == "req-1"
    client.get("/props")
    first, second = server.requests
    assert (first.method, first.path, list(first.body.items())) == ("POST", CHAT, [("b", "é"), ("a", [1])])
    assert (second.method, second.path, second.body) == ("GET", "/props", None)
    assert "authorization" not in first.headers
    assert "cookie" not in second.headers


def test_stored_answers_are_not_asked(server: RawServer, opened: Opened, tmp_path: Path) -> None:
    """An answer that is kept costs no request, for this run and the next; failures and what is not to be kept do."""
    with AnswerStore(tmp_path, "identity") as store:
        client = opened(store, price=(1e6, 1e6))
        asked = client.post(CHAT, {"a": 1})
        assert opened(store).post(CHAT, {"a": 1}) == asked._replace(stored=True)
        client.post(CHAT, {"a": 1}, store=False)
        assert (client.requests, client.tokens, client.spent) == (2, (14, 2), 16)
        server.script(http(400, {"error": {"message": "too long"}}))
        assert [client.post(CHAT, {"a": 2}).stored for _ in range(2)] == [False, False]
        assert [client.post(CHAT, {"a": 3}, ok=(200, 400)).stored for _ in range(2)] == [False, True]
    assert len(server.requests) == 5


@pytest.mark.parametrize(("wanted", "slots", "expected"), [(None, None, 1), (4, None, 4), (8, 3, 3), (2, 9, 2)])
def test_no_more_than_so_many_at_once(
    wanted: int | None, slots: int | None, expected: int, server: RawServer, opened: Opened
) -> None:
    """One at a time on loopback, more where that is asked for, never more than the server has slots."""
    server.answer = lambda request: later(0.02, http(200, request.body))
    client = opened(concurrency=wanted)
    if slots:
        client.limit_slots(slots)
        client.limit_slots(slots + 1)
    bodies = [{"number": number} for number in range(24)]
    assert [response.body for response in client.map(CHAT, bodies)] == bodies
    assert client.concurrency == expected
    assert server.most == expected


def test_four_at_once_elsewhere() -> None:
    """A server that is not on this machine is asked four things at a time."""
    with Client(parse("openai:https://example.com/v1#m"), ServingOptions()) as client:
        assert client.concurrency == 4


def test_the_first_error_stops_what_was_not_begun(server: RawServer, opened: Opened, tmp_path: Path) -> None:
    """What was begun is answered and kept, so that the next run asks only what is missing."""
    server.answer = lambda request: http(302) if request.body["number"] == 10 else later(0.02, http(200, request.body))
    bodies = [{"number": number} for number in range(100)]
    with AnswerStore(tmp_path, "identity") as store:
        with pytest.raises(ModelError, match="redirects"):
            opened(store, concurrency=3).map(CHAT, bodies)
        begun = [request.body["number"] for request in server.requests]
        assert 11 <= len(begun) <= 14
        server.answer = lambda request: http(200, request.body)
        client = opened(store, concurrency=3)
        assert [response.body for response in client.map(CHAT, bodies)] == bodies
        assert client.requests == 100 - (len(begun) - 1)


def test_a_failure_ends_the_waits_of_others(server: RawServer, said: list[str]) -> None:
    """A request that waits for its next try does not hold up the error of another one."""

    def answer(request: Request) -> bytes:
        return http(429, retry_after="60") if request.body["number"] == 0 else later(0.2, http(302))

    server.answer = answer
    began = time.monotonic()
    with (
        Client(parse(f"openai:{server.origin}/v1#m"), ServingOptions(concurrency=2), notify=said.append) as client,
        pytest.raises(ModelError, match="redirects"),
    ):
        client.map(CHAT, [{"number": number} for number in range(2)])
    assert time.monotonic() - began < 30
    assert len(server.requests) == 2


@pytest.mark.parametrize("concurrency", [1, 3])
def test_an_interrupt_leaves_at_once(concurrency: int, server: RawServer, opened: Opened) -> None:
    """Ctrl-C does not wait until a slow server has answered."""
    release = threading.Event()
    server.answer = lambda request: (release.wait(60), http())[1]
    timer = threading.Timer(0.5, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    timer.start()
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            opened(concurrency=concurrency).map(CHAT, [{"number": number} for number in range(9)])
        assert time.monotonic() - began < 30
    finally:
        timer.join()
        release.set()


# --- money ---


def test_the_budget_stops(server: RawServer, opened: Opened, tmp_path: Path) -> None:
    """Each answer reads 7 tokens and writes 1: at 1 and 2 a million 9 millionths, and 30 millionths last for four."""
    bodies = [{"number": number} for number in range(9)]
    with AnswerStore(tmp_path, "identity") as store:
        client = opened(store, price=(1.0, 2.0), budget=30e-6)
        with pytest.raises(ModelError, match=r"budget.*kept"):
            client.map(CHAT, bodies)
        assert (client.requests, client.tokens) == (4, (28, 4))
        assert client.spent == pytest.approx(36e-6)
        client = opened(store, price=(1.0, 2.0), budget=1.0)
        client.map(CHAT, bodies)
        assert client.requests == 5


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": -7}, {"prompt_tokens": True}, {"prompt_tokens": "7"}])
def test_a_budget_that_cannot_be_held(usage: Any, server: RawServer, opened: Opened) -> None:  # noqa: ANN401 - JSON
    """Where a server does not say what an answer took, a budget stops the run; without one nothing is counted."""
    server.script(http(200, {**SEED, "usage": usage}))
    with pytest.raises(ModelError, match=r"does not return token counts.*--budget"):
        opened(price=(1.0, 1.0), budget=1.0).post(CHAT, {})
    client = opened()
    client.post(CHAT, {})
    assert client.tokens == (0, 0)


def test_a_budget_needs_a_price(opened: Opened) -> None:
    """Without a price nobody knows what is spent."""
    with pytest.raises(ModelError, match="--price"):
        opened(budget=1.0)


def test_without_httpx(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named that installs it."""
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(SenseprobeError, match=r"pip install 'senseprobe\[served\]'"):
        opened()


def test_texts_are_unicode(server: RawServer, opened: Opened) -> None:
    """Half a pair of surrogates, which JSON allows and no file takes, becomes U+FFFD; a whole pair its character."""
    server.script(http(200, rb'{"\ud800": ["a\udc00", "\ud83d\ude00"]}'))
    body = opened().post(CHAT, {}).body
    assert body == {"\ufffd": ["a\ufffd", "\U0001f600"]}
    assert json.dumps(body, ensure_ascii=False).encode()
