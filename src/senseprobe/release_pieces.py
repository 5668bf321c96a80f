"""The files of a release as numbered pieces, which workers build, restore and verify in any order, on any machine.

Nothing is given to a worker but the paths of folders that it sees, and numbers. A piece that was done left a marker
there, a file; doing it again changes nothing.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from senseprobe.atomic_files import read_plain, write_whole
from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.generator.dataset import ResolvedDataset
from senseprobe.generator.recipe import open_recipe, recipe_files
from senseprobe.messages import printable
from senseprobe.recipes import plan_of, rows_by_config, rows_of
from senseprobe.records import Finding
from senseprobe.release.freeze import ConfigPlan, Plan, Write, whole_release
from senseprobe.release.hashing import Leaf
from senseprobe.release.manifest import MAX_BYTES, Manifest, Name, Sha256, Version, first_error, read_manifest
from senseprobe.release.parquet import Rows, files_of
from senseprobe.release.release import Release, open_release
from senseprobe.release.restore import read_restored
from senseprobe.release.row_files import FileCheck, RowFile, check_file, row_files
from senseprobe.release.schema import design_schema
from senseprobe.release.shards import (
    NAME,
    Shard,
    ShardPlan,
    copy_rows,
    hash_recipe,
    read_shards,
    shard_rows,
    write_shard,
)
from senseprobe.tables import read_json

PIECES = "pieces.json"
MOST_PIECES = 1_000
"""The most pieces of a release: one of more files has several of them in a piece."""

Do = Callable[[int], int]
"""Does the piece of a number, unless that was done; returns its rows, or the bytes that it checked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pieces:
    """What is to be done in pieces.

    - `folder`: where they and their markers are. All workers must see it.
    - `worker`: ``module:function`` of what a worker opens once, with `argument`: a context manager of a `Do`.
    - `count`: how many pieces there are, numbered from 0; `units`: the rows of all of them, or the bytes.
    - `marker`: the path of a piece's marker in `folder`, in which ``{}`` stands for its number.
    """

    folder: Path
    worker: str
    argument: str
    count: int
    units: int
    marker: str
    title: str = "file"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the pieces that have no marker now."""
        return tuple(number for number in range(self.count) if not self.marker_of(number).exists())

    def marker_of(self, number: int) -> Path:
        """Return the path of a piece's marker."""
        return self.folder / self.marker.format(number)


class _Form(BaseModel):
    """The form of the file that says what the pieces in a folder are of: `sizes` are rows before verdicts."""

    model_config = ConfigDict(strict=True, extra="forbid")

    kind: Literal["build", "restore"]
    dataset: Name
    version: Version
    senseprobe: str
    recipe: Sha256
    sizes: dict[Name, NonNegativeInt]
    pieces: Annotated[int, Field(ge=1, le=MOST_PIECES)]

    def shard(self, plan: Plan, rows: Mapping[str, Rows], number: int) -> ShardPlan:
        """Return a piece, which is a shard."""
        return ShardPlan(plan=plan, rows=rows, shard=number, shards=self.pieces)


def _form(kind: Literal["build", "restore"], plan: Plan, recipe: str) -> _Form:
    sizes = {config.name: config.size for config in plan.configs}
    return _Form(
        kind=kind,
        dataset=plan.dataset,
        version=plan.version,
        senseprobe=plan.senseprobe,
        recipe=recipe,
        sizes=sizes,
        pieces=min(max(sum(map(files_of, sizes.values())), 1), MOST_PIECES),
    )


def _read(folder: Path) -> _Form:
    try:
        return _Form.model_validate_json(read_plain(folder / PIECES, MAX_BYTES))
    except OSError as error:
        raise ReleaseError(f"{folder} has no pieces of a release: {PIECES} cannot be read ({error.strerror})") from None
    except ValidationError as error:
        raise ReleaseError(f"{folder / PIECES}: {': '.join(first_error(error))}") from None


def _open(folder: Path, kind: str) -> _Form:
    """Return what the pieces in a folder are of; raise ReleaseError where a worker is of another senseprobe."""
    form, here = _read(folder), installed_version("senseprobe")
    if form.kind != kind:
        raise ReleaseError(f"{folder} has pieces to {form.kind}, not to {kind}")
    if form.senseprobe != here:
        raise ReleaseError(f"{folder} has pieces of senseprobe {form.senseprobe}, but this worker has {here}")
    return form


def _start(folder: Path, form: _Form, files: Mapping[str, bytes]) -> _Form:
    """Make a folder of pieces, or return what is there if it is the same."""
    if not (folder / PIECES).exists():
        try:
            with whole_release(folder, folder.name) as partial:
                for path, data in files.items():
                    (partial / "recipe" / path).parent.mkdir(parents=True, exist_ok=True)
                    (partial / "recipe" / path).write_bytes(data)
                (partial / PIECES).write_text(form.model_dump_json(indent=2) + "\n", encoding="utf-8")
        except ReleaseError as error:
            if not isinstance(error.__cause__, FileExistsError):
                raise
    there = _read(folder)
    if {**there.model_dump(), "sizes": {}, "pieces": 1} != {**form.model_dump(), "sizes": {}, "pieces": 1} or not {
        *form.sizes.items()
    } <= {*there.sizes.items()}:
        raise ReleaseError(
            f"{folder} has pieces of another recipe, or of another senseprobe: remove the folder to begin again"
        )
    return there


def _pieces(folder: Path, form: _Form, worker: str, **argument: str) -> Pieces:
    return Pieces(
        folder=folder,
        worker=f"{__name__}:{worker}",
        argument=json.dumps({"folder": str(folder), **argument}),
        count=form.pieces,
        units=sum(form.sizes.values()),
        marker=f"{form.version}.shard-{{:05d}}-of-{form.pieces:05d}/{NAME}",
    )


def _shards(folder: Path, form: _Form) -> list[Shard]:
    pieces = _pieces(folder, form, "")
    shards = read_shards([pieces.marker_of(number).parent for number in range(form.pieces)])
    if (shards[0].form.dataset, shards[0].form.version) != (form.dataset, form.version):
        raise ReleaseError(f"{folder} has pieces of another release: remove the folder to begin again")
    return shards


@contextmanager
def _worker(folder: Path, form: _Form, plan: Plan, rows: Mapping[str, Rows]) -> Iterator[Do]:
    def do(number: int) -> int:
        shard = form.shard(plan, rows, number)
        target = folder / shard.folder
        try:
            if not (target / NAME).exists():
                write_shard(shard, target)
        except ReleaseError:
            if not (target / NAME).exists():  # else another worker was faster
                raise
        return sum(shard_rows(form.sizes, number, form.pieces).values())

    yield do


# --- build -----------------------------------------------------------------------------------------------------------


def start_build(catalogue: ResolvedDataset, plan: Plan, folder: Path) -> Pieces:
    """Write the recipe of a release that is to be built in pieces into `folder`, or go on with the one that is there.

    Raises ReleaseError where pieces of another recipe are there, or the folder cannot be written.
    """
    files = recipe_files(catalogue)
    hashes = {f"recipe/{path}": sha256(data).hexdigest() for path, data in files.items()}
    return _pieces(folder, _start(folder, _form("build", plan, hash_recipe(hashes)), files), "open_builder")


@contextmanager
def open_builder(argument: str, device: str | None = None) -> Iterator[Do]:
    """Provide what builds a piece of a release; `argument` is that of `Pieces`, and no device is used.

    Raises ReleaseError where the recipe cannot be read, or is of another senseprobe, and as `write_shard` does.
    """
    folder = Path(read_json(argument)["folder"])
    form = _open(folder, "build")
    catalogue = open_recipe(folder / "recipe", form.dataset)
    with _worker(folder, form, plan_of(catalogue, form.version), rows_by_config(catalogue)) as do:
        yield do


def built_shards(folder: Path) -> list[Path]:
    """Return the folders of the shards that were built in pieces; raise ReleaseError where they are not all there."""
    form = _read(folder)
    shards = _shards(folder, form)
    if shards[0].form.recipe != form.recipe:
        raise ReleaseError(f"{folder} has pieces of another recipe: remove the folder to begin again")
    return [shard.folder for shard in shards]


# --- restore ---------------------------------------------------------------------------------------------------------


def start_restore(release: Release, away: list[str], folder: Path) -> Pieces:
    """Say in `folder` that the configs which are `away` from a release are to be restored in pieces.

    The release is in a folder that all workers see. Raises ReleaseError where pieces of another release are there, or
    the folder cannot be written.
    """
    form = _form("restore", _frozen_plan(release.manifest, away), str(release.manifest.data["digest"]))
    return _pieces(folder, _start(folder, form, {}), "open_restorer", release=str(release.folder.resolve()))


@contextmanager
def open_restorer(argument: str, device: str | None = None) -> Iterator[Do]:
    """Provide what makes a piece of a release again; `argument` is that of `Pieces`, and no device is used.

    Raises ReleaseError where the recipe cannot be read, and DamagedRelease where it makes fewer rows.
    """
    given = read_json(argument)
    folder, release = Path(given["folder"]), open_release(Path(given["release"]))
    form = _open(folder, "restore")
    if form.recipe != release.manifest.data["digest"]:
        raise ReleaseError(f"{folder} has pieces of another release than {release.folder}")
    rows = rows_of(release.folder / "recipe", form.dataset)
    try:
        for config, size in form.sizes.items():
            next(rows[config](size, size), None)
    except (KeyError, ValueError):
        message = "the recipe makes fewer rows than the manifest states"
        raise DamagedRelease([Finding(path=config, code="E408", message=message)]) from None
    with _worker(folder, form, _frozen_plan(release.manifest, [*form.sizes]), rows) as do:
        yield do


def restored_files(release: Release, folder: Path) -> dict[str, Write]:
    """Return by config what copies the files that were restored in pieces; ReleaseError where some are missing."""
    form, manifest = _read(folder), release.manifest
    shards = _shards(folder, form)
    return {
        config: copy_rows(shards, config, size, int(manifest.config(config)["rows"]))
        for config, size in form.sizes.items()
    }


def _frozen_plan(manifest: Manifest, configs: list[str]) -> Plan:
    """Return a plan of rows alone: of the configs of a release, without recipe."""

    def write(folder: Path, schema: object, on_file: object) -> None:
        raise NotImplementedError("a shard writes its own files")

    plans = [
        ConfigPlan(
            name=config,
            size=manifest.expanded(config),
            schema=design_schema(manifest.design(config)),
            write=write,
            design=manifest.design(config),
            levels={},
            description="",
            expect={},
            accept={},
        )
        for config in configs
    ]
    return Plan(
        dataset=str(manifest.data["dataset"]),
        version=str(manifest.data["version"]),
        card=manifest.data["card"],
        configs=tuple(plans),
        contrasts=(),
        recipe=dict,
        senseprobe=installed_version("senseprobe"),
    )


def remove_pieces(folder: Path) -> None:
    """Remove a folder of pieces that were put together."""
    shutil.rmtree(folder, ignore_errors=True)


# --- verify ----------------------------------------------------------------------------------------------------------


class _Check(BaseModel):
    """What was found of a file of rows; see `FileCheck`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    name: str
    damage: Finding | None
    findings: tuple[Finding, ...]
    leaf: tuple[int, Sha256] | None
    memory: NonNegativeInt
    examples: tuple[dict[str, str], ...]


def start_verify(release: Release, folder: Path) -> Pieces:
    """Return the files of rows of a release as pieces that are checked; what is found of them goes to `folder`.

    That is for one verification: it is empty, or has what was found of some files of this release a moment ago.
    """
    files, entries = row_files(release.manifest), release.manifest.files
    return Pieces(
        folder=folder,
        worker=f"{__name__}:open_verifier",
        argument=json.dumps({"folder": str(folder), "release": str(release.folder.resolve())}),
        count=len(files),
        units=sum(entries[file.name][0] for file in files),
        marker=f"{release.manifest.data['digest'][:12]}-{{:05d}}.json",
    )


@contextmanager
def open_verifier(argument: str, device: str | None = None) -> Iterator[Do]:
    """Provide what checks a file of a release, and returns its bytes; `argument` is that of `Pieces`.

    No device is used. Raises ReleaseError where there is no release.
    """
    given = read_json(argument)
    release = Release(Path(given["release"]), read_manifest(Path(given["release"]), any_kind=True))
    pieces, files = start_verify(release, Path(given["folder"])), row_files(release.manifest)
    restored = read_restored(release.folder, release.manifest)
    read = not release.manifest.unknown_kinds

    def do(number: int) -> int:
        file, marker = files[number], pieces.marker_of(number)
        if not marker.exists():
            check = check_file(release, file, restored, rows=read)
            told = _Check(
                name=file.name,
                damage=check.damage,
                findings=check.findings,
                leaf=check.leaf,
                memory=check.memory,
                examples=check.examples,
            )
            write_whole(marker, told.model_dump_json().encode())
        return release.manifest.files[file.name][0]

    yield do


def read_checks(release: Release, pieces: Pieces) -> dict[RowFile, FileCheck]:
    """Return what was found of the files of a release; raise ReleaseError where some were not checked."""
    checks = {}
    for number, file in enumerate(row_files(release.manifest)):
        path = pieces.marker_of(number)
        try:
            told = _Check.model_validate_json(read_plain(path, MAX_BYTES))
        except (OSError, ValidationError):
            raise ReleaseError(f"{file.name} was not checked: {path} cannot be read") from None
        if told.name != file.name:
            raise ReleaseError(f"{path} is of {printable(told.name)[:200]}, not of {file.name}")
        checks[file] = FileCheck(
            damage=told.damage,
            findings=told.findings,
            leaf=Leaf(*told.leaf) if told.leaf else None,
            memory=told.memory,
            examples=told.examples,
        )
    return checks
