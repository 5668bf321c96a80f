"""What researchers call from notebooks; also the place where rooms that may not import each other work together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from senseprobe import project
from senseprobe.errors import DamagedRelease, DeclarationError, ReleaseError, SenseprobeError

if TYPE_CHECKING:
    from pyarrow import Schema

    from senseprobe.evaluate.result import Result
    from senseprobe.evaluate.run import Job
    from senseprobe.generator.blocks import Config
    from senseprobe.generator.catalogue import Catalogue
    from senseprobe.records import Finding
    from senseprobe.release.freeze import Plan
    from senseprobe.release.manifest import Manifest
    from senseprobe.release.parquet import Rows, Told
    from senseprobe.release.reading import Release

__all__ = ["build", "build_shard", "join", "load", "open_catalogue", "plant", "restore", "score", "verified", "verify"]

Progress = Callable[[int], None]

# The version is a folder and a tag: digits only, as semantic versioning has them, without leading zeros.
_VERSION = re.compile(r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)", re.ASCII)


def open_catalogue(name: str) -> Catalogue:
    """The dataset ``DATASET[/CONFIG]``, read, resolved and checked.

    Raises DeclarationError with every mistake, and SenseprobeError where there is no such dataset or config.
    """
    from senseprobe.generator.catalogue import lists_of, open_dataset

    dataset, _, config = name.partition("/")
    layer = project.find_dataset(dataset)
    catalogue = open_dataset(layer.templates / dataset, lists_of(layer), only=config or None)
    if not catalogue.configs:
        raise SenseprobeError(
            f"{dataset} has no config {config!r}: there is {', '.join(catalogue.dataset.card.configs)}"
        )
    return catalogue


def load(release: str) -> Release:
    """The release ``NAME@VERSION`` or at a path; its `table(config)` is a pandas table. Not verified: see `verify`."""
    from senseprobe.release.reading import open_release

    folder, _ = project.find_release(release)
    return open_release(folder)


def build(dataset: str, version: str, out: Path | None = None, progress: Progress | None = None) -> Release:
    """Freeze a dataset at a version into `out`/DATASET/VERSION (default: the project's `releases/`).

    Raises DeclarationError where its declarations are wrong, and ReleaseError where the version exists or cannot be
    written; nothing is left behind then.
    """
    from senseprobe.release.freeze import freeze
    from senseprobe.release.reading import Release

    folder, catalogue = _to_build(dataset, version, out)
    return Release(folder, freeze(_plan(catalogue, version), folder, progress))


def build_shard(
    dataset: str, version: str, shard: int, shards: int, out: Path | None = None, progress: Progress | None = None
) -> Path:
    """Make shard `shard` (from 0) of `shards` of a release alone, in a folder of its own, which is returned.

    Raises as `build` does.
    """
    from senseprobe.release.shards import ShardPlan, write_shard

    if not 0 <= shard < shards:
        raise SenseprobeError(f"no shard {shard} of {shards}: they are 0 to {shards - 1}")
    final, catalogue = _to_build(dataset, version, out)
    rows: dict[str, Rows] = {c.name: partial(catalogue.rows, c) for c in catalogue.configs}
    part = ShardPlan(plan=_plan(catalogue, version), rows=rows, shard=shard, shards=shards)
    folder = final.with_name(part.folder)
    write_shard(part, folder, progress)
    return folder


def join(shards: Sequence[Path], out: Path | None = None, progress: Progress | None = None) -> Release:
    """Join all shards of a release into it, beside the first of them or in `out`/DATASET/VERSION.

    Raises ReleaseError where a shard is missing, damaged or of another release, and as `build` does.
    """
    from senseprobe.generator.recipe import open_recipe, recipe_of_parts
    from senseprobe.release.freeze import freeze
    from senseprobe.release.reading import Release
    from senseprobe.release.shards import copy_rows, read_shards

    found = read_shards(shards)
    form = found[0].form
    catalogue = open_recipe(found[0].folder / "recipe", form.dataset)
    plan = _plan(catalogue, form.version)
    configs = [replace(config, write=copy_rows(found, config.name, config.size)) for config in plan.configs]
    recipe = recipe_of_parts([shard.folder / "recipe" for shard in found])
    whole = replace(plan, configs=tuple(configs), recipe=lambda: recipe, senseprobe=form.senseprobe)
    folder = out / form.dataset / form.version if out else found[0].folder.resolve().with_name(form.version)
    return Release(folder, freeze(whole, folder, progress))


def restore(release: str, out: Path | None = None, progress: Progress | None = None) -> Release:
    """Make again, from its recipe, the rows of a release that keeps only manifest and recipe; where it is, or in `out`.

    Raises DamagedRelease where the recipe is not what was frozen or makes other rows, and ReleaseError where nothing
    can be written there.
    """
    from senseprobe.generator.recipe import open_recipe
    from senseprobe.release.reading import open_release
    from senseprobe.release.restoring import restore_rows

    folder, _ = project.find_release(release)
    frozen = open_release(folder)
    dataset, version = str(frozen.manifest.data["dataset"]), str(frozen.manifest.data["version"])
    target = out / dataset / version if out else folder

    def rows_of(recipe: Path) -> dict[str, Rows]:
        catalogue = open_recipe(recipe, dataset)
        return {config.name: partial(catalogue.rows, config) for config in catalogue.configs}

    return restore_rows(frozen, target, rows_of, progress)


def _to_build(dataset: str, version: str, out: Path | None) -> tuple[Path, Catalogue]:
    """Where a release goes, and what it is made of."""
    if not _VERSION.fullmatch(version):
        raise SenseprobeError(f"{version!r} is no version: expected MAJOR.MINOR.PATCH, as 1.0.0")
    if "/" in dataset:
        raise SenseprobeError(f"{dataset!r} names a config: a release holds all configs of a dataset")
    return (out or _own_releases()) / dataset / version, open_catalogue(dataset)


def _own_releases() -> Path:
    layer = project.user_layer()
    if layer is None:
        raise SenseprobeError(f"no project here (no {project.MARKER} in a parent folder): say where with --out DIR")
    return layer.releases


def _plan(catalogue: Catalogue, version: str) -> Plan:
    from senseprobe.generator.recipe import recipe_files
    from senseprobe.release.freeze import ConfigPlan, Plan
    from senseprobe.release.schema import design_schema

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
        )
        configs.append(plan)
    card = catalogue.dataset.card.model_dump(exclude={"configs", "contrasts"})
    return Plan(
        dataset=catalogue.dataset.name,
        version=version,
        card=card,
        configs=tuple(configs),
        contrasts=catalogue.dataset.contrasts,
        recipe=lambda: recipe_files(catalogue),
        senseprobe=installed_version("senseprobe"),
    )


def _write_rows(catalogue: Catalogue, config: Config, folder: Path, schema: Schema, told: Told) -> None:
    from senseprobe.release.parquet import write_rows

    write_rows(folder, schema, config.size, partial(catalogue.rows, config), told)


def verify(release: str, rebuild: bool = False, progress: Progress | None = None) -> list[Finding]:
    """Every difference between a release and its manifest; with `rebuild`, also between its rows and its recipe.

    An empty list means that all is as it was frozen. Raises ReleaseError where there is no such release.
    """
    from senseprobe.release.verify import verify_release

    folder, config = project.find_release(release)
    manifest, findings = verify_release(folder, progress)
    if manifest and config is not None:
        manifest.config(config)  # ReleaseError where there is none
    if rebuild and manifest and not findings:
        findings = [*_rebuild(folder, manifest)]
    return findings


def _rebuild(folder: Path, manifest: Manifest) -> Iterator[Finding]:
    from senseprobe.generator.recipe import open_recipe
    from senseprobe.records import Finding
    from senseprobe.release.reading import Release
    from senseprobe.release.verify import verify_rebuild

    try:
        catalogue = open_recipe(folder / "recipe", str(manifest.data["dataset"]))
    except DeclarationError as error:
        yield from error.findings
        return
    told = {config.name for config in catalogue.configs}
    for name in manifest.configs:
        if name not in told:
            yield Finding(path=name, code="E408", message="is not in the recipe")
            continue
        config = catalogue.config(name)
        yield from verify_rebuild(Release(folder, manifest), name, catalogue.rows(config))
        if catalogue.design(config) != manifest.design(name):
            yield Finding(path=name, code="E408", message="the recipe makes another design than the manifest holds")
    for asked, text in catalogue.english.unfrozen():
        message = f"has no answer for {asked!r} of {text!r}, so another library may answer otherwise"
        yield Finding(path="recipe/english.csv", code="E408", message=message)


def verified(spec: str) -> tuple[Release, str | None]:
    """The release and config that `spec` names, after verification; DamagedRelease where it is not as it was frozen."""
    from senseprobe.release.reading import open_release

    folder, config = project.find_release(spec)
    if findings := verify(str(folder)):
        raise DamagedRelease(findings)
    release = open_release(folder)
    if config is not None and config not in release.configs:
        raise ReleaseError(f"{spec} has no config {config!r}: there is {', '.join(release.configs)}")
    return release, config


def score(
    model: str,
    release: str,
    scorers: Sequence[str] = ("aul",),
    *,
    out: Path | None = None,
    seed: int = 0,
    device: str = "auto",
    dtype: str = "float32",
    allow_pickle: bool = False,
    progress: Progress | None = None,
) -> list[Result]:
    """Score the model (a name on the Hub or a folder) on a release ``NAME@VERSION[:CONFIG]``, verified first.

    A result for each scorer, with its `figures` and `rows`; written to `out`/RELEASE/MODEL if `out` is given.
    Raises DamagedRelease, ModelError, ResultError where `out` cannot be written, and SenseprobeError for an unknown
    scorer.
    """
    scorer_ids = list(dict.fromkeys(scorers))
    job = _job(release, seed, model, out)
    from senseprobe.evaluate import models
    from senseprobe.evaluate.scorers import get

    for scorer in scorer_ids:
        get(scorer)  # an unknown one is told before a model is loaded
    opened = models.load(model, device=device, dtype=dtype, allow_pickle=allow_pickle)
    return [_written(job.run(opened, scorer, progress), out) for scorer in scorer_ids]


def plant(
    release: str,
    folder: Path,
    *,
    share: float = 0.7,
    out: Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Train a small model into `folder` that prefers a known share of a release's stereotypes.

    The result holds the planted truth, through the same estimands as scores: its scorer is ``planted``, and the score
    of a sentence the logarithm of how often it was seen. Raises SenseprobeError where `folder` already holds something.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise SenseprobeError(f"{folder} is not empty: name a new folder for the model")
    job = _job(release, seed, str(folder), out)
    import pandas as pd

    from senseprobe.evaluate import models, planted

    tables = job.tables()
    rows = pd.concat([table.assign(config=name) for name, table in tables.items()], ignore_index=True)
    truth = planted.train(rows, folder, share=share, seed=seed, progress=progress)
    about = {"name": str(folder), **models.load(str(folder)).identity, "planted": f"{share:g}"}
    return _written(job.result(tables, {str(text): score for text, score in truth.items()}, "planted", about), out)


def _job(release: str, seed: int, model: str, out: Path | None) -> Job:
    """What is to be scored, after verification, where the libraries that score are installed and `out` can be written.

    All of this is told before a model is loaded, let alone run.
    """
    if seed < 0:
        raise SenseprobeError(f"seed {seed}: expected 0 or more")
    frozen, config = verified(release)
    if missing := [module for module in ("torch", "transformers") if find_spec(module) is None]:
        raise SenseprobeError(f"{', '.join(missing)} not installed: pip install 'senseprobe[models]'")
    from senseprobe.evaluate.result import check_writable, folder_of
    from senseprobe.evaluate.run import Job

    if out is not None:
        check_writable(folder_of(out, frozen.manifest.name, model))
    return Job(frozen, config, seed, installed_version("senseprobe"))


def _written(result: Result, out: Path | None) -> Result:
    from senseprobe.evaluate.result import folder_of

    if out is not None:
        result.write(folder_of(out, str(result.release["name"]), result.model["name"]))
    return result
