"""Commands that read results: report, compare, slice, and metrics, which explains every figure."""

from collections.abc import Callable, Sequence
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senseprobe.cli.console import AsJson, print_json, print_line, print_table, progress, unreadable_last
from senseprobe.errors import ResultError, SenseprobeError
from senseprobe.messages import counted

if TYPE_CHECKING:
    from senseprobe.evaluate.reporting.document import Account
    from senseprobe.evaluate.reporting.inputs import Evidence
    from senseprobe.evaluate.reporting.significance import Difference
    from senseprobe.evaluate.reporting.slice_tables import Part

Release = Annotated[
    str | None,
    typer.Option(
        metavar="RELEASE",
        help="Where the release is, to read words, frames and sentences. Default: where it was built.",
    ),
]
_OTHER_FORMATS = {".csv", ".doc", ".docx", ".odt", ".pdf", ".png", ".rst", ".svg", ".tex", ".tsv", ".xlsx", ".yaml"}
"""Suffixes of which a reader expects another format; a page without any, or as /dev/stdout, is HTML."""

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
    from senseprobe.evaluate.reporting.inputs import gather
    from senseprobe.evaluate.reporting.report import tell

    if as_json:
        with progress("reporting", None):
            descriptions = [_as_dict(evidence) for evidence in gather(results, release)]
        print_json(descriptions)
        return
    path = out or Path("report.md" if markdown else "report.html")
    _check_page_path(path, results)
    with progress("reporting", None):
        account = tell(gather(results, release))
        _write_page(path, account, markdown=markdown)
    print_line(f"report in {path.resolve()}")


def _as_dict(evidence: "Evidence") -> dict[str, object]:
    """Return a result with what its figures are compared with."""
    from senseprobe.evaluate.reporting.significance import answers, margin_of, nulls

    margin = margin_of([evidence])
    return {
        **evidence.result.as_dict(),
        "nulls": [null.as_dict() for null in nulls(evidence)],
        "equivalences": [answer.as_dict() for answer in (answers(evidence, margin) if margin else ())],
        "controls": [control.as_dict() for control in evidence.controls],
        "missing": list(evidence.missing),
    }


def _check_page_path(path: Path, results: Sequence[Path]) -> None:
    """Raise ResultError where a page would replace a result or its table of scores, or have another format."""
    paths = [file for result in results if result.name for file in (result, result.with_suffix(".parquet"))]
    real = Path(realpath(path))  # a link is written through
    if {path.suffix, real.suffix} & {".json", ".parquet"} or real in map(Path, map(realpath, paths)):
        raise ResultError(f"{path} is the name of a result: a page ends in .html or .md")
    if real.suffix in _OTHER_FORMATS:
        raise ResultError(f"no {real.suffix} is written: a page is HTML, or Markdown where its name ends in .md")


def _write_page(path: Path, account: "Account", *, markdown: bool) -> None:
    from senseprobe.atomic_files import write_whole
    from senseprobe.evaluate.reporting import document

    setting: Callable[[Account], str] = document.markdown if markdown or path.suffix == ".md" else document.html
    text = setting(account)
    try:
        write_whole(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror}") from error


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
    from senseprobe.evaluate.reporting.inputs import gather
    from senseprobe.evaluate.reporting.report import tell
    from senseprobe.evaluate.reporting.significance import differences

    if markdown and out is None:
        raise SenseprobeError("--markdown is of a page: say where it goes with --out")
    if out is not None:
        _check_page_path(out, results)
    with progress("comparing", None):
        evidence = gather(results, release)
        compared = differences(evidence)
        if out is not None:
            _write_page(out, tell(evidence, compared), markdown=markdown)
    if as_json:
        models = [{"signature": e.result.signature, "model": dict(e.result.model)} for e in evidence]
        print_json({"results": models, "differences": [difference.as_dict() for difference in compared]})
        return
    for difference in compared:
        _print_difference(difference, evidence)
    for result in evidence:
        _print_controls(result)
    if out is not None:
        print_line(f"report in {out.resolve()}")


def _print_difference(difference: "Difference", evidence: "Sequence[Evidence]") -> None:
    from senseprobe.evaluate.estimands.multiple_testing import COMPARISONS, as_told
    from senseprobe.evaluate.fitness import unreadable_configs
    from senseprobe.evaluate.reporting import notation

    first, second = (evidence[number - 1] for number in (difference.a, difference.b))
    columns = {"config": "left", "figure": "left", "first": "right", "second": "right", "first less second": "left"}
    rows = [
        (
            c.config,
            c.estimand,
            *("none" if value is None else notation.points(value, c.estimand) for value in (c.a, c.b)),
            notation.difference(c),
            notation.p_value(c),
            c.equivalent or "",
        )
        for c in as_told(difference.comparisons, COMPARISONS)
        if c.group is None
    ]
    without = {**unreadable_configs(second.result.fitness), **unreadable_configs(first.result.fitness)}
    ordered = unreadable_last(rows, without, at=4)
    print_table(
        {**columns, "p": "left", "no difference": "left"}, ordered, title=f"\n{first.label} less {second.label}"
    )
    notes: dict[str, list[str]] = {}
    for comparison in difference.comparisons:
        if comparison.group is None and comparison.note:
            notes.setdefault(comparison.note, []).append(f"{comparison.config} {comparison.estimand}")
    for note, names in notes.items():
        print_line(f"{', '.join(names)}: {note}")
    if grouped := sum(comparison.group is not None for comparison in difference.comparisons):
        print_line(f"{counted(grouped, 'difference')} of single groups: with --out, and in --json")


def _print_controls(evidence: "Evidence") -> None:
    """Print right answers on the control, without which inference probes say nothing."""
    from senseprobe.evaluate.control import RELEASE, is_probe
    from senseprobe.evaluate.reporting import notation
    from senseprobe.evaluate.reporting.significance import control_figures

    if not is_probe(evidence.result):
        return
    whole = [figure for _, figure in control_figures(evidence) if figure.group is None]
    figures = ", ".join(f"{figure.config} {notation.interval(figure)}" for figure in whole)
    missing = f"not at hand (`senseprobe score MODEL {RELEASE}`)"
    print_line(f"{evidence.label}: right answers on nli-control: {figures or missing}")


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
        entries = metric_docs.find(name)
        print_json(entries) if as_json else print_line("\n".join(map(metric_docs.entry, entries)).rstrip("\n"))
    elif as_json:
        print_json(metric_docs.declared())
    elif markdown:
        print_line(metric_docs.page().rstrip("\n"))
    else:
        _print_metrics()


def _print_metrics() -> None:
    from senseprobe.evaluate.reporting.metric_docs import declared, shown_range

    catalogue = declared()
    for part, key, columns in (
        ("scorers", "ability", ("scorer", "asks for", "range", "is")),
        ("estimands", "kind", ("\nfigure", "\nover rows of", "\nrange", "\nis")),
    ):
        rows = [[entry["id"], entry[key], shown_range(entry), entry["title"]] for entry in catalogue[part]]
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
    from senseprobe.evaluate.reporting.inputs import gather
    from senseprobe.evaluate.reporting.slice_tables import parts

    selection = parse_slice(words or ())
    with progress("slicing", None):
        (evidence,) = gather([result], release)
        slices = parts(evidence, selection, largest=largest, by=tuple(by or ()), count=count)
    if as_json:
        print_json([part.as_dict() for part in slices])
        return
    for part in slices:
        _print_slice(part)
    _print_controls(evidence)
    if evidence.result.limit is not None:
        print_line(f"a first look: these are of {counted(evidence.result.limit, 'row')} that were drawn")
    print_line(evidence.result.signature)


def _print_slice(part: "Part") -> None:
    from senseprobe.evaluate.reporting.notation import interval

    columns = {"figure": "left", "points [95 %]": "left", "neutral": "left", "scored": "right"}
    rows = [
        (f.estimand, interval(f), "none known" if f.neutral is None else "0", f"{f.scored}/{f.rows}")
        for f in part.figures
    ]
    print_table(columns, rows, title=f"\n{part.config}{f', {part.named}' if part.named else ''}")
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
