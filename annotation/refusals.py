"""What Label Studio says when it refuses or is not there, as one line that says what to do; no token is ever in it."""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

from senseprobe.errors import AnnotationError
from senseprobe.wording import printable

WHERE = "in Label Studio under Account & Settings"
"""Where tokens are given out."""
AGAIN = "nothing is lost: run the same command again"

_LONGEST = 300
_ADVICE = {
    400: "Label Studio cannot use what was sent",
    403: "the user of this token may not do this there: take the token of one who may",
    405: "the address is redirected, or is not that of Label Studio itself: see LABEL_STUDIO_URL (http or https?)",
    413: "a server in front of Label Studio takes no requests of this size: have its administrator allow 20 MB",
    429: f"Label Studio asks for fewer requests: wait some minutes; {AGAIN}",
}
_BROKEN = f"Label Studio has a fault of its own: its log says more; {AGAIN}"
_OTHER = "what answers at {} is no Label Studio: LABEL_STUDIO_URL is what stands before /projects in the browser"

# Whatever looks like a token or a cookie, whosever it is: answers of servers and proxies repeat what was sent.
_SECRETS = (
    re.compile(r"eyJ[\w-]{4,}(?:\.[\w-]*){0,2}"),
    re.compile(r"\b[0-9a-fA-F]{40}\b"),
    re.compile(r"(?i)\b(?:bearer|token)\s+[\w.~+/-]{16,}=*"),
    re.compile(r"(?i)\b(?:set-cookie|cookie|sessionid|csrftoken|authorization|api[_-]?key|password)\b['\"]?\s*[:=].*"),
)


def address(url: str) -> str:
    """The address as it is, with ``/`` at its end; AnnotationError where it is none of a server."""
    try:
        parts = urlsplit(url.strip())
        wrong = parts.scheme not in ("http", "https") or not parts.hostname or (parts.port or 0) < 0
    except ValueError:
        wrong = True
    if wrong or not url.strip().isprintable() or " " in url.strip():
        raise AnnotationError("LABEL_STUDIO_URL is no address of a server: expected something as http://localhost:8080")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise AnnotationError("LABEL_STUDIO_URL holds a password, ? or #: write only http(s)://HOST[:PORT][/PATH]")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/"


def checked_key(key: str) -> str:
    """The token without blanks around it; AnnotationError where no token can be so."""
    key = key.strip()
    if not key:
        raise AnnotationError(f"no token for Label Studio: set LABEL_STUDIO_API_KEY ({WHERE})")
    if not re.fullmatch(r"[!-~]+", key):
        raise AnnotationError("LABEL_STUDIO_API_KEY holds blanks or letters that no token has: set it again")
    return key


def kind_of(key: str) -> str:
    """What a token looks like: ``personal``, ``shortened``, ``expired``, ``access``, ``legacy`` or ``other``.

    >>> kind_of("0123456789abcdef0123456789abcdef01234567"), kind_of("eyJhbGciOiJIUzI1NiJ9.eyJ1c2VyIjoxfQ")
    ('legacy', 'shortened')
    """
    if not key.startswith("eyJ"):
        return "legacy" if re.fullmatch(r"[0-9a-fA-F]{40}", key) else "other"
    parts = key.split(".")
    claims = _claims(parts[1]) if len(parts) == 3 and len(parts[2]) >= 40 else None
    if claims is None:
        return "shortened"
    if claims.get("token_type") == "access":
        return "access"
    until = claims.get("exp")
    return "expired" if isinstance(until, int | float) and until < datetime.now(UTC).timestamp() else "personal"


def _claims(part: str) -> Mapping[str, object] | None:
    """What a token says of itself, unproven; None where it is cut or no such token."""
    try:
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return None
    return claims if isinstance(claims, dict) else None


def clean(text: str, key: str = "") -> str:
    """What somebody said, as one short line that is safe to print and holds no token."""
    text = " ".join(text[:20_000].split())
    for secret in (key, quote(key, safe="")) if key else ():
        text = text.replace(secret, "***")
    for pattern in _SECRETS:
        text = pattern.sub("***", text)
    text = printable(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def refused(status: int | None, body: object, url: str, key: str) -> str:
    """Why a server that answered with `status` and `body` did not do what was asked, and what to do."""
    said = clean(_said(body), key)
    if status == 401:
        return _unknown(said, key)
    if status is not None and 300 <= status < 400:
        return f"{_ADVICE[405]} (HTTP {status})"
    if status is None or status < 400 or (status in (404, 405) and _is_page(body)):
        return _OTHER.format(clean(url, key))
    advice = _BROKEN if status >= 500 else _ADVICE.get(status, "Label Studio refuses it")
    return f"{advice} (HTTP {status}{f': {said}' if said else ''})"


def _unknown(said: str, key: str) -> str:
    """What a 401 means, by what the token looks like and what the server said."""
    kind, new = kind_of(key), f"make a new one {WHERE} > Personal Access Token"
    if "legacy token authentication has been disabled" in said:
        return (
            "LABEL_STUDIO_API_KEY is a legacy token, and this organisation takes none: make a personal access token "
            f"{WHERE} > Personal Access Token, or have legacy tokens turned on under Organization > API Tokens Settings"
        )
    why = {
        "legacy": f"looks like a legacy token, which no user of this server has: copy it again, {WHERE} > Legacy Token",
        "shortened": f"looks like a personal access token that was cut: it is shown whole only once, so {new}",
        "expired": f"is a personal access token that expired: {new}",
        "access": f"is an access token, which lives five minutes: set the personal access token itself; {new}",
        "personal": f"is a personal access token that was revoked, or is of another server: {new}",
        "other": "looks neither like a personal access token (eyJ…, three parts with dots) nor like a legacy token "
        f"(40 hexadecimal digits): copy it again, {WHERE}",
    }[kind]
    return f"Label Studio does not accept the token (HTTP 401): LABEL_STUDIO_API_KEY {why}"


def unreachable(kind: str, url: str, seconds: float) -> str:
    """What to do where there was no answer; `kind` is the name of httpx's class for that."""
    url = clean(url)
    if kind in ("ConnectError", "ConnectTimeout"):
        return f"nothing answers at {url}: is Label Studio running (`make label-studio`), and LABEL_STUDIO_URL right?"
    if kind.endswith("Timeout"):
        return f"{url} gave no answer within {seconds:g} s: it is busy or slow; {AGAIN}"
    if kind in ("ProxyError", "UnsupportedProtocol", "InvalidURL"):
        return "LABEL_STUDIO_URL, HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is no address that can be used: mend it"
    if kind in ("DecodingError", "TooManyRedirects"):
        return _OTHER.format(url)
    return f"the connection to {url} was cut; {AGAIN}"


def _is_page(body: object) -> bool:
    return isinstance(body, str)


def _said(body: object) -> str:
    """What an answer says, without its page: Label Studio's own errors are JSON with `detail` and by field."""
    if isinstance(body, str):
        return "" if "<" in body[:2000] else body
    if not isinstance(body, Mapping):
        return "" if body is None else json.dumps(body, default=str)[:20_000]
    fields = body.get("validation_errors") or {}
    told = [f"{name}: {_flat(value)}" for name, value in fields.items()] if isinstance(fields, Mapping) else []
    return "; ".join(told) or _flat(body.get("detail") or body)


def _flat(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(_flat(one) for one in value[:5])
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)[:20_000]
