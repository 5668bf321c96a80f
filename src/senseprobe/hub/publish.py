"""Publish a release on the Hub: one commit, a tag on it, and a copy that is fetched by the tag and verified.

Every step looks first at the state of the repository, so that the next run completes one that failed. The file
`published.csv` of a dataset notes which version went to which repository, as which commit.
"""

import csv
import io
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from senseprobe.atomic_files import locked, write_whole
from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.hub.client import (
    ReleaseAddress,
    check_commit,
    check_repo,
    explain_errors,
    limit_waiting,
    open_client,
    read_token,
    why_refused,
)
from senseprobe.hub.download import compare_files, has_identity, list_files, read_commit
from senseprobe.hub.pull import Verify, fetch
from senseprobe.messages import printable
from senseprobe.release.croissant import NAME as CROISSANT
from senseprobe.release.croissant import missing_fields
from senseprobe.release.licences import alternatives, declared_licence
from senseprobe.release.manifest import NAME, Manifest, is_for_training, read_manifest
from senseprobe.release.release import parse_version
from senseprobe.release.restore import RESTORED, read_restored
from senseprobe.release.verify import FOREIGN, verify_release
from senseprobe.tables import UnreadableError, read_csv_file, table_objects

if TYPE_CHECKING:
    from huggingface_hub import HfApi

Gate = Literal["auto", "manual", "no"]
GATES = ("auto", "manual", "no")

ANSWER = 300.0
"""Seconds that the Hub may take for each answer: it makes a commit of all files at once."""

_MOST_BYTES = 2**24
COLUMNS = ("version", "repo", "commit", "content")

_PROMPT = "extra_gated_prompt:"
_EXAMPLE = "to try senseprobe with."
"""The end of the summary that `senseprobe new` writes."""


def publish(
    folder: Path,
    repo: str,
    *,
    private: bool = False,
    gated: Gate | None = None,
    dry_run: bool = False,
    cited: Collection[str] = (),
    verify: Verify = verify_release,
) -> "PublishResult":
    """Publish the release in `folder` as ``USER/NAME`` on the Hub.

    `gated`: None is ``auto`` for a repository without a version (``no`` of rows for training), and leaves others as
    they are. With `dry_run` the Hub is only read. `cited`: commits by which this version is cited there; `verify`
    compares the release with its manifest. Raise DamagedRelease where the release, or what the Hub gives back, is not
    as it was frozen, and ReleaseError where it may not be shared, the tag has something else, or the Hub refuses.
    """
    manifest = read_manifest(folder)
    if why := why_not_shared(manifest.data["card"]) or why_not_taken(manifest.files):
        raise ReleaseError(f"{manifest.name} cannot be published: {why}; nothing was sent")
    if findings := verify(folder)[1]:
        raise DamagedRelease(findings)
    check_repo(repo)
    if gated is not None and gated not in GATES:
        raise ReleaseError(f"gated {gated!r}: expected {', '.join(GATES)}")
    if read_token() is None:
        raise ReleaseError("the Hub needs a token with write access: set HF_TOKEN, or run `hf auth login`")
    names = [*manifest.files, NAME, *([RESTORED] if (folder / RESTORED).is_file() else [])]
    files = {name: folder / name for name in sorted(names)}
    publication = Publication(open_client(), folder, manifest, repo, files)
    with explain_errors(publication.aim), limit_waiting(ANSWER):
        if dry_run and (why := why_refused(publication.api, repo)):
            raise ReleaseError(f"cannot {publication.aim}: {why}")
        state = read_repo(publication.api, repo)
        plan = publication.plan(state, private=private, gated=gated)
        if cited and plan.commit not in cited:
            now = f"commit {plan.commit[:12]} now" if plan.commit else "missing now"
            raise ReleaseError(
                f"{manifest.name} was published to {repo} as commit {', '.join(cited)}, but is {now}: "
                "raise the version, or remove that line of published.csv"
            )
        if dry_run:
            return plan
        plan = publication.carry_out(plan, state)
    address = ReleaseAddress(repo=repo, version=str(manifest.data["version"]))
    with TemporaryDirectory() as scratch:
        commit, copy = fetch(address, Path(scratch))
    if (commit, copy.dump()) != (plan.commit, manifest.dump()):
        raise ReleaseError(f"{plan.tag} of {repo} gives commit {commit}, not {plan.commit}: is there such a branch?")
    return plan


def why_not_shared(card: Mapping[str, Any]) -> str | None:
    """Return why a release with this card may not be published; None where it may.

    It needs an SPDX licence that allows changed versions, since a release is a changed version of its sources.
    """
    licence = declared_licence(card.get("license"))
    if not licence:
        return "it does not declare a licence"
    try:
        alternatives(licence)
    except ReleaseError as error:
        return str(error)
    return None


def why_not_taken(names: Iterable[str]) -> str | None:
    """Return why the Hub or its clients refuse a file of one of the names; None where they accept all."""
    for name in names:
        if {*FOREIGN} & {*name.split("/")}:
            return f"{printable(name)} has a name that git or the Hub reserves: rename the file"
        if ":" in name:  # on Windows it ends the name of a drive
            return f"{printable(name)} has a colon in its name, which the Hub's clients refuse: rename the file"
    return None


def commits_of(path: Path, version: str, repo: str) -> list[str]:
    """Return the commits of a version in a repository; raise ReleaseError where the file is another table."""
    return [line[2] for line in read_published(path) if line[:2] == (version, repo)]


def read_published(path: Path) -> list[tuple[str, ...]]:
    """Return the rows of the file, none where there is no file; raise ReleaseError where it is another table."""
    if not os.path.lexists(path):
        return []
    try:
        rows = read_csv_file(path.resolve(), _MOST_BYTES, ",")
        return [tuple(row[column] for column in COLUMNS) for _, row in table_objects(rows, COLUMNS)]
    except UnreadableError:
        raise ReleaseError(f"{path} is not a table of {', '.join(COLUMNS)}: correct it, or move it away") from None


def note_published(path: Path, line: tuple[str, str, str, str]) -> bool:
    """Add a row unless it is there; return whether it was added. Processes write the file one after the other.

    Raise ReleaseError where the version is noted as another commit of that repository.
    """
    with locked(path.parent, wait=True):
        lines = read_published(path)
        if line in lines:
            return False
        if commits := commits_of(path, *line[:2]):
            raise ReleaseError(f"{path} has {line[0]} of {line[1]} as commit {commits[0]}, not {line[2]}: correct it")
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([COLUMNS, *lines, line])
        write_whole(path.resolve(), text.getvalue().encode())  # a link stays one
    return True


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
        tags = _read_tags(api, repo)
    except GatedRepoError:
        raise
    except RepositoryNotFoundError:
        return RepoState()
    if info.id != repo:
        raise ReleaseError(f"{repo} was renamed to {printable(str(info.id))}: publish to that name")
    gate = str(info.gated or "no")
    return RepoState(check_commit(info.sha), bool(info.private), gate if gate in GATES else "auto", tags)


def _read_tags(api: "HfApi", repo: str) -> dict[str, str]:
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
    folder: Path
    manifest: Manifest
    repo: str
    files: Mapping[str, Path]

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
        first = "no" if is_for_training(self.manifest.data["card"]) else "auto"
        gate = gated or (first if not state.tags and state.gated == "no" else state.gated)
        plan = PublishResult(
            release=self.manifest.name,
            repo=self.repo,
            tag=self.tag,
            content=self.manifest.content,
            commit=commit,
            created=not state.head,
            private=private or state.private,
            gated=gate,
            sent=0 if commit else len(self.files),
            removed=0 if commit else len(self._to_remove(state)),
            bytes=0 if commit else sum(path.stat().st_size for path in self.files.values()),
            dry_run=True,
            notes=self._notes(gate),
        )
        return replace(plan, access=_access(plan, state))

    def carry_out(self, plan: PublishResult, state: RepoState) -> PublishResult:
        """Do what is missing. Set access before anything is sent, so that nothing is ever open by mistake."""
        if plan.created:
            self.api.create_repo(self.repo, repo_type="dataset", private=plan.private or None, exist_ok=True)
            state = read_repo(self.api, self.repo)
            plan = replace(plan, private=plan.private or state.private)  # as organisations may want it
            plan = replace(plan, access=_access(plan, RepoState()))
        gated = None if plan.gated == state.gated else False if plan.gated == "no" else plan.gated
        private = True if plan.private and not state.private else None
        if gated is not None or private:
            self.api.update_repo_settings(self.repo, repo_type="dataset", gated=gated, private=private)  # type: ignore[arg-type]
        with explain_errors(f"{self.aim} (access is now {', '.join(plan.access)})" if plan.access else self.aim):
            return replace(plan, commit=self._ensure_tag(plan.commit or self._send(state), state), dry_run=False)

    def _ensure_tag(self, commit: str, state: RepoState) -> str:
        """Put the tag on the commit unless it is there; return the commit."""
        if self.tag not in state.tags:
            if not self._has_our_files(commit):
                raise ReleaseError(f"{self.repo} lacks files that were sent (is a .gitignore there?): not tagged")
            self.api.create_tag(self.repo, repo_type="dataset", tag=self.tag, revision=commit, exist_ok=True)
        tag_commit = _read_tags(self.api, self.repo).get(self.tag)
        if tag_commit != commit:
            raise self._tag_taken(tag_commit or "another commit", "set meanwhile")
        return commit

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
        commits = self.api.list_repo_commits(self.repo, repo_type="dataset")
        candidates = dict.fromkeys((state.head, *(item.commit_id for item in commits if item.title == self.title)))
        return next(filter(self._has_our_files, candidates), "")

    def _difference_at(self, commit: str) -> str:
        """Return how the files of a commit differ from this release, as far as a listing shows; empty if they agree.

        Rows that were made again, here or there, may have other bytes: they are compared with the manifest only.
        """
        try:
            commit_files = read_commit(self.api, self.repo, commit, self.repo)
        except DamagedRelease:
            return f"a damaged {NAME}"
        if commit_files.manifest is None or commit_files.manifest.dump() != self.manifest.dump():
            return "another release" if commit_files.manifest else "not a release"
        if difference := next(compare_files(commit_files, self.manifest), None):
            return f"{difference.path} {difference.message}"
        rebuilt = {RESTORED, *commit_files.restored, *read_restored(self.folder, self.manifest)}
        comparable = {name: entry for name, entry in commit_files.files.items() if name not in rebuilt}
        others = (name for name, entry in comparable.items() if not has_identity(self.files[name], *entry))
        return next((f"{printable(name)} differs" for name in others), "")

    def _has_our_files(self, commit: str) -> bool:
        """Return whether a commit has the files of this release, byte for byte, and no others."""
        files = list_files(self.api, self.repo, commit)
        is_same_set = files.keys() == self.files.keys()
        return is_same_set and all(has_identity(path, *files[name]) for name, path in self.files.items())

    def _to_remove(self, state: RepoState) -> list[str]:
        """Return files that only an earlier version has; raise ReleaseError where the repository has any others."""
        if not state.head:
            return []
        commit_files = read_commit(self.api, self.repo, state.head, self.repo)
        earlier = commit_files.manifest
        if unexpected := sorted({*commit_files.files} - ({*earlier.files, NAME, RESTORED} if earlier else set())):
            names = printable(", ".join(unexpected[:3]))
            raise ReleaseError(f"{self.repo} contains other files ({names}): remove them, or name another repository")
        if earlier and earlier.data["dataset"] != self.manifest.data["dataset"]:
            raise ReleaseError(f"{self.repo} contains {earlier.name}: a repository has one dataset: name another one")
        if earlier and parse_version(earlier.data["version"]) > parse_version(self.manifest.data["version"]):
            advice = "the default version never gets older, so raise the version"
            raise ReleaseError(f"{self.repo} contains {earlier.name}: {advice}")
        return sorted({*commit_files.files} - {*self.files})

    def _tag_taken(self, commit: str, why: str) -> ReleaseError:
        return ReleaseError(
            f"tag {self.tag} of {self.repo} is on {commit[:12]}, which has other content ({why}): "
            "a published version never changes, so raise the version"
        )

    def _notes(self, gate: str) -> tuple[str, ...]:
        front = self.files["README.md"].read_text(encoding="utf-8").partition("\n---")[0]
        notes = []
        if gate != "no" and _PROMPT not in front:
            notes.append(f"the card lacks {_PROMPT.rstrip(':')}, so the Hub asks for access in its own words")
        if str(self.manifest.data["card"].get("summary")).endswith(_EXAMPLE):
            notes.append("the card has the summary of the example: describe your dataset in dataset.yaml")
        if CROISSANT in self.files and (missing := missing_fields(self.files[CROISSANT].read_text(encoding="utf-8"))):
            advice = "state what you know under responsible_ai in dataset.yaml"
            notes.append(f"{CROISSANT} lacks {', '.join(missing)}: {advice}")
        return tuple(notes)


def _access(plan: PublishResult, state: RepoState) -> tuple[str, ...]:
    """Return what changes about who may read a repository."""
    now = ("private" if plan.private else "public", f"gated: {plan.gated}")
    before = ("private" if state.private else "public", f"gated: {state.gated}") if state.head else ("", "")
    return tuple(text for text, earlier in zip(now, before, strict=True) if text != earlier)
