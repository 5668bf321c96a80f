"""One request over HTTP: a time, a size and a depth that the other side cannot exceed, and a key that is not shown."""

import logging
import re
import time
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, NamedTuple

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.served.address import BEARER, KEY_HEADERS, Address, hide_key
from senseprobe.evaluate.served.event_stream import join_events
from senseprobe.evaluate.served.json_values import DEEPEST, read_json
from senseprobe.exchange import LARGEST, BodyError, LateError, limit_exchanges
from senseprobe.tables import DepthError

CONNECT = 5.0
"""Seconds that a connection may take."""

READ = 120.0
"""Seconds that an answer may take from the request to its last byte: no more is in flight than a server has slots."""

_LOGGERS = ("httpx", *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))


class UnansweredError(Exception):
    """Raised where nothing came back that can be read; the text says why, without a key.

    `retryable`: whether it helps to ask again. `reached`: whether there was a server.
    """

    def __init__(self, reason: str, *, retryable: bool = True, reached: bool = True) -> None:
        super().__init__(reason)
        self.retryable, self.reached = retryable, reached


class Reply(NamedTuple):
    """What came back: `body` is None where it is no JSON, `retry_after` in seconds, None where nothing is said."""

    status: int
    body: Any
    retry_after: float | None
    request_id: str
    location: str


class Transport:
    """Connections to the server at an address; threads may share them."""

    def __init__(self, address: Address, key: str | None) -> None:
        try:
            import httpx
        except ImportError:
            raise SenseprobeError("httpx not installed: pip install 'senseprobe[served]'") from None
        self._httpx, self._key = httpx, key
        headers = {"Accept": "application/json", "User-Agent": "senseprobe"}
        try:
            self._http = httpx.Client(
                headers=headers | ({"Authorization": f"Bearer {key}"} if key else {}),
                timeout=httpx.Timeout(READ, connect=CONNECT),
                follow_redirects=False,
                trust_env=not address.is_loopback,  # a proxy has no business between this machine and itself
            )
        except (ImportError, OSError, ValueError, httpx.InvalidURL):
            # What the environment says may hold passwords: it is not repeated.
            raise ModelError(
                "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY or SSL_CERT_FILE has an unusable value: correct or unset it"
            ) from None
        limit_exchanges(self._http, httpx.ByteStream, most=LARGEST)
        self._filter = _KeyFilter(key)
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self._filter)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(self._filter)

    def give_key_in(self, header: str) -> None:
        """Give the key, where there is one, in another of `KEY_HEADERS` from now on."""
        for name in KEY_HEADERS:
            self._http.headers.pop(name, None)
        if self._key:
            self._http.headers[header] = f"Bearer {self._key}" if header == BEARER else self._key

    def send(self, method: str, url: str, content: bytes | None, *, with_key: bool = True) -> Reply:
        """Return what comes back; raise UnansweredError where nothing does that can be read."""
        httpx = self._httpx
        try:
            kind = {"Content-Type": "application/json"} if content is not None else {}
            request = self._http.build_request(method, url, content=content, headers=kind)
            if not with_key:
                for name in KEY_HEADERS:
                    request.headers.pop(name, None)
            return self._read(self._http.send(request))
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise UnansweredError(self._clean(str(error) or "no connection"), reached=False) from None
        except BodyError as error:
            raise UnansweredError(f"the answer {error}", retryable=error.retryable) from None
        except (httpx.TimeoutException, LateError):
            raise UnansweredError(f"no answer within {READ:.0f} s") from None
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError, ValueError, LookupError) as error:
            raise UnansweredError(self._clean(str(error) or type(error).__name__)) from None

    def _clean(self, text: str) -> str:
        return hide_key(" ".join(text.split()), self._key)[:200]

    def _read(self, response: Any) -> Reply:  # noqa: ANN401 - of httpx, which is imported late
        data, headers = response.content, response.headers
        try:
            body = read_json(data, self._key)
        except DepthError:
            raise UnansweredError(f"the answer is nested more than {DEEPEST} levels deep", retryable=False) from None
        except ValueError:
            body = join_events(data, partial(read_json, key=self._key))
        request_id = headers.get("x-request-id") or headers.get("request-id") or ""
        return Reply(
            response.status_code,
            body,
            read_retry_after(headers.get("retry-after", ""), time.time()),
            hide_key(request_id, self._key) if re.fullmatch(r"[\w.:-]{1,100}", request_id, re.ASCII) else "",
            self._clean(headers.get("location", "")),
        )


def read_retry_after(text: str, now: float) -> float | None:
    """Return the seconds, 0 or more, that a Retry-After names, as a number or as a date; None where it is neither.

    >>> read_retry_after("1.5", 0), read_retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 10), read_retry_after("x", 0)
    (1.5, 50.0, None)
    """
    if re.fullmatch(r"\d{1,12}(\.\d{1,12})?", text.strip(), re.ASCII):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
        return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


class _KeyFilter(logging.Filter):
    """Replace the key in what httpx logs: of an answer's headers, say, in which a server repeats it."""

    def __init__(self, key: str | None) -> None:
        super().__init__()
        self._key = key

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True: every record passes, without the key."""
        record.msg, record.args = hide_key(record.getMessage(), self._key), ()
        return True
