"""Decomposable attention over frozen vectors of words: a small model of inference (Parikh et al. 2016, section 3).

The encoder is the paper's own projection of each word. Dev et al. (2020) put a BiLSTM in its place, so numbers of this
model are not those of their Table 8. Without an encoder that reads order, all terms but the attention itself depend on
single words; they are computed once for each word of a batch.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import dropout, embedding

from senseprobe.evaluate.units import KINDS

CLASSES: tuple[str, ...] = KINDS["inference"].columns
"""What the outputs of the network stand for."""

Rows = tuple[int, ...]


class WordTerms(NamedTuple):
    """What the network makes of words, whatever stands around them; shape (words + 1, hidden), the first is NULL.

    - `attended`: F of a word, of which products are attention.
    - `direct`: what a word adds to the first layer of G where it is compared; `aligned`: what it adds where others are
      compared with it, times the attention.
    """

    attended: Tensor
    direct: Tensor
    aligned: Tensor


class DecomposableAttention(nn.Module):
    """The network: attend (F), compare (G), aggregate (H), each of two layers, over projected vectors.

    A NULL word, which is learnt, stands before each text, as in the paper.
    """

    def __init__(self, dimensions: int, hidden: int, *, drop: float = 0.0) -> None:
        super().__init__()
        self.project = nn.Linear(dimensions, hidden, bias=False)
        self.null = nn.Parameter(torch.zeros(hidden))
        self.attend = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.compare_first = nn.Linear(2 * hidden, hidden)
        self.compare_second = nn.Linear(hidden, hidden)
        self.aggregate = nn.Sequential(
            nn.Linear(2 * hidden, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 3)
        )
        self.drop = drop
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear):
                # PyTorch's own weights are a third as large: through six layers little of a difference is left, and in
                # tests nothing was learnt in thirty epochs that is learnt in ten with these (He et al. 2015).
                nn.init.kaiming_normal_(module.weight, nonlinearity="linear" if name == "project" else "relu")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def word_terms(self, vectors: Tensor) -> WordTerms:
        """Return the terms of words by their vectors, shape (words, dimensions)."""
        words = torch.cat([self.null[None], self.project(vectors)])
        direct, aligned = self.compare_first.weight.chunk(2, dim=1)
        return WordTerms(self.attend(words), words @ direct.T + self.compare_first.bias, words @ aligned.T)

    def forward(self, vectors: Tensor, premises: Tensor, hypotheses: Tensor) -> Tensor:
        """Return logits of shape (pairs, 3).

        `vectors` are of the words that occur, shape (words, dimensions); `premises` and `hypotheses` their numbers,
        int64 of shape (pairs, longest), -1 where a shorter text is padded.
        """
        return self.classify(self.word_terms(vectors), premises, hypotheses)

    def classify(self, terms: WordTerms, premises: Tensor, hypotheses: Tensor) -> Tensor:
        """Return logits of shape (pairs, 3), as `forward` does, by the terms of words."""
        first, second = _with_null(premises), _with_null(hypotheses)
        mask_first, mask_second = _mask(premises), _mask(hypotheses)
        scores = embedding(first, terms.attended) @ embedding(second, terms.attended).transpose(1, 2)
        to_second = scores.masked_fill(~mask_second[:, None], -math.inf).softmax(2)
        to_first = scores.masked_fill(~mask_first[:, :, None], -math.inf).softmax(1).transpose(1, 2)
        compared = [
            self._compare(embedding(words, terms.direct) + weights @ embedding(others, terms.aligned), mask)
            for words, weights, others, mask in (
                (first, to_second, second, mask_first),
                (second, to_first, first, mask_second),
            )
        ]
        logits: Tensor = self.aggregate(self._dropped(torch.cat(compared, dim=1)))
        return logits

    def _compare(self, layer: Tensor, mask: Tensor) -> Tensor:
        """Return the sum of G over the words of a text, given its first layer before the rectifier."""
        compared = self.compare_second(self._dropped(layer.relu())).relu()
        summed: Tensor = (compared * mask[..., None]).sum(1)
        return summed

    def _dropped(self, values: Tensor) -> Tensor:
        return dropout(values, self.drop, self.training) if self.drop else values


def _with_null(texts: Tensor) -> Tensor:
    """Return the numbers of words after that of NULL, which is 0 and also stands where a text is padded."""
    return torch.cat([texts.new_zeros(len(texts), 1), texts + 1], dim=1)


def _mask(texts: Tensor) -> Tensor:
    return torch.cat([texts.new_ones(len(texts), 1, dtype=torch.bool), texts >= 0], dim=1)


def pad(texts: Sequence[Rows]) -> NDArray[np.int64]:
    """Return numbers of words as an array of shape (texts, longest), -1 behind shorter texts.

    >>> pad([(3, 4), (5,)]).tolist()
    [[3, 4], [5, -1]]
    """
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    padded = np.full((len(texts), lengths.max(initial=0)), -1, dtype=np.int64)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = [word for text in texts for word in text]
    return padded
