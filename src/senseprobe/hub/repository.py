"""A dataset repository on the Hub as it is when it is looked at."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from senseprobe.errors import ReleaseError
from senseprobe.hub.answers import check_commit
from senseprobe.wording import printable

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
