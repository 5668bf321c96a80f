"""What texts hold: the Bias Score of sentences, mentions of groups in corpora, and associations of words (WAT)."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from senseprobe import project
from senseprobe.api.author import word_lists
from senseprobe.api.models import open_vectors, source_of, vectors_of, warn, with_old_keywords
from senseprobe.api.pages import write_page, write_text
from senseprobe.api.releases import load
from senseprobe.atomic_files import whole_file
from senseprobe.errors import ResultError, SenseprobeError
from senseprobe.evaluate.texts.word_columns import read_gendered, read_groups, read_pairs
from senseprobe.messages import listed, offered, printable
from senseprobe.options import Argument, Option
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.api.sources import Vectors
    from senseprobe.evaluate.models import ModelSource
    from senseprobe.evaluate.models.vector_files import VectorFile
    from senseprobe.evaluate.texts.bias_score import SentenceScore, SentenceScorer
    from senseprobe.evaluate.texts.bias_score_comparison import Prediction
    from senseprobe.evaluate.texts.bias_score_summary import BiasScores, ScoreSummary
    from senseprobe.evaluate.texts.corpus_summary import CorpusSummary
    from senseprobe.evaluate.texts.text_files import Document
    from senseprobe.evaluate.texts.word_association import WatResult
    from senseprobe.evaluate.texts.word_importance import WordImportance
    from senseprobe.release.release import Release

SENTENCES = ("stereo", "anti", "unrelated", "premise", "hypothesis", "sentence")
"""Columns of releases that have sentences."""

OUTPUTS = (".html", ".md", ".csv", ".json")
"""What `study corpus` writes: pages, a table, and all of it."""


def _of_words(given: str | Path | Vectors, **options: Any) -> Vectors:  # noqa: ANN401
    return vectors_of(given, "vectors:", **options)


@with_old_keywords(vectors=(_of_words, ("header", "skip_bad")))
@with_progress("scoring sentences")
def bias_score(
    sources: Annotated[
        str | Path | Sequence[str | Path],
        Argument(
            type=list[str],
            metavar="FILE|RELEASE",
            help="Texts with one sentence per line, tables, hf://datasets/…, or a release.",
        ),
    ],
    vectors: Annotated[
        str | Path | Vectors,
        Option(type=str, metavar="FILE", help="Read word vectors from this file; glove works after a fetch."),
    ],
    *,
    encoder: Annotated[
        str | None,
        Option(
            metavar="MODEL",
            help="Weight words by infersent:FILE, or by a transformer (bias-score-proxy). Default: equally.",
        ),
    ] = None,
    pairs: Annotated[
        str | Path | None,
        Option(metavar="FILE.csv", help="Span another axis by these word pairs; the first column is the positive end."),
    ] = None,
    gendered: Annotated[
        str | Path | None, Option(metavar="FILE.csv", help="Count the words in the column `word` of this file as 0.")
    ] = None,
    keep_boundary: Annotated[
        bool,
        Option("--keep-boundary/--drop-boundary", help="Keep, or drop, the weight of the encoder's boundary tokens."),
    ] = True,
    words: Annotated[bool, Option("--words", help="Treat each line as one word; its score is its cosine.")] = False,
    column: Annotated[
        str | None, Option(metavar="NAME", help="Read the sentences from this column of a table.")
    ] = None,
    top: Annotated[int, Option(metavar="N", help="Number of sentences in the ranking.")] = 10,
    out: Annotated[
        str | Path | None,
        Option("--out -o", metavar="FILE.parquet", help="Write all scores, and a JSON file next to them."),
    ] = None,
    page: Annotated[str | Path | None, Option("--report", metavar="FILE", help="Write a page, .html or .md.")] = None,
    beside: Annotated[
        str | Path | None,
        Option(metavar="RESULT.json", help="Test whether the score predicts the preferences in this result."),
    ] = None,
    say: Callable[[str], None] = warn,
    progress: Callable[[int], None] | None = None,
) -> BiasScores:
    """Measure how far sentences lean towards one end of a gender axis of word vectors (the Bias Score).

    Azzalini et al. (2022). A transformer's score is called ``bias-score-proxy``; without an encoder it is
    ``bias-score-uniform``. Without `pairs` the axis is that of Bolukbasi et al.'s ten, female positive, and without
    `gendered` Zhao et al.'s (2018) 409 words count 0, or those of the pairs that are named alone. `say` hears what is
    odd about the vectors. Raise SenseprobeError where texts, vectors, an encoder or a list cannot be used.
    """
    from senseprobe.evaluate.models.vector_files import VectorFile
    from senseprobe.evaluate.texts.bias_score import SentenceScorer, find_axis
    from senseprobe.evaluate.texts.bias_score_summary import BiasScores, ScoreSummary

    names = [str(source) for source in ([sources] if isinstance(sources, str | Path) else sources)]
    release = _release_of(names, needed=beside is not None)
    if out is not None and Path(out).suffix != ".parquet":
        raise SenseprobeError(
            f"{out}: scores are written as Parquet, with a .json file next to it: use a name that ends in .parquet"
        )
    if top < 1:
        raise SenseprobeError(f"--top {top}: expected 1 or more")
    source = _of_words(vectors)
    file = VectorFile.load(source.name, source.encoding)
    for remark in file.remarks:
        say(f"{file.name}: {remark}")
    ends, words_of_pairs = read_pairs(pairs)
    axis = find_axis(file, words_of_pairs, ends)
    importance = _importance(None if words else encoder, file, keep_boundary=keep_boundary)
    scorer = SentenceScorer(file, axis, read_gendered(gendered, default=pairs is None), importance, whole=words)
    summary = ScoreSummary(axis, importance.measure, scorer.signature, top)
    documents = _documents(release, names, column, progress)
    by_text: dict[str, SentenceScore] | None = None if beside is None else {}
    _score(scorer, documents, summary, None if out is None else Path(out), by_text)
    if not summary.sentences:
        raise SenseprobeError(f"{', '.join(names)}: no sentences found: name texts with one sentence per line")
    predictions = tuple(_predict(release, beside, by_text)) if release and by_text is not None and beside else ()
    record = None if out is None else Path(out).with_suffix(".json")
    files = (out, record, page)
    scores = BiasScores(summary, predictions, tuple(Path(path) for path in files if path))
    if record:
        write_text(record, _as_json(scores.as_dict()))
    if page:
        write_page(Path(page), scores.page(names))
    return scores


def _release_of(names: Sequence[str], *, needed: bool) -> Release | None:
    """Return the release that is the only source, None where sources are texts."""
    from senseprobe.release.manifest import NAME

    files = {name for name in names if Path(name).exists() and not (Path(name) / NAME).is_file()}
    texts = [name for name in names if name in files or name.startswith("hf://datasets/")]
    if len(texts) == len(names) and not needed:
        return None
    if texts or len(names) != 1:
        others = [name for name in names if name not in texts]
        why = "with a result, name only its release" if needed else "name either texts or one release"
        raise SenseprobeError(
            f"{', '.join(others or texts)}: this text does not exist, or it is a release among other names: {why}"
        )
    return load(names[0])


def _documents(
    release: Release | None, names: Sequence[str], column: str | None, progress: Callable[[int], None] | None
) -> Iterator[Document]:
    """Yield the lines of texts, or each distinct sentence of a release once."""
    from senseprobe.evaluate.texts.text_files import Document, read_lines

    if release is None:
        yield from read_lines(names, column, progress)
        return
    seen: set[str] = set()
    for config in release.configs:
        for batch in release.batches(config):
            columns = [name for name in SENTENCES if name in batch.schema.names]
            for row in batch.select(["id", *columns]).to_pylist():
                for name in columns:
                    text = row[name]
                    if text and text not in seen:
                        seen.add(text)
                        yield Document(text=text, name=f"{row['id']}/{name}")


def _importance(encoder: str | None, file: VectorFile, *, keep_boundary: bool) -> WordImportance:
    from senseprobe.evaluate.models import ModelSource, load
    from senseprobe.evaluate.texts import infersent, word_importance

    if encoder is None:
        return word_importance.UniformImportance()
    if encoder.startswith(infersent.PREFIX):
        return word_importance.InferSentImportance(infersent.load(encoder), file, keep_boundary=keep_boundary)
    if encoder.startswith("vectors:"):
        raise SenseprobeError(f"{encoder} is a file of vectors, which cannot weight words: leave out --encoder")
    model: Any = load(ModelSource(encoder).spec, ability="vectors")
    return word_importance.ProxyImportance(model, keep_boundary=keep_boundary)


def _score(
    scorer: SentenceScorer,
    documents: Iterator[Document],
    summary: ScoreSummary,
    out: Path | None,
    by_text: dict[str, SentenceScore] | None,
) -> None:
    """Score documents into a summary, a Parquet file, and scores by text, where these are wanted."""
    import pyarrow.parquet as pq

    from senseprobe.evaluate.texts.bias_score_summary import score_schema, tabulate_scores

    def score_batches() -> Iterator[list[SentenceScore]]:
        for scores in scorer.score(documents):
            summary.add(scores)
            if by_text is not None:
                by_text.update((score.text, score) for score in scores)
            yield scores

    if out is None:
        for _ in score_batches():
            pass
        return
    schema = score_schema(summary.measure, summary.axis).with_metadata({"signature": summary.signature})
    try:
        with whole_file(out) as partial, pq.ParquetWriter(partial, schema, compression="zstd") as writer:
            for scores in score_batches():
                writer.write_batch(tabulate_scores(scores, schema))
    except OSError as error:
        raise ResultError(f"cannot write {out}: {error.strerror or error}") from error


def _predict(release: Release, path: str | Path, by_text: dict[str, SentenceScore]) -> Iterator[Prediction]:
    from senseprobe.api.results import load_result
    from senseprobe.evaluate.texts.bias_score_comparison import SIDES, predict_preferences

    result = load_result(path)
    if result.rows is None or not {"stereo_score", "anti_score"} <= {*result.rows.columns}:
        raise ResultError(
            f"{path} has no scores of sentence pairs next to it: keep its .parquet file in the same folder"
        )
    if result.release["name"] != release.manifest.name:
        raise ResultError(
            f"{path} is a result on {result.release['name']}, but the sentences are from {release.manifest.name}"
        )
    configs = {*result.rows["config"]} & {
        name for name, design in release.designs.items() if {*SIDES} <= {*design.roles}
    }
    if not configs:
        raise ResultError(f"{path} has no scores of sentence pairs")
    for config in (name for name in release.configs if name in configs):
        scores = result.rows[result.rows["config"] == config]
        rows = release.table(config, spans=False)
        yield from predict_preferences(config, release.design(config), rows, scores, by_text)


@with_progress("counting {sources}")
def corpus(
    sources: Annotated[
        str | Path | Sequence[str | Path],
        Argument(
            type=list[str],
            metavar="FILE…",
            help="Texts, .jsonl, .csv or .parquet, also as .gz or .zst, folders, or hf://datasets/….",
        ),
    ],
    *,
    groups: Annotated[
        str | Path,
        Option(type=str, metavar="LIST|FILE.csv", help="Count mentions by this list: columns word and group."),
    ] = "pronouns",
    words: Annotated[
        str | Path,
        Option(
            "--with", type=str, metavar="LIST|FILE.csv", help="Count these stereotyped words: columns word and gender."
        ),
    ] = "occupations",
    column: Annotated[str | None, Option(metavar="NAME", help="Read the text from this column of a table.")] = None,
    splitter: Annotated[
        str, Option(metavar="rule|nltk", help="Split sentences by rule or by NLTK, which reads 2 MB/s.")
    ] = "rule",
    plurals: Annotated[bool, Option(help="Also count plurals of the stereotyped words.")] = True,
    workers: Annotated[int, Option(metavar="N", help="Number of processes.")] = 1,
    out: Annotated[
        Sequence[str | Path],
        Option("--out -o", metavar="FILE", help="Write a page (.html, .md), .csv or .json; may be repeated."),
    ] = (),
    resume: Annotated[bool, Option(help="Continue a run that was interrupted.")] = True,
    progress: Callable[[int, int], None] | None = None,
) -> CorpusSummary:
    """Count the sentences that mention a group, and the stereotyped words in them (Tan and Celis 2019).

    With `workers` above 1 a script must be guarded by ``if __name__ == "__main__"``. Raises SenseprobeError where
    something cannot be read or written.
    """
    from senseprobe.evaluate.texts.corpus_counts import SPLITTERS, Terms, count_documents
    from senseprobe.evaluate.texts.corpus_summary import CorpusSummary
    from senseprobe.evaluate.texts.text_files import find_files, read_documents
    from senseprobe.generator.english.inflection import plural_of

    names = tuple(map(str, [sources] if isinstance(sources, str | Path) else sources))
    if not names or workers < 1:
        raise SenseprobeError("name a text to read" if workers >= 1 else "--workers must be 1 or more")
    if splitter not in SPLITTERS:
        raise SenseprobeError(f"unknown splitter {splitter!r}: {offered(splitter, SPLITTERS)}")
    files = [*map(Path, out)]
    if odd := [path for path in files if path.suffix not in OUTPUTS]:
        raise SenseprobeError(
            f"{printable(str(odd[0]))}: unknown kind of output: use a name that ends in {listed(OUTPUTS)}"
        )
    (group_rows, groups_name), (word_rows, words_name) = read_groups(groups), read_groups(words)
    maker = f"inflect-{installed_version('inflect')}" if plurals else "none"
    terms = Terms.make(group_rows, word_rows, plural_of if plurals else None, maker)
    version = installed_version("senseprobe")
    stats = [(str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in find_files(names)]
    key = sha256(json.dumps([names, stats, groups_name, words_name, column, splitter, maker, version]).encode())
    state = project.cache_folder("corpus") / f"{key.hexdigest()}.json" if resume else None
    size, done = sum(size for _, size, _ in stats), 0

    def advance(amount: int) -> None:
        nonlocal done
        done += amount
        if progress and size:
            progress(min(done, size), size)

    tally = count_documents(read_documents(names, column, advance), terms, workers, splitter, state)
    if not tally.counts.documents:
        raise SenseprobeError(f"{listed(map(printable, names))}: no text found there")
    summary = CorpusSummary(tally, terms, names, (groups_name, words_name), splitter, version)
    for path in files:
        _write_corpus(summary, path)
    if state:
        state.unlink(missing_ok=True)
    return summary


def _write_corpus(summary: CorpusSummary, path: Path) -> None:
    if path.suffix == ".csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(summary.table())
        write_text(path, text.getvalue())
    elif path.suffix == ".json":
        write_text(path, _as_json(summary.as_dict()))
    else:
        write_page(path, summary.page())


def _as_json(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, indent=2) + "\n"


def _of_models(given: Sequence[str | ModelSource], **options: Any) -> list[ModelSource]:  # noqa: ANN401
    return [source_of(model, **options) for model in given]


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
    from senseprobe.evaluate.texts.word_association import LEVELS, correlate_scores, score_graph, score_lexicon

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
            for model in [open_vectors(source, say) for source in _of_models(vectors)]
            for level in levels or [level for level in LEVELS if level in model.levels]
        )
        result = replace(result, correlations=tuple(correlations))
    if target:
        record = json.dumps(result.as_dict(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        write_text(target, result.lexicon if target.suffix == ".tsv" else record)
    return result


def _word_classes() -> Callable[[str], str]:
    """Return what tells pronouns and names, which are written with a capital letter, as `association` calls them."""
    pronouns = {
        str(form).lower()
        for word in word_lists("pronouns")[0].words
        for name, form in word.columns.items()
        if name != "gender" and form
    }
    return lambda word: "pronoun-subject" if word.lower() in pronouns else "name" if word != word.lower() else ""
