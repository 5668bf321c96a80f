"""The units of a release's rows as columns of Arrow, a batch at a time: so that no table of all rows is in memory."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.pipeline import rows_of, scored_roles
from senseprobe.evaluate.scorers.base import Scorer, select_all
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.units import NO_SPAN, UNRELATED, VIOLATES, units_of
from senseprobe.release.schema import design_schema

UNIT = pa.schema(
    [
        ("text", pa.string()),
        ("beside", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("second", pa.bool_()),
    ]
)
"""The columns of a unit, as `units.Unit` has them."""

PLACED = UNIT.append(pa.field("place", pa.int64()))
"""A unit, and where it occurs: the text of role r in row n has the place n * roles + r."""

ROWS_AT_ONCE = 65_536


class UnitRows:
    """The rows of a job that a scorer takes, as units: read once, or twice, but never all in memory.

    - `roles`: of each config the texts that are scored, each with its counterpart; `all_roles`: those of all, in order.
    - `rows`: how many rows each config has, once they were read.
    """

    def __init__(self, job: ScoringJob, scorer: Scorer) -> None:
        self.job, self.scorer = job, scorer
        self._tables: Mapping[str, pd.DataFrame] | None = None
        if job.limit is not None or scorer.select is not select_all:  # few rows, or rows that depend on others
            self._tables = rows_of(job, scorer)
        names = job.configs(scorer) if self._tables is None else list(self._tables)
        self.roles = scored_roles(job, scorer, names)
        roles = dict.fromkeys([*scorer.texts, *(role for name in names for role in self.roles[name])])
        self.all_roles = tuple(roles)
        self.rows: dict[str, int] = {}

    def __iter__(self) -> Iterator[pa.Table]:
        """Yield the units of all rows, with their places, in the order of rows within a role."""
        before = 0
        for name in self.roles:
            self.rows[name] = 0
            for batch in self._batches(name):
                first = before + self.rows[name]
                for role, counterpart in self.roles[name].items():
                    columns = columns_of(batch, role, counterpart, self.scorer.reads)
                    rows = np.arange(first, first + len(columns))
                    places = rows * len(self.all_roles) + self.all_roles.index(role)
                    yield columns.append_column(PLACED.field("place"), pa.array(places, pa.int64()))
                self.rows[name] += len(batch) if isinstance(batch, pd.DataFrame) else batch.num_rows
            before += self.rows[name]

    def _batches(self, name: str) -> Iterator[pd.DataFrame | pa.RecordBatch]:
        if self._tables is not None:
            table = self._tables[name]
            yield from (table.iloc[start : start + ROWS_AT_ONCE] for start in range(0, len(table), ROWS_AT_ONCE))
            return
        there, reads = design_schema(self.job.release.design(name)).names, self.scorer.reads
        texts = [column for pair in self.roles[name].items() for column in pair[: 1 + ("beside" in reads)]]
        spans = [f"{role}_span" for role in self.roles[name]] + ["span"] if "span" in reads else []
        wanted = dict.fromkeys([*texts, *spans, *(["direction"] if "order" in reads else [])])
        try:
            yield from self.job.release.batches(name, [column for column in wanted if column in there])
        except SenseprobeError as error:
            raise SenseprobeError(f"{self.job.release.manifest.name}: {error}") from None


def columns_of(batch: pd.DataFrame | pa.RecordBatch, role: str, counterpart: str, reads: Sequence[str]) -> pa.Table:
    """Return the unit of each row for the sentence in column `role`: what `units.units_of` returns, as columns."""
    if isinstance(batch, pd.DataFrame):
        units = units_of(batch, role, counterpart, reads)
        columns = [list(column) for column in zip(*units, strict=True)] or [[] for _ in UNIT]
        return pa.table([pa.array(column, field.type) for column, field in zip(columns, UNIT, strict=True)], UNIT)
    rows, names = batch.num_rows, batch.schema.names
    text = batch[role].cast(pa.string())
    beside = batch[counterpart].cast(pa.string()) if "beside" in reads else pa.repeat("", rows).cast(pa.string())
    marked = [name for name in (f"{role}_span", "span") if "span" in reads and name in names]
    ends = [_ends_of(batch[marked[0]], part) if marked else np.full(rows, NO_SPAN[0]) for part in ("start", "end")]
    second = _seconds_of(batch, role) if "order" in reads else np.zeros(rows, dtype=np.bool_)
    return pa.table([text, beside, *ends, pa.array(second)], UNIT)


def _ends_of(spans: pa.Array, part: str) -> pa.Array:
    """Return where spans start or end, -1 of rows that have none."""
    ends = pc.struct_field(spans, part).cast(pa.int64())
    return pc.if_else(spans.is_valid(), ends, pa.scalar(NO_SPAN[0], pa.int64()))


def _seconds_of(batch: pa.RecordBatch, role: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return of each row whether the sentence in column `role` comes after its counterpart (see `units_of`)."""
    if role not in ("stereo", "anti"):
        return np.full(batch.num_rows, role in UNRELATED)
    if "direction" not in batch.schema.names:
        return np.full(batch.num_rows, role == "anti")
    violates = pc.fill_null(pc.equal(batch["direction"], VIOLATES), False)
    flags: np.ndarray[tuple[int], np.dtype[np.bool_]] = violates.to_numpy(zero_copy_only=False) ^ (role == "anti")
    return flags
