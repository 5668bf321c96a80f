"""The one place that finds data folders: the user's project first, then the built-in data.

A layer is a folder that holds `templates/`, `wordlists/` and `releases/`. The user's layer is the nearest parent folder
with a `senseprobe.toml`; the built-in layer is the installed package. In our own checkout the two are the same files,
so layers are compared by real path.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from senseprobe.errors import ReleaseError, SenseprobeError
from senseprobe.messages import meant, offered

MARKER = "senseprobe.toml"


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
        """Names of the datasets of this layer, sorted."""
        return sorted(path.parent.name for path in self.templates.glob("*/dataset.yaml"))


def built_in() -> Layer:
    """The layer that ships with senseprobe."""
    return Layer(Path(str(files("senseprobe"))))


def user_layer(start: Path | None = None) -> Layer | None:
    """The project around `start` (default: the working directory), or None where there is none."""
    here = (start or Path.cwd()).resolve()
    found = (folder for folder in (here, *here.parents) if (folder / MARKER).is_file())
    return next((Layer(folder) for folder in found), None)


def layers() -> list[Layer]:
    """The user's layer, then the built-in one; a single layer where they are the same files."""
    user, ours = user_layer(), built_in()
    if user is None or user.templates.resolve() == ours.templates.resolve():
        return [user or ours]
    return [user, ours]


def find_dataset(name: str) -> Layer:
    """The first layer that has dataset `name`; SenseprobeError, naming those that exist, if none has."""
    for layer in layers():
        if name in layer.datasets():
            return layer
    known = sorted({dataset for layer in layers() for dataset in layer.datasets()})
    raise SenseprobeError(f"no dataset {name!r}: {offered(name, known)} (`DATASET[/CONFIG]`)")


def find_release(spec: str) -> tuple[Path, str | None]:
    """Resolve ``NAME@VERSION[:CONFIG]`` or a path, with ``:CONFIG`` or without, to a folder and a config.

    A folder that holds a release goes before a release of that name, and this before a folder that holds none, which
    may be one of results. Raises ReleaseError if there is no such release.
    """
    if _holds_release(spec):
        return Path(spec), None
    place, _, config = spec.partition(":")
    if _holds_release(place):
        return Path(place), config or None
    name, at, version = place.partition("@")
    if at and "/" not in place:
        return _named_release(name, version), config or None
    for folder, asked in ((spec, ""), (place, config)):
        if _there(folder, Path.is_dir):  # whoever reads it says what it lacks
            return Path(folder), asked or None
    raise ReleaseError(f"no release folder {place!r} (name a release as NAME@VERSION[:CONFIG], or give its path)")


def _holds_release(folder: str) -> bool:
    return _there(folder, lambda path: (path / "release.json").is_file())


def _there(name: str, is_kind: Callable[[Path], bool]) -> bool:
    """Whether a path is of a kind: none is that has no name, or one that no file system takes."""
    try:
        return bool(name) and is_kind(Path(name))
    except (OSError, ValueError):
        return False


def _named_release(name: str, version: str) -> Path:
    for layer in layers():
        folder = layer.releases / name / version
        if _holds_release(str(folder)):
            return folder
    asked, known = f"{name}@{version}", _known_releases()
    like = [release for release in known if meant(name, [release.partition("@")[0]])]  # not all that end in @1.0.0
    raise ReleaseError(f"no release {asked!r}: {offered(asked, known, like)}")


def _known_releases() -> list[str]:
    manifests = (path for layer in layers() for path in layer.releases.glob("*/*/release.json"))
    return sorted({f"{path.parent.parent.name}@{path.parent.name}" for path in manifests})
