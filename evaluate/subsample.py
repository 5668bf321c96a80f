"""A stratified sample of a release's rows: for a first look, or where a model is slow; and the rows that a page shows.

Of a release, rows are read in parts, twice, and only candidates stay in memory: it grows with the number of rows that
are drawn and with the number of cells, and not with the number of rows of the release.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from senseprobe.evaluate.estimands.inference_rows import LABELS
from senseprobe.statistics.permutation import hash_draw

Parts = Callable[[], Iterator[pa.RecordBatch]]
"""Reads the rows of a config from the first one on, in parts: their ``id`` and the columns that make cells."""

_SPARE = 65_536  # candidates that are stored besides as many as are drawn, before they are sorted and cut


def sample(
    parts: Mapping[str, Parts], columns: Mapping[str, Sequence[str]], limit: int, seed: int
) -> dict[str, NDArray[np.int64]]:
    """Return the row numbers (from 0, ascending) of `limit` rows by config, in proportion to the rows of each cell.

    The values of `columns` divide a config into cells, as far as it has them. A cell of n rows of N gets
    ``limit * n / N`` rows, up or down to a whole number, and every row has the same chance. Which ones is a matter of
    `seed`, config and id, not of the order of rows; a larger `limit` draws the same and more.
    """
    cells = {name: _Cells(name, columns[name], read()) for name, read in parts.items()}
    quotas = _quotas(list(cells.values()), limit, seed)
    return {name: _sample_rows(cells[name], quotas[name], parts[name](), seed) for name in parts}


class _Cells:
    """The cells of a config: their `numbers`, from 0, by the values that make them, and their `sizes` in rows."""

    def __init__(self, name: str, columns: Sequence[str], parts: Iterator[pa.RecordBatch]) -> None:
        self.name, self.columns = name, columns
        self.numbers: dict[tuple[str, ...], int] = {}
        sizes = Counter[int]()
        for part in parts:
            sizes.update(dict(enumerate(np.bincount(self.number(part)).tolist())))
        self.sizes = [sizes[number] for number in range(len(self.numbers))]

    def number(self, part: pa.RecordBatch) -> NDArray[np.intp]:
        """Return the number of each row's cell; a cell that is new gets the next number."""
        cells: list[tuple[str, ...]] = [()]
        rows = np.zeros(part.num_rows, dtype=np.intp)
        for column in (column for column in self.columns if column in part.schema.names):
            coded = part[column].dictionary_encode("encode")
            values = ["" if value is None else str(value) for value in coded.dictionary.to_pylist()]
            codes, rows = np.unique(rows * len(values) + coded.indices.to_numpy(), return_inverse=True)
            cells = [(*cells[code // len(values)], values[code % len(values)]) for code in codes.tolist()]
        numbers = [self.numbers.setdefault((*cell, self.name), len(self.numbers)) for cell in cells]
        return np.asarray(numbers, dtype=np.intp)[rows]


def _quotas(configs: Sequence[_Cells], limit: int, seed: int) -> dict[str, NDArray[np.int64]]:
    """Return how many rows are drawn of each cell, by config.

    In a cell of n rows, the k-th by its hash draw (from 0) has the key (k + u) / n, where u, from 0 to 1, is the draw
    of the cell; the rows with the lowest keys are taken.
    """
    offsets = np.array([_draw(seed, *cell) for cells in configs for cell in cells.numbers])
    sizes = np.array([size for cells in configs for size in cells.sizes], dtype=np.int64)
    limit = min(limit, int(sizes.sum()))  # a number beyond int64 is all rows, too
    # Of N rows in C cells, no key among the lowest `limit` is above (limit + C) / N: only keys below it are computed.
    highest = (limit + len(sizes)) / max(int(sizes.sum()), 1)
    counts = np.minimum(sizes, np.ceil(highest * sizes).astype(np.int64) + 1)
    cell = np.repeat(np.arange(len(sizes)), counts)
    ranks = np.arange(len(cell)) - np.repeat(np.cumsum(counts) - counts, counts)
    lowest = np.argsort((ranks + offsets[cell]) / sizes[cell])[:limit]
    quotas = np.bincount(cell[lowest], minlength=len(sizes))
    ends = np.cumsum([len(cells.sizes) for cells in configs])[:-1]
    return dict(zip((cells.name for cells in configs), np.split(quotas, ends), strict=True))


def _sample_rows(
    cells: _Cells, quotas: NDArray[np.int64], parts: Iterator[pa.RecordBatch], seed: int
) -> NDArray[np.int64]:
    """Return the numbers of the rows, ascending, that have the lowest draws of their cells: as many as its quota."""
    most = np.where(quotas > 0, np.inf, -np.inf)  # a row of a cell stays if its draw is below this
    candidates: list[NDArray[Any]] = [np.empty(0, np.intp), np.empty(0), np.empty(0, np.int64)]
    start, limit = 0, 2 * int(quotas.sum()) + _SPARE
    for part in parts:
        draws = np.array([_draw(seed, cells.name, id_) for id_ in part["id"].to_pylist()])
        cell, rows = cells.number(part), np.arange(start, start + part.num_rows)
        may = draws < most[cell]
        candidates = [np.concatenate(both) for both in zip(candidates, (cell[may], draws[may], rows[may]), strict=True)]
        if len(candidates[0]) > limit:
            candidates = _cut(candidates, quotas, most)
        start += part.num_rows
    return np.sort(_cut(candidates, quotas, most)[2])


def _cut(candidates: list[NDArray[Any]], quotas: NDArray[np.int64], most: NDArray[np.float64]) -> list[NDArray[Any]]:
    """Leave out rows with too many before them in their cell (of equal draws the earlier row), and lower `most`."""
    order = np.lexsort(candidates[::-1])
    cell, draws, rows = (column[order] for column in candidates)
    sizes = np.bincount(cell, minlength=len(quotas))
    ranks = np.arange(len(cell)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    stays, last = ranks < quotas[cell], ranks == quotas[cell] - 1
    most[cell[last]] = draws[last]
    return [cell[stays], draws[stays], rows[stays]]


def _draw(seed: int, *what: str) -> float:
    """Return a pseudo-random number from 0 to 1, always the same of the same arguments."""
    return hash_draw(seed, *what, size=6) / 2**48


# --- rows that a page shows -----------------------------------------------------------------------------------------

PAGE_ROWS = 5_000
"""Most rows of a result on a page, and most rows whose tokens are stored with it."""

LARGEST = 50
"""Rows with the largest differences, which are always among them."""


def page_rows(scores: pd.DataFrame, seed: int) -> NDArray[np.intp]:
    """Return the positions, ascending, of the rows that a page shows: all, or a sample and those of `largest_rows`.

    `scores` has `config`, `id` and numbers; of inference also `gold`, where that is known. The order of rows makes no
    difference.
    """
    if len(scores) <= PAGE_ROWS:
        return np.arange(len(scores))
    configs = scores["config"].to_numpy()
    positions = {str(name): np.flatnonzero(configs == name) for name in pd.unique(configs)}
    parts = {name: partial(_id_batches, scores["id"], indices) for name, indices in positions.items()}
    sampled = sample(parts, dict.fromkeys(parts, ()), PAGE_ROWS - LARGEST, seed)
    chosen = [positions[name][rows] for name, rows in sampled.items()]
    return np.unique(np.concatenate([*chosen, largest_rows(scores, LARGEST)]))


def _id_batches(ids: "pd.Series[str]", positions: NDArray[np.intp]) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(positions), _SPARE):
        yield pa.record_batch({"id": [*map(str, ids.iloc[positions[start : start + _SPARE]])]})


def largest_rows(scores: pd.DataFrame, count: int) -> NDArray[np.intp]:
    """Return the positions of the `count` rows with the largest `row_sizes` above 0, the largest first.

    Equal ones are in order of configs and ids.

    >>> numbers = {"stereo_score": [-1.0, -2.0], "anti_score": [-1.5, -9.0]}
    >>> scores = pd.DataFrame({"config": "jobs", "id": ["a", "b"], **numbers})
    >>> largest_rows(scores, 1).tolist()
    [1]
    """
    sizes = row_sizes(scores)
    positive = np.flatnonzero(np.isfinite(sizes) & (sizes > 0))
    if len(positive) > count:  # no need to sort millions of rows
        positive = positive[sizes[positive] >= np.partition(sizes[positive], -count)[-count]]
    names = scores[["config", "id"]].iloc[positive].astype(str)
    order = names.assign(size=-sizes[positive], position=positive).sort_values(["size", "config", "id"])
    return order["position"].to_numpy(dtype=np.intp)[:count]


def row_sizes(scores: pd.DataFrame) -> NDArray[np.float64]:
    """Return how far apart the two scores of each row are; of inference the largest probability of a wrong label.

    Of rows of a plug-in's kind it is the largest of their numbers, without its sign.

    Where `gold` is not known, the right label is taken to be neutral, as in all rows that are no control.
    """
    if "stereo_score" in scores:
        pairs = scores[["stereo_score", "anti_score"]].to_numpy(dtype=np.float64)
        sizes: NDArray[np.float64] = abs(pairs[:, 0] - pairs[:, 1])
        return sizes.round(9)
    if not {*LABELS} <= {*scores}:
        numbers = scores.select_dtypes("number").to_numpy(dtype=np.float64)
        magnitudes: NDArray[np.float64] = abs(numbers).max(axis=1)
        return magnitudes
    gold = scores["gold"].fillna("neutral") if "gold" in scores else pd.Series("neutral", index=scores.index)
    error_scores = scores[[*LABELS]].to_numpy(dtype=np.float64, copy=True)
    for column, label in enumerate(LABELS):
        error_scores[(gold == label).to_numpy(), column] = 0.0
    largest: NDArray[np.float64] = error_scores.max(axis=1)
    return largest.round(9)
