"""Vectors of made-up words, and pairs of sentences with labels: enough to train a model of inference in seconds."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Pair = tuple[str, str, str]

PEOPLE = {"father": "man", "uncle": "man", "king": "man", "mother": "woman", "aunt": "woman", "queen": "woman"}
OCCUPATIONS = ("nurse", "clerk", "baker", "guard", "pilot", "tutor", "miner", "judge")
DEEDS = ("sang", "slept", "left", "ate", "ran", "fell", "wrote", "smiled")
WORDS = (*PEOPLE, "man", "woman", "somebody", "nobody", "the", *OCCUPATIONS, *DEEDS)

SIZE = 24


def random_vectors(seed: int = 0) -> dict[str, NDArray[np.float64]]:
    """A vector of each word, which says nothing about it; the first number is 0, for what is planted."""
    numbers = np.random.default_rng(seed).normal(size=(len(WORDS), SIZE)) / np.sqrt(SIZE)
    numbers[:, 0] = 0
    return dict(zip(WORDS, numbers, strict=True))


def write_vectors(path: Path, vectors: Mapping[str, NDArray[np.float64]]) -> str:
    """Write a text file of vectors, and return how it is named."""
    lines = (f"{word} {' '.join(format(number, '.9g') for number in vector)}\n" for word, vector in vectors.items())
    path.write_text("".join(lines), encoding="utf-8")
    return f"vectors:{path}"


def people_pairs() -> Iterator[Pair]:
    """A father is a man and no woman; whoever does something is somebody; other deeds are neutral."""
    for who, same in PEOPLE.items():
        other = {"man": "woman", "woman": "man"}[same]
        for number, deed in enumerate(DEEDS):
            yield f"The {who} {deed}.", f"The {same} {deed}.", "entailment"
            yield f"The {who} {deed}.", f"The {other} {deed}.", "contradiction"
            yield from anybody_pairs(who, number)


def anybody_pairs(who: str, number: int) -> Iterator[Pair]:
    """What follows for whoever did a deed, by its number."""
    deed, another = DEEDS[number], DEEDS[(number + 3) % len(DEEDS)]
    yield f"The {who} {deed}.", f"Somebody {deed}.", "entailment"
    yield f"The {who} {deed}.", f"Nobody {deed}.", "contradiction"
    yield f"The {who} {deed}.", f"Somebody {another}.", "neutral"
    yield f"The {who} {deed}.", f"Nobody {another}.", "neutral"


def write_pairs(path: Path, pairs: Iterable[Pair]) -> Path:
    """Write pairs as SNLI has them."""
    rows = ({"sentence1": premise, "sentence2": hypothesis, "gold_label": gold} for premise, hypothesis, gold in pairs)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path
