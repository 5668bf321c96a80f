"""Read results, report them, compare models, and look at parts of a result.

A result is given as a file (``RESULT.json``) or as a `Result` that `score` returned; where several may stand, also as a
folder of results, or as a release (its name, or itself) whose results lie in the folder ``results``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from senseprobe import project
from senseprobe.api.pages import refuse_results, write_page
from senseprobe.errors import ResultError
from senseprobe.messages import listed
from senseprobe.options import RELEASES_OF_RESULTS, Argument, Option
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    import pandas as pd

    from senseprobe.document import Document, Section
    from senseprobe.evaluate.estimands.control_rank import ControlRank
    from senseprobe.evaluate.reporting.gate import GateResult
    from senseprobe.evaluate.reporting.inputs import ReportInput
    from senseprobe.evaluate.reporting.row_tables import ResultSlice
    from senseprobe.evaluate.reporting.scope import ModelComparison
    from senseprobe.evaluate.result import Result
    from senseprobe.release.release import Release

    ResultSource: TypeAlias = str | Path | Result | Release
    ReleaseNames: TypeAlias = str | Sequence[str] | None

RESULTS = Path("results")
"""The folder that results are written below where nothing else is said."""
MARKDOWN = Option("--markdown", help="Write Markdown, also if --out does not end in .md.")


def load_result(path: str | Path) -> Result:
    """Read a result file, with the scores of its rows, their tokens and the words of tests if they lie beside it.

    Raises ResultError if the file is not a result of senseprobe, or a table does not belong to it.
    """
    from senseprobe.evaluate.result import read_result
    from senseprobe.evaluate.score_tables import read_result_tables

    path = Path(path)
    return read_result_tables(path, read_result(path))


@with_progress("reporting")
def report(
    results: Annotated[
        ResultSource | Sequence[ResultSource],
        Argument(
            type=list[Path],
            metavar="RESULT.json",
            help="Results, a folder of results, or a release with results in results/; for inference also those on "
            "nli-control.",
        ),
    ],
    out: Annotated[
        str | Path | None, Option("--out -o", metavar="FILE", help="Write this page. Default: report.html.")
    ] = None,
    *,
    release: Annotated[ReleaseNames, RELEASES_OF_RESULTS] = None,
    markdown: Annotated[bool, MARKDOWN] = False,
    note: Annotated[str, Option(metavar="TEXT", help="Print this sentence at the head of the page.")] = "",
    say: Callable[[str], None] | None = None,
) -> Path:
    """Write one self-contained HTML or Markdown page about one or several results.

    Returns its path. `say` gets a message if the page cannot show the sentences of a release, because the release
    is not on this machine. Raises ResultError if results are damaged or the page cannot be written.
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
    from senseprobe.document import render_section
    from senseprobe.evaluate.reporting.inputs import without_controls
    from senseprobe.evaluate.reporting.report import build_brief

    return render_section(build_brief(without_controls(_gather(list_sources(results), release))))


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

    `inputs` are the results with their rows, `pairs` the differences: of the first less the second, in points. `ranks`
    are those of the changes from the first to the second among controls, where there are any.
    """

    inputs: tuple[ReportInput, ...]
    pairs: tuple[ModelComparison, ...]
    ranks: tuple[ControlRank, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return the differences as a table: a row for each figure of each pair of models."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for pair in self.pairs:
            labels = {side: self.inputs[number - 1].label for side, number in (("first", pair.a), ("second", pair.b))}
            rows += [{**labels, **difference.as_dict()} for difference in pair.comparisons]
        return pd.DataFrame(rows)

    def as_dict(self) -> dict[str, Any]:
        """Return what ``senseprobe compare --json`` prints."""
        results = [{"signature": i.result.signature, "model": dict(i.result.model)} for i in self.inputs]
        ranks = {"ranks": [rank.as_dict() for rank in self.ranks]} if self.ranks else {}
        return {"results": results, "differences": [pair.as_dict() for pair in self.pairs], **ranks}

    def document(self) -> Document:
        """Return what ``senseprobe compare`` prints: in what the models differ, and whether they can be read."""
        from senseprobe.evaluate.reporting.report import build_report

        return build_report(self.inputs, self.pairs, "brief", self.ranks)

    def __repr__(self) -> str:
        """Return the models and how many figures were compared, in a line."""
        figures = sum(len(pair.comparisons) for pair in self.pairs)
        return f"<Comparison of {', '.join(source.label for source in self.inputs)}: {figures} differences>"

    def _repr_html_(self) -> str:
        columns = ["first", "second", "config", "estimand", "group", "difference", "low", "high", "p_holm"]
        return str(self.to_frame()[columns].to_html(index=False, na_rep=""))


@with_progress("comparing")
def compare(
    *results: Annotated[
        ResultSource | Sequence[ResultSource],
        Argument(type=list[Path], metavar="RESULT.json", help="Results of 2 to 8 models with the same scorer."),
    ],
    out: Annotated[
        str | Path | None, Option("--out -o", metavar="FILE", help="Write the comparison as a page, .html or .md.")
    ] = None,
    release: Annotated[ReleaseNames, RELEASES_OF_RESULTS] = None,
    markdown: Annotated[bool, MARKDOWN] = False,
    control: Annotated[
        Sequence[ResultSource],
        Option(
            type=list[Path],
            metavar="RESULT|FOLDER",
            help="Rank the change from the first result to the second among those from the first to these: a result or "
            "a folder of results, of copies that something at random was done to; may be repeated.",
        ),
    ] = (),
) -> Comparison:
    """Compare models pair by pair on the same rows, with intervals and p-values.

    Pass results one by one, `compare(a, b)`, or in a list. With `out` it also writes a page, like `report`. With
    `control`, of which each may be a folder of results, the two results are a model before and after. Raises
    ResultError if results have different scorers or rows, or if the release or the rows are not available.
    """
    from senseprobe.evaluate.reporting.control_ranks import rank_changes
    from senseprobe.evaluate.reporting.inputs import without_controls
    from senseprobe.evaluate.reporting.report import build_report
    from senseprobe.evaluate.reporting.significance import compare_results

    sources = [source for result in results for source in list_sources(result)]
    if out is not None:
        refuse_results(Path(out), sources)
    inputs = without_controls(_gather(sources, release))
    pairs, ranks = compare_results(inputs), list["ControlRank"]()
    if of_controls := [source for item in control for source in list_sources(item)]:
        if len(inputs) != 2:
            raise ResultError(f"controls are of a change, from one result to another: give two, not {len(inputs)}")
        ranks = rank_changes(inputs[0], inputs[1], without_controls(_gather(of_controls, release)))
    if out is not None:
        write_page(Path(out), build_report(inputs, pairs, ranks=ranks), markdown=markdown)
    return Comparison(tuple(inputs), tuple(pairs), tuple(ranks))


@with_progress("comparing")
def gate(
    result: Annotated[
        ResultSource, Argument(type=Path, metavar="RESULT.json", help="The result of the model to check.")
    ],
    against: Annotated[
        ResultSource,
        Option(type=Path, metavar="BASELINE.json", help="The result of the baseline model."),
    ],
    margin: Annotated[float, Option(metavar="POINTS", help="Allowed growth of the distance from neutral.")] = 5.0,
    *,
    figures: Annotated[
        Sequence[str],
        Option(
            "--figure",
            metavar="NAME",
            help="Gate this config or figure; may be repeated. Default: the headline of each config.",
        ),
    ] = (),
    release: Annotated[ReleaseNames, RELEASES_OF_RESULTS] = None,
) -> GateResult:
    """Fail if a model is farther from neutral than a baseline by more than a margin, beyond chance.

    Only figures with a neutral value can be gated. Raises ResultError if the two results differ in scorer,
    definition or rows, if one fails its control, or if nothing can be gated.
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

    def sections(self) -> Iterator[Section]:
        """Yield what ``senseprobe study slice`` prints: figures of each slice, and the control of inference."""
        from senseprobe.document import Section
        from senseprobe.evaluate.reporting.row_tables import slice_sections
        from senseprobe.evaluate.reporting.scope import ReportScope
        from senseprobe.evaluate.reporting.significance import control_section

        yield from slice_sections(self, self.source)
        yield control_section(ReportScope(inputs=[self.source], level="brief"))
        yield Section("", (self.source.result.signature,))


@with_progress("slicing")
def slice_result(
    result: Annotated[
        ResultSource,
        Argument(type=Path, metavar="RESULT.json", help="A result with its table of scores next to it."),
    ],
    words: Annotated[
        Mapping[str, str | Sequence[str]] | Sequence[str],
        Argument(
            type=list[str],
            metavar="SLOT=WORD",
            help="A slot and a word in it, for example quality=rude; a slot given twice matches either word.",
        ),
    ] = (),
    *,
    largest: Annotated[
        str | None,
        Option(
            metavar="LABEL",
            help="Also print the words with the largest mean of this label: entailment, contradiction or neutral.",
        ),
    ] = None,
    by: Annotated[
        Sequence[str],
        Option(
            metavar="COLUMN",
            help="Make a slice for each level of a slot, of a column of the rows, or of SLOT.COLUMN of a word list; "
            "may be repeated. With --largest, group its means by this (default: the words that differ).",
        ),
    ] = (),
    count: Annotated[int, Option(metavar="N", least=1, help="Number of words that --largest prints.")] = 6,
    release: Annotated[ReleaseNames, RELEASES_OF_RESULTS] = None,
) -> SlicedResult:
    """Compute figures for the rows with certain words, or for each level of a column.

    `words` can also be ``{"quality": "rude", "demonym": ["Iraqi", "Syrian"]}``. With several columns in `by`, there
    is one slice for each combination of their levels; `frame` is such a column too, and numbers are divided into
    thirds of the words. Raises ResultError if the result does not have such rows or columns.
    """
    from senseprobe.evaluate.estimands.slices import parse_slice
    from senseprobe.evaluate.reporting.row_tables import compute_slices
    from senseprobe.evaluate.reporting.verdict_table import find_flaws

    if isinstance(words, Mapping):
        values = {slot: [value] if isinstance(value, str) else value for slot, value in words.items()}
        words = [f"{slot}={value}" for slot, levels in values.items() for value in levels]
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
    scored = replace(source.result.scored, tables={**source.tables, **tables})
    return replace(source, result=replace(source.result, scored=scored))


def summarize_results(results: Sequence[Result], out: str | Path, release: str | None = None) -> Document:
    """Return what ``senseprobe score`` prints of results that were written below `out`: a report, brief.

    `release` is as of `describe_scored`.
    """
    from senseprobe.evaluate.reporting.inputs import gather_scored
    from senseprobe.evaluate.reporting.report import build_report

    return build_report(gather_scored(results, Path(out), release), level="brief")


def result_paths(results: Sequence[Result], out: str | Path) -> list[Path]:
    """Return where results that were written below `out` are."""
    from senseprobe.evaluate.result import folder_of

    names = ((result, str(result.release["name"]), result.model["name"]) for result in results)
    return [result.path_in(folder_of(Path(out), release, model)) for result, release, model in names]


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
