"""Read results, report them, compare models, and look at parts of a result.

A result is given as a file (``RESULT.json``) or as a `Result` that `score` returned; where several may stand, also as a
folder of results, or as a release (its name, or itself) whose results lie in the folder ``results``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from senseprobe import project
from senseprobe.errors import ResultError
from senseprobe.messages import listed
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    import pandas as pd

    from senseprobe.document import Document
    from senseprobe.evaluate.reporting.gate import GateResult
    from senseprobe.evaluate.reporting.inputs import ReportInput
    from senseprobe.evaluate.reporting.row_tables import ResultSlice
    from senseprobe.evaluate.reporting.significance import ModelComparison
    from senseprobe.evaluate.reporting.summary import Summary
    from senseprobe.evaluate.result import Result
    from senseprobe.release.release import Release

    ResultSource: TypeAlias = str | Path | Result | Release
    ReleaseNames: TypeAlias = str | Sequence[str] | None

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
RESULTS = Path("results")
"""The folder that results are written below where nothing else is said."""
_OTHER_FORMATS = {".csv", ".doc", ".docx", ".odt", ".pdf", ".png", ".rst", ".svg", ".tex", ".tsv", ".xlsx", ".yaml"}
"""Suffixes of which somebody expects another format; a page without any, or as /dev/stdout, is HTML."""


def load_result(path: str | Path) -> Result:
    """Read a result file, with the scores of its rows, their tokens and the words of tests if they lie beside it.

    Raises ResultError where it is not a result of senseprobe, or a table is not that of the result.
    """
    from senseprobe.evaluate.result import read_result
    from senseprobe.evaluate.score_tables import read_scores, read_tokens, read_words

    path = Path(path)
    result = read_result(path)
    rows, tokens = read_scores(path, result), read_tokens(path, result)
    return replace(result, rows=rows, tokens=tokens, words=read_words(path, result))


@with_progress("reporting")
def report(
    results: ResultSource | Sequence[ResultSource],
    out: str | Path | None = None,
    *,
    release: ReleaseNames = None,
    markdown: bool = False,
    note: str = "",
    say: Callable[[str], None] | None = None,
) -> Path:
    """Write one self-contained page of results, on one release or several, and return its path.

    `out` is ``report.html`` by default; it is Markdown where its name ends in ``.md``, or with `markdown`. `release` is
    the name or path of a release, or of several, that are not found by the names in the results. `note` is a sentence
    for the head of the page. `say` hears what the page lacks: the sentences of a release that is not on this machine.
    Raises ResultError where results are damaged or the page cannot be written.
    """
    from senseprobe.evaluate.reporting.inputs import missing_parts
    from senseprobe.evaluate.reporting.report import build_report

    path = Path(out or ("report.md" if markdown else "report.html"))
    sources = list_sources(results)
    refuse_results(path, sources)
    inputs = _gather(sources, release)
    write_page(path, replace(build_report(inputs), note=note), markdown=markdown)
    if say is not None:
        for sentence, sharers in missing_parts(inputs).items():
            say(f"{'' if len(sharers) == len(inputs) else f'{listed(sharers)}: '}{sentence}")
    return path


@with_progress("reporting")
def brief(results: ResultSource | Sequence[ResultSource], *, release: ReleaseNames = None) -> str:
    """Return the verdicts of results as Markdown for a pull request: a table of at most 40 lines.

    `release` is as of `report`. Raises ResultError where results are damaged.
    """
    from senseprobe.evaluate.reporting.brief import build_brief
    from senseprobe.evaluate.reporting.inputs import without_controls

    return build_brief(without_controls(_gather(list_sources(results), release)))


@with_progress("reporting")
def describe_results(
    results: ResultSource | Sequence[ResultSource], *, release: ReleaseNames = None
) -> list[dict[str, Any]]:
    """Return what ``senseprobe report --json`` prints: each result, and what its figures are compared with.

    Figures that a verdict is about have it, as the page does, as ``verdict``.
    """
    return [_describe(source) for source in _gather(list_sources(results), release)]


def describe_scored(results: Sequence[Result], out: str | Path, release: str | None = None) -> list[dict[str, Any]]:
    """Return what ``senseprobe score --json`` prints of results that were written below `out`, with their verdicts.

    `release` is the name or path of the release that was scored, where it is not found by the name in the results.
    """
    from senseprobe.evaluate.reporting.inputs import gather_scored
    from senseprobe.evaluate.reporting.verdict_table import judge

    return [judge(source).result.as_dict() for source in gather_scored(results, Path(out), release)]


def _describe(source: ReportInput) -> dict[str, Any]:
    from senseprobe.evaluate.reporting.significance import assess_equivalence, permute_polarity, read_margin
    from senseprobe.evaluate.reporting.verdict_table import judge

    source = judge(source)
    margin = read_margin([source])
    return {
        **source.result.as_dict(),
        "nulls": [null.as_dict() for null in permute_polarity(source)],
        "equivalences": [answer.as_dict() for answer in (assess_equivalence(source, margin) if margin else ())],
        "controls": [control.as_dict() for control in source.controls],
        "missing": list(source.missing),
    }


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Results of two models or more on the same rows, each pair of models compared.

    `inputs` are the results with their rows, `pairs` the differences: of the first less the second, in points.
    """

    inputs: tuple[ReportInput, ...]
    pairs: tuple[ModelComparison, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return the differences as a table: a row for each figure of each pair of models."""
        import pandas as pd

        return pd.DataFrame([*self._rows()])

    def _rows(self) -> Iterator[dict[str, Any]]:
        for pair in self.pairs:
            labels = {side: self.inputs[number - 1].label for side, number in (("first", pair.a), ("second", pair.b))}
            for difference in pair.comparisons:
                yield {**labels, **difference.as_dict()}

    def as_dict(self) -> dict[str, Any]:
        """Return what ``senseprobe compare --json`` prints."""
        results = [{"signature": i.result.signature, "model": dict(i.result.model)} for i in self.inputs]
        return {"results": results, "differences": [pair.as_dict() for pair in self.pairs]}

    def summary(self) -> Summary:
        """Yield what ``senseprobe compare`` prints: tables, and lines below them."""
        from senseprobe.evaluate.reporting.summary import summarize_comparison

        return summarize_comparison(self.pairs, self.inputs)

    def __repr__(self) -> str:
        """Return the models and how many figures were compared, in a line."""
        figures = sum(len(pair.comparisons) for pair in self.pairs)
        return f"<Comparison of {', '.join(source.label for source in self.inputs)}: {figures} differences>"

    def _repr_html_(self) -> str:
        """Return the differences as a notebook shows them."""
        columns = ["first", "second", "config", "estimand", "group", "difference", "low", "high", "p_holm"]
        return str(self.to_frame()[columns].to_html(index=False, na_rep=""))


@with_progress("comparing")
def compare(
    *results: ResultSource | Sequence[ResultSource],
    out: str | Path | None = None,
    release: ReleaseNames = None,
    markdown: bool = False,
) -> Comparison:
    """Compare 2 to 8 models by one scorer on the same rows of a release, each with each.

    The results stand one by one, ``compare(a, b)``, or in a list. With `out` also a page is written, as `report` does.
    Raises ResultError where results are not of one scorer on the same rows, or the release or the rows are not
    available.
    """
    from senseprobe.evaluate.reporting.inputs import without_controls
    from senseprobe.evaluate.reporting.report import build_report
    from senseprobe.evaluate.reporting.significance import compare_results

    sources = [source for each in results for source in list_sources(each)]
    if out is not None:
        refuse_results(Path(out), sources)
    inputs = without_controls(_gather(sources, release))
    pairs = compare_results(inputs)
    if out is not None:
        write_page(Path(out), build_report(inputs, pairs), markdown=markdown)
    return Comparison(tuple(inputs), tuple(pairs))


@with_progress("comparing")
def gate(
    result: ResultSource,
    against: ResultSource,
    margin: float = 5.0,
    *,
    figures: Sequence[str] = (),
    release: ReleaseNames = None,
) -> GateResult:
    """Return whether a result is no farther from neutral than a baseline by more than `margin` points, beyond chance.

    Gated are the headline figures with a neutral value, or those that `figures` names by config or estimand. Raises
    ResultError where the two are not by one scorer, of one definition, on the same rows of a release, where one fails
    its control, and where nothing can be gated.
    """
    from senseprobe.evaluate.reporting.gate import check_gate
    from senseprobe.evaluate.reporting.inputs import without_controls

    new, old = (without_controls(_gather(list_sources(source), release))[0] for source in (result, against))
    return check_gate(new, old, margin, figures)


class SlicedResult(list["ResultSlice"]):
    """The slices of a result, one for each config that has such rows; `source` is the result with its rows."""

    def __init__(self, slices: Sequence[ResultSlice], source: ReportInput) -> None:
        super().__init__(slices)
        self.source = source

    def summary(self) -> Summary:
        """Yield what ``senseprobe slice`` prints: tables, and lines below them."""
        from senseprobe.evaluate.reporting.summary import summarize_slices

        return summarize_slices(self, self.source)


@with_progress("slicing")
def slice_result(
    result: ResultSource,
    words: Mapping[str, str | Sequence[str]] | Sequence[str] = (),
    *,
    largest: str | None = None,
    by: Sequence[str] = (),
    count: int = 6,
    release: ReleaseNames = None,
) -> SlicedResult:
    """Return the figures of the rows that have some words: ``{"quality": "rude", "demonym": ["Iraqi", "Syrian"]}``.

    `words` may also be texts such as ``"quality=rude"``. With `by`, there is a slice for each combination of the levels
    of these columns. Columns are slots, ``frame``, those of the rows, and ``slot.column`` for what the list of a slot
    says of its words; numbers are divided into thirds of the words. `largest` names a label of inference
    (``entailment``, ``contradiction`` or ``neutral``): instead, the `count` words with the largest mean probability of
    it, averaged within `by`. Raises ResultError where the result has no such rows or columns.
    """
    from senseprobe.evaluate.estimands.slices import parse_slice
    from senseprobe.evaluate.reporting.row_tables import compute_slices
    from senseprobe.evaluate.reporting.verdict_table import find_flaws

    if isinstance(words, Mapping):
        values = {slot: [value] if isinstance(value, str) else value for slot, value in words.items()}
        words = [f"{slot}={value}" for slot, each in values.items() for value in each]
    # A slice has figures of its own, so that none is held against the rows.
    (source,) = map(find_flaws, _gather(list_sources(result), release, checked=False))
    selection = parse_slice(words)
    source = _with_list_columns(source, [name for name in (*selection, *by) if "." in name])
    slices = compute_slices(source, selection, largest=largest, by=tuple(by), count=count)
    return SlicedResult(slices, source)


def _with_list_columns(source: ReportInput, names: Sequence[str]) -> ReportInput:
    """Return the result with the columns ``slot.column`` in its rows, as far as the lists of its release have them."""
    from senseprobe.recipes import list_levels

    if not names or source.release is None:
        return source
    tables = {}
    for config, levels in list_levels(source.release, names).items():
        if (table := source.tables.get(config)) is not None:
            columns = {name: table[name.partition(".")[0]].map(cells) for name, cells in levels.items()}
            tables[config] = table.assign(**columns)
    return replace(source, tables={**source.tables, **tables})


def metrics(name: str | None = None) -> list[dict[str, Any]]:
    """Return what scorers and estimands declare: of all, or of those called `name`.

    Raises ResultError where nothing has that name.
    """
    from senseprobe.evaluate.reporting.metric_docs import find_metrics

    if name is not None:
        return find_metrics(name)
    return [metric for kind in metrics_by_kind().values() for metric in kind]


def metrics_by_kind() -> dict[str, list[dict[str, Any]]]:
    """Return what ``senseprobe metrics --json`` prints: ``scorers`` and ``estimands``."""
    from senseprobe.evaluate.reporting.metric_docs import describe_metrics

    return describe_metrics()


def metrics_page(name: str | None = None) -> str:
    """Return the documentation of all scorers and estimands in Markdown, or of those called `name`.

    Raises ResultError where nothing has that name.
    """
    from senseprobe.evaluate.reporting.metric_docs import build_page, find_metrics, format_metric

    return (build_page() if name is None else "\n".join(map(format_metric, find_metrics(name)))).rstrip("\n")


def summarize_metrics() -> Summary:
    """Yield a table of all scorers, and one of all estimands."""
    from senseprobe.evaluate.reporting import summary

    return summary.summarize_metrics()


def summarize_results(results: Sequence[Result], out: str | Path, release: str | None = None) -> Summary:
    """Yield what ``senseprobe score`` prints of results that were written below `out`: tables, and lines below them.

    `release` is as of `describe_scored`.
    """
    from senseprobe.evaluate.reporting import summary

    return summary.summarize_results(results, Path(out), release)


def list_sources(results: ResultSource | Sequence[ResultSource]) -> list[Path | Result]:
    """Return one result or several as a list; folders, and releases, as the results that are there.

    Raises ResultError where there are none.
    """
    several = [results] if isinstance(results, str | Path) or not isinstance(results, Sequence) else results
    return [source for result in several for source in _sources_of(result)]


def _sources_of(result: ResultSource) -> Sequence[Path | Result]:
    from senseprobe.release.release import Release

    if isinstance(result, Release):
        return _results_below(RESULTS / result.manifest.name)
    if not isinstance(result, str | Path):
        return [result]
    path, name = Path(result), str(result)
    if path.is_dir():
        return _results_below(path)
    if path.suffix == ".json" or path.exists():
        return [path]
    named = name if name in project.list_releases() else project.newest_release(name)
    return [path] if named is None else _results_below(RESULTS / named)


def _results_below(folder: Path) -> list[Path]:
    """Return the results in a folder and those below it, sorted; other files are left out. ResultError without any."""
    from senseprobe.evaluate.result import looks_like_result

    if not (files := sorted(filter(looks_like_result, folder.rglob("*.json")))):
        raise ResultError(f"no results in {folder}: `senseprobe score MODEL RELEASE` writes results there")
    return files


def gather_sources(
    sources: Sequence[Path | Result], release: ReleaseNames, *, checked: bool = True
) -> list[ReportInput]:
    """Return results with what belongs to them, as `gather_inputs` finds it, their figures `checked`."""
    from senseprobe.evaluate.reporting.inputs import gather_inputs

    return gather_inputs(sources, release, checked=checked)


def _gather(sources: Sequence[Path | Result], release: ReleaseNames, *, checked: bool = True) -> list[ReportInput]:
    """Return results with what belongs to them; ResultError where no preference can be read of their pairs."""
    from senseprobe.evaluate.reporting.inputs import require_preferences

    inputs = gather_sources(sources, release, checked=checked)
    require_preferences(inputs)
    return inputs


def refuse_results(path: Path, sources: Sequence[Path | Result]) -> None:
    """Raise ResultError where a page would be written over a result, or over its table of scores."""
    files = [source for source in sources if isinstance(source, Path) and source.name]
    protected = {os.path.realpath(file) for source in files for file in (source, source.with_suffix(".parquet"))}
    real = Path(os.path.realpath(path))  # a link is written through
    if {path.suffix, real.suffix} & {".json", ".parquet"} or str(real) in protected:
        raise ResultError(f"{path} is the name of a result: a page ends in .html or .md")
    if real.suffix in _OTHER_FORMATS:
        raise ResultError(f"no {real.suffix} is written: a page is HTML, or Markdown where its name ends in .md")


def write_page(path: Path, document: Document, *, markdown: bool = False) -> None:
    """Write a page whole, as Markdown where its name ends so. Raises ResultError where it cannot be written."""
    from senseprobe.document import render_html, render_markdown

    write_text(path, render_markdown(document) if markdown or path.suffix == ".md" else render_html(document))


def write_text(path: Path, text: str) -> None:
    """Write a text whole, control characters of others escaped. Raises ResultError where it cannot be written."""
    from senseprobe.atomic_files import write_whole

    text = _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)
    try:
        write_whole(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror}") from error
