"""The scorers of association tests: vectors of words, of sentences, and of words in their sentences."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.scorers.base import Answers, Scorer
from senseprobe.evaluate.units import Unit
from senseprobe.evaluate.word_tables import select_texts, select_words, tabulate_vectors
from senseprobe.messages import offered

if TYPE_CHECKING:
    from senseprobe.evaluate.models.encodings import VectorModel

WEAT = "weat"
"""What stands for the scorers of all levels that a model has."""


def expand_levels(names: Sequence[str], levels: Sequence[str]) -> list[str]:
    """Return the ids of scorers, where `WEAT` stands for those of the `levels`; no levels: for those of all.

    Levels without a name are those of `WEAT`. SenseprobeError where a level is none, or there are other names only.
    """
    if unknown := [level for level in levels if level not in LEVELS]:
        raise SenseprobeError(f"unknown level {unknown[0]}: {offered(unknown[0], LEVELS)}")
    if levels and names and WEAT not in names:
        raise SenseprobeError(f"levels are of {WEAT}, and not of {' and '.join(names)}: leave them out")
    asked = names or ([WEAT] if levels else [])
    expanded = ([f"{WEAT}-{level}" for level in levels or LEVELS] if name == WEAT else [name] for name in asked)
    return list(dict.fromkeys(chain.from_iterable(expanded)))


def _encode(level: str, model: "VectorModel", units: Iterable[Unit], done: Container[Unit]) -> Iterator[Answers]:
    return model.encode(level, units, done)


def _reasons(level: str, model: "VectorModel", units: Sequence[Unit]) -> Iterator[str]:
    return model.reasons(level, units)


def _scorer(level: str, title: str, description: str, cannot_say: str, *reads: str) -> Scorer:
    """Return the scorer of a level; its number is the association of a text with the attributes of its test."""
    return Scorer(
        id=f"{WEAT}-{level}",
        title=title,
        ability="vectors",
        reads=("text", *reads),
        measure="cosine",
        range=(-2.0, 2.0),
        direction="higher: a target is nearer to the attributes A than to B, an attribute nearer to X than to Y",
        scale="probability",
        paper="Caliskan, Bryson & Narayanan 2017; May et al. 2019; Tan & Celis 2019",
        equation="Caliskan et al. 2017, s(w, A, B): mean cosine with A less mean cosine with B",
        description=description,
        cannot_say=cannot_say,
        level=level,
        select=select_words if level == "word" else select_texts,
        tabulate=partial(tabulate_vectors, text="word" if level == "word" else "sentence", checked=level == "cword"),
        score=partial(_encode, level),
        why=partial(_reasons, level),
    )


_NEARNESS = (
    "Nearness of vectors is no behaviour: it does not say what a model writes or decides. Other words for the same "
    "things can say something else."
)
SCORERS = (
    _scorer(
        "word",
        "associations of words",
        "Vectors of words alone, of a file of vectors, or of a model that reads the word as a text.",
        f"{_NEARNESS} A model of texts was not made to read a word alone; of one that reads from left to right such "
        "vectors can hardly be compared.",
    ),
    _scorer(
        "sent",
        "associations of sentences",
        "Vectors of sentences as the model makes them; those of a word's sentences are averaged.",
        f"{_NEARNESS} A sentence's vector holds its frame, too, which all words share.",
    ),
    _scorer(
        "cword",
        "associations of words in sentences",
        "Vectors of a word's tokens in its sentence, averaged over the tokens and over the word's sentences.",
        f"{_NEARNESS} How the tokens of a word become one vector is a choice, and can turn the sign around.",
        "span",
    ),
)
LEVELS: Mapping[str, Scorer] = {scorer.level: scorer for scorer in SCORERS}
"""By the level of their vectors."""
