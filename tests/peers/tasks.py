"""What lm-eval makes of a folder of tasks, for some models: JSON on standard input, JSON on standard output.

`exports/test_lm_eval_tasks.py` runs it with the Python of an environment of its own, in the folder; nothing of
senseprobe is in here.
In: {"task": name, "models": {name: folder}}. Out, by model: the accuracy, and of each pair the two numbers by its id.
"""

import json
import sys
from typing import Any, TypeAlias

from lm_eval import simple_evaluate  # type: ignore[import-not-found, import-untyped, unused-ignore]
from lm_eval.tasks import TaskManager  # type: ignore[import-not-found, import-untyped, unused-ignore]

# What lm-eval takes and gives, without types that are of use.
Foreign: TypeAlias = Any


def run(task: str, folder: str, manager: Foreign) -> dict[str, Any]:
    """Evaluate one model."""
    arguments = {"pretrained": folder, "dtype": "float64"}
    found = simple_evaluate(
        model="hf",
        model_args=arguments,
        tasks=[task],
        task_manager=manager,
        batch_size=3,
        device="cpu",
        log_samples=True,
        bootstrap_iters=0,
    )
    samples = {
        sample["doc"]["id"]: [value for value, _ in sample["filtered_resps"]] for sample in found["samples"][task]
    }
    return {"acc": found["results"][task]["acc,none"], "samples": samples}


def main() -> None:
    """Answer what is asked."""
    asked = json.load(sys.stdin)
    manager = TaskManager(include_path=".", include_defaults=False)
    found = {name: run(asked["task"], folder, manager) for name, folder in asked["models"].items()}
    print(json.dumps(found))  # noqa: T201 - the last line, after what lm-eval prints


if __name__ == "__main__":
    main()
