"""Servers that lie are found out by the probe: each is refused, or is not used for what it lies about.

Expected are what the liars leave out or change (tests/served/liars.py), and the statuses and codes that they send.
"""

from collections.abc import Callable

import pytest
from tests.served.liars import LIARS, start
from tests.served.planted_model import PlantedModel
from tests.served.planted_server import KINDS, PlantedServer

from senseprobe.errors import ModelError
from senseprobe.evaluate.served.address import ServingOptions, parse
from senseprobe.evaluate.served.capabilities import ProbeReport
from senseprobe.evaluate.served.client import Client
from senseprobe.evaluate.served.model import ServedModel
from senseprobe.evaluate.served.probe import probe

UNTRUE = {
    "no log-probabilities": "the server does not return them",
    "empty log-probabilities": "the server does not return them",
    "five log-probabilities": "5 were returned",
    "unsorted": "they are not in order",
    "above zero": "a log-probability above 0",
    "all certain": "probabilities sum to more than 1",
    "tiny mass": "their probabilities sum to 0.0001",
    "texts for numbers": "a log-probability that is not a number",
    "without the chosen token": "19 were returned",
    "after the temperature": "temperature 1.5 changes them by",
    "empty from the second": "an empty answer",
    "answers of others": "the same request gets the same answer",
    "thinks first": "begins with thinking",
    "thinks beside": "begins with thinking",
    "a list": "no JSON object",
    "no choices": "no choices",
    "prompts cut": "HTTP 200 for a prompt of more than 6000 tokens",
    "no echo": "the echo has 1 tokens for a prompt of",
    "an echo without a model": "two different sentences get the same log-probabilities",
    "other tokens than forced": "does not write the forced tokens",
    "certain after the grammar": "two different sentences get the same log-probabilities",
}
"""What is said of liars that answer, by name: their scorer is refused."""

UNUSABLE = {
    "not a number": ("the answer is not JSON", 6),
    "no JSON": ("the answer is not JSON", 6),
    "200 with error": ("HTTP 502: upstream failed", 6),
    "nested": ("the answer is nested", 1),
    "huge": ("the answer is larger than 64 MiB", 1),
    "bomb": ("the answer is larger than 64 MiB", 1),
    "packed and cut": ("the answer is cut short", 6),
    "cut bodies": ("in 6 tries", 6),
    "redirect": ("redirects are not followed", 1),
    "no quota": ("insufficient_quota", 1),
    "in the year 2100": ("HTTP 429: later", 6),
}
"""What is said of liars whose answers are none, and how often they are asked."""

CHAT = "/v1/chat/completions"


def probed(server: PlantedServer, sleep: Callable[[float], object] = lambda seconds: None) -> ProbeReport:
    """What the probe makes of a server; waits are skipped."""
    with Client(parse(server.spec), ServingOptions(stored=False), sleep=sleep) as client:
        return probe(client)


def test_the_zoo_is_tested_whole() -> None:
    """Usage that never grows costs no figure: it has a test of its own."""
    assert UNTRUE.keys() | UNUSABLE.keys() | {"usage that never grows"} == LIARS.keys()


@pytest.mark.parametrize("name", UNTRUE)
def test_a_liar_that_answers_is_not_used_for_what_it_lies_about(name: str) -> None:
    liar = LIARS[name]
    with start(liar) as server:
        report = probed(server)
    assert UNTRUE[name] in report.lacking(liar.scorer)


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_liar_whose_answers_are_none_ends_the_probe(name: str) -> None:
    """What waiting may mend is asked six times, all else once."""
    text, tries = UNUSABLE[name]
    with start(LIARS[name]) as server:
        with pytest.raises(ModelError) as error:
            probed(server)
        assert len(server.asked(CHAT)) == tries
    assert text in str(error.value)
    assert error.value.exit_code == 2
    assert server.origin in str(error.value)


def test_a_wait_until_the_year_2100_is_cut_to_ten_minutes() -> None:
    waits: list[float] = []
    with start(LIARS["in the year 2100"]) as server, pytest.raises(ModelError, match="429"):
        probed(server, waits.append)
    assert waits == [600.0] * 5


def test_usage_that_never_grows_is_said_and_counted_by_nobody() -> None:
    with start(LIARS["usage that never grows"]) as server:
        report = probed(server)
    assert report.check("usage").state == "failed"
    assert "7+1" in report.check("usage").read
    assert report.lacking("choice-likely") == ""


@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_server_is_used_for_all_that_it_can_do(kind: str) -> None:
    """Hosted ones tell nothing of a text, and transformers no log-probabilities."""
    exact = kind in ("llama.cpp", "vllm")
    with PlantedServer(kind=kind) as server:
        report = probed(server)
    usable = {scorer for scorer, lack in report.scorers().items() if not lack}
    assert {"choice-likely", "text-likely", "nli-chat"} & usable == (
        {"text-likely"} if kind == "transformers" else {"choice-likely", "text-likely", "nli-chat"}
    )
    assert {"ll", "ll-mean", "ll-byte", "answer-likely"} & usable == (
        {"ll", "ll-mean", "ll-byte", "answer-likely"} if exact else set()
    )


@pytest.mark.parametrize(("kind", "name"), [("openai", "above zero"), ("openai", "no choices"), ("vllm", "no echo")])
def test_a_model_that_can_do_nothing_is_not_opened(kind: str, name: str) -> None:
    liar = LIARS[name]
    assert liar.kind == kind
    with start(liar) as server, pytest.raises(ModelError, match="cannot be scored"):
        ServedModel.open(
            server.spec, ability="causal" if liar.scorer == "ll" else "chat", options=ServingOptions(stored=False)
        )


@pytest.mark.parametrize(
    ("model", "part", "size"),
    [
        (PlantedModel(noise=0.3), "repeats", 0.3),
        (PlantedModel(near=0.3), "neighbours", 0.3),
        (PlantedModel(cached=0.3), "cache", 0.3),
    ],
)
def test_noise_is_seen_where_it_is_planted(model: PlantedModel, part: str, size: float) -> None:
    """Of two to four draws of a normal variable, the greatest is between a twentieth and four standard deviations."""
    with PlantedServer(model, kind="llama.cpp", delay=0.02) as server:
        noise = probed(server).noise
    found = {name: getattr(noise, name) for name in ("repeats", "after", "neighbours", "cache")}
    assert size / 20 < found[part] < 4 * 2**0.5 * size
    if part != "repeats":
        assert found["repeats"] == found["after"] == 0
        assert {name for name, most in found.items() if most} == {part}


def test_a_server_that_wants_a_key_is_told_so_and_the_key_shows_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-planted-0123456789abcdef"
    with PlantedServer(key=key) as server:
        monkeypatch.setenv("SENSEPROBE_API_KEY", key + "x")
        refused = probed(server)
        monkeypatch.setenv("SENSEPROBE_API_KEY", key)
        report = probed(server)
    assert report.check("limits").state == "passed"
    assert "401" in refused.lacking("text-likely")
    assert key not in repr((refused, report))
    assert not any(key in str(request.body) or key in request.path for request in server.log)
