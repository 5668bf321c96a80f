"""What is sent to a server, and what is read of its answers: nothing in an answer is believed unseen."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field

from senseprobe.errors import ModelError
from senseprobe.evaluate.served import complaints
from senseprobe.evaluate.served.complaints import LEAST_TEMPERATURE, Complaint
from senseprobe.evaluate.served.conversation import REPLY_TOKENS, TOP
from senseprobe.evaluate.served.json_values import (
    ABSENT,
    LONGEST_NAME,
    ROUNDING,
    Body,
    Counted,
    LogProbability,
    MessageText,
    ModelName,
    ShortName,
    impossible,
    must_be,
    object_or_empty,
    or_else,
    text_of,
)
from senseprobe.evaluate.served.spelling import begins_thinking, is_special, leads, token_text

CHAT = "/v1/chat/completions"

Json: TypeAlias = Mapping[str, Any]

_TOO_LONG = ("exceed_context_size", "context_length_exceeded", "maximum context length", "context length", "too long")
_LIST = re.compile(r"\w+(?:[`'\"]*(?:,| and| or)\s*[`'\"]*\w+)*")
_FILTERED = ("content_filter", "content_policy", "responsibleai", "moderation")


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a kind of server is sent beside what all are sent.

    - `kind`: ``llama.cpp``, ``vLLM``, ``SGLang``, ``transformers serve`` or ``other``.
    - `fields`: its own fields of a chat request: thinking off, the prompt cache off.
    - `limit`: the field that says how many tokens are written; `written`: how many.
    - `without`: fields that are left out, since the server does not take them; `complaints`: what it said of these.
    - `temperature`: that of answers. `label_offset`: how many tokens stand before the label of each answer.
    """

    kind: str
    fields: Json = field(default_factory=dict)
    limit: str = "max_tokens"
    written: int = REPLY_TOKENS
    without: tuple[str, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    temperature: float = 0
    label_offset: int = 0

    @property
    def greedy(self) -> bool:
        """Whether answers are of the likeliest tokens; else they are drawn, at a temperature of the server's own."""
        return "temperature" not in self.without

    @property
    def to_label(self) -> dict[str, int]:
        """The field of a request whose answer ends with the label's token."""
        return {self.limit: self.label_offset + 1}

    def complaint(self, name: str) -> Complaint | None:
        """Return what the server said of a field; None where nothing."""
        return next((complaint for complaint in self.complaints if complaint.field == name), None)

    def adapted(self, words: str, about: str = "") -> "Dialect | None":
        """Return the dialect without the field that a server complains of; None where it is none that can be left.

        `words` are shown; `about` is all that the server says, in which the field is looked for.
        """
        message = about or words
        fields = ("max_tokens", "logprobs", "temperature", "seed", *self.fields)
        named = [name for name in fields if name in message and self._can_change(name, message)]
        if not named:
            return None
        # A server may list the fields that it takes after the one that it does not, or several that it does not.
        listed = _LIST.match(message, min(map(message.index, named)))
        named_field = next((name for name in named if listed and name in listed.group()), named[0])
        return self._changed(named_field, words)

    def _can_change(self, name: str, message: str) -> bool:
        if name == "max_tokens":
            return self.limit == name and "max_completion_tokens" in message
        return name not in self.without

    def _changed(self, name: str, words: str) -> "Dialect":
        others = tuple(complaint for complaint in self.complaints if complaint.field != name)
        if name == "max_tokens":
            return replace(self, limit="max_completion_tokens", complaints=(*others, complaints.of_limit(words)))
        if name == "temperature":
            complaint = complaints.of_temperature(words, self.temperature)
            if not complaint.consequence:
                return replace(self, temperature=LEAST_TEMPERATURE, complaints=(*others, complaint))
            return replace(self, without=(*self.without, name), complaints=(*others, complaint))
        if name == "logprobs":  # they go together
            without = (*self.without, "logprobs", "top_logprobs")
            return replace(self, without=without, complaints=(*others, complaints.of_logprobs(words)))
        complaint = complaints.of_field(name, words)
        return replace(self, without=(*self.without, name), complaints=(*others, complaint))


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

    >>> body = chat_body("Hello.", "qwen", DIALECTS["vLLM"], max_tokens=1)
    >>> body["messages"], body["max_tokens"], body["chat_template_kwargs"]
    ([{'role': 'user', 'content': 'Hello.'}], 1, {'enable_thinking': False})
    """
    body = {
        **({"model": model} if model else {}),
        "messages": [{"role": "user", "content": prompt}],
        "temperature": dialect.temperature,
        "seed": 0,
        "logprobs": True,
        "top_logprobs": TOP,
        dialect.limit: dialect.written,
        **dialect.fields,
        **more,
    }
    return {name: value for name, value in body.items() if name not in dialect.without}


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What a chat completion says.

    - `text`: the answer without what was thought before it; `reasoning`: that.
    - `tops`: log-probabilities of the label's token by its text, most likely first; empty where the server gives none.
      Those of the blanks before it are in them: they are of a label at the beginning of an answer, whatever precedes.
    - `first`: the text of that token, and its log-probability; None where the server gives none.
    - `order`: the log-probabilities of the label's token alone, in the order of the server.
    - `before`: with how many tokens the answer begins that are no text (`spelling.leads`).
    - `refused`: whether the server marks the answer as refused or filtered.
    - `read`, `written`: tokens of the prompt and of the answer by the server's count; None where it does not tell.
    - `model`, `system`: the model that answered, and its ``system_fingerprint``, as the server calls them.
    """

    text: str
    tops: Mapping[str, float]
    first: tuple[str, float] | None
    order: tuple[float, ...]
    before: int
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


class _Token(Body):
    """A token of an answer: its spelling, and its bytes where the server gives them."""

    token: Annotated[str, must_be(str, "a token that is not text")] = ABSENT
    raw: object = Field(default=None, alias="bytes")

    @property
    def text(self) -> str:
        return token_text(self.token, self.raw)


class _ScoredToken(_Token):
    logprob: LogProbability = ABSENT


class _TokenPosition(_ScoredToken):
    """The token at a place, with the likeliest there in the order of the server."""

    top_logprobs: Annotated[
        list[Annotated[_ScoredToken, must_be(dict, "a log-probability that is not an object")]],
        must_be(list, "top_logprobs that are not a list"),
        BeforeValidator(lambda value: value or []),
    ] = Field(default=[])


class _Logprobs(Body):
    content: Annotated[list[Any], or_else([])] = Field(
        default=[]
    )  # of a long answer only the first places are looked at


class _Message(Body):
    content: MessageText = ""
    refusal: MessageText = ""
    reasoning_content: object = None
    reasoning: object = None


class _Choice(Body):
    message: Annotated[_Message, must_be(dict, "no message")] = ABSENT
    logprobs: Annotated[_Logprobs, or_else(_Logprobs())] = _Logprobs()
    finish_reason: object = None


class _Completion(Counted):
    """A chat completion, of which the first choice counts."""

    choice: Annotated[
        _Choice,
        must_be(dict, "a choice that is not an object"),
        BeforeValidator(itemgetter(0)),
        must_be(list, "no choices"),
        BeforeValidator(lambda value: value or None),
    ] = Field(default=ABSENT, alias="choices")
    model: ModelName = ""
    system_fingerprint: ShortName = ""


_NO_OBJECT = "log-probabilities that are not an object"
_THINKING = re.compile(
    r"\s*[<\[](think|thinking|reasoning|thought)[>\]](.*?)(?:[<\[]/\1[>\]]|\Z)", re.DOTALL | re.IGNORECASE
)


def read_chat(body: object, label_offset: int = 0) -> ChatAnswer:
    """Return what the body of a chat completion says, whose label is behind `label_offset` tokens.

    ModelError where it is no chat completion, or an impossible one.

    >>> answer = read_chat({"model": "qwen", "choices": [{"message": {"content": "<think>Well.</think> A"}}]})
    >>> answer.text, answer.reasoning, answer.tops
    ('A', 'Well.', {})
    """
    answer = _Completion.of(body)
    message, places = answer.choice.message, answer.choice.logprobs.content
    thought = next(filter(None, map(text_of, (message.reasoning_content, message.reasoning))), "")
    thinking = _THINKING.match(message.content)  # a thought that is cut short is all there is
    text = message.content[thinking.end() :].lstrip() if thinking else message.content
    tops, first, order = _read_tops(places, label_offset)
    texts = (_Token.of(entry, _NO_OBJECT).text for entry in places)
    return ChatAnswer(
        text=text or message.refusal,
        tops=tops,
        first=first,
        order=order,
        before=next((number for number, token in enumerate(texts) if not leads(token)), len(places)),
        refused=bool(message.refusal) or answer.choice.finish_reason == "content_filter",
        reasoning=(thought or (thinking.group(2) if thinking else "")).strip(),
        read=answer.usage.prompt_tokens,
        written=answer.usage.completion_tokens,
        model=answer.model,
        system=answer.system_fingerprint,
    )


def _read_tops(
    places: Sequence[Any], number: int
) -> tuple[dict[str, float], tuple[str, float] | None, tuple[float, ...]]:
    """Return the log-probabilities of a place's tokens by text, that of the one that was written, and their order."""
    if len(places) <= number:
        return {}, None, ()
    given = sum(
        _ScoredToken.of(entry).logprob
        for entry in places[:number]
        if not is_special(_Token.of(entry, _NO_OBJECT).text)  # servers tell of special ones what they like
    )
    position = _TokenPosition.of(places[number], _NO_OBJECT)
    tops: dict[str, float] = {}
    for top in position.top_logprobs:
        log = top.logprob + given
        # Parts of a character are spelt alike.
        tops[top.text] = float(np.logaddexp(tops[top.text], log)) if top.text in tops else log
    if sum(map(math.exp, tops.values())) > 1 + ROUNDING:
        raise impossible("log-probabilities whose probabilities sum to more than 1")
    order = tuple(top.logprob for top in position.top_logprobs)
    return dict(sorted(tops.items(), key=lambda item: -item[1])), (position.text, position.logprob + given), order


def thinks(answer: ChatAnswer) -> bool:
    """Return whether an answer begins with thinking, or its first token is none of what is answered."""
    if answer.reasoning:
        return True
    return answer.first is not None and begins_thinking(answer.first[0])


def read_failure(status: int, body: object) -> Unanswered:
    """Return why a request with a status of 4xx has no answer.

    ModelError where that is neither the length of the prompt nor its content: then no other prompt has one either.
    """
    error = object_or_empty(body).get("error")
    words = " ".join(map(str, (error if isinstance(error, dict) else {"": error or body}).values())).casefold()
    if status in (400, 403, 413, 422) and any(word in words for word in _FILTERED):
        return Unanswered("the server's filter refuses it", refused=True)
    if status in (400, 413, 422) and any(word in words for word in _TOO_LONG):
        return Unanswered("too long for the model")
    raise ModelError(f"the server refuses a chat request with HTTP {status}: {' '.join(words.split())[:LONGEST_NAME]}")
