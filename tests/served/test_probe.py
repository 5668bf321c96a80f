"""The probe: each of the thirteen checks against a server that passes and one that fails it, and what it tells.

The servers are planted (`planted_server`) and lie by a twist of their replies; expected values are what was planted.
"""

import math
from collections.abc import Callable
from typing import Any

import pytest
from tests.served.planted_model import PlantedModel
from tests.served.planted_server import TEMPLATE, PlantedServer, Reply, Request, error

from senseprobe.errors import ModelError
from senseprobe.evaluate.served.address import ServingOptions, parse
from senseprobe.evaluate.served.capabilities import CHECKS, CHOICES, LIKELIHOODS, ProbeReport
from senseprobe.evaluate.served.client import Client
from senseprobe.evaluate.served.fingerprint import Fingerprint, change, fixed_questions
from senseprobe.evaluate.served.probe import probe

Change = Callable[[dict[str, Any]], None]


def _probed(server: PlantedServer, spec: str = "", **options: Any) -> ProbeReport:  # noqa: ANN401
    with Client(parse(spec or server.spec), ServingOptions(**options)) as client:
        return probe(client)


def _liar(changed: Change, *, path: str = "/v1/chat/completions", first: int = 0) -> PlantedServer:
    """Return a server whose answers of a path are changed, from one on."""
    seen: list[int] = []

    def twist(request: Request, reply: Reply) -> Reply:
        if request.path != path or reply.status != 200:
            return reply
        seen.append(1)
        if len(seen) > first:
            changed(reply.body)
        return reply

    return PlantedServer(twist=twist)


def _tops(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the log-probabilities of the first token, to be changed."""
    tops: list[dict[str, Any]] = body["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    return tops


def test_an_honest_server_passes_what_it_has() -> None:
    """Its kind, its slots and its template are told, and all twelve checks are there."""
    with PlantedServer(kind="llama.cpp") as server:
        report = _probed(server)
    assert [check.id for check in report.checks] == [*CHECKS]
    states = {check.id: check.state for check in report.checks}
    passed = ("model", "logprobs", "raw", "repeats", "usage", "thinking", "answers", "forced", "limits")
    assert {name for name, state in states.items() if state == "passed"} == {*passed}
    # llama.cpp ignores fields that it does not know, echo among them (CHAT.md, 1.1).
    assert {name for name, state in states.items() if state == "failed"} >= {"nonsense", "echo"}
    assert not any(report.scorers().values())
    assert (report.facts.kind, report.facts.slots, report.facts.template) == ("llama.cpp", 4, TEMPLATE)
    assert report.answered == ("planted.gguf",)
    assert report.noise.rms == 0
    assert report.concurrent


@pytest.mark.parametrize(("kind", "most"), [("llama.cpp", 34), ("vllm", 26), ("openai", 24), ("transformers", 24)])
def test_a_probe_asks_little(kind: str, most: int) -> None:
    """About thirty requests (issue), whoever pays them; all twelve checks are there."""
    with PlantedServer(kind=kind) as server:
        report = _probed(server)
        assert report.requests == len(server.log) <= most
    assert [check.id for check in report.checks] == [*CHECKS]


@pytest.mark.parametrize(
    ("kind", "named"), [("openai", "other"), ("llama.cpp", "llama.cpp"), ("vllm", "vLLM"), ("transformers", "other")]
)
def test_the_kind_is_read_of_what_the_server_has(kind: str, named: str) -> None:
    """By /props, by who owns the model, by the version."""
    with PlantedServer(kind=kind) as server:
        report = _probed(server)
    assert report.facts.kind == named
    usable = {scorer for scorer in (*CHOICES, "text-likely") if not report.lacking(scorer)}
    assert usable == ({"text-likely"} if kind == "transformers" else {*CHOICES, "text-likely"})


def test_1_another_model_answers() -> None:
    """It is noted, and who answers stands in the identity; hosted models answer with a date at their name."""
    with _liar(lambda body: body.update(model="another")) as server:
        assert _probed(server).check("model").state == "failed"
    with _liar(lambda body: body.update(model="planted-2026-11-01")) as server:
        assert _probed(server).check("model").state == "passed"


def test_1_two_models_take_turns() -> None:
    """As behind a balancer: no figure is of either."""
    turns = iter(range(1000))
    with _liar(lambda body: body.update(model=f"m{next(turns) % 2}")) as server:
        report = _probed(server)
    assert "several models answer: m0, m1" in report.check("answers").read
    assert all(report.lacking(scorer) for scorer in (*CHOICES, "text-likely"))


def test_1_one_of_several_models_is_to_be_named() -> None:
    """Which one is meant is not guessed; the only one is."""

    def two(request: Request, reply: Reply) -> Reply:
        return Reply({"data": [{"id": "a"}, {"id": "b"}]}) if request.path == "/v1/models" else reply

    with PlantedServer(twist=two) as server, pytest.raises(ModelError, match="several models: add one of a, b"):
        _probed(server, f"openai:{server.url}")
    with PlantedServer() as server:
        assert _probed(server, f"openai:{server.url}").model == "planted"


def test_2_silence_about_a_nonsense_field_proves_nothing() -> None:
    """A server that refuses it passes, and is asked without fields of others."""
    with PlantedServer(strict=True) as server:
        assert _probed(server).check("nonsense").state == "passed"
    with PlantedServer() as server:
        assert _probed(server).check("nonsense").state == "failed"


def _positive(body: dict[str, Any]) -> None:
    _tops(body)[0]["logprob"] = 0.5


def _unsorted(body: dict[str, Any]) -> None:
    _tops(body).reverse()


def _few(body: dict[str, Any]) -> None:
    del _tops(body)[5:]


def _none(body: dict[str, Any]) -> None:
    body["choices"][0]["logprobs"] = None


def _improbable(body: dict[str, Any]) -> None:
    for top in _tops(body):
        top["logprob"] -= 10
    body["choices"][0]["logprobs"]["content"][0]["logprob"] -= 10


def _absent(body: dict[str, Any]) -> None:
    body["choices"][0]["logprobs"]["content"][0].update(token="elsewhere", bytes=[*b"elsewhere"])  # noqa: S106


def _unlikely(body: dict[str, Any]) -> None:
    last = _tops(body)[-1]
    body["choices"][0]["logprobs"]["content"][0].update(token=last["token"], bytes=last["bytes"])


@pytest.mark.parametrize(
    ("changed", "read"),
    [
        (_none, "the server does not return them"),
        (_few, "only 5 were returned, and 20 are needed"),
        (_unsorted, "not in order"),
        (_improbable, "sum to"),
        (_absent, "not among them"),
        (_unlikely, "not the likeliest"),
    ],
)
def test_3_log_probabilities_that_cannot_be_used(changed: Change, read: str) -> None:
    """Choices go, texts stay."""
    with _liar(changed) as server:
        report = _probed(server)
    assert report.check("logprobs").state == "failed"
    assert read in report.check("logprobs").read
    assert all("log-probabilities" in report.lacking(scorer) for scorer in CHOICES)
    assert report.lacking("text-likely") == ""


def test_3_impossible_log_probabilities_are_no_answer() -> None:
    """A probability above 1 is no chat at all."""
    with _liar(_positive) as server:
        report = _probed(server)
    assert "above 0" in report.check("answers").read
    assert all(report.scorers().values())


def test_4_log_probabilities_after_temperature() -> None:
    """At temperature 1.5 they come divided by it, and normalised again."""

    def twist(request: Request, reply: Reply) -> Reply:
        temperature = request.body.get("temperature") if isinstance(request.body, dict) else None
        if request.path == "/v1/chat/completions" and temperature:
            logs = [top["logprob"] / temperature for top in _tops(reply.body)]
            total = math.log(sum(map(math.exp, logs)))
            for top, log in zip(_tops(reply.body), logs, strict=True):
                top["logprob"] = log - total
        return reply

    with PlantedServer(twist=twist) as server:
        report = _probed(server)
    assert report.check("raw").state == "failed"
    assert "before temperature" in report.lacking("choice-likely")
    assert report.lacking("text-likely") == ""


def test_5_noise_is_measured_where_it_is() -> None:
    """Between repeats, beside others, and with the prompt cache: about as large as planted, and nowhere else."""
    with PlantedServer(PlantedModel(noise=0.1)) as server:
        noise = _probed(server).noise
    assert noise.repeats
    assert 0.03 < noise.rms < 0.4
    with PlantedServer(PlantedModel(near=0.1), kind="llama.cpp", delay=0.01) as server:
        report = _probed(server)
    assert (report.noise.repeats, report.noise.after, report.noise.cache) == (0, 0, 0)
    assert report.noise.neighbours
    assert not report.concurrent
    with PlantedServer(PlantedModel(cached=0.1), kind="llama.cpp") as server:
        report = _probed(server)
    assert (report.noise.repeats, report.noise.after, report.noise.neighbours) == (0, 0, 0)
    assert report.noise.cache == pytest.approx(report.noise.rms, rel=0.5)
    assert report.concurrent


def test_5_answers_that_are_others_each_time() -> None:
    """Noise of several nats is another model each time."""
    with PlantedServer(PlantedModel(noise=10.0)) as server:
        report = _probed(server)
    assert report.check("repeats").state == "failed"
    assert "the same answer" in report.lacking("choice-likely")
    assert "the same answer" in report.lacking("text-likely")


def test_5_another_text_each_time() -> None:
    """Without log-probabilities, texts are compared: at temperature 0 there is one."""
    count = iter(range(1000))

    def changed(body: dict[str, Any]) -> None:
        body["choices"][0]["logprobs"] = None
        body["choices"][0]["message"]["content"] += str(next(count))

    with _liar(changed) as server:
        report = _probed(server)
    assert "a different text" in report.lacking("text-likely")


def test_a_failed_check_is_told_in_sentences() -> None:
    """Which check failed, what was read, and what to do; advice that several have stands once."""
    with _liar(_few) as server:
        report = _probed(server)
    lacking = report.lacking("choice-likely")
    assert f'the check "{CHECKS["logprobs"]}" failed: only 5 were returned, and 20 are needed' in lacking
    assert lacking.count("score text-likely") == 1


def test_6_tokens_that_are_not_counted() -> None:
    """They are not there, or the same for every prompt; no scorer needs them."""
    with _liar(lambda body: body.pop("usage")) as server:
        report = _probed(server)
    assert report.check("usage").state == "failed"
    assert report.tokens is None
    with _liar(lambda body: body["usage"].update(prompt_tokens=10)) as server:
        report = _probed(server)
    assert report.check("usage").state == "failed"
    assert report.lacking("choice-likely") == ""


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_7_thinking_first(name: str) -> None:
    """The first token is no answer then."""
    with _liar(lambda body: body["choices"][0]["message"].update({name: "Let me think."})) as server:
        report = _probed(server)
    assert report.check("thinking").state == "failed"
    assert "thinking" in report.lacking("choice-likely")
    assert report.lacking("text-likely") == ""


def test_8_empty_from_the_second_answer_on() -> None:
    """As a binding of llama.cpp was measured to do (CHAT.md, 6)."""

    def empty(body: dict[str, Any]) -> None:
        body["choices"][0]["message"]["content"] = ""
        body["choices"][0]["logprobs"] = {"content": []}

    with _liar(empty, first=1) as server:
        report = _probed(server)
    assert report.check("answers").state == "failed"
    assert report.check("repeats").state == "failed"
    assert all(report.lacking(scorer) for scorer in (*CHOICES, "text-likely"))


def test_8_no_chat_at_all() -> None:
    """A server of a model without a template still has likelihoods."""

    def no_chat(request: Request, reply: Reply) -> Reply:
        return error(400, "bad_request", "no chat template") if "chat" in request.path else reply

    with PlantedServer(kind="llama.cpp", twist=no_chat) as server:
        report = _probed(server)
    assert "no chat template" in report.check("answers").read
    assert report.lacking("ll") == ""
    assert report.lacking("text-likely")
    assert len(report.fingerprint.prompts) == len(fixed_questions())


@pytest.mark.parametrize(("kind", "check"), [("vllm", "prompt-logprobs"), ("llama.cpp", "forced")])
def test_9_to_11_likelihoods_by_what_is_proven(kind: str, check: str) -> None:
    """The ways are `find_route`'s, whose tests are beside it; a hosted server has none."""
    with PlantedServer(kind=kind) as server:
        report = _probed(server)
    assert report.check(check).state == "passed"
    assert not any(report.lacking(scorer) for scorer in LIKELIHOODS)
    with PlantedServer() as server:
        report = _probed(server)
    assert all("echo" in report.lacking(scorer) for scorer in (*LIKELIHOODS, "answer-likely"))


def test_9_likelihoods_with_the_start_token_that_a_server_has() -> None:
    """Without /tokenize the tokens are those of the echo: it has a start token in all texts, or in none."""
    for start in (True, False):

        def twist(request: Request, reply: Reply, start: bool = start) -> Reply:
            if request.path == "/tokenize":
                return error(404, "not_found", "File Not Found")
            if request.path == "/v1/completions" and reply.status == 200 and not start:
                told = reply.body["choices"][0]["logprobs"]
                del told["tokens"][0], told["token_logprobs"][0]
                told["token_logprobs"][0] = None
                reply.body["usage"]["prompt_tokens"] -= 1
            return reply

        with PlantedServer(kind="vllm", twist=twist) as server:
            report = _probed(server)
        assert report.check("echo").state == "passed"
        assert {name for name in LIKELIHOODS if not report.lacking(name)} == {
            name for name in LIKELIHOODS if name.endswith("-no-start") is not start
        }
        assert "has no /tokenize" in report.lacking("answer-likely")


def test_a_tokenizer_that_tells_no_tokens_is_none() -> None:
    """An answer of no tokens for any text: what needs the server's tokens is left out, and the probe goes on."""

    def twist(request: Request, reply: Reply) -> Reply:
        if request.path == "/tokenize" and reply.status == 200:
            reply.body["tokens"] = []
        return reply

    with PlantedServer(kind="vllm", twist=twist) as server:
        report = _probed(server)
    assert report.lacking("answer-likely")
    assert report.check("echo").state == "passed"


def test_12_a_prompt_that_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit is to be refused, not cut: else rows would be scored by half."""
    with PlantedServer(kind="llama.cpp", context=500) as server:
        assert _probed(server).check("limits").state == "passed"
    with PlantedServer(kind="llama.cpp", context=500) as server:

        def cut(request: Request, reply: Reply) -> Reply:
            return (
                Reply(server.chat({**request.body, "messages": [{"role": "user", "content": "cut"}]}).body)
                if ("chat" in request.path and reply.status == 400)
                else reply
            )

        server.twist = cut
        report = _probed(server)
    assert report.check("limits").state == "failed"
    assert report.lacking("choice-likely")


def test_12_a_key_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a key is set, a request without is refused; the key is in nothing that is told."""
    monkeypatch.setenv("SENSEPROBE_API_KEY", "sk-secret-of-the-test")
    with PlantedServer(key="sk-secret-of-the-test") as server:
        report = _probed(server)
    assert report.check("limits").read == "refused without the key"
    assert "secret" not in repr(report)
    with PlantedServer() as server:
        assert "HTTP 200 without the key" in _probed(server).check("limits").read


def test_fields_that_a_server_does_not_take_are_left_out() -> None:
    """Newer models of OpenAI want another name of the limit, and have no log-probabilities."""

    def strange(request: Request, reply: Reply) -> Reply:
        body = request.body if "chat" in request.path else {}
        if "max_tokens" in body:
            return error(400, "unsupported_parameter", "'max_tokens' is not supported: use 'max_completion_tokens'")
        if "logprobs" in body:
            return error(400, "unsupported_parameter", "'logprobs' is not supported with this model")
        return reply

    with PlantedServer(twist=strange) as server:
        report = _probed(server)
    assert report.dialect.limit == "max_completion_tokens"
    assert {*report.dialect.without} == {"logprobs", "top_logprobs"}
    assert report.lacking("text-likely") == ""


def test_a_connection_that_an_error_closed_is_opened_again() -> None:
    """As transformers serve does: /v1/models is a 500 without a cache of the Hub, and the next request is reset."""
    with PlantedServer() as server:
        server.fail(error(500, "internal", "Internal Server Error"), path="/v1/models")
        server.fail(Reply(reset=True), path="/props")
        assert _probed(server).lacking("choice-likely") == ""


def test_nobody_answers() -> None:
    """The address has no server."""
    with PlantedServer() as server:
        spec = server.spec
    with pytest.raises(ModelError, match="nothing answers"), Client(parse(spec), ServingOptions()) as client:
        probe(client)


def test_fingerprints_are_compared_by_the_greatest_difference() -> None:
    """By hand: .3 of the second token; and a token that only one has, .5 above the least of the other."""
    first = Fingerprint(({"A": -0.5, "B": -1.0},))
    assert first.distance(Fingerprint(({"A": -0.5, "B": -1.3},))) == pytest.approx(0.3)
    assert first.distance(Fingerprint(({"A": -0.5, "C": -0.5},))) == pytest.approx(0.5)
    assert first.distance(Fingerprint(({},))) == math.inf
    assert change(first.text, first.text, 0.01) == ""
    assert "0.3 nat" in change(first.text, Fingerprint(({"A": -0.5, "B": -1.3},)).text, 0.01)
    assert change("{", first.text, 0.01)
    texts = Fingerprint.of_texts(["A", "B"])
    assert texts.distance(Fingerprint.of_texts(["A", "B"])) == 0
    assert texts.distance(Fingerprint.of_texts(["A", "C"])) > 10
