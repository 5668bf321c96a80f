"""Sense embeddings: make one of WordNet's glosses, show the senses of a word, and report what was scored on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING

from senseprobe.api.author import prepare_wordnet, word_lists
from senseprobe.api.releases import load
from senseprobe.api.scoring import warn
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.evaluate.models.gloss_vectors import BuiltSenses

_WORDS = ("word", "target", "stereo_value", "anti_value", "sense_key", "stereo_value_key", "anti_value_key")
"""The columns of rows that have the words of tests and pairs, or their sense keys."""


@with_progress("encoding glosses")
def build_senses(
    encoder: str | Path,
    out: str | Path,
    *,
    words: Sequence[str | Path] = (),
    examples: bool = False,
    pooling: str | None = None,
    device: str = "auto",
    say: Callable[[str], None] = warn,
    progress: Callable[[int, int], None] | None = None,
) -> BuiltSenses:
    """Make an embedding of WordNet's 206,949 senses of their glosses by any encoder, and write it to `out`.

    `words` are releases, or files with a word or a sense key in each line: then only the senses of these words, of
    those of the gender pairs, and of their synonyms are made: all members of the synsets that have one of the words.
    `examples` appends what WordNet quotes; `pooling` is as in `score`. A run that was interrupted goes on. Numbers are
    computed in float64 and rounded, so that bytes are the same in other folders, batches, threads and processors.
    Raises ModelError where the encoder cannot be used or `out` exists, ReleaseError, and LexiconError without WordNet.
    """
    prepare_wordnet()
    from senseprobe.evaluate.models import ModelSource
    from senseprobe.evaluate.models import load as load_model
    from senseprobe.evaluate.models.encodings import EncodingOptions
    from senseprobe.evaluate.models.gloss_vectors import build_senses

    chosen = [*_gendered_words(), *(word for source in words for word in _words_of(source))] if words else None
    source = ModelSource(str(encoder))
    options = EncodingOptions(pooling=pooling)
    model = load_model(source.spec, ability="vectors", device=device, dtype="float64", encoding=options)
    model.name = source.name
    version = installed_version("senseprobe")
    return build_senses(model, Path(out), chosen, examples=examples, version=version, warn=say, progress=progress)


def _words_of(source: str | Path) -> list[str]:
    """Return the words of a file, one in each line, or of the rows of a release."""
    path = Path(source)
    if path.is_file():
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    opened = load(source)
    found: dict[str, None] = {}
    for name in opened.designs:
        table = opened.table(name, spans=False)
        for column in _WORDS:
            if column in table:
                found.update(dict.fromkeys(map(str, table[column].dropna().unique())))
    return [*found]


def _gendered_words() -> list[str]:
    """Return the words of the pairs that the gender direction is of."""
    return [str(word.columns["word"]) for table in word_lists("gender_senses") for word in table.words]
