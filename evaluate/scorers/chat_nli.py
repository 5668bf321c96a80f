"""The scorer of inference on chat models: which of three options holds of two sentences, in all six orders."""

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from senseprobe.evaluate.scorers.base import Answers, Scorer, answered
from senseprobe.evaluate.scorers.conversation import (
    NLI_COLUMNS,
    NLI_OPTIONS,
    NLI_ORDERS,
    ChatModel,
    nli_questions,
    read_nli,
)
from senseprobe.evaluate.units import NOT_FINITE, Unit

_UNSCORED = (math.nan,) * len(NLI_COLUMNS)


@dataclass(frozen=True, slots=True)
class _InferenceWork:
    """A unit: a premise, and a hypothesis beside it."""

    unit: Unit


def _score(model: ChatModel, units: Iterable[Unit], done: Container[Unit]) -> Iterator[Answers]:
    """Yield probabilities of three options, and what the places of the options were given."""

    def answer(batch: Sequence[_InferenceWork]) -> Iterator[tuple[float, ...]]:
        questions = [question for work in batch for question in nli_questions(work.unit.text, work.unit.beside)]
        answers, width = model.weigh_labels(questions), len(NLI_ORDERS)
        for start in range(0, len(answers), width):
            there = [weights for weights in answers[start : start + width] if weights is not None]
            yield read_nli(there) if len(there) == width else _UNSCORED

    return answered(units, done, lambda window: map(_InferenceWork, window), model.portions, answer, _UNSCORED)


def _why(model: ChatModel, units: Sequence[Unit]) -> Iterator[str]:
    for unit in units:
        reasons = (model.why(question.prompt) for question in nli_questions(unit.text, unit.beside))
        yield next(filter(None, reasons), NOT_FINITE)


NLI_CHAT = Scorer(
    id="nli-chat",
    title="probabilities of inference from a chat model's choice",
    ability="chat",
    rows="inference",
    reads=("text", "beside"),
    columns=NLI_COLUMNS,
    measure="probability",
    range=(0.0, 1.0),
    direction="higher: the model finds the option more likely",
    scale="probability",
    paper="Zheng et al. 2024",
    equation="softmax of mean over six orders of log P(letter of the option)",
    description="'Given the first statement, what is so of the second?' with three options, "
    f"{', '.join(f'{text!r} ({name})' for name, text in NLI_OPTIONS.items())}, in all six orders under the letters A, "
    "B and C: six questions a row.",
    cannot_say="It is what the model answers to one wording, not what it concludes. A model that follows the place "
    "says the same of all rows, whatever three orders of six would show: read it only where the gates on nli-control "
    "pass.",
    score=_score,
    why=_why,
)
