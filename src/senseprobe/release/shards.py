"""A release made in parts: each shard holds some of the files, and all of them together make the release.

The declarations alone decide which files belong to which shard, so shards need no coordination. Joined, they are the
release that one machine would have made, with the same content hash; with the same pyarrow, also the same bytes.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, StringConstraints, ValidationError

from senseprobe.atomic_files import read_plain
from senseprobe.errors import ReleaseError
from senseprobe.messages import printable
from senseprobe.release.freeze import Plan, Write, file_entries, metadata, whole_release, write_recipe
from senseprobe.release.hashing import Leaf, combine, file_sha256
from senseprobe.release.manifest import MAX_BYTES, FileEntry, Name, Sha256, Version, first_error
from senseprobe.release.parquet import (
    FileCallback,
    Rows,
    WrittenFile,
    file_names,
    files_of,
    map_in_threads,
    rows_in_files,
    write_rows,
)

NAME = "shard.json"
ENGLISH = "recipe/english.csv"
"""The one file of a recipe in which shards differ: each holds the answers that its own rows needed."""

MAX_SHARDS = 100_000
"""The most shards of a release."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardPlan:
    """Shard `shard` (from 0) of `shards`; `rows` makes ranges of a config's rows."""

    plan: Plan
    rows: Mapping[str, Rows]
    shard: int
    shards: int

    @property
    def folder(self) -> str:
        """The name of the shard's folder."""
        return f"{self.plan.version}.shard-{self.shard:05d}-of-{self.shards:05d}"


class _Rows(BaseModel):
    """What a shard says of the rows of a file: how many, their hash (see `WrittenFile`), and their bytes in memory."""

    model_config = ConfigDict(strict=True, extra="forbid")

    rows: NonNegativeInt
    content: Sha256
    memory: NonNegativeInt


class _Form(BaseModel):
    """The form of a shard's description, of which nothing is trusted: its author may mean harm."""

    model_config = ConfigDict(strict=True, extra="forbid")

    dataset: Name
    version: Version
    senseprobe: Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z.+-]+$", max_length=40)]
    shard: NonNegativeInt
    shards: Annotated[int, Field(gt=0, le=MAX_SHARDS)]
    recipe: Sha256
    files: dict[str, FileEntry]
    rows: dict[str, _Rows]


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard in a folder, whose files were compared with its description."""

    folder: Path
    form: _Form


def shard_files(sizes: Mapping[str, int], shard: int, shards: int) -> dict[str, list[str]]:
    """Return the files of a shard by config: each shard in turn gets the next file."""
    files = [(config, name) for config, size in sizes.items() for name in file_names(size)]
    return {config: [name for owner, name in files[shard::shards] if owner == config] for config in sizes}


def shard_rows(sizes: Mapping[str, int], shard: int, shards: int) -> dict[str, int]:
    """Return how many rows of each config are in the files of a shard, without making the names of files."""
    rows, before = {}, 0
    for config, size in sizes.items():
        rows[config] = rows_in_files(size, range((shard - before) % shards, files_of(size), shards))
        before += files_of(size)
    return rows


def write_shard(shard: ShardPlan, folder: Path, progress: Callable[[int], None] | None = None) -> None:
    """Write a shard into `folder`, which must not exist; ReleaseError where it cannot be written."""
    plan, name = shard.plan, f"shard {shard.shard} of {shard.plan.dataset} {shard.plan.version}"
    rows_of, written = dict[str, dict[str, int | str]](), dict[str, tuple[int, str]]()
    marks = metadata(plan.dataset, plan.version, plan.card)
    mine = shard_files({config.name: config.size for config in plan.configs}, shard.shard, shard.shards)
    with whole_release(folder, name) as partial:
        for config in plan.configs:
            schema, rows = config.schema.with_metadata(marks), shard.rows[config.name]
            (partial / config.name).mkdir()

            def on_file(file: WrittenFile, config: str = config.name) -> None:
                plan.watch(file.group)
                rows_of[f"{config}/{file.name}"] = {**file.leaf._asdict(), "memory": file.memory}
                if file.entry:
                    written[f"{config}/{file.name}"] = file.entry
                if progress:
                    progress(file.leaf.rows)

            write_rows(partial / config.name, schema, config.size, rows, on_file, mine[config.name])
        write_recipe(plan, partial)
        entries = file_entries(partial, written)
        facts = {
            "dataset": plan.dataset,
            "version": plan.version,
            "senseprobe": plan.senseprobe,
            "shard": shard.shard,
            "shards": shard.shards,
            "recipe": hash_recipe({name: str(entry["sha256"]) for name, entry in entries.items()}),
            "files": entries,
            "rows": rows_of,
        }
        (partial / NAME).write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def hash_recipe(hashes: Mapping[str, str]) -> str:
    """Return the hash of what rows are made of, from sha256 by path, without the answers that a shard needed."""
    return combine({name: sha256 for name, sha256 in hashes.items() if name.startswith("recipe/") and name != ENGLISH})


def read_shards(folders: Iterable[Path]) -> list[Shard]:
    """Return all shards of a release in order; raise ReleaseError where they do not make one whole release."""
    listed = sorted((_read(folder) for folder in folders), key=lambda shard: shard.form.shard)
    if not listed:
        raise ReleaseError("name the shards to join")
    first = listed[0]
    fields = {"shard", "files", "rows"}
    for shard in listed:
        if shard.form.model_dump(exclude=fields) != first.form.model_dump(exclude=fields):
            message = f"{shard.folder} and {first.folder} differ in release, senseprobe version or recipe"
            raise ReleaseError(message)
    numbers, expected = [shard.form.shard for shard in listed], range(first.form.shards)
    if missing := sorted({*expected} - {*numbers}):
        named = ", ".join(f"shard {number}" for number in missing[:20])
        raise ReleaseError(f"of {first.form.shards} shards, these are missing: {named}")
    if numbers != [*expected]:
        raise ReleaseError(f"shard {next(n for n in numbers if numbers.count(n) > 1)} was given twice")
    return listed


def _read(folder: Path) -> Shard:
    path = folder / NAME
    try:
        form = _Form.model_validate_json(read_plain(path, MAX_BYTES))
    except OSError as error:
        raise ReleaseError(f"{folder} is not a shard: {NAME} cannot be read ({error.strerror})") from None
    except ValidationError as error:
        raise ReleaseError(f"{path}: {': '.join(first_error(error))}") from None
    _check_files(folder, form)
    return Shard(folder, form)


def _check_files(folder: Path, form: _Form) -> None:
    there = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if not path.is_dir()}
    there.pop(NAME)
    if any(path.is_symlink() for path in (*there.values(), *folder.rglob("*"))):
        raise ReleaseError(f"{folder} contains links, but a shard must have plain files")
    for name in sorted({*there} ^ {*form.files}):
        raise ReleaseError(
            f"{folder / printable(name)}: {'is missing' if name in form.files else 'is not part of the shard'}"
        )
    for name, entry in sorted(form.files.items()):
        # Files of rows are hashed where they are copied, so that they are read once.
        known = name in form.rows or file_sha256(there[name]) == entry.sha256
        if there[name].stat().st_size != entry.bytes or not known:
            raise _changed(there[name], form)
    if {*form.rows} != {name for name in form.files if name.endswith(".parquet") and not name.startswith("recipe/")}:
        raise ReleaseError(f"{folder / NAME} does not say what rows its files have: make shard {form.shard} again")
    if hash_recipe({name: entry.sha256 for name, entry in form.files.items()}) != form.recipe:
        raise ReleaseError(f"{folder} was not made from its own recipe: make shard {form.shard} again")


def _changed(path: Path, form: _Form) -> ReleaseError:
    return ReleaseError(f"{path} differs from the file that was written: make shard {form.shard} again")


def copy_rows(shards: Sequence[Shard], config: str, size: int, rows: int) -> Write:
    """Return what copies the files of a config of `size` rows, `rows` of which are left after verdicts, from shards.

    A file is compared with its hash while it is copied. Its rows are not read: the shard that made them has hashed
    them. It is no link to the shard's, which may be changed or removed later. Raises ReleaseError where the shards do
    not have all files and rows.
    """
    paths = {path.partition("/"): (shard, path) for shard in shards for path in shard.form.rows}
    sources = {name: source for (owner, _, name), source in paths.items() if owner == config}
    names = file_names(size)
    if sorted(sources) != names:
        raise ReleaseError(f"the shards have {len(sources)} files of {config}, but it needs {len(names)}")
    if (found := sum(shard.form.rows[path].rows for shard, path in sources.values())) != rows:
        raise ReleaseError(f"the shards have {found} rows of {config}, but it has {rows}")

    def write(folder: Path, schema: pa.Schema, on_file: FileCallback) -> None:
        for file in map_in_threads(lambda name: _copy(*sources[name], folder / name), names):
            on_file(file)

    return write


def _copy(shard: Shard, name: str, target: Path) -> WrittenFile:
    path, entry, about = shard.folder / name, shard.form.files[name], shard.form.rows[name]
    digest = hashlib.sha256()
    with path.open("rb") as source, target.open("xb") as copy:
        while data := source.read(2**20):
            digest.update(data)
            copy.write(data)
    if digest.hexdigest() != entry.sha256:
        raise _changed(path, shard.form)
    return WrittenFile(
        name=target.name,
        leaf=Leaf(about.rows, about.content),
        memory=about.memory,
        entry=(entry.bytes, entry.sha256),
    )
