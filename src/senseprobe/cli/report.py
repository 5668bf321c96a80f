"""What commands print that read results: report, compare, gate, study slice, and explain, of every figure."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from senseprobe.api import metrics as declared
from senseprobe.api import results as api
from senseprobe.cli.console import print_document, print_line, print_markdown, print_note, print_sections
from senseprobe.errors import SenseprobeError
from senseprobe.options import Option

if TYPE_CHECKING:
    from senseprobe.api.results import Comparison, SlicedResult
    from senseprobe.evaluate.reporting.gate import GateResult


def report(
    results: Sequence[Path],
    out: Path | None,
    release: Sequence[str] | None,
    markdown: bool,
    note: str,
    as_json: bool,
    brief: Annotated[
        bool, Option("--brief", help="Print the verdicts as Markdown for a pull request, and write no page.")
    ] = False,
) -> Any:  # noqa: ANN401 - a text, JSON or a path
    """Return the verdicts as Markdown, the figures for programs, or the page that was written."""
    if brief and (as_json or out or markdown):
        raise SenseprobeError("--brief prints to the terminal: leave out --json, --out and --markdown")
    if note and (brief or as_json):
        raise SenseprobeError("--note is for a page: leave it out with --brief and --json")
    if brief:
        return api.brief(results, release=release)
    if as_json:
        return api.describe_results(results, release=release)
    return api.report(results, out, release=release, markdown=markdown, note=note, say=print_note)


def show_report(page: str | Path) -> None:
    """Print the verdicts, or where the page is."""
    print_line(f"report in {page.resolve()}") if isinstance(page, Path) else print_markdown(page)


def show_gate(
    checked: "GateResult",
    github: Annotated[
        bool, Option("--github", variable="GITHUB_ACTIONS", help="Also print failures as GitHub annotations.")
    ] = False,
) -> None:
    """Print what was gated."""
    for line in (*checked.lines, *(checked.annotations if github else ())):
        print_line(line)


def compare(
    results: Sequence[Path],
    out: Path | None,
    release: Sequence[str] | None,
    markdown: bool,
    control: Sequence[Path],
) -> "Comparison":
    """Return the comparison of results."""
    if markdown and out is None:
        raise SenseprobeError("--markdown writes a page: name it with --out")
    return api.compare(results, out=out, release=release, markdown=markdown, control=control or ())


def show_comparison(comparison: "Comparison", out: Path | None) -> None:
    """Print the differences between models, and where the page is."""
    print_document(comparison.document())
    if out is not None:
        print_line(f"report in {out.resolve()}")


def metrics(
    name: str | None,
    as_json: bool,
    markdown: Annotated[bool, Option("--markdown", help="Print Markdown, as in docs/metrics.md.")] = False,
) -> Any:  # noqa: ANN401 - JSON, a text, or a table
    """Return what is declared: for programs, in Markdown, or as a table of all."""
    if markdown and as_json:
        raise SenseprobeError("--markdown and --json: only one of them")
    if as_json:
        return declared.metrics(name) if name else declared.metrics_by_kind()
    return declared.metrics_page(name) if markdown or name else declared.metric_sections()


def show_metrics(declared: Any) -> None:  # noqa: ANN401
    """Print a page, or a table."""
    print_line(declared) if isinstance(declared, str) else print_sections(declared)


def describe_slices(slices: "SlicedResult") -> list[dict[str, Any]]:
    """Return what `study slice --json` prints."""
    return [part.as_dict() for part in slices]
