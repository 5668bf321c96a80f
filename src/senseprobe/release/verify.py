"""Holds a release against its manifest, and explains every difference."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from senseprobe.errors import DamagedRelease
from senseprobe.records import Finding
from senseprobe.release.hashing import ContentHash, combine, file_sha256
from senseprobe.release.manifest import NAME, Manifest, read_manifest
from senseprobe.release.reading import Release

__all__ = ["FOREIGN", "verify_rebuild", "verify_release"]

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
    damaged = {finding.path for finding in findings}
    for config in manifest.configs:
        if not any(path.startswith(f"{config}/") for path in damaged):
            findings.extend(_rows(Release(folder, manifest), config))
    contents = {config: str(manifest.config(config)["content"]) for config in manifest.configs}
    if combine(contents) != manifest.content:
        findings.append(Finding(path=NAME, code="E405", message="content hash is not that of the configs"))
    return manifest, findings


def _files(folder: Path, manifest: Manifest, progress: Callable[[int], None]) -> Iterator[Finding]:
    for name, (size, sha256) in sorted(manifest.files.items()):
        path = folder / name
        if path.is_symlink() or not path.is_file():
            yield Finding(path=name, code="E402", message="is missing" if not path.exists() else "is no plain file")
        elif (found := path.stat().st_size) != size:
            yield Finding(path=name, code="E404", message=f"has {found} bytes, the manifest says {size}")
        elif file_sha256(path) != sha256:
            yield Finding(path=name, code="E404", message="differs from what was frozen (sha256)")
        progress(size)


def _foreign(folder: Path, manifest: Manifest) -> Iterator[Finding]:
    known = {*manifest.files, NAME}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if not path.is_dir() and name.as_posix() not in known and name.parts[0] not in FOREIGN:
            yield Finding(path=name.as_posix(), code="E403", message="is not part of the release")


def _rows(release: Release, config: str) -> Iterator[Finding]:
    facts = release.manifest.config(config)
    try:
        batches = release.batches(config)
        first = next(batches, None)
        content, rows = _hash(first, batches)
    except DamagedRelease as error:
        yield from error.findings
        return
    if rows != facts["rows"]:
        yield Finding(path=config, code="E405", message=f"has {rows} rows, the manifest says {facts['rows']}")
    elif content != facts["content"]:
        yield Finding(path=config, code="E405", message="content hash is not that of the rows")


def _hash(first: pa.RecordBatch | None, rest: Iterator[pa.RecordBatch]) -> tuple[str, int]:
    if first is None:
        return "", 0
    content, rows = ContentHash(first.schema.remove_metadata()), 0
    for batch in (first, *rest):
        content.update(batch)
        rows += batch.num_rows
    return content.hexdigest(), rows


def verify_rebuild(release: Release, config: str, rebuilt: Iterator[pa.RecordBatch]) -> list[Finding]:
    """Hold rows made again from the recipe against the frozen ones; names the first row and column that differ."""
    frozen = pa.Table.from_batches(release.batches(config)).replace_schema_metadata(None)
    again = pa.Table.from_batches(rebuilt)
    if again.equals(frozen):
        return []
    return [
        Finding(path=config, code="E408", message=f"the recipe makes other rows: {_first_difference(frozen, again)}")
    ]


def _first_difference(frozen: pa.Table, again: pa.Table) -> str:
    if frozen.num_rows != again.num_rows:
        return f"{again.num_rows} instead of {frozen.num_rows}"
    if frozen.schema != again.schema:
        return "with other columns"
    for name in frozen.column_names:
        for row, (old, new) in enumerate(zip(frozen[name].to_pylist(), again[name].to_pylist(), strict=True)):
            if old != new:
                return f"row {frozen['id'][row].as_py()}, column {name}: {new!r} instead of {old!r}"
    return "in a way that no value shows"
