"""Fetch a release by its tag, and return it only if it is as it was frozen."""

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from senseprobe.atomic_files import whole_folder
from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.hub.client import (
    ReleaseAddress,
    check_commit,
    damaged_copy,
    explain_errors,
    limit_waiting,
    open_client,
    parse_address,
    relabel_errors,
)
from senseprobe.hub.download import TIMEOUT, Download, Entry, compare_files, read_commit
from senseprobe.messages import listed, sized
from senseprobe.records import Finding
from senseprobe.release.manifest import NAME, VERSION, Manifest
from senseprobe.release.release import Release, parse_version
from senseprobe.release.verify import unexpected_files, verify_release

if TYPE_CHECKING:
    from huggingface_hub import HfApi

Progress = Callable[[int, int], None]

Verify: TypeAlias = Callable[[Path], tuple[Manifest | None, list[Finding]]]
"""Compares the release in a folder with its manifest: `verify_release`, or one that compares its card as well."""


def fetch(address: ReleaseAddress, folder: Path, verify: Verify = verify_release) -> tuple[str, Manifest]:
    """Download a release by its tag into an empty folder and verify it there; return its commit and manifest."""
    commit, manifest, files = _find_release(address, TIMEOUT)
    _download(address, commit, files, folder, verify)
    return commit, manifest


def _find_release(address: ReleaseAddress, timeout: float) -> tuple[str, Manifest, Mapping[str, Entry]]:
    """Return the commit of the tag, its manifest and files; raise where these differ, before any is downloaded."""
    api = open_client()
    with explain_errors(f"fetch {address}"), limit_waiting(timeout):
        commit = _commit(api, address)
        remote = read_commit(api, address.repo, commit, str(address), timeout)
    if remote.manifest is None:
        raise ReleaseError(f"{address.tag} of {address.repo} is not a release of senseprobe: it lacks a usable {NAME}")
    if remote.manifest.data["version"] != address.version:
        raise ReleaseError(f"{address.tag} of {address.repo} contains {remote.manifest.name}: ask its authors")
    if findings := [*compare_files(remote, remote.manifest), *unexpected_files(remote.manifest)]:
        raise damaged_copy(str(address), findings)
    return commit, remote.manifest, remote.files


def _commit(api: "HfApi", address: ReleaseAddress) -> str:
    """Return the commit of the tag; raise ReleaseError, which lists the versions, if there is no such tag."""
    from huggingface_hub.errors import RevisionNotFoundError

    try:
        return check_commit(api.dataset_info(address.repo, revision=address.tag).sha)
    except RevisionNotFoundError:
        versions = listed(_versions(api, address.repo))
    raise ReleaseError(f"{address.repo} does not have version {address.version}; versions: {versions or 'none'}")


def _versions(api: "HfApi", repo: str) -> list[str]:
    """Return the versions that a repository has tags of, the newest first."""
    refs = api.list_repo_refs(repo, repo_type="dataset")
    tags = [tag.name[1:] for tag in refs.tags if tag.name.startswith("v")]
    return sorted((tag for tag in tags if VERSION.fullmatch(tag)), key=parse_version, reverse=True)


def _with_version(address: ReleaseAddress, timeout: float) -> ReleaseAddress:
    """Return an address with its version: without one, the newest that the Hub has."""
    if address.version:
        return address
    api = open_client()
    with explain_errors(f"fetch {address}"), limit_waiting(timeout):
        versions = _versions(api, address.repo)
    if not versions:
        raise ReleaseError(f"{address.repo} does not have versions: a release has a tag vMAJOR.MINOR.PATCH")
    return replace(address, version=versions[0])


def _download(
    address: ReleaseAddress,
    commit: str,
    files: Mapping[str, Entry],
    folder: Path,
    verify: Verify,
    timeout: float = TIMEOUT,
    progress: Progress = lambda done, total: None,
) -> None:
    """Fetch a release's files into an empty folder; raise DamagedRelease where they differ from what was frozen.

    What came before a cut stays in the user's cache, and is not fetched again. `progress` gets the number of bytes that
    are there, and of all.
    """
    lock, done, total = Lock(), 0, sum(size for size, _ in files.values())

    def add(size: int) -> None:
        nonlocal done
        with lock:  # of several threads
            done += size
            progress(done, total)

    with _partial_download(address, commit) as partial:
        if total > (free := shutil.disk_usage(partial).free):
            reason = f"it has {sized(total)}, but only {sized(free)} are free in {partial.parent}"
            raise ReleaseError(f"cannot fetch {address}: {reason}")
        with explain_errors(f"fetch {address}"), limit_waiting(timeout):
            Download(address.repo, commit, str(address), timeout, add).fetch(files, partial)
        for path in [*partial.iterdir()]:
            shutil.move(path, folder / path.name)
        with relabel_errors(str(address), folder):
            if findings := verify(folder)[1]:
                raise DamagedRelease(findings)


@contextmanager
def _partial_download(address: ReleaseAddress, commit: str) -> Iterator[Path]:
    """Provide a folder in the user's cache that stays only where the Hub fails; a temporary one where it is in use."""
    folder = cache_folder(address).with_name(f".{address.version}-{commit[:12]}.begun")
    above = [parent for parent in folder.parents if not parent.exists()]
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if (handle := _lock(folder)) is None:
        with TemporaryDirectory() as scratch:
            yield Path(scratch)
        return
    keep = False
    try:
        yield folder
    except (DamagedRelease, OSError):
        raise
    except BaseException:
        keep = any(path.is_file() for path in folder.rglob("*"))
        raise
    finally:
        os.close(handle)
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
            _remove_empty(above)


def _lock(folder: Path) -> int | None:
    """Lock a folder until the returned handle is closed; None where that is not possible."""
    handle = None
    try:
        handle = os.open(folder, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if handle is not None:
            os.close(handle)
        return None
    return handle


def _remove_empty(folders: Iterable[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Provide a folder that appears whole or not at all, as do those above it; FileExistsError where it exists."""
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
    """Return folder and config of ``hf://USER/NAME[@VERSION][:CONFIG]``; a copy is verified, and fetched if damaged."""
    address = _with_version(parse_address(spec), TIMEOUT)
    folder = cache_folder(address)
    damaged = os.path.lexists(folder)
    with suppress(ReleaseError):
        damaged = damaged and not (folder.is_dir() and not verify(folder)[1])
    if damaged:
        shutil.rmtree(folder) if folder.is_dir() and not folder.is_symlink() else folder.unlink()
    if not folder.is_dir():
        try:
            with suppress(FileExistsError), _new_folder(folder) as partial:
                fetch(address, partial, verify)  # unless another process was faster
        except DamagedRelease:
            raise
        except ReleaseError as error:
            note = f" (the copy in {folder} was damaged, so it was removed)" if damaged else ""
            raise ReleaseError(f"{error}{note}") from None
    return folder, address.config


def cache_folder(address: ReleaseAddress) -> Path:
    """Return the cache folder for a release of the Hub that HF_ENDPOINT names, without a password in that name."""
    from huggingface_hub import constants

    host = re.sub(r"[^\w.-]+", "-", constants.ENDPOINT.rpartition("://")[2].rpartition("@")[2])
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "senseprobe" / "hub" / host / address.repo / address.version


def pull(
    spec: str,
    releases: Path,
    verify: Verify = verify_release,
    *,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
) -> tuple[Release, str]:
    """Fetch ``USER/NAME[@VERSION]`` into `releases`/DATASET/VERSION; return the release and its commit on the Hub.

    `timeout`: seconds without an answer, or with next to nothing, after which the Hub is given up; `progress` gets the
    number of bytes that are there, and of all. A release that is there already is not changed: raise ReleaseError where
    it is another one, DamagedRelease where it is damaged.
    """
    address = parse_address(spec)
    if address.config is not None:
        raise ReleaseError(f"{spec} names a config, but a release is fetched as a whole: remove ':{address.config}'")
    if not timeout > 0:
        raise ReleaseError(f"timeout {timeout}: expected more than 0 seconds")
    address = _with_version(address, timeout)
    commit, manifest, files = _find_release(address, timeout)
    folder = releases / str(manifest.data["dataset"]) / address.version
    try:
        with _new_folder(folder) as partial:
            _download(address, commit, files, partial, verify, timeout, progress or (lambda done, total: None))
    except FileExistsError:
        present, findings = verify(folder)
        if findings:
            raise damaged_copy(str(folder), findings) from None
        if present is None or present.dump() != manifest.dump():
            advice = "move it away, or pull with --out DIR"
            raise ReleaseError(f"{folder} contains another release with this version: {advice}") from None
    return Release(folder, manifest), commit
