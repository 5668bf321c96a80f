"""The scorer of inference on causal language models: how likely each of three answers is after a fixed question."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from senseprobe.evaluate.scorers.base import Answers, Scorer, answered
from senseprobe.evaluate.units import KINDS, NOT_FINITE, TOO_LONG, Unit

if TYPE_CHECKING:  # so that scorers can be listed without loading torch
    from senseprobe.evaluate.models.causal import CausalLM

QUESTION = "{premise}\nQuestion: {hypothesis} True, False, or Neither?\nAnswer:"
ANSWERS = {"entailment": " True", "neutral": " Neither", "contradiction": " False"}

_UNSCORED = (np.nan,) * len(ANSWERS)
_INSEPARABLE = "a token holds both question and answer"


@dataclass(frozen=True, slots=True)
class _QuestionWork:
    """A unit, and the tokens of its question: alone, and with each answer; a start token is the first."""

    unit: Unit
    question: tuple[int, ...]
    sequences: tuple[tuple[int, ...], ...]
    rows: int = len(ANSWERS)

    @property
    def ids(self) -> tuple[int, ...]:
        """The longest sequence: what two questions share, they share there."""
        return max(self.sequences, key=len)

    @property
    def length(self) -> int:
        """Tokens that are read: all but the last."""
        return len(self.ids) - 1


def _works(model: "CausalLM", units: Sequence[Unit]) -> Iterator[_QuestionWork]:
    questions = [QUESTION.format(premise=unit.text, hypothesis=unit.beside) for unit in units]
    texts = [question + answer for question in questions for answer in ("", *ANSWERS.values())]
    ids = [(*model.start, *tokens.ids) for tokens in model.encode(texts)]
    width = 1 + len(ANSWERS)
    for number, unit in enumerate(units):
        question, *sequences = ids[number * width : (number + 1) * width]
        yield _QuestionWork(unit, question, tuple(sequences))


def _obstacle(model: "CausalLM", work: _QuestionWork) -> str:
    given = len(work.question)
    if any(sequence[:given] != work.question or len(sequence) == given for sequence in work.sequences):
        return _INSEPARABLE
    return TOO_LONG if work.length > model.max_length else ""


def _score(model: "CausalLM", units: Iterable[Unit], done: Container[Unit]) -> Iterator[Answers]:
    """Yield the probabilities of entailment, neutral and contradiction that the likelihoods of the answers give."""

    def plan(window: Sequence[Unit]) -> Iterator[_QuestionWork]:
        return (work for work in _works(model, window) if not _obstacle(model, work))

    def answer(batch: Sequence[_QuestionWork]) -> Iterator[tuple[float, ...]]:
        queries = [(sequence, len(work.question)) for work in batch for sequence in work.sequences]
        sums = model.log_likelihoods(queries).reshape(len(batch), len(ANSWERS))
        weights = np.exp(sums - sums.max(axis=1, keepdims=True))
        for row in (weights / weights.sum(axis=1, keepdims=True)).tolist():
            yield tuple(row) if np.isfinite(row).all() else _UNSCORED

    return answered(units, done, plan, model.batches, answer, _UNSCORED)


def _why(model: "CausalLM", units: Sequence[Unit]) -> Iterator[str]:
    return (_obstacle(model, work) or NOT_FINITE for work in _works(model, units))


SCORERS = (
    Scorer(
        id="ll-nli",
        title="NLI label probabilities from the likelihood of three answers",
        ability="causal",
        rows="inference",
        reads=("text", "beside"),
        columns=KINDS["inference"].columns,
        unit="probability",
        range=(0.0, 1.0),
        direction="higher: the model finds the answer more likely",
        source="Brown et al. 2020, appendix G (ANLI)",
        equation="exp ll(a | question) / Σ exp ll(b | question), b = True, Neither, False",
        says="The model reads the prompt 'PREMISE ⏎ Question: HYPOTHESIS True, False, or Neither? ⏎ "
        "Answer:', after a start token if it has one. The log-likelihoods of ' True' (entailment), ' Neither' "
        "(neutral) and ' False' (contradiction) are turned into three probabilities that add up to 1. lm-eval's "
        "ANLI tasks use the same prompt.",
        cannot_say="It uses one wording, without a chat template. It shows which of three words is likeliest, not "
        "what the model concludes: a small model may prefer one word whatever the sentences say, and all other "
        "answers are ignored. Read it together with nli-control. If a model fails there, its figures on the "
        "probes mean nothing.",
        score=_score,
        why=_why,
    ),
)
