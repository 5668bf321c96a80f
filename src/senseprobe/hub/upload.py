"""Upload a release to a dataset repository on the Hub: one commit, and a tag on it.

Every step looks first at the state of the repository, so that the next run completes one that failed.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.hub.client import check_commit, explain_errors
from senseprobe.hub.download import compare_files, has_identity, list_files, read_commit
from senseprobe.messages import printable
from senseprobe.release.manifest import NAME, Manifest
from senseprobe.release.release import Release, parse_version
from senseprobe.release.restore import RESTORED, read_restored

if TYPE_CHECKING:
    from huggingface_hub import HfApi

Gate = Literal["auto", "manual", "no"]
GATES = ("auto", "manual", "no")

_PROMPT = "extra_gated_prompt:"
_EXAMPLE = "to try senseprobe with."
"""The end of the summary that `senseprobe new` writes."""


@dataclass(frozen=True, slots=True)
class RepoState:
    """The state of a repository when it was read; `head` is empty where there is no repository."""

    head: str = ""
    private: bool = False
    gated: str = "no"
    tags: Mapping[str, str] = field(default_factory=dict)


def read_repo(api: "HfApi", repo: str) -> RepoState:
    """Read the state of a repository; raise ReleaseError where the Hub has it under another name."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        info = api.dataset_info(repo)
        tags = read_tags(api, repo)
    except GatedRepoError:
        raise
    except RepositoryNotFoundError:
        return RepoState()
    if info.id != repo:
        raise ReleaseError(f"{repo} is {printable(str(info.id))} now: publish to that name")
    gate = str(info.gated or "no")
    return RepoState(check_commit(info.sha), bool(info.private), gate if gate in GATES else "auto", tags)


def read_tags(api: "HfApi", repo: str) -> dict[str, str]:
    """Return the commit of each tag of a repository."""
    refs = api.list_repo_refs(repo, repo_type="dataset")
    return {tag.name: check_commit(tag.target_commit) for tag in refs.tags}


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishResult:
    """What was done, or in a dry run would be done; `commit` is empty where it does not exist yet.

    `sent` and `removed` count files of the commit; both are 0 where the Hub had the release already. `access` lists
    what was changed, or set in a new repository, about who may read it.
    """

    release: str
    repo: str
    tag: str
    content: str
    commit: str = ""
    created: bool = False
    private: bool = False
    gated: str = ""
    access: tuple[str, ...] = ()
    sent: int = 0
    removed: int = 0
    bytes: int = 0
    dry_run: bool = False
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the fields with the stable keys of ``--json``."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Publication:
    """The upload of a release into a repository; `files` maps names in the repository to local files."""

    api: "HfApi"
    release: Release
    repo: str
    files: Mapping[str, Path]

    @property
    def manifest(self) -> Manifest:
        """The manifest of the release."""
        return self.release.manifest

    @property
    def tag(self) -> str:
        """The tag of the release."""
        return f"v{self.manifest.data['version']}"

    @property
    def aim(self) -> str:
        """The action, for messages."""
        return f"publish {self.manifest.name} to {self.repo}"

    @property
    def title(self) -> str:
        """The title of the commit, by which a later run finds it."""
        return f"{self.manifest.name}, content {self.manifest.content[:12]}"

    def plan(self, state: RepoState, *, private: bool, gated: Gate | None) -> PublishResult:
        """Plan the upload; raise ReleaseError where the repository holds what must not be changed."""
        commit = self._existing_commit(state)
        # A repository without a version may be from a run that was killed before it set the gate.
        gate = gated or ("auto" if not state.tags and state.gated == "no" else state.gated)
        plan = PublishResult(
            release=self.manifest.name,
            repo=self.repo,
            tag=self.tag,
            content=self.manifest.content,
            commit=commit,
            created=not state.head,
            private=private or state.private,
            gated=gate,
            dry_run=True,
            notes=self._notes(gate),
        )
        plan = replace(plan, access=_access(plan, state))
        if commit:
            return plan
        size = sum(path.stat().st_size for path in self.files.values())
        return replace(plan, sent=len(self.files), removed=len(self._to_remove(state)), bytes=size)

    def carry_out(self, plan: PublishResult, state: RepoState) -> PublishResult:
        """Do what is missing. Set access before anything is sent, so that nothing is ever open by mistake."""
        if plan.created:
            self.api.create_repo(self.repo, repo_type="dataset", private=plan.private or None, exist_ok=True)
            state = read_repo(self.api, self.repo)
            plan = replace(plan, private=plan.private or state.private)  # as organisations may want it
            plan = replace(plan, access=_access(plan, RepoState()))
        self._set_access(plan, state)
        with explain_errors(f"{self.aim} (access is now {', '.join(plan.access)})" if plan.access else self.aim):
            return replace(plan, commit=self._ensure_tag(plan.commit or self._send(state), state), dry_run=False)

    def _ensure_tag(self, commit: str, state: RepoState) -> str:
        """Put the tag on the commit unless it is there; return the commit."""
        if self.tag not in state.tags:
            if not self._has_our_files(commit):
                raise ReleaseError(f"{self.repo} does not hold what was sent (a .gitignore there?): not tagged")
            self.api.create_tag(self.repo, repo_type="dataset", tag=self.tag, revision=commit, exist_ok=True)
        tag_commit = read_tags(self.api, self.repo).get(self.tag)
        if tag_commit != commit:
            raise self._tag_taken(tag_commit or "another commit", "set meanwhile")
        return commit

    def _set_access(self, plan: PublishResult, state: RepoState) -> None:
        gate: Literal["auto", "manual", False] = False
        if plan.gated == "auto" or plan.gated == "manual":
            gate = plan.gated  # type: ignore[assignment]
        change_gate, change_privacy = plan.gated != state.gated, plan.private and not state.private
        if change_gate or change_privacy:
            self.api.update_repo_settings(
                self.repo,
                repo_type="dataset",
                gated=gate if change_gate else None,
                private=True if change_privacy else None,
            )

    def _send(self, state: RepoState) -> str:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        adds = [CommitOperationAdd(name, path) for name, path in self.files.items()]
        removals = [CommitOperationDelete(name, is_folder=False) for name in self._to_remove(state)]
        created = self.api.create_commit(
            self.repo,
            [*adds, *removals],
            repo_type="dataset",
            commit_message=self.title,
            parent_commit=state.head or None,
        )
        return check_commit(created.oid)

    def _existing_commit(self, state: RepoState) -> str:
        """Return the commit that has the release, empty where none has; raise ReleaseError where the tag is taken."""
        if commit := state.tags.get(self.tag):
            if other := self._difference_at(commit):
                raise self._tag_taken(commit, other)
            return commit
        if not state.head:
            return ""
        titled = [
            c.commit_id for c in self.api.list_repo_commits(self.repo, repo_type="dataset") if c.title == self.title
        ]
        return next((commit for commit in dict.fromkeys((state.head, *titled)) if self._has_our_files(commit)), "")

    def _difference_at(self, commit: str) -> str:
        """Return how the files of a commit differ from this release, as far as a listing shows; empty if they agree.

        Rows that were made again, here or there, may have other bytes: they are compared with the manifest only.
        """
        try:
            commit_files = read_commit(self.api, self.repo, commit, self.repo)
        except DamagedRelease:
            return f"a damaged {NAME}"
        if commit_files.manifest is None or commit_files.manifest.dump() != self.manifest.dump():
            return "another release" if commit_files.manifest else "no release"
        if difference := next(compare_files(commit_files, self.manifest), None):
            return f"{difference.path} {difference.message}"
        rebuilt = {RESTORED, *commit_files.restored, *read_restored(self.release.folder, self.manifest)}
        comparable = {name: entry for name, entry in commit_files.files.items() if name not in rebuilt}
        others = (name for name, entry in comparable.items() if not has_identity(self.files[name], *entry))
        return next((f"{printable(name)} is another" for name in others), "")

    def _has_our_files(self, commit: str) -> bool:
        """Return whether a commit has the files of this release, byte for byte, and no others."""
        files = list_files(self.api, self.repo, commit)
        return files.keys() == self.files.keys() and all(
            has_identity(path, *files[name]) for name, path in self.files.items()
        )

    def _to_remove(self, state: RepoState) -> list[str]:
        """Return files that only an earlier version has; raise ReleaseError where the repository has any others."""
        if not state.head:
            return []
        commit_files = read_commit(self.api, self.repo, state.head, self.repo)
        earlier = commit_files.manifest
        if unexpected := sorted({*commit_files.files} - ({*earlier.files, NAME, RESTORED} if earlier else set())):
            names = printable(", ".join(unexpected[:3]))
            raise ReleaseError(f"{self.repo} holds files of others ({names}): remove them there, or name another one")
        if earlier:
            self._check_follows(earlier)
        return sorted({*commit_files.files} - {*self.files})

    def _check_follows(self, earlier: Manifest) -> None:
        if earlier.data["dataset"] != self.manifest.data["dataset"]:
            raise ReleaseError(f"{self.repo} holds {earlier.name}: a repository is for one dataset, name another one")
        if parse_version(str(earlier.data["version"])) > parse_version(str(self.manifest.data["version"])):
            raise ReleaseError(
                f"{self.repo} holds {earlier.name}: what is there by default never gets older, raise the version"
            )

    def _tag_taken(self, commit: str, why: str) -> ReleaseError:
        return ReleaseError(
            f"tag {self.tag} of {self.repo} is on {commit[:12]}, which holds something else ({why}): "
            "a published version never changes, raise it"
        )

    def moved_error(self, commit: str, cited: Collection[str]) -> ReleaseError:
        """Return the error for a version that is cited as a commit which does not have it any more."""
        now = f"commit {commit[:12]} there" if commit else "not there any more"
        return ReleaseError(
            f"{self.manifest.name} was published to {self.repo} as commit {', '.join(cited)}, and is {now}: "
            "raise the version, or remove that line of published.csv"
        )

    def _notes(self, gate: str) -> tuple[str, ...]:
        front = self.files["README.md"].read_text(encoding="utf-8").partition("\n---")[0]
        asks = gate == "no" or _PROMPT in front
        own = not str(self.manifest.data["card"].get("summary")).endswith(_EXAMPLE)
        return (
            *(() if asks else (f"the card has no {_PROMPT.rstrip(':')}, so the Hub asks for access in its own words",)),
            *(() if own else ("the card has the summary of the example: say in dataset.yaml what the dataset is",)),
        )


def _access(plan: PublishResult, state: RepoState) -> tuple[str, ...]:
    """Return what changes about who may read a repository."""
    visibility = "private" if plan.private else "public"
    before = ("private" if state.private else "public", state.gated) if state.head else ("", "")
    return (
        *((visibility,) if visibility != before[0] else ()),
        *((f"gated: {plan.gated}",) if plan.gated != before[1] else ()),
    )
