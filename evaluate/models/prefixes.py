"""Sequences that begin alike, laid out so that what they share is computed once.

The distinct beginnings of a set of sequences are the nodes of a forest: one node per token with all that stands before
it. Where each node attends to its ancestors and itself, and to nothing else, a model computes at it what it would
compute at that position of each sequence alone. Only nodes that something follows are laid out: the last token of a
sequence is predicted, and never read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Ids = tuple[int, ...]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Forest:
    """Rows of nodes, `width` in each, some of which may stay empty, and where in them each sequence lies.

    - `row`, `column`: where a node is; `token`, `depth`: what it holds, and how many stand before it; shape (nodes,).
    - `above`: pairs of nodes, one of which may attend to the other: shape (2, pairs), the one that attends first.
    - `path`: the node of each token of each sequence but the last, shape (sequences, longest); -1 beyond its end.
    """

    rows: int
    width: int
    row: Numbers
    column: Numbers
    token: Numbers
    depth: Numbers
    above: Numbers
    path: Numbers

    @property
    def number(self) -> Numbers:
        """Of each node, row by row: row * width + column."""
        return self.row * self.width + self.column

    @property
    def empty(self) -> tuple[Numbers, Numbers]:
        """Row and column of every place without a node."""
        free = np.ones((self.rows, self.width), dtype=bool)
        free[self.row, self.column] = False
        row, column = np.nonzero(free)
        return row, column

    @classmethod
    def of(cls, sequences: Sequence[Ids], limit: int) -> "Forest":
        """Lay out sorted sequences of two tokens or more in rows of at most `limit` nodes (see `rows_of`)."""
        tokens, inner = _table(sequences)
        rows = list(_cut(tokens, inner, limit))
        starts = [start for start, _ in rows]
        shared = _shared(tokens, inner)
        shared[starts] = 0
        places = np.arange(tokens.shape[1])
        new = (places >= shared[:, None]) & (places < inner[:, None])
        number = np.zeros(tokens.shape, dtype=np.int64)
        number[new] = np.arange(new.sum())
        # What a sequence does not add, the one before it in the row has in the same place.
        path = np.maximum.accumulate(number, axis=0)
        row_of_sequence = np.repeat(np.arange(len(rows)), [end - start for start, end in rows])
        sequence, depth = np.nonzero(new)
        row = row_of_sequence[sequence]
        first = path[starts, 0]
        column = np.arange(len(row)) - first[row]
        node, above = np.nonzero(places <= depth[:, None])
        return cls(
            rows=len(rows),
            width=int(column.max()) + 1,
            row=row,
            column=column,
            token=tokens[sequence, depth],
            depth=depth,
            above=np.stack([node, path[sequence[node], above]]),
            path=np.where(places < inner[:, None], path, -1),
        )


def rows_of(sequences: Sequence[Ids], limit: int) -> list[tuple[int, int]]:
    """Return where rows of at most `limit` nodes begin and end among sorted sequences; a sequence alone may have more.

    From where a row begins, where it ends does not depend on what came before.
    """
    return list(_cut(*_table(sequences), limit)) if sequences else []


def _table(sequences: Sequence[Ids]) -> tuple[Numbers, Numbers]:
    """Return the tokens, shape (sequences, longest), -1 beyond a sequence's end; and how many are read of each."""
    lengths = np.fromiter(map(len, sequences), dtype=np.int64, count=len(sequences))
    table = np.full((len(sequences), int(lengths.max())), -1, dtype=np.int64)
    table[np.arange(table.shape[1]) < lengths[:, None]] = np.fromiter(chain.from_iterable(sequences), dtype=np.int64)
    return table, lengths - 1


def _shared(tokens: Numbers, inner: Numbers) -> Numbers:
    """Return how many nodes each sequence shares with the one before it, which is the most with any before it."""
    alike = np.zeros(len(tokens), dtype=np.int64)
    alike[1:] = np.cumprod(tokens[1:] == tokens[:-1], axis=1).sum(axis=1)
    # A last token makes no node, so the sequence before has one less than it has tokens.
    shared: Numbers = np.minimum(np.minimum(alike, inner), np.concatenate([[0], inner[:-1]]))
    return shared


def _cut(tokens: Numbers, inner: Numbers, limit: int) -> Iterator[tuple[int, int]]:
    shared = _shared(tokens, inner)
    total = np.cumsum(inner - shared)
    start = 0
    while start < len(tokens):
        # The first sequence of a row adds all its nodes, each later one those that it does not share.
        room = limit - inner[start]
        end = max(start + 1, int(np.searchsorted(total, total[start] + room, side="right")))
        yield start, end
        start = end
