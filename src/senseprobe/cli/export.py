"""The command export: releases as tasks, and results as records, for other programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senseprobe.cli.console import AsJson, Release, complain, print_json, print_line, print_note

if TYPE_CHECKING:
    from senseprobe.evaluate.lm_eval_tasks import Exported
    from senseprobe.evaluate.result_exports import ExportedResults

export = typer.Typer(help="Write a release, or results, for other programs and collections.", no_args_is_help=True)
Results = Annotated[list[Path], typer.Argument(metavar="RESULT.json", help="Results that `score` wrote.")]
NewFolder = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write, which must not exist.")]
Model = Annotated[
    str, typer.Option(metavar="ORG/NAME", help="The model on the Hub, where the result has no such name.")
]
_DATASET_HELP = "The dataset on the Hub: USER/NAME, or USER/NAME@REVISION."


@export.command("lm-eval")
def export_tasks(release: Release, out: NewFolder, as_json: AsJson = False) -> None:
    """Write a release as tasks of EleutherAI's lm-evaluation-harness that give the same figures."""
    from senseprobe import api

    exported = api.export(release, out)
    if as_json:
        print_json(exported.as_dict())
    else:
        model = "--model hf --model_args pretrained=MODEL,dtype=float32"
        _print_tasks(exported, f"lm_eval run --include_path . --tasks {exported.name} {model}")


@export.command("inspect")
def export_inspect(
    release: Release,
    out: NewFolder,
    scorer: Annotated[
        str, typer.Option("--scorer", "-m", metavar="SCORER", help="What is asked: a scorer choice-….")
    ] = "choice-likely",
    send: Annotated[bool, typer.Option("--send", help="Also a release that is not for distribution.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a release as tasks of Inspect that give the same figures of a chat model."""
    from senseprobe import api

    exported = api.export_inspect(release, out, scorer, send=send)
    if as_json:
        print_json(exported.as_dict())
    else:
        model = "--model openai-api/local/MODEL --max-connections 1 --max-samples 1"
        _print_tasks(exported, f"inspect eval {exported.name} {model}")


@export.command("eee")
def export_every_eval_ever(
    results: Results,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR|FILE.json", help="A new folder, or a file for one.")],
    dataset: Annotated[str, typer.Option(metavar="USER/NAME", help=_DATASET_HELP)] = "",
    model: Model = "",
    organization: Annotated[str, typer.Option(metavar="NAME", help="Who evaluated.")] = "unknown",
    relationship: Annotated[
        str, typer.Option(metavar="R", help="To the model's maker: first_party, third_party, collaborative or other.")
    ] = "other",
    retrieved: Annotated[
        str, typer.Option(metavar="TIME", help="Of the export: seconds since 1970, or a date. Default: now.")
    ] = "",
) -> None:
    """Write results as records of Every Eval Ever: distances from the neutral value, where one is known."""
    from senseprobe import api

    options = {"organization": organization, "relationship": relationship, "retrieved": retrieved}
    _print_exported(api.export_every_eval_ever(results, out, dataset=dataset, model=model, **options), out)


@export.command("hub-eval")
def export_hub_results(
    results: Results,
    out: NewFolder,
    dataset: Annotated[str, typer.Option(metavar="USER/NAME", help=_DATASET_HELP)],
    model: Model = "",
) -> None:
    """Write results for repositories on the Hub: .eval_results of models, eval.yaml of the dataset."""
    from senseprobe import api

    _print_exported(api.export_hub_results(results, out, dataset=dataset, model=model), out)


def _print_exported(exported: "ExportedResults", out: Path) -> None:
    for line in exported.left_out:
        print_note(f"not exported: {line}")
    for name in exported.files:
        print_line(str(out if out.suffix == ".json" else out / name))


def _print_tasks(exported: "Exported", command: str) -> None:
    for name, reason in exported.skipped.items():
        complain(f"{name} is left out: {reason}")
    for task in exported.tasks:
        left_out = ", ".join(f"{count} {reason}" for reason, count in task.left_out.items())
        print_line(f"{task.name}: {task.rows} pairs{f'; left out: {left_out}' if left_out else ''}")
    print_line(f"written to {exported.folder}; to be run there, by")
    print_line(command)
