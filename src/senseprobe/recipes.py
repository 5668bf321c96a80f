"""From declarations to a release, and from a release's recipe to its rows again."""

from collections.abc import Callable, Container, Iterator
from functools import partial
from importlib.metadata import version as installed_version
from pathlib import Path

from pyarrow import Schema

from senseprobe.errors import DamagedRelease, DeclarationError
from senseprobe.generator.config import Config
from senseprobe.generator.dataset import Catalogue
from senseprobe.generator.licence_check import licence_of, sources_of
from senseprobe.generator.recipe import open_recipe, recipe_files
from senseprobe.generator.retired_ids import read_retired, refusal
from senseprobe.importers import plan as again
from senseprobe.importers.plan import is_import
from senseprobe.records import Finding
from senseprobe.release.documents import CardSources
from senseprobe.release.freeze import ConfigPlan, Plan
from senseprobe.release.manifest import Manifest
from senseprobe.release.parquet import BatchCallback, Rows, write_rows
from senseprobe.release.rebuild import unused_files, verify_recipe
from senseprobe.release.release import Release, open_release
from senseprobe.release.schema import design_schema
from senseprobe.release.verify import verify_all_but_rows, verify_release


def plan_of(catalogue: Catalogue, version: str) -> Plan:
    """What is to be frozen of a dataset at a version; DeclarationError where it may not be, as its licences stand."""
    configs = []
    for config in catalogue.configs:
        front, design = config.blocks[0].block.front, catalogue.design(config)
        plan = ConfigPlan(
            name=config.name,
            size=config.size,
            schema=design_schema(design),
            write=partial(_write_rows, catalogue, config),
            design=design,
            levels=catalogue.levels(config),
            description=front.description,
            expect=front.expect.model_dump(),
            accept={**catalogue.dataset.card.accept, **front.accept},
            left_out=catalogue.left_out(config).ids,
        )
        configs.append(plan)
    card = catalogue.dataset.card.model_dump(exclude={"configs", "contrasts"})
    card["license"] = licence_of(catalogue.dataset, catalogue.lists)
    return Plan(
        dataset=catalogue.dataset.name,
        version=version,
        card=card,
        configs=tuple(configs),
        contrasts=catalogue.dataset.contrasts,
        recipe=lambda: recipe_files(catalogue),
        senseprobe=installed_version("senseprobe"),
        lists=sources_of(catalogue.dataset, catalogue.lists),
        watch=refusal(read_retired(catalogue.dataset.folder), catalogue.dataset.folder),
    )


def _write_rows(catalogue: Catalogue, config: Config, folder: Path, schema: Schema, told: BatchCallback) -> None:
    write_rows(folder, schema, config.size, partial(catalogue.rows, config), told)


def rows_of(recipe: Path, dataset: str) -> dict[str, Rows]:
    """What makes the rows of each config of a frozen recipe."""
    if is_import(recipe):
        return again.rows_of(recipe)
    return rows_by_config(open_recipe(recipe, dataset))


def rows_by_config(catalogue: Catalogue) -> dict[str, Rows]:
    """What makes the rows of each config of a dataset."""
    return {config.name: partial(catalogue.rows, config) for config in catalogue.configs}


def card_sources(folder: Path, manifest: Manifest) -> CardSources:
    """What the card of a release says that its recipe alone knows; no row is made, and nothing is imported again.

    Raises ReleaseError or DeclarationError where the recipe cannot be read.
    """
    if is_import(folder / "recipe"):
        return CardSources(creation=None)
    catalogue = open_recipe(folder / "recipe", str(manifest.data["dataset"]))
    left_out = {config.name: out.ids for config in catalogue.configs if (out := catalogue.left_out(config))}
    return CardSources(lists=sources_of(catalogue.dataset, catalogue.lists), left_out=left_out)


def verify_with_card(
    folder: Path, progress: Callable[[int], None] | None = None
) -> tuple[Manifest | None, list[Finding]]:
    """`verify_release`, with the text of the card, which takes the recipe to compare."""
    return verify_release(folder, progress, card_sources)


def open_verified(folder: Path) -> Release:
    """The release in a folder, once all but its rows was compared with the manifest.

    Raises ReleaseError where there is none, and DamagedRelease with all findings.
    """
    release = open_release(folder)
    if findings := verify_all_but_rows(folder, release.manifest, card_sources):
        raise DamagedRelease(findings)
    return release


def rebuild(folder: Path, manifest: Manifest, away: Container[str] = ()) -> Iterator[Finding]:
    """Every difference between a release and what its recipe makes; the rows of some configs may be `away`."""
    if is_import(folder / "recipe"):
        yield from again.verify_import(folder, manifest, away)
        return
    try:
        catalogue = open_recipe(folder / "recipe", str(manifest.data["dataset"]))
        plan = plan_of(catalogue, str(manifest.data["version"]))
    except DeclarationError as error:
        yield from error.findings
        return
    yield from verify_recipe(Release(folder, manifest), plan, rows_by_config(catalogue), away)
    yield from unused_files(manifest, recipe_files(catalogue))
    for asked, text in catalogue.english.unfrozen():
        message = f"has no answer for {asked!r} of {text!r}, so another library may answer otherwise"
        yield Finding(path="recipe/english.csv", code="E408", message=message)
