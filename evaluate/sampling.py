"""A part of a release that is like the whole: for a first look, or where a model is slow."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.records import Design
from senseprobe.statistics.lots import lot

__all__ = ["CELLS", "cell_columns", "sample"]

CELLS: Mapping[str, tuple[str, ...]] = {
    "contrast": ("label_basis", "contested", "stereotype", "valence", "target"),
    "inference": ("gold",),
}
"""The columns by kind whose values make the cells of a config, where it has them."""


def cell_columns(design: Design) -> list[str]:
    """What divides a config into cells: its labels and, in contrasts, the target; in inference, the slots that differ.

    The frame, and the words that rows of all cells share, are left to chance.
    """
    bound = [slot for names in design.roles.values() for slot in names.values() if slot in design.slots]
    return [*CELLS[design.kind], *dict.fromkeys(bound if design.kind == "inference" else ())]


def sample(
    tables: Mapping[str, pd.DataFrame], designs: Mapping[str, Design], limit: int, seed: int
) -> dict[str, pd.DataFrame]:
    """So many rows of the tables by config, drawn over configs and cells in proportion to their rows; in their order.

    A cell of n rows of N gets ``limit * n / N`` rows, up or down to a whole number, and every row has the same chance.
    Which ones is a matter of `seed`, config and id, not of the order of rows; a larger `limit` draws the same and more.
    """
    keys = [_keys(name, table, cell_columns(designs[name]), seed) for name, table in tables.items()]
    drawn = np.zeros(sum(map(len, keys)), dtype=np.bool_)
    drawn[np.argsort(np.concatenate(keys))[:limit]] = True
    ends = np.cumsum([len(key) for key in keys])[:-1]
    return {name: tables[name][mask] for name, mask in zip(tables, np.split(drawn, ends), strict=True)}


def _keys(name: str, table: pd.DataFrame, columns: list[str], seed: int) -> NDArray[np.float64]:
    """What rows are drawn by, the lowest first.

    In a cell of n rows, the k-th by lot (from 0) has (k + u) / n, where u, from 0 to 1, is the cell's own lot. So the
    rows of a cell come at equal distances, and of any two cells either may be first.
    """
    cells = table[[column for column in columns if column in table]].astype("string").fillna("").assign(config=name)
    number = cells.groupby([*cells], sort=False).ngroup().to_numpy()
    own = np.array([_share(seed, *cell) for cell in cells.drop_duplicates().itertuples(index=False)])
    lots = np.array([_share(seed, name, id_) for id_ in table["id"]])
    order, sizes = np.lexsort((lots, number)), np.bincount(number, minlength=len(own))
    ranks = np.empty(len(table))
    ranks[order] = np.arange(len(table)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray((ranks + own[number]) / sizes[number], dtype=np.float64)


def _share(seed: int, *what: str) -> float:
    """A lot from 0 to 1."""
    return lot(seed, *what, size=6) / 2**48
