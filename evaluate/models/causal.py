"""Causal language models: how likely a text is, read from left to right."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby
from typing import NamedTuple, Protocol, Self, TypeAlias, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM

from senseprobe.evaluate.models.base import Ids, PretrainedModel, start_of
from senseprobe.evaluate.models.batching import Sized, by_length
from senseprobe.evaluate.models.checkpoint import Pretrained, quiet, vocabulary
from senseprobe.evaluate.models.layers import Head, target_log_probabilities
from senseprobe.evaluate.models.limits import Unloadable, tokenized

Numbers: TypeAlias = NDArray[np.int64]
Query: TypeAlias = tuple[Ids, int]
"""Ids, and how many of them are given, not none and not all: log P(ids[given:] | ids[:given]) is requested."""

# Beginnings are shared within rows of so many nodes: attention costs the square of it, and more share little more.
ROW = 128
# Longer inputs go alone, since what they would do in a row (windows of attention, rescaled positions) was not tried.
LONGEST = 96


class Layout(NamedTuple):
    """The most nodes of a row of shared beginnings, and the tokens that are read of the longest input in one."""

    row: int
    longest: int


SENTENCES = Layout(ROW, LONGEST)
PROMPTS = Layout(row=384, longest=256)
"""For inputs that have more tokens than sentences, and begin alike."""
# So far may log-probabilities be apart that a model gives with shared beginnings and without.
_SAME: Mapping[torch.dtype, float] = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 5e-2}
_SAME_IN_BFLOAT16 = 5e-1
# Of the random inputs that are tried in a row, one of so many is also read alone: most of what a short run takes.
_TRIED_ALONE = 4
# What a model raises that has no place for our mask or positions, or a device without the memory to try them.
_REFUSALS = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, NotImplementedError)


# --- sequences that begin alike, laid out so that what they share is computed once ----------------------------------
# The distinct beginnings of a set of sequences are the nodes of a forest: one node per token with all that stands
# before it. Where each node attends to its ancestors and itself, and to nothing else, a model computes at it what it
# would compute at that position of each sequence alone. Only nodes that something follows are laid out: the last token
# of a sequence is predicted, and never read.


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
    """Return where rows of at most `limit` nodes begin and end among sorted sequences; one alone may have more."""
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


# --- forward passes -------------------------------------------------------------------------------------------------


class Reader:
    """Runs a causal language model on queries; logits are computed at no other position.

    `longest` is the longest input that it takes; `layout` says how beginnings are shared. Its answers are natural
    log-probabilities of all tokens that are requested, one `Query` after the other, in one array.
    """

    def __init__(self, name: str, model: Pretrained, *, longest: int, layout: Layout = SENTENCES) -> None:
        self._model = model
        self._head = Head(name, model)
        self._longest = longest
        self._layout = layout
        self._vocabulary = vocabulary(model)
        self._always = {name: False for name in inspect.signature(model.forward).parameters if name == "use_cache"}

    @torch.inference_mode()
    def alone(self, queries: Sequence[Query]) -> NDArray[np.float64]:
        """Read inputs of one length, without padding; inputs that differ in their last token only are one."""
        rows = {context: row for row, context in enumerate(dict.fromkeys(ids[:-1] for ids, _ in queries))}
        ids = self._tensor(list(rows))
        length = ids.shape[1]
        positions = np.array([rows[ids[:-1]] * length + np.arange(length) for ids, _ in queries])
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        return self._run_pass(queries, inputs, positions)

    @torch.inference_mode()
    def together(self, queries: Sequence[Query], limit: int) -> NDArray[np.float64]:
        """Read sorted inputs in rows of at most `limit` nodes, each beginning once in a row."""
        forest = Forest.of([ids for ids, _ in queries], limit)
        inputs = {
            "input_ids": self._laid_out(forest, forest.token),
            "position_ids": self._laid_out(forest, forest.depth),
            "attention_mask": self._mask(forest),
        }
        return self._run_pass(queries, inputs, forest.number[forest.path])

    @cached_property
    def shares(self) -> bool:
        """Whether beginnings can be shared: tried once, on random inputs that fill a row, some of them also alone.

        They cannot where a state is handed on (Mamba), distances in the row count (ALiBi), or a window of it does: all
        that is behind another input shows it.
        """
        queries = [(ids, 1) for ids in self._random_inputs()]
        ends = np.cumsum([len(ids) - given for ids, given in queries])
        try:
            with quiet():
                together = self.together(queries, self._layout.row)
                for query, end in [*zip(queries, ends, strict=True)][::-_TRIED_ALONE]:  # the last is furthest behind
                    alone = self.alone([query])
                    if not np.abs(together[end - len(alone) : end] - alone).max() <= self._tolerance:
                        return False
        except _REFUSALS:
            return False
        return True

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

    def _run_pass(
        self, queries: Sequence[Query], inputs: Mapping[str, torch.Tensor], positions: Numbers
    ) -> NDArray[np.float64]:
        """Make one forward pass; `positions`, shape (queries, longest input), says where each token of an input is."""
        steps = np.arange(positions.shape[1])
        first = np.array([given - 1 for _, given in queries])[:, None]
        after = np.array([len(ids) - 1 for ids, _ in queries])[:, None]
        distinct, which = np.unique(positions[(steps >= first) & (steps < after)], return_inverse=True)
        targets = np.fromiter(chain.from_iterable(ids[given:] for ids, given in queries), dtype=np.int64)
        logits, _ = self._head.run({**inputs, **self._always}, self._tensor(distinct))
        return target_log_probabilities(logits, self._tensor(which), self._tensor(targets))

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
        (node, above), (row, column) = forest.above, forest.empty
        mask[forest.row[node], 0, forest.column[node], forest.column[above]] = 0
        mask[row, 0, column, column] = 0  # so that attention from an empty place, to itself, is a number, too
        return mask

    def _random_inputs(self) -> list[Ids]:
        """Return random ids, always the same, sorted: a longest shared input and its branches, for more than a row."""
        generator = np.random.default_rng(0)
        row, longest = self._layout.row, min(self._layout.longest, self._longest)
        trunk = generator.integers(self._vocabulary, size=longest + 1).tolist()
        tail = min(row // 25, max(5, longest // 2))  # longer in longer rows, since each branch is also read alone
        cuts = generator.integers(1, max(2, min(12, longest - tail + 2)), size=(row - longest) // (tail - 1) + 4)
        tails = generator.integers(self._vocabulary, size=(len(cuts), tail)).tolist()
        return sorted([tuple(trunk), *((*trunk[:cut], *tail) for cut, tail in zip(cuts, tails, strict=True))])

    def _tensor(self, values: object) -> torch.Tensor:
        return torch.as_tensor(values, dtype=torch.long, device=self._model.device)


# --- models ---------------------------------------------------------------------------------------------------------


class Tokens(NamedTuple):
    """The `ids` of a text's own tokens, not of what a tokenizer adds, and where the first ends, in code points."""

    ids: Ids
    first_end: int


class Sequenced(Sized, Protocol):
    """Input of a model whose ids say what it shares with others."""

    @property
    def ids(self) -> Ids:
        """All tokens, those that are given and those that are requested."""


S = TypeVar("S", bound=Sequenced)


class CausalLM(PretrainedModel):
    """A causal language model with the ability of sequence log-likelihood.

    - `start`: what stands before a text: the special tokens that the tokenizer puts there; else its token for the
      beginning of a sequence; else the one for the end of a sequence, after which another begins; else nothing.
    - `max_length`: how many tokens it reads, start included. The last token of a text is predicted, and not read.
    - `budget` bounds the tokens of a forward pass; `tokens` are those of texts by themselves.

    Raises ModelError where what it says at a token depends on a later one.
    """

    ability = "causal"
    auto_class = AutoModelForCausalLM
    layout: Layout = SENTENCES

    def __init__(self, name: str, model: Pretrained, tokenizer: Pretrained, *, batch_tokens: int) -> None:
        super().__init__(name, model, tokenizer, batch_tokens=batch_tokens)
        self._reader = Reader(name, model, longest=self.max_length, layout=self.layout)
        if self._reader.reads_ahead():
            raise Unloadable("it reads texts in both directions, so it is not a causal language model")

    def laid_out(self, layout: Layout) -> Self:
        """Return the same model, which shares beginnings in rows of another layout."""
        other = copy(self)
        other.layout = layout
        other._reader = Reader(self.name, self._model, longest=self.max_length, layout=layout)
        return other

    @cached_property
    def start(self) -> Ids:
        """What stands before a text; empty where the tokenizer has no such token."""
        return start_of(self._tokenizer)[1]

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the texts' own tokens, in order, neither padded nor cut."""
        portions = tokenized(self._tokenizer, texts, return_special_tokens_mask=True, return_offsets_mapping=True)
        names = ("input_ids", "special_tokens_mask", "offset_mapping")
        tokens = []
        for columns in portions:
            for ids, special, offsets in zip(*(columns[name] for name in names), strict=True):
                positions = [position for position, is_special in enumerate(special) if not is_special]
                before = offsets[positions[0]][1] if positions else 0
                tokens.append(Tokens(tuple(ids[position] for position in positions), before))
        return tokens

    def batches(self, items: Sequence[S]) -> Iterator[list[S]]:
        """Put items into batches, each for one forward pass: in the order of their ids where they share beginnings."""
        sharing = sorted((item for item in items if self._shares(item.ids)), key=lambda item: item.ids)
        for start, end, _ in self._passes([item.ids for item in sharing]):
            yield sharing[start:end]
        yield from by_length((item for item in items if not self._shares(item.ids)), self.budget.tokens)

    def log_likelihoods(self, queries: Sequence[Query]) -> NDArray[np.float64]:
        """Return sums of natural log-probabilities of the tokens that are requested, at most 0: shape (queries,).

        Beginnings are shared where the model lets us, and nothing is padded where a text could see it. Raises
        ModelError where memory does not suffice for a single text.
        """
        values = np.empty(len(queries))
        sharing = sorted((i for i, (ids, _) in enumerate(queries) if self._shares(ids)), key=lambda i: queries[i])
        values[sharing] = self._shared([queries[i] for i in sharing])
        lengths = [len(ids) - 1 for ids, _ in queries]
        others = sorted((i for i, (ids, _) in enumerate(queries) if not self._shares(ids)), key=lengths.__getitem__)

        def alone(part: Sequence[Query]) -> list[float]:
            return _sums(part, self._reader.alone(part))

        for length, same in groupby(others, key=lengths.__getitem__):
            numbers = list(same)
            values[numbers] = self.budget.spend([queries[i] for i in numbers], length, alone)
        return values

    def _shares(self, ids: Ids) -> bool:
        return len(ids) - 1 <= self.layout.longest and self._reader.shares

    def _shared(self, queries: Sequence[Query]) -> list[float]:
        """Return the answers to sorted `queries`, as many rows at a time as the budget allows."""
        values: list[float] = []

        def together(part: Sequence[Query]) -> list[float]:
            return _sums(part, self._reader.together(part, self._limit))

        for start, end, tokens in self._passes([ids for ids, _ in queries]):
            values += self.budget.spend(queries[start:end], max(1, tokens // (end - start)), together)
        return values

    def _passes(self, sequences: Sequence[Ids]) -> Iterator[tuple[int, int, int]]:
        """Yield where forward passes begin and end among sorted sequences, and the tokens of each."""
        limit = self._limit
        rows = rows_of(sequences, limit)
        together = max(1, self.budget.tokens // limit)
        for first in range(0, len(rows), together):
            part = rows[first : first + together]
            yield part[0][0], part[-1][1], len(part) * limit

    @property
    def _limit(self) -> int:
        return min(self.layout.row, self.budget.tokens)


load = CausalLM.load


def _sums(queries: Sequence[Query], values: NDArray[np.float64]) -> list[float]:
    which = np.repeat(np.arange(len(queries)), [len(ids) - given for ids, given in queries])
    sums: list[float] = np.bincount(which, weights=values, minlength=len(queries)).tolist()
    return sums
