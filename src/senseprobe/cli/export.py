"""What export prints: releases as tasks, and results as records, for other programs."""

from pathlib import Path
from typing import TYPE_CHECKING

from senseprobe.cli.console import complain, print_line, print_note

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
        complain(f"{name} is left out: {reason}")
    for task in exported.tasks:
        left_out = ", ".join(f"{count} {reason}" for reason, count in task.left_out.items())
        print_line(f"{task.name}: {task.rows} pairs{f'; left out: {left_out}' if left_out else ''}")
    print_line(f"written to {exported.folder}; to be run there, by")
    print_line(command)
