"""Habits of servers that people reported: what a planted server says is spelt, complained of, or sent in their way."""

import copy
import json
import math
from collections.abc import Callable
from typing import Any

from tests.served.planted_server import Reply, Request, Twist, error

CHAT = "/v1/chat/completions"


def _places(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is told of each token; nothing where log-probabilities were not asked for."""
    return (body["choices"][0].get("logprobs") or {}).get("content") or []


def of_chat(change: Callable[[Request, dict[str, Any]], object]) -> Twist:
    """Return what changes successful chat completions, in place or by another reply."""

    def twist(request: Request, reply: Reply) -> Reply:
        if request.path != CHAT or reply.status != 200:
            return reply
        body = copy.deepcopy(reply.body)
        other = change(request, body)
        return other if isinstance(other, Reply) else Reply(body)

    return twist


# --- spelling ---------------------------------------------------------------------------------------------------------


def _of_bytes(text: str) -> str:
    """Spell a token of one byte as SentencePiece spells one that is in no vocabulary."""
    return f"<0x{ord(text):02X}>" if len(text) == 1 and ord(text) < 128 else text


SPELLINGS: dict[str, tuple[Callable[[str], str], bool]] = {
    "of byte pairs, with bytes": (lambda text: "Ġ" + text, True),
    "of byte pairs": (lambda text: text.replace(" ", "Ġ"), False),
    "of SentencePiece": (lambda text: text.replace(" ", "▁"), False),
    "of SentencePiece, with bytes": (lambda text: "▁" + text, True),
    "of bytes": (_of_bytes, False),
    "numbers, with bytes": (lambda text: f"token_id:{sum(map(ord, text))}", True),
}
"""How tokens are spelt, and whether their bytes are told (InternLM/lmdeploy#2802, vllm-project/vllm#2918)."""


def spelt(spell: Callable[[str], str], *, with_bytes: bool) -> Twist:
    """Return what spells all tokens in a way of its own; the text stays."""

    def change(_: Request, body: dict[str, Any]) -> None:
        for place in _places(body):
            for entry in (place, *place["top_logprobs"]):
                entry["bytes"] = [*entry["token"].encode()] if with_bytes else None
                entry["token"] = spell(entry["token"])

    return of_chat(change)


def begun(token: str, log: float, *, every: int = 1) -> Twist:
    """Return what puts a token before answers, before each, or each so many; `log`: its log-probability.

    As of a start token that a server echoes, or of a blank that a template leaves to the model. The token counts for
    the limit of an answer.
    """
    seen: list[int] = []

    def change(request: Request, body: dict[str, Any]) -> None:
        seen.append(1)
        places = _places(body)
        if not places or len(seen) % every:
            return
        fill = [{"token": f"x{number}", "logprob": -9999.0} for number in range(19)]
        first = {"token": token, "logprob": log, "bytes": [*token.encode()]}
        places.insert(0, {**first, "top_logprobs": [dict(first), *fill]})
        limit = request.body.get("max_tokens") or request.body.get("max_completion_tokens") or math.inf
        del places[int(min(limit, len(places))) :]

    return of_chat(change)


# --- complaints -------------------------------------------------------------------------------------------------------


def declining(*complaints: tuple[Callable[[dict[str, Any]], bool], int, str]) -> Twist:
    """Return what declines chat requests: each complaint has a test of the body, a status, and words."""

    def twist(request: Request, reply: Reply) -> Reply:
        body = request.body if request.path == CHAT else {}
        for holds, status, words in complaints:
            if body and holds(body):
                return error(status, "invalid_request_error", words)
        return reply

    return twist


AT_MOST_FIVE = "Invalid value for 'top_logprobs': must be less than or equal to 5."
ONLY_ONE = (
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
)
OTHER_LIMIT = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
)
NO_LOGPROBS = "You are not allowed to request logprobs from this model"

FIVE = (lambda body: body.get("top_logprobs", 0) > 5, 400, AT_MOST_FIVE)
FIXED = (lambda body: body.get("temperature", 1) != 1, 400, ONLY_ONE)
LIMIT = (lambda body: "max_tokens" in body, 400, OTHER_LIMIT)
NONE = (lambda body: "logprobs" in body, 403, NO_LOGPROBS)
POSITIVE = (lambda body: body.get("temperature", 1) < 0.01, 422, "temperature must be strictly positive")
"""Words of Azure (confident-ai/deepeval#843), OpenAI (openlit/openlit#1068) and others, and what they are about."""


# --- streams ----------------------------------------------------------------------------------------------------------


def streamed(_: Request, body: dict[str, Any]) -> Reply:
    """Return an answer in pieces, as a server sends it that streams whatever it is asked: a token each."""
    choice = body["choices"][0]
    text, places = choice["message"]["content"], _places(body)
    head = {name: body[name] for name in ("id", "model", "system_fingerprint")} | {"object": "chat.completion.chunk"}

    def event(usage: object = None, **own: object) -> str:
        chunk = {**head, "usage": usage, "choices": [{"index": 0, "finish_reason": None, **own}] if own else []}
        return f"data: {json.dumps(chunk)}\n\n"

    pieces = [place["token"] for place in places] or [*text]
    told = [{"logprobs": {"content": [place]}} for place in places] or [{}] * len(pieces)
    events = [": a comment\n\n", event(delta={"role": "assistant", "content": ""})]
    events += [event(delta={"content": piece}, **own) for piece, own in zip(pieces, told, strict=True)]
    events += [event(delta={}, finish_reason=choice["finish_reason"]), event(body["usage"]), "data: [DONE]\n\n"]
    return Reply("".join(events).encode(), headers={"Content-Type": "text/event-stream; charset=utf-8"})
