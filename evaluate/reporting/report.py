"""The report of results: its sections in order, from the summary to what each figure can and cannot say."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from senseprobe.errors import ResultError
from senseprobe.evaluate import caveats
from senseprobe.evaluate.estimands import CATALOGUE
from senseprobe.evaluate.reporting import figure_tables, row_tables, sections, significance
from senseprobe.evaluate.reporting.document import Cell, Document, Section, Table, name_cells
from senseprobe.evaluate.reporting.figure_tables import FigureRow
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.messages import counted

WARNING = (
    "The rows may state stereotypes. They are wrong and hurtful; they are there to measure what models make of them."
)
CERTAINTY = (
    "Intervals are nominal 95 %, over the words or frames that could have been chosen instead (the last column says "
    "which); they say nothing of other languages, groups or meanings."
)
ZERO = (
    "In points: a preference of 0 is half of the pairs, 50 all of them. Where two sentences differ in a word of praise "
    "or blame, no value is known to mean that there is no bias: read the relative figures there."
)
ZERO_OF_INFERENCE = (
    "In points of 100: on pairs of which neither sentence follows from the other, nn, fn and t of a model that infers "
    "nothing are 100, and plain errors lower them as bias does. Of gap, 0 means that both genders are inferred alike."
)


def build_report(inputs: Sequence[ReportInput], comparisons: Sequence[significance.ModelComparison] = ()) -> Document:
    """Return the report of results on one release, with comparisons of their models; raise ResultError without any."""
    if not inputs:
        raise ResultError("no results to report")
    rows, biases, card = figure_tables.build_figure_rows(inputs), _read_biases(inputs[0]), _read_card(inputs[0])
    labels, warning = tuple(source.label for source in inputs), str(card.get("content_warning") or WARNING)
    parts = (
        sections.build_summary(inputs, rows),
        _build_measured_section(inputs, card),
        _build_certainty_section(rows),
        sections.build_fitness_section(inputs),
        significance.build_comparison_section(comparisons, labels),
        figure_tables.build_bias_section(rows, biases, [source.result.fitness for source in inputs]),
        *figure_tables.build_sense_sections(rows, biases),
        figure_tables.build_contrast_section(rows),
        significance.build_control_section(inputs),
        row_tables.build_filler_section(inputs),
        significance.build_polarity_section(inputs),
        significance.build_equivalence_section(inputs),
        row_tables.build_word_section(inputs),
        row_tables.build_row_section(inputs, warning),
        _build_declaration_section(inputs, rows),
    )
    return Document(
        title=str(inputs[0].result.release["name"]),
        warning=warning,
        labels=labels,
        sections=tuple(filter(None, parts)),
        signatures=tuple(source.result.signature for source in inputs),
    )


def _read_card(source: ReportInput) -> Mapping[str, Any]:
    return {} if source.release is None else dict(source.release.manifest.data["card"])


def _read_biases(source: ReportInput) -> dict[str, str]:
    """Return the kind of bias of each config that is about any; empty without the release."""
    if source.release is None:
        return {}
    biases = {config: source.release.design(config).bias_type for config in source.release.configs}
    return {config: bias for config, bias in biases.items() if bias != "none"}


def _build_measured_section(inputs: Sequence[ReportInput], card: Mapping[str, Any]) -> Section:
    texts = [str(card[key]) for key in ("title", "measured", "out_of_scope") if card.get(key)]
    paragraphs = [f"{text}{'' if text.endswith('.') else '.'}" for text in texts]
    if len(paragraphs) == 3:
        paragraphs[2] = f"Not for: {paragraphs[2]}"
    paragraphs += [
        f"{source.label}: only {counted(source.result.limit, 'row')}, drawn by seed {source.result.seed}."
        for source in inputs
        if source.result.limit is not None
    ]
    for describe in (caveats.flipped_text, caveats.unscored_text):
        paragraphs += [f"{source.label}: {clause}." for source in inputs if (clause := describe(source.result))]
    paragraphs += [_describe_planted(source) for source in inputs if "planted" in source.result.model]
    paragraphs += _describe_missing(inputs)
    return Section(title="What was measured", paragraphs=tuple(paragraphs), tables=tuple(_build_scorer_table(inputs)))


def _describe_planted(source: ReportInput) -> str:
    share = source.result.model["planted"]
    try:
        share = f"{100 * float(share):.0f} %"
    except ValueError:
        share = f"a share ({share})"
    return (
        f"{source.result.scorer} is not a score but the truth: the model was made to see {share} of the stereotypes "
        "more often than what they are compared with, and the others less often. A sentence counts as the logarithm "
        "of how often it was seen."
    )


def _describe_missing(inputs: Sequence[ReportInput]) -> Iterator[str]:
    """Yield what is missing, with the names of the results where it is not missing for all of them."""
    labels: dict[str, list[str]] = {}
    for source in inputs:
        for sentence in source.missing:
            labels.setdefault(sentence, []).append(source.label)
    for sentence, names in labels.items():
        yield sentence if len(names) == len(inputs) else f"{', '.join(names)}: {sentence}"


def _build_scorer_table(inputs: Sequence[ReportInput]) -> Iterator[Table]:
    names = dict.fromkeys(source.result.scorer for source in inputs)
    rows = tuple(
        (
            *name_cells(scorer.id),
            Cell(text=scorer.description, note=f"in {scorer.measure}; {scorer.direction}"),
            Cell(text=scorer.cannot_say),
            Cell(text=f"{scorer.paper}: {scorer.equation}", kind="quiet"),
        )
        for scorer in (SCORERS[name] for name in names if name in SCORERS)
    )
    if rows:
        yield Table(caption="The numbers of a sentence", headings=("scorer", "is", "cannot say", "from"), rows=rows)


def _build_certainty_section(rows: Sequence[FigureRow]) -> Section:
    kinds = {CATALOGUE[row.estimand].kind for row in rows if row.estimand in CATALOGUE}
    zero = [text for kind, text in (("contrast", ZERO), ("inference", ZERO_OF_INFERENCE)) if kind in kinds]
    plots = tuple(figure_tables.plot_overview(rows))
    return Section(title="How sure it is, and what zero means", paragraphs=(CERTAINTY, *zero), plots=plots)


def _build_declaration_section(inputs: Sequence[ReportInput], rows: Sequence[FigureRow]) -> Section:
    """Return the section of what each figure on the page says and cannot say."""
    controls = (figure for source in inputs for result in source.controls for figure in result.figures)
    used = {row.estimand for row in rows} | {figure.estimand for figure in controls}
    table_rows = tuple(
        (
            *name_cells(estimand.id),
            Cell(text=f"{estimand.says} {estimand.direction[:1].upper()}{estimand.direction[1:]}."),
            Cell(text=estimand.cannot_say),
            Cell(text=estimand.source, kind="quiet"),
        )
        for estimand in CATALOGUE.values()
        if estimand.id in used
    )
    title = "What each figure can and cannot say"
    table = Table(caption=title, headings=("figure", "says", "cannot say", "from"), rows=table_rows)
    return Section(title=title, tables=(table,) if table_rows else ())
