"""How much goes through a model at a time: a budget of tokens that shrinks where memory does not suffice."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

import torch

from senseprobe.errors import ModelError


class Sized(Protocol):
    """Input of a model: so many `rows`, each of so many tokens."""

    @property
    def length(self) -> int:
        """Tokens of a row, special ones included."""

    @property
    def rows(self) -> int:
        """Rows of input."""


# PyTorch on Windows and macOS; on Linux, and MKL; oneDNN, which says no more; C++; CUDA's driver, MPS; cuBLAS, cuDNN.
_NO_MEMORY = (
    *("not enough memory", "allocate memory", "could not create a memory", "could not create a primitive"),
    *("could not execute a primitive", "bad_alloc", "bad allocation", "out of memory", "alloc_failed"),
)
S = TypeVar("S", bound=Sized)
Row = TypeVar("Row")
Answer = TypeVar("Answer")


class Budget:
    """How many tokens a forward pass may have. It changes the speed, and scores by less than 1e-5."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens

    def spend(
        self, rows: Sequence[Row], length: int, forward: Callable[[Sequence[Row]], Sequence[Answer]]
    ) -> list[Answer]:
        """Return the answers of `forward` to rows of `length` tokens, in order, as many at a time as the budget allows.

        Where memory does not suffice for so many, the budget is halved, for good. Raises ModelError where it does not
        suffice for a single row.

        >>> Budget(tokens=20).spend(["a", "b", "c"], 10, lambda rows: [f"{row} of {len(rows)}" for row in rows])
        ['a of 2', 'b of 2', 'c of 1']
        """
        answers: list[Answer] = []
        while len(answers) < len(rows):
            batch = rows[len(answers) :][: max(1, self.tokens // length)]
            try:
                answers += forward(batch)
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
                if len(batch) == 1:
                    raise ModelError(
                        f"there is not enough memory for one text of {length} tokens: use a smaller --dtype"
                    ) from error
                if torch.cuda.is_available():
                    torch.cuda.empty_cache()
                self.tokens = len(batch) * length // 2
        return answers


def out_of_memory(error: Exception) -> bool:
    """Return whether an error says that memory did not suffice, in the words of the libraries below PyTorch."""
    message = str(error).casefold()
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and any(words in message for words in _NO_MEMORY)
    )


def by_length(items: Iterable[S], tokens: int) -> Iterator[list[S]]:
    """Yield batches of items of one length, of at most so many tokens, unless one item alone has more; shortest first.

    Items of a length stay in their order, and none is split: a batch that was answered is done for good.
    """
    batch: list[S] = []
    used = 0
    for item in sorted(items, key=lambda item: item.length):
        cost = item.rows * item.length
        if batch and (item.length != batch[0].length or used + cost > tokens):
            yield batch
            batch, used = [], 0
        batch.append(item)
        used += cost
    if batch:
        yield batch
