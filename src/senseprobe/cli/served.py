"""Models behind servers: the command probe, the options of score that are theirs, and what a dry run prints."""

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from senseprobe.cli.console import AsJson, print_json, print_note, print_sections
from senseprobe.errors import ModelError

if TYPE_CHECKING:
    from senseprobe.api import ServingOptions

ApiKeyEnv = Annotated[
    str | None,
    typer.Option(
        "--api-key-env",
        metavar="NAME",
        help="Of a served model: the environment variable with the API key. Default: SENSEPROBE_API_KEY.",
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Of a served model: requests at a time. Default: 1 on this machine, 4 elsewhere, at most its slots.",
    ),
]
AcceptNoise = Annotated[
    bool, typer.Option("--accept-noise", help="Send several requests at a time though that changes answers.")
]
Send = Annotated[
    bool, typer.Option("--send", help="Send rows that are not for distribution to a server on another machine.")
]
Price = Annotated[
    str | None,
    typer.Option(metavar="IN,OUT", help="Of a served model: the price of a million tokens read, and written."),
]
Budget = Annotated[
    float | None, typer.Option(metavar="MONEY", help="Stop when so much is spent, by --price; answers are kept.")
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Of a served model: count requests, tokens and money, and score nothing."),
]
ShowFailing = Annotated[
    bool, typer.Option("--show-failing", help="Show figures, marked, of a chat model that does not do the task.")
]


def serving_options(
    *,
    api_key_env: str | None = None,
    price: str | None = None,
    **options: Any,  # noqa: ANN401 - other fields of ServingOptions
) -> "ServingOptions":
    """Return the options of a served model as they were typed. typer.BadParameter where a price is none."""
    from senseprobe.api import ServingOptions

    if api_key_env is not None:
        options["key_variable"] = api_key_env
    return ServingOptions(price=None if price is None else _parse_price(price), **options)


def _parse_price(text: str) -> tuple[float, float]:
    try:
        read, written = map(float, text.split(","))
    except ValueError:
        read = written = -1.0
    if not (isfinite(read) and isfinite(written) and min(read, written) >= 0):
        raise typer.BadParameter(
            f"{text}: expected two amounts for a million tokens, as 0.15,0.60", param_hint="--price"
        )
    return read, written


def print_estimate(
    model: str,
    release: str,
    scorers: Sequence[str] | None,
    rows: tuple[int, int | None],
    serving: "ServingOptions",
    *,
    stored: bool,
    control: bool,
    as_json: bool,
) -> None:
    """Print what a run would ask of a served model; `rows` are seed and limit."""
    from senseprobe import api

    estimate = api.estimate(
        model,
        release,
        scorers or (),
        seed=rows[0],
        limit=rows[1],
        stored=stored,
        control=control,
        serving=serving,
        say=print_note,
    )
    if as_json:
        print_json(estimate.as_dict())
    else:
        print_sections([estimate.section()])


def probe(
    address: Annotated[str, typer.Argument(metavar="URL[#MODEL]", help="Such as http://127.0.0.1:8080/v1#MODEL.")],
    api_key_env: ApiKeyEnv = None,
    concurrency: Concurrency = None,
    as_json: AsJson = False,
) -> None:
    """Say what a server of a model is seen to do, and which scorers it can do; no row of a release is sent."""
    from senseprobe import api

    serving = serving_options(api_key_env=api_key_env, concurrency=concurrency)
    report = api.probe(address, serving=serving, say=print_note)
    if as_json:
        print_json(report.as_dict())
    else:
        print_sections([report.section()])
    if why := report.why_none():
        raise ModelError(f"{report.origin} can be used by no scorer: {why}")
