"""A dataset repository on the Hub as it is when it is looked at.

A release on its way into a repository: one commit, and a tag on it.

Every step looks first at what is there, so that a run that failed anywhere is completed by the next one.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.hub.client import check_commit, explained
from senseprobe.hub.download import differences, held_at, is_file, listing
from senseprobe.messages import printable
from senseprobe.release.manifest import NAME, Manifest
from senseprobe.release.release import Release
from senseprobe.release.restore import RESTORED, read_restored
from senseprobe.release.versions import parse_version

if TYPE_CHECKING:
    from huggingface_hub import HfApi

Gate = Literal["auto", "manual", "no"]
GATES = ("auto", "manual", "no")


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository as it was when it was looked at; `head` is empty where there is none."""

    head: str = ""
    private: bool = False
    gated: str = "no"
    tags: Mapping[str, str] = field(default_factory=dict)


def look(api: "HfApi", repo: str) -> Repo:
    """The repository; ReleaseError where the Hub has it under another name."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        info = api.dataset_info(repo)
        tags = tags_of(api, repo)
    except GatedRepoError:
        raise
    except RepositoryNotFoundError:
        return Repo()
    if info.id != repo:
        raise ReleaseError(f"{repo} is {printable(str(info.id))} now: publish to that name")
    gate = str(info.gated or "no")
    return Repo(check_commit(info.sha), bool(info.private), gate if gate in GATES else "auto", tags)


def tags_of(api: "HfApi", repo: str) -> dict[str, str]:
    """The commits that its tags are on."""
    refs = api.list_repo_refs(repo, repo_type="dataset")
    return {tag.name: check_commit(tag.target_commit) for tag in refs.tags}


_PROMPT = "extra_gated_prompt:"
_EXAMPLE = "to try senseprobe with."
"""How the summary ends that `senseprobe new` writes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """What was done, or would be done: `commit` is empty where it would only be made.

    `sent` and `removed` count files of the commit; both are 0 where the Hub held the release already. `access` is what
    was changed, or set in a new repository, of who may read it.
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
        """The facts with the stable keys of ``--json``."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Task:
    """A release on its way into a repository."""

    api: "HfApi"
    release: Release
    repo: str
    files: Mapping[str, Path]

    @property
    def manifest(self) -> Manifest:
        """The release's own account of itself."""
        return self.release.manifest

    @property
    def tag(self) -> str:
        """The tag that it gets."""
        return f"v{self.manifest.data['version']}"

    @property
    def aim(self) -> str:
        """What is to be done, for messages."""
        return f"publish {self.manifest.name} to {self.repo}"

    @property
    def title(self) -> str:
        """The commit's title, by which a later run finds it again."""
        return f"{self.manifest.name}, content {self.manifest.content[:12]}"

    def plan(self, there: Repo, *, private: bool, gated: Gate | None) -> Published:
        """What is to be done; ReleaseError where the repository holds what must not be touched."""
        commit = self._commit_there(there)
        # One without a version may be what a run that was killed has left, before it set the gate.
        gate = gated or ("auto" if not there.tags and there.gated == "no" else there.gated)
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
            notes=self._notes(gate),
        )
        plan = replace(plan, access=_access(plan, there))
        if commit:
            return plan
        size = sum(path.stat().st_size for path in self.files.values())
        return replace(plan, sent=len(self.files), removed=len(self._to_remove(there)), bytes=size)

    def carry_out(self, plan: Published, there: Repo) -> Published:
        """Do what is not done yet. Access is set before anything is sent, so that nothing is ever open by mistake."""
        if plan.created:
            self.api.create_repo(self.repo, repo_type="dataset", private=plan.private or None, exist_ok=True)
            there = look(self.api, self.repo)
            plan = replace(plan, private=plan.private or there.private)  # as organisations may want it
            plan = replace(plan, access=_access(plan, Repo()))
        self._set_access(plan, there)
        with explained(f"{self.aim} (access is now {', '.join(plan.access)})" if plan.access else self.aim):
            return replace(plan, commit=self._tagged(plan.commit or self._send(there), there), dry_run=False)

    def _tagged(self, commit: str, there: Repo) -> str:
        """The commit, once the tag is on it."""
        if self.tag not in there.tags:
            if not self._held_by(commit):
                raise ReleaseError(f"{self.repo} does not hold what was sent (a .gitignore there?): not tagged")
            self.api.create_tag(self.repo, repo_type="dataset", tag=self.tag, revision=commit, exist_ok=True)
        on = tags_of(self.api, self.repo).get(self.tag)
        if on != commit:
            raise self._taken(on or "another commit", "set meanwhile")
        return commit

    def _set_access(self, plan: Published, there: Repo) -> None:
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

    def _send(self, there: Repo) -> str:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        adds = [CommitOperationAdd(name, path) for name, path in self.files.items()]
        removals = [CommitOperationDelete(name, is_folder=False) for name in self._to_remove(there)]
        made = self.api.create_commit(
            self.repo,
            [*adds, *removals],
            repo_type="dataset",
            commit_message=self.title,
            parent_commit=there.head or None,
        )
        return check_commit(made.oid)

    def _commit_there(self, there: Repo) -> str:
        """The commit that holds the release already; empty where none does. ReleaseError where the tag is taken."""
        if commit := there.tags.get(self.tag):
            if other := self._other_at(commit):
                raise self._taken(commit, other)
            return commit
        if not there.head:
            return ""
        titled = [
            c.commit_id for c in self.api.list_repo_commits(self.repo, repo_type="dataset") if c.title == self.title
        ]
        return next((commit for commit in dict.fromkeys((there.head, *titled)) if self._held_by(commit)), "")

    def _other_at(self, commit: str) -> str:
        """What a commit holds that is not this release, as far as a listing tells; empty where it is.

        Rows that were made again, here or there, may have other bytes: they are held against the manifest.
        """
        try:
            held = held_at(self.api, self.repo, commit, self.repo)
        except DamagedRelease:
            return f"a damaged {NAME}"
        if held.manifest is None or held.manifest.dump() != self.manifest.dump():
            return "another release" if held.manifest else "no release"
        if found := next(differences(held, self.manifest), None):
            return f"{found.path} {found.message}"
        again = {RESTORED, *held.restored, *read_restored(self.release.folder, self.manifest)}
        known = {name: entry for name, entry in held.files.items() if name not in again}
        others = (name for name, entry in known.items() if not is_file(self.files[name], *entry))
        return next((f"{printable(name)} is another" for name in others), "")

    def _held_by(self, commit: str) -> bool:
        """Whether a commit holds this release's files, byte for byte, and no others."""
        held = listing(self.api, self.repo, commit)
        return held.keys() == self.files.keys() and all(is_file(path, *held[name]) for name, path in self.files.items())

    def _to_remove(self, there: Repo) -> list[str]:
        """Files of an earlier version that this one has not; ReleaseError where the repository holds anything else."""
        if not there.head:
            return []
        held = held_at(self.api, self.repo, there.head, self.repo)
        earlier = held.manifest
        if strange := sorted({*held.files} - ({*earlier.files, NAME, RESTORED} if earlier else set())):
            told = printable(", ".join(strange[:3]))
            raise ReleaseError(f"{self.repo} holds files of others ({told}): remove them there, or name another one")
        if earlier:
            self._check_follows(earlier)
        return sorted({*held.files} - {*self.files})

    def _check_follows(self, earlier: Manifest) -> None:
        if earlier.data["dataset"] != self.manifest.data["dataset"]:
            raise ReleaseError(f"{self.repo} holds {earlier.name}: a repository is for one dataset, name another one")
        if parse_version(str(earlier.data["version"])) > parse_version(str(self.manifest.data["version"])):
            raise ReleaseError(
                f"{self.repo} holds {earlier.name}: what is there by default never gets older, raise the version"
            )

    def _taken(self, commit: str, why: str) -> ReleaseError:
        return ReleaseError(
            f"tag {self.tag} of {self.repo} is on {commit[:12]}, which holds something else ({why}): "
            "a published version never changes, raise it"
        )

    def moved(self, commit: str, cited: Collection[str]) -> ReleaseError:
        """What to say where the commit that a version can be cited as does not hold it any more."""
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


def _access(plan: Published, there: Repo) -> tuple[str, ...]:
    """What of who may read a repository is not as it was."""
    seen = "private" if plan.private else "public"
    was = ("private" if there.private else "public", there.gated) if there.head else ("", "")
    return (*((seen,) if seen != was[0] else ()), *((f"gated: {plan.gated}",) if plan.gated != was[1] else ()))
