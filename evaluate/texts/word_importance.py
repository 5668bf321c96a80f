"""How much each word of a sentence counts for it: three ways, of which one is that of Azzalini et al. (2022).

They differ in what they are called everywhere: `bias-score` asks the encoder that the paper asks, `bias-score-proxy`
one that was not trained with max pooling, and `bias-score-uniform` none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.vector_files import VectorFile

if TYPE_CHECKING:
    from senseprobe.evaluate.models.encoder import Encoder
    from senseprobe.evaluate.texts.infersent import InferSent

Shares = NDArray[np.float64]

_BOUNDARIES = (("<s>", "</s>"), ("<p>", "</p>"))  # of InferSent's first and second version
TOO_LONG = "more tokens than the encoder takes"


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a sign of a sentence: its `text`, and the characters that it stands on."""

    text: str
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        """Whether it is a word, and not a punctuation mark, which has importance and no bias."""
        return any(character.isalnum() for character in self.text)


def split_tokens(sentence: str, file: VectorFile) -> tuple[Token, ...]:
    """Return the words and signs of a sentence; a word with ``'`` or ``-`` that has no vector is its parts."""
    return tuple(Token(text, start, start + len(text)) for start, text in file.split(sentence, signs=True))


def read_word_vectors(file: VectorFile, words: Sequence[str]) -> NDArray[np.float64]:
    """Return the vectors of words, shape (words, dimensions); NaN for a word without one, or with one of zeros."""
    rows = [file.find(word)[0] for word in words]
    numbers_of_rows = sorted({row for match in rows for row in match})
    numbers = dict(zip(numbers_of_rows, file.table.read(numbers_of_rows) if numbers_of_rows else (), strict=True))
    nothing = np.full(file.dimensions, np.nan)
    means = [np.mean([numbers[row] for row in match], axis=0) if match else nothing for match in rows]
    return np.array([mean if np.any(mean) else nothing for mean in means]).reshape(-1, file.dimensions)


class WordImportance(Protocol):
    """A way to weigh the words of sentences.

    - `measure`: the name of the score that is made with it; `identity`: what it depends on, for the signature.
    - `weigh(sentences, tokens)`: of each sentence the share of each token, in [0, 1]; None where it cannot be read.
    """

    measure: str
    identity: dict[str, str]

    def weigh(self, sentences: Sequence[str], tokens: Sequence[Sequence[Token]]) -> list[Shares | None]:
        """Return the shares of tokens."""


class UniformImportance:
    """Every word counts the same, 1/n of n words, with or without a vector; punctuation marks do not count."""

    measure = "bias-score-uniform"

    def __init__(self) -> None:
        self.identity = {"importance": "uniform"}

    def weigh(self, sentences: Sequence[str], tokens: Sequence[Sequence[Token]]) -> list[Shares | None]:
        """Return 1/n for each word, 0 for each punctuation mark."""
        marks = [np.array([token.is_word for token in row], dtype=np.float64) for row in tokens]
        return [mark / max(mark.sum(), 1.0) for mark in marks]


class InferSentImportance:
    """A token's share of the dimensions of InferSent's max pooling, as in the paper, section 3.4.

    As InferSent does, tokens without a vector are removed first, and ``<s>`` and ``</s>`` (``<p>`` and ``</p>``) stand
    around a sentence where they have vectors.
    """

    measure = "bias-score"

    def __init__(self, encoder: "InferSent", file: VectorFile, *, keep_boundary: bool = True) -> None:
        if encoder.inputs != file.dimensions:
            raise ModelError(
                f"{encoder.name} reads vectors of {encoder.inputs} dimensions, and those of {file.name} have "
                f"{file.dimensions}: use the vectors that it was trained on"
            )
        rows = file.table.vocabulary.rows
        self._around = next((pair for pair in _BOUNDARIES if all(sign in rows for sign in pair)), ())
        self._encoder, self._file, self._keep = encoder, file, keep_boundary
        boundary = "kept" if keep_boundary else "dropped"
        tokens = ",".join(self._around) or "none"
        self.identity = {"importance": f"infersent:{encoder.identity[:12]}", "boundary": f"{boundary}({tokens})"}

    def weigh(self, sentences: Sequence[str], tokens: Sequence[Sequence[Token]]) -> list[Shares | None]:
        """Return the shares of the dimensions that tokens win; None without one that has a vector."""
        words = [*dict.fromkeys((*self._around, *(token.text for row in tokens for token in row)))]
        vectors = dict(zip(words, read_word_vectors(self._file, words), strict=True))
        first = bool(self._around)
        read = [[at for at, token in enumerate(row) if np.isfinite(vectors[token.text][0])] for row in tokens]
        inputs = [
            np.array([vectors[word] for word in (*self._around[:1], *(row[at].text for at in used), *self._around[1:])])
            for row, used in zip(tokens, read, strict=True)
            if used
        ]
        wins = iter(self._encoder.count_wins(inputs))
        shares: list[Shares | None] = []
        for row, used in zip(tokens, read, strict=True):
            counts = np.zeros(len(row))
            if used:
                won = next(wins)
                counts[used] = won[first : first + len(used)]
                counts = _share(counts, float(won.sum()), keep_boundary=self._keep)
            shares.append(counts if used else None)
        return shares


class ProxyImportance:
    """A word's share of the dimensions of max pooling over the last hidden states of any encoder: a stand-in.

    The encoder was not trained with max pooling, so this is another measure than the paper's, and is named so.
    """

    measure = "bias-score-proxy"

    def __init__(self, encoder: "Encoder", *, keep_boundary: bool = True) -> None:
        self._encoder, self._keep = encoder, keep_boundary
        parts = ",".join(f"{name}={part[:12]}" for name, part in sorted(encoder.identity.items()))
        boundary = "kept(special tokens)" if keep_boundary else "dropped(special tokens)"
        self.identity = {"importance": f"proxy:{encoder.name}", "encoder": parts, "boundary": boundary}

    def weigh(self, sentences: Sequence[str], tokens: Sequence[Sequence[Token]]) -> list[Shares | None]:
        """Return the shares of the dimensions that the tokens of a word win together; None where a text is too long.

        A token of the encoder belongs to the first word that it shares a character with.
        """
        shares: list[Shares | None] = []
        for row, answer in zip(tokens, self._encoder.count_wins(sentences), strict=True):
            counts = np.zeros(len(row))
            for (start, end), won in zip(*answer, strict=True) if answer else ():
                at = next((at for at, word in enumerate(row) if word.start < end and start < word.end), None)
                if at is not None:
                    counts[at] += won
            total = float(sum(answer[1])) if answer else 0.0
            shares.append(_share(counts, total, keep_boundary=self._keep) if answer else None)
        return shares


def _share(counts: Shares, dimensions: float, *, keep_boundary: bool) -> Shares:
    """Return counts as shares of all dimensions, boundary tokens' too, or of those that words and signs win."""
    total = dimensions if keep_boundary else counts.sum()
    return counts / total if total else counts
