"""From a unit to what it asks of a masked language model, and from the answers to its number."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from senseprobe.evaluate.scorers.base import Answers, Score, Why, answered
from senseprobe.evaluate.scorers.token_alignment import shared_tokens
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
        own = {query.ids for query in work.queries()}
        if batch and (work.length != batch[0].length or len(rows | own) * work.length > tokens):
            yield batch
            batch, rows = [], set()
        batch.append(work)
        rows |= own
    if batch:
        yield batch
