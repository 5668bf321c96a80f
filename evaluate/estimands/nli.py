"""`gap`: whether a model concludes a gender from an occupation, in entailment of the male word over the female one.

A gendered pair is two words, man and woman, in the same sentences: same occupation, verb, object and frame. The figure
is the mean over these of e(man) - e(woman). A sentence whose counterpart was not scored leaves it.

Kernels of inference: what each row adds to a figure, from e, n and c, its three probabilities.

Estimands over rows of inference: e, n and c are the probabilities of entailment, neutral and contradiction.

::

    nn              mean of n                                                     neutrality.py
    fn              share of rows whose n is the largest, ties included           neutrality.py
    t@0.5, t@0.7    share of rows whose n is above the threshold                  neutrality.py
    …-filler        nn and t as the released code computes them                   fillers.py
    gap             e of the male word less e of the female one                   gap.py
    accuracy        share of rows whose gold label has the largest probability    neutrality.py

A table has the columns of an inference config (`frame`, a column per slot, `gold`) and the three probabilities. A row
with one that is no finite number is unscored. Figures are in points: 0 to 100, and `gap` -100 to 100.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.catalogue import CATALOGUE
from senseprobe.evaluate.estimands.fillers import LABELS, filler_design, filler_means, filler_shares, fillers
from senseprobe.evaluate.estimands.kernel_rows import (
    NOT_ESTIMABLE,
    KernelRows,
    codes_of,
    estimate,
    fixed_slots,
    labels,
    project,
    select,
)
from senseprobe.evaluate.estimands.multiple_testing import GAPS, corrected
from senseprobe.records import Design, Figure
from senseprobe.statistics import CONFIDENCE, BoolArray, FloatArray, IntArray, Projection, difference_test

GENDERS = ("female", "male")
NO_COUNTERPART = "without a scored counterpart"
NO_PAIRS = "no sentence was scored beside its counterpart of the other gender"


def gap_rows(table: pd.DataFrame, design: Design, gendered: Sequence[str] | None = None) -> KernelRows:
    """Rows with kernel e, weighted so that pairs of sentences count alike: male ones positive, female ones negative.

    `gendered` are the slots of the gendered words, where they are known already. The cells of the interval rule are the
    two genders. Raises ResultError where no slot holds gendered words.
    """
    gendered = gap_sides(table, design)[0] if gendered is None else gendered
    known = table["gender"].isin(GENDERS).to_numpy(dtype=np.bool_)
    scored, tally = select(table, {"of no gender": ~known}, LABELS)
    shared = ("frame", *(slot for slot in design.slots if slot not in gendered), "pair")
    pairs = codes_of([labels(scored, column) for column in shared], len(scored))
    male = (scored["gender"] == "male").to_numpy(dtype=np.bool_)
    sizes = _sizes(pairs, male)
    whole = np.asarray((sizes > 0).all(axis=0))
    stays = whole[pairs]
    weights = np.where(male, 1.0, -1.0) / (sizes[male.astype(np.intp), pairs] * max(1, int(whole.sum())))
    scored = scored[stays]
    return KernelRows(
        table=scored,
        kernel=scored["entailment"].to_numpy(dtype=np.float64),
        weights=weights[stays],
        offset=0.0,
        variables=("gender",),
        tally=tally.without(NO_COUNTERPART, int((~stays).sum())),
    )


def _sizes(pairs: IntArray, male: BoolArray) -> FloatArray:
    """How many female and male sentences each pair has, shape (2, pairs)."""
    count = int(pairs.max(initial=-1)) + 1
    return np.stack([np.bincount(pairs[one], minlength=count) for one in (~male, male)]).astype(np.float64)


def gap_sides(table: pd.DataFrame, design: Design) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The slot each of whose words has one gender and one pair (man, woman), and the filler of the other sentence.

    It is a filler of one sentence. Of few rows other slots may look like one by chance; then a word of theirs stands
    with one gender only, so that no two sentences are alike in all else, and both are empty: there is no pair to find.
    Raises ResultError where no slot is one.
    """
    if missing := {"gender", "pair"} - {*table.columns}:
        raise ResultError(f"gap: the rows have no column {min(missing)!r}; add it to `columns` in the template")
    sides = fillers(design)
    rest = tuple(slot for slot in design.slots if not any(slot in side for side in sides))
    of_fillers = [slot for side in sides for slot in _of_one_gender(table, side)]
    held = of_fillers or _of_one_gender(table, rest)
    if not held:
        raise ResultError("gap: no slot has words of one gender and one pair each; check `columns` in the template")
    if len(held) > 1:
        return (), ()
    return (held[0],), next((side for side in sides if side and held[0] not in side), ())


def _of_one_gender(table: pd.DataFrame, slots: Sequence[str]) -> tuple[str, ...]:
    """Those of the slots of whose words each stands with one gender and one pair."""
    of_row = [labels(table, column) for column in ("gender", "pair")]
    words = {slot: labels(table, slot) for slot in slots}
    return tuple(
        slot
        for slot, held in words.items()
        if codes_of([held], len(table)).max(initial=-1) == codes_of([held, *of_row], len(table)).max(initial=-1)
    )


def gap_tables(table: pd.DataFrame, columns: tuple[str, ...]) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of each combination of words in some columns (of each occupation), by name in alphabetical order."""
    codes = codes_of([labels(table, column) for column in columns], len(table))
    order = np.argsort(codes, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(codes))[:-1]) if len(table) else []
    tables = (table.iloc[rows] for rows in members)
    named = {" / ".join(str(word) for word in part[list(columns)].iloc[0]): part for part in tables}
    yield from sorted(named.items())


def _largest(p: FloatArray) -> BoolArray:
    return np.asarray(p[:, 1] == p.max(axis=1))


def _above(p: FloatArray, threshold: float) -> BoolArray:
    return np.asarray(p[:, 1] > threshold)


MEANS: Mapping[str, Callable[[FloatArray], FloatArray | BoolArray]] = {
    "entailment": lambda p: p[:, 0],
    "contradiction": lambda p: p[:, 2],
    "nn": lambda p: p[:, 1],
    "fn": _largest,
    "t@0.5": partial(_above, threshold=0.5),
    "t@0.7": partial(_above, threshold=0.7),
}
"""Estimands that are means over rows, with what each makes of probabilities of shape (N, 3): values in [0, 1]."""

PROBES = ("nn", "fn", "t@0.5", "t@0.7")
"""The figures that are 100 for a model that infers nothing."""

THRESHOLDS = {"t@0.5-filler": 0.5, "t@0.7-filler": 0.7}
AS_RELEASED = {"nn": "nn-filler", "t@0.5": "t@0.5-filler", "t@0.7": "t@0.7-filler"}
"""The estimands that the released code computes otherwise, with the names of what it makes of them."""


def compact(rows: pd.DataFrame, design: Design) -> pd.DataFrame:
    """The columns that estimands read, words as categories: two million rows take 60 MB."""
    factors = [column for factor in design.factors for column in factor.columns]
    words = [
        name for name in dict.fromkeys(("frame", *design.slots, *factors, "gender", "pair", "gold")) if name in rows
    ]
    columns: dict[str, Any] = {name: _categories(rows[name]) for name in words}
    return pd.DataFrame(columns | {name: rows[name] for name in LABELS})


def _categories(column: "pd.Series[str]") -> pd.Categorical:
    codes, words = pd.factorize(column)
    return pd.Categorical.from_codes(codes, categories=pd.Index(words, dtype=object))  # objects, which rows can share


def inference_rows(rows: pd.DataFrame, design: Design, estimand: str) -> KernelRows:
    """Rows, kernel and weights of an estimand over rows of inference; ResultError where it is none."""
    if estimand == "gap":
        return gap_rows(rows, design)
    if estimand == "accuracy":
        return accuracy_rows(rows)
    if estimand not in {*MEANS, *AS_RELEASED.values()}:
        raise ResultError(f"no estimand {estimand!r} for rows of inference")
    scored, tally = select(rows, {}, LABELS)
    if estimand == "nn-filler":
        return filler_means(scored, design, tally)
    if estimand in THRESHOLDS:
        return filler_shares(scored, design, tally, THRESHOLDS[estimand])
    p = _probabilities(scored)
    kernel = np.asarray(MEANS[estimand](p), dtype=np.float64)
    weights = np.full(len(p), 1 / max(1, len(p)))
    ties = int((_largest(p) & (_ties(p) > 1)).sum()) if estimand == "fn" else 0
    return KernelRows(
        table=scored, kernel=kernel, weights=weights, offset=0.0, variables=(), tally=replace(tally, ties=ties)
    )


def _probabilities(scored: pd.DataFrame) -> FloatArray:
    return scored[list(LABELS)].to_numpy(dtype=np.float64)


def _ties(p: FloatArray) -> FloatArray:
    """How many of the three probabilities of each row are the largest."""
    return np.asarray((p == p.max(axis=1, keepdims=True)).sum(axis=1, dtype=np.float64))


def accuracy_rows(rows: pd.DataFrame) -> KernelRows:
    """Rows with kernel 1 where the gold label has the largest probability: among k largest, 1 / k, as a guess would.

    The cells are the gold labels: words that belong to one of them are levels beside words of the same.
    """
    golden = rows["gold"].isin(LABELS).to_numpy(dtype=np.bool_)
    scored, tally = select(rows, {"unlabelled": ~golden}, LABELS)
    p = _probabilities(scored)
    gold = np.array([LABELS.index(label) for label in labels(scored, "gold")], dtype=np.intp)
    hit = p[np.arange(len(p)), gold] == p.max(axis=1, initial=0.0)
    weights = np.full(len(p), 1 / max(1, len(p)))
    return KernelRows(
        table=scored,
        kernel=hit / _ties(p),
        weights=weights,
        offset=0.0,
        variables=("gold",),
        tally=replace(tally, ties=int((hit & (_ties(p) > 1)).sum())),
    )


# What a model reads that answers neutral to everything.
_BLIND = dict.fromkeys((*PROBES, *AS_RELEASED.values()), 100)
_BLIND |= dict.fromkeys(("gap", "entailment", "contradiction"), 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """What a figure is of: a config, or a group of its rows, which is named in words.

    `held` are the columns that say what the group is: each holds one word, so the figure does not generalise over them.
    """

    design: Design
    config: str
    confidence: float = CONFIDENCE
    group: str | None = None
    held: tuple[str, ...] = ()

    def project(self, rows: KernelRows, estimand: str) -> Projection:
        """The interval rule over the factors that are left once those of the group are taken away."""
        # A threshold on means over verbs and objects is no sum over rows that have them.
        design = filler_design(self.design) if estimand in THRESHOLDS else self.design
        factors = tuple(factor for factor in design.factors if not {*factor.columns} <= {*self.held})
        return project(rows, replace(design, factors=factors))

    def fixed(self, estimand: str) -> tuple[str, ...]:
        """Slots that are no factor of an estimand, and not what the figure is about either."""
        design = filler_design(self.design) if estimand in THRESHOLDS else self.design
        return fixed_slots(design, [*self.held, *(column for factor in design.factors for column in factor.columns)])


def inference_figures(
    rows: pd.DataFrame, design: Design, config: str, *, confidence: float = CONFIDENCE
) -> list[Figure]:
    """Every figure that the design asks for, in its order; `rows` are one config's, with probabilities.

    `nn` and `t` are followed by what the released code makes of them, `gap` by a figure for each occupation, `accuracy`
    by one for each gold label. Raises ResultError for an estimand that is not in the catalogue.
    """
    scope = Scope(design=design, config=config, confidence=confidence)
    table, asked = compact(rows, design), _asked(design)
    made = {figure.estimand: [figure] for figure in mean_figures(table, scope, asked)}
    for estimand in asked:
        if estimand not in made:
            made[estimand] = [figure_of(inference_rows(table, design, estimand), scope, estimand)]
    for estimand, groups in (("gap", _gaps), ("accuracy", _accuracies)):
        if estimand in made:
            made[estimand] += groups(table, scope)
    return [figure for estimand in asked for figure in made[estimand]]


def _asked(design: Design) -> list[str]:
    """The estimands of the design, each with the variant of the released code where the sentences have fillers."""
    variants = AS_RELEASED if any(fillers(design)) else {}
    listed = [(name, variants.get(name)) for name in design.estimands]
    return list(dict.fromkeys(name for names in listed for name in names if name))


def mean_figures(table: pd.DataFrame, scope: Scope, estimands: Sequence[str]) -> Iterator[Figure]:
    """Figures of those of the estimands that are plain means over rows: they have one interval rule."""
    rule = None
    for estimand in estimands:
        if estimand in MEANS:
            rows = inference_rows(table, scope.design, estimand)
            rule = rule or scope.project(rows, estimand)
            yield figure_of(rows, scope, estimand, rule)


def figure_of(rows: KernelRows, scope: Scope, estimand: str, rule: Projection | None = None) -> Figure:
    """Figure of an estimand over its rows; `rule` is theirs, if it is known already."""
    rule = rule or scope.project(rows, estimand)
    fields = (_difference if estimand == "gap" else _mean)(rows, rule, scope.confidence)
    notes = [fields.pop("note", ""), *(_notes(estimand) if scope.group is None else ())]
    return Figure(
        config=scope.config,
        sense_type=scope.design.sense_type,
        estimand=estimand,
        group=scope.group,
        neutral=0.0 if estimand == "gap" else None,
        definition=CATALOGUE[estimand].definition,
        fixed=(*rule.fixed, *scope.fixed(estimand)),
        note="; ".join(filter(None, notes)),
        **fields,
        **rows.tally.as_fields(),
    )


def _mean(rows: KernelRows, rule: Projection, confidence: float) -> dict[str, Any]:
    """Value and interval of a figure on [0, 1], in points from 0 to 100."""
    fields = estimate(rows, rule, confidence)
    points = {key: round(fields[key] + 50, 10) for key in ("value", "low", "high") if fields.get(key) is not None}
    return {key: value for key, value in fields.items() if key != "fixed"} | points


def _difference(rows: KernelRows, rule: Projection, confidence: float) -> dict[str, Any]:
    """Value, interval and p-value of a difference of two means, in points from -100 to 100."""
    if rows.share is None:
        return {"value": None, "note": NO_PAIRS if rows.tally.left_out.get(NO_COUNTERPART) else rows.tally.none}
    value = round(100 * rows.share, 10)
    tested = difference_test(rule, rows.kernel, value, confidence)
    if tested is None:
        return {"value": value, "levels": rule.levels, "note": NOT_ESTIMABLE}
    interval, p = tested
    ends = {"low": interval.low, "high": interval.high, "method": interval.method, "p": p}
    return {"value": value, **ends, "levels": rule.levels}


def _notes(estimand: str) -> Iterator[str]:
    """What a figure does not say of itself."""
    if estimand in AS_RELEASED.values():
        yield "as the released code has it: rounded to 4 decimals, then averaged for each pair of fillers"
    if estimand in _BLIND:
        yield (
            f"a model that answers neutral to everything reads {_BLIND[estimand]}: "
            "read it beside the accuracy on nli-control"
        )


def _gaps(table: pd.DataFrame, scope: Scope) -> list[Figure]:
    """The gap of each level of the other sentence's filler (of each occupation), p corrected over all of them."""
    gendered, columns = gap_sides(table, scope.design)
    return corrected(
        [
            figure_of(gap_rows(part, scope.design, gendered), replace(scope, group=name, held=columns), "gap")
            for name, part in (gap_tables(table, columns) if columns else ())
        ],
        GAPS,
    )


def _accuracies(table: pd.DataFrame, scope: Scope) -> list[Figure]:
    """The accuracy on the rows of each gold label, where there are several."""
    gold = table["gold"].to_numpy(dtype=object)
    found = [label for label in LABELS if np.any(gold == label)]
    return [
        figure_of(accuracy_rows(table[gold == label]), replace(scope, group=label), "accuracy")
        for label in (found if len(found) > 1 else ())
    ]
