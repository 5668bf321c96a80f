"""The report of results: verdicts first, then charts that answer questions, all figures, and last the method."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from senseprobe.charts import Axis
from senseprobe.document import Cell, Document, Part, Section, Table, name_cells, table_section
from senseprobe.errors import ResultError
from senseprobe.evaluate import caveats
from senseprobe.evaluate.caveats import Fitness, standing_before, unreadable_configs
from senseprobe.evaluate.control import GUESS, same_model
from senseprobe.evaluate.estimands import CATALOGUE, find, lookup
from senseprobe.evaluate.estimands.base import joined
from senseprobe.evaluate.reporting import (
    association_charts,
    association_tables,
    chat_section,
    figure_charts,
    figure_tables,
    notation,
    row_tables,
    significance,
)
from senseprobe.evaluate.reporting.association_comparison import test_comparison_sections
from senseprobe.evaluate.reporting.comparison_page import comparison_sections
from senseprobe.evaluate.reporting.figure_tables import FigureRow
from senseprobe.evaluate.reporting.inputs import ReleaseKey, ReportInput, missing_parts
from senseprobe.evaluate.reporting.row_browser import build_row_section
from senseprobe.evaluate.reporting.verdict import POINTS, TONES, Verdict, describe_family
from senseprobe.evaluate.reporting.verdict_table import build_verdicts, direction_labels, judge
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.scorers import SCORERS, counterpart
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import counted, listed
from senseprobe.records import Design

WARNING = (
    "The rows may state stereotypes. They are wrong and hurtful; they are there to measure what models make of them."
)
CERTAINTY = (
    "Intervals are nominal 95 %, each by itself, over the words or frames that could have been chosen instead: of "
    "many, some miss by chance. They say nothing of other languages, groups or meanings."
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
    """Return the report of results, a part for each release (association tests in one of their own), with comparisons.

    Raises ResultError without any result.
    """
    if not inputs:
        raise ResultError("no results to report")
    releases: dict[tuple[ReleaseKey, bool], list[ReportInput]] = {}
    inputs = [judge(source) for source in inputs]
    for source in inputs:
        releases.setdefault((source.release_key, KINDS[source.kind].tests), []).append(source)
    models = dict.fromkeys(str(source.result.model["name"]) for source in inputs)
    names = f"Model{'s' if len(models) > 1 else ''} {listed(models)}"
    return Document(
        title=f"{names} on {listed(dict.fromkeys(name for (name, _), _ in releases))}",
        subtitle=_describe_results(inputs),
        warning=" ".join(dict.fromkeys(_read_warning(members[0]) for members in releases.values())),
        parts=tuple(_build_part(members, comparisons) for members in releases.values()),
        signatures=tuple(source.result.signature for source in inputs),
    )


def _describe_results(inputs: Sequence[ReportInput]) -> str:
    """Return the titles of releases, when they were scored, and by which methods, in words."""
    titles = dict.fromkeys(str(_read_card(source).get("title", "")) for source in inputs)
    names = dict.fromkeys(source.result.scorer for source in inputs)
    scorers = [f"{name} ({SCORERS[name].title})" if name in SCORERS else name for name in names]
    days = sorted({source.result.date for source in inputs if source.result.date})
    scored = f"scored {days[0]}" + (f" to {days[-1]}" if len(days) > 1 else "") if days else ""
    return " · ".join(filter(None, (*titles, scored, f"by {listed(scorers)}")))


def _read_card(source: ReportInput) -> Mapping[str, Any]:
    return source.release.manifest.data["card"] if source.release else {}


def _read_warning(source: ReportInput) -> str:
    return str(_read_card(source).get("content_warning") or WARNING)


def _build_part(inputs: Sequence[ReportInput], comparisons: Sequence[significance.ModelComparison]) -> Part:
    """Return the sections about results on one release."""
    if KINDS[inputs[0].kind].tests:
        return _build_test_part(inputs, comparisons)
    rows, labels = figure_tables.build_figure_rows(inputs), tuple(source.label for source in inputs)
    release = inputs[0].release
    designs = release.designs if release else {}
    biases = {config: design.bias_type for config, design in designs.items() if design.bias_type != "none"}
    verdicts = [build_verdicts(source) for source in inputs]
    failing = _describe_failing(inputs)
    sections = (
        *comparison_sections(comparisons, inputs),
        _build_verdict_section(inputs, verdicts, biases),
        chat_section.build_task_section(inputs),
        *_build_leading_sections(inputs, rows, [verdict for part in verdicts for verdict in part]),
        Section("Which groups", charts=tuple(figure_charts.plot_groups(inputs, rows))),
        _with_text(Section("Which answers", charts=tuple(figure_charts.plot_classes(inputs))), failing),
        _with_text(row_tables.build_filler_section(inputs), failing),
        _with_text(Section("Which words", charts=tuple(figure_charts.plot_words(inputs))), failing),
        _with_text(_build_distance_section(inputs), failing),
        _with_text(build_row_section(inputs, _read_warning(inputs[0])), failing),
        figure_tables.build_figure_section(rows, biases),
        figure_tables.build_contrast_section(rows),
        _with_text(significance.build_polarity_section(inputs), failing),
        _with_text(significance.build_equivalence_section(inputs), failing),
        replace(row_tables.build_word_section(inputs), closed=True),
        _build_fitness_section(inputs),
        chat_section.build_prompt_section(inputs),
        chat_section.build_identity_section(inputs),
        _build_method_section(inputs, rows),
        _build_declaration_section(inputs, rows),
    )
    name = str(inputs[0].result.release["name"])
    return Part(title=name, sections=tuple(filter(None, sections)), labels=labels)


def _describe_failing(inputs: Sequence[ReportInput]) -> tuple[str, ...]:
    """Return of which results rows are shown although a gate of their config fails: what is made of them says nothing.

    Figures have that in their notes.
    """
    failing: dict[tuple[str, str], list[str]] = {}
    for source in inputs:
        shown = () if source.rows is None else source.rows["config"].unique()
        for config in (config for config in source.failing if config in shown):
            failing.setdefault((config, source.failing[config].partition(":")[0]), []).append(source.label)
    return tuple(
        f"{', '.join(labels)}: {verdict} in {config}, and what is made of these rows says nothing of bias."
        for (config, verdict), labels in failing.items()
    )


def _build_distance_section(inputs: Sequence[ReportInput]) -> Section:
    histograms, scatters = figure_charts.plot_differences(inputs), figure_charts.plot_scorers(inputs)
    return Section("How far scores are apart", charts=(*histograms, *scatters))


def _with_text(section: Section, paragraphs: tuple[str, ...]) -> Section:
    """Return a section that begins with paragraphs; one without content as it is."""
    return replace(section, paragraphs=(*paragraphs, *section.paragraphs)) if section else section


def _build_test_part(inputs: Sequence[ReportInput], comparisons: Sequence[significance.ModelComparison]) -> Part:
    """Return the sections about association tests of one release."""
    tested, rows = association_tables.tested_inputs(inputs), figure_tables.build_figure_rows(inputs)
    sections = (
        *test_comparison_sections(comparisons, tested),
        association_tables.build_verdict_section(
            tested, [*_describe_caveats(inputs, caveats.refused_text, caveats.flipped_text)]
        ),
        association_tables.build_proportion_section(tested),
        association_tables.build_level_section(tested),
        association_charts.build_intersection_section(tested),
        association_charts.build_word_section(tested),
        association_tables.build_test_section(tested),
        _build_method_section(inputs, rows),
        _build_declaration_section(inputs, rows),
    )
    name, labels = str(inputs[0].result.release["name"]), association_tables.label_inputs(inputs)
    return Part(title=name, sections=tuple(filter(None, sections)), labels=labels)


# --- Verdicts -------------------------------------------------------------------------------------------------------

KEY = f"{POINTS} Not shown: one of the two is not so. A hollow mark: 0 is not known to be neutral."


def _build_verdict_section(
    inputs: Sequence[ReportInput], verdicts: Sequence[Sequence[Verdict]], biases: Mapping[str, str]
) -> Section:
    """Return a table of verdicts for each result, whose intervals are on one scale, and what to read them with."""
    ranged = [v for part in verdicts for v in part if v.figure is not None and v.figure.low is not None]
    # What can be read decides how far the scale goes; of other figures only those on it have a bar.
    figures = [v.figure for v in [v for v in ranged if v.kind != "cannot be read"] or ranged if v.figure is not None]
    limit, scales = figure_charts.find_limit(figures), {lookup(figure.estimand).from_zero for figure in figures}
    around_zero = True not in scales
    axis = Axis(
        low=0.0 if scales == {True} else -limit,
        high=limit if around_zero else 100.0,
        neutral=0.0 if around_zero else GUESS if all(lookup(f.estimand).needs_gold for f in figures) else None,
    )
    ends = f"{axis.low:+g} to {axis.high:+g}" if axis.low else f"0 to {axis.high:g}"
    headings = ("verdict", f"points [95 %], bars from {ends}", "based on; sharper with")
    tables = []
    # A planted truth is what the others are held against, and comes after them.
    order = sorted(range(len(inputs)), key=lambda number: "planted" in inputs[number].result.model)
    for number, source, part in ((number, inputs[number], verdicts[number]) for number in order):
        # Of several results a reader first wants what can be read.
        folded = (
            [verdict for verdict in part if verdict.kind == "cannot be read"] if len(inputs) > 1 < len(part) else []
        )
        shown = [verdict for verdict in part if verdict not in folded]
        for members, caption in ((shown, _summarize(part)), (folded, f"{len(folded)} cannot be read")):
            rows = tuple(
                _build_verdict_row(
                    verdict,
                    number,
                    source.design(verdict.config),
                    biases,
                    axis,
                    alone=len(part) == 1,
                )
                for verdict in members
            )
            caption = caption if len(inputs) == 1 else f"{source.label}: {caption}"
            note = _explain_planted(source) or ("" if around_zero is False else KEY) if members is shown else ""
            tables += [Table(caption, (number, *headings), rows, note, members is folded, axis)] if rows else []
    limits = _describe_caveats(inputs, caveats.flipped_text, caveats.unscored_text)
    return Section("What it shows", tuple(limits), tables=tuple(tables))


def _summarize(verdicts: Sequence[Verdict]) -> str:
    """Return how many verdicts are of each kind, and how much could go unnoticed where nothing is shown."""
    counts = Counter(verdict.kind for verdict in verdicts)
    lines = counted(len(verdicts), "line")
    names = dict.fromkeys(verdict.config for verdict in verdicts if verdict.kind == "shown")
    sentences = [f"Shown in {counts['shown']} of {lines}: {listed(names)}."] if names else []
    if small := counts["shown to be small"]:
        sentences.append(f"{small} shown to be small.")
    if not_shown := counts["not shown"]:
        where = f"In {not_shown} nothing is shown" if counts["shown"] else f"Nothing is shown in {not_shown} of {lines}"
        hidden = max((verdict.hidden for verdict in verdicts if verdict.hidden is not None), default=0.0)
        sentences.append(
            f"{where}, which is not to say that nothing is there: up to {hidden:.0f} points fit the rows, too."
        )
    if unread := counts["cannot be read"]:
        alone = "No finding on bias: the figures of the model cannot be read."
        sentences.append(f"{unread} cannot be read." if len(verdicts) > 1 else alone)
    return " ".join(sentences)


def _build_verdict_row(
    verdict: Verdict, number: int, design: Design | None, biases: Mapping[str, str], axis: Axis, *, alone: bool
) -> tuple[Cell, ...]:
    """Return the cells of a verdict; what cannot be read is muted beside others, not where it is all that is said."""
    figure, basis = verdict.figure, Cell(verdict.basis, verdict.sharper, "quiet")
    about = Cell(verdict.config, verdict.bias_type or biases.get(verdict.config, ""), "name")
    text = Cell(
        verdict.text,
        tag=verdict.kind,
        tone="open" if alone and verdict.kind == "cannot be read" else TONES[verdict.kind],
    )
    if figure is None:
        return about, text, Cell(""), basis
    name, mark = ", ".join(filter(None, (figure.estimand, figure.group))), figure_charts.build_mark(figure, number)
    name += "" if lookup(figure.estimand).from_zero else f" (+\N{NO-BREAK SPACE}{direction_labels(figure, design)[1]})"
    is_on_axis = mark.low is not None and mark.high is not None and axis.low <= mark.low and mark.high <= axis.high
    under = joined(name, describe_family(verdict))
    return about, text, Cell(mark.text, under, "number", mark if is_on_axis else None), basis


def _describe_caveats(inputs: Sequence[ReportInput], *describers: Callable[[Result], str]) -> Iterator[str]:
    """Yield what a reader has to know before any figure: rows that were drawn, what others say, and what is missing."""
    for source in inputs:
        if source.result.limit is not None:
            drawn = counted(source.result.limit, "row")
            if source.release is not None and source.tables:
                total = sum(source.release.manifest.config(config)["rows"] for config in source.tables)
                drawn = f"{source.result.limit:,} of {counted(total, 'row')}"
            yield f"{source.label}: a first look at {drawn}, drawn by seed {source.result.seed}."
    for describe in describers:
        yield from (f"{source.label}: {clause}." for source in inputs if (clause := describe(source.result)))
    for sentence, names in missing_parts(inputs).items():
        yield sentence if len(names) == len(inputs) else f"{', '.join(names)}: {sentence}"


def _build_leading_sections(
    inputs: Sequence[ReportInput], rows: Sequence[FigureRow], verdicts: Sequence[Verdict]
) -> tuple[Section, Section]:
    """Return the charts of headline figures and the control, which comes first where no figure can be read."""
    control = replace(significance.build_control_section(inputs), charts=tuple(figure_charts.plot_control(inputs)))
    charts = tuple(figure_charts.plot_headlines(inputs, rows, verdicts))
    if control and all(chart.closed for chart in charts):
        return control, Section("Further figures", charts=charts)
    return Section("Which way, and how sure", charts=charts), control


def _explain_planted(source: ReportInput) -> str:
    """Return what the truth that was planted in a model is; empty of other results."""
    if (share := source.result.model.get("planted")) is None:
        return ""
    try:
        share = f"{100 * float(share):.0f} %"
    except ValueError:
        share = f"a share ({share})"
    return (
        f"{source.result.scorer} is not a score but the truth: the model was made to see {share} of the stereotypes "
        "more often than what they are compared with, and the others less often. A sentence counts as the logarithm "
        "of how often it was seen."
    )


# --- Method: what was measured, and what figures say ----------------------------------------------------------------


def _build_method_section(inputs: Sequence[ReportInput], rows: Sequence[FigureRow]) -> Section:
    """Return the section of what the release measures, what intervals and zero mean, and what each scorer computes."""
    card = _read_card(inputs[0])
    texts = [str(card[key]) for key in ("title", "measured", "out_of_scope") if card.get(key)]
    paragraphs = [f"{text}{'' if text.endswith('.') else '.'}" for text in texts]
    if len(paragraphs) == 3:
        paragraphs[2] = f"Not for: {paragraphs[2]}"
    kinds = {found.kind for row in rows if (found := find(row.estimand))}
    zero = [text for kind, text in (("contrast", ZERO), ("inference", ZERO_OF_INFERENCE)) if kind in kinds]
    scorers = tuple(
        (
            *name_cells(scorer.id),
            Cell(scorer.description, f"in {scorer.measure}; {scorer.direction}"),
            Cell(scorer.cannot_say),
            Cell.quiet(f"{scorer.paper}: {scorer.equation}"),
        )
        for name in dict.fromkeys(source.result.scorer for source in inputs)
        if (scorer := SCORERS.get(name))
    )
    table = Table(caption="The numbers of a sentence", headings=("scorer", "is", "cannot say", "from"), rows=scorers)
    return Section(
        "What was measured, and how", (*paragraphs, CERTAINTY, *zero), tables=(table,) if scorers else (), closed=True
    )


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
    return replace(table_section(title, (), [Table(title, headings, table_rows)]), closed=True)


# --- Fitness: what tokenizers make of the rows ----------------------------------------------------------------------

COUNTS = (
    "Counted with each model's own tokenizer, over the requested rows. A word that a tokenizer does not know is one "
    "token, the same for all such words. Two sentences of the same tokens have the same score, which explains their "
    "ties. Of two with unequal numbers of tokens, a sum over tokens favours the shorter. A config with unknown words "
    "in more than a fifth of its rows is called not readable: only the values of its figures are told."
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
    unreadable = [
        f"{source.label}: {config} is not readable: {reason}."
        for source in with_counts
        for config, reason in unreadable_configs(source.result.fitness).items()
    ]
    paragraphs = [*([COUNTS] if with_counts else []), *unreadable]
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
    shown = tuple(table for table in tables if table.rows)
    return Section(title, tuple(paragraphs), tables=shown, closed=bool(shown) and not (unreadable or causal))


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
