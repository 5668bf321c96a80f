"""What comes over the wire: nothing of it breaks the client, and the key goes nowhere but to the server."""

import json
import logging
import math
import traceback
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles import examples
from tests.served.raw_server import SEED, RawServer, http
from tests.slow_server import ENDLESS, SlowServer, bomb

import senseprobe
from senseprobe.errors import ModelError
from senseprobe.evaluate.served import client as served_client
from senseprobe.evaluate.served import transport
from senseprobe.evaluate.served.address import KEY_VARIABLE, ServingOptions, parse
from senseprobe.evaluate.served.answer_store import AnswerStore
from senseprobe.evaluate.served.client import Client, Response
from senseprobe.evaluate.served.json_values import DEEPEST, read_json
from senseprobe.evaluate.served.transport import (
    Reply,
    Transport,
    UnansweredError,
    read_retry_after,
)
from senseprobe.tables import DepthError

CHAT = "/v1/chat/completions"
KEY = "sk-proj-0123456789abcdefXYZ"
ESCAPED = json.dumps(KEY).replace("s", "\\u0073", 1).encode()
ECHOES = {
    "in the body": http(200, {**SEED, KEY: [f"your key is {KEY}"]}),
    "escaped": http(200, b'{"choices": [' + ESCAPED + b"]}"),
    "in headers": http(200, x_request_id=KEY, x_echo=f"Bearer {KEY}", set_cookie=f"key={KEY}"),
    "in an error": http(401, {"error": {"message": f"Incorrect API key provided: {KEY}", "code": KEY}}),
    "in a plain error": http(403, {"detail": f"Bearer {quote(KEY, safe='')}"}),
    "in an error that is asked again": http(500, {"error": {"message": KEY, "type": KEY}}),
    "in a redirect": http(307, location=f"http://{KEY}@elsewhere/?key={KEY}"),
    "in a status line": f"HTTP/1.1 {KEY} {KEY}\r\n\r\n".encode(),
    "in no HTTP": f"{KEY}\r\n\r\n".encode(),
    "in a length": http(200, content_length=KEY),
    "in a coding": http(200, content_encoding=KEY),
    "in a date": http(429, retry_after=KEY),
}


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    """A server that answers what it is told to."""
    with RawServer() as server:
        yield server


@pytest.fixture(scope="module")
def client(server: RawServer) -> Iterator[Client]:
    """A client of the server that waits for nothing."""
    with Client(parse(f"openai:{server.origin}/v1#m"), ServingOptions(), sleep=lambda _: None) as client:
        yield client


@pytest.mark.parametrize("version", ["", "?api-version=v1"])
@pytest.mark.parametrize("case", ECHOES)
def test_the_key_is_nowhere(
    case: str,
    version: str,
    server: RawServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A server that repeats the key finds it in no answer, message, traceback, log, store or name of an object."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    caplog.set_level(logging.DEBUG)
    server.script(*[ECHOES[case]] * (2 if case == "in an error" else 1))  # a 401 is asked with the other header, too
    said: list[str] = []
    count = len(server.requests)
    address, outcome = parse(f"openai:{server.origin}/v1{version}#m"), ""
    with (
        AnswerStore(tmp_path, "identity", said.append) as store,
        Client(address, ServingOptions(), store=store, notify=said.append, sleep=lambda _: None) as client,
    ):
        try:
            response = client.post(CHAT, {"a": 1}, ok=(200, 401, 403))
        except ModelError as error:
            outcome = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
        else:
            outcome = f"{response} {client.reason(response)}"
        names = f"{client!r} {vars(client)} {client._transport!r} {vars(client._transport)}"
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir()).decode("latin-1")
    with AnswerStore(tmp_path, "identity") as store:
        body = json.dumps({"a": 1}, separators=(",", ":")).encode()
        stored += str(store.get(store.key(client.url(CHAT), "m", body)))
    logged = "\n".join(str(vars(record)) for record in caplog.records) + caplog.text

    given = [
        request.headers.get("authorization", request.headers.get("api-key")) for request in server.requests[count:]
    ]
    assert given[0] == (KEY if version else f"Bearer {KEY}")
    assert {*given} <= {KEY, f"Bearer {KEY}"}
    assert "httpcore" in logged
    assert outcome
    for text in (outcome, names, stored, logged, *said):
        assert KEY not in text


def test_without_the_key(server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that is to show what a server does without a key has none, and the next one has it again."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    server.script(http())
    with Client(parse(f"openai:{server.origin}/v1#m"), ServingOptions()) as client:
        client.get("/v1/models", with_key=False)
        client.post(CHAT, {}, with_key=False)
        client.get("/v1/models")
    assert ["authorization" in request.headers for request in server.requests[-3:]] == [False, False, True]


def test_a_word_is_no_secret(server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """What local servers are given as a key, as EMPTY or A, is not cut out of their answers."""
    monkeypatch.setenv(KEY_VARIABLE, "A")
    server.script(http())
    with Client(parse(f"openai:{server.origin}/v1#m"), ServingOptions()) as client:
        assert client.post(CHAT, {}).body == SEED


def test_no_proxy_on_loopback(server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that the environment names hears nothing of what goes to this machine."""
    with RawServer() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.origin)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        server.script(http())
        with Client(parse(f"openai:{server.origin}/v1#m"), ServingOptions()) as client:
            assert client.post(CHAT, {}).status == 200
        assert proxy.requests == []


def test_an_environment_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that is no address is said to be none, and its password is not repeated."""
    monkeypatch.setenv("HTTPS_PROXY", f"nonsense://user:{KEY}@host")
    with pytest.raises(ModelError, match="HTTPS_PROXY") as error:
        Client(parse("openai:https://example.com/v1#m"), ServingOptions())
    assert KEY not in str(error.value)


# --- fuzz ---

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "choices", "code", "type", "message", "usage", "prompt_tokens", "detail", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
HEADERS = st.dictionaries(
    st.sampled_from(["retry_after", "location", "x_request_id", "content_encoding", "content_length", "set_cookie"]),
    st.text(st.characters(codec="latin-1", exclude_characters="\r\n\0"), max_size=12) | st.integers().map(str),
    max_size=3,
)
BODIES = st.binary(max_size=40) | JSON.map(lambda value: json.dumps(value).encode())
ANSWERS = (
    st.binary(max_size=60)
    | st.binary(max_size=40).map(lambda rest: b"HTTP/1.1 200 OK\r\n" + rest)
    | st.builds(
        lambda status, body, headers: http(status, body, **headers),
        st.sampled_from([200, 200, 400, 503]) | st.integers(100, 999),
        BODIES,
        HEADERS,
    )
)


@settings(max_examples=examples(150))
@given(answer=ANSWERS, retry=st.booleans())
def test_any_answer(answer: bytes, retry: bool, server: RawServer, client: Client) -> None:
    """Whatever bytes come, the client makes a Response or a ModelError of them, and one line that prints."""
    server.script(answer.replace(b"HTTP/1.1 1", b"HTTP/1.1 2"))  # a status of 1xx is waited on for another one
    try:
        response = client.post(CHAT, {}, retry=retry)
        text = client.reason(response)
    except ModelError as error:
        response, text = Response(0, None), str(error)
    assert text.isprintable()
    assert json.dumps(response.body, allow_nan=False, ensure_ascii=False).encode()


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_json(data: bytes) -> None:
    """What is read is what Python's json reads of it, where all numbers are finite; all else is a ValueError."""
    try:
        value = read_json(data)
    except ValueError:
        return
    assert value == json.loads(data)


@pytest.mark.parametrize(("depth", "fits"), [(DEEPEST, True), (DEEPEST + 1, False), (100_000, False)])
@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
def test_depth(depth: int, fits: bool, brackets: tuple[str, str]) -> None:
    """So many levels are read and no more, however deep Python could go."""
    start, end = brackets
    inner = "[]" if start == "[" else "{}"
    text = (start * (depth - 1) + inner + end * (depth - 1)).encode()
    if fits:
        assert json.dumps(read_json(text)).replace(" ", "") == text.decode()
    else:
        with pytest.raises(DepthError):
            read_json(text)


@given(st.text(max_size=30) | st.integers().map(str) | st.datetimes().map(lambda date: date.strftime("%a, %d %b %Y")))
def test_any_retry_after(text: str) -> None:
    """A time in seconds, finite and not negative, or none."""
    seconds = read_retry_after(text, 0.0)
    assert seconds is None or (seconds >= 0 and math.isfinite(seconds))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Wed, 21 Oct 2015 07:28:00 GMT", 60.0),  # the example of RFC 9110, section 10.2.3, a minute after `now`
        ("Wed, 21 Oct 2015 07:26:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 09:28:00 +0200", 60.0),
        ("Wed, 21 Oct 2015 07:28:00 -0000", 60.0),
        ("120", 120.0),
        ("-5", None),
        ("", None),
    ],
)
def test_retry_after(text: str, seconds: Any) -> None:  # noqa: ANN401 - a number or None
    """Seconds or a date (`date -u -d '2015-10-21 07:27' +%s` says 1445412420)."""
    assert read_retry_after(text, 1445412420.0) == seconds


def test_connections_are_those_of_one_address(server: RawServer) -> None:
    """A transport that is closed takes its filter of logs with it."""
    before = [*logging.getLogger("httpx").filters]
    carried = Transport(parse(f"openai:{server.origin}/v1"), None)
    assert len(logging.getLogger("httpx").filters) == len(before) + 1
    carried.close()
    assert logging.getLogger("httpx").filters == before


# --- one clock, one size, no cookies ---


@pytest.mark.timeout(120)
@pytest.mark.parametrize("part", ENDLESS)
def test_an_answer_that_never_ends_is_given_up(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No part of it keeps the client, though no single read is late."""
    monkeypatch.setattr(transport, "READ", 1.0)
    with SlowServer(*ENDLESS[part]) as slow, pytest.raises(UnansweredError, match="no answer within 1 s") as error:
        send(slow)
    assert error.value.retryable


@pytest.mark.timeout(120)
def test_a_probe_of_a_server_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command ends with its message, not in silence."""
    monkeypatch.setattr(transport, "READ", 0.5)
    monkeypatch.setattr(served_client, "FIRST_WAIT", 0.0)
    with SlowServer(*ENDLESS["header lines"]) as slow, pytest.raises(ModelError, match="no answer within"):
        senseprobe.server(f"{slow.origin}/v1").describe()


def test_a_small_answer_that_unpacks_to_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read of gzip, of 64 KiB, holds 64 MiB: no more of it is unpacked than may be."""
    monkeypatch.setattr(transport, "LARGEST", 2**20)
    answer = bomb(2**27)
    tracemalloc.start()
    try:
        with SlowServer(answer) as slow, pytest.raises(UnansweredError, match="larger than 1 MiB"):
            send(slow)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_cookies_are_not_kept() -> None:
    """A server that sets one does not get it back with the next request."""
    answer = b"HTTP/1.1 200 OK\r\nset-cookie: who=you; path=/\r\ncontent-length: 2\r\n\r\n{}"
    with SlowServer(answer) as server:
        carried = Transport(parse(f"openai:{server.origin}/v1#m"), None)
        for _ in range(2):
            assert carried.send("GET", server.origin, None).body == {}
        carried.close()
    assert len(server.heads) == 2
    assert b"cookie" not in server.heads[1].lower()


def send(server: SlowServer) -> Reply:
    """What a server answers to one request."""
    carried = Transport(parse(f"openai:{server.origin}/v1#m"), None)
    try:
        return carried.send("GET", server.origin, None)
    finally:
        carried.close()
