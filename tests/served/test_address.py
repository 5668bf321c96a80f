"""Addresses of served models: one spelling for one server, no secret in them, and no key where others could read it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senseprobe.errors import ModelError
from senseprobe.evaluate.served import address as module
from senseprobe.evaluate.served.address import KEY_VARIABLE, Address, ServingOptions, hide_key, key_of, parse

KEY = "sk-proj-0123456789abcdefXYZ"


@pytest.mark.parametrize(
    ("spec", "base", "model"),
    [
        ("openai:http://127.0.0.1:8080/v1#m", "http://127.0.0.1:8080/v1", "m"),
        ("openai:HTTP://LocalHost:8080/v1/#a/b:c", "http://localhost:8080/v1", "a/b:c"),
        ("openai:https://api.example.com/v1", "https://api.example.com/v1", ""),
        ("openai:http://[::1]:80/v1#m#n", "http://[::1]:80/v1", "m#n"),
        (
            "openai:https://a.example/openai/deployments/d/chat/completions",
            "https://a.example/openai/deployments/d",
            "",
        ),
    ],
)
def test_one_spelling(spec: str, base: str, model: str) -> None:
    """Scheme and host are in small letters, and no slash stands at the end (RFC 3986, section 6.2.2.1)."""
    assert parse(spec) == Address(base, model)


@pytest.mark.parametrize(
    "spec",
    [
        "openai:",
        "openai:localhost:8080/v1#m",
        "openai:ftp://localhost/v1#m",
        "openai:http:///v1#m",
        "openai:http://h:99999/v1#m",
        "openai:http://h:x/v1#m",
        "openai:http://[::1/v1",
        "openai:http://a b/v1",
        "openai:http://h\x1b[2J/v1#m",
        "openai:http://h/v1#m\x1b[2J",
        "openai:http://127.0.0.1\\.evil.example/v1",
        "openai:http://127.0.0.1%2eevil.example/v1",
    ],
)
def test_what_is_no_address(spec: str) -> None:
    """It is refused in one line that prints."""
    with pytest.raises(ModelError) as error:
        parse(spec)
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    "spec",
    [
        f"openai:http://user:{KEY}@host/v1#m",
        f"openai:http://{KEY}@host/v1#m",
        f"openai:http:/user:{KEY}@host/v1",
        f"openai:https://host/v1?key={KEY}#m",
        f"openai:https://host/v1?{KEY}",
        f"openai:https://host/v1?api-version=1&api-key={KEY}#m",
        f"openai:https://host/v1?api-key={KEY}&api-version=1#m",
        f"openai:{KEY}",
    ],
)
def test_a_secret_in_the_address_is_refused_and_not_repeated(spec: str) -> None:
    """Whoever writes a key or a password into the address does not find it in a log."""
    with pytest.raises(ModelError) as error:
        parse(spec)
    assert KEY not in str(error.value)


def test_a_version_stays_with_the_address() -> None:
    """Azure's: it stands in the name of the model, and behind the path."""
    address = parse("openai:https://a.example/openai/v1/?api-version=2024-12-01-preview#m")
    assert address == Address("https://a.example/openai/v1", "m", "api-version=2024-12-01-preview")
    assert address.text == "openai:https://a.example/openai/v1?api-version=2024-12-01-preview#m"
    assert parse(address.text) == address


@given(st.text(max_size=40))
def test_any_text(text: str) -> None:
    """Any text is an address or a ModelError, and what is an address is its own spelling."""
    for spec in (text, f"openai:http://{text}"):
        try:
            address = parse(spec)
        except ModelError:
            continue
        assert parse(address.text) == address


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("[::1]", True),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("0.0.0.0", False),  # noqa: S104 - it is not bound
        ("10.0.0.1", False),
        ("example.com", False),
    ],
)
def test_loopback(host: str, expected: bool) -> None:
    """127.0.0.0/8 and ::1 are this machine (RFC 1122, RFC 4291), and the name localhost; no other name is."""
    assert parse(f"openai:http://{host}:8080/v1").is_loopback is expected


def test_no_key_over_plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key goes over https, or to this machine, and nowhere else."""
    monkeypatch.setenv(KEY_VARIABLE, f" {KEY}\n")
    for spec in ("http://example.com/v1", "HTTP://example.com/v1", "http://127.0.0.1.example.com/v1"):
        with pytest.raises(ModelError, match="plain http") as error:
            key_of(parse(f"openai:{spec}"), ServingOptions())
        assert KEY not in str(error.value)
    for spec in ("https://example.com/v1", "http://localhost/v1", "http://[::1]/v1"):
        assert key_of(parse(f"openai:{spec}"), ServingOptions()) == KEY
    monkeypatch.delenv(KEY_VARIABLE)
    assert key_of(parse("openai:http://example.com/v1"), ServingOptions()) is None


@pytest.mark.parametrize("value", ["two words", "café", "a\nb"])
def test_what_is_no_key(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that no header can have is refused, and not repeated."""
    monkeypatch.setenv(KEY_VARIABLE, value)
    with pytest.raises(ModelError) as error:
        key_of(parse("openai:http://localhost/v1"), ServingOptions())
    assert value not in str(error.value)


@pytest.mark.parametrize("name", [KEY, "UNSET_VARIABLE", "sk_0123456789abcdef", "", "A=B"])
def test_the_key_in_the_place_of_its_variable(name: str) -> None:
    """Who names no variable that is set has perhaps given the key itself: it is not repeated."""
    with pytest.raises(ModelError) as error:
        key_of(parse("openai:http://localhost/v1"), ServingOptions(key_variable=name))
    assert not name or name not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        f"Authorization: Bearer {KEY}",
        f"a {KEY.upper()} b",
        "bearer abc.def-ghi is wrong",
        "Bearer%20abc.def-ghi",
        "another key, sk-abcdefghijkl or hf_abcdefghijkl",
    ],
)
def test_keys_are_hidden(text: str) -> None:
    """The key in any case, and what has the shape of one."""
    shown = hide_key(text, KEY).casefold()
    assert "***" in shown
    assert not any(part in shown for part in (KEY.casefold(), "abc.def", "abcdefghijkl"))


def test_encoded_keys_are_hidden() -> None:
    """A key with signs that URLs and JSON write in another way is hidden in these forms, too."""
    key = 'ab/c+d"e=f%g'
    for form in ("ab/c%2Bd%22e%3Df%25g", "ab%2Fc%2Bd%22e%3Df%25g", 'ab/c+d\\"e=f%g', "ab%2fc%2bd%22e%3df%25g"):
        assert hide_key(f"<{form}>", key) == "<***>"


def test_words_are_no_keys() -> None:
    """What says that a key is missing stays as it is."""
    text = "No Bearer token: the key_not_found error of task-oriented models"
    assert hide_key(text, None) == hide_key(text, "o") == text
    assert module.HIDDEN not in text
