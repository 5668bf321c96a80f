"""One clock and one size around a whole exchange with a server over HTTP, whichever of httpx and httpx2 carries it.

Their time-outs are of a single read: a server that sends a header line each second, or ``100 Continue`` for ever, is
never late by them, and a compressed body has no size. What the name of a server stands for is looked up by the system,
whose own time-out holds.
"""

import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import local
from typing import Any

LARGEST = 64 * 2**20
"""Bytes of a body, unpacked; the largest in use, of a whole vocabulary, has eight million."""

_NEVER = float("inf")
_clock = local()
"""Of the exchange that this thread carries: `end`, and `last` of what several exchanges are for (monotonic seconds)."""


class LateError(TimeoutError):
    """Raised where an exchange is not over in time."""


class BodyError(ValueError):
    """Raised where a body is too large, cut, or packed in a way that cannot be read; the text says which.

    `retryable`: whether it helps to ask again.
    """

    def __init__(self, reason: str, *, retryable: bool = False) -> None:
        super().__init__(reason)
        self.retryable = retryable


def limit_exchanges(
    client: Any,  # noqa: ANN401 - of httpx or httpx2, which are imported late
    byte_stream: Callable[[bytes], object],
    *,
    seconds: Callable[[], float | None] | None = None,
    most: int = LARGEST,
    is_file: Callable[[Any], bool] = lambda request: False,
) -> None:
    """Limit each exchange of a client from now on: connection, header lines, 1xx answers, trailers and body together.

    An exchange has what `seconds` gives, None for no limit, or what its request has as its time-out of reading; they
    begin anew with each part of the request that is sent, so that a long one may take its time. A body has at most
    `most` bytes, unpacked (gzip, or not at all); it is read at once, so that `byte_stream`, the class of that name of
    the client's library, holds it. The body of a request that `is_file` is left to who asked, with the clock still
    running (`go_on`), unless it is an error's. No cookie is sent back. LateError, or a time-out of the client's, and
    BodyError come out of the request.
    """
    begin, end = _make_limits(byte_stream, seconds, most, is_file)
    hooks = client.event_hooks
    client.event_hooks = {"request": [*hooks["request"], begin], "response": [end, *hooks["response"]]}


def make_auth(httpx: Any, is_file: Callable[[Any], bool]) -> Any:  # noqa: ANN401 - the library's module
    """Return what limits exchanges as the ``auth`` of a client, and so those of each client that is copied from it."""
    begin, end = _make_limits(httpx.ByteStream, None, LARGEST, is_file)

    class Limits(httpx.Auth):  # type: ignore[misc]  # of a module that is known at run time
        def auth_flow(self, request: Any) -> Iterator[Any]:  # noqa: ANN401 - of httpx
            begin(request)
            end((yield request))

    return Limits()


def _make_limits(
    byte_stream: Callable[[bytes], object],
    seconds: Callable[[], float | None] | None,
    most: int,
    is_file: Callable[[Any], bool],
) -> tuple[Callable[[Any], None], Callable[[Any], None]]:
    """Return what is to be done with each request, and with each response whose header lines are there."""

    def begin(request: Any) -> None:  # noqa: ANN401 - of httpx
        limit = request.extensions["timeout"]["read"] if seconds is None else seconds()
        request.extensions["trace"] = _trace  # without a limit, too: the connection may be used for another exchange
        _clock.seconds = _NEVER if limit is None else limit
        go_on(_clock.seconds)
        if limit is None:
            return
        if seconds is not None:
            request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), limit)
        if request.headers.get("Accept-Encoding") != "identity":
            request.headers["Accept-Encoding"] = "gzip"
        request.headers.pop("Cookie", None)

    def end(response: Any) -> None:  # noqa: ANN401 - of httpx
        if _clock.seconds == _NEVER or (response.is_success and is_file(response.request)):
            return
        data = _read_body(response, most)
        response.stream.close()
        response.headers.pop("content-encoding", None)
        response.stream = byte_stream(data)

    return begin, end


def go_on(seconds: float) -> None:
    """Give the exchange of this thread so many seconds from now on, as after each part of a long file."""
    _clock.end = time.monotonic() + seconds


@contextmanager
def all_within(seconds: float) -> Iterator[None]:
    """Give all exchanges of this thread so many seconds together, as the pages of a listing; LateError after that."""
    before = getattr(_clock, "last", _NEVER)
    _clock.last = min(time.monotonic() + seconds, before)
    try:
        yield
    finally:
        _clock.last = before


def _left(timeout: float | None) -> float | None:
    """Return the seconds that a read or write may take, None for no limit; raise LateError where there are none."""
    end: float = min(_clock.end, getattr(_clock, "last", _NEVER))
    if end == _NEVER:
        return timeout
    left = min(end - time.monotonic(), _NEVER if timeout is None else timeout)
    if left <= 0:
        raise LateError("the exchange took too long")
    return left


def _trace(event: str, info: dict[str, Any]) -> None:
    """Put the clock into a connection as it is made; httpcore tells of that (its extension ``trace``)."""
    if event.endswith((".connect_tcp.complete", ".connect_unix_socket.complete")):
        _watch(info["return_value"])


def _watch(stream: Any) -> None:  # noqa: ANN401 - httpcore's NetworkStream
    """Let each read and write of a connection look at the clock of the thread that does it."""
    read, write, start_tls = stream.read, stream.write, stream.start_tls

    def read_in_time(max_bytes: int, timeout: float | None = None) -> bytes:
        data: bytes = read(max_bytes, timeout=_left(timeout))
        return data

    def write_in_time(buffer: bytes, timeout: float | None = None) -> None:
        write(buffer, timeout=_left(timeout))
        go_on(_clock.seconds)

    def start_tls_in_time(ssl_context: Any, server_hostname: Any = None, timeout: float | None = None) -> Any:  # noqa: ANN401
        secured = start_tls(ssl_context, server_hostname, _left(timeout))
        _watch(secured)
        return secured

    stream.read, stream.write, stream.start_tls = read_in_time, write_in_time, start_tls_in_time


def _read_body(response: Any, most: int) -> bytes:  # noqa: ANN401 - of httpx
    """Return a body, unpacked as it comes, so that no more than `most` bytes and one are ever there."""
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity", "gzip", "x-gzip"):
        raise BodyError("has an unexpected encoding")
    unpacker = zlib.decompressobj(wbits=31) if "gzip" in coding else None
    data = bytearray()
    try:
        for chunk in response.stream:
            # One byte more than may be shows that there is too much, whatever a few bytes unpack to.
            data += unpacker.decompress(chunk, most + 1 - len(data)) if unpacker else chunk
            if len(data) > most:
                raise BodyError(f"is larger than {most >> 20} MiB")
    except zlib.error:
        raise BodyError("cannot be decompressed", retryable=True) from None
    if unpacker and data and not unpacker.eof:
        raise BodyError("is cut short", retryable=True)
    return bytes(data)
