"""A worker of a release whose files have three rows, as in the process that deals its pieces."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from senseprobe.engines.work import open_worker
from senseprobe.release import parquet


@contextmanager
def open_small(argument: str, device: str | None) -> Iterator[Callable[[int], int]]:
    """Open the worker that `argument` names, with files of three rows."""
    parquet.ROWS_PER_FILE = 3
    given = json.loads(argument)
    with open_worker(given["worker"], given["argument"], device) as do:
        yield do
