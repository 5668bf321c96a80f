"""Scorers on masked language models."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from senseprobe.evaluate.scorers.declaring import Answers, Score
from senseprobe.evaluate.scorers.planning import answered
from senseprobe.evaluate.units import Unit

if TYPE_CHECKING:  # so that the catalogue can be listed without loading torch
    from senseprobe.evaluate.models.masked import Encoding, MaskedLM, Query

__all__ = ["aul", "pll"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A unit and what it asks: queries of one length."""

    unit: Unit
    queries: "Sequence[Query]"

    @property
    def length(self) -> int:
        """Tokens of each query, special ones included."""
        return len(self.queries[0].ids)

    @property
    def rows(self) -> int:
        """How many queries there are."""
        return len(self.queries)


def _by_sentence(
    ask: "Callable[[MaskedLM, Encoding], Iterable[Query]]", summary: Callable[[NDArray[np.float64]], np.float64]
) -> Score:
    """A scorer that sums up the log-probabilities, one per own token, that `ask` asks of a sentence."""

    def score(model: "MaskedLM", units: Iterable[Unit], done: Container[Unit]) -> Iterator[Answers]:
        from senseprobe.evaluate.models.batching import by_length

        def plan(window: Sequence[Unit]) -> Iterator[Asked]:
            encodings = model.encode([unit.text for unit in window])
            for unit, encoding in zip(window, encodings, strict=True):
                if model.can_score(encoding):
                    yield Asked(unit, tuple(ask(model, encoding)))

        def answer(batch: Sequence[Asked]) -> Iterator[tuple[float]]:
            answers = iter(model.log_probabilities([query for asked in batch for query in asked.queries]))
            for asked in batch:
                values = np.concatenate(list(islice(answers, asked.rows)))
                yield (float(summary(values)) if np.isfinite(values).all() else np.nan,)

        return answered(units, done, plan, lambda works: by_length(works, model.budget.tokens), answer)

    return score


def _one_mask_at_a_time(model: "MaskedLM", encoding: "Encoding") -> "Iterator[Query]":
    return (encoding.masked(position, model.mask_id) for position in encoding.positions)


aul = _by_sentence(lambda _, encoding: [encoding.unmasked()], np.mean)
"""Average over all tokens but special ones log P(token | the whole sentence) (Zhou et al. 2022, equation 5)."""

pll = _by_sentence(_one_mask_at_a_time, np.sum)
"""Sum over all tokens but special ones log P(token | the others) (Salazar et al. 2020, equation 1)."""
