"""Fetches a release by its tag, and gives it only when it is as it was frozen."""

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.files import whole_folder
from senseprobe.hub.answers import explained, token
from senseprobe.hub.naming import Place, parse
from senseprobe.records import Finding
from senseprobe.release.form import printable
from senseprobe.release.manifest import MAX_BYTES, NAME, Manifest, read_manifest
from senseprobe.release.reading import Release
from senseprobe.release.restoring import RESTORED
from senseprobe.release.verify import FOREIGN, verify_release

if TYPE_CHECKING:
    from huggingface_hub import HfApi

__all__ = ["cached", "client", "fetch", "listing", "manifest_at", "pull"]

_SLACK = 64 * 2**20
"""Restored files may be larger than those that were frozen; what is larger than that is no release."""


def client() -> "HfApi":
    """The Hub's client with the user's token, if there is one, for the endpoint that HF_ENDPOINT names."""
    from huggingface_hub import HfApi

    return HfApi(token=token(), library_name="senseprobe")


def listing(api: "HfApi", repo: str, commit: str) -> dict[str, tuple[int, str]]:
    """Size and identity (``sha256:…`` or ``git:…``) of every file of a commit that may be a release's."""
    from huggingface_hub.hf_api import RepoFile

    entries = api.list_repo_tree(repo, repo_type="dataset", revision=commit, recursive=True)
    files = [entry for entry in entries if isinstance(entry, RepoFile) and not {*FOREIGN} & {*entry.path.split("/")}]
    identity = {file.path: f"sha256:{file.lfs.sha256}" if file.lfs else f"git:{file.blob_id}" for file in files}
    return {file.path: (file.lfs.size if file.lfs else file.size, identity[file.path]) for file in files}


def fetch(place: Place, folder: Path) -> tuple[str, Manifest]:
    """Download a release by its tag into an empty folder and verify it there; its commit and manifest.

    Raises ReleaseError where the Hub does not give it, and DamagedRelease where it is not as it was frozen.
    """
    commit, manifest = find(place)
    _download(place, commit, folder)
    return commit, manifest


def _download(place: Place, commit: str, folder: Path) -> None:
    with explained(f"fetch {place}"):
        client().snapshot_download(place.repo, repo_type="dataset", revision=commit, local_dir=folder)
    for name in FOREIGN:
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    if findings := verify_release(folder)[1]:
        raise DamagedRelease(findings)


def find(place: Place) -> tuple[str, Manifest]:
    """The commit that the tag is on, and the manifest there.

    Raises as `fetch` does: files that do not belong to a release, or that are far too large, are told before they are
    downloaded.
    """
    api = client()
    with explained(f"fetch {place}"), TemporaryDirectory() as scratch:
        commit = api.dataset_info(place.repo, revision=place.tag).sha or ""
        manifest = manifest_at(api, place.repo, commit, Path(scratch))
        files = listing(api, place.repo, commit)
    if manifest is None:
        raise ReleaseError(f"{place.tag} of {place.repo} is no release of senseprobe: it has no usable {NAME}")
    if manifest.data["version"] != place.version:
        raise ReleaseError(f"{place.tag} of {place.repo} holds {manifest.name}: ask its authors")
    if strange := sorted({*files} - {*manifest.files, NAME, RESTORED}):
        message = "is not part of the release"
        raise DamagedRelease([Finding(path=printable(name), code="E403", message=message) for name in strange])
    told = sum(size for size, _ in manifest.files.values())
    if sum(size for size, _ in files.values()) > 2 * told + _SLACK:
        raise ReleaseError(f"{place.tag} of {place.repo} is far larger than its manifest says: ask its authors")
    return commit, manifest


def manifest_at(api: "HfApi", repo: str, commit: str, scratch: Path) -> Manifest | None:
    """The manifest that a commit holds, None where it holds none; `scratch` is a folder to download it to."""
    if not 0 < listing(api, repo, commit).get(NAME, (0, ""))[0] <= MAX_BYTES:
        return None
    api.hf_hub_download(repo, NAME, repo_type="dataset", revision=commit, local_dir=scratch)
    return read_manifest(scratch)


def cached(spec: str) -> tuple[Path, str | None]:
    """The folder and config of ``hf://USER/NAME@VERSION[:CONFIG]``, downloaded and verified once for all runs."""
    from huggingface_hub import constants

    place = parse(spec)
    host = re.sub(r"[^\w.-]+", "-", constants.ENDPOINT.partition("://")[2] or constants.ENDPOINT)
    folder = _cache() / "hub" / host / place.repo / place.version
    if not folder.is_dir():
        with suppress(FileExistsError), whole_folder(folder) as partial:  # another process may have been faster
            fetch(place, partial)
    return folder, place.config


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "senseprobe"


def pull(spec: str, releases: Path) -> tuple[Release, str]:
    """Fetch ``USER/NAME@VERSION`` into `releases`/DATASET/VERSION; the release and its commit on the Hub.

    One that is there already stays as it is: ReleaseError where it is another, DamagedRelease where it is damaged.
    """
    place = parse(spec)
    commit, manifest = find(place)
    folder = releases / str(manifest.data["dataset"]) / place.version
    if folder.exists():
        _check_same(folder, manifest)
        return Release(folder, manifest), commit
    try:
        with whole_folder(folder) as partial:
            _download(place, commit, partial)
    except OSError as error:
        raise ReleaseError(f"cannot write {folder}: {error.strerror or error}; nothing was changed") from None
    return Release(folder, manifest), commit


def _check_same(folder: Path, manifest: Manifest) -> None:
    """Raise unless the folder holds, undamaged, the release with this manifest."""
    there, findings = verify_release(folder)
    if findings:
        raise DamagedRelease(findings)
    if there is None or there.dump() != manifest.dump():
        raise ReleaseError(f"{folder} holds another release of this version: move it away, or pull with --out DIR")
