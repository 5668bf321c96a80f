"""Association tests on sense embeddings: the largest cosine over pairs of senses of two words.

words of a test -> their senses -> cosines of all pairs of senses -> the largest for each target and attribute
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.evaluate.scorers.association import ATTRIBUTES, COSINES, TARGETS
from senseprobe.evaluate.units import identity_of
from senseprobe.statistics import FloatArray, pairwise_cosines

SENSE_COLUMNS = ("target_sense", "attribute_sense", "target_senses", "attribute_senses")
"""The keys that were compared, and how many senses each word has, beside the columns of `COSINES`."""


class SenseVectors(Protocol):
    """What is asked of a sense embedding (evaluate/models/sense_vectors.py)."""

    def senses(self, word: str) -> tuple[str, ...]:
        """Return the sense keys of a word that it has, in WordNet's order."""

    def vectors(self, keys: Sequence[str]) -> FloatArray:
        """Return their vectors, of shape (keys, dimensions)."""

    def refuses(self, word_class: str) -> str:
        """Return why words of a class cannot be looked up; empty where they can."""


@dataclass(frozen=True, slots=True)
class NearestSenses:
    """For N targets and M attributes the largest cosine, and the numbers of the two senses that have it.

    All are of shape (N, M); a word without senses has NaN, and -1.
    """

    cosines: FloatArray
    first: NDArray[np.intp]
    second: NDArray[np.intp]


def nearest_senses(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> NearestSenses:
    """Return the largest cosine max_ij cos(s_i, a_j) of each two words (Zhou et al. 2022, before section 4).

    A word is the vectors of its senses, of shape (senses, dimensions). The largest may be negative; the first pair
    counts where two are equally near.
    """
    shape = len(first), len(second)
    nearest = NearestSenses(np.full(shape, np.nan), np.full(shape, -1), np.full(shape, -1))
    starts = np.cumsum([0, *map(len, second)])
    joined = np.concatenate(second) if len(second) else np.empty((0, 0))
    for row, senses in enumerate(first):
        if not len(senses) or not len(joined):
            continue
        table = pairwise_cosines(senses, joined)
        for column in range(shape[1]):
            pairs = table[:, starts[column] : starts[column + 1]]
            if pairs.size and not np.isnan(pairs).all():
                place = np.unravel_index(np.nanargmax(pairs), pairs.shape)
                nearest.cosines[row, column] = pairs[place]
                nearest.first[row, column], nearest.second[row, column] = place
    return nearest


def compare_senses(rows: pd.DataFrame, model: SenseVectors) -> pd.DataFrame:
    """Return the largest cosines of the words of one test, a row for each target with each attribute.

    `rows` have `role` and `word`. The columns are those of `COSINES` without config and test, and `SENSE_COLUMNS`.
    """
    words = rows.drop_duplicates(["role", "word"])
    keys = {word: model.senses(word) for word in words["word"].unique()}
    targets, attributes = (words[words["role"].isin(sides)] for sides in (TARGETS, ATTRIBUTES))
    sides = [[model.vectors(keys[word]) for word in side["word"]] for side in (targets, attributes)]
    nearest = nearest_senses(sides[0], sides[1])
    pairs = ((row, column) for row in range(len(targets)) for column in range(len(attributes)))
    records = [
        _record(targets.iloc[row], attributes.iloc[column], keys, nearest, (row, column)) for row, column in pairs
    ]
    columns = [*(name for name in COSINES.names if name not in ("config", "test")), *SENSE_COLUMNS]
    return pd.DataFrame(records, columns=columns).assign(identity=identity_of(rows))


def _record(
    target: "pd.Series[str]",
    attribute: "pd.Series[str]",
    keys: Mapping[str, tuple[str, ...]],
    nearest: NearestSenses,
    place: tuple[int, int],
) -> dict[str, str | float | None]:
    """Return the row of a target and an attribute."""
    ours, others, found = keys[target["word"]], keys[attribute["word"]], nearest.first[place] >= 0
    return {
        "target": target["word"],
        "target_role": target["role"],
        "attribute": attribute["word"],
        "attribute_role": attribute["role"],
        "cosine": float(nearest.cosines[place]),
        "check": float("nan"),
        "target_sense": ours[nearest.first[place]] if found else None,
        "attribute_sense": others[nearest.second[place]] if found else None,
        "target_senses": len(ours),
        "attribute_senses": len(others),
    }


def refused_tests(rows: pd.DataFrame, model: SenseVectors) -> dict[str, str]:
    """Return by name the tests that have words of a class that cannot be looked up, each with the reason."""
    reasons = {word_class: model.refuses(str(word_class)) for word_class in rows["word_class"].dropna().unique()}
    classes = rows[["test", "word_class"]].drop_duplicates().dropna()
    named = zip(classes["test"], classes["word_class"], strict=True)
    return {str(test): reasons[word_class] for test, word_class in named if reasons[word_class]}
