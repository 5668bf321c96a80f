"""What is sent to a server, and what is read of its answers: nothing in an answer is believed unseen."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from senseprobe.errors import ModelError
from senseprobe.evaluate.scorers.conversation import REPLY_TOKENS, TOP, LabelWeights

CHAT = "/v1/chat/completions"
DECISIONS = "/v1/decisions"
SYSTEM_ONE = "/v1/systemone"

Json: TypeAlias = Mapping[str, Any]

# Rounding may bring a probability this much over 1.
_OVER_ONE = 1e-6
_TOO_LONG = ("exceed_context_size", "context_length_exceeded", "maximum context length", "context length", "too long")
_FILTERED = ("content_filter", "content_policy", "responsibleai", "moderation")


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a kind of server is sent beside what all are sent.

    - `kind`: ``llama.cpp``, ``vLLM``, ``SGLang``, ``transformers serve`` or ``other``.
    - `fields`: its own fields of a chat request: thinking off, the prompt cache off.
    - `limit`: the field that says how many tokens are written.
    """

    kind: str
    fields: Json = field(default_factory=dict)
    limit: str = "max_tokens"


_NO_THINKING: Json = MappingProxyType({"chat_template_kwargs": {"enable_thinking": False}})

DIALECTS: Mapping[str, Dialect] = {
    dialect.kind: dialect
    for dialect in (
        Dialect("llama.cpp", {**_NO_THINKING, "cache_prompt": False}),
        Dialect("vLLM", _NO_THINKING),
        Dialect("SGLang", _NO_THINKING),
        Dialect("transformers serve", _NO_THINKING),
        Dialect("other"),
    )
}


def chat_body(prompt: str, model: str, dialect: Dialect, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Return the request of a greedy answer to a user's turn, with log-probabilities; `more` goes over all else.

    One request serves the label at its first place and the whole text.
    """
    return {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "temperature": 0,
        "seed": 0,
        "logprobs": True,
        "top_logprobs": TOP,
        dialect.limit: REPLY_TOKENS,
        **dialect.fields,
        **more,
    }


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What a chat completion says.

    - `text`: the answer without what was thought before it; `reasoning`: that.
    - `tops`: log-probabilities of the first token by its text, most likely first; empty where the server gives none.
    - `first`: the text of the first token, and its log-probability; None where the server gives none.
    - `refused`: whether the server marks the answer as refused or filtered.
    - `read`, `written`: tokens of the prompt and of the answer by the server's count; None where it does not tell.
    - `model`, `system`: the model that answered, and its ``system_fingerprint``, as the server calls them.
    """

    text: str
    tops: Mapping[str, float]
    first: tuple[str, float] | None
    refused: bool
    reasoning: str
    read: int | None
    written: int | None
    model: str
    system: str


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A request that the server declines: why, and whether it declines the content of it."""

    reason: str
    refused: bool = False


def read_chat(body: object) -> ChatAnswer:
    """Return what the body of a chat completion says. ModelError where it is none, or is impossible."""
    raise NotImplementedError


def read_failure(status: int, body: object) -> Unanswered:
    """Return why a request with a status of 4xx has no answer.

    ModelError where that is neither the length of the prompt nor its content: then no other prompt has one either.
    """
    raise NotImplementedError


def decision_body(route: str, prompt: str, labels: Sequence[str], model: str) -> dict[str, Any]:
    """Return the request of a decision between labelled lines of a prompt, by `DECISIONS` or `SYSTEM_ONE`."""
    raise NotImplementedError


def read_decision(route: str, body: object, labels: Sequence[str]) -> LabelWeights:
    """Return the weights of the labels in a decision; the mass is unknown. ModelError where the body is no decision."""
    raise NotImplementedError
