"""Comparisons of figures: with another model, a margin around the neutral value, random polarity, the control."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from senseprobe.document import Cell, Section, Table, name_cells, table_section
from senseprobe.errors import ResultError
from senseprobe.evaluate.control import RELEASE, is_probe
from senseprobe.evaluate.estimands import contrast_figures, lookup
from senseprobe.evaluate.estimands.association_comparison import compare_tests, read_tests
from senseprobe.evaluate.estimands.comparison import Comparison, compare_all
from senseprobe.evaluate.estimands.equivalence import CONFIDENCE, Equivalence, Margin, equivalence, equivalences
from senseprobe.evaluate.estimands.multiple_testing import NULLS, corrected, without_single
from senseprobe.evaluate.estimands.permutation_null import PolarityNull, polarity_null
from senseprobe.evaluate.estimands.preference import labelled_pairs
from senseprobe.evaluate.reporting import notation
from senseprobe.evaluate.reporting.figure_tables import build_figure_cell
from senseprobe.evaluate.reporting.inputs import NOT_COMPARABLE, ReportInput, require_same_release
from senseprobe.evaluate.reporting.scope import ModelComparison, ReportScope, align
from senseprobe.evaluate.task_gates import CONTROL
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import counted
from senseprobe.records import Figure

MAX_MODELS = 8
"""They make 28 pairs; p-values are corrected within each pair, and not for the number of pairs."""


# --- Models against each other --------------------------------------------------------------------------------------


def compare_results(inputs: Sequence[ReportInput]) -> list[ModelComparison]:
    """Compare every pair of results on their rows by `compare_all`, with the release's margin.

    Raises ResultError for too few or too many results, for results of different scorers, definitions or rows, and if
    the release or a table of scores is not available: a comparison needs the words of the rows.
    """
    if not 2 <= len(inputs) <= MAX_MODELS:
        raise ResultError(f"{counted(len(inputs), 'result')} on the release: expected 2 to {MAX_MODELS} to compare")
    require_comparable(inputs)
    figures = inputs[0].result.figures
    if figures and all(lookup(figure.estimand).figures for figure in figures):
        names = ", ".join(dict.fromkeys(figure.estimand for figure in figures))
        raise ResultError(f"models cannot be compared on {names}: figures of plug-ins have no test of two models")
    pairs = combinations(enumerate(inputs, start=1), 2)
    return [ModelComparison(a=i, b=j, comparisons=tuple(compare_pair(a, b))) for (i, a), (j, b) in pairs]


def require_comparable(inputs: Sequence[ReportInput]) -> None:
    """Raise ResultError for results of different releases, scorers, definitions or rows, or without their rows."""
    require_same_release(inputs)
    if len(scorers := {source.result.scorer for source in inputs}) > 1:
        raise ResultError(
            f"the results are of {' and '.join(sorted(scorers))}, and numbers of two scorers are not on one scale: "
            "compare results of one scorer"
        )
    if len({source.result.scale for source in inputs}) > 1:
        raise ResultError("the results have numbers on different scales (log, probability): score the models again")
    definitions: dict[str, dict[int, str]] = {}
    for source in inputs:
        figures = ((figure.estimand, figure.definition) for figure in source.result.figures)
        for name, version in ((source.result.scorer, source.result.scorer_version), *figures):
            definitions.setdefault(name, {}).setdefault(version, source.label)
    for name, labels in definitions.items():
        if len(labels) > 1:
            versions = ", ".join(f"{version} in {label}" for version, label in sorted(labels.items()))
            raise ResultError(f"the results have different definitions of {name} ({versions}): score the models again")
    for source in inputs:
        if not source.has_numbers:
            raise ResultError(f"cannot compare {source.label}: {' '.join(source.missing) or 'it has no rows'}")
        if not source.is_comparable:
            raise ResultError(f"cannot compare {source.label}: {NOT_COMPARABLE}")
    if len({(source.result.release["config"], source.result.limit) for source in inputs}) > 1:
        raise ResultError("the results are on different rows: some are of one config, or of a sample (--limit)")


def compare_pair(a: ReportInput, b: ReportInput) -> Iterator[Comparison]:
    """Yield everything in which two comparable results differ, the first less the second."""
    if a.result.words is not None and b.result.words is not None:
        yield from compare_tests(read_tests(a.result.words), read_tests(b.result.words), seed=a.result.seed)
        return
    if a.release is None:  # for mypy: `require_comparable` has refused it
        return
    designs = {config: a.scored_design(config, a.release) for config in a.tables}
    contrasts, margin = a.release.manifest.contrasts, read_margin([a])
    seed, scale = a.result.seed, a.result.scale
    yield from compare_all(a.tables, b.tables, designs, contrasts, margin=margin, seed=seed, scale=scale)


# --- Equivalence ----------------------------------------------------------------------------------------------------


def read_margin(inputs: Sequence[ReportInput]) -> Margin | None:
    """Return the release's margin of equivalence; None if it does not have one, or without the release."""
    release = inputs[0].release
    return None if release is None else Margin.of(release.manifest.data["card"])


def equivalence_section(scope: ReportScope) -> Section:
    """Return which figures lie within the release's margin of their neutral value."""
    title = "Close to the neutral value?"
    margin = read_margin(scope.inputs)
    if margin is None or not any(source.tables for source in scope.inputs):
        return Section(title)
    parts = (assess_equivalence(source, margin) for source in scope.inputs)
    answers = align([[((a.config, a.estimand, a.group), a) for a in part if a.neutral is not None] for part in parts])
    text = (
        f"A figure is close to its neutral value if its 90 % interval lies within {margin.text} of it. {margin.reason} "
        "If this is not shown, the model may be biased or not."
    )
    figures = (figure for source in scope.inputs for figure in source.result.figures if figure.neutral is None)
    promised = dict.fromkeys((f.config, f.estimand) for f in figures if lookup(f.estimand).has_interval)
    without = [" ".join(name) for name in promised if name not in {key[:2] for key in answers}]
    rest = f"Not tested, because their neutral value is not known: {', '.join(without)}." if without else ""
    rows = tuple(
        (*name_cells(config, estimand, group or ""), *map(_build_answer_cell, cells, scope.inputs))
        for (config, estimand, group), cells in answers.items()
    )
    headings = ("config", "figure", "group", *range(len(scope.inputs)))
    tables = (Table(title, headings, rows, closed=len(rows) > 20),) if rows else ()
    return Section(title, tuple(filter(None, (text, rest))), tables=tables)


def assess_equivalence(source: ReportInput, margin: Margin, only: str = "") -> Iterator[Equivalence]:
    """Yield whether each figure of each config, and each matched contrast, is equivalent to its neutral value.

    `only`: of the config, or the contrast, of that name.
    """
    release, seed, scale = source.release, source.result.seed, source.result.scale
    if release is None:
        return
    for config in (config for config in source.tables if only in ("", config)):
        table, design = source.tables[config], source.scored_design(config, release)
        in_points = (name for name in design.estimands if lookup(name).unit == "points")  # as the margin is
        design = replace(design, estimands=tuple(in_points))
        if KINDS[design.kind].infers:  # estimands without a neutral value take long to compute
            neutral = (name for name in design.estimands if lookup(name).neutral is not None)
            design = replace(design, estimands=tuple(neutral))
        yield from equivalences(table, design, config, margin, seed=seed, scale=scale)
    for contrast in (contrast for contrast in release.manifest.contrasts if only in ("", contrast.name)):
        if contrast.a in source.tables and contrast.b in source.tables:
            a, b = ((source.tables[name], source.scored_design(name, release)) for name in (contrast.a, contrast.b))
            figures = contrast_figures(contrast, *a, *b, seed=seed, confidence=CONFIDENCE, scale=scale)
            yield from (equivalence(figure, margin) for figure in figures if lookup(figure.estimand).has_interval)


def _build_answer_cell(answer: Equivalence | None, source: ReportInput) -> Cell:
    if answer is None:
        return Cell("")
    if answer.config in (source.flaws or {}):
        return Cell(notation.UNREAD)
    ends = notation.format_ends(answer.low, answer.high, answer.estimand)
    return Cell.number(answer.answer, f"90 % {ends}" if ends else "no interval")


# --- Random polarity ------------------------------------------------------------------------------------------------


def polarity_section(scope: ReportScope) -> Section:
    """Return `preference-half`, and its range if words were called good and bad at random."""
    title = "If words were good and bad at random"
    results = (without_single(permute_polarity(source), NULLS) for source in scope.inputs)
    nulls = align([[(null.config, null) for null in result] for result in results])
    notes = dict.fromkeys(null.note for cells in nulls.values() for null in cells if null is not None)
    rows = tuple((*name_cells(config), *map(_build_null_cell, cells, scope.inputs)) for config, cells in nulls.items())
    headings = ("config", *range(len(scope.inputs)))
    return table_section(title, notes, [Table(title, headings, rows)])


def _build_null_cell(null: PolarityNull | None, source: ReportInput) -> Cell:
    if null is None:
        return Cell("")
    return Cell(notation.UNREAD if null.config in (source.flaws or {}) else notation.format_null(null))


def permute_polarity(source: ReportInput) -> list[PolarityNull]:
    """Return the null of each config whose polarity can be permuted; p is corrected, and equal rows count once."""
    release, result = source.release, source.result
    if release is None:
        return []
    nulls = {
        config: null
        for config, table in source.tables.items()
        if (null := polarity_null(table, release.design(config), config, seed=result.seed, scale=result.scale))
        is not None
    }
    rows = [labelled_pairs(source.tables[config]) or config for config in nulls]
    return corrected([*nulls.values()], NULLS, rows)


# --- The control of inference ---------------------------------------------------------------------------------------


def control_section(scope: ReportScope) -> Section:
    """Return each model's right answers on the control, with its figures of probes."""
    title = f"Does the model infer at all? Right answers on {CONTROL}"
    probes = [source for source in scope.inputs if is_probe(source.result)]
    if not probes:
        return Section(title)
    paragraphs = [
        "A model that always answers neutral looks perfect on these rows, and gets every pair of the control wrong."
    ]
    paragraphs += [
        f"{source.label}: the result of this model on {CONTROL} is missing. Without it, its figures may be those of a "
        f"model that always answers neutral (`senseprobe score MODEL {RELEASE}`)."
        for source in probes
        if not source.controls
    ]
    rows = []
    for source in probes:
        name = str(source.result.release["name"])
        probed = [(name, figure) for figure in source.result.figures if lookup(figure.estimand).needs_control]
        for release, figure in (*probed, *find_control_figures(source)):
            names = name_cells(source.label, release, figure.config, figure.estimand, figure.group or "")
            rows.append((*names, build_figure_cell(figure)))
    table = Table(title, headings=("model", "on", "config", "figure", "group", "points"), rows=tuple(rows))
    return Section(title, tuple(paragraphs), tables=(table,))


def find_control_figures(source: ReportInput) -> list[tuple[str, Figure]]:
    """Return the figures of the control with their releases; only of the config with the same words, if there is one.

    The dataset's name ends with the name of that config: nli-occupation with occupation.
    """
    dataset = str(source.result.release["name"]).partition("@")[0]
    figures = [(str(result.release["name"]), figure) for result in source.controls for figure in result.figures]
    same_words = [(name, figure) for name, figure in figures if figure.config and dataset.endswith(figure.config)]
    return same_words or figures
