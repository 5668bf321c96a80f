"""Figures of rows in parts are those of all rows at once: how tests compare them, and cut tables into parts."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import pandas as pd
import pytest

from senseprobe.evaluate.estimands.inference_rows import LABELS
from senseprobe.evaluate.streams.figure_sums import ConfigFigures, RowReader
from senseprobe.records import Design, Figure
from senseprobe.statistics import Scale

NUMBERS = (*LABELS, "stereo_score", "anti_score")

POINTS = 2e-9
"""By how much numbers may differ: the last digit that is printed, which a sum in another order can turn."""


def assert_same_figures(streamed: Sequence[Figure], whole: Sequence[Figure]) -> None:
    """Check that figures are the same in every field, numbers up to their last digit, and names in their order."""
    assert [figure.key for figure in streamed] == [figure.key for figure in whole]
    for of_parts, of_all in zip(streamed, whole, strict=True):
        for (name, number), (_, expected) in zip(of_parts.as_dict().items(), of_all.as_dict().items(), strict=True):
            assert _same(number, expected), (of_all.key, name, number, expected)


def _same(number: object, expected: object) -> bool:
    if isinstance(number, float) and isinstance(expected, float):
        return number == pytest.approx(expected, rel=1e-7, abs=POINTS)
    if isinstance(number, Mapping) and isinstance(expected, Mapping):
        return [*number] == [*expected] and all(_same(number[key], expected[key]) for key in expected)
    return number == expected


def cut(tables: Mapping[str, pd.DataFrame], size: int) -> RowReader:
    """Return a reader of tables in parts of `size` rows; an empty table is one empty part."""

    def read(columns: Collection[str] | None) -> Iterator[tuple[str, pd.DataFrame]]:
        for name, table in tables.items():
            numbers = [column for column in table if column in NUMBERS]
            there = [*table] if columns is None else [column for column in table if column in {*columns, "id"}]
            for start in range(0, max(1, len(table)), size):
                yield name, table[[*dict.fromkeys([*there, *numbers])]].iloc[start : start + size]

    return read


def stream_config(
    rows: pd.DataFrame, design: Design, size: int, *, seed: int = 0, scale: Scale = "log"
) -> list[Figure]:
    """Return the figures of the rows of one config, in parts of `size` rows."""
    config = ConfigFigures(design, "config", len(rows), seed, scale)
    read = cut({"config": rows}, size)
    for turn in range(config.surveys):
        for _, part in read(config.columns):
            config.survey(part, turn)
    for _, part in read(None):
        config.add(part)
    return config.figures()
