"""Rows that are made again from a release's recipe: where a release ships without them, or to compare them.

Two versions of pyarrow write the same rows as different bytes, so restored files may differ from those that were
frozen. Their rows may not: each config is compared with its content hash before its folder gets its name.
"""

import json
import shutil
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, ValidationError

from senseprobe.atomic_files import locked, read_plain, write_whole
from senseprobe.errors import DamagedRelease, DeclarationError, ReleaseError
from senseprobe.messages import counted, listed, printable, sized
from senseprobe.parquet_files import plain
from senseprobe.records import Design, Finding
from senseprobe.release.diff import filled_fields
from senseprobe.release.freeze import Plan, Write, file_entries, manifest_facts, metadata, whole_release
from senseprobe.release.hashing import Leaf, file_finding, hash_leaves
from senseprobe.release.manifest import MAX_BYTES, NAME, FileEntry, Manifest
from senseprobe.release.parquet import (
    Rows,
    WrittenFile,
    file_names,
    files_of,
    is_file_name,
    read_rows,
    sample_bytes,
    write_rows,
)
from senseprobe.release.release import Release
from senseprobe.release.schema import design_schema

MOST_ROWS = 10**9
"""The most rows that are written without `force`: some 5 GB of Parquet, and an hour."""

SAMPLE_ROWS = 16_384
"""Rows of a config that are expanded and written in memory, to estimate the bytes of all of them."""

RESTORED = "restored.json"
"""The file with size and sha256 of restored files whose bytes are not those that were frozen."""

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
        reasons = [f"this is more than {MOST_ROWS:,} rows"] if self.rows > MOST_ROWS else []
        reasons += ["the rows do not fit on the disk"] if self.bytes > self.free else []
        if reasons and not force:
            raise ReleaseError(f"{self}: {' and '.join(reasons)}; nothing was written (use --force to write anyway)")
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


def restore_rows(
    release: Release,
    target: Path,
    rows_of: Callable[[Path], Mapping[str, Rows]],
    progress: Callable[[int], None] | None = None,
    *,
    force: bool = False,
    notify: Notify | None = None,
    made: Mapping[str, Write] | None = None,
) -> Release:
    """Make the configs that `target` lacks; an interrupted run goes on with the next config.

    `rows_of` returns for a recipe's folder the function that makes the rows of each config; `progress` is called with
    how many were written, `notify` with the size. Files of a config in `made` were made elsewhere, and are copied.
    Raises DamagedRelease where the recipe is not what was frozen, or makes other rows, and ReleaseError where the rows
    do not fit, cannot be written, or another process restores the same release there: each would overwrite the other's
    notes of its files.
    """
    manifest, restored = release.manifest, Release(target, release.manifest)
    with locked_target(release, target):
        away = prepare_target(release, target, force=force, notify=notify)
        makers = rows_of(target / "recipe")
        for config in away:
            write = (made or {}).get(config)
            _restore(restored, config, makers.get(config), write, progress or (lambda n: None))
            _note(target, config, manifest)
    return restored


@contextmanager
def locked_target(release: Release, target: Path) -> Iterator[None]:
    """Lock the folder that rows are restored to; raises DamagedRelease and ReleaseError as `restore_rows` does."""
    if findings := recipe_damage(release):
        raise DamagedRelease(findings)
    try:
        with locked(target):
            yield
    except BlockingIOError as error:
        advice = "wait until it ends, then run again to check that all rows are there"
        message = f"another process is restoring {release.manifest.name} in {target}: {advice}"
        raise ReleaseError(message) from error


def prepare_target(release: Release, target: Path, *, force: bool = False, notify: Notify | None = None) -> list[str]:
    """Copy what a folder lacks of a release besides rows; return the configs whose rows it lacks.

    Raises ReleaseError and DamagedRelease as `restore_rows` does.
    """
    manifest = release.manifest
    if target.resolve() != release.folder.resolve():
        if (target / NAME).exists() and (target / NAME).read_bytes() != manifest.dump():
            raise ReleaseError(f"{target} contains another release: nothing was changed")
        for name in (*_files_without_rows(manifest), NAME):
            write_whole(target / name, (release.folder / name).read_bytes(), follow=False)
    if away := [config for config in manifest.configs if not _has_rows(target, config, manifest)]:
        files = [size for name, (size, _) in manifest.files.items() if name.partition("/")[0] in away]
        rows = sum(manifest.expanded(config) for config in away)
        size = Size(name=manifest.name, rows=rows, bytes=sum(files), estimated=False, folder=target)
        size.check(force=force, notify=notify)
    return away


def _has_rows(target: Path, config: str, manifest: Manifest) -> bool:
    """Return whether the files of a config are there, as frozen or restored; remove its folder if it is empty."""
    folder, rows = target / config, manifest.expanded(config)
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if folder.is_dir() and not names and rows:
        folder.rmdir()
    frozen = sorted(name.partition("/")[2] for name in manifest.files if name.startswith(f"{config}/"))
    is_complete = len(names) == files_of(rows) and all(is_file_name(name, rows) for name in names)
    if names and names != frozen and not is_complete:
        raise ReleaseError(f"{folder} contains other files than those of its rows: remove it, then restore again")
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


class _WrittenContent:
    """The content hash of a config whose files are being written, in the form of its release."""

    def __init__(self, manifest: Manifest, config: str) -> None:
        self._size, self._path = manifest.expanded(config), config
        self._counts = [leaf.rows for leaf in manifest.leaves(config)]
        self._leaves, self._content, self._fed = list[Leaf](), manifest.content_hash(config), 0
        self.of_leaves = bool(self._counts) or files_of(self._size) < 2

    def add(self, file: WrittenFile) -> None:
        """Add the next file."""
        self._leaves.append(file.leaf)
        if file.group is not None and not self.of_leaves:  # an older form, whose hash goes on from file to file
            self._content.update(file.group)
            self._fed += 1

    def hexdigest(self, folder: Path, schema: pa.Schema) -> str:
        """Return the content hash; rows are read again where they were made elsewhere, or cut in another way."""
        if self.of_leaves and self._counts in ([], [leaf.rows for leaf in self._leaves]):
            return hash_leaves(self._leaves, schema)
        if self._fed < len(self._leaves):
            for name in file_names(self._size):
                for batch in read_rows(folder / name, schema, f"{self._path}/{name}", self._size):
                    self._content.update(batch)
        return self._content.hexdigest()


def _restore(
    release: Release, config: str, rows: Rows | None, write: Write | None, progress: Callable[[int], None]
) -> None:
    """Make the rows of a config, or let `write` copy the files that were made of them, and compare their hash."""
    manifest, data, folder = release.manifest, release.manifest.data, release.folder / config
    schema, size = design_schema(release.design(config)), manifest.expanded(config)
    content = _WrittenContent(manifest, config)

    def on_file(file: WrittenFile) -> None:
        content.add(file)
        progress(file.leaf.rows)

    try:
        next(rows(size, size) if rows else iter(()), None)  # makes nothing, however many rows a forged manifest states
    except ValueError:
        message = f"the recipe makes fewer than the {size} rows that the manifest states"
        raise DamagedRelease([_difference(config, message)]) from None
    try:
        with whole_release(folder, folder.name) as partial:
            marked = schema.with_metadata(metadata(data["dataset"], data["version"], data["card"]))
            if write is not None:
                write(partial, marked, on_file)
            elif rows is not None:
                write_rows(partial, marked, size, rows, on_file, hashed=content.of_leaves)
            if content.hexdigest(partial, schema) != manifest.config(config)["content"]:
                message = "the recipe makes rows that differ from the frozen ones: see `senseprobe verify --rebuild`"
                raise DamagedRelease([_difference(config, message)])
    except ReleaseError as error:
        if not isinstance(error.__cause__, FileExistsError) or not folder.is_dir():
            raise
        advice = "run again to check its files and to make the rest"
        raise ReleaseError(f"another process made {folder} in the meantime: {advice}") from error


class _Restored(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    files: dict[str, FileEntry]


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
    try:
        noted = _Restored.model_validate_json(read_plain(folder / RESTORED, MAX_BYTES))
    except (OSError, ValidationError):
        return {}

    def holds_rows(name: str) -> bool:
        config, _, file = name.partition("/")
        return config in manifest.configs and is_file_name(file, manifest.expanded(config))

    return {name: (entry.bytes, entry.sha256) for name, entry in noted.files.items() if holds_rows(name)}


def verify_recipe(release: Release, plan: Plan, rows: Mapping[str, Rows], away: Container[str]) -> Iterator[Finding]:
    """Yield every difference of a release from its recipe's `plan` and `rows`; rows that are `away` have their hash."""
    manifest = release.manifest
    if order := [name for name in rows if name not in release.configs]:
        yield _difference(NAME, f"lacks configs that the recipe makes: {listed(order)}")
    for name in release.configs:
        if name not in rows:
            yield _difference(name, "is not in the recipe")
        elif name in away:
            yield from _content_findings(manifest, name, rows[name])
        else:
            size = next(config.size for config in plan.configs if config.name == name)
            # One row more is enough to see a difference, also of a recipe that was changed to make rows without end.
            yield from _row_findings(release, name, rows[name](0, min(size, manifest.expanded(name) + 1)))
    yield from _fact_findings(manifest, plan)


def unused_files(manifest: Manifest, recipe: Container[str]) -> Iterator[Finding]:
    """Yield a finding for each file that a manifest has in `recipe/`, and that is not among the paths of the recipe."""
    for name in sorted(manifest.files):
        if name.startswith("recipe/") and name.removeprefix("recipe/") not in recipe:
            yield _difference(name, "is not used by the recipe")


def _difference(path: str, message: str) -> Finding:
    return Finding(path=path, code="E408", message=message)


def remake_rows(manifest: Manifest, config: str, rows: Rows) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a config from its recipe, or none where it makes fewer; callers compare the content hash."""
    with suppress(ValueError):  # a range beyond what the recipe makes
        yield from map(plain, rows(0, manifest.expanded(config)))


def _content_findings(manifest: Manifest, config: str, rows: Rows) -> Iterator[Finding]:
    content = manifest.content_hash(config)
    try:
        for batch in remake_rows(manifest, config, rows):
            content.update(batch)
    except ReleaseError as error:
        yield _difference(config, f"the recipe: {error}")
        return
    if content.hexdigest() != manifest.config(config)["content"]:
        yield _difference(config, "the rows that the recipe makes do not match the content hash")


def _row_findings(release: Release, config: str, rebuilt: Iterator[pa.RecordBatch]) -> Sequence[Finding]:
    """Compare rebuilt rows with the frozen ones; report the first row and column that differ."""
    try:
        pairs = _aligned(release.batches(config), (plain(batch) for batch in rebuilt if batch.num_rows))
        difference = next((_first_difference(old, new) for old, new in pairs if old is None or old != new), None)
    except (DamagedRelease, DeclarationError) as error:
        return error.findings
    return [_difference(config, f"the recipe makes {difference}")] if difference else []


def _fact_findings(manifest: Manifest, plan: Plan) -> Iterator[Finding]:
    """Compare the recipe's facts with the manifest's, on which evaluation and citation are based."""
    facts, frozen = manifest_facts(plan), manifest.data
    other = [key for key in ("order", "contrasts") if facts[key] != frozen[key]]
    card, was = filled_fields(facts["card"]), filled_fields(frozen["card"])
    other += [f"card, {key}" for key in sorted({*card, *was}) if card.get(key) != was.get(key)]
    same_lexicons = facts.get("lexicons") == frozen.get("lexicons")
    for name in [name for name in manifest.configs if name in facts["configs"]]:
        mine, theirs = facts["configs"][name], manifest.config(name)
        keys = ("description", "expect", "accept")  # the last is not in manifests of the first form
        other += [f"{name}, {key}" for key in keys if theirs.get(key, mine[key]) != mine[key]]
        other += [f"{name}, expanded"] if theirs.get("expanded") != mine.get("expanded") else []
        senses = [_senses(side, name, glossed=same_lexicons) for side in (facts, frozen)]
        other += [f"{name}, senses"] if manifest.cards > 3 and senses[0] != senses[1] else []
        remade, design = Design.from_dict(mine["design"]), manifest.design(name)
        if not design.estimands:  # of association tests, before they could be scored
            remade = replace(remade, estimands=())
        if remade != design:
            yield _difference(name, "the design in the recipe differs from that in the manifest")
        levels, frozen_levels = mine["levels"], theirs["levels"]
        unlike = [level for level in sorted({*frozen_levels, *levels}) if frozen_levels.get(level) != levels.get(level)]
        if differences := [f"{levels.get(n)} of {printable(n)} instead of {frozen_levels.get(n)}" for n in unlike]:
            yield _difference(
                name, f"the levels in the recipe differ from those in the manifest: {', '.join(differences)}"
            )
    if other:
        yield _difference(NAME, f"the recipe and the manifest differ: {listed(map(printable, other))}")


def _senses(facts: Mapping[str, Any], name: str, *, glossed: bool) -> list[dict[str, str]]:
    """Return the senses of a config; without glosses where those are of other lexicons, or of none."""
    senses = facts["configs"][name].get("senses", [])
    return [{key: text for key, text in sense.items() if glossed or key != "gloss"} for sense in senses]


Batch: TypeAlias = pa.RecordBatch | None


def _aligned(frozen: Iterator[pa.RecordBatch], rebuilt: Iterator[pa.RecordBatch]) -> Iterator[tuple[Batch, Batch]]:
    """Yield pairs of equally many rows of both; the last pair holds None where only one of them goes on."""
    old, new = next(frozen, None), next(rebuilt, None)
    while old is not None and new is not None:
        rows = min(old.num_rows, new.num_rows)
        yield old.slice(0, rows), new.slice(0, rows)
        old = old.slice(rows) if rows < old.num_rows else next(frozen, None)
        new = new.slice(rows) if rows < new.num_rows else next(rebuilt, None)
    if old is not new:
        yield old, new


def _first_difference(old: Batch, new: Batch) -> str:
    if new is None:
        return f"fewer rows: the first missing row is {_id(old, 0)}"
    if old is None:
        return f"more rows: the first additional row is {_id(new, 0)}"
    if old.schema != new.schema:
        return "different columns"
    cells = ((row, name) for row in range(old.num_rows) for name in old.schema.names)
    row, name = next((row, name) for row, name in cells if old[name][row] != new[name][row])
    was, now = old[name][row].as_py(), new[name][row].as_py()
    return f"different rows: row {_id(old, row)}, column {name}: {now!r:.200} instead of {was!r:.200}"


def _id(batch: pa.RecordBatch, row: int) -> str:
    return printable(str(batch["id"][row].as_py()))[:200]
