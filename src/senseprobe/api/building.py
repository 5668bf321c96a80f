"""Build, restore and verify releases, in this process or by several workers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from senseprobe.api.pieces import (
    finish_build,
    finish_restore,
    finish_verify,
    start_build,
    start_restore,
    start_verify,
)
from senseprobe.api.releases import (
    Progress,
    check_plan,
    find_target,
    finish_verification,
    freeze_plan,
    locate_release,
    open_to_build,
)
from senseprobe.api.workers import do_work, workers_of
from senseprobe.engines.work import Work, WorkerOptions
from senseprobe.errors import DamagedRelease
from senseprobe.options import DATASET, FORCE, RELEASE, RELEASES_FOLDER, VERSION, Option
from senseprobe.progress import expect, with_progress

if TYPE_CHECKING:
    from senseprobe.api.releases import ReleaseSpec
    from senseprobe.records import Finding
    from senseprobe.release.release import Release
    from senseprobe.release.restore import Notify
    from senseprobe.release_pieces import Pieces


@with_progress("building {dataset} {version}")
def build(
    dataset: Annotated[str, DATASET],
    version: Annotated[str, VERSION],
    out: Annotated[str | Path | None, RELEASES_FOLDER] = None,
    progress: Progress | None = None,
    *,
    force: Annotated[bool, FORCE] = False,
    say: Notify | None = None,
    workers: int | WorkerOptions = 1,
) -> Release:
    """Freeze a dataset as a release: rows, card, recipe and manifest.

    The release goes to `out`/DATASET/VERSION. Before rows are made, `say` gets their number, an estimate of their
    size, and the free space. It also gets a message if nothing has changed since the previous release. Raises
    DeclarationError if declarations are wrong or incomplete. Raises ReleaseError if the version exists, is too low
    for the changes, or cannot be written, if an id is retired, or (without `force`) if there are more than 10^9
    rows or the disk is too small. An error leaves no files behind.

    `workers` is a number of processes, or what `senseprobe.api.workers` makes: they build the same release, of pieces
    in `out`/DATASET/VERSION.parts. That folder stays where something fails, and the same call goes on there.
    """
    if not (team := workers_of(workers)).is_one:
        pieces = start_build(dataset, version, out, force=force, say=say)
        _do_pieces(pieces, team, say, progress)
        return finish_build(pieces)
    from senseprobe.recipes import plan_of, rows_by_config

    folder, catalogue = open_to_build(dataset, version, out)
    plan, rows = plan_of(catalogue, version), rows_by_config(catalogue)
    check_plan(rows, plan, folder, {config.name: config.size for config in plan.configs}, force=force, notify=say)
    if say and not folder.exists() and not plan.lexicons and any(config.senses for config in plan.configs):
        say("WordNet is not prepared, so the card has sense keys but no glosses: run `senseprobe wordnet` first")
    return freeze_plan(plan, folder, progress, say)


@with_progress("restoring {release}")
def restore(
    release: Annotated[ReleaseSpec, RELEASE],
    out: Annotated[
        str | Path | None, Option(help="Folder of releases.", shown_default="where it is, or the project's")
    ] = None,
    progress: Progress | None = None,
    *,
    force: Annotated[bool, FORCE] = False,
    say: Notify | None = None,
    workers: int | WorkerOptions = 1,
) -> Release:
    """Build again the rows of a release that keeps only manifest and recipe, and check them.

    The rows of a built-in release go to the project's `releases/`, because an installed package is not changed.
    Before rows are made, `say` gets their number, their bytes (from the manifest), and the free space.

    `workers` do it as they do `build`.

    Raises DamagedRelease if the recipe differs from the frozen one or makes other rows. Raises ReleaseError if the
    rows cannot be written or (without `force`) if there are more than 10^9 rows or the disk is too small.
    """
    if not (team := workers_of(workers)).is_one:
        away = start_restore(release, out, force=force, say=say)
        if away:
            _do_pieces(away, team, say, progress)
        return finish_restore(release, out, away)
    from senseprobe.recipes import rows_of
    from senseprobe.release.restore import restore_rows

    frozen, target = find_target(release, out)
    makers = partial(rows_of, dataset=str(frozen.manifest.data["dataset"]))
    return restore_rows(frozen, target, makers, progress, force=force, notify=say)


@with_progress("verifying {release}")
def verify(
    release: Annotated[ReleaseSpec, RELEASE],
    rebuild: Annotated[bool, Option(help="Also build the rows again from the recipe, and compare them.")] = False,
    progress: Progress | None = None,
    *,
    content: Annotated[str, Option(help="Compare with this content hash, as cited in a paper.")] = "",
    workers: int | WorkerOptions = 1,
    say: Notify | None = None,
) -> list[Finding]:
    """Check that a release is unchanged: every file, its rows and its recipe.

    An empty list means that the release is exactly as frozen. `content` takes at least the first twelve digits of
    the content hash; a forged release with a forged manifest has another hash. Raises ReleaseError if the release
    does not exist.

    `workers` check files of rows at the same time: a number of processes, or what `senseprobe.api.workers` makes. `say`
    hears where there are fewer files than workers.
    """
    if not (team := workers_of(workers)).is_one:
        return _verify_with(team, release, partial(finish_verify, rebuild=rebuild, content=content), say, progress)
    from senseprobe.recipes import verify_with_card

    folder, config = locate_release(release)
    manifest, findings = verify_with_card(folder, progress)
    return finish_verification(folder, config, manifest, findings, rebuild=rebuild, content=content)


def _do_pieces(pieces: Pieces, team: WorkerOptions, say: Notify | None, progress: Progress | None) -> None:
    """Let workers do the pieces of a release that are not done."""
    expect(progress, pieces.units)
    work = Work(pieces.worker, pieces.argument, pieces.numbers, pieces.title, str(pieces.folder))
    do_work(work, team, say, progress)


def _verify_with(
    team: WorkerOptions,
    release: ReleaseSpec,
    finish: Callable[[ReleaseSpec, Pieces], list[Finding]],
    say: Notify | None,
    progress: Progress | None,
) -> list[Finding]:
    """Return the findings on a release whose files of rows workers check, who keep their records in a folder."""
    if team.parts:
        Path(team.parts).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="verify-", dir=team.parts or None) as records:
        try:
            pieces = start_verify(release, Path(records))
        except DamagedRelease as damaged:
            return [*damaged.findings]
        _do_pieces(pieces, team, say, progress)
        return finish(release, pieces)
