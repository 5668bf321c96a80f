"""What the small Hub of the tests holds: users, repositories, commits, files; and its answers."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

OWNER_TOKEN = "hf_ownerSecretOfTheTests"  # noqa: S105 - it opens nothing but this server
READER_TOKEN = "hf_readerSecretOfTheTests"  # noqa: S105
ONLY_READS = "hf_janeReadOnlyOfTheTests"
USERS = {OWNER_TOKEN: "jane", READER_TOKEN: "john", ONLY_READS: "jane"}
ROLES = {"jane": {"acme": "write", "club": "read"}}
"""Users' roles in organisations."""


def may_write(token: str, space: str) -> bool:
    """Whether a token may write to the repositories of a user or an organisation."""
    user = USERS.get(token, "")
    return token != ONLY_READS and (space == user or ROLES.get(user, {}).get(space) == "write")


@dataclass(frozen=True)
class Blob:
    """A file; `lfs` tells how it was sent."""

    data: bytes
    lfs: bool

    @property
    def git(self) -> str:
        """What git calls the bytes."""
        return hashlib.sha1(b"blob %d\0" % len(self.data) + self.data, usedforsecurity=False).hexdigest()

    @property
    def sha256(self) -> str:
        """What LFS calls the bytes."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True)
class Commit:
    """A state of a repository."""

    oid: str
    title: str
    tree: dict[str, Blob]
    parent: str | None


@dataclass
class Repo:
    """A dataset repository."""

    name: str
    private: bool = False
    gated: Any = False
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    def commit(self, title: str, tree: dict[str, Blob], branch: str = "main") -> Commit:
        """Add a commit to a branch."""
        parent = self.branches.get(branch)
        text = json.dumps([title, parent, len(self.commits), {name: blob.git for name, blob in tree.items()}])
        created = Commit(hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), title, tree, parent)
        self.commits[created.oid] = created
        self.branches[branch] = created.oid
        return created

    def at(self, revision: str) -> Commit | None:
        """The commit that a branch, tag or id names."""
        oid = self.branches.get(revision) or self.tags.get(revision) or revision
        return self.commits.get(oid)


@dataclass
class Fault:
    """What happens to the next `times` requests of a route: a status, `cut` before, `cut-after` the work was done."""

    route: str
    what: int | str
    times: int
    says: str = ""


@dataclass
class Answer:
    """An answer: JSON unless it is bytes."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


def error(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Answer:
    """A refusal, in the headers that the clients read."""
    fields = {**(headers or {}), "X-Error-Message": message} | ({"X-Error-Code": code} if code else {})
    return Answer(status, {"error": message}, fields)


def entry(name: str, blob: Blob) -> dict[str, Any]:
    """A file as the tree lists it."""
    fields: dict[str, Any] = {"type": "file", "oid": blob.git, "size": len(blob.data), "path": name}
    lfs = {"oid": blob.sha256, "size": len(blob.data), "pointerSize": 131}
    return {**fields, "lfs": lfs} if blob.lfs else fields
