"""List and fetch the files of a commit on the Hub, and compare them with the manifest of a release.

A download takes no more bytes than the listing has, gives up where they come too slowly, and goes on after a cut. Up to
its header lines it has the clock of any exchange with the Hub; then a file may be long, and its clock begins anew with
each of its parts, while the least rate holds for all of them.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from senseprobe.errors import ReleaseError
from senseprobe.exchange import all_within, go_on
from senseprobe.hub.client import FILE, limit_waiting, open_client, read_token, relabel_errors
from senseprobe.messages import printable
from senseprobe.records import Finding
from senseprobe.release.hashing import file_sha256
from senseprobe.release.manifest import MAX_BYTES, NAME, Manifest, read_manifest
from senseprobe.release.restore import RESTORED, read_restored
from senseprobe.release.verify import is_foreign

if TYPE_CHECKING:
    from huggingface_hub import HfApi

TIMEOUT = 30.0
"""Seconds after which the Hub is given up: of an exchange, and of a file without an answer, or with less than
MIN_BYTES_PER_SECOND."""

MIN_BYTES_PER_SECOND = 1_000
"""The smallest average over the time-out: without it a slow download could last for years."""

_ATTEMPTS = 5
"""Attempts to go on with a file after a cut, if none of them brings a byte."""

_AT_ONCE = 4

MAX_FILES = 100_000
"""Files that are listed of a commit; a release of 10^9 rows has 4,000."""

_LISTING = 20
"""Times the time-out that all pages of a listing may take, of which a Hub could send ever more."""

Entry = tuple[int, str]
"""Size and identity (``sha256:…`` or ``git:…``) of a file."""

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Download:
    """Files of a commit of the dataset `repo` on the Hub; `progress` gets numbers of new bytes.

    `timeout` is in seconds, as for `limit_waiting`; `name` is the commit's name in messages.
    """

    repo: str
    commit: str
    name: str
    timeout: float = TIMEOUT
    progress: Progress = lambda size: None

    def fetch(self, files: Mapping[str, Entry], folder: Path) -> None:
        """Fetch files, by size and identity, into a folder; what is there already, whole or in part, is kept.

        Raise what the Hub's client raises, and TimeoutError where bytes come too slowly.
        """
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            futures = [pool.submit(self._file, name, entry, folder / name) for name, entry in files.items()]
            try:
                for future in futures:
                    future.result()
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _file(self, name: str, entry: Entry, path: Path) -> None:
        """Fetch the rest of a file; go on after a cut as long as bytes come."""
        from huggingface_hub.utils import httpx  # type: ignore[attr-defined]

        size, partial = entry[0], path.with_name(f"{path.name}.part")
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and has_identity(path, *entry):
            self.progress(size)
            return
        path.unlink(missing_ok=True)
        partial.touch()
        if partial.stat().st_size > size:
            partial.write_bytes(b"")
        self.progress(partial.stat().st_size)
        attempts_left = _ATTEMPTS
        while (size_before := partial.stat().st_size) < size:
            try:
                with limit_waiting(self.timeout):
                    self._append(name, size, partial)
            except httpx.TransportError:
                if partial.stat().st_size == size_before:
                    attempts_left -= 1
                if not attempts_left:
                    raise
                time.sleep(min(1.0, self.timeout))
        partial.rename(path)

    def _append(self, name: str, size: int, partial: Path) -> None:
        """Append the bytes of one answer to a file, at most those that it lacks."""
        from huggingface_hub import hf_hub_url
        from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status  # type: ignore[attr-defined]

        offset = partial.stat().st_size
        url = hf_hub_url(self.repo, name, repo_type="dataset", revision=self.commit, endpoint=open_client().endpoint)
        headers = build_hf_headers(token=read_token() or False, library_name="senseprobe")
        headers |= {"Accept-Encoding": "identity", **({"Range": f"bytes={offset}-"} if offset else {})}
        file = {FILE: True}
        with get_session().stream("GET", url, headers=headers, follow_redirects=True, extensions=file) as answer:
            hf_raise_for_status(answer)
            if not any("X-Repo-Commit" in response.headers for response in (*answer.history, answer)):
                raise LookupError(name)  # what answers is no Hub
            rest = answer.headers.get("Content-Range", "")
            if offset and not (answer.status_code == 206 and rest.startswith(f"bytes {offset}-")):
                self.progress(-offset)
                offset = 0
            with partial.open("ab" if offset else "wb") as stream:
                for chunk in self._chunks(answer, name, size - offset):
                    stream.write(chunk)
                    self.progress(len(chunk))

    def _chunks(self, answer: Any, name: str, most: int) -> Iterator[bytes]:  # noqa: ANN401 - of httpx, whichever it is
        """Yield the bytes of an answer; raise ReleaseError where they are too many, TimeoutError where too slow."""
        received, period_start, received_before = 0, time.monotonic(), 0
        for chunk in answer.iter_raw():
            received += len(chunk)
            if received > most:
                raise ReleaseError(f"cannot fetch {self.name}: the Hub sends more bytes of {name} than it has")
            yield chunk
            go_on(self.timeout)
            if (now := time.monotonic()) - period_start > self.timeout:
                if received - received_before < MIN_BYTES_PER_SECOND * (now - period_start) and received < most:
                    raise TimeoutError(name)
                period_start, received_before = now, received


def has_identity(path: Path, size: int, identity: str) -> bool:
    """Return whether a file has a size and an identity (``sha256:…`` or ``git:…``)."""
    if path.stat().st_size != size:
        return False
    if identity.startswith("sha256:"):
        return identity == f"sha256:{file_sha256(path)}"
    blob = b"blob %d\0" % size + path.read_bytes()
    return identity == f"git:{hashlib.sha1(blob, usedforsecurity=False).hexdigest()}"


@dataclass(frozen=True, slots=True)
class CommitFiles:
    """The files of a commit, by size and identity (``sha256:…`` or ``git:…``), and its manifest if it has a usable one.

    `restored`: size and sha256 of files whose rows were made again, and which may have other bytes.
    """

    files: Mapping[str, Entry]
    manifest: Manifest | None = None
    restored: Mapping[str, Entry] = field(default_factory=dict)


def list_files(api: "HfApi", repo: str, commit: str, timeout: float = TIMEOUT) -> dict[str, Entry]:
    """Return size and identity of each file of a commit that may be part of a release."""
    from huggingface_hub.hf_api import RepoFile

    with all_within(_LISTING * timeout):
        tree = api.list_repo_tree(repo, repo_type="dataset", revision=commit, recursive=True)
        entries = [*islice(tree, MAX_FILES + 1)]
    if len(entries) > MAX_FILES:
        raise ReleaseError(f"{repo} has more than {MAX_FILES:,} files and folders, too many for a release")
    files = [entry for entry in entries if isinstance(entry, RepoFile) and not is_foreign(entry.path)]
    return {
        file.path: (file.lfs.size, f"sha256:{file.lfs.sha256}") if file.lfs else (file.size, f"git:{file.blob_id}")
        for file in files
    }


def read_commit(api: "HfApi", repo: str, commit: str, name: str, timeout: float = TIMEOUT) -> CommitFiles:
    """List the files of a commit and read its manifest; `name` is the commit's name in messages."""
    files = list_files(api, repo, commit, timeout)
    small = [file for file in (NAME, RESTORED) if 0 < files.get(file, (0, ""))[0] <= MAX_BYTES]
    if NAME not in small:
        return CommitFiles(files)
    with TemporaryDirectory() as scratch, relabel_errors(name, Path(scratch)):
        Download(repo, commit, name, timeout).fetch({file: files[file] for file in small}, Path(scratch))
        manifest = read_manifest(Path(scratch))
        return CommitFiles(files, manifest, read_restored(Path(scratch), manifest))


def compare_files(commit_files: CommitFiles, manifest: Manifest) -> Iterator[Finding]:
    """Yield each difference between the files of a commit and a manifest that sizes and identities show."""
    for name in sorted(commit_files.files.keys() - {*manifest.files, NAME, RESTORED}):
        yield Finding(path=printable(name), code="E403", message="is not part of the release")
    for name, frozen in sorted(manifest.files.items()):
        if name not in commit_files.files:
            yield Finding(path=name, code="E402", message="is missing")
            continue
        (size, identity), restored = commit_files.files[name], commit_files.restored.get(name, frozen)
        if size not in (frozen[0], restored[0]):
            yield Finding(path=name, code="E404", message=f"has {size} bytes, the manifest says {frozen[0]}")
        elif identity.startswith("sha256:") and identity[7:] not in (frozen[1], restored[1]):
            yield Finding(path=name, code="E404", message="differs from the frozen file (sha256)")
