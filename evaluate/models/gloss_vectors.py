"""An embedding of WordNet's senses, made by an encoder of what WordNet writes about each.

senses -> their texts, each once -> vectors by the encoder, stored as they are made -> a file of safetensors

Such vectors hold the prose of lexicographers and the encoder's reading of it: a fixture, not a published embedding.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from senseprobe.atomic_files import write_whole
from senseprobe.errors import ModelError
from senseprobe.evaluate.cache import Store
from senseprobe.evaluate.models.sense_files import KEYS, VECTORS
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit
from senseprobe.lexicon.wordnet import Lexicon, SenseEntry, Vocabulary, senses_of
from senseprobe.messages import counted

_SCORER = "weat-sent"  # whose answers are the vectors of sentences that an encoder makes
_FORM = "lemma - lemma , lemma - definition"
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

    All senses without `words`; else those of the words, and of the words that share a synset with one of them.
    """
    wordnet, without = Vocabulary.open(), []
    wanted: set[str] | None = None
    if words is not None:
        wanted = set()
        for word in dict.fromkeys(words):
            entries = senses_of(wordnet, word)
            wanted |= {entry.key for entry in entries}
            synonyms = {lemma for entry in entries for lemma in entry.lemmas}
            wanted |= {entry.key for lemma in synonyms for entry in senses_of(wordnet, lemma)}
            without += [] if entries else [word]
    every = wordnet.every_sense()
    texts = {
        entry.key: gloss_text(entry, word, quoted if examples else ())
        for entry, word, quoted in every
        if wanted is None or entry.key in wanted
    }
    return dict(sorted(texts.items())), tuple(without)


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

    Vectors are stored as they are made, so that a run that was interrupted goes on. Bytes depend on encoder, texts and
    number of threads alone. Raises ModelError where `out` exists, where nothing is to be made, or a text has no vector.
    """
    if out.exists():
        raise ModelError(f"{out} exists: name a new file with -o")
    texts, without = gloss_texts(words, examples=examples)
    if not texts:
        raise ModelError("WordNet has none of the words: nothing was written")
    units = [Unit(text) for text in sorted({*texts.values()})]
    scorer = get(_SCORER)
    identity = scorer.identity(model)
    # Batches differ with what else is encoded, and last bits with batches: each set of texts has its own store.
    plan = hashlib.sha256(json.dumps([unit.text for unit in units]).encode()).hexdigest()
    key = {**identity, "encoding": f"{identity['encoding']};glosses={plan}"}
    with Store(key, scorer, warn, width=model.dimensions) as store:
        vectors: dict[Unit, Any] = {**store.load(units)}
        for answers in model.encode("sent", units, frozenset(vectors)):
            store.add(answers)
            vectors.update(answers)
            if progress:
                progress(len(vectors), len(units))
    if lost := [unit.text for unit in units if not np.isfinite(vectors[unit]).all()]:
        raise ModelError(
            f"{model.name} has no vector for {counted(len(lost), 'gloss', 'glosses')}, such as {lost[0]!r}"
        )
    metadata = {
        "encoder": model.name,
        **{f"encoder_{name}": value for name, value in identity.items()},
        "gloss": f"{_FORM}{'; examples' if examples else ''}, words of several parts with blanks",
        "lexicon": "wordnet-3.0",
        "lexicon_sha256": Lexicon.open("wordnet-3.0").identity,
        "senseprobe": version,
        "limits": LIMITS,
    }
    matrix = np.array([vectors[Unit(text)] for text in texts.values()], dtype="<f4")
    joined = np.frombuffer("\n".join(texts).encode(), np.uint8)
    # One entry: the library writes several in any order.
    data = save({VECTORS: matrix, KEYS: joined}, {"senseprobe": json.dumps(metadata, sort_keys=True)})
    write_whole(out, data)
    return BuiltSenses(out, len(texts), len(units), matrix.shape[1], metadata, without)
