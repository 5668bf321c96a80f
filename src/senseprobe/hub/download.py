"""Fetches files of a commit: no more bytes than it has, no longer without any than allowed, and on from a cut.

What a commit on the Hub holds, and in what that differs from a release: told before it is fetched, or changed.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from senseprobe.errors import ReleaseError
from senseprobe.hub.client import client, token, told_of
from senseprobe.messages import printable
from senseprobe.records import Finding
from senseprobe.release.hashing import file_sha256
from senseprobe.release.manifest import MAX_BYTES, NAME, Manifest, read_manifest
from senseprobe.release.restore import RESTORED, read_restored
from senseprobe.release.verify import is_foreign

if TYPE_CHECKING:
    from huggingface_hub import HfApi

TIMEOUT = 30.0
"""Seconds without an answer, or with less than SLOWEST bytes in each of them, after which the Hub is given up."""

SLOWEST = 1_000
"""Bytes a second that have to come, on average over the time-out: some come for years."""

_ATTEMPTS = 5
"""To go on with a file where a connection was cut and nothing more came."""

_AT_ONCE = 4

Entry = tuple[int, str]
"""Size and identity (``sha256:…`` or ``git:…``) of a file."""

Progress = Callable[[int], None]


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Meanwhile the Hub's client gives up a request after so many seconds without an answer: else it waits for ever."""
    from huggingface_hub.utils import get_session  # type: ignore[attr-defined]

    def limit(request: Any) -> None:  # noqa: ANN401 - of httpx, whichever it is
        request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), seconds)

    session = get_session()
    before = session.event_hooks
    session.event_hooks = {**before, "request": [*before["request"], limit]}
    try:
        yield
    finally:
        session.event_hooks = before


@dataclass(frozen=True, slots=True)
class Download:
    """Files of a commit of the dataset `repo` on the Hub; `progress` hears of bytes that are there.

    `timeout` is as for `patience`; `name` is what messages call the commit.
    """

    repo: str
    commit: str
    name: str
    timeout: float = TIMEOUT
    progress: Progress = lambda size: None

    def fetch(self, files: Mapping[str, Entry], folder: Path) -> None:
        """Fetch files, by size and identity, into a folder; what is there, whole or in part, is not fetched again.

        Raises what the Hub's client raises, and TimeoutError where bytes come too slowly.
        """
        with patience(self.timeout), ThreadPoolExecutor(_AT_ONCE) as pool:
            work = [pool.submit(self._file, name, entry, folder / name) for name, entry in files.items()]
            try:
                for each in work:
                    each.result()
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _file(self, name: str, entry: Entry, path: Path) -> None:
        size, identity = entry
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and is_file(path, size, identity):
            self.progress(size)
            return
        path.unlink(missing_ok=True)
        part = path.with_name(f"{path.name}.part")
        self._complete(name, size, part)
        part.rename(path)

    def _complete(self, name: str, size: int, part: Path) -> None:
        """Fetch what a file lacks; where a connection is cut it goes on, as long as something comes."""
        from huggingface_hub.utils import httpx  # type: ignore[attr-defined]

        part.touch()
        if part.stat().st_size > size:
            part.write_bytes(b"")
        self.progress(part.stat().st_size)
        left = _ATTEMPTS
        while (there := part.stat().st_size) < size:
            try:
                self._append(name, size, part)
            except httpx.TransportError:
                if part.stat().st_size == there:
                    left -= 1
                if not left:
                    raise
                time.sleep(min(1.0, self.timeout))

    def _append(self, name: str, size: int, part: Path) -> None:
        """Add what one answer brings to a file, at most what it lacks."""
        from huggingface_hub import hf_hub_url
        from huggingface_hub.utils import (  # type: ignore[attr-defined]
            build_hf_headers,
            get_session,
            hf_raise_for_status,
        )

        there = part.stat().st_size
        url = hf_hub_url(self.repo, name, repo_type="dataset", revision=self.commit, endpoint=client().endpoint)
        headers = build_hf_headers(token=token() or False, library_name="senseprobe")
        wanted = {"Range": f"bytes={there}-"} if there else {}
        headers = {**headers, "Accept-Encoding": "identity", **wanted}
        with get_session().stream("GET", url, headers=headers, follow_redirects=True) as answer:
            hf_raise_for_status(answer)
            if not any("X-Repo-Commit" in each.headers for each in (*answer.history, answer)):
                raise LookupError(name)  # what answers is no Hub
            goes_on = answer.status_code == 206 and answer.headers.get("Content-Range", "").startswith(
                f"bytes {there}-"
            )
            if there and not goes_on:
                self.progress(-there)
                there = 0
            with part.open("ab" if there else "wb") as file:
                for chunk in self._chunks(answer, name, size - there):
                    file.write(chunk)
                    self.progress(len(chunk))

    def _chunks(self, answer: Any, name: str, most: int) -> Iterator[bytes]:  # noqa: ANN401 - of httpx, whichever it is
        """The bytes of an answer as they come; ReleaseError where they are too many, TimeoutError where too slow."""
        came, since, before = 0, time.monotonic(), 0
        for chunk in answer.iter_raw():
            came += len(chunk)
            if came > most:
                raise ReleaseError(f"cannot fetch {self.name}: the Hub sends more bytes of {name} than it has")
            yield chunk
            if (now := time.monotonic()) - since > self.timeout:
                if came - before < SLOWEST * (now - since) and came < most:
                    raise TimeoutError(name)
                since, before = now, came


def is_file(path: Path, size: int, identity: str) -> bool:
    """Whether a file has this size and identity."""
    if path.stat().st_size != size:
        return False
    kind, _, digest = identity.partition(":")
    if kind == "sha256":
        return file_sha256(path) == digest
    blob = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    blob.update(path.read_bytes())
    return blob.hexdigest() == digest


MOST_FILES = 100_000
"""That are listed of a commit; a release of 10^9 rows has 4,000."""


@dataclass(frozen=True, slots=True)
class Held:
    """A commit: size and identity (``sha256:…`` or ``git:…``) of its files, and its manifest if it has a usable one.

    `restored` are size and sha256 of files of rows that were made again, and so may have other bytes.
    """

    files: Mapping[str, Entry]
    manifest: Manifest | None = None
    restored: Mapping[str, Entry] = field(default_factory=dict)


def listing(api: "HfApi", repo: str, commit: str) -> dict[str, Entry]:
    """Size and identity of every file of a commit that may be a release's."""
    from huggingface_hub.hf_api import RepoFile

    entries = [*islice(api.list_repo_tree(repo, repo_type="dataset", revision=commit, recursive=True), MOST_FILES + 1)]
    if len(entries) > MOST_FILES:
        raise ReleaseError(f"{repo} has more than {MOST_FILES:,} files and folders, which no release has")
    files = [entry for entry in entries if isinstance(entry, RepoFile) and not is_foreign(entry.path)]
    identity = {file.path: f"sha256:{file.lfs.sha256}" if file.lfs else f"git:{file.blob_id}" for file in files}
    return {file.path: (file.lfs.size if file.lfs else file.size, identity[file.path]) for file in files}


def held_at(api: "HfApi", repo: str, commit: str, name: str, timeout: float = TIMEOUT) -> Held:
    """What a commit holds; `name` is what messages call it.

    Raises DamagedRelease where its manifest is not what was written, and ReleaseError where it is of a newer form.
    """
    files = listing(api, repo, commit)
    small = [one for one in (NAME, RESTORED) if 0 < files.get(one, (0, ""))[0] <= MAX_BYTES]
    if NAME not in small:
        return Held(files)
    with TemporaryDirectory() as scratch, told_of(name, Path(scratch)):
        Download(repo, commit, name, timeout).fetch({one: files[one] for one in small}, Path(scratch))
        manifest = read_manifest(Path(scratch))
        return Held(files, manifest, read_restored(Path(scratch), manifest))


def differences(held: Held, manifest: Manifest) -> Iterator[Finding]:
    """Everything in which the files of a commit are not those of a manifest, as far as a listing tells."""
    for name in sorted(held.files.keys() - {*manifest.files, NAME, RESTORED}):
        yield Finding(path=printable(name), code="E403", message="is not part of the release")
    for name, frozen in sorted(manifest.files.items()):
        if name not in held.files:
            yield Finding(path=name, code="E402", message="is missing")
            continue
        (size, identity), restored = held.files[name], held.restored.get(name, frozen)
        if size not in (frozen[0], restored[0]):
            yield Finding(path=name, code="E404", message=f"has {size} bytes, the manifest says {frozen[0]}")
        elif identity.startswith("sha256:") and identity[7:] not in (frozen[1], restored[1]):
            yield Finding(path=name, code="E404", message="differs from what was frozen (sha256)")
