"""Commands of those who weigh what annotators said: how far they agree, what follows, what is published of it."""

from collections.abc import Iterable
from pathlib import Path
from shlex import quote
from typing import Annotated, Literal

import typer

from senseprobe.cli.console import AsJson, print_json, print_line, print_sections
from senseprobe.errors import SenseprobeError
from senseprobe.messages import counted

MAX_LINES = 20
"""How many of many things are printed; --json has all."""

Project = Annotated[str, typer.Argument(metavar="PROJECT", help="What the annotation project is called.")]
Folder = Annotated[
    Path | None,
    typer.Option(help="The folder of the annotation project.", show_default="annotations/PROJECT in your project"),
]
ReleasePath = Annotated[str | None, typer.Option("--release", help="Where the release is, if not in your project.")]


def agree(project: Project, folder: Folder = None, as_json: AsJson = False) -> None:
    """Say how far annotators agree, on each question, with intervals; also by stratum, annotator, word and group."""
    from senseprobe.api import annotation

    result = annotation.agreement(project, folder)
    if as_json:
        print_json(result.as_dict())
        return
    print_sections(result.sections())


def apply(
    project: Project,
    rule: Annotated[
        Literal["majority", "dawid-skene"], typer.Option(help="How answers become decisions; see docs/annotation.md.")
    ] = "majority",
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[QUESTION=]SHARE",
            help="Share of answers (majority) or probability that a choice needs; may be repeated, for one question.",
            show_default="0.5 and more than half; dawid-skene 0.8",
        ),
    ] = None,
    least: Annotated[int, typer.Option(min=1, help="How many answers a question needs.")] = 2,
    keep_reported: Annotated[
        bool, typer.Option("--keep-reported", help="Let rows stay that annotators of the targeted group report.")
    ] = False,
    propose: Annotated[
        bool, typer.Option("--propose", help="Write the rows of words and frames that people reject throughout.")
    ] = False,
    release_path: ReleasePath = None,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Make verdicts of answers: the next build leaves out the rows that people reject."""
    from senseprobe.api import annotation

    common, single = _thresholds(threshold or [])
    result = annotation.adjudicate(
        project,
        rule,
        folder,
        release_path,
        least=least,
        threshold=common,
        thresholds=single,
        keep_reported=keep_reported,
        propose=propose,
    )
    if as_json:
        print_json(result.as_dict())
    else:
        print_sections(result.sections())
    raise typer.Exit(1 if any(decision.state == "changed" for decision in result.decisions) else 0)


def _thresholds(texts: Iterable[str]) -> tuple[float | None, dict[str, float]]:
    """Return the threshold of all questions, and those of single ones."""
    common: float | None = None
    single: dict[str, float] = {}
    for text in texts:
        question, equals, share = text.rpartition("=")
        try:
            value = float(share)
        except ValueError:
            raise SenseprobeError(
                f"{text!r} is not a threshold: expected SHARE or QUESTION=SHARE, as natural=0.7"
            ) from None
        if equals:
            single[question] = value
        else:
            common = value
    return common, single


def report(
    project: Project,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The page.", show_default="report.html in the project's folder"
        ),
    ] = None,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Write one HTML page of a round: progress, agreement, annotators, time, disputes, and what was decided and why."""
    from senseprobe.api import annotation

    path = annotation.report(project, out, folder)
    if as_json:
        print_json({"report": str(path)})
    else:
        print_line(f"report in {path.resolve()}: for those who run the round, not for publication")


def name_command(name: str, project: str, folder: Path | None, *arguments: str) -> str:
    """Return a command on a project as it is typed, with the option `--folder` where that was given."""
    place = ("--folder", str(folder)) if folder else ()
    return " ".join(["senseprobe annotate", name, *map(quote, (project, *arguments, *place))])


def queue(
    project: Project,
    push: Annotated[
        bool, typer.Option("--push", help="Put them to Label Studio, as a project of their own, instead of a CSV.")
    ] = False,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Put the rows that are undecided to one more person, as a CSV to fill in or on Label Studio."""
    from senseprobe.api import annotation

    rows, where = annotation.queue(project, folder, push=push)
    if as_json:
        file, url = (None, where) if push else (str(where) if where else None, None)
        print_json({"rows": rows, "file": file, "url": url})
        return
    if not where:
        print_line("no row is undecided")
        return
    print_line(f"{counted(rows, 'undecided row')} at {where}: for somebody who has not answered them")
    if push:
        print_line("`annotate pull` fetches the answers with the others; then `annotate apply` again")
    else:
        command = name_command("import", project, folder, str(where))
        print_line(f"send it with {annotation.SHEET_GUIDE}; then: {command}, and `annotate apply` again")


def release(
    project: Project,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write, which must not exist.")],
    free_text: Annotated[
        bool, typer.Option("--free-text", help="Also what annotators wrote in their own words: read it first.")
    ] = False,
    release_path: ReleasePath = None,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Write all single answers under pseudonyms, as they may be published beside the release."""
    from senseprobe.api import annotation

    result = annotation.publish_answers(project, out, folder, release_path, free_text=free_text)
    if as_json:
        facts = {"answers": result.answers, "annotators": result.annotators, "left_out": dict(result.left_out)}
        print_json({"folder": str(result.folder), **facts})
        return
    people = counted(result.annotators, "annotator")
    print_line(f"{counted(result.answers, 'answer')} of {people} in {result.folder}")
    for what, count in result.left_out.items():
        print_line(f"left out: {count} {what}")
    print_line("pseudonyms are not anonymity: see docs/annotation.md before you publish")
