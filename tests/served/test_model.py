"""A model behind a server: what it gives to questions, what it is known by, and what happens when it changes.

The server is planted (`planted_model`): expected values are what was planted, or are computed by hand.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.served.planted_model import PlantedModel, content_of
from tests.served.planted_server import PlantedServer, Reply, Request, error

from senseprobe.errors import ModelError
from senseprobe.evaluate.served.address import ServingOptions
from senseprobe.evaluate.served.conversation import (
    CONSTRUCTS,
    LabelQuestion,
    ReplyQuestion,
    answer_questions,
    choice_questions,
    read_choice,
    read_replies,
    text_questions,
)
from senseprobe.evaluate.served.model import REFUSED, STOPPED, ServedModel

FIRST, SECOND = "The nurse said he was tired.", "The nurse said she was tired."
QUESTIONS = choice_questions(CONSTRUCTS["likely"], FIRST, SECOND)


def _opened(server: PlantedServer, folder: Path, ability: str = "chat", **options: Any) -> ServedModel:  # noqa: ANN401
    return ServedModel.open(server.spec, ability=ability, options=ServingOptions(**options), store=folder)


def _after(number: int, changed: Callable[[Reply], Reply]) -> Callable[[Request, Reply], Reply]:
    """Return a twist of chat answers from the one with a number on."""
    seen: list[int] = []

    def twist(request: Request, reply: Reply) -> Reply:
        seen.extend([1] * (request.path == "/v1/chat/completions"))
        return changed(reply) if len(seen) > number and request.path == "/v1/chat/completions" else reply

    return twist


@pytest.mark.parametrize("kind", ["openai", "llama.cpp", "vllm"])
def test_a_choice_is_what_was_planted(kind: str, tmp_path: Path) -> None:
    """Content, position and label's prior of a pair, from eight answers."""
    with PlantedServer(PlantedModel(position=0.5, prior=0.25), kind=kind) as server, _opened(server, tmp_path) as model:
        weights = model.weigh_labels(QUESTIONS)
        assert model.drift() == ""
    content, position, prior, *_ = read_choice([own for own in weights if own])
    assert content == pytest.approx(content_of(FIRST, SECOND), abs=1e-6)
    assert (position, prior) == pytest.approx((0.5, 0.25), abs=1e-6)
    assert weights[0] is not None
    assert weights[0].mass == pytest.approx(0.9, abs=1e-6)
    assert model.noise == 0


@pytest.mark.parametrize("kind", ["llama.cpp", "vllm"])
def test_forced_replies_are_what_was_planted(kind: str, tmp_path: Path) -> None:
    """Content and position from four replies."""
    questions = answer_questions(CONSTRUCTS["likely"], FIRST, SECOND)
    with PlantedServer(PlantedModel(position=0.5), kind=kind) as server, _opened(server, tmp_path) as model:
        logs = [own for own in model.weigh_replies(questions) if own is not None]
    assert read_replies(logs) == pytest.approx((content_of(FIRST, SECOND), 0.5), abs=1e-6)


def test_one_request_serves_choice_and_text(tmp_path: Path) -> None:
    """The four questions of a text are among the eight of a choice, and are not asked again."""
    with PlantedServer() as server, _opened(server, tmp_path) as model:
        model.weigh_labels(QUESTIONS)
        asked = server.answered
        answers = model.answer(text_questions(CONSTRUCTS["likely"], FIRST, SECOND))
        assert server.answered == asked
    assert all(own and own.text[0] in "AB12" for own in answers)


def test_a_second_run_asks_only_the_fingerprint(tmp_path: Path) -> None:
    """Identity and answers are the same, and no question of a row is asked."""
    with PlantedServer(kind="llama.cpp") as server:
        with _opened(server, tmp_path) as model:
            first, identity = model.weigh_labels(QUESTIONS), model.identity
        with _opened(server, tmp_path) as model:
            asked = server.answered
            assert model.weigh_labels(QUESTIONS) == first
            assert server.answered == asked
            assert model.identity == identity
    assert identity["answered"] == "planted.gguf"
    assert "/home" not in json.dumps(identity)


def test_noise_does_not_make_another_identity(tmp_path: Path) -> None:
    """The digits of a fingerprint change, and it is known all the same; so are the answers."""
    with PlantedServer(PlantedModel(noise=0.02)) as server:
        with _opened(server, tmp_path) as model:
            first, identity = model.weigh_labels(QUESTIONS), model.identity
            assert 0 < model.noise < 0.1
        with _opened(server, tmp_path) as model:
            assert model.identity == identity
            assert model.weigh_labels(QUESTIONS) == first


def test_another_model_under_the_same_name_is_another_identity(tmp_path: Path) -> None:
    """Only its numbers tell: it answers anew."""
    with PlantedServer(PlantedModel(position=0.5)) as server:
        with _opened(server, tmp_path) as model:
            identity = model.identity
            model.weigh_labels(QUESTIONS)
        server.model = PlantedModel(position=0.7)
        with _opened(server, tmp_path) as model:
            assert model.identity != identity
            assert {**model.identity, "vector": ""} == {**identity, "vector": ""}
            asked = server.answered
            model.weigh_labels(QUESTIONS)
            assert server.answered == asked + 8


def test_a_model_that_changes_during_the_run_is_noticed_at_its_end(tmp_path: Path) -> None:
    """Its numbers change, its name does not."""
    with PlantedServer(PlantedModel(position=0.5)) as server, _opened(server, tmp_path) as model:
        model.weigh_labels(QUESTIONS)
        server.model = PlantedModel(position=0.7)
        model.weigh_labels(choice_questions(CONSTRUCTS["say"], FIRST, SECOND))
        assert "changed by 0." in model.drift()
        assert model.drift() == model.drift()


def test_a_change_is_noticed_during_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every so many requests (here 8 instead of 1,000); from then on nothing is asked, and nothing kept."""
    monkeypatch.setattr("senseprobe.evaluate.served.model._OFTEN", 8)
    said: list[str] = []
    with (
        PlantedServer(PlantedModel(position=0.5)) as server,
        ServedModel.open(server.spec, ability="chat", store=tmp_path, notify=said.append) as model,
    ):
        model.weigh_labels(QUESTIONS)
        assert not said
        server.model = PlantedModel(position=0.7)
        model.weigh_labels(choice_questions(CONSTRUCTS["say"], FIRST, SECOND))
        assert any("changed" in text for text in said)
        assert model.client.store is None
        asked = len(server.log)
        assert {*model.weigh_labels(QUESTIONS), *model.answer(QUESTIONS[:4])} == {None}
        assert model.why(QUESTIONS[0].prompt) == STOPPED
        assert len(server.log) == asked
        server.model = PlantedModel(position=0.5)
        assert model.drift()


def test_answers_of_a_changed_model_are_not_used_again(tmp_path: Path) -> None:
    """What was kept before the change was noticed may be of either model."""
    with PlantedServer(PlantedModel(position=0.5)) as server:
        with _opened(server, tmp_path) as model:
            server.model = PlantedModel(position=0.7)
            model.weigh_labels(QUESTIONS)
            assert model.drift()
        server.model = PlantedModel(position=0.5)
        with _opened(server, tmp_path) as model:
            asked = server.answered
            model.weigh_labels(QUESTIONS)
            assert server.answered == asked + 8


@pytest.mark.parametrize("part", ["model", "system_fingerprint"])
def test_another_name_in_an_answer_is_a_change(part: str, tmp_path: Path) -> None:
    """The server says that something else answers, which its numbers need not show."""
    with PlantedServer() as server, _opened(server, tmp_path) as model:
        server.twist = lambda request, reply: Reply({**reply.body, part: "another"}, reply.status)
        model.weigh_labels(QUESTIONS)
        assert "another" in model.drift()


def test_a_prompt_that_is_too_long_is_unanswered(tmp_path: Path) -> None:
    """The others have their weights; the reason is told."""
    long = LabelQuestion("word " * 2000, ("A", "B"))
    with PlantedServer(kind="llama.cpp", context=1500) as server, _opened(server, tmp_path) as model:
        weights = model.weigh_labels([QUESTIONS[0], long])
        assert weights[0] is not None
        assert weights[1] is None
        assert model.why(long.prompt) == "too long for the model"
        assert model.answer([long]) == [None]


def test_a_filter_is_a_refusal(tmp_path: Path) -> None:
    """A label has no weight then, and a text is a refused answer."""
    with PlantedServer() as server, _opened(server, tmp_path, stored=False) as model:
        server.fail(*[error(400, "content_filter", "the prompt was filtered")] * 2)
        assert model.weigh_labels(QUESTIONS[:1]) == [None]
        assert model.why(QUESTIONS[0].prompt) == REFUSED
        (answer,) = model.answer(QUESTIONS[:1])
        assert answer is not None
        assert answer.refused


def test_log_probabilities_that_stop_end_the_run(tmp_path: Path) -> None:
    """The probe saw them; an answer without is no answer to be counted."""

    def without(reply: Reply) -> Reply:
        choices = [{**reply.body["choices"][0], "logprobs": None}]
        return Reply({**reply.body, "choices": choices})

    with PlantedServer() as server, _opened(server, tmp_path) as model:
        server.twist = _after(0, without)
        with pytest.raises(ModelError, match="without log-probabilities"):
            model.weigh_labels(QUESTIONS)


def test_a_server_without_numbers_cannot_be_asked_to_choose(tmp_path: Path) -> None:
    """Texts can be had; the error names what the server does not do."""
    with PlantedServer(kind="transformers") as server, _opened(server, tmp_path) as model:
        with pytest.raises(ModelError, match=r"choice-likely.*log-probabilities"):
            model.weigh_labels(QUESTIONS)
        assert all(model.answer(QUESTIONS))
        with pytest.raises(ModelError, match="answer-likely"):
            model.weigh_replies([ReplyQuestion("a", "b")])
        assert model.drift() == ""


def test_likelihoods_are_those_of_the_server(tmp_path: Path) -> None:
    """Of each text the sum over its letters after the start token, which are the planted server's tokens."""
    planted = PlantedModel()
    text = "A cat."
    expected = sum(planted.steps("<|im_start|>", text))
    with PlantedServer(planted, kind="llama.cpp") as server, _opened(server, tmp_path, "causal") as model:
        assert model.likelihoods([text], start=True) == [pytest.approx((expected, 6, 6), abs=1e-9)]


def test_a_server_without_likelihoods_cannot_be_opened_for_them(tmp_path: Path) -> None:
    """It is named what was tried."""
    with PlantedServer() as server, pytest.raises(ModelError, match="echo"):
        _opened(server, tmp_path, "causal")


def test_several_requests_at_a_time_only_where_that_changes_nothing(tmp_path: Path) -> None:
    """Answers that change beside others are asked one at a time, unless that is accepted."""
    said: list[str] = []
    for accepted, expected in ((False, 1), (True, 3)):
        options = ServingOptions(concurrency=8, accept_noise=accepted)
        with PlantedServer(PlantedModel(near=0.3), kind="llama.cpp", slots=3, delay=0.01) as server:
            opened = ServedModel.open(server.spec, ability="chat", options=options, store=tmp_path, notify=said.append)
            with opened as model:
                assert [len(own) for own in model.portions(range(7))] == ([1] * 7 if expected == 1 else [3, 3, 1])
    assert [text for text in said if "one request at a time" in text]


def test_slots_bound_what_is_asked_at_once(tmp_path: Path) -> None:
    """More would only wait in the server's queue."""
    with PlantedServer(kind="llama.cpp", slots=2) as server, _opened(server, tmp_path, concurrency=8) as model:
        assert model.client.concurrency == 2
        model.weigh_labels(QUESTIONS)


def test_the_prompt_is_shown_as_it_was_sent(tmp_path: Path) -> None:
    """Word for word, with all its options."""
    with PlantedServer() as server, _opened(server, tmp_path) as model:
        assert model.dump_first_prompt() == ""
        model.weigh_labels(QUESTIONS)
        assert json.loads(model.dump_first_prompt()) in [request.body for request in server.asked()]


def test_a_thinking_model_can_be_asked_for_texts_alone(tmp_path: Path) -> None:
    """What it thinks is not in its answer, and has room."""

    def thinking(request: Request, reply: Reply) -> Reply:
        if not request.path.endswith("chat/completions") or reply.status != 200:
            return reply
        (choice,) = reply.body["choices"]
        message = {"role": "assistant", "content": f"<think>Well.</think>\n\n{choice['message']['content']}"}
        return Reply({**reply.body, "choices": [{**choice, "message": message, "logprobs": None}]})

    with PlantedServer(twist=thinking) as server, _opened(server, tmp_path) as model:
        with pytest.raises(ModelError, match="thinking"):
            model.weigh_labels(QUESTIONS)
        answers = model.answer(QUESTIONS)
        assert all(own and own.text[0] in "AB12" for own in answers)
        assert server.asked()[-1].body["max_tokens"] > 1000


def test_nothing_is_kept_where_that_is_not_wanted(tmp_path: Path) -> None:
    """No file, and each question is asked anew."""
    with PlantedServer() as server, _opened(server, tmp_path, stored=False) as model:
        model.weigh_labels(QUESTIONS[:1])
        asked = server.answered
        model.weigh_labels(QUESTIONS[:1])
        assert server.answered == asked + 1
    assert not [*tmp_path.iterdir()]
