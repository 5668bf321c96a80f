"""What commands print of those who weigh what annotators said: how far they agree, what follows, what is published."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from senseprobe.api import annotation
from senseprobe.cli.console import print_line
from senseprobe.errors import SenseprobeError
from senseprobe.messages import counted

if TYPE_CHECKING:
    from senseprobe.annotation.decisions import Adjudication
    from senseprobe.annotation.publication import Publication


def adjudicate(threshold: Sequence[str] | None, **options: Any) -> "Adjudication":  # noqa: ANN401 - of the rule
    """Return the verdicts, by thresholds as they were typed."""
    common, single = _thresholds(threshold or ())
    return annotation.adjudicate(threshold=common, thresholds=single, **options)


def exit_code_of_adjudication(result: "Adjudication") -> int:
    """Return 1 where rows were not decided since people saw other words."""
    return int(any(decision.state == "changed" for decision in result.decisions))


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


def show_report(path: Path) -> None:
    """Print where the page of a round is."""
    print_line(f"report in {path.resolve()}: for those who run the round, not for publication")


def describe_report(path: Path) -> dict[str, str]:
    """Return what `annotate report --json` prints."""
    return {"report": str(path)}


def name_command(name: str, project: str, folder: Path | None, *arguments: str) -> str:
    """Return a command on a project as it is typed, with the option `--folder` where that was given."""
    place = ("--folder", str(folder)) if folder else ()
    return " ".join(["senseprobe annotate", name, *map(quote, (project, *arguments, *place))])


def show_queue(queued: "tuple[int, Path | str | None]", project: str, folder: Path | None, push: bool) -> None:
    """Print where undecided rows are asked about, and what to do then."""
    rows, where = queued
    if not where:
        print_line("no row is undecided")
        return
    print_line(f"{counted(rows, 'undecided row')} at {where}: for somebody who has not answered them")
    if push:
        print_line("`annotate pull` fetches the answers with the others; then `annotate apply` again")
    else:
        command = name_command("import", project, folder, str(where))
        print_line(f"send it with {annotation.SHEET_GUIDE}; then: {command}, and `annotate apply` again")


def describe_queue(queued: "tuple[int, Path | str | None]", push: bool) -> dict[str, Any]:
    """Return what `annotate queue --json` prints."""
    rows, where = queued
    file, url = (None, where) if push else (str(where) if where else None, None)
    return {"rows": rows, "file": file, "url": url}


def show_publication(result: "Publication") -> None:
    """Print what may be published, and what was left out."""
    people = counted(result.annotators, "annotator")
    print_line(f"{counted(result.answers, 'answer')} of {people} in {result.folder}")
    for what, count in result.left_out.items():
        print_line(f"left out: {count} {what}")
    print_line("pseudonyms are not anonymity: see docs/annotation.md before you publish")


def describe_publication(result: "Publication") -> dict[str, Any]:
    """Return what `annotate release --json` prints."""
    facts = {"answers": result.answers, "annotators": result.annotators, "left_out": dict(result.left_out)}
    return {"folder": str(result.folder), **facts}
