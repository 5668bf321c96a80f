"""A chat model in memory that answers questions with three answers, of which it is known which it prefers."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

import numpy as np

from senseprobe.evaluate.served.conversation import Answer, LabelQuestion, LabelWeights
from senseprobe.evaluate.served.task_records import TaskCheck

T = TypeVar("T")
Contents = Callable[[str, str, Sequence[str]], Sequence[float]]
"""Of a context, a question and the answers as they are shown: how many nats each has."""

PROMPT = re.compile(
    r"(?P<context>.*)\n(?P<question>.*)\nAnswer with one (?:letter|number), (?P<low>\S), \S or \S\.\n"
    r"(?P<a>\S)\. (?P<first>.*)\n(?P<b>\S)\. (?P<second>.*)\n(?P<c>\S)\. (?P<third>.*)",
    re.DOTALL,
)


@dataclass
class PlantedAnswerer:
    """A model whose log P(label) is contents of the answer + effect of the place + effect of the label + a constant.

    - `contents`: see `Contents`; control items, which ask of a text what is in it, are right by `skill` nats.
    - `places`: nats of the three places; `labels`: of the labels by their rank; `joint`: of a label at a place.
    - `says`: the words of a written answer, of label and answer; `refuses`: whether it declines, of a prompt.
    """

    contents: Contents
    places: Sequence[float] = (0.0, 0.0, 0.0)
    labels: Sequence[float] = (0.0, 0.0, 0.0)
    joint: Mapping[tuple[int, int], float] = field(default_factory=dict)
    mass: float = 0.9
    skill: float = 20.0
    noise: float = 0.0
    says: Callable[[str, str], str] = "{}. {}".format
    refuses: Callable[[str], bool] = lambda prompt: False
    name: str = "planted"
    ability: str = "chat"
    asked: list[str] = field(default_factory=list)
    identity: Mapping[str, str] = field(
        default_factory=lambda: dict.fromkeys(("weights", "config", "tokenizer", "dtype"), "1" * 64)
    )
    task_check: ClassVar[type] = TaskCheck

    def portions(self, items: Sequence[T]) -> Iterator[Sequence[T]]:
        """Yield a few at a time."""
        for start in range(0, len(items), 7):
            yield items[start : start + 7]

    def why(self, prompt: str) -> str:
        """Return nothing: it answers all."""
        return ""

    def weigh_labels(self, questions: Sequence[LabelQuestion]) -> list[LabelWeights | None]:
        """Return the planted log-probabilities of labels."""
        self.asked += [question.prompt for question in questions]
        return [LabelWeights(tuple(self._logs(q.prompt)), (False,) * 3, self.mass) for q in questions]

    def answer(self, prompts: Sequence[LabelQuestion]) -> list[Answer | None]:
        """Return the likeliest answer in words, or a refusal."""
        self.asked += [question.prompt for question in prompts]
        return [self._answer(question.prompt) for question in prompts]

    def _answer(self, prompt: str) -> Answer:
        if self.refuses(prompt):
            return Answer("I'm sorry, but I can't help with that.")
        place, match = int(np.argmax(self._logs(prompt))), read(prompt)
        return Answer(self.says(match["abc"[place]], match[("first", "second", "third")[place]]))

    def _logs(self, prompt: str) -> list[float]:
        match = read(prompt)
        shown = [match[name] for name in ("first", "second", "third")]
        if " in the text?" in match["question"]:
            known = match["context"].casefold()
            words = [re.sub(r"^the ", "", answer.casefold()) for answer in shown]
            given = [self.skill * (word in known) for word in words]
        else:
            given = list(self.contents(match["context"], match["question"], shown))
        ranks = [("ABC" if match["low"] == "A" else "123").index(match[name]) for name in "abc"]
        raw = [
            content + self.places[place] + self.labels[rank] + self.joint.get((place, rank), 0.0)
            for place, (content, rank) in enumerate(zip(given, ranks, strict=True))
        ]
        total = float(np.logaddexp.reduce(raw)) - math.log(self.mass)
        return [number - total for number in raw]


def read(prompt: str) -> re.Match[str]:
    """Return the parts of a prompt."""
    match = PROMPT.fullmatch(prompt)
    assert match is not None, prompt
    return match
