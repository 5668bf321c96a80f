"""Plan a release from declarations, and make the rows of a release again from its recipe."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from importlib.metadata import version as installed_version
from pathlib import Path

from pyarrow import Schema

from senseprobe.errors import DeclarationError
from senseprobe.generator.config import Config
from senseprobe.generator.dataset import ResolvedDataset
from senseprobe.generator.exclusions import read_retired, retired_id_check
from senseprobe.generator.recipe import describe_sources, open_recipe, recipe_files, release_licence
from senseprobe.generator.senses import MOST_SENSES, find_senses, identity, open_glosses
from senseprobe.importers.plan import is_import, verify_import
from senseprobe.importers.plan import rows_of as imported_rows_of
from senseprobe.records import Finding
from senseprobe.release.documents import CardSources
from senseprobe.release.freeze import ConfigPlan, Plan
from senseprobe.release.manifest import Manifest
from senseprobe.release.parquet import FileCallback, Rows, write_rows
from senseprobe.release.release import Release
from senseprobe.release.restore import unused_files, verify_recipe
from senseprobe.release.schema import design_schema
from senseprobe.release.verify import verify_release


def plan_of(catalogue: ResolvedDataset, version: str) -> Plan:
    """Return what is frozen of a dataset at a version; raise DeclarationError where its licences do not allow it."""
    configs, gloss = [], open_glosses()
    for config in catalogue.configs:
        front, design = config.blocks[0].block.front, catalogue.design(config)
        plan = ConfigPlan(
            name=config.name,
            size=config.size,
            schema=design_schema(design),
            write=partial(_write_config, catalogue, config),
            design=design,
            levels=catalogue.levels(config),
            description=front.description,
            expect=front.expect.model_dump() if front.expect else {},
            asks=tuple(front.asks or ()),
            accept={**catalogue.dataset.card.accept, **front.accept},
            left_out=catalogue.excluded_rows(config).ids,
            senses=[asdict(sense) for sense in find_senses(config, catalogue.lists, gloss)[:MOST_SENSES]],
        )
        configs.append(plan)
    lexicons = {str(sense["lexicon"]) for config in configs for sense in config.senses if sense["key"]}
    card = catalogue.dataset.card.model_dump(exclude={"configs", "contrasts"})
    card["license"] = release_licence(catalogue.dataset, catalogue.lists)
    if card["use"] == "evaluation":  # as of all releases before there was another
        del card["use"]
    return Plan(
        dataset=catalogue.dataset.name,
        version=version,
        card=card,
        configs=tuple(configs),
        contrasts=catalogue.dataset.contrasts,
        recipe=lambda: recipe_files(catalogue),
        senseprobe=installed_version("senseprobe"),
        lists=describe_sources(catalogue.dataset, catalogue.lists),
        lexicons={name: sha256 for name in sorted(lexicons) if (sha256 := identity(name))},
        watch=retired_id_check(read_retired(catalogue.dataset.folder), catalogue.dataset.folder),
    )


def _write_config(
    catalogue: ResolvedDataset, config: Config, folder: Path, schema: Schema, progress: FileCallback
) -> None:
    write_rows(folder, schema, config.size, partial(catalogue.rows, config), progress)


def rows_of(recipe: Path, dataset: str) -> dict[str, Rows]:
    """Return what makes the rows of each config of a frozen recipe."""
    if is_import(recipe):
        return imported_rows_of(recipe)
    return rows_by_config(open_recipe(recipe, dataset))


def rows_by_config(catalogue: ResolvedDataset) -> dict[str, Rows]:
    """Return what makes the rows of each config of a dataset."""
    return {config.name: partial(catalogue.rows, config) for config in catalogue.configs}


def card_sources(folder: Path, manifest: Manifest) -> CardSources:
    """Return what the card of a release takes from its recipe; no row is made, and nothing is imported again.

    Raise ReleaseError or DeclarationError where the recipe cannot be read.
    """
    if is_import(folder / "recipe"):
        return CardSources(creation=None)
    catalogue = open_recipe(folder / "recipe", str(manifest.data["dataset"]))
    left_out = {config.name: out.ids for config in catalogue.configs if (out := catalogue.excluded_rows(config))}
    return CardSources(lists=describe_sources(catalogue.dataset, catalogue.lists), left_out=left_out)


MOST_NUMBERS = 6
"""Of more numbers in a column of a list, levels are thirds of its words."""


def list_levels(release: Release, names: Iterable[str]) -> dict[str, dict[str, Mapping[str, str | None]]]:
    """Return what lists say of words, by config, ``slot.column`` and word; what a config lacks is left out.

    An import has no lists. Raise ReleaseError or DeclarationError where the recipe cannot be read.
    """
    if is_import(release.folder / "recipe"):
        return {}
    catalogue = open_recipe(release.folder / "recipe", str(release.manifest.data["dataset"]))
    columns = [name.partition(".") for name in names]
    return {
        config.name: {
            f"{slot}.{column}": cells for slot, _, column in columns if (cells := _cells(config, slot, column))
        }
        for config in catalogue.configs
    }


def _cells(config: Config, slot: str, column: str) -> dict[str, str | None]:
    """Return what a column says of each word of a slot; many numbers as thirds of the words, as ``0.1 to 0.3``."""
    words = [word for block in config.blocks for word in block.slots.get(slot, ())]
    cells = {str(word): word.columns[column] for word in words if column in word.columns}
    numbers = sorted(cell for cell in cells.values() if isinstance(cell, int | float) and not isinstance(cell, bool))
    if len({*numbers}) <= MOST_NUMBERS:
        return {word: None if cell is None else str(cell) for word, cell in cells.items()}
    cuts = [numbers[len(numbers) * third // 3] for third in (1, 2)]
    thirds = [[n for n in numbers if sum(n >= cut for cut in cuts) == third] for third in range(3)]
    names = {number: f"{third[0]:g} to {third[-1]:g}" for third in thirds for number in third}
    return {word: names.get(cell) if isinstance(cell, int | float) else None for word, cell in cells.items()}


def verify_with_card(
    folder: Path, progress: Callable[[int], None] | None = None
) -> tuple[Manifest | None, list[Finding]]:
    """Verify a release as `verify_release` does, and what its documents say."""
    return verify_release(folder, progress, card_sources)


def rebuild(folder: Path, manifest: Manifest, away: Container[str] = ()) -> Iterator[Finding]:
    """Yield each difference between a release and what its recipe makes; the rows of configs in `away` are missing."""
    if is_import(folder / "recipe"):
        yield from verify_import(folder, manifest, away)
        return
    try:
        catalogue = open_recipe(folder / "recipe", str(manifest.data["dataset"]))
        plan = plan_of(catalogue, str(manifest.data["version"]))
    except DeclarationError as error:
        yield from error.findings
        return
    yield from verify_recipe(Release(folder, manifest), plan, rows_by_config(catalogue), away)
    yield from unused_files(manifest, recipe_files(catalogue))
    for operation, text in catalogue.english.unfrozen():
        message = f"does not have an answer for {operation!r} of {text!r}, so another library may answer differently"
        yield Finding(path="recipe/english.csv", code="E408", message=message)
