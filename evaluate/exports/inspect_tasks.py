"""A release as tasks of Inspect, which then gives `preference-half` and `content-mean` of the scorers `choice-…`.

What is written needs inspect_ai alone: prompts as templates, pairs, and code that asks and reads as
evaluate/served/conversation.py does. Tests hold the one against the other, on the same server.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from senseprobe.atomic_files import write_new_folder
from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.estimands.kernel import KernelRows
from senseprobe.evaluate.estimands.preference import PREFERENCE_HALF
from senseprobe.evaluate.exports.lm_eval_tasks import (
    Exported,
    Task,
    add_data,
    labelled_pairs,
    licence_of,
    release_facts,
    task_stem,
)
from senseprobe.evaluate.served.conversation import (
    ALPHABETS,
    CONSTRUCTS,
    PROMPTS,
    REPLY_TOKENS,
    TOP,
    choice_question,
    variants_of,
)
from senseprobe.evaluate.served.wire import DIALECTS
from senseprobe.evaluate.task_gates import GATES
from senseprobe.messages import offered
from senseprobe.release.release import Release

INSPECT = "0.3.285"
"""The version of inspect_ai that the tasks are tested with."""

SCORERS = {f"choice-{construct}": wording for construct, wording in CONSTRUCTS.items()}
"""What they can ask, by the id of the scorer: the question in words."""

_TASKS, _README = ((files(__package__) / "inspect" / name).read_text("utf-8") for name in ("tasks.py.txt", "README.md"))
# What kinds of servers are sent; transformers serve gives no log-probabilities, without which there is no choice.
_SERVERS = {
    kind: dict(dialect.fields) for kind, dialect in DIALECTS.items() if dialect.fields and kind != "transformers serve"
}
_TASK = '''

@task(name={name})
def {function}(noise: float = 0.0, server: str = "") -> Task:
    """Ask about the pairs of a config."""
    return choice_task({config}, noise, server)
'''


def export(release: Release, config: str | None, folder: Path, scorer: str = "choice-likely") -> Exported:
    """Write the configs of a verified release, or one of them, as tasks into `folder`, which must not exist.

    The same release makes the same bytes. Raises SenseprobeError where `scorer` is none of `SCORERS`, no config has
    labelled pairs, or `folder` exists or cannot be written; nothing is left behind then.
    """
    if scorer not in SCORERS:
        raise SenseprobeError(f"there are no Inspect tasks for the scorer {scorer!r}: {offered(scorer, SCORERS)}")
    pairs, skipped = labelled_pairs(release, config, "Inspect")
    stem, files = task_stem(release), dict[str, bytes]()
    configs = {name: _add_rows(files, release, name, kernel) for name, kernel in pairs.items()}
    tasks = tuple(
        Task(f"{stem}_{name}_{scorer}", name, facts["rows"], facts["left_out"]) for name, facts in configs.items()
    )
    described = {**_facts(release, scorer), "configs": configs}
    files["release.json"] = (json.dumps(described, ensure_ascii=False, indent=1) + "\n").encode()
    # Inspect finds the functions that make tasks by reading the file.
    functions = (
        _TASK.format(name=json.dumps(task.name), function=f"task_{number}", config=json.dumps(task.config))
        for number, task in enumerate(tasks)
    )
    files["tasks.py"] = "".join([_TASKS, *functions]).encode()
    files["README.md"] = _readme(release, scorer, tasks).encode()
    write_new_folder(folder, files)
    return Exported(folder, "tasks.py" if len(tasks) > 1 else f"tasks.py@{tasks[0].name}", tasks, skipped)


def _add_rows(files: dict[str, bytes], release: Release, config: str, pairs: KernelRows) -> dict[str, Any]:
    """Add the pairs of a config, and return what is to be known of them."""
    rows = zip(*(pairs.table[column] for column in ("id", "stereo", "anti")), strict=True)
    canary, neutral = release_facts(release)["canary"], PREFERENCE_HALF.neutral_value(pairs, release.design(config))
    lines = ({"id": row, "stereo": stereo, "anti": anti, "canary": canary} for row, stereo, anti in rows)
    file, digest = add_data(files, config, lines)
    return {
        "file": file,
        "data_sha256": digest,
        "config_content": release.manifest.config(config)["content"],
        "rows": len(pairs.table),
        "left_out": dict(pairs.tally.left_out),
        "neutral": "none known" if neutral is None else f"preference_half = {neutral}, content_mean = {neutral}",
    }


def _facts(release: Release, scorer: str) -> dict[str, Any]:
    """Return what all tasks have in common: what is asked and how, with the names that templates have for sentences."""
    questions = [choice_question(SCORERS[scorer], "{first}", "{second}", alphabet) for alphabet in ALPHABETS]
    return {
        **release_facts(release),
        "licence": licence_of(release),
        "scorer": scorer,
        "prompts": PROMPTS,
        "top": TOP,
        "tokens": REPLY_TOKENS,
        "variants": variants_of("{}"),
        "questions": [{"prompt": question.prompt, "labels": question.labels} for question in questions],
        "servers": _SERVERS,
    }


def _readme(release: Release, scorer: str, tasks: tuple[Task, ...]) -> str:
    return _README.format(
        name=release.manifest.name,
        content=release.manifest.content,
        licence=licence_of(release),
        canary=release_facts(release)["canary"],
        inspect=INSPECT,
        scorer=scorer,
        prompts=PROMPTS,
        task=tasks[0].name,
        servers=", ".join(f"`{kind}`" for kind in _SERVERS),
        **{gate: f"{GATES[gate].threshold:g}" for gate in ("consistent", "reliability", "mass", "censored")},
    )
