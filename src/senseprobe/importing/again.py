"""Imports again from the recipe of a release that was imported, to compare it or to restore its rows."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from senseprobe.errors import SenseprobeError
from senseprobe.importing.plan import NOTES, open_import
from senseprobe.records import Finding
from senseprobe.release.manifest import Manifest
from senseprobe.release.parquet import Rows
from senseprobe.release.reading import Release
from senseprobe.release.verify import Remade, verify_recipe

__all__ = ["rows_of", "verify_import"]


def rows_of(recipe: Path) -> dict[str, Rows]:
    """What makes the rows of each config; ReleaseError where the recipe cannot be read."""
    imported = open_import(recipe)
    return {name: partial(imported.rows, name) for name in imported.configs}


def verify_import(folder: Path, manifest: Manifest) -> Iterator[Finding]:
    """Every difference between a release and what its recipe makes now."""
    try:
        imported = open_import(folder / "recipe")
    except SenseprobeError as error:
        yield Finding(path="recipe", code="E408", message=f"cannot be imported again: {error}")
        return

    def made(name: str) -> Remade:
        return Remade(imported.rows(name), imported.design(name), imported.table(name).levels())

    yield from verify_recipe(Release(folder, manifest), imported.configs, made)
    notes = folder / "recipe" / NOTES
    if not notes.is_file() or imported.recipe()[NOTES] != notes.read_bytes():
        yield Finding(path=f"recipe/{NOTES}", code="E408", message="the recipe's files give another list")
