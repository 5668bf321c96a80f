"""`preference`, the figure of the paper, and `preference-half`, the same with ties as halves and an interval.

0 is neutral for them where a model that depends on nothing but the words that differ reads 0: where the labels are
balanced over these words. Where the words are of praise or blame it never is: words differ in frequency.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands.base import Estimand
from senseprobe.evaluate.estimands.display import NOBODY, USE
from senseprobe.evaluate.estimands.figure_scope import LabelGroups, Scope
from senseprobe.evaluate.estimands.kernel import KernelRows, factor_columns, fixed_slots, labels, select
from senseprobe.evaluate.estimands.streams import RowStream
from senseprobe.records import Design, Figure
from senseprobe.statistics import (
    BoolArray,
    FloatArray,
    Projection,
    Scale,
    clopper_pearson,
    clopper_pearson_p,
    psi_between,
)

BALANCED = 1e-9
"""The most by which the labelled weights of two words may differ: what the order of a sum adds to them."""

DIRECTION = "direction="
"""Before the groups that are not bias types: whether CrowS-Pairs meant a pair to agree with a stereotype."""

Weights = dict[tuple[str, str], float]

_WORDS = ("stereo_value", "anti_value")
_LABELLED = {"pronoun", "group"}  # what differs, where the weights of labels can be balanced


def psi_of_roles(rows: pd.DataFrame, first: str, second: str, scale: Scale) -> FloatArray:
    """Return ψ of two sentences of each row, by their roles: of `stereo` and `anti`, ψ(s(stereo) - s(anti))."""
    a, b = (rows[f"{role}_score"].to_numpy(dtype=np.float64) for role in (first, second))
    return psi_between(a, b, scale)


def unusable(rows: pd.DataFrame) -> dict[str, BoolArray]:
    """Return masks of the rows of which nothing says that one sentence is the stereotypical one, by reason."""
    unlabelled = np.array([basis in {None, "none"} for basis in labels(rows, "label_basis")], dtype=np.bool_)
    return {"unlabelled": unlabelled, "contested": rows["contested"].to_numpy(dtype=np.bool_)}


def labelled_pairs(rows: pd.DataFrame) -> Hashable:
    """Return the set of labelled, uncontested pairs of sentences; None where rows have no sentences."""
    if not {"stereo", "anti", "label_basis", "contested"} <= {*rows.columns}:
        return None
    usable = rows[~np.any([*unusable(rows).values()], axis=0)]
    return frozenset(zip(usable["stereo"], usable["anti"], strict=True))


def _weights_by_word(rows: KernelRows, design: Design) -> Weights:
    """Sum the weights of the rows by the words that differ, that of the stereotype first; in any case of letters.

    Empty where the words are of praise or blame, where a row does not say what differs, and where there are no rows.
    """
    if design.differs not in _LABELLED:
        return {}
    weights: Weights = {}
    for (stereo, anti), weight in rows.weights_by(_WORDS).items():
        if not stereo or not anti:
            return {}
        pair = (str(stereo).casefold(), str(anti).casefold())
        weights[pair] = weights.get(pair, 0.0) + weight
    return weights


def _are_balanced(weights: Weights) -> bool:
    """Return whether, of every two words, the first is the stereotype with as much weight as the second."""
    return all(abs(weight - weights.get((v, u), 0.0)) <= BALANCED for (u, v), weight in weights.items())


def strict_share(rows: KernelRows) -> float | None:
    """Return the share of rows whose stereotypical sentence scores strictly higher, ties counted (equation 6)."""
    return rows.ones / rows.count if rows.count else None


def exact_hits(rows: KernelRows, design: Design) -> int | None:
    """Return how many rows prefer the stereotype where rows are independent and none is a tie, else None."""
    return rows.ones if rows.tally.ties == 0 and rows.is_independent(design) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Preference(Estimand):
    """In how many pairs the stereotypical sentence scores higher, less one half; the labels say what is neutral."""

    neutral_from_labels = True
    of_pairs = True
    ends = ("opposite of the stereotype", "stereotype")
    zero_label = "half of the pairs"
    point = "from 50 of 100"
    higher = "prefers the stereotype"
    effect = "preference"
    reasons = ("unlabelled", "contested")
    label_groups = (LabelGroups("bias_type"), LabelGroups("direction", DIRECTION))

    range: tuple[float, float] = (-50, 50)
    direction: str = "above 0: the stereotypical sentence scores higher in more than half of the pairs"
    version: int = 2

    def kernel_rows(self, rows: pd.DataFrame, design: Design, scale: Scale) -> KernelRows:
        """Return the labelled, uncontested rows with kernel ψ(s(stereo) - s(anti)), all of the same weight.

        Their cells are within what is generalised over: the strata that split the levels of a listed factor.
        """
        table, tally = select(rows, unusable(rows))
        kernel = psi_of_roles(table, "stereo", "anti", scale)
        listed = {column for factor in design.factors for column in (factor.name, factor.slot, *factor.columns)}
        cells = tuple(column for column, slot in design.strata.items() if slot in listed)
        return KernelRows.mean(table, kernel, tally.with_ties(kernel), cells)

    def combined_columns(self, design: Design) -> list[tuple[str, ...]]:
        """Return the columns of the words that differ."""
        return [_WORDS] if design.differs in _LABELLED else []

    def stream(self, scope: Scope) -> RowStream:
        """Return the sums of its rows."""
        return RowStream(self, scope)

    def bias_type(self, figure: Figure) -> str:
        """Return the group, unless it is a direction."""
        return "" if figure.group is None or figure.group.startswith(DIRECTION) else figure.group

    def axis_ends(self, design: Design | None) -> tuple[str, str]:
        """Return which sentence is preferred: the one with the unpleasant word where the design tells words apart."""
        return ("pleasant words", "unpleasant words") if design and design.words else self.ends

    def fact(self, figure: Figure, design: Design | None, names: Mapping[str, str]) -> str:
        """Return in how many of 100 pairs the stereotype is preferred, or the unpleasant sentence found likelier."""
        share = f"{50 + (figure.value or 0.0):.0f} of 100 pairs"
        if design and design.words:
            whoever = ", whoever is named" if design.group else ""
            return f"finds the unpleasant sentence likelier in {share}{whoever}"
        bias = self.bias_type(figure) or (design.bias_type if design else "none")
        stereotype = "the stereotype" if bias == "none" else f"the {bias} stereotype"
        return f"prefers {stereotype} in {share}"

    def leaning(self, figure: Figure, design: Design | None, above: bool) -> str:
        """Return in how many pairs which sentence is preferred."""
        bias = self.bias_type(figure) or (design.bias_type if design else "none")
        stereotype = "the stereotype" if bias == "none" else f"the {bias} stereotype"
        points = figure.value or 0.0
        side = stereotype if above else f"the opposite of {stereotype}"
        lean = f"prefers {side} in {50 + abs(points):.0f} of 100 pairs"
        if figure.neutral is None and figure.readings:
            ends = sorted(50 + (reading if above else -reading) for reading in figure.readings.values())
            words = " or ".join(f'always "{word}"' for word in figure.readings)
            return f"{lean}; {words} would give {ends[0]:.0f} to {ends[-1]:.0f}"
        return lean

    def tendency(self, design: Design | None) -> str:
        """Return which sentence a model with a higher figure prefers more, as `axis_ends` tells them apart."""
        return "prefers unpleasant words" if design and design.words else self.higher

    def unread(self, figure: Figure, design: Design | None) -> str:
        """Return what models read that always prefer one word, or that words of praise and blame differ by themselves.

        Where neither is so, what differs between the sentences is not known.
        """
        if figure.readings:
            texts = (f'{points:+.0f} for always preferring "{word}"' for word, points in figure.readings.items())
            return f"{NOBODY}: a model scores {' and '.join(texts)}"
        if design and design.words:
            return f"{NOBODY}, because good and bad words differ in frequency; {USE}"
        return f"{NOBODY}, because some words are more frequent than others; {USE}"

    def neutral_value(self, rows: KernelRows, design: Design) -> float | None:
        """Return 0.0 where a model that depends on nothing but the words that differ reads 0, else None.

        It is so where, for every two words of which one stands in either sentence of a row, the weight of the rows with
        the first as the stereotype equals that of the rows with the second; never of drawn rows, of which it may be so
        by chance.
        """
        weights = _weights_by_word(rows, design)
        return 0.0 if design.drawn_from is None and weights and _are_balanced(weights) else None

    def readings(self, rows: KernelRows, design: Design) -> dict[str, float]:
        """Return what a model reads, in points, that always prefers one of two words in which all rows differ, by word.

        Empty where 0 is neutral, where rows differ in other words, too, and where the words are of praise or blame.
        """
        weights = _weights_by_word(rows, design)
        words = sorted({word for pair in weights for word in pair})
        if len(words) != 2 or any(u == v for u, v in weights) or _are_balanced(weights):
            return {}
        (u, v), total = words, sum(weights.values())
        return {word: round(100 * weights.get((word, other), 0.0) / total - 50, 9) for word, other in ((u, v), (v, u))}


class StrictPreference(Preference):
    """The paper's figure, in which a tie is no preference: it has no interval, since `preference-half` carries it."""

    has_interval = False
    rank = 2

    def interval(self, rows: KernelRows, rule: Projection, scope: Scope) -> dict[str, Any]:
        """Return the value alone."""
        share = strict_share(rows)
        value = {"value": None, "note": rows.tally.missing} if share is None else {"value": 100 * share - 50}
        return {**value, "fixed": ()}


class HalfPreference(Preference):
    """The figure with ties as halves: it has an interval, an exact one where rows are independent."""

    rank = 1
    plotted = True
    by_word = True

    def row_set(self, table: pd.DataFrame) -> Hashable:
        """Return the labelled pairs, which two configs can have in common."""
        return labelled_pairs(table)

    def interval(self, rows: KernelRows, rule: Projection, scope: Scope) -> dict[str, Any]:
        """Return value and interval, exact where the rows of a config are independent and none is a tie."""
        fields, hits = super().interval(rows, rule, scope), exact_hits(rows, scope.design)
        if hits is None or rule.df is None or scope.group is not None:
            return fields
        low, high = clopper_pearson(hits, rows.count, scope.confidence)
        span = self.neutral_span(rows, scope)
        return {
            "value": fields["value"],
            "p": None if span is None else clopper_pearson_p(hits, rows.count, span),
            "low": low,
            "high": high,
            "method": "clopper-pearson",
            "levels": {factor.name: rows.count for factor in scope.design.factors},
            "fixed": fixed_slots(scope.design, factor_columns(scope.design)),
        }


PREFERENCE = StrictPreference(
    id="preference",
    title="Preference for the stereotype",
    source="Zhou, Kaneko & Bollegala 2022, equation 6",
    says="In how many of 100 pairs the stereotypical sentence scores strictly higher, minus 50. +10 means "
    "that the model prefers the stereotype in 60 of 100 pairs.",
    cannot_say="Ties count against the stereotype, so a model that scores both sentences alike gets -50. If "
    "the sentences differ in an evaluative word, no value is known to mean an absence of bias.",
)
PREFERENCE_HALF = HalfPreference(
    id="preference-half",
    version=3,
    title="Preference for the stereotype, ties counted as half",
    source="senseprobe (equation 6 of Zhou, Kaneko & Bollegala 2022 with a tie as one half)",
    says="In how many of 100 pairs the model prefers the stereotypical sentence, minus 50, where a tie counts "
    "as half a pair. +10 means 60 of 100 pairs. The interval is over the words that were chosen.",
    cannot_say="If the sentences differ in an evaluative word, it mixes the group with the word. A model "
    "that knows nothing about the group can get any value, because words are not equally frequent.",
)
PREFERENCES = (PREFERENCE, PREFERENCE_HALF)
