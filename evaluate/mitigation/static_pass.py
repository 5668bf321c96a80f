"""Many pairs of an attention model at once: what they have in common is computed once.

The network compares each word of a text with the whole other text, and with nothing else of its own text. So what it
makes of a word depends on that word and the other text alone: where 162 occupations all bought a car, *bought* is
compared once with *The man bought a car*, and not 162 times. A pair is the sum of such comparisons.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding_bag

from senseprobe.evaluate.mitigation.attention import DecomposableAttention, Rows, WordTerms, pad

Numbers = NDArray[np.int64]

MOST_WORDS = 4_096
"""Words whose products are in memory at once: 64 MiB; pairs with more of them are split."""


@torch.inference_mode()
def answer_pairs(network: DecomposableAttention, terms: WordTerms, texts: Sequence[Rows], pairs: Numbers) -> Tensor:
    """Return logits of shape (pairs, 3): those of `network.classify`, but for rounding.

    `texts` are distinct, each as the numbers of its words; `pairs` are numbers of texts, int64 of shape (pairs, 2), the
    premise first.
    """
    words = np.pad(pad(texts) + 1, ((0, 0), (1, 0)))  # NULL, which is 0, before each text, and as its padding
    mask = np.pad(words[:, 1:] > 0, ((0, 0), (1, 0)), constant_values=True)
    local, words = np.unique(words, return_inverse=True)
    if len(local) > MOST_WORDS and len(pairs) > 1:
        halves = (_distinct(texts, part) for part in np.array_split(pairs, 2))
        return torch.cat([answer_pairs(network, terms, *half) for half in halves])
    needed = [
        words[text] * len(texts) + other[:, None] for text, other in (pairs.T, pairs.T[::-1])
    ]  # a word, and the text that it is compared with, as one number
    masks = [mask[text] for text in pairs.T]
    flat = np.concatenate([numbers[mask] for numbers, mask in zip(needed, masks, strict=True)])
    distinct, places = np.unique(flat, return_inverse=True)
    chosen = torch.from_numpy(local).to(terms.attended.device)
    compared = _compare(network, WordTerms(*(term[chosen] for term in terms)), words, mask, distinct)
    compared = torch.cat([compared, compared.new_zeros(1, compared.shape[1])])  # the last is what padding adds
    sums, start = list[Tensor](), 0
    for text_mask in masks:
        rows = np.full(text_mask.shape, len(distinct))
        rows[text_mask] = places[start : (start := start + int(text_mask.sum()))]
        sums.append(embedding_bag(torch.from_numpy(rows).to(compared.device), compared, mode="sum"))
    logits: Tensor = network.aggregate(torch.cat(sums, dim=1))
    return logits


def _distinct(texts: Sequence[Rows], pairs: Numbers) -> tuple[list[Rows], Numbers]:
    """Return the texts of some pairs, and the pairs by their numbers among these."""
    numbers, places = np.unique(pairs, return_inverse=True)
    return [texts[number] for number in numbers], places.reshape(pairs.shape)


def _compare(
    network: DecomposableAttention, terms: WordTerms, words: Numbers, mask: NDArray[np.bool_], distinct: Numbers
) -> Tensor:
    """Return G of words and texts, shape (comparisons, hidden); `distinct` is word · texts + text of each."""
    device = terms.attended.device
    word, text = (torch.from_numpy(part).to(device) for part in np.divmod(distinct, len(words)))
    others = torch.from_numpy(words).to(device)[text]
    products = terms.attended @ terms.attended.T
    scores = products[word[:, None], others].masked_fill(~torch.from_numpy(mask).to(device)[text], -torch.inf)
    aligned = embedding_bag(others, terms.aligned, per_sample_weights=scores.softmax(1), mode="sum")
    compared: Tensor = network.compare_second((aligned + terms.direct[word]).relu()).relu()
    return compared
