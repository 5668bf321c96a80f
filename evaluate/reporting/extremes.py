"""Single rows: those with the largest differences, and the fillers with the largest probabilities."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands.fillers import LABELS, extremes, fillers
from senseprobe.records import Design
from senseprobe.release.reading import Release
from senseprobe.statistics import FloatArray

MOST = 6
"""Rows of each kind that are shown."""

MOST_TEXT = 300
"""Characters of a sentence that are shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A row: where it is, its sentences (none where the release is not at hand), and its numbers by name."""

    config: str
    id: str
    sentences: tuple[str, ...]
    numbers: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """Rows that have something in common, in words; largest first."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """The pairs of fillers with the largest mean probability of a label: words, three means in [0, 1], and rows."""

    config: str
    label: str
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[float, ...], int], ...]


def largest(rows: pd.DataFrame, tables: Mapping[str, pd.DataFrame], count: int = MOST) -> Iterator[Rows]:
    """The rows in which a model prefers a sentence most, either way; of inference, those surest of a wrong label.

    `rows` is the table of scores (`config`, `id`, scores), `tables` the release's rows by config, where they are at
    hand. Rows without a number are left out; ties are in order of configs and ids.
    """
    if "stereo_score" in rows:
        apart = rows["stereo_score"].to_numpy(dtype=np.float64) - rows["anti_score"].to_numpy(dtype=np.float64)
        yield _rows("The first sentence, the stereotype, scores higher", rows, apart, tables, count)
        yield _rows("The second sentence scores higher", rows, -apart, tables, count)
        return
    known = _with_gold(tables) if tables else rows.assign(gold="")
    for label in ("entailment", "contradiction"):
        wrong = known[known["gold"] != label]
        p = wrong[label].to_numpy(dtype=np.float64)
        yield _rows(f"Surest of {label}, where it does not hold", wrong.drop(columns="gold"), p, tables, count)


def _with_gold(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The table of scores once more, with the label that holds: without the release nobody knows it."""
    parts = [table[["id", "gold", *LABELS]].assign(config=name) for name, table in tables.items()]
    return pd.concat(parts, ignore_index=True)


def _rows(title: str, rows: pd.DataFrame, size: FloatArray, tables: Mapping[str, pd.DataFrame], count: int) -> Rows:
    known = np.flatnonzero(np.isfinite(size) & (size > 0))
    rounded = np.round(size, 9)
    if len(known) > count:  # millions are not put in order to show six
        known = known[rounded[known] >= np.partition(rounded[known], -count)[-count]]
    down = rows.iloc[known].assign(_size=-rounded[known]).sort_values(["_size", "config", "id"])
    return Rows(title=title, rows=tuple(_row(row, tables) for row in down[:count].to_dict("records")))


def _row(row: Mapping[Hashable, object], tables: Mapping[str, pd.DataFrame]) -> Row:
    config, name = str(row["config"]), str(row["id"])
    numbers = {str(key): float(value) for key, value in row.items() if isinstance(value, float) and key != "_size"}
    return Row(config=config, id=name[:MOST_TEXT], sentences=_sentences(tables.get(config), name), numbers=numbers)


def _sentences(table: pd.DataFrame | None, name: str) -> tuple[str, ...]:
    if table is None:
        return ()
    row = table.iloc[int(np.argmax((table["id"] == name).to_numpy()))]
    roles = ("stereo", "anti") if "stereo" in table else ("premise", "hypothesis")
    return tuple(shortened(str(row[role])) for role in roles)


def shortened(text: str) -> str:
    """The text, or its beginning where it is longer than a table of sentences can hold."""
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"


def largest_fillers(tables: Mapping[str, pd.DataFrame], release: Release, count: int = MOST) -> Iterator[Words]:
    """The fillers with the largest entailment and contradiction (Dev et al. 2020, tables 2, 4, 6), for each config.

    Configs with gold labels other than neutral are left out: there a large probability may be right.
    """
    for config, table in tables.items():
        design = release.design(config)
        if _is_probe(design):
            for label in ("entailment", "contradiction"):
                found = extremes(table, design, label, count=count)
                columns = tuple(slot for side in fillers(design) for slot in side)
                yield Words(config=config, label=label, columns=columns, rows=tuple(_means(found, columns)))


def _is_probe(design: Design) -> bool:
    return design.kind == "inference" and "accuracy" not in design.estimands and any(fillers(design))


def _means(found: pd.DataFrame, columns: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[float, ...], int]]:
    for row in found.to_dict("records"):
        words = tuple(shortened(str(row[column])) for column in columns)
        yield words, tuple(float(row[label]) for label in LABELS), int(row["rows"])
