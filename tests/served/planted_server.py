"""A server on this machine that speaks OpenAI's chat completions for a planted model, as several real servers do.

It counts and records what is asked, and fails, queues and lies on demand.
"""

import json
import math
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.served.planted_model import END, START, PlantedModel, detokenize, render, tokenize

KINDS = ("openai", "llama.cpp", "vllm", "transformers")
"""What it presents itself as: a hosted one that has chat completions only, and three that have more."""

MODEL = "planted"
TEMPLATE = "{% for turn in messages %}…{% endfor %}"
KNOWN_FIELDS = re.findall(
    r"\w+",
    "model messages temperature seed logprobs top_logprobs max_tokens max_completion_tokens stop n stream user"
    " logit_bias response_format",
)


class Request(NamedTuple):
    """One request as it came; `headers` have lower-case names, `body` is parsed, None without one."""

    number: int
    method: str
    path: str
    body: Any
    headers: dict[str, str]


@dataclass
class Reply:
    """What is answered: JSON, or `body` as it is where that is bytes; `cut` and `reset` end the connection early."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    reset: bool = False


class Fault(NamedTuple):
    """Replies that stand in for the next requests' own, on paths that begin with `path`."""

    path: str
    replies: list[Reply]


Twist = Callable[[Request, Reply], Reply]
"""What changes a reply before it is sent."""


def error(status: int, code: str, message: str, **more: object) -> Reply:
    """Return an error in OpenAI's shape."""
    return Reply({"error": {"message": message, "type": code, "code": code, **more}}, status)


class PlantedServer:
    """The state, and the server's thread; `with` stops it.

    - `kind`: one of `KINDS`; `name`, `fingerprint`: what it says of its model; `key`: what it wants to see.
    - `slots`: requests that are answered at a time, others wait; `delay`: seconds of each.
    - `context`: tokens that fit; a longer prompt is a 400. `most`: log-probabilities told of at a place.
    - `strict`: whether unknown fields are a 400; `loading`: requests that get 503 first.
    - `pinned`: whether another model's name is a 404.
    - `twist`: what changes replies (see `tests.served.liars`).
    - `log`: requests in their order, those that failed among them; `answered`: chat requests that got an answer.
    """

    def __init__(
        self,
        model: PlantedModel | None = None,
        *,
        kind: str = "openai",
        name: str = MODEL,
        fingerprint: str = "fp_1",
        key: str | None = None,
        slots: int = 4,
        delay: float = 0.0,
        context: int = 6000,
        most: int = 20,
        strict: bool = False,
        loading: int = 0,
        pinned: bool = True,
        twist: Twist | None = None,
    ) -> None:
        assert kind in KINDS
        self.model = model or PlantedModel()
        self.kind, self.name, self.fingerprint, self.key = kind, name, fingerprint, key
        self.slots, self.delay, self.context, self.most = slots, delay, context, most
        self.strict, self.loading, self.pinned, self.twist = strict, loading, pinned, twist
        self.log: list[Request] = []
        self.faults: list[Fault] = []
        self.answered = 0
        self.peak = 0  # requests at once, at most
        self.busy = 0
        self.lock = threading.RLock()
        self.turns = threading.Semaphore(slots)
        self.sockets: set[socket.socket] = set()
        planted = self

        class Bound(Handler):
            state = planted

        class Server(ThreadingHTTPServer):
            request_queue_size = 256
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """A client that was killed is no news."""

        self._server = Server(("127.0.0.1", 0), Bound)
        self.origin = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.url = f"{self.origin}/v1"
        self.spec = f"openai:{self.url}#{name}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self) -> "PlantedServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Close the port, and the connections that clients keep."""
        self._server.shutdown()
        self._server.server_close()
        for open_socket in [*self.sockets]:
            with suppress(OSError):  # the client was faster
                open_socket.shutdown(socket.SHUT_RDWR)

    def fail(self, *replies: Reply, path: str = "/v1/chat/completions") -> None:
        """Have the next requests of a path get these replies, one each."""
        self.faults.append(Fault(path, [*replies]))

    def asked(self, path: str = "/v1/chat/completions") -> list[Request]:
        """Return the requests of a path."""
        return [request for request in self.log if request.path == path]

    def prompts(self) -> list[str]:
        """Return the users' turns that were asked."""
        return [request.body["messages"][-1]["content"] for request in self.asked()]

    def reply(self, request: Request) -> Reply:
        """Return what is answered to a request, faults and twists included."""
        with self.lock:
            for fault in self.faults:
                if fault.replies and request.path.startswith(fault.path):
                    return fault.replies.pop(0)
            if self.loading > 0:
                self.loading -= 1
                return error(503, "unavailable_error", "Loading model")
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            return error(401, "invalid_api_key", "Invalid API key")
        with self.turns:
            with self.lock:
                self.busy += 1
                self.peak = max(self.peak, self.busy)
            try:
                time.sleep(self.delay)
                with self.lock:
                    reply = self._own(request)
            finally:
                with self.lock:
                    self.busy -= 1
        return self.twist(request, reply) if self.twist else reply

    def _own(self, request: Request) -> Reply:
        from tests.served.planted_routes import ROUTES

        route = ROUTES.get((request.method, request.path))
        if route is None or self.kind not in route.kinds:
            return error(404, "not_found", "File Not Found")
        if request.method == "POST" and not isinstance(request.body, dict):
            return error(400, "invalid_request_error", "the body is no JSON object")
        return route.answer(self, request.body)

    def sigma(self, body: Mapping[str, Any]) -> float:
        """Return the noise of a request, by its neighbours and its cache."""
        model = self.model
        cached = model.cached if body.get("cache_prompt", True) else 0.0
        return math.hypot(model.noise, model.near if self.busy > 1 else 0.0, cached)

    def too_long(self, tokens: int) -> Reply | None:
        """Return the error of a prompt that does not fit, None where it does."""
        if tokens <= self.context:
            return None
        said = f"the request exceeds the available context size ({tokens} > {self.context}): maximum context length"
        code = "exceed_context_size_error" if self.kind == "llama.cpp" else "context_length_exceeded"
        return error(400, code, said, n_prompt_tokens=tokens, n_ctx=self.context)

    def chat(self, body: Mapping[str, Any]) -> Reply:
        """Answer a conversation: greedy text, and log-probabilities if they are asked for."""
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            return error(400, "invalid_request_error", "messages are lacking")
        if self.pinned and body.get("model") != self.name:
            return error(404, "model_not_found", f"The model {body.get('model')!r} does not exist")
        if unknown := [name for name in body if name not in KNOWN_FIELDS]:
            if self.strict:
                return error(400, "unknown_parameter", f"Unknown parameter: {unknown[0]!r}")
            if self.kind == "transformers":
                return error(422, "unprocessable", f"Unexpected keys in the request: {unknown}")
        most = body.get("top_logprobs")
        if most is not None and not body.get("logprobs"):
            return error(400, "invalid_request_error", "top_logprobs requires logprobs to be set to true")
        if most is not None and self.kind != "llama.cpp" and not 0 <= most <= self.most:
            return error(400, "invalid_request_error", f"top_logprobs must be at most {self.most}")
        rendered = render(messages)
        if refusal := self.too_long(len(tokenize(rendered))):
            return refusal
        if body.get("prompt_logprobs") is not None and self.kind == "vllm":
            return Reply({**self._completed(rendered, "", [], "length"), "prompt_logprobs": self.told(rendered)})
        prompt = messages[-1]["content"]
        tops = self.model.tops(prompt, self.sigma(body))
        told = dict([*tops.items()][: most or 0])
        text = self.model.text(prompt, tops)
        first = next((token for token in tops if text.startswith(token)), text[:1])
        pieces = [first, *re.findall(r"\s*\w+|\s*[^\w\s]", text[len(first) :])]
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or 64
        kept = pieces[:limit]
        places = [_place(kept[0], tops.get(kept[0], -3.0), told)]
        places += [_place(piece, -0.01, {piece: -0.01}) for piece in kept[1:]]  # nobody reads more of later places
        reply = self._completed(rendered, "".join(kept), kept, "length" if len(kept) < len(pieces) else "stop")
        if body.get("logprobs") and self.kind != "transformers":
            reply["choices"][0]["logprobs"] = {"content": places if most != 0 else []}
        self.answered += 1
        return Reply(reply)

    def _completed(self, rendered: str, text: str, tokens: list[str], finish: str) -> dict[str, Any]:
        read = len(tokenize(rendered))
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
        return {
            "id": f"chatcmpl-{len(self.log)}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "/home/someone/models/planted.gguf" if self.kind == "llama.cpp" else self.name,
            "system_fingerprint": self.fingerprint,
            "choices": [choice],
            "usage": {"prompt_tokens": read, "completion_tokens": len(tokens), "total_tokens": read + len(tokens)},
        }

    def told(self, text: str) -> list[dict[str, Any] | None]:
        """Return what vLLM tells of a prompt's tokens: nothing of the first, then log P by id."""
        ids = tokenize(text)
        logs = self.logs_of(ids)
        return [
            None,
            *(
                {str(token): {"logprob": log, "rank": 1, "decoded_token": detokenize([token])}}
                for token, log in zip(ids[1:], logs[1:], strict=True)
            ),
        ]

    def logs_of(self, ids: list[int]) -> list[float]:
        """Return log P of each token after those before it; special tokens are certain."""
        text = detokenize(ids)
        turn = f"{START}assistant\n"
        start = text.rfind(turn) + len(turn) if turn in text else len(START) if text.startswith(START) else 0
        steps = self.model.steps(text[:start], text[start:].removesuffix(END))
        return [0.0] * (len(tokenize(text[:start]))) + steps + [0.0] * text[start:].endswith(END)


def _place(token: str, log: float, tops: Mapping[str, float]) -> dict[str, Any]:
    """Return what is told of one place of an answer."""
    entries = [{"token": name, "logprob": value, "bytes": [*name.encode()]} for name, value in tops.items()]
    return {"token": token, "logprob": log, "bytes": [*token.encode()], "top_logprobs": entries}


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for the client to confirm its head
    wbufsize = 2**16
    state: PlantedServer

    def setup(self) -> None:
        """Remember the socket, so that `stop` can close it."""
        super().setup()
        self.state.sockets.add(self.connection)

    def finish(self) -> None:
        """Forget it."""
        self.state.sockets.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing on standard error."""

    def _do(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(data) if data else None
        except ValueError:
            body = data
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.state.lock:
            request = Request(len(self.state.log), self.command, self.path, body, headers)
            self.state.log.append(request)
        self._send(self.state.reply(request))

    do_GET = do_POST = _do  # noqa: N815 - the base class's names

    def _send(self, reply: Reply) -> None:
        if reply.reset:
            self.close_connection = True
            # Linger of no time: the other side reads "connection reset", not an end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            return
        data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            "x-request-id": "req-1",
            **reply.headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if reply.cut else data)
        if reply.cut:
            self.wfile.flush()
            self.close_connection = True
