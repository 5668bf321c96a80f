"""Two sections of a report: how the models' tokenizers fit the rows, and the summary that comes first."""

from collections.abc import Iterator, Sequence

from senseprobe.evaluate.caveats import Fitness, standing_before, unreadable_configs
from senseprobe.evaluate.control import DATASET, is_probe, same_model
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.reporting import notation
from senseprobe.evaluate.reporting.document import Cell, Section, Table, name_cells
from senseprobe.evaluate.reporting.figure_tables import FigureRow, find_headlines
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.significance import find_control_figures
from senseprobe.evaluate.scorers import counterpart
from senseprobe.messages import counted, listed
from senseprobe.records import Figure

# --- Fitness: what tokenizers make of the rows ----------------------------------------------------------------------

TITLE = "Is the model fit to be asked?"
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


def build_fitness_section(inputs: Sequence[ReportInput]) -> Section:
    """Return the counts of each config and result, what is not readable, and pairs that differ in their first token."""
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
    first_tokens = list(_build_first_token_table(inputs))
    if first_tokens:
        paragraphs += [FIRST_TOKENS, *_suggest_counterparts(inputs)]
    tables = (*_build_count_table(with_counts), *first_tokens)
    return Section(title=TITLE, paragraphs=tuple(paragraphs), tables=tables)


def _build_count_table(inputs: Sequence[ReportInput]) -> Iterator[Table]:
    rows = tuple(
        (*name_cells(config), Cell(text=source.label, kind="quiet"), *_build_count_cells(fitness))
        for source in inputs
        for config, fitness in source.result.fitness.items()
    )
    if rows:
        headings = ("config", "result", *COLUMNS.values())
        yield Table(caption=TITLE, headings=headings, rows=rows, closed=len(rows) > MOST_OPEN)


def _build_count_cells(fitness: Fitness) -> Iterator[Cell]:
    for number in (getattr(fitness, name) for name in COLUMNS):
        yield Cell(text="" if number is None else f"{number:,}", kind="number")


def _build_first_token_table(inputs: Sequence[ReportInput]) -> Iterator[Table]:
    """Yield the figure of the pairs that differ in their first token, for each result of a causal model."""
    results = [number for number, source in enumerate(inputs) if _has_first_tokens(source)]
    fitness = {number: inputs[number].result.fitness for number in results}
    configs = dict.fromkeys(
        config for configs in fitness.values() for config, counts in configs.items() if _count_first_tokens(counts)
    )
    rows = tuple(
        (*name_cells(config), *(_build_first_token_cell(fitness[number].get(config)) for number in results))
        for config in configs
    )
    if rows:
        caption = "Pairs with another first token: preference-half of these alone"
        yield Table(caption=caption, headings=("config", *results), rows=rows)


def _has_first_tokens(source: ReportInput) -> bool:
    return any(map(_count_first_tokens, source.result.fitness.values()))


def _count_first_tokens(fitness: Fitness) -> int:
    return 0 if fitness.first_token is None else fitness.first_token.rows


def _build_first_token_cell(fitness: Fitness | None) -> Cell:
    first = None if fitness is None else fitness.first_token
    if fitness is None or first is None or not first.rows:
        return Cell(text="", kind="number")
    value = "none" if first.preference is None else notation.format_points(first.preference)
    return Cell(text=value, note=f"{first.rows:,} of {fitness.rows:,}, {standing_before(first)}", kind="number")


def _suggest_counterparts(inputs: Sequence[ReportInput]) -> Iterator[str]:
    """Yield the command for each result whose counterpart, with or without a start token, is missing."""
    for source in filter(_has_first_tokens, inputs):
        other = counterpart(source.result.scorer)
        scorers = {entry.result.scorer for entry in inputs if same_model(source.result, entry.result)}
        if other and other not in scorers:
            command = f"senseprobe score {source.result.model['name']} {_format_rows(source)} -m {other}"
            yield f"{source.label}: `{command}` gives the figures to read beside it."


def _format_rows(source: ReportInput) -> str:
    """Return the rows of a result as its command named them."""
    result = source.result
    release = ":".join(filter(None, (result.release["name"], result.release["config"])))
    return release if result.limit is None else f"{release} --limit {result.limit} --seed {result.seed}"


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
    headlines = find_headlines(rows)
    figures = [_select_readable(source, [row.cells[i] for row in headlines]) for i, source in enumerate(inputs)]
    scored = [number for number, source in enumerate(inputs) if "planted" not in source.result.model]
    paragraphs = [_describe_results(inputs, headlines)]
    for number in scored[:FEW]:
        clauses = [
            *_describe_figures(figures[number]),
            *_describe_unreadable(inputs[number]),
            *_describe_relative(inputs[number]),
            *_describe_control(inputs[number]),
            *_describe_planted(number, inputs, figures),
        ]
        paragraphs += [f"{_name_result(number, inputs)}: {'; '.join(clauses)}."] if clauses else []
    if len(scored) > FEW:
        paragraphs.append(f"Of {counted(len(scored) - FEW, 'more result')} the figures are below.")
    meaning = " ".join(_explain_kinds([figure for number in scored for figure in figures[number]]))
    return Section(title="In short", paragraphs=tuple(filter(None, (*paragraphs, meaning))))


def _select_readable(source: ReportInput, figures: Sequence[Figure | None]) -> list[Figure]:
    """Return the figures of configs whose words the tokenizer knows."""
    unreadable = unreadable_configs(source.result.fitness)
    return [figure for figure in figures if figure is not None and figure.config not in unreadable]


def _name_result(number: int, inputs: Sequence[ReportInput]) -> str:
    result = inputs[number].result
    name = result.scorer if len(inputs) == 1 else f"Result {number + 1} ({result.scorer})"
    return name if result.limit is None else f"{name}, of only {counted(result.limit, 'row')}"


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
    if lookup(figure.estimand).kind == "inference":
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


def _describe_unreadable(source: ReportInput) -> Iterator[str]:
    if configs := unreadable_configs(source.result.fitness):
        reasons = [f"{config} ({reason})" for config, reason in configs.items()]
        yield f"not readable: {listed(reasons[:FEW], len(reasons))}"


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
    controls = [figure for _, figure in find_control_figures(source) if figure.group is None]
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
        planted = {figure.config: figure.value for figure in figures[other]}
        pairs = [
            (figure, value)
            for figure in figures[number]
            if (value := planted.get(figure.config)) is not None and _has_interval(figure)
        ]
        missed = [
            f"{figure.config} ({notation.format_points(value)})"
            for figure, value in pairs
            if not _includes(figure, value)
        ]
        if pairs:
            rest = f", and miss it for {listed(missed[:FEW], len(missed))}" if missed else ""
            yield f"{len(pairs) - len(missed)} of {counted(len(pairs), 'interval')} include the planted truth{rest}"


def _explain_kinds(figures: Sequence[Figure]) -> Iterator[str]:
    kinds = {_classify(figure) for figure in figures}
    yield from (text for kind, text in _MEANINGS.items() if kind in kinds)
    if sum(map(_has_interval, figures)) > 1:
        yield _ALONE
