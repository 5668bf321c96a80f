"""The section of what the tokenizers of models make of the rows: whether they are fit to be asked."""

from collections.abc import Iterator, Sequence

from senseprobe.evaluate.control import same_model
from senseprobe.evaluate.fitness import Fitness, standing_before, unreadable_configs
from senseprobe.evaluate.reporting import words
from senseprobe.evaluate.reporting.account import Cell, Section, Table
from senseprobe.evaluate.reporting.evidence import Evidence
from senseprobe.evaluate.scorers import counterpart

TITLE = "Is the model fit to be asked?"
COUNTED = (
    "Counted with each model's own tokenizer, over the rows that were asked for. A word that a tokenizer does not know "
    "is one token, the same for all such words. Two sentences of the same tokens cannot be told apart: their ties are "
    "explained by that. Of two with unequal numbers of tokens, a sum over tokens favours the shorter. A config with "
    "unknown words in more than a fifth of its rows is called not readable: its figures are in the tables only."
)
FIRST = (
    "A causal model reads from left to right: where two sentences differ in their first token, that token is judged by "
    "what the scorer puts before it alone, which in training stood before much else. Without a start token the "
    "probability of the first token is not in the number, only how it bears on the rest. Where the two disagree, the "
    "first token and what stands before it decide the figure with a start token."
)
HEADINGS = ("config", "result", "rows", "unknown words", "same tokens", "unequal numbers", "ties", "explained")
MOST_SHOWN = 24
"""Rows of the table that are shown without being asked for."""


def fitness_of(evidence: Sequence[Evidence]) -> Section:
    """Return the counts of each config and result, what is not readable, and pairs that differ in their first token."""
    counted = [each for each in evidence if each.result.fitness]
    told = [COUNTED] if counted else []
    for each in counted:
        told += [f"{each.label}: {name} is not readable: {why}." for name, why in _unreadable(each)]
    told += [
        f"{each.label}: not counted, since the tokenizer of a plug-in's model is its own."
        for each in evidence
        if "family" in each.result.model and not each.result.fitness
    ]
    tables = [*_counts(counted), *_first_tokens(evidence)]
    if len(tables) > 1:
        told += [FIRST, *_others(evidence)]
    return Section(title=TITLE, paragraphs=tuple(told), tables=tuple(tables))


def _unreadable(evidence: Evidence) -> Iterator[tuple[str, str]]:
    yield from unreadable_configs(evidence.result.fitness).items()


def _counts(evidence: Sequence[Evidence]) -> Iterator[Table]:
    rows = tuple(_row(config, each.label, of) for each in evidence for config, of in each.result.fitness.items())
    if rows:
        yield Table(caption=TITLE, headings=HEADINGS, rows=rows, closed=len(rows) > MOST_SHOWN)


def _row(config: str, label: str, of: Fitness) -> tuple[Cell, ...]:
    numbers = (of.rows, of.unknown, of.same_tokens, of.unequal_counts, of.ties, of.explained)
    shown = (Cell(text="" if number is None else f"{number:,}", kind="number") for number in numbers)
    return (Cell(text=config, kind="name"), Cell(text=label, kind="quiet"), *shown)


def _first_tokens(evidence: Sequence[Evidence]) -> Iterator[Table]:
    """The figure of the pairs that differ in their first token, under each scorer of a causal model."""
    results = [number for number, each in enumerate(evidence) if _has_first(each)]
    configs = dict.fromkeys(
        name for number in results for name, of in evidence[number].result.fitness.items() if _rows_of(of)
    )
    rows = tuple(
        (Cell(text=name, kind="name"), *(_first_cell(evidence[number].result.fitness.get(name)) for number in results))
        for name in configs
    )
    if rows:
        caption = "Pairs with another first token: preference-half of these alone"
        yield Table(caption=caption, headings=("config", *results), rows=rows)


def _has_first(evidence: Evidence) -> bool:
    return any(map(_rows_of, evidence.result.fitness.values()))


def _rows_of(of: Fitness) -> int:
    return 0 if of.first_token is None else of.first_token.rows


def _first_cell(of: Fitness | None) -> Cell:
    first = None if of is None else of.first_token
    if of is None or first is None or not first.rows:
        return Cell(text="", kind="number")
    value = "none" if first.preference is None else words.points(first.preference)
    return Cell(text=value, note=f"{first.rows:,} of {of.rows:,}, {standing_before(first)}", kind="number")


def _others(evidence: Sequence[Evidence]) -> Iterator[str]:
    """What gives the figures that are missing beside those of a scorer with a start token, or without."""
    for each in filter(_has_first, evidence):
        other = counterpart(each.result.scorer)
        there = any(same_model(each.result, one.result) and one.result.scorer == other for one in evidence)
        if other and not there:
            command = f"senseprobe score {each.result.model['name']} {_rows_asked(each)} -m {other}"
            yield f"{each.label}: `{command}` gives the figures to read beside it."


def _rows_asked(evidence: Evidence) -> str:
    """The rows of a result, as its command named them."""
    result = evidence.result
    release = ":".join(filter(None, (result.release["name"], result.release["config"])))
    return release if result.limit is None else f"{release} --limit {result.limit} --seed {result.seed}"
