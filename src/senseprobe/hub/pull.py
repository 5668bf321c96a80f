"""Fetches a release by its tag, and gives it only when it is as it was frozen."""

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from senseprobe.atomic_files import whole_folder
from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.hub.client import Place, check_commit, client, damaged, explained, parse, told_of
from senseprobe.hub.download import TIMEOUT, Download, Entry, differences, held_at, patience
from senseprobe.messages import listed, sized
from senseprobe.records import Finding
from senseprobe.release.manifest import NAME, VERSION, Manifest
from senseprobe.release.release import Release
from senseprobe.release.verify import unexpected_files, verify_release
from senseprobe.release.versions import parse_version

if TYPE_CHECKING:
    from huggingface_hub import HfApi


Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Found:
    """A release on the Hub: the commit that its tag is on, its manifest, and what is listed of its files."""

    commit: str
    manifest: Manifest
    files: Mapping[str, Entry]


Verify: TypeAlias = Callable[[Path], tuple[Manifest | None, list[Finding]]]
"""Compares the release in a folder with its manifest: `verify_release`, or what compares its card's text as well."""


def fetch(place: Place, folder: Path, verify: Verify = verify_release) -> tuple[str, Manifest]:
    """Download a release by its tag into an empty folder and verify it there; its commit and manifest.

    Raises ReleaseError where the Hub does not give it, and DamagedRelease where it is not as it was frozen.
    """
    found = _find(place, TIMEOUT)
    _download(place, found, folder, verify)
    return found.commit, found.manifest


def _find(place: Place, timeout: float) -> Found:
    """The commit that the tag is on, and what is there.

    Raises as `fetch` does: files that are not those of the manifest by name and size are told before any is downloaded.
    """
    api = client()
    with explained(f"fetch {place}"), patience(timeout):
        commit = _commit(api, place)
        held = held_at(api, place.repo, commit, str(place), timeout)
    if held.manifest is None:
        raise ReleaseError(f"{place.tag} of {place.repo} is no release of senseprobe: it has no usable {NAME}")
    if held.manifest.data["version"] != place.version:
        raise ReleaseError(f"{place.tag} of {place.repo} holds {held.manifest.name}: ask its authors")
    if findings := [*differences(held, held.manifest), *unexpected_files(held.manifest)]:
        raise damaged(str(place), findings)
    return Found(commit, held.manifest, held.files)


def _commit(api: "HfApi", place: Place) -> str:
    """The commit that the tag is on; ReleaseError, naming the versions that there are, if there is no such tag."""
    from huggingface_hub.errors import RevisionNotFoundError

    try:
        return check_commit(api.dataset_info(place.repo, revision=place.tag).sha)
    except RevisionNotFoundError:
        refs = api.list_repo_refs(place.repo, repo_type="dataset")
    tags = [tag.name[1:] for tag in refs.tags if tag.name.startswith("v")]
    there = listed(sorted((tag for tag in tags if VERSION.fullmatch(tag)), key=parse_version, reverse=True))
    raise ReleaseError(f"{place.repo} has no version {place.version}: there is {there or 'none'}")


def _download(
    place: Place,
    found: Found,
    folder: Path,
    verify: Verify,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
) -> None:
    """Fetch a release's files into an empty folder; DamagedRelease where they differ from what was frozen.

    What came before a cut is kept in the user's cache, and is not fetched again. `progress` hears how many bytes are
    there, of how many.
    """
    total = sum(size for size, _ in found.files.values())
    with _begun(place, found.commit) as begun:
        if total > (free := shutil.disk_usage(begun).free):
            raise ReleaseError(
                f"cannot fetch {place}: it has {sized(total)}, and {sized(free)} are free in {begun.parent}"
            )
        hear = _sum(progress, total) if progress else _unheard
        with explained(f"fetch {place}"), patience(timeout):
            Download(place.repo, found.commit, str(place), timeout, hear).fetch(found.files, begun)
        for path in [*begun.iterdir()]:
            shutil.move(path, folder / path.name)
        with told_of(str(place), folder):
            if findings := verify(folder)[1]:
                raise DamagedRelease(findings)


def _sum(progress: Progress, total: int) -> Callable[[int], None]:
    """What adds up bytes that come in several threads, for somebody who hears how many there are."""
    lock, done = Lock(), 0

    def add(size: int) -> None:
        nonlocal done
        with lock:
            done += size
            progress(done, total)

    return add


def _unheard(_size: int) -> None:
    """What hears of bytes where nobody asked."""


@contextmanager
def _begun(place: Place, commit: str) -> Iterator[Path]:
    """A folder in the user's cache for what comes of a commit: it stays where the Hub fails, else it is removed.

    Where another process fills it, or it cannot be made, there is a folder for this time.
    """
    folder = kept(place).with_name(f".{place.version}-{commit[:12]}.begun")
    above = [parent for parent in folder.parents if not parent.exists()]
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if (handle := _lock(folder)) is None:
        with TemporaryDirectory() as scratch:
            yield Path(scratch)
        return
    stays = False
    try:
        yield folder
    except BaseException as error:
        damaged_or_full = isinstance(error, DamagedRelease | OSError)
        stays = not damaged_or_full and any(path.is_file() for path in folder.rglob("*"))
        raise
    finally:
        os.close(handle)
        if not stays:
            shutil.rmtree(folder, ignore_errors=True)
            _remove_empty(above)


def _lock(folder: Path) -> int | None:
    """Hold a lock on a folder until the handle is closed; None where there is none to be had."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _remove_empty(folders: Iterable[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


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
        _remove_empty(above)
        if isinstance(error, OSError) and not isinstance(error, FileExistsError):
            raise ReleaseError(f"cannot write {folder}: {error.strerror or error}; nothing was changed") from None
        raise


def cached(spec: str, verify: Verify = verify_release) -> tuple[Path, str | None]:
    """The folder and config of ``hf://USER/NAME@VERSION[:CONFIG]``, downloaded once and verified each time.

    A copy that was damaged since is fetched again.
    """
    place = parse(spec)
    folder = kept(place)
    spoilt = os.path.lexists(folder) and not _is_whole(folder, verify)
    if spoilt:
        shutil.rmtree(folder) if folder.is_dir() and not folder.is_symlink() else folder.unlink()
    if not folder.is_dir():
        with suppress(FileExistsError), _told_spoilt(folder, spoilt), _new(folder) as partial:
            fetch(place, partial, verify)  # unless another process was faster
    return folder, place.config


def kept(place: Place) -> Path:
    """The folder for a release of the Hub that HF_ENDPOINT names; a password in that name is no part of it."""
    from huggingface_hub import constants

    host = re.sub(r"[^\w.-]+", "-", constants.ENDPOINT.rpartition("://")[2].rpartition("@")[2])
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "senseprobe" / "hub" / host / place.repo / place.version


def _is_whole(folder: Path, verify: Verify) -> bool:
    try:
        return folder.is_dir() and not verify(folder)[1]
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


def pull(
    spec: str,
    releases: Path,
    verify: Verify = verify_release,
    *,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
) -> tuple[Release, str]:
    """Fetch ``USER/NAME@VERSION`` into `releases`/DATASET/VERSION; the release and its commit on the Hub.

    `timeout` are the seconds without an answer, or with next to nothing, after which the Hub is given up; `progress`
    hears how many bytes there are, of how many. One that is there already stays as it is: ReleaseError where it is
    another, DamagedRelease where it is damaged.
    """
    place = parse(spec)
    if place.config is not None:
        raise ReleaseError(f"{spec} names a config, and a release is fetched whole: leave out ':{place.config}'")
    if not timeout > 0:
        raise ReleaseError(f"timeout {timeout}: expected seconds, more than 0")
    found = _find(place, timeout)
    folder = releases / str(found.manifest.data["dataset"]) / place.version
    try:
        with _new(folder) as partial:
            _download(place, found, partial, verify, timeout, progress)
    except FileExistsError:
        _check_same(folder, found.manifest, verify)
    return Release(folder, found.manifest), found.commit


def _check_same(folder: Path, manifest: Manifest, verify: Verify) -> None:
    """Raise unless the folder holds, undamaged, the release with this manifest."""
    there, findings = verify(folder)
    if findings:
        raise damaged(str(folder), findings)
    if there is None or there.dump() != manifest.dump():
        raise ReleaseError(f"{folder} holds another release of this version: move it away, or pull with --out DIR")
