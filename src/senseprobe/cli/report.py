"""Commands of those who read results: a report, a comparison of models, what every number means.

The command of those who look at a part of a result: some words, or the words with the largest probabilities.
"""

from collections.abc import Sequence
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senseprobe.cli.author import AsJson
from senseprobe.cli.console import named_last, print_json, print_line, print_table, progress
from senseprobe.errors import ResultError, SenseprobeError
from senseprobe.messages import counted

if TYPE_CHECKING:
    from senseprobe.evaluate.reporting.document import Document
    from senseprobe.evaluate.reporting.inputs import ReportInput
    from senseprobe.evaluate.reporting.significance import ModelComparison
    from senseprobe.evaluate.reporting.slice_tables import ResultSlice

Release = Annotated[
    str | None,
    typer.Option(
        metavar="RELEASE",
        help="Where the release is, for words, frames and sentences. Default: where it was built.",
    ),
]
_OTHERS = {".csv", ".doc", ".docx", ".odt", ".pdf", ".png", ".rst", ".svg", ".tex", ".tsv", ".xlsx", ".yaml"}
"""Ends of names of which somebody expects another form; a page without any, or as /dev/stdout, is HTML."""

Markdown = Annotated[bool, typer.Option("--markdown", help="Markdown, as for an --out that ends in .md.")]


def report(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULT.json", help="Results on one release; of nli-control, too, beside inference."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The page to write. Default: report.html.")
    ] = None,
    release: Release = None,
    markdown: Markdown = False,
    as_json: AsJson = False,
) -> None:
    """Write one self-contained page of results, side by side: HTML, or Markdown.

    With --json the figures, what polarity dealt out at random gives, and what is shown to be near zero, and no page.
    """
    from senseprobe.evaluate.reporting.inputs import gather_inputs
    from senseprobe.evaluate.reporting.report import build_report

    if as_json:
        with progress("reporting", None):
            told = [_as_dict(each) for each in gather_inputs(results, release)]
        print_json(told)
        return
    path = out or Path("report.md" if markdown else "report.html")
    _refuse_results(path, results)
    with progress("reporting", None):
        _write(path, build_report(gather_inputs(results, release)), markdown=markdown)
    print_line(f"report in {path.resolve()}")


def _as_dict(evidence: "ReportInput") -> dict[str, object]:
    """A result and what its figures are held against."""
    from senseprobe.evaluate.reporting.significance import assess_equivalence, permute_polarity, read_margin

    margin = read_margin([evidence])
    return {
        **evidence.result.as_dict(),
        "nulls": [null.as_dict() for null in permute_polarity(evidence)],
        "equivalences": [answer.as_dict() for answer in (assess_equivalence(evidence, margin) if margin else ())],
        "controls": [control.as_dict() for control in evidence.controls],
        "missing": list(evidence.missing),
    }


def _refuse_results(path: Path, results: Sequence[Path]) -> None:
    """A page is never written over a result, nor over its table of scores."""
    places = [place for result in results if result.name for place in (result, result.with_suffix(".parquet"))]
    real = Path(realpath(path))  # a link is written through
    if {path.suffix, real.suffix} & {".json", ".parquet"} or real in map(Path, map(realpath, places)):
        raise ResultError(f"{path} is the name of a result: a page ends in .html or .md")
    if real.suffix in _OTHERS:
        raise ResultError(f"no {real.suffix} is written: a page is HTML, or Markdown where its name ends in .md")


def _write(path: Path, page: "Document", *, markdown: bool) -> None:
    from senseprobe.atomic_files import write_whole
    from senseprobe.evaluate.reporting import document

    as_markdown = markdown or path.suffix == ".md"
    text = document.render_markdown(page) if as_markdown else document.render_html(page)
    try:
        write_whole(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror}") from error


def compare(
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULT.json", help="Results of 2 to 8 models by one scorer.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write a page of it, .html or .md.")
    ] = None,
    release: Release = None,
    markdown: Markdown = False,
    as_json: AsJson = False,
) -> None:
    """Say in what models differ on the same rows of a release, each pair of them, with intervals and p-values."""
    from senseprobe.evaluate.reporting.inputs import gather_inputs
    from senseprobe.evaluate.reporting.report import build_report
    from senseprobe.evaluate.reporting.significance import compare_results

    if markdown and out is None:
        raise SenseprobeError("--markdown is of a page: say where it goes with --out")
    if out is not None:
        _refuse_results(out, results)
    with progress("comparing", None):
        evidence = gather_inputs(results, release)
        found = compare_results(evidence)
        if out is not None:
            _write(out, build_report(evidence, found), markdown=markdown)
    if as_json:
        told = [{"signature": each.result.signature, "model": dict(each.result.model)} for each in evidence]
        print_json({"results": told, "differences": [each.as_dict() for each in found]})
        return
    for each in found:
        _print_difference(each, evidence)
    for one in evidence:
        tell_controls(one)
    if out is not None:
        print_line(f"report in {out.resolve()}")


def _print_difference(found: "ModelComparison", evidence: "Sequence[ReportInput]") -> None:
    from senseprobe.evaluate.estimands.multiple_testing import COMPARISONS, without_single
    from senseprobe.evaluate.fitness import unreadable_configs
    from senseprobe.evaluate.reporting import notation

    first, second = (evidence[number - 1] for number in (found.a, found.b))
    columns = {"config": "left", "figure": "left", "first": "right", "second": "right", "first less second": "left"}
    rows = [
        (
            each.config,
            each.estimand,
            *("none" if value is None else notation.format_points(value, each.estimand) for value in (each.a, each.b)),
            notation.format_difference(each),
            notation.format_p_value(each),
            each.equivalent or "",
        )
        for each in without_single(found.comparisons, COMPARISONS)
        if each.group is None
    ]
    without = {**unreadable_configs(second.result.fitness), **unreadable_configs(first.result.fitness)}
    told = named_last(rows, without, at=4)
    print_table({**columns, "p": "left", "no difference": "left"}, told, title=f"\n{first.label} less {second.label}")
    notes: dict[str, list[str]] = {}
    for each in found.comparisons:
        if each.group is None and each.note:
            notes.setdefault(each.note, []).append(f"{each.config} {each.estimand}")
    for note, names in notes.items():
        print_line(f"{', '.join(names)}: {note}")
    if grouped := sum(each.group is not None for each in found.comparisons):
        print_line(f"{counted(grouped, 'difference')} of single groups: with --out, and in --json")


def tell_controls(evidence: "ReportInput") -> None:
    """Right answers on the control, without which probes of inference say nothing."""
    from senseprobe.evaluate.control import RELEASE, is_probe
    from senseprobe.evaluate.reporting import notation
    from senseprobe.evaluate.reporting.significance import find_control_figures

    if not is_probe(evidence.result):
        return
    whole = [figure for _, figure in find_control_figures(evidence) if figure.group is None]
    told = ", ".join(f"{figure.config} {notation.format_interval(figure)}" for figure in whole)
    missing = f"not at hand (`senseprobe score MODEL {RELEASE}`)"
    print_line(f"{evidence.label}: right answers on nli-control: {told or missing}")


def metrics(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A scorer or an estimand, as aul or gap.", show_default=False)
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/metrics.md.")] = False,
    as_json: AsJson = False,
) -> None:
    """List every scorer and estimand; of one, say what it is, where it is from, what it can and cannot say."""
    from senseprobe.evaluate.reporting import metric_docs as held

    if markdown and as_json:
        raise SenseprobeError("--markdown and --json: only one of them")
    if name is not None:
        found = held.find_metrics(name)
        print_json(found) if as_json else print_line("\n".join(map(held.format_metric, found)).rstrip("\n"))
    elif as_json:
        print_json(held.describe_metrics())
    elif markdown:
        print_line(held.build_page().rstrip("\n"))
    else:
        _list()


def _list() -> None:
    from senseprobe.evaluate.reporting.metric_docs import describe_metrics, format_range

    told = describe_metrics()
    columns = dict.fromkeys(("scorer", "asks for", "range", "is"), "left")
    rows = [[each["id"], each["ability"], format_range(each), each["title"]] for each in told["scorers"]]
    print_table(columns, rows)
    columns = dict.fromkeys(("\nfigure", "\nover rows of", "\nrange", "\nis"), "left")
    rows = [[each["id"], each["kind"], format_range(each), each["title"]] for each in told["estimands"]]
    print_table(columns, rows)
    print_line("senseprobe metrics NAME says what one of them can and cannot say")


def slice_result(
    result: Annotated[Path, typer.Argument(metavar="RESULT.json", help="A result of a model of inference.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SLOT=WORD",
            help="As quality=rude demonym=Iraqi; a slot that is named twice takes either word.",
        ),
    ] = None,
    largest: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL", help="Also the words with the largest mean entailment, contradiction, or neutral."
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SLOT",
            help="A slot within which --largest averages; may be repeated. Default: the words that differ.",
        ),
    ] = None,
    count: Annotated[int, typer.Option(metavar="N", min=1, help="How many of the largest.")] = 6,
    release: Release = None,
    as_json: AsJson = False,
) -> None:
    """Figures of the rows with some words, such as all with rude and Iraqi, from scores that are there already."""
    from senseprobe.evaluate.estimands.slices import parse_slice
    from senseprobe.evaluate.reporting.inputs import gather_inputs
    from senseprobe.evaluate.reporting.slice_tables import compute_slices

    wanted = parse_slice(words or ())
    with progress("slicing", None):
        (evidence,) = gather_inputs([result], release)
        found = compute_slices(evidence, wanted, largest=largest, by=tuple(by or ()), count=count)
    if as_json:
        print_json([part.as_dict() for part in found])
        return
    for part in found:
        _print_slice(part)
    tell_controls(evidence)
    if evidence.result.limit is not None:
        print_line(f"a first look: these are of {counted(evidence.result.limit, 'row')} that were drawn")
    print_line(evidence.result.signature)


def _print_slice(part: "ResultSlice") -> None:
    from senseprobe.evaluate.reporting.notation import format_interval

    columns = {"figure": "left", "points [95 %]": "left", "neutral": "left", "scored": "right"}
    rows = [
        (f.estimand, format_interval(f), "none known" if f.neutral is None else "0", f"{f.scored}/{f.rows}")
        for f in part.figures
    ]
    print_table(columns, rows, title=f"\n{part.config}{f', {part.words}' if part.words else ''}")
    if part.largest:
        _tell_largest(part.largest)
    notes: dict[str, list[str]] = {}
    for figure in part.figures:
        notes.setdefault(figure.note, []).append(figure.estimand)
    for note, named in notes.items():
        if note:
            print_line(f"{', '.join(dict.fromkeys(named))}: {note}")


def _tell_largest(largest: Sequence[dict[str, object]]) -> None:
    numbers = {name for name, value in largest[0].items() if not isinstance(value, str)}
    columns = {name: "right" if name in numbers else "left" for name in largest[0]}
    rows = [[f"{value:.3f}" if isinstance(value, float) else value for value in row.values()] for row in largest]
    print_table(columns, rows, title="\nlargest means")
    print_line("the largest of many look extreme for that alone, and the fewer their rows, the more so")
