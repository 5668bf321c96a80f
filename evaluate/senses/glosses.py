"""An embedding of WordNet's senses, made by an encoder of what WordNet writes about each.

senses -> their texts, each once -> vectors by the encoder, stored as they are made -> a file of safetensors

Such vectors hold the prose of lexicographers and the encoder's reading of it: a fixture, not a published embedding.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from senseprobe.atomic_files import write_whole
from senseprobe.errors import ModelError
from senseprobe.evaluate.cache import Store
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.senses.files import KEYS, METADATA, VECTORS
from senseprobe.evaluate.units import Unit
from senseprobe.lexicon.wordnet import LEXICONS, Lexicon, SenseEntry, Vocabulary, senses_of
from senseprobe.messages import counted

_SCORER = "weat-sent"  # whose answers are the vectors of sentences that an encoder makes
_FORM = "lemma - lemma , lemma - definition"
_IDENTITY = ("weights", "config", "tokenizer", "dtype", "encoding")
# Batches, threads and processors change the last bits of float64, which are far below this part of the largest number.
_BITS = 18
LIMITS = (
    "such vectors hold what lexicographers wrote of a sense, and the encoder's reading of it: a fixture and a "
    "demonstration, no embedding that anybody published"
)


@dataclass(frozen=True, slots=True)
class BuiltSenses:
    """An embedding that was written: its file, how many senses and distinct texts it has, and what it says of itself.

    `without`: words that were asked for, and that WordNet does not have.
    """

    file: Path
    senses: int
    texts: int
    dimensions: int
    metadata: Mapping[str, str]
    without: tuple[str, ...] = ()


def gloss_text(entry: SenseEntry, word: str, examples: Iterable[str] = ()) -> str:
    """Return the text of a sense, as LMMS's: the word as spelled, the words of its synset, and its definition.

    Words of several parts have blanks between; `examples` follow, each after a semicolon.
    """
    return "; ".join([f"{word} - {' , '.join(entry.lemmas)} - {entry.gloss}", *examples])


def gloss_texts(words: Iterable[str] | None, *, examples: bool) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the texts of senses by key, in order of the keys; and the words that WordNet does not have.

    All senses without `words`; else those of these words, or sense keys, and of their synonyms: all members of each
    synset that has one of the words.
    """
    wordnet = Vocabulary.open()
    senses = {word: {entry.key for entry in senses_of(wordnet, word)} for word in dict.fromkeys(words or ())}
    senses |= {word: {word} for word in senses if wordnet.has_key(word)}
    chosen = {key for keys in senses.values() for key in keys}
    texts: dict[str, str] = {}
    for _, synset in groupby(wordnet.every_sense(), lambda sense: (sense[0].pos, sense[0].lemmas, sense[0].gloss)):
        members = [*synset]
        if words is None or any(entry.key in chosen for entry, _, _ in members):
            texts |= {entry.key: gloss_text(entry, word, quoted if examples else ()) for entry, word, quoted in members}
    return dict(sorted(texts.items())), tuple(word for word, keys in senses.items() if not keys)


def build_senses(
    model: Any,  # noqa: ANN401 - any with vectors of sentences
    out: Path,
    words: Iterable[str] | None,
    *,
    examples: bool,
    version: str,
    warn: Callable[[str], None],
    progress: Callable[[int, int], None] | None = None,
) -> BuiltSenses:
    """Write an embedding of WordNet's senses by an encoder into a new file.

    Vectors are stored as they are made, so that a run that was interrupted goes on. Of a `model` in float64, bytes
    depend on encoder and texts alone. Raises ModelError where `out` exists, where nothing is to be made, or a text has
    no vector.
    """
    if out.exists():
        raise ModelError(f"{out} exists: choose a new file with -o")
    texts, without = gloss_texts(words, examples=examples)
    if not texts:
        raise ModelError("WordNet does not contain any of the words: nothing was written")
    units = [Unit(text) for text in sorted({*texts.values()})]
    scorer = get(_SCORER)
    identity = scorer.identity(model)
    with Store(identity, scorer, warn, width=model.dimensions) as store:
        vectors: dict[Unit, Any] = {**store.load(units)}
        _refuse_missing(model, vectors)
        for answers in model.encode("sent", units, frozenset(vectors)):
            _refuse_missing(model, dict(answers))
            store.add(answers)
            vectors.update(answers)
            if progress:
                progress(len(vectors), len(units))
    metadata = {
        **{f"encoder_{part}": identity[part] for part in _IDENTITY},
        "gloss": f"{_FORM}{'; examples' if examples else ''}, blanks in words, no sources of quotations",
        "lexicon": LEXICONS[0],
        "lexicon_sha256": Lexicon.open(LEXICONS[0]).identity,
        "precision": f"rounded to 2^-{_BITS} of a vector's largest number",
        "senseprobe": version,
        "limits": LIMITS,
    }
    # Without bits that another order of sums would change.
    exact = np.array([vectors[Unit(text)] for text in texts.values()])
    largest = np.maximum(np.abs(exact).max(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    step = np.exp2(np.ceil(np.log2(largest.astype(np.float64))) - _BITS)
    matrix = (np.round(exact / step) * step).astype("<f4")
    joined = np.frombuffer("\n".join(texts).encode(), np.uint8)
    # One entry: the library writes several in any order.
    data = save({VECTORS: matrix, KEYS: joined}, {METADATA: json.dumps(metadata, sort_keys=True)})
    write_whole(out, data)
    return BuiltSenses(out, len(texts), len(units), matrix.shape[1], metadata, without)


def _refuse_missing(model: Any, vectors: Mapping[Unit, Any]) -> None:  # noqa: ANN401 - any with vectors of sentences
    """Raise ModelError where a text has no vector, with the reason of the first."""
    if lost := [unit for unit, vector in vectors.items() if not np.isfinite(vector).all()]:
        (reason,) = model.reasons("sent", lost[:1])
        many = counted(len(lost), "gloss", "glosses")
        raise ModelError(f"{model.name} does not have vectors for {many}, such as {lost[0].text!r} ({reason})")
