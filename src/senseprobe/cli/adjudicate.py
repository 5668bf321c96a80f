"""Commands of those who weigh what annotators said: how far they agree, what follows, what is published of it."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from senseprobe.cli.console import AsJson, print_json, print_line, print_table
from senseprobe.errors import SenseprobeError
from senseprobe.messages import counted

if TYPE_CHECKING:
    from senseprobe.annotation.adjudication import Adjudication
    from senseprobe.annotation.agreement import Agreement, Figure
    from senseprobe.annotation.decisions import Decision
    from senseprobe.release.annotation_record import RejectionEstimate


MAX_LINES = 20
"""How many of many things are printed; --json has all."""

Project = Annotated[str, typer.Argument(metavar="PROJECT", help="What the annotation project is called.")]
Folder = Annotated[
    Path | None,
    typer.Option(help="The folder of the annotation project.", show_default="annotations/PROJECT in your project"),
]
ReleasePath = Annotated[str | None, typer.Option("--release", help="Where the release is, if not in your project.")]

_PARTS = {
    "sentence": "one sentence of the rows",
    "stratum": "rows of a stratum",
    "annotator": "one annotator against the others",
    "word": "rows about a word",
    "group": "annotators of a group among themselves",
    "groups": "annotators of one group against another",
}


def agree(project: Project, folder: Folder = None, as_json: AsJson = False) -> None:
    """Say how far annotators agree, on each question, with intervals; also by stratum, annotator, word and group."""
    from senseprobe.api import annotation

    result = annotation.agreement(project, folder)
    if as_json:
        print_json(result.as_dict())
        return
    _print_figures("all answers", result.by("all"))
    for part, title in _PARTS.items():
        figures, few = result.reliable(part)
        _print_figures(title, figures)
        if few:
            print_line(
                f"\n{part}: {counted(few, 'figure')} of fewer than {result.fewest_items} rows: see agreement.json"
            )
    _print_people(result)
    if result.withheld:
        groups = counted(result.withheld, "group")
        print_line(f"no figures are told of {groups} with fewer than {result.smallest_group} annotators")


def _print_figures(title: str, figures: Sequence["Figure"]) -> None:
    """Print a table of figures; of many, those with the least agreement."""
    if not figures:
        return
    lowest = sorted(figures, key=lambda figure: (figure.value is None, figure.value or 0.0))[:MAX_LINES]
    printed = figures if len(figures) <= MAX_LINES else lowest
    columns = dict.fromkeys(("question", "of", "measure", "value [95 %]"), "left")
    columns |= {"same": "right", "rows": "right", "answers": "right", "": "left"}
    rows = [
        (f.question, f.level, f.measure, f.format_value(), f.format_share(1), f.items, f.answers, f.why)
        for f in printed
    ]
    print_table(columns, rows, title=f"\n{title}")
    if len(figures) > len(printed):
        print_line(f"… and {len(figures) - len(printed)} with more agreement: --json lists all")


def _print_people(result: "Agreement") -> None:
    """Print accuracy where the answer is known, and who disagrees with whom most often."""
    gold = [
        (g.question, g.annotator, f"{g.right} of {g.answered}", f"[{g.low:.0%}, {g.high:.0%}]") for g in result.gold
    ]
    if gold:
        columns = dict.fromkeys(("question", "annotator", "right", "95 %"), "left")
        print_table(columns, gold[:MAX_LINES], "\nknown answers")
    pairs = sorted((p for p in result.pairs if p.different), key=lambda p: (-p.share, -p.units, p.question))
    rows = [
        (p.question, p.first, p.second, f"{p.different} of {p.units}", f"{p.most[0]} / {p.most[1]}" if p.most else "")
        for p in pairs[:MAX_LINES]
    ]
    if rows:
        columns = dict.fromkeys(("question", "annotator", "and", "differ on", "most often"), "left")
        print_table(columns, rows, "\nwho disagrees with whom")


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
        rows = [decision.as_dict() for decision in result.decisions]
        facts = result.facts.model_dump(mode="json")
        summary = {"verdicts": str(result.verdicts), "changed": dict(result.changed), "notes": list(result.notes)}
        estimates = [estimate.model_dump(mode="json") for estimate in result.estimates]
        proposals = [asdict(proposal) for proposal in result.proposals]
        print_json({"facts": facts, **summary, "estimates": estimates, "proposals": proposals, "rows": rows})
    else:
        _print_adjudication(result)
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


_LISTED = {
    "reject": "rejected",
    "undecided": "undecided: they stay, and have no verdict",
    "changed": "not decided, since people saw other words",
}


def _print_adjudication(result: "Adjudication") -> None:
    numbers = ", ".join(f"{name} {value:g}" for name, value in result.facts.protocol.thresholds.items())
    print_line(f"{result.facts.protocol.rule} ({numbers})")
    print_line(result.description)
    for note in result.notes:
        print_line(f"note: {note}")
    for state, title in _LISTED.items():
        _print_decisions(title, [decision for decision in result.decisions if decision.state == state])
    _print_decisions(
        "reported by annotators of the targeted group", [decision for decision in result.decisions if decision.reported]
    )
    _print_estimates(result)
    changed = ", ".join(f"{count} {what}" for what, count in result.changed.items() if count) or "as before"
    print_line(f"\n{counted(result.total, 'verdict')} in {result.verdicts} ({changed}), annotation.json beside it")
    print_line(result.reason or "`senseprobe build` leaves out what is rejected")


def _print_estimates(result: "Adjudication") -> None:
    """Print what decisions say of the rows that nobody judged, and which words and frames people reject throughout."""
    protocol, count = result.facts.protocol, len(result.decisions)
    known = f", {protocol.gold} of them with known answers, which do not count below" if protocol.gold else ""
    print_line(f"\n{counted(count, 'row')} were asked about{known}; what that says of those that nobody judged:")
    configs = [_estimate_cells(estimate) for estimate in result.estimates if not estimate.slot]
    rejected = [estimate for estimate in result.estimates if estimate.slot and estimate.rejected]
    others = [estimate.cells() for estimate in rejected if not estimate.is_of_few]
    if configs:
        columns = dict(zip(result.estimates[0].columns, ("left", *["right"] * 5), strict=True))
        print_table(columns, [*configs, *others[:MAX_LINES]])
    if len(others) > MAX_LINES:
        print_line(f"… and {len(others) - MAX_LINES} more words and frames: --json lists all")
    if few := len(rejected) - len(others):
        print_line(f"{counted(few, 'word or frame', 'words and frames')} of fewer than 10 judged rows: on the card")
    for proposal in result.proposals:
        rest = f"; {counted(len(proposal.rows), 'other row')}" if proposal.rows is not None else ""
        print_line(f"{proposal}{rest}")
    if result.proposed and not result.proposals:
        print_line("people reject no word or frame throughout: nothing is proposed")
    elif result.proposed:
        print_line(
            f"nothing is rejected by that: copy the lines of {result.proposed} that you stand by to verdicts.csv"
        )
        if any(proposal.rows is None for proposal in result.proposals):
            print_line("those without a number of other rows have too many: take the word out of its list")
    elif result.proposals:
        print_line("`--propose` writes the rows of these words and frames that nobody judged")


def _estimate_cells(estimate: "RejectionEstimate") -> Sequence[str]:
    """Return the cells of an estimate; of few judged rows the counts alone, as the card has the rest."""
    name, judged, rejected, _, rest, _ = cells = estimate.cells()
    return (name, judged, rejected, "on the card", rest, "on the card") if estimate.is_of_few else cells


def _print_decisions(title: str, decisions: Sequence["Decision"]) -> None:
    if decisions:
        print_line(f"\n{title}")
    for decision in decisions[:MAX_LINES]:
        print_line(f"  {decision.row}: {decision.reason}")
    if len(decisions) > MAX_LINES:
        print_line(f"  … and {len(decisions) - MAX_LINES} more: decisions.csv lists all")


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
