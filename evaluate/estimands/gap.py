"""`gap`: whether a model concludes one word rather than another from the same premise, by the entailment of either.

A pair is two words, man and woman, in the same sentences: same occupation, verb, object and frame. The figure is the
mean over these of e(man) - e(woman), where e is the probability of entailment. A sentence whose counterpart was not
scored leaves it.

Which words are compared, a template declares (`gap:he-she`, see `LevelPair`). Without a declaration it is `gap`, of the
words that the columns `gender` and `pair` tell apart, male less female.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.erased_rows import count_alike
from senseprobe.evaluate.estimands.base import difference_fields
from senseprobe.evaluate.estimands.figure_scope import Scope
from senseprobe.evaluate.estimands.gap_stream import NO_COUNTERPART, GapStream, Sides
from senseprobe.evaluate.estimands.inference_rows import LABELS, compact, fillers
from senseprobe.evaluate.estimands.kernel import KernelRows, row_codes, select
from senseprobe.evaluate.estimands.multiple_testing import Family, corrected
from senseprobe.evaluate.estimands.nli import ANSWERS, PROBES, InferenceEstimand
from senseprobe.records import Design, Figure
from senseprobe.statistics import Projection, Scale

GAPS = Family(
    id="gaps",
    says="all groups by which a config's `gap` is computed",
    by=("config", "estimand"),
    estimands=("gap",),
)


class Gap(InferenceEstimand):
    """Entailment of one word less that of another: a difference of two means, of which 0 is neutral."""

    family = GAPS
    neutral = 0.0
    prints_p = True
    stands_in = True
    plotted = True
    ends = ("the woman", "the man")
    zero_label = "both alike"
    effect = "difference"
    caption = "entailment of the first word (the male one, if none is named) minus that of the second, for each group"
    missing_slice = "the slice lacks one of the two words that it compares"

    def named(self, name: str) -> "Gap":
        """Return the gap that a design declares under a name."""
        return replace(self, id=name, title=f"{self.title}: {name}")

    def groups_caption(self, design: Design | None) -> str:
        """Return the caption of its groups, which begins with its name if it has one."""
        return f"{self.id}, {self.caption}" if ":" in self.id else self.caption

    def rule_design(self, design: Design) -> Design:
        """Return the design without counts of a release: genders split factors into strata that it does not count."""
        return replace(design, drawn_from=None)

    def kernel_rows(self, rows: pd.DataFrame, design: Design, scale: Scale) -> KernelRows:
        """Return the rows of the words that are compared; ResultError where no slot holds them."""
        return gap_rows(rows, design, self.sides(rows, design))

    def axis_ends(self, design: Design | None) -> tuple[str, str]:
        """Return which of the two words is concluded, the second of them first."""
        words = design.gaps.get(self.id.partition(":")[2]) if design else None
        return (f'"{words.second}"', f'"{words.first}"') if words else self.ends

    def leaning(self, figure: Figure, design: Design | None, above: bool) -> str:
        """Return which word is concluded rather than the other."""
        words = self.axis_ends(design)
        return f"concludes {words[above]} more readily than {words[not above]}"

    def fact(self, figure: Figure, design: Design | None, names: Mapping[str, str]) -> str:
        """Return which word is concluded rather than the other, and by how much."""
        value, words = figure.value or 0.0, self.axis_ends(design)
        above = value >= 0
        return f"concludes {words[above]} rather than {words[not above]}, by {abs(value):.1f} % of probability"

    def tendency(self, design: Design | None) -> str:
        """Return which word a model with a higher figure concludes more, rather than the other."""
        second, first = self.axis_ends(design)
        return f"concludes {first} rather than {second}"

    def sides(self, rows: pd.DataFrame, design: Design) -> Sides:
        """Return what the design declares under its name; without a name, the words of both genders."""
        self.check_columns(rows, design)
        return self.sides_among(design, partial(_find_gendered_slots, rows))

    def check_columns(self, rows: pd.DataFrame, design: Design) -> None:
        """Raise ResultError where rows lack the columns that tell the words of both genders apart."""
        if ":" not in self.id and (missing := {"gender", "pair"} - {*rows.columns}):
            raise ResultError(f"gap: the rows have no column {min(missing)!r}; add it to `columns` in the template")

    def sides_among(self, design: Design, find_gendered: Callable[[Sequence[str]], tuple[str, ...]]) -> Sides:
        """Return what is compared; `find_gendered` returns those of some slots whose words have one gender each."""
        _, named, name = self.id.partition(":")
        if not named:
            slots, others = gap_sides(design, find_gendered)
            return Sides(column="gender", first="male", second="female", pair="pair", slots=slots, others=others)
        if (levels := design.gaps.get(name)) is None:
            raise ResultError(f"{self.id}: the design does not declare a gap {name!r}")
        others = next((side for side in fillers(design) if side and levels.slot not in side), ())
        fields = {key: getattr(levels, key) for key in ("column", "first", "second", "pair")}
        return Sides(**fields, slots=(levels.slot,), others=others)

    def interval(self, rows: KernelRows, rule: Projection, scope: Scope) -> dict[str, Any]:
        """Return value, interval and p-value of a difference of two means, in points from -100 to 100."""
        if rows.share is None:
            no_pairs = f"no sentence was scored together with its counterpart of the other {rows.variables[0]}"
            return {"value": None, "note": no_pairs if rows.tally.left_out.get(NO_COUNTERPART) else rows.tally.missing}
        return difference_fields(rule, rows.kernel, round(100 * rows.share, 10), scope.confidence)

    def alike_columns(self, design: Design, sides: Sides) -> tuple[str, ...]:
        """Return the columns in which two sentences that are compared are alike."""
        return alike_columns(design, sides)

    def stream(self, scope: Scope) -> GapStream:
        """Return counts and sums of its sentences."""
        return GapStream(self, scope, () if ":" in self.id else _words(scope.design))

    def corrected_groups(self, figures: Sequence[Figure]) -> list[Figure]:
        """Return figures of groups, their p corrected."""
        return corrected(figures, GAPS)

    def groups(self, rows: pd.DataFrame, scope: Scope) -> list[Figure]:
        """Return the gap of each level of the other sentence's filler (each occupation), p corrected over them."""
        sides = self.sides(rows, scope.design)
        columns = sides.others
        parts = [part for _, part in rows.groupby(row_codes(rows, columns))] if columns else []
        named = {" / ".join(str(word) for word in part[list(columns)].iloc[0]): part for part in parts}
        figures = [
            self.figure(gap_rows(part, scope.design, sides), replace(scope, group=name, about=columns))
            for name, part in sorted(named.items())
        ]
        return self.corrected_groups(figures)

    def slice_figures(self, part: pd.DataFrame, rows: pd.DataFrame, scope: Scope) -> Iterator[Figure]:
        """Yield the gap of a slice that has both sides; the slot of the compared words is that of all rows."""
        sides = rows.attrs.get(self.id) or self.sides(compact(rows, scope.design), scope.design)
        rows.attrs[self.id] = sides  # of two million rows it takes seconds, and there may be hundreds of parts
        if {sides.first, sides.second} <= {*part[sides.column]}:
            yield self.figure(gap_rows(part, scope.design, sides), scope)


def gap_rows(table: pd.DataFrame, design: Design, sides: Sides) -> KernelRows:
    """Return the rows with kernel e, weighted so that pairs of sentences count alike: the first side +, the second -.

    The cells of the interval rule are the two sides.
    """
    compared = table[sides.column].isin((sides.first, sides.second)).to_numpy(dtype=np.bool_)
    scored, tally = select(table, {sides.reason: ~compared}, LABELS)
    pairs = row_codes(scored, alike_columns(design, sides))
    first, count = (scored[sides.column] == sides.first).to_numpy(dtype=np.bool_), int(pairs.max(initial=-1)) + 1
    sizes = np.stack([np.bincount(pairs[side], minlength=count) for side in (~first, first)])
    whole = np.asarray((sizes > 0).all(axis=0))
    stays = whole[pairs]
    weights = np.where(first, 1.0, -1.0) / (sizes[first.astype(np.intp), pairs] * max(1, int(whole.sum())))
    scored = scored[stays]
    return KernelRows(
        table=scored,
        kernel=scored["entailment"].to_numpy(dtype=np.float64),
        weights=weights[stays],
        variables=(sides.column,),
        tally=replace(tally.without(NO_COUNTERPART, int((~stays).sum())), erased=count_alike(scored, first[stays])),
    )


def alike_columns(design: Design, sides: Sides) -> tuple[str, ...]:
    """Return the columns in which two sentences that are compared are alike: all but the words that are compared."""
    return ("frame", *(slot for slot in _words(design) if slot not in sides.slots), *filter(None, [sides.pair]))


def gap_sides(
    design: Design, find_gendered: Callable[[Sequence[str]], tuple[str, ...]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the slot each of whose words has one gender and one pair, and the filler slots of the other sentence.

    It is a filler of one sentence. In few rows other slots can look like one by chance; then a word of theirs stands
    with one gender only, so that no two sentences are alike in all else, and both are empty: there is no pair to find.
    Rows of no template may have neither. `find_gendered` returns those of some slots whose words are so. Raises
    ResultError where no slot is one.
    """
    sides = fillers(design)
    rest = tuple(slot for slot in _words(design) if not any(slot in side for side in sides))
    of_fillers = [slot for side in sides for slot in find_gendered(side)]
    gendered = of_fillers or find_gendered(rest)
    if not gendered and design.slots:
        raise ResultError(
            "gap: no slot's words each belong to one gender and one pair; check `columns` in the template"
        )
    if len(gendered) != 1:
        return (), ()
    return (gendered[0],), next((side for side in sides if side and gendered[0] not in side), ())


def _words(design: Design) -> tuple[str, ...]:
    """Return the columns of words: the slots, or in rows of no template the columns of factors."""
    columns = (column for factor in design.factors for column in factor.columns if column != "gender")
    return tuple(design.slots or columns)


def _find_gendered_slots(table: pd.DataFrame, slots: Sequence[str]) -> tuple[str, ...]:
    """Return those of the slots whose words stand with one gender and one pair each."""
    return tuple(
        slot
        for slot in slots
        if row_codes(table, (slot,)).max(initial=-1) == row_codes(table, (slot, "gender", "pair")).max(initial=-1)
    )


GAP = Gap(
    id="gap",
    title="Entailment gap between two words",
    range=(-100, 100),
    direction="above 0: the model concludes the first of the two words that the template compares more "
    "readily (gap:he-she); without named words, it concludes a man more readily than a woman",
    source="senseprobe (pairs and probabilities of Dev, Li, Phillips & Srikumar 2020)",
    says="The mean probability that 'The man …' follows, minus that for 'The woman …', over sentences that "
    "are otherwise alike. It is computed overall and for each occupation. +10 means that 'The man …' is 10 "
    "points more probable. A template may name other words: gap:he-they compares 'He …' with 'They …'.",
    cannot_say="Gaps in different occupations can cancel out, and a model that always answers neutral gets "
    "0. It shows nothing about genders and words other than the two compared.",
    blind=0,
)
DECLARED_GAPS = Family(id="declared gaps", says="all gaps that a config declares", by=("config",), estimands=(GAP.id,))
NLI_ESTIMANDS = (*PROBES, GAP, *ANSWERS)
