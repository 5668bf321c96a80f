"""Whether the recipe of a release still makes its rows and facts."""

from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from typing import TypeAlias

import pyarrow as pa

from senseprobe.errors import DamagedRelease, DeclarationError, ReleaseError
from senseprobe.messages import listed, printable
from senseprobe.records import Design, Finding
from senseprobe.release.diff import stated_facts
from senseprobe.release.freeze import Plan, manifest_facts
from senseprobe.release.hashing import ContentHash
from senseprobe.release.manifest import NAME, Manifest
from senseprobe.release.parquet import Rows
from senseprobe.release.release import Release
from senseprobe.release.schema import design_schema, plain


def verify_recipe(release: Release, plan: Plan, rows: Mapping[str, Rows], away: Container[str]) -> Iterator[Finding]:
    """Yield every difference between a release and its recipe, which gives these `rows` and this `plan`.

    The rows of configs that are `away` are compared with the content hash of the manifest.
    """
    manifest = release.manifest
    if order := [name for name in rows if name not in release.configs]:
        yield Finding(path=NAME, code="E408", message=f"does not have what the recipe makes: {listed(order)}")
    for name in release.configs:
        if name not in rows:
            yield Finding(path=name, code="E408", message="is not in the recipe")
            continue
        if name in away:
            yield from _content_findings(manifest, name, rows[name])
        else:
            size = next(config.size for config in plan.configs if config.name == name)
            # One row more is enough to see a difference, also of a recipe that was changed to make rows without end.
            yield from _row_findings(release, name, rows[name](0, min(size, manifest.expanded(name) + 1)))
    yield from _fact_findings(manifest, plan)


def unused_files(manifest: Manifest, recipe: Container[str]) -> Iterator[Finding]:
    """Yield a finding for each file that a manifest has in `recipe/`, and that is not among the paths of the recipe."""
    for name in sorted(manifest.files):
        top, _, path = name.partition("/")
        if top == "recipe" and path not in recipe:
            yield Finding(path=name, code="E408", message="is not used by the recipe")


def remake_rows(manifest: Manifest, config: str, rows: Rows) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a config that its recipe makes, as many as it has, or none where the recipe makes fewer.

    Callers compare them with the content hash.
    """
    with suppress(ValueError):  # a range beyond what the recipe makes
        yield from map(plain, rows(0, manifest.expanded(config)))


def _content_findings(manifest: Manifest, config: str, rows: Rows) -> Iterator[Finding]:
    content = ContentHash(design_schema(manifest.design(config)))
    try:
        for batch in remake_rows(manifest, config, rows):
            content.update(batch)
    except ReleaseError as error:
        yield Finding(path=config, code="E408", message=f"the recipe: {error}")
        return
    if content.hexdigest() != manifest.config(config)["content"]:
        yield Finding(path=config, code="E408", message="the recipe makes other rows than the content hash is of")


def _row_findings(release: Release, config: str, rebuilt: Iterator[pa.RecordBatch]) -> list[Finding]:
    """Compare rebuilt rows with the frozen ones; report the first row and column that differ."""
    try:
        pairs = _aligned(release.batches(config), (plain(batch) for batch in rebuilt if batch.num_rows))
        difference = next((_first_difference(old, new) for old, new in pairs if old is None or old != new), None)
    except (DamagedRelease, DeclarationError) as error:
        return list(error.findings)
    return [Finding(path=config, code="E408", message=f"the recipe makes {difference}")] if difference else []


def _fact_findings(manifest: Manifest, plan: Plan) -> Iterator[Finding]:
    """Compare the recipe's facts with the manifest's, on which evaluation and citation are based."""
    facts, frozen = manifest_facts(plan), manifest.data
    other = [key for key in ("order", "contrasts") if facts[key] != frozen[key]]
    card, was = stated_facts(facts["card"]), stated_facts(frozen["card"])
    other += [f"card, {key}" for key in sorted({*card, *was}) if card.get(key) != was.get(key)]
    for name in [name for name in manifest.configs if name in facts["configs"]]:
        mine, theirs = facts["configs"][name], manifest.config(name)
        keys = ("description", "expect", "accept")  # the last is not in manifests of the first form
        other += [f"{name}, {key}" for key in keys if theirs.get(key, mine[key]) != mine[key]]
        other += [f"{name}, expanded"] if theirs.get("expanded") != mine.get("expanded") else []
        yield from _design_findings(manifest, name, Design.from_dict(mine["design"]), mine["levels"])
    if other:
        message = f"the recipe says otherwise than the manifest: {listed(map(printable, other))}"
        yield Finding(path=NAME, code="E408", message=message)


def _design_findings(manifest: Manifest, config: str, design: Design, levels: Mapping[str, int]) -> Iterator[Finding]:
    if design != manifest.design(config):
        yield Finding(path=config, code="E408", message="the recipe makes another design than the manifest holds")
    frozen: Mapping[str, int] = manifest.config(config)["levels"]
    other = [name for name in sorted({*frozen, *levels}) if frozen.get(name) != levels.get(name)]
    if other:
        differences = ", ".join(
            f"{levels.get(name)} of {printable(name)} instead of {frozen.get(name)}" for name in other
        )
        yield Finding(
            path=config, code="E408", message=f"the recipe has other levels than the manifest holds: {differences}"
        )


Batch: TypeAlias = pa.RecordBatch | None


def _aligned(frozen: Iterator[pa.RecordBatch], rebuilt: Iterator[pa.RecordBatch]) -> Iterator[tuple[Batch, Batch]]:
    """Yield pairs of equally many rows of both; the last pair holds None where only one of them goes on."""
    old, new = next(frozen, None), next(rebuilt, None)
    while old is not None and new is not None:
        rows = min(old.num_rows, new.num_rows)
        yield old.slice(0, rows), new.slice(0, rows)
        old = old.slice(rows) if rows < old.num_rows else next(frozen, None)
        new = new.slice(rows) if rows < new.num_rows else next(rebuilt, None)
    if old is not new:
        yield old, new


def _first_difference(old: Batch, new: Batch) -> str:
    if new is None:
        return f"fewer rows: the first that it lacks is {_id(old, 0)}"
    if old is None:
        return f"more rows: the first of them is {_id(new, 0)}"
    if old.schema != new.schema:
        return "other columns"
    row, _, name = min((_first_row(old[name], new[name]), at, name) for at, name in enumerate(old.schema.names))
    was, now = old[name][row].as_py(), new[name][row].as_py()
    return f"other rows: row {_id(old, row)}, column {name}: {now!r:.200} instead of {was!r:.200}"


def _first_row(old: pa.Array, new: pa.Array) -> int:
    """Return the first row in which two columns differ; their length where they are the same."""
    pairs = enumerate(zip(old.to_pylist(), new.to_pylist(), strict=True))
    return next((row for row, (was, now) in pairs if was != now), len(old))


def _id(batch: pa.RecordBatch, row: int) -> str:
    return printable(str(batch["id"][row].as_py()))[:200]
