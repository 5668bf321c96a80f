"""A server on loopback that answers with bytes, so that it can say what no library would let it say."""

import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, Self

SEED = {"choices": [{"message": {"content": "A"}}], "usage": {"prompt_tokens": 7, "completion_tokens": 1}}


class Request(NamedTuple):
    """What a client sent; the names of headers are in small letters."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


Answer = Callable[[Request], bytes]


def http(status: int = 200, body: Any = SEED, **headers: str) -> bytes:  # noqa: ANN401 - JSON, or bytes as they are
    """Return a whole answer; ``retry_after="1"`` is the header Retry-After."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = {"content-type": "application/json", "content-length": str(len(data)), "connection": "close"}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + data


def later(seconds: float, answer: bytes) -> bytes:
    """Return the answer after so many seconds."""
    time.sleep(seconds)
    return answer


class RawServer:
    """A server with a thread for each request; `requests` has all that came, `most` how many were there at once.

    `answer` gives the bytes; none of them closes the connection without a word.
    """

    def __init__(self, answer: Answer | None = None, port: int = 0) -> None:
        self.answer: Answer = answer or (lambda request: http())
        self.requests: list[Request] = []
        self.now = self.most = 0
        self._lock = threading.Lock()
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port = self._socket.getsockname()[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._serve, daemon=True).start()

    def script(self, *answers: bytes) -> None:
        """Answer with these in turn, and with the last one from then on."""
        left = [*answers]
        self.answer = lambda request: left.pop(0) if len(left) > 1 else left[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # else the thread that accepts would have one more
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._handle, args=(connection,), daemon=True).start()

    def _handle(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            try:
                request = _read(stream)
            except (OSError, ValueError):  # the client has gone
                return
            with self._lock:
                self.requests.append(request)
                self.now += 1
                self.most = max(self.most, self.now)
            try:
                data = self.answer(request)
            finally:
                with self._lock:  # before the answer is there: the next request may follow at once
                    self.now -= 1
            with suppress(OSError):
                connection.sendall(data)


def _read(stream: Any) -> Request:  # noqa: ANN401 - a file of bytes
    method, path, _ = stream.readline().decode().split(" ")
    headers = {}
    while line := stream.readline().decode().strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    data = stream.read(int(headers.get("content-length", 0)))
    return Request(method, path, headers, json.loads(data) if data else None)
