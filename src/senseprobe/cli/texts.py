"""Commands on texts: bias-score and corpus."""

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
    print_sections,
    read_header,
)


def bias_score(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|RELEASE", help="Texts with a sentence a line, tables, hf://datasets/…; a release."
        ),
    ],
    vectors: Annotated[str, typer.Option(metavar="FILE", help="Word vectors, or glove once fetched.")],
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="What weighs words: infersent:FILE, or a transformer, as bias-score-proxy. Default: all alike.",
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Pairs of words that span another axis; the first column is positive."),
    ] = None,
    gendered: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Words that count 0, in a column `word`.")
    ] = None,
    keep_boundary: Annotated[
        bool,
        typer.Option("--keep-boundary/--drop-boundary", help="Whether the encoder's marks keep their share."),
    ] = True,
    words: Annotated[bool, typer.Option("--words", help="Each line is a word, whose score is its cosine.")] = False,
    column: Annotated[str | None, typer.Option(metavar="NAME", help="Column of a table with the sentences.")] = None,
    top: Annotated[int, typer.Option(metavar="N", help="How many sentences are ranked.")] = 10,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE.parquet", help="Write all scores, and a JSON file.")
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page, .html or .md.")] = None,
    beside: Annotated[
        Path | None,
        typer.Option(metavar="RESULT.json", help="Say whether the score predicts this model's preferences."),
    ] = None,
    header: Header = None,
    skip_bad: SkipBad = False,
    as_json: AsJson = False,
) -> None:
    """Score how far the words of sentences lean to either end of a gender axis of word vectors (the Bias Score)."""
    from senseprobe.api.texts import bias_score as compute

    found = compute(
        sources,
        vectors,
        encoder=encoder,
        pairs=pairs,
        gendered=gendered,
        keep_boundary=keep_boundary,
        words=words,
        column=column,
        top=top,
        out=out,
        page=report,
        beside=beside,
        header=read_header(header),
        skip_bad=skip_bad,
        say=complain,
    )
    if as_json:
        print_json(found.as_dict())
        return
    print_sections(found.sections("brief"))
    for path in found.files:
        print_line(f"written: {path}")


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
    print_sections(summary.sections("brief"))
    for path in out or ():
        print_line(f"written: {path.resolve()}")
