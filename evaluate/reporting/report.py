"""The whole report in order: in short, what was measured, how sure that is, what zero means, and then the figures."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from senseprobe.errors import ResultError
from senseprobe.evaluate import caveats
from senseprobe.evaluate.estimands import CATALOGUE
from senseprobe.evaluate.reporting.document import Account, Cell, Section, Table
from senseprobe.evaluate.reporting.figure_tables import Line, by_bias, by_sense, contrasts, lines_of, overview
from senseprobe.evaluate.reporting.inputs import Evidence
from senseprobe.evaluate.reporting.row_tables import by_word, fillers_of, rows_of
from senseprobe.evaluate.reporting.sections import fitness_of, in_short
from senseprobe.evaluate.reporting.significance import Difference, control, differing, near_zero, polarity
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.messages import counted

WARNING = (
    "The rows may state stereotypes. They are wrong and hurtful; they are there to measure what models make of them."
)
SURE = (
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


def tell(evidence: Sequence[Evidence], found: Sequence[Difference] = ()) -> Account:
    """The report of results on one release, with the `found` differences of models. ResultError without any."""
    if not evidence:
        raise ResultError("no results to report")
    lines, biases, card = lines_of(evidence), _biases(evidence), _card(evidence)
    labels, warning = tuple(each.label for each in evidence), str(card.get("content_warning") or WARNING)
    sections = [
        in_short(evidence, lines),
        _measured(evidence, card),
        _certainty(evidence, lines),
        fitness_of(evidence),
        differing(found, labels),
        by_bias(lines, biases, [each.result.fitness for each in evidence]),
        *by_sense(lines, biases),
        contrasts(lines),
        control(evidence),
        fillers_of(evidence),
        polarity(evidence),
        near_zero(evidence),
        by_word(evidence),
        rows_of(evidence, warning),
        _declared(evidence, lines),
    ]
    return Account(
        title=str(evidence[0].result.release["name"]),
        warning=warning,
        labels=labels,
        sections=tuple(section for section in sections if section),
        signatures=tuple(each.result.signature for each in evidence),
    )


def _card(evidence: Sequence[Evidence]) -> Mapping[str, Any]:
    release = evidence[0].release
    card: Mapping[str, Any] = {} if release is None else release.manifest.data["card"]
    return card


def _biases(evidence: Sequence[Evidence]) -> dict[str, str]:
    """The kind of bias of each config that is about any; nothing where the release is not at hand."""
    release = evidence[0].release
    if release is None:
        return {}
    told = {config: release.design(config).bias_type for config in release.configs}
    return {config: bias for config, bias in told.items() if bias != "none"}


def _measured(evidence: Sequence[Evidence], card: Mapping[str, Any]) -> Section:
    told = [str(card[key]) for key in ("title", "measured", "out_of_scope") if card.get(key)]
    told = [f"{text}{'' if text.endswith('.') else '.'}" for text in told]
    if len(told) == 3:
        told[2] = f"Not for: {told[2]}"
    told += [
        f"{each.label}: only {counted(each.result.limit, 'row')}, drawn by seed {each.result.seed}."
        for each in evidence
        if each.result.limit is not None
    ]
    for say in (caveats.flipped_text, caveats.unscored_text):
        told += [f"{each.label}: {clause}." for each in evidence if (clause := say(each.result))]
    told += [_planted(each) for each in evidence if "planted" in each.result.model]
    missing: dict[str, list[str]] = {}
    for each in evidence:
        for sentence in each.missing:
            missing.setdefault(sentence, []).append(each.label)
    told += [
        sentence if len(of) == len(evidence) else f"{', '.join(of)}: {sentence}" for sentence, of in missing.items()
    ]
    return Section(title="What was measured", paragraphs=tuple(told), tables=tuple(_scorers(evidence)))


def _planted(evidence: Evidence) -> str:
    share = evidence.result.model["planted"]
    try:
        share = f"{100 * float(share):.0f} %"
    except ValueError:
        share = f"a share ({share})"
    return (
        f"{evidence.result.scorer} is no score but the truth: the model was made to see {share} of the stereotypes "
        "more often than what they are held against, and the others less often. A sentence counts as the logarithm "
        "of how often it was seen."
    )


def _scorers(evidence: Sequence[Evidence]) -> Iterator[Table]:
    used = [SCORERS[name] for name in dict.fromkeys(each.result.scorer for each in evidence) if name in SCORERS]
    rows = tuple(
        (
            Cell(text=scorer.id, kind="name"),
            Cell(text=scorer.description, note=f"in {scorer.measure}; {scorer.direction}"),
            Cell(text=scorer.cannot_say),
            Cell(text=f"{scorer.paper}: {scorer.equation}", kind="quiet"),
        )
        for scorer in used
    )
    if rows:
        yield Table(caption="The numbers of a sentence", headings=("scorer", "is", "cannot say", "from"), rows=rows)


def _certainty(evidence: Sequence[Evidence], lines: Sequence[Line]) -> Section:
    kinds = {CATALOGUE[line.estimand].kind for line in lines if line.estimand in CATALOGUE}
    zero = [text for kind, text in (("contrast", ZERO), ("inference", ZERO_OF_INFERENCE)) if kind in kinds]
    return Section(title="How sure it is, and what zero means", paragraphs=(SURE, *zero), plots=tuple(overview(lines)))


def _declared(evidence: Sequence[Evidence], lines: Sequence[Line]) -> Section:
    """What each figure on the page says and cannot say."""
    used = {line.estimand for line in lines} | {
        figure.estimand for each in evidence for of in each.controls for figure in of.figures
    }
    rows = tuple(
        (
            Cell(text=estimand.id, kind="name"),
            Cell(text=f"{estimand.says} {estimand.direction[:1].upper()}{estimand.direction[1:]}."),
            Cell(text=estimand.cannot_say),
            Cell(text=estimand.source, kind="quiet"),
        )
        for estimand in CATALOGUE.values()
        if estimand.id in used
    )
    title = "What each figure can and cannot say"
    table = Table(caption=title, headings=("figure", "says", "cannot say", "from"), rows=rows)
    return Section(title=title, tables=(table,) if rows else ())
