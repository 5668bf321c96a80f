"""Commands that read results: report, compare, slice, and metrics, which explains every figure."""

from pathlib import Path
from typing import Annotated

import typer

from senseprobe.cli.console import AsJson, print_json, print_line, print_markdown, print_note, print_summary
from senseprobe.errors import SenseprobeError

Release = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RELEASE",
        help="Where a release is, by name or path, to read words, frames and sentences; may be repeated. Default: the "
        "release of the name that the result has.",
    ),
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Write Markdown, as for an --out that ends in .md.")]


def report(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT.json",
            help="Results, a folder of results, or a release whose results are in results/; for inference also those "
            "on nli-control.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The page to write. Default: report.html.")
    ] = None,
    release: Release = None,
    markdown: Markdown = False,
    brief: Annotated[
        bool, typer.Option("--brief", help="Print the verdicts as Markdown for a pull request, and write no page.")
    ] = False,
    note: Annotated[str, typer.Option(metavar="TEXT", help="A sentence of yours for the page's head.")] = "",
    as_json: AsJson = False,
) -> None:
    """Write one self-contained page of results, side by side: HTML, or Markdown.

    With --json, print instead the figures, their values under randomly permuted polarity, and tests of equivalence.
    """
    from senseprobe.api import results as api

    if brief and (as_json or out or markdown):
        raise SenseprobeError("--brief prints to the terminal: leave out --json, --out and --markdown")
    if note and (brief or as_json):
        raise SenseprobeError("--note is for a page: leave it out beside --brief and --json")
    if brief:
        print_markdown(api.brief(results, release=release))
    elif as_json:
        print_json(api.describe_results(results, release=release))
    else:
        path = api.report(results, out, release=release, markdown=markdown, note=note, say=print_note)
        print_line(f"report in {path.resolve()}")


def gate(
    result: Annotated[Path, typer.Argument(metavar="RESULT.json", help="The result of the model to check.")],
    against: Annotated[
        Path, typer.Option(metavar="BASELINE.json", help="The result of the model that it is compared with.")
    ],
    margin: Annotated[
        float, typer.Option(metavar="POINTS", help="Growth of the distance from neutral that is allowed.")
    ] = 5.0,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A config or a figure to gate; may be repeated. Default: the headline of each config."
        ),
    ] = None,
    release: Release = None,
    github: Annotated[
        bool, typer.Option("--github", envvar="GITHUB_ACTIONS", help="Also print failures as GitHub annotations.")
    ] = False,
) -> None:
    """Fail, with exit code 1, where a model is farther from neutral than a baseline by more than a margin.

    The interval of the growth must lie wholly above the margin: chance alone fails 5 % of all gates at most.
    """
    from senseprobe.api import results as api

    checked = api.gate(result, against, margin, figures=figure or (), release=release)
    for line in (*checked.lines, *(checked.annotations if github else ())):
        print_line(line)
    if not checked.passed:
        raise typer.Exit(1)


def compare(
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULT.json", help="Results of 2 to 8 models by one scorer.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the comparison as a page, .html or .md.")
    ] = None,
    release: Release = None,
    markdown: Markdown = False,
    as_json: AsJson = False,
) -> None:
    """Compare each pair of models on the same rows of a release, with intervals and p-values."""
    from senseprobe.api import results as api

    if markdown and out is None:
        raise SenseprobeError("--markdown is of a page: say where it goes with --out")
    comparison = api.compare(results, out=out, release=release, markdown=markdown)
    if as_json:
        print_json(comparison.as_dict())
        return
    print_summary(comparison.summary())
    if out is not None:
        print_line(f"report in {out.resolve()}")


def metrics(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A scorer or an estimand, such as aul or gap.", show_default=False),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/metrics.md.")] = False,
    as_json: AsJson = False,
) -> None:
    """List every scorer and estimand; for one, print its definition, its source, and what it can and cannot say."""
    from senseprobe.api import results as api

    if markdown and as_json:
        raise SenseprobeError("--markdown and --json: only one of them")
    if as_json:
        print_json(api.metrics(name) if name else api.metrics_by_kind())
    elif markdown or name:
        print_line(api.metrics_page(name))
    else:
        print_summary(api.summarize_metrics())


def slice_result(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT.json", help="A result whose table of scores lies beside it.")
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SLOT=WORD",
            help="For example quality=rude demonym=Iraqi; a slot named twice matches either word.",
        ),
    ] = None,
    largest: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL", help="Also print the words with the largest mean entailment, contradiction, or neutral."
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A slice for each level of a slot, a column of the rows, or SLOT.COLUMN of the slot's list; may be "
            "repeated. With --largest, what it groups its means by. Default there: the words that differ.",
        ),
    ] = None,
    count: Annotated[int, typer.Option(metavar="N", min=1, help="How many words --largest prints.")] = 6,
    release: Release = None,
    as_json: AsJson = False,
) -> None:
    """Compute figures of the rows with some words, such as all with rude and Iraqi, or of each level of a column."""
    from senseprobe.api import results as api

    slices = api.slice_result(result, words or (), largest=largest, by=by or (), count=count, release=release)
    if as_json:
        print_json([part.as_dict() for part in slices])
    else:
        print_summary(slices.summary())
