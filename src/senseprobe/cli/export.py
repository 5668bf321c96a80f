"""The command of those who score with another program."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from senseprobe.cli.author import AsJson
from senseprobe.cli.console import complain, print_json, print_line, progress

if TYPE_CHECKING:
    from senseprobe.evaluate.harness import Exported


def export(
    program: Annotated[Literal["lm-eval"], typer.Argument(metavar="PROGRAM", help="lm-eval.")],
    release: Annotated[str, typer.Argument(metavar="RELEASE[:CONFIG]", help="NAME@VERSION, or the path of a release.")],
    out: Annotated[Path, typer.Option(help="The folder to write, which must not exist.")],
    as_json: AsJson = False,
) -> None:
    """Write a release as tasks of another program, pinned, for the same figures: EleutherAI's lm-evaluation-harness."""
    from senseprobe import api
    from senseprobe.evaluate.harness import export as write

    with progress(f"exporting {release} for {program}", None):
        exported = write(*api.verified(release), out)
    if as_json:
        print_json(exported.as_dict())
    else:
        _tell(exported)


def _tell(exported: "Exported") -> None:
    for name, reason in exported.skipped.items():
        complain(f"{name} is left out: {reason}")
    for task in exported.tasks:
        left_out = ", ".join(f"{count} {reason}" for reason, count in task.left_out.items())
        print_line(f"{task.name}: {task.rows} pairs{f'; left out: {left_out}' if left_out else ''}")
    print_line(f"written to {exported.folder}; to be run there, by")
    model = "--model hf --model_args pretrained=MODEL,dtype=float32"
    print_line(f"lm_eval run --include_path . --tasks {exported.name} {model}")
