"""The Bias Score of sentences (Azzalini, Dolci & Tanelli 2022), for gender or another axis that pairs of words span.

pairs -> axis -> cosine of each neutral word with it, times its importance -> sums of either sign, by sentence
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.vector_files import VectorFile
from senseprobe.evaluate.texts.text_files import Document
from senseprobe.evaluate.texts.word_importance import Token, WordImportance, read_word_vectors, split_tokens
from senseprobe.statistics import leave_out_pairs, pairwise_cosines, principal_direction

COMMONEST = 10_000
"""Words whose mean cosine is the baseline: the first of a file of vectors, which are its most frequent ones."""
WINDOW = 4_096
_MOST_WORDS = 1_000_000  # whose cosines are in memory


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis that pairs of words span in vectors, from `negative` to `positive`.

    - `pairs`: those that were used, positive word first; `missing`: the words whose pairs were not, having no vector.
    - `directions`: the axis first, then the axis without each pair, in rows of length 1.
    - `shares`: of the variance of pairs, by component; `is_doubtful`: the second is over half of the first.
    - `baseline`: the mean cosine of the file's first `commonest` words; None where they have no order of frequency.
    """

    positive: str
    negative: str
    pairs: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    directions: NDArray[np.float64]
    shares: tuple[float, ...]
    is_doubtful: bool
    baseline: float | None
    baseline_positive: float | None
    commonest: int

    @property
    def agreement(self) -> tuple[float, float] | None:
        """The smallest and largest cosine of the axis with that of which a pair is left out; None with one pair."""
        cosines = self.directions[1:] @ self.directions[0]
        return (float(cosines.min()), float(cosines.max())) if len(cosines) else None


def find_axis(file: VectorFile, pairs: Sequence[tuple[str, str]], names: tuple[str, str]) -> Axis:
    """Return the axis of pairs of words, positive first, of a file. ModelError where no pair has both vectors."""
    first, second = (read_word_vectors(file, side) for side in (*zip(*pairs, strict=True),)) if pairs else ((), ())
    there = [bool(np.isfinite(a).all() and np.isfinite(b).all()) for a, b in zip(first, second, strict=True)]
    if not any(there):
        raise ModelError(
            f"{file.name} does not have vectors of both words of any pair: give pairs of its words with --pairs"
        )
    complete = np.array(there)
    try:
        axis = principal_direction(first[complete], second[complete])
        left_out = leave_out_pairs(first[complete], second[complete])
    except ValueError as error:
        raise ModelError(f"{file.name}: {error}") from None
    directions = np.concatenate([axis.direction[None], left_out])
    lone = [word for pair in pairs for word in pair if not np.isfinite(read_word_vectors(file, [word])).all()]
    cosines = pairwise_cosines(read_commonest(file), axis.direction[None])[:, 0]
    return Axis(
        positive=names[0],
        negative=names[1],
        pairs=tuple(pair for pair, used in zip(pairs, there, strict=True) if used),
        missing=tuple(dict.fromkeys(lone)),
        directions=directions,
        shares=tuple(float(share) for share in axis.shares),
        is_doubtful=axis.is_doubtful,
        baseline=float(cosines.mean()) if len(cosines) else None,
        baseline_positive=float((cosines > 0).mean()) if len(cosines) else None,
        commonest=len(cosines),
    )


def read_commonest(file: VectorFile) -> NDArray[np.float64]:
    """Return the vectors of the 10,000 commonest words; none where a file's order cannot be that of frequency.

    No format states its order: files of GloVe, word2vec and fastText begin with the commonest word. What is in order of
    the alphabet does not, nor do tokens of a tokenizer.
    """
    words = [*file.table.vocabulary.rows][:COMMONEST]
    if file.table.tokens or (len(words) > 2 and words == sorted(words)):
        return np.empty((0, file.dimensions))
    vectors = file.table.read(sorted(file.table.vocabulary.rows[word] for word in words))
    return np.asarray(vectors[np.any(vectors, axis=1)], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class SentenceScore:
    """The score of a sentence: NaN where it has no word, or the encoder could not read it.

    - `words`, of which `missing` have no vector and `gendered` are left out; each occurrence counts.
    - `positive` >= 0 and `negative` <= 0, as in section 3.1 (female and male); `centred`: both less the baseline.
    - `left_out`: the balance with each pair left out.
    """

    text: str
    name: str
    words: int
    missing: int
    gendered: int
    positive: float
    negative: float
    centred: tuple[float, float]
    left_out: tuple[float, ...] = ()

    @property
    def absolute(self) -> float:
        """The sum of absolute values, section 3.5."""
        return self.positive - self.negative

    @property
    def balance(self) -> float:
        """The sum of both signs, which the paper does not have: what a sentence leans to."""
        return self.positive + self.negative


class SentenceScorer:
    """Scores sentences: `file` has the vectors, `gendered` the words that are left out, whatever their case.

    With `whole`, a text is a word by itself: its score is its cosine.
    """

    def __init__(
        self,
        file: VectorFile,
        axis: Axis,
        gendered: Collection[str],
        importance: WordImportance,
        *,
        whole: bool = False,
    ) -> None:
        self.file, self.axis, self.importance, self.whole = file, axis, importance, whole
        pair_words = (word for pair in axis.pairs for word in pair)
        self.gendered = frozenset(word.lower() for word in (*gendered, *pair_words))
        self._known: dict[str, NDArray[np.float64]] = {}

    @property
    def signature(self) -> str:
        """What scores depend on, in a line."""
        axis, identity = self.axis, self.file.identity
        parts = {
            "measure": self.importance.measure,
            "version": "2",
            "unit": "word" if self.whole else "sentence",
            "vectors": identity["weights"][:12],
            "lookup": self.file.encoding("word").text.replace(";", ","),
            "axis": f"{axis.positive}-{axis.negative}",
            "pairs": f"{len(axis.pairs)}:{_digest([*axis.pairs])}",
            "centring": "pairs",
            "gendered": f"{len(self.gendered)}:{_digest(sorted(self.gendered))}",
            "baseline": "none" if axis.baseline is None else f"{axis.commonest}",
            **self.importance.identity,
        }
        return "|".join(f"{name}={part}" for name, part in parts.items())

    def score(self, documents: Iterable[Document]) -> Iterator[list[SentenceScore]]:
        """Yield the scores of documents in their order, some thousand at a time; what is in memory does not grow."""
        left = iter(documents)
        while window := [*islice(left, WINDOW)]:
            texts = [document.text for document in window]
            whole = [(Token(text, 0, len(text)),) for text in texts]
            tokens = whole if self.whole else [split_tokens(text, self.file) for text in texts]
            if len(self._known) > _MOST_WORDS:
                self._known.clear()
            words = dict.fromkeys(token.text for row in tokens for token in row if token.is_word)
            if new := [word for word in words if word not in self._known]:
                cosines = pairwise_cosines(read_word_vectors(self.file, new), self.axis.directions)
                self._known.update(zip(new, cosines, strict=True))
            shares = self.importance.weigh(texts, tokens)
            yield [self._sum(*parts) for parts in zip(window, tokens, shares, strict=True)]

    def _sum(self, document: Document, tokens: Sequence[Token], shares: NDArray[np.float64] | None) -> SentenceScore:
        words = [at for at, token in enumerate(tokens) if token.is_word]
        gendered = [at for at in words if tokens[at].text.lower() in self.gendered]
        cosines = {at: self._known[tokens[at].text] for at in words}
        neutral = [at for at in words if np.isfinite(cosines[at][0]) and at not in gendered]
        counts = (len(words), sum(not np.isfinite(row[0]) for row in cosines.values()), len(gendered))
        if shares is None or not words:
            return SentenceScore(document.text, document.name, *counts, np.nan, np.nan, (np.nan, np.nan))
        bias = np.array([cosines[at] for at in neutral]).reshape(len(neutral), len(self.axis.directions))
        weights = shares[neutral]
        axis, left_out = bias[:, 0], tuple(map(float, weights @ bias[:, 1:]))
        centred = (np.nan, np.nan) if self.axis.baseline is None else _signed(axis - self.axis.baseline, weights)
        return SentenceScore(document.text, document.name, *counts, *_signed(axis, weights), centred, left_out)


def _signed(bias: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[float, float]:
    """Return the sums of weighed biases above and below 0."""
    return float(np.maximum(bias, 0) @ weights), float(np.minimum(bias, 0) @ weights)


def _digest(parts: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
