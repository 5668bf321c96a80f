"""Sense embeddings: make one of WordNet's glosses, and report what was scored on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version as installed_version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from senseprobe.api.author import prepare_wordnet
from senseprobe.api.models import open_vectors, source_of, warn
from senseprobe.api.pages import refuse_results, write_page
from senseprobe.api.releases import load
from senseprobe.api.results import gather_sources, list_sources
from senseprobe.errors import SenseprobeError
from senseprobe.options import RELEASES_OF_RESULTS, Argument, Option
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.api.results import ReleaseNames, ResultSource
    from senseprobe.evaluate.senses.glosses import BuiltSenses

_WORDS = ("word", "target", "stereo_value", "anti_value", "sense_key", "stereo_value_key", "anti_value_key")
"""The columns of rows that have the words of tests and pairs, or their sense keys."""


@with_progress("encoding glosses")
def build_senses(
    encoder: Annotated[
        str | Path,
        Option(
            type=str, metavar="MODEL", help="Encode with this model: a folder, a fetched model, or a name on the Hub."
        ),
    ],
    out: Annotated[str | Path, Option("--out -o", metavar="FILE", help="Write this new file, .safetensors.")],
    *,
    words: Annotated[
        Sequence[str | Path],
        Option(
            type=list[str],
            metavar="RELEASE|FILE",
            help="Keep only senses of the words of a release, or of a file with one word per line, and of their "
            "synonyms; may be repeated.",
        ),
    ] = (),
    examples: Annotated[bool, Option(help="Append WordNet's example sentences to each gloss.")] = False,
    pooling: Annotated[
        str | None,
        Option(metavar="NAME", help="Pool token vectors by cls, mean, max or last. Default: the encoder's own."),
    ] = None,
    device: str = "auto",
    say: Callable[[str], None] = warn,
    progress: Callable[[int, int], None] | None = None,
) -> BuiltSenses:
    """Embed WordNet's senses by encoding their glosses, as a baseline and for tests.

    Of some words only, it also has the gender pairs, and all members of the synsets that have one of the words. A run
    that was interrupted goes on. Numbers are computed in float64 and rounded, so that bytes are the same in other
    folders, batches, threads and processors. Raises ModelError where the encoder cannot be used or `out` exists,
    ReleaseError, and LexiconError without WordNet.
    """
    prepare_wordnet()
    from senseprobe.evaluate.senses.glosses import build_senses
    from senseprobe.evaluate.senses.scorers import read_gender_pairs

    gendered = chain.from_iterable(read_gender_pairs("word").values())
    chosen = [*gendered, *(word for source in words for word in _words_of(source))] if words else None
    model = open_vectors(source_of(encoder, pooling=pooling, device=device, dtype="float64"), say)
    version = installed_version("senseprobe")
    return build_senses(model, Path(out), chosen, examples=examples, version=version, warn=say, progress=progress)


def _words_of(source: str | Path) -> list[str]:
    """Return the words of a file, one in each line, or of the rows of a release."""
    from senseprobe.tables import UnreadableError, read_lines

    path = Path(source)
    if path.is_file():
        try:
            return [line.strip() for line in read_lines(path) if line.strip()]
        except UnreadableError as error:
            raise SenseprobeError(error.at(path)) from None
    opened = load(source)
    words: dict[str, None] = {}
    for name in opened.designs:
        table = opened.table(name, spans=False)
        for column in _WORDS:
            if column in table:
                words.update(dict.fromkeys(map(str, table[column].dropna().unique())))
    return [*words]


@with_progress("reporting")
def report_senses(
    results: Annotated[
        ResultSource | Sequence[ResultSource],
        Argument(
            type=list[Path],
            metavar="RESULT.json",
            help="Results of sense and word vectors, and of the models to show next to them.",
        ),
    ],
    out: Annotated[str | Path, Option("--out -o", metavar="FILE", help="Write this page.")] = Path("senses.html"),
    *,
    wat: Annotated[
        Sequence[str | Path],
        Option(metavar="WAT.json", help="Add the correlations in a file that `study wat -o WAT.json` wrote."),
    ] = (),
    release: Annotated[ReleaseNames, RELEASES_OF_RESULTS] = None,
) -> Path:
    """Write one page about sense embeddings, next to models of text on the same rows.

    `results` are of association tests and of contrasts. Return the page's path. Raises ResultError
    where a file is not a result, where none is on vectors of words or senses, or the page cannot be written.
    """
    from senseprobe.evaluate.senses.page import build_sense_page
    from senseprobe.evaluate.senses.prediction import read_wat

    path, sources = Path(out), list_sources(results)
    refuse_results(path, sources)
    records = [record for file in wat for record in read_wat(Path(file))]
    write_page(path, build_sense_page(gather_sources(sources, release), records))
    return path
