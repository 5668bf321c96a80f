"""Writes a release: rows, card, recipe, manifest; beside its final name, and renamed when whole."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from senseprobe.errors import ReleaseError
from senseprobe.files import whole_folder
from senseprobe.records import Contrast, Design
from senseprobe.release import card
from senseprobe.release.hashing import ContentHash, combine, file_sha256
from senseprobe.release.manifest import NAME, Manifest, read_manifest, record
from senseprobe.release.parquet import write_rows

__all__ = ["ConfigPlan", "Plan", "freeze"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigPlan:
    """A config to be frozen: its rows, made when asked for, and what is known of them."""

    name: str
    size: int
    schema: pa.Schema
    rows: Callable[[], Iterator[pa.RecordBatch]]
    design: Design
    levels: Mapping[str, int]
    description: str
    expect: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A dataset to be frozen at a version. `recipe` maps paths to bytes and is asked after all rows were made."""

    dataset: str
    version: str
    card: Mapping[str, Any]
    configs: tuple[ConfigPlan, ...]
    contrasts: tuple[Contrast, ...]
    recipe: Callable[[], Mapping[str, bytes]]
    senseprobe: str


def freeze(plan: Plan, folder: Path, progress: Callable[[int], None] | None = None) -> Manifest:
    """Write the release into `folder`, which must not exist; `progress` hears how many rows were written.

    Raises ReleaseError where the version exists or cannot be written; nothing is left behind then.
    """
    try:
        with whole_folder(folder) as partial:
            return _write(plan, partial, progress or (lambda rows: None))
    except FileExistsError as error:
        if not folder.is_dir():
            raise ReleaseError(f"cannot write {folder}: {error.strerror}; nothing was changed") from error
        message = f"{plan.dataset} {plan.version} exists in {folder}: a release is never overwritten, raise the version"
        raise ReleaseError(message) from error
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or error
        raise ReleaseError(f"cannot write {folder}: {reason}; nothing was changed") from error


def _write(plan: Plan, folder: Path, progress: Callable[[int], None]) -> Manifest:
    metadata = {"canary": plan.card["canary"], "release": f"{plan.dataset}@{plan.version}"}
    contents = {config.name: _write_rows(config, folder, metadata, progress) for config in plan.configs}
    for path, data in plan.recipe().items():
        target = folder / "recipe" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    configs = {config.name: _facts(config, contents[config.name]) for config in plan.configs}
    facts = {
        "dataset": plan.dataset,
        "version": plan.version,
        "senseprobe": plan.senseprobe,
        "writer": {"pyarrow": pa.__version__},
        "card": dict(plan.card),
        "order": [config.name for config in plan.configs],
        "configs": configs,
        "contrasts": [record(contrast) for contrast in plan.contrasts],
        "content": combine(contents),
    }
    (folder / "README.md").write_text(card.render(facts), encoding="utf-8")
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    entries = {name: {"bytes": path.stat().st_size, "sha256": file_sha256(path)} for name, path in files.items()}
    recipe = {name: entry["sha256"] for name, entry in entries.items() if name.startswith("recipe/")}
    manifest = Manifest.of({**facts, "files": entries, "recipe": combine({k: str(v) for k, v in recipe.items()})})
    (folder / NAME).write_bytes(manifest.dump())
    return read_manifest(folder)  # nothing is frozen that readers would refuse


def _facts(config: ConfigPlan, content: str) -> dict[str, Any]:
    return {
        "rows": config.size,
        "content": content,
        "design": record(config.design),
        "levels": dict(config.levels),
        "description": config.description,
        "expect": dict(config.expect),
    }


def _write_rows(config: ConfigPlan, folder: Path, metadata: Mapping[str, str], progress: Callable[[int], None]) -> str:
    """Write a config's Parquet files; returns its content hash."""
    content = ContentHash(config.schema)

    def told(group: pa.RecordBatch) -> None:
        content.update(group)
        progress(group.num_rows)

    write_rows(folder / config.name, config.schema.with_metadata(dict(metadata)), config.size, config.rows(), told)
    return content.hexdigest()
