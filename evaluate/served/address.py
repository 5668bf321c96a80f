"""The address of a served model, ``openai:http://HOST:PORT/v1#MODEL``, and how it may be talked to."""

import ipaddress
import json
import os
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus, urlsplit

from senseprobe.errors import ModelError
from senseprobe.messages import printable, shortened

PREFIX = "openai:"
KEY_VARIABLE = "SENSEPROBE_API_KEY"
HIDDEN = "***"
"""What stands in the place of a key."""

BEARER = "Authorization"
KEY_HEADERS = (BEARER, "api-key")
"""Headers in which servers read a key: as a bearer's token, or, as Azure's do, by itself."""

_NAME = re.compile(r"[a-z0-9_.-]+")
_QUERY = re.compile(r"api-version=[\w.-]{1,40}", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingOptions:
    """How a server is talked to.

    - `key_variable`: the environment variable that holds the API key; a key is never an option's value.
    - `concurrency`: requests at a time; None: 1 on loopback, 4 elsewhere, and never more than the server's slots.
    - `accept_noise`: whether more than one request at a time is accepted where that changes answers.
    - `send`: whether rows that are marked not for distribution may leave this machine.
    - `price`: of a million tokens read, and written; `budget`: what may be spent, in the same money.
    - `stored`: whether answers are kept, and those of earlier runs used.
    """

    key_variable: str = KEY_VARIABLE
    concurrency: int | None = None
    accept_noise: bool = False
    send: bool = False
    price: tuple[float, float] | None = None
    budget: float | None = None
    stored: bool = True

    @property
    def keywords(self) -> dict[str, Any]:
        """The options as keywords of `senseprobe.server`."""
        names = ("concurrency", "accept_noise", "send", "price", "budget")
        key_variable = None if self.key_variable == KEY_VARIABLE else self.key_variable
        return {**{name: getattr(self, name) for name in names}, "api_key_env": key_variable}


DEFAULT = ServingOptions()


@dataclass(frozen=True, slots=True)
class Address:
    """Where a model is served.

    `base` is the URL up to ``/v1``, without a slash at its end, and `model` its name; `query` is what stands behind a
    question mark of each request: Azure's ``api-version=2024-10-21``, or nothing.
    """

    base: str
    model: str
    query: str = ""

    @property
    def origin(self) -> str:
        """Scheme, host and port: ``http://127.0.0.1:8080``."""
        parts = urlsplit(self.base)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine, by its name alone: no name is looked up."""
        host = urlsplit(self.base).hostname or ""
        if host == "localhost":
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    @property
    def text(self) -> str:
        """The address as it is named on the command line."""
        url = f"{self.base}?{self.query}" if self.query else self.base
        return f"{PREFIX}{url}#{self.model}" if self.model else f"{PREFIX}{url}"

    @property
    def key_headers(self) -> tuple[str, ...]:
        """The headers in which the server may read a key, the likelier first."""
        return KEY_HEADERS[::-1] if self.query else KEY_HEADERS


def parse(spec: str) -> Address:
    """Return the address in ``openai:URL[#MODEL]``. ModelError where it is none, or holds a key or a password.

    >>> address = parse("openai:http://127.0.0.1:8080/v1/#qwen")
    >>> address.origin, address.model, address.is_loopback, address.text
    ('http://127.0.0.1:8080', 'qwen', True, 'openai:http://127.0.0.1:8080/v1#qwen')
    """
    url, _, model = spec.removeprefix(PREFIX).partition("#")
    url, separator, query = url.partition("?")
    if "@" in url or (separator and not _QUERY.fullmatch(query)):
        # The text is not repeated: it may hold a secret.
        raise ModelError(
            "the address of a server cannot contain a password or a ?… other than ?api-version=…: put the "
            f"key into the environment variable {KEY_VARIABLE} (or the one that --api-key-env names)"
        )
    if not re.fullmatch(r"[!-~]*", url) or not model.isprintable():
        raise ModelError("the address of a server contains characters that are not allowed in addresses")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    if parts.scheme not in ("http", "https") or not (_NAME.fullmatch(host) or _is_ip(host)):
        raise ModelError(
            f"{_hide_keys(shortened(printable(spec)))} is not the address of a served model: write "
            f"{PREFIX}http://HOST:PORT/v1#MODEL"
        )
    # One spelling for one server: the store goes by it, and so does what keeps a key off plain http.
    netloc = f"[{host}]" if ":" in host else host
    path = parts.path.rstrip("/").removesuffix("/chat/completions")  # as Azure shows it
    return Address(f"{parts.scheme}://{netloc}{'' if port is None else f':{port}'}{path}", model, query)


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return "%" not in host


class _Key(str):
    """A key that does not show in a traceback that has the values of variables."""

    __slots__ = ()

    def __repr__(self) -> str:
        return HIDDEN


def key_of(address: Address, options: ServingOptions) -> str | None:
    """Return the API key, None without one.

    ModelError where the variable that was named is none or is not set, where it holds no key, and where the key would
    go over plain http to another machine. The name of the variable is not repeated unless it is ours: who gives the
    key itself in its place would read it in a log.
    """
    variable = options.key_variable
    key = _Key(os.environ.get(variable, "").strip() if re.fullmatch(r"\w+", variable, re.ASCII) else "")
    if not key:
        if variable != KEY_VARIABLE:
            raise ModelError(
                "--api-key-env does not name an environment variable that is set: give its name, never the key"
            )
        return None
    if not re.fullmatch(r"[!-~]+", key):
        raise ModelError(
            "the API key in the environment contains blanks or characters that keys cannot have: set it again"
        )
    if address.base.startswith("http:") and not address.is_loopback:
        raise ModelError(
            f"the API key would go to {address.origin} over plain http, where others can read it: use an "
            "https address, or unset the variable if the server does not need a key"
        )
    return key


def hide_key(text: str, key: str | None) -> str:
    """Return a text without the key, percent-encoded or not, and without anything else that looks like a key.

    What local servers are given in its place, as ``x``, is too short to be a secret, and its letters stay.
    """
    if key and len(key) > 3:
        forms = {key, quote(key), quote(key, safe=""), quote_plus(key), json.dumps(key)[1:-1]}
        for form in sorted(forms, key=len, reverse=True):
            text = re.sub(re.escape(form), HIDDEN, text, flags=re.IGNORECASE)
    return _hide_keys(text)


def _hide_keys(text: str) -> str:
    """Return a text without what has the shape of a key, whoever's it is."""
    text = re.sub(r"(?i)\b(bearer)(\s+|%20|\+)(?!token\b|auth)[^\s\"',;]+", rf"\1 {HIDDEN}", text)
    return re.sub(r"\b(?:sk|hf|gsk|xai)[-_][A-Za-z0-9_-]{8,}", HIDDEN, text)
