"""A chat model in memory with a known truth: what it makes of sentences, places and labels is planted."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np
import pandas as pd

from senseprobe.evaluate.pipeline import run
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.served.conversation import (
    ALPHABETS,
    NLI_OPTIONS,
    Answer,
    LabelQuestion,
    LabelWeights,
    ReplyQuestion,
)
from senseprobe.evaluate.served.task_records import TaskCheck

T = TypeVar("T")
IDENTITY = {"weights": "w" * 64, "config": "c" * 64, "tokenizer": "t" * 64, "dtype": "float32"}


@dataclass
class PlantedChat:
    """A model whose log odds of the first label are content of the sentences + position + prior of the label.

    - `contents`: by pair of sentences, the other way round negated; `wobble`: what each alphabet adds to that.
    - `position`, `prior`: of the first place, and of the labels A and 1, in nats.
    - `mass`: of both labels together, NaN where it is hidden; `censored`: whether the lesser label is bounded.
    - `controlled`: whether it does control items, by a content of `skill` nats.
    - `refuses`: whether it refuses a pair; `garbled`: whether its answer is none; `contradicts`: whether it quotes the
      other sentence; `unanswered`: whether there is no answer at all. Each is told what it is asked.
    - `gold`: by premise and hypothesis the right option; `place_bias`: nats of the places of options.
    """

    contents: Mapping[tuple[str, str], float] = field(default_factory=dict)
    wobble: Mapping[str, Callable[[str, str], float]] = field(default_factory=dict)
    position: float = 0.0
    prior: float = 0.0
    mass: float = 0.9
    censored: Callable[[str], bool] = lambda prompt: False
    skill: float = 8.0
    refuses: Callable[[str], bool] = lambda prompt: False
    garbled: Callable[[str], bool] = lambda prompt: False
    contradicts: Callable[[str], bool] = lambda prompt: False
    unanswered: Callable[[str], bool] = lambda prompt: False
    gold: Mapping[tuple[str, str], str] = field(default_factory=dict)
    place_bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    noise: float = 0.0
    changed: str = ""
    name: str = "planted"
    ability: str = "chat"
    identity: Mapping[str, str] = field(default_factory=lambda: dict(IDENTITY))
    asked: list[str] = field(default_factory=list)
    portion: int = 7
    task_check: ClassVar[type] = TaskCheck

    def portions(self, items: Sequence[T]) -> Iterator[Sequence[T]]:
        """Yield a few at a time."""
        for start in range(0, len(items), self.portion):
            yield items[start : start + self.portion]

    def why(self, prompt: str) -> str:
        """Return why there is no answer."""
        return "too long for the model" if self.unanswered(prompt) else ""

    def drift(self) -> str:
        """Return what is planted as a change."""
        return self.changed

    def weigh_labels(self, questions: Sequence[LabelQuestion]) -> list[LabelWeights | None]:
        """Return the planted log-probabilities of labels."""
        self.asked += [question.prompt for question in questions]
        return [None if self.unanswered(q.prompt) else self._weights(q) for q in questions]

    def weigh_replies(self, questions: Sequence[ReplyQuestion]) -> list[float | None]:
        """Return -20 for a reply, more by half its log odds against the other: content, and position where first."""
        self.asked += [question.prompt for question in questions]
        logs: list[float | None] = []
        for prompt, reply in questions:
            first, second = prompt.splitlines()[1:]
            odds = self.content(prompt.splitlines()[0], first, second) + self.position
            logs.append(None if self.unanswered(prompt) else -20 + (odds if reply == first else -odds) / 2)
        return logs

    def answer(self, prompts: Sequence[LabelQuestion]) -> list[Answer | None]:
        """Return the likelier label with its sentence, a refusal, or what is no answer."""
        self.asked += [question.prompt for question in prompts]
        return [None if self.unanswered(q.prompt) else self._answer(q) for q in prompts]

    def content(self, asked: str, first: str, second: str, alphabet: str = "") -> float:
        """Return the log odds of the first sentence that are due to the two sentences."""
        if (first, second) in self.contents:
            wobble = self.wobble.get(alphabet)
            return self.contents[first, second] + (wobble(first, second) if wobble else 0.0)
        if word := re.search(r'mentions "(.+)"\?', asked):
            return self.skill if word.group(1) in first else -self.skill
        known = {text for pair in self.contents for text in pair}
        return self.skill if first in known else -self.skill

    def odds(self, question: LabelQuestion) -> tuple[float, list[str]]:
        """Return the log odds of the label that stands first, and the sentences as they are shown."""
        head, *lines = question.prompt.splitlines()
        shown = [line.partition(". ")[2] for line in lines]
        prior = self.prior if question.labels in (ALPHABETS[0], ALPHABETS[2]) else -self.prior
        return self.content(head, shown[0], shown[1], "".join(question.labels)) + self.position + prior, shown

    def _weights(self, question: LabelQuestion) -> LabelWeights:
        if len(question.labels) == len(NLI_OPTIONS):
            return self._options(question)
        odds, _ = self.odds(question)
        top = 0.0 if math.isnan(self.mass) else math.log(self.mass)
        logs = (top - float(np.logaddexp(0, -odds)), top - float(np.logaddexp(0, odds)))
        censored = tuple(self.censored(question.prompt) and log == min(logs) for log in logs)
        return LabelWeights(logs, censored, self.mass)

    def _options(self, question: LabelQuestion) -> LabelWeights:
        _, premise, hypothesis, *options = question.prompt.splitlines()
        names = {text: name for name, text in NLI_OPTIONS.items()}
        gold = self.gold[premise.removeprefix("First: "), hypothesis.removeprefix("Second: ")]
        raw = [
            bias + (self.skill if names[line.partition(". ")[2]] == gold else 0.0)
            for bias, line in zip(self.place_bias, options, strict=True)
        ]
        total = float(np.logaddexp.reduce(raw)) - math.log(self.mass)
        return LabelWeights(tuple(number - total for number in raw), (False,) * len(raw), self.mass)

    def _answer(self, question: LabelQuestion) -> Answer:
        if self.refuses(question.prompt):
            return Answer("I'm sorry, but I cannot compare these.")
        if self.garbled(question.prompt):
            return Answer("Hm.")
        odds, shown = self.odds(question)
        place = 0 if odds > 0 else 1
        quoted = shown[1 - place] if self.contradicts(question.prompt) else shown[place]
        return Answer(f"{question.labels[place]}. {quoted}")


def planted_contents(tables: Mapping[str, pd.DataFrame], draw: Callable[[], float]) -> dict[tuple[str, str], float]:
    """Return a content for each pair of sentences of the tables, that of the pair exchanged being its negative."""
    contents: dict[tuple[str, str], float] = {}
    for table in tables.values():
        for stereo, anti in zip(table["stereo"], table["anti"], strict=True):
            if (stereo, anti) not in contents:
                contents[stereo, anti] = draw()
                contents[anti, stereo] = -contents[stereo, anti]
    return contents


def planted(release: Any, configs: Sequence[str], seed: int = 0, **facts: Any) -> PlantedChat:  # noqa: ANN401
    """Return a model with contents of some two nats for the pairs of configs, and small positions: it does the task."""
    generator = np.random.default_rng(seed)
    tables = {name: release.table(name) for name in configs}
    contents = planted_contents(tables, lambda: float(generator.normal(0.4, 2.0)))
    return PlantedChat(**{"contents": contents, "position": 0.3, "prior": 0.2, **facts})


def checked_run(
    job: ScoringJob,
    model: PlantedChat,
    scorer: str,
    *,
    show_failing: bool = False,
    accuracy: float | None = None,
    **options: Any,  # noqa: ANN401 - of `run`
) -> Result:
    """Return the result of a planted model, with the check of its task round the run."""
    check = get(scorer).check(model, accuracy=accuracy, show=show_failing)
    return run(job, model, scorer, check=check, **options)  # type: ignore[arg-type]
