"""How the vectors of tokens become that of a word, of a sentence, or of a word in its sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from senseprobe.evaluate.models.base import Ids
from senseprobe.evaluate.models.checkpoint import Pretrained
from senseprobe.evaluate.models.encodings import Encoding
from senseprobe.evaluate.models.masked import Encoding as TokenizedText
from senseprobe.evaluate.units import Unit

Positions: TypeAlias = tuple[Ids, ...]
"""For each pooling of a unit, where in the input the tokens stand that are pooled."""

POOLINGS = {
    "word": ("mean", "first", "last"),
    "sent": ("cls", "mean", "max", "last"),
    "cword": ("mean", "first", "last", "head"),
}
"""By level; the model's own is the first, but for sentences, where it depends on the model."""


@dataclass(frozen=True, slots=True)
class Pooling:
    """What makes the vector of a unit of hidden states.

    - `level`: ``word``, ``sent`` or ``cword``; `layer`: which hidden states, 0 the table of tokens.
    - `names`: of poolings, the second a check; their vectors stand one after the other.
    - `special`: whether the mean, the largest and the last of a sentence are taken of special tokens, too.
    - `normalised`: whether the vector has length 1.
    - `cls`: where the CLS token stands in an input, from the end if it is after the text.
    - `blanks`: the ids of tokens that spell nothing but blanks.
    """

    level: str
    names: tuple[str, ...]
    layer: int
    blanks: frozenset[int]
    special: bool = False
    normalised: bool = False
    cls: int = 0

    def encoding(self, start: str, *, comparable: bool) -> Encoding:
        """Return all of it as results state it; `start` is what stands before a text."""
        parts = [("pooling", self.names[0]), *(("check", check) for check in self.names[1:])]
        if self.level == "sent" and self.names[0] != "cls":
            parts.append(("special", "in" if self.special else "out"))
        parts += [("norm", "l2")] * self.normalised
        parts += [("layer", str(self.layer)), ("start", start)]
        parts += [("comparable", "no")] * (not comparable)
        return Encoding(self.level, tuple(parts))

    def positions(self, text: TokenizedText, unit: Unit) -> Positions:
        """Return the positions that each of the poolings takes of a unit; none where the word has no token."""
        if self.level == "sent":
            own = tuple(range(len(text.ids))) if self.special else text.positions
        else:
            own = word_positions(text, *_span(self.level, unit), self.blanks)
        return tuple(self._pooled(name, own, text, unit) for name in self.names)

    def _pooled(self, name: str, own: Ids, text: TokenizedText, unit: Unit) -> Ids:
        if name == "cls":
            return (self.cls % len(text.ids),) if text.ids else ()
        if name == "head":
            span = unit.text[unit.start : unit.end]
            word = next(reversed(span.split()), span)
            return word_positions(text, unit.start + span.rindex(word), unit.end, self.blanks)[:1]
        return {"first": own[:1], "last": own[-1:]}.get(name, own)

    def pool(self, hidden: torch.Tensor, positions: Sequence[Positions]) -> NDArray[Any]:
        """Return the vectors of units, shape (units, width); `hidden`, of shape (tokens, dimensions), has all texts'.

        NaN throughout where a number is not finite.
        """
        columns = [
            _reduced(hidden, [at[number] for at in positions], np.maximum if name == "max" else np.add)
            for number, name in enumerate(self.names)
        ]
        vectors = np.concatenate(columns, axis=1)
        if self.normalised:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        vectors[~np.isfinite(vectors).all(axis=1)] = np.nan
        return vectors


def blank_tokens(tokenizer: Pretrained) -> frozenset[int]:
    """Return the ids of tokens that spell nothing but blanks."""
    return frozenset(id_ for token, id_ in tokenizer.get_vocab().items() if not token.strip(" ▁Ġ"))


def word_positions(text: TokenizedText, start: int, end: int, blanks: frozenset[int]) -> Ids:
    """Return where the tokens stand that share a character with a stretch of the text, and are not blank.

    Some tokenizers have a token for the blank before a word, and give it the word's first letter at the beginning of a
    text, and not elsewhere.
    """
    return tuple(
        at
        for at in text.positions
        if max(text.offsets[at][0], start) < min(text.offsets[at][1], end) and text.ids[at] not in blanks
    )


def _span(level: str, unit: Unit) -> tuple[int, int]:
    """Return where the word is in a unit's text: all of it, but for a word in its sentence."""
    return (unit.start, unit.end) if level == "cword" else (0, len(unit.text))


def _reduced(hidden: torch.Tensor, positions: Sequence[Ids], combine: np.ufunc) -> NDArray[Any]:
    """Return the sum of rows of `hidden` at `positions`[k], divided by how many there are, or their largest numbers."""
    values = hidden[torch.tensor([at for row in positions for at in row], device=hidden.device)]
    numbers = (values if values.dtype == torch.float64 else values.float()).cpu().numpy()
    counts = np.array([len(row) for row in positions])
    reduced: NDArray[Any] = combine.reduceat(numbers, np.cumsum(counts) - counts, axis=0)
    return reduced if combine is np.maximum else reduced / counts[:, None].astype(numbers.dtype)
