"""How releases on the Hub are named: ``USER/NAME@VERSION[:CONFIG]``, with ``hf://`` before it where paths may stand."""

import re
from dataclasses import dataclass

from senseprobe.errors import ReleaseError
from senseprobe.release.form import VERSION

SCHEME = "hf://"

# What huggingface_hub accepts as a name, without the leading and doubled signs, and the ending, that it refuses too.
_NAME = r"(?=[\w.-]{1,96}$)\w+(?:[.-]\w+)*"
_PART = re.compile(_NAME, re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A version of a dataset repository, and perhaps a config of it."""

    repo: str
    version: str
    config: str | None = None

    @property
    def tag(self) -> str:
        """The tag of the version on the Hub."""
        return f"v{self.version}"

    def __str__(self) -> str:
        return f"{self.repo}@{self.version}"


def check_repo(repo: str) -> str:
    """The name as it is; ReleaseError where it is not ``USER/NAME``."""
    user, slash, name = repo.partition("/")
    if not slash or not _PART.fullmatch(user) or not _PART.fullmatch(name) or name.endswith(".git"):
        raise ReleaseError(f"{repo!r} names no repository of the Hub: expected USER/NAME, as jane/sssb")
    return repo


def parse(spec: str) -> Place:
    """The place that ``[hf://]USER/NAME@VERSION[:CONFIG]`` names; ReleaseError where it names none."""
    place, _, config = spec.removeprefix(SCHEME).partition(":")
    repo, at, version = place.partition("@")
    if not at or not VERSION.fullmatch(version):
        raise ReleaseError(f"{spec!r} names no release on the Hub: expected USER/NAME@VERSION, as jane/sssb@1.0.0")
    return Place(repo=check_repo(repo), version=version, config=config or None)
