"""How a chat model is asked about a unit, and what its answers say of how it does that: a task, whatever it is about.

unit -> questions in all orders -> what the model gives to them -> numbers of a unit -> what gates read of them

Scorers of pairs and of inference are in chat_scorers.py; a room with rows of its own brings a task of its own.
"""

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from senseprobe.evaluate.scorers.base import Answers, Scorer, WholeUnit, answered
from senseprobe.evaluate.served.conversation import ChatModel, ControlItem, LabelQuestion, ReplyQuestion
from senseprobe.evaluate.served.task_records import TaskCheck
from senseprobe.evaluate.units import NOT_FINITE, Unit
from senseprobe.records import Design
from senseprobe.statistics import BoolArray, FloatArray

Question = LabelQuestion | ReplyQuestion


@dataclass(frozen=True, kw_only=True)
class Task:
    """A way to ask a chat model about two texts of a unit.

    - `wording`: the question; `questions(wording, text, beside)`: those of a unit.
    - `answer(model, questions)`: what the model gives to each, None where nothing.
    - `read(text, beside, answers)`: the numbers of a unit; `columns`: their names.
    - `gates`: those that its answers have to pass; `needs`: the scorer of which a server has to be capable for them.
    - `no_number`: why a unit has no number although the model answered.

    The methods from `control_items` on say what gates and records read of rows with these numbers; a subclass says
    what of that there is.
    """

    wording: str = ""
    questions: Callable[[str, str, str], Sequence[Question]]
    answer: Callable[[ChatModel, Any], Sequence[Any]]
    read: Callable[[str, str, Any], tuple[float, ...]]
    columns: tuple[str, ...]
    gates: tuple[str, ...]
    needs: str
    no_number: str = NOT_FINITE

    task_check: ClassVar[type[TaskCheck]] = TaskCheck

    @property
    def unscored(self) -> tuple[float, ...]:
        """The numbers of a unit without an answer."""
        return (math.nan,) * len(self.columns)

    @property
    def labels(self) -> int:
        """How many labels are weighed of a unit."""
        return sum(len(question.labels) for question in self.of("", "") if isinstance(question, LabelQuestion))

    def of(self, text: str, beside: str) -> Sequence[Question]:
        """Return the questions of a unit."""
        return self.questions(self.wording, text, beside)

    def of_items(self, items: Iterable[ControlItem]) -> list[Question]:
        """Return the questions of control items."""
        return [question for item in items for question in self.questions(item.wording, item.text, item.beside)]

    def numbers(self, model: ChatModel, units: Sequence[tuple[str, str, str]]) -> Iterator[tuple[float, ...]]:
        """Yield the numbers of (question in words, text, beside); NaN where an answer is missing."""
        questions = [question for unit in units for question in self.questions(*unit)]
        answers, width = self.answer(model, questions), len(questions) // max(1, len(units))
        for number, (_, text, beside) in enumerate(units):
            complete = [answer for answer in answers[number * width : (number + 1) * width] if answer is not None]
            yield self.read(text, beside, complete) if len(complete) == width else self.unscored

    def score(self, model: Any, units: Iterable[Unit], done: Container[Unit]) -> Iterator[Answers]:  # noqa: ANN401
        """Yield the numbers of units, as many at a time as the model is asked about in one go."""

        def answer(batch: Sequence[WholeUnit]) -> Iterator[tuple[float, ...]]:
            return self.numbers(model, [(self.wording, work.unit.text, work.unit.beside) for work in batch])

        return answered(units, done, partial(map, WholeUnit), model.portions, answer, self.unscored)

    def why(self, model: Any, units: Sequence[Unit]) -> Iterator[str]:  # noqa: ANN401 - a chat model
        """Yield why each of units has no number."""
        for unit in units:
            reasons = (model.why(question.prompt) for question in self.of(unit.text, unit.beside))
            yield next(filter(None, reasons), self.no_number)

    # --- what gates and records read

    def control_items(self, tables: Mapping[str, pd.DataFrame], seed: int) -> list[ControlItem]:
        """Return the control items that are made of the rows in tables; none where it has no such gate.

        Inference has rows of its own as its control (evaluate/control.py).
        """
        return []

    def answers_right(self, table: pd.DataFrame) -> BoolArray:
        """Return of the numbers of control items whether the model is right in all orders."""
        return np.zeros(len(table), dtype=np.bool_)

    def decides(self, rows: pd.DataFrame) -> BoolArray | None:
        """Return of each row whether what is asked about decides its answers, not the order; None: it has no orders."""
        return None

    def contents(self, rows: pd.DataFrame) -> FloatArray | None:
        """Return the contents of rows, whose spread is held against the noise; None: it has none."""
        return None

    def reliability(self, rows: pd.DataFrame) -> float | None:
        """Return Cronbach's alpha of the contents over alphabets of labels; None where there is none."""
        return None

    def group_column(self, table: pd.DataFrame, design: Design) -> str:
        """Return the column by whose words refusals are counted; empty without one."""
        return ""

    def ends(self, table: pd.DataFrame) -> tuple[float, float] | None:
        """Return the main figure if all that lacks an answer were against the stereotype, and with it, in points."""
        return None


def fields_of(task: Task) -> Mapping[str, Any]:
    """Return what a scorer that asks by a task has of it."""
    given = {"columns": task.columns, "gates": task.gates, "needs": task.needs}
    return {"task": task, **given, "score": task.score, "why": task.why}


def chat_scorer(id_: str, task: Task, **fields: Any) -> Scorer:  # noqa: ANN401
    """Return the scorer that asks a chat model by a task."""
    return Scorer(id=id_, **{"ability": "chat", "reads": ("text", "beside"), **fields_of(task), **fields})
