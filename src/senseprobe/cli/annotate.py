"""Commands of those who have a release checked by people: ask them, and fetch their answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from senseprobe.cli import adjudicate
from senseprobe.cli.adjudicate import Folder, Project
from senseprobe.cli.console import AsJson, Release, print_json, print_line, print_sections
from senseprobe.messages import counted, listed

if TYPE_CHECKING:
    from senseprobe.annotation.ingest import IngestResult
    from senseprobe.annotation.records import Plan
    from senseprobe.api.annotation import PlanOptions


annotate = typer.Typer(
    help="Have a release checked by people: ask them, weigh their answers, leave out what they reject.",
    no_args_is_help=True,
)

Named = Annotated[str, typer.Option("--project", help="What the annotation project is called.", show_default=False)]
Count = Annotated[
    int | None, typer.Option("--n", "-n", min=1, help="How many rows.", show_default="500; all that --where finds")
]
Overlap = Annotated[
    int | None,
    typer.Option(min=1, help="How many people shall answer each row.", show_default="3; all --annotators if fewer"),
]
Seed = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of the sample, and of the order of sentences.")]
Strata = Annotated[str, typer.Option(metavar="COLUMN,...", help="Each level of these gets its share: config,target.")]
Where = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN=VALUE", help="Only such rows; may be repeated.", show_default=False)
]
Gold = Annotated[Path | None, typer.Option(help="A CSV of known answers: id, then a column per question.")]
Config = Annotated[
    list[str] | None, typer.Option(help="Only rows of this config; may be repeated.", show_default=False)
]
Allocation = Annotated[
    Literal["proportional", "equal"], typer.Option(help="Whether levels of --strata get shares by size, or equal ones.")
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(metavar="PROJECT", help="Leave out the rows of this project; may be repeated.", show_default=False),
]
Questions = Annotated[
    str, typer.Option(metavar="ID,...", help="Ask only these, as sense,natural.", show_default="all that fit")
]
Prefill = Annotated[bool, typer.Option("--prefill", help="Show the release's labels as answers, which biases people.")]
Groups = Annotated[bool, typer.Option("--groups", help="Ask which groups annotators belong to, if they want to say.")]
Names = Annotated[bool, typer.Option("--names", help="Keep the annotators' names instead of pseudonyms.")]


def _plan_options(
    n: int | None, overlap: int | None, seed: int, strata: str, allocation: str, where: list[str] | None,
    gold: Path | None, config: list[str] | None, exclude: list[str] | None, questions: str, *,
    prefill: bool, groups: bool,
) -> "PlanOptions":  # fmt: skip
    from senseprobe.api.annotation import PlanOptions

    return PlanOptions(
        n=n,
        overlap=overlap,
        seed=seed,
        strata=_listed(strata),
        allocation=allocation,
        where=tuple(where or ()),
        config=tuple(config or ()),
        exclude=tuple(exclude or ()),
        gold=gold,
        questions=_listed(questions),
        prefill=prefill,
        groups=groups,
    )


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


@annotate.command()
def push(
    release: Release,
    project: Named,
    n: Count = None,
    overlap: Overlap = None,
    seed: Seed = 0,
    strata: Strata = "",
    allocation: Allocation = "proportional",
    where: Where = None,
    exclude: Exclude = None,
    gold: Gold = None,
    config: Config = None,
    questions: Questions = "",
    prefill: Prefill = False,
    groups: Groups = False,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Draw rows of a release and put them to Label Studio; what is there already is not sent again."""
    from senseprobe.api import annotation

    options = _plan_options(
        n, overlap, seed, strata, allocation, where, gold, config, exclude, questions, prefill=prefill, groups=groups
    )
    plan, done = annotation.push(release, project, options, folder)
    if as_json:
        print_json({**_facts(plan), **done.as_dict()})
        return
    _print_plan(plan, options)
    print_line(f"{counted(done.sent, 'task')} sent, {done.known:,} there already: {done.url}")
    if done.duplicates:
        print_line(f"more than once there: {counted(len(done.duplicates), 'row')} ({listed(done.duplicates)})")
    for note in done.notes:
        print_line(f"note: {note}")


@annotate.command()
def export(
    release: Release,
    project: Named,
    n: Count = None,
    overlap: Overlap = None,
    seed: Seed = 0,
    strata: Strata = "",
    allocation: Allocation = "proportional",
    where: Where = None,
    exclude: Exclude = None,
    gold: Gold = None,
    config: Config = None,
    questions: Questions = "",
    prefill: Prefill = False,
    groups: Groups = False,
    annotators: Annotated[int, typer.Option(min=0, max=100, help="Write a CSV for each of so many people.")] = 0,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Write plan, interface and tasks as files, and a CSV for each annotator to fill in, without a server."""
    from senseprobe.api import annotation

    options = _plan_options(
        n, overlap, seed, strata, allocation, where, gold, config, exclude, questions, prefill=prefill, groups=groups
    )
    plan, files = annotation.export(release, project, options, annotators, folder)
    if as_json:
        print_json({**_facts(plan), "files": list(map(str, files))})
        return
    _print_plan(plan, options)
    names = [path.name for path in files]
    sheets = f" and {counted(len(names) - 3, 'sheet')}" if names[3:] else ""
    print_line(f"{', '.join(names[:3])}{sheets} in {files[0].parent}")
    if sheets:
        command = adjudicate.name_command("import", project, folder)
        print_line(f"send each with {annotation.SHEET_GUIDE}, which lies beside it; then: {command}")


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


def _print_plan(plan: "Plan", options: "PlanOptions") -> None:
    facts = _facts(plan)
    strata = f" in {facts['strata']} strata" if facts["strata"] else ""
    gold = f", {facts['gold']} of them with known answers" if facts["gold"] else ""
    people, rows = counted(plan.overlap, "person", "people"), counted(len(plan.items), f"{plan.kind} row")
    parts = f", drawn as {' + '.join(map(str, plan.part_sizes))}" if plan.parts else ""
    print_line(f"{plan.project}: {rows} of {plan.release}{strata}{gold}{parts}, for {people} each")
    if len(plan.items) < (options.n or 0):
        print_line(f"note: {options.n:,} rows were asked for, and there are no more than {len(plan.items):,}")
    print_line(f"asked: {', '.join(plan.questions)}{', and groups of their own' if plan.groups else ''}")


@annotate.command()
def status(project: Project, folder: Folder = None, as_json: AsJson = False) -> None:
    """Say how many rows have how many answers on Label Studio, and from whom."""
    from senseprobe.api import annotation

    result = annotation.status(project, folder)
    if as_json:
        print_json(result.as_dict())
        return
    print_sections([result.section()])


@annotate.command()
def pull(project: Project, names: Names = False, folder: Folder = None, as_json: AsJson = False) -> None:
    """Fetch all answers from Label Studio, under pseudonyms; the raw export is kept."""
    from senseprobe.api import annotation

    pulled, ingested = annotation.pull(project, folder, names=names)
    if as_json:
        print_json({"tasks": pulled.tasks, "file": str(pulled.path), "new": pulled.new, **ingested.as_dict()})
    else:
        print_line(
            f"{counted(pulled.tasks, 'task')}, kept in {pulled.path}{'' if pulled.new else ', as they were before'}"
        )
        _print_ingested(ingested)
    raise typer.Exit(0 if ingested.usual else 1)


@annotate.command("import")
def import_answers(
    project: Project,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="A JSON export of Label Studio, or filled-in CSV files.",
            show_default="the project's own sheets",
        ),
    ] = None,
    names: Names = False,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Take answers that come as files; a CSV is of the annotator after whom it is named."""
    from senseprobe.api import annotation

    ingested = annotation.ingest(project, files or (), folder, names=names)
    print_json(ingested.as_dict()) if as_json else _print_ingested(ingested)
    raise typer.Exit(0 if ingested.usual else 1)


def _print_ingested(ingested: "IngestResult") -> None:
    facts = ingested.as_dict()
    people = counted(facts["annotators"], "annotator")
    print_line(
        f"{counted(facts['submitted'], 'annotation')} by {people}, {facts['skipped']:,} skipped: {ingested.changes}"
    )
    for finding in ingested.findings[: adjudicate.MAX_LINES]:
        print_line(str(finding))
    if more := len(ingested.findings) - adjudicate.MAX_LINES:
        print_line(f"… and {more} more (--json lists all)") if more > 0 else None


annotate.command()(adjudicate.agree)
annotate.command()(adjudicate.apply)
annotate.command()(adjudicate.report)
annotate.command()(adjudicate.queue)
annotate.command()(adjudicate.release)
