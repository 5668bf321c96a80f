"""Both kinds of token, those that are refused, and servers that are none; no token is ever shown."""

import base64
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.annotation.label_studio.proxy import Proxy
from tests.annotation.label_studio.studio import ADMIN, Client, Refused, Studio
from tests.slow_server import ENDLESS, SlowServer, bomb

pytestmark = pytest.mark.system


def test_a_legacy_token(studio: Studio, client: Client) -> None:
    assert client.ask("connect", studio.url) == {"email": ADMIN.email, "url": f"{studio.url}/"}


def test_a_personal_access_token_and_where_only_that_is_taken(
    new_studio: Callable[[], Studio], client: Client, planned: Callable[..., object]
) -> None:
    """Where legacy tokens are turned off, they are refused with the reason; personal ones do everything."""
    studio = new_studio()
    personal = studio.ask("POST", "/api/token/")["token"]
    studio.ask("POST", "/api/jwt/settings", {"api_tokens_enabled": True, "legacy_api_tokens_enabled": False})
    folder = planned(3)

    with pytest.raises(Refused, match=r"make a new one .*legacy token authentication has been disabled") as told:
        client.ask("connect", studio.url)
    assert ADMIN.token not in str(told.value)
    assert client.ask("connect", studio.url, personal)["email"] == ADMIN.email
    assert client.ask("push", studio.url, personal, folder=folder)["sent"] == 3
    assert client.ask("pull", studio.url, personal, folder=folder)["tasks"] == 3
    for wrong in (personal[:-25], personal.rpartition(".")[0], f"{personal[:-8]}AAAAAAAA"):
        with pytest.raises(Refused, match="does not accept the token in LABEL_STUDIO_API_KEY") as told:
            client.ask("connect", studio.url, wrong)
        assert "eyJ" not in str(told.value)
    studio.stop()


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_does_not_take_the_token_along(status: int, client: Client, proxy: Proxy) -> None:
    """A personal token is in the body of a request: who followed a redirect would send it to another host."""
    parts = ({"alg": "HS256", "typ": "JWT"}, {"token_type": "refresh", "exp": 9_999_999_999, "user_id": 1})
    coded = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    personal = ".".join([*coded, "a" * 43])
    asked: list[str] = []
    elsewhere = Proxy(proxy.target)
    elsewhere.behave = lambda request: asked.append(request.path)
    proxy.behave = lambda request: (status, {"location": f"{elsewhere.url}{request.path}"}, b"")
    with pytest.raises(Refused, match="is not Label Studio: set LABEL_STUDIO_URL") as told:
        client.ask("connect", proxy.url, personal)
    assert personal not in str(told.value)
    assert asked == []
    elsewhere.stop()


@pytest.mark.parametrize("key", ["0" * 40, "my-secret"])
def test_a_wrong_token(key: str, studio: Studio, client: Client) -> None:
    with pytest.raises(Refused, match="does not accept the token in LABEL_STUDIO_API_KEY") as told:
        client.ask("connect", studio.url, key)
    assert key not in str(told.value)


def test_an_address_with_a_path_too_many(studio: Studio, client: Client) -> None:
    """The address that the browser shows is not that of the server."""
    with pytest.raises(Refused, match="is not Label Studio: set LABEL_STUDIO_URL"):
        client.ask("connect", f"{studio.url}/projects/1/data")


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (200, b"<html>Welcome to nginx</html>", "is not Label Studio"),
        (200, b"[1, 2", "is not Label Studio"),
        (200, b"[]", "is not Label Studio"),
        (404, b"<html>" + b"x" * 170_000, "is not Label Studio"),
        (403, b'{"detail": "You do not have permission"}', "not allowed"),
        (500, b"<html>Server error", r"Label Studio failed: .* \(HTTP 500\)"),
        (503, b"<html>Starting", r"Label Studio failed: .* \(HTTP 503\)"),
    ],
)
def test_answers_of_others(status: int, body: bytes, words: str, proxy: Proxy, client: Client) -> None:
    """Whatever answers, what is told is one short line without the page, the token and the cookie that came with it."""
    cookie = {"set-cookie": "sessionid=c0ffee", "content-type": "text/html"}
    proxy.behave = lambda request: (status, cookie, body + str(request.headers).encode() if status == 500 else body)
    with pytest.raises(Refused, match=words) as told:
        client.ask("connect", proxy.url)

    assert not any(secret in str(told.value) for secret in (ADMIN.token, "c0ffee", "<html", "\n"))
    assert len(str(told.value)) < 500


def test_a_server_that_does_not_answer(proxy: Proxy, client: Client) -> None:
    def late(request: object) -> None:
        time.sleep(2)

    proxy.behave = late
    with pytest.raises(Refused, match=r"did not answer within 0.5 s"):
        client.ask("connect", proxy.url, seconds={"ask": 0.5})


def make_token() -> str:
    """A personal access token that holds until the year 2100, and that no server gave."""
    parts = ({"alg": "HS256", "typ": "JWT"}, {"token_type": "refresh", "exp": 4102444800}, "signature")
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("key", [ADMIN.token, make_token()], ids=["legacy", "personal"])
@pytest.mark.parametrize("part", ENDLESS)
def test_a_server_that_never_ends_its_answer(part: str, key: str, client: Client) -> None:
    """One clock is around all of it, where a personal token is changed for another one, too."""
    with SlowServer(*ENDLESS[part]) as slow, pytest.raises(Refused, match=r"did not answer within 1 s") as told:
        client.ask("connect", slow.origin, key, seconds={"ask": 1})
    assert told.value.kind == "Unanswered"
    assert (b"/api/token/refresh/" in slow.heads[0]) == (key != ADMIN.token)


@pytest.mark.parametrize("key", [ADMIN.token, make_token()], ids=["legacy", "personal"])
def test_an_answer_that_unpacks_to_too_much(key: str, client: Client) -> None:
    """A gigabyte in one of gzip is read as far as 64 MiB, and is no answer of Label Studio."""
    before = peak(client)
    with SlowServer(bomb(2**30)) as slow, pytest.raises(Refused, match="is not Label Studio"):
        client.ask("connect", slow.origin, key)
    assert peak(client) - before < 300 * 1024


def peak(client: Client) -> int:
    """The most memory that the client's process ever had, in KiB."""
    status = Path(f"/proc/{client.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])
