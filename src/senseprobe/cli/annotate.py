"""What commands on annotation print: people are asked about a release, and their answers fetched and weighed."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from senseprobe.api import annotation
from senseprobe.cli.console import MOST_ROWS, print_line
from senseprobe.errors import SenseprobeError
from senseprobe.messages import counted, listed

if TYPE_CHECKING:
    from senseprobe.annotation.decisions import Adjudication
    from senseprobe.annotation.ingest import IngestResult
    from senseprobe.annotation.label_studio.transfer import PullResult, PushResult
    from senseprobe.annotation.publication import Publication
    from senseprobe.annotation.records import Plan


def _take_plan_options(options: dict[str, Any]) -> annotation.PlanOptions:
    return annotation.PlanOptions(**{field.name: options.pop(field.name) for field in fields(annotation.PlanOptions)})


def push(**options: Any) -> "tuple[Plan, PushResult]":  # noqa: ANN401 - of the plan, and of the project
    """Draw rows, and put them to Label Studio."""
    return annotation.push(options=_take_plan_options(options), **options)


def show_pushed(pushed: "tuple[Plan, PushResult]", n: int | None) -> None:
    """Print what is asked, and how much of it was sent."""
    plan, done = pushed
    _print_plan(plan, n)
    print_line(f"{counted(done.sent, 'task')} sent, {done.known:,} already there: {done.url}")
    if done.duplicates:
        print_line(f"duplicates there: {counted(len(done.duplicates), 'row')} ({listed(done.duplicates)})")
    for note in done.notes:
        print_line(f"note: {note}")


def describe_pushed(pushed: "tuple[Plan, PushResult]") -> dict[str, Any]:
    """Return what `annotate push --json` prints."""
    plan, done = pushed
    return {**_facts(plan), **done.as_dict()}


def export(**options: Any) -> "tuple[Plan, list[Path]]":  # noqa: ANN401
    """Draw rows, and write them as files."""
    return annotation.export(options=_take_plan_options(options), **options)


def show_exported(exported: "tuple[Plan, list[Path]]", n: int | None, project: str, folder: Path | None) -> None:
    """Print what is asked, and where."""
    plan, files = exported
    _print_plan(plan, n)
    names = [path.name for path in files]
    sheets = f" and {counted(len(names) - 3, 'sheet')}" if names[3:] else ""
    print_line(f"{', '.join(names[:3])}{sheets} in {files[0].parent}")
    if sheets:
        command = name_command("import", project, folder)
        print_line(f"send each with {annotation.SHEET_GUIDE}, which lies beside it; then: {command}")


def describe_exported(exported: "tuple[Plan, list[Path]]") -> dict[str, Any]:
    """Return what `annotate export --json` prints."""
    plan, files = exported
    return {**_facts(plan), "files": list(map(str, files))}


def _facts(plan: "Plan") -> dict[str, object]:
    return {
        "project": plan.project,
        "release": plan.release,
        "kind": plan.kind,
        "items": len(plan.items),
        "strata": len({item.stratum for item in plan.items} - {""}),
        "gold": sum(bool(item.gold) for item in plan.items),
        "overlap": plan.overlap,
    }


def _print_plan(plan: "Plan", rows_requested: int | None) -> None:
    facts = _facts(plan)
    strata = f" in {facts['strata']} strata" if facts["strata"] else ""
    gold = f", {facts['gold']} of them with known answers" if facts["gold"] else ""
    people, rows = counted(plan.overlap, "person", "people"), counted(len(plan.items), f"{plan.kind} row")
    parts = f", drawn as {' + '.join(map(str, plan.part_sizes))}" if plan.parts else ""
    print_line(f"{plan.project}: {rows} of {plan.release}{strata}{gold}{parts}, for {people} each")
    if len(plan.items) < (rows_requested or 0):
        print_line(f"note: {rows_requested:,} rows were asked for, but only {len(plan.items):,} exist")
    print_line(f"asked: {', '.join(plan.questions)}{', and their groups' if plan.groups else ''}")


def show_pulled(pulled: "tuple[PullResult, IngestResult]") -> None:
    """Print what was fetched."""
    export, ingested = pulled
    print_line(f"{counted(export.tasks, 'task')}, kept in {export.path}{'' if export.new else ', unchanged'}")
    show_ingested(ingested)


def describe_pulled(pulled: "tuple[PullResult, IngestResult]") -> dict[str, Any]:
    """Return what `annotate pull --json` prints."""
    export, ingested = pulled
    return {"tasks": export.tasks, "file": str(export.path), "new": export.new, **ingested.as_dict()}


def show_ingested(ingested: "IngestResult") -> None:
    """Print how many answers were taken, and what is odd about them."""
    facts = ingested.as_dict()
    people = counted(facts["annotators"], "annotator")
    print_line(
        f"{counted(facts['submitted'], 'annotation')} by {people}, {facts['skipped']:,} skipped: {ingested.changes}"
    )
    for finding in ingested.findings[:MOST_ROWS]:
        print_line(str(finding))
    if more := len(ingested.findings) - MOST_ROWS:
        print_line(f"… and {more} more (--json lists all)") if more > 0 else None


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
    print_line(f"report in {path.resolve()}: for the organisers of the round, not for publication")


def describe_report(path: Path) -> dict[str, str]:
    """Return what `annotate report --json` prints."""
    return {"report": str(path)}


def name_command(name: str, project: str, folder: Path | None, *arguments: str) -> str:
    """Return a command on a project as it is typed, with the option `--folder` where that was given."""
    option = ("--folder", str(folder)) if folder else ()
    return " ".join(["senseprobe annotate", name, *map(quote, (project, *arguments, *option))])


def show_queue(queued: "tuple[int, Path | str | None]", project: str, folder: Path | None, push: bool) -> None:
    """Print where undecided rows are asked about, and what to do then."""
    rows, where = queued
    if not where:
        print_line("no undecided rows")
        return
    them = "it" if rows == 1 else "them"
    print_line(f"{counted(rows, 'undecided row')} at {where}: for an annotator who has not answered {them}")
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
        print_line(f"omitted: {count} {what}")
    print_line("pseudonyms do not guarantee anonymity: read docs/annotation.md before you publish")


def describe_publication(result: "Publication") -> dict[str, Any]:
    """Return what `annotate release --json` prints."""
    facts = {"answers": result.answers, "annotators": result.annotators, "left_out": dict(result.left_out)}
    return {"folder": str(result.folder), **facts}
