"""The command of this room, and when it is used."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from senseprobe.cli.command import AddedCommand, Command, as_dict, show_sections
from senseprobe.cli.examples import Use
from senseprobe.errors import ModelError
from senseprobe.evaluate.served import api
from senseprobe.options import Argument

if TYPE_CHECKING:
    from senseprobe.evaluate.served.capabilities import ProbeReport


def probe(
    address: Annotated[
        str, Argument(metavar="URL[#MODEL]", help="Address of the server, for example http://127.0.0.1:8080/v1#MODEL.")
    ],
    say: Callable[[str], None],
    api_key_env: Annotated[str | None, api.API_KEY_ENV] = None,
    concurrency: Annotated[int | None, api.CONCURRENCY] = None,
) -> "ProbeReport":
    """Test which features and scorers a model server supports; no row of a release is sent."""
    return api.server(address, api_key_env=api_key_env, concurrency=concurrency).describe(say=say)


def exit_code_of_probe(report: "ProbeReport") -> int:
    """Return 0 where some scorer can use the server. Raises ModelError where none can."""
    if why := report.why_none():
        raise ModelError(f"{report.origin} does not fit any scorer: {why}")
    return 0


COMMANDS = (
    AddedCommand(
        id="check",
        command=Command(probe, show_sections, as_dict, exit_code_of_probe, name="check"),
        group="model",
        uses={
            "model check": Use(
                "Find the scorers that a chat server supports, before a long run.",
                ("model check http://127.0.0.1:8080/v1", "model check http://127.0.0.1:8080/v1 --concurrency 1"),
            )
        },
    ),
)
