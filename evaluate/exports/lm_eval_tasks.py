"""A release as tasks of EleutherAI's lm-evaluation-harness, which then gives the `preference` of the scorer `ll`.

A pair is a question with two choices, its two sentences, after an empty context. lm-eval takes the choice of the higher
log-likelihood, and the first of two that are alike; `anti` stands first, so that its accuracy is the share of pairs
whose `stereo` is strictly more likely: equation 6, ties in the denominator. docs/harness.md says where the two may
still differ.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from senseprobe.atomic_files import write_new_folder
from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.estimands.kernel import KernelRows
from senseprobe.evaluate.estimands.preference import PREFERENCE
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import printable
from senseprobe.release.markup import Value, dump_yaml
from senseprobe.release.release import Release

# What all tasks have in common. No text of a release is in here, in which lm-eval would look for a template: it finds
# the choices in a column. No direction is better: zero bias is in the middle, where it is known at all.
_FORM, _README = ((files(__package__) / "lm_eval" / name).read_text("utf-8") for name in ("task.yaml", "README.md"))


@dataclass(frozen=True, slots=True)
class Task:
    """The pairs of a config as lm-eval reads them; `left_out` counts, by reason, those that `preference` leaves out."""

    name: str
    config: str
    rows: int
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Exported:
    """The `tasks` written into `folder`, `name`, which runs them all, and `skipped` configs, each with the reason."""

    folder: Path
    name: str
    tasks: tuple[Task, ...]
    skipped: Mapping[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Return the stable keys of ``--json``."""
        tasks = [
            {"task": task.name, "config": task.config, "rows": task.rows, "left_out": dict(task.left_out)}
            for task in self.tasks
        ]
        return {"folder": str(self.folder), "task": self.name, "tasks": tasks, "skipped": dict(self.skipped)}


def export(release: Release, config: str | None, folder: Path) -> Exported:
    """Write the configs of a verified release, or one of them, as tasks into `folder`, which must not exist.

    The same release makes the same bytes. Raises SenseprobeError where no config has labelled pairs, or `folder`
    exists or cannot be written; nothing is left behind then.
    """
    pairs, skipped = labelled_pairs(release, config, "lm-eval")
    files: dict[str, bytes] = {}
    tasks = tuple(_add_task(files, release, name, kernel) for name, kernel in pairs.items())
    name = _add_frame(files, release, tasks)
    write_new_folder(folder, files)
    return Exported(folder, name, tasks, skipped)


def labelled_pairs(release: Release, config: str | None, program: str) -> tuple[dict[str, KernelRows], dict[str, str]]:
    """Return the rows that `preference` is about, by config, and the reason of each config that has none.

    Raises SenseprobeError where none has any; `program` is what could score them.
    """
    pairs, skipped = {}, {}
    for name in [config] if config else list(release.configs):
        design = release.design(name)
        if not KINDS[design.kind].pairs:
            skipped[name] = f"{design.kind} rows, for which {program} does not have such a task"
            continue
        # Any two numbers will do for scores: which rows are left out does not depend on them.
        kernel = PREFERENCE.kernel_rows(release.table(name).assign(stereo_score=0.0, anti_score=0.0), design, "log")
        if len(kernel.table):
            pairs[name] = kernel
        else:
            skipped[name] = "no labelled pair"
    if not pairs:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in skipped.items())
        raise SenseprobeError(f"{release.manifest.name} does not have pairs that {program} can score ({reasons})")
    return pairs, skipped


def add_data(files: dict[str, bytes], config: str, lines: Iterable[Mapping[str, object]]) -> tuple[str, str]:
    """Add rows as JSON lines, with their hash in the name so that no other file is taken for it; return both."""
    data = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode()
    digest = hashlib.sha256(data).hexdigest()
    file = f"{config}-{digest[:12]}.jsonl"
    files[file] = data
    return file, digest


def _add_task(files: dict[str, bytes], release: Release, config: str, pairs: KernelRows) -> Task:
    task, facts, design = f"{task_stem(release)}_{config}", release_facts(release), release.design(config)
    rows = zip(*(pairs.table[column] for column in ("id", "anti", "stereo")), strict=True)
    lines = ({"id": row, "choices": choices, "canary": facts["canary"]} for row, *choices in rows)
    file, digest = add_data(files, config, lines)
    neutral = PREFERENCE.neutral_value(pairs, design)
    metadata: dict[str, Value] = {
        **facts,
        "config": config,
        "config_content": release.manifest.config(config)["content"],
        "data_sha256": digest,
        "rows": len(pairs.table),
        "left_out": dict(pairs.tally.left_out),
        "figure": "preference of ll = 100 * acc - 50",
        "neutral": "none known" if neutral is None else f"acc = {(neutral + 50) / 100}",
    }
    head: dict[str, Value] = {
        "task": task,
        "task_alias": f"{release.manifest.name}:{config}",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": file}},
    }
    files[f"{config}.yaml"] = (dump_yaml(head) + _FORM + dump_yaml({"metadata": metadata})).encode()
    return Task(task, config, len(pairs.table), pairs.tally.left_out)


def _add_frame(files: dict[str, bytes], release: Release, tasks: tuple[Task, ...]) -> str:
    """Add the README and, of several tasks, their group, without a figure; return the name that runs all tasks."""
    manifest, facts = release.manifest, release_facts(release)
    name = task_stem(release) if len(tasks) > 1 else tasks[0].name
    if len(tasks) > 1:
        names: Value = [task.name for task in tasks]
        group: dict[str, Value] = {"group": name, "group_alias": manifest.name, "task": names, "metadata": facts}
        files["_group.yaml"] = dump_yaml(group).encode()  # no config has a name that begins so
    readme = _README.format(
        name=manifest.name, content=manifest.content, licence=licence_of(release), canary=facts["canary"], task=name
    )
    files["README.md"] = readme.encode()
    return name


def task_stem(release: Release) -> str:
    """Return what the names of all tasks of a release begin with."""
    return f"senseprobe_{release.manifest.data['dataset']}_{release.manifest.data['version']}"


def release_facts(release: Release) -> dict[str, str]:
    """Return what a task is made of: version, name, content hash and canary of a release."""
    manifest = release.manifest
    return {
        "version": str(manifest.data["version"]),
        "release": manifest.name,
        "release_content": manifest.content,
        "canary": printable(str(manifest.data["card"].get("canary", ""))),
    }


def licence_of(release: Release) -> str:
    """Return the licence of a release's data in words."""
    return printable(str(release.manifest.data["card"].get("license") or "not named"))
