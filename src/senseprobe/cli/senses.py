"""Commands on word senses: senses build, senses show, senses report, and wat."""

from pathlib import Path
from typing import Annotated

import typer

from senseprobe.cli.console import (
    AsJson,
    Header,
    SkipBad,
    complain,
    print_json,
    print_line,
    print_note,
    print_sections,
    read_header,
)
from senseprobe.messages import listed

Release = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RELEASE",
        help="Where a release is, by name or path, to read words, frames and sentences; may be repeated. Default: the "
        "release of the name that the result has.",
    ),
]

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
    print_sections(shown.sections("brief"))
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
    print_json(result.as_dict()) if as_json else print_sections(result.sections())
