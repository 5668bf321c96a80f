"""Commands on word senses: senses build, senses show, senses report, and wat."""

from pathlib import Path
from typing import Annotated

import typer

from senseprobe.cli.console import complain, print_line, print_note
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
