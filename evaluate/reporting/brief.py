"""What a report says first: what it is of, the first figure of each config, and what can be said of these."""

from collections.abc import Iterator, Sequence

from senseprobe.evaluate.control import DATASET, is_probe, same_model
from senseprobe.evaluate.estimands import CATALOGUE
from senseprobe.evaluate.fitness import unreadable_configs
from senseprobe.evaluate.reporting import words
from senseprobe.evaluate.reporting.account import Section
from senseprobe.evaluate.reporting.evidence import Evidence
from senseprobe.evaluate.reporting.lines import Line, headlines
from senseprobe.evaluate.reporting.proofs import control_figures
from senseprobe.records import Figure
from senseprobe.wording import counted, listed

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
    declared = CATALOGUE.get(figure.estimand)
    if declared is not None and declared.kind == "inference":
        return "inference"
    if figure.value is None or figure.low is None or figure.high is None:
        return "bare"
    if figure.neutral is None:
        return "unknown"
    return "held" if figure.low <= figure.neutral <= figure.high else "off"


def _shown(figure: Figure) -> str:
    zero = f" ({words.zero(figure)})" if _kind(figure) == "inference" else ""
    return f"{figure.config} {words.interval(figure)}{zero}"


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
    tested = [p for each in readable if each.estimand == "relative" and (p := each.p_holm) is not None]
    if tested:
        found = sum(p < LEVEL for p in tested)
        yield f"of {counted(len(tested), 'relative figure')}, {found} with p < {LEVEL:g} after Holm"


def _controls(evidence: Evidence) -> Iterator[str]:
    """Whether the model tells inference apart at all; nothing where that is not asked."""
    if not is_probe(evidence.result):
        return
    right = [figure for _, figure in control_figures(evidence) if (figure.estimand, figure.group) == ("accuracy", None)]
    if not right:
        yield f"no right answers on {DATASET} are at hand, so that it may be a model that always says neutral"
    for figure in right:
        least = figure.value if figure.low is None else figure.low
        guess = f"a guess that never says neutral is right on {GUESS}"
        verdict = f"{guess}, so that its other figures say nothing" if least is None or least <= GUESS else guess
        yield f"right on {words.interval(figure)} of 100 of {DATASET} {figure.config}: {verdict}"


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
        missed = [f"{figure.config} ({words.points(value)})" for figure, value in asked if not _holds(figure, value)]
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
