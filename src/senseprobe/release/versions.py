"""Which version number a release needs: Croissant 1.1's rules for versions, applied to what changed.

PATCH: the same rows; MINOR: rows added, and the old ones still there as they were; MAJOR: rows edited or removed.
docs/versions.md says what this means for columns, designs and contrasts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from senseprobe.release.manifest import NAME, VERSION

Numbers = tuple[int, int, int]


class Bump(StrEnum):
    """Which part of a version has to grow, from the least to the most."""

    NONE = "none"
    PATCH = "patch"
    MINOR = "minor"
    MAJOR = "major"

    @property
    def rank(self) -> int:
        """0 for no change, 3 for MAJOR."""
        return list(Bump).index(self)


@dataclass(frozen=True, slots=True)
class Reason:
    """A change, in words, and which part of the version has to grow for it."""

    bump: Bump
    text: str


def parse_version(version: str) -> Numbers:
    """Return the three numbers of ``MAJOR.MINOR.PATCH``; raise ValueError where it is not a version."""
    major, minor, patch = version.split(".")
    return int(major), int(minor), int(patch)


def lowest_version(version: str, bump: Bump) -> str:
    """Return the lowest version after `version` that a change may have.

    >>> [lowest_version("1.2.3", bump) for bump in Bump]
    ['1.2.3', '1.2.4', '1.3.0', '2.0.0']
    """
    major, minor, patch = parse_version(version)
    after = {
        Bump.NONE: (major, minor, patch),
        Bump.PATCH: (major, minor, patch + 1),
        Bump.MINOR: (major, minor + 1, 0),
        Bump.MAJOR: (major + 1, 0, 0),
    }
    return ".".join(map(str, after[bump]))


def earlier_releases(folders: Iterable[Path], version: str) -> list[Path]:
    """Return the releases below `version` in folders of a dataset, the newest last."""
    releases = [path for folder in folders if folder.is_dir() for path in folder.iterdir() if _is_release(path)]
    below = [path for path in releases if parse_version(path.name) < parse_version(version)]
    return sorted(below, key=lambda path: (parse_version(path.name), str(path)))


def _is_release(path: Path) -> bool:
    return bool(VERSION.fullmatch(path.name)) and (path / NAME).exists()
