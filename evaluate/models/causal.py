"""Causal language models: how likely a text is, read from left to right."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.batching import Budget, Sized, by_length
from senseprobe.evaluate.models.causal_encoding import LONGEST, ROW, Query, Reader
from senseprobe.evaluate.models.checkpoint import Pretrained, TextTokens, open_checkpoint, read_config, vocabulary
from senseprobe.evaluate.models.errors import guarded
from senseprobe.evaluate.models.identity import fingerprint
from senseprobe.evaluate.models.limits import tokenized
from senseprobe.evaluate.models.placement import batch_tokens_on, device_of, dtype_of, longest_input, placed
from senseprobe.evaluate.models.prefixes import Ids, rows_of

# At most so many logits at a time (1 GiB of float32), unless one text alone needs more.
_LOGITS = 2**28


class Tokens(NamedTuple):
    """A text as the model reads it: the `ids` of its own tokens, and where the first of them ends, in code points.

    What the tokenizer adds (a start token, an end token) is not the text's own.
    """

    ids: Ids
    first_end: int


class Sequenced(Sized, Protocol):
    """Input of a model whose ids say what it shares with others."""

    @property
    def ids(self) -> Ids:
        """All tokens, those that are given and those that are requested."""


S = TypeVar("S", bound=Sequenced)


class CausalLM:
    """A causal language model with the ability of sequence log-likelihood.

    - `start`: what stands before a text: the special tokens that the tokenizer puts there; else its token for the
      beginning of a sequence; else the one for the end of a sequence, after which another begins; else nothing.
    - `max_length`: how many tokens it reads, start included. The last token of a text is predicted, and not read.
    - `budget` bounds the tokens of a forward pass; `tokens` are those of texts by themselves.

    Raises ModelError where what it says at a token depends on a later one.
    """

    ability = "causal"

    def __init__(self, name: str, model: Pretrained, tokenizer: Pretrained, *, batch_tokens: int) -> None:
        self.name = name
        self.budget = Budget(batch_tokens)
        self.max_length = longest_input(model, tokenizer)
        self.tokens = TextTokens(tokenizer)
        self._model, self._tokenizer = model, tokenizer
        self._reader = Reader(name, model, longest=self.max_length)
        if self._reader.reads_ahead():
            raise ModelError(
                f"cannot load the model {name}: it reads a text from both sides, so it is not a causal language model"
            )

    @cached_property
    def identity(self) -> dict[str, str]:
        """What scores depend on: sha256 of ``weights``, ``config`` and ``tokenizer``, and ``dtype``."""
        return fingerprint(self._model, self._tokenizer)

    @cached_property
    def start(self) -> Ids:
        """What stands before a text; empty where the tokenizer has no such token."""
        columns = self._tokenizer("a", return_special_tokens_mask=True)
        own = [*columns["special_tokens_mask"], 0].index(0)
        named = (self._tokenizer.bos_token_id, self._tokenizer.eos_token_id)
        return tuple(columns["input_ids"][:own]) or tuple(token for token in named if token is not None)[:1]

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the texts' own tokens, in order, neither padded nor cut."""
        portions = tokenized(self._tokenizer, texts, return_special_tokens_mask=True, return_offsets_mapping=True)
        names = ("input_ids", "special_tokens_mask", "offset_mapping")
        return [_own(*row) for columns in portions for row in zip(*(columns[name] for name in names), strict=True)]

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
        alone = sorted((i for i, (ids, _) in enumerate(queries) if not self._shares(ids)), key=lengths.__getitem__)
        for length, same in groupby(alone, key=lengths.__getitem__):
            numbers = list(same)
            values[numbers] = self.budget.spend([queries[i] for i in numbers], length, self._sums_alone)
        return values

    def _shares(self, ids: Ids) -> bool:
        return len(ids) - 1 <= LONGEST and self._reader.shares

    def _shared(self, queries: Sequence[Query]) -> list[float]:
        """Return the answers to sorted `queries`, as many rows at a time as the budget allows."""
        values: list[float] = []
        for start, end, tokens in self._passes([ids for ids, _ in queries]):
            values += self.budget.spend(queries[start:end], max(1, tokens // (end - start)), self._sums_together)
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
        return min(ROW, self.budget.tokens)

    def _sums_together(self, queries: Sequence[Query]) -> list[float]:
        return _sums(queries, self._reader.together(queries, self._limit))

    def _sums_alone(self, queries: Sequence[Query]) -> list[float]:
        return _sums(queries, self._reader.alone(queries))


def _own(ids: Sequence[int], special: Sequence[int], offsets: Sequence[tuple[int, int]]) -> Tokens:
    own = [position for position, is_special in enumerate(special) if not is_special]
    return Tokens(tuple(ids[position] for position in own), offsets[own[0]][1] if own else 0)


def _sums(queries: Sequence[Query], values: NDArray[np.float64]) -> list[float]:
    which = np.repeat(np.arange(len(queries)), [len(ids) - given for ids, given in queries])
    sums: list[float] = np.bincount(which, weights=values, minlength=len(queries)).tolist()
    return sums


@guarded
def load(
    spec: str,
    *,
    device: str = "auto",
    dtype: str = "float32",
    allow_pickle: bool = False,
    batch_tokens: int | None = None,
) -> CausalLM:
    """Load the causal language model in the folder, or under the Hub name, `spec`; for the rest see `models.load`.

    Raises ModelError, also where the model reads a text from both sides or translates one text into another.
    """
    target, number_format = device_of(device), dtype_of(dtype)
    if getattr(read_config(spec), "is_encoder_decoder", False):
        raise ModelError(
            f"cannot load the model {spec}: it has an encoder and a decoder, so it is not a causal language model"
        )
    model, tokenizer = open_checkpoint(AutoModelForCausalLM, spec, dtype=number_format, allow_pickle=allow_pickle)
    return wrap(spec, model, tokenizer, device=target, batch_tokens=batch_tokens)


@guarded
def wrap(
    spec: str, model: Pretrained, tokenizer: Pretrained, *, device: torch.device, batch_tokens: int | None = None
) -> CausalLM:
    """Wrap a model of transformers that is in memory, called `spec`; raises ModelError as `load` does."""
    fitting = min(batch_tokens_on(device), _LOGITS // vocabulary(model))
    return CausalLM(spec, placed(model, device), tokenizer, batch_tokens=batch_tokens or max(1, fitting))
