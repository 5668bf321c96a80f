"""Holds a release against its manifest, and explains every difference."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from senseprobe.errors import DamagedRelease, DeclarationError
from senseprobe.records import Design, Finding
from senseprobe.release.form import printable
from senseprobe.release.hashing import ContentHash, combine
from senseprobe.release.manifest import NAME, Manifest, read_manifest
from senseprobe.release.reading import Release
from senseprobe.release.restoring import RESTORED, difference, read_restored
from senseprobe.release.schema import design_schema, plain

__all__ = ["FOREIGN", "Remade", "recipe_is_whole", "verify_rebuild", "verify_recipe", "verify_release"]

FOREIGN = (".gitattributes", ".gitignore", ".cache", ".huggingface", ".DS_Store")
"""Names that other tools leave in a downloaded folder; they are no part of a release."""


def verify_release(
    folder: Path, progress: Callable[[int], None] | None = None
) -> tuple[Manifest | None, list[Finding]]:
    """The manifest, and everything in which the release differs from it; `progress` hears bytes checked.

    Raises ReleaseError where there is no release, or one of a newer form.
    """
    try:
        manifest = read_manifest(folder)
    except DamagedRelease as error:
        return None, list(error.findings)
    findings = [*_files(folder, manifest, progress or (lambda size: None)), *_foreign(folder, manifest)]
    recipe = {name: sha for name, (_, sha) in manifest.files.items() if name.startswith("recipe/")}
    if combine(recipe) != manifest.data["recipe"]:
        findings.append(Finding(path=NAME, code="E406", message="recipe hash is not that of the recipe's files"))
    damaged = {finding.path.partition("/")[0] for finding in findings}
    for config in manifest.configs:
        if config not in damaged:
            findings.extend(_rows(Release(folder, manifest), config))
    contents = {config: str(manifest.config(config)["content"]) for config in manifest.configs}
    if combine(contents) != manifest.content:
        findings.append(Finding(path=NAME, code="E405", message="content hash is not that of the configs"))
    return manifest, findings


def recipe_is_whole(findings: Iterable[Finding]) -> bool:
    """Whether the recipe and the manifest are as they were frozen, so that a rebuild can say which rows are not."""
    return not {finding.path.partition("/")[0] for finding in findings} & {NAME, "recipe"}


def _files(folder: Path, manifest: Manifest, progress: Callable[[int], None]) -> Iterator[Finding]:
    restored = read_restored(folder, manifest)
    away = {
        config for config in manifest.configs if manifest.config(config)["rows"] and not [*folder.glob(f"{config}/*")]
    }
    for config in sorted(away):
        hint = f"`senseprobe restore {manifest.name}` makes its rows again"
        yield Finding(path=config, code="E402", message="has no rows here", hint=hint)
    for name, (size, sha256) in sorted(manifest.files.items()):
        if name.partition("/")[0] in away:
            continue
        found = difference(folder, name, size, sha256)
        if found and not (name in restored and difference(folder, name, *restored[name]) is None):
            yield Finding(path=name, code=found[0], message=found[1])
        progress(size)


def _foreign(folder: Path, manifest: Manifest) -> Iterator[Finding]:
    known = {*manifest.files, NAME, RESTORED}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        in_the_way = path.is_symlink() or not path.is_dir()
        if in_the_way and name.as_posix() not in known and not {*FOREIGN} & {*name.parts}:
            yield Finding(path=printable(name.as_posix()), code="E403", message="is not part of the release")


def _rows(release: Release, config: str) -> Iterator[Finding]:
    facts = release.manifest.config(config)
    content, rows = ContentHash(design_schema(release.design(config))), 0
    try:
        for batch in release.batches(config):
            content.update(batch)
            rows += batch.num_rows
    except DamagedRelease as error:
        yield from error.findings
        return
    if rows != facts["rows"]:
        yield Finding(path=config, code="E405", message=f"has {rows} rows, the manifest says {facts['rows']}")
    elif content.hexdigest() != facts["content"]:
        yield Finding(path=config, code="E405", message="content hash is not that of the rows")


def verify_rebuild(release: Release, config: str, rebuilt: Iterator[pa.RecordBatch]) -> list[Finding]:
    """Hold rows made again from the recipe against the frozen ones; names the first row and column that differ.

    Stops at the first difference: a recipe may have been changed into one that never ends.
    """
    try:
        pairs = _aligned(release.batches(config), map(plain, rebuilt))
        told = next((_first_difference(old, new) for old, new in pairs if old is None or old != new), None)
    except (DamagedRelease, DeclarationError) as error:
        return list(error.findings)
    return [Finding(path=config, code="E408", message=f"the recipe makes {told}")] if told else []


@dataclass(frozen=True, slots=True)
class Remade:
    """A config as its recipe makes it now."""

    rows: Iterator[pa.RecordBatch]
    design: Design
    levels: Mapping[str, int]


def verify_recipe(release: Release, configs: Container[str], again: Callable[[str], Remade]) -> Iterator[Finding]:
    """Hold a release against its recipe, which has these `configs` and makes one `again`."""
    for name in release.configs:
        if name not in configs:
            yield Finding(path=name, code="E408", message="is not in the recipe")
            continue
        made = again(name)
        yield from verify_rebuild(release, name, made.rows)
        yield from _verify_facts(release.manifest, name, made.design, made.levels)


def _verify_facts(manifest: Manifest, config: str, design: Design, levels: Mapping[str, int]) -> Iterator[Finding]:
    """Hold what a recipe says of a config, beside its rows, against the manifest."""
    if design != manifest.design(config):
        yield Finding(path=config, code="E408", message="the recipe makes another design than the manifest holds")
    frozen: Mapping[str, int] = manifest.config(config)["levels"]
    other = [name for name in sorted({*frozen, *levels}) if frozen.get(name) != levels.get(name)]
    if other:
        told = ", ".join(f"{levels.get(name)} of {printable(name)} instead of {frozen.get(name)}" for name in other)
        yield Finding(path=config, code="E408", message=f"the recipe has other levels than the manifest holds: {told}")


Batch: TypeAlias = pa.RecordBatch | None


def _aligned(frozen: Iterator[pa.RecordBatch], again: Iterator[pa.RecordBatch]) -> Iterator[tuple[Batch, Batch]]:
    """Both as pairs of equally many rows; the last pair holds None where one goes on and the other does not."""
    old, new = next(frozen, None), next(again, None)
    while old is not None and new is not None:
        rows = min(old.num_rows, new.num_rows)
        yield old.slice(0, rows), new.slice(0, rows)
        old = old.slice(rows) if rows < old.num_rows else next(frozen, None)
        new = new.slice(rows) if rows < new.num_rows else next(again, None)
    if old is not new:
        yield old, new


def _first_difference(old: Batch, new: Batch) -> str:
    if new is None:
        return f"fewer rows: the first that it lacks is {_id(old, 0)}"
    if old is None:
        return f"more rows: the first of them is {_id(new, 0)}"
    if old.schema != new.schema:
        return "other columns"
    row, _, name = min((_row(old[name], new[name]), at, name) for at, name in enumerate(old.schema.names))
    was, now = old[name][row].as_py(), new[name][row].as_py()
    return f"other rows: row {_id(old, row)}, column {name}: {now!r:.200} instead of {was!r:.200}"


def _row(old: pa.Array, new: pa.Array) -> int:
    """The first row in which two columns differ; their length where they are the same."""
    pairs = enumerate(zip(old.to_pylist(), new.to_pylist(), strict=True))
    return next((row for row, (was, now) in pairs if was != now), len(old))


def _id(batch: pa.RecordBatch, row: int) -> str:
    return printable(str(batch["id"][row].as_py()))[:200]
