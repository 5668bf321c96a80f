"""Models behind servers: the command probe, the options of score that are theirs, and what a dry run prints."""

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from senseprobe.cli.console import AsJson, print_json, print_note, print_summary
from senseprobe.errors import ModelError

if TYPE_CHECKING:
    from senseprobe.api import ServingOptions
    from senseprobe.evaluate.served.capabilities import ProbeReport

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
        print_summary(estimate.lines())


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
        print_json(_as_dict(report))
    else:
        print_summary(_probe_lines(report))
    if why := report.why_none():
        raise ModelError(f"{report.origin} can be used by no scorer: {why}")


def _as_dict(report: "ProbeReport") -> dict[str, object]:
    """Return the report of a probe as JSON has it."""
    facts, noise = report.facts, report.noise
    return {
        "origin": report.origin,
        "model": report.name,
        "answered": [*report.answered],
        "server": facts.kind,
        "build": facts.build,
        "quantisation": facts.quantisation,
        "template": facts.template_hash,
        "slots": facts.slots,
        "requests": report.requests,
        "complaints": [
            {"field": own.field, "said": own.words, "changed": own.changed, "cost": own.cost}
            for own in report.dialect.complaints
        ],
        "checks": [
            {"id": check.id, "title": check.title, "state": check.state, "read": check.read} for check in report.checks
        ],
        "noise": {
            "repeats": noise.repeats,
            "after": noise.after,
            "neighbours": noise.neighbours,
            "cache": noise.cache,
            "rms": noise.rms,
        },
        "fingerprint": report.fingerprint.id,
        "scorers": {name: {"can": not lacking, "lacking": lacking} for name, lacking in report.scorers().items()},
    }


def _probe_lines(report: "ProbeReport") -> Iterator[tuple[dict[str, str], list[list[object]], str] | str]:
    """Yield what a server says of itself, the checks, and the scorers."""
    facts = report.facts
    said = ", ".join(filter(None, (facts.kind, facts.build, facts.quantisation)))
    # What a complaint costs stands first; what costs nothing is told below.
    costly = [complaint.text for complaint in report.dialect.complaints if complaint.cost]
    yield "; ".join([f"{report.name} at {report.origin} ({said}): {report.requests} requests", *costly])
    yield from (complaint.text for complaint in report.dialect.complaints if not complaint.cost)
    checks: list[list[object]] = [[check.title, check.state, check.read] for check in report.checks]
    yield {"check": "left", "": "left", "read": "left"}, checks, ""
    yield f"noise floor: {report.noise.rms:.2g} nat"
    by_lack: dict[str, list[str]] = {}
    for name, lacking in report.scorers().items():
        by_lack.setdefault(lacking, []).append(name)
    for lacking, names in sorted(by_lack.items()):
        yield f"cannot be done: {', '.join(names)}: {lacking}" if lacking else f"can be done: {', '.join(names)}"
