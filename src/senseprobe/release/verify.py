"""Holds a release against its manifest, and explains every difference."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.records import Finding
from senseprobe.release.hashing import ContentHash, combine
from senseprobe.release.manifest import NAME, Manifest, read_manifest
from senseprobe.release.reading import Release
from senseprobe.release.restoring import RESTORED, difference, read_restored
from senseprobe.release.schema import design_schema
from senseprobe.wording import printable

__all__ = ["FOREIGN", "cited", "is_foreign", "recipe_is_whole", "verify_release"]

_CITED = re.compile(r"[0-9a-fA-F]{12,64}")

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


def cited(manifest: Manifest, content: str) -> Iterator[Finding]:
    """A finding where the content hash is not the one that somebody cites, in full or its first digits."""
    if not _CITED.fullmatch(content):
        raise ReleaseError(f"{content!r} is no content hash: expected 64 hexadecimal digits, or the first 12 or more")
    if not manifest.content.startswith(content.lower()):
        yield Finding(path=NAME, code="E405", message=f"content hash is {manifest.content}, and not {content}")


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
        if found and name in restored and (found := difference(folder, name, *restored[name])):
            found = found[0], f"{found[1]}, nor is it what was restored"
        if found:
            yield Finding(path=name, code=found[0], message=found[1])
        progress(size)


def _foreign(folder: Path, manifest: Manifest) -> Iterator[Finding]:
    known = {*manifest.files, NAME, RESTORED}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        in_the_way = path.is_symlink() or not path.is_dir()
        if in_the_way and name.as_posix() not in known and not is_foreign(name.as_posix()):
            yield Finding(path=printable(name.as_posix()), code="E403", message="is not part of the release")


def is_foreign(name: str) -> bool:
    """Whether a file is one that other tools leave; what ends in .parquet is not, as readers would take it for rows."""
    return bool({*FOREIGN} & {*name.split("/")}) and not name.endswith(".parquet")


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
