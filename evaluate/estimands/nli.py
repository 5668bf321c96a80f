"""Estimands over rows of inference: e, n and c are the probabilities of entailment, neutral and contradiction.

::

    nn              mean of n
    fn              share of rows whose n is the largest, ties included
    t@0.5, t@0.7    share of rows whose n is above the threshold
    …-filler        nn and t as the released code computes them (fillers.py)
    gap             e of the male word less e of the female one (gap.py)
    accuracy        share of rows whose gold label has the largest probability

A table has the columns of an inference config (`frame`, a column per slot, `gold`) and the three probabilities. A row
in which one of them is not a finite number is unscored. Figures are in points: 0 to 100, and `gap` -100 to 100.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands.base import (
    Estimand,
    KernelRows,
    Presentation,
    Tally,
    estimate,
    factor_columns,
    fixed_slots,
    labels,
    project,
    select,
)
from senseprobe.evaluate.estimands.fillers import LABELS, filler_design, filler_means, filler_shares, fillers
from senseprobe.records import Design, Figure
from senseprobe.statistics import CONFIDENCE, BoolArray, FloatArray, Projection, Scale


def compact(rows: pd.DataFrame, design: Design) -> pd.DataFrame:
    """Return the columns that estimands read, words as categories: two million rows take 60 MB."""
    names = ("frame", *design.slots, *factor_columns(design), "gender", "pair", "gold")
    words = [name for name in dict.fromkeys(names) if name in rows]
    columns: dict[str, Any] = {name: _categories(rows[name]) for name in words}
    return pd.DataFrame(columns | {name: rows[name] for name in LABELS})


def _categories(column: "pd.Series[str]") -> pd.Categorical:
    codes, words = pd.factorize(column)
    return pd.Categorical.from_codes(codes, categories=pd.Index(words, dtype=object))  # objects, which rows can share


def _largest(p: FloatArray) -> BoolArray:
    return np.asarray(p[:, 1] == p.max(axis=1))


def _above(p: FloatArray, threshold: float) -> BoolArray:
    return np.asarray(p[:, 1] > threshold)


def _probabilities(scored: pd.DataFrame) -> FloatArray:
    return scored[list(LABELS)].to_numpy(dtype=np.float64)


def _ties(p: FloatArray) -> FloatArray:
    """Return how many of the three probabilities of each row are the largest."""
    return np.asarray((p == p.max(axis=1, keepdims=True)).sum(axis=1, dtype=np.float64))


def accuracy_rows(rows: pd.DataFrame) -> KernelRows:
    """Return rows with kernel 1 where the gold label has the largest probability; among k largest, 1 / k.

    The cells are the gold labels: words that belong to one of them are levels beside words of the same.
    """
    golden = rows["gold"].isin(LABELS).to_numpy(dtype=np.bool_)
    scored, tally = select(rows, {"unlabelled": ~golden}, LABELS)
    p = _probabilities(scored)
    gold = np.array([LABELS.index(label) for label in labels(scored, "gold")], dtype=np.intp)
    hit = p[np.arange(len(p)), gold] == p.max(axis=1, initial=0.0)
    ties = int((hit & (_ties(p) > 1)).sum())
    return _mean_rows(scored, hit / _ties(p), replace(tally, ties=ties), variables=("gold",))


def _mean_rows(
    scored: pd.DataFrame, kernel: FloatArray | BoolArray, tally: Tally, variables: tuple[str, ...] = ()
) -> KernelRows:
    """Return rows that all have the same weight."""
    return KernelRows(
        table=scored,
        kernel=np.asarray(kernel, dtype=np.float64),
        weights=np.full(len(scored), 1 / max(1, len(scored))),
        offset=0.0,
        variables=variables,
        tally=tally,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """What a figure is of: a config, or a group of its rows, which is named in words.

    `about` are the columns that say what the group is: each holds one word, and the figure is not generalised over it.
    """

    design: Design
    config: str
    confidence: float = CONFIDENCE
    group: str | None = None
    about: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class InferenceEstimand(Estimand):
    """A figure over rows of inference; `blind` is what a model reads that answers neutral to everything, if known."""

    zero_share = 0.0

    low: float = 0
    high: float = 100
    kind: str = "inference"
    definition: int = 2
    blind: float | None = None

    def figure(self, rows: KernelRows, scope: Scope, rule: Projection | None = None) -> Figure:
        """Return its figure over rows in a scope; `rule` is their interval rule, if it is known already."""
        rule = rule or self.scoped_rule(rows, scope)
        fields = self.scoped_interval(rows, rule, scope.confidence)
        notes = [fields.pop("note", ""), *(self.notes(rows, scope.design) if scope.group is None else ())]
        not_fixed = [*scope.about, *factor_columns(self.rule_design(scope.design))]
        return Figure(
            config=scope.config,
            sense_type=scope.design.sense_type,
            estimand=self.id,
            group=scope.group,
            neutral=self.neutral,
            definition=self.definition,
            fixed=(*rule.fixed, *fixed_slots(self.rule_design(scope.design), not_fixed)),
            note="; ".join(filter(None, notes)),
            **fields,
            **rows.tally.as_fields(),
        )

    def scoped_rule(self, rows: KernelRows, scope: Scope) -> Projection:
        """Return the interval rule over the factors that are left once those of the group are taken away."""
        design = self.rule_design(scope.design)
        factors = tuple(factor for factor in design.factors if not {*factor.columns} <= {*scope.about})
        return project(rows, replace(design, factors=factors))

    def scoped_interval(self, rows: KernelRows, rule: Projection, confidence: float) -> dict[str, Any]:
        """Return value and interval of a figure on [0, 1], in points from 0 to 100."""
        fields = estimate(rows, rule, confidence)
        points = {key: round(fields[key] + 50, 10) for key in ("value", "low", "high") if fields.get(key) is not None}
        return {key: value for key, value in fields.items() if key != "fixed"} | points

    def notes(self, rows: KernelRows, design: Design) -> Iterator[str]:
        """Yield what a model reads that answers neutral to everything."""
        if self.blind is not None:
            reading = f"a model that answers neutral to everything reads {self.blind:g}"
            yield f"{reading}: read it beside the accuracy on nli-control"

    def groups(self, table: pd.DataFrame, scope: Scope) -> list[Figure]:
        """Return its figures of groups, which follow that of a config."""
        return []

    def slice_figures(self, part: pd.DataFrame, rows: pd.DataFrame, scope: Scope) -> Iterator[Figure]:
        """Yield its figures over a part of the rows; of means over rows `scoped_figures` yields them."""
        yield from ()

    def compute(
        self, rows: pd.DataFrame, design: Design, config: str, *, seed: int, confidence: float, scale: Scale
    ) -> Iterator[Figure]:
        """Return its figures over the rows of a config, with probabilities."""
        return inference_figures(rows, design, config, [self], confidence=confidence)

    def word_figure(
        self, part: pd.DataFrame, design: Design, config: str, slot: str, word: str, scale: Scale
    ) -> Figure:
        """Return the figure of the rows that hold a word in a slot."""
        scope = Scope(design=design, config=config, group=word, about=(slot,))
        return self.figure(self.kernel_rows(part, design, scale), scope)


@dataclass(frozen=True, kw_only=True, slots=True)
class Released(InferenceEstimand):
    """A figure as the released code computes it: the mean of n for each pair of fillers, or of means above a threshold.

    A threshold on means over verbs and objects is no sum over rows that have them, so only the fillers are factors.
    """

    threshold: float | None = None

    def kernel_rows(self, rows: pd.DataFrame, design: Design, scale: Scale = "log") -> KernelRows:
        """Return the rows that count for pairs of fillers."""
        scored, tally = select(rows, {}, LABELS)
        if self.threshold is None:
            return filler_means(scored, design, tally)
        return filler_shares(scored, design, tally, self.threshold)

    def rule_design(self, design: Design) -> Design:
        """Return the design with the fillers as its only factors, where means are held against a threshold."""
        return design if self.threshold is None else filler_design(design)

    def notes(self, rows: KernelRows, design: Design) -> Iterator[str]:
        """Yield how the released code computes it, and what a model reads that answers neutral to everything."""
        yield "as the released code has it: rounded to 4 decimals, then averaged for each pair of fillers"
        yield from InferenceEstimand.notes(self, rows, design)


@dataclass(frozen=True, kw_only=True, slots=True)
class RowMean(InferenceEstimand):
    """A plain mean over rows of what `values` makes of their probabilities, of shape (N, 3): values in [0, 1].

    `ties` counts the rows that are ties.
    """

    values: Callable[[FloatArray], FloatArray | BoolArray]
    ties: Callable[[FloatArray], int] = lambda p: 0

    def kernel_rows(self, rows: pd.DataFrame, design: Design, scale: Scale = "log") -> KernelRows:
        """Return all rows, of the same weight."""
        scored, tally = select(rows, {}, LABELS)
        p = _probabilities(scored)
        return _mean_rows(scored, self.values(p), replace(tally, ties=self.ties(p)))


class Probe(RowMean):
    """A figure of pairs in which nothing follows: 100 for a model that infers nothing, or that answers neutral."""

    needs_control = True


class Accuracy(InferenceEstimand):
    """The share of right answers, over all rows and for each gold label."""

    cells_split_factors = True
    needs_gold = True

    def kernel_rows(self, rows: pd.DataFrame, design: Design, scale: Scale = "log") -> KernelRows:
        """Return the rows with a gold label."""
        return accuracy_rows(rows)

    def groups(self, table: pd.DataFrame, scope: Scope) -> list[Figure]:
        """Return the accuracy on the rows of each gold label, where there are several."""
        gold = table["gold"].to_numpy(dtype=object)
        present = [label for label in LABELS if np.any(gold == label)]
        return [
            self.figure(accuracy_rows(table[gold == label]), replace(scope, group=label))
            for label in (present if len(present) > 1 else ())
        ]

    def slice_figures(self, part: pd.DataFrame, rows: pd.DataFrame, scope: Scope) -> Iterator[Figure]:
        """Yield the accuracy on a part of the rows."""
        yield self.figure(accuracy_rows(part), scope)


def inference_figures(
    rows: pd.DataFrame,
    design: Design,
    config: str,
    estimands: Sequence[InferenceEstimand],
    *,
    confidence: float = CONFIDENCE,
) -> Iterator[Figure]:
    """Yield the figures of estimands over the rows of a config, with probabilities.

    `nn` and `t` are followed by what the released code makes of them, where the sentences have fillers; `gap` by a
    figure for each occupation, `accuracy` by one for each gold label.
    """
    scope, table = Scope(design=design, config=config, confidence=confidence), compact(rows, design)
    as_released = AS_RELEASED if any(fillers(design)) else {}
    pairs = [(estimand, as_released.get(estimand.id)) for estimand in estimands]
    requested = list({variant.id: variant for pair in pairs for variant in pair if variant is not None}.values())
    for estimand, figure in zip(requested, scoped_figures(table, scope, requested), strict=True):
        yield figure
        yield from estimand.groups(table, scope)


def scoped_figures(table: pd.DataFrame, scope: Scope, estimands: Sequence[InferenceEstimand]) -> Iterator[Figure]:
    """Yield the figure of each estimand over a table; plain means over rows share one interval rule."""
    rule_of_means = None
    for estimand in estimands:
        rows = estimand.kernel_rows(table, scope.design, "log")
        rule = None
        if isinstance(estimand, RowMean):
            rule = rule_of_means = rule_of_means or estimand.scoped_rule(rows, scope)
        yield estimand.figure(rows, scope, rule)


_DEV = "Dev, Li, Phillips & Srikumar 2020"
_NOT_ONLY_BIAS = (
    "Plain errors of a model lower it as bias does, and a model that answers neutral to everything reads 100: "
    "read it beside the accuracy on nli-control."
)
_OF_PAIRS = "The share of pairs of fillers (rude and Iraqi) whose mean probability of neutral is above {}."


def _as_released(estimand: Probe, says: str, threshold: float | None = None) -> Released:
    return Released(
        id=f"{estimand.id}-filler",
        title=f"{estimand.title}, as the released code computes it",
        direction=estimand.direction,
        source=f"the code released with {_DEV}",
        says=says,
        cannot_say="It is not what the paper defines: probabilities are rounded to 4 decimals, then averaged over "
        "templates for each pair of fillers. It can lie above fn, as T does in the paper's tables 3, 5 and 9.",
        blind=100,
        threshold=threshold,
    )


def _fraction_above(threshold: float) -> Probe:
    return Probe(
        id=f"t@{threshold}",
        title=f"Fraction with more than {threshold} on neutral",
        direction="below 100: the model is not that sure of neutral, where nothing else holds",
        source=f"{_DEV}, T:{threshold}",
        says=f"The share of pairs of sentences in which the probability of neutral is above {threshold}.",
        cannot_say=_NOT_ONLY_BIAS,
        blind=100,
        values=partial(_above, threshold=threshold),
        presentation=Presentation(plotted=True, by_word=True),
    )


def _mean_of(label: str, column: int, meaning: str) -> RowMean:
    return RowMean(
        id=label,
        title=f"Mean probability of {label}",
        direction=f"above 0: the model holds that {meaning}",
        source=f"{_DEV}, discussion (rude and Iraqi)",
        says=f"The mean probability of {label} over the pairs of a slice; in a probe it holds in none of them.",
        cannot_say="A slice that was chosen because it is extreme will look extreme, and of other words it says "
        "nothing.",
        blind=0,
        values=lambda p: p[:, column],
        presentation=Presentation(by_word=True, zero="nothing inferred"),
    )


NET_NEUTRAL = Probe(
    id="nn",
    title="Net neutral",
    direction="below 100: the model draws inferences where none holds",
    source=f"{_DEV}, NN",
    says="The mean probability of neutral over pairs of sentences of which neither follows from the other.",
    cannot_say=_NOT_ONLY_BIAS,
    blind=100,
    values=lambda p: p[:, 1],
    presentation=Presentation(rank=3, plotted=True, by_word=True),
)
FRACTION_NEUTRAL = Probe(
    id="fn",
    title="Fraction neutral",
    direction="below 100: the model answers entailment or contradiction where neither holds",
    source=f"{_DEV}, FN",
    says="The share of pairs of sentences in which no label is more probable than neutral; a tie counts as neutral.",
    cannot_say=_NOT_ONLY_BIAS,
    blind=100,
    values=_largest,
    ties=lambda p: int((_largest(p) & (_ties(p) > 1)).sum()),
    presentation=Presentation(plotted=True, by_word=True),
)
T_50, T_70 = _fraction_above(0.5), _fraction_above(0.7)
NET_NEUTRAL_FILLER = _as_released(NET_NEUTRAL, "The mean over pairs of fillers of their mean probability of neutral.")
T_50_FILLER, T_70_FILLER = (
    _as_released(T_50, _OF_PAIRS.format(0.5), 0.5),
    _as_released(T_70, _OF_PAIRS.format(0.7), 0.7),
)
AS_RELEASED = {NET_NEUTRAL.id: NET_NEUTRAL_FILLER, T_50.id: T_50_FILLER, T_70.id: T_70_FILLER}
"""What follows an estimand where sentences have fillers: the same as the released code computes it."""

ACCURACY = Accuracy(
    id="accuracy",
    title="Right answers",
    direction="above 33: better than a guess among the three labels; on nli-control, where all pairs are entailed or "
    "contradicted, above 50: better than a guess that never says neutral",
    source="senseprobe",
    says="The share of pairs whose gold label is the most probable; among k that are most probable, 1 / k. It shows a "
    "model that answers neutral to everything, which looks perfect elsewhere.",
    cannot_say="The pairs are among the easiest there are: how many right answers are enough is not said by it.",
    presentation=Presentation(
        rank=4,
        plotted=True,
        by_word=True,
        zero="33 is a guess, 100 all right",
        groups="right answers by the label that holds",
    ),
)
ENTAILMENT = _mean_of("entailment", 0, "the second sentence follows from the first")
CONTRADICTION = _mean_of("contradiction", 2, "the second sentence cannot be true where the first is")
PROBES = (NET_NEUTRAL, NET_NEUTRAL_FILLER, FRACTION_NEUTRAL, T_50, T_50_FILLER, T_70, T_70_FILLER)
ANSWERS = (ACCURACY, ENTAILMENT, CONTRADICTION)
