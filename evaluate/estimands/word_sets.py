"""The four sets of words of an association test: their cosines and associations, and words that stand in them twice."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from senseprobe.evaluate.units import HAS_VECTOR, TIMES_LISTED
from senseprobe.messages import listed, printable, shortened
from senseprobe.statistics import FloatArray, effect_size

ROUNDING = 1e-12
"""Associations are equal that differ by less: cosines of equal or of parallel vectors differ in their last bits."""

SETS = ("X", "Y", "A", "B")
"""The targets X and Y, and the attributes A and B."""


@dataclass(frozen=True, slots=True)
class TestWords:
    """The words of a test: by set those with a vector (`has`) and those without (`missing`).

    `cosines` and `check` have shape (words of X and Y, words of A and B), X and A first, of those with a vector; in
    `check` they are of vectors by another pooling, NaN where there is none.
    """

    has: Mapping[str, tuple[str, ...]]
    missing: Mapping[str, tuple[str, ...]]
    cosines: FloatArray
    check: FloatArray

    @classmethod
    def of_table(cls, table: pd.DataFrame) -> "TestWords":
        """Return the words of one test from its rows of a table of words (scorers/association.py)."""
        sides = [list(zip(table[f"{side}_role"], table[side], strict=True)) for side in ("target", "attribute")]
        words = [sorted(dict.fromkeys(side), key=lambda word: SETS.index(word[0])) for side in sides]
        rows, columns = (
            np.array([*map({word: number for number, word in enumerate(names)}.__getitem__, side)], dtype=np.intp)
            for names, side in zip(words, sides, strict=True)
        )
        cosines = np.full((2, len(words[0]), len(words[1])), np.nan)
        cosines[:, rows, columns] = table[["cosine", "check"]].to_numpy(dtype=np.float64).T
        there = [np.isfinite(cosines[0]).any(axis=axis) for axis in (1, 0)]
        by_set: dict[bool, dict[str, list[str]]] = {True: {name: [] for name in SETS}, False: {}}
        for names, has in zip(words, there, strict=True):
            for (name, word), present in zip(names, has.tolist(), strict=True):
                by_set[present].setdefault(name, []).append(word)
        has, missing = (
            {name: tuple(members) for name, members in by_set[present].items()} for present in (True, False)
        )
        return cls(has, missing, *cosines[:, there[0]][:, :, there[1]])

    def split_by_vectors(self, rows: pd.DataFrame) -> "TestWords":
        """Return it with the words that have a vector by the rows of the test.

        Where no target has one, or no attribute, the cosines of the others are NaN, too. Rows of a result's table do
        not say it.
        """
        if HAS_VECTOR not in rows:
            return self
        names = rows["word"].where(rows["word"].notna(), rows["sentence"])
        has_vector = rows.groupby([rows["role"], names], sort=False)[HAS_VECTOR].any()
        keys = [(*key, bool(there)) for key, there in zip(has_vector.index, has_vector, strict=True)]
        has, missing = (
            {side: tuple(word for role, word, present in keys if (role, present) == (side, status)) for side in SETS}
            for status in (True, False)
        )
        return replace(self, has=has, missing={side: words for side, words in missing.items() if words})

    def associations(self, cosines: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return s(w, A, B) of the words of X, and of those of Y: the mean cosine with A less that with B.

        >>> words = {"X": ("rose",), "Y": ("wasp",), "A": ("kind",), "B": ("rude",)}
        >>> cosines = np.array([[0.75, 0.25], [0.0, 0.5]])
        >>> TestWords(words, {}, cosines, cosines).associations(cosines)
        (array([0.5]), array([-0.5]))
        """
        ends = len(self.has["X"]), len(self.has["A"])
        values = cosines[:, : ends[1]].mean(axis=1) - cosines[:, ends[1] :].mean(axis=1)
        return values[: ends[0]], values[ends[0] :]

    @property
    def changes_sign(self) -> bool:
        """Whether the effect has the other sign by the other pooling; False where there is none."""
        if not all(self.has.values()) or not np.isfinite(self.check).all():
            return False
        effect, other = (compute_effect(*self.associations(cosines)) for cosines in (self.cosines, self.check))
        return effect is not None and other is not None and effect * other < 0

    def in_two_sets(self) -> dict[tuple[str, ...], list[str]]:
        """Return by sets the words that all of these have, or one of them in two spellings with the same vector."""
        places: dict[str, list[tuple[int, str, str]]] = {}
        words = [(role, word) for role in SETS for word in self.has[role]]
        for number, (role, word) in enumerate(words):
            places.setdefault(word.casefold(), []).append((number, role, word))
        shared: dict[tuple[str, ...], list[str]] = {}
        for first, *others in places.values():
            same = [first, *(other for other in others if first[2] == other[2] or self._is_same(first[0], other[0]))]
            if len(same) > 1:
                spellings = dict.fromkeys(word for *_, word in same)
                shared.setdefault(tuple(role for _, role, _ in same), []).append(" and ".join(spellings))
        return shared

    def _is_same(self, first: int, second: int) -> bool:
        """Return whether two words, counted over X, Y, A and B, have the same vector by their cosines with others."""
        targets = len(self.has["X"]) + len(self.has["Y"])
        if first < targets <= second:
            return bool(self.cosines[first, second - targets] > 1 - ROUNDING)
        rows, start = (self.cosines, 0) if second < targets else (self.cosines.T, targets)
        return bool(np.abs(rows[first - start] - rows[second - start]).max() <= ROUNDING)


def compute_effect(x: FloatArray, y: FloatArray, *, population: bool = False) -> float | None:
    """Return the effect size of associations of X and Y; None where they are equal but for the rounding of cosines.

    >>> x, y = np.array([0.5, 0.3]), np.array([-0.5, -0.3])
    >>> round(compute_effect(x, y), 2)
    1.68
    """
    scatters = np.ptp(np.concatenate([x, y])) > ROUNDING
    return effect_size(x, y, population=population) if scatters else None


def describe_repeats(rows: pd.DataFrame, words: TestWords) -> str:
    """Return which words two sets of a test have, and which one has twice, in a clause; empty where there are none.

    `rows` are those of the test; how often each was listed is in their column `TIMES_LISTED`, where they have it.
    """
    return "; ".join([*_shared(words), *_listed_twice(rows)])


def _shared(words: TestWords) -> Iterator[str]:
    for roles, shared in words.in_two_sets().items():
        sets = [*dict.fromkeys(roles)]
        opposed = [pair for pair in ("XY", "AB") if {*pair} <= {*sets}]
        if len(sets) == 1:
            effect = f"spelt in {len(roles)} ways, counted {len(roles)} times"
        elif not opposed:
            effect = "compared with themselves"
        elif all(len({len(words.has[role]) for role in pair}) == 1 for pair in opposed):
            effect = "which cancel out"
        else:
            effect = "on both sides of the comparison"
        yield f"words of {'both ' if len(sets) == 2 else ''}{' and '.join(sets)} ({effect}): {_named(shared)}"


def _listed_twice(rows: pd.DataFrame) -> Iterator[str]:
    if TIMES_LISTED not in rows:
        return
    repeated = rows[rows[TIMES_LISTED] > 1]
    names = repeated["word"].where(repeated["word"].notna(), repeated["sentence"])
    by_set: dict[tuple[str, int], dict[str, None]] = {}
    for role, name, times in zip(repeated["role"], names, repeated[TIMES_LISTED], strict=True):
        by_set.setdefault((role, times), {})[name] = None
    for (role, times), twice in by_set.items():
        yield f"words {'twice' if times == 2 else f'{times} times'} in {role} (counted once): {_named([*twice])}"


def _named(words: Sequence[str]) -> str:
    return listed(printable(shortened(word)) for word in words)
