"""Sense embeddings: make one of WordNet's glosses, show the senses of a word, and report what was scored on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version as installed_version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from senseprobe.api.author import prepare_wordnet, word_lists
from senseprobe.api.pages import refuse_results, write_page, write_text
from senseprobe.api.releases import load
from senseprobe.api.results import gather_sources, list_sources
from senseprobe.api.scoring import warn
from senseprobe.api.texts import read_pairs
from senseprobe.errors import SenseprobeError
from senseprobe.progress import with_progress
from senseprobe.tables import UnreadableError, read_lines

if TYPE_CHECKING:
    from senseprobe.api.results import ReleaseNames, ResultSource
    from senseprobe.evaluate.models.encodings import EncodingOptions, VectorModel
    from senseprobe.evaluate.models.gloss_vectors import BuiltSenses
    from senseprobe.evaluate.reporting.word_senses import WordSenses
    from senseprobe.evaluate.word_association import WatResult

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
    from senseprobe.evaluate.models.encodings import EncodingOptions
    from senseprobe.evaluate.models.gloss_vectors import build_senses
    from senseprobe.evaluate.scorers.senses import read_gender_pairs

    gendered = chain.from_iterable(read_gender_pairs("word").values())
    chosen = [*gendered, *(word for source in words for word in _words_of(source))] if words else None
    model = _load_vectors(str(encoder), say, EncodingOptions(pooling=pooling), device=device, dtype="float64")
    version = installed_version("senseprobe")
    return build_senses(model, Path(out), chosen, examples=examples, version=version, warn=say, progress=progress)


def _words_of(source: str | Path) -> list[str]:
    """Return the words of a file, one in each line, or of the rows of a release."""
    path = Path(source)
    if path.is_file():
        try:
            return [line.strip() for line in read_lines(path) if line.strip()]
        except UnreadableError as error:
            raise SenseprobeError(error.at(path)) from None
    opened = load(source)
    found: dict[str, None] = {}
    for name in opened.designs:
        table = opened.table(name, spans=False)
        for column in _WORDS:
            if column in table:
                found.update(dict.fromkeys(map(str, table[column].dropna().unique())))
    return [*found]


@with_progress("reading senses")
def show_senses(
    word: str,
    senses: str | Path | None = None,
    out: str | Path | None = None,
    *,
    nearest: int = 5,
    folder: str | Path | None = None,
    header: bool | None = None,
    skip_bad: bool = False,
    say: Callable[[str], None] = warn,
) -> WordSenses:
    """Return the senses of a word, or of the words that it may be a form of, in the order of WordNet 3.0.

    With `senses`, a file of sense embeddings, each sense also has its cosine with the direction of gender (pairs of the
    list `gender_senses`), and the `nearest` (0 to 100) other senses of the file. With `out` a page is written, too.
    `header` and `skip_bad` are as of `vectors`; `say` hears what is odd about the file.
    WordNet is prepared in `folder` first, where it is not there. Raises LexiconError where that fails or WordNet does
    not have the word, ModelError for a file that is not one of senses, and SenseprobeError where it has none of these.
    """
    from senseprobe.evaluate.reporting.word_senses import PlacedSense, WordSenses, place_senses, read_blocks
    from senseprobe.lexicon import look_up

    if out is not None:
        refuse_results(Path(out), [])
    entries = look_up(word, prepare_wordnet(folder).folder)
    shown = WordSenses(word=word, senses=tuple(map(PlacedSense, entries)))
    if senses is not None:
        from senseprobe.evaluate.models.encodings import EncodingOptions
        from senseprobe.evaluate.models.sense_vectors import PREFIX, SenseFile
        from senseprobe.evaluate.scorers.senses import read_gender_pairs

        reading = EncodingOptions(header=header, skip_bad=skip_bad)
        model = SenseFile.load(f"{PREFIX}{str(senses).removeprefix(PREFIX)}", reading)
        for remark in model.remarks:
            say(f"{model.name}: {remark}")
        pairs = [*read_gender_pairs("sense_noun").values()]
        shown = place_senses(shown, model, read_blocks(model.table), pairs, nearest)
    if out is not None:
        write_page(Path(out), shown.page())
    return shown


@with_progress("reporting")
def report_senses(
    results: ResultSource | Sequence[ResultSource],
    out: str | Path = "senses.html",
    *,
    wat: Sequence[str | Path] = (),
    release: ReleaseNames = None,
) -> Path:
    """Write one page of what was scored on embeddings of senses, beside models of text, and return its path.

    `results` are of association tests and of contrasts on vectors, and, to compare with, of contrasts on models of text
    on the same rows; `wat` are files of ``senseprobe wat --json``. `release` is as of `report`. Raises ResultError
    where a file is not a result, where none is on vectors of words or senses, or the page cannot be written.
    """
    from senseprobe.evaluate.reporting.sense_comparison import read_wat
    from senseprobe.evaluate.reporting.sense_page import build_sense_page

    path, sources = Path(out), list_sources(results)
    refuse_results(path, sources)
    records = [record for file in wat for record in read_wat(Path(file))]
    write_page(path, build_sense_page(gather_sources(sources, release), records))
    return path


def word_association(
    graph: str | Path | None = None,
    *,
    lexicon: str | Path | None = None,
    vectors: Sequence[str] = (),
    levels: Sequence[str] = (),
    alpha: float = 0.99,
    directed: bool = False,
    pairs: str | Path | None = None,
    out: str | Path | None = None,
    header: bool | None = None,
    skip_bad: bool = False,
    say: Callable[[str], None] = warn,
) -> WatResult:
    """Score the gender of words in a graph of associations, or take a `lexicon` of scores; correlate it with vectors.

    `vectors` are models, ``vectors:FILE`` or ``senses:FILE``, and `levels` ``word`` or ``sense`` (default: what each
    model has), read with `header` and `skip_bad` as `vectors` reads them; `say` hears what is odd. `alpha`, in (0, 1),
    is how far masses spread, and `directed` keeps cues and responses apart. `pairs` is as in `bias_score`, the positive
    words first (default: its pairs, male first). `out` writes scores as .tsv, and the record as .json. Raises
    SenseprobeError where files cannot be used or one is not given, and ModelError.
    """
    from senseprobe.evaluate.models.encodings import EncodingOptions
    from senseprobe.evaluate.word_association import LEVELS, correlate_scores, score_graph, score_lexicon

    if (graph is None) == (lexicon is None):
        raise SenseprobeError("give a graph of word associations, or a lexicon of scores, and not both")
    if odd := [level for level in levels if level not in LEVELS]:
        raise SenseprobeError(f"there is no level {odd[0]}: take {' or '.join(LEVELS)}")
    target = None if out is None else Path(out)
    if target and target.suffix not in (".tsv", ".json"):
        raise SenseprobeError(f"{target}: give a name that ends in .tsv for the scores, or in .json for the record")
    ends, seeds = read_pairs(pairs)
    if pairs is None:  # positive is male here, as in the papers
        ends, seeds = (ends[1], ends[0]), [(male, female) for female, male in seeds]
    version = installed_version("senseprobe")
    if graph is not None:
        result = score_graph(Path(graph), seeds, ends=ends, alpha=alpha, directed=directed, version=version)
    else:
        result = score_lexicon(Path(str(lexicon)), seeds, ends=ends, version=version)
    if vectors:
        reading = EncodingOptions(header=header, skip_bad=skip_bad)
        classes = _word_classes()
        correlations = (
            correlate_scores(result, model, level, seeds, classes)
            for model in [_load_vectors(spec, say, reading) for spec in vectors]
            for level in levels or [level for level in LEVELS if level in model.levels]
        )
        result = replace(result, correlations=tuple(correlations))
    if target:
        record = json.dumps(result.as_dict(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        write_text(target, result.lexicon if target.suffix == ".tsv" else record)
    return result


def _load_vectors(
    spec: str,
    say: Callable[[str], None],
    encoding: EncodingOptions,
    **options: Any,  # noqa: ANN401
) -> VectorModel:
    from senseprobe.evaluate.models import ModelSource
    from senseprobe.evaluate.models import load as load_model

    source = ModelSource(spec)
    if source.reads_wordnet:
        prepare_wordnet()
    model = cast("VectorModel", load_model(source.spec, ability="vectors", encoding=encoding, **options))
    model.name = source.name
    for remark in getattr(model, "remarks", ()):
        say(f"{model.name}: {remark}")
    return model


def _word_classes() -> Callable[[str], str]:
    """Return what tells pronouns and names, which are written with a capital letter, as `association` calls them."""
    pronouns = {
        str(form).lower()
        for word in word_lists("pronouns")[0].words
        for name, form in word.columns.items()
        if name != "gender" and form
    }
    return lambda word: "pronoun-subject" if word.lower() in pronouns else "name" if word != word.lower() else ""
