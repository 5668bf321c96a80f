"""Unknown words and tokens of the rows, by model, and pairs that differ in their first token."""

from collections.abc import Iterator, Sequence
from operator import attrgetter

from senseprobe.document import Cell, Section, Table, name_cells
from senseprobe.evaluate.control import same_model
from senseprobe.evaluate.fitness import Fitness, fitness_lines, standing_before, unreadable_configs
from senseprobe.evaluate.models.registry import of_plug_in
from senseprobe.evaluate.reporting import notation
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.scope import ReportScope
from senseprobe.evaluate.scorers import counterpart

COUNTS = (
    "Each model's own tokenizer counts the words of the requested rows. All words that it does not know become "
    "the same token. Two sentences with the same tokens have the same score, which explains their ties. If two "
    "sentences differ in their number of tokens, a sum over tokens favours the shorter one. If more than a fifth "
    "of the rows of a config have unknown words, the config is not readable, and only the values of its figures "
    "are printed."
)
FIRST_TOKENS = (
    "A causal model reads from left to right. If two sentences differ in their first token, the probability of "
    "that token depends only on the text that the scorer puts before it. Without a start token this probability "
    "is not part of the score; only the effect on later tokens is. If the figures with and without a start token "
    "disagree, the first token decides the figure with one."
)
ERASED_ROWS = (
    "Something was removed from a model's vectors. A row is erased by construction if its sentences differ only in "
    "words that have one vector since: the model reads one sentence, so what it says of the two is equal and shows "
    "nothing. If more than a fifth of the rows of a figure are erased, the figure is not readable. If only the input "
    "is erased, the figure is readable, and the difference that is left is the head's."
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
"""The most rows of a table that is not collapsed."""


def fitness_section(scope: ReportScope) -> Section:
    """Return the counts of each config and result, unreadable configs, and pairs that differ in their first token.

    A brief has a line for each config with something to report.
    """
    title, inputs = "Is the model fit to be asked?", scope.inputs
    uncounted = [
        f"{source.label}: unknown words are not counted, since the tokenizer of a plug-in's model is its own."
        for source in inputs
        if of_plug_in(source.result.model) and not source.result.fitness
    ]
    causal = {number: source for number, source in enumerate(inputs) if _first_token_configs(source)}
    if scope.is_brief:
        lines = (f"{source.label}: {line}." for source in inputs for line in fitness_lines(source.result.fitness))
        return Section("", (*uncounted, *lines, *_suggest_counterparts([*causal.values()], inputs)))
    with_counts = [source for source in inputs if source.result.fitness]
    unreadable = [
        f"{source.label}: {config} is not readable: {reason}."
        for source in with_counts
        for config, reason in unreadable_configs(source.result.fitness).items()
    ]
    paragraphs = [*([COUNTS] if with_counts else []), *unreadable, *uncounted]
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
    if erased := _tabulate_erased(inputs):
        paragraphs.append(ERASED_ROWS)
        tables.append(erased)
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
    filled = tuple(table for table in tables if table.rows)
    return Section(
        title, tuple(paragraphs), tables=filled, closed=bool(filled) and not (unreadable or erased or causal)
    )


def _tabulate_erased(inputs: Sequence[ReportInput]) -> Table | None:
    """Return how many rows of figures of whole configs are erased; None where none is."""
    rows = tuple(
        (
            *name_cells(figure.config),
            Cell.quiet(source.label),
            Cell(figure.estimand),
            *(Cell.number(f"{figure.erased.get(name, 0):,}") for name in ("rows", "whole", "input")),
        )
        for source in inputs
        for figure in source.result.figures
        if figure.erased and figure.group is None
    )
    headings = ("config", "result", "figure", "rows", "erased", "input alone")
    return Table("Rows that are erased by construction", headings, rows, closed=len(rows) > MOST_OPEN) if rows else None


def _first_token_configs(source: ReportInput) -> list[str]:
    """Return the configs of a causal model's result that have pairs with different first tokens."""
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
            command = f"senseprobe score {result.model['name']} {rows} -s {other}"
            yield f"{source.label}: `{command}` gives the figures to read beside it."
