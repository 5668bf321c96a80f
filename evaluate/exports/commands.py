"""The commands of this room, what they print, and when they are used."""

from pathlib import Path
from typing import TYPE_CHECKING

from senseprobe.cli.command import AddedCommand, Command, Group, as_dict
from senseprobe.cli.console import complain, print_line, print_note
from senseprobe.cli.examples import Use
from senseprobe.evaluate.exports import api

if TYPE_CHECKING:
    from senseprobe.evaluate.exports.distances import ExportedResults
    from senseprobe.evaluate.exports.lm_eval_tasks import Exported


def show_harness_tasks(exported: "Exported") -> None:
    """Print the tasks, and how lm-evaluation-harness runs them."""
    model = "--model hf --model_args pretrained=MODEL,dtype=float32"
    _print_tasks(exported, f"lm_eval run --include_path . --tasks {exported.name} {model}")


def show_inspect_tasks(exported: "Exported") -> None:
    """Print the tasks, and how Inspect runs them."""
    model = "--model openai-api/local/MODEL --max-connections 1 --max-samples 1"
    _print_tasks(exported, f"inspect eval {exported.name} {model}")


def show_records(exported: "ExportedResults", out: Path) -> None:
    """Print the files that were written, and what was left out."""
    for line in exported.left_out:
        print_note(f"not exported: {line}")
    for name in exported.files:
        print_line(str(out if out.suffix == ".json" else out / name))


def _print_tasks(exported: "Exported", command: str) -> None:
    for name, reason in exported.skipped.items():
        complain(f"{name} is omitted: {reason}")
    for task in exported.tasks:
        left_out = ", ".join(f"{count} {reason}" for reason, count in task.left_out.items())
        print_line(f"{task.name}: {task.rows} pairs{f'; omitted: {left_out}' if left_out else ''}")
    print_line(f"written to {exported.folder}; run there:")
    print_line(command)


_USES = {
    "export": Use(
        "Use a release or results in another program.",
        ("export lm-eval sssb@1.1.0 -o tasks", "export eee old.json -o records"),
    ),
    "export lm-eval": Use(
        "Run a release in the Language Model Evaluation Harness.",
        ("export lm-eval sssb@1.1.0 -o tasks", "export lm-eval example@1.0.0 -o tasks --json"),
    ),
    "export inspect": Use(
        "Run a release in Inspect.",
        ("export inspect sssb@1.1.0 -o tasks", "export inspect example@1.0.0 -o tasks -s choice-natural"),
    ),
    "export eee": Use(
        "Add results to the Every Eval Ever collection.",
        (
            "export eee old.json -o records",
            "export eee old.json -o old-eee.json --model jane/base",
        ),
    ),
    "export hub-eval": Use(
        "Show results on pages of the Hugging Face Hub.",
        (
            "export hub-eval old.json --dataset j/sssb --model j/base -o hub",
            "export hub-eval new.json --dataset j/sssb --model j/tuned -o hub",
        ),
    ),
}

COMMANDS = (
    AddedCommand(
        id="export",
        command=Group(
            "export",
            "Write releases and results for other programs and collections.",
            (
                Command(api.export, show_harness_tasks, as_dict, name="lm-eval"),
                Command(api.export_inspect, show_inspect_tasks, as_dict, name="inspect"),
                Command(api.export_every_eval_ever, show_records, name="eee"),
                Command(api.export_hub_results, show_records, name="hub-eval"),
            ),
        ),
        uses=_USES,
    ),
)
