"""A trained attention network with its vectors, as scorers of inference ask it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from senseprobe.evaluate.mitigation.attention import CLASSES, DecomposableAttention, Rows, WordTerms
from senseprobe.evaluate.mitigation.static_pass import answer_pairs
from senseprobe.evaluate.models.batching import Budget
from senseprobe.evaluate.models.vector_files import VectorFile
from senseprobe.evaluate.units import EMPTY

BATCH_WORDS = 65_536
"""Words of the pairs of a pass."""


class WordPair(NamedTuple):
    """A premise and a hypothesis as the model reads them: numbers of words; `missing` is a word without a vector."""

    premise: Rows
    hypothesis: Rows
    missing: str

    @property
    def ids(self) -> Rows:
        """The words of both texts."""
        return self.premise + self.hypothesis


class WordTable:
    """The words of texts with their vectors, divided by `scale`; vectors are read when a word first occurs."""

    def __init__(self, vectors: VectorFile, scale: float) -> None:
        self.file, self.scale = vectors, scale
        self._numbers: dict[int, int] = {}  # of rows of the file
        self._texts: dict[str, tuple[Rows, tuple[str, ...]]] = {}
        self._read = np.empty((0, vectors.dimensions), dtype=np.float32)

    def number(self, texts: Iterable[str]) -> list[tuple[Rows, tuple[str, ...]]]:
        """Return the numbers of the words of each text, in order, and its words that have no vector."""
        ordered = [*texts]
        for text in dict.fromkeys(ordered):  # not a set, whose order the seed of hashes decides
            if text in self._texts:
                continue
            rows, missing = self.file.look_up("sent", text)
            numbers = tuple(self._numbers.setdefault(row, len(self._numbers)) for row in rows)
            self._texts[text] = numbers, tuple(missing)
        return [self._texts[text] for text in ordered]

    def __len__(self) -> int:
        """Return how many words have a number."""
        return len(self._numbers)

    def set_scale(self, scale: float) -> None:
        """Divide vectors by another number."""
        self.scale, self._read = scale, self._read[:0]

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The vectors of the words by their numbers, shape (words, dimensions)."""
        new = [*self._numbers][len(self._read) :]
        if new:
            order = np.argsort(new)
            read = np.empty((len(new), self.file.dimensions), dtype=np.float32)
            read[order] = self.file.table.read([new[index] for index in order]) / self.scale
            self._read = np.concatenate([self._read, read])
        return self._read


class AttentionModel:
    """A trained network with its vectors, as a model with the ability of inference."""

    ability = "inference"

    def __init__(
        self,
        name: str,
        network: DecomposableAttention,
        words: WordTable,
        identity: dict[str, str],
        batch_tokens: int | None = None,
    ) -> None:
        self.name, self.network, self.words, self.identity = name, network.eval(), words, identity
        self.budget = Budget(batch_tokens or BATCH_WORDS)
        self._terms: WordTerms | None = None

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[WordPair]:
        """Return pairs of premise and hypothesis as numbers of words, in order."""
        numbered = iter(self.words.number(text for pair in pairs for text in pair))
        return [
            WordPair(premise, hypothesis, next(iter(lacking + lacking_too), ""))
            for (premise, lacking), (hypothesis, lacking_too) in zip(numbered, numbered, strict=True)
        ]

    def can_score(self, pair: WordPair) -> bool:
        """Return whether both texts have words, all with a vector."""
        return not self.obstacle(pair)

    def obstacle(self, pair: WordPair) -> str:
        """Return why the pair cannot be scored, in a few words; empty where it can."""
        if pair.missing:
            return f"no vector of {pair.missing}"
        return "" if pair.premise and pair.hypothesis else EMPTY

    def probabilities(self, pairs: Sequence[WordPair]) -> NDArray[np.float64]:
        """Return the probabilities of entailment, neutral and contradiction: float64 of shape (pairs, 3), in order."""
        longest = max((len(pair.ids) for pair in pairs), default=1)
        answers = self.budget.spend(pairs, longest, self._answer) if pairs else []
        return np.array(answers, dtype=np.float64).reshape(len(pairs), len(CLASSES))

    @torch.inference_mode()
    def terms(self) -> WordTerms:
        """Return the terms of all words that were numbered so far."""
        if self._terms is None or len(self._terms.attended) != len(self.words) + 1:
            parameter = self.network.null
            vectors = torch.from_numpy(self.words.vectors).to(parameter.device, parameter.dtype)
            self._terms = self.network.word_terms(vectors)
        return self._terms

    def _answer(self, batch: Sequence[WordPair]) -> list[NDArray[np.float64]]:
        numbers: dict[Rows, int] = {}
        pairs = [
            (numbers.setdefault(pair.premise, len(numbers)), numbers.setdefault(pair.hypothesis, len(numbers)))
            for pair in batch
        ]
        logits = answer_pairs(self.network, self.terms(), [*numbers], np.array(pairs, dtype=np.int64))
        return list(logits.cpu().double().softmax(1).numpy())
