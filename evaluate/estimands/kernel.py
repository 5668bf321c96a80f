"""Rows with a kernel and weights, of which every figure is made, and the interval rule over their factors."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.evaluate.erased_rows import add_erased, count_erased
from senseprobe.records import Design
from senseprobe.statistics import BoolArray, FactorLevels, FloatArray, IntArray, Projection

Words: TypeAlias = NDArray[np.object_]

NO_ROWS = "no row was scored"
NONE_USABLE = "no row can be used"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """Counts of the rows that an estimand may use, used, and left; the fields of `Figure` with the same names.

    >>> Tally(rows=10, scored=9, unscored=1).without("contested", 2).rows
    8
    """

    rows: int
    scored: int
    unscored: int
    ties: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    erased: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            rows=self.rows + other.rows,
            scored=self.scored + other.scored,
            unscored=self.unscored + other.unscored,
            ties=self.ties + other.ties,
            left_out=dict(Counter(self.left_out) + Counter(other.left_out)),
            erased=add_erased(self.erased, other.erased, (self.scored, other.scored)),
        )

    def with_ties(self, kernel: FloatArray) -> "Tally":
        """Return a copy with the ties of a kernel counted."""
        return replace(self, ties=int((kernel == 0.5).sum()))

    def without(self, reason: str, count: int) -> "Tally":
        """Return a copy with `count` of its scored rows left out for a reason."""
        left_out = {**self.left_out, reason: count} if count else self.left_out
        return replace(self, rows=self.rows - count, scored=self.scored - count, left_out=left_out)

    @property
    def missing(self) -> str:
        """The reason why there is no figure where no row was used: none has a number, or none is of use."""
        return NO_ROWS if self.unscored else NONE_USABLE


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelRows:
    """The scored rows of an estimand, so that the figure on [0, 1] is `offset` + Σ weights · kernel.

    - `table`: the rows, N of them; `kernel` and `weights` have shape (N,), the kernel is in [0, 1].
    - `variables`: the columns whose combined values are the cells of the interval rule.
    - `block_variables`: those of them whose combined values are the blocks of the boundary rule, cells that count in
      the figure with one sign; None: each cell is a block.
    - `by_blocks`: whether the interval is always made of theirs, by MOVER, as that of a difference of two shares is.
    """

    table: pd.DataFrame
    kernel: FloatArray
    weights: FloatArray
    offset: float = 0.0
    variables: tuple[str, ...] = ()
    tally: Tally
    block_variables: tuple[str, ...] | None = None
    by_blocks: bool = False

    @classmethod
    def mean(
        cls, table: pd.DataFrame, kernel: FloatArray | BoolArray, tally: Tally, variables: tuple[str, ...] = ()
    ) -> "KernelRows":
        """Return rows that all have the same weight.

        >>> table, tally = pd.DataFrame({"job": ["nurse", "cook"]}), Tally(rows=2, scored=2, unscored=0)
        >>> rows = KernelRows.mean(table, np.array([1.0, 0.5]), tally)
        >>> rows.share
        0.75
        """
        numbers, weights = np.asarray(kernel, dtype=np.float64), np.full(len(kernel), 1 / max(1, len(kernel)))
        return cls(table=table, kernel=numbers, weights=weights, variables=variables, tally=tally)

    @property
    def block_columns(self) -> tuple[str, ...]:
        """The columns whose combined values are the blocks."""
        return self.variables if self.block_variables is None else self.block_variables

    @property
    def share(self) -> float | None:
        """The figure on [0, 1], None without rows; rounded so that neither row order nor its dust moves the ends."""
        return round(self.offset + float(self.weights @ self.kernel), 12) if self.count else None

    @property
    def count(self) -> int:
        """The number of rows, N."""
        return len(self.kernel)

    @property
    def ones(self) -> int:
        """The number of rows whose kernel is 1."""
        return int((self.kernel == 1).sum())

    def level_counts(self, columns: Iterable[str]) -> list[int]:
        """Return how many values the rows have in each of some columns, those that are missing aside."""
        return [int(self.table[column].nunique()) for column in columns]

    def is_independent(self, design: Design) -> bool:
        """Return whether every row is a level of its own in every factor, so that rows are independent trials."""
        levels = self.level_counts(factor_columns(design))
        return self.count > 0 and len(levels) == len(design.factors) and {*levels} == {self.count}

    def weights_by(self, columns: Sequence[str]) -> dict[tuple[str | None, ...], float]:
        """Return the sum of the weights of the rows with each combination of values in columns; None is missing.

        >>> table, tally = pd.DataFrame({"job": ["nurse", "cook", "nurse", None]}), Tally(rows=4, scored=4, unscored=0)
        >>> KernelRows.mean(table, np.ones(4), tally).weights_by(["job"])
        {('nurse',): 0.5, ('cook',): 0.25, (None,): 0.25}
        """
        values = [labels(self.table, column) for column in columns]
        codes, firsts = codes_of(values, len(self.table)), {}
        for code, row in zip(*np.unique(codes, return_index=True), strict=True):
            firsts[int(code)] = tuple(column[row] for column in values)
        sums = np.bincount(codes, self.weights, minlength=len(firsts)).tolist()
        return {firsts[code]: weight for code, weight in enumerate(sums)}

    def project(self, design: Design) -> Projection:
        """Return the interval rule for the rows, over the factors of the design."""
        variables = [labels(self.table, variable) for variable in self.variables]
        factors = [
            factor_levels(factor.name, level_columns(self.table, factor.columns), variables, design.drawn_from)
            for factor in design.factors
        ]
        cells, blocks = codes_of(variables, len(self.table)), row_codes(self.table, self.block_columns)
        return Projection(self.weights, cells, factors, blocks, by_blocks=self.by_blocks)


def select(
    rows: pd.DataFrame,
    reasons: Mapping[str, BoolArray],
    columns: Sequence[str] = ("stereo_score", "anti_score"),
) -> tuple[pd.DataFrame, Tally]:
    """Return the rows that may be used and have finite scores in all `columns`, and the count of all.

    `reasons` holds masks of the rows that leave; a row leaves for its first reason.
    """
    stays = np.ones(len(rows), dtype=np.bool_)
    left_out = {}
    for reason, leaves in reasons.items():
        left_out[reason] = int((stays & leaves).sum())
        stays &= ~leaves
    scores = rows[list(columns)].to_numpy(dtype=np.float64)
    scored = stays & np.isfinite(scores).all(axis=1)
    used, left_out = int(scored.sum()), {reason: count for reason, count in left_out.items() if count}
    left, unscored, selected = int(stays.sum()), int(stays.sum()) - used, rows[scored]
    erased = count_erased(selected)
    return selected, Tally(rows=left, scored=used, unscored=unscored, left_out=left_out, erased=erased)


def labels(rows: pd.DataFrame, column: str) -> Words:
    """Return a column as an object array with None where a value is missing."""
    values: Words = rows[column].to_numpy(dtype=object, copy=True)
    values[rows[column].isna().to_numpy()] = None
    return values


def codes_of(columns: Iterable[Words], count: int) -> IntArray:
    """Return codes from 0 for the combinations of values in columns of length `count`; all 0 without columns.

    >>> jobs = np.array(["nurse", "cook", "nurse"], dtype=object)
    >>> codes_of([jobs, jobs], 3).tolist()
    [0, 1, 0]
    """
    codes = np.zeros(count, dtype=np.intp)
    for column in columns:
        values, uniques = pd.factorize(column, use_na_sentinel=False)
        codes, _ = pd.factorize(codes * len(uniques) + values)
    return codes


def row_codes(rows: pd.DataFrame, columns: Iterable[str]) -> IntArray:
    """Return codes from 0 for the combinations of words that rows have in columns, in the order of the rows."""
    return codes_of([labels(rows, column) for column in columns], len(rows))


def level_columns(table: pd.DataFrame, columns: Sequence[str]) -> list[Words]:
    """Return the columns that hold a factor's levels, equal ones once."""
    levels = [labels(table, column) for column in columns]
    # Where both members of every pair have the same noun, the noun was drawn once, not twice.
    return levels[:1] if all(np.array_equal(levels[0], other) for other in levels) else levels


def factor_levels(
    name: str, columns: Sequence[Words], variables: Sequence[Words], release_levels: Mapping[str, int] | None = None
) -> FactorLevels:
    """Return the levels of a factor, in strata: the values of the cell variables that are constant in each level.

    `columns` hold its levels and `variables` are the cell variables, each of N values; a None in `columns` is a row
    without the factor. `release_levels` is `Design.drawn_from`.
    """
    codes, uniques = pd.factorize(np.concatenate(columns))
    present = codes >= 0
    by_level = [pd.Series(np.tile(values, len(columns))[present]).groupby(codes[present]) for values in variables]
    constant = [values.first() for values in by_level if values.nunique().max() == 1]
    strata = stratum_names([*zip(*constant, strict=True)], len(uniques))
    return FactorLevels(
        name=name,
        codes=codes.reshape(len(columns), -1).astype(np.intp),
        strata=strata,
        population=strata_in_release(name, strata, release_levels),
    )


def stratum_names(values: Sequence[Sequence[object]], count: int) -> tuple[str, ...]:
    """Return the name of the stratum of each of `count` levels, which `values` tell apart; "" where nothing does."""
    names = [", ".join(str(value) for value in level if value is not None and value == value) for level in values]
    return tuple(names or [""] * count)


def strata_in_release(name: str, strata: Sequence[str], release_levels: Mapping[str, int] | None) -> tuple[int, ...]:
    """Return of drawn rows how many levels the stratum of each level has in the release; nothing of whole configs."""
    if release_levels is None:
        return ()
    whole = {stratum: _levels_in_release(name, stratum, release_levels) for stratum in dict.fromkeys(strata)}
    return tuple(whole[stratum] for stratum in strata)


def _levels_in_release(name: str, stratum: str, levels: Mapping[str, int]) -> int:
    """Return how many levels a stratum of drawn rows has in the release; 0 where that does not count the factor.

    By chance drawn rows are told apart further than all rows are: ``female, pleasant`` of the qualities is of those
    that the release counts as ``pleasant``. Of what it does not know the factor has the most that any stratum has.
    """
    sizes, words = strata_sizes(name, levels), {*stratum.split(", ")}
    within = [count for coarser, count in sizes.items() if coarser and {*coarser.split(", ")} <= words]
    return sizes.get(stratum, max(within or sizes.values(), default=0))


def strata_sizes(name: str, levels: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of levels of a factor's strata as a release counts them; "" is the factor without any.

    >>> strata_sizes("job", {"job": 60, "job (male)": 30, "job (female)": 30, "frame": 4})
    {'': 60, 'male': 30, 'female': 30}
    """
    parts = ((key.partition(" ("), count) for key, count in levels.items())
    return {stratum.removesuffix(")"): count for (factor, _, stratum), count in parts if factor == name}


def fixed_slots(design: Design, listed: Iterable[str]) -> tuple[str, ...]:
    """Return the slots, and the frame, that are not `listed` as factors: over them nothing can be generalised.

    A slot that a listed column describes is not among them.
    """
    columns = set(listed)
    columns |= {slot for column, slot in design.strata.items() if column in columns}
    columns |= {factor.slot for factor in design.factors if factor.is_clustered and columns.issuperset(factor.columns)}
    return tuple(slot for slot in (*design.slots, "frame") if slot not in columns)


def factor_columns(design: Design) -> list[str]:
    """Return the columns of all factors of a design."""
    return [column for factor in design.factors for column in factor.columns]
