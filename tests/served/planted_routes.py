"""The routes of a planted server that are not chat completions, as llama.cpp, vLLM and transformers have them."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.served.planted_model import END, START, detokenize, render, tokenize
from tests.served.planted_server import KINDS, TEMPLATE, PlantedServer, Reply

Body = Any


class Route(NamedTuple):
    """What answers requests of a path, and the kinds of servers that have it."""

    answer: Callable[[PlantedServer, Body], Reply]
    kinds: tuple[str, ...] = KINDS


def _models(server: PlantedServer, _: Body) -> Reply:
    if server.kind == "transformers":
        return Reply({"detail": "Internal Server Error"}, 500)
    owner = {"llama.cpp": "llamacpp", "vllm": "vllm"}.get(server.kind, "someone")
    return Reply({"object": "list", "data": [{"id": server.name, "object": "model", "owned_by": owner}]})


def _health(_server: PlantedServer, _: Body) -> Reply:
    return Reply({"status": "ok"})


def _version(_server: PlantedServer, _: Body) -> Reply:
    return Reply({"version": "0.11.0"})


def _props(server: PlantedServer, _: Body) -> Reply:
    return Reply(
        {
            "default_generation_settings": {"n_ctx": server.context},
            "total_slots": server.slots,
            "model_path": "/home/someone/models/planted.gguf",
            "chat_template": TEMPLATE,
            "bos_token": START,
            "eos_token": END,
            "build_info": "b0-unknown",
        }
    )


def _tokenize(server: PlantedServer, body: Body) -> Reply:
    if server.kind == "llama.cpp":
        # Its model's tokenizer puts no special token before a text, whatever `add_special` says.
        return Reply({"tokens": tokenize(body.get("content", ""), specials=body.get("parse_special", True))})
    text = render(body["messages"]) if "messages" in body else body.get("prompt", "")
    starts = body.get("add_special_tokens", "messages" not in body)
    ids = [*(tokenize(START) if starts else []), *tokenize(text)]
    return Reply({"count": len(ids), "max_model_len": server.context, "tokens": ids})


def _detokenize(server: PlantedServer, body: Body) -> Reply:
    return Reply({"content" if server.kind == "llama.cpp" else "prompt": detokenize(body.get("tokens", []))})


def _template(_: PlantedServer, body: Body) -> Reply:
    return Reply({"prompt": render(body["messages"])})


def _completion(server: PlantedServer, body: Body) -> Reply:
    """Answer as llama.cpp's own route does: a grammar of token literals or a bias forces, and log-probs stay raw."""
    prompt = body.get("prompt", "")
    ids = prompt if isinstance(prompt, list) else tokenize(prompt)
    if refusal := server.too_long(len(ids)):
        return refusal
    forced = [int(number) for number in re.findall(r"<\[(\d+)\]>", body.get("grammar") or "")]
    biased = [int(token) for token, bias in body.get("logit_bias") or [] if bias > 50]
    limit = max(int(body.get("n_predict", 16)), 1)  # it ignores 0
    out = (forced or biased * limit or tokenize("the end."))[:limit]
    logs = server.logs_of([*ids, *out])[len(ids) :]
    places = [
        {"id": token, "token": detokenize([token]), "bytes": [*detokenize([token]).encode()], "logprob": log}
        for token, log in zip(out, logs, strict=True)
    ]
    for place in places:
        place["top_logprobs"] = [{**place}]
    reply = {
        "content": detokenize(out),
        "tokens": out if body.get("return_tokens") else [],
        "model": "/home/someone/models/planted.gguf",
        "tokens_predicted": len(out),
        "tokens_evaluated": len(ids),
        "stop": True,
        "stop_type": "limit" if len(out) == limit else "eos",
    }
    return Reply({**reply, "completion_probabilities": places} if body.get("n_probs") else reply)


def _completions(server: PlantedServer, body: Body) -> Reply:
    """Answer as vLLM's legacy route does, echo and prompt_logprobs included; llama.cpp ignores both."""
    prompt = body.get("prompt", "")
    if server.kind == "vllm" and isinstance(prompt, str) and body.get("add_special_tokens", True):
        prompt = START + prompt
    ids = prompt if isinstance(prompt, list) else tokenize(prompt)
    if refusal := server.too_long(len(ids)):
        return refusal
    out = tokenize(" the end.")[: int(body.get("max_tokens", 16))]
    choice: dict[str, Any] = {"index": 0, "text": detokenize(out), "finish_reason": "length"}
    shown, logs = out, [-0.1] * len(out)
    if server.kind == "vllm":
        told = server.logs_of(ids)
        if body.get("echo"):
            shown, logs = [*ids, *out], [None, *told[1:], *logs]  # type: ignore[list-item] # of the first nothing
            choice["text"] = detokenize(shown)
        if body.get("prompt_logprobs") is not None:
            choice["prompt_logprobs"] = server.told(detokenize(ids))
    if body.get("logprobs") is not None:
        tokens = [detokenize([token]) for token in shown]
        offsets = [sum(map(len, tokens[:number])) for number in range(len(tokens))]
        choice["logprobs"] = {
            "tokens": tokens,
            "token_logprobs": logs,
            "text_offset": offsets,
            "top_logprobs": [None if log is None else {token: log} for token, log in zip(tokens, logs, strict=True)],
        }
    usage = {"prompt_tokens": len(ids), "completion_tokens": len(out), "total_tokens": len(ids) + len(out)}
    return Reply({"object": "text_completion", "model": server.name, "choices": [choice], "usage": usage})


ROUTES = {
    ("GET", "/v1/models"): Route(_models),
    ("POST", "/v1/chat/completions"): Route(PlantedServer.chat),
    ("GET", "/props"): Route(_props, ("llama.cpp",)),
    ("GET", "/health"): Route(_health, ("llama.cpp", "vllm")),
    ("GET", "/version"): Route(_version, ("vllm",)),
    ("POST", "/tokenize"): Route(_tokenize, ("llama.cpp", "vllm")),
    ("POST", "/detokenize"): Route(_detokenize, ("llama.cpp", "vllm")),
    ("POST", "/apply-template"): Route(_template, ("llama.cpp",)),
    ("POST", "/completion"): Route(_completion, ("llama.cpp",)),
    ("POST", "/v1/completions"): Route(_completions, ("llama.cpp", "vllm")),
}
