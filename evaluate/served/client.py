"""The client of a served model: it sends requests, repeats them where that helps, and stores answers."""

import json
import math
import random
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from senseprobe.errors import ModelError
from senseprobe.evaluate.served.address import Address, ServingOptions, hide_key, key_of
from senseprobe.evaluate.served.answer_store import AnswerStore
from senseprobe.evaluate.served.json_values import Counted, list_or_empty, object_or_empty
from senseprobe.evaluate.served.transport import Reply, Transport, UnansweredError
from senseprobe.messages import printable

Notify = Callable[[str], None]

TRIES = 6
FIRST_WAIT = 1.0
"""Seconds before the second try; each further one waits twice as long, or as long as the server asks."""

LONGEST_WAIT = 600.0
LOADING = 600.0
"""Seconds that a server may take to load its model: meanwhile it answers 503 without a Retry-After."""

_POLL = 5.0  # seconds between two checks for a loaded model
_REPORTED_WAIT = 5.0  # waits from so many seconds on are reported
_LONGEST_ERROR = 5000

RETRY_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may be answered."""

QUOTA = frozenset(
    {"insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached", "enforced_spend_limit_reached"}
)
"""Codes of errors that waiting cannot resolve, whatever the status."""

# Names of errors inside an answer of status 200, with the status that each stands for.
_STATUSES = {"rate_limit_exceeded": 429, "rate_limit_error": 429, "server_error": 500, "internal_server_error": 500}
_STATUSES |= {"api_error": 500, "unavailable_error": 503, "service_unavailable": 503, "timeout": 504}
_STATUSES |= {"overloaded_error": 529, "overloaded": 529}


class Response(NamedTuple):
    """What a server answered: the status, the JSON of the body, and the server's id of the request ("" without one).

    `body` is None if it is not JSON. If a body of status 200 has an ``error``, `status` is the error's, or 400 if the
    error has none. `stored`: the answer comes from the store, and no request was sent.
    """

    status: int
    body: Any
    request_id: str = ""
    stored: bool = False


class Client:
    """Send requests to the server at an address, from any number of threads; to be used as a context manager.

    `notify` gets one sentence for each reason to wait. `store` may be set later, when the answering model is known;
    without a store nothing is kept. `requests` counts the requests that were sent. Raise ModelError if the API key
    cannot be used (`address.key_of`) or a budget lacks a price; SenseprobeError without httpx.
    """

    def __init__(
        self,
        address: Address,
        options: ServingOptions,
        *,
        store: AnswerStore | None = None,
        notify: Notify = lambda text: None,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        if options.budget is not None and options.price is None:
            raise ModelError("--budget needs a price: give the cost of a million tokens with --price IN,OUT")
        self.address, self.options, self.store = address, options, store
        self.requests = 0
        self._notify, self._sleep = notify, sleep
        self._key = key_of(address, options)
        self._transport = Transport(address, self._key)
        self._headers = list(address.key_headers) if self._key else []
        if self._headers:
            self._transport.give_key_in(self._headers[0])
        self._lock = threading.Lock()
        self._slots: int | None = None
        self._tokens = (0, 0)
        self._reached = self._loading = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the store stays open."""
        self._transport.close()

    # --- how many at a time, and what it costs ---

    @property
    def concurrency(self) -> int:
        """Parallel requests: those of the options, or 1 on loopback and 4 elsewhere; at most the server's slots."""
        requested = self.options.concurrency or (1 if self.address.is_loopback else 4)
        return max(1, min(requested, self._slots or requested))

    def limit_slots(self, slots: int) -> None:
        """From now on, send at most `slots` requests in parallel."""
        self._slots = max(1, min(slots, self._slots or slots))

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens read and written by the server according to its answers; stored answers do not count."""
        return self._tokens

    @property
    def spent(self) -> float:
        """What these tokens cost, 0.0 without a price."""
        price = self.options.price or (0.0, 0.0)
        return sum(count * rate for count, rate in zip(self._tokens, price, strict=True)) / 1e6

    def _count(self, path: str, body: Any) -> None:  # noqa: ANN401 - JSON
        """Add the tokens of an answer. Raise ModelError if there is a budget and the answer has no counts."""
        usage = Counted.of(object_or_empty(body)).usage
        read = usage.input_tokens if usage.prompt_tokens is None else usage.prompt_tokens
        written = usage.output_tokens if usage.completion_tokens is None else usage.completion_tokens
        if read is None and self.options.budget is not None and path.startswith("/v1/"):
            raise ModelError(
                f"{self.address.origin} does not return token counts, so a budget cannot be kept: leave "
                "--budget out, and use --limit"
            )
        with self._lock:
            self._tokens = (self._tokens[0] + (read or 0), self._tokens[1] + (written or 0))

    def _describe_store(self) -> str:
        return "; the answers so far are kept" if self.store else ""

    # --- requests ---

    def url(self, path: str) -> str:
        """Return the URL of a path: ``/v1/…`` is below the base, any other path is next to the base's ``/v1``."""
        base, query = self.address.base, f"?{self.address.query}" if self.address.query else ""
        if path.startswith("/v1/") and urlsplit(base).path:
            return base + path.removeprefix("/v1") + query
        return base.removesuffix("/v1") + path + query

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        store: bool = True,
        ok: Sequence[int] = (200,),
        retry: bool = True,
        with_key: bool = True,
    ) -> Response:
        """Return the answer to a body, possibly from the store; answers with a status in `ok` are stored.

        A status that a repeat cannot change, such as 400 or 404, is returned like any other. Without `retry`, return
        every status. Two cases are still repeated: a server that is loading its model, and, once, a closed connection,
        which servers leave behind after an internal error.
        Raise ModelError without an answer: the tries, the quota or the budget are used up, or the server redirects.
        """
        content = json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
        request = _Request("POST", path, content, retry=retry, with_key=with_key)
        return self._answer(request, ok if store else (), threading.Event())

    def get(self, path: str, *, retry: bool = True, with_key: bool = True) -> Response:
        """Return the answer to a GET request, as `post` does, but never from the store."""
        return self._answer(_Request("GET", path, None, retry=retry, with_key=with_key), (), threading.Event())

    def map(
        self,
        path: str,
        bodies: Sequence[Mapping[str, Any]],
        *,
        store: bool = True,
        ok: Sequence[int] = (200,),
        retry: bool = True,
    ) -> list[Response]:
        """Return the answers to bodies, in order; at most `concurrency` requests run in parallel.

        Raise the first error, as `post` does. Requests that had started are finished and stored; the rest is not sent.
        """
        if min(len(bodies), self.concurrency) < 2:
            return [self.post(path, body, store=store, ok=ok, retry=retry) for body in bodies]
        contents = [json.dumps(body, allow_nan=False, separators=(",", ":")).encode() for body in bodies]
        requests = [_Request("POST", path, content, retry=retry, with_key=True) for content in contents]
        cancelled = threading.Event()
        return _in_threads(
            lambda request: self._answer(request, ok if store else (), cancelled), requests, self.concurrency, cancelled
        )

    def is_stored(self, path: str, body: Mapping[str, Any]) -> bool:
        """Return whether the answer to a body is stored, so that `post` would not send a request."""
        content = json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
        if self.store is None:
            return False
        return self.store.get(self.store.key(self.url(path), self.address.model, content)) is not None

    def reason(self, response: Response) -> str:
        """Return a server's message about a failure in one short, printable line: ``HTTP 400: too long``."""
        return self._reason(response.status, response.body)

    def complaint(self, response: Response) -> tuple[str, str]:
        """Return a server's own words about a failure, short and printable, and its full message, to search."""
        body = response.body
        error = _error_of(body) or body
        # The name of the field comes first, because the message may mention other fields.
        field = object_or_empty(error).get("param")
        return self._words(body) or f"HTTP {response.status}", f"{field or ''} {json.dumps(error)[:_LONGEST_ERROR]}"

    def _answer(self, request: "_Request", stored_statuses: Sequence[int], cancelled: threading.Event) -> Response:
        """Return the stored answer; otherwise ask, and store the answer if its status is one of `stored_statuses`."""
        store = self.store if stored_statuses and request.content is not None else None
        key = store.key(self.url(request.path), self.address.model, request.content or b"") if store else b""
        if store and (stored := store.get(key)) is not None:
            return Response(stored[0], stored[1], stored[2], stored=True)
        response = self._ask(request, cancelled)
        if store and response.status in stored_statuses:
            store.add(key, [response.status, response.body, response.request_id])
        if response.status == 200 and request.content is not None:
            self._count(request.path, response.body)
        return response

    def _ask(self, request: "_Request", cancelled: threading.Event) -> Response:
        """Return the first answer, after waiting for a server that is busy, broken or loading."""
        failures, loading, budget = 0, 0.0, self.options.budget
        while True:
            if budget is not None and self.spent >= budget:
                raise ModelError(
                    f"the budget of {budget:g} is spent: {self.spent:.6g} after {self.requests:,} "
                    f"requests{self._describe_store()}; raise --budget to continue"
                )
            reply, reason = self._send(request)
            if reply is not None:
                response = Response(_status_of(reply), reply.body, reply.request_id)
                unread = reply.body is None and reply.status < 300
                reason = "the answer is not JSON" if unread else self._reason(response.status, reply.body)
                # A server that is still loading its model says so; a probe believes it only of an explicit message.
                busy = reply.status == 503 and reply.retry_after is None and loading < LOADING
                if busy and (request.retry or "load" in reason.casefold()):
                    loading += self._wait_for_loading(loading, cancelled, reason)
                    continue
                if not request.retry or not (unread or response.status in RETRY_STATUSES):
                    return response
            failures += 1
            if failures == (TRIES if request.retry else 2):
                raise ModelError(
                    f"{self.address.origin} did not answer {request.path} in {failures} tries: {reason}"
                    f"{self._describe_store()}"
                )
            if request.retry:
                self._wait(failures, reply.retry_after if reply else None, reason, cancelled)

    def _send(self, request: "_Request") -> tuple[Reply | None, str]:
        """Return the reply to a request. If the key is refused, try once with the key in another header."""
        reply, reason = self._send_once(request)
        if reply is None or reply.status != 401 or not request.with_key or len(self._headers) < 2:
            return reply, reason
        first, other = self._headers
        self._headers = [first]
        self._transport.give_key_in(other)
        second, _ = self._send_once(request)
        if second is None or second.status == 401:
            self._transport.give_key_in(first)
            return reply, reason
        return second, ""

    def _send_once(self, request: "_Request") -> tuple[Reply | None, str]:
        """Return the reply to one request, or the reason why none came. Raise ModelError if a repeat cannot help."""
        with self._lock:
            self.requests += 1
        try:
            reply = self._transport.send(
                request.method, self.url(request.path), request.content, with_key=request.with_key
            )
        except UnansweredError as error:
            if not error.reached and not self._reached:
                raise ModelError(
                    f"nothing answers at {self.address.origin} ({printable(str(error))}): start the server, "
                    "or check the host and port"
                ) from None
            if not error.retryable:
                raise ModelError(f"{self.address.origin}{request.path}: {error}") from None
            return None, printable(str(error))
        self._reached = True
        if 300 <= reply.status < 400:
            raise ModelError(
                f"{self.address.origin} redirects {request.path} to {printable(reply.location) or 'nowhere'}: "
                "redirects are not followed, because prompts and key would be sent along; use that address if "
                "you trust it"
            )
        if codes := QUOTA & {*_codes(_error_of(reply.body))}:
            raise ModelError(f"the quota at {self.address.origin} is used up ({min(codes)}){self._describe_store()}")
        return reply, ""

    def _wait_for_loading(self, waited: float, cancelled: threading.Event, reason: str) -> float:
        """Wait until a server may have loaded its model, and return the seconds."""
        if not self._loading:
            self._loading = True
            self._notify(
                f"{self.address.origin} is not ready ({reason}): waiting up to {LOADING / 60:.0f} minutes until its"
                " model is loaded"
            )
        seconds = min(max(FIRST_WAIT, waited), _POLL)
        self._pause(seconds, cancelled)
        return seconds

    def _wait(self, failures: int, retry_after: float | None, reason: str, cancelled: threading.Event) -> None:
        """Wait before the next try: as long as the server asks, or twice as long as last time, with some jitter."""
        seconds = FIRST_WAIT * 2 ** (failures - 1) * random.uniform(0.5, 1.0)  # noqa: S311 - nothing secret
        seconds = min(max(retry_after or 0.0, seconds), LONGEST_WAIT)
        if seconds >= _REPORTED_WAIT:
            self._notify(f"{self.address.origin}: {reason}; trying again in {math.ceil(seconds)} s")
        self._pause(seconds, cancelled)

    def _pause(self, seconds: float, cancelled: threading.Event) -> None:
        """Wait. Raise ModelError, which is never shown, if another request of the same `map` has failed."""
        if self._sleep:
            self._sleep(seconds)
        else:
            cancelled.wait(seconds)
        if cancelled.is_set():
            raise ModelError("another request has failed")

    def _reason(self, status: int, body: Any) -> str:  # noqa: ANN401 - JSON
        words = self._words(body)
        return f"HTTP {status}{f': {words}' if words else ''}"

    def _words(self, body: Any) -> str:  # noqa: ANN401 - JSON
        error = _error_of(body)
        if error is None:
            error = object_or_empty(body).get("detail") or object_or_empty(body).get("message")
        message = error.get("message") if isinstance(error, dict) else error
        text = message if isinstance(message, str) else json.dumps(error) if error else ""
        return printable(hide_key(" ".join(text.split()), self._key)[:200].rstrip("."))


class _Request(NamedTuple):
    """What is sent; `content` is the body as bytes, None of a GET."""

    method: str
    path: str
    content: bytes | None
    retry: bool
    with_key: bool


def _error_of(body: Any) -> Any | None:  # noqa: ANN401 - JSON
    """Return the error that a body has, at its top or in its first choice; None without one."""
    fields = object_or_empty(body)
    if fields.get("object") == "error":  # as older servers put it, at the top
        return body
    first = object_or_empty(next(iter(list_or_empty(fields.get("choices"))), None))
    return fields.get("error") or first.get("error") or None


def _codes(error: Any) -> list[str]:  # noqa: ANN401 - JSON
    """Return what an error is called, by its code and by its type."""
    names = map(object_or_empty(error).get, ("code", "type"))
    return [str(name) for name in names if isinstance(name, str | int)]


def _status_of(reply: Reply) -> int:
    """Return the status of a reply: of its error, where one stands in an answer of status 200."""
    error = _error_of(reply.body) if reply.status == 200 else None
    if error is None:
        return reply.status
    codes = _codes(error)
    numbers = [int(code) for code in codes if len(code) == 3 and code.isascii() and code.isdigit() and code >= "400"]
    return next(iter(numbers), None) or next((_STATUSES[code] for code in codes if code in _STATUSES), 400)


def _in_threads(
    answer: Callable[[_Request], Response], requests: Sequence[_Request], threads: int, cancelled: threading.Event
) -> list[Response]:
    """Return the answers in order, so many at a time; raise the first error when all that was begun has ended.

    The threads are daemons, and an interrupt does not wait for them: they would keep the program for as long as a
    server takes to answer.
    """
    answers: dict[int, Response] = {}
    errors: list[BaseException] = []
    left = deque(enumerate(requests))

    def work() -> None:
        while not cancelled.is_set():
            try:
                number, request = left.popleft()
            except IndexError:
                return
            try:
                answers[number] = answer(request)
            except BaseException as error:  # noqa: BLE001 - it is raised where the answers are waited for
                errors.append(error)
                cancelled.set()

    workers = [threading.Thread(target=work, daemon=True) for _ in range(min(threads, len(requests)))]
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        cancelled.set()
    if errors:
        raise errors[0]
    return [answers[number] for number in range(len(requests))]
