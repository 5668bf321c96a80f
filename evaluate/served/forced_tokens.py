"""Ways to make a server tell the log-probabilities of tokens that it is given: what is asked, and what is read.

A grammar of the text itself is no way: with it a model cuts words as it never reads them. llama.cpp's values are those
before grammar and bias.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from senseprobe.errors import ModelError
from senseprobe.evaluate.served.client import Client, Response
from senseprobe.evaluate.served.wire import read_failure
from senseprobe.evaluate.units import NOT_FINITE, TOO_LONG

Ids: TypeAlias = tuple[int, ...]

PROMPT_LOGPROBS, ECHO, GRAMMAR, BIAS = "prompt_logprobs", "echo", "token grammar", "logit_bias"
COMPLETIONS, NATIVE = "/v1/completions", "/completion"

_OVER_ZERO = 1e-6  # of a log-probability, by rounding
_BIAS = 1e4


class Query(NamedTuple):
    """Log P(`forced` | `given`) is asked for; neither is empty."""

    given: Ids
    forced: Ids


# --- reading --------------------------------------------------------------------------------------------------------


class UnreadError(Exception):
    """What a server answered is not what it was asked for; the text says how."""


class UnscoredError(Exception):
    """This text has no likelihood, others may have; the text says why."""


def at(body: Any, *path: str | int) -> Any:  # noqa: ANN401 - JSON
    """Return what is at a path of a body."""
    for step in path:
        try:
            body = body[step]
        except (LookupError, TypeError):
            raise UnreadError(f"the answer has no {'.'.join(map(str, path))}") from None
    return body


def list_at(body: object, *path: str | int) -> list[Any]:
    """Return the list at a path of a body."""
    values = at(body, *path)
    if not isinstance(values, list):
        raise UnreadError(f"the answer has no {'.'.join(map(str, path))}")
    return values


def ids_of(values: list[Any]) -> Ids:
    """Return the tokens in a list."""
    if not all(type(value) is int and value >= 0 for value in values):
        raise UnreadError("the tokens are not numbers")
    return tuple(values)


def log_prob(value: object) -> float:
    """Return a log-probability. `UnreadError` where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value <= _OVER_ZERO:
        raise UnreadError(f"{value!r:.40} is not a log-probability")
    if value == -math.inf:
        raise UnscoredError(NOT_FINITE)
    return min(float(value), 0.0)


def body_of(client: Client, response: Response) -> Any:  # noqa: ANN401 - JSON
    """Return the body of what was answered; an error where it was declined."""
    if response.status == 200:
        return response.body
    try:
        raise UnscoredError(read_failure(response.status, response.body).reason)
    except ModelError:
        raise UnreadError(client.reason(response)) from None


# --- ways by tokens -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Method:
    """A way to log P of given tokens.

    `bodies` returns what is posted to `path` for a query, and `read` log P of each of its forced tokens of the bodies
    that answer, in order.
    """

    name: str
    path: str
    bodies: Callable[[Query], list[dict[str, Any]]]
    read: Callable[[Query, Sequence[Any]], list[float]]


def _completion(query: Query, **more: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - JSON
    return [{"prompt": [*query.given, *query.forced], "max_tokens": 1, "temperature": 0, **more}]


def _read_prompt(query: Query, bodies: Sequence[Any]) -> list[float]:
    entries = list_at(bodies[0], "choices", 0, "prompt_logprobs")
    if len(entries) != len(query.given) + len(query.forced) or entries[0] is not None:
        raise UnreadError("prompt_logprobs does not have one entry per token with null first")
    forced = zip(query.forced, entries[len(query.given) :], strict=True)
    return [log_prob(at(entry, str(token), "logprob")) for token, entry in forced]


def _read_echo(query: Query, bodies: Sequence[Any]) -> list[float]:
    _, logs = read_echo(bodies[0], len(query.given) + len(query.forced))
    return [log_prob(value) for value in logs[len(query.given) :]]


def read_echo(body: object, count: int | None = None) -> tuple[list[str], list[Any]]:
    """Return tokens and log-probabilities of an echoed prompt, of `count` tokens where that is known.

    What is written after it is left out. `UnreadError` where the server counts other tokens, or the first is not null.
    """
    tokens = list_at(body, "choices", 0, "logprobs", "tokens")
    logs = list_at(body, "choices", 0, "logprobs", "token_logprobs")
    reported = at(body, "usage", "prompt_tokens")
    if type(reported) is not int or count not in (None, reported):
        raise UnreadError(f"the prompt has {count} tokens, but {reported!r:.20} by the server's count")
    if len(tokens) != len(logs) or len(logs) not in (reported, reported + 1):
        raise UnreadError(f"the echo has {len(logs)} tokens for a prompt of {reported}")
    if not reported or logs[0] is not None or not all(isinstance(token, str) for token in tokens):
        raise UnreadError("the echo is empty, or its first token has a log-probability")
    return tokens[:reported], logs[:reported]


def _native(prompt: Sequence[int], count: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"prompt": [*prompt], "n_predict": count, "temperature": 0, "n_probs": 1, "cache_prompt": False, **more}


def _grammar(query: Query) -> list[dict[str, Any]]:
    grammar = "root ::= " + " ".join(f"<[{token}]>" for token in query.forced)
    return [_native(query.given, len(query.forced), grammar=grammar)]


def _biased(query: Query, *, cache: bool = False) -> list[dict[str, Any]]:
    before = (([*query.given, *query.forced[:index]], token) for index, token in enumerate(query.forced))
    return [_native(prompt, 1, logit_bias=[[token, _BIAS]], cache_prompt=cache) for prompt, token in before]


def _read_biased(query: Query, bodies: Sequence[Any]) -> list[float]:
    return [log for body, token in zip(bodies, query.forced, strict=True) for log in _read_written(body, (token,))]


def _read_written(body: object, forced: Ids) -> list[float]:
    """Return log P of tokens that llama.cpp was made to write."""
    written = list_at(body, "completion_probabilities")
    if len(written) < len(forced) and at(body, "stop_type") == "limit":  # its context is full
        raise UnscoredError(TOO_LONG)
    if [at(entry, "id") for entry in written] != [*forced]:
        raise UnscoredError("the server does not write the forced tokens")
    return [log_prob(at(entry, "logprob")) for entry in written]


METHODS = (
    Method(PROMPT_LOGPROBS, COMPLETIONS, partial(_completion, prompt_logprobs=1), _read_prompt),
    Method(ECHO, COMPLETIONS, partial(_completion, echo=True, logprobs=1), _read_echo),
    Method(GRAMMAR, NATIVE, _grammar, lambda query, bodies: _read_written(bodies[0], query.forced)),
    Method(BIAS, NATIVE, _biased, _read_biased),
)
"""All ways, in the order in which they are tried: one request a text, but for the last: one request a token."""

CACHED_BIAS = Method(BIAS, NATIVE, partial(_biased, cache=True), _read_biased)
"""With the prompt cache on it is computed in the same batches as the grammar's: what the grammar is compared with."""
