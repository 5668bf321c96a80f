"""Opens a release: its manifest, and the rows of its configs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from senseprobe.errors import DamagedRelease
from senseprobe.records import Design, Finding
from senseprobe.release.form import printable
from senseprobe.release.manifest import Manifest, read_manifest
from senseprobe.release.schema import design_schema

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Release", "open_release"]

MAX_GROUP_BYTES = 2**30
"""A row group of 65,536 rows has some 20 MB; one that claims to hold more than this is not read."""


@dataclass(frozen=True, slots=True)
class Release:
    """A frozen dataset in a folder."""

    folder: Path
    manifest: Manifest

    @property
    def configs(self) -> tuple[str, ...]:
        """Names of the configs in published order."""
        return self.manifest.configs

    def design(self, config: str) -> Design:
        """What evaluation needs to know of a config; ReleaseError if there is no such config."""
        return self.manifest.design(config)

    def files(self, config: str) -> list[Path]:
        """The Parquet files of a config, in the order of its rows."""
        return [self.folder / name for name in sorted(self.manifest.files) if name.startswith(f"{config}/")]

    def batches(self, config: str) -> Iterator[pa.RecordBatch]:
        """The rows of a config; DamagedRelease where a file is not Parquet of the right columns, or has too many rows.

        Counts and sizes are compared with what is allowed before rows are read.
        """
        schema, left = design_schema(self.design(config)), int(self.manifest.config(config)["rows"])
        for path in self.files(config):
            shown = path.relative_to(self.folder).as_posix()
            try:
                with pq.ParquetFile(path) as file:
                    left -= file.metadata.num_rows
                    _check(file, schema, left, shown)
                    for batch in file.iter_batches():
                        batch.validate(full=True)  # a column of text may hold what is no UTF-8
                        yield batch
            except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: names that are no UTF-8
                reason = printable(str(error).partition("\n")[0])
                raise _damaged(shown, "E404", f"cannot be read as Parquet: {reason}") from None

    def table(self, config: str) -> "pd.DataFrame":
        """The rows of a config as a pandas table."""
        schema = design_schema(self.design(config))
        table: pd.DataFrame = pa.Table.from_batches(self.batches(config), schema).to_pandas()
        return table


def open_release(folder: Path) -> Release:
    """The release in `folder`, unverified; ReleaseError where there is none."""
    return Release(folder, read_manifest(folder))


def _check(file: pq.ParquetFile, schema: pa.Schema, left: int, shown: str) -> None:
    if file.schema_arrow.remove_metadata() != schema:
        raise _damaged(shown, "E407", "its columns are not those of the config")
    if left < 0:
        raise _damaged(shown, "E405", f"has {-left} rows more than the manifest says")
    groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
    if any(group.total_byte_size > MAX_GROUP_BYTES for group in groups):
        raise _damaged(shown, "E404", f"has a row group of more than {MAX_GROUP_BYTES >> 20} MiB")


def _damaged(path: str, code: str, message: str) -> DamagedRelease:
    return DamagedRelease([Finding(path=path, code=code, message=message)])
