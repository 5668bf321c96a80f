"""Commands on word senses: senses build, senses show, senses report, and wat."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senseprobe.cli.console import (
    AsJson,
    Header,
    SkipBad,
    complain,
    print_json,
    print_line,
    print_note,
    print_summary,
    read_header,
)
from senseprobe.messages import counted, listed

Release = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RELEASE",
        help="Where a release is, by name or path, to read words, frames and sentences; may be repeated. Default: the "
        "release of the name that the result has.",
    ),
]

if TYPE_CHECKING:
    from senseprobe.evaluate.word_association import WatGraph, WatResult

senses = typer.Typer(help="Make, look at and report embeddings of word senses.", no_args_is_help=True)


@senses.command("build")
def build(
    encoder: Annotated[str, typer.Option(metavar="MODEL", help="A folder, what was fetched, or a name on the Hub.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="A new file, .safetensors.")],
    words: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RELEASE|FILE",
            help="Only senses of the words of a release, or of a file with one a line, and of their synonyms; may be "
            "repeated.",
        ),
    ] = None,
    examples: Annotated[bool, typer.Option(help="Append the examples that WordNet quotes to each gloss.")] = False,
    pooling: Annotated[
        str | None, typer.Option(metavar="NAME", help="cls, mean, max or last. Default: the encoder's own.")
    ] = None,
) -> None:
    """Make an embedding of WordNet's senses of their glosses, by any encoder: a fixture and a demonstration."""
    from senseprobe import api

    with api.progress_bar("encoding glosses") as step:
        built = api.build_senses(
            encoder, out, words=words or (), examples=examples, pooling=pooling, say=complain, progress=step
        )
    if built.without:
        print_note(f"not in WordNet: {listed(built.without)}")
    print_line(f"{built.file}: {built.senses:,} senses, {built.texts:,} texts, {built.dimensions} dimensions")
    print_line(built.metadata["limits"])


@senses.command()
def show(
    word: Annotated[str, typer.Argument(metavar="WORD")],
    file: Annotated[
        Path | None, typer.Option("--senses", metavar="FILE", help="Embedding in which to look the senses up.")
    ] = None,
    nearest: Annotated[int, typer.Option("--nearest", "-n", help="How many nearest senses, 0 to 100.")] = 5,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="PAGE.html", help="Write a page, too.")] = None,
    folder: Annotated[Path | None, typer.Option(help="NLTK data folder.", show_default="senseprobe's own")] = None,
    header: Header = None,
    skip_bad: SkipBad = False,
    as_json: AsJson = False,
) -> None:
    """Show the senses of a word: keys, definitions, and where an embedding puts them."""
    from senseprobe.api.senses import show_senses

    shown = show_senses(
        word,
        file,
        out,
        nearest=nearest,
        folder=folder,
        header=read_header(header),
        skip_bad=skip_bad,
        say=complain,
    )
    if as_json:
        print_json(shown.as_dict())
        return
    for line in shown.lines():
        print_line(line)
    if out is not None:
        print_line(f"page in {out.resolve()}")


@senses.command("report")
def report_results(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT.json", help="Results on vectors of senses and words; those of models to hold beside them."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")] = Path("senses.html"),
    wat: Annotated[list[Path] | None, typer.Option(metavar="WAT.json", help="What `wat --json` printed.")] = None,
    release: Release = None,
) -> None:
    """Write one page of what embeddings of senses hold, beside models of text on the same rows."""
    from senseprobe.api.senses import report_senses

    print_line(f"report in {report_senses(results, out, wat=wat or (), release=release).resolve()}")


def wat(
    graph: Annotated[Path | None, typer.Argument(metavar="GRAPH", help="Associations: cues and responses.")] = None,
    lexicon: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Take the scores of a lexicon (word, tab, score) instead.")
    ] = None,
    vectors: Annotated[
        list[str] | None, typer.Option(metavar="MODEL", help="vectors:FILE or senses:FILE; may be repeated.")
    ] = None,
    level: Annotated[
        list[str] | None, typer.Option(metavar="LEVEL", help="word or sense; may be repeated. Default: both.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="How far masses spread, between 0 and 1.")] = 0.99,
    directed: Annotated[bool, typer.Option(help="Walk from cues to responses only.")] = False,
    pairs: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Pairs to start from, headed by the names of the two ends.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the scores (.tsv) or the record (.json).")
    ] = None,
    header: Header = None,
    skip_bad: SkipBad = False,
    as_json: AsJson = False,
) -> None:
    """Score the gender of words in people's associations, and correlate it with that in vectors."""
    from senseprobe import api

    result = api.word_association(
        graph,
        lexicon=lexicon,
        vectors=vectors or (),
        levels=level or (),
        alpha=alpha,
        directed=directed,
        pairs=pairs,
        out=out,
        header=read_header(header),
        skip_bad=skip_bad,
        say=complain,
    )
    print_json(result.as_dict()) if as_json else print_summary(_wat_lines(result))


def _wat_lines(result: "WatResult") -> "Iterator[tuple[dict[str, str], Sequence[Sequence[object]], str] | str]":
    first, second = result.ends
    words, score = counted(len(result.scores), "word"), f"log(b_{first[0]} / b_{second[0]})"
    yield f"{result.source}: {words} with a score, {score}, positive: {first}"
    if result.graph:
        yield from _graph_lines(result.graph, result.ends)
    if result.absent:
        yield f"seeds that the graph lacks, whose pairs are left out: {listed(result.absent)}"
    male, female = result.rank()
    rows = [(*one, *other) for one, other in zip(_with_signs(male), _with_signs(female), strict=True)]
    yield {f"most {first}": "left", "score": "right", f"most {second}": "left", " score": "right"}, rows, ""
    yield "0 is not neutral: the seeds of one end can have more links, and all scores move with alpha; read their order"
    if result.correlations:
        yield "correlations over words with the scores of vectors (their interval takes words as independent):"
    for r in result.correlations:
        ends = ", no interval" if r.low is None or r.high is None else f" [{r.low:+.3f}, {r.high:+.3f}]"
        value = "none" if r.correlation is None else f"{r.correlation:+.3f}{ends}"
        without = f"{r.missing.count:,} without a vector, or refused ({listed(r.missing.names, r.missing.count)})"
        yield f"{r.model}, {r.level}: {value}, {counted(r.pairs, 'word')}{'; ' + without if r.missing.count else ''}"
        yield f"  pairs: {len(r.seed_pairs)}" + (f"; left out: {'; '.join(r.dropped)}" if r.dropped else "")
    yield result.signature


def _with_signs(ranked: "Sequence[tuple[str, float]]") -> list[tuple[str, str]]:
    return [(word, f"{score:+.3f}") for word, score in ranked]


def _graph_lines(graph: "WatGraph", ends: tuple[str, str]) -> Iterator[str]:
    columns, parts = ", ".join(graph.columns), counted(graph.components, "part")
    yield f"read {columns}: {counted(graph.words, 'word')}, {counted(graph.edges, 'edge')}, {parts} without links"
    yield f"left out: {graph.loops:,} responses that repeat the cue, {graph.no_responses:,} that are none"
    way = "from cues to responses" if graph.directed else "both directions added"
    yield f"alpha {graph.alpha}, {way}, S = D^-1/2 W D^-1/2; residual {graph.residual:.1g}"
    yield f"mass from {ends[0]} seeds {graph.masses[0]:.4g}, from {ends[1]} ones {graph.masses[1]:.4g}"
    for name, words in (
        ("reached from no seed", graph.unreached),
        *((f"reached from {end} seeds only", words) for end, words in zip(ends, graph.lone, strict=True)),
        ("whose mass is too small to be exact", graph.imprecise),
    ):
        if words.count:
            yield f"words without a score, {name}: {words.count:,} ({listed(words.names, words.count)})"
