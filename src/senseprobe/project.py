"""Find data folders: those of the user's project first, then the built-in ones. No other module looks for them.

A layer is a folder that holds `templates/`, `wordlists/` and `releases/`. The user's layer is the nearest parent folder
with a `senseprobe.toml`; the built-in layer is the installed package. In our own checkout the two are the same files,
so layers are compared by real path.
"""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from senseprobe.errors import ReleaseError, SenseprobeError
from senseprobe.messages import meant, offered

MARKER = "senseprobe.toml"
_VERSION = re.compile(r"\d+\.\d+\.\d+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Layer:
    """A folder with `templates/`, `wordlists/` and `releases/`, any of which may be missing."""

    root: Path

    @property
    def templates(self) -> Path:
        """The folder of datasets."""
        return self.root / "templates"

    @property
    def wordlists(self) -> Path:
        """The folder of word lists."""
        return self.root / "wordlists"

    @property
    def releases(self) -> Path:
        """The folder of frozen releases."""
        return self.root / "releases"

    def datasets(self) -> list[str]:
        """List the names of the datasets of this layer, sorted."""
        return sorted(path.parent.name for path in self.templates.glob("*/dataset.yaml"))


def cache_folder(name: str) -> Path:
    """Return ``senseprobe/NAME`` in ``$XDG_CACHE_HOME`` or ``~/.cache``; RuntimeError where there is no home."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "senseprobe" / name


TABLE_VERSION = re.compile(r"0\.0\.[1-9]\d{8}", re.ASCII)
"""The version of a release that `score` made of a user's table: digits of the hash of what is in the table."""


def table_release(name: str, version: str) -> Path:
    """Return where the release of a table that `score` read is kept; RuntimeError where there is no home."""
    return cache_folder("tables") / name / version


def fetched() -> Layer:
    """Return the layer of benchmarks that were fetched outside a project; RuntimeError where there is no home."""
    return Layer(cache_folder("benchmarks"))


def built_in() -> Layer:
    """Return the layer that ships with senseprobe."""
    return Layer(Path(str(files("senseprobe"))))


def user_layer(start: Path | None = None) -> Layer | None:
    """Return the project around `start` (default: the working directory), None where there is none."""
    current = (start or Path.cwd()).resolve()
    roots = (folder for folder in (current, *current.parents) if (folder / MARKER).is_file())
    return next((Layer(folder) for folder in roots), None)


def layers() -> list[Layer]:
    """Return the user's layer and the built-in one; a single layer where they are the same files."""
    user, ours = user_layer(), built_in()
    if user is None or user.templates.resolve() == ours.templates.resolve():
        return [user or ours]
    return [user, ours]


def find_dataset(name: str) -> Layer:
    """Return the first layer that has dataset `name`; raise SenseprobeError, which lists the datasets, if none has."""
    for layer in layers():
        if name in layer.datasets():
            return layer
    raise SenseprobeError(f"unknown dataset {name!r}: {offered(name, list_datasets())} (`DATASET[/CONFIG]`)")


def find_release(spec: str) -> tuple[Path, str | None]:
    """Resolve ``NAME[@VERSION][:CONFIG]`` or a path, with ``:CONFIG`` or without, to a folder and a config.

    A name without a version is that of its newest release. A folder with a release has precedence over a release of
    that name, and this over a folder without one, which may have results. Raise ReleaseError if there is no such
    release.
    """
    if has_release(spec):
        return Path(spec), None
    path, _, config = spec.partition(":")
    if has_release(path):
        return Path(path), config or None
    name, at, version = (newest_release(path) or path).partition("@")
    if at and "/" not in path:
        return _named_release(name, version), config or None
    for folder, requested_config in ((spec, ""), (path, config)):
        if _path_is(folder, Path.is_dir):  # reading it will report what it lacks
            return Path(folder), requested_config or None
    if path in list_datasets():
        raise ReleaseError(f"the dataset {path} does not have a release yet: `senseprobe build {path} 0.1.0` makes one")
    raise ReleaseError(f"{path!r} is not a release folder (name a release as NAME@VERSION[:CONFIG], or give its path)")


def has_release(folder: str) -> bool:
    """Return whether a folder holds a release; a name that no file system accepts does not."""
    return _path_is(folder, lambda path: (path / "release.json").is_file())


def _path_is(name: str, is_kind: Callable[[Path], bool]) -> bool:
    """Return whether a path is of a kind; an empty name, or one that no file system accepts, is of none."""
    try:
        return bool(name) and is_kind(Path(name))
    except (OSError, ValueError):
        return False


def newest_release(spec: str) -> str | None:
    """Return ``NAME@VERSION[:CONFIG]`` of the newest release that ``NAME[:CONFIG]`` names.

    None where there is none, or where `spec` is the path of a release.
    """
    return next(reversed(list_versions(spec)), None)


def two_newest(name: str) -> list[str]:
    """Return ``NAME@VERSION[:CONFIG]`` of the two newest releases of ``NAME[:CONFIG]``; ReleaseError without two."""
    versions = list_versions(name)
    if not versions and "@" not in name:
        find_release(name)  # ReleaseError where there is none of that name
    if len(versions) < 2:
        reason = f"{versions[0]} is its only release" if versions else "only a NAME without a version can be alone"
        raise ReleaseError(f"name the release to compare {name} with, as in `diff A B`: {reason}")
    return versions[-2:]


def list_versions(spec: str) -> list[str]:
    """Return ``NAME@VERSION[:CONFIG]`` of each release that ``NAME[:CONFIG]`` names, the newest last.

    None are returned where `spec` is the path of a release.
    """
    name, colon, config = spec.partition(":")
    releases = (release.rsplit("@", 1) for release in list_releases())
    versions = [version for dataset, version in releases if dataset == name and _VERSION.fullmatch(version)]
    if "/" in spec or has_release(spec) or has_release(name):
        return []
    versions.sort(key=lambda version: [*map(int, version.split("."))])
    return [f"{name}@{version}{colon}{config}" for version in versions]


def _release_folders() -> list[Path]:
    """Return the folders of releases: those of the layers, then that of fetched benchmarks."""
    folders = [layer.releases for layer in layers()]
    with suppress(RuntimeError):
        folders.append(fetched().releases)
    return folders


def _named_release(name: str, version: str) -> Path:
    for releases in _release_folders():
        folder = releases / name / version
        if has_release(str(folder)):
            return folder
    if TABLE_VERSION.fullmatch(version):
        return _release_of_table(name, version)
    spec, names = f"{name}@{version}", list_releases()
    like = [release for release in names if meant(name, [release.partition("@")[0]])]  # not all that end in @1.0.0
    raise ReleaseError(f"unknown release {spec!r}: {offered(spec, like or names, like)}")


def _release_of_table(name: str, version: str) -> Path:
    with suppress(RuntimeError):
        folder = table_release(name, version)
        if has_release(str(folder)):
            return folder
    raise ReleaseError(
        f"{name}@{version} is a scored table, but its copy is not in the cache: score the same file again "
        "(`senseprobe score MODEL FILE`); a changed file has another version"
    )


def list_datasets() -> list[str]:
    """Return the names of the datasets of all layers, sorted."""
    return sorted({dataset for layer in layers() for dataset in layer.datasets()})


def list_releases() -> list[str]:
    """Return the releases of all layers, and those of fetched benchmarks, as ``NAME@VERSION``, sorted."""
    manifests = (path for folder in _release_folders() for path in folder.glob("*/*/release.json"))
    return sorted({f"{path.parent.parent.name}@{path.parent.name}" for path in manifests})
