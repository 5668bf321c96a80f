"""What stands between client and server in a bad network: it holds requests back, loses them, cuts answers short."""

import http.client
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Request:
    """A request that came in, to be sent on at most once."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    target: str

    def forward(self) -> tuple[int, dict[str, str], bytes]:
        """What the server answers to it."""
        link = http.client.HTTPConnection(urlsplit(self.target).netloc, timeout=120)
        try:
            link.request(self.method, self.path, self.body or None, self.headers)
            answer = link.getresponse()
            kept = {"content-type": answer.headers.get("content-type", "text/plain")}
            return answer.status, kept, answer.read()
        finally:
            link.close()


Answer = tuple[int, dict[str, str], bytes] | None
"""Status, headers and body; None is a connection that is cut."""


class Proxy:
    """A server that does with each request what `behave` says; by default it sends it on."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.behave: Callable[[Request], Answer] = Request.forward
        self.requests: list[tuple[str, str]] = []
        self.shorten: Callable[[Request, int], int] = lambda request, length: length
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                request = Request(self.command, self.path, dict(self.headers), body, proxy.target)
                proxy.requests.append((self.command, self.path))
                try:
                    answer = proxy.behave(request)
                except OSError:
                    answer = None
                if answer is None:
                    self.close_connection = True
                    return
                self._tell(request, *answer)

            def _tell(self, request: Request, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                length = proxy.shorten(request, len(body))
                self.wfile.write(body[:length])
                self.close_connection = length < len(body)

            do_GET = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815 - as the library names them

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - as the library names them
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that are killed
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        """Take no more requests."""
        self._server.shutdown()
        self._server.server_close()


class Held:
    """What holds requests to a path back until it is told to let them through, but for the first `skip` of them."""

    def __init__(self, proxy: Proxy, path: str = "/import", skip: int = 0) -> None:
        self._path, self._skip = path, skip
        self._came, self._go = threading.Event(), threading.Event()
        self._until_listed = False
        proxy.behave = self._behave

    def _behave(self, request: Request) -> Answer:
        if urlsplit(request.path).path.endswith(self._path):
            self._skip -= 1
            if self._skip < 0:
                self._came.set()
                self._go.wait(60)
        answer = request.forward()
        if self._until_listed and "tasks" in request.path and not json.loads(answer[2]).get("tasks", True):
            self._go.set()
        return answer

    def came(self) -> None:
        """Wait until one came."""
        assert self._came.wait(60)

    def release(self) -> None:
        """Let it through."""
        self._go.set()

    def release_once_listed(self) -> None:
        """Let it through as soon as a client has listed tasks to their end: the page after the last one is empty."""
        self._until_listed = True
