"""Commands on word senses: senses build, senses show, senses report, and wat."""

from pathlib import Path
from typing import Annotated

import typer

from senseprobe.cli.console import AsJson, complain, print_json, print_line, print_note
from senseprobe.cli.report import Release
from senseprobe.messages import listed

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
    as_json: AsJson = False,
) -> None:
    """Show the senses of a word: keys, definitions, and where an embedding puts them."""
    from senseprobe.api.senses import show_senses

    shown = show_senses(word, file, out, nearest=nearest, folder=folder)
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
