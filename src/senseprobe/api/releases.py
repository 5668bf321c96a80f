"""Find, build, verify, compare, restore, import and share releases.

A release is given by its name (``NAME@VERSION``, ``hf://USER/NAME@VERSION``; without a version its newest release, on
this machine or on the Hub), its path, or as a `Release`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version as installed_version
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from unicodedata import category

from senseprobe import importers, project
from senseprobe.api.author import open_catalogue
from senseprobe.errors import DamagedRelease, DeclarationError, LexiconError, ReleaseError, SenseprobeError
from senseprobe.messages import offered
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.generator.dataset import ResolvedDataset
    from senseprobe.hub.publish import Gate, PublishResult
    from senseprobe.importers.plan import ImportedDataset
    from senseprobe.importers.sources import Notes
    from senseprobe.records import Finding
    from senseprobe.release.diff import ReleaseDiff
    from senseprobe.release.freeze import Plan
    from senseprobe.release.release import Release
    from senseprobe.release.restore import Notify

    ReleaseSpec: TypeAlias = str | Path | Release

Progress = Callable[[int], None]

IMPORT_FORMATS = (*importers.FORMATS, *importers.TABLES)
"""The names of the formats that `import_release` reads; the columns of the last three are mapped."""


def load(release: ReleaseSpec) -> Release:
    """Open a release; its `to_pandas(config)` returns the rows of a config.

    Card, citation, Croissant, recipe and the set of files are compared with the manifest, rows are not: see `verify`.
    Raises ReleaseError where there is no such release, and DamagedRelease where one of these is not as it was frozen.
    """
    from senseprobe.recipes import open_verified

    folder, _ = _find(release)
    return open_verified(folder)


def full_name(release: ReleaseSpec) -> str:
    """Return how a release is named, with the version of the newest where a name on this machine has none."""
    newest = project.newest_release(release) if isinstance(release, str) else None
    return (newest or str(release)).removesuffix(":")


def _find(spec: ReleaseSpec) -> tuple[Path, str | None]:
    """Return the folder and config that ``[hf://USER/]NAME[@VERSION][:CONFIG]`` or a path names.

    A release on the Hub is fetched once.
    """
    if not isinstance(spec, str | Path):
        return spec.folder, None
    spec = str(spec)
    if not spec.startswith("hf://"):
        return project.find_release(spec)
    from senseprobe.hub.pull import cached
    from senseprobe.recipes import verify_with_card

    return cached(spec, verify_with_card)


@with_progress("building {dataset} {version}")
def build(
    dataset: str,
    version: str,
    out: str | Path | None = None,
    progress: Progress | None = None,
    *,
    force: bool = False,
    say: Notify | None = None,
) -> Release:
    """Freeze a dataset at a version into `out`/DATASET/VERSION (default: the project's `releases/`).

    Before rows are made, `say` hears how many there will be, an estimate of their bytes, and the free space; and then,
    if nothing has changed since the release before it. Raises DeclarationError where its declarations are wrong or not
    filled in, and ReleaseError where there are more than 10^9 rows or they would not fit, unless `force`; or where the
    version exists or cannot be written, is lower than what changed since the release before it calls for, or has a
    retired id; nothing is left behind then.
    """
    from senseprobe.recipes import plan_of

    folder, catalogue = _to_build(dataset, version, out)
    plan = plan_of(catalogue, version)
    _check_size(catalogue, plan, folder, {each.name: each.size for each in plan.configs}, force=force, say=say)
    if say and not folder.exists() and not plan.lexicons and any(each.senses for each in plan.configs):
        say("WordNet is not prepared, so the card has sense keys without glosses: `senseprobe wordnet` before a build")
    return _frozen(plan, folder, progress, say)


def _check_size(
    catalogue: ResolvedDataset, plan: Plan, folder: Path, sizes: Mapping[str, int], *, force: bool, say: Notify | None
) -> None:
    """State the size of what a plan writes, `sizes` rows by config; raise ReleaseError where that is too much."""
    from senseprobe.recipes import rows_by_config
    from senseprobe.release.restore import Size, estimate_bytes

    if folder.exists():
        return  # it is not overwritten, which is told by what writes
    rows = rows_by_config(catalogue)
    estimate = estimate_bytes({each.name: (rows[each.name], each.schema) for each in plan.configs}, sizes)
    name = f"{plan.dataset} {folder.name}"
    size = Size(name=name, rows=sum(sizes.values()), bytes=estimate, estimated=True, folder=folder)
    size.check(force=force, notify=say)


def _frozen(plan: Plan, folder: Path, progress: Progress | None, say: Notify | None = None) -> Release:
    """Freeze a plan, if its version is high enough for what changed since the release before it."""
    from senseprobe.evaluate.estimands.headline import describe_headlines
    from senseprobe.generator.version_check import approve
    from senseprobe.recipes import rows_of
    from senseprobe.release.freeze import freeze
    from senseprobe.release.release import Release

    layer = next((each for each in project.layers() if plan.dataset in each.datasets()), project.layers()[0])
    places = dict.fromkeys(place.resolve() for place in (folder.parent, layer.releases / plan.dataset))
    check = partial(approve, folders=[*places], rows_of=rows_of, say=say)
    return Release(folder, freeze(plan, folder, progress, check, describe_headlines))


@with_progress("importing {name} {version}")
def import_release(
    format_: str,
    files: Sequence[str | Path],
    name: str,
    version: str,
    license_: str | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    *,
    language: str | None = None,
    columns: Mapping[str, str] | None = None,
    factors: Sequence[str] = (),
    title: str = "",
    citation: str | Path | None = None,
    labels: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[Release, Notes]:
    """Import published files in `format_` as a release of one's own; return it with notes on what was unexpected.

    `license_` is the SPDX expression of the data's licence: without one, or with one that forbids changed versions, the
    release is not published. `language` is the tag (BCP 47) of the sentences' language, by default that of the format.
    A table of one's own (``csv``, ``jsonl``, ``parquet``) needs `columns`, from roles to its columns, as
    ``{"stereo": "sent_more", "anti": "sent_less"}``; `factors` are columns whose levels stand for more of their kind,
    `title` is for the card, `citation` a file of BibTeX with one entry, and `labels` name integers by role:
    ``{"gold": {"0": "entailment", …}}``. Raises ReleaseError where a file is of another format or the version exists,
    and SenseprobeError where nothing is in them, a column is not, or a dataset has the name.
    """
    from senseprobe.importers.plan import release_plan

    folder = _releases(out) / name / version
    own: Any = {"columns": columns, "factors": factors, "title": title, "citation": citation, "labels": labels}
    imported = read_import(format_, files, name, version, license_, language=language, **own)
    plan = release_plan(imported, name, version, installed_version("senseprobe"))
    return _frozen(plan, folder, progress), imported.notes


def read_import(
    format_: str,
    files: Sequence[str | Path],
    name: str,
    version: str,
    license_: str | None = None,
    *,
    language: str | None = None,
    columns: Mapping[str, str] | None = None,
    factors: Sequence[str] = (),
    title: str = "",
    citation: str | Path | None = None,
    labels: Mapping[str, Mapping[str, str]] | None = None,
) -> ImportedDataset:
    """Return the tables and notes of what `import_release` would import, and write nothing; raise as it does."""
    from senseprobe.importers import plan
    from senseprobe.importers.column_map import map_columns

    plan.check_name(name, version)
    column_map = map_columns(columns, factors, title, None if citation is None else Path(citation), labels)
    paths = [Path(file) for file in files]
    return _with_remarks(plan.read_import(format_, paths, plan.parse_license(license_), language, column_map))


def _with_remarks(imported: ImportedDataset) -> ImportedDataset:
    """Return an import with what lint's checks say of its rows, and of their sense keys where WordNet is prepared."""
    from senseprobe.generator.checks.published_rows import check_rows
    from senseprobe.importers.plan import with_remarks
    from senseprobe.importers.sentence_pairs import is_english
    from senseprobe.importers.sources import note_remarks
    from senseprobe.lexicon.wordnet import LEXICONS, Lexicon

    try:
        lexicon = Lexicon.open(LEXICONS[0])
    except LexiconError:
        lexicon = None
    check = partial(check_rows, lexicon=lexicon, english=is_english(imported.language))
    remarks = (remark for table in imported.tables for remark in check(table.rows, table.design))
    return with_remarks(imported, note_remarks(remarks), lexicon.name if lexicon else "")


def why_unpublishable(license_: str | None) -> str | None:
    """Return why a release under a licence may not be published; None where it may."""
    from senseprobe.hub.publish import why_not_shared

    return why_not_shared({"license": license_}) if license_ else "no licence was named (--license)"


@with_progress("building {dataset} {version}")
def build_shard(
    dataset: str,
    version: str,
    shard: int,
    shards: int,
    out: str | Path | None = None,
    progress: Progress | None = None,
    *,
    force: bool = False,
    say: Notify | None = None,
) -> Path:
    """Build only shard `shard` (from 0) of `shards` of a release, and return its folder.

    Raises as `build` does; rows, bytes and space are those of the shard.
    """
    from senseprobe.recipes import plan_of, rows_by_config
    from senseprobe.release.shards import MAX_SHARDS, ShardPlan, shard_rows, write_shard

    if not 0 <= shard < shards:
        raise SenseprobeError(f"no shard {shard} of {shards}: they are 0 to {shards - 1}")
    if shards > MAX_SHARDS:
        raise SenseprobeError(f"{shards:,} shards: at most {MAX_SHARDS:,} can be joined")
    final, catalogue = _to_build(dataset, version, out)
    plan, rows = plan_of(catalogue, version), rows_by_config(catalogue)
    part = ShardPlan(plan=plan, rows=rows, shard=shard, shards=shards)
    folder = final.with_name(part.folder)
    sizes = shard_rows({config.name: config.size for config in plan.configs}, shard, shards)
    _check_size(catalogue, plan, folder, sizes, force=force, say=say)
    write_shard(part, folder, progress)
    return folder


@with_progress("joining")
def join(shards: Sequence[str | Path], out: str | Path | None = None, progress: Progress | None = None) -> Release:
    """Join all shards of a release into it, beside the first of them or in `out`/DATASET/VERSION.

    Raises ReleaseError where a shard is missing, damaged or of another release, and as `build` does.
    """
    from senseprobe.generator.recipe import open_recipe, recipe_of_parts
    from senseprobe.recipes import plan_of
    from senseprobe.release.shards import copy_rows, read_shards

    found = read_shards([Path(shard) for shard in shards])
    form = found[0].form
    catalogue = open_recipe(found[0].folder / "recipe", form.dataset)
    plan = plan_of(catalogue, form.version)
    configs = [replace(config, write=copy_rows(found, config.name, config.size)) for config in plan.configs]
    recipe = recipe_of_parts([shard.folder / "recipe" for shard in found])
    whole = replace(plan, configs=tuple(configs), recipe=lambda: recipe, senseprobe=form.senseprobe)
    folder = Path(out) / form.dataset / form.version if out else found[0].folder.resolve().with_name(form.version)
    return _frozen(whole, folder, progress)


@with_progress("restoring {release}")
def restore(
    release: ReleaseSpec,
    out: str | Path | None = None,
    progress: Progress | None = None,
    *,
    force: bool = False,
    say: Notify | None = None,
) -> Release:
    """Build again, from its recipe, the rows of a release that keeps only manifest and recipe; in place, or in `out`.

    One that ships with senseprobe goes to the project's `releases/`: an installed package is not written to. Before
    rows are made, `say` hears how many, their bytes as the manifest has them, and the free space.

    Raises DamagedRelease where the recipe is not what was frozen or makes other rows, and ReleaseError where there are
    more than 10^9 rows or they would not fit, unless `force`, or nothing can be written there.
    """
    from senseprobe.recipes import rows_of
    from senseprobe.release.release import open_release
    from senseprobe.release.restore import restore_rows

    folder, _ = _find(release)
    frozen = open_release(folder)
    dataset, version = str(frozen.manifest.data["dataset"]), str(frozen.manifest.data["version"])
    if out is None and project.built_in().releases.resolve() in folder.resolve().parents:
        out = _own_releases()
    target = Path(out) / dataset / version if out else folder
    return restore_rows(frozen, target, partial(rows_of, dataset=dataset), progress, force=force, notify=say)


def _to_build(dataset: str, version: str, out: str | Path | None) -> tuple[Path, ResolvedDataset]:
    """Return the folder of a new release, and the catalogue that it is built from.

    Raise DeclarationError where a field that describes it is still to be filled in.
    """
    from senseprobe.generator.checks.placeholders import find_unfilled_fields
    from senseprobe.release.manifest import VERSION

    if not VERSION.fullmatch(version):
        raise SenseprobeError(f"{version!r} is no version: expected MAJOR.MINOR.PATCH, as 1.0.0")
    if "/" in dataset:
        raise SenseprobeError(f"{dataset!r} names a config: a release holds all configs of a dataset")
    if any(category(letter) == "Cs" for letter in dataset):
        raise SenseprobeError(f"{dataset!r} is not UTF-8: rename the folder of the dataset")
    folder, catalogue = _releases(out) / dataset / version, open_catalogue(dataset)
    if findings := sorted(find_unfilled_fields(catalogue), key=attrgetter("path", "line", "column")):
        raise DeclarationError(findings)
    return folder, catalogue


def _releases(out: str | Path | None) -> Path:
    """Return the folder of releases to write to: `out`, or the project's own."""
    return Path(out) if out else _own_releases()


def _own_releases() -> Path:
    layer = project.user_layer()
    if layer is None:
        raise SenseprobeError(f"no project here (no {project.MARKER} in a parent folder): say where with --out DIR")
    return layer.releases


@with_progress("comparing {a} and {b}")
def diff(a: ReleaseSpec, b: ReleaseSpec | None = None) -> ReleaseDiff:
    """Compare release `a` with `b`: what changed, and the version that this calls for.

    A name alone stands for its two newest releases on this machine. Either may name a config. The releases are not
    verified, but rows that are read are compared with their content hash. Raises ReleaseError where there is no such
    release or config, and DamagedRelease where rows are not those of the manifest.
    """
    from senseprobe.generator.version_check import diff_versions
    from senseprobe.recipes import rows_of
    from senseprobe.release.release import open_release

    (old, first), (new, second) = map(_find, project.two_newest(str(a)) if b is None else (a, b))
    if first and second and first != second:
        raise SenseprobeError(f"{first!r} and {second!r} are two configs: what changed is told of one, or of all")
    return diff_versions(open_release(old), open_release(new), rows_of, first or second)


@with_progress("verifying {release}")
def verify(
    release: ReleaseSpec, rebuild: bool = False, progress: Progress | None = None, *, content: str = ""
) -> list[Finding]:
    """Return every difference between a release and its manifest; with `rebuild`, also between rows and recipe.

    `content` is the content hash that a paper cites, or its first twelve digits or more: a release whose manifest was
    forged as well has another. An empty list means that all is as it was frozen. Raises ReleaseError where there is no
    such release.
    """
    from senseprobe.recipes import verify_with_card
    from senseprobe.release.verify import content_hash_findings, is_recipe_intact

    folder, config = _find(release)
    manifest, findings = verify_with_card(folder, progress)
    if manifest and config is not None:
        manifest.config(config)  # ReleaseError where there is none
    if manifest and content:
        findings += content_hash_findings(manifest, content)
    if rebuild and manifest and is_recipe_intact(findings):
        from senseprobe.recipes import rebuild as again

        away = {told.path.partition("/")[0] for told in findings if told.code == "E402"}
        # Rows that cannot be read were found already; what is wrong with the recipe was not.
        findings += [
            told
            for told in again(folder, manifest, away)
            if told not in findings and (told.code == "E408" or told.code[:2] != "E4" or not findings)
        ]
    return findings


def verified(spec: ReleaseSpec) -> tuple[Release, str | None]:
    """Open and verify what `spec` names: the release, and its config if it names one.

    Raises DamagedRelease where it is not as it was frozen.
    """
    from senseprobe.release.release import open_release

    folder, config = _find(spec)
    # What was found on the Hub was verified when it was found, so that it is not read twice.
    fetched = isinstance(spec, str) and spec.startswith("hf://")
    if not fetched and (findings := verify(folder)):
        raise DamagedRelease(findings)
    release = open_release(folder)
    if config is not None and config not in release.configs:
        raise ReleaseError(f"{spec} has no config {config!r}: {offered(config, release.configs)}")
    return release, config


@with_progress("publishing {release}")
def publish(
    release: ReleaseSpec, repo: str, *, private: bool = False, gated: Gate | None = None, dry_run: bool = False
) -> PublishResult:
    """Publish a release as the dataset ``USER/NAME`` on the Hugging Face Hub: one commit, tagged ``vVERSION``.

    Its commit is noted in the project's ``releases/DATASET/published.csv``. A run that failed is completed by the next
    one. Raises DamagedRelease, and ReleaseError where it may not be shared, the tag is taken, the commit that was noted
    has it no more, or the Hub refuses.
    """
    from senseprobe.hub.publish import commits_of, note_published
    from senseprobe.hub.publish import publish as send
    from senseprobe.recipes import verify_with_card
    from senseprobe.release.manifest import read_manifest

    folder, _ = _find(release)
    layer = project.user_layer()
    facts = read_manifest(folder).data
    dataset, version = str(facts["dataset"]), str(facts["version"])
    path = layer.releases / dataset / "published.csv" if layer else None
    # A file that cannot be added to is told before anything is sent.
    cited = commits_of(path, version, repo) if path else ()
    done = send(folder, repo, private=private, gated=gated, dry_run=dry_run, cited=cited, verify=verify_with_card)
    if path is not None and not dry_run:
        note_published(path, (version, done.repo, done.commit, done.content))
    return done


@with_progress("fetching {release}")
def pull(
    release: str,
    out: str | Path | None = None,
    *,
    timeout: float = 30.0,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Release, str]:
    """Fetch ``USER/NAME[@VERSION]`` from the Hub by its tag, verified, into `out` (default: the project's `releases/`).

    The release and its commit there. `timeout` are the seconds without an answer, or with less than 1,000 bytes in each
    of them, after which the Hub is given up; what came until then is kept, and the next call goes on from there.
    `progress` hears how many bytes there are, of how many. Raises ReleaseError where the Hub does not give it, sends
    more than it has, or another release has its place, and DamagedRelease where it is not as it was frozen.
    """
    from senseprobe.hub.pull import pull as fetch
    from senseprobe.recipes import verify_with_card

    return fetch(release, _releases(out), verify_with_card, timeout=timeout, progress=progress)
