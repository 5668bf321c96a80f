"""The senses of a word, and where an embedding of senses puts them: along a direction, and next to which others."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from senseprobe.charts import Forest, ForestRow, Mark
from senseprobe.document import Cell, Document, Level, Part, Section, Table, build_sections, name_cells
from senseprobe.lexicon import SenseEntry
from senseprobe.messages import listed

PERSONS = (
    "The direction is the mean of male less female vectors over pairs of person senses (Zhou, Kaneko and Bollegala "
    "2022, equation 8): positive is the male side. It holds all in which these words differ, and 0 is not known to "
    "be free of bias."
)
LIMITS = (
    "Nearness of vectors is no behaviour: it does not say what a model writes or decides.",
    "Vectors that were built from glosses hold what lexicographers wrote of a sense, not how people use it.",
)


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


# --- the page -------------------------------------------------------------------------------------------------------


def senses_section(word: WordSenses, level: Level = "full") -> Section:
    """Return the senses along the direction, a table of them, and what its numbers depend on."""
    rows = tuple(
        ForestRow(
            label=sense.entry.key,
            note=sense.entry.gloss,
            marks=(Mark(series=0, value=sense.gender, hollow=True, text=_format_cosine(sense)),),
        )
        for sense in sorted(word.senses, key=lambda sense: -(sense.gender or 0.0))
        if sense.gender is not None
    )
    ends = [0.1, *(abs(sense.gender) for sense in word.senses if sense.gender is not None)]
    limit = np.ceil(10 * max(ends)) / 10
    plot = Forest(
        title="Cosine of each sense with the direction of gender",
        rows=rows,
        low=-limit,
        high=limit,
        left="female side",
        right="male side",
    )
    table_rows = []
    for sense in word.senses:
        entry, nearest = sense.entry, ", ".join(f"{key} {cosine:.2f}" for key, cosine in sense.nearest)
        cells = (*name_cells(entry.key), Cell.quiet(entry.file), Cell(", ".join(entry.lemmas)), Cell(entry.gloss))
        table_rows.append((*cells, Cell.number(_format_cosine(sense)), Cell(nearest)) if word.embedding else cells)
    table = Table(
        "Senses in WordNet's order",
        ("sense", "file", "words", "definition", *(("cosine", "nearest senses") if word.embedding else ())),
        tuple(table_rows),
    )
    return Section("Senses", tuple(_remarks(word)), (plot,) * bool(rows), (table,))


def _format_cosine(sense: PlacedSense) -> str:
    return "none" if sense.gender is None else f"{sense.gender + 0.0:+.3f}"


def _remarks(word: WordSenses) -> Iterator[str]:
    """Yield which senses the embedding lacks, and the check of the direction."""
    if lacking := [sense.entry.key for sense in word.senses if sense.missing]:
        yield f"{word.embedding} lacks {listed(lacking)}."
    if word.why:
        yield f"{'The direction is of fewer pairs' if word.check else 'No direction of gender'}: {word.why}."
    if word.check:
        misplaced = [key for key, gender, cosine in word.check if (cosine > 0) != (gender == "male")]
        other = f"; on the other side: {listed(misplaced)}" if misplaced else ""
        agreement = f"{word.on_their_side} of the {len(word.check)} senses that make it are on their side{other}"
        yield f"The number is the cosine with the direction of gender (equation 8), positive: male; {agreement}."


def limits_section(word: WordSenses, level: Level = "full") -> Section:
    """Return what the direction is, and what it does not say; a terminal has none of it."""
    if level == "brief" or not word.embedding:
        return Section("")
    rows = tuple((*name_cells(key), Cell(gender), Cell.number(f"{cosine:+.3f}")) for key, gender, cosine in word.check)
    check = Table("The senses that make the direction", ("sense", "gender", "cosine"), rows, closed=True)
    return Section("What this does not say", (PERSONS, *LIMITS), tables=(check,) * bool(rows))
