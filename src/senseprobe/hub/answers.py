"""What the Hub says when it refuses or is not there, as one line that says what to do; the token is never in it."""

import logging
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from json import JSONDecodeError
from pathlib import Path
from typing import TYPE_CHECKING

from senseprobe.errors import DamagedRelease, ReleaseError, SenseprobeError
from senseprobe.hub.asking import secret
from senseprobe.records import Finding
from senseprobe.wording import printable

if TYPE_CHECKING:
    from huggingface_hub.errors import HfHubHTTPError


AGAIN = "nothing is lost: run the same command again"

_ADVICE = {
    400: "the Hub cannot use what was sent",
    401: "the Hub does not accept the token, or has none: set HF_TOKEN, or `hf auth login` with a token that may write",
    402: "the Hub asks for a paid plan for this",
    403: "the token may not do this there: take one with write access to it, or ask its owner",
    404: "there is no such dataset repository or version, or the token may not see it: check the name",
    409: "somebody else changes it at this moment: run the same command again",
    412: "somebody else changed it meanwhile: look at what is there now, and run the same command again",
    413: "the Hub takes no files of this size",
    429: f"the Hub asks for fewer requests: wait some minutes; {AGAIN}",
}
_BROKEN = f"the Hub has a fault of its own: wait a little; {AGAIN}"
_AWAY = f"the Hub cannot be reached, or the connection was cut: see whether you are online; {AGAIN}"
_SLOW = f"the Hub does not answer in time, or sends next to nothing (--timeout SECONDS waits longer); {AGAIN}"
_OFFLINE = "HF_HUB_OFFLINE is set, so nothing is asked of the Hub: unset it"
_GATED = "access is gated: ask for it on the repository's page, and set HF_TOKEN or `hf auth login`"
_NO_HUB = "what answers there is no Hub: see what HF_ENDPOINT names, and whether a proxy or a login page is in between"


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """Turn what the Hub's client raises into a ReleaseError: what could not be done, why, what to do."""
    from huggingface_hub import errors

    # The client has no classes of its own for answers that it cannot read, and for most failures of its uploader.
    strange = (ValueError, LookupError, RuntimeError, AttributeError, TypeError)
    xet = getattr(errors, "XetDownloadError", errors.FileMetadataError)  # older clients have none
    known: tuple[type[Exception], ...] = (*_away(), *_unread(), xet, *strange)
    try:
        with _quiet():
            yield
    except SenseprobeError:
        raise
    except known as error:
        raise ReleaseError(f"cannot {doing}: {_reason(error)}") from None


@contextmanager
def told_of(name: str, folder: Path) -> Iterator[None]:
    """Have what is raised about a copy in `folder` name what it is a copy of; the folder may be gone soon."""
    try:
        yield
    except DamagedRelease as error:
        raise damaged(name, error.findings) from None
    except ReleaseError as error:
        raise ReleaseError(str(error).replace(str(folder), name)) from None


def damaged(name: str, findings: Iterable[Finding]) -> DamagedRelease:
    """What is wrong with a copy of a release, which `name` names."""
    return DamagedRelease([replace(finding, path=f"{name}/{finding.path}") for finding in findings])


def check_commit(commit: object) -> str:
    """The commit as it is; LookupError, as for any other page than was asked for, where a Hub would not name one so."""
    if not isinstance(commit, str) or not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise LookupError(commit)
    return commit


def _away() -> tuple[type[Exception], ...]:
    """What the client raises where the Hub refuses, or cannot be reached."""
    from huggingface_hub import errors
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]  # the one in use, whichever it is

    return errors.HfHubHTTPError, httpx.HTTPError, ConnectionError, errors.LocalEntryNotFoundError, TimeoutError


def _slow() -> tuple[type[Exception], ...]:
    """What is raised where an answer, or the rest of it, takes too long."""
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]

    return httpx.TimeoutException, TimeoutError


def _unread() -> tuple[type[Exception], ...]:
    """What the client stumbles over where it is given another page than it asked for, or HF_ENDPOINT is no address."""
    from huggingface_hub.errors import FileMetadataError
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]

    page = (FileMetadataError, JSONDecodeError, UnicodeDecodeError, LookupError, AttributeError, TypeError)
    return (*page, httpx.InvalidURL)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what the client prints: a bar for each file would run through ours, and each new attempt is a warning.

    So is a disk that has too little room, which is told when it is full.
    """
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


def _reason(error: BaseException) -> str:
    """Why the Hub's client failed: what it raised may have been caused by what says more."""
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, OfflineModeIsEnabled

    causes = [error]
    while (cause := causes[-1].__cause__) is not None and cause not in causes:
        causes.append(cause)
    if any(isinstance(cause, OfflineModeIsEnabled) for cause in causes):
        return _OFFLINE
    if any(isinstance(cause, GatedRepoError) for cause in causes):
        return _GATED
    for cause in causes:
        if isinstance(cause, HfHubHTTPError):
            return _refused(cause)
    if any(isinstance(cause, _unread()) for cause in causes):
        return _NO_HUB
    if any(isinstance(cause, _slow()) for cause in causes):
        return _SLOW
    if any(isinstance(cause, _away()) for cause in causes):
        return _AWAY
    return f"{_clean(str(error))}; {AGAIN}"


def _refused(error: "HfHubHTTPError") -> str:
    status = error.response.status_code
    said = _clean(error.server_message or "")
    advice = _ADVICE.get(status, _BROKEN if status >= 500 else "the Hub refuses it")
    return f"{advice} (HTTP {status}{f': {said}' if said else ''})"


def _clean(text: str) -> str:
    """What a server said, as one short line that is safe to print and holds no token."""
    text = re.sub(r"\bhf_[A-Za-z0-9]{20,}", "***", text.replace(secret() or "\0", "***"))
    return printable(" ".join(text.split()))[:300].rstrip(".")
