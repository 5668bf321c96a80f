"""Where an embedding puts the senses of a word: along the direction of gender, and next to which other senses."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.reporting.word_senses import PlacedSense, WordSenses
from senseprobe.evaluate.senses.scorers import SenseVectors, span_direction
from senseprobe.messages import counted, listed
from senseprobe.statistics import FloatArray, pairwise_cosines, unit_vectors
from senseprobe.word_vectors import VectorTable

MOST_NEIGHBOURS = 100
BLOCK = 8192
"""Vectors that are read at a time: of 2,048 numbers 128 MiB."""

Pair = tuple[str, str]
"""The keys of two person senses, of the male and the female one: ``man%1:18:00::`` and ``woman%1:18:00::``."""
Blocks = Iterable[tuple[Sequence[str], FloatArray]]
"""All keys of an embedding with their vectors, some thousands at a time."""


def locate_senses(
    word: WordSenses, model: SenseVectors, blocks: Blocks, pairs: Sequence[Pair], count: int
) -> WordSenses:
    """Return the senses of a word with their cosine with gender's direction, and the `count` nearest of each.

    The `blocks` of the embedding are read once, and no more of it is kept than one. SenseprobeError where it has none
    of the senses, and where `count` is not from 0 to `MOST_NEIGHBOURS`.
    """
    if not 0 <= count <= MOST_NEIGHBOURS:
        raise SenseprobeError(f"{count} nearest senses: from 0 to {MOST_NEIGHBOURS} can be shown")
    entries = [sense.entry for sense in word.senses]
    keys = [entry.key for entry in entries]
    vectors = unit_vectors(model.vectors(keys))
    has = [bool(np.isfinite(vector).all()) for vector in vectors]
    if not any(has):
        raise SenseprobeError(
            f"{model.name} has none of the {counted(len(keys), 'sense')} of {word.word!r} in WordNet 3.0"
        )
    check, why, direction = _find_direction(model, pairs)
    nearest = find_nearest(blocks, keys, vectors, count) if count else [()] * len(keys)
    senses = tuple(
        PlacedSense(entry, None if direction is None or not there else float(vector @ direction), near, not there)
        for entry, vector, near, there in zip(entries, vectors, nearest, has, strict=True)
    )
    return WordSenses(word=word.word, senses=senses, embedding=model.name, check=check, why=why)


def _find_direction(
    model: SenseVectors, pairs: Sequence[Pair]
) -> tuple[tuple[tuple[str, str, float], ...], str, FloatArray | None]:
    """Return the check of equation 8's direction, what it lacks, and the direction with length 1; None without one."""
    sides = [model.vectors(side) for side in zip(*pairs, strict=True)]
    direction, has = span_direction(sides[0], sides[1])
    missing = np.argwhere(np.isnan(np.stack(sides, axis=1)).any(axis=2)).tolist()
    why = f"{model.name} lacks {listed(pairs[pair][side] for pair, side in missing)}" if missing else ""
    unit = unit_vectors(direction[None])
    if not np.isfinite(unit).all():
        return (), "the two sides of the pairs have the same mean" if has.any() else why, None
    whole = np.flatnonzero(has).tolist()
    check = tuple(
        (pairs[pair][side], gender, cosine)
        for side, gender in enumerate(("male", "female"))
        for pair, cosine in zip(whole, pairwise_cosines(sides[side][whole], unit)[:, 0].tolist(), strict=True)
    )
    return check, why, unit[0]


def read_blocks(table: VectorTable) -> Iterator[tuple[Sequence[str], FloatArray]]:
    """Yield all keys of a file with their vectors, `BLOCK` at a time, in the order of the file."""
    rows = sorted((row, key) for key, row in table.vocabulary.rows.items())
    for start in range(0, len(rows), BLOCK):
        part = rows[start : start + BLOCK]
        yield [key for _, key in part], table.read([row for row, _ in part])


def find_nearest(
    blocks: Blocks, keys: Sequence[str], vectors: FloatArray, count: int
) -> list[tuple[tuple[str, float], ...]]:
    """Return for each vector of length 1 the keys of the `count` others with the largest cosine, and these cosines.

    A key is never next to itself, and one without a vector next to none; of equal cosines the first keys are taken.

    >>> keys, vectors = ["a", "b", "c"], np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> (((key, cosine),),) = find_nearest([(keys, vectors)], ["a"], vectors[:1], 1)
    >>> key, round(cosine, 3)
    ('b', 0.6)
    """
    best: list[list[tuple[float, str]]] = [[] for _ in keys]
    for names, block in blocks:
        cosines = np.nan_to_num(vectors @ unit_vectors(block).T, nan=-np.inf)
        for key, row, neighbours in zip(keys, cosines, best, strict=True):
            # One more than are wanted: the key itself is among them.
            last = np.partition(row, -count - 1)[-count - 1] if len(row) > count + 1 else -np.inf
            numbers = np.flatnonzero((row >= last) & np.isfinite(row)).tolist()
            neighbours += [(-float(row[number]), names[number]) for number in numbers if names[number] != key]
            neighbours[:] = sorted(neighbours)[:count]
    return [tuple((key, -negative) for negative, key in neighbours) for neighbours in best]
