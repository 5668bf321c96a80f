"""Rows of a release that ships only manifest and recipe are made again, if there is space for them.

Two versions of pyarrow write the same rows as different bytes, so restored files may differ from those that were
frozen. Their rows may not: each config is compared with its content hash before its folder gets its name.
"""

import json
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, ValidationError

from senseprobe.atomic_files import locked, read_plain, write_whole
from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.messages import counted, sized
from senseprobe.records import Finding
from senseprobe.release.freeze import file_entries, metadata, whole_release
from senseprobe.release.hashing import ContentHash, file_sha256
from senseprobe.release.manifest import MAX_BYTES, NAME, FileEntry, Manifest
from senseprobe.release.parquet import Rows, files_of, is_file_name, sample_bytes, write_rows
from senseprobe.release.release import Release
from senseprobe.release.schema import design_schema

MOST_ROWS = 10**9
"""The most rows that are written without `force`: some 5 GB of Parquet, and an hour."""

SAMPLE_ROWS = 16_384
"""Rows of a config that are expanded and written in memory, to estimate the bytes of all of them."""

Notify = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """What is to be written into `folder`: `rows`, and the `bytes` of their files, which may be an estimate."""

    name: str
    rows: int
    bytes: int
    estimated: bool
    folder: Path

    @property
    def free(self) -> int:
        """Bytes that may still be written where the folder is, or will be."""
        existing = next(path for path in (self.folder, *self.folder.absolute().parents) if path.is_dir())
        return shutil.disk_usage(existing).free

    def __str__(self) -> str:
        kind = "an estimated " if self.estimated else ""
        free = f"{sized(self.free)} are free in {self.folder.parent}"
        return f"{self.name}: {counted(self.rows, 'row')}, {kind}{sized(self.bytes)}; {free}"

    def check(self, *, force: bool = False, notify: Notify | None = None) -> None:
        """Pass the size as text to `notify`; raise ReleaseError for too many rows or bytes, unless `force`."""
        reasons = [f"these are more than {MOST_ROWS:,} rows"] if self.rows > MOST_ROWS else []
        reasons += ["they would not fit"] if self.bytes > self.free else []
        if reasons and not force:
            raise ReleaseError(f"{self}: {' and '.join(reasons)}; nothing was written (--force writes all the same)")
        if notify is not None:
            notify(str(self))


def estimate_bytes(configs: Mapping[str, tuple[Rows, pa.Schema]], sizes: Mapping[str, int]) -> int:
    """Estimate the bytes of the files of some `sizes` of rows, by config, from the first SAMPLE_ROWS of each.

    The shipped releases have between 0.7 and 1.25 times as many bytes, written by the same pyarrow.
    """
    total = 0
    for name, (rows, schema) in configs.items():
        if count := min(sizes[name], SAMPLE_ROWS):
            total += sample_bytes(schema, rows(0, count)) * sizes[name] // count
    return total


RESTORED = "restored.json"
"""The file with size and sha256 of restored files whose bytes are not those that were frozen."""


class _Restored(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    files: dict[str, FileEntry]


def restore_rows(
    release: Release,
    target: Path,
    rows_of: Callable[[Path], Mapping[str, Rows]],
    progress: Callable[[int], None] | None = None,
    *,
    force: bool = False,
    notify: Notify | None = None,
) -> Release:
    """Make the configs that `target` lacks; an interrupted run goes on with the next config.

    `rows_of` returns for a recipe's folder the function that makes the rows of each config; `progress` is called with
    how many were written, `notify` with the size. Raises DamagedRelease where the recipe is not what was frozen, or
    makes other rows, and ReleaseError where the rows do not fit, cannot be written, or another process restores the
    same release there: each would overwrite the other's notes of its files.
    """
    if findings := recipe_damage(release):
        raise DamagedRelease(findings)
    manifest, restored = release.manifest, Release(target, release.manifest)
    with _lock(target, manifest.name):
        if target.resolve() != release.folder.resolve():
            _copy_all_but_rows(release, target)
        away = [config for config in manifest.configs if not _has_rows(target, config, manifest)]
        if away:
            _size(target, manifest, away).check(force=force, notify=notify)
        rows = rows_of(target / "recipe")
        for config in away:
            _restore(restored, config, rows.get(config), progress or (lambda n: None))
            _note(target, config, manifest)
    return restored


@contextmanager
def _lock(target: Path, name: str) -> Iterator[None]:
    try:
        with locked(target):
            yield
    except BlockingIOError as error:
        advice = "wait for it to end, and run again to see that all rows are there"
        raise ReleaseError(f"another process is restoring {name} in {target}: {advice}") from error


def _copy_all_but_rows(release: Release, target: Path) -> None:
    manifest = release.manifest
    if (target / NAME).exists() and (target / NAME).read_bytes() != manifest.dump():
        raise ReleaseError(f"{target} holds another release: nothing was changed")
    for name in (*_files_without_rows(manifest), NAME):
        write_whole(target / name, (release.folder / name).read_bytes(), follow=False)


def _size(target: Path, manifest: Manifest, configs: Collection[str]) -> Size:
    files = [size for name, (size, _) in manifest.files.items() if name.partition("/")[0] in configs]
    rows = sum(manifest.expanded(config) for config in configs)
    return Size(name=manifest.name, rows=rows, bytes=sum(files), estimated=False, folder=target)


def _has_rows(target: Path, config: str, manifest: Manifest) -> bool:
    """Return whether the files of a config are there; remove its folder if it is empty.

    Raises DamagedRelease where they are not what was frozen or restored, and ReleaseError where some are missing.
    """
    folder, rows = target / config, manifest.expanded(config)
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if folder.is_dir() and not names and rows:
        folder.rmdir()
    frozen = sorted(name.partition("/")[2] for name in manifest.files if name.startswith(f"{config}/"))
    is_complete = len(names) == files_of(rows) and all(is_file_name(name, rows) for name in names)
    if names and names != frozen and not is_complete:
        raise ReleaseError(f"{folder} does not hold the files of its rows: remove it, and restore them again")
    noted = read_restored(target, manifest)
    for name in (f"{config}/{name}" for name in names):
        entries = [entry for entry in (manifest.files.get(name), noted.get(name)) if entry]
        findings = [file_finding(target, name, *entry) for entry in entries]
        if all(findings):
            unlisted = Finding(path=name, code="E403", message="is not part of the release")
            first = next(filter(None, findings), unlisted)
            raise DamagedRelease([replace(first, hint="remove the folder first")])
    return folder.is_dir()


def _files_without_rows(manifest: Manifest) -> list[str]:
    return [name for name in manifest.files if name.partition("/")[0] not in manifest.configs]


def recipe_damage(release: Release) -> list[Finding]:
    """Return a finding for every file beside the rows that is not what was frozen."""
    files, names = release.manifest.files, sorted(_files_without_rows(release.manifest))
    return [finding for name in names if (finding := file_finding(release.folder, name, *files[name]))]


def _restore(release: Release, config: str, rows: Rows | None, progress: Callable[[int], None]) -> None:
    manifest, facts = release.manifest, release.manifest.config(config)
    marks = metadata(str(manifest.data["dataset"]), str(manifest.data["version"]), manifest.data["card"])
    schema, size = design_schema(release.design(config)), manifest.expanded(config)
    content = ContentHash(schema)
    try:
        next(rows(size, size) if rows else iter(()), None)  # makes nothing, however many rows a forged manifest states
    except ValueError:
        message = f"the recipe makes fewer than the {size} rows that the manifest states"
        raise DamagedRelease([Finding(path=config, code="E408", message=message)]) from None
    with _new_folder(release.folder / config) as folder:
        if rows is not None:
            on_batch = partial(_on_batch, content, progress)
            write_rows(folder, schema.with_metadata(marks), size, rows, on_batch)
        if content.hexdigest() != facts["content"]:
            message = "the recipe makes other rows than were frozen: `senseprobe verify --rebuild` says which"
            raise DamagedRelease([Finding(path=config, code="E408", message=message)])


@contextmanager
def _new_folder(final: Path) -> Iterator[Path]:
    """Yield the folder of a config to fill; raise ReleaseError where another process has made it meanwhile."""
    try:
        with whole_release(final, final.name) as folder:
            yield folder
    except ReleaseError as error:
        if not isinstance(error.__cause__, FileExistsError) or not final.is_dir():
            raise
        message = f"another process made {final} meanwhile: run again, which checks what is there and makes the rest"
        raise ReleaseError(message) from error


def _on_batch(content: ContentHash, progress: Callable[[int], None], group: pa.RecordBatch) -> None:
    content.update(group)
    progress(group.num_rows)


def _note(folder: Path, config: str, manifest: Manifest) -> None:
    """Add to the notes the files just made whose bytes are not those that were frozen."""
    noted = {name: {"bytes": size, "sha256": sha} for name, (size, sha) in read_restored(folder, manifest).items()}
    entries = {f"{config}/{name}": entry for name, entry in file_entries(folder / config).items()}
    other = {name: e for name, e in entries.items() if (e["bytes"], e["sha256"]) != manifest.files.get(name)}
    if other:
        text = json.dumps({"files": {**noted, **other}}, indent=2, sort_keys=True) + "\n"
        write_whole(folder / RESTORED, text.encode(), follow=False)


def read_restored(folder: Path, manifest: Manifest) -> dict[str, tuple[int, str]]:
    """Return size and sha256 of the restored files of rows, by path; empty where the notes are not of our form."""
    path = folder / RESTORED
    try:
        noted = _Restored.model_validate_json(read_plain(path, MAX_BYTES))
    except (OSError, ValidationError):
        return {}
    return {name: (entry.bytes, entry.sha256) for name, entry in noted.files.items() if _holds_rows(name, manifest)}


def _holds_rows(name: str, manifest: Manifest) -> bool:
    config, _, file = name.partition("/")
    return config in manifest.configs and is_file_name(file, manifest.expanded(config))


def file_finding(folder: Path, name: str, size: int, sha256: str) -> Finding | None:
    """Return a finding where a file is missing, not a plain file, or not of this size and sha256; else None."""
    path = folder / name
    # A link on the way would lead out of the folder.
    below = [path, *path.parents][: name.count("/") + 1]
    if any(part.is_symlink() for part in below) or not path.is_file():
        message = "is no plain file" if path.exists() or path.is_symlink() else "is missing"
        return Finding(path=name, code="E402", message=message)
    try:
        if (actual := path.stat().st_size) != size:
            message = f"has {actual} bytes, the manifest says {size}"
        elif file_sha256(path) != sha256:
            message = "differs from what was frozen (sha256)"
        else:
            return None
    except OSError as error:
        message = f"cannot be read ({error.strerror})"
    return Finding(path=name, code="E404", message=message)
