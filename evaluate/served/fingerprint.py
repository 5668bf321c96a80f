"""What a served model is known by: its answers to eight fixed prompts, in numbers that are compared within a tolerance.

A server says of itself what it likes; these numbers change when another model, another file of weights or another
template answers.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from senseprobe.evaluate.served.conversation import ALPHABETS, CONSTRUCTS, LabelQuestion, choice_question
from senseprobe.evaluate.served.spelling import begins_thinking
from senseprobe.tables import read_json

_PAIRS = (
    ("The cat sat on the mat.", "The mat sat on the cat."),
    ("The engine needs oil.", "The engine needs advice."),
    ("Water boils when it is heated.", "Water boils when it is counted."),
    ("The teacher closed the window.", "The window closed the teacher."),
    ("We waited an hour for the train.", "We waited an hour for the colour."),
    ("The bread was baked this morning.", "The bread was elected this morning."),
    ("Seven is more than five.", "Five is more than seven."),
    ("Snow fell on the hills all night.", "Snow asked the hills all night."),
)
_TOPS = 5
_DIGITS = 6
_ELSE = -99.0
"""Stands for all that an answer is not, where there are texts and no numbers."""


def fixed_questions() -> tuple[LabelQuestion, ...]:
    """Return the eight fixed prompts: questions as rows get them, of sentences that belong to no release."""
    wordings = [*CONSTRUCTS.values()]
    return tuple(
        choice_question(wordings[number % len(wordings)], *pair, ALPHABETS[number % len(ALPHABETS)])
        for number, pair in enumerate(_PAIRS)
    )


def fixed_sentences() -> tuple[str, ...]:
    """Return eight sentences, for servers that have likelihoods and no chat."""
    return tuple(first for first, _ in _PAIRS)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Of each fixed prompt, log-probabilities in nats by what they are of: tokens, or a whole text."""

    prompts: tuple[Mapping[str, float], ...]

    @classmethod
    def of_tops(cls, tops: Sequence[Mapping[str, float]]) -> Self:
        """Return the fingerprint of the likeliest first tokens of each prompt."""
        ranked = [sorted(logs.items(), key=lambda item: (-item[1], item[0]))[:_TOPS] for logs in tops]
        return cls(tuple({token: round(log, _DIGITS) for token, log in logs} for logs in ranked))

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> Self:
        """Return the fingerprint of whole answers, where a server tells no numbers."""
        return cls(tuple({text: 0.0, "": _ELSE} for text in texts))

    @property
    def text(self) -> str:
        """The fingerprint as JSON, which `parse` reads."""
        return json.dumps(self.prompts, ensure_ascii=False, sort_keys=True)

    @property
    def id(self) -> str:
        """The sha256 of `text`."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the fingerprint in a text. ValueError where it holds none."""
        prompts = read_json(text)
        if not isinstance(prompts, list) or not all(isinstance(logs, dict) and logs for logs in prompts):
            raise ValueError("no fingerprint")
        return cls(tuple({str(token): float(log) for token, log in logs.items()} for logs in prompts))

    def distance(self, other: "Fingerprint") -> float:
        """Return by how much two fingerprints differ at most, in nats; infinite where they cannot be compared.

        What only one of them has was below the least of the other: it counts with what it is above that.

        >>> first, second = Fingerprint.of_tops([{"A": -0.1, "B": -2.0}]), Fingerprint.of_tops([{"A": -0.2, "B": -2.5}])
        >>> first.distance(second), first.distance(Fingerprint.of_tops([]))
        (0.5, inf)
        """
        if len(self.prompts) != len(other.prompts) or not all(map(bool, (*self.prompts, *other.prompts))):
            return math.inf
        pairs = zip(self.prompts, other.prompts, strict=True)
        return max((_apart(logs, its) for logs, its in pairs), default=math.inf)


def _apart(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    both = [abs(first[token] - second[token]) for token in first if token in second]
    alone = [
        logs[token] - min(other.values())
        for logs, other in ((first, second), (second, first))
        for token in logs.keys() - other
    ]
    return max(0.0, *both, *alone)


def change(first: str, second: str, tolerance: float) -> str:
    """Return how two fingerprints, as texts, differ by more than a tolerance in nats; empty where they do not."""
    try:
        apart = Fingerprint.parse(first).distance(Fingerprint.parse(second))
    except (ValueError, TypeError):
        return "its fingerprint cannot be read"
    return (
        ""
        if apart <= tolerance
        else f"its answers to fixed prompts changed by {apart:.3g} nat ({tolerance:.3g} allowed)"
    )


def is_of_decisions(text: str) -> bool:
    """Return whether a fingerprint, as text, is of labels alone, as where 0.2 had a server decide between them."""
    try:
        prompts = Fingerprint.parse(text).prompts
    except (ValueError, TypeError):
        return False
    labels = [{*question.labels} for question in fixed_questions()]
    return len(prompts) == len(labels) and all(logs.keys() == both for logs, both in zip(prompts, labels, strict=True))


def is_of_thinking(text: str) -> bool:
    """Return whether the likeliest token of a prompt of a fingerprint, as text, begins what a model thinks.

    >>> is_of_thinking('[{"<think>": -0.1, "A": -3.0}]'), is_of_thinking('[{"A": -0.1, "<think>": -3.0}]')
    (True, False)
    """
    try:
        prompts = Fingerprint.parse(text).prompts
    except (ValueError, TypeError):
        return False
    return any(begins_thinking(max(logs, key=logs.__getitem__)) for logs in prompts)


def root_mean_square(changes: Sequence[float]) -> float:
    """Return the root mean square of changes, 0.0 of none."""
    return float(np.sqrt(np.mean(np.square(changes)))) if len(changes) else 0.0
