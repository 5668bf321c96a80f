"""Imports again from the recipe of a release that was imported, to compare it or to restore its rows."""

from collections.abc import Container, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from senseprobe.errors import SenseprobeError
from senseprobe.importing.plan import NOTES, open_import, release_plan
from senseprobe.records import Finding
from senseprobe.release.card import NAME as README
from senseprobe.release.documents import differs
from senseprobe.release.freeze import Plan
from senseprobe.release.manifest import CARDS, Manifest
from senseprobe.release.parquet import Rows
from senseprobe.release.reading import Release
from senseprobe.release.rebuilding import unused, verify_recipe


def rows_of(recipe: Path) -> dict[str, Rows]:
    """What makes the rows of each config; ReleaseError where the recipe cannot be read."""
    imported = open_import(recipe)
    return {name: partial(imported.rows, name) for name in imported.configs}


def verify_import(folder: Path, manifest: Manifest, away: Container[str]) -> Iterator[Finding]:
    """Every difference between a release and what its recipe makes now; the rows of some configs may be `away`."""
    try:
        imported = open_import(folder / "recipe")
    except SenseprobeError as error:
        yield Finding(path="recipe", code="E408", message=f"cannot be imported again: {error}")
        return
    plan = release_plan(imported, *(str(manifest.data[key]) for key in ("dataset", "version", "senseprobe")))
    rows = {name: partial(imported.rows, name) for name in imported.configs}
    yield from verify_recipe(Release(folder, manifest), _worded(plan, manifest), rows, away)
    yield from _creation(folder, manifest, plan)
    notes = folder / "recipe" / NOTES
    if not notes.is_file() or imported.recipe()[NOTES] != notes.read_bytes():
        yield Finding(path=f"recipe/{NOTES}", code="E408", message="the recipe's files give another list")
    yield from unused(manifest, imported.recipe())


def _creation(folder: Path, manifest: Manifest, plan: Plan) -> Iterator[Finding]:
    """Yield a finding where the card says otherwise how the rows came about, in the words of the current form."""
    if manifest.cards == CARDS and plan.creation not in (folder / README).read_text(encoding="utf-8", errors="replace"):
        yield differs(README, "the section on creation is not what importing again gives")


def _worded(plan: Plan, manifest: Manifest) -> Plan:
    """The plan in the manifest's words, which are not the recipe's: a later senseprobe may find better ones."""
    follows = {name: plan.card[name] for name in ("license", "canary", "imported")}
    said = {name: manifest.config(name)["description"] for name in manifest.configs}
    configs = (replace(config, description=said.get(config.name, config.description)) for config in plan.configs)
    return replace(plan, card={**manifest.data["card"], **follows}, configs=tuple(configs))
