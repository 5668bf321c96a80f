"""Sense embeddings: make one of WordNet's glosses, show the senses of a word, and report what was scored on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version as installed_version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from senseprobe.api.author import prepare_wordnet, word_lists
from senseprobe.api.models import source_of, vectors_of, warn, with_old_keywords
from senseprobe.api.pages import refuse_results, write_page, write_text
from senseprobe.api.releases import load
from senseprobe.api.results import gather_sources, list_sources
from senseprobe.api.texts import read_pairs
from senseprobe.errors import SenseprobeError
from senseprobe.options import RELEASES_OF_RESULTS, Argument, Option
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.api.results import ReleaseNames, ResultSource
    from senseprobe.api.sources import Vectors
    from senseprobe.evaluate.models import ModelSource
    from senseprobe.evaluate.models.encodings import VectorModel
    from senseprobe.evaluate.models.gloss_vectors import BuiltSenses
    from senseprobe.evaluate.reporting.word_senses import WordSenses
    from senseprobe.evaluate.word_association import WatResult

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
    from senseprobe.evaluate.models.gloss_vectors import build_senses
    from senseprobe.evaluate.scorers.senses import read_gender_pairs

    gendered = chain.from_iterable(read_gender_pairs("word").values())
    chosen = [*gendered, *(word for source in words for word in _words_of(source))] if words else None
    model = _load_vectors(source_of(encoder, pooling=pooling, device=device, dtype="float64"), say)
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
    found: dict[str, None] = {}
    for name in opened.designs:
        table = opened.table(name, spans=False)
        for column in _WORDS:
            if column in table:
                found.update(dict.fromkeys(map(str, table[column].dropna().unique())))
    return [*found]


def _of_senses(given: str | Path | Vectors | None, **options: Any) -> Vectors | None:  # noqa: ANN401
    return None if given is None else vectors_of(given, "senses:", **options)


@with_old_keywords(senses=(_of_senses, ("header", "skip_bad")))
@with_progress("reading senses")
def show_senses(
    word: Annotated[str, Argument(metavar="WORD")],
    senses: Annotated[
        str | Path | Vectors | None,
        Option(type=Path, metavar="FILE", help="Also look the senses up in this embedding."),
    ] = None,
    out: Annotated[str | Path | None, Option("--out -o", metavar="PAGE.html", help="Also write a page.")] = None,
    *,
    nearest: Annotated[int, Option("--nearest -n", help="Number of nearest senses, 0 to 100.")] = 5,
    folder: Annotated[
        str | Path | None, Option(help="Read WordNet from this NLTK data folder.", shown_default="senseprobe's own")
    ] = None,
    say: Callable[[str], None] = warn,
) -> WordSenses:
    """Show the senses of a word in WordNet: keys, definitions, and their place in an embedding.

    They are in the order of WordNet 3.0, which is prepared in `folder` first, where it is not there; of a word that may
    be a form of others they are those of these. The embedding gives each sense its cosine with the direction of gender
    (pairs of the list `gender_senses`), and the nearest other senses. `say` hears what is odd about its file. Raises
    LexiconError where WordNet cannot be prepared or does not have the word, ModelError for a file that is not one of
    senses, and SenseprobeError where it has none of these.
    """
    from senseprobe.evaluate.reporting.word_senses import PlacedSense, WordSenses, place_senses, read_blocks
    from senseprobe.lexicon import look_up

    if out is not None:
        refuse_results(Path(out), [])
    entries = look_up(word, prepare_wordnet(folder).folder)
    shown = WordSenses(word=word, senses=tuple(map(PlacedSense, entries)))
    if source := _of_senses(senses):
        from senseprobe.evaluate.models.sense_vectors import SenseFile
        from senseprobe.evaluate.scorers.senses import read_gender_pairs

        model = SenseFile.load(source.name, source.encoding)
        for remark in model.remarks:
            say(f"{model.name}: {remark}")
        pairs = [*read_gender_pairs("sense_noun").values()]
        shown = place_senses(shown, model, read_blocks(model.table), pairs, nearest)
    if out is not None:
        write_page(Path(out), shown.page())
    return shown


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
    from senseprobe.evaluate.reporting.sense_comparison import read_wat
    from senseprobe.evaluate.reporting.sense_page import build_sense_page

    path, sources = Path(out), list_sources(results)
    refuse_results(path, sources)
    records = [record for file in wat for record in read_wat(Path(file))]
    write_page(path, build_sense_page(gather_sources(sources, release), records))
    return path


def _of_models(given: Sequence[str | ModelSource], **options: Any) -> list[ModelSource]:  # noqa: ANN401
    return [source_of(each, **options) for each in given]


@with_old_keywords(vectors=(_of_models, ("header", "skip_bad")))
def word_association(
    graph: Annotated[
        str | Path | None, Argument(metavar="GRAPH", help="A table of associations: cues and responses.")
    ] = None,
    *,
    lexicon: Annotated[
        str | Path | None,
        Option(metavar="FILE", help="Read scores from a lexicon (word, tab, score) instead of a graph."),
    ] = None,
    vectors: Annotated[
        Sequence[str | ModelSource],
        Option(type=list[str], metavar="MODEL", help="Correlate with vectors:FILE or senses:FILE; may be repeated."),
    ] = (),
    levels: Annotated[
        Sequence[str],
        Option("--level", metavar="LEVEL", help="Correlate by word or by sense; may be repeated. Default: both."),
    ] = (),
    alpha: Annotated[float, Option(help="Spread of the random walk, between 0 and 1.")] = 0.99,
    directed: Annotated[bool, Option(help="Walk only from cues to responses.")] = False,
    pairs: Annotated[
        str | Path | None,
        Option(metavar="FILE.csv", help="Start from these pairs; the header names the two ends."),
    ] = None,
    out: Annotated[
        str | Path | None,
        Option("--out -o", metavar="FILE", help="Write the scores (.tsv) or a record (.json)."),
    ] = None,
    say: Callable[[str], None] = warn,
) -> WatResult:
    """Measure gender bias in free word associations (WAT), and correlate it with vectors.

    `say` hears what is odd about these. The positive words of `pairs` stand first (default: those of `bias_score`, male
    first). Raises SenseprobeError where files cannot be used or one is not given, and ModelError.
    """
    from senseprobe.evaluate.word_association import LEVELS, correlate_scores, score_graph, score_lexicon

    if (graph is None) == (lexicon is None):
        raise SenseprobeError("give either a graph of word associations or a lexicon of scores, not both")
    if odd := [level for level in levels if level not in LEVELS]:
        raise SenseprobeError(f"unknown level {odd[0]}: expected {' or '.join(LEVELS)}")
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
        classes = _word_classes()
        correlations = (
            correlate_scores(result, model, level, seeds, classes)
            for model in [_load_vectors(source, say) for source in _of_models(vectors)]
            for level in levels or [level for level in LEVELS if level in model.levels]
        )
        result = replace(result, correlations=tuple(correlations))
    if target:
        record = json.dumps(result.as_dict(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        write_text(target, result.lexicon if target.suffix == ".tsv" else record)
    return result


def _load_vectors(source: ModelSource, say: Callable[[str], None]) -> VectorModel:
    """Return the vectors of a source; `say` hears what is odd about them."""
    from senseprobe.evaluate.scoring import open_model

    if source.reads_wordnet:
        prepare_wordnet()
    model = cast("VectorModel", open_model(source, "vectors"))
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
