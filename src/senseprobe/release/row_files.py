"""The files of a release's rows, checked one at a time: by the bytes of the file, and by the hash of its leaf.

So a release is verified by several threads, or by several machines a part each. Where a config of several files has no
leaves (releases of forms before 6), a file alone has no hash of its rows: those are hashed in one go.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from senseprobe.errors import DamagedRelease
from senseprobe.records import Finding
from senseprobe.release.hashing import ContentHash, Leaf, file_finding, memory_bytes
from senseprobe.release.manifest import Manifest
from senseprobe.release.parquet import map_in_threads, read_rows
from senseprobe.release.release import Release
from senseprobe.release.restore import read_restored
from senseprobe.release.schema import design_schema, example_rows


class RowFile(NamedTuple):
    """A file of a config's rows: its path in the release, and its number among the files of the config."""

    config: str
    name: str
    number: int


@dataclass(frozen=True, slots=True)
class Part:
    """The files of rows that are checked: from `shard` on each `shards`-th, as shards are built."""

    shard: int = 0
    shards: int = 1

    @property
    def is_whole(self) -> bool:
        """Whether these are all files."""
        return self.shards == 1


@dataclass(frozen=True, kw_only=True, slots=True)
class FileCheck:
    """What was found of a file of rows.

    - `damage`: the finding on its bytes; `findings`: those on its rows, which were not read where there is damage.
    - `leaf`: how many rows were read and their hash as a leaf, or that of their config which has one file; None where
      they were not read. `memory`: their bytes in memory. `examples`: those of the card's rows that are among them.
    """

    damage: Finding | None = None
    findings: tuple[Finding, ...] = ()
    leaf: Leaf | None = None
    memory: int = 0
    examples: tuple[dict[str, str], ...] = ()


def row_files(manifest: Manifest) -> list[RowFile]:
    """Return the files of all rows, config after config in published order."""
    names = sorted(manifest.files)
    return [
        RowFile(config, name, number)
        for config in manifest.configs
        for number, name in enumerate(name for name in names if name.startswith(f"{config}/"))
    ]


def files_in(manifest: Manifest, part: Part) -> list[RowFile]:
    """Return the files of rows of a part."""
    return row_files(manifest)[part.shard :: part.shards]


def has_leaf_files(manifest: Manifest, config: str) -> bool:
    """Return whether each file of a config can have its own hash: there is one, or one for each leaf."""
    files = sum(name.startswith(f"{config}/") for name in manifest.files)
    return files == (len(manifest.leaves(config)) or 1)


def check_files(
    release: Release, files: Iterable[RowFile], *, rows: bool = True
) -> Iterator[tuple[RowFile, FileCheck]]:
    """Yield files with what was found of them, in order, several at a time; without `rows` those are not read."""
    restored = read_restored(release.folder, release.manifest)
    listed = [*files]
    checks = map_in_threads(lambda file: check_file(release, file, restored, rows=rows), listed)
    yield from zip(listed, checks, strict=True)


def check_file(
    release: Release, file: RowFile, restored: Mapping[str, tuple[int, str]], *, rows: bool = True
) -> FileCheck:
    """Return what is found of a file: of its bytes, and where these are right (or as `restored`), of its rows."""
    manifest = release.manifest
    damage = file_finding(release.folder, file.name, *manifest.files[file.name])
    if damage and file.name in restored and (damage := file_finding(release.folder, file.name, *restored[file.name])):
        damage = replace(damage, message=f"{damage.message}, and from the restored file")
    if damage or not rows or not has_leaf_files(manifest, file.config):
        return FileCheck(damage=damage)
    leaves, design = manifest.leaves(file.config), release.design(file.config)
    content, total = ContentHash(design_schema(design), of_leaf=bool(leaves)), int(manifest.config(file.config)["rows"])
    first, count, memory = sum(leaf.rows for leaf in leaves[: file.number]), 0, 0
    examples: list[dict[str, str]] = []
    try:
        for batch in read_rows(release.folder / file.name, design_schema(design), file.name, total):
            content.update(batch)
            examples += example_rows(batch, first + count, design, total)
            count += batch.num_rows
            memory += memory_bytes(batch)
    except DamagedRelease as error:
        return FileCheck(findings=tuple(error.findings))
    leaf = Leaf(count, content.hexdigest())
    return FileCheck(leaf=leaf, memory=memory, examples=tuple(examples))


def leaf_findings(manifest: Manifest, checks: Mapping[RowFile, FileCheck]) -> Iterator[Finding]:
    """Yield where a file of rows is not the leaf that the manifest states for it."""
    for file, check in checks.items():
        yield from check.findings
        if check.leaf is None:
            continue
        facts = manifest.config(file.config)
        expected = (manifest.leaves(file.config) or [Leaf(facts["rows"], facts["content"])])[file.number]
        if check.leaf.rows != expected.rows:
            message = f"has {check.leaf.rows} rows, the manifest says {expected.rows}"
            yield Finding(path=file.name, code="E405", message=message)
        elif check.leaf != expected:
            yield Finding(path=file.name, code="E405", message="the content hash does not match the rows")
