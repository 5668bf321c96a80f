"""The report of results: verdicts first, then charts that answer questions, all figures, and last the method."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps

from senseprobe.document import Cell, Document, Level, Section, Table, name_cells, table_section
from senseprobe.errors import ResultError
from senseprobe.evaluate.declaration import Declaration
from senseprobe.evaluate.estimands import CATALOGUE, RETIRED_ESTIMANDS, find
from senseprobe.evaluate.estimands.control_rank import ControlRank
from senseprobe.evaluate.reporting import association_charts, association_tables, figure_charts
from senseprobe.evaluate.reporting.comparison_answer import compared_section
from senseprobe.evaluate.reporting.comparison_section import comparison_sections
from senseprobe.evaluate.reporting.control_ranks import rank_sections
from senseprobe.evaluate.reporting.figure_tables import contrast_section, figure_section
from senseprobe.evaluate.reporting.finding import name_model
from senseprobe.evaluate.reporting.fitness_section import fitness_section
from senseprobe.evaluate.reporting.inputs import ReleaseKey, ReportInput, list_removals
from senseprobe.evaluate.reporting.row_browser import row_section
from senseprobe.evaluate.reporting.row_tables import explain_counts, filler_section, word_section
from senseprobe.evaluate.reporting.scope import ModelComparison, Page, ReportScope, SectionBuilder, complete_page
from senseprobe.evaluate.reporting.significance import (
    control_section,
    equivalence_section,
    polarity_section,
)
from senseprobe.evaluate.reporting.verdict_section import caveat_section, verdict_section
from senseprobe.evaluate.reporting.verdict_table import judge
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import capitalized, listed

CERTAINTY = (
    "Each interval is a nominal 95 % interval over the words or frames that could have been chosen instead. Of "
    "many intervals, some miss by chance. They do not extend to other languages, groups or meanings."
)


def build_report(
    inputs: Sequence[ReportInput],
    comparisons: Sequence[ModelComparison] = (),
    level: Level = "full",
    ranks: Sequence[ControlRank] = (),
) -> Document:
    """Return the report of results, a part for each release (association tests in a separate part), with comparisons.

    `ranks` rank the change from the first result to the second among controls. A terminal and a pull request show the
    ``brief`` report: verdicts and figures, or the differences of compared models. Raises ResultError without results.
    """
    if not inputs:
        raise ResultError("no results to report")
    releases: dict[tuple[ReleaseKey, bool], list[ReportInput]] = {}
    inputs = [judge(source) for source in inputs]
    for source in inputs:
        releases.setdefault((source.release_key, KINDS[source.kind].tests), []).append(source)
    scopes = [
        ReportScope(inputs=members, comparisons=comparisons, level=level, ranks=ranks) for members in releases.values()
    ]
    models = [*dict.fromkeys(name_model(str(source.result.model["name"])) for source in inputs)]
    named = " and ".join(models) if len(models) == 2 else listed(models)
    parts = []
    for scope in scopes:
        page = "tests" if KINDS[scope.inputs[0].kind].tests else "pairs"
        if scope.is_brief:
            page = "brief-models" if scope.comparisons else f"brief-{page}"
        parts.append(scope.build_part(complete_page(page, PAGES[page])))
    return Document(
        title=f"{named} on {listed(dict.fromkeys(name for (name, _), _ in releases))}",
        subtitle=_describe_results(scopes),
        warning=" ".join(dict.fromkeys(scope.content_warning for scope in scopes)),
        parts=tuple(parts),
        signatures=tuple(source.result.signature for source in inputs),
    )


def build_brief(inputs: Sequence[ReportInput]) -> Section:
    """Return the verdicts of results, on one release or several, as one table: short enough for a pull request."""
    section = verdict_section(ReportScope(inputs=[judge(source) for source in inputs], level="brief"))
    return replace(section, paragraphs=(*section.paragraphs, *list_removals(inputs)))


def _describe_results(scopes: Sequence[ReportScope]) -> str:
    """Return the titles of releases, the dates of scoring and the scorers."""
    inputs = [source for scope in scopes for source in scope.inputs]
    titles = dict.fromkeys(str(scope.card.get("title", "")) for scope in scopes)
    names = dict.fromkeys(source.result.scorer for source in inputs)
    scorers = [f"{name} ({SCORERS[name].title})" if name in SCORERS else name for name in names]
    days = sorted({source.result.date for source in inputs if source.result.date})
    scored = f"scored {days[0]}" + (f" to {days[-1]}" if len(days) > 1 else "") if days else ""
    return " · ".join(filter(None, (*titles, scored, f"by {listed(scorers)}")))


# --- Charts ---------------------------------------------------------------------------------------------------------


def leading_sections(scope: ReportScope) -> tuple[Section, Section]:
    """Return the charts of headline figures and the control; the control comes first if all figures are collapsed."""
    control = replace(control_section(scope), charts=tuple(figure_charts.plot_control(scope.inputs)))
    verdicts = [verdict for source in scope.inputs for verdict in source.verdicts or ()]
    charts = tuple(figure_charts.plot_headlines(scope.inputs, scope.rows, verdicts))
    if control and all(chart.closed for chart in charts):
        return control, Section("Further figures", charts=charts)
    return Section("Direction and size", charts=charts), control


def group_section(scope: ReportScope) -> Section:
    """Return the charts of the figures of groups."""
    return Section("Groups", charts=tuple(figure_charts.plot_groups(scope.inputs, scope.rows)))


def answer_section(scope: ReportScope) -> Section:
    """Return the charts of the labels that models of inference answer with."""
    return Section("Answers", charts=tuple(figure_charts.plot_classes(scope.inputs)))


def pair_section(scope: ReportScope) -> Section:
    """Return the charts of pairs of words."""
    charts = tuple(figure_charts.plot_words(scope.inputs))
    return Section("Which words", explain_counts(scope.inputs) if charts else (), charts=charts)


def distance_section(scope: ReportScope) -> Section:
    """Return the charts of score differences, and of two scorers against each other."""
    histograms, scatters = figure_charts.plot_differences(scope.inputs), figure_charts.plot_scorers(scope.inputs)
    return Section("Score differences", charts=(*histograms, *scatters))


def warn_of_failing(build: SectionBuilder) -> SectionBuilder:
    """Return the builder of a section on rows that begins with warnings on failed gates."""

    @wraps(build)
    def build_with_failing(scope: ReportScope) -> Iterator[Section]:
        for section in scope.list_sections(build):
            yield replace(section, paragraphs=(*scope.failing, *section.paragraphs)) if section else section

    return build_with_failing


def association_sections(scope: ReportScope) -> Iterator[Section]:
    """Yield the tables of Tan and Celis (2019), the charts of tests, and each test with its words."""
    tested = association_tables.tested_inputs(scope)
    if scope.is_brief:
        yield association_tables.single_test_section(tested, brief=True)
        return
    yield association_tables.proportion_section(tested)
    yield association_tables.level_section(tested)
    yield association_charts.intersection_section(tested)
    yield association_charts.word_section(tested)
    yield association_tables.single_test_section(tested)


# --- Method: what was measured, and what figures say ----------------------------------------------------------------


def method_section(scope: ReportScope) -> Section:
    """Return the section on the release, on intervals and zero, and on each scorer."""
    card = scope.card
    texts = [str(card[key]) for key in ("title", "measured", "out_of_scope") if card.get(key)]
    paragraphs = [f"{text}{'' if text.endswith('.') else '.'}" for text in texts]
    if len(paragraphs) == 3:
        paragraphs[2] = f"Not for: {paragraphs[2]}"
    kinds = {estimand.kind for row in scope.rows if (estimand := find(row.estimand))}
    zero = [KINDS[kind].zero for kind in sorted(kinds) if KINDS[kind].zero]
    scorers = [*filter(None, map(SCORERS.get, dict.fromkeys(source.result.scorer for source in scope.inputs)))]
    table = Table(
        caption="Scorers: the number of each sentence",
        headings=("scorer", "is", "cannot say", "from"),
        rows=_list_words(scorers, lambda scorer: Cell(scorer.says, f"in {scorer.unit}; {scorer.direction}")),
    )
    return Section("Method", (*paragraphs, CERTAINTY, *zero), tables=(table,) if scorers else (), closed=True)


def declaration_section(scope: ReportScope) -> Section:
    """Return what each figure on the page says and cannot say."""
    controls = (figure for source in scope.inputs for result in source.controls for figure in result.figures)
    used = dict.fromkeys([*(row.estimand for row in scope.rows), *(figure.estimand for figure in controls)])
    order = [*CATALOGUE, *RETIRED_ESTIMANDS]
    declared = filter(None, (find(name) or RETIRED_ESTIMANDS.get(name) for name in used))
    estimands = sorted(declared, key=lambda estimand: order.index(estimand.id.partition(":")[0]))
    table_rows = _list_words(estimands, lambda figure: Cell(f"{figure.says} {capitalized(figure.direction)}."))
    title, headings = "What each figure means", ("figure", "says", "cannot say", "from")
    return replace(table_section(title, (), [Table(title, headings, table_rows)]), closed=True)


def _list_words(
    declared: Iterable[Declaration], explain: Callable[[Declaration], Cell]
) -> tuple[tuple[Cell, ...], ...]:
    """Return a row for each declaration: its id, what `explain` makes of it, its limits and its source."""
    return tuple(
        (
            *name_cells(declaration.id),
            explain(declaration),
            Cell(declaration.cannot_say),
            Cell.quiet(f"{declaration.source}: {declaration.equation}" if declaration.equation else declaration.source),
        )
        for declaration in declared
    )


PAGES: Mapping[str, Page] = {
    "pairs": (
        rank_sections,
        compared_section,
        comparison_sections,
        verdict_section,
        leading_sections,
        group_section,
        warn_of_failing(answer_section),
        warn_of_failing(filler_section),
        warn_of_failing(pair_section),
        warn_of_failing(distance_section),
        warn_of_failing(row_section),
        figure_section,
        contrast_section,
        warn_of_failing(polarity_section),
        warn_of_failing(equivalence_section),
        word_section,
        fitness_section,
        method_section,
        declaration_section,
    ),
    "tests": (
        rank_sections,
        compared_section,
        comparison_sections,
        verdict_section,
        association_sections,
        method_section,
        declaration_section,
    ),
    "brief-pairs": (verdict_section, caveat_section, figure_section, fitness_section),
    "brief-tests": (verdict_section, caveat_section, association_sections),
    "brief-models": (rank_sections, compared_section, comparison_sections, control_section, caveat_section),
}
"""The sections of a part: on rows of pairs or inference, on association tests, and of the brief reports."""
