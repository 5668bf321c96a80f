"""What a commit on the Hub holds, and in what that differs from a release: told before it is fetched, or changed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from senseprobe.errors import ReleaseError
from senseprobe.hub.answers import told_of
from senseprobe.hub.download import TIMEOUT, Download, Entry
from senseprobe.records import Finding
from senseprobe.release.manifest import MAX_BYTES, NAME, Manifest, read_manifest
from senseprobe.release.restoring import RESTORED, read_restored
from senseprobe.release.verify import is_foreign
from senseprobe.wording import printable

if TYPE_CHECKING:
    from huggingface_hub import HfApi


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
