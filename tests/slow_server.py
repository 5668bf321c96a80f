"""A server on loopback that is never silent and never done, in each part of an answer; and one whose answer unpacks."""

import socket
import threading
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import repeat
from typing import Self

CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"

# What comes first, and then, over and over, each PAUSE: each read of a client is answered long before it is late.
ENDLESS: dict[str, tuple[bytes, bytes]] = {
    "status line": (b"HTTP/1.1 200 ", b"O"),
    "header lines": (b"HTTP/1.1 200 OK\r\n", b"x-more: 1\r\n"),
    "1xx answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "length of a chunk": (CHUNKED + b"2;", b"x"),
    "body": (CHUNKED, b"1\r\n \r\n"),
    "trailers": (CHUNKED + b"2\r\n{}\r\n0\r\n", b"x-more: 1\r\n"),
}
PAUSE = 0.1


def bomb(size: int) -> bytes:
    """A whole answer that unpacks to about so many bytes, of JSON."""
    packer = zlib.compressobj(wbits=31)
    body = packer.compress(b'"') + b"".join(packer.compress(b"a" * 2**20) for _ in range(size >> 20))
    body += packer.compress(b'"') + packer.flush()
    head = f"content-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: {len(body)}\r\n\r\n"
    return b"HTTP/1.1 200 OK\r\n" + head.encode() + body


class SlowServer:
    """Answers each request with `first`, and then with `then` each PAUSE until the client has gone.

    `heads` has what was asked, up to the end of the header lines.
    """

    def __init__(self, first: bytes, then: bytes = b"") -> None:
        self.first, self.then = first, then
        self.heads: list[bytes] = []
        self._closed = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.origin = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._closed.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self) -> None:
        with suppress(OSError):  # closed
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            for head in _heads(connection):
                self.heads.append(head)
                connection.sendall(self.first)
                for part in repeat(self.then) if self.then else ():
                    connection.sendall(part)
                    if self._closed.wait(PAUSE):
                        return


def _heads(connection: socket.socket) -> Iterator[bytes]:
    """The head of each request of a connection; bodies are thrown away with what came with them."""
    data = b""
    while part := connection.recv(2**16):
        data += part
        if b"\r\n\r\n" in data:
            yield data.partition(b"\r\n\r\n")[0]
            data = b""
