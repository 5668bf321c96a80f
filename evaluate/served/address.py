"""The address of a served model, ``openai:http://HOST:PORT/v1#MODEL``, and how it may be talked to."""

import ipaddress
import os
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from senseprobe.errors import ModelError

PREFIX = "openai:"
KEY_VARIABLE = "SENSEPROBE_API_KEY"


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingOptions:
    """How a server is talked to.

    - `key_variable`: the environment variable that holds the API key; a key is never an option's value.
    - `concurrency`: requests at a time; None: 1 on loopback, 4 elsewhere, and never more than the server's slots.
    - `insecure_key`: whether a key may go over plain http to another machine.
    - `accept_noise`: whether more than one request at a time is accepted where that changes answers.
    - `send`: whether rows that are marked not for distribution may leave this machine.
    - `price`: of a million tokens read, and written; `budget`: what may be spent, in the same money.
    - `stored`: whether answers are kept, and those of earlier runs used.
    """

    key_variable: str = KEY_VARIABLE
    concurrency: int | None = None
    insecure_key: bool = False
    accept_noise: bool = False
    send: bool = False
    price: tuple[float, float] | None = None
    budget: float | None = None
    stored: bool = True


DEFAULT = ServingOptions()


@dataclass(frozen=True, slots=True)
class Address:
    """Where a model is served: `base` is the URL up to ``/v1``, without a slash at its end, and `model` its name."""

    base: str
    model: str

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
        return f"{PREFIX}{self.base}#{self.model}" if self.model else f"{PREFIX}{self.base}"


def is_served(spec: str) -> bool:
    """Return whether a model is named as one behind a server."""
    return spec.startswith(PREFIX)


def parse(spec: str) -> Address:
    """Return the address in ``openai:URL[#MODEL]``. ModelError where it is none, or holds a key or a password."""
    url, _, model = spec.removeprefix(PREFIX).partition("#")
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.username is not None or parts.password is not None or parse_qsl(parts.query, keep_blank_values=True):
        # The text is not repeated: it may hold a secret.
        raise ModelError(
            "the address of a server has no password and no ?…: a key stands in the environment variable"
            f" {KEY_VARIABLE} (or the one that --api-key-env names)"
        )
    if not host or parts.scheme not in ("http", "https"):
        raise ModelError(f"{spec} is no address of a served model: name it {PREFIX}http://HOST:PORT/v1#MODEL")
    if any(ord(letter) < 33 or ord(letter) == 127 for letter in url) or not model.isprintable():
        raise ModelError("the address of a server has letters that no address has")
    return Address(url.rstrip("/"), model)


def key_of(address: Address, options: ServingOptions) -> str | None:
    """Return the API key, None without one. ModelError where it would go over plain http to another machine."""
    key = os.environ.get(options.key_variable, "").strip() or None
    if key and address.base.startswith("http:") and not (address.is_loopback or options.insecure_key):
        raise ModelError(
            f"the key in {options.key_variable} would go to {address.origin} over plain http: name an https address,"
            " or unset the variable where the server needs none"
        )
    return key
