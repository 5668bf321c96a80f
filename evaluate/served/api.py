"""Name a model behind a server, for `score` and for notebooks."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Annotated

from senseprobe.api.models import SourceKind
from senseprobe.errors import ModelError
from senseprobe.evaluate.served.address import KEY_VARIABLE, PREFIX, ServingOptions, parse
from senseprobe.options import Option

if TYPE_CHECKING:
    from senseprobe.evaluate.served.server import Server


def _price(text: str) -> tuple[float, float]:
    try:
        read, written = map(float, text.split(","))
    except ValueError:
        read = written = -1.0
    if not (isfinite(read) and isfinite(written) and min(read, written) >= 0):
        raise ValueError(f"{text}: expected two prices of a million tokens, for example 0.15,0.60")
    return read, written


API_KEY_ENV = Option(
    metavar="NAME",
    help="Read the API key of a model server from this environment variable. Default: SENSEPROBE_API_KEY.",
)
CONCURRENCY = Option(
    metavar="N",
    least=1,
    help="Send this many requests to a server at a time. Default: 1 on this machine, 4 elsewhere, at most its slots.",
)


def server(
    url: str,
    *,
    model: str = "",
    api_key_env: Annotated[str | None, API_KEY_ENV] = None,
    concurrency: Annotated[int | None, CONCURRENCY] = None,
    accept_noise: Annotated[
        bool, Option("--accept-noise", help="Send several requests at a time even if that changes answers.")
    ] = False,
    send: Annotated[
        bool, Option("--send", help="Send rows that may not be distributed to a server on another machine.")
    ] = False,
    price: Annotated[
        tuple[float, float] | None,
        Option(
            type=str,
            parse=_price,
            metavar="IN,OUT",
            help="Price of a million tokens that the server reads, and writes.",
        ),
    ] = None,
    budget: Annotated[
        float | None, Option(metavar="MONEY", help="Stop when this much is spent, by --price; answers are kept.")
    ] = None,
) -> Server:
    """Name a model behind a server, and how it is talked to.

    `url` is ``http://HOST:PORT/v1``, with ``#MODEL`` at its end unless `model` names the model. `describe()` of the
    result tests the features of the server with about thirty requests, which do not contain rows of a release.
    Raises ModelError if the address, the environment variable of the key, or another option is invalid.

    >>> source = server("http://127.0.0.1:8080/v1", model="qwen", concurrency=2)
    >>> source.name, source.abilities
    ('openai:http://127.0.0.1:8080/v1#qwen', ('chat', 'causal'))
    """
    from senseprobe.evaluate.served.server import Server, checked_serving

    if not isinstance(url, str):
        raise ModelError(f"expected the address of a server, not {type(url).__name__}: give http://HOST:PORT/v1")
    spec = url if url.startswith(PREFIX) else f"{PREFIX}{url}"
    spec = f"{spec}#{model}" if model else spec
    serving = ServingOptions(
        key_variable=KEY_VARIABLE if api_key_env is None else api_key_env,
        concurrency=concurrency,
        accept_noise=accept_noise,
        send=send,
        price=price,
        budget=budget,
    )
    return Server(parse(spec).text, serving=checked_serving(spec, serving))


SOURCES = (
    SourceKind(
        id="server",
        make=server,
        title="behind a server",
        plural="models behind a server, openai:URL#MODEL",
        claims=lambda given: str(given).startswith(PREFIX) if isinstance(given, str) else False,
    ),
)
