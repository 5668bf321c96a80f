"""Servers that answer 200 and lie: what a planted server says is changed, by one lie each, before it is sent."""

import copy
import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from tests.served.planted_model import PlantedModel
from tests.served.planted_server import MODEL, PlantedServer, Reply, Request, Twist, error

CHAT = "/v1/chat/completions"


class Liar(NamedTuple):
    """A lie, and who tells it.

    - `twist`: makes what changes replies, anew for each server, since some lies count.
    - `kind`: of `PlantedServer`.
    - `scorer`: what is asked of it.
    """

    twist: Callable[[], Twist]
    kind: str = "openai"
    scorer: str = "choice-likely"


def start(liar: Liar, model: PlantedModel | None = None) -> PlantedServer:
    """Start a server that lies."""
    return PlantedServer(model, kind=liar.kind, twist=liar.twist())


def _of_chat(change: Callable[[Request, dict[str, Any]], object]) -> Callable[[], Twist]:
    """Return a lie told in successful chat completions: `change` changes the body in place, or returns another."""

    def twist(request: Request, reply: Reply) -> Reply:
        if request.path != CHAT or reply.status != 200:
            return reply
        body = copy.deepcopy(reply.body)
        other = change(request, body)
        return other if isinstance(other, Reply) else Reply(body)

    return lambda: twist


def _from(number: int, change: Callable[[Request, dict[str, Any]], object]) -> Callable[[], Twist]:
    """Return a lie that begins with the chat completion of this number, from 1."""

    def make() -> Twist:
        seen = 0
        lie = _of_chat(change)()

        def twist(request: Request, reply: Reply) -> Reply:
            nonlocal seen
            seen += request.path == CHAT
            return lie(request, reply) if seen >= number else reply

        return twist

    return make


def _tops(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the log-probabilities of the first place; none where they were not asked for."""
    places = (body["choices"][0].get("logprobs") or {}).get("content") or []
    return places[0]["top_logprobs"] if places else []


def _no_logprobs(_: Request, body: dict[str, Any]) -> None:
    body["choices"][0].pop("logprobs", None)


def _empty_logprobs(_: Request, body: dict[str, Any]) -> None:
    body["choices"][0]["logprobs"] = {"content": []}


def _five_tops(_: Request, body: dict[str, Any]) -> None:
    del _tops(body)[5:]


def _unsorted(_: Request, body: dict[str, Any]) -> None:
    _tops(body).reverse()


def _positive(_: Request, body: dict[str, Any]) -> None:
    for top in _tops(body)[:1]:
        top["logprob"] = 0.7


def _all_zero(_: Request, body: dict[str, Any]) -> None:
    for top in _tops(body):
        top["logprob"] = 0.0


def _tiny_mass(_: Request, body: dict[str, Any]) -> None:
    for top in _tops(body):
        top["logprob"] -= 9.0


def _not_a_number(_: Request, body: dict[str, Any]) -> None:
    for top in _tops(body)[:3]:
        top["logprob"] = float("nan")


def _texts_for_numbers(_: Request, body: dict[str, Any]) -> None:
    for top in _tops(body):
        top["logprob"] = str(top["logprob"])


def _without_chosen(_: Request, body: dict[str, Any]) -> None:
    del _tops(body)[:1]


def _tempered(request: Request, body: dict[str, Any]) -> None:
    """Log-probabilities after the temperature, as samplers have them: at temperature 0 the likeliest has all."""
    tops, temperature = _tops(body), float(request.body.get("temperature", 1.0))
    if not tops:
        return
    logs = np.array([top["logprob"] for top in tops]) / max(temperature, 1e-3)
    for top, log in zip(tops, logs - np.logaddexp.reduce(logs), strict=True):
        top["logprob"] = float(log)


def _empty(_: Request, body: dict[str, Any]) -> None:
    choice = body["choices"][0]
    choice["message"]["content"] = ""
    choice["logprobs"] = {"content": []}
    body["usage"]["completion_tokens"] = 0


def _no_growth(_: Request, body: dict[str, Any]) -> None:
    body["usage"] = {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}


def _thinking(_: Request, body: dict[str, Any]) -> None:
    choice = body["choices"][0]
    choice["message"]["content"] = "<think>Let me see which of these two sentences is the more likely one"
    if places := (choice.get("logprobs") or {}).get("content"):
        thought = {"token": "<think>", "logprob": -0.001}
        places[0] = {**thought, "top_logprobs": [thought, *({"token": f"t{n}", "logprob": -12.0} for n in range(19))]}


def _reasoning(_: Request, body: dict[str, Any]) -> None:
    body["choices"][0]["message"]["reasoning_content"] = "Let me see."


def _error_within(*_: object) -> Reply:
    return Reply({"error": {"message": "upstream failed", "code": 502}})


def _no_json(*_: object) -> Reply:
    return Reply(b"<html>Welcome</html>", headers={"Content-Type": "text/html"})


def _a_list(*_: object) -> Reply:
    return Reply([1, 2, 3])


def _no_choices(_: Request, body: dict[str, Any]) -> None:
    body["choices"] = []


def _nested(*_: object) -> Reply:
    return Reply(b"[" * 200_000 + b"]" * 200_000)


def _huge(*_: object) -> Reply:
    return Reply(b'{"choices": "' + b"x" * (80 << 20) + b'"}')


def _bomb(*_: object) -> Reply:
    """A hundred megabytes in a hundred kilobytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = b"".join([packer.compress(b'{"choices": "'), *(packer.compress(b"x" * (1 << 20)) for _ in range(100))])
    return Reply(data + packer.compress(b'"}') + packer.flush(), headers={"Content-Encoding": "gzip"})


def _packed_wrong(_: Request, body: dict[str, Any]) -> Reply:
    return Reply(gzip.compress(json.dumps(body).encode())[:-20], headers={"Content-Encoding": "gzip"})


def _cut(_: Request, body: dict[str, Any]) -> Reply:
    return Reply(body, cut=True)


def _redirect(request: Request, _: dict[str, Any]) -> Reply:
    return Reply({}, 307, {"Location": f"http://127.0.0.2:9{request.path}"})


def _quota(*_: object) -> Reply:
    return error(429, "insufficient_quota", "You exceeded your current quota")


def _much_later(*_: object) -> Reply:
    reply = error(429, "rate_limit_exceeded", "later")
    reply.headers["Retry-After"] = "Fri, 01 Jan 2100 00:00:00 GMT"
    return reply


def _shuffled() -> Twist:
    """Answers come to the question before: a queue that lost its order."""
    last: list[Reply] = []

    def twist(request: Request, reply: Reply) -> Reply:
        if request.path != CHAT or reply.status != 200:
            return reply
        last.append(reply)
        return last[-2] if len(last) > 1 else reply

    return twist


def _on(path: str, change: Callable[[dict[str, Any]], object]) -> Callable[[], Twist]:
    """Return a lie told on another path than chat completions."""

    def twist(request: Request, reply: Reply) -> Reply:
        if request.path != path or reply.status != 200:
            return reply
        body = copy.deepcopy(reply.body)
        change(body)
        return Reply(body)

    return lambda: twist


def _no_echo(body: dict[str, Any]) -> None:
    """The completion alone, as most servers answer `echo`; prompt_logprobs are ignored, too."""
    choice = body["choices"][0]
    choice.pop("prompt_logprobs", None)
    choice["text"] = choice["text"][-1:]
    if logprobs := choice.get("logprobs"):
        choice["logprobs"] = {name: values[-1:] for name, values in logprobs.items()}


def _same_echo(body: dict[str, Any]) -> None:
    """Every prompt's tokens have the same log-probability: numbers without a model."""
    choice = body["choices"][0]
    if logprobs := choice.get("logprobs"):
        logprobs["token_logprobs"] = [None, *(-1.5 for _ in logprobs["token_logprobs"][1:])]
    for told in choice.get("prompt_logprobs") or []:
        for entry in (told or {}).values():
            entry["logprob"] = -1.5


def _other_ids(body: dict[str, Any]) -> None:
    """The grammar is ignored: what the model would write itself comes back."""
    for place in body.get("completion_probabilities", []):
        place.update(id=120, token="x", bytes=[120])  # noqa: S106 - a token of text


def _sure(body: dict[str, Any]) -> None:
    """Log-probabilities after the grammar: what is forced is certain."""
    for place in body.get("completion_probabilities", []):
        place["logprob"] = 0.0


def _cut_prompts() -> Twist:
    """A prompt that is too long is cut, and answered."""

    def twist(request: Request, reply: Reply) -> Reply:
        if request.path != CHAT or reply.status != 400:
            return reply
        place = {"token": "A", "logprob": -0.5, "top_logprobs": [{"token": "A", "logprob": -0.5}]}
        choice = {"message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 6000, "completion_tokens": 1, "total_tokens": 6001}
        body = {"model": MODEL, "choices": [{**choice, "logprobs": {"content": [place]}}], "usage": usage}
        return Reply(body)

    return twist


LIARS: dict[str, Liar] = {
    "no log-probabilities": Liar(_of_chat(_no_logprobs)),
    "empty log-probabilities": Liar(_of_chat(_empty_logprobs)),
    "five log-probabilities": Liar(_of_chat(_five_tops)),
    "unsorted": Liar(_of_chat(_unsorted)),
    "above zero": Liar(_of_chat(_positive)),
    "all certain": Liar(_of_chat(_all_zero)),
    "tiny mass": Liar(_of_chat(_tiny_mass)),
    "not a number": Liar(_of_chat(_not_a_number)),
    "texts for numbers": Liar(_of_chat(_texts_for_numbers)),
    "without the chosen token": Liar(_of_chat(_without_chosen)),
    "after the temperature": Liar(_of_chat(_tempered)),
    "empty from the second": Liar(_from(2, _empty), scorer="text-likely"),
    "answers of others": Liar(_shuffled),
    "usage that never grows": Liar(_of_chat(_no_growth)),
    "thinks first": Liar(_of_chat(_thinking)),
    "thinks beside": Liar(_of_chat(_reasoning)),
    "200 with error": Liar(_of_chat(_error_within)),
    "no JSON": Liar(_of_chat(_no_json)),
    "a list": Liar(_of_chat(_a_list)),
    "no choices": Liar(_of_chat(_no_choices)),
    "nested": Liar(_of_chat(_nested)),
    "huge": Liar(_of_chat(_huge)),
    "bomb": Liar(_of_chat(_bomb)),
    "packed and cut": Liar(_of_chat(_packed_wrong)),
    "cut bodies": Liar(_of_chat(_cut)),
    "redirect": Liar(_of_chat(_redirect)),
    "no quota": Liar(_of_chat(_quota)),
    "in the year 2100": Liar(_of_chat(_much_later)),
    "prompts cut": Liar(_cut_prompts, kind="llama.cpp"),
    "no echo": Liar(_on("/v1/completions", _no_echo), kind="vllm", scorer="ll"),
    "an echo without a model": Liar(_on("/v1/completions", _same_echo), kind="vllm", scorer="ll"),
    "other tokens than forced": Liar(_on("/completion", _other_ids), kind="llama.cpp", scorer="ll"),
    "certain after the grammar": Liar(_on("/completion", _sure), kind="llama.cpp", scorer="ll"),
}
"""By what they do. Each is found out before a row is asked."""


def exchange(server: PlantedServer, after: int, other: PlantedModel) -> None:
    """Have another model answer after so many more chat completions, under the same name."""
    _turn(server, after, lambda: vars(server).update(model=other))


def rename(server: PlantedServer, after: int, **names: str) -> None:
    """Have a server say after so many more chat completions that it has another `name`, or `fingerprint`."""
    _turn(server, after, lambda: vars(server).update(names))


def _turn(server: PlantedServer, after: int, change: Callable[[], object]) -> None:
    left = after

    def twist(request: Request, reply: Reply) -> Reply:
        nonlocal left
        left -= request.path == CHAT
        if left == 0:
            change()
        return reply

    server.twist = twist
