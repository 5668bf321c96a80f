"""The command of those who look at a part of a result: some words, or the words with the largest probabilities."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senseprobe.cli.author import AsJson
from senseprobe.cli.console import print_json, print_line, print_table, progress
from senseprobe.cli.reporting import Release, tell_controls
from senseprobe.wording import counted

if TYPE_CHECKING:
    from senseprobe.evaluate.reporting.parts import Part


def slice_result(
    result: Annotated[Path, typer.Argument(metavar="RESULT.json", help="A result of a model of inference.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SLOT=WORD",
            help="As quality=rude demonym=Iraqi; a slot that is named twice takes either word.",
        ),
    ] = None,
    largest: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL", help="Also the words with the largest mean entailment, contradiction, or neutral."
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SLOT",
            help="A slot within which --largest averages; may be repeated. Default: the words that differ.",
        ),
    ] = None,
    count: Annotated[int, typer.Option(metavar="N", min=1, help="How many of the largest.")] = 6,
    release: Release = None,
    as_json: AsJson = False,
) -> None:
    """Figures of the rows with some words, such as all with rude and Iraqi, from scores that are there already."""
    from senseprobe.evaluate.estimands.slices import parse_slice
    from senseprobe.evaluate.reporting.evidence import gather
    from senseprobe.evaluate.reporting.parts import parts

    wanted = parse_slice(words or ())
    with progress("slicing", None):
        (evidence,) = gather([result], release)
        found = parts(evidence, wanted, largest=largest, by=tuple(by or ()), count=count)
    if as_json:
        print_json([part.as_dict() for part in found])
        return
    for part in found:
        _tell(part)
    tell_controls(evidence)
    if evidence.result.limit is not None:
        print_line(f"a first look: these are of {counted(evidence.result.limit, 'row')} that were drawn")
    print_line(evidence.result.signature)


def _tell(part: "Part") -> None:
    from senseprobe.evaluate.reporting.words import interval

    columns = {"figure": "left", "points [95 %]": "left", "neutral": "left", "scored": "right"}
    rows = [
        (f.estimand, interval(f), "none known" if f.neutral is None else "0", f"{f.scored}/{f.rows}")
        for f in part.figures
    ]
    print_table(columns, rows, title=f"\n{part.config}{f', {part.named}' if part.named else ''}")
    if part.largest:
        _tell_largest(part.largest)
    notes: dict[str, list[str]] = {}
    for figure in part.figures:
        notes.setdefault(figure.note, []).append(figure.estimand)
    for note, named in notes.items():
        if note:
            print_line(f"{', '.join(dict.fromkeys(named))}: {note}")


def _tell_largest(largest: Sequence[dict[str, object]]) -> None:
    numbers = {name for name, value in largest[0].items() if not isinstance(value, str)}
    columns = {name: "right" if name in numbers else "left" for name in largest[0]}
    rows = [[f"{value:.3f}" if isinstance(value, float) else value for value in row.values()] for row in largest]
    print_table(columns, rows, title="\nlargest means")
    print_line("the largest of many look extreme for that alone, and the fewer their rows, the more so")
