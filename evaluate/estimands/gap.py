"""`gap`: whether a model concludes a gender from an occupation, in entailment of the male word over the female one.

A gendered pair is two words, man and woman, in the same sentences: same occupation, verb, object and frame. The figure
is the mean over these of e(man) - e(woman). A sentence whose counterpart was not scored leaves it.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.fillers import LABELS, fillers
from senseprobe.evaluate.estimands.kernels import KernelRows, codes_of, labels, select
from senseprobe.records import Design
from senseprobe.statistics import BoolArray, FloatArray, IntArray

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
