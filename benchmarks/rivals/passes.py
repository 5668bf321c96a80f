"""The obvious ways to the same numbers, and forward passes with nothing around them."""

import difflib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy, deepcopy
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    pipeline,
)

from senseprobe.evaluate.models.layers import pack

__all__ = ["Ids", "Numbers", "Plain", "Timed", "timed"]

Ids = tuple[int, ...]
Numbers = NDArray[np.float64]
Timed = tuple[Numbers | None, float]
"""Numbers of shape (items, columns), if any come of it, and the seconds that they took."""

KINDS = {
    "masked": AutoModelForMaskedLM,
    "causal": AutoModelForCausalLM,
    "inference": AutoModelForSequenceClassification,
}
# Tokens of a bare forward pass, of which the fastest number is taken.
BUDGETS = {"cpu": (256, 512, 1024, 2048, 4096), "cuda": (8192, 16384, 32768, 65536, 131072)}


def timed(work: Callable[[], Numbers | None]) -> Timed:
    """Do something and look at the clock."""
    start = time.perf_counter()
    numbers = work()
    return numbers, time.perf_counter() - start


class Plain:
    """A model as transformers loads it."""

    def __init__(self, folder: Path, kind: str, device: str) -> None:
        self.device = torch.device(device)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.model: Any = KINDS[kind].from_pretrained(folder).eval().to(self.device)

    @cached_property
    def packed(self) -> "Plain":
        """The same, a copy with its linear layers laid out as senseprobe has them: the one thing here that is ours."""
        other = copy(self)
        other.model = deepcopy(self.model)
        pack(other.model)
        return other

    @torch.inference_mode()
    def one_by_one(self, pairs: Sequence[tuple[str, str]]) -> Numbers:
        """AUL as its scripts have it: a pass for each sentence, all logits, and the rank of every token beside."""
        return np.array([[self._unmasked(text)[0] for text in pair] for pair in pairs])

    def _unmasked(self, text: str) -> tuple[float, list[int]]:
        ids = self.tokenizer(text, return_tensors="pt")["input_ids"].to(self.device)
        chances = torch.log_softmax(self.model(ids).logits[0], dim=-1)
        own = ids[0][:, None]
        ranks = (chances.sort(dim=1, descending=True).indices == own).nonzero()[:, 1] + 1
        return chances.gather(1, own)[1:-1].mean().item(), ranks.tolist()

    @torch.inference_mode()
    def mask_by_mask(self, pairs: Sequence[tuple[str, str]]) -> Numbers:
        """The score of CrowS-Pairs as its script has it: a pass for each masked token of each sentence."""
        return np.array([[sum(map(self._masked, rows)) for rows in self.shared_masked(*pair)] for pair in pairs])

    def _masked(self, asked: tuple[Ids, int, int]) -> float:
        ids, place, target = asked
        logits = self.model(torch.tensor([ids], device=self.device)).logits[0]
        return float(torch.log_softmax(logits[place], dim=0)[target].item())

    def shared_masked(self, more: str, less: str) -> tuple[list[tuple[Ids, int, int]], ...]:
        """For both sentences: input, place and token of each mask; tokens that difflib matches, but the outer two."""
        both = [self.tokenizer(text)["input_ids"] for text in (more, less)]
        blocks = difflib.SequenceMatcher(None, *both).get_matching_blocks()
        return tuple(
            [self._row(ids, block[which] + step) for block in blocks for step in range(block.size)][1:-1]
            for which, ids in enumerate(both)
        )

    def each_masked(self, text: str) -> list[Ids]:
        """The inputs of a pseudo-log-likelihood: each token masked in turn, but the outer two."""
        ids = self.tokenizer(text)["input_ids"]
        return [self._row(ids, place)[0] for place in range(1, len(ids) - 1)]

    def _row(self, ids: Sequence[int], place: int) -> tuple[Ids, int, int]:
        return (*ids[:place], self.tokenizer.mask_token_id, *ids[place + 1 :]), place, ids[place]

    def piped(self, pairs: Sequence[tuple[str, str]], labels: Sequence[str]) -> Numbers:
        """Probabilities of the labels, from transformers' pipeline with 32 pairs a batch."""
        classify = pipeline(
            "text-classification", model=self.model, tokenizer=self.tokenizer, batch_size=32, device=self.device
        )
        found = classify([{"text": first, "text_pair": second} for first, second in pairs], top_k=None)
        scores = [{one["label"]: one["score"] for one in answer} for answer in found]
        return np.array([[score[label] for label in labels] for score in scores])

    @torch.inference_mode()
    def bare(self, rows: Iterable[Ids], tokens: int) -> None:
        """Forward passes and nothing else: rows of one length together, as many as make up so many tokens."""
        for length, same in groupby(sorted(rows, key=len), key=len):
            for batch in _chunks(list(same), max(1, tokens // length)):
                last = self.model(torch.tensor(batch, device=self.device)).logits
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        del last

    def best_budget(self, rows: Sequence[Ids]) -> int:
        """The tokens of a pass with which a part of the rows is fastest, rows of all lengths in it."""
        budgets = BUDGETS[self.device.type]
        total = sum(map(len, rows))
        part = sorted(rows, key=len)[:: max(1, total // budgets[-1])]
        self.bare(part[:8], budgets[0])  # the first passes are slow
        return min(budgets, key=lambda tokens: timed(lambda: self.bare(part, tokens))[1])


def _chunks(items: Sequence[Ids], size: int) -> Iterator[Sequence[Ids]]:
    return (items[start : start + size] for start in range(0, len(items), size))
