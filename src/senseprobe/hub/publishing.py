"""Sends a release to the Hub: one commit, a tag on it, and a copy fetched by that tag and verified.

Every step looks first at what is there, so that a run that failed anywhere is completed by the next one.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.hub.answers import explained, token
from senseprobe.hub.naming import Place, check_repo
from senseprobe.hub.pulling import client, fetch, listing, manifest_at
from senseprobe.hub.sharing import why_not_shared
from senseprobe.release.form import printable
from senseprobe.release.hashing import file_sha256
from senseprobe.release.manifest import NAME, Manifest
from senseprobe.release.reading import Release
from senseprobe.release.restoring import RESTORED
from senseprobe.release.verify import verify_release
from senseprobe.release.versions import numbers

if TYPE_CHECKING:
    from huggingface_hub import HfApi

__all__ = ["GATES", "Gate", "Published", "publish"]

Gate = Literal["auto", "manual", "no"]
GATES = ("auto", "manual", "no")

_PROMPT = "extra_gated_prompt:"


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """What was done, or would be done: `commit` is empty where it would only be made.

    `sent` and `removed` count files of the commit; both are 0 where the Hub held the release already.
    """

    release: str
    repo: str
    tag: str
    content: str
    commit: str = ""
    created: bool = False
    private: bool = False
    gated: str = ""
    sent: int = 0
    removed: int = 0
    bytes: int = 0
    dry_run: bool = False
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The facts with the stable keys of ``--json``."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Repo:
    """A repository as it was when it was looked at; `head` is empty where there is none."""

    name: str
    head: str = ""
    private: bool = False
    gated: str = "no"
    tags: Mapping[str, str] | None = None


def publish(
    folder: Path, repo: str, *, private: bool = False, gated: Gate | None = None, dry_run: bool = False
) -> Published:
    """Publish the release in `folder` as ``USER/NAME`` on the Hub.

    `gated`: None is ``auto`` for a repository that is open, and leaves one that is gated as it is. With `dry_run`
    the Hub is only looked at. Raises DamagedRelease where the release, or what the Hub gives back, is not as it was
    frozen, and ReleaseError where it may not be shared, the tag holds something else, or the Hub refuses.
    """
    release = _checked(folder)
    check_repo(repo)
    if gated is not None and gated not in GATES:
        raise ReleaseError(f"gated {gated!r}: expected {', '.join(GATES)}")
    if token() is None:
        raise ReleaseError("no token for the Hub: set HF_TOKEN, or run `hf auth login`, with a token that may write")
    with explained(f"publish {release.manifest.name} to {repo}"):
        there = _look(client(), repo)
        task = _Task(client(), release, repo, _files(release))
        plan = task.plan(there, private=private, gated=gated)
        if not dry_run:
            plan = task.carry_out(plan, there)
    return plan if dry_run else _fetched_again(plan, release)


def _checked(folder: Path) -> Release:
    manifest, findings = verify_release(folder)
    if manifest is None or findings:
        raise DamagedRelease(findings)
    if why := why_not_shared(manifest.data["card"]):
        raise ReleaseError(f"{manifest.name} may not be published: {why}; nothing was sent")
    return Release(folder, manifest)


def _files(release: Release) -> dict[str, Path]:
    names = [*release.manifest.files, NAME, *([RESTORED] if (release.folder / RESTORED).is_file() else [])]
    return {name: release.folder / name for name in sorted(names)}


def _look(api: "HfApi", repo: str) -> _Repo:
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        info = api.dataset_info(repo)
        refs = api.list_repo_refs(repo, repo_type="dataset")
    except GatedRepoError:
        raise
    except RepositoryNotFoundError:
        return _Repo(repo)
    tags = {tag.name: tag.target_commit for tag in refs.tags}
    return _Repo(repo, info.sha or "", bool(info.private), str(info.gated or "no"), tags)


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


@dataclass(frozen=True, slots=True)
class _Task:
    """A release on its way into a repository."""

    api: "HfApi"
    release: Release
    repo: str
    files: Mapping[str, Path]

    @property
    def manifest(self) -> Manifest:
        return self.release.manifest

    @property
    def tag(self) -> str:
        return f"v{self.manifest.data['version']}"

    @property
    def title(self) -> str:
        """The commit's title, by which a later run finds it again."""
        return f"{self.manifest.name}, content {self.manifest.content[:12]}"

    def plan(self, there: _Repo, *, private: bool, gated: Gate | None) -> Published:
        """What is to be done; ReleaseError where the repository holds what must not be touched."""
        commit = self._commit_there(there)
        gate = gated or (there.gated if there.gated != "no" else "auto")
        plan = Published(
            release=self.manifest.name,
            repo=self.repo,
            tag=self.tag,
            content=self.manifest.content,
            commit=commit,
            created=not there.head,
            private=private or there.private,
            gated=gate,
            dry_run=True,
            notes=() if gate == "no" else self._notes(),
        )
        if commit:
            return plan
        size = sum(path.stat().st_size for path in self.files.values())
        return replace(plan, sent=len(self.files), removed=len(self._to_remove(there)), bytes=size)

    def carry_out(self, plan: Published, there: _Repo) -> Published:
        """Do what is not done yet. Access is set before anything is sent, so that nothing is ever open by mistake."""
        api, head = self.api, there.head
        if plan.created:
            api.create_repo(self.repo, repo_type="dataset", private=plan.private or None, exist_ok=True)
            there = _look(api, self.repo)
            head = there.head
        self._set_access(plan, there)
        commit = plan.commit or self._send(there, head)
        if self.tag not in (there.tags or {}):
            if not self._held_by(commit):
                raise ReleaseError(f"{self.repo} does not hold what was sent (a .gitignore there?): not tagged")
            api.create_tag(self.repo, repo_type="dataset", tag=self.tag, revision=commit, exist_ok=True)
        tags = _look(api, self.repo).tags or {}
        if tags.get(self.tag) != commit:
            raise self._taken(tags.get(self.tag, "another commit"))
        return replace(plan, commit=commit, dry_run=False)

    def _set_access(self, plan: Published, there: _Repo) -> None:
        gate: Literal["auto", "manual", False] = False
        if plan.gated == "auto" or plan.gated == "manual":
            gate = plan.gated  # type: ignore[assignment]
        change_gate, change_privacy = plan.gated != there.gated, plan.private and not there.private
        if change_gate or change_privacy:
            self.api.update_repo_settings(
                self.repo,
                repo_type="dataset",
                gated=gate if change_gate else None,
                private=True if change_privacy else None,
            )

    def _send(self, there: _Repo, head: str) -> str:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        adds = [CommitOperationAdd(name, path) for name, path in self.files.items()]
        removals = [CommitOperationDelete(name, is_folder=False) for name in self._to_remove(there)]
        made = self.api.create_commit(
            self.repo,
            [*adds, *removals],
            repo_type="dataset",
            commit_message=self.title,
            parent_commit=head or None,
        )
        return str(made.oid)

    def _commit_there(self, there: _Repo) -> str:
        """The commit that holds the release already; empty where none does. ReleaseError where the tag is taken."""
        if commit := (there.tags or {}).get(self.tag):
            if not self._is_release(commit):
                raise self._taken(commit)
            return commit
        if not there.head:
            return ""
        titled = [
            c.commit_id for c in self.api.list_repo_commits(self.repo, repo_type="dataset") if c.title == self.title
        ]
        return next((commit for commit in dict.fromkeys((there.head, *titled)) if self._held_by(commit)), "")

    def _is_release(self, commit: str) -> bool:
        """Whether a commit has this release's manifest; whether its files agree is seen when they are fetched."""
        with TemporaryDirectory() as scratch, suppress(DamagedRelease):
            manifest = manifest_at(self.api, self.repo, commit, Path(scratch))
            return manifest is not None and manifest.dump() == self.manifest.dump()
        return False

    def _held_by(self, commit: str) -> bool:
        """Whether a commit holds this release's files, byte for byte, and no others."""
        held = listing(self.api, self.repo, commit)
        return held.keys() == self.files.keys() and all(_is(path, *held[name]) for name, path in self.files.items())

    def _to_remove(self, there: _Repo) -> list[str]:
        """Files of an earlier version that this one has not; ReleaseError where the repository holds anything else."""
        if not there.head:
            return []
        names = {*listing(self.api, self.repo, there.head)}
        with TemporaryDirectory() as scratch:
            earlier = manifest_at(self.api, self.repo, there.head, Path(scratch))
        if strange := sorted(names - ({*earlier.files, NAME, RESTORED} if earlier else set())):
            told = printable(", ".join(strange[:3]))
            raise ReleaseError(f"{self.repo} holds files of others ({told}): remove them there, or name another one")
        if earlier:
            self._check_follows(earlier)
        return sorted(names - {*self.files})

    def _check_follows(self, earlier: Manifest) -> None:
        if earlier.data["dataset"] != self.manifest.data["dataset"]:
            raise ReleaseError(f"{self.repo} holds {earlier.name}: a repository is for one dataset, name another one")
        if numbers(str(earlier.data["version"])) > numbers(str(self.manifest.data["version"])):
            raise ReleaseError(
                f"{self.repo} holds {earlier.name}: what is there by default never gets older, raise the version"
            )

    def _taken(self, commit: str) -> ReleaseError:
        return ReleaseError(
            f"tag {self.tag} of {self.repo} is on {commit[:12]}, which holds something else: "
            "a published version never changes, raise it"
        )

    def _notes(self) -> tuple[str, ...]:
        front = self.files["README.md"].read_text(encoding="utf-8").partition("\n---")[0]
        if _PROMPT in front:
            return ()
        return (f"the card has no {_PROMPT.rstrip(':')}, so the Hub asks for access in its own words",)


def _is(path: Path, size: int, identity: str) -> bool:
    """Whether a file has this size and identity (``sha256:…``, or git's ``git:…``)."""
    if path.stat().st_size != size:
        return False
    kind, _, digest = identity.partition(":")
    if kind == "sha256":
        return file_sha256(path) == digest
    blob = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    blob.update(path.read_bytes())
    return blob.hexdigest() == digest
