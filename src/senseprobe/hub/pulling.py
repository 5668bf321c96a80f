"""Fetches a release by its tag, and gives it only when it is as it was frozen."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.files import whole_folder
from senseprobe.hub.answers import check_commit, damaged, explained, told_of
from senseprobe.hub.asking import client
from senseprobe.hub.holding import differences, held_at
from senseprobe.hub.naming import Place, parse
from senseprobe.release.form import VERSION
from senseprobe.release.manifest import NAME, Manifest
from senseprobe.release.reading import Release
from senseprobe.release.verify import FOREIGN, verify_release
from senseprobe.release.versions import numbers
from senseprobe.wording import listed

if TYPE_CHECKING:
    from huggingface_hub import HfApi

__all__ = ["cached", "fetch", "kept", "pull"]


def fetch(place: Place, folder: Path) -> tuple[str, Manifest]:
    """Download a release by its tag into an empty folder and verify it there; its commit and manifest.

    Raises ReleaseError where the Hub does not give it, and DamagedRelease where it is not as it was frozen.
    """
    commit, manifest = _find(place)
    _download(place, commit, folder)
    return commit, manifest


def _find(place: Place) -> tuple[str, Manifest]:
    """The commit that the tag is on, and the manifest there.

    Raises as `fetch` does: files that are not those of the manifest by name and size are told before any is downloaded.
    """
    api = client()
    with explained(f"fetch {place}"):
        commit = _commit(api, place)
        held = held_at(api, place.repo, commit, str(place))
    if held.manifest is None:
        raise ReleaseError(f"{place.tag} of {place.repo} is no release of senseprobe: it has no usable {NAME}")
    if held.manifest.data["version"] != place.version:
        raise ReleaseError(f"{place.tag} of {place.repo} holds {held.manifest.name}: ask its authors")
    if findings := [*differences(held, held.manifest)]:
        raise damaged(str(place), findings)
    return commit, held.manifest


def _commit(api: "HfApi", place: Place) -> str:
    """The commit that the tag is on; ReleaseError, naming the versions that there are, if there is no such tag."""
    from huggingface_hub.errors import RevisionNotFoundError

    try:
        return check_commit(api.dataset_info(place.repo, revision=place.tag).sha)
    except RevisionNotFoundError:
        refs = api.list_repo_refs(place.repo, repo_type="dataset")
    tags = [tag.name[1:] for tag in refs.tags if tag.name.startswith("v")]
    there = listed(sorted((tag for tag in tags if VERSION.fullmatch(tag)), key=numbers, reverse=True))
    raise ReleaseError(f"{place.repo} has no version {place.version}: there is {there or 'none'}")


def _download(place: Place, commit: str, folder: Path) -> None:
    """Load a commit's files, but for those that are no part of a release; DamagedRelease where they differ from it."""
    others = [pattern for name in FOREIGN for pattern in (name, f"{name}/*", f"*/{name}", f"*/{name}/*")]
    with explained(f"fetch {place}"):
        client().snapshot_download(
            place.repo, repo_type="dataset", revision=commit, local_dir=folder, ignore_patterns=others
        )
    for name in FOREIGN:  # the client keeps notes of its own there
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    with told_of(str(place), folder):
        if findings := verify_release(folder)[1]:
            raise DamagedRelease(findings)


@contextmanager
def _new(folder: Path) -> Iterator[Path]:
    """A folder to fill that appears whole or not at all, nor do the folders above it that were made for it.

    Raises FileExistsError where it exists, and ReleaseError where it cannot be written.
    """
    above = [parent for parent in folder.parents if not parent.exists()]
    try:
        with whole_folder(folder) as partial:
            yield partial
    except BaseException as error:
        for parent in above:
            with suppress(OSError):
                parent.rmdir()
        if isinstance(error, OSError) and not isinstance(error, FileExistsError):
            raise ReleaseError(f"cannot write {folder}: {error.strerror or error}; nothing was changed") from None
        raise


def cached(spec: str) -> tuple[Path, str | None]:
    """The folder and config of ``hf://USER/NAME@VERSION[:CONFIG]``, downloaded once and verified each time.

    A copy that was damaged since is fetched again.
    """
    place = parse(spec)
    folder = kept(place)
    spoilt = os.path.lexists(folder) and not _is_whole(folder)
    if spoilt:
        shutil.rmtree(folder) if folder.is_dir() and not folder.is_symlink() else folder.unlink()
    if not folder.is_dir():
        with suppress(FileExistsError), _told_spoilt(folder, spoilt), _new(folder) as partial:
            fetch(place, partial)  # unless another process was faster
    return folder, place.config


def kept(place: Place) -> Path:
    """The folder for a release of the Hub that HF_ENDPOINT names; a password in that name is no part of it."""
    from huggingface_hub import constants

    host = re.sub(r"[^\w.-]+", "-", constants.ENDPOINT.rpartition("://")[2].rpartition("@")[2])
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "senseprobe" / "hub" / host / place.repo / place.version


def _is_whole(folder: Path) -> bool:
    try:
        return folder.is_dir() and not verify_release(folder)[1]
    except ReleaseError:
        return False


@contextmanager
def _told_spoilt(folder: Path, spoilt: bool) -> Iterator[None]:
    """Have a failure to fetch a release say that there was a copy of it, and why it is not used."""
    try:
        yield
    except ReleaseError as error:
        if not spoilt or isinstance(error, DamagedRelease):
            raise
        raise ReleaseError(f"{error} (the copy in {folder} was damaged, so it was removed)") from None


def pull(spec: str, releases: Path) -> tuple[Release, str]:
    """Fetch ``USER/NAME@VERSION`` into `releases`/DATASET/VERSION; the release and its commit on the Hub.

    One that is there already stays as it is: ReleaseError where it is another, DamagedRelease where it is damaged.
    """
    place = parse(spec)
    if place.config is not None:
        raise ReleaseError(f"{spec} names a config, and a release is fetched whole: leave out ':{place.config}'")
    commit, manifest = _find(place)
    folder = releases / str(manifest.data["dataset"]) / place.version
    try:
        with _new(folder) as partial:
            _download(place, commit, partial)
    except FileExistsError:
        _check_same(folder, manifest)
    return Release(folder, manifest), commit


def _check_same(folder: Path, manifest: Manifest) -> None:
    """Raise unless the folder holds, undamaged, the release with this manifest."""
    there, findings = verify_release(folder)
    if findings:
        raise damaged(str(folder), findings)
    if there is None or there.dump() != manifest.dump():
        raise ReleaseError(f"{folder} holds another release of this version: move it away, or pull with --out DIR")
