"""The external merge: whatever the texts and however little is in memory, windows are those of `sorted(set(units))`."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senseprobe.evaluate.units import Unit, units_of
from senseprobe.evaluate.windows.plan_form import rows_file, units_file
from senseprobe.evaluate.windows.sorted_units import SortLimits, write_windows
from senseprobe.evaluate.windows.unit_columns import PLACED, UNIT, columns_of

# Few letters, so that units are alike: with accents, beyond the first plane of Unicode, before and after surrogates.
LETTERS = st.sampled_from(["a", "b", "B", " ", "é", "\x00", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0001f339"])
TEXTS = st.text(LETTERS, max_size=3)
UNITS = st.builds(Unit, TEXTS, TEXTS, st.integers(-1, 2), st.integers(-1, 2), st.booleans())
LIMITS = st.builds(
    SortLimits,
    rows=st.integers(1, 7),
    bytes=st.sampled_from([1, 300, 10**9]),
    step_rows=st.integers(1, 4),
    step_bytes=st.sampled_from([1, 10**9]),
    runs=st.integers(2, 3),
)


def tables_of(units: Sequence[Unit], size: int) -> list[pa.Table]:
    """Units as columns, so many at a time; their places are their positions."""
    tables = []
    for start in range(0, len(units), size):
        part = units[start : start + size]
        columns = [pa.array(column, field.type) for column, field in zip(zip(*part, strict=True), UNIT, strict=True)]
        tables.append(pa.table([*columns, pa.array(range(start, start + len(part)))], PLACED))
    return tables


@settings(max_examples=150, deadline=None)
@given(units=st.lists(UNITS, max_size=60), limits=LIMITS, size=st.integers(1, 9), window=st.integers(1, 9))
def test_windows_are_those_of_sorted_sets(units: list[Unit], limits: SortLimits, size: int, window: int) -> None:
    """And each place is where its unit occurs, each once."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        windows = write_windows(tables_of(units, size), folder, window, 3, limits)
        expected = sorted({*units})
        found: list[Unit] = []
        places: dict[int, Unit] = {}
        for number, facts in enumerate(windows, 3):
            table = pq.read_table(folder / units_file(number)).to_pydict()
            there = [Unit(*values) for values in zip(*table.values(), strict=True)]
            rows = pq.read_table(folder / rows_file(number)).to_pydict()
            assert (facts.units, facts.rows) == (len(there), len(rows["place"]))
            assert rows["unit"] == sorted(rows["unit"])
            places |= {place: there[unit] for unit, place in zip(rows["unit"], rows["place"], strict=True)}
            found += there
        assert found == expected
        assert [len(range(i, min(i + window, len(expected)))) for i in range(0, len(expected), window)] == [
            facts.units for facts in windows
        ]
        assert sum(facts.rows for facts in windows) == len(units)
        assert places == dict(enumerate(units))
        assert {path.name for path in folder.iterdir()} == {
            name(number) for number in range(3, 3 + len(windows)) for name in (units_file, rows_file)
        }


ROWS = st.fixed_dictionaries(
    {
        "stereo": TEXTS,
        "anti": TEXTS,
        "direction": st.sampled_from(["stereo", "antistereo", None]),
        "stereo_span": st.none() | st.builds(lambda start, end: {"start": start, "end": end}, *[st.integers(0, 9)] * 2),
    }
)


@pytest.mark.parametrize("reads", [("text",), ("text", "beside"), ("text", "span"), ("text", "beside", "order")])
@settings(max_examples=60, deadline=None)
@given(rows=st.lists(ROWS, max_size=8), role=st.sampled_from(["stereo", "anti"]))
def test_columns_are_the_units_of_rows(reads: tuple[str, ...], rows: list[dict[str, object]], role: str) -> None:
    """As `units_of` makes them of a table of pandas, one at a time."""
    span = pa.struct([("start", pa.int32()), ("end", pa.int32())])
    names = pa.schema(
        [("stereo", pa.string()), ("anti", pa.string()), ("direction", pa.string()), ("stereo_span", span)]
    )
    batch = pa.RecordBatch.from_pylist(rows, names)
    counterpart = {"stereo": "anti", "anti": "stereo"}[role]
    columns = columns_of(batch, role, counterpart, reads)
    table = pd.DataFrame(rows, columns=names.names)
    assert [Unit(*row.values()) for row in columns.to_pylist()] == units_of(table, role, counterpart, reads)
