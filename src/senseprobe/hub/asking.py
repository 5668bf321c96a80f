"""Who asks the Hub: its client, with the user's token if there is one, and where that token may write."""

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from senseprobe.errors import ReleaseError

if TYPE_CHECKING:
    from huggingface_hub import HfApi


_VARIABLES = "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY or SSL_CERT_FILE"
_READERS = {"read"}
"""What a role is called, of a token or in an organisation, that may not write."""


def token() -> str | None:
    """The token of HF_TOKEN or `hf auth login`; None without one, ReleaseError where it cannot be one."""
    from huggingface_hub import constants, errors, get_token

    oidc = getattr(errors, "OIDCError", OSError)  # older clients have none
    try:
        found = get_token()
    except (OSError, UnicodeDecodeError):
        message = f"the Hub's token in {constants.HF_TOKEN_PATH} cannot be read: `hf auth login` again, or set HF_TOKEN"
        raise ReleaseError(message) from None
    except oidc:
        raise ReleaseError("no token for HF_OIDC_RESOURCE: unset it, or run where its tokens are given out") from None
    if found and not re.fullmatch(r"[!-~]+", found):
        raise ReleaseError("the Hub's token holds blanks or letters that no token has: set HF_TOKEN again")
    return found or None


def secret() -> str:
    """The token, for those who must not show it; empty where there is none that could be sent."""
    with suppress(ReleaseError):
        return token() or ""
    return ""


def client() -> "HfApi":
    """The Hub's client with the user's token, if there is one, for the endpoint that HF_ENDPOINT names.

    Raises ReleaseError where the token cannot be one, or the environment names a proxy that cannot be used.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.utils import get_session, httpx  # type: ignore[attr-defined]  # the one in use

    api = HfApi(token=token(), library_name="senseprobe")
    try:
        get_session()  # it reads the environment, which may hold passwords: its own words are not shown
    except (ImportError, OSError, ValueError, httpx.InvalidURL):
        message = f"what {_VARIABLES} says cannot be used: mend or unset it (SOCKS needs `pip install socksio`)"
        raise ReleaseError(message) from None
    return api


def why_refused(api: "HfApi", repo: str) -> str | None:
    """Why the Hub will not let the token write to a repository; None where it will, or where it does not say."""
    from huggingface_hub.errors import HfHubHTTPError

    try:
        who: dict[str, Any] = api.whoami()
    except HfHubHTTPError as error:
        if error.response.status_code == 401:
            raise
        return None  # asked too often, or a mirror that knows no users
    user, space = str(who["name"]), repo.partition("/")[0]
    if ((who.get("auth") or {}).get("accessToken") or {}).get("role") in _READERS:
        return f"the token of {user} may only read: take one that may write"
    roles = {str(org["name"]): org.get("roleInOrg") for org in who.get("orgs") or ()}
    own = [user, *(name for name, role in roles.items() if role not in _READERS)]
    if space.casefold() in {name.casefold() for name in own}:
        return None
    return f"the token is that of {user}, which may write to {', '.join(f'{name}/…' for name in own)}"
