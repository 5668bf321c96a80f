"""The report of results: its sections in order, from the summary to what each figure can and cannot say."""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from senseprobe.document import Cell, Document, Section, Table, name_cells, table_section
from senseprobe.errors import ResultError
from senseprobe.evaluate import caveats
from senseprobe.evaluate.caveats import Fitness, standing_before, unreadable_configs
from senseprobe.evaluate.control import DATASET, is_probe, same_model
from senseprobe.evaluate.estimands import CATALOGUE, find, lookup
from senseprobe.evaluate.reporting import figure_tables, notation, row_tables, significance
from senseprobe.evaluate.reporting.comparison_page import comparison_sections
from senseprobe.evaluate.reporting.figure_tables import FigureRow
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.scorers import SCORERS, counterpart
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import counted, listed
from senseprobe.records import Figure

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
    "nothing are 100, and plain errors lower them as bias does. Of gap, 0 means that both words are inferred alike."
)


def build_report(inputs: Sequence[ReportInput], comparisons: Sequence[significance.ModelComparison] = ()) -> Document:
    """Return the report of results on one release, with comparisons of their models; raise ResultError without any."""
    if not inputs:
        raise ResultError("no results to report")
    rows, release = figure_tables.build_figure_rows(inputs), inputs[0].release
    card = release.manifest.data["card"] if release else {}
    designs = {config: release.design(config) for config in release.configs} if release else {}
    biases = {config: design.bias_type for config, design in designs.items() if design.bias_type != "none"}
    labels, warning = tuple(source.label for source in inputs), str(card.get("content_warning") or WARNING)
    parts = (
        *comparison_sections(comparisons, inputs),
        build_summary(inputs, rows),
        _build_measured_section(inputs, card),
        _build_certainty_section(rows),
        _build_fitness_section(inputs),
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


# --- What was measured, and what figures say ------------------------------------------------------------------------


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
    paragraphs += [_explain_planted(source) for source in inputs if "planted" in source.result.model]
    missing: dict[str, list[str]] = {}
    for source in inputs:
        for sentence in source.missing:
            missing.setdefault(sentence, []).append(source.label)
    for sentence, names in missing.items():
        paragraphs.append(sentence if len(names) == len(inputs) else f"{', '.join(names)}: {sentence}")
    rows = tuple(
        (
            *name_cells(scorer.id),
            Cell(scorer.description, f"in {scorer.measure}; {scorer.direction}"),
            Cell(scorer.cannot_say),
            Cell.quiet(f"{scorer.paper}: {scorer.equation}"),
        )
        for name in dict.fromkeys(source.result.scorer for source in inputs)
        if (scorer := SCORERS.get(name))
    )
    table = Table(caption="The numbers of a sentence", headings=("scorer", "is", "cannot say", "from"), rows=rows)
    return Section(title="What was measured", paragraphs=tuple(paragraphs), tables=(table,) if rows else ())


def _explain_planted(source: ReportInput) -> str:
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


def _build_certainty_section(rows: Sequence[FigureRow]) -> Section:
    kinds = {found.kind for row in rows if (found := find(row.estimand))}
    zero = [text for kind, text in (("contrast", ZERO), ("inference", ZERO_OF_INFERENCE)) if kind in kinds]
    plots = tuple(figure_tables.plot_overview(rows))
    return Section(title="How sure it is, and what zero means", paragraphs=(CERTAINTY, *zero), plots=plots)


def _build_declaration_section(inputs: Sequence[ReportInput], rows: Sequence[FigureRow]) -> Section:
    """Return the section of what each figure on the page says and cannot say."""
    controls = (figure for source in inputs for result in source.controls for figure in result.figures)
    used = dict.fromkeys([*(row.estimand for row in rows), *(figure.estimand for figure in controls)])
    order = [*CATALOGUE]
    estimands = sorted(filter(None, map(find, used)), key=lambda estimand: order.index(estimand.id.partition(":")[0]))
    table_rows = tuple(
        (
            *name_cells(estimand.id),
            Cell(f"{estimand.says} {estimand.direction[:1].upper()}{estimand.direction[1:]}."),
            Cell(estimand.cannot_say),
            Cell.quiet(estimand.source),
        )
        for estimand in estimands
    )
    title, headings = "What each figure can and cannot say", ("figure", "says", "cannot say", "from")
    return table_section(title, (), [Table(title, headings, table_rows)])


# --- Fitness: what tokenizers make of the rows ----------------------------------------------------------------------

COUNTS = (
    "Counted with each model's own tokenizer, over the requested rows. A word that a tokenizer does not know is one "
    "token, the same for all such words. Two sentences of the same tokens have the same score, which explains their "
    "ties. Of two with unequal numbers of tokens, a sum over tokens favours the shorter. A config with unknown words "
    "in more than a fifth of its rows is called not readable: its figures are in the tables only."
)
FIRST_TOKENS = (
    "A causal model reads from left to right: where two sentences differ in their first token, the probability of that "
    "token depends only on what the scorer puts before it, which in training stood before much else. Without a start "
    "token the probability of the first token is not in the number, only its effect on the tokens that follow. Where "
    "the two disagree, the first token and what stands before it decide the figure with a start token."
)
COLUMNS = {
    "rows": "rows",
    "unknown": "unknown words",
    "same_tokens": "same tokens",
    "unequal_counts": "unequal numbers",
    "ties": "ties",
    "explained": "explained",
}
"""Headings of the counts of a `Fitness`, by field."""
MOST_OPEN = 24
"""Rows up to which the table is not collapsed."""


def _build_fitness_section(inputs: Sequence[ReportInput]) -> Section:
    """Return the counts of each config and result, what is not readable, and pairs that differ in their first token."""
    title = "Is the model fit to be asked?"
    with_counts = [source for source in inputs if source.result.fitness]
    paragraphs = [COUNTS] if with_counts else []
    for source in with_counts:
        reasons = unreadable_configs(source.result.fitness)
        paragraphs += [f"{source.label}: {config} is not readable: {reason}." for config, reason in reasons.items()]
    paragraphs += [
        f"{source.label}: not counted, since the tokenizer of a plug-in's model is its own."
        for source in inputs
        if "family" in source.result.model and not source.result.fitness
    ]
    rows = tuple(
        (
            *name_cells(config),
            Cell.quiet(source.label),
            *(Cell.number("" if count is None else f"{count:,}") for count in attrgetter(*COLUMNS)(fitness)),
        )
        for source in with_counts
        for config, fitness in source.result.fitness.items()
    )
    headings = ("config", "result", *COLUMNS.values())
    tables = [Table(title, headings, rows, closed=len(rows) > MOST_OPEN)]
    causal = {number: source for number, source in enumerate(inputs) if _first_token_configs(source)}
    if causal:
        paragraphs += [FIRST_TOKENS, *_suggest_counterparts(list(causal.values()), inputs)]
    configs = dict.fromkeys(config for source in causal.values() for config in _first_token_configs(source))
    rows = tuple(
        (
            *name_cells(config),
            *(_build_first_token_cell(source.result.fitness.get(config)) for source in causal.values()),
        )
        for config in configs
    )
    caption = "Pairs with another first token: preference-half of these alone"
    tables.append(Table(caption, headings=("config", *causal), rows=rows))
    return Section(title, tuple(paragraphs), tables=tuple(table for table in tables if table.rows))


def _first_token_configs(source: ReportInput) -> list[str]:
    """Return the configs of a causal model's result with pairs that differ in their first token."""
    fitness = source.result.fitness
    return [config for config, counts in fitness.items() if counts.first_token and counts.first_token.rows]


def _build_first_token_cell(fitness: Fitness | None) -> Cell:
    first = None if fitness is None else fitness.first_token
    if fitness is None or first is None or not first.rows:
        return Cell.number("")
    value = "none" if first.preference is None else notation.format_points(first.preference)
    return Cell.number(value, f"{first.rows:,} of {fitness.rows:,}, {standing_before(first)}")


def _suggest_counterparts(causal: Sequence[ReportInput], inputs: Sequence[ReportInput]) -> Iterator[str]:
    """Yield the command for each result whose counterpart, with or without a start token, is missing."""
    for source in causal:
        result, other = source.result, counterpart(source.result.scorer)
        if other and other not in {entry.result.scorer for entry in inputs if same_model(result, entry.result)}:
            rows = ":".join(filter(None, (result.release["name"], result.release["config"])))
            rows += "" if result.limit is None else f" --limit {result.limit} --seed {result.seed}"
            command = f"senseprobe score {result.model['name']} {rows} -m {other}"
            yield f"{source.label}: `{command}` gives the figures to read beside it."


# --- Summary --------------------------------------------------------------------------------------------------------

FEW = 3
"""Results that the summary describes, and figures of a kind that it names for each."""

GUESS = 50
"""Right answers on the control, in points, of a model that never says neutral and guesses otherwise."""

LEVEL = 0.05
"""Level of the tests that the summary counts."""

_HEADS = {
    "excludes": "the interval excludes the neutral value for",
    "includes": "the interval includes the neutral value for",
    "unknown": "no value is known to be neutral for",
    "bare": "there is no interval for",
    "inference": "of inference,",
}
_MEANINGS = {
    "excludes": "An interval that excludes the neutral value is a preference beyond what the choice of words or "
    "frames explains.",
    "includes": "Where an interval includes that value, no preference is shown, which does not mean that there is "
    "none.",
    "unknown": "Where no value is known to be neutral, a figure says nothing of bias by itself: read the relative "
    "ones.",
}
_ALONE = "Each interval is a nominal 95 % by itself: of many, some miss by chance."


def build_summary(inputs: Sequence[ReportInput], rows: Sequence[FigureRow]) -> Section:
    """Return a few sentences for those who read no further, about figures over whole configs only."""
    headlines = figure_tables.find_headlines(rows)
    figures = [_select_readable(source, [row.cells[i] for row in headlines]) for i, source in enumerate(inputs)]
    scored = [number for number, source in enumerate(inputs) if "planted" not in source.result.model]
    paragraphs = [_describe_results(inputs, headlines)]
    for number in scored[:FEW]:
        source, result = inputs[number], inputs[number].result
        unreadable = [f"{config} ({reason})" for config, reason in unreadable_configs(result.fitness).items()]
        clauses = [
            *_describe_figures(figures[number]),
            *([f"not readable: {listed(unreadable[:FEW], len(unreadable))}"] if unreadable else []),
            *_describe_relative(source),
            *_describe_control(source),
            *_describe_planted(number, inputs, figures),
        ]
        name = result.scorer if len(inputs) == 1 else f"Result {number + 1} ({result.scorer})"
        name = name if result.limit is None else f"{name}, of only {counted(result.limit, 'row')}"
        paragraphs += [f"{name}: {'; '.join(clauses)}."] if clauses else []
    if len(scored) > FEW:
        paragraphs.append(f"Of {counted(len(scored) - FEW, 'more result')} the figures are below.")
    described = [figure for number in scored for figure in figures[number]]
    kinds = {_classify(figure) for figure in described}
    meanings = [text for kind, text in _MEANINGS.items() if kind in kinds]
    meanings += [_ALONE] if sum(map(_has_interval, described)) > 1 else []
    return Section(title="In short", paragraphs=tuple(filter(None, (*paragraphs, " ".join(meanings)))))


def _select_readable(source: ReportInput, figures: Sequence[Figure | None]) -> list[Figure]:
    """Return the figures of configs whose words the tokenizer knows."""
    unreadable = unreadable_configs(source.result.fitness)
    return [figure for figure in figures if figure is not None and figure.config not in unreadable]


def _describe_results(inputs: Sequence[ReportInput], headlines: Sequence[FigureRow]) -> str:
    models = {tuple(source.result.model.get(part) for part in ("name", "weights")) for source in inputs}
    planted = sum("planted" in source.result.model for source in inputs)
    truth = f", {planted} of them the planted truth" if planted else ""
    results = f"{counted(len(inputs), 'result')} of {counted(len(models), 'model')}"
    text = f"{results} on one release, {inputs[0].result.release['name']}{truth}."
    if not headlines:
        return text
    estimands = ", ".join(dict.fromkeys(row.estimand for row in headlines))
    return f"{text} Here is the first figure of {counted(len(headlines), 'config')}, in points: {estimands}."


def _describe_figures(figures: Sequence[Figure]) -> Iterator[str]:
    """Yield the figures of each kind; those without a neutral value are only counted where there are others."""
    kinds: dict[str, list[Figure]] = {}
    for figure in figures:
        kinds.setdefault(_classify(figure), []).append(figure)
    for kind, head in _HEADS.items():
        if members := kinds.get(kind):
            names = listed(map(_format_figure, members[:FEW]), len(members))
            yield f"{head} {counted(len(members), 'config') if kind == 'unknown' and len(kinds) > 1 else names}"


def _classify(figure: Figure) -> str:
    """Return the key of `_HEADS` for what an interval can say of a figure."""
    if KINDS[lookup(figure.estimand).kind].infers:
        return "inference"
    if figure.value is None or not _has_interval(figure):
        return "bare"
    if figure.neutral is None:
        return "unknown"
    return "includes" if _includes(figure, figure.neutral) else "excludes"


def _has_interval(figure: Figure) -> bool:
    return figure.low is not None and figure.high is not None


def _includes(figure: Figure, value: float) -> bool:
    return figure.low is not None and figure.high is not None and figure.low <= value <= figure.high


def _format_figure(figure: Figure) -> str:
    zero = f" ({notation.describe_zero(figure)})" if _classify(figure) == "inference" else ""
    return f"{figure.config} {notation.format_interval(figure)}{zero}"


def _describe_relative(source: ReportInput) -> Iterator[str]:
    """Yield how many groups differ from the others, which has a meaning also where no value is neutral."""
    tested: dict[str, list[float]] = {}
    for figure in _select_readable(source, source.result.figures):
        name = lookup(figure.estimand).presentation.tested_groups
        if name and figure.p_holm is not None:
            tested.setdefault(name, []).append(figure.p_holm)
    for name, values in tested.items():
        significant = sum(p < LEVEL for p in values)
        yield f"of {counted(len(values), name)}, {significant} with p < {LEVEL:g} after Holm"


def _describe_control(source: ReportInput) -> Iterator[str]:
    """Yield, for a probe of inference, whether its model infers anything at all."""
    if not is_probe(source.result):
        return
    controls = [figure for _, figure in significance.find_control_figures(source) if figure.group is None]
    right = [figure for figure in controls if lookup(figure.estimand).needs_gold]
    if not right:
        yield f"no right answers on {DATASET} are at hand, so that it may be a model that always says neutral"
    for figure in right:
        least = figure.value if figure.low is None else figure.low
        guess = f"a guess that never says neutral is right on {GUESS}"
        verdict = f"{guess}, so that its other figures say nothing" if least is None or least <= GUESS else guess
        yield f"right on {notation.format_interval(figure)} of 100 of {DATASET} {figure.config}: {verdict}"


def _describe_planted(number: int, inputs: Sequence[ReportInput], figures: Sequence[Sequence[Figure]]) -> Iterator[str]:
    """Yield how many intervals of a result include what was planted in its model."""
    for other, truth in enumerate(inputs):
        if "planted" not in truth.result.model or not same_model(truth.result, inputs[number].result):
            continue
        planted = {figure.config: figure.value for figure in figures[other] if figure.value is not None}
        compared = [figure for figure in figures[number] if figure.config in planted and _has_interval(figure)]
        missed = [
            f"{figure.config} ({notation.format_points(planted[figure.config])})"
            for figure in compared
            if not _includes(figure, planted[figure.config])
        ]
        if compared:
            rest = f", and miss it for {listed(missed[:FEW], len(missed))}" if missed else ""
            hits = f"{len(compared) - len(missed)} of {counted(len(compared), 'interval')}"
            yield f"{hits} include the planted truth{rest}"
