"""One release after another: what changed, whether the later one's number says so, and ids that never come back."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from senseprobe.errors import DamagedRelease, DeclarationError, ReleaseError
from senseprobe.generator.recipe import open_recipe
from senseprobe.generator.retired import RETIRED, read_retired
from senseprobe.records import Finding
from senseprobe.release.changelog import entry
from senseprobe.release.diff import ReleaseDiff, Side, diff_releases
from senseprobe.release.form import printable
from senseprobe.release.hashing import ContentHash
from senseprobe.release.reading import Release, open_release
from senseprobe.release.schema import design_schema, plain
from senseprobe.release.versions import newest_lower

__all__ = ["approve", "changes"]


def changes(old: Release, new: Release, only: str | None = None) -> ReleaseDiff:
    """What changed from one release to another, or in the config `only`.

    Rows that a release does not keep are made again from its recipe. Raises DamagedRelease where rows are not those of
    the manifest, and ReleaseError where they cannot be had.
    """
    return diff_releases(_side(old), _side(new), only)


def _side(release: Release) -> Side:
    return Side(release.manifest, lambda config: _checked(release, config))


def _checked(release: Release, config: str) -> Iterator[pa.RecordBatch]:
    """The rows of a config, held against the content hash when the last was taken."""
    content = ContentHash(design_schema(release.design(config)))
    kept = not release.files(config) or any(path.exists() for path in release.files(config))
    for batch in release.batches(config) if kept else _remade(release, config):
        content.update(batch)
        yield batch
    if content.hexdigest() != release.manifest.config(config)["content"]:
        place, code = (config, "E405") if kept else (f"recipe of {config}", "E408")
        message = f"of {release.manifest.name}: rows are not those that the manifest tells of"
        raise DamagedRelease([Finding(path=place, code=code, message=message, hint="`senseprobe verify` says more")])


def _remade(release: Release, config: str) -> Iterator[pa.RecordBatch]:
    name = release.manifest.name
    try:
        catalogue = open_recipe(release.folder / "recipe", str(release.manifest.data["dataset"]))
    except (DeclarationError, ReleaseError) as error:
        message = f"{name} does not keep its rows, and its recipe cannot be used ({printable(str(error))[:200]})"
        hint = f"`senseprobe restore {name}` with senseprobe {release.manifest.data['senseprobe']} makes them again"
        raise ReleaseError(f"{message}: {hint}") from None
    found = [each for each in catalogue.configs if each.name == config]
    if not found:
        raise ReleaseError(f"{name} keeps neither the rows of {config} nor a recipe of them")
    yield from map(plain, catalogue.rows(found[0]))


def approve(made: Release, releases: Path) -> str | None:
    """What changed since the newest lower one of a dataset's `releases`, in Markdown; None where there is none.

    Raises ReleaseError where the release just made may not follow it: its number is too low for what changed, or an id
    that was retired is no longer listed.
    """
    before = newest_lower(releases, str(made.manifest.data["version"]))
    if before is None:
        return None
    try:
        older = open_release(before)
        _approve_retired(made, older)
        found = changes(older, made)
    except DamagedRelease as error:
        raise ReleaseError(f"cannot tell what changed since {before}: {error.findings[0]}") from error
    if found.enough is False:
        first = found.reasons[0]
        message = f"{found.new} is too low a number: since {found.old}, {printable(first.text)} ({first.bump.upper()})"
        raise ReleaseError(f"{message}: {found.version} or higher; nothing was written")
    return entry(found)


def _approve_retired(made: Release, older: Release) -> None:
    was, now = (
        read_retired(release.folder / "recipe" / "templates" / str(release.manifest.data["dataset"]))
        for release in (older, made)
    )
    if lost := [name for name in was if name not in now]:
        message = f"{printable(lost[0])} is in the {RETIRED} of {older.manifest.name} and no longer in yours"
        raise ReleaseError(f"{message}: put it back, as a retired id never comes back")
