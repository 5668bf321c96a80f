"""From a unit to what it asks of a masked language model, and from the answers to its number.

Tokens of a text are found by what they belong to: a word, a span of characters, or another text that has them as well.
"""

import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from senseprobe.evaluate.scorers.base import Answers, Score, Why, answered
from senseprobe.evaluate.units import NOT_FINITE, Unit

if TYPE_CHECKING:  # so that scorers can be listed without loading torch
    from senseprobe.evaluate.models.masked import Encoding, MaskedLM, Query


Ask: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Positions whose tokens are requested, and positions that are masked meanwhile."""


@dataclass(frozen=True, slots=True)
class Read:
    """A unit as the model reads it.

    - `shared`, `changed`: positions of own tokens that the other sentence of the pair has as well, and has not; empty
      where the scorer reads no other sentence.
    """

    unit: Unit
    encoding: "Encoding"
    shared: tuple[int, ...] = ()
    changed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Work:
    """A unit's queries, of which the first decides its turn.

    The others are built when that comes, and live as long as their batch: a long text has a thousand of them.
    """

    unit: Unit
    first: "Query"
    queries: "Callable[[], Iterator[Query]]"

    @property
    def length(self) -> int:
        """Tokens of a row."""
        return len(self.first.ids)

    def built(self) -> "_Work":
        """Return the same work with all queries built."""
        return _Work(self.unit, self.first, partial(iter, list(self.queries())))


def score_by(
    ask: Callable[[Read], Iterable[Ask]],
    summary: Callable[[Sequence[NDArray[np.float64]]], tuple[float, ...]],
    *,
    numbers: int = 1,
    pairs: bool = False,
    ordered: bool = False,
    attention: bool = False,
) -> Score:
    """Return a `Scorer.score` that makes `numbers` of what `ask` yields for a unit; for nothing, it is unscored.

    `summary` gets an array for each ask, in order: log-probabilities of shape (positions,), or with `attention` those
    and the attention received, shape (2, positions). With `pairs` the other sentence of the pair is read as well; with
    `ordered`, tokens are matched with sentence 1 of the pair first.
    """
    unscored = (np.nan,) * numbers

    def score(model: "MaskedLM", units: Iterable[Unit], done: Container[Unit]) -> Iterator[Answers]:
        def plan(window: Sequence[Unit]) -> Iterator[_Work]:
            for read in _reads(model, window, pairs=pairs, ordered=ordered):
                queries = partial(_queries, model, read, ask)
                if model.can_score(read.encoding) and (first := next(queries(), None)):
                    yield _Work(read.unit, first, queries)

        def answer(batch: Sequence[_Work]) -> Iterator[tuple[float, ...]]:
            queries = [list(work.queries()) for work in batch]
            evaluate = model.attended if attention else model.log_probabilities
            answers = iter(evaluate([query for of_unit in queries for query in of_unit]))
            for of_unit in queries:
                values = list(islice(answers, len(of_unit)))
                yield summary(values) if all(np.isfinite(part).all() for part in values) else unscored

        return answered(units, done, plan, lambda works: _packed(works, model.budget.tokens), answer, unscored)

    return score


def why_by(
    ask: Callable[[Read], Iterable[Ask]], nothing: str = "", *, pairs: bool = False, ordered: bool = False
) -> Why:
    """Return a `Scorer.why` for what `score_by` leaves unscored; `nothing` is the reason where `ask` yields nothing."""

    def why(model: "MaskedLM", units: Sequence[Unit]) -> Iterator[str]:
        for read in _reads(model, units, pairs=pairs, ordered=ordered):
            first = next(_queries(model, read, ask), None)
            yield model.obstacle(read.encoding) or (NOT_FINITE if first else nothing)

    return why


def _reads(model: "MaskedLM", window: Sequence[Unit], *, pairs: bool, ordered: bool) -> Iterator[Read]:
    """Yield the units as the model reads them, each distinct text turned into tokens once."""
    texts = list(dict.fromkeys(text for unit in window for text in (unit.text, unit.beside)[: 1 + pairs]))
    encodings = dict(zip(texts, model.encode(texts), strict=True))
    for unit in window:
        encoding, second = encodings[unit.text], unit.second if ordered else None
        yield Read(unit, encoding, *(shared_tokens(encoding, encodings[unit.beside], second=second) if pairs else ()))


def _queries(model: "MaskedLM", read: Read, ask: Callable[[Read], Iterable[Ask]]) -> "Iterator[Query]":
    return (read.encoding.query(positions, masked, model.mask_id) for positions, masked in ask(read))


def _packed(works: Iterable[_Work], tokens: int) -> Iterator[list[_Work]]:
    """Yield batches of units of one length whose distinct rows of input have at most so many tokens; shortest first.

    Units whose first rows are the same come together, since a row is computed once for all units of a batch: where
    sentences differ in one word only, with that word masked they are one. No unit is split, however many rows it has.
    """
    batch: list[_Work] = []
    rows: set[tuple[int, ...]] = set()
    for planned in sorted(works, key=lambda work: (work.length, work.first.ids)):
        work = planned.built()
        inputs = {query.ids for query in work.queries()}
        if batch and (work.length != batch[0].length or len(rows | inputs) * work.length > tokens):
            yield batch
            batch, rows = [], set()
        batch.append(work)
        rows |= inputs
    if batch:
        yield batch


def inside(encoding: "Encoding", start: int, end: int) -> tuple[int, ...]:
    """Return positions of the own tokens that have a character of the half-open span, in code points, of the text."""
    return tuple(
        position
        for position in encoding.positions
        if encoding.offsets[position][0] < end and encoding.offsets[position][1] > start
    )


def rest_of_word(text: str, encoding: "Encoding") -> list[tuple[int, ...]]:
    """Return for each own token its position and those of the later tokens of the same word.

    A word is a run of letters, marks and digits, whatever the tokenizer takes for one; any other character is a word of
    its own, and white space belongs to the word after it. A token belongs to the word that its first character is in.

    >>> from senseprobe.evaluate.models.masked import Encoding
    >>> pieces = Encoding(ids=(5, 6, 7), types=None, special=(False,) * 3, offsets=((0, 2), (2, 4), (5, 7)))
    >>> rest_of_word("baker is", pieces)
    [(0, 1), (1,), (2,)]
    """
    numbers = _words(text)
    words: dict[int, list[int]] = {}
    for position in encoding.positions:
        words.setdefault(numbers[min(encoding.offsets[position][0], len(text))], []).append(position)
    rests = {position: tuple(word[i:]) for word in words.values() for i, position in enumerate(word)}
    return [rests[position] for position in encoding.positions]


def _words(text: str) -> list[int]:
    """Return the number of the word of each character, and one more for white space at the end of the text."""
    joined = [unicodedata.category(character)[0] in "LMN" for character in text]
    numbers = [0] * bool(text)
    for before, after in pairwise(joined):
        numbers.append(numbers[-1] + (not (before and after)))
    numbers.append(len(text))
    for i in range(len(text) - 1, -1, -1):
        if text[i].isspace():
            numbers[i] = numbers[i + 1]
    return numbers


def shared_tokens(
    encoding: "Encoding", other: "Encoding", *, second: bool | None = None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return positions of own tokens that `other` has as well, in the same order, and of those that it has not.

    Tokens are matched by difflib, as the released code of CrowS-Pairs does: blocks in common, longest first. Special
    tokens help to match and are then left out, by mask. difflib can match a pair otherwise in the other order.
    `second` says whether `encoding` is its second sequence; None: the one with the lower ids is the first. Either way
    the two texts of a pair have the same tokens in common.

    >>> from senseprobe.evaluate.models.masked import Encoding
    >>> he, she = (Encoding((word, 8, 9), None, (False,) * 3, ((0, 2), (3, 5), (6, 9))) for word in (5, 6))
    >>> shared_tokens(he, she)
    ((1, 2), (0,))
    """
    swapped = other.ids < encoding.ids if second is None else second
    a, b = (other, encoding) if swapped else (encoding, other)
    # Without autojunk, which takes frequent tokens of texts from 200 tokens on for noise.
    blocks = SequenceMatcher(None, a.ids, b.ids, autojunk=False).get_matching_blocks()
    matches = ((block.a + step, block.b + step) for block in blocks for step in range(block.size))
    shared = {j if swapped else i for i, j in matches if not a.special[i] and not b.special[j]}
    return tuple(sorted(shared)), tuple(position for position in encoding.positions if position not in shared)
