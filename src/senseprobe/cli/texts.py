"""Commands on texts: bias-score and corpus."""

from pathlib import Path
from typing import Annotated

import typer

from senseprobe.cli.console import AsJson, print_json, print_line, print_summary


def corpus(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="FILE…", help="Texts, .gz, .zst, .jsonl, .csv, .parquet, folders, hf://datasets/…."),
    ],
    groups: Annotated[
        str, typer.Option(metavar="LIST|FILE.csv", help="Whose mentions: columns word and group.")
    ] = "pronouns",
    words: Annotated[
        str, typer.Option("--with", metavar="LIST|FILE.csv", help="Stereotyped words: columns word and gender.")
    ] = "occupations",
    column: Annotated[str | None, typer.Option(metavar="NAME", help="Column of a table with the text.")] = None,
    splitter: Annotated[str, typer.Option(metavar="rule|nltk", help="What makes sentences; nltk: 2 MB/s.")] = "rule",
    plurals: Annotated[bool, typer.Option(help="Whether plurals of the stereotyped words count.")] = True,
    workers: Annotated[int, typer.Option(metavar="N", help="How many processes count.")] = 1,
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write a page (.html, .md), .csv or .json; may be repeated."),
    ] = None,
    resume: Annotated[bool, typer.Option(help="Whether a run that was killed goes on.")] = True,
    as_json: AsJson = False,
) -> None:
    """Count sentences that mention groups, and stereotyped words beside them (Tan and Celis 2019)."""
    from senseprobe.api.texts import corpus as count

    summary = count(
        sources,
        groups=groups,
        words=words,
        column=column,
        splitter=splitter,
        plurals=plurals,
        workers=workers,
        out=out or (),
        resume=resume,
    )
    if as_json:
        print_json(summary.as_dict())
        return
    print_summary(summary.parts())
    for path in out or ():
        print_line(f"written: {path.resolve()}")
