"""The section of what the tokenizers of models make of the rows: whether they are fit to be asked.

What a report says first: what it is of, the first figure of each config, and what can be said of these.
"""

from collections.abc import Iterator, Sequence

from senseprobe.evaluate.control import DATASET, is_probe, same_model
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.fitness import Fitness, standing_before, unreadable_configs
from senseprobe.evaluate.reporting import notation
from senseprobe.evaluate.reporting.document import Cell, Section, Table
from senseprobe.evaluate.reporting.figure_tables import Line, headlines
from senseprobe.evaluate.reporting.inputs import Evidence
from senseprobe.evaluate.reporting.significance import control_figures
from senseprobe.evaluate.scorers import counterpart
from senseprobe.messages import counted, listed
from senseprobe.records import Figure

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
        told += [f"{each.label}: {name} is not readable: {why}." for name, why in _unreadable_configs(each)]
    told += [
        f"{each.label}: not counted, since the tokenizer of a plug-in's model is its own."
        for each in evidence
        if "family" in each.result.model and not each.result.fitness
    ]
    tables = [*_counts(counted), *_first_tokens(evidence)]
    if len(tables) > 1:
        told += [FIRST, *_others(evidence)]
    return Section(title=TITLE, paragraphs=tuple(told), tables=tuple(tables))


def _unreadable_configs(evidence: Evidence) -> Iterator[tuple[str, str]]:
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
    value = "none" if first.preference is None else notation.points(first.preference)
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


FEW = 3
"""Results that are told of one by one, and figures of a kind that are named of each."""

GUESS = 50
"""Right answers on the control of who never says neutral, and knows nothing else."""

LEVEL = 0.05
"""Of a test that is told here."""

OFF = "An interval off the neutral value is a preference beyond what the choice of words or frames explains."
HELD = "Where an interval holds that value, no preference is shown, which does not mean that there is none."
UNKNOWN = "Where no value is known to be neutral, a figure says nothing of bias by itself: read the relative ones."
ALONE = "Each interval is a nominal 95 % by itself: of many, some miss by chance."


def in_short(evidence: Sequence[Evidence], lines: Sequence[Line]) -> Section:
    """A few sentences for those who read no further; only of figures over whole configs."""
    firsts = headlines(lines)
    numbered = [(number, each) for number, each in enumerate(evidence) if "planted" not in each.result.model]
    figures = {number: [line.cells[number] for line in firsts] for number in range(len(evidence))}
    held = {number: [*_readable(evidence[number], cells)] for number, cells in figures.items()}
    told = [_of_what(evidence, firsts)]
    for number, each in numbered[:FEW]:
        clauses = [
            *_readings(held[number]),
            *_unreadable(each),
            *_relative(each),
            *_controls(each),
            *_planted(number, evidence, held),
        ]
        told += [f"{_named(number, evidence)}: {'; '.join(clauses)}."] if clauses else []
    if len(numbered) > FEW:
        told.append(f"Of {counted(len(numbered) - FEW, 'more result')} the figures are below.")
    said = " ".join(_said([figure for number, _ in numbered for figure in held[number]]))
    return Section(title="In short", paragraphs=tuple(filter(None, (*told, said))))


def _named(number: int, evidence: Sequence[Evidence]) -> str:
    """A result as it is called here, and whether it is a sample."""
    result = evidence[number].result
    name = result.scorer if len(evidence) == 1 else f"Result {number + 1} ({result.scorer})"
    return name if result.limit is None else f"{name}, of only {counted(result.limit, 'row')}"


def _of_what(evidence: Sequence[Evidence], firsts: Sequence[Line]) -> str:
    models = {tuple(sorted((part, each.result.model.get(part)) for part in ("name", "weights"))) for each in evidence}
    planted = sum("planted" in each.result.model for each in evidence)
    truth = f", {planted} of them the planted truth" if planted else ""
    results = f"{counted(len(evidence), 'result')} of {counted(len(models), 'model')}"
    told = f"{results} on one release, {evidence[0].result.release['name']}{truth}."
    if not firsts:
        return told
    estimands = ", ".join(dict.fromkeys(line.estimand for line in firsts))
    return f"{told} Here is the first figure of {counted(len(firsts), 'config')}, in points: {estimands}."


def _readings(figures: Sequence[Figure]) -> Iterator[str]:
    """Figures by what an interval can say of them; those that say nothing are only counted where there are others."""
    kinds: dict[str, list[Figure]] = {}
    for figure in figures:
        kinds.setdefault(_kind(figure), []).append(figure)
    for kind, head in _HEADS.items():
        if found := kinds.get(kind):
            named = listed(map(_shown, found[:FEW]), len(found))
            yield f"{head} {counted(len(found), 'config') if kind == 'unknown' and len(kinds) > 1 else named}"


_HEADS = {
    "off": "the interval lies off the neutral value for",
    "held": "the interval holds the neutral value for",
    "unknown": "no value is known to be neutral for",
    "bare": "there is no interval for",
    "inference": "of inference,",
}


def _kind(figure: Figure) -> str:
    if lookup(figure.estimand).kind == "inference":
        return "inference"
    if figure.value is None or figure.low is None or figure.high is None:
        return "bare"
    if figure.neutral is None:
        return "unknown"
    return "held" if figure.low <= figure.neutral <= figure.high else "off"


def _shown(figure: Figure) -> str:
    zero = f" ({notation.zero(figure)})" if _kind(figure) == "inference" else ""
    return f"{figure.config} {notation.interval(figure)}{zero}"


def _readable(evidence: Evidence, figures: Sequence[Figure | None]) -> Iterator[Figure]:
    """The figures that there are, of configs whose words the tokenizer knows."""
    without = unreadable_configs(evidence.result.fitness)
    yield from (figure for figure in figures if figure is not None and figure.config not in without)


def _unreadable(evidence: Evidence) -> Iterator[str]:
    """The configs that no figure is told of, each with the reason."""
    if found := [f"{config} ({why})" for config, why in unreadable_configs(evidence.result.fitness).items()]:
        yield f"not readable is {listed(found[:FEW], len(found))}"


def _relative(evidence: Evidence) -> Iterator[str]:
    """How many groups differ from the others, which can be said also where no value is neutral."""
    readable = _readable(evidence, evidence.result.figures)
    tested: dict[str, list[float]] = {}
    for figure in readable:
        name = lookup(figure.estimand).presentation.tested_groups
        if name and figure.p_holm is not None:
            tested.setdefault(name, []).append(figure.p_holm)
    for name, values in tested.items():
        significant = sum(p < LEVEL for p in values)
        yield f"of {counted(len(values), name)}, {significant} with p < {LEVEL:g} after Holm"


def _controls(evidence: Evidence) -> Iterator[str]:
    """Whether the model tells inference apart at all; nothing where that is not asked."""
    if not is_probe(evidence.result):
        return
    right = [
        figure for _, figure in control_figures(evidence) if lookup(figure.estimand).needs_gold and figure.group is None
    ]
    if not right:
        yield f"no right answers on {DATASET} are at hand, so that it may be a model that always says neutral"
    for figure in right:
        least = figure.value if figure.low is None else figure.low
        guess = f"a guess that never says neutral is right on {GUESS}"
        verdict = f"{guess}, so that its other figures say nothing" if least is None or least <= GUESS else guess
        yield f"right on {notation.interval(figure)} of 100 of {DATASET} {figure.config}: {verdict}"


def _planted(number: int, evidence: Sequence[Evidence], held: dict[int, list[Figure]]) -> Iterator[str]:
    """Whether the intervals of a result hold what was planted in its model."""
    for other, truth in enumerate(evidence):
        if "planted" not in truth.result.model or not same_model(truth.result, evidence[number].result):
            continue
        planted = {figure.config: figure.value for figure in held[other]}
        asked = [
            (figure, value)
            for figure in held[number]
            if (value := planted.get(figure.config)) is not None and _ends(figure)
        ]
        missed = [f"{figure.config} ({notation.points(value)})" for figure, value in asked if not _holds(figure, value)]
        if asked:
            but = f", and miss it for {listed(missed[:FEW], len(missed))}" if missed else ""
            yield f"{len(asked) - len(missed)} of {counted(len(asked), 'interval')} hold the planted truth{but}"


def _ends(figure: Figure) -> bool:
    return figure.low is not None and figure.high is not None


def _holds(figure: Figure, value: float) -> bool:
    return figure.low is not None and figure.high is not None and figure.low <= value <= figure.high


def _said(figures: Sequence[Figure]) -> Iterator[str]:
    """What the kinds of figures that are there mean."""
    kinds = [_kind(figure) for figure in figures]
    yield from (told for kind, told in (("off", OFF), ("held", HELD), ("unknown", UNKNOWN)) if kind in kinds)
    if sum(_ends(figure) for figure in figures) > 1:
        yield ALONE
