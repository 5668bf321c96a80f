"""Sends a release to the Hub, and then fetches a copy by its tag and verifies it."""

from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory

from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.hub.answers import explained
from senseprobe.hub.asking import client, token, why_refused
from senseprobe.hub.naming import Place, check_repo
from senseprobe.hub.pulling import Verify, fetch
from senseprobe.hub.repository import GATES, Gate, look
from senseprobe.hub.sending import Published, Task
from senseprobe.hub.sharing import why_not_shared, why_not_taken
from senseprobe.release.manifest import NAME, read_manifest
from senseprobe.release.reading import Release
from senseprobe.release.restoring import RESTORED
from senseprobe.release.verify import verify_release


def publish(
    folder: Path,
    repo: str,
    *,
    private: bool = False,
    gated: Gate | None = None,
    dry_run: bool = False,
    cited: Collection[str] = (),
    verify: Verify = verify_release,
) -> Published:
    """Publish the release in `folder` as ``USER/NAME`` on the Hub.

    `gated`: None is ``auto`` for a repository without a version, and leaves others as they are. With `dry_run` the Hub
    is only looked at. `cited` are commits that this version is known as there; `verify` compares the release with its
    manifest. Raises DamagedRelease where the release,
    or what the Hub gives back, is not as it was frozen, and ReleaseError where it may not be shared, the tag holds
    something else, or the Hub refuses.
    """
    release = _checked(folder, verify)
    check_repo(repo)
    if gated is not None and gated not in GATES:
        raise ReleaseError(f"gated {gated!r}: expected {', '.join(GATES)}")
    if token() is None:
        raise ReleaseError("no token for the Hub: set HF_TOKEN, or run `hf auth login`, with a token that may write")
    api = client()
    task = Task(api, release, repo, _files(release))
    with explained(task.aim):
        if dry_run and (why := why_refused(api, repo)):
            raise ReleaseError(f"cannot {task.aim}: {why}")
        there = look(api, repo)
        plan = task.plan(there, private=private, gated=gated)
        if cited and plan.commit not in cited:
            raise task.moved(plan.commit, cited)
        if not dry_run:
            plan = task.carry_out(plan, there)
    return plan if dry_run else _fetched_again(plan, release)


def _checked(folder: Path, verify: Verify) -> Release:
    manifest = read_manifest(folder)
    if why := why_not_shared(manifest.data["card"]) or why_not_taken(manifest.files):
        raise ReleaseError(f"{manifest.name} may not be published: {why}; nothing was sent")
    if findings := verify(folder)[1]:
        raise DamagedRelease(findings)
    return Release(folder, manifest)


def _files(release: Release) -> dict[str, Path]:
    names = [*release.manifest.files, NAME, *([RESTORED] if (release.folder / RESTORED).is_file() else [])]
    return {name: release.folder / name for name in sorted(names)}


def _fetched_again(plan: Published, release: Release) -> Published:
    """The plan, once a copy fetched by the tag into an empty folder is the release; DamagedRelease where it is not."""
    place = Place(repo=plan.repo, version=plan.tag.removeprefix("v"))
    with TemporaryDirectory() as scratch:
        commit, manifest = fetch(place, Path(scratch))
    if (commit, manifest.dump()) != (plan.commit, release.manifest.dump()):
        raise ReleaseError(
            f"{plan.tag} of {plan.repo} gives commit {commit}, not {plan.commit}: is there such a branch?"
        )
    return plan
