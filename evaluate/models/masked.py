"""Masked language models: the log-probability of a token at a position, given all or part of a text.

They also say how much attention each token receives, without the weights of all layers in memory at once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForMaskedLM

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.base import PretrainedModel
from senseprobe.evaluate.models.checkpoint import Pretrained, quiet
from senseprobe.evaluate.models.layers import Head, target_log_probabilities
from senseprobe.evaluate.models.limits import Unloadable, tokenized
from senseprobe.evaluate.units import EMPTY, TOO_LONG

Values = list[NDArray[np.float64]]


@contextmanager
def observed(name: str, model: Pretrained, shape: tuple[int, ...]) -> Iterator[None]:
    """Let a pass with ``output_attentions`` over input of `shape` give a layer's attention as received meanwhile.

    Weights of shape (texts, heads, queries, keys) become their mean over heads and queries as soon as the layer is
    done: one layer's are in memory at a time. Only the implementation called eager computes weights at all, so it
    replaces the faster one meanwhile. Raises ModelError where the architecture has no such implementation.
    """
    usual = getattr(getattr(model, "config", None), "_attn_implementation", None)
    try:
        _choose(model, usual, "eager")
    except (AttributeError, ValueError) as error:
        raise ModelError(f"the model {name} does not return its attention weights, which this scorer needs") from error
    square = (shape[0], shape[1], shape[1])

    def reduced(part: object) -> object:
        if isinstance(part, torch.Tensor) and part.ndim == 4 and (part.shape[0], *part.shape[2:]) == square:
            return _mean(part)
        return part

    def reduce(_: torch.nn.Module, __: object, output: object) -> object:
        return (*output[:1], *map(reduced, output[1:])) if isinstance(output, tuple) else output

    hooks = [module.register_forward_hook(reduce, prepend=True) for module in model.modules()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
        _choose(model, "eager", usual)


def attention_received(name: str, output: Pretrained, shape: tuple[int, ...]) -> torch.Tensor:
    """Return what each token receives, a mean over layers, heads and queries: shape (texts, length), sum 1 by text.

    `output` is what a pass under `observed` gave. Raises ModelError where there are no such weights in it: none at all,
    or others than of each token to each (sliding windows that are stored as such, global tokens apart).
    """
    layers = getattr(output, "attentions", None) or ()
    received = [_mean(layer) if layer.ndim == 4 else layer for layer in layers if layer is not None]
    if not received or any(layer.shape != shape for layer in received):
        raise ModelError(f"the model {name} does not return the attention between all tokens, which this scorer needs")
    mean = torch.stack([layer.cpu().double() for layer in received]).mean(0)  # not every device has float64
    # Each query spreads a weight of 1 over all tokens, so that what they receive adds up to 1 as well.
    if not torch.allclose(mean.sum(1)[mean.isfinite().all(1)], mean.new_ones(()), rtol=0, atol=1e-2):
        raise ModelError(f"the model {name} has attention weights that do not add up to 1, which this scorer needs")
    return mean


def _choose(model: Pretrained, current: str | None, implementation: str | None) -> None:
    if implementation != current:
        with quiet():  # older architectures, which always compute weights, say that they have no choice
            model.set_attn_implementation(implementation)


def _mean(weights: torch.Tensor) -> torch.Tensor:
    """Average weights of shape (texts, heads, queries, keys) over heads and queries, in float32 at least."""
    kind = torch.float64 if weights.dtype == torch.float64 else torch.float32
    return weights.mean((1, 2), dtype=kind)


@dataclass(frozen=True, slots=True)
class Query:
    """One row of input, with what is requested of it: log P(`targets`[k] at `positions`[k] | `ids`)."""

    ids: tuple[int, ...]
    types: tuple[int, ...] | None
    positions: tuple[int, ...]
    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Encoding:
    """A text as the model reads it; all tuples have one entry per token.

    - `ids`: vocabulary ids, special tokens included; `types`: segment ids, None where the model has none.
    - `special`: what the tokenizer added around the text. [UNK] is not special: it stands for a word.
    - `offsets`: half-open character spans in the text; (0, 0) for special tokens.
    """

    ids: tuple[int, ...]
    types: tuple[int, ...] | None
    special: tuple[bool, ...]
    offsets: tuple[tuple[int, int], ...]

    @property
    def positions(self) -> tuple[int, ...]:
        """Where the text's own tokens are: all positions but those of special tokens."""
        return tuple(i for i, special in enumerate(self.special) if not special)

    def query(self, positions: tuple[int, ...], masked: tuple[int, ...], mask_id: int) -> Query:
        """Return the query for the tokens at `positions`, with `mask_id` in place of those at `masked`."""
        ids = list(self.ids)
        for position in masked:
            ids[position] = mask_id
        row = tuple(ids) if masked else self.ids
        return Query(row, self.types, positions, tuple(self.ids[position] for position in positions))


class MaskedLM(PretrainedModel):
    """A masked language model with the ability of token log-probabilities, and of the attention that tokens receive."""

    ability = "masked"
    auto_class = AutoModelForMaskedLM

    def __init__(self, name: str, model: Pretrained, tokenizer: Pretrained, *, batch_tokens: int) -> None:
        super().__init__(name, model, tokenizer, batch_tokens=batch_tokens)
        self.mask_id: int = tokenizer.mask_token_id
        self._head = Head(name, model)

    @classmethod
    def prepare(cls, name: str, model: Pretrained, tokenizer: Pretrained, **settings: Any) -> dict[str, Any]:  # noqa: ANN401
        """Raise ModelError where the model reads from left to right or has no mask token."""
        if getattr(model.config, "is_decoder", False):
            raise Unloadable("it reads from left to right, so it is not a masked language model")
        if tokenizer.mask_token_id in (None, tokenizer.unk_token_id):
            raise Unloadable("its tokenizer does not have a mask token")
        return {}

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """Return the texts as the model reads them, in order, neither padded nor cut."""
        return read_texts(self._tokenizer, texts)

    def can_score(self, encoding: Encoding) -> bool:
        """Return whether the text has a token of its own and is not too long for the model."""
        return not self.obstacle(encoding)

    def obstacle(self, encoding: Encoding) -> str:
        """Return why the text cannot be scored, in a few words; empty where it can."""
        if all(encoding.special):
            return EMPTY
        return TOO_LONG if len(encoding.ids) > self.max_length else ""

    def log_probabilities(self, queries: Sequence[Query]) -> Values:
        """Return natural log-probabilities for each query in order, shape (positions,), at most 0.

        The queries are of one length: nothing is ever padded. Those with the same input share a row of a forward pass.
        """
        return self._spend(queries, self._answer)

    def attended(self, queries: Sequence[Query]) -> Values:
        """Return log-probabilities, and the attention that these positions receive: shape (2, positions) by query.

        Attention is averaged over layers, heads and all positions that attend, special tokens' included, and adds up to
        1 over a whole text, special tokens included. Raises ModelError where the architecture does not show it.
        """
        return self._spend(queries, self._answer_attended)

    def _spend(self, queries: Sequence[Query], answer: Callable[[Sequence[Sequence[Query]]], list[Values]]) -> Values:
        """Return the answers to queries, in order, computed together where they have the same input."""
        groups: dict[object, list[int]] = {}
        for number, query in enumerate(queries):
            groups.setdefault((query.ids, query.types), []).append(number)
        rows = [[queries[number] for number in group] for group in groups.values()]
        answers = self.budget.spend(rows, len(queries[0].ids), answer) if queries else []
        by_number = {
            number: values
            for group, row in zip(groups.values(), answers, strict=True)
            for number, values in zip(group, row, strict=True)
        }
        return [by_number[number] for number in range(len(queries))]

    @torch.inference_mode()
    def _answer(self, rows: Sequence[Sequence[Query]]) -> list[Values]:
        """Answer rows of input of one length, each with the queries that share it, in one forward pass."""
        return _per_query(rows, self._forward(rows, {})[0])

    @torch.inference_mode()
    def _answer_attended(self, rows: Sequence[Sequence[Query]]) -> list[Values]:
        shape = (len(rows), len(rows[0][0].ids))
        with observed(self.name, self._model, shape):
            scores, output = self._forward(rows, {"output_attentions": True})
        received = attention_received(self.name, output, shape).numpy().ravel()
        return _per_query(rows, np.stack([scores, received[_token_numbers(rows)]]))

    def _forward(
        self, rows: Sequence[Sequence[Query]], more: Mapping[str, object]
    ) -> tuple[NDArray[np.float64], Pretrained]:
        """Return log-probabilities for all positions of all queries in one array, and all that the pass gave."""
        inputs = {"input_ids": self._tensor([queries[0].ids for queries in rows])}
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        if rows[0][0].types is not None:
            inputs["token_type_ids"] = self._tensor([queries[0].types for queries in rows])
        distinct, which = np.unique(_token_numbers(rows), return_inverse=True)
        targets = [target for queries in rows for query in queries for target in query.targets]
        logits, output = self._head.run({**inputs, **more}, self._tensor(distinct))
        return target_log_probabilities(logits, self._tensor(which), self._tensor(targets)), output


load = MaskedLM.load


def read_texts(tokenizer: Pretrained, texts: Sequence[str]) -> list[Encoding]:
    """Return the texts with the special tokens that a tokenizer puts around them, in order, neither padded nor cut."""
    portions = tokenized(tokenizer, texts, return_special_tokens_mask=True, return_offsets_mapping=True)
    spans: dict[tuple[int, int], tuple[int, int]] = {}  # each pair of offsets once, which many tokens have
    encodings = []
    for columns in portions:
        types = columns.get("token_type_ids") or [None] * len(columns["input_ids"])
        rows = zip(columns["input_ids"], types, columns["special_tokens_mask"], columns["offset_mapping"], strict=True)
        for ids, kinds, special, offsets in rows:
            kinds = None if kinds is None else tuple(kinds)
            shared = tuple(map(spans.setdefault, offsets, offsets))
            encodings.append(Encoding(tuple(ids), kinds, tuple(map(bool, special)), shared))
    return encodings


def _token_numbers(rows: Sequence[Sequence[Query]]) -> NDArray[np.int64]:
    """Return the number of each position of each query among the tokens of all rows, numbered row by row."""
    length = len(rows[0][0].ids)
    numbers = (row * length + i for row, queries in enumerate(rows) for query in queries for i in query.positions)
    return np.fromiter(numbers, dtype=np.int64)


def _per_query(rows: Sequence[Sequence[Query]], values: NDArray[np.float64]) -> list[Values]:
    """Split values of shape (…, positions of all queries) into those of the queries of each row."""
    counts = [len(query.positions) for queries in rows for query in queries]
    parts = iter(np.split(values, np.cumsum(counts)[:-1], axis=-1))
    return [[next(parts) for _ in queries] for queries in rows]
