"""A release in a folder: its manifest, and the rows of its configs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from senseprobe.errors import ReleaseError
from senseprobe.records import Design
from senseprobe.release.manifest import NAME, VERSION, Manifest, read_manifest
from senseprobe.release.parquet import read_rows
from senseprobe.release.schema import design_schema

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from datasets import Dataset
    from numpy.typing import NDArray

DRAFT = "not a release"
"""What results on rows that are no release call them, in place of NAME@VERSION."""


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """A frozen dataset in a folder.

    >>> import senseprobe
    >>> release = senseprobe.load("sssb@1.0.2")
    >>> release.configs[:3]
    ('nationality', 'language', 'race')
    >>> release.design("noun").factors[0]
    Factor(name='occupation', columns=('occupation',))
    >>> [batch.num_rows for batch in release.batches("noun", ["stereo", "anti"])]
    [186]
    """

    folder: Path
    manifest: Manifest

    @property
    def configs(self) -> tuple[str, ...]:
        """Names of the configs in published order."""
        return self.manifest.configs

    def design(self, config: str) -> Design:
        """Return the design of a config, which evaluation needs; raise ReleaseError if the config does not exist."""
        return self.manifest.design(config)

    def files(self, config: str) -> list[Path]:
        """Return the Parquet files of a config, in the order of its rows."""
        return [self.folder / name for name in sorted(self.manifest.files) if name.startswith(f"{config}/")]

    def keeps(self, config: str) -> bool:
        """Return whether the rows of a config are in the folder (large releases ship without them), or it has none."""
        files = self.files(config)
        return not files or any(path.exists() or path.is_symlink() for path in files)

    def batches(self, config: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a config.

        `columns` names the columns to read (default: all). Counts and sizes are checked before rows are read. Raises
        DamagedRelease if a file is not Parquet with the right columns, or has too many rows, and ReleaseError if the
        rows are not in the folder.
        """
        schema, left = design_schema(self.design(config)), int(self.manifest.config(config)["rows"])
        if not self.keeps(config):
            hint = f"`senseprobe verify --restore {self.manifest.name}` makes them again"
            raise ReleaseError(f"{self.manifest.name} does not have the rows of {config} in {self.folder}: {hint}")
        for path in self.files(config):
            for batch in read_rows(path, schema, path.relative_to(self.folder).as_posix(), left, columns):
                left -= batch.num_rows
                yield batch
            pa.default_memory_pool().release_unused()  # else the process keeps the memory of every file

    def table(self, config: str, *, spans: bool = True, rows: "NDArray[np.int64] | None" = None) -> "pd.DataFrame":
        """Return the rows of a config as a pandas table, indexed by row number (from 0).

        `spans` says whether spans are read: they become Python objects, a gigabyte for two million rows. `rows` are the
        numbers, ascending, of the rows to return (default: all); no other row stays in memory longer than its batch.
        """
        columns = design_schema(self.design(config))
        schema = pa.schema([column for column in columns if spans or not pa.types.is_struct(column.type)])
        if rows is None:
            whole = pa.Table.from_batches(self.batches(config, schema.names), schema)
            return _as_pandas(whole)
        # Column by column: a reader holds a whole page, 262,144 values, of each column that it reads.
        tables = (pa.Table.from_batches(_only(self.batches(config, [c.name]), rows), pa.schema([c])) for c in schema)
        return _as_pandas(pa.table([table.column(0) for table in tables], schema)).set_axis(rows)

    def to_pandas(self, config: str | None = None) -> "pd.DataFrame":
        """Return the rows of a config as a pandas table, indexed by row number (from 0).

        If the release has one config, its name is optional. ReleaseError for an unknown config, or a missing name.
        """
        if config is None and len(self.configs) > 1:
            raise ReleaseError(f"{self.manifest.name} has several configs, name one: {', '.join(self.configs)}")
        return self.table(self.configs[0] if config is None else config)

    def to_datasets(self) -> "dict[str, Dataset]":
        """Return each config as a `datasets.Dataset`; raises as `batches` does."""
        from datasets import Dataset

        schemas = {config: design_schema(self.design(config)) for config in self.configs}
        return {config: Dataset(pa.Table.from_batches(self.batches(config), schemas[config])) for config in schemas}

    @property
    def designs(self) -> dict[str, Design]:
        """The design of each config."""
        return {config: self.design(config) for config in self.configs}

    def __repr__(self) -> str:
        """Return name, size and place in a line."""
        rows = sum(int(self.manifest.config(config)["rows"]) for config in self.configs)
        return f"<Release {self.manifest.name}: {rows:,} rows in {len(self.configs)} configs, {self.folder}>"


def _as_pandas(table: pa.Table) -> "pd.DataFrame":
    """Return a table of pandas; the ends of spans are integers, also where some rows have none."""
    converted: pd.DataFrame = table.to_pandas(integer_object_nulls=True)
    return converted


def _only(batches: Iterable[pa.RecordBatch], rows: "NDArray[np.int64]") -> Iterator[pa.RecordBatch]:
    """Yield the rows of these numbers, which ascend."""
    start = 0
    for batch in batches:
        first, last = rows.searchsorted([start, start + batch.num_rows])
        if last > first:
            yield batch.take(pa.array(rows[first:last] - start))
        start += batch.num_rows


def open_release(folder: Path) -> Release:
    """Return the release in `folder`, unverified; raise ReleaseError where there is none."""
    return Release(folder, read_manifest(folder))


def parse_version(version: str) -> tuple[int, int, int]:
    """Return the three numbers of ``MAJOR.MINOR.PATCH``; raise ValueError where it is not a version.

    >>> parse_version("1.10.0") > parse_version("1.9.0")
    True
    """
    major, minor, patch = version.split(".")
    return int(major), int(minor), int(patch)


def earlier_releases(folders: Iterable[Path], version: str) -> list[Path]:
    """Return the releases below `version` in folders of a dataset, the newest last."""
    paths = [path for folder in folders if folder.is_dir() for path in folder.iterdir()]
    releases = [path for path in paths if VERSION.fullmatch(path.name) and (path / NAME).exists()]
    below = [path for path in releases if parse_version(path.name) < parse_version(version)]
    return sorted(below, key=lambda path: (parse_version(path.name), str(path)))
