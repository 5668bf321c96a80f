"""Commands that read results: report, compare, slice, and metrics, which explains every figure."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senseprobe.cli.console import AsJson, print_json, print_line, print_table, progress, unreadable_last
from senseprobe.errors import SenseprobeError
from senseprobe.messages import counted

if TYPE_CHECKING:
    from senseprobe.evaluate.reporting.inputs import ReportInput
    from senseprobe.evaluate.reporting.row_tables import ResultSlice
    from senseprobe.evaluate.reporting.significance import ModelComparison

Release = Annotated[
    str | None,
    typer.Option(
        metavar="RELEASE",
        help="Where the release is, to read words, frames and sentences. Default: where it was built.",
    ),
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Write Markdown, as for an --out that ends in .md.")]


def report(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULT.json", help="Results on one release; for inference also those on nli-control."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The page to write. Default: report.html.")
    ] = None,
    release: Release = None,
    markdown: Markdown = False,
    as_json: AsJson = False,
) -> None:
    """Write one self-contained page of results, side by side: HTML, or Markdown.

    With --json, print instead the figures, their values under randomly permuted polarity, and tests of equivalence.
    """
    from senseprobe.api import results as api

    with progress("reporting", None):
        if as_json:
            descriptions = api.describe_results(results, release=release)
        else:
            path = api.report(results, out, release=release, markdown=markdown)
    print_json(descriptions) if as_json else print_line(f"report in {path.resolve()}")


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
    with progress("comparing", None):
        comparison = api.compare(results, out, release=release, markdown=markdown)
    if as_json:
        print_json(comparison.as_dict())
        return
    for pair in comparison.pairs:
        _print_pair(pair, comparison.inputs)
    for source in comparison.inputs:
        _print_controls(source)
    if out is not None:
        print_line(f"report in {out.resolve()}")


def _print_pair(pair: "ModelComparison", inputs: "Sequence[ReportInput]") -> None:
    from senseprobe.evaluate.estimands.multiple_testing import COMPARISONS, without_single
    from senseprobe.evaluate.fitness import unreadable_configs
    from senseprobe.evaluate.reporting import notation

    first, second = (inputs[number - 1] for number in (pair.a, pair.b))
    columns = {"config": "left", "figure": "left", "first": "right", "second": "right", "first less second": "left"}
    rows = [
        (
            c.config,
            c.estimand,
            *("none" if value is None else notation.format_points(value, c.estimand) for value in (c.a, c.b)),
            notation.format_difference(c),
            notation.format_p_value(c),
            c.equivalent or "",
        )
        for c in without_single(pair.comparisons, COMPARISONS)
        if c.group is None
    ]
    without = {**unreadable_configs(second.result.fitness), **unreadable_configs(first.result.fitness)}
    ordered = unreadable_last(rows, without, at=4)
    print_table(
        {**columns, "p": "left", "no difference": "left"}, ordered, title=f"\n{first.label} less {second.label}"
    )
    notes: dict[str, list[str]] = {}
    for comparison in pair.comparisons:
        if comparison.group is None and comparison.note:
            notes.setdefault(comparison.note, []).append(f"{comparison.config} {comparison.estimand}")
    for note, names in notes.items():
        print_line(f"{', '.join(names)}: {note}")
    if grouped := sum(comparison.group is not None for comparison in pair.comparisons):
        print_line(f"{counted(grouped, 'difference')} of single groups: with --out, and in --json")


def _print_controls(source: "ReportInput") -> None:
    """Print right answers on the control, without which inference probes say nothing."""
    from senseprobe.evaluate.control import RELEASE, is_probe
    from senseprobe.evaluate.reporting import notation
    from senseprobe.evaluate.reporting.significance import find_control_figures

    if not is_probe(source.result):
        return
    whole = [figure for _, figure in find_control_figures(source) if figure.group is None]
    figures = ", ".join(f"{figure.config} {notation.format_interval(figure)}" for figure in whole)
    missing = f"not at hand (`senseprobe score MODEL {RELEASE}`)"
    print_line(f"{source.label}: right answers on nli-control: {figures or missing}")


def metrics(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A scorer or an estimand, such as aul or gap.", show_default=False),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/metrics.md.")] = False,
    as_json: AsJson = False,
) -> None:
    """List every scorer and estimand; for one, print its definition, its source, and what it can and cannot say."""
    from senseprobe.evaluate.reporting import metric_docs

    if markdown and as_json:
        raise SenseprobeError("--markdown and --json: only one of them")
    if name is not None:
        entries = metric_docs.find_metrics(name)
        print_json(entries) if as_json else print_line("\n".join(map(metric_docs.format_metric, entries)).rstrip("\n"))
    elif as_json:
        print_json(metric_docs.describe_metrics())
    elif markdown:
        print_line(metric_docs.build_page().rstrip("\n"))
    else:
        _print_metrics()


def _print_metrics() -> None:
    from senseprobe.evaluate.reporting.metric_docs import describe_metrics, format_range

    catalogue = describe_metrics()
    for part, key, columns in (
        ("scorers", "ability", ("scorer", "asks for", "range", "is")),
        ("estimands", "kind", ("\nfigure", "\nover rows of", "\nrange", "\nis")),
    ):
        rows = [[entry["id"], entry[key], format_range(entry), entry["title"]] for entry in catalogue[part]]
        print_table(dict.fromkeys(columns, "left"), rows)
    print_line("senseprobe metrics NAME says what one of them can and cannot say")


def slice_result(
    result: Annotated[Path, typer.Argument(metavar="RESULT.json", help="A result of an inference model.")],
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
            metavar="SLOT",
            help="Slot by whose words --largest groups its means; may be repeated. Default: the words that differ.",
        ),
    ] = None,
    count: Annotated[int, typer.Option(metavar="N", min=1, help="How many words --largest prints.")] = 6,
    release: Release = None,
    as_json: AsJson = False,
) -> None:
    """Compute figures of the rows with some words, such as all with rude and Iraqi, from an existing result."""
    from senseprobe.evaluate.estimands.slices import parse_slice
    from senseprobe.evaluate.reporting.inputs import gather_inputs
    from senseprobe.evaluate.reporting.row_tables import compute_slices

    selection = parse_slice(words or ())
    with progress("slicing", None):
        (source,) = gather_inputs([result], release)
        slices = compute_slices(source, selection, largest=largest, by=tuple(by or ()), count=count)
    if as_json:
        print_json([part.as_dict() for part in slices])
        return
    for part in slices:
        _print_slice(part)
    _print_controls(source)
    if source.result.limit is not None:
        print_line(f"a first look: these are of {counted(source.result.limit, 'row')} that were drawn")
    print_line(source.result.signature)


def _print_slice(part: "ResultSlice") -> None:
    from senseprobe.evaluate.reporting.notation import format_interval

    columns = {"figure": "left", "points [95 %]": "left", "neutral": "left", "scored": "right"}
    rows = [
        (f.estimand, format_interval(f), "none known" if f.neutral is None else "0", f"{f.scored}/{f.rows}")
        for f in part.figures
    ]
    print_table(columns, rows, title=f"\n{part.config}{f', {part.words}' if part.words else ''}")
    if part.largest:
        _print_largest(part.largest)
    notes: dict[str, list[str]] = {}
    for figure in part.figures:
        notes.setdefault(figure.note, []).append(figure.estimand)
    for note, named in notes.items():
        if note:
            print_line(f"{', '.join(dict.fromkeys(named))}: {note}")


def _print_largest(largest: Sequence[dict[str, object]]) -> None:
    numbers = {name for name, value in largest[0].items() if not isinstance(value, str)}
    columns = {name: "right" if name in numbers else "left" for name in largest[0]}
    rows = [[f"{value:.3f}" if isinstance(value, float) else value for value in row.values()] for row in largest]
    print_table(columns, rows, title="\nlargest means")
    print_line("the largest of many look extreme for that alone, and the fewer their rows, the more so")
