"""The rows of a result that a page shows, of rows that come in parts: as `subsample.page_rows` chooses them."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.evaluate.subsample import LARGEST, PAGE_ROWS, largest_rows, row_sizes, sample
from senseprobe.release.release import Release


class LargestRows:
    """The rows with the largest differences so far: `LARGEST` of them, by config and number of the row in it."""

    def __init__(self) -> None:
        self._starts: dict[str, int] = {}
        self._found = pd.DataFrame({"config": [], "id": [], "size": [], "row": []})

    def add(self, config: str, part: pd.DataFrame) -> None:
        """Add a part of the rows of a config, the next of its rows."""
        start = self._starts.get(config, 0)
        self._starts[config] = start + len(part)
        scores = part.assign(config=config)
        rows = largest_rows(scores, LARGEST)
        found = scores[["config", "id"]].iloc[rows].assign(size=row_sizes(scores)[rows], row=start + rows)
        both = pd.concat([self._found, found]) if len(self._found) else found
        order = both.assign(size=-both["size"]).sort_values(["size", "config", "id"])[:LARGEST]
        self._found = order.assign(size=-order["size"])

    @property
    def counts(self) -> Mapping[str, int]:
        """How many rows each config had."""
        return self._starts

    def rows_of(self, config: str) -> NDArray[np.int64]:
        """Return the numbers of those that are of a config."""
        return self._found[self._found["config"] == config]["row"].to_numpy(dtype=np.int64)


def page_rows_of(release: Release, largest: LargestRows, seed: int, configs: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Return the rows that a page shows, by config: all where they are few, else a sample and the largest."""
    if sum(largest.counts.values()) <= PAGE_ROWS:
        return {name: release.table(name, spans=False) for name in configs}
    readers = {name: partial(release.batches, name, ["id"]) for name in configs}
    sampled = sample(readers, dict.fromkeys(configs, ()), PAGE_ROWS - LARGEST, seed)
    chosen = {name: np.union1d(rows, largest.rows_of(name)) for name, rows in sampled.items()}
    return {name: release.table(name, spans=False, rows=rows) for name, rows in chosen.items() if len(rows)}
