"""The command probe: what a server of a model is seen to do."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from senseprobe import api
from senseprobe.api.models import API_KEY_ENV, CONCURRENCY
from senseprobe.errors import ModelError
from senseprobe.options import Argument

if TYPE_CHECKING:
    from senseprobe.evaluate.served.capabilities import ProbeReport


def probe(
    address: Annotated[str, Argument(metavar="URL[#MODEL]", help="Such as http://127.0.0.1:8080/v1#MODEL.")],
    say: Callable[[str], None],
    api_key_env: Annotated[str | None, API_KEY_ENV] = None,
    concurrency: Annotated[int | None, CONCURRENCY] = None,
) -> "ProbeReport":
    """Say what a server of a model is seen to do, and which scorers it can do; no row of a release is sent."""
    return api.server(address, api_key_env=api_key_env, concurrency=concurrency).describe(say=say)


def exit_code_of_probe(report: "ProbeReport") -> int:
    """Return 0 where some scorer can use the server. Raises ModelError where none can."""
    if why := report.why_none():
        raise ModelError(f"{report.origin} can be used by no scorer: {why}")
    return 0
