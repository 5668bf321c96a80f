"""Two models and more on the same rows of a release: each against each, by one scorer.

What figures are held against: a margin around zero, polarity dealt out at random, another model, the control.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from senseprobe.errors import ResultError
from senseprobe.evaluate.control import DATASET, RELEASE, is_probe
from senseprobe.evaluate.estimands import contrast_figure, lookup, of_sample
from senseprobe.evaluate.estimands.comparison import Comparison, compare_all
from senseprobe.evaluate.estimands.equivalence import (
    CONFIDENCE,
    Equivalence,
    Margin,
    equivalence,
    equivalences,
)
from senseprobe.evaluate.estimands.multiple_testing import COMPARISONS, NULLS, corrected, without_single
from senseprobe.evaluate.estimands.permutation_null import PolarityNull, polarity_null
from senseprobe.evaluate.estimands.preference import labelled_pairs
from senseprobe.evaluate.reporting import notation
from senseprobe.evaluate.reporting.document import Cell, Section, Table
from senseprobe.evaluate.reporting.figure_tables import figure_cell
from senseprobe.evaluate.reporting.inputs import Evidence
from senseprobe.messages import counted
from senseprobe.records import Design, Figure

MAX_MODELS = 8
"""Of which there are 28 pairs; p-values are corrected within each pair, and not for their number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """Everything in which model `a` was compared with `b`: the numbers (from 1) of two results, and the figures."""

    a: int
    b: int
    comparisons: tuple[Comparison, ...]

    def as_dict(self) -> dict[str, Any]:
        """The record with stable keys, as JSON has it."""
        return {"a": self.a, "b": self.b, "comparisons": [found.as_dict() for found in self.comparisons]}


def differences(evidence: Sequence[Evidence]) -> list[Difference]:
    """Every pair of results, compared on their rows by `compare_all`, with the margin that the release states.

    Raises ResultError where there are too few or too many, where they are not of one scorer on the same rows, and where
    the release or a table of scores is not at hand: figures alone do not say what words have in common.
    """
    if not 2 <= len(evidence) <= MAX_MODELS:
        raise ResultError(f"{counted(len(evidence), 'result')} on the release: a comparison is of 2 to {MAX_MODELS}")
    _same(evidence)
    return [_difference(evidence, *pair) for pair in combinations(range(len(evidence)), 2)]


def _same(evidence: Sequence[Evidence]) -> None:
    if len(scorers := {each.result.scorer for each in evidence}) > 1:
        raise ResultError(
            f"models are compared by one scorer, and these results are of {' and '.join(sorted(scorers))}: numbers of "
            "two scorers are not on one scale"
        )
    _same_definitions(evidence)
    for each in evidence:
        if not each.tables:
            raise ResultError(f"cannot compare {each.label}: {' '.join(each.missing) or 'it has no rows'}")
    asked = {(each.result.release["config"], each.result.limit) for each in evidence}
    if len(asked) > 1:
        raise ResultError("the results are not of the same rows: some are of one config, or of a sample (--limit)")


def _same_definitions(evidence: Sequence[Evidence]) -> None:
    """ResultError where one name stands for two definitions, of the scorer or of a figure."""
    if len({each.result.scale for each in evidence}) > 1:
        raise ResultError("the results have numbers on different scales (log, probability): score the models again")
    of: dict[str, dict[int, str]] = {}
    for each in evidence:
        of.setdefault(each.result.scorer, {}).setdefault(each.result.scorer_version, each.label)
        for figure in each.result.figures:
            of.setdefault(figure.estimand, {}).setdefault(figure.definition, each.label)
    for name, labels in of.items():
        if len(labels) > 1:
            told = ", ".join(f"{version} in {label}" for version, label in sorted(labels.items()))
            raise ResultError(f"the results have different definitions of {name} ({told}): score the models again")


def _difference(evidence: Sequence[Evidence], first: int, second: int) -> Difference:
    a, b = evidence[first], evidence[second]
    return Difference(a=first + 1, b=second + 1, comparisons=tuple(_compared(a, b)))


def _compared(a: Evidence, b: Evidence) -> Iterator[Comparison]:
    if a.release is None:  # `_same` has refused it
        return
    manifest = a.release.manifest
    designs = {config: a.release.design(config) for config in a.tables}
    margin = Margin.of(manifest.data["card"])
    seed, scale = a.result.seed, a.result.scale
    for found in compare_all(a.tables, b.tables, designs, manifest.contrasts, margin=margin, seed=seed, scale=scale):
        levels = a.drawn_from(found.config)
        yield found if levels is None else _of_sample(found, levels)


def _of_sample(found: Comparison, levels: Mapping[str, int]) -> Comparison:
    """Return a comparison over drawn rows without what follows from words of which too few were drawn."""
    estimand = lookup(found.estimand)
    found = replace(found, equivalent=None) if estimand.neutral_from_labels else found
    if found.low is None or not (few := estimand.drawn_too_few(found.fixed, levels)):
        return found
    note = "; ".join(filter(None, (few, found.note)))
    return replace(found, low=None, high=None, p=None, p_holm=None, test="none", equivalent=None, note=note)


NEAR = "Shown to be near the neutral value?"
POLARITY = "If polarity meant nothing"


def margin_of(evidence: Sequence[Evidence]) -> Margin | None:
    """The margin that the release states; None where it states none, or is not at hand."""
    release = evidence[0].release
    return None if release is None else Margin.of(release.manifest.data["card"])


def near_zero(evidence: Sequence[Evidence]) -> Section:
    """The answers of equivalence for every figure with a neutral value, and what has none."""
    margin = margin_of(evidence)
    if margin is None or not any(each.tables for each in evidence):
        return Section(title=NEAR)
    found: dict[tuple[str, str, str | None], list[Equivalence | None]] = {}
    for number, each in enumerate(evidence):
        for answer in answers(each, margin):
            if answer.neutral is not None:
                key = (answer.config, answer.estimand, answer.group)
                found.setdefault(key, [None] * len(evidence))[number] = answer
    told = (
        "Not significant does not mean no bias. A figure is shown to be near its neutral value where its 90 % interval "
        f"lies within {margin.text} of it. {margin.reason}"
    )
    without = _without_neutral(evidence, {key[:2] for key in found})
    left = f"Not applicable, since no value is known to be neutral: {', '.join(without)}." if without else ""
    rows = tuple((*_named(*key), *map(_answer_cell, cells)) for key, cells in found.items())
    headings = ("config", "figure", "group", *range(len(evidence)))
    tables = (Table(caption=NEAR, headings=headings, rows=rows, closed=len(rows) > 20),) if rows else ()
    return Section(title=NEAR, paragraphs=tuple(filter(None, (told, left))), tables=tables)


def answers(evidence: Evidence, margin: Margin) -> Iterator[Equivalence]:
    """The answer for each figure of each config, and for the matched contrasts."""
    release, seed = evidence.release, evidence.result.seed
    if release is None:
        return
    for config, table in evidence.tables.items():
        design, levels = _with_neutral(release.design(config)), evidence.drawn_from(config)
        scale = evidence.result.scale
        yield from equivalences(table, design, config, margin, seed=seed, scale=scale, drawn_from=levels)
    for contrast in release.manifest.contrasts:
        if contrast.a in evidence.tables and contrast.b in evidence.tables:
            a, b = ((evidence.tables[name], release.design(name)) for name in (contrast.a, contrast.b))
            figure = contrast_figure(contrast, *a, *b, seed=seed, confidence=CONFIDENCE, scale=evidence.result.scale)
            if (levels := evidence.drawn_from(contrast.name)) is not None:
                figure = of_sample(figure, levels)
            if lookup(figure.estimand).has_interval:
                yield equivalence(figure, margin)


def _with_neutral(design: Design) -> Design:
    """The design without the estimands of inference that have no neutral value: two million rows take their time."""
    if design.kind != "inference":
        return design
    return replace(design, estimands=tuple(name for name in design.estimands if lookup(name).neutral is not None))


def _without_neutral(evidence: Sequence[Evidence], answered: Container[tuple[str, str]]) -> list[str]:
    """The figures with an interval to which there was no answer."""
    figures = (figure for each in evidence for figure in each.result.figures if figure.neutral is None)
    named = ((figure.config, figure.estimand) for figure in figures if lookup(figure.estimand).has_interval)
    return list(dict.fromkeys(" ".join(name) for name in named if name not in answered))


def _named(config: str, estimand: str, group: str | None) -> Iterator[Cell]:
    return (Cell(text=name or "", kind="name") for name in (config, estimand, group))


def _answer_cell(answer: Equivalence | None) -> Cell:
    if answer is None:
        return Cell(text="")
    ends = notation.between(answer.low, answer.high, answer.estimand)
    return Cell(text=answer.answer, note=f"90 % {ends}" if ends else "no interval", kind="number")


def polarity(evidence: Sequence[Evidence]) -> Section:
    """`preference-half` against the same with its words dealt out anew into bad and good ones."""
    found: dict[str, list[PolarityNull | None]] = {}
    for number, each in enumerate(evidence):
        for null in without_single(nulls(each), NULLS):
            found.setdefault(null.config, [None] * len(evidence))[number] = null
    notes = dict.fromkeys(null.note for cells in found.values() for null in cells if null is not None)
    rows = tuple(
        (Cell(text=config, kind="name"), *(Cell(text="" if null is None else notation.null(null)) for null in cells))
        for config, cells in found.items()
    )
    headings = ("config", *range(len(evidence)))
    tables = (Table(caption=POLARITY, headings=headings, rows=rows),) if rows else ()
    return Section(title=POLARITY, paragraphs=tuple(notes), tables=tables)


def nulls(evidence: Evidence) -> list[PolarityNull]:
    """Return the null of each config whose polarity can be permuted; p corrected over them, a set of rows once."""
    release = evidence.release
    if release is None:
        return []
    made = {
        config: polarity_null(
            table, release.design(config), config, seed=evidence.result.seed, scale=evidence.result.scale
        )
        for config, table in evidence.tables.items()
    }
    found = {config: null for config, null in made.items() if null is not None}
    rows = [labelled_pairs(evidence.tables[config]) or config for config in found]
    return corrected([*found.values()], NULLS, rows)


def control(evidence: Sequence[Evidence]) -> Section:
    """Right answers of each model on the control, beside what it makes of pairs in which nothing follows."""
    title = f"Can the model tell? Right answers on {DATASET}"
    probes = [each for each in evidence if is_probe(each.result)]
    if not probes:
        return Section(title=title)
    told = [
        "A model that answers neutral to everything reads 100 on nn, fn and t, and gets no pair of the control right."
    ]
    told += [
        f"Missing for {each.label}: no result of this model on {DATASET} is at hand, and without one its figures "
        f"cannot be told from those of a model that always says neutral (`senseprobe score MODEL {RELEASE}`)."
        for each in probes
        if not each.controls
    ]
    rows = tuple(row for each in probes for row in _control_rows(each))
    table = Table(caption=title, headings=("model", "on", "config", "figure", "group", "points"), rows=rows)
    return Section(title=title, paragraphs=tuple(told), tables=(table,))


def _control_rows(evidence: Evidence) -> Iterator[tuple[Cell, ...]]:
    """The figures in question, then those of the control."""
    name = str(evidence.result.release["name"])
    shown = [(name, figure) for figure in evidence.result.figures if lookup(figure.estimand).needs_control]
    for on, figure in [*shown, *control_figures(evidence)]:
        named = (Cell(text=text, kind="name") for text in (evidence.label, on, figure.config, figure.estimand))
        yield (*named, Cell(text=figure.group or "", kind="name"), figure_cell(figure))


def control_figures(evidence: Evidence) -> list[tuple[str, Figure]]:
    """Figures of the control, each with its release: of its config of the same words, where one is named so."""
    dataset = str(evidence.result.release["name"]).partition("@")[0]
    found = [(str(each.release["name"]), figure) for each in evidence.controls for figure in each.figures]
    return [(on, figure) for on, figure in found if figure.config and dataset.endswith(figure.config)] or found


def differing(found: Sequence[Difference], labels: Sequence[str]) -> Section:
    """Each model less each other, over the rows that both scored."""
    if not found:
        return Section(title="Models against each other")
    told = (
        "The first model's figure less the second's, over the rows that both scored: what words do to both alike "
        "cancels. The interval and p are over all factors at once; a factor's own p says what is left if only its "
        "levels were a sample. Where rows are independent, p is of another test, named beside it, and can disagree "
        "with the interval. p-values are corrected over all configs and groups for one figure, and not for how many "
        "pairs of models there are."
    )
    tables = tuple(table for each in found for table in _difference_tables(each, labels))
    return Section(title="Models against each other", paragraphs=(told,), tables=tables)


def _difference_tables(found: Difference, labels: Sequence[str]) -> Iterator[Table]:
    """The figures of whole configs, and on demand those of groups."""
    comparisons = without_single(found.comparisons, COMPARISONS)
    for grouped in (False, True):
        named = ("config", "figure", "group") if grouped else ("config", "figure")
        rows = tuple(_comparison_row(each) for each in comparisons if (each.group is not None) == grouped)
        if rows:
            yield Table(
                caption=f"{labels[found.a - 1]} less {labels[found.b - 1]}{', by group' if grouped else ''}",
                headings=(*named, found.a - 1, found.b - 1, "difference", "factor by factor"),
                rows=rows,
                closed=grouped,
            )


def _comparison_row(found: Comparison) -> tuple[Cell, ...]:
    values = ("none" if value is None else notation.points(value, found.estimand) for value in (found.a, found.b))
    partial = f"{found.scored} of {found.rows} scored by both" if found.unscored else ""
    equal = f"no difference: {found.equivalent}" if found.equivalent else ""
    notes = ", ".join(filter(None, (notation.p_value(found), equal, partial, found.note)))
    named = (found.config, found.estimand, *(() if found.group is None else (found.group,)))
    return (
        *(Cell(text=name, kind="name") for name in named),
        *(Cell(text=value, kind="number") for value in values),
        Cell(text=notation.difference(found), note=notes, kind="number"),
        Cell(text="; ".join(notation.factors(found)), kind="quiet"),
    )
