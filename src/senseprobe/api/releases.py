"""Find, build, verify, compare, restore and share releases.

A release is given by its name (``NAME@VERSION``, ``hf://USER/NAME@VERSION``; without a version its newest release, on
this machine or on the Hub), its path, or as a `Release`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias
from unicodedata import category

from senseprobe import project
from senseprobe.api.author import open_catalogue
from senseprobe.errors import DeclarationError, ReleaseError, SenseprobeError
from senseprobe.messages import offered
from senseprobe.options import RELEASE_HELP, Argument, Option
from senseprobe.progress import expect, with_progress

if TYPE_CHECKING:
    from senseprobe.generator.dataset import ResolvedDataset
    from senseprobe.records import Finding
    from senseprobe.release.changelog import ReleaseDiff
    from senseprobe.release.freeze import Plan
    from senseprobe.release.manifest import Manifest
    from senseprobe.release.parquet import Rows
    from senseprobe.release.release import Release
    from senseprobe.release.restore import Notify

    ReleaseSpec: TypeAlias = str | Path | Release

Progress = Callable[[int], None]


def load(release: ReleaseSpec) -> Release:
    """Open a release; its `to_pandas(config)` returns the rows of a config.

    Compares the list of files, and every file except the rows, with the hashes of the manifest. `verify` also
    checks the rows and the card. Raises ReleaseError if the release does not exist, and DamagedRelease if a file
    differs from the frozen one.
    """
    from senseprobe.release.verify import open_verified

    folder, _ = locate_release(release)
    return open_verified(folder, rows=False)


def full_name(release: ReleaseSpec) -> str:
    """Return how a release is named, with the version of the newest where a name on this machine has none."""
    newest = project.newest_release(release) if isinstance(release, str) else None
    return (newest or str(release)).removesuffix(":")


def locate_release(spec: ReleaseSpec) -> tuple[Path, str | None]:
    """Return the folder and config that ``[hf://USER/]NAME[@VERSION][:CONFIG]`` or a path names.

    A release on the Hub is fetched once.
    """
    if not isinstance(spec, str | Path):
        return spec.folder, None
    spec = str(spec)
    if not spec.startswith("hf://"):
        return _find_release(spec)
    from senseprobe.hub.pull import cached
    from senseprobe.recipes import verify_with_card

    return cached(spec, verify_with_card)


def _find_release(spec: str) -> tuple[Path, str | None]:
    """Return what a name or path on this machine names; the error says where the name is one that can be fetched."""
    try:
        return project.find_release(spec)
    except ReleaseError as error:
        from senseprobe.evaluate.models.packages import packaged_benchmarks

        if (name := re.split("[@:]", spec)[0]) not in packaged_benchmarks():
            raise
        raise ReleaseError(f"{error}; `senseprobe fetch {name}` downloads the benchmark of that name") from None


def check_plan(
    rows: Mapping[str, Rows], plan: Plan, folder: Path, sizes: Mapping[str, int], *, force: bool, notify: Notify | None
) -> None:
    """Say the size of a plan, `sizes` rows by config; raise where that is too much, or an estimand is unknown."""
    from senseprobe.evaluate.estimands import check_listed
    from senseprobe.release.restore import Size, estimate_bytes

    if folder.exists():
        return  # it is not overwritten, which is told by what writes
    check_listed(config.design for config in plan.configs)
    estimate = estimate_bytes({config.name: (rows[config.name], config.schema) for config in plan.configs}, sizes)
    name = f"{plan.dataset} {folder.name}"
    size = Size(name=name, rows=sum(sizes.values()), bytes=estimate, estimated=True, folder=folder)
    size.check(force=force, notify=notify)


def freeze_plan(plan: Plan, folder: Path, progress: Progress | None, notify: Notify | None = None) -> Release:
    """Freeze a plan, if its version is high enough for what changed since the release before it."""
    from senseprobe.evaluate.estimands.headline import describe_headlines
    from senseprobe.generator.version_check import approve
    from senseprobe.recipes import rows_of
    from senseprobe.release.freeze import freeze
    from senseprobe.release.release import Release

    expect(progress, sum(config.size - len(config.left_out) for config in plan.configs))
    layer = next((layer for layer in project.layers() if plan.dataset in layer.datasets()), project.layers()[0])
    folders = dict.fromkeys(path.resolve() for path in (folder.parent, layer.releases / plan.dataset))
    check = partial(approve, folders=[*folders], rows_of=rows_of, notify=notify)
    return Release(folder, freeze(plan, folder, progress, check, describe_headlines))


@with_progress("building {dataset} {version}")
def build_shard(
    dataset: str,
    version: str,
    shard: Annotated[int, Option(least=0, default=None, help="Number of the part, from 0.")],
    shards: Annotated[int, Option(least=1, default=None, help="Build only one of this many parts.")],
    out: str | Path | None = None,
    progress: Progress | None = None,
    *,
    force: bool = False,
    say: Notify | None = None,
) -> Path:
    """Build only shard `shard` (from 0) of `shards` of a release, and return its folder.

    Raises the same errors as `build`; rows, bytes and space are those of the shard.
    """
    from senseprobe.recipes import plan_of, rows_by_config
    from senseprobe.release.shards import MAX_SHARDS, ShardPlan, shard_rows, write_shard

    if not 0 <= shard < shards:
        raise SenseprobeError(f"there is no shard {shard} of {shards}: shards are numbered 0 to {shards - 1}")
    if shards > MAX_SHARDS:
        raise SenseprobeError(f"{shards:,} shards are too many: at most {MAX_SHARDS:,} can be joined")
    final, catalogue = open_to_build(dataset, version, out)
    plan, rows = plan_of(catalogue, version), rows_by_config(catalogue)
    part = ShardPlan(plan=plan, rows=rows, shard=shard, shards=shards)
    folder = final.with_name(part.folder)
    sizes = shard_rows({config.name: config.size for config in plan.configs}, shard, shards)
    check_plan(rows, plan, folder, sizes, force=force, notify=say)
    expect(progress, sum(sizes.values()))
    write_shard(part, folder, progress)
    return folder


@with_progress("joining")
def join(
    shards: Annotated[Sequence[str | Path], Argument(metavar="SHARD...", help="The folders that build --shard made.")],
    out: Annotated[str | Path | None, Option(help="Folder of releases.", shown_default="beside the shards")] = None,
    progress: Progress | None = None,
) -> Release:
    """Put the shards of a release together: the same release that one machine would have made.

    Raises ReleaseError if a shard is missing, damaged or from another release, and the same errors as `build`.
    """
    from senseprobe.generator.recipe import join_recipes, open_recipe
    from senseprobe.recipes import plan_of
    from senseprobe.release.shards import copy_rows, read_shards

    parts = read_shards([Path(shard) for shard in shards])
    form = parts[0].form
    catalogue = open_recipe(parts[0].folder / "recipe", form.dataset)
    plan = plan_of(catalogue, form.version)
    configs = [
        replace(config, write=copy_rows(parts, config.name, config.size, config.size - len(config.left_out)))
        for config in plan.configs
    ]
    recipe = join_recipes([shard.folder / "recipe" for shard in parts])
    whole = replace(plan, configs=tuple(configs), recipe=lambda: recipe, senseprobe=form.senseprobe)
    folder = Path(out) / form.dataset / form.version if out else parts[0].folder.resolve().with_name(form.version)
    return freeze_plan(whole, folder, progress)


def find_target(release: ReleaseSpec, out: str | Path | None) -> tuple[Release, Path]:
    """Return a release whose rows are to be restored, and the folder that they go to."""
    from senseprobe.release.release import open_release

    folder, _ = locate_release(release)
    frozen = open_release(folder)
    dataset, version = str(frozen.manifest.data["dataset"]), str(frozen.manifest.data["version"])
    if out is None and project.built_in().releases.resolve() in folder.resolve().parents:
        out = _project_releases()
    return frozen, Path(out) / dataset / version if out else folder


def open_to_build(dataset: str, version: str, out: str | Path | None) -> tuple[Path, ResolvedDataset]:
    """Return the folder of a new release, and the catalogue that it is built from.

    Raise DeclarationError where a field that describes it is still to be filled in.
    """
    from senseprobe.generator.checks.placeholders import find_unfilled_fields
    from senseprobe.release.manifest import VERSION

    if not VERSION.fullmatch(version):
        raise SenseprobeError(f"{version!r} is not a version: expected MAJOR.MINOR.PATCH, for example 1.0.0")
    if "/" in dataset:
        raise SenseprobeError(
            f"{dataset!r} names a config, but a release contains all configs of a dataset: name the dataset alone"
        )
    if any(category(letter) == "Cs" for letter in dataset):
        raise SenseprobeError(f"{dataset!r} is not UTF-8: rename the folder of the dataset")
    folder, catalogue = releases_folder(out) / dataset / version, open_catalogue(dataset)
    if findings := sorted(find_unfilled_fields(catalogue), key=attrgetter("path", "line", "column")):
        raise DeclarationError(findings)
    return folder, catalogue


def releases_folder(out: str | Path | None) -> Path:
    """Return the folder of releases to write to: `out`, or the project's own."""
    return Path(out) if out else _project_releases()


def _project_releases() -> Path:
    layer = project.user_layer()
    if layer is None:
        raise SenseprobeError(
            f"not in a project (no parent folder has a {project.MARKER}): name a folder with --out DIR"
        )
    return layer.releases


@with_progress("comparing {a} and {b}")
def diff(
    a: Annotated[ReleaseSpec, Argument(metavar="A", help=f"The older release: {RELEASE_HELP}")],
    b: Annotated[
        ReleaseSpec | None,
        Argument(
            metavar="[B]",
            help="The newer release; not needed for a NAME without a version, whose two newest are compared.",
        ),
    ] = None,
) -> ReleaseDiff:
    """Show the changes between two releases, and the version number that they require.

    Either side can name a config. Releases are not verified, but rows that are read are compared with their content
    hash. Raises ReleaseError if a release or config does not exist, and DamagedRelease if rows do not match the
    manifest.
    """
    from senseprobe.generator.version_check import diff_versions
    from senseprobe.recipes import rows_of
    from senseprobe.release.release import open_release

    (old, first), (new, second) = map(locate_release, project.two_newest(str(a)) if b is None else (a, b))
    if first and second and first != second:
        raise SenseprobeError(f"{first!r} and {second!r} are two configs: compare one config, or all of them")
    return diff_versions(open_release(old), open_release(new), rows_of, first or second)


def finish_verification(
    folder: Path, config: str | None, manifest: Manifest | None, findings: list[Finding], *, rebuild: bool, content: str
) -> list[Finding]:
    """Return the findings on a release, with those on its content hash and of what its recipe makes."""
    from senseprobe.release.verify import content_hash_findings, is_recipe_intact

    if manifest and config is not None:
        manifest.config(config)  # ReleaseError where there is none
    if manifest and content:
        findings += content_hash_findings(manifest, content)
    if rebuild and manifest and is_recipe_intact(findings):
        from senseprobe.recipes import rebuild as again

        missing = {finding.path.partition("/")[0] for finding in findings if finding.code == "E402"}
        # Rows that cannot be read were found already; what is wrong with the recipe was not.
        findings += [
            finding
            for finding in again(folder, manifest, missing)
            if finding not in findings and (finding.code == "E408" or finding.code[:2] != "E4" or not findings)
        ]
    return findings


@with_progress("verifying {release}")
def verify_shard(
    release: ReleaseSpec,
    shard: Annotated[int, Option(least=0, default=None, help="Number of the part, from 0.")],
    shards: Annotated[int, Option(least=1, default=None, help="Check only one of this many parts of the rows.")],
    progress: Progress | None = None,
) -> list[Finding]:
    """Check part `shard` (from 0) of `shards` of the files of a release's rows, and all other files.

    Files of other parts need not be there. A file is compared with its hash, and its rows with the hash of their leaf.
    Releases of forms before 6 have no leaves: of a config of several files, only the files are compared. What is said
    of all rows together (the examples on the card, their bytes in memory) is not. Raises ReleaseError if the release
    does not exist.
    """
    from senseprobe.recipes import card_sources
    from senseprobe.release.row_files import Part
    from senseprobe.release.verify import verify_part

    if not 0 <= shard < shards:
        raise SenseprobeError(f"there is no part {shard} of {shards}: parts are numbered 0 to {shards - 1}")
    folder, config = locate_release(release)
    manifest, findings = verify_part(folder, Part(shard, shards), progress, card_sources)
    return finish_verification(folder, config, manifest, findings, rebuild=False, content="")


@with_progress("verifying {spec}")
def verified(spec: ReleaseSpec, progress: Progress | None = None, *, rows: bool = True) -> tuple[Release, str | None]:
    """Open what `spec` names, with rows and files by their hashes: the release, and its config if it names one.

    With `rows` false, rows are neither read nor looked for. What its card says is compared by `verify` alone. Raises
    DamagedRelease where it is not as it was frozen.
    """
    from senseprobe.release.release import open_release
    from senseprobe.release.verify import open_verified

    folder, config = locate_release(spec)
    # What was found on the Hub was verified when it was found, so that it is not read twice.
    fetched = isinstance(spec, str) and spec.startswith("hf://")
    release = open_release(folder) if fetched else open_verified(folder, progress, rows=rows)
    if config is not None and config not in release.configs:
        raise ReleaseError(f"{spec} has no config {config!r}: {offered(config, release.configs)}")
    return release, config
