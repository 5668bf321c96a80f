"""The Hub's client with the user's token, the Hub's errors as one line that says what to do, and addresses of releases.

An address is ``USER/NAME[@VERSION][:CONFIG]``, with ``hf://`` before it where a path may stand. No message has the
token.
"""

import logging
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from json import JSONDecodeError
from pathlib import Path
from threading import Lock, local
from typing import TYPE_CHECKING, Any

from senseprobe.errors import DamagedRelease, ReleaseError, SenseprobeError
from senseprobe.exchange import BodyError, limit_exchanges
from senseprobe.messages import printable
from senseprobe.records import Finding
from senseprobe.release.manifest import VERSION

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_VARIABLES = "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY or SSL_CERT_FILE"
_READERS = {"read"}
"""Roles, of a token or in an organisation, that may not write."""

SCHEME = "hf://"

FILE = "senseprobe.file"
"""The extension of a request whose answer is a file, of any length."""

_waiting = local()
_limits: list[float] = []
_installing = Lock()

# What huggingface_hub accepts as a name, without the leading and doubled signs, and the ending, that it refuses too.
_SEGMENT = re.compile(r"(?=[\w.-]{1,96}$)\w+(?:[.-]\w+)*", re.ASCII)

_RETRY_HINT = "nothing is lost: run the same command again"

_ADVICE = {
    400: "the Hub rejects the data",
    401: "the Hub rejects the token, or did not get one: set HF_TOKEN, or run `hf auth login` with a write token",
    402: "the Hub asks for a paid plan for this",
    403: "the token is not allowed to do this: use one with write access to the repository, or ask its owner",
    404: "the dataset repository or version does not exist, or the token cannot see it: check the name",
    409: "somebody else is changing it: run the same command again",
    412: "somebody else has changed it: look at the repository, then run the same command again",
    413: "the Hub rejects files of this size",
    429: f"the Hub asks for fewer requests: wait a few minutes; {_RETRY_HINT}",
}
_BROKEN = f"the Hub failed: wait a little; {_RETRY_HINT}"
_AWAY = f"the Hub cannot be reached, or the connection was cut: check that you are online; {_RETRY_HINT}"
_SLOW = f"the Hub does not answer in time, or is very slow (--timeout SECONDS waits longer); {_RETRY_HINT}"
_OFFLINE = "HF_HUB_OFFLINE is set, so senseprobe does not contact the Hub: unset it"
_GATED = "access is gated: ask for it on the repository's page, then set HF_TOKEN or run `hf auth login`"
_NO_HUB = "the server is not a Hub: check HF_ENDPOINT, and whether a proxy or a login page answers instead"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseAddress:
    """A version of a dataset repository on the Hub, and perhaps a config of it; an empty version is the newest."""

    repo: str
    version: str
    config: str | None = None

    @property
    def tag(self) -> str:
        """The tag of the version on the Hub."""
        return f"v{self.version}"

    def __str__(self) -> str:
        return f"{self.repo}@{self.version}" if self.version else self.repo


def check_repo(repo: str) -> str:
    """Return the name unchanged; raise ReleaseError where it is not ``USER/NAME``.

    >>> check_repo("somebody/sssb")
    'somebody/sssb'
    """
    user, slash, name = repo.partition("/")
    if not slash or not _SEGMENT.fullmatch(user) or not _SEGMENT.fullmatch(name) or name.endswith(".git"):
        raise ReleaseError(f"{repo!r} is not a repository of the Hub: expected USER/NAME, such as jane/sssb")
    return repo


def parse_address(spec: str) -> ReleaseAddress:
    """Parse ``[hf://]USER/NAME[@VERSION][:CONFIG]``; raise ReleaseError where it is not of this form.

    >>> parse_address("hf://somebody/sssb@1.0.1:race")
    ReleaseAddress(repo='somebody/sssb', version='1.0.1', config='race')
    """
    address, _, config = spec.removeprefix(SCHEME).partition(":")
    repo, at, version = address.partition("@")
    if at and not VERSION.fullmatch(version):
        raise ReleaseError(f"{spec!r} is not a release on the Hub: expected USER/NAME@VERSION, such as jane/sssb@1.0.0")
    return ReleaseAddress(repo=check_repo(repo), version=version, config=config or None)


def read_token() -> str | None:
    """Return the token of HF_TOKEN or `hf auth login`, None without one; raise ReleaseError where it is not a token."""
    from huggingface_hub import constants, errors, get_token

    try:
        value = get_token()
    except (OSError, UnicodeDecodeError):
        message = f"the Hub's token in {constants.HF_TOKEN_PATH} cannot be read: run `hf auth login`, or set HF_TOKEN"
        raise ReleaseError(message) from None
    except getattr(errors, "OIDCError", ()):  # older clients have none
        raise ReleaseError("HF_OIDC_RESOURCE does not give a token here: unset it, or run on its platform") from None
    if value and not re.fullmatch(r"[!-~]+", value):
        raise ReleaseError("the Hub's token contains spaces or letters that a token cannot have: set HF_TOKEN again")
    return value or None


def open_client() -> "HfApi":
    """Return the Hub's client with the user's token, if there is one, for the endpoint that HF_ENDPOINT names."""
    from huggingface_hub import HfApi
    from huggingface_hub.utils import get_session, httpx  # type: ignore[attr-defined]  # the one in use

    api = HfApi(token=read_token(), library_name="senseprobe")
    _limit_clients()
    try:
        get_session()  # it reads the environment, which may hold passwords: its own message is not printed
    except (ImportError, OSError, ValueError, httpx.InvalidURL):
        message = f"{_VARIABLES} is not valid: correct or unset it (SOCKS needs `pip install socksio`)"
        raise ReleaseError(message) from None
    return api


@contextmanager
def limit_waiting(seconds: float) -> Iterator[None]:
    """Let the Hub's client give up an exchange of this thread after so many seconds: else it waits for ever.

    One clock is around connection, header lines and body of each answer of the API. Where the Hub wants to be left
    alone for longer, that is an error and no wait. The body of a request with the extension `FILE` is not read: who
    asked reads it, under a clock of its own. Threads that the client starts have the longest limit that there is.
    """
    before = getattr(_waiting, "seconds", None)
    _waiting.seconds = seconds
    _limits.append(seconds)
    try:
        yield
    finally:
        _limits.remove(seconds)
        _waiting.seconds = before


def _seconds() -> float | None:
    """Return the limit of an exchange of this thread; None without one."""
    limit: float | None = getattr(_waiting, "seconds", None)
    return max(_limits, default=None) if limit is None else limit


def _limit_clients() -> None:
    """Let each client that the Hub's library makes mind `limit_waiting`: after a failed connection it makes another."""
    from huggingface_hub import set_client_factory
    from huggingface_hub.utils import _http

    with _installing:
        former = _http._GLOBAL_CLIENT_FACTORY  # there is no other way to ask for it
        if not (isinstance(former, partial) and former.func is _make_client):
            set_client_factory(partial(_make_client, former))


def _make_client(former: Callable[[], Any]) -> Any:  # noqa: ANN401 - of httpx, whichever it is
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]  # the one in use

    client = former()
    limit_exchanges(client, httpx.ByteStream, seconds=_seconds, is_file=lambda request: FILE in request.extensions)
    client.event_hooks["response"].append(_shorten_wait)
    return client


def _shorten_wait(response: Any) -> None:  # noqa: ANN401 - of httpx, whichever it is
    """Take from an answer that it wants no request for longer than our limit, which the client would wait."""
    most = _seconds()
    for name, pattern in (("retry-after", r"\d+"), ("ratelimit", r"(?<=t=)\d+")):
        waits = re.findall(pattern, response.headers.get(name, ""), re.ASCII)
        if most is not None and any(len(wait) > 9 or int(wait) > most for wait in waits):
            del response.headers[name]


def why_refused(api: "HfApi", repo: str) -> str | None:
    """Return why the Hub will not let the token write to a repository; None where it will, or does not say."""
    from huggingface_hub.errors import HfHubHTTPError

    try:
        who: dict[str, Any] = api.whoami()
    except HfHubHTTPError as error:
        if error.response.status_code == 401:
            raise
        return None  # asked too often, or a mirror that knows no users
    user, space = str(who["name"]), repo.partition("/")[0]
    if ((who.get("auth") or {}).get("accessToken") or {}).get("role") in _READERS:
        return f"the token of {user} can only read: use a token with write access"
    spaces = [user, *(str(org["name"]) for org in who.get("orgs") or () if org.get("roleInOrg") not in _READERS)]
    if space.casefold() in {name.casefold() for name in spaces}:
        return None
    return f"the token belongs to {user}, who can write to {', '.join(f'{name}/…' for name in spaces)}"


@contextmanager
def explain_errors(action: str) -> Iterator[None]:
    """Turn what the Hub's client raises into a ReleaseError that says that `action` failed, why, and what to do."""
    from huggingface_hub import errors

    # The client has no classes of its own for answers that it cannot read, and for most failures of its uploader.
    vague = (ValueError, LookupError, RuntimeError, AttributeError, TypeError)
    xet = getattr(errors, "XetDownloadError", ValueError)  # older clients have none
    expected = (*(kind for kinds, _ in _explanations() for kind in kinds), xet, *vague)
    try:
        with _silence_client():
            yield
    except SenseprobeError:
        raise
    except expected as error:
        raise ReleaseError(f"cannot {action}: {_reason(error)}") from None


@contextmanager
def relabel_errors(name: str, folder: Path) -> Iterator[None]:
    """Replace `folder`, a temporary copy, by `name` in the messages of errors."""
    try:
        yield
    except DamagedRelease as error:
        raise damaged_copy(name, error.findings) from None
    except ReleaseError as error:
        raise ReleaseError(str(error).replace(str(folder), name)) from None


def damaged_copy(name: str, findings: Iterable[Finding]) -> DamagedRelease:
    """Return the error with the findings of a copy of a release; their paths begin with `name`."""
    return DamagedRelease([replace(finding, path=f"{name}/{finding.path}") for finding in findings])


def check_commit(commit: object) -> str:
    """Return a commit id unchanged; raise LookupError, as for any unexpected page, where it is not 40 hex digits."""
    if not isinstance(commit, str) or not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise LookupError(commit)
    return commit


@contextmanager
def _silence_client() -> Iterator[None]:
    """Suppress what the client prints: a progress bar for each file, a warning for each new attempt or a small disk."""
    from huggingface_hub import utils

    log = logging.getLogger("huggingface_hub")
    level, bars = log.level, not utils.are_progress_bars_disabled()  # type: ignore[attr-defined]
    bars = bars and not os.environ.get("HF_HUB_DISABLE_PROGRESS_BARS")  # where it is set, the client minds
    log.setLevel(max(level, logging.ERROR))
    if bars:
        utils.disable_progress_bars()  # type: ignore[attr-defined]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            yield
    finally:
        log.setLevel(level)
        if bars:
            utils.enable_progress_bars()  # type: ignore[attr-defined]


def _explanations() -> list[tuple[tuple[type[Exception], ...], str]]:
    """Return the errors of the client with what they mean, the most telling first; empty where the answer tells it."""
    from huggingface_hub import errors
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]  # the one in use, whichever it is

    unreadable = (JSONDecodeError, UnicodeDecodeError, LookupError, AttributeError, TypeError)
    return [
        ((errors.OfflineModeIsEnabled,), _OFFLINE),
        ((BodyError,), _NO_HUB),
        ((errors.GatedRepoError,), _GATED),
        ((errors.HfHubHTTPError,), ""),
        ((errors.FileMetadataError, httpx.InvalidURL, *unreadable), _NO_HUB),
        ((httpx.TimeoutException, TimeoutError), _SLOW),
        ((httpx.HTTPError, ConnectionError, errors.LocalEntryNotFoundError), _AWAY),
    ]


def _reason(error: BaseException) -> str:
    """Return why the Hub's client failed: the cause of its error may say more than the error."""
    causes = [error]
    while (cause := causes[-1].__cause__) is not None and cause not in causes:
        causes.append(cause)
    for kinds, explanation in _explanations():
        for cause in causes:
            if isinstance(cause, kinds):
                return explanation or _refusal(cause)
    return f"{_clean(str(error))}; {_RETRY_HINT}"


def _refusal(error: Any) -> str:  # noqa: ANN401 - HfHubHTTPError, which is imported late
    status, message = error.response.status_code, _clean(error.server_message or "")
    advice = _ADVICE.get(status, _BROKEN if status >= 500 else "the Hub refuses it")
    return f"{advice} (HTTP {status}{f': {message}' if message else ''})"


def _clean(text: str) -> str:
    """Return a server's text as one short line that is safe to print and does not have the token."""
    with suppress(ReleaseError):
        text = text.replace(read_token() or "\0", "***")
    text = re.sub(r"\bhf_[A-Za-z0-9]{20,}", "***", text)
    return printable(" ".join(text.split()))[:300].rstrip(".")
