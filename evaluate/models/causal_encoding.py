"""Forward passes of a causal language model: each text alone, or many together whose beginnings are computed once."""

import inspect
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from senseprobe.evaluate.models.checkpoint import Pretrained, quiet, vocabulary
from senseprobe.evaluate.models.head import Head, own_log_probabilities
from senseprobe.evaluate.models.prefixes import Forest, Ids, Numbers

Query: TypeAlias = tuple[Ids, int]
"""Ids, and how many of them are given, not none and not all: log P(ids[given:] | ids[:given]) is requested."""

# Beginnings are shared within rows of so many nodes: attention costs the square of it, and more share little more.
ROW = 128
# Longer inputs go alone, since what they would do in a row (windows of attention, rescaled positions) was not tried.
LONGEST = 96
# So far may log-probabilities be apart that a model gives with shared beginnings and without.
_SAME: Mapping[torch.dtype, float] = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 5e-2}
_SAME_IN_BFLOAT16 = 5e-1
# What a model raises that has no place for our mask or positions, or a device without the memory to try them.
_REFUSALS = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, NotImplementedError)


class Reader:
    """Runs a causal language model on queries; logits are computed at no other position.

    `longest` is the longest input that it takes. Its answers are natural log-probabilities of all tokens that are
    requested, one `Query` after the other, in one array.
    """

    def __init__(self, name: str, model: Pretrained, *, longest: int) -> None:
        self._model = model
        self._head = Head(name, model)
        self._longest = longest
        self._vocabulary = vocabulary(model)
        takes_cache = "use_cache" in inspect.signature(model.forward).parameters
        self._always = {"use_cache": False} if takes_cache else {}

    @torch.inference_mode()
    def alone(self, queries: Sequence[Query]) -> NDArray[np.float64]:
        """Read inputs of one length, without padding; inputs that differ in their last token only are one."""
        rows = {context: row for row, context in enumerate(dict.fromkeys(ids[:-1] for ids, _ in queries))}
        ids = self._tensor(list(rows))
        length = ids.shape[1]
        positions = np.array([rows[ids[:-1]] * length + np.arange(length) for ids, _ in queries])
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        return self._own(queries, inputs, positions)

    @torch.inference_mode()
    def together(self, queries: Sequence[Query], limit: int) -> NDArray[np.float64]:
        """Read sorted inputs in rows of at most `limit` nodes, each beginning once in a row."""
        forest = Forest.of([ids for ids, _ in queries], limit)
        inputs = {
            "input_ids": self._laid_out(forest, forest.token),
            "position_ids": self._laid_out(forest, forest.depth),
            "attention_mask": self._mask(forest),
        }
        return self._own(queries, inputs, forest.number[forest.path])

    @cached_property
    def shares(self) -> bool:
        """Whether beginnings can be shared: tried once, on random inputs that fill a row.

        They cannot where the architecture takes no mask or positions of ours, or depends on other things as well: a
        state that is handed on (Mamba), distances between tokens of the row (ALiBi), a window of it.
        """
        queries = [(ids, 1) for ids in self._random_inputs()]
        try:
            with quiet():
                together = self.together(queries, ROW)
                alone = np.concatenate([self.alone([query]) for query in queries])
        except _REFUSALS:
            return False
        return bool(np.abs(together - alone).max() <= self._tolerance)

    @torch.inference_mode()
    def reads_ahead(self) -> bool:
        """Return whether what the model says at a token depends on a later one: then it is no causal model."""
        ids = self._tensor(self._random_inputs()[-1][: min(8, self._longest)])
        other = ids.clone()
        other[-1] = (other[-1] + 1) % self._vocabulary
        with quiet():
            logits = self._model(input_ids=torch.stack([ids, other])).logits
        first, second = logits[:, :-1].double()
        return not torch.allclose(first, second, rtol=0, atol=self._tolerance, equal_nan=True)

    @property
    def _tolerance(self) -> float:
        return _SAME.get(self._model.dtype, _SAME_IN_BFLOAT16)

    def _own(
        self, queries: Sequence[Query], inputs: Mapping[str, torch.Tensor], positions: Numbers
    ) -> NDArray[np.float64]:
        """Make one forward pass; `positions`, shape (queries, longest input), says where each token of an input is."""
        steps = np.arange(positions.shape[1])
        first = np.array([given - 1 for _, given in queries])[:, None]
        after = np.array([len(ids) - 1 for ids, _ in queries])[:, None]
        distinct, which = np.unique(positions[(steps >= first) & (steps < after)], return_inverse=True)
        targets = np.fromiter(chain.from_iterable(ids[given:] for ids, given in queries), dtype=np.int64)
        logits, _ = self._head.run({**inputs, **self._always}, self._tensor(distinct))
        return own_log_probabilities(logits, self._tensor(which), self._tensor(targets))

    def _laid_out(self, forest: Forest, values: Numbers) -> torch.Tensor:
        """Return a number of each node in its place, 0 in empty ones: shape (rows, width)."""
        rows = np.zeros((forest.rows, forest.width), dtype=np.int64)
        rows[forest.row, forest.column] = values
        return self._tensor(rows)

    def _mask(self, forest: Forest) -> torch.Tensor:
        """Return what is added to attention: 0 from a node to its ancestors and itself, else the lowest number."""
        dtype, device = self._model.dtype, self._model.device
        shape = (forest.rows, 1, forest.width, forest.width)
        mask = torch.full(shape, torch.finfo(dtype).min, dtype=dtype, device=device)
        node, above = forest.above
        mask[
            self._tensor(forest.row[node]), 0, self._tensor(forest.column[node]), self._tensor(forest.column[above])
        ] = 0
        # An empty place sees itself, so that attention from it is a number, too.
        row, column = map(self._tensor, forest.empty)
        mask[row, 0, column, column] = 0
        return mask

    def _random_inputs(self) -> list[Ids]:
        """Return random ids, always the same, sorted: one of the longest shared inputs, and what branches off it.

        Together they need more than one row, the first full and the last not.
        """
        generator = np.random.default_rng(0)
        longest = min(LONGEST, self._longest)
        trunk = generator.integers(self._vocabulary, size=longest + 1).tolist()
        cuts = generator.integers(1, max(2, min(12, longest - 3)), size=(ROW - longest) // 4 + 4)
        tails = generator.integers(self._vocabulary, size=(len(cuts), 5)).tolist()
        return sorted([tuple(trunk), *((*trunk[:cut], *tail) for cut, tail in zip(cuts, tails, strict=True))])

    def _tensor(self, values: object) -> torch.Tensor:
        return torch.as_tensor(values, dtype=torch.long, device=self._model.device)
