"""Compares a release with earlier ones: what changed, whether its number is high enough, and retired ids."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.errors import DamagedRelease, ReleaseError, SenseprobeError
from senseprobe.generator.exclusions import RETIRED, read_retired
from senseprobe.messages import printable
from senseprobe.records import Finding
from senseprobe.release.annotation_record import ANNOTATION, Round, read_annotation
from senseprobe.release.changelog import ReleaseDiff, render_entry
from senseprobe.release.diff import Side, diff_releases
from senseprobe.release.hashing import file_finding
from senseprobe.release.parquet import Rows
from senseprobe.release.release import Release, earlier_releases, open_release
from senseprobe.release.restore import recipe_damage, remake_rows
from senseprobe.release.verdicts import VERDICTS, Verdict, read_verdicts

RowsOf = Callable[[Path, str], Mapping[str, Rows]]  # from a recipe's folder and its dataset: the rows of each config


def diff_versions(old: Release, new: Release, rows_of: RowsOf, only: str | None = None) -> ReleaseDiff:
    """Return what changed between releases; rows that a release does not store are made again from its recipe."""
    before, after = (
        Side(r.manifest, partial(_checked, r, rows_of), partial(_verdicts, r), partial(_rounds, r)) for r in (old, new)
    )
    return diff_releases(before, after, only)


def _verdicts(release: Release) -> Mapping[str, Verdict]:
    """Return the verdicts by which rows were left out; raise DamagedRelease where the file is not the frozen one."""
    filtered = any("expanded" in release.manifest.config(config) for config in release.configs)
    name = _frozen_file(release, VERDICTS) if filtered else None
    return read_verdicts(release.folder / name, name) if name else {}


def _rounds(release: Release) -> tuple[Round, ...]:
    """Return the rounds in which people looked at rows; raise DamagedRelease where the file is not the frozen one."""
    name = _frozen_file(release, ANNOTATION)
    return read_annotation(release.folder / name, name) if name else ()


def _frozen_file(release: Release, file: str) -> str | None:
    """Return the name of a file beside the templates in the recipe; None where there is none."""
    name = f"recipe/templates/{release.manifest.data['dataset']}/{file}"
    entry = release.manifest.files.get(name)
    if entry and (finding := file_finding(release.folder, name, *entry)):
        raise DamagedRelease([finding])
    return name if entry else None


def _checked(release: Release, rows_of: RowsOf, config: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a config, and compare their content hash with the manifest after the last."""
    content, stored = release.manifest.content_hash(config), release.keeps(config)
    for batch in release.batches(config) if stored else _remade(release, rows_of, config):
        content.update(batch)
        yield batch
    if content.hexdigest() != release.manifest.config(config)["content"]:
        path, code = (config, "E405") if stored else (f"recipe of {config}", "E408")
        message = f"the rows of {release.manifest.name} do not match its manifest"
        raise DamagedRelease([Finding(path=path, code=code, message=message, hint="run `senseprobe verify`")])


def _remade(release: Release, rows_of: RowsOf, config: str) -> Iterator[pa.RecordBatch]:
    name, data = release.manifest.name, release.manifest.data
    if findings := recipe_damage(release):
        raise DamagedRelease(findings)
    try:
        rows = rows_of(release.folder / "recipe", str(data["dataset"])).get(config)
    except SenseprobeError as error:
        message = f"{name} does not contain its rows, and its recipe cannot be used ({printable(str(error))[:200]})"
        hint = f"`senseprobe verify --restore {name}` with senseprobe {data['senseprobe']} makes them again"
        raise ReleaseError(f"{message}: {hint}") from None
    if rows is None:
        raise ReleaseError(f"{name} contains neither the rows of {config} nor a recipe for them")
    yield from remake_rows(release.manifest, config, rows)


def approve(
    release: Release, folders: Iterable[Path], rows_of: RowsOf, notify: Callable[[str], None] | None = None
) -> str | None:
    """Return what changed since the newest lower release, in Markdown; raise ReleaseError if the new may not follow.

    `notify` hears it where nothing changed.
    """
    earlier = earlier_releases(folders, str(release.manifest.data["version"]))
    if not earlier:
        return None
    before = earlier[-1]
    try:
        older = open_release(before)
        _check_retired(release, older, [open_release(path) for path in earlier], rows_of)
        diff = diff_versions(older, release, rows_of)
    except DamagedRelease as error:
        raise ReleaseError(f"cannot tell what changed since {before}: {error.findings[0]}") from error
    if diff.enough is False:
        first = diff.reasons[0]
        message = f"{diff.new} is too low: since {diff.old}, {printable(first.text)} ({first.bump.upper()})"
        raise ReleaseError(f"{message}. Use {diff.version} or higher; nothing was written")
    if not diff.reasons and notify:
        notify(f"{diff.new} has the same rows, card and recipe as {diff.old}")
    return render_entry(diff)


def _check_retired(new: Release, older: Release, earlier: Iterable[Release], rows_of: RowsOf) -> None:
    """Raise ReleaseError where an id is no longer listed as retired, unless no release ever had it."""
    before, now = (
        read_retired(release.folder / "recipe" / "templates" / str(release.manifest.data["dataset"]))
        for release in (older, new)
    )
    removed = pa.array([name for name in before if name not in now], pa.string())
    for release in earlier if len(removed) else ():
        for batch in (batch for config in release.configs for batch in _checked(release, rows_of, config)):
            if len(used := batch["id"].filter(pc.is_in(batch["id"], value_set=removed))):
                message = f"{printable(used[0].as_py())} is in the {RETIRED} of {older.manifest.name}"
                raise ReleaseError(f"{message} but not in yours: put it back, because a retired id never comes back")
