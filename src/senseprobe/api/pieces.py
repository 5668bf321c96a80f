"""Releases that many workers build and restore in pieces (`senseprobe.engines`): what comes before and after them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from senseprobe.api import releases
from senseprobe.errors import ReleaseError

if TYPE_CHECKING:
    from senseprobe.records import Finding
    from senseprobe.release.release import Release
    from senseprobe.release.restore import Notify
    from senseprobe.release_pieces import Pieces


def start_build(
    dataset: str,
    version: str,
    out: str | Path | None = None,
    *,
    force: bool = False,
    say: Notify | None = None,
) -> Pieces:
    """Write what workers need to build a release in pieces, or go on with the pieces that are there.

    They go to a folder beside the release, with the recipe, which all workers must see. Raises the same errors as
    `build`, and ReleaseError where that folder has pieces of another recipe.
    """
    from senseprobe import release_pieces
    from senseprobe.recipes import plan_of, rows_by_config

    folder, catalogue = releases.open_to_build(dataset, version, out)
    if folder.exists():
        raise ReleaseError(f"{dataset} {version} exists in {folder}: a release is never overwritten, raise the version")
    plan = plan_of(catalogue, version)
    sizes = {config.name: config.size for config in plan.configs}
    releases.check_plan(rows_by_config(catalogue), plan, folder, sizes, force=force, notify=say)
    return release_pieces.start_build(catalogue, plan, folder.with_name(f"{version}.parts"))


def finish_build(pieces: Pieces, progress: releases.Progress | None = None) -> Release:
    """Put a release together that was built in pieces, and remove them; rows are not read again.

    Raises ReleaseError if a piece is missing or damaged, and the same errors as `build`; the pieces stay then.
    """
    from senseprobe.release_pieces import built_shards, remove_pieces

    release = releases.join(built_shards(pieces.folder), pieces.folder.parent.parent, progress)
    remove_pieces(pieces.folder)
    return release


def start_restore(
    release: releases.ReleaseSpec, out: str | Path | None = None, *, force: bool = False, say: Notify | None = None
) -> Pieces | None:
    """Write what workers need to restore a release in pieces, or go on with those that are there; None: all is there.

    They go to a folder beside the release, which all workers must see, as well as the release. Raises the same errors
    as `restore`, and ReleaseError where that folder has pieces of another release.
    """
    from senseprobe import release_pieces
    from senseprobe.release.release import Release
    from senseprobe.release.restore import locked_target, prepare_target

    frozen, target = releases.find_target(release, out)
    with locked_target(frozen, target):
        away = prepare_target(frozen, target, force=force, notify=say)
        if not away:
            return None
        folder = target.with_name(f"{target.name}.parts")
        return release_pieces.start_restore(Release(target, frozen.manifest), away, folder)


def finish_restore(
    release: releases.ReleaseSpec,
    out: str | Path | None = None,
    pieces: Pieces | None = None,
    progress: releases.Progress | None = None,
) -> Release:
    """Put the rows of a release into place that were restored in `pieces`, check them, and remove the pieces.

    Raises ReleaseError if a piece is missing or damaged, and the same errors as `restore`; the pieces stay then.
    """
    from senseprobe.recipes import rows_of
    from senseprobe.release.restore import restore_rows
    from senseprobe.release_pieces import remove_pieces, restored_files

    frozen, target = releases.find_target(release, out)
    makers = partial(rows_of, dataset=str(frozen.manifest.data["dataset"]))
    made = restored_files(frozen, pieces.folder) if pieces else {}
    # Whether there is space was asked before the pieces were made, which take it already.
    restored = restore_rows(frozen, target, makers, progress, force=True, made=made)
    if pieces:
        remove_pieces(pieces.folder)
    return restored


def start_verify(release: releases.ReleaseSpec, records: Path) -> Pieces:
    """Return the files of rows of a release as pieces that workers check, who see the release and the empty `records`.

    Raises ReleaseError if there is no release, and DamagedRelease if its manifest is damaged.
    """
    from senseprobe import release_pieces
    from senseprobe.release.manifest import read_manifest
    from senseprobe.release.release import Release

    folder, _ = releases.locate_release(release)
    return release_pieces.start_verify(Release(folder, read_manifest(folder, any_kind=True)), records)


def finish_verify(
    release: releases.ReleaseSpec, pieces: Pieces, *, rebuild: bool = False, content: str = ""
) -> list[Finding]:
    """Return what `verify` returns of a release whose files of rows were checked in pieces.

    Raises ReleaseError if a file was not checked, and the same errors as `verify`.
    """
    from senseprobe.recipes import card_sources
    from senseprobe.release.manifest import read_manifest
    from senseprobe.release.release import Release
    from senseprobe.release.verify import verify_checked
    from senseprobe.release_pieces import read_checks

    folder, config = releases.locate_release(release)
    manifest = read_manifest(folder, any_kind=True)
    findings = verify_checked(folder, manifest, read_checks(Release(folder, manifest), pieces), card_sources)
    return releases.finish_verification(folder, config, manifest, findings, rebuild=rebuild, content=content)
