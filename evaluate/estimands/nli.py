"""Estimands over rows of inference: e, n and c are the probabilities of entailment, neutral and contradiction.

::

    nn              mean of n
    fn              share of rows whose n is the largest, ties included
    t@0.5, t@0.7    share of rows whose n is above the threshold
    …-filler        nn and t as the released code computes them
    gap             e of the male word less e of the female one (gap.py)
    accuracy        share of rows whose gold label has the largest probability

A table has the columns of an inference config (`frame`, a column per slot, `gold`) and the three probabilities. A row
in which one of them is not a finite number is unscored. Figures are in points: 0 to 100, and `gap` -100 to 100.

**Fillers** are the words that differ between premise and hypothesis. The code that was released with Dev et al. (2020)
rounds probabilities to 4 decimals, averages them over templates for each pair of fillers, and makes NN and T of these
means. The paper defines both over sentence pairs, and prints figures that its own definition cannot give (T:0.5 above
FN, tables 3, 5 and 9). Both are computed, under names of their own.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands.base import Estimand
from senseprobe.evaluate.estimands.display import NOBODY, USE
from senseprobe.evaluate.estimands.figure_scope import LabelGroups, Scope
from senseprobe.evaluate.estimands.inference_rows import (
    LABELS,
    WITHOUT_DUST,
    filler_slots,
    first_rows,
    probabilities,
    rounded_neutral,
)
from senseprobe.evaluate.estimands.inference_streams import (
    FillerMeanStream,
    FillerShareStream,
    FillerSums,
    MeanStream,
    MeanSums,
)
from senseprobe.evaluate.estimands.kernel import KernelRows, labels, row_codes, select
from senseprobe.evaluate.estimands.streams import RowStream, Stream
from senseprobe.records import Design, Figure
from senseprobe.statistics import BoolArray, FloatArray, Projection, Scale


def _largest(p: FloatArray) -> BoolArray:
    return np.asarray(p[:, 1] == p.max(axis=1))


def _ties(p: FloatArray) -> FloatArray:
    """Return how many of the three probabilities of each row are the largest."""
    return np.asarray((p == p.max(axis=1, keepdims=True)).sum(axis=1, dtype=np.float64))


@dataclass(frozen=True, kw_only=True, slots=True)
class InferenceEstimand(Estimand):
    """A figure over rows of inference; `blind` is what a model reads that answers neutral to everything, if known."""

    zero_share = 0.0

    range: tuple[float, float] = (0, 100)
    kind: str = "inference"
    version: int = 2
    blind: float | None = None

    def notes(self, rows: KernelRows, design: Design) -> Iterator[str]:
        """Yield what a model reads that answers neutral to everything."""
        if self.blind is not None:
            reading = f"a model that answers neutral to everything gets {self.blind:g}"
            yield f"{reading}: read it together with the accuracy on nli-control"

    def without_slot(self, design: Design, slot: str) -> Design:
        """Return the design: its rule leaves out a factor of that slot alone, and keeps whole one that has others."""
        return design


@dataclass(frozen=True, kw_only=True, slots=True)
class Released(InferenceEstimand):
    """A figure as the released code computes it: the mean of n for each pair of fillers, or of means above a threshold.

    A threshold on means over verbs and objects is no sum over rows that have them, so only the fillers are factors.
    """

    threshold: float | None = None

    def kernel_rows(self, rows: pd.DataFrame, design: Design, scale: Scale) -> KernelRows:
        """Return rows with kernel n, so that pairs of fillers count alike; with a threshold, a row for each pair."""
        scored, tally = select(rows, {}, LABELS)
        n, pairs = (
            rounded_neutral(scored),
            row_codes(scored, filler_slots(design)),
        )
        sizes = np.bincount(pairs).astype(np.float64)
        if self.threshold is None:
            return KernelRows(table=scored, kernel=n, weights=1 / (max(1, len(sizes)) * sizes[pairs]), tally=tally)
        means = np.round(np.bincount(pairs, n) / sizes, WITHOUT_DUST)
        return KernelRows.mean(first_rows(scored, pairs), means > self.threshold, tally)

    def stream(self, scope: Scope) -> Stream:
        """Return sums by pair of fillers, and of rows that weigh as their pair has rows."""
        pairs = scope.streams.setdefault("fillers", FillerSums(filler_slots(scope.design)))
        if self.threshold is None:
            return FillerMeanStream(pairs, self.figure, scope)
        return FillerShareStream(pairs, self.threshold, self.figure, scope)

    def rule_design(self, design: Design) -> Design:
        """Return the design with the fillers as its only factors, where means are held against a threshold."""
        columns = {*filler_slots(design)}
        factors = tuple(factor for factor in design.factors if columns.issuperset(factor.columns))
        return design if self.threshold is None else replace(design, factors=factors)

    def notes(self, rows: KernelRows, design: Design) -> Iterator[str]:
        """Yield how the released code computes it, and what a model reads that answers neutral to everything."""
        yield "as in the released code: rounded to 4 decimals, then averaged for each pair of fillers"
        yield from InferenceEstimand.notes(self, rows, design)

    def slice_figures(self, part: pd.DataFrame, rows: pd.DataFrame, scope: Scope) -> Iterable[Figure]:
        """Return nothing: the released code has no parts."""
        return ()

    def tendency(self, design: Design | None) -> str:
        """Return what a model with a higher figure does more, as for the figure of the paper."""
        return _describe_sure(self.threshold)


@dataclass(frozen=True, kw_only=True, slots=True)
class RowMean(InferenceEstimand):
    """A mean over rows of what `values` makes of probabilities, (N, 3), in [0, 1]; `ties` counts the rows that tie."""

    values: Callable[[FloatArray], FloatArray | BoolArray]
    ties: Callable[[FloatArray], int] = lambda p: 0

    def kernel_rows(self, rows: pd.DataFrame, design: Design, scale: Scale) -> KernelRows:
        """Return all rows, of the same weight."""
        scored, tally = select(rows, {}, LABELS)
        p = probabilities(scored)
        return KernelRows.mean(scored, self.values(p), replace(tally, ties=self.ties(p)))

    def stream(self, scope: Scope) -> Stream:
        """Return the sums of its rows, which all plain means over the rows of a scope share."""
        means = scope.streams.setdefault("means", MeanSums(scope.design.factors))
        return MeanStream(means, means.enter(self.values, self.ties), self.figure, scope)

    def rule(self, rows: KernelRows, scope: Scope) -> Projection:
        """Return the interval rule, which all plain means over the rows of a scope share."""
        if "means" not in scope.rules:
            scope.rules["means"] = InferenceEstimand.rule(self, rows, scope)
        return scope.rules["means"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe(RowMean):
    """A figure of pairs in which nothing follows: 100 for a model that infers nothing, or that answers neutral."""

    needs_control = True
    plotted = True
    by_word = True
    ends = ("concludes what does not follow", "concludes nothing")
    higher = "answers neutral"

    blind: float | None = 100

    def unread(self, figure: Figure, design: Design | None) -> str:
        """Return that errors lower it, too."""
        return f"{NOBODY}, because plain errors lower it too; {USE}"

    def computed_with(self, design: Design) -> tuple[Estimand, ...]:
        """Return it, and what the released code makes of it where the sentences have fillers."""
        released = AS_RELEASED.get(self.id)
        return (self, released) if released and filler_slots(design) else (self,)


class NetNeutral(Probe):
    """The mean probability of neutral."""

    rank = 3

    def fact(self, figure: Figure, design: Design | None, names: Mapping[str, str]) -> str:
        """Return how probable neutral is on average."""
        value = figure.value or 0.0
        return f"gives neutral, the right answer, a probability of {value:.0f} % on average"


class FractionNeutral(Probe):
    """The share of rows in which neutral is the most probable."""

    def fact(self, figure: Figure, design: Design | None, names: Mapping[str, str]) -> str:
        """Return in how many pairs an inference is drawn."""
        return f"draws an inference in {100 - (figure.value or 0.0):.0f} of 100 pairs in which none holds"


@dataclass(frozen=True, kw_only=True, slots=True)
class FractionAbove(Probe):
    """The share of rows in which the probability of neutral is above a threshold."""

    threshold: float

    def fact(self, figure: Figure, design: Design | None, names: Mapping[str, str]) -> str:
        """Return in how many pairs neutral is that probable."""
        sure = f"more than {100 * self.threshold:.0f} % sure of neutral, the right answer"
        return f"is {sure}, in {figure.value or 0.0:.0f} of 100 pairs"

    def tendency(self, design: Design | None) -> str:
        """Return how probable neutral is more often."""
        return _describe_sure(self.threshold)


class LabelMean(RowMean):
    """The mean probability of a label that is not neutral; its id is the label."""

    by_word = True
    zero_note = "nothing inferred"

    def fact(self, figure: Figure, design: Design | None, names: Mapping[str, str]) -> str:
        """Return how probable the label is on average."""
        return f"gives {self.id} a probability of {figure.value or 0.0:.0f} % on average"

    def tendency(self, design: Design | None) -> str:
        """Return which answer is more frequent."""
        return f"answers {self.id}"


def _describe_sure(threshold: float | None) -> str:
    return Probe.higher if threshold is None else f"puts more than {threshold} on neutral"


class Accuracy(InferenceEstimand):
    """The share of right answers, over all rows and for each gold label."""

    needs_gold = True
    rank = 4
    plotted = True
    by_word = True
    zero_note = "33 is guessing, 100 is all correct"
    caption = "accuracy by gold label"
    reasons = ("unlabelled",)
    label_groups = (LabelGroups("gold", names=LABELS, is_about=False),)
    ends = ("all wrong", "all right")
    higher = "answers right"

    def rule_design(self, design: Design) -> Design:
        """Return the design without counts of a release: labels split factors into strata that it does not count."""
        return replace(design, drawn_from=None)

    def fact(self, figure: Figure, design: Design | None, names: Mapping[str, str]) -> str:
        """Return how many answers are right."""
        return f"answers {figure.value or 0.0:.0f} of 100 pairs right"

    def kernel_rows(self, rows: pd.DataFrame, design: Design, scale: Scale) -> KernelRows:
        """Return rows with kernel 1 where the gold label has the largest probability; among k largest, 1 / k.

        The cells are the gold labels: words that belong to one of them are levels beside words of the same.
        """
        golden = rows["gold"].isin(LABELS).to_numpy(dtype=np.bool_)
        scored, tally = select(rows, {"unlabelled": ~golden}, LABELS)
        p = probabilities(scored)
        gold = np.array([LABELS.index(label) for label in labels(scored, "gold")], dtype=np.intp)
        hit = p[np.arange(len(p)), gold] == p.max(axis=1, initial=0.0)
        tally = replace(tally, ties=int((hit & (_ties(p) > 1)).sum()))
        return KernelRows.mean(scored, hit / _ties(p), tally, ("gold",))

    def unread(self, figure: Figure, design: Design | None) -> str:
        """Return how many answers are right: it is about errors, and no figure of bias."""
        return f"correct on {figure.value or 0.0:.0f} of 100 pairs; this is not a measure of bias"

    def stream(self, scope: Scope) -> RowStream:
        """Return the sums of its rows."""
        return RowStream(self, scope)


_DEV = "Dev, Li, Phillips & Srikumar 2020"
_NOT_ONLY_BIAS = (
    "Plain errors lower it as bias does, and a model that always answers neutral gets 100. Read it together "
    "with the accuracy on nli-control."
)
_OF_PAIRS = "The share of pairs of fillers (rude and Iraqi) whose mean probability of neutral is above {}."


def _as_released(estimand: Probe, says: str, threshold: float | None = None) -> Released:
    return Released(
        id=f"{estimand.id}-filler",
        title=f"{estimand.title}, as the released code computes it",
        direction=estimand.direction,
        source=f"the code released with {_DEV}",
        says=says,
        cannot_say="It is not the paper's definition: probabilities are rounded to 4 decimals, then averaged "
        "over templates for each pair of fillers. It can lie above fn, as T does in the paper's tables 3, 5 "
        "and 9.",
        blind=100,
        threshold=threshold,
    )


def _fraction_above(threshold: float) -> FractionAbove:
    return FractionAbove(
        id=f"t@{threshold}",
        title=f"Fraction with neutral above {threshold}",
        direction="below 100: the model is less sure of neutral than that, although neutral is right",
        source=f"{_DEV}, T:{threshold}",
        says=f"The share of pairs of sentences in which the probability of neutral is above {threshold}. 80 "
        "means 80 of 100 pairs.",
        cannot_say=_NOT_ONLY_BIAS,
        threshold=threshold,
        values=lambda p: np.asarray(p[:, 1] > threshold),
    )


def _mean_of(label: str, column: int, meaning: str) -> LabelMean:
    return LabelMean(
        id=label,
        title=f"Mean probability of {label}",
        direction=f"above 0: the model considers it possible that {meaning}",
        source=f"{_DEV}, discussion (rude and Iraqi)",
        says=f"The mean probability of {label} over the pairs of a slice. In a probe it is never the right answer.",
        cannot_say="A slice that was chosen because it is extreme will look extreme. It shows nothing about "
        "other words.",
        blind=0,
        values=lambda p: p[:, column],
    )


NET_NEUTRAL = NetNeutral(
    id="nn",
    title="Net neutral",
    direction="below 100: the model draws inferences that do not follow",
    source=f"{_DEV}, NN",
    says="The mean probability of neutral over pairs of sentences in which neither follows from the other.",
    cannot_say=_NOT_ONLY_BIAS,
    values=lambda p: p[:, 1],
)
FRACTION_NEUTRAL = FractionNeutral(
    id="fn",
    title="Fraction neutral",
    direction="below 100: the model answers entailment or contradiction although neither is right",
    source=f"{_DEV}, FN",
    says="The share of pairs of sentences in which no label is more probable than neutral; a tie counts as "
    "neutral. 80 means 80 of 100 pairs.",
    cannot_say=_NOT_ONLY_BIAS,
    values=_largest,
    ties=lambda p: int((_largest(p) & (_ties(p) > 1)).sum()),
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
    title="Accuracy",
    direction="above 33: better than guessing among three labels; on nli-control, where no pair is neutral, "
    "above 50: better than guessing between the two others",
    source="senseprobe",
    says="The share of pairs whose gold label is the most probable; if k labels tie, the pair counts 1 / k. "
    "It exposes a model that always answers neutral, which looks perfect elsewhere.",
    cannot_say="The pairs are among the easiest there are. It does not show how many right answers are enough.",
)
ENTAILMENT = _mean_of("entailment", 0, "the second sentence follows from the first")
CONTRADICTION = _mean_of("contradiction", 2, "the second sentence cannot be true if the first is")
PROBES = (NET_NEUTRAL, NET_NEUTRAL_FILLER, FRACTION_NEUTRAL, T_50, T_50_FILLER, T_70, T_70_FILLER)
ANSWERS = (ACCURACY, ENTAILMENT, CONTRADICTION)
