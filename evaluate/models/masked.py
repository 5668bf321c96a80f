"""Masked language models: the log-probability of a token at a position, given all or part of a text."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForMaskedLM

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.batching import Budget
from senseprobe.evaluate.models.checkpoint import Pretrained, fingerprint, open_checkpoint

__all__ = ["Encoding", "MaskedLM", "Query", "load"]

_DTYPES = {
    "float32": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
# Tokens per forward pass: on a CPU, as many as benchmarks/aul.py found best; elsewhere, what keeps the device busy.
_BATCH_TOKENS = {"cpu": 1024}
_BATCH_TOKENS_ELSEWHERE = 8192
# At most so many logits at a time (1 GiB of float32), unless one text alone needs more.
_LOGITS = 2**28


@dataclass(frozen=True, slots=True)
class Query:
    """One row of input, with what is asked of it: log P(`targets`[k] at `positions`[k] | `ids`)."""

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

    def unmasked(self) -> Query:
        """Asks, of the text as it is, for each of its own tokens."""
        positions = self.positions
        return Query(self.ids, self.types, positions, tuple(self.ids[i] for i in positions))

    def masked(self, position: int, mask_id: int) -> Query:
        """Asks for the token at `position` with `mask_id` in its place."""
        ids = (*self.ids[:position], mask_id, *self.ids[position + 1 :])
        return Query(ids, self.types, (position,), (self.ids[position],))


class MaskedLM:
    """A masked language model with the ability of token log-probabilities.

    `budget` bounds the tokens of a forward pass.
    """

    ability = "masked"

    def __init__(self, name: str, model: Pretrained, tokenizer: Pretrained, *, batch_tokens: int) -> None:
        self.name = name
        self.budget = Budget(batch_tokens)
        self.mask_id: int = tokenizer.mask_token_id
        self.max_length = _longest_input(model, tokenizer)
        self._model, self._tokenizer = model, tokenizer
        self._head: torch.nn.Module | None = model.get_output_embeddings()

    @cached_property
    def identity(self) -> dict[str, str]:
        """What scores depend on: sha256 of ``weights``, ``config`` and ``tokenizer``, and ``dtype``."""
        return fingerprint(self._model, self._tokenizer)

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """Return the texts as the model reads them, in order, neither padded nor cut."""
        if not texts:
            return []
        columns = self._tokenizer(
            list(texts), return_special_tokens_mask=True, return_offsets_mapping=True, verbose=False
        )
        types = columns.get("token_type_ids") or [None] * len(texts)
        rows = zip(columns["input_ids"], types, columns["special_tokens_mask"], columns["offset_mapping"], strict=True)
        return [
            Encoding(tuple(ids), None if kinds is None else tuple(kinds), tuple(map(bool, special)), tuple(offsets))
            for ids, kinds, special, offsets in rows
        ]

    def can_score(self, encoding: Encoding) -> bool:
        """Whether the text has a token of its own and is not too long for the model."""
        return len(encoding.ids) <= self.max_length and not all(encoding.special)

    def log_probabilities(self, queries: Sequence[Query]) -> list[NDArray[np.float64]]:
        """Natural log-probabilities for each query in order, shape (positions,), at most 0.

        The queries are of one length: nothing is ever padded. They share a forward pass as far as the budget allows.
        """
        return self.budget.spend(queries, len(queries[0].ids), self._answer) if queries else []

    @torch.inference_mode()
    def _answer(self, batch: Sequence[Query]) -> list[NDArray[np.float64]]:
        """Answer queries of one length in one forward pass."""
        length = len(batch[0].ids)
        inputs = {"input_ids": self._tensor([query.ids for query in batch])}
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        if batch[0].types is not None:
            inputs["token_type_ids"] = self._tensor([query.types for query in batch])
        rows = self._tensor([i * length + position for i, query in enumerate(batch) for position in query.positions])
        targets = self._tensor([target for query in batch for target in query.targets])
        logits = self._logits(inputs, rows)
        # Half precision is too coarse for a sum over the vocabulary.
        logits = logits if logits.dtype == torch.float64 else logits.float()
        scores = logits.gather(1, targets[:, None]).squeeze(1) - logits.logsumexp(1)
        return np.split(scores.double().cpu().numpy(), np.cumsum([len(query.positions) for query in batch])[:-1])

    def _logits(self, inputs: dict[str, torch.Tensor], rows: torch.Tensor) -> torch.Tensor:
        """Compute the logits of some (text, position) rows, numbered text by text: shape (rows, vocabulary).

        Where the architecture lets us, the product with the vocabulary is made for these rows only.
        """
        shape = tuple(inputs["input_ids"].shape)
        expected = shape

        def keep_asked(_: torch.nn.Module, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor] | None:
            nonlocal expected
            if not args or args[0].ndim != 3 or args[0].shape[:2] != shape:
                return None
            expected = (1, len(rows))
            return (args[0].flatten(0, 1)[rows].unsqueeze(0),)

        hook = self._head.register_forward_pre_hook(keep_asked) if self._head is not None else None
        try:
            logits: torch.Tensor = self._model(**inputs).logits
        finally:
            if hook is not None:
                hook.remove()
        if tuple(logits.shape[:2]) == expected:
            return logits[0] if expected != shape else logits.flatten(0, 1)[rows]
        if self._head is None:
            raise ModelError(
                f"the model {self.name} gives logits of shape {tuple(logits.shape)} for input of shape {shape}"
            )
        self._head = None  # this architecture reshapes what its head returns: from now on take all of it
        return self._logits(inputs, rows)

    def _tensor(self, values: object) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.long, device=self._model.device)


def load(
    spec: str,
    *,
    device: str = "auto",
    dtype: str = "float32",
    allow_pickle: bool = False,
    batch_tokens: int | None = None,
) -> MaskedLM:
    """Load the masked language model in the folder, or under the Hub name, `spec`.

    `device` is ``auto`` (CUDA if there is any, else the CPU) or a name that torch knows; `dtype` float32, float64,
    bfloat16 or float16; `batch_tokens` the tokens of a forward pass, None for what suits the device. Code from a
    checkpoint never runs; only `allow_pickle` lets weights be read that are not safetensors. Raises ModelError.
    """
    if dtype not in _DTYPES:
        raise ModelError(f"unknown number format {dtype}: take one of {', '.join(_DTYPES)}")
    place = _device(device)
    model, tokenizer = open_checkpoint(AutoModelForMaskedLM, spec, dtype=_DTYPES[dtype], allow_pickle=allow_pickle)
    if getattr(model.config, "is_decoder", False):
        raise ModelError(
            f"cannot load the model {spec}: it reads from left to right, so it is not a masked language model"
        )
    if tokenizer.mask_token_id in (None, tokenizer.unk_token_id):
        raise ModelError(f"cannot load the model {spec}: its tokenizer has no mask token")
    fitting = min(_BATCH_TOKENS.get(place.type, _BATCH_TOKENS_ELSEWHERE), _LOGITS // model.config.vocab_size)
    return MaskedLM(spec, model.to(place), tokenizer, batch_tokens=batch_tokens or max(1, fitting))


def _device(name: str) -> torch.device:
    try:
        place = torch.device(name if name != "auto" else "cuda" if torch.cuda.is_available() else "cpu")
        torch.empty(0, device=place)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ModelError(f"cannot use the device {name}: {str(error).strip().splitlines()[0]}") from error
    return place


def _longest_input(model: Pretrained, tokenizer: Pretrained) -> int:
    """Count the most tokens that the model takes, special ones included."""
    declared: int | None = getattr(model.config, "max_position_embeddings", None)
    if declared is None or declared <= 0:
        return min(int(tokenizer.model_max_length), sys.maxsize)
    # RoBERTa and its kin count positions from the padding id on, so that the first rows of the table are never used.
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.num_embeddings) - int(module.padding_idx) - 1
    return declared
