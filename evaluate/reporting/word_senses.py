"""The senses of a word, and where an embedding of senses puts them: along a direction, and next to which others."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from senseprobe.charts import Forest, ForestRow, Mark
from senseprobe.document import Cell, Document, Level, Part, Section, Table, build_sections, name_cells
from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.senses.scorers import SenseVectors, span_direction
from senseprobe.lexicon import SenseEntry
from senseprobe.messages import counted, listed
from senseprobe.statistics import FloatArray, pairwise_cosines, unit_vectors
from senseprobe.word_vectors import VectorTable

MOST_NEIGHBOURS = 100
BLOCK = 8192
"""Vectors that are read at a time: of 2,048 numbers 128 MiB."""

PERSONS = (
    "The direction is the mean of male less female vectors over pairs of person senses (Zhou, Kaneko and Bollegala "
    "2022, equation 8): positive is the male side. It holds all in which these words differ, and 0 is not known to "
    "be free of bias."
)
LIMITS = (
    "Nearness of vectors is no behaviour: it does not say what a model writes or decides.",
    "Vectors that were built from glosses hold what lexicographers wrote of a sense, not how people use it.",
)


Pair = tuple[str, str]
"""The keys of two person senses, of the male and the female one: ``man%1:18:00::`` and ``woman%1:18:00::``."""
Blocks = Iterable[tuple[Sequence[str], FloatArray]]
"""All keys of an embedding with their vectors, some thousands at a time."""


@dataclass(frozen=True, slots=True)
class PlacedSense:
    """A sense; with an embedding its cosine with the direction, and its nearest senses with their cosines.

    `gender` is None without an embedding, where that lacks the sense, and where it has no direction.
    """

    entry: SenseEntry
    gender: float | None = None
    nearest: tuple[tuple[str, float], ...] = ()
    missing: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the sense as ``senseprobe words show --json`` prints it."""
        near = [{"key": key, "cosine": cosine} for key, cosine in self.nearest]
        return {**self.entry._asdict(), "gender": self.gender, "nearest": near, "missing": self.missing}


@dataclass(frozen=True, kw_only=True, slots=True)
class WordSenses:
    """The senses of a word in WordNet's order.

    - `embedding`: the name of the embedding; empty without one.
    - `check`: the members of the pairs with ``male`` or ``female`` and their cosine with the direction of all pairs.
    - `why`: what the direction lacks, so that it is made of fewer pairs, or of none; empty where it lacks nothing.
    """

    word: str
    senses: tuple[PlacedSense, ...]
    embedding: str = ""
    check: tuple[tuple[str, str, float], ...] = ()
    why: str = ""

    @property
    def on_their_side(self) -> int:
        """How many members of the pairs are on their own side of the direction."""
        return sum((cosine > 0) == (gender == "male") for _, gender, cosine in self.check)

    def as_dict(self) -> dict[str, Any]:
        """Return what ``senseprobe words show --json`` prints."""
        check = [{"key": key, "gender": gender, "cosine": cosine} for key, gender, cosine in self.check]
        facts = {"embedding": self.embedding or None, "lacks": self.why or None}
        return {"word": self.word, **facts, "senses": [sense.as_dict() for sense in self.senses], "check": check}

    def sections(self, level: Level = "full") -> tuple[Section, ...]:
        """Return the sections of the page, or what a terminal prints of them."""
        return build_sections((senses_section, limits_section), self, level)

    def page(self) -> Document:
        """Return the page of the word."""
        return Document(
            title=f"Senses of {self.word}",
            subtitle=self.embedding,
            warning="Definitions are as WordNet has them, which also defines slurs.",
            parts=(Part(title="", sections=self.sections(), labels=(self.embedding,)),),
        )


def place_senses(
    shown: WordSenses, model: SenseVectors, blocks: Blocks, pairs: Sequence[Pair], count: int
) -> WordSenses:
    """Return the senses of a word with their cosine with gender's direction, and the `count` nearest of each.

    The `blocks` of the embedding are read once, and no more of it is kept than one. SenseprobeError where it has none
    of the senses, and where `count` is not from 0 to `MOST_NEIGHBOURS`.
    """
    if not 0 <= count <= MOST_NEIGHBOURS:
        raise SenseprobeError(f"{count} nearest senses: from 0 to {MOST_NEIGHBOURS} can be shown")
    entries = [sense.entry for sense in shown.senses]
    keys = [entry.key for entry in entries]
    vectors = unit_vectors(model.vectors(keys))
    has = [bool(np.isfinite(vector).all()) for vector in vectors]
    if not any(has):
        raise SenseprobeError(
            f"{model.name} has none of the {counted(len(keys), 'sense')} of {shown.word!r} in WordNet 3.0"
        )
    check, why, direction = _find_direction(model, pairs)
    nearest = find_nearest(blocks, keys, vectors, count) if count else [()] * len(keys)
    senses = tuple(
        PlacedSense(entry, None if direction is None or not there else float(vector @ direction), near, not there)
        for entry, vector, near, there in zip(entries, vectors, nearest, has, strict=True)
    )
    return WordSenses(word=shown.word, senses=senses, embedding=model.name, check=check, why=why)


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
    """
    best: list[list[tuple[float, str]]] = [[] for _ in keys]
    for names, block in blocks:
        cosines = np.nan_to_num(vectors @ unit_vectors(block).T, nan=-np.inf)
        for own, row, found in zip(keys, cosines, best, strict=True):
            last = np.partition(row, -count - 1)[-count - 1] if len(row) > count + 1 else -np.inf  # own is among them
            places = np.flatnonzero((row >= last) & np.isfinite(row)).tolist()
            found += [(-float(row[place]), names[place]) for place in places if names[place] != own]
            found[:] = sorted(found)[:count]
    return [tuple((key, -negative) for negative, key in found) for found in best]


# --- the page -------------------------------------------------------------------------------------------------------


def senses_section(shown: WordSenses, level: Level = "full") -> Section:
    """Return the senses along the direction, a table of them, and what its numbers depend on."""
    rows = tuple(
        ForestRow(
            label=sense.entry.key,
            note=sense.entry.gloss,
            marks=(Mark(series=0, value=sense.gender, hollow=True, text=_format_cosine(sense)),),
        )
        for sense in sorted(shown.senses, key=lambda sense: -(sense.gender or 0.0))
        if sense.gender is not None
    )
    ends = [0.1, *(abs(sense.gender) for sense in shown.senses if sense.gender is not None)]
    limit = np.ceil(10 * max(ends)) / 10
    plot = Forest(
        title="Cosine of each sense with the direction of gender",
        rows=rows,
        low=-limit,
        high=limit,
        left="female side",
        right="male side",
    )
    table = Table(
        "Senses in WordNet's order",
        ("sense", "file", "words", "definition", *(("cosine", "nearest senses") if shown.embedding else ())),
        tuple(_build_row(shown, sense) for sense in shown.senses),
    )
    return Section("Senses", tuple(_remarks(shown)), (plot,) * bool(rows), (table,))


def _format_cosine(sense: PlacedSense) -> str:
    return "none" if sense.gender is None else f"{sense.gender + 0.0:+.3f}"


def _build_row(shown: WordSenses, sense: PlacedSense) -> tuple[Cell, ...]:
    entry = sense.entry
    nearest = ", ".join(f"{key} {cosine:.2f}" for key, cosine in sense.nearest)
    placed = (Cell.number(_format_cosine(sense)), Cell(nearest)) if shown.embedding else ()
    return (*name_cells(entry.key), Cell.quiet(entry.file), Cell(", ".join(entry.lemmas)), Cell(entry.gloss), *placed)


def _remarks(shown: WordSenses) -> Iterator[str]:
    """Yield which senses the embedding lacks, and the check of the direction."""
    if lacking := [sense.entry.key for sense in shown.senses if sense.missing]:
        yield f"{shown.embedding} lacks {listed(lacking)}."
    if shown.why:
        yield f"{'The direction is of fewer pairs' if shown.check else 'No direction of gender'}: {shown.why}."
    if shown.check:
        wrong = [key for key, gender, cosine in shown.check if (cosine > 0) != (gender == "male")]
        other = f"; on the other side: {listed(wrong)}" if wrong else ""
        own = f"{shown.on_their_side} of the {len(shown.check)} senses that make it are on their side{other}"
        yield f"The number is the cosine with the direction of gender (equation 8), positive: male; {own}."


def limits_section(shown: WordSenses, level: Level = "full") -> Section:
    """Return what the direction is, and what it does not say; a terminal has none of it."""
    if level == "brief" or not shown.embedding:
        return Section("")
    rows = tuple((*name_cells(key), Cell(gender), Cell.number(f"{cosine:+.3f}")) for key, gender, cosine in shown.check)
    check = Table("The senses that make the direction", ("sense", "gender", "cosine"), rows, closed=True)
    return Section("What this does not say", (PERSONS, *LIMITS), tables=(check,) * bool(rows))
