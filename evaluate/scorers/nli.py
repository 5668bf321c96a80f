"""The scorer on models of inference."""

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from senseprobe.evaluate.scorers.base import Answers, Scorer, answered
from senseprobe.evaluate.units import KINDS, NOT_FINITE, Unit

if TYPE_CHECKING:  # so that scorers can be listed without loading torch
    from senseprobe.evaluate.models.nli import Classifier, Pair


_UNSCORED = (math.nan,) * len(KINDS["inference"].columns)


@dataclass(frozen=True, slots=True)
class _PairWork:
    """A unit and its premise and hypothesis as the model reads them."""

    unit: Unit
    pair: "Pair"
    rows: int = 1

    @property
    def length(self) -> int:
        """Tokens of the pair, special ones included."""
        return len(self.pair.ids)


def nli(model: "Classifier", units: Iterable[Unit], done: Container[Unit]) -> Iterator[Answers]:
    """Yield the softmax of the logits for (premise, hypothesis), in the order entailment, neutral, contradiction."""
    from senseprobe.evaluate.models.batching import by_length

    def plan(window: Sequence[Unit]) -> Iterator[_PairWork]:
        pairs = model.encode([(unit.text, unit.beside) for unit in window])
        return (_PairWork(unit, pair) for unit, pair in zip(window, pairs, strict=True) if model.can_score(pair))

    def answer(batch: Sequence[_PairWork]) -> Iterator[tuple[float, ...]]:
        # Where a logit is no number, or infinite, all three are NaN already.
        return map(tuple, model.probabilities([work.pair for work in batch]).tolist())

    return answered(units, done, plan, lambda works: by_length(works, model.budget.tokens), answer, _UNSCORED)


def _why(model: "Classifier", units: Sequence[Unit]) -> Iterator[str]:
    for pair in model.encode([(unit.text, unit.beside) for unit in units]):
        yield model.obstacle(pair) or NOT_FINITE


SCORERS = (
    Scorer(
        id="nli",
        title="NLI label probabilities",
        ability="inference",
        reads=("text", "beside"),
        columns=KINDS["inference"].columns,
        unit="probability",
        range=(0.0, 1.0),
        direction="higher: the model finds the label more probable",
        source="Dev, Li, Phillips & Srikumar 2020",
        equation="Dev et al. 2020, section 'Measuring Bias via Invalid Inferences': e, n, c",
        says="P(label | premise, hypothesis) for entailment, neutral and contradiction. The labels are "
        "identified by their names in the model's config.json.",
        cannot_say="It shows what this model concludes, not what people conclude, and not why: sentence length, "
        "single words or the hypothesis alone may decide. Such models are often overconfident.",
        score=nli,
        why=_why,
    ),
)
