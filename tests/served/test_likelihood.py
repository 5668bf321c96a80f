"""Ways to exact log-likelihoods, against planted servers that have them, ignore them, or lie.

Expected values are the planted model's own, which it gives for each letter (`PlantedModel.steps`).
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.served.planted_model import START, render
from tests.served.planted_server import PlantedServer, Reply, Request

from senseprobe.errors import ModelError
from senseprobe.evaluate.scorers.causal import LL, LL_BYTE, LL_MEAN, LL_NO_START
from senseprobe.evaluate.served.address import DEFAULT, parse
from senseprobe.evaluate.served.client import Client
from senseprobe.evaluate.served.conversation import ReplyQuestion
from senseprobe.evaluate.served.likelihood import (
    FAILED,
    PASSED,
    SKIPPED,
    Route,
    Search,
    find_route,
)
from senseprobe.evaluate.served.model import ServedModel
from senseprobe.evaluate.served.server_facts import read_facts
from senseprobe.evaluate.units import Unit

TURN = "Say hello."
TEXTS = ("She is an engineer.", "He is an engineer.", "Ä b")
WAYS = ("prompt_logprobs", "echo", "token grammar", "logit_bias")

Json = dict[str, Any]
Twist = Callable[[Request, Reply], Reply]


@contextmanager
def searched(server: PlantedServer) -> Iterator[Search]:
    """What is found at a server, with a client that is open."""
    with server, Client(parse(server.spec), DEFAULT) as client:
        asked = {"model": server.name, "messages": [{"role": "user", "content": TURN}], "max_tokens": 1}
        usage = client.post("/v1/chat/completions", asked, store=False).body["usage"]
        yield find_route(client, read_facts(client), (TURN, usage["prompt_tokens"]))


@contextmanager
def route_of(server: PlantedServer) -> Iterator[Route]:
    """The route that a server has."""
    with searched(server) as search:
        assert search.route is not None
        yield search.route


def without(*fields: str) -> Twist:
    """A server that ignores fields of a request, and answers 200."""

    def twist(request: Request, reply: Reply) -> Reply:
        if isinstance(reply.body, dict) and {*fields} & {*(request.body or {})}:
            for choice in reply.body.get("choices", ()):
                choice.pop("prompt_logprobs", None)
                for name in ("tokens", "token_logprobs"):
                    if "logprobs" in choice:
                        choice["logprobs"][name] = choice["logprobs"][name][-1:]
        return reply

    return twist


def told(path: str, change: Callable[[Json, Json], object]) -> Twist:
    """A server that changes the body of its answers at a path, given that of the request."""

    def twist(request: Request, reply: Reply) -> Reply:
        if request.path == path and reply.status == 200:
            change(request.body, reply.body)
        return reply

    return twist


def _free(asked: Json, body: Json) -> None:
    """Make of a server one that writes what it likes where a grammar is asked for."""
    if asked.get("grammar"):
        body["completion_probabilities"][0]["id"] += 1


def states(search: Search) -> list[str]:
    """How the trials ended, in the order of `WAYS`."""
    assert tuple(trial.method for trial in search.trials) == WAYS
    return [trial.state for trial in search.trials]


# --- what is found, and what it gives -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        (lambda: PlantedServer(kind="vllm"), [PASSED, SKIPPED, SKIPPED, SKIPPED]),
        (lambda: PlantedServer(kind="vllm", twist=without("prompt_logprobs")), [FAILED, PASSED, SKIPPED, SKIPPED]),
        (lambda: PlantedServer(kind="llama.cpp"), [FAILED, FAILED, PASSED, SKIPPED]),
        (
            lambda: PlantedServer(kind="llama.cpp", twist=told("/completion", _free)),
            [FAILED, FAILED, FAILED, PASSED],
        ),
    ],
    ids=WAYS,
)
def test_every_way_gives_the_models_own_numbers(server: Callable[[], PlantedServer], expected: list[str]) -> None:
    """With a start token and without; tokens and bytes are counted, the first token's apart."""
    with searched(own := server()) as search:
        assert states(search) == expected
        route = search.route
        assert route is not None
        steps = [own.model.steps(START, text) for text in TEXTS]
        assert route.of_texts(TEXTS) == [
            pytest.approx((sum(logs), len(text), len(text.encode())), rel=0, abs=1e-9)
            for logs, text in zip(steps, TEXTS, strict=True)
        ]
        bare = [own.model.steps("", text)[1:] for text in TEXTS]
        assert route.of_texts(TEXTS, start=False) == [
            pytest.approx((sum(logs), len(text) - 1, len(text[1:].encode())), rel=0, abs=1e-9)
            for logs, text in zip(bare, TEXTS, strict=True)
        ]


@pytest.mark.parametrize("kind", ["llama.cpp", "vllm"])
def test_replies_are_forced_in_the_template(kind: str) -> None:
    """Log P of each letter of the reply after the rendered turn; the end of the turn is not in it."""
    questions = [ReplyQuestion("Say it.", reply) for reply in ("So be it.", "No.")]
    with route_of(server := PlantedServer(kind=kind)) as route:
        before = render([{"role": "user", "content": "Say it."}])
        expected = [sum(server.model.steps(before, question.reply)) for question in questions]
        assert route.of_replies(questions) == pytest.approx(expected, rel=0, abs=1e-9)


def test_an_echo_of_texts_where_tokens_are_not_told() -> None:
    """No ``/tokenize``: the tokens are those of the echo, and the server's own start token is found in it."""
    hidden = {"/tokenize", "/detokenize"}

    def twist(request: Request, reply: Reply) -> Reply:
        return Reply({"detail": "Not Found"}, 404) if request.path in hidden else reply

    with searched(server := PlantedServer(kind="vllm", twist=twist)) as search:
        assert states(search) == [SKIPPED, PASSED, SKIPPED, SKIPPED]
        assert search.route is not None
        text = TEXTS[0]
        expected = (sum(server.model.steps(START, text)), len(text), len(text))
        assert search.route.of_texts([text]) == [pytest.approx(expected, rel=0, abs=1e-9)]
        with pytest.raises(ModelError, match="puts a start token before each text"):
            search.route.of_texts([text], start=False)
        with pytest.raises(ModelError, match="has no /tokenize"):
            search.route.of_replies([ReplyQuestion("Say it.", "No.")])


def test_a_server_of_chat_completions_only_has_none() -> None:
    """Nothing is found, and each way says why."""
    with searched(PlantedServer(kind="openai")) as search:
        assert (search.route, states(search)) == (None, [SKIPPED, FAILED, SKIPPED, SKIPPED])
        assert search.trial("echo").read == "HTTP 404: File Not Found"


def test_what_cannot_be_scored_has_a_reason() -> None:
    """No token, and more than the context has: no request is sent for either."""
    with route_of(server := PlantedServer(kind="llama.cpp", context=100)) as route:
        asked = len(server.log)
        assert route.of_texts(["", "a" * 100, "a" * 99])[:2] == [None, None]
        assert [request.path for request in server.log[asked:]] == ["/tokenize"] * 3 + ["/completion"]
        assert [route.why(text) for text in ("", "a" * 100)] == ["no token to score", "too long for the model"]


# --- servers that are not believed ----------------------------------------------------------------------------------


def _forced_of(body: Json) -> list[Any]:
    """The places of an answer of llama.cpp's own route."""
    places: list[Any] = body["completion_probabilities"]
    return places


LIES: dict[str, tuple[Callable[[Json, Json], object], str]] = {
    "after the grammar": (
        lambda asked, body: [place.update(logprob=0.0) for place in _forced_of(body)],
        "two different sentences get the same log-probabilities",
    ),
    "above zero": (
        lambda asked, body: [place.update(logprob=0.5) for place in _forced_of(body)],
        "0.5 is not a log-probability",
    ),
    "other tokens": (
        lambda asked, body: [place.update(id=7) for place in _forced_of(body)],
        "the server does not write the forced tokens",
    ),
    "no number": (
        lambda asked, body: [place.update(logprob=None) for place in _forced_of(body)],
        "None is not a log-probability",
    ),
    "nothing": (
        lambda asked, body: body.pop("completion_probabilities", None),
        "the answer has no completion_probabilities",
    ),
    "of what it would have written": (
        lambda asked, body: _forced_of(body)[-1].update(logprob=-1.0 - len(str(asked.get("logit_bias", "")))),
        "the token grammar and logit_bias are",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_grammar_that_lies_is_not_believed(lie: str) -> None:
    """It answers 200 each time; what was read is said."""
    change, read = LIES[lie]
    with searched(PlantedServer(kind="llama.cpp", twist=told("/completion", change))) as search:
        trial = search.trial("token grammar")
        assert (trial.state, trial.read[: len(read)]) == (FAILED, read)


def test_an_answer_that_changes_with_each_repeat_is_not_believed() -> None:
    """The sum of the same sentence is another one the second time."""
    count = iter(range(10**6))
    twist = told("/completion", lambda asked, body: _forced_of(body)[0].update(logprob=-2.0 - next(count)))
    with searched(PlantedServer(kind="llama.cpp", twist=twist)) as search:
        assert search.route is None
        assert re.match(r"the same tokens .* differ by \S+ nats", search.trial("token grammar").read)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body["choices"][0]["prompt_logprobs"].pop(),
        lambda body: body["choices"][0]["prompt_logprobs"].__setitem__(0, {"1": {"logprob": -1.0}}),
        lambda body: body["choices"][0].update(prompt_logprobs=[None, *[{"1": {"logprob": -1.0}}] * 40]),
        lambda body: body["choices"].clear(),
        lambda body: body.update(choices="none"),
    ],
    ids=["too few", "the first has one", "too many", "no choice", "no list"],
)
def test_prompt_logprobs_that_do_not_fit_the_prompt(change: Callable[[Json], object]) -> None:
    """They are not those of the prompt that was sent: the echo, which is right, is taken."""

    def twist(request: Request, reply: Reply) -> Reply:
        if "prompt_logprobs" in (request.body or {}):
            change(reply.body)
        return reply

    with searched(PlantedServer(kind="vllm", twist=twist)) as search:
        assert states(search)[:2] == [FAILED, PASSED]


def test_an_echo_of_another_text_is_not_believed() -> None:
    """The server counts fewer tokens in the prompt than were sent: it has cut them."""
    twists = (
        without("prompt_logprobs"),
        told("/v1/completions", lambda _, body: body["usage"].update(prompt_tokens=3)),
    )

    def twist(request: Request, reply: Reply) -> Reply:
        return twists[1](request, twists[0](request, reply))

    with searched(PlantedServer(kind="vllm", twist=twist)) as search:
        assert search.route is None
        assert "by the server's count" in search.trial("echo").read


def test_replies_need_the_servers_own_template() -> None:
    """Where the chat route reads another number of tokens, what would be forced is after another prompt."""

    def twist(request: Request, reply: Reply) -> Reply:
        if request.path == "/v1/chat/completions":
            reply.body["usage"]["prompt_tokens"] += 9
        return reply

    with route_of(PlantedServer(kind="llama.cpp", twist=twist)) as route:
        assert "by the template has" in route.replies
        with pytest.raises(ModelError, match="cannot be forced to give a reply"):
            route.of_replies([ReplyQuestion("Say it.", "No.")])


def test_a_server_that_stops_doing_what_it_did() -> None:
    """It was proven, and later has no log-probabilities: an error that names it, and no number."""
    broken: list[bool] = []

    def twist(request: Request, reply: Reply) -> Reply:
        if broken and request.path == "/completion":
            del reply.body["completion_probabilities"]
        return reply

    with route_of(server := PlantedServer(kind="llama.cpp", twist=twist)) as route:
        broken.append(True)
        with pytest.raises(ModelError, match=f"{server.origin} no longer answers as in the probe"):
            route.of_texts(TEXTS)


# --- scorers --------------------------------------------------------------------------------------------------------


def test_scorers_of_a_served_model() -> None:
    """`ll`, per token and per byte, and without a start token; an empty text has none."""
    units = [*map(Unit, TEXTS), Unit("")]
    with PlantedServer(kind="llama.cpp") as server, ServedModel.open(server.spec, ability="causal") as model:
        sums = [sum(server.model.steps(START, text)) for text in TEXTS]
        assert LL.numbers(model, units)[:-1, 0] == pytest.approx(sums, rel=0, abs=1e-9)
        lengths, sizes = [len(text) for text in TEXTS], [len(text.encode()) for text in TEXTS]
        for scorer, divisors in ((LL_MEAN, lengths), (LL_BYTE, sizes)):
            expected = [total / divisor for total, divisor in zip(sums, divisors, strict=True)]
            assert scorer.numbers(model, units)[:-1, 0] == pytest.approx(expected, rel=0, abs=1e-9)
        bare = [sum(server.model.steps("", text)[1:]) for text in TEXTS]
        assert LL_NO_START.numbers(model, units)[:-1, 0] == pytest.approx(bare, rel=0, abs=1e-9)
        assert list(LL.reasons(model, [Unit("")])) == ["no token to score"]
