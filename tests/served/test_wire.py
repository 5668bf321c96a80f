"""What is sent to servers, and what is read of their answers.

Expected values are written by hand from the formats of llama.cpp, vLLM, OpenAI, SGLang and transformers.
"""

import copy
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senseprobe.errors import ModelError
from senseprobe.evaluate.served import wire
from senseprobe.evaluate.served.json_values import model_name
from senseprobe.evaluate.served.wire import DIALECTS, Unanswered, chat_body, read_chat, read_failure


def _chat(**message: object) -> dict[str, Any]:
    """Return a chat completion as OpenAI's reference shows it, with three log-probabilities: .5, .25 and .125."""
    tops = [("A", math.log(0.5)), (" A", math.log(0.25)), ("B", math.log(0.125))]
    entries = [{"token": token, "logprob": log, "bytes": [*token.encode()]} for token, log in tops]
    return {
        "id": "x",
        "model": "m-1",
        "system_fingerprint": "fp_1",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "A. The cat", **message},
                "finish_reason": "length",
                "logprobs": {"content": [{"token": "A", "logprob": tops[0][1], "top_logprobs": entries}]},
            }
        ],
        "usage": {"prompt_tokens": 60, "completion_tokens": 16},
    }


def test_one_request_asks_for_label_and_text_greedily() -> None:
    """Temperature 0, twenty log-probabilities, sixteen tokens; no stream and no n."""
    body = chat_body("Hello", "m", DIALECTS["other"])
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hello"}],
        "temperature": 0,
        "seed": 0,
        "logprobs": True,
        "top_logprobs": 20,
        "max_tokens": 16,
    }


def test_the_prompt_cache_is_off_where_it_changes_answers() -> None:
    """Only llama.cpp knows the field; thinking is off wherever there is a switch."""
    assert chat_body("Hello", "m", DIALECTS["llama.cpp"])["cache_prompt"] is False
    assert "cache_prompt" not in chat_body("Hello", "m", DIALECTS["vLLM"])
    for kind in ("llama.cpp", "vLLM", "SGLang"):
        assert chat_body("Hello", "m", DIALECTS[kind])["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize(
    ("complaint", "gone", "there"),
    [
        ("Unsupported parameter: 'max_tokens', use 'max_completion_tokens'", "max_tokens", "max_completion_tokens"),
        ("logprobs are not supported with reasoning models", "top_logprobs", "seed"),
        ("Extra inputs are not permitted: seed", "seed", "logprobs"),
        ("Unexpected keys in the request: ['chat_template_kwargs']", "chat_template_kwargs", "seed"),
    ],
)
def test_a_field_that_a_server_complains_of_is_left_out(complaint: str, gone: str, there: str) -> None:
    """Complaints are worded as OpenAI, Mistral and transformers word them."""
    dialect = DIALECTS["vLLM"].adapted(complaint)
    assert dialect is not None
    body = chat_body("Hello", "m", dialect)
    assert gone not in body
    assert there in body


def test_a_complaint_about_anything_else_changes_nothing() -> None:
    """An unknown model is no matter of fields, and no field is left out twice."""
    dialect = DIALECTS["other"]
    assert dialect.adapted("the model does not exist") is None
    without = dialect.adapted("no logprobs here")
    assert without is not None
    assert without.adapted("no logprobs here") is None


def test_a_chat_completion_is_read() -> None:
    """All that is used of an answer."""
    answer = read_chat(_chat())
    assert answer.text == "A. The cat"
    assert answer.tops == pytest.approx({"A": math.log(0.5), " A": math.log(0.25), "B": math.log(0.125)})
    assert answer.first is not None
    assert answer.first[0] == "A"
    assert answer.first[1] == pytest.approx(math.log(0.5))
    assert (answer.read, answer.written, answer.model, answer.system) == (60, 16, "m-1", "fp_1")
    assert not answer.refused
    assert not answer.reasoning


def test_tokens_that_are_spelt_alike_are_added_up() -> None:
    """Parts of characters are all spelt with a replacement: .25 + .25 = .5."""
    body = _chat()
    entries = [{"token": "\ufffd", "logprob": math.log(0.25)}] * 2
    body["choices"][0]["logprobs"]["content"][0]["top_logprobs"] = entries
    assert read_chat(body).tops == {"\ufffd": pytest.approx(math.log(0.5))}


@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        ({"content": "<think>\nHm.\n</think>\n\nA. It"}, "A. It", "Hm."),
        ({"content": "<think>\nHm, this will"}, "", "Hm, this will"),
        ({"content": "[THINK]Hm.[/THINK]A. It"}, "A. It", "Hm."),
        ({"content": "A", "reasoning_content": "Hm."}, "A", "Hm."),
        ({"content": "A", "reasoning": "Hm."}, "A", "Hm."),
        ({"content": "A", "reasoning_content": None}, "A", ""),
        ({"content": [{"type": "text", "text": "A"}]}, "A", ""),
    ],
)
def test_thinking_is_kept_apart_from_the_answer(message: dict[str, object], text: str, reasoning: str) -> None:
    """As DeepSeek and Qwen, and Magistral, write it inline, vLLM and llama.cpp in a field of its own."""
    answer = read_chat(_chat(**message))
    assert (answer.text, answer.reasoning) == (text, reasoning)
    assert wire.thinks(answer) == bool(reasoning)


def test_a_refusal_is_marked() -> None:
    """A refusal object, and a filter that stopped the answer."""
    assert read_chat(_chat(content=None, refusal="I cannot.")).refused
    body = _chat(content="")
    body["choices"][0]["finish_reason"] = "content_filter"
    assert read_chat(body).refused


@pytest.mark.parametrize("log", [0.5, "-1", None, True, [], -float("inf")])
def test_impossible_log_probabilities_are_refused(log: object) -> None:
    """Positive ones, texts, and what is no number."""
    body = _chat()
    body["choices"][0]["logprobs"]["content"][0]["top_logprobs"][1]["logprob"] = log
    with pytest.raises(ModelError, match="log-probability"):
        read_chat(body)


def test_probabilities_above_one_are_refused() -> None:
    """Three tokens of probability .5 each."""
    body = _chat()
    for own in body["choices"][0]["logprobs"]["content"][0]["top_logprobs"]:
        own["logprob"] = math.log(0.5)
    with pytest.raises(ModelError, match="sum to more than 1"):
        read_chat(body)


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "ok",
        {},
        {"choices": []},
        {"choices": "A"},
        {"choices": [None]},
        {"choices": [{"message": "A"}]},
        {"choices": [{"message": {"content": 5}}]},
        {"choices": [{"message": {"content": "A"}, "logprobs": {"content": ["A"]}}]},
        {"choices": [{"message": {"content": "A"}, "logprobs": {"content": [{"token": 5, "logprob": -1}]}}]},
    ],
)
def test_what_is_no_chat_completion_is_a_model_error(body: object) -> None:
    """No other error comes out."""
    with pytest.raises(ModelError, match="cannot be used"):
        read_chat(body)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda own: st.lists(own, max_size=3) | st.dictionaries(st.text(max_size=5), own, max_size=3),
    max_leaves=6,
)


def _places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to each part of a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, own in inner for place in _places(own, (*path, key)))]


@given(place=st.sampled_from(_places(_chat())[1:]), value=_JSON)
def test_any_part_may_be_anything(place: tuple[Any, ...], value: object) -> None:
    """A chat completion with one part replaced is read, or a ModelError."""
    body: Any = copy.deepcopy(_chat())
    inner = body
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    try:
        answer = read_chat(body)
    except ModelError:
        return
    assert isinstance(answer.text, str)
    assert all(isinstance(log, float) and log <= 0 for log in answer.tops.values())


@given(_JSON)
def test_failures_are_read_or_are_model_errors(body: object) -> None:
    """Whatever stands in the body of a 400."""
    try:
        assert isinstance(read_failure(400, body), Unanswered)
    except ModelError:
        return


def test_a_prompt_that_is_too_long_has_a_reason() -> None:
    """As llama.cpp, OpenAI and vLLM say it."""
    llama = {"error": {"code": 400, "type": "exceed_context_size_error", "message": "…", "n_ctx": 512}}
    openai = {"error": {"code": "context_length_exceeded", "message": "…"}}
    vllm = {"message": "This model's maximum context length is 512 tokens.", "type": "BadRequestError"}
    for body in (llama, openai, vllm):
        assert read_failure(400, body) == Unanswered("too long for the model")


def test_a_filter_counts_as_a_refusal() -> None:
    """As Azure says it."""
    assert read_failure(400, {"error": {"code": "content_filter", "message": "…"}}).refused


def test_other_failures_end_the_run() -> None:
    """A wrong model fails for every prompt."""
    with pytest.raises(ModelError, match="HTTP 404"):
        read_failure(404, {"error": {"message": "model not found"}})


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("/home/someone/models/smol-Q4_1.gguf", "smol-Q4_1.gguf"),
        ("C:\\models\\smol.gguf", "smol.gguf"),
        ("models/smol.gguf", "smol.gguf"),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("/home/someone/smol@main", "smol@main"),
        (5, ""),
    ],
)
def test_paths_of_models_are_cut(name: object, cut: str) -> None:
    """A server's folders are nobody's business; names of the Hub stay whole."""
    assert model_name(name) == cut
