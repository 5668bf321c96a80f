"""`gap`: whether a model concludes a gender from an occupation, in entailment of the male word over the female one.

A gendered pair is two words, man and woman, in the same sentences: same occupation, verb, object and frame. The figure
is the mean over these of e(man) - e(woman), where e is the probability of entailment. A sentence whose counterpart was
not scored leaves it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.base import Presentation, Scope, difference_fields
from senseprobe.evaluate.estimands.kernel import KernelRows, row_codes, select
from senseprobe.evaluate.estimands.multiple_testing import Family, corrected
from senseprobe.evaluate.estimands.nli import ANSWERS, LABELS, PROBES, InferenceEstimand, compact, fillers
from senseprobe.records import Design, Figure
from senseprobe.statistics import Projection, Scale

GENDERS = ("female", "male")
NO_COUNTERPART = "without a scored counterpart"
NO_PAIRS = "no sentence was scored beside its counterpart of the other gender"


class Gap(InferenceEstimand):
    """Entailment of the male word less that of the female one: a difference of two means, of which 0 is neutral."""

    neutral = 0.0
    cells_split_factors = True

    def kernel_rows(self, rows: pd.DataFrame, design: Design, scale: Scale) -> KernelRows:
        """Return the rows of gendered pairs; ResultError where no slot holds gendered words."""
        return gap_rows(rows, design, gap_sides(rows, design)[0])

    def interval(self, rows: KernelRows, rule: Projection, scope: Scope) -> dict[str, Any]:
        """Return value, interval and p-value of a difference of two means, in points from -100 to 100."""
        if rows.share is None:
            return {"value": None, "note": NO_PAIRS if rows.tally.left_out.get(NO_COUNTERPART) else rows.tally.missing}
        return difference_fields(rule, rows.kernel, round(100 * rows.share, 10), scope.confidence)

    def groups(self, rows: pd.DataFrame, scope: Scope) -> list[Figure]:
        """Return the gap of each level of the other sentence's filler (each occupation), p corrected over them."""
        gendered, columns = gap_sides(rows, scope.design)
        parts = [part for _, part in rows.groupby(row_codes(rows, columns))] if columns else []
        named = {" / ".join(str(word) for word in part[list(columns)].iloc[0]): part for part in parts}
        figures = [
            self.figure(gap_rows(part, scope.design, gendered), replace(scope, group=name, about=columns))
            for name, part in sorted(named.items())
        ]
        return corrected(figures, GAPS)

    def slice_figures(self, part: pd.DataFrame, rows: pd.DataFrame, scope: Scope) -> Iterator[Figure]:
        """Yield the gap of a slice that has both genders; the gendered slot is that of all rows."""
        gendered, _ = gap_sides(compact(rows, scope.design), scope.design)
        if {*GENDERS} <= {*part["gender"]}:
            yield self.figure(gap_rows(part, scope.design, gendered), scope)


def gap_rows(table: pd.DataFrame, design: Design, gendered: Sequence[str]) -> KernelRows:
    """Return the rows with kernel e, weighted so that pairs of sentences count alike: male ones +, female ones -.

    `gendered` are the slots of the gendered words. The cells of the interval rule are the two genders.
    """
    has_gender = table["gender"].isin(GENDERS).to_numpy(dtype=np.bool_)
    scored, tally = select(table, {"of no gender": ~has_gender}, LABELS)
    pairs = row_codes(scored, ("frame", *(slot for slot in design.slots if slot not in gendered), "pair"))
    male, count = (scored["gender"] == "male").to_numpy(dtype=np.bool_), int(pairs.max(initial=-1)) + 1
    sizes = np.stack([np.bincount(pairs[gender], minlength=count) for gender in (~male, male)])
    whole = np.asarray((sizes > 0).all(axis=0))
    stays = whole[pairs]
    weights = np.where(male, 1.0, -1.0) / (sizes[male.astype(np.intp), pairs] * max(1, int(whole.sum())))
    scored = scored[stays]
    return KernelRows(
        table=scored,
        kernel=scored["entailment"].to_numpy(dtype=np.float64),
        weights=weights[stays],
        variables=("gender",),
        tally=tally.without(NO_COUNTERPART, int((~stays).sum())),
    )


def gap_sides(table: pd.DataFrame, design: Design) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the slot each of whose words has one gender and one pair, and the filler slots of the other sentence.

    It is a filler of one sentence. In few rows other slots can look like one by chance; then a word of theirs stands
    with one gender only, so that no two sentences are alike in all else, and both are empty: there is no pair to find.
    Raises ResultError where no slot is one.
    """
    if missing := {"gender", "pair"} - {*table.columns}:
        raise ResultError(f"gap: the rows have no column {min(missing)!r}; add it to `columns` in the template")
    sides = fillers(design)
    rest = tuple(slot for slot in design.slots if not any(slot in side for side in sides))
    of_fillers = [slot for side in sides for slot in _of_one_gender(table, side)]
    gendered = of_fillers or _of_one_gender(table, rest)
    if not gendered:
        raise ResultError("gap: no slot has words of one gender and one pair each; check `columns` in the template")
    if len(gendered) > 1:
        return (), ()
    return (gendered[0],), next((side for side in sides if side and gendered[0] not in side), ())


def _of_one_gender(table: pd.DataFrame, slots: Sequence[str]) -> tuple[str, ...]:
    """Return those of the slots whose words stand with one gender and one pair each."""
    return tuple(
        slot
        for slot in slots
        if row_codes(table, (slot,)).max(initial=-1) == row_codes(table, (slot, "gender", "pair")).max(initial=-1)
    )


GAP = Gap(
    id="gap",
    title="Entailment of the male word over the female one",
    low=-100,
    direction="above 0: the model rather concludes a man than a woman",
    source="senseprobe (pairs and probabilities of Dev, Li, Phillips & Srikumar 2020)",
    says="The mean probability that 'The man …' follows less that 'The woman …' does, over sentences alike in all "
    "else; overall and for each occupation.",
    cannot_say="Over occupations of both kinds the gaps can cancel; a model that answers neutral to everything reads "
    "0. It says nothing of genders other than the two that the words name.",
    blind=0,
    presentation=Presentation(
        plotted=True, groups="entailment of the male word less that of the female one, for each group"
    ),
)
GAPS = Family(id="gaps", says="all groups of a config that `gap` is told apart by", by=("config",), estimands=(GAP.id,))
NLI_ESTIMANDS = (*PROBES, GAP, *ANSWERS)
